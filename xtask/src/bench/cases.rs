//! The cases of the bench `file`: one way of doing I/O on one kind of place each.
//!
//! In: nothing. Out: what each program is told to do, and the file it does it on. Limits: one job or client; random access.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name on the command line and in the table.
    pub name: &'static str,
    pub place: Place,
    pub io: Io,
    pub block_kib: u32,
}

/// Where the I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Reads of a file of so many MiB in the page cache.
    Cache { mib: u64 },
    /// Writes to the null device.
    Null,
    /// Reads of a file on the disk, past the page cache.
    Disk,
}

/// How it gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// pread or pwrite.
    Sync,
    /// io_uring with this many under way.
    Uring { depth: u32 },
}

/// Of which there is room for two in the shared cache of most CPUs and in no cache of one core: the kernel's copy comes from memory.
const LARGE: Place = Place::Cache { mib: 256 };
/// Which the second-level cache of one core holds: the copy takes the least time it can, and the rest shows.
const SMALL: Place = Place::Cache { mib: 1 };
const D32: Io = Io::Uring { depth: 32 };

const fn case(name: &'static str, place: Place, io: Io, block_kib: u32) -> Case {
    Case { name, place, io, block_kib }
}

/// All cases.
pub const CASES: &[Case] = &[
    case("cache-4k-uring", SMALL, D32, 4),
    case("cache-4k-sync", SMALL, Io::Sync, 4),
    case("memory-4k-uring", LARGE, D32, 4),
    case("memory-4k-sync", LARGE, Io::Sync, 4),
    case("memory-16k-uring", LARGE, D32, 16),
    case("null-4k-uring", Place::Null, D32, 4),
    case("null-4k-sync", Place::Null, Io::Sync, 4),
    case("disk-16k-1", Place::Disk, Io::Uring { depth: 1 }, 16),
    case("disk-16k-2", Place::Disk, Io::Uring { depth: 2 }, 16),
    case("disk-16k-8", Place::Disk, Io::Uring { depth: 8 }, 16),
    case("disk-16k-32", Place::Disk, Io::Uring { depth: 32 }, 16),
    case("disk-16k-128", Place::Disk, Io::Uring { depth: 128 }, 16),
];

const DISK_MIB: u64 = 1024;

impl Case {
    /// In words.
    pub fn what(&self) -> String {
        let Case { block_kib, .. } = self;
        let place = match self.place {
            Place::Cache { mib } => format!("reads of a file of {mib} MiB in the page cache"),
            Place::Null => "writes to /dev/null".into(),
            Place::Disk => "reads of the disk with O_DIRECT".into(),
        };
        match self.io {
            Io::Sync => format!("{block_kib} KiB {place}, one at a time"),
            Io::Uring { depth } => format!("{block_kib} KiB {place}, io_uring, depth {depth}"),
        }
    }

    /// Whether the rate is compared, and not the CPU of an I/O.
    pub fn by_rate(&self) -> bool {
        self.place == Place::Disk
    }

    /// How many are under way.
    pub fn depth(&self) -> u32 {
        match self.io {
            Io::Sync => 1,
            Io::Uring { depth } => depth,
        }
    }

    /// The size that the programs are told.
    pub fn bytes(&self) -> u64 {
        match self.place {
            Place::Cache { mib } => mib << 20,
            Place::Null | Place::Disk => DISK_MIB << 20,
        }
    }

    /// The file in `work`, made where it is not there yet.
    pub fn file(&self, work: &Path) -> Result<PathBuf> {
        if self.place == Place::Null {
            return Ok("/dev/null".into());
        }
        let path = work.join(format!("data-{}", self.bytes() >> 20));
        if !path.exists() {
            fill(&path, self.bytes()).with_context(|| format!("cannot make `{}`", path.display()))?;
        }
        if !self.by_rate() {
            std::io::copy(&mut File::open(&path)?, &mut std::io::sink())?; // it is in the page cache
        }
        Ok(path)
    }
}

/// A file that is on the disk, so that nothing is written back while it is read.
fn fill(path: &Path, bytes: u64) -> Result<()> {
    let mut file = File::create(path)?;
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
        assert_eq!(CASES[1].what(), "4 KiB reads of a file of 1 MiB in the page cache, one at a time");
        assert_eq!(CASES[7].what(), "16 KiB reads of the disk with O_DIRECT, io_uring, depth 1");
    }

    #[test]
    fn a_file_is_made_once_and_is_as_long_as_the_programs_are_told() {
        let work = tempfile::tempdir().unwrap();
        let case = case("tiny", Place::Cache { mib: 1 }, Io::Sync, 4);
        let path = case.file(work.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), case.bytes());
        assert_eq!(case.file(work.path()).unwrap(), path);
        assert_eq!(CASES[5].file(work.path()).unwrap(), Path::new("/dev/null"));
    }
}
