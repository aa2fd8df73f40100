//! Reports what limited the point.
//!
//! In: the judgement of [`crate::bottleneck`]. Out: a note for each cause. Limits: CPU time that others took is left to the finding
//! `foreign-cpu`, which has the same figures and the same advice.

use super::phrases::flow_word;
use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::evidence::cause::{CausePlace, Confidence, Counters, Limit, LimitEvidence, LockAccount, Throttle};
use crate::evidence::limited_flow::LimitedFlow;
use crate::judgement::Severity;
use crate::math::units::Share;
use model::StallReason;
use std::collections::BTreeSet;
use std::mem::discriminant;
use words::quantity::{bytes, number, or_unknown, percent, plural, range, rate, whole};

pub use crate::evidence::cause::Cause;

fn detect(view: &PointView) -> Vec<Finding> {
    let causes = view.bottlenecks.iter().flat_map(|found| &found.causes);
    causes.filter(|cause| !cause.limit().is_foreign()).map(to_finding).collect()
}

fn to_finding(cause: &Cause) -> Finding {
    Finding::new(Severity::Note, cause.clone()).next(cause.next)
}

impl FindingKind for Cause {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn is_like(&self, other: &Self) -> bool {
        self.confidence == other.confidence
            && self.place == other.place
            && is_of_one_kind(&self.evidence, &other.evidence)
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        match first.evidence {
            LimitEvidence::Schedule { .. } => "no bottleneck: everything offered was served".to_owned(),
            LimitEvidence::TargetOrClients(_) => {
                "limited by the engine or too few clients for the offered rate; no counter shows which".to_owned()
            }
            LimitEvidence::Unclear(_) => "bottleneck unclear: nothing was saturated".to_owned(),
            _ => format!("{} {}{}", claim(first.confidence), limiter(alike), place_suffix(first)),
        }
    }

    fn mixed_title(alike: &[(&str, &Self)]) -> Option<String> {
        let points = |is_wanted: fn(Limit) -> bool| {
            let wanted = alike.iter().filter(|(_, one)| is_wanted(one.limit()));
            wanted.map(|(place, _)| *place).collect::<BTreeSet<&str>>().len()
        };
        let (all, unclear) = (points(|_| true), points(|limit| limit == Limit::Unclear));
        let unlimited = points(|limit| limit == Limit::Schedule);
        let known = match all - unclear - unlimited {
            known if known == all => plural(all as u64, "point"),
            known => format!("{known} of {}", plural(all as u64, "point")),
        };
        let unclear = if unclear > 0 { format!(", unclear for {unclear}") } else { String::new() };
        let unlimited = if unlimited > 0 { format!(", not reached by {unlimited}") } else { String::new() };
        Some(format!("bottleneck identified for {known}{unclear}{unlimited} (see the report)"))
    }

    fn evidence(&self) -> String {
        match self.evidence {
            LimitEvidence::Disk { queue, used_share, waited_share, .. } => {
                disk_figures(queue, used_share, waited_share)
            }
            LimitEvidence::Sync { threads, .. } | LimitEvidence::Write { threads, .. } => {
                format!("{} threads in them on average", number(threads))
            }
            LimitEvidence::Commit { lock_share, threads, .. } => format!(
                "{} threads in them on average; threads waited for others {} of their time",
                number(threads),
                percent(lock_share.0)
            ),
            LimitEvidence::Network { link_share, retransmit_share } => {
                let share = |share: Option<Share>| or_unknown(share.map(|share| share.0), percent);
                format!("link used {}, segments sent again {}", share(link_share), share(retransmit_share))
            }
            LimitEvidence::ListenQueue { overflows, .. } => {
                format!("{} found the queue of the listener full", plural(overflows as u64, "connection"))
            }
            LimitEvidence::Connections { .. } => "the server counts the connections that it refused".to_owned(),
            LimitEvidence::FlowControl { .. } => "this is the node that was held back longest".to_owned(),
            LimitEvidence::Checkpoint { .. } => "age of the log over the most that it may reach".to_owned(),
            LimitEvidence::Compaction { pending_bytes, reason, stalls_per_s, .. } => {
                compaction_figures(pending_bytes, reason, stalls_per_s)
            }
            LimitEvidence::Drain { pending_bytes, .. } => {
                let pending = pending_bytes
                    .map_or(String::new(), |pending| format!("; {} to be compacted on average", bytes(pending)));
                format!("the operation waits until the engine has written what it put off{pending}")
            }
            LimitEvidence::Cpu { waited_share, .. } => {
                let waited = or_unknown(waited_share.map(|share| share.0), percent);
                format!("user, system and interrupt time over the run phase; some task waited for a CPU {waited} of it")
            }
            LimitEvidence::PinnedCpus { cpus, .. } => {
                format!("CPU time of plimsoll and the engine over the run phase, on {}", plural(cpus, "CPU"))
            }
            LimitEvidence::OneCore { cores, kernel_share } => {
                let kernel =
                    kernel_share.map_or(String::new(), |share| format!(", {} of it in the kernel", percent(share.0)));
                format!("the engine and its clients used {} cores in all{kernel}", number(cores))
            }
            LimitEvidence::Locks { by: LockAccount::OneWriter, .. } => {
                "time that clients waited until no other wrote, as the engine's driver counts it".to_owned()
            }
            LimitEvidence::Locks { row_waits_per_op, .. } => {
                format!("{} waits for row locks per operation", or_unknown(row_waits_per_op, number))
            }
            LimitEvidence::Memory { swapped_pages, .. } => format!("{} swapped", plural(swapped_pages, "page")),
            LimitEvidence::PageCache { refault_bytes_per_op, .. } => {
                format!("{} an operation were read again", bytes(refault_bytes_per_op))
            }
            LimitEvidence::Frozen { .. } => "most of the engine's threads were seen stopped".to_owned(),
            LimitEvidence::Throttled(throttle) => throttle_figures(&throttle),
            LimitEvidence::OtherProcesses { busy_share, .. } => {
                format!("{} of the machine's CPU time was used in all", percent(busy_share.0))
            }
            LimitEvidence::Hypervisor { busy_share, .. } => {
                format!("{} of the CPU time that it left was used", percent(busy_share.0))
            }
            LimitEvidence::Client { .. } => "CPU time of the client threads over the run phase".to_owned(),
            LimitEvidence::OneAtATime { service_mean_ns, .. } => {
                format!("each operation took {service_mean_ns} on average")
            }
            LimitEvidence::Schedule { done_per_s, offered_per_s, counters } => {
                format!("{} of {} offered; {}", rate(done_per_s), rate(offered_per_s), counters_shown(&counters))
            }
            LimitEvidence::TargetOrClients(counters) | LimitEvidence::Unclear(counters) => counters_shown(&counters),
        }
    }
}

/// What an LSM tree has put off, and how it held the clients back.
fn compaction_figures(pending_bytes: Option<f64>, reason: Option<StallReason>, stalls_per_s: Option<f64>) -> String {
    let stalls = stalls_per_s.map_or(String::new(), |per_s| format!("; held back {} times a second", number(per_s)));
    let reason = reason.map_or(String::new(), |reason| format!(", mostly for {}", stall_reason(reason)));
    format!("{} to be compacted on average{stalls}{reason}", or_unknown(pending_bytes, bytes))
}

/// ` (host n1, eth0)`, of a point of several hosts.
fn place_suffix(cause: &Cause) -> String {
    cause.place.as_ref().map_or(String::new(), |place| format!(" (host {})", place_words(place)))
}

/// `n1, eth0`
pub fn place_words(place: &CausePlace) -> String {
    match &place.interface {
        Some(interface) => format!("{}, {interface}", place.host),
        None => place.host.clone(),
    }
}

/// What all of `alike` were limited by, with ranges for the numbers that differ: `the CPU, which was 97 % busy`.
fn limiter(alike: &[&Cause]) -> String {
    let share = || range(alike, |one| one.share.0, percent);
    match alike[0].evidence {
        LimitEvidence::Disk { .. } => {
            let busy = range(alike, |one| one.busy_share(), percent);
            format!("the disk, which was busy {busy} of the time")
        }
        LimitEvidence::Sync { .. } => {
            format!("writes and syncs of files, in which threads at work spent {} of their time", share())
        }
        LimitEvidence::Write { .. } => format!("writes, in which threads at work spent {} of their time", share()),
        LimitEvidence::Commit { .. } => {
            format!("commits, on which threads at work spent {} of their time", share())
        }
        LimitEvidence::Network { .. } => "the network".to_owned(),
        LimitEvidence::ListenQueue { .. } => {
            format!("a full listen queue: clients waited {} of their time until a connection was tried again", share())
        }
        LimitEvidence::Connections { .. } => {
            format!("the connections that the server allows: it refused {} of them", share())
        }
        LimitEvidence::FlowControl { .. } => {
            format!("flow control of the cluster, which paused {} of the time", share())
        }
        LimitEvidence::Checkpoint { .. } => format!("checkpoints: the log was {} full on average", share()),
        LimitEvidence::Compaction { .. } => {
            format!("compactions, for which writers were held back {} of the time", share())
        }
        LimitEvidence::Drain { .. } => {
            format!("the engine's own flushes and compactions, for which it waited {} of the time", share())
        }
        LimitEvidence::Cpu { .. } => format!("the CPU, which was {} busy", share()),
        LimitEvidence::PinnedCpus { .. } => {
            format!("the CPUs that `cpus` names, which were {} busy", share())
        }
        LimitEvidence::OneCore { .. } => {
            format!("a single core ({} cores used)", range(alike, |one| one.cores(), number))
        }
        LimitEvidence::Locks { by: LockAccount::Engine, .. } => {
            format!("row locks, for which {} of the clients waited", share())
        }
        LimitEvidence::Locks { by: LockAccount::OneWriter, .. } => {
            format!("the lock of the one writer, for which {} of the clients waited", share())
        }
        LimitEvidence::Locks { by: LockAccount::Threads, .. } => {
            format!("locks: threads at work waited for other threads {} of their time", share())
        }
        LimitEvidence::Memory { .. } => format!("memory, for which all tasks waited {} of the time", share()),
        LimitEvidence::PageCache { .. } => {
            format!("memory: {} of the bytes read had been in it before, and it had no room for them", share())
        }
        LimitEvidence::Frozen { .. } => format!("the engine's processes, which were stopped {} of the time", share()),
        LimitEvidence::Throttled(throttle) => throttler(&throttle, alike, &share().to_string()),
        LimitEvidence::OtherProcesses { .. } => {
            format!("other processes, which used {} of the machine's CPU time", share())
        }
        LimitEvidence::Hypervisor { .. } => {
            format!("the hypervisor, which took {} of the machine's CPU time", share())
        }
        LimitEvidence::Client { .. } => {
            format!("the load generator's threads, which used {} of their cores", share())
        }
        LimitEvidence::OneAtATime { in_flight: 1, .. } => "a single client with one operation at a time".to_owned(),
        LimitEvidence::OneAtATime { .. } => {
            let in_flight = range(alike, |one| one.in_flight() as f64, whole);
            format!("{in_flight} operations in flight, which are too few: nothing was saturated")
        }
        LimitEvidence::Schedule { .. } | LimitEvidence::TargetOrClients(_) | LimitEvidence::Unclear(_) => {
            "nothing that was saturated".to_owned()
        }
    }
}

/// The limit that was set, with the `share` of it that was used, or of the time that it cost.
fn throttler(throttle: &Throttle, alike: &[&Cause], share: &str) -> String {
    match throttle {
        Throttle::Quota { .. } | Throttle::EngineQuota { .. } => {
            format!("{}, which held back {share} of the CPU time", one_throttle(alike))
        }
        Throttle::Storage { .. } if throttle.is_reached_in_bursts() => {
            format!("{}, which was reached {share} of the time", one_throttle(alike))
        }
        Throttle::CpuLimit { .. } | Throttle::Storage { .. } => {
            format!("{}, of which {share} was used", one_throttle(alike))
        }
        Throttle::CpuQueue { .. } => {
            format!("something that holds threads back: they waited for a CPU {share} of their time at work")
        }
        Throttle::AboveDevice { .. } => {
            format!("something above the disk: threads at work waited for storage {share} of their time")
        }
    }
}

/// Whether one title can hold both: they are one limit, found in one way.
fn is_of_one_kind(one: &LimitEvidence, other: &LimitEvidence) -> bool {
    let is_found_alike = match (one, other) {
        (LimitEvidence::Throttled(one), LimitEvidence::Throttled(other)) => {
            discriminant(one) == discriminant(other) && one.is_reached_in_bursts() == other.is_reached_in_bursts()
        }
        (LimitEvidence::Locks { by: one, .. }, LimitEvidence::Locks { by: other, .. }) => one == other,
        (LimitEvidence::OneAtATime { in_flight: one, .. }, LimitEvidence::OneAtATime { in_flight: other, .. }) => {
            (*one == 1) == (*other == 1)
        }
        _ => true,
    };
    is_found_alike && discriminant(one) == discriminant(other)
}

/// How a title begins.
fn claim(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "limited by",
        Confidence::Likely => "likely limited by",
        Confidence::Possible => "possibly limited by",
    }
}

fn disk_figures(queue: Option<f64>, used_share: Option<Share>, waited_share: Option<Share>) -> String {
    let used = used_share.map(|share| format!("; {} of its best rate was used", percent(share.0)));
    let waited =
        waited_share.map(|share| format!("; threads at work waited for reads {} of their time", percent(share.0)));
    let more = used.into_iter().chain(waited).collect::<String>();
    format!("{} requests in flight on average{more}", or_unknown(queue, number))
}

impl Cause {
    /// The share of the time in which the device was busy.
    fn busy_share(&self) -> f64 {
        if let LimitEvidence::Disk { busy_share, .. } = self.evidence { busy_share.0 } else { 0.0 }
    }

    fn cores(&self) -> f64 {
        if let LimitEvidence::OneCore { cores, .. } = self.evidence { cores } else { 0.0 }
    }

    /// Operations that can be in flight.
    fn in_flight(&self) -> u64 {
        if let LimitEvidence::OneAtATime { in_flight, .. } = self.evidence { in_flight } else { 0 }
    }
}

fn counters_shown(counters: &Counters) -> String {
    let share = |share: Option<Share>| or_unknown(share.map(|share| share.0), percent);
    format!(
        "disk busy {}, CPU used {}, client cores used {}",
        share(counters.disk_busy_share),
        share(counters.cpu_share),
        share(counters.client_cores_share)
    )
}

/// Why an engine held writers back.
pub fn stall_reason(reason: StallReason) -> &'static str {
    match reason {
        StallReason::Memtables => "too many memtables",
        StallReason::UnsortedTables => "too many tables in level 0",
        StallReason::PendingCompaction => "too many bytes to be compacted",
    }
}

/// One clause for causes that share a point: `limited by the CPU, which was 97 % busy, and by a single core (0.97 cores used)`; `None` for
/// no cause.
pub fn limited_clause(causes: &[Cause]) -> Option<String> {
    let (first, others) = causes.split_first()?;
    let others = others.iter().map(|cause| format!(", and by {}", limiter(&[cause])));
    Some(others.fold(Cause::title(&[first]), |clause, other| clause + &other))
}

/// Which limit was set, and how high it is: `` `cpu_limit` of 0.5 CPUs ``.
pub fn throttle_name(throttle: &Throttle) -> String {
    let of_cpus = |cpus: Option<f64>| cpus.map_or(String::new(), |cpus| format!(" of {}", cpus_as_set(cpus)));
    match *throttle {
        Throttle::Quota { cpus, .. } => format!("the CPU quota{} that plimsoll was started with", of_cpus(cpus)),
        Throttle::EngineQuota { cpus, .. } => format!("the CPU quota{} of the engine's control group", of_cpus(cpus)),
        Throttle::CpuLimit { cpus, .. } => format!("`cpu_limit`{}", of_cpus(Some(cpus))),
        Throttle::Storage { flow, limit_per_s, .. } => format!("`storage_limit` of {}", flow_rate(flow, limit_per_s)),
        Throttle::CpuQueue { .. } => "a limit of CPU that plimsoll does not see".to_owned(),
        Throttle::AboveDevice { .. } => "a limit of storage that plimsoll does not see".to_owned(),
    }
}

/// The limit of all of `alike` if it is the same, or else what it is.
fn one_throttle(alike: &[&Cause]) -> String {
    let names: BTreeSet<String> = alike.iter().filter_map(|cause| Some(throttle_name(&cause.throttle()?))).collect();
    match (names.len(), alike[0].throttle()) {
        (1, _) => names.into_iter().collect(),
        (_, Some(Throttle::Quota { .. })) => "the CPU quota that plimsoll was started with".to_owned(),
        (_, Some(Throttle::EngineQuota { .. })) => "the CPU quota of the engine's control group".to_owned(),
        (_, Some(Throttle::CpuLimit { .. })) => "`cpu_limit`".to_owned(),
        _ => "`storage_limit`".to_owned(),
    }
}

/// `0.5 CPUs`: somebody set it so, and it is no measurement with three digits.
fn cpus_as_set(cpus: f64) -> String {
    let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{} {unit}", (cpus * 1e3).round() / 1e3)
}

/// `500 writes per second`
fn flow_rate(flow: LimitedFlow, per_s: f64) -> String {
    match flow {
        LimitedFlow::ReadOps | LimitedFlow::WriteOps => format!("{} {} per second", whole(per_s), flow_word(flow)),
        LimitedFlow::ReadBytes => format!("{} read per second", bytes(per_s)),
        LimitedFlow::WriteBytes => format!("{} written per second", bytes(per_s)),
    }
}

/// What shows that it was reached.
fn throttle_figures(throttle: &Throttle) -> String {
    match throttle {
        Throttle::Quota { .. } => "counted by the control group of plimsoll".to_owned(),
        Throttle::EngineQuota { .. } => "counted by the control group of the engine".to_owned(),
        Throttle::CpuLimit { .. } => "CPU time of the engine over that of the limit".to_owned(),
        Throttle::CpuQueue { busy_share, .. } => {
            format!(
                "the CPUs of the machine were {} used: a quota or an affinity that plimsoll does not see",
                percent(busy_share.0)
            )
        }
        Throttle::AboveDevice { waiting_threads, device_requests } => format!(
            "{} threads waited for storage on average, and the disk had {} requests: a limit that plimsoll does not see",
            number(*waiting_threads),
            number(*device_requests)
        ),
        Throttle::Storage { flow, done_per_s, .. } => format!("{} on average", flow_rate(*flow, *done_per_s)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Nanos;

    #[test]
    fn each_cause_is_a_finding_with_its_figures() {
        let counters = ["user_ns", "system_ns", "idle_ns"];
        let full = |second: f64| vec![1.94e9 * second, 0.0, 0.06e9 * second];
        let busy = Simulation::counts(&[1000; 10]).source("cpu", &counters, full);
        let cause: Cause = busy.figures();
        assert_eq!((cause.limit(), (cause.share.0 * 100.0).round()), (Limit::Cpu, 97.0));
        let both = busy.source("disk", &["busy_ns", "queue_ns"], |second| vec![0.95e9 * second, 4e9 * second]);
        assert_eq!(both.findings("bottleneck").len(), 2);
    }

    fn quota(held: f64) -> Cause {
        let throttle = Throttle::Quota { held_share: Share(held), cpus: Some(0.5) };
        Cause::new(LimitEvidence::Throttled(throttle), held)
    }

    fn storage(used: f64) -> Cause {
        let (used_share, flow) = (Share(used), LimitedFlow::WriteOps);
        let throttle = storage_limit(flow, used_share);
        Cause::new(LimitEvidence::Throttled(throttle), used)
    }

    fn storage_limit(flow: LimitedFlow, used_share: Share) -> Throttle {
        let reached_share = Some(Share(0.6));
        Throttle::Storage { flow, used_share, reached_share, done_per_s: 98.0, limit_per_s: 100.0 }
    }

    fn locks(by: LockAccount) -> Cause {
        let evidence = LimitEvidence::Locks { waiting_share: Share(0.6), row_waits_per_op: None, by };
        Cause::new(evidence, 0.6)
    }

    fn in_flight(in_flight: u64) -> Cause {
        Cause::new(LimitEvidence::OneAtATime { service_mean_ns: Nanos(1_000), in_flight }, 1.0)
    }

    #[test]
    fn one_title_holds_only_what_was_found_in_one_way() {
        let pinned = Cause::new(LimitEvidence::PinnedCpus { busy_share: Share(0.96), cpus: 1 }, 0.96);
        let cpu = Cause::new(LimitEvidence::Cpu { busy_share: Share(0.97), waited_share: None }, 0.97);
        let unlike = [
            (quota(0.2), storage(0.98)),
            (locks(LockAccount::Engine), locks(LockAccount::Threads)),
            (in_flight(1), in_flight(8)),
            (pinned, cpu.clone()),
            (cpu.clone(), cpu.confidence(Confidence::Likely)),
        ];
        for (one, other) in unlike {
            assert!(!one.is_like(&other) && !other.is_like(&one), "{one:?} {other:?}");
        }
        assert!(quota(0.2).is_like(&quota(0.3)) && in_flight(4).is_like(&in_flight(8)));
        let both = Cause::title(&[&quota(0.2), &quota(0.3)]);
        let quota = "limited by the CPU quota of 0.5 CPUs that plimsoll was started with, which held back 20 to 30 % of the CPU time";
        assert_eq!(both, quota);
    }

    #[test]
    fn causes_that_share_a_point_are_one_clause() {
        let cpu = Cause::new(LimitEvidence::Cpu { busy_share: Share(0.973), waited_share: None }, 0.973);
        let expected =
            "likely limited by the CPU, which was 97 % busy, and by row locks, for which 60 % of the clients waited";
        let causes = [cpu, locks(LockAccount::Engine)].map(|cause| cause.confidence(Confidence::Likely));
        assert_eq!(limited_clause(&causes).as_deref(), Some(expected));
        let network = LimitEvidence::Network { link_share: None, retransmit_share: Some(Share(0.02)) };
        let network = Cause::new(network, 0.02).confidence(Confidence::Possible);
        assert_eq!(limited_clause(&[network]).as_deref(), Some("possibly limited by the network"));
        assert_eq!(limited_clause(&[]), None);
    }

    fn cause(throttle: Throttle) -> Cause {
        Cause::new(LimitEvidence::Throttled(throttle), 0.98)
    }

    #[test]
    fn a_limit_that_was_set_is_named_with_its_height() {
        let (used_share, flow) = (Share(0.98), LimitedFlow::WriteOps);
        let storage = cause(storage_limit(flow, used_share));
        let expected = "limited by `storage_limit` of 100 writes per second, of which 98 % was used";
        assert_eq!(Cause::title(&[&storage]), expected);
        let bursts = LimitEvidence::Throttled(storage_limit(flow, Share(0.7)));
        let expected = "limited by `storage_limit` of 100 writes per second, which was reached 60 % of the time";
        assert_eq!(Cause::title(&[&Cause::new(bursts, 0.6)]), expected);
        let limit = |cpus| cause(Throttle::CpuLimit { used_share, cpus });
        assert_eq!(Cause::title(&[&limit(0.5)]), "limited by `cpu_limit` of 0.5 CPUs, of which 98 % was used");
        assert_eq!(Cause::title(&[&limit(0.5), &limit(1.0)]), "limited by `cpu_limit`, of which 98 % was used");
        let engine = Throttle::EngineQuota { held_share: Share(0.4), cpus: Some(1.5) };
        assert_eq!(throttle_name(&engine), "the CPU quota of 1.5 CPUs of the engine's control group");
    }
}
