//! Finds rates that swing like a wave.
//!
//! In: the rates of the whole intervals. Out: a note with the period and the height. Limits: needs 40 intervals, four waves and
//! four intervals a wave; waves whose period changes by more than a wave over the run are not found.

use super::detector::{Detector, Measured, PointView};
use crate::shape::waves::Wave;
use crate::text::{percent, rate};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "wave",
    help: "the rate swings like a wave",
    explain: "One sine carries at least half of the variance of the rates (the highest peak of the periodogram; of white noise \
              of 40 intervals none reaches that in 30,000 runs by R. A. Fisher's test, Proc. Royal Society A 125, 1929), and \
              swings by at least 10 % of the mean from top to bottom. There must be four waves and four intervals to each. On \
              simulated noise (white, AR(1) up to 0.7, heavy tails; 60 intervals) it speaks in at most 1 % of runs. It \
              describes the target: something there works in turns, such as a cache that is filled and written back, or \
              garbage collection beside the load. A run of whole waves has a mean that can be used; one of less than ten \
              depends on where it was cut.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.wave.map(|wave| told(&wave, &measured)).into_iter().collect()
}

fn told(wave: &Wave, measured: &Measured) -> Finding {
    let length_s = measured.window.whole[0].length.as_secs_f64();
    let title = format!(
        "the rate swings between {} and {}, one wave every {} s",
        rate((wave.middle - wave.amplitude).max(0.0)),
        rate(wave.middle + wave.amplitude),
        model::units::three_digits(wave.period * length_s)
    );
    let evidence = format!(
        "a sine of this period carries {} of the variance; {:.0} waves in the run",
        percent(wave.variance_share),
        measured.window.whole.len() as f64 / wave.period
    );
    DETECTOR.finding(Severity::Note, title, evidence, "see what in the target works in turns of this length")
}

#[cfg(test)]
mod tests {
    use crate::simulate::{Random, Simulation};

    fn swinging(n: u64, period: f64, amplitude: f64, deviation: f64) -> Vec<u64> {
        let mut random = Random::new(1);
        let phase = |at: u64| (std::f64::consts::TAU * at as f64 / period).sin();
        (0..n).map(|at| (375.0 + amplitude * phase(at) + deviation * random.normal()) as u64).collect()
    }

    #[test]
    fn a_rate_that_goes_up_and_down_between_350_and_400_is_a_wave() {
        let simulation = Simulation::counts(&swinging(1_800, 190.0, 25.0, 6.0));
        let title = simulation.finding("wave").title;
        assert!(title.starts_with("the rate swings between 35") || title.starts_with("the rate swings between 34"));
        let period: f64 = title.split_whitespace().rev().nth(1).and_then(|word| word.parse().ok()).expect("a period");
        assert!((period / 190.0 - 1.0).abs() < 0.03, "{title}");
        assert!(simulation.findings("level-shift").is_empty());
    }
}
