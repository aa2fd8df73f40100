//! What a trial on files may ask for: loads, blocks and amounts of memory that this way of doing I/O can carry.
//!
//! A refusal names the parameter and what to use instead. It is asked before data is made and again before clients are; what changes in
//! between is found by the operations.

use super::files::{Readahead, WriteSync};
use super::settings::{FileSettings, IoInterface};
use crate::verify::UNIT;
use host::device::BlockDevice;
use host::error::{TargetError, shown};
use host::filesystem::DirectAlignment;
use model::{Bytes, Pacing, RecordedWork, Trial};
use std::path::Path;
use workload::{IoProgram, replay};

/// Refuses settings that exclude each other.
pub fn check_settings(trial: &Trial) -> Result<(), TargetError> {
    let settings = FileSettings::from_trial(trial);
    let refused = match settings.io {
        _ if settings.direct && settings.readahead != Readahead::Default => {
            "direct = `true` has no readahead: use direct = `false`, or readahead = `default`"
        }
        IoInterface::Mmap if settings.readahead != Readahead::Default => {
            "readahead applies to reads, which io = `mmap` does not do: use io = `sync`, or readahead = `default`"
        }
        IoInterface::Mmap if settings.direct => "io = `mmap` goes through the page cache: use direct = `false`",
        IoInterface::Mmap if settings.sync != WriteSync::None => {
            "O_SYNC and O_DSYNC have no effect on a mapping: use fsync = `fsync` with io = `mmap`, or another io"
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(refused.into()))
}

/// Refuses loads that this way of doing I/O cannot carry.
pub fn check_load(trial: &Trial) -> Result<(), TargetError> {
    let (io, word, depth) = (FileSettings::from_trial(trial).io, trial.target.params.word("io"), trial.load.depth);
    let refused = match trial.load.pacing {
        _ if !io.is_batched() && depth > 1 => {
            format!(
                "io = `{word}` performs one operation at a time: depth = `{depth}` needs io = `uring` or io = `aio`, or more \
                 clients"
            )
        }
        // A client with many operations in flight has no pause: each completion is followed by the next submission.
        Pacing::Closed { think } if io.is_batched() && think.0 > 0 => {
            format!(
                "think needs io = `sync`: with io = `{word}` a client has many operations in flight and cannot \
                 pause between them"
            )
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(refused))
}

/// Refuses data that cannot be checked in the way that was asked for.
pub fn check_verify(trial: &Trial, program: &IoProgram) -> Result<(), TargetError> {
    let (settings, unit, memory) = (FileSettings::from_trial(trial), UNIT as u64, memory_of_machine());
    let data = u64::from(program.files) * program.file_bytes.0;
    let table = Bytes(data / unit * 8);
    let refused = if !settings.verify {
        return Ok(());
    } else if !program.block.0.is_multiple_of(unit) {
        format!(
            "verify = `true` checks blocks of {}, so block = `{}` must be a multiple of that",
            Bytes(unit),
            program.block
        )
    } else if settings.content.dedupe > 0 {
        "verify = `true` makes every 4 KiB different from all others: use dedupe = `0`, or verify = `false`".to_owned()
    } else if table.0 > memory.0 / 2 {
        format!(
            "verify = `true` on {} of files needs a table of {table}, more than half of the memory ({memory}); use a smaller \
             file_size",
            Bytes(data)
        )
    } else {
        return Ok(());
    };
    Err(TargetError::Unsupported(refused))
}

fn memory_of_machine() -> Bytes {
    let system = rustix::system::sysinfo();
    Bytes(system.totalram as u64 * u64::from(system.mem_unit))
}

/// Refuses buffers that would fill the memory: the machine would swap, or kill a process.
pub fn check_memory(trial: &Trial, program: &IoProgram) -> Result<(), TargetError> {
    let (memory, block) = (memory_of_machine(), program.block);
    let needed = Bytes(u64::from(trial.all_clients()) * super::buffer_sizes(trial, program).total_bytes().0);
    if needed.0 <= memory.0 / 2 {
        return Ok(());
    }
    Err(TargetError::Unsupported(format!(
        "clients = `{}` with depth = `{}` and block = `{block}` need {needed} of buffers, more than half of the memory \
         ({memory}); use less of one of them",
        trial.load.clients, trial.load.depth
    )))
}

/// Refuses what a replay cannot do.
pub fn check_replay(trial: &Trial) -> Result<(), TargetError> {
    let params = &trial.workload.params;
    let Some(work) = replay::recorded_work(params) else { return Ok(()) };
    let (file, placement) = (params.bytes("file_size"), params.word("places"));
    let refused = if FileSettings::from_trial(trial).verify {
        "verify = `true` cannot be used with a recording, whose requests have any size; leave it out".to_owned()
    } else if trial.target.instances > 1 {
        "`instances` cannot be used with a recording, which is one; leave it out".to_owned()
    } else if file < work.data {
        format!(
            "file_size = `{file}` is smaller than the {} that the recording needs with places = `{placement}`; use more, or \
             places = `wrapped`",
            work.data
        )
    } else {
        return check_same_device(trial, work);
    };
    Err(TargetError::Unsupported(refused))
}

/// Refuses the device on which the recording was made, unless the user allows that.
fn check_same_device(trial: &Trial, work: &RecordedWork) -> Result<(), TargetError> {
    let Some(path) = trial.target.path.as_deref() else { return Ok(()) };
    let is_same = BlockDevice::at(path).is_some_and(|device| device.has_number(&work.device));
    if !is_same || trial.workload.params.flag("same_device") {
        return Ok(());
    }
    Err(TargetError::Unsafe(format!(
        "`{}` has the number of the device that the recording was made on, {}; name another device, or allow it with \
         same_device = `true` if this is another machine or the device may be used",
        shown(path),
        work.device
    )))
}

/// Refuses a block that O_DIRECT cannot move on the file system of `path`.
pub fn check_alignment(
    path: &Path,
    alignment: DirectAlignment,
    trial: &Trial,
    program: &IoProgram,
) -> Result<(), TargetError> {
    let (path, block) = (shown(path), program.granule);
    match alignment {
        DirectAlignment::Direct { offset_align, .. }
            if trial.workload.params.recording().is_some() && !block.0.is_multiple_of(u64::from(offset_align)) =>
        {
            Err(TargetError::Unsupported(format!(
                "the recording has requests at multiples of {} bytes, and O_DIRECT needs multiples of {offset_align} on `{path}`; use \
                 direct = `false`",
                block.0
            )))
        }
        DirectAlignment::Direct { offset_align, .. } if !block.0.is_multiple_of(u64::from(offset_align)) => {
            let fitting = block.0.next_multiple_of(u64::from(offset_align).max(4096)) >> 10;
            // A KB of a disk's label has 1000 bytes.
            let unit = if block.0.is_multiple_of(1000) { "; `KB` is 1000 bytes, and `KiB` is 1024" } else { "" };
            Err(TargetError::Unsupported(format!(
                "block = `{}` is not a multiple of {offset_align} bytes, which O_DIRECT needs on `{path}`; use \
                 `{fitting}KiB`, or direct = `false`{unit}",
                block.0
            )))
        }
        DirectAlignment::BufferedOnly => Err(TargetError::Unsupported(format!(
            "`{path}` is on a file system without O_DIRECT; use direct = `false`"
        ))),
        DirectAlignment::Direct { .. } | DirectAlignment::Unknown => Ok(()),
    }
}
