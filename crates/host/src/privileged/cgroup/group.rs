//! Control groups of plimsoll's own: made under a name of their own, locked while their plimsoll lives, removed.
//!
//! In: the group to make them in. Out: a directory that processes enter. Limits: the kernel removes no group in which there is a
//! process, so a group of others cannot be harmed by a removal; names and locks only select which to try.

use super::hierarchy;
use crate::deadline::poll_until;
use crate::error::{IoContext, TargetError, shown};
use crate::lock::{lock_new_directory, lock_own_directory};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What the name of every group begins with; a process number and a count follow.
const PREFIX: &str = "plimsoll-";
/// The file that holds the processes of a group.
const PROCESSES: &str = "cgroup.procs";

/// A process that has ended leaves its group some moments later.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);
/// Hierarchies are nested less deeply than this.
const DEPTH_MAX: usize = 16;

/// A control group that plimsoll made, locked against other plimsolls.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    procs_fd: Arc<OwnedFd>,
    /// The group that plimsoll itself comes from.
    home: PathBuf,
    _locked: File,
}

impl ControlGroup {
    /// Makes a group in `parent`, for processes that come from `home`.
    pub fn make(parent: &Path, home: &Path) -> Result<ControlGroup, TargetError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed)));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                made => made.trying("make the group", &path)?,
            }
            let Some(locked) = lock_new_directory(&path) else { continue };
            // Opened now, as root: the server writes to it as another user, between fork and exec.
            let processes = path.join(PROCESSES);
            let procs_fd = open(&processes, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            let procs_fd = procs_fd.trying("open", &processes).inspect_err(|_| drop(fs::remove_dir(&path)))?;
            return Ok(ControlGroup { path, procs_fd: Arc::new(procs_fd), home: home.into(), _locked: locked });
        }
        Err(TargetError::Failed(format!(
            "cannot make a control group in `{}`: another process keeps removing it",
            shown(parent)
        )))
    }

    /// The directory of the group.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a process writes `0` to, to enter.
    pub fn procs_fd(&self) -> Arc<OwnedFd> {
        self.procs_fd.clone()
    }

    /// Plimsoll itself enters, with all its threads.
    pub fn enter(&self) -> Result<(), TargetError> {
        rustix::io::write(&*self.procs_fd, b"0").map(drop).trying("enter the group", &self.path)
    }

    /// Removes it, when the last process has left; plimsoll itself leaves first if it had entered.
    pub fn remove(self, entered: bool) -> Result<(), TargetError> {
        if entered {
            let home = self.home.join(PROCESSES);
            fs::write(&home, "0").trying("go back to the group", &home)?;
        }
        remove_when_left(&self.path).trying("remove the group", &self.path)
    }
}

/// Removes the group, when the last process has left: one that was killed takes a moment to go.
fn remove_when_left(group: &Path) -> rustix::io::Result<()> {
    let removed = poll_until(LEAVES_WITHIN, || match rustix::fs::rmdir(group) {
        Err(Errno::NOENT) => Some(Ok(())),
        // EBUSY: a process is still in it, perhaps one that was killed and is still giving back its memory.
        Err(Errno::BUSY) => None,
        removed => Some(removed),
    });
    removed.unwrap_or(Err(Errno::BUSY))
}

/// Removes the groups whose plimsoll is gone, with a line on each.
pub fn sweep_abandoned() -> Vec<String> {
    let mut left = Vec::new();
    hierarchy::outermost_groups().iter().for_each(|outermost| find_left(outermost, DEPTH_MAX, &mut left));
    left.iter().filter_map(|group| sweep_group(group)).collect()
}

/// Removes the group if its plimsoll is gone; `None` if it is in use. The lock is held until then, so that no other plimsoll sweeps it.
fn sweep_group(group: &Path) -> Option<String> {
    let _held = lock_own_directory(group)?;
    remove_when_left(group).ok()?;
    Some(format!("removed the control group `{}`, left by a run that was killed", shown(group)))
}

fn find_left(group: &Path, depth: usize, left: &mut Vec<PathBuf>) {
    let inner = fs::read_dir(group).into_iter().flatten().flatten();
    for entry in inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if is_own_name(&entry.file_name().to_string_lossy()) {
            left.push(entry.path());
        } else if depth > 0 {
            find_left(&entry.path(), depth - 1, left);
        }
    }
}

/// `plimsoll-PID-COUNT`.
fn is_own_name(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(pid, count)| is_number(pid) && is_number(count))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
