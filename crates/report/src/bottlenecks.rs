//! The table "What limits each point": its bottleneck, how sure that is, and what was ruled out.
//!
//! In: an analysis. Out: rows of text cells for the terminal and the documents. Limits: points without a judgement (failed, or of the
//! scripted engine) have no row.

use crate::wording::finding::bottleneck::{cause_words, placed_cause_name, ruled_out_figure, ruled_out_words};
use crate::wording::label::{point_label, point_phrases};
use analysis::evidence::cause::{Bottlenecks, RuledOut};
use analysis::{Analysis, PointAnalysis};
use serde::Serialize;

/// The heading of the table.
pub const TITLE: &str = "What limits each point";
/// The heads of its columns in the documents.
pub const HEADS: [&str; 5] = ["point", "bottleneck", "how sure", "evidence and next step", "ruled out"];
/// What its cells mean.
pub const LEGEND: &str = "sure: a second counter agrees, or the figure leaves no other reading. likely: the resource was used up. possible: a sign of it. \
    Two causes may share a point. ruled out: how much of each resource was used, or how much of the time was lost to it, and the figure from \
    which on it would be named; the nearest to that is first. A resource without a counter is not in the list.";

/// A point and what limits it.
#[derive(Serialize)]
pub struct BottleneckRow {
    /// The label of the point.
    pub label: String,
    /// The phrases of the label.
    #[serde(skip)]
    pub phrases: Vec<String>,
    /// `disk and commits`
    pub names: String,
    /// `sure`, `likely` or `possible`; empty for no bottleneck or an unclear one.
    pub confidence: &'static str,
    /// The figures of the causes, and what to do next.
    pub evidence: String,
    /// What was ruled out, the nearest to its limit first, with the figure from which on each is named.
    pub ruled_out: String,
    /// The same without that figure, one text each.
    #[serde(skip)]
    pub figures: Vec<String>,
}

/// The rows of `analysis`.
pub fn bottleneck_rows(analysis: &Analysis) -> Vec<BottleneckRow> {
    analysis.points.iter().filter_map(|point| row_of(point, point.bottlenecks.as_ref()?)).collect()
}

fn row_of(point: &PointAnalysis, found: &Bottlenecks) -> Option<BottleneckRow> {
    let first = found.causes.first()?;
    let names: Vec<String> = found.causes.iter().map(placed_cause_name).collect();
    let nearest = nearest_first(found);
    let each = |words: fn(&RuledOut) -> String| nearest.iter().map(words).collect::<Vec<_>>();
    Some(BottleneckRow {
        label: point_label(point),
        phrases: point_phrases(point),
        names: names.join(" and "),
        confidence: if first.limit().is_cause() { first.confidence.as_str() } else { "" },
        evidence: evidence(found),
        ruled_out: each(ruled_out_words).join(", "),
        figures: each(ruled_out_figure),
    })
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
