//! The load of a point's data: how long it took, how fast it went, how large the data is.
//!
//! In: the recorded phase prepare, and what the engine counted when it was over. Out: a [`DataLoad`].
//! Limits: the seconds are those in which rows were inserted; the time until the engine was idle again is separate. If points share
//! a data set, only the first of them has its load.

use crate::recorded::window::OpTally;
use model::{KindRow, Phase, PhaseData, PointData};
use serde::{Deserialize, Serialize};

/// The load of a data set. A field is `None` if it was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataLoad {
    /// How long it took.
    pub seconds: f64,
    /// Rows that were there afterwards, as the engine counted them.
    pub rows: Option<u64>,
    /// Rows per second.
    pub rows_per_s: Option<f64>,
    /// Statements per second, BEGIN and COMMIT included.
    pub statements_per_s: Option<f64>,
    /// Space on disk when the engine was idle again, logs included: those of a server may be larger than the data.
    pub bytes: Option<u64>,
    /// The part of it that is logs: as much as the engine may keep, however little data there is.
    pub log_bytes: Option<u64>,
    /// How long it took after that until the engine was idle: flushes, checkpoints, statistics, the counting of rows; and the restart
    /// or the copy, if points begin with one.
    pub settle_seconds: Option<f64>,
}

impl DataLoad {
    /// The load of `point`, if its data was made for it.
    pub fn from_point(point: &PointData) -> Option<DataLoad> {
        let phase = point.phase(Phase::Prepare)?;
        let done = OpTally::from_phase(phase);
        let seconds = Some(done.length.as_secs_f64()).filter(|seconds| *seconds > 0.0 && done.ok > 0)?;
        let loaded = &point.traits.outcome;
        let rows = loaded.loaded_rows.filter(|rows| *rows > 0);
        let statements = count_statements(point, phase);
        Some(DataLoad {
            seconds,
            rows,
            rows_per_s: rows.map(|rows| rows as f64 / seconds),
            statements_per_s: statements.map(|statements| statements / seconds),
            bytes: loaded.loaded_bytes,
            log_bytes: loaded.loaded_log_bytes,
            settle_seconds: loaded.load_settle_s,
        })
    }

    /// Space on disk, without logs as far as they are known.
    pub fn data_bytes(&self) -> Option<u64> {
        Some(self.bytes?.saturating_sub(self.log_bytes.unwrap_or(0)))
    }
}

/// The statements that the operations done in `phase` were; `None` if they were no statements.
fn count_statements(point: &PointData, phase: &PhaseData) -> Option<f64> {
    let kinds = phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let done: Vec<(f64, f64)> = kinds.map(|kind| (kind.ok as f64, queries_per_op(point, kind))).collect();
    // An engine without statements declares one query for each operation.
    let has_statements = done.iter().any(|(_, queries)| *queries != 1.0);
    has_statements.then(|| done.iter().map(|(ops, queries)| ops * queries).sum())
}

fn queries_per_op(point: &PointData, kind: &KindRow) -> f64 {
    point.kind(kind.kind).map_or(1.0, |def| def.queries_per_op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Fact;

    /// A point whose data was made in 4 s by 8 operations.
    fn loaded(facts: &[(&str, &str)]) -> PointData {
        let mut point = Simulation::counts(&[100; 5]).point();
        let made = Simulation::counts(&[2; 4]).point().phases.remove(0);
        point.phases.insert(0, PhaseData { phase: Phase::Prepare, ..made });
        point.kinds = vec![crate::simulated::kind("load")];
        point.facts.extend(facts.iter().map(|(name, value)| Fact::new(*name, *value)));
        crate::simulated::declared(point)
    }

    #[test]
    fn rows_and_statements_are_those_of_the_seconds_in_which_they_were_inserted() {
        let facts = [
            ("load.rows", "8000"),
            ("queries_per_op.load", "1002"),
            ("load.bytes", "2097152"),
            ("load.log_bytes", "1048576"),
        ];
        let load =
            DataLoad::from_point(&loaded(&[&facts[..], &[("load.settle_s", "0.5")]].concat())).expect("it was loaded");
        assert_eq!((load.seconds, load.rows, load.rows_per_s), (4.0, Some(8_000), Some(2_000.0)));
        assert_eq!((load.statements_per_s, load.settle_seconds), (Some(2_004.0), Some(0.5)));
        assert_eq!((load.bytes, load.log_bytes, load.data_bytes()), (Some(2 << 20), Some(1 << 20), Some(1 << 20)));
    }

    #[test]
    fn what_nobody_counted_is_not_there() {
        let load = DataLoad::from_point(&loaded(&[("load.rows", "many")])).expect("it was loaded");
        assert_eq!((load.rows, load.rows_per_s, load.statements_per_s, load.bytes), (None, None, None, None));
    }

    #[test]
    fn a_point_on_the_data_of_another_has_no_load() {
        assert_eq!(DataLoad::from_point(&Simulation::counts(&[100; 5]).point()), None);
    }
}
