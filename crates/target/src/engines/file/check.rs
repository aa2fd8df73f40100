//! What a trial on files may ask for: loads, blocks and amounts of memory that this way of doing I/O can carry.
//!
//! In: a trial and what is known of the place. Out: nothing, or a refusal that names the parameter and what to use instead.
//! Limits: asked before data is made and again before clients are; what changes in between is found by the operations.

use super::files::WriteSync;
use super::settings::{Io, Settings};
use crate::error::{TargetError, shown};
use crate::filesystem::Alignment;
use model::{Bytes, Pacing, Trial};
use std::path::Path;

/// Refuses settings that exclude each other.
pub fn settings(trial: &Trial) -> Result<(), TargetError> {
    let settings = Settings::of(trial);
    let refused = match settings.io {
        Io::Mmap if settings.direct => "io = `mmap` goes through the page cache: use direct = `false`",
        Io::Mmap if settings.sync != WriteSync::None => {
            "O_SYNC and O_DSYNC have no effect on a mapping: use fsync = `fsync` with io = `mmap`, or another io"
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(refused.into()))
}

/// Refuses loads that this way of doing I/O cannot carry.
pub fn load(trial: &Trial) -> Result<(), TargetError> {
    let (io, word, depth) = (Settings::of(trial).io, trial.target.params.word("io"), trial.load.depth);
    let refused = match trial.load.pacing {
        _ if !io.batches() && depth > 1 => {
            format!(
                "io = `{word}` performs one operation at a time: depth = `{depth}` needs io = `uring` or io = `aio`, or more \
                 clients"
            )
        }
        Pacing::Closed { think } if io.batches() && think.0 > 0 => {
            format!("think needs io = `sync`: with io = `{word}` there is no client that could think")
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(refused))
}

/// Refuses buffers that would fill the memory: the machine would swap, or kill somebody.
pub fn memory(trial: &Trial, block: Bytes) -> Result<(), TargetError> {
    let system = rustix::system::sysinfo();
    let memory = Bytes(system.totalram as u64 * u64::from(system.mem_unit));
    // A client's buffers are page-aligned.
    let each = Bytes(block.0.next_multiple_of(4096));
    let needed = Bytes(u64::from(trial.load.clients) * u64::from(trial.load.depth) * each.0);
    if needed.0 <= memory.0 / 2 {
        return Ok(());
    }
    Err(TargetError::Unsupported(format!(
        "clients = `{}` with depth = `{}` and block = `{block}` need {needed} of buffers, more than half of the memory \
         ({memory}); use less of one of them",
        trial.load.clients, trial.load.depth
    )))
}

/// Refuses a block that O_DIRECT cannot move on the file system of `path`.
pub fn alignment(path: &Path, alignment: Alignment, block: Bytes) -> Result<(), TargetError> {
    match alignment {
        Alignment::Direct { offset_align, .. } if !block.0.is_multiple_of(u64::from(offset_align)) => {
            Err(TargetError::Unsupported(format!(
                "block = `{block}` is not a multiple of {offset_align} bytes, which O_DIRECT needs on `{}`; use such a \
                 block or direct = `false`",
                shown(path)
            )))
        }
        Alignment::BufferedOnly => Err(TargetError::Unsupported(format!(
            "`{}` is on a file system without O_DIRECT; use direct = `false`",
            shown(path)
        ))),
        Alignment::Direct { .. } | Alignment::Unknown => Ok(()),
    }
}
