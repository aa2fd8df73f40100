//! The intervals of a watch: what a server did between two readings becomes rows of a fixed grid.
//!
//! In: until when what was done is known, and what was done since the last reading that knew it. Out: a row for each interval. Limits:
//! readings are at the ends of intervals, and a little later. If some were left out, what was done is spread evenly over their intervals, because it
//! is not known when it was done; if the server was restarted or did not answer meanwhile it is all in the last one. If nothing is known for very
//! long, the intervals so far are empty ones. A watch that ends within an interval has a last row that is as long as that part.

use model::{Generator, IntervalRow, KindRow, Nanos, OpKind, Phase, Tick};

/// So many intervals wait for a reading that knows what was done in them: a server may be away for days.
const WAITING_MAX: u32 = 10_000;
/// The last reading comes a little after the end of the watch. A rest below this part of an interval has no row of its own: its rate would be noise.
const REST_PARTS: u64 = 10;

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

    /// The end of the last whole interval at `at`.
    pub fn whole_end(&self, at: Tick) -> Tick {
        Tick(at.0 - at.since(self.start).0 % self.interval.0)
    }

    /// Until when there are rows if the watch ends at `at`. What was done in a short rest is in the row before, unless that is taken already.
    pub fn last_end(&self, at: Tick) -> Tick {
        let whole = self.whole_end(at);
        let is_short = at.since(whole).0 < self.interval.0 / REST_PARTS;
        if is_short && whole > self.start_of(self.next) { whole } else { at }
    }

    /// The rows of the intervals up to `until` in which so many were `done` of each kind; none as long as that is not known. `was_away` tells
    /// whether the server was restarted, or did not answer, since the call before.
    pub fn take(&mut self, until: Tick, done: Option<&[u64]>, was_away: bool) -> Vec<IntervalRow> {
        self.was_away |= was_away;
        let end = u32::try_from(until.since(self.start).0.div_ceil(self.interval.0)).unwrap_or(u32::MAX);
        let intervals = end.saturating_sub(self.next);
        let done = done.or((intervals >= WAITING_MAX).then_some(&[][..]));
        let Some(done) = done.filter(|_| intervals > 0) else { return Vec::new() };
        let first = std::mem::replace(&mut self.next, end);
        let was_away = std::mem::take(&mut self.was_away);
        let begin = self.start_of(first);
        let all_ns = until.since(begin).0;
        let row = |index: u32| {
            let row_end = self.start_of(index + 1).min(until);
            let (from_ns, to_ns) = (self.start_of(index).since(begin).0, row_end.since(begin).0);
            let part = |all: u64| {
                if was_away {
                    if to_ns == all_ns { all } else { 0 }
                } else {
                    share(all, to_ns, all_ns) - share(all, from_ns, all_ns)
                }
            };
            let kinds = (0u8..).zip(done).map(|(kind, all)| KindRow { ok: part(*all), ..KindRow::empty(OpKind(kind)) });
            self.row(index, row_end, kinds.filter(|row| row.ok > 0).collect())
        };
        (first..end).map(row).collect()
    }

    fn start_of(&self, index: u32) -> Tick {
        self.start + Nanos(u64::from(index) * self.interval.0)
    }

    fn row(&self, index: u32, end: Tick, kinds: Vec<KindRow>) -> IntervalRow {
        let (start, generator) = (self.start_of(index), Generator::default());
        IntervalRow { phase: Phase::Run, index, start, length: end.since(start), kinds, generator }
    }
}

/// The first `part` of `parts` of `all`, rounded down.
fn share(all: u64, part: u64, parts: u64) -> u64 {
    (u128::from(all) * u128::from(part) / u128::from(parts)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken at the end of so many intervals of 100 ns.
    fn taken(rows: &mut WatchedRows, end: u32, done: Option<&[u64]>, was_away: bool) -> Vec<(u32, Vec<u64>)> {
        let of = |row: &IntervalRow| (row.index, row.kinds.iter().map(|kind| kind.ok).collect());
        rows.take(rows.start_of(end), done, was_away).iter().map(of).collect()
    }

    /// The rows of a server that does 50 statements a second, which is read each second, `late_ms` after it, but not in the first `unread` seconds,
    /// until the watch ends after `end_ms`. Each with its length in milliseconds and its rate.
    fn watched_steadily(late_ms: u64, unread: u64, end_ms: u64) -> Vec<(u64, f64)> {
        let mut rows = WatchedRows::new(Tick(0), Nanos::from_secs(1));
        let mut counted = 0;
        let mut all = Vec::new();
        let ends = (1..).map(|nth| nth * 1_000).take_while(|whole_ms| whole_ms + late_ms < end_ms);
        for (at_ms, is_over) in ends.map(|whole_ms| (whole_ms + late_ms, false)).chain([(end_ms, true)]) {
            let at = Tick(Nanos::from_millis(at_ms).0);
            let until = if is_over { rows.last_end(at) } else { rows.whole_end(at) };
            let now = 50 * at_ms / 1_000;
            let done = [now - counted];
            let is_read = is_over || at_ms / 1_000 > unread;
            counted = if is_read { now } else { counted };
            all.extend(rows.take(until, is_read.then_some(&done[..]), false));
        }
        let ok = |row: &IntervalRow| row.kinds.iter().map(|kind| kind.ok).sum::<u64>();
        assert_eq!(all.iter().map(ok).sum::<u64>(), counted, "the rate of the watch is that of its rows");
        assert!(all.iter().all(|row| row.start < Tick(Nanos::from_millis(end_ms).0)), "what counts is before the end");
        all.iter().map(|row| (row.length.0 / 1_000_000, ok(row) as f64 / row.length.as_secs_f64())).collect()
    }

    #[test]
    fn a_watch_of_whole_intervals_has_no_row_for_the_moments_until_its_last_reading() {
        for unread in [0, 9, 20] {
            let rows = watched_steadily(3, unread, 15_003);
            assert_eq!(rows.len(), 15, "{rows:?}");
            assert!(rows.iter().all(|(ms, rate)| *ms == 1_000 && (rate - 50.0).abs() <= 1.0), "{rows:?}");
        }
    }

    #[test]
    fn the_last_row_of_a_watch_that_ends_within_an_interval_is_as_long_as_that_part() {
        for unread in [0, 9, 20] {
            let rows = watched_steadily(3, unread, 15_400);
            assert_eq!((rows.len(), rows[15].0), (16, 400), "{rows:?}");
            assert!(rows.iter().all(|(_, rate)| (rate - 50.0).abs() <= 5.0), "{rows:?}");
        }
        assert_eq!(watched_steadily(3, 0, 300), [(300, 50.0)], "it ends before its first interval does");
    }

    #[test]
    fn what_was_done_in_a_short_rest_is_not_lost_if_the_row_before_is_taken() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert_eq!(taken(&mut rows, 1, Some(&[10]), false), [(0, vec![10])]);
        let until = rows.last_end(Tick(105));
        let last = rows.take(until, Some(&[1]), false);
        assert_eq!((last[0].index, last[0].length, last[0].kinds[0].ok), (1, Nanos(5), 1));
        assert!(rows.take(until, Some(&[]), false).is_empty());
    }

    #[test]
    fn each_interval_has_what_was_done_since_the_reading_before() {
        let mut rows = WatchedRows::new(Tick(500), Nanos(100));
        assert_eq!(taken(&mut rows, 1, Some(&[7, 0, 2]), false), [(0, vec![7, 2])]);
        let second = rows.take(Tick(700), Some(&[0, 0, 3]), false);
        assert_eq!((second[0].start, second[0].kinds[0].kind), (Tick(600), OpKind(2)));
        assert!(taken(&mut rows, 2, Some(&[1]), false).is_empty(), "no interval is over");
    }

    #[test]
    fn intervals_without_a_reading_share_what_was_done_and_nothing_is_lost() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert!(taken(&mut rows, 2, None, false).is_empty());
        let found = taken(&mut rows, 3, Some(&[10]), false);
        assert_eq!(found, [(0, vec![3]), (1, vec![3]), (2, vec![4])]);
    }

    #[test]
    fn a_server_that_is_away_for_very_long_takes_no_more_and_more_memory() {
        let mut rows = WatchedRows::new(Tick(0), Nanos(100));
        assert!(taken(&mut rows, WAITING_MAX - 1, None, false).is_empty());
        let empty = taken(&mut rows, WAITING_MAX, None, false);
        assert!(empty.len() == WAITING_MAX as usize && empty.iter().all(|(_, done)| done.is_empty()));
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
        assert!(taken(&mut rows, 1, None, true).is_empty() && taken(&mut rows, 2, None, false).is_empty());
        let found = taken(&mut rows, 3, Some(&[10]), false);
        assert_eq!(found, [(0, vec![]), (1, vec![]), (2, vec![10])]);
        assert_eq!(taken(&mut rows, 5, Some(&[10]), false), [(3, vec![5]), (4, vec![5])]);
    }
}
