//! How far the load of a point's data is.
//!
//! In: the rows of intervals, how many rows an operation has, how many there will be. Out: rows and bytes per second, and the time left at the rate
//! so far. Indexes and flushes follow the rows, and their time is not known before.

use super::left::{clock, count, per_s};
use model::{IntervalRow, KindDef};

/// The rows of one load.
#[derive(Default)]
pub struct LoadedRows {
    /// How many rows an operation of each kind has.
    per_op: Vec<f64>,
    /// How many there will be; `None` if that is not known.
    total: Option<u64>,
    rows: f64,
    seconds: f64,
    /// Since the last [`LoadedRows::take`].
    new_rows: f64,
    new_bytes: u64,
}

/// About a second of a load.
#[derive(Debug, PartialEq)]
pub struct LoadSecond {
    pub rows_per_s: f64,
    /// `loading 3.20M of 10.0M rows, 210k rows/s, 40.2 MB/s, 0:32 left`
    pub text: String,
}

impl LoadedRows {
    /// Those of a point whose operations are of `kinds`.
    pub fn new(kinds: &[KindDef], total: Option<u64>) -> LoadedRows {
        LoadedRows { per_op: kinds.iter().map(|kind| kind.rows_per_op).collect(), total, ..LoadedRows::default() }
    }

    pub fn add(&mut self, rows: &[IntervalRow]) {
        for kind in rows.iter().flat_map(|row| &row.kinds) {
            let each = self.per_op.get(usize::from(kind.kind)).copied().unwrap_or(0.0);
            self.new_rows += kind.ok as f64 * each;
            self.new_bytes += kind.bytes;
        }
    }

    /// Whether the last row has come since the last [`LoadedRows::take`].
    pub fn is_complete_now(&self) -> bool {
        self.new_rows > 0.0 && self.total.is_some_and(|total| (self.rows + self.new_rows).round() as u64 >= total)
    }

    /// What came in the `seconds` since the last call; `None` if rows are not counted.
    pub fn take(&mut self, seconds: f64) -> Option<LoadSecond> {
        let (new_rows, new_bytes) = (std::mem::take(&mut self.new_rows), std::mem::take(&mut self.new_bytes));
        self.rows += new_rows;
        self.seconds += seconds;
        let total = self.total?;
        let done = self.rows.round() as u64;
        let rows_per_s = new_rows / seconds;
        let rate = format!("{} rows/s, {} MB/s", per_s(rows_per_s), per_s(new_bytes as f64 / 1e6 / seconds));
        let text = if done < total {
            let left = (total - done) as f64 * self.seconds / self.rows;
            let left = if left.is_finite() { format!(", {} left", clock(left)) } else { String::new() };
            format!("loading {} of {} rows, {rate}{left}", count(done), count(total))
        } else {
            format!("loaded {} rows, {rate}; indexes and flushes follow", count(total))
        };
        Some(LoadSecond { rows_per_s, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, KindRow, Nanos, OpClass, OpKind, Phase, Tick};

    fn blocks(ok: u64) -> [IntervalRow; 1] {
        let (start, length) = (Tick(0), Nanos::from_millis(1_000));
        let kinds = vec![KindRow { ok, bytes: ok * 1_000_000, ..KindRow::empty(OpKind(0)) }];
        [IntervalRow { phase: Phase::Prepare, index: 0, start, length, kinds, generator: Generator::default() }]
    }

    #[test]
    fn rows_have_a_rate_and_the_rest_takes_as_long_as_those_before_it() {
        let kinds = [KindDef { rows_per_op: 5_000.0, ..KindDef::new("load", OpClass::Write) }];
        let mut loaded = LoadedRows::new(&kinds, Some(1_000_000));
        loaded.add(&blocks(40));
        let text = |second: Option<LoadSecond>| second.expect("rows are counted").text;
        assert_eq!(text(loaded.take(1.0)), "loading 200k of 1.00M rows, 200k rows/s, 40.0 MB/s, 0:04 left");
        assert!(!loaded.is_complete_now());
        loaded.add(&blocks(160));
        assert!(loaded.is_complete_now());
        assert_eq!(text(loaded.take(2.0)), "loaded 1.00M rows, 400k rows/s, 80.0 MB/s; indexes and flushes follow");
        assert!(!loaded.is_complete_now(), "it was told");
    }

    #[test]
    fn what_has_no_rows_has_no_such_second() {
        let mut loaded = LoadedRows::new(&[KindDef::new("fill", OpClass::Write)], None);
        loaded.add(&blocks(3));
        assert_eq!(loaded.take(1.0), None);
    }
}
