//! The rate of each round of a run until steady, and how the five that count lie between the limits.
//!
//! In: the rounds of each point that goes by them. Out: one figure per sheet, one panel per point; none if time ends the runs.
//! Limits: the band of 10 % to either side of the mean shows the size of the range that is allowed, not its place: the
//! judgement is on the distance between the greatest and the least rate.

use super::chart::Chart;
use super::marks::marked;
use crate::format;
use crate::sheet::{FigurePoints, conditions, drawn_sheets};
use analysis::{Analysis, PointAnalysis, Rounds};
use model::steady::{RANGE_MAX, SteadyWindow, WINDOW_ROUNDS};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Shade, Stroke, Tint,
};

pub const CHART: Chart = Chart {
    id: "rounds",
    title: "Rounds until steady",
    help: "One dot per round. The shaded rounds count. The band shows their mean and 10 % to either side: steady rounds \
           differ by no more than its width, and the dashed line fitted through them rises or falls by no more than half of it.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::settled,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let labelled =
        sheet.rows.iter().flat_map(|row| row.points.iter().map(|point| ((row.label.clone(), row.style), *point)));
    let rounds: Vec<((String, SeriesStyle), Rounds)> =
        labelled.filter_map(|(label, point)| Some((label, point.rounds.clone()?))).collect();
    let most = rounds.iter().map(|(_, rounds)| rounds.rates.len()).max()?.max(WINDOW_ROUNDS);
    let points: Vec<&PointAnalysis> = sheet.points().into_iter().filter(|point| point.rounds.is_some()).collect();
    let height = if points.len() == 1 { 220.0 } else { 130.0 };
    let panels = rounds.iter().zip(&points).map(|(((label, style), rounds), point)| Panel {
        title: marked(label, point),
        note: note(rounds),
        y: super::axes::rate_axis(),
        height,
        series: series(rounds, *style),
        shades: rounds.window.iter().map(shade).collect(),
    });
    Some(Figure {
        id: format!("rounds-{}", sheet.slug),
        title: format!("Rate of each round: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: KEY.to_owned(),
        body: FigureBody::Panels { x: x_axis(&rounds, most), panels: panels.collect() },
    })
}

const KEY: &str =
    " Shaded: the rounds that count. Band: 10 % to either side of their mean. Dashed: the line fitted through them.";

fn x_axis<T>(rounds: &[(T, Rounds)], most: usize) -> Axis {
    let length = rounds.first().map_or(String::new(), |(_, first)| {
        if rounds.iter().all(|(_, r)| r.length == first.length) {
            format!(" of {}", format::seconds(first.length.as_secs_f64()))
        } else {
            String::new()
        }
    });
    let range = Some((0.5, most as f64 + 0.5));
    Axis { label: format!("round{length}"), scale: AxisScale::Linear, unit: AxisUnit::Count, range }
}

/// `steady at round 8: range 6 %, slope -2.1 %`
fn note(rounds: &Rounds) -> String {
    let Some(window) = rounds.window else { return format!("not steady: fewer than {WINDOW_ROUNDS} rounds") };
    let word = if window.is_steady() { "steady at" } else { "not steady at" };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    format!("{word} round {}: range {}, slope {}", window.round, percent(window.range), percent(window.slope))
}

fn shade(window: &SteadyWindow) -> Shade {
    let (from, to) = ends(window);
    Shade { from, to, tint: Tint::Blue }
}

/// The edges of the window: a round takes up half a unit to either side of its number.
fn ends(window: &SteadyWindow) -> (f64, f64) {
    (window.first_round() as f64 - 0.5, window.round as f64 + 0.5)
}

fn series(rounds: &Rounds, style: SeriesStyle) -> Vec<DataSeries> {
    let dots: Vec<(f64, f64)> = (1..).map(f64::from).zip(rounds.rates.iter().copied()).collect();
    let band = rounds.window.iter().map(|window| DataSeries::unnamed(style, vec![band(window)]));
    let rates = DataSeries::unnamed(style, vec![Mark::Line(Stroke::Thin, dots.clone()), Mark::Dots(4.0, dots)]);
    let line = rounds.window.iter().map(|window| DataSeries::unnamed(Colour::Black, vec![fitted(window)]));
    band.chain([rates]).chain(line).collect()
}

fn band(window: &SteadyWindow) -> Mark {
    let ((from, to), half) = (ends(window), window.mean * RANGE_MAX / 2.0);
    let (low, high) = (window.mean - half, window.mean + half);
    Mark::Band(vec![(from, low, high), (to, low, high)])
}

/// The least-squares line, from the first round of the window to the last: it goes through their mean in the middle.
fn fitted(window: &SteadyWindow) -> Mark {
    let half = window.mean * window.slope / 2.0;
    let (first, last) = (window.first_round() as f64, window.round as f64);
    Mark::Line(Stroke::Dashed, vec![(first, window.mean - half), (last, window.mean + half)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, settled};

    #[test]
    fn a_run_by_rounds_has_its_rates_its_window_its_band_and_its_line() {
        let figures = draw(&settled());
        let FigureBody::Panels { x, panels } = &figures[0].body else { panic!("panels") };
        assert_eq!((x.label.as_str(), x.range), ("round of 30 s", Some((0.5, 12.5))));
        assert_eq!((panels[0].shades[0].from, panels[0].shades[0].to), (7.5, 12.5));
        assert!(panels[0].note.starts_with("steady at round 12: range "), "{}", panels[0].note);
        let marks: Vec<&Mark> = panels[0].series.iter().flat_map(|series| &series.marks).collect();
        let [Mark::Band(band), Mark::Line(..), Mark::Dots(_, dots), Mark::Line(Stroke::Dashed, line)] = marks[..]
        else {
            panic!("{marks:?}")
        };
        assert_eq!(dots.len(), 12);
        assert!((band[0].2 / band[0].1 - 1.1 / 0.9).abs() < 1e-9 && line.len() == 2, "{band:?} {line:?}");
    }

    #[test]
    fn the_line_is_that_of_least_squares() {
        // 96, 102, 101, 98, 103: mean 100, slope 1 a round.
        let window = SteadyWindow::last(&[7.0, 96.0, 102.0, 101.0, 98.0, 103.0]).expect("five rounds");
        let Mark::Line(_, line) = fitted(&window) else { panic!("a line") };
        let off = line.iter().zip([(2.0, 98.0), (6.0, 102.0)]).map(|(a, b)| (a.0 - b.0).abs() + (a.1 - b.1).abs());
        assert!(off.sum::<f64>() < 1e-9, "{line:?}");
    }

    #[test]
    fn points_that_time_ends_have_no_rounds() {
        assert!(draw(&quick()).is_empty());
    }
}
