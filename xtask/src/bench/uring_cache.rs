//! `uring-cache`: what the generator itself costs. 16 KiB random reads by io_uring at depth 32 on a file in the page cache: there
//! is no device to wait for, so every nanosecond is the generator's or the kernel's.
//!
//! In: the release build, fio. Out: the CPU of an I/O in plimsoll and in two settings of fio, as ratios. Limits: one file, one
//! block size, one depth; both sides pay the same copy out of the page cache, which is most of it.

use super::fio::{self, Cost, Setting};
use super::statistics::{Ratio, median, ratio};
use super::{Effort, plimsoll};
use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The bench's name.
pub const NAME: &str = "uring-cache";

const FILE_BYTES: usize = 256 << 20;

/// What one half of a round measured, each right after the other.
struct Half {
    plain: Cost,
    batched: Cost,
    plimsoll: Cost,
}

/// One comparison, as it is printed and kept.
struct Comparison {
    peer: Setting,
    peer_ns: f64,
    plimsoll_ns: f64,
    thread: Ratio,
    process: Ratio,
}

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let [missing] = needs::ensure(std::slice::from_ref(&needs::FIO))?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    // Built before and not beside what is measured.
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let work = root.join("target/bench");
    fs::create_dir_all(&work)?;
    let work = tempfile::Builder::new().prefix(NAME).tempdir_in(&work)?;
    let file = work.path().join("data");
    make_file(&file)?;
    println!("{NAME}: CPU of the generator's thread per 16 KiB read from the page cache, io_uring, depth 32");
    let mut halves = Vec::new();
    for round in 1..=effort.rounds {
        halves.extend(measure_round(root, &file, work.path(), effort.seconds, round)?);
    }
    let comparisons = [Setting::Plain, Setting::Batched].map(|peer| compare(peer, &halves));
    comparisons.iter().for_each(print);
    keep(root, &comparisons)
}

/// A file that is in the page cache and on the disk, so that nothing is written back while it is read.
fn make_file(path: &Path) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("cannot make `{}`", path.display()))?;
    let block: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    fs::read(path)?;
    Ok(())
}

/// A B B A: fio in both settings and plimsoll, then the same in the opposite order.
fn measure_round(root: &Path, file: &Path, work: &Path, seconds: u32, round: u32) -> Result<[Half; 2]> {
    let fio = |setting| fio::run(file, seconds, setting);
    let plimsoll = || plimsoll::run(root, file, work, seconds);
    let (plain, batched, own) = (fio(Setting::Plain)?, fio(Setting::Batched)?, plimsoll()?);
    let there = Half { plain, batched, plimsoll: own };
    let (own, batched, plain) = (plimsoll()?, fio(Setting::Batched)?, fio(Setting::Plain)?);
    let back = Half { plain, batched, plimsoll: own };
    for half in [&there, &back] {
        println!("round {round}: {}", half.line());
    }
    Ok([there, back])
}

impl Half {
    fn of(&self, peer: Setting) -> Cost {
        match peer {
            Setting::Plain => self.plain,
            Setting::Batched => self.batched,
        }
    }

    fn line(&self) -> String {
        let one = |name, cost: Cost| format!("{name} {:.0} ns ({:.2} M reads)", cost.thread_ns, cost.ops / 1e6);
        let peers = [Setting::Plain, Setting::Batched].map(|peer| one(peer.as_str(), self.of(peer)));
        format!("{}, {}", peers.join(", "), one("plimsoll", self.plimsoll))
    }
}

/// plimsoll against one setting of fio.
fn compare(peer: Setting, halves: &[Half]) -> Comparison {
    let ratio_by = |cpu: fn(&Cost) -> f64| {
        let pairs: Vec<(f64, f64)> = halves.iter().map(|half| (cpu(&half.plimsoll), cpu(&half.of(peer)))).collect();
        ratio(&pairs).expect("a round has two pairs")
    };
    Comparison {
        peer,
        peer_ns: median(halves.iter().map(|half| half.of(peer).thread_ns)),
        plimsoll_ns: median(halves.iter().map(|half| half.plimsoll.thread_ns)),
        thread: ratio_by(|cost| cost.thread_ns),
        process: ratio_by(|cost| cost.process_ns),
    }
}

fn print(comparison: &Comparison) {
    let Comparison { peer, peer_ns, plimsoll_ns, thread, process } = comparison;
    println!("plimsoll : {}", peer.as_str());
    println!("  medians        {plimsoll_ns:.0} ns : {peer_ns:.0} ns");
    println!("  thread         {thread}: {}", thread.verdict());
    println!("  whole process  {process}: {}", process.verdict());
}

const HEAD: &str = "\
# uring-cache

CPU that one 16 KiB random read costs the generator: io_uring at depth 32 with registered files and buffers, on a file of
256 MiB in the page cache. `cargo xtask bench uring-cache` measures plimsoll and fio in interleaved pairs (A B B A) and adds
its lines here. The ratio is plimsoll : fio, the geometric mean over the pairs with its 95 % confidence interval (Student's t on
the logarithms); below 1 plimsoll costs less. `thread` is the CPU of the thread that does the I/O, as each program reports it of
itself; `process` is the CPU of the whole process from start to end, as the kernel counts it. Nanoseconds are medians, and true
of that machine in those minutes only. Both use buffers at page boundaries: fio's default for buffered I/O does not, and would
cost it several times as much on some CPUs.

| date | versions | kernel | against | plimsoll ns | fio ns | ratio (thread) | ratio (process) |
|---|---|---|---|---|---|---|---|
";

/// Adds the result to docs/benchmarks.
fn keep(root: &Path, comparisons: &[Comparison]) -> Result<()> {
    let date = workspace::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let versions = format!("{}, {}", plimsoll::version(root)?, fio::version()?);
    let kernel = kernel(&rustix::system::uname().release().to_string_lossy());
    let path = root.join("docs/benchmarks").join(format!("{NAME}.md"));
    fs::create_dir_all(path.parent().context("it has a parent")?)?;
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| HEAD.to_owned());
    comparisons.iter().for_each(|one| text.push_str(&row(date.trim(), &versions, &kernel, one)));
    fs::write(&path, text)?;
    println!("kept in docs/benchmarks/{NAME}.md");
    Ok(())
}

fn row(date: &str, versions: &str, kernel: &str, comparison: &Comparison) -> String {
    let Comparison { peer, peer_ns, plimsoll_ns, thread, process } = comparison;
    format!(
        "| {date} | {versions} | {kernel} | {} | {plimsoll_ns:.0} | {peer_ns:.0} | {thread} | {process} |\n",
        peer.as_str()
    )
}

/// `6.1.0-18-amd64` is kernel 6.1.0: the rest names a distribution or a machine.
pub(super) fn kernel(release: &str) -> String {
    release.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(plain: f64, batched: f64, plimsoll: f64) -> Half {
        let cost = |thread_ns| Cost { ops: 1e6, thread_ns, process_ns: thread_ns * 1.1 };
        Half { plain: cost(plain), batched: cost(batched), plimsoll: cost(plimsoll) }
    }

    #[test]
    fn a_comparison_pairs_what_was_measured_in_the_same_half() {
        let halves = [half(1000.0, 800.0, 400.0), half(3000.0, 2400.0, 1200.0)];
        let batched = compare(Setting::Batched, &halves);
        assert!((batched.thread.mean - 0.5).abs() < 1e-12 && (batched.process.mean - 0.5).abs() < 1e-12);
        assert_eq!((batched.plimsoll_ns, batched.peer_ns, batched.thread.pairs), (800.0, 1600.0, 2));
        assert!((compare(Setting::Plain, &halves).thread.mean - 0.4).abs() < 1e-12);
    }

    #[test]
    fn a_row_fits_the_head_of_the_table() {
        let row = row(
            "2026-01-02",
            "plimsoll 0.0.0, fio-3.33",
            "6.1.0",
            &compare(Setting::Plain, &[half(9.0, 8.0, 7.0), half(9.0, 8.0, 7.0)]),
        );
        let cells = |line: &str| line.matches('|').count();
        assert_eq!(Some(cells(&row)), HEAD.lines().last().map(cells));
        assert!(row.contains("| 7 | 9 | 0.778 (95 %: 0.778 to 0.778, n = 2 pairs) |"), "{row}");
    }

    #[test]
    fn the_kernel_is_told_without_the_name_of_its_build() {
        assert_eq!([kernel("6.1.0-18-amd64"), kernel("6.12.3"), kernel("6.9.4+deb")], ["6.1.0", "6.12.3", "6.9.4"]);
    }
}
