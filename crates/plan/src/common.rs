//! The keys that every sweep has, whatever its engine and workload.
//!
//! In: nothing. Out: [`DEFAULTS`], which the reading of plans, help and reference iterate: a key's name, default, bounds, condition
//! and help. Limits: bounds that depend on another key (an interval of at most the run phase) are checked in [`crate::point`].

use model::steady::WINDOW_ROUNDS;
use model::{Bytes, Nanos, UsedIf};

/// More servers than this need a machine of their own kind.
pub(crate) const INSTANCES_MAX: u64 = 256;
/// Each client is a thread with its own histograms; the largest published sweeps end at some thousands.
pub(crate) const CLIENTS_MAX: u64 = 16_384;
pub(crate) const DEPTH_MAX: u64 = 4_096;
/// One arrival per nanosecond, the resolution of the clock.
pub(crate) const RATE_MAX: u64 = 1_000_000_000;
/// The largest whole number that every reader of JSON holds exactly.
pub(crate) const EXACT_MAX: u64 = (1 << 53) - 1;
/// A time slice of the scheduler is some milliseconds: shorter intervals would show the scheduler.
pub(crate) const INTERVAL_MIN: Nanos = Nanos::from_millis(10);
pub(crate) const PHASE_MAX: Nanos = Nanos::from_secs(30 * 86_400);
/// A confidence interval needs eight intervals: five rounds of two have them.
pub(crate) const INTERVALS_PER_ROUND_MIN: u64 = 2;
/// A short round has so many: the five rounds that count then have twenty, like a short run.
pub(crate) const INTERVALS_PER_ROUND: u64 = 4;
/// The journals alone take some MiB; the most is what ext4 can hold without options of its own.
pub(crate) const FS_SIZE_MIN: Bytes = Bytes::from_mib(16);
pub(crate) const FS_SIZE_MAX: Bytes = Bytes::from_gib(16 << 10);
/// The trend of a write debt needs some readings.
const HOLD_MIN: Nanos = Nanos::from_secs(1);
const THINK_MAX: Nanos = Nanos::from_secs(3_600);
const REPEAT_MAX: u64 = 1_000;
/// A week of rounds of a minute.
const ROUNDS_MAX: u64 = 10_000;
/// A large machine takes some thousands.
pub(crate) const WATTS_MAX: u64 = 1_000_000;
/// SNIA writes a device twice; a hundred times is a slip.
const PRECONDITION_MAX: u64 = 100;
/// Some points of two seconds.
const BUDGET_MIN: Nanos = Nanos::from_secs(10);
const ROUND_MIN: Nanos = Nanos(INTERVAL_MIN.0 * INTERVALS_PER_ROUND_MIN);

/// What a common key may hold. Bounds are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommonKind {
    /// The name of an engine or a workload.
    Name,
    /// The name of a data set, or `none`.
    DataSet,
    /// The path of a file or device; empty for none.
    Path,
    /// A file system with its options, or `none`.
    FileSystem,
    /// A size, or `auto`.
    Size {
        min: Bytes,
        max: Bytes,
    },
    /// A limit of memory, storage or CPU, or `none`.
    Limit,
    /// CPUs of clients and engine, or `none`.
    Cpus,
    Int {
        min: u64,
        max: u64,
    },
    /// A whole number from 1, or `none`.
    IntOrNone {
        max: u64,
    },
    /// An amount per length of time, or `none`.
    Price,
    /// Bits per second, or `none`.
    LinkSpeed,
    /// What a rate must keep.
    Objective,
    /// A number above 0, or `none`; of `rate` also `limit`.
    RateOrNone {
        /// The most per second.
        max: u64,
    },
    /// A length of time.
    Duration {
        min: Nanos,
        max: Nanos,
    },
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// What ends a run phase: `time`, `steady` or `sure`, with a precision.
    Ending,
    /// `true` or `false`; on the command line the flag alone is `true`.
    Truth,
    /// Another key with two values, `KEY=A,B`.
    Arms,
}

/// One key that every sweep has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonKey {
    /// Its name in TOML; on the command line it follows `--`, with dashes for underscores.
    pub name: &'static str,
    /// The value if none is given, as text; empty if there is none.
    pub default: &'static str,
    /// What happens without a value, in words, if there is no default.
    pub without: &'static str,
    /// What it may hold.
    pub kind: CommonKind,
    /// When its value has any effect, by another common key; `None` for always.
    pub used_if: Option<UsedIf>,
    /// One line for help and reference.
    pub help: &'static str,
}

/// The text of a key that is switched off.
pub(crate) const NONE: &str = "none";
/// The text of a setting of the machine that stays as it is.
pub(crate) const KEEP: &str = "keep";
/// What may end a run phase.
pub(crate) const TIME: &str = "time";
pub(crate) const STEADY: &str = "steady";
pub(crate) const SURE: &str = "sure";
/// The two values of a key that is on or off.
pub(crate) const FALSE: &str = "false";
pub(crate) const TRUE: &str = "true";
const SCHEDULERS: &[&str] = &[KEEP, "none", "mq-deadline", "bfq", "kyber"];
/// The rate that is searched for.
pub(crate) const LIMIT: &str = "limit";
/// The text of a size that follows from the data.
pub(crate) const AUTO: &str = "auto";
/// The key of the data set that is used.
pub(crate) const DATA_SET: &str = "data_set";
/// The key of the time of the whole run.
pub(crate) const BUDGET: &str = "budget";
/// The key of a comparison of two values.
pub(crate) const AB: &str = "ab";

/// All common keys with their defaults.
pub const DEFAULTS: &[CommonKey] = &[
    key("engine", "", CommonKind::Name, "engine to benchmark; `NAME@DIR` takes a server's programs from a directory")
        .without("`file` for the workload `file`, otherwise `sqlite`"),
    key("workload", "", CommonKind::Name, "workload to run").without("required"),
    key(
        "path",
        "",
        CommonKind::Path,
        "file or block device to measure; a file is created if absent, an existing one is measured whole",
    )
    .without("plimsoll creates its own data"),
    key(
        "fs",
        NONE,
        CommonKind::FileSystem,
        "file system to create for the data (points that share data share it): `ext4`, `ext4:nobarrier`, `xfs`, `btrfs`, `btrfs:zstd:3` (zstd:1-15, zlib:1-9, \
         lzo), and for `compress` `zfs`, `zfs:lzjb` and `zfs:gzip-1` to `zfs:gzip-9`; needs root; `none` uses the directory as it is",
    ),
    key(
        "fs_size",
        AUTO,
        CommonKind::Size { min: FS_SIZE_MIN, max: FS_SIZE_MAX },
        "size of that file system; `auto` = what the data needs",
    ),
    key(
        DATA_SET,
        NONE,
        CommonKind::DataSet,
        "data set to use, which `plimsoll data make` has made and which stays; `none` makes the data and removes it",
    ),
    key(
        "memory_limit",
        NONE,
        CommonKind::Limit,
        "memory limit of a private server's processes and the page cache of their files; only for private servers; multiplied \
         by --scale; needs root or a delegated cgroup",
    ),
    key(
        "storage_limit",
        NONE,
        CommonKind::Limit,
        "I/O limit on the device under the data: `iops=2000`, `bps=200MiB`, or `read_iops`, `write_iops`, \
         `read_bps`, `write_bps`, joined by `+`; for all engines that keep data on this machine; needs root or a delegated cgroup",
    ),
    key(
        "cpu_limit",
        NONE,
        CommonKind::Limit,
        "CPU limit: CPU time per second of the engine's processes, such as `0.8` (an engine inside plimsoll shares it with its clients; \
         needs root or a delegated cgroup), or the speed of all CPUs, such as `80%` (needs root)",
    ),
    key(
        "instances",
        "1",
        int(1, INSTANCES_MAX),
        "number of private servers, embedded engines or sets of files that run at once, each with data, cache and `clients` of its own",
    ),
    key(
        "cpus",
        NONE,
        CommonKind::Cpus,
        "CPUs of the clients and of a private server: `0-3`, `0+2`, `cores` (one thread of each core), `all`, or \
         `client=0+engine=1-3`; engines inside plimsoll share those of the clients",
    ),
    key(
        "smt",
        KEEP,
        CommonKind::OneOf(&[KEEP, "on", "off"]),
        "hyper-threading; needs root and --allow-system-change; put back at the end",
    ),
    key(
        "turbo",
        KEEP,
        CommonKind::OneOf(&[KEEP, "on", "off"]),
        "CPU frequencies above the base frequency; needs root and --allow-system-change; put back at the end",
    ),
    key(
        "scheduler",
        KEEP,
        CommonKind::OneOf(SCHEDULERS),
        "I/O scheduler of the disk under the data (with `fs`, under the image); needs root and --allow-system-change; put back at \
         the end",
    ),
    key("clients", "1", int(1, CLIENTS_MAX), "number of concurrent clients of each instance (open loop: the maximum); `cores` = as many as plimsoll may use CPUs"),
    key(
        "depth",
        "1",
        int(1, DEPTH_MAX),
        "queue depth: operations in flight per client; above 1 only for engines that batch, and for servers, to which a client then sends \
         operations before earlier ones are answered",
    ),
    key("think", "0s", time(Nanos(0), THINK_MAX), "pause of a client between two operations (closed loop)")
        .if_is("rate", &[NONE]),
    key(
        "rate",
        NONE,
        CommonKind::RateOrNone { max: RATE_MAX },
        "operations per second that fall due, however slow the engine is (open loop); `none` = closed loop; `limit` = search for the \
         largest that keeps `slo`",
    ),
    key(
        "arrivals",
        "constant",
        CommonKind::OneOf(&["constant", "poisson"]),
        "open loop: operations fall due at `constant` intervals or `poisson` (independent users); with rate = limit `poisson` by default",
    ),
    key(
        "slo",
        "p99<10ms,errors<0.1%",
        CommonKind::Objective,
        concat!(
            "with rate = limit: what the rate must keep: ",
            model::percentile_words!(),
            " or `max` of the response times, `stall`, `errors` (below 0.1% if it is not named); `checkout:p99<50ms` is of the operations of kind \
             `checkout` alone"
        ),
    )
    .if_is("rate", &[LIMIT]),
    key(
        "hold",
        "5m",
        time(HOLD_MIN, PHASE_MAX),
        "with rate = limit: how long the best rate is held in the end; compactions and checkpoints need minutes to show",
    )
    .if_is("rate", &[LIMIT]),
    key("rate_max", NONE, CommonKind::RateOrNone { max: RATE_MAX }, "with rate = limit: the highest rate that is tried")
        .if_is("rate", &[LIMIT]),
    key(
        "time",
        "30s",
        time(INTERVAL_MIN, PHASE_MAX),
        "maximum duration of the run phase (with rate = limit: of a probe); a load of the insert benchmark ends with its rows unless \
         `rows` is 0",
    ),
    key(
        "until",
        "time",
        CommonKind::Ending,
        "when the run phase ends: `time`; `sure` or `sure:2%` (when its rate is known to ±2 %, at the latest after `time`; and with `ab` or \
         `repeat` pairs go on until it is clear which is faster, or that they differ by less than that); or `steady` (five rounds in a row at a steady rate, by SNIA's rule)",
    ),
    key(
        "round",
        "60s",
        time(ROUND_MIN, PHASE_MAX),
        "with until = steady: duration of a round, a whole number of intervals",
    )
    .if_is("until", &["steady"]),
    key("rounds_max", "25", int(WINDOW_ROUNDS as u64, ROUNDS_MAX), "with until = steady: maximum number of rounds")
        .if_is("until", &["steady"]),
    key(
        "precondition",
        "2",
        int(1, PRECONDITION_MAX),
        "with until = steady: full passes written before the run phase, including the initial fill",
    )
    .if_is("until", &["steady"]),
    key(
        "warmup",
        "0s",
        time(Nanos(0), PHASE_MAX),
        "duration of the load before the run phase; recorded, but not counted",
    ),
    key(
        "interval",
        "1s",
        time(INTERVAL_MIN, PHASE_MAX),
        "length of a recorded interval; by default at most a twentieth of `time` (or of five rounds), and `200ms` in a load that ends with its rows",
    ),
    key(
        "grace",
        "10s",
        time(INTERVAL_MIN, PHASE_MAX),
        "how long to wait for in-flight operations at the end of a phase; for how long nothing may be answered in a replay that ends with its log, by default as long as that, from `2m` to `10m`",
    ),
    key("ops_max", NONE, CommonKind::IntOrNone { max: EXACT_MAX }, "maximum number of operations in the run phase"),
    key(
        "on_error",
        "stop",
        CommonKind::OneOf(&["stop", "count"]),
        "when an operation fails: `stop` the point, or `count` the failure and continue",
    ),
    key(
        "stacks",
        FALSE,
        CommonKind::Truth,
        "take the stacks of a private server's threads, at stalls and at random moments; each time stops the server for some \
         milliseconds; needs gdb, eu-stack or perf",
    ),
    key(
        AB,
        "",
        CommonKind::Arms,
        "compare two values of a key, such as `fs=ext4,xfs`, in pairs (6 unless `repeat` is set; up to 20 with until = sure) that are measured A B B A, each point \
         on fresh data and a restarted engine (`between`)",
    )
    .without("no comparison"),
    key("repeat", "1", int(1, REPEAT_MAX), "how many times each point is measured, interleaved A B B A; with until = sure at most, in random order; a command that compares, and says neither `time` nor `repeat`, takes 5 times 6s instead of once 30s"),
    key(
        BUDGET,
        "",
        time(BUDGET_MIN, PHASE_MAX),
        "time of the whole run: first all points once, in about a tenth of it, and a first table; then repeats of what is not decided (until = sure), until all is decided or the time is over",
    )
    .without("all repeats are measured"),
    key(
        "price",
        NONE,
        CommonKind::Price,
        "what the machine costs: `0.40/h`, `290/month` (also `/day`, `/year`), in your currency; gives the cost of a million operations, of \
         a GB and of a year",
    ),
    key(
        "watts",
        NONE,
        CommonKind::RateOrNone { max: WATTS_MAX },
        "power that the machine takes, such as `85`; without it, the energy of CPU and memory that the machine counts (RAPL), if it does",
    ),
    key(
        "link",
        NONE,
        CommonKind::LinkSpeed,
        "speed of the network link to the server, such as `1Gbit` or `100Mbit`; gives the share of it that is used; without it, the \
         speed that the network card reports, if it does",
    ),
    key("seed", "1", int(0, u64::MAX), "seed of all random numbers; the same seed gives the same operations"),
];

const fn key(name: &'static str, default: &'static str, kind: CommonKind, help: &'static str) -> CommonKey {
    CommonKey { name, default, without: "", kind, used_if: None, help }
}

impl CommonKey {
    /// What applies if no value is given: the default in backticks, or in words what happens.
    pub fn shown_default(&self) -> String {
        if self.default.is_empty() { self.without.to_owned() } else { format!("`{}`", self.default) }
    }

    /// The same without a default: `words` tell what happens then.
    const fn without(self, words: &'static str) -> CommonKey {
        CommonKey { without: words, ..self }
    }

    /// The same, with an effect only while `param` is one of `values`.
    const fn if_is(self, param: &'static str, values: &'static [&'static str]) -> CommonKey {
        CommonKey { used_if: Some(UsedIf::one_of(param, values)), ..self }
    }
}

const fn int(min: u64, max: u64) -> CommonKind {
    CommonKind::Int { min, max }
}

const fn time(min: Nanos, max: Nanos) -> CommonKind {
    CommonKind::Duration { min, max }
}

/// The common key of that name.
pub(crate) fn find(name: &str) -> Option<&'static CommonKey> {
    DEFAULTS.iter().find(|key| key.name == name)
}

/// What the common key of that name may hold.
pub(crate) fn kind_of(name: &'static str) -> CommonKind {
    find(name).expect("every common key is declared").kind
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::UsefulValues;

    #[test]
    fn conditions_name_other_keys_by_values_that_these_take() {
        for UsedIf { param, values } in DEFAULTS.iter().filter_map(|key| key.used_if) {
            let UsefulValues::OneOf(words) = values else { panic!("no common key needs `{param}` above 0") };
            let takes = |word: &&&str| match kind_of(param) {
                CommonKind::OneOf(words) => words.contains(word),
                CommonKind::Ending => [TIME, STEADY, SURE].contains(*word),
                CommonKind::RateOrNone { .. } => [NONE, LIMIT].contains(*word),
                _ => false,
            };
            assert!(!words.is_empty() && words.iter().all(|word| takes(&word)), "{param}: {words:?}");
        }
    }

    #[test]
    fn defaults_are_within_the_bounds_of_their_keys() {
        for key in DEFAULTS {
            let text = key.default;
            let fits = match key.kind {
                _ if text.is_empty() => !key.without.is_empty(),
                CommonKind::Int { min, max } => {
                    crate::text::parse_whole(text).is_some_and(|n| (min..=max).contains(&n))
                }
                CommonKind::Duration { min, max } => Nanos::parse(text).is_some_and(|time| (min..=max).contains(&time)),
                CommonKind::OneOf(words) => words.contains(&text),
                CommonKind::Truth => [FALSE, TRUE].contains(&text),
                _ => true,
            };
            assert!(fits, "{}: {text}", key.name);
        }
    }
}
