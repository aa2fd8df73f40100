//! The Universal Scalability Law and its rival, a hard ceiling, fitted to rates over the operations in the system.
//!
//! In: [`ScaledRate`]s of a closed loop. Out: a [`UslFit`] with intervals, and a [`CeilingFit`]. Limits: errors are taken as
//! independent and relative, equal at all places; whether a law may be shown is decided in [`crate::scaling_law`].
//!
//! X(N) = l N / (1 + s (N - 1) + k N (N - 1)), with its peak at N* = sqrt((1 - s) / k): N. J. Gunther, "Guerrilla Capacity Planning",
//! 2007, chapter 4. `l` is fitted, too: a law that is forced through the first rate hands the error of that one to all others.

use crate::math::stats::{mean, students_t};

/// The quantile of Student's t for an interval of 95 %. The curvature of the law costs about one case in a hundred (simulated in the tests
/// below), so that this is the quantile for 96 %.
const LEVEL: f64 = 0.98;
/// Steps of the minimisation; it needs about ten.
const STEPS_MAX: usize = 200;
/// How often an end of an interval is halved towards: to less than a millionth.
const HALVINGS: usize = 30;
/// Places at which a ceiling is tried.
const PLACES: u32 = 400;

/// The rate of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledRate {
    /// Operations in the system, on average; above 0.
    pub in_system: f64,
    /// Operations per second, above 0.
    pub per_s: f64,
}

/// The law that fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslFit {
    /// ln l, s and k.
    terms: [f64; 3],
    /// The inverse of the squared gradients of the logarithms: times the variance, the covariance of the terms.
    inverse: [[f64; 3]; 3],
    /// The sum of the squared errors of the logarithms.
    squares: f64,
    /// How many rates it was fitted to.
    rates: usize,
}

/// A rate that grows in proportion until it reaches its ceiling: min(N / R0, Xmax).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CeilingFit {
    /// The operations in the system from which on the rate is at its ceiling.
    pub in_system: f64,
    /// The ceiling, in operations per second.
    pub per_s: f64,
    /// The sum of the squared errors of the logarithms.
    squares: f64,
}

/// A model of the logarithm of a rate: its value and its gradient at so many operations in the system; `None` if it has none.
trait RateModel<const TERMS: usize> {
    fn ln_rate(&self, in_system: f64, terms: &[f64; TERMS]) -> Option<(f64, [f64; TERMS])>;
}

/// All three terms are free.
struct FreeLaw;

impl RateModel<3> for FreeLaw {
    fn ln_rate(&self, n: f64, [ln_single, s, k]: &[f64; 3]) -> Option<(f64, [f64; 3])> {
        let (waits, exchanges) = (n - 1.0, n * (n - 1.0));
        let cost = 1.0 + s * waits + k * exchanges;
        (cost > 0.0).then(|| (ln_single + n.ln() - cost.ln(), [1.0, -waits / cost, -exchanges / cost]))
    }
}

/// The peak is given, so that k = (1 - s) / N*^2.
struct LawWithPeak(f64);

impl RateModel<2> for LawWithPeak {
    fn ln_rate(&self, n: f64, [ln_single, s]: &[f64; 2]) -> Option<(f64, [f64; 2])> {
        let (waits, exchanges) = (n - 1.0, n * (n - 1.0) / self.0.powi(2));
        let cost = 1.0 + s * waits + (1.0 - s) * exchanges;
        (cost > 0.0).then(|| (ln_single + n.ln() - cost.ln(), [1.0, -(waits - exchanges) / cost]))
    }
}

/// Where a model is, and how its errors change with its terms.
struct Position<const TERMS: usize> {
    terms: [f64; TERMS],
    squares: f64,
    gradient: [f64; TERMS],
    curvature: [[f64; TERMS]; TERMS],
}

impl<const TERMS: usize> Position<TERMS> {
    fn of(rates: &[ScaledRate], model: &impl RateModel<TERMS>, terms: [f64; TERMS]) -> Option<Position<TERMS>> {
        let mut all = Position { terms, squares: 0.0, gradient: [0.0; TERMS], curvature: [[0.0; TERMS]; TERMS] };
        for rate in rates {
            let (value, slope) = model.ln_rate(rate.in_system, &terms)?;
            let error = rate.per_s.ln() - value;
            all.squares += error * error;
            for row in 0..TERMS {
                all.gradient[row] += slope[row] * error;
                (0..TERMS).for_each(|column| all.curvature[row][column] += slope[row] * slope[column]);
            }
        }
        all.squares.is_finite().then_some(all)
    }
}

/// Least squares on the logarithms, which are relative errors with equal weights, by the method of Levenberg and Marquardt (D. W.
/// Marquardt, SIAM Journal on Applied Mathematics 11, 1963).
fn minimise<const TERMS: usize>(
    rates: &[ScaledRate],
    model: &impl RateModel<TERMS>,
    start: [f64; TERMS],
) -> Option<Position<TERMS>> {
    let mut best = Position::of(rates, model, start)?;
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let mut damped = best.curvature;
        (0..TERMS).for_each(|term| damped[term][term] *= 1.0 + damping);
        let step = solve(damped, best.gradient)?;
        let terms: [f64; TERMS] = std::array::from_fn(|term| best.terms[term] + step[term]);
        match Position::of(rates, model, terms).filter(|next| next.squares <= best.squares) {
            Some(next) => {
                let is_settled = best.squares - next.squares <= 1e-12 * best.squares;
                (best, damping) = (next, (damping * 0.2).max(1e-12));
                if is_settled {
                    break;
                }
            }
            None if damping > 1e12 => break,
            None => damping *= 5.0,
        }
    }
    Some(best)
}

/// Gaussian elimination with pivots; `None` if the matrix is singular.
fn solve<const TERMS: usize>(mut matrix: [[f64; TERMS]; TERMS], mut right: [f64; TERMS]) -> Option<[f64; TERMS]> {
    for column in 0..TERMS {
        let pivot = (column..TERMS).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for row in column + 1..TERMS {
            let factor = matrix[row][column] / matrix[column][column];
            (column..TERMS).for_each(|next| matrix[row][next] -= factor * matrix[column][next]);
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; TERMS];
    for row in (0..TERMS).rev() {
        let known: f64 = (row + 1..TERMS).map(|column| matrix[row][column] * solution[column]).sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    Some(solution)
}

/// Fits the law to more than three `rates`; `None` if they do not determine it.
pub fn fit_usl(rates: &[ScaledRate]) -> Option<UslFit> {
    let first = rates.iter().min_by(|a, b| a.in_system.total_cmp(&b.in_system)).filter(|_| rates.len() > 3)?;
    let start = [(first.per_s / first.in_system).ln(), 0.02, 1e-4];
    let found = minimise(rates, &FreeLaw, start)?;
    let unit = |term: usize| std::array::from_fn(|other| f64::from(u8::from(other == term)));
    let columns =
        [solve(found.curvature, unit(0))?, solve(found.curvature, unit(1))?, solve(found.curvature, unit(2))?];
    Some(UslFit { terms: found.terms, inverse: columns, squares: found.squares, rates: rates.len() })
}

impl UslFit {
    /// The share of the work that only one can do at a time.
    pub fn contention(&self) -> f64 {
        self.terms[1]
    }

    /// What each pair in the system costs each other, as a share of the work.
    pub fn coherency(&self) -> f64 {
        self.terms[2]
    }

    /// The rate at which a single operation at a time would be done, with its interval.
    pub fn single_per_s(&self) -> (f64, [f64; 2]) {
        let half = self.half_width([1.0, 0.0, 0.0]);
        (self.terms[0].exp(), [-half, half].map(|half| (self.terms[0] + half).exp()))
    }

    /// The interval of the contention.
    pub fn contention_ci95(&self) -> [f64; 2] {
        let half = self.half_width([0.0, 1.0, 0.0]);
        [self.contention() - half, self.contention() + half]
    }

    /// The interval of the coherency.
    pub fn coherency_ci95(&self) -> [f64; 2] {
        let half = self.half_width([0.0, 0.0, 1.0]);
        [self.coherency() - half, self.coherency() + half]
    }

    /// The rate with `in_system` operations in the system, with its interval; `None` if the law has none.
    pub fn rate(&self, in_system: f64) -> Option<(f64, [f64; 2])> {
        let (ln_rate, slope) = FreeLaw.ln_rate(in_system, &self.terms)?;
        let half = self.half_width(slope);
        Some((ln_rate.exp(), [(ln_rate - half).exp(), (ln_rate + half).exp()]))
    }

    /// By how much `rate` is above the law, as the logarithm of the ratio.
    pub fn error(&self, rate: &ScaledRate) -> f64 {
        FreeLaw.ln_rate(rate.in_system, &self.terms).map_or(f64::INFINITY, |(value, _)| rate.per_s.ln() - value)
    }

    /// Where the rate is highest; `None` if the law has no such place.
    pub fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.contention()) / self.coherency()).sqrt();
        peak.is_finite().then_some(peak).filter(|peak| *peak > 0.0)
    }

    /// The 95 % interval of the peak, which is below `most`: all peaks with which the law fits nearly as well (profile likelihood: D. M.
    /// Bates and D. G. Watts, "Nonlinear Regression Analysis and Its Applications", 1988, section 6.1). No upper end if it is not below
    /// `most`.
    pub fn peak_ci95(&self, rates: &[ScaledRate], peak: f64, most: f64) -> (f64, Option<f64>) {
        let enough = self.squares * (1.0 + self.quantile().powi(2) / self.freedom());
        let start = [self.terms[0], self.contention()];
        let fits = |peak: f64| minimise(rates, &LawWithPeak(peak), start).is_some_and(|found| found.squares <= enough);
        let least = 0.5 * rates.iter().map(|rate| rate.in_system).fold(peak, f64::min);
        let low = if fits(least) { least } else { last_inside(peak, least, fits) };
        (low, (!fits(most)).then(|| last_inside(peak, most, fits)))
    }

    /// Whether `rival`, which has a term less, explains the rates as well (G. Schwarz, Annals of Statistics 6, 1978).
    pub fn is_no_better_than(&self, rival: &CeilingFit) -> bool {
        let rates = self.rates as f64;
        rates * (rival.squares / self.squares).ln() <= rates.ln()
    }

    /// The half width of the interval of a sum of the terms with these weights (delta method).
    fn half_width(&self, weights: [f64; 3]) -> f64 {
        let products = (0..3).flat_map(|row| (0..3).map(move |column| (row, column)));
        let spread: f64 =
            products.map(|(row, column)| weights[row] * self.inverse[row][column] * weights[column]).sum();
        self.quantile() * (spread.max(0.0) * self.squares / self.freedom()).sqrt()
    }

    fn freedom(&self) -> f64 {
        (self.rates - 3) as f64
    }

    fn quantile(&self) -> f64 {
        students_t(LEVEL, self.freedom())
    }
}

/// The last place for which `is_inside` holds, on the way from one that is to one that is not.
fn last_inside(mut inside: f64, mut outside: f64, is_inside: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = (inside * outside).sqrt();
        if is_inside(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// The two asymptotes that fit best to `rates`, of which there is at least one.
pub fn fit_ceiling(rates: &[ScaledRate]) -> CeilingFit {
    let [low, high] =
        [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| rates.iter().map(|rate| rate.in_system).reduce(end));
    let (low, high) = low.zip(high).expect("there is a rate");
    let place = |nth: u32| low * (high / low).powf(f64::from(nth) / f64::from(PLACES));
    let all = (0..=PLACES).map(|nth| ceiling_at(rates, place(nth)));
    all.min_by(|a, b| a.squares.total_cmp(&b.squares)).expect("there is a place")
}

fn ceiling_at(rates: &[ScaledRate], in_system: f64) -> CeilingFit {
    let errors: Vec<f64> = rates.iter().map(|rate| rate.per_s.ln() - rate.in_system.min(in_system).ln()).collect();
    let level = mean(&errors);
    let squares = errors.iter().map(|error| (error - level).powi(2)).sum();
    CeilingFit { in_system, per_s: level.exp() * in_system, squares }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    fn law(n: f64, s: f64, k: f64) -> f64 {
        1_000.0 * n / (1.0 + s * (n - 1.0) + k * n * (n - 1.0))
    }

    /// Rates at 1, 2, 4, ... up to `most`.
    fn rates(most: u32, rate: impl FnMut(f64) -> f64) -> Vec<ScaledRate> {
        let counts = (0..).map(|nth| f64::from(1u32 << nth)).take_while(|n| *n <= f64::from(most));
        let mut rate = rate;
        counts.map(|n| ScaledRate { in_system: n, per_s: rate(n) }).collect()
    }

    #[test]
    fn a_curve_without_noise_gives_its_terms_back() {
        let exact = rates(128, |n| law(n, 0.05, 1e-3));
        let found = fit_usl(&exact).expect("it is determined");
        let close = |value: f64, truth: f64| (value / truth - 1.0).abs() < 1e-5;
        assert!(close(found.contention(), 0.05) && close(found.coherency(), 1e-3), "{found:?}");
        assert!(close(found.single_per_s().0, 1_000.0) && close(found.peak().unwrap(), 30.822_07), "{found:?}");
        assert!(close(found.rate(64.0).unwrap().0, law(64.0, 0.05, 1e-3)));
        assert!(fit_usl(&exact[..3]).is_none(), "three rates leave nothing to judge the errors by");
    }

    /// In how many of 300 curves with 3 % noise the intervals of peak, contention and coherency hold the truth.
    fn covered(s: f64, k: f64, most: u32, repeats: usize) -> [u32; 3] {
        let truth = ((1.0 - s) / k).sqrt();
        let mut counts = [0; 3];
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut noisy = |n| law(n, s, k) * (1.0 + 0.03 * random.normal());
            let all: Vec<ScaledRate> = (0..repeats).flat_map(|_| rates(most, &mut noisy)).collect();
            let found = fit_usl(&all).expect("it is determined");
            let peak = found.peak().expect("k is far above 0");
            let (low, high) = found.peak_ci95(&all, peak, f64::from(most).max(1.01 * peak));
            let holds = |[low, high]: [f64; 2], truth: f64| u32::from((low..=high).contains(&truth));
            counts[0] += holds([low, high.unwrap_or(f64::INFINITY)], truth);
            counts[1] += holds(found.contention_ci95(), s);
            counts[2] += holds(found.coherency_ci95(), k);
        }
        counts
    }

    #[test]
    fn the_interval_of_the_peak_covers_it_in_95_of_100_curves_with_3_percent_noise() {
        let mut all = [0; 3];
        let shapes =
            [(0.02, 5e-4, 64, 1), (0.02, 5e-4, 128, 3), (0.1, 2e-3, 32, 1), (0.2, 5e-3, 64, 1), (0.05, 1e-4, 256, 1)];
        for (s, k, most, repeats) in shapes {
            let found = covered(s, k, most, repeats);
            // The standard deviation of a count around 285 of 300 is 3.8.
            assert!(found.iter().all(|count| (277..=300).contains(count)), "{s} {k} to {most}: {found:?}");
            all = std::array::from_fn(|nth| all[nth] + found[nth]);
        }
        assert!(all.iter().all(|count| *count >= 1_425), "{all:?} of 1500");
    }

    #[test]
    fn the_interval_of_a_peak_is_not_wider_than_it_need_be() {
        let mut random = Random::new(3);
        let all = rates(128, |n| law(n, 0.02, 5e-4) * (1.0 + 0.03 * random.normal()));
        let found = fit_usl(&all).unwrap();
        let (low, high) = found.peak_ci95(&all, found.peak().unwrap(), 128.0);
        assert!(low > 33.0 && high.is_some_and(|high| high < 60.0), "{low} {high:?}");
    }

    #[test]
    fn a_peak_that_could_be_beyond_the_last_count_has_no_upper_end() {
        let mut random = Random::new(1);
        let all = rates(32, |n| law(n, 0.1, 1.2e-3) * (1.0 + 0.03 * random.normal()));
        let (low, high) = fit_usl(&all).unwrap().peak_ci95(&all, 27.0, 32.0);
        assert!(low < 27.4 && high.is_none(), "{low} {high:?}");
    }

    #[test]
    fn a_hard_ceiling_is_found_and_the_law_is_no_better() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let all = rates(64, |n| 1_000.0 * n.min(12.0) * (1.0 + 0.03 * random.normal()));
            let ceiling = fit_ceiling(&all);
            assert!((10.0..14.0).contains(&ceiling.in_system), "{seed}: {ceiling:?}");
            assert!((11_200.0..12_800.0).contains(&ceiling.per_s), "{seed}: {ceiling:?}");
            assert!(fit_usl(&all).is_none_or(|law| law.is_no_better_than(&ceiling)), "{seed}");
        }
    }

    #[test]
    fn a_ceiling_is_no_rival_for_a_law() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let all = rates(64, |n| law(n, 0.05, 1e-3) * (1.0 + 0.03 * random.normal()));
            assert!(!fit_usl(&all).unwrap().is_no_better_than(&fit_ceiling(&all)), "{seed}");
        }
    }
}
