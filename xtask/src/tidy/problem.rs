//! The types that the rules share: the tree that they check, and the problems that they find.
//!
//! In: the working tree. Out: [`Tree`] and [`Problem`]. Limits: this file knows no rule, so that each rule can be read alone.

use crate::workspace::TextFile;
use std::fmt;
use std::path::Path;

/// What a rule may check.
pub(super) struct Tree<'a> {
    pub(super) root: &'a Path,
    pub(super) files: Vec<TextFile>,
}

/// Something that a rule found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The file, with the line if there is one.
    pub(super) place: String,
    /// What is wrong and what to do.
    pub(super) text: String,
}

impl Problem {
    pub(super) fn new(place: impl Into<String>, text: impl Into<String>) -> Problem {
        Problem { place: place.into(), text: text.into() }
    }

    /// A problem in a line of `file`, counted from 1.
    pub(super) fn in_line(file: &TextFile, line: usize, text: impl Into<String>) -> Problem {
        Problem::new(format!("{}:{line}", file.path), text)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// A file of the tree, for the tests of the rules.
#[cfg(test)]
pub(super) fn file(path: &str, text: &str) -> TextFile {
    TextFile::new(path, text)
}
