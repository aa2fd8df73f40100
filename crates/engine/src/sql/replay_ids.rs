//! The ids that the recorded server made are made again, so that later statements of all sessions find their rows.
//!
//! In: what a statement was answered when it was recorded, or what of that was worked out. Out: the SET to be sent before it (MySQL, MariaDB), or the
//! INSERT that says the ids itself (PostgreSQL); a fact; what the server says of the counters behind its ids. Limits: an id that was set and not used
//! stays set: before the next statement that may make one of its own, it is taken back. PostgreSQL's sequences are counted up as they were, so that
//! what takes the next number without telling it gets about the same.

use crate::sql::replay_failures::without_values;
use model::{Fact, REPLAY_COUNTERS_FACT, REPLAY_IDS_FACT, ReplayCounters};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use workload::replay_sql::{CountedColumn, FilledBy, RecordedAnswer, WorkedIds, made_column};

/// How many ids were set, and why others were not.
#[derive(Default)]
pub struct ReplayIds {
    /// How they were worked out; empty if the log has them, or none are known.
    worked: String,
    /// Where the counters stood at the beginning, if they were worked out.
    counters: Option<ReplayCounters>,
    set: AtomicU64,
    refused: AtomicU64,
    /// The first refusal of the server.
    why: Mutex<String>,
}

impl ReplayIds {
    /// Of a log whose ids are these, if it does not have them.
    pub fn of(worked: Option<&WorkedIds>) -> ReplayIds {
        ReplayIds {
            worked: worked.map_or_else(String::new, |worked| format!("; {}", worked.told())),
            counters: worked.map(WorkedIds::counters),
            ..ReplayIds::default()
        }
    }

    /// Where the counters of the copy stood at the beginning of the point; nothing if no ids were worked out.
    pub fn counters_fact(&self) -> Option<Fact> {
        self.counters.as_ref().map(|counters| Fact::new(REPLAY_COUNTERS_FACT, counters.to_string()))
    }

    pub fn count_set(&self) {
        self.set.fetch_add(1, Relaxed);
    }

    /// Counts what the server was told before the statement that was `answered`: an id that is taken back is none that was set.
    pub fn count_told(&self, answered: &RecordedAnswer) {
        if answered.made_id.is_some_and(|id| id > 0) {
            self.count_set();
        }
    }

    /// Counts an id that the server did not take, with its message.
    pub fn count_refused(&self, message: &str) {
        self.refused.fetch_add(1, Relaxed);
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if why.is_empty() {
            *why = without_values(message);
        }
    }

    /// Nothing if no ids are known.
    pub fn fact(&self) -> Option<Fact> {
        let [set, refused] = [&self.set, &self.refused].map(|count| count.load(Relaxed));
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = if refused > 0 { format!(", {refused} refused: {why}") } else { String::new() };
        let worked = &self.worked;
        let is_told = set > 0 || !refused.is_empty() || !worked.is_empty();
        is_told.then(|| Fact::new(REPLAY_IDS_FACT, format!("{set} set{refused}{worked}")))
    }
}

/// What a connection was told of ids.
#[derive(Default)]
pub struct SetIds {
    /// The statement that tells it; empty for none.
    text: String,
    /// Whether an id is set that may not be used.
    is_left: bool,
}

impl SetIds {
    /// Another connection begins: it was told nothing.
    pub fn forget(&mut self) {
        self.is_left = false;
    }

    /// The statement to be sent before the one that was `answered`; `None` if there is nothing to tell.
    pub fn statement_before(&mut self, answered: &RecordedAnswer) -> Option<&str> {
        self.text.clear();
        if let Some(id) = answered.made_id.filter(|id| *id > 0 || self.is_left) {
            let _ = write!(self.text, "SET insert_id = {id}");
            self.is_left = id > 0;
        }
        if let Some(id) = answered.last_id {
            let separator = if self.text.is_empty() { "SET" } else { "," };
            let _ = write!(self.text, "{separator} last_insert_id = {id}");
        }
        (!self.text.is_empty()).then_some(&self.text)
    }
}

/// How a server is asked about the counters behind its ids.
#[derive(Clone, Copy)]
pub struct CounterWords {
    /// What a connection executes before; a server that does not know it refuses it.
    pub before: Option<&'static str>,
    /// The query for the columns of the current schema that are filled by counters which count by one: tables, columns, their places from 0, counters,
    /// the last ids that these gave, the first ones if they begin again, the schemas of the tables within a database, and 1 if they are found without.
    pub columns: &'static str,
    /// The query for the bodies of the triggers of the current schema.
    pub triggers: &'static str,
    /// The query for the names and bodies of the procedures and functions of the current schema.
    pub routines: &'static str,
}

/// The column of `schema` that the server tells of in `row`; `None` if something of it is not known.
pub fn counted_column(schema: &str, row: Vec<Option<String>>) -> Option<CountedColumn> {
    let [table, column, place, counter, last, start, namespace, visible] = <[Option<String>; 8]>::try_from(row).ok()?;
    Some(CountedColumn {
        schema: schema.to_owned(),
        namespace: namespace?,
        is_visible: visible? == "1",
        table: table?,
        column: column?,
        place: place?.parse().ok()?,
        counter: counter?,
        last: last?.parse().ok()?,
        start: start?.parse().ok()?,
        routines: Vec::new(),
        filled_by: FilledBy::Statements,
    })
}

/// A column for which the server makes ids.
#[derive(Debug)]
struct MadeColumn {
    name: String,
    /// The expression that makes them; empty if no sequence is behind them.
    by: String,
    /// Its place among the columns of its table, from 0; `None` if tables of one name have it at different places.
    place: Option<usize>,
}

/// The columns of a server for which it makes ids, by the names of their tables.
#[derive(Debug, Default)]
pub struct MadeColumns(HashMap<String, Vec<MadeColumn>>);

impl MadeColumns {
    /// Adds what the server has answered: tables, columns, expressions and places.
    pub fn add(&mut self, rows: Vec<Vec<Option<String>>>) {
        for row in rows {
            let Ok([Some(table), Some(name), by, place]) = <[Option<String>; 4]>::try_from(row) else { continue };
            let place = place.and_then(|place| place.parse::<usize>().ok());
            let of_table = self.0.entry(table).or_default();
            let mut others = of_table.iter_mut().filter(|other| other.name == name && other.place != place);
            let place = if let Some(other) = others.next() {
                other.place = None;
                None
            } else {
                place
            };
            of_table.push(MadeColumn { name, by: by.unwrap_or_default(), place });
        }
    }

    /// The INSERT `text` with the ids that it `made`: the name of a column, which may have its table, and each of them, with tabs between. `None` if the
    /// server does not make them, or the text has no place for them.
    pub fn with_ids(&self, text: &str, made: &str) -> Option<String> {
        let mut parts = made.split('\t');
        let (table, column) = made_column(parts.next()?);
        // The session may look in other schemas than a connection of plimsoll.
        let inserted = inserted_table(text)?;
        let columns = self.0.get(table.unwrap_or(&inserted))?;
        let MadeColumn { by, place, .. } = columns.iter().find(|it| it.name == column)?;
        // What comes from a file is no SQL.
        let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let value = |id: &str| match id.parse::<i64>() {
            Ok(number) if by.contains("nextval(") => Some(format!("{number} + 0 * {by}")),
            _ => is_id(id).then(|| format!("'{id}'")),
        };
        sql::with_inserted(text, column, *place, &parts.map(value).collect::<Option<Vec<String>>>()?)
    }
}

/// The table into which `text` inserts, with its schema if that is written.
fn inserted_table(text: &str) -> Option<String> {
    let table = sql::inserted_table(text)?;
    let tokens = sql::tokens(text, sql::Dialect::Postgres).ok()?;
    let schema = sql::insert_into(text, &tokens, sql::Dialect::Postgres)?.schema;
    Some(schema.map_or_else(|| table.clone(), |schema| format!("{schema}.{table}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_its_schema_is_another_one() {
        assert_eq!(inserted_table("INSERT INTO orders (a) VALUES (1)").as_deref(), Some("orders"));
        assert_eq!(inserted_table("INSERT INTO s2.\"Orders\" (a) VALUES (1)").as_deref(), Some("s2.Orders"));
        assert_eq!(inserted_table("SELECT 1"), None);
    }

    #[test]
    fn an_id_that_is_taken_back_is_none_that_was_set() {
        let (ids, mut told) = (ReplayIds::default(), SetIds::default());
        let of = |made_id, last_id| RecordedAnswer { made_id, last_id, ..RecordedAnswer::default() };
        let mut tell = |answered: &RecordedAnswer| {
            let text = told.statement_before(answered).map(str::to_owned);
            text.iter().for_each(|_| ids.count_told(answered));
            text
        };
        assert_eq!(tell(&of(Some(7), None)).as_deref(), Some("SET insert_id = 7"));
        assert_eq!(tell(&of(Some(0), None)).as_deref(), Some("SET insert_id = 0"));
        assert_eq!(tell(&of(None, Some(7))).as_deref(), Some("SET last_insert_id = 7"));
        assert_eq!(ids.fact(), Some(Fact::new("replay_ids", "1 set")));
    }

    #[test]
    fn an_insert_says_the_ids_of_columns_that_the_server_fills() {
        let mut columns = MadeColumns::default();
        let row = |words: [&str; 4]| words.map(|word| Some(word.to_owned())).to_vec();
        columns.add(vec![row(["t", "id", "nextval('t_id_seq'::regclass)", "0"]), row(["u", "key", "", "1"])]);
        let with = |text: &str, made: &str| columns.with_ids(text, made);
        assert_eq!(
            with("INSERT INTO t (a) VALUES (1), (2) RETURNING id", "id\t7\t8").unwrap(),
            "INSERT INTO t (a, \"id\") OVERRIDING SYSTEM VALUE VALUES (1, 7 + 0 * nextval('t_id_seq'::regclass)), \
             (2, 8 + 0 * nextval('t_id_seq'::regclass)) RETURNING id"
        );
        let uuid = "abababab-abab-abab-abab-abababababab";
        let made = with("INSERT INTO u (a) VALUES (1) RETURNING *", &format!("key\t{uuid}")).unwrap();
        assert!(made.contains(&format!("VALUES (1, '{uuid}')")), "{made}");
        let made = with("INSERT INTO u VALUES (1) RETURNING *", &format!("key\t{uuid}")).unwrap();
        assert!(made.ends_with(&format!("VALUES (1, '{uuid}') RETURNING *")), "{made}");
        assert_eq!(with("INSERT INTO t (a) VALUES (1) RETURNING a", "a\t1"), None, "the client says it");
        assert_eq!(with("INSERT INTO v (a) VALUES (1) RETURNING id", "id\t1"), None, "it has no such table");
        assert_eq!(with("INSERT INTO t (a) VALUES (1) RETURNING id", "id\t1); DROP TABLE t"), None);
    }

    #[test]
    fn the_counter_is_that_of_the_table_of_the_ids() {
        let mut columns = MadeColumns::default();
        let row = |table: &str, by: &str| [table, "id", by, "0"].map(|word| Some(word.to_owned())).to_vec();
        columns.add(vec![row("t", "nextval('t_id_seq')"), row("s2.t", "nextval('s2.t_id_seq')")]);
        let with = |made: &str| columns.with_ids("INSERT INTO t (a) VALUES (1)", made).unwrap();
        assert!(with("id\t7").ends_with("(1, 7 + 0 * nextval('t_id_seq'))"));
        assert!(with("s2.t\u{1f}id\t7").ends_with("(1, 7 + 0 * nextval('s2.t_id_seq'))"));
    }

    #[test]
    fn the_place_of_a_column_is_not_known_if_tables_of_one_name_differ_in_it() {
        let with = |places: &[&str]| {
            let mut columns = MadeColumns::default();
            for place in places {
                columns.add(vec![["t", "id", "", *place].map(|word| Some(word.to_owned())).to_vec()]);
            }
            columns.with_ids("INSERT INTO t VALUES (1, DEFAULT)", "id\t7").is_some()
        };
        assert_eq!(
            [&["1"][..], &["1", "1"], &["1", "2"], &["2", "1"], &["1", "2", "1"]].map(with),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn an_id_is_set_before_its_statement_and_taken_back_before_one_without() {
        let mut ids = SetIds::default();
        let mut before = |made_id, last_id| {
            let answered = RecordedAnswer { made_id, last_id, ..RecordedAnswer::default() };
            ids.statement_before(&answered).map(str::to_owned)
        };
        assert_eq!(before(Some(0), None), None);
        assert_eq!(before(Some(7), None).as_deref(), Some("SET insert_id = 7"));
        assert_eq!(before(Some(8), Some(7)).as_deref(), Some("SET insert_id = 8, last_insert_id = 7"));
        assert_eq!(before(None, None), None, "it makes no id");
        assert_eq!(before(Some(0), None).as_deref(), Some("SET insert_id = 0"));
        assert_eq!(before(Some(0), Some(9)).as_deref(), Some("SET last_insert_id = 9"));
    }

    #[test]
    fn a_column_of_which_the_server_does_not_tell_all_has_no_counter() {
        let row = |words: [&str; 8]| words.map(|word| Some(word.to_owned())).to_vec();
        let column = row(["orders", "id", "0", "orders_id_seq", "500", "1", "public", "1"]);
        let column = counted_column("shop", column).unwrap();
        assert_eq!((column.namespace.as_str(), column.is_visible), ("public", true));
        assert_eq!((column.schema.as_str(), column.place, column.last, column.start), ("shop", 0, 500, 1));
        for last in ["-1", ""] {
            assert_eq!(counted_column("shop", row(["orders", "id", "0", "orders_id_seq", last, "1", "", "1"])), None);
        }
        assert_eq!(counted_column("shop", vec![Some("orders".to_owned()), None]), None);
    }

    #[test]
    fn what_was_set_and_what_was_refused_is_told() {
        let ids = ReplayIds::default();
        assert_eq!(ids.fact(), None);
        ids.count_set();
        assert_eq!(ids.fact().unwrap().value, "1 set");
        ["no right", "another"].iter().for_each(|why| ids.count_refused(why));
        assert_eq!(ids.fact().unwrap().value, "1 set, 2 refused: no right");
        assert_eq!(ids.counters_fact(), None);
        let counters = Some(ReplayCounters { lasts: vec![("orders.id".to_owned(), 500)], behind: 0 });
        let ids = ReplayIds { worked: "; worked out: 2".to_owned(), counters, ..ReplayIds::default() };
        assert_eq!(ids.counters_fact(), Some(Fact::new("replay_counters", "orders.id 500")));
        assert_eq!(ids.fact().unwrap().value, "0 set; worked out: 2");
    }
}
