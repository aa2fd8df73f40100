//! What is wrong with a plan, in one line: the place, the value, what is allowed, and what was probably meant.
//!
//! In: the parts of the crate that refuse something. Out: a [`PlanError`], whose text is the whole message.
//! Limits: the first error ends the reading; a value is shown with its control characters escaped and at most 60 characters.

use crate::foreign::known_elsewhere;
use std::fmt;

/// Why a plan was refused: `quick.toml:12: ...` or `--clients cannot be ...`, always one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(String);

impl PlanError {
    /// The error `what`, which needs no place.
    pub(crate) fn without_place(what: impl fmt::Display) -> PlanError {
        PlanError(what.to_string())
    }
}

/// Where a key or value was written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// A line of the plan file, from 1.
    Line {
        origin: &'a str,
        line: usize,
    },
    /// The plan file itself.
    File(&'a str),
    /// The flag of this key.
    Flag(&'a str),
    Set,
    /// An argument that is no flag.
    Argument(&'static str),
    /// The default of this key: it was not written.
    Default(&'static str),
}

impl Place<'_> {
    /// The error that `what` is wrong here.
    pub(crate) fn error(self, what: impl fmt::Display) -> PlanError {
        PlanError(format!("{self}: {what}"))
    }

    /// The error that the value of `key` is wrong; `what` continues the sentence. A flag names its key itself.
    pub(crate) fn error_of(self, key: &str, what: impl fmt::Display) -> PlanError {
        match self {
            Place::Flag(_) | Place::Argument(_) => PlanError(format!("{self} {what}")),
            _ => self.error(format_args!("`{key}` {what}")),
        }
    }

    /// The plan file that it is in, if it is in one.
    pub(crate) fn origin(&self) -> Option<&str> {
        match self {
            Place::Line { origin, .. } | Place::File(origin) => Some(origin),
            _ => None,
        }
    }

    /// Whether it is the command line or the environment, and not the plan file.
    pub(crate) fn is_command_line(self) -> bool {
        matches!(self, Place::Flag(_) | Place::Set)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { origin, line } => write!(f, "{}:{line}", printable(origin)),
            Place::File(origin) => f.write_str(&printable(origin)),
            Place::Flag(key) => write!(f, "--{}", shown(&key.replace('_', "-"))),
            Place::Set => f.write_str("--set"),
            Place::Argument(key) => f.write_str(key),
            Place::Default(key) => write!(f, "default of `{key}`"),
        }
    }
}

/// `text` without anything that would break or garble the line, and not too long for it.
pub(crate) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", printable(&text[..end])),
        None => printable(text),
    }
}

/// `text` with its control characters escaped.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The names in backticks, with commas between them.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The one of `names` that `word` was probably meant to be: what another tool calls so, or else a name that is spelt alike.
pub(crate) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Edit distance catches slips of the finger, Jaro-Winkler a right beginning (`client`, `engin`). The bounds are by trial:
    // `sqlit`, `treads` and `zipff` find their word; `cpu` and `postgres` find none among the names of a plan.
    let word: String = word.chars().take(60).collect::<String>().to_lowercase();
    let names: Vec<&'n str> = names.into_iter().collect();
    if let Some(here) = known_elsewhere(&word, &names) {
        return Some(here);
    }
    let edits_max = 1 + word.chars().count() / 5;
    let like: Vec<(f64, &'n str)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&word, name), name))
        .filter(|(likeness, name)| *likeness >= 0.9 || strsim::damerau_levenshtein(&word, name) <= edits_max)
        .collect();
    let (most, nearest) = like.iter().copied().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    // `l.i9` is as near to `l.i0` as to `l.i1`: to name one of them would be a guess.
    let is_alone = like.iter().all(|(likeness, name)| *name == nearest || *likeness < most);
    is_alone.then_some(nearest)
}

/// `; did you mean ...?` if one of `names` is similar to `word`, else nothing.
pub fn hint<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(word, names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word_and_a_strange_word_finds_none() {
        let names = ["sqlite", "fjall", "clients", "depth", "time", "zipf"];
        let found =
            ["sqlit", "fjal", "client", "Depth", "tmie", "zipff", "postgres", "cpu", ""].map(|w| nearest(w, names));
        let expected = [
            Some("sqlite"),
            Some("fjall"),
            Some("clients"),
            Some("depth"),
            Some("time"),
            Some("zipf"),
            None,
            None,
            None,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_word_that_is_as_near_to_several_names_finds_none() {
        assert_eq!(nearest("l.i9", ["l.i0", "l.x", "l.i1", "l.i2"]), None);
        assert_eq!(nearest("l.i0.", ["l.i0", "l.x", "l.i1", "l.i0"]), Some("l.i0"), "one name twice is one name");
    }

    #[test]
    fn a_value_with_line_breaks_and_a_long_one_stay_on_one_short_line() {
        assert_eq!(shown("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
        assert_eq!(shown(&"x".repeat(1_000)), format!("{}...", "x".repeat(60)));
    }
}
