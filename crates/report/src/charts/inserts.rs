//! Rows inserted per second, over the rows inserted and over time: whether an engine keeps its rate while the data grows.
//!
//! In: the rows inserted in each interval of points that do little else. Out: for each workload and step one figure over rows and,
//! to compare several points, one over time; what varies makes panels and lines. Of repeats the first is drawn.
//! Limits: inserts at a fixed rate in the background are not drawn, since that rate was asked for; a band shows the spread of the
//! intervals if a panel has few lines, and the slowest interval has its rate in the panel's note.

use super::chart::Chart;
use super::marks::{is_invalid, trusted_name};
use super::sweep::LINES_MAX;
use crate::facets::{Facet, Facets};
use crate::format;
use crate::palette::Palette;
use crate::sheet::{conditions, groups};
use crate::wording::label::point_label;
use crate::wording::list::join_and;
use analysis::{Analysis, InsertedRows, PointAnalysis, Summary};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};
use plot::numbers::short_number;

pub const CHART: Chart = Chart {
    id: "inserts",
    title: "Rows inserted per second",
    help: "A line that falls with the rows in the table means that inserts slow down as the data grows.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: || crate::testing::inserting(&[("indexes", &["0", "3"])], 60),
};

/// A line of so many steps, over time, still shows each of them;
const STEPS_MAX: usize = 400;
/// over rows its course is what counts, and a band shows the intervals.
const STEPS_OVER_ROWS_MAX: usize = 120;
/// More bands on each other show none.
const BANDS_MAX: usize = 3;
/// The title has the rates of at most so many lines.
const NAMED_MAX: usize = 3;
/// More boundaries would hide the lines between them.
const BOUNDARIES_MAX: u64 = 60;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let mut families: Vec<(String, Vec<&PointAnalysis>)> = Vec::new();
    for group in groups(analysis) {
        let inserting = group.points.iter().copied().filter(|point| point.repeat == 1 && inserts(point));
        let name = group.family();
        match families.iter_mut().find(|family| family.0 == name) {
            Some(family) => family.1.extend(inserting),
            None => families.push((name, inserting.collect())),
        }
    }
    families.iter().flat_map(|(name, points)| draw_family(analysis, name, points)).collect()
}

/// Whether the point inserts as fast as it can. Inserts in the background have the rate that was asked for, and those of a mix that mostly
/// reads that of the mix.
fn inserts(point: &PointAnalysis) -> bool {
    let is_own = |summary: &Summary| summary.rows_per_s.is_some() && !summary.has_background_inserts();
    !inserted(point).is_empty() && point.summary.as_ref().is_some_and(is_own)
}

/// Two intervals make a line.
fn has_line(point: &PointAnalysis) -> bool {
    inserted(point).len() > 1
}

fn inserted(point: &PointAnalysis) -> &[InsertedRows] {
    point.series.as_ref().map_or(&[], |series| &series.amounts.inserted)
}

fn draw_family(analysis: &Analysis, name: &str, points: &[&PointAnalysis]) -> Vec<Figure> {
    let (drawn, short): (Vec<&PointAnalysis>, Vec<&PointAnalysis>) = points.iter().partition(|point| has_line(point));
    if drawn.is_empty() {
        return Vec::new();
    }
    let parts = Facets::of_all(&drawn, &Palette::new(analysis)).parts(LINES_MAX);
    let count = parts.len();
    let part = |(nth, split): (usize, Facets<'_>)| {
        let name = if count > 1 { format!("{name}, part {}", nth + 1) } else { name.to_owned() };
        let part = FigurePart {
            analysis,
            slug: format::slug(&name),
            name,
            split,
            short: short.iter().map(|point| point_label(point)).collect(),
        };
        std::iter::once(over_rows(&part)).chain(over_time(&part)).collect::<Vec<_>>()
    };
    parts.into_iter().enumerate().flat_map(part).collect()
}

/// What is drawn in one figure.
struct FigurePart<'a> {
    analysis: &'a Analysis,
    name: String,
    slug: String,
    split: Facets<'a>,
    /// The points of the family that have too few intervals for a line.
    short: Vec<String>,
}

fn over_rows(part: &FigurePart) -> Figure {
    let points = part.split.points();
    let y = common_axis(&part.split);
    let panel = |facet: &Facet| Panel {
        title: facet.name.clone(),
        note: String::new(),
        y: y.clone(),
        height: height(&part.split),
        series: series_over_rows(&part.split, facet),
        shades: Vec::new(),
    };
    let panels = part.split.panels.iter().map(panel).collect();
    let x = Axis {
        label: "rows in the table".to_owned(),
        scale: AxisScale::Linear,
        unit: AxisUnit::Count,
        range: range(&points),
    };
    Figure {
        id: format!("inserts-rows-{}", part.slug),
        title: format!("Insert rate against table size, {}{}", part.name, means(part)),
        conditions: conditions(part.analysis, &points),
        caption: notes(part),
        body: FigureBody::Panels { x, panels: super::axes::named_once(panels) },
    }
}

/// Boundaries of partitions, the spread of the intervals of each place, and above them a line for each.
fn series_over_rows(split: &Facets, facet: &Facet) -> Vec<DataSeries> {
    let drawn: Vec<(String, SeriesStyle, Vec<Step>)> = lines_of(split, facet)
        .map(|(label, style, point)| (label, style, steps(inserted(point), STEPS_OVER_ROWS_MAX)))
        .collect();
    let has_bands = drawn_lines(facet) <= BANDS_MAX;
    let bands =
        drawn.iter().filter(|_| has_bands).map(|(_, style, steps)| DataSeries::unnamed(*style, vec![band(steps)]));
    let lines = drawn.iter().map(|(label, style, steps)| {
        let line = Mark::Line(Stroke::Solid, steps.iter().map(|step| (step.rows, step.per_s)).collect());
        DataSeries::named(label.clone(), *style, vec![line])
    });
    let boundaries = DataSeries::unnamed(Colour::Black, vec![Mark::Verticals(boundaries(facet))]);
    std::iter::once(boundaries).chain(bands).chain(lines).collect()
}

/// Each interval of each line; `None` for a single line, which the throughput over time shows.
fn over_time(part: &FigurePart) -> Option<Figure> {
    let points = part.split.points();
    let (_, end) = super::axes::time_range(points.iter().copied()).filter(|_| part.split.lines.len() > 1)?;
    let y = common_axis(&part.split);
    let panel = |facet: &Facet| Panel {
        title: facet.name.clone(),
        note: slowest(&part.split, facet).map_or(String::new(), |(line, _, interval)| slowest_text(&line, &interval)),
        y: y.clone(),
        height: height(&part.split),
        series: series_over_time(&part.split, facet),
        shades: Vec::new(),
    };
    let panels = part.split.panels.iter().map(panel).collect();
    Some(Figure {
        id: format!("inserts-time-{}", part.slug),
        title: format!("Insert rate per interval, {}", part.name),
        conditions: conditions(part.analysis, &points),
        caption: format!("Dot: the slowest interval of its panel.{}", of_repeats(part.analysis)),
        body: FigureBody::Panels { x: super::axes::time_axis((0.0, end)), panels: super::axes::named_once(panels) },
    })
}

fn series_over_time(split: &Facets, facet: &Facet) -> Vec<DataSeries> {
    let line = |(label, style, point): (String, SeriesStyle, &PointAnalysis)| {
        let places =
            steps(inserted(point), STEPS_MAX).into_iter().flat_map(|step| down_to_the_slowest(&step)).collect();
        DataSeries::named(label, style, vec![Mark::Line(Stroke::Thin, places)])
    };
    let dot = slowest(split, facet).map(|(_, style, interval)| {
        let marks = vec![Mark::Dots(4.5, vec![(interval.at_s + interval.length_s / 2.0, interval.per_s())])];
        DataSeries::unnamed(style, marks)
    });
    lines_of(split, facet).map(line).chain(dot).collect()
}

/// A step of one interval is a place; one of several goes down to the slowest of them and back.
fn down_to_the_slowest(step: &Step) -> Vec<(f64, f64)> {
    let place = (step.at_s, step.per_s);
    if step.least_per_s < step.per_s { vec![place, (step.at_s, step.least_per_s), place] } else { vec![place] }
}

/// `slowest: mariadb:rocksdb, 1,230/s at 35 s`
fn slowest_text(line: &str, interval: &InsertedRows) -> String {
    let line = if line.is_empty() { String::new() } else { format!("{line}, ") };
    let rate = if interval.rows == 0 { "no row".to_owned() } else { format!("{}/s", format::number(interval.per_s())) };
    format!("slowest: {line}{rate} at {}", format::seconds(interval.at_s))
}

/// The lines of a panel that have a point, with their names and styles.
fn lines_of<'a>(split: &'a Facets, facet: &'a Facet) -> impl Iterator<Item = (String, SeriesStyle, &'a PointAnalysis)> {
    let named = split.lines.iter().zip(&facet.lines).enumerate();
    named.filter_map(|(nth, (name, points))| {
        let point = *points.first()?;
        Some((trusted_name(name, point), facet.styles[nth], point))
    })
}

fn drawn_lines(facet: &Facet) -> usize {
    facet.lines.iter().filter(|points| !points.is_empty()).count()
}

fn height(split: &Facets) -> f64 {
    if split.is_grid() { 150.0 } else { 260.0 }
}

/// All panels have one scale: their heights are to be compared.
fn common_axis(split: &Facets) -> Axis {
    let points = split.points();
    let rates = points.iter().flat_map(|point| steps(inserted(point), STEPS_MAX)).map(|step| step.most_per_s);
    let most = rates.filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    let range = Some((0.0, if most > 0.0 { most * 1.06 } else { 1.0 }));
    Axis { range, ..Axis::from_zero("rows/s", AxisUnit::Count) }
}

/// From the first row of any point to the last.
fn range(points: &[&PointAnalysis]) -> Option<(f64, f64)> {
    let all = || points.iter().flat_map(|point| inserted(point));
    Some((all().map(|i| i.before).min()? as f64, all().map(InsertedRows::rows_after).max()? as f64))
}

/// Some neighbouring intervals, taken together.
struct Step {
    /// Rows inserted in the middle of it.
    rows: f64,
    /// Its middle, in seconds since the run phase began.
    at_s: f64,
    per_s: f64,
    least_per_s: f64,
    most_per_s: f64,
}

fn steps(inserted: &[InsertedRows], most: usize) -> Vec<Step> {
    let each = inserted.len().div_ceil(most).max(1);
    let step = |part: &[InsertedRows]| {
        let (rows, seconds) = part.iter().fold((0, 0.0), |(rows, s), i| (rows + i.rows, s + i.length_s));
        let rates = || part.iter().map(InsertedRows::per_s);
        Step {
            rows: part[0].before as f64 + rows as f64 / 2.0,
            at_s: part[0].at_s + seconds / 2.0,
            per_s: rows as f64 / seconds,
            least_per_s: rates().fold(f64::MAX, f64::min),
            most_per_s: rates().fold(0.0, f64::max),
        }
    };
    inserted.chunks(each).map(step).collect()
}

/// From the slowest to the fastest interval; nothing to see if each step is one.
fn band(steps: &[Step]) -> Mark {
    Mark::Band(steps.iter().map(|step| (step.rows, step.least_per_s, step.most_per_s)).collect())
}

/// Where the tables of all points of a panel begin a new partition, with the rows; nothing if they differ in it.
fn boundaries(facet: &Facet) -> Vec<(f64, String)> {
    let points: Vec<&PointAnalysis> = facet.lines.iter().flatten().copied().collect();
    let each = |point: &&PointAnalysis| point.series.as_ref().and_then(|series| series.amounts.partition_rows);
    let Some(rows) = points.first().and_then(each) else { return Vec::new() };
    let Some((from, to)) = range(&points).filter(|_| points.iter().all(|point| each(point) == Some(rows))) else {
        return Vec::new();
    };
    let all = (from as u64 / rows + 1)..=(to as u64 / rows);
    if all.clone().count() as u64 > BOUNDARIES_MAX {
        return Vec::new();
    }
    let name = |nth: u64| short_number((nth * rows) as f64);
    all.map(|nth| ((nth * rows) as f64, name(nth))).collect()
}

/// `: 25,100 rows/s (indexes 0), 9,020 rows/s (indexes 3)`, if they are few; without those that are invalid.
fn means(part: &FigurePart) -> String {
    let split = &part.split;
    let points = split.points();
    if points.len() > NAMED_MAX {
        return String::new();
    }
    let lines = split.panels.iter().flat_map(|facet| lines_of(split, facet).map(|line| (facet.name.clone(), line)));
    let lines = lines.filter(|(_, (_, _, point))| !is_invalid(point));
    let rates = lines.map(|(panel, (line, _, point))| {
        let (rate, name) = (format::number(rows_per_s(point)), format!("{panel} {line}"));
        // One line has no legend; if others are missing, the title must not read as theirs.
        let name = if !part.short.is_empty() && points.len() == 1 { point_label(point) } else { name };
        if name.trim().is_empty() { format!("{rate} rows/s") } else { format!("{rate} rows/s ({})", name.trim()) }
    });
    let rates: Vec<String> = rates.collect();
    if rates.is_empty() { String::new() } else { format!(": {}", rates.join(", ")) }
}

/// The mean rate of `point` as the tables have it.
fn rows_per_s(point: &PointAnalysis) -> f64 {
    let of_intervals = || {
        let all = inserted(point);
        let (rows, seconds) = all.iter().fold((0, 0.0), |(rows, s), i| (rows + i.rows, s + i.length_s));
        rows as f64 / seconds
    };
    point.summary.as_ref().and_then(|summary| summary.rows_per_s).unwrap_or_else(of_intervals)
}

/// What the reader has to know of bands, boundaries and repeats.
fn notes(part: &FigurePart) -> String {
    let panels = &part.split.panels;
    let is_binned = part.split.points().iter().any(|point| inserted(point).len() > STEPS_OVER_ROWS_MAX);
    let mut notes = String::new();
    if is_binned && panels.iter().any(|facet| drawn_lines(facet) <= BANDS_MAX) {
        notes += " Band: from the slowest to the fastest interval of each step of the line.";
    }
    if panels.iter().any(|facet| !boundaries(facet).is_empty()) {
        notes += " Dashed: a new partition begins.";
    }
    match part.short.as_slice() {
        [] => {}
        short if short.len() <= NAMED_MAX => notes += &format!(" Too short to draw: {}.", join_and(short)),
        short => notes += &format!(" {} points are too short to draw.", short.len()),
    }
    notes + of_repeats(part.analysis)
}

fn of_repeats(analysis: &Analysis) -> &'static str {
    if analysis.points.iter().any(|point| point.repeat > 1) {
        " The first of each set of repeats is drawn."
    } else {
        ""
    }
}

/// The slowest interval of a panel, with the line that it is of. Of lines that were all idle there is none.
fn slowest<'a>(split: &'a Facets, facet: &'a Facet) -> Option<(String, SeriesStyle, InsertedRows)> {
    let all = lines_of(split, facet)
        .flat_map(|(name, style, point)| inserted(point).iter().map(move |interval| (name.clone(), style, *interval)));
    all.min_by(|a, b| a.2.per_s().total_cmp(&b.2.per_s()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, panels, quick};

    #[test]
    fn two_numbers_of_indexes_are_two_lines_over_rows_with_the_boundaries_of_partitions() {
        let figures = draw(&inserting(&[("indexes", &["0", "3"])], 900));
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["inserts-rows-insert", "inserts-time-insert"]);
        let [panel] = panels(&figures[0]) else { panic!("one panel") };
        let names: Vec<&str> = panel.series.iter().map(|series| series.label.as_str()).collect();
        assert_eq!(names, ["", "", "", "indexes 0", "indexes 3"], "bands lie below both lines");
        let Mark::Verticals(boundaries) = &panel.series[0].marks[0] else { panic!("boundaries") };
        assert_eq!(boundaries[0], (1_000_000.0, "1M".to_owned()));
        assert!(figures[0].title.ends_with("/s (indexes 3)"), "{}", figures[0].title);
        assert!(figures[0].caption.ends_with("Dashed: a new partition begins."));
        let svg = plot::render_svg(&figures[0]);
        assert!(svg.contains(">1M<") && svg.contains(">rows in the table<"));
    }

    #[test]
    fn many_intervals_are_drawn_in_steps_that_keep_the_slowest() {
        let analysis = inserting(&[("indexes", &["0", "3"])], 900);
        let all = inserted(&analysis.points[0]);
        let steps = steps(all, STEPS_MAX);
        assert_eq!(steps.len(), 300); // of three intervals each
        let least = all.iter().map(InsertedRows::per_s).fold(f64::MAX, f64::min);
        assert_eq!(steps.iter().map(|step| step.least_per_s).fold(f64::MAX, f64::min), least);
        let mean = steps.iter().map(|step| step.per_s).sum::<f64>() / 300.0;
        let rows = all[899].rows_after() as f64;
        assert!((mean / (rows / 900.0) - 1.0).abs() < 1e-9, "steps of equal length have the mean of the run");
    }

    #[test]
    fn the_slowest_interval_of_several_engines_is_named_and_dotted() {
        let mut analysis = inserting(&[("engine", &["mariadb:innodb", "mariadb:rocksdb"])], 60);
        let series = analysis.points[1].series.as_mut().unwrap();
        series.amounts.inserted[34].rows = 7;
        let figures = draw(&analysis);
        let [panel] = panels(&figures[1]) else { panic!("one panel") };
        assert_eq!(panel.note, "slowest: mariadb:rocksdb, 7.00/s at 34 s");
        let Mark::Dots(_, dots) = &panel.series[2].marks[0] else { panic!("a dot") };
        assert_eq!((dots.as_slice(), panel.series[2].style), (&[(34.5, 7.0)][..], SeriesStyle::nth(1)));
    }

    #[test]
    fn each_step_of_a_sequence_has_a_figure_of_its_own_and_inserts_beside_queries_have_none() {
        let mut analysis = inserting(&[("step", &["l.i0", "l.i1", "qr"])], 60);
        analysis.points[2].summary.as_mut().expect("it ran").background = vec![crate::testing::background_500()];
        let ids: Vec<String> = draw(&analysis).into_iter().map(|figure| figure.id).collect();
        assert_eq!(ids, ["inserts-rows-insert-l-i0", "inserts-rows-insert-l-i1"]);
    }

    #[test]
    fn an_invalid_point_is_named_as_such_and_not_in_the_title() {
        let mut analysis = inserting(&[("indexes", &["0", "3"])], 60);
        analysis.points[1].validity = analysis::Validity::Invalid;
        let figure = draw(&analysis).remove(0);
        assert!(figure.title.contains("(indexes 0)") && !figure.title.contains("indexes 3"), "{}", figure.title);
        assert!(panels(&figure)[0].series.iter().any(|series| series.label == "indexes 3 (invalid)"));
        analysis.points[0].validity = analysis::Validity::Invalid;
        assert!(!draw(&analysis).remove(0).title.contains(':'));
    }

    #[test]
    fn the_title_has_the_rate_of_the_table_and_the_caption_the_points_that_are_missing() {
        let mut analysis = inserting(&[("indexes", &["0", "3"])], 60);
        analysis.points[0].summary.as_mut().unwrap().rows_per_s = Some(3_095.0);
        let series = analysis.points[1].series.as_mut().unwrap();
        series.amounts.inserted.truncate(1);
        let [figure] = draw(&analysis).try_into().expect("one line has no figure over time");
        let label = point_label(&analysis.points[0]);
        assert_eq!(figure.title, format!("Insert rate against table size, insert: 3,095 rows/s ({label})"));
        let missing = format!(" Too short to draw: {}.", point_label(&analysis.points[1]));
        assert!(figure.caption.ends_with(&missing), "{}", figure.caption);
    }

    #[test]
    fn a_run_that_inserts_nothing_has_no_such_figure() {
        assert!(draw(&quick()).is_empty());
    }
}
