//! `frequency`: how fast the CPUs run, and how often heat slowed them down.
//!
//! In: `/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq`, or else `cpu MHz` in `/proc/cpuinfo`; the kernel's counts of thermal
//! throttling. Out: the mean of the CPUs in MHz, and events. Limits: a virtual machine shows the nominal frequency, which never changes
//! (the fact `cpu.frequency` has which it is). Of more than 16 CPUs with files of their own 16 are read. Idle CPUs are slower: the mean is of the
//! busy ones only if all are busy.

use crate::proc_file::{ProcFile, counter, gauge};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::path::{Path, PathBuf};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry =
    SourceEntry { name: "frequency", help: "frequency of the CPUs, and how often heat slowed them down", open };

const CPUS: &str = "/sys/devices/system/cpu";
/// A file takes some microseconds to read.
const FILES_MAX: usize = 16;

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let thermal = files_of_cpus("thermal_throttle/core_throttle_count");
    // Not `cpuinfo_cur_freq`, which asks the hardware and is for root only.
    let governed = files_of_cpus("cpufreq/scaling_cur_freq");
    let frequencies = if governed.is_empty() {
        FrequencyFiles::CpuInfo(ProcFile::open("/proc/cpuinfo")?)
    } else {
        FrequencyFiles::OfEach(governed)
    };
    let mut source = FrequencySource { frequencies, thermal };
    match source.mean_mhz() {
        Some(_) => Ok(Box::new(source)),
        None => Err(SourceMissing::unknown(Path::new("/proc/cpuinfo"), "cpu MHz")),
    }
}

/// That file of each CPU that has one, evenly spread if there are many.
fn files_of_cpus(name: &str) -> Vec<ProcFile> {
    let entries = std::fs::read_dir(CPUS).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|cpu| cpu.path().join(name)).filter(|path| path.is_file()).collect();
    paths.sort();
    let every = paths.len().div_ceil(FILES_MAX).max(1);
    paths.into_iter().step_by(every).filter_map(|path| ProcFile::open(path).ok()).collect()
}

struct FrequencySource {
    frequencies: FrequencyFiles,
    thermal: Vec<ProcFile>,
}

/// Where frequencies are read.
enum FrequencyFiles {
    /// In kHz, one file for each CPU.
    OfEach(Vec<ProcFile>),
    /// In MHz, all in one.
    CpuInfo(ProcFile),
}

impl FrequencySource {
    fn mean_mhz(&mut self) -> Option<f64> {
        match &mut self.frequencies {
            FrequencyFiles::OfEach(files) => mean(files.iter_mut().filter_map(number_in).map(|khz| khz / 1e3)),
            FrequencyFiles::CpuInfo(file) => mean_of_cpuinfo(file.read_text().ok()?),
        }
    }
}

fn number_in(file: &mut ProcFile) -> Option<f64> {
    file.read_text().ok()?.trim().parse().ok()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The mean of the lines `cpu MHz : 2445.426`.
fn mean_of_cpuinfo(cpuinfo: &str) -> Option<f64> {
    let lines = cpuinfo.lines().filter_map(|line| line.strip_prefix("cpu MHz")?.split_once(':'));
    mean(lines.filter_map(|(_, mhz)| mhz.trim().parse().ok()))
}

impl CounterSource for FrequencySource {
    fn describe(&self) -> SourceDef {
        let mhz = gauge("mhz", "MHz", "mean frequency of the CPUs").read_as(CounterRole::CpuFrequency);
        let heat = counter("thermal_throttles", "count", "times that a core was slowed down because of its heat")
            .read_as(CounterRole::ThermalThrottles);
        let heat = (!self.thermal.is_empty()).then_some(heat);
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: std::iter::once(mhz).chain(heat).collect(),
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let events: Option<f64> = self.thermal.iter_mut().map(number_in).sum();
        let events = (!self.thermal.is_empty()).then_some(events);
        std::iter::once(self.mean_mhz()).chain(events).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, an idle and a busy CPU; and Linux 2.6.32, whose lines are the same.
    const X86: &str =
        "processor\t: 0\ncpu MHz\t\t: 1200.000\ncache size\t: 512 KB\nprocessor\t: 1\ncpu MHz\t\t: 3400.500\n";
    const X86_2_6_32: &str = "processor\t: 0\ncpu MHz\t\t: 2992.498\ncache size\t: 2048 KB\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\n";

    #[test]
    fn the_mean_of_all_cpus_is_read_and_none_where_the_kernel_shows_none() {
        assert_eq!([X86, X86_2_6_32, ARM].map(mean_of_cpuinfo), [Some(2300.25), Some(2992.498), None]);
    }

    #[test]
    fn a_file_that_is_gone_is_a_gap_and_not_zero() {
        let dir = std::env::temp_dir().join(format!("plimsoll-frequency-{}", std::process::id()));
        std::fs::write(&dir, "2400000\n").unwrap();
        let file = ProcFile::open(&dir).unwrap();
        let mut source = FrequencySource { frequencies: FrequencyFiles::OfEach(vec![file]), thermal: Vec::new() };
        assert_eq!(source.read(), [Some(2400.0)]);
        std::fs::write(&dir, "").unwrap();
        assert_eq!(source.read(), [None]);
        std::fs::remove_file(&dir).unwrap();
    }
}
