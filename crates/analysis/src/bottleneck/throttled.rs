//! Limits that were set: a CPU quota, a limit of storage.
//!
//! In: what the kernel counted of threads that a quota held back, what went through a storage limit. Out: causes, which say whose limit it
//! is and how high. Limits: a limit that plimsoll does not see, around a container or inside a cloud, shows as steal or as a slow device.

use super::cpu::BUSY_IN_BURSTS;
use super::seen::Seen;
use super::tested::Tested;
use crate::evidence::cause::{Cause, Confidence, Limit, LimitEvidence, STORAGE_USED_MIN, Throttle};
use crate::evidence::limited_flow::{LimitedFlow, limited_flows, per_second, time_above};
use crate::evidence::quota::held_by_quota;
use crate::judgement::NextStep;
use crate::math::units::Share;
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
const USED_MIN: f64 = STORAGE_USED_MIN;
/// The same of a stretch between two readings, of which a part may be before a burst or after it.
const AT_LIMIT: f64 = 0.85;
/// Of the time at the limit.
const REACHED_MIN: f64 = 0.25;
const REACHED_SURE: f64 = 0.5;

pub fn test_quota(seen: &Seen) -> Tested {
    quota(seen, CounterRole::QuotaThrottled, NextStep::LiftQuota, |held_share| Throttle::Quota {
        held_share,
        cpus: seen.mean_level(CounterRole::Quota).or(seen.view.machine.cpu_quota),
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
    let Some(used) = used.max_by(|a, b| a.nearness().total_cmp(&b.nearness())) else { return Tested::Unknown };
    let (share, confidence) = match (used.share, used.reached) {
        (share, _) if share >= USED_MIN => (share, Confidence::Sure),
        (_, Some(reached)) if reached >= REACHED_SURE => (reached, Confidence::Sure),
        (_, Some(reached)) if reached >= REACHED_MIN => (reached, Confidence::Likely),
        (share, _) => return Tested::below(Limit::Throttled, share, USED_MIN),
    };
    let cause = Cause::new(LimitEvidence::Throttled(used.throttle), share).confidence(confidence);
    Tested::Binds(cause.next(NextStep::RaiseStorageLimit))
}

/// How much of a storage limit was used.
struct UsedLimit {
    /// Of what it allows in all of the time.
    share: f64,
    /// The share of the time in which it was reached: what an engine writes in bursts waits for the limit, though the mean is below it.
    reached: Option<f64>,
    throttle: Throttle,
}

impl UsedLimit {
    /// How near it came to being named: 1 from which on it is.
    fn nearness(&self) -> f64 {
        (self.share / USED_MIN).max(self.reached.unwrap_or(0.0) / REACHED_MIN)
    }
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
fn used_of(seen: &Seen, flow: LimitedFlow, limit_per_s: f64) -> Option<UsedLimit> {
    let per_s = |role| per_second(seen.view, seen.measured, role).map(|(rate, _)| (rate, role));
    let (done_per_s, role) = per_s(flow.in_group()).or_else(|| per_s(flow.on_device()))?;
    let share = done_per_s / limit_per_s;
    let reached = time_above(seen.view, seen.measured, role, AT_LIMIT * limit_per_s);
    let (used_share, reached_share) = (Share(share), reached.map(Share));
    Some(UsedLimit {
        share,
        reached,
        throttle: Throttle::Storage { flow, used_share, reached_share, done_per_s, limit_per_s },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::StorageLimit;

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

    /// Four clients under a limit of 500 writes a second, which are done in bursts: so many of ten seconds at the limit, and little in the others.
    fn bursts(seconds: u64) -> Simulation {
        let written = move |second: f64| vec![490.0 * second.min(seconds as f64) + 10.0 * second];
        Simulation::counts(&[1000; 10]).source("limits", &["write_ops"], written).with(|point| {
            point.trial.load.clients = 4;
            point.trial.target.limits.storage = StorageLimit { write_iops: Some(500), ..StorageLimit::default() };
        })
    }

    #[test]
    fn a_storage_limit_that_bursts_reach_is_named_by_the_time_at_it() {
        let found = |seconds| bursts(seconds).analysis().points.remove(0).bottlenecks.expect("it is judged");
        let named = |seconds| {
            let first = found(seconds).causes.remove(0);
            (first.limit(), first.confidence, (first.share.0 * 100.0).round())
        };
        assert_eq!(named(10), (Limit::Throttled, Confidence::Sure, 100.0));
        assert_eq!(named(6), (Limit::Throttled, Confidence::Sure, 60.0));
        assert_eq!(named(3), (Limit::Throttled, Confidence::Likely, 30.0));
        assert!(!found(2).has(Limit::Throttled), "a fifth of the time");
    }

    #[test]
    fn a_quota_is_as_high_as_it_was_while_the_point_was_measured() {
        let quota =
            Simulation::counts(&[1000; 10])
                .source("quota", &["throttled_ns", "throttled_periods", "cpus"], |s| vec![1e9 * s, 10.0 * s, 0.4]);
        let mut quota = quota.with(|point| {
            point.sources[0].counters[2].kind = model::CounterKind::Gauge;
            point.sources[0].counters[2].role = Some(CounterRole::Quota);
        });
        quota.environment.push(model::Fact::new("cgroup.cpu_quota", "0.2"));
        let first = quota.analysis().points.remove(0).bottlenecks.expect("it is judged").causes.remove(0);
        let Some(Throttle::Quota { cpus: Some(cpus), .. }) = first.throttle() else { panic!("{first:?}") };
        assert!((cpus - 0.4).abs() < 1e-9, "{cpus}");
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
