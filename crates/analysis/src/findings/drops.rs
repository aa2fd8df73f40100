//! Finds drops: short stretches far below the level that the rate keeps to, and their period.
//!
//! In: the drops of the run phase. Out: a note. Limits: stalls have their own detector; of noise with a heavy tail the
//! lowest intervals are no drops, so that irregular drops of a single interval are not found.

use super::phrases::{SPANS_LISTED_MAX, at_second, span};
use super::stall::{EventPeriod, one_every};
use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::computed_phase::Measured;
use crate::course::shape::Shape;
use crate::course::shape::drops::DropSpan;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::median;
use crate::math::units::nanos;
use model::Nanos;
use serde::Serialize;
use words::list::listed;
use words::quantity::{percent, plural, rate, seconds};

/// Drops of the rate that are no stalls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateDrops {
    /// Each of them; at least one.
    pub drops: Vec<DropSpan>,
    /// The median of the levels that they left.
    pub from_per_s: f64,
    /// The median of their rates.
    pub to_per_s: f64,
    /// The median of their lengths.
    pub length_ns: Nanos,
    /// The time from one to the next; `None` if they are irregular.
    pub period: Option<EventPeriod>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    if measured.shape.drops.is_empty() { Vec::new() } else { vec![dropped(measured.shape, &measured)] }
}

fn dropped(shape: &Shape, measured: &Measured) -> Finding {
    let detail = RateDrops {
        drops: shape.drops.clone(),
        from_per_s: usual(shape, |drop| drop.from_per_s),
        to_per_s: usual(shape, |drop| drop.to_per_s),
        length_ns: nanos(usual(shape, |drop| drop.span.length_s())),
        period: shape.drop_period.map(EventPeriod::from),
        interval_ns: measured.window.whole[0].length,
    };
    let spans = shape.drops.iter().map(|drop| drop.span).collect();
    Finding::new(Severity::Note, detail).at(spans).next(NextStep::CompareCharts)
}

impl RateDrops {
    /// By which share of the level the rate falls.
    pub fn fall_share(&self) -> f64 {
        1.0 - self.to_per_s / self.from_per_s.max(f64::MIN_POSITIVE)
    }
}

/// The median of all drops.
fn usual(shape: &Shape, value: fn(&DropSpan) -> f64) -> f64 {
    median(&shape.drops.iter().map(value).collect::<Vec<_>>()).unwrap_or(0.0)
}

impl FindingKind for RateDrops {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Dropped);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn gravity(&self) -> Option<f64> {
        Some(self.fall_share() * self.drops.len() as f64)
    }

    fn title(alike: &[&Self]) -> String {
        let found = alike[0];
        let first = if found.drops.len() == 1 { "" } else { "the first " };
        let when = match found.period {
            Some(period) => one_every(period, found.interval_ns),
            None => format!("{first}at {}", at_second(found.drops[0].span.from_s, found.interval_ns)),
        };
        format!(
            "{} from {} to {} ({} less) for {}; {when}",
            plural(found.drops.len() as u64, "drop"),
            rate(found.from_per_s),
            rate(found.to_per_s),
            percent(found.fall_share()),
            seconds(found.length_ns, found.interval_ns)
        )
    }

    fn evidence(&self) -> String {
        let one = |drop: &DropSpan| format!("{} {}", span(&drop.span, self.interval_ns), rate(drop.to_per_s));
        let medians = if self.drops.len() == 1 { "" } else { "medians of all drops; " };
        format!("{medians}{}", listed(&self.drops, SPANS_LISTED_MAX, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::stall::Stalls;
    use crate::simulated::noisy;

    #[test]
    fn a_drive_of_148_that_drops_to_87_every_twenty_minutes_is_told_so() {
        // Intervals of 10 s over five hours, as its author recorded them; two of them low.
        let drive = noisy(1, 1_800, 15.0, |at| if at % 120 >= 118 { 870.0 } else { 1_480.0 }).with(|point| {
            point.phases[0].end.0 *= 10;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 *= 10;
                interval.length = Nanos::from_secs(10);
            }
        });
        let found: RateDrops = drive.figures();
        assert_eq!((found.drops.len(), found.from_per_s.round()), (15, 148.0));
        assert!((80.0..90.0).contains(&found.to_per_s), "{found:?}");
        assert_eq!(found.length_ns, Nanos::from_secs(20));
        let period = EventPeriod { gap_ns: Nanos::from_secs(1_200), spread_ns: Nanos(0) };
        assert_eq!(found.period, Some(period));
        assert_eq!(drive.finding("drops").spans.len(), 15);
        assert!(drive.findings("level-shift").is_empty() && drive.findings("stall").is_empty());
    }

    #[test]
    fn a_drop_of_three_seconds_is_told_though_it_is_alone() {
        let found: RateDrops = noisy(2, 60, 20.0, |at| if (40..43).contains(&at) { 500.0 } else { 1_000.0 }).figures();
        assert_eq!((found.drops.len(), found.drops[0].span.from_s, found.period), (1, 40.0, None));
        assert_eq!(found.length_ns, Nanos::from_secs(3));
    }

    #[test]
    fn one_shallow_second_and_a_long_stall_are_no_drops() {
        // Together they last long enough for several drops, but the stall is a finding of its own.
        let with = |least: f64| {
            noisy(2, 60, 20.0, move |at| match at {
                10..18 => 0.0,
                40 => least,
                _ => 1_000.0,
            })
        };
        let shallow = with(750.0);
        assert!(shallow.findings("drops").is_empty(), "{:?}", shallow.findings("drops"));
        assert_eq!(shallow.findings("stall").len(), 1);
        let deep: RateDrops = with(500.0).figures();
        assert_eq!((deep.drops.len(), deep.drops[0].span.from_s), (1, 40.0));
    }

    #[test]
    fn a_stall_is_no_drop() {
        let stalling = noisy(3, 1_800, 5.0, |at| if at % 300 >= 275 { 0.0 } else { 323.0 });
        assert!(stalling.findings("drops").is_empty());
        let Stalls::Rates(stalls) = stalling.figures() else { panic!("rates show them") };
        assert_eq!((stalls.count, stalls.total_ns), (6, Nanos::from_secs(150)));
        assert_eq!(stalls.period.map(|period| period.gap_ns), Some(Nanos::from_secs(300)));
    }
}
