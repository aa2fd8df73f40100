//! `process`: what the engine used: I/O, CPU, context switches, memory.
//!
//! In: for an embedded engine this process, else the engine's processes and their descendants. Out: sums since they began.
//!
//! The I/O of plimsoll's own recording does not count: the thread that opens the source is the one that writes the run file, and the
//! thread that reads it is the sampler. The I/O of both is subtracted.
//!
//! Nor does the CPU time of the threads that make the CPUs slower on request (`cpu_limit` as a speed).
//!
//! Limits: the CPU time and memory of an embedded engine include the load generator. Buffered writes count when they dirty the page cache, in the
//! process that does it; what a filesystem's or the kernel's own threads write is charged to no process. They count in the units of the page
//! cache: if those are large (ext4 since Linux 6.16, XFS and btrfs before), 8 KiB that are written into a piece of
//! 1 MiB and synced count as 1 MiB, each time (seen on 6.18: 300 writes counted as 300 MiB, and 2.6 times what the device wrote
//! for PostgreSQL). So `write_bytes` of an engine that does not write past the page cache is an upper bound; the device
//! and the engine's own counters have the real value. Bytes that were deleted before they reached the device are taken off, but never
//! make the counter go down. The CPU time of other processes has a
//! resolution of 10 ms, their context switches are summed over the threads that were there at a reading.

use crate::proc_file::{NeverDown, ProcFile, counter, gauge};
use crate::process_tree::{GroupUsage, ProcessTree, parse_io};
use crate::{CounterSource, EnginePids, SamplingSubject, SourceEntry, SourceMissing};
use host::privileged::slowdown::slowdown_usage;
use model::{CounterRole, SourceDef};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "process", help: "I/O, CPU time, context switches and memory of the engine's processes", open };

fn open(subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let (subject, engine) = match &subject.engine_pids {
        EnginePids::Elsewhere => return Err(SourceMissing::Elsewhere),
        EnginePids::Own => ("plimsoll".to_owned(), EngineProcesses::Own(OwnProcess::open()?)),
        EnginePids::Processes(pids) => {
            let mut tree = ProcessTree::open(pids).ok_or_else(|| SourceMissing::NoProcess { pids: pids.clone() })?;
            (tree.root_name(), EngineProcesses::Others(Box::new(tree)))
        }
    };
    Ok(Box::new(ProcessSource { subject, engine, held: Default::default() }))
}

struct ProcessSource {
    subject: String,
    engine: EngineProcesses,
    held: [NeverDown; 5],
}

enum EngineProcesses {
    Own(OwnProcess),
    Others(Box<ProcessTree>),
}

/// A reading of the engine; `None` is a gap.
struct ProcessTotals {
    read_bytes: Option<u64>,
    write_bytes: Option<u64>,
    cpu_user_ns: u64,
    cpu_system_ns: u64,
    context_switches: u64,
    rss_bytes: Option<u64>,
}

impl CounterSource for ProcessSource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: self.subject.clone(),
            counters: vec![
                counter("read_bytes", "bytes", "bytes that the engine caused to be read from the block layer")
                    .read_as(CounterRole::ProcessReadBytes),
                counter(
                    "write_bytes",
                    "bytes",
                    "bytes that the engine caused to be written to the block layer; of buffered writes the most",
                )
                .read_as(CounterRole::ProcessWriteBytes),
                counter("cpu_user_ns", "ns", "CPU time of the engine in user mode").read_as(CounterRole::EngineCpuUser),
                counter("cpu_system_ns", "ns", "CPU time of the engine in the kernel")
                    .read_as(CounterRole::EngineCpuSystem),
                counter("context_switches", "count", "context switches of the engine, voluntary and not")
                    .read_as(CounterRole::EngineContextSwitches),
                gauge(
                    "rss_bytes",
                    "bytes",
                    "memory of the engine that is resident; pages shared by processes count in each",
                ),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let totals = match &mut self.engine {
            EngineProcesses::Own(own) => Some(own.read_totals()),
            EngineProcesses::Others(tree) => tree.read_group().map(ProcessTotals::from),
        };
        let Some(t) = totals else { return vec![None; 6] };
        let counters =
            [t.read_bytes, t.write_bytes, Some(t.cpu_user_ns), Some(t.cpu_system_ns), Some(t.context_switches)];
        let held =
            counters.into_iter().zip(&mut self.held).map(|(value, held)| value.map(|value| held.hold_highest(value)));
        held.chain([t.rss_bytes]).map(|value| value.map(|value| value as f64)).collect()
    }
}

impl From<crate::process_tree::GroupReading> for ProcessTotals {
    fn from(reading: crate::process_tree::GroupReading) -> ProcessTotals {
        let GroupUsage { read_bytes, write_bytes, cancelled_bytes, user_ticks, system_ticks, switches } = reading.usage;
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        ProcessTotals {
            read_bytes: reading.io_seen.then_some(read_bytes),
            // The kernel counts a buffered write when a page gets dirty, and as cancelled if it is truncated before it is written.
            write_bytes: reading.io_seen.then_some(write_bytes.saturating_sub(cancelled_bytes)),
            cpu_user_ns: user_ticks * tick_ns,
            cpu_system_ns: system_ticks * tick_ns,
            context_switches: switches,
            rss_bytes: Some(reading.resident_pages * rustix::param::page_size() as u64),
        }
    }
}

struct OwnProcess {
    /// Missing if the kernel is built without I/O accounting.
    io: Option<OwnIo>,
    statm: ProcFile,
}

/// The I/O of this process without that of plimsoll's recording.
struct OwnIo {
    process: ProcFile,
    /// The thread that writes the run file and the one that reads the counters, by number.
    recording: Vec<(i32, ProcFile)>,
}

impl OwnIo {
    fn open() -> Option<OwnIo> {
        let process = ProcFile::open("/proc/self/io").ok()?;
        let mut io = OwnIo { process, recording: Vec::with_capacity(2) };
        io.add_this_thread()?;
        Some(io)
    }

    /// Bytes read and written. The threads are read after the process, so that what they write in between is never counted as the
    /// engine's; the next reading has what was taken off too much.
    fn read_bytes(&mut self) -> Option<(u64, u64)> {
        self.add_this_thread()?;
        let (mut read, mut written, mut cancelled) = parse_io(self.process.read_text().ok()?);
        for (_, thread) in &mut self.recording {
            let own = parse_io(thread.read_text().ok()?);
            read = read.saturating_sub(own.0);
            written = written.saturating_sub(own.1);
            cancelled = cancelled.saturating_sub(own.2);
        }
        Some((read, written.saturating_sub(cancelled)))
    }

    /// The thread that opens the source and the one that reads it record.
    fn add_this_thread(&mut self) -> Option<()> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        if !self.recording.iter().any(|(known, _)| *known == thread) {
            let io = ProcFile::open(format!("/proc/self/task/{thread}/io")).ok()?;
            self.recording.push((thread, io));
        }
        Some(())
    }
}

impl OwnProcess {
    fn open() -> Result<OwnProcess, SourceMissing> {
        Ok(OwnProcess { io: OwnIo::open(), statm: ProcFile::open("/proc/self/statm")? })
    }

    fn read_totals(&mut self) -> ProcessTotals {
        let io = self.io.as_mut().and_then(OwnIo::read_bytes);
        let usage = own_usage();
        // Read after the usage, so that what these threads use in between is never counted as the engine's.
        let slowing = slowdown_usage();
        ProcessTotals {
            read_bytes: io.map(|(read, _)| read),
            write_bytes: io.map(|(_, written)| written),
            // From getrusage and not from /proc: that counts in ticks of 10 ms.
            cpu_user_ns: timeval_ns(usage.ru_utime).saturating_sub(slowing.user_ns),
            cpu_system_ns: timeval_ns(usage.ru_stime).saturating_sub(slowing.system_ns),
            context_switches: ((usage.ru_nvcsw + usage.ru_nivcsw) as u64).saturating_sub(slowing.context_switches),
            rss_bytes: self.statm.read_text().ok().and_then(resident_bytes),
        }
    }
}

/// The usage of all threads of this process, also of those that ended, with a resolution of 1 us.
fn own_usage() -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one rusage, and all-zero bytes are a valid rusage if the call fails.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// The second number of `/proc/PID/statm`, in pages.
fn resident_bytes(statm: &str) -> Option<u64> {
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(engine_pids: EnginePids) -> Box<dyn CounterSource> {
        open(&SamplingSubject { engine_pids, device: None, server: model::ServerWay::Inside }).unwrap()
    }

    #[test]
    fn resident_memory_is_the_second_number_of_statm_in_pages() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(resident_bytes("765 397 372 5 0 123 0\n"), Some(397 * page));
        assert_eq!(resident_bytes("765"), None);
    }

    #[test]
    fn this_process_is_seen_from_within_as_from_outside() {
        let mut within = source(EnginePids::Own);
        let mut outside = source(EnginePids::Processes(vec![std::process::id()]));
        let busy = (0..20_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let (a, b) = (within.read(), outside.read());
        let cpu = |values: &[Option<f64>]| values[2].unwrap() + values[3].unwrap();
        assert!(cpu(&a) > 1e6, "after work {busy}: {a:?}");
        // Ticks are 10 ms, each of the two sums is rounded, and other tests run at the same time in the same process.
        assert!((cpu(&a) - cpu(&b)).abs() < 1e9, "{a:?} {b:?}");
        assert!(a[5].unwrap() > 1e5 && (a[5].unwrap() / b[5].unwrap() - 1.0).abs() < 0.5, "{a:?} {b:?}");
    }

    /// Writes so many bytes and waits until they are on disk, in a directory whose writes the kernel accounts for.
    fn write_and_sync(bytes: usize) {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::io::Write::write_all(&mut file, &vec![7; bytes]).unwrap();
        file.sync_all().unwrap();
    }

    #[test]
    fn what_the_recorder_and_the_sampler_write_is_not_the_engines() {
        const RECORDED: usize = 64 << 20;
        let _alone = crate::sources::hold_large_writes();
        // Opened by this thread: the recorder. Read by this thread too: the sampler.
        let mut source = source(EnginePids::Own);
        let before = source.read()[1].unwrap();
        write_and_sync(RECORDED);
        let recorded = source.read()[1].unwrap() - before;
        std::thread::spawn(|| write_and_sync(RECORDED)).join().unwrap();
        let both = source.read()[1].unwrap() - before;
        // Other tests write little, and the bytes of a file that is removed may be taken off again.
        assert!(recorded < RECORDED as f64 / 4.0, "{recorded}");
        assert!(both - recorded > RECORDED as f64 / 2.0, "{both}");
    }

    #[test]
    fn a_server_of_somebody_else_has_no_processes_and_not_those_of_plimsoll() {
        let missing = open(&SamplingSubject {
            engine_pids: EnginePids::Elsewhere,
            device: None,
            server: model::ServerWay::Inside,
        })
        .err()
        .unwrap();
        assert!(matches!(missing, SourceMissing::Elsewhere));
    }

    #[test]
    fn an_engine_that_is_not_running_is_missing() {
        let subject = SamplingSubject {
            engine_pids: EnginePids::Processes(vec![u32::MAX]),
            device: None,
            server: model::ServerWay::Inside,
        };
        let missing = open(&subject).err().unwrap().to_string();
        assert_eq!(missing, "none of the engine's processes [4294967295] is running");
    }

    #[test]
    fn io_that_the_kernel_hides_is_a_gap_and_the_rest_is_not() {
        let usage = GroupUsage { read_bytes: 1, write_bytes: 5, cancelled_bytes: 9, ..GroupUsage::default() };
        let mut reading = crate::process_tree::GroupReading { usage, io_seen: true, resident_pages: 0 };
        assert_eq!(ProcessTotals::from(reading).write_bytes, Some(0));
        reading.io_seen = false;
        assert_eq!(ProcessTotals::from(reading).read_bytes, None);
    }
}
