//! Shares that are stacked over each other.
//!
//! In: amounts of several things at the same places. Out: the bounds of their areas in percent of the sum at each place. Limits: amounts are
//! 0 or more; if all are 0, so are the areas.

use super::counters::{mean_values, middles};
use analysis::{CounterSeries, Span};
use plot::figure::{Axis, AxisUnit, Mark};

const ALL: f64 = 100.0;

/// A place on the x axis, and where an area begins and ends there.
pub(super) type AreaBound = (f64, f64, f64);

/// From 0 to 100 %.
pub(super) fn percent_axis(label: &str) -> Axis {
    Axis { range: Some((0.0, ALL)), ..Axis::from_zero(label, AxisUnit::Percent) }
}

/// `amount` as percent of `total`; 0 of nothing.
pub(super) fn percent_of(amount: f64, total: f64) -> f64 {
    if total > 0.0 { ALL * amount / total } else { 0.0 }
}

/// The areas of `all`, the first at the bottom. Each has an amount at the same places.
pub(super) fn stacked_percent(all: &[Vec<(f64, f64)>]) -> Vec<Vec<AreaBound>> {
    let mut below = vec![0.0; all.first().map_or(0, Vec::len)];
    let area = |amounts: &Vec<(f64, f64)>| {
        let places = amounts.iter().zip(&mut below).enumerate();
        let bounds = places.map(|(nth, ((x, amount), below))| {
            let total: f64 = all.iter().map(|amounts| amounts[nth].1).sum();
            let low = *below;
            *below += percent_of(*amount, total);
            (*x, low, *below)
        });
        bounds.collect::<Vec<AreaBound>>()
    };
    all.iter().map(area).collect()
}

/// An area of a stack.
pub(super) struct StackedArea {
    /// As it is drawn.
    pub(super) bounds: Vec<AreaBound>,
    /// All its bounds, if those drawn are fewer.
    full: Option<Vec<AreaBound>>,
}

impl StackedArea {
    /// What is drawn, and what a zoom shows.
    pub(super) fn into_marks(self) -> Vec<Mark> {
        let fine = self.full.map(|full| Mark::Fine(Box::new(Mark::Area(full))));
        std::iter::once(Mark::Area(self.bounds)).chain(fine).collect()
    }
}

/// The areas of counters over time, the first at the bottom, in the stretches of [`matched_means`].
pub(super) fn stacked_counters(all: &[&CounterSeries], range: (f64, f64)) -> Vec<StackedArea> {
    let (drawn, full) = (matched_means(all, range), matched_values(all, range));
    let is_all = drawn.first().map(Vec::len) == full.first().map(Vec::len);
    let areas = stacked_percent(&drawn).into_iter().zip(stacked_percent(&full));
    areas.map(|(bounds, full)| StackedArea { bounds, full: (!is_all).then_some(full) }).collect()
}

/// The areas of amounts that are all drawn.
pub(super) fn stacked_areas(all: &[Vec<(f64, f64)>]) -> Vec<StackedArea> {
    stacked_percent(all).into_iter().map(|bounds| StackedArea { bounds, full: None }).collect()
}

/// The values of each of `all` in the middle of the stretches from `from` to `to` in which every one is known and not all are 0, as few as
/// can be drawn.
///
/// They are matched before they become means of neighbours: a counter that was reset lacks a stretch, and its groups would be others.
pub(super) fn matched_means(all: &[&CounterSeries], range: (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    matched_spans(all, range).iter().map(|values| middles(&mean_values(values))).collect()
}

/// As [`matched_means`], with all values.
pub(super) fn matched_values(all: &[&CounterSeries], range: (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    matched_spans(all, range).iter().map(|values| middles(values)).collect()
}

fn matched_spans(all: &[&CounterSeries], (from, to): (f64, f64)) -> Vec<Vec<(Span, f64)>> {
    let total = |span: &Span| all.iter().map(|counter| value_up_to(&counter.values, span.to_s)).sum::<Option<f64>>();
    let is_drawn = |(span, _): &&(Span, f64)| {
        (from..=to).contains(&span.middle_s()) && total(span).is_some_and(|total| total > 0.0)
    };
    all.iter().map(|counter| counter.values.iter().filter(is_drawn).copied().collect()).collect()
}

/// The value of the stretch that ends at `to_s`. Values are in order of time.
fn value_up_to(values: &[(Span, f64)], to_s: f64) -> Option<f64> {
    let found = values.binary_search_by(|(span, _)| span.to_s.total_cmp(&to_s));
    found.ok().map(|i| values[i].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_lie_on_each_other_and_end_at_all_of_it() {
        let areas = stacked_percent(&[vec![(0.0, 1.0), (1.0, 0.0)], vec![(0.0, 3.0), (1.0, 0.0)]]);
        assert_eq!(areas[0], [(0.0, 0.0, 25.0), (1.0, 0.0, 0.0)]);
        assert_eq!(areas[1], [(0.0, 25.0, 100.0), (1.0, 0.0, 0.0)]);
        assert!(stacked_percent(&[]).is_empty());
    }
}
