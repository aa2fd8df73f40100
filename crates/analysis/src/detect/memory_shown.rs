//! Finds data that is said to fit the cache, or not to, where reads show the contrary.
//!
//! In: the sizes of data and cache, and what an insert read. Out: a note.
//! Limits: an LSM tree reads for its compactions even where everything fits, and need not read where nothing does.

use super::detector::{Detector, PointView};
use crate::cost::{Found, READ_BYTES_PER_INSERT_MIN};
use crate::text::{bytes, kilobytes};
use crate::{Finding, InsertCost, Severity};
use model::units::three_digits;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "memory-shown",
    help: "the sizes of data and cache say one thing about memory, and the reads another",
    explain: "Whether data is in memory is shown by reads and not by sizes. Where the data is larger than the cache and inserts \
              read less than a page of 16 KiB for every hundred rows, something else held it (the page cache; a limit on memory \
              takes it away), or the inserts touched a small part, or an LSM tree inserted without reading. Where the data fits \
              and inserts read more than that, the cache was cold, or holds other things, or compactions read. The figures are \
              true either way, but of what the reads show.",
    detect,
};

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(cost) = view.inserts else { return Vec::new() };
    let sizes = cost.data_per_cache.zip(cost.found).zip(cost.block_read_bytes_per_insert);
    let Some(((per_cache, found), read)) = sizes else { return Vec::new() };
    let title = match found {
        Found::InMemory if per_cache > 1.0 => format!(
            "the data is {} times the cache, and yet inserts read next to nothing: they were in memory",
            three_digits(per_cache)
        ),
        Found::LargerThanMemory if per_cache < 1.0 => {
            format!("the data fits the cache, and yet {} were read per insert", kilobytes(read))
        }
        _ => return Vec::new(),
    };
    vec![DETECTOR.finding(
        Severity::Note,
        title,
        evidence(cost, read),
        "set `--cache` and `--memory-limit` to what is meant",
    )]
}

fn evidence(cost: &InsertCost, read: f64) -> String {
    let size = |of: Option<f64>| of.map_or("unknown".to_owned(), bytes);
    let sizes = [cost.table_bytes(), cost.cache_bytes, cost.memory_bytes].map(size);
    let least = kilobytes(READ_BYTES_PER_INSERT_MIN);
    format!(
        "data {}, cache {}, memory {}; {} read per insert, of which {least} count as none",
        sizes[0],
        sizes[1],
        sizes[2],
        kilobytes(read)
    )
}

#[cfg(test)]
mod tests {
    use crate::simulate::{Simulation, inserting, params};
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
        let finding = sized(8_000_000, 10.0).finding("memory-shown");
        let expected = "the data is 8.00 times the cache, and yet inserts read next to nothing: they were in memory";
        assert_eq!(finding.title, expected);
        let evidence =
            "data 8.00 MB, cache 1.00 MB, memory unknown; 0.01 KB read per insert, of which 0.16 KB count as none";
        assert_eq!(finding.evidence, evidence);
    }

    #[test]
    fn data_that_fits_and_is_read_nevertheless_is_told() {
        let finding = sized(500_000, 2_000.0).finding("memory-shown");
        assert_eq!(finding.title, "the data fits the cache, and yet 2.00 KB were read per insert");
    }

    #[test]
    fn sizes_that_agree_with_the_reads_are_no_finding() {
        assert!(sized(8_000_000, 2_000.0).findings("memory-shown").is_empty());
        assert!(sized(500_000, 0.0).findings("memory-shown").is_empty());
    }
}
