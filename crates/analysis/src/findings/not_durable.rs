//! Finds commits that were acknowledged before they can have been on the disk, although they were to be there.
//!
//! In: the commits of rows that were changed; the flushes of the device; how the device flushes, as plimsoll saw it before the
//! load. Out: an error. Limits: clients whose commits are in flight at the same time may share a flush, so only far too few are found; flushes
//! of others on the device hide them. Whether the device keeps what it has flushed cannot be seen from here, and neither can a cache that a
//! battery keeps, which is no fault. Of a device whose flushes the kernel does not count only commits are found that took less time than a flush.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::recorded::counters::{done_between, growth_of_first};
use crate::recorded::facts::{is_scripted, slots};
use model::{CounterRole, DeviceFlushes, KindRow, Nanos, OpClass, PointData, Tick};
use serde::Serialize;
use words::quantity::{number, range};

/// Commits that were not on the disk when they were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnflushedCommits {
    /// How many commits there were in a second.
    pub commits_per_s: f64,
    /// How many commits one flush can serve: as many as can be in flight.
    pub commits_per_flush_max: u64,
    /// How often the device flushed in a second, durable writes included if it has some; `None` if the kernel does not count it.
    pub flushes_per_s: Option<f64>,
    /// The most time that a commit can have taken.
    pub commit_ns: Nanos,
    /// The least time that a flush of this device took before the load.
    pub flush_ns: Nanos,
}

/// Fewer commits show nothing.
const COMMITS_LEAST: f64 = 200.0;

/// So much less than what is due is far too little: some operations change nothing, and the kernel may join two flushes.
const FAR_BELOW: f64 = 0.25;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !is_scripted(view.point)) else { return Vec::new() };
    let Some(flushes) = view.point.traits.engine.flushes.filter(|_| is_to_be_durable(view.point)) else {
        return Vec::new();
    };
    let found = find_unflushed(view.point, &measured, flushes);
    found.map(|detail| Finding::new(Severity::Error, detail).next(NextStep::FindWhatKeepsFlushes)).into_iter().collect()
}

fn is_to_be_durable(point: &PointData) -> bool {
    point.traits.engine.durability.as_deref() == Some("disk")
}

fn find_unflushed(point: &PointData, measured: &Measured, flushes: DeviceFlushes) -> Option<UnflushedCommits> {
    let phase = measured.window.phase;
    let counted = flushes.is_counted.then(|| flushes_between(point, flushes, phase.start, phase.end)).flatten();
    let (from, to) = counted.map_or((phase.start, phase.end), |counted| (counted.from, counted.to));
    let (commits, length) = (commits_between(point, from, to), to.since(from));
    let commits_per_flush_max = in_flight_max(point);
    if commits < COMMITS_LEAST || length.0 == 0 {
        return None;
    }
    let per_s = |count: f64| count / length.as_secs_f64();
    let commit_ns = Nanos((commits_per_flush_max as f64 * length.0 as f64 / commits) as u64);
    let found = UnflushedCommits {
        commits_per_s: per_s(commits),
        commits_per_flush_max,
        flushes_per_s: counted.map(|counted| per_s(counted.flushes)),
        commit_ns,
        flush_ns: flushes.fastest_ns,
    };
    found.is_far_below().then_some(found)
}

impl UnflushedCommits {
    /// Whether there were far fewer flushes than the commits need, or, if they are not counted, no time for them.
    fn is_far_below(&self) -> bool {
        match self.flushes_per_s {
            Some(flushes) => flushes < FAR_BELOW * self.flushes_due_per_s(),
            None => (self.commit_ns.0 as f64) < FAR_BELOW * self.flush_ns.0 as f64,
        }
    }

    /// How many flushes in a second the commits need at least.
    fn flushes_due_per_s(&self) -> f64 {
        self.commits_per_s / self.commits_per_flush_max.max(1) as f64
    }
}

/// What a device made durable between two readings.
#[derive(Clone, Copy)]
struct CountedFlushes {
    from: Tick,
    to: Tick,
    flushes: f64,
}

/// `None` if the readings do not cover the time.
fn flushes_between(point: &PointData, device: DeviceFlushes, start: Tick, end: Tick) -> Option<CountedFlushes> {
    let flushed = growth_of_first(point, CounterRole::DeviceFlushOps, start, end)?;
    let written = growth_of_first(point, CounterRole::DeviceWriteOps, start, end).filter(|_| device.writes_durably);
    let durable_writes = written.map_or(0.0, |growth| growth.amount);
    Some(CountedFlushes { from: flushed.from, to: flushed.to, flushes: flushed.amount + durable_writes })
}

/// The commits of changed rows, or, of an engine that counts no rows, the operations that write.
fn commits_between(point: &PointData, from: Tick, to: Tick) -> f64 {
    let mut rows = point.phases.iter().flat_map(|phase| &phase.intervals).flat_map(|interval| &interval.kinds);
    if rows.any(|row| !row.rows.is_zero()) {
        return done_between(point, from, to, |row| row.rows.commits as f64);
    }
    let writes = |row: &KindRow| {
        let kind = point.kinds.get(usize::from(row.kind.0));
        kind.is_some_and(|kind| matches!(kind.class, OpClass::Write | OpClass::ReadWrite))
    };
    done_between(point, from, to, |row| if writes(row) { row.ok as f64 } else { 0.0 })
}

/// How many operations can be in flight at once, those of background clients included.
fn in_flight_max(point: &PointData) -> u64 {
    let background: u32 = point.traits.course.background.iter().map(|group| group.clients).sum();
    slots(point) + u64::from(background) * u64::from(point.trial.target.instances)
}

impl FindingKind for UnflushedCommits {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "acknowledged commits that a power cut may lose";

    fn is_like(&self, other: &Self) -> bool {
        self.flushes_per_s.is_some() == other.flushes_per_s.is_some()
    }

    fn title(alike: &[&Self]) -> String {
        let commits = range(alike, |one| one.commits_per_s, number);
        let seen = match alike[0].flushes_per_s {
            Some(_) => {
                let flushes = range(alike, |one| one.flushes_per_s.unwrap_or_default(), number);
                format!("{commits} commits per second, {flushes} flushes of the disk")
            }
            None => format!("{commits} commits per second, faster than the disk flushes"),
        };
        format!("a power cut may lose commits that were acknowledged: {seen}")
    }

    fn evidence(&self) -> String {
        let served = match self.commits_per_flush_max {
            1 => "one client shares a flush with nobody".to_owned(),
            most => format!("a flush can serve {most} commits at most"),
        };
        match self.flushes_per_s {
            Some(_) => format!("{served}: at least {} flushes per second are due", number(self.flushes_due_per_s())),
            None => format!(
                "a commit took {} at most, and a flush of this device at least {} before the load",
                self.commit_ns, self.flush_ns
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::Simulation;
    use model::{Fact, RowCounts};

    /// A client that commits 1,000 times a second to a device that flushes so often, and what was seen of this before.
    fn committing(flushes_per_s: f64, facts: &[(&str, &str)]) -> Simulation {
        let facts = facts.iter().chain(&[("durability", "disk")]).map(|(name, value)| Fact::new(*name, *value));
        let facts: Vec<Fact> = facts.collect();
        Simulation::counts(&[1000; 10])
            .source("disk", &["flush_ops", "write_ops"], move |second| vec![second * flushes_per_s, second * 1500.0])
            .with(|point| {
                point.kinds[0].class = OpClass::Write;
                let roles = [CounterRole::DeviceFlushOps, CounterRole::DeviceWriteOps];
                let source = point.sources.last_mut().expect("it was added");
                source.counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = Some(role));
                point.traits.learn_all(&facts);
            })
    }

    const COUNTED: [(&str, &str); 3] =
        [("flush.fastest_ns", "100000"), ("flush.counted", "yes"), ("flush.durable_writes", "no")];

    fn is_found(simulation: &Simulation) -> bool {
        !simulation.findings("not-durable").is_empty()
    }

    #[test]
    fn commits_without_flushes_void_the_point_and_a_power_cut_is_named() {
        let lying = committing(2.0, &COUNTED);
        assert_eq!(lying.analysis().points[0].validity, Validity::Invalid);
        let found: UnflushedCommits = lying.figures();
        assert_eq!((found.commits_per_s.round(), found.flushes_per_s.map(f64::round)), (1000.0, Some(2.0)));
        let title = UnflushedCommits::title(&[&found]);
        assert!(
            title.starts_with("a power cut may lose commits") && title.ends_with("2.00 flushes of the disk"),
            "{title}"
        );
        assert_eq!(found.evidence(), "one client shares a flush with nobody: at least 1000 flushes per second are due");
    }

    #[test]
    fn a_flush_for_each_commit_or_for_each_group_of_them_is_right() {
        assert!(!is_found(&committing(1000.0, &COUNTED)));
        assert!(is_found(&committing(70.0, &COUNTED)));
        // Sixteen clients may share a flush.
        assert!(!is_found(&committing(70.0, &COUNTED).with(|point| point.trial.load.clients = 16)));
    }

    #[test]
    fn writes_that_are_durable_by_themselves_count() {
        let durable = [COUNTED[0], COUNTED[1], ("flush.durable_writes", "yes")];
        assert!(!is_found(&committing(0.0, &durable)));
    }

    #[test]
    fn without_a_count_only_commits_that_are_faster_than_a_flush_are_found() {
        let uncounted = |fastest_ns| [("flush.fastest_ns", fastest_ns), ("flush.counted", "no")];
        // A commit a millisecond.
        assert!(!is_found(&committing(0.0, &uncounted("1000000"))));
        let found: UnflushedCommits = committing(0.0, &uncounted("8000000")).figures();
        assert_eq!(
            found.evidence(),
            "a commit took 1.00 ms at most, and a flush of this device at least 8.00 ms before the load"
        );
    }

    #[test]
    fn operations_that_change_rows_and_do_not_commit_them_are_no_commits() {
        let committed = |commits: u64| {
            committing(2.0, &COUNTED).with(|point| {
                let intervals = point.phases.iter_mut().flat_map(|phase| &mut phase.intervals);
                let rows = intervals.flat_map(|interval| &mut interval.kinds);
                rows.for_each(|row| {
                    row.rows = RowCounts { returned: 1, changed: 1000, commits, ..RowCounts::default() }
                });
            })
        };
        assert!(is_found(&committed(1000)) && !is_found(&committed(2)));
    }

    #[test]
    fn reads_other_durability_and_a_device_that_is_not_seen_show_nothing() {
        assert!(!is_found(&committing(0.0, &COUNTED).with(|point| point.kinds[0].class = OpClass::Read)));
        let os = |point: &mut PointData| point.traits.engine.durability = Some("os".into());
        assert!(!is_found(&committing(0.0, &COUNTED).with(os)));
        assert!(!is_found(&committing(0.0, &[])));
    }
}
