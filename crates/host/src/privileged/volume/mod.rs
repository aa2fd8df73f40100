//! A volume: a file system of plimsoll's own in an image file, mounted on a loop device, so that file systems can be measured
//! next to each other on one disk, without a partition to spare.
//!
//! In: the directory under measurement, a file system, a size. Out: a mount point with nothing in it, its device, its facts;
//! unmounted, detached and removed at the end. Limits: needs root. Below the volume lie a loop device and the file system of the
//! directory: the numbers of volumes are to be compared with each other, and not with those of a partition.
//!
//! - The image is allocated in full, so that the disk cannot fill up under the file system. It is allocated and not written:
//!   a file system below that marks such extents pays for that when a block is written first. Data is made before it is
//!   measured, so this concerns what grows during the run.
//! - The loop device reads and writes past the page cache if the file system below can: what is read twice would come from a
//!   cache that no device has. If it cannot, the fact `fs.loop_direct` is `no`.
//! - The volume has the blocks of the disk below, so that an engine writes as it would there.
//! - The image is in a data directory whose manifest names it and its mount point. However the process ends, the next start
//!   unmounts what is mounted there from that image, and nothing else.

mod abandoned;
mod kinds;
mod loop_device;
mod zfs;

use crate::data_dir::{DataDir, VolumeNames, path_inside};
use crate::deadline::output_within;
use crate::error::{IoContext, TargetError, shown};
use crate::filesystem::{self, DirectAlignment, direct_alignment};
use crate::leftover::end_program_with;
use crate::machine::yes_or_no;
use loop_device::{BackingFile, LoopDevice};
use model::{Bytes, Fact, FileSystem, FileSystemSpec, ZfsCompression};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fchmod, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use zfs::ZfsDaemon;

pub use abandoned::abandoned_places;
pub use kinds::image_for;
pub use zfs::VolumeDaemon;

/// The directories of root's programs. The caller's search path may lead anywhere.
const PROGRAM_DIRS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin"];
/// How long one of them may take: it writes the inode tables of a large image, perhaps to a slow disk.
const MADE_WITHIN: Duration = Duration::from_secs(3_600);
const BLOCK_LEAST: u32 = 512;
/// The largest block that all file systems here take.
const BLOCK_MOST: u32 = 4096;

/// A file system of plimsoll's own. Unmounted and removed by [`Volume::remove`] or when it is dropped.
#[derive(Debug)]
pub struct Volume {
    /// Removing it unmounts and detaches first: see [`release_volume`].
    dir: DataDir,
    mount_point: PathBuf,
    device: String,
    facts: Vec<Fact>,
    /// The process that is the file system. It is the last to go: the volume is unmounted first.
    daemon: Option<ZfsDaemon>,
}

impl Volume {
    /// Makes `kind` with `size` in an image in `parent`, and mounts it.
    ///
    /// # Errors
    /// If this machine cannot, with what is missing. Nothing is left behind then.
    pub fn make(parent: &Path, kind: FileSystem, size: Bytes, seed: u64) -> Result<Volume, TargetError> {
        let mut dir = DataDir::create(parent, &format!("fs={kind} fs_size={size}"), seed)?;
        let names = dir.own_volume(release_volume)?;
        let image_path = dir.path_inside(&names.image);
        let image = allocate_image(&image_path, size)?;
        let disk_block = filesystem::physical_block_below(parent).unwrap_or(BLOCK_LEAST);
        // From here on the device clears itself if plimsoll dies, and after the mount when that goes: no step needs an undo of its
        // own.
        let device = attach_device(&image, disk_block)?;
        let mount_point = dir.path().join(&names.mount_point);
        let (made_by, daemon) = match kind {
            FileSystem::Zfs { compression } => {
                let (made_by, daemon) = start_zfs(kind, compression, &device, &dir, &mount_point)?;
                (made_by, Some(daemon))
            }
            _ => {
                let made_by = make_file_system(kind, &device)?;
                mount_on(kind, &device, &dir.path_inside(&names.mount_point))?;
                (made_by, None)
            }
        };
        close_root(&dir.path_inside(&names.mount_point))?;
        let mut facts = vec![
            Fact::new("fs.image_bytes", size.0.to_string()),
            Fact::new("fs.loop_direct", yes_or_no(device.is_direct())),
            Fact::new("fs.made_by", made_by),
        ];
        facts.extend(filesystem::find_mount(&mount_point).map(|place| place.facts()).unwrap_or_default());
        Ok(Volume { mount_point, device: device.name(), facts, dir, daemon })
    }

    /// Where it is mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount_point
    }

    /// Its block device as `/proc/diskstats` names it.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The file system with the options that it really has, and how it came to be.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The process that is the file system, if it is none of the kernel's.
    pub fn daemon(&self) -> Option<&VolumeDaemon> {
        self.daemon.as_ref().map(ZfsDaemon::handle)
    }

    /// Unmounts it, detaches its device and removes its image.
    pub fn remove(self) -> Result<(), TargetError> {
        self.dir.remove()
    }
}

/// Refuses a file system that this machine cannot make, or that is too small for `data`, before anything is written.
pub fn check_spec(spec: &FileSystemSpec, data: Bytes) -> Result<(), TargetError> {
    let FileSystemSpec { kind, size } = *spec;
    if !rustix::process::geteuid().is_root() {
        return Err(TargetError::Unsupported(format!(
            "fs = `{kind}` needs root, to mount it; run as root, or mount one yourself and use it with `--dir`"
        )));
    }
    find_program(kind)?;
    if kind == (FileSystem::Zfs { compression: Some(ZfsCompression::Lz4) }) {
        let text = "fs = `zfs:lz4`: zfs-fuse has no LZ4, which came with a later ZFS; use `zfs:lzjb` or `zfs:gzip-1`";
        return Err(TargetError::Unsupported(text.into()));
    }
    let needs = if data == Bytes(0) { kinds::smallest_image(kind) } else { image_for(kind, data) };
    match size {
        Some(size) if size < needs => Err(TargetError::Unsupported(format!(
            "fs_size = `{size}` is too small for `{kind}` with data of {data}: use at least {needs}, or `auto`"
        ))),
        _ => Ok(()),
    }
}

/// The image, allocated in full.
fn allocate_image(path: &Path, size: Bytes) -> Result<File, TargetError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let image = File::from(open(path, flags, Mode::from_raw_mode(0o600)).trying("create", path)?);
    match fallocate(&image, FallocateFlags::empty(), 0, size.0) {
        Err(Errno::OPNOTSUPP) => Err(TargetError::Unsupported(
            "the file system of this directory cannot allocate files, so `fs` does not work in it; choose another \
             `--dir`"
                .into(),
        )),
        allocated => allocated.trying("allocate", path).map(|()| image),
    }
}

/// A loop device whose blocks are those that the disk below writes as a whole, `disk_block` bytes each.
///
/// Programs look at that size: InnoDB writes its log in such blocks, and mkfs.xfs makes its sectors as large. A loop device has one
/// size, which is also the least that direct I/O can move. With the smaller one of a disk that accepts 512 bytes and writes 4,096,
/// a commit on the volume wrote 512 bytes, and on the disk itself 4,096.
fn attach_device(image: &File, disk_block: u32) -> Result<LoopDevice, TargetError> {
    let block = disk_block.clamp(BLOCK_LEAST, BLOCK_MOST);
    match direct_alignment(image) {
        DirectAlignment::Direct { offset_align, .. } if offset_align <= BLOCK_MOST => {
            LoopDevice::attach(image, offset_align.max(block), true)
        }
        _ => LoopDevice::attach(image, block, false),
    }
}

/// Makes the file system and returns the version of the program that did. Ctrl-C is for plimsoll, which removes what is half made.
fn make_file_system(kind: FileSystem, device: &LoopDevice) -> Result<String, TargetError> {
    let program = find_program(kind)?;
    let maker = kinds::maker_of(kind);
    let path = device.path();
    let arguments = [maker.arguments, &[path.to_str().expect("a device has a plain name")]].concat();
    let made = run_program(&program, &arguments)?;
    if !made.status.success() {
        let said = first_line(&made.stderr);
        return Err(TargetError::Failed(format!("`{}` failed on `{}`: {said}", shown(&program), shown(&path))));
    }
    let version = run_program(&program, &[maker.version])?;
    Ok(first_line(&[version.stdout, version.stderr].concat()))
}

/// Starts the process that is ZFS, with a pool on `device`, mounted. Returns its version, too.
fn start_zfs(
    kind: FileSystem,
    compression: Option<ZfsCompression>,
    device: &LoopDevice,
    dir: &DataDir,
    mount_point: &Path,
) -> Result<(String, ZfsDaemon), TargetError> {
    let daemon = ZfsDaemon::start(&find_program(kind)?, &zfs::pool_of(dir.path()))?;
    let place = mount_point.canonicalize().trying("look at", mount_point)?;
    let made_by = daemon.make_pool(&device.path(), compression, &place)?;
    Ok((made_by, daemon))
}

fn run_program(program: &Path, arguments: &[&str]) -> Result<Output, TargetError> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PROGRAM_DIRS.join(":")).env("LC_ALL", "C");
    output_within(&mut command, MADE_WITHIN).trying("run", program)
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).collect()
}

fn find_program(kind: FileSystem) -> Result<PathBuf, TargetError> {
    let maker = kinds::maker_of(kind);
    let found = PROGRAM_DIRS.iter().map(|dir| Path::new(dir).join(maker.program)).find(|path| path.is_file());
    found.ok_or_else(|| {
        TargetError::Unsupported(format!(
            "fs = `{kind}` needs `{}`, which is not installed; on Debian: `apt-get install {}`",
            maker.program, maker.package
        ))
    })
}

/// Mounts the file system. No program or device of it is anybody's, so it need not honour them; and an access time that is written
/// because something was read is no part of the load.
fn mount_on(kind: FileSystem, device: &LoopDevice, mount_point: &Path) -> Result<(), TargetError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    let options = kinds::mount_options(kind);
    let data = CString::new(options.as_str()).expect("options have no null character");
    match mount(device.path(), mount_point, kind.name(), flags, data.as_c_str()) {
        Err(Errno::NODEV) => {
            let text = format!("this kernel has no file system `{}`; load its module or leave it out", kind.name());
            Err(TargetError::Unsupported(text))
        }
        Err(Errno::INVAL) => {
            Err(TargetError::Unsupported(format!("this kernel refuses to mount `{kind}` with the options `{options}`")))
        }
        Err(Errno::PERM | Errno::ACCESS) => {
            let text =
                "root may not mount here, as in many containers; mount a file system outside and use it with `--dir`";
            Err(TargetError::Unsupported(text.into()))
        }
        mounted => mounted.trying("mount", device.path()),
    }
}

/// Closes the root of the file system that is mounted at `mount_point`, which every user may list as its maker has left it. The user of a
/// server passes through to what in it is its own.
fn close_root(mount_point: &Path) -> Result<(), TargetError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = open(mount_point, flags, Mode::empty()).trying("open", mount_point)?;
    fchmod(&root, Mode::from_raw_mode(0o711)).trying("close", mount_point)
}

/// Unmounts and detaches the volume in the data directory `locked`: at its end, or after its process was killed.
///
/// # Errors
/// If something else is mounted there, which stays.
pub fn release_volume(locked: &File, names: &VolumeNames) -> Result<(), TargetError> {
    let image = fs::symlink_metadata(path_inside(locked, &names.image)).ok().filter(|image| image.is_file());
    let image = image.map(|image| BackingFile::from_metadata(&image));
    let dir = Path::new("/proc/self/fd").join(locked.as_raw_fd().to_string());
    let dir = fs::read_link(&dir).trying("look at", &dir)?;
    let mount_point = dir.join(&names.mount_point);
    // A device clears itself when it is unmounted; what it was limited to would stay, for the next that gets its number.
    image.iter().flat_map(|image| loop_device::attached_to(*image)).for_each(loop_device::clear_limits);
    let pool = zfs::pool_of(&dir);
    unmount_from(&mount_point, &path_inside(locked, &names.mount_point), image, &pool)?;
    let Some(image) = image else { return Ok(()) };
    loop_device::device_paths_of(image).iter().try_for_each(|device| end_program_with(zfs::DAEMON, device))?;
    loop_device::attached_to(image).into_iter().try_for_each(|number| loop_device::detach_device(number, image))
}

/// Unmounts what is mounted from `image`, or from the pool of that name, at `mount_point`, reached by `way`, into which no symlink can
/// be put.
fn unmount_from(mount_point: &Path, way: &Path, image: Option<BackingFile>, pool: &str) -> Result<(), TargetError> {
    let mounts = filesystem::read_mounts().trying("read", "/proc/self/mountinfo")?;
    for mounted in mounts.iter().rev().filter(|mounted| mounted.mount_point == mount_point) {
        let device = Path::new(&mounted.source).strip_prefix("/dev").ok().and_then(Path::to_str);
        let is_on_image = device.zip(image).is_some_and(|(device, image)| loop_device::is_backed_by(device, image));
        if !is_on_image && !zfs::is_mount_of(pool, &mounted.filesystem, &mounted.source) {
            let text = format!("`{}` has something else mounted on it; it was left as it is", shown(mount_point));
            return Err(TargetError::Unsafe(text));
        }
        match unmount(way, UnmountFlags::NOFOLLOW) {
            // Another process looks into it, or a client is still blocked in it: it goes when they do.
            Err(Errno::BUSY) => unmount(way, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH),
            done => done,
        }
        .trying("unmount", mount_point)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_nobody_removed_goes_with_its_owner() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root: a file system cannot be mounted");
            return;
        }
        let parent = tempfile::tempdir_in(".").unwrap();
        let volume = Volume::make(parent.path(), FileSystem::Ext4 { barrier: true }, Bytes::from_mib(32), 1).unwrap();
        let (at, device) = (volume.mount_point().canonicalize().unwrap(), volume.device().to_owned());
        fs::write(at.join("data"), b"x").unwrap();
        let is_mounted = || filesystem::read_mounts().unwrap().iter().any(|mount| mount.mount_point == at);
        assert!(is_mounted() && device.starts_with("loop"), "{device}");
        let allocated = rustix::fs::stat(at.parent().unwrap().join("image")).unwrap().st_blocks as u64 * 512;
        assert!(allocated >= 32 << 20, "nothing that makes a file system makes holes in its image: {allocated}");
        drop(volume);
        assert!(!is_mounted());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn zfs_is_a_process_of_the_volumes_own_that_compresses_and_goes_with_it() {
        let parent = tempfile::tempdir_in(".").unwrap();
        let kind = FileSystem::from_words("zfs:gzip-1").unwrap();
        if let Err(why) = check_spec(&FileSystemSpec { kind, size: None }, Bytes(0)) {
            assert!(why.to_string().contains("`zfs-fuse`") || why.to_string().contains("root"), "{why}");
            return eprintln!("skipped: {why}");
        }
        let volume = Volume::make(parent.path(), kind, Bytes::from_mib(128), 1).unwrap();
        let (at, daemon) = (volume.mount_point().canonicalize().unwrap(), volume.daemon().unwrap().clone());
        let used = || {
            daemon.settle().unwrap();
            rustix::fs::statvfs(&at).map(|it| (it.f_blocks - it.f_bfree) * it.f_frsize).unwrap()
        };
        let before = used();
        let text: String = (0..400_000).map(|row| format!("row {row}, paid in full\n")).collect();
        fs::write(at.join("data"), &text).unwrap();
        let took = used() - before;
        assert!(took > text.len() as u64 / 20 && took < text.len() as u64 / 3, "{took} of {} bytes", text.len());
        assert_eq!(fs::read_to_string(at.join("data")).unwrap(), text);
        assert!(daemon.cpu_time().unwrap() > std::time::Duration::ZERO);
        let facts = volume.facts().iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect::<Vec<_>>();
        assert!(facts.contains(&"fs.made_by=zfs-fuse, pool version 23".to_owned()), "{facts:?}");
        drop(volume);
        assert_eq!(daemon.cpu_time(), None, "the process has ended");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_volume_whose_zfs_was_killed_is_removed_all_the_same() {
        let parent = tempfile::tempdir_in(".").unwrap();
        let kind = FileSystem::Zfs { compression: None };
        if let Err(why) = check_spec(&FileSystemSpec { kind, size: None }, Bytes(0)) {
            return eprintln!("skipped: {why}");
        }
        let volume = Volume::make(parent.path(), kind, Bytes::from_mib(128), 1).unwrap();
        let at = volume.mount_point().canonicalize().unwrap();
        end_program_with(zfs::DAEMON, &Path::new("/dev").join(volume.device())).unwrap();
        assert!(fs::write(at.join("data"), b"x").is_err(), "its file system is gone");
        volume.remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn zfs_with_lz4_is_refused_with_what_there_is() {
        let kind = FileSystem::Zfs { compression: Some(ZfsCompression::Lz4) };
        let refused = check_spec(&FileSystemSpec { kind, size: None }, Bytes(0)).unwrap_err().to_string();
        let missing = refused.contains("needs root") || refused.contains("`apt-get install zfs-fuse`");
        assert!(missing || refused.ends_with("use `zfs:lzjb` or `zfs:gzip-1`"), "{refused}");
    }

    #[test]
    fn a_volume_has_the_blocks_of_the_disk_below_and_a_small_file_system_those_of_a_large_one() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root: a file system cannot be mounted");
            return;
        }
        let parent = tempfile::tempdir_in(".").unwrap();
        let of_disk = filesystem::physical_block_below(parent.path()).unwrap_or(BLOCK_LEAST);
        for (kind, mib) in [(FileSystem::Ext4 { barrier: true }, 32), (FileSystem::Xfs, 300)] {
            let volume = Volume::make(parent.path(), kind, Bytes::from_mib(mib), 1).unwrap();
            let of_volume = filesystem::physical_block_below(volume.mount_point());
            assert_eq!(of_volume, Some(of_disk.clamp(BLOCK_LEAST, BLOCK_MOST)), "{kind}");
            assert_eq!(rustix::fs::statvfs(volume.mount_point()).unwrap().f_bsize, 4096, "{kind}");
        }
    }
}
