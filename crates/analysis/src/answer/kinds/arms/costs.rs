//! What the arms cost besides their speed: bytes written, the time within which 99 of 100 operations are done, CPU time.
//!
//! In: the relative table. Out: at most two claims, of ratios that it shows as differences and that are large. Limits: where places differ in
//! which arm is cheaper, nothing is said.

use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::Comparison;
use crate::answer::effect::{inverse, together};
use crate::answer::speech::{factor, with};
use crate::math::ratio::RatioEstimate;
use crate::points::metric::Metric;
use crate::points::relative::RelativeRow;
use crate::recorded::dimensions::Setting;
use words::list::capital;
use words::quantity::{bytes, time};

/// A cost that differs by less explains nothing.
const FACTOR_MIN: f64 = 1.25;
/// The most claims.
const CLAIMS_MAX: usize = 2;

#[derive(Clone, Copy)]
enum Cost {
    Written,
    Slowest,
    Cpu,
}

impl Cost {
    /// Those of an inserted row, and those of an operation.
    fn metrics(self) -> &'static [Metric] {
        match self {
            Cost::Written => &[Metric::WrittenBytesPerInsert, Metric::WrittenBytesPerOp],
            Cost::Slowest => &[Metric::P99Ns],
            Cost::Cpu => &[Metric::EngineCpuNsPerInsert, Metric::EngineCpuNsPerOp],
        }
    }
}

/// How each is larger, in the order of what explains most.
pub(super) fn claims(comparison: &Comparison) -> Vec<Claim> {
    // Of many arms the table has the costs.
    if comparison.table.arms.len() != 2 {
        return Vec::new();
    }
    [Cost::Written, Cost::Slowest, Cost::Cpu]
        .into_iter()
        .filter_map(|cost| claim(comparison, cost))
        .take(CLAIMS_MAX)
        .collect()
}

fn claim(comparison: &Comparison, cost: Cost) -> Option<Claim> {
    let shown = |metric: &Metric| -> Vec<RatioEstimate> {
        comparison.effects_of(0, *metric).decided.iter().map(|one| one.effect).collect()
    };
    let (metric, effects) =
        cost.metrics().iter().map(|metric| (*metric, shown(metric))).find(|(_, effects)| !effects.is_empty())?;
    let effect = together(&effects).filter(|one| one.verdict.is_difference())?;
    if effect.ratio.max(1.0 / effect.ratio) < FACTOR_MIN {
        return None;
    }
    let [base, arm] = [0, 1].map(|nth| &comparison.table.arms[nth]);
    let rows: Vec<&RelativeRow> = comparison.table.rows.iter().filter(|row| row.metric == metric).collect();
    let sentence = match rows.as_slice() {
        [row] => amounts(comparison, row, cost)?,
        _ => ratio(effect, cost, &comparison.unit(), [base, arm]),
    };
    Some(Claim::new(ClaimKind::Difference, sentence).figure("ratio", effect.ratio, effect.ci95))
}

/// The amounts at the only place: `Per row, 1.50 KB are written on SQLite and 0.30 KB on fjall.`
fn amounts(comparison: &Comparison, row: &RelativeRow, cost: Cost) -> Option<String> {
    let arms = [0, 1].map(|nth| &comparison.table.arms[nth]);
    let place: Vec<&Setting> = row.place.iter().collect();
    // As the table has it: of the times of all repeats.
    let p99 = |arm| Some(comparison.row(&place, arm)?.summary.as_ref()?.response_ns.as_ref()?.p99 as f64);
    let [of_base, of_arm] = match cost {
        Cost::Slowest => [p99(arms[0])?, p99(arms[1])?],
        Cost::Written | Cost::Cpu => [row.base.mean, row.cells[0]?.mean.mean],
    };
    let ([base, arm], unit) = (arms.map(with), comparison.unit());
    Some(match cost {
        Cost::Written => format!("Per {unit}, {} are written {base} and {} {arm}.", bytes(of_base), bytes(of_arm)),
        Cost::Cpu => format!("Per {unit}, {} of CPU time are used {base} and {} {arm}.", time(of_base), time(of_arm)),
        Cost::Slowest => {
            let noun = comparison.noun();
            format!("99 of 100 {noun} are done within {} {base} and {} {arm}.", time(of_base), time(of_arm))
        }
    })
}

/// The factor over all places: `Per row, 5.0 times as many bytes (4.8 to 5.2) are written on SQLite as on fjall.`
fn ratio(effect: RatioEstimate, cost: Cost, unit: &str, [base, arm]: [&Setting; 2]) -> String {
    let is_more = effect.ratio >= 1.0;
    let effect = if is_more { effect } else { inverse(effect) };
    let (more, less) = if is_more { (arm, base) } else { (base, arm) };
    let (more, less, times) = (with(more), with(less), factor(effect.ratio));
    let [low, high] = effect.ci95.unwrap_or([effect.ratio; 2]).map(factor);
    match cost {
        Cost::Written => {
            format!("Per {unit}, {times} times as many bytes ({low} to {high}) are written {more} as {less}.")
        }
        Cost::Cpu => format!("Per {unit}, {times} times as much CPU time ({low} to {high}) is used {more} as {less}."),
        Cost::Slowest => capital(&format!(
            "the time within which 99 of 100 are done is {times} times as long ({low} to {high}) {more} as {less}."
        )),
    }
}
