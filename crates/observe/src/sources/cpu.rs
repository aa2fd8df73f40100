//! `cpu`: the time of all CPUs by use, and what plimsoll took of it.
//!
//! In: the first line of `/proc/stat`, the CPU clocks of this process and this thread. Out: nanoseconds since boot or start.
//! Limits: the kernel counts the machine's time in ticks of 10 ms; plimsoll's own time is exact. User time contains guests'.

use crate::proc_file::{NeverDown, ProcFile, counter};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use rustix::time::{ClockId, clock_gettime};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "cpu",
    help: "time of all CPUs by state (user, system, interrupts, I/O wait, steal, idle), and plimsoll's own CPU time",
    open,
};

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let stat = ProcFile::open_with("/proc/stat", "cpu", |text| parse_cpu_line(text).is_some())?;
    Ok(Box::new(CpuSource { stat, held: Default::default() }))
}

struct CpuSource {
    stat: ProcFile,
    /// "The iowait field will decrease in certain conditions" (Documentation/filesystems/proc.rst), and idle with it.
    held: [NeverDown; 6],
}

impl CounterSource for CpuSource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: vec![
                counter("user_ns", "ns", "all CPUs in user mode, niced processes and guests included")
                    .read_as(CounterRole::MachineCpuUser),
                counter("system_ns", "ns", "all CPUs in the kernel, interrupts not included")
                    .read_as(CounterRole::MachineCpuSystem),
                counter("iowait_ns", "ns", "all CPUs idle while a task waited for I/O")
                    .read_as(CounterRole::MachineCpuIowait),
                counter("steal_ns", "ns", "time that the hypervisor gave to others")
                    .read_as(CounterRole::MachineCpuSteal),
                counter("softirq_ns", "ns", "all CPUs in interrupts, hard and soft")
                    .read_as(CounterRole::MachineCpuSoftirq),
                counter("idle_ns", "ns", "all CPUs idle").read_as(CounterRole::MachineCpuIdle),
                counter("self_ns", "ns", "CPU time of plimsoll's own process, an embedded engine included")
                    .read_as(CounterRole::PlimsollCpu),
                counter("sampler_ns", "ns", "CPU time of the thread that reads the counters"),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let ticks = self.stat.read_text().ok().and_then(parse_cpu_line);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let mut values: Vec<Option<f64>> = match ticks {
            Some(t) => [t.user, t.system, t.iowait, t.steal, t.softirq, t.idle]
                .into_iter()
                .zip(&mut self.held)
                .map(|(ticks, held)| Some((held.hold_highest(ticks) * tick_ns) as f64))
                .collect(),
            None => vec![None; self.held.len()],
        };
        values.push(Some(clock_ns(ClockId::ProcessCPUTime)));
        values.push(Some(clock_ns(ClockId::ThreadCPUTime)));
        values
    }
}

fn clock_ns(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Clock ticks of all CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTicks {
    user: u64,
    system: u64,
    iowait: u64,
    steal: u64,
    softirq: u64,
    idle: u64,
}

/// Reads `cpu user nice system idle iowait irq softirq [steal [guest [guest_nice]]]`. Guests' time is in user and nice already.
fn parse_cpu_line(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    let &[user, nice, system, idle, iowait, irq, softirq, ref later @ ..] = fields.as_slice() else { return None };
    // Kernels before 2.6.11 have no such field.
    let steal = later.first().copied().unwrap_or(0);
    Some(CpuTicks { user: user + nice, system, iowait, steal, softirq: irq + softirq, idle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;

    const LINUX_6_18: &str = "cpu  61471 3 8628 211976 1871 2 114 331 0 0
cpu0 30122 0 3587 108107 201 0 14 160 0 0
cpu1 31349 3 5041 103868 1669 2 99 170 0 0
intr 382924 0 0 0
ctxt 465074
";
    const LINUX_2_6_10: &str = "cpu  2255 34 2290 22625563 6290 127 456
cpu0 1132 34 1441 11311718 3675 127 438
cpu1 1123 0 849 11313845 2614 0 18
";

    #[test]
    fn a_recent_kernel_is_read_with_steal_and_without_counting_guests_twice() {
        let ticks = CpuTicks { user: 61474, system: 8628, iowait: 1871, steal: 331, softirq: 116, idle: 211976 };
        assert_eq!(parse_cpu_line(LINUX_6_18), Some(ticks));
    }

    #[test]
    fn an_old_kernel_without_steal_and_guests_is_read() {
        let ticks = CpuTicks { user: 2289, system: 2290, iowait: 6290, steal: 0, softirq: 583, idle: 22625563 };
        assert_eq!(parse_cpu_line(LINUX_2_6_10), Some(ticks));
    }

    #[test]
    fn fewer_columns_than_any_kernel_writes_are_not_guessed_at() {
        assert_eq!(parse_cpu_line("cpu  2255 34 2290 22625563\n"), None);
        assert_eq!(parse_cpu_line("cpu0 1 2 3 4 5 6 7\n"), None);
        assert_eq!(parse_cpu_line(""), None);
    }

    #[test]
    fn this_machine_has_been_idle_and_busy_and_our_own_time_grows() {
        let mut source =
            open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside })
                .unwrap();
        let first: Vec<f64> = source.read().into_iter().map(Option::unwrap).collect();
        let busy = (0..3_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let second: Vec<f64> = source.read().into_iter().map(Option::unwrap).collect();
        assert!(first[0] > 0.0 && first[5] > 0.0, "user and idle time since boot: {first:?}");
        assert!(second[6] > first[6] && second[7] > first[7], "own time after work {busy}: {first:?} {second:?}");
        assert!(second[6] - first[6] < 60e9);
    }
}
