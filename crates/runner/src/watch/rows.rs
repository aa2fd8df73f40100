//! The intervals of a watch: what a server did between two readings becomes rows of a fixed grid.
//!
//! In: the number of whole intervals that are over, and what was done since the last reading that knew it. Out: a row for each interval. Limits:
//! readings are at the ends of intervals. If some were left out, what was done is spread evenly over their intervals, because it is not known
//! when it was done; if the server was restarted or did not answer meanwhile it is all in the last one. If nothing is known for very long, the
//! intervals so far are empty ones.

use model::{Generator, IntervalRow, KindRow, Nanos, OpKind, Phase, Tick};

/// So many intervals wait for a reading that knows what was done in them: a server may be away for days.
const WAITING_MAX: u32 = 10_000;

pub(super) struct WatchedRows {
    start: Tick,
    interval: Nanos,
    /// The first interval that has no row yet.
    next: u32,
    /// Whether the server was away in one of the intervals that have no row yet.
    was_away: bool,
}

impl WatchedRows {
    /// Rows of intervals of this length from `start` on.
    pub fn new(start: Tick, interval: Nanos) -> WatchedRows {
        WatchedRows { start, interval, next: 0, was_away: false }
    }

    /// The rows of the intervals up to number `end` in which so many were `done` of each kind; none as long as that is not known. `was_away` tells
    /// whether the server was restarted, or did not answer, since the call before.
    pub fn take(&mut self, end: u32, done: Option<&[u64]>, was_away: bool) -> Vec<IntervalRow> {
        self.was_away |= was_away;
        let intervals = end.saturating_sub(self.next);
        let done = done.or((intervals >= WAITING_MAX).then_some(&[][..]));
        let Some(done) = done.filter(|_| intervals > 0) else { return Vec::new() };
        let first = std::mem::replace(&mut self.next, end);
        let was_away = std::mem::take(&mut self.was_away);
        let row = |place: u32| {
            let (from, to) = (u64::from(place), u64::from(intervals));
            let part = |all: u64| {
                if was_away {
                    if from + 1 == to { all } else { 0 }
                } else {
                    share(all, from + 1, to) - share(all, from, to)
                }
            };
            let kinds = (0u8..).zip(done).map(|(kind, all)| KindRow { ok: part(*all), ..KindRow::empty(OpKind(kind)) });
            self.row(first + place, kinds.filter(|row| row.ok > 0).collect())
        };
        (0..intervals).map(row).collect()
    }

    fn row(&self, index: u32, kinds: Vec<KindRow>) -> IntervalRow {
        let (length, generator) = (self.interval, Generator::default());
        let start = self.start + Nanos(u64::from(index) * self.interval.0);
        IntervalRow { phase: Phase::Run, index, start, length, kinds, generator }
    }
}

/// The first `part` of `parts` of `all`, rounded down.
fn share(all: u64, part: u64, parts: u64) -> u64 {
    (u128::from(all) * u128::from(part) / u128::from(parts)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rows: &mut WatchedRows, end: u32, done: Option<&[u64]>, was_away: bool) -> Vec<(u32, Vec<u64>)> {
        let of = |row: &IntervalRow| (row.index, row.kinds.iter().map(|kind| kind.ok).collect());
        rows.take(end, done, was_away).iter().map(of).collect()
    }

    #[test]
    fn each_interval_has_what_was_done_since_the_reading_before() {
        let mut rows = WatchedRows::new(Tick(500), Nanos(100));
        assert_eq!(taken(&mut rows, 1, Some(&[7, 0, 2]), false), [(0, vec![7, 2])]);
        let second = rows.take(2, Some(&[0, 0, 3]), false);
        assert_eq!((second[0].start, second[0].kinds[0].kind), (Tick(600), OpKind(2)));
        assert!(rows.take(2, Some(&[1]), false).is_empty(), "no interval is over");
    }

    #[test]
    fn intervals_without_a_reading_share_what_was_done_and_nothing_is_lost() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert!(rows.take(2, None, false).is_empty());
        let found = taken(&mut rows, 3, Some(&[10]), false);
        assert_eq!(found, [(0, vec![3]), (1, vec![3]), (2, vec![4])]);
    }

    #[test]
    fn a_server_that_is_away_for_very_long_takes_no_more_and_more_memory() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert!(rows.take(WAITING_MAX - 1, None, false).is_empty());
        let empty = rows.take(WAITING_MAX, None, false);
        assert!(empty.len() == WAITING_MAX as usize && empty.iter().all(|row| row.kinds.is_empty()));
        assert_eq!(taken(&mut rows, WAITING_MAX + 1, Some(&[5]), false), [(WAITING_MAX, vec![5])]);
    }

    #[test]
    fn a_server_that_was_started_again_did_nothing_while_it_was_away() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        let found = taken(&mut rows, 3, Some(&[10]), true);
        assert_eq!(found, [(0, vec![]), (1, vec![]), (2, vec![10])]);
    }

    #[test]
    fn what_is_known_only_later_was_done_after_the_server_was_away() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert!(rows.take(1, None, true).is_empty() && rows.take(2, None, false).is_empty());
        let found = taken(&mut rows, 3, Some(&[10]), false);
        assert_eq!(found, [(0, vec![]), (1, vec![]), (2, vec![10])]);
        assert_eq!(taken(&mut rows, 5, Some(&[10]), false), [(3, vec![5]), (4, vec![5])]);
    }
}
