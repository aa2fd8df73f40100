//! The report of a comparison: what differs, the ratios, the costs that changed, and the arms over each other.
//!
//! In: comparisons and overlays of the same arms. Out: a [`Page`]. Limits: it shows what the comparison found, and judges nothing.

use super::relative::relative_table;
use super::{arm_names, forest, percentiles, sweep, timeline};
use crate::render::html::page_html;
use crate::render::page::{Page, PageBlock, PageSection};
use crate::table::{Column, Row, Table};
use crate::wording::compare::{
    arm_name, change_text, cost_heading, cost_name, cost_value, design_sentence, interval_text, introduction,
    ratio_text,
};
use crate::wording::compared_kinds::{KINDS_HEADING, KindCells, OTHER_RESULTS_HEADING, kind_rows, other_result_rows};
use crate::wording::compared_sweep::answers;
use crate::wording::compared_watches::{WATCHES_HEADING, WatchRow, watch_rows};
use crate::wording::label::settings_label;
use crate::wording::metric::{metric_head, metric_value, verdict_word};
use analysis::compare::{ArmOverlay, CostChange, MetricRatio, PlaceComparison, RunComparison};
use plot::figure::Figure;

pub fn comparison_page(all: &[RunComparison], overlays: &[ArmOverlay]) -> Page {
    let names = arm_names(all);
    let relative = relative_table(all).map(|table| PageSection {
        title: "Relative to the first".to_owned(),
        blocks: vec![PageBlock::Table(table)],
        ..PageSection::default()
    });
    let figures: Vec<Figure> = (1..).zip(all).flat_map(|(nth, one)| sweep::draw(one, nth)).collect();
    let swept = (!figures.is_empty()).then(|| PageSection {
        title: "Throughput and response time".to_owned(),
        blocks: vec![PageBlock::Figures(figures)],
        ..PageSection::default()
    });
    let each = (1..).zip(all).map(|(nth, one)| section(one, nth));
    let mut sections: Vec<PageSection> = swept.into_iter().chain(relative).chain(each).collect();
    let drawn = |draw: fn(&ArmOverlay, usize, &[String]) -> Option<Figure>| -> Vec<Figure> {
        (1..).zip(overlays).filter_map(|(nth, overlay)| draw(overlay, nth, &names)).collect()
    };
    for (title, figures) in
        [("Throughput over time", drawn(timeline::draw)), ("Percentile curves", drawn(percentiles::draw))]
    {
        if !figures.is_empty() {
            sections.push(PageSection {
                title: title.to_owned(),
                blocks: vec![PageBlock::Figures(figures)],
                ..PageSection::default()
            });
        }
    }
    let (base, others) = names.split_first().map_or((String::new(), &[][..]), |(base, others)| (base.clone(), others));
    let headline = format!("{} against {base}", crate::wording::list::join_and(others));
    Page {
        title: "Comparison".to_owned(),
        headline,
        lead: all.iter().flat_map(answers).collect(),
        sections,
        ..Page::default()
    }
}

/// The page as one HTML file that needs nothing else.
pub fn comparison_html(all: &[RunComparison], overlays: &[ArmOverlay]) -> String {
    page_html(&comparison_page(all, overlays))
}

fn section(comparison: &RunComparison, nth: usize) -> PageSection {
    let title = format!("{} against {}", arm_name(&comparison.new), arm_name(&comparison.base));
    let mut blocks = vec![PageBlock::List(introduction(comparison))];
    if let Some(watches) = &comparison.watches {
        blocks.extend(design_sentence(comparison).map(PageBlock::Paragraph));
        let (rows, rest) = watch_rows(watches);
        blocks.extend(listing(WATCHES_HEADING, watch_table(rows), rest));
    } else if !comparison.places.is_empty() {
        blocks.push(PageBlock::Table(ratio_table(comparison)));
        blocks.extend(design_sentence(comparison).map(PageBlock::Paragraph));
        blocks.push(PageBlock::Figures(forest::draw(comparison, nth)));
    }
    let names = [&comparison.base, &comparison.new].map(arm_name);
    for kinds in comparison.kinds() {
        let (rows, rest) = other_result_rows(kinds, &names);
        blocks.extend(listing(OTHER_RESULTS_HEADING, other_results_table(rows), rest));
        let (rows, rest) = kind_rows(kinds);
        blocks.extend(listing(KINDS_HEADING, kind_table(rows), rest));
    }
    for place in comparison.places.iter().filter(|place| !place.costs.is_empty()) {
        blocks.push(PageBlock::Heading(cost_heading(place)));
        blocks.push(PageBlock::Table(cost_table(place)));
    }
    PageSection { title, blocks, ..PageSection::default() }
}

/// A table below its heading, and how many rows it leaves out; nothing without rows.
fn listing(heading: &str, table: Table, rest: usize) -> Vec<PageBlock> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    let text = format!("There are {rest} more; `plimsoll compare --json` has them all.");
    let more = (rest > 0).then_some(PageBlock::Paragraph(text));
    [PageBlock::Heading(heading.to_owned()), PageBlock::Table(table)].into_iter().chain(more).collect()
}

/// The statements of two watches: a row for each figure.
fn watch_table(rows: Vec<WatchRow>) -> Table {
    let figures = |row: WatchRow| {
        let statement = row.statement;
        let figures = row.figures.into_iter();
        figures.map(move |(name, cells)| Row::new(statement.clone(), [name.to_owned()].into_iter().chain(cells)))
    };
    let numbers = ["base", "new", "ratio"].map(Column::number);
    Table {
        label_head: "statement".to_owned(),
        columns: [Column::text("figure")].into_iter().chain(numbers).collect(),
        rows: rows.into_iter().flat_map(figures).collect(),
        ..Table::default()
    }
}

fn ratio_table(comparison: &RunComparison) -> Table {
    let row = |(place, metric): (&PlaceComparison, &MetricRatio)| {
        let (value, estimate) = (|value| metric_value(metric.metric, value), &metric.estimate);
        let cells = [
            metric_head(metric.metric, place.unit),
            verdict_word(metric.metric, estimate.verdict).to_owned(),
            value(metric.base),
            value(metric.new),
            ratio_text(estimate.ratio),
            interval_text(estimate),
            estimate.n.to_string(),
        ];
        Row::new(settings_label(&place.label), cells)
    };
    let texts = ["metric", "verdict"].map(Column::text);
    let numbers = ["base", "new", "ratio", "95 % interval", "pairs"].map(Column::number);
    let columns = texts.into_iter().chain(numbers).collect();
    Table { columns, rows: comparison.ratios().map(row).collect(), ..Table::default() }
}

/// The kinds of statement that answer differently.
fn other_results_table(rows: Vec<(String, String)>) -> Table {
    Table {
        label_head: "kind of statement".to_owned(),
        columns: vec![Column::text("answers")],
        rows: rows.into_iter().map(|(kind, how)| Row::new(kind, [how])).collect(),
        ..Table::default()
    }
}

/// The kinds of statement that differ for sure.
fn kind_table(rows: Vec<KindCells>) -> Table {
    let numbers = ["base", "new", "ratio", "95 % interval"].map(Column::number);
    Table {
        label_head: "kind of statement".to_owned(),
        columns: numbers.into_iter().chain(["verdict", "plan"].map(Column::text)).collect(),
        rows: rows
            .into_iter()
            .map(|row| Row::new(row.kind, row.cells.into_iter().chain([row.plan.unwrap_or_default()])))
            .collect(),
        ..Table::default()
    }
}

/// All costs: those that changed for sure come first.
fn cost_table(place: &PlaceComparison) -> Table {
    let row = |cost: &CostChange| {
        let value = |value| cost_value(&cost.metric, value);
        let sure = if cost.is_shown { "changed" } else { "not for sure" };
        Row::new(cost_name(&cost.metric), [sure.to_owned(), value(cost.base), value(cost.new), change_text(cost)])
    };
    Table {
        label_head: "cost of an op".to_owned(),
        columns: [Column::text("")].into_iter().chain(["base", "new", "change"].map(Column::number)).collect(),
        rows: place.costs.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::markdown::page_markdown;
    use crate::testing::compared;
    use analysis::compare::{ArmCurve, RateBand};
    use model::LatencyCounts;

    fn overlay() -> ArmOverlay {
        let curve = |arm: usize, per_s: f64, repeats: usize| {
            let rate = |nth: usize| {
                let median_per_s = per_s * (1.0 + 0.02 * (nth as f64).sin());
                RateBand {
                    at_s: nth as f64 + 0.5,
                    median_per_s,
                    band_per_s: [0.95 * median_per_s, 1.05 * median_per_s],
                }
            };
            let mut response = LatencyCounts::default();
            (1..=10_000u64).for_each(|nth| response.record(nth * (1e6 / per_s) as u64));
            ArmCurve { arm, repeats, rates: (0..30).map(rate).collect(), response: response.take() }
        };
        ArmOverlay { label: compared().places[0].label.clone(), arms: vec![curve(0, 1_000.0, 4), curve(1, 500.0, 1)] }
    }

    #[test]
    fn the_report_has_the_ratios_the_costs_and_the_arms_over_each_other() {
        let page = comparison_page(&[compared()], &[overlay()]);
        assert_eq!(page.headline, "new against old");
        assert_eq!(page.lead, ["postgres oltp: new is 50 % slower than old (49 to 51 %)."]);
        let ids: Vec<&str> = page.figures().map(|figure| figure.id.as_str()).collect();
        let expected = ["ratios-01-01-new", "overlay-rate-01-postgres-oltp", "overlay-percentiles-01-postgres-oltp"];
        assert_eq!(ids, expected);
        for figure in page.figures() {
            let svg = plot::render_svg(figure);
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{}", figure.id);
        }
        let (html, markdown) = (page_html(&page), page_markdown(&page));
        for text in [&html, &markdown] {
            assert!(text.contains("CPU of the engine") && text.contains("0.49 to 0.51"), "{text}");
        }
    }

    #[test]
    fn an_arm_has_one_colour_and_a_band_only_over_repeats() {
        let names = ["old".to_owned(), "new".to_owned()];
        let figure = timeline::draw(&overlay(), 1, &names).unwrap();
        let [panel] = crate::testing::panels(&figure) else { panic!("one panel") };
        let marks: Vec<usize> = panel.series.iter().map(|series| series.marks.len()).collect();
        assert_eq!((marks, panel.series[3].label.as_str()), (vec![1, 0, 1, 1], "new"), "bands below, lines above");
        let curves = percentiles::draw(&overlay(), 1, &names).unwrap();
        let [other] = crate::testing::panels(&curves) else { panic!("one panel") };
        let colours = |panel: &plot::figure::Panel| panel.series.iter().map(|one| one.style).collect::<Vec<_>>();
        assert_eq!(colours(panel)[2..], colours(other));
        assert_eq!(colours(panel)[..2], colours(panel)[2..]);
        assert!(colours(panel)[0] != colours(panel)[1] && figure.caption.starts_with("4 and 1 repeats."));
    }
}
