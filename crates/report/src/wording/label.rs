//! The names of points: their settings in words.
//!
//! In: the typed labels and settings of points. Out: short text, such as `sqlite oltp read_write clients 16`.
//! Limits: labels distinguish the points of one run and no more; they are as long as it takes, and cut where they are shown.

pub use analysis::findings::setting_words::{phrase, phrases, settings_label};

use analysis::recorded::dimensions::arrivals_word;
use analysis::{Label, PointAnalysis, SettingValue};
use model::{Nanos, Pacing, Until};
use std::collections::BTreeMap;

/// What distinguishes `point` from the others of its run: `file rndrd depth 8`.
pub fn point_label(point: &PointAnalysis) -> String {
    label_text(&point.label)
}

/// The phrases of the label of `point`.
pub fn point_phrases(point: &PointAnalysis) -> Vec<String> {
    phrases(point.label.group.iter().chain(&point.label.place))
}

pub fn label_text(label: &Label) -> String {
    settings_label(label.group.iter().chain(&label.place))
}

/// What distinguishes the group of `point` from the others: the label without clients, depth and repetition.
pub fn group_label(point: &PointAnalysis) -> String {
    settings_label(&point.label.group)
}

/// A setting as tables list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSetting {
    /// Its value as a person would write it in a plan.
    pub text: String,
    /// Whether the point makes any use of it.
    pub used: bool,
    /// Whether it is known to be the default.
    pub is_default: bool,
}

/// The parameters of workload and engine, the limits, and what paces and ends the load, by name. What is at its default is left out.
pub fn list_settings(point: &PointAnalysis) -> BTreeMap<String, ListedSetting> {
    let mut all = BTreeMap::new();
    let mut add = |name: &str, text: String, (used, is_default): (bool, bool)| {
        // If workload and engine both have a parameter of a name, the workload's comes first and stays.
        all.entry(name.to_owned()).or_insert(ListedSetting { text, used, is_default });
    };
    const GIVEN: (bool, bool) = (true, false);
    for setting in point.settings.iter() {
        match &setting.value {
            SettingValue::Name(_) | SettingValue::Count(_) => {}
            SettingValue::Absent | SettingValue::Default | SettingValue::Kept => {}
            SettingValue::Pacing(Pacing::Closed { think: Nanos(0) }) | SettingValue::Until(Until::Time) => {}
            SettingValue::Pacing(Pacing::Closed { think }) => add("think", think.to_string(), GIVEN),
            SettingValue::Pacing(Pacing::Open { arrivals }) => {
                add("rate", arrivals.per_s().to_string(), GIVEN);
                add("arrivals", arrivals_word(arrivals).to_owned(), GIVEN);
            }
            SettingValue::Until(Until::Steady { round, .. }) => {
                add("until", "steady".to_owned(), GIVEN);
                add("round", round.to_string(), GIVEN);
            }
            SettingValue::Until(Until::Sure(within)) => add("until", format!("sure:{within}"), GIVEN),
            other => add(&setting.name, other.to_string(), (setting.used, setting.is_default)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::setting;
    use model::{Access, Arrivals, Bytes, FileSystem, Value};

    fn said(name: &str, value: SettingValue) -> String {
        phrase(&setting(name, value))
    }

    fn word(name: &str, word: &str) -> String {
        said(name, SettingValue::Param(Value::Word(word.to_owned())))
    }

    #[test]
    fn a_word_speaks_for_itself_unless_it_could_be_that_of_anything() {
        assert_eq!([word("mode", "rndrd"), word("durability", "none")], ["rndrd", "durability none"]);
        assert_eq!([word("innodb.x", "ON"), word("storage_limit", "iops=500")], ["innodb.x ON", "iops=500"]);
        assert_eq!(word("engine_bin", "/opt/a"), "engine_bin /opt/a");
    }

    #[test]
    fn other_values_have_their_name_unless_their_kind_is_plain() {
        let access = Access { name: "zipf".into(), args: vec![0.9] };
        assert_eq!(said("access", SettingValue::Param(Value::Access(access))), "zipf:0.9");
        assert_eq!(said("indexes", SettingValue::Param(Value::Int(3))), "indexes 3");
        assert_eq!(said("memory_limit", SettingValue::Param(Value::Bytes(Bytes(1 << 30)))), "memory limit 1 GiB");
        assert_eq!(said("fs", SettingValue::FileSystem(FileSystem::Xfs)), "xfs");
        assert_eq!(
            [said("fs", SettingValue::Absent), said("clients", SettingValue::Count(4))],
            ["fs none", "clients 4"]
        );
    }

    #[test]
    fn closed_and_open_loops_are_named() {
        let open = Pacing::Open { arrivals: Arrivals::Poisson { per_s: 5_000.0 } };
        assert_eq!(said("pacing", SettingValue::Pacing(open)), "poisson arrivals, rate 5000");
        let closed = Pacing::Closed { think: Nanos(0) };
        assert_eq!(said("pacing", SettingValue::Pacing(closed)), "closed loop");
    }

    #[test]
    fn what_has_no_effect_yet_is_in_parentheses_and_the_usual_end_is_not_named() {
        let mut point = crate::testing::quick().points.remove(6);
        crate::testing::set(&mut point, "step", "l.i0");
        point.settings.put(crate::testing::setting("until", SettingValue::Until(Until::Time)));
        crate::testing::label(&mut point, &["engine", "step", "until"], &["indexes"]);
        assert_eq!(point_label(&point), "sqlite l.i0 indexes 0");
        point.label.place[0].used = false;
        assert_eq!(point_label(&point), "sqlite l.i0 (indexes 0)");
    }

    #[test]
    fn settings_at_their_default_are_not_listed() {
        let mut point = crate::testing::quick().points.remove(0);
        let listed = list_settings(&point);
        assert_eq!(listed.keys().collect::<Vec<_>>(), ["block", "mode"]);
        let open = Pacing::Open { arrivals: Arrivals::Constant { per_s: 500.0 } };
        point.settings.put(setting("pacing", SettingValue::Pacing(open)));
        assert_eq!(list_settings(&point)["arrivals"].text, "constant");
    }
}
