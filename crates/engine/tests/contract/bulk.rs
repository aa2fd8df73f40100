//! Loads in blocks of rows on real servers: texts arrive as they were, and a load that fails says why in one line.

use crate::failures::SmallDisk;
use crate::lab::{
    directory, load_data, loading_phase, names_in, own_trial, perform, prepared, servers, sql_engines, start, trial,
};
use crate::schemas::{ask, visiting};
use crate::visited::{TableHome, Visited};
use engine::Instance;
use load::{LoadEnd, LoadOutcome, Sink};
use model::{Event, FailureClass, IntervalRow, Phase, Tick, Trial};
use rustix::process::{Pid, Signal, kill_process};

/// The characters by which a text of rows is cut into rows and values, and what such a text writes for NULL and for its end.
const ODD: &str = "tab\tline\nreturn\rback\\slash \\N \\. quote' \"double\" end\\";

const TEXTS: &str = r#"
[[table]]
name = "texts"
rows = 700
primary_key = "id"
column = [
  { name = "id", type = "int", serial = true },
  { name = "odd", type = "varchar(80)", value = "tab\tline\nreturn\rback\\slash \\N \\. quote' \"double\" end\\" },
  { name = "empty", type = "varchar(5)", value = "" },
  { name = "maybe", type = "varchar(5)", value = "x", nulls = 0.5 },
  { name = "half", type = "double", value = -0.5 },
]
[[statement]]
name = "one"
sql = "SELECT odd FROM texts WHERE id = :texts.id"
"#;

#[test]
fn texts_arrive_as_they_were() {
    let hex: String = ODD.bytes().map(|byte| format!("{byte:02x}")).collect();
    for engine in sql_engines() {
        let home = TableHome::of(engine);
        let instance = prepared(&own_trial(home.engine, TEXTS, 1.0, &[home.setting()]), home.path());
        let in_hex = if engine == "postgres" { "encode(convert_to(odd, 'UTF8'), 'hex')" } else { "lower(hex(odd))" };
        let ask = |question: &str| home.asked(&*instance, question);
        assert_eq!(ask(&format!("SELECT DISTINCT {in_hex} FROM texts")), [&*hex], "{engine}");
        let count = |condition: &str| {
            ask(&format!("SELECT cast(count(*) AS char(12)) FROM texts WHERE {condition}"))[0].trim().to_owned()
        };
        let all = ["empty = ''", "maybe IS NULL", "maybe = 'x'", "half = -0.5"].map(count);
        assert_eq!(all, ["700", "350", "350", "700"], "{engine}");
        instance.stop().unwrap();
    }
}

/// How the load of `trial` ends if `meddle` is called when the tables are there and have no rows.
fn ended(instance: &mut dyn Instance, trial: &Trial, meddle: impl FnOnce()) -> (Option<FailureClass>, String) {
    let loading = instance.make_loaders(trial).unwrap().expect("there are rows");
    meddle();
    failure(load_data(loading, trial))
}

fn failure(outcome: LoadOutcome) -> (Option<FailureClass>, String) {
    let LoadEnd::Failed { class, text } = outcome.ended else { panic!("it ended {:?}", outcome.ended) };
    println!("{text}");
    assert!(!text.contains(char::is_control), "{text}");
    (class, text)
}

fn has_postgres() -> bool {
    servers().any(|engine| engine.entry.name == "postgres")
}

#[test]
fn a_role_that_may_not_insert_and_a_key_that_is_there_are_named() {
    if !has_postgres() {
        return;
    }
    let parent = directory();
    let theirs = Visited::of("postgres");
    let ask = |statements: &str| ask("postgres", theirs.path(), statements);
    ask("CREATE ROLE guest LOGIN; GRANT CREATE ON DATABASE postgres TO guest");
    let mut visiting = visiting("postgres", theirs.path());
    let url = visiting.target.params.word("url").replace("//plimsoll@", "//guest@");
    visiting.target.params.0.insert("url".into(), model::Value::Word(url));

    let of_schema = |statement: &str| {
        let schema = ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll\\_%'");
        ask(&statement.replace("sbtest1", &format!("{schema}.sbtest1")));
    };
    let mut visitor = start(&visiting, parent.path()).unwrap();
    let (class, text) = ended(&mut *visitor, &visiting, || of_schema("REVOKE INSERT ON sbtest1 FROM guest"));
    assert_eq!(class, Some(FailureClass::Other));
    assert!(text.ends_with("operation `load`: ERROR 42501: permission denied for table sbtest1"), "{text}");
    visitor.stop().unwrap();

    let mut visitor = start(&visiting, parent.path()).unwrap();
    let (_, text) = ended(&mut *visitor, &visiting, || of_schema("INSERT INTO sbtest1 VALUES (77, 1, 'c', 'pad')"));
    assert!(text.contains("ERROR 23505: duplicate key") && text.ends_with("Key (id)=(77) already exists."), "{text}");
    visitor.stop().unwrap();
}

/// Kills a process as soon as a block was loaded.
struct Killing(Option<Pid>);

impl Sink for Killing {
    fn begin_phase(&mut self, _: Phase, _: Tick) {}
    fn interval(&mut self, rows: Vec<IntervalRow>, _: Vec<Event>, _: Tick) {
        if rows.iter().flat_map(|row| &row.kinds).any(|kind| kind.ok > 0)
            && let Some(victim) = self.0.take()
        {
            kill_process(victim, Signal::KILL).unwrap();
        }
    }
    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}

#[test]
fn a_server_that_is_killed_in_mid_load_ends_it_and_leaves_nothing() {
    for engine in servers().filter(|engine| engine.entry.name == "postgres") {
        let parent = directory();
        let trial = trial(engine.entry.name, "oltp", &[("table_rows", "1000000"), ("durability", "none")]);
        let mut instance = start(&trial, parent.path()).unwrap();
        let loading = instance.make_loaders(&trial).unwrap().unwrap();
        let mut killing = Killing(Pid::from_raw(instance.report().processes[0] as i32));
        let (class, text) = failure(perform(loading, &loading_phase(), &trial, &mut killing));
        assert_eq!((killing.0, class), (None, Some(FailureClass::Lost)), "{text}");
        assert!(instance.describe_trouble().unwrap().contains("was killed by signal 9"));
        drop(instance.stop());
        assert_eq!(names_in(parent.path()), [""; 0]);
    }
}

#[test]
fn a_server_that_fills_the_disk_in_mid_load_says_so() {
    if !has_postgres() {
        return;
    }
    let Some(disk) = SmallDisk::mount("160m") else { return };
    let trial = trial("postgres", "oltp", &[("table_rows", "1000000"), ("durability", "none")]);
    let mut instance = start(&trial, disk.path()).unwrap();
    let (class, text) = ended(&mut *instance, &trial, || {});
    // The other loader may be the first to fail: a server that cannot write its log ends all connections.
    let is_full = class == Some(FailureClass::NoSpace) && text.contains("No space left on device");
    assert!(is_full || class == Some(FailureClass::Lost), "{text}");
    drop(instance.stop());
    assert_eq!(names_in(disk.path()), [""; 0]);
}
