//! The place of a directory's data: the file system, the block device under it, and what direct I/O asks for there.
//!
//! In: a directory or an open file. Out: a [`Mount`], its facts, an [`DirectAlignment`].
//!
//! Limits: Linux. Of a file system over several devices (btrfs, ZFS) the one that it was mounted by is given, of an overlay,
//! a network file system or tmpfs none. Facts hold no path and no free space: two runs that differ only in those are alike.

use crate::device::disk_entry;
use crate::machine::yes_or_no;
use crate::text_file::text_of;
use model::{Bytes, Fact};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, major, makedev, minor};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The place of a directory's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The type of the file system: `ext4`.
    pub filesystem: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The options of the mount and of the file system, each once: `rw,relatime,discard`.
    pub mount_options: String,
    /// The block device as `/proc/diskstats` names it: `vda`, `nvme0n1p2`, `dm-0`.
    pub device: Option<String>,
    /// The size of the file system.
    pub total: Bytes,
    /// What an unprivileged user may still fill.
    pub free: Bytes,
}

/// Finds out where the data of `dir` lives.
pub fn find_mount(dir: &Path) -> io::Result<Mount> {
    let dir = dir.canonicalize()?;
    let mounts = read_mounts()?;
    let device_number = std::fs::metadata(&dir)?.dev();
    let mount = entry_of(&mounts, &dir, mount_id(&dir), device_number)
        .ok_or_else(|| io::Error::other(format!("`{}` is in no mount of `/proc/self/mountinfo`", dir.display())))?;
    let space = rustix::fs::statvfs(&dir)?;
    Ok(Mount {
        filesystem: mount.filesystem.clone(),
        mount_point: mount.mount_point.clone(),
        mount_options: mount.options.clone(),
        // btrfs and overlayfs have device numbers of their own, with major 0: then the mount table may know the device.
        device: device_name(device_number)
            .or_else(|| device_name(mount.device))
            .or_else(|| source_device(&mount.source)),
        total: Bytes(space.f_blocks.saturating_mul(space.f_frsize)),
        // Blocks that are reserved for root (f_bfree - f_bavail) are no room for the data.
        free: Bytes(space.f_bavail.saturating_mul(space.f_frsize)),
    })
}

impl Mount {
    /// What must be alike for two runs to be compared: the file system, its options, and the disk with its settings.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("filesystem", &self.filesystem),
            Fact::new("filesystem.options", without_paths(&self.mount_options)),
            Fact::new("filesystem.total_bytes", self.total.0.to_string()),
        ];
        facts.extend(barrier_word(&self.mount_options).map(|barrier| Fact::new("filesystem.barrier", barrier)));
        facts.extend(self.device.iter().flat_map(|device| facts_of_device(device)));
        facts
    }
}

/// What direct I/O on a file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectAlignment {
    /// O_DIRECT works at multiples of these, both in bytes.
    Direct {
        /// For the offset in the file and the length.
        offset_align: u32,
        /// For the address of the buffer.
        mem_align: u32,
    },
    /// O_DIRECT is refused here.
    BufferedOnly,
    /// It could not be found out, as for a file that is too short to try.
    Unknown,
}

/// What direct I/O on `file` asks for: as the kernel reports it (since Linux 6.1, for most file systems), else by trying.
pub fn direct_alignment(file: &File) -> DirectAlignment {
    if file.metadata().is_ok_and(|meta| meta.file_type().is_block_device()) {
        return alignment_of_device(file);
    }
    match rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(stat) if stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => match stat.stx_dio_offset_align {
            0 => DirectAlignment::BufferedOnly,
            offset_align => DirectAlignment::Direct { offset_align, mem_align: stat.stx_dio_mem_align },
        },
        _ => probed_alignment(file),
    }
}

/// A block device moves multiples of its logical block.
fn alignment_of_device(device: &File) -> DirectAlignment {
    rustix::fs::ioctl_blksszget(device)
        .map_or(DirectAlignment::Unknown, |block| DirectAlignment::Direct { offset_align: block, mem_align: block })
}

/// The smallest alignment at which a direct read of the file's beginning is not refused.
fn probed_alignment(file: &File) -> DirectAlignment {
    const LARGEST: u32 = 4096;
    // The file is opened again by its descriptor: it may have been renamed or removed, and its own flags stay as they are.
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let direct = match rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return DirectAlignment::BufferedOnly,
        Err(_) => return DirectAlignment::Unknown,
    };
    // A read at the end of the file succeeds whatever its alignment and would show nothing.
    if direct.metadata().map_or(0, |metadata| metadata.len()) < u64::from(LARGEST) {
        return DirectAlignment::Unknown;
    }
    match [512, LARGEST].into_iter().find(|align| read_at_alignment(&direct, *align as usize).is_ok()) {
        Some(align) => DirectAlignment::Direct { offset_align: align, mem_align: align },
        None => DirectAlignment::Unknown,
    }
}

/// Reads the first `align` bytes into memory that is aligned to that and no more.
fn read_at_alignment(file: &File, align: usize) -> io::Result<()> {
    let mut memory = vec![0u8; 4 * align];
    // One step beyond a multiple of twice the alignment: otherwise the memory might by chance fulfil a stricter demand.
    let to_even = memory.as_ptr().align_offset(2 * align);
    let buffer = &mut memory[to_even + align..][..align];
    file.read_at(buffer, 0).map(|_| ())
}

/// The block device under `dir`, which may be seen through another process (`/proc/PID/cwd`); `None` if it has none. If the process is
/// in another mount namespace, none is found for btrfs and for a file system over others.
pub fn device_below(dir: &Path) -> Option<String> {
    let number = std::fs::metadata(dir).ok()?.dev();
    // Not by its path: that is of the process's own root.
    let mounted_as = mount_id(dir);
    device_name(number).or_else(|| {
        let mount = read_mounts().ok()?.into_iter().find(|mount| Some(mount.id) == mounted_as)?;
        device_name(mount.device).or_else(|| source_device(&mount.source))
    })
}

/// What is mounted, in the order of mounting.
pub fn read_mounts() -> io::Result<Vec<MountEntry>> {
    Ok(parse_mountinfo(&String::from_utf8_lossy(&std::fs::read("/proc/self/mountinfo")?)))
}

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    id: u64,
    /// The number of its block device; with major 0 if it has none, or several.
    pub device: u64,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The type of the file system: `ext4`.
    pub filesystem: String,
    /// What it was mounted from: `/dev/sda1`.
    pub source: String,
    options: String,
}

/// Reads `id parent major:minor root mount-point options [optional fields] - type source super-options`. A line of another
/// form is passed over.
pub(crate) fn parse_mountinfo(text: &str) -> Vec<MountEntry> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<MountEntry> {
    let (mount, super_block) = line.split_once(" - ")?;
    let &[id, _, device, _, mount_point, options, ..] = mount.split(' ').collect::<Vec<_>>().as_slice() else {
        return None;
    };
    let mut super_block = super_block.split(' ');
    let (filesystem, source, super_options) =
        (super_block.next()?, super_block.next()?, super_block.next().unwrap_or(""));
    let (major, minor) = device.split_once(':')?;
    Some(MountEntry {
        id: id.parse().ok()?,
        device: makedev(major.parse().ok()?, minor.parse().ok()?),
        mount_point: PathBuf::from(unescape_octal(mount_point)),
        filesystem: filesystem.to_owned(),
        source: unescape_octal(source),
        options: merged_options(options, super_options),
    })
}

/// The kernel writes blank, tab, newline and backslash as three octal digits behind a backslash.
fn unescape_octal(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// The options of the mount, then those of the file system that are not among them. A mount that is read-only on a file
/// system that is not, is read-only.
fn merged_options(mount: &str, super_block: &str) -> String {
    let mut options: Vec<&str> = mount.split(',').collect();
    // `rw` and `ro` are in both lists; that of the mount came first and is kept.
    for option in super_block.split(',').filter(|option| !matches!(*option, "" | "rw" | "ro")) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// The kernel's number of the mount that `dir` is in; it is exact also for bind mounts and btrfs. Since Linux 5.8.
fn mount_id(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statx(CWD, dir, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}

/// The mount that `dir` (without symlinks) is in: the one with the mount's number, else the innermost with the device's
/// number, else the innermost. Of mounts over each other the last is seen.
fn entry_of<'a>(mounts: &'a [MountEntry], dir: &Path, mount_id: Option<u64>, device: u64) -> Option<&'a MountEntry> {
    // A bind mount has the device number of its source, so only the mount id distinguishes them.
    let by_id = mounts.iter().find(|mount| Some(mount.id) == mount_id);
    let around = mounts.iter().filter(|mount| dir.starts_with(&mount.mount_point));
    by_id.or_else(|| innermost(around.clone().filter(|mount| mount.device == device))).or_else(|| innermost(around))
}

fn innermost<'a>(mounts: impl Iterator<Item = &'a MountEntry>) -> Option<&'a MountEntry> {
    // Of several with the same depth `max_by_key` returns the last, which hides those below it.
    mounts.max_by_key(|mount| mount.mount_point.components().count())
}

/// The name of the block device with that number. File systems without one device (btrfs, tmpfs) have a number with major 0.
pub fn device_name(number: u64) -> Option<String> {
    let link = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let target = std::fs::read_link(link).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

/// The name of the block device that a file system was mounted from: `/dev/mapper/vg-data` is `dm-0`.
fn source_device(source: &str) -> Option<String> {
    let path = source.starts_with("/dev/").then_some(source)?;
    device_name(std::fs::metadata(path).ok()?.rdev())
}

/// The options but those that hold a path or an address (`subvol=/home/ann`, `upperdir=...`, `addr=...`): they have no effect on
/// the speed, and reveal something about the owner.
fn without_paths(options: &str) -> String {
    let told = options.split(',').filter(|option| !option.contains('/') && !option.contains("addr="));
    told.collect::<Vec<_>>().join(",")
}

/// Whether a flush of a file reaches the disk's own cache; `None` if the options do not determine it.
fn barrier_word(options: &str) -> Option<&'static str> {
    options.split(',').find_map(|option| match option {
        "nobarrier" | "barrier=0" | "barrier=none" => Some("off"),
        "barrier" | "barrier=1" | "barrier=flush" => Some("on"),
        _ => None,
    })
}

/// The settings of the block device of that name.
pub fn facts_of_device(name: &str) -> Vec<Fact> {
    let mut facts = vec![Fact::new("disk.device", name)];
    facts.extend(disk_facts(&Path::new("/sys/class/block").join(name)));
    facts
}

/// The bytes that the disk under `dir` writes as a whole: its physical block. `None` if `dir` is on no disk.
pub fn physical_block_below(dir: &Path) -> Option<u32> {
    let facts = facts_of_device(&find_mount(dir).ok()?.device?);
    facts.iter().find(|fact| fact.name == "disk.physical_block_bytes")?.value.parse().ok()
}

/// The settings of a block device. `directory` is its entry in `/sys/class/block`; a partition has those of its disk.
fn disk_facts(directory: &Path) -> Vec<Fact> {
    let Some(disk) = disk_entry(directory) else { return Vec::new() };
    let queue = disk.join("queue");
    let scheduler = text_of(queue.join("scheduler"));
    let rotational = text_of(queue.join("rotational"));
    let max_request_kib = text_of(queue.join("max_sectors_kb")).and_then(|kib| kib.parse::<u64>().ok());
    let found = [
        ("disk.model", text_of(disk.join("device/model"))),
        ("disk.scheduler", scheduler.map(|schedulers| chosen_scheduler(&schedulers).to_owned())),
        ("disk.write_cache", text_of(queue.join("write_cache"))),
        ("disk.rotational", rotational.map(|flag| yes_or_no(flag == "1").to_owned())),
        ("disk.physical_block_bytes", text_of(queue.join("physical_block_size"))),
        ("disk.logical_block_bytes", text_of(queue.join("logical_block_size"))),
        ("disk.max_request_bytes", max_request_kib.map(|kib| (kib << 10).to_string())),
    ];
    found.into_iter().filter_map(|(name, value)| Some(Fact::new(name, value?))).collect()
}

/// Of `none [mq-deadline] kyber` the one in brackets.
fn chosen_scheduler(schedulers: &str) -> &str {
    let chosen = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(schedulers, |(chosen, _)| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_6_18: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534,resgid=65534
30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
41 27 0:44 /vol /mnt/my\\040disk\\134x ro,noatime shared:7 master:1 - btrfs /dev/mapper/vg-data rw,compress=zstd:3,space_cache=v2,subvolid=256,subvol=/vol
42 27 8:17 /home/a /srv rw,relatime shared:9 - xfs /dev/sdb1 rw,attr2,noquota
43 42 254:0 /data /srv/data rw,relatime - ext4 /dev/vda rw,discard
";
    const LINUX_3_10: &str = "\
17 60 0:16 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw,seclabel
60 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/centos-root rw,seclabel,attr2,inode64,noquota
38 60 8:1 / /boot rw,relatime shared:29 - ext4 /dev/sda1 rw,nobarrier,data=ordered
a line that no kernel wrote
";

    fn found(mountinfo: &str, dir: &str, id: Option<u64>, device: (u32, u32)) -> MountEntry {
        let mounts = parse_mountinfo(mountinfo);
        entry_of(&mounts, Path::new(dir), id, makedev(device.0, device.1)).unwrap().clone()
    }

    #[test]
    fn a_mount_is_read_with_its_escapes_and_without_its_optional_fields() {
        let mount = found(LINUX_6_18, "/mnt/my disk\\x/db", Some(41), (0, 99));
        assert_eq!(mount.mount_point, Path::new("/mnt/my disk\\x"));
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("btrfs", "/dev/mapper/vg-data"));
        assert_eq!(mount.options, "ro,noatime,compress=zstd:3,space_cache=v2,subvolid=256,subvol=/vol");
    }

    #[test]
    fn an_old_kernel_is_read_and_a_strange_line_passed_over() {
        assert_eq!(parse_mountinfo(LINUX_3_10).len(), 3);
        let mount = found(LINUX_3_10, "/var/lib", None, (253, 0));
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("xfs", "/dev/mapper/centos-root"));
        assert_eq!(barrier_word(&found(LINUX_3_10, "/boot/x", None, (8, 1)).options), Some("off"));
    }

    #[test]
    fn without_a_mount_number_the_innermost_mount_of_the_device_is_taken() {
        assert_eq!(found(LINUX_6_18, "/srv/data/db", None, (254, 0)).mount_point, Path::new("/srv/data"));
        assert_eq!(found(LINUX_6_18, "/srv/database", None, (8, 17)).mount_point, Path::new("/srv"));
        assert_eq!(found(LINUX_6_18, "/home", None, (254, 0)).mount_point, Path::new("/"));
    }

    #[test]
    fn a_subvolume_whose_number_no_mount_has_is_in_the_innermost_mount() {
        assert_eq!(found(LINUX_6_18, "/mnt/my disk\\x/db", None, (0, 57)).filesystem, "btrfs");
    }

    #[test]
    fn of_mounts_over_each_other_the_last_is_seen() {
        assert_eq!(found(LINUX_6_18, "/dev/shm/x", None, (0, 99)).id, 30);
    }

    #[test]
    fn an_escaped_backslash_does_not_make_an_escape() {
        assert_eq!(unescape_octal("a\\134040b\\040c"), "a\\040b c");
    }

    #[test]
    fn options_that_name_paths_and_addresses_are_no_facts() {
        let options = "rw,compress=zstd:3,subvol=/home/ann,upperdir=/u,clientaddr=10.0.0.7,addr=10.0.0.8,noatime";
        assert_eq!(without_paths(options), "rw,compress=zstd:3,noatime");
    }

    #[test]
    fn the_barrier_is_a_fact_only_where_the_options_show_it() {
        let shown = ["rw,nobarrier", "rw,barrier=0", "rw,barrier=1", "rw,relatime"].map(barrier_word);
        assert_eq!(shown, [Some("off"), Some("off"), Some("on"), None]);
    }

    #[test]
    fn the_scheduler_is_the_one_in_brackets() {
        assert_eq!(
            ["none [mq-deadline] kyber bfq", "[none]", "none"].map(chosen_scheduler),
            ["mq-deadline", "none", "none"]
        );
    }

    #[test]
    fn a_partition_has_the_settings_of_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let partition = root.path().join("sda/sda1");
        std::fs::create_dir_all(&partition).unwrap();
        std::fs::create_dir_all(root.path().join("sda/queue")).unwrap();
        std::fs::write(partition.join("partition"), "1\n").unwrap();
        std::fs::write(root.path().join("sda/queue/rotational"), "0\n").unwrap();
        std::fs::write(root.path().join("sda/queue/write_cache"), "write back\n").unwrap();
        let facts = [Fact::new("disk.write_cache", "write back"), Fact::new("disk.rotational", "no")];
        assert_eq!(disk_facts(&partition), facts);
        assert_eq!(disk_facts(&root.path().join("sda")), facts);
        assert_eq!(disk_facts(&root.path().join("sdb")), []);
    }

    #[test]
    fn this_directory_is_in_a_place_with_room_and_its_device_is_in_diskstats() {
        let place = find_mount(Path::new(".")).unwrap();
        assert!(Path::new(".").canonicalize().unwrap().starts_with(&place.mount_point));
        assert!(place.free <= place.total && place.total > Bytes(0), "{place:?}");
        let diskstats = std::fs::read_to_string("/proc/diskstats").unwrap();
        let device = place.device.as_deref();
        assert!(device.is_none_or(|name| diskstats.contains(&format!(" {name} "))), "{place:?}");
        assert!(place.facts().iter().any(|fact| fact.name == "filesystem" && fact.value == place.filesystem));
    }

    #[test]
    fn proc_is_on_no_device_and_a_directory_that_is_not_there_is_an_error() {
        let place = find_mount(Path::new("/proc")).unwrap();
        assert_eq!((place.filesystem.as_str(), place.device), ("proc", None));
        assert_eq!(find_mount(Path::new("/proc/nosuch")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_probe_finds_an_alignment_that_the_kernel_agrees_with() {
        let file = tempfile::tempfile_in(".").unwrap();
        file.set_len(1 << 16).unwrap();
        match (direct_alignment(&file), probed_alignment(&file)) {
            (
                DirectAlignment::Direct { offset_align, mem_align },
                DirectAlignment::Direct { offset_align: tried, .. },
            ) => {
                assert!(offset_align.is_power_of_two() && mem_align >= 1, "{offset_align} {mem_align}");
                assert_eq!(tried % offset_align, 0);
            }
            (said, tried) => assert_eq!(said, tried),
        }
    }

    #[test]
    fn a_file_that_is_too_short_to_try_shows_nothing() {
        let file = tempfile::tempfile_in(".").unwrap();
        assert!(matches!(probed_alignment(&file), DirectAlignment::Unknown | DirectAlignment::BufferedOnly));
    }

    #[test]
    fn direct_io_is_refused_in_proc() {
        let file = File::open("/proc/self/stat").unwrap();
        assert_eq!(direct_alignment(&file), DirectAlignment::BufferedOnly);
    }
}
