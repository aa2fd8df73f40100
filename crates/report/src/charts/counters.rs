//! Counters over time, for every chart that draws one.
//!
//! In: a point, and the role of a counter. Out: its values as a line. Limits: of several subjects that have the counter the first is
//! drawn; more values than a panel has places for become means.

use super::axes::time_range;
use super::marks::line_in_full;
use analysis::course::series::mean_value;
use analysis::{CounterSeries, PointAnalysis, Span};
use model::CounterRole;
use plot::figure::{Colour, DataSeries, SeriesStyle};
use std::borrow::Cow;

/// As many values as a panel has places for.
const VALUES_MAX: usize = 600;

/// A counter as a line.
pub(super) struct CounterLine {
    /// What the counter measures.
    pub role: CounterRole,
    /// The name of the line.
    pub label: &'static str,
    pub colour: Colour,
    /// From the unit of the counter to that of the axis.
    pub factor: f64,
}

/// The counters of `point` over time.
pub(super) fn counters(point: &PointAnalysis) -> impl Iterator<Item = &CounterSeries> {
    point.series.iter().flat_map(|s| &s.counters)
}

/// The first counter of that role that was read.
pub(super) fn find_counter(point: &PointAnalysis, role: CounterRole) -> Option<&CounterSeries> {
    counters(point).find(|c| c.role == Some(role) && !c.values.is_empty())
}

/// The line of a counter of `point`, as far as its intervals are drawn; `None` if it was not read.
pub(super) fn drawn_line(point: &PointAnalysis, line: &CounterLine) -> Option<DataSeries> {
    let all = &find_counter(point, line.role)?.values;
    // The readings go on for a moment when the load is over.
    let (from, to) = time_range([point])?;
    // In the middle of its stretch, as the dot of a rate is in the middle of its interval.
    let dots = |values: &[(Span, f64)]| -> Vec<(f64, f64)> {
        let dots = values.iter().map(|(span, value)| (span.middle_s(), value * line.factor));
        dots.filter(|(at_s, _)| (from..=to).contains(at_s)).collect()
    };
    let style = SeriesStyle::of_line(line.colour);
    Some(DataSeries::named(line.label, style, line_in_full(dots(&mean_values(all)), dots(all))))
}

/// The values in the middle of their stretches.
pub(super) fn middles(values: &[(Span, f64)]) -> Vec<(f64, f64)> {
    values.iter().map(|(span, value)| (span.middle_s(), *value)).collect()
}

/// `values` if they are at most [`VALUES_MAX`], else the means of neighbours.
pub(super) fn mean_values(values: &[(Span, f64)]) -> Cow<'_, [(Span, f64)]> {
    match values.len().div_ceil(VALUES_MAX) {
        0 | 1 => Cow::Borrowed(values),
        each => Cow::Owned(values.chunks(each).map(mean_value).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{READ_AFTER_S, quick, with_counter, with_points};
    use model::CounterKind;
    use plot::figure::Mark;

    fn drawn_dots(point: &PointAnalysis, role: CounterRole) -> Vec<(f64, f64)> {
        let line = CounterLine { role, label: "writes", colour: Colour::Blue, factor: 1.0 };
        let series = drawn_line(point, &line).expect("it was read");
        let Mark::Line(_, dots) = &series.marks[0] else { panic!("a line") };
        dots.clone()
    }

    #[test]
    fn counters_are_drawn_where_the_throughput_of_the_same_time_is() {
        let point = &quick().points[5];
        let intervals = &point.series.as_ref().unwrap().intervals;
        let dots = drawn_dots(point, CounterRole::DeviceWriteOps);
        assert_eq!(dots.len(), intervals.len());
        let middle_s = intervals[6].at_s + intervals[6].length_s / 2.0;
        assert!((dots[6].0 - (middle_s + READ_AFTER_S)).abs() < 1e-9, "{dots:?}");
    }

    #[test]
    fn the_reading_at_the_beginning_of_the_run_makes_no_dot_of_its_own() {
        // 40 a second: the few milliseconds between two readings have none of them or one, which would be 0 or 150 a second.
        let counter = ("disk", CounterRole::DeviceBusy, CounterKind::Counter, "ns");
        let analysis = with_counter(with_points(1), counter, |at_s| (40.0 * at_s).floor());
        let dots = drawn_dots(&analysis.points[0], CounterRole::DeviceBusy);
        assert_eq!(dots.len(), 120);
        assert!(dots.iter().all(|(_, rate)| (38.0..=42.0).contains(rate)), "{dots:?}");
    }

    #[test]
    fn what_was_read_when_the_load_was_over_is_not_drawn() {
        let mut analysis = quick();
        let point = &mut analysis.points[5];
        let before = drawn_dots(point, CounterRole::DeviceWriteOps).len();
        for counter in &mut point.series.as_mut().unwrap().counters {
            let from_s = counter.values.last().unwrap().0.to_s;
            counter.values.push((Span { from_s, to_s: from_s + 0.05 }, 0.0));
        }
        assert_eq!(drawn_dots(point, CounterRole::DeviceWriteOps).len(), before);
    }

    #[test]
    fn many_values_are_drawn_as_their_means_and_few_as_they_are() {
        let analysis = quick();
        let few = find_counter(&analysis.points[0], CounterRole::DeviceReadOps).unwrap();
        assert_eq!(mean_values(&few.values), few.values);
        let second = |i: u32| (Span { from_s: f64::from(i), to_s: f64::from(i + 1) }, f64::from(i % 2));
        let values: Vec<(Span, f64)> = (0..1_200).map(second).collect();
        let many = mean_values(&values);
        assert_eq!(many.len(), 600);
        assert!(many.iter().all(|(_, value)| *value == 0.5));
        assert_eq!(many[0].0, Span { from_s: 0.0, to_s: 2.0 });
    }

    #[test]
    fn a_mean_weighs_rates_by_their_time_and_levels_alike() {
        let value = |from_s, to_s, value| (Span { from_s, to_s }, value);
        assert_eq!(mean_value(&[value(0.0, 3.0, 10.0), value(3.0, 4.0, 50.0)]).1, 20.0);
        assert_eq!(mean_value(&[value(0.0, 0.0, 10.0), value(3.0, 3.0, 50.0)]).1, 30.0);
    }
}
