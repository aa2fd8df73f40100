//! Box plots of the throughput of single intervals: how steady each point was, side by side.
//!
//! In: the intervals of the run phase that count. Out: one figure per sheet, one box per point; repeats stand beside each other.
//! Limits: percentiles by linear interpolation (Hyndman and Fan 1996, type 7); below 20 intervals the whiskers are nearly
//! the extremes.

use super::Chart;
use crate::figure::{Axis, Body, BoxMark, Colour, Figure, Mark, Panel, Scale, Series, Unit};
use crate::sheet::{Sheet, conditions, sheets};
use analysis::{Analysis, PointAnalysis};

/// The chart.
pub const CHART: Chart = Chart {
    id: "boxes",
    title: "Spread of the throughput",
    help: "Half of all intervals lie in the box, 90 % between the whiskers; dots are the rest. The thick line is the median. \
           A long box means an unsteady system.",
    draw,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    sheets(analysis).iter().filter_map(|sheet| draw_sheet(analysis, sheet)).collect()
}

fn draw_sheet(analysis: &Analysis, sheet: &Sheet) -> Option<Figure> {
    let points: Vec<&PointAnalysis> = sheet.points.iter().map(|(_, p)| *p).collect();
    let boxes: Vec<BoxMark> = points.iter().enumerate().filter_map(|(x, p)| box_of(x as f64, p)).collect();
    if boxes.is_empty() {
        return None;
    }
    let scale = Scale::Slots(sheet.points.iter().map(|(label, _)| label.clone()).collect());
    let x = Axis { label: String::new(), scale, unit: Unit::Count, range: None };
    let series = vec![Series { label: String::new(), colour: Colour::Blue, marks: vec![Mark::Boxes(boxes)] }];
    let y = Axis::from_zero("operations/s of single intervals", Unit::Count);
    let panel = Panel { title: String::new(), note: String::new(), y, height: 260.0, series, shades: Vec::new() };
    let key = "Box: percentiles 25, 50, 75. Whiskers: 5 and 95. Dots: intervals beyond";
    Some(Figure {
        id: format!("boxes-{}", sheet.slug),
        title: format!("Throughput of single intervals: {}", sheet.name),
        caption: format!("{}. {key}.", conditions(analysis, &points)),
        body: Body::Panels { x, panels: vec![panel] },
    })
}

fn box_of(x: f64, point: &PointAnalysis) -> Option<BoxMark> {
    let mut rates: Vec<f64> = point.series.as_ref()?.counted_intervals().iter().map(|i| i.ops_per_s).collect();
    rates.retain(|r| r.is_finite());
    rates.sort_by(f64::total_cmp);
    let percentiles = [0.05, 0.25, 0.50, 0.75, 0.95].map(|q| quantile(&rates, q));
    let [p05, .., p95] = percentiles;
    let outliers = rates.iter().copied().filter(|r| *r < p05 || *r > p95).collect();
    (!rates.is_empty()).then_some(BoxMark { x, percentiles, outliers })
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

    #[test]
    fn quantiles_interpolate_between_values() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(|q| quantile(&values, q)), [1.0, 1.75, 2.5, 4.0]);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn warmup_intervals_are_in_no_box() {
        let analysis = crate::testing::quick();
        let point = &analysis.points[0];
        let all = box_of(0.0, point).unwrap();
        let mut later = point.clone();
        later.series.as_mut().unwrap().intervals.retain(|i| i.at_s >= 0.0);
        assert_eq!(box_of(0.0, &later), Some(all));
    }
}
