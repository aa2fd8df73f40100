//! The ids that the recorded server made, of a recording that does not have them: worked out.
//!
//! In: a recording with writes, the columns that counters of the server fill, and the last id that each counter gave before. Out: [`WorkedIds`], which
//! put the ids behind the statements as if the log had them. Limits: counters that count by one. The whole recording is read once more. An id takes 16
//! bytes; of more than [`INSERTS_MAX`] INSERTs none is worked out. A stretch of a recording and its copies have the ids of the whole, and with
//! fewer sessions they may have gaps.

mod inference;
mod matching;

use super::recording::{ReadStatement, RecordedStatement, SqlRecording};
use super::wanted::LogDialect;
use inference::{Inference, Inferred, SaidNumber, WorkedInsert};
use sql::{SaidValue, Token, TokenKind};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;

/// So many INSERTs have 160 MB.
const INSERTS_MAX: usize = 10_000_000;
/// So many numbers of one statement are looked at.
const NUMBERS_MAX: usize = 64;
/// Their numbers have two bytes.
const COLUMNS_MAX: usize = 60_000;
/// Words before a number that is no value of a column.
const BEFORE_OTHERS: [&str; 3] = ["limit", "offset", "interval"];
/// Signs between what is calculated.
const CALCULATED: [&str; 6] = ["+", "-", "*", "/", "%", "||"];

/// A column that a counter of the server fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedColumn {
    /// The schema of its table, or its database (PostgreSQL), on the copy.
    pub schema: String,
    pub table: String,
    pub column: String,
    /// Its place among the columns of its table, from 0.
    pub place: usize,
    /// The counter: several tables may have one.
    pub counter: String,
    /// The last id that it has given.
    pub last: u64,
}

/// What was worked out.
#[derive(Debug)]
pub struct WorkedIds {
    dialect: LogDialect,
    /// The names of the columns, and the last ids before.
    columns: Vec<(String, u64)>,
    inferred: Inferred,
    /// How many INSERTs were counted.
    counted: usize,
}

impl WorkedIds {
    /// Those of `recording`, whose schemas have these names on the copy. `None` if it has ids itself, or makes none that can be known.
    ///
    /// # Errors
    /// If the file that it is kept in cannot be read.
    pub fn of(
        recording: &SqlRecording,
        dialect: LogDialect,
        schemas: &[String],
        columns: &[CountedColumn],
    ) -> io::Result<Option<WorkedIds>> {
        let columns = unambiguous(columns);
        if recording.is_hashed || columns.is_empty() {
            return Ok(None);
        }
        let mut pass = Pass::new(dialect, schemas, &columns);
        let mut text = Vec::new();
        for statement in recording.statements() {
            let statement = statement?;
            let read = recording.read_text(&statement, &mut text)?;
            if read.made_bytes > 0 || read.answer.made_id.is_some_and(|id| id > 0) {
                return Ok(None);
            }
            pass.take(&statement, std::str::from_utf8(&text).map_err(io::Error::other)?);
            if pass.inference.count() > INSERTS_MAX {
                break;
            }
        }
        let counted = pass.inference.count();
        let is_known = counted > 0 && counted <= INSERTS_MAX;
        let inferred = if is_known { pass.inference.finish() } else { Inferred::default() };
        let columns = columns.into_iter().map(|it| (it.column.clone(), it.last)).collect();
        Ok(Some(WorkedIds { dialect, columns, inferred, counted }).filter(|_| counted > 0))
    }

    /// How they were worked out, for people.
    pub fn told(&self) -> String {
        let (said, left) = (self.inferred.said, self.inferred.left);
        if self.counted > INSERTS_MAX {
            return format!("none worked out: there are more than {INSERTS_MAX} INSERTs");
        }
        let mut told = format!("worked out: {said} by what the sessions say later and {left} by the order of the log");
        let unknown = self.counted - said - left;
        if unknown > 0 {
            let _ = write!(told, ", {unknown} not");
        }
        told
    }

    /// Puts the ids of `statement` behind its `text`, or into its answer, as those of a capture are.
    pub(super) fn put(&self, statement: &RecordedStatement, text: &mut Vec<u8>, read: &mut ReadStatement) {
        let inserts = &self.inferred.inserts;
        let Ok(at) = inserts.binary_search_by_key(&statement.text_place(), |insert| insert.text_place) else { return };
        let WorkedInsert { id_after, rows, column, .. } = inserts[at];
        if id_after == 0 {
            return;
        }
        let (name, last) = &self.columns[usize::from(column)];
        let first = last + u64::from(id_after);
        match self.dialect {
            LogDialect::Mysql => read.answer.made_id = Some(first),
            LogDialect::Postgres => {
                let mut made = name.clone();
                for id in first..first + u64::from(rows) {
                    let _ = write!(made, "\t{id}");
                }
                text.extend_from_slice(made.as_bytes());
                read.made_bytes = made.len();
            }
        }
    }
}

/// Those of tables that have one such column, as far as there are numbers for them: which of several is meant is not known.
fn unambiguous(columns: &[CountedColumn]) -> Vec<&CountedColumn> {
    let mut of_tables: BTreeMap<(&str, &str), Vec<&CountedColumn>> = BTreeMap::new();
    for column in columns {
        of_tables.entry((column.schema.as_str(), column.table.as_str())).or_default().push(column);
    }
    let single = of_tables.into_values().filter(|of_table| of_table.len() == 1).flatten();
    single.take(COLUMNS_MAX).collect()
}

/// The columns of one schema.
#[derive(Default)]
struct SchemaColumns {
    columns: Vec<sql::ValueColumn>,
    /// Their numbers among all, and those of their counters.
    numbers: Vec<(u16, usize)>,
}

/// One pass over a recording.
struct Pass<'a> {
    dialect: LogDialect,
    schemas: &'a [String],
    columns: HashMap<&'a str, SchemaColumns>,
    inference: Inference,
}

impl<'a> Pass<'a> {
    fn new(dialect: LogDialect, schemas: &'a [String], columns: &[&'a CountedColumn]) -> Pass<'a> {
        let mut of_schemas: HashMap<&str, SchemaColumns> = HashMap::new();
        let mut counters: HashMap<(&str, &str), usize> = HashMap::new();
        let (mut lasts, mut counter_of) = (Vec::new(), Vec::new());
        for (number, column) in (0..).zip(columns) {
            let counter = *counters.entry((column.schema.as_str(), column.counter.as_str())).or_insert_with(|| {
                lasts.push(column.last);
                lasts.len() - 1
            });
            counter_of.push(counter);
            let of_schema = of_schemas.entry(column.schema.as_str()).or_default();
            let (table, name) = (column.table.clone(), column.column.clone());
            of_schema.columns.push(sql::ValueColumn { schema: None, table, column: name, place: column.place });
            of_schema.numbers.push((number, counter));
        }
        Pass { dialect, schemas, columns: of_schemas, inference: Inference::new(&lasts, counter_of) }
    }

    /// Takes up the next statement.
    fn take(&mut self, statement: &RecordedStatement, text: &str) {
        let dialect = self.dialect.sql();
        let Ok(tokens) = sql::tokens(text, dialect) else { return };
        let insert = sql::insert_into(text, &tokens, dialect);
        let schema: &str = match insert.as_ref().and_then(|insert| insert.schema.as_deref()) {
            // That of PostgreSQL is within its database.
            Some(schema) if self.dialect == LogDialect::Mysql => schema,
            _ => &self.schemas[statement.schema as usize],
        };
        let Some(here) = self.columns.get(schema) else { return };
        let session = statement.session;
        let numbers = numbers_in(text, &tokens);
        let place = insert.as_ref().and_then(|insert| here.place_of(&insert.table, self.dialect));
        let may_be_ids = self.inference.may_be_ids(numbers.iter().map(|(_, number)| *number));
        let said = if place.is_some() || may_be_ids {
            sql::said_values(text, &tokens, dialect, None, &here.columns).values
        } else {
            Vec::new()
        };
        let column = |token: usize| said.iter().find(|it| it.token == token).map(|it| here.numbers[it.column].0);
        let said_numbers = numbers.iter().map(|(token, value)| SaidNumber { value: *value, column: column(*token) });
        self.inference.say(session, &said_numbers.collect::<Vec<_>>());
        let (Some(insert), Some(place)) = (insert, place) else { return };
        // MySQL makes an id in place of a 0.
        let says_id = |it: &SaidValue| it.column == place && tokens[it.token].text(text) != "0";
        if !said.iter().any(says_id) {
            let rows = insert.rows.and_then(|rows| u16::try_from(rows).ok());
            self.inference.insert(session, statement.text_place(), here.numbers[place].0, rows);
        }
    }
}

impl SchemaColumns {
    /// The place of the column of `table`.
    fn place_of(&self, table: &str, dialect: LogDialect) -> Option<usize> {
        let is_same = |column: &sql::ValueColumn| dialect.sql().is_same_name(&column.table, table);
        self.columns.iter().position(is_same)
    }
}

/// The whole numbers that a statement says, each with the number of its token: also those in quotes, and in lists as `'{5,6}'`.
fn numbers_in(text: &str, tokens: &[Token]) -> Vec<(usize, u64)> {
    let mut numbers = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].text(text));
        let behind = tokens.get(at + 1).map_or("", |behind| behind.text(text));
        let written = token.text(text);
        let inside = match token.kind {
            TokenKind::Number => written,
            TokenKind::Text => written.trim_matches(['\'', '"']).trim_start_matches('{').trim_end_matches('}'),
            _ => continue,
        };
        let is_calculated = CALCULATED.iter().any(|sign| [before, behind].contains(sign));
        if is_calculated || BEFORE_OTHERS.iter().any(|other| other.eq_ignore_ascii_case(before)) {
            continue;
        }
        let is_id = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let found = inside.split(',').map(str::trim).filter(is_id).filter_map(|number| number.parse::<u64>().ok());
        numbers.extend(found.map(|number| (at, number)));
        if numbers.len() >= NUMBERS_MAX {
            break;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use crate::replay_sql::recording::{Copies, RecordingBuilder};
    use crate::replay_sql::{LogWanted, RecordedAnswer};
    use model::Nanos;
    use std::sync::Arc;

    fn column(table: &str, last: u64) -> CountedColumn {
        let counter = format!("{table}_seq");
        CountedColumn { schema: "shop".into(), table: table.into(), column: "id".into(), place: 0, counter, last }
    }

    /// A recording of statements a second apart, with their sessions.
    fn recorded(dialect: LogDialect, found: &[(&str, &str)], answer: RecordedAnswer) -> Arc<SqlRecording> {
        let mut builder = RecordingBuilder::new(dialect, &LogWanted { writes: true, ..LogWanted::default() });
        for (nth, (session, text)) in (0..).zip(found) {
            let began_us = nth * 1_000_000;
            let found = FoundStatement { began_us, session, schema: "shop", text, answer, ..FoundStatement::default() };
            builder.add(&found).unwrap();
        }
        Arc::new(builder.finish(false).unwrap())
    }

    fn worked(dialect: LogDialect, recording: &SqlRecording) -> Option<WorkedIds> {
        let columns = [column("orders", 500), column("lines", 500)];
        WorkedIds::of(recording, dialect, &["shop".to_owned()], &columns).unwrap()
    }

    /// What is put behind each statement that gets ids, in the order of `recording`.
    fn put(worked: &WorkedIds, recording: &SqlRecording) -> Vec<String> {
        let made = recording.statements().map(|statement| {
            let (statement, mut text) = (statement.unwrap(), Vec::new());
            let mut read = recording.read_text(&statement, &mut text).unwrap();
            worked.put(&statement, &mut text, &mut read);
            let made = String::from_utf8(text.split_off(text.len() - read.made_bytes)).unwrap();
            read.answer.made_id.filter(|id| *id > 0).map_or(made, |id| id.to_string())
        });
        made.filter(|made| !made.is_empty()).collect()
    }

    const ORDER: &str = "INSERT INTO orders (customer) VALUES (7)";
    const FOUND: [(&str, &str); 8] = [
        ("a", ORDER),
        ("b", ORDER),
        ("a", "INSERT INTO lines (order_id, qty) VALUES ('502', 1), ('502', 510)"),
        ("b", "UPDATE orders SET total = 509 WHERE id = 501"),
        ("a", "UPDATE orders SET total = 5 WHERE id IN (502) LIMIT 504"),
        ("a", "SELECT qty FROM lines WHERE id = 502 + 1"),
        ("b", "INSERT INTO orders (id, customer) VALUES (9, 7)"),
        ("b", ORDER),
    ];

    #[test]
    fn inserts_get_the_ids_that_their_sessions_say() {
        let none = RecordedAnswer::default();
        let recording = recorded(LogDialect::Postgres, &FOUND, none);
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["id\t502", "id\t501", "id\t501\t502", "id\t503"]);
        assert_eq!(ids.told(), "worked out: 2 by what the sessions say later and 2 by the order of the log");
        let recording = recorded(LogDialect::Mysql, &FOUND, none);
        let ids = worked(LogDialect::Mysql, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["502", "501", "501", "503"]);
    }

    #[test]
    fn inserts_of_one_session_before_any_of_its_ids_is_said_have_them_in_their_order() {
        let found = [
            ORDER,
            ORDER,
            "INSERT INTO lines (order_id, item, qty) VALUES (501, 1, 1), (502, 2, 2)",
            "UPDATE orders SET total = 10 WHERE id = 501",
            "UPDATE orders SET total = 20 WHERE id = 502",
            ORDER,
            ORDER,
            "UPDATE orders SET state = 'a' WHERE id = 503",
            "UPDATE orders SET state = 'b' WHERE id = 504",
        ];
        let recording = recorded(LogDialect::Postgres, &found.map(|text| ("a", text)), RecordedAnswer::default());
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["id\t501", "id\t502", "id\t501\t502", "id\t503", "id\t504"]);
        assert!(ids.told().starts_with("worked out: 4 by what the sessions say later and 1 "), "{}", ids.told());
    }

    #[test]
    fn a_number_that_was_said_of_another_column_may_be_an_id() {
        let of = |said: &'static str| {
            let update = "UPDATE orders SET total = 1 WHERE id = 501";
            let found = [("b", said), ("a", ORDER), ("b", ORDER), ("b", update)];
            let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
            put(&worked(LogDialect::Postgres, &recording).unwrap(), &recording)
        };
        assert_eq!(of("SELECT 1 FROM orders WHERE customer = 501"), ["id\t502", "id\t501"]);
        assert_eq!(of("SELECT 1 FROM orders WHERE id = 501"), ["id\t501", "id\t502"]);
    }

    #[test]
    fn copies_have_the_ids_of_the_whole() {
        let recording = recorded(LogDialect::Postgres, &FOUND, RecordedAnswer::default());
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        let copies = Copies { times: 2.0, shift: Nanos(0), length: Nanos(u64::MAX), seed: 1 };
        let two = put(&ids, &recording.copies(&copies).unwrap());
        assert_eq!(two.iter().filter(|made| *made == "id\t502").count(), 2, "{two:?}");
        let part = recording.stretch(Nanos::from_secs(1), None).unwrap();
        assert_eq!(put(&ids, &part), ["id\t501", "id\t501\t502", "id\t503"]);
    }

    #[test]
    fn a_recording_with_ids_or_without_counters_has_none_worked_out() {
        let answer = RecordedAnswer { made_id: Some(502), ..RecordedAnswer::default() };
        assert!(worked(LogDialect::Mysql, &recorded(LogDialect::Mysql, &FOUND, answer)).is_none());
        let reads = [("a", "SELECT 1"), ("a", "INSERT INTO others (a) VALUES (1)")];
        let reads = recorded(LogDialect::Mysql, &reads, RecordedAnswer::default());
        assert!(worked(LogDialect::Mysql, &reads).is_none());
        // Two columns of one table, or of two tables of one name.
        let twice = [column("orders", 500), column("orders", 9)];
        let recording = recorded(LogDialect::Postgres, &FOUND, RecordedAnswer::default());
        let none = WorkedIds::of(&recording, LogDialect::Postgres, &["shop".to_owned()], &twice).unwrap();
        assert!(none.is_none());
    }

    #[test]
    fn an_insert_whose_rows_cannot_be_counted_is_told() {
        let found = [("a", "INSERT INTO orders (customer) SELECT 7"), ("a", ORDER)];
        let recording = recorded(LogDialect::Mysql, &found, RecordedAnswer::default());
        let ids = worked(LogDialect::Mysql, &recording).unwrap();
        assert!(put(&ids, &recording).is_empty());
        assert!(ids.told().ends_with("0 by the order of the log, 2 not"), "{}", ids.told());
    }

    #[test]
    fn numbers_stand_alone_or_in_lists() {
        let numbers = |text: &str| {
            let found = numbers_in(text, &sql::tokens(text, sql::Dialect::Postgres).unwrap());
            found.into_iter().map(|(_, number)| number).collect::<Vec<u64>>()
        };
        assert_eq!(numbers("SELECT 5, '6', 7.5, 'a8', t9 FROM t WHERE id = ANY ('{10, 11}') LIMIT 12"), [5, 6, 10, 11]);
        assert_eq!(
            numbers("UPDATE t SET n = n + 5, m = 8 * m, d = '2026-11-28', p = '0049' WHERE id IN (6,7)"),
            [6, 7]
        );
    }
}
