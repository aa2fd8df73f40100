//! Lets a server work below a directory that only root may enter, such as root's home, without opening it to anyone.
//!
//! In: the user that the server runs as, the directories that it needs. Out: [`PrivateMounts`], which the server's process makes for
//! itself before it becomes that user: in a mount namespace of its own the closed directory is covered by an empty one, in which the
//! needed directories appear at their usual paths. The mounts end with the server. Limits: takes CAP_SYS_ADMIN and Linux 5.2.

use crate::error::{IoContext, TargetError, shown};
use crate::privileged::server_account::ServerAccount;
use rustix::fs::{CWD, Mode, mkdir};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The mounts of one server. Everything is text for the kernel already: its process may not allocate before it runs its program.
pub struct PrivateMounts {
    closed: Vec<CString>,
    /// The directories to make in the empty ones, from the outside to the inside.
    made: Vec<CString>,
    /// The directories that appear again at their paths.
    needed: [Option<CString>; NEEDED_MAX],
}

/// A server needs its data and its installation.
const NEEDED_MAX: usize = 2;

impl PrivateMounts {
    /// What it takes to let `account` into `directories`, at most two; `None` if it may enter all of them.
    ///
    /// # Errors
    /// If it takes mounts that this process may not make, or a directory itself is closed to `account`.
    pub fn for_server(account: &ServerAccount, directories: &[&Path]) -> Result<Option<PrivateMounts>, TargetError> {
        let mut mounts = PrivateMounts { closed: Vec::new(), made: Vec::new(), needed: [None, None] };
        for (directory, place) in directories.iter().zip(&mut mounts.needed) {
            let Some(closed) = account.find_closed_around(directory)? else { continue };
            if closed == *directory || !may_make_mounts() {
                return Err(account.cannot_enter(&closed));
            }
            let inside = directory.ancestors().take_while(|around| *around != closed).collect::<Vec<_>>();
            mounts.made.extend(inside.into_iter().rev().map(kernel_text).collect::<Result<Vec<_>, _>>()?);
            mounts.closed.push(kernel_text(&closed)?);
            *place = Some(kernel_text(directory)?);
        }
        mounts.closed.sort_unstable();
        mounts.closed.dedup();
        Ok((!mounts.closed.is_empty()).then_some(mounts))
    }

    /// Makes them, in the process of the server and before it becomes another user. Allocates nothing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn make(&self) -> std::io::Result<()> {
        // SAFETY: the process has one thread and shares no descriptors.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        // What plimsoll unmounts is to be unmounted here as well; what is mounted here is not to be seen elsewhere.
        mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
        let mut trees: [Option<OwnedFd>; NEEDED_MAX] = [None, None];
        for (tree, directory) in trees.iter_mut().zip(&self.needed) {
            *tree = directory.as_ref().map(take_tree).transpose()?;
        }
        rustix::process::umask(Mode::WGRP | Mode::WOTH);
        for closed in &self.closed {
            mount(c"plimsoll", closed, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755,size=1m")?;
        }
        for directory in &self.made {
            make_directory(directory)?;
        }
        for (tree, directory) in trees.iter().zip(&self.needed) {
            if let (Some(tree), Some(directory)) = (tree, directory) {
                move_mount(tree, c"", CWD, directory, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            }
        }
        Ok(())
    }
}

/// Refuses `dir` for the data of a private server if it is below a directory that only its owner may enter, and this process may not
/// make the mounts that let a server in. Users that are let in by their group alone are looked at when their server starts.
///
/// # Errors
/// If a server cannot be let in, or a directory cannot be looked at.
pub fn check_place(dir: &Path) -> Result<(), TargetError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Ok(dir) = dir.canonicalize() else { return Ok(()) }; // that it is not there is reported by the check of the directory
    for place in dir.ancestors() {
        let mode = std::fs::metadata(place).trying("look at", place)?.mode();
        if mode & 0o011 == 0 && !may_make_mounts() {
            return Err(TargetError::Unsafe(format!(
                "a private server does not run as root, and only root may enter `{}`; use another directory (`--dir`), \
                 or allow others to enter it with `chmod o+x`",
                shown(place)
            )));
        }
    }
    Ok(())
}

/// A copy of the mounts from `directory` on that is mounted nowhere yet.
fn take_tree(directory: &CString) -> std::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, directory, flags)?)
}

fn make_directory(directory: &CString) -> std::io::Result<()> {
    match mkdir(directory, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()), // both of the server's directories are below it
        made => Ok(made?),
    }
}

/// Whether this process may make mounts of its own. A thread tries it and takes the attempt with it.
fn may_make_mounts() -> bool {
    // SAFETY: the thread shares no descriptors that the call would take from others: only its mounts become its own.
    let tried = std::thread::Builder::new().spawn(|| unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok());
    tried.is_ok_and(|thread| thread.join().unwrap_or(false))
}

fn kernel_text(path: &Path) -> Result<CString, TargetError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| TargetError::Unsafe(format!("`{}` has a zero byte in its name", shown(path))))
}

/// The directory of the installation that `program` belongs to: the one around `bin` and the like, or its own.
pub fn installation_of(program: &Path) -> &Path {
    const INSIDE: [&str; 4] = ["bin", "sbin", "libexec", "scripts"];
    let around = program.parent().unwrap_or(program);
    let is_inside = INSIDE.iter().any(|name| around.ends_with(name));
    around.parent().filter(|_| is_inside).unwrap_or(around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn stranger() -> ServerAccount {
        ServerAccount { name: "stranger".into(), uid: 54_321, gid: 54_321 }
    }

    #[test]
    fn the_installation_of_a_program_is_around_its_bin() {
        let of = |program: &'static str| installation_of(Path::new(program));
        assert_eq!(of("/opt/db-11/bin/server"), Path::new("/opt/db-11"));
        assert_eq!(of("/opt/flat/server"), Path::new("/opt/flat"));
        assert_eq!(of("/bin/sh"), Path::new("/"));
    }

    #[test]
    fn an_open_way_needs_no_mounts() {
        assert!(PrivateMounts::for_server(&stranger(), &[Path::new("/usr/bin")]).unwrap().is_none());
    }

    #[test]
    fn a_directory_that_is_closed_itself_is_refused_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().canonicalize().unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let text = PrivateMounts::for_server(&stranger(), &[&closed]).err().unwrap().to_string();
        assert!(text.contains(&format!("cannot enter `{}`", closed.display())), "{text}");
    }
}
