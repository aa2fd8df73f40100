//! Unlike workloads one after the other, as `plimsoll quick` measures them: what one machine does of each.
//!
//! In: a run of several workloads that compares nothing. Out: a row for each step, a claim for each work that was measured at several numbers
//! of clients or depths, and one for those works that were measured once on one or several engines. Limits: engines are set side by side and
//! not ranked.

use super::super::bottleneck;
use super::super::conditions::conditions;
use super::super::speech::amount;
use super::super::thing::Thing;
use super::super::{AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun, Claim, ClaimKind, ROWS_MAX};
use super::sweep::{disturbances, rate_claim};
use crate::PointAnalysis;
use crate::points::sweep::{ScalingAxis, SweepStep};
use crate::points::work::WorkUnit;
use model::AccessPattern;
use std::collections::BTreeSet;
use words::list::join_and;
use words::quantity::time;

/// More sentences about rates are not read.
const RATES_MAX: usize = 3;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let things = Thing::all(run);
    let workloads: BTreeSet<&str> = things.iter().map(|thing| thing.first().workload.as_str()).collect();
    let is_catalogue = workloads.len() > 1 && run.stated_comparison().is_none() && run.analysis.searches.is_empty();
    is_catalogue.then(|| AnswerParts {
        question: "What does this machine do?".to_owned(),
        table: Some(table(&things)),
        claims: claims(run, &things),
        next: None,
    })
}

/// Sweeps come first: they say more than a single rate.
fn claims(run: &AskedRun, things: &[Thing]) -> Vec<Claim> {
    let (swept, single): (Vec<&Thing>, Vec<&Thing>) = things.iter().partition(|thing| thing.is_swept());
    let mut claims: Vec<Claim> = swept.iter().map(|thing| with_first_step(rate_claim(thing), thing)).collect();
    claims.extend(side_by_side(&single).iter().map(|alike| single_claim(alike)));
    claims.truncate(RATES_MAX);
    claims.extend(Thing::unusable(run).into_iter().take(1));
    // What limits a single rate is in the details.
    claims.extend(bottleneck::claims(run, &swept).into_iter().take(1));
    claims.extend(disturbances(things));
    claims
}

/// `claim` with how soon a single request is answered, if the work goes on rising with more of them.
fn with_first_step(mut claim: Claim, thing: &Thing) -> Claim {
    let first = &thing.sweep.steps[0];
    let is_depth = thing.sweep.axis == ScalingAxis::Depth;
    let alone = (is_depth && first.clients == 1 && first.depth == 1).then(|| first.response_ns(0.5)).flatten();
    if let Some(ns) = alone.filter(|_| thing.is_rising()) {
        claim.sentence = format!("{}; one at a time takes {}.", claim.sentence.trim_end_matches('.'), time(ns as f64));
    }
    claim
}

/// Those of `things` that do the same work on several engines, together.
fn side_by_side<'t, 'a>(things: &[&'t Thing<'a>]) -> Vec<Vec<&'t Thing<'a>>> {
    let mut groups: Vec<Vec<&Thing>> = Vec::new();
    let is_alike = |one: &Thing, other: &Thing| {
        let step = |thing: &Thing| thing.first().settings.step().map(str::to_owned);
        one.first().traits.work.io.is_none()
            && (one.unit, one.first().workload.as_str(), step(one))
                == (other.unit, other.first().workload.as_str(), step(other))
    };
    for thing in things {
        match groups.iter_mut().find(|known| is_alike(known[0], thing)) {
            Some(known) => known.push(thing),
            None => groups.push(vec![thing]),
        }
    }
    groups
}

/// `sqlite inserts 1.79 million rows per second and fjall 2.13 million.`
fn single_claim(alike: &[&Thing]) -> Claim {
    let [first, others @ ..] = alike else { return Claim::new(ClaimKind::Rate, String::new()) };
    let reached = first.reached(first.sweep.best());
    if others.is_empty() {
        return rate_claim(first);
    }
    let mut sentence = first.clause(reached.rate.mean, first.sweep.best());
    let others: Vec<_> = others.iter().map(|thing| (*thing, thing.reached(thing.sweep.best()))).collect();
    let parts: Vec<String> =
        others.iter().map(|(thing, own)| format!("{} {}", thing.who(), amount(own.rate.mean))).collect();
    sentence += &format!("{}{}.", if parts.len() == 1 { " and " } else { ", " }, join_and(&parts));
    let claim = first.with_figure(Claim::new(ClaimKind::Rate, sentence), &reached);
    others.iter().fold(claim, |claim, (thing, own)| thing.with_figure(claim, own))
}

/// A row for each step; of many steps the first and the best of each work.
fn table(things: &[Thing]) -> AnswerTable {
    let steps: usize = things.iter().map(|thing| thing.sweep.steps.len()).sum();
    let shown = |thing: &Thing, step: &SweepStep| {
        let is_end = std::ptr::eq(step, &raw const thing.sweep.steps[0]) || std::ptr::eq(step, thing.sweep.best());
        steps <= ROWS_MAX || is_end
    };
    let rows = things.iter().flat_map(|thing| {
        let own = thing.sweep.steps.iter().filter(|step| shown(thing, step));
        own.map(|step| row(thing, step)).collect::<Vec<_>>()
    });
    AnswerTable {
        head: "per second".to_owned(),
        columns: ["rate", "p50", "p99"].map(|head| AnswerColumn { head: head.to_owned() }).into(),
        rows: rows.collect(),
        rows_of: steps,
        conditions: conditions(things),
    }
}

fn row(thing: &Thing, step: &SweepStep) -> AnswerRow {
    let in_flight = thing.first().traits.work.io.as_ref().filter(|_| !thing.is_swept());
    let place =
        in_flight.map_or_else(|| thing.short_place(step), |_| format!("{} in flight", step.clients * step.depth));
    let name = [kind_of_work(thing.first(), thing), who_does_it(thing), place];
    let cells = vec![
        Some(thing.rate_cell(step)),
        thing.time_cell(step, 0.5, "response_p50_ns"),
        thing.time_cell(step, 0.99, "response_p99_ns"),
    ];
    AnswerRow { name: name.into_iter().filter(|part| !part.is_empty()).collect(), cells }
}

/// `disk, 4 KiB at random`, `rows inserted`
fn kind_of_work(first: &PointAnalysis, thing: &Thing) -> String {
    match (&first.traits.work.io, thing.unit) {
        (Some(io), _) => {
            let pattern = if io.pattern == AccessPattern::Random { "at random" } else { "in sequence" };
            format!("{}, {} {pattern}", thing.who().trim_start_matches("the "), io.block)
        }
        (None, WorkUnit::Rows) => "rows inserted".to_owned(),
        (None, _) => thing.object(),
    }
}

fn who_does_it(thing: &Thing) -> String {
    if thing.first().traits.work.io.is_some() { thing.unit.plural().to_owned() } else { thing.who() }
}

#[cfg(test)]
mod tests {
    use crate::answer::AnswerKind;
    use crate::simulated::{Simulation, inserting, params, run_of};
    use crate::{analyse, answer as answer_of};
    use model::{Bytes, Nanos, Pacing, Value};

    fn read(depth: u32, rate: u64) -> Simulation {
        Simulation::counts(&[rate; 20]).with(|point| {
            (point.trial.target.engine, point.trial.workload.name) = ("file".into(), "file".into());
            let (mode, block) = (Value::Word("rndrd".into()), Value::Bytes(Bytes(4_096)));
            point.trial.workload.params = params(&[("mode", mode), ("block", block), ("direct", Value::Bool(true))]);
            point.trial.load.pacing = Pacing::Closed { think: Nanos(1) };
            point.trial.load.depth = depth;
            let rows = point.phases[0].intervals.iter_mut().flat_map(|interval| &mut interval.kinds);
            rows.for_each(|row| row.bytes = row.ok * 4_096);
        })
    }

    fn insert(engine: &str) -> Simulation {
        inserting(20, 0.0, 0.0, 0.0).with(|point| point.trial.target.engine = engine.into())
    }

    #[test]
    fn unlike_workloads_have_a_row_each_and_the_sentences_that_they_allow() {
        let transactions = Simulation::counts(&[2_000; 20]).with(|point| point.kinds[0].queries_per_op = 16.0);
        let points = vec![read(1, 21_000), read(32, 79_200), insert("sqlite"), insert("fjall"), transactions];
        let answer = answer_of(&analyse(&run_of(points.into_iter().map(Simulation::point).collect(), Vec::new())));
        assert_eq!(answer.kind, AnswerKind::Catalogue);
        let told: Vec<&str> = answer.claims.iter().map(|claim| claim.sentence.as_str()).collect();
        let reads = "The disk reads 79,200 random blocks of 4 KiB per second with 32 requests at a time and can do more; one at a time takes ";
        assert!(told[0].starts_with(reads), "{told:?}");
        assert!(told[1].starts_with("Sqlite inserts ") && told[1].contains(" rows per second and fjall "), "{told:?}");
        assert!(told[2].starts_with("Sqlite serves 2,000 transactions per second (p99 "), "{told:?}");
        let table = answer.table.unwrap();
        let names: Vec<String> = table.rows.iter().map(|row| row.name.join(" | ")).collect();
        let expected = [
            "disk, 4 KiB at random | reads | 1 in flight",
            "disk, 4 KiB at random | reads | 32 in flight",
            "rows inserted | sqlite",
            "rows inserted | fjall",
            "transactions | sqlite",
        ];
        assert_eq!(names, expected);
    }
}
