//! The history of plans as people read it: terminal text, CSV, charts, and a page.
//!
//! In: an [`analysis::history::History`]. Out: text, figures, a page. Limits: nothing is judged here.

mod chart;
mod csv;
mod page;
mod terminal;

pub use csv::{HISTORY_COLUMNS, HistoryRow, history_csv};
pub use page::history_page;
pub use terminal::history_text;

#[cfg(test)]
pub use fixture::{fixture, wide_fixture};

#[cfg(test)]
mod fixture {
    use crate::testing::quick;
    use analysis::history::{History, HistoryRun};
    use model::{ConditionRole, RunCondition, RunData};

    /// Thirty runs of a point, a day apart, slower by 7 % from the sixteenth on, where a setting of the kernel is another; and two runs
    /// of another plan.
    pub fn fixture() -> History {
        let noise = |nth: u64| 1.0 + 0.01 * ((nth * 7 % 11) as f64 / 5.0 - 1.0);
        let level = |nth: u64| if nth < 15 { 1_000.0 } else { 930.0 };
        let mut runs: Vec<HistoryRun> = (0..30).map(|nth| run("quick", nth, level(nth) * noise(nth))).collect();
        runs.extend((0..2).map(|nth| run("other plan", nth, 500.0)));
        History::from_runs(runs)
    }

    /// Thirty runs of thirteen points, slower by about 7 % from the sixteenth on, where the kernel may keep fewer bytes dirty.
    pub fn wide_fixture() -> History {
        let runs = (0..30).map(|nth| {
            let after = if nth < 15 { 0.0 } else { 1.0 };
            let noise = |point: u64| 1.0 + 0.002 * (((nth + point) * 7 % 11) as f64 / 5.0 - 1.0);
            let rates: Vec<f64> = (0..13)
                .map(|point| {
                    (1_000.0 + 100.0 * point as f64) * noise(point) * (1.0 - after * (0.065 + 0.001 * point as f64))
                })
                .collect();
            let mut run = run_of_points("quick", nth, &rates);
            let (name, value) =
                ("kernel.vm.dirty_bytes".to_owned(), if nth < 15 { "0" } else { "16777216" }.to_owned());
            run.conditions.push(RunCondition { role: ConditionRole::KernelSetting, name, value });
            run
        });
        History::from_runs(runs.collect())
    }

    /// A run whose points have 1, 2, 3 ... clients, and did so many operations a second.
    fn run_of_points(title: &str, nth: u64, rates: &[f64]) -> HistoryRun {
        let mut analysis = quick();
        analysis.meta.plan.title = title.to_owned();
        analysis.meta.run_id = format!("run-{nth:02}");
        analysis.meta.started_unix_ms = nth * 86_400_000;
        let usual = analysis.points[0].clone();
        let (mut recorded, mut points) = (Vec::new(), Vec::new());
        for (id, per_s) in (1..).zip(rates) {
            let mut point = usual.clone();
            point.id = id;
            point
                .label
                .place
                .push(crate::testing::setting("clients", analysis::recorded::dimensions::SettingValue::Count(id)));
            let summary = point.summary.as_mut().expect("it was measured");
            (summary.ops_per_s, summary.ops_per_s_ci95) = (*per_s, Some([0.99 * per_s, 1.01 * per_s]));
            (summary.cost, summary.client) = Default::default();
            points.push(point);
            let mut own = crate::testing::recorded(id, "file", 4, |_| 100);
            own.trial.load.clients = id;
            recorded.push(own);
        }
        analysis.points = points;
        analysis.meta.plan.trials = recorded.iter().map(|point| point.trial.clone()).collect();
        let data = RunData { meta: analysis.meta.clone(), points: recorded };
        HistoryRun::from_run(&data, &analysis)
    }

    fn run(title: &str, nth: u64, per_s: f64) -> HistoryRun {
        let mut analysis = quick();
        analysis.points.truncate(1);
        analysis.meta.plan.title = title.to_owned();
        analysis.meta.run_id = format!("run-{nth:02}");
        analysis.meta.started_unix_ms = nth * 86_400_000;
        let summary = analysis.points[0].summary.as_mut().expect("it was measured");
        (summary.ops_per_s, summary.ops_per_s_ci95) = (per_s, Some([0.99 * per_s, 1.01 * per_s]));
        (summary.cost, summary.client) = Default::default();
        let mut point = crate::testing::recorded(analysis.points[0].id, "file", 4, |_| 100);
        point.trial.load.clients = if title == "quick" { 1 } else { 2 };
        analysis.meta.plan.trials = vec![point.trial.clone()];
        let data = RunData { meta: analysis.meta.clone(), points: vec![point] };
        let mut run = HistoryRun::from_run(&data, &analysis);
        let value = if nth < 15 { "20" } else { "5" };
        let (name, value) = ("kernel.vm.dirty_ratio".to_owned(), value.to_owned());
        run.conditions.push(RunCondition { role: ConditionRole::KernelSetting, name, value });
        run
    }
}
