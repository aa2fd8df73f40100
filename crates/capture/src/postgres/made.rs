//! The ids that a server made, as the rows tell that an INSERT returns.
//!
//! In: the description of these rows, and the rows. Out: the name of a column, and its value in each row. Limits: the first column of a table that
//! holds integers or UUIDs; no more than [`IDS_MAX`] rows. Whether the server made its values is for whoever knows the table.
//!
//! Source: `RowDescription` and `DataRow` of PostgreSQL's documentation.

use super::values::{INT2, INT4, INT8, UUID, text_of};
use crate::literal::Cursor;
use crate::statement::MadeIds;

/// More are none that an application goes on with.
const IDS_MAX: usize = 1_000;

/// A column of the rows that an INSERT returns.
#[derive(Clone)]
pub struct IdColumn {
    index: usize,
    name: String,
    oid: u32,
    is_binary: bool,
}

/// Whether `text` inserts and returns rows.
pub fn returns_inserted(text: &[u8]) -> bool {
    const RETURNING: &[u8] = b"returning";
    let begins = text.trim_ascii_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"insert"));
    begins && text.windows(RETURNING.len()).any(|word| word.eq_ignore_ascii_case(RETURNING))
}

impl IdColumn {
    /// The first column of a table, no expression, that holds integers or UUIDs.
    pub fn read(description: &[u8]) -> Option<IdColumn> {
        let mut cursor = Cursor(description);
        let count = u16::from_be_bytes(cursor.array()?);
        for index in 0..count.into() {
            let name = String::from_utf8_lossy(cursor.until_nul()?).into_owned();
            let table = u32::from_be_bytes(cursor.array()?);
            cursor.bytes(2)?;
            let oid = u32::from_be_bytes(cursor.array()?);
            cursor.bytes(6)?;
            let is_binary = u16::from_be_bytes(cursor.array()?) == 1;
            if table != 0 && [INT2, INT4, INT8, UUID].contains(&oid) && !name.contains('\t') {
                return Some(IdColumn { index, name, oid, is_binary });
            }
        }
        None
    }

    /// The same in the format that an execution asks for.
    pub fn in_format(&self, is_binary: impl Fn(usize) -> bool) -> IdColumn {
        IdColumn { is_binary: is_binary(self.index), ..self.clone() }
    }

    fn id_in(&self, row: &[u8]) -> Option<String> {
        let mut cursor = Cursor(row);
        let count = u16::from_be_bytes(cursor.array()?);
        let mut value = None;
        for _ in 0..=self.index.min(count.into()) {
            // NULL has a length below 0.
            let length = i32::from_be_bytes(cursor.array()?);
            value = match usize::try_from(length) {
                Ok(length) => Some(cursor.bytes(length)?),
                Err(_) => None,
            };
        }
        let text = match self.is_binary {
            true => text_of(self.oid, value?).ok()?,
            false => std::str::from_utf8(value?).ok()?.to_owned(),
        };
        let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        (!text.is_empty() && text.bytes().all(is_id)).then_some(text)
    }
}

/// The ids of an answer as it comes.
#[derive(Default)]
pub struct AnswerIds {
    ids: Vec<String>,
    /// Whether a row had none, or there are too many.
    is_broken: bool,
}

impl AnswerIds {
    /// Takes the next row.
    pub fn take(&mut self, column: &IdColumn, row: &[u8]) {
        match column.id_in(row).filter(|_| self.ids.len() < IDS_MAX) {
            Some(id) => self.ids.push(id),
            None => self.is_broken = true,
        }
    }

    /// What was made, if all of it is known.
    pub fn made(self, column: &IdColumn) -> Option<MadeIds> {
        let is_whole = !self.is_broken && !self.ids.is_empty();
        is_whole.then(|| MadeIds { column: column.name.clone(), ids: self.ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of columns: name, table, type, format.
    fn description(columns: &[(&str, u32, u32, u16)]) -> Vec<u8> {
        let mut bytes = (columns.len() as u16).to_be_bytes().to_vec();
        for (name, table, oid, format) in columns {
            bytes.extend([name.as_bytes(), &[0]].concat());
            bytes.extend(table.to_be_bytes());
            bytes.extend([0, 1]);
            bytes.extend(oid.to_be_bytes());
            bytes.extend([0; 6]);
            bytes.extend(format.to_be_bytes());
        }
        bytes
    }

    fn row(values: &[&[u8]]) -> Vec<u8> {
        let mut bytes = (values.len() as u16).to_be_bytes().to_vec();
        for value in values {
            bytes.extend((value.len() as i32).to_be_bytes());
            bytes.extend(*value);
        }
        bytes
    }

    fn made(columns: &[(&str, u32, u32, u16)], rows: &[Vec<u8>]) -> Option<(String, Vec<String>)> {
        let column = IdColumn::read(&description(columns))?;
        let mut ids = AnswerIds::default();
        rows.iter().for_each(|row| ids.take(&column, row));
        ids.made(&column).map(|made| (made.column, made.ids))
    }

    #[test]
    fn the_ids_of_rows_are_read_in_either_format() {
        let text = [row(&[b"x", b"17"]), row(&[b"y", b"18"])];
        let ids = |ids: &[&str]| Some(("id".to_owned(), ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()));
        assert_eq!(made(&[("c", 9, 25, 0), ("id", 9, INT4, 0)], &text), ids(&["17", "18"]));
        assert_eq!(made(&[("id", 9, INT8, 1)], &[row(&[&(-3i64).to_be_bytes()])]), ids(&["-3"]));
        let uuid = made(&[("id", 9, UUID, 1)], &[row(&[&[0xab; 16]])]);
        assert_eq!(uuid, ids(&["abababababababababababababababab"]));
        assert_eq!(made(&[("sum", 0, INT4, 0)], &[row(&[b"1"])]), None, "an expression is no column");
        assert_eq!(made(&[("id", 9, INT4, 0)], &[vec![0, 1, 255, 255, 255, 255]]), None, "NULL is no id");
        let behind_null = [&[0, 2, 255, 255, 255, 255][..], &row(&[b"5"])[2..]].concat();
        assert_eq!(made(&[("c", 9, 25, 0), ("id", 9, INT4, 0)], &[behind_null]), ids(&["5"]));
        assert_eq!(made(&[("id", 9, INT4, 0)], &[]), None);
        assert!(made(&[("id", 9, INT4, 0)], &vec![row(&[b"1"]); IDS_MAX + 1]).is_none());
    }

    #[test]
    fn an_insert_that_returns_rows_is_known_by_its_words() {
        let returns = |text: &str| returns_inserted(text.as_bytes());
        assert!(returns(" INSERT INTO t VALUES (1) Returning id"));
        assert!(!returns("INSERT INTO t VALUES (1)") && !returns("UPDATE t SET a = 1 RETURNING id") && !returns(""));
    }
}
