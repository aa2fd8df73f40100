//! The largest rate that keeps an objective: what is carried, what fails above it, and why.
//!
//! In: a run with searches. Out: a row for each search, repeats together; of one search what it carries, of several how they compare. What
//! a search concludes is decided in [`model::limit`], and nothing is judged again.
//! Limits: limits are compared only if the intervals of all searches are apart, and never of engines that promise different things of a
//! commit. Engines with and without a server may be compared here: both carry what clients offer.

mod recorded;

use super::super::objective::{criterion_value, objective_words, of_kind};
use super::super::speech::{amount, code_in_words, name_words, number_word, short_enough, spoken};
use super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind};
use crate::answer::{AnswerParts, AskedRun};
use crate::findings::bottleneck::limited_clause;
use crate::findings::stall::Stalls;
use crate::points::durability::{durability, is_asked_for};
use crate::points::limit::ProbeAnalysis;
use crate::points::search_repeats::{SearchRepeats, search_repeats};
use crate::points::work::WorkUnit;
use crate::recorded::dimensions::ENGINE;
use crate::{Analysis, Code, Role, SearchAnalysis, Setting};
use model::limit::{
    Criterion, FailureAbove, HoldCause, HoldDebt, LimitOutcome, LowerBoundCause, ProbeFault, ProbeKind,
};
use model::{Nanos, Percentile};
use recorded::{replayed, spoken_rate, times_carried};
use std::collections::BTreeSet;
use words::list::{capital, join_and};
use words::quantity::{bytes, count, percent, time, whole};

/// No longer hold is advised.
const HOLD_ADVISED_MAX: Nanos = Nanos::from_secs(3_600);

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let searches = &run.analysis.searches;
    let all = search_repeats(searches);
    let first = searches.first()?;
    let claims = match all.as_slice() {
        [one] => claims_of(run, one),
        several => claims_of_several(run, several),
    };
    let next = if let [only] = searches.as_slice() { next_step(run, only) } else { None };
    let question = format!("How much does it carry with {}?", objective_words(first, true));
    Some(AnswerParts { question, table: table(run, &all), claims, next })
}

/// What is claimed of each search of `analysis`, its repeats together.
pub fn search_claims(analysis: &Analysis) -> Vec<Vec<Claim>> {
    let run = AskedRun { analysis, rows: analysis };
    search_repeats(&analysis.searches).iter().map(|one| claims_of(&run, one)).collect()
}

/// What the operations of a search are counted in.
fn unit_of(search: &SearchAnalysis) -> WorkUnit {
    // The objective is of all operations, so a rate of new orders or rows would be another one.
    let counted = search.probes.iter().find_map(|probe| WorkUnit::of(&probe.point));
    counted.filter(|unit| unit.figure() == "ops_per_s").unwrap_or(WorkUnit::Operations)
}

fn table(run: &AskedRun, all: &[SearchRepeats]) -> Option<AnswerTable> {
    let unit = WorkUnit::common(all.iter().map(|one| unit_of(one.searches[0])));
    let row = |one: &SearchRepeats| {
        let search = one.searches[0];
        let is_alone = one.searches.len() == 1;
        let held = search.held().filter(|_| is_alone);
        let point = held.map(|held| held.point.id);
        let rate = one.mean_per_s().map(|per_s| {
            let named = if unit.is_some() { String::new() } else { format!(" {}", unit_of(search).head()) };
            AnswerCell::of(point, "offered_per_s", per_s, format!("{}{}{named}", least(one), amount(per_s)))
        });
        let range = one.range().map(|(low, high)| {
            let text =
                high.map_or(format!("{} or more", amount(low)), |high| format!("{} to {}", amount(low), amount(high)));
            AnswerCell::of(None, "limit_ci95_low_per_s", low, text)
        });
        let p99 = held.and_then(|held| {
            let p99 = held.point.summary.as_ref()?.response_ns?.p99 as f64;
            Some(AnswerCell::of(point, "response_p99_ns", p99, time(p99).to_string()))
        });
        let above = held.and_then(|_| cell_above(search));
        AnswerRow { name: vec![name_of(run, one)], cells: vec![rate, range, p99, above] }
    };
    let heads = [unit.map_or("per second".to_owned(), WorkUnit::head), "95 %".into(), "p99".into(), "above it".into()];
    let rows: Vec<AnswerRow> = all.iter().map(row).collect();
    let is_shown = rows.iter().flat_map(|row| &row.cells).any(Option::is_some);
    is_shown.then(|| AnswerTable {
        head: format!("with {}", objective_words(all[0].searches[0], true)),
        columns: heads.into_iter().map(AnswerColumn::new).collect(),
        rows_of: rows.len(),
        rows,
        conditions: String::new(),
    })
}

/// `p99 26.4 ms at 774`, `backlog grew at 774`: what missed the objective above the rate that was held.
fn cell_above(search: &SearchAnalysis) -> Option<AnswerCell> {
    let missed = search.lowest_missed()?;
    let (per_s, FailureAbove::Objective(criterion)) = (missed.offered_per_s()?, search.result.failure?) else {
        return None;
    };
    let what = format!("{}{}", criterion.name(), of_kind(&criterion));
    let seen = match criterion_value(missed, criterion) {
        Some(value) => format!("{what} {value}"),
        None if misses_by_backlog(&criterion) => "backlog grew".to_owned(),
        None => what,
    };
    let text = format!("{seen} at {}", count(per_s));
    Some(AnswerCell::of(Some(missed.point.id), "offered_per_s", per_s, text))
}

/// Whether `criterion` was missed by what never began, if the times of what ended kept it: it is about response times.
fn misses_by_backlog(criterion: &Criterion) -> bool {
    matches!(criterion, Criterion::Percentile { .. } | Criterion::Longest { .. })
}

/// `PostgreSQL with eight clients`
fn name_of(run: &AskedRun, one: &SearchRepeats) -> String {
    let (engine, others): (Vec<&Setting>, Vec<&Setting>) = run
        .said(&one.label)
        .into_iter()
        .filter(|setting| setting.used)
        .partition(|setting| setting.role == Role::Engine);
    let search = one.searches[0];
    let held = search.held().and_then(|held| held.point.settings.get(ENGINE));
    let engine = engine.first().copied().or(held).map_or_else(|| name_words(&search.engine), spoken);
    // Of a search that is alone nothing distinguishes it.
    let is_alone = search_repeats(&run.analysis.searches).len() == 1;
    if others.is_empty() || is_alone {
        return engine;
    }
    format!("{engine} with {}", join_and(&others.into_iter().map(spoken).collect::<Vec<_>>()))
}

/// `at least `, if a limit may be higher.
fn least(one: &SearchRepeats) -> &'static str {
    let may_be_higher = |search: &&SearchAnalysis| search.result.outcome != LimitOutcome::BoundaryFound;
    if one.searches.iter().any(may_be_higher) { "at least " } else { "" }
}

/// What is claimed of one search, or of its repeats.
fn claims_of(run: &AskedRun, one: &SearchRepeats) -> Vec<Claim> {
    let completed = one.completed();
    let mut claims = match (completed.searches.as_slice(), completed.mean_per_s()) {
        ([only], Some(_)) => claims_of_one(only, &name_of(run, one)),
        (_, Some(mean)) => claims_of_repeats(run, &completed, mean),
        (_, None) => vec![nothing_held(one.searches[0], &name_of(run, one))],
    };
    let missing = one.searches.len() - completed.searches.len();
    if missing > 0 && one.searches.len() > 1 {
        let sentence = format!("The run ended before {} of its {} searches were over.", missing, one.searches.len());
        claims.push(Claim::new(ClaimKind::Caution, sentence));
    }
    claims
}

fn claims_of_one(search: &SearchAnalysis, name: &str) -> Vec<Claim> {
    let result = &search.result;
    let carried = search.held().zip(result.carried_per_s()).map(|(held, per_s)| {
        let rate = format!("{} {}", amount(per_s), unit_of(search).spoken());
        let between = match (result.outcome, result.carried_between()) {
            (LimitOutcome::BoundaryFound, Some((low, Some(high)))) => Some((low, high)),
            _ => None,
        };
        let interval = between.map_or(String::new(), |(low, high)| format!(" ({} to {})", amount(low), amount(high)));
        let times = times_carried(search, per_s, between);
        // Of a recorded load the multiple is the answer, and the rate is behind it.
        let in_rate = if times.is_some() { format!(": {rate}") } else { String::new() };
        let carried = times.unwrap_or_else(|| format!("{rate}{interval}"));
        let least = if result.outcome == LimitOutcome::BoundaryFound { "" } else { "at least " };
        let carries = |objective: &str| format!("{name} carries {least}{carried} with {objective}{in_rate}");
        let held_for = format!(", and held that for {}", long_time(result.held.unwrap_or_default()));
        let sentence = short_enough(vec![
            format!("{}{held_for}.", carries(&objective_words(search, false))),
            format!("{}{held_for}.", carries(&objective_words(search, true))),
            format!("{}.", carries(&objective_words(search, true))),
            format!("It carries {least}{carried} with {}.", objective_words(search, true)),
        ]);
        let ci95 = result.between.and_then(|(low, high)| Some([low, high?]));
        let due = result.per_s.unwrap_or(per_s);
        Claim::new(ClaimKind::Rate, capital(&sentence)).figure_at(Some(held.point.id), "offered_per_s", due, ci95)
    });
    carried
        .into_iter()
        .chain(failing(search))
        .chain(unseen_kinds(search))
        .chain(above(search))
        .chain(bottleneck(search))
        .chain(debt(search))
        .chain(replayed(search))
        .chain(short_hold(search))
        .chain(void_probes(search))
        .chain(changed(search))
        .collect()
}

/// If a larger share of the operations failed, the answer says so.
const FAILED_WORTH_SAYING: f64 = 0.001;

/// `To carry that, 2,000 per second are sent, and 40 % of them fail, which the objective allows.`
fn failing(search: &SearchAnalysis) -> Option<Claim> {
    let (failed, due) = (search.result.failed_share, search.result.per_s?);
    let sentence = format!(
        "To carry that, {} per second are sent, and {} of them fail, which the objective allows.",
        amount(due),
        percent(failed)
    );
    (failed > FAILED_WORTH_SAYING).then(|| Claim::new(ClaimKind::Caution, sentence))
}

/// `It carries 770 operations per second with p99 under 20 ms: the mean of three searches (762 to 778).`
fn claims_of_repeats(run: &AskedRun, one: &SearchRepeats, mean: f64) -> Vec<Claim> {
    let (first, found) = (one.searches[0], one.found_per_s());
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| found.iter().copied().fold(mean, end));
    let carries = format!("{} carries {}{} {}", name_of(run, one), least(one), amount(mean), unit_of(first).spoken());
    let of = format!("the mean of {} searches ({} to {})", number_word(found.len() as u32), amount(low), amount(high));
    let sentence = short_enough(vec![
        format!("{carries} with {}: {of}.", objective_words(first, false)),
        format!("{carries} with {}: {of}.", objective_words(first, true)),
        format!("It carries {} {}: {of}.", amount(mean), unit_of(first).spoken()),
    ]);
    let mut claims = vec![Claim::new(ClaimKind::Rate, capital(&sentence)).figure("offered_per_s", mean, None)];
    if one.agree() == Some(false) {
        let why = one.closed_range().filter(|[slow, fast]| *fast > 1.1 * slow).map_or(String::new(), |[slow, fast]| {
            format!(": at full speed it did {} to {} per second", amount(slow), amount(fast))
        });
        let sentence = format!("The searches do not agree, so the target was not the same each time{why}.");
        claims.push(Claim::new(ClaimKind::Caution, sentence));
    }
    claims
}

/// What happens above the limit, or why that is not known.
fn above(search: &SearchAnalysis) -> Option<Claim> {
    let caution = |sentence: &str| Some(Claim::new(ClaimKind::Caution, sentence));
    match (search.result.outcome, search.result.failure) {
        (LimitOutcome::BoundaryFound, Some(FailureAbove::Objective(criterion))) => {
            let fails = fails_first(&criterion);
            let Some((probe, per_s, seen)) = seen_above(search, criterion) else {
                return caution(&format!("Above it {fails}."));
            };
            let claim = contradicted(search, per_s).unwrap_or_else(|| {
                let sentence = format!("Above it {fails}: at {} {seen}.", spoken_rate(search, per_s));
                Claim::new(ClaimKind::Bottleneck, sentence)
            });
            Some(claim.figure_at(Some(probe.point.id), "offered_per_s", per_s, None))
        }
        (LimitOutcome::BoundaryFound, Some(FailureAbove::WriteDebt { growth_per_s })) => {
            let sentence = format!(
                "Above it the engine does not get its writes done: {} more are left each second.",
                bytes(growth_per_s)
            );
            Some(Claim::new(ClaimKind::Bottleneck, sentence))
        }
        (LimitOutcome::LowerBound(LowerBoundCause::RateMax), _) => {
            caution("It may carry more: no higher rate was allowed.")
        }
        (LimitOutcome::LowerBound(LowerBoundCause::Refused), _) => {
            caution("It may carry more: it does not take the clients that a higher rate needs.")
        }
        (LimitOutcome::LowerBound(LowerBoundCause::Generator), _) => {
            caution("It may carry more: the clients could not offer a higher rate in time.")
        }
        (LimitOutcome::BoundedByInvalidProbes, _) => {
            caution("It may carry more: at higher rates the machine or plimsoll itself was held up.")
        }
        (LimitOutcome::SearchLimitReached, _) => {
            caution("It may carry more: the search ended after as many probes as it may take.")
        }
        (LimitOutcome::Interrupted, _) => caution("It may carry more: the search was not finished."),
        _ => None,
    }
}

/// The lowest probe that missed `criterion`, its rate, and what it showed: `it is 26.4 ms`, `the backlog grew`.
fn seen_above(search: &SearchAnalysis, criterion: Criterion) -> Option<(&ProbeAnalysis, f64, String)> {
    let probe = search.lowest_missed()?;
    let seen = match criterion_value(probe, criterion) {
        Some(value) => format!("it is {value}"),
        None if misses_by_backlog(&criterion) => "the backlog grew".to_owned(),
        None => return None,
    };
    Some((probe, probe.offered_per_s()?, seen))
}

/// `Near 1,180 per second it is undecided: p99 11.2 ms at 1.18k, and kept at 1.19k.`, if a higher rate than `per_s`, the lowest that missed the
/// objective, kept it.
fn contradicted(search: &SearchAnalysis, per_s: f64) -> Option<Claim> {
    let kept = search.highest_kept()?.offered_per_s().filter(|kept| *kept > per_s && count(*kept) != count(per_s))?;
    let (near, missed) = (spoken_rate(search, per_s), cell_above(search)?.text);
    let sentence = format!("Near {near} it is undecided: {missed}, and kept at {}.", count(kept));
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// `p99 fails first`, `p99 of checkout fails first`
fn fails_first(criterion: &Criterion) -> String {
    let what = match criterion {
        Criterion::Percentile { percentile: Percentile::P50, .. } => "the median",
        Criterion::Percentile { percentile, .. } => percentile.as_str(),
        Criterion::Longest { .. } => "the longest response time",
        Criterion::Errors { .. } => "the share of errors",
        Criterion::Stall { .. } => return "stalls are too long".to_owned(),
    };
    format!("{what}{} fails first", of_kind(criterion))
}

/// `No checkout ended while the rate was held: hold it for longer.`, of the kinds that the objective names.
fn unseen_kinds(search: &SearchAnalysis) -> Option<Claim> {
    let held = search.held()?;
    let is_seen = |kind: &str| held.point.statements.iter().any(|one| one.kind == kind);
    let unseen: Vec<&str> = search.spec.objective.kinds().into_iter().filter(|kind| !is_seen(kind)).collect();
    let sentence = || format!("No {} ended while the rate was held: hold it for longer.", unseen.join(" and no "));
    (!unseen.is_empty()).then(|| Claim::new(ClaimKind::Caution, sentence()))
}

/// `At 1,680 per second it was limited by the CPU, which was 97 % busy, and stalled for up to 2.10 s.`
fn bottleneck(search: &SearchAnalysis) -> Option<Claim> {
    let above = search.bottleneck()?;
    let place =
        above.rate_per_s.map_or("At full speed".to_owned(), |per_s| format!("At {}", spoken_rate(search, per_s)));
    let limited = limited_clause(&above.causes[..above.causes.len().min(1)]);
    let stalled = above.stalls.as_ref().map(stalled);
    let limited = limited.map(|clause| format!("was {clause}"));
    let both: Vec<String> = limited.iter().chain(&stalled).cloned().collect();
    let first = both.first()?.clone();
    let sentence = short_enough(vec![format!("{place} it {}.", both.join(", and ")), format!("{place} it {first}.")]);
    let claim = Claim::new(ClaimKind::Bottleneck, code_in_words(&sentence));
    let claim = if limited.is_some() { claim.from_finding(Code::Bottleneck) } else { claim };
    Some(if stalled.is_some() { claim.from_finding(Code::Stall) } else { claim })
}

/// `stalled for up to 2.10 s every 25.0 s`
fn stalled(stalls: &Stalls) -> String {
    let (what, period) = match stalls {
        Stalls::Rates(long) => (
            match long.slower {
                Some(slower) => {
                    format!("answered {} times as slowly for {}", whole(slower), time(long.longest_ns.0 as f64))
                }
                None => format!("stalled for up to {}", time(long.longest_ns.0 as f64)),
            },
            long.period.as_ref().map(|period| period.gap_ns),
        ),
        Stalls::Operations(short) => ("had single operations that were stuck".to_owned(), short.period_ns),
    };
    what + &period.map_or(String::new(), |gap| format!(" every {}", time(gap.0 as f64)))
}

fn debt(search: &SearchAnalysis) -> Option<Claim> {
    let HoldDebt::Filling { growth_per_s } = search.result.debt else { return None };
    let growth = bytes(growth_per_s);
    let sentence = format!(
        "It still put {growth} of writes off each second when the hold ended: hold longer to see the rate that lasts."
    );
    Some(Claim::new(ClaimKind::Caution, sentence))
}

fn short_hold(search: &SearchAnalysis) -> Option<Claim> {
    let (needed, held) = (search.result.needed_hold?, search.result.held?);
    let why = match needed.cause {
        HoldCause::Operations { needed } => {
            format!("its percentile needs {} operations, which take", whole(needed as f64))
        }
        HoldCause::Rhythm { period } => {
            format!("slow stretches come every {}, and three of them take", long_time(period))
        }
    };
    let (held, needed) = (long_time(held), long_time(needed.length));
    let sentence = format!("Holding it for {held} is too short to be sure: {why} {needed}.");
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// `The target changed during the search: at first it carried about 690 per second, and after five probes about 350.`
fn changed(search: &SearchAnalysis) -> Option<Claim> {
    let change = search.result.change?;
    let probes = format!("{} probes", number_word(change.after as u32));
    let sentence = format!(
        "The target changed during the search: at first it carried about {} per second, and after {probes} about {}.",
        amount(change.before_per_s),
        amount(change.after_per_s)
    );
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// How many probes missed the objective because of stops, and do not count.
fn void_probes(search: &SearchAnalysis) -> Option<Claim> {
    let is_stop = |fault: &ProbeFault| !matches!(fault, ProbeFault::Lag { .. });
    let void = search.result.probes.iter().filter_map(|probe| probe.fault).filter(is_stop).count() as u32;
    let probes =
        if void == 1 { "One probe does".to_owned() } else { format!("{} probes do", capital(&number_word(void))) };
    let sentence = format!("{probes} not count: meanwhile the machine or plimsoll itself was held up.");
    (void > 0).then(|| Claim::new(ClaimKind::Caution, sentence))
}

/// Why a search has no limit.
fn nothing_held(search: &SearchAnalysis, name: &str) -> Claim {
    let objective = objective_words(search, true);
    let (kind, wordings) = match search.result.outcome {
        LimitOutcome::NoRateHolds => {
            let lowest = search.lowest_missed().and_then(ProbeAnalysis::offered_per_s);
            let lowest = lowest.map_or(String::new(), |per_s| format!(", not even {}", spoken_rate(search, per_s)));
            let (objective, seen) = errors_at_lowest(search).unwrap_or((objective, String::new()));
            (
                ClaimKind::Rate,
                vec![
                    format!("{name} carries no rate with {objective}{lowest}{seen}."),
                    format!("{name} carries no rate with {objective}{lowest}."),
                    format!("No rate keeps {objective}."),
                ],
            )
        }
        LimitOutcome::BoundedByInvalidProbes if let Some(mean) = lateness(search) => {
            let late = format!("its clients woke up {} late on this machine", time(mean.0 as f64));
            (
                ClaimKind::Undecided,
                vec![
                    format!("How much {name} carries with {objective} cannot be measured: {late}."),
                    format!("How much it carries cannot be measured: {late}."),
                ],
            )
        }
        LimitOutcome::BoundedByInvalidProbes => (
            ClaimKind::Undecided,
            vec![
                format!(
                    "How much {name} carries is not known: the machine or plimsoll itself was held up again and again."
                ),
                "How much it carries is not known: the machine or plimsoll itself was held up again and again."
                    .to_owned(),
            ],
        ),
        _ if search.probes.is_empty() => (
            ClaimKind::Undecided,
            vec![format!("How much {name} carries was not measured."), "Nothing was measured.".to_owned()],
        ),
        _ => (ClaimKind::Undecided, ended_before_a_hold(search, name, &objective)),
    };
    Claim::new(kind, capital(&short_enough(wordings)))
}

/// What the lowest rate that missed the objective missed, if too much failed there: `errors under 0.1 %` and `: 6.3 % of the operations fail there`.
fn errors_at_lowest(search: &SearchAnalysis) -> Option<(String, String)> {
    let probe = search.lowest_missed()?;
    let missed = probe.seen.as_ref()?.judgement?.missed()?;
    let Criterion::Errors { below, .. } = missed else { return None };
    let of = of_kind(&missed);
    let seen = criterion_value(probe, missed).map(|share| format!(": {share} of the operations{of} fail there"));
    Some((format!("errors{of} under {}", percent(below)), seen.unwrap_or_default()))
}

/// By how much the clients of the last probe were late on average, if it shows nothing for that reason.
fn lateness(search: &SearchAnalysis) -> Option<Nanos> {
    match search.result.probes.last()?.fault? {
        ProbeFault::Lag { mean } => Some(mean),
        _ => None,
    }
}

/// `MariaDB kept p99 under 20 ms at 16 times the recorded load; the search ended before that was held, so it may carry more or less.`
fn kept_and_not_held(search: &SearchAnalysis, name: &str, objective: &str) -> Option<String> {
    let kept = search.highest_kept().filter(|_| search.lowest_missed().is_none())?.offered_per_s()?;
    let kept = spoken_rate(search, kept);
    Some(format!(
        "{name} kept {objective} at {kept}; the search ended before that was held, so it may carry more or less."
    ))
}

/// Wordings for a search that ended before a rate was held, with what its probes have shown as far as there is room for it.
fn ended_before_a_hold(search: &SearchAnalysis, name: &str, objective: &str) -> Vec<String> {
    const ENDED: &str = "the search ended before a rate was held";
    let (shown, unknown) = (shown_by_probes(search), format!("How much {name} carries is not known"));
    let mut wordings: Vec<String> = kept_and_not_held(search, name, objective).into_iter().collect();
    wordings.extend(shown.iter().map(|shown| format!("{unknown}: {ENDED}; {shown}.")));
    wordings.extend(shown.iter().map(|shown| format!("{unknown}: {shown}.")));
    wordings.extend([format!("{unknown}: {ENDED}."), format!("How much it carries is not known: {ENDED}.")]);
    wordings
}

/// `a probe at 960 per second kept the objective, and the hold at 900 missed it`: what probes and holds have shown. A hold is longer than a
/// probe, so it may miss what a probe at a higher rate kept; probes that do so contradict each other.
fn shown_by_probes(search: &SearchAnalysis) -> Option<String> {
    let rate = |probe: &ProbeAnalysis| Some((probe.part.kind, probe.offered_per_s()?));
    let (kept, missed) = (search.highest_kept().and_then(rate), search.lowest_missed().and_then(rate));
    let bare = |per_s: f64| times_carried(search, per_s, None).unwrap_or_else(|| amount(per_s));
    let tried = |kind: ProbeKind| if kind == ProbeKind::Hold { "the hold" } else { "a probe" };
    let at = |(kind, per_s): (ProbeKind, f64)| format!("{} at {}", tried(kind), spoken_rate(search, per_s));
    Some(match (kept, missed) {
        (Some((_, kept)), Some((ProbeKind::Probe, missed))) if kept >= missed => {
            let low = if bare(missed) == bare(kept) { "at".to_owned() } else { format!("from {} to", bare(missed)) };
            format!("{low} {} some probes kept the objective, and others missed it", spoken_rate(search, kept))
        }
        (Some(kept), Some((kind, missed))) => {
            let other = if kind == ProbeKind::Hold { "the hold" } else { "one" };
            format!("{} kept the objective, and {other} at {} missed it", at(kept), bare(missed))
        }
        (Some(kept), None) => format!("{} kept the objective", at(kept)),
        (None, Some(missed)) => format!("{} missed the objective", at(missed)),
        (None, None) => return None,
    })
}

/// How several searches compare, and of each what it carries.
fn claims_of_several(run: &AskedRun, all: &[SearchRepeats]) -> Vec<Claim> {
    let mut found: Vec<(&SearchRepeats, f64)> = all.iter().filter_map(|one| Some((one, one.mean_per_s()?))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut claims = Vec::new();
    match found.as_slice() {
        [] => return vec![none_held(all)],
        [(best, most), .., (worst, fewest)] => {
            claims.extend(comparison(run, (best, *most), (worst, *fewest), found.len()))
        }
        [_] => {}
    }
    let of_each = found.iter().map(|(one, per_s)| {
        let carries = |name: &str| {
            format!("{name} carries {}{} {}.", least(one), amount(*per_s), unit_of(one.searches[0]).spoken())
        };
        let sentence = short_enough(vec![carries(&name_of(run, one)), carries("One of them")]);
        let point = if let [only] = one.searches.as_slice() { only.held().map(|held| held.point.id) } else { None };
        Claim::new(ClaimKind::Rate, capital(&sentence)).figure_at(point, "offered_per_s", *per_s, None)
    });
    // Of a difference the rates are said already, and more than two are the table's business.
    let is_said = claims.iter().any(|claim: &Claim| claim.kind == ClaimKind::Difference) || found.len() > 2;
    claims.extend(of_each.filter(|_| !is_said));
    if found.len() < all.len() {
        let none: Vec<String> =
            all.iter().filter(|one| one.mean_per_s().is_none()).map(|one| name_of(run, one)).collect();
        let said = format!("{} held no rate.", join_and(&none));
        claims.push(Claim::new(
            ClaimKind::Caution,
            short_enough(vec![said, format!("{} of them held no rate.", none.len())]),
        ));
    }
    claims
}

/// Why none of several searches has a limit.
fn none_held(all: &[SearchRepeats]) -> Claim {
    let mut searches = all.iter().flat_map(|one| one.searches.iter().copied());
    match searches.find(|search| search.result.outcome != LimitOutcome::NoRateHolds) {
        Some(open) => nothing_held(open, "any of them"),
        None => {
            let objective = objective_words(all[0].searches[0], true);
            Claim::new(ClaimKind::Rate, format!("None of them carries any rate with {objective}."))
        }
    }
}

/// The most that is carried against the least.
fn comparison(run: &AskedRun, best: (&SearchRepeats, f64), worst: (&SearchRepeats, f64), of: usize) -> Option<Claim> {
    let ((best, most), (worst, fewest)) = (best, worst);
    let [promised, other] = [best, worst].map(durabilities);
    let is_same_work = unit_of(best.searches[0]) == unit_of(worst.searches[0])
        && best.searches[0].workload == worst.searches[0].workload
        && best.searches[0].spec.objective == worst.searches[0].spec.objective;
    if !is_same_work {
        return None;
    }
    if promised != other && !is_asked_for(&run.analysis.points, &run.analysis.meta.plan) {
        let sentence = "Do not compare their rates: they promise different things when a commit returns.";
        return Some(Claim::new(ClaimKind::Caution, sentence));
    }
    let (names, spoken) = ([best, worst].map(|one| name_of(run, one)), unit_of(best.searches[0]).spoken());
    let objective = objective_words(best.searches[0], true);
    let is_apart =
        best.range().zip(worst.range()).is_some_and(|((low, _), (_, high))| high.is_some_and(|high| low > high));
    if !is_apart {
        let all = if of == 2 { "both" } else { "all of them" };
        let sentence = format!(
            "Which carries more is not decided: with {objective} {all} carry about {}. Search again with --repeat 4.",
            amount(most)
        );
        return Some(Claim::new(ClaimKind::Undecided, sentence).figure("offered_per_s", most, None));
    }
    let [more, less] = names;
    let times = words::quantity::number(most / fewest);
    let least = least(best);
    let sentence = short_enough(vec![
        format!(
            "With {objective} {more} carries {least}{times} times as many {spoken} as {less}: {} against {}.",
            amount(most),
            amount(fewest)
        ),
        format!("{more} carries {least}{times} times as many {spoken} as {less}."),
        format!(
            "The best carries {least}{times} times as many {spoken} as the worst: {} against {}.",
            amount(most),
            amount(fewest)
        ),
    ]);
    Some(Claim::new(ClaimKind::Difference, capital(&sentence)).figure("ratio", most / fewest, None))
}

fn durabilities<'a>(one: &SearchRepeats<'a>) -> BTreeSet<Option<&'a str>> {
    one.searches.iter().flat_map(|search| &search.probes).map(|probe| durability(&probe.point)).collect()
}

/// What to try next, if the search itself says it.
fn next_step(run: &AskedRun, search: &SearchAnalysis) -> Option<String> {
    let step = match search.result.outcome {
        _ if search.result.change.is_some() => "Find out what changed the target in the meantime, and search again.",
        LimitOutcome::Interrupted => {
            return Some(format!("Go on with the search: `plimsoll run --resume {}`", run.name_to_type()));
        }
        LimitOutcome::LowerBound(LowerBoundCause::RateMax) => "Search further up with a higher `--rate-max`.",
        LimitOutcome::LowerBound(LowerBoundCause::Refused) => {
            "Let the server take more clients (`max_connections`), and search again."
        }
        LimitOutcome::LowerBound(LowerBoundCause::Generator) => "Run the clients on a machine with more free CPUs.",
        LimitOutcome::BoundedByInvalidProbes if lateness(search).is_some() => {
            "Allow a longer time (`--slo`), or run the clients on a machine with more free CPUs."
        }
        LimitOutcome::BoundedByInvalidProbes => {
            "Search again on a machine that does nothing else, or with a longer `--hold`."
        }
        LimitOutcome::SearchLimitReached => "Search again with longer probes (`--time`).",
        LimitOutcome::NoRateHolds if errors_at_lowest(search).is_some() => {
            "Mend what fails, which `plimsoll show last --details` names, or allow more errors (`errors<10%` in `--slo`)."
        }
        LimitOutcome::NoRateHolds => "Allow a longer time (`--slo`), or search with other `--clients`.",
        LimitOutcome::BoundaryFound => {
            let needed = search.result.needed_hold.filter(|needed| needed.length <= HOLD_ADVISED_MAX)?;
            let seconds = needed.length.0.div_ceil(1_000_000_000);
            if search.spec.arrivals.recorded().is_some_and(|load| load.length < needed.length) {
                return Some(format!("Confirm the limit with a log of {seconds} s or more, and `--hold {seconds}s`."));
            }
            return Some(format!("Confirm the rate with `--hold {seconds}s`."));
        }
    };
    Some(step.to_owned())
}

/// `five minutes`, `20 seconds`
fn long_time(length: Nanos) -> String {
    let seconds = length.as_secs_f64();
    let (value, unit) = if seconds >= 120.0 { (seconds / 60.0, "minutes") } else { (seconds, "seconds") };
    let is_whole = (value - value.round()).abs() < 0.05;
    format!("{} {unit}", if is_whole { number_word(value.round() as u32) } else { format!("{value:.1}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, AnswerKind, answer};
    use crate::findings::stall::{EventPeriod, LongStalls};
    use crate::math::units::Share;
    use crate::simulated::searches::{searched, searched_on};
    use crate::{SettingValue, analyse};
    use model::RunData;
    use model::limit::{Judgement, NeededHold};

    fn answered(run: &RunData) -> (Analysis, Answer) {
        let analysis = analyse(run);
        let answer = answer(&analysis);
        assert_eq!(answer.kind, AnswerKind::Limit);
        (analysis, answer)
    }

    fn said(answer: &Answer) -> Vec<&str> {
        answer.claims.iter().map(|claim| claim.sentence.as_str()).collect()
    }

    #[test]
    fn one_limit_is_told_with_its_interval_how_long_it_was_held_and_what_fails_above_it() {
        let (analysis, answer) = answered(&searched(&["sqlite"], "p99<20ms,errors<1%", None, usize::MAX));
        assert_eq!(answer.question, "How much does it carry with p99 under 20 ms?");
        assert_eq!(
            said(&answer),
            [
                "Sqlite carries 758 operations per second (744 to 774) with p99 under 20 ms and errors under 1.0 %, and held that for 20 seconds.",
                "Above it p99 fails first: at 774 per second it is 26.4 ms.",
                "At full speed it was limited by the CPU, which was 100 % busy.",
                "Holding it for 20 seconds is too short to be sure: its percentile needs 100,000 operations, which take 2.2 minutes.",
            ]
        );
        let held = analysis.points[0].summary.as_ref().unwrap().offered_per_s;
        assert_eq!(
            (answer.claims[0].figures[0].point, Some(answer.claims[0].figures[0].value)),
            (Some(analysis.points[0].id), held)
        );
        let table = answer.table.unwrap();
        let cells: Vec<&str> = table.rows[0].cells.iter().flatten().map(|cell| cell.text.as_str()).collect();
        assert_eq!(cells, ["758", "744 to 774", "16.5 ms", "p99 26.4 ms at 774"]);
    }

    #[test]
    fn an_objective_of_one_kind_of_operation_is_told_with_its_name() {
        let (_, answer) = answered(&searched(&["sqlite"], "transaction:p99<20ms,errors<1%", None, usize::MAX));
        assert_eq!(answer.question, "How much does it carry with p99 of transaction under 20 ms?");
        let told = said(&answer);
        assert!(
            told[0].contains("758 operations per second (744 to 774) with p99 of transaction under 20 ms"),
            "{told:?}"
        );
        assert_eq!(told[1], "Above it p99 of transaction fails first: at 774 per second it is 26.4 ms.");
        let (_, unseen) = answered(&searched(&["sqlite"], "refund:p99<1ms", Some(500.0), usize::MAX));
        let told = said(&unseen);
        assert!(told.contains(&"No refund ended while the rate was held: hold it for longer."), "{told:?}");
    }

    #[test]
    fn several_limits_are_compared_if_their_intervals_are_apart() {
        let servers = [("sqlite", 1e6), ("fjall", 0.25e6)];
        let (_, apart) = answered(&searched_on(&servers, "p99<20ms", None, usize::MAX));
        assert_eq!(
            said(&apart),
            [
                "With p99 under 20 ms fjall carries 4.98 times as many operations per second as sqlite: 3,770 against 758."
            ]
        );
        let (_, alike) = answered(&searched(&["sqlite", "fjall"], "p99<20ms", None, usize::MAX));
        assert_eq!(
            said(&alike)[0],
            "Which carries more is not decided: with p99 under 20 ms both carry about 758. Search again with --repeat 4."
        );
    }

    #[test]
    fn engines_that_promise_different_things_are_not_compared() {
        let mut run = searched_on(&[("sqlite", 1e6), ("fjall", 0.25e6)], "p99<20ms", None, usize::MAX);
        for point in &mut run.points {
            let word = if point.trial.target.engine == "sqlite" { "disk" } else { "os" };
            point.traits.engine.durability = Some(word.to_owned());
        }
        let (_, unlike) = answered(&run);
        assert_eq!(
            said(&unlike)[0],
            "Do not compare their rates: they promise different things when a commit returns."
        );
    }

    #[test]
    fn what_is_not_known_has_its_reason_and_the_way_to_know_it() {
        let (_, bounded) = answered(&searched(&["sqlite"], "p99<20ms", Some(300.0), usize::MAX));
        assert_eq!(
            said(&bounded),
            [
                "Sqlite carries at least 300 operations per second with p99 under 20 ms, and held that for 20 seconds.",
                "It may carry more: no higher rate was allowed.",
                "At full speed it was limited by the CPU, which was 100 % busy.",
                "Holding it for 20 seconds is too short to be sure: its percentile needs 100,000 operations, which take 5.6 minutes.",
            ]
        );
        assert_eq!(bounded.next.as_deref(), Some("Search further up with a higher `--rate-max`."));
        let (_, cut) = answered(&searched(&["sqlite"], "p99<20ms", None, 3));
        let unknown = "How much sqlite carries is not known: the search ended before a rate was held";
        assert!(said(&cut)[0].starts_with(unknown) && cut.claims.len() == 1, "{cut:?}");
        let (_, none) = answered(&searched(&["sqlite"], "p99<1us", None, usize::MAX));
        assert_eq!(said(&none), ["Sqlite carries no rate with p99 under 1 us, not even 1.46 per second."]);
    }

    #[test]
    fn repeats_of_a_search_have_a_mean_and_whether_they_agree() {
        let mut run = searched(&["sqlite", "sqlite"], "p99<20ms", None, usize::MAX);
        let second = |trial: &mut model::Trial| trial.repeat = 2;
        second(&mut run.meta.plan.trials[1]);
        let of_second = |point: &&mut model::PointData| {
            point.trial.limit.as_ref().and_then(|part| part.probe).is_some_and(|probe| probe.search == 1)
        };
        run.points.iter_mut().filter(of_second).for_each(|point| second(&mut point.trial));
        let (_, answer) = answered(&run);
        assert_eq!(
            said(&answer),
            ["Sqlite carries 758 operations per second with p99 under 20 ms: the mean of two searches (758 to 758)."]
        );
    }

    /// What is claimed of the search, changed by `change`.
    fn changed(change: impl FnOnce(&mut SearchAnalysis)) -> (Vec<String>, Option<String>) {
        let mut analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
        change(&mut analysis.searches[0]);
        let told = search_claims(&analysis).concat().into_iter().map(|claim| claim.sentence);
        (told.collect(), answer(&analysis).next)
    }

    #[test]
    fn what_fails_above_and_what_still_fills_up_is_told() {
        let (told, _) = changed(|search| search.result.failure = Some(FailureAbove::WriteDebt { growth_per_s: 1.5e6 }));
        assert_eq!(told[1], "Above it the engine does not get its writes done: 1.50 MB more are left each second.");
        let (told, _) = changed(|search| search.result.debt = HoldDebt::Filling { growth_per_s: 2e6 });
        assert!(told.iter().any(|one| one.starts_with("It still put 2.00 MB of writes off each second")), "{told:?}");
    }

    #[test]
    fn where_what_ended_was_fast_enough_the_backlog_that_grew_is_told() {
        let mut analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
        let summaries = analysis.searches[0].probes.iter_mut().filter_map(|probe| probe.point.summary.as_mut());
        summaries.filter_map(|summary| summary.response_ns.as_mut()).for_each(|times| times.p99 = 1_000_000);
        let told = answer(&analysis);
        assert_eq!(said(&told)[1], "Above it p99 fails first: at 774 per second the backlog grew.");
        let cell = |told: &Answer| told.table.as_ref()?.rows[0].cells[3].as_ref().map(|cell| cell.text.clone());
        assert_eq!(cell(&told).as_deref(), Some("backlog grew at 774"));
        let stall = Criterion::Stall { below: Nanos::from_secs(1) };
        let (told, _) = changed(|search| search.result.failure = Some(FailureAbove::Objective(stall)));
        assert_eq!(told[1], "Above it stalls are too long.");
    }

    #[test]
    fn nothing_fails_above_a_rate_at_which_probes_contradict_each_other() {
        let (told, _) = changed(|search| {
            let limit = search.result.per_s.expect("a rate was held");
            let seen = search.probes.iter_mut().filter_map(|probe| probe.seen.as_mut());
            let kept = |seen: &&mut model::limit::LimitProbe| {
                seen.kind == ProbeKind::Probe && seen.judgement.is_some_and(|judgement| judgement.keeps())
            };
            // Above all that missed it.
            seen.filter(kept).for_each(|seen| seen.offered_per_s = Some(2.0 * limit));
        });
        let is_told = |words: &str| told[1].contains(words);
        assert!(told[1].starts_with("Near 7") && is_told(" per second it is undecided: p99 "), "{told:?}");
        assert!(is_told(", and kept at 1.5"), "{told:?}");
    }

    #[test]
    fn where_operations_fail_at_every_rate_the_errors_are_told_and_no_longer_time_is_advised() {
        let mut analysis = analyse(&searched(&["sqlite"], "p99<1us", None, usize::MAX));
        let errors = Criterion::Errors { kind: None, below: 0.001 };
        for probe in &mut analysis.searches[0].probes {
            if let Some(seen) = &mut probe.seen {
                seen.judgement = seen.judgement.map(|_| Judgement::Missed(errors));
            }
            if let Some(summary) = &mut probe.point.summary {
                summary.success_rate = Some(0.937);
            }
        }
        let told = answer(&analysis);
        let said = said(&told)[0];
        assert!(said.starts_with("Sqlite carries no rate with errors under 0.1 %, not even "), "{said}");
        assert!(said.ends_with(" per second: 6.3 % of the operations fail there."), "{said}");
        let next = told.next.expect("it has a next step");
        assert!(next.ends_with("or allow more errors (`errors<10%` in `--slo`)."), "{next}");
    }

    #[test]
    fn nothing_is_above_a_rate_that_was_not_held() {
        let mut analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
        (analysis.searches[0].result.per_s, analysis.searches[0].result.between) = (None, None);
        assert_eq!(answer(&analysis).table, None);
        let (_, none) = answered(&searched(&["sqlite", "fjall"], "p99<1us", None, usize::MAX));
        assert_eq!(said(&none), ["None of them carries any rate with p99 under 1 us."]);
    }

    #[test]
    fn clients_that_are_late_at_every_rate_are_why_nothing_is_known() {
        let (told, next) = changed(|search| {
            (search.result.per_s, search.result.between) = (None, None);
            search.result.outcome = LimitOutcome::BoundedByInvalidProbes;
            let last = search.result.probes.last_mut().expect("it has probes");
            last.fault = Some(ProbeFault::Lag { mean: Nanos::from_micros(57) });
        });
        let expected = "How much sqlite carries with p99 under 20 ms cannot be measured: its clients woke up 57.0 us late on this machine.";
        assert_eq!(told[0], expected);
        let expected = "Allow a longer time (`--slo`), or run the clients on a machine with more free CPUs.";
        assert_eq!(next.as_deref(), Some(expected));
    }

    #[test]
    fn a_target_that_refuses_more_clients_is_told_with_what_it_needs() {
        let refused = LimitOutcome::LowerBound(LowerBoundCause::Refused);
        let (told, next) = changed(|search| search.result.outcome = refused);
        let expected = "It may carry more: it does not take the clients that a higher rate needs.";
        assert!(told.contains(&expected.to_owned()), "{told:?}");
        assert_eq!(next.as_deref(), Some("Let the server take more clients (`max_connections`), and search again."));
    }

    #[test]
    fn operations_that_may_fail_are_not_carried_and_a_target_that_changed_is_told() {
        let (told, _) = changed(|search| search.result.failed_share = 0.4);
        let per_s = changed(|_| ()).0;
        assert_ne!(told[0], per_s[0], "what fails is not carried");
        assert!(
            told[1].ends_with(" per second are sent, and 40 % of them fail, which the objective allows."),
            "{told:?}"
        );
        let change = model::limit::TargetChange { after: 5, before_per_s: 690.0, after_per_s: 350.0 };
        let (told, next) = changed(|search| search.result.change = Some(change));
        let expected = "The target changed during the search: at first it carried about 690 per second, and after five probes about 350.";
        assert!(told.contains(&expected.to_owned()), "{told:?}");
        assert_eq!(next.as_deref(), Some("Find out what changed the target in the meantime, and search again."));
    }

    #[test]
    fn stalls_above_the_limit_have_their_length_and_their_rhythm() {
        let stalls = Stalls::Rates(LongStalls {
            count: 3,
            total_ns: Nanos::from_secs(6),
            longest_ns: Nanos::from_millis(2_100),
            longest_at_ns: Nanos(0),
            period: Some(EventPeriod { gap_ns: Nanos::from_secs(25), spread_ns: Nanos(0) }),
            usual_per_s: 1_000.0,
            deepest_share: Share(0.0),
            interval_ns: Nanos::from_secs(1),
            slower: None,
        });
        assert_eq!(stalled(&stalls), "stalled for up to 2.10 s every 25.0 s");
    }

    #[test]
    fn a_hold_that_is_too_short_has_its_reason_and_probes_that_do_not_count_are_counted() {
        let needed = |length: Nanos, cause: HoldCause| {
            changed(move |search| search.result.needed_hold = Some(NeededHold { length, cause }))
        };
        let (told, next) = needed(Nanos::from_millis(190_100), HoldCause::Operations { needed: 100_000 });
        let short = "Holding it for 20 seconds is too short to be sure: its percentile needs 100,000 operations, which take 3.2 minutes.";
        assert!(told.contains(&short.to_owned()), "{told:?}");
        assert_eq!(next.as_deref(), Some("Confirm the rate with `--hold 191s`."));
        let (told, _) = needed(Nanos::from_secs(60), HoldCause::Rhythm { period: Nanos::from_secs(20) });
        let short = "Holding it for 20 seconds is too short to be sure: slow stretches come every 20 seconds, and three of them take 60 seconds.";
        assert!(told.contains(&short.to_owned()), "{told:?}");
        let (_, next) = needed(Nanos::from_secs(18_605), HoldCause::Operations { needed: 100_000 });
        assert!(next.is_none_or(|step| !step.contains("--hold")), "nobody holds a rate for five hours");
        let stolen = Some(ProbeFault::Stolen { length: Nanos::from_millis(414) });
        let void = |probes: usize| {
            let (told, _) = changed(|search| {
                search.result.probes.iter_mut().skip(1).take(probes).for_each(|probe| probe.fault = stolen);
            });
            told.last().cloned().unwrap_or_default()
        };
        let held_up = "not count: meanwhile the machine or plimsoll itself was held up.";
        assert_eq!(void(1), format!("One probe does {held_up}"));
        assert_eq!(void(2), format!("Two probes do {held_up}"));
    }

    #[test]
    fn a_search_that_was_interrupted_says_what_its_probes_have_shown() {
        let interrupted = |change: fn(&mut SearchAnalysis)| {
            changed(move |search| {
                (search.result.per_s, search.result.between) = (None, None);
                search.result.outcome = LimitOutcome::Interrupted;
                change(search);
            })
            .0
            .remove(0)
        };
        let begun = interrupted(|search| search.probes.retain(|probe| probe.part.kind != ProbeKind::Hold));
        let told = "How much sqlite carries is not known: the search ended before a rate was held; a probe at ";
        assert!(begun.starts_with(told) && begun.contains(" per second kept the objective, and one at "), "{begun}");
        assert!(begun.ends_with(" missed it."), "{begun}");
        let held = interrupted(|search| search.probes.iter_mut().for_each(|probe| probe.part.kind = ProbeKind::Hold));
        assert!(held.contains(" kept the objective, and the hold at ") && held.ends_with(" missed it."), "{held}");
        let contradicting = interrupted(|search| {
            let seen = search.probes.iter_mut().filter_map(|probe| probe.seen.as_mut());
            let missed = seen.filter(|seen| seen.judgement.is_some_and(|judgement| judgement.missed().is_some()));
            missed.for_each(|seen| seen.offered_per_s = Some(500.0));
        });
        assert!(
            contradicting.contains("; from 500 to 7")
                && contradicting.ends_with(" per second some probes kept the objective, and others missed it."),
            "{contradicting}"
        );
        assert_eq!(interrupted(|search| search.probes.clear()), "How much sqlite carries was not measured.");
    }

    #[test]
    fn a_search_that_was_interrupted_is_resumed_by_its_name() {
        let mut analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
        analysis.meta.run_id = "20261201-143849-limit".to_owned();
        let mut search = analysis.searches[0].clone();
        search.result.outcome = LimitOutcome::Interrupted;
        let next = next_step(&AskedRun { analysis: &analysis, rows: &analysis }, &search);
        assert_eq!(next.as_deref(), Some("Go on with the search: `plimsoll run --resume 20261201-143849-limit`"));
    }

    #[test]
    fn repeats_of_a_search_are_counted_and_what_differed_between_them_is_told() {
        let repeated = |change: &dyn Fn(&mut [SearchAnalysis])| {
            let mut analysis = analyse(&searched(&["sqlite"], "p99<20ms", None, usize::MAX));
            let only = analysis.searches[0].clone();
            analysis.searches = vec![only; 3];
            for (nth, search) in (1..).zip(&mut analysis.searches) {
                search.label.place.push(Setting::of_run("repeat", Role::Repeat, SettingValue::Count(nth)));
            }
            change(&mut analysis.searches);
            search_claims(&analysis).concat().into_iter().map(|claim| claim.sentence).collect::<Vec<_>>()
        };
        let cut = |search: &mut SearchAnalysis| {
            (search.result.per_s, search.result.between) = (None, None);
            search.result.outcome = LimitOutcome::Interrupted;
        };
        let told = repeated(&|all| all[1..].iter_mut().for_each(cut));
        assert!(told[0].starts_with("Sqlite carries 758 operations per second (744 to 774)"), "{told:?}");
        assert_eq!(told.last().unwrap(), "The run ended before 2 of its 3 searches were over.");
        let told = repeated(&|all| all.iter_mut().for_each(cut));
        assert_eq!(told.last().unwrap(), "The run ended before 3 of its 3 searches were over.");
        let slower = |factor: f64| {
            repeated(&move |all| {
                (all[2].result.per_s, all[2].result.between) = (Some(500.0), Some((500.0, Some(505.0))));
                let closed = all[2].probes.iter_mut().find(|probe| probe.part.kind == ProbeKind::Closed);
                closed.unwrap().point.summary.as_mut().unwrap().ops_per_s *= factor;
            })
        };
        let differ = "The searches do not agree, so the target was not the same each time";
        assert!(slower(0.5)[1].starts_with(&format!("{differ}: at full speed it did ")), "{:?}", slower(0.5));
        assert_eq!(slower(1.05)[1], format!("{differ}."), "closed loops that agree explain nothing");
        assert_eq!(repeated(&|_| ()).len(), 1, "searches that agree");
    }
}
