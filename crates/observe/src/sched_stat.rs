//! The text of `schedstat`: what the kernel counts of each thread.
//!
//! In: the text of `/proc/PID/task/TID/schedstat`. Out: its three numbers. Limits: a kernel that does not keep them shows 0 for all.

/// What the kernel counted of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchedStat {
    /// Nanoseconds on a CPU.
    pub cpu_ns: u64,
    /// Nanoseconds in the queue of a CPU.
    pub queued_ns: u64,
    /// How often it was put on a CPU.
    pub turns: u64,
}

impl SchedStat {
    /// The three numbers of `schedstat`.
    pub fn parse(text: &str) -> Option<SchedStat> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(SchedStat { cpu_ns: next()?, queued_ns: next()?, turns: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_time_on_a_cpu_time_in_its_queue_and_turns() {
        let expected = SchedStat { cpu_ns: 81_021_539, queued_ns: 2_204_611, turns: 415 };
        assert_eq!(SchedStat::parse("81021539 2204611 415\n"), Some(expected));
        assert_eq!((SchedStat::parse(""), SchedStat::parse("1 2")), (None, None));
    }
}
