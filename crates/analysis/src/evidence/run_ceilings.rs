//! What the file points of a run have shown that each device can do, gathered once for all of its points.
//!
//! In: the recorded points of a run. Out: for each device and file system the ceilings that were shown on it, of each sort of operations and
//! block the highest. Limits: random blocks with direct I/O, as fast as they went; other points show no ceiling.

use crate::Rounds;
use crate::math::units::Share;
use crate::recorded::facts::{is_direct_file, slots};
use model::{AccessPattern, Bytes, CounterRole, FileSystem, Nanos, Pacing, Phase, PointData, PointState, SourceDef};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// The ceilings that the points of a run have shown.
#[derive(Default)]
pub struct RunCeilings(HashMap<CeilingPlace, Vec<ShownCeiling>>);

/// A device and the file system on it: the volumes of one run have the same device one after the other.
type CeilingPlace = (String, Option<String>);

/// What two ceilings have in common of which only the higher counts: the bits of the share of reads, and the block.
type Sort = (u64, u64);

impl RunCeilings {
    /// Those of `points`, all the points of a run.
    pub fn from_points(points: &[PointData]) -> RunCeilings {
        let mut shown_at: HashMap<CeilingPlace, Vec<ShownCeiling>> = HashMap::new();
        for point in points {
            if let Some((place, ceiling)) = place_of(point).zip(shown(point)) {
                shown_at.entry(place).or_default().push(ceiling);
            }
        }
        RunCeilings(shown_at.into_iter().map(|(place, all)| (place, highest_of_each_sort(all))).collect())
    }

    /// Those that were shown where `point` is, in the order of the run.
    pub fn at_place_of(&self, point: &PointData) -> &[ShownCeiling] {
        place_of(point).and_then(|place| self.0.get(&place)).map_or(&[], Vec::as_slice)
    }
}

/// `all` without those that another of the same sort exceeds. Of equal ones the last stays.
fn highest_of_each_sort(all: Vec<ShownCeiling>) -> Vec<ShownCeiling> {
    let mut highest: HashMap<Sort, usize> = HashMap::new();
    for (nth, ceiling) in all.iter().enumerate() {
        let known = highest.entry(sort_of(ceiling)).or_insert(nth);
        if ceiling.ops_per_s >= all[*known].ops_per_s {
            *known = nth;
        }
    }
    let numbered = all.into_iter().enumerate();
    numbered.filter(|(nth, ceiling)| highest[&sort_of(ceiling)] == *nth).map(|(_, ceiling)| ceiling).collect()
}

fn sort_of(ceiling: &ShownCeiling) -> Sort {
    let read_share = match ceiling.mix {
        CeilingMix::Reads => f64::INFINITY,
        CeilingMix::Writes => f64::NEG_INFINITY,
        CeilingMix::Both { read_share } => read_share.0,
    };
    (read_share.to_bits(), ceiling.block_bytes.0)
}

fn place_of(point: &PointData) -> Option<CeilingPlace> {
    Some((device_of(point)?.to_owned(), file_system(point).map(|kind| kind.to_string())))
}

fn file_system(point: &PointData) -> Option<FileSystem> {
    point.trial.target.fs.map(|fs| fs.kind)
}

/// The operations that a ceiling is of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CeilingMix {
    /// Random reads.
    Reads,
    /// Random writes.
    Writes,
    /// Both; this share is reads.
    Both {
        /// The share of reads.
        read_share: Share,
    },
}

/// What a device has shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownCeiling {
    /// The operations that it is of.
    pub mix: CeilingMix,
    /// The size of a block.
    pub block_bytes: Bytes,
    pub depth: u64,
    pub ops_per_s: f64,
    /// The point of this run that showed it; `None` if it was measured before.
    pub point: Option<u32>,
}

/// The block device that the point's counters are of.
pub fn device_of(point: &PointData) -> Option<&str> {
    let of_device = point.sources.iter().find(|source| has_device_counter(source));
    of_device.map(|source| source.subject.as_str())
}

fn has_device_counter(source: &SourceDef) -> bool {
    source.counters.iter().any(|counter| counter.role.is_some_and(is_of_device))
}

fn is_of_device(role: CounterRole) -> bool {
    matches!(role, CounterRole::DeviceReadOps | CounterRole::DeviceWriteOps | CounterRole::DeviceReadBytes)
}

/// What a file point has shown: random blocks with direct I/O, as fast as it could.
fn shown(point: &PointData) -> Option<ShownCeiling> {
    let work = point.traits.work.io.filter(|work| work.pattern == AccessPattern::Random)?;
    let eager = point.trial.load.pacing == Pacing::Closed { think: Nanos(0) };
    let is_plain = !work.syncs && point.state == PointState::Complete;
    let mix = match work.read_share {
        share if share >= 1.0 => CeilingMix::Reads,
        share if share <= 0.0 => CeilingMix::Writes,
        share => CeilingMix::Both { read_share: Share(share) },
    };
    let ops_per_s = ops_per_s(point).filter(|ops| *ops > 0.0 && eager && is_plain && is_direct_file(point))?;
    Some(ShownCeiling { mix, block_bytes: work.block, depth: slots(point), ops_per_s, point: Some(point.id) })
}

fn ops_per_s(point: &PointData) -> Option<f64> {
    let run = point.phase(Phase::Run)?;
    let phase = Rounds::from_phase(run, &point.trial).map_or(Cow::Borrowed(run), |rounds| rounds.cut_phase(run));
    let inside = phase.intervals.iter().filter(|interval| interval.start < phase.end);
    let ops: f64 = inside.flat_map(|interval| &interval.kinds).map(|kind| kind.ok as f64).sum();
    Some(ops / phase.end.since(phase.start).as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;

    #[test]
    fn of_each_sort_of_operations_and_block_the_last_of_the_highest_counts() {
        let ceiling = |mix, block, ops_per_s, point| {
            let block_bytes = Bytes::from_kib(block);
            ShownCeiling { mix, block_bytes, depth: 1, ops_per_s, point: Some(point) }
        };
        let both = |share| CeilingMix::Both { read_share: Share(share) };
        let all = vec![
            ceiling(CeilingMix::Reads, 4, 900.0, 1),
            ceiling(CeilingMix::Reads, 4, 1_000.0, 2),
            ceiling(CeilingMix::Writes, 4, 100.0, 3),
            ceiling(CeilingMix::Reads, 16, 100.0, 4),
            ceiling(CeilingMix::Reads, 4, 1_000.0, 5),
            ceiling(both(0.5), 4, 10.0, 6),
            ceiling(both(0.6), 4, 20.0, 7),
            ceiling(CeilingMix::Writes, 4, 99.0, 8),
        ];
        let kept: Vec<Option<u32>> = highest_of_each_sort(all).iter().map(|ceiling| ceiling.point).collect();
        assert_eq!(kept, [3, 4, 5, 6, 7].map(Some));
    }
}
