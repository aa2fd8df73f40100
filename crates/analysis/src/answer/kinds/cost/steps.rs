//! The steps of one sequence: what each costs on the data that those before it have left.

use super::super::super::speech::{amount, plain, short_enough, spoken};
use super::super::super::work::{WorkRate, WorkUnit};
use super::super::super::{Claim, ClaimKind};
use super::super::{AnswerParts, AskedRun, numbers};
use crate::points::metric::Metric;
use crate::points::sweep::is_comparable;
use crate::{PointAnalysis, Setting};
use std::collections::BTreeSet;
use words::list::capital;
use words::quantity::time;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let rows = &run.rows.points;
    let places: BTreeSet<u32> = rows.iter().filter_map(|row| Some(row.traits.work.step.as_ref()?.at)).collect();
    // Two rows of one step differ in something else, which is then compared.
    if rows.len() < 2 || places.len() < rows.len() {
        return None;
    }
    let claims = rows.iter().filter(|row| is_comparable(row)).filter_map(|row| step_claim(run, row));
    Some(AnswerParts {
        question: "What does each step cost?".to_owned(),
        table: numbers::table(run),
        claims: claims.collect(),
        next: None,
    })
}

/// `Inserts with three secondary indexes: 40,300 rows per second, p99 5.30 ms.`
fn step_claim(run: &AskedRun, row: &PointAnalysis) -> Option<Claim> {
    let step = row.settings.iter().find(|setting| setting.is_step()).map(step_words)?;
    let id = run.point_of(row);
    let Some(rate) = WorkRate::of(row) else {
        let seconds = row.duration_s()?;
        let sentence = format!("{step} took {}.", time(seconds * 1e9));
        return Some(Claim::new(ClaimKind::Rate, sentence).figure_at(id, "seconds", seconds, None));
    };
    let p99 = Metric::P99Ns.value(row).map(|p99| p99.value).filter(|_| rate.unit != WorkUnit::Rows);
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

fn step_words(setting: &Setting) -> String {
    capital(&plain(&spoken(setting)))
}

/// `, while 1,000 rows per second were inserted`
fn background_words(row: &PointAnalysis) -> Option<String> {
    let load = row.summary.as_ref()?.background.first()?;
    Some(format!(", while {} rows per second were inserted", amount(load.rows_per_s?)))
}
