//! Copies of a recording with key values of their own: what statements say of a key is moved by a range in each further copy.
//!
//! In: keys, and the statements of a copy as they were recorded. Out: the same statements with values of the copy, the values of calls and the
//! ids that the server made among them; how many were moved. Limits: what [`sql::said_values`] finds, if it is a whole number, or a list of
//! them in quotes. A table of another schema is another table, as far as the schema is known: of PostgreSQL once the session has set its `search_path`;
//! a text of several statements is read by the path that it ends with. Ids of tables without a key are left to the server. LAST_INSERT_ID() is that
//! of the INSERT before it in its session.

use super::answer::{RecordedAnswer, made_column};
use super::recording::{PreparedTemplate, ReadStatement, RecordedStatement, SqlRecording};
use super::wanted::LogDialect;
use model::{MovedKey, MovedKeys, SqlArg};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A key that moves.
#[derive(Clone, Debug)]
pub struct MovingKey {
    /// As the user names it.
    pub name: String,
    pub columns: Vec<MovingColumn>,
    /// Values up to this one stay; `None` if all move.
    pub above: Option<i64>,
    /// By how much values move in each further copy.
    pub range: i64,
    /// The highest value that all its columns can hold.
    pub highest: i64,
}

/// A column of a key.
#[derive(Clone, Debug)]
pub struct MovingColumn {
    /// The schema of its table on the copy.
    pub schema: Option<String>,
    /// Other schemas of the copy that have a table of that name.
    pub also_in: Vec<String>,
    /// Whether a connection of plimsoll finds its table without the schema.
    pub is_visible: bool,
    /// Its table, without a schema.
    pub table: String,
    pub column: String,
    /// Its place among the columns of its table, from 0.
    pub place: usize,
    /// Whether the server makes its values.
    pub is_made: bool,
}

/// How many values of one key were moved, and what became of the others.
#[derive(Debug, Default)]
struct KeyCounts {
    moved: AtomicU64,
    /// Moved into the range of the next copy.
    beyond: AtomicU64,
    /// Not moved, because the column cannot hold them.
    kept: AtomicU64,
}

/// Moves the keys of all copies.
#[derive(Debug)]
pub struct KeyMover {
    dialect: LogDialect,
    /// The names of the copy's schemas, by the numbers of the recording.
    schemas: Vec<String>,
    keys: Vec<(MovingKey, KeyCounts)>,
    columns: Vec<sql::ValueColumn>,
    /// Of each column the number of its key, and whether the server makes its values.
    key_of: Vec<(usize, bool)>,
    /// Of each template the numbers of the parameters, from 0, that are values of keys, with those of the keys; `None` if its calls are sent as text.
    templates: Vec<Option<Vec<(usize, usize)>>>,
}

impl MovingKey {
    /// `value` in this copy; `None` if it stays as it is, or the columns cannot hold it.
    fn in_copy(&self, value: i64, copy: u32) -> Option<i64> {
        if copy == 0 || self.above.is_some_and(|above| value <= above) {
            return None;
        }
        let moved = self.range.checked_mul(copy.into()).and_then(|by| value.checked_add(by));
        moved.filter(|moved| *moved <= self.highest)
    }

    fn is_beyond(&self, value: i64) -> bool {
        value.saturating_sub(self.above.unwrap_or(0)) > self.range
    }

    fn moved_key(&self, counts: &KeyCounts) -> MovedKey {
        let [moved, beyond, kept] = [&counts.moved, &counts.beyond, &counts.kept].map(|count| count.load(Relaxed));
        MovedKey { name: self.name.clone(), above: self.above, range: self.range, moved, beyond, kept }
    }
}

impl KeyMover {
    /// Of statements in `dialect`, in `schemas` of the copy, some of which are calls of `templates`.
    pub fn new(
        dialect: LogDialect,
        schemas: Vec<String>,
        templates: &[PreparedTemplate],
        keys: Vec<MovingKey>,
    ) -> KeyMover {
        let numbered = || (0..).zip(&keys).flat_map(|(nth, key)| key.columns.iter().map(move |column| (nth, column)));
        let columns = numbered().map(|(_, MovingColumn { schema, also_in, is_visible, table, column, place, .. })| {
            sql::ValueColumn {
                schema: schema.clone(),
                also_in: also_in.clone(),
                is_visible: *is_visible,
                table: table.clone(),
                column: column.clone(),
                place: *place,
            }
        });
        let columns = columns.collect();
        let key_of = numbered().map(|(nth, column)| (nth, column.is_made)).collect();
        let keys = keys.into_iter().map(|key| (key, KeyCounts::default())).collect();
        let mut mover = KeyMover { dialect, schemas, keys, columns, key_of, templates: Vec::new() };
        let params_of = |template: &PreparedTemplate| mover.params_of(template, mover.schema(template.schema));
        mover.templates = templates.iter().map(params_of).collect();
        mover
    }

    /// What was moved of each key.
    pub fn moved_keys(&self) -> MovedKeys {
        MovedKeys(self.keys.iter().map(|(key, counts)| key.moved_key(counts)).collect())
    }

    /// The schema that tables without one are in, in statements of schema number `schema`. Of PostgreSQL that is a database.
    fn schema(&self, schema: u32) -> Option<&[String]> {
        let name = self.schemas.get(schema as usize)?;
        (self.dialect == LogDialect::Mysql && !name.is_empty()).then_some(std::slice::from_ref(name))
    }

    /// The parameters of a template that are values of keys, if tables without a schema are looked for in `path`; `None` if it says such a value itself,
    /// if it says one parameter of two keys, or of one and of what is none, or if the type or a cast of one has no room for values of the key.
    fn params_of(&self, template: &PreparedTemplate, path: Option<&[String]>) -> Option<Vec<(usize, usize)>> {
        let PreparedTemplate { text, types, .. } = template;
        let tokens = sql::tokens(text, self.dialect.sql()).ok()?;
        let said = sql::said_values(text, &tokens, self.dialect.sql(), path, &self.columns).values;
        let is_param = |at: usize| tokens[at].kind == sql::TokenKind::Param;
        let is_cut = |value: &sql::SaidValue| {
            let most = self.narrow_cast(text, &tokens, value).and_then(|its_type| narrow_highest(its_type.text(text)));
            most.is_some_and(|most| self.keys[self.key_of[value.column].0].0.highest > most)
        };
        if said.iter().any(|value| value.is_negative || !is_param(value.token) || is_cut(value)) {
            return None;
        }
        let mut uses: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for (nth, at) in (0..tokens.len()).filter(|at| is_param(*at)).enumerate() {
            let number = match tokens[at].text(text) {
                "?" => nth,
                numbered => numbered.get(1..)?.parse::<usize>().ok()?.checked_sub(1)?,
            };
            let key = said.iter().find(|value| value.token == at).map(|value| self.key_of[value.column].0);
            if *uses.entry(number).or_insert(key) != key {
                return None;
            }
        }
        let params: Vec<(usize, usize)> = uses.into_iter().filter_map(|(number, key)| Some((number, key?))).collect();
        let has_room = |(number, key): &(usize, usize)| {
            types
                .get(*number)
                .and_then(|name| narrow_highest(name))
                .is_none_or(|most| self.keys[*key].0.highest <= most)
        };
        params.iter().all(has_room).then_some(params)
    }

    /// `value` of key number `key` in this copy, counted; `None` if it stays.
    fn moved(&self, key: usize, value: i64, copy: u32) -> Option<i64> {
        let (key, counts) = &self.keys[key];
        let moved = key.in_copy(value, copy);
        if moved.is_some() {
            counts.moved.fetch_add(1, Relaxed);
            counts.beyond.fetch_add(key.is_beyond(value).into(), Relaxed);
        } else if copy > 0 && key.above.is_none_or(|above| value > above) {
            counts.kept.fetch_add(1, Relaxed);
        }
        moved
    }

    /// The parameters of template number `template`, which is called in a session with this `path` of its own, that are values of keys; `None` if the call
    /// is sent as text.
    fn params_in(
        &self,
        template: (u32, &PreparedTemplate),
        path: Option<&[String]>,
    ) -> Option<Cow<'_, [(usize, usize)]>> {
        match path {
            Some(_) => self.params_of(template.1, path).map(Cow::Owned),
            None => self.templates.get(template.0 as usize)?.as_deref().map(Cow::Borrowed),
        }
    }

    /// The ids of PostgreSQL that were `made` by an INSERT into the table of these columns: the name of a column and each of them, with tabs between.
    /// Nothing if the column is no key.
    fn moved_made(&self, inserted: &[usize], copy: u32, made: &str) -> String {
        let mut parts = made.split('\t');
        let name = parts.next().unwrap_or_default();
        let (_, column) = made_column(name);
        let Some(number) = inserted.iter().find(|number| self.columns[**number].column == column) else {
            return String::new();
        };
        let moved = |value: i64| self.moved(self.key_of[*number].0, value, copy);
        let ids = parts.map(|id| moved_text(id, moved).unwrap_or_else(|| id.to_owned()));
        std::iter::once(name.to_owned()).chain(ids).collect::<Vec<_>>().join("\t")
    }

    /// `text` with the values of this copy in place of those that are `said`; `None` if it stays as it is.
    fn with_moved(&self, text: &str, tokens: &[sql::Token], said: &[sql::SaidValue], copy: u32) -> Option<String> {
        let (mut out, mut done) = (String::new(), 0);
        for value in said {
            let token = tokens[value.token];
            let key = self.key_of[value.column].0;
            let Some(moved) = self.moved_literal(key, token.text(text), value.is_negative, copy) else { continue };
            let start = if value.is_negative { tokens[value.token - 1].start } else { token.start };
            out.push_str(&text[done..start]);
            if value.is_negative {
                // Without its minus it would be one word with what is before it.
                out.push(' ');
            }
            out.push_str(&moved);
            done = token.end;
            // The client has called its value an int2, because it fitted.
            if let Some(its_type) = self.narrow_cast(text, tokens, value) {
                out.push_str(&text[done..its_type.start]);
                out.push_str("bigint");
                done = its_type.end;
            }
        }
        if done == 0 {
            return None;
        }
        out.push_str(&text[done..]);
        Some(out)
    }

    /// The type in the cast of `value`, if there is a larger one of whole numbers (PostgreSQL).
    fn narrow_cast<'a>(&self, text: &str, tokens: &'a [sql::Token], value: &sql::SaidValue) -> Option<&'a sql::Token> {
        let [cast, its_type, ..] = tokens.get(value.token + 1..)? else { return None };
        let opening = value.token.checked_sub(2 + usize::from(value.is_negative));
        let is_call = opening.is_some_and(|at| tokens[at].is_word(text, &["cast"]));
        let is_cast = cast.is_sign(text, "::") || is_call && cast.is_word(text, &["as"]);
        let is_narrow = self.dialect == LogDialect::Postgres && narrow_highest(its_type.text(text)).is_some();
        (is_cast && is_narrow).then_some(its_type)
    }

    /// What is written in place of `written`, a number or a text, behind a minus if it is negative.
    fn moved_literal(&self, key: usize, written: &str, is_negative: bool, copy: u32) -> Option<String> {
        let moved = |value: i64| self.moved(key, value, copy);
        let Some(quote) = written.chars().next().filter(|first| matches!(*first, '\'' | '"')) else {
            let sign = if is_negative { "-" } else { "" };
            return moved(format!("{sign}{written}").parse().ok()?).map(|moved| moved.to_string());
        };
        let inside = written.get(1..written.len().checked_sub(1)?).filter(|_| !is_negative)?;
        moved_text(inside, moved).map(|inside| format!("{quote}{inside}{quote}"))
    }
}

/// The highest value of a type of PostgreSQL, or of an array of it, if it is one of whole numbers that a larger one has.
fn narrow_highest(written: &str) -> Option<i64> {
    match written.to_ascii_lowercase().trim_end_matches("[]") {
        "int2" | "smallint" => Some(i16::MAX.into()),
        "int4" | "integer" | "int" => Some(i32::MAX.into()),
        _ => None,
    }
}

/// `text` with the other number that it `moved` to, or each number of a list `{5,6}`; `None` if it stays as it is.
fn moved_text(text: &str, moved: impl Fn(i64) -> Option<i64>) -> Option<String> {
    let of_one = |one: &str| Some(moved(one.trim().parse().ok()?)?.to_string());
    let Some(list) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return of_one(text) };
    let items: Vec<String> = list.split(',').map(|one| of_one(one).unwrap_or_else(|| one.to_owned())).collect();
    Some(format!("{{{}}}", items.join(",")))
}

/// Moves the keys in the statements of one client, one after the other.
pub(super) struct LaneKeys {
    mover: Arc<KeyMover>,
    /// That of the last statement.
    session: Option<u32>,
    /// The copy that it is of.
    copy: u32,
    /// Where it looks for tables (PostgreSQL).
    path: sql::SearchPath,
    /// The key of the last id that the server made in it.
    last_made: Option<usize>,
    /// The parameters of the last statement, if it is a call, that are values of keys which move.
    params: Vec<(usize, usize)>,
}

impl LaneKeys {
    pub fn new(mover: Arc<KeyMover>) -> LaneKeys {
        let path = sql::SearchPath::default();
        LaneKeys { mover, session: None, copy: 0, path, last_made: None, params: Vec::new() }
    }

    /// Moves the keys in what was `read` of a `statement`, the next one: in its `text`, which has the ids that it made behind it, and in its answer.
    pub fn move_statement(
        &mut self,
        recording: &SqlRecording,
        statement: &RecordedStatement,
        text: &mut Vec<u8>,
        read: &mut ReadStatement,
    ) {
        if self.session != Some(statement.session) {
            (self.session, self.last_made) = (Some(statement.session), None);
            self.copy = recording.copy_of(statement.session);
            self.path = sql::SearchPath::default();
        }
        let has_ids = read.made_bytes > 0 || read.answer.made_id.is_some() || read.answer.last_id.is_some();
        if self.copy > 0 || has_ids || self.mover.dialect == LogDialect::Postgres {
            self.move_text(statement.schema, text, read);
        }
        self.params.clear();
        if self.copy > 0
            && let Some(template) = read.template()
        {
            let called = (template, &recording.templates()[template as usize]);
            match self.mover.params_in(called, self.path.schemas()) {
                Some(params) => self.params.extend_from_slice(&params),
                None => read.call = None,
            }
        }
    }

    fn move_text(&mut self, schema: u32, text: &mut Vec<u8>, read: &mut ReadStatement) {
        let mover = self.mover.clone();
        let Ok(whole) = std::str::from_utf8(text) else { return };
        let Some((statement, made)) = whole.split_at_checked(whole.len().saturating_sub(read.made_bytes)) else {
            return;
        };
        let copy = self.copy;
        let dialect = mover.dialect.sql();
        let tokens = sql::tokens(statement, dialect).unwrap_or_default();
        if mover.dialect == LogDialect::Postgres {
            self.follow_path(statement, &tokens, &read.answer);
            if copy == 0 && made.is_empty() {
                return;
            }
        }
        let path = self.path.schemas().or_else(|| mover.schema(schema));
        let said = sql::said_values(statement, &tokens, dialect, path, &mover.columns);
        self.move_answer(&said.inserted, &mut read.answer);
        let made = mover.moved_made(&said.inserted, copy, made);
        read.made_bytes = made.len();
        let moved = mover.with_moved(statement, &tokens, &said.values, copy);
        let kept = [moved.as_deref().unwrap_or(statement), &made].concat();
        *text = kept.into_bytes();
    }

    /// Follows the `search_path` of the session.
    fn follow_path(&mut self, statement: &str, tokens: &[sql::Token], answer: &RecordedAnswer) {
        if answer.failed == Some(true) {
            self.path.follow_failed();
        } else {
            self.path.follow(statement, tokens);
        }
    }

    /// Moves the ids of MySQL. Those of a table without a key are not known here, so that the server makes its own.
    fn move_answer(&mut self, inserted: &[usize], answer: &mut RecordedAnswer) {
        let (mover, copy) = (&self.mover, self.copy);
        let in_copy = |key: usize, id: u64| {
            let moved = i64::try_from(id).ok().and_then(|id| mover.moved(key, id, copy));
            moved.map_or(id, i64::unsigned_abs)
        };
        answer.last_id = answer.last_id.and_then(|id| Some(in_copy(self.last_made?, id)));
        if let Some(id) = answer.made_id.filter(|id| *id > 0) {
            let made = inserted.iter().map(|column| mover.key_of[*column]).find(|(_, is_made)| *is_made);
            self.last_made = made.map(|(key, _)| key);
            answer.made_id = Some(self.last_made.map_or(0, |key| in_copy(key, id)));
        }
    }

    /// Moves the keys among `args`, the values of the call that the last statement is, whose texts are in `text`.
    pub fn move_args(&self, args: &mut [SqlArg], text: &mut Vec<u8>) {
        for (number, key) in &self.params {
            // They are counted in the text of the statement.
            let in_copy = |value: i64| self.mover.keys[*key].0.in_copy(value, self.copy);
            match args.get_mut(*number) {
                Some(SqlArg::Int(value)) => *value = in_copy(*value).unwrap_or(*value),
                Some(SqlArg::Text { start, len }) => {
                    let written = text.get(*start as usize..).and_then(|rest| rest.get(..*len as usize));
                    let written = written.and_then(|bytes| std::str::from_utf8(bytes).ok());
                    let Some(moved) = written.and_then(|written| moved_text(written, in_copy)) else { continue };
                    (*start, *len) = (text.len() as u32, moved.len() as u32);
                    text.extend_from_slice(moved.as_bytes());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientIndex;
    use crate::replay_sql::{Copies, LogWanted, read_log, statement_stream};
    use model::{Nanos, SqlOp};

    /// Orders above 500 by 1000, with their lines, and all customers by 50.
    fn keys() -> Vec<MovingKey> {
        let column = |table: &str, column: &str, place, is_made| MovingColumn {
            schema: None,
            also_in: Vec::new(),
            is_visible: false,
            table: table.to_owned(),
            column: column.to_owned(),
            place,
            is_made,
        };
        let orders = vec![column("orders", "id", 0, true), column("order_lines", "order_id", 1, false)];
        let key = |name: &str, columns, above, range| MovingKey {
            name: name.to_owned(),
            columns,
            above,
            range,
            highest: 32_767,
        };
        let customer = vec![column("orders", "customer", 1, false)];
        vec![key("orders.id", orders, Some(500), 1_000), key("orders.customer", customer, None, 50)]
    }

    fn moved_in(dialect: LogDialect, text: &str, copy: u32) -> String {
        let mover = KeyMover::new(dialect, Vec::new(), &[], keys());
        let tokens = sql::tokens(text, dialect.sql()).unwrap();
        let said = sql::said_values(text, &tokens, dialect.sql(), None, &mover.columns).values;
        mover.with_moved(text, &tokens, &said, copy).unwrap_or_else(|| "as it was".to_owned())
    }

    #[test]
    fn values_of_keys_move_by_a_range_in_each_further_copy() {
        for (text, expected) in [
            ("UPDATE orders SET total = 501 WHERE id = 501", "UPDATE orders SET total = 501 WHERE id = 2501"),
            (
                "SELECT 1 FROM orders WHERE id IN (500, 501,'502')",
                "SELECT 1 FROM orders WHERE id IN (500, 2501,'2502')",
            ),
            ("INSERT INTO orders VALUES (501, 7, 'id = 501')", "INSERT INTO orders VALUES (2501, 107, 'id = 501')"),
            ("INSERT INTO orders SELECT 501, 7, 501", "INSERT INTO orders SELECT 2501, 107, 501"),
            ("DELETE FROM order_lines WHERE order_id=501 -- 501", "DELETE FROM order_lines WHERE order_id=2501 -- 501"),
            (
                "SELECT 1 FROM orders WHERE customer BETWEEN-7 AND -200",
                "SELECT 1 FROM orders WHERE customer BETWEEN 93 AND  -100",
            ),
            ("SELECT 1 FROM customers WHERE id = 501 AND customer = 7", "as it was"),
            ("SELECT 1 FROM orders WHERE id < 32000 AND id = 501.5 AND id = 'x501'", "as it was"),
        ] {
            for dialect in [LogDialect::Mysql, LogDialect::Postgres] {
                assert_eq!(moved_in(dialect, text, 2), expected);
                assert_eq!(moved_in(dialect, text, 0), "as it was");
            }
        }
        let list = "SELECT 1 FROM orders WHERE id = ANY('{500, 501}')";
        assert_eq!(moved_in(LogDialect::Postgres, list, 1), list.replace(" 501", "1501"));
        let cast = "SELECT 1 FROM orders WHERE id IN ('501'::int2, '502'::numeric) AND total = '5'::int2";
        let wider = "SELECT 1 FROM orders WHERE id IN ('1501'::bigint, '1502'::numeric) AND total = '5'::int2";
        assert_eq!(moved_in(LogDialect::Postgres, cast, 1), wider);
        let cast = "SELECT 1 FROM orders WHERE id IN (CAST(501 AS int2), CAST(502 AS text)) AND customer = cast(-7 AS smallint)";
        let wider = "SELECT 1 FROM orders WHERE id IN (CAST(1501 AS bigint), CAST(1502 AS text)) AND customer = cast( 43 AS bigint)";
        assert_eq!(moved_in(LogDialect::Postgres, cast, 1), wider);
        let cast = "SELECT 1 FROM orders WHERE (id, total) IN ((CAST(501 AS INT), 501))";
        assert_eq!(moved_in(LogDialect::Mysql, cast, 1), cast.replace("CAST(501", "CAST(1501"));
    }

    #[test]
    fn what_was_moved_is_told_of_each_key() {
        let mover = KeyMover::new(LogDialect::Mysql, Vec::new(), &[], keys());
        let values = [499, 501, 1_502, 32_000].map(|value| mover.moved(0, value, 1));
        assert_eq!(values, [None, Some(1_501), Some(2_502), None]);
        assert_eq!(
            mover.moved_keys().to_string(),
            "orders.id above 500 by 1000 in each further copy: 2 values, 1 of them into the range of the next copy, and 1 stayed because the column cannot \
             hold them; orders.customer by 50 in each further copy: 0 values"
        );
    }

    /// A text, and the ids that it makes and that LAST_INSERT_ID() is.
    type Sent = (String, Option<u64>, Option<u64>);

    /// What each client sends of two copies of `log` with these `keys`.
    fn sent(log: &str, keys: Vec<MovingKey>) -> Vec<Vec<Sent>> {
        let wanted = LogWanted { writes: true, ..LogWanted::default() };
        let (dialect, recording) = read_log(log.as_bytes(), &wanted).unwrap();
        let recording = Arc::new(recording);
        let two = Copies { times: 2.0, shift: Nanos(0), length: Nanos(u64::MAX), seed: 7 };
        let recording = recording.copies(&two).unwrap();
        let schemas = recording.schemas().to_vec();
        let mover = Arc::new(KeyMover::new(dialect, schemas, recording.templates(), keys));
        let stream =
            statement_stream(recording.clone(), Arc::new(recording.lanes(2).unwrap()), None, None, Some(mover));
        let of_client = |client| {
            let slot = ClientIndex { client, clients: 2 };
            let mut ops = vec![SqlOp::default(); stream.ops_of(slot).unwrap() as usize];
            (stream.make)(slot).fill_ops(&mut ops);
            let told = |op: SqlOp| {
                let answer = RecordedAnswer::from_args(&op.args[3..]);
                (String::from_utf8(op.text).unwrap(), answer.made_id, answer.last_id)
            };
            ops.into_iter().map(told).collect::<Vec<_>>()
        };
        let mut all = vec![of_client(0), of_client(1)];
        all.sort();
        all
    }

    #[test]
    fn ids_that_the_server_made_move_with_the_statements_that_name_them() {
        let entry = |second: u32, set: &str, text: &str| {
            format!(
                "# Time: 2026-11-28T19:59:{second:02}.000000Z\n# User@Host: a[a] @ localhost []  Id:     4\n\
                 # Query_time: 0.000000  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n{set}timestamp=1795895940;\n{text};\n"
            )
        };
        let log = [
            entry(1, "SET insert_id=501,", "INSERT INTO orders (total) VALUES (1)"),
            entry(2, "SET last_insert_id=501,", "UPDATE orders SET total = 2 WHERE id = last_insert_id()"),
            entry(3, "SET insert_id=9,", "INSERT INTO order_lines (order_id) VALUES (501)"),
            entry(4, "SET last_insert_id=9,", "SELECT last_insert_id()"),
        ];
        let [first, second] = &sent(&log.concat(), keys())[..] else { panic!("there are two clients") };
        let ids = |sent: &[Sent]| sent.iter().map(|it| (it.1, it.2)).collect::<Vec<_>>();
        // The table of the lines has no key of its own.
        assert_eq!(ids(first), [(Some(501), None), (None, Some(501)), (Some(0), None), (None, None)]);
        assert_eq!(ids(second), [(Some(1_501), None), (None, Some(1_501)), (Some(0), None), (None, None)]);
        assert_eq!(first[2].0, "INSERT INTO order_lines (order_id) VALUES (501)");
        assert_eq!(second[2].0, "INSERT INTO order_lines (order_id) VALUES (1501)");
    }

    /// The keys in tables of the schema `shop`, while `crm` has tables of the same names.
    fn keys_in_shop() -> Vec<MovingKey> {
        let mut keys = keys();
        for column in keys.iter_mut().flat_map(|key| &mut key.columns) {
            (column.schema, column.also_in) = (Some("shop".to_owned()), vec!["crm".to_owned()]);
        }
        keys
    }

    /// The order that each DELETE of the second copy of `log` names.
    fn deleted(log: &str, keys: Vec<MovingKey>) -> Vec<String> {
        let all = sent(log, keys);
        let ids = |sent: &Vec<Sent>| {
            let ids = sent.iter().filter_map(|(text, ..)| text.strip_prefix("DELETE")?.rsplit(' ').next());
            ids.map(str::to_owned).collect::<Vec<String>>()
        };
        let copies: Vec<Vec<String>> = all.iter().map(ids).collect();
        let moved = copies.into_iter().find(|ids| ids.iter().any(|id| id == "1501"));
        moved.expect("something moves in the second copy")
    }

    #[test]
    fn a_session_of_postgresql_names_keys_by_its_search_path() {
        let delete = "DELETE FROM orders WHERE id = 501";
        let texts = [
            delete,
            "SET search_path = crm, shop",
            delete,
            "BEGIN",
            "SET LOCAL search_path = shop, crm",
            delete,
            "COMMIT",
            delete,
            "DELETE FROM shop.orders WHERE id = 501",
        ];
        let line = |(nth, text): (usize, &&str)| {
            format!("2024-03-01 10:00:{nth:02}.100 UTC [71] LOG:  duration: 0.020 ms  statement: {text}\n")
        };
        let log: String = texts.iter().enumerate().map(line).collect();
        assert_eq!(deleted(&log, keys_in_shop()), ["1501", "501", "1501", "501", "1501"]);
    }

    #[test]
    fn of_keys_in_two_schemas_one_without_a_schema_is_that_of_the_visible_table() {
        let mut all = keys_in_shop();
        let mut of_crm = all[0].clone();
        for column in &mut of_crm.columns {
            (column.schema, column.also_in) = (Some("crm".to_owned()), vec!["shop".to_owned()]);
        }
        all.iter_mut().flat_map(|key| &mut key.columns).for_each(|column| column.is_visible = true);
        all.push(MovingKey { name: "crm.orders.id".to_owned(), range: 5_000, ..of_crm });
        let texts = [
            "DELETE FROM orders WHERE id = 501",
            "DELETE FROM crm.orders WHERE id = 501",
            "SET search_path = crm",
            "DELETE FROM orders WHERE id = 501",
        ];
        let line = |(nth, text): (usize, &&str)| {
            format!("2024-03-01 10:00:{nth:02}.100 UTC [71] LOG:  duration: 0.020 ms  statement: {text}\n")
        };
        let log: String = texts.iter().enumerate().map(line).collect();
        assert_eq!(deleted(&log, all), ["1501", "5501", "5501"]);
    }

    #[test]
    fn a_session_of_mysql_names_keys_by_its_schema() {
        let delete = "DELETE FROM orders WHERE id = 501";
        let texts = [delete, "use crm", delete, "DELETE FROM shop.orders WHERE id = 501", "use shop", delete];
        let line = |text: &&str| format!("\t\t     4 Query\t{text}\n");
        let lines: String = texts.iter().map(line).collect();
        let log = format!("261128  3:16:29\t     4 Connect\ta@localhost on shop using Socket\n{lines}");
        assert_eq!(deleted(&log, keys_in_shop()), ["1501", "501", "1501", "1501"]);
    }

    #[test]
    fn parameters_of_calls_are_those_of_keys_by_the_path_of_the_session() {
        let (text, types) = ("DELETE FROM orders WHERE id = $1".to_owned(), Vec::new());
        let template = PreparedTemplate { text, types, schema: 0 };
        let templates = std::slice::from_ref(&template);
        let mover = KeyMover::new(LogDialect::Postgres, Vec::new(), templates, keys_in_shop());
        let params = |path: Option<&[&str]>| {
            let path: Option<Vec<String>> = path.map(|path| path.iter().map(|name| (*name).to_owned()).collect());
            mover.params_in((0, &template), path.as_deref()).unwrap().to_vec()
        };
        assert_eq!(params(None), [(0, 0)]);
        assert_eq!(params(Some(&["shop"])), [(0, 0)]);
        assert!(params(Some(&["crm", "shop"])).is_empty());
    }

    #[test]
    fn ids_that_postgresql_made_move_if_their_column_is_a_key() {
        let mover = KeyMover::new(LogDialect::Postgres, Vec::new(), &[], keys());
        assert_eq!(mover.moved_made(&[0, 2], 1, "id\t501\t502"), "id\t1501\t1502");
        assert_eq!(mover.moved_made(&[0, 2], 0, "id\t501"), "id\t501");
        assert_eq!(mover.moved_made(&[0, 2], 1, "s2.t\u{1f}id\t501"), "s2.t\u{1f}id\t1501");
        assert_eq!(mover.moved_made(&[1], 1, "id\t501"), "", "of another table");
        assert_eq!(mover.moved_made(&[0, 2], 1, ""), "");
    }

    #[test]
    fn values_of_calls_move_by_their_parameters() {
        let template = |text: &str| PreparedTemplate { text: text.to_owned(), types: Vec::new(), schema: 0 };
        let templates = [
            "SELECT 1 FROM orders WHERE total = $1 AND id = $2 AND id > $2",
            "SELECT 1 FROM orders WHERE id = 501 AND total = $1",
            "SELECT 1 FROM orders WHERE id = $1 AND total = $1",
            "SELECT 1 FROM customers WHERE id = $1",
        ];
        let mover = KeyMover::new(LogDialect::Postgres, Vec::new(), &templates.map(template), keys());
        assert_eq!(mover.templates, [Some(vec![(1, 0)]), None, None, Some(Vec::new())]);
        let of_mysql = [template("INSERT INTO orders (id, total) VALUES (?, ?)")];
        let of_mysql_in = |dialect, schemas, keys| KeyMover::new(dialect, schemas, &of_mysql, keys).templates;
        assert_eq!(of_mysql_in(LogDialect::Mysql, Vec::new(), keys()), [Some(vec![(0, 0)])]);
        // Of a key in another schema than the statement.
        let in_shop = || {
            let mut keys = keys();
            keys[0].columns[0].schema = Some("shop".to_owned());
            keys
        };
        let crm = || vec!["crm".to_owned()];
        assert_eq!(of_mysql_in(LogDialect::Mysql, crm(), in_shop()), [Some(Vec::new())]);
        let of_database = KeyMover::new(LogDialect::Postgres, crm(), &templates.map(template)[..1], in_shop());
        assert_eq!(of_database.templates, [Some(vec![(1, 0)])], "crm is a database");
        let of_orders = |name: &str| {
            let of_id = template("DELETE FROM orders WHERE id = $1");
            let typed = PreparedTemplate { types: vec![name.to_owned()], ..of_id };
            let mut keys = keys();
            keys[0].highest = 100_000;
            KeyMover::new(LogDialect::Postgres, Vec::new(), &[typed], keys).templates.remove(0).is_some()
        };
        assert_eq!(["int2", "int4", "int8", "unknown"].map(of_orders), [false, true, true, true]);
        let in_cast = template("SELECT 1 FROM orders WHERE id = CAST($1 AS int2) OR total = $2::int2");
        let mover_of_cast = |highest: i64| {
            let mut keys = keys();
            keys[0].highest = highest;
            KeyMover::new(LogDialect::Postgres, Vec::new(), std::slice::from_ref(&in_cast), keys)
        };
        assert_eq!([32_767, 32_768].map(|most| mover_of_cast(most).templates[0].is_some()), [true, false]);
        let params = mover.templates[0].clone().unwrap();
        let lane = LaneKeys { session: Some(3), copy: 1, params, ..LaneKeys::new(Arc::new(mover)) };
        let mut text = b"501".to_vec();
        let mut args = [SqlArg::Int(501), SqlArg::Text { start: 0, len: 3 }];
        lane.move_args(&mut args, &mut text);
        assert_eq!((args, &text[..]), ([SqlArg::Int(501), SqlArg::Text { start: 3, len: 4 }], &b"5011501"[..]));
        let mut args = [SqlArg::Null, SqlArg::Int(501)];
        lane.move_args(&mut args, &mut text);
        assert_eq!(args, [SqlArg::Null, SqlArg::Int(1_501)]);
    }
}
