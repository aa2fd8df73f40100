//! Ways to write one statement: which is the fastest, which gain nothing, and whether what is made for it pays.
//!
//! In: the verdict of the variants at each place. Out: claims over all places that are alike. Limits: the amounts that explain a time are those of
//! one execution, and of the first place that has them; what the optimizer built is what the engine says of it.

use super::arms::not_decided;
use crate::answer::claim::{Claim, ClaimKind, WORDS_MAX};
use crate::answer::effect::{Branch, Is, PlaceEffect, inverse, split};
use crate::answer::places::{Axis, axes};
use crate::answer::speech::{fine, percent, short, size, words_in};
use crate::answer::{AnswerCell, AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun};
use crate::math::ratio::{RatioEstimate, RatioVerdict};
use crate::points::variants::{EffortContrast, VariantArm, VariantVerdict};
use crate::recorded::dimensions::Setting;
use model::StatementEffort;
use words::list::join_and;
use words::quantity::{bytes, count, time};

/// The most claims about variants that are faster at some place.
const FASTER_MAX: usize = 2;

/// A variant and what it does to the base at each place.
struct Rival<'a> {
    name: &'a str,
    has_setup: bool,
    axes: Vec<Axis<'a>>,
    /// As a ratio of speeds.
    total: Branch<'a>,
}

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let verdicts: Vec<&VariantVerdict> =
        run.analysis.verdict.variants.iter().filter(|one| one.arms.len() > 1).collect();
    let base = verdicts.iter().find_map(|one| Some(one.arms[one.base?].name.as_str()));
    let names: Vec<String> = verdicts.first()?.arms.iter().map(|arm| arm.name.clone()).collect();
    let rivals = base.map_or_else(Vec::new, |base| rivals(&verdicts, base));
    let mut claims = Vec::new();
    if let Some(base) = base {
        claims.extend(rivals.iter().flat_map(|rival| rival.gains(base)).take(FASTER_MAX));
        claims.extend(no_gain(&rivals, base));
        claims.extend(rivals.iter().flat_map(|rival| rival.losses(base)).take(1));
        claims.extend(pays(&verdicts, base));
        claims.extend(explanation(&verdicts));
        let ratios = verdicts.iter().flat_map(|one| &one.arms).filter_map(|arm| arm.ratio);
        let pairs = ratios.filter(|one| one.verdict == RatioVerdict::Indicative).map(|one| one.n).max();
        if let Some(pairs) = pairs.filter(|_| rivals.is_empty()) {
            claims.insert(0, not_decided(pairs));
        }
    }
    claims.extend(verdicts.iter().flat_map(|one| &one.arms).filter(|arm| arm.timeouts > 0).map(cancelled));
    Some(AnswerParts {
        question: format!("Which is the fastest of {}?", join_and(&names)),
        table: base.and_then(|base| table(&verdicts, base)),
        claims,
        next: None,
    })
}

/// The variants that have enough pairs with the base, the fastest first.
fn rivals<'a>(verdicts: &[&'a VariantVerdict], base: &str) -> Vec<Rival<'a>> {
    let mut all: Vec<Rival> = Vec::new();
    for arm in verdicts.iter().flat_map(|one| &one.arms) {
        if arm.name == base || all.iter().any(|known| known.name == arm.name) {
            continue;
        }
        let at = |verdict: &&'a VariantVerdict| {
            let own = verdict.arms.iter().find(|one| one.name == arm.name)?;
            let ratio = own.ratio.filter(|ratio| ratio.verdict != RatioVerdict::Indicative)?;
            Some(PlaceEffect { place: verdict.place.iter().collect(), effect: inverse(ratio) })
        };
        let effects: Vec<PlaceEffect> = verdicts.iter().filter_map(at).collect();
        if !effects.is_empty() {
            let axes = axes(effects.iter().map(|one| &one.place));
            let total = split(&effects, &axes);
            all.push(Rival { name: &arm.name, has_setup: arm.setup_seconds.is_some(), axes, total });
        }
    }
    all.sort_by(|a, b| b.total.ends()[1].ratio.total_cmp(&a.total.ends()[1].ratio));
    all
}

impl Rival<'_> {
    /// Where it is faster.
    fn gains(&self, base: &str) -> Vec<Claim> {
        self.those(base, RatioVerdict::Faster)
    }

    /// Where it is slower.
    fn losses(&self, base: &str) -> Vec<Claim> {
        self.those(base, RatioVerdict::Slower)
    }

    fn those(&self, base: &str, verdict: RatioVerdict) -> Vec<Claim> {
        let parts = self.total.parts_by_weight();
        let has_verdict = |part: &&&Branch| part.ends().iter().all(|end| end.verdict == verdict);
        let own: Vec<&Branch> = parts.iter().filter(has_verdict).copied().collect();
        own.into_iter().map(|part| self.claim(base, part, verdict)).collect()
    }

    /// `temp-indexed is 6.2 times (5.8 to 6.6) as fast as derived, its set-up included.`
    fn claim(&self, base: &str, part: &Branch, verdict: RatioVerdict) -> Claim {
        let is_faster = verdict == RatioVerdict::Faster;
        let turned = |end: RatioEstimate| if is_faster { end } else { inverse(end) };
        let [mut low, mut high] = part.ends().map(turned);
        if low.ratio > high.ratio {
            std::mem::swap(&mut low, &mut high);
        }
        let how = if is_faster { "as fast" } else { "as slow" };
        let amount = match (&part.is, low.ci95) {
            (Is::Alike(_), Some([from, to])) => format!("{} times ({} to {})", fine(low.ratio), fine(from), fine(to)),
            (Is::Alike(_), None) => format!("{} times", fine(low.ratio)),
            _ => format!("{} to {} times", fine(low.ratio), fine(high.ratio)),
        };
        let setup = if self.has_setup { ", its set-up included" } else { "" };
        let sentence = format!("{} is {amount} {how} as {base}{}{setup}.", self.name, self.place(part));
        let claim = Claim::new(ClaimKind::Difference, sentence);
        let ends = if part.alike().is_some() { vec![low] } else { vec![low, high] };
        ends.into_iter().fold(claim, |claim, end| claim.figure("ratio", end.ratio, end.ci95))
    }

    fn place(&self, part: &Branch) -> String {
        if part.path.is_empty() {
            let everywhere = self.axes.iter().find_map(Axis::everywhere);
            return everywhere.map_or(String::new(), |words| format!(" {words}"));
        }
        part.path.iter().map(|one| format!(" {}", one.words())).collect()
    }
}

/// `temp and view gain nothing against derived: more than 6 % would have shown.`
fn no_gain(rivals: &[Rival], base: &str) -> Option<Claim> {
    let even: Vec<(&str, &RatioEstimate)> = rivals
        .iter()
        .filter_map(|one| Some((one.name, one.total.alike()?)))
        .filter(|(_, effect)| effect.verdict == RatioVerdict::NoDifferenceShown)
        .collect();
    if even.is_empty() {
        return None;
    }
    let names: Vec<String> = even.iter().map(|(name, _)| (*name).to_owned()).collect();
    let verb = if names.len() == 1 { "gains" } else { "gain" };
    let bound = even.iter().filter_map(|(_, effect)| effect.smallest_effect).reduce(f64::max).filter(|one| *one > 0.0);
    let shown = bound.map_or(String::new(), |one| format!(": a difference of {} would have shown", size(one)));
    let claim =
        Claim::new(ClaimKind::NoDifference, format!("{} {verb} nothing against {base}{shown}.", join_and(&names)));
    Some(bound.into_iter().fold(claim, |claim, one| claim.figure("smallest_effect", one, None)))
}

/// After how many runs a set-up has paid, of the first variant whose statement alone is faster and whose total is not: `Without its set-up,
/// with-index takes 55 % less time; the set-up costs 5.5 ms, so it pays after 8 to 10 runs.`
fn pays(verdicts: &[&VariantVerdict], base: &str) -> Option<Claim> {
    let arms = verdicts.iter().flat_map(|verdict| {
        let base = verdict.arms.iter().find(|arm| arm.name == base);
        base.into_iter().flat_map(|base| verdict.arms.iter().map(move |arm| (base, arm)))
    });
    let is = |ratio: Option<RatioEstimate>| ratio.is_some_and(|ratio| ratio.verdict == RatioVerdict::Faster);
    let (base, arm) = arms.into_iter().find(|(_, arm)| is(arm.statement_ratio) && !is(arm.ratio))?;
    let (once, ratio) = (base.statement_seconds?, arm.statement_ratio?);
    let cost = arm.setup_seconds? + arm.cleanup_seconds.unwrap_or(0.0);
    let runs = |ratio: f64| (cost / (once * (1.0 - ratio))).ceil();
    let [few, many] = ratio.ci95.unwrap_or([ratio.ratio; 2]).map(runs);
    if !(few.is_finite() && many.is_finite() && few > 0.0 && many > 0.0) {
        return None;
    }
    let runs = if few == many { format!("{few:.0} runs") } else { format!("{few:.0} to {many:.0} runs") };
    let sentence = format!(
        "Without its set-up, {} takes {} % less time; the set-up costs {}, so it pays after {runs}.",
        arm.name,
        percent(1.0 - ratio.ratio),
        time(cost * 1e9),
    );
    let claim = Claim::new(ClaimKind::Difference, sentence).figure("statement_ratio", ratio.ratio, ratio.ci95);
    Some(claim.figure("setup_seconds", cost, None))
}

/// What the fastest does less of, and what is built for it: `derived compares 1.00M pairs of rows, and indexed 100.` If none is faster, what is
/// built for the one whose statement alone is.
fn explanation(verdicts: &[&VariantVerdict]) -> Vec<Claim> {
    let is_faster_alone = |arm: &VariantArm| arm.statement_ratio.is_some_and(|it| it.verdict == RatioVerdict::Faster);
    for verdict in verdicts {
        let best = verdict.fastest.or_else(|| verdict.arms.iter().position(is_faster_alone));
        let Some((base, best)) = verdict.base.zip(best) else { continue };
        let (base, best) = (&verdict.arms[base], &verdict.arms[best]);
        let amounts = verdict.explanation.map(|contrast| amounts(base, best, contrast));
        let all = amounts.into_iter().chain(built(base, best));
        return all.filter(|claim| words_in(&claim.sentence) <= WORDS_MAX).collect();
    }
    Vec::new()
}

fn amounts(base: &VariantArm, best: &VariantArm, contrast: EffortContrast) -> Claim {
    let (verb, things) = effort(contrast.effort);
    let amount = |value: f64| match contrast.effort {
        StatementEffort::TempBytes => bytes(value).to_string(),
        _ => count(value).to_string(),
    };
    let (much, little) = (amount(contrast.base), amount(contrast.arm));
    let sentence = format!("{} {verb} {much} {things}, and {} {little}.", base.name, best.name);
    Claim::new(ClaimKind::Bottleneck, sentence.replace("  ", " ")).figure("base", contrast.base, None).figure(
        "variant",
        contrast.arm,
        None,
    )
}

/// What a statement does, and of what.
fn effort(effort: StatementEffort) -> (&'static str, &'static str) {
    match effort {
        StatementEffort::RowsRead => ("reads", "rows one after the other"),
        StatementEffort::IndexLookups => ("searches indexes", "times"),
        StatementEffort::RowsCompared => ("compares", "pairs of rows"),
        StatementEffort::TransientIndexRows => ("puts", "rows into an index of its own"),
        StatementEffort::TempTables => ("makes", "temporary tables"),
        StatementEffort::TempDiskTables => ("makes", "temporary tables on disk"),
        StatementEffort::TempBytes => ("writes", "to temporary files"),
        StatementEffort::Sorts => ("sorts", "times"),
        StatementEffort::SortedRows => ("sorts", "rows"),
        StatementEffort::MachineSteps => ("takes", "steps of the virtual machine"),
    }
}

/// `The engine builds for derived: a temporary table; for indexed: nothing.`
fn built(base: &VariantArm, best: &VariantArm) -> Option<Claim> {
    let (before, after) = (base.built.as_ref()?, best.built.as_ref()?);
    let sentence = format!("The engine builds for {}: {before}; for {}: {after}.", base.name, best.name);
    (before != after && !sentence.contains(['=', '_'])).then(|| Claim::new(ClaimKind::Bottleneck, sentence))
}

fn cancelled(arm: &VariantArm) -> Claim {
    let limit = arm.timeout_seconds.map_or(String::new(), |limit| format!(" of {}", time(limit * 1e9)));
    Claim::new(ClaimKind::Caution, format!("{} was cancelled at its time limit{limit}.", arm.name))
}

/// One place: a row for each variant with its parts. Several: a row for each place with the time of the base and the ratios.
fn table(verdicts: &[&VariantVerdict], base: &str) -> Option<AnswerTable> {
    let cell = |seconds: Option<f64>, figure: &str| {
        let text = |value: f64| time(value * 1e9).to_string();
        let (point, is_indicative, figure) = (None, false, figure.to_owned());
        seconds.map(|value| AnswerCell { value, text: text(value), figure, point, is_indicative })
    };
    let total = |arm: &VariantArm| cell(arm.total_seconds.map(|total| total.mean), "total_seconds");
    let columns = |heads: Vec<String>| heads.into_iter().map(|head| AnswerColumn { head }).collect();
    if let [only] = verdicts {
        let row = |arm: &VariantArm| {
            let setup = cell(arm.setup_seconds, "setup_seconds");
            let statement = cell(arm.statement_seconds, "statement_seconds");
            AnswerRow {
                name: vec![arm.name.clone()],
                cells: vec![setup, statement, total(arm), arm.ratio.map(ratio_cell)],
            }
        };
        let heads = ["set-up", "statement", "total"].map(str::to_owned).to_vec();
        let heads = [heads, vec![format!("of {base}")]].concat();
        let rows = only.arms.iter().map(row).collect();
        return Some(AnswerTable {
            head: "variant".to_owned(),
            columns: columns(heads),
            rows,
            ..AnswerTable::default()
        });
    }
    let places: Vec<Vec<&Setting>> = verdicts.iter().map(|one| one.place.iter().collect()).collect();
    let all = axes(&places);
    let mut names: Vec<&str> = Vec::new();
    for arm in verdicts.iter().flat_map(|one| &one.arms).filter(|arm| arm.name != base) {
        if !names.contains(&arm.name.as_str()) {
            names.push(&arm.name);
        }
    }
    let rows = verdicts.iter().zip(&places).map(|(verdict, place)| {
        let own = |name: &str| verdict.arms.iter().find(|arm| arm.name == name);
        let named = all.iter().filter_map(|axis| place.iter().find(|setting| setting.name == axis.name));
        let ratios = names.iter().map(|name| own(name)?.ratio.map(ratio_cell));
        let cells = [own(base).and_then(total)].into_iter().chain(ratios).collect();
        AnswerRow { name: named.map(|setting| short(setting)).collect(), cells }
    });
    let heads = [base].into_iter().chain(names.iter().copied()).map(str::to_owned).collect();
    let head = format!("time of {base}; others over it");
    Some(AnswerTable { head, columns: columns(heads), rows: rows.collect(), ..AnswerTable::default() })
}

/// The time of a variant over that of the base: `0.16`, `1.05 =` if no difference is shown, `0.9 ?` if too few pairs make it.
fn ratio_cell(ratio: RatioEstimate) -> AnswerCell {
    let mark = match ratio.verdict {
        RatioVerdict::Faster | RatioVerdict::Slower => "",
        RatioVerdict::NoDifferenceShown => " =",
        RatioVerdict::Indicative => " ?",
    };
    AnswerCell {
        value: ratio.ratio,
        text: format!("{}{mark}", fine(ratio.ratio)),
        figure: "ratio".to_owned(),
        point: None,
        is_indicative: ratio.verdict == RatioVerdict::Indicative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SettingValue;
    use crate::math::repeats::MeanOfRepeats;
    use crate::recorded::dimensions::Role;
    use crate::simulated::Simulation;

    /// The ratio of times, of `n` pairs.
    fn ratio(ratio: f64, n: usize) -> RatioEstimate {
        let verdict = match ratio {
            _ if n < 4 => RatioVerdict::Indicative,
            ratio if ratio < 0.9 => RatioVerdict::Faster,
            ratio if ratio > 1.1 => RatioVerdict::Slower,
            _ => RatioVerdict::NoDifferenceShown,
        };
        let ci95 = (n > 1).then_some([ratio * 0.95, ratio * 1.05]);
        RatioEstimate { ratio, ci95, n, smallest_effect: ci95.map(|_| 0.06), p_value: None, verdict }
    }

    /// A variant whose total and statement take these times of the base's 10 ms.
    fn arm(name: &str, total: f64, statement: f64, setup_ms: Option<f64>) -> VariantArm {
        let is_base = total == 1.0 && setup_ms.is_none();
        VariantArm {
            name: name.into(),
            total_seconds: Some(MeanOfRepeats { mean: 0.01 * total, ci95: None, repeats: 5 }),
            setup_seconds: setup_ms.map(|ms| ms / 1e3),
            statement_seconds: Some(0.01 * statement),
            cleanup_seconds: None,
            steps: Vec::new(),
            ratio: (!is_base).then(|| ratio(total, 5)),
            statement_ratio: (!is_base).then(|| ratio(statement, 5)),
            result: None,
            built: Some(if is_base { "a temporary table" } else { "nothing" }.into()),
            efforts: Default::default(),
            timeouts: 0,
            timeout_seconds: None,
            plan: None,
        }
    }

    fn verdict(engine: &str, arms: Vec<VariantArm>, explanation: Option<EffortContrast>) -> VariantVerdict {
        let name = SettingValue::Name(engine.into());
        let fastest =
            (0..arms.len()).filter(|nth| arms[*nth].ratio.is_some_and(|it| it.verdict == RatioVerdict::Faster));
        let fastest = fastest.min_by(|a, b| {
            let of = |nth: usize| arms[nth].ratio.unwrap().ratio;
            of(*a).total_cmp(&of(*b))
        });
        let place = vec![Setting::of_run("engine", Role::Engine, name)];
        VariantVerdict { param: "variant".into(), place, arms, base: Some(0), fastest, explanation }
    }

    fn parts(verdicts: Vec<VariantVerdict>) -> (Vec<String>, AnswerTable) {
        let mut analysis = Simulation::counts(&[10]).analysis();
        analysis.verdict.variants = verdicts;
        let parts = answer(&AskedRun::new(&analysis)).expect("there are variants");
        (parts.claims.into_iter().map(|claim| claim.sentence).collect(), parts.table.expect("they have times"))
    }

    #[test]
    fn the_fastest_has_its_factor_and_those_that_gain_nothing_are_named() {
        let arms = vec![
            arm("derived", 1.0, 1.0, None),
            arm("view", 1.02, 1.0, None),
            arm("temp", 1.05, 0.99, Some(0.1)),
            arm("temp-indexed", 0.16, 0.1, Some(0.5)),
        ];
        let contrast = EffortContrast { effort: StatementEffort::RowsCompared, base: 1e6, arm: 100.0 };
        let (claims, table) = parts(vec![verdict("mariadb", arms, Some(contrast))]);
        let expected = [
            "temp-indexed is 6.2 times (6.0 to 6.6) as fast as derived, its set-up included.",
            "view and temp gain nothing against derived: a difference of 6 % would have shown.",
            "derived compares 1.00M pairs of rows, and temp-indexed 100.",
            "The engine builds for derived: a temporary table; for temp-indexed: nothing.",
        ];
        assert_eq!(claims, expected);
        let cells: Vec<String> = table.rows[3].cells.iter().flatten().map(|cell| cell.text.clone()).collect();
        assert_eq!(cells, ["500 us", "1.00 ms", "1.60 ms", "0.16"]);
    }

    #[test]
    fn a_set_up_that_costs_more_than_it_saves_pays_after_some_runs() {
        let arms = vec![arm("as-written", 1.0, 1.0, None), arm("with-index", 4.1, 0.45, Some(50.0))];
        let (claims, _) = parts(vec![verdict("mariadb", arms, None)]);
        let expected = [
            "with-index is 4.1 times (3.9 to 4.3) as slow as as-written, its set-up included.",
            "Without its set-up, with-index takes 55 % less time; the set-up costs 50.0 ms, so it pays after 9 to 10 runs.",
            "The engine builds for as-written: a temporary table; for with-index: nothing.",
        ];
        assert_eq!(claims, expected);
    }

    #[test]
    fn engines_on_which_a_variant_does_something_else_are_told_apart() {
        let arms = |total| vec![arm("derived", 1.0, 1.0, None), arm("indexed", total, total, Some(0.1))];
        let (claims, table) = parts(vec![
            verdict("mariadb", arms(0.2), None),
            verdict("postgres", arms(1.0), None),
            verdict("sqlite", arms(0.2), None),
        ]);
        assert_eq!(
            claims[0],
            "indexed is 5.0 times (4.8 to 5.3) as fast as derived on mariadb and sqlite, its set-up included."
        );
        assert_eq!(table.rows[1].cells[1].as_ref().unwrap().text, "1.00 =");
        assert_eq!(table.rows[1].name, ["postgres"]);
    }

    #[test]
    fn one_pair_decides_nothing() {
        let mut other = arm("view", 0.5, 0.5, None);
        other.ratio = Some(ratio(0.5, 1));
        other.statement_ratio = Some(ratio(0.5, 1));
        let (claims, table) = parts(vec![verdict("mariadb", vec![arm("derived", 1.0, 1.0, None), other], None)]);
        assert_eq!(claims, ["Not decided: one pair of measurements each, and a difference needs four (--repeat 4)."]);
        assert_eq!(table.rows[1].cells[3].as_ref().unwrap().text, "0.50 ?");
    }
}
