//! Compares what the device did for a point with what it has shown that it can do: the load line.
//!
//! In: the counters of `disk`; the ceilings among the facts of the machine, and the file points of the same run. Out: a note.
//! Limits: a ceiling is what was seen, and the device may carry more. It is of random blocks; of the blocks measured the nearest
//! one is used for the point's mean size, and there is no finding if that is more than four times off. What other processes
//! did on the device counts as an engine's, unless its own counters show that most was theirs; of a file point its operations
//! are known.

use super::detector::{Detector, Measured, PointView};
use crate::ceilings::device_of;
use crate::counters::{growth_of_all, growth_of_most};
use crate::facts::is_direct_file;
use crate::finding::machine::{CeilingMix, CeilingUse, ShownCeiling};
use crate::finding::units::Share;
use crate::finding::{Code, NextStep};
use crate::{Finding, Severity};
use model::{AccessPattern, CounterRole, DeviceCeiling, OpClass, PointData};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector { code: Code::LoadLine, detect };

// One operation of another kind among ten hardly changes what the device can do.
const PURE_SHARE: f64 = 0.9;
const MIX_SHARE_OFF_MAX: f64 = 0.1;
// The rate of a device depends little on blocks of 4 to 16 KiB; blocks that differ more are of another line.
const BLOCK_RATIO_MAX: f64 = 4.0;
// A journal doubles what its file system writes, in the kernel's name.
const OWN_SHARE_MIN: f64 = 0.4;
// Below, the counters show the housekeeping of the file system.
const OPS_PER_S_MIN: f64 = 1.0;

// Below half the line something else limits; near all of it the disk does.
const FAR_BELOW: f64 = 0.5;
const NEAR: f64 = 0.9;

/// Operations of one sort and their bytes, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    ops: f64,
    bytes: f64,
}

fn detect(view: &PointView) -> Vec<Finding> {
    view.line.map(|line| near_or_below(view, line)).into_iter().collect()
}

/// How much of the best known rate of the device a point used, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct LineUse {
    /// The share of it.
    pub share: f64,
    /// The best rate; or that of reads and that of writes, whose shares add up.
    ceilings: Vec<ShownCeiling>,
    flow: Flow,
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
    match flow.bytes / flow.ops <= block {
        true => flow.ops / ceiling.ops_per_s,
        false => flow.bytes / (ceiling.ops_per_s * block),
    }
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

fn near_or_below(view: &PointView, used: &LineUse) -> Finding {
    let was_before = used.ceilings.iter().any(|ceiling| ceiling.point.is_none());
    let recorded = |text: &Option<String>| text.clone().filter(|_| was_before);
    let detail = CeilingUse {
        used_share: Share(used.share),
        ceilings: used.ceilings.clone(),
        ops_per_s: used.flow.ops,
        bytes_per_op: used.flow.bytes / used.flow.ops,
        counted_at_clients: is_direct_file(view.point),
        measured: recorded(&view.machine.ceilings_measured),
        kernel: recorded(&view.machine.ceilings_kernel),
    };
    let next = match used.share {
        // A file point has no engine: it is its clients that ask for no more.
        share if share < FAR_BELOW && view.point.traits.work.io.is_some() => NextStep::AskMoreOfDisk,
        share if share < FAR_BELOW => NextStep::FindEngineLimit,
        share if share < NEAR => NextStep::None,
        // It measures the disk: that it reaches the best rate is the result.
        _ if view.point.traits.work.io.is_some() => NextStep::None,
        _ => NextStep::AskLessOfDisk,
    };
    Finding::new(Severity::Note, detail).next(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Simulation, figures_of, params, run_of};
    use model::Bytes;
    use model::Fact;
    use model::Value;

    /// A point whose device does so many reads of `read_size` and writes of `write_size` a second.
    fn on_disk(reads: f64, read_size: f64, writes: f64, write_size: f64) -> Simulation {
        let counters = ["read_ops", "read_bytes", "write_ops", "write_bytes"];
        let values =
            move |second: f64| [reads, reads * read_size, writes, writes * write_size].map(|v| v * second).into();
        Simulation::counts(&[1_000; 10]).source("disk", &counters, values).with(|point| {
            point.sources[0].subject = "vda".into();
        })
    }

    fn with_ceilings(mut simulation: Simulation, ceilings: &[(&str, &str)]) -> Simulation {
        let facts = [("disk.device", "vda"), ("ceiling.measured", "2026-11-21 09:30 UTC")];
        simulation.environment.extend(facts.iter().chain(ceilings).map(|(name, value)| Fact::new(*name, *value)));
        simulation
    }

    fn percent(found: &CeilingUse) -> f64 {
        (found.used_share.0 * 100.0).round()
    }

    const READS: &[(&str, &str)] = &[
        ("ceiling.read.4096.32", "40000 ops/s"),
        ("ceiling.read.16384.1", "5000 ops/s"),
        ("ceiling.read.16384.32", "20000 ops/s"),
        ("ceiling.read.65536.32", "8000 ops/s"),
    ];

    #[test]
    fn an_engine_that_reads_below_the_line_is_told_how_far() {
        let found: CeilingUse = with_ceilings(on_disk(7_600.0, 16_384.0, 10.0, 4_096.0), READS).figures();
        let block_bytes = Bytes::from_kib(16);
        let ceiling = ShownCeiling { mix: CeilingMix::Reads, block_bytes, depth: 32, ops_per_s: 20_000.0, point: None };
        assert_eq!((percent(&found), &found.ceilings[..]), (38.0, &[ceiling][..]));
        assert_eq!((found.ops_per_s.round(), found.bytes_per_op.round()), (7_600.0, 16_384.0));
        assert_eq!((found.counted_at_clients, found.measured.as_deref()), (false, Some("2026-11-21 09:30 UTC")));
    }

    #[test]
    fn smaller_operations_are_compared_by_number_and_larger_ones_by_bytes() {
        let used = |size: f64| {
            let found: CeilingUse = with_ceilings(on_disk(4_000.0, size, 0.0, 0.0), READS).figures();
            (percent(&found), found.ceilings[0].block_bytes)
        };
        let [small, large] = [16, 64].map(Bytes::from_kib);
        assert_eq!([14_000.0, 24_576.0, 131_072.0].map(used), [(20.0, small), (30.0, small), (100.0, large)]);
    }

    #[test]
    fn reads_and_writes_add_up_where_no_ceiling_is_of_both() {
        let both = [READS, &[("ceiling.write.16384.32", "10000 ops/s")]].concat();
        let found: CeilingUse = with_ceilings(on_disk(4_000.0, 16_384.0, 3_000.0, 16_384.0), &both).figures();
        let mixes: Vec<CeilingMix> = found.ceilings.iter().map(|ceiling| ceiling.mix).collect();
        assert_eq!((percent(&found), mixes), (50.0, vec![CeilingMix::Reads, CeilingMix::Writes]));
        assert!(with_ceilings(on_disk(4_000.0, 16_384.0, 3_000.0, 16_384.0), READS).findings("load-line").is_empty());
    }

    #[test]
    fn without_a_ceiling_of_this_device_and_this_size_nothing_is_said() {
        assert!(on_disk(4_000.0, 16_384.0, 0.0, 0.0).findings("load-line").is_empty());
        assert!(with_ceilings(on_disk(40.0, 1e6, 0.0, 0.0), READS).findings("load-line").is_empty());
        let elsewhere = with_ceilings(on_disk(4_000.0, 16_384.0, 0.0, 0.0), READS);
        assert!(elsewhere.with(|point| point.sources[0].subject = "sdb".into()).findings("load-line").is_empty());
        let broken =
            [("ceiling.read.0.32", "1 ops/s"), ("ceiling.read.16384", "9 ops/s"), ("ceiling.read.16384.1", "x")];
        assert!(with_ceilings(on_disk(4_000.0, 16_384.0, 0.0, 0.0), &broken).findings("load-line").is_empty());
    }

    #[test]
    fn what_others_did_on_the_device_is_not_put_on_the_engine() {
        let own = |read: f64, written: f64| {
            let process = move |second: f64| vec![read * second, written * second];
            let beside =
                on_disk(7_600.0, 16_384.0, 0.0, 0.0).source("process", &["read_bytes", "write_bytes"], process);
            with_ceilings(beside, READS).findings("load-line").len()
        };
        let [most, little] = [7_600.0, 100.0].map(|blocks| blocks * 16_384.0);
        assert_eq!([own(most, 0.0), own(little, 0.0)], [1, 0]);
        assert_eq!(own(little, most), 0, "what it wrote to the page cache is not what the device read");
    }

    fn file(depth: u32, ops: u64) -> Simulation {
        let mut simulation = on_disk(ops as f64, 16_384.0, 0.0, 0.0);
        simulation.recorded.phases[0].intervals.iter_mut().for_each(|interval| {
            (interval.kinds[0].ok, interval.kinds[0].bytes) = (ops, ops * 16_384);
        });
        simulation.recorded.kinds = vec!["read".into()];
        simulation.with(|point| {
            (point.trial.workload.name, point.trial.target.engine) = ("file".into(), "file".into());
            let block = ("block", Value::Bytes(Bytes::from_kib(16)));
            point.trial.workload.params = params(&[("mode", Value::Word("rndrd".into())), block]);
            point.trial.target.params = params(&[("direct", Value::Bool(true))]);
            point.trial.load.depth = depth;
        })
    }

    #[test]
    fn the_file_points_of_a_run_are_the_line_of_its_engines() {
        let points =
            vec![file(1, 5_000).point(), file(32, 20_000).point(), on_disk(5_000.0, 16_384.0, 0.0, 0.0).point()];
        let analysis = analyse(&run_of(points, Vec::new()));
        let used = |point: &crate::PointAnalysis| {
            let found = figures_of::<CeilingUse>(&point.findings).pop()?;
            Some((percent(&found), found.ceilings[0].depth, found.ceilings[0].point))
        };
        let line = Some((25.0, 32, Some(2)));
        assert_eq!(analysis.points.iter().map(used).collect::<Vec<_>>(), [line, None, line]);
        let next = |nth: usize| {
            let found = analysis.points[nth].findings.iter().find(|finding| finding.code() == Code::LoadLine);
            found.expect("it is below the line").next
        };
        let advice = [NextStep::AskMoreOfDisk, NextStep::FindEngineLimit];
        assert_eq!([next(0), next(2)], advice, "a file has no engine that could be the limit");
    }
}
