//! Numbers with their unit as people read them, and how wide the interval of a mean is.

pub use words::list::listed;
pub use words::quantity::*;

use analysis::math::repeats::{MeanOfRepeats, half_width_share};

/// A mean whose interval is wider than this share to either side is not given without it.
const WIDE: f64 = 0.10;

/// ` ±50 %`, if the interval of `mean` is wide.
pub fn wide_interval(mean: &MeanOfRepeats) -> String {
    let half = half_width_share((mean.mean, mean.ci95)).filter(|half| *half > WIDE);
    half.map_or(String::new(), |half| format!(" ±{}", percent(half)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wide_interval_is_given() {
        let mean = |half: f64| MeanOfRepeats { mean: 100.0, ci95: Some([100.0 - half, 100.0 + half]), repeats: 1 };
        assert_eq!([mean(50.0), mean(9.0)].map(|mean| wide_interval(&mean)), [" ±50 %", ""]);
        let clipped = MeanOfRepeats { mean: 100.0, ci95: Some([0.0, 243.0]), repeats: 1 };
        assert_eq!(wide_interval(&clipped), " ±143 %");
    }
}
