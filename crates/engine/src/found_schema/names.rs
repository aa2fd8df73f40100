//! Names of tables and columns of a stranger's database, as a plan may have them.
//!
//! In: names. Out: names of letters, digits and underscores, no two of them equal; or hashes. Limits: each call has a new salt for its hashes, so it
//! cannot be found again by trying names.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

pub(super) struct NameMap {
    hashes: Option<RandomState>,
    kept: HashMap<(NameOf, String), String>,
    taken: HashSet<(NameOf, String)>,
}

/// What a name is the name of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameOf {
    Table,
    /// A column of the table with this name.
    Column(String),
}

const NAME_BYTES_MAX: usize = 58;

impl NameMap {
    pub(super) fn new(hides_names: bool) -> NameMap {
        NameMap { hashes: hides_names.then(RandomState::new), kept: HashMap::new(), taken: HashSet::new() }
    }

    /// The name in place of `name`: the same each time.
    pub(super) fn of(&mut self, what: NameOf, name: &str) -> String {
        if let Some(kept) = self.kept.get(&(what.clone(), name.to_owned())) {
            return kept.clone();
        }
        let base = match &self.hashes {
            Some(hashes) => {
                let first = if what == NameOf::Table { 't' } else { 'c' };
                format!("{first}_{:08x}", hashes.hash_one(name) as u32)
            }
            None => plain_name(name),
        };
        let free = |candidate: &String| !self.taken.contains(&(what.clone(), candidate.to_ascii_lowercase()));
        let numbered = (2..).map(|nth: u32| format!("{base}_{nth}"));
        let new = std::iter::once(base.clone()).chain(numbered).find(free).expect("there are more numbers than names");
        self.taken.insert((what.clone(), new.to_ascii_lowercase()));
        self.kept.insert((what, name.to_owned()), new.clone());
        new
    }
}

/// `name` with underscores for all that is neither letter nor digit.
fn plain_name(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
        .take(NAME_BYTES_MAX)
        .collect();
    if text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if text.to_ascii_lowercase().starts_with("plimsoll_") {
        text.insert(0, '_');
    }
    text.truncate(NAME_BYTES_MAX);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_if_a_plan_may_have_them_and_no_two_become_one() {
        let mut map = NameMap::new(false);
        let names = ["Order", "a b", "a-b", "1st", "x`; DROP TABLE y", "", "plimsoll_marker", "order"];
        let found = names.map(|name| map.of(NameOf::Table, name));
        assert_eq!(found, ["Order", "a_b", "a_b_2", "_1st", "x___DROP_TABLE_y", "_", "_plimsoll_marker", "order_2"]);
        assert_eq!(map.of(NameOf::Table, "a-b"), "a_b_2");
        assert_eq!(map.of(NameOf::Column("t".into()), "a-b"), "a_b");
        assert!(map.of(NameOf::Table, &"x".repeat(500)).len() <= 63);
    }

    #[test]
    fn hashes_do_not_hold_the_name_and_differ_each_time() {
        let (mut one, mut other) = (NameMap::new(true), NameMap::new(true));
        let hashed = one.of(NameOf::Table, "salaries");
        assert!(hashed.starts_with("t_") && hashed.len() == 10 && !hashed.contains("salar"));
        assert_eq!(one.of(NameOf::Table, "salaries"), hashed);
        assert_ne!(other.of(NameOf::Table, "salaries"), hashed);
    }
}
