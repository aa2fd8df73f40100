//! How far to trust an answer, and what to do next.
//!
//! In: the validity of the points, and the findings that weaken them. Out: at most three sentences, and one step. Limits: the gravest
//! reason is named; the details have all.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use super::disturbance::clause;
use super::divergence;
use super::losses;
use super::speech::{spoken, unquoted};
use super::sureness;
use super::table::AnswerTable;
use crate::findings::errors::FailedOps;
use crate::findings::foreign_cpu::{CpuUser, ForeignCpu};
use crate::findings::interrupted::PointInterruption;
use crate::findings::setting_words::settings_label;
use crate::judgement::NextStep;
use crate::recorded::dimensions::ENGINE;
use crate::verdict::Unmeasured;
use crate::{Code, DetailKind, Finding, PointAnalysis, Role, Severity, Validity};
use model::sure::{FIRST_ROUND_PART, WARMUP_PART, budget_flag};
use model::{Plan, PointState, SKIPPED_EVENT};
use std::collections::BTreeSet;
use words::list::{at_points, capital, join_and};
use words::quantity::{percent, plural, range};

/// More are not read.
const SENTENCES_MAX: usize = 3;
/// The most engines that are named.
const ENGINES_MAX: usize = 2;
/// The most points that are named as failed for one reason, and the most reasons.
const NAMES_MAX: usize = 3;
const REASONS_MAX: usize = 2;
/// The most reasons that are named behind the first.
const FURTHER_REASONS_MAX: usize = 2;
/// A point that must be longer is made so many times as long.
const LONGER: f64 = 4.0;
/// Of a point that a budget cuts this share is the run, at least.
const RUN_SHARE: f64 = 1.0 - 1.0 / WARMUP_PART as f64;
/// No point that is to be valid is shorter, in seconds.
const SECONDS_MIN: f64 = 5.0;

/// What is said if no point may be used: the reason that most points share.
pub(super) fn nothing_usable(run: &AskedRun) -> Claim {
    let points = run.analysis.points.len();
    let caution = |sentence: String| Claim::new(ClaimKind::Caution, sentence);
    let most = run.analysis.verdict.trust.reasons.iter().max_by_key(|reason| (reason.validity, reason.points));
    match (points, most) {
        (0, _) => caution("Nothing was measured.".to_owned()),
        (_, None) => caution("No point can be used: none did all of its work.".to_owned()),
        (1, Some(reason)) => {
            let why = failed_words(run, reason.code).unwrap_or_else(|| format!("it {}", reason.words()));
            caution(format!("The only point cannot be used: {why}.")).from_finding(reason.code)
        }
        (_, Some(reason)) => {
            let which = if reason.points == points { "they all".to_owned() } else { reason.points.to_string() };
            caution(format!("None of {points} points can be used: {which} {}.", reason.words()))
                .from_finding(reason.code)
        }
    }
}

/// At most three sentences: how many points are valid, or left out of all numbers, and what weakens most of them; which failed before they were
/// measured; why one ended early; what others took of the CPU; and what is missing. What mends it is the next step. Of a replay, what is missing in
/// its recording and how far it did what was recorded come second; if the run went on until it was sure, what that came to is before why one ended early.
/// `table` is what the answer shows of the points.
pub(super) fn sentences(run: &AskedRun, table: Option<&AnswerTable>) -> Vec<String> {
    let tally = run.analysis.verdict.trust.validity;
    let has_left_out = (1..run.analysis.points.len()).contains(&tally.invalid);
    // Why points are left out is said of these alone.
    let weakness = common_weakness(run, has_left_out.then_some(Validity::Invalid));
    let rest = common_weakness(run, Some(Validity::Indicative)).filter(|_| has_left_out && tally.valid == 0);
    let others = foreign_cpu(run.analysis.points.iter(), Severity::Note)
        .filter(|_| !is_foreign_weakness(weakness) && !is_foreign_weakness(rest))
        .map(|(words, _)| format!("{}.", capital(&words)));
    let missing = not_measured(&run.analysis.verdict.trust.unmeasured);
    let rest = rest.map(|(code, points)| rest_words(run, code, points));
    let why = why_ended(run, weakness).or_else(|| why_failed(run, weakness));
    let diverged = divergence::sentence(run);
    let lost = losses::sentence(run);
    let first = [validity(run, weakness, table), lost, diverged, why_unmeasured(run), sureness::sentence(run)];
    let all = first.into_iter().chain([why, rest, others, missing]);
    all.flatten().take(SENTENCES_MAX).collect()
}

/// What weakens the points that are not left out, if none is valid: `The others are lower bounds: other programs took 56 to 95 % of the CPU.`
fn rest_words(run: &AskedRun, code: Code, points: usize) -> String {
    let kept = run.analysis.points.iter().filter(|point| point.validity != Validity::Invalid);
    let is_one = run.analysis.verdict.trust.validity.indicative == 1;
    let words = code.reason(Validity::Indicative);
    match foreign_cpu(kept, Severity::Note).filter(|_| code == Code::ForeignCpu) {
        Some((words, _)) if is_one => format!("The other is a lower bound: {words}."),
        Some((words, _)) => format!("The others are lower bounds: {words}."),
        None if is_one => format!("The other is only indicative: it {words}."),
        None => format!("The others are only indicative: {points} {words}."),
    }
}

/// What weakens most points, or most of those that are only `of` that validity, and how many; of several the gravest. `None` if all are valid.
fn common_weakness(run: &AskedRun, of: Option<Validity>) -> Option<(Code, usize)> {
    let mut all: Vec<(Code, usize)> = Vec::new();
    let reasons = run.analysis.verdict.trust.reasons.iter();
    for reason in reasons.filter(|reason| of.is_none_or(|validity| reason.validity == validity)) {
        match all.iter_mut().find(|(code, _)| *code == reason.code) {
            Some((_, points)) => *points += reason.points,
            None => all.push((reason.code, reason.points)),
        }
    }
    all.into_iter().reduce(|most, one| if one.1 > most.1 { one } else { most })
}

/// The points that failed and have no numbers. Of the only point of a run all that is said is of this one.
fn failed_unmeasured<'a>(run: &AskedRun<'a>) -> Vec<&'a PointAnalysis> {
    let points = &run.analysis.points;
    let is_failed = |point: &&PointAnalysis| point.state == PointState::Failed && point.summary.is_none();
    if points.len() == 1 { Vec::new() } else { points.iter().filter(is_failed).collect() }
}

/// `The point postgres work_mem 2TB failed before it was measured: work_mem = 2TB was refused.`, of each point that failed and has no numbers: those
/// of one reason together.
fn why_unmeasured(run: &AskedRun) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for point in failed_unmeasured(run) {
        let Some(reason) = point.error.as_deref().map(|error| error.trim_end_matches(KEPT)) else { continue };
        let label = run.said(point.label.group.iter().chain(&point.label.place));
        let name = settings_label(label.into_iter().filter(|setting| setting.role != Role::Repeat));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let (told, others) = reasons.split_at(reasons.len().min(REASONS_MAX));
    let others: usize = others.iter().map(|(_, names)| names.len()).sum();
    let others = (others > 0).then(|| format!("{} failed, too.", plural(others as u64, "other point")));
    let sentences = told.iter().map(|(reason, names)| unmeasured_words(reason, names));
    let all: Vec<String> = sentences.chain(others).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Why the points `names` have no numbers.
fn unmeasured_words(reason: &str, names: &[String]) -> String {
    let (shown, others) = names.split_at(names.len().min(NAMES_MAX));
    let others = (!others.is_empty()).then(|| format!("{} more", others.len()));
    let which = join_and(&shown.iter().cloned().chain(others).collect::<Vec<_>>());
    let reason = reason.trim_end_matches('.');
    if names.len() == 1 {
        format!("The point {which} failed before it was measured: {reason}.")
    } else {
        format!("The points {which} failed before they were measured: {reason}.")
    }
}

/// What to do if points failed before they were measured: nothing else completes the answer.
pub(super) fn step_after_failure(run: &AskedRun) -> Option<String> {
    if let Some(step) = step_after_rejection(run) {
        return Some(step);
    }
    let (which, what) = match failed_unmeasured(run).len() {
        0 => return None,
        1 => ("failure", "the point"),
        _ => ("failures", "the points"),
    };
    Some(format!("Remove the cause of the {which}, or leave {what} out, and run the same command again."))
}

/// `Measure the rest: plimsoll run --resume 20261201-quick`, if points are missing because the run was interrupted, or plimsoll was killed. A search
/// says by itself how it goes on.
pub(super) fn step_after_interruption(run: &AskedRun) -> Option<String> {
    let (points, plan) = (&run.analysis.points, &run.analysis.meta.plan);
    let is_over = points.iter().any(|point| point.traits.course.is_time_over || point.traits.imported.is_some());
    if is_over || !run.analysis.searches.is_empty() {
        return None;
    }
    let mut partial = points.iter().filter(|point| point.state == PointState::Partial).peekable();
    // Of a plan that ends once it is sure not every point is needed.
    let lacks_points = plan.sure.is_none() && !run.analysis.verdict.trust.unmeasured.is_empty();
    let is_left = partial.peek().is_some() || lacks_points;
    let name = run.name_to_type();
    let command = if plan.why.is_some() {
        format!("plimsoll why {name} --resume")
    } else {
        format!("plimsoll run --resume {name}")
    };
    (is_left && partial.all(is_cut)).then(|| format!("Measure the rest: `{command}`"))
}

/// Whether the user ended `point`, or nobody recorded why it ended: plimsoll was killed.
fn is_cut(point: &PointAnalysis) -> bool {
    let is_wished = |error: &str| error.starts_with("interrupted") || error.starts_with("skipped");
    point.error.as_deref().is_none_or(is_wished)
}

/// What to do if the target did not take a statement of the plan: `Correct statement by_key in shop.toml, and run the same command again.`
fn step_after_rejection(run: &AskedRun) -> Option<String> {
    let failed = run.analysis.points.iter().filter(|point| point.state == PointState::Failed);
    let name = failed.filter_map(|point| rejected_statement(point.error.as_deref()?)).next()?;
    let command = run.analysis.meta.fact("plan.command").unwrap_or_default();
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let file = words.find(|word| word.ends_with(".toml")).unwrap_or("the plan");
    Some(format!("Correct statement {name} in {file}, and run the same command again."))
}

/// The name of the statement of a plan that was rejected by `error`. A statement that is not of the plan is quoted in place of a name, and not once
/// more behind the reason.
fn rejected_statement(error: &str) -> Option<&str> {
    let (_, rest) = error.split_once("statement `")?;
    let (name, reason) = rest.split_once("` was rejected: ")?;
    reason.contains(" in `").then_some(name)
}

/// `It ended with: client 14: the server gave no complete answer within 8 s.`, of the first point that did not complete, if that is what is wrong.
/// Those that failed before they were measured have a sentence of their own.
fn why_ended(run: &AskedRun, weakness: Option<(Code, usize)>) -> Option<String> {
    weakness.filter(|(code, _)| *code == Code::Incomplete)?;
    let told: Vec<u32> = failed_unmeasured(run).iter().map(|point| point.id).collect();
    let own = run.analysis.points.iter().filter(|point| !told.contains(&point.id));
    let errors: Vec<&str> = own.filter_map(|point| point.error.as_deref()).collect();
    let first = errors.first()?.trim_end_matches(KEPT);
    let which = if errors.len() == 1 { "It" } else { "The first of them" };
    Some(format!("{which} ended with: {}.", unquoted(first)))
}

/// `The first failed with: the connection was closed 3 s after it was opened, and the server runs on.`, if failures are what is wrong. The class
/// of the failure, the client and the server before it are left out.
fn why_failed(run: &AskedRun, weakness: Option<(Code, usize)>) -> Option<String> {
    weakness.filter(|(code, _)| *code == Code::Errors)?;
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings);
    let text = findings.filter_map(|finding| FailedOps::in_detail(&finding.detail)?.quoted.first()).next()?;
    let what = text.split_once("`: ").or_else(|| text.split_once(": ")).map_or(text.as_str(), |(_, what)| what);
    let cut: String = what.chars().take(FAILURE_CHARS_MAX).collect();
    let end = if cut.len() < what.len() { "..." } else { "." };
    Some(format!("The first failed with: {}{end}", unquoted(cut.trim_end_matches('.'))))
}

/// A longer text would push the rest of the answer off the screen.
const FAILURE_CHARS_MAX: usize = 160;

/// What the error of a point that began says of its measurements.
const KEPT: &str = "; what was measured is kept";

/// `7 of 10 points are valid; 3 ran too short.`, `2 of 6 points are left out: they did no operation.`, `Lower bounds: other programs took
/// 67 to 85 % of the CPU at all 12 points.`
fn validity(run: &AskedRun, weakness: Option<(Code, usize)>, table: Option<&AnswerTable>) -> Option<String> {
    let (tally, all) = (run.analysis.verdict.trust.validity, run.analysis.points.len());
    let valid = match (tally.valid, all) {
        (_, 0) => return None,
        (1, 1) => return Some(format!("The point is valid{}.", held_briefly(run))),
        (2, 2) => return Some(format!("Both points are valid{}.", held_briefly(run))),
        (valid, all) if valid == all => return Some(format!("All {all} points are valid{}.", held_briefly(run))),
        (0, _) => String::new(),
        (1, all) => format!("1 of {all} points is valid"),
        (valid, all) => format!("{valid} of {all} points are valid"),
    };
    let valid = valid + &drains_without_row(run, table);
    // Who counts finds all of them.
    let others = weakness.map_or(0, |(_, points)| tally.indicative.saturating_sub(points));
    let are_lower_bounds = is_foreign_weakness(weakness) && others == 0;
    let weak = match (tally.invalid, tally.indicative) {
        (0, _) if are_lower_bounds && all == 1 => "a lower bound".to_owned(),
        (0, _) if are_lower_bounds && valid.is_empty() => "lower bounds".to_owned(),
        (0, 1) if all == 1 => "the point is only indicative".to_owned(),
        (0, _) if valid.is_empty() && all == 2 => "both points are only indicative".to_owned(),
        (0, _) if valid.is_empty() => format!("all {all} points are only indicative"),
        // Each of them has the reason that follows.
        (0, indicative) if weakness.is_some_and(|(_, points)| points == indicative) => String::new(),
        (0, indicative) => format!("{indicative} {} only indicative", if indicative == 1 { "is" } else { "are" }),
        (1, _) if all == 1 => "the point must not be used".to_owned(),
        (invalid, _) if invalid == all => format!("none of {all} points can be used"),
        (invalid, indicative) => {
            let are = |count| if count == 1 { "is" } else { "are" };
            let of = if valid.is_empty() { format!(" of {all} points") } else { String::new() };
            let is_told = !valid.is_empty() && indicative > 0;
            let weaker =
                if is_told { format!("{indicative} {} only indicative; ", are(indicative)) } else { String::new() };
            format!("{weaker}{invalid}{of} {} left out", are(invalid))
        }
    };
    let mut why = weakness.map(|(code, points)| weakness_words(run, code, points, tally.invalid)).unwrap_or_default();
    if let Some((first, _)) = weakness.filter(|_| tally.invalid == 0 && others > 0 && !why.is_empty()) {
        why += &further_words(run, first, others);
    }
    let why = if why.is_empty() || weak.is_empty() { why } else { format!(": {why}") };
    let separator = if valid.is_empty() { "" } else { "; " };
    Some(format!("{}.", capital(&format!("{valid}{separator}{weak}{why}"))))
}

/// `; fjall's drain is one of them and has no row above`, of the valid points that only write what others have put off, if `table` does not show
/// them: who counts its rows misses them.
fn drains_without_row(run: &AskedRun, table: Option<&AnswerTable>) -> String {
    let has_row = |point: &&PointAnalysis| {
        let step = point.settings.iter().find(|setting| setting.is_step()).map(spoken);
        let mut names = table.iter().flat_map(|table| &table.rows).flat_map(|row| &row.name);
        step.is_some_and(|step| names.any(|part| part.starts_with(&step)))
    };
    let valid = run.analysis.points.iter().filter(|point| point.validity == Validity::Valid);
    let hidden: Vec<&PointAnalysis> = valid.filter(|point| point.is_drain() && !has_row(point)).collect();
    let all = run.analysis.verdict.trust.validity.valid;
    let engine = |point: &PointAnalysis| point.settings.get(ENGINE).map_or_else(|| point.engine.clone(), spoken);
    match hidden.as_slice() {
        [] => String::new(),
        [only] if all == 1 => format!("; it is {}'s drain, which has no row above", engine(only)),
        [only] => format!("; {}'s drain is one of them and has no row above", engine(only)),
        several if several.len() == all => "; they are drains, which have no rows above".to_owned(),
        several => format!("; {} drains are among them and have no rows above", several.len()),
    }
}

/// `, 4 ran too short, 3 for other reasons`: what weakens the `others` that `first` does not weaken.
fn further_words(run: &AskedRun, first: Code, others: usize) -> String {
    let told: Vec<(Code, usize)> = further_reasons(run, first).into_iter().take(FURTHER_REASONS_MAX).collect();
    let rest = others.saturating_sub(told.iter().map(|(_, points)| points).sum());
    let told = told.iter().map(|(code, points)| format!(", {points} {}", code.reason(Validity::Indicative)));
    told.chain((rest > 0).then(|| format!(", {rest} for other reasons"))).collect()
}

/// What weakens the indicative points that `first` does not weaken, the most common first. Of a point with several reasons the most common one
/// counts, so that the numbers add up.
fn further_reasons(run: &AskedRun, first: Code) -> Vec<(Code, usize)> {
    let weak = run.analysis.points.iter().filter(|point| point.validity == Validity::Indicative);
    let codes = |point: &PointAnalysis| -> BTreeSet<Code> {
        point.findings.iter().filter(|finding| finding.severity > Severity::Note).map(Finding::code).collect()
    };
    let mut left: Vec<BTreeSet<Code>> = weak.map(codes).filter(|own| !own.contains(&first)).collect();
    let mut all = Vec::new();
    loop {
        let reasons = run.analysis.verdict.trust.reasons.iter();
        let counts = reasons.map(|one| (one.code, left.iter().filter(|own| own.contains(&one.code)).count()));
        // Of several that are as common the gravest, but what others took of the CPU has a sentence of its own.
        let is_more =
            |one: (Code, usize), most: (Code, usize)| one.1 > most.1 || one.1 == most.1 && most.0 == Code::ForeignCpu;
        let most = counts.reduce(|most, one| if is_more(one, most) { one } else { most });
        let Some((code, points)) = most.filter(|(_, points)| *points > 0) else { return all };
        left.retain(|own| !own.contains(&code));
        all.push((code, points));
    }
}

/// `, but was held too briefly to be sure`, of limits whose hold the answer calls too short.
fn held_briefly(run: &AskedRun) -> String {
    let results = run.analysis.searches.iter().map(|search| &search.result);
    let brief = results.filter(|result| result.per_s.is_some() && result.needed_hold.is_some()).count();
    match (brief, run.analysis.points.len()) {
        (0, _) => String::new(),
        (1, 1) => ", but was held too briefly to be sure".to_owned(),
        (1, _) => ", but 1 of them was held too briefly to be sure".to_owned(),
        (brief, _) => format!(", but {brief} of them were held too briefly to be sure"),
    }
}

fn is_foreign_weakness(weakness: Option<(Code, usize)>) -> bool {
    weakness.is_some_and(|(code, _)| code == Code::ForeignCpu)
}

/// What weakens so many `points`: `they ran too short`, `other programs took 12 to 40 % of the CPU at 3 of them`. If some are left out, it
/// is said of these.
fn weakness_words(run: &AskedRun, code: Code, points: usize, invalid: usize) -> String {
    let own = &run.analysis.points;
    if (1..own.len()).contains(&invalid) {
        let left_out = own.iter().filter(|point| point.validity == Validity::Invalid);
        if let Some((words, _)) = foreign_cpu(left_out, Severity::Error).filter(|_| code == Code::ForeignCpu) {
            return words;
        }
        let words = code.reason(Validity::Invalid);
        return match (points, invalid) {
            (1, 1) => format!("it {words}"),
            (points, invalid) if points == invalid => format!("they {words}"),
            (points, _) => format!("{points} {words}"),
        };
    }
    let foreign = foreign_cpu(own.iter(), Severity::Note).filter(|_| code == Code::ForeignCpu);
    if let Some((words, at)) = foreign {
        return words + &at_points(at, own.len());
    }
    // What is known exactly of a course is said of a single point.
    let findings = own.iter().flat_map(|point| &point.findings);
    let mut found = findings.filter(|finding| finding.code() == code && finding.severity > Severity::Note);
    if let Some(only) = found.next().filter(|_| points == 1 && code.is_disturbance()) {
        let clause = clause("the rate", &only.detail);
        return if own.len() == 1 { clause } else { format!("in one {clause}") };
    }
    if let Some(words) = failed_words(run, code) {
        return words;
    }
    let words = if is_skipped(run, code) { "stopped early: skipped by you" } else { code.reason(Validity::Indicative) };
    match (points, own.len()) {
        (1, 1) => format!("it {words}"),
        (1, _) => format!("one {words}"),
        (points, all) if points == all => format!("they {words}"),
        (points, _) => format!("{points} {words}"),
    }
}

/// A share of operations in percent; one that would be shown as none is given as less than the smallest that is shown.
pub(super) fn percent_of_ops(share: f64) -> String {
    const SHOWN_MIN: f64 = 1e-4;
    if share > 0.0 && share < SHOWN_MIN {
        return format!("fewer than {}", percent(SHOWN_MIN));
    }
    percent(share).to_string()
}

/// Whether nothing but the user's wish to skip them ended points early.
fn is_skipped(run: &AskedRun, code: Code) -> bool {
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings);
    let mut ends = findings.filter_map(|finding| PointInterruption::in_detail(&finding.detail));
    code == Code::Interrupted && ends.all(|end| end.reason == SKIPPED_EVENT)
}

/// `5 % of the operations failed`, the most of any point; `None` if that is not what is wrong.
fn failed_words(run: &AskedRun, code: Code) -> Option<String> {
    let [least, _] = run.analysis.verdict.trust.success.filter(|_| code == Code::Errors)?;
    let most = percent_of_ops(1.0 - least);
    let up_to = if run.analysis.points.len() == 1 || most.starts_with("fewer") { "" } else { "up to " };
    Some(format!("{up_to}{most} of the operations failed"))
}

/// What mends the weakness that most points share.
fn mending_step(run: &AskedRun) -> Option<NextStep> {
    let (code, _) = common_weakness(run, None)?;
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings);
    let own = findings.filter(|finding| finding.code() == code && finding.severity > Severity::Note);
    own.map(|finding| finding.next).find(|step| *step != NextStep::None)
}

/// A step with its flag, if one is known.
fn step_words(run: &AskedRun, step: NextStep) -> String {
    if matches!(step, NextStep::RunLonger | NextStep::RunLongerOrShortenInterval) {
        let longest = run.analysis.points.iter().filter_map(|point| Some(point.summary.as_ref()?.seconds));
        let seconds = (longest.fold(0.0, f64::max) * LONGER).max(SECONDS_MIN).round();
        return format!("run longer: {}", longer_flags(&run.analysis.meta.plan, seconds));
    }
    unquoted(&step.sentence())
}

/// The flags that make the points of `plan` last so many seconds. A budget cuts them to their share of a tenth of it, whatever `time` says.
fn longer_flags(plan: &Plan, seconds: f64) -> String {
    let time = format!("--time {seconds}s");
    let Some(budget) = plan.sure.and_then(|sure| sure.budget) else { return time };
    let first = || plan.trials.iter().filter(|trial| trial.repeat == 1);
    let points = first().count() as f64;
    let share = budget.as_secs_f64() / f64::from(FIRST_ROUND_PART) / points;
    let lengths = first().map(|trial| trial.phases.warmup.as_secs_f64() + trial.phases.run.as_secs_f64());
    let is_cut = lengths.fold(0.0, f64::max) >= share;
    let needed = seconds / RUN_SHARE * points * f64::from(FIRST_ROUND_PART);
    let larger = budget_flag(needed);
    match (is_cut, needed > budget.as_secs_f64()) {
        (true, _) => larger,
        (false, true) => format!("{time} {larger}"),
        (false, false) => time,
    }
}

/// `other programs took 17 to 58 % of the CPU`, and at how many points, by findings of this severity at least.
fn foreign_cpu<'a>(points: impl Iterator<Item = &'a PointAnalysis>, least: Severity) -> Option<(String, usize)> {
    let of_point = |point: &PointAnalysis| {
        let grave = point.findings.iter().filter(|finding| finding.severity >= least);
        grave.filter_map(|finding| ForeignCpu::in_detail(&finding.detail)).copied().collect::<Vec<ForeignCpu>>()
    };
    let found: Vec<Vec<ForeignCpu>> = points.map(of_point).filter(|found| !found.is_empty()).collect();
    let is_stolen = |found: &&ForeignCpu| matches!(found.by, CpuUser::Hypervisor { .. });
    let (stolen, taken): (Vec<&ForeignCpu>, Vec<&ForeignCpu>) = found.iter().flatten().partition(is_stolen);
    // The greater of the two is the one to be mended.
    let most = |all: &[&ForeignCpu]| all.iter().map(|found| found.share.0).fold(0.0, f64::max);
    let (who, all) = if most(&stolen) > most(&taken) { ("the hypervisor", stolen) } else { ("other programs", taken) };
    (!found.is_empty())
        .then(|| (format!("{who} took {} of the CPU", range(&all, |one| one.share.0, percent)), found.len()))
}

/// `Not measured: 4 points of postgres.`, of points that the plan asked for.
pub fn not_measured(unmeasured: &[Unmeasured]) -> Option<String> {
    let words = |one: &Unmeasured| {
        let is_only = unmeasured.iter().filter(|other| other.engine == one.engine).count() == 1;
        let name = if is_only { one.engine.clone() } else { format!("{} {}", one.engine, one.workload) };
        match one.missing {
            missing if missing < one.planned => format!("{missing} of {} points of {name}", one.planned),
            missing => format!("{} of {name}", plural(missing as u64, "point")),
        }
    };
    let (shown, others) = unmeasured.split_at(unmeasured.len().min(ENGINES_MAX));
    let mut parts: Vec<String> = shown.iter().map(words).collect();
    if !others.is_empty() {
        let missing: usize = others.iter().map(|one| one.missing).sum();
        parts.push(plural(missing as u64, "other point"));
    }
    (!parts.is_empty()).then(|| format!("Not measured: {}.", join_and(&parts)))
}

/// What mends the weakness that most points share, or the next step of the gravest finding that is more than a note. A run without such needs
/// none.
pub(super) fn next_step(run: &AskedRun) -> Option<String> {
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings).chain(&run.analysis.findings);
    let steps = findings.filter(|one| one.severity > Severity::Note && !one.next.sentence().is_empty());
    // Of several that are equally grave the first: findings are listed in the order of their weight.
    let gravest = steps.reduce(|gravest, one| if one.severity > gravest.severity { one } else { gravest });
    let step = mending_step(run).or(gravest.map(|finding| finding.next))?;
    Some(format!("{}.", capital(&step_words(run, step))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AnswerRow;
    use crate::simulated::searches::searched;
    use crate::simulated::{Simulation, drain, run_of};
    use crate::verdict::Tally;
    use crate::{Analysis, RepeatRows, analyse, answer};
    use model::limit::{HoldCause, NeededHold};
    use model::sure::{Precision, SurePlan};
    use model::{EventKind, Nanos};

    fn trust(analysis: &Analysis) -> Vec<String> {
        answer(analysis).trust
    }

    fn of(points: Vec<Simulation>) -> Analysis {
        analyse(&run_of(points.into_iter().map(Simulation::point).collect(), Vec::new()))
    }

    fn quiet() -> Simulation {
        Simulation::counts(&[2_000; 20])
    }

    /// A point beside other programs, which took 30 % of the CPU.
    fn shared() -> Simulation {
        let counters = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];
        let used = |s: f64| vec![1.2e9 * s, 0.0, 0.0, 0.0, 0.0, 0.8e9 * s, 0.2e9 * s];
        let engine = |s: f64| vec![0.4e9 * s, 0.0];
        quiet().source("cpu", &counters, used).source("process", &["cpu_user_ns", "cpu_system_ns"], engine)
    }

    #[test]
    fn a_weak_point_has_its_reason_and_the_flag_that_mends_it() {
        assert_eq!(trust(&of(vec![quiet()])), ["The point is valid."]);
        assert_eq!(trust(&of(vec![quiet(), quiet()])), ["Both points are valid."]);
        let short = Simulation::counts(&[20_000; 3]);
        let mixed = answer(&of(vec![quiet(), quiet(), short.clone()]));
        assert_eq!(mixed.trust, ["2 of 3 points are valid; one ran too short."]);
        assert_eq!(mixed.next.as_deref(), Some("Run longer: --time 80s."));
        assert_eq!(
            trust(&of(vec![short.clone(), short.clone()])),
            ["Both points are only indicative: they ran too short."]
        );
        assert_eq!(trust(&of(vec![short])), ["The point is only indicative: it ran too short."]);
    }

    #[test]
    fn a_limit_that_was_held_too_briefly_is_not_told_as_valid_and_no_more() {
        let told = |engines: &[&str], needs_more: bool| {
            let mut analysis = analyse(&searched(engines, "p99<20ms", None, usize::MAX));
            for point in &mut analysis.points {
                (point.validity, point.findings) = (Validity::Valid, Vec::new());
            }
            let valid = analysis.points.len();
            analysis.verdict.trust.validity = Tally { valid, ..Tally::default() };
            let needed = NeededHold { length: Nanos::from_secs(130), cause: HoldCause::Operations { needed: 100_000 } };
            for search in &mut analysis.searches {
                search.result.needed_hold = needs_more.then_some(needed);
            }
            trust(&analysis).remove(0)
        };
        assert_eq!(told(&["sqlite"], false), "The point is valid.");
        assert_eq!(told(&["sqlite"], true), "The point is valid, but was held too briefly to be sure.");
        let both = "Both points are valid, but 2 of them were held too briefly to be sure.";
        assert_eq!(told(&["sqlite", "fjall"], true), both);
    }

    #[test]
    fn the_reasons_of_all_indicative_points_add_up() {
        let shared = shared();
        let short = Simulation::counts(&[20_000; 3]);
        let mixed = vec![quiet(), shared.clone(), shared.clone(), short.clone()];
        let told = "1 of 4 points is valid; 3 are only indicative: other programs took 30 % of the CPU at 2 of 4 points, 1 ran too short.";
        assert_eq!(trust(&of(mixed)), [told]);
        let told =
            "All 3 points are only indicative: other programs took 30 % of the CPU at 2 of 3 points, 1 ran too short.";
        assert_eq!(trust(&of(vec![shared.clone(), shared, short])), [told], "the last is no lower bound");
    }

    #[test]
    fn a_drain_that_the_table_does_not_show_is_named() {
        let analysis = of(vec![quiet(), quiet(), drain(&[2_000; 20]), Simulation::counts(&[20_000; 3])]);
        let rows = RepeatRows::from_analysis(&analysis).analysis;
        let run = AskedRun { analysis: &analysis, rows: &rows };
        let told = |table: Option<&AnswerTable>| validity(&run, common_weakness(&run, None), table).unwrap_or_default();
        let hidden = "'s drain is one of them and has no row above; one ran too short.";
        assert!(told(None).starts_with("3 of 4 points are valid; ") && told(None).ends_with(hidden), "{}", told(None));
        let step = analysis.points[2].settings.iter().find(|setting| setting.is_step()).expect("it is a step");
        let row = AnswerRow { name: vec![spoken(step)], cells: Vec::new() };
        let table = AnswerTable { rows: vec![row], ..AnswerTable::default() };
        assert_eq!(told(Some(&table)), "3 of 4 points are valid; one ran too short.");
    }

    #[test]
    fn points_that_a_budget_cuts_need_a_larger_one() {
        let next = |budget_s: u64| {
            let points = [quiet(), quiet(), Simulation::counts(&[20_000; 3])].map(Simulation::point);
            let mut run = run_of(points.into(), Vec::new());
            let (difference, budget) = (Precision::USUAL, Some(Nanos::from_secs(budget_s)));
            run.meta.plan.sure = Some(SurePlan { difference, pairs_max: 20, comparisons: 0, budget });
            answer(&analyse(&run)).next
        };
        // Two of the three trials are of 20 s. They need 80 s, and a quarter more for the warmup, ten times.
        assert_eq!(next(600).as_deref(), Some("Run longer: --budget 50m."));
        assert_eq!(next(900).as_deref(), Some("Run longer: --time 80s --budget 50m."));
        assert_eq!(next(3_600).as_deref(), Some("Run longer: --time 80s."));
    }

    #[test]
    fn a_drift_in_a_budget_is_not_mended_by_what_a_budget_excludes() {
        let steps = |budget: Option<Nanos>| -> Vec<NextStep> {
            let rising: Vec<u64> = (0..60).map(|second| 1_000 + 8 * second + second * 37 % 41).collect();
            let mut run = run_of(vec![Simulation::counts(&rising).point()], Vec::new());
            let (difference, pairs_max) = (Precision::USUAL, 20);
            run.meta.plan.sure = budget.map(|_| SurePlan { difference, pairs_max, comparisons: 0, budget });
            analyse(&run).points[0].findings.iter().map(|finding| finding.next).collect()
        };
        assert!(steps(None).contains(&NextStep::WarmUpLonger), "{:?}", steps(None));
        let bounded = steps(Some(Nanos::from_secs(600)));
        assert!(bounded.contains(&NextStep::WarmUpLongerInBudget), "{bounded:?}");
        assert!(bounded.iter().all(|step| !step.sentence().contains("--until steady")), "{bounded:?}");
    }

    #[test]
    fn failures_have_the_reason_of_the_first_without_the_server_before_it() {
        let failing = |text: &str| {
            let failing = Simulation::counts(&[2_000; 20]).event(EventKind::Failure, text);
            trust(&of(vec![failing.with(|point| point.phases[0].intervals[3].kinds[0].failed = 2)]))[1].clone()
        };
        assert_eq!(
            failing("killed: client 0: `mysql://app@db/`: the connection was closed 3 s after it was opened"),
            "The first failed with: the connection was closed 3 s after it was opened."
        );
        assert_eq!(
            failing("busy: client 0: database is locked"),
            "The first failed with: client 0: database is locked."
        );
        let long = failing(&format!("error: {}", "x".repeat(500)));
        assert!(long.ends_with("xx...") && long.len() < 200, "{long}");
    }

    #[test]
    fn without_a_usable_point_the_common_reason_comes_first() {
        let idle = Simulation::counts(&[0; 20]);
        let answer = answer(&of(vec![idle.clone(), idle]));
        assert_eq!(answer.claims.len(), 1);
        assert_eq!(answer.claims[0].sentence, "None of 2 points can be used: they all did no operation.");
        assert_eq!(answer.claims[0].findings, [Code::FewSamples]);
        let failed = quiet().with(|point| point.state = PointState::Failed);
        let sentence = &super::super::answer(&of(vec![failed])).claims[0].sentence;
        assert_eq!(sentence, "The only point cannot be used: it did not complete.");
        let silent = quiet().with(|point| {
            point.state = PointState::Failed;
            point.error = Some("client 3: no answer within 8 s; what was measured is kept".into());
        });
        assert_eq!(trust(&of(vec![silent]))[1], "It ended with: client 3: no answer within 8 s.");
    }

    #[test]
    fn points_that_failed_before_they_were_measured_are_named_with_their_reason_and_what_to_do() {
        let failed = |clients: u32, why: &str| {
            quiet().with(|point| {
                point.trial.load.clients = clients;
                (point.state, point.error) = (PointState::Failed, Some(why.into()));
                point.phases.clear();
            })
        };
        let refused = "`work_mem` = `2TB` was refused; use a smaller value";
        let one = answer(&of(vec![quiet(), failed(64, refused)]));
        let told = &one.trust[1];
        let ends = format!(" clients 64 failed before it was measured: {refused}.");
        assert!(told.starts_with("The point ") && told.ends_with(&ends), "{told}");
        let own = "client 0: statement `by_key` was rejected: no such column: x in `SELECT x FROM t`";
        let mut rejected = of(vec![quiet(), failed(64, own)]);
        let corrected = |file: &str| format!("Correct statement by_key in {file}, and run the same command again.");
        assert_eq!(answer(&rejected).next, Some(corrected("the plan")));
        rejected.meta.state_fact("plan.command", "plimsoll run plans/p3.toml --clients 1,64");
        assert_eq!(answer(&rejected).next, Some(corrected("plans/p3.toml")));
        assert_eq!(rejected_statement("statement `SELECT 1` was rejected: no reason"), None);
        let next = "Remove the cause of the failure, or leave the point out, and run the same command again.";
        assert_eq!(one.next.as_deref(), Some(next));
        let several =
            vec![quiet(), failed(64, refused), failed(128, refused), failed(256, "no server"), failed(8, "x")];
        let told = trust(&of(several)).remove(1);
        let parts = [
            " clients 64 and ",
            &format!(" clients 128 failed before they were measured: {refused}. The point "),
            " clients 256 failed before it was measured: no server. 1 other point failed, too.",
        ];
        assert!(parts.iter().all(|part| told.contains(*part)), "{told}");
        let alone = trust(&of(vec![failed(64, refused)]));
        assert!(alone.iter().all(|sentence| !sentence.contains("before it was measured")), "{alone:?}");
    }

    #[test]
    fn a_run_that_was_interrupted_or_killed_is_resumed_by_its_name() {
        let next = |points: Vec<Simulation>, missing: usize| {
            let mut run = run_of(points.into_iter().map(Simulation::point).collect(), Vec::new());
            run.meta.run_id = "20261201-quick".to_owned();
            let one_more = run.meta.plan.trials[0].clone();
            run.meta.plan.trials.extend(vec![one_more; missing]);
            answer(&analyse(&run)).next.unwrap_or_default()
        };
        let partial = |error: Option<&str>| {
            quiet().with(|point| (point.state, point.error) = (PointState::Partial, error.map(str::to_owned)))
        };
        let resume = "Measure the rest: `plimsoll run --resume 20261201-quick`";
        assert_eq!(next(vec![quiet(), partial(None)], 0), resume, "it was killed");
        assert_eq!(next(vec![quiet(), partial(Some("interrupted; what was measured is kept"))], 0), resume);
        assert_eq!(next(vec![quiet(), quiet()], 1), resume, "it was ended between points");
        let full = partial(Some("stopped because the disk was nearly full; what was measured is kept"));
        assert_ne!(next(vec![quiet(), full], 1), resume, "it would end in the same way");
        assert_ne!(next(vec![quiet(), quiet()], 0), resume);
    }

    #[test]
    fn a_failure_among_very_many_operations_is_not_told_as_none() {
        let failing = |failed: u64| {
            let point =
                Simulation::counts(&[10_000; 20]).with(|point| point.phases[0].intervals[3].kinds[0].failed = failed);
            trust(&of(vec![point])).remove(0)
        };
        assert!(failing(1).contains(": fewer than 0.01 % of the operations failed"), "{}", failing(1));
        assert!(failing(100).contains(": 0.05 % of the operations failed"), "{}", failing(100));
    }

    #[test]
    fn a_point_that_the_user_skipped_was_neither_interrupted_nor_was_the_disk_full() {
        let ended = |why: &str| {
            let early = quiet().event(EventKind::Stopped, why).with(|point| point.state = PointState::Partial);
            trust(&of(vec![quiet(), quiet(), early])).remove(0)
        };
        assert_eq!(ended(SKIPPED_EVENT), "2 of 3 points are valid; one stopped early: skipped by you.");
        let other = "2 of 3 points are valid; one stopped early: interrupted, or the disk was full.";
        assert_eq!(ended("interrupted by Ctrl-C or a signal"), other);
    }

    #[test]
    fn points_that_are_left_out_are_counted_with_their_own_reason() {
        let (idle, short) = (Simulation::counts(&[0; 20]), Simulation::counts(&[20_000; 3]));
        let told = |points: Vec<Simulation>| trust(&of(points)).remove(0);
        let some = told(vec![quiet(), quiet(), idle.clone(), idle.clone(), short.clone(), short.clone()]);
        assert_eq!(some, "2 of 6 points are valid; 2 are only indicative; 2 are left out: they did no operation.");
        let none = trust(&of(vec![short.clone(), short, idle]));
        assert_eq!(
            none,
            ["1 of 3 points is left out: it did no operation.", "The others are only indicative: 2 ran too short."]
        );
    }

    #[test]
    fn what_others_took_and_what_is_missing_are_told() {
        let shared = shared();
        let told = trust(&of(vec![shared.clone(), quiet()]));
        assert_eq!(told, ["1 of 2 points is valid; other programs took 30 % of the CPU at 1 of 2 points."]);
        let idle = trust(&of(vec![shared, quiet(), Simulation::counts(&[0; 20])]));
        let expected = [
            "1 of 3 points is valid; 1 is only indicative; 1 is left out: it did no operation.",
            "Other programs took 30 % of the CPU.",
        ];
        assert_eq!(idle, expected);
        let one = Unmeasured { engine: "postgres".into(), workload: "oltp".into(), missing: 2, planned: 4 };
        assert_eq!(
            not_measured(std::slice::from_ref(&one)).as_deref(),
            Some("Not measured: 2 of 4 points of postgres.")
        );
        let other = Unmeasured { workload: "kv".into(), missing: 4, ..one.clone() };
        let both = "Not measured: 2 of 4 points of postgres oltp and 4 points of postgres kv.";
        assert_eq!(not_measured(&[one, other]).as_deref(), Some(both));
    }
}
