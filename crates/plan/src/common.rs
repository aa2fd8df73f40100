//! The keys that every sweep has, whatever its engine and workload.
//!
//! In: nothing. Out: [`DEFAULTS`], which the reading of plans, help and reference iterate.
//! Limits: what a key may hold is said where it is read, in [`crate::point`].

/// One key that every sweep has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonKey {
    /// Its name: in TOML as it stands, on the command line behind `--` with dashes for underscores.
    pub name: &'static str,
    /// The value taken where none is given, as text; empty where there is none.
    pub default: &'static str,
    /// One line for help and reference.
    pub help: &'static str,
}

/// The text by which a key that may be absent says so.
pub(crate) const NONE: &str = "none";
/// The text by which a size says that the data decides.
pub(crate) const AUTO: &str = "auto";

/// All common keys with their defaults.
pub const DEFAULTS: &[CommonKey] = &[
    key("engine", "", "engine to benchmark [default: the first that supports the workload]"),
    key("workload", "", "workload to run; required"),
    key("path", "", "existing file or block device to measure on [default: plimsoll creates its own data]"),
    key(
        "fs",
        NONE,
        "file system to create for each point: `ext4`, `ext4:nobarrier`, `xfs`, `btrfs`, `btrfs:zstd:3` (zstd:1-15, zlib:1-9, \
         lzo); needs root; `none` uses the directory as it is",
    ),
    key("fs_size", AUTO, "size of that file system; `auto` = what the data needs"),
    key(
        "memory_limit",
        NONE,
        "memory limit of the server's processes and the page cache of their files; scales; needs root",
    ),
    key(
        "storage_limit",
        NONE,
        "I/O limit on the device under the data: `iops=2000`, `bps=200MiB`, or `read_iops`, `write_iops`, \
         `read_bps`, `write_bps`, joined by `+`; needs root",
    ),
    key("clients", "1", "number of concurrent clients (open loop: the maximum)"),
    key("depth", "1", "queue depth: operations in flight per client; above 1 only for engines that batch"),
    key("think", "0s", "pause of a client between two operations (closed loop)"),
    key("rate", NONE, "request rate per second, kept even if the engine is slow (open loop); `none` = closed loop"),
    key("arrivals", "constant", "open loop: requests at `constant` intervals or `poisson` (independent users)"),
    key("time", "30s", "maximum duration of the run phase"),
    key(
        "until",
        "time",
        "when the run phase ends: `time`, or `steady` (five rounds in a row at a steady rate, by SNIA's rule)",
    ),
    key("round", "60s", "until = steady: duration of a round, a whole number of intervals"),
    key("rounds_max", "25", "until = steady: maximum number of rounds"),
    key("precondition", "2", "until = steady: full passes written before the run phase, including the initial fill"),
    key("warmup", "0s", "duration of the load before the run phase; recorded, but not counted"),
    key("interval", "1s", "length of a recorded interval; at most the run phase"),
    key("grace", "10s", "how long to wait for in-flight operations at the end of a phase"),
    key("ops_max", NONE, "maximum number of operations in the run phase"),
    key("on_error", "stop", "when an operation fails: `stop` the point, or `count` the failure and continue"),
    key("repeat", "1", "number of repeats of each point, interleaved A B B A"),
    key("seed", "1", "seed of all random numbers; the same seed gives the same operations"),
];

const fn key(name: &'static str, default: &'static str, help: &'static str) -> CommonKey {
    CommonKey { name, default, help }
}

/// The common key of that name.
pub(crate) fn find(name: &str) -> Option<&'static CommonKey> {
    DEFAULTS.iter().find(|key| key.name == name)
}
