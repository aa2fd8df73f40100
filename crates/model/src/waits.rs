//! What an engine waits for by its own account: why it held writers back, and the classes of waits that it adds up.
//!
//! In: nothing. Out: the words that a counter of such waits is declared with. Limits: each engine has its own measure of what is a wait;
//! they are compared with nothing but themselves.

use serde::{Deserialize, Serialize};

/// Why an LSM engine held writers back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallReason {
    /// Too many memtables wait to be flushed.
    Memtables,
    /// Too many tables are in level 0.
    UnsortedTables,
    /// Compactions have too many bytes to rewrite.
    PendingCompaction,
}

impl StallReason {
    /// All of them, in the order of charts.
    pub const ALL: [StallReason; 3] =
        [StallReason::Memtables, StallReason::UnsortedTables, StallReason::PendingCompaction];
}

/// A class of waits that a server adds up over its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitClass {
    /// Reads, writes and syncs of files.
    FileIo,
    /// Mutexes inside the server.
    Mutex,
    /// Locks inside the server that readers share.
    ReadWriteLock,
    TableLock,
    /// Locks of what tables are, and not of their rows.
    MetadataLock,
    /// Connections without a statement.
    Idle,
}

impl WaitClass {
    /// All of them, in the order of charts.
    pub const ALL: [WaitClass; 6] = [
        WaitClass::FileIo,
        WaitClass::Mutex,
        WaitClass::ReadWriteLock,
        WaitClass::TableLock,
        WaitClass::MetadataLock,
        WaitClass::Idle,
    ];
}
