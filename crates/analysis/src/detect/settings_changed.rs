//! Finds settings of the server that changed while it was measured.
//!
//! In: what the point's watch over the settings recorded. Out: an error. Limits: when a setting changed is known to the distance of two
//! readings, a minute at most; a change that was taken back between them is not seen.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::machine::SettingChanges;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::SettingsChanged, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let changes = view.point.traits.outcome.changed_settings.clone();
    if changes.is_empty() {
        return Vec::new();
    }
    let noticed_at_ns = view.events(EventKind::Setting).next().and_then(|event| view.time_of(event));
    let detail = SettingChanges { changes, noticed_at_ns };
    vec![Finding::new(Severity::Error, detail).next(NextStep::KeepSettings)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Validity;
    use crate::simulated::Simulation;
    use model::{Fact, Nanos};

    #[test]
    fn a_setting_that_changed_voids_the_point_with_its_name_and_both_values() {
        let facts = [("setting.before.fsync", "on"), ("setting.after.fsync", "off")];
        let changed = Simulation::counts(&[2000; 10])
            .event(EventKind::Setting, "the setting `fsync` changed from `on` to `off`")
            .with(|point| point.traits.learn_all(&facts.map(|(name, value)| Fact::new(name, value))));
        assert_eq!(changed.analysis().points[0].validity, Validity::Invalid);
        let found: SettingChanges = changed.figures();
        let [one] = found.changes.as_slice() else { panic!("{found:?}") };
        assert_eq!([&*one.name, &*one.before, &*one.after], ["fsync", "on", "off"]);
        assert_eq!(found.noticed_at_ns, Some(Nanos::from_millis(500)));
        assert!(Simulation::counts(&[2000; 10]).findings("settings-changed").is_empty());
    }
}
