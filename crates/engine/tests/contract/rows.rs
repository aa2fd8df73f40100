//! The rows that SQL engines return and change are counted as they are.

use crate::lab::{custom_trial, directory, prepared, run, servers, sql_engines, trial};
use load::LoadEnd;
use model::{Phase, RowCounts, Trial};

const OPS: u64 = 100;

/// The rows of all operations of `trial`, in which none fails.
fn rows_of(trial: &Trial) -> RowCounts {
    let parent = directory();
    let mut instance = prepared(trial, parent.path());
    let (outcome, seen) = run(&mut *instance, trial).unwrap();
    let engine = &trial.target.engine;
    assert_eq!((outcome.ended, seen.total(Phase::Run)), (LoadEnd::AsPlanned, (OPS, 0)), "{engine}: {:?}", seen.events);
    instance.stop().unwrap();
    let mut sum = RowCounts::default();
    seen.rows.values().for_each(|rows| sum.add(rows));
    sum
}

fn oltp(engine: &str, mix: &str, more: &[(&str, &str)]) -> Trial {
    let own = [("mix", mix), ("clients", "2"), ("durability", "none"), ("time", "60s"), ("ops_max", "100")];
    trial(engine, "oltp", &[&own[..], more].concat())
}

/// Of operations that change one row each and commit it.
fn counts(returned: u64, changed: u64) -> RowCounts {
    RowCounts { returned, changed, commits: changed, ..RowCounts::default() }
}

/// Asserts that all operations of `read_write` have returned and changed what they must. A row that the other client replaces at that moment may be
/// gone for one of the four changes: such an operation is counted as idle.
fn assert_all_done(rows: &RowCounts, what: &str) {
    assert_eq!((rows.returned, rows.missed, rows.commits), (14 * OPS, 0, OPS), "{what}: {rows:?}");
    let changes = 4 * OPS;
    assert!((changes - 4 * rows.idle..=changes).contains(&rows.changed), "{what}: {rows:?}");
}

#[test]
fn each_engine_tells_the_rows_that_its_operations_return_and_change() {
    for engine in sql_engines() {
        for (mix, returned, changed) in
            [("point_select", OPS, 0), ("update_index", 0, OPS), ("update_non_index", 0, OPS), ("insert", 0, OPS)]
        {
            assert_eq!(rows_of(&oltp(engine, mix, &[])), counts(returned, changed), "{engine} {mix}");
        }
        let both = rows_of(&oltp(engine, "read_write", &[("range_rows", "1")]));
        assert_all_done(&both, engine);
    }
}

#[test]
fn clients_that_share_a_thread_or_send_plain_text_count_the_same_rows() {
    for engine in servers().map(|engine| engine.entry.name) {
        for more in [("threads", "1"), ("statements", "plain"), ("connection", "per-transaction")] {
            let both = rows_of(&oltp(engine, "read_write", &[("range_rows", "1"), more]));
            assert_all_done(&both, &format!("{engine} {more:?}"));
        }
    }
}

#[test]
fn changes_of_the_user_that_never_find_a_row_are_idle_and_those_that_do_are_not() {
    for engine in sql_engines() {
        for (key, idle) in [(":id + 1000000", OPS), (":id", 0)] {
            let text =
                format!("[[statement]]\nname = 'move'\nsql = 'UPDATE sbtest{{table}} SET k = k + 1 WHERE id = {key}'");
            let more = [("durability", "none"), ("time", "60s"), ("ops_max", "100")];
            let rows = rows_of(&custom_trial(engine, &text, &more));
            assert_eq!(rows, RowCounts { idle, ..counts(0, OPS - idle) }, "{engine} {key}");
        }
    }
}
