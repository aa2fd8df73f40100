//! What the steps of one data set hand on to each other.
//!
//! In: an instance makes one with its data and gives it to every program on it. Out: how far the rows of each table have been
//! dealt out to clients, how many of the oldest were taken away again, whether the tables have their secondary indexes, and what was
//! found of data that is there already.
//! Limits: at most [`TABLES_MAX`] tables; it lives as long as the instance, and no longer.

use crate::found::FoundData;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The most tables of a workload.
pub const TABLES_MAX: usize = 1_000;

/// How far the trials that went on with one data set have come. Clones are the same one.
#[derive(Clone)]
pub struct SequenceState {
    dealt: Arc<[AtomicU64]>,
    gone: Arc<[AtomicU64]>,
    indexed: Arc<AtomicU8>,
    found: Arc<OnceLock<FoundData>>,
}

/// The values of `indexed`: not decided yet, no, yes.
const UNDECIDED: u8 = 0;
const WITHOUT: u8 = 1;
const WITH: u8 = 2;

impl SequenceState {
    /// How many rows of `table` (from 0) were dealt out to clients so far.
    pub(crate) fn dealt_rows(&self, table: usize) -> &AtomicU64 {
        &self.dealt[table]
    }

    /// How many rows of `table`, the oldest, were given to clients to delete.
    pub(crate) fn deleted_rows(&self, table: usize) -> &AtomicU64 {
        &self.gone[table]
    }

    /// The rows of `table` (from 0) are those with these ids: other hosts may have inserted and deleted some.
    pub fn set_present(&self, table: usize, ids: Range<u64>) {
        self.gone[table].store(ids.start.saturating_sub(1), Relaxed);
        self.dealt[table].store(ids.end.saturating_sub(1), Relaxed);
    }

    /// Whether the tables have their secondary indexes. The first caller, which is the first step, decides by `first`.
    pub(crate) fn indexed_or(&self, first: bool) -> bool {
        let decided = if first { WITH } else { WITHOUT };
        match self.indexed.compare_exchange(UNDECIDED, decided, Relaxed, Relaxed) {
            Ok(_) => first,
            Err(before) => before == WITH,
        }
    }

    /// What was found of data that is there already; `None` of data that plimsoll makes, and before anybody has looked.
    pub fn found(&self) -> Option<&FoundData> {
        self.found.get()
    }

    /// The data is there already, and this was found of it. The first time counts.
    pub fn set_found(&self, data: FoundData) {
        let _ = self.found.set(data);
    }

    /// From now on the tables have them.
    pub(crate) fn set_indexed(&self) {
        self.indexed.store(WITH, Relaxed);
    }
}

impl Default for SequenceState {
    fn default() -> Self {
        let [dealt, gone] = [(); 2].map(|()| (0..TABLES_MAX).map(|_| AtomicU64::new(0)).collect());
        SequenceState { dealt, gone, indexed: Arc::new(AtomicU8::new(UNDECIDED)), found: Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_says_whether_there_are_indexes_and_a_later_one_adds_them() {
        let (with, without) = (SequenceState::default(), SequenceState::default());
        assert!(with.indexed_or(true) && with.indexed_or(false));
        assert!(!without.indexed_or(false) && !without.indexed_or(true));
        without.clone().set_indexed();
        assert!(without.indexed_or(false));
    }
}
