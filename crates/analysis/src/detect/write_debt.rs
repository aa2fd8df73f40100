//! Finds inserts of which a good part was still to be written when they ended.
//!
//! In: what an insert cost, the debt of the engine's own counters, what a drain wrote and what it left. Out: a warning, or a note
//! where a drain paid; a warning where an engine that was to come to rest did not.
//! Limits: an engine that does not tell its debt is found out only by a drain; SQLite and PostgreSQL leave pages to the page cache.

use super::detector::{Detector, PointView};
use crate::chain;
use crate::cost::left_at_rest;
use crate::text::{bytes, kilobytes, percent};
use crate::{Finding, InsertCost, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "write-debt",
    help: "a part of what the inserts cost was still to be written when they ended",
    explain: "An engine answers before it has written everything: pages are dirty, memtables full, compactions pending. What it \
              owes at the end of a run is in no figure of that run, so a short one looks cheap, and fast, too: a load of a \
              million rows once wrote 0.23 KB per row, all of it redo log, and left 186 MB of dirty pages. Found where more than \
              10 % of what the inserts caused to be written (written and owed) was unpaid. The written KB per insert is then too \
              low. Run until the debt no longer grows, or let the step `drain` pay it: it says what it wrote and how long it \
              took. Also found where an engine that was to pay (in that step, or when its data was made) made no progress for a \
              minute and was left with its debt.",
    detect,
};

const UNPAID_SHARE_MAX: f64 = 0.10;

fn detect(view: &PointView) -> Vec<Finding> {
    restless(view).into_iter().chain(unpaid(view)).collect()
}

/// The engine was to come to rest, and did not.
fn restless(view: &PointView) -> Option<Finding> {
    let left = left_at_rest(view.point).map(bytes)?;
    let (title, next_step) = match chain::is_drain(view.point) {
        true => (
            format!("the drain is not complete: {left} were still to be written"),
            "look into the engine's log for what keeps it from writing",
        ),
        false => {
            (format!("the data was not at rest when the run began: {left} were still to be written"), "measure again")
        }
    };
    let evidence = "the engine made no progress with it and was left with it".into();
    Some(DETECTOR.finding(Severity::Warning, title, evidence, next_step))
}

fn unpaid(view: &PointView) -> Option<Finding> {
    let cost = view.inserts.filter(|_| !chain::is_drain(view.point))?;
    let share = cost.unpaid_share().filter(|share| *share > UNPAID_SHARE_MAX)?;
    let has_drain = chain::until_paid(view.point, view.others).last().is_some_and(|last| chain::is_drain(last));
    let is_paid = has_drain && cost.drain_left_bytes.is_none();
    let title =
        format!("write debt: {} of what the inserts cost was unpaid at the end: wKB/i is too low", percent(share));
    let (severity, next_step) = match is_paid {
        true => (Severity::Note, ""),
        false => (Severity::Warning, "let the step `drain` follow, or insert until the debt no longer grows"),
    };
    Some(DETECTOR.finding(severity, title, evidence(cost), next_step))
}

fn evidence(cost: &InsertCost) -> String {
    let written = cost.block_written_bytes_per_insert.or(cost.engine_written_bytes_per_insert);
    let mut told: Vec<String> =
        written.map(|written| format!("{} written per insert", kilobytes(written))).into_iter().collect();
    told.extend(cost.debt_bytes.map(|debt| format!("{} owed at the end", bytes(debt))));
    told.extend(cost.drain_written_bytes.map(|drain| format!("the drain wrote {}", bytes(drain))));
    told.extend(cost.drain_left_bytes.map(|left| format!("the drain left {}", bytes(left))));
    told.extend(cost.paid_written_bytes_per_insert.map(|paid| format!("{} per insert with it", kilobytes(paid))));
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::Severity;
    use crate::simulate::{Simulation, inserting, run_of, stepping};
    use model::Fact;

    #[test]
    fn a_short_load_that_wrote_only_redo_log_is_marked_as_too_cheap() {
        // 1000 rows a second at 227 bytes, and 4096 dirty pages to be written twice.
        let finding = inserting(10, 0.0, 227e3, 4_096.0).finding("write-debt");
        assert_eq!(finding.title, "write debt: 98 % of what the inserts cost was unpaid at the end: wKB/i is too low");
        assert_eq!(finding.evidence, "0.23 KB written per insert, 134 MB owed at the end");
        assert_eq!(finding.severity, Severity::Warning);
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
        let found: Vec<_> = analysed[0].findings.iter().filter(|f| f.code == "write-debt").collect();
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].evidence.ends_with("the drain wrote 100 MB, 10.2 KB per insert with it"), "{:?}", found[0]);
        assert!(analysed[1].findings.iter().all(|finding| finding.code != "write-debt"));
    }

    #[test]
    fn a_drain_that_is_not_complete_says_so_and_what_it_was_to_pay_for_stays_a_warning() {
        let mut drain = stepping("drain", 10, 10e6, 0.0);
        drain.facts.push(Fact::new("rest.unpaid_bytes", "35000000"));
        let analysed = crate::analyse(&run_of(vec![stepping("l.i1", 10, 227e3, 4_096.0), drain], Vec::new())).points;
        let found = analysed.iter().map(|point| point.findings.iter().find(|f| f.code == "write-debt").expect("found"));
        let found: Vec<_> = found.collect();
        assert_eq!(found[1].title, "the drain is not complete: 35.0 MB were still to be written");
        assert!(found.iter().all(|finding| finding.severity == Severity::Warning));
        assert!(found[0].evidence.contains("the drain wrote 100 MB, the drain left 35.0 MB"), "{:?}", found[0]);
    }

    #[test]
    fn what_a_drain_left_is_as_unpaid_as_what_it_wrote() {
        let mut drain = stepping("drain", 10, 10e3, 0.0);
        drain.facts.push(Fact::new("rest.unpaid_bytes", "35000000"));
        let analysed = crate::analyse(&run_of(vec![stepping("l.i1", 10, 10e6, 4_096.0), drain], Vec::new())).points;
        let found = analysed[0].findings.iter().find(|finding| finding.code == "write-debt").expect("26 % were left");
        assert!(found.title.starts_with("write debt: 26 % of what the inserts cost"), "{}", found.title);
    }

    #[test]
    fn a_load_that_did_not_come_to_rest_is_told_at_the_point_that_it_was_made_for() {
        let left = Fact::new("rest.unpaid_bytes", "8000000");
        let found = Simulation::counts(&[1000; 10]).with(|point| point.facts.push(left)).finding("write-debt");
        assert_eq!(found.title, "the data was not at rest when the run began: 8.00 MB were still to be written");
    }
}
