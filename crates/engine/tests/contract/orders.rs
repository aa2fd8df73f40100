//! Order entry on every SQL engine: its conditions hold after many clients at once and after a server was killed, and a damaged row is
//! found.

use crate::insert::asked;
use crate::lab::{directory, found, names_in, perform, prepared, run, run_phase, sql_engines, trial};
use engine::{CheckedConditions, Instance, ResetFor};
use load::{LoadEnd, Sink};
use model::{Event, IntervalRow, OnError, Phase, Tick, Trial};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// 16 clients on two small warehouses, so that they meet often.
fn entering(engine: &str, settings: &[(&str, &str)]) -> Trial {
    let always = [("warehouses", "2"), ("clients", "16"), ("ops_max", "600"), ("durability", "none"), ("time", "300s")];
    // With snapshots that last as long as their transactions, long ones of MyRocks lose against short ones again and again.
    let isolation = engine.ends_with(":rocksdb").then_some(("isolation", "read-committed"));
    let isolation: Vec<_> = isolation.into_iter().collect();
    trial(engine, "orders", &[&always, settings, &isolation].concat())
}

fn checked(instance: &mut dyn Instance, trial: &Trial) -> CheckedConditions {
    instance.check_conditions(trial, &mut || true).unwrap().expect("order entry has conditions")
}

const HOLD: CheckedConditions = CheckedConditions { total: 12, checked: 12, broken: Vec::new() };

/// Operations done by kind, none of which failed.
fn entered(instance: &mut dyn Instance, trial: &Trial) -> Vec<u64> {
    let (outcome, seen) = run(instance, trial).unwrap();
    assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{}: {:?}", trial.target.engine, seen.events);
    assert_eq!(seen.total(Phase::Run).1, 0, "{}: {:?}", trial.target.engine, seen.events);
    (0..5).map(|kind| seen.counts[&(Phase::Run, kind)].0).collect()
}

#[test]
fn the_conditions_hold_after_the_load_and_after_sixteen_clients_on_every_engine() {
    let parent = directory();
    for engine in sql_engines() {
        for keys in ["false", "true"] {
            if keys == "true" && engine.ends_with(":rocksdb") {
                continue; // it has no foreign keys
            }
            let entering = |more: &[(&'static str, &'static str)]| {
                entering(engine, &[&[("foreign_keys", keys)][..], more].concat())
            };
            let mut instance = prepared(&entering(&[]), parent.path());
            assert_eq!(checked(&mut *instance, &entering(&[])), HOLD, "{engine} after the load");
            let counts = entered(&mut *instance, &entering(&[]));
            assert!(counts.iter().sum::<u64>() >= 600 && counts.iter().all(|count| *count > 0), "{counts:?}");
            assert_eq!(checked(&mut *instance, &entering(&[])), HOLD, "{engine} after the run");
            if keys == "false" && engine != "sqlite" {
                let shared = entering(&[("threads", "2"), ("statements", "plain")]);
                entered(&mut *instance, &shared);
                assert_eq!(checked(&mut *instance, &shared), HOLD, "{engine} after plain text of shared threads");
            }
            instance.stop().unwrap();
            assert_eq!(names_in(parent.path()), [""; 0]);
        }
    }
}

/// The rows of the orders.
fn orders_there(engine: &str, parent: &Path) -> u64 {
    asked(engine, parent, "SELECT COUNT(*) FROM orders")[0].parse().unwrap()
}

#[test]
fn the_conditions_hold_after_stored_procedures_of_many_clients_and_mistaken_orders_leave_nothing() {
    let parent = directory();
    for engine in sql_engines().filter(|engine| *engine != "sqlite") {
        let entering = |statements, threads| {
            let more = [("ops_max", "4000"), ("threads", threads)];
            entering(engine, &[&[("calls", "procedures"), ("statements", statements)][..], &more].concat())
        };
        let mut instance = prepared(&entering("prepared", "0"), parent.path());
        for (statements, threads) in [("prepared", "0"), ("plain", "2")] {
            let entering = entering(statements, threads);
            let can_ask = matches!(engine, "postgres" | "mariadb:innodb");
            let before = if can_ask { orders_there(engine, parent.path()) } else { 0 };
            let counts = entered(&mut *instance, &entering);
            let total: u64 = counts.iter().sum();
            assert!(total >= 4_000, "{engine}: {counts:?}");
            // Sixteen decks that are not used up have their shares about: 45 and 43 of a hundred.
            let shares = [counts[0], counts[1]].map(|count| count as f64 / total as f64);
            assert!((shares[0] - 0.45).abs() < 0.06 && (shares[1] - 0.43).abs() < 0.06, "{engine}: {counts:?}");
            assert_eq!(checked(&mut *instance, &entering), HOLD, "{engine} with {statements} calls");
            if can_ask {
                let made = orders_there(engine, parent.path()) - before;
                // One order in a hundred is rolled back.
                assert!(made < counts[0] && made * 100 > counts[0] * 95, "{engine}: {made} of {}", counts[0]);
            }
        }
        instance.stop().unwrap();
    }
}

#[test]
fn sqlite_has_no_stored_procedures() {
    let sqlite = engine::find("sqlite").unwrap();
    let refused = (sqlite.check)(&entering("sqlite", &[("calls", "procedures")])).unwrap_err();
    assert!(refused.to_string().contains("use calls = `statements`"), "{refused}");
}

/// Kills a server as soon as operations on it were done.
struct Killing {
    server: u32,
    is_killed: bool,
}

impl Sink for Killing {
    fn begin_phase(&mut self, _: Phase, _: Tick) {}
    fn interval(&mut self, rows: Vec<IntervalRow>, _: Vec<Event>, _: Tick) {
        if !self.is_killed && rows.iter().flat_map(|row| &row.kinds).any(|kind| kind.ok > 0) {
            self.is_killed = true;
            kill_process(Pid::from_raw(self.server as i32).unwrap(), Signal::KILL).unwrap();
        }
    }
    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}

#[test]
fn the_conditions_hold_after_a_server_was_killed_in_the_middle_and_has_recovered() {
    let parent = directory();
    for engine in sql_engines().filter(|engine| *engine != "sqlite") {
        let settings = [("between", "restart"), ("ops_max", "10000000"), ("durability", "os")];
        let entering = Trial { on_error: OnError::Stop, ..entering(engine, &settings) };
        let mut instance = prepared(&entering, parent.path());
        let mut killing = Killing { server: instance.report().processes[0], is_killed: false };
        let clients = instance.make_clients(&entering).unwrap();
        let outcome = perform(clients, &run_phase(&entering), &entering, &mut killing);
        assert!(killing.is_killed && matches!(outcome.ended, LoadEnd::Failed { .. }), "{engine}: {:?}", outcome.ended);
        // The first attempt says that the server had ended, the second one starts it.
        assert!(instance.reset(ResetFor::NextStep).is_err());
        instance.reset(ResetFor::NextStep).unwrap();
        assert_eq!(checked(&mut *instance, &entering), HOLD, "{engine}");
        instance.stop().unwrap();
    }
}

/// What a row that is damaged breaks: a statement, and the conditions.
const DAMAGE: [(&str, &[u8], &str); 4] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", &[1, 8], "w_id = 2, "),
    (
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 1",
        &[4, 6],
        "o_w_id = 1, o_d_id = 3, ",
    ),
    (
        "UPDATE customer SET c_balance = c_balance - 5 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 9",
        &[10, 12],
        "c_w_id = 2, c_d_id = 1, c_id = 9, ",
    ),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 10",
        &[2],
        "d_w_id = 1, d_id = 10, ",
    ),
];

/// Damages row after row by `perform`, and expects each to be found and named.
fn damage_is_found(engine: &str, perform: impl Fn(&Path, &str)) {
    let parent = directory();
    let entering = entering(engine, &[]);
    let mut instance = prepared(&entering, parent.path());
    let mut known = 0;
    for (damage, numbers, row) in DAMAGE {
        perform(parent.path(), damage);
        let found = checked(&mut *instance, &entering);
        let fresh: Vec<_> = found.broken.iter().filter(|rule| numbers.contains(&rule.number)).collect();
        assert_eq!(fresh.iter().map(|rule| rule.number).collect::<Vec<_>>(), numbers, "{engine}: {damage}: {found:?}");
        assert!(fresh.iter().all(|rule| rule.text.contains(&format!("not so for {row}"))), "{engine}: {fresh:?}");
        known += numbers.len();
        assert_eq!(found.broken.len(), known, "{engine}: {damage} breaks no other: {found:?}");
    }
    instance.stop().unwrap();
}

#[test]
fn a_damaged_row_is_found_and_named_on_sqlite() {
    damage_is_found("sqlite", |parent, statement| {
        let database = rusqlite::Connection::open(found(parent, "plimsoll.db")).unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        assert_eq!(database.execute(statement, []).unwrap(), 1, "{statement}");
    });
}

#[test]
fn a_damaged_row_is_found_and_named_on_a_server() {
    if !sql_engines().any(|engine| engine == "mariadb:innodb") {
        return;
    }
    damage_is_found("mariadb:innodb", |parent, statement| drop(asked("mariadb:innodb", parent, statement)));
}
