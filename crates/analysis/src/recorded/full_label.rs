//! Full names of points: a label has the engine, the workload or its step, and whatever else distinguishes the point.
//!
//! In: the points of a run. Out: what [`crate::recorded::dimensions::describe`] finds in them, with complete labels. Limits: the
//! groups stay as they are: what is added to a group's label is the same for all its points. Points with equal settings keep one label.

use crate::recorded::dimensions::{Described, ENGINE, Label, Role, Setting, Settings, describe};
use crate::recorded::engine_names::EngineNames;
use model::PointData;
use std::collections::HashMap;

/// Describes the points of a run, in their order, with complete labels; their engines are called by `names`.
pub fn describe_in_full(points: &[PointData], names: &EngineNames) -> Vec<Described> {
    let mut described = describe(points, names);
    for (one, point) in described.iter_mut().zip(points) {
        let has_io = point.traits.work.io.is_some();
        one.label.group = full_group(&one.label, &one.settings, has_io);
    }
    separate_equal_labels(&mut described);
    described
}

/// The settings that name a group: engine, workload or step, kind of access, and what varies.
fn full_group(label: &Label, settings: &Settings, has_io: bool) -> Vec<Setting> {
    let kept = settings.used().filter(|setting| names_point(setting, settings, has_io) || varies(setting, label));
    let mut group: Vec<Setting> = kept.cloned().collect();
    group.sort_by_key(|setting| match setting.role {
        Role::Engine => 0,
        Role::Workload => 1,
        Role::Work => 2,
        _ => 3,
    });
    group
}

fn varies(setting: &Setting, label: &Label) -> bool {
    setting.role != Role::Workload && label.group.contains(setting)
}

/// Whether `setting` belongs to every label, whether it varies or not.
fn names_point(setting: &Setting, settings: &Settings, has_io: bool) -> bool {
    match setting.role {
        Role::Engine => true,
        // A step names its workload. The workload `file` on the engine `file` is named once.
        Role::Workload => settings.step().is_none() && settings.value(ENGINE) != Some(&setting.value),
        Role::Work => has_io || setting.is_step(),
        _ => false,
    }
}

/// Points whose labels are equal although their settings differ get those settings behind their place. No such setting has any effect
/// on these points: the number of indexes has none before they are made.
fn separate_equal_labels(described: &mut [Described]) {
    let mut equal: HashMap<Vec<(String, String)>, Vec<usize>> = HashMap::new();
    for (nth, one) in described.iter().enumerate() {
        equal.entry(words(&one.label)).or_default().push(nth);
    }
    for points in equal.into_values().filter(|points| points.len() > 1) {
        let names = differing(&points.iter().map(|nth| &described[*nth].settings).collect::<Vec<_>>());
        for nth in points {
            let Described { settings, label, .. } = &mut described[nth];
            let mut unused: Vec<Setting> = settings.iter().filter(|one| names.contains(&one.name)).cloned().collect();
            unused.iter_mut().for_each(|setting| setting.used = false);
            label.place.append(&mut unused);
        }
    }
}

/// The names and values in `label`.
fn words(label: &Label) -> Vec<(String, String)> {
    let settings = label.group.iter().chain(&label.place);
    settings.map(|setting| (setting.name.clone(), setting.value.to_string())).collect()
}

/// The names of the settings that all of `points` have, with different values.
fn differing(points: &[&Settings]) -> Vec<String> {
    let differing = points[0].iter().filter(|setting| differs(setting, &points[1..]));
    differing.map(|setting| setting.name.clone()).collect()
}

fn differs(setting: &Setting, others: &[&Settings]) -> bool {
    let others: Option<Vec<&Setting>> = others.iter().map(|other| other.get(&setting.name)).collect();
    others.is_some_and(|others| others.iter().any(|other| other.value != setting.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, params};
    use model::Value;

    fn point(engine: &str, workload: &str, pairs: &[(&str, Value)]) -> PointData {
        let simulation = Simulation::counts(&[1]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.workload.name = workload.into();
            point.trial.workload.params = params(pairs);
        });
        simulation.point()
    }

    fn step(engine: &str, step: &str, indexes: u64) -> PointData {
        point(engine, "insert", &[("step", Value::Word(step.into())), ("indexes", Value::Int(indexes))])
    }

    fn described(points: &[PointData]) -> Vec<Described> {
        describe_in_full(points, &EngineNames::new(points, &[]))
    }

    fn labels(points: &[PointData]) -> Vec<String> {
        let label = |one: Described| {
            let all = one.label.group.iter().chain(&one.label.place);
            all.map(|setting| setting.value.to_string()).collect::<Vec<_>>().join(" ")
        };
        described(points).into_iter().map(label).collect()
    }

    #[test]
    fn a_label_has_engine_and_step_or_workload_even_if_only_something_else_varies() {
        assert_eq!(labels(&[step("sqlite", "l.x", 3)]), ["sqlite l.x"]);
        assert_eq!(labels(&[step("sqlite", "l.i1", 0), step("sqlite", "qp", 0)]), ["sqlite l.i1", "sqlite qp"]);
        let with_rows = |rows| point("sqlite", "oltp", &[("table_rows", Value::Int(rows))]);
        assert_eq!(labels(&[with_rows(100), with_rows(200)]), ["sqlite oltp 100", "sqlite oltp 200"]);
        let mut clients = [with_rows(100), with_rows(100)];
        clients[1].trial.load.clients += 3;
        assert_eq!(labels(&clients), ["sqlite oltp 1", "sqlite oltp 4"]);
    }

    #[test]
    fn a_point_that_does_io_has_its_mode_and_a_path_instead_of_the_engine() {
        let at = |path: &str| {
            let mut point = point("file", "file", &[("mode", Value::Word("rndrd".into()))]);
            point.trial.target.path = Some(path.into());
            point
        };
        assert_eq!(labels(&[at("/a"), at("/b")]), ["/a file rndrd", "/b file rndrd"]);
        let mut lone = at("/a");
        lone.trial.target.path = None;
        assert_eq!(labels(&[lone]), ["file rndrd"]);
    }

    #[test]
    fn steps_before_the_indexes_are_made_are_distinguished_by_the_number_that_has_no_effect_yet() {
        let sequence = |indexes| ["l.i0", "l.x", "l.i1"].map(|name| step("sqlite", name, indexes));
        let points = [sequence(0), sequence(3)].concat();
        let expected =
            ["sqlite l.i0 0", "sqlite l.x 0", "sqlite l.i1 0", "sqlite l.i0 3", "sqlite l.x 3", "sqlite l.i1 3"];
        assert_eq!(labels(&points), expected);
        let all = described(&points);
        assert_eq!((all[0].group, all[0].group == all[1].group), (all[3].group, false), "they stay one group");
        let unused: Vec<bool> =
            all[..2].iter().map(|one| one.label.place.iter().any(|setting| !setting.used)).collect();
        assert_eq!(unused, [true, false]);
    }

    #[test]
    fn points_with_equal_settings_keep_one_label() {
        assert_eq!(labels(&[step("sqlite", "l.i1", 3), step("sqlite", "l.i1", 3)]), ["sqlite l.i1", "sqlite l.i1"]);
    }
}
