//! Variants of a statement: what each step of them took, which variant is faster, and what in the engine's own account explains it.
//!
//! In: points of variants. Out: a [`VariantCost`] for each, and a [`VariantVerdict`] for each place at which variants were compared.
//! Limits: the engine's account is of one execution outside of what was measured, and of the statement alone, without its set-up. An
//! explanation is the amount that differs most, and is not proven to be the cause.

use crate::math::ratio::{Pairing, Preference, RatioEstimate, RatioVerdict, RepeatValue, hold_false_discoveries};
use crate::math::repeats::{MeanOfRepeats, combine, combine_plain};
use crate::numbers::variants::StepCost;
use crate::points::sweep::is_usable;
use crate::recorded::dimensions::{Role, Setting};
use crate::{PointAnalysis, Validity, VariantCost};
use model::{StatementEffort, StatementResult, StepPart};
use serde::Serialize;
use std::collections::BTreeMap;

/// Variants of one question on the same data and engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantVerdict {
    /// The parameter that names variants.
    #[serde(skip)]
    pub param: String,
    /// What distinguishes the place from others of the run.
    pub place: Vec<Setting>,
    /// The variants in the order of the plan. The first that has a total is the base.
    pub arms: Vec<VariantArm>,
    /// The base among the variants; `None` if none has a total.
    pub base: Option<usize>,
    /// The fastest of those that are faster than the base; `None` if none is.
    pub fastest: Option<usize>,
    /// What explains that, as far as the engine's own account shows.
    pub explanation: Option<EffortContrast>,
}

/// One variant over its repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantArm {
    pub name: String,
    /// All steps together, in seconds.
    pub total_seconds: Option<MeanOfRepeats>,
    /// The set-up, in seconds; `None` if it has none.
    pub setup_seconds: Option<f64>,
    /// The statement, in seconds.
    pub statement_seconds: Option<f64>,
    /// The clean-up, in seconds; `None` if it has none.
    pub cleanup_seconds: Option<f64>,
    /// Each of its steps, with the mean over the repeats.
    pub steps: Vec<StepCost>,
    /// Its total over that of the base.
    pub ratio: Option<RatioEstimate>,
    /// Its statement over that of the base, without set-up and clean-up.
    pub statement_ratio: Option<RatioEstimate>,
    /// That of its worst usable repeat.
    pub validity: Validity,
    pub result: Option<StatementResult>,
    /// What the optimizer built for it alone.
    pub built: Option<String>,
    /// What one execution cost inside the engine.
    pub efforts: BTreeMap<StatementEffort, f64>,
    /// Steps that were cancelled, over all repeats.
    pub timeouts: u64,
    /// The time limit of a step, in seconds.
    pub timeout_seconds: Option<f64>,
    #[serde(skip)]
    pub plan: Option<String>,
}

/// One amount of which two variants need very different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EffortContrast {
    pub effort: StatementEffort,
    /// What the base needs.
    pub base: f64,
    /// What the other variant needs.
    pub arm: f64,
}

/// An explanation needs so large a factor between two variants.
const CONTRAST_MIN: f64 = 2.0;

/// What explains a time, the most telling first: of the first that differs enough the rest usually follow.
const TELLING: [StatementEffort; 8] = [
    StatementEffort::RowsCompared,
    StatementEffort::RowsRead,
    StatementEffort::TransientIndexRows,
    StatementEffort::TempBytes,
    StatementEffort::TempDiskTables,
    StatementEffort::SortedRows,
    StatementEffort::TempTables,
    StatementEffort::MachineSteps,
];

impl EffortContrast {
    /// The most telling amount of which `arm` needs much less than `base`.
    fn less(base: &VariantArm, arm: &VariantArm) -> Option<EffortContrast> {
        TELLING.into_iter().find_map(|effort| {
            // What an engine does not count for one of two it has not done.
            let amount = |of: &VariantArm| of.efforts.get(&effort).copied().unwrap_or(0.0);
            let is_known = base.efforts.contains_key(&effort);
            let (base, arm) = (amount(base), amount(arm));
            (is_known && base >= CONTRAST_MIN * arm.max(1.0)).then_some(EffortContrast { effort, base, arm })
        })
    }
}

/// An interval of ratios that reaches below this leaves it open whether the variant is faster by as much as matters.
const OPEN_BELOW: f64 = 0.8;

impl VariantVerdict {
    /// The variants that are not shown to be faster than the base, and may be: their intervals reach so far.
    pub fn open_gains(&self) -> Vec<&VariantArm> {
        self.arms
            .iter()
            .filter(|arm| {
                arm.ratio.as_ref().is_some_and(|ratio| {
                    ratio.verdict == RatioVerdict::NoDifferenceShown
                        && ratio.ci95.is_none_or(|[low, _]| low < OPEN_BELOW)
                })
            })
            .collect()
    }
}

/// The verdict of each place at which `points` have variants, in the order of the run.
pub(crate) fn variant_verdicts(points: &[PointAnalysis]) -> Vec<VariantVerdict> {
    let mut places: Vec<(Vec<Setting>, Vec<&PointAnalysis>)> = Vec::new();
    for point in points {
        let Some(variant) = &point.variant else { continue };
        let place = place_of(point, &variant.param);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, own)) => own.push(point),
            None => places.push((place, vec![point])),
        }
    }
    places.into_iter().map(|(place, points)| judge_place(place, &points)).collect()
}

/// What distinguishes `point` from others of the run, but the variant and the repeat.
fn place_of(point: &PointAnalysis, param: &str) -> Vec<Setting> {
    let all = point.label.group.iter().chain(&point.label.place);
    all.filter(|setting| setting.used && setting.role != Role::Repeat && setting.name != param).cloned().collect()
}

fn judge_place(place: Vec<Setting>, points: &[&PointAnalysis]) -> VariantVerdict {
    let mut by_name: Vec<(&str, Vec<&PointAnalysis>)> = Vec::new();
    let mut first_seen: Vec<&PointAnalysis> = points.to_vec();
    first_seen.sort_by_key(|point| point.id);
    for point in first_seen {
        let Some(variant) = &point.variant else { continue };
        match by_name.iter_mut().find(|(name, _)| *name == variant.name) {
            Some((_, own)) => own.push(point),
            None => by_name.push((&variant.name, vec![point])),
        }
    }
    let param = points.iter().find_map(|point| point.variant.as_ref()).map_or(String::new(), |it| it.param.clone());
    let mut arms: Vec<VariantArm> = by_name.iter().map(|(name, own)| VariantArm::from_repeats(name, own)).collect();
    let base = arms.iter().position(|arm| arm.total_seconds.is_some());
    if let Some(base) = base {
        let ratio = |at: usize, value: fn(&VariantCost) -> Option<f64>| {
            let pairing = Pairing::adjacent(&values(&by_name[base].1, value), &values(&by_name[at].1, value));
            (at != base).then(|| RatioEstimate::from_pairs(&pairing.pairs, Preference::Less)).flatten()
        };
        for (at, arm) in arms.iter_mut().enumerate() {
            arm.ratio = ratio(at, |variant| variant.total_seconds);
            arm.statement_ratio = ratio(at, |variant| variant.statement_seconds);
        }
    }
    let mut ratios: Vec<&mut RatioEstimate> = arms.iter_mut().filter_map(|arm| arm.ratio.as_mut()).collect();
    hold_false_discoveries(&mut ratios);
    let mut ratios: Vec<&mut RatioEstimate> = arms.iter_mut().filter_map(|arm| arm.statement_ratio.as_mut()).collect();
    hold_false_discoveries(&mut ratios);
    let fastest = fastest(&arms);
    let explanation = base.zip(fastest).and_then(|(base, best)| EffortContrast::less(&arms[base], &arms[best]));
    VariantVerdict { param, place, arms, base, fastest, explanation }
}

/// The variant with the smallest total of those that are faster than the base.
fn fastest(arms: &[VariantArm]) -> Option<usize> {
    let faster = |arm: &&(usize, &VariantArm)| arm.1.ratio.is_some_and(|ratio| ratio.verdict == RatioVerdict::Faster);
    let numbered: Vec<(usize, &VariantArm)> = arms.iter().enumerate().collect();
    let ratio_of = |arm: &VariantArm| arm.ratio.map_or(f64::INFINITY, |ratio| ratio.ratio);
    let best = numbered.iter().filter(faster).min_by(|a, b| ratio_of(a.1).total_cmp(&ratio_of(b.1)));
    best.map(|(at, _)| *at)
}

fn values(points: &[&PointAnalysis], value: fn(&VariantCost) -> Option<f64>) -> Vec<RepeatValue> {
    let usable = points.iter().filter(|point| is_usable(point));
    usable.filter_map(|point| Some(RepeatValue { place: point.id, value: value(point.variant.as_ref()?)? })).collect()
}

/// The steps of `repeats` of one variant, each with its mean.
fn mean_steps(repeats: &[&VariantCost]) -> Vec<StepCost> {
    let Some(first) = repeats.first() else { return Vec::new() };
    let mean_of = |at: usize| combine_plain(repeats.iter().filter_map(|variant| variant.steps.get(at)?.seconds));
    let steps = first.steps.iter().enumerate();
    steps.map(|(at, step)| StepCost { seconds: mean_of(at), ..step.clone() }).collect()
}

impl VariantArm {
    fn from_repeats(name: &str, points: &[&PointAnalysis]) -> VariantArm {
        let usable: Vec<&VariantCost> =
            points.iter().filter(|point| is_usable(point)).filter_map(|point| point.variant.as_ref()).collect();
        let all = || points.iter().filter_map(|point| point.variant.as_ref());
        let mean = |part| {
            let has = usable.iter().any(|variant| variant.steps.iter().any(|step| step.part == part));
            has.then(|| combine_plain(usable.iter().filter_map(|variant| variant.part_seconds(part)))).flatten()
        };
        let totals = usable.iter().filter_map(|variant| Some((variant.total_seconds?, None)));
        let explained = all().find(|variant| variant.plan.is_some());
        VariantArm {
            name: name.to_owned(),
            total_seconds: combine(totals),
            setup_seconds: mean(StepPart::Setup),
            statement_seconds: mean(StepPart::Statement),
            cleanup_seconds: mean(StepPart::Cleanup),
            steps: mean_steps(&usable),
            ratio: None,
            statement_ratio: None,
            validity: points
                .iter()
                .filter(|point| is_usable(point))
                .map(|point| point.validity)
                .max()
                .unwrap_or(Validity::Invalid),
            result: all().find_map(|variant| variant.result.clone()),
            built: explained.and_then(|variant| variant.built.clone()),
            efforts: explained.map(|variant| variant.efforts.clone()).unwrap_or_default(),
            timeouts: all().map(|variant| variant.timeouts).sum(),
            timeout_seconds: all().find_map(|variant| variant.timeout_seconds),
            plan: explained.and_then(|variant| variant.plan.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, params, run_of};
    use model::{
        Fact, KindDef, OpClass, ParamOwner, ParamRole, PointData, PointParam, SqlStep, SqlVariant, Value, VariantWork,
    };

    /// A point whose statement takes `ms` for each of ten executions, and whose set-up takes 5 ms.
    fn point(name: &str, ms: u64, repeat: u32, compared: f64) -> PointData {
        let parts = vec![StepPart::Setup, StepPart::Statement];
        let noise = [0, 11, 4, 9, 2, 7][repeat as usize % 6];
        let simulation = Simulation::counts(&[10]).with(|point| {
            point.trial.workload.name = "sql".into();
            let steps = parts.iter().map(|part| SqlStep { part: *part, sql: "SELECT 1".into() }).collect();
            let variant = SqlVariant { name: name.into(), steps };
            point.trial.workload.params = params(&[("variant", Value::Variant(variant))]);
            let (owner, role) = (ParamOwner::Workload, ParamRole::Tuning);
            point.params = vec![PointParam { name: "variant".into(), owner, role, used: true }];
            point.trial.repeat = repeat;
            point.kinds = ["setup-1", "statement"].map(|name| KindDef::new(name, OpClass::Read)).to_vec();
            let work = VariantWork { name: name.into(), param: "variant".into(), parts, is_cold: false, timeout: None };
            point.traits.work.variant = Some(work);
            point.traits.course.run_ops = Some(20);
            point.facts.push(Fact::new("statement.rows_compared", compared.to_string()));
            point.facts.push(Fact::new("explain.plan", "SCAN"));
        });
        let mut point = simulation.point();
        point.traits.outcome.efforts.insert(StatementEffort::RowsCompared, compared);
        point.traits.outcome.plan = Some("SCAN".into());
        for interval in point.phases.iter_mut().flat_map(|phase| &mut phase.intervals) {
            let template = interval.kinds[0].clone();
            let row = |kind: u8, ns: u64| {
                let mut row = template.clone();
                (row.kind, row.ok) = (model::OpKind(kind), 10);
                row.response = model::Times::default();
                row.response.record_n(ns, 10);
                row.service = row.response.clone();
                row
            };
            interval.kinds = vec![row(0, 5_000_000), row(1, ms * 1_000_000 + noise * 10_000)];
        }
        point
    }

    fn verdicts(arms: &[(&str, u64, f64)]) -> Vec<VariantVerdict> {
        let mut points = Vec::new();
        for repeat in 1..=6 {
            let mut own: Vec<PointData> =
                arms.iter().map(|(name, ms, compared)| point(name, *ms, repeat, *compared)).collect();
            if repeat % 2 == 0 {
                own.reverse();
            }
            points.extend(own);
        }
        (1..).zip(&mut points).for_each(|(id, point)| point.id = id);
        analyse(&run_of(points, Vec::new())).verdict.variants
    }

    #[test]
    fn the_fastest_variant_has_its_ratio_with_set_up_and_without_and_an_explanation() {
        let verdicts = verdicts(&[("derived", 95, 1e6), ("indexed", 15, 100.0), ("view", 95, 1e6)]);
        let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
        assert_eq!((verdict.base, verdict.fastest), (Some(0), Some(1)));
        let arm = &verdict.arms[1];
        let (total, statement) = (arm.ratio.unwrap(), arm.statement_ratio.unwrap());
        assert!((total.ratio - 0.2).abs() < 0.01, "20 ms against 100 ms: {total:?}");
        assert!((statement.ratio - 15.0 / 95.0).abs() < 0.01, "{statement:?}");
        assert!(total.ci95.is_some_and(|[low, high]| low < total.ratio && total.ratio < high));
        assert!((arm.setup_seconds.unwrap() - 0.005).abs() < 1e-6 && arm.cleanup_seconds.is_none());
        let contrast = EffortContrast { effort: StatementEffort::RowsCompared, base: 1e6, arm: 100.0 };
        assert_eq!(verdict.explanation, Some(contrast));
        assert_eq!(verdict.arms[2].ratio.unwrap().verdict, RatioVerdict::NoDifferenceShown);
    }

    #[test]
    fn where_no_variant_is_faster_there_is_none_and_no_explanation() {
        let verdicts = verdicts(&[("derived", 50, 1e6), ("view", 50, 10.0), ("temp", 80, 10.0)]);
        assert_eq!((verdicts[0].fastest, verdicts[0].explanation), (None, None));
        assert_eq!(verdicts[0].arms[2].ratio.unwrap().verdict, RatioVerdict::Slower);
    }
}
