//! The steps of the insert benchmark, one after the other on the same data, on every engine.

use crate::lab::{self, Seen, directory, found, is_key_value, names_in, pairs, prepared, run, run_phase, trial};
use engine::Instance;
use host::TargetError;
use load::{LoadEnd, Sink};
use model::{Event, IntervalRow, OpKind, Phase, Tick};
use rusqlite::Connection;
use std::path::Path;
use std::process::Command;

/// As many commits as clients can share unevenly, the last of them short.
const ROWS: u64 = 2_345;

/// Engines that keep data here, as far as they are to be had.
fn engines() -> impl Iterator<Item = &'static str> {
    let with_insert = pairs().filter(|(engine, workload)| !engine.scripted && workload.entry.name == "insert");
    with_insert.map(|(engine, _)| engine.entry.name)
}

/// The settings of `step`, which ends by its rows or by `ops_max`.
fn settings<'a>(step: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let rows =
        [("step", step), ("rows", "2345"), ("rows_per_commit", "50"), ("small_commit", "7"), ("schema", "ibench")];
    let ends = [("time", "600s"), ("ops_max", if step.starts_with('q') { "200" } else { "none" }), ("clients", "3")];
    [&rows[..], &ends, &[("durability", "none")], more].concat()
}

/// Performs all of `step` on `instance`. Returns how many operations of its own that were, without those of the background.
fn perform(instance: &mut dyn Instance, engine: &str, step: &str, more: &[(&str, &str)]) -> u64 {
    let trial = trial(engine, "insert", &settings(step, more));
    let (outcome, seen): (_, Seen) = run(instance, &trial).unwrap();
    assert_eq!((outcome.ended, outcome.hung), (LoadEnd::AsPlanned, vec![]), "{engine} {step}: {:?}", seen.events);
    assert_eq!(seen.total(Phase::Run).1, 0, "{engine} {step}: {:?}", seen.events);
    seen.counts[&(Phase::Run, 0)].0
}

/// What became of the arrivals of a run phase, in addition to what else was seen of it.
#[derive(Default)]
struct Arrivals {
    seen: Seen,
    offered: u64,
    unserved: u64,
}

impl Sink for Arrivals {
    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        self.seen.begin_phase(phase, start);
    }
    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, now: Tick) {
        self.seen.interval(rows, events, now);
    }
    fn end_phase(&mut self, _: Phase, _: Tick, offered: u64, unserved: u64) {
        (self.offered, self.unserved) = (offered, unserved);
    }
}

/// What the engine counts in its tables: rows, and on a key-value engine the entries of indexes too.
fn counted(instance: &mut dyn Instance, parent: &Path) -> u64 {
    instance.finish_load().unwrap();
    let manifest = std::fs::read_to_string(found(parent, "MANIFEST.json")).unwrap();
    let amount = manifest.split("\"amount\":").nth(1).expect("the manifest says how much there is");
    let digits: String = amount.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The answer to a question to the private server or database in `parent`, in lines.
pub fn asked(engine: &str, parent: &Path, question: &str) -> Vec<String> {
    let output = match engine {
        "sqlite" => {
            let connection = Connection::open(found(parent, "plimsoll.db")).unwrap();
            let mut statement = connection.prepare(question).unwrap();
            return statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        }
        "postgres" => {
            let version = found(parent, "PG_VERSION");
            let dir = version.parent().unwrap();
            // The name of the socket ends in the port, which is another one if the server is on the network, too.
            let socket = names_in(dir).into_iter().find_map(|name| name.strip_prefix(".s.PGSQL.")?.parse::<u16>().ok());
            let (host, port) = (dir.to_str().unwrap(), socket.unwrap().to_string());
            let login = ["-h", host, "-p", &port, "-U", "plimsoll", "-d", "postgres", "-A", "-t", "-c", question];
            Command::new("psql").args(login).output()
        }
        _ => {
            let socket = found(parent, "m.sock");
            let login = ["--no-defaults", "-N", "-u", "root", "-S", socket.to_str().unwrap(), "-D", "plimsoll", "-e"];
            Command::new("mariadb").args(login).arg(question).output()
        }
    };
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The secondary indexes of the engine's tables, by name.
fn indexes(engine: &str, parent: &Path) -> Vec<String> {
    let question = match engine {
        "sqlite" => "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name",
        "postgres" => "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND indexname !~ 'pkey' ORDER BY 1",
        _ => {
            "SELECT DISTINCT index_name FROM information_schema.statistics \
             WHERE table_schema = 'plimsoll' AND index_name <> 'PRIMARY' ORDER BY 1"
        }
    };
    asked(engine, parent, question)
}

#[test]
fn steps_go_on_with_the_rows_of_the_last_one_and_indexes_come_when_they_are_made() {
    for engine in engines() {
        let parent = directory();
        let mut instance = prepared(&trial(engine, "insert", &settings("l.i0", &[])), parent.path());
        let is_kv = is_key_value(engine);
        let entries = if is_kv { 4 } else { 1 };

        assert_eq!(perform(&mut *instance, engine, "l.i0", &[]), ROWS.div_ceil(50), "{engine}");
        assert_eq!(counted(&mut *instance, parent.path()), ROWS, "{engine}");
        assert!(is_kv || indexes(engine, parent.path()).is_empty(), "{engine}");

        assert_eq!(perform(&mut *instance, engine, "l.x", &[]), if is_kv { 3 } else { 1 }, "{engine}");
        assert_eq!(counted(&mut *instance, parent.path()), ROWS * entries, "{engine}");
        if !is_kv {
            let names = indexes(engine, parent.path()).join(" ");
            let all = ["marketsegment", "pdc", "registersegment"];
            assert!(names.split(' ').count() == 3 && all.iter().all(|name| names.contains(name)), "{engine}: {names}");
        }

        assert_eq!(perform(&mut *instance, engine, "l.i1", &[]), ROWS.div_ceil(50), "{engine}");
        assert_eq!(counted(&mut *instance, parent.path()), 2 * ROWS * entries, "{engine}");
        assert_eq!(perform(&mut *instance, engine, "l.i2", &[]), (ROWS / 5).div_ceil(7), "{engine}");
        assert_eq!(counted(&mut *instance, parent.path()), (2 * ROWS + ROWS / 5) * entries, "{engine}");

        assert_eq!(perform(&mut *instance, engine, "drain", &[]), 1, "{engine}");
        if !is_kv {
            assert_eq!(perform(&mut *instance, engine, "qr", &[]), 200, "{engine}");
        }
        assert_eq!(perform(&mut *instance, engine, "qp", &[]), 200, "{engine}");
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), Vec::<String>::new());
    }
}

#[test]
fn rows_that_are_sent_as_arrays_are_the_same_as_others() {
    for engine in engines().filter(|name| name.starts_with("mariadb:") && *name != "mariadb:galera") {
        // The price may be NULL in no schema of the workload; all other types are in this one.
        let sums = ["prepared", "arrays"].map(|statements| {
            let parent = directory();
            let more = [("statements", statements), ("indexes", "1")];
            let mut instance = prepared(&trial(engine, "insert", &settings("l.i0", &more)), parent.path());
            assert_eq!(perform(&mut *instance, engine, "l.i0", &more), ROWS.div_ceil(50), "{engine}");
            assert_eq!(counted(&mut *instance, parent.path()), ROWS, "{engine}");
            let columns = "SELECT group_concat(column_name ORDER BY ordinal_position) FROM information_schema.columns \
                           WHERE table_schema = 'plimsoll' AND table_name LIKE 'purchases%' AND extra = ''";
            let columns = asked(engine, parent.path(), columns).join("");
            let table = asked(engine, parent.path(), "SHOW TABLES LIKE 'purchases%'").join("");
            let sum = format!("SELECT sum(crc32(concat_ws('|', {columns}))) FROM {table}");
            let sum = asked(engine, parent.path(), &sum);
            instance.stop().unwrap();
            (columns, sum)
        });
        assert!(sums[0] == sums[1] && sums[0].1[0] != "0", "{engine}: {sums:?}");
    }
}

#[test]
fn inserts_beside_queries_fall_due_at_a_rate_of_their_own_and_are_in_the_table() {
    for engine in engines() {
        let parent = directory();
        let mut instance = prepared(&trial(engine, "insert", &settings("l.i0", &[("indexes", "0")])), parent.path());
        perform(&mut *instance, engine, "l.i0", &[("indexes", "0")]);
        // 20 commits of 7 rows a second in the background of each of three clients.
        let more = [("indexes", "0"), ("insert_rate", "140"), ("time", "1s"), ("ops_max", "none")];
        let queries = trial(engine, "insert", &settings("qp", &more));
        let loading = instance.make_clients(&queries).unwrap();
        let background = loading.background.first().expect("the step has inserts beside it");
        assert_eq!(
            (background.clients.len(), background.per_s(), &background.kinds[..]),
            (3, Some(60.0), &[OpKind(1)][..]),
            "{engine}"
        );
        let mut arrivals = Arrivals::default();
        let outcome = lab::perform(loading, &run_phase(&queries), &queries, &mut arrivals);
        let seen = &arrivals.seen;
        assert_eq!((outcome.ended, outcome.hung), (LoadEnd::AsPlanned, vec![]), "{engine}: {:?}", seen.events);
        let [asked, inserted] = [0, 1].map(|kind| seen.counts[&(Phase::Run, kind)]);
        assert_eq!((arrivals.offered, inserted.0 + arrivals.unserved), (60, 60), "{engine}: {:?}", seen.counts);
        assert!(asked.0 > 0 && (asked.1, inserted.1) == (0, 0), "{engine}: {:?}", seen.counts);
        assert_eq!(counted(&mut *instance, parent.path()), ROWS + 7 * inserted.0, "{engine}");
        instance.stop().unwrap();
    }
}

#[test]
fn deletes_keep_the_number_of_rows_in_several_tables() {
    for engine in engines() {
        let parent = directory();
        let more = [("delete", "true"), ("tables", "2"), ("indexes", "1")];
        let mut instance = prepared(&trial(engine, "insert", &settings("l.i0", &more)), parent.path());
        for step in ["l.i0", "l.x", "l.i1", "l.i2"] {
            perform(&mut *instance, engine, step, &more);
        }
        match engine {
            // What was removed is still there until a compaction, and is counted.
            _ if is_key_value(engine) => assert!(counted(&mut *instance, parent.path()) >= 2 * ROWS),
            _ => assert_eq!(counted(&mut *instance, parent.path()), ROWS, "{engine}"),
        }
        assert_eq!(perform(&mut *instance, engine, "drain", &more), 1, "{engine}");
        assert_eq!(perform(&mut *instance, engine, "qp", &more), 200, "{engine}");
        instance.stop().unwrap();
    }
}

#[test]
fn rows_are_spread_over_partitions_where_the_engine_has_them() {
    let more = [("partition_rows", "1000")];
    for engine in engines() {
        let parent = directory();
        let small = trial(engine, "insert", &settings("l.i0", &more));
        let refused = (engine::find(engine).unwrap().check)(&small).err();
        if engine == "sqlite" || is_key_value(engine) {
            let Some(TargetError::Unsupported(text)) = refused else { panic!("{engine}: {refused:?}") };
            assert!(text.contains("partition_rows = `0`"), "{text}");
            continue;
        }
        assert!(refused.is_none(), "{refused:?}");
        let mut instance = prepared(&small, parent.path());
        for step in ["l.i0", "l.x", "l.i1"] {
            perform(&mut *instance, engine, step, &more);
        }
        assert_eq!(counted(&mut *instance, parent.path()), 2 * ROWS, "{engine}");
        let (third, last) = match engine {
            "postgres" => ("purchases_index_p2", "purchases_index_pmax"),
            _ => ("purchases_index PARTITION (p2)", "purchases_index PARTITION (pmax)"),
        };
        let count = |part| asked(engine, parent.path(), &format!("SELECT count(*) FROM {part}"));
        assert_eq!((count(third), count(last)), (vec!["1000".to_string()], vec!["0".to_string()]), "{engine}");
        instance.stop().unwrap();
    }
}
