//! Many lines, each compared by itself: how many differ, which most, and how far the others are alike.
//!
//! In: the relative table of engines, versions or settings over at least six sorts of work. Out: two claims for each arm, one of those that are
//! alike, and the tests that differ most. Limits: at most 5 % of the differences are false, as in the relative table.

use super::arms::{by_place, has_column_for_each_arm, ratio_cell, speed_cell, undecided};
use crate::answer::claim::{Claim, ClaimKind};
use crate::answer::comparison::{ArmEffects, Comparison};
use crate::answer::effect::PlaceEffect;
use crate::answer::places::axes;
use crate::answer::speech::{self, fine, number_word, size, spoken, under, with};
use crate::answer::{AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun};
use crate::math::ratio::RatioVerdict;
use crate::points::relative::RelativeRow;
use crate::recorded::dimensions::{Role, Setting};
use std::collections::BTreeSet;
use words::list::capital;

/// So many sorts of work are a suite.
const LINES_MIN: usize = 6;
/// The most lines of the table.
const LINES_MAX: usize = 5;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let comparison = Comparison::of(run)?;
    let sorts = comparison.places().iter().map(|place| line_name(place)).collect::<BTreeSet<_>>();
    if sorts.len() < LINES_MIN {
        return None;
    }
    let arms = &comparison.table.arms;
    let effects: Vec<ArmEffects> = (0..arms.len() - 1).map(|nth| comparison.effects(nth)).collect();
    let of_arm = |(arm, own): (&Setting, &ArmEffects)| {
        let all = [differences(arm, &arms[0], &own.decided), largest(arm, &arms[0], &own.decided)];
        all.into_iter().flatten().collect::<Vec<_>>()
    };
    let mut claims: Vec<Claim> = arms[1..].iter().zip(&effects).flat_map(of_arm).collect();
    claims.extend(alike(&effects));
    if claims.is_empty() {
        claims = undecided(&comparison, &effects);
    }
    claims.extend(comparison.not_ranked.clone());
    claims.splice(0..0, comparison.missing.clone());
    Some(AnswerParts {
        question: format!("Which tests differ {}?", with(&arms[1])),
        table: Some(table(&comparison)),
        claims,
        next: None,
    })
}

/// The sort of work of a place: its step, its mix.
fn line_name(place: &[&Setting]) -> String {
    let work = place.iter().filter(|setting| setting.role == Role::Work);
    work.map(|setting| spoken(setting)).collect::<Vec<_>>().join(" ")
}

/// `PostgreSQL is slower than MariaDB in 14 of 47 tests and faster in 20.`
fn differences(arm: &Setting, base: &Setting, effects: &[PlaceEffect]) -> Option<Claim> {
    let count = |verdict| effects.iter().filter(|one| one.effect.verdict == verdict).count();
    let (faster, slower, all) = (count(RatioVerdict::Faster), count(RatioVerdict::Slower), effects.len());
    let (arm, base) = if arm.role == Role::Engine {
        (format!("{} is", capital(&spoken(arm))), spoken(base))
    } else {
        (format!("{} it is", capital(&under(arm))), under(base))
    };
    let sentence = match (faster, slower) {
        (0, 0) => return None,
        (faster, 0) => format!("{arm} faster than {base} in {faster} of {all} tests, and slower in none."),
        (0, slower) => format!("{arm} slower than {base} in {slower} of {all} tests, and faster in none."),
        (faster, slower) => format!("{arm} faster than {base} in {faster} of {all} tests, and slower in {slower}."),
    };
    let (faster, slower) = (faster as f64, slower as f64);
    Some(Claim::new(ClaimKind::Difference, sentence).figure("faster", faster, None).figure("slower", slower, None))
}

/// `It gains most in point selects (2.30 times as fast) and loses most in scans (0.48 times).`
fn largest(arm: &Setting, base: &Setting, effects: &[PlaceEffect]) -> Option<Claim> {
    let end = |verdict: RatioVerdict| {
        let shown = effects.iter().filter(move |one| one.effect.verdict == verdict);
        shown.max_by(|a, b| a.effect.ratio.ln().abs().total_cmp(&b.effect.ratio.ln().abs()))
    };
    let said = |one: &PlaceEffect| format!("{} ({} times as fast)", line_name(&one.place), fine(one.effect.ratio));
    let (best, worst) = (end(RatioVerdict::Faster), end(RatioVerdict::Slower));
    let who = if arm.role == Role::Engine { capital(&spoken(arm)) } else { format!("{}, it", capital(&under(arm))) };
    let against = if arm.role == Role::Engine { format!(" against {}", spoken(base)) } else { String::new() };
    let sentence = match (best, worst) {
        (None, None) => return None,
        (Some(best), None) => format!("{who} gains most{against} in {}.", said(best)),
        (None, Some(worst)) => format!("{who} loses most{against} in {}.", said(worst)),
        (Some(best), Some(worst)) => {
            format!("{who} gains most{against} in {} and loses most in {}.", said(best), said(worst))
        }
    };
    let ends = best.into_iter().chain(worst);
    Some(ends.fold(Claim::new(ClaimKind::Difference, sentence), |claim, one| {
        claim.figure("ratio", one.effect.ratio, one.effect.ci95)
    }))
}

/// How far the lines without a difference are alike.
fn alike(effects: &[ArmEffects]) -> Option<Claim> {
    let all: Vec<&PlaceEffect> = effects.iter().flat_map(|own| &own.decided).collect();
    let even: Vec<&PlaceEffect> = all.iter().copied().filter(|one| !one.effect.verdict.is_difference()).collect();
    let smallest = even.iter().filter_map(|one| one.effect.smallest_effect).filter(|one| one.is_finite());
    let mut smallest: Vec<f64> = smallest.collect();
    smallest.sort_by(f64::total_cmp);
    let middle = *smallest.get(smallest.len() / 2)?;
    let lines = match even.len() {
        all_even if all_even == all.len() => format!("All {all_even} tests show"),
        1 => "One test shows".to_owned(),
        some => format!("{} tests show", capital(&number_word(some as u32))),
    };
    let sentence = format!("{lines} no difference; half of them would have shown one of {}.", size(middle));
    Some(Claim::new(ClaimKind::NoDifference, sentence).figure("smallest_effect", middle, None))
}

/// All lines, if arms and lines are few; else the lines that differ most.
fn table(comparison: &Comparison) -> AnswerTable {
    if has_column_for_each_arm(comparison) {
        let places = comparison.places();
        return by_place(comparison, &places, &axes(&places));
    }
    let arms = &comparison.table.arms;
    let mut speeds: Vec<&RelativeRow> = comparison.table.rows.iter().filter(|row| row.metric.is_speed()).collect();
    let rows_of = speeds.len();
    let weight = |row: &RelativeRow| {
        let shown = row.cells.iter().flatten().filter(|cell| cell.ratio.verdict.is_difference());
        shown.map(|cell| cell.ratio.ratio.ln().abs()).fold(0.0, f64::max)
    };
    speeds.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let places = comparison.places();
    let is_wide = arms.len() == 2;
    let rows = speeds.into_iter().take(LINES_MAX).map(|speed| {
        let place: Vec<&Setting> = speed.place.iter().collect();
        let values = arms.iter().map(|arm| speed_cell(comparison.row(&place, arm)?, false));
        let ratios = speed.cells.iter().map(|cell| ratio_cell(comparison, speed, (*cell)?, is_wide));
        let cells = if is_wide { values.chain(ratios).collect() } else { values.take(1).chain(ratios).collect() };
        let others = place.iter().filter(|one| one.role != Role::Work && !places.iter().all(|all| all.contains(one)));
        let name = [line_name(&place)].into_iter().chain(others.map(|one| speech::row(one)));
        AnswerRow { name: name.collect(), cells }
    });
    let heads: Vec<String> = if is_wide {
        arms.iter().map(speech::column).chain(["ratio (95 %)".to_owned()]).collect()
    } else {
        arms.iter().map(speech::column).collect()
    };
    let head = "the tests that differ most".to_owned();
    let columns = heads.into_iter().map(|head| AnswerColumn { head }).collect();
    AnswerTable { head, columns, rows: rows.collect(), rows_of, conditions: String::new() }
}
