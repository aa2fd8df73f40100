//! The counters behind the ids of one schema, and what a statement does to them.
//!
//! In: columns that counters fill, a statement that was split, and what it says of these columns. Out: which counters it moves, and how. Limits:
//! of a name that may be several counters none is known any more.

use super::{CountedColumn, FilledBy};
use crate::replay_sql::wanted::LogDialect;
use sql::{CounterMove, CountsFrom, InsertInto, NamedCounter, SaidValue, Token};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Notes into which tables the triggers insert whose `bodies` these are, also by the routines that were noted before. All are of the schema of `columns`.
pub fn note_triggers(columns: &mut [CountedColumn], dialect: LogDialect, bodies: &[String]) {
    let here = SchemaColumns::of_schema(columns);
    let mut counters = BTreeSet::new();
    for body in bodies {
        let body = here.read_body(body, dialect);
        counters.extend(here.routine_places(&body.calls).into_iter().map(|place| here.counted[place].counter.clone()));
        counters.extend(body.counters);
    }
    for column in columns.iter_mut().filter(|column| counters.contains(&column.counter)) {
        column.filled_by = FilledBy::Triggers;
    }
}

/// Notes which procedures and functions insert into which tables, by their names and bodies; one whose body the server does not tell may insert into any.
/// All are of the schema of `columns`.
pub fn note_routines(columns: &mut [CountedColumn], dialect: LogDialect, routines: &[(String, Option<String>)]) {
    let here = SchemaColumns::of_schema(columns);
    let mut bodies: BTreeMap<String, RoutineBody> = BTreeMap::new();
    for (name, body) in routines {
        let any = || RoutineBody {
            counters: columns.iter().map(|it| it.counter.clone()).collect(),
            ..RoutineBody::default()
        };
        let read = body.as_ref().map_or_else(any, |body| here.read_body(body, dialect));
        let of_name = bodies.entry(name.to_lowercase()).or_default();
        of_name.counters.extend(read.counters);
        of_name.calls.extend(read.calls);
    }
    while add_called(&mut bodies) {}
    for column in columns {
        let moving = bodies.iter().filter(|(_, body)| body.counters.contains(&column.counter));
        column.routines = moving.map(|(name, _)| name.clone()).collect();
    }
}

/// What the body of a trigger, a procedure or a function does.
#[derive(Default)]
struct RoutineBody {
    /// The counters that it moves.
    counters: BTreeSet<String>,
    /// What it calls.
    calls: BTreeSet<String>,
}

/// Adds to each of `bodies` the counters that those move which it calls. Whether there were others.
fn add_called(bodies: &mut BTreeMap<String, RoutineBody>) -> bool {
    let of_called = |body: &RoutineBody| -> BTreeSet<String> {
        body.calls.iter().filter_map(|name| bodies.get(name)).flat_map(|called| called.counters.clone()).collect()
    };
    let added: Vec<BTreeSet<String>> = bodies.values().map(of_called).collect();
    let mut has_grown = false;
    for (body, added) in bodies.values_mut().zip(added) {
        let before = body.counters.len();
        body.counters.extend(added);
        has_grown |= body.counters.len() > before;
    }
    has_grown
}

/// The names of what a text calls, in small letters; CALL needs no brackets.
fn called_names(text: &str, tokens: &[Token]) -> BTreeSet<String> {
    let is_sign = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token.is_sign(text, sign));
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_call = token.is_word(text, &["call"]);
        let mut named = at + usize::from(is_call);
        while is_call && is_sign(named + 1, ".") {
            named += 2;
        }
        if is_call || is_sign(at + 1, "(") {
            let name = tokens.get(named).and_then(|token| token.name(text));
            names.extend(name.map(|name| name.to_lowercase()));
        }
    }
    names
}

/// The columns of one schema.
#[derive(Default)]
pub(super) struct SchemaColumns<'a> {
    pub columns: Vec<sql::ValueColumn>,
    counted: Vec<&'a CountedColumn>,
    /// Their numbers among all.
    pub numbers: Vec<u16>,
    /// The places of the columns into whose tables a routine inserts, by its name.
    routines: HashMap<&'a str, Vec<usize>>,
    /// The schema in which tables are that are named without one; `None` if each name is that of one table.
    pub usual: Option<&'a str>,
}

/// Where a session looks for tables that are named without a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaPath<'t> {
    /// Where plimsoll's connection does.
    Usual,
    /// In these, the first one first, as it has said.
    These(&'t [String]),
    /// Anywhere.
    Any,
}

/// What a statement does to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It takes so many ids; `None` if that is not known.
    Takes(Option<u16>),
    /// It goes on behind this one, whatever becomes of the transaction.
    Sets(u64),
    /// It goes on behind this one, unless the transaction is rolled back.
    Restarts(u64),
    /// It goes on behind this one, or where it is not known, if it has given larger ones.
    SetsAbove(u64),
    /// It goes on behind this one if it has given none that is larger.
    Raises(u64),
}

/// That a statement does it to the counter of the column at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub place: usize,
    pub step: Step,
}

/// A statement that was split, and the values of these columns that it says.
#[derive(Clone, Copy)]
pub(super) struct ReadText<'t> {
    pub dialect: LogDialect,
    pub text: &'t str,
    pub tokens: &'t [Token],
    pub said: &'t [SaidValue],
    pub path: SchemaPath<'t>,
}

impl ReadText<'_> {
    fn text_of(&self, said: &SaidValue) -> &str {
        self.tokens[said.token].text(self.text)
    }
}

impl<'a> SchemaColumns<'a> {
    /// Of these, which are of one schema, as far as there are numbers for them.
    fn of_schema(columns: &'a [CountedColumn]) -> SchemaColumns<'a> {
        let mut here = SchemaColumns::default();
        (0..u16::MAX).zip(columns).for_each(|(number, column)| here.add(number, column));
        here
    }

    pub fn add(&mut self, number: u16, counted: &'a CountedColumn) {
        for name in &counted.routines {
            self.routines.entry(name).or_default().push(self.counted.len());
        }
        let (table, column, place) = (counted.table.clone(), counted.column.clone(), counted.place);
        let schema = Some(&counted.namespace).filter(|name| !name.is_empty()).cloned();
        let (also_in, is_visible) = (Vec::new(), counted.is_visible);
        self.columns.push(sql::ValueColumn { schema, also_in, is_visible, table, column, place });
        self.counted.push(counted);
        self.numbers.push(number);
    }

    /// What the `body` of a trigger or a routine does; nothing if it cannot be read.
    fn read_body(&self, body: &str, dialect: LogDialect) -> RoutineBody {
        // A body may be an INSERT alone.
        let text = format!("BEGIN {body}");
        let Ok(tokens) = sql::tokens(&text, dialect.sql()) else { return RoutineBody::default() };
        let named = sql::counter_moves(&text, &tokens, dialect.sql());
        // A function may have a path of its own.
        let moved = named.iter().flat_map(|named| self.moved(named, SchemaPath::Any, dialect));
        let counters = moved.map(|moved| self.counted[moved.place].counter.clone()).collect();
        RoutineBody { counters, calls: called_names(&text, &tokens) }
    }

    /// The places of the columns into whose tables the routines of these `names` insert, one of each counter.
    fn routine_places(&self, names: &BTreeSet<String>) -> Vec<usize> {
        let places = names.iter().filter_map(|name| self.routines.get(name.as_str())).flatten();
        let places: BTreeSet<usize> = places.copied().collect();
        self.one_of_each_counter(places)
    }

    /// The first of `places` with each counter.
    fn one_of_each_counter(&self, places: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut counters: Vec<&str> = Vec::new();
        let mut first = Vec::new();
        for place in places {
            let counter = self.counted[place].counter.as_str();
            if !counters.contains(&counter) {
                counters.push(counter);
                first.push(place);
            }
        }
        first
    }

    /// The places of the columns that `table` may have, written with a schema or without: one, unless tables of that name are in several schemas.
    pub fn places_of(
        &self,
        schema: Option<&str>,
        table: &str,
        path: SchemaPath<'_>,
        dialect: LogDialect,
    ) -> Vec<usize> {
        // In MySQL the schema has told these columns from others before.
        let is_in = |place: &usize| {
            let namespace = &self.counted[*place].namespace;
            namespace.is_empty() || schema.is_none_or(|schema| schema == namespace)
        };
        let is_same = |place: &usize| dialect.sql().is_same_name(&self.counted[*place].table, table);
        let all: Vec<usize> = (0..self.counted.len()).filter(|place| is_same(place) && is_in(place)).collect();
        if schema.is_some() || all.len() < 2 {
            return all;
        }
        let in_schema = |name: &String| all.iter().copied().find(|place| self.counted[*place].namespace == *name);
        let visible = all.iter().copied().find(|place| self.counted[*place].is_visible);
        match path {
            SchemaPath::Usual => visible.map_or_else(|| all.clone(), |visible| vec![visible]),
            SchemaPath::These(names) => names.iter().find_map(in_schema).into_iter().collect(),
            SchemaPath::Any => all.clone(),
        }
    }

    /// Finds out in which schema tables are that are named without one. It counts where several schemas have tables of one name.
    pub fn find_usual(&mut self) {
        let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for counted in self.counted.iter().filter(|it| !it.namespace.is_empty()) {
            tables.entry(&counted.table).or_default().push(&counted.namespace);
        }
        for (column, counted) in self.columns.iter_mut().zip(&self.counted) {
            let all = tables.get(counted.table.as_str()).into_iter().flatten();
            column.also_in = all.filter(|name| **name != counted.namespace).map(|name| (*name).to_owned()).collect();
        }
        let is_double = |place: &usize| self.counted[*place].is_visible && !self.columns[*place].also_in.is_empty();
        let found = (0..self.columns.len()).find(is_double);
        self.usual = found.map(|place| self.counted[place].namespace.as_str());
    }

    /// The table of the column at `place` if triggers insert into it.
    pub fn triggered(&self, place: usize) -> Option<&'a str> {
        Some(self.counted[place]).filter(|it| it.filled_by == FilledBy::Triggers).map(|it| it.table.as_str())
    }

    /// What the statement does to counters: what it `inserts`, with the places of the columns that may be meant, first.
    pub fn steps(&self, read: ReadText<'_>, inserts: Option<&InsertInto>, places: &[usize]) -> Vec<Moved> {
        let one = if let [place] = places { Some(*place) } else { None };
        let inserts = inserts.zip(one);
        let several: &[usize] = if one.is_some() { &[] } else { places };
        let unsure = several.iter().map(|place| Moved { place: *place, step: Step::Takes(None) });
        let is_own = |moved: &Moved| {
            // The number that an INSERT takes by name is that of its row.
            inserts
                .is_some_and(|(_, place)| moved.step == Step::Takes(None) && self.is_same_counter(moved.place, place))
        };
        let inserted = inserts.and_then(|(insert, place)| {
            Some(Moved { place, step: inserting(read, place, insert.rows.and_then(|rows| u16::try_from(rows).ok()))? })
        });
        let named = sql::counter_moves(read.text, read.tokens, read.dialect.sql());
        let others =
            named.iter().flat_map(|named| self.moved(named, read.path, read.dialect)).filter(|moved| !is_own(moved));
        let called = if self.routines.is_empty() { BTreeSet::new() } else { called_names(read.text, read.tokens) };
        let called = self.routine_places(&called).into_iter().map(|place| Moved { place, step: Step::Takes(None) });
        let all = inserted.into_iter().chain(unsure).chain(others).chain(called);
        all.filter(|moved| self.triggered(moved.place).is_none()).collect()
    }

    fn is_same_counter(&self, one: usize, other: usize) -> bool {
        self.counted[one].counter == self.counted[other].counter
    }

    /// The counters that `named` moves, each once.
    fn moved(&self, named: &CounterMove, path: SchemaPath<'_>, dialect: LogDialect) -> Vec<Moved> {
        let places: Vec<usize> = match &named.counter {
            NamedCounter::OfTable(name) => self.places_of(name.schema.as_deref(), &name.table, path, dialect),
            NamedCounter::Sequence(name) => {
                let is_it = |place: &usize| sequence_name(&self.counted[*place].counter) == name.table;
                (0..self.counted.len()).filter(is_it).collect()
            }
            NamedCounter::Any => (0..self.counted.len()).collect(),
        };
        let places = self.one_of_each_counter(places);
        let is_one = places.len() == 1;
        let start = |place: usize| self.counted[place].start.saturating_sub(1);
        let step = |place: usize| match (named.to, dialect) {
            _ if !is_one => Step::Takes(None),
            (CountsFrom::Unknown, _) => Step::Takes(None),
            (CountsFrom::Last(last), _) => Step::Sets(last),
            // What changes a table commits by itself there.
            (CountsFrom::Start, LogDialect::Mysql) => Step::Sets(start(place)),
            // The server does not go back below the ids that the table has.
            (CountsFrom::Restart(last), LogDialect::Mysql) => Step::SetsAbove(last),
            (CountsFrom::Start, LogDialect::Postgres) => Step::Restarts(start(place)),
            (CountsFrom::Restart(last), LogDialect::Postgres) => Step::Restarts(last),
        };
        places.iter().map(|place| Moved { place: *place, step: step(*place) }).collect()
    }
}

/// What an INSERT of so many `rows` does to the counter of the column at `place`.
fn inserting(read: ReadText<'_>, place: usize, rows: Option<u16>) -> Option<Step> {
    // MySQL makes an id in place of a 0.
    let says_id = |it: &&SaidValue| it.column == place && read.text_of(it) != "0";
    let said: Vec<&SaidValue> = read.said.iter().filter(says_id).collect();
    if said.is_empty() {
        return Some(Step::Takes(rows));
    }
    if rows.is_some_and(|rows| said.len() < usize::from(rows)) {
        return Some(Step::Takes(None));
    }
    // MySQL goes on behind an id that it is given.
    let is_raised = |it: &&&SaidValue| read.dialect == LogDialect::Mysql && !it.is_negative;
    let raised = said.iter().filter(is_raised).filter_map(|it| read.text_of(it).trim_matches('\'').parse::<u64>().ok());
    raised.max().map(Step::Raises)
}

/// The name of a sequence without its schema: `Odd` of `s2."Odd"`.
fn sequence_name(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `orders`, of `sa` and `sb`, which share a sequence, and of `audit`, into which a trigger inserts.
    fn columns() -> [CountedColumn; 4] {
        let columns =
            [("orders", "orders_id_seq"), ("sa", "s2.shared_seq"), ("sb", "s2.shared_seq"), ("audit", "audit_id_seq")];
        columns.map(|(table, counter)| CountedColumn {
            schema: "shop".into(),
            namespace: String::new(),
            is_visible: true,
            table: table.into(),
            column: "id".into(),
            place: 0,
            counter: counter.into(),
            last: 500,
            start: 101,
            routines: Vec::new(),
            filled_by: if table == "audit" { FilledBy::Triggers } else { FilledBy::Statements },
        })
    }

    /// What `text` does to the ids of the columns: `orders Takes(Some(2))`.
    fn steps(text: &str, dialect: LogDialect) -> String {
        steps_of(&columns(), text, dialect)
    }

    fn steps_of(columns: &[CountedColumn], text: &str, dialect: LogDialect) -> String {
        let here = SchemaColumns::of_schema(columns);
        let tokens = sql::tokens(text, dialect.sql()).unwrap();
        let said = sql::said_values(text, &tokens, dialect.sql(), None, &here.columns).values;
        let insert = sql::insert_into(text, &tokens, dialect.sql());
        let path = SchemaPath::Usual;
        let places =
            insert.as_ref().map(|insert| here.places_of(None, &insert.table, path, dialect)).unwrap_or_default();
        let read = ReadText { dialect, text, tokens: &tokens, said: &said, path };
        let steps = here.steps(read, insert.as_ref(), &places);
        let told = steps.into_iter().map(|moved| format!("{} {:?}", columns[moved.place].table, moved.step));
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_a_log_does_not_show_of_a_counter_is_not_known() {
        for (text, expected) in [
            ("INSERT INTO orders (a) VALUES (1), (2)", "orders Takes(Some(2))"),
            ("INSERT INTO orders (a) SELECT 1", "orders Takes(None)"),
            ("INSERT INTO orders (id, a) VALUES (nextval('orders_id_seq'), 1)", "orders Takes(Some(1))"),
            ("INSERT INTO orders (a) VALUES (nextval('shared_seq'))", "orders Takes(Some(1)), sa Takes(None)"),
            ("WITH x AS (INSERT INTO sb (v) VALUES ('w') RETURNING id) SELECT id FROM x", "sb Takes(None)"),
            ("MERGE INTO sa USING t ON sa.id = t.i WHEN NOT MATCHED THEN INSERT (v) VALUES ('m')", "sa Takes(None)"),
            ("SELECT nextval('shared_seq')", "sa Takes(None)"),
            ("SELECT nextval($1)", "orders Takes(None), sa Takes(None)"),
            ("INSERT INTO orders (id, a) VALUES (9000, 1)", ""),
            ("INSERT INTO orders (id, a) VALUES (DEFAULT, 1), (9000, 1)", "orders Takes(None)"),
            ("INSERT INTO audit (a) VALUES (1)", ""),
            ("SELECT 1", ""),
        ] {
            assert_eq!(steps(text, LogDialect::Postgres), expected, "{text}");
        }
    }

    #[test]
    fn the_tables_into_which_triggers_insert_are_noted() {
        let triggered = |dialect: LogDialect, body: &str| {
            let mut columns = columns().map(|column| CountedColumn { filled_by: FilledBy::Statements, ..column });
            note_triggers(&mut columns, dialect, &[body.to_owned(), "it is 'not closed".to_owned()]);
            let found = columns.iter().filter(|column| column.filled_by == FilledBy::Triggers);
            found.map(|column| column.table.as_str()).collect::<Vec<_>>().join(" ")
        };
        let function = "BEGIN INSERT INTO audit (order_id, what) VALUES (NEW.id, TG_OP); RETURN NEW; END;";
        assert_eq!(triggered(LogDialect::Postgres, function), "audit");
        assert_eq!(triggered(LogDialect::Postgres, "BEGIN NEW.v := nextval('shared_seq'); RETURN NEW; END"), "sa sb");
        assert_eq!(triggered(LogDialect::Postgres, "BEGIN UPDATE audit SET what = 'x'; RETURN NEW; END"), "");
        assert_eq!(triggered(LogDialect::Mysql, "INSERT INTO `audit` SET order_id = NEW.id"), "audit");
    }

    #[test]
    fn what_a_routine_inserts_is_not_known() {
        let routines = [
            ("Add_Order", Some("BEGIN INSERT INTO orders (a) VALUES (p); CALL note_it(p); END")),
            ("note_it", Some("INSERT INTO `audit` SET order_id = p")),
            ("price", Some("RETURN 5")),
            ("hidden", None),
        ];
        let routines = routines.map(|(name, body)| (name.to_owned(), body.map(str::to_owned)));
        let mut columns = columns().map(|column| CountedColumn { filled_by: FilledBy::Statements, ..column });
        note_routines(&mut columns, LogDialect::Mysql, &routines);
        for (text, expected) in [
            ("CALL add_order(7)", "orders Takes(None), audit Takes(None)"),
            ("call shop.`Add_Order`", "orders Takes(None), audit Takes(None)"),
            ("SELECT note_it (5), price(2)", "audit Takes(None)"),
            ("INSERT INTO orders (a) VALUES (note_it(1))", "orders Takes(Some(1)), audit Takes(None)"),
            ("CALL hidden()", "orders Takes(None), sa Takes(None), audit Takes(None)"),
            ("SELECT price(2), add_order FROM t", ""),
        ] {
            assert_eq!(steps_of(&columns, text, LogDialect::Mysql), expected, "{text}");
        }
        // A trigger that calls one.
        note_triggers(&mut columns, LogDialect::Mysql, &["CALL note_it(NEW.id)".to_owned()]);
        let triggered = columns.iter().filter(|column| column.filled_by == FilledBy::Triggers);
        assert_eq!(triggered.map(|column| column.table.as_str()).collect::<Vec<_>>(), ["audit"]);
    }

    #[test]
    fn a_counter_is_set_as_its_server_does() {
        for (text, expected) in [
            ("SELECT setval('orders_id_seq', 3000)", "orders Sets(3000)"),
            ("SELECT setval('shared_seq', 3000, false)", "sa Sets(2999)"),
            ("TRUNCATE orders RESTART IDENTITY", "orders Restarts(100)"),
            ("ALTER SEQUENCE orders_id_seq RESTART WITH 7", "orders Restarts(6)"),
        ] {
            assert_eq!(steps(text, LogDialect::Postgres), expected, "{text}");
        }
        for (text, expected) in [
            ("ALTER TABLE orders AUTO_INCREMENT = 7", "orders SetsAbove(6)"),
            ("TRUNCATE orders", "orders Sets(100)"),
            ("INSERT INTO orders (id, a) VALUES (9000, 1), ('9001', 1)", "orders Raises(9001)"),
            ("INSERT INTO orders (id, a) VALUES (0, 1)", "orders Takes(Some(1))"),
            (
                "SET STATEMENT max_statement_time = 5 FOR INSERT INTO orders (a) VALUES (1), (2)",
                "orders Takes(Some(2))",
            ),
            ("SET STATEMENT max_statement_time = 5 FOR INSERT INTO orders (id) VALUES (9000)", "orders Raises(9000)"),
            ("SET STATEMENT max_statement_time = 5 FOR INSERT INTO orders (a) SELECT 1", "orders Takes(None)"),
        ] {
            assert_eq!(steps(text, LogDialect::Mysql), expected, "{text}");
        }
    }
}
