//! What on this machine disturbs a measurement, what that means for results, and what to do about it.
//!
//! In: `/proc`, `/sys`, the directory to measure, and the CPU time that went by meanwhile. Out: one line for each disturbance, and how
//! fit the machine is with all of them.
//! Limits: settings and shortages that show without a load. What a run itself meets is in the findings of its report.

use crate::filesystem::{DirectAlignment, direct_alignment, find_mount};
use crate::machine::{bytes_after, cpu_governors};
use crate::text_file::text_of;
use model::Bytes;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::path::Path;

/// Shares of the CPU time below these are the machine's own housekeeping.
const STEAL_MIN: f64 = 0.01;
const OTHERS_MIN: f64 = 0.05;
/// With less of it free the kernel reclaims pages all the time; a file system or an SSD searches for space.
const SCARCE_SHARE: u64 = 10;

/// With a steal as large a point is invalid, and with as much used by others it is indicative: the analysis has the same limits.
const STEAL_GRAVE: f64 = 0.10;
const OTHERS_WEAKENING: f64 = 0.10;

/// How much a disturbance does to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Something cannot be measured, and results are as good as without it.
    Slight,
    /// Results vary more, or some kinds of them are not to be trusted.
    Weakening,
    /// Results are of no use until it is mended.
    Grave,
}

/// One thing that disturbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// How much it does.
    pub gravity: Gravity,
    /// What was found that disturbs.
    pub what: String,
    /// What it means for results.
    pub effect: &'static str,
    /// What the user can do about it.
    pub remedy: &'static str,
}

/// What a disturbance is, what it means for results, and what to do.
type Clauses = (String, &'static str, &'static str);

impl Disturbance {
    /// It in one line.
    pub fn line(&self) -> String {
        format!("{}: {}; {}", self.what, self.effect, self.remedy)
    }
}

/// How fit a machine is for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// Nothing on this machine weakens results.
    Fit,
    /// Results are weaker than they could be.
    WithCare,
    /// Results would be of no use.
    Unfit,
}

impl Fitness {
    /// That of a machine with `all` these disturbances.
    pub fn with(all: &[Disturbance]) -> Fitness {
        match all.iter().map(|one| one.gravity).max() {
            None | Some(Gravity::Slight) => Fitness::Fit,
            Some(Gravity::Weakening) => Fitness::WithCare,
            Some(Gravity::Grave) => Fitness::Unfit,
        }
    }
}

/// CPU time since the machine was started, in ticks of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    total: u64,
    idle: u64,
    /// Spent on interrupts, which no process asked for by itself: those of a measurement's own I/O are among them.
    interrupts: u64,
    stolen: u64,
    own: u64,
}

impl CpuTimes {
    /// Those of this moment; `None` if `/proc` lacks them.
    pub fn now() -> Option<CpuTimes> {
        parse_times(&text_of("/proc/stat")?, &text_of("/proc/self/stat")?)
    }

    /// The shares of the CPU time since `before` that the hypervisor took and that other processes used.
    fn shares_since(&self, before: &CpuTimes) -> CpuShares {
        let passed = |of: fn(&CpuTimes) -> u64| of(self).saturating_sub(of(before)) as f64;
        let total = passed(|times| times.total);
        if total == 0.0 {
            return CpuShares::default();
        }
        let (stolen, own) = (passed(|times| times.stolen), passed(|times| times.own));
        let without_process = passed(|times| times.idle) + passed(|times| times.interrupts) + stolen;
        let others = (total - without_process - own).max(0.0);
        CpuShares { stolen: stolen / total, others: others / total }
    }
}

/// Parts of the CPU time of a while, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CpuShares {
    stolen: f64,
    others: f64,
}

/// Reads `cpu user nice system idle iowait irq softirq steal ...` and the fields `utime` and `stime` of a process (proc(5)). The name
/// of a process may hold blanks and ends with the last parenthesis.
fn parse_times(stat: &str, own_stat: &str) -> Option<CpuTimes> {
    const UTIME: usize = 11;
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    let all: Vec<u64> = all.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let &[_, _, _, idle, waiting, irq, softirq, stolen] = all.as_slice() else { return None };
    let (_, own) = own_stat.rsplit_once(") ")?;
    let own = own.split_ascii_whitespace().skip(UTIME).take(2).map_while(|field| field.parse::<u64>().ok()).sum();
    Some(CpuTimes { total: all.iter().sum(), idle: idle + waiting, interrupts: irq + softirq, stolen, own })
}

/// What may disturb a measurement.
#[derive(Clone, Debug)]
pub struct Surroundings {
    governor: String,
    swap_used: Bytes,
    memory: Amount,
    disk: Option<Amount>,
    filesystem: String,
    alignment: DirectAlignment,
    is_root: bool,
    is_debug_build: bool,
    cpu: CpuShares,
}

/// How much there is of something, and how much of it is free.
#[derive(Clone, Copy, Debug)]
struct Amount {
    free: Bytes,
    total: Bytes,
}

impl Amount {
    fn is_scarce(&self) -> bool {
        self.free.0 < self.total.0 / SCARCE_SHARE
    }
}

impl Surroundings {
    /// Those of a measurement in `dir`; the CPU time counts from `before`.
    pub fn inspect(dir: &Path, before: Option<CpuTimes>) -> Surroundings {
        let meminfo = text_of("/proc/meminfo").unwrap_or_default();
        let amount = |key| bytes_after(&meminfo, key).unwrap_or_default();
        let mount = find_mount(dir).ok();
        let shares = before.zip(CpuTimes::now()).map(|(before, now)| now.shares_since(&before));
        Surroundings {
            governor: cpu_governors(),
            swap_used: Bytes(amount("SwapTotal:").0.saturating_sub(amount("SwapFree:").0)),
            memory: Amount { free: amount("MemAvailable:"), total: amount("MemTotal:") },
            disk: mount.as_ref().map(|mount| Amount { free: mount.free, total: mount.total }),
            filesystem: mount.map_or("unknown".to_owned(), |mount| mount.filesystem),
            alignment: alignment_in(dir),
            is_root: rustix::process::geteuid().is_root(),
            is_debug_build: cfg!(debug_assertions),
            cpu: shares.unwrap_or_default(),
        }
    }

    /// What disturbs, the gravest first.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        use Gravity::{Grave, Slight, Weakening};
        let steal = if self.cpu.stolen >= STEAL_GRAVE { Grave } else { Weakening };
        let others = if self.cpu.others >= OTHERS_WEAKENING { Weakening } else { Slight };
        let all = [
            (Grave, self.slow_build()),
            (Weakening, self.varying_clock()),
            (steal, self.stolen_time()),
            (others, self.other_processes()),
            (Slight, self.swap()),
            (Weakening, self.scarce_memory()),
            (Weakening, self.buffered_only()),
            (Weakening, self.full_disk()),
            (Slight, self.no_root()),
        ];
        let found = all.into_iter().filter_map(|(gravity, clauses)| {
            let (what, effect, remedy) = clauses?;
            Some(Disturbance { gravity, what, effect, remedy })
        });
        let mut found: Vec<Disturbance> = found.collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.gravity));
        found
    }

    fn slow_build(&self) -> Option<Clauses> {
        let effect = "plimsoll itself is several times slower and may be the bottleneck";
        self.is_debug_build.then(|| ("debug build".to_owned(), effect, "use a release build"))
    }

    fn varying_clock(&self) -> Option<Clauses> {
        let is_fixed = ["performance", "unknown"].contains(&self.governor.as_str());
        let effect = "the clock follows the load, so light loads run slower";
        let remedy = "use `cpupower frequency-set -g performance`";
        (!is_fixed).then(|| (format!("CPU governor `{}`", self.governor), effect, remedy))
    }

    fn stolen_time(&self) -> Option<Clauses> {
        let what = format!("the hypervisor took {:.0} % of the CPU time during this check", self.cpu.stolen * 100.0);
        let remedy = "measure each point several times (`--repeat`)";
        (self.cpu.stolen >= STEAL_MIN).then_some((what, "rates vary by at least as much", remedy))
    }

    fn other_processes(&self) -> Option<Clauses> {
        let what = format!("other processes used {:.0} % of the CPU time during this check", self.cpu.others * 100.0);
        let effect = "rates are lower and vary more";
        (self.cpu.others >= OTHERS_MIN).then_some((what, effect, "stop them (`top` shows them)"))
    }

    fn swap(&self) -> Option<Clauses> {
        let effect = "an engine may wait for memory that was swapped out";
        let what = format!("swap in use ({})", self.swap_used);
        (self.swap_used.0 > 0).then_some((what, effect, "free memory, then `swapoff -a`"))
    }

    fn scarce_memory(&self) -> Option<Clauses> {
        let Amount { free, total } = self.memory;
        let what = format!("little free memory ({free} of {total})");
        self.memory.is_scarce().then_some((what, "the page cache shrinks during a run", "stop other programs"))
    }

    fn buffered_only(&self) -> Option<Clauses> {
        let effect = "reads and writes of files measure memory, not the device";
        let what = format!("no O_DIRECT on `{}`", self.filesystem);
        (self.alignment == DirectAlignment::BufferedOnly).then_some((what, effect, "choose another --dir"))
    }

    fn full_disk(&self) -> Option<Clauses> {
        let Amount { free, total } = self.disk.filter(Amount::is_scarce)?;
        let what = format!("the file system is nearly full ({free} of {total} are free)");
        Some((what, "it and its SSD may write more slowly", "free some space"))
    }

    fn no_root(&self) -> Option<Clauses> {
        let effect = "`fs`, `memory_limit` and `storage_limit` are refused, and some counters are missing";
        (!self.is_root).then(|| ("not root".to_owned(), effect, "other results are not affected"))
    }
}

/// What direct I/O asks for in `dir`, tried on a file without a name.
fn alignment_in(dir: &Path) -> DirectAlignment {
    const LONG_ENOUGH: u64 = 1 << 16;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR).map(File::from) else {
        return DirectAlignment::Unknown;
    };
    file.set_len(LONG_ENOUGH).map_or(DirectAlignment::Unknown, |()| direct_alignment(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which nothing disturbs.
    fn quiet() -> Surroundings {
        Surroundings {
            governor: "performance".into(),
            swap_used: Bytes(0),
            memory: Amount { free: Bytes::from_gib(12), total: Bytes::from_gib(16) },
            disk: Some(Amount { free: Bytes::from_gib(50), total: Bytes::from_gib(100) }),
            filesystem: "ext4".into(),
            alignment: DirectAlignment::Direct { offset_align: 512, mem_align: 4 },
            is_root: true,
            is_debug_build: false,
            cpu: CpuShares { stolen: 0.004, others: 0.02 },
        }
    }

    #[test]
    fn nothing_is_named_on_a_quiet_machine() {
        assert_eq!(quiet().disturbances(), []);
        let unknown =
            Surroundings { governor: "unknown".into(), alignment: DirectAlignment::Unknown, disk: None, ..quiet() };
        assert_eq!(unknown.disturbances(), [], "what is not known is no disturbance");
    }

    #[test]
    fn each_disturbance_is_one_line_that_names_it() {
        let few = Amount { free: Bytes::from_gib(1), total: Bytes::from_gib(16) };
        let all = Surroundings {
            governor: "powersave".into(),
            swap_used: Bytes::from_mib(300),
            memory: few,
            disk: Some(few),
            filesystem: "tmpfs".into(),
            alignment: DirectAlignment::BufferedOnly,
            is_root: false,
            is_debug_build: true,
            cpu: CpuShares { stolen: 0.03, others: 0.4 },
        };
        let found = all.disturbances();
        assert!(found.windows(2).all(|two| two[0].gravity >= two[1].gravity), "{found:#?}");
        let lines: Vec<String> = found.iter().map(Disturbance::line).collect();
        let named = [
            "debug build",
            "`powersave`",
            "took 3 %",
            "used 40 %",
            "swap in use (300 MiB)",
            "memory (1 GiB of 16 GiB)",
            "no O_DIRECT on `tmpfs`",
            "nearly full (1 GiB of 16 GiB",
            "not root",
        ];
        assert_eq!(lines.len(), named.len(), "{lines:#?}");
        for name in named {
            let own: Vec<&String> = lines.iter().filter(|line| line.contains(name)).collect();
            assert!(own.len() == 1 && !own[0].contains('\n') && own[0].contains(';'), "{name}: {lines:#?}");
        }
    }

    #[test]
    fn a_machine_is_as_fit_as_its_gravest_disturbance_lets_it_be() {
        let fitness = |surroundings: Surroundings| Fitness::with(&surroundings.disturbances());
        let with_cpu = |stolen, others| Surroundings { cpu: CpuShares { stolen, others }, ..quiet() };
        assert_eq!(fitness(quiet()), Fitness::Fit);
        assert_eq!(fitness(Surroundings { is_root: false, ..quiet() }), Fitness::Fit);
        assert_eq!(fitness(with_cpu(0.0, 0.06)), Fitness::Fit);
        assert_eq!([with_cpu(0.03, 0.0), with_cpu(0.0, 0.4)].map(fitness), [Fitness::WithCare; 2]);
        assert_eq!(fitness(with_cpu(0.12, 0.0)), Fitness::Unfit);
        assert_eq!(fitness(Surroundings { is_debug_build: true, ..quiet() }), Fitness::Unfit);
    }

    #[test]
    fn shares_are_those_of_the_time_that_went_by() {
        let own = |ticks: u64| format!("7 (a ) b) R 1 7 7 0 -1 4194304 1 0 0 0 {ticks} 10 0 0 20 0 1 0");
        let before = parse_times("cpu  100 0 50 800 20 0 5 25 0 0\ncpu0 1", &own(90)).unwrap();
        assert_eq!(before, CpuTimes { total: 1000, idle: 820, interrupts: 5, stolen: 25, own: 100 });
        let now = parse_times("cpu  180 0 80 860 20 0 5 55 0 0\ncpu0 1", &own(150)).unwrap();
        let CpuShares { stolen, others } = now.shares_since(&before);
        assert!((stolen - 0.15).abs() < 1e-9 && (others - 0.25).abs() < 1e-9, "{stolen} {others}");
        assert_eq!(parse_times("intr 1", &own(1)), None);
        assert_eq!(now.shares_since(&now), CpuShares { stolen: 0.0, others: 0.0 });
    }

    #[test]
    fn interrupts_are_not_taken_for_other_processes() {
        let own = "7 (a) R 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0";
        let before = parse_times("cpu  0 0 0 0 0 0 0 0 0 0", own).unwrap();
        let now = parse_times("cpu  10 0 10 700 0 80 200 0 0 0", own).unwrap();
        assert_eq!(now.shares_since(&before), CpuShares { stolen: 0.0, others: 0.02 });
    }

    #[test]
    fn this_machine_can_be_inspected() {
        let (dir, before) = (tempfile::tempdir().unwrap(), CpuTimes::now());
        let here = Surroundings::inspect(dir.path(), before);
        assert!(before.is_some() && here.memory.total > Bytes::from_mib(64) && here.memory.free.0 > 0, "{here:?}");
        assert!(here.disturbances().iter().any(|one| one.what == "debug build"), "tests are");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file that was tried has no name");
    }
}
