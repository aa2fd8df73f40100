//! Which of the stretches far below the level are stalls, and which are drops.
//!
//! In: the rates of the intervals, and the stretches below each of the two limits. Out: each stretch as one thing. Limits: noise about the
//! limit of a stall would otherwise cut one stretch into stalls and drops, and a regular series into two irregular ones.

use super::drops::DropRange;
use super::rhythm::find_period;
use crate::math::stats::{mean, median};
use std::ops::Range;

/// A stretch that is a stall in its smaller part is none, if the rate is at least this share of the usual one there.
const HARDLY_STALLED_SHARE: f64 = 0.1;
/// Stalls and drops of one regular series are alike: their rates differ by less than this share of the usual one.
const ALIKE_SHARE: f64 = 0.15;

/// `stalls`, each as long as the low stretch that noise cut it out of; without those that are a small part of a drop. `usual` is the rate
/// that stalls are measured against, `lows` are the stretches far below their level.
pub fn join_split_stalls(
    rates: &[f64],
    usual: f64,
    stalls: &[Range<usize>],
    lows: &[Range<usize>],
) -> Vec<Range<usize>> {
    let (inside, outside): (Vec<Range<usize>>, Vec<Range<usize>>) =
        stalls.iter().cloned().partition(|stall| lows.iter().any(|low| contains(low, stall)));
    let joined = lows.iter().flat_map(|low| {
        let own: Vec<&Range<usize>> = inside.iter().filter(|stall| contains(low, stall)).collect();
        stalls_of_low(rates, usual, low, &own)
    });
    let mut all: Vec<Range<usize>> = joined.chain(outside).collect();
    all.sort_by_key(|stall| stall.start);
    all
}

fn contains(low: &Range<usize>, stall: &Range<usize>) -> bool {
    low.start <= stall.start && stall.end <= low.end
}

/// The stalls `own` of one low stretch: all of it if they are its greater part, none if it hardly stalled.
fn stalls_of_low(rates: &[f64], usual: f64, low: &Range<usize>, own: &[&Range<usize>]) -> Vec<Range<usize>> {
    let [first, ..] = own else { return Vec::new() };
    let stalled: usize = own.iter().map(|stall| stall.len()).sum();
    let least = own.iter().map(|stall| rate_share(rates, usual, stall)).fold(f64::MAX, f64::min);
    match () {
        () if stalled * 2 >= low.len() => std::iter::once(first.start..own[own.len() - 1].end).collect(),
        () if least >= HARDLY_STALLED_SHARE => Vec::new(),
        () => own.iter().map(|stall| (*stall).clone()).collect(),
    }
}

fn rate_share(rates: &[f64], usual: f64, range: &Range<usize>) -> f64 {
    mean(&rates[range.clone()]) / usual.max(f64::MIN_POSITIVE)
}

/// Stalls and drops that are one regular series of dips alike, as what most of them are; others as they are. A rate below `stall_share`
/// of `usual` is that of a stall.
pub fn name_alike(
    rates: &[f64],
    usual: f64,
    stall_share: f64,
    stalls: Vec<Range<usize>>,
    drops: Vec<DropRange>,
) -> (Vec<Range<usize>>, Vec<DropRange>) {
    let shares = |ranges: &mut dyn Iterator<Item = &Range<usize>>| -> Vec<f64> {
        ranges.map(|range| rate_share(rates, usual, range)).collect()
    };
    let of_stalls = shares(&mut stalls.iter());
    let of_drops = shares(&mut drops.iter().map(|drop| &drop.range));
    let (Some(stalled), Some(dropped)) = (median(&of_stalls), median(&of_drops)) else { return (stalls, drops) };
    let mut all: Vec<Range<usize>> = stalls.iter().chain(drops.iter().map(|drop| &drop.range)).cloned().collect();
    all.sort_by_key(|range| range.start);
    let starts: Vec<f64> = all.iter().map(|range| range.start as f64).collect();
    if dropped - stalled > ALIKE_SHARE || find_period(&starts).is_none() {
        return (stalls, drops);
    }
    let usual_share = median(&[of_stalls, of_drops].concat()).unwrap_or(0.0);
    if usual_share < stall_share {
        return (all, Vec::new());
    }
    let from = drops[0].from;
    let to_drop = |range: Range<usize>| DropRange { to: median(&rates[range.clone()]).unwrap_or(0.0), from, range };
    (Vec::new(), all.into_iter().map(to_drop).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_that_noise_cuts_into_stalls_is_one_stall_or_none() {
        let rates = [100.0, 19.0, 21.0, 18.0, 19.0, 100.0, 24.0, 19.0, 23.0, 100.0, 50.0, 50.0, 0.0, 100.0];
        let found = join_split_stalls(&rates, 100.0, &[1..2, 3..5, 7..8, 12..13], &[1..5, 6..9, 10..13]);
        assert_eq!(found, [1..5, 12..13]);
    }

    #[test]
    fn dips_at_equal_distances_that_are_nearly_stalls_are_of_one_kind() {
        let mut rates = vec![100.0; 60];
        let dips: Vec<(usize, f64)> = vec![(5, 22.0), (15, 19.0), (25, 23.0), (35, 18.0), (45, 21.0), (55, 23.0)];
        dips.iter().for_each(|(at, rate)| rates[*at] = *rate);
        let is_stall = |dip: &&(usize, f64)| dip.1 < 20.0;
        let stalls: Vec<Range<usize>> = dips.iter().filter(is_stall).map(|(at, _)| *at..at + 1).collect();
        let others = dips.iter().filter(|dip| !is_stall(dip));
        let drops: Vec<DropRange> =
            others.map(|(at, rate)| DropRange { range: *at..at + 1, to: *rate, from: 100.0 }).collect();
        let (left, dropped) = name_alike(&rates, 100.0, 0.2, stalls.clone(), drops.clone());
        assert_eq!((left.len(), dropped.len()), (0, 6));
        // A stall in the middle of other dips is something else.
        rates[15] = 0.0;
        rates[35] = 0.0;
        assert_eq!(name_alike(&rates, 100.0, 0.2, stalls.clone(), drops.clone()), (stalls, drops));
    }
}
