//! How far to trust an answer, and what to do next.
//!
//! In: the validity of the points, and the findings that weaken them. Out: at most three sentences, and one step. Limits: the gravest
//! reason is named; the details have all.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use crate::findings::foreign_cpu::ForeignCpu;
use crate::judgement::NextStep;
use crate::verdict::{Reason, Unmeasured};
use crate::{DetailKind, Finding, PointAnalysis, Severity, Validity};
use words::list::{capital, join_and};
use words::quantity::{percent, plural, range};

/// More are not read.
const SENTENCES_MAX: usize = 3;
/// The most reasons that are named, each with its number of points.
const REASONS_MAX: usize = 2;
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

/// At most three sentences: how many points are valid and what weakens the others, what others took of the CPU, and what is missing.
pub(super) fn sentences(run: &AskedRun) -> Vec<String> {
    let all = [validity(run), foreign_cpu(&run.analysis.points), missing(&run.analysis.verdict.trust.unmeasured)];
    all.into_iter().flatten().take(SENTENCES_MAX).collect()
}

/// `7 of 10 points are valid; 3 ran too short, so they are only indicative: use --time 12s.`
fn validity(run: &AskedRun) -> Option<String> {
    let (trust, points) = (&run.analysis.verdict.trust, run.analysis.points.len());
    let tally = trust.validity;
    if points == 0 {
        return None;
    }
    let valid = match (tally.valid, points) {
        (1, 1) => "The point is valid".to_owned(),
        (2, 2) => "Both points are valid".to_owned(),
        (valid, all) if valid == all => format!("All {all} points are valid"),
        (0, 1) => "The point is not valid".to_owned(),
        (0, all) => format!("None of {all} points is valid"),
        (1, all) => format!("1 of {all} points is valid"),
        (valid, all) => format!("{valid} of {all} points are valid"),
    };
    let kinds = [
        (Validity::Invalid, tally.invalid, "must not be used"),
        (Validity::Indicative, tally.indicative, "indicative"),
    ];
    let weak = kinds.into_iter().filter(|(_, count, _)| *count > 0);
    let weak: Vec<String> =
        weak.map(|(validity, count, word)| weakened(&trust.reasons, validity, (count, points), word)).collect();
    if weak.is_empty() {
        return Some(format!("{valid}."));
    }
    let mend = mending_step(run).map_or(String::new(), |step| format!("; {step}"));
    Some(format!("{valid}: {}{mend}.", weak.join("; ")))
}

/// `3 are only indicative, because they ran too short`
fn weakened(reasons: &[Reason], validity: Validity, (count, points): (usize, usize), word: &str) -> String {
    let own: Vec<&Reason> = reasons.iter().filter(|reason| reason.validity == validity).collect();
    let which = if points == 1 { "it".to_owned() } else { count.to_string() };
    let is = match (count, validity) {
        (_, Validity::Invalid) => String::new(),
        (1, _) => "is only ".to_owned(),
        _ => "are only ".to_owned(),
    };
    // Of several reasons each has its number of points, unless it is that of all.
    let reason = |reason: &&Reason| match reason.points {
        1 if count == 1 => format!("it {}", reason.words()),
        all if all == count => format!("they {}", reason.words()),
        some => format!("{some} {}", reason.words()),
    };
    let why: Vec<String> = own.iter().take(REASONS_MAX).map(reason).collect();
    let why = if why.is_empty() { String::new() } else { format!(", because {}", join_and(&why)) };
    format!("{which} {is}{word}{why}")
}

/// What mends most of the points that are not valid, in a few words.
fn mending_step(run: &AskedRun) -> Option<String> {
    let weak = |finding: &&Finding| finding.severity > Severity::Note;
    let weakened = run.analysis.points.iter().filter(|point| point.validity != Validity::Valid);
    let mut steps: Vec<(NextStep, usize)> = Vec::new();
    for finding in weakened.flat_map(|point| point.findings.iter().filter(weak)) {
        match steps.iter_mut().find(|(step, _)| *step == finding.next) {
            Some((_, count)) => *count += 1,
            None => steps.push((finding.next, 1)),
        }
    }
    let known = steps.into_iter().filter(|(step, _)| *step != NextStep::None);
    known.max_by_key(|(_, count)| *count).map(|(step, _)| step_words(run, step))
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

/// `Other programs took 17 to 58 % of the CPU.`
fn foreign_cpu(points: &[PointAnalysis]) -> Option<String> {
    use crate::findings::foreign_cpu::CpuUser;
    let found =
        points.iter().flat_map(|point| &point.findings).filter_map(|finding| ForeignCpu::in_detail(&finding.detail));
    let (stolen, taken): (Vec<&ForeignCpu>, Vec<&ForeignCpu>) =
        found.partition(|found| matches!(found.by, CpuUser::Hypervisor { .. }));
    let took = |who: &str, all: &[&ForeignCpu]| {
        let at = if points.len() > 1 {
            format!(" at {} of {} points", all.len().min(points.len()), points.len())
        } else {
            String::new()
        };
        (!all.is_empty()).then(|| format!("{who} took {} of the CPU{at}", range(all, |one| one.share.0, percent)))
    };
    let all: Vec<String> =
        [took("other programs", &taken), took("the hypervisor", &stolen)].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{}.", capital(&join_and(&all))))
}

/// `Not measured: 4 points of postgres.`
fn missing(unmeasured: &[Unmeasured]) -> Option<String> {
    let words = |one: &Unmeasured| match one.missing {
        missing if missing < one.planned => format!("{missing} of {} points of {}", one.planned, one.engine),
        missing => format!("{} of {}", plural(missing as u64, "point"), one.engine),
    };
    let (shown, others) = unmeasured.split_at(unmeasured.len().min(REASONS_MAX));
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
    use crate::{Analysis, Code, analyse, answer};
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
        let expected =
            "2 of 3 points are valid: 1 is only indicative, because it ran too short; run longer: --time 80s.";
        assert_eq!(trust(&of(vec![quiet(), quiet(), short.clone()])), [expected]);
        let expected =
            "The point is not valid: it is only indicative, because it ran too short; run longer: --time 12s.";
        assert_eq!(trust(&of(vec![short])), [expected]);
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
        assert_eq!(told[1], "Other programs took 30 % of the CPU at 1 of 2 points.");
        let one = Unmeasured { engine: "postgres".into(), workload: "oltp".into(), missing: 2, planned: 4 };
        assert_eq!(missing(&[one]).as_deref(), Some("Not measured: 2 of 4 points of postgres."));
    }
}
