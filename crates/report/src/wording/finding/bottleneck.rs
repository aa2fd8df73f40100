//! The names of what limited a point, and what was ruled out, for tables and lists. The sentences are those of the finding `bottleneck`.

use crate::wording::quantity::percent;
use analysis::evidence::cause::{Cause, Limit, RuledOut, Throttle};
use analysis::findings::FindingKind;
use analysis::findings::bottleneck::place_words;

/// The short name of a cause, with its host if the point had several: `network (n1, eth0)`.
pub fn placed_cause_name(cause: &Cause) -> String {
    match &cause.place {
        Some(place) => format!("{} ({})", short_cause_name(cause), place_words(place)),
        None => short_cause_name(cause).to_owned(),
    }
}

/// What was the limit, in a list or a table: `a busy disk`.
pub fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::Disk => "a busy disk",
        Limit::Sync => "syncs of files",
        Limit::Write => "writes",
        Limit::Commit => "commits",
        Limit::Checkpoint => "checkpoints",
        Limit::Compaction => "flushes and compactions",
        Limit::Cpu => "CPU",
        Limit::OneCore => "a single core",
        Limit::Locks => "locks",
        Limit::Memory => "memory",
        Limit::Frozen => "an engine that was stopped",
        Limit::Network => "the network",
        Limit::ListenQueue => "a full listen queue",
        Limit::Connections => "the server's connection limit",
        Limit::FlowControl => "flow control of the cluster",
        // Which one is in `throttle_name`.
        Limit::Throttled => "a limit that was set",
        Limit::OtherProcesses => "other processes, which used the CPU",
        Limit::Hypervisor => "the hypervisor, which took CPU time",
        Limit::Client => "the load generator's threads",
        Limit::OneAtATime => "one operation at a time",
        Limit::FewInFlight => "too few operations in flight",
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
        Limit::ListenQueue => "listen queue",
        Limit::Connections => "connections",
        Limit::FlowControl => "flow control",
        Limit::OtherProcesses => "other processes",
        Limit::Hypervisor => "hypervisor",
        Limit::Client => "clients",
        Limit::OneAtATime => "one at a time",
        Limit::FewInFlight => "too few in flight",
        Limit::Schedule => "none: all served",
        Limit::TargetOrClients => "engine or clients",
        Limit::Frozen => "stopped engine",
        Limit::Compaction => "flushes",
        Limit::Write | Limit::Commit | Limit::Checkpoint | Limit::Locks | Limit::Memory | Limit::Unclear => {
            limit_name(limit)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ruled_out_has_the_figure_from_which_on_it_is_named() {
        let one = RuledOut { code: Limit::OneCore, value: 0.4, limit: 0.85 };
        assert_eq!(ruled_out_words(&one), "one core 40 % (named from 85 %)");
    }
}
