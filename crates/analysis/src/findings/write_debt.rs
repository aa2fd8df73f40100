//! Finds inserts of which a good part was still to be written when they ended.
//!
//! In: what an insert cost, the debt of the engine's own counters, what a drain wrote and what it left. Out: a warning, or a
//! note if a drain paid; a warning if an engine that was to settle did not.
//! Limits: the debt of an engine that does not count it shows only in a drain; SQLite and PostgreSQL leave pages to the page
//! cache.

use super::{Detects, Finding, FindingKind};
use crate::InsertCost;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::numbers::cost::left_at_rest;
use crate::recorded::sequence;
use serde::Serialize;
use words::quantity::{bytes, kilobytes, percent, range};

/// Writes that inserts caused and that were still pending.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "when", rename_all = "kebab-case")]
pub enum WriteDebt {
    /// The step `drain` made no more progress and left this.
    AfterDrain { left_bytes: f64 },
    /// The data was to settle before the run phase, and this was left.
    BeforeRun { left_bytes: f64 },
    /// A share of what the inserts caused was pending at their end.
    AfterInserts(PendingShare),
}

/// What inserts wrote, and what they left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PendingShare {
    /// The share of the writes caused that was still pending.
    pub pending_share: Share,
    /// Bytes written per insert in the run; `None` if they are not known, here and below.
    pub written_bytes_per_insert: Option<f64>,
    /// Bytes pending at the end, those of earlier steps included.
    pub pending_bytes: Option<f64>,
    /// Bytes pending at the end that were not pending at the beginning.
    pub own_pending_bytes: Option<f64>,
    /// Bytes that the drain wrote.
    pub drain_written_bytes: Option<f64>,
    /// Bytes that the drain left.
    pub drain_left_bytes: Option<f64>,
    /// Bytes written per insert with what the drain wrote.
    pub written_with_drain_bytes_per_insert: Option<f64>,
}

impl PendingShare {
    /// Whether a drain wrote all of it, so that its row has the full cost.
    pub fn is_paid(&self) -> bool {
        self.drain_written_bytes.is_some() && self.drain_left_bytes.is_none()
    }
}

// Of what was written so far: with less, the cost of an insert is right to a tenth without the rest.
const PENDING_SHARE_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    unsettled(view).into_iter().chain(pending(view)).collect()
}

/// The engine was to settle, and did not.
fn unsettled(view: &PointView) -> Option<Finding> {
    let left_bytes = left_at_rest(view.point)?;
    let (detail, next) = if sequence::is_drain(view.point) {
        (WriteDebt::AfterDrain { left_bytes }, NextStep::ReadEngineLog)
    } else {
        (WriteDebt::BeforeRun { left_bytes }, NextStep::MeasureAgain)
    };
    Some(Finding::new(Severity::Warning, detail).next(next))
}

fn pending(view: &PointView) -> Option<Finding> {
    let cost = view.inserts.filter(|_| !sequence::is_drain(view.point))?;
    let share = cost.pending_share().filter(|share| *share > PENDING_SHARE_MAX)?;
    let has_drain =
        sequence::up_to_drain(view.point, view.sequence).last().is_some_and(|last| sequence::is_drain(last));
    let is_paid = has_drain && cost.drain_left_bytes.is_none();
    let (severity, next) =
        if is_paid { (Severity::Note, NextStep::None) } else { (Severity::Warning, NextStep::LetDrainFollow) };
    Some(Finding::new(severity, WriteDebt::AfterInserts(figures(cost, share))).next(next))
}

fn figures(cost: &InsertCost, share: f64) -> PendingShare {
    PendingShare {
        pending_share: Share(share),
        written_bytes_per_insert: cost.per_row.written_bytes.or(cost.per_row.by_engine.written),
        pending_bytes: cost.pending_bytes,
        own_pending_bytes: cost.own_pending_bytes(),
        drain_written_bytes: cost.drain_written_bytes,
        drain_left_bytes: cost.drain_left_bytes,
        written_with_drain_bytes_per_insert: cost.written_with_drain_bytes_per_insert,
    }
}

impl FindingKind for WriteDebt {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "left writes pending";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (WriteDebt::AfterInserts(one), WriteDebt::AfterInserts(other)) => one.is_paid() == other.is_paid(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            WriteDebt::AfterDrain { .. } => {
                format!("the drain is incomplete: {} were still pending", range(alike, |one| one.figure(), bytes))
            }
            WriteDebt::BeforeRun { .. } => format!(
                "the data had not settled when the run phase began: {} were still pending",
                range(alike, |one| one.figure(), bytes)
            ),
            WriteDebt::AfterInserts(found) => {
                let share = range(alike, |one| one.figure(), percent);
                let cost = if found.is_paid() {
                    "the full cost is in the row of the drain"
                } else {
                    "KB written per insert is too low"
                };
                format!("{share} of the writes that these inserts caused were still pending at the end; {cost}")
            }
        }
    }

    fn evidence(&self) -> String {
        match self {
            WriteDebt::AfterInserts(found) => pending_writes(found),
            _ => "the engine made no progress with them".to_owned(),
        }
    }
}

impl WriteDebt {
    fn figure(&self) -> f64 {
        match self {
            WriteDebt::AfterDrain { left_bytes } | WriteDebt::BeforeRun { left_bytes } => *left_bytes,
            WriteDebt::AfterInserts(found) => found.pending_share.0,
        }
    }
}

fn pending_writes(found: &PendingShare) -> String {
    let ended = [
        found.written_bytes_per_insert.map(|written| format!("{} written per insert", kilobytes(written))),
        found.pending_bytes.map(|pending| format!("{} pending at the end{}", bytes(pending), own_part(found))),
    ];
    let with_drain = found
        .written_with_drain_bytes_per_insert
        .map_or(String::new(), |written| format!(" ({} per insert with it)", kilobytes(written)));
    let drained = [
        found.drain_written_bytes.map(|written| format!("the drain wrote {}{with_drain}", bytes(written))),
        found.drain_left_bytes.map(|left| format!("the drain left {}", bytes(left))),
    ];
    let joined = |parts: [Option<String>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    [joined(ended), joined(drained)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// `, 2.04 MB of it from this step`, if earlier steps left the rest.
fn own_part(found: &PendingShare) -> String {
    let own = found.own_pending_bytes.filter(|own| found.pending_bytes.is_some_and(|all| bytes(all) != bytes(*own)));
    own.map_or(String::new(), |own| format!(", {} of it from this step", bytes(own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Code;
    use crate::simulated::{Simulation, figures_of, inserting, run_of, stepping};
    use model::Fact;

    fn pending_share(point: &crate::PointAnalysis) -> PendingShare {
        match figures_of(&point.findings)[..] {
            [WriteDebt::AfterInserts(found)] => found,
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_short_load_that_wrote_only_redo_log_is_marked_as_too_cheap() {
        // 1000 rows a second at 227 bytes, and 4096 dirty pages to be written twice.
        let short = inserting(10, 0.0, 227e3, 4_096.0);
        let WriteDebt::AfterInserts(found) = short.figures() else { panic!("inserts left it") };
        assert!((found.pending_share.0 - 0.98).abs() < 0.005, "{found:?}");
        assert_eq!((found.written_bytes_per_insert, found.pending_bytes), (Some(227.0), Some(134_217_728.0)));
        assert_eq!(short.finding("write-debt").severity, Severity::Warning);
    }

    #[test]
    fn a_run_that_pays_as_it_goes_and_an_engine_that_does_not_tell_have_no_finding() {
        assert!(inserting(10, 0.0, 1e8, 100.0).findings("write-debt").is_empty());
        let silent = |simulation: Simulation| simulation.with(|point| point.sources.retain(|s| s.name != "innodb"));
        assert!(silent(inserting(10, 0.0, 227e3, 4_096.0)).findings("write-debt").is_empty());
    }

    #[test]
    fn a_debt_that_the_drain_paid_is_a_note_with_what_it_paid() {
        let points = vec![stepping("l.i1", 10, 227e3, 4_096.0), stepping("drain", 10, 10e6, 0.0)];
        let analysed = crate::analyse(&run_of(points, Vec::new())).points;
        let found: Vec<_> = analysed[0].findings.iter().filter(|f| f.code() == Code::WriteDebt).collect();
        assert_eq!(found[0].severity, Severity::Note);
        let paid = pending_share(&analysed[0]);
        assert_eq!((paid.drain_written_bytes, paid.drain_left_bytes), (Some(1e8), None));
        assert_eq!(paid.written_with_drain_bytes_per_insert.map(f64::round), Some(10_227.0));
        assert!(analysed[1].findings.iter().all(|finding| finding.code() != Code::WriteDebt));
    }

    #[test]
    fn a_drain_that_is_not_complete_says_so_and_what_it_was_to_pay_for_stays_a_warning() {
        let mut drain = stepping("drain", 10, 10e6, 0.0);
        drain.facts.push(Fact::new("drain.pending_bytes", "35000000"));
        let analysed = crate::analyse(&run_of(vec![stepping("l.i1", 10, 227e3, 4_096.0), drain], Vec::new())).points;
        let found =
            analysed.iter().map(|point| point.findings.iter().find(|f| f.code() == Code::WriteDebt).expect("found"));
        let found: Vec<_> = found.collect();
        assert_eq!(found[1].detail, WriteDebt::AfterDrain { left_bytes: 35e6 }.into());
        assert!(found.iter().all(|finding| finding.severity == Severity::Warning));
        let paid = pending_share(&analysed[0]);
        assert_eq!((paid.drain_written_bytes, paid.drain_left_bytes), (Some(1e8), Some(35e6)));
    }

    #[test]
    fn what_a_drain_left_is_as_unpaid_as_what_it_wrote() {
        let mut drain = stepping("drain", 10, 10e3, 0.0);
        drain.facts.push(Fact::new("drain.pending_bytes", "35000000"));
        let analysed = crate::analyse(&run_of(vec![stepping("l.i1", 10, 10e6, 4_096.0), drain], Vec::new())).points;
        let share = pending_share(&analysed[0]).pending_share;
        assert!((share.0 - 0.26).abs() < 0.005, "{share:?}");
    }

    #[test]
    fn a_load_that_did_not_come_to_rest_is_told_at_the_point_that_it_was_made_for() {
        let left = Fact::new("drain.pending_bytes", "8000000");
        let found = Simulation::counts(&[1000; 10]).with(|point| point.facts.push(left));
        assert_eq!(found.figures::<WriteDebt>(), WriteDebt::BeforeRun { left_bytes: 8e6 });
    }

    #[test]
    fn writes_that_an_earlier_step_left_are_separate_from_those_of_this_one() {
        let found = |own: f64| PendingShare {
            pending_share: Share(0.42),
            written_bytes_per_insert: Some(140.0),
            pending_bytes: Some(4.08e6),
            own_pending_bytes: Some(own),
            drain_written_bytes: None,
            drain_left_bytes: None,
            written_with_drain_bytes_per_insert: None,
        };
        let evidence = |own| WriteDebt::AfterInserts(found(own)).evidence();
        let expected = "0.14 KB written per insert, 4.08 MB pending at the end, 2.04 MB of it from this step";
        assert_eq!(evidence(2.04e6), expected);
        assert_eq!(evidence(4.08e6), "0.14 KB written per insert, 4.08 MB pending at the end");
    }
}
