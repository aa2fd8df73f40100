//! Compares what the device did for a point with what it has shown that it can do: the load line.
//!
//! In: the counters of `disk`; the ceilings among the facts of the machine, and the file points of the same run. Out: a note.
//! Limits: those of [`LineUse`].

use super::{Detects, Finding, FindingKind};
use crate::evidence::line_use::LineUse;
use crate::evidence::{CeilingMix, PointView, ShownCeiling};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use crate::recorded::facts::is_direct_file;
use serde::Serialize;
use words::quantity::{count, kibibytes, percent, plural, range, rate};

/// How much of a ceiling a point used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CeilingUse {
    /// The share of it.
    pub used_share: Share,
    /// The ceiling; or that of reads and that of writes, whose shares add up.
    pub ceilings: Vec<ShownCeiling>,
    pub ops_per_s: f64,
    pub bytes_per_op: f64,
    /// Whether they are counted at the clients, and not at the device.
    pub counted_at_clients: bool,
    /// When `plimsoll disk` measured the ceilings, as it wrote it; `None` if it did not, or did not write it.
    pub measured: Option<String>,
    /// The kernel at that time.
    pub kernel: Option<String>,
}

// Below half the line something else limits.
const FAR_BELOW: f64 = 0.5;

// Near all of the line the disk limits.
const NEAR: f64 = 0.9;

fn detect(view: &PointView) -> Vec<Finding> {
    view.line.map(|line| near_or_below(view, line)).into_iter().collect()
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

impl FindingKind for CeilingUse {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

    fn is_like(&self, other: &Self) -> bool {
        let mixes = |one: &Self| one.ceilings.iter().map(ceiling_name).collect::<Vec<_>>();
        mixes(self) == mixes(other)
    }

    fn title(alike: &[&Self]) -> String {
        let names: Vec<String> = alike[0].ceilings.iter().map(ceiling_name).collect();
        format!("{} of this disk's best {}", range(alike, |one| one.used_share.0, percent), names.join(" and "))
    }

    fn mixed_title(alike: &[(&str, &Self)]) -> Option<String> {
        let all: Vec<&Self> = alike.iter().map(|(_, one)| *one).collect();
        let used = range(&all, |one| one.used_share.0, percent);
        Some(format!("{used} of this disk's best rates: {} (see the report)", plural(all.len() as u64, "point")))
    }

    fn evidence(&self) -> String {
        let side = if self.counted_at_clients { "the clients" } else { "the device" };
        let ceilings: Vec<String> = self
            .ceilings
            .iter()
            .map(|ceiling| format!("{} {}", rate(ceiling.ops_per_s), self.origin(ceiling)))
            .collect();
        let (done, size) = (count(self.ops_per_s), kibibytes(self.bytes_per_op));
        let what = operations(&self.ceilings);
        format!("{side} did {done} {what}/s of {size} on average; best: {}", ceilings.join(" and "))
    }
}

/// What was counted: `reads`, `writes`, or both.
fn operations(ceilings: &[ShownCeiling]) -> &'static str {
    match ceilings {
        [ShownCeiling { mix: CeilingMix::Reads, .. }] => "reads",
        [ShownCeiling { mix: CeilingMix::Writes, .. }] => "writes",
        _ => "reads and writes",
    }
}

/// `random-read rate (16 KiB, 32 in flight)`
fn ceiling_name(ceiling: &ShownCeiling) -> String {
    let mix = match ceiling.mix {
        CeilingMix::Reads => "random-read rate".to_owned(),
        CeilingMix::Writes => "random-write rate".to_owned(),
        CeilingMix::Both { read_share } => format!("random-read-write rate ({} reads)", percent(read_share.0)),
    };
    format!("{mix} ({}, {} in flight)", ceiling.block_bytes, ceiling.depth)
}

impl CeilingUse {
    fn origin(&self, ceiling: &ShownCeiling) -> String {
        match ceiling.point {
            Some(id) => format!("in point {id} of this run"),
            None => {
                let when = self.measured.as_ref().map_or(String::new(), |when| format!(", {when}"));
                let kernel = self.kernel.as_ref().map_or(String::new(), |kernel| format!(", kernel {kernel}"));
                format!("by `plimsoll disk`{when}{kernel}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::evidence::run_ceilings::{CeilingMix, ShownCeiling};
    use crate::findings::Code;
    use crate::simulated::{Simulation, figures_of, params, run_of};
    use model::{Bytes, Fact, Value};

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
        simulation.recorded.kinds = vec![crate::simulated::kind("read")];
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
