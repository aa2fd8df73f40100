//! The manifest of the settings that plimsoll has changed: written before each change, so that a killed run can be undone.
//!
//! In: settings with their values before. Out: a file in `/run/plimsoll`, and back. Limits: root writes and believes it, so the directory and
//! the file must belong to root and be writable for no other user. `/run` is empty after a start of the machine, as the settings
//! are what they were; if it is not, the manifest of an earlier start is ignored.

use super::setting::KernelSetting;
use crate::error::{IoContext, TargetError, shown};
use crate::text_file::text_of;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where plimsoll keeps it.
pub const STATE_DIR: &str = "/run/plimsoll";
const FILE: &str = "system-changes.json";
const FILE_NEW: &str = "system-changes.new";
const LOCK: &str = "system-changes.lock";
/// Root and its group may see what is changed, and nobody else.
const DIR_MODE: u32 = 0o750;
const FILE_MODE: u32 = 0o640;
const FORMAT: u32 = 1;
const BYTES_MAX: u64 = 1 << 20;

/// What was changed, by which process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeManifest {
    format: u32,
    made_by: String,
    /// Of the start of the machine.
    boot: String,
    /// The process that made the changes.
    pub process: u32,
    /// In the order in which they were made.
    pub changes: Vec<RecordedChange>,
}

/// One setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedChange {
    pub setting: KernelSetting,
    /// Its value before the first change.
    pub before: String,
    /// What plimsoll has written, or was about to write: the last value and, while it is changed again, the one before.
    pub written: Vec<String>,
}

/// The directory of the manifest, locked: one plimsoll at a time changes settings.
#[derive(Debug)]
pub(super) struct LockedState {
    dir: PathBuf,
    _lock: File,
}

/// What a manifest that was found is.
#[derive(Debug)]
pub(super) enum FoundManifest {
    Nothing,
    /// It cannot be believed, with the reason.
    Untrusted(String),
    Trusted(ChangeManifest),
}

impl ChangeManifest {
    /// Of this process, with the `changes` that an earlier one has left to it.
    pub fn new(changes: Vec<RecordedChange>) -> ChangeManifest {
        let (made_by, boot, process) = ("plimsoll".to_owned(), boot_id(), std::process::id());
        ChangeManifest { format: FORMAT, made_by, boot, process, changes }
    }
}

impl LockedState {
    /// Locks `dir`, which is made if it is not there; `None` if another plimsoll has it.
    ///
    /// # Errors
    /// If it cannot be made, or others could write to it.
    pub fn lock(dir: &Path) -> Result<Option<LockedState>, TargetError> {
        match fs::DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.trying("create", dir)?,
        }
        let meta = fs::symlink_metadata(dir).trying("look at", dir)?;
        if !meta.is_dir() || !is_of_own_user(&meta) {
            return Err(TargetError::Unsafe(untrusted(dir)));
        }
        if meta.mode() & 0o777 & !DIR_MODE != 0 {
            // Made by an earlier plimsoll. The directory around it is root's, so no other user can have replaced it since.
            fs::set_permissions(dir, fs::Permissions::from_mode(DIR_MODE)).trying("close", dir)?;
        }
        let path = dir.join(LOCK);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = File::from(open(&path, flags, Mode::from_raw_mode(0o600)).trying("open", &path)?);
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(LockedState { dir: dir.into(), _lock: lock })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(TargetError::io("lock", &path, &error.into())),
        }
    }

    /// Writes `manifest`: it is on its way to the disk before the change that it announces is made.
    pub fn save(&self, manifest: &ChangeManifest) -> Result<(), TargetError> {
        let text = serde_json::to_vec_pretty(manifest).expect("a manifest is plain data");
        let new = self.dir.join(FILE_NEW);
        remove_if_there(&new).trying("replace", &new)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(open(&new, flags, Mode::from_raw_mode(0o600)).trying("create", &new)?);
        file.write_all(&text).and_then(|()| file.sync_all()).trying("write", &new)?;
        file.set_permissions(fs::Permissions::from_mode(FILE_MODE)).trying("write", &new)?;
        // A rename is atomic: a kill leaves the old manifest or the new one.
        fs::rename(&new, self.dir.join(FILE)).trying("rename", &new)
    }

    /// Removes the manifest: all is as it was.
    pub fn remove(&self) {
        let _ = remove_if_there(&self.dir.join(FILE)); // a manifest that stays is read again and found done
    }
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// The manifest in `dir`.
pub(super) fn read_manifest(dir: &Path) -> FoundManifest {
    let path = dir.join(FILE);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match open(&path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return FoundManifest::Nothing,
        Err(_) => return FoundManifest::Untrusted(untrusted(&path)),
    };
    let [of_dir, of_file] = [fs::symlink_metadata(dir), file.metadata()];
    let is_fine = |meta: &fs::Metadata| meta.uid() == 0 && meta.mode() & 0o022 == 0;
    let is_trusted = of_dir.is_ok_and(|meta| meta.is_dir() && (is_fine(&meta) || is_of_own_user(&meta)))
        && of_file.is_ok_and(|meta| meta.is_file() && (is_fine(&meta) || is_of_own_user(&meta)));
    let mut text = Vec::new();
    let parsed = if is_trusted && file.take(BYTES_MAX).read_to_end(&mut text).is_ok() {
        serde_json::from_slice::<ChangeManifest>(&text).ok()
    } else {
        None
    };
    match parsed.filter(|manifest| manifest.format == FORMAT && manifest.made_by == "plimsoll") {
        None => FoundManifest::Untrusted(untrusted(&path)),
        Some(manifest) if manifest.boot != boot_id() => FoundManifest::Nothing,
        Some(manifest) => FoundManifest::Trusted(manifest),
    }
}

/// Whether it belongs to the user of this process, and no other may write to it.
fn is_of_own_user(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}

fn untrusted(path: &Path) -> String {
    let path = shown(path);
    format!(
        "`{path}` is damaged, or users other than root may write to it, so it was ignored; look at it and remove it"
    )
}

fn boot_id() -> String {
    text_of("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
