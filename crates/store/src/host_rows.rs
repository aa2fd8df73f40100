//! Records the hosts of a point: who they are, and the rows that they deliver over a bus, exactly once.
//!
//! In: hosts as their agents describe them, and their rows with the numbers that they have on the bus. Out: rows in the run file; and how far
//! they are, for a recorder that starts again.
//! Limits: the rows of one agent are numbered from 1 and come in that order. A row that is in the file already is not written again, so a
//! recorder that does not know how far it was may take all of them once more. Whether a number is missing is for the caller to see. Ticks are
//! those of the run. Phases begin and end for all hosts together, by [`RunWriter::begin_phase`] and [`RunWriter::end_phase`].

use crate::error::StoreError;
use crate::rows::{RowPlace, insert_event, insert_source, prepare_cached, sql_int, to_json};
use crate::writer::insert_batch;
use crate::{Batch, PointId, RunWriter};
use model::{BusPosition, CounterSample, Event, HostId, HostRows, Phase, PointHost};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::HashSet;

impl RunWriter {
    /// Enters a host of a point, or what has become known of it since: the role, share, facts and clock. The number belongs to one agent:
    /// name and incarnation stay as they were entered first.
    pub fn set_host(&mut self, point: PointId, host: &PointHost) -> Result<(), StoreError> {
        self.in_transaction("enter a host in", |tx, _| insert_host(tx, point, host))
    }

    /// Records the rows of a host, which was entered before, and their number `row` on the bus in one transaction. Returns false if a row of
    /// this number or a later one is in the file; nothing is written then.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] if they are of a phase that did not begin, of a kind of operation that the point does not have, or of a source
    /// that the host did not describe.
    pub fn record_of_host(
        &mut self,
        point: PointId,
        host: HostId,
        row: u64,
        rows: &HostRows,
    ) -> Result<bool, StoreError> {
        let place = RowPlace { point, host };
        let recorded = self.in_transaction("record rows of a host in", |tx, encoder| {
            if !is_new(tx, place, row)? {
                return Ok(Ok(false));
            }
            let numbers = source_numbers(tx, place, rows)?;
            let counters = match fit(tx, place, rows, &numbers)? {
                Ok(counters) => counters,
                Err(what) => return Ok(Err(what)),
            };
            let described = numbers.iter().skip(numbers.len() - rows.sources.len());
            described
                .zip(&rows.sources)
                .try_for_each(|(known, source)| insert_source(tx, place, known.number, source))?;
            let HostRows { intervals, events, stacks, endpoints, .. } = rows;
            insert_batch(tx, encoder, place, &Batch { intervals, counters: &counters, events, stacks, endpoints })?;
            move_position(tx, place, row).map(|()| Ok(true))
        })?;
        recorded.map_err(|what| self.unfit(host, what))
    }

    /// Records what the recorder noticed of a host that was entered before: that it is lost, or that its clock jumped.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] if the point has no such host.
    pub fn record_event_of_host(&mut self, point: PointId, host: HostId, event: &Event) -> Result<(), StoreError> {
        let place = RowPlace { point, host };
        let is_known = self.in_transaction("record an event in", |tx, _| {
            let is_known = has_host(tx, place)?;
            if is_known {
                insert_event(tx, place, event)?;
            }
            Ok(is_known)
        })?;
        if is_known { Ok(()) } else { Err(self.unfit(host, no_such_host(point))) }
    }

    fn unfit(&self, host: HostId, what: String) -> StoreError {
        StoreError::Unfit { path: self.path.clone(), host, what }
    }

    /// How far the rows of each host are in the file, in the order of points and hosts. A host of which nothing came is not among them.
    pub fn bus_positions(&self) -> Result<Vec<BusPosition>, StoreError> {
        const POSITIONS: &str = "SELECT p.point, p.host, h.name, h.incarnation, p.last_row
            FROM bus_position p JOIN host h ON h.point = p.point AND h.host = p.host ORDER BY p.point, p.host";
        let read = self.db.prepare(POSITIONS).and_then(|mut query| query.query_map([], position_of)?.collect());
        read.map_err(|error| StoreError::sqlite(&self.path, "read", error))
    }
}

fn position_of(row: &Row) -> rusqlite::Result<BusPosition> {
    Ok(BusPosition {
        point: row.get(0)?,
        host: HostId(row.get(1)?),
        name: row.get(2)?,
        incarnation: row.get(3)?,
        row: u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
    })
}

fn insert_host(tx: &Transaction, point: PointId, host: &PointHost) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(
        tx,
        "INSERT INTO host VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (point, host) DO UPDATE SET role = ?5, clients = ?6, part = ?7, facts = ?8, clock_offset_ns = ?9,
                                                 clock_bound_ns = ?10, start_skew_ns = ?11",
    )?;
    let PointHost { id, name, incarnation, role, share, facts, clock, start_skew_ns } = host;
    let values = params![
        point.0,
        id.0,
        name,
        incarnation,
        role.as_str(),
        share.map(|share| share.clients),
        share.map(|share| share.part),
        to_json(facts)?,
        clock.map(|clock| clock.offset_ns),
        clock.map(|clock| sql_int(clock.bound_ns)),
        start_skew_ns,
    ];
    insert.execute(values).map(drop)
}

/// Whether no row of this number or a later one is in the file.
fn is_new(tx: &Transaction, place: RowPlace, row: u64) -> rusqlite::Result<bool> {
    let mut query = prepare_cached(tx, "SELECT last_row FROM bus_position WHERE point = ?1 AND host = ?2")?;
    let last = query.query_row(params![place.point.0, place.host.0], |row| row.get::<_, i64>(0)).optional()?;
    Ok(last.is_none_or(|last| sql_int(row) > last))
}

fn move_position(tx: &Transaction, place: RowPlace, row: u64) -> rusqlite::Result<()> {
    let mut insert = prepare_cached(
        tx,
        "INSERT INTO bus_position VALUES (?1, ?2, ?3) ON CONFLICT (point, host) DO UPDATE SET last_row = ?3",
    )?;
    insert.execute(params![place.point.0, place.host.0, sql_int(row)]).map(drop)
}

/// A source of a host.
struct HostSource {
    /// Its number in the point.
    number: u16,
    /// How many counters it has.
    counters: u32,
}

/// The sources of the host in the order in which it described them, those of `rows` behind the others, with numbers that no source of the
/// point has.
fn source_numbers(tx: &Transaction, place: RowPlace, rows: &HostRows) -> rusqlite::Result<Vec<HostSource>> {
    const KNOWN: &str =
        "SELECT source, json_array_length(counters) FROM source WHERE point = ?1 AND host = ?2 ORDER BY source";
    let mut query = prepare_cached(tx, KNOWN)?;
    let known = query.query_map(params![place.point.0, place.host.0], |row| {
        Ok(HostSource { number: row.get(0)?, counters: row.get(1)? })
    })?;
    let mut all: Vec<HostSource> = known.collect::<rusqlite::Result<_>>()?;
    let mut count = prepare_cached(tx, "SELECT count(*) FROM source WHERE point = ?1")?;
    let next: u16 = count.query_row([place.point.0], |row| row.get(0))?;
    let described = (next..).zip(&rows.sources);
    all.extend(described.map(|(number, source)| HostSource { number, counters: source.counters.len() as u32 }));
    Ok(all)
}

/// The counters of `rows` with the numbers of their sources in the point; or what of `rows` has no place in it.
fn fit(
    tx: &Transaction,
    place: RowPlace,
    rows: &HostRows,
    sources: &[HostSource],
) -> rusqlite::Result<Result<Vec<CounterSample>, String>> {
    if !has_host(tx, place)? {
        return Ok(Err(no_such_host(place.point)));
    }
    if let Some(phase) = phase_that_did_not_begin(tx, place.point, rows)? {
        return Ok(Err(format!("the phase `{}` did not begin", phase.as_str())));
    }
    let kinds: u16 = prepare_cached(tx, "SELECT count(*) FROM kind WHERE point = ?1")?
        .query_row([place.point.0], |row| row.get(0))?;
    let mut done = rows.intervals.iter().flat_map(|row| &row.kinds);
    if let Some(unknown) = done.find(|kind| u16::from(kind.kind.0) >= kinds) {
        return Ok(Err(format!("the point has no operations of kind {}", unknown.kind.0)));
    }
    Ok(rows.counters.iter().map(|sample| renumber(sample, sources)).collect())
}

fn has_host(tx: &Transaction, place: RowPlace) -> rusqlite::Result<bool> {
    let mut query = prepare_cached(tx, "SELECT 1 FROM host WHERE point = ?1 AND host = ?2")?;
    query.exists(params![place.point.0, place.host.0])
}

fn no_such_host(point: PointId) -> String {
    format!("point {} has no such host", point.0)
}

/// A phase that `rows` are of, and that did not begin.
fn phase_that_did_not_begin(tx: &Transaction, point: PointId, rows: &HostRows) -> rusqlite::Result<Option<Phase>> {
    let of_intervals = rows.intervals.iter().map(|row| row.phase);
    let phases: HashSet<Phase> = of_intervals.chain(rows.endpoints.iter().map(|one| one.phase)).collect();
    let mut begun = prepare_cached(tx, "SELECT 1 FROM phase WHERE point = ?1 AND phase = ?2")?;
    for phase in phases {
        if !begun.exists(params![point.0, phase.as_str()])? {
            return Ok(Some(phase));
        }
    }
    Ok(None)
}

/// `sample` with the number that its source has in the point; or why it is none.
fn renumber(sample: &CounterSample, sources: &[HostSource]) -> Result<CounterSample, String> {
    match sources.get(usize::from(sample.source)) {
        Some(source) if source.counters as usize == sample.values.len() => {
            Ok(CounterSample { source: source.number, ..sample.clone() })
        }
        _ => Err(format!("a reading of its source {} does not fit what it described", sample.source)),
    }
}
