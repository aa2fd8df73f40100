//! Reports and comparisons, made when they are asked for and kept in memory while their run files do not change.
//!
//! In: listed runs. Out: complete HTML files. Limits: one is made at a time, so that the memory for a whole run is needed once; at most
//! [`KEPT_BYTES_MAX`] are kept, and those that were not asked for longest go first.

use super::library::{FileStamp, ListedRun};
use crate::read_run::ReadRun;
use analysis::compare::{ComparedRun, compare_runs, overlay_runs};
use report::library::with_link_to_list;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

const KEPT_BYTES_MAX: usize = 64 << 20;

/// What was made of which files.
type Sources = Vec<(PathBuf, FileStamp)>;

/// The documents that were made.
#[derive(Default)]
pub struct Documents {
    /// Those asked for last are at the end.
    kept: Mutex<Vec<(Sources, Arc<[u8]>)>>,
    /// Held while one is made.
    making: Mutex<()>,
}

impl Documents {
    /// The report of `run`.
    ///
    /// # Errors
    /// Why the run cannot be read.
    pub fn report(&self, run: &ListedRun) -> Result<Arc<[u8]>, String> {
        self.made(sources(std::slice::from_ref(run)), || {
            let run = read(run)?;
            Ok(report::html(&run.analysis))
        })
    }

    /// The comparison of `runs`; the oldest is what the others are compared with.
    ///
    /// # Errors
    /// Why a run cannot be read.
    pub fn comparison(&self, mut runs: Vec<ListedRun>) -> Result<Arc<[u8]>, String> {
        // The same runs make the same comparison, in whatever order they were asked for.
        runs.sort_by(|one, other| one.path.cmp(&other.path));
        self.made(sources(&runs), || {
            let mut runs: Vec<ReadRun> = runs.iter().map(read).collect::<Result<_, _>>()?;
            runs.sort_by_key(|run| run.data.meta.started_unix_ms);
            let compared: Vec<ComparedRun> = runs.iter().map(ReadRun::as_compared).collect();
            Ok(report::comparison_html(&compare_runs(&compared), &overlay_runs(&compared)))
        })
    }

    /// Whether one is being made.
    pub fn is_making(&self) -> bool {
        matches!(self.making.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// What is kept of `sources`, or what `make` makes of them.
    fn made(&self, sources: Sources, make: impl FnOnce() -> Result<String, String>) -> Result<Arc<[u8]>, String> {
        if let Some(kept) = self.find(&sources) {
            return Ok(kept);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have made it while this one waited.
        if let Some(kept) = self.find(&sources) {
            return Ok(kept);
        }
        let document: Arc<[u8]> = with_link_to_list(&make()?).into_bytes().into();
        self.keep(sources, document.clone());
        Ok(document)
    }

    fn find(&self, sources: &Sources) -> Option<Arc<[u8]>> {
        let mut kept = self.kept();
        let place = kept.iter().position(|(known, _)| known == sources)?;
        let found = kept.remove(place);
        let document = found.1.clone();
        kept.push(found);
        Some(document)
    }

    fn keep(&self, sources: Sources, document: Arc<[u8]>) {
        let mut kept = self.kept();
        let paths = |sources: &Sources| sources.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        // What was made of the same files before they changed is of no use.
        kept.retain(|(known, _)| paths(known) != paths(&sources));
        kept.push((sources, document));
        while kept.len() > 1 && kept.iter().map(|(_, document)| document.len()).sum::<usize>() > KEPT_BYTES_MAX {
            kept.remove(0);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(Sources, Arc<[u8]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sources(runs: &[ListedRun]) -> Sources {
    runs.iter().map(|run| (run.path.clone(), run.stamp.clone())).collect()
}

fn read(run: &ListedRun) -> Result<ReadRun, String> {
    // The listing does not follow links, and neither must what is read after it.
    if std::fs::symlink_metadata(&run.path).is_ok_and(|file| file.is_symlink()) {
        return Err(format!("The run `{}` is a symbolic link, which is not followed.", run.shown()));
    }
    ReadRun::read(&run.path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(documents: &Documents, name: &str, bytes: usize) -> usize {
        let sources = vec![(PathBuf::from(name), FileStamp::default())];
        let mut times = 0;
        let make = || {
            times += 1;
            Ok("x".repeat(bytes))
        };
        documents.made(sources, make).unwrap();
        times
    }

    #[test]
    fn a_document_is_made_once_and_what_is_not_asked_for_goes_first() {
        let documents = Documents::default();
        let half = KEPT_BYTES_MAX / 2 - 10;
        assert_eq!([made(&documents, "a", half), made(&documents, "b", half)], [1, 1]);
        assert_eq!([made(&documents, "a", half), made(&documents, "c", half)], [0, 1]);
        assert_eq!([made(&documents, "a", half), made(&documents, "b", half)], [0, 1]);
    }

    #[test]
    fn what_could_not_be_made_is_tried_again() {
        let documents = Documents::default();
        let sources = || vec![(PathBuf::from("a"), FileStamp::default())];
        assert!(documents.made(sources(), || Err("no".to_owned())).is_err());
        assert!(documents.made(sources(), || Ok("yes".to_owned())).is_ok());
    }
}
