//! Finds rates that swing like a wave.
//!
//! In: the wave that the rates of the run phase follow. Out: a note with the period and the height. Limits: needs 40 intervals,
//! four waves and four intervals a wave; waves whose period changes by more than a wave over the run are not found.

use super::detector::Detector;
use crate::computed_phase::Measured;
use crate::course::shape::waves::Wave;
use crate::evidence::PointView;
use crate::finding::rates::RateWave;
use crate::finding::units::{Share, nanos};
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::Wave, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    measured.shape.wave.map(|wave| swinging(&wave, &measured)).into_iter().collect()
}

fn swinging(wave: &Wave, measured: &Measured) -> Finding {
    let interval_s = measured.window.whole[0].length.as_secs_f64();
    let detail = RateWave {
        low_per_s: (wave.middle - wave.amplitude).max(0.0),
        high_per_s: wave.middle + wave.amplitude,
        period_ns: nanos(wave.period * interval_s),
        waves: measured.window.whole.len() as f64 / wave.period,
        variance_share: Share(wave.variance_share),
    };
    Finding::new(Severity::Note, detail).next(NextStep::FindCycle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, swinging};

    #[test]
    fn a_rate_that_goes_up_and_down_between_350_and_400_is_a_wave() {
        let simulation = Simulation::counts(&swinging(1_800, 190.0, 25.0, 6.0));
        let found: RateWave = simulation.figures();
        assert!((340.0..360.0).contains(&found.low_per_s) && (390.0..410.0).contains(&found.high_per_s), "{found:?}");
        assert!((found.period_ns.as_secs_f64() / 190.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!(simulation.findings("level-shift").is_empty());
    }
}
