//! Connections or open transactions, held until the engine refuses one more.

use super::super::super::speech::{short_enough, spoken};
use super::super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind, WORDS_MAX};
use crate::answer::{AnswerParts, AskedRun};
use crate::points::sweep::is_comparable;
use crate::recorded::dimensions::ENGINE;
use crate::{PointAnalysis, Role};
use model::{HoldKind, HoldLimit, HoldOutcome};
use words::list::capital;
use words::quantity::{bytes, whole};

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let points = &run.analysis.points;
    if points.is_empty() || points.iter().any(|point| point.traits.work.hold.is_none()) {
        return None;
    }
    let held: Vec<(&PointAnalysis, HoldKind, &HoldOutcome)> = points
        .iter()
        .filter(|point| is_comparable(point))
        .filter_map(|point| Some((point, point.traits.work.hold?, point.traits.outcome.hold.as_ref()?)))
        .collect();
    let mut claims: Vec<Claim> = held.iter().map(|(point, kind, found)| reached(point, *kind, found)).collect();
    if let [(point, _, found)] = held.as_slice() {
        claims.extend(in_all(point, found));
        claims.extend(memory(point, found));
    }
    Some(AnswerParts { question: "How many can it hold?".to_owned(), table: table(&held), claims, next: None })
}

fn table(held: &[(&PointAnalysis, HoldKind, &HoldOutcome)]) -> Option<AnswerTable> {
    let row = |(point, _, found): &(&PointAnalysis, HoldKind, &HoldOutcome)| {
        let cell = |figure: &str, value: Option<f64>, text: fn(f64) -> String| {
            value.map(|value| AnswerCell::of(Some(point.id), figure, value, text(value)))
        };
        let count = |value: f64| whole(value).to_string();
        AnswerRow {
            name: vec![name_of(point)],
            cells: vec![
                cell("hold_reached", Some(found.reached as f64), count),
                cell("hold_connections", found.connections.map(|all| all as f64), count),
                cell("hold_connections_max", found.connections_max.map(|most| most as f64), count),
                cell("hold_memory_per_connection", found.memory_per_connection(), |each| bytes(each).to_string()),
            ],
        }
    };
    let heads = ["held", "connections", "their limit", "memory each"];
    (!held.is_empty()).then(|| AnswerTable {
        columns: heads.into_iter().map(AnswerColumn::new).collect(),
        rows: held.iter().map(row).collect(),
        rows_of: held.len(),
        ..AnswerTable::default()
    })
}

/// `MariaDB`, and what else distinguishes the point.
fn name_of(point: &PointAnalysis) -> String {
    let engine = point.settings.get(ENGINE).map_or_else(|| point.engine.clone(), spoken);
    let label = point.label.group.iter().chain(&point.label.place);
    let others = label.filter(|setting| !matches!(setting.role, Role::Engine | Role::Workload));
    let others: Vec<String> = others.map(spoken).collect();
    if others.is_empty() { engine } else { format!("{engine}, {}", others.join(", ")) }
}

/// `MariaDB held 596 open transactions and refused the next: ERROR 1040: Too many connections.`
fn reached(point: &PointAnalysis, kind: HoldKind, found: &HoldOutcome) -> Claim {
    let noun = match kind {
        HoldKind::Connections => "connections",
        HoldKind::Transactions => "open transactions",
    };
    let held = format!("{} held {} {noun}", name_of(point), whole(found.reached as f64));
    let error = found.error.as_deref().unwrap_or("no reason was given");
    let sentence = match found.limit {
        HoldLimit::Engine => {
            let refused = format!("{held} and refused the next");
            let room = WORDS_MAX.saturating_sub(refused.split_whitespace().count());
            let words: Vec<&str> = error.split_whitespace().take(room).collect();
            short_enough(vec![format!("{refused}: {}.", words.join(" ").trim_end_matches('.')), format!("{held}.")])
        }
        HoldLimit::Asked => format!("{held}, all that were asked for: its limit is higher."),
        HoldLimit::Interrupted => format!("{held} when the run was ended: its limit is higher."),
        HoldLimit::Plimsoll => format!("{held}; then plimsoll could open no more files, so its limit is higher."),
    };
    Claim::new(ClaimKind::Rate, capital(&sentence)).figure_at(
        Some(point.id),
        "hold_reached",
        found.reached as f64,
        None,
    )
}

/// `It then had 600 connections in all, as many as it allows.`
fn in_all(point: &PointAnalysis, found: &HoldOutcome) -> Option<Claim> {
    let all = found.connections.filter(|_| found.limit == HoldLimit::Engine)?;
    let limit = match found.connections_max {
        Some(most) if most == all => ", as many as it allows".to_owned(),
        Some(most) => format!("; it allows {}", whole(most as f64)),
        None => String::new(),
    };
    let sentence = format!("It then had {} connections in all{limit}.", whole(all as f64));
    Some(Claim::new(ClaimKind::Rate, sentence).figure_at(Some(point.id), "hold_connections", all as f64, None))
}

fn memory(point: &PointAnalysis, found: &HoldOutcome) -> Option<Claim> {
    let each = found.memory_per_connection()?;
    let sentence = format!("Each of them took {} of the server's memory.", bytes(each));
    Some(Claim::new(ClaimKind::Rate, sentence).figure_at(Some(point.id), "hold_memory_per_connection", each, None))
}
