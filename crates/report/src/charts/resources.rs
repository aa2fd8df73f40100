//! CPU and disk under the throughput, on one time axis: what was busy when it was slow.
//!
//! In: the counters of CPU and disk of each point. Out: one figure per point, up to five panels; of many points those at the
//! top of their sweeps, and those that stalled. Limits: CPU in percent of all CPUs of the machine; the disk is the device under
//! the data, whoever used it.

use super::axes::time_range;
use super::chart::Chart;
use super::marks::line_with_dots;
use super::shades::{shades, shading_note};
use super::timeline::{bin_note, draw_point, partial_note};
use crate::format::slug;
use crate::sheet::{Group, conditions, groups};
use crate::wording::label::point_label;
use analysis::{Analysis, CounterSeries, PointAnalysis};
use model::CounterRole;
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel};
use std::collections::BTreeSet;

/// The chart.
pub const CHART: Chart = Chart {
    id: "resources",
    title: "CPU and disk, below the throughput",
    help: "All panels share one time axis: look down from a drop in throughput to what was busy then.",
    draw,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

const HEIGHT: f64 = 90.0;

/// Uses of the CPU, from the bottom of the stack.
const CPU_USES: [(CounterRole, &str, Colour); 5] = [
    (CounterRole::MachineCpuUser, "user", Colour::Blue),
    (CounterRole::MachineCpuSystem, "system", Colour::Vermillion),
    (CounterRole::MachineCpuSoftirq, "softirq", Colour::Orange),
    (CounterRole::MachineCpuIowait, "iowait", Colour::Purple),
    (CounterRole::MachineCpuSteal, "steal", Colour::Black),
];

/// More pictures of one sort would not be looked at.
const FIGURES_MAX: usize = 24;
/// As many values as a panel has places for.
const VALUES_MAX: usize = 600;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let chosen = chosen(analysis);
    let note = match chosen.len() < analysis.points.len() {
        true => " Drawn: the best point of each sweep, and the points with stalls.",
        false => "",
    };
    chosen.into_iter().filter_map(|point| draw_figure(analysis, point, note)).collect()
}

/// All points where they are few; else the one with the highest rate of each sweep and those that stalled, in their order.
fn chosen(analysis: &Analysis) -> Vec<&PointAnalysis> {
    if analysis.points.len() <= FIGURES_MAX {
        return analysis.points.iter().collect();
    }
    let rate = |p: &PointAnalysis| p.summary.as_ref().map_or(0.0, |s| s.ops_per_s);
    let fastest = |group: &Group| group.points.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))).map(|p| p.id);
    let stalled = analysis.points.iter().filter(|p| p.shape.as_ref().is_some_and(|shape| !shape.stalls.is_empty()));
    let all: Vec<u32> = groups(analysis).iter().filter_map(fastest).chain(stalled.map(|p| p.id)).collect();
    let drawn: BTreeSet<u32> = all.into_iter().take(FIGURES_MAX).collect();
    analysis.points.iter().filter(|p| drawn.contains(&p.id)).collect()
}

fn draw_figure(analysis: &Analysis, point: &PointAnalysis, note: &str) -> Option<Figure> {
    let counters: Vec<Panel> =
        [cpu(point), disk_operations(point), disk_bytes(point), disk_queue(point)].into_iter().flatten().collect();
    let range = time_range([point])?;
    if counters.is_empty() {
        return None;
    }
    // A step that is timed as a whole has no rate to draw.
    let throughput = point.duration_s().is_none().then(|| draw_point("Throughput", point, 110.0));
    let panels: Vec<Panel> = throughput.into_iter().chain(counters).collect();
    Some(Figure {
        id: format!("resources-{}-{}", point.id, slug(&point_label(point))).trim_end_matches('-').to_owned(),
        title: format!("CPU and disk: {}", point_label(point)),
        caption: format!(
            "{}.{}{}{}{note}",
            conditions(analysis, &[point]),
            shading_note(&[point]),
            bin_note(&[point]),
            partial_note(&[point])
        ),
        body: FigureBody::Panels { x: super::axes::time_axis(range), panels },
    })
}

fn cpu(point: &PointAnalysis) -> Option<Panel> {
    let uses: Vec<_> = CPU_USES.iter().filter_map(|u| Some((u, thinned(counter(point, u.0)?)))).collect();
    let idle = &thinned(counter(point, CounterRole::MachineCpuIdle)?);
    let all: Vec<&CounterSeries> = uses.iter().map(|(_, c)| c).chain([idle]).collect();
    let mut totals = totals(&all);
    let (from, to) = time_range([point])?;
    totals.retain(|(time, _)| (from..=to).contains(&middle_before(idle, *time)));
    let mut below = vec![0.0; totals.len()];
    let mut series = Vec::new();
    for ((_, label, colour), counter) in &uses {
        let mut bounds = Vec::new();
        for ((time, total), low) in totals.iter().zip(&mut below) {
            let high = *low + 100.0 * value_at(counter, *time).unwrap_or(0.0) / total;
            bounds.push((middle_before(idle, *time), *low, high));
            *low = high;
        }
        series.push(DataSeries::named(*label, *colour, vec![Mark::Area(bounds)]));
    }
    let y = Axis { range: Some((0.0, 100.0)), ..Axis::from_zero("percent of all CPUs, stacked", AxisUnit::Percent) };
    panel(point, "CPU", y, series)
}

/// The moments at which every use is known, with the sum of all uses.
fn totals(all: &[&CounterSeries]) -> Vec<(f64, f64)> {
    let Some(first) = all.first() else { return Vec::new() };
    let sum = |t: f64| Some((t, all.iter().map(|c| value_at(c, t)).sum::<Option<f64>>()?));
    first.values.iter().filter_map(|v| sum(v.0)).filter(|(_, total)| *total > 0.0).collect()
}

/// Values are in time order.
fn value_at(counter: &CounterSeries, time: f64) -> Option<f64> {
    let found = counter.values.binary_search_by(|v| v.0.total_cmp(&time));
    found.ok().map(|i| counter.values[i].1)
}

fn disk_operations(point: &PointAnalysis) -> Option<Panel> {
    let lines = [
        (CounterRole::DeviceReadOps, "reads", Colour::Blue),
        (CounterRole::DeviceWriteOps, "writes", Colour::Vermillion),
        (CounterRole::DeviceFlushOps, "flushes", Colour::Green),
    ];
    let series = lines.iter().filter_map(|(role, label, colour)| line(point, *role, label, *colour, 1.0)).collect();
    panel(point, &disk_title(point, "operations"), Axis::from_zero("operations/s", AxisUnit::Count), series)
}

fn disk_bytes(point: &PointAnalysis) -> Option<Panel> {
    let lines = [
        (CounterRole::DeviceReadBytes, "read", Colour::Blue),
        (CounterRole::DeviceWriteBytes, "written", Colour::Vermillion),
    ];
    let series = lines.iter().filter_map(|(role, label, colour)| line(point, *role, label, *colour, 1e-6)).collect();
    panel(point, &disk_title(point, "transfer"), Axis::from_zero("MB/s (1 MB = 10^6 bytes)", AxisUnit::Count), series)
}

fn disk_queue(point: &PointAnalysis) -> Option<Panel> {
    let series = line(point, CounterRole::DeviceQueue, "mean", Colour::Purple, 1e-9).into_iter().collect();
    panel(point, &disk_title(point, "queue"), Axis::from_zero("operations in flight", AxisUnit::Count), series)
}

fn disk_title(point: &PointAnalysis, what: &str) -> String {
    // The first, as in `line`: of a volume and the disk below it, the volume.
    match counters(point).find(|c| is_of_device(c)).map(|c| c.subject.as_str()) {
        Some(device) if !device.is_empty() => format!("Disk {device}, {what}"),
        _ => format!("Disk, {what}"),
    }
}

fn is_of_device(counter: &CounterSeries) -> bool {
    use CounterRole as R;
    let is_device = |role| {
        matches!(role, R::DeviceReadOps | R::DeviceWriteOps | R::DeviceFlushOps | R::DeviceReadBytes)
            || matches!(role, R::DeviceWriteBytes | R::DeviceBusy | R::DeviceQueue)
    };
    counter.role.is_some_and(is_device)
}

fn line(point: &PointAnalysis, role: CounterRole, label: &str, colour: Colour, factor: f64) -> Option<DataSeries> {
    let counter = thinned(counter(point, role)?);
    // The readings go on for a moment when the load is over.
    let (from, to) = time_range([point])?;
    let points = middles(&counter).into_iter().filter(|(t, _)| (from..=to).contains(t));
    let points: Vec<(f64, f64)> = points.map(|(t, v)| (t, v * factor)).collect();
    Some(DataSeries::named(label, colour, line_with_dots(points)))
}

fn panel(point: &PointAnalysis, title: &str, y: Axis, series: Vec<DataSeries>) -> Option<Panel> {
    let panel =
        Panel { title: title.to_owned(), note: String::new(), y, height: HEIGHT, shades: shades(point), series };
    (!panel.series.is_empty()).then_some(panel)
}

/// As many neighbouring stretches as one as leave values that can be drawn. A rate is then the mean of equal stretches; where
/// one before a gap is longer, it counts as one.
fn thinned(counter: &CounterSeries) -> CounterSeries {
    let each = counter.values.len().div_ceil(VALUES_MAX).max(1);
    let mean = |part: &[(f64, f64)]| {
        let sum: f64 = part.iter().map(|(_, value)| value).sum();
        (part[part.len() - 1].0, sum / part.len() as f64)
    };
    CounterSeries { values: counter.values.chunks(each).map(mean).collect(), ..counter.clone() }
}

/// The values in the middle of their stretches, as the dots of the throughput are in the middle of their intervals.
fn middles(counter: &CounterSeries) -> Vec<(f64, f64)> {
    counter.values.iter().map(|(end, value)| (middle_before(counter, *end), *value)).collect()
}

/// The middle of the stretch that ends at `end`, a time of `counter`: halfway to the reading before it.
fn middle_before(counter: &CounterSeries, end: f64) -> f64 {
    let nth = counter.values.partition_point(|(time, _)| *time < end);
    match nth.checked_sub(1) {
        Some(before) => (counter.values[before].0 + end) / 2.0,
        None => end - half_stretch(counter),
    }
}

/// Half the usual length of a stretch: a gap makes one of them longer, so the median counts.
fn half_stretch(counter: &CounterSeries) -> f64 {
    let mut lengths: Vec<f64> = counter.values.windows(2).map(|w| w[1].0 - w[0].0).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).map_or(0.0, |length| length / 2.0)
}

fn counters(point: &PointAnalysis) -> impl Iterator<Item = &CounterSeries> {
    point.series.iter().flat_map(|s| &s.counters)
}

/// The first counter of that role that was read.
pub fn counter(point: &PointAnalysis, role: CounterRole) -> Option<&CounterSeries> {
    counters(point).find(|c| c.role == Some(role) && !c.values.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_drawn_where_the_throughput_of_the_same_time_is() {
        let analysis = crate::testing::quick();
        let point = &analysis.points[5];
        let interval = point.series.as_ref().unwrap().intervals[3];
        let reads = middles(counter(point, CounterRole::DeviceWriteOps).unwrap());
        assert!((reads[3].0 - (interval.at_s + interval.length_s / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn the_counter_of_another_source_is_found_by_its_names_and_draws_no_panel() {
        let quick = crate::testing::quick();
        let panels = |analysis: &Analysis| crate::testing::panels(&draw(analysis)[0]).len();
        let before = panels(&quick);
        let analysis = crate::testing::with_counter(quick, ("mariadb", CounterRole::LogAge, "bytes"), |end| 1e6 * end);
        let found = counter(&analysis.points[0], CounterRole::LogAge).expect("it was added");
        assert_eq!(found.values.last(), Some(&(4.0, 4e6)));
        assert_eq!(panels(&analysis), before);
    }

    #[test]
    fn what_was_read_when_the_load_was_over_is_not_drawn() {
        let mut analysis = crate::testing::quick();
        let point = &mut analysis.points[5];
        let drawn = |point: &PointAnalysis| {
            let series = line(point, CounterRole::DeviceWriteOps, "writes", Colour::Blue, 1.0).unwrap();
            let Mark::Line(_, points) = &series.marks[0] else { panic!("a line") };
            points.len()
        };
        let before = drawn(point);
        for counter in &mut point.series.as_mut().unwrap().counters {
            let last = counter.values.last().unwrap().0;
            counter.values.push((last + 0.05, 0.0));
        }
        assert_eq!(drawn(point), before);
    }

    #[test]
    fn many_values_are_drawn_as_their_means_and_few_as_they_are() {
        let analysis = crate::testing::quick();
        let few = counter(&analysis.points[0], CounterRole::DeviceReadOps).unwrap();
        assert_eq!(&thinned(few), few);
        let values = (1..=1_200).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let many = thinned(&CounterSeries { values, ..few.clone() });
        assert_eq!(many.values.len(), 600);
        assert!(many.values.iter().all(|(_, value)| *value == 0.5));
        assert_eq!(many.values[0].0, 2.0);
    }

    #[test]
    fn of_many_points_the_fastest_of_each_sweep_and_those_that_stalled_are_drawn() {
        let mut analysis = crate::testing::with_points(40);
        for point in &mut analysis.points {
            point.group = usize::from(point.id > 20);
            point.summary.as_mut().unwrap().ops_per_s = f64::from(point.id % 20);
        }
        let span = analysis::Span { from_s: 1.0, to_s: 2.0 };
        analysis.points[4].shape.as_mut().unwrap().stalls = vec![analysis::Stall { span, rate_share: 0.0 }];
        let ids = |analysis: &Analysis| chosen(analysis).iter().map(|p| p.id).collect::<Vec<_>>();
        assert_eq!(ids(&analysis), [5, 19, 39]);
        analysis.points.truncate(24);
        assert_eq!(ids(&analysis).len(), 24);
    }

    #[test]
    fn cpu_uses_are_stacked_and_stay_below_all_cpus() {
        let analysis = crate::testing::quick();
        let panel = cpu(&analysis.points[0]).unwrap();
        let areas = panel.series.iter().flat_map(|s| &s.marks);
        let bounds: Vec<_> = areas.filter_map(|m| if let Mark::Area(b) = m { Some(b) } else { None }).collect();
        assert_eq!(bounds.len(), CPU_USES.len());
        assert!(bounds.windows(2).all(|w| w[0].iter().zip(w[1]).all(|(below, above)| below.2 == above.1)));
        assert!(bounds.iter().all(|b| b.iter().all(|(_, low, high)| *low >= 0.0 && *high <= 100.0)));
    }
}
