//! CPU time of the kernel's own threads: they compress for btrfs, keep journals, and write back what a process left in the page cache.
//!
//! In: the children of `kthreadd`, and `/proc/PID/schedstat` of each, or else its `stat`. Out: a reading, and the time between two of them.
//! Limits: of all of them, whoever made the work; a thread that ends between two readings takes its last stretch with it. A container does not
//! see them. A thread takes some 10 us to read.

use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// In the first namespace of processes it has this number; in a container the number is of another process, or of none.
const KTHREADD: u32 = 2;

/// The CPU time of each kernel thread so far, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelThreadTimes(BTreeMap<u32, u64>);

impl KernelThreadTimes {
    /// Reads them now. If they are not seen there are none.
    pub fn read() -> KernelThreadTimes {
        let is_seen = text(KTHREADD, "comm").is_some_and(|name| name.trim() == "kthreadd");
        let numbers = if is_seen { children().unwrap_or_else(listed) } else { Vec::new() };
        KernelThreadTimes(numbers.into_iter().filter_map(|number| Some((number, time_of(number)?))).collect())
    }

    /// How many there are.
    pub fn threads(&self) -> usize {
        self.0.len()
    }

    /// The CPU time since `before`; all the time of a thread that has begun since, or that has the number of another.
    pub fn since(&self, before: &KernelThreadTimes) -> Duration {
        let spent = |(number, now): (&u32, &u64)| match before.0.get(number) {
            Some(known) if known <= now => now - known,
            _ => *now,
        };
        Duration::from_nanos(self.0.iter().map(spent).sum())
    }
}

/// The children of `kthreadd`; `None` if the kernel was built without that list.
fn children() -> Option<Vec<u32>> {
    let children = fs::read_to_string(format!("/proc/{KTHREADD}/task/{KTHREADD}/children")).ok()?;
    Some(children.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect())
}

/// The same, from the list of all processes.
fn listed() -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number| text(*number, "stat").and_then(|stat| field(&stat, 1)) == Some(u64::from(KTHREADD)))
        .collect()
}

/// The CPU time of a thread: to the nanosecond if the kernel keeps that, and else in ticks of 10 ms.
fn time_of(number: u32) -> Option<u64> {
    text(number, "schedstat").and_then(|stat| parse_schedstat(&stat)).or_else(|| parse_stat(&text(number, "stat")?))
}

fn text(number: u32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{number}/{file}")).ok()
}

/// The time on a CPU in the text of a `schedstat`; `None` if the kernel does not keep it, and shows 0 for a thread that has run.
fn parse_schedstat(text: &str) -> Option<u64> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (cpu_ns, _, turns) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    (cpu_ns > 0 || turns == 0).then_some(cpu_ns)
}

/// The time in user and kernel mode in the text of a `stat`, in nanoseconds.
fn parse_stat(text: &str) -> Option<u64> {
    Some((field(text, 11)? + field(text, 12)?) * (1_000_000_000 / clock_ticks_per_second()))
}

/// The field of a `stat` that is so many behind the state. The name may have blanks and brackets in it.
fn field(stat: &str, nth: usize) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(nth)?.parse().ok()
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
        let ticks = |text| parse_stat(text).map(|ns| ns / (1_000_000_000 / clock_ticks_per_second()));
        assert_eq!((ticks(worker), ticks(old), ticks("9 (x")), (Some(357), Some(9), None));
        assert_eq!((field(worker, 1), field(old, 1)), (Some(2), Some(2)), "the parent");
    }

    #[test]
    fn time_since_is_of_old_threads_the_difference_and_of_new_ones_all() {
        let of = |all: &[(u32, u64)]| KernelThreadTimes(all.iter().copied().collect());
        let before = of(&[(3, 20), (5, 90)]);
        assert_eq!(of(&[(3, 50), (7, 30)]).since(&before), Duration::from_nanos(60));
        assert_eq!(of(&[(3, 10)]).since(&before), Duration::from_nanos(10), "another thread has its number");
    }

    #[test]
    fn both_lists_have_the_same_threads() {
        let times = KernelThreadTimes::read();
        // In a container there is none.
        if times.threads() > 0 {
            let listed = listed();
            let missing = times.0.keys().filter(|number| !listed.contains(number)).count();
            // Some begin and end at any moment.
            assert!(missing * 10 <= times.threads(), "{missing} of {}", times.threads());
        }
    }
}
