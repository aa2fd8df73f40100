//! A comparison on half a screen, for a pull request: the verdict, the lines that differ, and how far to trust them.
//!
//! In: comparisons. Out: a [`Page`], which as Markdown has fewer than 40 lines. Limits: what shows no difference, costs and pictures are in the
//! report; if there are too many lines, it has the first and the number of the others.

use super::arm_names;
use crate::render::markdown::page_markdown;
use crate::render::page::{Page, PageBlock, PageSection};
use crate::table::{Column, Row, Table};
use crate::wording::compare::{arm_name, design_sentence, interval_text, introduction, place_name, ratio_text};
use crate::wording::compared_kinds::{KindCells, kind_rows, other_result_rows};
use crate::wording::compared_sweep::answers;
use crate::wording::compared_watches::{WatchRow, watch_rows};
use crate::wording::metric::{metric_head, metric_value, verdict_word};
use analysis::RatioVerdict;
use analysis::compare::{MetricRatio, PlaceComparison, RunComparison};
use words::list::join_and;

// Headings, empty lines, the head of the table and the note below it take twelve more.
const SENTENCES_MAX: usize = 6;
const ROWS_MAX: usize = 14;
const TRUST_MAX: usize = 6;

/// The summary as Markdown.
pub fn comparison_summary(all: &[RunComparison]) -> String {
    page_markdown(&summary_page(all))
}

fn summary_page(all: &[RunComparison]) -> Page {
    let names = arm_names(all);
    let (base, others) = names.split_first().map_or((String::new(), &[][..]), |(base, others)| (base.clone(), others));
    let trust = all.iter().flat_map(|one| introduction(one).into_iter().chain(design_sentence(one))).collect();
    let section = |title: &str, blocks| PageSection { title: title.to_owned(), blocks, ..PageSection::default() };
    Page {
        headline: format!("{} against {base}", join_and(others)),
        lead: first_of(all.iter().flat_map(answers).collect(), SENTENCES_MAX, "sentence"),
        sections: vec![
            section("What differs", vec![differing(all)]),
            section("How far to trust it", vec![PageBlock::List(first_of(trust, TRUST_MAX, "remark"))]),
        ],
        ..Page::default()
    }
}

/// The first `most` of `all`; if there are more, the last place has how many.
fn first_of(mut all: Vec<String>, most: usize, noun: &str) -> Vec<String> {
    if all.len() > most {
        let left_out = all.len() - (most - 1);
        all.truncate(most - 1);
        all.push(format!("`plimsoll compare` has {left_out} more {noun}s."));
    }
    all
}

/// The ratios that show a difference, and the kinds of statement that do; of a comparison with too few pairs the speeds, for what they are worth.
fn differing(all: &[RunComparison]) -> PageBlock {
    let is_told = |metric: &MetricRatio| {
        let verdict = metric.estimate.verdict;
        verdict.is_difference() || verdict == RatioVerdict::Indicative && metric.metric.is_speed()
    };
    let mut rows = Vec::new();
    for one in all {
        let arm = if all.len() > 1 { format!("{}: ", arm_name(&one.new)) } else { String::new() };
        if let Some(watches) = &one.watches {
            rows.extend(
                watch_rows(watches).0.into_iter().filter(|row| row.is_telling).flat_map(|row| watch_row(&arm, row)),
            );
            continue;
        }
        let ratios = one.ratios().filter(|(_, metric)| is_told(metric));
        rows.extend(ratios.map(|(place, metric)| ratio_row(&arm, place, metric)));
        let names = [&one.base, &one.new].map(arm_name);
        let others = one.kinds().flat_map(|kinds| other_result_rows(kinds, &names).0);
        rows.extend(others.map(|(kind, how)| {
            let dash = || "-".to_owned();
            Row::new(format!("{arm}{kind}"), [dash(), dash(), dash(), dash(), how])
        }));
        let kinds = one.kinds().flat_map(|kinds| kind_rows(kinds).0);
        rows.extend(kinds.map(|kind| kind_row(&arm, kind)));
    }
    if rows.is_empty() {
        return PageBlock::Paragraph("No line shows a difference.".to_owned());
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let note = format!("{left_out} more lines differ; `plimsoll compare --json` has them all.");
    let numbers = ["base", "new", "ratio", "95 % interval"].map(Column::number);
    PageBlock::Table(Table {
        columns: numbers.into_iter().chain([Column::text("verdict")]).collect(),
        rows,
        notes: if left_out > 0 { vec![note] } else { Vec::new() },
        ..Table::default()
    })
}

fn ratio_row(arm: &str, place: &PlaceComparison, metric: &MetricRatio) -> Row {
    let (value, estimate) = (|value| metric_value(metric.metric, value), &metric.estimate);
    let name =
        Some(place_name(place)).filter(|name| !name.is_empty()).map_or(String::new(), |name| format!("{name}, "));
    let cells = [
        value(metric.base),
        value(metric.new),
        ratio_text(estimate.ratio),
        interval_text(estimate),
        verdict_word(metric.metric, estimate.verdict).to_owned(),
    ];
    Row::new(format!("{arm}{name}{}", metric_head(metric.metric, place.unit)), cells)
}

/// The time of a statement, and what else is known of it.
fn watch_row(arm: &str, row: WatchRow) -> Vec<Row> {
    let WatchRow { statement, figures, .. } = row;
    let row = |(name, [base, new, ratio]): (&str, [String; 3])| {
        Row::new(format!("{arm}{statement}, {name}"), [base, new, ratio, "-".to_owned(), "one sample".to_owned()])
    };
    figures.into_iter().map(row).collect()
}

/// The sentences above have the plans of the slowest.
fn kind_row(arm: &str, kind: KindCells) -> Row {
    let [base, new, ratio, interval, verdict] = kind.cells;
    let verdict = if kind.plan_word.is_empty() { verdict } else { format!("{verdict}, {}", kind.plan_word) };
    Row::new(format!("{arm}{}", kind.kind), [base, new, ratio, interval, verdict])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn the_verdict_comes_first_then_what_differs_with_its_interval_and_then_the_trust() {
        let text = comparison_summary(&[compared()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "# new against old");
        assert!(lines[2].contains("new is 50 % slower than old"), "{text}");
        let rows: Vec<&&str> = lines.iter().filter(|line| line.starts_with("| postgres oltp")).collect();
        assert_eq!(rows.len(), 2, "p50 shows no difference: {text}");
        assert!(rows[0].contains("0.49 to 0.51") && rows[0].contains("slower"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("50 % slower") < at("## What differs") && at("## What differs") < at("## How far to trust it"));
        assert!(at("## How far to trust it") < at("not measured in turn"), "{text}");
    }

    #[test]
    fn however_much_differs_it_fits_a_comment() {
        let mut one = compared();
        one.places = vec![one.places[0].clone(); 30];
        let many = vec![one; 5];
        let text = comparison_summary(&many);
        assert!(text.lines().count() < 40, "{} lines: {text}", text.lines().count());
        assert!(text.contains("more lines differ"), "{text}");
        let mut alike = compared();
        alike.places[0].metrics.iter_mut().for_each(|one| one.estimate.verdict = RatioVerdict::NoDifferenceShown);
        assert!(comparison_summary(&[alike]).contains("No line shows a difference."));
    }
}
