//! The hosts of a point over time, under the throughput of all: what each did, its CPU, its disk, and every network interface of all hosts.
//!
//! In: the courses of the hosts. Out: one figure per point with several hosts. Limits: so many lines as have a style of their own are drawn: of more
//! hosts the first, of more interfaces those that carried most. A host that did not count something has no line.

use super::axes::time_range;
use super::below::{Below, FIGURES_MAX, panel};
use super::chart::Chart;
use super::marks::line_in_full;
use analysis::{HostCourse, HostSummary, PointAnalysis};
use plot::figure::{Axis, AxisUnit, DataSeries, Panel, SeriesStyle};

pub const CHART: Chart = Chart {
    id: "hosts",
    title: "Each host, below the throughput",
    help: "What the clients of each host did, how busy its CPUs and its disk were, and what went over its network interfaces, on one time axis. \
           Intervals of the same number are the same time on all hosts, as well as their clocks could be compared.",
    draw: |_| Vec::new(),
    of_points: Some(&FIGURES),
    #[cfg(test)]
    fixture: crate::testing::with_hosts,
};

/// So many lines have a style of their own.
const LINES_MAX: usize = 28;

const FIGURES: Below = Below { subject: |_| "Each host", panels, note: interfaces_note, figures_max: FIGURES_MAX };

/// What is drawn of a host: (seconds since the run phase began, value).
type CourseValues = fn(&HostCourse) -> Vec<(f64, f64)>;

fn panels(point: &PointAnalysis, _: (f64, f64)) -> Vec<Panel> {
    let count = |label| Axis::from_zero(label, AxisUnit::Count);
    let percent = Axis { range: Some((0.0, 100.0)), ..count("percent in use") };
    let of_hosts: [(&str, Axis, CourseValues); 4] = [
        ("Operations of each host", count("operations/s"), |course| course.ops_per_s.clone()),
        ("CPU of each host", percent, |course| scaled(&course.cpu_busy, 100.0)),
        ("Network of each host, all interfaces and both ways", count("MB/s"), |course| scaled(&summed(course), 1e-6)),
        ("Disk of each host, read and written", count("MB/s"), |course| scaled(&course.disk_bytes_per_s, 1e-6)),
    ];
    let drawn = of_hosts.into_iter().filter_map(|(title, axis, values)| host_panel(point, title, axis, values));
    drawn.chain(interfaces_panel(point)).collect()
}

/// A line for each host that has `values`; `None` if none has.
fn host_panel(point: &PointAnalysis, title: &str, axis: Axis, values: CourseValues) -> Option<Panel> {
    let range = time_range([point])?;
    let line = |(nth, host): (usize, &HostSummary)| {
        let (inside, style) = (within(values(&host.course), range), SeriesStyle::nth(nth));
        (!inside.is_empty()).then(|| DataSeries::named(host.host.clone(), style, line_in_full(inside.clone(), inside)))
    };
    let lines: Vec<DataSeries> = point.hosts.iter().take(LINES_MAX).enumerate().filter_map(line).collect();
    (!lines.is_empty()).then(|| panel(point, title, axis, lines))
}

/// Every interface of every host, each way by itself; `None` if there is one interface only.
fn interfaces_panel(point: &PointAnalysis) -> Option<Panel> {
    let range = time_range([point])?;
    let all = busiest_ways(point);
    if all.len() < 2 {
        return None;
    }
    let line = |(nth, way): (usize, LinkDirection)| {
        let inside = within(scaled(way.values, 1e-6), range);
        DataSeries::named(way.name, SeriesStyle::nth(nth), line_in_full(inside.clone(), inside))
    };
    let lines = all.into_iter().take(LINES_MAX).enumerate().map(line).collect();
    let axis = Axis::from_zero("MB/s", AxisUnit::Count);
    Some(panel(point, "Every network interface", axis, lines))
}

/// One direction of one interface.
struct LinkDirection<'a> {
    name: String,
    values: &'a [(f64, f64)],
}

/// The directions of all interfaces, those that carried most first.
fn busiest_ways(point: &PointAnalysis) -> Vec<LinkDirection<'_>> {
    let interfaces = point.hosts.iter().flat_map(|host| host.course.interfaces.iter().map(move |one| (host, one)));
    let mut all: Vec<LinkDirection> = interfaces
        .flat_map(|(host, one)| {
            let way = |word, values| LinkDirection { name: format!("{} {} {word}", host.host, one.interface), values };
            [way("out", &one.sent_bytes_per_s[..]), way("in", &one.received_bytes_per_s[..])]
        })
        .filter(|way| way.values.iter().any(|(_, per_s)| *per_s > 0.0))
        .collect();
    let carried = |way: &LinkDirection| way.values.iter().map(|(_, per_s)| per_s).sum::<f64>();
    all.sort_by(|a, b| carried(b).total_cmp(&carried(a)));
    all
}

fn interfaces_note(point: &PointAnalysis) -> String {
    let ways = busiest_ways(point).len();
    if ways > LINES_MAX {
        format!(" Drawn of the interfaces: the {LINES_MAX} of {ways} directions that carried most.")
    } else {
        String::new()
    }
}

/// What all interfaces of a host carried in both directions together.
fn summed(course: &HostCourse) -> Vec<(f64, f64)> {
    let mut ways = course.interfaces.iter().flat_map(|one| [&one.sent_bytes_per_s, &one.received_bytes_per_s]);
    let Some(first) = ways.next() else { return Vec::new() };
    let mut sum = first.clone();
    // All interfaces of a host are read at the same moments.
    for way in ways {
        sum.iter_mut().zip(way).for_each(|((_, sum), (_, per_s))| *sum += per_s);
    }
    sum
}

fn scaled(values: &[(f64, f64)], factor: f64) -> Vec<(f64, f64)> {
    values.iter().map(|(at_s, value)| (*at_s, value * factor)).collect()
}

fn within(values: Vec<(f64, f64)>, (from_s, to_s): (f64, f64)) -> Vec<(f64, f64)> {
    values.into_iter().filter(|(at_s, _)| (from_s..=to_s).contains(at_s)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{panels, quick, with_hosts};

    #[test]
    fn hosts_are_lines_and_all_interfaces_are_in_one_panel() {
        let figures = CHART.figures(&with_hosts(), crate::charts::PointCharts::All);
        let drawn = panels(&figures[0]);
        let titles: Vec<&str> = drawn.iter().map(|panel| panel.title.as_str()).collect();
        let expected = [
            "Operations of each host",
            "CPU of each host",
            "Network of each host, all interfaces and both ways",
            "Disk of each host, read and written",
            "Every network interface",
        ];
        assert_eq!(titles[1..], expected);
        assert_eq!(drawn.iter().skip(1).map(|panel| panel.series.len()).collect::<Vec<_>>(), [2, 3, 3, 1, 8]);
        let lines: Vec<&str> = drawn[5].series.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(lines[..2], ["n1 eth1 out", "n1 eth0 in"], "those that carried most are first");
        assert!(CHART.figures(&quick(), crate::charts::PointCharts::All).is_empty());
    }
}
