//! What a server has of its own that decides whether a statement of a replay only reads: functions, views, types, operators; and what the
//! account may do that a read-only transaction does not prevent.
//!
//! In: control connections, the questions of a kind of server. Out: [`ServerNames`] for the judge of statements, a warning. Limits: a
//! server that refuses a question is one about whose functions nothing is known, so statements that call them are left out. PostgreSQL's
//! functions are what they are declared to be: one that is declared STABLE and writes is refused by the read-only transaction. An implicit
//! cast names nothing.

use super::admin_connection::{AdminConnection, allowed};
use super::{OpFailure, server_error};
use host::error::TargetError;
use sql::{Effect, Judge, ServerNames};
use std::sync::Arc;

/// What is asked of one kind of server, as SQL.
pub struct CatalogueWords {
    /// Rows of a name, of `harmless`, `suspicious` or `body`, and of the body of the function. Several rows may have one name.
    pub names: &'static [&'static str],
    /// Rows of the name of a view, or of what else is performed when it is named, and of a statement that does the same.
    pub definitions: &'static [&'static str],
    /// Rows of an operator that does more than compute.
    pub operators: &'static [&'static str],
    /// Rows of the name of a right that the account has and does not need.
    pub powers: &'static [&'static str],
    /// The rights that a replay of reads needs.
    pub enough: &'static str,
}

/// What runs if a name is in a statement.
struct Definition {
    name: String,
    text: String,
    is_body: bool,
}

/// The names of the servers, or of the databases of one server, behind `admins`.
pub fn server_names<A: AdminConnection>(
    admins: &mut [&mut A],
    words: &CatalogueWords,
    judge: &Judge,
) -> Result<ServerNames, OpFailure> {
    let (mut names, mut definitions) = (ServerNames::default(), Vec::new());
    for admin in admins {
        let mut rows = |questions: &[&str]| -> Result<Vec<Vec<Option<String>>>, OpFailure> {
            let mut all = Vec::new();
            for question in questions {
                all.extend(allowed(admin.rows_patiently(question))?.unwrap_or_default());
            }
            Ok(all)
        };
        for row in rows(words.names)? {
            take_name(row, &mut names, &mut definitions);
        }
        for row in rows(words.definitions)? {
            let [Some(name), text] = <[Option<String>; 2]>::try_from(row).unwrap_or_default() else { continue };
            definitions.push(Definition { name, text: text.unwrap_or_default(), is_body: false });
        }
        rows(words.operators)?.into_iter().flatten().flatten().for_each(|sign| names.add_operator(&sign));
    }
    Ok(with_definitions(names, definitions, judge))
}

fn take_name(row: Vec<Option<String>>, names: &mut ServerNames, definitions: &mut Vec<Definition>) {
    let [Some(name), Some(kind), body] = <[Option<String>; 3]>::try_from(row).unwrap_or_default() else { return };
    match (kind.as_str(), body) {
        ("harmless", _) => names.add_harmless(&name),
        ("body", Some(text)) => {
            names.add_harmless(&name);
            definitions.push(Definition { name, text, is_body: true });
        }
        _ => names.add_suspicious(&name),
    }
}

/// `names` with those of all definitions that do more than read, by themselves or by what they name.
fn with_definitions(mut names: ServerNames, mut definitions: Vec<Definition>, judge: &Judge) -> ServerNames {
    loop {
        let judge = judge.clone().with_server(Arc::new(names.clone()));
        let (bad, rest): (Vec<Definition>, Vec<Definition>) =
            definitions.into_iter().partition(|definition| does_more(definition, &judge));
        if bad.is_empty() {
            return names;
        }
        definitions = rest;
        bad.iter().for_each(|definition| names.add_suspicious(&definition.name));
    }
}

fn does_more(definition: &Definition, judge: &Judge) -> bool {
    if definition.is_body {
        return judge.cause_in_body(&definition.text).is_some();
    }
    judge.judge(&definition.text).map_or(true, |judgement| judgement.effect != Effect::Reads)
}

/// A warning if the account behind `admin` may do what a read-only transaction does not prevent.
pub fn powers_warning<A: AdminConnection>(
    admin: &mut A,
    server: &str,
    words: &CatalogueWords,
) -> Result<Option<String>, TargetError> {
    let mut powers: Vec<String> = Vec::new();
    for question in words.powers {
        let rows = allowed(admin.query_rows(question)).map_err(|error| server_error(server, error))?;
        powers.extend(rows.unwrap_or_default().into_iter().flatten().flatten());
    }
    Ok((!powers.is_empty()).then(|| powers_text(server, &powers, words.enough)))
}

/// What may happen with `powers`, and what to do.
fn powers_text(server: &str, powers: &[String], enough: &str) -> String {
    format!(
        "{server}: the account has {}: only reads are sent, but if plimsoll takes another statement for a read by mistake, a read-only \
         transaction does not keep it from changing files, settings or other sessions; to be safe, replay with an account that may only \
         read ({enough})",
        powers.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Dialect;

    fn cause(names: ServerNames, definitions: &[(&str, &str, bool)], dialect: Dialect, text: &str) -> Option<String> {
        let definitions = definitions.iter().map(|(name, text, is_body)| Definition {
            name: (*name).to_owned(),
            text: (*text).to_owned(),
            is_body: *is_body,
        });
        let judge = Judge::new(dialect);
        let names = with_definitions(names, definitions.collect(), &judge);
        judge.with_server(Arc::new(names)).judge(text).unwrap().cause
    }

    #[test]
    fn rights_that_are_not_needed_are_told_with_what_may_happen_and_which_are_enough() {
        let told = powers_text("`mysql://b@h/`", &["FILE".to_owned(), "SUPER".to_owned()], "SELECT");
        assert!(
            told.starts_with("`mysql://b@h/`: the account has FILE, SUPER: only reads are sent, but if "),
            "{told}"
        );
        assert!(
            told.ends_with(" replay with an account that may only read (SELECT)") && !told.contains("  "),
            "{told}"
        );
    }

    #[test]
    fn a_view_that_names_a_view_that_writes_is_as_bad_as_that() {
        let views = [
            ("outer", "SELECT * FROM middle", false),
            ("middle", "SELECT nextval('s')", false),
            ("good", "SELECT 1", false),
        ];
        let of = |text| cause(ServerNames::default(), &views, Dialect::Postgres, text);
        assert_eq!(of("SELECT * FROM \"Outer\" LIMIT 1").as_deref(), Some("outer"));
        assert_eq!(of("SELECT * FROM good"), None);
    }

    #[test]
    fn a_stored_function_is_what_its_body_does() {
        let body = |text| {
            let mut names = ServerNames::default();
            take_name(vec![Some("F".into()), Some("body".into()), None], &mut names, &mut Vec::new());
            names = ServerNames::default();
            names.add_harmless("f");
            cause(names, &[("f", text, true)], Dialect::Mysql, "SELECT f(1)")
        };
        for good in [
            "RETURN 1",
            "BEGIN DECLARE a, b INT DEFAULT 0; SET a = 1, b := lower('x,y'); SELECT c INTO a FROM t WHERE id = b; RETURN a; END",
        ] {
            assert_eq!(body(good), None, "{good}");
        }
        for bad in [
            "BEGIN SET GLOBAL x = 1; RETURN 1; END",
            "BEGIN SET tx_read_only = 0; RETURN 1; END",
            "BEGIN DECLARE a INT; SET a = 1, @@session.sql_mode = ''; RETURN 1; END",
            "BEGIN SET @a = 1; RETURN 1; END",
            "BEGIN DECLARE a INT; SELECT 1 INTO OUTFILE '/tmp/x'; RETURN 1; END",
            "BEGIN INSERT INTO t VALUES (1); RETURN 1; END",
            "RETURN GET_LOCK('a', 1)",
            "RETURN other(1)",
            "BEGIN CALL p(); RETURN 1; END",
        ] {
            assert_eq!(body(bad).as_deref(), Some("f"), "{bad}");
        }
    }
}
