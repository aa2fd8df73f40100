//! A comparison on the terminal: the answer, the arms, what differs, a table of ratios, and the costs that changed.
//!
//! In: comparisons, a width in columns, and whether colour is wanted. Out: lines no wider than that. Limits: of percentiles only those
//! that show a difference have a row, and of costs the first of each place; JSON and the files of `--out` have all.

use super::labels::Labels;
use super::terminal::wrap;
use crate::escape::{terminal as safe, terminal_sentence as plain};
use crate::wording::compare::{
    arm_name, change_text, cost_heading, cost_name, cost_value, design_sentence, interval_text, introduction,
    ratio_text, row_name,
};
use crate::wording::compared_kinds::{KINDS_HEADING, OTHER_RESULTS_HEADING, kind_rows, other_result_rows};
use crate::wording::compared_sweep::answers;
use crate::wording::compared_watches::{WATCHES_HEADING, watch_rows};
use crate::wording::metric::{metric_value, verdict_word};
use analysis::RatioVerdict;
use analysis::compare::{CostChange, KindComparison, MetricRatio, PlaceComparison, RunComparison, WatchComparison};

/// The costs of one place that are shown.
const COSTS_MAX: usize = 5;
/// The places whose costs are shown.
const PLACES_MAX: usize = 4;
const WIDTH_MIN: usize = 80;
/// All columns of the table of ratios but the first.
const CELLS: usize = 63;
/// The first column of the statements of watches.
const FIGURE: usize = 40;
/// The blanks before a line about a plan.
const PLAN_INDENT: usize = 6;

/// The answer. Ends with a line break.
pub fn comparison(all: &[RunComparison], width: usize, colour: bool) -> String {
    let width = width.max(WIDTH_MIN);
    let texts: Vec<String> = all.iter().map(|one| lines_of(one, width, colour).join("\n") + "\n").collect();
    texts.join("\n")
}

fn lines_of(one: &RunComparison, width: usize, colour: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        answers(one).iter().chain(&introduction(one)).flat_map(|text| wrap(&plain(text), width)).collect();
    if let Some(watches) = &one.watches {
        lines.extend(design_sentence(one).iter().flat_map(|text| wrap(text, width)));
        lines.extend(statements_of(watches, width));
    } else if !one.places.is_empty() {
        lines.push(String::new());
        lines.extend(table(one, width, colour));
        lines.extend(design_sentence(one).iter().flat_map(|text| wrap(&plain(text), width)));
    }
    let names = [&one.base, &one.new].map(arm_name);
    lines.extend(one.kinds().flat_map(|kinds| other_results_of(kinds, &names, width)));
    lines.extend(one.kinds().flat_map(|kinds| kinds_of(kinds, width, colour)));
    lines.extend(costs(one, width));
    lines
}

/// The kinds of statement that answer differently: each name, and below it how.
fn other_results_of(kinds: &KindComparison, names: &[String; 2], width: usize) -> Vec<String> {
    let (rows, rest) = other_result_rows(kinds, names);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), OTHER_RESULTS_HEADING.to_owned()];
    for (kind, how) in &rows {
        lines.extend(wrap(&format!("  {}", plain(kind)), width));
        let how = wrap(&plain(how), width - PLAN_INDENT);
        lines.extend(how.into_iter().map(|line| format!("{:PLAN_INDENT$}{line}", "")));
    }
    lines.extend(rest_line(rest));
    lines
}

fn rest_line(rest: usize) -> Option<String> {
    (rest > 0).then(|| format!("  and {rest} more; --json has them all"))
}

/// The kinds of statement that differ for sure, the slowest first: each name above its figures, and below them whether its plan differs.
fn kinds_of(kinds: &KindComparison, width: usize, colour: bool) -> Vec<String> {
    let (rows, rest) = kind_rows(kinds);
    if rows.is_empty() {
        return Vec::new();
    }
    let figures = |[base, new, ratio, interval, verdict]: &[String; 5]| cells(base, new, ratio, interval, verdict);
    let indent = width - CELLS;
    let mut lines = vec![String::new(), KINDS_HEADING.to_owned()];
    for row in &rows {
        lines.extend(wrap(&format!("  {}", plain(&row.kind)), width));
        let painted = paint(figures(&row.cells).trim_end(), row.verdict, colour);
        lines.push(format!("{:<indent$}{painted}", ""));
        let plan = row.plan.iter().flat_map(|plan| wrap(&plain(plan), width - PLAN_INDENT));
        lines.extend(plan.map(|line| format!("{:PLAN_INDENT$}{line}", "")));
    }
    lines.extend(rest_line(rest));
    lines
}

/// The statements of two watches: each above its figures.
fn statements_of(watches: &WatchComparison, width: usize) -> Vec<String> {
    let (rows, rest) = watch_rows(watches);
    if rows.is_empty() {
        return Vec::new();
    }
    let line = |name: &str, [base, new, ratio]: [&str; 3]| format!("{name:<FIGURE$} {base:>10} {new:>10} {ratio:>10}");
    let mut lines = vec![String::new(), line(WATCHES_HEADING, ["base", "new", "ratio"])];
    for row in &rows {
        lines.extend(wrap(&format!("  {}", safe(&row.statement)), width));
        let figures = row.figures.iter();
        lines.extend(figures.map(|(name, cells)| line(&format!("    {name}"), cells.each_ref().map(String::as_str))));
    }
    lines.extend(rest_line(rest));
    lines
}

/// A row for each speed, and for each percentile that adds something to it.
fn table(one: &RunComparison, width: usize, colour: bool) -> Vec<String> {
    let rows: Vec<(&PlaceComparison, &MetricRatio)> = one.ratios().filter(|(_, metric)| is_shown(metric)).collect();
    let safe_name = |(place, metric): &(&PlaceComparison, &MetricRatio)| -> Vec<String> {
        row_name(place, metric).iter().map(|phrase| safe(phrase)).collect()
    };
    let speeds = rows.iter().filter(|(_, metric)| metric.metric.is_speed());
    let label_width = width - CELLS;
    let mut labels = Labels::fitted(speeds.map(safe_name), label_width);
    let head = format!("{:<label_width$}{}", "", cells("base", "new", "ratio", "95 %", "verdict"));
    let common = labels.common().map(|common| format!("All: {common}"));
    let mut lines: Vec<String> = common.iter().flat_map(|text| wrap(text, width)).collect();
    lines.push(head.trim_end().to_owned());
    for row in &rows {
        let figures = figures(row.1);
        let painted = paint(figures.trim_end(), row.1.estimate.verdict, colour);
        if row.1.metric.is_speed() {
            lines.extend(labels.row(&safe_name(row), &painted, width))
        } else {
            lines.push(format!("{:<label_width$}{painted}", safe_name(row).concat()))
        }
    }
    lines
}

fn is_shown(metric: &MetricRatio) -> bool {
    metric.metric.is_speed() || metric.metric.is_running_cost() || metric.estimate.verdict.is_difference()
}

fn figures(metric: &MetricRatio) -> String {
    let value = |value| metric_value(metric.metric, value);
    let estimate = &metric.estimate;
    let (ratio, interval) = (ratio_text(estimate.ratio), interval_text(estimate));
    cells(&value(metric.base), &value(metric.new), &ratio, &interval, verdict_word(metric.metric, estimate.verdict))
}

fn cells(base: &str, new: &str, ratio: &str, interval: &str, verdict: &str) -> String {
    format!(" {base:>8} {new:>8} {ratio:>7}  {interval:<14}  {verdict:<19}")
}

fn paint(text: &str, verdict: RatioVerdict, colour: bool) -> String {
    match (verdict, colour) {
        (RatioVerdict::Faster, true) => format!("\u{1b}[32m{text}\u{1b}[0m"),
        (RatioVerdict::Slower, true) => format!("\u{1b}[31m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    }
}

/// The costs that changed, of the places that differ most first.
fn costs(one: &RunComparison, width: usize) -> Vec<String> {
    let mut places: Vec<&PlaceComparison> = one.places.iter().filter(|place| has_costs_to_show(place)).collect();
    let change = |place: &PlaceComparison| place.speed().map_or(0.0, |speed| speed.estimate.ratio.ln().abs());
    places.sort_by(|a, b| change(b).total_cmp(&change(a)));
    let mut lines: Vec<String> = places.iter().take(PLACES_MAX).flat_map(|place| costs_of(place, width)).collect();
    if places.len() > PLACES_MAX {
        lines.push(String::new());
        lines.push(format!("Costs changed at {} more places; --json and --out have them.", places.len() - PLACES_MAX));
    }
    lines
}

fn has_costs_to_show(place: &PlaceComparison) -> bool {
    let verdict = place.speed().map(|speed| speed.estimate.verdict);
    match verdict {
        Some(RatioVerdict::NoDifferenceShown) | None => place.changed_costs().count() > 0,
        Some(RatioVerdict::Indicative) => !place.costs.is_empty(),
        Some(RatioVerdict::Faster | RatioVerdict::Slower) => true,
    }
}

fn costs_of(place: &PlaceComparison, width: usize) -> Vec<String> {
    let shown: Vec<&CostChange> = match place.changed_costs().count() {
        0 if place.speed().is_some_and(|speed| speed.estimate.verdict.is_difference()) => Vec::new(),
        0 => place.costs.iter().take(COSTS_MAX).collect(),
        _ => place.changed_costs().take(COSTS_MAX).collect(),
    };
    let row = |cost: &&CostChange| {
        let value = |value| cost_value(&cost.metric, value);
        let (name, base, new) = (safe(&cost_name(&cost.metric)), value(cost.base), value(cost.new));
        format!("  {name:<34} {base:>9} {new:>9}  {}", change_text(cost))
    };
    let heading = wrap(&plain(&cost_heading(place)), width);
    [String::new()].into_iter().chain(heading).chain(shown.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn the_answer_reads_on_eighty_columns() {
        let text = comparison(&[compared()], 80, false);
        let lines: Vec<&str> = text.lines().collect();
        let table = lines.iter().position(|line| line.contains("verdict")).expect("there is a table");
        let expected = [
            "                      base      new   ratio  95 %            verdict",
            "postgres oltp      1.01k/s    504/s    0.50  0.49 to 0.51    slower",
            "  p99              1.00 ms  2.10 ms    2.10  2.10 to 2.10    slower",
        ];
        assert_eq!(lines[table..table + 3], expected, "{text}");
        let expected = [
            "postgres oltp is slower. Costs of an op that changed, the most first:",
            "  CPU of the engine                     100 us    250 us  x 2.50 (2.50 to 2.50)",
            "  postgres: blocks_read                      0      3.00  more",
        ];
        assert_eq!(lines[lines.len() - 3..], expected, "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn colour_adds_only_colour_and_no_text_of_a_run_controls_the_terminal() {
        let mut one = compared();
        one.base.run = "a\u{1b}[2J".into();
        let plain = comparison(std::slice::from_ref(&one), 80, false);
        assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
        let coloured = comparison(&[one], 80, true);
        assert_eq!(coloured.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""), plain);
        assert_ne!(coloured, plain);
    }
}
