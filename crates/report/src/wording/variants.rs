//! Which variant of a statement is faster, by how much, and what explains it, in words.
//!
//! In: the verdicts of an analysis. Out: complete sentences. Limits: a variant is called the fastest only if its ratio shows a difference;
//! what the engine counted is given as an amount that differs, and not as a proven cause.

use super::label::{phrase, settings_label};
use super::list::{capital, join_and};
use super::quantity::{bytes, count, plural, time};
use super::relative::ratio_text;
use analysis::math::ratio::{PAIRS_MIN, RatioEstimate, RatioVerdict};
use analysis::points::variants::EffortContrast;
use analysis::recorded::dimensions::Role;
use analysis::{Setting, VariantArm, VariantVerdict};
use model::{StatementEffort, StatementResult};

/// Counts below this are written in full.
const EXACT_BELOW: f64 = 100_000.0;

/// The sentences of all places.
pub fn sentences(verdicts: &[VariantVerdict]) -> Vec<String> {
    let mut all: Vec<String> = verdicts.iter().flat_map(|verdict| of_place(verdict, verdicts)).collect();
    all.extend(across_engines(verdicts));
    all
}

/// The name of the place, if there are several: what they have in common is left out.
pub fn place_name(verdict: &VariantVerdict, all: &[VariantVerdict]) -> String {
    let is_common = |setting: &&Setting| all.iter().all(|other| other.place.contains(setting));
    settings_label(verdict.place.iter().filter(|setting| !is_common(setting)))
}

fn of_place(verdict: &VariantVerdict, all: &[VariantVerdict]) -> Vec<String> {
    let place = place_name(verdict, all);
    let at = |text: String| if place.is_empty() { capitalised(&text) } else { format!("{place}: {text}") };
    let main = match (verdict.base, verdict.fastest) {
        _ if verdict.arms.len() < 2 => None,
        (Some(base), Some(best)) => Some(fastest(verdict, &verdict.arms[base], &verdict.arms[best])),
        (Some(base), None) => no_gain(verdict, &verdict.arms[base]),
        (None, _) => Some("no variant has a usable time.".to_owned()),
    };
    let cancelled = verdict.arms.iter().filter(|arm| arm.timeouts > 0).map(cancelled);
    main.into_iter().chain(cancelled).map(at).collect()
}

/// `temp-indexed is the fastest of 5 variants: ...`
fn fastest(verdict: &VariantVerdict, base: &VariantArm, best: &VariantArm) -> String {
    let Some(ratio) = &best.ratio else { return String::new() };
    let with_setup = if best.setup_seconds.is_some() { ", set-up included" } else { "" };
    let why = verdict.explanation.map_or(String::new(), |contrast| explanation(&contrast, base, best));
    format!(
        "{} is the fastest of {} variants: {} times the duration of {} ({}, {}), {} against {}{with_setup}.{why}",
        best.name,
        verdict.arms.len(),
        ratio_text(ratio.ratio, None),
        base.name,
        interval(ratio),
        plural(ratio.n as u64, "pair"),
        total(best),
        total(base),
    )
}

fn interval(ratio: &RatioEstimate) -> String {
    let Some([low, high]) = ratio.telling_ci95() else { return "no interval".to_owned() };
    format!("95 % CI {} to {}", ratio_text(low, None), ratio_text(high, None))
}

/// `no gain: no other variant is faster than derived: view 1.01 (0.98 to 1.04).`
fn no_gain(verdict: &VariantVerdict, base: &VariantArm) -> Option<String> {
    let others = verdict.arms.iter().filter(|arm| arm.name != base.name);
    let judged: Vec<&VariantArm> = others.filter(|arm| arm.ratio.is_some()).collect();
    if judged.is_empty() {
        return None;
    }
    let ratio =
        |arm: &&VariantArm| arm.ratio.as_ref().map_or(String::new(), |it| ratio_text(it.ratio, it.telling_ci95()));
    let list: Vec<String> = judged.iter().map(|arm| format!("{} {}", arm.name, ratio(arm))).collect();
    let is_open = |arm: &&VariantArm| arm.ratio.is_some_and(|ratio| ratio.verdict == RatioVerdict::Indicative);
    let text = if judged.iter().any(is_open) {
        format!(
            "nothing is concluded from fewer than {PAIRS_MIN} pairs (--repeat); duration over that of {}: {}.",
            base.name,
            join_and(&list)
        )
    } else {
        let open = verdict.open_gains();
        let none = if open.is_empty() { "no gain" } else { "no gain shown" };
        let open: Vec<String> = open.iter().map(|arm| arm.name.clone()).collect();
        let left = if open.is_empty() {
            String::new()
        } else {
            format!(" The interval of {} is wide enough for a gain: a higher --repeat narrows it.", join_and(&open))
        };
        let listed = join_and(&list);
        format!("{none}: no variant is faster than {} ({}): {listed}.{left}", base.name, total(base))
    };
    Some(text)
}

fn total(arm: &VariantArm) -> String {
    arm.total_seconds.map_or_else(crate::format::dash, |seconds| time(seconds.mean * 1e9).to_string())
}

/// ` In one execution it reads 4,000 rows, and derived 47.8k.`
fn explanation(contrast: &EffortContrast, base: &VariantArm, best: &VariantArm) -> String {
    let EffortContrast { effort, base: much, arm: little } = *contrast;
    let built = match (&base.built, &best.built) {
        (Some(before), Some(after)) if before != after => {
            format!(" The optimizer built for {}: {before}; for {}: {after}.", base.name, best.name)
        }
        _ => String::new(),
    };
    let (little, much) = (amount(effort, little), amount(effort, much));
    format!(" Its statement {}: {little}, that of {} {much}.{built}", effort_words(effort), base.name)
}

/// What a statement does, before a colon and an amount.
pub fn effort_words(effort: StatementEffort) -> &'static str {
    match effort {
        StatementEffort::RowsRead => "reads fewer rows one after the other",
        StatementEffort::IndexLookups => "searches indexes less often",
        StatementEffort::RowsCompared => "compares fewer pairs of rows",
        StatementEffort::TransientIndexRows => "puts fewer rows into an index of its own",
        StatementEffort::TempTables => "makes fewer temporary tables",
        StatementEffort::TempDiskTables => "makes fewer temporary tables on disk",
        StatementEffort::TempBytes => "writes less to temporary files",
        StatementEffort::Sorts => "sorts less often",
        StatementEffort::SortedRows => "sorts fewer rows",
        StatementEffort::MachineSteps => "takes fewer steps of the virtual machine",
    }
}

/// The name of an amount in a table.
pub fn effort_name(effort: StatementEffort) -> &'static str {
    match effort {
        StatementEffort::RowsRead => "rows read",
        StatementEffort::IndexLookups => "index lookups",
        StatementEffort::RowsCompared => "pairs compared",
        StatementEffort::TransientIndexRows => "rows put into an automatic index",
        StatementEffort::TempTables => "temporary tables",
        StatementEffort::TempDiskTables => "temporary tables on disk",
        StatementEffort::TempBytes => "temporary files",
        StatementEffort::Sorts => "sorts",
        StatementEffort::SortedRows => "rows sorted",
        StatementEffort::MachineSteps => "machine steps",
    }
}

/// An amount with its unit.
pub fn amount(effort: StatementEffort, value: f64) -> String {
    match effort {
        StatementEffort::TempBytes => bytes(value).to_string(),
        // Few are a whole number; three digits of many are enough.
        _ if value < EXACT_BELOW => crate::format::count(value as u64),
        _ => count(value).to_string(),
    }
}

fn cancelled(arm: &VariantArm) -> String {
    let limit = arm.timeout_seconds.map_or(String::new(), |limit| format!(" of {}", time(limit * 1e9)));
    format!("{} was cancelled at its time limit{limit} ({}).", arm.name, plural(arm.timeouts, "execution"))
}

/// Whether all engines return the same for the same question and data, if there are several.
fn across_engines(verdicts: &[VariantVerdict]) -> Option<String> {
    let question = |verdict: &VariantVerdict| -> Vec<Setting> {
        verdict.place.iter().filter(|setting| setting.role != Role::Engine).cloned().collect()
    };
    let mut compared = false;
    for (nth, one) in verdicts.iter().enumerate() {
        for other in &verdicts[nth + 1..] {
            let (Some(mine), Some(theirs)) = (result_of(one), result_of(other)) else { continue };
            if question(one) != question(other) {
                continue;
            }
            compared = true;
            if mine != theirs {
                let name = |verdict: &VariantVerdict| {
                    let engine = verdict.place.iter().find(|setting| setting.role == Role::Engine);
                    engine.map_or_else(|| "one engine".to_owned(), phrase)
                };
                return Some(format!(
                    "{} and {} return different results ({} and {}): look whether they differ in more than the form of values.",
                    name(one),
                    name(other),
                    result_text(mine),
                    result_text(theirs)
                ));
            }
        }
    }
    compared.then(|| "All engines return the same rows for the same question.".to_owned())
}

fn result_of(verdict: &VariantVerdict) -> Option<&StatementResult> {
    verdict.arms.iter().find_map(|arm| arm.result.as_ref())
}

/// `4,000 rows, checksum 89ab...`
pub fn result_text(result: &StatementResult) -> String {
    format!("{}, checksum {}", plural(result.rows, "row"), result.checksum)
}

fn capitalised(text: &str) -> String {
    // Names of variants are left as the plan has them.
    if text.starts_with("no gain") || text.starts_with("nothing") || text.starts_with("no variant") {
        return capital(text);
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::variant_arm;

    fn arm(name: &str, seconds: f64, ratio: Option<(f64, RatioVerdict)>) -> VariantArm {
        let estimate = |(ratio, verdict): (f64, RatioVerdict)| RatioEstimate {
            ratio,
            ci95: Some([ratio * 0.9, ratio * 1.1]),
            n: 5,
            smallest_effect: None,
            p_value: None,
            verdict,
        };
        VariantArm { ratio: ratio.map(estimate), ..variant_arm(name, None, seconds) }
    }

    fn verdict(arms: Vec<VariantArm>, fastest: Option<usize>) -> VariantVerdict {
        let param = "variant".to_owned();
        VariantVerdict { param, place: Vec::new(), arms, base: Some(0), fastest, explanation: None }
    }

    #[test]
    fn the_fastest_variant_is_named_with_its_ratio_and_the_amount_that_differs_most() {
        let mut indexed = arm("temp-indexed", 0.02, Some((0.01, RatioVerdict::Faster)));
        (indexed.setup_seconds, indexed.built) = (Some(0.01), Some("nothing".into()));
        let mut derived = arm("derived", 2.0, None);
        derived.built = Some("derived table without index".into());
        let mut verdict = verdict(vec![derived, indexed], Some(1));
        verdict.explanation = Some(EffortContrast { effort: StatementEffort::RowsCompared, base: 32e6, arm: 0.0 });
        let sentences = sentences(&[verdict]);
        assert_eq!(
            sentences,
            [
                "temp-indexed is the fastest of 2 variants: 0.010 times the duration of derived (95 % CI 0.009 to 0.011, 5 pairs), \
              20.0 ms against 2.00 s, set-up included. Its statement compares fewer pairs of rows: 0, that of derived 32.0M. The \
              optimizer built for derived: derived table without index; for temp-indexed: nothing."
            ]
        );
    }

    #[test]
    fn where_nothing_is_faster_the_verdict_is_no_gain_and_too_few_pairs_are_no_verdict() {
        let of = |verdict_word| {
            let arms = vec![arm("derived", 0.5, None), arm("view", 0.5, Some((1.01, verdict_word)))];
            sentences(&[verdict(arms, None)]).remove(0)
        };
        let no_gain = of(RatioVerdict::NoDifferenceShown);
        assert_eq!(no_gain, "No gain: no variant is faster than derived (500 ms): view 1.01 (0.91 to 1.11).");
        let mut wide = arm("view", 0.5, Some((1.01, RatioVerdict::NoDifferenceShown)));
        wide.ratio = wide.ratio.map(|ratio| RatioEstimate { ci95: Some([0.3, 3.4]), ..ratio });
        let open = sentences(&[verdict(vec![arm("derived", 0.5, None), wide], None)]).remove(0);
        assert_eq!(
            open,
            "No gain shown: no variant is faster than derived (500 ms): view 1.01 (0.30 to 3.40). The interval of view is wide \
             enough for a gain: a higher --repeat narrows it."
        );
        assert!(of(RatioVerdict::Indicative).starts_with("Nothing is concluded from fewer than 4 pairs"));
    }

    #[test]
    fn a_variant_that_was_cancelled_is_named_with_its_limit() {
        let mut slow = arm("derived", 1.0, None);
        (slow.timeouts, slow.timeout_seconds) = (3, Some(5.0));
        let sentences = sentences(&[verdict(vec![slow], None)]);
        assert_eq!(sentences, ["derived was cancelled at its time limit of 5.00 s (3 executions)."]);
    }
}
