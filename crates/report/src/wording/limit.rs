//! Searches for the largest rate in words: the answer, and what each probe showed.
//!
//! In: searches as they were analysed. Out: whole sentences, and the cells of the table of probes. Limits: rates are in operations per
//! second, whatever an operation is; what was not found has no number.

use super::label::settings_label;
use super::quantity::{bytes, number, plural, time, whole};
use analysis::answer::objective::{criterion_value, objective_words};
use analysis::evidence::cause::Limit;
use analysis::findings::bottleneck::limited_clause;
use analysis::findings::stall::Stalls;
use analysis::points::limit::ProbeAnalysis;
use analysis::points::search_repeats::{SearchRepeats, search_repeats};
use analysis::{Analysis, Quantiles, SearchAnalysis};
use model::limit::{
    Criterion, FailureAbove, HoldCause, HoldDebt, Judgement, LimitOutcome, LimitProbe, LowerBoundCause, Percentile,
    ProbeFault, ProbeKind,
};
use model::{Nanos, PointState};

/// The most searches with sentences of their own.
const DESCRIBED_MAX: usize = 6;
/// No longer hold is advised.
const HOLD_ADVISED_MAX: Nanos = Nanos::from_secs(3_600);
/// A hold of so many seconds is given in minutes.
const MINUTES_FROM_S: f64 = 120.0;

/// What the searches of `analysis` have found.
pub fn sentences(analysis: &Analysis) -> Vec<String> {
    let (begun, not_begun): (Vec<_>, Vec<_>) = analysis.searches.iter().partition(|search| !search.probes.is_empty());
    let all = search_repeats(if begun.is_empty() { &not_begun } else { &begun }.iter().copied());
    let shown = if all.len() > DESCRIBED_MAX { DESCRIBED_MAX - 1 } else { all.len() };
    let mut sentences: Vec<String> = all[..shown].iter().flat_map(repeats_sentences).collect();
    if shown < all.len() {
        sentences.push(format!("See the table for the limits of {} more searches.", all.len() - shown));
    }
    if !begun.is_empty() && !not_begun.is_empty() {
        let number = if not_begun.len() == 1 { "1 search".to_owned() } else { format!("{} searches", not_begun.len()) };
        sentences.push(format!("The run ended before {number} of the plan began."));
    }
    // Of several searches each would have advice of its own.
    if let [search] = analysis.searches.as_slice() {
        sentences.extend(next_step_after(search).map(|step| format!("Next: {step}.")));
    }
    sentences
}

/// What the repeats of one search have found, and how many of them an interruption has prevented.
fn repeats_sentences(repeats: &SearchRepeats) -> Vec<String> {
    let all = repeats.searches.len();
    let completed = repeats.completed();
    let missing = all - completed.searches.len();
    let name = settings_label(&repeats.label);
    match missing {
        0 => completed_sentences(repeats),
        _ if all == 1 => search_sentences(repeats.searches[0]),
        _ if missing == all => vec![format!("None of the {all} searches for the limit of {name} was completed.")],
        _ => {
            let mut sentences = completed_sentences(&completed);
            sentences.push(format!(
                "{missing} of the {all} searches for the limit of {name} {} not completed.",
                if missing == 1 { "was" } else { "were" }
            ));
            sentences
        }
    }
}

fn completed_sentences(repeats: &SearchRepeats) -> Vec<String> {
    match (repeats.searches.as_slice(), repeats.mean_per_s()) {
        ([search], _) => search_sentences(search),
        (_, Some(mean)) => [Some(agreement(repeats, mean)), changed_target(repeats)].into_iter().flatten().collect(),
        (searches, None) => {
            let name = settings_label(&repeats.label);
            let objective = objective_words(searches[0], false);
            vec![format!("{} searches found no rate that {name} carries with {objective}.", searches.len())]
        }
    }
}

/// `sqlite oltp carries 770 operations per second with p99 under 20 ms: the mean of 3 searches (762 to 778), which agree within their
/// intervals.`
fn agreement(repeats: &SearchRepeats, mean_per_s: f64) -> String {
    let found = repeats.found_per_s();
    let [low, high] =
        [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| found.iter().copied().fold(mean_per_s, end));
    let is_bound = |search: &&SearchAnalysis| search.result.outcome != LimitOutcome::BoundaryFound;
    let least = if repeats.searches.iter().any(is_bound) { "at least " } else { "" };
    let agree = match repeats.agree() {
        Some(true) => ", which agree within their intervals",
        Some(false) => ", which do not agree: their intervals have no rate in common",
        None => "",
    };
    let all = repeats.searches.len();
    let number = if found.len() == all {
        format!("{all} searches")
    } else {
        format!("the {} of {all} searches that found a limit", found.len())
    };
    let spread =
        if found.len() > 1 { format!(" ({} to {})", rate_words(low), rate_words(high)) } else { String::new() };
    format!(
        "{} carries {least}{} operations per second with {}: the mean of {number}{spread}{agree}.",
        settings_label(&repeats.label),
        rate_words(mean_per_s),
        objective_words(repeats.searches[0], false)
    )
}

/// Closed loops whose rates differ by more than this factor show that the target, or its machine, was not the same each time.
const SAME_TARGET: f64 = 1.1;

/// `The target was not the same each time: its closed loops reached 820,000 to 1,388,000 operations per second.`; `None` if the searches
/// agree, or their closed loops do.
fn changed_target(repeats: &SearchRepeats) -> Option<String> {
    let [low, high] = repeats.closed_range().filter(|[low, high]| *high > SAME_TARGET * low)?;
    let differ = repeats.agree() == Some(false);
    let rates = format!("{} to {} operations per second", rate_words(low), rate_words(high));
    differ.then(|| format!("The target was not the same each time: its closed loops reached {rates}."))
}

/// `MariaDB carries 1,560 operations per second (1,510 to 1,600) with p99 under 10 ms, and held that for 5 minutes. Above it p99 fails
/// first.`
fn search_sentences(search: &SearchAnalysis) -> Vec<String> {
    let name = settings_label(search.settings());
    let objective = objective_words(search, false);
    let Some(per_s) = search.result.per_s else {
        return vec![no_limit(search, &name, &objective)];
    };
    let held = held_words(search.result.held.unwrap_or_default());
    let (least, interval) = match search.result.outcome {
        LimitOutcome::BoundaryFound => ("", interval(search)),
        _ => ("at least ", String::new()),
    };
    let rate = rate_words(per_s);
    let mut all = vec![format!(
        "{name} carries {least}{rate} operations per second{interval} with {objective}, and held that for {held}."
    )];
    all.extend(above(search));
    all.extend(bottleneck_words(search));
    all.extend(filling(search));
    all.extend(short_hold(search));
    all.extend(void_probes(search));
    all
}

/// ` (1,510 to 1,600)`
fn interval(search: &SearchAnalysis) -> String {
    match search.result.between {
        Some((low, Some(high))) => format!(" ({} to {})", rate_words(low), rate_words(high)),
        Some((low, None)) => format!(" ({} or more)", rate_words(low)),
        None => String::new(),
    }
}

/// What happens above the limit, or why that is not known.
fn above(search: &SearchAnalysis) -> Option<String> {
    let result = &search.result;
    match (result.outcome, result.failure) {
        (LimitOutcome::BoundaryFound, Some(FailureAbove::Objective(criterion))) => {
            Some(format!("Above it {} fails first{}.", criterion.name(), seen_above(search, criterion)))
        }
        (LimitOutcome::BoundaryFound, Some(FailureAbove::WriteDebt { growth_per_s })) => {
            Some(format!("Above it the write debt grows ({}/s at the rate above).", bytes(growth_per_s)))
        }
        (LimitOutcome::LowerBound(LowerBoundCause::RateMax), _) => {
            Some("That is the highest rate that was allowed (`--rate-max`): it may carry more.".to_owned())
        }
        (LimitOutcome::LowerBound(LowerBoundCause::Generator), _) => {
            Some("It may carry more: the clients could not offer a higher rate in time.".to_owned())
        }
        (LimitOutcome::BoundedByInvalidProbes, _) => Some(
            "It may carry more: probes of higher rates were not usable, because the machine or plimsoll itself did not run in time.".to_owned(),
        ),
        (LimitOutcome::SearchLimitReached, _) => {
            Some("It may carry more: the search ended after as many probes as it may take.".to_owned())
        }
        _ => None,
    }
}

/// `: at 1,680/s it is 31.0 ms`, of the lowest rate that missed it.
fn seen_above(search: &SearchAnalysis, criterion: Criterion) -> String {
    let seen =
        search.lowest_missed().and_then(|probe| Some((probe.offered_per_s()?, criterion_value(probe, criterion)?)));
    seen.map_or(String::new(), |(per_s, value)| format!(": at {}/s it is {value}", rate_words(per_s)))
}

/// `At 1,680/s it was limited by the CPU, which was 97 % busy, and it stalled for up to 2.10 s.`
fn bottleneck_words(search: &SearchAnalysis) -> Option<String> {
    let above = search.bottleneck()?;
    let place = match above.rate_per_s {
        Some(per_s) => format!("At {}/s", rate_words(per_s)),
        None => "At full speed".to_owned(),
    };
    let limited = limited_clause(&above.causes).map(|clause| format!("it was {clause}"));
    let parts: Vec<String> = limited.into_iter().chain(above.stalls.as_ref().map(stall_words)).collect();
    (!parts.is_empty()).then(|| format!("{place} {}.", parts.join(", and ")))
}

/// `it stalled for up to 2.10 s, every 25.0 s`
fn stall_words(stalls: &Stalls) -> String {
    let every = |period: Option<Nanos>| period.map_or(String::new(), |gap| format!(" every {}", time(gap.0 as f64)));
    match stalls {
        Stalls::Rates(long) => {
            format!(
                "it stalled for up to {}{}",
                time(long.longest_ns.0 as f64),
                every(long.period.as_ref().map(|period| period.gap_ns))
            )
        }
        Stalls::Operations(short) => format!("single operations were stuck{}", every(short.period_ns)),
    }
}

/// What to try next; `None` if nothing is known that would help.
fn next_step_after(search: &SearchAnalysis) -> Option<String> {
    let result = &search.result;
    match result.outcome {
        LimitOutcome::Interrupted => return Some("go on with the search: `plimsoll run --resume last`".to_owned()),
        LimitOutcome::LowerBound(LowerBoundCause::RateMax) => {
            return Some("search further up with a higher `--rate-max`".to_owned());
        }
        LimitOutcome::LowerBound(LowerBoundCause::Generator) => {
            return Some("run the clients on a machine with more free CPUs".to_owned());
        }
        LimitOutcome::BoundedByInvalidProbes => {
            return Some("search again on a machine that does nothing else, or with a longer `--hold`".to_owned());
        }
        LimitOutcome::SearchLimitReached => return Some("search again with longer probes (`--time`)".to_owned()),
        LimitOutcome::NoRateHolds => {
            return Some("allow a longer time (`--slo`), or search with other `--clients`".to_owned());
        }
        LimitOutcome::BoundaryFound => {}
    }
    if let Some(flag) = result.needed_hold.and_then(|needed| hold_flag(needed.length)) {
        return Some(format!("confirm the rate with {flag}"));
    }
    let cause = search.bottleneck()?;
    let step = match cause.limits.first() {
        Some(Limit::Disk) => "compare with the best rates of the disk (`plimsoll disk`)",
        Some(Limit::Cpu | Limit::OneCore) => "profile the engine at that rate, or search on more or faster CPUs",
        Some(Limit::OtherProcesses) => "stop the other processes (`top` shows them) and search again",
        Some(Limit::Hypervisor) => "search on a quieter host",
        Some(Limit::Client | Limit::OneAtATime | Limit::FewInFlight) => {
            "search with more `--clients`, or run them on another machine"
        }
        _ => "see in the report what the engine did during the stalls",
    };
    Some(format!("{step}; see point {} of the run", cause.point))
}

fn filling(search: &SearchAnalysis) -> Option<String> {
    match search.result.debt {
        HoldDebt::Steady => None,
        HoldDebt::Filling { growth_per_s } => Some(format!(
            "The write debt still grew when the hold ended ({}/s), as it did at a lower rate: something fills up that was empty. Hold \
             longer (`--hold`) to see it full.",
            bytes(growth_per_s)
        )),
    }
}

/// What the hold was too short for.
fn short_hold(search: &SearchAnalysis) -> Option<String> {
    let needed = search.result.needed_hold?;
    let held = held_words(search.result.held?);
    let why = match needed.cause {
        HoldCause::Operations { needed } => {
            format!("its percentile needs {} operations", whole(needed as f64))
        }
        HoldCause::Rhythm { period } => {
            format!("slow stretches come every {} here, and it needs three", held_words(period))
        }
    };
    let advice = match hold_flag(needed.length) {
        Some(flag) => format!("Use {flag} or more."),
        None => "At this rate that takes more than an hour.".to_owned(),
    };
    Some(format!("A hold of {held} is short: {why}. {advice}"))
}

/// `--hold` of that length; `None` if it is too long to be advised.
fn hold_flag(length: Nanos) -> Option<String> {
    (length <= HOLD_ADVISED_MAX).then(|| format!("`--hold {}s`", length.0.div_ceil(1_000_000_000)))
}

/// How many probes missed the objective because of stops, and do not count.
fn void_probes(search: &SearchAnalysis) -> Option<String> {
    let is_stop = |fault| matches!(fault, ProbeFault::Stolen { .. } | ProbeFault::OwnGaps { .. });
    let faults = search.result.probes.iter().filter_map(|probe| probe.fault);
    let void = faults.filter(|fault| is_stop(*fault)).count() as u64;
    (void > 0).then(|| {
        let (missed, they) = if void == 1 { ("1 probe or hold", "It does") } else { ("probes and holds", "They do") };
        let missed = if void == 1 { missed.to_owned() } else { format!("{void} {missed}") };
        format!("{missed} missed it while the machine or plimsoll itself was stopped. {they} not count and the rate was measured again.")
    })
}

/// The sentence of a search that has no limit.
fn no_limit(search: &SearchAnalysis, name: &str, objective: &str) -> String {
    let tried = known(search);
    match search.result.outcome {
        LimitOutcome::NoRateHolds => {
            format!("{name} carries no rate with {objective}{tried}.")
        }
        LimitOutcome::BoundedByInvalidProbes => format!(
            "How much {name} carries with {objective} is not known: probes were not usable, because the machine or plimsoll itself did not run in time{tried}."
        ),
        LimitOutcome::SearchLimitReached => format!(
            "How much {name} carries with {objective} is not known: the search ended after {}{tried}.",
            plural(search.probes.len() as u64, "probe")
        ),
        _ if search.probes.is_empty() => format!("How much {name} carries with {objective} was not measured."),
        _ => format!(
            "The search for how much {name} carries with {objective} was not finished; no rate was held{tried}."
        ),
    }
}

/// `: 960/s kept it, the hold at 900/s missed it (p99 31.0 ms)`: what probes and holds have shown. A hold is longer than a probe, so it may
/// miss what a probe at a higher rate kept.
fn known(search: &SearchAnalysis) -> String {
    let kept = search.highest_kept().and_then(ProbeAnalysis::offered_per_s);
    let missed = search.lowest_missed().and_then(|probe| {
        let per_s = rate_words(probe.offered_per_s()?);
        let rate =
            if probe.part.kind == ProbeKind::Hold { format!("the hold at {per_s}/s") } else { format!("{per_s}/s") };
        let seen = probe.seen.as_ref().and_then(|seen| seen.judgement?.missed());
        let value =
            seen.and_then(|criterion| Some(format!(" ({} {})", criterion.name(), criterion_value(probe, criterion)?)));
        Some(format!("{rate} missed it{}", value.unwrap_or_default()))
    });
    let parts = [kept.map(|per_s| format!("{}/s kept it", rate_words(per_s))), missed];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// The time that tables and charts show of a search: the first that its objective limits, with its name; else the 99th percentile.
pub fn shown_time(search: &SearchAnalysis) -> (&'static str, fn(Quantiles) -> Option<u64>) {
    let criteria = search.spec.objective.criteria().iter();
    let timed = criteria.filter(|one| matches!(one, Criterion::Percentile { .. } | Criterion::Longest { .. }));
    match timed.copied().next() {
        Some(Criterion::Percentile { percentile: Percentile::P50, .. }) => ("p50", |times| Some(times.p50)),
        Some(Criterion::Percentile { percentile: Percentile::P95, .. }) => ("p95", |times| Some(times.p95)),
        Some(Criterion::Percentile { percentile: Percentile::P999, .. }) => ("p99.9", |times| times.p999),
        Some(Criterion::Longest { .. }) => ("max", |times| Some(times.max)),
        _ => ("p99", |times| Some(times.p99)),
    }
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
        ProbeFault::Lag { mean } => format!("not usable: clients woke up {mean} late"),
    }
}

fn judgement_words(search: &SearchAnalysis, nth: usize, seen: &LimitProbe, judgement: Judgement) -> String {
    let outcome = match judgement.missed() {
        Some(criterion) if seen.ended_early => format!("missed: {}, the backlog grew", criterion.name()),
        Some(criterion) => format!("missed: {}", criterion.name()),
        None => "kept".to_owned(),
    };
    let is_open = matches!(judgement, Judgement::Undecided { .. });
    let outcome = match (is_open, search.is_repeated(nth)) {
        (true, true) => return "undecided, measured again".to_owned(),
        (false, true) => return format!("{outcome}, measured again"),
        (true, false) => format!("undecided, counts as {outcome}"),
        (false, false) => outcome,
    };
    match (seen.kind, seen.debt_growth_per_s) {
        (ProbeKind::Hold, Some(growth)) => format!("{outcome}; write debt grew by {}/s", bytes(growth)),
        (ProbeKind::Hold, None) if judgement.keeps() => format!("{outcome} for {}", held_words(seen.length)),
        _ => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::limits;
    use analysis::SettingValue;
    use analysis::findings::stall::{EventPeriod, LongStalls};
    use analysis::math::units::Share;
    use model::limit::NeededHold;

    fn found() -> SearchAnalysis {
        limits().searches.remove(0)
    }

    #[test]
    fn a_limit_is_a_rate_with_its_interval_its_objective_its_hold_and_what_fails_above() {
        let mut search = found();
        search.result.per_s = Some(1_560.0);
        search.result.between = Some((1_510.0, Some(1_600.4)));
        (search.result.held, search.result.needed_hold) = (Some(Nanos::from_secs(300)), None);
        let told = search_sentences(&search);
        let first = "sqlite oltp carries 1,560 operations per second (1,510 to 1,600) with p99 under 20 ms and errors under 0.1 %, and \
                     held that for 5 minutes.";
        assert_eq!(told[0], first);
        assert!(told[1].starts_with("Above it p99 fails first") && told.len() == 2, "{told:?}");
        search.result.failure = Some(FailureAbove::WriteDebt { growth_per_s: 1.5e6 });
        assert_eq!(search_sentences(&search)[1], "Above it the write debt grows (1.50 MB/s at the rate above).");
    }

    #[test]
    fn what_was_not_found_has_no_number() {
        let mut search = found();
        let told = |search: &SearchAnalysis| search_sentences(search).join(" ");
        search.result.outcome = LimitOutcome::LowerBound(LowerBoundCause::RateMax);
        assert!(
            told(&search).contains("carries at least ") && told(&search).contains("--rate-max"),
            "{}",
            told(&search)
        );
        search.result.per_s = None;
        search.result.outcome = LimitOutcome::Interrupted;
        let interrupted = told(&search);
        assert!(interrupted.contains("was not finished; no rate was held: "), "{interrupted}");
        assert!(interrupted.contains("/s kept it, ") && interrupted.contains("/s missed it (p99 "), "{interrupted}");
        let held_below = |probe: &mut ProbeAnalysis| probe.part.kind = ProbeKind::Hold;
        search.probes.iter_mut().for_each(held_below);
        assert!(told(&search).contains("/s kept it, the hold at "), "{}", told(&search));
        search.result.outcome = LimitOutcome::NoRateHolds;
        assert!(told(&search).starts_with("sqlite oltp carries no rate with p99 under 20 ms"), "{}", told(&search));
        search.probes.clear();
        search.result.outcome = LimitOutcome::Interrupted;
        assert!(told(&search).ends_with("was not measured."), "{}", told(&search));
    }

    #[test]
    fn stalls_above_the_limit_have_their_length_and_their_rhythm() {
        let period = EventPeriod { gap_ns: Nanos::from_secs(25), spread_ns: Nanos(0) };
        let (longest_ns, interval_ns) = (Nanos::from_millis(2_100), Nanos::from_secs(1));
        let stalls = Stalls::Rates(LongStalls {
            count: 3,
            total_ns: Nanos::from_secs(6),
            longest_ns,
            longest_at_ns: Nanos(0),
            period: Some(period),
            usual_per_s: 1_000.0,
            deepest_share: Share(0.0),
            interval_ns,
        });
        assert_eq!(stall_words(&stalls), "it stalled for up to 2.10 s every 25.0 s");
    }

    #[test]
    fn searches_that_were_not_made_have_found_nothing_and_are_counted() {
        let told = |completed: usize| {
            let mut all = [found(), found(), found()];
            for search in &mut all[completed..] {
                (search.result.per_s, search.result.between) = (None, None);
                search.result.outcome = LimitOutcome::Interrupted;
            }
            search_repeats(&all).iter().flat_map(repeats_sentences).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(0), "None of the 3 searches for the limit of sqlite oltp was completed.");
        let one = told(1);
        assert!(one.starts_with("sqlite oltp carries ") && !one.contains("the mean of"), "{one}");
        assert!(one.ends_with(" 2 of the 3 searches for the limit of sqlite oltp were not completed."), "{one}");
        let two = told(2);
        assert!(two.contains("the mean of 2 searches"), "{two}");
        assert!(two.ends_with(" 1 of the 3 searches for the limit of sqlite oltp was not completed."), "{two}");
        assert!(told(3).contains("the mean of 3 searches") && !told(3).contains("completed"), "{}", told(3));
    }

    #[test]
    fn repeats_of_a_search_are_one_sentence_with_their_agreement() {
        let repeats = |limits: [(f64, f64, f64); 3]| {
            let mut all = limits.map(|_| found());
            for (nth, (search, (low, per_s, high))) in (1..).zip(all.iter_mut().zip(limits)) {
                let repeat = SettingValue::Count(nth);
                search.label.place.push(analysis::Setting::of_run("repeat", analysis::Role::Repeat, repeat));
                (search.result.per_s, search.result.between) = (Some(per_s), Some((low, Some(high))));
            }
            let told: Vec<String> = search_repeats(&all).iter().flat_map(repeats_sentences).collect();
            told.join(" ")
        };
        let agree = repeats([(760.0, 770.0, 780.0), (765.0, 775.0, 785.0), (750.0, 760.0, 770.0)]);
        let words = "sqlite oltp carries 768 operations per second with p99 under 20 ms and errors under 0.1 %: the mean of 3 searches \
                     (760 to 775), which agree within their intervals.";
        assert_eq!(agree, words);
        let differ = repeats([(760.0, 770.0, 780.0), (765.0, 775.0, 785.0), (700.0, 710.0, 720.0)]);
        assert!(differ.ends_with("which do not agree: their intervals have no rate in common."), "{differ}");
    }

    #[test]
    fn searches_that_differ_because_their_target_did_name_it() {
        let words = |limit: f64, factor: f64| {
            let mut all = [found(), found()];
            for (nth, search) in (1..).zip(&mut all) {
                let repeat = analysis::Setting::of_run("repeat", analysis::Role::Repeat, SettingValue::Count(nth));
                search.label.place.push(repeat);
            }
            (all[1].result.per_s, all[1].result.between) = (Some(limit), Some((limit, Some(1.01 * limit))));
            let closed =
                all[1].probes.iter_mut().find(|probe| probe.part.kind == ProbeKind::Closed).expect("it began with one");
            closed.point.summary.as_mut().expect("it was measured").ops_per_s *= factor;
            search_repeats(&all).iter().flat_map(repeats_sentences).collect::<Vec<_>>().join(" ")
        };
        let ending = "The target was not the same each time: its closed loops reached ";
        assert!(words(100.0, 0.5).contains(ending), "{}", words(100.0, 0.5));
        assert!(!words(100.0, 1.05).contains(ending), "closed loops that agree");
        assert!(!words(found().result.per_s.unwrap(), 0.5).contains(ending), "searches that agree");
    }

    #[test]
    fn the_next_step_follows_from_how_the_search_ended() {
        let mut search = found();
        let next = |search: &SearchAnalysis| next_step_after(search).unwrap_or_default();
        search.result.outcome = LimitOutcome::LowerBound(LowerBoundCause::RateMax);
        assert!(next(&search).contains("--rate-max"), "{}", next(&search));
        search.result.outcome = LimitOutcome::BoundaryFound;
        let cause = HoldCause::Rhythm { period: Nanos::from_secs(20) };
        search.result.needed_hold = Some(NeededHold { length: Nanos::from_secs(60), cause });
        assert_eq!(next(&search), "confirm the rate with `--hold 60s`");
    }

    #[test]
    fn a_hold_that_is_too_short_and_probes_that_do_not_count_are_named() {
        let mut search = found();
        search.result.held = Some(Nanos::from_secs(20));
        let cause = HoldCause::Operations { needed: 100_000 };
        search.result.needed_hold = Some(NeededHold { length: Nanos::from_millis(190_100), cause });
        let told = search_sentences(&search).join(" ");
        let short =
            "A hold of 20 seconds is short: its percentile needs 100,000 operations. Use `--hold 191s` or more.";
        assert!(told.contains(short), "{told}");
        search.result.needed_hold = Some(NeededHold { length: Nanos::from_secs(18_605), cause });
        assert!(search_sentences(&search).concat().contains("At this rate that takes more than an hour."));
        search.result.probes[1].fault = Some(ProbeFault::Stolen { length: Nanos::from_millis(414) });
        let told = search_sentences(&search).join(" ");
        let void = "1 probe or hold missed it while the machine or plimsoll itself was stopped. It does not count and the rate was measured \
                    again.";
        assert!(told.ends_with(void), "{told}");
        search.result.probes[2].fault = search.result.probes[1].fault;
        assert!(search_sentences(&search).concat().contains("2 probes and holds missed it while"));
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
    }
}
