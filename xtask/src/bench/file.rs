//! `file`: the cost of the generator itself, and whether it loads a disk as fully as others do.
//!
//! In: the release build, fio, sysbench, or with `--older` another binary of plimsoll in their place. Out: per case and peer the ratio of CPU per I/O, or of I/Os per second on the disk.
//! Limits: random access by one client; both sides pay the kernel's part, which the columns `user` leave out.

use super::cases::{CASES, IoCase};
use super::effort::{Effort, IoCost};
use super::keep::kernel_version;
use super::peers::{self, Peer};
use super::statistics::{Ratio, median, ratio};
use super::{fio, plimsoll};
use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NAME: &str = "file";

/// Where a case is measured.
struct FileLab<'a> {
    root: &'a Path,
    work: &'a Path,
    case: &'a IoCase,
    file: PathBuf,
    seconds: u32,
}

/// plimsoll and its peer, one right after the other.
struct CostPair {
    plimsoll: IoCost,
    peer: IoCost,
}

/// One comparison, as it is printed and kept.
struct CaseComparison {
    case: &'static str,
    by_rate: bool,
    peer: &'static str,
    /// Both costs are medians.
    plimsoll: IoCost,
    other: IoCost,
    ratio: Ratio,
    /// Of the whole processes' CPU.
    process: Ratio,
}

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    let needed: &[needs::Need] = if effort.older.is_some() { &[] } else { needs::BENCH_NEEDS };
    if let [missing, ..] = needs::install_missing(needed)?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    // Built before the measurement: a build at the same time would disturb it.
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let work = root.join("target/bench");
    fs::create_dir_all(&work)?;
    let work = tempfile::Builder::new().prefix(NAME).tempdir_in(&work)?;
    let other = match &effort.older {
        Some(binary) => plimsoll::own_version(binary)?,
        None => fio::version()?,
    };
    for case in CASES.iter().filter(|case| effort.wants(case.name)) {
        println!("\n{}: {}", case.name, case.describe());
        let file = case.make_file(work.path())?;
        let lab = FileLab { root, work: work.path(), case, file, seconds: effort.seconds(5, 2) };
        let peers =
            effort.older.as_ref().map_or_else(|| peers::peers_of(case), |it| vec![vec![Peer::Older(it.clone())]]);
        for settings in peers {
            let comparison = lab.compare_with(&settings, effort.rounds())?;
            print_comparison(&comparison);
            keep_result(root, &comparison, &other)?; // at once: a later case may fail
        }
    }
    println!("kept in docs/benchmarks/{NAME}.md");
    Ok(())
}

impl FileLab<'_> {
    /// Compares plimsoll with one peer, in the setting that is now best for the peer.
    fn compare_with(&self, settings: &[Peer], rounds: u32) -> Result<CaseComparison> {
        let peer = self.choose_setting(settings)?;
        let mut pairs = Vec::new();
        for round in 1..=rounds {
            pairs.extend(self.run_round(&peer, round)?);
        }
        Ok(compare_pairs(self.case, &peer, &pairs))
    }

    fn choose_setting(&self, settings: &[Peer]) -> Result<Peer> {
        if let [only] = settings {
            return Ok(only.clone());
        }
        let mut tried = Vec::new();
        for peer in settings {
            // The better of two: what disturbs a short run makes it worse.
            let (one, two) = (self.run_peer(peer)?, self.run_peer(peer)?);
            let price = if self.case.by_rate() { -one.per_s.max(two.per_s) } else { one.thread_ns.min(two.thread_ns) };
            println!("  tried {}: {}", peer.name(), cost_line(self.case.by_rate(), &one));
            tried.push((price, peer.clone()));
        }
        let best = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).context("a peer has a setting")?;
        Ok(best.1)
    }

    /// A B B A: what drifts slowly affects both sides alike.
    fn run_round(&self, peer: &Peer, round: u32) -> Result<[CostPair; 2]> {
        let there = CostPair { peer: self.run_peer(peer)?, plimsoll: self.run_plimsoll(peer)? };
        let back = CostPair { plimsoll: self.run_plimsoll(peer)?, peer: self.run_peer(peer)? };
        for pair in [&there, &back] {
            let by_rate = self.case.by_rate();
            let (own, other) = (cost_line(by_rate, &pair.plimsoll), cost_line(by_rate, &pair.peer));
            println!("  round {round}: plimsoll {own} : {other} {}", peer.name());
        }
        Ok([there, back])
    }

    fn run_peer(&self, peer: &Peer) -> Result<IoCost> {
        peer.run(self.case, &self.file, self.work, self.seconds)
    }

    /// Runs plimsoll with as many threads as `peer` has.
    fn run_plimsoll(&self, peer: &Peer) -> Result<IoCost> {
        let binary = plimsoll::binary(self.root);
        plimsoll::run(&binary, self.case, &self.file, self.work, self.seconds, peer.has_threads())
    }
}

fn cost_line(by_rate: bool, cost: &IoCost) -> String {
    if by_rate {
        format!("{:.0} I/Os/s, {:.0} ns", cost.per_s, cost.process_ns)
    } else {
        format!("{:.0} ns ({:.0} user)", cost.thread_ns, cost.user_ns)
    }
}

fn compare_pairs(case: &IoCase, peer: &Peer, pairs: &[CostPair]) -> CaseComparison {
    CaseComparison {
        case: case.name,
        by_rate: case.by_rate(),
        peer: peer.name(),
        plimsoll: median_cost(pairs.iter().map(|pair| pair.plimsoll)),
        other: median_cost(pairs.iter().map(|pair| pair.peer)),
        ratio: ratio_by(pairs, if case.by_rate() { |cost| cost.per_s } else { |cost| cost.thread_ns }),
        process: ratio_by(pairs, |cost| cost.process_ns),
    }
}

fn ratio_by(pairs: &[CostPair], value: fn(&IoCost) -> f64) -> Ratio {
    let values: Vec<(f64, f64)> = pairs.iter().map(|pair| (value(&pair.plimsoll), value(&pair.peer))).collect();
    ratio(&values).expect("a round has two pairs")
}

fn median_cost(costs: impl Iterator<Item = IoCost> + Clone) -> IoCost {
    IoCost {
        per_s: median(costs.clone().map(|cost| cost.per_s)),
        thread_ns: median(costs.clone().map(|cost| cost.thread_ns)),
        user_ns: median(costs.clone().map(|cost| cost.user_ns)),
        process_ns: median(costs.map(|cost| cost.process_ns)),
    }
}

fn print_comparison(comparison: &CaseComparison) {
    let CaseComparison { by_rate, peer, plimsoll, other, ratio, process, .. } = comparison;
    println!("  plimsoll : {peer}");
    println!("    medians        {} : {}", cost_line(*by_rate, plimsoll), cost_line(*by_rate, other));
    println!("    {}  {ratio}: {}", if *by_rate { "I/Os per s   " } else { "thread's CPU " }, ratio.verdict());
    println!("    process's CPU  {process}: {}", process.verdict());
}

const HEAD: &str = "\
# file

What plimsoll itself costs, next to the same I/O by fio and sysbench, as `cargo xtask bench file` measures it in interleaved pairs
(A B B A). It adds its lines here. Ratios are plimsoll : peer, the geometric mean over the pairs with its 95 % confidence interval
(Student's t on the logarithms). `CPU` is that of the thread that does the I/O, as each program reports it of itself, in ns per I/O
with the part outside of the kernel in brackets, where less is better; on the disk I/Os per second are compared, where more is
better. `process` is the CPU of the whole process from start to end, as the kernel counts it. Absolute numbers are medians, and true
of that machine in those minutes only.

The peer has the setting that was best for it of those tried just before: all keep a histogram of latencies, use registered files
and buffers where there is a ring, and buffers at page boundaries (fio's default for buffered I/O does not, and would cost it several
times as much on some CPUs). `cache` is a file of 1 MiB, which a core's own cache holds, `memory` one of 256 MiB; both are in the
page cache. `null` is written, /dev/null; `disk` is read with O_DIRECT at the depth in the name, against `sysbench, threads` by as
many clients of plimsoll with `io = sync`. With `--older BINARY` another version of plimsoll is the peer: `older plimsoll`; what the load loop
does for each operation shows most in `null-4k-sync`.

What this table says of older versions is in [uring-cache](uring-cache.md).

| date | versions | kernel | case | against | unit | plimsoll | peer | ratio | ratio (process) |
|---|---|---|---|---|---|---|---|---|---|
";

/// Adds the result to docs/benchmarks.
fn keep_result(root: &Path, comparison: &CaseComparison, other: &str) -> Result<()> {
    let date = workspace::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let versions = format!("{}, {other}", plimsoll::version(root)?);
    let kernel = kernel_version(&rustix::system::uname().release().to_string_lossy());
    let path = root.join("docs/benchmarks").join(format!("{NAME}.md"));
    fs::create_dir_all(path.parent().context("it has a parent")?)?;
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| HEAD.to_owned());
    text.push_str(&table_row(date.trim(), &versions, &kernel, comparison));
    fs::write(&path, text)?;
    Ok(())
}

fn table_row(date: &str, versions: &str, kernel: &str, comparison: &CaseComparison) -> String {
    let CaseComparison { case, by_rate, peer, plimsoll, other, ratio, process } = comparison;
    let (unit, own, other) = if *by_rate {
        ("I/Os per s", format!("{:.0}", plimsoll.per_s), format!("{:.0}", other.per_s))
    } else {
        ("CPU", with_user(plimsoll), with_user(other))
    };
    format!("| {date} | {versions} | {kernel} | {case} | {peer} | {unit} | {own} | {other} | {ratio} | {process} |\n")
}

fn with_user(cost: &IoCost) -> String {
    format!("{:.0} ({:.0})", cost.thread_ns, cost.user_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(plimsoll: f64, peer: f64) -> CostPair {
        let cost = |thread_ns| IoCost {
            per_s: 1e9 / thread_ns,
            thread_ns,
            user_ns: thread_ns * 0.1,
            process_ns: thread_ns * 1.1,
        };
        CostPair { plimsoll: cost(plimsoll), peer: cost(peer) }
    }

    fn compared(name: &str, pairs: &[CostPair]) -> CaseComparison {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        compare_pairs(case, &peers::peers_of(case)[0][0], pairs)
    }

    #[test]
    fn a_comparison_is_of_the_cpu_and_on_the_disk_of_the_rate() {
        let pairs = [pair(400.0, 800.0), pair(1200.0, 2400.0)];
        let cpu = compared("cache-4k-uring", &pairs);
        assert!((cpu.ratio.mean - 0.5).abs() < 1e-12 && (cpu.process.mean - 0.5).abs() < 1e-12);
        assert_eq!((cpu.plimsoll.thread_ns, cpu.other.thread_ns, cpu.ratio.pairs), (800.0, 1600.0, 2));
        assert!((compared("disk-16k-1", &pairs).ratio.mean - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_row_fits_the_head_of_the_table() {
        let comparison = compared("null-4k-sync", &[pair(70.0, 90.0), pair(70.0, 90.0)]);
        let row = table_row("2026-01-02", "plimsoll 0.1.0, fio-3.33", "6.1.0", &comparison);
        let cells = |line: &str| line.matches('|').count();
        assert_eq!(Some(cells(&row)), HEAD.lines().last().map(cells));
        assert!(row.contains("| CPU | 70 (7) | 90 (9) | 0.778 (95 %: 0.778 to 0.778, n = 2 pairs) |"), "{row}");
    }

    #[test]
    fn the_kernel_is_told_without_the_name_of_its_build() {
        assert_eq!(
            [kernel_version("6.1.0-18-amd64"), kernel_version("6.12.3"), kernel_version("6.9.4+deb")],
            ["6.1.0", "6.12.3", "6.9.4"]
        );
    }
}
