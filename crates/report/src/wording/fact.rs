//! The values of facts as people read them.
//!
//! In: a recorded fact. Out: text with its unit. Limits: what the name of a fact does not tell stays as it was recorded.

use super::quantity::{bytes, time};
use model::{Bytes, Fact};

/// The value of `fact`: bytes, seconds and nanoseconds with the unit that fits, yes and no for true and false.
pub fn fact_value(fact: &Fact) -> String {
    let (name, value) = (fact.name.as_str(), fact.value.as_str());
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    match (number, value) {
        (_, "true") => "yes".to_owned(),
        (_, "false") => "no".to_owned(),
        // Sizes of blocks are powers of two.
        (Some(number), _) if name.ends_with("block_bytes") => Bytes(number as u64).to_string(),
        (Some(number), _) if name.ends_with("bytes") => bytes(number).to_string(),
        (Some(seconds), _) if name.ends_with("_s") && !name.ends_with("per_s") => time(seconds * 1e9).to_string(),
        (Some(ns), _) if name.ends_with("_ns") => time(ns).to_string(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_unit_that_its_name_carries() {
        let shown = |name: &str, value: &str| fact_value(&Fact::new(name, value));
        assert_eq!(shown("memory.total_bytes", "25276510208"), "25.3 GB");
        assert_eq!(shown("disk.physical_block_bytes", "4096"), "4 KiB");
        assert_eq!(shown("load.rest_s", "0.011"), "11.0 ms");
        assert_eq!(shown("uring.deferred_taskrun", "true"), "yes");
        assert_eq!(shown("sqlite.cache_size", "-65536"), "-65536");
        assert_eq!(shown("memory.total_bytes", "unknown"), "unknown");
        assert_eq!(shown("done_per_s", "100"), "100");
    }
}
