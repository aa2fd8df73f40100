//! `psi`: pressure stall information, the time that tasks lost waiting for CPU, I/O and memory.
//!
//! In: `/proc/pressure/{cpu,io,memory}`. Out: nanoseconds since boot. Limits: of the machine; Linux 4.20 and later, if
//! it is built in and not switched off (`psi=1` on the kernel's command line switches it on).

use crate::proc_file::{ProcFile, counter};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "psi", help: "time that tasks lost waiting for CPU, I/O and memory", open };

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let mut psi = PsiSource {
        cpu: ProcFile::open("/proc/pressure/cpu")?,
        io: ProcFile::open("/proc/pressure/io")?,
        memory: ProcFile::open("/proc/pressure/memory")?,
    };
    if psi.read().iter().any(Option::is_some) {
        Ok(Box::new(psi))
    } else {
        Err(SourceMissing::unknown(psi.cpu.path(), "total"))
    }
}

struct PsiSource {
    cpu: ProcFile,
    io: ProcFile,
    memory: ProcFile,
}

impl CounterSource for PsiSource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: vec![
                counter("cpu_some_ns", "ns", "time in which some task waited for a CPU")
                    .read_as(CounterRole::CpuPressure),
                counter("io_some_ns", "ns", "time in which some task waited for I/O"),
                counter("io_full_ns", "ns", "time in which tasks waited for I/O and none ran")
                    .read_as(CounterRole::IoStall),
                counter("memory_some_ns", "ns", "time in which some task waited for memory"),
                counter("memory_full_ns", "ns", "time in which tasks waited for memory and none ran")
                    .read_as(CounterRole::MemoryStall),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        // For a CPU `full` has no meaning on the level of the machine. Kernels from 5.13 on print it as zero, older ones do not.
        let [cpu_some, _] = read_totals(&mut self.cpu);
        let [io_some, io_full] = read_totals(&mut self.io);
        let [memory_some, memory_full] = read_totals(&mut self.memory);
        vec![cpu_some, io_some, io_full, memory_some, memory_full]
    }
}

/// The totals of a file's lines `some` and `full` in nanoseconds.
fn read_totals(file: &mut ProcFile) -> [Option<f64>; 2] {
    // With `psi=0` the files are there and cannot be read (EOPNOTSUPP): that is an empty text.
    let text = file.read_text().unwrap_or("");
    ["some", "full"].map(|line| parse_total(text, line).map(|total_us| total_us as f64 * 1e3))
}

/// The microseconds behind `total=` in the line that begins with `line`.
fn parse_total(pressure: &str, line: &str) -> Option<u64> {
    let mut words =
        pressure.lines().map(str::split_ascii_whitespace).find(|words| words.clone().next() == Some(line))?;
    words.find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;

    const CPU_6_18: &str = "some avg10=15.64 avg60=5.29 avg300=1.85 total=23540850
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
";
    const CPU_5_4: &str = "some avg10=0.00 avg60=0.12 avg300=0.05 total=391926\n";
    const IO_4_20: &str = "some avg10=0.22 avg60=0.31 avg300=0.19 total=15509196
full avg10=0.10 avg60=0.22 avg300=0.14 total=14726208
";

    #[test]
    fn the_totals_of_a_recent_and_an_old_kernel_are_read() {
        assert_eq!(parse_total(CPU_6_18, "some"), Some(23540850));
        assert_eq!(parse_total(CPU_5_4, "some"), Some(391926));
        assert_eq!((parse_total(IO_4_20, "some"), parse_total(IO_4_20, "full")), (Some(15509196), Some(14726208)));
    }

    #[test]
    fn a_line_that_is_not_there_is_a_gap() {
        assert_eq!(parse_total(CPU_5_4, "full"), None);
        assert_eq!(parse_total("", "some"), None);
        assert_eq!(parse_total("some avg10=0.00\nfull total=7\n", "some"), None);
    }

    #[test]
    fn this_machine_delivers_every_total_or_says_that_it_has_none() {
        let subject = SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside };
        match open(&subject) {
            Ok(mut source) => assert!(source.read().iter().all(|value| value.is_some_and(|ns| ns >= 0.0))),
            Err(missing) => assert!(missing.to_string().contains("/proc/pressure"), "{missing}"),
        }
    }
}
