//! The bounds within which a file from a stranger is read.
//!
//! In: what a reader is about to take. Out: an error instead of too much. Limits: strings and JSON need no bound of their own,
//! because what they take in memory is a small multiple of the file's size.

use crate::error::ReadFault;

/// Fifty hours of a hundred readings a second.
const ROWS_MAX: u64 = 20_000_000;
/// Forty-six days of seconds.
const INTERVALS_MAX: u64 = 4_000_000;
/// A day of seconds with two kinds of operation: measured, an hour of them is charged 130 to 180 MB.
pub(crate) const MEMORY_BYTES_MAX: u64 = 4 << 30;
/// Numbers of the run, all together: no sum over any part of it overflows.
const SUM_MAX: u64 = 1 << 63;

/// What of the bounds is used up. Every row, interval and number passes here once.
#[derive(Default)]
pub(crate) struct Budget {
    rows: u64,
    intervals: u64,
    memory: u64,
    sum: u64,
}

impl Budget {
    /// Another row is read.
    pub(crate) fn count_row(&mut self) -> Result<(), ReadFault> {
        spend_budget(&mut self.rows, 1, ROWS_MAX, "rows")
    }

    /// As many intervals more are kept in memory.
    pub(crate) fn count_intervals(&mut self, count: u64) -> Result<(), ReadFault> {
        spend_budget(&mut self.intervals, count, INTERVALS_MAX, "intervals")
    }

    /// Times take as much memory more.
    pub(crate) fn take_memory(&mut self, bytes: u64) -> Result<(), ReadFault> {
        spend_budget(&mut self.memory, bytes, MEMORY_BYTES_MAX, "bytes of times in memory")
    }

    /// Adds `more` to `sum`. What everything adds up to is bounded, so no part of it overflows.
    pub(crate) fn add_to(&mut self, sum: &mut u64, more: u64) -> Result<(), ReadFault> {
        spend_budget(&mut self.sum, more, SUM_MAX, "as the sum of its numbers")?;
        *sum += more;
        Ok(())
    }
}

fn spend_budget(used: &mut u64, more: u64, most: u64, of_what: &str) -> Result<(), ReadFault> {
    match used.checked_add(more).filter(|total| *total <= most) {
        Some(total) => {
            *used = total;
            Ok(())
        }
        None => Err(ReadFault::wrong(format!("it has more than {most} {of_what}, the most that is read"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_numbers_have_their_bounds() {
        let mut budget = Budget { rows: ROWS_MAX - 1, ..Budget::default() };
        assert!(budget.count_row().is_ok());
        assert!(budget.count_row().is_err());
        let mut sum = 5;
        budget.add_to(&mut sum, SUM_MAX - 1).unwrap();
        assert!(budget.add_to(&mut sum, 2).is_err());
        assert_eq!(sum, SUM_MAX + 4);
    }
}
