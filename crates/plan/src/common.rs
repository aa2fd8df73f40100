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
    key(
        "engine",
        "",
        "what is measured; without it the first engine made for the workload's family of operations alone",
    ),
    key("workload", "", "what it is asked to do; must be named"),
    key("path", "", "a file or block device to measure on; without it plimsoll makes its own data"),
    key(
        "fs",
        NONE,
        "file system that is made for the point: `ext4`, `ext4:nobarrier`, `xfs`, `btrfs`, `btrfs:zstd:3` (zstd:1-15, zlib:1-9, \
         lzo); needs root; `none` measures the directory as it is",
    ),
    key("fs_size", AUTO, "its size; `auto` is what the data needs"),
    key(
        "memory_limit",
        NONE,
        "the most memory that the server's processes and the page cache of their files may take; scales; needs root",
    ),
    key(
        "storage_limit",
        NONE,
        "the most that may be asked of the device under the data: `iops=2000`, `bps=200MiB`, or `read_iops`, `write_iops`, \
         `read_bps`, `write_bps`, joined by `+`; needs root",
    ),
    key("clients", "1", "clients at once, from 1; in an open loop the most that serve at once"),
    key("depth", "1", "operations that one client keeps under way; above 1 only where the engine batches"),
    key("think", "0s", "pause of a client between two operations (closed loop)"),
    key(
        "rate",
        NONE,
        "operations per second that fall due, whatever the target does (open loop); `none` is the closed loop",
    ),
    key("arrivals", "constant", "how they fall due: `constant` (equal distances) or `poisson` (independent users)"),
    key("time", "30s", "length of the run phase, at most"),
    key(
        "until",
        "time",
        "what ends the run phase: `time`, or `steady` (the rate of five rounds in a row is level, by SNIA's rule)",
    ),
    key(
        "round",
        "60s",
        "until = steady: length of one round, a whole number of intervals; rounds follow without a break",
    ),
    key("rounds_max", "25", "until = steady: the run phase ends after this many rounds, steady or not"),
    key(
        "precondition",
        "2",
        "until = steady: how often files are written whole before the run phase, the making of them included",
    ),
    key("warmup", "0s", "load before the run phase, recorded and not counted"),
    key("interval", "1s", "length of one recorded interval; the run phase's length where that is shorter"),
    key("grace", "10s", "how long operations under way at the end may take before their clients are given up"),
    key("ops_max", NONE, "the run phase ends after this many operations, where that is sooner"),
    key("on_error", "stop", "when an operation fails: `stop` ends the point, `count` goes on"),
    key("repeat", "1", "how often each point is measured; repeats are interleaved A B B A"),
    key("seed", "1", "where all randomness comes from; same seed, same operations"),
];

const fn key(name: &'static str, default: &'static str, help: &'static str) -> CommonKey {
    CommonKey { name, default, help }
}

/// The common key of that name.
pub(crate) fn find(name: &str) -> Option<&'static CommonKey> {
    DEFAULTS.iter().find(|key| key.name == name)
}
