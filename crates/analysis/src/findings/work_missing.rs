//! Finds operations that were done and did not do their work: answers with other rows than they must have.
//!
//! In: rows returned and changed by each kind of operation, and how many missed some, as the clients counted them. Out: a warning, or an error
//! if more than one in a hundred did. Limits: an engine is believed when it says that it has changed a row; of statements that the user
//! wrote it is known only that a change mostly changes something.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::{EventKind, OpKind, Phase, PointData, RowCounts};
use serde::Serialize;
use words::list::join_and;
use words::quantity::{counted, number, percent, range, whole};

/// Operations that were done without their work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissingWork {
    /// Each kind of operation that has any.
    pub kinds: Vec<MissingKind>,
    /// How many operations missed rows.
    pub missed_ops: u64,
    /// The share of all operations that did, of the kind of which most did.
    pub missed_share: Share,
    /// The first of them as the client described them.
    pub quoted: Vec<String>,
}

/// The operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissingKind {
    pub kind: String,
    /// How many were done.
    pub ops: u64,
    /// How many of them missed rows.
    pub missed_ops: u64,
    /// Whether all of them found nothing to do, or nothing to return.
    pub is_idle: bool,
    /// Rows that one returned on average.
    pub returned_per_op: f64,
    /// Rows that one changed on average.
    pub changed_per_op: f64,
}

// The same bound as for failures: below it they change a rate by less than two runs differ.
const MISSED_MAX: f64 = 0.01;

// A few operations may all find nothing by chance.
const IDLE_MIN: u64 = 20;

const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    let own = (0u8..).zip(&view.point.kinds);
    let kinds: Vec<MissingKind> =
        own.filter_map(|(number, kind)| missing_kind(view.point, OpKind(number), &kind.name)).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let missed_share = kinds.iter().map(|kind| kind.missed_ops as f64 / kind.ops as f64).fold(0.0, f64::max);
    let severity = if missed_share > MISSED_MAX { Severity::Error } else { Severity::Warning };
    let detail = MissingWork {
        missed_ops: kinds.iter().map(|kind| kind.missed_ops).sum(),
        missed_share: Share(missed_share),
        quoted: view.quoted(EventKind::Missing, QUOTED_MAX),
        kinds,
    };
    vec![Finding::new(severity, detail).next(NextStep::FindWhatTakesRows)]
}

/// What is missing of the operations of `kind` in the run phase; `None` if nothing is.
fn missing_kind(point: &PointData, kind: OpKind, name: &str) -> Option<MissingKind> {
    let run = point.phase(Phase::Run)?;
    let (mut ops, mut rows) = (0, RowCounts::default());
    for row in run.intervals.iter().flat_map(|interval| &interval.kinds).filter(|row| row.kind == kind) {
        ops += row.ok;
        rows.add(&row.rows);
    }
    let is_idle = ops >= IDLE_MIN && rows.idle >= ops;
    (ops > 0 && (rows.missed > 0 || is_idle)).then(|| MissingKind {
        kind: name.to_owned(),
        ops,
        missed_ops: rows.missed,
        is_idle,
        returned_per_op: rows.returned as f64 / ops as f64,
        changed_per_op: rows.changed as f64 / ops as f64,
    })
}

impl FindingKind for MissingWork {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had operations that did not do their work";

    fn is_like(&self, other: &Self) -> bool {
        let names = |one: &Self| one.kinds.iter().map(|kind| kind.kind.clone()).collect::<Vec<_>>();
        names(self) == names(other) && (self.missed_ops > 0) == (other.missed_ops > 0)
    }

    fn title(alike: &[&Self]) -> String {
        let names: Vec<String> = alike[0].kinds.iter().map(|kind| format!("`{}`", kind.kind)).collect();
        if alike[0].missed_ops == 0 {
            return format!("no operation of {} found any row", join_and(&names));
        }
        let missed = counted(alike, |one| one.missed_ops, "operation");
        let share = range(alike, |one| one.missed_share.0, percent);
        format!("{missed} of {} returned or changed other rows than they must ({share})", join_and(&names))
    }

    fn evidence(&self) -> String {
        let kinds = self.kinds.iter().map(|kind| {
            format!(
                "{}: {} done, {} rows returned and {} changed by each",
                kind.kind,
                whole(kind.ops as f64),
                number(kind.returned_per_op),
                number(kind.changed_per_op)
            )
        });
        let kinds = kinds.collect::<Vec<_>>().join("; ");
        if self.quoted.is_empty() { kinds } else { format!("{kinds}; first: {}", self.quoted.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn with_rows(rows: RowCounts) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| point.phases[0].intervals[3].kinds[0].rows = rows)
    }

    fn missing(missed: u64) -> Simulation {
        with_rows(RowCounts { returned: 10_000, missed, ..RowCounts::default() })
    }

    #[test]
    fn one_operation_without_its_work_weakens_and_more_than_one_percent_spoils() {
        assert!(missing(0).findings("work-missing").is_empty());
        assert_eq!(missing(1).finding("work-missing").severity, Severity::Warning);
        assert_eq!(missing(100).finding("work-missing").severity, Severity::Warning);
        assert_eq!(missing(101).finding("work-missing").severity, Severity::Error);
    }

    #[test]
    fn the_rows_of_each_operation_and_the_first_miss_are_told() {
        let text = "client 3: sqlite, operation `update`: `UPDATE t` changed 0 rows, must change 1";
        let found: MissingWork = missing(5_000).event(EventKind::Missing, text).figures();
        assert_eq!((found.missed_ops, found.missed_share.0, &found.quoted[..]), (5_000, 0.5, &[text.to_owned()][..]));
        assert_eq!(
            (found.kinds[0].ops, found.kinds[0].returned_per_op, found.kinds[0].changed_per_op),
            (10_000, 1.0, 0.0)
        );
    }

    #[test]
    fn a_kind_of_which_all_found_nothing_weakens_and_one_of_which_many_did_does_not() {
        let idle = |idle| with_rows(RowCounts { idle, ..RowCounts::default() });
        assert!(idle(9_999).findings("work-missing").is_empty());
        assert_eq!(idle(10_000).finding("work-missing").severity, Severity::Warning);
        let found: MissingWork = idle(10_000).figures();
        assert!(MissingWork::title(&[&found]).starts_with("no operation of"));
    }
}
