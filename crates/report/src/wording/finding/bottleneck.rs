//! In words: what limited a point, how sure that is, and what was ruled out.
//!
//! In: causes with their figures. Out: titles, evidence, names and the explanation. Limits: the figures of CPU that others used are in the
//! finding `foreign-cpu`.

use super::FindingWords;
use super::throttle::{one_throttle, throttle_figures};
use crate::wording::quantity::{bytes, number, or_unknown, percent, plural, range, rate, whole};
use analysis::finding::bottleneck::{
    Cause, CausePlace, Confidence, Counters, Limit, LimitEvidence, LockAccount, RuledOut, Throttle,
};
use analysis::finding::units::Share;
use model::StallReason;
use std::collections::BTreeSet;
use std::mem::discriminant;

impl FindingWords for Cause {
    const SUMMARY: &'static str = "the bottleneck, and how sure it is";
    const EXPLANATION: &'static str = "Each resource is tested by how much of it was used and by what waited for it. A cause is sure if \
         a second counter agrees or the figure leaves no other reading, likely if the resource was used up, possible if there is only a sign \
         of it. The surest is named, or two that are equally sure. All others are listed as ruled out, each with its figure and the figure from which on \
         it is named. \
         Disk: busy for more than 90 % of the run phase, or 90 % of its best rate (`load-line`) used. A device that is busy with few requests and far \
         below its best rate is not named: it waits for requests. Checkpoints: the log was 75 % full on average, so that pages must be written \
         first. Compactions: writers were held back for 5 % of the time, or a drain waited for the engine's own threads. CPU: more than 90 % of the machine's CPU time was used, or more than 70 % while threads at work waited for a CPU longer than for all \
         else, and 40 % of their time. If other \
         processes used more of it than plimsoll and the engine, `foreign-cpu` has the figures, and the bottleneck cannot be judged. \
         Single core: the engine used one core and no more. From the states of threads (`thread_states`), as shares of their time at work: commits, or \
         syncs of files (a quarter in writes and syncs; of commits with them what waits for other threads, if a thread is seen in a sync and the \
         engine counts hardly a wait for a row), locks (30 % waiting for other threads, or a quarter of the clients waiting for row locks or for their turn to write). \
         Network: 80 % of the link used, or 1 % of the segments sent again. \
         Memory: all tasks waited for it for more than 1 % of the time, or half of the bytes read had been in memory before, which had no room \
         to keep them. The engine's processes: most of its threads were stopped for 2 % of the time. A limit: a CPU quota of plimsoll or of the engine held threads back for 5 % of the CPU time, or 90 % of \
         `storage_limit` or `cpu_limit` was used, or threads waited for a CPU or for storage that was idle. Other processes: they filled the CPUs, and threads of the \
         point waited for a CPU. The load generator's threads: they used 80 % of their cores. One operation at a time: nothing else, and each client \
         waited for its operation before the next. No bottleneck: everything that an open loop offered was served. The engine or too few clients: an \
         open loop left arrivals unserved and nothing else was busy. Otherwise the bottleneck is unclear. CPU time is not judged from fewer than \
         20 ticks of 10 ms.";

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
            LimitEvidence::Sync { threads, .. } => format!("{} threads in them on average", number(threads)),
            LimitEvidence::Commit { lock_share, threads, .. } => format!(
                "{} threads in them on average; threads waited for others {} of their time",
                number(threads),
                percent(lock_share.0)
            ),
            LimitEvidence::Network { link_share, retransmit_share } => {
                let share = |share: Option<Share>| or_unknown(share.map(|share| share.0), percent);
                format!("link used {}, segments sent again {}", share(link_share), share(retransmit_share))
            }
            LimitEvidence::Checkpoint { .. } => "age of the log over the most that it may reach".to_owned(),
            LimitEvidence::Compaction { pending_bytes, reason, stalls_per_s, .. } => {
                let stalls =
                    stalls_per_s.map_or(String::new(), |per_s| format!("; held back {} times a second", number(per_s)));
                let reason = reason.map_or(String::new(), |reason| format!(", mostly for {}", stall_reason(reason)));
                format!("{} to be compacted on average{stalls}{reason}", or_unknown(pending_bytes, bytes))
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

/// ` (host n1, eth0)`, of a point of several hosts.
fn place_suffix(cause: &Cause) -> String {
    cause.place.as_ref().map_or(String::new(), |place| format!(" (host {})", place_words(place)))
}

/// `n1, eth0`
fn place_words(place: &CausePlace) -> String {
    match &place.interface {
        Some(interface) => format!("{}, {interface}", place.host),
        None => place.host.clone(),
    }
}

/// The short name of a cause, with its host if the point had several: `network (n1, eth0)`.
pub fn placed_cause_name(cause: &Cause) -> String {
    match &cause.place {
        Some(place) => format!("{} ({})", short_cause_name(cause), place_words(place)),
        None => short_cause_name(cause).to_owned(),
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
        LimitEvidence::Commit { .. } => {
            format!("commits, on which threads at work spent {} of their time", share())
        }
        LimitEvidence::Network { .. } => "the network".to_owned(),
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
            format!("the {in_flight} operations that can be in flight: nothing was saturated")
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
        (LimitEvidence::Throttled(one), LimitEvidence::Throttled(other)) => discriminant(one) == discriminant(other),
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

/// The figures that the titles need.
trait CauseFigures {
    /// The share of the time in which the device was busy.
    fn busy_share(&self) -> f64;
    /// Cores used.
    fn cores(&self) -> f64;
    /// Operations that can be in flight.
    fn in_flight(&self) -> u64;
}

impl CauseFigures for Cause {
    fn busy_share(&self) -> f64 {
        if let LimitEvidence::Disk { busy_share, .. } = self.evidence { busy_share.0 } else { 0.0 }
    }

    fn cores(&self) -> f64 {
        if let LimitEvidence::OneCore { cores, .. } = self.evidence { cores } else { 0.0 }
    }

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

/// What was the limit, in a list or a table: `a busy disk`.
pub fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Disk => "a busy disk",
        Limit::Sync => "syncs of files",
        Limit::Commit => "commits",
        Limit::Checkpoint => "checkpoints",
        Limit::Compaction => "flushes and compactions",
        Limit::Cpu => "CPU",
        Limit::OneCore => "a single core",
        Limit::Locks => "locks",
        Limit::Memory => "memory",
        Limit::Frozen => "an engine that was stopped",
        Limit::Network => "the network",
        // Which one is in `throttle_name`.
        Limit::Throttled => "a limit that was set",
        Limit::OtherProcesses => "other processes, which used the CPU",
        Limit::Hypervisor => "the hypervisor, which took CPU time",
        Limit::Client => "the load generator's threads",
        Limit::OneAtATime => "one operation at a time",
        Limit::Schedule => "the offered rate, which was served",
        Limit::TargetOrClients => "the engine or too few clients",
        Limit::Unclear => "unclear",
    }
}

/// The same in a word or two, for the narrow column of a table.
pub fn short_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Disk => "disk",
        Limit::Sync => "syncs",
        Limit::Cpu => "CPU",
        Limit::OneCore => "one core",
        Limit::Throttled => "a set limit",
        Limit::Network => "network",
        Limit::OtherProcesses => "other processes",
        Limit::Hypervisor => "hypervisor",
        Limit::Client => "clients",
        Limit::OneAtATime => "one at a time",
        Limit::Schedule => "none: all served",
        Limit::TargetOrClients => "engine or clients",
        Limit::Frozen => "stopped engine",
        Limit::Compaction => "flushes",
        Limit::Commit | Limit::Checkpoint | Limit::Locks | Limit::Memory | Limit::Unclear => limit_name(limit),
    }
}

/// The same of a cause: if it is a limit that was set, which one.
pub fn short_cause_name(cause: &Cause) -> &'static str {
    match cause.throttle() {
        None => short_name(cause.limit()),
        Some(Throttle::Quota { .. }) => "CPU quota of plimsoll",
        Some(Throttle::EngineQuota { .. }) => "CPU quota of the engine",
        Some(Throttle::CpuLimit { .. }) => "cpu_limit",
        Some(Throttle::Storage { .. }) => "storage_limit",
        Some(Throttle::CpuQueue { .. }) => "unseen CPU limit",
        Some(Throttle::AboveDevice { .. }) => "unseen storage limit",
    }
}

/// Why an engine held writers back.
pub fn stall_reason(reason: StallReason) -> &'static str {
    match reason {
        StallReason::Memtables => "too many memtables",
        StallReason::UnsortedTables => "too many tables in level 0",
        StallReason::PendingCompaction => "too many bytes to be compacted",
    }
}

/// `CPU 45 %`: how much of it was used, or of the time was lost to it.
pub fn ruled_out_figure(one: &RuledOut) -> String {
    format!("{} {}", short_name(one.code), percent(one.value))
}

/// `CPU 45 % (named from 90 %)`
pub fn ruled_out_words(one: &RuledOut) -> String {
    format!("{} (named from {})", ruled_out_figure(one), percent(one.limit))
}

/// One sentence without a point: `limited by the CPU, which was 97 % busy; user, system ...`
pub fn cause_words(cause: &Cause) -> String {
    format!("{}; {}", Cause::title(&[cause]), cause.evidence())
}

/// One clause for causes that share a point: `limited by the CPU, which was 97 % busy, and by a single core (0.97 cores used)`; `None` for
/// no cause.
pub fn limited_clause(causes: &[Cause]) -> Option<String> {
    let (first, others) = causes.split_first()?;
    let others = others.iter().map(|cause| format!(", and by {}", limiter(&[cause])));
    Some(others.fold(Cause::title(&[first]), |clause, other| clause + &other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::evidence::limited_flow::LimitedFlow;
    use model::Nanos;

    fn quota(held: f64) -> Cause {
        let throttle = Throttle::Quota { held_share: Share(held), cpus: Some(0.5) };
        Cause::new(LimitEvidence::Throttled(throttle), held)
    }

    fn storage(used: f64) -> Cause {
        let (used_share, flow) = (Share(used), LimitedFlow::WriteOps);
        let throttle = Throttle::Storage { flow, used_share, done_per_s: 98.0, limit_per_s: 100.0 };
        Cause::new(LimitEvidence::Throttled(throttle), used)
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

    #[test]
    fn what_is_ruled_out_has_the_figure_from_which_on_it_is_named() {
        let one = RuledOut { code: Limit::OneCore, value: 0.4, limit: 0.85 };
        assert_eq!(ruled_out_words(&one), "one core 40 % (named from 85 %)");
    }
}
