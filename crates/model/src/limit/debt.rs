//! The write debt of a target while its rate is held: bytes that it has yet to write.
//!
//! In: the levels of the counters that an engine declares as debt. Out: their sum over time, and by how much it grows.
//! Limits: an engine that counts no debt has none here. A debt that begins to grow after the hold is not seen.

use crate::role::CounterRole;
use crate::run::PointData;
use crate::units::{Nanos, Tick};

/// The levels that are a debt.
const ROLES: [CounterRole; 4] =
    [CounterRole::DirtyPages, CounterRole::Memtable, CounterRole::PendingCompaction, CounterRole::LogAge];

/// The sum of the debts of an engine, in bytes, at the moments at which they were read, from the beginning of the phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebtCourse(pub Vec<(Nanos, f64)>);

/// The first part of a hold fills memtables and caches that were empty, and is left out.
const FILLING_SHARE: f64 = 0.25;
/// Growth from third to third, as a share of the debt, from which on it grows.
const GROWTH_SHARE_MIN: f64 = 0.02;
/// A debt that levels off grows less and less: from the second third to the last by less than this share of the growth before.
const LEVELLING_SHARE: f64 = 0.3;
/// Fewer readings have no trend.
const READINGS_MIN: usize = 9;

impl DebtCourse {
    /// By how many bytes a second the debt grows without levelling off; `None` if it does not grow.
    pub fn growth_per_s(&self) -> Option<f64> {
        let last = self.0.last()?.0;
        let counted: Vec<&(Nanos, f64)> =
            self.0.iter().filter(|(at, _)| at.0 as f64 >= FILLING_SHARE * last.0 as f64).collect();
        if counted.len() < READINGS_MIN {
            return None;
        }
        let third = counted.len() / 3;
        let parts = [&counted[..third], &counted[third..2 * third], &counted[counted.len() - third..]];
        let bytes = |part: &[&(Nanos, f64)]| part.iter().map(|(_, bytes)| *bytes).collect::<Vec<f64>>();
        let means = parts.map(|part| bytes(part).iter().sum::<f64>() / part.len() as f64);
        // The teeth of a saw that returns to its floor make means that differ, and floors that do not.
        let floors = parts.map(|part| bytes(part).into_iter().fold(f64::MAX, f64::min));
        let tops = parts.map(|part| bytes(part).into_iter().fold(f64::MIN, f64::max));
        let grows = [means, floors, tops].iter().all(keeps_growing);
        let passed_s = counted[counted.len() - 1].0.as_secs_f64() - counted[0].0.as_secs_f64();
        grows.then(|| (means[2] - means[0]) / (passed_s * 2.0 / 3.0).max(f64::MIN_POSITIVE))
    }
}

/// Whether each of three levels is above the one before, the last by not much less than the second.
fn keeps_growing([first, middle, end]: &[f64; 3]) -> bool {
    let least = GROWTH_SHARE_MIN * end;
    middle - first > least && end - middle > least && end - middle > LEVELLING_SHARE * (middle - first)
}

/// A counter that shows a debt: the number of its source, its number in that, and how many bytes a count of it is.
struct DebtCounter {
    source: u16,
    place: usize,
    bytes_each: f64,
}

/// What one of the counters of debt showed.
struct DebtReading {
    at: Tick,
    source: u16,
    /// The number of the counter among those of debt.
    counter: usize,
    bytes: f64,
}

/// The debts of the engine of `point` from `start` to `end`. Readings of several sources at about the same time are one moment each:
/// a source keeps its last value until it is read again.
pub(super) fn pending_bytes(point: &PointData, start: Tick, end: Tick) -> DebtCourse {
    let counters = debt_counters(point);
    let mut levels: Vec<Option<f64>> = vec![None; counters.len()];
    let readings = debt_readings(point, &counters, start, end);
    let moments = readings.chunk_by(|one, other| (one.at, one.source) == (other.at, other.source));
    let course = moments.map(|moment| {
        moment.iter().for_each(|reading| levels[reading.counter] = Some(reading.bytes));
        (moment[0].at.since(start), levels.iter().flatten().sum::<f64>())
    });
    DebtCourse(course.collect())
}

fn debt_counters(point: &PointData) -> Vec<DebtCounter> {
    let page_bytes = point.traits.engine.page_bytes.unwrap_or(1) as f64;
    let all = (0u16..).zip(&point.sources).flat_map(|(source, def)| {
        let debts = def
            .counters
            .iter()
            .enumerate()
            .filter(move |(_, counter)| counter.role.is_some_and(|role| ROLES.contains(&role)));
        debts.map(move |(place, counter)| {
            let bytes_each = if counter.in_pages { page_bytes } else { 1.0 };
            DebtCounter { source, place, bytes_each }
        })
    });
    all.collect()
}

/// What `counters` showed from `start` to `end`, in order of time and source.
fn debt_readings(point: &PointData, counters: &[DebtCounter], start: Tick, end: Tick) -> Vec<DebtReading> {
    let mut all: Vec<DebtReading> = counters
        .iter()
        .enumerate()
        .flat_map(|(counter, def)| {
            let DebtCounter { source, place, bytes_each } = *def;
            let read = point.counters.of_counter(source, place).filter(|(at, _)| (start..=end).contains(at));
            read.map(|(at, value)| DebtReading { at, source, counter, bytes: value * bytes_each }).collect::<Vec<_>>()
        })
        .collect();
    all.sort_by_key(|reading| (reading.at, reading.source));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(bytes: impl Fn(f64) -> f64) -> DebtCourse {
        DebtCourse((0..=120).map(|second| (Nanos::from_secs(second), bytes(second as f64))).collect())
    }

    #[test]
    fn a_debt_that_grows_to_the_end_is_found_with_its_rate() {
        let growth = course(|second| 5e6 + 2e6 * second).growth_per_s().expect("it grows");
        assert!((growth - 2e6).abs() < 0.05 * 2e6, "{growth}");
        // With the teeth of a saw of 10 s, twice as high as it grows in that time.
        let growth = course(|second| 2e6 * second + 4e6 * (second % 10.0)).growth_per_s().expect("it grows");
        assert!((growth - 2e6).abs() < 0.2 * 2e6, "{growth}");
    }

    #[test]
    fn a_debt_that_levels_off_or_goes_up_and_down_does_not_grow() {
        assert_eq!(course(|_| 8e6).growth_per_s(), None);
        assert_eq!(course(|second| 1e8 * (1.0 - (-second / 20.0).exp())).growth_per_s(), None);
        assert_eq!(course(|second| 1e6 * (second % 25.0)).growth_per_s(), None);
        assert_eq!(course(|second| 1e8 - 5e5 * second).growth_per_s(), None);
        assert_eq!(DebtCourse::default().growth_per_s(), None, "it does not tell");
    }
}
