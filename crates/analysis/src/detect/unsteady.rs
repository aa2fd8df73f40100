//! Finds runs whose rate drifts or varies widely.
//!
//! In: the rates of the whole intervals. Out: a warning for a drift, a note for wide variation.
//! Limits: needs 16 intervals for a drift; a run that rises and falls again by as much has the same mean in both halves.

use super::{Detector, PointView};
use crate::stats::{Estimate, INTERVALS_MIN, estimate_mean, mean, variance};
use crate::text::{percent, rate};
use crate::window::Tally;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "unsteady",
    help: "the rate drifts over the run, or varies widely",
    explain: "A drift: the mean rates of the first and the second half differ by more than 10 % of the mean and by more than \
              their 99 % confidence intervals (autocorrelation taken into account) allow for. The mean then depends on when \
              the run was stopped, so the point is only indicative: use a longer warmup or a longer run. Wide variation: \
              the rates of the intervals have a coefficient of variation above 20 % beyond what counting alone gives (the \
              Poisson part). It describes the target; the confidence interval already contains it.",
    detect,
};

// Less is within what two runs on a shared machine differ by.
const DRIFT_MIN: f64 = 0.10;
// A run is judged once, so 99 %: at 95 % one steady but noisy run in twenty would be called unsteady.
const LEVEL: f64 = 0.99;
const VARIATION_MIN: f64 = 0.20;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let whole = &measured.window.whole;
    drift(&measured.window.rates()).into_iter().chain(variation(whole)).collect()
}

fn drift(rates: &[f64]) -> Option<Finding> {
    let (first, second) = rates.split_at(rates.len() / 2);
    let (first, second) = (estimate_mean(first, LEVEL)?, estimate_mean(second, LEVEL)?);
    let change = second.mean - first.mean;
    let by_chance = first.half_width.hypot(second.half_width);
    let relative = change / mean(rates);
    if change.abs() <= by_chance || relative.abs() <= DRIFT_MIN {
        return None;
    }
    let word = if change < 0.0 { "slower" } else { "faster" };
    let title = format!("not steady: the second half is {} {word} than the first", percent((change / first.mean).abs()));
    let shown = |half: &Estimate| format!("{} +- {}", rate(half.mean), rate(half.half_width));
    let evidence = format!("first half {}, second half {} (99 % intervals)", shown(&first), shown(&second));
    Some(DETECTOR.finding(Severity::Warning, title, evidence, "use a longer warmup, or run until the rate has settled"))
}

fn variation(whole: &[Tally]) -> Option<Finding> {
    let counts: Vec<f64> = whole.iter().map(|tally| tally.ok as f64).collect();
    let mean = mean(&counts);
    if counts.len() < INTERVALS_MIN || mean == 0.0 {
        return None;
    }
    let beyond_counting = (variance(&counts) - mean).max(0.0).sqrt() / mean;
    if beyond_counting <= VARIATION_MIN {
        return None;
    }
    let title = format!("the rate varies by {} from interval to interval", percent(beyond_counting));
    let (least, most) = whole.iter().fold((f64::MAX, 0f64), |(least, most), tally| {
        (least.min(tally.ops_per_s()), most.max(tally.ops_per_s()))
    });
    let length = whole[0].length;
    let evidence = format!("{} intervals of {length}, from {} to {}", whole.len(), rate(least), rate(most));
    Some(DETECTOR.finding(Severity::Note, title, evidence, "see the timeline; quote the spread with the mean"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation};

    #[test]
    fn a_drive_that_slows_down_when_garbage_collection_begins_is_not_steady() {
        let counts: Vec<u64> = (0..60).map(|second| if second < 30 { 3800 + second % 50 } else { 3000 + second % 70 }).collect();
        let finding = Simulation::counts(&counts).finding("unsteady");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.title.starts_with("not steady: the second half is 21 % slower"), "{}", finding.title);
    }

    #[test]
    fn a_steady_trend_is_found() {
        let mut random = Random::new(3);
        let counts: Vec<u64> = (0..60).map(|second| (1000.0 + 8.0 * second as f64 + 20.0 * random.normal()) as u64).collect();
        assert!(Simulation::counts(&counts).finding("unsteady").title.contains("faster"));
    }

    #[test]
    fn jumps_between_200_and_400_vary_and_do_not_drift() {
        let mut random = Random::new(4);
        let counts: Vec<u64> = (0..100).map(|_| if random.uniform() < 0.5 { 200 } else { 400 }).collect();
        let finding = Simulation::counts(&counts).finding("unsteady");
        assert_eq!(finding.severity, Severity::Note);
        assert!(finding.title.contains("varies by 3"), "{}", finding.title);
    }

    #[test]
    fn few_operations_per_second_are_not_called_unsteady_for_their_counting_noise() {
        let wrong = (0..200).filter(|seed| {
            let mut random = Random::new(*seed);
            let counts: Vec<u64> = (0..40).map(|_| random.poisson(6.0)).collect();
            !Simulation::counts(&counts).findings("unsteady").is_empty()
        });
        // A coefficient of variation of 41 % is all counting; its estimate from 40 intervals is off by a tenth of itself.
        let wrong = wrong.count();
        assert!(wrong <= 20, "{wrong} of 200");
    }

    #[test]
    fn noise_around_a_constant_rate_is_called_a_drift_in_two_of_200_runs_at_most() {
        let wrong = (0..200).filter(|seed| {
            let noise = Random::new(*seed).autoregressive(60, 0.4);
            let counts: Vec<u64> = noise.iter().map(|value| (1000.0 + 120.0 * value) as u64).collect();
            Simulation::counts(&counts).findings("unsteady").iter().any(|finding| finding.severity == Severity::Warning)
        });
        let wrong = wrong.count();
        assert!(wrong <= 2, "{wrong} of 200");
    }
}
