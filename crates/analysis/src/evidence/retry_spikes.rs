//! Connections that waited until the kernel tried them again: their times form narrow spikes at 1, 3 and 7 seconds.
//!
//! In: the service times of the operations that open connections. Out: the spikes, and how long was waited in them. Limits: those of the
//! finding `connect-retries`.

use crate::computed_phase::Measured;
use crate::evidence::PointView;
use model::{KindRow, Nanos, OpClass, Times};
use serde::Serialize;

/// Times that are close together behind a retry of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetrySpike {
    /// When the kernel repeats a SYN.
    pub retry_ns: Nanos,
    /// Connections that took as long, or up to 0.15 s longer.
    pub count: u64,
}

/// When a SYN is sent again, in milliseconds after the first.
const RETRIES_MS: [u64; 9] = [1_000, 2_000, 3_000, 4_000, 5_000, 7_000, 11_000, 15_000, 31_000];

/// The kernel's timer is never early; the histogram's buckets are up to 1 % wide.
const EARLY_SHARE: f64 = 0.015;

/// The timer may be late by its own coarseness, and then the connection takes its usual time.
const LATE_MS: u64 = 150;

/// How far around a spike its surroundings reach.
const AROUND_MS: u64 = 400;

/// A spike must be less likely than this if times were spread there as they are around it. Some hundred runs of noise have none.
const CHANCE_MAX: f64 = 1e-5;

/// Next to a spike that is beyond doubt a smaller one is believed, too.
const CHANCE_MAX_OTHERS: f64 = 1e-2;

/// The nanoseconds that connections of `times` waited for retries of the kernel, together; 0 if there is no spike beyond doubt.
pub fn waited_for_retries(times: &Times) -> f64 {
    find_spikes(times).iter().map(|spike| spike.retry_ns.0 as f64 * spike.count as f64).sum()
}

/// The service times of all operations that opened a connection.
pub fn connect_times(view: &PointView, measured: &Measured) -> Times {
    let opens = |row: &KindRow| view.point.kind(row.kind).is_some_and(|kind| kind.class == OpClass::Connect);
    let rows = measured.window.phase.intervals.iter().flat_map(|interval| &interval.kinds);
    Times::merged(rows.filter(|row| opens(row)).map(|row| &row.service))
}

/// The spikes of `times`, if one of them is beyond doubt.
pub fn find_spikes(times: &Times) -> Vec<RetrySpike> {
    let all: Vec<(RetrySpike, f64)> = RETRIES_MS.iter().map(|ms| look_at(times, *ms)).collect();
    if !all.iter().any(|(_, chance)| *chance < CHANCE_MAX) {
        return Vec::new();
    }
    all.into_iter().filter(|(_, chance)| *chance < CHANCE_MAX_OTHERS).map(|(spike, _)| spike).collect()
}

/// How many of `times` are at `retry_ms`, and how likely as many are there if times are spread as densely as around it.
fn look_at(times: &Times, retry_ms: u64) -> (RetrySpike, f64) {
    let ns = |ms: u64| ms * 1_000_000;
    let (from, to) = ((ns(retry_ms) as f64 * (1.0 - EARLY_SHARE)) as u64, ns(retry_ms + LATE_MS));
    let between = |from: u64, to: u64| times.count_from(from).saturating_sub(times.count_from(to));
    let inside = between(from, to);
    // The denser side: times that begin just here, and go on, have nothing before them.
    let around = between(from.saturating_sub(ns(AROUND_MS)), from).max(between(to, to + ns(AROUND_MS)));
    // One more: where nothing was seen there may be something.
    let expected = (2 * around + 1) as f64 * (to - from) as f64 / ns(2 * AROUND_MS) as f64;
    (RetrySpike { retry_ns: Nanos(ns(retry_ms)), count: inside }, chance_of(inside, expected))
}

/// The chance of `count` or more events where `expected` are expected (Poisson).
fn chance_of(count: u64, expected: f64) -> f64 {
    let mut term = (-expected).exp();
    let mut below = 0.0;
    for number in 0..count {
        below += term;
        term *= expected / (number + 1) as f64;
    }
    // The sum of the rest: 1 - below would lose what is smaller than its rounding.
    let rest = (count..count + 64).scan(term, |next, number| {
        let now = *next;
        *next *= expected / (number + 1) as f64;
        Some(now)
    });
    if below > 0.5 { rest.sum() } else { 1.0 - below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_of_a_count_is_that_of_poisson() {
        // 1 - exp(-2) (1 + 2 + 2), and a tail that is smaller than what 1 - x can show.
        assert!((chance_of(3, 2.0) - 0.323_324).abs() < 1e-6 && chance_of(0, 2.0) == 1.0);
        assert!((chance_of(12, 0.1) / 1.9e-21 - 1.0).abs() < 0.02, "{}", chance_of(12, 0.1));
    }
}
