//! Blocks of rows in MariaDB and MySQL. Each way of sending them keeps every value as it is; if it cannot, the load fails.

use crate::insert::asked;
use crate::lab::{
    Seen, directory, fact, load_data, loading_phase, names_in, own_trial, perform, prepared_with_facts,
    server_programs, start, trial,
};
use crate::schemas::{ask, visiting};
use crate::visited::Visited;
use engine::{Instance, WorkloadClients};
use load::{LoadEnd, Sink};
use model::{Event, FailureClass, IntervalRow, Phase, Tick, Trial, Value};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// The private servers that take them.
fn mysql_servers() -> impl Iterator<Item = &'static str> {
    server_programs().map(|engine| engine.entry.name).filter(|name| name.starts_with('m'))
}

/// `setting` of the server `engine`.
fn variable(engine: &str, setting: &str) -> String {
    format!("{}.{setting}", engine.split(':').next().unwrap())
}

/// The two ways of rows, each as the value of `local_infile`.
const WAYS: [&str; 2] = ["ON", "OFF"];

/// Every character that means something to a server, in rows of every type.
const ODD: &str = r#"
[[table]]
name = "odd"
rows = 12000
primary_key = "id"
column = [
  { name = "id", type = "int", serial = true },
  { name = "c", type = "varchar(60)", value = "tab\t line\n return\r slash\\ \\N quote' \"double\" \u0001 NULL ;--" },
  { name = "empty", type = "varchar(5)", value = "" },
  { name = "v", type = "varchar(40)", nulls = 0.1 },
  { name = "price", type = "decimal(8,2)", min = -10, max = 99.99, nulls = 0.25 },
  { name = "weight", type = "double", min = -3, max = 10 },
  { name = "ratio", type = "real", min = -1, max = 1 },
  { name = "paid", type = "boolean", common = [0.9], nulls = 0.2 },
  { name = "day", type = "date", min = "1999-12-31", max = "2020-12-31" },
  { name = "at", type = "datetime", nulls = 0.5 },
  { name = "big", type = "bigint", min = -9000000000, max = 9000000000 },
  { name = "note", type = "text", length = [0, 900], nulls = 0.5 },
]
index = [{ columns = ["v"] }]
[[statement]]
name = "look"
sql = "SELECT c FROM odd WHERE id = :odd.id"
"#;
const CONSTANT: &str = "tab\t line\n return\r slash\\ \\N quote' \"double\" \u{1} NULL ;--";

/// The answers to questions about all rows, in the schema that a visitor has made.
fn answers(engine: &str, theirs: &Path, schema: &str) -> Vec<String> {
    let questions = [
        "count(*), count(DISTINCT c), min(hex(c)), max(empty), count(v), count(note), max(length(note))",
        "sum(crc32(concat_ws('|', id, v, price, weight, ratio, paid, day, at, big, note)))",
    ];
    let ask = |question: &str| ask(engine, theirs, &format!("SELECT {question} FROM {schema}.odd"));
    questions.map(ask).into()
}

#[test]
fn rows_are_the_same_by_load_data_and_by_inserts_and_in_small_packets() {
    let (parent, hex) = (directory(), CONSTANT.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02X}")));
    for engine in mysql_servers() {
        let (theirs, mut expected) = (Visited::of(engine), None);
        let url = visiting(engine, theirs.path()).target.params.word("url").to_owned();
        let trial = own_trial("mysql", ODD, 1.0, &[("clients", "3"), ("url", &url)]);
        for (file, packet) in WAYS.into_iter().flat_map(|way| [(way, "16777216"), (way, "65536")]) {
            let limits = format!("SET GLOBAL local_infile = {file}, GLOBAL max_allowed_packet = {packet}");
            ask(engine, theirs.path(), &limits);
            let (instance, facts) = prepared_with_facts(&trial, parent.path());
            let schema = fact(&*instance, "server.schema").expect("it has one");
            let answers = answers(engine, theirs.path(), &schema);
            assert!(answers[0].starts_with(&format!("12000\t1\t{hex}\t\t10800\t6000\t")), "{answers:?}");
            assert_eq!(*expected.get_or_insert_with(|| answers.clone()), answers, "{engine} {file} {packet}");
            let way = facts.iter().find(|fact| fact.name == "load.way").unwrap();
            assert_eq!(way.value, if file == "ON" { "LOAD DATA" } else { "INSERT of many rows" });
            let of_table = "FROM information_schema.statistics WHERE table_name = 'odd'";
            let indexes = ask(engine, theirs.path(), &format!("SELECT count(*) {of_table}"));
            assert_eq!(indexes, "2", "the index is made afterwards");
            instance.stop().unwrap();
        }
    }
}

/// How the load of `trial` ends if `statement` is executed when its tables are there.
fn load_after(trial: &Trial, parent: &Path, statement: impl Fn(&dyn Instance)) -> (Option<FailureClass>, String) {
    let mut instance = start(trial, parent).unwrap();
    let loading = instance.make_loaders(trial).unwrap().unwrap();
    statement(&*instance);
    let ended = load_data(loading, trial).ended;
    instance.stop().unwrap();
    let LoadEnd::Failed { class, text } = ended else { panic!("it ended {ended:?}") };
    (class, text)
}

#[test]
fn a_row_that_the_server_would_leave_out_or_change_is_a_failure() {
    let parent = directory();
    for engine in mysql_servers() {
        let theirs = Visited::of(engine);
        let url = visiting(engine, theirs.path()).target.params.word("url").to_owned();
        let filling = trial("mysql", "oltp", &[("url", &url), ("table_rows", "20000")]);
        let cases = [
            ("INSERT INTO sbtest1 VALUES (7, 1, 'a', 'b')", "Duplicate entry '7'"),
            ("ALTER TABLE sbtest1 MODIFY c CHAR(100) NOT NULL", "column 'c' at row 1"),
            ("ALTER TABLE sbtest1 MODIFY id TINYINT NOT NULL", "column 'id' at row"),
            ("ALTER TABLE sbtest1 DROP COLUMN pad", "Unknown column 'pad'"),
            ("DROP TABLE sbtest1", "sbtest1' doesn't exist"),
        ];
        for (way, (statement, why)) in WAYS.into_iter().flat_map(|way| cases.map(|case| (way, case))) {
            ask(engine, theirs.path(), &format!("SET GLOBAL local_infile = {way}"));
            let (class, text) = load_after(&filling, parent.path(), |visitor| {
                let schema = fact(visitor, "server.schema").expect("it has one");
                ask(engine, theirs.path(), &format!("USE {schema}; {statement}"));
            });
            assert!(class == Some(FailureClass::Other) && text.contains(why), "{engine} {way}: {text}");
            assert!(!text.contains('\n') && text.contains("operation `load`"), "{text}");
        }
    }
    assert_eq!(names_in(parent.path()), [""; 0]);
}

#[test]
fn values_that_a_lax_server_would_cut_are_a_failure_in_both_ways() {
    let parent = directory();
    for (engine, way) in mysql_servers().flat_map(|engine| WAYS.map(|way| (engine, way))) {
        let theirs = Visited::of(engine);
        ask(engine, theirs.path(), &format!("SET GLOBAL sql_mode = '', GLOBAL local_infile = {way}"));
        let (_, text) = load_after(&visiting(engine, theirs.path()), parent.path(), |visitor| {
            let schema = fact(visitor, "server.schema").expect("it has one");
            ask(engine, theirs.path(), &format!("ALTER TABLE {schema}.sbtest1 MODIFY c CHAR(100) NOT NULL"));
        });
        assert!(text.contains("the server changed a value") && text.contains("column 'c' at row 1"), "{way}: {text}");
    }
}

#[test]
fn an_account_that_may_not_insert_is_told_so() {
    let parent = directory();
    for (engine, way) in mysql_servers().flat_map(|engine| WAYS.map(|way| (engine, way))) {
        let theirs = Visited::of(engine);
        let guest = "CREATE USER guest@localhost; GRANT ALL ON `plimsoll\\_%`.* TO guest@localhost";
        ask(engine, theirs.path(), &format!("SET GLOBAL local_infile = {way}; {guest}"));
        let mut visitor = visiting(engine, theirs.path());
        let url = visitor.target.params.word("url").replace("root@", "guest@");
        visitor.target.params.0.insert("url".into(), Value::Word(url));
        let (class, text) = load_after(&visitor, parent.path(), |_| {
            ask(engine, theirs.path(), "REVOKE INSERT ON `plimsoll\\_%`.* FROM guest@localhost");
        });
        assert!(class == Some(FailureClass::Other) && text.contains("INSERT command denied to user 'guest'"), "{text}");
    }
}

#[test]
fn a_row_that_is_longer_than_a_packet_is_named_where_it_must_fit_into_one() {
    let parent = directory();
    for engine in mysql_servers() {
        let (local, longest) = (variable(engine, "local_infile"), variable(engine, "max_allowed_packet"));
        let settings = [("durability", "none"), (&*local, "OFF"), (&*longest, "1024")];
        let long = ODD.replace("[0, 900]", "[2000, 2000]");
        let (_, text) = load_after(&own_trial(engine, &long, 0.01, &settings), parent.path(), |_| ());
        assert!(text.contains("is longer than max_allowed_packet (1024)"), "{text}");
    }
}

/// Kills a process as soon as a block is loaded.
struct Killing(Seen, Option<Pid>);

impl Sink for Killing {
    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        self.0.begin_phase(phase, start);
    }
    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, now: Tick) {
        self.0.interval(rows, events, now);
        if self.0.total(Phase::Prepare).0 > 0
            && let Some(victim) = self.1.take()
        {
            kill_process(victim, Signal::KILL).unwrap();
        }
    }
    fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
        self.0.end_phase(phase, end, offered, unserved);
    }
}

/// An instance of `engine` that takes rows in one `way`, and loaders that are at work for long.
fn long_load(engine: &'static str, way: &str, parent: &Path) -> (Trial, Box<dyn Instance>, WorkloadClients) {
    let local = variable(engine, "local_infile");
    let filling = trial(engine, "oltp", &[(&*local, way), ("durability", "none"), ("table_rows", "5000000")]);
    let mut instance = start(&filling, parent).unwrap();
    let loading = instance.make_loaders(&filling).unwrap().unwrap();
    (filling, instance, loading)
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_load_ends_it_and_leaves_nothing() {
    let parent = directory();
    for (engine, way) in mysql_servers().flat_map(|engine| WAYS.map(|way| (engine, way))) {
        let (filling, instance, loading) = long_load(engine, way, parent.path());
        let mut sink = Killing(Default::default(), Some(first_process(&*instance)));
        let ended = perform(loading, &loading_phase(), &filling, &mut sink).ended;
        let LoadEnd::Failed { class, text } = &ended else { panic!("it ended {ended:?}") };
        assert!(*class == Some(FailureClass::Lost) && sink.1.is_none(), "{text}");
        assert!(instance.describe_trouble().unwrap().contains("was killed by signal 9"));
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), [""; 0]);
    }
}

fn first_process(instance: &dyn Instance) -> Pid {
    Pid::from_raw(instance.report().processes[0] as i32).unwrap()
}

#[test]
fn a_connection_that_is_killed_in_the_middle_of_a_load_leaves_whole_blocks() {
    let parent = directory();
    for (engine, way) in mysql_servers().flat_map(|engine| WAYS.map(|way| (engine, way))) {
        let (filling, instance, loading) = long_load(engine, way, parent.path());
        let of_load = "SELECT id FROM information_schema.processlist WHERE db = 'plimsoll' AND info LIKE '%INTO%sbtest1%' \
                       AND info NOT LIKE '%processlist%' LIMIT 1";
        let (class, text) = std::thread::scope(|scope| {
            let killer = scope.spawn(|| {
                let victim = (0..10_000).find_map(|_| asked(engine, parent.path(), of_load).pop());
                asked(engine, parent.path(), &format!("KILL CONNECTION {}", victim.expect("a loader is at work")));
            });
            let ended = load_data(loading, &filling).ended;
            killer.join().unwrap();
            let LoadEnd::Failed { class, text } = ended else { panic!("it ended {ended:?}") };
            (class.unwrap(), text)
        });
        assert!(class.is_of_connection(), "{class:?}: {text}");
        let rows: u64 = asked(engine, parent.path(), "SELECT count(*) FROM sbtest1")[0].parse().unwrap();
        assert_eq!(rows % 5000, 0, "{rows} rows");
        instance.stop().unwrap();
    }
}
