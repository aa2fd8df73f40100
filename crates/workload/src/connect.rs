//! The life of a connection: opened, asked once, closed; or opened and held until the engine refuses one more.
//!
//! In: whether connections or transactions are held, pause, time-out. Out: turns of [`ConnectOp`]s. In an open loop a turn begins with its arrival, and the response time
//! of `connect` counts from there. `first_query` and `close` follow in the same turn: the first query after the pause, the end
//! after the answer. They have no arrival, so their response time is their service time. In a closed loop a client begins its next turn
//! when the last is over, and its think time is the pause between connections.
//!
//! With `held` (on the command line `--hold`) the run is one operation: connections are opened one by one and kept until one is refused, so the limit is exact.
//! With `held = transactions` each of them begins a transaction that inserts a row of its own and takes `locks` locks.
//! Limits: a failed step ends its turn. The end of a TCP connection is the client's part only: nothing waits for the server to notice it.

use crate::program::{ClientIndex, ColumnKind, ConnectProgram, HoldProgram, OpKindDef, OpStream, SqlColumn, SqlTable};
use crate::{DataReuse, Workload, WorkloadDef};
use model::{
    Bytes, ConnectOp, ConnectStep, Entry, Family, HoldKind, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Params,
    Phrase, UsedIf, WorkTraits,
};

pub static CONNECT: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "connect",
        spoken: "connections",
        help: "connections: the response times of connect, first query and close; or how many the engine can hold",
        families: &[Family::Connection],
        params: &[HELD, PAUSE, TIMEOUT, LOCKS, HELD_MAX],
    },
    traits: |params| WorkTraits { hold: HoldKind::from_word(params.word(HELD.name)), ..WorkTraits::default() },
    // A refused transaction may have left anything behind.
    data_reuse: |_| DataReuse::Fresh,
    data_bytes: |params| Bytes(params.int(LOCKS.name) * ROW_BYTES),
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: None,
    kv: None,
    connect: Some(connect_program),
    task: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

/// About what a row of [`HELD_TABLE`] takes.
const ROW_BYTES: u64 = 256;
const NOT_HELD: &[&str] = &["none"];
const KINDS_HELD: &[&str] = &["connections", "transactions"];

const HELD: ParamDef = ParamDef {
    help: "hold `connections` or open `transactions` until the engine refuses one more (`--hold connections`); `none` = open, \
           ask and close them",
    // Each point with it begins on a new instance.
    shapes_data: true,
    phrase: Phrase::Words(&[
        ("none", "new connections"),
        ("connections", "connections that are kept"),
        ("transactions", "transactions that are kept"),
    ]),
    ..ParamDef::new("held", ParamRole::Mode, ParamKind::OneOf(&["none", "connections", "transactions"]), "none")
};
const PAUSE: ParamDef = ParamDef {
    help: "pause between connect and the first query; the pause between connections is `think`",
    used_if: Some(UsedIf::one_of("held", NOT_HELD)),
    ..ParamDef::new("pause", ParamRole::Work, ParamKind::Duration, "0")
};
const TIMEOUT: ParamDef = ParamDef {
    help: "give a connection up that is not open after this time; at most the grace time",
    ..ParamDef::new("timeout", ParamRole::Work, ParamKind::Duration, "8s")
};
const LOCKS: ParamDef = ParamDef {
    help: "further locks of each held transaction, in addition to that of its own row: shared locks of rows (MariaDB, MySQL), \
           advisory locks (PostgreSQL)",
    shapes_data: true,
    used_if: Some(UsedIf::one_of("held", &["transactions"])),
    phrase: Phrase::Counted { zero: "no locked row", one: "one locked row", many: "{} locked rows" },
    ..ParamDef::new("locks", ParamRole::Work, ParamKind::Int { min: 0, max: 10_000_000 }, "0")
};
const HELD_MAX: ParamDef = ParamDef {
    help: "hold no more than so many connections",
    used_if: Some(UsedIf::one_of("held", KINDS_HELD)),
    ..ParamDef::new("held_max", ParamRole::Work, ParamKind::Int { min: 1, max: 1_000_000 }, "100000")
};

/// The table that held transactions write to.
pub const HELD_TABLE: &str = "held_rows";
/// The query of `first_query`.
pub const FIRST_QUERY: &str = "SELECT 1";

/// The program of `params` on an engine that answers queries, or, if it does not (`asks` is false), on one that only accepts connections.
fn connect_program(params: &Params, asks: bool) -> ConnectProgram {
    let kind = HoldKind::from_word(params.word(HELD.name));
    let steps = match (kind, asks) {
        (Some(_), _) => &[ConnectStep::Hold][..],
        (None, true) => &[ConnectStep::Connect, ConnectStep::FirstQuery, ConnectStep::Close],
        (None, false) => &[ConnectStep::Connect, ConnectStep::Close],
    };
    let make = move |_: ClientIndex| ConnectTurns { steps, next: 0 };
    ConnectProgram {
        kinds: steps.iter().map(|step| kind_of(*step)).collect(),
        run: OpStream::new(kind.map(|_| 1), 1, make),
        hold: kind.map(|kind| hold_program(kind, params)),
        pause: params.nanos(PAUSE.name),
        timeout: params.nanos(TIMEOUT.name),
    }
}

fn hold_program(kind: HoldKind, params: &Params) -> HoldProgram {
    HoldProgram {
        kind,
        most: params.int(HELD_MAX.name),
        locks: params.int(LOCKS.name),
        table: (kind == HoldKind::Transactions).then(held_table),
    }
}

fn held_table() -> SqlTable {
    let column = SqlColumn::not_null;
    SqlTable {
        name: HELD_TABLE.to_owned(),
        columns: vec![column("id", ColumnKind::BigInt), column("pad", ColumnKind::Char(200))],
        primary_key: &["id"],
        foreign_keys: Vec::new(),
        indexes: Vec::new(),
        partitions: None,
    }
}

fn kind_of(step: ConnectStep) -> OpKindDef {
    match step {
        ConnectStep::Connect => OpKindDef::without_rows("connect", OpClass::Connect),
        ConnectStep::FirstQuery => OpKindDef::without_rows("first_query", OpClass::Step),
        ConnectStep::Close => OpKindDef::without_rows("close", OpClass::Step),
        ConnectStep::Hold => OpKindDef::without_rows("hold", OpClass::Connect),
    }
}

/// The steps of a client's turns, one turn after the other.
struct ConnectTurns {
    steps: &'static [ConnectStep],
    next: usize,
}

impl Workload<ConnectOp> for ConnectTurns {
    fn fill_ops(&mut self, ops: &mut [ConnectOp]) {
        for op in ops {
            *op = ConnectOp { op_kind: OpKind(self.next as u8), step: self.steps[self.next] };
            self.next = (self.next + 1) % self.steps.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use model::Op;

    fn program(changes: &[(&str, &str)], asks: bool) -> ConnectProgram {
        connect_program(&params(&CONNECT.entry, changes), asks)
    }

    fn turn(program: &ConnectProgram, count: usize) -> Vec<(&'static str, bool)> {
        let mut ops = vec![ConnectOp::default(); count];
        (program.run.make)(ClientIndex { client: 1, clients: 3 }).fill_ops(&mut ops);
        ops.iter().map(|op| (program.kinds[usize::from(op.kind())].name, op.follows())).collect()
    }

    #[test]
    fn a_turn_begins_with_connect_and_the_other_steps_follow_it() {
        let asked = [("connect", false), ("first_query", true), ("close", true), ("connect", false)];
        assert_eq!(turn(&program(&[], true), 4), asked);
        assert_eq!(turn(&program(&[], false), 3), [("connect", false), ("close", true), ("connect", false)]);
    }

    #[test]
    fn a_hold_is_one_operation_and_only_transactions_need_a_table() {
        for (hold, kind, has_table) in
            [("connections", HoldKind::Connections, false), ("transactions", HoldKind::Transactions, true)]
        {
            let program = program(&[("held", hold), ("held_max", "60"), ("locks", "7")], true);
            let held = program.hold.as_ref().expect("it holds");
            assert_eq!((program.run.ops, held.kind, held.most, held.locks), (Some(1), kind, 60, 7));
            assert_eq!(held.table.is_some(), has_table);
            assert_eq!(turn(&program, 1), [("hold", false)]);
        }
        assert!(program(&[], true).hold.is_none() && program(&[], true).run.ops.is_none());
    }
}
