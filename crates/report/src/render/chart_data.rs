//! The values behind the charts over time, for the script of a page: it shows those at the cursor, and draws them again in a zoom.
//!
//! In: figures. Out: JSON without markup: a list of packed columns, and for each figure its panels and series, which name columns by
//! their place in the list. A column that several series share is there once. Limits: values have a relative error of at most 2^-13, and
//! times one of half a millisecond. Of a series that is longer than there is room for, the least and the greatest of neighbours are kept.

use super::packed::{pack_times, pack_values};
use crate::escape::terminal;
use plot::figure::{Figure, FigureBody, Mark, Panel, Shade, Stroke, Tint};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A chart is some 650 units wide; so many values have room for a zoom into a hundredth of a run of hours.
const SERIES_VALUES_MAX: usize = 4_000;
/// All series of a page together: about 0.7 MB.
const PAGE_VALUES_MAX: usize = 300_000;
/// So many are drawn without a zoom, too.
const SERIES_VALUES_MIN: usize = 600;

/// The data of all figures over time among `figures`, as JSON that is safe in a script element; empty if there are none.
pub fn chart_data<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> String {
    let over_time: Vec<&Figure> = figures.into_iter().filter(|figure| figure.is_over_time()).collect();
    if over_time.is_empty() {
        return String::new();
    }
    let mut most = SERIES_VALUES_MAX;
    loop {
        let data = ChartData::pack(&over_time, most);
        if data.values <= PAGE_VALUES_MAX || most <= SERIES_VALUES_MIN {
            // A text may not end the script element; `<` is as good as its escape in JSON.
            let json = serde_json::to_string(&data).expect("texts and numbers");
            return json.replace('<', "\\u003c");
        }
        most /= 2;
    }
}

#[derive(Serialize, Default)]
struct ChartData<'a> {
    columns: Vec<String>,
    figures: BTreeMap<&'a str, Vec<PanelData>>,
    #[serde(skip)]
    places: HashMap<String, usize>,
    /// How many values the columns have.
    #[serde(skip)]
    values: usize,
    /// How many of a series are kept at most.
    #[serde(skip)]
    most: usize,
}

/// Its title, its shades and its series: without names of fields, which would be a fifth of the data of many short runs.
#[derive(Serialize)]
struct PanelData(String, Vec<(f64, f64, &'static str)>, Vec<SeriesData>);

/// Its name and its marks.
#[derive(Serialize)]
struct SeriesData(String, Vec<MarkData>);

/// How it is drawn, and its columns: times and values, or times, lower and upper bounds.
#[derive(Serialize)]
struct MarkData(&'static str, Vec<usize>);

impl<'a> ChartData<'a> {
    fn pack(figures: &[&'a Figure], most: usize) -> Self {
        let mut data = ChartData { most, ..ChartData::default() };
        for figure in figures {
            if let FigureBody::Panels { panels, .. } = &figure.body {
                let panels = panels.iter().map(|panel| data.pack_panel(panel)).collect();
                data.figures.insert(&figure.id, panels);
            }
        }
        data
    }

    fn pack_panel(&mut self, panel: &Panel) -> PanelData {
        let series = panel.series.iter().map(|series| {
            let marks = shown_marks(&series.marks).into_iter().filter_map(|mark| self.pack_mark(mark)).collect();
            SeriesData(terminal(&series.label), without_dots_of_lines(marks))
        });
        let series = series.collect();
        PanelData(terminal(&panel.title), panel.shades.iter().map(shade_data).collect(), series)
    }

    fn pack_mark(&mut self, mark: &Mark) -> Option<MarkData> {
        match mark {
            Mark::Line(Stroke::Dashed, points) => Some(MarkData("r", self.pack_points(points))),
            Mark::Line(_, points) => Some(MarkData("l", self.pack_points(points))),
            Mark::Dots(_, points) => Some(MarkData("d", self.pack_points(points))),
            Mark::Rings(_, points) => Some(MarkData("o", self.pack_points(points))),
            Mark::Area(bounds) => Some(MarkData("a", self.pack_bounds(bounds))),
            Mark::Band(bounds) => Some(MarkData("b", self.pack_bounds(bounds))),
            _ => None,
        }
    }

    fn pack_points(&mut self, points: &[(f64, f64)]) -> Vec<usize> {
        let known: Vec<(f64, f64)> = points.iter().copied().filter(|point| point.0.is_finite()).collect();
        let kept = extremes(&known, self.most);
        let times = self.place_column(kept.len(), pack_times(kept.iter().map(|point| point.0)));
        let values = self.place_column(kept.len(), pack_values(kept.iter().map(|point| point.1)));
        vec![times, values]
    }

    fn pack_bounds(&mut self, bounds: &[(f64, f64, f64)]) -> Vec<usize> {
        // Bounds of a stack touch those of its neighbours, and do so only if all keep the same stretches.
        let each = bounds.len().div_ceil(self.most).max(1);
        let kept: Vec<(f64, f64, f64)> =
            bounds.iter().step_by(each).copied().filter(|bound| bound.0.is_finite()).collect();
        let columns = [
            pack_times(kept.iter().map(|bound| bound.0)),
            pack_values(kept.iter().map(|bound| bound.1)),
            pack_values(kept.iter().map(|bound| bound.2)),
        ];
        columns.into_iter().map(|column| self.place_column(kept.len(), column)).collect()
    }

    /// The place of a packed column of so many values.
    fn place_column(&mut self, values: usize, column: String) -> usize {
        if let Some(place) = self.places.get(&column) {
            return *place;
        }
        let place = self.columns.len();
        self.values += values;
        self.places.insert(column.clone(), place);
        self.columns.push(column);
        place
    }
}

/// A line in a zoom has dots as soon as there is room for them: those of the same columns say nothing new.
fn without_dots_of_lines(marks: Vec<MarkData>) -> Vec<MarkData> {
    let lines: Vec<Vec<usize>> = marks.iter().filter(|mark| mark.0 == "l").map(|mark| mark.1.clone()).collect();
    marks.into_iter().filter(|mark| mark.0 != "d" || !lines.contains(&mark.1)).collect()
}

/// The marks that a zoom shows: those in full, if there are any, else those of the picture. What has no finer form is always shown.
fn shown_marks(marks: &[Mark]) -> Vec<&Mark> {
    let has_fine = marks.iter().any(|mark| matches!(mark, Mark::Fine(_)));
    let shown = marks.iter().filter_map(|mark| match mark {
        Mark::Fine(fine) => Some(&**fine),
        Mark::Line(..) | Mark::Dots(..) | Mark::Area(_) | Mark::Band(_) if has_fine => None,
        other => Some(other),
    });
    shown.collect()
}

fn shade_data(shade: &Shade) -> (f64, f64, &'static str) {
    let [from, to] = [shade.from, shade.to].map(|at_s| (at_s * 1e3).round() / 1e3);
    (from, to, tint_name(shade.tint))
}

/// As in the style sheet.
fn tint_name(tint: Tint) -> &'static str {
    match tint {
        Tint::Grey => "grey",
        Tint::Blue => "blue",
        Tint::Red => "red",
        Tint::Yellow => "yellow",
        Tint::Violet => "violet",
    }
}

/// At most `most` of `points`: of each stretch the least and the greatest, in order of time, so that neither a stall nor a peak is lost.
fn extremes(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let each = (2 * points.len()).div_ceil(most);
    let two = points.chunks(each).flat_map(|part| {
        let places = 0..part.len();
        let least = places.clone().min_by(|a, b| part[*a].1.total_cmp(&part[*b].1)).unwrap_or(0);
        let greatest = places.max_by(|a, b| part[*a].1.total_cmp(&part[*b].1)).unwrap_or(0);
        let (first, second) = (least.min(greatest), least.max(greatest));
        if first == second { vec![part[first]] } else { vec![part[first], part[second]] }
    });
    two.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::all_figures;
    use crate::testing::{hostile, long_runs, quick, with_counter};
    use model::{CounterKind, CounterRole};
    use plot::figure::{Axis, AxisUnit, Colour, DataSeries};

    fn data_of(analysis: &analysis::Analysis) -> String {
        let all = all_figures(analysis);
        chart_data(all.iter().flat_map(|(_, figures)| figures))
    }

    fn figure(marks: Vec<Mark>) -> Figure {
        let panel = Panel {
            title: "CPU".into(),
            note: String::new(),
            y: Axis::from_zero("operations/s", AxisUnit::Count),
            height: 100.0,
            series: vec![DataSeries::named("reads", Colour::Blue, marks)],
            shades: vec![Shade { from: -1.0, to: 0.00049, tint: Tint::Grey }],
        };
        let body = FigureBody::Panels { x: Axis::seconds("it began", (0.0, 3.0)), panels: vec![panel] };
        Figure { id: "f".into(), title: "T".into(), caption: "n = 3".into(), conditions: String::new(), body }
    }

    #[test]
    fn a_figure_has_its_panels_shades_and_series_with_columns() {
        let points = vec![(0.5, 1.0), (1.5, 1.0), (2.5, f64::NAN)];
        let json = chart_data([&figure(vec![Mark::Line(Stroke::Solid, points.clone()), Mark::Dots(2.0, points)])]);
        let figures = r#""figures":{"f":[["CPU",[[-1.0,0.0,"grey"]],[["reads",[["l",[0,1]]]]]]]}}"#;
        assert!(json.starts_with("{\"columns\":[\"") && json.ends_with(figures), "{json}");
    }

    #[test]
    fn values_in_full_take_the_place_of_those_that_are_drawn() {
        let coarse = vec![(0.0, 5.0), (2.0, 5.0)];
        let fine = vec![(0.0, 4.0), (1.0, 6.0), (2.0, 5.0)];
        let marks = vec![
            Mark::Line(Stroke::Solid, coarse),
            Mark::Rings(3.0, vec![(2.5, 1.0)]),
            Mark::Fine(Box::new(Mark::Line(Stroke::Solid, fine))),
        ];
        let kept: Vec<usize> = shown_marks(&marks)
            .into_iter()
            .map(|mark| match mark {
                Mark::Line(_, points) | Mark::Rings(_, points) => points.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(kept, [1, 3]);
    }

    #[test]
    fn of_too_many_values_the_least_and_the_greatest_stay() {
        let at = |nth: i32| (f64::from(nth), if nth == 5_003 { 0.0 } else { 100.0 + f64::from(nth % 7) });
        let points: Vec<(f64, f64)> = (0..10_000).map(at).collect();
        let kept = extremes(&points, 600);
        assert!(kept.len() <= 600 && kept.contains(&(5_003.0, 0.0)), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(kept.iter().map(|point| point.1).fold(0.0, f64::max), 106.0);
    }

    #[test]
    fn no_text_of_a_run_ends_the_script_element() {
        let json = data_of(&hostile());
        assert!(!json.contains(['<', '\u{202e}', '\u{1b}']) && json.contains("\\u003c"), "{json}");
    }

    #[test]
    fn a_column_that_several_figures_share_is_there_once() {
        let json = data_of(&quick());
        let columns = json.split("],\"figures\"").next().unwrap();
        let all: Vec<&str> = columns.split('"').skip(3).step_by(2).collect();
        let distinct: std::collections::BTreeSet<&&str> = all.iter().collect();
        assert_eq!(all.len(), distinct.len());
    }

    #[test]
    fn an_hour_with_two_hundred_counters_stays_small() {
        let mut analysis = long_runs(3_600);
        let roles = [
            CounterRole::DeviceReadOps,
            CounterRole::DeviceWriteOps,
            CounterRole::DeviceReadBytes,
            CounterRole::DeviceWriteBytes,
            CounterRole::DeviceQueue,
            CounterRole::LogAge,
            CounterRole::DirtyPages,
            CounterRole::HistoryLength,
        ];
        for role in roles.into_iter().cycle().take(200) {
            let noisy = |at_s: f64| (3e7 * at_s + 1e7 * (at_s * 12.9898).sin()).floor();
            analysis = with_counter(analysis, ("source", role, CounterKind::Gauge, "bytes"), noisy);
        }
        let text = crate::html(&analysis);
        assert!(text.len() < 1_500_000, "{} bytes, {} of data", text.len(), data_of(&analysis).len());
    }
}
