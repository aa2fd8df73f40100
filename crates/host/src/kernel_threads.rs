//! CPU time of the kernel's own threads: they compress for btrfs, and write back what a process left in the page cache.
//!
//! In: `/proc`. Out: a reading, and the time between two of them. Limits: of all of them, whoever made the work; a thread that ends
//! between two readings takes its last stretch with it. A reading takes some ms, so it belongs before and after a measurement.

use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The CPU time of each kernel thread so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelThreadTimes(BTreeMap<u32, Duration>);

impl KernelThreadTimes {
    /// Reads them now. Without `/proc` there are none.
    pub fn read() -> KernelThreadTimes {
        let all = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((number, kernel_thread_time(number)?))
        });
        KernelThreadTimes(all.collect())
    }

    /// The CPU time since `before`. All the time of a thread that has begun since counts.
    pub fn since(&self, before: &KernelThreadTimes) -> Duration {
        let spent =
            |(number, now): (&u32, &Duration)| now.saturating_sub(before.0.get(number).copied().unwrap_or_default());
        self.0.iter().map(spent).sum()
    }
}

/// The CPU time of process `number`, if it is a thread of the kernel.
fn kernel_thread_time(number: u32) -> Option<Duration> {
    let ticks = ticks_of(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)?;
    // To the nanosecond if the kernel keeps that, and else in ticks of 10 ms.
    let exact = fs::read_to_string(format!("/proc/{number}/schedstat")).ok();
    let exact = exact.and_then(|text| text.split_whitespace().next()?.parse().ok()).filter(|ns| *ns > 0);
    Some(
        exact.map_or_else(
            || Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64),
            Duration::from_nanos,
        ),
    )
}

/// The ticks in user and kernel mode in the text of a `stat`, if it is that of a kernel thread.
fn ticks_of(stat: &str) -> Option<u64> {
    const KERNEL_THREAD: u64 = 0x0020_0000;
    // The name may have blanks and brackets in it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |nth: usize| fields.get(nth)?.parse::<u64>().ok();
    (number(6)? & KERNEL_THREAD != 0).then_some(number(11)? + number(12)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_of_the_kernel_count_whatever_their_names() {
        // Linux 6.1: a worker, with the flags PF_KTHREAD | PF_NOFREEZE | PF_WQ_WORKER; and a shell.
        let worker =
            "71 (kworker/u4:3-btrfs) I 2 0 0 0 -1 69238880 0 0 0 0 12 345 0 0 20 0 1 0 88 0 0 18446744073709551615";
        let shell = "900 (a) (b) S 1 900 900 0 -1 4194304 0 0 0 0 7 8 0 0 20 0 1 0 88 0 0 18446744073709551615";
        assert_eq!((ticks_of(worker), ticks_of(shell), ticks_of("9 (x")), (Some(357), None, None));
    }

    #[test]
    fn time_since_is_of_old_threads_the_difference_and_of_new_ones_all() {
        let of = |all: &[(u32, u64)]| {
            KernelThreadTimes(all.iter().map(|(number, ms)| (*number, Duration::from_millis(*ms))).collect())
        };
        assert_eq!(of(&[(2, 50), (7, 30)]).since(&of(&[(2, 20), (5, 90)])), Duration::from_millis(60));
    }
}
