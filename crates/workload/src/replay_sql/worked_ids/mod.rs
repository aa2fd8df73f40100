//! The ids that the recorded server made, of a recording that does not have them: worked out.
//!
//! In: a recording with writes, the columns that counters of the server fill, and the last id that each counter gave before. Out: [`WorkedIds`], which
//! put the ids behind the statements as if the log had them. Limits: counters that count by one, of tables into which no trigger inserts. What takes
//! ids within something else (WITH, MERGE, `nextval`, a procedure or function of the copy) makes those behind it unknown, until sessions say them; what
//! sets a counter is followed. Why a statement failed is not known. The whole recording is read once more. An id takes 16 bytes; of more than
//! [`INSERTS_MAX`] INSERTs none is worked out. A stretch of a recording and its copies have the ids of the whole, and with fewer sessions they may have
//! gaps.

mod counters;
mod inference;
mod matching;
mod transactions;

use super::RecordedAnswer;
use super::answer::BEHIND_TABLE;
use super::recording::{ReadStatement, RecordedStatement, SqlRecording};
use super::wanted::LogDialect;
use counters::{Moved, ReadText, SchemaColumns, SchemaPath, Step};
pub use counters::{note_routines, note_triggers};
use inference::{Inference, Inferred, SaidNumber, WorkedInsert};
use model::ReplayCounters;
use sql::{Token, TokenKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io;
use transactions::Transactions;

/// So many INSERTs have 160 MB.
const INSERTS_MAX: usize = 10_000_000;
/// So many numbers of one statement are looked at.
const NUMBERS_MAX: usize = 64;
/// Their numbers have two bytes.
const COLUMNS_MAX: usize = 60_000;
/// So many counters are told.
const COUNTERS_MAX: usize = 100;
/// So many tables are named.
const TABLES_SHOWN: usize = 5;
/// Words before a number that is no value of a column.
const BEFORE_OTHERS: [&str; 3] = ["limit", "offset", "interval"];
/// Words in an INSERT that may meet a row which is there.
const FINDING: [&str; 3] = ["duplicate", "conflict", "replace"];
/// Signs between what is calculated.
const CALCULATED: [&str; 6] = ["+", "-", "*", "/", "%", "||"];

/// A column that a counter of the server fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedColumn {
    /// The schema of its table, or its database (PostgreSQL), on the copy.
    pub schema: String,
    /// The schema of its table within that (PostgreSQL); empty if there is none.
    pub namespace: String,
    /// Whether a connection finds it without its schema.
    pub is_visible: bool,
    pub table: String,
    pub column: String,
    /// Its place among the columns of its table, from 0.
    pub place: usize,
    /// The counter: several tables may have one.
    pub counter: String,
    /// The last id that it has given.
    pub last: u64,
    /// The first one if it begins again.
    pub start: u64,
    /// The procedures and functions that insert into its table, in small letters.
    pub routines: Vec<String>,
    pub filled_by: FilledBy,
}

/// What inserts into a table with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilledBy {
    Statements,
    /// Triggers as well: the log does not have which ids they take.
    Triggers,
}

/// What was worked out.
#[derive(Debug)]
pub struct WorkedIds {
    dialect: LogDialect,
    /// The names of the columns, and the last ids before, by the numberings.
    columns: Vec<(String, u64)>,
    inferred: Inferred,
    /// The columns that the log's INSERTs fill, and the last ids before it.
    lasts: Vec<(String, u64)>,
    /// How many INSERTs were counted.
    counted: usize,
    /// The tables of the log into which triggers insert.
    triggered: BTreeSet<String>,
    /// Those of whose ids no session says one.
    unsaid: BTreeSet<String>,
    /// Those whose schema is not known somewhere.
    unsure: BTreeSet<String>,
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
            pass.take(&statement, std::str::from_utf8(&text).map_err(io::Error::other)?, &read.answer);
            if pass.inference.count() > INSERTS_MAX {
                break;
            }
        }
        let counted = pass.inference.count();
        let is_known = counted > 0 && counted <= INSERTS_MAX;
        let (triggered, unsure) = (pass.triggered, pass.unsure);
        let named = |number: &u16| {
            let column = columns[usize::from(*number)];
            (format!("{}.{}", column.table, column.column), column.last)
        };
        let lasts = pass.filled.iter().take(COUNTERS_MAX).map(named).collect();
        let inferred = if is_known { pass.inference.finish() } else { Inferred::default() };
        let table = |number: &u16| columns[usize::from(*number)].table.clone();
        let unsaid = inferred.unsaid.iter().map(table).collect();
        let named = |(column, last): &(u16, u64)| (made_name(columns[usize::from(*column)]), *last);
        let columns = inferred.numberings.iter().map(named).collect();
        let is_told = counted > 0 || !triggered.is_empty();
        Ok(Some(WorkedIds { dialect, columns, inferred, lasts, counted, triggered, unsaid, unsure })
            .filter(|_| is_told))
    }

    /// How they were worked out, for people.
    pub fn told(&self) -> String {
        let (said, left) = (self.inferred.said, self.inferred.left);
        if self.counted > INSERTS_MAX {
            return format!("none worked out: there are more than {INSERTS_MAX} INSERTs");
        }
        let mut told = format!("worked out: {said} by what the sessions say later and {left} by the order of the log");
        let unknown = self.counted - self.inferred.failed - said - left;
        if unknown > 0 {
            let _ = write!(told, ", {unknown} not");
        }
        if !self.triggered.is_empty() {
            let _ = write!(told, "; none of {}, into which triggers insert", listed(&self.triggered));
        }
        if !self.unsaid.is_empty() {
            let _ = write!(told, "; none of {}, whose ids no session says", listed(&self.unsaid));
        }
        if !self.unsure.is_empty() {
            let tables = listed(&self.unsure);
            let _ = write!(
                told,
                "; none of {tables} where several schemas have a table of that name and the search path is not known"
            );
        }
        told
    }

    /// The last ids that the counters of the log's INSERTs had given before it.
    pub fn counters(&self) -> ReplayCounters {
        ReplayCounters { lasts: self.lasts.clone(), behind: self.inferred.behind }
    }

    /// Puts the ids of `statement` behind its `text`, or into its answer, as those of a capture are.
    pub(super) fn put(&self, statement: &RecordedStatement, text: &mut Vec<u8>, read: &mut ReadStatement) {
        let inserts = &self.inferred.inserts;
        let Ok(at) = inserts.binary_search_by_key(&statement.text_place(), |insert| insert.text_place) else { return };
        let WorkedInsert { id_after, rows, numbering, .. } = inserts[at];
        let (name, last) = &self.columns[usize::from(numbering)];
        let first = last + u64::from(id_after);
        match self.dialect {
            LogDialect::Mysql => (read.answer.made_id, read.answer.is_worked_out) = (Some(first), true),
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

/// The column of ids, with its table if a connection of plimsoll finds another one by that name, or none.
fn made_name(counted: &CountedColumn) -> String {
    let CountedColumn { namespace, is_visible, table, column, .. } = counted;
    if *is_visible || namespace.is_empty() {
        return column.clone();
    }
    format!("{namespace}.{table}{BEHIND_TABLE}{column}")
}

/// The first ones of these tables.
fn listed(tables: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = tables.iter().take(TABLES_SHOWN).map(String::as_str).collect();
    let rest = tables.len() - shown.len();
    shown.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}

/// Those of tables that have one such column, as far as there are numbers for them: which of several is meant is not known.
fn unambiguous(columns: &[CountedColumn]) -> Vec<&CountedColumn> {
    let mut of_tables: BTreeMap<(&str, &str, &str), Vec<&CountedColumn>> = BTreeMap::new();
    for column in columns {
        let table = (column.schema.as_str(), column.namespace.as_str(), column.table.as_str());
        of_tables.entry(table).or_default().push(column);
    }
    let single = of_tables.into_values().filter(|of_table| of_table.len() == 1).flatten();
    single.take(COLUMNS_MAX).collect()
}

/// One pass over a recording.
struct Pass<'a> {
    dialect: LogDialect,
    schemas: &'a [String],
    columns: HashMap<&'a str, SchemaColumns<'a>>,
    inference: Inference,
    /// The tables into which statements insert, and triggers too.
    triggered: BTreeSet<String>,
    /// The tables of INSERTs of which it is not known in which of several schemas they are.
    unsure: BTreeSet<String>,
    /// Where sessions look for tables, if that counts.
    paths: HashMap<u32, sql::SearchPath>,
    transactions: Transactions,
    /// The numbers of the columns that INSERTs fill.
    filled: BTreeSet<u16>,
}

impl<'a> Pass<'a> {
    fn new(dialect: LogDialect, schemas: &'a [String], columns: &[&'a CountedColumn]) -> Pass<'a> {
        let mut of_schemas: HashMap<&str, SchemaColumns<'_>> = HashMap::new();
        let mut counters: HashMap<(&str, &str), usize> = HashMap::new();
        let (mut lasts, mut counter_of) = (Vec::new(), Vec::new());
        for (number, column) in (0..).zip(columns.iter().copied()) {
            let counter = *counters.entry((column.schema.as_str(), column.counter.as_str())).or_insert_with(|| {
                lasts.push(column.last);
                lasts.len() - 1
            });
            counter_of.push(counter);
            of_schemas.entry(column.schema.as_str()).or_default().add(number, column);
        }
        of_schemas.values_mut().for_each(SchemaColumns::find_usual);
        let inference = Inference::new(&lasts, counter_of);
        Pass {
            dialect,
            schemas,
            columns: of_schemas,
            inference,
            triggered: BTreeSet::new(),
            unsure: BTreeSet::new(),
            paths: HashMap::new(),
            transactions: Transactions::default(),
            filled: BTreeSet::new(),
        }
    }

    /// Takes up the next statement.
    fn take(&mut self, statement: &RecordedStatement, text: &str, answer: &RecordedAnswer) {
        let dialect = self.dialect.sql();
        let Ok(tokens) = sql::tokens(text, dialect) else { return };
        let fate = self.follow_transaction(statement.session, text, &tokens, answer);
        let insert = sql::insert_into(text, &tokens, dialect);
        let schema: &str = match insert.as_ref().and_then(|insert| insert.schema.as_deref()) {
            // That of PostgreSQL is within its database.
            Some(schema) if self.dialect == LogDialect::Mysql => schema,
            _ => &self.schemas[statement.schema as usize],
        };
        let Some(here) = self.columns.get(schema) else { return };
        let session = statement.session;
        let numbers = numbers_in(text, &tokens);
        let usual = here.usual.map(|name| [name.to_owned()]);
        let path = usual.as_ref().map(|_| self.paths.entry(session).or_default());
        let set = path.and_then(|path| {
            if answer.failed == Some(true) {
                path.follow_failed()
            } else {
                path.follow(text, &tokens)
            }
            path.schemas()
        });
        let path = set.map_or(SchemaPath::Usual, SchemaPath::These);
        let places_of = |it: &sql::InsertInto| here.places_of(it.schema.as_deref(), &it.table, path, self.dialect);
        let places = insert.as_ref().map(places_of).unwrap_or_default();
        let may_be_ids = self.inference.may_be_ids(session, numbers.iter().map(|(_, number)| *number));
        let said = if !places.is_empty() || may_be_ids {
            let schemas = set.or_else(|| usual.as_ref().map(|names| &names[..]));
            sql::said_values(text, &tokens, dialect, schemas, &here.columns).values
        } else {
            Vec::new()
        };
        let column = |token: usize| said.iter().find(|it| it.token == token).map(|it| here.numbers[it.column]);
        let said_numbers = numbers.iter().map(|(token, value)| SaidNumber { value: *value, column: column(*token) });
        // What finds its rows by their ids says ids that were made before.
        let gives = insert.as_ref().is_some_and(|insert| insert.rows.is_some())
            && !tokens.iter().any(|token| token.is_word(text, &FINDING));
        let is_given =
            |number: &SaidNumber| gives && places.iter().any(|place| number.column == Some(here.numbers[*place]));
        let (given, others): (Vec<_>, Vec<_>) = said_numbers.partition(is_given);
        self.inference.say(session, &others);
        self.inference.give(session, &given);
        let read = ReadText { dialect: self.dialect, text, tokens: &tokens, said: &said, path };
        self.triggered.extend(places.iter().filter_map(|place| here.triggered(*place)).map(str::to_owned));
        self.unsure.extend(insert.as_ref().filter(|_| places.len() > 1).map(|insert| insert.table.clone()));
        self.filled.extend(places.iter().map(|place| here.numbers[*place]));
        for Moved { place, step } in here.steps(read, insert.as_ref(), &places) {
            let moved = (here.numbers[place], step);
            match fate {
                Fate::Done => count_step(&mut self.inference, &mut self.transactions, statement, moved),
                Fate::Failed => count_failed(&mut self.inference, statement, moved),
                Fate::Refused => {}
            }
        }
    }

    /// Counters go on where they were if a statement rolls back what began them again.
    fn follow_transaction(&mut self, session: u32, text: &str, tokens: &[Token], answer: &RecordedAnswer) -> Fate {
        let has_failed = answer.failed == Some(true);
        let was_aborted = self.transactions.is_aborted(session);
        // Elsewhere what begins them again commits by itself, and no failure aborts a transaction.
        if self.dialect == LogDialect::Postgres {
            let back = self.transactions.follow(session, text, tokens, has_failed);
            back.into_iter().for_each(|replaced| self.inference.bring_back(replaced));
        }
        let takes_no_ids = || tokens.first().is_some_and(|first| first.is_word(text, &["truncate", "alter"]));
        if !has_failed {
            Fate::Done
        } else if was_aborted || takes_no_ids() {
            Fate::Refused
        } else {
            Fate::Failed
        }
    }
}

/// What became of a statement.
#[derive(Clone, Copy)]
enum Fate {
    Done,
    /// It may have taken ids before it failed.
    Failed,
    /// It failed and took none.
    Refused,
}

/// What a statement that failed does to the counter of column `number`: what it would have set is not set.
fn count_failed(inference: &mut Inference, statement: &RecordedStatement, (number, step): (u16, Step)) {
    match step {
        Step::Takes(Some(rows)) if rows > 0 => inference.fail_insert(statement.text_place(), number, rows),
        Step::Takes(_) => inference.insert(statement.session, statement.text_place(), number, None),
        Step::Sets(_) | Step::Restarts(_) | Step::SetsAbove(_) | Step::Raises(_) => {}
    }
}

/// The counter of column `number` does what `statement` has it do.
fn count_step(
    inference: &mut Inference,
    transactions: &mut Transactions,
    statement: &RecordedStatement,
    (number, step): (u16, Step),
) {
    let session = statement.session;
    if let Step::Restarts(last) = step
        && transactions.is_open(session)
        && let Some(replaced) = inference.replace_counter(number, last)
    {
        transactions.note(session, replaced);
        return;
    }
    let is_above = |last: u64| last > inference.last_of(number);
    let last = match step {
        Step::Sets(last) | Step::Restarts(last) => Some(last),
        Step::SetsAbove(last) | Step::Raises(last) if is_above(last) => Some(last),
        Step::Raises(_) => return,
        Step::Takes(_) | Step::SetsAbove(_) => None,
    };
    let rows = if let Step::Takes(rows) = step { rows } else { None };
    if !last.is_some_and(|last| inference.set_counter(number, last)) {
        inference.insert(session, statement.text_place(), number, rows);
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
    use crate::replay_sql::LogWanted;
    use crate::replay_sql::log_taker::{FoundStatement, LogTaker};
    use crate::replay_sql::recording::{Copies, RecordingBuilder};
    use model::Nanos;
    use std::sync::Arc;

    fn column(table: &str, last: u64) -> CountedColumn {
        let counter = format!("{table}_seq");
        let (schema, table, column) = ("shop".to_owned(), table.to_owned(), "id".to_owned());
        let (filled_by, routines) = (FilledBy::Statements, Vec::new());
        let (namespace, is_visible, place, start) = (String::new(), true, 0, 1);
        CountedColumn { schema, namespace, is_visible, table, column, place, counter, last, start, routines, filled_by }
    }

    /// A recording of statements a second apart, with their sessions. Those with a `!` before them failed.
    fn recorded(dialect: LogDialect, found: &[(&str, &str)], answer: RecordedAnswer) -> Arc<SqlRecording> {
        let mut builder = RecordingBuilder::new(dialect, &LogWanted { writes: true, ..LogWanted::default() });
        for (nth, (session, text)) in (0..).zip(found) {
            let began_us = nth * 1_000_000;
            let (text, answer) = match text.strip_prefix('!') {
                Some(text) => (text, RecordedAnswer { failed: Some(true), ..answer }),
                None => (*text, answer),
            };
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
            assert_eq!(read.answer.is_worked_out, read.answer.made_id.is_some_and(|id| id > 0));
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
        assert_eq!(put(&ids, &recording), ["id\t502", "id\t501", "id\t503"]);
        let told = "worked out: 2 by what the sessions say later and 1 by the order of the log, 1 not; none of lines, whose ids no session says";
        assert_eq!(ids.told(), told);
        assert_eq!(ids.counters().to_string(), "lines.id 500, orders.id 500");
        let recording = recorded(LogDialect::Mysql, &FOUND, none);
        let ids = worked(LogDialect::Mysql, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["502", "501", "503"]);
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
        assert_eq!(put(&ids, &recording), ["id\t501", "id\t502", "id\t503", "id\t504"]);
        assert!(ids.told().starts_with("worked out: 4 by what the sessions say later and 0 "), "{}", ids.told());
    }

    #[test]
    fn a_copy_that_has_the_rows_of_the_log_is_noticed() {
        let orders =
            (0..20).flat_map(|nth| [ORDER.to_owned(), format!("UPDATE orders SET total = 1 WHERE id = {}", 101 + nth)]);
        let orders: Vec<String> = orders.collect();
        let found: Vec<(&str, &str)> = orders.iter().map(|text| ("a", text.as_str())).collect();
        let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
        let counters = worked(LogDialect::Postgres, &recording).unwrap().counters();
        assert_eq!(counters, ReplayCounters { lasts: vec![("orders.id".to_owned(), 500)], behind: 400 });
    }

    #[test]
    fn a_table_into_which_triggers_insert_gets_no_ids() {
        let mut columns = [column("orders", 500), column("lines", 500), column("quiet", 500)];
        columns.iter_mut().skip(1).for_each(|column| column.filled_by = FilledBy::Triggers);
        let lines = "INSERT INTO lines (order_id, qty) VALUES (501, 1)";
        let found = [("a", ORDER), ("a", lines), ("a", "UPDATE lines SET qty = 2 WHERE id = 502"), ("a", ORDER)];
        let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
        let of = WorkedIds::of(&recording, LogDialect::Postgres, &["shop".to_owned()], &columns);
        let ids = of.unwrap().unwrap();
        assert_eq!(put(&ids, &recording), ["id\t501", "id\t502"]);
        let told = "worked out: 1 by what the sessions say later and 1 by the order of the log; none of lines, into which triggers insert";
        assert_eq!(ids.told(), told);
    }

    #[test]
    fn ids_are_not_known_behind_what_takes_an_unknown_number_of_them() {
        let merge = "MERGE INTO orders USING (VALUES (5)) n(i) ON orders.id = n.i WHEN NOT MATCHED THEN INSERT (total) VALUES (1)";
        let with = "WITH x AS (INSERT INTO orders (customer) VALUES (1) RETURNING id) SELECT id FROM x";
        let own = "INSERT INTO orders (id, customer) VALUES (nextval('orders_seq'), 1)";
        for (between, expected) in [
            (merge, &["id\t501", "id\t504"][..]),
            (with, &["id\t501", "id\t504"]),
            ("SELECT nextval('orders_seq')", &["id\t501", "id\t504"]),
            (own, &["id\t501", "id\t502", "id\t503", "id\t504"]),
        ] {
            let found =
                [ORDER, between, ORDER, ORDER, "UPDATE orders SET total = 1 WHERE id = 504"].map(|text| ("a", text));
            let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
            let ids = worked(LogDialect::Postgres, &recording).unwrap();
            assert_eq!(put(&ids, &recording), expected, "{between}");
        }
    }

    #[test]
    fn ids_are_not_known_behind_a_procedure_that_inserts() {
        let mut columns = [column("orders", 500), column("lines", 500)];
        let body = Some("BEGIN INSERT INTO orders (customer) VALUES (p); END".to_owned());
        note_routines(&mut columns, LogDialect::Mysql, &[("add_order".to_owned(), body)]);
        let update = |id: u64| format!("UPDATE orders SET total = 1 WHERE id = {id}");
        let [first, later] = [501, 504].map(update);
        let found =
            [ORDER, first.as_str(), "CALL add_order(7)", ORDER, ORDER, later.as_str(), ORDER].map(|text| ("a", text));
        let recording = recorded(LogDialect::Mysql, &found, RecordedAnswer::default());
        let ids = WorkedIds::of(&recording, LogDialect::Mysql, &["shop".to_owned()], &columns).unwrap().unwrap();
        assert_eq!(put(&ids, &recording), ["501", "504", "505"]);
    }

    #[test]
    fn ids_are_not_known_behind_a_function_or_a_block_that_inserts() {
        let mut columns = [column("orders", 500), column("lines", 500)];
        let body = Some("BEGIN INSERT INTO orders (customer) VALUES (p); RETURN 1; END".to_owned());
        note_routines(&mut columns, LogDialect::Postgres, &[("mk".to_owned(), body)]);
        let block = "DO $$ BEGIN FOR i IN 1..5 LOOP INSERT INTO orders (customer) VALUES (100 + i); END LOOP; END $$";
        for (between, id) in [("SELECT mk(1)", 504), (block, 509)] {
            let said = "SELECT 1 FROM orders WHERE id = 501";
            let update = format!("UPDATE orders SET total = 1 WHERE id = {id}");
            let found = [said, ORDER, between, ORDER, ORDER, update.as_str(), ORDER].map(|text| ("a", text));
            let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
            let of = WorkedIds::of(&recording, LogDialect::Postgres, &["shop".to_owned()], &columns);
            let expected = [501, id, id + 1].map(|id| format!("id\t{id}"));
            assert_eq!(put(&of.unwrap().unwrap(), &recording), expected, "{between}");
        }
    }

    #[test]
    fn an_id_that_an_insert_says_of_its_own_row_is_of_no_insert_before() {
        let rows = "INSERT INTO orders (customer) VALUES (5), (6), (7)";
        let said = "UPDATE orders SET total = 1 WHERE id = 504";
        let found = [rows, "INSERT INTO orders (id, customer) VALUES (510, 1)", ORDER, said];
        assert_eq!(put_of(&found), ["id\t501\t502\t503", "id\t504"]);
        let [first, second] =
            ["UPDATE orders SET total = 1 WHERE id = 501", "UPDATE orders SET total = 1 WHERE id = 502"];
        let own = |id: u64| format!("INSERT INTO orders (id, customer) VALUES ({id}, 9)");
        let [third, twelfth] = [503, 512].map(own);
        // The server gave 503, too, which failed.
        let failed = format!("!{ORDER}");
        let found = [ORDER, first, third.as_str(), ORDER, second, failed.as_str(), twelfth.as_str()];
        assert_eq!(put_of(&found), ["id\t501", "id\t502"]);
    }

    #[test]
    fn a_table_is_that_of_the_schema_that_is_written_or_of_the_search_path() {
        let of = |namespace: &str, last: u64| {
            let (namespace, is_visible, counter) =
                (namespace.to_owned(), namespace == "public", format!("{namespace}.orders_seq"));
            CountedColumn { namespace, is_visible, counter, ..column("orders", last) }
        };
        let columns = [of("s2", 90), of("public", 500)];
        let said = ["SELECT 1 FROM public.orders WHERE id = 501", "SELECT 1 FROM s2.orders WHERE id = 91"];
        let made = |found: &[(&str, &str)]| {
            let found = [&said.map(|text| ("z", text))[..], found].concat();
            let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
            let ids = WorkedIds::of(&recording, LogDialect::Postgres, &["shop".to_owned()], &columns).unwrap().unwrap();
            (put(&ids, &recording), ids.told())
        };
        let (in_s2, update) =
            ("INSERT INTO s2.orders (customer) VALUES (7)", "UPDATE s2.orders SET total = 1 WHERE id = 92");
        let (ids, told) = made(&[("a", ORDER), ("a", in_s2), ("b", in_s2), ("a", update), ("b", ORDER)]);
        assert_eq!(ids, ["id\t501", "s2.orders\u{1f}id\t92", "s2.orders\u{1f}id\t91", "id\t502"]);
        assert!(told.ends_with("3 by the order of the log"), "{told}");
        let (ids, _) = made(&[("a", "SET search_path = \"$user\", public"), ("a", ORDER)]);
        assert_eq!(ids, ["id\t501"]);
        let (ids, _) = made(&[("a", "SET search_path TO s2, public"), ("b", ORDER), ("a", ORDER), ("b", ORDER)]);
        assert_eq!(ids, ["id\t501", "s2.orders\u{1f}id\t91", "id\t502"]);
        // Nobody finds one without its schema.
        let columns = [of("s2", 90), of("s3", 500)];
        let recording = recorded(LogDialect::Postgres, &[("a", ORDER), ("a", in_s2)], RecordedAnswer::default());
        let ids = WorkedIds::of(&recording, LogDialect::Postgres, &["shop".to_owned()], &columns).unwrap().unwrap();
        assert!(put(&ids, &recording).is_empty(), "it may have been that table");
        let told = "; none of orders where several schemas have a table of that name and the search path is not known";
        assert!(ids.told().ends_with(told), "{}", ids.told());
    }

    #[test]
    fn ids_go_on_where_a_statement_sets_their_counter() {
        for (set, expected) in [
            ("SELECT setval('orders_seq', 3000)", ["id\t501", "id\t3001", "id\t3003"]),
            ("TRUNCATE orders RESTART IDENTITY", ["id\t501", "id\t1", "id\t3"]),
        ] {
            let of_lines = "INSERT INTO lines (order_id, qty) SELECT 1, 2";
            let own = "INSERT INTO orders (id, customer) VALUES (nextval('orders_seq'), 1)";
            let said = "SELECT 1 FROM orders WHERE id = 501";
            let found = [said, ORDER, set, of_lines, ORDER, own, ORDER].map(|text| ("a", text));
            let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
            let made = put(&worked(LogDialect::Postgres, &recording).unwrap(), &recording);
            assert_eq!([&made[0], &made[1], &made[3]], expected, "{set}");
        }
    }

    /// The ids that INSERTs of PostgreSQL get in one session.
    fn put_of(found: &[&str]) -> Vec<String> {
        let found: Vec<(&str, &str)> = found.iter().map(|text| ("a", *text)).collect();
        let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
        put(&worked(LogDialect::Postgres, &recording).unwrap(), &recording)
    }

    #[test]
    fn what_failed_sets_no_counter() {
        let [first, third] = [501, 503].map(|id| format!("UPDATE orders SET total = 1 WHERE id = {id}"));
        let [first, third] = [first.as_str(), third.as_str()];
        let behind = [ORDER, first, ORDER, ORDER, third];
        for failed in [
            &["!TRUNCATE orders RESTART IDENTITY"][..],
            &["!TRUNCATE orders RESTART IDENTITY CASCADE"],
            &["!ALTER SEQUENCE orders_seq RESTART WITH 9000"],
            &["BEGIN", "!SELECT 1 / 0", "!SELECT setval('orders_seq', 50000)", "ROLLBACK"],
            &["BEGIN", "!SELECT 1 / 0", "!SELECT nextval('orders_seq')", "ROLLBACK"],
        ] {
            assert_eq!(put_of(&[failed, &behind].concat()), ["id\t501", "id\t502", "id\t503"], "{failed:?}");
        }
        let found =
            ["!ALTER TABLE orders AUTO_INCREMENT = 9000", "!INSERT INTO orders (id) VALUES (9000)", ORDER, first];
        let recording = recorded(LogDialect::Mysql, &found.map(|text| ("a", text)), RecordedAnswer::default());
        assert_eq!(put(&worked(LogDialect::Mysql, &recording).unwrap(), &recording), ["501"]);
    }

    #[test]
    fn an_insert_that_failed_has_no_id_and_takes_some_unless_it_was_refused() {
        let failed = format!("!{ORDER}");
        let failed = failed.as_str();
        let [third, fourth, fifth] = [503, 504, 505].map(|id| format!("UPDATE orders SET total = 1 WHERE id = {id}"));
        let [third, fourth, fifth] = [third.as_str(), fourth.as_str(), fifth.as_str()];
        let refused = ["BEGIN", "!SELECT 1 / 0", failed, failed, failed, "ROLLBACK"];
        let behind = [ORDER, ORDER, ORDER, third, ORDER, ORDER, fifth];
        let all = ["id\t501", "id\t502", "id\t503", "id\t504", "id\t505"];
        assert_eq!(put_of(&[&refused[..], &behind].concat()), all);
        let nosuch = ["BEGIN", "!INSERT INTO nosuch (v) VALUES (1)", failed, failed, "ROLLBACK"];
        let bad = "!INSERT INTO orders (customer, nocol) VALUES ('bad', 1)";
        let found = [&[failed, failed, ORDER, third][..], &nosuch, &[ORDER, fourth, bad, ORDER, fifth, ORDER]];
        let found: Vec<(&str, &str)> = found.concat().into_iter().map(|text| ("a", text)).collect();
        let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["id\t503", "id\t504", "id\t505", "id\t506"]);
        assert_eq!(ids.told(), "worked out: 3 by what the sessions say later and 1 by the order of the log");
        // No failure aborts a transaction there.
        let found = ["BEGIN", failed, failed, ORDER, third, "COMMIT"].map(|text| ("a", text));
        let recording = recorded(LogDialect::Mysql, &found, RecordedAnswer::default());
        assert_eq!(put(&worked(LogDialect::Mysql, &recording).unwrap(), &recording), ["503"]);
    }

    #[test]
    fn a_counter_goes_on_where_it_was_if_its_restart_is_rolled_back() {
        let said = "UPDATE orders SET total = 1 WHERE id = 501";
        let again = "ALTER SEQUENCE orders_seq RESTART WITH 9000";
        let ids = |between: &[&str]| put_of(&[&["BEGIN"][..], between, &[ORDER, said, ORDER]].concat());
        assert_eq!(ids(&["TRUNCATE orders RESTART IDENTITY", "ROLLBACK"]), ["id\t501", "id\t502"]);
        assert_eq!(ids(&[again, "ROLLBACK"]), ["id\t501", "id\t502"]);
        assert_eq!(ids(&[again, "!SELECT 1 / 0", "COMMIT"]), ["id\t501", "id\t502"]);
        assert_eq!(ids(&["SAVEPOINT s", again, "ROLLBACK TO s", "COMMIT"]), ["id\t501", "id\t502"]);
        let of = |end: &str, said: &str| put_of(&["BEGIN", again, ORDER, end, ORDER, said]);
        let [old, new] = [501, 9_001].map(|id| format!("UPDATE orders SET total = 1 WHERE id = {id}"));
        assert_eq!(of("COMMIT", &new), ["id\t9000", "id\t9001"]);
        assert_eq!(of("ROLLBACK", &old), ["id\t9000", "id\t501"], "the first is of no row");
        // No ROLLBACK takes this back.
        let set = ["BEGIN", "SELECT setval('orders_seq', 5000)", "ROLLBACK", ORDER];
        assert_eq!(
            put_of(&[&set[..], &["UPDATE orders SET total = 1 WHERE id = 5001", ORDER]].concat()),
            ["id\t5001", "id\t5002"]
        );
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
    fn a_number_that_was_an_item_before_is_an_id_beside_its_column() {
        let found = [
            ("a", "SELECT price FROM items WHERE item = 502"),
            ("a", ORDER),
            ("b", ORDER),
            ("a", "INSERT INTO lines (order_id, item, qty) VALUES (502, 9, 1)"),
            ("b", "INSERT INTO lines (order_id, item, qty) VALUES (501, 9, 1)"),
            ("a", "UPDATE orders SET total = 1 WHERE id = 502"),
        ];
        let recording = recorded(LogDialect::Postgres, &found, RecordedAnswer::default());
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        assert_eq!(put(&ids, &recording), ["id\t502", "id\t501"]);
        assert!(ids.told().starts_with("worked out: 2 by what the sessions say later and 0 "), "{}", ids.told());
    }

    #[test]
    fn copies_have_the_ids_of_the_whole() {
        let recording = recorded(LogDialect::Postgres, &FOUND, RecordedAnswer::default());
        let ids = worked(LogDialect::Postgres, &recording).unwrap();
        let copies = Copies { times: 2.0, shift: Nanos(0), length: Nanos(u64::MAX), seed: 1 };
        let two = put(&ids, &recording.copies(&copies).unwrap());
        assert_eq!(two.iter().filter(|made| *made == "id\t502").count(), 2, "{two:?}");
        let part = recording.stretch(Nanos::from_secs(1), None).unwrap();
        assert_eq!(put(&ids, &part), ["id\t501", "id\t503"]);
    }

    #[test]
    fn a_recording_with_ids_or_without_counters_has_none_worked_out() {
        let answer = RecordedAnswer { made_id: Some(502), ..RecordedAnswer::default() };
        assert!(worked(LogDialect::Mysql, &recorded(LogDialect::Mysql, &FOUND, answer)).is_none());
        let reads = [("a", "SELECT 1"), ("a", "INSERT INTO others (a) VALUES (1)")];
        let reads = recorded(LogDialect::Mysql, &reads, RecordedAnswer::default());
        assert!(worked(LogDialect::Mysql, &reads).is_none());
        // Two columns of one table.
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
        let told = "0 by the order of the log, 2 not; none of orders, whose ids no session says";
        assert!(ids.told().ends_with(told), "{}", ids.told());
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
