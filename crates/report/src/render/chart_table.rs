//! The values of a chart as a table behind it, folded: for readers without the picture, and for copying.
//!
//! In: a figure, and how many rows its table may have. Out: HTML. Limits: of more values one in so many is there as it was measured, and the
//! table says so; a mean of percentiles would be no percentile. The CSV files have all.

use crate::format;
use crate::wording::quantity::percent;
use plot::escape::escape_xml;
use plot::figure::{
    Axis, AxisScale, AxisUnit, BarColumn, Colour, DataSeries, Figure, FigureBody, FlameFrame, GridRow, Mark, Panel,
    SeriesStyle, StripCell, StripColumn, StripRow, Stroke,
};
use plot::numbers::plain_number;

/// More rows are not read, and make the page large.
pub const TABLE_ROWS: usize = 20;
/// The rows of a table on a page of many pictures over time.
pub const TABLE_ROWS_FEW: usize = 4;

/// The folded table of `figure`, with at most `rows_max` rows if its x axis is time, else [`TABLE_ROWS`]; empty if it has no values.
pub fn figure_table(figure: &Figure, rows_max: usize) -> String {
    let table = match &figure.body {
        FigureBody::Panels { x, panels } => panels_table(x, panels),
        FigureBody::Grid { x, legend, columns, rows } => grid_table(x, legend, (columns, rows)),
        FigureBody::Bars { rows, columns } => bars_table(rows, columns),
        FigureBody::Strips { legend, columns, rows } => strips_table(legend, columns, rows),
        FigureBody::Flames { roots, .. } => flames_table(roots),
        _ => stacks_table(figure),
    };
    let rows_max = if figure.is_over_time() { rows_max } else { TABLE_ROWS };
    if table.rows.is_empty() { String::new() } else { table.html(rows_max) }
}

/// A table before it is written.
#[derive(Default)]
struct ValueTable {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl ValueTable {
    fn html(&self, rows_max: usize) -> String {
        let each = self.rows.len().div_ceil(rows_max).max(1);
        let note = match each {
            1 => String::new(),
            _ => format!(" <span class=\"small\">(one row in {each} of {})</span>", self.rows.len()),
        };
        // Cells and rows need no end tags, and there are many.
        let cells = |tag: &str, cells: &[String]| -> String {
            cells.iter().map(|text| format!("<{tag}>{}", escape_xml(text))).collect()
        };
        let rows: String = self.rows.iter().step_by(each).map(|row| format!("<tr>{}\n", cells("td", row))).collect();
        format!(
            "<details class=\"data\"><summary>Data{note}</summary><div class=\"scroll\"><table><thead><tr>{}</thead>\
             <tbody>\n{rows}</tbody></table></div></details>\n",
            cells("th", &self.heads)
        )
    }
}

/// A row for each function where it is called, the widest first.
fn flames_table(roots: &[FlameFrame]) -> ValueTable {
    let whole: f64 = roots.iter().map(|frame| frame.value).sum();
    let mut frames = Vec::new();
    roots.iter().for_each(|root| add_frames(root, "", &mut frames));
    frames.sort_by(|a: &(&FlameFrame, &str), b| b.0.value.total_cmp(&a.0.value));
    let row = |(frame, caller): &(&FlameFrame, &str)| {
        let caller = if caller.is_empty() { format::dash() } else { (*caller).to_owned() };
        vec![frame.name.clone(), caller, percent(frame.value / whole).to_string()]
    };
    let heads = ["function", "called by", "share of the width"].map(str::to_owned);
    ValueTable { heads: heads.to_vec(), rows: frames.iter().map(row).collect() }
}

/// Adds `frame` and all that it calls, each with its caller.
fn add_frames<'a>(frame: &'a FlameFrame, caller: &'a str, frames: &mut Vec<(&'a FlameFrame, &'a str)>) {
    frames.push((frame, caller));
    frame.callees.iter().for_each(|callee| add_frames(callee, &frame.name, frames));
}

/// A column for each series.
fn panels_table(x: &Axis, panels: &[Panel]) -> ValueTable {
    let columns: Vec<ValueColumn> = panels.iter().flat_map(|panel| panel_columns(panel, panels.len() > 1)).collect();
    let is_time = x.unit == AxisUnit::Seconds;
    let places = if is_time { longest_places(&columns) } else { all_places(columns.iter()) };
    // Counters are read at times of their own: theirs is the nearest value.
    let near = if is_time { 0.75 * mean_step(&places) } else { 0.0 };
    let row = |at: &f64| {
        let cells = columns.iter().map(|column| column.text_at(*at, near));
        std::iter::once(place_text(x, *at)).chain(cells).collect()
    };
    let heads = std::iter::once(x.label.clone()).chain(columns.iter().map(|column| column.name.clone()));
    ValueTable { heads: heads.collect(), rows: places.iter().map(row).collect() }
}

/// One series as a column.
struct ValueColumn<'a> {
    name: String,
    unit: AxisUnit,
    marks: Vec<&'a Mark>,
}

fn panel_columns(panel: &Panel, is_one_of_several: bool) -> Vec<ValueColumn<'_>> {
    let named = panel.series.iter().map(|series| ValueColumn {
        name: column_name(panel, series, is_one_of_several),
        unit: panel.y.unit,
        marks: value_marks(series),
    });
    named.filter(|column| !column.marks.is_empty()).collect()
}

/// The name of the series, with that of its panel if there are several.
fn column_name(panel: &Panel, series: &DataSeries, is_one_of_several: bool) -> String {
    let title = if is_one_of_several { panel.title.as_str() } else { "" };
    match (title, series.label.as_str()) {
        ("", "") => panel.y.label.clone(),
        (title, "") => title.to_owned(),
        ("", label) => label.to_owned(),
        (title, label) => format!("{title}: {label}"),
    }
}

/// What has a value for a place, the best first. A dashed line of two points is a mean, which the title of its panel has; a band without a
/// name surrounds values that have a column; and a hollow dot alone is a part of an interval.
fn value_marks(series: &DataSeries) -> Vec<&Mark> {
    let has_name = !series.label.is_empty();
    let has_value = |mark: &&Mark| match mark {
        Mark::Line(Stroke::Dashed, points) => has_name || points.len() > 2,
        Mark::Band(_) => has_name,
        Mark::Line(..) | Mark::Dots(..) | Mark::Rings(..) | Mark::Area(_) | Mark::Boxes(_) => true,
        _ => false,
    };
    let mut marks: Vec<&Mark> = series.marks.iter().filter(has_value).collect();
    if !has_name && marks.iter().all(|mark| matches!(mark, Mark::Rings(..))) {
        return Vec::new();
    }
    // A dashed line goes through what is hollow, too.
    marks.sort_by_key(|mark| matches!(mark, Mark::Line(Stroke::Dashed, _)));
    marks
}

impl ValueColumn<'_> {
    fn text_at(&self, at: f64, near: f64) -> String {
        self.marks.iter().find_map(|mark| mark_text(mark, at, near, self.unit)).unwrap_or_else(format::dash)
    }

    fn places(&self) -> Vec<f64> {
        let places = self.marks.iter().flat_map(|mark| mark_places(mark));
        places.filter(|at| at.is_finite()).collect()
    }
}

fn mark_places(mark: &Mark) -> Vec<f64> {
    match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) | Mark::Rings(_, points) => {
            points.iter().map(|point| point.0).collect()
        }
        Mark::Area(bounds) | Mark::Band(bounds) => bounds.iter().map(|bound| bound.0).collect(),
        Mark::Boxes(boxes) => boxes.iter().map(|mark| mark.x).collect(),
        _ => Vec::new(),
    }
}

/// What `mark` shows at most `near` from `at`, in words.
fn mark_text(mark: &Mark, at: f64, near: f64, unit: AxisUnit) -> Option<String> {
    let nearest = |places: &mut dyn Iterator<Item = (usize, f64)>| {
        let inside = places.map(|(nth, x)| (nth, (x - at).abs())).filter(|(_, distance)| *distance <= near);
        inside.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(nth, _)| nth)
    };
    let text = |value: f64| value.is_finite().then(|| value_text(value, unit));
    match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) => {
            let known = points.iter().enumerate().filter(|(_, point)| point.1.is_finite());
            text(points[nearest(&mut known.map(|(nth, point)| (nth, point.0)))?].1)
        }
        Mark::Rings(_, points) => {
            let value = points[nearest(&mut points.iter().map(|point| point.0).enumerate())?].1;
            text(value).map(|value| format!("{value} (hollow)"))
        }
        Mark::Area(bounds) => {
            let (_, low, high) = bounds[nearest(&mut bounds.iter().map(|bound| bound.0).enumerate())?];
            text(high - low)
        }
        Mark::Band(bounds) => {
            let (_, low, high) = bounds[nearest(&mut bounds.iter().map(|bound| bound.0).enumerate())?];
            Some(format!("{} to {}", text(low)?, text(high)?))
        }
        Mark::Boxes(boxes) => {
            let [low, _, middle, _, high] = boxes[nearest(&mut boxes.iter().map(|b| b.x).enumerate())?].percentiles;
            Some(format!("{} ({} to {})", text(middle)?, text(low)?, text(high)?))
        }
        _ => None,
    }
}

/// The places of the column that has most of them.
fn longest_places(columns: &[ValueColumn]) -> Vec<f64> {
    let mut places = columns.iter().map(|column| column.places()).max_by_key(Vec::len).unwrap_or_default();
    sort_places(&mut places);
    places
}

/// The places of all columns.
fn all_places<'a>(columns: impl Iterator<Item = &'a ValueColumn<'a>>) -> Vec<f64> {
    let mut places: Vec<f64> = columns.flat_map(ValueColumn::places).collect();
    sort_places(&mut places);
    places
}

fn sort_places(places: &mut Vec<f64>) {
    places.sort_by(f64::total_cmp);
    places.dedup();
}

fn mean_step(places: &[f64]) -> f64 {
    match places {
        [first, .., last] => (last - first) / (places.len() - 1) as f64,
        _ => 0.0,
    }
}

/// A row for each column of the grid, series and place, with a value for each row of the grid.
fn grid_table(x: &Axis, legend: &[(String, SeriesStyle)], (columns, rows): (&[String], &[GridRow])) -> ValueTable {
    let heads = ["panel", "series", &x.label].map(str::to_owned).into_iter();
    let heads = heads.chain(rows.iter().map(|row| row.y.label.clone())).collect();
    let mut table = ValueTable { heads, rows: Vec::new() };
    for (nth, column) in columns.iter().enumerate() {
        let cells: Vec<&[DataSeries]> =
            rows.iter().map(|row| row.cells.get(nth).map_or(&[][..], Vec::as_slice)).collect();
        let longest = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
        for series in 0..longest {
            let name = cells.iter().find_map(|cell| cell.get(series)).map(|one| style_name(one, legend));
            let values: Vec<ValueColumn> =
                rows.iter().zip(&cells).map(|(row, cell)| grid_column(row, cell.get(series))).collect();
            table.rows.extend(all_places(values.iter()).into_iter().map(|at| {
                let texts = [column.clone(), name.clone().unwrap_or_default(), place_text(x, at)].into_iter();
                texts.chain(values.iter().map(|column| column.text_at(at, 0.0))).collect()
            }));
        }
    }
    table
}

fn grid_column<'a>(row: &GridRow, series: Option<&'a DataSeries>) -> ValueColumn<'a> {
    ValueColumn { name: String::new(), unit: row.y.unit, marks: series.map(value_marks).unwrap_or_default() }
}

/// What the legend calls it. Two lines of one style differ in their dashes.
fn style_name(series: &DataSeries, legend: &[(String, SeriesStyle)]) -> String {
    let name = legend.iter().find(|(_, style)| *style == series.style).map_or("", |(name, _)| name);
    let is_dashed = series.marks.iter().any(|mark| matches!(mark, Mark::Line(Stroke::Dashed, _)))
        && !series.marks.iter().any(|mark| matches!(mark, Mark::Line(Stroke::Solid | Stroke::Thin, _)));
    if is_dashed { format!("{name} (dashed)").trim_start().to_owned() } else { name.to_owned() }
}

fn bars_table(rows: &[(String, SeriesStyle)], columns: &[BarColumn]) -> ValueTable {
    let heads = std::iter::once(String::new()).chain(columns.iter().map(|column| column.label.clone()));
    let row = |(nth, (name, _)): (usize, &(String, SeriesStyle))| {
        let text = |column: &BarColumn| match column.values.get(nth) {
            Some(Some((_, text))) => text.clone(),
            _ => format::dash(),
        };
        std::iter::once(name.clone()).chain(columns.iter().map(text)).collect()
    };
    ValueTable { heads: heads.collect(), rows: rows.iter().enumerate().map(row).collect() }
}

fn strips_table(legend: &[(String, Colour)], columns: &[StripColumn], rows: &[StripRow]) -> ValueTable {
    let heads = std::iter::once(String::new()).chain(columns.iter().map(|column| column.label.clone()));
    let part = |(value, colour): &(f64, Colour)| {
        let name = legend.iter().find(|(_, other)| other == colour).map_or("", |(name, _)| name);
        format!("{name} {}", format::number(*value)).trim_start().to_owned()
    };
    let text = |cell: &StripCell| match cell {
        StripCell::Missing => format::dash(),
        StripCell::Share { text, .. } | StripCell::Words(text) => text.clone(),
        StripCell::Parts(parts) => parts.iter().filter(|part| part.0 > 0.0).map(part).collect::<Vec<_>>().join(", "),
    };
    let row = |row: &StripRow| std::iter::once(row.name.clone()).chain(row.cells.iter().map(text)).collect();
    ValueTable { heads: heads.collect(), rows: rows.iter().map(row).collect() }
}

fn stacks_table(figure: &Figure) -> ValueTable {
    let FigureBody::Stacks { rows, .. } = &figure.body else { return ValueTable::default() };
    let rows = rows.iter().map(|row| vec![row.name.clone(), row.whole.clone(), row.detail.clone()]);
    ValueTable { heads: ["", "whole", "parts"].map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn place_text(x: &Axis, at: f64) -> String {
    match (&x.scale, x.unit) {
        (AxisScale::Slots(names), _) => names.get(at.round() as usize).cloned().unwrap_or_default(),
        (_, AxisUnit::Nanos) => value_text(at, AxisUnit::Nanos),
        (_, AxisUnit::Percent) => format!("{} %", plain_number(at)),
        _ => plain_number(at),
    }
}

fn value_text(value: f64, unit: AxisUnit) -> String {
    match unit {
        AxisUnit::Nanos => format::nanos(value.max(0.0).round() as u64),
        AxisUnit::Percent => format!("{} %", format::number(value)),
        AxisUnit::Seconds => format!("{} s", plain_number(value)),
        AxisUnit::Count | AxisUnit::CountOf(_) => format::number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{CHARTS, all_figures};
    use crate::testing::{HOSTILE, hostile, quick};

    fn cells(html: &str) -> Vec<Vec<String>> {
        let body = html.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).unwrap_or_default();
        let rows = body.split("<tr>").skip(1);
        rows.map(|row| row.trim().split("<td>").skip(1).map(str::to_owned).collect()).collect()
    }

    fn table_of(id: &str) -> String {
        let all = all_figures(&quick());
        let figure = all.iter().flat_map(|(_, figures)| figures).find(|figure| figure.id == id);
        figure_table(figure.unwrap_or_else(|| panic!("no {id}")), TABLE_ROWS)
    }

    #[test]
    fn every_chart_has_a_table_of_its_values_whose_rows_are_as_long_as_its_head() {
        for chart in CHARTS {
            for figure in chart.figures(&(chart.fixture)(), crate::charts::PointCharts::All) {
                let table = figure_table(&figure, TABLE_ROWS);
                let rows = cells(&table);
                assert!((1..=TABLE_ROWS).contains(&rows.len()), "{}: {table}", figure.id);
                let heads = table.matches("<th>").count();
                assert!(heads > 1 && rows.iter().all(|row| row.len() == heads), "{}: {table}", figure.id);
                assert!(rows.iter().flatten().any(|cell| cell != "-"), "{}: {table}", figure.id);
            }
        }
    }

    #[test]
    fn a_sweep_has_a_row_for_each_of_its_places() {
        let table = table_of("throughput-oltp-clients");
        let rows = cells(&table);
        assert_eq!(rows.len(), 3, "{table}");
        let firsts: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.iter().find(|cell| ["1", "4", "16"].contains(&cell.as_str())))
            .map(String::as_str)
            .collect();
        assert_eq!(firsts, ["1", "4", "16"], "{table}");
    }

    #[test]
    fn many_values_have_one_row_in_so_many_and_the_table_says_so() {
        let all = all_figures(&crate::testing::long_runs(500));
        let figure =
            all.iter().flat_map(|(_, figures)| figures).find(|figure| figure.id.starts_with("timeline")).unwrap();
        let table = figure_table(figure, TABLE_ROWS);
        assert!(table.contains("(one row in 25 of 500)"), "{table}");
        assert_eq!(cells(&table).len(), 20);
        assert_eq!(cells(&table)[1][0], "25.5");
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        for (_, figures) in all_figures(&hostile()) {
            for figure in figures {
                let table = figure_table(&figure, TABLE_ROWS);
                assert!(HOSTILE.iter().filter(|text| text.contains('<')).all(|text| !table.contains(text)), "{table}");
            }
        }
    }
}
