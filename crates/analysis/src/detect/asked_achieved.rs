//! Sets what was asked for beside what was achieved, where they differ: depth, block size, rate.
//!
//! In: the load, the service times, the counters of `disk`. Out: a note for each that is more than 5 % off.
//! Limits: depth and block are looked at for the file workload only, blocks with direct I/O only, and where what the device
//! moved is about what the clients asked for: others' I/O and cached blocks would be taken for splits and merges. An overload
//! is told by its own detector, and clients that hold no depth by `littles-law`.

use super::detector::{Detector, Measured, PointView};
use super::littles_law::edge_share;
use super::overload;
use crate::facts::{fact, is_scripted, param, slots};
use crate::numbers::achieved::device_growth_per_s;
use crate::text::{percent, rate};
use crate::{Achieved, Finding, Severity};
use model::units::three_digits;
use model::{Bytes, Nanos, Pacing, PointData, Value};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "asked-achieved",
    help: "depth, block size or rate are not what was asked for",
    explain: "What was achieved is compared with what was asked, and told where it is more than 5 % off. Depth: by Little's law \
              the mean number of operations under way is the throughput times the mean service time; below clients * depth \
              the generator did not keep so many under way. libaio through the page cache performs each operation when it is \
              submitted: its depth is 1 whatever was asked. The mean queue of the device is compared, too, and told where it \
              holds less than half: the rest waited above it, in a scheduler, a limit or the file system. Block: with direct \
              I/O the bytes per operation of the device; smaller ones were split (by the largest request that the device \
              takes, or where a file is in pieces), larger ones merged with neighbours. Rate: an open loop that did less than \
              it offered without being overloaded. Numbers of such a point are true for what was achieved.",
    detect,
};

const OFF_MAX: f64 = 0.05;
// A device always holds a little less than what is under way: submission and completion are not its part.
const DEVICE_SHARE_MIN: f64 = 0.5;
// What the device moved for others, and blocks that came from a cache, leave the sizes of ours unknown.
const DEVICE_BYTES: std::ops::Range<f64> = 0.95..1.05;
// Arrivals at random: a share of 5 % of few of them is chance.
const RATE_DEVIATIONS: f64 = 4.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_scripted(view.point)) else { return Vec::new() };
    let is_file = view.point.trial.workload.name == "file";
    let depth = if is_file { depth(view, &measured) } else { None };
    let blocks = if is_file { blocks(view, &measured) } else { Vec::new() };
    depth.into_iter().chain(blocks).chain(open_rate(view, &measured)).collect()
}

fn depth(view: &PointView, measured: &Measured) -> Option<Finding> {
    let load = view.point.trial.load;
    let eager = load.pacing == Pacing::Closed { think: Nanos(0) } && measured.summary.ops > 0;
    if !eager || load.depth == 1 {
        return None;
    }
    let asked = slots(view.point) as f64;
    if has_word(view.point, "io", "aio") && !is_direct(view.point) {
        return Some(at_submission(asked));
    }
    let achieved = measured.summary.achieved;
    let missing = 1.0 - achieved.under_way_mean? / asked - edge_share(view.point, measured);
    if missing > OFF_MAX {
        return Some(too_few(achieved.under_way_mean?, asked));
    }
    let in_device = achieved.device_under_way_mean.filter(|_| is_direct(view.point))?;
    (in_device < DEVICE_SHARE_MIN * asked).then(|| above_the_device(in_device, asked, achieved))
}

fn told(title: String, evidence: String, next_step: &str) -> Finding {
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

fn at_submission(asked: f64) -> Finding {
    let title = format!("asked for {asked} operations under way, achieved 1 per client");
    let evidence = "io = aio without direct I/O: the kernel performs each operation when it is submitted".into();
    told(title, evidence, "use direct = `true`, or io = `uring`")
}

fn too_few(under_way: f64, asked: f64) -> Finding {
    let title = format!("asked for {asked} operations under way, achieved {} on average", three_digits(under_way));
    let evidence =
        format!("throughput * mean service time = {}: clients submit too few at a time", three_digits(under_way));
    told(title, evidence, "use more clients: one thread cannot submit and collect fast enough")
}

fn above_the_device(in_device: f64, asked: f64, achieved: Achieved) -> Finding {
    let title =
        format!("asked for {asked} operations under way, the device saw {} on average", three_digits(in_device));
    let evidence = format!(
        "mean under way at the clients {}, in the device's queue {}: the others waited above it",
        achieved.under_way_mean.map_or("not known".into(), three_digits),
        three_digits(in_device)
    );
    told(title, evidence, "look for a limit (cgroup), the I/O scheduler, or a file system that takes turns")
}

/// Reads and writes apart, each where the device moved about what the clients asked for.
fn blocks(view: &PointView, measured: &Measured) -> Vec<Finding> {
    let Some(Value::Bytes(block)) = param(view.point, "block").filter(|_| is_direct(view.point)) else {
        return Vec::new();
    };
    let achieved = measured.summary.achieved;
    let of = |word: &str, bytes: &str, per_op: Option<f64>| {
        let (asked, moved) =
            (bytes_per_s(view.point, measured, word), device_growth_per_s(view.point, measured.window, bytes)?);
        let is_ours = asked > 0.0 && DEVICE_BYTES.contains(&(moved / asked));
        let per_op = per_op.filter(|per_op| is_ours && (per_op / block.0 as f64 - 1.0).abs() > OFF_MAX)?;
        Some(other_blocks(view, word, *block, per_op))
    };
    let reads = of("read", "read_bytes", achieved.device_bytes_per_read);
    reads.into_iter().chain(of("write", "write_bytes", achieved.device_bytes_per_write)).collect()
}

/// What the operations of the kind `name` moved, per second.
fn bytes_per_s(point: &PointData, measured: &Measured, name: &str) -> f64 {
    let kinds = measured.window.inside_recorded().iter().flat_map(|interval| &interval.kinds);
    let own = kinds.filter(|kind| point.kinds.get(usize::from(kind.kind)).is_some_and(|kind| kind.name == name));
    own.map(|kind| kind.bytes as f64).sum::<f64>() / measured.summary.seconds.max(1e-9)
}

fn other_blocks(view: &PointView, word: &str, block: Bytes, per_op: f64) -> Finding {
    let size = Bytes(per_op.round() as u64);
    let title = format!("asked for {word}s of {block}, the device saw {} on average", in_kib(size));
    let most = fact(view.environment, "disk.max_request_bytes").and_then(|bytes| bytes.parse().ok()).map(Bytes);
    let (reason, next_step) = match (per_op < block.0 as f64, most) {
        (true, Some(most)) if block > most => (
            format!("split: the device takes at most {most} at a time (max_sectors_kb)"),
            "use blocks that the device takes whole, or raise max_sectors_kb",
        ),
        (true, _) => {
            ("split: by the pieces of memory or of the file that one request may have (max_segments)".into(), "")
        }
        (false, _) => ("merged: neighbouring blocks were joined on their way to the device".into(), ""),
    };
    told(title, format!("{} bytes per {word} of the device; {reason}", per_op.round()), next_step)
}

/// With a decimal: sizes on average are no powers of two.
fn in_kib(size: Bytes) -> String {
    format!("{} KiB", three_digits(size.0 as f64 / 1024.0))
}

fn open_rate(view: &PointView, measured: &Measured) -> Option<Finding> {
    let summary = measured.summary;
    let offered = summary.offered_per_s.filter(|_| !overload::is_told(view, measured))?;
    let expected = offered * summary.seconds;
    let missing = expected - summary.ops as f64 - summary.failed as f64;
    let is_off = missing > OFF_MAX * expected && missing > RATE_DEVIATIONS * expected.sqrt() + slots(view.point) as f64;
    let title = || {
        let short = percent(missing / expected);
        format!("asked for {}, achieved {} ({short} less)", rate(offered), rate(summary.ops_per_s))
    };
    let evidence = || {
        let arrivals = measured.window.phase.offered;
        format!(
            "the schedule offered {arrivals} arrivals, {} expected; {} unserved",
            expected.round(),
            summary.unserved
        )
    };
    is_off.then(|| told(title(), evidence(), "run for longer; operations under way at the end are not counted"))
}

fn is_direct(point: &PointData) -> bool {
    matches!(param(point, "direct"), Some(Value::Bool(true)))
}

fn has_word(point: &PointData, name: &str, word: &str) -> bool {
    matches!(param(point, name), Some(Value::Word(own)) if own == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Simulation, params};
    use model::Fact;

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
            point.kinds = vec!["read".into()];
        })
    }

    /// The device's reads per second, each of so many bytes, and its mean queue.
    fn device(simulation: Simulation, ops: f64, bytes: f64, queue: f64) -> Simulation {
        let counters = ["read_ops", "read_bytes", "write_ops", "write_bytes", "queue_ns"];
        simulation.source("disk", &counters, move |second| {
            vec![ops * second, ops * bytes * second, 0.0, 0.0, queue * second * 1e9]
        })
    }

    fn titles(simulation: &Simulation) -> Vec<String> {
        simulation.findings("asked-achieved").into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn what_was_asked_and_achieved_alike_is_not_told() {
        let alike = device(file("uring", true, 16_384, 31.5), 1_000.0, 16_384.0, 29.0);
        assert_eq!(titles(&alike), Vec::<String>::new());
        let achieved = alike.analysis().points.remove(0).summary.expect("it ran").achieved;
        assert_eq!(achieved.device_bytes_per_read, Some(16_384.0));
        assert!((achieved.under_way_mean.expect("it ran") - 31.5).abs() < 0.1);
    }

    #[test]
    fn a_generator_that_keeps_half_of_the_depth_under_way_is_told() {
        let titles = titles(&file("uring", true, 16_384, 16.0));
        assert_eq!(titles, ["asked for 32 operations under way, achieved 16.0 on average"]);
    }

    #[test]
    fn aio_through_the_page_cache_has_a_depth_of_one() {
        let finding = file("aio", false, 16_384, 32.0).finding("asked-achieved");
        assert_eq!(finding.title, "asked for 32 operations under way, achieved 1 per client");
        assert!(titles(&file("aio", true, 16_384, 32.0)).is_empty());
    }

    #[test]
    fn operations_that_wait_above_the_device_are_told() {
        let limited = device(file("uring", true, 16_384, 32.0), 1_000.0, 16_384.0, 0.4);
        assert_eq!(titles(&limited), ["asked for 32 operations under way, the device saw 0.40 on average"]);
    }

    #[test]
    fn blocks_that_were_split_or_merged_are_told_with_the_reason() {
        let split = device(file("uring", true, 4 << 20, 32.0), 4_000.0, f64::from(1 << 20), 100.0);
        let mut split = split;
        split.environment.push(Fact::new("disk.max_request_bytes", "1048576"));
        let finding = split.finding("asked-achieved");
        assert_eq!(finding.title, "asked for reads of 4 MiB, the device saw 1024 KiB on average");
        assert!(finding.evidence.contains("at most 1 MiB at a time"), "{}", finding.evidence);
        let merged = device(file("uring", true, 4_096, 32.0), 250.0, 16_384.0, 32.0).finding("asked-achieved");
        assert!(merged.title.ends_with("the device saw 16.0 KiB on average"), "{}", merged.title);
        assert!(merged.evidence.contains("merged"), "{}", merged.evidence);
    }

    #[test]
    fn io_of_others_and_cached_blocks_say_nothing_of_ours() {
        let others = device(file("uring", true, 16_384, 32.0), 2_000.0, 20_000.0, 32.0);
        let cached = device(file("uring", true, 16_384, 32.0), 100.0, 8_192.0, 32.0);
        let buffered = device(file("uring", false, 16_384, 32.0), 125.0, 131_072.0, 32.0);
        assert!([others, cached, buffered].iter().all(|simulation| titles(simulation).is_empty()));
    }

    #[test]
    fn a_rate_that_was_not_reached_is_told_once_only() {
        let overloaded = Simulation::open(10, 2_000, |_| 1_000_000);
        assert!(titles(&overloaded).is_empty() && overloaded.findings("overload").len() == 1);
        let lazy = Simulation::open(10, 2_000, |_| 100_000).with(|point| {
            let intervals = &mut point.phases[0].intervals;
            intervals.truncate(8);
            point.phases[0].offered = 16_000;
        });
        assert_eq!(titles(&lazy), ["asked for 2.00k/s, achieved 1.60k/s (20 % less)"]);
    }
}
