//! Compares what was asked for with what was reached: depth, block size, rate.
//!
//! In: the load, the service times, the counters of `disk`. Out: a note for each that is more than 5 % off.
//! Limits: depth and block are looked at for the file workload only, blocks with direct I/O only, and only if what the device
//! moved is about what the clients asked for: others' I/O and cached blocks would be taken for splits and merges. An overload
//! has its own detector, and clients that hold no depth have `littles-law`.

use super::littles_law::edge_share;
use super::{Detects, Finding, FindingKind};
use crate::bottleneck;
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::cpu_usage::CpuUsage;
use crate::evidence::overload::is_overloaded;
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::numbers::achieved::device_growth_per_s;
use crate::recorded::facts::{is_direct_file, is_scripted, slots};
use model::{Arrivals, Bytes, CounterRole, Nanos, OpClass, Pacing, PointData};
use serde::Serialize;
use words::quantity::{kibibytes, number, or_unknown, percent, plural, range, rate, whole};

/// What was asked for, and what was reached instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum MissedTarget {
    /// libaio through the page cache performs each operation when it is submitted.
    DepthAtSubmission { asked_in_flight: u64 },
    /// The clients kept fewer operations in flight.
    Depth { asked_in_flight: u64, reached_in_flight: f64 },
    /// The device held fewer operations than the clients had in flight; `None` if theirs is not known.
    DeviceDepth { asked_in_flight: u64, client_in_flight: Option<f64>, device_in_flight: f64 },
    /// The device moved blocks of another size.
    Block { access: BlockAccess, asked_bytes: Bytes, reached_bytes: f64, cause: BlockChange },
    /// An open loop did less than it was to offer.
    Rate(MissedArrivals),
}

/// Whether blocks were read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockAccess {
    Read,
    Write,
}

/// Why blocks reached the device in another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum BlockChange {
    /// Split by the largest request that the device takes.
    SplitBySize { request_max_bytes: Bytes },
    /// Split by the pieces of memory or of the file that one request may have.
    SplitByPieces,
    /// Joined with neighbours on their way.
    Merged,
}

/// An open loop that did less than it was to offer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MissedArrivals {
    /// The rate asked for.
    pub offered_per_s: f64,
    pub done_per_s: f64,
    /// The share of the expected arrivals that is missing.
    pub missing_share: Share,
    /// Arrivals that the schedule offered.
    pub arrivals: u64,
    /// Arrivals that the rate lets expect.
    pub expected_arrivals: f64,
    /// Arrivals that were never started.
    pub unserved_arrivals: u64,
}

const OFF_MAX: f64 = 0.05;

// A device always holds a little less than what is under way: submission and completion are not its part.
const DEVICE_SHARE_MIN: f64 = 0.5;

// What the device moved for others, and blocks that came from a cache, leave the sizes of ours unknown.
const DEVICE_BYTES: std::ops::Range<f64> = 0.95..1.05;

// Arrivals at random: a share of 5 % of few of them is chance.
const RATE_DEVIATIONS: f64 = 4.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_scripted(view.point)) else { return Vec::new() };
    let is_file = view.point.traits.work.io.is_some();
    let depth = if is_file { depth(view, &measured) } else { None };
    let blocks = if is_file { blocks(view, &measured) } else { Vec::new() };
    depth.into_iter().chain(blocks).chain(open_rate(view, &measured)).collect()
}

fn missed(target: MissedTarget, next: NextStep) -> Finding {
    Finding::new(Severity::Note, target).next(next)
}

fn depth(view: &PointView, measured: &Measured) -> Option<Finding> {
    let load = view.point.trial.load;
    let eager = load.pacing == Pacing::Closed { think: Nanos(0) } && measured.summary.ops > 0;
    if !eager || load.depth == 1 {
        return None;
    }
    let asked_in_flight = slots(view.point);
    if view.point.traits.engine.kernel_aio && !is_direct_file(view.point) {
        return Some(missed(MissedTarget::DepthAtSubmission { asked_in_flight }, NextStep::UseDirectOrUring));
    }
    let achieved = measured.summary.achieved;
    let reached_in_flight = achieved.under_way_mean?;
    let missing = 1.0 - reached_in_flight / asked_in_flight as f64 - edge_share(view.point, measured);
    if missing > OFF_MAX {
        // More clients cannot put more into a device that is full.
        let next = if bottleneck::is_disk_busy(view, measured) { NextStep::None } else { NextStep::AddSubmitters };
        return Some(missed(MissedTarget::Depth { asked_in_flight, reached_in_flight }, next));
    }
    let device_in_flight = achieved.device_under_way_mean.filter(|_| is_direct_file(view.point))?;
    let client_in_flight = achieved.under_way_mean;
    let target = MissedTarget::DeviceDepth { asked_in_flight, client_in_flight, device_in_flight };
    // A client without a CPU submits nothing: other processes are the obvious cause if they used it.
    let is_crowded = CpuUsage::measure(view, measured).is_some_and(|usage| usage.is_shared());
    let next = if is_crowded { NextStep::StopOtherProcesses } else { NextStep::FindQueueLimit };
    (device_in_flight < DEVICE_SHARE_MIN * asked_in_flight as f64).then(|| missed(target, next))
}

/// Reads and writes apart, each if the device moved about what the clients asked for.
fn blocks(view: &PointView, measured: &Measured) -> Vec<Finding> {
    let Some(work) = view.point.traits.work.io.filter(|_| is_direct_file(view.point)) else { return Vec::new() };
    let block = work.block;
    let achieved = measured.summary.achieved;
    let moved = [
        (BlockAccess::Read, OpClass::Read, CounterRole::DeviceReadBytes, achieved.device_bytes_per_read),
        (BlockAccess::Write, OpClass::Write, CounterRole::DeviceWriteBytes, achieved.device_bytes_per_write),
    ];
    moved
        .into_iter()
        .filter_map(|(access, class, role, per_op)| {
            let (asked, moved) =
                (bytes_per_s(view.point, measured, class), device_growth_per_s(view.point, measured.window, role)?);
            let is_ours = asked > 0.0 && DEVICE_BYTES.contains(&(moved / asked));
            let per_op = per_op.filter(|per_op| is_ours && (per_op / block.0 as f64 - 1.0).abs() > OFF_MAX)?;
            Some(other_blocks(view, access, block, per_op))
        })
        .collect()
}

/// What the operations of this class moved, per second.
fn bytes_per_s(point: &PointData, measured: &Measured, class: OpClass) -> f64 {
    let kinds = measured.window.inside_recorded().iter().flat_map(|interval| &interval.kinds);
    let own = kinds.filter(|kind| point.kind(kind.kind).is_some_and(|kind| kind.class == class));
    own.map(|kind| kind.bytes as f64).sum::<f64>() / measured.summary.seconds.max(1e-9)
}

fn other_blocks(view: &PointView, access: BlockAccess, asked_bytes: Bytes, reached_bytes: f64) -> Finding {
    let most = view.machine.request_bytes_max.map(Bytes);
    let (cause, next) = match (reached_bytes < asked_bytes.0 as f64, most) {
        (true, Some(most)) if asked_bytes > most => {
            (BlockChange::SplitBySize { request_max_bytes: most }, NextStep::FitBlocksToDevice)
        }
        (true, _) => (BlockChange::SplitByPieces, NextStep::None),
        (false, _) => (BlockChange::Merged, NextStep::None),
    };
    missed(MissedTarget::Block { access, asked_bytes, reached_bytes, cause }, next)
}

fn open_rate(view: &PointView, measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let offered_per_s = summary.offered_per_s.filter(|_| !is_overloaded(view, measured))?;
    // What is replayed need not have the mean rate of all of the recording: its arrivals were counted.
    let is_recorded = matches!(view.point.trial.load.pacing, Pacing::Open { arrivals: Arrivals::Recorded { .. } });
    let expected = if is_recorded { measured.window.phase.offered as f64 } else { offered_per_s * summary.seconds };
    let missing = expected - summary.ops as f64 - summary.failed as f64;
    let is_off = missing > OFF_MAX * expected && missing > RATE_DEVIATIONS * expected.sqrt() + slots(view.point) as f64;
    let target = MissedTarget::Rate(MissedArrivals {
        offered_per_s,
        done_per_s: summary.ops_per_s,
        missing_share: Share(missing / expected),
        arrivals: measured.window.phase.offered,
        expected_arrivals: expected,
        unserved_arrivals: summary.unserved,
    });
    is_off.then(|| missed(target, NextStep::OutlastInFlight))
}

impl FindingKind for MissedTarget {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (MissedTarget::Block { access: one, cause, .. }, MissedTarget::Block { access: other, cause: why, .. }) => {
                one == other && std::mem::discriminant(cause) == std::mem::discriminant(why)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        let asked = range(alike, |one| one.asked(), whole);
        match alike[0] {
            MissedTarget::DepthAtSubmission { .. } => format!("queue depth: {asked} requested, 1 per client reached"),
            MissedTarget::Depth { .. } => {
                format!("queue depth: {asked} requested, {} reached", range(alike, |one| one.reached(), number))
            }
            MissedTarget::DeviceDepth { .. } => {
                format!("queue depth: {asked} requested, {} in the device", range(alike, |one| one.reached(), number))
            }
            MissedTarget::Block { access, .. } => format!(
                "{} of {} reached the device as {}",
                access_plural(*access),
                range(alike, |one| one.asked(), kibibytes),
                range(alike, |one| one.reached(), kibibytes)
            ),
            MissedTarget::Rate(_) => format!(
                "{} requested, {} reached ({} less)",
                range(alike, |one| one.asked(), rate),
                range(alike, |one| one.reached(), rate),
                range(alike, |one| 1.0 - one.reached() / one.asked(), percent)
            ),
        }
    }

    fn evidence(&self) -> String {
        match self {
            MissedTarget::DepthAtSubmission { .. } => {
                "`io = aio` without direct I/O: the kernel performs each operation when it is submitted".to_owned()
            }
            MissedTarget::Depth { reached_in_flight, .. } => {
                let reached = number(*reached_in_flight);
                format!("throughput * mean service time = {reached}: the clients submit too few at a time")
            }
            MissedTarget::DeviceDepth { client_in_flight, device_in_flight, .. } => format!(
                "mean in flight at the clients {}, in the device's queue {}: the rest waited above it",
                or_unknown(*client_in_flight, number),
                number(*device_in_flight)
            ),
            MissedTarget::Block { access, reached_bytes, cause, .. } => {
                let kind = access_word(*access);
                format!("{} bytes per {kind} of the device; {}", whole(*reached_bytes), block_cause(*cause, *access))
            }
            MissedTarget::Rate(missed) => missed_arrivals(missed),
        }
    }
}

impl MissedTarget {
    fn asked(&self) -> f64 {
        match *self {
            MissedTarget::DepthAtSubmission { asked_in_flight }
            | MissedTarget::Depth { asked_in_flight, .. }
            | MissedTarget::DeviceDepth { asked_in_flight, .. } => asked_in_flight as f64,
            MissedTarget::Block { asked_bytes, .. } => asked_bytes.0 as f64,
            MissedTarget::Rate(missed) => missed.offered_per_s,
        }
    }

    fn reached(&self) -> f64 {
        match *self {
            MissedTarget::DepthAtSubmission { .. } => 1.0,
            MissedTarget::Depth { reached_in_flight, .. } => reached_in_flight,
            MissedTarget::DeviceDepth { device_in_flight, .. } => device_in_flight,
            MissedTarget::Block { reached_bytes, .. } => reached_bytes,
            MissedTarget::Rate(missed) => missed.done_per_s,
        }
    }
}

fn access_word(access: BlockAccess) -> &'static str {
    match access {
        BlockAccess::Read => "read",
        BlockAccess::Write => "write",
    }
}

fn access_plural(access: BlockAccess) -> &'static str {
    match access {
        BlockAccess::Read => "reads",
        BlockAccess::Write => "writes",
    }
}

fn block_cause(cause: BlockChange, access: BlockAccess) -> String {
    match cause {
        BlockChange::SplitBySize { request_max_bytes } => {
            format!("split: the device takes at most {request_max_bytes} at a time (`max_sectors_kb`)")
        }
        BlockChange::SplitByPieces => format!(
            "split because a request may have only so many pieces (`max_segments`), or mixed with smaller {} of the file \
             system's journal or of other programs",
            access_plural(access)
        ),
        BlockChange::Merged => "merged: neighbouring blocks were joined on their way to the device".to_owned(),
    }
}

fn missed_arrivals(missed: &MissedArrivals) -> String {
    format!(
        "the schedule offered {}, {} expected; {} unserved",
        plural(missed.arrivals, "arrival"),
        whole(missed.expected_arrivals),
        whole(missed.unserved_arrivals as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, figures_of, params};
    use model::{Fact, Value};

    /// A thousand reads of `block` a second at depth 32, each so long as to hold `under_way` of them.
    fn file(io: &str, direct: bool, block: u64, under_way: f64) -> Simulation {
        let mut simulation = Simulation::counts(&[0; 20]);
        for second in 0..20 {
            let ns = (under_way * 1e6) as u64;
            simulation.add(second, 1_000, ns, ns).bytes = 1_000 * block;
        }
        simulation.with(|point| {
            point.trial.workload.name = "file".into();
            point.trial.workload.params = params(&[("block", Value::Bytes(Bytes(block)))]);
            point.trial.target.engine = "file".into();
            point.trial.target.params = params(&[("io", Value::Word(io.into())), ("direct", Value::Bool(direct))]);
            point.trial.load.depth = 32;
            point.kinds = vec![crate::simulated::kind("read")];
        })
    }

    /// The device's reads per second, each of so many bytes, and its mean queue.
    fn device(simulation: Simulation, ops: f64, bytes: f64, queue: f64) -> Simulation {
        let counters = ["read_ops", "read_bytes", "write_ops", "write_bytes", "queue_ns"];
        simulation.source("disk", &counters, move |second| {
            vec![ops * second, ops * bytes * second, 0.0, 0.0, queue * second * 1e9]
        })
    }

    fn missed_by(simulation: &Simulation) -> Vec<MissedTarget> {
        figures_of(&simulation.findings("target-not-reached"))
    }

    #[test]
    fn what_was_asked_and_achieved_alike_is_not_told() {
        let alike = device(file("uring", true, 16_384, 31.5), 1_000.0, 16_384.0, 29.0);
        assert_eq!(missed_by(&alike), []);
        let achieved = alike.analysis().points.remove(0).summary.expect("it ran").achieved;
        assert_eq!(achieved.device_bytes_per_read, Some(16_384.0));
        assert!((achieved.under_way_mean.expect("it ran") - 31.5).abs() < 0.1);
    }

    #[test]
    fn a_generator_that_keeps_half_of_the_depth_under_way_is_told() {
        let half = file("uring", true, 16_384, 16.0);
        let MissedTarget::Depth { asked_in_flight: 32, reached_in_flight } = half.figures() else { panic!("of depth") };
        assert!((reached_in_flight - 16.0).abs() < 0.05, "{reached_in_flight}");
        assert_eq!(half.finding("target-not-reached").next, NextStep::AddSubmitters);
        let full = half.source("disk", &["busy_ns"], |second| vec![0.98 * second * 1e9]);
        assert_eq!(full.finding("target-not-reached").next, NextStep::None, "more clients find the disk as full");
    }

    #[test]
    fn aio_through_the_page_cache_has_a_depth_of_one() {
        let found = missed_by(&file("aio", false, 16_384, 32.0));
        assert_eq!(found, [MissedTarget::DepthAtSubmission { asked_in_flight: 32 }]);
        assert!(missed_by(&file("aio", true, 16_384, 32.0)).is_empty());
    }

    #[test]
    fn operations_that_wait_above_the_device_are_told() {
        let limited = device(file("uring", true, 16_384, 32.0), 1_000.0, 16_384.0, 0.4);
        let MissedTarget::DeviceDepth { asked_in_flight: 32, device_in_flight, .. } = limited.figures() else {
            panic!("the device holds less")
        };
        assert!((device_in_flight - 0.4).abs() < 0.005, "{device_in_flight}");
    }

    #[test]
    fn blocks_that_were_split_or_merged_are_told_with_the_reason() {
        let split = device(file("uring", true, 4 << 20, 32.0), 4_000.0, f64::from(1 << 20), 100.0);
        let mut split = split;
        split.environment.push(Fact::new("disk.max_request_bytes", "1048576"));
        let asked_and_reached = |simulation: &Simulation| match simulation.figures() {
            MissedTarget::Block { access: BlockAccess::Read, asked_bytes, reached_bytes, cause } => {
                (asked_bytes, reached_bytes.round(), cause)
            }
            other => panic!("{other:?}"),
        };
        let by_size = BlockChange::SplitBySize { request_max_bytes: Bytes::from_mib(1) };
        assert_eq!(asked_and_reached(&split), (Bytes::from_mib(4), f64::from(1 << 20), by_size));
        let merged = device(file("uring", true, 4_096, 32.0), 250.0, 16_384.0, 32.0);
        assert_eq!(asked_and_reached(&merged), (Bytes(4_096), 16_384.0, BlockChange::Merged));
    }

    #[test]
    fn io_of_others_and_cached_blocks_say_nothing_of_ours() {
        let others = device(file("uring", true, 16_384, 32.0), 2_000.0, 20_000.0, 32.0);
        let cached = device(file("uring", true, 16_384, 32.0), 100.0, 8_192.0, 32.0);
        let buffered = device(file("uring", false, 16_384, 32.0), 125.0, 131_072.0, 32.0);
        assert!([others, cached, buffered].iter().all(|simulation| missed_by(simulation).is_empty()));
    }

    #[test]
    fn a_rate_that_was_not_reached_is_told_once_only() {
        let overloaded = Simulation::open(10, 2_000, |_| 1_000_000);
        assert!(missed_by(&overloaded).is_empty() && overloaded.findings("overload").len() == 1);
        let lazy = Simulation::open(10, 2_000, |_| 100_000).with(|point| {
            let intervals = &mut point.phases[0].intervals;
            intervals.truncate(8);
            point.phases[0].offered = 16_000;
        });
        let MissedTarget::Rate(rate) = lazy.figures() else { panic!("it is the rate") };
        assert_eq!((rate.offered_per_s, rate.done_per_s.round(), rate.missing_share), (2_000.0, 1_600.0, Share(0.2)));
    }
}
