//! What of a log was skipped, by kind: how often, and where first.
//!
//! In: a kind and a line, again and again. Out: the kinds with their counts. Limits: [`KINDS_MAX`] kinds; a log that has more of its own is
//! counted as one for the rest.

use std::collections::BTreeMap;
use std::fmt;

const KINDS_MAX: usize = 60;
const REST: &str = "others";
const NAME_CHARS_MAX: usize = 40;

/// All that was skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped(BTreeMap<String, SkippedKind>);

/// One kind of what was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedKind {
    /// How often it was found.
    pub count: u64,
    /// The number of the line where it was found first, from 1; 0 if there are no lines.
    pub first_line: u64,
}

impl fmt::Display for SkippedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first_line {
            0 => write!(f, "{}", self.count),
            line => write!(f, "{}, first in line {line}", self.count),
        }
    }
}

impl Skipped {
    /// Counts one of `kind`, a few words.
    pub fn add(&mut self, kind: &str, line: u64) {
        self.add_many(kind, 1, line);
    }

    /// Counts `count` of `kind`, a few words, the first of them at `line`, or 0 if there are no lines.
    pub(super) fn add_many(&mut self, kind: &str, count: u64, line: u64) {
        let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let name: String = kind.chars().take(NAME_CHARS_MAX).map(word).collect();
        let is_new = !self.0.contains_key(&name);
        let name = if is_new && self.0.len() >= KINDS_MAX { REST.to_owned() } else { name };
        self.0.entry(name).or_insert(SkippedKind { count: 0, first_line: line }).count += count;
    }

    /// Adds what others have counted.
    pub(super) fn add_all(&mut self, others: &Skipped) {
        for (name, kind) in &others.0 {
            let known = self.0.entry(name.clone()).or_insert(SkippedKind { count: 0, ..*kind });
            known.count += kind.count;
        }
    }

    /// Each kind by its name, which has small letters, digits and `_` only.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, SkippedKind)> {
        self.0.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// How often anything was skipped.
    pub fn total(&self) -> u64 {
        self.0.values().map(|kind| kind.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_plain_names_and_are_not_too_many() {
        let mut skipped = Skipped::default();
        for (kind, line) in [("command Binlog Dump", 7), ("time", 8), ("command Binlog Dump", 9)] {
            skipped.add(kind, line);
        }
        let told: Vec<String> = skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
        assert_eq!(told, ["command_binlog_dump: 2, first in line 7", "time: 1, first in line 8"]);
        (0..1_000).for_each(|nth| skipped.add(&format!("command {nth}"), nth));
        assert_eq!((skipped.kinds().count(), skipped.total()), (KINDS_MAX + 1, 1_003));
    }
}
