//! Files of `/proc` and `/sys` that hold a word or a line.
//!
//! In: a path. Out: its text. Limits: why a file cannot be read is not known here; most of those that are missing belong to another kernel.

use std::path::Path;

/// The text of a file without the white space around it; `None` if it cannot be read or is empty.
pub fn text_of(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
