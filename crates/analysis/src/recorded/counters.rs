//! Differences of counters over a stretch of time.
//!
//! In: the readings of a point. Out: how much a counter grew between the readings nearest to a start and an end, and the operations
//! done between them. If the clients waited between a reading and the start, or were gone between the end and a reading, that one is
//! taken: it has all operations or none.
//! Limits: a counter that went down in between (the process was replaced) has no difference. Neither has one whose readings cover
//! less than half of the stretch, because its value would describe another time.

use crate::math::stats::mean;
use model::{CounterDef, CounterRole, Interval, KindRow, Nanos, Phase, PhaseData, PointData, Tick};

/// How far a reading may be from a start or an end while no client works between them: the clients begin soon after the reading that
/// they wait for, and one is taken when the last of them has ended.
const IDLE_MAX: Nanos = Nanos::from_millis(100);

/// How much something grew, and between which two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// When the first reading was taken.
    pub from: Tick,
    /// When the clients began to work: after the first reading if they waited for it, or at it.
    pub began: Tick,
    /// When the last reading was taken.
    pub to: Tick,
    /// The difference between the two.
    pub amount: f64,
}

impl Growth {
    /// The growth per second of the time in which clients worked: of what they cause, nothing grows while they wait for the first
    /// operation, which is 20 ms after the reading.
    pub fn per_second(&self) -> f64 {
        self.amount / self.to.since(self.began).as_secs_f64()
    }
}

/// The growth of the counters of this role over `start..end`, for each subject that has one.
pub fn growth_by_subject(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Vec<Growth> {
    let found = counter_places(point, role);
    found.filter_map(|place| growth_at(point, place, start, end)).collect()
}

fn growth_at(point: &PointData, place: CounterPlace, start: Tick, end: Tick) -> Option<Growth> {
    let readings = readings(point, place.source, place.counter);
    let before = idle_reading_before(point, &readings, start).map(|index| readings[index].0);
    let after = idle_reading_after(point, &readings, end);
    let growth = growth_between(&readings, before.unwrap_or(start), after.unwrap_or(end))?;
    Some(Growth { began: before.map_or(growth.from, |_| start), ..growth })
}

/// The index of the last reading before `start`, if no client worked between the two: of what the point uses it shows what was at the
/// start.
pub fn idle_reading_before(point: &PointData, readings: &[(Tick, f64)], start: Tick) -> Option<usize> {
    let index = readings.partition_point(|(at, _)| *at <= start).checked_sub(1)?;
    let at = readings[index].0;
    (start.since(at) <= IDLE_MAX && is_idle(point, at, start)).then_some(index)
}

/// When the first reading after `end` was taken, if no client worked between the two.
fn idle_reading_after(point: &PointData, readings: &[(Tick, f64)], end: Tick) -> Option<Tick> {
    let after = readings.iter().map(|(at, _)| *at).find(|at| *at >= end)?;
    (after.since(end) <= IDLE_MAX && is_idle(point, end, after)).then_some(after)
}

/// Whether no phase was running at any time between two moments.
fn is_idle(point: &PointData, from: Tick, to: Tick) -> bool {
    point.phases.iter().all(|phase| phase.end <= from || phase.start >= to)
}

/// The growth of one counter: the number of its source, and its number in that.
pub fn growth_of_counter(point: &PointData, source: u16, counter: usize, start: Tick, end: Tick) -> Option<Growth> {
    let def = point.sources.get(usize::from(source))?.counters.get(counter)?;
    growth_at(point, CounterPlace { source, counter, def }, start, end)
}

/// Where the readings of a counter are: the number of its source, and its number in that.
#[derive(Clone, Copy, Debug)]
pub struct CounterPlace<'a> {
    source: u16,
    counter: usize,
    def: &'a CounterDef,
}

/// The counters of this role, in the order of their sources.
fn counter_places(point: &PointData, role: CounterRole) -> impl Iterator<Item = CounterPlace<'_>> {
    let all = (0u16..).zip(&point.sources).flat_map(|(source, def)| {
        let counters = def.counters.iter().enumerate();
        counters.map(move |(counter, def)| CounterPlace { source, counter, def })
    });
    all.filter(move |place| place.def.role == Some(role))
}

/// Whether the point has a counter of this role, whatever it read.
pub fn has_role(point: &PointData, role: CounterRole) -> bool {
    counter_places(point, role).next().is_some()
}

/// The growth in bytes of all counters of this role together; `None` if there is none, or one of them has no growth.
pub fn bytes_grown(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Option<f64> {
    if !has_role(point, role) {
        return None;
    }
    let grown = counter_places(point, role).map(|place| {
        let growth = growth_at(point, place, start, end)?;
        Some(growth.amount * bytes_each(point, place.def)?)
    });
    grown.sum()
}

/// How many bytes a count of one of `def` is.
fn bytes_each(point: &PointData, def: &CounterDef) -> Option<f64> {
    if def.in_pages { point.traits.engine.page_bytes.map(|bytes| bytes as f64) } else { Some(1.0) }
}

/// The growth of the subject that is observed first: the device of a volume before the disk below it.
pub fn growth_of_first(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Option<Growth> {
    growth_by_subject(point, role, start, end).into_iter().next()
}

/// The growth of the first counter of `role` between each two of its readings in `start..end`.
pub fn growths_of_first(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Vec<Growth> {
    let Some(place) = counter_places(point, role).next() else { return Vec::new() };
    let all = readings(point, place.source, place.counter);
    let within: Vec<&(Tick, f64)> = all.iter().filter(|(at, _)| (start..=end).contains(at)).collect();
    let growth = |pair: &[&(Tick, f64)]| {
        let [from, to] = [pair[0], pair[1]];
        Growth { from: from.0, began: from.0, to: to.0, amount: (to.1 - from.1).max(0.0) }
    };
    within.windows(2).map(growth).collect()
}

/// The growth of the subject that grew least: of a volume and the disk below it, that of the one behind the caches.
pub fn growth_of_least(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Option<Growth> {
    let all = growth_by_subject(point, role, start, end);
    all.into_iter().min_by(|a, b| a.amount.total_cmp(&b.amount))
}

/// The growth summed over all subjects, in the stretch of the first of them.
pub fn growth_of_all(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Option<Growth> {
    let all = growth_by_subject(point, role, start, end);
    let amount = all.iter().map(|growth| growth.amount).sum();
    all.first().map(|first| Growth { amount, ..*first })
}

/// The growth of the subject that grew most: a partition and its disk, both observed, are one and the same.
pub fn growth_of_most(point: &PointData, role: CounterRole, start: Tick, end: Tick) -> Option<Growth> {
    let all = growth_by_subject(point, role, start, end);
    all.into_iter().max_by(|a, b| a.amount.total_cmp(&b.amount))
}

/// What was read from the block layer. The device of a file system that was made for the point serves only that point: its own counter is
/// taken, which includes journals, copies and compression. Any other device serves others, too: what the processes caused is taken.
pub fn growth_of_reads(point: &PointData, start: Tick, end: Tick) -> Option<Growth> {
    match point.trial.target.fs {
        Some(_) => growth_of_first(point, CounterRole::DeviceReadBytes, start, end),
        None => growth_of_all(point, CounterRole::ProcessReadBytes, start, end),
    }
}

/// What the first gauge of this role showed in bytes at the reading nearest `at`.
pub fn level_at(point: &PointData, role: CounterRole, at: Tick) -> Option<f64> {
    let place = counter_places(point, role).next()?;
    let all = readings(point, place.source, place.counter);
    let nearest = all.into_iter().min_by_key(|(when, _)| when.0.abs_diff(at.0));
    Some(nearest?.1 * bytes_each(point, place.def)?)
}

/// The mean of the readings of the first gauge of this role between two moments, in its own unit.
pub fn mean_level(point: &PointData, role: CounterRole, from: Tick, to: Tick) -> Option<f64> {
    let place = counter_places(point, role).next()?;
    let all = readings(point, place.source, place.counter);
    let within: Vec<f64> = all.iter().filter(|(at, _)| (from..=to).contains(at)).map(|(_, value)| *value).collect();
    (!within.is_empty()).then(|| mean(&within))
}

/// What was done between two moments of warmup and run, each kind of operation weighted by `weight`. An interval that one of the
/// moments cuts gives its share by time. Operations that made the data are left out: if the first reading falls a moment before the
/// run, they would count a statement of a thousand rows for it.
pub fn done_between(point: &PointData, from: Tick, to: Tick, weight: impl Fn(&KindRow) -> f64) -> f64 {
    let phases = point.phases.iter().filter(|phase| matches!(phase.phase, Phase::Warmup | Phase::Run));
    let done = phases.map(|phase| {
        let in_phase = phase.intervals.iter().map(|interval| {
            let done: f64 = interval.kinds.iter().map(&weight).sum();
            done * share_between(phase, interval, from, to)
        });
        in_phase.sum::<f64>()
    });
    done.sum()
}

/// Which share of `interval` lies between two moments.
fn share_between(phase: &PhaseData, interval: &Interval, from: Tick, to: Tick) -> f64 {
    if interval.start >= phase.end {
        // Operations that were in flight when the phase ended, which end soon after.
        return f64::from(u8::from((from..to).contains(&interval.start)));
    }
    let whole = interval.start + interval.length;
    // All operations of the interval in which the phase ended were done before that end.
    let end = whole.min(phase.end);
    let overlap = end.min(to).since(interval.start.max(from)).as_secs_f64();
    overlap / end.since(interval.start).as_secs_f64().max(1e-9)
}

/// All readings of one counter, gaps left out.
pub fn readings(point: &PointData, source: u16, place: usize) -> Vec<(Tick, f64)> {
    point.counters.of_counter(source, place).collect()
}

fn growth_between(readings: &[(Tick, f64)], start: Tick, end: Tick) -> Option<Growth> {
    let (first, last) = (nearest_reading(readings, start)?, nearest_reading(readings, end)?);
    let between = readings.get(first..=last)?;
    let (from, to) = (readings[first].0, readings[last].0);
    // The nearest readings may both lie at one end, or outside of the stretch: they must cover half of it, and miss neither end by
    // more than half.
    let planned = end.since(start).0;
    let distance = from.0.abs_diff(start.0).max(to.0.abs_diff(end.0));
    let covers = to > from && to.since(from).0 * 2 >= planned && distance * 2 <= planned;
    let only_grows = between.windows(2).all(|pair| pair[1].1 >= pair[0].1);
    (covers && only_grows).then(|| Growth { from, began: from, to, amount: readings[last].1 - readings[first].1 })
}

/// The index of the reading nearest to a moment.
fn nearest_reading(readings: &[(Tick, f64)], moment: Tick) -> Option<usize> {
    (0..readings.len()).min_by_key(|index| readings[*index].0.0.abs_diff(moment.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::CounterSample;

    fn at(seconds: &[(u64, f64)]) -> Vec<(Tick, f64)> {
        seconds.iter().map(|(second, value)| (Tick(second * 1_000_000_000), *value)).collect()
    }

    fn grown(seconds: &[(u64, f64)]) -> Option<f64> {
        growth_between(&at(seconds), Tick(10_000_000_000), Tick(20_000_000_000)).map(|growth| growth.amount)
    }

    #[test]
    fn growth_is_between_the_readings_nearest_the_beginning_and_the_end() {
        assert_eq!(grown(&[(0, 1.0), (9, 10.0), (15, 50.0), (21, 110.0), (40, 900.0)]), Some(100.0));
    }

    #[test]
    fn a_counter_that_went_down_has_no_growth() {
        assert_eq!(grown(&[(10, 100.0), (15, 5.0), (20, 130.0)]), None);
    }

    #[test]
    fn readings_that_miss_half_of_the_stretch_give_no_growth() {
        assert_eq!(grown(&[(16, 1.0), (20, 2.0)]), None);
        assert_eq!(grown(&[(10, 1.0)]), None);
        assert_eq!(grown(&[(0, 1.0), (20, 2.0)]), None);
        assert_eq!(grown(&[]), None);
    }

    /// A run of 140 ms: the counters were read 20 ms before its first operation, after 100 ms, and 3 ms after the last. Each operation
    /// writes 4,096 bytes, most of them right at the start.
    #[test]
    fn an_operation_of_a_short_run_costs_what_it_costs_though_the_readings_miss_its_ends() {
        const MS: u64 = SECOND / 1_000;
        let start = 5 * SECOND;
        let written = |ops: f64| Some(ops * 4_096.0);
        let readings = [(start - 20 * MS, 0.0), (start + 100 * MS, 900.0), (start + 143 * MS, 1_002.0)];
        let point = Simulation::counts(&[1_000, 2]).source("process", &["write_bytes"], |_| vec![0.0]).with(|point| {
            let phase = &mut point.phases[0];
            (phase.start, phase.end) = (Tick(start), Tick(start + 140 * MS));
            for interval in &mut phase.intervals {
                interval.start = phase.start + Nanos(u64::from(interval.index) * 140 * MS);
                interval.length = Nanos(140 * MS);
            }
            let sample = |(at, ops)| CounterSample { at: Tick(at), source: 0, values: vec![written(ops)] };
            point.counters = readings.map(sample).into_iter().collect();
        });
        let point = point.point();
        let (phase_start, phase_end) = (point.phases[0].start, point.phases[0].end);
        let grown = growth_of_all(&point, CounterRole::ProcessWriteBytes, phase_start, phase_end).expect("it was read");
        let done = done_between(&point, grown.from, grown.to, |kind| kind.ok as f64);
        assert_eq!((grown.from, grown.amount, done), (Tick(start - 20 * MS), 1_002.0 * 4_096.0, 1_002.0));
    }

    /// A run of one second with 1,000 operations of 4,096 bytes. The first reading is 20 ms before it, the last at its end.
    #[test]
    fn the_time_between_a_reading_and_the_first_operation_is_in_no_rate() {
        let start = 5 * SECOND;
        let readings = [(start - SECOND / 50, 0.0), (start + SECOND, 4_096_000.0)];
        let point = Simulation::counts(&[1_000]).source("process", &["write_bytes"], |_| vec![0.0]).with(|point| {
            let phase = &mut point.phases[0];
            (phase.start, phase.end) = (Tick(start), Tick(start + SECOND));
            phase.intervals[0].start = phase.start;
            let sample = |(at, bytes)| CounterSample { at: Tick(at), source: 0, values: vec![Some(bytes)] };
            point.counters = readings.map(sample).into_iter().collect();
        });
        let point = point.point();
        let phase = &point.phases[0];
        let grown = growth_of_all(&point, CounterRole::ProcessWriteBytes, phase.start, phase.end).expect("it was read");
        assert_eq!((grown.from, grown.began), (Tick(start - SECOND / 50), Tick(start)));
        assert_eq!(grown.per_second(), 4_096_000.0);
        let written =
            crate::numbers::written::WrittenBytes::measure(&point, phase.start, phase.end).expect("it was read");
        assert_eq!(written.per_second(phase.end), 4_096_000.0);
    }

    #[test]
    fn a_reading_taken_while_another_phase_ran_is_not_that_of_the_start() {
        let mut point = Simulation::counts(&[10, 10]).source("process", &["write_bytes"], |s| vec![s]).point();
        let mut warmup = point.phases[0].clone();
        warmup.phase = Phase::Warmup;
        (warmup.start, warmup.end) = (Tick(0), Tick(SECOND));
        warmup.intervals.truncate(1);
        point.phases[0].start = Tick(SECOND);
        point.phases[0].intervals.remove(0);
        point.phases.insert(0, warmup);
        let early = [(Tick(SECOND - SECOND / 50), 7.0), (Tick(2 * SECOND), 9.0)];
        assert_eq!(idle_reading_before(&point, &early, Tick(SECOND)), None);
        point.phases.remove(0);
        assert_eq!(idle_reading_before(&point, &early, Tick(SECOND)), Some(0));
        assert_eq!(idle_reading_before(&point, &early, Tick(SECOND + SECOND / 2)), None, "too early");
    }

    #[test]
    fn an_interval_in_which_the_phase_ended_is_as_long_as_the_phase_was_in_it() {
        let mut point = Simulation::counts(&[10, 10, 6]).point();
        point.phases[0].end = Tick(2 * SECOND + SECOND / 2);
        let done = |from, to| done_between(&point, Tick(from), Tick(to), |kind| kind.ok as f64);
        assert_eq!(done(0, 2 * SECOND + SECOND / 2), 26.0);
        assert_eq!((done(0, 2 * SECOND), done(SECOND / 2, SECOND)), (20.0, 5.0));
    }

    #[test]
    fn a_gauge_is_read_nearest_the_moment() {
        let point = Simulation::counts(&[1; 4]).source("innodb", &["pages_dirty"], |second| vec![second]);
        let point = point.with(|point| point.traits.engine.page_bytes = Some(4_096)).point();
        assert_eq!(level_at(&point, CounterRole::DirtyPages, Tick(3 * SECOND + 1)), Some(3.0 * 4_096.0));
        assert_eq!(level_at(&point, CounterRole::LogAge, Tick(0)), None);
    }
}
