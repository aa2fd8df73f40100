//! The rates of the arms over time, laid over each other.
//!
//! In: an overlay. Out: a figure with one line for each arm: the median of its repeats, with the band that holds 80 % of them. Limits: an
//! arm with one repeat has no band. All begin at the beginning of their run phases, whatever the time of day was.

use super::{curve_name, place_name, repeats_note};
use crate::format;
use analysis::compare::{ArmCurve, ArmOverlay, RateBand};
use plot::figure::{Axis, AxisUnit, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke};

/// The figure of `overlay`, the `nth` of its comparison; `None` if no arm has two values.
pub fn draw(overlay: &ArmOverlay, nth: usize, names: &[String]) -> Option<Figure> {
    let end = overlay.arms.iter().filter_map(|arm| arm.rates.last()).map(|rate| rate.at_s).fold(0.0, f64::max);
    if overlay.arms.iter().all(|arm| arm.rates.len() < 2) {
        return None;
    }
    let place = place_name(overlay);
    let panel = Panel {
        title: String::new(),
        note: String::new(),
        y: Axis::from_zero("operations per second", AxisUnit::Count),
        height: 280.0,
        // No band lies over a line.
        series: overlay.arms.iter().map(band).chain(overlay.arms.iter().map(|arm| line(arm, names))).collect(),
        shades: Vec::new(),
    };
    Some(Figure {
        id: format!("overlay-rate-{nth:02}-{}", format::slug(&place)),
        title: format!("Throughput over time, {place}"),
        conditions: String::new(),
        caption: caption(overlay),
        body: FigureBody::Panels { x: Axis::seconds("the run phase began", (0.0, end)), panels: vec![panel] },
    })
}

fn caption(overlay: &ArmOverlay) -> String {
    let bands = overlay.arms.iter().any(|arm| arm.repeats > 1);
    let lines = if bands { " Lines: medians of the repeats. Bands hold 80 % of the repeats." } else { "" };
    format!("{}{lines}", repeats_note(overlay))
}

fn line(arm: &ArmCurve, names: &[String]) -> DataSeries {
    let line = arm.rates.iter().map(|rate| (rate.at_s, rate.median_per_s)).collect();
    DataSeries::named(curve_name(arm, names), SeriesStyle::nth(arm.arm), vec![Mark::Line(Stroke::Solid, line)])
}

/// Without a mark for a single repeat.
fn band(arm: &ArmCurve) -> DataSeries {
    let bounds = |rate: &RateBand| (rate.at_s, rate.band_per_s[0], rate.band_per_s[1]);
    let marks = (arm.repeats > 1).then(|| Mark::Band(arm.rates.iter().map(bounds).collect()));
    DataSeries::unnamed(SeriesStyle::nth(arm.arm), marks.into_iter().collect())
}
