//! Finds where adding clients or depth stops helping, and by what law.
//!
//! In: the points of each group. Out: a note per group with at least three steps.
//! Limits: a knee is one of the measured steps; the law has a peak between them, if it fits.

use super::{Detects, Finding, FindingKind, Subject};
use crate::PointAnalysis;
use crate::judgement::{NextStep, Severity};
use crate::math::repeats::half_width_share;
use crate::points::scaling_law::{NoLawReason, ScalingLaw, ScalingTerm, scaling_law};
use crate::points::sweep::{ScalingAxis, Sweep, SweepStep, sweeps};
use model::Plan;
use serde::Serialize;
use words::quantity::{percent, range, rate, time};

/// A last step this far below the best suffers from too many at once.
pub const FALL_MIN: f64 = 0.10;

/// How the rate depends on clients and depth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// What varies between the steps.
    pub axis: ScalingAxis,
    /// The first step that reaches 90 % of the best rate.
    pub knee: StepRate,
    /// The step with the highest rate.
    pub best: StepRate,
    pub last: StepRate,
    /// All steps by clients times depth.
    pub steps: Vec<StepRate>,
    /// What the steps show beyond the knee.
    pub beyond: BeyondKnee,
    /// The law that the rate follows.
    pub law: ScalingLaw,
    /// From which step on more only wait; `None` if that was not seen.
    pub without_gain: Option<StepsWithoutGain>,
}

/// Two steps between which the response time doubles and the rate hardly gains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepsWithoutGain {
    /// The last step that is worth it.
    pub from: StepRate,
    /// The first with twice its 95th percentile.
    pub to: StepRate,
}

/// The rate at one number of clients and depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepRate {
    pub clients: u32,
    /// Operations that one client kept in flight.
    pub depth: u32,
    /// The mean rate of the repeats.
    pub ops_per_s: f64,
    /// The 95th percentile of the response times of the repeats; `None` if no operation was done.
    pub p95_ns: Option<u64>,
}

/// What the steps show beyond the knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondKnee {
    /// The knee is the last step.
    StillRising,
    /// The knee is the last step, but its rate is not known well enough to be above the others.
    RiseNotShown,
    /// The last step is more than 10 % below the best.
    Falling,
    /// The rate hardly changes.
    Level,
}

impl StepsWithoutGain {
    /// How much the rate gains, as a share; below 0 if it falls.
    pub fn gain_share(&self) -> f64 {
        self.to.ops_per_s / self.from.ops_per_s.max(f64::MIN_POSITIVE) - 1.0
    }
}

impl Knee {
    /// How far the last step is below the best, as a share of the best.
    pub fn fall_share(&self) -> f64 {
        1.0 - self.last.ops_per_s / self.best.ops_per_s.max(f64::MIN_POSITIVE)
    }
}

// Between two steps there is none at which the rate could have levelled.
const STEPS_MIN: usize = 3;

/// A rate gains if it gains more than this share, and more than its noise.
const GAIN_MIN: f64 = 0.10;

/// By so much the 95th percentile grows where more clients only wait.
const WAIT_FACTOR: u64 = 2;

fn detect(points: &[PointAnalysis], _: &Plan) -> Vec<Finding> {
    sweeps(points).iter().filter(|sweep| sweep.steps.len() >= STEPS_MIN).map(knee).collect()
}

fn knee(sweep: &Sweep) -> Finding {
    let law = scaling_law(sweep);
    let is_open = law == ScalingLaw::NotFitted { reason: NoLawReason::OpenLoop };
    let beyond = beyond(sweep);
    let detail = Knee {
        beyond,
        law,
        without_gain: if is_open { None } else { steps_without_gain(sweep) },
        axis: sweep.axis,
        knee: step_rate(sweep.knee()),
        best: step_rate(sweep.best()),
        last: step_rate(sweep.last()),
        steps: sweep.steps.iter().map(step_rate).collect(),
    };
    let next = match beyond {
        BeyondKnee::StillRising => NextStep::MeasureMoreSteps,
        BeyondKnee::RiseNotShown => NextStep::RunLonger,
        BeyondKnee::Falling | BeyondKnee::Level => NextStep::None,
    };
    Finding::new(Severity::Note, detail).about(Subject::Sweep(sweep.group)).next(next)
}

/// What the steps show beyond the knee.
fn beyond(sweep: &Sweep) -> BeyondKnee {
    let fall_share = 1.0 - sweep.last().ops_per_s() / sweep.best().ops_per_s().max(f64::MIN_POSITIVE);
    match std::ptr::eq(sweep.knee(), sweep.last()) {
        true if sweep.is_rise_shown() => BeyondKnee::StillRising,
        true => BeyondKnee::RiseNotShown,
        false if fall_share > FALL_MIN => BeyondKnee::Falling,
        false => BeyondKnee::Level,
    }
}

fn step_rate(step: &SweepStep) -> StepRate {
    let (ops_per_s, p95_ns) = (step.ops_per_s(), step.response_ns(0.95));
    StepRate { clients: step.clients, depth: step.depth, ops_per_s, p95_ns }
}

/// The first step with a later one that has twice its response time and hardly a higher rate.
fn steps_without_gain(sweep: &Sweep) -> Option<StepsWithoutGain> {
    let noise = |step: &SweepStep| {
        let rate = step.estimate(|summary| Some((summary.ops_per_s, summary.ops_per_s_ci95)));
        rate.and_then(|rate| half_width_share((rate.mean, rate.ci95))).unwrap_or(0.0)
    };
    let steps: Vec<(StepRate, f64)> = sweep.steps.iter().map(|step| (step_rate(step), noise(step))).collect();
    let pairs = (0..steps.len()).flat_map(|from| (from + 1..steps.len()).map(move |to| (from, to)));
    pairs.map(|(from, to)| (steps[from], steps[to])).find_map(|((from, noise), (to, later_noise))| {
        let pair = StepsWithoutGain { from, to };
        let waits = to.p95_ns? >= WAIT_FACTOR * from.p95_ns?;
        (waits && pair.gain_share() < GAIN_MIN.max(noise.hypot(later_noise))).then_some(pair)
    })
}

impl FindingKind for Knee {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Run(detect);

    fn is_like(&self, other: &Self) -> bool {
        let place =
            |one: &Self| (one.axis, one.beyond, (one.knee.clients, one.knee.depth), one.last.clients, one.last.depth);
        place(self) == place(other) && law_clause(self) == law_clause(other)
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let at = |step: &StepRate| place(first.axis, step);
        let knee_share = |one: &Self| one.knee.ops_per_s / one.best.ops_per_s.max(f64::MIN_POSITIVE);
        let steps = match first.beyond {
            BeyondKnee::StillRising => format!("throughput is still rising at {}; measure more", at(&first.last)),
            BeyondKnee::RiseNotShown => {
                format!("best at {}, but its interval does not show that throughput still rises", at(&first.last))
            }
            BeyondKnee::Falling => {
                let fall = range(alike, Self::fall_share, percent);
                format!(
                    "best at {}; {} {} {fall} slower",
                    at(&first.best),
                    at(&first.last),
                    be(first.axis, &first.last)
                )
            }
            BeyondKnee::Level => {
                let share = range(alike, knee_share, percent);
                let best = range(alike, |one| one.best.ops_per_s, rate);
                if alike.iter().all(|one| one.knee == one.best) {
                    format!("best at {} ({best}); more does not help", at(&first.knee))
                } else {
                    let reach = if be(first.axis, &first.knee) == "is" { "reaches" } else { "reach" };
                    let (knee, fastest) = (at(&first.knee), at(&first.best));
                    format!("{knee} {reach} {share} of the best rate ({best} at {fastest})")
                }
            }
        };
        steps + &law_clause(first)
    }

    fn evidence(&self) -> String {
        let one = |step: &StepRate| format!("{} {}", place(self.axis, step), rate(step.ops_per_s));
        let steps = self.steps.iter().map(one).collect::<Vec<_>>().join(", ");
        let parts = [Some(steps), law_terms(self), self.without_gain.map(|pair| waiting(self.axis, &pair))];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// What the law adds to the title: `; the fitted curve peaks at 44 clients (38 to 52)`.
fn law_clause(found: &Knee) -> String {
    match &found.law {
        ScalingLaw::Fitted(law) => law.peak.map_or(String::new(), |peak| {
            let (low, high) = peak.at_ci95;
            let interval = match high {
                Some(high) => format!("{} to {}", count_at(low), count_at(high)),
                None => format!("{} or more", count_at(low)),
            };
            format!("; the fitted curve peaks at {} ({interval})", fitted_place(found.axis, peak.at))
        }),
        ScalingLaw::Ceiling(ceiling) => {
            format!("; from {} on the rate is at its ceiling", fitted_place(found.axis, ceiling.at))
        }
        ScalingLaw::NotFitted { .. } => String::new(),
    }
}

/// The terms of the law, and which of them takes most.
fn law_terms(found: &Knee) -> Option<String> {
    match &found.law {
        ScalingLaw::Fitted(law) => {
            let terms = format!(
                "contention {} ({}), coherency {} ({})",
                share_of(law.contention),
                share_interval(law.contention_ci95),
                share_of(law.coherency),
                share_interval(law.coherency_ci95)
            );
            let hurts = law.hurts.map_or_else(
                || "neither is shown".to_owned(),
                |term| {
                    let last = place(found.axis, &found.last);
                    let verb = be(found.axis, &found.last);
                    format!(
                        "{last} {verb} {} below a rate in proportion, {}",
                        percent(law.lost_share.0),
                        term_words(term)
                    )
                },
            );
            Some(format!("{terms}: {hurts}"))
        }
        ScalingLaw::Ceiling(ceiling) => Some(format!("ceiling {}", rate(ceiling.ops_per_s))),
        ScalingLaw::NotFitted { reason: NoLawReason::NoneFits } => Some("no scalability law fits".to_owned()),
        ScalingLaw::NotFitted { .. } => None,
    }
}

fn term_words(term: ScalingTerm) -> &'static str {
    match term {
        ScalingTerm::Contention => "mostly by contention (clients wait for their turn)",
        ScalingTerm::Coherency => "mostly by coherency (clients hinder each other)",
    }
}

/// `beyond 16 clients they wait: 64 clients have 4.1 times the p95 (5.02 ms) and 3.1 % more throughput`
fn waiting(axis: ScalingAxis, pair: &StepsWithoutGain) -> String {
    let (from, to) = (place(axis, &pair.from), place(axis, &pair.to));
    let [before, after] = [pair.from, pair.to].map(|step| step.p95_ns.unwrap_or(0) as f64);
    let gain = match pair.gain_share() {
        gain if gain < 0.0 => format!("{} slower", percent(-gain)),
        gain => format!("{} faster", percent(gain)),
    };
    let verb = be(axis, &pair.to);
    format!("more than {from} only wait: {to} {verb} {gain}, and p95 rises from {} to {}", time(before), time(after))
}

/// `44 clients`, `depth 12`: a place between the steps.
fn fitted_place(axis: ScalingAxis, at: f64) -> String {
    match axis {
        ScalingAxis::Depth => format!("depth {}", count_at(at)),
        _ => format!("{} clients", count_at(at)),
    }
}

/// A number of clients between two whole ones, as exactly as it is worth knowing.
fn count_at(at: f64) -> String {
    if at < 9.95 { format!("{at:.1}") } else { format!("{at:.0}") }
}

/// A share with two digits, however small: `2.0 %`, `0.050 %`.
fn share_of(share: f64) -> String {
    format!("{} %", two_digits(share * 100.0))
}

fn share_interval([low, high]: [f64; 2]) -> String {
    format!("{} to {} %", two_digits(low * 100.0), two_digits(high * 100.0))
}

fn two_digits(value: f64) -> String {
    let decimals = if value == 0.0 { 0.0 } else { 1.0 - value.abs().log10().floor() };
    format!("{value:.*}", decimals.clamp(0.0, 6.0) as usize)
}

/// The verb behind a [`place`].
fn be(axis: ScalingAxis, step: &StepRate) -> &'static str {
    if axis == ScalingAxis::Depth || step.clients == 1 { "is" } else { "are" }
}

/// `depth 8`, `4 clients`, `4 clients depth 8`.
fn place(axis: ScalingAxis, step: &StepRate) -> String {
    let clients = || match step.clients {
        1 => "1 client".to_owned(),
        n => format!("{n} clients"),
    };
    match axis {
        ScalingAxis::None => String::new(),
        ScalingAxis::Clients => clients(),
        ScalingAxis::Depth => format!("depth {}", step.depth),
        ScalingAxis::Both => format!("{} depth {}", clients(), step.depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::judgement::Validity;
    use crate::math::units::Share;
    use crate::points::scaling_law::{FittedLaw, RateCeiling, ScalingPeak};
    use crate::simulated::{Simulation, figures_of, run_of};

    fn knees(rates: &[u64]) -> Vec<Knee> {
        let point = |(nth, rate): (u32, &u64)| {
            Simulation::counts(&[*rate; 10]).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let analysis = analyse(&run_of((0..).zip(rates).map(point).collect(), Vec::new()));
        let about = Subject::Sweep(0);
        assert!(analysis.findings.iter().all(|finding| finding.subject == about), "{:?}", analysis.findings);
        figures_of(&analysis.findings)
    }

    #[test]
    fn rates_that_level_off_have_a_knee_and_rising_ones_have_not() {
        let knee = |rates| {
            let found = knees(rates).remove(0);
            (found.axis, found.knee.depth, found.beyond)
        };
        assert_eq!(knee(&[1000, 1900, 2000, 2050]), (ScalingAxis::Depth, 2, BeyondKnee::Level));
        assert_eq!(knee(&[1000, 1900, 3500]), (ScalingAxis::Depth, 4, BeyondKnee::StillRising));
        assert_eq!(knee(&[1000, 2000, 1200]), (ScalingAxis::Depth, 2, BeyondKnee::Falling));
        assert!((knees(&[1000, 2000, 1200])[0].fall_share() - 0.4).abs() < 1e-9);
        assert!(knees(&[1000, 2000]).is_empty());
    }

    /// Ten seconds at each depth, of which the rates swing by this share to either side.
    fn swinging(rates: &[u64], share: f64) -> Knee {
        let point = |(nth, rate): (u32, &u64)| {
            let swing = (share * *rate as f64) as u64;
            let counts: Vec<u64> =
                (0..10).map(|at| if at / 2 % 2 == 0 { rate - swing } else { rate + swing }).collect();
            Simulation::counts(&counts).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let points = (0..).zip(rates).map(point).collect();
        figures_of(&analyse(&run_of(points, Vec::new())).findings).remove(0)
    }

    #[test]
    fn a_rise_that_is_within_the_intervals_is_not_shown() {
        assert_eq!(swinging(&[1000, 2000, 2560], 0.01).beyond, BeyondKnee::StillRising);
        assert_eq!(swinging(&[1000, 2000, 2560], 0.5).beyond, BeyondKnee::RiseNotShown);
        assert_eq!(swinging(&[1000, 2000, 2050], 0.5).beyond, BeyondKnee::Level);
    }

    #[test]
    fn steps_without_gain_have_twice_the_response_time_and_hardly_a_higher_rate() {
        let found = |steps: &[(u32, u64, u64)]| {
            let points = steps.iter().map(|(clients, rate, p95_ns)| {
                let mut simulation = Simulation::counts(&[0; 10]);
                for second in 0..10 {
                    simulation.add(second, *rate, *p95_ns, *p95_ns);
                }
                simulation.with(|point| point.trial.load.clients = *clients).point()
            });
            let run = run_of(points.collect(), Vec::new());
            let mut points = analyse(&run).points;
            points.iter_mut().for_each(|point| point.validity = Validity::Valid);
            let pair = figures_of::<Knee>(&detect(&points, &run.meta.plan)).remove(0).without_gain;
            pair.map(|pair| (pair.from.clients, pair.to.clients, (pair.gain_share() * 100.0).round()))
        };
        let ms = 1_000_000;
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, ms), (16, 3100, 5 * ms)]), Some((4, 16, 3.0)));
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, 2 * ms), (16, 6000, 5 * ms)]), None);
        assert_eq!(found(&[(1, 1000, ms), (4, 3000, ms), (16, 3100, ms)]), None);
    }

    fn scaled(law: ScalingLaw) -> Knee {
        let step = |clients, ops_per_s, p95_ns| StepRate { clients, depth: 1, ops_per_s, p95_ns: Some(p95_ns) };
        let steps = vec![step(1, 1e3, 1_000_000), step(32, 9.8e3, 4_000_000), step(128, 7.5e3, 20_000_000)];
        let without_gain = Some(StepsWithoutGain { from: steps[1], to: steps[2] });
        let (beyond, axis) = (BeyondKnee::Falling, ScalingAxis::Clients);
        Knee { axis, beyond, knee: steps[1], best: steps[1], last: steps[2], steps, law, without_gain }
    }

    #[test]
    fn a_fitted_law_gives_its_peak_its_terms_and_what_hurts() {
        let law = FittedLaw {
            single_per_s: 1e3,
            single_per_s_ci95: [990.0, 1_010.0],
            contention: 0.02,
            contention_ci95: [0.016, 0.024],
            coherency: 5e-4,
            coherency_ci95: [4.1e-4, 5.9e-4],
            hurts: Some(ScalingTerm::Coherency),
            lost_share: Share(0.93),
            peak: Some(ScalingPeak { at: 44.3, at_ci95: (38.2, Some(52.1)), ops_per_s: 1e4 }),
            curve: Vec::new(),
        };
        let open = ScalingPeak { at: 4.43, at_ci95: (3.8, None), ops_per_s: 1e4 };
        let found = scaled(ScalingLaw::Fitted(Box::new(law.clone())));
        let title = "best at 32 clients; 128 clients are 23 % slower; the fitted curve peaks at 44 clients (38 to 52)";
        assert_eq!(Knee::title(&[&found]), title);
        let evidence = "1 client 1.00k/s, 32 clients 9.80k/s, 128 clients 7.50k/s; contention 2.0 % (1.6 to 2.4 %), coherency \
                        0.050 % (0.041 to 0.059 %): 128 clients are 93 % below a rate in proportion, mostly by coherency \
                        (clients hinder each other); more than 32 clients only wait: 128 clients are 23 % slower, and p95 \
                        rises from 4.00 ms to 20.0 ms";
        assert_eq!(found.evidence(), evidence);
        let early = scaled(ScalingLaw::Fitted(Box::new(FittedLaw { peak: Some(open), ..law })));
        assert!(Knee::title(&[&early]).ends_with("peaks at 4.4 clients (3.8 or more)"));
        assert!(!found.is_like(&early), "each has a title of its own");
    }

    #[test]
    fn a_ceiling_gives_its_place_and_its_rate_and_what_fits_no_law_is_called_so() {
        let found = scaled(ScalingLaw::Ceiling(RateCeiling { at: 12.0, ops_per_s: 9.9e3 }));
        assert!(Knee::title(&[&found]).ends_with("; from 12 clients on the rate is at its ceiling"));
        assert!(found.evidence().contains("; ceiling 9.90k/s; "), "{}", found.evidence());
        let found = scaled(ScalingLaw::NotFitted { reason: NoLawReason::NoneFits });
        assert!(found.evidence().contains("; no scalability law fits; "), "{}", found.evidence());
        let found = scaled(ScalingLaw::NotFitted { reason: NoLawReason::FewCounts });
        assert!(!found.evidence().contains("law"), "{}", found.evidence());
    }

    #[test]
    fn a_rise_within_the_intervals_is_not_called_one() {
        let law = ScalingLaw::NotFitted { reason: NoLawReason::FewCounts };
        let unsure = Knee { beyond: BeyondKnee::RiseNotShown, ..scaled(law) };
        let expected = "best at 128 clients, but its interval does not show that throughput still rises";
        assert_eq!(Knee::title(&[&unsure]), expected);
    }
}
