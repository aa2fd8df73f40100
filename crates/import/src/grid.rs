//! Rates and counts over time become counts of intervals that add up to the total.
//!
//! In: stretches of time with the operations done in them, as a program prints or logs them. Out: for each kind and interval a whole number.
//!
//! Limits: printed rates are rounded, so their sum is a little off the total that the program counted. The intervals are then changed in
//! proportion, by [`ROUNDING_MAX`] at most. If they are off by more, or leave a stretch out, there are no intervals at all.

use model::{LatencyCounts, Nanos, Times};

/// More intervals than these are refused: 11 days of seconds.
pub(crate) const INTERVALS_MAX: u64 = 1_000_000;
/// By which share of the total the sum of the intervals may be off.
pub(crate) const ROUNDING_MAX: f64 = 0.02;
/// A rest of the run below this share of an interval has no interval of its own.
const REST_MIN: f64 = 0.01;

/// Operations of each kind in intervals of one length, in fractions.
#[derive(Clone, Debug)]
pub(crate) struct IntervalGrid {
    interval: Nanos,
    /// For each kind and interval.
    amounts: Vec<Vec<f64>>,
    /// The end of the last stretch that was added.
    covered_ns: u64,
    /// Response and service times of each kind and interval; as many as were recorded.
    times: Vec<Vec<(Times, Times)>>,
}

/// The time of a moment is beyond the most intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyIntervals;

impl IntervalGrid {
    /// Nothing, in intervals of this length (above 0), for so many kinds.
    pub(crate) fn new(interval: Nanos, kinds: usize) -> IntervalGrid {
        IntervalGrid { interval, amounts: vec![Vec::new(); kinds], covered_ns: 0, times: vec![Vec::new(); kinds] }
    }

    /// The number of the interval that holds the moment `at_ns`.
    pub(crate) fn place_of(&self, at_ns: u64) -> Result<usize, TooManyIntervals> {
        let place = at_ns / self.interval.0.max(1);
        if place < INTERVALS_MAX { Ok(place as usize) } else { Err(TooManyIntervals) }
    }

    /// Adds `amount` operations of `kind` to the interval `place`.
    pub(crate) fn add(&mut self, kind: usize, place: usize, amount: f64) {
        self.add_part(kind, place, amount);
        self.covered_ns = self.covered_ns.max((place as u64 + 1).saturating_mul(self.interval.0));
    }

    fn add_part(&mut self, kind: usize, place: usize, amount: f64) {
        let amounts = &mut self.amounts[kind];
        if amounts.len() <= place {
            amounts.resize(place + 1, 0.0);
        }
        amounts[place] += amount;
    }

    /// Adds response and service times of `kind` to the interval `place`.
    pub(crate) fn add_times(&mut self, kind: usize, place: usize, response: &Times, service: &Times) {
        let times = &mut self.times[kind];
        if times.len() <= place {
            times.resize_with(place + 1, Default::default);
        }
        times[place].0.add(response);
        times[place].1.add(service);
    }

    /// Spreads `amount` operations of `kind` evenly over the stretch from `from_ns` to `to_ns`.
    pub(crate) fn spread(
        &mut self,
        kind: usize,
        from_ns: u64,
        to_ns: u64,
        amount: f64,
    ) -> Result<(), TooManyIntervals> {
        if to_ns <= from_ns {
            return Ok(());
        }
        let (first, last) = (self.place_of(from_ns)?, self.place_of(to_ns - 1)?);
        let length = (to_ns - from_ns) as f64;
        for place in first..=last {
            let start = place as u64 * self.interval.0;
            let overlap = to_ns.min(start + self.interval.0) - from_ns.max(start);
            self.add_part(kind, place, amount * overlap as f64 / length);
        }
        self.covered_ns = self.covered_ns.max(to_ns);
        Ok(())
    }

    /// All response and service times of `kind`.
    pub(crate) fn all_times(&self, kind: usize) -> (Times, Times) {
        let mut all = (Times::default(), Times::default());
        for (response, service) in &self.times[kind] {
            all.0.add(response);
            all.1.add(service);
        }
        all
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.amounts.iter().all(Vec::is_empty)
    }

    /// Whether the first interval has less than `share` of the second.
    pub(crate) fn begins_low(&self, share: f64) -> bool {
        let at = |place: usize| self.amounts.iter().filter_map(|amounts| amounts.get(place)).sum::<f64>();
        at(0) < share * at(1)
    }

    /// Counts that add up to `totals` in a run of `length`, with the times of the intervals; or why the intervals cannot be used.
    pub(crate) fn fit(self, totals: &[u64], length: Nanos) -> Result<crate::Timeline, String> {
        let intervals = self.check_length(length)?;
        let missing = UnprintedEnd { from_ns: self.covered_ns, to_ns: length.0, interval_ns: self.interval.0 };
        let counts = self
            .amounts
            .iter()
            .zip(totals)
            .map(|(amounts, total)| fit_counts(amounts, *total, intervals, missing))
            .collect::<Result<Vec<_>, String>>()?;
        let times = if self.times.iter().all(Vec::is_empty) {
            Vec::new()
        } else {
            self.times.into_iter().map(|times| cut_times(times, intervals.all())).collect()
        };
        Ok(crate::Timeline { interval: self.interval, counts, failed: Vec::new(), times })
    }

    /// The intervals of a run of `length`, if those recorded cover it.
    fn check_length(&self, length: Nanos) -> Result<Intervals, String> {
        let recorded = self.amounts.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let (whole, rest) = (length.0 / self.interval.0, length.0 % self.interval.0);
        let has_rest = rest as f64 >= REST_MIN * self.interval.0 as f64;
        let planned = whole + u64::from(has_rest);
        if planned == 0 || planned > INTERVALS_MAX {
            return Err("the run is shorter than an interval, or has too many of them".to_owned());
        }
        if recorded + 1 >= planned && recorded <= planned + 1 {
            Ok(Intervals { whole: (whole as usize).max(1), has_rest })
        } else {
            Err(format!("the intervals cover {recorded} of {planned} times {}", self.interval))
        }
    }
}

/// The interval that the lines of a log are counted in. Lines are in the order of time, so only one is open.
#[derive(Default)]
pub(crate) struct OpenLogInterval {
    place: usize,
    count: u64,
    response: LatencyCounts,
    service: LatencyCounts,
}

/// A line is of a time before the lines in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeGoesBack;

impl OpenLogInterval {
    /// Counts on in the interval `place`. What was counted in an earlier one are operations of `kind` in `grid` now.
    pub(crate) fn move_to(&mut self, place: usize, kind: usize, grid: &mut IntervalGrid) -> Result<(), TimeGoesBack> {
        // Several threads may write one log, with clocks that differ a little.
        if place + 1 < self.place {
            return Err(TimeGoesBack);
        }
        if place > self.place {
            self.close(kind, grid);
            self.place = place;
        }
        Ok(())
    }

    /// Counts an operation, with its response and service time if they are known.
    pub(crate) fn add(&mut self, times_ns: Option<(u64, u64)>) {
        self.count += 1;
        if let Some((response_ns, service_ns)) = times_ns {
            self.response.record(response_ns);
            self.service.record(service_ns);
        }
    }

    /// Adds what was counted to `grid`, as operations of `kind`.
    pub(crate) fn close(&mut self, kind: usize, grid: &mut IntervalGrid) {
        if self.count == 0 {
            return;
        }
        grid.add(kind, self.place, std::mem::take(&mut self.count) as f64);
        if !self.response.is_empty() {
            grid.add_times(kind, self.place, &self.response.take(), &self.service.take());
        }
    }
}

/// The intervals that a run has.
#[derive(Clone, Copy)]
struct Intervals {
    whole: usize,
    /// Whether a part of an interval follows.
    has_rest: bool,
}

impl Intervals {
    fn all(self) -> usize {
        self.whole + usize::from(self.has_rest)
    }
}

/// The end of a run, for which nothing was printed.
#[derive(Clone, Copy)]
struct UnprintedEnd {
    from_ns: u64,
    to_ns: u64,
    interval_ns: u64,
}

impl UnprintedEnd {
    /// Its length in intervals.
    fn length(self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / self.interval_ns as f64
    }

    /// How much of it is in the interval `place`, as a share of all of it.
    fn share_in(self, place: usize) -> f64 {
        let start = place as u64 * self.interval_ns;
        let overlap = self.to_ns.min(start + self.interval_ns).saturating_sub(self.from_ns.max(start));
        overlap as f64 / self.interval_ns as f64 / self.length()
    }
}

/// Whole numbers in place of `amounts` that add up to `total`.
fn fit_counts(amounts: &[f64], total: u64, intervals: Intervals, missing: UnprintedEnd) -> Result<Vec<u64>, String> {
    let mut cut = amounts.to_vec();
    // What was logged in the first moments after the end belongs to the last interval.
    let beyond: f64 = cut.iter().skip(intervals.all()).sum();
    cut.resize(intervals.all(), 0.0);
    if let Some(last) = cut.last_mut() {
        *last += beyond;
    }
    let sum: f64 = cut.iter().sum();
    let rest = total as f64 - sum;
    // Programs may print no line for the end of a run, when an interval is not over: what they did not print was done then.
    if missing.length() >= REST_MIN && rest > 0.0 && rest <= most_in(missing, &cut) {
        cut.iter_mut().enumerate().for_each(|(place, amount)| *amount += rest * missing.share_in(place));
        return Ok(round_to_total(&cut, 1.0, total));
    }
    let allowed = ROUNDING_MAX * total as f64 + cut.len() as f64;
    if rest.abs() > allowed {
        return Err(format!("the intervals have {sum:.0} operations of {total}"));
    }
    if sum > 0.0 {
        Ok(round_to_total(&cut, total as f64 / sum, total))
    } else {
        Ok(round_to_total(&vec![1.0; cut.len()], total as f64 / cut.len() as f64, total))
    }
}

/// The most operations that may have been done in `missing`: as many as in the best interval, and a few.
fn most_in(missing: UnprintedEnd, amounts: &[f64]) -> f64 {
    1.2 * missing.length() * amounts.iter().copied().fold(0.0, f64::max) + 10.0
}

/// `amounts` times `factor` as whole numbers: each is rounded so that the sums up to it are off by less than 1, and the last is `total`.
fn round_to_total(amounts: &[f64], factor: f64, total: u64) -> Vec<u64> {
    let (mut sum, mut given) = (0.0, 0);
    let mut counts: Vec<u64> = amounts
        .iter()
        .map(|amount| {
            sum += amount * factor;
            let up_to = (sum.round() as u64).clamp(given, total);
            let count = up_to - given;
            given = up_to;
            count
        })
        .collect();
    if let Some(last) = counts.last_mut() {
        *last += total - given;
    }
    counts
}

/// The times of `count` intervals; those beyond belong to the last.
fn cut_times(mut times: Vec<(Times, Times)>, count: usize) -> Vec<(Times, Times)> {
    let beyond = times.split_off(times.len().min(count));
    times.resize_with(count, Default::default);
    if let Some(last) = times.last_mut() {
        for (response, service) in &beyond {
            last.0.add(response);
            last.1.add(service);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn grid(amounts: &[f64]) -> IntervalGrid {
        let mut grid = IntervalGrid::new(SECOND, 1);
        amounts.iter().enumerate().for_each(|(place, amount)| grid.add(0, place, *amount));
        grid
    }

    fn fit(amounts: &[f64], total: u64, seconds: f64) -> Result<Vec<u64>, String> {
        let fitted = grid(amounts).fit(&[total], Nanos((seconds * 1e9) as u64));
        fitted.map(|mut timeline| timeline.counts.remove(0))
    }

    #[test]
    fn rounded_rates_add_up_to_the_total() {
        assert_eq!(fit(&[812.97, 820.05, 799.99], 2_434, 3.001), Ok(vec![813, 821, 800]));
        assert_eq!(fit(&[10.0, 10.0], 20, 2.0), Ok(vec![10, 10]));
    }

    #[test]
    fn the_rest_of_an_interval_that_no_line_was_printed_for_has_what_is_missing() {
        assert_eq!(fit(&[100.0, 100.0], 248, 2.5), Ok(vec![100, 100, 48]));
        assert!(fit(&[100.0, 100.0], 900, 2.5).is_err(), "more than half an interval can have");
        let mut windows = IntervalGrid::new(SECOND, 1);
        windows.spread(0, 0, 1_100_000_000, 110.0).unwrap();
        let fitted = windows.fit(&[200], Nanos(2_000_000_000)).map(|mut timeline| timeline.counts.remove(0));
        assert_eq!(fitted, Ok(vec![100, 100]), "the last window of a log is not written");
    }

    #[test]
    fn intervals_that_do_not_fit_their_total_are_not_used() {
        assert!(fit(&[100.0, 100.0], 300, 2.0).unwrap_err().contains("200 operations of 300"));
        assert!(fit(&[100.0], 100, 60.0).unwrap_err().contains("1 of 60"));
        assert!(fit(&[100.0; 9], 900, 2.0).is_err());
        assert!(fit(&[], 0, 0.0).is_err());
    }

    #[test]
    fn what_was_logged_just_after_the_end_belongs_to_the_last_interval() {
        assert_eq!(fit(&[10.0, 10.0, 1.0], 21, 2.0), Ok(vec![10, 11]));
    }

    #[test]
    fn a_stretch_is_spread_over_the_intervals_that_it_touches() {
        let mut grid = IntervalGrid::new(SECOND, 1);
        grid.spread(0, 500_000_000, 2_500_000_000, 20.0).unwrap();
        assert_eq!(grid.amounts[0], [5.0, 10.0, 5.0]);
        assert_eq!(grid.spread(0, 0, u64::MAX, 1.0), Err(TooManyIntervals));
    }

    #[test]
    fn lines_are_counted_in_their_intervals_and_may_not_go_back() {
        let (mut grid, mut open) = (IntervalGrid::new(SECOND, 1), OpenLogInterval::default());
        for (place, times_ns) in [(0, Some((30, 10))), (0, Some((50, 50))), (2, None)] {
            assert_eq!(open.move_to(place, 0, &mut grid), Ok(()));
            open.add(times_ns);
        }
        assert_eq!(open.move_to(1, 0, &mut grid), Ok(()), "a clock that is a little behind");
        assert_eq!(open.move_to(0, 0, &mut grid), Err(TimeGoesBack));
        open.close(0, &mut grid);
        assert_eq!(grid.amounts[0], [2.0, 0.0, 1.0]);
        let (response, service) = grid.all_times(0);
        assert_eq!([(response.len(), response.sum_ns()), (service.len(), service.sum_ns())], [(2, 80), (2, 60)]);
    }

    proptest! {
        #[test]
        fn counts_always_add_up(amounts in prop::collection::vec(0.0..1e6f64, 1..50), off in -0.01..0.01f64) {
            let total = (amounts.iter().sum::<f64>() * (1.0 + off)) as u64;
            if let Ok(counts) = fit(&amounts, total, amounts.len() as f64) {
                prop_assert_eq!(counts.iter().sum::<u64>(), total);
                prop_assert_eq!(counts.len(), amounts.len());
            }
        }
    }
}
