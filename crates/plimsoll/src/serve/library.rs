//! The runs of a directory: what is known of each, without reading a file twice.
//!
//! In: a directory. Out: its runs. One thread reads them in the background, each once as long as it does not change: first
//! what a list shows of all, then each whole, for its validity and its verdict. A request waits for none of that.
//!
//! Limits: what is known is in memory and lost at the end. A symbolic link is not followed: it could lead out of the directory. While a run
//! of the directory is being recorded the thread rests nine times as long as it analyses.

use super::summary::RunSummary;
use super::{rest_after, thread_cpu_time};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

/// The runs of a directory.
pub struct Library {
    dir: PathBuf,
    shelf: Mutex<BTreeMap<OsString, ShelvedRun>>,
    /// There is something to read.
    wake: Condvar,
    is_reading: AtomicBool,
}

/// A run as it is listed.
#[derive(Clone)]
pub struct ListedRun {
    pub path: PathBuf,
    /// How its file was when it was listed.
    pub stamp: FileStamp,
    /// What is known of it.
    pub state: RunState,
}

/// What is known of a run.
#[derive(Clone)]
pub enum RunState {
    Unread,
    /// This, as far as it has been read.
    Known(Arc<RunSummary>),
    /// It cannot be read, for this reason.
    Damaged(String),
    /// Another process records it now.
    Recorded,
}

impl RunState {
    /// Whether more will be known when the file is read.
    pub fn is_incomplete(&self) -> bool {
        matches!(self, RunState::Unread) || self.is_half_read()
    }

    fn is_half_read(&self) -> bool {
        matches!(self, RunState::Known(summary) if !summary.is_whole())
    }
}

/// A run that is known by this state of its file.
struct ShelvedRun {
    stamp: FileStamp,
    state: RunState,
    is_recorded: bool,
}

/// How a file and its log are: another stamp is another content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    files: Vec<(u64, Option<SystemTime>)>,
}

impl FileStamp {
    /// When the run file was written last, in milliseconds since 1970.
    pub fn modified_unix_ms(&self) -> u64 {
        let modified = self.files.first().and_then(|(_, modified)| *modified);
        let since = modified.and_then(|modified| modified.duration_since(SystemTime::UNIX_EPOCH).ok());
        since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn of(path: &Path, file: &Metadata) -> FileStamp {
        let stamp = |file: &Metadata| (file.len(), file.modified().ok());
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = std::fs::symlink_metadata(log).ok();
        FileStamp { files: [Some(stamp(file)), log.as_ref().map(stamp)].into_iter().flatten().collect() }
    }
}

impl ListedRun {
    /// The name of the run.
    pub fn name(&self) -> &OsStr {
        self.path.file_stem().unwrap_or_default()
    }

    /// The same as bytes.
    pub fn name_bytes(&self) -> &[u8] {
        self.name().as_bytes()
    }

    /// The same for people.
    pub fn shown(&self) -> String {
        self.name().to_string_lossy().into_owned()
    }
}

impl Library {
    /// The runs of `dir`, which need not exist yet.
    ///
    /// # Errors
    /// If the thread that reads them cannot be started.
    pub fn open(dir: &Path) -> io::Result<Arc<Library>> {
        let library = Arc::new(Library {
            dir: dir.to_owned(),
            shelf: Mutex::default(),
            wake: Condvar::new(),
            is_reading: AtomicBool::new(false),
        });
        let reader = library.clone();
        thread::Builder::new().name("library".to_owned()).spawn(move || reader.read_all())?;
        Ok(library)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a file is being read.
    pub fn is_reading(&self) -> bool {
        self.is_reading.load(SeqCst)
    }

    /// The runs that are there now, by name. Those that are new or have changed are read soon.
    ///
    /// # Errors
    /// Why the directory cannot be listed.
    pub fn list(&self) -> Result<Vec<ListedRun>, String> {
        let found = self.look()?;
        let mut shelf = self.shelf();
        shelf.retain(|name, _| found.iter().any(|run| run.path.file_name() == Some(name)));
        for run in &found {
            let name = run.path.file_name().unwrap_or_default();
            let is_recorded = matches!(run.state, RunState::Recorded);
            match shelf.get_mut(name) {
                Some(known) if known.stamp == run.stamp => known.is_recorded = is_recorded,
                _ => {
                    // When its recorder has gone, nothing is known of it.
                    let state = if is_recorded { RunState::Unread } else { run.state.clone() };
                    shelf.insert(name.to_owned(), ShelvedRun { stamp: run.stamp.clone(), state, is_recorded });
                }
            }
        }
        self.wake.notify_all();
        let mut listed = found;
        for run in &mut listed {
            let known = run.path.file_name().and_then(|name| shelf.get(name));
            run.state = match known {
                Some(known) if known.is_recorded => RunState::Recorded,
                Some(known) => known.state.clone(),
                None => RunState::Unread,
            };
        }
        Ok(listed)
    }

    /// The files of runs in the directory, by name; each unread, recorded, or a link.
    fn look(&self) -> Result<Vec<ListedRun>, String> {
        let cannot = |error: &io::Error| {
            format!("The directory `{}` cannot be listed: {}.", self.dir.display(), model::system_words(error))
        };
        let entries = match std::fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| cannot(&error))?,
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let runs = paths.filter(|path| path.extension().is_some_and(|extension| extension == store::EXTENSION));
        let mut found: Vec<ListedRun> = runs.filter_map(listed).collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    fn shelf(&self) -> MutexGuard<'_, BTreeMap<OsString, ShelvedRun>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new, for as long as the process lives.
    fn read_all(&self) {
        loop {
            let (name, stamp, before) = self.next_to_read();
            let before_cpu = thread_cpu_time();
            let path = self.dir.join(&name);
            // A file that makes the analysis panic has found a bug, and must not take the other runs with it.
            self.is_reading.store(true, SeqCst);
            let read = catch_unwind(AssertUnwindSafe(|| read(&path, &before)));
            self.is_reading.store(false, SeqCst);
            let bug = || RunState::Damaged("plimsoll cannot analyse it, which is a bug of plimsoll".to_owned());
            self.put(&name, &stamp, read.unwrap_or_else(|_| bug()));
            // To read what a list shows takes milliseconds.
            if before.is_half_read() && self.shelf().values().any(|run| run.is_recorded) {
                thread::sleep(rest_after(thread_cpu_time().saturating_sub(before_cpu)));
            }
        }
    }

    /// Waits for a run of which more can be known. Those of which nothing is known come first, and the newest of them.
    fn next_to_read(&self) -> (OsString, FileStamp, RunState) {
        let mut shelf = self.shelf();
        loop {
            let readable = || shelf.iter().rev().filter(|(_, run)| !run.is_recorded);
            let unread = readable().find(|(_, run)| matches!(run.state, RunState::Unread));
            if let Some((name, run)) = unread.or_else(|| readable().find(|(_, run)| run.state.is_half_read())) {
                return (name.clone(), run.stamp.clone(), run.state.clone());
            }
            shelf = self.wake.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps what is known of a run, unless its file has changed meanwhile.
    fn put(&self, name: &OsStr, stamp: &FileStamp, state: RunState) {
        if let Some(run) = self.shelf().get_mut(name).filter(|run| run.stamp == *stamp) {
            run.state = state;
        }
    }
}

/// The run file at `path`; `None` if it has gone, or is neither a file nor a link.
fn listed(path: PathBuf) -> Option<ListedRun> {
    let file = std::fs::symlink_metadata(&path).ok()?;
    let state = match file.file_type() {
        kind if kind.is_symlink() => RunState::Damaged("it is a symbolic link, which is not followed".to_owned()),
        kind if !kind.is_file() => return None,
        _ if store::is_being_recorded(&path) => RunState::Recorded,
        _ => RunState::Unread,
    };
    let stamp = FileStamp::of(&path, &file);
    Some(ListedRun { path, stamp, state })
}

/// The next that can be known of the run at `path`.
fn read(path: &Path, before: &RunState) -> RunState {
    let summary = match before {
        RunState::Known(head) => store::read(path).map(|run| head.with_verdict(&analysis::analyse(&run))),
        _ => store::read_meta(path).map(|head| RunSummary::from_head(&head)),
    };
    summary.map_or_else(|error| RunState::Damaged(error.to_string()), |summary| RunState::Known(Arc::new(summary)))
}
