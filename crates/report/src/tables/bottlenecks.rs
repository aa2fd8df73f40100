//! What limits each point: its bottleneck, how sure that is, and what was ruled out. Points without a judgement (failed, or of the scripted
//! engine) have no row.

use crate::table::TableDef;
use crate::table::{Cell, Column, Row, Table};
use crate::wording::finding::bottleneck::{cause_words, placed_cause_name, ruled_out_figure, ruled_out_words};
use crate::wording::label::point_phrases;
use analysis::evidence::cause::{Bottlenecks, RuledOut};
use analysis::{Analysis, PointAnalysis};

pub const TABLE: TableDef = TableDef {
    id: "bottlenecks",
    title: "Evidence of limits",
    is_open: false,
    in_narrow: true,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const LEGEND: &str = "sure: a second counter agrees, or the figure leaves no other reading. likely: the resource was used up. possible: a sign of it. \
    Two causes may share a point. ruled out: how much of each resource was used, or how much of the time was lost to it, and the figure from \
    which on it would be named; the nearest to that is first. A resource without a counter is not in the list.";

/// A terminal has as much of what was ruled out as fits.
const RULED_OUT: usize = 30;

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows: Vec<Row> =
        analysis.points.iter().filter_map(|point| row_of(point, point.bottlenecks.as_ref()?)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    vec![Table {
        legend: LEGEND.to_owned(),
        short_label_head: Some("what limits it"),
        columns: vec![
            Column::text("bottleneck"),
            Column::text("how sure"),
            Column::text("evidence and next step").documents_only(),
            Column::text("ruled out (used)").long_head("ruled out").least_width(RULED_OUT),
        ],
        rows,
        most_rows: 20,
        ..Table::default()
    }]
}

fn row_of(point: &PointAnalysis, found: &Bottlenecks) -> Option<Row> {
    let first = found.causes.first()?;
    let names: Vec<String> = found.causes.iter().map(placed_cause_name).collect();
    let nearest = nearest_first(found);
    let ruled_out: Vec<String> = nearest.iter().map(ruled_out_words).collect();
    let figures: Vec<String> = nearest.iter().map(ruled_out_figure).collect();
    // Of no bottleneck or an unclear one nothing is sure.
    let confidence = if first.limit().is_cause() { first.confidence.as_str() } else { "" };
    let cells: [Cell; 4] = [
        names.join(" and ").into(),
        confidence.into(),
        evidence(found).into(),
        Cell::from(ruled_out.join(", ")).short(fitted(&figures, RULED_OUT)),
    ];
    Some(Row::of_phrases(point_phrases(point), cells))
}

/// As many of `texts` as fit into `width`, with commas.
fn fitted(texts: &[String], width: usize) -> String {
    let mut line = String::new();
    for text in texts {
        let next = if line.is_empty() { text.clone() } else { format!("{line}, {text}") };
        if next.chars().count() > width {
            break;
        }
        line = next;
    }
    line
}

/// The figures of each cause, with what to do next.
fn evidence(found: &Bottlenecks) -> String {
    let causes = found.causes.iter().map(|cause| match cause.next.sentence() {
        step if step.is_empty() => format!("{}.", cause_words(cause)),
        step => format!("{}. Next: {step}.", cause_words(cause)),
    });
    causes.collect::<Vec<_>>().join(" ")
}

/// What was ruled out, the nearest to its limit first.
fn nearest_first(found: &Bottlenecks) -> Vec<RuledOut> {
    let mut all = found.ruled_out.clone();
    all.sort_by(|a, b| b.nearness().total_cmp(&a.nearness()));
    all
}
