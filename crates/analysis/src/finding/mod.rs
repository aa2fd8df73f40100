//! What the analysis found, as data: findings with their figures, and the validity that follows from them.
//!
//! In: detectors make findings. Out: numbers, kinds, spans and units; the crate `report` turns them into sentences.
//! Limits: a finding describes what was seen and what to do next; it never changes a number and holds no sentence.

pub mod bottleneck;
pub mod causes;
pub mod comparison;
pub mod completeness;
pub mod connections;
pub mod correctness;
pub mod hosts;
pub mod load;
pub mod machine;
mod next_step;
pub mod rates;
pub mod steadiness;
pub mod units;

pub use next_step::NextStep;

use crate::Span;
use serde::{Deserialize, Serialize};

/// How far a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against it.
    Valid,
    /// It shows the direction; the findings name what weakens it.
    Indicative,
    /// It must not be used; the findings name the reason.
    Invalid,
}

/// What a finding does to the numbers of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something seen in the target: it describes the result and does not weaken it (a stall of the disk).
    Note,
    /// Weakens the numbers: the point is at most indicative.
    Warning,
    /// Spoils the numbers: the point is invalid.
    Error,
}

/// One thing that the analysis found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it does to the numbers.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// The one of several hosts on which it was found; `None` if it is about all of its subject.
    pub host: Option<String>,
    /// When it happened; empty for the whole of its subject.
    pub spans: Vec<Span>,
    /// What was found, with its figures.
    pub detail: Detail,
    /// What to do next.
    pub next: NextStep,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum Subject {
    /// The point that has it.
    Point,
    /// The points of one group, over clients and depth, by the number of the group.
    Sweep(usize),
    /// All points of a workload.
    Workload(String),
    /// The run as a whole.
    Run,
}

/// What a detector found, and the code that names it.
pub trait DetailKind: Sized {
    /// The code of such findings.
    const CODE: Code;
    /// The figures in `detail`; `None` for a finding of another kind.
    fn in_detail(detail: &Detail) -> Option<&Self>;
}

/// Declares [`Code`] and [`Detail`] together: every kind of finding has its name, its figures and its stable code.
macro_rules! kinds {
    ($($name:ident($figures:ty) = $code:literal,)*) => {
        /// The stable name of a kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`")] $name,)*
        }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name,)*];

            /// The word used in files, on the command line and in reports.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $code,)*
                }
            }
        }

        /// What was found, with its figures. Serialised, the keys carry the units.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Detail {
            $(#[doc = concat!("`", $code, "`")] $name($figures),)*
        }

        impl Detail {
            /// The code of this kind of finding.
            pub fn code(&self) -> Code {
                match self {
                    $(Detail::$name(_) => Code::$name,)*
                }
            }
        }

        $(
            impl From<$figures> for Detail {
                fn from(figures: $figures) -> Detail {
                    Detail::$name(figures)
                }
            }

            impl DetailKind for $figures {
                const CODE: Code = Code::$name;

                fn in_detail(detail: &Detail) -> Option<&$figures> {
                    match detail {
                        Detail::$name(figures) => Some(figures),
                        _ => None,
                    }
                }
            }
        )*
    };
}

// In the order in which findings of one point are listed; those of runs are last.
kinds! {
    Imported(completeness::ImportedResults) = "imported",
    Incomplete(completeness::IncompletePoint) = "incomplete",
    Interrupted(completeness::PointInterruption) = "interrupted",
    MeasuredAgain(completeness::BrokenAttempts) = "measured-again",
    CutShort(completeness::UnfinishedStep) = "cut-short",
    ShortData(completeness::ShortData) = "short-data",
    Hung(completeness::BlockedClients) = "hung",
    SettingsChanged(machine::SettingChanges) = "settings-changed",
    SettingsUnread(machine::UnreadSettings) = "settings-unread",
    Restarted(machine::ServerRestarts) = "restarted",
    Outage(connections::Outages) = "outage",
    EndpointOutage(connections::EndpointOutages) = "endpoint-outage",
    HostLost(hosts::LostHosts) = "host-lost",
    HostUneven(hosts::UnevenHosts) = "host-uneven",
    ClockSpread(hosts::ClockSpread) = "clock-spread",
    StartSkew(hosts::StartSkew) = "start-skew",
    OwnGap(machine::RecorderGaps) = "own-gap",
    ClockGap(completeness::ClockGaps) = "clock-gap",
    Errors(correctness::FailedOps) = "errors",
    Retries(correctness::RetriedOps) = "retries",
    Corrupt(correctness::CorruptData) = "corrupt",
    BrokenConditions(correctness::BrokenConditions) = "broken-conditions",
    Plausibility(correctness::Contradiction) = "plausibility",
    LittlesLaw(correctness::InFlightMismatch) = "littles-law",
    PaceExceeded(load::ExceededPace) = "pace-exceeded",
    ReplayLate(load::LateStarts) = "replay-late",
    TargetNotReached(load::MissedTarget) = "target-not-reached",
    IoWqOffload(machine::OffloadedIo) = "io-wq-offload",
    Cached(machine::CachedReads) = "cached",
    SourceRead(machine::SourceReads) = "source-read",
    LimitEscaped(machine::EscapedLimit) = "limit-escaped",
    ClientBound(load::BoundClients) = "client-bound",
    ForeignCpu(machine::ForeignCpu) = "foreign-cpu",
    CpuThrottled(machine::CpuThrottling) = "cpu-throttled",
    Swap(machine::MemoryPressure) = "swap",
    StacksTaken(machine::StackStops) = "stacks-taken",
    Overload(load::Overload) = "overload",
    BackgroundRateMissed(load::MissedRate) = "background-rate-missed",
    TooShort(completeness::ShortRun) = "too-short",
    WideInterval(completeness::WideInterval) = "wide-interval",
    FewSamples(completeness::FewSamples) = "few-samples",
    Steady(rates::SteadyRounds) = "steady",
    NotSteady(rates::UnsteadyRounds) = "not-steady",
    Unsteady(rates::Unsteadiness) = "unsteady",
    Slowdown(steadiness::Slowdown) = "slowdown",
    LevelShift(rates::LevelShifts) = "level-shift",
    TwoLevels(rates::LevelPair) = "two-levels",
    Wave(rates::RateWave) = "wave",
    Stall(rates::Stalls) = "stall",
    Drops(rates::RateDrops) = "drops",
    StallCause(causes::StallCauses) = "stall-cause",
    PartitionDrops(rates::PartitionRates) = "partition-drops",
    Bursts(rates::RateBursts) = "bursts",
    Starvation(rates::StarvedOps) = "starvation",
    ConnectRetries(connections::RetrySpikes) = "connect-retries",
    UnfairInstances(load::UnequalInstances) = "unfair-instances",
    CoordinatedOmission(load::HiddenWaits) = "coordinated-omission",
    Bottleneck(bottleneck::Cause) = "bottleneck",
    LoadLine(machine::CeilingUse) = "load-line",
    WriteDebt(comparison::WriteDebt) = "write-debt",
    AccountsDiffer(correctness::UnlikeAccounts) = "accounts-differ",
    CacheMismatch(comparison::CacheMismatch) = "cache-mismatch",
    CounterGap(machine::MissingCounters) = "counter-gap",
    ServerUnseen(machine::UnseenProcess) = "server-unseen",
    MixedDurability(comparison::MixedDurability) = "mixed-durability",
    InsertSlowdown(comparison::InsertSlowdown) = "insert-slowdown",
    InconsistentRepeats(steadiness::InconsistentRepeats) = "inconsistent-repeats",
    LeastSteady(steadiness::LeastSteady) = "least-steady",
    Knee(comparison::Knee) = "knee",
}

impl Code {
    /// The code that is written `text`.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The severities that findings of this kind can have, the least first.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub fn severities(self) -> &'static [Severity] {
        use Severity::{Error, Note, Warning};
        match self {
            Code::Hung
            | Code::SettingsChanged
            | Code::ClockGap
            | Code::Corrupt
            | Code::BrokenConditions
            | Code::Plausibility
            | Code::PaceExceeded => &[Error],
            Code::Incomplete
            | Code::HostLost
            | Code::Restarted
            | Code::Outage
            | Code::Errors
            | Code::LittlesLaw
            | Code::ForeignCpu
            | Code::FewSamples => &[Warning, Error],
            Code::Imported
            | Code::Interrupted
            | Code::CutShort
            | Code::ShortData
            | Code::SettingsUnread
            | Code::EndpointOutage
            | Code::Retries
            | Code::ClockSpread
            | Code::StartSkew
            | Code::LimitEscaped
            | Code::ClientBound
            | Code::CpuThrottled
            | Code::SourceRead
            | Code::Swap
            | Code::Overload
            | Code::ReplayLate
            | Code::BackgroundRateMissed
            | Code::TooShort
            | Code::WideInterval
            | Code::NotSteady
            | Code::InconsistentRepeats
            | Code::MixedDurability => &[Warning],
            Code::OwnGap => &[Note, Warning, Error],
            Code::Cached
            | Code::HostUneven
            | Code::StacksTaken
            | Code::Unsteady
            | Code::Slowdown
            | Code::WriteDebt
            | Code::AccountsDiffer => &[Note, Warning],
            Code::MeasuredAgain
            | Code::TargetNotReached
            | Code::IoWqOffload
            | Code::Steady
            | Code::LevelShift
            | Code::TwoLevels
            | Code::Wave
            | Code::Stall
            | Code::Drops
            | Code::StallCause
            | Code::PartitionDrops
            | Code::Bursts
            | Code::Starvation
            | Code::ConnectRetries
            | Code::UnfairInstances
            | Code::CoordinatedOmission
            | Code::Bottleneck
            | Code::LoadLine
            | Code::CacheMismatch
            | Code::CounterGap
            | Code::ServerUnseen
            | Code::InsertSlowdown
            | Code::LeastSteady
            | Code::Knee => &[Note],
        }
    }

    /// Whether such a finding is about several points, so that it does not change the validity of any.
    pub fn is_about_several_points(self) -> bool {
        matches!(
            self,
            Code::MixedDurability | Code::InsertSlowdown | Code::InconsistentRepeats | Code::LeastSteady | Code::Knee
        )
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Finding {
    /// A finding about a point, over all of it, with nothing to do.
    pub fn new(severity: Severity, detail: impl Into<Detail>) -> Finding {
        let (subject, spans) = (Subject::Point, Vec::new());
        Finding { severity, subject, host: None, spans, detail: detail.into(), next: NextStep::None }
    }

    /// The same about `subject`.
    pub fn about(self, subject: Subject) -> Finding {
        Finding { subject, ..self }
    }

    /// The same, found on `host`.
    pub fn on_host(self, host: &str) -> Finding {
        Finding { host: Some(host.to_owned()), ..self }
    }

    /// The same with the stretches of time in which it happened.
    pub fn at(self, spans: Vec<Span>) -> Finding {
        Finding { spans, ..self }
    }

    /// The same with what to do next.
    pub fn next(self, next: NextStep) -> Finding {
        Finding { next, ..self }
    }

    /// The code of this kind of finding.
    pub fn code(&self) -> Code {
        self.detail.code()
    }
}

impl Validity {
    /// The validity that follows from `findings`.
    pub fn from_findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Validity {
        match findings.into_iter().map(|f| f.severity).max() {
            Some(Severity::Error) => Validity::Invalid,
            Some(Severity::Warning) => Validity::Indicative,
            Some(Severity::Note) | None => Validity::Valid,
        }
    }

    /// The word used in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Validity::Valid => "valid",
            Validity::Indicative => "indicative",
            Validity::Invalid => "invalid",
        }
    }
}
