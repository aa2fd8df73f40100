//! What binds a point, by experiment: how the rate follows when one resource is varied.
//!
//! In: a run of `plimsoll why`, its analysis. Out: a [`WhyAnswer`]: for each resource an elasticity with its interval, and a verdict.
//! Limits: one number per measurement, compared within its round. With fewer than 4 rounds the intervals are too wide for a verdict in
//! most cases. An elasticity of one resource assumes that the others stay as they are.
//!
//! The elasticity is the exponent by which the rate follows the resource: ln(X'/X) / ln(f), where f is what is left of the resource (0.8) or how
//! much more there is of it (1.25), X the rate of the unchanged point, and X' that of the arm in the same round. 1: the rate follows in full. 0: it
//! does not follow.

use crate::evidence::limited_flow::LimitedFlow;
use crate::findings::limit_escaped::EscapedLimit;
use crate::math::ratio::PAIRS_MIN;
use crate::recorded::io_shape::IoShape;
use crate::{Analysis, DetailKind, PointAnalysis, Preference, RatioEstimate, RepeatPair};
use model::{NotVaried, PointState, RunData, Trial, VariedArm, VariedResource, WhyPart, WhySpec, WritePath};
use serde::Serialize;

/// From here on a resource binds.
pub const BINDS_FROM: f64 = 0.7;
/// Below this it does not bind.
pub const BINDS_NOT_BELOW: f64 = 0.1;
/// The interval of a resource that binds is above this, and that of one that does not bind is below it.
pub const BETWEEN: f64 = 0.35;

/// A device that carries so much more than it was thought to is not limited to a known share. Bursts of the kernel's throttling are within it.
const CAPACITY_PASSED: f64 = 1.25;

/// What an elasticity shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// The rate follows the resource.
    Binds,
    /// It follows in part: other resources take the rest of the time.
    BindsInPart,
    /// It does not follow.
    DoesNotBind,
    /// There are too few rounds, or they differ too much from each other.
    CannotTell,
    /// The device did more than the limit allows, so nothing was varied.
    LimitEscaped,
    /// The unchanged point did more on the device than that was thought to carry, so the limit takes more than it should.
    CapacityTooLow,
}

/// How the rate follows one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elasticity {
    pub resource: VariedResource,
    /// What was set, as in a plan.
    pub setting: String,
    /// How much there was of it: 0.8 of the rate, 1.25 of the clients.
    pub factor: f64,
    /// The exponent; `None` if no round is complete.
    pub value: Option<f64>,
    /// Its 95 % confidence interval, from the pairs of the rounds by Student's t; `None` with fewer than two rounds.
    pub ci95: Option<[f64; 2]>,
    /// The rate with the changed resource, as a share of the unchanged one.
    pub rate_ratio: Option<f64>,
    /// The 95 % confidence interval of that.
    pub rate_ratio_ci95: Option<[f64; 2]>,
    /// Rounds that it is of.
    pub rounds: usize,
    pub verdict: Binding,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyAnswer {
    /// The run that the point is from.
    pub run_id: String,
    /// The number of the point there.
    pub point: u32,
    /// Rounds that were asked for.
    pub rounds_planned: u32,
    /// Rounds in which the unchanged point was measured.
    pub rounds: usize,
    /// The mean rate of the unchanged point, per second; `None` if it was not measured.
    pub ops_per_s: Option<f64>,
    /// One for each resource that was varied, in the order of measurement.
    pub elasticities: Vec<Elasticity>,
    /// What was not varied.
    pub left_out: Vec<(VariedResource, NotVaried)>,
    /// The version of the engine at the point, and now, if they differ.
    pub engine_versions: Option<[String; 2]>,
}

impl WhyAnswer {
    /// The answer of `run`, which `analysis` is of; `None` if it is no run of `plimsoll why`.
    pub fn from_run(run: &RunData, analysis: &Analysis) -> Option<WhyAnswer> {
        let spec = run.meta.plan.why.as_ref()?;
        let measured = measurements(run, analysis, spec);
        let unchanged: Vec<&Measurement> = measured.iter().filter(|it| it.part == WhyPart::Unchanged).collect();
        let rates: Vec<f64> = unchanged.iter().map(|it| it.rate).collect();
        Some(WhyAnswer {
            run_id: spec.run_id.clone(),
            point: spec.point,
            rounds_planned: spec.rounds,
            rounds: rates.len(),
            ops_per_s: (!rates.is_empty()).then(|| crate::math::stats::mean(&rates)),
            elasticities: (0..).zip(&spec.arms).map(|(nth, arm)| elasticity(nth, arm, &measured)).collect(),
            left_out: spec.left_out.clone(),
            engine_versions: changed_version(spec, &unchanged),
        })
    }

    /// The elasticities with this verdict, the strongest first.
    pub fn with_verdict(&self, verdict: Binding) -> Vec<&Elasticity> {
        let mut found: Vec<&Elasticity> = self.elasticities.iter().filter(|it| it.verdict == verdict).collect();
        found.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
        found
    }
}

struct Measurement<'a> {
    part: WhyPart,
    round: u32,
    /// What `rate_of` gives: per second.
    rate: f64,
    point: &'a PointAnalysis,
    trial: &'a Trial,
    /// What it did on its device.
    io: Option<IoShape>,
}

/// The complete measurements: equal trials of the plan have a point each, in their order.
fn measurements<'a>(run: &'a RunData, analysis: &'a Analysis, spec: &WhySpec) -> Vec<Measurement<'a>> {
    let mut left: Vec<_> = run.points.iter().filter(|point| point.state == PointState::Complete).collect();
    let mut found = Vec::new();
    for (part, trial) in spec.parts.iter().zip(&run.meta.plan.trials) {
        let Some(at) = left.iter().position(|point| point.trial == *trial) else { continue };
        let recorded = left.remove(at);
        let point = analysis.points.iter().find(|point| point.id == recorded.id);
        let measured = point.and_then(|point| Some((point, rate_of(point)?)));
        found.extend(measured.map(|(point, rate)| {
            let io = IoShape::from_point(recorded);
            Measurement { part: *part, round: trial.repeat, rate, point, trial, io }
        }));
    }
    found
}

/// What the point did per second; of a step that has a duration and no rate, how often it could be done.
fn rate_of(point: &PointAnalysis) -> Option<f64> {
    let rate = point.duration_s().map(f64::recip).or(point.summary.as_ref().map(|summary| summary.ops_per_s));
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

fn elasticity(nth: u32, arm: &VariedArm, measured: &[Measurement]) -> Elasticity {
    let own: Vec<&Measurement> = measured.iter().filter(|it| it.part == WhyPart::Varied(nth)).collect();
    let pairs: Vec<RepeatPair> = own
        .iter()
        .filter_map(|varied| {
            let base = measured.iter().find(|it| it.part == WhyPart::Unchanged && it.round == varied.round)?;
            Some(RepeatPair { base: base.rate, new: varied.rate })
        })
        .collect();
    let ratio = RatioEstimate::from_pairs(&pairs, Preference::More);
    let exponent = |ratio: f64| ratio.ln() / arm.factor.ln();
    let value = ratio.map(|ratio| exponent(ratio.ratio));
    let rate_ratio_ci95 = ratio.and_then(|ratio| ratio.telling_ci95());
    let ci95 = rate_ratio_ci95.map(|ends| sorted(ends.map(exponent)));
    let spoilt = (arm.resource == VariedResource::Device).then(|| spoilt_limit(&own, measured, arm.factor)).flatten();
    Elasticity {
        resource: arm.resource,
        setting: arm.setting.clone(),
        factor: arm.factor,
        value,
        ci95,
        rate_ratio: ratio.map(|ratio| ratio.ratio),
        rate_ratio_ci95,
        rounds: pairs.len(),
        verdict: spoilt.unwrap_or_else(|| judge(value, ci95, pairs.len())),
    }
}

/// Why the limit of the device was none of what the device can carry; `None` if it was one.
fn spoilt_limit(own: &[&Measurement], measured: &[Measurement], factor: f64) -> Option<Binding> {
    let unchanged = measured.iter().filter(|it| it.part == WhyPart::Unchanged);
    let limit = own.first()?.trial.target.limits.storage;
    let passes = |done_per_s: f64, most: Option<u64>| {
        most.is_some_and(|most| done_per_s * factor > most as f64 * CAPACITY_PASSED)
    };
    let is_too_low = |io: IoShape| {
        passes(io.reads_per_s, limit.read_iops)
            || passes(io.writes_per_s, limit.write_iops)
            || passes(io.read_bytes_per_s, limit.read_bytes_per_s)
            || passes(io.write_bytes_per_s, limit.write_bytes_per_s)
    };
    match () {
        () if own.iter().any(|it| has_escaped(it.point)) => Some(Binding::LimitEscaped),
        () if unchanged.filter_map(|it| it.io).any(is_too_low) => Some(Binding::CapacityTooLow),
        () => None,
    }
}

/// Whether writes of the engine passed the limit. Reads and direct writes cannot: then others used the device.
fn has_escaped(point: &PointAnalysis) -> bool {
    let escaped = point.findings.iter().filter_map(|found| EscapedLimit::in_detail(&found.detail));
    let mut of_writes = escaped.filter(|it| matches!(it.flow, LimitedFlow::WriteOps | LimitedFlow::WriteBytes));
    point.traits.engine.writes != WritePath::Direct && of_writes.next().is_some()
}

/// Less of a resource turns the ends round.
fn sorted([one, other]: [f64; 2]) -> [f64; 2] {
    [one.min(other), one.max(other)]
}

fn judge(value: Option<f64>, ci95: Option<[f64; 2]>, rounds: usize) -> Binding {
    let (Some(value), Some([low, high])) = (value, ci95) else { return Binding::CannotTell };
    match () {
        () if rounds < PAIRS_MIN => Binding::CannotTell,
        () if value >= BINDS_FROM && low > BETWEEN => Binding::Binds,
        () if low > BINDS_NOT_BELOW => Binding::BindsInPart,
        () if value < BINDS_NOT_BELOW && high < BETWEEN => Binding::DoesNotBind,
        () => Binding::CannotTell,
    }
}

fn changed_version(spec: &WhySpec, unchanged: &[&Measurement]) -> Option<[String; 2]> {
    let before = spec.engine_version.clone()?;
    let now = unchanged.first()?.point.traits.engine.version.clone()?;
    (before != now).then_some([before, now])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Random, Simulation, run_of};
    use model::{CpuLimit, PointData, StorageLimit};

    const ROUNDS: u32 = 4;

    /// A run of a why: what each part does per second in a round, with some noise.
    fn run(rates: &[(WhyPart, u64)], rounds: u32, noise: f64, seed: u64) -> RunData {
        let mut random = Random::new(seed);
        let mut points: Vec<PointData> = Vec::new();
        for round in 1..=rounds {
            for (part, rate) in rates {
                let rate = (*rate as f64 * (1.0 + noise * random.normal())).round() as u64;
                let mut point = Simulation::counts(&[rate; 8]).point();
                change(&mut point.trial, *part, round);
                points.push(point);
            }
        }
        let mut run = run_of(points, Vec::new());
        let arm = |resource, factor| VariedArm { resource, factor, setting: "x".into() };
        run.meta.plan.why = Some(WhySpec {
            run_id: "r".into(),
            point: 3,
            engine_version: None,
            rounds,
            arms: vec![
                arm(VariedResource::Cpu, 0.8),
                arm(VariedResource::Device, 0.8),
                arm(VariedResource::Clients, 1.25),
            ],
            left_out: Vec::new(),
            parts: (0..rounds).flat_map(|_| rates.iter().map(|(part, _)| *part)).collect(),
        });
        run
    }

    fn change(trial: &mut Trial, part: WhyPart, round: u32) {
        trial.repeat = round;
        match part {
            WhyPart::Varied(0) => trial.target.limits.cpu = Some(CpuLimit::SpeedPercent(80)),
            WhyPart::Varied(1) => {
                trial.target.limits.storage = StorageLimit { read_iops: Some(400), ..StorageLimit::default() }
            }
            WhyPart::Varied(_) => trial.load.clients = 5,
            WhyPart::Unchanged | WhyPart::Preparation => {}
        }
    }

    fn answer(run: &RunData) -> WhyAnswer {
        WhyAnswer::from_run(run, &analyse(run)).expect("it is a run of a why")
    }

    const DEVICE_BINDS: [(WhyPart, u64); 4] =
        [(WhyPart::Unchanged, 1000), (WhyPart::Varied(0), 1000), (WhyPart::Varied(1), 800), (WhyPart::Varied(2), 1010)];

    #[test]
    fn the_resource_that_the_rate_follows_binds_and_the_others_do_not() {
        let answer = answer(&run(&DEVICE_BINDS, ROUNDS, 0.0, 1));
        let verdicts: Vec<Binding> = answer.elasticities.iter().map(|it| it.verdict).collect();
        assert_eq!(verdicts, [Binding::DoesNotBind, Binding::Binds, Binding::DoesNotBind]);
        let device = &answer.elasticities[1];
        assert!((device.value.unwrap() - 1.0).abs() < 1e-9 && device.rounds == 4, "{device:?}");
        assert_eq!((answer.rounds, answer.ops_per_s, answer.point), (4, Some(1000.0), 3));
        assert_eq!(answer.with_verdict(Binding::Binds)[0].resource, VariedResource::Device);
    }

    #[test]
    fn intervals_hold_the_true_value_in_noise_and_less_is_told_with_few_rounds() {
        let mut covered = 0;
        for seed in 0..100 {
            let answer = answer(&run(&DEVICE_BINDS, ROUNDS, 0.02, seed));
            let [low, high] = answer.elasticities[1].ci95.unwrap();
            covered += u32::from(low <= 1.0 && 1.0 <= high);
        }
        // Of 100 intervals 95 hold it on average; 89 to 99 is two standard deviations and some more.
        assert!((89..=100).contains(&covered), "{covered}");
        let few = answer(&run(&DEVICE_BINDS, 3, 0.0, 1));
        assert!(few.elasticities.iter().all(|it| it.verdict == Binding::CannotTell), "{few:?}");
    }

    #[test]
    fn equal_arms_do_not_bind_in_noise() {
        let equal = DEVICE_BINDS.map(|(part, _)| (part, 1000));
        let wrong = |seed| {
            let answer = answer(&run(&equal, ROUNDS, 0.03, seed));
            answer.elasticities.iter().filter(|it| it.verdict == Binding::Binds).count()
        };
        let wrong: usize = (0..100).map(wrong).sum();
        assert!(wrong <= 3, "{wrong} of 300");
    }

    #[test]
    fn a_limit_below_a_share_of_what_the_device_did_proves_nothing() {
        let doing = |reads_per_s: f64| {
            let mut run = run(&DEVICE_BINDS, ROUNDS, 0.0, 1);
            for point in &mut run.points {
                let names = ["read_ops", "read_bytes", "write_ops", "write_bytes", "busy_ns", "queue_ns"];
                let values = |s: f64| vec![reads_per_s * s, 4096.0 * reads_per_s * s, 0.0, 0.0, 1e9 * s, 1e9 * s];
                let observed = Simulation::counts(&[100; 8]).source("disk", &names, values).point();
                (point.sources, point.counters) = (observed.sources, observed.counters);
                *point = crate::simulated::declared(point.clone());
            }
            answer(&run).elasticities[1].verdict
        };
        // The limit is 400 reads, four fifths of 500.
        assert_eq!([500.0, 600.0, 900.0].map(doing), [Binding::Binds, Binding::Binds, Binding::CapacityTooLow]);
    }

    #[test]
    fn rounds_that_are_not_complete_are_left_out() {
        let mut cut = run(&DEVICE_BINDS, ROUNDS, 0.0, 1);
        cut.points.truncate(5);
        let answer = answer(&cut);
        assert_eq!(answer.elasticities.iter().map(|it| it.rounds).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!((answer.rounds, answer.elasticities[1].ci95), (2, None));
    }

    #[test]
    fn a_run_that_varies_nothing_has_no_answer() {
        let mut plain = run(&DEVICE_BINDS, 1, 0.0, 1);
        plain.meta.plan.why = None;
        assert_eq!(WhyAnswer::from_run(&plain, &analyse(&plain)), None);
    }
}
