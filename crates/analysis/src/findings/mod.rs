//! What the analysis found. A kind of finding is one file here: its figures, its detector, its severities and its sentences. What it means is
//! a page of the reference, `docs/reference/findings/CODE.md`, which `plimsoll explain CODE` prints.
//!
//! In: a [`PointView`], or all analysed points of a run. Out: [`Finding`]s, which never change a number. A detector sees one point and decides
//! alone; what needs several points is a detector of runs.
//!
//! To add a finding: its file, its page, its line in the list below.

mod explanation;
mod kind;
mod phrases;
pub mod setting_words;

pub use explanation::{Explanation, explanation};
pub use kind::{
    CourseDisturbance, Detects, FindingKind, ShownBy, Watched, evidence, gravity, is_alike, mixed_title, title,
};

use crate::Span;
use crate::evidence::{HostPartView, PointView};
use crate::hosts::HostPart;
use crate::judgement::{NextStep, Severity, Validity};
use crate::point::PointAnalysis;
use kind::Kind;
use model::{Plan, PointData};
use serde::Serialize;

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

/// Declares the modules, [`Code`], [`Detail`] and the slice of kinds together, so that none of them can lack a finding.
macro_rules! findings {
    ($($module:ident::$figures:ident => $name:ident = $code:literal,)*) => {
        $(pub mod $module;)*

        /// The stable name of a kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`")] $name,)*
        }

        /// What was found, with its figures. Serialised, the keys carry the units.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Detail {
            $(#[doc = concat!("`", $code, "`")] $name($module::$figures),)*
        }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name,)*];
        }

        /// What is known of each kind, in the order of the list, which is that of the codes.
        const KINDS: &[Kind] = &[
            $(Kind::of::<$module::$figures>($code, include_str!(concat!("../../../../docs/reference/findings/", $code, ".md"))),)*
        ];

        impl Detail {
            /// The code of this kind of finding.
            pub fn code(&self) -> Code {
                match self {
                    $(Detail::$name(_) => Code::$name,)*
                }
            }
        }

        $(
            impl From<$module::$figures> for Detail {
                fn from(figures: $module::$figures) -> Detail {
                    Detail::$name(figures)
                }
            }

            impl DetailKind for $module::$figures {
                const CODE: Code = Code::$name;

                fn in_detail(detail: &Detail) -> Option<&$module::$figures> {
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
findings! {
    imported::ImportedResults => Imported = "imported",
    incomplete::IncompletePoint => Incomplete = "incomplete",
    interrupted::PointInterruption => Interrupted = "interrupted",
    measured_again::BrokenAttempts => MeasuredAgain = "measured-again",
    cut_short::UnfinishedStep => CutShort = "cut-short",
    short_data::ShortData => ShortData = "short-data",
    hung::BlockedClients => Hung = "hung",
    settings_changed::SettingChanges => SettingsChanged = "settings-changed",
    settings_unread::UnreadSettings => SettingsUnread = "settings-unread",
    other_server::OtherServerFound => OtherServer = "other-server",
    restarted::ServerRestarts => Restarted = "restarted",
    outage::Outages => Outage = "outage",
    endpoint_outage::EndpointOutages => EndpointOutage = "endpoint-outage",
    host_lost::LostHosts => HostLost = "host-lost",
    host_uneven::UnevenHosts => HostUneven = "host-uneven",
    clock_spread::ClockSpread => ClockSpread = "clock-spread",
    wall_clock::ClockSettings => WallClock = "wall-clock",
    start_skew::StartSkew => StartSkew = "start-skew",
    own_gap::RecorderGaps => OwnGap = "own-gap",
    clock_gap::ClockGaps => ClockGap = "clock-gap",
    errors::FailedOps => Errors = "errors",
    work_missing::MissingWork => WorkMissing = "work-missing",
    retries::RetriedOps => Retries = "retries",
    corrupt::CorruptData => Corrupt = "corrupt",
    broken_conditions::BrokenConditions => BrokenConditions = "broken-conditions",
    not_durable::UnflushedCommits => NotDurable = "not-durable",
    plausibility::Contradiction => Plausibility = "plausibility",
    littles_law::InFlightMismatch => LittlesLaw = "littles-law",
    pace_exceeded::ExceededPace => PaceExceeded = "pace-exceeded",
    replay_late::LateStarts => ReplayLate = "replay-late",
    target_not_reached::MissedTarget => TargetNotReached = "target-not-reached",
    io_wq_offload::OffloadedIo => IoWqOffload = "io-wq-offload",
    cached::CachedReads => Cached = "cached",
    source_read::SourceReads => SourceRead = "source-read",
    limit_escaped::EscapedLimit => LimitEscaped = "limit-escaped",
    client_bound::BoundClients => ClientBound = "client-bound",
    foreign_cpu::ForeignCpu => ForeignCpu = "foreign-cpu",
    foreign_statements::ForeignStatements => ForeignStatements = "foreign-statements",
    cpu_throttled::CpuThrottling => CpuThrottled = "cpu-throttled",
    swap::MemoryPressure => Swap = "swap",
    stacks_taken::StackStops => StacksTaken = "stacks-taken",
    overload::Overload => Overload = "overload",
    background_rate_missed::MissedRate => BackgroundRateMissed = "background-rate-missed",
    too_short::ShortRun => TooShort = "too-short",
    wide_interval::WideInterval => WideInterval = "wide-interval",
    few_samples::FewSamples => FewSamples = "few-samples",
    steady::SteadyRounds => Steady = "steady",
    not_steady::UnsteadyRounds => NotSteady = "not-steady",
    unsteady::Unsteadiness => Unsteady = "unsteady",
    slowdown::Slowdown => Slowdown = "slowdown",
    level_shift::LevelShifts => LevelShift = "level-shift",
    two_levels::LevelPair => TwoLevels = "two-levels",
    wave::RateWave => Wave = "wave",
    stall::Stalls => Stall = "stall",
    drops::RateDrops => Drops = "drops",
    stall_cause::StallCauses => StallCause = "stall-cause",
    partition_drops::PartitionRates => PartitionDrops = "partition-drops",
    bursts::RateBursts => Bursts = "bursts",
    starvation::StarvedOps => Starvation = "starvation",
    connect_retries::RetrySpikes => ConnectRetries = "connect-retries",
    unfair_instances::UnequalInstances => UnfairInstances = "unfair-instances",
    coordinated_omission::HiddenWaits => CoordinatedOmission = "coordinated-omission",
    bottleneck::Cause => Bottleneck = "bottleneck",
    load_line::CeilingUse => LoadLine = "load-line",
    write_debt::WriteDebt => WriteDebt = "write-debt",
    accounts_differ::UnlikeAccounts => AccountsDiffer = "accounts-differ",
    cache_mismatch::CacheMismatch => CacheMismatch = "cache-mismatch",
    counter_gap::MissingCounters => CounterGap = "counter-gap",
    server_unseen::UnseenProcess => ServerUnseen = "server-unseen",
    mixed_durability::MixedDurability => MixedDurability = "mixed-durability",
    insert_slowdown::InsertSlowdown => InsertSlowdown = "insert-slowdown",
    inconsistent_repeats::InconsistentRepeats => InconsistentRepeats = "inconsistent-repeats",
    least_steady::LeastSteady => LeastSteady = "least-steady",
    knee::Knee => Knee = "knee",
}

impl Code {
    /// The code that is written `text` today.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The word used in files, on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        self.kind().name
    }

    /// The severities that findings of this kind can have, the least first.
    pub fn severities(self) -> &'static [Severity] {
        self.kind().severities
    }

    /// What disturbs the course of a rate, the gravest first.
    pub fn disturbances() -> Vec<Code> {
        let mut all: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.disturbance().is_some()).collect();
        all.sort_by_key(|code| code.disturbance());
        all
    }

    /// How it disturbs the course of a rate or a service, if it says that it was not even over the run phase.
    pub fn disturbance(self) -> Option<CourseDisturbance> {
        self.kind().disturbance
    }

    /// Whether a point with such a finding did not run steadily.
    pub fn is_disturbance(self) -> bool {
        self.disturbance().is_some()
    }

    /// Whether the rates of intervals show it, which noise has, too.
    pub fn is_shown_by_rates(self) -> bool {
        self.kind().shown_by == ShownBy::Rates
    }

    /// What a point did or had that is of this validity because of it, in words that suit one point and many: `ran too short`.
    pub fn reason(self, validity: Validity) -> &'static str {
        (self.kind().reason)(validity)
    }

    /// Whether such a finding is about several points, so that it does not change the validity of any.
    pub fn is_about_several_points(self) -> bool {
        matches!(self.kind().detects, Detects::Run(_))
    }

    fn kind(self) -> &'static Kind {
        &KINDS[self as usize]
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

/// The findings in `view`, in the order of the list.
pub fn detect_in_point(view: &PointView) -> Vec<Finding> {
    let able = KINDS.iter().filter(|kind| kind.can_judge(view));
    let mut found: Vec<Finding> = able.flat_map(|kind| detect_kind(view, kind)).collect();
    if view.point.traits.imported.is_some() {
        found.iter_mut().for_each(|finding| finding.next = finding.next.for_imported());
    }
    debug_assert!(found.iter().all(has_declared_severity), "a severity is not the declared one: {found:?}");
    found
}

/// Puts in the place of what to do next about `found` what is possible in a run of `plan`: a budget excludes some of it.
pub fn fit_steps(found: &mut [Finding], plan: &Plan) {
    if plan.sure.is_some_and(|sure| sure.budget.is_some()) {
        found.iter_mut().for_each(|finding| finding.next = finding.next.for_budget());
    }
}

/// How far the numbers of `point` can be trusted.
pub fn validity_of(point: &PointData, findings: &[Finding]) -> Validity {
    let is_own_fault = |finding: &&Finding| finding.code().kind().watched == Watched::AsOwnFault;
    let counted = findings.iter().filter(|finding| point.traits.observed.is_none() || is_own_fault(finding));
    Validity::from_severities(counted.map(|finding| finding.severity))
}

/// The findings of one kind. What is about one machine is looked for on each of several hosts.
fn detect_kind(view: &PointView, kind: &Kind) -> Vec<Finding> {
    match kind.detects {
        Detects::Run(_) => Vec::new(),
        Detects::Point(detect) => detect(view),
        Detects::EachHost(detect) | Detects::EachLoad(detect) if view.parts.is_empty() => detect(view),
        Detects::EachHost(detect) => detect_in_parts(view, detect, |part| part.is_first),
        Detects::EachLoad(detect) => detect_in_parts(view, detect, |part| part.part == HostPart::Load),
    }
}

fn detect_in_parts(
    view: &PointView,
    detect: fn(&PointView) -> Vec<Finding>,
    is_judged: fn(&HostPartView) -> bool,
) -> Vec<Finding> {
    let judged = view.parts.iter().filter(|part| is_judged(part));
    judged.flat_map(|part| detect(&part.view).into_iter().map(|found| found.on_host(part.host))).collect()
}

/// The findings about several of `points`.
pub fn detect_in_run(points: &[PointAnalysis], plan: &Plan) -> Vec<Finding> {
    let mut found = Vec::new();
    for kind in KINDS {
        if let Detects::Run(detect) = kind.detects {
            found.extend(detect(points, plan));
        }
    }
    if points.iter().all(|point| point.traits.imported.is_some()) {
        found.iter_mut().for_each(|finding| finding.next = finding.next.for_imported());
    }
    fit_steps(&mut found, plan);
    found
}

/// Whether `finding` has a severity that its kind declares.
fn has_declared_severity(finding: &Finding) -> bool {
    finding.code().severities().contains(&finding.severity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation};
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_written_in_small_letters_and_stands_for_one_kind() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!((names.len(), KINDS.len()), (Code::ALL.len(), Code::ALL.len()));
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')), "{names:?}");
        for kind in KINDS {
            assert!(kind.severities.is_sorted_by(|a, b| a < b) && !kind.severities.is_empty(), "{}", kind.name);
        }
    }

    #[test]
    fn whatever_weakens_a_point_says_what_the_point_did() {
        let weakening = Code::ALL.iter().filter(|code| {
            let severities = code.severities();
            !code.is_about_several_points() && severities.iter().any(|severity| *severity > Severity::Note)
        });
        for code in weakening {
            assert!(!code.reason(Validity::Indicative).is_empty(), "{} has no REASON", code.as_str());
        }
    }

    #[test]
    fn a_code_is_found_by_its_name() {
        assert_eq!((Code::parse("stall"), Code::parse("no-such-code")), (Some(Code::Stall), None));
    }

    #[test]
    fn a_quiet_run_of_poisson_noise_is_valid_in_each_of_60_seeds() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let mean = [50.0, 400.0, 2_000.0][seed as usize % 3];
            let counts: Vec<u64> = (0..30).map(|_| random.poisson(mean)).collect();
            let findings = Simulation::counts(&counts).analysis().points.remove(0).findings;
            let codes: Vec<&str> = findings.iter().map(|finding| finding.code().as_str()).collect();
            // A noise of 14 % can look, by chance, as if it had a memory: its interval is then wide. That of one seed rises by a third.
            let expected: &[&str] =
                if mean < 400.0 { &["bottleneck", "wide-interval", "level-shift"] } else { &["bottleneck"] };
            assert!(findings.iter().all(|finding| finding.severity == Severity::Note), "seed {seed}: {findings:?}");
            assert!(codes.iter().all(|code| expected.contains(code)), "seed {seed}: {findings:?}");
        }
    }
}
