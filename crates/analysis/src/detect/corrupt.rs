//! Finds written data that did not come back as it was written.
//!
//! In: the facts of the check after the run, and the failures reported in it. Out: an error. Limits: only data that was
//! written with `verify` can be checked, and what the load overwrote before it was read back is seen by its reads alone.

use super::detector::{Detector, PointView};
use crate::facts::fact;
use crate::{Finding, Severity};
use model::EventKind;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "corrupt",
    help: "data did not come back as it was written",
    explain: "With `verify = true` every 4 KiB that is written says what it is, reads check it, and after the run all of it is \
              read back. A unit is corrupt where its content is not that of its checksum (bits flipped, a write torn, \
              something else written over it), stale where it is what an earlier write left though a later one was \
              acknowledged (a write lost), and misdirected where it is whole and belongs to another place (written to, or \
              read from, the wrong one). Storage that does any of these has failed, whatever its speed, so the point is \
              invalid. Look at the kernel's log (`dmesg`) and the drive's own (SMART); `plimsoll verify RUN` checks data \
              that still exists.",
    detect,
};

/// How the text of a failure of that class begins.
const CLASS: &str = "corrupt: ";
const QUOTED_MAX: usize = 5;

fn detect(view: &PointView) -> Vec<Finding> {
    let count = |sort: &str| {
        let value = fact(&view.point.facts, &format!("verify.{sort}")).and_then(|value| value.parse().ok());
        value.filter(|count: &u64| *count > 0).map(|count| format!("{count} {sort}"))
    };
    let sorts: Vec<String> = ["corrupt", "stale", "misdirected"].into_iter().filter_map(count).collect();
    let told: Vec<&str> = view.events(EventKind::Failure).filter_map(|event| event.text.strip_prefix(CLASS)).collect();
    let title = match (sorts.is_empty(), told.is_empty()) {
        (true, true) => return Vec::new(),
        (true, false) => "reads did not bring what was written".to_string(),
        (false, _) => format!("units of 4 KiB did not come back as they were written: {}", sorts.join(", ")),
    };
    let evidence = match told.len() {
        0 => "the check after the run counted them".into(),
        _ => format!("first: {}", told[..told.len().min(QUOTED_MAX)].join("; ")),
    };
    vec![DETECTOR.finding(
        Severity::Error,
        title,
        evidence,
        "do not use this storage before the cause is known; see `dmesg`",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulation;
    use model::Fact;

    fn checked(corrupt: u64, stale: u64) -> Simulation {
        Simulation::counts(&[1000; 10]).with(|point| {
            let counts = [("corrupt", corrupt), ("stale", stale), ("misdirected", 0)];
            let facts = counts.map(|(sort, count)| Fact::new(format!("verify.{sort}"), count.to_string()));
            point.facts.extend(facts);
        })
    }

    #[test]
    fn damage_found_after_the_run_spoils_the_point_and_is_counted_by_sort() {
        let line = "corrupt: read back: stale unit at 8192 in `data`: expected generation 2, found generation 1";
        let finding = checked(2, 1).event(EventKind::Failure, line).finding("corrupt");
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(finding.title, "units of 4 KiB did not come back as they were written: 2 corrupt, 1 stale");
        assert!(finding.evidence.starts_with("first: read back: stale unit at 8192"), "{}", finding.evidence);
    }

    #[test]
    fn damage_that_only_reads_have_seen_spoils_it_too() {
        let seen = checked(0, 0).event(EventKind::Failure, "corrupt: client 0: read of 16 KiB: corrupt unit at 0");
        assert_eq!(seen.finding("corrupt").title, "reads did not bring what was written");
    }

    #[test]
    fn data_that_came_back_and_other_failures_are_no_damage() {
        assert!(checked(0, 0).findings("corrupt").is_empty());
        assert!(checked(0, 0).event(EventKind::Failure, "io: client 0: read").findings("corrupt").is_empty());
    }
}
