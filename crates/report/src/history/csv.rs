//! The values of a history as CSV: one row for each run and series.
//!
//! In: a history. Out: text with a header line, all digits, units in the names. Limits: a value that a run lacks has no row.

use crate::csv_column::{CsvColumn, column, csv_table};
use crate::escape;
use crate::wording::history::series_label;
use analysis::history::{History, HistoryLevel, HistoryOutcome, HistorySeries, PlanHistory, RunValue};

/// One value with where it belongs.
#[derive(Clone, Copy)]
pub struct HistoryRow<'a> {
    plan: &'a PlanHistory,
    series: &'a HistorySeries,
    /// The place of the value in its series.
    nth: usize,
}

type HistoryColumn = CsvColumn<fn(&HistoryRow) -> String>;

/// The columns of history.csv.
pub static HISTORY_COLUMNS: &[HistoryColumn] = &[
    column("plan", "title of the plan, as its newest run has it", |r| escape::csv(&r.plan.title)),
    column("label", "what distinguishes the point from the others of the plan", |r| {
        escape::csv(&series_label(r.series))
    }),
    column(
        "metric",
        "what was measured, with its unit: `ops_per_s`, `response_p99_ns`, or a cost of an operation",
        |r| r.series.metric.as_str().to_owned(),
    ),
    column("number", "number of the run among those of the plan, the oldest is 1", |r| (r.value().run + 1).to_string()),
    column("run", "name of the run", |r| escape::csv(&r.plan.runs[r.value().run].id)),
    column("started_unix_ms", "when the run began, in milliseconds since 1970 UTC", |r| {
        r.plan.runs[r.value().run].started_unix_ms.to_string()
    }),
    column("repeats", "repeats of the point in the run, which make one value", |r| r.value().value.repeats.to_string()),
    column("value", "the value", |r| r.value().value.value.to_string()),
    column("low95", "lower end of its 95 % confidence interval within the run", |r| {
        r.value().value.ci95.map_or(String::new(), |[low, _]| low.to_string())
    }),
    column("high95", "upper end of it", |r| r.value().value.ci95.map_or(String::new(), |[_, high]| high.to_string())),
    column("outlier", "`yes` if the value was left out as an outlier", |r| r.outlier_word().to_owned()),
    column("level", "geometric mean of the values up to the next change", |r| {
        r.level().map_or(String::new(), |level| level.mean.to_string())
    }),
    column("change", "ratio of this level to the one before, at the run that began it", |r| r.change_ratio()),
];

pub fn history_csv(history: &History) -> String {
    let all = history.plans.iter().flat_map(|plan| plan.series.iter().map(move |series| (plan, series)));
    let rows = all.flat_map(|(plan, series)| (0..series.values.len()).map(move |nth| HistoryRow { plan, series, nth }));
    csv_table(HISTORY_COLUMNS, rows)
}

impl HistoryRow<'_> {
    fn value(&self) -> &RunValue {
        &self.series.values[self.nth]
    }

    fn outlier_word(&self) -> &'static str {
        match &self.series.outcome {
            HistoryOutcome::Judged { outliers, .. } if outliers.contains(&self.nth) => "yes",
            HistoryOutcome::Judged { .. } => "no",
            HistoryOutcome::TooFew | HistoryOutcome::AlwaysZero | HistoryOutcome::SometimesZero => "",
        }
    }

    fn level(&self) -> Option<&HistoryLevel> {
        let HistoryOutcome::Judged { levels, .. } = &self.series.outcome else { return None };
        levels.iter().find(|level| self.nth <= level.last)
    }

    fn change_ratio(&self) -> String {
        let began = self.series.changes().iter().find(|change| change.run == self.value().run);
        began.map_or(String::new(), |change| change.ratio.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_row_and_the_change_is_at_its_run() {
        let history = crate::history::fixture();
        let csv = history_csv(&history);
        let values: usize = history.plans.iter().flat_map(|plan| &plan.series).map(|series| series.values.len()).sum();
        assert_eq!(csv.lines().count(), values + 1);
        let rates: Vec<&str> = csv.lines().filter(|line| line.contains(",ops_per_s,")).collect();
        let changed: Vec<usize> = (0..30).filter(|nth| !rates[*nth].ends_with(',')).collect();
        assert_eq!(changed, [15]);
        assert!(csv.lines().all(|line| line.split(',').count() == HISTORY_COLUMNS.len()), "{csv}");
    }
}
