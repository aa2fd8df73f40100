//! The page of several runs: which is faster, by how much, how sure, what must not be compared; then each run, the ratios, the pictures, and how
//! to repeat it.
//!
//! In: a [`Publication`]. Out: a [`Page`]. Limits: it shows what the comparison found, and judges nothing. A place that only one run has is on
//! the page of that run.

use super::data_csv::main_metric;
use super::{Publication, run_page};
use crate::format;
use crate::overlay::comparison_page;
use crate::overview::tone_of;
use crate::render::matrix::{Matrix, MatrixCell, MatrixRow};
use crate::render::page::{Page, PageBlock, PageFact, PageLink, PageSection};
use crate::repeat::{self, RepeatGuide};
use crate::sheet::measured_on;
use crate::wording::compare::{interval_text, ratio_text};
use crate::wording::label::settings_label;
use crate::wording::metric::{metric_head, metric_value, verdict_word};
use crate::wording::published::{headline, run_warning, sentence, warnings};
use crate::wording::quantity::plural;
use analysis::compare::{MetricRatio, PlaceComparison};
use analysis::points::metric::{MeasuredValue, Metric};
use analysis::{PointAnalysis, RepeatRows, Validity};
use plot::figure::{BarColumn, Figure, FigureBody, SeriesStyle};

/// The most places next to each other in a table, and in a picture.
const COLUMNS_MAX: usize = 6;
const BARS_MAX: usize = 4;
/// Narrower intervals are not shown next to a value.
const HALF_WIDTH_MIN: f64 = 0.005;

const LEGEND: &str = "Below each value: its ratio to the first run, with the 95 % confidence interval, and what that shows. Green: better; red: \
                      worse; only a difference that is shown has a colour. ±: half of the 95 % confidence interval of the value itself. Struck out: \
                      invalid.";

pub fn published_page(publication: &Publication) -> Page {
    let places = places(publication);
    let figures = bars(publication, &places);
    let (first, others) = figures.split_at(figures.len().min(1));
    let mut opening = cautions(publication);
    if !places.is_empty() {
        opening.push(PageBlock::Matrix(matrices(publication, &places)));
        opening.push(PageBlock::Paragraph(LEGEND.to_owned()));
        opening.push(PageBlock::Figures(first.to_vec()));
    }
    let mut sections = vec![each_run(publication)];
    if !others.is_empty() {
        sections.push(section("Each point", vec![PageBlock::Figures(others.to_vec())]));
    }
    sections.extend(comparison_page(publication.all, publication.overlays).sections);
    sections.extend([repeating(publication), files()]);
    let lead = if publication.all.len() > 1 { publication.all.iter().map(sentence).collect() } else { Vec::new() };
    let title = format!("{} compared", plural(publication.runs.len() as u64, "run"));
    Page { title, headline: headline(publication.all), lead, opening, sections, ..Page::default() }
}

fn section(title: &str, blocks: Vec<PageBlock>) -> PageSection {
    PageSection { title: title.to_owned(), blocks, ..PageSection::default() }
}

fn cautions(publication: &Publication) -> Vec<PageBlock> {
    let runs = publication.runs.iter().zip(&publication.names);
    let of_runs = runs.filter_map(|(run, name)| run_warning(name, run.analysis));
    warnings(publication.all).into_iter().chain(of_runs).map(PageBlock::Caution).collect()
}

/// A place that at least two runs have: what each run did there, with its ratio to the first.
struct ComparedPlace<'a> {
    head: String,
    cells: Vec<Option<PlaceCell<'a>>>,
}

/// What one run did at a place.
struct PlaceCell<'a> {
    metric: Metric,
    measured: MeasuredValue,
    is_invalid: bool,
    /// Its ratio to the first run, of which it is not.
    ratio: Option<&'a MetricRatio>,
}

impl<'a> PlaceCell<'a> {
    fn new(point: &PointAnalysis, ratio: Option<&'a MetricRatio>) -> Option<PlaceCell<'a>> {
        let metric = main_metric(point)?;
        let (measured, is_invalid) = (metric.value(point)?, point.validity == Validity::Invalid);
        Some(PlaceCell { metric, measured, is_invalid, ratio })
    }
}

/// The places of the first run that another one has, too, in its order.
fn places<'a>(publication: &Publication<'a>) -> Vec<ComparedPlace<'a>> {
    let rows: Vec<RepeatRows> = publication.runs.iter().map(|run| RepeatRows::from_analysis(run.analysis)).collect();
    let [base, others @ ..] = rows.as_slice() else { return Vec::new() };
    let of_base = base.analysis.points.iter();
    of_base.filter_map(|point| compared_place(publication, point, others)).collect()
}

fn compared_place<'a>(
    publication: &Publication<'a>,
    base: &PointAnalysis,
    others: &[RepeatRows],
) -> Option<ComparedPlace<'a>> {
    let is_place = |place: &&PlaceComparison| place.points[0].contains(&base.id) && place.speed().is_some();
    let found: Vec<Option<&'a PlaceComparison>> =
        publication.all.iter().map(|one| one.places.iter().find(is_place)).collect();
    let first = found.iter().flatten().next()?;
    let of_other = found.iter().zip(others).map(|(place, rows)| {
        let place = (*place)?;
        let point = rows.analysis.points.iter().find(|point| place.points[1].contains(&point.id))?;
        PlaceCell::new(point, place.speed())
    });
    let label = settings_label(&first.label);
    let metric = first.speed().map(|speed| metric_head(speed.metric, first.unit)).unwrap_or_default();
    let head = if label.is_empty() { metric } else { label };
    Some(ComparedPlace { head, cells: [PlaceCell::new(base, None)].into_iter().chain(of_other).collect() })
}

/// Tables of at most [`COLUMNS_MAX`] places.
fn matrices(publication: &Publication, places: &[ComparedPlace]) -> Vec<Matrix> {
    let table = |(nth, places): (usize, &[ComparedPlace])| Matrix {
        base: String::new(),
        corner: String::new(),
        title: if nth == 0 { format!("Relative to {}", publication.names[0]) } else { String::new() },
        heads: places.iter().map(|place| place.head.clone()).collect(),
        rows: (0..publication.runs.len()).map(|run| matrix_row(publication, places, run)).collect(),
    };
    places.chunks(COLUMNS_MAX).enumerate().map(table).collect()
}

fn matrix_row(publication: &Publication, places: &[ComparedPlace], run: usize) -> MatrixRow {
    let cell = |place: &ComparedPlace| place.cells.get(run)?.as_ref().map(matrix_cell);
    MatrixRow {
        name: publication.names[run].clone(),
        style: Some(SeriesStyle::nth(run)),
        cells: places.iter().map(cell).collect(),
    }
}

/// The ratio and what it shows are in words; the colour repeats them.
fn matrix_cell(cell: &PlaceCell) -> MatrixCell {
    let PlaceCell { metric, measured, is_invalid, ratio } = *cell;
    let notes = ratio.map(|ratio| {
        let interval =
            ratio.estimate.ci95.map(|_| format!(" ({})", interval_text(&ratio.estimate))).unwrap_or_default();
        vec![
            format!("{}{interval}", ratio_text(ratio.estimate.ratio)),
            verdict_word(ratio.metric, ratio.estimate.verdict).to_owned(),
        ]
    });
    let shown = ratio.filter(|ratio| ratio.estimate.verdict.is_difference());
    let tone = shown.map_or(0, |ratio| tone_of(ratio.estimate.ratio, metric));
    let is_wide = |ci95: [f64; 2]| (ci95[1] - ci95[0]) / 2.0 >= HALF_WIDTH_MIN * measured.value;
    MatrixCell {
        value: measured.value,
        text: metric_value(metric, measured.value),
        half_width: measured
            .ci95
            .filter(|ci95| is_wide(*ci95))
            .map_or(String::new(), |ci95| format::half_width(measured.value, Some(ci95))),
        notes: notes.unwrap_or_default(),
        tone,
        is_invalid,
        is_indicative: false,
    }
}

/// What each run did at each place, as bars in the colours of the runs.
fn bars(publication: &Publication, places: &[ComparedPlace]) -> Vec<Figure> {
    let rows =
        || publication.names.iter().enumerate().map(|(nth, name)| (name.clone(), SeriesStyle::nth(nth))).collect();
    let column = |place: &ComparedPlace| BarColumn {
        label: place.head.clone(),
        values: place.cells.iter().map(|cell| cell.as_ref().map(bar)).collect(),
    };
    let parts = places.len().div_ceil(BARS_MAX);
    let figure = |(nth, places): (usize, &[ComparedPlace])| Figure {
        id: format!("runs-{:02}", nth + 1),
        title: if parts > 1 { format!("Each run, part {} of {parts}", nth + 1) } else { "Each run".to_owned() },
        conditions: String::new(),
        caption: "Each column has its own scale from 0. Of a rate more is better, of a duration less.".to_owned(),
        body: FigureBody::Bars { rows: rows(), columns: places.iter().map(column).collect() },
    };
    places.chunks(BARS_MAX).enumerate().map(figure).collect()
}

fn bar(cell: &PlaceCell) -> (f64, String) {
    (cell.measured.value, metric_value(cell.metric, cell.measured.value))
}

/// What each run is, how far it can be trusted, and where its own report is.
fn each_run(publication: &Publication) -> PageSection {
    let mut blocks = Vec::new();
    for (nth, (run, name)) in publication.runs.iter().zip(&publication.names).enumerate() {
        let points = &run.analysis.points;
        let count = |validity| points.iter().filter(|point| point.validity == validity).count();
        let [valid, indicative, invalid] = [Validity::Valid, Validity::Indicative, Validity::Invalid].map(count);
        blocks.push(PageBlock::Heading(name.clone()));
        blocks.push(PageBlock::Paragraph(analysis::answer(run.analysis).headline().to_owned()));
        blocks.push(PageBlock::Facts(vec![
            PageFact::new("run", run.file),
            PageFact::new("plan", &run.analysis.meta.plan.title),
            PageFact::new("measured", format::utc(run.analysis.meta.started_unix_ms)),
            PageFact::new("on", measured_on(run.analysis)),
            PageFact::new("points", format!("{valid} valid, {indicative} indicative, {invalid} invalid")),
        ]));
        blocks
            .push(PageBlock::Links(vec![PageLink { text: format!("The report of {name}"), file: run_page(nth, run) }]));
    }
    section("The runs", blocks)
}

fn repeating(publication: &Publication) -> PageSection {
    let mut blocks = Vec::new();
    for (run, name) in publication.runs.iter().zip(&publication.names) {
        blocks.push(PageBlock::Heading(name.clone()));
        blocks.extend(RepeatGuide::from_analysis(run.analysis).blocks());
    }
    section(repeat::TITLE, blocks)
}

fn files() -> PageSection {
    let link = |text: &str, file: &str| PageLink { text: text.to_owned(), file: file.to_owned() };
    let links = vec![
        link("data.csv: each run and point with its value, its interval and its ratio", "data.csv"),
        link("tables.md: this page and the reports of the runs as Markdown", "tables.md"),
    ];
    let charts = "The pictures are in `charts/`, as SVG and PNG.".to_owned();
    section("Files", vec![PageBlock::Links(links), PageBlock::Paragraph(charts)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::tests::{old_and_new, publication};
    use crate::render::html::page_html;
    use crate::render::markdown::page_markdown;

    #[test]
    fn the_first_screen_has_the_answer_what_is_doubtful_and_a_row_for_each_run() {
        let (runs, all) = old_and_new();
        let page = published_page(&publication(&runs, &all));
        assert!(page.headline.ends_with("it is slower."), "{}", page.headline);
        let html = page_html(&page);
        let header = html.split("</header>").next().unwrap();
        assert!(header.contains("class=\"caution\"") && header.contains("not measured in turn"), "{header}");
        let table = header.split("<table class=\"cmp\">").nth(1).unwrap();
        assert_eq!(table.matches("<tr><th><svg class=\"swatch\"").count(), 2);
        assert!(
            table.contains("slower</i>") && table.contains(" w") && header.contains("id=\"figure-runs-01\""),
            "{table}"
        );
        let markdown = page_markdown(&page);
        assert!(
            markdown.contains("postgres oltp |\n| --- | ---: |")
                && markdown.contains("[The report of new](runs/2-b.html)"),
            "{markdown}"
        );
    }

    #[test]
    fn a_run_has_one_colour_in_the_table_and_in_the_pictures() {
        let (runs, all) = old_and_new();
        let publication = publication(&runs, &all);
        let places = places(&publication);
        let table = &matrices(&publication, &places)[0];
        let FigureBody::Bars { rows, columns } = &bars(&publication, &places)[0].body else { panic!("bars") };
        assert_eq!(
            table.rows.iter().map(|row| row.style).collect::<Vec<_>>(),
            rows.iter().map(|row| Some(row.1)).collect::<Vec<_>>()
        );
        assert!(columns[0].values.iter().all(Option::is_some) && table.rows[0].style != table.rows[1].style);
    }

    #[test]
    fn runs_without_a_common_point_have_no_table_and_say_why() {
        let (runs, mut all) = old_and_new();
        all[0].places.clear();
        let page = published_page(&publication(&runs, &all));
        assert!(page.opening.iter().all(|block| !matches!(block, PageBlock::Matrix(_))), "{:?}", page.opening);
        assert!(
            page.opening
                .iter()
                .any(|block| matches!(block, PageBlock::Caution(text) if text.starts_with("Nothing can be compared")))
        );
    }

    #[test]
    fn every_run_can_be_repeated() {
        let (runs, all) = old_and_new();
        let html = page_html(&published_page(&publication(&runs, &all)));
        assert_eq!(html.matches("<pre>plimsoll run 20261121-030405-quick.plimsoll</pre>").count(), 2);
    }
}
