//! What can go wrong with a run file, in words that name the file and what to do next.
//!
//! In: errors of SQLite, the file system and the contents. Out: [`StoreError`], by which a caller chooses its exit code.
//! Limits: a run file that is being written to for too long to be copied is an `Io` error of kind `WouldBlock`.

use model::HostId;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What can go wrong with a run file.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file exists in the place of the new one.
    #[error("`{}` exists and is never overwritten; choose another name, or move it", path.display())]
    Exists { path: PathBuf },
    /// The file is something else.
    #[error("`{}` is not a plimsoll run file: {why}", path.display())]
    NotARun {
        path: PathBuf,
        /// What it is instead, as far as it is known.
        why: String,
    },
    /// The file has a format that this version does not know.
    #[error("`{}` has the run file format {format}, and this plimsoll reads format {}; use the plimsoll that recorded it, or a newer one",
            path.display(), crate::FORMAT)]
    UnknownFormat { path: PathBuf, format: u32 },
    /// Another process has the file open.
    #[error("`{}` is in use: it is being recorded or read; wait until it is closed", path.display())]
    InUse { path: PathBuf },
    /// The file was a run file once.
    #[error("the run file `{}` is damaged: {what}; restore it from a backup, or save what is left with `sqlite3 FILE .recover`",
            path.display())]
    Damaged {
        path: PathBuf,
        /// What is wrong in it.
        what: String,
    },
    /// The disk or the quota is full.
    #[error("no space left to {doing} `{}`; what was recorded before is kept; free some space or use another directory",
            path.display())]
    Full { path: PathBuf, doing: &'static str },
    /// The file is no longer where it was made.
    #[error("the run file `{}` was {}; it is not recorded any more", path.display(), what_became_of_it(now.as_deref()))]
    Gone {
        path: PathBuf,
        /// Where it is now, if it is still there.
        now: Option<PathBuf>,
    },
    /// The directory takes no new file.
    #[error("cannot create the run file `{}`: {}; choose another directory with --runs", path.display(), model::system_words(cause))]
    NotCreated {
        path: PathBuf,
        /// The error of the file system.
        cause: io::Error,
    },
    /// The file system refused.
    #[error("cannot {doing} `{}`: {}; check that the file exists, its permissions and its disk", path.display(), model::system_words(cause))]
    Io {
        path: PathBuf,
        doing: &'static str,
        /// The error of the file system.
        cause: io::Error,
    },
    /// What is to be recorded cannot be written as JSON.
    #[error("cannot {doing} `{}`: {what}; use names and paths in UTF-8", path.display())]
    Unwritable {
        path: PathBuf,
        doing: &'static str,
        /// What is in the way.
        what: String,
    },
    /// What a host delivered does not belong into its point: written, it would make the file unreadable.
    #[error("cannot record rows of host {} in `{}`: {what}; run the same plimsoll on all hosts", host.0, path.display())]
    Unfit {
        path: PathBuf,
        host: HostId,
        /// What does not fit.
        what: String,
    },
    /// SQLite refused for another reason.
    #[error("cannot {doing} `{}`: SQLite reports: {cause}; check the permissions of its directory and its disk", path.display())]
    Sqlite { path: PathBuf, doing: &'static str, cause: rusqlite::Error },
}

/// What became of a run file that is at `now`.
fn what_became_of_it(now: Option<&Path>) -> String {
    match now {
        Some(now) => {
            format!("moved to `{}` while it was recorded: what was recorded until then is there", now.display())
        }
        None => "removed while it was recorded, with all that was in it".to_owned(),
    }
}

impl StoreError {
    /// The error of the file system while `doing` something to `path`.
    pub(crate) fn io(path: &Path, doing: &'static str, cause: io::Error) -> StoreError {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path, doing },
            _ => StoreError::Io { path, doing, cause },
        }
    }

    /// The error of SQLite while `doing` something to `path`.
    pub(crate) fn sqlite(path: &Path, doing: &'static str, cause: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        match cause {
            rusqlite::Error::ToSqlConversionFailure(what) => {
                StoreError::Unwritable { path, doing, what: what.to_string() }
            }
            cause if is_full(&cause) => StoreError::Full { path, doing },
            cause => StoreError::Sqlite { path, doing, cause },
        }
    }

    /// The file is not what it should be.
    pub(crate) fn not_a_run(path: &Path, why: impl Into<String>) -> StoreError {
        StoreError::NotARun { path: path.to_owned(), why: why.into() }
    }

    /// The contents are not what they should be.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// What can go wrong while contents are read; the path is added once, by [`ReadFault::at`].
#[derive(Debug)]
pub(crate) enum ReadFault {
    Sql(rusqlite::Error),
    /// SQLite delivered what cannot be.
    Wrong(String),
}

impl From<rusqlite::Error> for ReadFault {
    fn from(error: rusqlite::Error) -> Self {
        ReadFault::Sql(error)
    }
}

impl ReadFault {
    /// What is wrong, from parts that make a sentence.
    pub(crate) fn wrong(what: impl Into<String>) -> ReadFault {
        ReadFault::Wrong(what.into())
    }

    /// The error for the caller. What SQLite cannot read is damage, unless the machine is at fault.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        match self {
            ReadFault::Wrong(what) => StoreError::damaged(path, what),
            ReadFault::Sql(cause) if is_machine(&cause) => StoreError::sqlite(path, "read", cause),
            ReadFault::Sql(cause) => StoreError::damaged(path, cause.to_string()),
        }
    }
}

/// Whether the disk is full. SQLite reports a full disk under the shared-memory file with a code of its own.
fn is_full(error: &rusqlite::Error) -> bool {
    match error.sqlite_error() {
        Some(code) => code.code == ErrorCode::DiskFull || code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE,
        None => false,
    }
}

/// Whether the machine is at fault and not the file.
fn is_machine(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseBusy, DiskFull, OutOfMemory, PermissionDenied, SystemIoFailure};
    let machine = [CannotOpen, DatabaseBusy, DiskFull, OutOfMemory, PermissionDenied, SystemIoFailure];
    error.sqlite_error_code().is_some_and(|code| machine.contains(&code))
}
