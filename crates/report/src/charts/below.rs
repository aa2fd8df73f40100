//! Panels below the throughput of a point, on its time axis: what the charts of resources, of threads, of the engine and of response
//! times have in common.
//!
//! In: a run, and a function that makes the panels of a point. Out: a figure for each point that has some. Limits: unless all are asked for,
//! the points that something disturbed are drawn, and the best and the worst of each sweep.

use super::axes::{time_axis, time_range};
use super::shades::{shades, shading_note};
use super::timeline::{bin_note, draw_point, join_drops, partial_note};
use crate::format::slug;
use crate::palette::Palette;
use crate::sheet::{Group, conditions, groups};
use crate::wording::label::point_label;
use analysis::findings::CourseDisturbance;
use analysis::{Analysis, Finding, PointAnalysis};
use plot::figure::{Axis, DataSeries, Figure, FigureBody, Mark, Panel, Stroke};
use std::collections::BTreeSet;

/// More pictures of one sort would not be looked at.
pub(super) const FIGURES_MAX: usize = 24;
const THROUGHPUT_HEIGHT: f64 = 110.0;
const HEIGHT: f64 = 90.0;

/// A chart whose panels are below the throughput.
pub struct Below {
    /// What the panels of a point are about: the beginning of the title of its figure.
    pub subject: fn(&PointAnalysis) -> &'static str,
    /// Makes the panels of a point that is drawn over this range of seconds.
    pub panels: fn(&PointAnalysis, (f64, f64)) -> Vec<Panel>,
    /// What the caption of a point has to add to its panels; empty for nothing.
    pub note: fn(&PointAnalysis) -> String,
    /// The most points that are drawn, unless all are asked for.
    pub figures_max: usize,
}

/// Of which points there are charts of single points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointCharts {
    /// Those that something disturbed, and the best and the worst of each sweep.
    Telling,
    All,
}

impl Below {
    /// A figure for each point that is drawn and has panels. Its id begins with that of the chart.
    pub fn draw(&self, id: &str, analysis: &Analysis, which: PointCharts) -> Vec<Figure> {
        let points = match which {
            PointCharts::All => analysis.points.iter().collect(),
            PointCharts::Telling => telling(analysis, self.figures_max),
        };
        let note = if points.len() < analysis.points.len() {
            " Drawn: points that something disturbed, and the best and the worst of each sweep; `plimsoll report --all-charts` draws all."
        } else {
            ""
        };
        let places_max = if points.len() > FEW_FIGURES { PLACES_FEW } else { usize::MAX };
        points.into_iter().filter_map(|point| self.draw_figure(analysis, (id, point), (note, places_max))).collect()
    }

    fn draw_figure(
        &self,
        analysis: &Analysis,
        (id, point): (&str, &PointAnalysis),
        (note, places_max): (&str, usize),
    ) -> Option<Figure> {
        let range = time_range([point])?;
        let own = (self.panels)(point, range);
        if own.is_empty() {
            return None;
        }
        // A step that is timed as a whole has no rate to draw.
        let style = (Palette::new(analysis).style(point), THROUGHPUT_HEIGHT);
        let throughput = point.duration_s().is_none().then(|| draw_point("Throughput", point, style));
        let mut panels: Vec<Panel> = throughput.into_iter().chain(own).collect();
        let each = thin_panels(&mut panels, places_max);
        Some(Figure {
            id: format!("{id}-{}-{}", point.id, slug(&point_label(point))).trim_end_matches('-').to_owned(),
            title: format!("{}: {}", (self.subject)(point), point_label(point)),
            conditions: conditions(analysis, &[point]),
            caption: format!(
                "{}{}{}{}{}{note}",
                thinning_note(each),
                shading_note(&[point]),
                bin_note(&[point]),
                partial_note(&[point]),
                (self.note)(point)
            ),
            body: FigureBody::Panels { x: time_axis(range), panels },
        })
    }
}

/// A panel of `point` with its shades.
pub(super) fn panel(point: &PointAnalysis, title: &str, y: Axis, series: Vec<DataSeries>) -> Panel {
    Panel { title: title.to_owned(), note: String::new(), y, height: HEIGHT, shades: shades(point), series }
}

/// On a page of more figures of one chart each is drawn of fewer values: together they would be most of the page.
const FEW_FIGURES: usize = 8;
/// A line of so many values still shows its course.
const PLACES_FEW: usize = 40;

/// Draws each line and area of more than `most` values as means of neighbours, and keeps all values for a zoom. Returns how many neighbours
/// are one at most.
fn thin_panels(panels: &mut [Panel], most: usize) -> usize {
    let series = panels.iter_mut().flat_map(|panel| &mut panel.series);
    series.map(|series| thin_marks(&mut series.marks, most)).max().unwrap_or(1)
}

fn thin_marks(marks: &mut Vec<Mark>, most: usize) -> usize {
    let each = marks.iter().map(|mark| values_of(mark).div_ceil(most)).max().unwrap_or(1).max(1);
    if most == usize::MAX {
        return 1;
    }
    let has_fine = marks.iter().any(|mark| matches!(mark, Mark::Fine(_)));
    let mut fine = None;
    // The dots of a line are as large as the line; a zoom has them.
    if marks.iter().any(|mark| matches!(mark, Mark::Line(..))) {
        marks.retain(|mark| !matches!(mark, Mark::Dots(..)));
    }
    for mark in marks.iter_mut().filter(|mark| values_of(mark) > most) {
        let thinned = thin_mark(mark, each);
        fine = fine.or(Some(std::mem::replace(mark, thinned)));
    }
    marks.extend(fine.filter(|_| !has_fine).map(|all| Mark::Fine(Box::new(all))));
    each
}

/// How many values of `mark` may become means.
fn values_of(mark: &Mark) -> usize {
    match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) => points.len(),
        Mark::Area(bounds) => bounds.len(),
        _ => 0,
    }
}

/// Draws a mark of fewer values, a line with its drops.
fn thin_mark(mark: &Mark, each: usize) -> Mark {
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (count, sum) =
            values.filter(|value| value.is_finite()).fold((0, 0.0), |(n, sum), value| (n + 1, sum + value));
        if count > 0 { sum / f64::from(count) } else { f64::NAN }
    };
    match mark {
        Mark::Line(stroke, points) => {
            let place =
                |part: &[(f64, f64)]| (mean(&mut part.iter().map(|p| p.0)), mean(&mut part.iter().map(|p| p.1)));
            let stroke = if *stroke == Stroke::Thin { Stroke::Solid } else { *stroke };
            let means: Vec<(f64, f64)> = points.chunks(each).map(place).collect();
            let drops = points.chunks(each).zip(&means).map(|(part, mean)| lowest_drop(part, *mean));
            Mark::Line(stroke, join_drops(&means, &drops.collect::<Vec<_>>()))
        }
        Mark::Area(bounds) => {
            let of = |part: &[(f64, f64, f64)], which: fn(&(f64, f64, f64)) -> f64| mean(&mut part.iter().map(which));
            let bound = |part: &[(f64, f64, f64)]| (of(part, |b| b.0), of(part, |b| b.1), of(part, |b| b.2));
            Mark::Area(bounds.chunks(each).map(bound).collect())
        }
        other => other.clone(),
    }
}

/// The lowest of the values whose mean is drawn, if it is below half of that: a stall whose backlog was done within the same step.
fn lowest_drop(part: &[(f64, f64)], (_, mean): (f64, f64)) -> Option<f64> {
    let lowest = part.iter().map(|point| point.1).filter(|value| value.is_finite()).reduce(f64::min);
    lowest.filter(|value| part.len() > 1 && *value < 0.5 * mean)
}

fn thinning_note(each: usize) -> String {
    match each {
        0 | 1 => String::new(),
        _ => format!(" Drawn: means of up to {each} values, and drops below half of a mean; a zoom shows each value."),
    }
}

/// At most `most` points in their order: first those that something disturbed, then the best and the worst of each sweep. A point that is
/// alone in its group is no best one, unless it is the whole run.
fn telling(analysis: &Analysis, most: usize) -> Vec<&PointAnalysis> {
    let disturbed = analysis.points.iter().filter(|point| point.findings.iter().any(is_seen));
    let groups = groups(analysis);
    let sweeps: Vec<&Group> = groups.iter().filter(|group| group.dimension().is_some()).collect();
    let best = if sweeps.is_empty() { fastest(&analysis.points.iter().collect::<Vec<_>>()) } else { None };
    let ends = sweeps.iter().flat_map(|group| [fastest(&group.points), slowest(&group.points)]).chain([best]).flatten();
    let drawn: BTreeSet<u32> = disturbed.chain(ends).map(|point| point.id).take(most).collect();
    analysis.points.iter().filter(|point| drawn.contains(&point.id)).collect()
}

/// Whether the charts of a single point show what `finding` is about.
fn is_seen(finding: &Finding) -> bool {
    finding.code().disturbance().is_some_and(CourseDisturbance::is_seen_in_course)
}

fn fastest<'a>(points: &[&'a PointAnalysis]) -> Option<&'a PointAnalysis> {
    points.iter().copied().max_by(|a, b| ops_per_s(a).total_cmp(&ops_per_s(b)))
}

fn slowest<'a>(points: &[&'a PointAnalysis]) -> Option<&'a PointAnalysis> {
    points.iter().copied().min_by(|a, b| ops_per_s(a).total_cmp(&ops_per_s(b)))
}

fn ops_per_s(point: &PointAnalysis) -> f64 {
    point.summary.as_ref().map_or(0.0, |s| s.ops_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_within_a_drawn_step_is_a_drop_of_the_line_unless_that_is_the_rule() {
        let values = |low_each: usize| -> Vec<(f64, f64)> {
            (0..200).map(|nth| (nth as f64, if nth % low_each == 0 { 0.0 } else { 100.0 })).collect()
        };
        let line = |low_each: usize| match thin_mark(&Mark::Line(Stroke::Thin, values(low_each)), 5) {
            Mark::Line(Stroke::Solid, points) => points,
            other => panic!("{other:?}"),
        };
        let seldom = line(50);
        assert_eq!((seldom.len(), seldom.iter().filter(|point| point.1 == 0.0).count()), (40 + 2 * 4, 4));
        assert!(line(5).iter().all(|point| point.1 == 80.0), "{:?}", line(5));
    }

    #[test]
    fn the_best_and_the_worst_of_each_sweep_and_the_points_that_something_disturbed_are_drawn_unless_all_are_asked_for()
    {
        let mut analysis = crate::testing::with_points(40);
        for point in &mut analysis.points {
            point.findings.clear();
            point.group = usize::from(point.id > 20);
            point.summary.as_mut().unwrap().ops_per_s = f64::from(point.id % 20);
        }
        let stall = crate::testing::quick().points.into_iter().flat_map(|point| point.findings);
        let stall = stall.chain(crate::testing::one_of_many_kinds()).find(is_seen);
        analysis.points[4].findings.push(stall.expect("a finding of a disturbance"));
        let ids = |analysis: &Analysis| telling(analysis, FIGURES_MAX).iter().map(|p| p.id).collect::<Vec<_>>();
        assert_eq!(ids(&analysis), [5, 19, 20, 39, 40]);
        let figures = |which| super::super::resources::CHART.figures(&analysis, which).len();
        assert_eq!([figures(PointCharts::Telling), figures(PointCharts::All)], [5, 40]);
        analysis.points.truncate(1);
        assert_eq!(ids(&analysis), [1], "the only point of a run is drawn");
    }

    #[test]
    fn many_values_are_drawn_as_means_and_all_of_them_are_kept_for_a_zoom() {
        let all: Vec<(f64, f64)> = (0..120).map(|nth| (f64::from(nth), f64::from(nth % 2))).collect();
        let mut marks = vec![Mark::Line(Stroke::Thin, all.clone()), Mark::Dots(3.0, all.clone())];
        assert_eq!(thin_marks(&mut marks, 60), 2);
        let [Mark::Line(Stroke::Solid, drawn), Mark::Fine(fine)] = &marks[..] else { panic!("{marks:?}") };
        assert!(drawn.len() == 60 && drawn[0] == (0.5, 0.5), "{drawn:?}");
        assert_eq!(**fine, Mark::Line(Stroke::Thin, all.clone()));
        let mut few = vec![Mark::Line(Stroke::Thin, all)];
        assert_eq!((thin_marks(&mut few, 120), few.len()), (1, 1));
        let mut whole = vec![Mark::Dots(3.0, vec![(0.0, 1.0); 500])];
        assert_eq!((thin_marks(&mut whole, usize::MAX), whole.len()), (1, 1), "few figures are drawn in full");
        let area: Vec<(f64, f64, f64)> = (0..90).map(|nth| (f64::from(nth), 1.0, 3.0)).collect();
        let mut stacked = vec![Mark::Area(area)];
        assert_eq!(thin_marks(&mut stacked, 60), 2);
        let Mark::Area(drawn) = &stacked[0] else { panic!("an area") };
        assert!(drawn.len() == 45 && drawn.iter().all(|bound| (bound.1, bound.2) == (1.0, 3.0)));
    }

    #[test]
    fn figures_that_leave_points_out_name_those_that_are_drawn() {
        let figures = super::super::resources::CHART.figures(&crate::testing::with_points(40), PointCharts::Telling);
        assert!(!figures.is_empty() && figures.len() < 40);
        let note = "; plimsoll report --all-charts draws all.";
        assert!(figures.iter().all(|figure| figure.caption.ends_with(note)), "{}", figures[0].caption);
    }
}
