//! How sysbench, fio, pgbench and others spell what plimsoll has under another name.
//!
//! In: nothing. Out: the lists of their commands and flags, and what each is here.
//! Limits: flags that mean the same under the same name (`--time`, `--rate`, `--tables`) are not in it. Read from
//! `sysbench --help` and `sysbench oltp_read_write help` (1.0), fio's HOWTO (3.33) and `pgbench --help` (15).

/// A program whose users come to plimsoll with its spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// sysbench, 0.5 and 1.0.
    Sysbench,
    Fio,
    Pgbench,
    /// Both YCSB and go-ycsb.
    Ycsb,
    /// tpcc-mysql, go-tpc and HammerDB.
    Tpcc,
    /// A flag of several.
    Other,
}

impl Tool {
    /// Its name, as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Sysbench => "sysbench",
            Tool::Fio => "fio",
            Tool::Pgbench => "pgbench",
            Tool::Ycsb => "ycsb",
            Tool::Tpcc => "tpcc",
            Tool::Other => "other tools",
        }
    }
}

/// What a command or flag of another program is here.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    pub tool: Tool,
    pub theirs: &'static [&'static str],
    /// What it is here.
    pub ours: Ours,
}

/// What a spelling becomes.
#[derive(Clone, Copy, Debug)]
pub enum Ours {
    /// These words, and no value.
    Words(&'static [&'static str]),
    /// These words and the value. A value in the list is spelled differently here.
    Value(&'static [&'static str], Renames),
    /// This flag, with a hundredth of the value.
    Percent(&'static str),
    /// Nothing, for this reason. A value goes with it.
    Nothing(&'static str),
    /// Nothing, for this reason. It has no value.
    NothingAlone(&'static str),
}

/// Values of another program, and how they are spelled here.
pub type Renames = &'static [(&'static str, &'static str)];

const SAME: Renames = &[];
const YES_NO: Renames = &[("1", "true"), ("0", "false")];
const MODES_OF_FIO: Renames =
    &[("randread", "rndrd"), ("randwrite", "rndwr"), ("randrw", "rndrw"), ("read", "seqrd"), ("write", "seqwr")];
const MODES_OF_SYSBENCH: Renames = &[("seqrewr", "seqwr")];
const IO_OF_FIO: Renames = &[
    ("libaio", "aio"),
    ("posixaio", "aio"),
    ("io_uring", "uring"),
    ("psync", "sync"),
    ("pvsync", "sync"),
    ("pvsync2", "sync"),
];
const IO_OF_SYSBENCH: Renames = &[("async", "aio")];
const MIXES_OF_YCSB: Renames = &[
    ("workloada", "a"),
    ("workloadb", "b"),
    ("workloadc", "c"),
    ("workloadd", "d"),
    ("workloade", "e"),
    ("workloadf", "f"),
];
const ENGINES: Renames = &[("mysql", "mariadb"), ("pgsql", "postgres")];
const LAWS_OF_SYSBENCH: Renames =
    &[("zipfian", "zipf:0.8"), ("pareto", "pareto:0.2"), ("special", "special:1:75:12"), ("gaussian", "gaussian:12")];
const LAWS_OF_FIO: Renames = &[("random", "uniform")];
const STATEMENTS_OF_SYSBENCH: Renames = &[("auto", "prepared"), ("disable", "plain")];
const STATEMENTS_OF_PGBENCH: Renames = &[("simple", "plain"), ("extended", "plain")];

const URL: &str = "a server is given as one URL: --engine mysql://USER@HOST/DATABASE or postgres://USER@HOST/DATABASE";
const ALL_PERCENTILES: &str = "all percentiles are recorded";
const ALL_TOGETHER: &str = "clients of a point are one group in any case";

/// The commands, and words that are like one.
pub const COMMANDS: &[Spelling] = &[
    sysbench_mix(&["oltp_point_select"], &["oltp", "--mix", "point_select"]),
    sysbench_mix(&["oltp_read_only"], &["oltp", "--mix", "read_only"]),
    sysbench_mix(&["oltp_write_only"], &["oltp", "--mix", "write_only"]),
    sysbench_mix(&["oltp_read_write", "oltp.lua"], &["oltp", "--mix", "read_write"]),
    sysbench_mix(&["oltp_update_index"], &["oltp", "--mix", "update_index"]),
    sysbench_mix(&["oltp_update_non_index"], &["oltp", "--mix", "update_non_index"]),
    sysbench_mix(&["oltp_insert"], &["oltp", "--mix", "insert"]),
    sysbench_mix(&["oltp_delete"], &["oltp", "--mix", "delete"]),
    sysbench_mix(&["select_random_points"], &["oltp", "--mix", "select_random_points"]),
    sysbench_mix(&["select_random_ranges"], &["oltp", "--mix", "select_random_ranges"]),
    sysbench_mix(&["fileio"], &["file"]),
    sysbench_mix(&["sysbench"], &["oltp"]),
    spelling(Tool::Fio, &["randread"], Ours::Words(&["file", "--mode", "rndrd"])),
    spelling(Tool::Fio, &["randwrite"], Ours::Words(&["file", "--mode", "rndwr"])),
    spelling(Tool::Fio, &["randrw"], Ours::Words(&["file", "--mode", "rndrw"])),
    spelling(Tool::Fio, &["fio"], Ours::Words(&["file"])),
    spelling(Tool::Pgbench, &["pgbench"], Ours::Words(&["oltp", "--engine", "postgres"])),
    spelling(Tool::Ycsb, &["ycsb", "go-ycsb"], Ours::Words(&["kv"])),
    spelling(Tool::Tpcc, &["tpcc", "tpcc-mysql", "tpc-c", "hammerdb"], Ours::Words(&["orders"])),
];

/// Words of sysbench after its test: plimsoll prepares, runs and cleans up by itself.
pub const STEPS_OF_SYSBENCH: &[&str] = &["prepare", "prewarm", "run", "cleanup"];

/// The flags. If several programs have one, the first is named.
pub const FLAGS: &[Spelling] = &[
    flag(Tool::Sysbench, &["--threads", "--num-threads"], &["--clients"]),
    flag(Tool::Sysbench, &["--max-time"], &["--time"]),
    flag(Tool::Other, &["--duration", "--seconds"], &["--time"]),
    spelling(
        Tool::Sysbench,
        &["prepare", "prewarm", "cleanup"],
        Ours::NothingAlone("a run makes its data first and removes it at the end"),
    ),
    spelling(Tool::Sysbench, &["--skip-trx", "--skip_trx"], Ours::Words(&["--transaction", "false"])),
    spelling(Tool::Ycsb, &["--workload"], Ours::Value(&["--mix"], MIXES_OF_YCSB)),
    flag(Tool::Ycsb, &["--recordcount"], &["--records"]),
    flag(Tool::Ycsb, &["--operationcount"], &["--ops-max"]),
    flag(Tool::Tpcc, &["--warehouse"], &["--warehouses"]),
    flag(Tool::Sysbench, &["--events", "--max-requests"], &["--ops-max"]),
    flag(Tool::Sysbench, &["--table-size", "--table_size", "--oltp-table-size"], &["--table-rows"]),
    flag(Tool::Sysbench, &["--oltp-tables-count"], &["--tables"]),
    flag(Tool::Sysbench, &["--report-interval"], &["--interval"]),
    flag(Tool::Sysbench, &["--warmup-time"], &["--warmup"]),
    flag(Tool::Sysbench, &["--rand-seed"], &["--seed"]),
    flag(Tool::Sysbench, &["--file-total-size"], &["--file-size"]),
    flag(Tool::Sysbench, &["--file-num"], &["--files"]),
    flag(Tool::Sysbench, &["--file-block-size"], &["--block"]),
    flag(Tool::Sysbench, &["--file-fsync-mode"], &["--fsync"]),
    spelling(Tool::Sysbench, &["--file-test-mode"], Ours::Value(&["--mode"], MODES_OF_SYSBENCH)),
    spelling(Tool::Sysbench, &["--file-io-mode"], Ours::Value(&["--io"], IO_OF_SYSBENCH)),
    spelling(Tool::Sysbench, &["--file-extra-flags"], Ours::Value(&["--direct"], &[("direct", "true")])),
    spelling(Tool::Sysbench, &["--file-fsync-freq"], Ours::Value(&["--fsync", "fsync", "--fsync-every"], SAME)),
    spelling(Tool::Sysbench, &["--rand-type", "--oltp-dist-type"], Ours::Value(&["--access"], LAWS_OF_SYSBENCH)),
    spelling(Tool::Sysbench, &["--db-driver"], Ours::Value(&["--engine"], ENGINES)),
    spelling(Tool::Sysbench, &["--db-ps-mode"], Ours::Value(&["--statements"], STATEMENTS_OF_SYSBENCH)),
    spelling(Tool::Sysbench, &["--percentile"], Ours::Nothing(ALL_PERCENTILES)),
    spelling(Tool::Sysbench, &["--histogram"], Ours::NothingAlone(ALL_PERCENTILES)),
    spelling(
        Tool::Sysbench,
        &["--mysql-host", "--mysql-port", "--mysql-user", "--mysql-password", "--mysql-db", "--mysql-socket"],
        Ours::Nothing(URL),
    ),
    spelling(
        Tool::Sysbench,
        &["--pgsql-host", "--pgsql-port", "--pgsql-user", "--pgsql-password", "--pgsql-db"],
        Ours::Nothing(URL),
    ),
    flag(Tool::Fio, &["--bs", "--blocksize"], &["--block"]),
    flag(Tool::Fio, &["--size", "--filesize"], &["--file-size"]),
    flag(Tool::Fio, &["--iodepth"], &["--depth"]),
    flag(Tool::Fio, &["--numjobs"], &["--clients"]),
    flag(Tool::Fio, &["--runtime"], &["--time"]),
    flag(Tool::Fio, &["--ramp_time"], &["--warmup"]),
    flag(Tool::Fio, &["--filename"], &["--path"]),
    flag(Tool::Fio, &["--directory"], &["--dir"]),
    flag(Tool::Fio, &["--nrfiles"], &["--files"]),
    spelling(Tool::Fio, &["--rate_iops"], Ours::Nothing("--rate is the rate of all clients together")),
    flag(Tool::Fio, &["--loops"], &["--repeat"]),
    flag(Tool::Fio, &["--randseed"], &["--seed"]),
    spelling(Tool::Fio, &["--rw", "--readwrite"], Ours::Value(&["--mode"], MODES_OF_FIO)),
    spelling(Tool::Fio, &["--ioengine"], Ours::Value(&["--io"], IO_OF_FIO)),
    spelling(Tool::Fio, &["--direct"], Ours::Value(&["--direct"], YES_NO)),
    spelling(Tool::Fio, &["--random_distribution"], Ours::Value(&["--access"], LAWS_OF_FIO)),
    spelling(Tool::Fio, &["--fdatasync"], Ours::Value(&["--fsync", "fdatasync", "--fsync-every"], SAME)),
    spelling(Tool::Fio, &["--rwmixread"], Ours::Percent("--read-share")),
    spelling(Tool::Fio, &["--output-format"], Ours::Value(&[], &[("json", "--json")])),
    spelling(Tool::Fio, &["--name"], Ours::Nothing("a run is named after its workload")),
    spelling(Tool::Fio, &["--time_based"], Ours::NothingAlone("a run lasts for its --time in any case")),
    spelling(Tool::Fio, &["--group_reporting"], Ours::NothingAlone(ALL_TOGETHER)),
    spelling(Tool::Fio, &["--norandommap"], Ours::NothingAlone("blocks are always drawn independently")),
    spelling(Tool::Fio, &["--invalidate"], Ours::Nothing("--direct true leaves the page cache out")),
    spelling(Tool::Fio, &["--percentile_list"], Ours::Nothing(ALL_PERCENTILES)),
    flag(Tool::Pgbench, &["-c", "--client"], &["--clients"]),
    flag(Tool::Pgbench, &["-j", "--jobs"], &["--threads"]),
    flag(Tool::Pgbench, &["-T"], &["--time"]),
    spelling(
        Tool::Pgbench,
        &["-t", "--transactions"],
        Ours::Nothing("--ops-max counts the ops of all clients together"),
    ),
    flag(Tool::Pgbench, &["-R"], &["--rate"]),
    flag(Tool::Pgbench, &["-P", "--progress"], &["--interval"]),
    spelling(Tool::Pgbench, &["-M", "--protocol"], Ours::Value(&["--statements"], STATEMENTS_OF_PGBENCH)),
    spelling(Tool::Pgbench, &["-S", "--select-only"], Ours::Words(&["--mix", "point_select"])),
    spelling(Tool::Pgbench, &["-C", "--connect"], Ours::Words(&["--connection", "per-transaction"])),
    spelling(Tool::Pgbench, &["-i", "--initialize"], Ours::NothingAlone("a run makes its data first")),
    spelling(Tool::Pgbench, &["-l", "--log"], Ours::NothingAlone("the run file has each interval")),
    spelling(Tool::Pgbench, &["-n", "--no-vacuum"], Ours::NothingAlone("a run makes its own data")),
    spelling(Tool::Pgbench, &["-p", "--port", "-U", "--username"], Ours::Nothing(URL)),
];

const fn spelling(tool: Tool, theirs: &'static [&'static str], ours: Ours) -> Spelling {
    Spelling { tool, theirs, ours }
}

const fn sysbench_mix(theirs: &'static [&'static str], ours: &'static [&'static str]) -> Spelling {
    spelling(Tool::Sysbench, theirs, Ours::Words(ours))
}

const fn flag(tool: Tool, theirs: &'static [&'static str], ours: &'static [&'static str]) -> Spelling {
    spelling(tool, theirs, Ours::Value(ours, SAME))
}
