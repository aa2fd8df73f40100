//! What the steps of one data set hand on to each other.
//!
//! In: an instance makes one with its data and gives it to every program on it. Out: how far the rows of each table have been
//! dealt out to clients. Limits: at most [`TABLES_MAX`] tables; it lives as long as the instance, and no longer.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The most tables of a workload.
pub const TABLES_MAX: usize = 1_000;

/// How far the trials that went on with one data set have come. Clones are the same one.
#[derive(Clone)]
pub struct Carried {
    dealt: Arc<[AtomicU64]>,
}

impl Carried {
    /// How many rows of `table` (from 0) were dealt out to clients so far.
    pub(crate) fn dealt(&self, table: usize) -> &AtomicU64 {
        &self.dealt[table]
    }
}

impl Default for Carried {
    fn default() -> Self {
        Carried { dealt: (0..TABLES_MAX).map(|_| AtomicU64::new(0)).collect() }
    }
}
