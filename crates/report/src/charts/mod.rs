//! The charts: each looks at an analysis and makes its figures, or none if the analysis has nothing for it.
//!
//! In: an [`Analysis`]. Out: [`Figure`]s. To add a chart, write one file here and one line in [`CHARTS`].
//! Limits: a chart draws what is there; it never fills a gap with a number.

mod axes;
mod below;
mod best_rates;
mod boxes;
mod ceilings;
mod chart;
mod compression;
mod connections;
pub mod cost;
mod counters;
pub(crate) mod curve;
mod endpoints;
mod engine;
mod flames;
mod heat;
mod hosts;
mod inserts;
mod instances;
mod kernels;
mod limit;
mod marks;
mod owners;
mod percentiles;
mod ratios;
mod resources;
mod response;
mod rounds;
mod shades;
mod stack;
mod survey;
mod sweep;
mod threads;
mod throughput;
mod timeline;
mod usage;
mod variants;

pub use below::PointCharts;
pub use chart::Chart;

use analysis::Analysis;
use analysis::answer::AnswerKind;
use plot::figure::Figure;

/// Every chart, in the order of the report.
pub const CHARTS: &[&Chart] = &[
    &survey::CHART,
    &kernels::CHART,
    &ceilings::CHART,
    &throughput::CHART,
    &response::CHART,
    &instances::CHART,
    &limit::CHART,
    &variants::CHART,
    &ratios::CHART,
    &compression::CHART,
    &usage::CHART,
    &rounds::CHART,
    &inserts::CHART,
    &timeline::CHART,
    &percentiles::CHART,
    &heat::CHART,
    &boxes::CHART,
    &curve::CHART,
    &connections::CHART,
    &cost::CHART,
    &threads::CHART,
    &owners::CHART,
    &flames::CHART,
    &resources::CHART,
    &engine::CHART,
    &endpoints::CHART,
    &hosts::CHART,
];

/// A run of which every point was judged.
#[cfg(test)]
pub(crate) use ceilings::tests::judged as ceilings_fixture;

/// The charts that show an answer of `kind`, the most telling first. The first that has a figure is the main picture of a run.
pub fn showing(kind: AnswerKind) -> &'static [&'static str] {
    match kind {
        AnswerKind::Limit => &["limit"],
        AnswerKind::Variants => &["variants"],
        AnswerKind::Cost => &["kernels", "compression", "connections", "inserts"],
        AnswerKind::Suite => &["ratios", "throughput"],
        AnswerKind::Arms => &["throughput", "instances", "inserts", "ratios"],
        AnswerKind::Sweep | AnswerKind::Catalogue => &["throughput"],
        AnswerKind::Timeline | AnswerKind::Observed => &["timeline"],
        AnswerKind::Failover => &["endpoints", "timeline"],
        AnswerKind::Numbers => &[],
    }
}

/// Every chart with the figures that it makes of `analysis`.
pub fn figures(analysis: &Analysis, points: PointCharts) -> Vec<(&'static Chart, Vec<Figure>)> {
    CHARTS.iter().map(|chart| (*chart, chart.figures(analysis, points))).collect()
}

/// The same with a chart of every point.
pub fn all_figures(analysis: &Analysis) -> Vec<(&'static Chart, Vec<Figure>)> {
    figures(analysis, PointCharts::All)
}

/// The columns of the cost chart that `analysis` has values for, for the tables of the documents.
pub fn cost_columns(analysis: &Analysis) -> Vec<cost::CostColumn> {
    cost::columns_of(analysis)
}

#[cfg(test)]
mod tests {
    use super::axes::ops_axis;
    use super::sweep::LINES_MAX;
    use super::*;
    use crate::testing::{damaged, damaged_variants, quick, set, with_points};
    use analysis::{PointAnalysis, Validity};
    use plot::figure::{AxisUnit, FigureBody, Mark, Stroke};

    fn drawn(analysis: &Analysis, id: &str) -> Vec<Figure> {
        CHARTS.iter().filter(|c| c.id == id).flat_map(|c| c.figures(analysis, PointCharts::All)).collect()
    }

    #[test]
    fn every_chart_draws_the_run_that_it_brings_with_ids_of_its_own_and_names_n() {
        for chart in CHARTS {
            let figures = chart.figures(&(chart.fixture)(), PointCharts::All);
            assert!(!figures.is_empty(), "{} drew nothing", chart.id);
            let ids: std::collections::BTreeSet<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
            assert_eq!(ids.len(), figures.len(), "{}", chart.id);
            assert!(
                figures.iter().all(
                    |f| f.id.starts_with(chart.id) && (f.conditions.contains("n = ") || f.caption.contains("n = "))
                ),
                "{}",
                chart.id
            );
        }
    }

    #[test]
    fn no_chart_panics_if_something_is_missing_in_the_run_that_it_brings() {
        for chart in CHARTS {
            for (what, analysis) in damaged_variants(chart.fixture) {
                for figure in chart.figures(&analysis, PointCharts::All) {
                    let svg = plot::render_svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {} draws {svg}", chart.id);
                }
            }
        }
    }

    #[test]
    fn every_figure_has_an_id_of_its_own_and_names_n() {
        let all = all_figures(&quick());
        let figures: Vec<&Figure> = all.iter().flat_map(|(_, f)| f).collect();
        let ids: std::collections::BTreeSet<&str> = figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids.len(), figures.len());
        for (chart, figures) in &all {
            assert!(
                figures.iter().all(
                    |f| f.id.starts_with(chart.id) && (f.conditions.contains("n = ") || f.caption.contains("n = "))
                ),
                "{}",
                chart.id
            );
        }
    }

    #[test]
    fn every_chart_that_shows_an_answer_is_there() {
        use AnswerKind::{Arms, Catalogue, Cost, Failover, Limit, Numbers, Observed, Suite, Sweep, Timeline, Variants};
        for kind in [Arms, Catalogue, Cost, Failover, Limit, Numbers, Observed, Suite, Sweep, Timeline, Variants] {
            assert!(showing(kind).iter().all(|id| CHARTS.iter().any(|chart| chart.id == *id)), "{kind:?}");
        }
    }

    #[test]
    fn no_chart_panics_whatever_run_it_gets() {
        for (what, analysis) in damaged() {
            for (chart, figures) in all_figures(&analysis) {
                for figure in figures {
                    let svg = plot::render_svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}: {} draws {svg}", chart.id);
                }
            }
        }
    }

    #[test]
    fn every_point_has_a_timeline_panel_and_those_of_several_groups_one_together() {
        let panels = |analysis: &Analysis| -> usize {
            let count = |f: &Figure| if let FigureBody::Panels { panels, .. } = &f.body { panels.len() } else { 0 };
            drawn(analysis, "timeline").iter().map(count).sum()
        };
        // Three sweeps of three, and four single points with a panel of all.
        assert_eq!((panels(&quick()), panels(&with_points(30))), (9 + 4 + 1, 30));
    }

    #[test]
    fn mb_per_second_stand_on_the_right_where_all_operations_are_blocks_of_one_size() {
        let mut analysis = quick();
        let inserts: Vec<&PointAnalysis> = analysis.points[6..10].iter().collect();
        assert_eq!(ops_axis(&inserts).unit, AxisUnit::Count);
        analysis.points.truncate(6);
        let unit = |analysis: &Analysis| ops_axis(&analysis.points.iter().collect::<Vec<_>>()).unit;
        assert_eq!(unit(&analysis), AxisUnit::CountOf(16_384));
        analysis.points[3].summary.as_mut().unwrap().bytes_per_s *= 0.5;
        assert_eq!(unit(&analysis), AxisUnit::Count);
        analysis.points.iter_mut().for_each(|p| p.summary.as_mut().unwrap().bytes_per_s = 0.0);
        assert_eq!(unit(&analysis), AxisUnit::Count);
    }

    #[test]
    fn random_and_sequential_access_are_two_figures() {
        let mut analysis = quick();
        analysis.points.truncate(6);
        for point in analysis.points.iter_mut().skip(3) {
            set(point, "mode", "seqrd");
        }
        let titles: Vec<String> = drawn(&analysis, "throughput").into_iter().map(|f| f.title).collect();
        assert!(titles[0].contains("file random") && titles[1].contains("file sequential"), "{titles:?}");
    }

    #[test]
    fn a_sweep_draws_one_line_per_group() {
        let drawn = drawn(&quick(), "throughput");
        let titles: Vec<&str> = drawn.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(titles, ["throughput-file-random-depth", "throughput-oltp-clients"]);
    }

    /// Two points at eight clients, with 100 fast operations and 900 slow ones, and one at one client.
    fn repeated() -> Analysis {
        let mut analysis = with_points(3);
        for (point, (clients, repeat, ops, ns)) in
            analysis.points.iter_mut().zip([(8, 1, 100, 1_000), (8, 2, 900, 9_000), (1, 1, 10, 500)])
        {
            (point.clients, point.repeat) = (clients, repeat);
            let (summary, series) = (point.summary.as_mut().unwrap(), point.series.as_mut().unwrap());
            (summary.ops_per_s, summary.queries_per_s) = (ops as f64, ops as f64);
            summary.response_ns = summary.response_ns.map(|times| analysis::Quantiles { p99: ns, ..times });
            series.response = model::Times::default();
            series.response.record_n(ns, ops);
        }
        analysis
    }

    #[test]
    fn the_line_goes_through_the_mean_rate_of_repeats_and_the_percentile_of_all_their_operations() {
        let line = |id: &str| {
            let FigureBody::Panels { panels, .. } = drawn(&repeated(), id).remove(0).body else { panic!("panels") };
            let Mark::Line(_, line) = &panels[0].series[0].marks[0] else { panic!("a line") };
            line.clone()
        };
        assert_eq!(line("throughput"), [(1.0, 10.0), (8.0, 500.0)]);
        let response = line("response");
        assert!((response[1].1 - 9_000.0).abs() < 50.0, "{response:?}"); // the mean of both would be 5,000
    }

    #[test]
    fn an_invalid_point_is_hollow_off_the_line_and_not_in_the_title() {
        let mut analysis = with_points(3);
        for (point, rate) in analysis.points.iter_mut().zip([100.0, 9_000.0, 300.0]) {
            (point.summary.as_mut().unwrap().ops_per_s, point.summary.as_mut().unwrap().queries_per_s) = (rate, rate);
        }
        analysis.points[1].validity = Validity::Invalid;
        let figure = drawn(&analysis, "throughput").remove(0);
        assert!(figure.title.contains("at most 300/s") && !figure.title.contains("9,000"), "{}", figure.title);
        assert!(figure.caption.contains("Hollow: invalid points"), "{}", figure.caption);
        let [panel] = crate::testing::panels(&figure) else { panic!("one panel") };
        let [
            Mark::Line(Stroke::Dashed, doubtful),
            Mark::Line(Stroke::Solid, line),
            _,
            Mark::Dots(_, dots),
            Mark::Rings(_, rings),
        ] = panel.series[0].marks.as_slice()
        else {
            panic!("{:?}", panel.series[0].marks)
        };
        assert_eq!((dots.as_slice(), rings.as_slice()), (&[(1.0, 100.0), (3.0, 300.0)][..], &[(2.0, 9_000.0)][..]));
        assert!(line[1].1.is_nan() && doubtful[1] == (2.0, 9_000.0), "{line:?} {doubtful:?}");
        for point in &mut analysis.points {
            point.validity = Validity::Invalid;
        }
        let title = drawn(&analysis, "throughput").remove(0).title;
        assert!(!title.contains("at most"), "{title}");
    }

    #[test]
    fn an_invalid_repeat_is_hollow_and_not_in_the_mean() {
        let mut analysis = repeated();
        analysis.points[1].validity = Validity::Invalid;
        let figure = drawn(&analysis, "throughput").remove(0);
        let marks = &crate::testing::panels(&figure)[0].series[0].marks;
        let Mark::Line(Stroke::Solid, line) = &marks[1] else { panic!("a line") };
        assert_eq!(line.as_slice(), [(1.0, 10.0), (8.0, 100.0)]);
    }

    #[test]
    fn intervals_are_drawn_where_there_are_no_repeats() {
        let FigureBody::Panels { panels, .. } = drawn(&repeated(), "throughput").remove(0).body else {
            panic!("panels")
        };
        let Mark::Whiskers(intervals) = &panels[0].series[0].marks[1] else { panic!("whiskers") };
        assert_eq!(intervals.iter().map(|bar| bar.0).collect::<Vec<_>>(), [1.0]);
    }

    #[test]
    fn a_hundred_groups_are_spread_over_several_figures() {
        let mut analysis = with_points(200);
        for (i, point) in analysis.points.iter_mut().enumerate() {
            point.group = i / 2;
            point.clients = 1 + (i % 2) as u32;
        }
        let figures = drawn(&analysis, "throughput");
        assert_eq!(figures.len(), 100usize.div_ceil(LINES_MAX));
    }
}
