//! Whose process an engine works in, why that is not seen, and how its writes reach the disk.
//!
//! In: words of facts. Out: what an engine declares and a point keeps. Limits: a word that is not known is `Unknown`, or `None`.

use serde::{Deserialize, Serialize};

/// Whose process the engine's work is done in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineProcess {
    /// Processes of the engine's own.
    Own,
    /// The client threads and further threads of plimsoll's process.
    Embedded,
    /// There is no engine: the client threads do the I/O themselves.
    None,
    /// On a server that plimsoll did not start and whose processes it does not see. [`UnseenServer`] is the reason.
    Elsewhere,
    /// It is not known.
    #[default]
    Unknown,
}

impl EngineProcess {
    /// Whether the client threads do nothing of the engine's work. An embedded engine works on them: what it used there cannot be
    /// separated from the client's part.
    pub fn is_apart_from_clients(self) -> bool {
        matches!(self, EngineProcess::Own | EngineProcess::None | EngineProcess::Elsewhere)
    }

    /// Whether the counters of processes are those of an engine.
    pub fn is_counted(self) -> bool {
        matches!(self, EngineProcess::Own | EngineProcess::Embedded)
    }

    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineProcess::Own => "own",
            EngineProcess::Embedded => "embedded",
            EngineProcess::None => "none",
            EngineProcess::Elsewhere => "elsewhere",
            EngineProcess::Unknown => "unknown",
        }
    }

    pub(super) fn from_word(word: &str) -> EngineProcess {
        let known = [EngineProcess::Own, EngineProcess::Embedded, EngineProcess::None, EngineProcess::Elsewhere];
        known.into_iter().find(|process| process.as_str() == word).unwrap_or_default()
    }
}

/// Why a server that plimsoll did not start is not seen, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenServer {
    /// It is on another machine.
    Remote,
    /// Its process belongs to another user, and plimsoll is not root.
    NotPermitted,
    /// Its process is seen, but for the same reason not its I/O.
    IoNotPermitted,
    /// The connection ends in no process that can be seen: in a container, a virtual machine, or behind a translation of addresses.
    NotFound,
    /// The connection ends in a proxy or a tunnel.
    OtherProgram,
    /// It ended while it was measured, and was perhaps started again.
    Restarted,
}

impl UnseenServer {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            UnseenServer::Remote => "remote",
            UnseenServer::NotPermitted => "not-permitted",
            UnseenServer::IoNotPermitted => "io-not-permitted",
            UnseenServer::NotFound => "not-found",
            UnseenServer::OtherProgram => "other-program",
            UnseenServer::Restarted => "restarted",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<UnseenServer> {
        use UnseenServer::{IoNotPermitted, NotFound, NotPermitted, OtherProgram, Remote, Restarted};
        let known = [Remote, NotPermitted, IoNotPermitted, NotFound, OtherProgram, Restarted];
        known.into_iter().find(|why| why.as_str() == word)
    }
}

/// How an engine's writes reach the disk. It decides whether the kernel's account of a process's writes can be believed: the kernel
/// charges buffered writes when they make a page of the cache dirty, with the whole folio that the page is in (up to some MiB).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePath {
    /// Past the page cache, or not at all: each byte is charged once.
    Direct,
    /// Through the page cache, and only to the ends of files: a page that is new is as large as what was written.
    Append,
    /// Through the page cache, over what was there before: each write may be charged as a whole folio.
    Buffered,
    /// It is not known: the server is not plimsoll's.
    #[default]
    Unknown,
}

impl WritePath {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            WritePath::Direct => "direct",
            WritePath::Append => "append",
            WritePath::Buffered => "buffered",
            WritePath::Unknown => "unknown",
        }
    }

    pub(super) fn from_word(word: &str) -> WritePath {
        let known = [WritePath::Direct, WritePath::Append, WritePath::Buffered];
        known.into_iter().find(|path| path.as_str() == word).unwrap_or_default()
    }
}
