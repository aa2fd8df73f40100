//! Loop devices: a file seen as a block device.
//!
//! In: an open image. Out: a device that reads and writes it, past the page cache if the file system below can. Limits:
//! Linux 5.8 and newer (LOOP_CONFIGURE); the numbers are those of `linux/loop.h`. A device is ours if the kernel reports that
//! its backing file is our image, by device and inode; names prove nothing.
//!
//! A device is set to clear itself when its last user is gone. So one that is attached and not yet mounted goes with the process,
//! however that ends, and one that is mounted goes with its mount.

use crate::error::{IoContext, TargetError};
use crate::privileged::cgroup::clear_rules_of;
use crate::text_file::text_of;
use rustix::fs::{Mode, OFlags, makedev, open};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const CONTROL: &str = "/dev/loop-control";
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Which file a device reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackingFile {
    device: u64,
    inode: u64,
}

impl BackingFile {
    /// The file that `metadata` is of.
    pub fn from_metadata(metadata: &Metadata) -> BackingFile {
        BackingFile { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A loop device, attached while this lives or it is mounted.
pub struct LoopDevice {
    number: u32,
    _open: File,
}

impl LoopDevice {
    /// Attaches a free device to `image`, with that size of a logical block; `direct` asks for I/O past the page cache.
    pub fn attach(image: &File, block_bytes: u32, direct: bool) -> Result<LoopDevice, TargetError> {
        const TRIES: u32 = 20;
        let control = File::options().read(true).write(true).open(CONTROL).map_err(|error| {
            let text = format!(
                "cannot open `{CONTROL}`: {}; `fs` needs loop devices: run `modprobe loop`, or allow them in \
                 this container",
                crate::error::system_words(&error)
            );
            TargetError::Unsupported(text)
        })?;
        for _ in 0..TRIES {
            // SAFETY: the request takes no argument and returns a number.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            let number =
                u32::try_from(number).map_err(|_| io::Error::last_os_error()).trying("get a device of", CONTROL)?;
            let path = device_path(number);
            let device = File::from(open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).trying("open", &path)?);
            match configure_device(&device, image.as_raw_fd(), block_bytes, direct) {
                // Others ask for free devices, too, and one of them was quicker.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => continue,
                done => done.trying("attach", &path)?,
            }
            // Rules of version 1 stay with a device number after the device is gone, so an earlier volume may have left some.
            clear_limits(number);
            return Ok(LoopDevice { number, _open: device });
        }
        Err(TargetError::Failed(format!("cannot attach a loop device: other processes took each of {TRIES} free ones")))
    }

    /// Its node in `/dev`.
    pub fn path(&self) -> PathBuf {
        device_path(self.number)
    }

    /// Its name in `/proc/diskstats`.
    pub fn name(&self) -> String {
        device_name(self.number)
    }

    /// Whether it reads and writes past the page cache: the kernel may not do what it was asked for.
    pub fn is_direct(&self) -> bool {
        text_of(Path::new("/sys/block").join(self.name()).join("loop/dio")).as_deref() == Some("1")
    }
}

/// Removes the limits of device `number`, also those of an earlier device with that number.
pub fn clear_limits(number: u32) {
    text_of(Path::new("/sys/block").join(device_name(number)).join("dev"))
        .iter()
        .for_each(|device| clear_rules_of(device));
}

/// The nodes of the devices whose backing file is `image`.
pub fn device_paths_of(image: BackingFile) -> Vec<PathBuf> {
    attached_to(image).into_iter().map(device_path).collect()
}

/// The devices whose backing file is `image`.
pub fn attached_to(image: BackingFile) -> Vec<u32> {
    let blocks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = blocks.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let numbers = names.filter_map(|name| name.strip_prefix("loop")?.parse().ok());
    numbers.filter(|number| backing_file(*number) == Some(image)).collect()
}

/// Whether the block device of that name is a loop device on `image`.
pub fn is_backed_by(device: &str, image: BackingFile) -> bool {
    let number = device.strip_prefix("loop").and_then(|number| number.parse().ok());
    number.is_some_and(|number| backing_file(number) == Some(image))
}

/// Detaches device `number` from `image`, if it is still on it.
pub fn detach_device(number: u32, image: BackingFile) -> Result<(), TargetError> {
    let path = device_path(number);
    let device = File::from(open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).trying("open", &path)?);
    if read_status(&device).is_none_or(|info| backing_of(&info) != image) {
        return Ok(());
    }
    // SAFETY: the request takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ENXIO) => Ok(()),
            error => Err(error).trying("detach", &path),
        },
    }
}

/// What device `number` is on. Only devices that sysfs shows as attached are opened.
fn backing_file(number: u32) -> Option<BackingFile> {
    Path::new("/sys/block").join(device_name(number)).join("loop").exists().then_some(())?;
    let device = File::from(open(device_path(number), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?);
    read_status(&device).map(|info| backing_of(&info))
}

fn backing_of(info: &LoopInfo) -> BackingFile {
    // The kernel gives a device number in its own encoding; rustix has that of the C library.
    let (major, minor) = ((info.device >> 8) & 0xfff, (info.device & 0xff) | ((info.device >> 12) & 0xfff00));
    BackingFile { device: makedev(major as u32, minor as u32), inode: info.inode }
}

fn read_status(device: &File) -> Option<LoopInfo> {
    let mut info = empty_info();
    // SAFETY: the request fills the struct that the pointer leads to, which is of the kernel's layout.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    (done == 0).then_some(info)
}

fn configure_device(device: &File, image: RawFd, block_bytes: u32, direct: bool) -> io::Result<()> {
    let direct = if direct { LO_FLAGS_DIRECT_IO } else { 0 };
    let info = LoopInfo { flags: LO_FLAGS_AUTOCLEAR | direct, ..empty_info() };
    let config = LoopConfig { fd: image as u32, block_bytes, info, reserved: [0; 8] };
    // SAFETY: the request reads the struct that the pointer leads to, which is of the kernel's layout.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn empty_info() -> LoopInfo {
    LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        sizelimit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    }
}

fn device_name(number: u32) -> String {
    format!("loop{number}")
}

fn device_path(number: u32) -> PathBuf {
    Path::new("/dev").join(device_name(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<LoopInfo>(), size_of::<LoopConfig>()), (232, 304));
    }
}
