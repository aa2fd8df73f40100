//! When a rate is steady: the rule of SNIA's Solid State Storage Performance Test Specification.
//!
//! In: the rates of rounds of equal length, in order. Out: a [`SteadyWindow`] of five of them with its range and slope, and whether it
//! is steady. The load ends by it and the analysis judges by it, so both ask here.
//! Limits: five rounds cannot show what happens less often than that; a device whose rate comes in waves longer than the
//! window is called steady on the crest of one.
//!
//! SSS PTS 2.0.2, section 2.1 (Steady State): within the measurement window Max(y) - Min(y) is at most 20 % of Ave(y), and the
//! greatest and least value of the best linear fit of y differ by at most 10 % of Ave(y).

/// Rounds in the measurement window.
pub const WINDOW_ROUNDS: usize = 5;
/// The most by which the rates of a steady window differ, as a share of their mean.
pub const RANGE_MAX: f64 = 0.20;
/// The most by which the ends of the fitted line of a steady window differ, as a share of the mean.
pub const SLOPE_MAX: f64 = 0.10;
// A rate is a quotient, so a range of exactly 20 % may come out a few units of the last place above it.
const ROUNDING: f64 = 1e-12;

/// Five rounds in a row and how they lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyWindow {
    /// The last of them, counted from 1: the round at which this window was complete.
    pub round: usize,
    /// The mean of their rates.
    pub mean: f64,
    /// Greatest less least rate, as a share of the mean.
    pub range: f64,
    /// End less beginning of the line through them, from the first round to the last, as a share of the mean; below 0 if it
    /// falls.
    pub slope: f64,
}

impl SteadyWindow {
    /// The last window of `rates`; `None` if there are fewer rounds than a window has.
    pub fn last(rates: &[f64]) -> Option<SteadyWindow> {
        let first = rates.len().checked_sub(WINDOW_ROUNDS)?;
        Some(SteadyWindow::from_rounds(&rates[first..], rates.len()))
    }

    /// The first window of `rates` that is steady.
    pub fn first_steady(rates: &[f64]) -> Option<SteadyWindow> {
        let windows = (WINDOW_ROUNDS..=rates.len()).filter_map(|rounds| SteadyWindow::last(&rates[..rounds]));
        windows.into_iter().find(SteadyWindow::is_steady)
    }

    fn from_rounds(rates: &[f64], round: usize) -> SteadyWindow {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let (least, most) = rates.iter().fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(*y), high.max(*y)));
        let share = |difference: f64| if mean > 0.0 { difference / mean } else { 0.0 };
        SteadyWindow { round, mean, range: share(most - least), slope: share(per_round(rates, mean) * (n - 1.0)) }
    }

    /// Whether range and slope are within their limits. A target that does nothing at all is not steady.
    pub fn is_steady(&self) -> bool {
        let within = |share: f64, limit: f64| share.abs() <= limit * (1.0 + ROUNDING);
        self.mean > 0.0 && within(self.range, RANGE_MAX) && within(self.slope, SLOPE_MAX)
    }

    /// The first of its rounds, counted from 1.
    pub fn first_round(&self) -> usize {
        self.round + 1 - WINDOW_ROUNDS
    }
}

/// The slope of the least-squares line through `rates` at 0, 1, 2, ...
fn per_round(rates: &[f64], mean: f64) -> f64 {
    let middle = (rates.len() as f64 - 1.0) / 2.0;
    let x = |nth: usize| nth as f64 - middle;
    let products: f64 = rates.iter().enumerate().map(|(nth, rate)| x(nth) * (rate - mean)).sum();
    let squares: f64 = (0..rates.len()).map(|nth| x(nth).powi(2)).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(rates: &[f64]) -> SteadyWindow {
        SteadyWindow::last(rates).expect("five rounds or more")
    }

    #[test]
    fn range_and_slope_are_those_that_a_hand_computes() {
        // Mean 100; sum of (x - 2)(y - mean) = -2 * -4 + -1 * 2 + 0 * 1 + 1 * -2 + 2 * 3 = 10; slope 10 / 10 = 1 a round.
        let window = last(&[96.0, 102.0, 101.0, 98.0, 103.0]);
        assert_eq!((window.round, window.first_round(), window.mean), (5, 1, 100.0));
        assert!((window.range - 0.07).abs() < 1e-12 && (window.slope - 0.04).abs() < 1e-12, "{window:?}");
        assert!(window.is_steady());
    }

    #[test]
    fn fewer_than_five_rounds_are_no_window() {
        assert_eq!(SteadyWindow::last(&[100.0; 4]), None);
        assert_eq!(SteadyWindow::first_steady(&[100.0; 4]), None);
        assert_eq!(SteadyWindow::first_steady(&[100.0; 5]).map(|window| window.round), Some(5));
    }

    #[test]
    fn a_range_of_exactly_20_percent_is_steady_and_more_is_not() {
        // Mean 100 and slope 0; scaled so that the quotients are not round.
        for scale in [1.0, 1.0 / 3.0, 7.3e5, 0.1] {
            let window = last(&[100.0, 110.0, 90.0, 90.0, 110.0].map(|rate| rate * scale));
            assert!((window.range - 0.2).abs() < 1e-12 && window.is_steady(), "{scale}: {window:?}");
        }
        let beyond = last(&[100.0, 110.1, 90.0, 89.9, 110.0]);
        assert!(beyond.range > 0.2 && beyond.slope.abs() < 0.1 && !beyond.is_steady(), "{beyond:?}");
    }

    #[test]
    fn a_line_that_rises_or_falls_by_exactly_10_percent_is_steady_and_more_is_not() {
        let rising = [95.0, 97.5, 100.0, 102.5, 105.0];
        assert!((last(&rising).slope - 0.1).abs() < 1e-12 && last(&rising).is_steady(), "{:?}", last(&rising));
        let falling = [315.0, 307.5, 300.0, 292.5, 285.0];
        assert!((last(&falling).slope + 0.1).abs() < 1e-12 && last(&falling).is_steady(), "{:?}", last(&falling));
        let steeper = [94.9, 97.45, 100.0, 102.55, 105.1];
        assert!(last(&steeper).range < 0.2 && !last(&steeper).is_steady(), "{:?}", last(&steeper));
    }

    #[test]
    fn a_level_shift_is_over_when_the_window_has_left_it_behind() {
        // 380 to round 8, 300 from then on; the window holds the shift until round 12.
        let rates: Vec<f64> = (1..=20).map(|round| if round <= 8 { 380.0 } else { 300.0 }).collect();
        assert!(last(&rates[..8]).is_steady(), "the level before the shift");
        for shifting in 9..=12 {
            assert!(!last(&rates[..shifting]).is_steady(), "round {shifting}");
        }
        assert!(last(&rates[..13]).is_steady());
    }

    #[test]
    fn a_drift_is_never_steady_and_its_end_is() {
        // 4 % a round is 16 % over the window.
        let drifting: Vec<f64> = (0..15).map(|round| 1000.0 * 0.96f64.powi(round)).collect();
        assert_eq!(SteadyWindow::first_steady(&drifting), None);
        let settled: Vec<f64> = (0..30).map(|round| 300.0 + 700.0 * 0.7f64.powi(round)).collect();
        let found = SteadyWindow::first_steady(&settled).expect("it settles");
        assert!((10..=14).contains(&found.round) && found.slope < 0.0, "{found:?}");
    }

    #[test]
    fn noise_of_two_percent_is_steady_at_once_and_of_thirty_is_not_for_long() {
        // A fixed pattern of mean 0: this crate has no generator of random numbers.
        let pattern = [0.4, -1.2, 0.9, 1.1, -0.7, -1.0, 0.3, 1.3, -0.2, -0.9];
        let noisy = |deviation: f64| (0..30).map(|n| 500.0 * (1.0 + deviation * pattern[n % 10])).collect::<Vec<f64>>();
        assert_eq!(SteadyWindow::first_steady(&noisy(0.02)).map(|window| window.round), Some(5));
        assert_eq!(SteadyWindow::first_steady(&noisy(0.30)), None);
    }

    #[test]
    fn a_target_that_does_nothing_is_not_steady() {
        assert!(!last(&[0.0; 5]).is_steady());
        assert_eq!(last(&[0.0; 5]).range, 0.0);
        assert!(!last(&[0.0, 0.0, 0.0, 0.0, 5.0]).is_steady());
    }
}
