//! `io-delay`: how long the engine's threads waited for block devices, as the kernel accounts delays.
//!
//! In: the engine's processes and their descendants, or this process; of each thread the field `delayacct_blkio_ticks` in
//! `/proc/PID/task/TID/stat` (proc_pid_stat(5)). Out: nanoseconds since the source was opened, summed over threads. Limits: the kernel keeps
//! them if `kernel.task_delayacct` was 1 when the process began. They have a resolution of 10 ms a thread. What waits for a journal or for a
//! lock is not in them. The threads that record and read counters do not count. The source is left out if there are more than 1,000 threads.

use crate::growth_sum::GrowthSum;
use crate::proc_file::{counter, read_once};
use crate::threads::ThreadGroup;
use crate::{CounterSource, EnginePids, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "io-delay",
    help: "how long the engine's threads waited for block devices, if the kernel accounts delays",
    open,
};

const SWITCH: &str = "/proc/sys/kernel/task_delayacct";
/// To read more would take more than 1 % of a CPU at a reading each second.
const THREADS_MAX: usize = 1_000;
/// The place of the field behind the name, which may have blanks and brackets in it: it is the 42nd, and the name the second.
const BLOCK_TICKS: usize = 39;

fn open(subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let (group, name) = match &subject.engine_pids {
        EnginePids::Elsewhere => return Err(SourceMissing::Elsewhere),
        EnginePids::Own => (vec![std::process::id()], "plimsoll"),
        EnginePids::Processes(pids) => (pids.clone(), "engine"),
    };
    let mut buffer = Vec::new();
    let switch = read_once(Path::new(SWITCH), &mut buffer);
    match switch.map(str::trim) {
        Ok("0") => return Err(SourceMissing::DelaysNotKept),
        Ok(_) => {}
        Err(error) => return Err(SourceMissing::unreadable(Path::new(SWITCH), error)),
    }
    let mut threads = DelayedThreads { group: ThreadGroup::Processes(group), own: BTreeSet::new(), buffer };
    let known = threads.read_delays();
    match known.len() {
        0 => Err(SourceMissing::NoProcess { pids: threads.group.roots() }),
        1..=THREADS_MAX => {
            Ok(Box::new(IoDelay { threads, waited: GrowthSum::starting_at(known), subject: name.to_owned() }))
        }
        _ => Err(SourceMissing::NothingToCount),
    }
}

struct IoDelay {
    threads: DelayedThreads,
    waited: GrowthSum<(u32, u32)>,
    subject: String,
}

/// The threads whose delays are read.
struct DelayedThreads {
    group: ThreadGroup,
    /// Those of plimsoll that record and read counters.
    own: BTreeSet<u32>,
    buffer: Vec<u8>,
}

impl DelayedThreads {
    /// The delays of each thread so far, in nanoseconds.
    fn read_delays(&mut self) -> BTreeMap<(u32, u32), u64> {
        // The thread that opens the source records, and the one that reads it is the sampler.
        self.own.insert(rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let listed = self.group.list(&mut self.buffer).into_iter().filter(|(_, thread)| !self.own.contains(thread));
        let listed: Vec<(u32, u32)> = listed.collect();
        let delays = listed.into_iter().filter_map(|(pid, thread)| {
            let stat = read_once(Path::new(&format!("/proc/{pid}/task/{thread}/stat")), &mut self.buffer).ok()?;
            Some(((pid, thread), block_ticks(stat)? * tick_ns))
        });
        delays.collect()
    }
}

impl CounterSource for IoDelay {
    fn describe(&self) -> SourceDef {
        let waited = counter("waited_ns", "ns", "time that threads waited for block devices, summed over threads");
        let counters = vec![waited.read_as(CounterRole::IoDelay)];
        SourceDef { name: ENTRY.name.into(), subject: self.subject.clone(), counters }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let delays = self.threads.read_delays();
        vec![(!delays.is_empty()).then(|| self.waited.advance(delays) as f64)]
    }
}

/// The ticks in the text of a `stat`.
fn block_ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(BLOCK_TICKS)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Linux 6.18 and 3.2, with 23 and 310 ticks in the place.
    const STAT_6_18: &str = "11894 (a (b) c) R 11887 11887 7577 0 -1 4194304 104 0 0 0 7 3 0 0 20 0 1 0 142567 3133440 397 \
18446744073709551615 94883882860544 94883882880425 140734179568384 0 0 0 0 0 0 0 0 0 17 0 0 0 23 0 0 94883882896432 \
94883882898048 94884852002816 140734179572344 140734179572438 140734179572438 140734179573739 0\n";
    const STAT_3_2: &str = "26231 (vim) R 5392 7446 5392 34835 7446 4218880 32533 309516 26 82 1677 44 158 99 20 0 1 0 \
82375 56274944 1981 18446744073709551615 4194304 6294284 140736914091744 140736914087944 139965136429984 0 0 12288 \
1870679807 0 0 0 17 0 0 0 310 0 0\n";

    #[test]
    fn the_ticks_of_recent_and_old_kernels_are_read_whatever_the_name() {
        assert_eq!([STAT_6_18, STAT_3_2].map(block_ticks), [Some(23), Some(310)]);
        assert_eq!((block_ticks("9 (x"), block_ticks("9 (x) R 1")), (None, None));
    }

    #[test]
    fn a_kernel_that_keeps_no_delays_is_told_apart_from_one_that_does() {
        let subject = SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside };
        match (std::fs::read_to_string(SWITCH).as_deref().map(str::trim), open(&subject)) {
            (Ok("0"), Err(missing)) => assert!(missing.to_string().contains("kernel.task_delayacct"), "{missing}"),
            (Ok("1"), Ok(mut source)) => assert!(source.read()[0] <= source.read()[0]),
            (Err(_), Err(missing)) => assert!(missing.to_string().contains(SWITCH), "{missing}"),
            (switch, opened) => panic!("{switch:?} {:?}", opened.is_ok()),
        }
    }
}
