//! How much of each limit an observed server used: CPU, disk, connections, log, memory.
//!
//! In: an analysed point and its machine. Out: [`LimitUse`]s as shares of the limit, the one that is nearest to it first. Limits: the CPU, the
//! disk and the memory are those of this machine, and are left out unless the server's process is seen on it. A disk that is busy all the time
//! may still carry more if it serves many requests at once.

use crate::points::cpu_owners::{CpuByOwner, CpuOwner};
use crate::{CounterSeries, PointAnalysis, Span};
use model::{CounterRole, EngineProcess, Machine};
use serde::Serialize;
use words::quantity::whole;

/// What has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedThing {
    /// The CPUs of the machine.
    Cpu,
    /// The time of the disk under the data.
    Disk,
    /// The connections that the server takes.
    Connections,
    /// The log that a crash would have to replay.
    Log,
    /// The memory of the machine.
    Memory,
}

/// How much of a limit was used, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitUse {
    pub thing: LimitedThing,
    /// Over the time that was watched.
    pub mean: f64,
    /// In the interval in which it was most.
    pub most: f64,
    /// Of the CPU: the part of the engine itself; `None` if it is not known, and of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_engine: Option<f64>,
    /// The disk, if there is one; or the limit as a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// The uses of all limits that are known of `point`.
pub fn limit_uses(point: &PointAnalysis, machine: &Machine) -> Vec<LimitUse> {
    let Some(series) = &point.series else { return Vec::new() };
    let is_here = point.traits.engine.process == EngineProcess::Own;
    let here =
        || [cpu(point, &series.counted), disk(&series.counters, &series.counted), memory(&series.counters, machine)];
    let of_machine = is_here.then(here).into_iter().flatten();
    let levels = [
        (LimitedThing::Connections, CounterRole::Connections, CounterRole::ConnectionsMax),
        (LimitedThing::Log, CounterRole::LogAge, CounterRole::LogAgeMax),
    ];
    let of_server = levels.into_iter().map(|(thing, level, most)| level_use(&series.counters, thing, level, most));
    let mut all: Vec<LimitUse> = of_machine.chain(of_server).flatten().collect();
    all.sort_by(|one, other| other.mean.total_cmp(&one.mean));
    all
}

fn cpu(point: &PointAnalysis, counted: &Span) -> Option<LimitUse> {
    let owners = CpuByOwner::of_point(point)?;
    let means = owners.mean_in(counted)?;
    let inside = owners.stretches.iter().filter(|stretch| counted.contains_s(stretch.span.middle_s()));
    let most = inside.map(|stretch| stretch.shares.iter().sum::<f64>()).fold(0.0, f64::max);
    let by_engine = owners.owners.iter().zip(&means).find(|(owner, _)| **owner == CpuOwner::Engine);
    let by_engine = by_engine.map(|(_, share)| *share);
    Some(LimitUse { thing: LimitedThing::Cpu, mean: means.iter().sum(), most, by_engine, of: None })
}

fn disk(counters: &[CounterSeries], counted: &Span) -> Option<LimitUse> {
    let busy = counters.iter().find(|one| one.role == Some(CounterRole::DeviceBusy))?;
    let (mean, most) = mean_and_most(busy, counted, |per_s| per_s / 1e9)?;
    Some(LimitUse { thing: LimitedThing::Disk, mean, most, by_engine: None, of: Some(busy.subject.clone()) })
}

fn memory(counters: &[CounterSeries], machine: &Machine) -> Option<LimitUse> {
    let all = machine.memory_bytes.filter(|bytes| *bytes > 0)? as f64;
    let available = counters.iter().find(|one| one.role == Some(CounterRole::MemoryAvailable))?;
    let used: Vec<f64> = available.values.iter().map(|(_, bytes)| (1.0 - bytes / all).clamp(0.0, 1.0)).collect();
    let most = used.iter().copied().reduce(f64::max)?;
    let mean = used.iter().sum::<f64>() / used.len() as f64;
    Some(LimitUse { thing: LimitedThing::Memory, mean, most, by_engine: None, of: None })
}

/// The use of a level that has another level as its limit.
fn level_use(
    counters: &[CounterSeries],
    thing: LimitedThing,
    level: CounterRole,
    limit: CounterRole,
) -> Option<LimitUse> {
    let find = |role| counters.iter().find(|one| one.role == Some(role) && !one.values.is_empty());
    let limit = find(limit)?.values.iter().map(|(_, value)| *value).reduce(f64::min).filter(|limit| *limit > 0.0)?;
    let levels = &find(level)?.values;
    let mean = levels.iter().map(|(_, value)| value).sum::<f64>() / levels.len() as f64;
    let most = levels.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let of = (thing == LimitedThing::Connections).then(|| whole(limit).to_string());
    Some(LimitUse { thing, mean: mean / limit, most: most / limit, by_engine: None, of })
}

/// The mean of a rate over the stretches in `counted`, each weighted by its time, and the highest.
fn mean_and_most(counter: &CounterSeries, counted: &Span, share: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
    let inside = || counter.values.iter().filter(|(span, _)| counted.contains_s(span.middle_s()));
    let seconds: f64 = inside().map(|(span, _)| span.length_s()).sum();
    let mean = inside().map(|(span, value)| span.length_s() * share(*value)).sum::<f64>() / seconds;
    let most = inside().map(|(_, value)| share(*value)).fold(0.0, f64::max);
    (seconds > 0.0).then_some((mean.min(1.0), most.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// Ten seconds in which 30 of 100 connections are open, the log has half its age, and one of two CPUs is used.
    fn observed(process: &str) -> Vec<LimitUse> {
        let cpu = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];
        let simulation = Simulation::counts(&[1000; 10])
            .source("cpu", &cpu, |s| vec![0.9e9 * s, 0.1e9 * s, 0.0, 0.0, 0.0, 1e9 * s, 0.0])
            .source("process", &["cpu_user_ns", "cpu_system_ns"], |s| vec![0.7e9 * s, 0.1e9 * s])
            .source("activity", &["connections", "connections_max"], |_| vec![30.0, 100.0])
            .process(process)
            .with(|point| {
                let counters = &mut point.sources.last_mut().expect("it was added").counters;
                for (counter, role) in counters.iter_mut().zip([CounterRole::Connections, CounterRole::ConnectionsMax])
                {
                    (counter.role, counter.kind) = (Some(role), model::CounterKind::Gauge);
                }
            });
        limit_uses(&simulation.analysis().points.remove(0), &Machine::default())
    }

    #[test]
    fn the_limit_that_is_nearest_comes_first_with_the_part_of_the_engine() {
        let found = observed("own");
        let shares: Vec<(LimitedThing, i64)> =
            found.iter().map(|one| (one.thing, (one.mean * 100.0).round() as i64)).collect();
        assert_eq!(shares, [(LimitedThing::Cpu, 50), (LimitedThing::Connections, 30)]);
        assert!((found[0].by_engine.expect("it was counted") - 0.4).abs() < 0.01);
        assert_eq!(found[1].of.as_deref(), Some("100"));
    }

    #[test]
    fn of_a_server_elsewhere_nothing_is_told_of_this_machine() {
        let things: Vec<LimitedThing> = observed("elsewhere").iter().map(|one| one.thing).collect();
        assert_eq!(things, [LimitedThing::Connections]);
    }
}
