//! What to call a point before it is measured: the label that it has in tables and findings afterwards.
//!
//! In: all trials of a plan. Out: a label for each, fit for a terminal. Limits: labels distinguish the points of the plan; of a run that
//! ends early, the report may need fewer words.

use analysis::describe_in_full;
use analysis::recorded::engine_names::EngineNames;
use model::{Plan, PointData, PointTraits, RunData, Trial};
use report::wording::label::{label_text, settings_label};

/// `fjall l.i1 indexes 3` for each trial of `plan`.
pub fn all(plan: &Plan) -> Vec<String> {
    let points: Vec<PointData> = plan.trials.iter().map(planned_point).collect();
    let described = describe_in_full(&points, &EngineNames::new(&points, &plan.trials));
    described.iter().map(|one| report::terminal_text(&label_text(&one.label))).collect()
}

/// The same in two parts: the group that is swept, and the place in it: `file rndrd`, `depth 8`.
pub fn cells(plan: &Plan) -> Vec<(String, String)> {
    let points: Vec<PointData> = plan.trials.iter().map(planned_point).collect();
    let described = describe_in_full(&points, &EngineNames::new(&points, &plan.trials));
    let words = |settings: &[analysis::Setting]| report::terminal_text(&settings_label(settings));
    described.iter().map(|one| (words(&one.label.group), words(&one.label.place))).collect()
}

/// The same for each point of a recorded run.
pub fn of_points(run: &RunData) -> Vec<String> {
    let described = describe_in_full(&run.points, &EngineNames::new(&run.points, &run.meta.plan.trials));
    described.iter().map(|one| report::terminal_text(&label_text(&one.label))).collect()
}

/// `trial` as a point of which nothing is recorded yet.
fn planned_point(trial: &Trial) -> PointData {
    let workload = engine::workload_of(trial);
    let work = (workload.traits)(&trial.workload.params);
    PointData {
        traits: PointTraits { work, ..PointTraits::default() },
        params: runner::declared_params(trial),
        ..PointData::unmeasured(0, trial.clone())
    }
}
