//! What the arms cost besides their speed: bytes written, the time within which 99 of 100 operations are done, CPU time; and what a row costs
//! on each engine.
//!
//! In: the relative tables. Out: at most two claims about the arms, of ratios that are shown as differences and that are large, and one about
//! engines. Limits: if places differ in which arm is cheaper, nothing is said of the arms.

use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::Comparison;
use crate::answer::effect::{inverse, together};
use crate::answer::speech::{factor, spoken, with};
use crate::math::ratio::{RatioEstimate, RatioVerdict};
use crate::points::metric::Metric;
use crate::points::relative::{RelativeCell, RelativeRow};
use crate::recorded::dimensions::{Role, Setting};
use model::Percentile;
use words::list::capital;
use words::quantity::{bytes, range, time};

/// A cost that differs by less explains nothing.
const FACTOR_MIN: f64 = 1.25;
const CLAIMS_MAX: usize = 2;

#[derive(Clone, Copy)]
enum LargerCost {
    Written,
    Slowest,
    Cpu,
}

impl LargerCost {
    /// Those of an inserted row, and those of an operation.
    fn metrics(self) -> &'static [Metric] {
        match self {
            LargerCost::Written => &[Metric::WrittenBytesPerInsert, Metric::WrittenBytesPerOp],
            LargerCost::Slowest => &[Metric::Response(Percentile::P99)],
            LargerCost::Cpu => &[Metric::EngineCpuNsPerInsert, Metric::EngineCpuNsPerOp],
        }
    }
}

/// How each is larger, in the order of what explains most; without response times if they are named already.
pub(super) fn claims(comparison: &Comparison, are_times_told: bool) -> Vec<Claim> {
    // Of many arms the table has the costs.
    if comparison.table.arms.len() != 2 {
        return Vec::new();
    }
    [LargerCost::Written, LargerCost::Slowest, LargerCost::Cpu]
        .into_iter()
        .filter(|cost| !(are_times_told && matches!(cost, LargerCost::Slowest)))
        .filter_map(|cost| claim(comparison, cost))
        .take(CLAIMS_MAX)
        .collect()
}

/// What one inserted row costs on each engine if another setting is compared: `MyRocks writes 230 B a row, InnoDB 3.60 to 4.10 KB.` The
/// amounts are those of all places. `None` if they differ little, or if the engines must not be compared.
pub(super) fn of_engines(comparison: &Comparison) -> Option<Claim> {
    let engines = Comparison::of_engines(comparison.run).filter(|_| comparison.base().role != Role::Engine)?;
    let is_written = |row: &&RelativeRow| row.metric == Metric::WrittenBytesPerInsert;
    let rows: Vec<&RelativeRow> = engines.table.rows.iter().filter(is_written).collect();
    let cells: Vec<RelativeCell> = rows.iter().flat_map(|row| &row.cells).copied().collect::<Option<_>>()?;
    if rows.is_empty() || !engines.is_ranked || cells.iter().any(|cell| cell.is_unlike) {
        return None;
    }
    let means = |nth: usize| -> Vec<f64> {
        let of_row = |row: &&RelativeRow| match nth.checked_sub(1) {
            None => row.base.mean,
            Some(nth) => row.cells[nth].map_or(f64::NAN, |cell| cell.mean.mean),
        };
        rows.iter().map(of_row).collect()
    };
    let mut amounts: Vec<(&Setting, Vec<f64>)> =
        engines.table.arms.iter().enumerate().map(|(nth, arm)| (arm, means(nth))).collect();
    let lowest = |means: &[f64]| means.iter().copied().fold(f64::INFINITY, f64::min);
    amounts.sort_by(|a, b| lowest(&a.1).total_cmp(&lowest(&b.1)));
    let [(_, least), .., (_, most)] = amounts.as_slice() else { return None };
    if lowest(most) < FACTOR_MIN * lowest(least) {
        return None;
    }
    // Too few pairs show no difference, and what was written was written.
    let is_shown = cells.iter().all(|cell| cell.ratio.verdict != RatioVerdict::Indicative);
    let each = |(nth, (engine, means)): (usize, &(&Setting, Vec<f64>))| {
        let (engine, amount) = (spoken(engine), range(&means.iter().collect::<Vec<_>>(), |mean| *mean, bytes));
        match (nth, is_shown) {
            (0, true) => format!("{engine} writes {amount} a row"),
            (0, false) => format!("In these measurements {engine} wrote {amount} a row"),
            _ => format!("{engine} {amount}"),
        }
    };
    let sentence = format!("{}.", amounts.iter().enumerate().map(each).collect::<Vec<_>>().join(", "));
    let claim = Claim::new(ClaimKind::Rate, capital(&sentence));
    Some(
        amounts
            .iter()
            .flat_map(|(_, means)| means)
            .fold(claim, |claim, mean| claim.figure("written_bytes_per_insert", *mean, None)),
    )
}

fn claim(comparison: &Comparison, cost: LargerCost) -> Option<Claim> {
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
fn amounts(comparison: &Comparison, row: &RelativeRow, cost: LargerCost) -> Option<String> {
    let arms = [0, 1].map(|nth| &comparison.table.arms[nth]);
    let place: Vec<&Setting> = row.place.iter().collect();
    // As the table has it: of the times of all repeats.
    let p99 = |arm| Some(comparison.row(&place, arm)?.summary.as_ref()?.response_ns.as_ref()?.p99 as f64);
    let [of_base, of_arm] = match cost {
        LargerCost::Slowest => [p99(arms[0])?, p99(arms[1])?],
        LargerCost::Written | LargerCost::Cpu => [row.base.mean, row.cells[0]?.mean.mean],
    };
    let ([base, arm], unit) = (arms.map(with), comparison.unit());
    Some(match cost {
        LargerCost::Written => {
            format!("Per {unit}, {} are written {base} and {} {arm}.", bytes(of_base), bytes(of_arm))
        }
        LargerCost::Cpu => {
            format!("Per {unit}, {} of CPU time are used {base} and {} {arm}.", time(of_base), time(of_arm))
        }
        LargerCost::Slowest => {
            let noun = comparison.noun();
            format!("99 of 100 {noun} are done within {} {base} and {} {arm}.", time(of_base), time(of_arm))
        }
    })
}

/// The factor over all places: `Per row, 5.0 times as many bytes (4.8 to 5.2) are written on SQLite as on fjall.`
fn ratio(effect: RatioEstimate, cost: LargerCost, unit: &str, [base, arm]: [&Setting; 2]) -> String {
    let is_more = effect.ratio >= 1.0;
    let effect = if is_more { effect } else { inverse(effect) };
    let (more, less) = if is_more { (arm, base) } else { (base, arm) };
    let (more, less, times) = (with(more), with(less), factor(effect.ratio));
    let [low, high] = effect.ci95.unwrap_or([effect.ratio; 2]).map(factor);
    match cost {
        LargerCost::Written => {
            format!("Per {unit}, {times} times as many bytes ({low} to {high}) are written {more} as {less}.")
        }
        LargerCost::Cpu => {
            format!("Per {unit}, {times} times as much CPU time ({low} to {high}) is used {more} as {less}.")
        }
        LargerCost::Slowest => capital(&format!(
            "the time within which 99 of 100 are done is {times} times as long ({low} to {high}) {more} as {less}."
        )),
    }
}
