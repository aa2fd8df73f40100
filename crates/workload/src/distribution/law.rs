//! The sums and integrals in which the laws of the distributions are written, to compare draws with them.
//!
//! In: a power, or a number of uniforms. Out: probabilities and sums, exact to about 13 digits. Limits: not for the hot path: a
//! call takes up to a microsecond, and 20 for a mean of 100 uniforms.

use super::gaussian::ITER;

/// Returns a function that gives 1 + 2^-theta + ... + k^-theta for k.
///
/// The first terms are added; beyond, the Euler-Maclaurin formula takes over (Abramowitz and Stegun 23.1.30), whose first
/// omitted term is below 10^-13 of the first summand from 64 on.
pub(super) fn power_sum(theta: f64, area: impl Fn(f64) -> f64) -> impl Fn(u64) -> f64 {
    const FIRST: usize = 64;
    let firsts: Vec<f64> = std::iter::once(0.0)
        .chain((1..=FIRST).scan(0.0, |sum, k| {
            *sum += (k as f64).powf(-theta);
            Some(*sum)
        }))
        .collect();
    let (area_first, ends_first) = (area(FIRST as f64), end_correction(theta, FIRST as f64));
    move |k| match firsts.get(k as usize) {
        Some(sum) => *sum,
        None => firsts[FIRST] + (area(k as f64) - area_first) + (end_correction(theta, k as f64) - ends_first),
    }
}

/// What the Euler-Maclaurin formula adds to the integral at the end `x`.
fn end_correction(theta: f64, x: f64) -> f64 {
    // Half the term, and the first and third derivative by B2 / 2! and B4 / 4!.
    let third = theta * (theta + 1.0) * (theta + 2.0) / (x * x * x) / 720.0;
    x.powf(-theta) * (0.5 - theta / x / 12.0 + third)
}

/// The probability that the mean of `count` uniform numbers in [0, 1) is below `x`.
///
/// The sum of m uniforms has the cardinal B-spline of order m as its density, and P(sum < y) is the sum over j >= 0 of the spline
/// of order m + 1 at y - j, because that one is the difference of two such probabilities. The splines are made by their recurrence
/// (de Boor 1972, "On calculating with B-splines", J. Approx. Theory 6): all terms are positive, so nothing cancels, while the
/// usual alternating sum of Irwin and Hall loses all digits at 20 uniforms.
pub(super) fn mean_of_uniforms_below(x: f64, count: u32) -> f64 {
    const ORDER_MAX: usize = ITER.max as usize + 1;
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let y = x * f64::from(count);
    let (whole, fraction) = (y.floor(), y.fract());
    // splines[i] is the spline of the order reached at fraction + i; that of order 1 is 1 on [0, 1).
    let mut splines = [0.0; ORDER_MAX];
    splines[0] = 1.0;
    for order in 1..=count as usize {
        for i in (0..=order).rev() {
            let z = fraction + i as f64;
            let before = if i == 0 { 0.0 } else { splines[i - 1] };
            splines[i] = (z * splines[i] + ((order + 1) as f64 - z) * before) / order as f64;
        }
    }
    splines[..=(whole as usize).min(count as usize)].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::zipf::Zipf;
    use super::*;

    #[test]
    fn sums_of_powers_are_those_of_adding_up() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.000_001, 2.5, 7.0] {
            let below = Zipf::new(1_000_000, theta).probability_below();
            let sums: Vec<f64> =
                [10u64, 64, 65, 1_000, 1_000_000].map(|n| (1..=n).rev().map(|k| (k as f64).powf(-theta)).sum()).into();
            for (k, sum) in [10u64, 64, 65, 1_000].into_iter().zip(&sums) {
                let expected = sum / sums[4];
                assert!((below(k) / expected - 1.0).abs() < 1e-11, "theta {theta}, k {k}");
            }
        }
    }

    #[test]
    fn means_of_few_uniforms_have_the_probabilities_of_textbooks() {
        // One is uniform; two are a triangle; three have the area of a corner of a cube, (3x)^3 / 6.
        for (x, count, expected) in [(0.3, 1, 0.3), (0.25, 2, 0.125), (0.75, 2, 0.875), (0.2, 3, 0.036), (0.5, 12, 0.5)]
        {
            assert!((mean_of_uniforms_below(x, count) - expected).abs() < 1e-14, "{count} at {x}");
        }
    }

    #[test]
    fn a_mean_of_a_hundred_uniforms_is_nearly_normal_and_never_falls() {
        // One standard deviation below the mean is 0.158655 of a normal law; the kurtosis of -0.012 moves it by less than 0.0005.
        let sigma = (1.0f64 / 1_200.0).sqrt();
        assert!((mean_of_uniforms_below(0.5 - sigma, 100) - 0.158_655).abs() < 5e-4);
        let all: Vec<f64> = (0..=1_000).map(|x| mean_of_uniforms_below(f64::from(x) / 1_000.0, 100)).collect();
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1] + 1e-15));
    }
}
