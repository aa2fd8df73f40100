//! The catalogue of the tests: engines, workloads and distributions like the real ones, without depending on them.
//!
//! In: nothing. Out: a [`Catalogue`]. Limits: it must have the names in `plans/`, or the tests of the ready plans fail.

use model::own_table::OwnFault;
use model::{
    ArgDef, Bytes, Catalogue, ConfigVariables, DistributionEntry, EngineProcess, Entry, Family, NO_CONFIG, Nanos,
    Numbers, ParamDef, ParamKind, ParamRole, Params, RecordedWork, RecordingSummary, StepIndexes, StepWork, TaskSet,
    UsedIf, Value, WorkTraits,
};
use std::path::Path;

pub(crate) fn catalogue() -> Catalogue {
    let distributions = SOME_DISTRIBUTIONS.to_vec();
    Catalogue {
        engines: ENGINES.to_vec(),
        workloads: WORKLOADS.to_vec(),
        distributions,
        run_ops,
        load_rows: |_, _| None,
        traits,
        shares_data,
        usable_cpus: 2,
        has_step,
        engine_process,
        size_at: |path| (path == Path::new("/there/f")).then_some(Bytes(2 << 40)),
        read_config,
        read_recording,
        read_text,
        check_tables: |params| match params.tables("table").iter().position(|table| table.rows > 1_000_000) {
            None => Ok(()),
            table => Err(OwnFault { table, column: Some(0), text: "too many rows".into() }),
        },
    }
}

/// All recordings but `none` have a hundred operations in two seconds.
fn read_recording(_: &str, path: &Path, _: &Params) -> Result<RecordingSummary, String> {
    let text = path.display().to_string();
    let io = RecordedWork { data: Bytes(7 << 20), ..RecordedWork::default() };
    if path.ends_with("none") {
        Err(format!("cannot read `{text}`"))
    } else {
        Ok(RecordingSummary { path: text, ops: 100, length: Nanos::from_secs(2), io: Some(io), sessions: None })
    }
}

/// All files but `none` hold a statement with their own name.
fn read_text(path: &Path) -> Result<String, String> {
    let name = path.display();
    if path.ends_with("none") { Err(format!("cannot read `{name}`")) } else { Ok(format!("SELECT '{name}';\n")) }
}

/// The files `few.cnf` and `many.cnf` set variables; others are not there.
fn read_config(engine: &str, path: &Path) -> Result<ConfigVariables, String> {
    let threads = match path.file_name().and_then(|name| name.to_str()) {
        Some("few.cnf") => "1",
        Some("many.cnf") => "8",
        _ => return Err(format!("`{}`, line 3: no", path.display())),
    };
    let server = engine.split(':').next().expect("a name");
    Ok([("threads", threads), ("buffer", "2M")].map(|(name, value)| (format!("{server}.{name}"), value.into())).into())
}

/// The same with a workload `chain`, whose loads end with their rows.
pub(crate) fn with_steps() -> Catalogue {
    let chain = Entry {
        name: "chain",
        spoken: "inserts",
        help: "",
        families: &[Family::Sql, Family::Kv],
        params: &[INDEXES, ROWS, STEP],
    };
    Catalogue { workloads: [WORKLOADS, &[chain]].concat(), ..catalogue() }
}

fn run_ops(_: &str, params: &Params) -> Option<u64> {
    let ends = |step: &Value| step.to_string().starts_with("l.") || step.to_string() == "drain";
    let loads = params.0.get("step").is_some_and(ends);
    params.0.get("rows").and_then(|rows| match rows {
        Value::Int(rows) if loads && *rows > 0 => Some(*rows),
        _ => None,
    })
}

/// The steps of a chain, which begin without indexes as those of `insert` do.
fn traits(_: &str, params: &Params) -> WorkTraits {
    let step = params.0.get("step").map(|word| {
        let indexes = match word.to_string().as_str() {
            "l.i0" => StepIndexes::NotAtStart,
            "l.x" => StepIndexes::Made,
            _ => StepIndexes::Kept,
        };
        StepWork { name: word.to_string(), at: 0, drains: false, indexes, group: None }
    });
    WorkTraits { step, ..WorkTraits::default() }
}

/// Inserts change their table.
fn shares_data(workload: &str, _: &Params) -> bool {
    !["insert", "chain"].contains(&workload)
}

/// Two engines are inside plimsoll, and those that are not always there are servers.
fn engine_process(engine: &str) -> EngineProcess {
    match engine {
        "sqlite" | "fjall" => EngineProcess::Embedded,
        "null" | "file" | "cpu" => EngineProcess::None,
        _ => EngineProcess::Own,
    }
}

/// There are no range queries on a key-value engine.
fn has_step(engine: &str, _: &str, params: &Params) -> bool {
    engine != "fjall" || params.0.get("step").is_none_or(|step| step.to_string() != "qr")
}

const INDEXES: ParamDef = ParamDef {
    role: ParamRole::Indexes,
    used_if: Some(UsedIf::one_of("step", &["l.x", "l.i1", "qr"])),
    ..shape("indexes", ParamKind::Int { min: 0, max: 3 }, "3")
};
const ROWS: ParamDef = rows("rows", ParamKind::Int { min: 0, max: 1 << 40 }, "1000");
const STEP: ParamDef = def("step", ParamKind::Steps(&["l.i0", "l.x", "l.i1", "qr"]), "");

/// The same with engines that are not always there, and with all steps of `insert`; the others are enough for most tests, and their
/// messages list all names.
pub(crate) fn with_servers() -> Catalogue {
    let server = |name| Entry { name, spoken: name, help: "", families: &[Family::Sql], params: SERVER };
    let servers = ["mariadb:innodb", "mariadb:rocksdb", "postgres"].map(server);
    let mut workloads = WORKLOADS.to_vec();
    workloads.iter_mut().filter(|entry| entry.name == "insert").for_each(|entry| entry.params = INSERT);
    workloads.push(SQL);
    workloads.push(Entry { name: "cpu", spoken: "the CPU", help: "", families: KERNELS, params: CPU });
    let cpu = Entry { name: "cpu", spoken: "the CPU", help: "", families: KERNELS, params: &[] };
    Catalogue { engines: [ENGINES, &servers, &[cpu]].concat(), workloads, ..catalogue() }
}

/// The same with two engines of one server, `maria`, that takes variables, and with a server `mysql` that is private or has a URL.
pub(crate) fn with_engines_of_a_server() -> Catalogue {
    let server = |name, params| Entry { name, spoken: name, help: "", families: &[Family::Sql], params };
    let servers = [
        server("maria:innodb", &[ParamDef { name: "maria.*", kind: ParamKind::Variables, ..URL }]),
        server("maria:rocksdb", &[]),
        server("mysql", &[URL]),
        server("mysql:innodb", &[]),
    ];
    Catalogue { engines: [ENGINES, &servers].concat(), ..catalogue() }
}

/// The same with an engine `tuned`, which takes a configuration file and variables.
pub(crate) fn with_a_tuned_engine() -> Catalogue {
    const CONFIG: ParamDef = ParamDef { name: "config", kind: ParamKind::ConfigFile, default: NO_CONFIG, ..URL };
    const TUNED: &[ParamDef] = &[CONFIG, ParamDef { name: "tuned.*", kind: ParamKind::Variables, ..URL }];
    let tuned = Entry { name: "tuned", spoken: "tuned", help: "", families: &[Family::Sql], params: TUNED };
    Catalogue { engines: [ENGINES, &[tuned]].concat(), ..catalogue() }
}

const URL: ParamDef = ParamDef { role: ParamRole::Ground, ..shape("url", ParamKind::Path, "") };

/// The same with the workload `sql`.
pub(crate) fn with_variants() -> Catalogue {
    Catalogue { workloads: [WORKLOADS, &[SQL]].concat(), ..with_servers() }
}

/// The same with the workload `own`.
pub(crate) fn with_tables() -> Catalogue {
    const OWN: Entry = Entry {
        name: "own",
        spoken: "transactions",
        help: "",
        families: &[Family::Sql],
        params: &[
            rows("table", ParamKind::Tables { optional_if: Some(("existing", "true")) }, ""),
            def("existing", ParamKind::Bool, "false"),
            def("statement", ParamKind::Statements { if_word: None }, ""),
            def("foreign_keys", ParamKind::Bool, "false"),
            def("access", ParamKind::Access, "uniform"),
        ],
    };
    Catalogue { workloads: [WORKLOADS, &[OWN]].concat(), ..with_servers() }
}

const SQL: Entry = Entry {
    name: "sql",
    spoken: "queries",
    help: "",
    families: &[Family::Sql],
    params: &[
        def("variant", ParamKind::Variants, ""),
        shape("data", ParamKind::DataSets, ""),
        def("question", ParamKind::Name, "all"),
        rows("rows", ParamKind::Int { min: 1, max: 1 << 40 }, "10000"),
        def("executions", ParamKind::Int { min: 1, max: 1_000 }, "1"),
        shape("start", ParamKind::OneOf(&["warm", "cold"]), "warm"),
        def("statement_timeout", ParamKind::Duration, "0s"),
    ],
};

const KERNELS: &[Family] = &[Family::Task(TaskSet::Kernels)];
const CPU: &[ParamDef] = &[
    def("kernel", ParamKind::OneOf(&["sort", "join", "btree", "decompress", "crc", "chase", "copy", "lock"]), "sort"),
    def("memory", ParamKind::Bytes { min: 1 << 20, max: 1 << 40 }, "256MiB"),
];

const SERVER: &[ParamDef] = &[
    DURABILITY,
    CACHE,
    ParamDef { name: "log_size", ..CACHE },
    def("flush_method", ParamKind::OneOf(&["fsync", "O_DIRECT"]), "O_DIRECT"),
    def("io_capacity", ParamKind::Int { min: 100, max: 1_000_000 }, "200"),
    def("direct", ParamKind::Bool, "false"),
];
const INSERT: &[ParamDef] = &[
    ParamDef { name: "step", kind: ParamKind::Steps(&["l.i0", "l.x", "l.i1", "l.i2", "drain", "qr", "qp"]), ..STEP },
    shape("schema", ParamKind::OneOf(&["iibench-2012", "ibench"]), "ibench"),
    INDEXES,
    ROWS,
    def("rows_per_commit", ParamKind::Int { min: 1, max: 100_000 }, "50"),
    shape("tables", ParamKind::Int { min: 1, max: 256 }, "1"),
    ParamDef { name: "partition_rows", default: "0", ..ROWS },
];

const fn def(name: &'static str, kind: ParamKind, default: &'static str) -> ParamDef {
    ParamDef::new(name, ParamRole::Tuning, kind, default)
}

const fn rows(name: &'static str, kind: ParamKind, default: &'static str) -> ParamDef {
    ParamDef { scales: true, shapes_data: true, ..ParamDef::new(name, ParamRole::Tuning, kind, default) }
}

const fn shape(name: &'static str, kind: ParamKind, default: &'static str) -> ParamDef {
    ParamDef { shapes_data: true, ..ParamDef::new(name, ParamRole::Tuning, kind, default) }
}

const FACTOR: ParamKind = ParamKind::Float { min: 0.0, max: 1e6 };
const DURABILITY: ParamDef = def("durability", ParamKind::OneOf(&["disk", "os", "none"]), "disk");
const CACHE: ParamDef = ParamDef {
    scales: true,
    ..ParamDef::new("cache", ParamRole::CacheSize, ParamKind::Bytes { min: 1 << 20, max: 1 << 44 }, "64MiB")
};

const ENGINES: &[Entry] = &[
    Entry {
        name: "null",
        spoken: "the null engine",
        help: "",
        families: &[Family::Io, Family::Sql, Family::Kv],
        params: &[
            shape("service", ParamKind::Duration, "0"),
            shape("service_dist", ParamKind::OneOf(&["constant", "exponential"]), "constant"),
            shape("stall_every", ParamKind::Int { min: 0, max: u64::MAX }, "0"),
            ParamDef { used_if: Some(UsedIf::not_zero("stall_every")), ..shape("stall", ParamKind::Duration, "0") },
            shape("step_after", ParamKind::Duration, "0"),
            shape("step_factor", FACTOR, "1"),
            shape("drop_every", ParamKind::Duration, "0"),
            shape("drop_for", ParamKind::Duration, "0"),
            shape("drop_factor", FACTOR, "1"),
        ],
    },
    Entry {
        name: "file",
        spoken: "the disk",
        help: "",
        families: &[Family::Io],
        params: &[
            def("io", ParamKind::OneOf(&["sync", "uring", "aio"]), "uring"),
            def("direct", ParamKind::Bool, "true"),
            def("stamp", ParamKind::OneOf(&["batch", "each"]), "batch"),
        ],
    },
    Entry { name: "sqlite", spoken: "SQLite", help: "", families: &[Family::Sql], params: &[DURABILITY, CACHE] },
    Entry { name: "fjall", spoken: "fjall", help: "", families: &[Family::Kv], params: &[DURABILITY, CACHE] },
];

const WORKLOADS: &[Entry] = &[
    Entry {
        name: "file",
        spoken: "reads and writes",
        help: "",
        families: &[Family::Io],
        params: &[
            ParamDef {
                role: ParamRole::Mode,
                ..def("mode", ParamKind::OneOf(&["rndrd", "rndwr", "rndrw", "seqrd", "seqwr"]), "rndrd")
            },
            def("block", ParamKind::Bytes { min: 512, max: 16 << 20 }, "16KiB"),
            ParamDef {
                role: ParamRole::DataSize,
                ..rows("file_size", ParamKind::Bytes { min: 512, max: 1 << 50 }, "1GiB")
            },
            shape("files", ParamKind::Int { min: 1, max: 4096 }, "1"),
            ParamDef {
                used_if: Some(UsedIf::one_of("mode", &["seqrd", "seqwr"])),
                ..def("cursor", ParamKind::OneOf(&["region", "shared"]), "region")
            },
            def("fsync", ParamKind::OneOf(&["none", "fsync"]), "none"),
            def("access", ParamKind::Access, "uniform"),
            ParamDef {
                used_if: Some(UsedIf::one_of("mode", &["rndrw"])),
                ..def("read_share", ParamKind::Float { min: 0.0, max: 1.0 }, "0.6")
            },
        ],
    },
    Entry {
        name: "insert",
        spoken: "inserts",
        help: "",
        families: &[Family::Sql, Family::Kv],
        params: &[
            INDEXES,
            def("rows_per_commit", ParamKind::Int { min: 1, max: 100_000 }, "1"),
            def("background", ParamKind::Background { rows: false }, ""),
        ],
    },
    Entry {
        name: "oltp",
        spoken: "transactions",
        help: "",
        families: &[Family::Sql, Family::Kv],
        params: &[
            ParamDef {
                role: ParamRole::Mix,
                ..def(
                    "mix",
                    ParamKind::OneOf(&["point_select", "read_only", "write_only", "read_write", "custom"]),
                    "point_select",
                )
            },
            def("statement", ParamKind::Statements { if_word: Some(("mix", "custom")) }, ""),
            def("background", ParamKind::Background { rows: true }, ""),
            shape("tables", ParamKind::Int { min: 1, max: 1_000 }, "1"),
            rows("table_rows", ParamKind::Int { min: 1, max: 2_000_000_000 }, "10000"),
            def("access", ParamKind::Access, "uniform"),
        ],
    },
];

const fn arg(name: &'static str, default: f64, (min, max): (f64, f64), numbers: Numbers) -> ArgDef {
    ArgDef { name, default, min, max, numbers }
}

const SOME_DISTRIBUTIONS: &[DistributionEntry] = &[
    DistributionEntry { name: "uniform", help: "", args: &[] },
    DistributionEntry { name: "zipf", help: "", args: &[arg("THETA", 0.9, (0.0, 100.0), Numbers::Real)] },
    DistributionEntry {
        name: "special",
        help: "",
        args: &[
            arg("PCT", 1.0, (0.0, 100.0), Numbers::Real),
            arg("RES", 75.0, (0.0, 100.0), Numbers::Real),
            arg("ITER", 12.0, (1.0, 100.0), Numbers::Whole),
        ],
    },
];
