//! A schema that one host of a run has made on an existing server, and that the other hosts of the run use.
//!
//! In: what identifies it, as it came from the host that made it; what plimsoll's marker in the schema holds. Out: a refusal unless the
//! marker has the token of this run; what the data is, as the host that made it has sealed it. Limits: the marker is believed, and
//! nothing else. A host that uses a schema of another never drops it.

use crate::server::network::TextRows;
use crate::server::url::is_schema_name;
use host::error::TargetError;
use model::CommonData;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The table that marks a schema as plimsoll's.
pub const MARKER: &str = "plimsoll_marker";

/// The words of the marker's rows besides the one with the schema's name.
const TOKEN: &str = "token";
const SEAL: &str = "seal";

/// The rows of a complete data set, its seed, and what it was made for: in the marker, as text of at most 50 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSeal {
    /// How many rows the tables have.
    pub rows: u64,
    /// The seed of the data.
    pub seed: u64,
    /// A hash of what it was made for.
    pub made_for: u64,
}

impl DataSeal {
    fn to_text(&self) -> String {
        format!("{:x}.{:x}.{:x}", self.rows, self.seed, self.made_for)
    }

    fn from_text(text: &str) -> Option<DataSeal> {
        let mut parts = text.split('.').map(|part| u64::from_str_radix(part, 16).ok());
        let seal = DataSeal { rows: parts.next()??, seed: parts.next()??, made_for: parts.next()?? };
        parts.next().is_none().then_some(seal)
    }
}

/// A token that no other run has: 32 hexadecimal digits.
pub fn new_token() -> String {
    let [one, other] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
    format!("{one:016x}{other:016x}")
}

/// The statement that puts `token` into the marker of the current schema.
pub fn token_statement(token: &str) -> String {
    format!("INSERT INTO {MARKER} VALUES ('{TOKEN}', '{token}')")
}

/// The statements that put `seal` there, in place of an earlier one.
pub fn seal_statements(seal: &DataSeal) -> [String; 2] {
    let text = seal.to_text();
    [
        format!("DELETE FROM {MARKER} WHERE made_by = '{SEAL}'"),
        format!("INSERT INTO {MARKER} VALUES ('{SEAL}', '{text}')"),
    ]
}

/// The query for the marker in the schema that is `quoted` in statements.
pub fn marker_query(quoted: &str) -> String {
    format!("SELECT made_by, name FROM {quoted}.{MARKER}")
}

/// Refuses a name that plimsoll does not give to schemas, unless it is the `database` of the URL.
pub fn check_name(server: &str, common: &CommonData, database: Option<&str>) -> Result<(), TargetError> {
    let is_expected = database.map_or_else(|| is_schema_name(&common.schema), |database| database == common.schema);
    if is_expected {
        return Ok(());
    }
    // The name may be anything that came from another host.
    let name = common.schema.escape_debug().take(80).collect::<String>();
    let expected = database.map_or("a schema of plimsoll's own".to_owned(), |name| format!("database `{name}`"));
    Err(TargetError::Unsafe(format!(
        "{server}: another host named the schema `{name}`, but this one may use {expected} only; give all hosts the same URL"
    )))
}

/// Refuses a schema whose marker, read as `marker`, is not that of `common`: this run has not made it.
pub fn check_marker(server: &str, common: &CommonData, marker: Option<&TextRows>) -> Result<(), TargetError> {
    let has = |made_by: &str, name: &str| {
        let row = [Some(made_by.to_owned()), Some(name.to_owned())];
        marker.is_some_and(|rows| rows.iter().any(|found| found[..] == row))
    };
    let why = match marker {
        None => "it has no marker of plimsoll, or it is not there",
        Some(_) if !has("plimsoll", &common.schema) => "its marker is of another schema",
        Some(_) if !has(TOKEN, &common.token) => "its marker is of another run",
        Some(_) => return Ok(()),
    };
    Err(TargetError::Unsafe(format!(
        "{server}: schema `{}` was not made by this run, and was left as it is: {why}",
        common.schema
    )))
}

/// The seal in a marker; `None` if the data is not complete.
pub fn seal_in(marker: &TextRows) -> Option<DataSeal> {
    marker.iter().find_map(|row| match &row[..] {
        [Some(made_by), Some(text)] if made_by == SEAL => DataSeal::from_text(text),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common() -> CommonData {
        CommonData { schema: "plimsoll_0123456789abcdef".into(), token: "ab".repeat(16) }
    }

    fn rows(all: &[(&str, &str)]) -> TextRows {
        all.iter().map(|(made_by, name)| vec![Some((*made_by).to_owned()), Some((*name).to_owned())]).collect()
    }

    #[test]
    fn only_a_marker_with_the_name_and_the_token_is_of_this_run() {
        let common = common();
        let (own, token) = (("plimsoll", &*common.schema), ("token", &*common.token));
        let check = |marker: Option<TextRows>| check_marker("the server", &common, marker.as_ref());
        check(Some(rows(&[own, token]))).unwrap();
        check(Some(rows(&[token, ("seal", "1.2.3"), own]))).unwrap();
        let other = "cd".repeat(16);
        for (marker, why) in [
            (None, "no marker"),
            (Some(rows(&[])), "of another schema"),
            (Some(rows(&[("plimsoll", "plimsoll_ffffffffffffffff"), token])), "of another schema"),
            (Some(rows(&[own])), "of another run"),
            (Some(rows(&[own, ("token", &other)])), "of another run"),
            (Some(rows(&[own, ("plimsoll", &common.token)])), "of another run"),
        ] {
            let refused = check(marker).unwrap_err();
            assert!(matches!(&refused, TargetError::Unsafe(text) if text.contains(why)), "{refused}");
        }
    }

    #[test]
    fn a_name_from_another_host_is_one_that_plimsoll_gives_or_the_database_of_the_own_url() {
        let named = |schema: &str| CommonData { schema: schema.into(), ..common() };
        check_name("s", &common(), None).unwrap();
        check_name("s", &named("bench"), Some("bench")).unwrap();
        for (schema, database) in [("mysql", None), ("bench", None), ("mysql", Some("bench")), ("a` \n--", None)] {
            let refused = check_name("s", &named(schema), database).unwrap_err().to_string();
            assert!(refused.contains("may use") && !refused.contains('\n'), "{refused}");
        }
        assert!(check_name("s", &common(), Some("bench")).is_err(), "the URL says where");
    }

    #[test]
    fn a_seal_is_read_as_it_was_written_and_a_token_is_never_the_same() {
        let seal = DataSeal { rows: u64::MAX, seed: u64::MAX, made_for: u64::MAX };
        assert!(seal.to_text().len() <= 50);
        assert_eq!(seal_in(&rows(&[("token", "1.2.3"), ("seal", &seal.to_text())])), Some(seal));
        for text in ["", "1.2", "1.2.3.4", "1.2.x"] {
            assert_eq!(seal_in(&rows(&[("seal", text)])), None);
        }
        assert!(new_token().len() == 32 && new_token() != new_token());
    }
}
