//! Data sets that stay: directories of plimsoll's own in `plimsoll-data`, each with a manifest and the files of an engine.
//!
//! In: the directory that is measured, the name of a set. Out: its description and its files, and whether these are still as they were made.
//! Limits: of each file the length and some blocks are looked at, and not every byte. Only what the manifest lists is removed; links are
//! never followed.
//!
//! A set is locked (flock) by whoever uses it, and by one plimsoll alone while it is made or removed. The manifest says that it is complete
//! only when all of its files are there, so that a kill leaves a set that says what it is.

use crate::data_dir::{NEW, absent_is_fine, open_directory, path_inside, read_inside, replace_file};
use crate::error::{IoContext, TargetError, shown};
use crate::lock::lock_new_directory;
use model::{DataSet, FoundSet, SetState};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, ioctl_ficlone, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The directory of all sets, in the directory that is measured.
pub const SETS: &str = "plimsoll-data";
const MANIFEST: &str = "SET.json";
const FILES: &str = "files";
const USED: &str = "USED";
const FORMAT: u32 = 1;
/// A server has some thousand files.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
/// The blocks of a file that are looked at, from its first to its last.
const SAMPLES: u64 = 16;
const SAMPLE_BYTES: u64 = 4096;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetManifest {
    format: u32,
    made_by: String,
    complete: bool,
    set: DataSet,
    /// The files of the engine, by their paths.
    files: BTreeMap<String, FileSeal>,
}

/// What a file was when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSeal {
    bytes: u64,
    /// A checksum of some of its blocks.
    sample: u64,
}

/// Who may have a set at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetLock {
    /// Others that use it, too: they read its files only.
    Shared,
    /// No other plimsoll: the set is removed.
    Alone,
}

/// A data set that is locked.
#[derive(Debug)]
pub struct SetDir {
    path: PathBuf,
    locked: File,
    manifest: SetManifest,
}

/// Why a set could not be opened.
enum Unopened {
    Absent,
    InUse,
    /// One line of text.
    Damaged(String),
    Failed(TargetError),
}

impl SetDir {
    /// Makes the directory of a set in `dir`, without files yet.
    pub fn create(dir: &Path, set: DataSet) -> Result<SetDir, TargetError> {
        let sets = dir.join(SETS);
        let path = sets.join(&set.name);
        make_private(&sets)?;
        // A link in its place is refused.
        open_directory(&sets).trying("open", &sets)?;
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(taken(dir, &set.name)),
            made => made.trying("create", &path)?,
        }
        let locked = lock_new_directory(&path).ok_or_else(|| in_use(&set.name))?;
        let manifest =
            SetManifest { format: FORMAT, made_by: "plimsoll".into(), complete: false, set, files: BTreeMap::new() };
        let made = SetDir { path, locked, manifest };
        made.save()?;
        make_private(&made.files())?;
        Ok(made)
    }

    /// Opens the complete set `name` in `dir`.
    pub fn open(dir: &Path, name: &str, lock: SetLock) -> Result<SetDir, TargetError> {
        match find(dir, name, lock) {
            Ok(found) if found.manifest.complete => Ok(found),
            Ok(_) => Err(half_made(name)),
            Err(Unopened::Absent) => Err(absent(dir, name)),
            Err(Unopened::InUse) => Err(in_use(name)),
            Err(Unopened::Damaged(why)) => Err(TargetError::Unsafe(format!("data set `{name}` is damaged: {why}"))),
            Err(Unopened::Failed(error)) => Err(error),
        }
    }

    /// What the set is.
    pub fn set(&self) -> &DataSet {
        &self.manifest.set
    }

    /// The directory with the engine's files.
    pub fn files(&self) -> PathBuf {
        self.path.join(FILES)
    }

    /// All files are there: the set is complete, and is `set`.
    pub fn seal(&mut self, set: DataSet) -> Result<(), TargetError> {
        let files = self.files();
        for (name, bytes) in files_in(&files)? {
            let sample = sample_of(&files.join(&name), bytes)?;
            self.manifest.files.insert(name, FileSeal { bytes, sample });
        }
        (self.manifest.set, self.manifest.complete) = (set, true);
        self.save()
    }

    /// Refuses files that are not as they were made.
    pub fn check(&self) -> Result<(), TargetError> {
        let (files, name) = (self.files(), &self.set().name);
        let refused = |file: &str, what: String| {
            let file = shown(&files.join(file));
            let mend = format!("remove it with `plimsoll data drop {name}` and make it again");
            TargetError::Unsafe(format!("data set `{name}` is damaged, or was changed: `{file}` {what}; {mend}"))
        };
        let found: BTreeMap<String, u64> = files_in(&files)?.into_iter().collect();
        for (file, seal) in &self.manifest.files {
            match found.get(file) {
                None => return Err(refused(file, "is missing".into())),
                Some(bytes) if *bytes != seal.bytes => {
                    return Err(refused(file, format!("has {bytes} bytes, and was made with {}", seal.bytes)));
                }
                Some(bytes) if sample_of(&files.join(file), *bytes)? != seal.sample => {
                    return Err(refused(file, "does not hold what was made".into()));
                }
                Some(_) => {}
            }
        }
        match found.keys().find(|file| !self.manifest.files.contains_key(*file)) {
            Some(added) => Err(refused(added, "was added".into())),
            None => Ok(()),
        }
    }

    /// Notes that a run uses it at the time `when`.
    pub fn note_use(&self, when: &str) {
        // A set that cannot be written can be used all the same.
        let _ = replace_file(&self.locked, &self.path, USED, when.as_bytes());
    }

    fn used(&self) -> Option<String> {
        String::from_utf8(read_inside(&self.locked, USED, 64)?).ok()
    }

    /// Removes the set.
    ///
    /// # Errors
    /// If something in it was not made by plimsoll. Nothing is removed then.
    pub fn remove(self) -> Result<(), TargetError> {
        let foreign = |path: &Path| {
            let (name, path) = (&self.manifest.set.name, shown(path));
            TargetError::Unsafe(format!("data set `{name}`: plimsoll did not make `{path}`; nothing was removed"))
        };
        let known = [MANIFEST, FILES, USED].map(str::to_owned);
        let temporary = [MANIFEST, USED].map(|name| format!("{name}{NEW}"));
        for entry in fs::read_dir(path_inside(&self.locked, "")).trying("list", &self.path)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known.contains(&name) && !temporary.contains(&name) {
                return Err(foreign(&self.path.join(name)));
            }
        }
        // A set that is half made has no list of its files: what is there, the plimsoll that was killed has left.
        if self.manifest.complete {
            let files = files_in(&self.files())?;
            if let Some((added, _)) = files.iter().find(|(name, _)| !self.manifest.files.contains_key(name)) {
                return Err(foreign(&self.files().join(added)));
            }
        }
        // remove_dir_all follows no link.
        absent_is_fine(fs::remove_dir_all(path_inside(&self.locked, FILES))).trying("remove", self.files())?;
        // The manifest goes last: a kill leaves a set that can be removed again.
        for name in [temporary[1].as_str(), USED, temporary[0].as_str(), MANIFEST] {
            absent_is_fine(fs::remove_file(path_inside(&self.locked, name))).trying("remove", self.path.join(name))?;
        }
        fs::remove_dir(&self.path).trying("remove", &self.path)?;
        // It stays if there are other sets.
        let _ = self.path.parent().map(fs::remove_dir);
        Ok(())
    }

    fn save(&self) -> Result<(), TargetError> {
        let text = serde_json::to_vec_pretty(&self.manifest).expect("a manifest is plain data");
        replace_file(&self.locked, &self.path, MANIFEST, &text)
    }
}

/// The set `name` in `dir` to be removed, whatever state it is in.
pub fn open_to_remove(dir: &Path, name: &str) -> Result<SetDir, TargetError> {
    match find(dir, name, SetLock::Alone) {
        Ok(found) => Ok(found),
        Err(Unopened::Absent) => Err(absent(dir, name)),
        Err(Unopened::InUse) => Err(in_use(name)),
        Err(Unopened::Damaged(why)) => {
            let path = shown(&dir.join(SETS).join(name));
            Err(TargetError::Unsafe(format!("data set `{name}`: {why}; nothing was removed: remove `{path}` by hand")))
        }
        Err(Unopened::Failed(error)) => Err(error),
    }
}

/// Whether the file system of the set `name` in `dir` makes copies that share the blocks of the original.
pub fn shares_blocks(dir: &Path, name: &str) -> bool {
    let Ok(found) = find(dir, name, SetLock::Shared) else { return false };
    let copy = || -> rustix::io::Result<()> {
        let manifest =
            openat(&found.locked, MANIFEST, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        // It has no name, and is gone when it is closed.
        let copy =
            openat(&found.locked, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        ioctl_ficlone(&copy, &manifest)
    };
    copy().is_ok()
}

/// What the set `name` in `dir` is; `None` if there is no such set, or nothing can be read of it.
pub fn one(dir: &Path, name: &str) -> Option<DataSet> {
    model::is_set_name(name).then(|| look_at(dir, name.to_owned()).set).flatten()
}

/// All sets in `dir`, by their names.
pub fn all(dir: &Path) -> Vec<FoundSet> {
    names(dir).into_iter().map(|name| look_at(dir, name)).collect()
}

fn look_at(dir: &Path, name: String) -> FoundSet {
    let without = |state| FoundSet { name: name.clone(), state, set: None, used: None, changed: None };
    match find(dir, &name, SetLock::Shared) {
        Ok(found) => {
            let state = if found.manifest.complete { SetState::Complete } else { SetState::Making };
            FoundSet { used: found.used(), set: Some(found.manifest.set), ..without(state) }
        }
        Err(Unopened::InUse) => without(SetState::InUse),
        Err(Unopened::Absent) => without(SetState::Damaged("it was removed just now".into())),
        Err(Unopened::Damaged(why)) => without(SetState::Damaged(why)),
        Err(Unopened::Failed(error)) => without(SetState::Damaged(error.to_string())),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(sets) = open_directory(&dir.join(SETS)) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(path_inside(&sets, "")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| model::is_set_name(name));
    names.sort();
    names
}

fn find(dir: &Path, name: &str, lock: SetLock) -> Result<SetDir, Unopened> {
    let path = dir.join(SETS).join(name);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Both by their handles: a link in the place of one of them is refused.
    let opened = open_directory(&dir.join(SETS)).and_then(|sets| openat(sets, name, flags, Mode::empty()));
    let locked = match opened {
        Err(Errno::NOENT) => return Err(Unopened::Absent),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(Unopened::Damaged(format!("`{}` is a link, or no directory", shown(&path))));
        }
        opened => File::from(opened.trying("open", &path).map_err(Unopened::Failed)?),
    };
    let operation = match lock {
        SetLock::Shared => FlockOperation::NonBlockingLockShared,
        SetLock::Alone => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(&locked, operation) {
        Err(Errno::WOULDBLOCK) => return Err(Unopened::InUse),
        done => done.trying("lock", &path).map_err(Unopened::Failed)?,
    }
    let manifest = read_manifest(&locked).filter(|manifest| manifest.set.name == name);
    let damaged =
        || Unopened::Damaged(format!("`{MANIFEST}` is missing, unreadable or of another version of plimsoll"));
    manifest.map(|manifest| SetDir { path, locked, manifest }).ok_or_else(damaged)
}

fn read_manifest(locked: &File) -> Option<SetManifest> {
    let manifest: SetManifest = serde_json::from_slice(&read_inside(locked, MANIFEST, MANIFEST_BYTES_MAX)?).ok()?;
    (manifest.format == FORMAT && manifest.made_by == "plimsoll").then_some(manifest)
}

fn make_private(dir: &Path) -> Result<(), TargetError> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.trying("create", dir),
    }
}

/// The files below `dir` with their lengths. A link is refused: no engine makes one.
fn files_in(dir: &Path) -> Result<Vec<(String, u64)>, TargetError> {
    let (mut files, mut left) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).trying("list", &next)? {
            let path = entry.trying("list", &next)?.path();
            let meta = path.symlink_metadata().trying("look at", &path)?;
            if meta.is_symlink() {
                let path = shown(&path);
                return Err(TargetError::Unsafe(format!(
                    "plimsoll did not make the link `{path}`; it was left as it is"
                )));
            } else if meta.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("it is below");
                files.push((name.to_string_lossy().into_owned(), meta.len()));
            }
        }
    }
    Ok(files)
}

/// A checksum of blocks of the file at `path`, which has so many bytes: FNV-1a
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>), which tells apart what was not made to look alike.
fn sample_of(path: &Path, bytes: u64) -> Result<u64, TargetError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).trying("open", path)?;
    let last = bytes.saturating_sub(SAMPLE_BYTES);
    let mut places: Vec<u64> =
        (0..SAMPLES).map(|nth| (u128::from(last) * u128::from(nth) / u128::from(SAMPLES - 1)) as u64).collect();
    places.dedup();
    let (mut hash, mut block) = (0xcbf2_9ce4_8422_2325_u64, [0; SAMPLE_BYTES as usize]);
    for place in places {
        let read = file.read_at(&mut block, place).trying("read", path)?;
        hash = block[..read].iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    }
    Ok(hash)
}

fn taken(dir: &Path, name: &str) -> TargetError {
    match look_at(dir, name.to_owned()).state {
        SetState::Making => half_made(name),
        SetState::InUse => in_use(name),
        _ => taken_name(name),
    }
}

/// The error that a set of that name is there already.
pub fn taken_name(name: &str) -> TargetError {
    TargetError::Unsafe(format!(
        "there is a data set `{name}` already; take another name, or remove it with `plimsoll data drop {name}`"
    ))
}

/// The error that the set `name` was not made to its end.
pub fn half_made(name: &str) -> TargetError {
    TargetError::Unsafe(format!(
        "data set `{name}` is half made: what made it was ended; remove it with `plimsoll data drop {name}` and make it again"
    ))
}

fn in_use(name: &str) -> TargetError {
    TargetError::Unsafe(format!("data set `{name}` is in use by another plimsoll; wait until that has ended"))
}

fn absent(dir: &Path, name: &str) -> TargetError {
    no_such_set(name, &format!("in `{}`", shown(dir)), &names(dir))
}

/// The error that `place` has no set `name`. `there` are the sets that it has.
pub fn no_such_set(name: &str, place: &str, there: &[String]) -> TargetError {
    let name = name.escape_debug();
    let there = match there {
        [] => format!("make it with `plimsoll data make WORKLOAD --name {name}`"),
        names => format!("there are `{}`", names.join("`, `")),
    };
    TargetError::Unsafe(format!("there is no data set `{name}` {place}; {there}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Trial;
    use std::os::unix::fs::symlink;

    fn set(name: &str) -> DataSet {
        DataSet {
            name: name.into(),
            trial: Trial::simple("sqlite", "oltp"),
            engine_version: "3".into(),
            generator_version: 1,
            plimsoll_version: "0.1.0".into(),
            rows: Some(10),
            bytes: 4096,
            seconds: 0.5,
            made: "2026-11-29 03:05:00".into(),
            command: "plimsoll data make oltp --name big".into(),
        }
    }

    fn complete(dir: &Path, name: &str) -> SetDir {
        let mut made = SetDir::create(dir, set(name)).unwrap();
        fs::create_dir(made.files().join("inner")).unwrap();
        fs::write(made.files().join("inner/db"), vec![7; 1 << 20]).unwrap();
        made.seal(set(name)).unwrap();
        made
    }

    fn refusal(opened: Result<SetDir, TargetError>) -> String {
        opened.unwrap_err().to_string()
    }

    #[test]
    fn a_set_is_found_as_it_was_made_and_its_removal_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(complete(dir.path(), "big"));
        let found = SetDir::open(dir.path(), "big", SetLock::Shared).unwrap();
        assert_eq!(found.set(), &set("big"));
        found.check().unwrap();
        found.note_use("2026-11-29 04:00:00");
        let listed = all(dir.path());
        assert!(listed.len() == 1 && listed[0].state == SetState::Complete, "{listed:?}");
        assert_eq!(listed[0].used.as_deref(), Some("2026-11-29 04:00:00"));
        drop(found);
        open_to_remove(dir.path(), "big").unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_set_that_was_not_finished_is_listed_and_removed_and_cannot_be_used() {
        let dir = tempfile::tempdir().unwrap();
        let made = SetDir::create(dir.path(), set("half")).unwrap();
        fs::write(made.files().join("db"), b"some").unwrap();
        assert_eq!(all(dir.path())[0].state, SetState::InUse, "it is being made");
        drop(made);
        assert_eq!(all(dir.path())[0].state, SetState::Making);
        assert!(refusal(SetDir::open(dir.path(), "half", SetLock::Shared)).contains("is half made"));
        assert!(refusal(SetDir::create(dir.path(), set("half"))).contains("plimsoll data drop half"));
        open_to_remove(dir.path(), "half").unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_set_in_use_is_used_by_others_and_removed_by_nobody() {
        let dir = tempfile::tempdir().unwrap();
        drop(complete(dir.path(), "big"));
        let used = SetDir::open(dir.path(), "big", SetLock::Shared).unwrap();
        assert!(SetDir::open(dir.path(), "big", SetLock::Shared).is_ok());
        assert!(refusal(open_to_remove(dir.path(), "big")).contains("is in use"));
        drop(used);
        assert!(open_to_remove(dir.path(), "big").is_ok());
    }

    #[test]
    fn files_that_are_not_as_they_were_made_are_named() {
        type Change = fn(&Path) -> std::io::Result<()>;
        let changes: [(Change, &str); 4] = [
            (|files| fs::remove_file(files.join("inner/db")), "is missing"),
            (|files| fs::write(files.join("inner/db"), b"short"), "has 5 bytes, and was made with 1048576"),
            (|files| fs::write(files.join("inner/db"), vec![8; 1 << 20]), "does not hold what was made"),
            (|files| fs::write(files.join("more"), b"x"), "was added"),
        ];
        for (change, why) in changes {
            let dir = tempfile::tempdir().unwrap();
            let made = complete(dir.path(), "big");
            change(&made.files()).unwrap();
            let refused = made.check().unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains("plimsoll data drop big"), "{refused}");
        }
    }

    #[test]
    fn what_plimsoll_did_not_make_stays_with_all_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::create_dir(&victim).and_then(|()| fs::write(victim.join("mine"), b"x")).unwrap();
        let add: [fn(&SetDir, &Path) -> std::io::Result<()>; 3] = [
            |made, _| fs::write(made.path.join("notes"), b"x"),
            |made, _| fs::write(made.files().join("notes"), b"x"),
            |made, victim| symlink(victim, made.files().join("inner/link")),
        ];
        for (nth, add) in add.into_iter().enumerate() {
            let made = complete(dir.path(), &format!("set{nth}"));
            add(&made, &victim).unwrap();
            let files = made.files();
            assert!(made.remove().unwrap_err().to_string().contains("did not make"));
            assert!(files.join("inner/db").exists() && victim.join("mine").exists());
        }
        symlink(&victim, dir.path().join(SETS).join("linked")).unwrap();
        assert!(refusal(open_to_remove(dir.path(), "linked")).contains("is a link"));
        assert!(refusal(SetDir::open(dir.path(), "linked", SetLock::Shared)).contains("is a link"));
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_that_are() {
        let dir = tempfile::tempdir().unwrap();
        assert!(refusal(SetDir::open(dir.path(), "big", SetLock::Shared)).ends_with("make WORKLOAD --name big`"));
        drop((complete(dir.path(), "one"), complete(dir.path(), "two")));
        assert!(refusal(SetDir::open(dir.path(), "big", SetLock::Shared)).ends_with("there are `one`, `two`"));
        fs::write(dir.path().join(SETS).join("one").join(MANIFEST), b"{").unwrap();
        assert!(refusal(SetDir::open(dir.path(), "one", SetLock::Shared)).contains("is damaged"));
    }
}
