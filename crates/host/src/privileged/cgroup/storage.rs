//! Limits of a device: the rules of a group, or of the outermost group for a device that serves the data alone.
//!
//! In: a group, a device. Out: rules, read back. Limits: rules are of disks, so a partition's are those of its disk. Of version
//! 1 only the kernel's outermost group, known by its file `release_agent`, holds the kernel's own threads.

use super::hierarchy::{CgroupHierarchy, CgroupVersion};
use crate::device::{BLOCKS, disk_entry};
use crate::error::{IoContext, TargetError};
use crate::text_file::text_of;
use model::{Fact, StorageLimit};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of version 1, in the order of [`ThrottleRule`].
const FILES: [&str; 4] = ["read_iops", "write_iops", "read_bps", "write_bps"];
/// And the words of version 2.
const WORDS: [&str; 4] = ["riops", "wiops", "rbps", "wbps"];

/// Reads, writes, bytes read, bytes written.
type ThrottleRule = [Option<u64>; 4];

/// A device whose use can be limited.
#[derive(Clone, Debug)]
pub struct StorageGroup {
    version: CgroupVersion,
    group: PathBuf,
    device: String,
    /// `254:0`.
    number: String,
    whole: bool,
}

/// Whether rules of the outermost group of `hierarchy` hold anything that writes to a device.
pub fn holds_whole_devices(hierarchy: &CgroupHierarchy) -> bool {
    // In a container the outermost group that can be seen is one inside the real hierarchy: only its root has this file.
    let is_real = hierarchy.outermost.join("release_agent").exists();
    hierarchy.version == CgroupVersion::One && hierarchy.own == hierarchy.outermost && is_real
}

/// Takes rules off the device that is called `number`, which is plimsoll's own and on its way out.
pub fn clear_rules_of(number: &str) {
    let Ok(hierarchy) = super::hierarchy::find_hierarchy(super::LimitedResource::Storage) else { return };
    if !holds_whole_devices(&hierarchy) {
        return;
    }
    let storage = StorageGroup {
        version: CgroupVersion::One,
        group: hierarchy.outermost,
        device: String::new(),
        number: number.into(),
        whole: true,
    };
    // A write to the outermost group affects all processes, so it is not done without need.
    if storage.read_rule() != [None; 4] {
        let _ = storage.write_rule([None; 4]);
    }
}

impl StorageGroup {
    /// The use of `device` by `group`, or by anything if the rules hold for the complete device (`whole`).
    pub fn new(version: CgroupVersion, group: PathBuf, device: &str, whole: bool) -> Result<StorageGroup, TargetError> {
        let (device, number) = disk_of(device).ok_or_else(|| {
            let text = "storage_limit is not possible: the kernel has no disk";
            TargetError::Unsupported(format!("{text} `{device}` under the data; choose another `--dir`, or use `fs`"))
        })?;
        Ok(StorageGroup { version, group, device, number, whole })
    }

    /// Whether nothing of the engine's I/O escapes the rules.
    pub fn holds_all(&self) -> bool {
        self.whole || self.version == CgroupVersion::Two
    }

    /// Sets the rules and returns them as the kernel took them.
    pub fn apply(&self, limit: &StorageLimit) -> Result<StorageLimit, TargetError> {
        self.write_rule([limit.read_iops, limit.write_iops, limit.read_bytes_per_s, limit.write_bytes_per_s])?;
        let [read_iops, write_iops, read_bytes_per_s, write_bytes_per_s] = self.read_rule();
        Ok(StorageLimit { read_iops, write_iops, read_bytes_per_s, write_bytes_per_s })
    }

    /// Which device is held, and what of its use.
    pub fn facts(&self) -> Vec<Fact> {
        let holds = if self.holds_all() { "all" } else { "reads and synced writes" };
        vec![Fact::new("limit.storage_device", &*self.device), Fact::new("limit.storage_holds", holds)]
    }

    /// Reads, writes, bytes read and bytes written that the rules apply to.
    pub fn read_usage(&self) -> [Option<f64>; 4] {
        match self.version {
            CgroupVersion::One => {
                let [reads, writes] = self.reads_and_writes("blkio.throttle.io_serviced");
                let [read_bytes, written_bytes] = self.reads_and_writes("blkio.throttle.io_service_bytes");
                [reads, writes, read_bytes, written_bytes]
            }
            CgroupVersion::Two => {
                let text = text_in(&self.group.join("io.stat"));
                let line = text.lines().find_map(|line| self.after_number(line)).unwrap_or_default();
                ["rios", "wios", "rbytes", "wbytes"].map(|word| value_of(line, word)?.parse().ok())
            }
        }
    }

    /// The numbers of the device's lines `Read` and `Write` in a file of version 1.
    fn reads_and_writes(&self, name: &str) -> [Option<f64>; 2] {
        let text = text_in(&self.group.join(name));
        ["Read ", "Write "]
            .map(|what| text.lines().find_map(|line| self.after_number(line)?.strip_prefix(what)?.trim().parse().ok()))
    }

    fn write_rule(&self, rule: ThrottleRule) -> Result<(), TargetError> {
        match self.version {
            CgroupVersion::One => FILES.iter().zip(rule).try_for_each(|(name, most)| {
                // Zero takes the rule away.
                let path = self.rule_path(name);
                fs::write(&path, format!("{} {}", self.number, most.unwrap_or(0))).trying("set the limit in", path)
            }),
            CgroupVersion::Two => {
                let words = WORDS.iter().zip(rule).map(|(word, most)| match most {
                    Some(most) => format!(" {word}={most}"),
                    None => format!(" {word}=max"),
                });
                let path = self.group.join("io.max");
                fs::write(&path, self.number.clone() + &words.collect::<String>()).trying("set the limit in", path)
            }
        }
    }

    fn read_rule(&self) -> ThrottleRule {
        match self.version {
            CgroupVersion::One => FILES.map(|name| {
                let text = text_in(&self.rule_path(name));
                text.lines().find_map(|line| self.after_number(line)?.trim().parse().ok()).filter(|most| *most > 0)
            }),
            CgroupVersion::Two => {
                let text = text_in(&self.group.join("io.max"));
                let line = text.lines().find_map(|line| self.after_number(line)).unwrap_or_default();
                WORDS.map(|word| value_of(line, word)?.parse().ok())
            }
        }
    }

    fn rule_path(&self, name: &str) -> PathBuf {
        self.group.join(format!("blkio.throttle.{name}_device"))
    }

    /// The rest of the line behind the device's number.
    fn after_number<'a>(&self, line: &'a str) -> Option<&'a str> {
        line.strip_prefix(self.number.as_str())?.strip_prefix(' ')
    }
}

/// The text of a file; empty if it cannot be read.
fn text_in(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of `word=value` in a line of such.
fn value_of<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_ascii_whitespace().find_map(|pair| pair.strip_prefix(word)?.strip_prefix('='))
}

/// The disk that the block device `name` is or is on: its name and number.
fn disk_of(name: &str) -> Option<(String, String)> {
    let disk = disk_entry(&Path::new(BLOCKS).join(name))?;
    // Throttling rules name complete disks; the kernel refuses the number of a partition.
    Some((disk.file_name()?.to_str()?.to_owned(), text_of(disk.join("dev"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: StorageLimit = StorageLimit {
        read_iops: Some(500),
        write_iops: Some(500),
        read_bytes_per_s: None,
        write_bytes_per_s: Some(4096),
    };

    fn storage(version: CgroupVersion, dir: &Path) -> StorageGroup {
        StorageGroup { version, group: dir.into(), device: "vda".into(), number: "254:0".into(), whole: false }
    }

    #[test]
    fn version_one_has_a_file_for_each_rule_and_counts_what_was_served() {
        let dir = tempfile::tempdir().unwrap();
        let one = storage(CgroupVersion::One, dir.path());
        assert_eq!(one.apply(&LIMIT).unwrap(), LIMIT);
        let written = fs::read_to_string(dir.path().join("blkio.throttle.write_bps_device")).unwrap();
        assert_eq!(written, "254:0 4096");
        let served =
            "254:0 Read 3783\n254:0 Write 8118\n254:0 Sync 9864\n254:0 Total 11905\n254:16 Read 5\nTotal 11905\n";
        fs::write(dir.path().join("blkio.throttle.io_serviced"), served).unwrap();
        assert_eq!(one.read_usage(), [Some(3783.0), Some(8118.0), None, None]);
    }

    #[test]
    fn version_two_has_one_line_for_a_device() {
        let dir = tempfile::tempdir().unwrap();
        let two = storage(CgroupVersion::Two, dir.path());
        assert_eq!(two.apply(&LIMIT).unwrap(), LIMIT);
        let written = fs::read_to_string(dir.path().join("io.max")).unwrap();
        assert_eq!(written, "254:0 riops=500 wiops=500 rbps=max wbps=4096");
        fs::write(
            dir.path().join("io.stat"),
            "7:0 rbytes=1 wbytes=2\n254:0 rbytes=90 wbytes=0 rios=3 wios=0 dbytes=0\n",
        )
        .unwrap();
        assert_eq!(two.read_usage(), [Some(3.0), Some(0.0), Some(90.0), Some(0.0)]);
        assert!(two.holds_all() && !storage(CgroupVersion::One, dir.path()).holds_all());
    }

    #[test]
    fn rules_are_of_the_disk_under_a_partition() {
        let disks =
            fs::read_dir("/sys/class/block").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        for name in disks {
            let (disk, number) = disk_of(&name).unwrap();
            assert!(name.starts_with(&disk) && number.contains(':'), "{name}: {disk} {number}");
            assert!(!Path::new("/sys/class/block").join(disk).join("partition").exists());
        }
    }
}
