//! Finds points that the user or a safety limit ended.
//!
//! In: the events. Out: a warning. Limits: none.

use super::phrases::tenths;
use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{EventKind, Nanos};
use serde::Serialize;

/// A point that was ended early.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointInterruption {
    /// When, since the run phase began; `None` before it.
    pub at_ns: Option<Nanos>,
    /// Why, as it was recorded.
    pub reason: String,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(stopped) = view.events(EventKind::Stopped).next() else { return Vec::new() };
    let detail = PointInterruption { at_ns: view.time_of(stopped), reason: stopped.text.clone() };
    vec![Finding::new(Severity::Warning, detail).next(NextStep::MeasureAgain)]
}

impl FindingKind for PointInterruption {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "stopped early: interrupted, or the disk was full";

    fn is_like(&self, other: &Self) -> bool {
        (self.at_ns.is_some(), &self.reason) == (other.at_ns.is_some(), &other.reason)
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].at_ns {
            Some(_) => {
                let at = tenths(alike, |one| one.at_ns.unwrap_or_default());
                format!("stopped at {at} s: {}", alike[0].reason)
            }
            None => format!("stopped before the run phase: {}", alike[0].reason),
        }
    }

    fn evidence(&self) -> String {
        "what was measured until then is kept".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::PointState;

    #[test]
    fn an_interrupted_point_says_so_once() {
        let stopped = Simulation::counts(&[1000; 10])
            .event(EventKind::Stopped, "Ctrl-C")
            .with(|point| point.state = PointState::Partial);
        let expected = PointInterruption { at_ns: Some(Nanos::from_millis(500)), reason: "Ctrl-C".into() };
        assert_eq!(stopped.figures::<PointInterruption>(), expected);
        assert!(stopped.findings("incomplete").is_empty());
        assert!(Simulation::counts(&[1000; 10]).findings("interrupted").is_empty());
    }
}
