//! Finds inserts of which a good part was still to be written when they ended.
//!
//! In: what an insert cost, the debt of the engine's own counters, what a drain wrote and what it left. Out: a warning, or a
//! note if a drain paid; a warning if an engine that was to settle did not.
//! Limits: the debt of an engine that does not count it shows only in a drain; SQLite and PostgreSQL leave pages to the page
//! cache.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::comparison::{PendingShare, WriteDebt};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::numbers::cost::left_at_rest;
use crate::recorded::sequence;
use crate::{Finding, InsertCost, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::WriteDebt, detect };

// Of what was written so far: with less, the cost of an insert is right to a tenth without the rest.
const PENDING_SHARE_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    unsettled(view).into_iter().chain(pending(view)).collect()
}

/// The engine was to settle, and did not.
fn unsettled(view: &PointView) -> Option<Finding> {
    let left_bytes = left_at_rest(view.point)?;
    let (detail, next) = match sequence::is_drain(view.point) {
        true => (WriteDebt::AfterDrain { left_bytes }, NextStep::ReadEngineLog),
        false => (WriteDebt::BeforeRun { left_bytes }, NextStep::MeasureAgain),
    };
    Some(Finding::new(Severity::Warning, detail).next(next))
}

fn pending(view: &PointView) -> Option<Finding> {
    let cost = view.inserts.filter(|_| !sequence::is_drain(view.point))?;
    let share = cost.pending_share().filter(|share| *share > PENDING_SHARE_MAX)?;
    let has_drain =
        sequence::up_to_drain(view.point, view.sequence).last().is_some_and(|last| sequence::is_drain(last));
    let is_paid = has_drain && cost.drain_left_bytes.is_none();
    let (severity, next) = match is_paid {
        true => (Severity::Note, NextStep::None),
        false => (Severity::Warning, NextStep::LetDrainFollow),
    };
    Some(Finding::new(severity, WriteDebt::AfterInserts(figures(cost, share))).next(next))
}

fn figures(cost: &InsertCost, share: f64) -> PendingShare {
    PendingShare {
        pending_share: Share(share),
        written_bytes_per_insert: cost.written_bytes_per_insert.or(cost.engine_written_bytes_per_insert),
        pending_bytes: cost.pending_bytes,
        own_pending_bytes: cost.own_pending_bytes(),
        drain_written_bytes: cost.drain_written_bytes,
        drain_left_bytes: cost.drain_left_bytes,
        written_with_drain_bytes_per_insert: cost.written_with_drain_bytes_per_insert,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
