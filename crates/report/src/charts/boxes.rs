//! Box plots of the throughput of single intervals: how steady each point was, side by side.
//!
//! In: the intervals of the run phase that count. Out: one figure per sheet, one box per row, with the intervals of all its
//! repeats; fewer than 20 intervals are drawn as dots, since their percentiles would be nearly the extremes.
//! Limits: percentiles by linear interpolation (Hyndman and Fan 1996, type 7); if some repeats are invalid, the others count.

use super::axes::{fit_for, ops_axis};
use super::chart::Chart;
use super::marks::{invalid_note, trusted};
use crate::sheet::{FigurePoints, Row, SweepAxis, conditions, drawn_sheets};
use analysis::{Analysis, PointAnalysis};
use plot::figure::{Axis, AxisScale, AxisUnit, BoxMark, DataSeries, Figure, FigureBody, Mark, Panel};

pub const CHART: Chart = Chart {
    id: "boxes",
    title: "Spread of the throughput",
    help: "Half of all intervals lie in the box, 90 % between the whiskers; dots are the rest. The thick line is the median. \
           A long box means an unsteady system. Fewer than 20 intervals are drawn as dots.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::quick,
};

/// Dots of that share of the highest rate lie half a unit apart.
const DOTS_APART: f64 = 500.0;
/// Fewer values than this have no percentiles 5 and 95.
const BOX_VALUES_MIN: usize = 20;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    drawn_sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &FigurePoints) -> Option<Figure> {
    let points = sheet.points();
    let rows = sheet.rows.iter().enumerate();
    let series: Vec<DataSeries> = rows.filter_map(|(x, row)| spread_of(x as f64, row)).collect();
    if series.is_empty() {
        return None;
    }
    let key = format!("{}{}", key_of(&series), invalid_note(&points));
    let means = points.iter().filter_map(|point| Some(point.summary.as_ref()?.ops_per_s));
    let y = fit_for(ops_axis(&points), means);
    let panel = Panel { title: String::new(), note: String::new(), y, height: 260.0, series, shades: Vec::new() };
    Some(Figure {
        id: format!("boxes-{}", sheet.slug),
        title: format!("Throughput per interval: {}", sheet.name),
        conditions: conditions(analysis, &points),
        caption: key,
        body: FigureBody::Panels { x: x_axis(sheet), panels: vec![panel] },
    })
}

/// Named places; if only clients or depth varies, its numbers are enough.
fn x_axis(sheet: &FigurePoints) -> Axis {
    let places = sheet.rows.iter().map(|row| match sheet.dimension {
        Some(dimension) => dimension.value_at(row.points[0]).to_string(),
        None => row.label.clone(),
    });
    let label = sheet.dimension.map_or("", SweepAxis::as_str).to_owned();
    Axis { label, scale: AxisScale::Slots(places.collect()), unit: AxisUnit::Count, range: None }
}

/// What boxes and dots mean, of those that are drawn.
fn key_of(series: &[DataSeries]) -> String {
    let boxes = if series.iter().any(has_box) {
        " Box: percentiles 25, 50, 75. Whiskers: 5 and 95. Dots: intervals beyond."
    } else {
        ""
    };
    let dots = if series.iter().all(has_box) {
        String::new()
    } else {
        format!(" Fewer than {BOX_VALUES_MIN} intervals: dots only.")
    };
    boxes.to_owned() + &dots
}

fn has_box(series: &DataSeries) -> bool {
    matches!(series.marks[0], Mark::Boxes(_))
}

/// The rates of the intervals of all repeats, as a box or as dots; of the invalid ones only if all are, and then hollow.
fn spread_of(x: f64, row: &Row) -> Option<DataSeries> {
    let repeats = row.points.as_slice();
    let trusted = trusted(repeats);
    let is_hollow = trusted.is_empty();
    let rates = sorted_rates(if is_hollow { repeats } else { &trusted });
    let dots = rates.iter().map(|rate| (x, *rate)).collect();
    let mark = match rates.len() {
        0 => return None,
        BOX_VALUES_MIN.. => Mark::Boxes(vec![box_of(x, &rates, is_hollow)]),
        _ if is_hollow => Mark::Rings(3.0, dots),
        _ => Mark::Dots(3.0, dots),
    };
    Some(DataSeries::unnamed(row.style, vec![mark]))
}

fn sorted_rates(points: &[&PointAnalysis]) -> Vec<f64> {
    let series = points.iter().filter_map(|point| point.series.as_ref());
    let mut rates: Vec<f64> = series.flat_map(|series| series.counted_intervals()).map(|i| i.ops_per_s).collect();
    rates.retain(|rate| rate.is_finite());
    rates.sort_by(f64::total_cmp);
    rates
}

fn box_of(x: f64, rates: &[f64], is_hollow: bool) -> BoxMark {
    let percentiles = [0.05, 0.25, 0.50, 0.75, 0.95].map(|q| quantile(rates, q));
    let [p05, .., p95] = percentiles;
    let mut outliers: Vec<f64> = rates.iter().copied().filter(|rate| *rate < p05 || *rate > p95).collect();
    // Thousands of dots would lie on each other; those that can be seen are drawn.
    let apart = rates.last().map_or(0.0, |most| most / DOTS_APART);
    outliers.dedup_by(|next, kept| *next - *kept < apart);
    BoxMark { x, percentiles, outliers, is_hollow }
}

/// Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996). NaN for no values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * sorted.len().saturating_sub(1) as f64;
    let below = place.floor() as usize;
    let Some(&low) = sorted.get(below) else { return f64::NAN };
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::sheets;
    use crate::testing::{quick, with_points};
    use plot::figure::SeriesStyle;

    fn row_of(points: Vec<&PointAnalysis>) -> Row<'_> {
        Row { label: String::new(), points, style: SeriesStyle::nth(0) }
    }

    #[test]
    fn quantiles_interpolate_between_values() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|q| quantile(&values, q)), [1.0, 1.75, 2.5, 4.0]);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn warmup_intervals_are_in_no_box() {
        let analysis = quick();
        let point = &analysis.points[0];
        let mut later = point.clone();
        later.series.as_mut().unwrap().intervals.retain(|i| i.at_s >= 0.0);
        assert_eq!(sorted_rates(&[&later]), sorted_rates(&[point]));
    }

    #[test]
    fn a_box_holds_the_intervals_of_all_repeats() {
        let analysis = quick();
        let [slow, fast] = [&analysis.points[0], &analysis.points[2]];
        let percentiles = |points: &[&PointAnalysis]| box_of(0.0, &sorted_rates(points), false).percentiles;
        let (both, low, high) = (percentiles(&[slow, fast]), percentiles(&[slow]), percentiles(&[fast]));
        assert!(both[0] < low[4] && both[4] > high[0], "{both:?}");
    }

    #[test]
    fn few_intervals_are_dots_and_those_of_an_invalid_point_are_hollow() {
        let mut point = with_points(1).points.remove(0);
        let mark_of = |point: &PointAnalysis| spread_of(1.0, &row_of(vec![point])).unwrap().marks.remove(0);
        let Mark::Boxes(boxes) = mark_of(&point) else { panic!("a box") };
        assert!(!boxes[0].is_hollow);
        point.validity = analysis::Validity::Invalid;
        let Mark::Boxes(boxes) = mark_of(&point) else { panic!("a box") };
        assert!(boxes[0].is_hollow);
        let series = point.series.as_mut().unwrap();
        series.intervals.truncate(20);
        let Mark::Rings(_, dots) = mark_of(&point) else { panic!("rings") };
        assert_eq!(dots.len(), 19, "one of the twenty is warmup");
        point.validity = analysis::Validity::Valid;
        assert!(matches!(mark_of(&point), Mark::Dots(_, dots) if dots.len() == 19));
        let few = [spread_of(1.0, &row_of(vec![&point])).unwrap()];
        assert_eq!(key_of(&few), " Fewer than 20 intervals: dots only.");
    }

    #[test]
    fn of_many_intervals_outside_the_whiskers_only_those_apart_are_drawn() {
        let rates: Vec<f64> = (0..20_000).map(f64::from).collect();
        let outliers = box_of(0.0, &rates, false).outliers;
        assert!((40..=52).contains(&outliers.len()), "{}", outliers.len());
        assert_eq!(outliers[0], 0.0);
    }

    #[test]
    fn boxes_of_a_sweep_stand_over_numbers_and_those_of_strangers_over_names() {
        let analysis = quick();
        let axes: Vec<Axis> = sheets(&analysis).iter().map(x_axis).collect();
        let names = |axis: &Axis| if let AxisScale::Slots(names) = &axis.scale { names.clone() } else { Vec::new() };
        assert_eq!((axes[0].label.as_str(), names(&axes[0])), ("depth", vec!["1".to_owned(), "8".into(), "32".into()]));
        assert_eq!((axes[2].label.as_str(), names(&axes[2])[0].as_str()), ("", "sqlite indexes 0"));
    }
}
