//! What happened inside the engine under the throughput, on one time axis: its log, what it has yet to write, its cache.
//!
//! In: the counters that an engine keeps of itself, by their roles. Out: one figure per point that has any. Limits: of several engines in one point the first is drawn. A panel whose values are 0
//! from beginning to end is left out: it has nothing to explain.

use super::below::{Below, FIGURES_MAX, panel};
use super::chart::Chart;
use super::counters::{CounterLine, drawn_line, find_counter};
use super::marks::line_in_full;
use super::stack::{matched_means, matched_values, percent_axis, percent_of};
use crate::palette;
use analysis::PointAnalysis;
use model::{CounterRole, StallReason};
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Mark, Panel, SeriesStyle, Stroke};

pub const CHART: Chart = Chart {
    id: "engine",
    title: "Inside the engine, below the throughput",
    help: "What the engine counts of itself, on the time axis of the throughput. If the log nears its limit (dashed), pages must be \
           written in haste. What is not written yet is owed: dirty pages, memtables, compactions.",
    draw: |_| Vec::new(),
    of_points: Some(&FIGURES),
    #[cfg(test)]
    fixture,
};

const FIGURES: Below =
    Below { subject: |_| "Inside the engine", panels, note: |_| String::new(), figures_max: FIGURES_MAX };

/// A panel of counters that share an axis.
struct PanelSpec {
    title: &'static str,
    axis: &'static str,
    /// The unit of the counters. Old runs have some in pages, which are not drawn.
    unit: &'static str,
    /// From that unit to that of the axis.
    factor: f64,
    lines: &'static [LineSpec],
}

/// What is drawn of a counter: its role, its name, its colour, how.
type LineSpec = (CounterRole, &'static str, Colour, Stroke);

const MB: &str = "MB (1 MB = 10^6 bytes)";

/// The panels, from the top.
const PANELS: [PanelSpec; 9] = [
    PanelSpec {
        title: "Log that a crash would replay",
        axis: MB,
        unit: "bytes",
        factor: 1e-6,
        lines: &[
            (CounterRole::LogAge, "age", palette::SLATE, Stroke::Solid),
            (CounterRole::LogAgeMax, "limit", Colour::Black, Stroke::Dashed),
            (CounterRole::LogHoldingData, "length", palette::ROSE, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Log made and written",
        axis: "MB/s",
        unit: "bytes/s",
        factor: 1e-6,
        lines: &[
            (CounterRole::LogMade, "made", palette::SLATE, Stroke::Solid),
            (CounterRole::LogWritten, "written", palette::CLAY, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Not written yet",
        axis: MB,
        unit: "bytes",
        factor: 1e-6,
        lines: &[
            (CounterRole::DirtyPages, "dirty pages", palette::SLATE, Stroke::Solid),
            (CounterRole::Memtable, "memtables", palette::LILAC, Stroke::Solid),
            (CounterRole::PendingCompaction, "compactions", palette::CLAY, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Tables and memtables that wait",
        axis: "number",
        unit: "count",
        factor: 1.0,
        lines: &[
            (CounterRole::UnsortedTables, "level 0", palette::SLATE, Stroke::Solid),
            (CounterRole::FullMemtables, "memtables", palette::LILAC, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Writers held back by the engine",
        axis: "writers, on average",
        unit: "ns/s",
        factor: 1e-9,
        lines: &[(CounterRole::WritersHeld, "held", palette::CLAY, Stroke::Solid)],
    },
    PanelSpec {
        title: "Times that it held writers back, by reason",
        axis: "times/s",
        unit: "ops/s",
        factor: 1.0,
        lines: &[
            (CounterRole::WritersHeldFor(StallReason::Memtables), "memtables", palette::LILAC, Stroke::Solid),
            (CounterRole::WritersHeldFor(StallReason::UnsortedTables), "level 0", palette::SLATE, Stroke::Solid),
            (CounterRole::WritersHeldFor(StallReason::PendingCompaction), "compactions", palette::CLAY, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Clients that wait until no other writes",
        axis: "clients, on average",
        unit: "ns/s",
        factor: 1e-9,
        lines: &[(CounterRole::WriterTurnTime, "waiting", palette::ROSE, Stroke::Solid)],
    },
    PanelSpec {
        title: "Waits",
        axis: "waits/s",
        unit: "ops/s",
        factor: 1.0,
        lines: &[
            (CounterRole::FreePageWaits, "free page", palette::SLATE, Stroke::Solid),
            (CounterRole::LogBufferWaits, "log buffer", palette::CLAY, Stroke::Solid),
        ],
    },
    PanelSpec {
        title: "Old versions of rows not removed yet",
        axis: "number, as the engine counts",
        unit: "count",
        factor: 1.0,
        lines: &[(CounterRole::HistoryLength, "history", palette::ROSE, Stroke::Solid)],
    },
];

fn panels(point: &PointAnalysis, range: (f64, f64)) -> Vec<Panel> {
    PANELS.iter().filter_map(|spec| counter_panel(point, spec)).chain(cache_panel(point, range)).collect()
}

/// The panel of `spec` with the counters that `point` has; `None` if none of them is ever above 0.
fn counter_panel(point: &PointAnalysis, spec: &PanelSpec) -> Option<Panel> {
    let has = |role| find_counter(point, role).filter(|counter| counter.unit == spec.unit);
    let moves = |line: &&LineSpec| has(line.0).is_some_and(|c| c.values.iter().any(|(_, value)| *value > 0.0));
    // A limit alone explains nothing.
    if !spec.lines.iter().filter(|line| line.3 == Stroke::Solid).any(|line| moves(&line)) {
        return None;
    }
    let lines = spec.lines.iter().filter(|line| has(line.0).is_some());
    let series = lines.filter_map(|line| counter_line(point, spec, *line)).collect();
    Some(panel(point, spec.title, Axis::from_zero(spec.axis, AxisUnit::Count), series))
}

fn counter_line(
    point: &PointAnalysis,
    spec: &PanelSpec,
    (role, label, colour, stroke): LineSpec,
) -> Option<DataSeries> {
    let series = drawn_line(point, &CounterLine { role, label, colour, factor: spec.factor })?;
    // A limit is no course to be followed from dot to dot.
    let style = series.style;
    let marks = series.marks.into_iter().filter_map(|mark| match (mark, stroke) {
        (Mark::Line(_, dots), _) => Some(Mark::Line(stroke, dots)),
        (dots, Stroke::Solid) => Some(dots),
        _ => None,
    });
    Some(DataSeries::named(label, style, marks.collect()))
}

/// The share of the pages or blocks asked for that were in the engine's cache, over the stretches in which any were.
fn cache_panel(point: &PointAnalysis, range: (f64, f64)) -> Option<Panel> {
    let [hits, misses] = [CounterRole::CacheHits, CounterRole::CacheMisses].map(|role| find_counter(point, role));
    let counters = [hits?, misses?];
    let ratio = |((at_s, hits), (_, misses)): (&(f64, f64), &(f64, f64))| (*at_s, percent_of(*hits, hits + misses));
    let ratios = |rates: &[Vec<(f64, f64)>]| rates[0].iter().zip(&rates[1]).map(ratio).collect::<Vec<_>>();
    let dots = ratios(&matched_means(&counters, range));
    if dots.is_empty() {
        return None;
    }
    let line = DataSeries::named(
        "hits",
        SeriesStyle::of_line(palette::LILAC),
        line_in_full(dots, ratios(&matched_values(&counters, range))),
    );
    Some(panel(point, "Found in the engine's cache", percent_axis("percent of pages asked for"), vec![line]))
}

/// The quick run on an engine that counts its log, its dirty pages and its cache.
#[cfg(test)]
fn fixture() -> analysis::Analysis {
    use crate::testing::{quick, with_counter};
    use model::CounterKind::{Counter, Gauge};
    let analysis = with_counter(quick(), ("innodb", CounterRole::LogAge, Gauge, "bytes"), |at_s| 3e7 + 1e6 * at_s);
    let analysis = with_counter(analysis, ("innodb", CounterRole::LogAgeMax, Gauge, "bytes"), |_| 8e7);
    let analysis = with_counter(analysis, ("innodb", CounterRole::DirtyPages, Gauge, "bytes"), |at_s| 2e6 * at_s);
    let analysis = with_counter(analysis, ("innodb", CounterRole::FreePageWaits, Counter, "ops"), |_| 0.0);
    let analysis = with_counter(analysis, ("innodb", CounterRole::CacheHits, Counter, "ops"), |at_s| 900.0 * at_s);
    with_counter(analysis, ("innodb", CounterRole::CacheMisses, Counter, "ops"), |at_s| 100.0 * at_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::PointCharts;
    use crate::testing::{panels, quick, with_counter};
    use analysis::Analysis;
    use model::CounterKind;
    use plot::Figure;

    fn titles(figure: &Figure) -> Vec<&str> {
        panels(figure).iter().map(|panel| panel.title.as_str()).collect()
    }

    fn draw(analysis: &Analysis) -> Vec<Figure> {
        CHART.figures(analysis, PointCharts::All)
    }

    #[test]
    fn the_panels_are_those_of_the_counters_that_the_engine_has_and_that_moved() {
        let figures = draw(&fixture());
        let expected =
            ["Throughput", "Log that a crash would replay", "Not written yet", "Found in the engine's cache"];
        assert_eq!(titles(&figures[0]), expected, "there was no wait for a free page");
        assert!(draw(&quick()).is_empty(), "no engine counts anything of itself");
    }

    #[test]
    fn the_age_of_the_log_is_drawn_in_mb_below_its_limit() {
        let figures = draw(&fixture());
        let log = &panels(&figures[0])[1];
        let line = |nth: usize| match &log.series[nth].marks[0] {
            Mark::Line(stroke, dots) => (*stroke, dots.clone()),
            _ => panic!("a line"),
        };
        let ((age, dots), (limit, at)) = (line(0), line(1));
        assert_eq!((age, limit, log.series[1].marks.len()), (Stroke::Solid, Stroke::Dashed, 1));
        assert!(dots.iter().all(|(at_s, mb)| (mb - (30.0 + at_s)).abs() < 0.01), "{dots:?}");
        assert!(at.iter().all(|(_, mb)| *mb == 80.0));
    }

    #[test]
    fn the_ratio_of_the_cache_is_hits_of_all_requests() {
        let figures = draw(&fixture());
        let cache = panels(&figures[0]).last().unwrap();
        let Mark::Line(_, dots) = &cache.series[0].marks[0] else { panic!("a line") };
        assert!(!dots.is_empty() && dots.iter().all(|(_, percent)| (percent - 90.0).abs() < 1e-6), "{dots:?}");
    }

    #[test]
    fn a_limit_alone_and_a_counter_in_pages_draw_nothing() {
        let limit = ("innodb", CounterRole::LogAgeMax, CounterKind::Gauge, "bytes");
        assert!(draw(&with_counter(quick(), limit, |_| 8e7)).is_empty());
        let pages = ("innodb", CounterRole::DirtyPages, CounterKind::Gauge, "count");
        assert!(draw(&with_counter(quick(), pages, |at_s| 10.0 + at_s)).is_empty());
    }
}
