//! How much the limit of a target differs from probe to probe: the disk, its cache or the hypervisor are not the same each time.
//!
//! In: what single probes and holds showed of the objective, in any order. Out: whether two of them contradict each other, and a
//! [`LimitFit`]: where the limit is if it moves by a random factor before each probe; and when the target changed for good, if it did.
//! Limits: a bisection tries rates inside of its bracket only, so it never contradicts itself: its ends must be measured again. The
//! scatter is assumed to be alike at all times, unless one change explains it better; a limit that falls steadily is taken for one that scatters.

use super::objective::{Judgement, Objective};
use super::observation::Observation;
use super::result::TargetChange;

/// The limit is searched between these shares of the lowest and of the highest rate that was tried.
const RATES: [f64; 2] = [0.5, 2.0];
/// In so many steps.
const RATE_STEPS: usize = 240;
/// Scatters that are possible: standard deviations of the logarithm of the limit.
const SPREADS: [f64; 2] = [0.005, 0.4];
/// In so many steps, at equal ratios: the prior of a scale (Jeffreys, Proc. R. Soc. A 186, 1946).
const SPREAD_STEPS: usize = 24;
/// A probe that shows the contrary for reasons that have nothing to do with its rate.
const LAPSE: f64 = 0.02;
/// The logistic distribution with its scale divided by this is the normal one, to within 0.01 (Bowling and others, JIEM 2, 2009).
const LOGISTIC: f64 = 1.702;
/// What an undecided probe is worth: it is on the side of its value so likely.
const UNDECIDED: f64 = 0.7;

/// A share of slow operations is worse than another if the interval of it is so many times above that of the other: parts of one probe are alike,
/// so that its interval is somewhat too narrow, and a longer one shows slow stretches that a shorter one may miss.
const WORSE: f64 = 5.0;

/// A target that changed was steady before and after that.
const STEADY_SPREADS: [f64; 3] = [0.005, 0.015, 0.04];
/// Fewer probes before or after a change do not show what the target was then.
const CHANGE_PARTS_MIN: usize = 3;
/// So many times as likely as scatter a change must be.
const CHANGE_LIKELIER_MIN: f64 = 100.0;
/// So great a change must be, as a difference of logarithms: by 30 % down or 43 % up.
const CHANGE_MIN: f64 = 0.357;

/// What the probes and holds of a search showed, each for itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Sightings(Vec<Sighting>);

#[derive(Clone, Copy, Debug)]
struct Sighting {
    per_s: f64,
    judgement: Judgement,
    /// The interval of the share of slow operations; `None` if the objective names no percentile.
    slow: Option<[f64; 2]>,
}

/// Where the limit is, as far as probes that contradict each other tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LimitFit {
    /// The rate that half of the probes keep.
    pub middle_per_s: f64,
    /// Its 95 % interval.
    pub interval_per_s: [f64; 2],
    /// The standard deviation of the logarithm of the limit.
    pub spread: f64,
}

impl Sightings {
    /// Adds what a probe or hold at `per_s` has shown by itself.
    pub fn add(&mut self, per_s: f64, objective: &Objective, seen: &Observation) {
        // An overload that was ended early would have got worse.
        let slow =
            objective.slow_share(seen).map(|slow| if seen.ended_early { [slow[0], f64::INFINITY] } else { slow });
        self.0.push(Sighting { per_s, judgement: objective.judge(seen), slow });
    }

    /// How often `per_s` was measured.
    pub fn count_at(&self, per_s: f64) -> usize {
        self.0.iter().filter(|one| one.per_s == per_s).count()
    }

    /// Whether probes of `per_s` do not agree whether it is kept.
    pub fn disagree_at(&self, per_s: f64) -> bool {
        let mut own = self.0.iter().filter(|one| one.per_s == per_s).map(|one| one.judgement.keeps());
        own.next().is_some_and(|first| own.any(|other| other != first))
    }

    /// Whether one of them was worse than another at the same or a higher rate.
    pub fn contradict(&self) -> bool {
        self.0.iter().any(|worse| self.0.iter().any(|better| worse.contradicts(better)))
    }

    /// When the target changed; `None` if a limit that scatters explains the probes as well.
    ///
    /// Two limits, of those before and those after a moment, are compared with one limit that scatters, by the likelihoods of what explains the
    /// probes best. Marginal likelihoods would not do: a search halves its bracket where the limit is, so that a narrow bracket, which is what a
    /// steady target leaves, is unlikely beforehand.
    pub fn change(&self) -> Option<TargetChange> {
        if !self.contradict() {
            return None;
        }
        let [low, high] = self.range();
        let limits: Vec<f64> = steps(low, high, RATE_STEPS).collect();
        let best = |part: &[Sighting], spreads: &[f64]| {
            let all = limits.iter().flat_map(|limit| spreads.iter().map(move |spread| (*limit, *spread)));
            let likely =
                all.map(|(limit, spread)| part.iter().map(|one| one.likelihood(limit, spread)).product::<f64>());
            likely.fold(0.0, f64::max)
        };
        let any: Vec<f64> = steps(SPREADS[0].ln(), SPREADS[1].ln(), SPREAD_STEPS).map(f64::exp).collect();
        let of_two = |at: usize| best(&self.0[..at], &STEADY_SPREADS) * best(&self.0[at..], &STEADY_SPREADS);
        let places = CHANGE_PARTS_MIN..=self.0.len().saturating_sub(CHANGE_PARTS_MIN);
        let all: Vec<(usize, f64)> = places.map(|at| (at, of_two(at))).collect();
        let likely = all.iter().map(|(_, likely)| *likely).fold(0.0, f64::max);
        // A probe that both limits explain was before the change: the first that contradicts shows it.
        let at = all.iter().rfind(|(_, one)| *one > 0.9 * likely)?.0;
        let [before, after] = [&self.0[..at], &self.0[at..]].map(|part| Sightings(part.to_vec()).fit().middle_per_s);
        let is_shown = likely > CHANGE_LIKELIER_MIN * best(&self.0, &any) && (after / before).ln().abs() > CHANGE_MIN;
        is_shown.then_some(TargetChange { after: at, before_per_s: before, after_per_s: after })
    }

    /// The logarithms between which the limit is searched.
    fn range(&self) -> [f64; 2] {
        let rates = || self.0.iter().map(|one| one.per_s.ln());
        let low = rates().fold(f64::INFINITY, f64::min) + RATES[0].ln();
        [low, rates().fold(f64::NEG_INFINITY, f64::max) + RATES[1].ln()]
    }

    /// The limit and its scatter by Bayes' rule on a grid: a rate is kept as likely as the limit of the moment, which is log-normal, is above it.
    pub fn fit(&self) -> LimitFit {
        let [low, high] = self.range();
        let limits: Vec<f64> = steps(low, high, RATE_STEPS).collect();
        let spreads: Vec<f64> = steps(SPREADS[0].ln(), SPREADS[1].ln(), SPREAD_STEPS).map(f64::exp).collect();
        let mut of_limit = vec![0.0; limits.len()];
        let mut of_spread = vec![0.0; spreads.len()];
        for (limit, of_limit) in limits.iter().zip(&mut of_limit) {
            for (spread, of_spread) in spreads.iter().zip(&mut of_spread) {
                let likelihood = self.0.iter().map(|one| one.likelihood(*limit, *spread)).product::<f64>();
                *of_limit += likelihood;
                *of_spread += likelihood;
            }
        }
        let rate = |share| quantile(&limits, &of_limit, share).exp();
        LimitFit {
            middle_per_s: rate(0.5),
            interval_per_s: [rate(0.025), rate(0.975)],
            spread: quantile(&spreads, &of_spread, 0.5),
        }
    }
}

impl Sighting {
    /// Whether it is worse than `better`, whose rate is the same or higher: more of its operations were slow, or it missed for certain what the
    /// other kept for certain.
    fn contradicts(&self, better: &Sighting) -> bool {
        self.per_s <= better.per_s
            && match (self.slow, better.slow) {
                (Some(own), Some(other)) => own[0] > WORSE * other[1],
                _ => matches!(self.judgement, Judgement::Missed(_)) && better.judgement == Judgement::Kept,
            }
    }

    fn likelihood(&self, ln_limit: f64, spread: f64) -> f64 {
        let keeps = 1.0 / (1.0 + (-LOGISTIC * (ln_limit - self.per_s.ln()) / spread).exp());
        let keeps = LAPSE / 2.0 + (1.0 - LAPSE) * keeps;
        let sure = if matches!(self.judgement, Judgement::Undecided { .. }) { UNDECIDED } else { 1.0 };
        let shown = if self.judgement.keeps() { keeps } else { 1.0 - keeps };
        sure * shown + (1.0 - sure) * (1.0 - shown)
    }
}

fn steps(from: f64, to: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |nth| from + (to - from) * nth as f64 / (count - 1) as f64)
}

/// The first of `values` up to which `share` of all `weights` are.
fn quantile(values: &[f64], weights: &[f64], share: f64) -> f64 {
    let all: f64 = weights.iter().sum();
    let mut passed = 0.0;
    let reached = values.iter().zip(weights).find(|(_, weight)| {
        passed += **weight;
        passed >= share * all
    });
    reached.map_or(values[values.len() - 1], |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{Criterion, ResponseWindow};
    use crate::units::Nanos;

    /// What probes showed: rates, and how many of 1,000 operations in each of ten windows were slow.
    fn sightings(probes: &[(f64, u64)]) -> Sightings {
        let mut all = Sightings::default();
        for (per_s, slow) in probes {
            let window = || {
                let mut window = ResponseWindow { length: Nanos::from_secs(1), ..ResponseWindow::default() };
                window.response.record_n(1_000_000, 1_000 - slow);
                window.response.record_n(50_000_000, *slow);
                window
            };
            let windows = (0..10).map(|_| window()).collect();
            let length = Nanos::from_secs(10);
            let seen = Observation { offered_per_s: Some(*per_s), length, windows, ..Observation::default() };
            all.add(*per_s, &Objective::default(), &seen);
        }
        all
    }

    #[test]
    fn probes_that_get_worse_with_the_rate_do_not_contradict_each_other() {
        assert!(
            !sightings(&[(700.0, 0), (1_000.0, 400), (850.0, 2), (900.0, 12), (880.0, 9), (900.0, 14)]).contradict()
        );
    }

    #[test]
    fn a_probe_that_is_far_worse_than_one_at_the_same_or_a_higher_rate_contradicts_it() {
        assert!(sightings(&[(900.0, 100), (900.0, 1)]).contradict());
        assert!(sightings(&[(850.0, 200), (900.0, 3)]).contradict());
        assert!(sightings(&[(850.0, 300), (900.0, 15)]).contradict(), "both missed, and the lower rate by far more");
        assert!(!sightings(&[(850.0, 3), (900.0, 200)]).contradict());
    }

    #[test]
    fn a_target_that_carries_half_from_some_probe_on_has_changed_and_one_that_scatters_has_not() {
        let halved = [
            (750.0, 400),
            (375.0, 0),
            (530.0, 0),
            (691.0, 0),
            (720.0, 400),
            (578.0, 500),
            (691.0, 500),
            (500.0, 500),
            (400.0, 500),
            (300.0, 0),
        ];
        let change = sightings(&halved).change().expect("it shows");
        assert!(change.after == 5 && change.before_per_s > 600.0 && change.after_per_s < 420.0, "{change:?}");
        let scattered =
            [(800.0, 0), (900.0, 500), (850.0, 0), (900.0, 0), (850.0, 500), (880.0, 0), (840.0, 500), (870.0, 0)];
        assert_eq!(sightings(&scattered).change(), None);
        assert_eq!(sightings(&halved[..5]).change(), None, "nothing contradicts");
    }

    #[test]
    fn without_a_percentile_a_miss_contradicts_what_was_kept_at_a_higher_rate() {
        let below = Nanos::from_secs(1);
        let mut all = Sightings::default();
        let mut add = |per_s, judgement| all.0.push(Sighting { per_s, judgement, slow: None });
        add(900.0, Judgement::Kept);
        add(850.0, Judgement::Missed(Criterion::Stall { below }));
        assert!(all.contradict());
    }

    #[test]
    fn the_fit_is_between_what_is_kept_and_missed_and_as_wide_as_they_overlap() {
        let near = sightings(&[
            (800.0, 0),
            (900.0, 0),
            (990.0, 0),
            (1_000.0, 500),
            (990.0, 500),
            (1_000.0, 0),
            (1_100.0, 500),
        ]);
        let far = sightings(&[(600.0, 0), (900.0, 500), (1_000.0, 0), (800.0, 500), (1_200.0, 0), (1_400.0, 500)]);
        let [near, far] = [near.fit(), far.fit()];
        for (fit, [low, high]) in [(near, [950.0, 1_050.0]), (far, [700.0, 1_350.0])] {
            assert!((low..high).contains(&fit.middle_per_s), "{fit:?}");
            let [from, to] = fit.interval_per_s;
            assert!(from < fit.middle_per_s && fit.middle_per_s < to, "{fit:?}");
        }
        assert!(far.spread > 2.0 * near.spread, "{near:?} {far:?}");
        let width = |fit: &LimitFit| fit.interval_per_s[1] / fit.interval_per_s[0];
        assert!(width(&far) > 1.3 * width(&near), "{near:?} {far:?}");
    }
}
