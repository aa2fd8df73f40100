//! The percentile curves of the arms, laid over each other.
//!
//! In: an overlay. Out: a figure with one line for each arm, of the response times of all its repeats together. Limits: a line ends at the
//! last percentile with ten operations beyond it.

use super::{curve_name, place_name, repeats_note};
use crate::charts::curve::{curve, last_percentile};
use crate::format;
use analysis::compare::{ArmCurve, ArmOverlay};
use plot::figure::{Axis, AxisScale, AxisUnit, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke};

/// The figure of `overlay`, the `nth` of its comparison; `None` if no arm has response times.
pub fn draw(overlay: &ArmOverlay, nth: usize, names: &[String]) -> Option<Figure> {
    let arms: Vec<&ArmCurve> = overlay.arms.iter().filter(|arm| !arm.response.is_empty()).collect();
    let last = arms.iter().map(|arm| last_percentile(&arm.response)).fold(90.0, f64::max);
    if arms.is_empty() {
        return None;
    }
    let place = place_name(overlay);
    let panel = Panel {
        title: String::new(),
        note: String::new(),
        y: Axis::nanos("response time"),
        height: 280.0,
        series: arms.iter().map(|arm| line(arm, names)).collect(),
        shades: Vec::new(),
    };
    let x = Axis {
        label: "percentile of operations".to_owned(),
        scale: AxisScale::Tail,
        unit: AxisUnit::Percent,
        range: Some((0.0, last)),
    };
    Some(Figure {
        id: format!("overlay-percentiles-{nth:02}-{}", format::slug(&place)),
        title: format!("Percentile curves, {place}"),
        conditions: String::new(),
        caption: format!("{} A line ends at the last percentile with ten operations beyond it.", repeats_note(overlay)),
        body: FigureBody::Panels { x, panels: vec![panel] },
    })
}

fn line(arm: &ArmCurve, names: &[String]) -> DataSeries {
    let points = curve(&arm.response);
    let end = points.last().copied().into_iter().collect();
    let marks = vec![Mark::Line(Stroke::Solid, points), Mark::Dots(4.0, end)];
    DataSeries::named(curve_name(arm, names), SeriesStyle::nth(arm.arm), marks)
}
