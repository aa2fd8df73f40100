//! One operation: how it arrives, what it asks for in each family, and how it ended.
//!
//! In: workloads fill these. Out: drivers execute them, recorders count their [`Completion`]s.
//! Limits: the SQL and key-value families own their buffers so that a slot can be filled again and again without
//! allocating; a freshly made slot allocates on its first fill.

use crate::units::{Bytes, Nanos, Offset, Tick};
use serde::{Deserialize, Serialize};

/// Which of a workload's kinds of operation this is: an index into the list of kind names that the workload declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpKind(pub u8);

impl From<OpKind> for usize {
    fn from(kind: OpKind) -> usize {
        kind.0.into()
    }
}

/// One unit of offered work, taken from the schedule by the client that will perform it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it should start. Response time counts from here.
    pub intended: Tick,
}

/// One operation performed. response time = `finished - intended`, service time = `finished - started`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which kind of operation.
    pub kind: OpKind,
    /// When it should have started.
    pub intended: Tick,
    /// When it did start.
    pub started: Tick,
    /// When it was done.
    pub finished: Tick,
    pub outcome: Outcome,
}

/// How an operation ended. A failure under load is data, not an error of plimsoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and this much was read or written.
    Ok {
        /// Bytes of payload moved; 0 if the family has no such notion.
        bytes: u32,
    },
    /// Not done. The driver keeps the text.
    Failed(FailureClass),
}

/// Why an operation failed, coarse enough to count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The device or file system reported an I/O error.
    Io,
    /// No space left on the device, or the quota is used up.
    NoSpace,
    /// Fewer bytes than asked for.
    Short,
    /// The data read was not the data written.
    Corrupt,
    /// The engine gave the operation up in favour of another: lock wait, deadlock, serialization, busy.
    Conflict,
    /// The connection or the engine is gone.
    Lost,
    /// An administrator of the server ended the connection: KILL, `pg_terminate_backend`.
    Killed,
    /// The server takes no writes any more, as after a failover.
    ReadOnly,
    /// Any other failure that the engine reported.
    Other,
}

impl FailureClass {
    /// All of them, in the order of their declaration.
    pub const ALL: [FailureClass; 9] = [
        FailureClass::Io,
        FailureClass::NoSpace,
        FailureClass::Short,
        FailureClass::Corrupt,
        FailureClass::Conflict,
        FailureClass::Lost,
        FailureClass::Killed,
        FailureClass::ReadOnly,
        FailureClass::Other,
    ];

    /// The class of that word.
    pub fn from_word(word: &str) -> Option<FailureClass> {
        FailureClass::ALL.into_iter().find(|class| class.as_str() == word)
    }

    /// Whether the connection is gone.
    pub fn is_of_connection(self) -> bool {
        matches!(self, FailureClass::Lost | FailureClass::Killed)
    }

    /// Whether a client does better with another connection: it may get to a server that takes what it does.
    pub fn asks_for_reconnect(self) -> bool {
        self.is_of_connection() || self == FailureClass::ReadOnly
    }

    /// The word used in files and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureClass::Io => "io",
            FailureClass::NoSpace => "no space",
            FailureClass::Short => "short",
            FailureClass::Corrupt => "corrupt",
            FailureClass::Conflict => "conflict",
            FailureClass::Lost => "lost",
            FailureClass::Killed => "killed",
            FailureClass::ReadOnly => "read-only",
            FailureClass::Other => "other",
        }
    }
}

/// What the loops need to know of an operation of any family. `Default` makes an empty slot for a workload to fill.
pub trait Op: Default + Send + 'static {
    /// Whether operations of this family may follow in the turn of the one before.
    const HAS_STEPS: bool = false;
    /// Whether a client may have to wait before it starts an operation of this family.
    const HAS_PAUSES: bool = false;
    /// Which kind of operation this is.
    fn kind(&self) -> OpKind;
    /// Whether it belongs to the turn of the operation before: it starts as soon as that is done and has no arrival of its own.
    #[inline]
    fn follows(&self) -> bool {
        false
    }
    /// How long its client waits before it starts it in a closed loop, in addition to the think time of all operations.
    #[inline]
    fn pause_before(&self) -> Nanos {
        Nanos(0)
    }
    /// When it falls due after the start of its phase, if the arrivals are those of a recording.
    #[inline]
    fn due(&self) -> Nanos {
        Nanos(0)
    }
}

/// What an I/O does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoKind {
    /// Data comes from the file.
    #[default]
    Read,
    /// Data goes to the file.
    Write,
    /// Data goes to the file and is on the medium when it is done (FUA, "force unit access").
    WriteFua,
    /// What was written to the file before goes to the device, and all that is known about the file. Moves no bytes.
    Fsync,
    /// The same without what no reader of the data needs, such as the time of the last change.
    Fdatasync,
}

impl IoKind {
    /// Whether data goes to the file.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, IoKind::Write | IoKind::WriteFua)
    }

    /// The word used for it in messages and as a kind of operation.
    pub fn as_str(self) -> &'static str {
        match self {
            IoKind::Read => "read",
            IoKind::Write => "write",
            IoKind::WriteFua => "write_fua",
            IoKind::Fsync => "fsync",
            IoKind::Fdatasync => "fdatasync",
        }
    }
}

/// One read, write or sync of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoOp {
    /// Index into the workload's kinds.
    pub op_kind: OpKind,
    pub io: IoKind,
    /// Which file of the data set, from 0.
    pub file: u16,
    /// Where in that file.
    pub at: Offset,
    /// How much. Never above 1 GiB; 0 for a sync.
    pub len: Bytes,
    /// When it falls due after the start of its phase, if it was recorded.
    pub due: Nanos,
}

impl Op for IoOp {
    #[inline]
    fn kind(&self) -> OpKind {
        self.op_kind
    }
    #[inline]
    fn due(&self) -> Nanos {
        self.due
    }
}

/// One task in plimsoll's own process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskOp {
    /// Index into the workload's kinds.
    pub op_kind: OpKind,
    /// What it is performed on: the number of an input, of a block or of a file. The workload and its engine agree on the meaning.
    pub item: u64,
}

impl Op for TaskOp {
    #[inline]
    fn kind(&self) -> OpKind {
        self.op_kind
    }
}

/// One transaction of prepared statements, performed as a whole and timed as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqlOp {
    /// Index into the workload's kinds.
    pub op_kind: OpKind,
    /// Whether the calls are between BEGIN and COMMIT. Without it, each call is its own transaction.
    pub transaction: bool,
    /// Whether any call writes (an engine with one writer begins such a transaction as a writer).
    pub writes: bool,
    /// The statements to execute, in order.
    pub calls: Vec<SqlCall>,
    /// The arguments of all calls, in order.
    pub args: Vec<SqlArg>,
    /// The bytes of all text arguments.
    pub text: Vec<u8>,
    /// How a transaction ends.
    pub ending: TransactionEnd,
    /// What is kept of the answers to some of the calls, in the order of these calls; empty if no later call needs any of it.
    pub keeps: Vec<KeptAnswer>,
    /// How long the client waits before it starts the operation.
    pub pause: Nanos,
    /// When it falls due after the start of its phase, if it was recorded.
    pub due: Nanos,
}

/// How a transaction ends if none of its calls fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionEnd {
    #[default]
    Commit,
    /// By ROLLBACK: its user changed their mind, which is no failure.
    RollBack,
}

/// The integers that are kept of the answer to a call, as arguments of later calls of the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The number of the call.
    pub call: u16,
    /// The row that they are in.
    pub row: KeptRow,
    /// How many of its first columns are kept; each holds an integer.
    pub columns: u8,
    /// The place of the first of them among all that is kept, from 0. The others follow it.
    pub place: u8,
    /// What is done if the answer has no row.
    pub if_empty: IfEmpty,
}

/// The row of an answer that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptRow {
    First,
    /// The one in the middle, and of an even number of rows the first of the two in the middle.
    Middle,
}

/// What is done if an answer of which something is to be kept has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfEmpty {
    /// The operation fails: the row must be there.
    Fail,
    /// The call is repeated once, because another transaction may just have taken the row. If it has no row again, so many of the calls
    /// that follow it are left out.
    Skip(u16),
}

/// How many values an operation may keep at once.
pub const KEPT_PLACES: usize = 8;

/// One execution of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlCall {
    /// Index into the statements that the workload declares.
    pub statement: u16,
    /// How many of the op's arguments belong to this call; they follow those of the call before.
    pub args: u16,
}

/// One argument of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SqlArg {
    Int(i64),
    Float(f64),
    /// `text[start..start + len]` of the op, valid UTF-8.
    Text {
        /// The first byte of the text.
        start: u32,
        /// Its length in bytes.
        len: u32,
    },
    /// The whole number that the operation has kept in this place.
    Kept(u8),
    Null,
}

impl SqlOp {
    /// Each call with its own arguments.
    #[inline]
    pub fn calls_with_args(&self) -> impl Iterator<Item = (&SqlCall, &[SqlArg])> {
        let mut args = &self.args[..];
        self.calls.iter().map(move |call| {
            let (own, rest) = args.split_at(call.args.into());
            args = rest;
            (call, own)
        })
    }

    /// Empties the slot and keeps its buffers.
    pub fn clear(&mut self) {
        self.transaction = false;
        self.writes = false;
        self.ending = TransactionEnd::Commit;
        self.keeps.clear();
        (self.pause, self.due) = (Nanos(0), Nanos(0));
        self.calls.clear();
        self.args.clear();
        self.text.clear();
    }
}

impl Op for SqlOp {
    const HAS_PAUSES: bool = true;
    #[inline]
    fn kind(&self) -> OpKind {
        self.op_kind
    }
    #[inline]
    fn pause_before(&self) -> Nanos {
        self.pause
    }
    #[inline]
    fn due(&self) -> Nanos {
        self.due
    }
}

/// One atomic batch of puts and removals, or reads, on a key-value engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KvOp {
    /// Index into the workload's kinds.
    pub op_kind: OpKind,
    /// What is done with the entries.
    pub action: KvAction,
    /// The entries to put as one atomic batch, the keys to read, whose values are empty, or the parts of values to replace.
    pub entries: Vec<KvEntry>,
    /// Keys that the same batch removes.
    pub removed: Vec<KvEntry>,
    /// The bytes of all keys and values.
    pub bytes: Vec<u8>,
}

/// What a [`KvOp`] does with its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvAction {
    /// They are put, and those to be removed are removed.
    #[default]
    Put,
    /// Their keys are read, and have been put: one that is not there is damage.
    Get,
    /// Their keys are looked for, and need not be there.
    Find,
    /// From each key on, entries are read in the order of their keys.
    Scan {
        /// How many, if there are as many.
        count: u32,
    },
    /// The value of each key is read, a part of it is replaced by the value of the entry, and it is put again.
    Replace {
        /// The first byte of that part.
        at: u32,
    },
}

/// One key with its value, as places in the op's `bytes`: `bytes[start..][..key_len]`, then `value_len` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvEntry {
    /// Which of the workload's tables (key spaces) it belongs to.
    pub table: u16,
    /// First byte of the key.
    pub start: u32,
    /// Length of the key.
    pub key_len: u32,
    /// Length of the value, which follows the key.
    pub value_len: u32,
}

impl KvOp {
    /// Empties the slot and keeps its buffers.
    pub fn clear(&mut self) {
        self.action = KvAction::Put;
        self.entries.clear();
        self.removed.clear();
        self.bytes.clear();
    }

    /// The key of `entry`.
    #[inline]
    pub fn key(&self, entry: &KvEntry) -> &[u8] {
        &self.bytes[entry.start as usize..][..entry.key_len as usize]
    }

    /// The value of `entry`.
    #[inline]
    pub fn value(&self, entry: &KvEntry) -> &[u8] {
        &self.bytes[(entry.start + entry.key_len) as usize..][..entry.value_len as usize]
    }
}

impl Op for KvOp {
    #[inline]
    fn kind(&self) -> OpKind {
        self.op_kind
    }
}

/// One step in the life of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOp {
    /// Index into the workload's kinds.
    pub op_kind: OpKind,
    pub step: ConnectStep,
}

/// What a [`ConnectOp`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectStep {
    /// Opens a connection and logs in.
    #[default]
    Connect,
    /// Sends the first query over it and takes the answer.
    FirstQuery,
    Close,
    /// Opens connections and keeps them until the engine refuses one.
    Hold,
}

impl Op for ConnectOp {
    const HAS_STEPS: bool = true;
    #[inline]
    fn kind(&self) -> OpKind {
        self.op_kind
    }
    #[inline]
    fn follows(&self) -> bool {
        matches!(self.step, ConnectStep::FirstQuery | ConnectStep::Close)
    }
}
