//! Finds throughputs that are known only roughly.
//!
//! In: the throughput and its 95 % confidence interval. Out: a note, because each table and sentence has the interval with the rate; a
//! warning if it is so wide that there is no rate to state. Without an interval nothing is known of its width: see `too-short`.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy};
use crate::evidence::PointView;
use crate::judgement::Severity;
use crate::math::repeats::half_width_share;
use crate::math::units::Share;
use serde::Serialize;
use words::quantity::{percent, range, rate};

/// A throughput that is known only roughly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WideInterval {
    pub ops_per_s: f64,
    /// Its 95 % confidence interval.
    pub ops_per_s_ci95: [f64; 2],
    /// Half the width of the interval, as a share of the throughput.
    pub half_width_share: Share,
    /// The most of a rate that is known well.
    pub half_width_max: Share,
}

// Two such results differ by more than chance only if one is half as fast again as the other.
const HALF_WIDTH_MAX: Share = Share(0.20);
// From here on the upper end of the interval is three times the lower one, and more: not even the first digit of the rate is known.
const STATED_MAX: Share = Share(0.50);

fn detect(view: &PointView) -> Vec<Finding> {
    let measured = view.measured.filter(|_| !view.is_timed_as_whole());
    let Some(summary) = measured.map(|measured| measured.summary) else { return Vec::new() };
    let ops_per_s = summary.ops_per_s;
    let Some(ops_per_s_ci95) = summary.ops_per_s_ci95 else { return Vec::new() };
    let half_width_share = Share(half_width_share((ops_per_s, Some(ops_per_s_ci95))).unwrap_or(0.0));
    if half_width_share <= HALF_WIDTH_MAX {
        return Vec::new();
    }
    let detail = WideInterval { ops_per_s, ops_per_s_ci95, half_width_share, half_width_max: HALF_WIDTH_MAX };
    let severity = if half_width_share > STATED_MAX { Severity::Warning } else { Severity::Note };
    vec![Finding::new(severity, detail).next(view.lengthen())]
}

impl FindingKind for WideInterval {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Noisy);
    const SHOWN_BY: ShownBy = ShownBy::Rates;
    const REASON: &'static str = "had a rate that is hardly known";

    fn is_like(&self, _: &Self) -> bool {
        true
    }

    fn title(alike: &[&Self]) -> String {
        format!("the throughput is known only to ±{}", range(alike, |one| one.half_width_share.0, percent))
    }

    fn evidence(&self) -> String {
        let [low, high] = self.ops_per_s_ci95;
        let most = percent(self.half_width_max.0);
        format!(
            "{}, 95 % interval {} to {}; two results differ clearly from ±{most} on",
            rate(self.ops_per_s),
            rate(low),
            rate(high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::math::stats::estimate_rate;
    use crate::simulated::{Random, Simulation, drain, noisy};

    #[test]
    fn a_throughput_that_is_known_to_half_of_itself_weakens_the_point() {
        // As fjall did it in two seconds: from 21.7k/s to 10.2k/s.
        let falling: Vec<u64> = (0..20).map(|tenth| 21_700 - 605 * tenth).collect();
        let simulation = Simulation::counts(&falling);
        let found: WideInterval = simulation.figures();
        assert!((0.2..1.0).contains(&found.half_width_share.0), "{found:?}");
        let [low, high] = found.ops_per_s_ci95;
        assert!(low < found.ops_per_s && found.ops_per_s < high, "{found:?}");
        assert_eq!(simulation.analysis().points[0].validity, Validity::Indicative);
    }

    #[test]
    fn white_noise_of_a_tenth_is_called_wide_in_five_percent_of_short_runs_and_two_of_others() {
        for (n, most) in [(10, 50), (30, 20), (60, 20)] {
            let is_wide = |seed: &u64| {
                let noise = Random::new(*seed).autoregressive(n, 0.0);
                let rates: Vec<f64> = noise.iter().map(|value| 1e3 * (1.0 + 0.1 * value)).collect();
                let estimate = estimate_rate(&rates, 0.95).expect("there are enough intervals");
                estimate.half_width > HALF_WIDTH_MAX.0 * estimate.mean
            };
            let wide = (0..1_000).filter(is_wide).count();
            assert!(wide <= most, "{n} intervals: {wide} of 1000");
        }
    }

    #[test]
    fn an_interval_that_ends_at_zero_is_as_wide_as_its_upper_half_says() {
        let counts = [40_000, 0, 0, 0, 0, 0, 0, 0, 30_000, 0];
        let found: WideInterval = Simulation::counts(&counts).figures();
        assert!(found.ops_per_s_ci95[0] == 0.0 && found.half_width_share.0 > 1.0, "{found:?}");
    }

    #[test]
    fn a_step_that_is_timed_as_a_whole_has_no_rate_to_be_known() {
        let counts = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert!(drain(&counts).findings("wide-interval").is_empty());
    }

    #[test]
    fn twenty_percent_is_not_too_wide_and_no_interval_is_left_to_too_short() {
        assert!(noisy(1, 30, 100.0, |_| 1_000.0).findings("wide-interval").is_empty());
        assert!(Simulation::counts(&[100, 5_000, 100]).findings("wide-interval").is_empty());
    }
}
