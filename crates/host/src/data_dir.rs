//! The directory in which plimsoll makes data, and the manifest that lists what in it is plimsoll's.
//!
//! In: the directory that the user wants measured. Out: a fresh sub-directory `plimsoll-data-*` with `MANIFEST.json`; files
//! made in it are entered before they are made. Limits: removal follows the manifest only: an entry that is not a plain name,
//! a symlink, or a file that the manifest does not know stays, and is named. How a volume in it is unmounted first is handed in
//! ([`ReleaseVolume`]): here nothing is known of mounts.
//!
//! The directory stays locked (flock) while its process lives. One that can be locked belongs to a process that was killed:
//! [`sweep_abandoned`] removes it at the next start, and ends a server that is still at work in it. The manifest is replaced by
//! a rename, so a kill cannot tear it. It is on the disk before what it announces is made, so that a power cut cannot empty it.

use crate::deadline::poll_until;
use crate::error::{IoContext, TargetError, shown};
use crate::lock::lock_new_directory;
use crate::privileged::server_account::give_to_group;
use model::Bytes;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, ResolveFlags, fchmod, flock, fsync, open, openat2};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What the name of every data directory begins with.
pub const DATA_DIR_PREFIX: &str = "plimsoll-data-";
const MANIFEST: &str = "MANIFEST.json";
/// What the mount point of a volume in it is called.
pub const MOUNT_POINT: &str = "mnt";
const LOADED: &str = "loaded";
const MANIFEST_NEW: &str = "MANIFEST.json.new";
/// The end of the name of a file that is to replace another.
pub(crate) const NEW: &str = ".new";
const MANIFEST_FORMAT: u32 = 1;
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Another plimsoll removes a directory within this: its servers are ended and its volume is unmounted first.
const REMOVED_WITHIN: Duration = Duration::from_secs(10);

/// The version of what the generators make of a seed. To be raised whenever the same plan would make other data.
pub const GENERATOR_VERSION: u32 = 1;

/// What the data in a directory is, and which files there are plimsoll's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataManifest {
    format: u32,
    made_by: String,
    /// The name of the machine: on a shared file system its lock means nothing to another machine.
    host: String,
    /// The engine and every parameter that shapes the data, as text.
    pub data: String,
    /// The seed of the data's randomness.
    pub seed: u64,
    /// The version of the generators that made it.
    pub generator_version: u32,
    /// Rows, or bytes of a file, that were made; 0 until the data is complete.
    pub amount: u64,
    /// Whether the data is complete. Incomplete data is never measured.
    pub complete: bool,
    /// Plain files in the directory that are plimsoll's.
    files: Vec<String>,
    /// Sub-directories that are plimsoll's with all that is in them.
    directories: Vec<String>,
    /// A file system of plimsoll's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    volume: Option<VolumeNames>,
}

/// The names of a volume's image and mount point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeNames {
    /// The file that holds the file system.
    pub image: String,
    /// The empty directory that it is mounted on.
    pub mount_point: String,
}

/// Unmounts and detaches the volume of a data directory, given by its locked handle and the names in it. Refuses if something
/// else is mounted there.
pub type ReleaseVolume = fn(&File, &VolumeNames) -> Result<(), TargetError>;

/// A directory of plimsoll's own. Removed by [`DataDir::remove`] or when it is dropped; if the process dies before, by the
/// next start.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    manifest: DataManifest,
    removed: bool,
    /// The directory itself; holds the lock.
    locked: File,
    /// Takes its volume away, if it has one.
    release: Option<ReleaseVolume>,
}

impl DataDir {
    /// Makes a new directory inside `parent` for the data described by `data`.
    ///
    /// # Errors
    /// If the directory cannot be made. Nothing is left behind then.
    pub fn create(parent: &Path, data: &str, seed: u64) -> Result<DataDir, TargetError> {
        let (path, locked) = make_locked(parent)?;
        let manifest = DataManifest {
            format: MANIFEST_FORMAT,
            made_by: "plimsoll".into(),
            host: host_name(),
            data: data.into(),
            seed,
            generator_version: GENERATOR_VERSION,
            amount: 0,
            complete: false,
            files: Vec::new(),
            directories: Vec::new(),
            volume: None,
        };
        let dir = DataDir { path, manifest, removed: false, locked, release: None };
        dir.save_manifest()?;
        sync_names_in(parent)?;
        Ok(dir)
    }

    /// The directory as a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The list of what plimsoll made in it.
    pub fn manifest(&self) -> &DataManifest {
        &self.manifest
    }

    /// Enters the file `name` as plimsoll's and returns its path. To be called before it is made.
    pub fn own_file(&mut self, name: &str) -> Result<PathBuf, TargetError> {
        // Entered first and made afterwards: a kill in between leaves an entry without a file, and never a file without an entry.
        self.manifest.files.push(name.into());
        self.save_manifest()?;
        Ok(self.path.join(name))
    }

    /// Enters the sub-directory `name` as plimsoll's with all that will be in it, makes it, and returns its path.
    pub fn own_directory(&mut self, name: &str) -> Result<PathBuf, TargetError> {
        // Before it is made, as for files.
        self.manifest.directories.push(name.into());
        self.save_manifest()?;
        let path = self.path.join(name);
        fs::DirBuilder::new().mode(0o700).create(self.path_inside(name)).trying("create", &path)?;
        Ok(path)
    }

    /// The same for a copy of the data as it was loaded.
    pub fn own_copy(&mut self) -> Result<PathBuf, TargetError> {
        self.own_directory(LOADED)
    }

    /// Enters an image, which is to be made, and its mount point, which is there then. `release` takes the volume away when the
    /// directory goes.
    pub fn own_volume(&mut self, release: ReleaseVolume) -> Result<VolumeNames, TargetError> {
        self.release = Some(release);
        let names = VolumeNames { image: "image".into(), mount_point: MOUNT_POINT.into() };
        self.manifest.volume = Some(names.clone());
        self.save_manifest()?;
        // A server that runs as another user has its data behind the mount point; the image stays closed.
        fchmod(&self.locked, Mode::from_raw_mode(0o711)).trying("open to a server", &self.path)?;
        let mount_point = self.path_inside(&names.mount_point);
        fs::DirBuilder::new().mode(0o700).create(&mount_point).trying("create", self.path.join(&names.mount_point))?;
        Ok(names)
    }

    /// `name` in this directory, whatever has been put in its place meanwhile.
    pub fn path_inside(&self, name: &str) -> PathBuf {
        path_inside(&self.locked, name)
    }

    /// Lets the group `gid` pass through to what in it is its own; it cannot see what else there is.
    pub fn let_in(&self, gid: u32) -> Result<(), TargetError> {
        give_to_group(&self.locked, gid).trying("give to a group", &self.path)?;
        fchmod(&self.locked, Mode::from_raw_mode(0o710)).trying("open to a group", &self.path)
    }

    /// Marks the data as complete: `amount` rows or bytes were made.
    pub fn seal(&mut self, amount: u64) -> Result<(), TargetError> {
        self.manifest.amount = amount;
        self.manifest.complete = true;
        self.save_manifest()
    }

    /// The rows or bytes of complete data.
    pub fn amount(&self) -> Option<u64> {
        self.manifest.complete.then_some(self.manifest.amount)
    }

    /// Refuses data that does not fit a trial.
    pub fn check_fits(&self, data: &str, seed: u64) -> Result<(), TargetError> {
        let found = &self.manifest;
        if found.complete && found.data == data && found.seed == seed && found.generator_version == GENERATOR_VERSION {
            return Ok(());
        }
        let state = if found.complete { "complete" } else { "incomplete" };
        Err(TargetError::Unsafe(format!(
            "the data in `{}` does not fit this trial: it is {state}, `{}` with seed {}; `{data}` with seed {seed} \
             is needed",
            shown(&self.path),
            found.data,
            found.seed
        )))
    }

    /// Space that everything in it takes on disk, without the copy of the loaded data, which no engine works on.
    pub fn footprint(&self) -> Bytes {
        self.footprint_of(&|_| true)
    }

    /// The same of the files that `counts`.
    pub fn footprint_of(&self, counts: &dyn Fn(&Path) -> bool) -> Bytes {
        Bytes(disk_bytes(&self.path, counts).saturating_sub(disk_bytes(&self.path.join(LOADED), counts)))
    }

    /// Removes what the manifest lists, the manifest and the directory.
    ///
    /// # Errors
    /// If something cannot be removed, or was not made by plimsoll. What plimsoll did not make stays.
    pub fn remove(mut self) -> Result<(), TargetError> {
        self.removed = true;
        self.remove_listed()
    }

    fn remove_listed(&self) -> Result<(), TargetError> {
        remove_listed(&self.path, &self.locked, &self.manifest, self.release)
    }

    fn save_manifest(&self) -> Result<(), TargetError> {
        let text = serde_json::to_vec_pretty(&self.manifest).expect("a manifest is plain data");
        replace_file(&self.locked, &self.path, MANIFEST, &text)
    }
}

/// Writes `text` into the file `name` of the directory `dir`, which is held open as `locked`. A kill leaves the old file or the new one.
pub(crate) fn replace_file(locked: &File, dir: &Path, name: &str, text: &[u8]) -> Result<(), TargetError> {
    let name_new = format!("{name}{NEW}");
    // By its handle: whoever may write to the directory around it could put a link in its place.
    let [new, old] = [&name_new, name].map(|name| path_inside(locked, name));
    // A kill may have left one; EXCL makes sure that the new one is no link that was put here.
    let shown = dir.join(&name_new);
    absent_is_fine(fs::remove_file(&new)).trying("replace", &shown)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(open(&new, flags, Mode::from_raw_mode(0o600)).trying("create", &shown)?);
    // Before the rename: after a power cut the name could otherwise lead to an empty file.
    file.write_all(text).and_then(|()| file.sync_all()).trying("write", &shown)?;
    // A rename is atomic: a kill leaves the old file or the new one, and never half of one.
    fs::rename(&new, old).trying("rename", &shown)?;
    sync_directory(locked).trying("sync", dir)
}

impl Drop for DataDir {
    /// For an instance that was not stopped, because its start failed or something panicked. What cannot be removed now is left
    /// to the next start, which reports it.
    fn drop(&mut self) {
        if !self.removed {
            let _ = self.remove_listed();
        }
    }
}

/// Makes a directory with a name of its own and locks it. Containers that share `parent` may give the same number to two
/// processes, and another plimsoll may sweep the directory away in the moment before it is locked: then the next name is tried.
fn make_locked(parent: &Path) -> Result<(PathBuf, File), TargetError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        let name = format!("{DATA_DIR_PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = parent.join(name);
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            made => made.trying("create", &path)?,
        }
        if let Some(locked) = lock_new_directory(&path) {
            return Ok((path, locked));
        }
    }
    Err(TargetError::Failed(format!(
        "cannot make a data directory in `{}`: another process keeps removing it",
        shown(parent)
    )))
}

/// Brings the names in `dir` to the disk. Whoever may write to a directory need not be able to read it: then they get there later.
fn sync_names_in(dir: &Path) -> Result<(), TargetError> {
    match open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::ACCESS) => Ok(()),
        opened => opened.and_then(|dir| sync_directory(&File::from(dir))).trying("sync", dir),
    }
}

/// Brings the names in the directory to the disk. Some file systems have nothing to sync there, and refuse the call.
fn sync_directory(dir: &File) -> rustix::io::Result<()> {
    match fsync(dir) {
        Err(Errno::INVAL) => Ok(()),
        synced => synced,
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(crate) fn open_directory(dir: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(dir, flags, Mode::empty()).map(File::from)
}

/// What a sweep found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// One line for each directory that is not in use: removed, or why it was left.
    pub notes: Vec<String>,
    /// Data directories of plimsolls that are running.
    pub in_use: Vec<PathBuf>,
}

/// Removes the data directories in `parent` whose process is gone; `release` takes their volumes away.
pub fn sweep_abandoned(parent: &Path, release: ReleaseVolume) -> SweepResult {
    let mut swept = SweepResult::default();
    let Ok(entries) = fs::read_dir(parent) else { return swept };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(DATA_DIR_PREFIX)) {
        match sweep_when_free(&entry.path(), release) {
            SweptDir::InUse => swept.in_use.push(entry.path()),
            SweptDir::Gone => {}
            SweptDir::Noted(note) => swept.notes.push(note),
        }
    }
    swept
}

/// As [`sweep_one`]. If the process of a directory is gone and the directory is in use, another plimsoll is removing it: its end is awaited.
fn sweep_when_free(dir: &Path, release: ReleaseVolume) -> SweptDir {
    let swept = poll_until(REMOVED_WITHIN, || match sweep_one(dir, release) {
        SweptDir::InUse if !has_living_owner(dir) => None,
        swept => Some(swept),
    });
    swept.unwrap_or(SweptDir::InUse)
}

/// Whether the process that the name of a data directory has is there. Of another container it is not seen.
fn has_living_owner(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let process = name.strip_prefix(DATA_DIR_PREFIX).and_then(|rest| rest.split('-').next());
    process.is_some_and(|process| process.parse::<u32>().is_ok() && Path::new("/proc").join(process).exists())
}

/// What became of a data directory.
pub enum SweptDir {
    /// Its plimsoll is running, or another one is removing it.
    InUse,
    /// It is no longer there.
    Gone,
    /// It was removed or left, as this line says.
    Noted(String),
}

impl SweptDir {
    /// The line on it, if there is one.
    pub fn note(self) -> Option<String> {
        match self {
            SweptDir::Noted(note) => Some(note),
            SweptDir::InUse | SweptDir::Gone => None,
        }
    }
}

/// What a look at a data directory found.
pub enum DirState {
    /// It is no longer there.
    Gone,
    /// Its plimsoll is running.
    InUse,
    /// Its plimsoll was killed. No other plimsoll sweeps it while this is held.
    Abandoned(File),
}

/// Looks at the data directory `dir`, which a run file names, without changing it.
pub fn inspect_dir(dir: &Path) -> Result<DirState, TargetError> {
    let named = dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DATA_DIR_PREFIX));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = match openat2(CWD, dir, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOENT) => return Ok(DirState::Gone),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(left_alone(dir, "is a symlink, is reached through one, or is not a directory"));
        }
        opened => File::from(opened.trying("open", dir)?),
    };
    match flock(&held, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => return Ok(DirState::InUse),
        locked => locked.trying("lock", dir)?,
    }
    match read_manifest(&held) {
        Some(manifest) if named && manifest.host == host_name() => Ok(DirState::Abandoned(held)),
        _ => Err(left_alone(dir, "is not a data directory made by plimsoll on this machine")),
    }
}

fn left_alone(dir: &Path, why: &str) -> TargetError {
    TargetError::Unsafe(format!("`{}` {why}; it is left alone", shown(dir)))
}

/// Removes the data directory `dir` if its process is gone; `release` takes its volume away.
pub fn sweep_one(dir: &Path, release: ReleaseVolume) -> SweptDir {
    let Ok(locked) = open_directory(dir) else {
        return match fs::symlink_metadata(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => SweptDir::Gone,
            _ => left(dir, "it is named like a data directory but is not one"),
        };
    };
    let ours = locked.metadata().is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    if !ours {
        return left(dir, "it belongs to another user");
    }
    if flock(&locked, FlockOperation::NonBlockingLockExclusive).is_err() {
        return SweptDir::InUse;
    }
    sweep_locked(dir, &locked, release)
}

fn sweep_locked(dir: &Path, locked: &File, release: ReleaseVolume) -> SweptDir {
    let removed = || SweptDir::Noted(format!("removed `{}`, left by a run that was killed", shown(dir)));
    // Made and killed at once: nothing is made in a directory before its manifest, so an empty one may go.
    let _ = first_stranger(locked).is_none().then(|| fs::remove_file(path_inside(locked, MANIFEST_NEW)));
    match fs::remove_dir(dir) {
        Ok(()) => return removed(),
        // Another plimsoll removed it before this one had the lock.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return SweptDir::Gone,
        Err(_) => {}
    }
    match read_manifest(locked) {
        None => left(dir, "its manifest is missing or damaged; remove it by hand"),
        Some(manifest) if manifest.host != host_name() => {
            left(dir, "it was made by another machine, which may be using it")
        }
        Some(manifest) => {
            match end_servers(dir, &manifest).and_then(|()| remove_listed(dir, locked, &manifest, Some(release))) {
                Ok(()) => removed(),
                Err(error) => left(dir, &error.to_string()),
            }
        }
    }
}

fn left(dir: &Path, why: &str) -> SweptDir {
    SweptDir::Noted(format!("left `{}`: {why}", shown(dir)))
}

/// Ends the servers that a killed plimsoll could not take with it, also those whose data is on its volume.
fn end_servers(dir: &Path, manifest: &DataManifest) -> Result<(), TargetError> {
    let plain = manifest.directories.iter().filter(|name| is_plain_name(name));
    plain.map(|name| dir.join(name)).try_for_each(|own| crate::leftover::end_servers_of(&own))?;
    let mount_point = manifest.volume.iter().map(|names| &names.mount_point).filter(|name| is_plain_name(name));
    let on_volume = mount_point.filter_map(|name| fs::read_dir(dir.join(name)).ok()).flatten().flatten();
    for entry in on_volume.filter(|entry| entry.file_name().to_string_lossy().starts_with(DATA_DIR_PREFIX)) {
        let of_data = open_directory(&entry.path()).ok().and_then(|data| read_manifest(&data));
        of_data.map_or(Ok(()), |manifest| end_servers(&entry.path(), &manifest))?;
    }
    Ok(())
}

/// `name` in the directory that is locked, whatever has been put in its place meanwhile.
pub fn path_inside(locked: &File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(locked.as_raw_fd().to_string()).join(name)
}

/// At most the first `most` bytes of the file `name` in the directory that is locked; `None` if it is missing, a link, or cannot be read.
pub(crate) fn read_inside(locked: &File, name: &str, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(open(path_inside(locked, name), flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The manifest of a directory; `None` if it is missing, damaged or of an unknown format.
fn read_manifest(locked: &File) -> Option<DataManifest> {
    let text = read_inside(locked, MANIFEST, MANIFEST_BYTES_MAX)?;
    let manifest: DataManifest = serde_json::from_slice(&text).ok()?;
    (manifest.format == MANIFEST_FORMAT && manifest.made_by == "plimsoll").then_some(manifest)
}

/// Removes the listed files and directories, then the manifest, then the directory if nothing else is in it.
fn remove_listed(
    dir: &Path,
    locked: &File,
    manifest: &DataManifest,
    release: Option<ReleaseVolume>,
) -> Result<(), TargetError> {
    let of_volume = manifest.volume.iter().flat_map(|names| [&names.image, &names.mount_point]);
    let mut names = manifest.files.iter().chain(&manifest.directories).chain(of_volume);
    if let Some(foreign) = names.find(|name| !is_plain_name(name)) {
        let text = format!(
            "the manifest in `{}` lists `{}`, which is not a plain file name; nothing was removed",
            shown(dir),
            foreign.escape_debug()
        );
        return Err(TargetError::Unsafe(text));
    }
    for name in &manifest.files {
        absent_is_fine(fs::remove_file(path_inside(locked, name))).trying("remove", dir.join(name))?;
    }
    for name in &manifest.directories {
        // remove_dir_all follows no symlink (openat with O_NOFOLLOW).
        absent_is_fine(fs::remove_dir_all(path_inside(locked, name))).trying("remove", dir.join(name))?;
    }
    if let Some(names) = &manifest.volume {
        release.map_or(Ok(()), |release| release(locked, names))?;
        // The mount point is empty or it stays: what was mounted there meanwhile is not plimsoll's.
        absent_is_fine(fs::remove_dir(path_inside(locked, &names.mount_point)))
            .trying("remove", dir.join(&names.mount_point))?;
        absent_is_fine(fs::remove_file(path_inside(locked, &names.image))).trying("remove", dir.join(&names.image))?;
    }
    if let Some(stranger) = first_stranger(locked) {
        let text = format!("`{}` was not made by plimsoll; it and its directory were left", shown(&dir.join(stranger)));
        return Err(TargetError::Unsafe(text));
    }
    for name in [MANIFEST_NEW, MANIFEST] {
        absent_is_fine(fs::remove_file(path_inside(locked, name))).trying("remove", dir.join(name))?;
    }
    fs::remove_dir(dir).trying("remove", dir)
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/') && !name.contains('\0')
}

pub(crate) fn absent_is_fine(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The name of something in the directory that the manifest does not know.
fn first_stranger(locked: &File) -> Option<OsString> {
    let entries = fs::read_dir(path_inside(locked, "")).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name());
    names.into_iter().find(|name| [MANIFEST, MANIFEST_NEW].iter().all(|ours| name != ours))
}

/// Space on disk of the files below a directory that `counts`; what vanishes meanwhile counts as nothing.
fn disk_bytes(dir: &Path, counts: &dyn Fn(&Path) -> bool) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.path().symlink_metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path(), counts),
            Ok(meta) if counts(&entry.path()) => meta.blocks() * 512,
            Ok(_) | Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::process::CommandExt;

    /// Nothing is mounted in these tests.
    fn no_volume(_: &File, _: &VolumeNames) -> Result<(), TargetError> {
        Ok(())
    }

    fn made(parent: &Path) -> DataDir {
        let mut dir = DataDir::create(parent, "sqlite oltp table_rows=10", 7).unwrap();
        fs::write(dir.own_file("data").unwrap(), b"x").unwrap();
        fs::write(dir.own_directory("db").unwrap().join("inner"), b"y").unwrap();
        dir
    }

    /// As if the process had died: the lock is gone, the files are not.
    fn die(dir: DataDir) -> PathBuf {
        let mut dir = std::mem::ManuallyDrop::new(dir);
        dir.locked = File::open("/dev/null").unwrap();
        dir.path.clone()
    }

    #[test]
    fn a_directory_that_another_plimsoll_is_removing_is_awaited_and_one_that_is_used_is_not() {
        let parent = tempfile::tempdir().unwrap();
        // No process has so large a number.
        let [killed, living] = [u32::MAX, std::process::id()].map(|process| {
            let dir = parent.path().join(format!("{DATA_DIR_PREFIX}{process}-0"));
            fs::create_dir(&dir).unwrap();
            dir
        });
        let [removing, _using] = [&killed, &living].map(|dir| lock_new_directory(dir).unwrap());
        let path = killed.clone();
        let remover = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300)); // so long does a removal take
            fs::remove_dir(path).unwrap();
            drop(removing);
        });
        let swept = sweep_abandoned(parent.path(), no_volume);
        assert_eq!((swept.in_use, swept.notes), (vec![living], Vec::new()));
        assert!(!killed.exists());
        remover.join().unwrap();
    }

    #[test]
    fn what_was_made_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("mine"), b"keep").unwrap();
        made(parent.path()).remove().unwrap();
        let left: Vec<_> = fs::read_dir(parent.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["mine"]);
    }

    #[test]
    fn a_strangers_file_in_the_directory_stays_and_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let dir = made(parent.path());
        let stranger = dir.path().join("thesis.tex");
        fs::write(&stranger, b"years of work").unwrap();
        let error = dir.remove().unwrap_err().to_string();
        assert!(error.contains("thesis.tex"), "{error}");
        assert_eq!(fs::read(&stranger).unwrap(), b"years of work");
    }

    #[test]
    fn a_manifest_that_points_outside_removes_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::write(&victim, b"keep").unwrap();
        for foreign in ["../victim", "/etc/passwd", "..", "", "db/../../victim"] {
            let mut dir = made(parent.path());
            dir.manifest.files.push(foreign.into());
            dir.save_manifest().unwrap();
            let path = dir.path().to_owned();
            assert!(matches!(dir.remove(), Err(TargetError::Unsafe(_))), "{foreign}");
            assert!(path.join("data").exists() && victim.exists(), "{foreign}");
        }
    }

    #[test]
    fn a_volume_that_points_outside_or_is_not_empty_removes_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let mut dir = made(parent.path());
        dir.own_volume(no_volume).unwrap();
        dir.manifest.volume = Some(VolumeNames { image: "image".into(), mount_point: "../victim".into() });
        assert!(matches!(dir.remove(), Err(TargetError::Unsafe(_))));
        assert!(victim.exists());

        let mut dir = made(parent.path());
        dir.own_volume(no_volume).unwrap();
        let theirs = dir.path().join("mnt/thesis");
        fs::write(&theirs, b"years of work").unwrap();
        assert!(dir.remove().is_err(), "a mount point is removed empty or not at all");
        assert_eq!(fs::read(&theirs).unwrap(), b"years of work");
    }

    #[test]
    fn a_symlink_in_an_own_directory_is_removed_and_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("keep"), b"keep").unwrap();
        let dir = made(parent.path());
        symlink(&victim, dir.path().join("db/link")).unwrap();
        dir.remove().unwrap();
        assert!(victim.join("keep").exists());
    }

    #[test]
    fn a_directory_in_use_is_left_and_an_abandoned_one_swept() {
        let parent = tempfile::tempdir().unwrap();
        let dir = made(parent.path());
        assert_eq!(
            sweep_abandoned(parent.path(), no_volume),
            SweepResult { notes: vec![], in_use: vec![dir.path().to_owned()] }
        );
        let path = die(dir);
        let notes = sweep_abandoned(parent.path(), no_volume).notes;
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("removed"), "{notes:?}");
        assert!(!path.exists());
    }

    #[test]
    fn a_server_that_is_still_at_work_is_ended_before_its_directory_goes() {
        let parent = tempfile::tempdir().unwrap();
        let path = die(made(parent.path()));
        let data = format!("--datadir={}", path.join("db").canonicalize().unwrap().display());
        let mut server = std::process::Command::new("sleep");
        let mut server = server.arg0(data).arg("600").spawn().unwrap();
        // It is there before its arguments are.
        while fs::read(format!("/proc/{}/cmdline", server.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let notes = sweep_abandoned(parent.path(), no_volume).notes;
        assert!(notes[0].starts_with("removed") && !path.exists(), "{notes:?}");
        assert!(!server.wait().unwrap().success());
    }

    #[test]
    fn a_damaged_manifest_removes_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let path = die(made(parent.path()));
        fs::write(path.join(MANIFEST), b"{\"format\":1,").unwrap();
        let notes = sweep_abandoned(parent.path(), no_volume).notes;
        assert!(notes[0].contains("manifest is missing or damaged"), "{notes:?}");
        assert!(path.join("data").exists());
    }

    #[test]
    fn a_directory_that_nobody_removed_goes_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        drop(made(parent.path()));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let first = made(parent.path());
        let name = first.path().file_name().unwrap().to_str().unwrap();
        let count: u32 = name.rsplit('-').next().unwrap().parse().unwrap();
        let taken = |n| parent.path().join(format!("{DATA_DIR_PREFIX}{}-{n}", std::process::id()));
        (count + 1..count + 100).for_each(|n| fs::create_dir(taken(n)).unwrap());
        made(parent.path()).remove().unwrap();
        assert!(first.path().exists() && taken(count + 1).exists());
    }

    #[test]
    fn data_directories_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let dir = made(parent.path());
        assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
        dir.remove().unwrap();
    }

    #[test]
    fn data_of_another_shape_or_seed_or_incomplete_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let mut dir = made(parent.path());
        assert!(dir.check_fits("sqlite oltp table_rows=10", 7).is_err(), "not sealed yet");
        dir.seal(10).unwrap();
        dir.check_fits("sqlite oltp table_rows=10", 7).unwrap();
        assert!(dir.check_fits("sqlite oltp table_rows=20", 7).is_err());
        assert!(dir.check_fits("sqlite oltp table_rows=10", 8).is_err());
        dir.remove().unwrap();
    }

    /// What a power cut leaves of a file system is what it has sent to its device until then: here to the image below the device.
    #[test]
    fn a_power_cut_leaves_the_manifest_whole() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: needs root: a file system cannot be mounted");
        }
        let parent = tempfile::tempdir_in(".").unwrap();
        let kind = model::FileSystem::Ext4 { barrier: true };
        let volume = crate::Volume::make(parent.path(), kind, model::Bytes::from_mib(32), 1).unwrap();
        let mut dir = DataDir::create(volume.mount_point(), "sqlite oltp table_rows=10", 7).unwrap();
        dir.own_file("data").unwrap();
        let image = volume.mount_point().with_file_name("image");
        let copy = parent.path().join("after-the-cut");
        fs::copy(image, &copy).unwrap();
        let found = manifest_in_copy(&copy, dir.path().file_name().unwrap().as_ref());
        assert_eq!(found.as_ref(), Some(dir.manifest()), "with the entry that was made last");
        dir.remove().and_then(|()| volume.remove()).unwrap();
    }

    /// The manifest of the directory `name` on the file system in `image`, which is mounted for this look.
    fn manifest_in_copy(image: &Path, name: &Path) -> Option<DataManifest> {
        let at = tempfile::tempdir_in(".").unwrap();
        let succeeds = |program: &str, arguments: &[&Path]| {
            assert!(std::process::Command::new(program).args(arguments).status().unwrap().success(), "{program}");
        };
        succeeds("mount", &["-o".as_ref(), "loop".as_ref(), image, at.path()]);
        let found = open_directory(&at.path().join(name)).ok().and_then(|dir| read_manifest(&dir));
        succeeds("umount", &[at.path()]);
        found
    }
}
