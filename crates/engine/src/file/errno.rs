//! Failures of system calls under load, counted by class and described once.
//!
//! In: an error number and the operation. Out: its [`FailureClass`] and a line for people. Limits: Linux error numbers.

use crate::verify::UnitDamage;
use model::{FailureClass, IoKind, IoOp};
use rustix::io::{Errno, pwrite};
use std::fs::File;
use std::path::PathBuf;

/// The last I/O that failed. Small and copied, because it is filled in on the hot path.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastFailure {
    op: IoOp,
    cause: FailureCause,
}

#[derive(Clone, Copy, Debug, Default)]
enum FailureCause {
    #[default]
    None,
    Errno(i32),
    Short(usize),
    Damaged(UnitDamage),
}

impl LastFailure {
    /// `op` ended with `errno`.
    #[inline]
    pub fn record_errno(&mut self, op: &IoOp, errno: i32) -> FailureClass {
        *self = LastFailure { op: *op, cause: FailureCause::Errno(errno) };
        match errno {
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => FailureClass::NoSpace,
            _ => FailureClass::Io,
        }
    }

    /// The read `op` moved only `bytes`: the file ends there.
    pub fn record_short(&mut self, op: &IoOp, bytes: usize) -> FailureClass {
        *self = LastFailure { op: *op, cause: FailureCause::Short(bytes) };
        FailureClass::Short
    }

    /// The write `op` moved less than asked for. A file system that fills up writes what fits and reports the reason at the next
    /// write only; so the `rest` is tried once.
    #[cold]
    pub fn short_write(&mut self, op: &IoOp, file: &File, rest: &[u8]) -> FailureClass {
        let bytes = op.len.0 as usize - rest.len();
        match pwrite(file, rest, op.at.0 + bytes as u64) {
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => {
                self.record_errno(op, errno.raw_os_error())
            }
            _ => self.record_short(op, bytes),
        }
    }

    /// What the read `op` brought is not what was written.
    pub fn record_damage(&mut self, op: &IoOp, damage: UnitDamage) -> FailureClass {
        *self = LastFailure { op: *op, cause: FailureCause::Damaged(damage) };
        FailureClass::Corrupt
    }

    /// What happened in one of the files at `paths`, for messages.
    pub fn describe(&self, paths: &[PathBuf]) -> String {
        let path = host::error::shown(&paths[self.op.file as usize]);
        let what = self.op.io.as_str();
        let cause = match self.cause {
            FailureCause::None => "no failure".to_string(),
            FailureCause::Errno(errno) => host::error::system_words(&std::io::Error::from_raw_os_error(errno)),
            FailureCause::Short(bytes) => format!("only {bytes} bytes were moved"),
            FailureCause::Damaged(damage) => return format!("{what} of {}: {}", self.op.len, damage.describe(paths)),
        };
        match self.op.io {
            IoKind::Read | IoKind::Write | IoKind::WriteFua => {
                format!("{what} of {} at {} in `{path}`: {cause}", self.op.len, self.op.at.0)
            }
            IoKind::Fsync | IoKind::Fdatasync => format!("{what} of `{path}`: {cause}"),
        }
    }
}
