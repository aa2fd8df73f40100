//! The causes that are made.
//!
//! In: nothing. Out: the settings of each case with its cause and without. Limits: sizes are those of a small machine; on one with many CPUs more
//! clients are needed to fill them.

use super::surroundings::Surrounding;

pub struct CauseCase {
    pub name: &'static str,
    /// What was made, in words.
    pub what: &'static str,
    /// The code that plimsoll is to name.
    pub code: &'static str,
    /// Arguments for workload and engine.
    pub workload: &'static [&'static str],
    /// Settings of both sides.
    pub fixed: &'static [&'static str],
    /// Settings of the side that has the cause.
    pub made: &'static [&'static str],
    /// Settings of the side that does not.
    pub unmade: &'static [&'static str],
    /// What is made outside of plimsoll.
    pub surroundings: Surrounding,
}

const INNODB: &[&str] = &["oltp", "--engine", "mariadb:innodb"];
const MYROCKS: &[&str] = &["oltp", "--engine", "mariadb:rocksdb"];
const CONNECT: &[&str] = &["connect", "--engine", "mariadb:innodb"];
const POSTGRES: &[&str] = &["oltp", "--engine", "postgres"];
/// The engine is a server that the bench has started.
const SERVER: &[&str] = &["oltp"];
/// Point selects of four clients on data in the cache.
const SELECTS: &[&str] = &["--mix", "point_select", "--clients", "4", "--table-rows", "20000", "--durability", "none"];
/// As few write buffers and as slow a compaction as RocksDB allows.
const SLOW_COMPACTION: &str = "mariadb.rocksdb_default_cf_options=write_buffer_size=1m;max_write_buffer_number=2;\
    level0_slowdown_writes_trigger=4;level0_stop_writes_trigger=6;target_file_size_base=1m;max_bytes_for_level_base=4m";

/// No settings of its own, on a server that the bench has started or in a file.
const PLAIN: CauseCase = CauseCase {
    name: "",
    what: "",
    code: "",
    workload: SERVER,
    fixed: &[],
    made: &[],
    unmade: &[],
    surroundings: Surrounding::Nothing,
};

pub const CASES: &[CauseCase] = &[
    CauseCase {
        name: "storage-limit",
        what: "500 reads a second allowed",
        code: "throttled",
        workload: &["file"],
        fixed: &["--mode", "rndrd", "--clients", "4"],
        made: &["--storage-limit", "iops=500"],
        ..PLAIN
    },
    CauseCase {
        name: "storage-limit-in-bursts",
        what: "InnoDB writes its pages and its log with 1,000 writes a second allowed",
        code: "throttled",
        workload: INNODB,
        fixed: &["--mix", "update_non_index", "--clients", "8", "--table-rows", "200000", "--cache", "16MiB"],
        made: &["--storage-limit", "iops=1000"],
        ..PLAIN
    },
    CauseCase {
        name: "engine-quota",
        what: "half a CPU for InnoDB",
        code: "throttled",
        workload: INNODB,
        fixed: SELECTS,
        made: &["--cpu-limit", "0.5"],
        ..PLAIN
    },
    CauseCase {
        name: "client-quota",
        what: "0.3 CPUs for plimsoll, none for the server",
        code: "throttled",
        fixed: &["--mix", "point_select", "--clients", "8", "--table-rows", "20000"],
        surroundings: Surrounding::QuotaOfPlimsoll,
        ..PLAIN
    },
    CauseCase {
        name: "link",
        what: "a link of 100 Mbit/s between two network namespaces",
        code: "network",
        fixed: &["--mix", "read_only", "--clients", "8", "--table-rows", "20000"],
        made: &["--link", "100Mbit"],
        unmade: &["--link", "10Gbit"],
        surroundings: Surrounding::Link,
        ..PLAIN
    },
    CauseCase {
        name: "hot-row",
        what: "16 clients that update one row",
        code: "locks",
        workload: INNODB,
        fixed: &["--mix", "update_non_index", "--clients", "16", "--durability", "none"],
        made: &["--table-rows", "1"],
        unmade: &["--table-rows", "20000"],
        ..PLAIN
    },
    CauseCase {
        name: "think",
        what: "16 clients that update one row, against two clients that think 10 ms after each",
        code: "locks",
        workload: INNODB,
        fixed: &["--mix", "update_non_index", "--table-rows", "1", "--durability", "none"],
        made: &["--clients", "16"],
        unmade: &["--clients", "2", "--think", "10ms"],
        ..PLAIN
    },
    CauseCase {
        name: "listen-queue",
        what: "32 clients that open connections to a server with a listen queue of 1",
        code: "listen-queue",
        workload: CONNECT,
        fixed: &["--via", "tcp", "--clients", "32", "--on-error", "count"],
        made: &["--set", "mariadb.back_log=1"],
        ..PLAIN
    },
    CauseCase {
        name: "connections",
        what: "32 clients that open connections to a server that has 16 left of 44",
        code: "connections",
        workload: &["connect"],
        fixed: &["--clients", "32", "--on-error", "count"],
        surroundings: Surrounding::FewConnections,
        ..PLAIN
    },
    CauseCase {
        name: "commit",
        what: "innodb_flush_log_at_trx_commit = 1 on a disk that syncs slowly",
        code: "commit",
        workload: INNODB,
        fixed: &["--mix", "update_non_index", "--clients", "2", "--table-rows", "20000"],
        made: &["--durability", "disk"],
        unmade: &["--durability", "none"],
        ..PLAIN
    },
    CauseCase {
        name: "memory",
        what: "220 MiB of memory for PostgreSQL and 300 MB of its files",
        code: "memory",
        workload: POSTGRES,
        fixed: &["--mix", "point_select", "--clients", "4", "--table-rows", "1000000", "--durability", "none"],
        made: &["--memory-limit", "220MiB"],
        ..PLAIN
    },
    CauseCase {
        name: "neighbour",
        what: "twice as many programs that compute as CPUs",
        code: "other-processes",
        workload: INNODB,
        fixed: SELECTS,
        surroundings: Surrounding::Neighbours,
        ..PLAIN
    },
    CauseCase {
        name: "frozen",
        what: "a server that SIGSTOP stops for one of two seconds",
        code: "frozen",
        workload: INNODB,
        fixed: SELECTS,
        surroundings: Surrounding::Freezer,
        ..PLAIN
    },
    CauseCase {
        name: "tiny-log",
        what: "a redo log of 32 MiB under updates",
        code: "checkpoint",
        workload: INNODB,
        fixed: &[
            "--mix",
            "update_non_index",
            "--clients",
            "8",
            "--table-rows",
            "1000000",
            "--cache",
            "512MiB",
            "--durability",
            "none",
        ],
        made: &["--log-size", "32MiB"],
        unmade: &["--log-size", "2GiB"],
        ..PLAIN
    },
    CauseCase {
        name: "compaction",
        what: "RocksDB may compact 1 MB a second",
        code: "compaction",
        workload: MYROCKS,
        fixed: &["--mix", "insert", "--clients", "4", "--table-rows", "10000", "--durability", "none"],
        made: &["--set", "mariadb.rocksdb_rate_limiter_bytes_per_sec=1000000", "--set", SLOW_COMPACTION],
        ..PLAIN
    },
];
