//! What the file of a kind of finding has besides its figures: who looks for it, how severe it is, and what is said of it.

use super::{Detail, DetailKind, Finding};
use crate::Span;
use crate::evidence::PointView;
use crate::judgement::{Severity, Validity};
use crate::point::PointAnalysis;
use model::{ObservedCounts, Plan};
use words::quantity::plural;

/// A kind of finding, as the type of its figures. Text that a run recorded is quoted as it is; it must be escaped for its place.
pub trait FindingKind: DetailKind {
    /// The severities that such findings can have, the least first.
    const SEVERITIES: &'static [Severity];
    /// What looks for them.
    const DETECTS: Detects;

    /// Whether they are looked for in a point without a load of plimsoll's own.
    const WATCHED: Watched = Watched::Never;

    /// How it disturbs the course of a rate or a service; `None` if it shows nothing of that.
    const DISTURBANCE: Option<CourseDisturbance> = None;

    const SHOWN_BY: ShownBy = ShownBy::Records;

    /// What a point did or had that is less than valid because of it, in the past tense: `ran too short`. Empty of a kind that is always
    /// a note,
    /// or about several points.
    const REASON: &'static str = "";

    /// [`Self::REASON`], if it depends on what the point is because of it.
    fn reason(validity: Validity) -> &'static str {
        let _ = validity;
        Self::REASON
    }

    /// Whether they can be looked for in results of another program, which have no counters, no events and no settings, and often neither
    /// intervals nor times.
    fn can_judge_imported(view: &PointView) -> bool {
        Self::SHOWN_BY == ShownBy::Rates && view.has_intervals()
    }

    /// Whether one title can hold both: they differ in their numbers only.
    fn is_like(&self, other: &Self) -> bool {
        let _ = other;
        true
    }

    /// How grave it is among others like it, if a title with a range for each of its figures could not be read: several points then have
    /// the title of the worst.
    fn gravity(&self) -> Option<f64> {
        None
    }

    /// One line for all of `alike`, at least one, with ranges for the numbers that differ. Of a kind with a [`gravity`](Self::gravity) it is
    /// one.
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

/// How something disturbs the course of a rate or a service, the gravest first. A point with such a finding did not run steadily.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CourseDisturbance {
    /// The server, an endpoint or a host was gone.
    Gone,
    /// Next to nothing was done for a while.
    StoodStill,
    /// The rate went to another level, or jumped between two.
    Shifted,
    /// It began higher than it went on.
    SlowedDown,
    /// It dropped for short whiles.
    Dropped,
    /// It rose and fell.
    Swung,
    /// It did not become steady, or drifted.
    Unsettled,
    /// Some operations waited while others were served.
    Unfair,
    /// It varied so much that it is hardly known.
    Noisy,
}

impl CourseDisturbance {
    /// Whether the course of the rate shows it at a glance.
    pub fn is_seen_in_course(self) -> bool {
        self <= CourseDisturbance::Swung
    }
}

/// What shows a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownBy {
    /// The rates of the intervals, which noise has, too: its false alarms are counted.
    Rates,
    /// Events, counters, times, or what else is recorded.
    Records,
}

/// Whether findings are looked for where others make the load and plimsoll only watches. The rate is then theirs, and neither too short nor too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// They are about a load of plimsoll's own.
    Never,
    /// They are about the course of the rate: when it stood still, dropped, or changed its level. Transactions are reported late, so that their
    /// rate has gaps that are none.
    OfStatements,
    /// They are about the machine or the server.
    Always,
    /// They are about what plimsoll itself missed. Only these count against the point: whatever else disturbs it is what was to be seen.
    AsOwnFault,
}

impl Watched {
    fn includes(self, counts: ObservedCounts) -> bool {
        match self {
            Watched::Never => false,
            Watched::OfStatements => counts == ObservedCounts::Statements,
            Watched::Always | Watched::AsOwnFault => true,
        }
    }
}

/// What looks for findings, and where.
#[derive(Clone, Copy)]
pub enum Detects {
    Point(fn(&PointView) -> Vec<Finding>),
    /// In a point, or on each of its hosts if it has several: it is about one machine and plimsoll on it.
    EachHost(fn(&PointView) -> Vec<Finding>),
    /// The same on each of the hosts that have clients.
    EachLoad(fn(&PointView) -> Vec<Finding>),
    /// Among all points of a run, with its plan.
    Run(fn(&[PointAnalysis], &Plan) -> Vec<Finding>),
}

/// A kind of finding without the type of its figures.
pub(super) struct Kind {
    pub name: &'static str,
    /// The page of the reference.
    pub page: &'static str,
    pub severities: &'static [Severity],
    pub detects: Detects,
    pub watched: Watched,
    pub disturbance: Option<CourseDisturbance>,
    pub shown_by: ShownBy,
    pub reason: fn(Validity) -> &'static str,
    can_judge_imported: fn(&PointView) -> bool,
    is_alike: fn(&Detail, &Detail) -> bool,
    gravity: fn(&Detail) -> Option<f64>,
    title: fn(&[&Detail]) -> String,
    mixed_title: fn(&[(&str, &Detail)]) -> Option<String>,
    evidence: fn(&Detail, &[Span]) -> String,
}

impl Kind {
    pub const fn of<K: FindingKind>(name: &'static str, page: &'static str) -> Kind {
        Kind {
            name,
            page,
            severities: K::SEVERITIES,
            detects: K::DETECTS,
            watched: K::WATCHED,
            disturbance: K::DISTURBANCE,
            shown_by: K::SHOWN_BY,
            reason: K::reason,
            can_judge_imported: K::can_judge_imported,
            is_alike: |one, other| {
                K::in_detail(one).zip(K::in_detail(other)).is_some_and(|(one, other)| one.is_like(other))
            },
            gravity: |detail| K::in_detail(detail)?.gravity(),
            title: |alike| title_of(&alike.iter().filter_map(|detail| K::in_detail(detail)).collect::<Vec<&K>>()),
            mixed_title: |all| {
                let all = all.iter().filter_map(|(place, detail)| Some((*place, K::in_detail(detail)?)));
                K::mixed_title(&all.collect::<Vec<_>>())
            },
            evidence: |detail, spans| {
                K::in_detail(detail).map_or(String::new(), |figures| figures.evidence() + &figures.times(spans))
            },
        }
    }

    /// Whether such findings are looked for in `view`.
    pub fn can_judge(&self, view: &PointView) -> bool {
        let traits = &view.point.traits;
        (traits.imported.is_none() || (self.can_judge_imported)(view))
            && traits.observed.as_ref().is_none_or(|observed| self.watched.includes(observed.counts))
    }
}

/// The title of all of `alike`; of those that are grave the worst, and of how many it is.
fn title_of<K: FindingKind>(alike: &[&K]) -> String {
    let worst = alike.iter().max_by(|a, b| a.gravity().unwrap_or(0.0).total_cmp(&b.gravity().unwrap_or(0.0)));
    match worst.filter(|worst| alike.len() > 1 && worst.gravity().is_some()) {
        Some(worst) => format!("the worst of {}: {}", alike.len(), K::title(&[worst])),
        None => K::title(alike),
    }
}

/// Whether one title can hold both: they are of one kind and differ in their numbers only.
pub fn is_alike(one: &Detail, other: &Detail) -> bool {
    (one.code().kind().is_alike)(one, other)
}

/// How grave it is among others of its kind; `None` if its kind does not say.
pub fn gravity(detail: &Detail) -> Option<f64> {
    (detail.code().kind().gravity)(detail)
}

/// One line for all of `alike`, with ranges for the numbers that differ. Empty for none.
pub fn title(alike: &[&Detail]) -> String {
    alike.first().map_or(String::new(), |first| (first.code().kind().title)(alike))
}

/// One line for findings of one kind that no title can hold together, each with the name of its point. Empty for none.
pub fn mixed_title(all: &[(&str, &Detail)]) -> String {
    let Some((_, first)) = all.first() else { return String::new() };
    let points = plural(all.len() as u64, "point");
    (first.code().kind().mixed_title)(all)
        .unwrap_or_else(|| format!("{}: {points} (see the report)", super::explanation(first.code()).summary))
}

/// The figures that show it.
pub fn evidence(finding: &Finding) -> String {
    (finding.code().kind().evidence)(&finding.detail, &finding.spans)
}
