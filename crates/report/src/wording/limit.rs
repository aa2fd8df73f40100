//! Searches for the largest rate in words: what is claimed of each, and what each probe showed.
//!
//! In: searches as they were analysed. Out: complete sentences, and the cells of the table of probes. Limits: rates of probes are in operations
//! per second, whatever an operation is.

use super::quantity::{bytes, number, whole};
use analysis::answer::objective::of_kind;
use analysis::answer::search_claims;
use analysis::points::limit::ProbeAnalysis;
use analysis::{Analysis, SearchAnalysis};
use model::limit::{Criterion, Judgement, LimitProbe, ProbeFault, ProbeKind};
use model::{Nanos, Percentile, PointState, QuotedTime};

/// The most searches with sentences of their own.
const DESCRIBED_MAX: usize = 6;
/// A hold of so many seconds is given in minutes.
const MINUTES_FROM_S: f64 = 120.0;

/// What the searches of `analysis` have found.
pub fn sentences(analysis: &Analysis) -> Vec<String> {
    let all = search_claims(analysis);
    let shown = if all.len() > DESCRIBED_MAX { DESCRIBED_MAX - 1 } else { all.len() };
    let mut sentences: Vec<String> = all[..shown].iter().flatten().map(|claim| claim.sentence.clone()).collect();
    if shown < all.len() {
        sentences.push(format!("See the table for the limits of {} more searches.", all.len() - shown));
    }
    sentences
}

/// The time that tables and charts show of a search: the first that its objective limits of all operations; else the 99th percentile.
pub fn shown_time(search: &SearchAnalysis) -> QuotedTime {
    let criteria = search.spec.objective.criteria().iter().filter(|one| one.kind().is_none());
    let mut timed = criteria.filter_map(|one| match one {
        Criterion::Percentile { percentile, .. } => Some(QuotedTime::At(*percentile)),
        Criterion::Longest { .. } => Some(QuotedTime::Longest),
        _ => None,
    });
    timed.next().unwrap_or(QuotedTime::At(Percentile::P99))
}

/// `5 minutes`, `20 seconds`
fn held_words(held: Nanos) -> String {
    match held.as_secs_f64() {
        seconds if seconds >= MINUTES_FROM_S => format!("{} minutes", number_of(seconds / 60.0)),
        seconds => format!("{} seconds", number_of(seconds)),
    }
}

fn number_of(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// A rate with all its digits if it has some: `1,560`, `8.50`.
pub fn rate_words(per_s: f64) -> String {
    if per_s < 99.95 { number(per_s).to_string() } else { whole(per_s).to_string() }
}

/// What probe number `nth` of `search` showed, in the table of probes.
pub fn probe_words(search: &SearchAnalysis, nth: usize) -> String {
    let probe = &search.probes[nth];
    let Some(seen) = &probe.seen else { return unfinished(probe).to_owned() };
    if let Some(fault) = &seen.fault {
        return fault_words(fault);
    }
    match (seen.kind, seen.judgement) {
        (ProbeKind::Closed, _) | (_, None) => format!("{}/s at most", rate_words(seen.done_per_s)),
        (_, Some(judgement)) => judgement_words(search, nth, seen, judgement),
    }
}

fn unfinished(probe: &ProbeAnalysis) -> &'static str {
    match probe.point.state {
        PointState::Failed => "failed",
        PointState::Complete | PointState::Partial => "interrupted",
    }
}

fn fault_words(fault: &ProbeFault) -> String {
    match fault {
        ProbeFault::OwnGaps { length } => format!("not usable: plimsoll did not run for {length}"),
        ProbeFault::Stolen { length } => format!("not usable: the hypervisor took {length} of CPU"),
        ProbeFault::Foreign { length } => format!("not usable: other programs used {length} of CPU"),
        ProbeFault::Lag { mean } => format!("not usable: clients woke up {mean} late"),
    }
}

fn judgement_words(search: &SearchAnalysis, nth: usize, seen: &LimitProbe, judgement: Judgement) -> String {
    let outcome = match judgement.missed() {
        Some(criterion) if seen.ended_early => {
            format!("missed: {}{}, the backlog grew", criterion.name(), of_kind(&criterion))
        }
        Some(criterion) => format!("missed: {}{}", criterion.name(), of_kind(&criterion)),
        None => "kept".to_owned(),
    };
    let is_open = matches!(judgement, Judgement::Undecided { .. });
    // Another measurement decides a probe, but not a hold.
    let is_just = is_open && seen.kind == ProbeKind::Hold;
    let outcome = match (is_open, search.is_repeated(nth)) {
        (true, true) => return "undecided, measured again".to_owned(),
        (false, true) => return format!("{outcome}, measured again"),
        (true, false) if !is_just => format!("undecided, counts as {outcome}"),
        (_, false) => outcome,
    };
    let just = if is_just { ", but only just" } else { "" };
    match (seen.kind, seen.debt_growth_per_s) {
        (ProbeKind::Hold, Some(growth)) => format!("{outcome}{just}; write debt grew by {}/s", bytes(growth)),
        (ProbeKind::Hold, None) if judgement.keeps() => format!("{outcome} for {}{just}", held_words(seen.length)),
        _ => outcome + just,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::limits;

    fn found() -> SearchAnalysis {
        limits().searches.remove(0)
    }

    #[test]
    fn each_probe_has_its_outcome_in_words() {
        let search = found();
        let words: Vec<String> = (0..search.probes.len()).map(|nth| probe_words(&search, nth)).collect();
        assert!(words[0].ends_with("/s at most"), "{words:?}");
        assert!(words.iter().any(|word| word == "kept") && words.iter().any(|word| word.starts_with("missed: p99")));
        assert_eq!(words.last().map(String::as_str), Some("kept for 20 seconds"), "{words:?}");
        let mut search = found();
        search.probes[1].seen.as_mut().unwrap().fault = Some(ProbeFault::OwnGaps { length: Nanos::from_millis(800) });
        assert_eq!(probe_words(&search, 1), "not usable: plimsoll did not run for 800 ms");
        search.probes[1].seen = None;
        assert_eq!(probe_words(&search, 1), "interrupted");
        let (held, criterion) = (search.probes.len() - 1, search.spec.objective.criteria()[0]);
        let just = Judgement::Undecided { on: criterion, value_keeps: true };
        search.probes[held].seen.as_mut().unwrap().judgement = Some(just);
        assert_eq!(probe_words(&search, held), "kept for 20 seconds, but only just");
    }
}
