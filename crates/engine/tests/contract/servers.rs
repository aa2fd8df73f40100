//! What private servers do when they are killed, stopped, contended for and asked what they have.

use crate::lab::{
    Seen, directory, fact, found, names_in, perform, prepared, run, run_loading, server_programs, servers, start, trial,
};
use engine::requirements::check_server_place;
use engine::{EngineDef, Instance, ResetFor};
use host::TargetError;
use load::{LoadEnd, Sink};
use model::{Event, FailureClass, IntervalRow, OnError, Phase, Tick, Trial};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const NOTHING: [String; 0] = [];

/// The engine's first process.
fn pid_of(instance: &dyn Instance) -> Pid {
    Pid::from_raw(instance.report().processes[0] as i32).unwrap()
}

/// Whether the process is there and at work: one that has ended may wait for an init that is slow to look.
fn runs(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Whether the process ends. It was killed, which takes the kernel a moment.
fn ends(pid: Pid) -> bool {
    (0..1_000).any(|_| {
        let ended = !runs(pid);
        if !ended {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        ended
    })
}

/// Sends a signal to the server as soon as operations have been done, and counts like [`Seen`].
struct Interrupting {
    seen: Seen,
    victim: Pid,
    signal: Option<Signal>,
}

impl Sink for Interrupting {
    fn begin_phase(&mut self, phase: Phase, start: Tick) {
        self.seen.begin_phase(phase, start);
    }
    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, now: Tick) {
        self.seen.interval(rows, events, now);
        if self.seen.total(Phase::Run).0 > 0
            && let Some(signal) = self.signal.take()
        {
            kill_process(self.victim, signal).unwrap();
        }
    }
    fn end_phase(&mut self, phase: Phase, end: Tick, offered: u64, unserved: u64) {
        self.seen.end_phase(phase, end, offered, unserved);
    }
}

/// The trial of a short load that only time ends.
fn lasting(engine: &str, on_error: OnError, threads: &str) -> Trial {
    let settings = [("ops_max", "none"), ("time", "4s"), ("grace", "100ms"), ("durability", "none"), ("clients", "2")];
    Trial { on_error, ..trial(engine, "oltp", &[&settings[..], &[("threads", threads)]].concat()) }
}

/// These servers with clients on a thread each, and with clients that share one.
fn with_threads(
    engines: impl Iterator<Item = &'static EngineDef>,
) -> impl Iterator<Item = (&'static EngineDef, &'static str)> {
    engines.flat_map(|engine| [(engine, "0"), (engine, "1")])
}

/// How the trial ends whose server gets `signal` while it is measured.
fn interrupted(instance: &mut dyn Instance, trial: &Trial, signal: Signal) -> (load::LoadOutcome, Seen) {
    let loading = instance.make_clients(trial).unwrap();
    let mut sink = Interrupting { seen: Seen::default(), victim: pid_of(instance), signal: Some(signal) };
    let outcome = perform(loading, &crate::lab::run_phase(trial), trial, &mut sink);
    assert!(sink.signal.is_none(), "nothing was done before the end");
    (outcome, sink.seen)
}

#[test]
fn variables_of_a_plan_reach_the_server_and_wrong_ones_are_the_fault_of_the_plan() {
    let parent = directory();
    for engine in server_programs() {
        let (server, variable, value, told) = match engine.entry.name {
            "postgres" => ("postgres", "work_mem", "8192kB", "8MB"),
            name if name.starts_with("mysql") => ("mysql", "lock_wait_timeout", "77", "77"),
            _ => ("mariadb", "lock_wait_timeout", "77", "77"),
        };
        let of = |variable: &str, value: &str| {
            let key = format!("{server}.{variable}");
            trial(engine.entry.name, "oltp", &[(key.as_str(), value)])
        };
        let instance = start(&of(variable, value), parent.path()).unwrap();
        assert_eq!(fact(&*instance, &format!("{server}.{variable}")).as_deref(), Some(told));
        assert_eq!(instance.report().warnings, NOTHING);
        instance.stop().unwrap();
        for (variable, value, why) in [("no_such_thing", "1", "no_such_thing"), ("port", "1", "cannot be set")] {
            let Err(error) = start(&of(variable, value), parent.path()) else { panic!("{variable} was taken") };
            assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains(why), "{error}");
        }
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

/// Runs `test` with each server in a directory of its own, all at the same time: most of it is waiting for clients that try again.
fn with_each_server(test: impl Fn(&'static EngineDef, &Path) + Sync) {
    std::thread::scope(|scope| {
        for engine in server_programs() {
            let test = &test;
            scope.spawn(move || test(engine, directory().path()));
        }
    });
}

/// What is done when a server is gone: errors, connections.
const WHEN_GONE: [(OnError, &str); 3] = [(OnError::Stop, "again"), (OnError::Count, "again"), (OnError::Count, "stop")];

#[test]
fn a_server_that_is_killed_ends_the_point_or_is_counted_and_leaves_nothing() {
    with_each_server(|engine, parent| {
        let all = || ["0", "1"].into_iter().flat_map(|threads| WHEN_GONE.map(|(errors, lost)| (threads, errors, lost)));
        let first = killable(engine.entry.name, "0", OnError::Stop, "again");
        let mut instance = prepared(&first, parent);
        for (nth, (threads, on_error, reconnect)) in all().enumerate() {
            if nth > 0 {
                // The first attempt says that the server had ended, the second one starts it.
                assert!(instance.reset(ResetFor::NextStep).is_err());
                instance.reset(ResetFor::NextStep).unwrap();
            }
            let pid = pid_of(&*instance);
            kill_and_check(&mut *instance, &killable(engine.entry.name, threads, on_error, reconnect), reconnect);
            assert!(ends(pid), "{}", engine.entry.name);
        }
        instance.stop().unwrap();
        assert_eq!(names_in(parent), NOTHING);
    });
}

/// The trial of a load on a server that can be started again. Only time ends it, and if its clients are to stop, not even that.
fn killable(engine: &str, threads: &str, on_error: OnError, reconnect: &str) -> Trial {
    let time = if reconnect == "stop" { "600s" } else { "4s" };
    let ends = [("ops_max", "none"), ("time", time), ("grace", "100ms"), ("reconnect", reconnect)];
    let more = [("durability", "os"), ("between", "restart"), ("clients", "2"), ("threads", threads)];
    Trial { on_error, ..trial(engine, "oltp", &[ends, more].concat()) }
}

fn kill_and_check(instance: &mut dyn Instance, trial: &Trial, reconnect: &str) {
    assert_eq!(instance.describe_trouble(), None);
    let (outcome, seen) = interrupted(instance, trial, Signal::KILL);
    let (ok, failed) = seen.total(Phase::Run);
    println!("{}: {ok} done, {failed} failed, {:?}", trial.target.engine, seen.events);
    match (trial.on_error, reconnect) {
        (OnError::Stop, _) => {
            let LoadEnd::Failed { class, text } = &outcome.ended else { panic!("{outcome:?}") };
            assert_eq!(*class, Some(FailureClass::Lost), "{text}");
        }
        // Each client tries to connect again after 50, 100, 200, 400 ms: a gap, and no flood of failures.
        (OnError::Count, "again") => {
            assert!(outcome.ended == LoadEnd::AsPlanned && (2..=20).contains(&failed), "{failed}")
        }
        (OnError::Count, _) => {
            assert!(matches!(outcome.ended, LoadEnd::Failed { .. }), "{outcome:?}");
            assert!((1..=2).contains(&failed), "{:?}", seen.events);
        }
    }
    assert!(ok > 0, "{ok} done");
    let trouble = instance.describe_trouble().unwrap();
    assert!(trouble.contains("was killed by signal 9"), "{trouble}");
    assert!(instance.finish_trial().iter().any(|f| f.name == "server.ended" && f.value == "signal 9"));
}

#[test]
fn a_server_that_stands_still_holds_up_neither_the_end_nor_the_removal() {
    let parent = directory();
    // No client of PostgreSQL comes before the stop, however many share a thread.
    let all =
        with_threads(server_programs()).filter(|(engine, threads)| engine.entry.name != "postgres" || *threads == "0");
    for (engine, threads) in all {
        let trial = lasting(engine.entry.name, OnError::Stop, threads);
        let mut instance = prepared(&trial, parent.path());
        let pid = pid_of(&*instance);
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero())).unwrap();
        let backends = children.split_whitespace().map(|child| Pid::from_raw(child.parse().unwrap()).unwrap());
        let backends: Vec<Pid> = backends.collect();
        if engine.entry.name != "postgres" {
            let (outcome, _) = interrupted(&mut *instance, &trial, Signal::STOP);
            assert!(!outcome.hung.is_empty(), "{outcome:?}");
        } else {
            kill_process(pid, Signal::STOP).unwrap();
        }
        instance.stop().unwrap();
        assert!(ends(pid) && backends.into_iter().all(ends));
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

#[test]
fn transactions_that_lose_against_others_are_performed_again() {
    let parent = directory();
    for engine in servers() {
        let with = |threads| {
            let settings = [("mix", "read_write"), ("table_rows", "10"), ("clients", "4"), ("durability", "none")];
            let more = [("ops_max", "150"), ("time", "60s"), ("threads", threads)];
            trial(engine.entry.name, "oltp", &[&settings[..], &more].concat())
        };
        let mut instance = prepared(&with("0"), parent.path());
        for trial in ["0", "1"].map(with) {
            // They need not meet in any one round of 150 transactions; that they never do would be a miracle.
            let met = (0..20).any(|_| {
                let (outcome, seen) = run(&mut *instance, &trial).unwrap();
                assert_eq!(
                    (outcome.ended, seen.total(Phase::Run)),
                    (LoadEnd::AsPlanned, (150, 0)),
                    "{:?}",
                    seen.events
                );
                let retries = instance.finish_trial().into_iter().find(|fact| fact.name == "client.retries").unwrap();
                retries.value != "0"
            });
            assert!(met, "{}: 4 clients on 10 rows did not meet", engine.entry.name);
        }
        instance.stop().unwrap();
    }
}

/// If plimsoll is root, the directory is below one that only root may enter, and it stays closed.
#[test]
fn a_server_runs_unprivileged_in_a_directory_that_is_closed_to_others() {
    let is_root = rustix::process::geteuid().is_root();
    let closed = directory();
    let parent = closed.path().join("in/ner");
    std::fs::create_dir_all(&parent).unwrap();
    if is_root {
        std::fs::set_permissions(closed.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    for engine in server_programs() {
        let trial = trial(engine.entry.name, "insert", &[("rows_per_commit", "10")]);
        check_server_place(&trial, &parent).unwrap();
        let mut instance = prepared(&trial, &parent);
        let process = std::fs::metadata(format!("/proc/{}", instance.report().processes[0])).unwrap();
        let own = found(&parent, if engine.entry.name == "postgres" { "PG_VERSION" } else { "m.sock" });
        let directory = std::fs::metadata(own.parent().unwrap()).unwrap();
        assert_eq!((directory.permissions().mode() & 0o777, directory.uid()), (0o700, process.uid()));
        let around = std::fs::metadata(own.parent().unwrap().parent().unwrap()).unwrap();
        assert_eq!(around.permissions().mode() & 0o007, 0);
        if is_root {
            assert!(process.uid() != 0 && fact(&*instance, "server.user").is_some());
            assert_eq!(std::fs::metadata(closed.path()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
        instance.stop().unwrap();
        assert_eq!(names_in(&parent), NOTHING);
    }
}

/// In a thread that has given up the right to make mounts.
#[test]
fn a_place_that_the_server_cannot_be_let_into_is_refused_and_nothing_stays() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs root: servers run as plimsoll does elsewhere");
    }
    let parent = directory();
    std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    give_up_mounts();
    for engine in servers() {
        let error = start(&trial(engine.entry.name, "insert", &[]), parent.path()).err().unwrap();
        assert!(matches!(&error, TargetError::Unsafe(text) if text.contains("cannot enter")), "{error}");
        assert_eq!(names_in(parent.path()), NOTHING);
        let refused = check_server_place(&trial(engine.entry.name, "insert", &[]), parent.path()).unwrap_err();
        assert!(refused.to_string().contains("only root may enter"), "{refused}");
    }
}

fn give_up_mounts() {
    let mut own = capabilities(None).unwrap();
    own.effective.remove(CapabilitySet::SYS_ADMIN);
    own.permitted.remove(CapabilitySet::SYS_ADMIN);
    set_capabilities(None, own).unwrap();
}

#[test]
fn a_server_counts_what_was_done_and_a_dead_one_is_a_gap() {
    let parent = directory();
    for engine in servers() {
        let trial = trial(engine.entry.name, "insert", &[("rows_per_commit", "10")]);
        let mut instance = prepared(&trial, parent.path());
        let mut source = instance.counter_sources().remove(0);
        let def = source.describe();
        let log = def
            .counters
            .iter()
            .position(|counter| counter.name.contains("wal_bytes") || counter.name == "os_log_written");
        let before = source.read();
        assert_eq!(before.len(), def.counters.len());
        // PostgreSQL counts the log that it has written from version 18 on.
        let absent = def.counters.iter().zip(&before).filter(|(_, value)| value.is_none());
        let absent: Vec<_> =
            absent.map(|(counter, _)| counter.name.as_str()).filter(|name| *name != "wal_write_bytes").collect();
        assert!(absent.is_empty(), "{}: {absent:?}", def.name);
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
        // PostgreSQL's processes tell what they did when they end, and once a second.
        let until = Instant::now() + Duration::from_secs(120);
        let grown = |values: Vec<Option<f64>>| values[log.unwrap()] > before[log.unwrap()];
        while !grown(source.read()) {
            assert!(Instant::now() < until, "{}: the log did not grow", def.name);
        }
        kill_process(pid_of(&*instance), Signal::KILL).unwrap();
        while source.read().iter().any(Option::is_some) {
            assert!(Instant::now() < until, "{}: a dead server answers", def.name);
        }
        instance.stop().unwrap();
    }
}

#[test]
fn the_waits_of_a_server_are_counted_if_its_performance_schema_is_on() {
    let parent = directory();
    for engine in servers().map(|engine| engine.entry.name).filter(|name| name.ends_with(":innodb")) {
        let variable = format!("{}.performance_schema", engine.trim_end_matches(":innodb"));
        let trial = trial(engine, "insert", &[("rows_per_commit", "10"), (&variable, "ON")]);
        let mut instance = prepared(&trial, parent.path());
        let mut waits = waits_of(&*instance).unwrap_or_else(|| panic!("{engine} has no waits"));
        let before = waits.read();
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
        let after = waits.read();
        // Files are timed by default, by both flavours.
        assert!(after[0] > before[0], "{engine}: {before:?} {after:?}");
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "{before:?} {after:?}");
        instance.stop().unwrap();
    }
}

fn waits_of(instance: &dyn Instance) -> Option<Box<dyn model::CounterSource>> {
    instance.counter_sources().into_iter().find(|source| source.describe().name == "server-waits")
}

#[test]
fn mariadb_has_every_row_of_the_load_in_the_engine_that_was_asked_for() {
    let parent = directory();
    for (engine, storage) in [("mariadb:innodb", "InnoDB"), ("mariadb:rocksdb", "ROCKSDB")] {
        if !servers().any(|server| server.entry.name == engine) {
            continue;
        }
        let settings = [("tables", "2"), ("table_rows", "1500"), ("mix", "read_write")];
        let trial = trial(engine, "oltp", &[&settings[..], &[("mariadb.performance_schema", "OFF")]].concat());
        let mut instance = prepared(&trial, parent.path());
        assert!(waits_of(&*instance).is_none(), "{engine} has waits without its performance schema");
        let socket = found(parent.path(), "m.sock");
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run).1, 0);
        for table in ["sbtest1", "sbtest2"] {
            let whole =
                format!("SELECT count(*) FROM plimsoll.{table} WHERE id BETWEEN 1 AND 1500 AND length(c) = 119");
            assert_eq!(ask_mariadb(&socket, &whole), "1500");
            let question = format!("SELECT engine FROM information_schema.tables WHERE table_name = '{table}'");
            assert_eq!(ask_mariadb(&socket, &question), storage);
        }
        instance.stop().unwrap();
    }
}

#[test]
fn clients_that_lose_their_connection_come_back() {
    let parent = directory();
    if !servers().any(|server| server.entry.name == "mariadb:innodb") {
        return;
    }
    let with = |threads| lasting("mariadb:innodb", OnError::Count, threads);
    let mut instance = prepared(&with("0"), parent.path());
    ["0", "1"].into_iter().for_each(|threads| comes_back(&mut *instance, parent.path(), &with(threads)));
    instance.stop().unwrap();
}

/// The answer of the server behind `socket`, without the line's end.
fn ask_mariadb(socket: &Path, statement: &str) -> String {
    let answer = Command::new("mariadb").args(["-N", "-uroot", "-e", statement, "-S"]).arg(socket).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    String::from_utf8(answer.stdout).unwrap().trim_end().to_owned()
}

/// A connection is killed in the middle of a load.
fn comes_back(instance: &mut dyn Instance, parent: &Path, trial: &Trial) {
    let socket = found(parent, "m.sock");
    let loading = instance.make_clients(trial).unwrap();
    let killer = std::thread::spawn(move || {
        let victims = "SELECT id FROM information_schema.processlist WHERE db = 'plimsoll' AND command = 'Execute'";
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            match ask_mariadb(&socket, victims).lines().next() {
                Some(id) => return ask_mariadb(&socket, &format!("KILL CONNECTION {id}")),
                None => assert!(Instant::now() < until, "nobody executes"),
            }
        }
    });
    let (outcome, seen) = run_loading(loading, trial);
    killer.join().unwrap();
    let (ok, failed) = seen.total(Phase::Run);
    assert_eq!((outcome.ended, failed), (LoadEnd::AsPlanned, 1), "{:?}", seen.events);
    let reconnects = instance.finish_trial().into_iter().find(|fact| fact.name == "client.reconnects").unwrap();
    assert!(ok > 0 && reconnects.value == "1", "{ok} done, {} reconnects", reconnects.value);
}
