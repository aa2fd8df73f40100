//! What compressing one file showed: sizes, times and CPU.

use crate::math::repeats::{Repeated, combined};
use model::{CompressionOutcome, Phase, PointData, Times};
use serde::Serialize;

/// What compressing one file showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompressionCost {
    /// How many times smaller the file became.
    pub ratio: Option<f64>,
    pub input_bytes: u64,
    /// The size of the result, after it was synced.
    pub output_bytes: u64,
    /// Seconds until all of it was on disk.
    pub durable_seconds: Option<f64>,
    /// CPU time of plimsoll and of the kernel's threads until then.
    pub cpu_seconds: Option<f64>,
    /// The part of the kernel's threads.
    pub kernel_cpu_seconds: Option<f64>,
    /// Seconds to read it back from the disk.
    pub decompress_seconds: Option<f64>,
    /// CPU time for that.
    pub decompress_cpu_seconds: Option<f64>,
    /// Bytes of the file that did not come from memory.
    pub source_read_bytes: Option<u64>,
    /// The times of ops on single blocks; empty if the file is one stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockTimes>,
}

/// The times of one kind of op on single blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockTimes {
    pub kind: String,
    /// How many there were.
    pub ops: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    #[serde(skip)]
    times: Times,
}

impl BlockTimes {
    /// Of `times`; `None` if they are too few for a percentile: those of the whole file are two.
    fn new(kind: &str, times: Times) -> Option<BlockTimes> {
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|share| times.value_at_quantile(share));
        (times.len() >= BLOCK_OPS_MIN).then(|| BlockTimes {
            kind: kind.to_owned(),
            ops: times.len(),
            p50_ns,
            p99_ns,
            times,
        })
    }
}

/// With fewer ops a percentile of them is one of them.
const BLOCK_OPS_MIN: u64 = 10;

impl CompressionCost {
    /// The means of repeats, and percentiles of the times of all; `None` if no file was compressed.
    pub(crate) fn combine(all: &Repeated<CompressionCost>) -> Option<CompressionCost> {
        let kinds = all.first()?.blocks.iter().map(|block| &block.kind);
        let blocks = kinds.filter_map(|kind| {
            let same = all.parts(|one| one.blocks.iter().find(|block| block.kind == *kind));
            BlockTimes::new(kind, same.times(|block| &block.times))
        });
        Some(combined!(
            all,
            CompressionCost {
                ratio: mean,
                input_bytes: mean,
                output_bytes: mean,
                durable_seconds: mean,
                cpu_seconds: mean,
                kernel_cpu_seconds: mean,
                decompress_seconds: mean,
                decompress_cpu_seconds: mean,
                source_read_bytes: mean,
                blocks: (blocks.collect()),
            }
        ))
    }

    /// What `point` states; `None` if no file was compressed to its end.
    pub fn from_point(point: &PointData) -> Option<CompressionCost> {
        let found = CompressionCost::from_outcome(point.traits.outcome.compression.as_ref()?)?;
        Some(CompressionCost { blocks: block_times(point), ..found })
    }

    /// What `outcome` states, without the times of single blocks.
    pub fn from_outcome(outcome: &CompressionOutcome) -> Option<CompressionCost> {
        let (input_bytes, output_bytes) = (outcome.input_bytes?, outcome.output_bytes?);
        let sum = |own: Option<f64>, others: [Option<f64>; 2]| Some(own? + others.into_iter().flatten().sum::<f64>());
        Some(CompressionCost {
            ratio: ratio(input_bytes as f64, output_bytes as f64),
            input_bytes,
            output_bytes,
            durable_seconds: outcome.durable_s,
            cpu_seconds: sum(outcome.own_cpu_s, [outcome.kernel_cpu_s, outcome.daemon_cpu_s]),
            kernel_cpu_seconds: outcome.kernel_cpu_s,
            decompress_seconds: outcome.decompress_s,
            decompress_cpu_seconds: sum(
                outcome.decompress_own_cpu_s,
                [outcome.decompress_kernel_cpu_s, outcome.decompress_daemon_cpu_s],
            ),
            source_read_bytes: outcome.source_read_bytes,
            blocks: Vec::new(),
        })
    }
}

/// The times of each kind of which there were several.
fn block_times(point: &PointData) -> Vec<BlockTimes> {
    let times_of = |nth: usize| {
        let mut times = Times::default();
        let intervals = point.phase(Phase::Run).into_iter().flat_map(|phase| &phase.intervals);
        let rows = intervals.flat_map(|interval| &interval.kinds).filter(|row| usize::from(row.kind) == nth);
        rows.for_each(|row| times.add(&row.service));
        times
    };
    let kinds = point.kinds.iter().enumerate();
    kinds.filter_map(|(nth, kind)| BlockTimes::new(&kind.name, times_of(nth))).collect()
}

/// The times of all of `found` together.
pub(crate) fn merged_blocks(found: &[&CompressionCost]) -> Vec<BlockTimes> {
    let mut all: Vec<(String, Times)> = Vec::new();
    for one in found.iter().flat_map(|one| &one.blocks) {
        match all.iter_mut().find(|(kind, _)| *kind == one.kind) {
            Some((_, times)) => times.add(&one.times),
            None => all.push((one.kind.clone(), one.times.clone())),
        }
    }
    all.into_iter().filter_map(|(kind, times)| BlockTimes::new(&kind, times)).collect()
}

pub(crate) fn ratio(input: f64, output: f64) -> Option<f64> {
    (output > 0.0).then_some(input / output)
}
