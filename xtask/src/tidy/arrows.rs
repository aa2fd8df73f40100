//! The arrows between the crates: which crate may depend on which.
//!
//! In: `cargo metadata`. Out: dependencies that the map in ARCHITECTURE.md does not have. Limits: dependencies for tests and build
//! scripts count like any other.

use super::problem::{Problem, Tree};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

/// Each crate and the crates of the workspace that it may depend on, in data-flow order. The measuring half {plan, workload,
/// load, host, engine, observe, bus, runner} and the reading half {words, analysis, plot, report} meet only in `model` and in the run file.
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("sql", &["model"]),
    ("plan", &["model", "sql"]),
    ("workload", &["model", "sql", "capture", "store"]),
    ("load", &["model", "workload"]),
    ("host", &["model"]),
    // `plan` for the contract tests, which make their trials from the declared defaults as a user would.
    ("engine", &["model", "sql", "plan", "workload", "load", "host"]),
    ("observe", &["model", "host"]),
    ("store", &["model"]),
    ("import", &["model", "store"]),
    ("capture", &["sql"]),
    ("words", &["model"]),
    ("analysis", &["model", "words"]),
    ("plot", &[]),
    ("report", &["model", "words", "analysis", "plot"]),
    ("bus", &["model"]),
    ("runner", &["model", "plan", "workload", "load", "host", "engine", "observe", "store", "bus"]),
    ("web", &[]),
    (
        "plimsoll",
        &[
            "model", "plan", "workload", "load", "host", "engine", "observe", "store", "import", "analysis", "plot",
            "report", "bus", "runner", "web",
        ],
    ),
    ("xtask", &[]),
];

/// A crate of the workspace and all that it depends on.
struct WorkspaceCrate {
    name: String,
    dependencies: Vec<String>,
}

pub(super) fn check_arrows(tree: &Tree) -> Result<Vec<Problem>> {
    Ok(find_problems(&crates_of(tree)?))
}

fn crates_of(tree: &Tree) -> Result<Vec<WorkspaceCrate>> {
    let metadata = MetadataCommand::new().current_dir(tree.root).no_deps().exec().context("`cargo metadata` failed")?;
    let crates = metadata.packages.iter().map(|package| WorkspaceCrate {
        name: package.name.to_string(),
        dependencies: package.dependencies.iter().map(|dependency| dependency.name.clone()).collect(),
    });
    Ok(crates.collect())
}

fn find_problems(crates: &[WorkspaceCrate]) -> Vec<Problem> {
    crates.iter().flat_map(|one| problems_of(one, crates)).collect()
}

fn problems_of(one: &WorkspaceCrate, all: &[WorkspaceCrate]) -> Vec<Problem> {
    let place = format!("crate {}", one.name);
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == one.name) else {
        let text = "is not in the map of the house; a further crate needs a journal entry and its line in \
                    xtask/src/tidy/arrows.rs";
        return vec![Problem::new(place, text)];
    };
    let internal = one.dependencies.iter().filter(|name| all.iter().any(|other| other.name == **name));
    let refused = internal.filter(|name| !allowed.contains(&name.as_str()));
    let problems = refused.map(|name| {
        let text = format!("must not depend on `{name}` (see ARCHITECTURE.md); move what both need to `model`");
        Problem::new(&place, text)
    });
    problems.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn one(name: &str, dependencies: &[&str]) -> WorkspaceCrate {
        WorkspaceCrate { name: name.into(), dependencies: dependencies.iter().map(|name| name.to_string()).collect() }
    }

    fn places(crates: &[WorkspaceCrate]) -> Vec<String> {
        find_problems(crates).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn the_arrows_of_the_map_and_crates_from_elsewhere_are_allowed() {
        let crates = [one("model", &["serde"]), one("analysis", &["model", "statrs"]), one("report", &["analysis"])];
        assert!(find_problems(&crates).is_empty());
    }

    #[test]
    fn an_arrow_between_the_halves_is_a_problem() {
        let crates = [one("analysis", &["model"]), one("load", &["analysis"]), one("host", &[])];
        let found = find_problems(&crates);
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("crate load: must not depend on `analysis`"), "{}", found[0]);
    }

    #[test]
    fn an_arrow_against_the_flow_is_a_problem() {
        assert_eq!(places(&[one("model", &["workload"]), one("workload", &["model"])]), ["crate model"]);
    }

    #[test]
    fn a_crate_that_is_not_in_the_map_is_a_problem() {
        assert_eq!(places(&[one("helpers", &[])]), ["crate helpers"]);
    }

    #[test]
    fn the_map_itself_keeps_the_two_halves_apart() {
        let measuring = BTreeSet::from(["plan", "workload", "load", "host", "engine", "observe", "bus", "runner"]);
        let reading = BTreeSet::from(["words", "analysis", "plot", "report"]);
        let reach = |half: &BTreeSet<&'static str>| {
            let mut seen = half.clone();
            while let Some(next) = ALLOWED
                .iter()
                .filter(|(name, _)| seen.contains(name))
                .flat_map(|(_, allowed)| *allowed)
                .find(|name| !seen.contains(*name))
            {
                seen.insert(next);
            }
            seen
        };
        assert!(reach(&measuring).is_disjoint(&reading));
        assert!(reach(&reading).is_disjoint(&measuring));
    }
}
