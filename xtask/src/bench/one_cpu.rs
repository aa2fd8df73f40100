//! One CPU for a client and its server. A virtual machine takes tens of microseconds to wake a core that idles, a query takes as many, and
//! the kernel puts the two on one core or on two as it likes: programs that take turns would be compared by their luck.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Holds this thread, and what it starts, to one CPU until it is dropped. What was started meanwhile stays there.
pub struct OneCpu {
    before: CpuSet,
}

impl OneCpu {
    /// Takes the last CPU that this thread may use: the first serves most interrupts.
    pub fn hold() -> Result<OneCpu> {
        let before = sched_getaffinity(None).context("cannot read on which CPUs this thread may run")?;
        let last = (0..CpuSet::MAX_CPU).rfind(|cpu| before.is_set(*cpu)).context("this thread may run on no CPU")?;
        let mut only = CpuSet::new();
        only.set(last);
        sched_setaffinity(None, &only).with_context(|| format!("cannot hold this thread to CPU {last}"))?;
        Ok(OneCpu { before })
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        // It was allowed before.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_started_meanwhile_has_one_cpu_and_a_later_one_all() {
        let cpus = || {
            let status = std::process::Command::new("grep").args(["Cpus_allowed_list", "/proc/self/status"]).output();
            String::from_utf8(status.unwrap().stdout).unwrap()
        };
        let all = cpus();
        let held = OneCpu::hold().unwrap();
        let one = cpus();
        drop(held);
        assert!(one.trim_end().rsplit('\t').next().unwrap().parse::<u32>().is_ok(), "{one}");
        assert_eq!(cpus(), all);
    }
}
