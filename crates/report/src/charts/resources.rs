//! CPU, disk and network under the throughput, on one time axis: what was busy when it was slow.
//!
//! In: the counters of CPU, disk and network of each point. Out: one figure per point, up to seven panels of what was used; of many
//! points those at the top of their sweeps, and those that stalled. Limits: CPU in percent of all CPUs of the machine; the disk is the
//! device under the data, whoever used it.

use super::axes::time_range;
use super::below::{self, Below, FIGURES_MAX};
use super::best_rates::{RateUnit, best_rates_note, with_best_rates};
use super::chart::Chart;
use super::counters::{CounterLine, counters, drawn_line, find_counter};
use super::owners;
use super::stack::{percent_axis, stacked_counters};
use crate::palette;
use crate::wording::list::join_and;
use analysis::{CounterSeries, PointAnalysis};
use model::CounterRole;
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Mark, Panel, Stroke};

pub const CHART: Chart = Chart {
    id: "resources",
    title: "CPU, disk and network, below the throughput",
    help: "All panels share one time axis: look down from a drop in throughput to what was busy then. The panels of the disk \
           count what all processes did; the tables of costs count what the engine did.",
    draw: |_| Vec::new(),
    of_points: Some(&FIGURES),
    #[cfg(test)]
    fixture: crate::testing::quick,
};

const FIGURES: Below = Below { subject, panels, note, figures_max: FIGURES_MAX };

/// Uses of the CPU, from the bottom of the stack.
const CPU_USES: [(CounterRole, &str, Colour); 5] = [
    (CounterRole::MachineCpuUser, "user", palette::SLATE),
    (CounterRole::MachineCpuSystem, "system", palette::CLAY),
    (CounterRole::MachineCpuSoftirq, "softirq", palette::SAND),
    (CounterRole::MachineCpuIowait, "iowait", palette::ROSE),
    (CounterRole::MachineCpuSteal, "steal", palette::ASH),
];

fn panels(point: &PointAnalysis, range: (f64, f64)) -> Vec<Panel> {
    all_panels(point, range).into_iter().filter(|panel| highest(panel) > 0.0).collect()
}

/// The panels of all that was measured.
fn all_panels(point: &PointAnalysis, range: (f64, f64)) -> Vec<Panel> {
    let of_disk = [disk_operations(point), disk_bytes(point), disk_queue(point)];
    let all = [owners::panel_over_time(point, range), cpu(point, range)].into_iter().chain(of_disk);
    all.chain([network(point)]).flatten().collect()
}

/// Which panels are left out, whose time the panel of owners cannot tell apart, and what the best rates are.
fn note(point: &PointAnalysis) -> String {
    unused_note(point) + &owners::note_of_point(point) + &best_rates_note(point)
}

/// The panels in which nothing happened, for captions; empty if there are none.
fn unused_note(point: &PointAnalysis) -> String {
    let all = time_range([point]).map_or(Vec::new(), |range| all_panels(point, range));
    let unused =
        all.into_iter().filter(|panel| highest(panel) <= 0.0).map(|panel| format!("\u{201c}{}\u{201d}", panel.title));
    match join_and(&unused.collect::<Vec<_>>()) {
        none if none.is_empty() => none,
        titles => format!(" Not drawn, because nothing happened: {titles}."),
    }
}

/// The highest value of what is drawn.
fn highest(panel: &Panel) -> f64 {
    let marks = panel.series.iter().flat_map(|series| &series.marks);
    let heights = marks.flat_map(|mark| match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) | Mark::Rings(_, points) => {
            points.iter().map(|place| place.1).collect::<Vec<_>>()
        }
        Mark::Area(bounds) | Mark::Band(bounds) => bounds.iter().map(|bound| bound.2).collect(),
        _ => Vec::new(),
    });
    heights.filter(|height| height.is_finite()).fold(0.0, f64::max)
}

/// `panel` with an axis that reaches `least` at least: next to nothing is then not drawn as high as a lot.
fn up_to_at_least(panel: Panel, least: f64) -> Panel {
    if highest(&panel) < least { Panel { y: Axis { range: Some((0.0, least)), ..panel.y }, ..panel } } else { panel }
}

/// What the panels are about.
fn subject(point: &PointAnalysis) -> &'static str {
    match find_counter(point, CounterRole::NetworkSentBytes).filter(|_| point.hosts.is_empty()) {
        Some(_) => "CPU, disk and network",
        None => "CPU and disk",
    }
}

fn cpu(point: &PointAnalysis, range: (f64, f64)) -> Option<Panel> {
    let uses: Vec<_> = CPU_USES.iter().filter_map(|u| Some((u, find_counter(point, u.0)?))).collect();
    let idle = find_counter(point, CounterRole::MachineCpuIdle)?;
    let counters: Vec<&CounterSeries> = uses.iter().map(|(_, counter)| *counter).chain([idle]).collect();
    let areas = uses.iter().zip(stacked_counters(&counters, range));
    let series = areas.map(|(((_, label, colour), _), area)| DataSeries::named(*label, *colour, area.into_marks()));
    panel(point, "CPU", percent_axis("percent of all CPUs, stacked"), series.collect())
}

fn disk_operations(point: &PointAnalysis) -> Option<Panel> {
    let lines = [
        CounterLine { role: CounterRole::DeviceReadOps, label: "reads", colour: palette::SLATE, factor: 1.0 },
        CounterLine { role: CounterRole::DeviceWriteOps, label: "writes", colour: palette::CLAY, factor: 1.0 },
        CounterLine { role: CounterRole::DeviceFlushOps, label: "flushes", colour: palette::LILAC, factor: 1.0 },
    ];
    let series = lines.iter().filter_map(|line| drawn_line(point, line)).collect();
    let panel =
        panel(point, &disk_title(point, "operations"), Axis::from_zero("operations/s", AxisUnit::Count), series)?;
    Some(up_to_at_least(with_best_rates(panel, point, RateUnit::Operations), 100.0))
}

fn disk_bytes(point: &PointAnalysis) -> Option<Panel> {
    let lines = [
        CounterLine { role: CounterRole::DeviceReadBytes, label: "read", colour: palette::SLATE, factor: 1e-6 },
        CounterLine { role: CounterRole::DeviceWriteBytes, label: "written", colour: palette::CLAY, factor: 1e-6 },
    ];
    let series = lines.iter().filter_map(|line| drawn_line(point, line)).collect();
    let y = Axis::from_zero("MB/s (1 MB = 10^6 bytes)", AxisUnit::Count);
    let panel = panel(point, &disk_title(point, "transfer"), y, series)?;
    Some(up_to_at_least(with_best_rates(panel, point, RateUnit::Megabytes), 1.0))
}

fn disk_queue(point: &PointAnalysis) -> Option<Panel> {
    let line = CounterLine { role: CounterRole::DeviceQueue, label: "mean", colour: palette::ROSE, factor: 1e-9 };
    let series = drawn_line(point, &line).into_iter().collect();
    let y = Axis::from_zero("operations in flight", AxisUnit::Count);
    Some(up_to_at_least(panel(point, &disk_title(point, "queue"), y, series)?, 1.0))
}

/// What went over the interface to the server; over loopback what is sent is both directions. Several hosts have a chart of their own.
fn network(point: &PointAnalysis) -> Option<Panel> {
    if !point.hosts.is_empty() {
        return None;
    }
    let has_directions = find_counter(point, CounterRole::NetworkReceivedBytes).is_some();
    let sent = if has_directions { "sent" } else { "both ways" };
    let lines = [
        CounterLine {
            role: CounterRole::NetworkReceivedBytes,
            label: "received",
            colour: palette::SLATE,
            factor: 1e-6,
        },
        CounterLine { role: CounterRole::NetworkSentBytes, label: sent, colour: palette::CLAY, factor: 1e-6 },
    ];
    let used = lines.iter().filter_map(|line| drawn_line(point, line));
    let series = used.chain(link_line(point)).collect();
    let interface = find_counter(point, CounterRole::NetworkSentBytes).map_or("", |counter| counter.subject.as_str());
    panel(
        point,
        format!("Network {interface}").trim_end(),
        Axis::from_zero("MB/s (1 MB = 10^6 bytes)", AxisUnit::Count),
        series,
    )
}

/// A link of which less than this is used would press what is used to the floor.
const LINK_SHARE_MIN: f64 = 0.2;

/// How much one direction of the link carries.
fn link_line(point: &PointAnalysis) -> Option<DataSeries> {
    let network =
        point.summary.as_ref()?.network.filter(|one| one.link_share.is_some_and(|share| share >= LINK_SHARE_MIN))?;
    let megabytes_per_s = network.link_bits_per_s? / 8e6;
    let (from_s, to_s) = time_range([point])?;
    let line = Mark::Line(Stroke::Dashed, vec![(from_s, megabytes_per_s), (to_s, megabytes_per_s)]);
    Some(DataSeries::named("speed of the link", Colour::Black, vec![line]))
}

fn disk_title(point: &PointAnalysis, what: &str) -> String {
    // The first, as in `find_counter`: of a volume and the disk below it, the volume.
    match counters(point).find(|c| is_of_device(c)).map(|c| c.subject.as_str()) {
        Some(device) if !device.is_empty() => format!("Disk {device}, {what}"),
        _ => format!("Disk, {what}"),
    }
}

fn is_of_device(counter: &CounterSeries) -> bool {
    use CounterRole as R;
    matches!(
        counter.role,
        Some(
            R::DeviceReadOps
                | R::DeviceWriteOps
                | R::DeviceFlushOps
                | R::DeviceReadBytes
                | R::DeviceWriteBytes
                | R::DeviceBusy
                | R::DeviceQueue
        )
    )
}

fn panel(point: &PointAnalysis, title: &str, y: Axis, series: Vec<DataSeries>) -> Option<Panel> {
    (!series.is_empty()).then(|| below::panel(point, title, y, series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::PointCharts;
    use analysis::Analysis;
    use analysis::Span;
    use model::CounterKind;
    use plot::Figure;

    fn cpu_panel(point: &PointAnalysis) -> Panel {
        cpu(point, time_range([point]).unwrap()).unwrap()
    }

    fn draw(analysis: &Analysis) -> Vec<Figure> {
        CHART.figures(analysis, PointCharts::All)
    }

    #[test]
    fn the_counter_of_another_source_is_found_by_its_names_and_draws_no_panel() {
        let quick = crate::testing::quick();
        let panels = |analysis: &Analysis| crate::testing::panels(&draw(analysis)[0]).len();
        let before = panels(&quick);
        let gauge = ("mariadb", CounterRole::LogAge, CounterKind::Gauge, "bytes");
        let analysis = crate::testing::with_counter(quick, gauge, |at_s| 1e6 * at_s);
        let found = find_counter(&analysis.points[0], CounterRole::LogAge).expect("it was added");
        let (span, level) = found.values.last().expect("it was read");
        assert_eq!((span.length_s(), *level), (0.0, 1e6 * span.to_s));
        assert_eq!(panels(&analysis), before);
    }

    #[test]
    fn a_panel_in_which_nothing_happened_is_named_and_next_to_nothing_is_low() {
        use crate::testing::panels;
        let mut analysis = crate::testing::quick();
        let set = |analysis: &mut Analysis, role: CounterRole, rate: f64| {
            let counters = &mut analysis.points[0].series.as_mut().unwrap().counters;
            let own = counters.iter_mut().filter(|counter| counter.role == Some(role));
            own.for_each(|counter| counter.values.iter_mut().for_each(|(_, value)| *value = rate));
        };
        let operations = [CounterRole::DeviceReadOps, CounterRole::DeviceWriteOps, CounterRole::DeviceFlushOps];
        let before = panels(&draw(&analysis)[0]).len();
        for role in operations {
            set(&mut analysis, role, 0.0);
        }
        let figure = draw(&analysis).remove(0);
        assert_eq!(panels(&figure).len(), before - 1);
        assert!(
            figure.caption.contains("nothing happened: ") && figure.caption.contains("operations"),
            "{}",
            figure.caption
        );
        set(&mut analysis, CounterRole::DeviceWriteOps, 12.0);
        let figure = draw(&analysis).remove(0);
        let panel = panels(&figure).iter().find(|panel| panel.title.ends_with("operations")).expect("12 writes/s");
        assert_eq!(panel.y.range, Some((0.0, 100.0)));
    }

    #[test]
    fn a_network_has_a_panel_and_loopback_one_line_for_both_directions() {
        use crate::testing::{panels, quick, with_counter};
        let counter = |role| ("network", role, CounterKind::Counter, "bytes");
        let sent = with_counter(quick(), counter(CounterRole::NetworkSentBytes), |at_s| 3e6 * at_s);
        let lines = |analysis: &Analysis| {
            let figure = draw(analysis).remove(0);
            let names =
                panels(&figure).last().unwrap().series.iter().map(|line| line.label.clone()).collect::<Vec<_>>();
            (figure.title.starts_with("CPU, disk and network: "), names)
        };
        assert_eq!(lines(&sent), (true, vec!["both ways".to_owned()]));
        let both = with_counter(sent, counter(CounterRole::NetworkReceivedBytes), |at_s| 9e6 * at_s);
        assert_eq!(lines(&both), (true, vec!["received".to_owned(), "sent".to_owned()]));
        assert!(!lines(&quick()).0);
        let with_link = |share: f64| {
            let mut analysis = both.clone();
            let (link_bits_per_s, link_share) = (Some(1e8), Some(share));
            let network = analysis::NetworkUse { link_bits_per_s, link_share, ..analysis::NetworkUse::default() };
            analysis.points[0].summary.as_mut().unwrap().network = Some(network);
            lines(&analysis).1.len()
        };
        assert_eq!([0.96, 0.02].map(with_link), [3, 2], "of a link that is hardly used the speed is not drawn");
    }

    #[test]
    fn cpu_uses_are_stacked_and_stay_below_all_cpus() {
        let analysis = crate::testing::quick();
        let panel = cpu_panel(&analysis.points[0]);
        let areas = panel.series.iter().flat_map(|s| &s.marks);
        let bounds: Vec<_> = areas.filter_map(|m| if let Mark::Area(b) = m { Some(b) } else { None }).collect();
        assert_eq!(bounds.len(), CPU_USES.len());
        assert!(bounds.windows(2).all(|w| w[0].iter().zip(w[1]).all(|(below, above)| below.2 == above.1)));
        assert!(bounds.iter().all(|b| b.iter().all(|(_, low, high)| *low >= 0.0 && *high <= 100.0)));
    }

    #[test]
    fn shares_of_the_cpu_stay_the_same_behind_a_stretch_in_which_one_counter_was_reset() {
        let mut analysis = crate::testing::quick();
        let point = &mut analysis.points[0];
        let (from, to) = time_range([&*point]).unwrap();
        let each = (to - from) / 1_200.0;
        // One user's tick for three idle ones, ever more of both.
        for counter in &mut point.series.as_mut().unwrap().counters {
            let per_tick = match counter.role {
                Some(CounterRole::MachineCpuUser) => 1.0,
                Some(CounterRole::MachineCpuIdle) => 3.0,
                _ => 0.0,
            };
            let at = |nth: u32| from + f64::from(nth) * each;
            let span = |nth| Span { from_s: at(nth), to_s: at(nth + 1) };
            counter.values = (0..1_200).map(|nth| (span(nth), per_tick * f64::from(nth + 1))).collect();
        }
        let user = |panel: &Panel| match &panel.series[0].marks[0] {
            Mark::Area(bounds) => bounds.iter().map(|(_, _, high)| *high).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let whole = user(&cpu_panel(&analysis.points[0]));
        let counters = &mut analysis.points[0].series.as_mut().unwrap().counters;
        let reset = counters.iter_mut().find(|counter| counter.role == Some(CounterRole::MachineCpuUser)).unwrap();
        reset.values.remove(3);
        let after = user(&cpu_panel(&analysis.points[0]));
        assert_eq!((whole.len(), after.len()), (600, 600));
        assert!(whole.iter().chain(&after).all(|share| (share - 25.0).abs() < 1e-9), "{after:?}");
    }
}
