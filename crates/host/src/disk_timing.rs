//! The four timings of `hdparm -tT`: how fast a disk and its caches deliver to a single reader without other load.
//!
//! In: a block device, or a file of plimsoll's own on the disk of interest, filled and synced. Out: one [`DiskTiming`]. Limits: reads
//! only, one request of 2 MiB at a time.
//!
//! What hdparm 9.x does (`time_cache`, `time_device` in hdparm.c): it opens the raw device, with O_DIRECT if asked, and
//! reads 2 MiB at a time into one page-aligned buffer, of which it touches every sector. *Cached reads* read the device's
//! first 2 MiB again and again for 2 s: from the page cache, or with O_DIRECT from the cache of the drive. *Disk reads* read
//! on from there for 3 s, after the caches were flushed, or to the end of the device. Its MB is 2^20 bytes.
//!
//! The same is done here with a device. Of a file two things differ, which can make it twice as fast or slow as its device:
//! - a file system lies between, with a page cache and a readahead of its own for the file;
//! - the file is shorter than 3 s of reading: at its end reading starts again, after its pages have been dropped from the page
//!   cache, which is not timed. A cache below the file system (of a RAID controller, of a hypervisor) that holds all of the
//!   file makes the second round faster than the disk is.
//!
//! Of both these differ from hdparm:
//! - whether it was the disk that delivered is counted and not assumed: see [`DiskTiming::describe_doubt`];
//! - all four last equally long; hdparm gives cached reads 2 s;
//! - cached reads begin after one read that is not timed. hdparm's first one comes from the disk, and it takes what its calls
//!   of lseek and getitimer cost off the time: here pread and one clock read of some 25 ns per request leave nothing to take.

use crate::device::size_of;
use crate::error::{IoContext, TargetError, shown};
use model::{Bytes, Nanos};
use procfs::FromRead;
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What one request reads.
pub const REQUEST: Bytes = Bytes::from_mib(2);

/// From this share on, data counts as read from the disk.
const DISK_SHARE_LEAST: f64 = 0.9;
/// Up to this share, data counts as read from the page cache.
const DISK_SHARE_CACHED: f64 = 0.1;

const PAGE: usize = 4096;
const SECTOR: usize = 512;

/// What is read while a disk is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedReads {
    /// The first 2 MiB again and again.
    Cached,
    /// The file or device from its beginning to its end.
    Disk,
}

/// Which way data takes to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// O_DIRECT: past the page cache.
    Direct,
    /// Through the page cache.
    Buffered,
}

/// The four timings in the order of `hdparm --direct -tT` and `hdparm -tT`.
pub const TIMINGS: [(ReadPath, TimedReads); 4] = [
    (ReadPath::Direct, TimedReads::Cached),
    (ReadPath::Direct, TimedReads::Disk),
    (ReadPath::Buffered, TimedReads::Cached),
    (ReadPath::Buffered, TimedReads::Disk),
];

/// How fast a disk was read, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskTiming {
    /// What was read for it.
    pub reads: TimedReads,
    /// Which way it took.
    pub via: ReadPath,
    /// How much was read.
    pub bytes: Bytes,
    /// How long that took.
    pub took: Nanos,
    /// How much of it the kernel fetched from a block device, readahead included; `None` if it does not count that.
    pub from_disk: Option<Bytes>,
}

/// Reads the file or device at `path` for `length`, or until `stop` returns true, which is called after each request.
///
/// # Errors
/// If the file cannot be read, or is shorter than one request; [`TargetError::Unsupported`] if its file system has no
/// O_DIRECT.
pub fn time_reads(
    path: &Path,
    via: ReadPath,
    reads: TimedReads,
    length: Nanos,
    stop: &dyn Fn() -> bool,
) -> Result<DiskTiming, TargetError> {
    let mut reader = TimedReader::open(path, via)?;
    let (bytes, took, from_disk) = match reads {
        TimedReads::Cached => reader.time_cached(length, stop)?,
        TimedReads::Disk => reader.time_disk(length, stop)?,
    };
    Ok(DiskTiming { reads, via, bytes, took, from_disk })
}

impl DiskTiming {
    /// The rate in bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes.0 as f64 / self.took.as_secs_f64()
    }

    /// What share of the data came from a block device: above 1 if readahead fetched more than was read.
    pub fn disk_share(&self) -> Option<f64> {
        Some(self.from_disk?.0 as f64 / self.bytes.0 as f64)
    }

    /// Why the number may not be what its name promises, if there is a reason.
    pub fn describe_doubt(&self) -> Option<String> {
        // With O_DIRECT even repeated reads come from the disk, though perhaps from the cache in the drive.
        let from_cache = (self.via, self.reads) == (ReadPath::Buffered, TimedReads::Cached);
        match self.disk_share() {
            None if from_cache => None,
            None => Some("the kernel does not say how much of it came from the disk".into()),
            Some(share) if from_cache && share > DISK_SHARE_CACHED => {
                Some(format!("{:.0} % of it came from the disk and not from the page cache", 100.0 * share))
            }
            Some(share) if !from_cache && share < DISK_SHARE_LEAST => {
                Some(format!("only {:.0} % of it came from the disk", 100.0 * share))
            }
            Some(_) => None,
        }
    }
}

/// Read so far, in that time, and how much of it from a block device.
type ReadTotals = (Bytes, Nanos, Option<Bytes>);

/// One open file and the memory that it is read into.
struct TimedReader {
    file: File,
    path: PathBuf,
    requests: u64,
    memory: Vec<u8>,
}

impl TimedReader {
    fn open(path: &Path, via: ReadPath) -> Result<TimedReader, TargetError> {
        let direct = if via == ReadPath::Direct { OFlags::DIRECT } else { OFlags::empty() };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | direct;
        let file = match open(path, flags, Mode::empty()) {
            Err(Errno::INVAL | Errno::OPNOTSUPP) if via == ReadPath::Direct => return Err(without_direct(path)),
            opened => File::from(opened.trying("open", path)?),
        };
        // Only complete requests: a shorter last one would have another rate.
        let requests = size_of(&file).trying("look at", path)?.0 / REQUEST.0;
        if requests == 0 {
            let text = format!("`{}` is shorter than one read ({REQUEST}); make it longer", shown(path));
            return Err(TargetError::Unsupported(text));
        }
        let memory = vec![0; REQUEST.0 as usize + PAGE];
        Ok(TimedReader { file, path: path.into(), requests, memory })
    }

    /// The first request, until the time is over.
    fn time_cached(&mut self, length: Nanos, stop: &dyn Fn() -> bool) -> Result<ReadTotals, TargetError> {
        self.read_request(0)?;
        let fetched = fetched_bytes();
        let (mut bytes, start) = (0, Instant::now());
        loop {
            self.read_request(0)?;
            bytes += REQUEST.0;
            let took = nanos_since(start);
            if took >= length || stop() {
                return Ok((Bytes(bytes), took, fetched_since(fetched)));
            }
        }
    }

    /// All of it, from its beginning as often as fits into the time. Only the reading counts.
    fn time_disk(&mut self, length: Nanos, stop: &dyn Fn() -> bool) -> Result<ReadTotals, TargetError> {
        let fetched = fetched_bytes();
        let (mut bytes, mut took) = (0, Nanos(0));
        while took < length && !stop() {
            // Before each round and outside of its time: the second round would otherwise come from the page cache.
            self.drop_pages()?;
            let (round, start) = (took, Instant::now());
            for nth in 0..self.requests {
                self.read_request(nth)?;
                bytes += REQUEST.0;
                took = Nanos(round.0 + nanos_since(start).0);
                if took >= length || stop() {
                    break;
                }
            }
        }
        Ok((Bytes(bytes), took, fetched_since(fetched)))
    }

    fn read_request(&mut self, nth: u64) -> Result<(), TargetError> {
        // O_DIRECT needs an aligned buffer, and a Vec of bytes has no alignment: one page more than needed leaves room for it.
        let skip = self.memory.as_ptr().align_offset(PAGE);
        let block = &mut self.memory[skip..][..REQUEST.0 as usize];
        self.file.read_exact_at(block, nth * REQUEST.0).trying("read", &self.path)?;
        // As hdparm does, so that the time includes the CPU's access to the data.
        block.iter_mut().step_by(SECTOR).for_each(|byte| *byte &= 1);
        Ok(())
    }

    /// From now on its data is not in the page cache. A page that is not yet written cannot be dropped: hence the sync.
    fn drop_pages(&self) -> Result<(), TargetError> {
        self.file.sync_all().trying("sync", &self.path)?;
        fadvise(&self.file, 0, None, Advice::DontNeed).trying("drop from the page cache", &self.path)
    }
}

/// Never zero, so that a rate can be made of it.
fn nanos_since(start: Instant) -> Nanos {
    Nanos(start.elapsed().as_nanos() as u64).max(Nanos(1))
}

fn without_direct(path: &Path) -> TargetError {
    TargetError::Unsupported(format!("`{}` is on a file system without O_DIRECT", shown(path)))
}

/// What the kernel has fetched from block devices for this thread, which does all the reading: what other threads of the
/// process read meanwhile is not in it.
fn fetched_bytes() -> Option<Bytes> {
    Some(Bytes(procfs::process::Io::from_file("/proc/thread-self/io").ok()?.read_bytes))
}

fn fetched_since(before: Option<Bytes>) -> Option<Bytes> {
    Some(Bytes(fetched_bytes()?.0.saturating_sub(before?.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Nanos = Nanos::from_millis(20);

    fn timing(via: ReadPath, reads: TimedReads, from_disk: Option<u64>) -> DiskTiming {
        let from_disk = from_disk.map(Bytes::from_mib);
        DiskTiming { reads, via, bytes: Bytes::from_mib(100), took: Nanos::from_millis(500), from_disk }
    }

    fn file_of(mib: usize) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![7; mib << 20]).unwrap();
        (dir, path)
    }

    #[test]
    fn the_rate_is_what_was_read_over_the_time_it_took() {
        let timing = timing(ReadPath::Direct, TimedReads::Disk, Some(100));
        assert_eq!(timing.bytes_per_s(), 200.0 * 1024.0 * 1024.0);
        assert_eq!(timing.disk_share(), Some(1.0));
    }

    #[test]
    fn disk_reads_that_came_from_elsewhere_are_doubted() {
        let doubt = |from_disk| timing(ReadPath::Buffered, TimedReads::Disk, from_disk).describe_doubt();
        assert_eq!(doubt(Some(104)), None);
        assert_eq!(doubt(Some(90)), None);
        assert_eq!(doubt(Some(89)).unwrap(), "only 89 % of it came from the disk");
        assert!(doubt(None).unwrap().contains("does not say"));
        assert!(timing(ReadPath::Direct, TimedReads::Cached, Some(0)).describe_doubt().unwrap().contains("only 0 %"));
    }

    #[test]
    fn cached_reads_that_came_from_the_disk_are_doubted() {
        let doubt = |from_disk| timing(ReadPath::Buffered, TimedReads::Cached, from_disk).describe_doubt();
        assert_eq!((doubt(Some(0)), doubt(Some(10)), doubt(None)), (None, None, None));
        assert!(doubt(Some(11)).unwrap().starts_with("11 % of it came from the disk"));
    }

    #[test]
    fn every_timing_reads_whole_requests_for_the_time_it_is_given() {
        let (_dir, path) = file_of(5);
        for (via, reads) in TIMINGS {
            let timing = match time_reads(&path, via, reads, SHORT, &|| false) {
                Err(TargetError::Unsupported(_)) if via == ReadPath::Direct => continue, // a place without O_DIRECT
                timed => timed.unwrap(),
            };
            assert!(timing.bytes.0 > 0 && timing.bytes.0.is_multiple_of(REQUEST.0), "{timing:?}");
            assert!(timing.took >= SHORT, "{timing:?}");
        }
    }

    #[test]
    fn dropped_pages_are_fetched_from_the_disk_again_and_cached_ones_are_not() {
        let (_dir, path) = file_of(8);
        let place = crate::filesystem::find_mount(path.parent().unwrap()).unwrap();
        let timed = |reads| time_reads(&path, ReadPath::Buffered, reads, SHORT, &|| false).unwrap();
        assert!(timed(TimedReads::Cached).disk_share().is_none_or(|share| share < 0.1));
        if place.device.is_some() {
            // a tmpfs has nothing to fetch from
            assert!(timed(TimedReads::Disk).disk_share().is_none_or(|share| share >= DISK_SHARE_LEAST));
        }
    }

    #[test]
    fn a_file_shorter_than_one_request_is_refused_with_what_to_do() {
        let (_dir, path) = file_of(1);
        let error = time_reads(&path, ReadPath::Buffered, TimedReads::Disk, SHORT, &|| false).unwrap_err().to_string();
        assert!(error.contains("shorter than one read (2 MiB)") && error.contains("make it longer"), "{error}");
    }

    #[test]
    fn a_request_to_stop_ends_a_timing_early() {
        let (_dir, path) = file_of(4);
        let timing =
            time_reads(&path, ReadPath::Buffered, TimedReads::Cached, Nanos::from_secs(3600), &|| true).unwrap();
        assert_eq!(timing.bytes, REQUEST);
    }
}
