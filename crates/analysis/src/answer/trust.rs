//! How far to trust an answer, and what to do next.
//!
//! In: the validity of the points, and the findings that weaken them. Out: at most three sentences, and one step. Limits: the gravest
//! reason is named; the details have all.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use crate::findings::foreign_cpu::{CpuUser, ForeignCpu};
use crate::judgement::NextStep;
use crate::verdict::{Reason, Unmeasured};
use crate::{Code, DetailKind, PointAnalysis, Severity, Validity};
use words::list::{capital, join_and};
use words::quantity::{percent, plural, range};

/// More are not read.
const SENTENCES_MAX: usize = 3;
/// The most engines that are named.
const ENGINES_MAX: usize = 2;
/// A point that must be longer is made so many times as long.
const LONGER: f64 = 4.0;
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
            caution(format!("The only point cannot be used: it {}.", reason.words())).from_finding(reason.code)
        }
        (_, Some(reason)) => {
            let which = if reason.points == points { "they all".to_owned() } else { reason.points.to_string() };
            caution(format!("None of {points} points can be used: {which} {}.", reason.words()))
                .from_finding(reason.code)
        }
    }
}

/// At most three sentences: how many points are valid and what weakens the others, what others took of the CPU, and what is missing. What
/// mends most is said here unless it is the `next` step.
pub(super) fn sentences(run: &AskedRun, next: Option<&str>) -> Vec<String> {
    let points = &run.analysis.points;
    let reasons = &run.analysis.verdict.trust.reasons;
    let gravest = reasons.first().map(|reason| reason.code);
    let others = foreign_cpu(points).filter(|_| gravest != Some(Code::ForeignCpu));
    let others = others.map(|words| format!("{}.", capital(&words)));
    let missing = missing(&run.analysis.verdict.trust.unmeasured);
    [validity(run, next), others, missing].into_iter().flatten().take(SENTENCES_MAX).collect()
}

/// `7 of 10 points are valid; 3 are only indicative: they ran too short. Run longer: --time 12s.`
fn validity(run: &AskedRun, next: Option<&str>) -> Option<String> {
    let (trust, all) = (&run.analysis.verdict.trust, run.analysis.points.len());
    let tally = trust.validity;
    let reason = |validity: Validity| trust.reasons.iter().find(|reason| reason.validity == validity);
    let kinds = [(tally.invalid, Validity::Invalid), (tally.indicative, Validity::Indicative)];
    let weak: Vec<(usize, Validity)> = kinds.into_iter().filter(|(count, _)| *count > 0).collect();
    let is_valid = match (tally.valid, all) {
        (_, 0) => return None,
        (0, _) => String::new(),
        (1, 1) => "the point is valid".to_owned(),
        (2, 2) => "both points are valid".to_owned(),
        (valid, all) if valid == all => format!("all {all} points are valid"),
        (1, all) => format!("1 of {all} points is valid"),
        (valid, all) => format!("{valid} of {all} points are valid"),
    };
    let is_first_named = is_valid.is_empty();
    let clauses: Vec<String> = (0..)
        .zip(&weak)
        .map(|(nth, (count, validity))| {
            let whose = if is_first_named && nth == 0 { Some(all) } else { None };
            let is_weak = weak_words(*count, whose, *validity);
            // Two kinds of weakness often have one cause.
            let is_told = weak.len() > nth + 1
                && reason(*validity).map(|one| one.code) == reason(weak[nth + 1].1).map(|one| one.code);
            let why = reason(*validity).filter(|_| !is_told).map(|reason| reason_words(run, reason, *count));
            why.map_or(is_weak.clone(), |why| format!("{is_weak}: {why}"))
        })
        .collect();
    let parts: Vec<String> = [is_valid].into_iter().filter(|part| !part.is_empty()).chain(clauses).collect();
    let sentence = format!("{}.", capital(&parts.join("; ")));
    let mends = mending_step(run).map(|step| format!("{}.", capital(&step)));
    let mends = mends.filter(|step| next.is_none_or(|next| !step.eq_ignore_ascii_case(next)));
    Some(mends.map_or(sentence.clone(), |step| format!("{sentence} {step}")))
}

/// `3 are only indicative`, or of all points, if none is named before: `all 12 points are only indicative`.
fn weak_words(count: usize, of: Option<usize>, validity: Validity) -> String {
    let who = match of {
        Some(1) => "the point".to_owned(),
        Some(2) if count == 2 => "both points".to_owned(),
        Some(all) if all == count => format!("all {all} points"),
        Some(all) => format!("{count} of {all} points"),
        None => count.to_string(),
    };
    match (validity, count) {
        (Validity::Invalid, _) => format!("{who} must not be used"),
        (_, 1) => format!("{who} is only indicative"),
        _ => format!("{who} are only indicative"),
    }
}

/// Why `count` points are weak: what most of them had, or what others took.
fn reason_words(run: &AskedRun, reason: &Reason, count: usize) -> String {
    if reason.code == Code::ForeignCpu {
        return foreign_cpu(&run.analysis.points).unwrap_or_else(|| reason.words().to_owned());
    }
    match reason.points {
        1 if count == 1 => format!("it {}", reason.words()),
        points if points == count => format!("they {}", reason.words()),
        points => format!("{points} {}", reason.words()),
    }
}

/// What mends the gravest weakness of the points that are not valid, in a few words.
fn mending_step(run: &AskedRun) -> Option<String> {
    let reason = run.analysis.verdict.trust.reasons.first()?;
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings);
    let own = findings.filter(|finding| finding.code() == reason.code && finding.severity > Severity::Note);
    let step = own.map(|finding| finding.next).find(|step| *step != NextStep::None)?;
    Some(step_words(run, step))
}

/// A step with its flag, if one is known.
fn step_words(run: &AskedRun, step: NextStep) -> String {
    if matches!(step, NextStep::RunLonger | NextStep::RunLongerOrShortenInterval) {
        let longest = run.analysis.points.iter().filter_map(|point| Some(point.summary.as_ref()?.seconds));
        let seconds = (longest.fold(0.0, f64::max) * LONGER).max(SECONDS_MIN).round();
        return format!("run longer: --time {seconds}s");
    }
    step.sentence().replace('`', "")
}

/// `other programs took 17 to 58 % of the CPU`
fn foreign_cpu(points: &[PointAnalysis]) -> Option<String> {
    let findings = points.iter().flat_map(|point| &point.findings);
    let found = findings.filter_map(|finding| ForeignCpu::in_detail(&finding.detail));
    let (stolen, taken): (Vec<&ForeignCpu>, Vec<&ForeignCpu>) =
        found.partition(|found| matches!(found.by, CpuUser::Hypervisor { .. }));
    let took = |who: &str, all: &[&ForeignCpu]| {
        (!all.is_empty()).then(|| format!("{who} took {} of the CPU", range(all, |one| one.share.0, percent)))
    };
    let all = [took("other programs", &taken), took("the hypervisor", &stolen)];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| join_and(&all))
}

/// `Not measured: 4 points of postgres.`
fn missing(unmeasured: &[Unmeasured]) -> Option<String> {
    let words = |one: &Unmeasured| match one.missing {
        missing if missing < one.planned => format!("{missing} of {} points of {}", one.planned, one.engine),
        missing => format!("{} of {}", plural(missing as u64, "point"), one.engine),
    };
    let (shown, others) = unmeasured.split_at(unmeasured.len().min(ENGINES_MAX));
    let mut parts: Vec<String> = shown.iter().map(words).collect();
    if !others.is_empty() {
        let missing: usize = others.iter().map(|one| one.missing).sum();
        parts.push(plural(missing as u64, "other point"));
    }
    (!parts.is_empty()).then(|| format!("Not measured: {}.", join_and(&parts)))
}

/// The next step of the gravest finding that has one.
pub(super) fn next_step(run: &AskedRun) -> Option<String> {
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings).chain(&run.analysis.findings);
    let with_step = findings.filter(|finding| !finding.next.sentence().is_empty());
    // Of several that are equally grave the first: findings are listed in the order of their weight.
    let gravest = with_step.reduce(|gravest, one| if one.severity > gravest.severity { one } else { gravest })?;
    Some(format!("{}.", capital(&step_words(run, gravest.next))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, run_of};
    use crate::{Analysis, analyse, answer};
    use model::PointState;

    fn trust(analysis: &Analysis) -> Vec<String> {
        answer(analysis).trust
    }

    fn of(points: Vec<Simulation>) -> Analysis {
        analyse(&run_of(points.into_iter().map(Simulation::point).collect(), Vec::new()))
    }

    fn quiet() -> Simulation {
        Simulation::counts(&[2_000; 20])
    }

    #[test]
    fn a_weak_point_has_its_reason_and_the_flag_that_mends_it() {
        assert_eq!(trust(&of(vec![quiet()])), ["The point is valid."]);
        assert_eq!(trust(&of(vec![quiet(), quiet()])), ["Both points are valid."]);
        let short = Simulation::counts(&[20_000; 3]);
        let mixed = answer(&of(vec![quiet(), quiet(), short.clone()]));
        assert_eq!(mixed.trust, ["2 of 3 points are valid; 1 is only indicative: it ran too short."]);
        assert_eq!(mixed.next.as_deref(), Some("Run longer: --time 80s."));
        assert_eq!(trust(&of(vec![short])), ["The point is only indicative: it ran too short."]);
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
    }

    #[test]
    fn what_others_took_and_what_is_missing_are_told() {
        let counters = ["user_ns", "system_ns", "iowait_ns", "steal_ns", "softirq_ns", "idle_ns", "self_ns"];
        let used = |s: f64| vec![1.2e9 * s, 0.0, 0.0, 0.0, 0.0, 0.8e9 * s, 0.2e9 * s];
        let engine = |s: f64| vec![0.4e9 * s, 0.0];
        let shared =
            quiet().source("cpu", &counters, used).source("process", &["cpu_user_ns", "cpu_system_ns"], engine);
        let told = trust(&of(vec![shared, quiet()]));
        assert_eq!(told, ["1 of 2 points is valid; 1 is only indicative: other programs took 30 % of the CPU."]);
        let one = Unmeasured { engine: "postgres".into(), workload: "oltp".into(), missing: 2, planned: 4 };
        assert_eq!(missing(&[one]).as_deref(), Some("Not measured: 2 of 4 points of postgres."));
    }
}
