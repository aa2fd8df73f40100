//! Reads the points of a run file: increments summed, histograms decoded, holes between intervals filled.
//!
//! In: an open run file. Out: its points. Limits: those of [`crate::reader`], within a [`Budget`].

use crate::budget::Budget;
use crate::cells::{json_cell, phase_of, read_amount, read_cell, read_count, read_name, state_of, word_cell};
use crate::error::ReadFault;
use crate::hdr::Decoder;
use crate::host_reader::{HostRecords, fill_intervals, host_in, intervals_of, records_of, settle_hosts};
use crate::open::{RunFile, has_table};
use crate::rows::sql_int;
use model::stacks::parse_folded;
use model::{
    CounterSample, ENDPOINTS_MAX, EndpointInterval, EndpointRow, Event, EventKind, FailureClass, FailureCounts,
    HostData, HostId, Interval, KindDef, KindRow, LiveInterval, LivePhase, Nanos, OpKind, Phase, PhaseData, PointData,
    PointParam, SourceDef, StackSnapshot, Tick, Times,
};
use rusqlite::Row;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a frame of a stack takes in memory besides its text.
const FRAME_BYTES: u64 = 48;

/// The points of `run` from that number on.
pub(crate) fn points_from(run: &RunFile, first: u32) -> Result<Vec<PointData>, ReadFault> {
    let mut points = PointReader { first, ..PointReader::default() };
    points.read_points(run)?;
    points.read_kinds(run)?;
    points.read_params(run)?;
    points.read_hosts(run)?;
    points.read_sources(run)?;
    points.read_phases(run)?;
    points.read_intervals(run)?;
    points.read_rows(run)?;
    points.read_commits(run)?;
    points.read_histograms(run)?;
    points.read_generator(run)?;
    points.read_counters(run)?;
    points.read_events(run)?;
    points.read_stacks(run)?;
    points.read_endpoints(run)?;
    points.into_points()
}

/// Point `id` if it watches a server, with the readings since the first interval of `phase`, and that phase without operations.
pub(crate) fn watched_point(run: &RunFile, id: u32, phase: &LivePhase) -> Result<Option<PointData>, ReadFault> {
    let mut points = PointReader { first: id, ..PointReader::default() };
    points.read_points(run)?;
    if points.list.iter().all(|point| point.traits.observed.is_none()) {
        return Ok(None);
    }
    points.read_sources(run)?;
    let ends = |one: &LiveInterval| one.start + one.length;
    let start = phase.intervals.first().map_or(phase.start, |first| first.start);
    let end = phase.intervals.last().map_or(start, ends);
    points.since = start;
    points.read_counters(run)?;
    for point in &mut points.list {
        let phase = phase.phase;
        point.phases.push(PhaseData { phase, start, end, unserved: 0, offered: 0, intervals: Vec::new() });
    }
    Ok(points.into_points()?.pop())
}

/// Calls `take` with every row that `sql` with its numbers finds.
pub(crate) fn each_row(
    run: &RunFile,
    budget: &mut Budget,
    (sql, numbers): (&str, &[u32]),
    mut take: impl FnMut(&mut Budget, &Row) -> Result<(), ReadFault>,
) -> Result<(), ReadFault> {
    let mut query = run.db.prepare(sql)?;
    let mut rows = query.query(rusqlite::params_from_iter(numbers))?;
    while let Some(row) = rows.next()? {
        budget.count_row()?;
        take(budget, row)?;
    }
    Ok(())
}

/// The points as far as they are read.
#[derive(Default)]
pub(crate) struct PointReader {
    /// The first that is read.
    first: u32,
    /// Readings before this are left out.
    since: Tick,
    list: Vec<PointData>,
    places: HashMap<u32, usize>,
    /// Whose each source of a point is: the host, and its number among the sources of that.
    sources: HashMap<(u32, u16), (HostId, u16)>,
    /// The phases that their recorder did not end.
    unended: HashSet<(u32, Phase)>,
    budget: Budget,
}

impl PointReader {
    fn read_points(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const POINTS: &str = "SELECT id, state, error, trial, facts, traits FROM point WHERE id >= ?1 ORDER BY id";
        let (list, places) = (&mut self.list, &mut self.places);
        each_row(run, &mut self.budget, (POINTS, &[self.first]), |_, row| {
            let point = PointData {
                state: state_of(row, 1)?,
                error: read_cell(row, 2)?,
                facts: json_cell(row, 4, "point.facts")?,
                traits: json_cell(row, 5, "point.traits")?,
                ..PointData::unmeasured(read_cell(row, 0)?, json_cell(row, 3, "point.trial")?)
            };
            places.insert(point.id, list.len());
            list.push(point);
            Ok(())
        })
    }

    fn read_kinds(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const KINDS: &str = "SELECT point, kind, name, class, background, queries_per_op, rows_per_op FROM kind WHERE point >= ?1 ORDER BY point, kind";
        self.each_point_row(run, KINDS, |point, _, row| {
            if read_count(row, 1)? != point.kinds.len() as u64 {
                return Err(ReadFault::wrong(format!("the kinds of point {} are not numbered from 0", point.id)));
            }
            point.kinds.push(KindDef {
                name: read_name(row, 2)?,
                class: word_cell(row, 3, "kind.class")?,
                background: read_cell(row, 4)?,
                queries_per_op: read_amount(row, 5)?,
                rows_per_op: read_amount(row, 6)?,
            });
            Ok(())
        })
    }

    fn read_params(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const PARAMS: &str = "SELECT point, owner, name, role, used FROM param WHERE point >= ?1";
        self.each_point_row(run, PARAMS, |point, _, row| {
            let (owner, name): (_, String) = (word_cell(row, 1, "param.owner")?, read_name(row, 2)?);
            let role = word_cell(row, 3, "param.role")?;
            point.params.push(PointParam { owner, name, role, used: read_cell(row, 4)? });
            Ok(())
        })
    }

    fn read_hosts(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const HOSTS: &str = "SELECT point, host, name, incarnation, role, clients, part, facts, clock_offset_ns,
                                    clock_bound_ns, start_skew_ns FROM host WHERE point >= ?1 ORDER BY point, host";
        self.each_point_row(run, HOSTS, |point, _, row| {
            point.hosts.push(HostData::unmeasured(host_in(row)?));
            Ok(())
        })
    }

    fn read_sources(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const SOURCES: &str =
            "SELECT point, source, name, subject, counters, host FROM source WHERE point >= ?1 ORDER BY point, source";
        let mut places = HashMap::new();
        let mut numbers: HashMap<u32, u64> = HashMap::new();
        self.each_point_row(run, SOURCES, |point, _, row| {
            let next = numbers.entry(point.id).or_default();
            if read_count(row, 1)? != *next {
                return Err(ReadFault::wrong(format!("the sources of point {} are not numbered from 0", point.id)));
            }
            *next += 1;
            let (host, counters) = (HostId(read_cell(row, 5)?), json_cell(row, 4, "source.counters")?);
            let source = SourceDef { name: read_name(row, 2)?, subject: read_name(row, 3)?, counters };
            let id = point.id;
            let own = records_of(point, host)?.sources;
            places.insert((id, read_cell(row, 1)?), (host, own.len() as u16));
            own.push(source);
            Ok(())
        })?;
        self.sources = places;
        Ok(())
    }

    fn read_phases(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        let mut unended = HashSet::new();
        const PHASES: &str = "SELECT point, phase, start_ns, end_ns, offered, unserved FROM phase WHERE point >= ?1";
        self.each_point_row(run, PHASES, |point, budget, row| {
            let (phase, start) = (phase_of(row)?, Tick(read_count(row, 2)?));
            let ended = read_cell::<Option<i64>>(row, 3)?.is_some();
            let end = if ended { Tick(read_count(row, 3)?) } else { start };
            if !ended {
                unended.insert((point.id, phase));
            }
            let mut data = PhaseData { phase, start, end, unserved: 0, offered: 0, intervals: Vec::new() };
            budget.add_to(&mut data.offered, read_count(row, 4)?)?;
            budget.add_to(&mut data.unserved, read_count(row, 5)?)?;
            point.phases.push(data);
            Ok(())
        })?;
        self.unended = unended;
        Ok(())
    }

    fn read_intervals(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const INTERVALS: &str = "SELECT point, phase, interval, start_ns, length_ns, kind, ok, failed, bytes, late, host FROM interval WHERE point >= ?1";
        self.each_point_row(run, INTERVALS, |point, budget, row| {
            let kinds = point.kinds.len();
            let (start, length) = (Tick(read_count(row, 3)?), Nanos(read_count(row, 4)?));
            let kind: Option<u8> = read_cell(row, 5)?;
            if let Some(kind) = kind.filter(|kind| usize::from(*kind) >= kinds) {
                return Err(ReadFault::wrong(format!("an interval has operations of kind {kind} of {kinds}")));
            }
            for interval in intervals_of(point, budget, row, HostId(read_cell(row, 10)?))? {
                (interval.start, interval.length) = (start, length);
                let Some(kind) = kind else { continue };
                let kind = kind_of(interval, budget, OpKind(kind))?;
                budget.add_to(&mut kind.ok, read_count(row, 6)?)?;
                budget.add_to(&mut kind.failed, read_count(row, 7)?)?;
                budget.add_to(&mut kind.bytes, read_count(row, 8)?)?;
                budget.add_to(&mut kind.late, read_count(row, 9)?)?;
            }
            Ok(())
        })
    }

    fn read_rows(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const ROWS: &str = "SELECT point, phase, interval, kind, returned, changed, missed, idle, host FROM interval_rows WHERE point >= ?1";
        if !has_table(&run.db, "interval_rows")? {
            return Ok(());
        }
        self.each_point_row(run, ROWS, |point, budget, row| {
            let kind: u8 = read_cell(row, 3)?;
            for interval in intervals_of(point, budget, row, HostId(read_cell(row, 8)?))? {
                let kind = recorded_kind(interval, kind, "rows")?;
                budget.add_to(&mut kind.rows.returned, read_count(row, 4)?)?;
                budget.add_to(&mut kind.rows.changed, read_count(row, 5)?)?;
                budget.add_to(&mut kind.rows.missed, read_count(row, 6)?)?;
                budget.add_to(&mut kind.rows.idle, read_count(row, 7)?)?;
            }
            Ok(())
        })
    }

    fn read_commits(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const COMMITS: &str =
            "SELECT point, phase, interval, kind, commits, host FROM interval_commits WHERE point >= ?1";
        if !has_table(&run.db, "interval_commits")? {
            return Ok(());
        }
        self.each_point_row(run, COMMITS, |point, budget, row| {
            let kind: u8 = read_cell(row, 3)?;
            for interval in intervals_of(point, budget, row, HostId(read_cell(row, 5)?))? {
                let kind = recorded_kind(interval, kind, "commits")?;
                budget.add_to(&mut kind.rows.commits, read_count(row, 4)?)?;
            }
            Ok(())
        })
    }

    fn read_histograms(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const HISTOGRAMS: &str = "SELECT point, phase, interval, kind, what, count, hdr, sum_ns, max_ns, host FROM histogram WHERE point >= ?1";
        let mut decoder = Decoder::new();
        self.each_point_row(run, HISTOGRAMS, |point, budget, row| {
            let kind: u8 = read_cell(row, 3)?;
            let times = times_of(&mut decoder, row)?;
            // Once for each: response and service may both take it.
            budget.add_to(&mut 0, times.len())?;
            let what: String = read_cell(row, 4)?;
            for interval in intervals_of(point, budget, row, HostId(read_cell(row, 9)?))? {
                let Some(kind) = interval.kinds.iter_mut().find(|known| known.kind == OpKind(kind)) else {
                    return Err(ReadFault::wrong(format!("a histogram of kind {kind} has no interval")));
                };
                match what.as_str() {
                    "response" => add_times(&mut kind.response, &times, budget)?,
                    "service" => add_times(&mut kind.service, &times, budget)?,
                    "both" => {
                        add_times(&mut kind.response, &times, budget)?;
                        add_times(&mut kind.service, &times, budget)?;
                    }
                    other => return Err(ReadFault::wrong(format!("a histogram is of `{other}`"))),
                }
            }
            Ok(())
        })
    }

    fn read_generator(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const GENERATOR: &str =
            "SELECT point, phase, interval, cpu_user_ns, cpu_system_ns, context_switches, lag_count, lag_sum_ns,
                                        lag_max_ns, host FROM generator WHERE point >= ?1";
        self.each_point_row(run, GENERATOR, |point, budget, row| {
            for interval in intervals_of(point, budget, row, HostId(read_cell(row, 9)?))? {
                let used = &mut interval.generator;
                budget.add_to(&mut used.cpu_user_ns, read_count(row, 3)?)?;
                budget.add_to(&mut used.cpu_system_ns, read_count(row, 4)?)?;
                budget.add_to(&mut used.context_switches, read_count(row, 5)?)?;
                budget.add_to(&mut used.lag_count, read_count(row, 6)?)?;
                budget.add_to(&mut used.lag_sum_ns, read_count(row, 7)?)?;
                used.lag_max_ns = used.lag_max_ns.max(read_count(row, 8)?);
            }
            Ok(())
        })
    }

    fn read_counters(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const COUNTERS: &str = r#"SELECT point, at_ns, source, "values" FROM counter WHERE point >= ?1"#;
        let places = std::mem::take(&mut self.sources);
        let since = sql_int(self.since.0);
        self.each_point_row(run, &format!("{COUNTERS} AND at_ns >= {since}"), |point, _, row| {
            let source: u16 = read_cell(row, 2)?;
            let values: Vec<Option<f64>> = json_cell(row, 3, "counter.values")?;
            let unfit = || ReadFault::wrong(format!("a reading of source {source} does not fit its definition"));
            let (host, place) = *places.get(&(point.id, source)).ok_or_else(unfit)?;
            let HostRecords { sources, counters, .. } = records_of(point, host)?;
            if sources[usize::from(place)].counters.len() != values.len() {
                return Err(unfit());
            }
            counters.push(CounterSample { at: Tick(read_count(row, 1)?), source: place, values });
            Ok(())
        })
    }

    fn read_events(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const EVENTS: &str = "SELECT point, at_ns, kind, text, host FROM event WHERE point >= ?1";
        self.each_point_row(run, EVENTS, |point, _, row| {
            let kind: EventKind = word_cell(row, 2, "event.kind")?;
            let event = Event { at: Tick(read_count(row, 1)?), kind, text: read_cell(row, 3)? };
            records_of(point, HostId(read_cell(row, 4)?))?.events.push(event);
            Ok(())
        })
    }

    fn read_stacks(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const STACKS: &str =
            "SELECT point, at_ns, reason, tool, took_ns, stopped_ns, folded FROM stack_snapshot WHERE point >= ?1";
        self.each_point_row(run, STACKS, |point, budget, row| {
            let (tool, folded): (String, String) = (read_cell(row, 3)?, read_cell(row, 6)?);
            budget.take_memory(FRAME_BYTES * (1 + folded.matches([';', '\n']).count() as u64) + folded.len() as u64)?;
            let stacks = parse_folded(&folded)
                .ok_or_else(|| ReadFault::wrong(format!("stacks of point {} have a line without a count", point.id)))?;
            let (mut took, mut stopped) = (0, 0);
            budget.add_to(&mut took, read_count(row, 4)?)?;
            budget.add_to(&mut stopped, read_count(row, 5)?)?;
            for stack in &stacks {
                budget.add_to(&mut 0, stack.count)?;
            }
            let (at, reason) = (Tick(read_count(row, 1)?), word_cell(row, 2, "stack_snapshot.reason")?);
            let (took, stopped) = (Nanos(took), Nanos(stopped));
            point.stacks.push(StackSnapshot { at, reason, tool, took, stopped, stacks });
            Ok(())
        })
    }

    fn read_endpoints(&mut self, run: &RunFile) -> Result<(), ReadFault> {
        const ENDPOINTS: &str = "SELECT point, phase, interval, endpoint, failed, ok, hdr, sum_ns, max_ns
                                 FROM endpoint_interval WHERE point >= ?1";
        let (mut decoder, mut sums) = (Decoder::new(), HashMap::new());
        self.each_point_row(run, ENDPOINTS, |point, budget, row| {
            let (phase, index, endpoint) = (phase_of(row)?, read_cell(row, 2)?, read_cell::<u16>(row, 3)?);
            if usize::from(endpoint) >= point.traits.engine.endpoints.len().min(ENDPOINTS_MAX) {
                return Err(ReadFault::wrong(format!("point {} has no endpoint {endpoint}", point.id)));
            }
            let place = *sums.entry((point.id, phase, index, endpoint)).or_insert_with(|| {
                point.endpoints.push(EndpointInterval { phase, index, row: EndpointRow::empty(endpoint) });
                point.endpoints.len() - 1
            });
            budget.take_memory(size_of::<EndpointInterval>() as u64)?;
            let sum = &mut point.endpoints[place].row;
            add_failures(&mut sum.failed, &json_cell(row, 4, "endpoint_interval.failed")?, budget)?;
            let done = read_count(row, 5)?;
            budget.add_to(&mut sum.ok, done)?;
            if done > 0 {
                add_times(&mut sum.response, &times_of(&mut decoder, row)?, budget)?;
            }
            Ok(())
        })
    }

    /// Calls `take` with every row that `sql` finds and the point that its first column names.
    fn each_point_row(
        &mut self,
        run: &RunFile,
        sql: &str,
        mut take: impl FnMut(&mut PointData, &mut Budget, &Row) -> Result<(), ReadFault>,
    ) -> Result<(), ReadFault> {
        let (list, places) = (&mut self.list, &self.places);
        each_row(run, &mut self.budget, (sql, &[self.first]), |budget, row| {
            let id: u32 = read_cell(row, 0)?;
            match places.get(&id) {
                Some(place) => take(&mut list[*place], budget, row),
                None => Err(ReadFault::wrong(format!("there are rows of point {id}, which there is not"))),
            }
        })
    }

    /// Ends what a killed recorder left open, fills the holes and puts everything in order.
    fn into_points(mut self) -> Result<Vec<PointData>, ReadFault> {
        for point in &mut self.list {
            let length = point.trial.phases.interval;
            for phase in &mut point.phases {
                if self.unended.contains(&(point.id, phase.phase)) {
                    phase.end = phase.intervals.last().map_or(phase.start, |last| last.start + last.length);
                }
                let whole = whole_intervals(phase, length);
                fill_intervals(&mut phase.intervals, phase.start, whole, length, &mut self.budget)?;
                phase.intervals.iter_mut().for_each(|interval| interval.kinds.sort_by_key(|kind| kind.kind.0));
            }
            point.phases.sort_by_key(|phase| phase.phase);
            settle_hosts(point, &mut self.budget)?;
            point.counters.settle();
            point.events.sort_by_key(|event| event.at);
            point.stacks.sort_by_key(|snapshot| snapshot.at);
            point.endpoints.sort_by_key(|one| (one.phase, one.index, one.row.endpoint));
        }
        Ok(self.list)
    }
}

/// How many intervals of the plan's length end within a phase under load: if none was recorded, nothing was done. The other
/// phases need not be recorded in intervals.
fn whole_intervals(phase: &PhaseData, length: Nanos) -> u64 {
    match phase.phase {
        Phase::Warmup | Phase::Run => phase.end.since(phase.start).0.checked_div(length.0).unwrap_or(0),
        Phase::Prepare | Phase::Cleanup => 0,
    }
}

/// The part of `interval` that belongs to `kind`.
fn kind_of<'a>(interval: &'a mut Interval, budget: &mut Budget, kind: OpKind) -> Result<&'a mut KindRow, ReadFault> {
    let known = interval.kinds.iter().position(|known| known.kind == kind);
    let place = match known {
        Some(place) => place,
        None => {
            budget.take_memory(size_of::<KindRow>() as u64)?;
            interval.kinds.push(KindRow::empty(kind));
            interval.kinds.len() - 1
        }
    };
    Ok(&mut interval.kinds[place])
}

/// The same, of which `what` was recorded: it must be there.
fn recorded_kind<'a>(interval: &'a mut Interval, kind: u8, what: &str) -> Result<&'a mut KindRow, ReadFault> {
    let known = interval.kinds.iter_mut().find(|known| known.kind == OpKind(kind));
    known.ok_or_else(|| ReadFault::wrong(format!("{what} of kind {kind} have no interval")))
}

/// The histogram in columns 5 and 6, with its exact sum and maximum in columns 7 and 8.
pub(crate) fn times_of(decoder: &mut Decoder, row: &Row) -> Result<Times, ReadFault> {
    let blob = row.get_ref(6)?.as_blob().map_err(|_| ReadFault::wrong("a histogram is no blob"))?;
    let times = decoder.decode(blob, read_count(row, 7)?, read_count(row, 8)?).map_err(ReadFault::Wrong)?;
    if times.len() != read_count(row, 5)? {
        return Err(ReadFault::wrong("a histogram holds another number of operations than its row"));
    }
    Ok(times)
}

/// Adds `times` to `sum`. Where both parts of a closed loop share them, they are charged twice, as if they did not.
fn add_times(sum: &mut Times, times: &Times, budget: &mut Budget) -> Result<(), ReadFault> {
    let before = sum.memory().0;
    sum.add(times);
    budget.take_memory(sum.memory().0.saturating_sub(before))
}

/// Adds the failures of `written`, by the words of their classes.
fn add_failures(
    sum: &mut FailureCounts,
    written: &BTreeMap<String, u64>,
    budget: &mut Budget,
) -> Result<(), ReadFault> {
    for (word, number) in written {
        let Some(class) = FailureClass::from_word(word) else {
            return Err(ReadFault::wrong(format!("operations failed as `{word}`")));
        };
        budget.add_to(&mut 0, *number)?;
        sum.add_of(class, *number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::MEMORY_BYTES_MAX;
    use model::Generator;

    #[test]
    fn kinds_and_times_beyond_the_bound_are_refused() {
        let mut times = Times::default();
        (1..=10).for_each(|ns| times.record_n(ns, 1));
        let room = size_of::<KindRow>() as u64 + times.memory().0;
        let mut budget = Budget::default();
        budget.take_memory(MEMORY_BYTES_MAX - room).unwrap();
        let mut interval =
            Interval { index: 0, start: Tick(0), length: Nanos(1), kinds: Vec::new(), generator: Generator::default() };
        kind_of(&mut interval, &mut budget, OpKind(0)).unwrap();
        let kind = &mut interval.kinds[0];
        add_times(&mut kind.response, &times, &mut budget).unwrap();
        add_times(&mut kind.response, &times, &mut budget).expect("the same buckets take no more");
        let refused = [
            add_times(&mut kind.service, &times, &mut budget).err(),
            kind_of(&mut interval, &mut budget, OpKind(1)).err(),
        ];
        for refused in refused {
            assert!(matches!(refused, Some(ReadFault::Wrong(what)) if what.contains("bytes of times")));
        }
        assert_eq!(interval.kinds.len(), 1);
    }

    #[test]
    fn a_phase_with_intervals_of_no_length_has_no_whole_ones() {
        let phase = PhaseData {
            phase: Phase::Run,
            start: Tick(0),
            end: Tick(100),
            unserved: 0,
            offered: 0,
            intervals: Vec::new(),
        };
        assert_eq!(whole_intervals(&phase, Nanos(0)), 0);
        assert_eq!(whole_intervals(&phase, Nanos(30)), 3);
    }
}
