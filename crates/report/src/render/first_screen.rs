//! The first screen of the HTML report: what was measured on what, the answer in a few sentences, how far to trust it, and the comparison.
//!
//! In: an analysis, and its rows (repeats taken together). Out: a [`FirstScreen`] for the template. Limits: sentences that have no room
//! are listed behind the comparison, so that none is lost.

use crate::overview::{Overview, OverviewCell, OverviewRow, overviews};
use crate::palette::Palette;
use crate::sheet::measured_on;
use crate::wording::verdict::VerdictText;
use analysis::math::ratio::RatioVerdict;
use analysis::{Analysis, PointAnalysis, Validity};
use serde::Serialize;

/// The most sentences about how much was reached, behind the first: the table has the rest.
const AMOUNTS_MAX: usize = 1;
/// The most sentences about what the values of a setting do.
const COMPARED_MAX: usize = 2;
/// The most sentences about what must not be compared or is missing.
const CAUTIONS_MAX: usize = 3;

/// The first screen.
#[derive(Serialize)]
pub struct FirstScreen {
    /// Engines with their versions, and the machine.
    subject: String,
    headline: String,
    /// How steadily, and what limits it.
    lead: Vec<String>,
    cautions: Vec<String>,
    badges: Vec<Badge>,
    trust: String,
    tables: Vec<OverviewView>,
    /// What colours and words of the tables mean.
    legend: String,
    /// The other sentences of the verdict.
    more: Vec<String>,
}

/// How many points have one validity.
#[derive(Serialize)]
struct Badge {
    word: &'static str,
    count: usize,
}

#[derive(Serialize)]
struct OverviewView {
    title: String,
    base: String,
    heads: Vec<String>,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    name: String,
    /// A sample of its colour in the charts.
    swatch: Option<String>,
    cells: Vec<Option<CellView>>,
}

#[derive(Serialize)]
struct CellView {
    value: f64,
    text: String,
    half_width: String,
    ratio: String,
    note: String,
    /// What colours it: `b3`, `w1`, `invalid`.
    class: String,
}

impl FirstScreen {
    /// That of `analysis`, whose repeats are taken together in `rows`.
    pub fn new(analysis: &Analysis, rows: &Analysis) -> FirstScreen {
        let text = VerdictText::from_analysis(analysis);
        let trust = text.trust.concat();
        let placed = place(text, is_concluded(analysis));
        let tables = overviews(rows, &Palette::new(analysis));
        FirstScreen {
            subject: measured_on(analysis),
            headline: placed.headline,
            lead: placed.lead,
            cautions: placed.cautions,
            badges: badges(&analysis.points),
            trust,
            legend: legend(&tables),
            tables: tables.into_iter().map(table_view).collect(),
            more: placed.more,
        }
    }
}

/// Whether some difference was shown, or shown to be none.
fn is_concluded(analysis: &Analysis) -> bool {
    let cells = analysis.verdict.relative.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    cells.flatten().any(|cell| cell.ratio.verdict != RatioVerdict::Indicative)
}

/// The sentences of the verdict but those about trust, by where they are.
struct PlacedText {
    headline: String,
    lead: Vec<String>,
    cautions: Vec<String>,
    more: Vec<String>,
}

fn place(mut text: VerdictText, is_concluded: bool) -> PlacedText {
    let amounts = if text.how_much.is_empty() { &mut text.compared } else { &mut text.how_much };
    let headline = if amounts.is_empty() { "Nothing was measured.".to_owned() } else { amounts.remove(0) };
    let mut more = Vec::new();
    let mut lead = taken(text.how_much, AMOUNTS_MAX, &mut more);
    lead.extend(taken(text.compared, if is_concluded { COMPARED_MAX } else { 0 }, &mut more));
    lead.extend(taken(text.steadiness, 1, &mut more));
    lead.extend(taken(text.bottleneck, 1, &mut more));
    more.extend(text.ruled_out);
    let cautions = taken(text.cautions, CAUTIONS_MAX, &mut more);
    PlacedText { headline, lead, cautions, more }
}

/// The first sentences of `all`; the others go to `rest`.
fn taken(mut all: Vec<String>, most: usize, rest: &mut Vec<String>) -> Vec<String> {
    rest.extend(all.split_off(all.len().min(most)));
    all
}

/// The gravest first.
fn badges(points: &[PointAnalysis]) -> Vec<Badge> {
    let count = |v: Validity| Badge { word: v.as_str(), count: points.iter().filter(|p| p.validity == v).count() };
    [Validity::Invalid, Validity::Indicative, Validity::Valid].map(count).into_iter().filter(|b| b.count > 0).collect()
}

/// What the cells mean that are there.
fn legend(tables: &[Overview]) -> String {
    let cells = || tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells).flatten();
    let notes = [
        (cells().any(|cell| cell.tone != 0), "Green: better than the base; red: worse; the stronger, the more."),
        (cells().any(|cell| !cell.half_width.is_empty()), "±: half of the 95 % confidence interval, if above 5 %."),
        (cells().any(|cell| cell.is_indicative), "Dotted: indicative only; the findings have the reason."),
        (cells().any(|cell| cell.is_invalid), "Struck out: invalid; the findings have the reason."),
    ];
    let shown = notes.iter().filter(|(is_there, _)| *is_there).map(|(_, words)| *words);
    shown.collect::<Vec<_>>().join(" ")
}

fn table_view(table: Overview) -> OverviewView {
    let Overview { title, base, heads, rows } = table;
    OverviewView { title, base, heads, rows: rows.into_iter().map(row_view).collect() }
}

fn row_view(row: OverviewRow) -> RowView {
    let cells = row.cells.into_iter().map(|cell| cell.map(cell_view));
    RowView { name: row.name, swatch: row.style.map(plot::render_swatch), cells: cells.collect() }
}

fn cell_view(cell: OverviewCell) -> CellView {
    let mut class = match cell.tone {
        _ if cell.is_invalid => "invalid".to_owned(),
        0 => String::new(),
        tone if tone > 0 => format!("b{tone}"),
        tone => format!("w{}", -tone),
    };
    if cell.is_indicative {
        class = format!("indicative {class}").trim_end().to_owned();
    }
    let OverviewCell { value, text, half_width, ratio, note, .. } = cell;
    CellView { value, text, half_width, ratio, note, class }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_verdict};
    use crate::wording::verdict::sentences;
    use analysis::RepeatRows;
    use std::collections::BTreeSet;

    fn screen(analysis: &Analysis) -> FirstScreen {
        FirstScreen::new(analysis, &RepeatRows::from_analysis(analysis).analysis)
    }

    #[test]
    fn a_number_that_is_only_a_hint_is_marked_and_the_mark_is_explained() {
        let mut analysis = quick();
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Indicative);
        let hints = screen(&analysis);
        let classes = |screen: &FirstScreen| -> Vec<String> {
            let rows = screen.tables.iter().flat_map(|table| &table.rows);
            rows.flat_map(|row| row.cells.iter().flatten()).map(|cell| cell.class.clone()).collect()
        };
        assert!(classes(&hints).iter().all(|class| class.starts_with("indicative")), "{:?}", classes(&hints));
        assert!(hints.legend.contains("Dotted: indicative"), "{}", hints.legend);
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Valid);
        let valid = screen(&analysis);
        assert!(!valid.legend.contains("Dotted") && classes(&valid).iter().all(|class| !class.contains("indicative")));
    }

    #[test]
    fn no_sentence_of_the_verdict_is_lost_and_few_are_in_the_lead() {
        let analysis = with_verdict(quick());
        let screen = screen(&analysis);
        let rest = [screen.lead.as_slice(), &screen.cautions, &screen.more].concat();
        let shown: BTreeSet<String> = rest.into_iter().chain([screen.headline.clone(), screen.trust.clone()]).collect();
        assert_eq!(shown, sentences(&analysis).into_iter().collect());
        assert!(screen.lead.len() <= AMOUNTS_MAX + COMPARED_MAX + 2);
        assert!(screen.badges[0].word == "invalid", "the gravest comes first");
    }

    #[test]
    fn a_run_without_points_has_a_headline_all_the_same() {
        let mut analysis = quick();
        analysis.points.clear();
        let screen = screen(&with_verdict(analysis));
        assert!(!screen.headline.is_empty() && screen.tables.is_empty());
    }
}
