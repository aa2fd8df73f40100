//! Finds data that fits the cache by its size, or does not, although reads show the contrary.
//!
//! In: the sizes of data and cache, and what an insert read. Out: a note.
//! Limits: an LSM tree reads for its compactions even if everything fits, and need not read if nothing does.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::numbers::cost::{DataFound, READ_BYTES_PER_INSERT_MIN};
use serde::Serialize;
use words::quantity::{bytes, kilobytes, number, or_unknown, range};

/// Reads that contradict the sizes of data and cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CacheMismatch {
    /// Whether the reads show that the data was in memory.
    pub was_in_memory: bool,
    /// The size of the data over that of the cache.
    pub data_per_cache: f64,
    /// Bytes read per insert.
    pub read_bytes_per_insert: f64,
    /// Below this, the inserts count as in memory.
    pub read_bytes_per_insert_min: f64,
    /// The size of the data; `None` if it is not known, here and below.
    pub data_bytes: Option<f64>,
    /// The size of the engine's cache.
    pub cache_bytes: Option<f64>,
    /// The memory of the machine, or the limit on it.
    pub memory_bytes: Option<f64>,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(cost) = view.inserts else { return Vec::new() };
    let sizes = cost.data_per_cache.zip(cost.found).zip(cost.per_row.read_bytes);
    let Some(((data_per_cache, found), read_bytes_per_insert)) = sizes else { return Vec::new() };
    let was_in_memory = match found {
        DataFound::InMemory if data_per_cache > 1.0 => true,
        DataFound::LargerThanMemory if data_per_cache < 1.0 => false,
        _ => return Vec::new(),
    };
    let detail = CacheMismatch {
        was_in_memory,
        data_per_cache,
        read_bytes_per_insert,
        read_bytes_per_insert_min: READ_BYTES_PER_INSERT_MIN,
        data_bytes: cost.table_bytes(),
        cache_bytes: cost.cache_bytes,
        memory_bytes: cost.memory_bytes,
    };
    vec![Finding::new(Severity::Note, detail).next(NextStep::SetCacheAndMemory)]
}

impl FindingKind for CacheMismatch {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn is_like(&self, other: &Self) -> bool {
        self.was_in_memory == other.was_in_memory
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].was_in_memory {
            format!(
                "the data is {} times the engine's cache, but inserts read almost nothing: the data was in memory, or the engine \
                 inserts without reading",
                range(alike, |one| one.data_per_cache, number)
            )
        } else {
            format!(
                "the data fits the engine's cache, but each insert read {}",
                range(alike, |one| one.read_bytes_per_insert, kilobytes)
            )
        }
    }

    fn evidence(&self) -> String {
        let size = |size: Option<f64>| or_unknown(size, bytes);
        format!(
            "data {}, cache {}, memory {}; {} read per insert (below {} counts as none)",
            size(self.data_bytes),
            size(self.cache_bytes),
            size(self.memory_bytes),
            kilobytes(self.read_bytes_per_insert),
            kilobytes(self.read_bytes_per_insert_min)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, inserting, params};
    use model::{Bytes, Fact, Value};

    /// Data in a cache of 1 MB, of which an insert reads so many bytes.
    fn sized(data_bytes: u64, read_per_insert: f64) -> Simulation {
        inserting(10, read_per_insert * 1e3, 1e6, 0.0).with(|point| {
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(1_000_000)))]);
            point.facts.push(Fact::new("data.bytes", data_bytes.to_string()));
        })
    }

    #[test]
    fn data_larger_than_the_cache_that_is_not_read_was_in_memory() {
        let expected = CacheMismatch {
            was_in_memory: true,
            data_per_cache: 8.0,
            read_bytes_per_insert: 10.0,
            read_bytes_per_insert_min: READ_BYTES_PER_INSERT_MIN,
            data_bytes: Some(8e6),
            cache_bytes: Some(1e6),
            memory_bytes: None,
        };
        assert_eq!(sized(8_000_000, 10.0).figures::<CacheMismatch>(), expected);
    }

    #[test]
    fn data_that_fits_and_is_read_nevertheless_is_told() {
        let found: CacheMismatch = sized(500_000, 2_000.0).figures();
        assert_eq!((found.was_in_memory, found.data_per_cache, found.read_bytes_per_insert), (false, 0.5, 2_000.0));
    }

    #[test]
    fn sizes_that_agree_with_the_reads_are_no_finding() {
        assert!(sized(8_000_000, 2_000.0).findings("cache-mismatch").is_empty());
        assert!(sized(500_000, 0.0).findings("cache-mismatch").is_empty());
    }
}
