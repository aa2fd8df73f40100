//! What making the data of a point cost: how long, how fast, how large it came out.
//!
//! In: the recorded phase prepare, and what the engine counted when it was over. Out: a [`DataLoad`].
//! Limits: the seconds are those in which rows were inserted; bringing the data to rest comes after them and is told apart. Points
//! that share a data set have its load at the first of them only.

use crate::window::Tally;
use model::{KindRow, Phase, PhaseData, PointData};
use serde::{Deserialize, Serialize};

/// The making of a data set. What nobody counted is `None`.
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
    /// How long it took after that to bring the data to rest: flushes, checkpoints, statistics, the counting of rows; and, where points
    /// begin with a restart or a copy, these.
    pub settle_seconds: Option<f64>,
}

impl DataLoad {
    /// The load of `point`, where its data was made for it.
    pub fn of(point: &PointData) -> Option<DataLoad> {
        let phase = point.phase(Phase::Prepare)?;
        let done = Tally::recorded(phase);
        let seconds = Some(done.length.as_secs_f64()).filter(|seconds| *seconds > 0.0 && done.ok > 0)?;
        let loaded = &point.traits.outcome;
        let rows = loaded.loaded_rows.filter(|rows| *rows > 0);
        let statements = statements(point, phase);
        Some(DataLoad {
            seconds,
            rows,
            rows_per_s: rows.map(|rows| rows as f64 / seconds),
            statements_per_s: statements.map(|statements| statements / seconds),
            bytes: loaded.loaded_bytes,
            settle_seconds: loaded.load_settle_s,
        })
    }
}

/// The statements that the operations done in `phase` were; `None` if they were no statements.
fn statements(point: &PointData, phase: &PhaseData) -> Option<f64> {
    let kinds = || phase.intervals.iter().flat_map(|interval| &interval.kinds);
    let each = |kind: &KindRow| point.kind(kind.kind).map_or(1.0, |def| def.queries_per_op);
    kinds().any(|kind| each(kind) != 1.0).then(|| kinds().map(|kind| kind.ok as f64 * each(kind)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Fact;

    /// A point whose data was made in 4 s by 8 operations.
    fn loaded(facts: &[(&str, &str)]) -> PointData {
        let mut point = Simulation::counts(&[100; 5]).point();
        let made = Simulation::counts(&[2; 4]).point().phases.remove(0);
        point.phases.insert(0, PhaseData { phase: Phase::Prepare, ..made });
        point.kinds = vec!["load".into()];
        point.facts.extend(facts.iter().map(|(name, value)| Fact::new(*name, *value)));
        crate::simulate::declared(point)
    }

    #[test]
    fn rows_and_statements_are_those_of_the_seconds_in_which_they_were_inserted() {
        let facts = [("load.rows", "8000"), ("queries_per_op.load", "1002"), ("load.bytes", "2097152")];
        let load = DataLoad::of(&loaded(&[&facts[..], &[("load.settle_s", "0.5")]].concat())).expect("it was loaded");
        assert_eq!((load.seconds, load.rows, load.rows_per_s), (4.0, Some(8_000), Some(2_000.0)));
        assert_eq!((load.statements_per_s, load.bytes, load.settle_seconds), (Some(2_004.0), Some(2 << 20), Some(0.5)));
    }

    #[test]
    fn what_nobody_counted_is_not_there() {
        let load = DataLoad::of(&loaded(&[("load.rows", "many")])).expect("it was loaded");
        assert_eq!((load.rows, load.rows_per_s, load.statements_per_s, load.bytes), (None, None, None, None));
    }

    #[test]
    fn a_point_on_the_data_of_another_has_no_load() {
        assert_eq!(DataLoad::of(&Simulation::counts(&[100; 5]).point()), None);
    }
}
