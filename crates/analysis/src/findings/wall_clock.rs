//! Finds that the wall clock of a machine was set while it measured.
//!
//! In: the events of the watch over the clocks. Out: a note: the clock of the run does not know it. Limits: a clock that is slewed is not set,
//! and one that was set before the point began is not seen.

use super::{Detects, Finding, FindingKind, Watched};
use crate::evidence::PointView;
use crate::judgement::Severity;
use model::EventKind;
use serde::Serialize;
use words::list::join_and;

/// The wall clock was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockSettings {
    /// How far and which way, for people; one line for each time.
    pub quoted: Vec<String>,
}

/// More are not quoted.
const QUOTED_MAX: usize = 3;

fn detect(view: &PointView) -> Vec<Finding> {
    let quoted = view.quoted(EventKind::WallClock, QUOTED_MAX);
    if quoted.is_empty() {
        return Vec::new();
    }
    vec![Finding::new(Severity::Note, ClockSettings { quoted })]
}

impl FindingKind for ClockSettings {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::Always;

    fn is_like(&self, other: &Self) -> bool {
        self.quoted == other.quoted
    }

    fn title(alike: &[&Self]) -> String {
        join_and(&alike[0].quoted)
    }

    fn evidence(&self) -> String {
        "no time of the measurement is taken from it; the times in logs from then on are".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;

    #[test]
    fn a_clock_that_was_set_is_said_and_spoils_nothing() {
        let text = "the wall clock was set back by 1 h";
        let set = Simulation::counts(&[2000; 10]).event(EventKind::WallClock, text);
        assert_eq!(set.figures::<ClockSettings>().quoted, [text]);
        assert_ne!(set.analysis().points[0].validity, Validity::Invalid);
        assert!(Simulation::counts(&[2000; 10]).findings("wall-clock").is_empty());
    }
}
