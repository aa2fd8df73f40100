//! The load of a point's data: how long it took, how fast it went, how large the data is.
//!
//! In: the recorded phase prepare, and what the engine counted when it was over. Out: a [`DataLoad`].
//! Limits: the seconds are those in which rows were inserted; those of the indexes, and until the engine was idle again, are separate. If points share
//! a data set, only the first of them has its load.

use crate::math::repeats::{Repeated, combined};
use crate::recorded::window::OpTally;
use model::{Phase, PointData};
use serde::{Deserialize, Serialize};

/// The load of a data set. A field is `None` if it was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataLoad {
    /// How long it took.
    pub seconds: f64,
    /// Rows that were there afterwards, as the engine counted them.
    pub rows: Option<u64>,
    pub rows_per_s: Option<f64>,
    /// How long it took after that to make the indexes; `None` if there were none, or if they were there before the rows.
    pub index_seconds: Option<f64>,
    /// Space on disk when the engine was idle again, logs included: those of a server may be larger than the data.
    pub bytes: Option<u64>,
    /// The part of it that is logs: as much as the engine may keep, however little data there is.
    pub log_bytes: Option<u64>,
    /// How long it took after rows and indexes until the engine was idle: flushes, checkpoints, statistics, the counting of rows; and the restart
    /// or the copy, if points begin with one.
    pub settle_seconds: Option<f64>,
}

impl DataLoad {
    /// The load of `point`, if its data was made for it.
    pub fn from_point(point: &PointData) -> Option<DataLoad> {
        let done = OpTally::from_phase(point.phase(Phase::Prepare)?);
        let seconds = Some(done.length.as_secs_f64()).filter(|seconds| *seconds > 0.0 && done.ok > 0)?;
        let loaded = &point.traits.outcome;
        let rows = loaded.loaded_rows.filter(|rows| *rows > 0);
        let index_seconds = loaded.load_index_s;
        Some(DataLoad {
            seconds,
            rows,
            rows_per_s: rows.map(|rows| rows as f64 / seconds),
            index_seconds,
            bytes: loaded.loaded_bytes,
            log_bytes: loaded.loaded_log_bytes,
            settle_seconds: loaded.load_settle_s.map(|settle| (settle - index_seconds.unwrap_or(0.0)).max(0.0)),
        })
    }

    /// The means of the repeats whose data was made for them; `None` if none was.
    pub(crate) fn combine(all: &Repeated<DataLoad>) -> Option<DataLoad> {
        all.first()?;
        Some(combined!(
            all,
            DataLoad {
                seconds: mean,
                rows: mean,
                rows_per_s: mean,
                index_seconds: mean,
                bytes: mean,
                log_bytes: mean,
                settle_seconds: mean,
            }
        ))
    }

    /// Space on disk, without logs as far as they are known.
    pub fn data_bytes(&self) -> Option<u64> {
        Some(self.bytes?.saturating_sub(self.log_bytes.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::{Fact, PhaseData};

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
    fn rows_are_those_of_the_seconds_in_which_they_were_inserted_and_indexes_have_seconds_of_their_own() {
        let facts =
            [("load.rows", "8000"), ("load.index_s", "0.4"), ("load.bytes", "2097152"), ("load.log_bytes", "1048576")];
        let load =
            DataLoad::from_point(&loaded(&[&facts[..], &[("load.settle_s", "0.5")]].concat())).expect("it was loaded");
        assert_eq!((load.seconds, load.rows, load.rows_per_s), (4.0, Some(8_000), Some(2_000.0)));
        assert_eq!(load.index_seconds, Some(0.4));
        assert!(load.settle_seconds.is_some_and(|seconds| (seconds - 0.1).abs() < 1e-9), "the rest of 0.5 s");
        assert_eq!((load.bytes, load.log_bytes, load.data_bytes()), (Some(2 << 20), Some(1 << 20), Some(1 << 20)));
    }

    #[test]
    fn what_nobody_counted_is_not_there() {
        let load = DataLoad::from_point(&loaded(&[("load.rows", "many")])).expect("it was loaded");
        assert_eq!((load.rows, load.rows_per_s, load.index_seconds, load.bytes), (None, None, None, None));
    }

    #[test]
    fn a_point_on_the_data_of_another_has_no_load() {
        assert_eq!(DataLoad::from_point(&Simulation::counts(&[100; 5]).point()), None);
    }
}
