//! Finds rates that swing like a wave.
//!
//! In: the wave that the rates of the run phase follow. Out: a note with the period and the height. Limits: needs 40 intervals,
//! four waves and four intervals a wave; waves whose period changes by more than a wave over the run are not found.

use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::computed_phase::Measured;
use crate::course::shape::waves::Wave;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::{Share, nanos};
use model::Nanos;
use serde::Serialize;
use words::quantity::{percent, rate, time, whole};

/// A sine that the rates follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateWave {
    pub low_per_s: f64,
    pub high_per_s: f64,
    /// From one top to the next.
    pub period_ns: Nanos,
    /// How many there are in the run.
    pub waves: f64,
    /// The share of the variance that it carries.
    pub variance_share: Share,
}

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

impl FindingKind for RateWave {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Swung);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn gravity(&self) -> Option<f64> {
        Some(1.0 - self.low_per_s / self.high_per_s.max(f64::MIN_POSITIVE))
    }

    fn title(alike: &[&Self]) -> String {
        let RateWave { low_per_s, high_per_s, period_ns, .. } = alike[0];
        let (low, high, period) = (rate(*low_per_s), rate(*high_per_s), time(period_ns.0 as f64));
        format!("the rate swings between {low} and {high}, one wave every {period}")
    }

    fn evidence(&self) -> String {
        let share = percent(self.variance_share.0);
        format!("a sine of this period carries {share} of the variance; {} waves in the run phase", whole(self.waves))
    }
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
