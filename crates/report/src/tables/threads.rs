//! Where the time of threads went, if any point has shares. Whole percent, so that a row may sum to 99 or 101.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, InTerminal, Row, Table};
use crate::wording::label::{point_label, point_phrases};
use crate::wording::quantity::{percent, whole_percent};
use analysis::{Analysis, PointAnalysis, StateShares};
use model::{ThreadOf, ThreadState};

pub const TABLE: TableDef = TableDef {
    id: "thread-times",
    title: "Times of threads",
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const SHORT_LEGEND: &str = "percent of the time of threads that worked; threads: their number on average; CPU: on one; queue: waiting for \
    one; read, sync: waiting for storage; lock: for another thread; peer: the engine for its client, the client for its engine";
const LEGEND: &str = "Percent of the time of the threads that worked, and how many these were on average. CPU: on a CPU. Queue: could \
    compute and waits for a CPU. Read, sync: waits for reads of storage, for writes and syncs. Lock: waits for another thread: a row lock, a \
    mutex, or the thread that syncs for a group of commits. Peer: the engine waits for its clients, a client for the engine. Other: a \
    timer, the next arrival, or stopped. Threads that wait for work (timers, kept connections) are not in it. CPU and queue are counted by \
    the kernel, waits are sampled up to 20 times a second. Sessions are the engine's own account, which has no queue: a \
    session that waits for a CPU is still in the wait that has ended, or counts as computing.";

type ThreadColumn = ColumnOf<'static, StateShares>;

/// How many threads worked, and the share of each state of their time.
fn columns() -> Vec<ThreadColumn> {
    let column = |head| Column::number(head).terminal(InTerminal::IfRoom);
    let number = ThreadColumn::new(column("threads"), |shares| {
        if shares.threads < 9.95 { format!("{:.1}", shares.threads) } else { format::number(shares.threads) }
    });
    let states = ThreadState::ALL.into_iter().map(|state| {
        let head = match state {
            ThreadState::Cpu => "CPU",
            ThreadState::Runnable => "queue",
            ThreadState::Read => "read",
            ThreadState::Sync => "sync",
            ThreadState::Lock => "lock",
            ThreadState::Client => "peer",
            ThreadState::Other => "other",
        };
        ThreadColumn::new(column(head), move |shares| whole_percent(shares.share(state)))
    });
    [number].into_iter().chain(states).collect()
}

/// Fewer sessions that wait for row locks are not worth a sentence.
const LOCKED_MIN: f64 = 0.05;
/// From this share of time on locks on, one asks whether they are row locks.
const ON_LOCKS_MIN: f64 = 0.1;

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows = analysis.points.iter().flat_map(|point| rows_of(point, analysis.points.len() == 1));
    let costs = analysis.points.iter().filter_map(|point| point.threads.watch_cores);
    let most =
        costs.reduce(f64::max).map(|cores| format!("To look at threads took at most {} of a core.", percent(cores)));
    let table = Table {
        legend: LEGEND.to_owned(),
        short_legend: SHORT_LEGEND,
        notes: row_locks(analysis).into_iter().chain(most).collect(),
        most_rows: 24,
        ..Table::of(columns(), rows)
    };
    table.if_any()
}

/// The point whose sessions waited most for row locks, by the engine's own account.
fn row_locks(analysis: &Analysis) -> Option<String> {
    let waited = analysis.points.iter().filter_map(|point| Some((point, point.threads.row_lock_sessions?)));
    let (point, sessions) = waited.max_by(|a, b| a.1.total_cmp(&b.1)).filter(is_worth_a_sentence)?;
    let place = if analysis.points.len() > 1 { format!(" ({}, the most)", point_label(point)) } else { String::new() };
    let sessions = format::number(sessions);
    Some(format!("By the engine's own account {sessions} sessions waited for row locks on average{place}."))
}

/// Whether row locks, or that they are not what so much time went to, should be known.
fn is_worth_a_sentence((point, sessions): &(&PointAnalysis, f64)) -> bool {
    let on_locks = point.threads.engine.map_or(0.0, |shares| shares.lock);
    *sessions >= LOCKED_MIN || on_locks >= ON_LOCKS_MIN
}

/// A row for each kind of thread; of several points a terminal has the first of each.
fn rows_of(point: &PointAnalysis, is_alone: bool) -> Vec<(Row, &StateShares)> {
    let shown = [ThreadOf::Engine, ThreadOf::Session, ThreadOf::Client];
    let all = shown.into_iter().filter_map(|of| Some((of, point.threads.of(of)?)));
    let row = |(nth, (of, shares)): (usize, (ThreadOf, _))| {
        let label = [point_phrases(point), vec![whose(of, point).to_owned()]].concat();
        (Row { documents_only: nth > 0 && !is_alone, ..Row::labelled(label) }, shares)
    };
    all.enumerate().map(row).collect()
}

/// Whose threads are meant, in a word or two.
pub fn whose(of: ThreadOf, point: &PointAnalysis) -> &'static str {
    match of {
        ThreadOf::Engine => "engine",
        ThreadOf::Session => "sessions",
        ThreadOf::Client if point.traits.engine.process == model::EngineProcess::Embedded => "clients+engine",
        ThreadOf::Client => "clients",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, waiting};

    #[test]
    fn without_shares_there_is_no_table() {
        assert!(tables(&quick()).is_empty());
    }

    #[test]
    fn a_point_has_a_row_for_each_kind_of_thread() {
        let table = tables(&waiting()).remove(0);
        let first: Vec<_> =
            table.rows.iter().take(2).map(|row| (row.label.last().map(String::as_str), row.documents_only)).collect();
        assert_eq!(first, [(Some("engine"), false), (Some("clients"), true)]);
        let figures: Vec<&str> = table.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(figures, ["8.0", "25", "5", "10", "40", "10", "10", "0"]);
        assert!(
            table.notes[0].contains("2.31 sessions") && table.notes[1].contains("0.3 % of a core"),
            "{:?}",
            table.notes
        );
    }
}
