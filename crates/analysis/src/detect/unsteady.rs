//! Finds runs whose rate drifts or varies widely.
//!
//! In: the rates of the whole intervals. Out: a warning for a drift, a note for wide variation.
//! Limits: needs 16 intervals to compare halves, 8 for a trend; a run that rises and falls again by as much has neither.

use super::detector::{Detector, PointView};
use crate::stats::{Estimate, INTERVALS_MIN, counting_variance_max, estimate_change, estimate_mean, mean, variance};
use crate::text::{percent, rate};
use crate::window::Tally;
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "unsteady",
    help: "the rate drifts over the run, or varies widely",
    explain: "A drift: the mean rates of the first and the second half, or the ends of a straight line through all rates, \
              differ by more than 10 % of the mean and by more than their 99.9 % confidence intervals (autocorrelation taken \
              into account) allow for. The mean then depends on when the run was stopped, so the point is only indicative: \
              use a longer warmup or a longer run. Wide variation: the rates of the intervals have a coefficient of \
              variation above 20 % beyond what counting alone gives (the Poisson part). It describes the target; the \
              confidence interval already contains it. A run with until = steady is judged by its rounds and not for drift.",
    detect,
};

// Less is within what two runs on a shared machine differ by.
const DRIFT_MIN: f64 = 0.10;
// A run has many points, each looked at twice: at 95 % one of ten steady points would be called unsteady.
const LEVEL: f64 = 0.999;
// A percentage of a rate near 0 says nothing.
const MANIFOLD: f64 = 10.0;
const VARIATION_MIN: f64 = 0.20;
// The counting noise of a few operations per interval is itself known only roughly.
const COUNTING_LEVEL: f64 = 0.999;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let whole = &measured.window.whole;
    // Where the run goes by rounds, their rule says whether it is steady: one answer is enough.
    let drifts = if view.rounds.is_some() { None } else { drift(&measured.window.rates()) };
    drifts.into_iter().chain(variation(whole)).collect()
}

/// A step between the halves, or else a trend: a trend is noise to the means of the halves, a step is noise to the line.
fn drift(rates: &[f64]) -> Option<Finding> {
    step(rates).or_else(|| trend(rates))
}

fn step(rates: &[f64]) -> Option<Finding> {
    let (first, second) = rates.split_at(rates.len() / 2);
    let (first, second) = (estimate_mean(first, LEVEL)?, estimate_mean(second, LEVEL)?);
    let change = Estimate { mean: second.mean - first.mean, half_width: first.half_width.hypot(second.half_width) };
    if !is_drift(&change, rates) {
        return None;
    }
    let word = if change.mean < 0.0 { "slower" } else { "faster" };
    let title = format!("not steady: the second half is {} {word} than the first", by(first.mean, second.mean));
    let shown = |half: &Estimate| format!("{} +- {}", rate(half.mean), rate(half.half_width));
    Some(drifting(title, format!("first half {}, second half {} (99.9 % intervals)", shown(&first), shown(&second))))
}

fn trend(rates: &[f64]) -> Option<Finding> {
    let change = estimate_change(rates, LEVEL).filter(|change| is_drift(change, rates))?;
    // Where the line ends: a rate that drops to nothing and stays there puts an end of the line below 0.
    let middle = mean(rates);
    let (start, end) = ((middle - change.mean / 2.0).max(0.0), (middle + change.mean / 2.0).max(0.0));
    let word = if change.mean < 0.0 { "falls" } else { "rises" };
    let title = format!("not steady: the rate {word} by {} over the run", by(start, end));
    let evidence = format!(
        "a straight line from {} to {}, a change of {} +- {} (99.9 % interval)",
        rate(start),
        rate(end),
        rate(change.mean),
        rate(change.half_width)
    );
    Some(drifting(title, evidence))
}

/// The change from `before` to `after`, as a share of the first.
fn by(before: f64, after: f64) -> String {
    let share = (after - before).abs() / before;
    if share <= MANIFOLD { percent(share) } else { "more than tenfold".to_string() }
}

fn is_drift(change: &Estimate, rates: &[f64]) -> bool {
    change.mean.abs() > change.half_width && change.mean.abs() > DRIFT_MIN * mean(rates)
}

fn drifting(title: String, evidence: String) -> Finding {
    DETECTOR.finding(Severity::Warning, title, evidence, "use a longer warmup, or run until the rate has settled")
}

fn variation(whole: &[Tally]) -> Option<Finding> {
    let counts: Vec<f64> = whole.iter().map(|tally| tally.ok as f64).collect();
    let mean = mean(&counts);
    if counts.len() < INTERVALS_MIN || mean == 0.0 {
        return None;
    }
    let variance = variance(&counts);
    let beyond_counting = (variance - mean).max(0.0).sqrt() / mean;
    let by_chance = variance <= counting_variance_max(counts.len(), mean, COUNTING_LEVEL);
    if beyond_counting <= VARIATION_MIN || by_chance {
        return None;
    }
    let title = format!("the rate varies by {} from interval to interval", percent(beyond_counting));
    let (least, most) = whole
        .iter()
        .fold((f64::MAX, 0f64), |(least, most), tally| (least.min(tally.ops_per_s()), most.max(tally.ops_per_s())));
    let length = whole[0].length;
    let evidence = format!("{} intervals of {length}, from {} to {}", whole.len(), rate(least), rate(most));
    Some(DETECTOR.finding(Severity::Note, title, evidence, "see the timeline; quote the spread with the mean"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation};
    use model::Nanos;

    #[test]
    fn a_drive_that_slows_down_when_garbage_collection_begins_is_not_steady() {
        let counts: Vec<u64> =
            (0..60).map(|second| if second < 30 { 3800 + second % 50 } else { 3000 + second % 70 }).collect();
        let finding = Simulation::counts(&counts).finding("unsteady");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.title.starts_with("not steady: the second half is 20 % slower"), "{}", finding.title);
    }

    #[test]
    fn a_rising_rate_is_not_steady() {
        let mut random = Random::new(3);
        let counts: Vec<u64> =
            (0..60).map(|second| (1000.0 + 8.0 * second as f64 + 20.0 * random.normal()) as u64).collect();
        let title = Simulation::counts(&counts).finding("unsteady").title;
        assert!(title.starts_with("not steady: the rate rises by 4") && title.ends_with(" % over the run"), "{title}");
    }

    #[test]
    fn no_rate_falls_by_more_than_all_of_it() {
        let falling: Vec<f64> = (0..40).map(|n| (1000.0 - 30.0 * n as f64).max(0.0)).collect();
        let finding = trend(&falling).expect("it falls");
        assert_eq!(finding.title, "not steady: the rate falls by 100 % over the run");
        let rising: Vec<f64> = falling.into_iter().rev().collect();
        assert_eq!(
            trend(&rising).expect("it rises").title,
            "not steady: the rate rises by more than tenfold over the run"
        );
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
        let wrong = (0..1000).filter(|seed| {
            let mut random = Random::new(*seed);
            let second = Tally { length: Nanos::from_secs(1), ..Tally::default() };
            let whole: Vec<Tally> = (0..40).map(|_| Tally { ok: random.poisson(6.0), ..second }).collect();
            variation(&whole).is_some()
        });
        let wrong = wrong.count();
        assert!(wrong <= 5, "{wrong} of 1000");
    }

    #[test]
    fn noise_around_a_constant_rate_is_called_a_drift_in_two_percent_of_runs_at_most() {
        for (coefficient, deviation) in [(0.0, 50.0), (0.0, 200.0), (0.4, 120.0), (0.7, 60.0)] {
            let wrong = (0..1000).filter(|seed| {
                let noise = Random::new(*seed).autoregressive(60, coefficient);
                drift(&noise.iter().map(|value| 1000.0 + deviation * value).collect::<Vec<f64>>()).is_some()
            });
            let wrong = wrong.count();
            assert!(wrong <= 20, "coefficient {coefficient}, deviation {deviation}: {wrong} of 1000");
        }
    }
}
