//! Block devices to measure on: what they are, what uses them, and whether they may be overwritten.
//!
//! In: a path, and the user's consent to destroy devices. Out: a [`RawDevice`], or a refusal that names the device, what is on it
//! and what to do. Limits: Linux, sysfs. Reading asks for nothing; writing asks for [`DestroyConsent`] with the device's identity, and
//! a device that is in use is refused whatever was consented to.
//!
//! A path is no identity: `/dev/sdb` is another disk after the next start. So consent names the serial number as well, which has
//! to be looked up once, and does not fit another disk. It is never part of a plan: a plan is passed on to others, whose
//! disks are not those of its author.

mod signature;

use crate::error::{IoContext, TargetError, shown};
use crate::filesystem::{self, device_name, find_mount};
use crate::text_file::text_of;
use model::{Bytes, Fact};
use rustix::fs::{Mode, OFlags, open};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) const BLOCKS: &str = "/sys/class/block";

/// What Linux calls /dev/null (Documentation/admin-guide/devices.txt), whatever its name is here.
pub const NULL_DEVICE: u64 = libc::makedev(1, 3);
/// What the null device is called in a consent.
const NULL_IDENTITY: &str = "null";

/// A device that the user allows to be destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestroyConsent {
    /// The path of its device node.
    pub device: PathBuf,
    /// Its identity: see [`BlockDevice::read_identity`].
    pub identity: String,
}

impl DestroyConsent {
    /// Reads `DEV=SERIAL`.
    pub fn parse(text: &str) -> Option<DestroyConsent> {
        let (device, identity) = text.split_once('=')?;
        let whole = device.starts_with('/') && !identity.trim().is_empty();
        whole.then(|| DestroyConsent { device: device.into(), identity: identity.trim().into() })
    }
}

/// A block device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    path: PathBuf,
    /// As `/sys/class/block` and `/proc/diskstats` have it.
    name: String,
    number: u64,
}

/// Refuses to measure the null device at `path` unless the user asked for it by name: it stores nothing, so that its rate is that of
/// plimsoll and of the system calls, and would be taken for that of a disk.
pub fn check_null_device(path: &Path, destroy: &[DestroyConsent]) -> Result<(), TargetError> {
    let is_null = fs::metadata(path).is_ok_and(|meta| meta.file_type().is_char_device() && meta.rdev() == NULL_DEVICE);
    if !is_null || destroy.iter().any(|consent| consent.device == path && consent.identity == NULL_IDENTITY) {
        return Ok(());
    }
    let path = shown(path);
    Err(TargetError::Unsafe(format!(
        "`{path}` is the null device: it stores nothing, so plimsoll and the system calls would be measured, and no disk; name a file \
         or a block device, or add `--destroy {path}={NULL_IDENTITY}` if that is what you want to measure"
    )))
}

/// A block device under measurement.
#[derive(Debug)]
pub struct RawDevice {
    device: BlockDevice,
    destroy: Vec<DestroyConsent>,
    /// Held while it may be written to, so that it cannot be mounted meanwhile.
    claim: Option<File>,
}

impl RawDevice {
    /// The device for trials that read it, and for those that write it as far as `destroy` allows.
    pub fn new(device: BlockDevice, destroy: &[DestroyConsent]) -> RawDevice {
        RawDevice { device, destroy: destroy.to_vec(), claim: None }
    }

    /// Refuses to write if the user did not consent or the device is in use. From then on no other process can use it.
    pub fn check_writes(&mut self, writes: bool) -> Result<(), TargetError> {
        if writes && self.claim.is_none() {
            self.device.check_destroy(&self.destroy, &[])?;
            self.claim = Some(self.device.open_exclusive()?);
        }
        Ok(())
    }
}

impl BlockDevice {
    /// The block device at `path`; `None` if something else is there, or nothing. A symlink is something else.
    pub fn at(path: &Path) -> Option<BlockDevice> {
        let meta = fs::symlink_metadata(path).ok().filter(|meta| meta.file_type().is_block_device())?;
        let name = device_name(meta.rdev())?;
        Some(BlockDevice { path: path.into(), name, number: meta.rdev() })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As `/proc/diskstats` names it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this is its number, as `MAJOR:MINOR`.
    pub fn has_number(&self, text: &str) -> bool {
        format!("{}:{}", libc::major(self.number), libc::minor(self.number)) == text
    }

    /// The disk with its settings.
    pub fn facts(&self) -> Vec<Fact> {
        let size = self.size().ok().map(|size| Fact::new("disk.bytes", size.0.to_string()));
        filesystem::facts_of_device(&self.name).into_iter().chain(size).collect()
    }

    /// Its size in bytes.
    pub fn size(&self) -> Result<Bytes, TargetError> {
        size_of(&self.open_checked(OFlags::RDONLY).trying("open", &self.path)?).trying("look at", &self.path)
    }

    /// What distinguishes it from other devices: the serial number or the WWID of its disk; of a loop device, which has none, the name of
    /// the file behind it; of others without either, their size in bytes.
    pub fn read_identity(&self) -> String {
        let disk = disk_of(&self.name);
        let files = ["device/serial", "serial", "device/wwid", "wwid"];
        let serial = files.into_iter().find_map(|file| text_of(Path::new(BLOCKS).join(&disk).join(file)));
        serial
            .or_else(|| Some(backing_file(&disk)?.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| format!("size:{}", self.size().map_or(0, |size| size.0)))
    }

    /// Whether a consent names this device, with the right identity or not.
    fn is_named_by(&self, consent: &DestroyConsent) -> bool {
        BlockDevice::at(&consent.device).is_some_and(|device| device.number == self.number)
    }

    /// Refuses to overwrite the device if it is in use, below `/` or one of `protected`, or if `destroy` does not name it.
    pub fn check_destroy(&self, destroy: &[DestroyConsent], protected: &[&Path]) -> Result<(), TargetError> {
        let protected = [Path::new("/")].into_iter().chain(protected.iter().copied());
        let below = protected.into_iter().find(|dir| devices_below(dir).contains(&self.name));
        if let Some(dir) = below {
            return Err(self.refuse_device(&format!("holds `{}`; name another device", shown(dir))));
        }
        if let Some(user) = self.find_user() {
            return Err(self.refuse_device(&format!("{user}; free it first, or name another device")));
        }
        let identity = self.read_identity();
        if destroy.iter().any(|consent| self.is_named_by(consent) && consent.identity == identity) {
            return Ok(());
        }
        let on_it = match destroy.iter().find(|consent| self.is_named_by(consent)) {
            Some(wrong) => {
                format!("{}; `{}` is not its serial", self.describe_content()?, shown(Path::new(&wrong.identity)))
            }
            None => self.describe_content()?,
        };
        // The flag to add names the node itself: a link may lead to another disk when it is used.
        let node = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let named = format!("{}={identity}", shown(&node));
        let quote = if named.contains([' ', '"', '$', '&', ';', '(', '*', '\\']) { "'" } else { "" };
        let flag = format!("--destroy {quote}{named}{quote}");
        let text = format!("{on_it}, and this point would overwrite it; if all of it may be destroyed, add `{flag}`");
        Err(self.refuse_device(&text))
    }

    /// Opened so that no other process can mount it or open it likewise.
    fn open_exclusive(&self) -> Result<File, TargetError> {
        // O_EXCL on a block device without O_CREAT: the kernel refuses it while the device is mounted or claimed (open(2)).
        self.open_checked(OFlags::RDWR | OFlags::EXCL).map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => self.refuse_device("is in use; free it first, or name another device"),
            _ => TargetError::io("open", &self.path, &error),
        })
    }

    /// What uses it or one of its partitions; `None` if nothing does.
    fn find_user(&self) -> Option<String> {
        let members = [vec![self.name.clone()], partitions_of(&self.name)].concat();
        let used = members.iter().find_map(|member| user_of(member));
        // Uses that the above does not show, such as a file system over several devices: the kernel has claimed it for them.
        used.or_else(|| {
            let error = self.open_checked(OFlags::RDONLY | OFlags::EXCL).err()?;
            (error.raw_os_error() == Some(libc::EBUSY)).then(|| "is opened exclusively by another process".to_owned())
        })
    }

    /// What is on it, in words.
    fn describe_content(&self) -> Result<String, TargetError> {
        let device = self.open_checked(OFlags::RDONLY).trying("open", &self.path)?;
        let size = size_of(&device).trying("look at", &self.path)?;
        let found = signature::find_signatures(&device, size.0).trying("read", &self.path)?;
        Ok(match found.as_slice() {
            [] => "holds no data that plimsoll recognises".to_owned(),
            found => format!("holds {}", found.join(", ")),
        })
    }

    fn open_checked(&self, flags: OFlags) -> std::io::Result<File> {
        let file = File::from(open(&self.path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?);
        // Between the look and the opening another node may have been put in its place.
        if file.metadata()?.rdev() == self.number {
            Ok(file)
        } else {
            Err(std::io::Error::other("it is now another device"))
        }
    }

    fn refuse_device(&self, why: &str) -> TargetError {
        let model = text_of(Path::new(BLOCKS).join(disk_of(&self.name)).join("device/model"));
        let size = self.size().ok().map(|size| size.to_string());
        let described = model.into_iter().chain(size).collect::<Vec<_>>().join(", ");
        let described = if described.is_empty() { described } else { format!(" ({described})") };
        TargetError::Unsafe(format!("`{}`{described} {why}", shown(&self.path)))
    }
}

/// The size of an open file or block device.
pub fn size_of(mut file: &File) -> std::io::Result<Bytes> {
    file.seek(SeekFrom::End(0)).map(Bytes)
}

/// Who uses the device or partition of that name.
fn user_of(name: &str) -> Option<String> {
    let number = fs::metadata(Path::new("/dev").join(name)).ok().map(|meta| meta.rdev());
    let mounts = filesystem::read_mounts().unwrap_or_default();
    if let Some(mount) = mounts.iter().find(|mount| Some(mount.device) == number || is_device(&mount.source, number)) {
        return Some(format!("is mounted: `/dev/{name}` on `{}`", shown(&mount.mount_point)));
    }
    let swaps = text_of("/proc/swaps").unwrap_or_default();
    if swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(|path| is_device(path, number)) {
        return Some(format!("is used for swap: `/dev/{name}`"));
    }
    let holder = names_in(&Path::new(BLOCKS).join(name).join("holders")).into_iter().next()?;
    Some(format!("is part of another device: `/dev/{name}` of `{holder}`"))
}

/// Whether the node at `path` is that of the block device with this number.
fn is_device(path: &str, number: Option<u64>) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device() && Some(meta.rdev()) == number)
}

/// The block devices that the data of `dir` goes through: down to the disks, through partitions, mapped devices and images.
fn devices_below(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut below: Vec<String> = find_mount(dir).ok().and_then(|place| place.device).into_iter().collect();
    while let Some(name) = below.pop() {
        if found.insert(name.clone()) {
            below.push(disk_of(&name));
            below.extend(names_in(&Path::new(BLOCKS).join(&name).join("slaves")));
            let image = backing_file(&name).and_then(|image| find_mount(image.parent()?).ok());
            below.extend(image.and_then(|place| place.device));
        }
    }
    found
}

/// The disks in whose queues the requests to the data in `place` wait: a device, or a file or directory. A partition is on a disk, and
/// a mapped device on several; what a mapped device does before is no queue with a scheduler. None if it is on no device that can be seen.
pub fn queues_below(place: &Path) -> Vec<String> {
    let own = BlockDevice::at(place).map(|device| device.name);
    let (mut seen, mut disks) = (BTreeSet::new(), BTreeSet::new());
    let mut below: Vec<String> = own.or_else(|| find_mount(place).ok()?.device).into_iter().collect();
    while let Some(name) = below.pop().map(|name| disk_of(&name)) {
        let members = names_in(&Path::new(BLOCKS).join(&name).join("slaves"));
        if members.is_empty() {
            disks.insert(name.clone());
        }
        if seen.insert(name) {
            below.extend(members);
        }
    }
    disks.into_iter().collect()
}

/// The file behind the loop device of that name.
fn backing_file(name: &str) -> Option<PathBuf> {
    text_of(Path::new(BLOCKS).join(name).join("loop/backing_file")).map(PathBuf::from)
}

/// The disk that a partition is of; a device that is none is its own.
fn disk_of(name: &str) -> String {
    let disk = disk_entry(&Path::new(BLOCKS).join(name));
    let disk = disk.as_deref().and_then(Path::file_name);
    disk.map_or_else(|| name.to_owned(), |disk| disk.to_string_lossy().into_owned())
}

/// The directory of the disk that a device is or is on, whose entry in `/sys/class/block` is `entry`; `None` if there is no such device.
pub(crate) fn disk_entry(entry: &Path) -> Option<PathBuf> {
    let own = entry.canonicalize().ok()?;
    // A partition has no queue of its own: its directory is inside that of its disk, which has one.
    if own.join("partition").exists() { own.parent().map(Path::to_owned) } else { Some(own) }
}

fn partitions_of(name: &str) -> Vec<String> {
    let own = Path::new(BLOCKS).join(name);
    names_in(&own).into_iter().filter(|entry| own.join(entry).join("partition").exists()).collect()
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_names_a_device_and_its_identity() {
        let consent = DestroyConsent::parse("/dev/sdb=WD-123=4").unwrap();
        assert_eq!((consent.device.to_str(), consent.identity.as_str()), (Some("/dev/sdb"), "WD-123=4"));
        assert!(
            ["/dev/sdb", "/dev/sdb=", "sdb=WD", "=WD", ""].iter().all(|text| DestroyConsent::parse(text).is_none())
        );
    }

    #[test]
    fn the_disk_below_the_root_is_never_destroyed() {
        let below = devices_below(Path::new("/"));
        let nodes = below.iter().filter_map(|name| BlockDevice::at(&Path::new("/dev").join(name)));
        for device in nodes {
            let consent = DestroyConsent { device: device.path.clone(), identity: device.read_identity() };
            let error = device.check_destroy(&[consent], &[]).unwrap_err();
            assert!(matches!(error, TargetError::Unsafe(_)), "{error}");
            assert!(error.to_string().contains("holds `/`"), "{error}");
        }
        // In a container the root is on no device that can be seen.
        assert!(below.len() <= 16, "{below:?}");
    }

    #[test]
    fn files_links_and_other_devices_are_no_block_devices() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        let any = fs::read_dir("/dev")
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .find(|path| BlockDevice::at(path).is_some());
        std::os::unix::fs::symlink(any.unwrap_or("/dev/null".into()), &link).unwrap();
        for path in [dir.path(), &link, Path::new("/dev/null"), Path::new("/dev/no such device")] {
            assert_eq!(BlockDevice::at(path), None, "{}", path.display());
        }
    }
}
