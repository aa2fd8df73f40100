//! The floors of a crate: a module takes nothing from a module above it, so that a value goes one way through the house.
//!
//! In: the source files. Out: each path that leads from a lower floor up to a higher one, and modules that are on no floor. The paths are
//! those of [`super::circles`]: re-exports are followed; modules of tests and the bodies of macros are left out.

use super::circles::{file_arrows, modules_of};
use super::problem::Problem;
use crate::workspace::TextFile;

/// A crate and its modules from the ground up; those on one floor may know each other. `lib.rs` only names them.
struct House {
    path: &'static str,
    floors: &'static [&'static [&'static str]],
}

const HOUSES: &[House] = &[House {
    path: "crates/analysis",
    floors: &[
        &["math"],
        &["judgement"],
        &["recorded"],
        &["numbers"],
        &["course"],
        &["computed_phase"],
        &["hosts"],
        &["evidence"],
        &["bottleneck"],
        // A finding about several points has figures of them, and an analysed point has its findings.
        &["findings", "figures", "point", "points"],
        &["verdict"],
        &["analyse"],
        &["run"],
        &["compare"],
        &["answer"],
        &["history"],
    ],
}];

pub(super) fn check_floors(files: &[TextFile]) -> Vec<Problem> {
    HOUSES.iter().flat_map(|house| find_problems(house, files)).collect()
}

fn find_problems(house: &House, files: &[TextFile]) -> Vec<Problem> {
    let floor_of = |file: &str| {
        let inside = file.strip_prefix(house.path)?.strip_prefix("/src/")?;
        let module = inside.split('/').next()?.trim_end_matches(".rs");
        house.floors.iter().position(|floor| floor.contains(&module))
    };
    let modules = modules_of(house.path, files);
    let mut problems = Vec::new();
    for (from, others) in file_arrows(&modules).into_iter().filter(|(from, _)| !from.ends_with("/lib.rs")) {
        let Some(floor) = floor_of(from) else {
            problems.push(Problem::new(from, "is on no floor; xtask/src/tidy/floors.rs lists them from the ground up"));
            continue;
        };
        for to in others.into_iter().filter(|to| floor_of(to).is_some_and(|other| other > floor)) {
            let text =
                format!("takes something from {to}, which is on a higher floor; move what both need further down");
            problems.push(Problem::new(from, text));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    const HOUSE: House = House { path: "crates/a", floors: &[&["ground"], &["upper"]] };

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> =
            files.iter().map(|(path, text)| file(&format!("crates/a/src/{path}"), text)).collect();
        find_problems(&HOUSE, &files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_up_is_a_problem_also_through_a_reexport_and_a_path_down_is_none() {
        let lib = ("lib.rs", "mod ground; mod upper; pub use upper::Item;");
        assert!(problems(&[lib, ("ground.rs", ""), ("upper.rs", "use crate::ground::Other;")]).is_empty());
        let found = problems(&[lib, ("ground.rs", "use crate::Item;"), ("upper.rs", "")]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/a/src/ground.rs: takes something from crates/a/src/upper.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn a_module_that_is_on_no_floor_is_a_problem() {
        let found = problems(&[("lib.rs", "mod ground; mod attic;"), ("ground.rs", ""), ("attic/deep.rs", "")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/src/attic/deep.rs: is on no floor"), "{found:?}");
    }
}
