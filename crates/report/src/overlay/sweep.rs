//! The rates and response times of two arms against clients or depth: what one sentence says of a sweep, as a picture.
//!
//! In: a comparison. Out: a figure for each sweep, with the throughput above the 99th percentile of the response time.

use crate::format;
use crate::wording::compare::arm_name;
use crate::wording::label::settings_label;
use crate::wording::metric::metric_head;
use analysis::Role;
use analysis::compare::{ComparedSweep, MetricRatio, PlaceComparison, RunComparison};
use analysis::points::metric::Metric;
use model::Percentile;
use plot::figure::{Axis, AxisScale, AxisUnit, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke};

/// An arm with its colour, its name, and its value in a ratio.
type DrawnArm<'a> = (usize, &'a str, fn(&MetricRatio) -> f64);

/// The figures of `comparison`, the `nth` of its page.
pub fn draw(comparison: &RunComparison, nth: usize) -> Vec<Figure> {
    comparison.sweeps().iter().map(|sweep| figure(comparison, sweep, nth)).collect()
}

fn figure(comparison: &RunComparison, sweep: &ComparedSweep, nth: usize) -> Figure {
    let (base, new) = (arm_name(&comparison.base), arm_name(&comparison.new));
    let label = match sweep.over {
        Role::Depth => "depth: operations in flight per client (log scale)",
        _ => "clients (log scale)",
    };
    let places = sweep.places.iter().map(|(at, ..)| f64::from(*at)).collect();
    let x = Axis { label: label.to_owned(), scale: AxisScale::LogAt(places), unit: AxisUnit::Count, range: None };
    let rate = sweep.places[0].2.metric;
    let panel = |y: Axis, height: f64, metric: Metric| {
        let line = |(at, name, of): (usize, &str, fn(&MetricRatio) -> f64)| {
            let value = |(x, place, _): &(u32, &PlaceComparison, &MetricRatio)| {
                let own = place.metrics.iter().find(|one| one.metric == metric)?;
                Some((f64::from(*x), of(own)))
            };
            let dots: Vec<(f64, f64)> = sweep.places.iter().filter_map(value).collect();
            let marks = vec![Mark::Line(Stroke::Solid, dots.clone()), Mark::Dots(4.0, dots)];
            DataSeries::named(name, SeriesStyle::nth(at), marks)
        };
        let arms: [DrawnArm; 2] = [(0, &base, |one| one.base), (1, &new, |one| one.new)];
        Panel {
            title: String::new(),
            note: String::new(),
            y,
            height,
            series: arms.into_iter().map(line).collect(),
            shades: Vec::new(),
        }
    };
    let head = metric_head(rate, sweep.places[0].1.unit);
    let mut panels = vec![panel(Axis::from_zero(&head, AxisUnit::Count), 240.0, rate)];
    if sweep
        .places
        .iter()
        .any(|(_, place, _)| place.metrics.iter().any(|one| one.metric == Metric::Response(Percentile::P99)))
    {
        panels.push(panel(
            Axis::nanos("99th percentile of the response time"),
            180.0,
            Metric::Response(Percentile::P99),
        ));
    }
    let of = Some(settings_label(&sweep.common)).filter(|label| !label.is_empty());
    Figure {
        id: format!("sweep-{nth:02}-{}", format::slug(of.as_deref().unwrap_or(&new))),
        title: format!(
            "Throughput and response time of {new} and {base}{}",
            of.map_or(String::new(), |of| format!(", {of}"))
        ),
        conditions: String::new(),
        caption: "Each dot is the geometric mean of the repeats, so that two dots differ by the ratio in the table."
            .to_owned(),
        body: FigureBody::Panels { x, panels },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, panels, setting};
    use analysis::SettingValue;

    #[test]
    fn both_arms_are_drawn_against_clients_with_their_rates_and_response_times() {
        let mut one = compared();
        assert!(draw(&one, 1).is_empty(), "a place alone is no sweep");
        let place = |clients: u32| {
            let mut place = one.places[0].clone();
            place.label.push(setting("clients", SettingValue::Count(clients)));
            place
        };
        one.places = [1, 4, 16].map(place).into();
        let [figure] = &draw(&one, 1)[..] else { panic!("one sweep") };
        assert_eq!(figure.title, "Throughput and response time of new and old, postgres oltp");
        let drawn: Vec<(usize, &str)> =
            panels(figure).iter().map(|panel| (panel.series.len(), panel.series[1].label.as_str())).collect();
        assert_eq!(drawn, [(2, "new"), (2, "new")], "the rate, and the 99th percentile");
        assert!(plot::render_svg(figure).contains(">16<"));
    }
}
