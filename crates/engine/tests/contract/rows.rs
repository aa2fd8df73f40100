//! The rows that SQL engines return and change are counted as they are.
//!
//! Each engine is started once: no run adds or takes away rows, but the one of inserts, which is the last of its kind.

use crate::insert::asked;
use crate::lab::{custom_trial, directory, prepared, run, servers, sql_engines, trial};
use engine::Instance;
use load::LoadEnd;
use model::{Phase, RowCounts, Trial};
use std::path::Path;

const OPS: u64 = 100;

/// An engine with its rows.
struct Counted<'p> {
    engine: &'static str,
    parent: &'p Path,
    instance: Box<dyn Instance>,
}

impl Counted<'_> {
    /// The rows of all operations of `trial`, in which none fails.
    fn rows_of(&mut self, trial: &Trial) -> RowCounts {
        // A trial before this one may have written the same texts, and a MariaDB that is given what it has changes no row.
        asked(self.engine, self.parent, "UPDATE sbtest1 SET c = ''");
        let (outcome, seen) = run(&mut *self.instance, trial).unwrap();
        let done = (outcome.ended, seen.total(Phase::Run));
        assert_eq!(done, (LoadEnd::AsPlanned, (OPS, 0)), "{}: {:?}", self.engine, seen.events);
        let mut sum = RowCounts::default();
        seen.rows.values().for_each(|rows| sum.add(rows));
        sum
    }

    fn tells_what_each_mix_returns_and_changes(&mut self) {
        for (mix, returned, changed) in
            [("point_select", OPS, 0), ("update_index", 0, OPS), ("update_non_index", 0, OPS), ("insert", 0, OPS)]
        {
            let rows = self.rows_of(&oltp(self.engine, mix, &[]));
            assert_eq!(rows, counts(returned, changed), "{} {mix}", self.engine);
        }
        asked(self.engine, self.parent, "DELETE FROM sbtest1 WHERE id > 500");
        let both = self.rows_of(&oltp(self.engine, "read_write", &[("range_rows", "1")]));
        assert_all_done(&both, self.engine);
    }

    fn tells_the_same_of_clients_that_share_a_thread_or_send_plain_text(&mut self) {
        for more in [("threads", "1"), ("statements", "plain"), ("connection", "per-transaction")] {
            let both = self.rows_of(&oltp(self.engine, "read_write", &[("range_rows", "1"), more]));
            assert_all_done(&both, &format!("{} {more:?}", self.engine));
        }
    }

    fn tells_changes_of_the_user_that_never_find_a_row_from_those_that_do(&mut self) {
        for (key, idle) in [(":id + 1000000", OPS), (":id", 0)] {
            let text =
                format!("[[statement]]\nname = 'move'\nsql = 'UPDATE sbtest{{table}} SET k = k + 1 WHERE id = {key}'");
            let more = [("durability", "none"), ("time", "60s"), ("ops_max", "100")];
            let rows = self.rows_of(&custom_trial(self.engine, &text, &more));
            assert_eq!(rows, RowCounts { idle, ..counts(0, OPS - idle) }, "{} {key}", self.engine);
        }
    }
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
fn each_engine_tells_the_rows_that_operations_return_and_change_however_clients_send_them() {
    let parent = directory();
    let is_server = |engine: &str| servers().any(|server| server.entry.name == engine);
    for engine in sql_engines() {
        let instance = prepared(&oltp(engine, "point_select", &[]), parent.path());
        let mut counted = Counted { engine, parent: parent.path(), instance };
        counted.tells_what_each_mix_returns_and_changes();
        if is_server(engine) {
            counted.tells_the_same_of_clients_that_share_a_thread_or_send_plain_text();
        }
        counted.tells_changes_of_the_user_that_never_find_a_row_from_those_that_do();
        counted.instance.stop().unwrap();
    }
}
