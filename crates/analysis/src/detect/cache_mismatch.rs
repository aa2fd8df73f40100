//! Finds data that fits the cache by its size, or does not, although reads show the contrary.
//!
//! In: the sizes of data and cache, and what an insert read. Out: a note.
//! Limits: an LSM tree reads for its compactions even if everything fits, and need not read if nothing does.

use super::detector::Detector;
use crate::evidence::PointView;
use crate::finding::comparison::CacheMismatch;
use crate::finding::{Code, NextStep};
use crate::numbers::cost::{DataFound, READ_BYTES_PER_INSERT_MIN};
use crate::{Finding, Severity};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::CacheMismatch, detect };

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(cost) = view.inserts else { return Vec::new() };
    let sizes = cost.data_per_cache.zip(cost.found).zip(cost.block_read_bytes_per_insert);
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
