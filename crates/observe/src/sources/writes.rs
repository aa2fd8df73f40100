//! `writes`: what all processes of the machine wrote together, by which a device that others use, too, can be judged.
//!
//! In: `/proc/vmstat` and `/proc/PID/io` of every process. Out: two sums. Without what the engine's own processes wrote, each is what
//! others wrote.
//!
//! Limits: both count a buffered write when it makes a page dirty, a whole folio at a time, and on whatever device: they are upper
//! bounds. `dirtied_bytes` is of the whole machine, containers included, and has no direct I/O. `process_write_bytes` has that, but
//! only of the processes that can be seen: it is a gap if some process hides its I/O (only root may read that of others). A
//! process that ended is in the numbers of the parent that waited for it; if none did, its bytes are lost to the sum, which
//! then stays the same from one reading to the next.
//!
//! To read every process costs 10 to 20 us each, so the sum is taken at most every hundredth time that it takes: less than
//! 1 % of one CPU. The readings between are gaps.

use crate::proc_file::{ProcFile, counter, number_after, read_once};
use crate::process_tree::{numbers_in, parse_io};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "writes",
    help: "bytes that all processes of the machine wrote: what others did to a device that the engine shares",
    open,
};

/// After a sum that took so long, there is none for so many times as long.
const REST_FACTOR: u32 = 100;

fn open(_: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let vmstat = ProcFile::open("/proc/vmstat")?;
    Ok(Box::new(MachineWrites { vmstat, sum: ProcessSum::new("/proc"), due: Instant::now(), last_sum: None, grown: 0 }))
}

struct MachineWrites {
    vmstat: ProcFile,
    sum: ProcessSum,
    /// When the sum may be taken again.
    due: Instant,
    /// The sum at the last reading, and what it has grown by in all.
    last_sum: Option<u64>,
    grown: u64,
}

impl MachineWrites {
    /// The sum over all processes; `None` if it was taken a moment ago, or if a process hides its I/O.
    fn process_write_bytes(&mut self) -> Option<u64> {
        let began = Instant::now();
        if began < self.due {
            return None;
        }
        let sum = self.sum.read_sum()?;
        let took = began.elapsed();
        self.due = began + took + (took * REST_FACTOR).min(Duration::from_secs(60));
        Some(self.add_sum(sum))
    }

    /// How much the sum has grown by since the beginning. It falls if a process ends and no other inherits its bytes.
    fn add_sum(&mut self, sum: u64) -> u64 {
        self.grown += sum.saturating_sub(self.last_sum.replace(sum).unwrap_or(sum));
        self.grown
    }
}

impl CounterSource for MachineWrites {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: vec![
                counter(
                    "dirtied_bytes",
                    "bytes",
                    "bytes of the page cache that were made dirty, whole folios at a time",
                )
                .read_as(CounterRole::MachineDirtiedBytes),
                counter(
                    "process_write_bytes",
                    "bytes",
                    "bytes that all processes caused to be written to the block layer; of buffered writes the most",
                )
                .read_as(CounterRole::MachineWriteBytes),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let page = rustix::param::page_size() as u64;
        let dirtied = self.vmstat.read_text().ok().and_then(|text| number_after(text, "nr_dirtied"));
        let dirtied_bytes = dirtied.map(|pages| pages.saturating_mul(page));
        [dirtied_bytes, self.process_write_bytes()].map(|value| value.map(|value| value as f64)).into()
    }
}

/// Adds up the I/O of every process below a `/proc`.
struct ProcessSum {
    proc_dir: PathBuf,
    buffer: Vec<u8>,
}

impl ProcessSum {
    fn new(proc_dir: impl Into<PathBuf>) -> ProcessSum {
        ProcessSum { proc_dir: proc_dir.into(), buffer: Vec::new() }
    }

    /// What was written; `None` if a process hides it.
    fn read_sum(&mut self) -> Option<u64> {
        let mut sum = 0u64;
        for pid in numbers_in(&self.proc_dir).ok()? {
            sum = sum.saturating_add(written_by(&self.proc_dir, pid, &mut self.buffer)?);
        }
        Some(sum)
    }
}

/// What a process wrote; nothing if it has ended, and `None` if it hides it.
fn written_by(proc_dir: &Path, pid: u32, buffer: &mut Vec<u8>) -> Option<u64> {
    match read_once(&proc_dir.join(pid.to_string()).join("io"), buffer) {
        // What was cancelled is left in: the process that deletes a file is not the one that wrote it, and its sum would go down.
        Ok(text) => Some(parse_io(text).1),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(_) => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;

    fn source() -> Box<dyn CounterSource> {
        open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside }).unwrap()
    }

    #[test]
    fn what_any_process_writes_is_in_the_bytes_dirtied() {
        const WRITTEN: usize = 64 << 20;
        let _alone = crate::sources::hold_large_writes();
        let mut source = source();
        let before = source.read()[0].unwrap();
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        io::Write::write_all(&mut file, &vec![7; WRITTEN]).unwrap();
        let grown = source.read()[0].unwrap() - before;
        // The kernel adds up the counts of its CPUs once a second, each of which may hold back half a MiB.
        assert!(grown > WRITTEN as f64 / 2.0, "{grown}");
    }

    #[test]
    fn the_sum_has_every_process_and_what_was_cancelled_is_left_in() {
        let proc_dir = tempfile::tempdir().unwrap();
        let process = |pid: &str, written: u64, cancelled: u64| {
            let dir = proc_dir.path().join(pid);
            std::fs::create_dir(&dir).unwrap();
            let text = format!("read_bytes: 1\nwrite_bytes: {written}\ncancelled_write_bytes: {cancelled}\n");
            std::fs::write(dir.join("io"), text).unwrap();
        };
        process("7", 100, 40);
        process("12", 5, 9);
        // It has ended since it was listed.
        std::fs::create_dir(proc_dir.path().join("13")).unwrap();
        std::fs::create_dir(proc_dir.path().join("sys")).unwrap();
        assert_eq!(ProcessSum::new(proc_dir.path()).read_sum(), Some(105));
    }

    #[test]
    fn a_sum_that_was_taken_a_moment_ago_is_a_gap_and_one_that_falls_grows_on_from_there() {
        let mut vmstat = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut vmstat, b"nr_dirtied 3\n").unwrap();
        let vmstat = ProcFile::open(vmstat.path()).unwrap();
        let due = Instant::now() + Duration::from_secs(3600);
        let mut source = MachineWrites { vmstat, sum: ProcessSum::new("/proc"), due, last_sum: None, grown: 0 };
        assert_eq!([700, 900, 300, 350].map(|sum| source.add_sum(sum)), [0, 200, 200, 250]);
        let page = rustix::param::page_size() as f64;
        assert_eq!(source.read(), [Some(3.0 * page), None]);
    }
}
