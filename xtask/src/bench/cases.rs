//! The cases of the bench `file`: each is one way of doing I/O to one kind of place.
//!
//! In: nothing. Out: the settings of each case, and its file. Limits: one job or client; random access.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct IoCase {
    /// Its name on the command line and in the table.
    pub name: &'static str,
    pub place: IoPlace,
    pub io: CaseIo,
    pub block_kib: u32,
}

/// Where the I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoPlace {
    /// Reads of a file of so many MiB in the page cache.
    Cache { mib: u64 },
    /// Writes to the null device.
    Null,
    /// Reads of a file on the disk, past the page cache.
    Disk,
}

/// The way of doing I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseIo {
    /// pread or pwrite.
    Sync,
    /// io_uring with this many in flight.
    Uring { depth: u32 },
}

/// Two such files fit into the shared cache of most CPUs, but one is too large for the cache of a core: the kernel copies from memory.
const LARGE: IoPlace = IoPlace::Cache { mib: 256 };
/// The second-level cache of a core holds this file: the kernel's copy takes the least time, so that the rest shows.
const SMALL: IoPlace = IoPlace::Cache { mib: 1 };
const D32: CaseIo = CaseIo::Uring { depth: 32 };

const fn case(name: &'static str, place: IoPlace, io: CaseIo, block_kib: u32) -> IoCase {
    IoCase { name, place, io, block_kib }
}

pub const CASES: &[IoCase] = &[
    case("cache-4k-uring", SMALL, D32, 4),
    case("cache-4k-sync", SMALL, CaseIo::Sync, 4),
    case("memory-4k-uring", LARGE, D32, 4),
    case("memory-4k-sync", LARGE, CaseIo::Sync, 4),
    case("memory-16k-uring", LARGE, D32, 16),
    case("null-4k-uring", IoPlace::Null, D32, 4),
    case("null-4k-sync", IoPlace::Null, CaseIo::Sync, 4),
    case("disk-16k-1", IoPlace::Disk, CaseIo::Uring { depth: 1 }, 16),
    case("disk-16k-2", IoPlace::Disk, CaseIo::Uring { depth: 2 }, 16),
    case("disk-16k-8", IoPlace::Disk, CaseIo::Uring { depth: 8 }, 16),
    case("disk-16k-32", IoPlace::Disk, CaseIo::Uring { depth: 32 }, 16),
    case("disk-16k-128", IoPlace::Disk, CaseIo::Uring { depth: 128 }, 16),
];

const DISK_MIB: u64 = 1024;

impl IoCase {
    /// The case in words.
    pub fn describe(&self) -> String {
        let IoCase { block_kib, .. } = self;
        let place = match self.place {
            IoPlace::Cache { mib } => format!("reads of a file of {mib} MiB in the page cache"),
            IoPlace::Null => "writes to /dev/null".into(),
            IoPlace::Disk => "reads of the disk with O_DIRECT".into(),
        };
        match self.io {
            CaseIo::Sync => format!("{block_kib} KiB {place}, one at a time"),
            CaseIo::Uring { depth } => format!("{block_kib} KiB {place}, io_uring, depth {depth}"),
        }
    }

    /// Whether the rate is compared, and not the CPU of an I/O.
    pub fn by_rate(&self) -> bool {
        self.place == IoPlace::Disk
    }

    /// How many I/Os are in flight.
    pub fn depth(&self) -> u32 {
        match self.io {
            CaseIo::Sync => 1,
            CaseIo::Uring { depth } => depth,
        }
    }

    /// The size of the file that the programs get.
    pub fn bytes(&self) -> u64 {
        match self.place {
            IoPlace::Cache { mib } => mib << 20,
            IoPlace::Null | IoPlace::Disk => DISK_MIB << 20,
        }
    }

    /// The file in `work`; it is made if it does not exist yet.
    pub fn make_file(&self, work: &Path) -> Result<PathBuf> {
        if self.place == IoPlace::Null {
            return Ok("/dev/null".into());
        }
        let path = work.join(format!("data-{}", self.bytes() >> 20));
        if !path.exists() {
            write_file(&path, self.bytes()).with_context(|| format!("cannot make `{}`", path.display()))?;
        }
        if !self.by_rate() {
            std::io::copy(&mut File::open(&path)?, &mut std::io::sink())?; // reads it into the page cache
        }
        Ok(path)
    }
}

/// Writes a file and syncs it, so that nothing is written back while it is read.
fn write_file(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
    // Mixed bytes, because some devices do not store blocks of zeros: reading those would cost nothing.
    let block: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for _ in 0..bytes / block.len() as u64 {
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_of_their_own_and_say_what_they_are() {
        let names: std::collections::HashSet<_> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        assert_eq!(CASES[1].describe(), "4 KiB reads of a file of 1 MiB in the page cache, one at a time");
        assert_eq!(CASES[7].describe(), "16 KiB reads of the disk with O_DIRECT, io_uring, depth 1");
    }

    #[test]
    fn a_file_is_made_once_and_is_as_long_as_the_programs_are_told() {
        let work = tempfile::tempdir().unwrap();
        let case = case("tiny", IoPlace::Cache { mib: 1 }, CaseIo::Sync, 4);
        let path = case.make_file(work.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), case.bytes());
        assert_eq!(case.make_file(work.path()).unwrap(), path);
        assert_eq!(CASES[5].make_file(work.path()).unwrap(), Path::new("/dev/null"));
    }
}
