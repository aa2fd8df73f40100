//! Names of tables and columns, as a plan may have them.
//!
//! In: names, perhaps of a stranger's plan. Out: a refusal, or nothing. Limits: letters, digits and underscores only, so that no name can end
//! its quotes in any engine's SQL; upper and lower case are the same name, as they are to most engines.

use model::own_table::{OwnFault, OwnTable};

/// As many bytes as PostgreSQL takes.
pub(super) const NAME_BYTES_MAX: usize = 63;
/// The beginning of the names of tables that plimsoll makes for itself.
const RESERVED: &str = "plimsoll_";

/// Why `name` cannot be one.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let shown: String = name.escape_debug().take(NAME_BYTES_MAX).collect();
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !starts_well || !is_plain || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "the name `{shown}` is not allowed; use at most {NAME_BYTES_MAX} letters, digits and `_`, and no digit first"
        ));
    }
    if name.to_ascii_lowercase().starts_with(RESERVED) {
        return Err(format!(
            "the name `{shown}` is not allowed: `{RESERVED}` is the beginning of plimsoll's own tables"
        ));
    }
    Ok(())
}

/// Refuses names that tables cannot have, and two tables of one name.
pub(super) fn check_tables(tables: &[OwnTable]) -> Result<(), OwnFault> {
    let fault = |nth: usize, text: String| OwnFault { table: Some(nth), column: None, text };
    for (nth, table) in tables.iter().enumerate() {
        check_name(&table.name).map_err(|why| fault(nth, why))?;
    }
    no_name_twice(tables.iter().map(|table| table.name.as_str()))
        .map_err(|(nth, name)| fault(nth, format!("two tables are named `{name}`: rename one")))
}

/// The number of `name` among `names`.
pub(super) fn find_name<'n>(mut names: impl Iterator<Item = &'n str>, name: &str) -> Option<usize> {
    names.position(|other| other.eq_ignore_ascii_case(name))
}

/// The first name that was there before, and its number.
pub(super) fn no_name_twice<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), (usize, &'n str)> {
    let mut seen = std::collections::HashSet::new();
    for (number, name) in names.enumerate() {
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err((number, name));
        }
    }
    Ok(())
}
