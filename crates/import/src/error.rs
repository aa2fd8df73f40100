//! What can go wrong with a file that is imported, in one line: the file, the place in it, what was expected.
//!
//! In: errors of the file system, of parsers and of the run file. Out: [`ImportError`]. Limits: values are quoted up to 40 characters,
//! with control characters escaped; those in names of files are escaped where they are printed.

use std::io;
use std::path::{Path, PathBuf};
use store::StoreError;
use thiserror::Error;

/// Why nothing was imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {}; check the file and its permissions", path.display(), model::system_words(cause))]
    Unreadable {
        /// The file that was to be read.
        path: PathBuf,
        /// The error of the file system.
        cause: io::Error,
    },
    /// A line is not what it should be.
    #[error("`{}`, line {line}: {what}", path.display())]
    Line {
        /// The file that has this line.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it, and what was expected.
        what: String,
    },
    /// The file as a whole is not what it should be.
    #[error("`{}`: {what}", path.display())]
    Whole {
        /// The file that is wrong.
        path: PathBuf,
        /// What is wrong with it, and what was expected.
        what: String,
    },
    /// The name of the run cannot be the name of a file.
    #[error(
        "a run cannot have the name `{name}`; use up to 100 letters, digits, `-`, `_` and `.`, beginning with a letter or a digit"
    )]
    Name {
        /// The refused name, shortened to the length that is allowed.
        name: String,
    },
    /// The run file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory of run files cannot be used.
    #[error("cannot write to the directory `{}`: {}; choose another directory with --runs", path.display(), model::system_words(cause))]
    Directory {
        /// The directory that was to hold the run file.
        path: PathBuf,
        /// The error of the file system.
        cause: io::Error,
    },
}

impl ImportError {
    /// What is wrong, without the file and the line.
    pub(crate) fn words(&self) -> String {
        match self {
            ImportError::Line { what, .. } | ImportError::Whole { what, .. } => what.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn unreadable(path: &Path, cause: io::Error) -> ImportError {
        ImportError::Unreadable { path: path.to_owned(), cause }
    }

    pub(crate) fn line(path: &Path, line: u64, what: impl Into<String>) -> ImportError {
        ImportError::Line { path: path.to_owned(), line, what: what.into() }
    }

    pub(crate) fn whole(path: &Path, what: impl Into<String>) -> ImportError {
        ImportError::Whole { path: path.to_owned(), what: what.into() }
    }
}

/// The beginning of `text`, as it is quoted.
pub(crate) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let beginning: String = text
        .chars()
        .take(CHARS_MAX)
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect();
    let rest = if text.chars().nth(CHARS_MAX).is_some() { "..." } else { "" };
    format!("`{beginning}{rest}`")
}
