//! What limits each point: its bottleneck, how sure that is, and what was ruled out. Points without a judgement (failed, or of the scripted
//! engine) have no row.

use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, Row, Table};
use crate::wording::finding::bottleneck::{cause_words, placed_cause_name, ruled_out_figure, ruled_out_words};
use crate::wording::label::point_phrases;
use analysis::Analysis;
use analysis::evidence::cause::{Bottlenecks, RuledOut};

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

type LimitColumn = ColumnOf<'static, Bottlenecks>;

fn tables(analysis: &Analysis) -> Vec<Table> {
    let columns = vec![
        LimitColumn::new(Column::text("bottleneck"), |found| {
            found.causes.iter().map(placed_cause_name).collect::<Vec<_>>().join(" and ")
        }),
        // Of no bottleneck or an unclear one nothing is sure.
        LimitColumn::new(Column::text("how sure"), |found| {
            let first = &found.causes[0];
            if first.limit().is_cause() { first.confidence.as_str() } else { "" }
        }),
        LimitColumn::new(Column::text("evidence and next step").documents_only(), evidence),
        LimitColumn::new(Column::text("ruled out (used)").long_head("ruled out").least_width(RULED_OUT), ruled_out),
    ];
    let judged = analysis.points.iter().filter_map(|point| Some((point, point.bottlenecks.as_ref()?)));
    let caused = judged.filter(|(_, found)| !found.causes.is_empty());
    let rows = caused.map(|(point, found)| (Row::labelled(point_phrases(point)), found));
    let short_label_head = Some("what limits it");
    Table { legend: LEGEND.to_owned(), short_label_head, most_rows: 20, ..Table::of(columns, rows) }.if_any()
}

fn ruled_out(found: &Bottlenecks) -> Cell {
    let nearest = nearest_first(found);
    let words: Vec<String> = nearest.iter().map(ruled_out_words).collect();
    let figures: Vec<String> = nearest.iter().map(ruled_out_figure).collect();
    Cell::from(words.join(", ")).short(fitted(&figures, RULED_OUT))
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
