//! How many operations had which response time, over time: what a heat map shows.
//!
//! In: the recorded intervals of warmup and run. Out: a [`CountColumn`] for each interval, or for each bin of a long run, so that it lies
//! where the throughput of the same time is drawn. The operations of its rows sum to those that ended in it.
//! Limits: times are put together in rows of equal ratio, 12 to each power of ten (a row is 21 % high); the histograms that they come from
//! are 80 times as fine.

use crate::Span;
use crate::numbers::phase_times::merge_times;
use crate::recorded::window::{OpTally, Window};
use model::{Interval, PhaseData};
use std::collections::BTreeMap;

/// Rows to each power of ten.
pub const ROWS_PER_DECADE: u8 = 12;

/// The response times of the operations that ended in one stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct CountColumn {
    /// The stretch, in seconds since the run phase began.
    pub span: Span,
    /// (row, operations) in rising order; rows without operations are left out.
    pub rows: Vec<(u8, u64)>,
}

/// The columns of `phase`, whose whole intervals are `whole`, `per_column` of them in each; times count from the beginning of the run phase
/// of `window`.
pub fn count_columns(phase: &PhaseData, whole: &[OpTally], window: &Window, per_column: usize) -> Vec<CountColumn> {
    // Whole intervals at the end in which nothing ended have a tally and no record.
    let mut unread = &phase.intervals[..];
    let columns = whole.chunks(per_column.max(1)).map(|tallies| {
        let recorded = unread.split_off(..tallies.len().min(unread.len())).unwrap_or_default();
        count_column(&OpTally::joined(tallies), recorded, window)
    });
    columns.collect()
}

fn count_column(tally: &OpTally, recorded: &[Interval], window: &Window) -> CountColumn {
    let from_s = window.seconds_at(tally.start);
    let mut rows: BTreeMap<u8, u64> = BTreeMap::new();
    for (ns, count) in merge_times(recorded, |kind| &kind.response).recorded() {
        let row = rows.entry(row_of(ns)).or_insert(0);
        *row = row.saturating_add(count);
    }
    let span = Span { from_s, to_s: from_s + tally.length.as_secs_f64() };
    CountColumn { span, rows: rows.into_iter().collect() }
}

/// The row of a time: times below a nanosecond are in row 0.
fn row_of(ns: u64) -> u8 {
    // The longest time that fits has row 231.
    ((ns.max(1) as f64).log10() * f64::from(ROWS_PER_DECADE)).floor() as u8
}

/// The shortest time of a row, in nanoseconds. It is also the end of the row below.
pub fn row_start_ns(row: u16) -> f64 {
    10f64.powf(f64::from(row) / f64::from(ROWS_PER_DECADE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn columns_of(simulation: &Simulation) -> Vec<CountColumn> {
        simulation.analysis().points.remove(0).series.expect("it ran").response_counts
    }

    #[test]
    fn each_time_is_in_the_row_between_whose_ends_it_lies() {
        for ns in [1, 2, 9, 10, 999, 1_000, 123_456, 4_200_000_000, u64::MAX] {
            let row = u16::from(row_of(ns));
            assert!(row_start_ns(row) <= 1.000_001 * ns as f64 && (ns as f64) < row_start_ns(row + 1), "{ns} {row}");
        }
        assert!((row_start_ns(36) / 1_000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_columns_are_the_intervals_and_their_rows_sum_to_what_ended_in_them() {
        let mut simulation = Simulation::counts(&[100, 0, 300]);
        simulation.add(2, 5, 70_000_000, 70_000_000);
        let columns = columns_of(&simulation);
        let sums: Vec<(f64, f64, u64)> = columns
            .iter()
            .map(|column| (column.span.from_s, column.span.to_s, column.rows.iter().map(|row| row.1).sum()))
            .collect();
        assert_eq!(sums, [(0.0, 1.0, 100), (1.0, 2.0, 0), (2.0, 3.0, 305)]);
        assert_eq!(columns[2].rows.last(), Some(&(row_of(70_000_000), 5)));
    }

    #[test]
    fn the_columns_of_a_long_run_are_its_bins() {
        let simulation = Simulation::counts(&vec![10; 1_200]);
        let series = simulation.analysis().points.remove(0).series.expect("it ran");
        let bins: Vec<(f64, f64)> = series.bins.iter().map(|bin| (bin.all.at_s, bin.all.length_s)).collect();
        let columns: Vec<(f64, f64)> =
            series.response_counts.iter().map(|column| (column.span.from_s, column.span.length_s())).collect();
        assert_eq!((columns.len(), &columns), (240, &bins));
        assert!(series.response_counts.iter().all(|column| column.rows.iter().map(|row| row.1).sum::<u64>() == 50));
    }
}
