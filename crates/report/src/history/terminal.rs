//! The history on the terminal: a line for each series, the changes by the run that began them, and the verdict last.
//!
//! In: a history, a width in columns. Out: lines no wider than that. Limits: of many series those that changed have a line, and the rates. Plans
//! that have too few runs are counted, and the one with the most runs is named.

use crate::escape::{terminal as safe, terminal_sentence};
use crate::render::labels::Labels;
use crate::wording::history::{
    ChangesOfRun, cannot_tell_sentence, change_cell, change_clauses, changes_by_run, conditions_sentence,
    left_out_sentence, metric_name, metric_value, outliers_sentence, run_heading, runs_phrase, too_few_sentence,
    verdict_sentence,
};
use crate::wording::label::phrases;
use crate::wording::quantity::plural;
use crate::wrap::wrap;
use analysis::history::{History, HistoryOutcome, HistorySeries, PlanHistory};

const WIDTH_MIN: usize = 60;
/// Of more series than fit on a screen only some are shown.
const SERIES_MAX: usize = 24;
const METRIC: usize = 13;
const RUNS: usize = 4;
const VALUE: usize = 9;
const CHANGE: usize = 17;

/// The complete answer. Ends with a line break.
pub fn history_text(history: &History, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let (few, enough): (Vec<_>, Vec<_>) = history.plans.iter().partition(|plan| plan.has_too_few_runs());
    let mut parts: Vec<Vec<String>> = enough.iter().map(|plan| plan_lines(plan, width)).collect();
    parts.extend(few_lines(&few, enough.is_empty(), width));
    let parts: Vec<String> = parts.into_iter().map(|lines| lines.join("\n")).collect();
    parts.join("\n\n") + "\n"
}

fn plan_lines(plan: &PlanHistory, width: usize) -> Vec<String> {
    let label_width = width - METRIC - RUNS - 2 * VALUE - CHANGE - 5;
    let head = format!(
        "{:<label_width$} {:<METRIC$} {:>RUNS$} {:>VALUE$} {:>VALUE$} {:>CHANGE$}",
        "point", "metric", "runs", "first", "last", "change"
    );
    let shown = shown_series(plan);
    let mut labels = Labels::fitted(shown.iter().map(|series| safe_phrases(series)), label_width);
    let mut lines = wrapped(&format!("{}: {}", plan.title, runs_phrase(plan)), width, "");
    lines.extend(labels.common().into_iter().flat_map(|common| wrap(&format!("All points: {common}"), width)));
    lines.push(head);
    lines.extend(shown.iter().flat_map(|series| labels.row(&safe_phrases(series), &cells(series), width)));
    if shown.len() < plan.series.len() {
        let more = plural((plan.series.len() - shown.len()) as u64, "more line");
        lines.extend(wrap(&format!("and {more} without a change in the report"), width));
    }
    for changes in changes_by_run(plan) {
        lines.push(String::new());
        lines.extend(change_lines(plan, &changes, width));
    }
    lines.push(String::new());
    let notes = [outliers_sentence(plan), left_out_sentence(plan), cannot_tell_sentence(plan)];
    let sentences = notes.into_iter().flatten().chain([verdict_sentence(plan)]);
    lines.extend(sentences.flat_map(|sentence| wrapped(&sentence, width, "")));
    lines
}

/// All series, or of many those that changed and the first of each point, its rate.
fn shown_series(plan: &PlanHistory) -> Vec<&HistorySeries> {
    let first = |series: &HistorySeries| plan.series.iter().find(|other| other.label == series.label);
    let is_first = |series: &HistorySeries| first(series).is_some_and(|first| first.metric == series.metric);
    let is_shown =
        |series: &&HistorySeries| plan.series.len() <= SERIES_MAX || !series.changes().is_empty() || is_first(series);
    plan.series.iter().filter(is_shown).collect()
}

/// `Run 16 (...) began:`, its changes, and the conditions.
fn change_lines(plan: &PlanHistory, changes: &ChangesOfRun, width: usize) -> Vec<String> {
    let mut lines = wrapped(&run_heading(plan, changes.run), width, "");
    let clauses = change_clauses(changes).into_iter().map(|clause| clause + ".");
    lines.extend(clauses.chain([conditions_sentence(changes)]).flat_map(|text| wrapped(&text, width, "  ")));
    lines
}

/// First and last level, or else first and last value, and the change.
fn cells(series: &HistorySeries) -> String {
    let ends = match &series.outcome {
        HistoryOutcome::Judged { levels, .. } => [levels.first(), levels.last()].map(|level| level.map(|one| one.mean)),
        HistoryOutcome::TooFew | HistoryOutcome::AlwaysZero | HistoryOutcome::SometimesZero => {
            [series.values.first(), series.values.last()].map(|value| value.map(|one| one.value.value))
        }
    };
    let [first, last] = ends.map(|value| value.map_or("-".to_owned(), |value| metric_value(series.metric, value)));
    let (metric, runs, change) = (metric_name(series.metric), series.values.len(), change_cell(series));
    format!(" {metric:<METRIC$} {runs:>RUNS$} {first:>VALUE$} {last:>VALUE$} {change:>CHANGE$}")
}

/// The line about plans that have too few runs.
fn few_lines(few: &[&PlanHistory], is_all: bool, width: usize) -> Option<Vec<String>> {
    let fullest = few.first()?;
    let name = format!("{} ({})", fullest.title, plural(fullest.runs.len() as u64, "run"));
    let text = match (few.len(), is_all) {
        (1, _) => format!("{name}. {}", too_few_sentence(fullest)),
        (n, true) => format!("{n} plans, the fullest is {name}. {}", too_few_sentence(fullest)),
        (n, false) => {
            format!("{n} other plans have too few runs; the fullest is {name}. {}", too_few_sentence(fullest))
        }
    };
    Some(wrapped(&text, width, ""))
}

fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    wrap(&terminal_sentence(text), width - indent.len()).into_iter().map(|line| format!("{indent}{line}")).collect()
}

fn safe_phrases(series: &HistorySeries) -> Vec<String> {
    phrases(series.label.group.iter().chain(&series.label.place)).iter().map(|phrase| safe(phrase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::history::HistoryMetric;

    #[test]
    fn of_many_series_those_that_changed_and_the_rates_have_a_line() {
        let mut history = crate::history::fixture();
        let plan = &mut history.plans[0];
        let changed = plan.series.iter().find(|series| !series.changes().is_empty()).expect("one changed").clone();
        let unchanged = plan.series.iter().find(|series| series.changes().is_empty()).expect("one did not").clone();
        let metric = HistoryMetric::ReadBytesPerOp;
        let other = HistorySeries { metric, label: changed.label.clone(), ..unchanged };
        plan.series = std::iter::once(changed).chain(vec![other; 30]).collect();
        let text = history_text(&history, 80);
        assert!(text.contains("\nand 30 more lines without a change in the report\n"), "{text}");
        assert!(text.contains("-7.0 % at run 16") && !text.contains("none shown"), "{text}");
    }

    #[test]
    fn the_answer_fits_eighty_columns_and_names_run_ratio_and_condition() {
        let text = history_text(&crate::history::fixture(), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let expected = "\
quick: 30 runs, 1970-01-01 00:00:00 UTC to 1970-01-30 00:00:00 UTC
point                   metric        runs     first      last            change
file rndrd depth 1      ops/s           30   1.00k/s     930/s  -7.0 % at run 16";
        assert!(text.starts_with(expected), "{text}");
        for part in [
            "\nRun 16 (1970-01-16 00:00:00 UTC, run-15)\n  ops/s of file rndrd depth 1 is 7.0 % lower (6.5 to 7.4): worse.\n",
            "\n  Changed since run 15: kernel.vm.dirty_ratio from 20 to 5.\n",
            "\n1 change in 2 series over 30 runs.\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn a_change_of_thirteen_points_is_one_sentence_for_each_metric_with_the_condition() {
        let text = history_text(&crate::history::wide_fixture(), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let told = text.split("\nRun 16 (").nth(1).expect("it began there");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("ops/s of 13 points is 6.5 % to 7.7 % lower (most: file rndrd depth 1 clients 13): worse."),
            "{text}"
        );
        assert!(words.contains("Changed since run 15: kernel.vm.dirty_bytes from 0 to 16777216."), "{text}");
        assert!(told.lines().count() <= 8, "{text}");
        assert_eq!(text.matches("at run 16").count(), 13, "each point has its line in the table: {text}");
    }

    #[test]
    fn a_directory_of_single_runs_says_how_many_are_needed() {
        let mut history = crate::history::fixture();
        history.plans.retain(|plan| plan.has_too_few_runs());
        let text = history_text(&history, 80);
        assert_eq!(
            text,
            "other plan (2 runs). Cannot tell: a change needs 6 usable runs, and there are 2\n\
             usable runs. Run the plan 4 times more.\n"
        );
    }
}
