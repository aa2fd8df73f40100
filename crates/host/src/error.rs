//! Why an engine or disk cannot be measured.
//!
//! In: errors of the system, a path. Out: a [`TargetError`] with what was tried and what to do next. Limits: Linux error numbers.

pub use model::system_words;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an engine or disk cannot be measured.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The trial asks for something that this engine or machine cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// A path cannot be used, or going on could harm data that is not plimsoll's.
    #[error("{0}")]
    Unsafe(String),
    /// The engine or the file system failed.
    #[error("{0}")]
    Failed(String),
}

impl TargetError {
    /// The same error, of the one of several that `name` names.
    pub fn within(self, name: &str) -> TargetError {
        self.map_text(|text| format!("{name}: {text}"))
    }

    /// The same error, with a `later` one that followed it.
    pub fn and_then(self, later: &TargetError) -> TargetError {
        self.map_text(|text| format!("{text}; {later}"))
    }

    /// The same error, with another text.
    fn map_text(self, change: impl FnOnce(String) -> String) -> TargetError {
        match self {
            TargetError::Unsupported(text) => TargetError::Unsupported(change(text)),
            TargetError::Unsafe(text) => TargetError::Unsafe(change(text)),
            TargetError::Failed(text) => TargetError::Failed(change(text)),
        }
    }

    /// An operation on a file or directory failed.
    pub fn io(what: &str, path: &Path, error: &io::Error) -> TargetError {
        let (kind, advice): (fn(String) -> TargetError, _) = match error.raw_os_error() {
            Some(libc::ENOENT) if what == "look at" => {
                return TargetError::Unsafe(format!(
                    "`{}` does not exist; create it, or use another path",
                    shown(path)
                ));
            }
            Some(libc::ENOENT | libc::ENOTDIR) => (TargetError::Unsafe, "; check the path"),
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
                (TargetError::Unsafe, "; check its permissions, or use another path")
            }
            Some(libc::ENOSPC) if no_inodes_in(path) => {
                (TargetError::Failed, ", because no inodes are left; remove some files or use another directory")
            }
            Some(libc::ENOSPC | libc::EDQUOT) => (TargetError::Failed, "; free some space or use another directory"),
            _ => (TargetError::Failed, ""),
        };
        kind(format!("cannot {what} `{}`: {}{advice}", shown(path), system_words(error)))
    }
}

/// Whether the file system around `path` has no number left for another file, while there may be room enough.
fn no_inodes_in(path: &Path) -> bool {
    let around = path.ancestors().find(|around| around.is_dir());
    let stat = around.and_then(|around| rustix::fs::statvfs(around).ok());
    stat.is_some_and(|stat| stat.f_files > 0 && stat.f_ffree == 0)
}

/// A path as it may be printed: control characters cannot reach the terminal.
pub fn shown(path: &Path) -> String {
    path.display().to_string().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Attaches what was tried to an I/O error.
pub trait IoContext<T> {
    /// `what` is a verb phrase that ends before the path: "create".
    fn trying(self, what: &str, path: impl Into<PathBuf>) -> Result<T, TargetError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn trying(self, what: &str, path: impl Into<PathBuf>) -> Result<T, TargetError> {
        self.map_err(|error| TargetError::io(what, &path.into(), &error))
    }
}

impl<T> IoContext<T> for rustix::io::Result<T> {
    fn trying(self, what: &str, path: impl Into<PathBuf>) -> Result<T, TargetError> {
        self.map_err(io::Error::from).trying(what, path)
    }
}
