//! One at a time: the locks by which plimsolls keep out of each other's way.
//!
//! In: a directory, a device, a run file or the name of a server. Out: its lock (flock), or who has it. Limits: the kernel releases a lock when
//! its process ends in any way, and a lock counts in all containers of a machine, but not on other machines. The number of a process does not:
//! another container may have the same, or see none, so that who has a lock is told only where it can be seen. What cannot be opened for
//! reading has no lock.
//!
//! A lock is of the directory or file itself, which stays: there is no further file that could be left behind, or be removed by another. A server
//! by URL has no file here: its lock is of an empty one in the directory of temporary files, which goes with the lock. It is for the time between
//! the points of a run, when the lock that plimsoll has on the server itself is free. A kill leaves the file, and the next plimsoll on that server
//! removes it.

use crate::error::{TargetError, shown};
use procfs::{Current, FromRead};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor, open};
use rustix::io::Errno;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a lock that is awaited is tried.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// udev holds the lock of a device for a moment while it looks at what was written (<https://systemd.io/BLOCK_DEVICE_LOCKING/>).
const DEVICE_PROBED_WITHIN: Duration = Duration::from_secs(2);
/// A plimsoll that was told to go on with the newest run may look at one that is just being made. It finds nothing in it, and goes.
const NEW_RUN_LOOKED_AT_WITHIN: Duration = Duration::from_secs(10);
/// More than the processes around any process.
const ANCESTORS_MAX: usize = 64;

/// What to do about a lock that another process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfHeld {
    /// Refuse, with who has it.
    #[default]
    Refuse,
    /// Wait until it is free. Only a signal ends that.
    Wait,
    /// Share a directory or a server with the other agents of a run, which may be on one machine; and refuse what another one has alone.
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockedThing {
    /// A directory that is measured.
    Directory,
    /// A block device that is measured.
    Device,
    /// A run file that is to be recorded further.
    RunFile,
    /// A run file that was made a moment ago.
    NewRunFile,
    /// A server that is loaded by its URL: see [`lock_server`].
    Server,
}

/// A lock of this process, until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is free again when this is dropped"]
pub struct HeldLock {
    /// `None` if what is to be locked has no lock, or has that of a process around this one.
    file: Option<File>,
    /// The file, if it is there for the lock alone.
    made: Option<PathBuf>,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let (Some(file), Some(made)) = (&self.file, &self.made) else { return };
        // Others may share it, and it stays for those. Who waits for it finds that its name leads elsewhere.
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(made);
        }
    }
}

impl LockedThing {
    /// How it is opened: a FIFO in its place would block otherwise.
    fn flags(self) -> OFlags {
        let kind = match self {
            LockedThing::Directory => OFlags::DIRECTORY,
            LockedThing::Device | LockedThing::RunFile | LockedThing::NewRunFile => OFlags::NONBLOCK,
            // In a directory of all users a link may lead anywhere.
            LockedThing::Server => OFlags::NONBLOCK | OFlags::NOFOLLOW,
        };
        OFlags::RDONLY | OFlags::CLOEXEC | kind
    }

    /// For how long the lock is tried, whoever has it.
    fn patience(self) -> Duration {
        match self {
            LockedThing::Directory | LockedThing::RunFile | LockedThing::Server => Duration::ZERO,
            LockedThing::Device => DEVICE_PROBED_WITHIN,
            LockedThing::NewRunFile => NEW_RUN_LOOKED_AT_WITHIN,
        }
    }

    /// What is said if `holder` has the lock of the one called `name`.
    fn in_use(self, name: &str, holder: &str) -> String {
        match self {
            LockedThing::Directory => format!("another plimsoll run is using this directory (`{name}`): {holder}"),
            LockedThing::Device => format!("another program is using the device `{name}`: {holder}"),
            LockedThing::RunFile | LockedThing::NewRunFile => {
                format!("`{name}` is in use: it is being recorded by {holder}")
            }
            LockedThing::Server => format!("`{name}` is being measured by another plimsoll run: {holder}"),
        }
    }
}

/// Locks `path`. If another process has the lock, that is refused; or it is awaited, and `tell` is told for whom.
///
/// # Errors
/// If another process has the lock and `if_held` is to refuse that.
pub fn lock(
    path: &Path,
    thing: LockedThing,
    if_held: IfHeld,
    tell: &mut dyn FnMut(&str),
) -> Result<HeldLock, TargetError> {
    lock_as(&shown(path), path, thing, if_held, tell)
}

/// Locks the server called `name` for a whole run that loads it by its URL. The plimsolls of one machine keep out of each other's way by it, from
/// whatever directory they start.
///
/// # Errors
/// As of [`lock`].
pub fn lock_server(name: &str, if_held: IfHeld, tell: &mut dyn FnMut(&str)) -> Result<HeldLock, TargetError> {
    lock_as(&shown(Path::new(name)), &server_lock_file(name), LockedThing::Server, if_held, tell)
}

/// The file whose lock is that of the server called `name`.
fn server_lock_file(name: &str) -> PathBuf {
    const CHARS_MAX: usize = 200;
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(CHARS_MAX).collect();
    std::env::temp_dir().join(format!("plimsoll-server-{name}.lock"))
}

fn lock_as(
    name: &str,
    path: &Path,
    thing: LockedThing,
    if_held: IfHeld,
    tell: &mut dyn FnMut(&str),
) -> Result<HeldLock, TargetError> {
    let until = Instant::now() + thing.patience();
    let mut told = false;
    let operation = match (thing, if_held) {
        (LockedThing::Directory | LockedThing::Server, IfHeld::Share) => FlockOperation::NonBlockingLockShared,
        _ => FlockOperation::NonBlockingLockExclusive,
    };
    // The file stays open while it is awaited: to close one would release the locks of a database that this process has open in it.
    let mut opened = try_to_open(path, thing);
    while let Some(file) = opened {
        match flock(&file, operation) {
            Ok(()) if leads_to(path, &file) => {
                let made = (thing == LockedThing::Server).then(|| path.to_owned());
                return Ok(HeldLock { file: Some(file), made });
            }
            Ok(()) => opened = try_to_open(path, thing), // it was replaced meanwhile
            Err(Errno::WOULDBLOCK) => {
                let holder = LockHolder::of(&file);
                if holder.as_ref().is_some_and(LockHolder::is_around) {
                    break;
                }
                let text = thing.in_use(name, &holder.map_or_else(unseen_holder, |holder| holder.to_string()));
                match if_held {
                    IfHeld::Refuse | IfHeld::Share if Instant::now() >= until => {
                        let or = if if_held == IfHeld::Refuse { ", or use `--wait`" } else { "" };
                        return Err(TargetError::Unsafe(format!("{text}; wait until it has finished{or}")));
                    }
                    IfHeld::Wait if !told => {
                        tell(&format!("{text}; waiting until it has finished"));
                        told = true;
                    }
                    _ => {}
                }
                std::thread::sleep(LOOK_EVERY);
                opened = Some(file);
            }
            // A file system without locks.
            Err(_) => break,
        }
    }
    Ok(HeldLock { file: None, made: None })
}

/// `None` if it cannot be read, or is not there. Whoever looks at it next says so. The file of a server is made.
fn try_to_open(path: &Path, thing: LockedThing) -> Option<File> {
    let open_with = |more: OFlags| open(path, thing.flags() | more, Mode::from_raw_mode(0o644));
    let opened = match open_with(OFlags::empty()) {
        // Not both at once: in a directory of all users the kernel refuses to make what another user has made (fs.protected_regular).
        Err(Errno::NOENT) if thing == LockedThing::Server => {
            open_with(OFlags::CREATE | OFlags::EXCL).or_else(|_| open_with(OFlags::empty()))
        }
        opened => opened,
    };
    opened.ok().map(File::from)
}

/// Whether the name still leads to the file that was opened.
fn leads_to(path: &Path, file: &File) -> bool {
    is_of(fs::metadata(path), file)
}

/// Whether what was `named` is the file that was opened.
fn is_of(named: std::io::Result<fs::Metadata>, file: &File) -> bool {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    named.is_ok_and(|named| file.metadata().is_ok_and(|own| id(own) == id(named)))
}

fn unseen_holder() -> String {
    "a process that cannot be seen from here, as of another container".to_owned()
}

/// The process that has a lock.
#[derive(Debug, PartialEq, Eq)]
struct LockHolder {
    process: i32,
    name: String,
    /// For how long it has been running.
    age: Option<Duration>,
    /// The directory in which it was started: it tells which run it is.
    directory: Option<PathBuf>,
}

impl LockHolder {
    /// Who has the lock of `file`, if the kernel shows it here.
    fn of(file: &File) -> Option<LockHolder> {
        let meta = file.metadata().ok()?;
        let locks = procfs::Locks::current().ok()?.0;
        let of_file = |lock: &&procfs::Lock| lock.lock_type == procfs::LockType::FLock && lock.inode == meta.ino();
        let device = (major(meta.dev()), minor(meta.dev()));
        let on_device = |lock: &&procfs::Lock| (lock.devmaj, lock.devmin) == device;
        // btrfs and overlayfs show files and locks with different devices.
        let found = locks.iter().filter(of_file).find(on_device).or_else(|| locks.iter().find(of_file));
        found.and_then(|lock| lock.pid).filter(|pid| *pid > 0).map(LockHolder::process)
    }

    fn process(process: i32) -> LockHolder {
        let stat = stat_of(process);
        let name = stat.as_ref().map_or_else(String::new, |stat| stat.comm.clone());
        let directory = fs::read_link(format!("/proc/{process}/cwd")).ok();
        LockHolder { process, name, age: stat.and_then(|stat| age_of(&stat)), directory }
    }

    /// Whether it is a process that has started this one, such as flock(1): then the lock keeps others out for this one.
    fn is_around(&self) -> bool {
        let parent = |process: &i32| stat_of(*process).map(|stat| stat.ppid).filter(|parent| *parent > 0);
        let own = i32::try_from(std::process::id()).ok().and_then(|own| parent(&own));
        std::iter::successors(own, parent).take(ANCESTORS_MAX).any(|ancestor| ancestor == self.process)
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: String = self.name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        write!(f, "process {} (`{name}`)", self.process)?;
        let Some(age) = self.age else { return Ok(()) };
        write!(f, ", which was started {} s ago", age.as_secs())?;
        self.directory.as_ref().map_or(Ok(()), |directory| write!(f, " in `{}`", shown(directory)))
    }
}

fn stat_of(process: i32) -> Option<procfs::process::Stat> {
    procfs::process::Stat::from_file(PathBuf::from(format!("/proc/{process}/stat"))).ok()
}

fn age_of(stat: &procfs::process::Stat) -> Option<Duration> {
    let up = procfs::Uptime::current().ok()?.uptime_duration();
    let ticks = procfs::ticks_per_second().max(1);
    let started = Duration::from_millis(stat.starttime.saturating_mul(1000) / ticks);
    up.checked_sub(started)
}

/// The lock of `dir`, which plimsoll has made, until the file is closed; `None` if it is in use, or no directory.
pub(crate) fn lock_own_directory(dir: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open(dir, flags, Mode::empty()).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// The lock of a directory that this process made a moment ago; `None` if another plimsoll was quicker. It may have removed the directory
/// before this lock: then the name leads to another inode, or to none.
pub(crate) fn lock_new_directory(dir: &Path) -> Option<File> {
    let locked = lock_own_directory(dir)?;
    is_of(fs::symlink_metadata(dir), &locked).then_some(locked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path, thing: LockedThing) -> String {
        lock(path, thing, IfHeld::Refuse, &mut |_| {}).expect_err("it is locked").to_string()
    }

    fn locked(path: &Path, thing: LockedThing) -> HeldLock {
        lock(path, thing, IfHeld::Refuse, &mut |text| panic!("{text}")).expect("it is free")
    }

    #[test]
    fn a_directory_or_run_file_is_locked_once_and_who_has_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        fs::write(&run, b"x").unwrap();
        let own = format!("process {} (`", std::process::id());
        for (path, thing) in [(dir.path(), LockedThing::Directory), (&run, LockedThing::RunFile)] {
            let held = locked(path, thing);
            let text = refused(path, thing);
            assert!(text.contains(&own) && text.contains(", which was started "), "{text}");
            drop(held);
            drop(locked(path, thing));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no lock file is left");
    }

    #[test]
    fn a_lock_that_is_awaited_comes_when_it_is_free_and_says_once_for_whom() {
        let dir = tempfile::tempdir().unwrap();
        let held = locked(dir.path(), LockedThing::Directory);
        let path = dir.path().to_owned();
        let (sender, told) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            let tell = &mut |text: &str| sender.send(text.to_owned()).expect("the test listens");
            drop(lock(&path, LockedThing::Directory, IfHeld::Wait, tell).unwrap());
        });
        let text = told.recv().unwrap();
        assert!(text.contains("another plimsoll run is using this directory") && text.contains("; waiting"), "{text}");
        drop(held);
        waiter.join().unwrap();
        assert!(told.recv().is_err(), "once");
    }

    #[test]
    fn agents_share_a_directory_that_nobody_else_has_or_gets() {
        let dir = tempfile::tempdir().unwrap();
        let share = || lock(dir.path(), LockedThing::Directory, IfHeld::Share, &mut |text| panic!("{text}"));
        let both = [share().unwrap(), share().unwrap()];
        assert!(refused(dir.path(), LockedThing::Directory).ends_with("or use `--wait`"));
        drop(both);
        let alone = locked(dir.path(), LockedThing::Directory);
        let text = share().unwrap_err().to_string();
        assert!(text.ends_with("wait until it has finished"), "{text}");
        drop(alone);
        drop(share().unwrap());
    }

    #[test]
    fn a_server_is_locked_once_wherever_it_is_loaded_from_and_its_file_goes_with_the_last_lock() {
        let (one, other) = (format!("127.0.0.1:{}/a b", std::process::id()), format!("other:{}", std::process::id()));
        let take = |name: &str, if_held| lock_server(name, if_held, &mut |text| panic!("{text}"));
        let held = take(&one, IfHeld::Refuse).unwrap();
        let text = take(&one, IfHeld::Refuse).expect_err("it is loaded").to_string();
        let own = format!("`{one}` is being measured by another plimsoll run: process {} (`", std::process::id());
        assert!(text.starts_with(&own) && text.ends_with("; wait until it has finished, or use `--wait`"), "{text}");
        assert!(take(&one, IfHeld::Share).is_err());
        drop(take(&other, IfHeld::Refuse).unwrap());
        drop(held);
        assert!(!server_lock_file(&one).exists());
        let [first, second] = [(); 2].map(|()| take(&one, IfHeld::Share).unwrap());
        drop(first);
        assert!(take(&one, IfHeld::Refuse).is_err(), "another agent has it");
        drop(second);
        drop(take(&one, IfHeld::Refuse).unwrap());
        assert!(!server_lock_file(&one).exists());
    }

    #[test]
    fn a_lock_of_a_process_around_this_one_keeps_others_out_and_not_this_one() {
        let parent = stat_of(i32::try_from(std::process::id()).unwrap()).unwrap().ppid;
        let around = LockHolder::process(parent);
        assert!(around.is_around() && !LockHolder::process(i32::try_from(std::process::id()).unwrap()).is_around());
    }

    #[test]
    fn what_cannot_be_opened_has_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("absent");
        assert!(locked(&absent, LockedThing::Directory).file.is_none());
    }
}
