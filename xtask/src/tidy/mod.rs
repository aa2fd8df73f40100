//! Checks what the compiler does not: the project's own rules.
//!
//! In: the working tree. Out: a list of problems, each with its place and what to do. Limits: rules read the text of files or
//! `cargo metadata`; none of them changes anything.

mod arrows;
mod circles;
mod floors;

mod links;
mod names;
mod openings;
mod privileged;
mod problem;
mod prose;
mod registration;
mod waits;
mod words;

use crate::workspace::text_files;
use anyhow::{Result, bail};
use problem::{Problem, Tree};
use std::path::Path;

/// One rule of the house.
struct TidyRule {
    name: &'static str,
    check: fn(&Tree) -> Result<Vec<Problem>>,
}

/// All rules, in the order in which they are checked.
const RULES: &[TidyRule] = &[
    TidyRule { name: "arrows", check: arrows::check_arrows },
    TidyRule { name: "circles", check: |tree| Ok(circles::check_circles(&tree.files)) },
    TidyRule { name: "floors", check: |tree| Ok(floors::check_floors(&tree.files)) },
    TidyRule { name: "registration", check: |tree| Ok(registration::check_registration(&tree.files)) },
    TidyRule { name: "prose", check: |tree| prose::check_prose(&tree.files) },
    TidyRule { name: "names", check: |tree| names::check_names(&tree.files) },
    TidyRule { name: "words", check: |tree| Ok(words::check_words(&tree.files)) },
    TidyRule { name: "links", check: |tree| Ok(links::check_links(&tree.files, tree.root)) },
    TidyRule { name: "privileged", check: |tree| Ok(privileged::check_privileged(&tree.files)) },
    TidyRule { name: "waits", check: |tree| Ok(waits::check_waits(&tree.files)) },
    TidyRule { name: "openings", check: |tree| Ok(openings::check_openings(&tree.files)) },
];

/// Checks every rule and fails if any finds a problem.
pub fn run(root: &Path) -> Result<()> {
    let tree = Tree { root, files: text_files(root)? };
    let mut found = 0;
    for rule in RULES {
        for problem in (rule.check)(&tree)? {
            found += 1;
            println!("{}: {problem}", rule.name);
        }
    }
    match found {
        0 => Ok(()),
        1 => bail!("tidy found 1 problem"),
        n => bail!("tidy found {n} problems"),
    }
}
