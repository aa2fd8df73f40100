//! `file`: what the generator itself costs, and whether it gets out of a disk what others do.
//!
//! In: the release build, fio, sysbench. Out: per case and peer the ratio of CPU per I/O, or of I/Os per second on the disk.
//! Limits: random access by one client; both sides pay the kernel's part, which the columns `user` show apart.

use super::cases::{CASES, Case};
use super::effort::{Cost, Effort};
use super::keep::kernel_version;
use super::peers::{self, Peer};
use super::statistics::{Ratio, median, ratio};
use super::{fio, plimsoll};
use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bench's name.
pub const NAME: &str = "file";

/// Where a case is measured.
struct Lab<'a> {
    root: &'a Path,
    work: &'a Path,
    case: &'a Case,
    file: PathBuf,
    seconds: u32,
}

/// plimsoll and its peer, one right after the other.
struct Pair {
    plimsoll: Cost,
    peer: Cost,
}

/// One comparison, as it is printed and kept.
struct Comparison {
    case: &'static str,
    by_rate: bool,
    peer: &'static str,
    /// Medians.
    plimsoll: Cost,
    other: Cost,
    ratio: Ratio,
    /// Of the whole processes' CPU.
    process: Ratio,
}

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let [missing, ..] = needs::ensure(needs::BENCH_NEEDS)?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    // Built before and not beside what is measured.
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let work = root.join("target/bench");
    fs::create_dir_all(&work)?;
    let work = tempfile::Builder::new().prefix(NAME).tempdir_in(&work)?;
    let wanted = |case: &&Case| effort.wants(case.name);
    for case in CASES.iter().filter(wanted) {
        println!("\n{}: {}", case.name, case.what());
        let lab = Lab { root, work: work.path(), case, file: case.file(work.path())?, seconds: effort.seconds(5, 2) };
        for settings in peers::of(case) {
            let comparison = lab.compare(&settings, effort.rounds())?;
            print(&comparison);
            keep(root, &comparison)?; // at once: a later case may fail
        }
    }
    println!("kept in docs/benchmarks/{NAME}.md");
    Ok(())
}

impl Lab<'_> {
    /// plimsoll beside one peer, in the setting that is best for the peer here and now.
    fn compare(&self, settings: &[Peer], rounds: u32) -> Result<Comparison> {
        let peer = self.best(settings)?;
        let mut pairs = Vec::new();
        for round in 1..=rounds {
            pairs.extend(self.round(&peer, round)?);
        }
        Ok(compare(self.case, &peer, &pairs))
    }

    fn best(&self, settings: &[Peer]) -> Result<Peer> {
        if let [only] = settings {
            return Ok(*only);
        }
        let mut tried = Vec::new();
        for peer in settings {
            // The better of two: what disturbs a short run makes it worse.
            let (one, two) = (self.peer(peer)?, self.peer(peer)?);
            let price = if self.case.by_rate() { -one.per_s.max(two.per_s) } else { one.thread_ns.min(two.thread_ns) };
            println!("  tried {}: {}", peer.name(), line(self.case.by_rate(), &one));
            tried.push((price, *peer));
        }
        let best = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).context("a peer has a setting")?;
        Ok(best.1)
    }

    /// A B B A.
    fn round(&self, peer: &Peer, round: u32) -> Result<[Pair; 2]> {
        let there = Pair { peer: self.peer(peer)?, plimsoll: self.plimsoll(peer)? };
        let back = Pair { plimsoll: self.plimsoll(peer)?, peer: self.peer(peer)? };
        for pair in [&there, &back] {
            let by_rate = self.case.by_rate();
            let (own, other) = (line(by_rate, &pair.plimsoll), line(by_rate, &pair.peer));
            println!("  round {round}: plimsoll {own} : {other} {}", peer.name());
        }
        Ok([there, back])
    }

    fn peer(&self, peer: &Peer) -> Result<Cost> {
        peer.run(self.case, &self.file, self.seconds)
    }

    /// plimsoll as it is comparable with `peer`.
    fn plimsoll(&self, peer: &Peer) -> Result<Cost> {
        plimsoll::run(self.root, self.case, &self.file, self.work, self.seconds, peer.has_threads())
    }
}

fn line(by_rate: bool, cost: &Cost) -> String {
    match by_rate {
        true => format!("{:.0} I/Os/s, {:.0} ns", cost.per_s, cost.process_ns),
        false => format!("{:.0} ns ({:.0} user)", cost.thread_ns, cost.user_ns),
    }
}

fn compare(case: &Case, peer: &Peer, pairs: &[Pair]) -> Comparison {
    let ratio_by = |value: fn(&Cost) -> f64| {
        let values: Vec<(f64, f64)> = pairs.iter().map(|pair| (value(&pair.plimsoll), value(&pair.peer))).collect();
        ratio(&values).expect("a round has two pairs")
    };
    let medians = |side: fn(&Pair) -> &Cost| {
        let of = |value: fn(&Cost) -> f64| median(pairs.iter().map(|pair| value(side(pair))));
        Cost {
            per_s: of(|cost| cost.per_s),
            thread_ns: of(|cost| cost.thread_ns),
            user_ns: of(|cost| cost.user_ns),
            process_ns: of(|cost| cost.process_ns),
        }
    };
    Comparison {
        case: case.name,
        by_rate: case.by_rate(),
        peer: peer.name(),
        plimsoll: medians(|pair| &pair.plimsoll),
        other: medians(|pair| &pair.peer),
        ratio: ratio_by(if case.by_rate() { |cost| cost.per_s } else { |cost| cost.thread_ns }),
        process: ratio_by(|cost| cost.process_ns),
    }
}

fn print(comparison: &Comparison) {
    let Comparison { by_rate, peer, plimsoll, other, ratio, process, .. } = comparison;
    println!("  plimsoll : {peer}");
    println!("    medians        {} : {}", line(*by_rate, plimsoll), line(*by_rate, other));
    println!("    {}  {ratio}: {}", if *by_rate { "I/Os per s   " } else { "thread's CPU " }, ratio.verdict());
    println!("    process's CPU  {process}: {}", process.verdict());
}

const HEAD: &str = "\
# file

What plimsoll itself costs, beside the same I/O by fio and sysbench, as `cargo xtask bench file` measures it in interleaved pairs
(A B B A). It adds its lines here. Ratios are plimsoll : peer, the geometric mean over the pairs with its 95 % confidence interval
(Student's t on the logarithms). `CPU` is that of the thread that does the I/O, as each program reports it of itself, in ns per I/O
with the part outside of the kernel in brackets, where less is better; on the disk I/Os per second are compared, where more is
better. `process` is the CPU of the whole process from start to end, as the kernel counts it. Absolute numbers are medians, and true
of that machine in those minutes only.

The peer has the setting that was best for it of those tried just before: all keep a histogram of latencies, use registered files
and buffers where there is a ring, and buffers at page boundaries (fio's default for buffered I/O does not, and would cost it several
times as much on some CPUs). `cache` is a file of 1 MiB, which a core's own cache holds, `memory` one of 256 MiB; both are in the
page cache. `null` is written, /dev/null; `disk` is read with O_DIRECT at the depth in the name, against `sysbench, threads` by as
many clients of plimsoll with `io = sync`.

What this table says of older versions is in [uring-cache](uring-cache.md).

| date | versions | kernel | case | against | unit | plimsoll | peer | ratio | ratio (process) |
|---|---|---|---|---|---|---|---|---|---|
";

/// Adds the result to docs/benchmarks.
fn keep(root: &Path, comparison: &Comparison) -> Result<()> {
    let date = workspace::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let versions = format!("{}, {}", plimsoll::version(root)?, fio::version()?);
    let kernel = kernel_version(&rustix::system::uname().release().to_string_lossy());
    let path = root.join("docs/benchmarks").join(format!("{NAME}.md"));
    fs::create_dir_all(path.parent().context("it has a parent")?)?;
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| HEAD.to_owned());
    text.push_str(&row(date.trim(), &versions, &kernel, comparison));
    fs::write(&path, text)?;
    Ok(())
}

fn row(date: &str, versions: &str, kernel: &str, comparison: &Comparison) -> String {
    let Comparison { case, by_rate, peer, plimsoll, other, ratio, process } = comparison;
    let (unit, own, other) = match by_rate {
        true => ("I/Os per s", format!("{:.0}", plimsoll.per_s), format!("{:.0}", other.per_s)),
        false => ("CPU", with_user(plimsoll), with_user(other)),
    };
    format!("| {date} | {versions} | {kernel} | {case} | {peer} | {unit} | {own} | {other} | {ratio} | {process} |\n")
}

fn with_user(cost: &Cost) -> String {
    format!("{:.0} ({:.0})", cost.thread_ns, cost.user_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(plimsoll: f64, peer: f64) -> Pair {
        let cost = |thread_ns| Cost {
            per_s: 1e9 / thread_ns,
            thread_ns,
            user_ns: thread_ns * 0.1,
            process_ns: thread_ns * 1.1,
        };
        Pair { plimsoll: cost(plimsoll), peer: cost(peer) }
    }

    fn compared(name: &str, pairs: &[Pair]) -> Comparison {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        compare(case, &peers::of(case)[0][0], pairs)
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
        let row = row("2026-01-02", "plimsoll 0.0.0, fio-3.33", "6.1.0", &comparison);
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
