//! The core mixes of YCSB: reads, updates, inserts and short scans of records of some fields, on key-value and SQL engines alike.
//!
//! In: a mix, the number of records and the form of one, the access distribution. Out: one operation on one record each:
//!
//! | mix | operations | which records |
//! |---|---|---|
//! | `a` | 50 % reads, 50 % updates | `access` |
//! | `b` | 95 % reads, 5 % updates | `access` |
//! | `c` | reads | `access` |
//! | `d` | 95 % reads, 5 % inserts | the newest: `latest:0.99`, counted back from the last record that is inserted |
//! | `e` | 95 % scans of 1 to `scan_max` records, 5 % inserts | `access` for the first of a scan |
//! | `f` | 50 % reads, 50 % reads that are followed by an update of what was read | `access` |
//!
//! A read reads all fields, an update writes one. On an SQL engine each statement is a transaction of its own, as in YCSB, and an operation
//! of `f` is two statements. On a key-value engine a record is one value: an update reads it, changes the bytes of a field and puts it
//! again, as YCSB does for RocksDB. So there an update and a read-modify-write are the same work.
//!
//! Limits: two updates of one record at the same time may lose one of them on a key-value engine, as in YCSB. In `a`, `b`, `c` and `f` a
//! record that is not there is damage; in `d` and `e`, which insert, it counts as read.
//!
//! Definition: Cooper et al. 2010, "Benchmarking cloud serving systems with YCSB" (SoCC), table 2, and the files workloada to workloadf of
//! YCSB. Zipf is exact here; YCSB approximates it.
//!
//! `records` is the data, `ops` what is done with it.

mod ops;
mod records;

use crate::background;
use crate::distribution::{self, Distribution};
use crate::new_ids::{InsertedIds, NewIds};
use crate::program::{KvProgram, OpKindDef, OpStream, ProgramInput, SqlLoad, SqlProgram, SqlWork};
use crate::{DataReuse, UnsupportedParam, WorkloadDef};
use model::{
    Access, Bytes, Entry, Family, Op, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params, Phrase, UsedIf,
    WorkTraits,
};
use ops::{RecordOps, RecordPicker};
use records::RecordData;

pub static KV: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "kv",
        spoken: "operations",
        help: "the mixes of YCSB: reads, updates, inserts and short scans of records, on key-value and SQL engines",
        families: &[Family::Sql, Family::Kv],
        params: PARAMS,
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |params| if RecordMix::from_params(params).inserts() { DataReuse::Fresh } else { DataReuse::Shared },
    data_bytes: |params| Bytes(params.int("records").max(1) * record_bytes(params)),
    growth_bytes_per_op: |params| {
        Bytes(if RecordMix::from_params(params).inserts() { record_bytes(params) } else { 0 })
    },
    io: None,
    sql: Some(sql_program),
    kv: Some(kv_program),
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[("mix", "a,b,c,d,e,f")],
};

const PARAMS: &[ParamDef] = &[
    ParamDef {
        help: "mix of operations: half reads, half updates (`a`), 5 % updates (`b`), reads only (`c`), reads of the newest records and 5 % \
               inserts (`d`), scans and 5 % inserts (`e`), half reads, half reads followed by an update (`f`)",
        phrase: Phrase::Words(&[
            ("a", "equal reads and updates"),
            ("b", "reads with 5 % updates"),
            ("c", "reads only"),
            ("d", "reads of the newest with 5 % inserts"),
            ("e", "short scans with 5 % inserts"),
            ("f", "reads, half of them with an update"),
        ]),
        ..ParamDef::new("mix", ParamRole::Mix, ParamKind::OneOf(&MIX_NAMES), "a")
    },
    ParamDef {
        help: "records",
        scales: true,
        shapes_data: true,
        phrase: Phrase::Counted { zero: "no record", one: "one record", many: "{} records" },
        ..ParamDef::new("records", ParamRole::DataSize, ParamKind::Int { min: 1, max: 1_000_000_000_000 }, "100000")
    },
    ParamDef {
        help: "fields of a record",
        shapes_data: true,
        phrase: Phrase::Counted { zero: "no field", one: "one field", many: "{} fields" },
        ..ParamDef::new("fields", ParamRole::Size, ParamKind::Int { min: 1, max: 100 }, "10")
    },
    ParamDef {
        help: "bytes of a field: random letters and digits",
        shapes_data: true,
        phrase: Phrase::Counted { zero: "empty fields", one: "fields of one byte", many: "fields of {} bytes" },
        ..ParamDef::new("field_bytes", ParamRole::Size, ParamKind::Int { min: 1, max: 1_000 }, "100")
    },
    ParamDef {
        help: "where a new record goes in the order of the keys: anywhere (`hashed`, as YCSB by default), or to the end (`ordered`)",
        shapes_data: true,
        phrase: Phrase::Words(&[("hashed", "keys in random order"), ("ordered", "keys in rising order")]),
        ..ParamDef::new("key_order", ParamRole::Ground, ParamKind::OneOf(&["hashed", "ordered"]), "hashed")
    },
    ParamDef {
        help: "a scan reads 1 to so many records, each number equally likely",
        used_if: Some(UsedIf::one_of("mix", &["e"])),
        phrase: Phrase::Counted { zero: "no scan", one: "scans of one record", many: "scans of at most {} records" },
        ..ParamDef::new("scan_max", ParamRole::Work, ParamKind::Int { min: 1, max: 100_000 }, "100")
    },
    ParamDef {
        help: "distribution of the records that operations use; `d` uses the newest (`latest:0.99`)",
        used_if: Some(UsedIf::one_of("mix", &["a", "b", "c", "e", "f"])),
        phrase: crate::distribution::PHRASE,
        ..ParamDef::new("access", ParamRole::Work, ParamKind::Access, "zipf:0.99")
    },
    background::ON_NAMED_TABLES,
];

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordAction {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl RecordAction {
    /// What one of it amounts to on an SQL engine.
    fn kind(self) -> OpKindDef {
        match self {
            RecordAction::Read => OpKindDef::without_rows("read", OpClass::Read),
            RecordAction::Update => OpKindDef::without_rows("update", OpClass::Write),
            RecordAction::Insert => OpKindDef::with_rows("insert", OpClass::Write, 1.0),
            RecordAction::Scan => OpKindDef::without_rows("scan", OpClass::Read),
            RecordAction::ReadModifyWrite => {
                let class = OpClass::from_effects(true, true);
                OpKindDef { queries: 2.0, ..OpKindDef::without_rows("read_modify_write", class) }
            }
        }
    }
}

/// A mix: the more frequent operation and the other, with its share in percent.
#[derive(Debug)]
struct RecordMix {
    name: &'static str,
    actions: &'static [(RecordAction, u64)],
}

use RecordAction::*;

static MIXES: [RecordMix; 6] = [
    RecordMix { name: "a", actions: &[(Read, 50), (Update, 50)] },
    RecordMix { name: "b", actions: &[(Read, 95), (Update, 5)] },
    RecordMix { name: "c", actions: &[(Read, 100)] },
    RecordMix { name: "d", actions: &[(Read, 95), (Insert, 5)] },
    RecordMix { name: "e", actions: &[(Scan, 95), (Insert, 5)] },
    RecordMix { name: "f", actions: &[(Read, 50), (ReadModifyWrite, 50)] },
];

const MIX_NAMES: [&str; MIXES.len()] = ["a", "b", "c", "d", "e", "f"];

impl RecordMix {
    fn from_params(params: &Params) -> &'static RecordMix {
        let name = params.word("mix");
        MIXES.iter().find(|mix| mix.name == name).expect("`mix` is declared with these words")
    }

    /// Whether its runs add records.
    fn inserts(&self) -> bool {
        self.actions.iter().any(|(action, _)| *action == Insert)
    }

    /// Whether it changes anything.
    fn writes(&self) -> bool {
        self.actions.iter().any(|(action, _)| !matches!(action, Read | Scan))
    }

    /// Its kinds of operation, and that of the load behind them.
    fn kinds(&self, data: RecordData) -> Vec<OpKindDef> {
        self.actions.iter().map(|(action, _)| action.kind()).chain([data.load_kind()]).collect()
    }

    /// The kind of the load.
    fn load_kind(&self) -> OpKind {
        OpKind(self.actions.len() as u8)
    }

    /// Which records its operations use.
    fn access(&self, params: &Params, records: u64) -> Distribution {
        let newest = Access { name: "latest".into(), args: Vec::new() };
        distribution::from_access(if self.name == "d" { &newest } else { params.access("access") }, records)
    }

    /// The operations of a run.
    fn run<O: Op>(&'static self, input: &ProgramInput, data: RecordData) -> OpStream<O>
    where
        RecordOps: crate::Workload<O>,
    {
        let access = self.access(input.params, data.records);
        let inserted = InsertedIds::new(NewIds::after(data.records, input.clients));
        let scan_max = input.params.int("scan_max");
        let follows_newest = self.name == "d";
        let stream = OpStream::new(None, 1, move |slot| {
            let picks = RecordPicker::new(slot, data, access, inserted.clone(), follows_newest);
            RecordOps::new(self, data, picks, scan_max)
        });
        // What a client has made ahead knows nothing of the records that are inserted until it is performed.
        let ahead = if follows_newest { 1 } else { stream.ahead };
        OpStream { ahead, ..stream }
    }
}

/// About how much a record takes in a B-tree: its key, its fields, and 60 bytes for a head, the lengths and what pages leave free.
fn record_bytes(params: &Params) -> u64 {
    params.int("fields") * params.int("field_bytes") + records::KEY_LEN as u64 + 60
}

fn sql_program(input: &ProgramInput) -> SqlProgram {
    let (mix, data) = (RecordMix::from_params(input.params), RecordData::new(input.params, input.seed));
    let schema = vec![data.table()];
    SqlProgram {
        load: Some(SqlLoad::of_whole_rows(&schema, data.load_stream(mix.load_kind()))),
        schema,
        procedures: Vec::new(),
        statements: ops::statements_of(mix, data),
        rows: ops::rows_of(mix, data, input.params.int("scan_max"), background::changes_rows(input.params)),
        writes: mix.writes(),
        kinds: mix.kinds(data),
        work: SqlWork::Calls,
        needs_answers: false,
        run: mix.run(input, data),
        background: Vec::new(),
        conditions: Vec::new(),
        found: None,
    }
}

fn kv_program(input: &ProgramInput) -> Result<KvProgram, UnsupportedParam> {
    let (mix, data) = (RecordMix::from_params(input.params), RecordData::new(input.params, input.seed));
    let kinds = mix.kinds(data).into_iter().map(|kind| OpKindDef { queries: 1.0, ..kind });
    Ok(KvProgram {
        tables: vec!["record"],
        writes: mix.writes(),
        kinds: kinds.collect(),
        load: Some(data.load_stream(mix.load_kind())),
        drains: false,
        run: mix.run(input, data),
        background: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
