//! ZFS by zfs-fuse: a process that is the file system, with a pool on the device of a volume.
//!
//! In: a device, a compression, a mount point. Out: the pool, mounted; what the process spent; the pool written out. Limits: zfs-fuse
//! 0.7 as Debian has it, with pools of version 23. No direct I/O.
//!
//! zfs-fuse has one place for its socket, its lock and its list of pools, and imports every pool of that list when it starts. So it gets
//! mounts of its own, in which these places are empty: it never sees a pool or a socket of others, and they do not see it. What it mounts
//! is copied from there to the volume's mount point. It ends with plimsoll, and no other zfs-fuse lists its pool.

use super::{MADE_WITHIN, PROGRAM_DIRS, first_line};
use crate::deadline::{end_child, output_within, poll_until};
use crate::error::{IoContext, TargetError, shown};
use model::ZfsCompression;
use rustix::fs::{CWD, MemfdFlags, Mode, memfd_create, mkdir};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The name of its process.
pub const DAEMON: &str = "zfs-fuse";
/// The most of its cache, in MB: what Debian sets.
const CACHE_MB: &str = "100";
/// Below the root of its own mounts.
const SOCKET: &str = "run/zfs/zfs_socket";
/// It listens within a tenth of a second on a quiet machine.
const START_AT_MOST: Duration = Duration::from_secs(30);

/// The process that is a volume's file system, for those who measure on the volume.
#[derive(Clone, Debug)]
pub struct VolumeDaemon {
    pid: u32,
    pool: String,
}

impl VolumeDaemon {
    /// Writes out the transactions of the pool: what it takes is exact only then.
    ///
    /// # Errors
    /// If zfs-fuse does not do it, with its words.
    pub fn settle(&self) -> Result<(), TargetError> {
        // This version has no `zpool sync`. A property is set in a transaction of its own, which is waited for.
        self.execute("zfs", &["set", "plimsoll:settled=yes", &self.pool]).map(drop)
    }

    /// The CPU time of all its threads so far; `None` if it is gone.
    pub fn cpu_time(&self) -> Option<Duration> {
        let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: both calls write to their last argument only, which lives until they return.
        let failed = unsafe {
            libc::clock_getcpuclockid(self.pid.cast_signed(), &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        (!failed).then(|| Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
    }

    /// Executes `zfs` or `zpool`, which talk to the daemon by a socket that only its own mounts have.
    fn execute(&self, program: &str, arguments: &[&str]) -> Result<Output, TargetError> {
        let world = self.world()?;
        let found = PROGRAM_DIRS.iter().map(|dir| Path::new(dir).join(program)).find(|path| path.is_file());
        let path =
            found.ok_or_else(|| TargetError::Unsupported(format!("{DAEMON} without `{program}`; install it again")))?;
        let mut command = plain_command(&path);
        command.args(arguments);
        // SAFETY: between fork and exec it only makes system calls.
        unsafe { command.pre_exec(move || Ok(world.enter()?)) };
        let done = output_within(&mut command, MADE_WITHIN).trying("run", &path)?;
        if done.status.success() {
            return Ok(done);
        }
        let words = first_line(&done.stderr);
        Err(TargetError::Failed(format!("`{program} {}` failed: {words}", arguments.join(" "))))
    }

    fn world(&self) -> Result<DaemonWorld, TargetError> {
        let open = |what: &str| {
            let path = format!("/proc/{}/{what}", self.pid);
            File::open(&path).trying("open", &path)
        };
        Ok(DaemonWorld { mounts: open("ns/mnt")?, root: open("root")? })
    }

    /// What is mounted at `place` among the daemon's mounts, to be mounted here as well.
    fn take_mount(&self, place: &Path) -> Result<OwnedFd, TargetError> {
        let (world, path) = (self.world()?, place.to_owned());
        // A thread that has entered other mounts cannot leave them without privileges; this one ends.
        let taken = std::thread::Builder::new().spawn(move || -> rustix::io::Result<OwnedFd> {
            // SAFETY: the thread shares no descriptors that the call would take from others: only its directory becomes its own.
            unsafe { unshare_unsafe(UnshareFlags::FS) }?;
            world.enter()?;
            open_tree(CWD, &path, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)
        });
        let taken = taken.trying("start a thread for", place)?;
        taken.join().unwrap_or(Err(Errno::SRCH)).trying("take the mount of", place)
    }
}

/// The daemon, which ends with this.
#[derive(Debug)]
pub struct ZfsDaemon {
    child: Child,
    handle: VolumeDaemon,
}

impl ZfsDaemon {
    /// Starts `program` for a pool of the name `pool` and waits until it listens.
    pub fn start(program: &Path, pool: &str) -> Result<ZfsDaemon, TargetError> {
        let mut words = File::from(memfd_create(c"zfs-fuse", MemfdFlags::CLOEXEC).trying("make room for", "stderr")?);
        let own_words = words.try_clone().trying("open", "stderr")?;
        let parent = std::process::id();
        let mut command = plain_command(program);
        // Past the kernel's cache of the device: what is read back is to come from the disk.
        command.args(["--no-daemon", "--no-kstat-mount", "--disable-block-cache", "-m", CACHE_MB]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(own_words);
        // SAFETY: between fork and exec it only makes system calls.
        unsafe { command.pre_exec(move || prepare_daemon(parent)) };
        let child = command.spawn().trying("run", program)?;
        let handle = VolumeDaemon { pid: child.id(), pool: pool.to_owned() };
        let mut daemon = ZfsDaemon { child, handle };
        daemon.wait_until_it_listens(&mut words)?;
        Ok(daemon)
    }

    /// Makes its pool on `device` and mounts it at `place`, here and among its own mounts. Returns the version of the pool.
    pub fn make_pool(
        &self,
        device: &Path,
        compression: Option<ZfsCompression>,
        place: &Path,
    ) -> Result<String, TargetError> {
        let compression = compression.map_or("compression=off".to_owned(), |how| format!("compression={how}"));
        let [device, on] = [device, place].map(|path| path.to_string_lossy());
        let pool = self.handle.pool.as_str();
        self.handle.execute("zpool", &["create", "-O", &compression, "-O", "atime=off", "-m", &on, pool, &device])?;
        let tree = self.handle.take_mount(place)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(tree.as_fd(), c"", CWD, place, flags).trying("mount", place)?;
        let version = self.handle.execute("zpool", &["get", "version", pool])?;
        Ok(format!(
            "{DAEMON}, pool version {}",
            pool_version(&String::from_utf8_lossy(&version.stdout)).unwrap_or("unknown")
        ))
    }

    /// For those who measure on it.
    pub fn handle(&self) -> &VolumeDaemon {
        &self.handle
    }

    fn wait_until_it_listens(&mut self, words: &mut File) -> Result<(), TargetError> {
        let socket = Path::new("/proc").join(self.handle.pid.to_string()).join("root").join(SOCKET);
        let seen = poll_until(START_AT_MOST, || match self.child.try_wait() {
            Ok(None) => UnixStream::connect(&socket).is_ok().then_some(Ok(None)),
            ended => Some(ended),
        });
        let how = match seen.transpose().trying("wait for", DAEMON)? {
            Some(None) => return Ok(()),
            Some(Some(status)) => format!("ended at once ({status})"),
            None => format!("does not listen after {} s", START_AT_MOST.as_secs()),
        };
        let mut text = Vec::new();
        let _ = words.rewind().and_then(|()| words.read_to_end(&mut text)); // without them the message is shorter
        Err(TargetError::Failed(format!("{DAEMON} {how}: {}", first_line(&text))))
    }
}

impl Drop for ZfsDaemon {
    fn drop(&mut self) {
        end_child(&mut self.child);
    }
}

fn plain_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", PROGRAM_DIRS.join(":")).env("LC_ALL", "C").process_group(0);
    command
}

/// Where the daemon's paths lead: its own mounts, below a root that need not be theirs.
struct DaemonWorld {
    mounts: File,
    root: File,
}

impl DaemonWorld {
    /// To enter other mounts leads to their root, out of a root that was changed.
    fn enter(&self) -> rustix::io::Result<()> {
        move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
        rustix::process::fchdir(&self.root)?;
        rustix::process::chroot(c".")
    }
}

/// In the daemon's process: mounts of its own, without the pools, the lock and the socket of another one. Allocates nothing.
fn prepare_daemon(parent: u32) -> io::Result<()> {
    // SAFETY: the process has one thread and shares no descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    for place in [c"/etc/zfs", c"/run"] {
        match mount(c"plimsoll", place, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755,size=1m") {
            Err(Errno::NOENT) => {} // then there is no list of pools in it
            mounted => mounted?,
        }
    }
    mkdir(c"/run/lock", Mode::from_raw_mode(0o755))?;
    rustix::process::chdir(c"/")?;
    // Before the parent is looked at: if that died in between, no signal comes.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let lives = rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get().cast_unsigned() == parent);
    if lives { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
}

/// Of `zpool get version POOL`: the value in the line after the heading.
fn pool_version(text: &str) -> Option<&str> {
    text.lines().nth(1)?.split_whitespace().nth(2)
}

/// Whether the mount of `filesystem` from `source` is that of the pool `pool`.
pub fn is_mount_of(pool: &str, filesystem: &str, source: &str) -> bool {
    filesystem == "fuse.zfs" && source == pool
}

/// The name of the pool in the data directory `dir`: the directory's own, which begins with a letter and has nothing that ZFS refuses.
pub fn pool_of(dir: &Path) -> String {
    dir.file_name().map_or_else(|| shown(dir), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_pool_is_read_from_its_table() {
        let text = "NAME    PROPERTY  VALUE    SOURCE\nplimsoll-data-1-0  version   23       default\n";
        assert_eq!((pool_version(text), pool_version("")), (Some("23"), None));
    }

    #[test]
    fn only_the_mount_of_its_own_pool_is_a_volumes() {
        let pool = pool_of(Path::new("/srv/plimsoll-data-7-1"));
        assert!(is_mount_of(&pool, "fuse.zfs", "plimsoll-data-7-1"));
        assert!(!is_mount_of(&pool, "fuse.zfs", "tank") && !is_mount_of(&pool, "ext4", &pool));
    }
}
