//! `memory`: the page cache, what waits in it to be written, what it could not keep, and swapping.
//!
//! In: `/proc/meminfo`, `/proc/vmstat`. Out: levels in bytes, bytes read again and pages swapped since boot.
//! Limits: of the machine, not of a memory cgroup. Kernels before 3.14 do not report what is available.

use crate::proc_file::{ProcFile, counter, gauge, number_after};
use crate::{CounterSource, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "memory",
    help: "page cache, dirty pages, memory available, pages that had to be read again, swapping",
    open,
};

fn open(_subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let has_levels = |text: &str| memory_levels(text).iter().any(Option::is_some);
    let meminfo = ProcFile::open_with("/proc/meminfo", "Dirty", has_levels)?;
    Ok(Box::new(MemorySource { meminfo, vmstat: ProcFile::open("/proc/vmstat")? }))
}

struct MemorySource {
    meminfo: ProcFile,
    vmstat: ProcFile,
}

impl CounterSource for MemorySource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: "machine".into(),
            counters: vec![
                gauge("dirty_bytes", "bytes", "page cache that waits to be written"),
                gauge("writeback_bytes", "bytes", "page cache being written"),
                gauge("cached_bytes", "bytes", "page cache"),
                gauge("available_bytes", "bytes", "memory that could be had without swapping")
                    .read_as(CounterRole::MemoryAvailable),
                counter("swap_in_pages", "count", "pages swapped in").read_as(CounterRole::SwapIn),
                counter("swap_out_pages", "count", "pages swapped out").read_as(CounterRole::SwapOut),
                counter("refault_bytes", "bytes", "pages of files that were dropped for lack of memory and read again")
                    .read_as(CounterRole::Refaults),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let memory_levels = self.meminfo.read_text().map(memory_levels).unwrap_or_default();
        let moved_pages = self.vmstat.read_text().map(moved_pages).unwrap_or_default();
        memory_levels.into_iter().chain(moved_pages).map(|value| value.map(|value| value as f64)).collect()
    }
}

/// Dirty, writeback, cached and available bytes. The kernel's kB are KiB.
fn memory_levels(meminfo: &str) -> [Option<u64>; 4] {
    ["Dirty", "Writeback", "Cached", "MemAvailable"].map(|key| number_after(meminfo, key).map(|kib| kib << 10))
}

/// Pages swapped in and out, and bytes of files read again. Kernels before 5.9 counted those of files under a shorter name.
fn moved_pages(vmstat: &str) -> [Option<u64>; 3] {
    let [swapped_in, swapped_out] = ["pswpin", "pswpout"].map(|key| number_after(vmstat, key));
    // Refaults of anonymous pages are swapping, which is counted above.
    let refaults = ["workingset_refault_file", "workingset_refault"].map(|key| number_after(vmstat, key));
    let refault_bytes = refaults.into_iter().flatten().next().map(|pages| pages * rustix::param::page_size() as u64);
    [swapped_in, swapped_out, refault_bytes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;

    const MEMINFO_6_18: &str = "MemTotal:       24684092 kB
MemFree:        23407304 kB
MemAvailable:   24088084 kB
Buffers:           29380 kB
Cached:           812476 kB
SwapCached:            0 kB
Active(file):      97396 kB
SwapTotal:             0 kB
Zswap:                 0 kB
Dirty:             14324 kB
Writeback:             8 kB
AnonPages:         88048 kB
WritebackTmp:          0 kB
";
    const MEMINFO_2_6_32: &str = "MemTotal:        3801220 kB
MemFree:          258920 kB
Buffers:          214976 kB
Cached:          2139136 kB
SwapCached:         1024 kB
Dirty:               632 kB
Writeback:             0 kB
AnonPages:        733184 kB
WritebackTmp:          0 kB
";
    const VMSTAT_6_18: &str = "nr_dirty 3581\npgpgin 2530273\npgpgout 2152216\npswpin 4\npswpout 11\npgalloc_dma 0\nswpin_zero 0\nworkingset_refault_anon 0\nworkingset_refault_file 3\n";
    const VMSTAT_2_6_32: &str =
        "nr_dirty 158\nnr_writeback 0\npgpgin 15128113\npgpgout 20195964\npswpin 21\npswpout 480\npgalloc_dma 2\n";

    #[test]
    fn a_recent_kernel_is_read_in_bytes() {
        assert_eq!(
            memory_levels(MEMINFO_6_18),
            [Some(14324 << 10), Some(8 << 10), Some(812476 << 10), Some(24088084 << 10)]
        );
        let page = rustix::param::page_size() as u64;
        assert_eq!(moved_pages(VMSTAT_6_18), [Some(4), Some(11), Some(3 * page)]);
    }

    #[test]
    fn an_old_kernel_has_a_gap_for_available_memory() {
        assert_eq!(memory_levels(MEMINFO_2_6_32), [Some(632 << 10), Some(0), Some(2139136 << 10), None]);
        assert_eq!(moved_pages(VMSTAT_2_6_32), [Some(21), Some(480), None]);
    }

    #[test]
    fn a_kernel_without_swap_has_gaps_there() {
        assert_eq!(moved_pages("nr_dirty 3581\npgpgin 2530273\n"), [None, None, None]);
    }

    #[test]
    fn this_machine_has_a_page_cache_and_memory_left() {
        let mut source =
            open(&SamplingSubject { engine_pids: EnginePids::Own, device: None, server: model::ServerWay::Inside })
                .unwrap();
        let values = source.read();
        assert!(values[2].is_some_and(|cached| cached > 1e5), "{values:?}");
        assert!(values[3].is_some_and(|available| (1e6..1e14).contains(&available)), "{values:?}");
    }
}
