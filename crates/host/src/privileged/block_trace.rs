//! Recording block requests by the kernel's tracefs, in an instance of plimsoll's own.
//!
//! In: which device, or which process. Out: the text of the trace, while it comes. Limits: root. Nothing of other tracers is touched: an
//! instance has its own buffers, events, filters and clock, and is removed at the end. If tracefs is not mounted, it is mounted
//! where only this process sees it. An instance is locked while its process lives, so the next start knows what a killed one left.

use crate::error::{TargetError, shown};
use crate::lock::{lock_new_directory, lock_own_directory};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Where tracefs is usually mounted.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// What the name of every instance begins with; the number of its process and a count follow.
const PREFIX: &str = "plimsoll-";
/// Of each CPU: enough for tens of thousands of requests between two looks.
const BUFFER_KIB: u32 = 8192;

/// Which requests a trace records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracedRequests {
    /// The requests that a disk gets, or a partition of it.
    Device(TracedDevice),
    /// What the threads of a process ask for, also those that it will start.
    Process(u32),
}

/// A disk, or a partition of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedDevice {
    /// The number of the disk.
    number: (u32, u32),
    /// The sectors of the partition.
    sectors: Option<(u64, u64)>,
}

impl TracedDevice {
    /// Whether the kernel still knows the disk.
    pub fn is_there(&self) -> bool {
        let (major, minor) = self.number;
        Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
    }

    /// The block device at `path`.
    ///
    /// # Errors
    /// If there is none.
    pub fn at(path: &Path) -> Result<TracedDevice, TargetError> {
        use std::os::unix::fs::FileTypeExt;
        let meta = fs::metadata(path).map_err(|error| TargetError::io("look at", path, &error))?;
        if !meta.file_type().is_block_device() {
            return Err(TargetError::Unsupported(format!(
                "`{}` is no block device; name one such as `/dev/sdb`",
                shown(path)
            )));
        }
        let own = (libc::major(meta.rdev()), libc::minor(meta.rdev()));
        let entry = entry_of(own);
        let number_in = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
        let is_partition = entry.join("partition").exists();
        let (Some(start), Some(size), true) =
            (number_in(entry.join("start")), number_in(entry.join("size")), is_partition)
        else {
            return Ok(TracedDevice { number: own, sectors: None });
        };
        match disk_of(own) {
            Some(number) => Ok(TracedDevice { number, sectors: Some((start, start + size)) }),
            None => Err(TargetError::Unsupported(format!("the disk of the partition `{}` is not known", shown(path)))),
        }
    }

    /// The filter of the events. A flush has no sectors, and is of the whole disk.
    fn filter(&self) -> String {
        // The kernel's own form of a number of a device (MKDEV, include/linux/kdev_t.h).
        let device = (u64::from(self.number.0) << 20) | u64::from(self.number.1);
        match self.sectors {
            None => format!("dev == {device}"),
            Some((start, end)) => {
                format!("dev == {device} && ((sector >= {start} && sector < {end}) || nr_sector == 0)")
            }
        }
    }
}

/// What the kernel shows of the device with that number.
fn entry_of((major, minor): (u32, u32)) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

/// The number of the disk that the partition with that number is on; `None` for a disk.
fn disk_of(partition: (u32, u32)) -> Option<(u32, u32)> {
    let entry = fs::canonicalize(entry_of(partition)).ok()?;
    parse_number(fs::read_to_string(entry.parent()?.join("dev")).ok()?.trim())
}

fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A trace that is being recorded. Dropped, it is over and removed.
#[derive(Debug)]
pub struct BlockTrace {
    instance: PathBuf,
    pipe: File,
    /// Shows others that this process lives.
    _locked: File,
    /// Tracefs itself, if it was mounted for this alone.
    _mount: Option<OwnedFd>,
}

impl BlockTrace {
    /// Begins to record.
    ///
    /// # Errors
    /// If the kernel or the rights do not allow it, in one line.
    pub fn start(requests: &TracedRequests) -> Result<BlockTrace, TargetError> {
        let (tracefs, mount) = find_tracefs()?;
        let (instance, locked) = make_instance(&tracefs.join("instances"))?;
        // From here on it is removed, whatever happens.
        let guard = InstanceGuard(instance.clone());
        let pipe = set_up(&instance, requests)?;
        std::mem::forget(guard);
        Ok(BlockTrace { instance, pipe, _locked: locked, _mount: mount })
    }

    /// Takes what was recorded since the last call into `into`, after waiting for it up to `patience`. Returns how many bytes that were.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn take(&mut self, patience: Duration, into: &mut impl Write) -> Result<u64, TargetError> {
        let wait = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
        // Also after a signal, and if the kernel's wait ends early, what is there is taken.
        let _ = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&wait));
        let mut taken = 0;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(taken),
                Ok(bytes) => {
                    into.write_all(&buffer[..bytes]).map_err(|error| {
                        TargetError::Failed(format!(
                            "cannot write the recording: {}",
                            crate::error::system_words(&error)
                        ))
                    })?;
                    taken += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(taken),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot(&error)),
            }
        }
    }

    /// Ends the recording: no more events come, and those that are there can still be taken.
    pub fn end(&mut self) {
        let _ = fs::write(self.instance.join("tracing_on"), "0");
        let _ = fs::write(self.instance.join("events/enable"), "0");
    }

    /// The directory of the instance, as this process sees it.
    pub fn instance(&self) -> &Path {
        &self.instance
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        self.end();
        // The kernel refuses to remove an instance whose pipe is open.
        if let Ok(nothing) = File::open("/dev/null") {
            drop(std::mem::replace(&mut self.pipe, nothing));
        }
        remove_instance(&self.instance);
    }
}

/// Removes an instance that was not set up.
struct InstanceGuard(PathBuf);

impl Drop for InstanceGuard {
    fn drop(&mut self) {
        remove_instance(&self.0);
    }
}

/// Makes an instance with a name of its own and locks it.
fn make_instance(instances: &Path) -> Result<(PathBuf, File), TargetError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        let path = instances.join(format!("{PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)));
        match fs::create_dir(&path) {
            // Of a process with the same number in another container.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made.map_err(|error| cannot(&error))?,
        }
        if let Some(locked) = lock_new_directory(&path) {
            return Ok((path, locked));
        }
    }
    Err(TargetError::Failed(
        "cannot record block requests: another process keeps removing the instance of tracefs".into(),
    ))
}

fn remove_instance(instance: &Path) {
    let _ = fs::write(instance.join("events/enable"), "0");
    // What is in it is the kernel's, and goes with it.
    let _ = fs::remove_dir(instance);
}

fn set_up(instance: &Path, requests: &TracedRequests) -> Result<File, TargetError> {
    let write = |file: &str, text: &str| fs::write(instance.join(file), text).map_err(|error| cannot(&error));
    write("trace_clock", "mono")?;
    write("buffer_size_kb", &BUFFER_KIB.to_string())?;
    let events: &[&str] = match requests {
        TracedRequests::Device(device) => {
            for event in ["block_rq_issue", "block_rq_complete"] {
                write(&format!("events/block/{event}/filter"), &device.filter())?;
            }
            &["block_rq_issue", "block_rq_complete"]
        }
        TracedRequests::Process(pid) => {
            write("options/event-fork", "1")?;
            write("set_event_pid", &threads_of(*pid)?)?;
            // The driver gets some requests from a thread of the kernel: what the process asked for is known only when it asks.
            &["block_bio_queue"]
        }
    };
    let pipe = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(instance.join("trace_pipe"));
    let pipe = pipe.map_err(|error| cannot(&error))?;
    for event in events {
        write(&format!("events/block/{event}/enable"), "1")?;
    }
    Ok(pipe)
}

/// The numbers of the threads of a process, with spaces between them.
fn threads_of(pid: u32) -> Result<String, TargetError> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| {
        TargetError::Unsupported(format!("there is no process {pid}; `pidof mariadbd` shows the number of a server"))
    })?;
    let threads: Vec<String> = tasks.flatten().map(|task| task.file_name().to_string_lossy().into_owned()).collect();
    Ok(threads.join(" "))
}

/// The directory of tracefs. If it is not mounted, it is mounted for this process only.
fn find_tracefs() -> Result<(PathBuf, Option<OwnedFd>), TargetError> {
    if let Some(mounted) = MOUNTED.into_iter().map(Path::new).find(|dir| dir.join("instances").is_dir()) {
        return Ok((mounted.into(), None));
    }
    let mount = mount_detached().map_err(|errno| cannot(&errno.into()))?;
    let dir = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
    if !dir.join("instances").is_dir() {
        return Err(TargetError::Unsupported(
            "cannot record block requests: this kernel's tracefs has no instances".into(),
        ));
    }
    Ok((dir, Some(mount)))
}

/// A mount that is in no directory: it ends with its descriptor.
fn mount_detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

fn cannot(error: &std::io::Error) -> TargetError {
    let why = crate::error::system_words(error);
    let advice = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; it needs root and a kernel that is not locked down",
        Some(libc::ENODEV | libc::ENOENT) => "; the kernel needs tracefs with the events of block devices",
        _ => "",
    };
    TargetError::Unsupported(format!("cannot record block requests by tracefs: {why}{advice}"))
}

/// Removes the instances whose plimsoll is gone, with a line on each.
pub fn sweep_abandoned() -> Vec<String> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    find_tracefs().map(|(tracefs, _mount)| sweep_in(&tracefs.join("instances"))).unwrap_or_default()
}

fn sweep_in(instances: &Path) -> Vec<String> {
    let entries = fs::read_dir(instances).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_own_name(name)).filter_map(|name| sweep_instance(instances, &name)).collect()
}

/// Removes the instance if its plimsoll is gone; `None` if it is in use. With it the kernel ends its events, and it refuses if a process
/// reads them.
fn sweep_instance(instances: &Path, name: &str) -> Option<String> {
    let instance = instances.join(name);
    let _held = lock_own_directory(&instance)?;
    fs::remove_dir(&instance).ok()?;
    Some(format!("removed the trace instance `{name}`, left by a recording that was killed"))
}

/// `plimsoll-PID-COUNT`.
fn is_own_name(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(pid, count)| pid.parse::<u32>().is_ok() && count.parse::<u32>().is_ok())
}

/// Whether `file` is on the disk or partition that is traced, as far as that can be seen.
pub fn is_on(file: &Path, device: &TracedDevice) -> bool {
    let Ok(meta) = fs::metadata(file) else { return false };
    let own = (libc::major(meta.dev()), libc::minor(meta.dev()));
    own == device.number || disk_of(own) == Some(device.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_has_the_number_of_the_kernel_and_the_sectors_of_a_partition() {
        let disk = TracedDevice { number: (254, 0), sectors: None };
        assert_eq!(disk.filter(), "dev == 266338304");
        let partition = TracedDevice { number: (8, 16), sectors: Some((2048, 4096)) };
        let expected = "dev == 8388624 && ((sector >= 2048 && sector < 4096) || nr_sector == 0)";
        assert_eq!(partition.filter(), expected);
    }

    #[test]
    fn what_is_no_block_device_or_no_process_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = TracedDevice::at(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is no block device"), "{error}");
        let error = threads_of(u32::MAX).unwrap_err().to_string();
        assert!(error.starts_with("there is no process 4294967295"), "{error}");
        assert!(threads_of(std::process::id()).unwrap().contains(&std::process::id().to_string()));
    }

    /// As root with tracefs: the instance is there while it records, has the events of this process, and is gone afterwards.
    #[test]
    fn a_trace_has_what_a_process_writes_and_leaves_nothing() {
        let mut trace = match BlockTrace::start(&TracedRequests::Process(std::process::id())) {
            Ok(trace) => trace,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let instance = trace.instance().to_owned();
        let name = instance.file_name().unwrap().to_str().unwrap();
        assert!(instance.is_dir() && name.starts_with(&format!("{PREFIX}{}-", std::process::id())), "{name}");
        assert_eq!(fs::read_to_string(instance.join("events/block/block_bio_queue/enable")).unwrap().trim(), "1");
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[7; 1 << 16]).unwrap();
        file.as_file().sync_all().unwrap();
        let mut text = Vec::new();
        trace.end();
        trace.take(Duration::ZERO, &mut text).unwrap();
        let above = trace.instance().parent().unwrap().to_owned();
        // On a file system in memory nothing is written to a device.
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(text.lines().all(|line| line.starts_with('#') || line.contains("block_bio_queue: ")), "{text}");
        drop(trace);
        assert!(!above.exists() || !instance.exists());
    }

    /// What a plimsoll in another container sees: an instance whose number leads to no process of its own, or to one of another program.
    #[test]
    fn an_instance_is_swept_when_its_process_is_gone_whatever_its_number_is() {
        let Ok((tracefs, _mount)) = find_tracefs() else { return eprintln!("skipped: needs root and tracefs") };
        let instances = tracefs.join("instances");
        let made = |pid: u32| {
            let instance = instances.join(format!("{PREFIX}{pid}-999999"));
            fs::create_dir(&instance).unwrap();
            instance
        };
        let (alive, locked) = loop {
            let alive = made(4_194_305); // more than Linux has numbers of processes
            // In the moment before it is locked another plimsoll may sweep it.
            if let Some(locked) = lock_new_directory(&alive) {
                break (alive, locked);
            }
        };
        let pipe = File::open(alive.join("trace_pipe")).unwrap();
        let event = alive.join("events/block/block_bio_queue/enable");
        fs::write(&event, "1").unwrap();
        let gone = made(std::process::id());
        // Another plimsoll may be sweeping it in this moment.
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while gone.exists() && std::time::Instant::now() < until {
            sweep_in(&instances);
        }
        let is_on = fs::read_to_string(event).map(|text| text.trim() == "1");
        let there = [alive.exists(), gone.exists()];
        drop((pipe, locked));
        remove_instance(&alive);
        assert_eq!((there, is_on.ok()), ([true, false], Some(true)), "and the events of the living one go on");
        assert_eq!(["plimsoll-notes", "plimsoll-7", "plimsoll-7-0"].map(is_own_name), [false, false, true]);
    }
}
