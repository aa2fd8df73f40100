//! How a watched server and its machine went, one stretch after the other: CPU, disk, the mean time of a statement.
//!
//! In: an analysed point. Out: [`WatchedCourse`]. Limits: the CPU and the disk are those of this machine, and are left out unless the server's
//! process is seen on it. The mean time is the server's own account, and is not known of a stretch in which that was not read.

use crate::PointAnalysis;
use crate::points::cpu_owners::CpuByOwner;
use model::{CounterRole, EngineProcess, Nanos, ObservedCounts};

/// Values from one reading to the next, in order of time. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchedCourse {
    /// The share of the machine's CPU time that was used, from 0 to 1.
    pub cpu: Vec<f64>,
    /// The share of the time in which the disk of the data was busy, from 0 to 1.
    pub disk: Vec<f64>,
    /// Nanoseconds that a statement took on average; `None` of a stretch in which none ended.
    pub statement_ns: Vec<Option<f64>>,
}

/// The course of `point`.
pub fn watched_course(point: &PointAnalysis) -> WatchedCourse {
    let is_here = point.traits.engine.process == EngineProcess::Own;
    let of_machine = is_here.then(|| (cpu(point), disk(point)));
    let (cpu, disk) = of_machine.unwrap_or_default();
    WatchedCourse { cpu, disk, statement_ns: statement_ns(point) }
}

/// How much of what is counted the server did in a second; `None` if nothing is counted, or if hardly any of the time is known.
pub fn watched_rate(point: &PointAnalysis) -> Option<f64> {
    let (summary, seen) = point.summary.as_ref().zip(point.traits.observed.as_ref())?;
    let is_known = seen.counts != ObservedCounts::Nothing && known_seconds(point).is_some();
    is_known.then_some(summary.ops_per_s)
}

/// The seconds that the rate of a watch is over; `None` if hardly any of the time is known.
pub fn known_seconds(point: &PointAnalysis) -> Option<f64> {
    let (summary, seen) = point.summary.as_ref().zip(point.traits.observed.as_ref())?;
    let all = Nanos((summary.seconds * 1e9) as u64);
    Some(seen.known_of(all)?.as_secs_f64())
}

fn cpu(point: &PointAnalysis) -> Vec<f64> {
    let owners = CpuByOwner::of_point(point);
    owners.iter().flat_map(|owners| &owners.stretches).map(|stretch| stretch.shares.iter().sum()).collect()
}

fn disk(point: &PointAnalysis) -> Vec<f64> {
    values_of(point, CounterRole::DeviceBusy).map(|ns_per_s| (ns_per_s / 1e9).min(1.0)).collect()
}

/// Both counters are read at once, so that their stretches are the same.
fn statement_ns(point: &PointAnalysis) -> Vec<Option<f64>> {
    let calls = values_of(point, CounterRole::StatementCalls);
    let times = values_of(point, CounterRole::StatementTime);
    calls.zip(times).map(|(calls, time_ns)| (calls > 0.0).then(|| time_ns / calls)).collect()
}

fn values_of(point: &PointAnalysis, role: CounterRole) -> impl Iterator<Item = f64> {
    let all = point.series.iter().flat_map(|series| &series.counters);
    let counter = all.filter(move |one| one.role == Some(role)).take(1);
    counter.flat_map(|counter| counter.values.iter().map(|(_, value)| *value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// Four seconds: one of two CPUs is used, and statements take 2 ms each until none are executed.
    fn course(process: &str) -> WatchedCourse {
        let cpu = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];
        let calls = |s: f64| 100.0 * s.min(3.0);
        let simulation = Simulation::counts(&[1000; 4])
            .source("cpu", &cpu, |s| vec![0.9e9 * s, 0.1e9 * s, 0.0, 0.0, 0.0, 1e9 * s, 0.0])
            .source("process", &["cpu_user_ns", "cpu_system_ns"], |s| vec![0.7e9 * s, 0.1e9 * s])
            .source("statements", &["calls", "time_ns"], move |s| vec![calls(s), 2e6 * calls(s)])
            .process(process)
            .with(|point| {
                let counters = &mut point.sources.last_mut().expect("it was added").counters;
                let roles = [CounterRole::StatementCalls, CounterRole::StatementTime];
                counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = Some(role));
            });
        watched_course(&simulation.analysis().points[0])
    }

    #[test]
    fn a_server_that_is_here_has_its_cpu_and_the_mean_time_of_statements_while_there_are_some() {
        let found = course("own");
        assert!(!found.cpu.is_empty() && found.cpu.iter().all(|share| (share - 0.5).abs() < 0.01), "{found:?}");
        let times: Vec<Option<f64>> = found.statement_ns.iter().map(|ns| ns.map(f64::round)).collect();
        assert_eq!((times.first(), times.last()), (Some(&Some(2e6)), Some(&None)), "{times:?}");
        assert!(found.disk.is_empty(), "it was not counted");
    }

    #[test]
    fn of_a_server_elsewhere_only_what_it_tells_itself_is_known() {
        let found = course("elsewhere");
        assert!(found.cpu.is_empty() && !found.statement_ns.is_empty(), "{found:?}");
    }
}
