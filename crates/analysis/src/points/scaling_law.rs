//! What law the rate of a sweep follows over clients or depth: the Universal Scalability Law, a ceiling, or none that can be shown.
//!
//! In: a [`Sweep`], which has no invalid point. Out: a [`ScalingLaw`] with its figures. Limits: closed loops only; nothing is stated
//! beyond 1.5 times what was measured, and no peak beyond the last step.

use crate::math::stats::{mean, variance};
use crate::math::units::Share;
use crate::math::usl::{CeilingFit, ScaledRate, UslFit, fit_ceiling, fit_usl};
use crate::points::sweep::{ScalingAxis, Sweep, SweepStep};
use crate::{PointAnalysis, SettingValue};
use model::Pacing;
use serde::Serialize;

/// Three terms take three counts: the others show whether the law fits.
const COUNTS_MIN: usize = 5;
/// How far beyond the last step a rate may be stated.
const EXTRAPOLATION_MAX: f64 = 1.5;
/// Fewer differences between repeats do not show how much repeats differ.
const REPEATS_FREEDOM_MIN: usize = 3;
/// Repeats that agree better than this agree by luck.
const NOISE_MIN: f64 = 0.01;
/// The noise of rates without repeats: it is not known.
const NOISE_ASSUMED: f64 = 0.05;
/// A step that is further from the law than so many times the noise does not follow it.
const ERROR_MAX: f64 = 2.0;
/// Rates at a ceiling differ from it by no more than this.
const PLATEAU: f64 = 0.10;
/// So many steps at the ceiling show that it is one.
const PLATEAU_STEPS_MIN: usize = 2;
/// Places of a drawn curve.
const PLACES: u32 = 60;

/// The law that the rate follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ScalingLaw {
    /// The Universal Scalability Law.
    Fitted(Box<FittedLaw>),
    /// The rate grows in proportion up to a ceiling.
    Ceiling(RateCeiling),
    /// No law can be shown.
    NotFitted { reason: NoLawReason },
}

/// Why no law can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoLawReason {
    /// Clients and depth both vary, or neither.
    NotOneAxis,
    /// The rate is the schedule's.
    OpenLoop,
    /// Fewer than five counts.
    FewCounts,
    /// Neither the law nor a ceiling fits.
    NoneFits,
}

/// The Universal Scalability Law with the terms that fit best. Intervals are of 95 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedLaw {
    /// The rate of one operation at a time.
    pub single_per_s: f64,
    pub single_per_s_ci95: [f64; 2],
    /// The share of the work that only one can do at a time (contention).
    pub contention: f64,
    pub contention_ci95: [f64; 2],
    /// What each pair in the system costs each other, as a share of the work (coherency).
    pub coherency: f64,
    pub coherency_ci95: [f64; 2],
    /// The term that takes more at the last step, of those whose interval excludes 0.
    pub hurts: Option<ScalingTerm>,
    /// The share of the rate that both take at the last step, compared with a rate in proportion.
    pub lost_share: Share,
    /// Where the rate is highest; `None` if that is beyond the last step.
    pub peak: Option<ScalingPeak>,
    /// The law over clients or depth, to be drawn.
    #[serde(skip)]
    pub curve: Vec<LawPlace>,
}

/// What keeps a rate from growing in proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingTerm {
    /// Waiting for what only one can do at a time: the rate levels off.
    Contention,
    /// What all have to agree on: the rate falls.
    Coherency,
}

/// The highest rate of a law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalingPeak {
    /// The number of clients, or the depth.
    pub at: f64,
    /// Its interval, with no upper end if that is beyond the last step.
    pub at_ci95: (f64, Option<f64>),
    pub ops_per_s: f64,
}

/// One place of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawPlace {
    /// The number of clients, or the depth.
    pub at: f64,
    pub ops_per_s: f64,
    /// The interval of the rate.
    pub ci95: [f64; 2],
}

/// A rate that does not grow any further.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateCeiling {
    /// The number of clients, or the depth, from which on it does not grow.
    pub at: f64,
    pub ops_per_s: f64,
}

/// The law that the rate of `sweep` follows.
pub fn scaling_law(sweep: &Sweep) -> ScalingLaw {
    match measured_rates(sweep) {
        Ok(measured) => judge(&measured),
        Err(reason) => ScalingLaw::NotFitted { reason },
    }
}

/// What a law is fitted to.
struct MeasuredRates {
    /// Of each step, by clients or depth, those of its repeats.
    steps: Vec<Vec<ScaledRate>>,
    /// Pause of a client between two operations, in seconds.
    think_s: f64,
    /// Operations in the system for one client, or one of depth, without think time.
    per_place: f64,
}

fn measured_rates(sweep: &Sweep) -> Result<MeasuredRates, NoLawReason> {
    let first = &sweep.steps[0];
    let per_place = match sweep.axis {
        ScalingAxis::Clients => first.depth,
        ScalingAxis::Depth => first.clients,
        ScalingAxis::None | ScalingAxis::Both => return Err(NoLawReason::NotOneAxis),
    };
    let think_s = think_time_s(first.points[0]).ok_or(NoLawReason::OpenLoop)?;
    let rates = sweep.steps.iter().map(|step| rates_of(step, think_s));
    let steps: Vec<Vec<ScaledRate>> = rates.filter(|rates| !rates.is_empty()).collect();
    if steps.len() < COUNTS_MIN {
        return Err(NoLawReason::FewCounts);
    }
    Ok(MeasuredRates { steps, think_s, per_place: f64::from(per_place) })
}

/// The pause of a client between two operations of `point`, in seconds; `None` in an open loop.
fn think_time_s(point: &PointAnalysis) -> Option<f64> {
    match point.settings.get("pacing").map(|setting| &setting.value) {
        Some(SettingValue::Pacing(Pacing::Open { .. })) => None,
        Some(SettingValue::Pacing(Pacing::Closed { think })) => Some(think.as_secs_f64()),
        _ => point.summary.as_ref().is_none_or(|summary| summary.offered_per_s.is_none()).then_some(0.0),
    }
}

fn rates_of(step: &SweepStep, think_s: f64) -> Vec<ScaledRate> {
    let all = step.points.iter().filter_map(|point| {
        let summary = point.summary.as_ref()?;
        // With think time N - X Z clients are in the system. By Little's law that is X R, which is no difference of two large numbers.
        let in_system = if think_s > 0.0 {
            summary.ops_per_s * summary.response_ns?.mean / 1e9
        } else {
            f64::from(step.clients) * f64::from(step.depth)
        };
        Some(ScaledRate { in_system, per_s: summary.ops_per_s })
    });
    all.filter(|rate| rate.per_s > 0.0 && rate.in_system > 0.0).collect()
}

fn judge(measured: &MeasuredRates) -> ScalingLaw {
    let rates = measured.steps.concat();
    let ceiling = fit_ceiling(&rates);
    match fit_usl(&rates).filter(|law| measured.follow(law) && !law.is_no_better_than(&ceiling)) {
        Some(law) => ScalingLaw::Fitted(Box::new(measured.describe(&law))),
        None if measured.reach(&ceiling) => ScalingLaw::Ceiling(RateCeiling {
            at: measured.place(ceiling.in_system, ceiling.per_s),
            ops_per_s: ceiling.per_s,
        }),
        None => ScalingLaw::NotFitted { reason: NoLawReason::NoneFits },
    }
}

impl MeasuredRates {
    /// Whether the rates follow `law`: no term is below 0, and no step is further off than twice the noise.
    fn follow(&self, law: &UslFit) -> bool {
        let worst = self.steps.iter().map(|rates| mean(&errors(law, rates)).abs()).fold(0.0, f64::max);
        let is_possible = (0.0..1.0).contains(&law.contention()) && law.coherency() >= 0.0;
        is_possible && worst <= ERROR_MAX * self.noise(law)
    }

    /// The standard deviation of the repeats around their mean, as a share of it.
    fn noise(&self, law: &UslFit) -> f64 {
        let repeated = self.steps.iter().filter(|rates| rates.len() > 1);
        let (mut squares, mut freedom) = (0.0, 0);
        for rates in repeated {
            squares += variance(&errors(law, rates)) * (rates.len() - 1) as f64;
            freedom += rates.len() - 1;
        }
        if freedom >= REPEATS_FREEDOM_MIN { (squares / freedom as f64).sqrt().max(NOISE_MIN) } else { NOISE_ASSUMED }
    }

    /// Whether steps beyond the place of `ceiling` are at it.
    fn reach(&self, ceiling: &CeilingFit) -> bool {
        let places = self.steps.iter().map(|rates| (mean(&values(rates, |rate| rate.in_system)), rates));
        let beyond: Vec<f64> = places
            .filter(|(in_system, _)| *in_system >= ceiling.in_system * (1.0 - PLATEAU))
            .map(|(_, rates)| mean(&values(rates, |rate| rate.per_s)))
            .collect();
        beyond.len() >= PLATEAU_STEPS_MIN && beyond.iter().all(|per_s| (per_s / ceiling.per_s - 1.0).abs() <= PLATEAU)
    }

    fn describe(&self, law: &UslFit) -> FittedLaw {
        let rates = self.steps.concat();
        let most = rates.iter().map(|rate| rate.in_system).fold(0.0, f64::max);
        let (single_per_s, single_per_s_ci95) = law.single_per_s();
        let last = law.rate(most).map_or(0.0, |(per_s, _)| per_s);
        FittedLaw {
            single_per_s,
            single_per_s_ci95,
            contention: law.contention(),
            contention_ci95: law.contention_ci95(),
            coherency: law.coherency(),
            coherency_ci95: law.coherency_ci95(),
            hurts: hurting_term(law, most),
            lost_share: Share(1.0 - last / (single_per_s * most)),
            peak: law.peak().filter(|peak| *peak <= most).and_then(|peak| self.describe_peak(law, &rates, peak, most)),
            curve: self.curve(law, &rates, most),
        }
    }

    /// `None` if the peak could as well be below the first step and beyond the last: that is no peak.
    fn describe_peak(&self, law: &UslFit, rates: &[ScaledRate], peak: f64, most: f64) -> Option<ScalingPeak> {
        let (low, high) = law.peak_ci95(rates, peak, most);
        let least = rates.iter().map(|rate| rate.in_system).fold(most, f64::min);
        if high.is_none() && low <= least {
            return None;
        }
        let place = |in_system: f64| Some(self.place(in_system, law.rate(in_system)?.0));
        let at_ci95 = (place(low)?, high.and_then(place));
        Some(ScalingPeak { at: place(peak)?, at_ci95, ops_per_s: law.rate(peak)?.0 })
    }

    /// The law from the first step to the last, and beyond it only if the coherency is shown, which decides how it goes on there.
    fn curve(&self, law: &UslFit, rates: &[ScaledRate], most: f64) -> Vec<LawPlace> {
        let least = rates.iter().map(|rate| rate.in_system).fold(most, f64::min);
        let end = if law.coherency_ci95()[0] > 0.0 { EXTRAPOLATION_MAX * most } else { most };
        let in_system = |nth: u32| least * (end / least).powf(f64::from(nth) / f64::from(PLACES));
        (0..=PLACES)
            .map(in_system)
            .filter_map(|in_system| {
                let (ops_per_s, ci95) = law.rate(in_system)?;
                Some(LawPlace { at: self.place(in_system, ops_per_s), ops_per_s, ci95 })
            })
            .collect()
    }

    /// How many clients, or what depth, keep `in_system` operations in the system at this rate.
    fn place(&self, in_system: f64, per_s: f64) -> f64 {
        (in_system + per_s * self.think_s) / self.per_place
    }
}

fn errors(law: &UslFit, rates: &[ScaledRate]) -> Vec<f64> {
    values(rates, |rate| law.error(rate))
}

fn values(rates: &[ScaledRate], value: impl Fn(&ScaledRate) -> f64) -> Vec<f64> {
    rates.iter().map(value).collect()
}

/// The term that takes more with `most` operations in the system, of those that are shown.
fn hurting_term(law: &UslFit, most: f64) -> Option<ScalingTerm> {
    let contention = (ScalingTerm::Contention, law.contention_ci95()[0], law.contention() * (most - 1.0));
    let coherency = (ScalingTerm::Coherency, law.coherency_ci95()[0], law.coherency() * most * (most - 1.0));
    let shown = [contention, coherency].into_iter().filter(|(_, low, _)| *low > 0.0);
    shown.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(term, ..)| term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::sweep::sweeps;
    use crate::simulated::{Random, Simulation, run_of};
    use crate::{Validity, analyse};
    use model::{Arrivals, Nanos, PointData};

    /// One point for each count and repeat, with the rate that `rate` gives it.
    fn measured(counts: &[u32], repeats: u32, mut rate: impl FnMut(f64) -> f64) -> Vec<PointData> {
        let mut points = Vec::new();
        for (clients, repeat) in counts.iter().flat_map(|clients| (1..=repeats).map(move |repeat| (*clients, repeat))) {
            let per_s = rate(f64::from(clients)).round() as u64;
            points.push(Simulation::counts(&[per_s; 10]).with(|point| {
                (point.trial.load.clients, point.trial.repeat) = (clients, repeat);
                point.trial.load.pacing = Pacing::Closed { think: Nanos(0) };
            }));
        }
        points.into_iter().map(Simulation::point).collect()
    }

    fn analysed(points: Vec<PointData>) -> Vec<PointAnalysis> {
        let mut points = analyse(&run_of(points, Vec::new())).points;
        // One simulated client does the work of all, which other detectors see; the rates are what counts here.
        points.iter_mut().for_each(|point| point.validity = Validity::Valid);
        points
    }

    fn law_of(points: Vec<PointData>) -> ScalingLaw {
        scaling_law(&sweeps(&analysed(points))[0])
    }

    const COUNTS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

    fn usl(n: f64) -> f64 {
        20_000.0 * n / (1.0 + 0.02 * (n - 1.0) + 5e-4 * n * (n - 1.0))
    }

    fn fitted(law: ScalingLaw) -> FittedLaw {
        match law {
            ScalingLaw::Fitted(law) => *law,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_known_curve_has_its_terms_its_peak_and_the_term_that_hurts() {
        let law = fitted(law_of(measured(&COUNTS, 1, usl)));
        let peak = law.peak.expect("it was passed");
        assert!((law.contention - 0.02).abs() < 1e-4 && (law.coherency - 5e-4).abs() < 1e-5, "{law:?}");
        assert!((peak.at - 44.27).abs() < 0.1, "{peak:?}");
        assert_eq!(law.hurts, Some(ScalingTerm::Coherency));
        assert!((law.lost_share.0 - (1.0 - usl(64.0) / (64.0 * 20_000.0))).abs() < 1e-3, "{law:?}");
        let [first, .., last] = law.curve.as_slice() else { panic!("a curve") };
        assert!((first.at - 1.0).abs() < 1e-9 && (last.at - 96.0).abs() < 1e-9, "1.5 times the last count");
    }

    #[test]
    fn noisy_curves_have_the_peak_in_the_stated_interval_in_95_of_100() {
        let (mut stated, mut covered) = (0, 0);
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let repeats = 1 + seed as u32 % 3;
            let law = law_of(measured(&COUNTS, repeats, |n| usl(n) * (1.0 + 0.03 * random.normal())));
            if let ScalingLaw::Fitted(law) = law
                && let Some(ScalingPeak { at_ci95: (low, high), .. }) = law.peak
            {
                stated += 1;
                covered += u32::from(low <= 44.27 && high.is_none_or(|high| 44.27 <= high));
            }
        }
        assert!(stated >= 190 && covered * 100 >= stated * 95, "{covered} of {stated}");
    }

    #[test]
    fn a_hard_ceiling_has_no_law_but_a_place() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let repeats = 1 + seed as u32 % 3;
            let law = law_of(measured(&COUNTS, repeats, |n| 20_000.0 * n.min(12.0) * (1.0 + 0.03 * random.normal())));
            let ScalingLaw::Ceiling(ceiling) = law else { panic!("{seed}: {law:?}") };
            assert!((10.5..13.5).contains(&ceiling.at), "{seed}: {ceiling:?}");
            assert!((230_000.0..250_000.0).contains(&ceiling.ops_per_s), "{seed}: {ceiling:?}");
        }
    }

    #[test]
    fn a_rate_that_never_grows_is_at_its_ceiling_from_the_first_count_on() {
        let mut random = Random::new(5);
        let law = law_of(measured(&COUNTS, 3, |_| 50_000.0 * (1.0 + 0.03 * random.normal())));
        let ScalingLaw::Ceiling(ceiling) = law else { panic!("{law:?}") };
        assert!(ceiling.at < 1.3 && (ceiling.ops_per_s / 50_000.0 - 1.0).abs() < 0.03, "{ceiling:?}");
    }

    #[test]
    fn a_peak_beyond_the_last_count_is_not_stated_and_the_curve_ends_within_reach() {
        let early = [1, 2, 4, 6, 8, 12, 16];
        let law = fitted(law_of(measured(&early, 1, usl)));
        assert_eq!(law.peak, None);
        assert!(law.curve.iter().all(|place| place.at <= 24.0 + 1e-9), "{:?}", law.curve.last());
    }

    #[test]
    fn a_peak_that_could_be_anywhere_is_not_stated() {
        let scattered = [196.8, 206.6, 226.6, 204.4, 203.6];
        let counts = [1, 2, 4, 8, 16];
        let law = fitted(law_of(measured(&counts, 1, |n| 20.0 * scattered[n.log2() as usize])));
        assert_eq!(law.peak, None, "{law:?}");
    }

    #[test]
    fn few_counts_an_open_loop_and_a_rate_of_no_shape_have_no_law() {
        let reason = |points| match law_of(points) {
            ScalingLaw::NotFitted { reason } => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(measured(&COUNTS[..4], 3, usl)), NoLawReason::FewCounts);
        assert_eq!(reason(measured(&[1, 2, 4, 8, 16, 32], 1, |n| 90_000.0 / n)), NoLawReason::NoneFits);
        let mut open = measured(&COUNTS, 1, usl);
        let arrivals = Arrivals::Poisson { per_s: 1e6 };
        open.iter_mut().for_each(|point| point.trial.load.pacing = Pacing::Open { arrivals });
        assert_eq!(reason(open), NoLawReason::OpenLoop);
    }

    #[test]
    fn invalid_points_never_enter() {
        let mut points = analysed(measured(&COUNTS, 1, |n| if n == 8.0 { 900.0 } else { usl(n) }));
        points[3].validity = Validity::Invalid;
        let law = fitted(scaling_law(&sweeps(&points)[0]));
        assert!((law.contention - 0.02).abs() < 1e-4, "{law:?}");
    }

    #[test]
    fn with_think_time_the_law_is_of_those_in_the_system_and_its_peak_in_clients() {
        // 10 ms of thought: n operations in the system at the rate X(n) need n + X(n) / 100 clients.
        let think_s = 0.01;
        let in_system = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let points = in_system.map(|n| {
            let per_s = usl(n);
            let mut simulation = Simulation::counts(&[1]);
            simulation.recorded.phases[0].intervals.clear();
            (0..10).for_each(|second| {
                let response_ns = (n / per_s * 1e9) as u64;
                simulation.add(second, per_s as u64, response_ns, response_ns);
            });
            simulation.recorded.phases[0].end = model::Tick(10_000_000_000);
            simulation.with(|point| {
                point.trial.phases.run = Nanos::from_secs(10);
                point.trial.load.clients = (n + per_s * think_s).round() as u32;
                point.trial.load.pacing = Pacing::Closed { think: Nanos(10_000_000) };
            })
        });
        let law = fitted(law_of(points.into_iter().map(Simulation::point).collect()));
        let expected = 44.27 + usl(44.27) * think_s;
        assert!((law.contention - 0.02).abs() < 1e-3, "{law:?}");
        assert!((law.peak.expect("it was passed").at / expected - 1.0).abs() < 0.01, "{:?} {expected}", law.peak);
    }
}
