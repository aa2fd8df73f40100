//! Finds points after which the settings of the server could not be read.
//!
//! In: whether the last reading failed. Out: a warning. Limits: a server that ended has a finding of its own, and no settings.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use serde::Serialize;

/// The settings of the server could not be read after the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnreadSettings {}

fn detect(view: &PointView) -> Vec<Finding> {
    let outcome = &view.point.traits.outcome;
    if !outcome.is_settings_end_unread || outcome.server_ended.is_some() {
        return Vec::new();
    }
    vec![Finding::new(Severity::Warning, UnreadSettings {}).next(NextStep::MeasureAgain)]
}

impl FindingKind for UnreadSettings {
    const SEVERITIES: &'static [Severity] = &[Severity::Warning];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had a server whose settings could not be read at the end";

    fn title(_: &[&Self]) -> String {
        "the server's settings could not be read after the load: a change of them would not have been seen".to_owned()
    }

    fn evidence(&self) -> String {
        "the server did not answer".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;

    #[test]
    fn a_point_whose_settings_may_have_changed_before_its_end_is_indicative() {
        let unread =
            || Simulation::counts(&[2000; 10]).with(|point| point.traits.outcome.is_settings_end_unread = true);
        assert_eq!(unread().finding("settings-unread").severity, Severity::Warning);
        assert_eq!(unread().analysis().points[0].validity, Validity::Indicative);
        assert_eq!(Simulation::counts(&[2000; 10]).analysis().points[0].validity, Validity::Valid);
        let ended = unread().with(|point| point.traits.outcome.server_ended = Some("signal 9".into()));
        assert!(ended.findings("settings-unread").is_empty());
    }
}
