//! Finds written data that did not come back as it was written.
//!
//! In: the facts of the check after the run, and the failures reported in it. Out: an error. Limits: only data that was
//! written with `verify` can be checked; data that the load overwrote before it was read back is checked by its reads alone.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use model::EventKind;
use serde::Serialize;
use words::quantity::{range, whole};

/// Units of 4 KiB that did not come back as they were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorruptData {
    /// Units whose content does not match their checksum.
    pub corrupt_units: u64,
    /// Units that hold an earlier write.
    pub stale_units: u64,
    /// Units that belong to another place.
    pub misdirected_units: u64,
    /// The first failures of reads as the driver described them.
    pub quoted: Vec<String>,
}

impl CorruptData {
    /// How many units the check after the run counted.
    pub fn units(&self) -> u64 {
        self.corrupt_units + self.stale_units + self.misdirected_units
    }
}

/// How the text of a failure of that class begins.
const CLASS: &str = "corrupt: ";

const QUOTED_MAX: usize = 5;

/// Whether data of the point was found to be damaged.
pub fn is_found(view: &PointView) -> bool {
    !detect(view).is_empty()
}

fn detect(view: &PointView) -> Vec<Finding> {
    let damage = view.point.traits.outcome.damage;
    let described = view.events(EventKind::Failure).filter_map(|event| event.text.strip_prefix(CLASS));
    let detail = CorruptData {
        corrupt_units: damage.corrupt,
        stale_units: damage.stale,
        misdirected_units: damage.misdirected,
        quoted: described.take(QUOTED_MAX).map(str::to_owned).collect(),
    };
    if detail.units() == 0 && detail.quoted.is_empty() {
        Vec::new()
    } else {
        vec![Finding::new(Severity::Error, detail).next(NextStep::DistrustStorage)]
    }
}

impl FindingKind for CorruptData {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "read back wrong data";

    fn is_like(&self, other: &Self) -> bool {
        let kinds = |one: &Self| one.counts().map(|(count, _)| count > 0);
        kinds(self) == kinds(other)
    }

    fn title(alike: &[&Self]) -> String {
        if alike[0].units() == 0 {
            return "reads did not return what was written".to_owned();
        }
        let kinds = alike[0].counts().into_iter().enumerate().filter(|(_, (count, _))| *count > 0);
        let of = |(nth, (_, kind)): (usize, (u64, &str))| {
            format!("{} {kind}", range(alike, |one| one.counts()[nth].0 as f64, whole))
        };
        let kinds: Vec<String> = kinds.map(of).collect();
        let is_one = alike.iter().all(|one| one.units() == 1);
        let blocks = if is_one { "1 block of 4 KiB is" } else { "blocks of 4 KiB are" };
        format!("{blocks} damaged: {}", kinds.join(", "))
    }

    fn evidence(&self) -> String {
        if self.quoted.is_empty() {
            "counted by the check after the run".to_owned()
        } else {
            format!("first: {}", self.quoted.join("; "))
        }
    }
}

impl CorruptData {
    fn counts(&self) -> [(u64, &'static str); 3] {
        [(self.corrupt_units, "corrupt"), (self.stale_units, "stale"), (self.misdirected_units, "misdirected")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
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
        let damaged = checked(2, 1).event(EventKind::Failure, line);
        assert_eq!(damaged.finding("corrupt").severity, Severity::Error);
        let found: CorruptData = damaged.figures();
        assert_eq!((found.corrupt_units, found.stale_units, found.misdirected_units), (2, 1, 0));
        assert!(found.quoted[0].starts_with("read back: stale unit at 8192"), "{found:?}");
    }

    #[test]
    fn damage_that_only_reads_have_seen_spoils_it_too() {
        let seen = checked(0, 0).event(EventKind::Failure, "corrupt: client 0: read of 16 KiB: corrupt unit at 0");
        let found: CorruptData = seen.figures();
        assert_eq!((found.units(), found.quoted.len()), (0, 1));
    }

    #[test]
    fn data_that_came_back_and_other_failures_are_no_damage() {
        assert!(checked(0, 0).findings("corrupt").is_empty());
        assert!(checked(0, 0).event(EventKind::Failure, "io: client 0: read").findings("corrupt").is_empty());
    }
}
