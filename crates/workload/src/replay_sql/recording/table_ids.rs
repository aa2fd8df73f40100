//! Which ids that a server has answered are those of rows that the statement made.
//!
//! In: an INSERT of MySQL or MariaDB with the id and the number of rows in its answer, one after the other. Out: the id of the first row that it made.
//! Limits: ON DUPLICATE KEY UPDATE answers the id of a row that was there if it made none. Its id is that of a new row if it is above all that its
//! table is known to have. Of a table that is not known yet it is one if each row counts once, as new rows do.

use sql::{Dialect, Token};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The highest id that each table is known to have.
#[derive(Default)]
pub(super) struct TableIds {
    highest: HashMap<u64, u64>,
    hasher: RandomState,
}

impl TableIds {
    /// `id` if it is of a row that `text` made, which was split into `tokens`, is in `schema` and changed so many rows.
    pub(super) fn made(
        &mut self,
        schema: &str,
        text: &str,
        tokens: &[Token],
        id: u64,
        affected: Option<u64>,
    ) -> Option<u64> {
        let may_update = tokens.iter().any(|token| token.is_word(text, &["duplicate"]));
        let Some(insert) = sql::insert_into(text, tokens, Dialect::Mysql) else {
            return (!may_update || affected == Some(1)).then_some(id);
        };
        let schema = insert.schema.as_deref().unwrap_or(schema);
        let highest = self.highest.entry(self.hasher.hash_one((schema, &insert.table))).or_default();
        let rows = insert.rows.map(|rows| rows as u64);
        // A new row counts once, one that was changed twice, and one that stayed as it was not at all.
        let are_all_new = affected.is_some() && affected == rows.or(Some(1));
        let may_be_new = affected.is_none_or(|affected| affected > 0 && rows.is_none_or(|rows| affected < 2 * rows));
        let is_above = if *highest == 0 { are_all_new } else { may_be_new && id > *highest };
        if may_update && affected != Some(1) && !is_above {
            return None;
        }
        let last = if may_update && !are_all_new { 1 } else { rows.or(affected).unwrap_or(1).max(1) };
        *highest = (*highest).max(id.saturating_add(last - 1));
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that are kept of these statements, each with the id and the number of rows that the server answered.
    fn kept(statements: &[(&str, u64, u64)]) -> Vec<Option<u64>> {
        let mut ids = TableIds::default();
        let made = statements.iter().map(|(text, id, affected)| {
            ids.made("shop", text, &sql::tokens(text, Dialect::Mysql).unwrap(), *id, Some(*affected))
        });
        made.collect()
    }

    #[test]
    fn several_new_rows_that_might_have_been_updates_keep_their_ids() {
        // As MariaDB 10.11 has answered: the two before have taken ids for nothing.
        let batches = [
            ("insert into y_t(name) values('p'),('q'),('r') on duplicate key update n=1", 5, 3),
            ("insert into y_t(name) values('s'),('t') on duplicate key update n=1", 8, 2),
        ];
        assert_eq!(kept(&batches), [Some(5), Some(8)]);
    }

    #[test]
    fn a_new_row_beside_one_that_was_there_has_an_id_above_those_that_are_known() {
        let mixed = [
            ("insert ignore into w_t(name) values('a'),('c'),('b'),('d')", 3, 2),
            ("insert into w_t(name) values('a'),('e') on duplicate key update n=1", 7, 3),
            ("insert into w_t(name) select 'a' union select 'g' on duplicate key update n=2", 10, 3),
        ];
        assert_eq!(kept(&mixed), [Some(3), Some(7), Some(10)]);
    }

    #[test]
    fn the_id_of_a_row_that_was_there_is_none_that_was_made() {
        let insert = "INSERT INTO t (c) VALUES ('a'), ('b')";
        let updates = |rows: &str| format!("INSERT INTO t (c) VALUES {rows} ON DUPLICATE KEY UPDATE n = n + 1");
        let (one, two) = (updates("('a')"), updates("('a'), ('b')"));
        let (one, two) = (one.as_str(), two.as_str());
        assert_eq!(kept(&[(insert, 5, 2), (one, 6, 2), (two, 6, 4)]), [Some(5), None, None]);
        assert_eq!(kept(&[(one, 6, 2), (two, 6, 4), (two, 6, 0)]), [None; 3], "nothing is known of the table");
        assert_eq!(kept(&[(insert, 5, 2), (two, 9, 4)])[1], None, "both rows were there, whatever the table has");
        let other = "INSERT INTO crm.t (c) VALUES ('a'), ('b') ON DUPLICATE KEY UPDATE n = 1";
        assert_eq!(kept(&[(insert, 5, 2), (other, 2, 2)])[1], Some(2), "it is another table");
    }

    #[test]
    fn what_names_no_table_keeps_its_id() {
        assert_eq!(kept(&[("CALL p()", 7, 1), ("EXECUTE s", 8, 2)]), [Some(7), Some(8)]);
    }
}
