//! What a flush costs at a place, and whether the kernel's count of the device below it shows one: a few blocks are written and synced.
//!
//! In: a directory and the device below it. Out: a [`FlushProbe`]. Limits: the file has no name and is gone when it is closed; a file system
//! without such files gives nothing. The fastest of a few is of a quiet moment: a flush with work before it takes longer. Calls
//! go to the kernel itself, so that a library which makes a sync do nothing does not deceive the probe, too.

use crate::device::{BLOCKS, disk_entry};
use model::Nanos;
use rustix::fs::{CWD, Mode, OFlags, fdatasync, fsync, openat};
use rustix::io::{Errno, pwrite};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many flushes are tried: some milliseconds on a disk without moving parts.
const TRIES: u64 = 12;
const BLOCK: usize = 4096;
/// The field of `/sys/class/block/DEVICE/stat` that counts flushes, from 0 (Documentation/block/stat.rst).
const FLUSHES: usize = 15;

/// How a device flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushProbe {
    /// The least time that writing and syncing a block took.
    pub fastest: Nanos,
    /// Whether the kernel counted each of them as a flush of the device. Devices made of others, those without a cache that could lose
    /// anything, and kernels before 5.5 count none.
    pub is_counted: bool,
    /// Whether a write may be durable by itself, without a flush.
    pub writes_durably: bool,
}

/// Writes and syncs a few blocks in `dir`, which is on the block device `device`. `None` if that is not possible there.
pub fn probe_flushes(dir: &Path, device: &str) -> Option<FlushProbe> {
    let file = openat(CWD, dir, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).ok()?;
    // Space first, so that a sync has to write nothing but the block.
    (0..TRIES).try_for_each(|nth| write_block(&file, nth, 0)).ok()?;
    fsync(&file).ok()?;
    let before = read_flushes(device);
    let times: Vec<u64> = (0..TRIES).map(|nth| time_flush(&file, nth)).collect::<Result<_, Errno>>().ok()?;
    let counted = before.zip(read_flushes(device)).map(|(before, after)| after.saturating_sub(before));
    let fastest = Nanos(times.into_iter().min()?);
    let is_counted = counted.is_some_and(|flushes| flushes >= TRIES);
    Some(FlushProbe { fastest, is_counted, writes_durably: !has_no_durable_writes(device) })
}

fn write_block(file: &OwnedFd, nth: u64, content: u8) -> Result<(), Errno> {
    let written = pwrite(file, &[content; BLOCK], nth * BLOCK as u64)?;
    if written == BLOCK { Ok(()) } else { Err(Errno::NOSPC) }
}

fn time_flush(file: &OwnedFd, nth: u64) -> Result<u64, Errno> {
    let began = Instant::now();
    write_block(file, nth, nth as u8 + 1)?;
    fdatasync(file)?;
    Ok(began.elapsed().as_nanos() as u64)
}

/// The flushes of the device so far. They are counted for whole disks.
fn read_flushes(device: &str) -> Option<u64> {
    let stat = std::fs::read_to_string(disk_below(device)?.join("stat")).ok()?;
    stat.split_ascii_whitespace().nth(FLUSHES)?.parse().ok()
}

/// Whether the kernel says that the device has no writes which are durable by themselves.
fn has_no_durable_writes(device: &str) -> bool {
    let read = disk_below(device).and_then(|entry| std::fs::read_to_string(entry.join("queue/fua")).ok());
    read.is_some_and(|text| text.trim() == "0")
}

fn disk_below(device: &str) -> Option<PathBuf> {
    disk_entry(&Path::new(BLOCKS).join(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_takes_time_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let device = crate::filesystem::find_mount(dir.path()).ok().and_then(|mount| mount.device);
        let Some(device) = device else { return eprintln!("skipped: the directory is on no block device") };
        let Some(probe) = probe_flushes(dir.path(), &device) else {
            return eprintln!("skipped: the file system has no files without a name");
        };
        assert!(probe.fastest > Nanos(0), "{probe:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_place_that_is_not_there_gives_nothing_and_an_unknown_device_counts_nothing() {
        assert_eq!(probe_flushes(Path::new("/nonexistent"), "vda"), None);
        assert_eq!((read_flushes("nosuch"), has_no_durable_writes("nosuch")), (None, false));
    }
}
