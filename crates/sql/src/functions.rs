//! What the functions and tables of each kind of server do, by their names.
//!
//! In: the lists in `functions/`, which say where they come from. Out: what is known of a name. Limits: a name that is in no list is not known.

use crate::reading::Dialect;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The functions of a kind of server.
pub struct Functions {
    harmless: HashSet<&'static str>,
    effects: HashSet<&'static str>,
    prefixes: Vec<&'static str>,
    keywords: HashSet<&'static str>,
    tables: HashSet<&'static str>,
}

static MYSQL: LazyLock<Functions> = LazyLock::new(|| Functions::read(include_str!("functions/mysql.txt")));
static POSTGRES: LazyLock<Functions> = LazyLock::new(|| Functions::read(include_str!("functions/postgres.txt")));

impl Functions {
    /// Those of servers of `dialect`.
    pub fn of(dialect: Dialect) -> &'static Functions {
        if dialect == Dialect::Mysql { &MYSQL } else { &POSTGRES }
    }

    fn read(lists: &'static str) -> Functions {
        let words = |section: &str| {
            let list = lists.split('[').find_map(|list| list.strip_prefix(section)?.strip_prefix(']'));
            let lines = list.expect("each section is there").lines().filter(|line| !line.starts_with('#'));
            lines.flat_map(str::split_whitespace)
        };
        Functions {
            harmless: words("harmless").collect(),
            effects: words("effects").collect(),
            prefixes: words("prefixes").collect(),
            keywords: words("keywords").collect(),
            tables: words("tables").collect(),
        }
    }

    /// Whether the function does something besides its result, which is known.
    pub fn has_effects(&self, name: &str) -> bool {
        self.effects.contains(name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix)) && !self.is_harmless(name)
    }

    /// Whether it is known that the function does nothing besides its result.
    pub fn is_harmless(&self, name: &str) -> bool {
        self.harmless.contains(name)
    }

    /// Whether reading the table `name` changes something.
    pub fn is_table_with_effects(&self, name: &str) -> bool {
        self.tables.contains(name)
    }

    /// Whether a bracket behind the word `name` is no call.
    pub fn is_keyword(&self, name: &str) -> bool {
        self.keywords.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_in_one_list_only() {
        for functions in [&*MYSQL, &*POSTGRES] {
            let twice: Vec<_> = functions.effects.intersection(&functions.harmless).collect();
            assert!(twice.is_empty(), "{twice:?}");
            assert!(functions.harmless.len() > 300 && functions.effects.len() > 10 && functions.keywords.len() > 50);
        }
    }

    #[test]
    fn what_begins_as_something_with_effects_has_them_unless_it_is_known() {
        let postgres = Functions::of(Dialect::Postgres);
        assert!(postgres.has_effects("pg_advisory_xact_lock") && postgres.has_effects("lo_import"));
        assert!(!postgres.has_effects("pg_wal_lsn_diff") && postgres.is_harmless("random"));
        assert!(!postgres.has_effects("lower") && postgres.is_harmless("lower"));
    }
}
