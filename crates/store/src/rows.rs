//! Writes single rows of a run file: what one SQL statement is for.
//!
//! In: rows as the measuring half makes them, and whose they are. Out: rows of the tables in `schema.sql`. Limits: each function works in the
//! transaction of its caller. Times above 292 years are stored as 292 years.

use crate::PointId;
use crate::hdr::Encoder;
use model::{
    CounterSample, EndpointInterval, Event, HostId, IntervalRow, KindRow, RowCounts, SourceDef, StackSnapshot,
};
use rusqlite::{CachedStatement, Transaction, params};
use serde::Serialize;
use std::fmt::Write;

/// Whose a row is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    pub(crate) point: PointId,
    pub(crate) host: HostId,
}

impl RowPlace {
    /// The machine that records `point`.
    pub(crate) fn of_recorder(point: PointId) -> RowPlace {
        RowPlace { point, host: HostId::RECORDER }
    }
}

pub(crate) fn insert_source(
    tx: &Transaction,
    place: RowPlace,
    number: u16,
    source: &SourceDef,
) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO source VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    insert
        .execute(params![place.point.0, number, source.name, source.subject, to_json(&source.counters)?, place.host.0,])
        .map(drop)
}

/// The rows of one interval: at least one in `interval`, so that an interval in which nothing ended is on record.
pub(crate) fn insert_interval(
    tx: &Transaction,
    encoder: &mut Encoder,
    place: RowPlace,
    row: &IntervalRow,
) -> rusqlite::Result<()> {
    if row.kinds.is_empty() {
        insert_empty(tx, place, row)?;
    }
    for kind in &row.kinds {
        insert_kind(tx, place, row, kind)?;
        insert_rows(tx, place, row, kind)?;
        insert_histograms(tx, encoder, place, row, kind)?;
    }
    insert_generator(tx, place, row)
}

fn insert_empty(tx: &Transaction, place: RowPlace, row: &IntervalRow) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO interval VALUES (?1, ?2, ?3, ?4, ?5, NULL, 0, 0, 0, 0, ?6)")?;
    insert
        .execute(params![
            place.point.0,
            row.phase.as_str(),
            row.index,
            sql_int(row.start.0),
            sql_int(row.length.0),
            place.host.0
        ])
        .map(drop)
}

fn insert_kind(tx: &Transaction, place: RowPlace, row: &IntervalRow, kind: &KindRow) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO interval VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    let values = params![
        place.point.0,
        row.phase.as_str(),
        row.index,
        sql_int(row.start.0),
        sql_int(row.length.0),
        kind.kind.0,
        sql_int(kind.ok),
        sql_int(kind.failed),
        sql_int(kind.bytes),
        sql_int(kind.late),
        place.host.0,
    ];
    insert.execute(values).map(drop)
}

fn insert_rows(tx: &Transaction, place: RowPlace, row: &IntervalRow, kind: &KindRow) -> rusqlite::Result<()> {
    let RowCounts { returned, changed, missed, idle, commits } = kind.rows;
    if kind.rows.is_zero() {
        return Ok(());
    }
    let mut insert = prepare_cached(tx, "INSERT INTO interval_rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    let values = params![
        place.point.0,
        row.phase.as_str(),
        row.index,
        kind.kind.0,
        sql_int(returned),
        sql_int(changed),
        sql_int(missed),
        sql_int(idle),
        place.host.0,
    ];
    insert.execute(values)?;
    if commits == 0 {
        return Ok(());
    }
    let mut insert = prepare_cached(tx, "INSERT INTO interval_commits VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let place = params![place.point.0, row.phase.as_str(), row.index, kind.kind.0, sql_int(commits), place.host.0];
    insert.execute(place).map(drop)
}

fn insert_histograms(
    tx: &Transaction,
    encoder: &mut Encoder,
    place: RowPlace,
    row: &IntervalRow,
    kind: &KindRow,
) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO histogram VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    // A response time is never below its service time, so equal sums are equal times of every operation.
    let histograms = if kind.response == kind.service {
        [Some(("both", &kind.service)), None]
    } else {
        [Some(("response", &kind.response)), Some(("service", &kind.service))]
    };
    for (what, times) in histograms.into_iter().flatten().filter(|(_, times)| !times.is_empty()) {
        insert.execute(params![
            place.point.0,
            row.phase.as_str(),
            row.index,
            kind.kind.0,
            what,
            sql_int(times.len()),
            sql_int(u64::try_from(times.sum_ns()).unwrap_or(u64::MAX)),
            sql_int(times.max_ns()),
            encoder.encode(times),
            place.host.0,
        ])?;
    }
    Ok(())
}

fn insert_generator(tx: &Transaction, place: RowPlace, row: &IntervalRow) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO generator VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let used = &row.generator;
    let values = params![
        place.point.0,
        row.phase.as_str(),
        row.index,
        sql_int(used.cpu_user_ns),
        sql_int(used.cpu_system_ns),
        sql_int(used.context_switches),
        sql_int(used.lag_count),
        sql_int(used.lag_sum_ns),
        sql_int(used.lag_max_ns),
        place.host.0,
    ];
    insert.execute(values).map(drop)
}

pub(crate) fn insert_counter(tx: &Transaction, point: PointId, sample: &CounterSample) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO counter VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![point.0, sql_int(sample.at.0), sample.source, json_numbers(&sample.values)]).map(drop)
}

pub(crate) fn insert_event(tx: &Transaction, place: RowPlace, event: &Event) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)")?;
    insert
        .execute(params![place.point.0, sql_int(event.at.0), to_word(&event.kind)?, event.text, place.host.0])
        .map(drop)
}

pub(crate) fn insert_stacks(tx: &Transaction, place: RowPlace, snapshot: &StackSnapshot) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(tx, "INSERT INTO stack_snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let StackSnapshot { at, reason, tool, took, stopped, stacks } = snapshot;
    let values = params![
        place.point.0,
        sql_int(at.0),
        reason.as_str(),
        tool,
        sql_int(took.0),
        sql_int(stopped.0),
        model::stacks::fold_stacks(stacks),
        place.host.0,
    ];
    insert.execute(values).map(drop)
}

pub(crate) fn insert_endpoint(
    tx: &Transaction,
    encoder: &mut Encoder,
    place: RowPlace,
    one: &EndpointInterval,
) -> rusqlite::Result<()> {
    let mut insert =
        prepare_cached(tx, "INSERT INTO endpoint_interval VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let EndpointInterval { phase, index, row } = one;
    let values = params![
        place.point.0,
        phase.as_str(),
        index,
        row.endpoint,
        to_json(&row.failed)?,
        sql_int(row.ok),
        (row.ok > 0).then(|| encoder.encode(&row.response)),
        sql_int(u64::try_from(row.response.sum_ns()).unwrap_or(u64::MAX)),
        sql_int(row.response.max_ns()),
        place.host.0,
    ];
    insert.execute(values).map(drop)
}

pub(crate) fn prepare_cached<'a>(tx: &'a Transaction, sql: &str) -> rusqlite::Result<CachedStatement<'a>> {
    tx.prepare_cached(sql)
}

/// A number for SQLite, whose integers are signed.
pub(crate) fn sql_int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(json_error)
}

/// The word by which one of several things is written.
pub(crate) fn to_word(value: &impl Serialize) -> rusqlite::Result<String> {
    let value = serde_json::to_value(value).map_err(json_error)?;
    Ok(value.as_str().expect("it is one of several words").to_owned())
}

/// What cannot be written as JSON: a path that is not UTF-8.
pub(crate) fn json_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// A JSON array with `null` for gaps. Whole numbers come without `.0`, which makes the file a tenth smaller.
fn json_numbers(values: &[Option<f64>]) -> String {
    let mut text = String::with_capacity(values.len() * 10 + 2);
    text.push('[');
    for (at, value) in values.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let written = match value.filter(|number| number.is_finite()) {
            Some(number) => write!(text, "{comma}{number}"),
            None => write!(text, "{comma}null"),
        };
        written.expect("a string takes every write");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_short_and_gaps_as_null() {
        let values = [Some(12_000_000_000.0), None, Some(0.5), Some(f64::NAN), Some(-3.0)];
        assert_eq!(json_numbers(&values), "[12000000000,null,0.5,null,-3]");
        assert_eq!(json_numbers(&[]), "[]");
    }
}
