//! The ceilings of a disk: kept when `plimsoll disk` measures them, and entered as facts when a run begins on that disk.
//!
//! In: the facts of a place, and ceilings. Out: the file `ceilings.json` among the run files, or facts
//! `ceiling.OPERATION.BLOCK.DEPTH`, the only form in which the analysis sees them. Limits: no error ends a measurement: if the
//! ceilings cannot be read or written, a note is printed and they are left out.

use crate::events::{RunObserver, note};
use chrono::{DateTime, Utc};
use model::Fact;
use std::path::Path;
use store::ceilings::{CeilingEntry, DiskIdentity, recall, remember};

/// Keeps the ceilings that were measured on the disk that `facts` describe.
pub fn keep(runs: &Path, facts: &[Fact], measured: &[CeilingEntry], observer: &mut dyn RunObserver) {
    let Some(disk) = DiskIdentity::of(facts).filter(|_| !measured.is_empty()) else { return };
    let kept = match host::safety::check_links(runs) {
        Ok(()) => remember(runs, &disk, measured).map_err(|error| error.to_string()),
        Err(refusal) => Err(refusal.to_string()),
    };
    if let Err(why) = kept {
        note(observer, format!("cannot save the best rates in `{}`: {why}; use --runs", runs.display()));
    }
}

/// The ceilings that were kept of the disk that `place` describes, as facts.
pub fn known_facts(runs: &Path, place: &[Fact], observer: &mut dyn RunObserver) -> Vec<Fact> {
    let known = DiskIdentity::of(place).map_or(Ok(Vec::new()), |disk| recall(runs, &disk));
    known.map(|known| as_facts(&known)).unwrap_or_else(|why| {
        note(observer, why);
        Vec::new()
    })
}

fn as_facts(known: &[CeilingEntry]) -> Vec<Fact> {
    let each = known.iter().map(|one| {
        let name = format!("ceiling.{}.{}.{}", one.operation, one.block_bytes, one.depth);
        Fact::new(name, format!("{:.0} ops/s", one.ops_per_s))
    });
    // They may come from several calls of `plimsoll disk`: the date of the oldest warns of the one that may have changed most.
    let oldest = known.iter().min_by_key(|one| one.measured_unix_ms);
    let of_all = oldest.into_iter().flat_map(|oldest| {
        let at: DateTime<Utc> = DateTime::from_timestamp_millis(oldest.measured_unix_ms as i64).unwrap_or_default();
        let measured = Fact::new("ceiling.measured", at.format("%Y-%m-%d %H:%M UTC").to_string());
        [measured, Fact::new("ceiling.kernel", &oldest.kernel)]
    });
    each.chain(of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_become_facts_with_the_date_of_the_oldest() {
        let one = |depth, measured_unix_ms| CeilingEntry {
            operation: "read".into(),
            block_bytes: 16_384,
            depth,
            ops_per_s: 5_911.7,
            measured_unix_ms,
            kernel: "6.18.5".into(),
        };
        let facts = as_facts(&[one(1, 1_795_200_000_000), one(32, 1_795_100_000_000)]);
        let shown: Vec<String> = facts.iter().map(|fact| format!("{} {}", fact.name, fact.value)).collect();
        assert_eq!(shown[..2], ["ceiling.read.16384.1 5912 ops/s", "ceiling.read.16384.32 5912 ops/s"]);
        assert_eq!(shown[2..], ["ceiling.measured 2026-11-19 14:53 UTC", "ceiling.kernel 6.18.5"]);
        assert_eq!(as_facts(&[]), []);
    }
}
