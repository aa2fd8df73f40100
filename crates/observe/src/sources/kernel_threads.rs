//! `kernel-threads`: CPU time of the kernel's own threads: they write back, keep journals, compress.
//!
//! In: the children of `kthreadd`, and `/proc/PID/schedstat` of each, or else its `stat`. Out: nanoseconds since the source was opened.
//! Limits: of all such threads, whoever made the work. A thread that ends between two readings takes its last stretch with it. A container
//! does not see them. A thread takes some 10 us to read, and the source is left out on a machine with more than 1,000 of them.

use crate::proc_file::{ProcFile, counter, read_once};
use crate::sched_stat::SchedStat;
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The source.
pub const ENTRY: SourceEntry =
    SourceEntry { name: "kernel-threads", help: "CPU time of the kernel's own threads", open };

/// In the first namespace of processes it has this number.
const KTHREADD: u32 = 2;
/// To read more would take more than 1 % of a CPU at a reading each second.
const THREADS_MAX: usize = 1_000;

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let is_kthreadd = |name: &str| name.trim() == "kthreadd";
    // In a container the number is of another process, or of none: there is nothing to count, and nothing is missing.
    ProcFile::open_with(format!("/proc/{KTHREADD}/comm"), "kthreadd", is_kthreadd)
        .map_err(|_| SourceMissing::NothingToCount)?;
    // One read for all of them. To list `/proc` would cost a look at every process of the machine.
    let children = ProcFile::open(format!("/proc/{KTHREADD}/task/{KTHREADD}/children"))?;
    let mut source = KernelThreads { children, known: BTreeMap::new(), spent_ns: 0, buffer: Vec::new() };
    match source.read_times() {
        Some(times) if times.len() <= THREADS_MAX => source.known = times,
        _ => return Err(SourceMissing::NothingToCount),
    }
    Ok(Box::new(source))
}

struct KernelThreads {
    children: ProcFile,
    /// The time of each thread at the last reading.
    known: BTreeMap<u32, u64>,
    spent_ns: u64,
    buffer: Vec<u8>,
}

impl KernelThreads {
    /// The time of each thread so far; `None` if there is none, as if `/proc` were hidden.
    fn read_times(&mut self) -> Option<BTreeMap<u32, u64>> {
        let numbers: Vec<u32> =
            self.children.read_text().ok()?.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        let times = numbers.into_iter().filter_map(|number| Some((number, self.time_of(number)?)));
        let times: BTreeMap<u32, u64> = times.collect();
        (!times.is_empty()).then_some(times)
    }

    fn time_of(&mut self, number: u32) -> Option<u64> {
        let path = |file: &str| PathBuf::from(format!("/proc/{number}/{file}"));
        // To the nanosecond if the kernel keeps that, and else in ticks.
        let exact = read_once(&path("schedstat"), &mut self.buffer).ok().and_then(parse_schedstat);
        exact.or_else(|| {
            let ticks = read_once(&path("stat"), &mut self.buffer).ok().and_then(parse_stat)?;
            Some(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
        })
    }
}

impl CounterSource for KernelThreads {
    fn describe(&self) -> SourceDef {
        let counters = vec![
            counter("cpu_ns", "ns", "CPU time of the kernel's own threads").read_as(CounterRole::KernelThreadsCpu),
        ];
        SourceDef { name: ENTRY.name.into(), subject: "machine".into(), counters }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let Some(times) = self.read_times() else { return vec![None] };
        self.spent_ns += spent_between(&self.known, &times);
        self.known = times;
        vec![Some(self.spent_ns as f64)]
    }
}

/// The time that the threads of `after` spent since `before`; all the time of one that is new, or that has the number of another.
fn spent_between(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> u64 {
    let since = |(number, now): (&u32, &u64)| match before.get(number) {
        Some(known) if known <= now => now - known,
        _ => *now,
    };
    after.iter().map(since).sum()
}

/// The time on a CPU in the text of a `schedstat`; `None` if the kernel does not keep it, and shows 0 for a thread that has run.
fn parse_schedstat(text: &str) -> Option<u64> {
    let stat = SchedStat::parse(text)?;
    (stat.cpu_ns > 0 || stat.turns == 0).then_some(stat.cpu_ns)
}

/// The ticks in user and kernel mode in the text of a `stat`. The name may have blanks and brackets in it.
fn parse_stat(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |nth: usize| fields.get(nth)?.parse::<u64>().ok();
    Some(number(11)? + number(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_and_old_kernels_are_read() {
        // Linux 6.18, and Linux 2.6.32, both with scheduler statistics; and without them.
        assert_eq!(parse_schedstat("1265412871 44321765 28731\n"), Some(1_265_412_871));
        assert_eq!(parse_schedstat("88712093 1203941 512\n"), Some(88_712_093));
        assert_eq!(parse_schedstat("0 0 0\n"), Some(0));
        assert_eq!((parse_schedstat("0 0 77\n"), parse_schedstat(""), parse_schedstat("1 2")), (None, None, None));
        let worker =
            "71 (kworker/u4:3-btrfs) I 2 0 0 0 -1 69238880 0 0 0 0 12 345 0 0 20 0 1 0 88 0 0 18446744073709551615";
        let old = "25 (a) (b) S 2 0 0 0 -1 2149613632 0 0 0 0 0 9 0 0 15 -5 1 0 230 0 0 18446744073709551615";
        assert_eq!((parse_stat(worker), parse_stat(old), parse_stat("9 (x")), (Some(357), Some(9), None));
    }

    #[test]
    fn time_is_that_of_old_threads_since_and_all_of_new_ones() {
        let of = |all: &[(u32, u64)]| all.iter().copied().collect::<BTreeMap<u32, u64>>();
        assert_eq!(spent_between(&of(&[(3, 20), (5, 90)]), &of(&[(3, 50), (7, 30)])), 60);
        assert_eq!(spent_between(&of(&[(3, 200)]), &of(&[(3, 50)])), 50, "another thread has its number");
    }

    #[test]
    fn the_counter_of_this_machine_never_goes_down() {
        let subject =
            SamplingSubject { engine_pids: crate::EnginePids::Own, device: None, server: model::ServerWay::Inside };
        // In a container there is nothing to count.
        let Ok(mut source) = open(&subject) else { return };
        let (first, second) = (source.read()[0], source.read()[0]);
        assert!(first.is_some() && first <= second, "{first:?} {second:?}");
    }
}
