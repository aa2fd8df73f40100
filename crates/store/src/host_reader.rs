//! The hosts of a point as they are read: whose a row is, and the sums over all hosts.
//!
//! In: rows of tables that name a host. Out: the places in a [`PointData`] to which they are added: that of all hosts together, and that of
//! the host itself. Limits: a row of a host that the point does not have is damage.

use crate::budget::Budget;
use crate::cells::{json_cell, phase_of, read_amount, read_cell, read_count, read_name, word_cell};
use crate::error::ReadFault;
use model::{
    Event, Generator, HostClock, HostData, HostId, HostPhase, Interval, LoadShare, Nanos, Phase, PointData, PointHost,
    Readings, SourceDef, Tick,
};
use rusqlite::Row;

/// The host of a row of its table.
pub(crate) fn host_in(row: &Row) -> Result<PointHost, ReadFault> {
    let clients: Option<u32> = read_cell(row, 5)?;
    let part = read_cell::<Option<f64>>(row, 6)?.map(|_| read_amount(row, 6)).transpose()?;
    let offset_ns: Option<i64> = read_cell(row, 8)?;
    let bound_ns = read_cell::<Option<i64>>(row, 9)?.map(|_| read_count(row, 9)).transpose()?;
    Ok(PointHost {
        id: HostId(read_cell(row, 1)?),
        name: read_name(row, 2)?,
        incarnation: read_cell(row, 3)?,
        role: word_cell(row, 4, "host.role")?,
        share: clients.zip(part).map(|(clients, part)| LoadShare { clients, part }),
        facts: json_cell(row, 7, "host.facts")?,
        clock: offset_ns.zip(bound_ns).map(|(offset_ns, bound_ns)| HostClock { offset_ns, bound_ns }),
        start_skew_ns: read_cell(row, 10)?,
    })
}

/// What is read on one host.
pub(crate) struct HostRecords<'a> {
    pub(crate) sources: &'a mut Vec<SourceDef>,
    pub(crate) counters: &'a mut Readings,
    pub(crate) events: &'a mut Vec<Event>,
}

/// The records of `host`; those of the recorder are those of the point.
pub(crate) fn records_of(point: &mut PointData, host: HostId) -> Result<HostRecords<'_>, ReadFault> {
    if host == HostId::RECORDER {
        let PointData { sources, counters, events, .. } = point;
        return Ok(HostRecords { sources, counters, events });
    }
    let HostData { sources, counters, events, .. } = host_of(point.id, &mut point.hosts, host)?;
    Ok(HostRecords { sources, counters, events })
}

/// The host of that number, which the point must have.
fn host_of(point: u32, hosts: &mut [HostData], id: HostId) -> Result<&mut HostData, ReadFault> {
    let known = hosts.iter_mut().find(|known| known.host.id == id);
    known.ok_or_else(|| ReadFault::wrong(format!("there are rows of host {} of point {point}, which it has not", id.0)))
}

/// The interval that columns 1 and 2 name: that of all hosts together, and that of `host` if the point has several.
pub(crate) fn intervals_of<'a>(
    point: &'a mut PointData,
    budget: &mut Budget,
    row: &Row,
    host: HostId,
) -> Result<Vec<&'a mut Interval>, ReadFault> {
    let (word, index): (Phase, u32) = (phase_of(row)?, read_cell(row, 2)?);
    let length = point.trial.phases.interval;
    let Some(phase) = point.phases.iter_mut().find(|known| known.phase == word) else {
        return Err(ReadFault::wrong(format!("there are intervals of a phase `{}` that did not begin", word.as_str())));
    };
    let (count, start) = (u64::from(index) + 1, phase.start);
    fill_intervals(&mut phase.intervals, start, count, length, budget)?;
    let mut found = vec![&mut phase.intervals[index as usize]];
    // The recorder is a host of its own only if it takes part in a point of several.
    if host != HostId::RECORDER || point.hosts.first().is_some_and(|first| first.host.id == host) {
        let own = host_of(point.id, &mut point.hosts, host)?;
        let place = own.phases.iter().position(|known| known.phase == word).unwrap_or_else(|| {
            own.phases.push(HostPhase { phase: word, intervals: Vec::new() });
            own.phases.len() - 1
        });
        let intervals = &mut own.phases[place].intervals;
        fill_intervals(intervals, start, count, length, budget)?;
        found.push(&mut intervals[index as usize]);
    }
    Ok(found)
}

/// Gives the recorder its part of the point if it is one of several hosts, and puts the records of all of them in order.
pub(crate) fn settle_hosts(point: &mut PointData, budget: &mut Budget) -> Result<(), ReadFault> {
    let length = point.trial.phases.interval;
    if let Some(recorder) = point.hosts.iter_mut().find(|known| known.host.id == HostId::RECORDER) {
        (recorder.sources, recorder.counters) = (point.sources.clone(), point.counters.clone());
        recorder.events = point.events.clone();
    }
    for host in &mut point.hosts {
        for own in &mut host.phases {
            let Some(all) = point.phases.iter().find(|known| known.phase == own.phase) else { continue };
            fill_intervals(&mut own.intervals, all.start, all.intervals.len() as u64, length, budget)?;
            own.intervals.iter_mut().for_each(|interval| interval.kinds.sort_by_key(|kind| kind.kind.0));
        }
        host.phases.sort_by_key(|phase| phase.phase);
        host.counters.settle();
        host.events.sort_by_key(|event| event.at);
    }
    Ok(())
}

/// Adds empty intervals of a phase that began at `start` until there are `count`.
pub(crate) fn fill_intervals(
    intervals: &mut Vec<Interval>,
    start: Tick,
    count: u64,
    length: Nanos,
    budget: &mut Budget,
) -> Result<(), ReadFault> {
    let have = intervals.len() as u64;
    budget.count_intervals(count.saturating_sub(have))?;
    intervals.extend((have..count).map(|index| Interval {
        index: u32::try_from(index).expect("the budget has no room for 2^32 intervals"),
        start: start + Nanos(length.0.saturating_mul(index)),
        length,
        kinds: Vec::new(),
        generator: Generator::default(),
    }));
    Ok(())
}
