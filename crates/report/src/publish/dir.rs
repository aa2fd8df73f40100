//! A directory that is written whole or not at all.
//!
//! In: files with their contents. Out: a directory with these and a list of them. It is made under a hidden name next to its place and moved there
//! at the end; an earlier report, of which nothing but the listed files is left, is exchanged for it and removed. Limits: a killed process
//! leaves the hidden directory. On a file system that cannot exchange directories there is a moment without either.

use crate::ReportError;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Lists the files of the report.
const MANIFEST: &str = ".plimsoll-report";
const MANIFEST_HEAD: &str = "A report of plimsoll; these files are replaced by the next one.\n";
/// A longer list is none of plimsoll's.
const MANIFEST_BYTES_MAX: u64 = 4 << 20;
/// So many hidden names are tried, if killed processes of the same number have left some.
const TRIES: u32 = 100;

/// A directory that is being written.
pub struct StagedDir {
    target: PathBuf,
    staged: PathBuf,
    files: Vec<String>,
    is_finished: bool,
}

/// What is in the place of the directory.
enum Occupant {
    Nothing,
    Empty,
    /// A report whose files are these.
    Report(Vec<String>),
}

impl StagedDir {
    /// Begins to write `target`.
    ///
    /// # Errors
    /// If it holds anything but a report, or is a symbolic link.
    pub fn claim(target: &Path) -> Result<StagedDir, ReportError> {
        occupant(target)?;
        let parent = model::folder_of(target);
        fs::create_dir_all(parent).map_err(|reason| failed(parent, reason))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for nth in 0..TRIES {
            let staged = parent.join(format!(".{name}.{}-{nth}.new", std::process::id()));
            match DirBuilder::new().create(&staged) {
                Ok(()) => {
                    return Ok(StagedDir { target: target.to_owned(), staged, files: Vec::new(), is_finished: false });
                }
                Err(reason) if reason.kind() == ErrorKind::AlreadyExists => {}
                Err(reason) => return Err(failed(target, reason)),
            }
        }
        Err(failed(target, ErrorKind::AlreadyExists.into()))
    }

    /// Adds `file`, a path of plain names with slashes.
    pub fn add(&mut self, file: &str, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.staged.join(file);
        let shown = self.target.join(file);
        let written = fs::create_dir_all(path.parent().unwrap_or(&self.staged)).and_then(|()| write_new(&path, bytes));
        written.map_err(|reason| failed(&shown, reason))?;
        self.files.push(file.to_owned());
        Ok(())
    }

    /// Moves it to its place, and gives the paths of its files.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, ReportError> {
        let list: String = self.files.iter().map(|file| format!("{file}\n")).collect();
        write_new(&self.staged.join(MANIFEST), (MANIFEST_HEAD.to_owned() + &list).as_bytes())
            .map_err(|reason| failed(&self.target, reason))?;
        // What was there when the writing began may have changed since.
        let found = occupant(&self.target)?;
        match found {
            Occupant::Nothing => self.move_to_place(RenameFlags::NOREPLACE)?,
            // Only an empty directory is replaced by a plain rename.
            Occupant::Empty => self.move_to_place(RenameFlags::empty())?,
            Occupant::Report(old) => self.exchange(&old)?,
        }
        self.is_finished = true;
        Ok(self.files.iter().map(|file| self.target.join(file)).collect())
    }

    fn move_to_place(&self, flags: RenameFlags) -> Result<(), ReportError> {
        let renamed = match rustix::fs::renameat_with(CWD, &self.staged, CWD, &self.target, flags) {
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&self.staged, &self.target),
            done => done.map_err(io::Error::from),
        };
        renamed.map_err(|reason| failed(&self.target, reason))
    }

    /// The new report takes the place of the old one, whose files are then removed under the hidden name.
    fn exchange(&mut self, old: &[String]) -> Result<(), ReportError> {
        let hidden = match rustix::fs::renameat_with(CWD, &self.staged, CWD, &self.target, RenameFlags::EXCHANGE) {
            Ok(()) => self.staged.clone(),
            Err(Errno::INVAL | Errno::NOSYS) => self.exchange_in_steps()?,
            Err(errno) => return Err(failed(&self.target, errno.into())),
        };
        // From here on the hidden directory holds what was there before, and only its listed files may be removed.
        self.is_finished = true;
        remove_report(&hidden, old).map_err(|reason| failed(&hidden, reason))
    }

    /// Moves the old report aside, and gives its new path.
    fn exchange_in_steps(&self) -> Result<PathBuf, ReportError> {
        let aside = self.staged.with_extension("old");
        fs::rename(&self.target, &aside).map_err(|reason| failed(&self.target, reason))?;
        self.move_to_place(RenameFlags::empty()).inspect_err(|_| {
            // It was there a moment ago, and nothing else can be done if that fails, too.
            let _ = fs::rename(&aside, &self.target);
        })?;
        Ok(aside)
    }
}

impl Drop for StagedDir {
    fn drop(&mut self) {
        if !self.is_finished {
            // All in it was made here; what cannot be removed is no harm.
            let _ = fs::remove_dir_all(&self.staged);
        }
    }
}

fn failed(path: &Path, reason: io::Error) -> ReportError {
    ReportError::Write { path: path.to_owned(), reason }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(bytes)
}

/// What is at `target`.
fn occupant(target: &Path) -> Result<Occupant, ReportError> {
    let found = match fs::symlink_metadata(target) {
        Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(Occupant::Nothing),
        found => found.map_err(|reason| failed(target, reason))?,
    };
    if found.is_symlink() {
        return Err(ReportError::Link { path: target.to_owned() });
    }
    let mut entries = fs::read_dir(target).map_err(|reason| failed(target, reason))?;
    if entries.next().is_none() {
        return Ok(Occupant::Empty);
    }
    let Some(files) = read_manifest(&target.join(MANIFEST)) else {
        return Err(ReportError::Foreign { path: target.to_owned() });
    };
    check_listed(target, &files)?;
    Ok(Occupant::Report(files))
}

/// The files that a manifest lists; `None` if it is none, or lists what is not below its directory.
fn read_manifest(path: &Path) -> Option<Vec<String>> {
    // A pipe in its place would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let mut text = String::new();
    file.take(MANIFEST_BYTES_MAX).read_to_string(&mut text).ok()?;
    let files: Vec<String> = text.strip_prefix(MANIFEST_HEAD)?.lines().map(str::to_owned).collect();
    let is_inside = |file: &String| Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    (!files.is_empty() && files.iter().all(is_inside)).then_some(files)
}

/// Refuses a directory that holds anything but `files`, the directories that they are in, and their list.
fn check_listed(target: &Path, files: &[String]) -> Result<(), ReportError> {
    let mut known: BTreeSet<&Path> = files.iter().map(Path::new).collect();
    known.insert(Path::new(MANIFEST));
    let folders = folders_of(files);
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let path = target.join(&folder);
        for entry in fs::read_dir(&path).map_err(|reason| failed(&path, reason))? {
            let entry = entry.map_err(|reason| failed(&path, reason))?;
            let (own, kind) =
                (folder.join(entry.file_name()), entry.file_type().map_err(|reason| failed(&path, reason))?);
            if kind.is_symlink() {
                return Err(ReportError::Link { path: target.join(own) });
            }
            if kind.is_dir() && folders.contains(&own) {
                open.push(own);
            } else if !kind.is_file() || !known.contains(own.as_path()) {
                return Err(ReportError::ForeignFile { path: target.join(own) });
            }
        }
    }
    Ok(())
}

/// The directories that `files` are in.
fn folders_of(files: &[String]) -> BTreeSet<PathBuf> {
    let ancestors = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
    ancestors.filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned).collect()
}

/// Removes the report in `dir`: its files, its list, and the directories that are empty then. Nothing else is touched, and no link followed.
fn remove_report(dir: &Path, files: &[String]) -> io::Result<()> {
    let root = rustix::fs::open(dir, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    for file in files.iter().map(Path::new).chain([Path::new(MANIFEST)]) {
        remove(&root, file, AtFlags::empty())?;
    }
    // The deepest first: a path comes after those of its parents.
    for folder in folders_of(files).iter().rev() {
        remove(&root, folder, AtFlags::REMOVEDIR)?;
    }
    fs::remove_dir(dir)
}

fn remove(root: &OwnedFd, path: &Path, flags: AtFlags) -> io::Result<()> {
    let mut folder = root.try_clone()?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        let open = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = rustix::fs::openat(&folder, part.as_os_str(), open, Mode::empty())?;
    }
    let name = path.file_name().unwrap_or_default();
    match rustix::fs::unlinkat(&folder, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(dir: &Path, files: &[&str]) -> Result<Vec<PathBuf>, ReportError> {
        let mut out = StagedDir::claim(dir)?;
        files.iter().try_for_each(|file| out.add(file, file.as_bytes()))?;
        out.finish()
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_new_an_empty_and_an_own_directory_are_written_and_the_old_files_are_gone() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("out");
        write(&dir, &["index.html", "charts/a.svg", "charts/1/b.svg"]).unwrap();
        write(&dir, &["index.html", "charts/c.svg"]).unwrap();
        assert_eq!(
            (names(&dir), names(&dir.join("charts"))),
            (vec![".plimsoll-report".into(), "charts".into(), "index.html".into()], vec!["c.svg".into()])
        );
        let empty = home.path().join("empty");
        fs::create_dir(&empty).unwrap();
        write(&empty, &["x"]).unwrap();
        assert_eq!(names(home.path()), ["empty", "out"], "no hidden directory is left");
    }

    #[test]
    fn a_directory_with_anything_else_is_refused_and_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("out");
        write(&dir, &["index.html", "charts/a.svg"]).unwrap();
        fs::write(dir.join("charts/mine.txt"), "mine").unwrap();
        let error = write(&dir, &["index.html"]).unwrap_err();
        assert!(matches!(&error, ReportError::ForeignFile { path } if *path == dir.join("charts/mine.txt")), "{error}");
        assert_eq!(names(&dir.join("charts")), ["a.svg", "mine.txt"]);
        let foreign = home.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("mine.txt"), "mine").unwrap();
        assert!(matches!(write(&foreign, &["x"]), Err(ReportError::Foreign { .. })));
        let file = home.path().join("file");
        fs::write(&file, "mine").unwrap();
        assert!(matches!(write(&file, &["x"]), Err(ReportError::Write { .. })));
        assert_eq!(
            (names(&foreign), names(home.path())),
            (vec!["mine.txt".to_owned()], vec!["file".into(), "foreign".into(), "out".into()])
        );
    }

    #[test]
    fn no_link_is_followed_and_no_list_leads_out_of_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let (other, link) = (home.path().join("other"), home.path().join("link"));
        fs::create_dir(&other).unwrap();
        symlink(&other, &link).unwrap();
        assert!(matches!(write(&link, &["x"]), Err(ReportError::Link { .. })));
        let dir = home.path().join("out");
        write(&dir, &["index.html", "charts/a.svg"]).unwrap();
        fs::write(other.join("a.svg"), "mine").unwrap();
        fs::remove_dir_all(dir.join("charts")).unwrap();
        symlink(&other, dir.join("charts")).unwrap();
        assert!(matches!(write(&dir, &["index.html"]), Err(ReportError::Link { .. })));
        assert_eq!(names(&other), ["a.svg"]);
        fs::remove_file(dir.join("charts")).unwrap();
        fs::write(dir.join(MANIFEST), format!("{MANIFEST_HEAD}../other/a.svg\n")).unwrap();
        assert!(matches!(write(&dir, &["index.html"]), Err(ReportError::Foreign { .. })));
        assert_eq!(names(&other), ["a.svg"]);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut out = StagedDir::claim(&home.path().join("a/out")).unwrap();
        out.add("index.html", b"half").unwrap();
        drop(out);
        assert_eq!(names(&home.path().join("a")), Vec::<String>::new());
    }
}
