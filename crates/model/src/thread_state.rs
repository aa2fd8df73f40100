//! What a thread does with its time, and whose threads are meant.
//!
//! In: nothing. Out: the words that a counter of thread time is declared with, and in which an analysis has shares.
//! Limits: a thread that waits for work is in no state: its time is in no share.

use serde::{Deserialize, Serialize};

/// Whose threads, and by whose account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadOf {
    /// The threads of the engine's processes, as the kernel shows them.
    Engine,
    /// The client threads of plimsoll, as the kernel shows them. An embedded engine works on them.
    Client,
    /// The sessions of the engine, as the engine itself shows them.
    Session,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    Cpu,
    /// It could compute and waits for a CPU.
    Runnable,
    /// It waits for a read of storage.
    Read,
    /// It waits for a write or a sync of storage.
    Sync,
    /// It waits for another thread: a row lock, a mutex, or the thread that syncs for a group of commits.
    Lock,
    /// A thread of the engine waits for its client; a client waits for the engine.
    Client,
    /// It waits for something else: a timer, the next arrival; or it was stopped.
    Other,
}

impl ThreadState {
    /// All of them, in the order of tables and charts.
    pub const ALL: [ThreadState; 7] = [
        ThreadState::Cpu,
        ThreadState::Runnable,
        ThreadState::Read,
        ThreadState::Sync,
        ThreadState::Lock,
        ThreadState::Client,
        ThreadState::Other,
    ];
}
