//! The clock of the bus, which all hosts of a run can ask.
//!
//! In: a connection, the clock of this process. Out: how far the two are apart, and by how much that may be wrong at most.
//! Limits: the server counts microseconds. The way to the server and the way back may differ, and by how much is not seen: half of the
//! round trip is the bound (Cristian, "Probabilistic clock synchronization", 1989). It is of the moment at which it was measured.

use crate::{BusConnection, BusError};

/// So many round trips are made at most; that of the shortest way counts.
const ROUND_TRIPS: usize = 32;
/// The server counts microseconds and leaves out what is below.
const RESOLUTION_NS: u64 = 1_000;

/// A bound that is good enough when the clocks are compared again.
const GOOD_BOUND_NS: u64 = 50_000;

/// How far the clock of the bus is ahead of a clock of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Time of the bus minus time of the process, in nanoseconds.
    pub offset_ns: i128,
    /// It is wrong by this at most, either way.
    pub bound_ns: u64,
    /// The longest round trip that was seen.
    pub slowest_ns: u64,
}

impl ClockOffset {
    /// Measures it: `now_ns` is the clock of this process.
    pub fn measure(connection: &mut BusConnection, now_ns: impl Fn() -> u64) -> Result<ClockOffset, BusError> {
        ClockOffset::measure_until(connection, now_ns, |_| false)
    }

    /// Measures it again, where a bound of `best_ns` was reached before: with fewer round trips as soon as one is about as short,
    /// or short enough.
    pub fn measure_again(
        connection: &mut BusConnection,
        now_ns: impl Fn() -> u64,
        best_ns: u64,
    ) -> Result<ClockOffset, BusError> {
        let enough_ns = best_ns.saturating_add(best_ns / 4).max(GOOD_BOUND_NS);
        ClockOffset::measure_until(connection, now_ns, |trips| {
            ClockOffset::of_trips(trips).is_some_and(|offset| offset.bound_ns <= enough_ns)
        })
    }

    fn measure_until(
        connection: &mut BusConnection,
        now_ns: impl Fn() -> u64,
        is_enough: impl Fn(&[RoundTrip]) -> bool,
    ) -> Result<ClockOffset, BusError> {
        let mut trips = Vec::with_capacity(ROUND_TRIPS);
        while trips.len() < ROUND_TRIPS && !is_enough(&trips) {
            let sent = now_ns();
            let server = connection.time_ns()?;
            trips.push(RoundTrip { sent, server, received: now_ns() });
        }
        Ok(ClockOffset::of_trips(&trips).expect("there are round trips"))
    }

    fn of_trips(trips: &[RoundTrip]) -> Option<ClockOffset> {
        let shortest = trips.iter().min_by_key(|trip| trip.length_ns())?;
        let middle = i128::from(shortest.sent) + i128::from(shortest.length_ns() / 2);
        // On average half a microsecond is left out.
        let server = i128::from(shortest.server) + i128::from(RESOLUTION_NS / 2);
        Some(ClockOffset {
            offset_ns: server - middle,
            bound_ns: shortest.length_ns().div_ceil(2) + RESOLUTION_NS / 2,
            slowest_ns: trips.iter().map(RoundTrip::length_ns).max()?,
        })
    }
}

/// One question for the time, and when it was sent and answered by the clock of this process.
struct RoundTrip {
    sent: u64,
    server: u64,
    received: u64,
}

impl RoundTrip {
    fn length_ns(&self) -> u64 {
        self.received.saturating_sub(self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_counts_and_bounds_the_error() {
        // The clock of the bus is 5 s ahead. The ways of the second trip are of equal length, those of the others are not.
        let trip = |sent: u64, there: u64, back: u64| RoundTrip {
            sent,
            server: (sent + there + 5_000_000_000) / 1_000 * 1_000,
            received: sent + there + back,
        };
        let trips =
            [trip(1_000_000, 900_000, 20_000), trip(9_000_000, 15_000, 15_000), trip(20_000_000, 9_000, 80_000)];
        let offset = ClockOffset::of_trips(&trips).unwrap();
        assert_eq!((offset.bound_ns, offset.slowest_ns), (15_500, 920_000));
        assert!((offset.offset_ns - 5_000_000_000).unsigned_abs() <= 500, "{offset:?}");
        // Ways of any length give an offset within its own bound.
        for trip in trips {
            let alone = ClockOffset::of_trips(&[trip]).unwrap();
            assert!((alone.offset_ns - 5_000_000_000).unsigned_abs() <= u128::from(alone.bound_ns), "{alone:?}");
        }
    }
}
