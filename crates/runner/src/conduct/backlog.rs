//! When a probe can end early: its backlog grows, and it cannot meet its objective any more.
//!
//! In: the intervals of the run phase. Out: whether the probe is over. Limits: it judges the intervals that it is called for, and waits
//! for none that is delivered late.

use model::limit::{Criterion, Objective};
use model::{KindRow, Nanos, Times};
use std::collections::BTreeMap;

/// So many intervals in a row, each with longer waits than the one before, are a backlog that grows.
const GROWING_MIN: usize = 5;
/// What is late already must be so many times what the objective allows of all arrivals, if all others were in time.
const CERTAIN_FACTOR: f64 = 2.0;
/// Objectives that name no time: waits of this length are a backlog.
const WAIT_OTHERWISE: Nanos = Nanos::from_secs(1);

/// Watches the backlog of one probe.
#[derive(Debug)]
pub(crate) struct BacklogWatch {
    objective: Objective,
    /// Arrivals of the whole probe.
    arrivals: f64,
    interval: Nanos,
    rows: BTreeMap<u32, Waits>,
    hopeless: bool,
}

/// The waits of the operations that ended in one interval.
#[derive(Clone, Debug, Default)]
struct Waits {
    response: Times,
    wait_ns: u128,
}

impl BacklogWatch {
    /// The watch of a probe at `per_s` arrivals a second for `length`, in intervals of `interval`.
    pub fn new(objective: &Objective, per_s: f64, length: Nanos, interval: Nanos) -> BacklogWatch {
        BacklogWatch {
            objective: objective.clone(),
            arrivals: per_s * length.as_secs_f64(),
            interval,
            rows: BTreeMap::new(),
            hopeless: false,
        }
    }

    /// Adds the operations that ended in interval `index`.
    pub fn add_interval<'a>(&mut self, index: u32, kinds: impl Iterator<Item = &'a KindRow>) {
        let waits = self.rows.entry(index).or_default();
        for kind in kinds {
            waits.response.add(&kind.response);
            waits.wait_ns += kind.response.sum_ns().saturating_sub(kind.service.sum_ns());
        }
    }

    /// Judges the intervals that were over `elapsed` after the start of the run phase.
    pub fn judge(&mut self, elapsed: Nanos) {
        let complete = (elapsed.0 / self.interval.0.max(1)) as u32;
        self.hopeless |= self.backlog_grows(complete) && self.is_missed_for_certain();
    }

    /// Whether the rest of the probe would add nothing.
    pub fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    /// Whether each of the last intervals before number `complete` had longer waits than the one before, far above the limit.
    fn backlog_grows(&self, complete: u32) -> bool {
        let Some(first) = complete.checked_sub(GROWING_MIN as u32 + 1) else { return false };
        let waits: Vec<f64> = (first..complete).map(|index| self.mean_wait_ns(index)).collect();
        let limit = self.objective.shortest_time().unwrap_or(WAIT_OTHERWISE);
        // Nothing ended in an interval: whatever was waiting has waited for longer.
        waits.windows(2).all(|pair| pair[1] > pair[0] || pair[1].is_infinite())
            && waits.last().is_some_and(|last| *last > 2.0 * limit.0 as f64)
    }

    fn mean_wait_ns(&self, index: u32) -> f64 {
        let done = self.rows.get(&index).filter(|waits| !waits.response.is_empty());
        done.map_or(f64::INFINITY, |waits| waits.wait_ns as f64 / waits.response.len() as f64)
    }

    /// Whether so many operations were late that the objective is missed however the others end.
    fn is_missed_for_certain(&self) -> bool {
        let above =
            |limit: Nanos| self.rows.values().map(|waits| waits.response.count_from(limit.0)).sum::<u64>() as f64;
        // An objective of errors or stalls alone is not missed by waits; a backlog that grows for good breaks any. So it does one of single kinds
        // of operation, whose times are not known here: they wait for the same clients.
        let criteria = || self.objective.criteria().iter().filter(|criterion| criterion.kind().is_none());
        let names_waits =
            criteria().any(|criterion| matches!(criterion, Criterion::Percentile { .. } | Criterion::Longest { .. }));
        !names_waits
            || criteria().any(|criterion| match *criterion {
                Criterion::Percentile { percentile, below, .. } => {
                    above(below) > (CERTAIN_FACTOR * percentile.tail()).min(1.0) * self.arrivals
                }
                Criterion::Longest { below, .. } => above(below) > 0.0,
                Criterion::Errors { .. } | Criterion::Stall { .. } => false,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::OpKind;

    const INTERVAL: Nanos = Nanos::from_millis(500);

    fn watch(per_s: f64) -> BacklogWatch {
        BacklogWatch::new(&Objective::default(), per_s, Nanos::from_secs(30), INTERVAL)
    }

    /// The number of the interval after which a probe is hopeless whose operations wait so long, in milliseconds.
    fn hopeless_after(waits_ms: impl IntoIterator<Item = u64>) -> Option<u32> {
        let mut watch = watch(100.0);
        (0..).zip(waits_ms).find_map(|(index, wait_ms)| {
            let mut kind = KindRow::empty(OpKind(0));
            kind.response.record_n(1_000_000 * (wait_ms + 1), 50);
            kind.service.record_n(1_000_000, 50);
            watch.add_interval(index, std::iter::once(&kind));
            watch.judge(Nanos(u64::from(index) * INTERVAL.0 + 5_000_000));
            watch.is_hopeless().then_some(index)
        })
    }

    #[test]
    fn a_backlog_that_grows_ends_a_probe_that_has_missed_for_certain() {
        // Six intervals are compared, and the last is judged one later.
        assert_eq!(hopeless_after((0..60).map(|n| 20 * n)), Some(6));
    }

    #[test]
    fn waits_that_stay_or_go_up_and_down_end_nothing() {
        assert_eq!(hopeless_after((0..60).map(|_| 500)), None);
        assert_eq!(hopeless_after((0..60).map(|n| if n % 4 == 3 { 100 } else { 100 * n })), None);
        assert_eq!(hopeless_after((0..60).map(|n| n / 5)), None, "they are short");
    }
}
