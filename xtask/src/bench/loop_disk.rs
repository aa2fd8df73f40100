//! A disk for a bench: a loop device with ext4 on it, whose requests and counters are its own.
//!
//! In: a size, a directory for its image. Out: the device, a mount that every user may enter, the device's counters. Limits: only root makes
//! one; all of it goes with its owner.

use crate::workspace::{output_of, run};
use anyhow::{Context, Result, ensure};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct LoopDisk {
    device: String,
    mount: PathBuf,
}

/// What the kernel has counted for a disk since it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
}

impl LoopDisk {
    /// A disk of `gib` GiB below `work`.
    pub fn make(work: &Path, gib: u64) -> Result<LoopDisk> {
        ensure!(rustix::process::geteuid().is_root(), "only root makes a loop device");
        let (image, mount) = (work.join("disk.image"), work.join("mnt"));
        File::create(&image)?.set_len(gib << 30)?;
        fs::create_dir(&mount)?;
        let device = output_of(Command::new("losetup").args(["--find", "--show"]).arg(&image))?.trim().to_owned();
        let disk = LoopDisk { device, mount };
        run(Command::new("mkfs.ext4")
            .args(["-q", "-N", "4096", "-J", "size=64", "-E", "lazy_itable_init=0,lazy_journal_init=0"])
            .arg(&disk.device))?;
        run(Command::new("mount").arg(&disk.device).arg(&disk.mount))?;
        fs::set_permissions(&disk.mount, Permissions::from_mode(0o755))?;
        Ok(disk)
    }

    pub fn device(&self) -> &str {
        &self.device
    }

    /// The directory at which its file system is mounted.
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    pub fn counters(&self) -> Result<DeviceCounters> {
        let name = self.device.rsplit('/').next().unwrap_or_default();
        let path = format!("/sys/block/{name}/stat");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{path}`"))?;
        counters_in(&text).with_context(|| format!("`{path}` has no counters"))
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        // A disk that was not mounted has nothing to unmount.
        let _ = Command::new("umount").arg("--lazy").arg(&self.mount).output();
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).output();
    }
}

/// The fields of `/sys/block/DEVICE/stat` (Documentation/block/stat.rst); a sector has 512 bytes.
fn counters_in(text: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let [reads, _, read, _, writes, _, written, ..] = fields[..] else { return None };
    let flushes = fields.get(15).copied().unwrap_or(0);
    Some(DeviceCounters { reads, read_bytes: 512 * read, writes, written_bytes: 512 * written, flushes })
}

impl DeviceCounters {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads - earlier.reads,
            read_bytes: self.read_bytes - earlier.read_bytes,
            writes: self.writes - earlier.writes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            flushes: self.flushes - earlier.flushes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_their_fields() {
        let text = "   10   0   80   4   20   1   400   9   0  30  31   0   0   0   0   7   2\n";
        let counters = counters_in(text).unwrap();
        let expected =
            DeviceCounters { reads: 10, read_bytes: 80 * 512, writes: 20, written_bytes: 400 * 512, flushes: 7 };
        assert_eq!(counters, expected);
        assert_eq!(expected.since(&counters), DeviceCounters::default());
        assert_eq!(counters_in("no counters"), None);
    }
}
