//! A counter at the places that are compared: its value at each, and what it is around it.
//!
//! In: a counter over time, and the places. Out: a [`Track`]. Limits: of a gauge the readings of a place's first interval count, because a
//! stall begins when something has reached its limit, and gives way during it; of a rate the mean over the whole place.

use super::places::{ComparedPlaces, DIPS_MIN, sampled};
use super::rank::agreeing;
use crate::course::anatomy::CauseForm;
use crate::math::stats::{median, quantile};
use crate::{CounterSeries, Span};

/// A reading belongs to the interval at whose end it was due, though it comes a moment later.
const LATE_SHARE: f64 = 0.2;
/// The part of the quiet intervals whose moves are usual.
const USUAL_SHARE: f64 = 0.9;
/// Around a place so many values must be known.
const KNOWN_MIN: usize = 8;

/// In which direction a counter is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A rate that rises.
    Rate,
    /// A rate that rises with the interval after it: some work is counted when it is done.
    RateWithNext,
    /// A level that is high at one end of the interval: it gives way at once.
    High,
    /// A level that stays high: at its limit it may be for a moment at any time.
    StaysHigh,
    /// A level that is low at one end. Values of low levels have the other sign.
    Low,
    /// A level that stays low.
    StaysLow,
}

impl Side {
    /// The value as it was read.
    pub fn written(self, value: f64) -> f64 {
        if matches!(self, Side::Low | Side::StaysLow) { -value } else { value }
    }

    /// How it is described; `is_rare` if its level is seldom reached outside of the dips.
    pub fn form(self, is_rare: bool) -> CauseForm {
        match (self, is_rare) {
            (Side::Rate | Side::RateWithNext, _) => CauseForm::RateRises,
            (Side::High | Side::StaysHigh, true) => CauseForm::LevelAtLeast,
            (Side::High | Side::StaysHigh, false) => CauseForm::LevelRises,
            (Side::Low | Side::StaysLow, true) => CauseForm::LevelAtMost,
            (Side::Low | Side::StaysLow, false) => CauseForm::LevelFalls,
        }
    }
}

/// The sides of `counter` that can show something.
pub fn sides_of(counter: &CounterSeries) -> &'static [Side] {
    match (counter.role, counter.is_level()) {
        // What waits is idle: it follows from every stall.
        (Some(role), _) if role.is_idle_time() => &[],
        (_, true) => &[Side::High, Side::StaysHigh, Side::Low, Side::StaysLow],
        (_, false) => &[Side::Rate, Side::RateWithNext],
    }
}

/// A counter at one place.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub value: f64,
    /// The median of the quiet intervals around.
    pub around: f64,
}

impl Placed {
    /// By how much it is higher there than around.
    pub fn contrast(&self) -> f64 {
        self.value - self.around
    }
}

/// A counter at all places.
pub struct Track {
    /// At the dips at which it was read.
    pub dips: Vec<Placed>,
    /// How many dips there are, read or not.
    pub all_dips: usize,
    /// At the quiet intervals that the dips are compared with.
    pub quiet: Vec<Placed>,
}

impl Track {
    /// `counter` at `places`; `None` if it never moves, or was not read at enough of the dips.
    pub fn place(counter: &CounterSeries, side: Side, places: &ComparedPlaces) -> Option<Track> {
        let value_at = |span: &Span| value_in(counter, side, span, places.interval_s);
        let quiet: Vec<(f64, f64)> =
            places.quiet.iter().filter_map(|span| Some((span.from_s, value_at(span)?))).collect();
        let dips: Vec<Placed> = places
            .dips
            .iter()
            .filter_map(|span| {
                let at = quiet.partition_point(|(from_s, _)| *from_s < span.from_s);
                Some(Placed { value: value_at(span)?, around: median_of(&quiet, places.around_dip(at, quiet.len()))? })
            })
            .collect();
        let at_quiet = |at: usize| {
            Some(Placed { value: quiet[at].1, around: median_of(&quiet, places.around_quiet(at, quiet.len()))? })
        };
        let quiet = sampled(quiet.len()).into_iter().filter_map(at_quiet).collect();
        let track = Track { dips, all_dips: places.dips.len(), quiet };
        let is_known = track.dips.len() >= DIPS_MIN.max(agreeing(track.all_dips)) && !track.quiet.is_empty();
        (is_known && track.moves()).then_some(track)
    }

    /// How far it moves at most in nine of ten quiet intervals.
    pub fn usual_move(&self) -> f64 {
        let moves: Vec<f64> = self.quiet.iter().map(|place| place.contrast().abs()).collect();
        quantile(&moves, USUAL_SHARE).unwrap_or(0.0)
    }

    /// Whether it moves at all.
    fn moves(&self) -> bool {
        self.dips.iter().chain(&self.quiet).any(|place| place.contrast() != 0.0)
    }

    /// The median of a figure of the dips.
    pub fn median_of_dips(&self, figure: impl Fn(&Placed) -> f64) -> Option<f64> {
        median(&self.dips.iter().map(figure).collect::<Vec<_>>())
    }
}

/// The median of those of `quiet` with these numbers.
fn median_of(quiet: &[(f64, f64)], numbers: impl Iterator<Item = usize>) -> Option<f64> {
    let near: Vec<f64> = numbers.map(|index| quiet[index].1).collect();
    if near.len() < KNOWN_MIN { None } else { median(&near) }
}

/// What `counter` is in `span`, a place; `None` if it was not read there.
fn value_in(counter: &CounterSeries, side: Side, span: &Span, interval_s: f64) -> Option<f64> {
    match side {
        Side::Rate => mean_rate(&counter.values, span),
        Side::RateWithNext => mean_rate(&counter.values, &Span { to_s: span.to_s + interval_s, ..*span }),
        Side::High => levels_in(counter, span, interval_s).reduce(f64::max),
        Side::StaysHigh => levels_in(counter, span, interval_s).reduce(f64::min),
        Side::Low => levels_in(counter, span, interval_s).map(|level| -level).reduce(f64::max),
        Side::StaysLow => levels_in(counter, span, interval_s).map(|level| -level).reduce(f64::min),
    }
}

/// The readings of a gauge in the first interval of `span`, those at its ends included.
fn levels_in(counter: &CounterSeries, span: &Span, interval_s: f64) -> impl Iterator<Item = f64> {
    let late_s = LATE_SHARE * interval_s;
    let [from_s, to_s] = [span.from_s - late_s, span.from_s + interval_s + late_s];
    let first = counter.values.partition_point(|(at, _)| at.from_s < from_s);
    counter.values[first..].iter().take_while(move |(at, _)| at.from_s <= to_s).map(|(_, level)| *level)
}

/// The mean of `rates` over `span`, each weighted by how much of it lies there.
fn mean_rate(rates: &[(Span, f64)], span: &Span) -> Option<f64> {
    let first = rates.partition_point(|(stretch, _)| stretch.to_s <= span.from_s);
    let near = rates[first..].iter().take_while(|(stretch, _)| stretch.from_s < span.to_s);
    let (known_s, sum) = near.fold((0.0, 0.0), |(known_s, sum), (stretch, rate)| {
        let overlap_s = stretch.overlap_s(span);
        (known_s + overlap_s, sum + overlap_s * rate)
    });
    (known_s >= 0.5 * span.length_s()).then(|| sum / known_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(levels: &[f64]) -> CounterSeries {
        let at = |(second, level): (usize, &f64)| {
            let at_s = second as f64 + 0.05;
            (Span { from_s: at_s, to_s: at_s }, *level)
        };
        let values = levels.iter().enumerate().map(at).collect();
        let [source, subject, name, unit] = ["a", "b", "c", "bytes"].map(str::to_owned);
        CounterSeries { source, subject, name, role: None, unit, values }
    }

    #[test]
    fn a_gauge_has_its_highest_reading_at_either_end_of_the_first_interval() {
        let place = Span { from_s: 2.0, to_s: 5.0 };
        let counter = gauge(&[9.0, 1.0, 7.0, 3.0, 8.0, 8.0]);
        assert_eq!(value_in(&counter, Side::High, &place, 1.0), Some(7.0));
        assert_eq!(value_in(&counter, Side::Low, &place, 1.0).map(|low| Side::Low.written(low)), Some(3.0));
    }

    #[test]
    fn a_rate_is_the_mean_over_the_whole_place_and_unknown_if_less_than_half_was_seen() {
        let stretch = |from_s: f64, to_s: f64| Span { from_s, to_s };
        let rates = [(stretch(0.0, 1.5), 10.0), (stretch(1.5, 2.0), 30.0), (stretch(4.0, 5.0), 50.0)];
        assert_eq!(mean_rate(&rates, &stretch(1.0, 2.0)), Some(20.0));
        assert_eq!(mean_rate(&rates, &stretch(1.0, 4.5)), None);
    }
}
