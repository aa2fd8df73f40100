//! Differences of counters over a stretch of time.
//!
//! In: the readings of a point. Out: how much a counter grew between the readings nearest a beginning and an end, and what was
//! done between them.
//! Limits: a counter that went down in between (the process was replaced) has no difference, nor has one whose readings cover
//! less than half of the stretch: such a value would be of another time.

use model::{CounterSample, Interval, KindRow, Phase, PhaseData, PointData, Tick};

/// How much something grew, and between which two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The first reading.
    pub from: Tick,
    /// The last reading.
    pub to: Tick,
    /// The difference between the two.
    pub amount: f64,
}

impl Growth {
    /// The growth per second.
    pub fn per_second(&self) -> f64 {
        self.amount / self.to.since(self.from).as_secs_f64()
    }
}

/// The growth of `counter` of the source named `source` over `start..end`, for each subject that has it.
pub fn growths(point: &PointData, source: &str, counter: &str, start: Tick, end: Tick) -> Vec<Growth> {
    let named = (0u16..).zip(&point.sources).filter(|(_, def)| def.name == source);
    let placed = named.filter_map(|(index, def)| Some((index, def.counters.iter().position(|c| c.name == counter)?)));
    placed.filter_map(|(index, place)| growth(&readings(point, index, place), start, end)).collect()
}

/// The growth of the subject that stands first: the device of a volume before the disk below it.
pub fn growth_of_first(point: &PointData, source: &str, counter: &str, start: Tick, end: Tick) -> Option<Growth> {
    growths(point, source, counter, start, end).into_iter().next()
}

/// The growth of the subject that grew least: of a volume and the disk below it, that of the one behind the caches.
pub fn growth_of_least(point: &PointData, source: &str, counter: &str, start: Tick, end: Tick) -> Option<Growth> {
    let all = growths(point, source, counter, start, end);
    all.into_iter().min_by(|a, b| a.amount.total_cmp(&b.amount))
}

/// The growth summed over all subjects, in the stretch of the first of them.
pub fn growth_of_all(point: &PointData, source: &str, counter: &str, start: Tick, end: Tick) -> Option<Growth> {
    let all = growths(point, source, counter, start, end);
    let amount = all.iter().map(|growth| growth.amount).sum();
    all.first().map(|first| Growth { amount, ..*first })
}

/// The growth of the subject that grew most: a partition and its disk, both observed, are one and the same.
pub fn growth_of_most(point: &PointData, source: &str, counter: &str, start: Tick, end: Tick) -> Option<Growth> {
    let all = growths(point, source, counter, start, end);
    all.into_iter().max_by(|a, b| a.amount.total_cmp(&b.amount))
}

/// What a gauge showed at the reading nearest `at`.
pub fn level_at(point: &PointData, source: &str, gauge: &str, at: Tick) -> Option<f64> {
    let index = point.sources.iter().position(|def| def.name == source)?;
    let place = point.sources[index].counters.iter().position(|def| def.name == gauge)?;
    let all = readings(point, index as u16, place);
    all.into_iter().min_by_key(|(when, _)| when.0.abs_diff(at.0)).map(|(_, value)| value)
}

/// What was done between two moments of warmup and run, each kind of operation counted as `weight` says. What made the data is left
/// out: a reading a moment before the run would count a statement of a thousand rows for it. An interval that is
/// cut by one of them gives its share by time; one in which a phase ended is as long as the phase was in it.
pub fn done_between(point: &PointData, from: Tick, to: Tick, weight: impl Fn(&KindRow) -> f64) -> f64 {
    let share = |phase: &PhaseData, interval: &Interval| {
        let whole = interval.start + interval.length;
        let end = if interval.start < phase.end { whole.min(phase.end) } else { whole };
        let overlap = end.min(to).since(interval.start.max(from)).as_secs_f64();
        overlap / end.since(interval.start).as_secs_f64().max(1e-9)
    };
    let done = |interval: &Interval| interval.kinds.iter().map(&weight).sum::<f64>();
    let of = |phase: &PhaseData| phase.intervals.iter().map(|one| done(one) * share(phase, one)).sum::<f64>();
    let counts = |phase: &&PhaseData| matches!(phase.phase, Phase::Warmup | Phase::Run);
    point.phases.iter().filter(counts).map(of).sum()
}

/// All readings of one counter, gaps left out.
pub fn readings(point: &PointData, source: u16, place: usize) -> Vec<(Tick, f64)> {
    let own = point.counters.iter().filter(|sample| sample.source == source);
    own.filter_map(|sample: &CounterSample| Some((sample.at, sample.values.get(place).copied().flatten()?))).collect()
}

fn growth(readings: &[(Tick, f64)], start: Tick, end: Tick) -> Option<Growth> {
    let nearest = |to: Tick| (0..readings.len()).min_by_key(|i| readings[*i].0.0.abs_diff(to.0));
    let (first, last) = (nearest(start)?, nearest(end)?);
    let between = readings.get(first..=last)?;
    let (from, to) = (readings[first].0, readings[last].0);
    let planned = end.since(start).0;
    let distance = from.0.abs_diff(start.0).max(to.0.abs_diff(end.0));
    let covers = to > from && to.since(from).0 * 2 >= planned && distance * 2 <= planned;
    let only_grows = between.windows(2).all(|pair| pair[1].1 >= pair[0].1);
    (covers && only_grows).then(|| Growth { from, to, amount: readings[last].1 - readings[first].1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{SECOND, Simulation};

    fn at(seconds: &[(u64, f64)]) -> Vec<(Tick, f64)> {
        seconds.iter().map(|(second, value)| (Tick(second * 1_000_000_000), *value)).collect()
    }

    fn grown(seconds: &[(u64, f64)]) -> Option<f64> {
        growth(&at(seconds), Tick(10_000_000_000), Tick(20_000_000_000)).map(|growth| growth.amount)
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
        let point = Simulation::counts(&[1; 4]).source("innodb", &["pages_dirty"], |second| vec![second]).point();
        assert_eq!(level_at(&point, "innodb", "pages_dirty", Tick(3 * SECOND + 1)), Some(3.0));
        assert_eq!(level_at(&point, "innodb", "pages", Tick(0)), None);
    }
}
