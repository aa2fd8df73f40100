//! Limits that were set: a CPU quota, a limit of storage.
//!
//! In: what the kernel counted of threads that a quota held back, what went through a storage limit. Out: causes, which say whose limit it
//! is and how high. Limits: a limit that plimsoll does not see, around a container or inside a cloud, shows as steal or as a slow device.

use super::cpu::BUSY_IN_BURSTS;
use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::limited_flow::{LimitedFlow, limited_flows, per_second};
use crate::evidence::quota::held_by_quota;
use crate::finding::NextStep;
use crate::finding::bottleneck::{Cause, Confidence, Limit, LimitEvidence, Throttle};
use crate::finding::units::Share;
use model::{CounterRole, CpuLimit};

/// Of the CPU time of the machine.
const HELD_MIN: f64 = 0.05;
/// Of the time of threads at work.
const WAITED_MIN: f64 = 0.30;
/// Threads that wait for so many times the share that chance explains are held back.
const QUEUE_MORE: f64 = 1.3;
/// Of the time of threads at work.
const WAITING_MIN: f64 = 0.5;
/// With less than half of a thread there are too few looks at it.
const THREADS_MIN: f64 = 0.5;
/// By Little's law the device has as many requests as threads wait for it; the rest is what was not sampled well.
const IN_DEVICE_MAX: f64 = 0.25;
/// The kernel enforces a limit in slices, so that a few per cent of it are lost.
const USED_MIN: f64 = 0.90;

pub fn test_quota(seen: &Seen) -> Tested {
    quota(seen, CounterRole::QuotaThrottled, NextStep::LiftQuota, |held_share| Throttle::Quota {
        held_share,
        cpus: seen.view.machine.cpu_quota,
    })
}

/// A quota of the engine's control group, as that of a container in which it runs.
pub fn test_engine_quota(seen: &Seen) -> Tested {
    quota(seen, CounterRole::EngineQuotaThrottled, NextStep::LiftEngineQuota, |held_share| Throttle::EngineQuota {
        held_share,
        cpus: seen.mean_level(CounterRole::EngineQuota),
    })
}

fn quota(seen: &Seen, throttled: CounterRole, next: NextStep, throttle: impl FnOnce(Share) -> Throttle) -> Tested {
    let Some(held) = held_by_quota(seen.view, seen.measured, throttled) else { return Tested::Unknown };
    if held < HELD_MIN {
        return Tested::below(Limit::Throttled, held, HELD_MIN);
    }
    let throttle = throttle(Share(held.min(1.0)));
    Tested::Binds(Cause::new(LimitEvidence::Throttled(throttle), held).next(next))
}

pub fn test_storage(seen: &Seen) -> Tested {
    let limit = seen.view.point.trial.target.limits.storage;
    let used = limited_flows(limit).into_iter().filter_map(|(flow, limit_per_s)| used_of(seen, flow, limit_per_s));
    let Some((used_share, throttle)) = used.max_by(|a, b| a.0.total_cmp(&b.0)) else { return Tested::Unknown };
    if used_share < USED_MIN {
        return Tested::below(Limit::Throttled, used_share, USED_MIN);
    }
    let cause = Cause::new(LimitEvidence::Throttled(throttle), used_share).confidence(Confidence::Sure);
    Tested::Binds(cause.next(NextStep::RaiseStorageLimit))
}

/// The CPU limit of the point, if it is a number of CPUs: a lower speed shows as CPUs that are full.
pub fn test_cpu_limit(seen: &Seen) -> Tested {
    let limit = seen.view.point.trial.target.limits.cpu.and_then(CpuLimit::milli_cpus);
    let cores = seen.time_share(CounterRole::EngineCpuUser).zip(seen.time_share(CounterRole::EngineCpuSystem));
    let Some((milli, (user, system))) = limit.zip(cores) else { return Tested::Unknown };
    let cpus = f64::from(milli) / 1e3;
    let used = (user + system) / cpus;
    if used < USED_MIN {
        return Tested::below(Limit::Throttled, used, USED_MIN);
    }
    let throttle = Throttle::CpuLimit { used_share: Share(used), cpus };
    Tested::Binds(Cause::new(LimitEvidence::Throttled(throttle), used).next(NextStep::RaiseCpuLimit))
}

/// Threads that wait for a CPU while CPUs are idle are held back: by a quota that plimsoll does not see, or by an affinity.
pub fn test_cpu_queue(seen: &Seen) -> Tested {
    let Some((usage, waited)) = seen.cpu.zip(seen.work.map(|work| work.runnable)) else { return Tested::Unknown };
    let is_limited = seen.view.point.trial.target.limits.cpu.is_some();
    let is_pinned = seen.view.point.traits.engine.pinned_cpus.is_some();
    // A quota of the engine that is seen has a test of its own.
    let has_quota = seen.all(CounterRole::EngineQuotaThrottled).is_some();
    let is_explained = usage.busy > BUSY_IN_BURSTS || usage.is_shared() || is_pinned || is_limited || has_quota;
    if waited < WAITED_MIN.max(QUEUE_MORE * queue_share(usage.busy, usage.cpus)) {
        return Tested::Unknown;
    }
    let throttle = Throttle::CpuQueue { waited_share: Share(waited), busy_share: Share(usage.busy) };
    let cause = Cause::new(LimitEvidence::Throttled(throttle), waited).confidence(Confidence::Likely);
    if is_explained { Tested::Unknown } else { Tested::Binds(cause.next(NextStep::LiftQuota)) }
}

/// The share of its time at work for which a thread waits for one of so many CPUs if all come at random: the wait in a queue M/M/c over wait
/// and service (H. Sakasegawa, An approximation formula, Ann. Inst. Stat. Math. 29, 1977).
fn queue_share(busy: f64, cpus: f64) -> f64 {
    let wait = busy.powf((2.0 * (cpus + 1.0)).sqrt() - 1.0) / (cpus * (1.0 - busy).max(f64::EPSILON));
    wait / (1.0 + wait)
}

/// Threads that wait for storage whose device has hardly any request: something above it holds them back.
pub fn test_above_device(seen: &Seen) -> Tested {
    let has_limit = !seen.view.point.trial.target.limits.storage.is_none();
    let Some((work, device_requests)) = seen.work.zip(seen.device_queue()).filter(|_| !has_limit) else {
        return Tested::Unknown;
    };
    // A sync waits for a journal as well, and only a part of it is the device's.
    let waiting = match seen.view.point.traits.work.io {
        Some(io) if !io.syncs => work.read + work.sync,
        _ => work.read,
    };
    let waiting_threads = waiting * work.threads;
    if waiting < WAITING_MIN || waiting_threads < THREADS_MIN || device_requests > IN_DEVICE_MAX * waiting_threads {
        return Tested::Unknown;
    }
    let throttle = Throttle::AboveDevice { waiting_threads, device_requests };
    let cause = Cause::new(LimitEvidence::Throttled(throttle), waiting).confidence(Confidence::Likely);
    Tested::Binds(cause.next(NextStep::FindQueueLimit))
}

/// How much of its limit was used; as the limit counted it, or else the device.
fn used_of(seen: &Seen, flow: LimitedFlow, limit_per_s: f64) -> Option<(f64, Throttle)> {
    let per_s = |role| per_second(seen.view, seen.measured, role).map(|(rate, _)| rate);
    let done_per_s = per_s(flow.in_group()).or_else(|| per_s(flow.on_device()))?;
    let used = done_per_s / limit_per_s;
    Some((used, Throttle::Storage { flow, used_share: Share(used), done_per_s, limit_per_s }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// A server that uses so many cores of a machine of two that is half idle, and may use 0.8.
    fn limited(cores: f64) -> Simulation {
        let process = move |second: f64| vec![0.7 * cores * second * 1e9, 0.3 * cores * second * 1e9];
        Simulation::counts(&[1000; 10]).source("process", &["cpu_user_ns", "cpu_system_ns"], process).with(|point| {
            point.trial.load.clients = 4;
            point.trial.target.limits.cpu = Some(CpuLimit::MilliCpus(800));
        })
    }

    #[test]
    fn the_wait_for_a_cpu_is_that_of_a_queue_with_several_servers() {
        // M/M/2 has a wait of rho^2 / (1 - rho^2) services, M/M/1 one of rho / (1 - rho).
        let exact = |wait: f64| wait / (1.0 + wait);
        for busy in [0.3f64, 0.5, 0.75] {
            assert!((queue_share(busy, 1.0) - exact(busy / (1.0 - busy))).abs() < 1e-9);
            let two = busy.powi(2) / (1.0 - busy.powi(2));
            assert!((queue_share(busy, 2.0) - exact(two)).abs() < 0.03, "{busy}");
        }
    }

    #[test]
    fn a_cpu_limit_that_is_used_up_is_named() {
        let found = |cores| limited(cores).analysis().points.remove(0).bottlenecks.expect("it is judged");
        let LimitEvidence::Throttled(Throttle::CpuLimit { used_share, cpus }) = found(0.79).causes[0].evidence else {
            panic!("it is used up")
        };
        assert_eq!(((used_share.0 * 100.0).round(), cpus), (99.0, 0.8));
        let ruled_out = found(0.4).ruled_out.into_iter().find(|one| one.code == Limit::Throttled);
        assert_eq!(ruled_out.map(|one| (one.value * 100.0).round()), Some(50.0));
    }
}
