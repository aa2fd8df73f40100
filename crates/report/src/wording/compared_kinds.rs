//! The statements of a replay on two arms in words: what answers differently, what fails, what takes longer, and whether its plan differs.
//!
//! In: a comparison. Out: sentences, and the rows of tables. Limits: ten kinds at most; JSON has all.

use super::compare::{arm_name, interval_text, ratio_text};
use super::compared_plans::{COLUMNS, plan_text, plan_word, replanned_sentence};
use super::list::join_and;
use super::metric::speed_verdict_word;
use super::quantity::{plural, time, whole};
use analysis::answer::{FailedReplay, failed_sentence, remedy};
use analysis::compare::{ArmSummary, KindComparison, KindRatio, ResultDifference, RunComparison};
use analysis::math::ratio::PAIRS_MIN;
use analysis::{RatioEstimate, RatioVerdict};
use words::code::code_span;

/// The kinds of a table.
const ROWS_MAX: usize = 10;
/// The kinds that a sentence names.
const NAMED_MAX: usize = 3;

/// What is wrong with the answers, and then what takes longer; nothing if no statements of a log were replayed.
pub fn kind_sentences(comparison: &RunComparison) -> Vec<String> {
    let names = [arm_name(&comparison.base), arm_name(&comparison.new)];
    let all = comparison.kinds().flat_map(|kinds| {
        let wrong = other_results(kinds, &names).into_iter().chain(failures(kinds, &names));
        let slower = times(kinds).into_iter().chain(worst_plan(kinds, &names)).chain(replanned_sentence(kinds));
        wrong.chain(results_alike(kinds)).chain(unknown_results(kinds)).chain(slower).collect::<Vec<String>>()
    });
    all.collect()
}

/// `In new 1,204 of 24,080 statements failed (5.0 %), all with: ...`, and what to do.
pub fn failed_sentences(comparison: &RunComparison) -> Vec<String> {
    let [base, new] = comparison.failed_replays.each_ref().map(Option::as_ref);
    let told = |arm: &ArmSummary, failed: &FailedReplay| format!("In {} {}", arm_name(arm), failed_sentence(failed));
    let all = base.map(|failed| told(&comparison.base, failed));
    let all = all.into_iter().chain(new.map(|failed| told(&comparison.new, failed)));
    // The times of statements that failed are in no ratio, and what the others had to do changed with that.
    let remedy = |failed: &FailedReplay| format!("Do not rely on the ratios. {}", remedy(failed, None));
    all.chain(new.or(base).map(remedy)).collect()
}

/// `1 kind of statement answers differently: ...`
fn other_results(kinds: &KindComparison, [base, new]: &[String; 2]) -> Option<String> {
    let found = &kinds.other_results;
    let told = |one: &ResultDifference| format!("{} ({})", code_span(&one.kind), result_difference(one, [base, new]));
    let named: Vec<String> = found.iter().take(NAMED_MAX).map(told).collect();
    let rest = found.len() - named.len();
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    let what = match found.len() {
        0 => return None,
        1 => "1 kind of statement answers".to_owned(),
        many => format!("{many} kinds of statement answer"),
    };
    Some(format!("{what} differently: {}{rest}.", named.join("; ")))
}

/// How the answers of two arms with these names differ: `10 rows in old, 9 in new`.
pub fn result_difference(found: &ResultDifference, [base, new]: [&str; 2]) -> String {
    let (of_base, of_new) = (&found.base, &found.new);
    // Both arms have answered equally often. Statements of one kind mostly have equally many columns.
    let answers = of_base.answers.max(1);
    let per_answer = if [of_base, of_new].iter().all(|one| one.columns.is_multiple_of(answers)) { answers } else { 1 };
    let mut all = Vec::new();
    if of_base.columns != of_new.columns {
        let columns = plural(of_base.columns / per_answer, "column");
        all.push(format!("{columns} in {base}, {} in {new}", whole((of_new.columns / per_answer) as f64)));
    }
    if of_base.rows != of_new.rows {
        all.push(format!("{} in {base}, {} in {new}", plural(of_base.rows, "row"), whole(of_new.rows as f64)));
    }
    if all.is_empty() {
        all.push(format!("as many rows ({}) with other values", whole(of_base.rows as f64)));
    }
    join_and(&all)
}

/// The kinds that answer differently, each with how, and how many more there are; none if a sentence has named all of them.
pub fn other_result_rows(kinds: &KindComparison, names: &[String; 2]) -> (Vec<(String, String)>, usize) {
    let found = &kinds.other_results;
    if found.len() <= NAMED_MAX {
        return (Vec::new(), 0);
    }
    let names = names.each_ref().map(String::as_str);
    let row = |one: &ResultDifference| (one.kind.clone(), result_difference(one, names));
    let rows: Vec<(String, String)> = found.iter().take(ROWS_MAX).map(row).collect();
    let rest = found.len() - rows.len();
    (rows, rest)
}

fn failures(kinds: &KindComparison, [base, new]: &[String; 2]) -> Option<String> {
    let told = |(kind, [in_base, in_new]): &(String, [u64; 2])| {
        let (count, arm) = if *in_base > 0 { (in_base, base) } else { (in_new, new) };
        format!("{} ({count} in {arm})", code_span(kind))
    };
    let named: Vec<String> = kinds.failures.iter().take(NAMED_MAX).map(told).collect();
    let rest = kinds.failures.len() - named.len();
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("Statements fail in one of the two only: {}{rest}.", join_and(&named)))
}

fn results_alike(kinds: &KindComparison) -> Option<String> {
    let all = kinds.results_compared;
    (all > 0 && kinds.other_results.is_empty()).then(|| match all {
        1 => "The one kind of statement whose answers were compared answers alike.".to_owned(),
        _ => format!("All {all} kinds of statement whose answers were compared answer alike."),
    })
}

fn unknown_results(kinds: &KindComparison) -> Option<String> {
    let unknown = &kinds.results_unknown;
    let named: Vec<String> = unknown.iter().take(NAMED_MAX).map(|kind| code_span(kind)).collect();
    let rest = unknown.len() - named.len();
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "Not compared are the answers of {}{rest}: they differ from repeat to repeat, or some are missing.",
            join_and(&named)
        )
    })
}

fn times(kinds: &KindComparison) -> Option<String> {
    let all = kinds.ratios.len();
    let slower = kinds.differing().filter(|one| one.estimate.verdict == RatioVerdict::Slower).count();
    let faster = kinds.differing().count() - slower;
    let is_undecided = kinds.ratios.iter().all(|one| one.estimate.verdict == RatioVerdict::Indicative);
    let pairs = kinds.ratios.iter().map(|one| one.estimate.n).min()?;
    if is_undecided {
        let why = if pairs < PAIRS_MIN {
            format!("{pairs} of {PAIRS_MIN} pairs; measure both with `--repeat {PAIRS_MIN}`")
        } else {
            "the runs are not alike".to_owned()
        };
        return Some(format!("Which of {all} kinds of statement take longer is not sure: {why}."));
    }
    let worst = kinds.differing().next();
    Some(match worst {
        None => format!("None of {all} kinds of statement shows a difference in its service time."),
        Some(worst) => {
            let count = format!("Of {all} kinds of statement {slower} got slower and {faster} faster");
            let RatioEstimate { ratio, .. } = worst.estimate;
            let interval = interval_text(&worst.estimate);
            format!("{count}: {} takes {} times as long ({interval}).", code_span(&worst.kind), ratio_text(ratio))
        }
    })
}

/// `Its plan differs: ...`, of the kind that [`times`] names.
fn worst_plan(kinds: &KindComparison, [base, new]: &[String; 2]) -> Option<String> {
    Some(format!("Its {}.", plan_text(&kinds.differing().next()?.plans, [base, new])?))
}

/// A kind of statement as a table shows it: its name, both times, their ratio, its interval and the verdict.
pub struct KindCells {
    pub kind: String,
    pub cells: [String; 5],
    /// It decides their colour.
    pub verdict: RatioVerdict,
    /// Whether its plan is another one, in words, if that is known.
    pub plan: Option<String>,
    /// The same in one word or two.
    pub plan_word: &'static str,
}

/// The kinds that differ for sure, the slowest first, and how many more there are.
pub fn kind_rows(kinds: &KindComparison) -> (Vec<KindCells>, usize) {
    let cells = |one: &KindRatio| KindCells {
        kind: one.kind.clone(),
        cells: [
            time(one.base_ns).to_string(),
            time(one.new_ns).to_string(),
            ratio_text(one.estimate.ratio),
            interval_text(&one.estimate),
            speed_verdict_word(one.estimate.verdict).to_owned(),
        ],
        verdict: one.estimate.verdict,
        plan: plan_text(&one.plans, COLUMNS),
        plan_word: plan_word(&one.plans),
    };
    let rows: Vec<KindCells> = kinds.differing().take(ROWS_MAX).map(cells).collect();
    let rest = kinds.differing().count() - rows.len();
    (rows, rest)
}

/// What is above the table of the kinds that answer differently.
pub const OTHER_RESULTS_HEADING: &str = "Kinds of statement that answer differently:";
/// What is above the table.
pub const KINDS_HEADING: &str = "Kinds of statement, by their service times:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, estimate_of};
    use analysis::compare::PlanComparison;
    use model::{ComparedBy, KindResults};

    /// Number 0 has another plan, and so has number 19.
    fn plans_of(nth: usize) -> PlanComparison {
        let steps = |step: &str| vec![step.to_owned()];
        match nth {
            0 | 19 => PlanComparison::Other([steps("reads `big` by index `k`"), steps("reads all of `big`")]),
            1 => PlanComparison::Same(steps("reads all of `big`")),
            _ => PlanComparison::Unknown,
        }
    }

    fn kinds(slower: usize, results: &[(u64, u64)]) -> RunComparison {
        let mut one = compared();
        let ratio = |nth: usize| {
            let pairs = if nth < slower { [(1e6, 3e6); 4] } else { [(1e6, 1e6); 4] };
            // Of a time less is better.
            let turned = pairs.map(|(base, new)| (new, base));
            let estimate = RatioEstimate { ratio: pairs[0].1 / pairs[0].0, ..estimate_of(&turned) };
            let plans = plans_of(nth);
            KindRatio { kind: format!("select c{nth}"), base_ns: pairs[0].0, new_ns: pairs[0].1, estimate, plans }
        };
        let result = |(nth, (base, new)): (usize, &(u64, u64))| {
            let of = |rows: u64| KindResults { rows, ..KindResults::default() };
            ResultDifference { kind: format!("select d{nth}"), base: of(*base), new: of(*new) }
        };
        one.places[0].kinds = Some(KindComparison {
            ratios: (0..20).map(ratio).collect(),
            other_results: results.iter().enumerate().map(result).collect(),
            results_compared: 20,
            ..KindComparison::default()
        });
        one
    }

    #[test]
    fn other_answers_are_told_before_times() {
        let told = kind_sentences(&kinds(1, &[(10, 9), (7, 7)]));
        assert_eq!(
            told[0],
            "2 kinds of statement answer differently: `select d0` (10 rows in old, 9 in new); `select d1` (as many rows (7) with other \
             values)."
        );
        assert!(
            told[1].starts_with("Of 20 kinds of statement 1 got slower and 0 faster: `select c0` takes 3.00 times"),
            "{told:?}"
        );
        assert_eq!(told[2], "Its plan differs: old reads `big` by index `k`; new reads all of `big`.");
        assert_eq!(
            told[3],
            "The plan of 1 kind of statement differs without a sure difference in its time: `select c19`."
        );
        assert_eq!(told.len(), 4, "{told:?}");
        let alike = kind_sentences(&kinds(0, &[]));
        assert_eq!(alike[0], "All 20 kinds of statement whose answers were compared answer alike.");
        assert_eq!(alike[1], "None of 20 kinds of statement shows a difference in its service time.");
    }

    #[test]
    fn statements_that_failed_are_told_before_all_ratios() {
        let mut one = kinds(1, &[]);
        let message = ("Table 'shop.orders' doesn't exist".to_owned(), 1_000);
        let compared_by = ComparedBy::Rows;
        one.failed_replays[1] =
            Some(FailedReplay { failed: 1_000, sent: 20_000, message, has_keys: false, told_ids: 0, compared_by });
        let told = crate::wording::compared_sweep::answers(&one);
        assert_eq!(
            told[0],
            "In new 1,000 of 20,000 statements failed (5.0 %), all with: Table 'shop.orders' doesn't exist."
        );
        assert!(told[1].starts_with("Do not rely on the ratios. The copy lacks table shop.orders: "), "{told:?}");
        assert!(told[2].contains("answer alike"), "{told:?}");
    }

    #[test]
    fn answers_differ_in_columns_in_rows_or_in_values_and_ten_kinds_have_rows() {
        let results = |columns, rows| KindResults { answers: 20, columns, rows, ..KindResults::default() };
        let told =
            |base, new| result_difference(&ResultDifference { kind: "select a".into(), base, new }, ["old", "new"]);
        assert_eq!(told(results(40, 20), results(60, 20)), "2 columns in old, 3 in new");
        assert_eq!(told(results(40, 1), results(60, 0)), "2 columns in old, 3 in new and 1 row in old, 0 in new");
        assert_eq!(told(results(40, 20), results(41, 20)), "40 columns in old, 41 in new");
        assert_eq!(told(results(40, 20), results(40, 20)), "as many rows (20) with other values");
        let names = ["old", "new"].map(str::to_owned);
        let rows = |many: usize| {
            let one = kinds(0, &vec![(10, 9); many]);
            other_result_rows(one.places[0].kinds.as_ref().unwrap(), &names)
        };
        assert_eq!((rows(3).0.len(), rows(12).0.len(), rows(12).1), (0, 10, 2));
        assert_eq!(rows(4).0[3], ("select d3".to_owned(), "10 rows in old, 9 in new".to_owned()));
    }

    #[test]
    fn ten_kinds_have_rows_and_the_rest_is_counted() {
        let one = kinds(14, &[]);
        let (rows, rest) = kind_rows(one.places[0].kinds.as_ref().unwrap());
        assert_eq!((rows.len(), rest, rows[0].cells[2].as_str()), (10, 4, "3.00"));
        let plans: Vec<Option<&str>> = rows.iter().take(3).map(|row| row.plan.as_deref()).collect();
        let differs = "plan differs: base reads `big` by index `k`; new reads all of `big`";
        assert_eq!(plans, [Some(differs), Some("same plan"), None]);
        assert!(kind_sentences(&compared()).is_empty());
    }
}
