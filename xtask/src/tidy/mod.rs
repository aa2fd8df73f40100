//! Checks what the compiler does not: the project's own rules.
//!
//! In: the working tree. Out: a list of problems, each with its place and what to do. Limits: rules read the text of files or
//! `cargo metadata`; none of them changes anything.

mod arrows;
mod circles;
mod length;
mod links;
mod names;
mod openings;
mod problem;
mod prose;
mod registration;
mod words;

use crate::workspace::text_files;
use anyhow::{Result, bail};
use problem::{Problem, Tree};
use std::path::Path;

/// One rule of the house.
struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Result<Vec<Problem>>,
}

/// All rules, in the order in which they are checked.
const RULES: &[Rule] = &[
    Rule { name: "arrows", check: arrows::check },
    Rule { name: "circles", check: |tree| Ok(circles::check(&tree.files)) },
    Rule { name: "registration", check: |tree| Ok(registration::check(&tree.files)) },
    Rule { name: "length", check: |tree| length::check(&tree.files) },
    Rule { name: "prose", check: |tree| prose::check(&tree.files) },
    Rule { name: "names", check: |tree| names::check(&tree.files) },
    Rule { name: "words", check: |tree| Ok(words::check(&tree.files)) },
    Rule { name: "links", check: |tree| Ok(links::check(&tree.files, tree.root)) },
    Rule { name: "openings", check: |tree| Ok(openings::check(&tree.files)) },
];

/// Checks every rule and fails where any has found something.
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
