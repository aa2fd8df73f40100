//! Findings in words: a title, the figures that show it, what to do next, and what `plimsoll explain` prints.
//!
//! In: typed findings. Out: text. Each kind of finding has its words in one `impl` of [`FindingWords`]; a title is written once,
//! for one finding and for several that differ in their numbers only.
//! Limits: text that a run recorded is quoted as it is; it must be escaped for its place.

mod accuracy;
pub mod bottleneck;
mod causes;
mod comparison;
mod completeness;
mod connections;
mod correctness;
mod hosts;
mod load;
mod machine;
mod next_step;
mod rates;
mod stacks;
mod steadiness;
pub mod throttle;

pub use accuracy::{Accuracy, accuracy, accuracy_table};
pub use next_step::next_step;

use super::quantity::plural;
use analysis::finding::bottleneck as limited;
use analysis::finding::connections as connected;
use analysis::finding::hosts as hosted;
use analysis::finding::{comparison as compared, completeness as ended, correctness as checked};
use analysis::finding::{load as loaded, machine as ran_on, rates as moved, steadiness as kept};
use analysis::{Code, Detail, DetailKind, Finding, Severity, Span};

/// The words for one kind of finding.
trait FindingWords: DetailKind {
    /// One line: what is found.
    const SUMMARY: &'static str;
    /// A paragraph: how it is decided, what it means, what to do.
    const EXPLANATION: &'static str;

    /// Whether one title can hold both: they differ in their numbers only.
    fn is_like(&self, other: &Self) -> bool {
        let _ = other;
        true
    }

    /// One line for all of `alike`, at least one, with ranges for the numbers that differ.
    fn title(alike: &[&Self]) -> String;

    /// One line for findings that no title can hold together, each with its place; `None` if the summary is all that they share.
    fn mixed_title(all: &[(&str, &Self)]) -> Option<String> {
        let _ = all;
        None
    }

    /// The figures that show it.
    fn evidence(&self) -> String;

    /// When it happened, behind the figures; empty if they name the times themselves.
    fn times(&self, spans: &[Span]) -> String {
        let _ = spans;
        String::new()
    }
}

/// What `plimsoll explain CODE` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// One line: what is found.
    pub summary: &'static str,
    /// A paragraph: how it is decided, what it means, what to do.
    pub explanation: &'static str,
}

fn explanation_of<T: FindingWords>() -> Explanation {
    Explanation { code: T::CODE, summary: T::SUMMARY, explanation: T::EXPLANATION }
}

fn title_of<T: FindingWords>(alike: &[&Detail]) -> String {
    T::title(&alike.iter().filter_map(|detail| T::in_detail(detail)).collect::<Vec<_>>())
}

fn mixed_title_of<T: FindingWords>(all: &[(&str, &Detail)]) -> String {
    let all: Vec<(&str, &T)> = all.iter().filter_map(|(place, detail)| Some((*place, T::in_detail(detail)?))).collect();
    let points = plural(all.len() as u64, "point");
    T::mixed_title(&all).unwrap_or_else(|| format!("{}: {points} (see the report)", T::SUMMARY))
}

fn are_alike<T: FindingWords>(one: &T, other: &Detail) -> bool {
    T::in_detail(other).is_some_and(|other| one.is_like(other))
}

impl Explanation {
    /// How such a finding is marked, and what that means for the point: `warning: the point is at most indicative`.
    pub fn severity(&self) -> String {
        let words: Vec<String> = self.code.severities().iter().map(|severity| self.effect(*severity)).collect();
        words.join("; ")
    }

    fn effect(&self, severity: Severity) -> String {
        let (mark, effect) = match severity {
            Severity::Note => ("note", "the validity of the point does not change"),
            Severity::Warning => ("warning", "the point is at most indicative"),
            Severity::Error => ("error", "the point is invalid"),
        };
        let is_shared = self.code.is_about_several_points();
        let effect =
            if is_shared { "about several points together; the validity of each does not change" } else { effect };
        format!("{mark}: {effect}")
    }
}

/// Connects each kind of finding with the type that holds its figures.
macro_rules! words_of {
    ($($kind:ident => $figures:ty,)*) => {
        /// The explanation of the findings with this code.
        pub fn explanation(code: Code) -> Explanation {
            match code {
                $(Code::$kind => explanation_of::<$figures>(),)*
            }
        }

        /// Whether one title can hold both: they are of one kind and differ in their numbers only.
        pub fn is_alike(one: &Detail, other: &Detail) -> bool {
            match one {
                $(Detail::$kind(figures) => are_alike(figures, other),)*
            }
        }

        /// One line for all of `alike`, with ranges for the numbers that differ. Empty for none.
        pub fn title(alike: &[&Detail]) -> String {
            match alike.first() {
                None => String::new(),
                $(Some(Detail::$kind(_)) => title_of::<$figures>(alike),)*
            }
        }

        /// One line for findings of one kind that no title can hold together, each with the name of its point. Empty for none.
        pub fn mixed_title(all: &[(&str, &Detail)]) -> String {
            match all.first() {
                None => String::new(),
                $(Some((_, Detail::$kind(_))) => mixed_title_of::<$figures>(all),)*
            }
        }

        /// The figures that show it.
        pub fn evidence(finding: &Finding) -> String {
            match &finding.detail {
                $(Detail::$kind(figures) => figures.evidence() + &figures.times(&finding.spans),)*
            }
        }
    };
}

words_of! {
    Imported => ended::ImportedResults,
    Incomplete => ended::IncompletePoint,
    Interrupted => ended::PointInterruption,
    MeasuredAgain => ended::BrokenAttempts,
    CutShort => ended::UnfinishedStep,
    ShortData => ended::ShortData,
    Hung => ended::BlockedClients,
    SettingsChanged => ran_on::SettingChanges,
    SettingsUnread => ran_on::UnreadSettings,
    Restarted => ran_on::ServerRestarts,
    Outage => connected::Outages,
    EndpointOutage => connected::EndpointOutages,
    HostLost => hosted::LostHosts,
    HostUneven => hosted::UnevenHosts,
    ClockSpread => hosted::ClockSpread,
    StartSkew => hosted::StartSkew,
    OwnGap => ran_on::RecorderGaps,
    ClockGap => ended::ClockGaps,
    Errors => checked::FailedOps,
    Retries => checked::RetriedOps,
    Corrupt => checked::CorruptData,
    BrokenConditions => checked::BrokenConditions,
    Plausibility => checked::Contradiction,
    LittlesLaw => checked::InFlightMismatch,
    PaceExceeded => loaded::ExceededPace,
    ReplayLate => loaded::LateStarts,
    TargetNotReached => loaded::MissedTarget,
    IoWqOffload => ran_on::OffloadedIo,
    Cached => ran_on::CachedReads,
    SourceRead => ran_on::SourceReads,
    LimitEscaped => ran_on::EscapedLimit,
    ClientBound => loaded::BoundClients,
    ForeignCpu => ran_on::ForeignCpu,
    CpuThrottled => ran_on::CpuThrottling,
    Swap => ran_on::MemoryPressure,
    StacksTaken => ran_on::StackStops,
    Overload => loaded::Overload,
    BackgroundRateMissed => loaded::MissedRate,
    TooShort => ended::ShortRun,
    WideInterval => ended::WideInterval,
    FewSamples => ended::FewSamples,
    Steady => moved::SteadyRounds,
    NotSteady => moved::UnsteadyRounds,
    Unsteady => moved::Unsteadiness,
    Slowdown => kept::Slowdown,
    LevelShift => moved::LevelShifts,
    TwoLevels => moved::LevelPair,
    Wave => moved::RateWave,
    Stall => moved::Stalls,
    Drops => moved::RateDrops,
    StallCause => analysis::finding::causes::StallCauses,
    PartitionDrops => moved::PartitionRates,
    Bursts => moved::RateBursts,
    Starvation => moved::StarvedOps,
    ConnectRetries => connected::RetrySpikes,
    UnfairInstances => loaded::UnequalInstances,
    CoordinatedOmission => loaded::HiddenWaits,
    Bottleneck => limited::Cause,
    LoadLine => ran_on::CeilingUse,
    WriteDebt => compared::WriteDebt,
    AccountsDiffer => checked::UnlikeAccounts,
    CacheMismatch => compared::CacheMismatch,
    CounterGap => ran_on::MissingCounters,
    ServerUnseen => ran_on::UnseenProcess,
    MixedDurability => compared::MixedDurability,
    InsertSlowdown => compared::InsertSlowdown,
    InconsistentRepeats => kept::InconsistentRepeats,
    LeastSteady => kept::LeastSteady,
    Knee => compared::Knee,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_finding_is_explained() {
        for code in Code::ALL {
            let words = explanation(*code);
            assert_eq!(words.code, *code);
            assert!(!words.summary.is_empty() && !words.summary.ends_with('.'), "{}", code.as_str());
            assert!(words.explanation.len() > 150 && words.explanation.ends_with('.'), "{}", code.as_str());
        }
    }

    #[test]
    fn an_explanation_gives_each_severity_with_its_effect_on_validity() {
        let severity = |code| explanation(code).severity();
        assert_eq!(severity(Code::Stall), "note: the validity of the point does not change");
        assert_eq!(severity(Code::Errors), "warning: the point is at most indicative; error: the point is invalid");
        let shared = "warning: about several points together; the validity of each does not change";
        assert_eq!(severity(Code::MixedDurability), shared);
    }
}
