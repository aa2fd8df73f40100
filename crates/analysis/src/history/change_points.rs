//! The change points of a series of runs.
//!
//! In: logarithms of values in the order of time. Out: the indices at which another level begins. Source: Hunter (M. Fleming and
//! others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions", arXiv 2301.03034) and its successor Apache
//! Otava: E-divisive with means, Student's t in place of permutations, windows of 50 values, a first pass that lets weak points
//! through, and a filter that takes them away again, the weakest first.
//! Of a series of up to [`SHORT_MAX`] values the test is another one: at their number the autocorrelation of the noise cannot be estimated, and a
//! test that allows for it with the few degrees of freedom that are left shows nothing, however great the change.
//! Limits: a change needs [`PART_MIN`] values on either side. A ramp becomes one or two steps. The level of the test is that of one place:
//! in a quiet series of n runs there are at most n places where it can fail. Of a short series it is that of the series: 5 % at most.

use super::contrast::{Contrast, SHORT_MAX};
use super::divisive::{PART_MIN, best_division};

/// A change is reported if chance makes so large a difference at its place less often than this.
pub const P_MAX: f64 = 0.001;
/// The same of a short series: chance makes so large a difference at its best place less often than this. A little below 5 %, because once a
/// place was found there are others.
pub const P_MAX_SHORT: f64 = 0.04;
/// The first pass lets points through that are weaker by this factor: they may be strong after weaker neighbours were removed.
const WEAK: f64 = 10.0;
/// Values that are looked at together.
const WINDOW: usize = 50;
/// Changes by less than this share are not reported: 0.5 %. Without noise the test finds any difference at all.
pub const CHANGE_MIN: f64 = 0.005;
/// Series of fewer values cannot show a change.
pub const VALUES_MIN: usize = 2 * PART_MIN;

/// The indices at which another level of `logs` begins, in rising order.
pub fn change_points(logs: &[f64]) -> Vec<usize> {
    let test = StretchTest::of(logs);
    let mut points = weak_points(logs, &test);
    while let Some(weakest) = weakest_point(logs, &points, &test) {
        points.remove(weakest);
    }
    points
}

/// The points of all windows, each of which begins behind the last point of the one before, or half a window later.
fn weak_points(logs: &[f64], test: &StretchTest) -> Vec<usize> {
    let (mut points, mut start) = (Vec::new(), 0);
    while start < logs.len() {
        let end = logs.len().min(start + WINDOW);
        let mut found = Vec::new();
        divide(&logs[start..end], start, test, &mut found);
        found.sort_unstable();
        let last = found.last().copied().unwrap_or(0);
        points.append(&mut found);
        start = last.max(start + WINDOW / 2);
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Divides `part`, which begins at `offset`, as long as both halves differ.
fn divide(part: &[f64], offset: usize, test: &StretchTest, found: &mut Vec<usize>) {
    if let Some(at) = test.candidate(part) {
        found.push(offset + at);
        divide(&part[..at], offset, test, found);
        divide(&part[at..], offset + at, test, found);
    }
}

/// The place in `points` of the one that is to go next: the one with the greatest p that is too great, or else the smallest change that
/// is too small; `None` if all may stay.
fn weakest_point(logs: &[f64], points: &[usize], test: &StretchTest) -> Option<usize> {
    let all: Vec<Contrast> = contrasts(logs, points);
    let numbered = || all.iter().enumerate();
    let unlikely = numbered().max_by(|(_, a), (_, b)| a.p.total_cmp(&b.p)).filter(|(_, one)| one.p >= test.p_max);
    let size = |one: &Contrast| one.log_ratio.abs();
    let small = numbered().min_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)));
    let small = small.filter(|(_, one)| size(one) < CHANGE_MIN.ln_1p());
    unlikely.or(small).map(|(at, _)| at)
}

/// The contrast at each of `points`: between the stretch since the point before it and the stretch to the point after it.
pub fn contrasts(logs: &[f64], points: &[usize]) -> Vec<Contrast> {
    let ends = [&[0], points, &[logs.len()]].concat();
    let of = StretchTest::of(logs).strong;
    ends.windows(3).map(|ends| of(&logs[ends[0]..ends[1]], &logs[ends[1]..ends[2]])).collect()
}

/// How two stretches of a series are distinguished from each other.
struct StretchTest {
    is_short: bool,
    /// In the first pass, which lets points through up to `weak_max`.
    weak: fn(&[f64], &[f64]) -> Contrast,
    weak_max: f64,
    /// In the end, up to `p_max`.
    strong: fn(&[f64], &[f64]) -> Contrast,
    p_max: f64,
}

impl StretchTest {
    fn of(logs: &[f64]) -> StretchTest {
        if logs.len() <= SHORT_MAX {
            let of_short = Contrast::of_short;
            return StretchTest {
                is_short: true,
                weak: of_short,
                weak_max: P_MAX_SHORT,
                strong: of_short,
                p_max: P_MAX_SHORT,
            };
        }
        let (weak, weak_max) = (Contrast::of_independent as fn(&[f64], &[f64]) -> Contrast, P_MAX * WEAK);
        StretchTest { is_short: false, weak, weak_max, strong: Contrast::between, p_max: P_MAX }
    }

    /// Where `part` divides best, if the first pass lets that through. In a short series a third level behind the second would leave hardly any
    /// difference.
    fn candidate(&self, part: &[f64]) -> Option<usize> {
        let [at, end] = best_division(part)?;
        let after = if self.is_short { &part[at..end] } else { &part[at..] };
        ((self.weak)(&part[..at], after).p < self.weak_max).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    /// The share of 1,000 series of `n` runs with noise of 8 % in which a change is found, if the rate is `factor` times as high from run `at` on.
    fn found(n: usize, coefficient: f64, factor: f64, at: usize) -> f64 {
        let scale = 0.08 * f64::sqrt(1.0 - coefficient * coefficient);
        let series = (0..1_000).map(|seed| {
            let noise = Random::new(seed).autoregressive(n, coefficient);
            let level = |nth: usize| if nth < at { 0.0 } else { f64::ln(factor) };
            noise.iter().enumerate().map(|(nth, value)| scale * value + level(nth)).collect::<Vec<_>>()
        });
        series.filter(|logs| !change_points(logs).is_empty()).count() as f64 / 1_000.0
    }

    #[test]
    fn a_factor_of_two_in_six_to_twelve_runs_is_found_in_nine_of_ten_cases_at_five_percent_false_alarms() {
        for n in [6, 7, 8, 10, 12] {
            for coefficient in [0.0, 0.5, 0.8] {
                let alarms = found(n, coefficient, 1.0, n);
                assert!(alarms <= 0.06, "{n} runs, coefficient {coefficient}: {alarms} false alarms");
                for at in [3, n / 2, n - 3] {
                    let [halved, doubled] = [0.5, 2.0].map(|factor| found(n, coefficient, factor, at));
                    assert!(halved.min(doubled) >= 0.9, "{n} runs, coefficient {coefficient}: {halved} {doubled}");
                }
            }
        }
    }

    #[test]
    fn two_changes_of_a_short_series_are_two() {
        let rates = [100.0, 102.0, 99.0, 50.0, 51.0, 49.0, 98.0, 101.0, 100.0].map(f64::ln);
        assert_eq!(change_points(&rates), [3, 6]);
    }
}
