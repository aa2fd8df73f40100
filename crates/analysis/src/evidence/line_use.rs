//! How much of the best known rate of its device a point used: the load line.
//!
//! A ceiling is what was seen, and the device may carry more. It is of random blocks; of the blocks measured the nearest one is used for the
//! point's mean size, and nothing is known if that is more than four times off. What other processes did on the device counts as an
//! engine's, unless its own counters show that most was theirs; of a file point its operations are known.

use super::run_ceilings::{CeilingMix, ShownCeiling, device_of};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::math::units::Share;
use crate::recorded::counters::{growth_of_all, growth_of_most};
use crate::recorded::facts::is_direct_file;
use model::{AccessPattern, CounterRole, DeviceCeiling, OpClass, PointData};

// One operation of another kind among ten hardly changes what the device can do.
const PURE_SHARE: f64 = 0.9;
const MIX_SHARE_OFF_MAX: f64 = 0.1;
// The rate of a device depends little on blocks of 4 to 16 KiB; blocks that differ more are of another line.
const BLOCK_RATIO_MAX: f64 = 4.0;
// A journal doubles what its file system writes, in the kernel's name.
const OWN_SHARE_MIN: f64 = 0.4;
// Below, the counters show the housekeeping of the file system.
const OPS_PER_S_MIN: f64 = 1.0;

/// Operations of one sort and their bytes, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    pub ops: f64,
    pub bytes: f64,
}

/// How much of the best known rate of the device a point used, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct LineUse {
    /// The share of it.
    pub share: f64,
    /// The best rate; or that of reads and that of writes, whose shares add up.
    pub ceilings: Vec<ShownCeiling>,
    /// What the device did.
    pub flow: Flow,
}

impl LineUse {
    /// How much of the line the point of `view` used; `None` if none is known, of sequential access, and of the point that is the line
    /// itself.
    pub fn compute(view: &PointView) -> Option<LineUse> {
        let measured = view.measured.filter(|_| !is_sequential(view.point))?;
        // The highest of its run is the line, and not under it.
        used(view, &measured, &ceilings(view)).filter(|used| !used.is_of(view.point))
    }

    /// Operations in flight at which that rate was reached, the most of reads and writes.
    pub fn depth(&self) -> u64 {
        self.ceilings.iter().map(|ceiling| ceiling.depth).max().unwrap_or_default()
    }

    /// Whether `point` itself showed one of the ceilings.
    fn is_of(&self, point: &PointData) -> bool {
        self.ceilings.iter().any(|ceiling| ceiling.point == Some(point.id))
    }
}

fn used(view: &PointView, measured: &Measured, ceilings: &[ShownCeiling]) -> Option<LineUse> {
    let (reads, writes) = (flow(view.point, measured, OpClass::Read)?, flow(view.point, measured, OpClass::Write)?);
    let both = Flow { ops: reads.ops + writes.ops, bytes: reads.bytes + writes.bytes };
    if both.ops < OPS_PER_S_MIN || is_of_others(view.point, measured, reads, writes) {
        return None;
    }
    let of = |flow: Flow, mix: CeilingMix| {
        let ceiling = nearest(ceilings, mix, flow)?;
        Some(LineUse { share: share(flow, ceiling), ceilings: vec![ceiling.clone()], flow })
    };
    match reads.ops / both.ops {
        read_share if read_share >= PURE_SHARE => of(reads, CeilingMix::Reads),
        read_share if read_share <= 1.0 - PURE_SHARE => of(writes, CeilingMix::Writes),
        read_share => of(both, CeilingMix::Both { read_share: Share(read_share) }).or_else(|| {
            // The time that the device spends on reads and that on writes add up.
            let (reads, writes) = (of(reads, CeilingMix::Reads)?, of(writes, CeilingMix::Writes)?);
            let ceilings = [reads.ceilings, writes.ceilings].concat();
            Some(LineUse { share: reads.share + writes.share, ceilings, flow: both })
        }),
    }
}

/// Whether most of what the device moved was not for the engine, as far as the counters of its processes show. What they wrote to the
/// page cache does not explain what the device read.
fn is_of_others(point: &PointData, measured: &Measured, reads: Flow, writes: Flow) -> bool {
    let phase = measured.window.phase;
    let own = |role| growth_of_all(point, role, phase.start, phase.end).map(|own| own.per_second());
    let own = own(CounterRole::ProcessReadBytes).zip(own(CounterRole::ProcessWriteBytes));
    let explained = own.map(|(read, written)| read.min(reads.bytes) + written.min(writes.bytes));
    !is_direct_file(point) && explained.is_some_and(|bytes| bytes < OWN_SHARE_MIN * (reads.bytes + writes.bytes))
}

/// What a file point did itself past the page cache, or what its device did.
fn flow(point: &PointData, measured: &Measured, class: OpClass) -> Option<Flow> {
    let phase = measured.window.phase;
    if is_direct_file(point) {
        return Some(own_flow(point, measured, class));
    }
    let grown = |role| growth_of_most(point, role, phase.start, phase.end);
    let (ops, bytes) = match class {
        OpClass::Read => (CounterRole::DeviceReadOps, CounterRole::DeviceReadBytes),
        _ => (CounterRole::DeviceWriteOps, CounterRole::DeviceWriteBytes),
    };
    Some(Flow { ops: grown(ops)?.per_second(), bytes: grown(bytes)?.per_second() })
}

fn own_flow(point: &PointData, measured: &Measured, class: OpClass) -> Flow {
    let kinds = measured.window.inside_recorded().iter().flat_map(|interval| &interval.kinds);
    let own = kinds.filter(|kind| point.kind(kind.kind).is_some_and(|kind| kind.class == class));
    let (ops, bytes) = own.fold((0.0, 0.0), |(ops, bytes), kind| (ops + kind.ok as f64, bytes + kind.bytes as f64));
    let seconds = measured.summary.seconds.max(1e-9);
    Flow { ops: ops / seconds, bytes: bytes / seconds }
}

/// Of the ceilings of that mix with the block nearest to the mean size, the highest.
fn nearest(ceilings: &[ShownCeiling], mix: CeilingMix, flow: Flow) -> Option<&ShownCeiling> {
    let size = flow.bytes / flow.ops.max(f64::MIN_POSITIVE);
    let with_ratio = ceilings.iter().map(|ceiling| (block_ratio(ceiling, size), ceiling));
    let fitting = with_ratio.filter(|(ratio, ceiling)| is_like(ceiling.mix, mix) && *ratio <= BLOCK_RATIO_MAX);
    let nearest = fitting
        .max_by(|(a_ratio, a), (b_ratio, b)| b_ratio.total_cmp(a_ratio).then(a.ops_per_s.total_cmp(&b.ops_per_s)));
    nearest.map(|(_, ceiling)| ceiling)
}

/// How many times `size` is the block of `ceiling`, or the other way round: 1 or more.
fn block_ratio(ceiling: &ShownCeiling, size: f64) -> f64 {
    let block = ceiling.block_bytes.0 as f64;
    (size / block).max(block / size)
}

fn is_like(one: CeilingMix, other: CeilingMix) -> bool {
    match (one, other) {
        (CeilingMix::Both { read_share: one }, CeilingMix::Both { read_share: other }) => {
            (one.0 - other.0).abs() <= MIX_SHARE_OFF_MAX
        }
        _ => one == other,
    }
}

/// Smaller operations than the ceiling's are compared by their number, larger ones by their bytes.
fn share(flow: Flow, ceiling: &ShownCeiling) -> f64 {
    let block = ceiling.block_bytes.0 as f64;
    if flow.bytes / flow.ops <= block { flow.ops / ceiling.ops_per_s } else { flow.bytes / (ceiling.ops_per_s * block) }
}

/// Those of earlier measurements, if they are of the point's device, and those of the run's file points.
fn ceilings(view: &PointView) -> Vec<ShownCeiling> {
    let device = device_of(view.point);
    let is_here = device.is_some() && view.machine.disk.as_deref() == device;
    let before = view.machine.ceilings.iter().filter(|_| is_here).map(remembered);
    before.chain(view.ceilings.iter().cloned()).collect()
}

fn remembered(ceiling: &DeviceCeiling) -> ShownCeiling {
    let mix = if ceiling.class == OpClass::Read { CeilingMix::Reads } else { CeilingMix::Writes };
    let DeviceCeiling { block, depth, ops_per_s, .. } = *ceiling;
    ShownCeiling { mix, block_bytes: block, depth, ops_per_s, point: None }
}

fn is_sequential(point: &PointData) -> bool {
    point.traits.work.io.is_some_and(|work| work.pattern == AccessPattern::Sequential)
}
