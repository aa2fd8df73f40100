//! The user that a private server runs as: never as root.
//!
//! In: the name of the user that the engine's package makes. Out: that user, or `nobody`; none if plimsoll itself is not root.
//! Limits: users of `/etc/passwd`; access by ACL is not looked at, only by mode.

use crate::error::{IoContext, TargetError, shown};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, fchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAccount {
    /// The name of the user.
    pub name: String,
    /// The number of the user.
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
}

impl ServerAccount {
    /// The user that a server of root's is to run as; `None` if plimsoll is not root and servers run as plimsoll does.
    pub fn for_server(preferred: &str) -> Result<Option<ServerAccount>, TargetError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = account_of(&users, preferred).or_else(|| account_of(&users, "nobody"));
        found.map(Some).ok_or_else(|| {
            let text = format!("a server does not run as root, and there is neither a user `{preferred}` nor `nobody`");
            TargetError::Unsupported(format!("{text}; run plimsoll as another user"))
        })
    }

    /// Gives what is `open` to this user, whatever has been put in its place at `path` meanwhile.
    pub fn give_open(&self, open: impl AsFd, path: &Path) -> Result<(), TargetError> {
        fchown(open, Some(self.uid), Some(self.gid)).trying("give away", path)
    }

    /// The outermost directory on the way to `dir`, and `dir` itself, that this user may not enter.
    ///
    /// # Errors
    /// If one cannot be looked at.
    pub fn find_closed_around(&self, dir: &Path) -> Result<Option<PathBuf>, TargetError> {
        let mut closed = None;
        for place in dir.ancestors() {
            let meta = std::fs::metadata(place).trying("look at", place)?;
            if !self.may_enter(meta.mode(), meta.uid(), meta.gid()) {
                closed = Some(place.to_owned());
            }
        }
        Ok(closed)
    }

    /// The refusal of a place that this user may not enter, because of `closed`.
    pub fn cannot_enter(&self, closed: &Path) -> TargetError {
        TargetError::Unsafe(format!(
            "the server runs as the user `{}`, which cannot enter `{}`; use another directory (`--dir`), \
             or allow it with `chmod o+x`",
            self.name,
            shown(closed)
        ))
    }

    /// Makes `command` run as this user, without the further groups of root.
    pub fn run_as(&self, command: &mut Command) {
        command.gid(self.gid).uid(self.uid);
    }

    /// Makes this process run as this user, without the further groups of root. Makes system calls only.
    ///
    /// # Errors
    /// The kernel's.
    pub fn become_user(&self) -> std::io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    }

    fn may_enter(&self, mode: u32, uid: u32, gid: u32) -> bool {
        let bit = match (uid == self.uid, gid == self.gid) {
            (true, _) => 0o100,
            (_, true) => 0o010,
            _ => 0o001,
        };
        mode & bit != 0
    }
}

/// Gives the directory that is open as `dir` to the group `gid`.
///
/// # Errors
/// The kernel's.
pub fn give_to_group(dir: &File, gid: u32) -> rustix::io::Result<()> {
    rustix::fs::fchown(dir, None, Some(Gid::from_raw(gid)))
}

/// The user `name` of a file in the format of `/etc/passwd`. A user with root's number is no use.
fn account_of(users: &str, name: &str) -> Option<ServerAccount> {
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
    let [uid, gid] = [2, 3].map(|at| fields.get(at)?.parse::<u32>().ok().filter(|number| *number != 0));
    Some(ServerAccount { name: name.into(), uid: uid?, gid: gid? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/bash\nmysql:x:102:105:MySQL Server,,,:/nonexistent:/bin/false\ntoor:x:0:0::/:\n";

    #[test]
    fn a_user_is_found_by_its_name_and_root_under_no_name() {
        assert_eq!(account_of(USERS, "mysql"), Some(ServerAccount { name: "mysql".into(), uid: 102, gid: 105 }));
        assert_eq!(
            [account_of(USERS, "root"), account_of(USERS, "toor"), account_of(USERS, "mys")],
            [None, None, None]
        );
    }

    #[test]
    fn the_most_specific_mode_bits_decide_who_enters() {
        let mysql = account_of(USERS, "mysql").unwrap();
        assert!(mysql.may_enter(0o701, 0, 0) && !mysql.may_enter(0o700, 0, 0));
        assert!(mysql.may_enter(0o710, 0, 105) && !mysql.may_enter(0o701, 0, 105));
        assert!(mysql.may_enter(0o700, 102, 0) && !mysql.may_enter(0o011, 102, 105));
    }

    #[test]
    fn the_outermost_closed_directory_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (middle, inner) = (dir.path().join("middle"), dir.path().join("middle/inner"));
        std::fs::create_dir_all(&inner).unwrap();
        let stranger = ServerAccount { name: "stranger".into(), uid: 54_321, gid: 54_321 };
        let set_mode = |place: &Path, mode| std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode));
        set_mode(dir.path(), 0o711).unwrap();
        assert_eq!(stranger.find_closed_around(&inner).unwrap(), None);
        set_mode(&middle, 0o700).unwrap();
        assert_eq!(stranger.find_closed_around(&inner).unwrap(), Some(middle));
        set_mode(dir.path(), 0o700).unwrap();
        assert_eq!(stranger.find_closed_around(&inner).unwrap(), Some(dir.path().to_owned()));
    }
}
