//! Rows of an INSERT as an array: one prepared INSERT of one row, and the arguments of many executions in one message.
//!
//! In: the text of an INSERT of several rows, and its arguments. Out: the text of one row, and the message. Limits: MariaDB 10.2 and later;
//! all rows have the same types, and a value may be NULL. The server answers as to one statement.
//! <https://mariadb.com/kb/en/com_stmt_bulk_execute/>

use super::binary::{begin_command, put_argument, type_of};
use model::SqlArg;

const COM_STMT_BULK_EXECUTE: u8 = 0xfa;
/// The types of the arguments are in the message.
const WITH_TYPES: u16 = 128;

/// What is before each value.
const GIVEN: u8 = 0;
const NULL: u8 = 1;

/// The same INSERT of one row, and how many arguments that has, if `text` is one of several rows of nothing but arguments.
pub fn of_one_row(text: &str) -> Option<(String, usize)> {
    const WORD: &str = "VALUES";
    let at = text.to_ascii_uppercase().find(WORD)? + WORD.len();
    let (head, rows) = text.split_at(at);
    let rows: String = rows.chars().filter(|letter| !letter.is_whitespace()).collect();
    let row = &rows[..=rows.find(')')?];
    let mut args = row.strip_prefix('(')?.strip_suffix(')')?.split(',');
    let row_args = args.try_fold(0, |count, arg| (arg == "?").then_some(count + 1))?;
    let count = (rows.len() + 1) / (row.len() + 1);
    let is_of_many = count > 1 && rows == vec![row; count].join(",");
    is_of_many.then(|| (format!("{head} {row}"), row_args))
}

/// Puts the execution of prepared statement `id` for all rows of `args`, of which each has `row_args`, into `out`.
pub fn put_execution(out: &mut Vec<u8>, id: u32, row_args: usize, args: &[SqlArg], text: &[u8]) {
    begin_command(out, COM_STMT_BULK_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&WITH_TYPES.to_le_bytes());
    for column in 0..row_args {
        let mut values = args.iter().skip(column).step_by(row_args);
        let typed = values.find(|arg| **arg != SqlArg::Null).unwrap_or(&SqlArg::Null);
        out.extend_from_slice(&[type_of(typed), 0]);
    }
    for arg in args {
        out.push(if *arg == SqlArg::Null { NULL } else { GIVEN });
        put_argument(out, arg, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_of_many_rows_is_prepared_for_one() {
        let text = "INSERT INTO t (a, b) VALUES (?, ?), (?, ?), (?,?)";
        assert_eq!(of_one_row(text), Some(("INSERT INTO t (a, b) VALUES (?,?)".into(), 2)));
        for other in [
            "INSERT INTO t (a, b) VALUES (?, ?)",
            "INSERT INTO t (a) VALUES (?), (1)",
            "INSERT INTO t (a) VALUES (?), (?) ON DUPLICATE KEY UPDATE a = a",
            "INSERT INTO t (a) VALUES (?), (?, ?)",
            "INSERT INTO t (a) VALUES (now()), (now())",
            "INSERT INTO t (a) VALUES (",
            "SELECT a FROM t WHERE a = ?",
        ] {
            assert_eq!(of_one_row(other), None, "{other}");
        }
    }

    #[test]
    fn the_message_has_the_types_once_and_tells_of_each_value_whether_it_is_null() {
        let args = [SqlArg::Null, SqlArg::Text { start: 0, len: 1 }, SqlArg::Int(3), SqlArg::Null];
        let mut out = Vec::new();
        put_execution(&mut out, 7, 2, &args, b"x");
        let head = [0, 0, 0, 0, 0xfa, 7, 0, 0, 0, 128, 0];
        let (int, text) = (type_of(&SqlArg::Int(0)), type_of(&SqlArg::Text { start: 0, len: 0 }));
        assert_eq!(out, [&head[..], &[int, 0, text, 0], &[1, 0, 1, b'x', 0, 3, 0, 0, 0, 0, 0, 0, 0, 1]].concat());
    }
}
