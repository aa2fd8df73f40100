//! The time of one thread: what the kernel counted, and what was seen at looks.
//!
//! In: readings of `/proc/PID/task/TID/schedstat`, with what was seen at the same moment. Out: the time of each look to be added to
//! the states. Limits: the kernel counts a wait for a CPU when it is over; while it lasts it is added in advance.

use super::sleep::Sleep;
use crate::sched_stat::SchedStat;

/// What was seen of a thread at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadSeen {
    /// It runs, or waits for a CPU.
    Running,
    /// It sleeps in this.
    Asleep(Sleep),
}

/// The time since the look before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub cpu_ns: u64,
    /// In the queue of a CPU.
    pub runnable_ns: u64,
    pub slept_ns: u64,
}

/// What is known of one thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    /// When it was seen first.
    since_ns: u64,
    first: SchedStat,
    last: SchedStat,
    /// Handed out as sleep.
    slept_ns: u64,
    /// Handed out as a wait for a CPU, and not counted by the kernel yet.
    advance_ns: u64,
    seen: Option<ThreadSeen>,
    /// What it slept in when it was last seen asleep.
    sleep: Option<Sleep>,
    /// When this sleep was seen first.
    asleep_since_ns: u64,
    /// How often it was woken lately, each look with four fifths of the weight of the next.
    wakes: f64,
}

impl Ledger {
    /// A thread that is seen for the first time at `now_ns`.
    pub fn new(now_ns: u64, stat: SchedStat) -> Ledger {
        Ledger {
            since_ns: now_ns,
            first: stat,
            last: stat,
            slept_ns: 0,
            advance_ns: 0,
            seen: None,
            sleep: None,
            asleep_since_ns: now_ns,
            wakes: 0.0,
        }
    }

    /// A thread that is seen for the first time at `now_ns`, and began since the threads were listed before: what it computed counts. What it
    /// slept in before is not known.
    pub fn begun(now_ns: u64, stat: &SchedStat) -> Ledger {
        let since_ns = now_ns.saturating_sub(stat.cpu_ns + stat.queued_ns);
        Ledger::new(since_ns, SchedStat::default())
    }

    /// What is known without a further look: a thread that was not put on a CPU since it was seen asleep sleeps in the same.
    pub fn still_asleep(&self, stat: &SchedStat) -> Option<ThreadSeen> {
        self.seen.filter(|seen| matches!(seen, ThreadSeen::Asleep(_)) && stat.turns == self.last.turns)
    }

    /// Adds a look at `now_ns`.
    pub fn add_look(&mut self, now_ns: u64, stat: SchedStat, seen: ThreadSeen) -> Passed {
        let (before, woken) = (self.last, stat.turns.saturating_sub(self.last.turns));
        let cpu_ns = stat.cpu_ns.saturating_sub(before.cpu_ns);
        let queued_ns = stat.queued_ns.saturating_sub(before.queued_ns);
        let paid_ns = queued_ns.min(self.advance_ns);
        self.advance_ns -= paid_ns;
        self.last = stat;
        self.wakes = 0.8 * self.wakes + woken as f64;
        let rest_ns = now_ns.saturating_sub(self.since_ns).saturating_sub(self.known_ns());
        let mut passed = Passed { cpu_ns, runnable_ns: queued_ns - paid_ns, slept_ns: 0 };
        if let ThreadSeen::Asleep(sleep) = seen {
            if woken > 0 || self.sleep != Some(sleep) {
                self.asleep_since_ns = now_ns;
            }
            self.sleep = Some(sleep);
        }
        match seen {
            ThreadSeen::Running if stat == before => {
                self.advance_ns += rest_ns;
                passed.runnable_ns += rest_ns;
            }
            // It slept in between, most likely in what it was last seen in. Before that is known, the time waits.
            ThreadSeen::Running if self.sleep.is_none() => {}
            ThreadSeen::Running | ThreadSeen::Asleep(_) => {
                self.slept_ns += rest_ns;
                passed.slept_ns = rest_ns;
            }
        }
        self.seen = Some(seen);
        passed
    }

    /// What the thread slept in when it was last seen asleep.
    pub fn sleep(&self) -> Option<Sleep> {
        self.sleep
    }

    /// Whether it ran, or waited for a CPU, when it was last looked at.
    pub fn is_running(&self) -> bool {
        self.seen == Some(ThreadSeen::Running)
    }

    /// Whether it was stopped when it was last looked at.
    pub fn is_stopped(&self) -> bool {
        self.seen == Some(ThreadSeen::Asleep(Sleep::Stopped))
    }

    /// How long it has been in its present sleep at `now_ns`.
    pub fn asleep_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.asleep_since_ns)
    }

    /// How often it was woken in the last looks; later ones weigh more.
    pub fn wakes(&self) -> f64 {
        self.wakes
    }

    /// The time that was handed out.
    fn known_ns(&self) -> u64 {
        let counted = |of: &SchedStat| of.cpu_ns + of.queued_ns;
        counted(&self.last).saturating_sub(counted(&self.first)) + self.slept_ns + self.advance_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ThreadState;

    const MS: u64 = 1_000_000;
    const SYNC: ThreadSeen = ThreadSeen::Asleep(Sleep::In(ThreadState::Sync));

    fn stat(cpu_ms: u64, queued_ms: u64, turns: u64) -> SchedStat {
        SchedStat { cpu_ns: cpu_ms * MS, queued_ns: queued_ms * MS, turns }
    }

    fn passed(cpu_ms: u64, runnable_ms: u64, slept_ms: u64) -> Passed {
        Passed { cpu_ns: cpu_ms * MS, runnable_ns: runnable_ms * MS, slept_ns: slept_ms * MS }
    }

    #[test]
    fn what_is_not_on_a_cpu_or_in_its_queue_was_slept_in_what_is_seen() {
        let mut ledger = Ledger::new(0, stat(100, 10, 5));
        assert_eq!(ledger.add_look(50 * MS, stat(120, 15, 9), SYNC), passed(20, 5, 25));
        assert_eq!(ledger.sleep(), Some(Sleep::In(ThreadState::Sync)));
        // Seen on a CPU: the sleep before it was in what it was last seen in.
        assert_eq!(ledger.add_look(100 * MS, stat(130, 15, 12), ThreadSeen::Running), passed(10, 0, 40));
    }

    #[test]
    fn what_a_thread_computed_before_it_was_seen_counts_if_it_is_new() {
        let mut ledger = Ledger::begun(1_000 * MS, &stat(40, 2, 7));
        assert_eq!(ledger.add_look(1_000 * MS, stat(40, 2, 7), SYNC), passed(40, 2, 0));
        assert_eq!(ledger.add_look(1_050 * MS, stat(60, 2, 8), SYNC), passed(20, 0, 30));
    }

    #[test]
    fn sleep_waits_until_it_is_known_what_it_was_in() {
        let mut ledger = Ledger::new(0, stat(0, 0, 1));
        assert_eq!(ledger.add_look(50 * MS, stat(10, 0, 2), ThreadSeen::Running), passed(10, 0, 0));
        assert_eq!(ledger.add_look(100 * MS, stat(20, 0, 3), SYNC), passed(10, 0, 80));
    }

    #[test]
    fn a_wait_for_a_cpu_counts_while_it_lasts_and_not_again_when_it_is_over() {
        let mut ledger = Ledger::new(0, stat(10, 0, 1));
        assert_eq!(ledger.add_look(50 * MS, stat(10, 0, 1), ThreadSeen::Running), passed(0, 50, 0));
        assert_eq!(ledger.add_look(100 * MS, stat(10, 0, 1), ThreadSeen::Running), passed(0, 50, 0));
        assert_eq!(ledger.add_look(150 * MS, stat(20, 140, 2), SYNC), passed(10, 40, 0));
        assert_eq!(ledger.add_look(200 * MS, stat(20, 140, 2), SYNC), passed(0, 0, 50));
    }

    #[test]
    fn a_tick_that_is_counted_late_is_taken_off_the_next_sleep() {
        let mut ledger = Ledger::new(0, stat(0, 0, 1));
        assert_eq!(ledger.add_look(50 * MS, stat(6, 0, 2), SYNC), passed(6, 0, 44));
        assert_eq!(ledger.add_look(100 * MS, stat(60, 0, 3), SYNC), passed(54, 0, 0));
        assert_eq!(ledger.add_look(150 * MS, stat(60, 0, 4), SYNC), passed(0, 0, 46));
    }

    #[test]
    fn a_thread_that_was_not_put_on_a_cpu_sleeps_in_the_same_and_its_sleep_gets_longer() {
        let mut ledger = Ledger::new(0, stat(0, 0, 1));
        assert_eq!(ledger.still_asleep(&stat(0, 0, 1)), None, "it was not seen yet");
        ledger.add_look(50 * MS, stat(5, 0, 2), SYNC);
        assert_eq!(ledger.still_asleep(&stat(5, 0, 2)), Some(SYNC));
        assert_eq!(ledger.still_asleep(&stat(5, 0, 3)), None);
        ledger.add_look(90 * MS, stat(5, 0, 2), SYNC);
        assert_eq!(ledger.asleep_ns(100 * MS), 50 * MS);
        ledger.add_look(110 * MS, stat(5, 0, 3), SYNC);
        assert_eq!(ledger.asleep_ns(110 * MS), 0, "it woke up in between");
    }
}
