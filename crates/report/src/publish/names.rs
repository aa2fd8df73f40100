//! What the runs of one report are called: by what they differ in, if that is one thing, else by their files.
//!
//! In: comparisons with one base, and the names of the files. Out: a name for each run, all different. Limits: several things that differ
//! make no name.

use analysis::compare::{ArmSummary, Condition, ConditionEffect, ConditionKind, RunComparison};
use std::collections::BTreeSet;

/// Longer names make no heads of columns.
const NAME_CHARS_MAX: usize = 40;

/// The name of each run, the base first.
pub fn arm_names(all: &[RunComparison], files: &[&str]) -> Vec<String> {
    let names = [by_what_is_compared(all), by_cpu(all)].into_iter().flatten();
    names
        .filter(|names| are_fit(names))
        .chain([files.iter().map(|file| (*file).to_owned()).collect()])
        .next()
        .unwrap_or_default()
}

fn are_fit(names: &[String]) -> bool {
    let all: BTreeSet<&String> = names.iter().collect();
    all.len() == names.len() && names.iter().all(|name| !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX)
}

/// By the engine, the version or the setting in which all differ from the base.
fn by_what_is_compared(all: &[RunComparison]) -> Option<Vec<String>> {
    let compared = |one: &RunComparison| {
        one.unlike.iter().find(|condition| condition.effect == ConditionEffect::Compared).cloned()
    };
    let conditions: Vec<Condition> = all.iter().map(compared).collect::<Option<_>>()?;
    let kind = &conditions.first()?.kind;
    if conditions.iter().any(|condition| condition.kind != *kind) {
        return None;
    }
    named(&conditions, |arm, value| name_of(kind, arm, value), all)
}

fn name_of(kind: &ConditionKind, arm: &ArmSummary, value: &str) -> String {
    match kind {
        ConditionKind::Setting(name) => format!("{name} {value}"),
        ConditionKind::EngineVersion => {
            let version = value.split([' ', '-']).next().unwrap_or(value);
            let engine = arm.engines.first().map(|(engine, _)| engine.as_str()).unwrap_or_default();
            if engine.ends_with(version) { engine.to_owned() } else { format!("{engine} {version}") }
        }
        _ => value.to_owned(),
    }
}

/// By the model of the CPU, if the runs are of different machines.
fn by_cpu(all: &[RunComparison]) -> Option<Vec<String>> {
    let is_cpu =
        |condition: &&Condition| matches!(&condition.kind, ConditionKind::Environment(_, name) if name == "cpu.model");
    let conditions: Vec<Condition> =
        all.iter().map(|one| one.unlike.iter().find(is_cpu).cloned()).collect::<Option<_>>()?;
    named(&conditions, |_, value| value.to_owned(), all)
}

/// A name for the base and for each other arm, if each has one value.
fn named(
    conditions: &[Condition],
    name: impl Fn(&ArmSummary, &str) -> String,
    all: &[RunComparison],
) -> Option<Vec<String>> {
    let single = |values: &[String]| (values.len() == 1).then(|| values[0].clone());
    let base = name(&all.first()?.base, &single(&conditions.first()?.base)?);
    let others = conditions.iter().zip(all).map(|(condition, one)| Some(name(&one.new, &single(&condition.new)?)));
    [Some(base)].into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compared;

    #[test]
    fn runs_are_called_by_the_one_thing_in_which_they_differ() {
        let names = |all: &[RunComparison]| arm_names(all, &["a", "b", "c"][..=all.len()]);
        assert_eq!(names(&[compared()]), ["secondary_index true", "secondary_index false"]);
        let mut other = compared();
        other.unlike[1].kind = ConditionKind::Engine;
        assert_eq!(names(&[compared(), other.clone()]), ["a", "b", "c"], "two things differ");
        (other.unlike[1].base, other.unlike[1].new) = (vec!["sqlite".into()], vec!["fjall".into()]);
        assert_eq!(names(&[other.clone()]), ["sqlite", "fjall"]);
        other.unlike[1].new = vec!["fjall".into(), "rocksdb".into()];
        assert_eq!(names(&[other]), ["a", "b"], "one of them has two");
    }

    #[test]
    fn equal_names_are_no_names() {
        assert_eq!(arm_names(&[compared(), compared()], &["a", "b", "c"]), ["a", "b", "c"]);
    }
}
