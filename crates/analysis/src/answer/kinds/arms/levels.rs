//! What each arm reaches, for a question that asks how many: `MariaDB serves up to 83,700 point selects per second, PostgreSQL 95,000.`
//!
//! In: a comparison. Out: one claim of the highest rates. Limits: what has no room in one sentence is in the table alone.

use crate::PointAnalysis;
use crate::answer::claim::{Claim, ClaimFigure, ClaimKind, WORDS_MAX};
use crate::answer::comparison::{Comparison, done};
use crate::answer::speech::{amount, begins, spoken, words_in};
use crate::answer::{WorkRate, WorkUnit};
use crate::recorded::dimensions::{Role, Setting};
use words::list::join_and;

/// Whether the plan asks for amounts, and not for the better one.
fn asks_how_many(comparison: &Comparison) -> bool {
    comparison
        .run
        .stated_question()
        .is_some_and(|question| ["How many ", "How much "].iter().any(|words| question.starts_with(words)))
}

/// The highest rate of each arm at each sort of work, if the plan asks how many.
pub(super) fn claim(comparison: &Comparison) -> Option<Claim> {
    if !asks_how_many(comparison) {
        return None;
    }
    let works = works(comparison);
    let best_of = |arm: &Setting, work: &Option<&Setting>| -> Option<(WorkRate, Option<u32>)> {
        let of_work = |point: &&PointAnalysis| work.is_none_or(|work| point.settings.has(work));
        let own = comparison.run.usable().filter(|point| point.settings.has(arm)).filter(of_work);
        let rates = own.filter_map(|point| Some((WorkRate::of(point)?, comparison.run.point_of(point))));
        rates.max_by(|a, b| a.0.value.total_cmp(&b.0.value))
    };
    let mut claim = Claim::new(ClaimKind::Rate, String::new());
    let mut parts: Vec<String> = Vec::new();
    for arm in &comparison.arms {
        let (mut amounts, mut per) = (Vec::new(), "");
        for work in &works {
            let (rate, point) = best_of(arm, work)?;
            per = rate.unit.per();
            let noun = work.map_or_else(|| done(rate.unit).to_owned(), spoken);
            // What is counted is named once.
            amounts.push(if parts.is_empty() { format!("{} {noun}", amount(rate.value)) } else { amount(rate.value) });
            let name = rate.unit.figure().to_owned();
            claim.figures.push(ClaimFigure { name, value: rate.value, ci95: rate.ci95, point });
        }
        let amounts = join_and(&amounts);
        parts.push(if parts.is_empty() {
            format!("{} serves up to {amounts} {per}", begins(&spoken(arm)))
        } else {
            format!("{} {amounts}", spoken(arm))
        });
    }
    claim.sentence = format!("{}.", parts.join(", "));
    // Sorts of work have their own names; else all rates must be said with the same words.
    let is_sayable = works.len() > 1 || WorkUnit::common(comparison.run.usable().filter_map(WorkUnit::of)).is_some();
    (words_in(&claim.sentence) <= WORDS_MAX && is_sayable).then_some(claim)
}

/// The sorts of work, if there are several.
fn works<'a>(comparison: &'a Comparison) -> Vec<Option<&'a Setting>> {
    let mut all: Vec<&Setting> = Vec::new();
    for setting in comparison.table.rows.iter().flat_map(|row| &row.place).filter(|one| one.role == Role::Work) {
        if !all.iter().any(|known| known.value == setting.value) {
            all.push(setting);
        }
    }
    if all.len() > 1 { all.into_iter().map(Some).collect() } else { vec![None] }
}
