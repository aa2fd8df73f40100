//! Sets what the device did for a point beside what it has shown that it can do: the load line.
//!
//! In: the counters of `disk`; the ceilings among the facts of the machine, and the file points of the same run. Out: a note.
//! Limits: a ceiling is what was seen, and the device may carry more. It is of random blocks; of the blocks measured the nearest
//! one stands for the point's mean size, and nothing is said where that is more than four times off. What others did on the
//! device counts as an engine's, unless its own counters show that most was theirs; of a file point its operations are known.

use super::detector::{Detector, Measured, PointView};
use crate::counters::{growth_of_all, growth_of_most};
use crate::facts::{fact, param, slots};
use crate::text::{percent, rate};
use crate::{Finding, Rounds, Severity};
use model::units::three_digits;
use model::{Bytes, Nanos, Pacing, Phase, PointData, PointState, Value};
use std::borrow::Cow;

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "load-line",
    help: "how much of what the device has shown that it can do was used",
    explain: "The operations of the device during the run (of a file point with direct I/O its own) are set beside a ceiling: random blocks with direct I/O, as `plimsoll \
              disk` measured them here before (it leaves them in `ceilings.json` beside the run files, and each later run on \
              the same disk and file system takes them over as facts), or as a file point of the same run did. Of the blocks \
              measured the nearest stands for the mean size of the point's operations: smaller operations are compared by \
              their number, larger ones by their bytes, since a device does at least as many smaller ones, and at least as \
              many bytes in larger ones. The depth is that at which the ceiling was highest. Far below the line the device is \
              not what holds the engine back; near it, it is. More than all of it means that the ceiling was not the \
              device's best: neighbouring blocks were merged, or the disk was busy or limited when it was measured.",
    detect,
};

// A third kind of operation beside nine of the other hardly changes what the device can do.
const PURE_SHARE: f64 = 0.9;
const MIX_SHARE_OFF_MAX: f64 = 0.1;
const BLOCK_RATIO_MAX: f64 = 4.0;
// A journal doubles what its file system writes, in the kernel's name.
const OWN_SHARE_MIN: f64 = 0.4;
// Below, the counters show the housekeeping of the file system.
const OPS_PER_S_MIN: f64 = 1.0;

/// The sort of operations that a ceiling is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mix {
    Reads,
    Writes,
    /// Of both; this share is reads.
    Both(f64),
}

/// What a device has shown.
#[derive(Clone, Debug, PartialEq)]
struct Ceiling {
    mix: Mix,
    block: Bytes,
    /// Operations under way.
    depth: u64,
    ops_per_s: f64,
    /// The point of this run that showed it; `None` where it was measured before.
    point: Option<u32>,
}

/// Operations of one sort and their bytes, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    ops: f64,
    bytes: f64,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_sequential(view.point)) else { return Vec::new() };
    let ceilings = ceilings(view);
    match used(view, &measured, &ceilings) {
        // The highest of its run is the line, and not under it.
        Some(used) if used.ceilings.iter().all(|ceiling| ceiling.point != Some(view.point.id)) => {
            vec![told(view, &used)]
        }
        _ => Vec::new(),
    }
}

/// How much of which ceilings was used, and by what.
struct Used<'a> {
    share: f64,
    ceilings: Vec<&'a Ceiling>,
    flow: Flow,
}

fn used<'a>(view: &PointView, measured: &Measured, ceilings: &'a [Ceiling]) -> Option<Used<'a>> {
    let (reads, writes) = (flow(view.point, measured, "read")?, flow(view.point, measured, "write")?);
    let both = Flow { ops: reads.ops + writes.ops, bytes: reads.bytes + writes.bytes };
    if both.ops < OPS_PER_S_MIN || is_of_others(view.point, measured, both) {
        return None;
    }
    let of = |flow: Flow, mix: Mix| {
        let ceiling = nearest(ceilings, mix, flow)?;
        Some(Used { share: share(flow, ceiling), ceilings: vec![ceiling], flow })
    };
    match reads.ops / both.ops {
        read_share if read_share >= PURE_SHARE => of(reads, Mix::Reads),
        read_share if read_share <= 1.0 - PURE_SHARE => of(writes, Mix::Writes),
        read_share => of(both, Mix::Both(read_share)).or_else(|| {
            // The time that the device spends on reads and that on writes add up.
            let (reads, writes) = (of(reads, Mix::Reads)?, of(writes, Mix::Writes)?);
            let ceilings = vec![reads.ceilings[0], writes.ceilings[0]];
            Some(Used { share: reads.share + writes.share, ceilings, flow: both })
        }),
    }
}

/// Whether most of what the device moved was not for the engine, as far as its processes' own counters tell.
fn is_of_others(point: &PointData, measured: &Measured, device: Flow) -> bool {
    let phase = measured.window.phase;
    let own = |counter| growth_of_all(point, "process", counter, phase.start, phase.end).map(|own| own.per_second());
    let own = own("read_bytes").zip(own("write_bytes"));
    !is_direct_file(point) && own.is_some_and(|(read, written)| read + written < OWN_SHARE_MIN * device.bytes)
}

/// What a file point did itself past the page cache, or what its device did.
fn flow(point: &PointData, measured: &Measured, word: &str) -> Option<Flow> {
    let phase = measured.window.phase;
    if is_direct_file(point) {
        return Some(own_flow(point, measured, word));
    }
    let grown = |what: &str| growth_of_most(point, "disk", &format!("{word}_{what}"), phase.start, phase.end);
    Some(Flow { ops: grown("ops")?.per_second(), bytes: grown("bytes")?.per_second() })
}

fn own_flow(point: &PointData, measured: &Measured, word: &str) -> Flow {
    let kinds = measured.window.inside_recorded().iter().flat_map(|interval| &interval.kinds);
    let own = kinds.filter(|kind| point.kinds.get(usize::from(kind.kind)).is_some_and(|kind| kind.name == word));
    let (ops, bytes) = own.fold((0.0, 0.0), |(ops, bytes), kind| (ops + kind.ok as f64, bytes + kind.bytes as f64));
    let seconds = measured.summary.seconds.max(1e-9);
    Flow { ops: ops / seconds, bytes: bytes / seconds }
}

/// Of the ceilings of that mix with the block nearest to the mean size, the highest.
fn nearest(ceilings: &[Ceiling], mix: Mix, flow: Flow) -> Option<&Ceiling> {
    let size = flow.bytes / flow.ops.max(f64::MIN_POSITIVE);
    let ratio = |ceiling: &Ceiling| (size / ceiling.block.0 as f64).max(ceiling.block.0 as f64 / size);
    let fits = |ceiling: &&Ceiling| is_like(ceiling.mix, mix) && ratio(ceiling) <= BLOCK_RATIO_MAX;
    let order = |a: &&Ceiling, b: &&Ceiling| ratio(b).total_cmp(&ratio(a)).then(a.ops_per_s.total_cmp(&b.ops_per_s));
    ceilings.iter().filter(fits).max_by(order)
}

fn is_like(one: Mix, other: Mix) -> bool {
    match (one, other) {
        (Mix::Both(one), Mix::Both(other)) => (one - other).abs() <= MIX_SHARE_OFF_MAX,
        _ => one == other,
    }
}

/// Smaller operations than the ceiling's are compared by their number, larger ones by their bytes.
fn share(flow: Flow, ceiling: &Ceiling) -> f64 {
    let block = ceiling.block.0 as f64;
    match flow.bytes / flow.ops <= block {
        true => flow.ops / ceiling.ops_per_s,
        false => flow.bytes / (ceiling.ops_per_s * block),
    }
}

/// Those of earlier measurements, where they are of the point's device, and those of the run's file points.
fn ceilings(view: &PointView) -> Vec<Ceiling> {
    let device = device_of(view.point);
    let before =
        view.environment.iter().filter(|_| device.is_some() && fact(view.environment, "disk.device") == device);
    let before = before.filter_map(|fact| remembered(&fact.name, &fact.value));
    let kind_of = |point: &PointData| point.trial.target.fs.map(|fs| fs.kind);
    // Volumes of one run have the same device one after the other.
    let is_same = |other: &&PointData| device_of(other) == device && kind_of(other) == kind_of(view.point);
    let of_run = view.others.iter().filter(|other| device.is_some() && is_same(other)).filter_map(shown);
    before.chain(of_run).collect()
}

/// The block device that the point's counters are of.
fn device_of(point: &PointData) -> Option<&str> {
    point.sources.iter().find(|source| source.name == "disk").map(|source| source.subject.as_str())
}

/// The fact `ceiling.read.16384.32` = `5912 ops/s`.
fn remembered(name: &str, value: &str) -> Option<Ceiling> {
    let mut parts = name.strip_prefix("ceiling.")?.split('.');
    let mix = match parts.next()? {
        "read" => Mix::Reads,
        "write" => Mix::Writes,
        _ => return None,
    };
    let (block, depth) = (Bytes(parts.next()?.parse().ok()?), parts.next()?.parse().ok()?);
    let ops_per_s: f64 = value.strip_suffix(" ops/s")?.parse().ok()?;
    (block.0 > 0 && ops_per_s > 0.0).then_some(Ceiling { mix, block, depth, ops_per_s, point: None })
}

/// What a file point has shown: random blocks with direct I/O, as fast as it could.
fn shown(point: &PointData) -> Option<Ceiling> {
    let word = |name: &str| match param(point, name) {
        Some(Value::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let eager = point.trial.load.pacing == Pacing::Closed { think: Nanos(0) };
    let is_plain = word("fsync").is_none_or(|fsync| fsync == "none") && point.state == PointState::Complete;
    let mix = match (word("mode")?, param(point, "read_share")) {
        ("rndrd", _) => Mix::Reads,
        ("rndwr", _) => Mix::Writes,
        ("rndrw", Some(Value::Float(share))) => Mix::Both(*share),
        _ => return None,
    };
    let Some(Value::Bytes(block)) = param(point, "block") else { return None };
    let ops_per_s = ops_per_s(point).filter(|ops| *ops > 0.0 && eager && is_plain && is_direct_file(point))?;
    Some(Ceiling { mix, block: *block, depth: slots(point), ops_per_s, point: Some(point.id) })
}

fn is_direct_file(point: &PointData) -> bool {
    let is_file = point.trial.workload.name == "file" && point.trial.target.engine == "file";
    is_file && matches!(param(point, "direct"), Some(Value::Bool(true)))
}

fn ops_per_s(point: &PointData) -> Option<f64> {
    let run = point.phase(Phase::Run)?;
    let phase = Rounds::of(run, &point.trial).map_or(Cow::Borrowed(run), |rounds| rounds.counted(run));
    let inside = phase.intervals.iter().filter(|interval| interval.start < phase.end);
    let ops: f64 = inside.flat_map(|interval| &interval.kinds).map(|kind| kind.ok as f64).sum();
    Some(ops / phase.end.since(phase.start).as_secs_f64().max(1e-9))
}

fn is_sequential(point: &PointData) -> bool {
    matches!(param(point, "mode"), Some(Value::Word(mode)) if mode.starts_with("seq"))
}

fn told(view: &PointView, used: &Used) -> Finding {
    let names: Vec<String> = used.ceilings.iter().map(|ceiling| name(ceiling)).collect();
    let share = percent(used.share);
    let title = format!("used {share} of the {} that this disk has shown", names.join(" and the "));
    let shown = used.ceilings.iter().map(|ceiling| format!("{} {}", rate(ceiling.ops_per_s), origin(ceiling, view)));
    let evidence = format!(
        "{} did {} of {} KiB on average; ceiling {}",
        if is_direct_file(view.point) { "the clients" } else { "the device" },
        rate(used.flow.ops),
        three_digits(used.flow.bytes / used.flow.ops / 1024.0),
        shown.collect::<Vec<_>>().join(" and ")
    );
    let next_step = match used.share {
        // A file point has no engine: it is its clients that ask for no more.
        share if share < 0.5 && view.point.trial.workload.name == "file" => {
            "the disk could carry more: more clients, a greater depth or other blocks would ask for it"
        }
        share if share < 0.5 => "the disk could carry more: look for what holds the engine back before the disk",
        share if share < 0.9 => "",
        _ => "the disk is at its line: fewer or larger operations, or another disk, would carry more",
    };
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

/// `random-read ceiling (16 KiB, depth 32)`
fn name(ceiling: &Ceiling) -> String {
    let mix = match ceiling.mix {
        Mix::Reads => "random-read".to_owned(),
        Mix::Writes => "random-write".to_owned(),
        Mix::Both(share) => format!("random-read-write ({} reads)", percent(share)),
    };
    format!("{mix} ceiling ({}, depth {})", ceiling.block, ceiling.depth)
}

fn origin(ceiling: &Ceiling, view: &PointView) -> String {
    match ceiling.point {
        Some(id) => format!("by point {id} of this run"),
        None => {
            let when = fact(view.environment, "ceiling.measured").unwrap_or("before");
            let kernel = fact(view.environment, "ceiling.kernel").map(|kernel| format!(", kernel {kernel}"));
            format!("by `plimsoll disk`, {when}{}", kernel.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Simulation, params, run_of};
    use model::Fact;

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

    const READS: &[(&str, &str)] = &[
        ("ceiling.read.4096.32", "40000 ops/s"),
        ("ceiling.read.16384.1", "5000 ops/s"),
        ("ceiling.read.16384.32", "20000 ops/s"),
        ("ceiling.read.65536.32", "8000 ops/s"),
    ];

    #[test]
    fn an_engine_that_reads_below_the_line_is_told_how_far() {
        let finding = with_ceilings(on_disk(7_600.0, 16_384.0, 10.0, 4_096.0), READS).finding("load-line");
        assert_eq!(finding.title, "used 38 % of the random-read ceiling (16 KiB, depth 32) that this disk has shown");
        assert_eq!(
            finding.evidence,
            "the device did 7.60k/s of 16.0 KiB on average; ceiling 20.0k/s by `plimsoll disk`, 2026-11-21 09:30 UTC"
        );
    }

    #[test]
    fn smaller_operations_are_compared_by_number_and_larger_ones_by_bytes() {
        let title = |size: f64| with_ceilings(on_disk(4_000.0, size, 0.0, 0.0), READS).finding("load-line").title;
        assert!(title(14_000.0).starts_with("used 20 % of the random-read ceiling (16 KiB"), "{}", title(14_000.0));
        assert!(title(24_576.0).starts_with("used 30 % of the random-read ceiling (16 KiB"), "{}", title(24_576.0));
        assert!(title(131_072.0).starts_with("used 100 % of the random-read ceiling (64 KiB"), "{}", title(131_072.0));
    }

    #[test]
    fn reads_and_writes_add_up_where_no_ceiling_is_of_both() {
        let both = [READS, &[("ceiling.write.16384.32", "10000 ops/s")]].concat();
        let title = with_ceilings(on_disk(4_000.0, 16_384.0, 3_000.0, 16_384.0), &both).finding("load-line").title;
        assert!(
            title.starts_with("used 50 % of the random-read ceiling (16 KiB, depth 32) and the random-write"),
            "{title}"
        );
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
        let own = |bytes: f64| {
            let process = move |second: f64| vec![bytes * second, 0.0];
            let beside =
                on_disk(7_600.0, 16_384.0, 0.0, 0.0).source("process", &["read_bytes", "write_bytes"], process);
            with_ceilings(beside, READS).findings("load-line").len()
        };
        assert_eq!([own(7_600.0 * 16_384.0), own(100.0 * 16_384.0)], [1, 0]);
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
        let titles: Vec<Option<&str>> = analysis
            .points
            .iter()
            .map(|point| {
                point.findings.iter().find(|finding| finding.code == "load-line").map(|finding| finding.title.as_str())
            })
            .collect();
        let line = "used 25 % of the random-read ceiling (16 KiB, depth 32) that this disk has shown";
        assert_eq!(titles, [Some(line), None, Some(line)]);
        let next = [0, 2].map(|nth: usize| {
            let told = analysis.points[nth].findings.iter().find(|finding| finding.code == "load-line");
            told.expect("it is told").next_step.contains("engine")
        });
        assert_eq!(next, [false, true], "a file has no engine that could be held back");
    }
}
