//! The steps of one sequence: what each costs on the data that those before it have left.

use super::super::super::speech::{amount, plain, short_enough, spoken};
use super::super::super::{Claim, ClaimKind};
use super::super::numbers;
use crate::answer::{AnswerParts, AskedRun};
use crate::points::metric::Metric;
use crate::points::sweep::{is_comparable, is_usable};
use crate::points::work::{WorkRate, WorkUnit};
use crate::{PointAnalysis, Setting};
use model::{Percentile, StepIndexes};
use std::collections::BTreeSet;
use words::list::capital;
use words::quantity::{number, plural, time};

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let rows = &run.rows.points;
    let places: BTreeSet<u32> = rows.iter().filter_map(|row| Some(row.traits.work.step.as_ref()?.at)).collect();
    // Two rows of one step differ in something else, which is then compared.
    if rows.len() < 2 || places.len() < rows.len() {
        return None;
    }
    let rows: Vec<&PointAnalysis> = rows.iter().filter(|row| is_comparable(row)).collect();
    let whole = sequence_claim(run, &rows);
    let others = rows.iter().filter(|row| whole.is_none() || !is_of_sequence(row));
    let others: Vec<Claim> = others.filter_map(|row| step_claim(run, row)).collect();
    let mut table = numbers::table(run);
    // Nothing but the step distinguishes them.
    for (shown, row) in
        table.iter_mut().flat_map(|table| &mut table.rows).zip(run.rows.points.iter().filter(|row| is_usable(row)))
    {
        shown.name = step_name(run, row).map_or_else(|| shown.name.clone(), |name| vec![name]);
    }
    Some(AnswerParts {
        question: "What does each step cost?".to_owned(),
        table,
        claims: whole.into_iter().chain(others).collect(),
        next: None,
    })
}

fn step_of(row: &PointAnalysis) -> Option<&Setting> {
    row.settings.iter().find(|setting| setting.is_step())
}

/// What the step of `row` is called; if another is called the same, with how many rows it commits, or the word that plans have for it.
fn step_name(run: &AskedRun, row: &PointAnalysis) -> Option<String> {
    let phrase = |row: &PointAnalysis| Some(plain(&spoken(step_of(row)?)));
    let (name, step) = (phrase(row)?, step_of(row)?);
    let namesakes = run.rows.points.iter().filter(|other| phrase(other).as_ref() == Some(&name)).count();
    let rows = row.summary.as_ref().filter(|_| inserts(row)).and_then(|own| Some(own.rows_per_s? / own.ops_per_s));
    Some(match rows {
        _ if namesakes < 2 => name,
        Some(rows) => format!("{name}, {} per commit", plural(rows.round() as u64, "row")),
        None => format!("{name} ({})", step.value),
    })
}

fn indexes_of(row: &PointAnalysis) -> Option<StepIndexes> {
    row.traits.work.step.as_ref().map(|step| step.indexes)
}

fn inserts(row: &PointAnalysis) -> bool {
    WorkUnit::of(row) == Some(WorkUnit::Rows)
}

/// Whether it inserts before the indexes are made, or makes them, or inserts afterwards.
fn is_of_sequence(row: &PointAnalysis) -> bool {
    inserts(row) || indexes_of(row) == Some(StepIndexes::Made)
}

/// `Inserts: 528,000 rows per second without indexes, 15,300 with them (34.5 times slower); building the indexes took 84.0 ms.` `None` unless
/// rows were inserted once without and once with indexes.
fn sequence_claim(run: &AskedRun, rows: &[&PointAnalysis]) -> Option<Claim> {
    let only = |with: StepIndexes, inserting: bool| {
        let mut fitting = rows.iter().filter(|row| indexes_of(row) == Some(with) && inserts(row) == inserting);
        fitting.next().filter(|_| fitting.next().is_none()).copied()
    };
    let (without, with) = (only(StepIndexes::NotAtStart, true)?, only(StepIndexes::Kept, true)?);
    let [before, after] = [without, with].map(|row| WorkRate::of(row).map(|rate| rate.value));
    let (before, after) = (before?, after.filter(|per_s| *per_s > 0.0)?);
    let times = before / after;
    let change = if times > 1.05 {
        format!(" ({} times slower)", number(times))
    } else if times < 1.0 / 1.05 {
        format!(" ({} times as fast)", number(1.0 / times))
    } else {
        String::new()
    };
    let built = only(StepIndexes::Made, false).and_then(PointAnalysis::duration_s);
    let building =
        built.map_or(String::new(), |seconds| format!("; building the indexes took {}", time(seconds * 1e9)));
    let rates = format!("{} rows per second without indexes, {} with them", amount(before), amount(after));
    let claim = Claim::new(ClaimKind::Difference, format!("Inserts: {rates}{change}{building}."));
    let claim = claim.figure_at(run.point_of(without), "rows_per_s", before, None).figure_at(
        run.point_of(with),
        "rows_per_s",
        after,
        None,
    );
    Some(claim.figure("ratio", times, None))
}

/// `Inserts with three secondary indexes: 40,300 rows per second, p99 5.30 ms.`
fn step_claim(run: &AskedRun, row: &PointAnalysis) -> Option<Claim> {
    let step = capital(&step_name(run, row)?);
    let id = run.point_of(row);
    let Some(rate) = WorkRate::of(row) else {
        let seconds = row.duration_s()?;
        let sentence = format!("{step} took {}.", time(seconds * 1e9));
        return Some(Claim::new(ClaimKind::Rate, sentence).figure_at(id, "seconds", seconds, None));
    };
    let p99 = Metric::Response(Percentile::P99).value(row).map(|p99| p99.value).filter(|_| rate.unit != WorkUnit::Rows);
    let beside = background_words(row);
    let reaches = format!("{step}: {} {}", amount(rate.value), rate.unit.spoken());
    let p99_words = p99.map_or(String::new(), |ns| format!(", p99 {}", time(ns)));
    let sentence = short_enough(vec![
        format!("{reaches}{p99_words}{}.", beside.as_deref().unwrap_or_default()),
        format!("{reaches}{p99_words}."),
    ]);
    let claim = Claim::new(ClaimKind::Rate, sentence).figure_at(id, rate.unit.figure(), rate.value, rate.ci95);
    Some(match p99 {
        Some(ns) => claim.figure_at(id, "response_p99_ns", ns, None),
        None => claim,
    })
}

/// `, while 1,000 rows per second were inserted`
fn background_words(row: &PointAnalysis) -> Option<String> {
    let load = row.summary.as_ref()?.background.first()?;
    Some(format!(", while {} rows per second were inserted", amount(load.rows_per_s?)))
}
