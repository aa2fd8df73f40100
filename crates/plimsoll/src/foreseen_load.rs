//! How long data takes to make, as far as earlier runs tell.
//!
//! In: a directory of run files. Out: seconds for the data of a trial. Limits: the latest of the newest runs counts, whatever its disk and
//! machine: the runs of a directory are usually of one.

use crate::commands::list;
use model::{PointState, Trial};
use std::collections::HashMap;
use std::path::Path;
use store::PointHead;

/// More run files are not looked at.
const RUNS_MAX: usize = 50;

/// The bytes of data per second that each engine took with each workload, its indexes included.
#[derive(Default)]
pub struct LoadRates(HashMap<(String, String), f64>);

impl LoadRates {
    /// Those of the newest runs in `runs`; none if there are none.
    pub fn recall(runs: &Path) -> LoadRates {
        let mut rates = LoadRates::default();
        for file in list::run_files_of(runs).unwrap_or_default().iter().rev().take(RUNS_MAX) {
            let points = store::read_meta(file).map(|head| head.points).unwrap_or_default();
            points.iter().for_each(|point| rates.note(point));
        }
        rates
    }

    fn note(&mut self, point: &PointHead) {
        let taken = point.facts.iter().find(|fact| fact.name == "load.all_s").and_then(|fact| fact.value.parse().ok());
        if let Some(seconds) = taken.filter(|seconds: &f64| *seconds > 0.0 && point.state == PointState::Complete) {
            let rate = data_bytes(&point.trial) / seconds;
            self.0.entry(key(&point.trial)).or_insert(rate);
        }
    }

    /// How long the data of `trial` takes to make; `None` if no run has made such data.
    pub fn seconds(&self, trial: &Trial) -> Option<f64> {
        self.0.get(&key(trial)).map(|rate| data_bytes(trial) / rate)
    }
}

fn data_bytes(trial: &Trial) -> f64 {
    let bytes = (engine::workload_of(trial).data_bytes)(&trial.workload.params);
    bytes.0 as f64 * f64::from(trial.target.instances)
}

fn key(trial: &Trial) -> (String, String) {
    (trial.target.engine.clone(), trial.workload.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Fact;

    fn point(facts: &[(&str, &str)]) -> PointHead {
        let text = "workload = 'oltp'\nengine = 'sqlite'";
        let plan = plan::parse(text, "test.toml", &plan::Overrides::default(), 1.0, &runner::catalogue());
        let trial = plan.expect("it is a plan").trials.remove(0);
        PointHead {
            id: 1,
            state: PointState::Complete,
            error: None,
            engine: "sqlite".into(),
            workload: "oltp".into(),
            clients: 1,
            depth: 1,
            repeat: 1,
            trial,
            facts: facts.iter().map(|(name, value)| Fact::new(*name, *value)).collect(),
        }
    }

    #[test]
    fn the_newest_load_counts_and_larger_data_takes_longer_in_proportion() {
        let mut rates = LoadRates::default();
        let first = point(&[("load.all_s", "2.0")]);
        assert_eq!(rates.seconds(&first.trial), None);
        rates.note(&first);
        rates.note(&point(&[("load.all_s", "9.0")]));
        rates.note(&PointHead { state: PointState::Failed, ..point(&[("load.all_s", "0.1")]) });
        assert_eq!(rates.seconds(&first.trial), Some(2.0));
        let mut double = first.trial.clone();
        double.workload.params.0.insert("tables".into(), model::Value::Int(2));
        assert_eq!(rates.seconds(&double), Some(4.0));
    }
}
