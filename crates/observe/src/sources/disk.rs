//! `disk`: what the block device under the data did.
//!
//! In: the device's line of `/proc/diskstats`. Out: operations, bytes and times since boot, and the operations in flight.
//! Limits: other users of the device count too. Times have a resolution of 1 ms. For a device that serves operations in
//! parallel, being busy all the time is not being full. Kernels before 4.18 count no discards, before 5.5 no flushes. The kernel
//! counts flushes for whole disks: those of a partition are of its disk, with those of its other partitions.

use crate::proc_file::{ProcFile, counter, gauge};
use crate::{CounterSource, EnginePids, SamplingSubject, SourceEntry, SourceMissing};
use model::{CounterRole, SourceDef};
use std::path::Path;

/// Its entry in [`super::SOURCES`].
pub const ENTRY: SourceEntry = SourceEntry {
    name: "disk",
    help: "operations, bytes, busy time and queue of the block device under the data",
    open,
};

/// The sector of `/proc/diskstats`, whatever the device's own blocks are.
const SECTOR_BYTES: u64 = 512;
const MILLISECOND_NS: u64 = 1_000_000;

fn open(subject: &SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let missing = match subject.engine_pids {
        EnginePids::Elsewhere => SourceMissing::Elsewhere,
        EnginePids::Own | EnginePids::Processes(_) => SourceMissing::NoDevice,
    };
    open_device(subject.device.as_deref().ok_or(missing)?)
}

/// The counters of a further device: the disk below a volume, whose own device is the subject's.
pub fn open_device(device: &str) -> Result<Box<dyn CounterSource>, SourceMissing> {
    let device = device.to_owned();
    let lists_it = |text: &str| parse_device_line(text, &device).is_some();
    let diskstats = ProcFile::open_with("/proc/diskstats", &device, lists_it)?;
    Ok(Box::new(DiskSource {
        disk: disk_of(Path::new("/sys/class/block"), &device),
        device,
        diskstats,
        busy: UnwrappedCount::default(),
        queue: UnwrappedCount::default(),
    }))
}

struct DiskSource {
    device: String,
    /// The disk that it is a partition of, or itself.
    disk: String,
    diskstats: ProcFile,
    busy: UnwrappedCount,
    queue: UnwrappedCount,
}

impl CounterSource for DiskSource {
    fn describe(&self) -> SourceDef {
        SourceDef {
            name: ENTRY.name.into(),
            subject: self.device.clone(),
            counters: vec![
                counter("read_ops", "ops", "reads completed").read_as(CounterRole::DeviceReadOps),
                counter("read_bytes", "bytes", "bytes read").read_as(CounterRole::DeviceReadBytes),
                counter("write_ops", "ops", "writes completed").read_as(CounterRole::DeviceWriteOps),
                counter("write_bytes", "bytes", "bytes written").read_as(CounterRole::DeviceWriteBytes),
                counter("discard_bytes", "bytes", "bytes discarded (TRIM)"),
                counter("flush_ops", "ops", "cache flushes completed, of the whole disk if the device is a partition")
                    .read_as(CounterRole::DeviceFlushOps),
                counter("busy_ns", "ns", "time in which at least one operation was in flight")
                    .read_as(CounterRole::DeviceBusy),
                counter("queue_ns", "ns", "operations in flight, summed over time: its rate is the mean queue depth")
                    .read_as(CounterRole::DeviceQueue),
                gauge("in_flight", "ops", "operations in flight at the moment of reading"),
            ],
        }
    }

    fn read(&mut self) -> Vec<Option<f64>> {
        let text = self.diskstats.read_text().ok();
        let [own, disk] = [&self.device, &self.disk].map(|name| parse_device_line(text?, name));
        let Some(line) = own else { return vec![None; 9] };
        [
            Some(line.read_ops),
            Some(line.read_sectors * SECTOR_BYTES),
            Some(line.write_ops),
            Some(line.write_sectors * SECTOR_BYTES),
            line.discard_sectors.map(|sectors| sectors * SECTOR_BYTES),
            disk.and_then(|disk| disk.flush_ops),
            Some(self.busy.add_reading(line.busy_ms) * MILLISECOND_NS),
            Some(self.queue.add_reading(line.queue_ms) * MILLISECOND_NS),
            Some(line.in_flight),
        ]
        .map(|value| value.map(|value| value as f64))
        .into()
    }
}

/// The disk that the device of that name is a partition of; the device itself if it is none. `blocks` is `/sys/class/block`.
fn disk_of(blocks: &Path, device: &str) -> String {
    let own = blocks.join(device);
    // The entry of a partition lies in that of its disk.
    let entry = own.canonicalize().ok().filter(|_| own.join("partition").exists());
    let disk = entry.as_deref().and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    disk.unwrap_or(device).to_owned()
}

/// The fields of a device's line that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DiskstatsLine {
    read_ops: u64,
    read_sectors: u64,
    write_ops: u64,
    write_sectors: u64,
    in_flight: u64,
    busy_ms: u64,
    queue_ms: u64,
    discard_sectors: Option<u64>,
    flush_ops: Option<u64>,
}

/// Finds the device's line: major, minor, name, then the fields of Documentation/admin-guide/iostats.rst.
fn parse_device_line(diskstats: &str, device: &str) -> Option<DiskstatsLine> {
    let line = diskstats.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some(device))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().skip(3).map_while(|field| field.parse().ok()).collect();
    let &[read_ops, _, read_sectors, _, write_ops, _, write_sectors, _, in_flight, busy_ms, queue_ms, ref later @ ..] =
        fields.as_slice()
    else {
        return None;
    };
    // Fields that later kernels have appended: an older one has fewer, and they are gaps.
    let (discard_sectors, flush_ops) = (later.get(2).copied(), later.get(4).copied());
    Some(DiskstatsLine {
        read_ops,
        read_sectors,
        write_ops,
        write_sectors,
        in_flight,
        busy_ms,
        queue_ms,
        discard_sectors,
        flush_ops,
    })
}

/// The kernel prints its millisecond counts as 32-bit numbers: at a queue depth of 32 they begin again from 0 after a day and a half.
#[derive(Debug, Default)]
struct UnwrappedCount {
    last_ms: u64,
    wrapped_ms: u64,
}

impl UnwrappedCount {
    /// The count as if it had not begun again. Only a fall from the top quarter to the bottom quarter is a wrap; any other
    /// fall is a device that was taken away and came back, and stays one.
    fn add_reading(&mut self, now_ms: u64) -> u64 {
        const QUARTER: u64 = 1 << 30;
        // Readings are seconds apart, in which a count of milliseconds moves by far less than a quarter.
        if (3 * QUARTER..4 * QUARTER).contains(&self.last_ms) && now_ms < QUARTER {
            self.wrapped_ms += 4 * QUARTER;
        }
        self.last_ms = now_ms;
        self.wrapped_ms + now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EnginePids;

    const LINUX_6_18: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 37961 9917 5060546 57179 21350 25172 4304432 15497 3 23116 73860 8308 27 584496 1026 2421 156
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
";
    const LINUX_4_19: &str = "   8       0 sda 446216 784926 9550688 4382310 424847 312726 5922052 19310380 0 3376340 23705160 68851 0 192517 11130
   8       1 sda1 35486 0 35496 38030 12 0 96 38030 0 38030 38060 0 0 0 0
";
    const LINUX_4_4: &str =
        "   8       0 sda 446216 784926 9550688 4382310 424847 312726 5922052 19310380 2 3376340 23705160
   8      16 sdaa 1 0 8 1 0 0 0 0 0 1 1
";

    #[test]
    fn a_recent_kernel_is_read_with_discards_and_flushes() {
        let line = parse_device_line(LINUX_6_18, "vda").unwrap();
        assert_eq!((line.read_ops, line.read_sectors), (37961, 5060546));
        assert_eq!((line.write_ops, line.write_sectors), (21350, 4304432));
        assert_eq!((line.in_flight, line.busy_ms, line.queue_ms), (3, 23116, 73860));
        assert_eq!((line.discard_sectors, line.flush_ops), (Some(584496), Some(2421)));
    }

    #[test]
    fn a_kernel_without_flushes_has_a_gap_there() {
        let line = parse_device_line(LINUX_4_19, "sda").unwrap();
        assert_eq!((line.discard_sectors, line.flush_ops), (Some(192517), None));
        assert_eq!(parse_device_line(LINUX_4_19, "sda1").unwrap().read_ops, 35486);
    }

    #[test]
    fn a_kernel_without_discards_has_gaps_there() {
        let line = parse_device_line(LINUX_4_4, "sda").unwrap();
        assert_eq!((line.write_ops, line.in_flight, line.queue_ms), (424847, 2, 23705160));
        assert_eq!((line.discard_sectors, line.flush_ops), (None, None));
    }

    #[test]
    fn a_device_is_found_by_its_whole_name_or_not_at_all() {
        assert_eq!(parse_device_line(LINUX_4_4, "sdaa").unwrap().read_ops, 1);
        assert_eq!(parse_device_line(LINUX_4_4, "sd"), None);
        assert_eq!(parse_device_line("   8       1 sda1 35486 38030 38030 38030\n", "sda1"), None);
    }

    #[test]
    fn the_flushes_of_a_partition_are_those_of_its_disk() {
        let sysfs = tempfile::tempdir().unwrap();
        let (disk, blocks) = (sysfs.path().join("devices/nvme0n1"), sysfs.path().join("class"));
        std::fs::create_dir_all(disk.join("nvme0n1p2")).unwrap();
        std::fs::create_dir(&blocks).unwrap();
        std::fs::write(disk.join("nvme0n1p2/partition"), "2\n").unwrap();
        std::os::unix::fs::symlink(&disk, blocks.join("nvme0n1")).unwrap();
        std::os::unix::fs::symlink(disk.join("nvme0n1p2"), blocks.join("nvme0n1p2")).unwrap();
        let disks = ["nvme0n1p2", "nvme0n1", "sda1"].map(|device| disk_of(&blocks, device));
        assert_eq!(disks, ["nvme0n1", "nvme0n1", "sda1"]);
    }

    #[test]
    fn a_wrapped_count_goes_on_and_a_device_that_came_back_starts_again() {
        let mut count = UnwrappedCount::default();
        assert_eq!(count.add_reading((1 << 32) - 10), (1 << 32) - 10);
        assert_eq!(count.add_reading(5), (1 << 32) + 5);
        let mut count = UnwrappedCount::default();
        count.add_reading(1_000_000);
        assert_eq!(count.add_reading(5), 5);
    }

    #[test]
    fn a_device_that_is_not_there_is_missing() {
        let subject = SamplingSubject {
            engine_pids: EnginePids::Own,
            device: Some("nosuch".into()),
            server: model::ServerWay::Inside,
        };
        let missing = open(&subject).err().unwrap().to_string();
        assert_eq!(missing, "`/proc/diskstats` has no `nosuch` in a form that plimsoll knows");
    }

    #[test]
    fn some_device_of_this_machine_gives_a_value_for_every_counter_this_kernel_has() {
        let text = std::fs::read_to_string("/proc/diskstats").unwrap();
        let Some(device) = text.lines().find_map(|line| line.split_ascii_whitespace().nth(2)) else { return };
        let mut source = open(&SamplingSubject {
            engine_pids: EnginePids::Own,
            device: Some(device.into()),
            server: model::ServerWay::Inside,
        })
        .unwrap();
        let values = source.read();
        assert_eq!(values.len(), source.describe().counters.len());
        assert!(values[..4].iter().chain(&values[6..]).all(|value| value.is_some_and(|v| v >= 0.0)), "{values:?}");
    }
}
