//! What weakens points, in words that suit one point and many.
//!
//! In: a reason. Out: the past tense of it: `ran too short`. Limits: a code that no point can have above a note has no words of its own.

use super::Reason;
use crate::{Code, Validity};

impl Reason {
    /// What the points did or had: `ran too short`.
    pub fn words(&self) -> &'static str {
        match (self.code, self.validity) {
            (Code::LittlesLaw, Validity::Indicative) => return "had clients busy outside operations",
            (Code::FewSamples, Validity::Invalid) => return "did no operation",
            _ => {}
        }
        let known = REASONS.iter().find(|(known, _)| *known == self.code);
        known.map_or("had another finding", |(_, words)| *words)
    }
}

/// What makes points less than valid, by the code of the finding, in the past tense: it suits one point and many.
const REASONS: [(Code, &str); 47] = [
    (Code::Corrupt, "read back wrong data"),
    (Code::BrokenConditions, "left rows that break a consistency condition"),
    (Code::WorkMissing, "had operations that did not do their work"),
    (Code::PaceExceeded, "entered more new orders than its terminals can"),
    (Code::Incomplete, "did not complete"),
    (Code::Interrupted, "stopped early: interrupted, or the disk was full"),
    (Code::Hung, "left clients blocked at the end"),
    (Code::SettingsChanged, "had a server whose settings or tables were changed"),
    (Code::OtherServer, "had another server answer in the place of the first"),
    (Code::NotDurable, "acknowledged commits that a power cut may lose"),
    (Code::HostLost, "lost a host"),
    (Code::HostUneven, "had a host that did less than its share"),
    (Code::ClockSpread, "had hosts whose clocks are not known well enough"),
    (Code::StartSkew, "had hosts that did not begin together"),
    (Code::Restarted, "had a server that ended or was restarted"),
    (Code::Outage, "had an outage of the server"),
    (Code::EndpointOutage, "had an endpoint that was down"),
    (Code::SettingsUnread, "had a server whose settings could not be read at the end"),
    (Code::OwnGap, "lost time in which plimsoll itself did not run"),
    (Code::ClockGap, "lost time while nothing was recorded"),
    (Code::Plausibility, "showed impossible numbers"),
    (Code::LittlesLaw, "showed more operations in flight than clients"),
    (Code::Errors, "had failed operations"),
    (Code::Retries, "tried more than 1 % of the operations again"),
    (Code::LimitEscaped, "used a device that exceeded its storage limit"),
    (Code::ForeignCpu, "lost CPU time to other processes or the hypervisor"),
    (Code::ForeignStatements, "shared the server with other clients"),
    (Code::CpuThrottled, "were slowed down by a CPU quota or by heat"),
    (Code::Swap, "ran short of memory"),
    (Code::StacksTaken, "had an engine that was stopped for its stacks"),
    (Code::ClientBound, "had a busy or late load generator"),
    (Code::Overload, "did not serve all arrivals in time"),
    (Code::ReplayLate, "replayed requests later than recorded"),
    (Code::BackgroundRateMissed, "missed the rate of the background load"),
    (Code::CutShort, "ended before the work was done"),
    (Code::ShortData, "ran on the data of a step that was cut short"),
    (Code::Cached, "read from a cache"),
    (Code::SourceRead, "read their file from its disk"),
    (Code::Unsteady, "drifted"),
    (Code::Slowdown, "slowed down"),
    (Code::NotSteady, "did not settle"),
    (Code::WriteDebt, "left writes pending"),
    (Code::AccountsDiffer, "had conflicting write counts"),
    (Code::WideInterval, "had a rate that is hardly known"),
    (Code::FewSamples, "had too few operations for p99"),
    (Code::TooShort, "ran too short"),
    (Code::Imported, "came from another program"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

    #[test]
    fn whatever_weakens_a_point_has_words_of_its_own() {
        let weakening = Code::ALL.iter().filter(|code| {
            let severities = code.severities();
            !code.is_about_several_points() && severities.iter().any(|severity| *severity > Severity::Note)
        });
        for code in weakening {
            let reason = Reason { code: *code, validity: Validity::Indicative, points: 1 };
            assert_ne!(reason.words(), "had another finding", "{}", code.as_str());
        }
    }
}
