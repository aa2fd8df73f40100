//! Finds points after which the settings of the server could not be read.
//!
//! In: whether the last reading failed. Out: a warning. Limits: a server that ended has a finding of its own, and no settings.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::machine::UnreadSettings;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::SettingsUnread, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let outcome = &view.point.traits.outcome;
    if !outcome.is_settings_end_unread || outcome.server_ended.is_some() {
        return Vec::new();
    }
    vec![Finding::new(Severity::Warning, UnreadSettings {}).next(NextStep::MeasureAgain)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
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
