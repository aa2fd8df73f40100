//! A server says that it has done what it has not: changes that change nothing, reads that find nothing.

use super::hangs::measuring_mix;
use crate::database::{MariaDb, PostgreSql, has_mariadb};
use crate::lab::{Finished, Lab};
use std::process::Child;

/// Long enough that most operations come after the fault.
const SECONDS: &[&str] = &["--time", "3s", "--json"];

/// Checks that the only point is invalid because of what its operations have not done, in these words.
fn found_missing(child: Child, title: &str, evidence: &str) -> Finished {
    let finished: Finished = child.wait_with_output().unwrap().into();
    let run = finished.json();
    let point = &run["points"][0];
    let found = point["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == "work-missing");
    let found = found.unwrap_or_else(|| panic!("{point}"));
    assert_eq!((&found["severity"], &point["validity"]), (&"error".into(), &"invalid".into()), "{point}");
    for (key, words) in [("title", title), ("evidence", evidence)] {
        assert!(found[key].as_str().unwrap().contains(words), "`{words}` is not in the {key}: {found}");
    }
    finished
}

/// A trigger puts back what an UPDATE has changed.
pub fn update_undone_by_mariadb(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let child = measuring_mix(lab, &server.url(), "update_index", SECONDS);
    let schema = server.schemas_left();
    server.ask(&format!(
        "CREATE TRIGGER {0}.undo BEFORE UPDATE ON {0}.sbtest1 FOR EACH ROW SET NEW.k = OLD.k",
        schema.trim()
    ));
    Some(found_missing(child, "of `update_index` returned or changed other rows", "changed 0 rows, must change 1"))
}

/// A trigger takes away the rows of UPDATEs and DELETEs.
pub fn changes_dropped_by_postgres(lab: &Lab) -> Option<Finished> {
    let server = PostgreSql::start()?;
    let child = measuring_mix(lab, &server.url(), "update_non_index", SECONDS);
    let schema = server.schemas_left();
    server.ask("CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
    server.ask(&format!(
        "CREATE TRIGGER undo BEFORE UPDATE OR DELETE ON {}.sbtest1 FOR EACH ROW EXECUTE FUNCTION drop_row()",
        schema.trim()
    ));
    Some(found_missing(child, "of `update_non_index` returned or changed", "changed 0 rows, must change 1"))
}

/// Someone empties the table that is read.
pub fn rows_taken_away(lab: &Lab) -> Option<Finished> {
    if !has_mariadb() {
        return None;
    }
    let server = MariaDb::start(&[]);
    let child = measuring_mix(lab, &server.url(), "point_select", SECONDS);
    server.ask(&format!("DELETE FROM {}.sbtest1", server.schemas_left().trim()));
    Some(found_missing(child, "of `point_select` returned or changed", "returned 0 rows, must return 1"))
}
