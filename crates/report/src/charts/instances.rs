//! Throughput against the number of instances: what all of them do together, and what each does.
//!
//! In: the shares of the instances of each point. Out: a figure for each group of points that differ in the number of instances. Limits: only
//! of runs with several numbers of instances; rates are of the whole run phase, one dot for each instance and repeat.

use super::chart::Chart;
use super::marks::{invalid_note, is_invalid, trusted};
use super::sweep::{LINES_MAX, mean_rate};
use crate::format;
use crate::palette::Palette;
use crate::sheet::conditions;
use crate::wording::label::settings_label;
use analysis::recorded::dimensions::Role;
use analysis::{Analysis, PointAnalysis, Setting, SettingValue};
use plot::figure::{Axis, AxisScale, AxisUnit, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke};
use std::collections::{BTreeMap, BTreeSet};

pub const CHART: Chart = Chart {
    id: "instances",
    title: "Throughput against instances",
    help: "Above: what all instances do together, a dot for each point and a line through the means. Below: what each instance does; dots that \
           lie together share the machine fairly.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::several_instances,
};

/// The points of one figure: alike in all but instances, clients, depth and repetition.
struct InstanceSweep<'a> {
    label: Vec<&'a Setting>,
    points: Vec<&'a PointAnalysis>,
}

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let mut groups: Vec<InstanceSweep> = Vec::new();
    for point in analysis.points.iter().filter(|point| rate(point).is_some()) {
        let label: Vec<&Setting> = point.label.group.iter().filter(|one| one.role != Role::Instances).collect();
        match groups.iter_mut().find(|group| group.label == label) {
            Some(group) => group.points.push(point),
            None => groups.push(InstanceSweep { label, points: vec![point] }),
        }
    }
    groups.retain(|group| counts(&group.points).len() > 1);
    (1..).zip(&groups).map(|(nth, group)| figure(analysis, group, nth)).collect()
}

fn figure(analysis: &Analysis, group: &InstanceSweep, nth: usize) -> Figure {
    let name = settings_label(group.label.iter().copied());
    let lines = lines_of(&group.points);
    let firsts: Vec<&PointAnalysis> = lines.iter().map(|line| line.points[0]).collect();
    let styles = Palette::new(analysis).styles(&firsts);
    let styled = || lines.iter().zip(&styles);
    let total = panel("all together", styled().map(|(line, style)| sum_series(line, *style)));
    let each = panel("each instance", styled().map(|(line, style)| own_series(line, *style)));
    let subject = if name.is_empty() { String::new() } else { format!(", {name}") };
    Figure {
        id: format!("instances-{nth:02}-{}", format::slug(&name)),
        title: format!("Throughput against instances{subject}"),
        conditions: conditions(analysis, &group.points),
        caption: format!(
            "Clients are those of each instance. n = {} points.{}",
            group.points.len(),
            invalid_note(&group.points)
        ),
        body: FigureBody::Panels { x: x_axis(&group.points), panels: vec![total, each] },
    }
}

fn panel(what: &str, series: impl Iterator<Item = DataSeries>) -> Panel {
    let y = Axis::from_zero(&format!("operations/s, {what}"), AxisUnit::Count);
    Panel { title: String::new(), note: String::new(), y, height: 200.0, series: series.collect(), shades: Vec::new() }
}

/// The points with the same number of clients and depth, and what they are called if there are several such lines.
struct InstanceLine<'a> {
    name: String,
    points: Vec<&'a PointAnalysis>,
}

fn lines_of<'a>(points: &[&'a PointAnalysis]) -> Vec<InstanceLine<'a>> {
    let mut lines: BTreeMap<(u32, u32), Vec<&PointAnalysis>> = BTreeMap::new();
    points.iter().for_each(|point| lines.entry((point.clients, point.depth)).or_default().push(point));
    let has_depths = lines.keys().any(|(_, depth)| *depth > 1);
    let name = |(clients, depth): (u32, u32)| {
        if has_depths { format!("clients {clients}, depth {depth}") } else { format!("clients {clients}") }
    };
    let named = lines.into_iter().map(|(place, points)| InstanceLine { name: name(place), points });
    named.take(LINES_MAX).collect()
}

/// The rate of all instances together.
fn sum_series(line: &InstanceLine, style: SeriesStyle) -> DataSeries {
    let means = counts(&line.points).into_iter().filter_map(|count| {
        let repeats: Vec<&PointAnalysis> =
            line.points.iter().copied().filter(|point| instances(point) == count).collect();
        Some((f64::from(count), mean_rate(&trusted(&repeats))?))
    });
    let (invalid, valid): (Vec<&PointAnalysis>, Vec<&PointAnalysis>) = line.points.iter().partition(|p| is_invalid(p));
    let dots = |points: &[&PointAnalysis]| points.iter().filter_map(|p| Some((x_of(p), rate(p)?))).collect();
    let marks = vec![
        Mark::Line(Stroke::Solid, means.collect()),
        Mark::Dots(3.4, dots(&valid)),
        Mark::Rings(3.4, dots(&invalid)),
    ];
    DataSeries::named(line.name.clone(), style, marks)
}

/// The rate of each instance of each point.
fn own_series(line: &InstanceLine, style: SeriesStyle) -> DataSeries {
    let (invalid, valid): (Vec<&PointAnalysis>, Vec<&PointAnalysis>) = line.points.iter().partition(|p| is_invalid(p));
    let dots = |points: &[&PointAnalysis]| {
        points.iter().flat_map(|point| own_rates(point).into_iter().map(|own| (x_of(point), own))).collect()
    };
    DataSeries::unnamed(style, vec![Mark::Dots(2.8, dots(&valid)), Mark::Rings(2.8, dots(&invalid))])
}

/// What each instance did; a single one did all.
fn own_rates(point: &PointAnalysis) -> Vec<f64> {
    point.instances.as_ref().map_or_else(|| rate(point).into_iter().collect(), |shares| shares.ops_per_s.clone())
}

fn rate(point: &PointAnalysis) -> Option<f64> {
    point.summary.as_ref().filter(|_| point.duration_s().is_none()).map(|summary| summary.ops_per_s)
}

fn instances(point: &PointAnalysis) -> u32 {
    let setting = point.settings.used().find(|setting| setting.role == Role::Instances);
    match setting.map(|setting| &setting.value) {
        Some(SettingValue::Count(count)) => *count,
        _ => 1,
    }
}

fn x_of(point: &PointAnalysis) -> f64 {
    f64::from(instances(point))
}

fn counts(points: &[&PointAnalysis]) -> BTreeSet<u32> {
    points.iter().map(|point| instances(point)).collect()
}

fn x_axis(points: &[&PointAnalysis]) -> Axis {
    let scale = AxisScale::LogAt(counts(points).into_iter().map(f64::from).collect());
    Axis { label: "instances (log scale)".to_owned(), scale, unit: AxisUnit::Count, range: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{panels, quick, several_instances};

    #[test]
    fn each_instance_has_a_dot_below_the_rate_of_all() {
        let figures = draw(&several_instances());
        let [figure] = &figures[..] else { panic!("{} figures", figures.len()) };
        let dots = |nth: usize| -> Vec<(f64, f64)> {
            let all = panels(figure)[nth].series.iter().flat_map(|series| &series.marks);
            all.filter_map(|mark| if let Mark::Dots(_, dots) = mark { Some(dots.clone()) } else { None })
                .flatten()
                .collect()
        };
        assert_eq!((dots(0).len(), dots(1).len()), (3, 1 + 2 + 4), "one, two and four instances");
        let sum: f64 = dots(1).iter().filter(|(x, _)| *x == 4.0).map(|(_, y)| y).sum();
        let all = dots(0).iter().find(|(x, _)| *x == 4.0).map(|(_, y)| *y).unwrap();
        assert!((sum / all - 1.0).abs() < 1e-9, "{sum} {all}");
    }

    #[test]
    fn a_run_with_one_number_of_instances_has_no_such_figure() {
        assert!(draw(&quick()).is_empty());
    }
}
