//! What an arm does at several places, as one ratio where the places are alike, and split by what tells them apart where they are not.
//!
//! In: the ratio arm : base at each place, as a ratio of speeds: above 1 the arm is faster. Out: a [`Branch`], whose leaves are places that are
//! alike. Limits: a ratio without a conclusion splits nothing; callers leave such places out.

use super::places::{AxisPart, PlaceAxis};
use crate::math::ratio::{RatioEstimate, RatioVerdict};
use crate::points::metric::Metric;
use crate::recorded::dimensions::Setting;

/// Ratios that differ by less than this factor are the same to a reader, however exactly they are known.
const ALIKE_BELOW: f64 = 1.1;
/// A smaller difference is none to a reader, shown or not.
pub(super) const NEARLY_NONE: f64 = 0.05;

/// What the arm does at one place.
#[derive(Clone, Debug)]
pub(super) struct PlaceEffect<'a> {
    /// What names the place.
    pub place: Vec<&'a Setting>,
    /// The ratio of speeds.
    pub effect: RatioEstimate,
}

/// Places, and what the arm does there.
#[derive(Clone, Debug)]
pub(super) struct Branch<'a> {
    /// What distinguishes them from all others; empty for all places.
    pub path: Vec<AxisPart<'a>>,
    /// How many places they are.
    pub places: usize,
    /// The least and the greatest ratio of them.
    pub range: [f64; 2],
    pub is: Is<'a>,
}

/// What the arm does at several places.
#[derive(Clone, Debug)]
pub(super) enum Is<'a> {
    Alike(RatioEstimate),
    /// Different things, by one setting of the places.
    Split(Vec<Branch<'a>>),
    /// Different things, and no setting tells which: the ratios at the two ends.
    Unlike([RatioEstimate; 2]),
}

/// `estimate` of a metric as a ratio of speeds.
pub(super) fn as_speed(metric: Metric, estimate: RatioEstimate) -> RatioEstimate {
    if metric.better() == crate::Preference::More { estimate } else { inverse(estimate) }
}

/// The ratio base : arm.
pub(super) fn inverse(estimate: RatioEstimate) -> RatioEstimate {
    let ci95 = estimate.ci95.map(|[low, high]| [1.0 / high, 1.0 / low]);
    RatioEstimate { ratio: 1.0 / estimate.ratio, ci95, ..estimate }
}

/// One ratio of `effects` if they are alike: their intervals have a point in common or they differ too little to matter, and the one ratio
/// shows what they show.
///
/// Ratio and both ends of the interval are geometric means: the deviation of a mean is at most the mean of the deviations, however places
/// depend on each other (they share repeats, servers and data). It is widened until it holds the ratio of each place.
pub(super) fn together(effects: &[RatioEstimate]) -> Option<RatioEstimate> {
    let first = *effects.first()?;
    if effects.len() == 1 {
        return Some(first);
    }
    let intervals: Vec<[f64; 2]> = effects.iter().map(|one| one.ci95).collect::<Option<_>>()?;
    let log_mean =
        |values: &mut dyn Iterator<Item = f64>| (values.map(f64::ln).sum::<f64>() / effects.len() as f64).exp();
    let (least, most) = ends(effects.iter().map(|one| one.ratio));
    let (low_most, high_least) =
        (ends(intervals.iter().map(|one| one[0])).1, ends(intervals.iter().map(|one| one[1])).0);
    let low = log_mean(&mut intervals.iter().map(|one| one[0])).min(least);
    let high = log_mean(&mut intervals.iter().map(|one| one[1])).max(most);
    let has_verdict = |verdict| effects.iter().any(|one| one.verdict == verdict);
    let verdict = match (has_verdict(RatioVerdict::Faster), has_verdict(RatioVerdict::Slower)) {
        (false, false) => Some(first.verdict),
        (true, false) => (low > 1.0).then_some(RatioVerdict::Faster),
        (false, true) => (high < 1.0).then_some(RatioVerdict::Slower),
        (true, true) => None,
    };
    let are_near = low_most <= high_least || most < ALIKE_BELOW * least;
    let verdict = verdict.filter(|_| are_near)?;
    let ratio = log_mean(&mut effects.iter().map(|one| one.ratio));
    // A place that shows no difference by itself has none in the table: a sentence must not give it one.
    if verdict.is_difference() && effects.iter().any(|one| one.verdict != verdict) {
        return None;
    }
    let smallest = effects.iter().filter_map(|one| one.smallest_effect).reduce(f64::max);
    Some(RatioEstimate {
        ratio,
        ci95: Some([low, high]),
        n: effects.iter().map(|one| one.n).min().unwrap_or(first.n),
        smallest_effect: smallest,
        p_value: None,
        verdict,
    })
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), one| (least.min(one), most.max(one)))
}

/// What the arm does at `all` places, of which there is at least one: along the axis that needs the fewest parts.
pub(super) fn split<'a>(all: &[PlaceEffect<'a>], axes: &[PlaceAxis<'a>]) -> Branch<'a> {
    split_within(all, axes, Vec::new())
}

/// The same of places that `path` distinguishes from others of which nothing is said.
pub(super) fn split_within<'a>(all: &[PlaceEffect<'a>], axes: &[PlaceAxis<'a>], path: Vec<AxisPart<'a>>) -> Branch<'a> {
    branch(all.iter().collect(), axes, path)
}

fn branch<'a>(places: Vec<&PlaceEffect<'a>>, axes: &[PlaceAxis<'a>], path: Vec<AxisPart<'a>>) -> Branch<'a> {
    let effects: Vec<RatioEstimate> = places.iter().map(|one| one.effect).collect();
    let range = ends(effects.iter().map(|one| one.ratio)).into();
    if let Some(alike) = together(&effects) {
        return Branch { path, places: places.len(), range, is: Is::Alike(alike) };
    }
    let ways = (0..axes.len()).filter_map(|nth| {
        let mut others = axes.to_vec();
        let axis = others.remove(nth);
        let parts = parts_along(&places, &axis)?;
        let parts = parts.into_iter().map(|(part, own)| branch(own, &others, [&path[..], &[part]].concat()));
        Some(parts.collect::<Vec<_>>())
    });
    let fewest = ways.min_by_key(|parts| parts.iter().map(Branch::leaves).sum::<usize>());
    let by_ratio = |a: &&RatioEstimate, b: &&RatioEstimate| a.ratio.total_cmp(&b.ratio);
    let is = fewest.map(Is::Split).unwrap_or_else(|| {
        let end = |one: Option<&RatioEstimate>| *one.expect("there is a place");
        Is::Unlike([end(effects.iter().min_by(by_ratio)), end(effects.iter().max_by(by_ratio))])
    });
    Branch { path, places: places.len(), range, is }
}

/// A part of an axis, and its places.
type PartPlaces<'p, 'a> = (AxisPart<'a>, Vec<&'p PlaceEffect<'a>>);

/// `places` by their values of `axis`; values at which the arm does the same come together, numbers only with their neighbours. `None` if
/// that separates nothing.
fn parts_along<'p, 'a>(places: &[&'p PlaceEffect<'a>], axis: &PlaceAxis<'a>) -> Option<Vec<PartPlaces<'p, 'a>>> {
    let mut parts: Vec<PartPlaces> = Vec::new();
    let mut placed = 0;
    for value in &axis.values {
        let at = |one: &&&PlaceEffect| one.place.iter().any(|own| own.name == axis.name && own.value == value.value);
        let own: Vec<&PlaceEffect> = places.iter().filter(at).copied().collect();
        if own.is_empty() {
            continue;
        }
        placed += own.len();
        let joins = |(_, known): &&mut PartPlaces| {
            let both: Vec<RatioEstimate> = known.iter().chain(&own).map(|one| one.effect).collect();
            together(&both).is_some()
        };
        let known = if axis.is_ordered() { parts.last_mut().filter(joins) } else { parts.iter_mut().find(joins) };
        match known {
            Some((part, known)) => {
                part.values.push(value);
                known.extend(own);
            }
            None => parts.push((AxisPart { axis: axis.clone(), values: vec![value] }, own)),
        }
    }
    (parts.len() > 1 && placed == places.len()).then_some(parts)
}

impl<'a> Branch<'a> {
    /// How many parts it has in the end.
    pub(super) fn leaves(&self) -> usize {
        match &self.is {
            Is::Split(parts) => parts.iter().map(Branch::leaves).sum(),
            Is::Alike(_) | Is::Unlike(_) => 1,
        }
    }

    /// The effect that it is one of, if it is.
    pub(super) fn alike(&self) -> Option<&RatioEstimate> {
        match &self.is {
            Is::Alike(effect) => Some(effect),
            Is::Split(_) | Is::Unlike(_) => None,
        }
    }

    /// Whether it shows a difference at each of its places.
    pub(super) fn is_all_different(&self) -> bool {
        match &self.is {
            Is::Alike(effect) => effect.verdict.is_difference(),
            Is::Split(parts) => parts.iter().all(Branch::is_all_different),
            Is::Unlike(ends) => ends.iter().all(|end| end.verdict.is_difference()),
        }
    }

    /// The least and the greatest effect in it.
    pub(super) fn ends(&self) -> [RatioEstimate; 2] {
        match &self.is {
            Is::Alike(effect) => [*effect, *effect],
            Is::Unlike(ends) => *ends,
            Is::Split(parts) => {
                let all = parts.iter().map(Branch::ends);
                let wider = |[least, most]: [RatioEstimate; 2], [low, high]: [RatioEstimate; 2]| {
                    [
                        if low.ratio < least.ratio { low } else { least },
                        if high.ratio > most.ratio { high } else { most },
                    ]
                };
                all.reduce(wider).expect("a split has parts")
            }
        }
    }

    /// Its parts in the order in which they are said: differences first, of those what holds at most places, then the largest.
    pub(super) fn parts_by_weight(&self) -> Vec<&Branch<'a>> {
        let Is::Split(parts) = &self.is else { return vec![self] };
        let mut all: Vec<&Branch> = parts.iter().collect();
        let size = |one: &Branch| one.ends().iter().map(|end| end.ratio.ln().abs()).fold(0.0, f64::max);
        let is_even = |one: &Branch| one.alike().is_some_and(|effect| !effect.verdict.is_difference());
        all.sort_by(|a, b| {
            let by_places = (a.leaves(), b.places).cmp(&(b.leaves(), a.places));
            is_even(a).cmp(&is_even(b)).then(by_places).then(size(b).total_cmp(&size(a)))
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RatioVerdict::{Faster, NoDifferenceShown, Slower};

    fn effect(ratio: f64, half: f64, verdict: RatioVerdict) -> RatioEstimate {
        let ci95 = Some([ratio / (1.0 + half), ratio * (1.0 + half)]);
        RatioEstimate { ratio, ci95, n: 4, smallest_effect: Some(half), p_value: None, verdict }
    }

    #[test]
    fn places_that_are_alike_have_one_ratio_whose_interval_holds_each() {
        let both = together(&[effect(1.50, 0.1, Faster), effect(1.60, 0.02, Faster)]).unwrap();
        assert!((both.ratio - (1.5f64 * 1.6).sqrt()).abs() < 1e-9);
        assert!(both.ci95.unwrap()[1] >= 1.6 && both.ci95.unwrap()[0] <= 1.5, "{both:?}");
        assert_eq!((both.verdict, both.smallest_effect), (Faster, Some(0.1)));
    }

    #[test]
    fn intervals_that_are_apart_and_directions_that_differ_are_not_averaged() {
        assert_eq!(together(&[effect(1.2, 0.02, Faster), effect(1.5, 0.02, Faster)]), None);
        assert_eq!(together(&[effect(1.04, 0.03, Faster), effect(0.96, 0.03, Slower)]), None);
    }

    #[test]
    fn a_place_without_a_difference_does_not_hide_that_of_another() {
        assert_eq!(together(&[effect(1.0, 1.0, NoDifferenceShown), effect(1.6, 0.1, Faster)]), None);
        assert_eq!(together(&[effect(1.05, 0.06, NoDifferenceShown), effect(1.08, 0.02, Faster)]), None);
        // The intervals have points in common, all of them above 1.
        assert_eq!(together(&[effect(1.02, 0.05, NoDifferenceShown), effect(1.4, 0.35, Faster)]), None);
    }

    #[test]
    fn the_one_interval_of_equal_places_covers_the_truth_in_95_of_100_cases_however_they_depend() {
        use crate::simulated::Random;
        use crate::{Preference, RepeatPair};
        let mut random = Random::new(5);
        // What is common to all places of a repeat is as large as what is not.
        let mut covers = |share: f64| {
            let common: Vec<f64> = (0..6).map(|_| random.normal()).collect();
            let mut place = || {
                let mut own =
                    |common: &f64| (0.02 * (share.sqrt() * common + (1.0 - share).sqrt() * random.normal())).exp();
                let pairs: Vec<RepeatPair> =
                    common.iter().map(|one| RepeatPair { base: 1.0, new: 1.3 * own(one) }).collect();
                RatioEstimate::from_pairs(&pairs, Preference::More).unwrap()
            };
            let places = [place(), place(), place()];
            together(&places).is_none_or(|one| one.ci95.is_some_and(|[low, high]| low <= 1.3 && 1.3 <= high))
        };
        for share in [0.0, 0.5, 1.0] {
            let covered = (0..500).filter(|_| covers(share)).count();
            assert!(covered >= 465, "{covered} of 500 at {share}");
        }
    }
}
