//! A data set that stays: what it is, wherever its data lies.
//!
//! In: the trial that it was made for. Out: its description, which lies next to the data. Limits: whether the data is still as it was made is
//! looked at where it lies.

use crate::trial::Trial;
use serde::{Deserialize, Serialize};

/// Longer names fit into no name of a schema.
const NAME_MAX: usize = 40;

/// What a data set is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Its name, as [`is_set_name`] has it.
    pub name: String,
    /// The trial that it was made for. What does not shape the data may differ in the trials that use it.
    pub trial: Trial,
    /// The version of the engine that made it, as the engine reports it; empty until it has started.
    pub engine_version: String,
    /// The version of what generators make of a seed.
    pub generator_version: u32,
    /// The version of plimsoll that made it.
    pub plimsoll_version: String,
    /// Rows, counted by the engine; `None` until they are made.
    pub rows: Option<u64>,
    /// Space on disk, logs included; 0 until it is made.
    pub bytes: u64,
    /// How long making it took, indexes included.
    pub seconds: f64,
    /// When that began, in UTC: `2026-11-29 03:05:00`.
    pub made: String,
    /// The command that made it.
    pub command: String,
}

/// A data set as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSet {
    /// The name by which it was found.
    pub name: String,
    /// How far it has come.
    pub state: SetState,
    /// What it is, as far as that can be read.
    pub set: Option<DataSet>,
    /// When a run used it last, in words.
    pub used: Option<String>,
    /// When a run has changed its rows, in words; `None` if every run worked on a copy or has only read.
    pub changed: Option<String>,
}

/// How far a data set has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetState {
    /// Its data is all there.
    Complete,
    /// A plimsoll that was killed has not made all of it.
    Making,
    /// Another plimsoll makes or removes it now.
    InUse,
    /// What describes it is missing or unreadable: one line of text.
    Damaged(String),
}

impl SetState {
    /// The word in lists.
    pub fn as_str(&self) -> &'static str {
        match self {
            SetState::Complete => "complete",
            SetState::Making => "half made",
            SetState::InUse => "in use",
            SetState::Damaged(_) => "damaged",
        }
    }
}

/// Whether a data set may have this name: it becomes the name of a directory or of a schema.
pub fn is_set_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_allowed = |byte: u8| is_letter(byte) || byte == b'_' || byte == b'-';
    name.len() <= NAME_MAX && name.bytes().next().is_some_and(is_letter) && name.bytes().all(is_allowed)
}

/// What a name of a data set may be, for messages.
pub const SET_NAMES: &str =
    "a name of small letters, digits, `_` and `-`, at most 40 of them, that begins with a letter or digit";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_a_directory_and_of_a_schema() {
        assert!(["big", "oltp-20m", "0", "b2_1"].into_iter().all(is_set_name));
        let long = "x".repeat(NAME_MAX + 1);
        assert!(!["", ".", "..", "-x", "_x", "Big", "a/b", "a b", "a'b", "ä", &long].into_iter().any(is_set_name));
    }
}
