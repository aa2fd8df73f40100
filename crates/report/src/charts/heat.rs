//! Response times over time as a heat map below the throughput: how many operations took how long, and when.
//!
//! In: the counts of response times of each interval, or of each bin of a long run. Out: one figure per point: the throughput and the map on
//! one time axis. Limits: of many points those at the top of their sweeps, and those that stalled; operations that ended after the last
//! whole interval are not in it.

use super::below::Below;
use super::chart::Chart;
use super::shades::shades;
use crate::format;
use analysis::course::response_counts::row_start_ns;
use analysis::{CountColumn, PointAnalysis};
use plot::figure::{Axis, Colour, DataSeries, HeatColumn, HeatMap, Mark, Panel};

pub const CHART: Chart = Chart {
    id: "heat",
    title: "How many operations took how long",
    help: "Each cell counts the operations that ended in a stretch of time with response times of one range: the stronger its colour, \
           the more. Two bands are two sorts of operation, such as hits and misses of a cache; a column that reaches up is a stall.",
    draw: |_| Vec::new(),
    of_points: Some(&FIGURES),
    #[cfg(test)]
    fixture,
};

const HEIGHT: f64 = 230.0;
/// A figure has thousands of cells; more figures would make the page heavy.
const FIGURES_MAX: usize = 8;

const FIGURES: Below = Below { subject: |_| CHART.title, panels, note, figures_max: FIGURES_MAX };

fn panels(point: &PointAnalysis, _: (f64, f64)) -> Vec<Panel> {
    // The few operations of a step that is timed as a whole are no distribution.
    let columns = point.series.as_ref().filter(|_| point.duration_s().is_none()).map(|series| &series.response_counts);
    let panel = |map| Panel {
        title: "Response times".to_owned(),
        note: String::new(),
        y: Axis::nanos("response time"),
        height: HEIGHT,
        series: vec![DataSeries::unnamed(Colour::Blue, vec![Mark::Heat(map)])],
        shades: shades(point),
    };
    columns.and_then(|columns| heat_map(columns)).map(panel).into_iter().collect()
}

/// How large a cell is. The last column may be shorter.
fn note(point: &PointAnalysis) -> String {
    let first = point.series.as_ref().and_then(|series| series.response_counts.first());
    let length = first.map_or_else(format::dash, |column| format::seconds(column.span.length_s()));
    format!(" A cell is {length} wide and 21 % of its time high.")
}

/// The cells of `columns` from the shortest time to the longest; `None` if no operation ended in any.
fn heat_map(columns: &[CountColumn]) -> Option<HeatMap> {
    let rows = || columns.iter().flat_map(|column| &column.rows).map(|(row, _)| *row);
    let (lowest, highest) = (rows().min()?, rows().max()?);
    let row_ends = (u16::from(lowest)..=u16::from(highest) + 1).map(row_start_ns).collect();
    let column = |column: &CountColumn| HeatColumn {
        from: column.span.from_s,
        to: column.span.to_s,
        counts: column.rows.iter().map(|(row, count)| (usize::from(row - lowest), *count)).collect(),
    };
    let counted = "operations per cell, at least:".to_owned();
    Some(HeatMap { columns: columns.iter().map(column).collect(), row_ends, counted })
}

/// Long runs with stalls, whose last point has two bands, and shorter ones.
#[cfg(test)]
fn fixture() -> analysis::Analysis {
    crate::testing::long_runs(800)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::PointCharts;
    use crate::testing::{long_runs, panels, quick};
    use analysis::Analysis;
    use plot::Figure;
    use plot::figure::FigureBody;

    fn map_of(figure: &Figure) -> &HeatMap {
        let marks = panels(figure).iter().flat_map(|panel| &panel.series).flat_map(|series| &series.marks);
        marks.filter_map(|mark| if let Mark::Heat(map) = mark { Some(map) } else { None }).next().expect("a map")
    }

    fn draw(analysis: &Analysis) -> Vec<Figure> {
        CHART.figures(analysis, PointCharts::All)
    }

    #[test]
    fn the_cells_hold_every_operation_that_ended_in_a_drawn_interval() {
        let analysis = long_runs(800);
        for (figure, point) in draw(&analysis).iter().zip(&analysis.points) {
            let cells: u64 = map_of(figure).columns.iter().flat_map(|column| &column.counts).map(|cell| cell.1).sum();
            let series = point.series.as_ref().expect("it ran");
            let ops: f64 = series.intervals.iter().map(|interval| interval.ops_per_s * interval.length_s).sum();
            assert_eq!(cells, ops.round() as u64);
        }
    }

    #[test]
    fn the_columns_are_where_the_throughput_is_drawn_and_the_time_axis_is_that_of_the_timeline() {
        let analysis = long_runs(800);
        let figure = &draw(&analysis)[0];
        let series = analysis.points[0].series.as_ref().expect("it ran");
        let bins: Vec<(f64, f64)> =
            series.bins.iter().map(|bin| (bin.all.at_s, bin.all.at_s + bin.all.length_s)).collect();
        let columns: Vec<(f64, f64)> = map_of(figure).columns.iter().map(|column| (column.from, column.to)).collect();
        assert_eq!(columns, bins);
        let axis = |figure: &Figure| match &figure.body {
            FigureBody::Panels { x, .. } => x.clone(),
            _ => panic!("panels"),
        };
        let one = Analysis { points: analysis.points[..1].to_vec(), ..analysis.clone() };
        assert_eq!(axis(figure), axis(&(super::super::timeline::CHART.draw)(&one)[0]));
        let [throughput, cells] = panels(figure) else { panic!("two panels") };
        assert_eq!(throughput.shades, cells.shades, "stalls are shaded in both");
        assert!(!cells.shades.is_empty());
    }

    #[test]
    fn a_run_whose_times_are_not_known_by_interval_has_no_map() {
        let mut analysis = quick();
        analysis
            .points
            .iter_mut()
            .filter_map(|point| point.series.as_mut())
            .for_each(|one| one.response_counts.clear());
        assert!(draw(&analysis).is_empty());
    }

    #[test]
    fn of_many_points_eight_are_drawn_at_most() {
        let mut analysis = long_runs(20);
        let point = analysis.points[0].clone();
        let group = |id: u32| ((id - 1) / 4) as usize;
        analysis.points =
            (1..=40).map(|id| PointAnalysis { id, group: group(id), clients: id, ..point.clone() }).collect();
        let figures = CHART.figures(&analysis, PointCharts::Telling);
        assert_eq!(figures.len(), FIGURES_MAX);
        assert!(
            figures[0]
                .caption
                .contains(" A cell is 1 s wide and 21 % of its time high. Drawn: points that something disturbed"),
            "{}",
            figures[0].caption
        );
    }
}
