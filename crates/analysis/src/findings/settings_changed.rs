//! Finds settings of the server, and columns and indexes of the tables, that changed while it was measured.
//!
//! In: what the point's watch over the settings recorded. Out: an error. Limits: when a setting changed is known to the distance of two
//! readings, a minute at most; a change that was taken back between them is not seen.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::{ChangedSetting, EventKind, Nanos, is_part_of_table};
use serde::Serialize;
use words::list::listed;

/// Settings of the server that changed during the point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingChanges {
    /// Each with its value at the beginning and the first other one.
    pub changes: Vec<ChangedSetting>,
    /// When the first was noticed, since the run phase began; `None` before it.
    pub noticed_at_ns: Option<Nanos>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let changes = view.point.traits.outcome.changed_settings.clone();
    if changes.is_empty() {
        return Vec::new();
    }
    let noticed_at_ns = view.events(EventKind::Setting).next().and_then(|event| view.time_of(event));
    let detail = SettingChanges { changes, noticed_at_ns };
    vec![Finding::new(Severity::Error, detail).next(NextStep::KeepSettings)]
}

impl FindingKind for SettingChanges {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "had a server whose settings or tables were changed";

    fn is_like(&self, other: &Self) -> bool {
        self.changes == other.changes
    }

    fn title(alike: &[&Self]) -> String {
        let changes = &alike[0].changes;
        let change = |one: &ChangedSetting| format!("{} from `{}` to `{}`", one.name, one.before, one.after);
        let what = match changes.iter().filter(|one| is_part_of_table(&one.name)).count() {
            0 => "the server's settings",
            count if count == changes.len() => "the tables",
            _ => "the server's settings and tables",
        };
        format!("{what} were changed: {}", listed(changes, CHANGES_LISTED_MAX, change))
    }

    fn evidence(&self) -> String {
        match self.noticed_at_ns {
            Some(at) => format!("noticed at {:.1} s of the run phase", at.as_secs_f64()),
            None => "noticed before the run phase".to_owned(),
        }
    }
}

/// So many changed settings are listed with their values.
const CHANGES_LISTED_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;
    use model::Fact;

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

    #[test]
    fn an_index_that_is_gone_is_no_setting() {
        let index = ChangedSetting { name: "index t.k_1".into(), before: "k".into(), after: "none".into() };
        let setting = ChangedSetting { name: "fsync".into(), ..index.clone() };
        let title = |changes: &[&ChangedSetting]| {
            let changes = changes.iter().map(|change| (*change).clone()).collect();
            SettingChanges::title(&[&SettingChanges { changes, noticed_at_ns: None }])
        };
        assert_eq!(title(&[&index]), "the tables were changed: index t.k_1 from `k` to `none`");
        assert!(title(&[&setting, &index]).starts_with("the server's settings and tables were changed: fsync from"));
    }
}
