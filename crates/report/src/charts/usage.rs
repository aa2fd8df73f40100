//! CPU and disk against clients: what the machine was busy with at each place of a sweep.
//!
//! In: the counters of CPU and disk of the points of each sweep over clients. Out: one figure per sweep, its throughput and a row for
//! each use below it, in the same panels and lines. Limits: a use that is nowhere worth a row is named in the caption; means over the
//! part of the run phase that counts, and over repeats; CPU in percent of all CPUs of the machine, by whatever process; none over depth,
//! which is a sweep of the disk itself.

use super::chart::Chart;
use super::counters::find_counter;
use super::marks::invalid_note;
use super::sweep::{SweepFigure, SweepMeasure, Together};
use super::throughput::{multiples, named, rate_row, row};
use crate::format;
use crate::sheet::SweepAxis;
use crate::wording::list::join_and;
use crate::wording::quantity::percent;
use analysis::math::repeats::WithInterval;
use analysis::{Analysis, CounterSeries, PointAnalysis};
use model::CounterRole;
use plot::figure::{Axis, AxisUnit, Figure, GridRow, Stroke};
use std::collections::BTreeSet;

pub const CHART: Chart = Chart {
    id: "usage",
    title: "CPU and disk against clients",
    help: "Look for the panel that reaches its maximum where throughput stops rising. Panels of the CPU go up to all CPUs.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

/// One use: the label of its axis, how its numbers are written, and how much of it a point made.
type Use = (&'static str, AxisUnit, fn(&PointAnalysis) -> Option<WithInterval>);

/// What is drawn, from top to bottom.
const USES: [Use; 5] = [
    ("disk reads/s", AxisUnit::Count, |p| disk(p, CounterRole::DeviceReadOps)),
    ("disk writes/s", AxisUnit::Count, |p| disk(p, CounterRole::DeviceWriteOps)),
    ("user CPU, percent of all CPUs", AxisUnit::Percent, |p| cpu(p, CounterRole::MachineCpuUser)),
    ("system CPU, percent of all CPUs", AxisUnit::Percent, |p| cpu(p, CounterRole::MachineCpuSystem)),
    ("CPU idle and waiting for I/O, percent of all CPUs", AxisUnit::Percent, |p| cpu(p, CounterRole::MachineCpuIowait)),
];

/// Together they are all the time of the CPUs.
const CPU_TIMES: [CounterRole; 6] = [
    CounterRole::MachineCpuUser,
    CounterRole::MachineCpuSystem,
    CounterRole::MachineCpuIowait,
    CounterRole::MachineCpuSteal,
    CounterRole::MachineCpuSoftirq,
    CounterRole::MachineCpuIdle,
];

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let all = named(analysis, ("usage", "CPU and disk"));
    let over_clients = all.iter().filter(|(sweep, _)| sweep.dimension == SweepAxis::Clients);
    let figures = over_clients.filter_map(|(sweep, names)| {
        let (rows, unseen) = rows(sweep)?;
        let figure = multiples(analysis, sweep, names, rows);
        let caption = figure.caption + &disks(sweep) + &unseen + invalid_note(&sweep.split.points());
        Some(Figure { caption, ..figure })
    });
    figures.collect()
}

/// Which disks the counters are of: that of a file system that was made is not that of the directory.
fn disks(sweep: &SweepFigure) -> String {
    let points = sweep.split.points();
    let counters = points.iter().filter_map(|point| find_counter(point, CounterRole::DeviceWriteOps));
    let all: BTreeSet<&str> =
        counters.map(|counter| counter.subject.as_str()).filter(|disk| !disk.is_empty()).collect();
    match all.len() {
        1 | 2 => format!(" Disk: {}.", all.into_iter().collect::<Vec<_>>().join(" and ")),
        _ => String::new(),
    }
}

/// A use that is nowhere above this has no row: 1 % of the CPUs, or one operation of the disk per second.
const SEEN_MIN: f64 = 1.0;
/// The axis of a use reaches at least this: all CPUs, or so many operations per second. 12 operations are then not as high as a busy disk.
const TOP_MIN: f64 = 100.0;
/// Room above the highest dot.
const HEADROOM: f64 = 1.06;

/// The throughput and the rows of what was used below it, and which uses have none; `None` if nothing was measured.
fn rows(sweep: &SweepFigure) -> Option<(Vec<GridRow>, String)> {
    let points = sweep.split.points();
    let most = |one: &Use| points.iter().filter_map(|point| Some((one.2)(point)?.0)).reduce(f64::max);
    let measured = USES.iter().filter_map(|one| Some((one, most(one)?)));
    let (seen, unseen): (Vec<_>, Vec<_>) = measured.partition(|(_, most)| *most >= SEEN_MIN);
    let uses = seen.iter().map(|(one, most)| draw_use(sweep, one, *most));
    let rows = std::iter::once(rate_row(sweep)).chain(uses).collect();
    (!seen.is_empty()).then(|| (rows, unseen_note(&unseen)))
}

fn draw_use(sweep: &SweepFigure, (label, unit, of): &Use, most: f64) -> GridRow {
    let measure = SweepMeasure { of: *of, together: Together::Mean };
    let top = if *unit == AxisUnit::Percent { TOP_MIN } else { (HEADROOM * most).max(TOP_MIN) };
    let axis = Axis { range: Some((0.0, top)), ..Axis::from_zero(label, *unit) };
    GridRow { height: 90.0, ..row(sweep, axis, &[(&measure, Stroke::Solid)]) }
}

/// What has no row, with the most of it, for captions; empty for nothing.
fn unseen_note(unseen: &[(&Use, f64)]) -> String {
    let one = |((label, unit, _), most): &(&Use, f64)| match unit {
        _ if *most <= 0.0 => format!("{label} (none)"),
        AxisUnit::Percent => format!("{label} (at most {})", percent(most / 100.0)),
        _ => format!("{label} (at most {})", format::number(*most)),
    };
    match unseen {
        [] => String::new(),
        some => format!(" Not drawn: {}.", join_and(&some.iter().map(one).collect::<Vec<_>>())),
    }
}

fn disk(point: &PointAnalysis, role: CounterRole) -> Option<WithInterval> {
    Some((counter_mean(point, role)?, None))
}

/// The share of one use in all the time of the CPUs, in percent.
fn cpu(point: &PointAnalysis, role: CounterRole) -> Option<WithInterval> {
    let total: f64 = CPU_TIMES.into_iter().filter_map(|role| counter_mean(point, role)).sum();
    let used = counter_mean(point, role)?;
    (total > 0.0).then(|| (100.0 * used / total, None))
}

fn counter_mean(point: &PointAnalysis, role: CounterRole) -> Option<f64> {
    counted_mean(point, find_counter(point, role)?)
}

/// The mean rate in the part that counts: over the stretches whose middle is in it, each weighted by its time.
fn counted_mean(point: &PointAnalysis, counter: &CounterSeries) -> Option<f64> {
    let counted = point.series.as_ref()?.counted;
    let inside = counter.values.iter().filter(|(span, _)| (counted.from_s..counted.to_s).contains(&span.middle_s()));
    let (seconds, sum) = inside
        .fold((0.0, 0.0), |(seconds, sum), (span, rate)| (seconds + span.length_s(), sum + span.length_s() * rate));
    (seconds > 0.0 && sum.is_finite()).then(|| sum / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;
    use plot::figure::{FigureBody, Mark};

    #[test]
    fn a_sweep_over_clients_has_a_row_for_each_use_and_one_over_depth_has_none() {
        let figures = draw(&quick());
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["usage-oltp-clients"]);
        let FigureBody::Grid { rows, columns, .. } = &figures[0].body else { panic!("a grid") };
        assert!((4..=1 + USES.len()).contains(&rows.len()), "{} rows: {}", rows.len(), figures[0].caption);
        assert!(rows[0].y.label.contains("/s") && columns.len() == 1);
    }

    #[test]
    fn shares_of_the_cpu_have_one_scale_and_what_is_next_to_nothing_has_no_row() {
        let mut analysis = quick();
        for point in &mut analysis.points {
            let counters = &mut point.series.as_mut().unwrap().counters;
            for counter in counters.iter_mut().filter(|counter| counter.role == Some(CounterRole::DeviceReadOps)) {
                counter.values.iter_mut().for_each(|(_, rate)| *rate = 0.0);
            }
            for counter in counters.iter_mut().filter(|counter| counter.role == Some(CounterRole::DeviceWriteOps)) {
                counter.values.iter_mut().for_each(|(_, rate)| *rate = 12.0);
            }
        }
        let figure = draw(&analysis).remove(0);
        assert!(figure.caption.contains("Not drawn: disk reads/s (none)"), "{}", figure.caption);
        let FigureBody::Grid { rows, .. } = &figure.body else { panic!("a grid") };
        let tops: Vec<_> = rows[1..].iter().map(|row| row.y.range).collect();
        assert!(tops.iter().all(|range| *range == Some((0.0, 100.0))), "{tops:?}");
    }

    #[test]
    fn a_use_is_the_mean_over_what_counts_and_not_over_the_warmup() {
        let mut analysis = quick();
        let point = &mut analysis.points[10];
        let series = point.series.as_mut().unwrap();
        let from_s = series.counted.from_s;
        let counter = series.counters.iter_mut().find(|c| c.role == Some(CounterRole::DeviceWriteOps)).unwrap();
        counter.values.iter_mut().for_each(|(span, rate)| *rate = if span.middle_s() > from_s { 700.0 } else { 9.0 });
        assert_eq!(disk(point, CounterRole::DeviceWriteOps), Some((700.0, None)));
    }

    #[test]
    fn all_uses_of_the_cpu_together_are_all_of_it() {
        let analysis = quick();
        let shares = CPU_TIMES.iter().map(|role| cpu(&analysis.points[10], *role).unwrap().0);
        assert!((shares.sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_use_that_nobody_read_has_no_row() {
        let mut analysis = quick();
        for point in &mut analysis.points {
            point.series.as_mut().unwrap().counters.retain(|counter| counter.source == "disk");
        }
        let FigureBody::Grid { rows, .. } = &draw(&analysis)[0].body else { panic!("a grid") };
        assert_eq!(rows.len(), 3, "the throughput, reads and writes");
        let line =
            rows[2].cells[0][0].marks.iter().any(|mark| matches!(mark, Mark::Line(_, points) if points.len() == 3));
        assert!(line, "{:?}", rows[1].cells);
    }
}
