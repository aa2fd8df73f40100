//! Where the time of threads went, as a table of the documents and of the terminal.
//!
//! In: an analysis. Out: a [`ThreadTable`], if any point has shares. Limits: whole percent, so that a row may sum to 99 or 101.

use crate::format;
use crate::wording::label::{point_label, point_phrases};
use crate::wording::quantity::{percent, whole_percent};
use analysis::{Analysis, PointAnalysis, StateShares};
use model::{ThreadOf, ThreadState};
use serde::Serialize;

/// The heading of the table.
pub const TITLE: &str = "Where the time goes";
/// What its cells mean, in a terminal,
pub const SHORT_LEGEND: &str = "percent of the time of threads that worked; threads: their number on average; CPU: on one; queue: waiting for \
    one; read, sync: waiting for storage; lock: for another thread; peer: the engine for its client, the client for its engine";
/// and in a document.
pub const LEGEND: &str = "Percent of the time of the threads that worked, and how many these were on average. CPU: on a CPU. Queue: could \
    compute and waits for a CPU. Read, sync: waits for reads of storage, for writes and syncs. Lock: waits for another thread: a row lock, a \
    mutex, or the thread that syncs for a group of commits. Peer: the engine waits for its clients, a client for the engine. Other: a \
    timer, the next arrival, or stopped. Threads that wait for work (timers, kept connections) are not in it. CPU and queue are counted by \
    the kernel, waits are sampled about 20 times a second. Sessions are the engine's own account, which has no queue: a \
    session that waits for a CPU is still in the wait that has ended, or counts as computing.";

/// The heads of the cells behind label and threads.
pub const HEADS: [&str; 8] = ["threads", "CPU", "queue", "read", "sync", "lock", "peer", "other"];

/// Fewer sessions that wait for row locks are not worth a sentence.
const LOCKED_MIN: f64 = 0.05;
/// From this share of time on locks on, one asks whether they are row locks.
const ON_LOCKS_MIN: f64 = 0.1;

/// The table.
#[derive(Serialize)]
pub struct ThreadTable {
    /// A row for each point and each kind of thread, with a cell for each of [`HEADS`].
    pub rows: Vec<ThreadRow>,
    /// Sentences below it: the engine's account of row locks, and what looking cost.
    pub notes: Vec<String>,
}

/// What one kind of thread did in one point.
#[derive(Clone, Serialize)]
pub struct ThreadRow {
    /// The point's label.
    pub label: String,
    /// The phrases of the label.
    #[serde(skip)]
    pub phrases: Vec<String>,
    /// Whose threads.
    pub whose: &'static str,
    /// Whether it is the first row of its point.
    pub is_first: bool,
    /// A cell for each head.
    pub cells: Vec<String>,
}

/// The table of `analysis`; `None` if no point has shares.
pub fn thread_table(analysis: &Analysis) -> Option<ThreadTable> {
    let rows: Vec<ThreadRow> = analysis.points.iter().flat_map(rows_of).collect();
    let locks = row_locks(analysis);
    let costs = analysis.points.iter().filter_map(|point| point.threads.watch_cores);
    let most =
        costs.reduce(f64::max).map(|cores| format!("To look at threads took at most {} of a core.", percent(cores)));
    (!rows.is_empty()).then_some(ThreadTable { rows, notes: locks.into_iter().chain(most).collect() })
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

fn rows_of(point: &PointAnalysis) -> Vec<ThreadRow> {
    let shown = [ThreadOf::Engine, ThreadOf::Session, ThreadOf::Client];
    let all = shown.into_iter().filter_map(|of| Some((of, point.threads.of(of)?)));
    let row = |(nth, (of, shares)): (usize, (ThreadOf, &StateShares))| ThreadRow {
        label: point_label(point),
        phrases: point_phrases(point),
        whose: whose(of, point),
        is_first: nth == 0,
        cells: cells(shares),
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

fn cells(shares: &StateShares) -> Vec<String> {
    let share = |state| whole_percent(shares.share(state));
    let threads = if shares.threads < 9.95 { format!("{:.1}", shares.threads) } else { format::number(shares.threads) };
    [threads].into_iter().chain(ThreadState::ALL.into_iter().map(share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, waiting};

    #[test]
    fn without_shares_there_is_no_table() {
        assert!(thread_table(&quick()).is_none());
    }

    #[test]
    fn a_point_has_a_row_for_each_kind_of_thread() {
        let table = thread_table(&waiting()).expect("it has shares");
        let first: Vec<_> = table.rows.iter().take(2).map(|row| (row.whose, row.is_first)).collect();
        assert_eq!(first, [("engine", true), ("clients", false)]);
        assert_eq!(table.rows[0].cells, ["8.0", "25", "5", "10", "40", "10", "10", "0"]);
        assert!(
            table.notes[0].contains("2.31 sessions") && table.notes[1].contains("0.3 % of a core"),
            "{:?}",
            table.notes
        );
    }
}
