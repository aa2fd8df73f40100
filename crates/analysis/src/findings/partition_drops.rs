//! Finds drops and peaks of the insert rate where the tables begin a new partition.
//!
//! In: the rows inserted in each interval, and how many rows the partitions hold. Out: a note with how deep, how long and how often.
//! Limits: needs three boundaries with half a partition on both sides and ten intervals to each; tables that do not fill evenly pass
//! their boundaries at different times, and nothing is found. Another cause that comes as often in rows, and at the same moment,
//! cannot be distinguished from it.

use super::phrases::SPANS_LISTED_MAX;
use super::{CourseDisturbance, Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::stats::{mean, median};
use crate::math::units::{Share, nanos};
use crate::numbers::amounts::InsertedRows;
use model::Nanos;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use std::cmp::Ordering;
use words::list::listed;
use words::quantity::{percent, range, rate, seconds, whole};

/// How the insert rate changes where partitions begin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartitionRates {
    /// Drops at the boundaries; `None` if there are no more than by chance, here and below.
    pub drops: Option<BoundaryPattern>,
    /// Peaks at the boundaries.
    pub peaks: Option<BoundaryPattern>,
    /// How many rows a partition holds.
    pub partition_rows: u64,
    /// When the boundaries were passed, since the run phase began.
    pub passed_at_ns: Vec<Nanos>,
    /// The length of an interval.
    pub interval_ns: Nanos,
}

/// Boundaries at which the rate differs, among all that were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoundaryPattern {
    /// At how many it differs.
    pub found: usize,
    /// How many were looked at.
    pub boundaries: usize,
    /// How likely so many would be, were boundaries nothing special.
    pub chance: f64,
    /// The share of all rows that are near a boundary.
    pub near_share: Share,
    /// The median of the rates there.
    pub rows_per_s: f64,
    /// By which share of the level around it, as a median.
    pub depth_share: Share,
    /// How long, as a median.
    pub length_ns: Nanos,
}

// One drop may be chance, and so may two.
const BOUNDARIES_MIN: usize = 3;

// To each boundary, so that one interval near it is a tenth of them at most.
const INTERVALS_MIN: usize = 10;

/// So near to a boundary, as a share of a partition, is at it.
const NEAR_SHARE: f64 = 0.05;

// Each point of a run is tested: at 5 % one of twenty would have drops by chance.
const CHANCE_MAX: f64 = 0.001;

const DEPTH_MIN: f64 = 0.1;

/// The way in which an interval differs from its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ShiftDirection {
    Down,
    Up,
}

impl ShiftDirection {
    /// The lower rate comes first, or the higher.
    fn order(self, a: f64, b: f64) -> Ordering {
        match self {
            ShiftDirection::Down => a.total_cmp(&b),
            ShiftDirection::Up => b.total_cmp(&a),
        }
    }
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let amounts = &measured.series.amounts;
    let Some(partition_rows) = amounts.partition_rows else { return Vec::new() };
    let stretches = stretches(&amounts.inserted, partition_rows);
    let [drops, peaks] = [ShiftDirection::Down, ShiftDirection::Up].map(|way| pattern(&stretches, way));
    if drops.is_none() && peaks.is_none() {
        return Vec::new();
    }
    let detail = PartitionRates {
        drops,
        peaks,
        partition_rows,
        passed_at_ns: stretches.iter().map(passed_at).collect(),
        interval_ns: measured.window.whole.first().map_or(Nanos::from_secs(1), |first| first.length),
    };
    vec![Finding::new(Severity::Note, detail).next(NextStep::StudyPartitions)]
}

fn passed_at(stretch: &BoundaryStretch) -> Nanos {
    let nearest = stretch.intervals.iter().find(|interval| interval.rows_after() as f64 >= stretch.boundary);
    nanos(nearest.map_or(0.0, |interval| interval.at_s))
}

/// A boundary with half a partition on both sides.
struct BoundaryStretch<'a> {
    intervals: &'a [InsertedRows],
    /// Rows inserted at the boundary.
    boundary: f64,
    /// So many rows to either side are near it.
    near: f64,
}

/// Those that lie whole within `inserted` and have intervals enough.
fn stretches(inserted: &[InsertedRows], partition_rows: u64) -> Vec<BoundaryStretch<'_>> {
    let (Some(first), Some(last)) = (inserted.first(), inserted.last()) else { return Vec::new() };
    let (rows, half) = (partition_rows as f64, partition_rows as f64 / 2.0);
    let until = |rows: f64| inserted.partition_point(|interval| middle(interval) < rows);
    let boundaries = first.before / partition_rows + 1..=last.rows_after() / partition_rows;
    let stretch = |nth: u64| {
        let boundary = nth as f64 * rows;
        let is_whole = boundary - half >= first.before as f64 && boundary + half <= last.rows_after() as f64;
        let intervals = &inserted[until(boundary - half)..until(boundary + half)];
        let is_enough = is_whole && intervals.len() >= INTERVALS_MIN;
        // The two intervals at the boundary are near it, however long they are.
        let longest = intervals.iter().map(|interval| interval.rows).max().unwrap_or(0) as f64;
        is_enough.then_some(BoundaryStretch { intervals, boundary, near: (NEAR_SHARE * rows).max(longest) })
    };
    boundaries.filter_map(stretch).collect()
}

/// Rows inserted in the middle of an interval.
fn middle(interval: &InsertedRows) -> f64 {
    interval.before as f64 + interval.rows as f64 / 2.0
}

impl BoundaryStretch<'_> {
    fn is_near(&self, interval: &InsertedRows) -> bool {
        self.distance(interval) <= self.near
    }

    /// The share of its rows that are near. Not that of its intervals: a drop is many intervals of few rows.
    fn near_share(&self) -> f64 {
        let rows: u64 = self.intervals.iter().map(|interval| interval.rows).sum();
        2.0 * self.near / (rows.max(1) as f64)
    }

    /// The interval that differs most. Of several alike the one farthest from the boundary, so that a doubtful one does not count.
    fn extreme(&self, way: ShiftDirection) -> usize {
        let places = 0..self.intervals.len();
        let extreme = places.min_by(|a, b| {
            let (a, b) = (&self.intervals[*a], &self.intervals[*b]);
            way.order(a.per_s(), b.per_s()).then(self.distance(b).total_cmp(&self.distance(a)))
        });
        extreme.expect("a stretch has intervals")
    }

    /// Rows from the middle of `interval` to the boundary.
    fn distance(&self, interval: &InsertedRows) -> f64 {
        (middle(interval) - self.boundary).abs()
    }

    fn level(&self) -> f64 {
        median(&self.intervals.iter().map(InsertedRows::per_s).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// How far the rate of the interval `at` is off the level, as a share of it.
    fn depth(&self, at: usize) -> f64 {
        (self.intervals[at].per_s() / self.level().max(f64::MIN_POSITIVE) - 1.0).abs()
    }

    /// How long the rate stays beyond the middle between the level and the interval `at`, which is in it.
    fn seconds_around(&self, at: usize) -> f64 {
        let (level, extreme) = (self.level(), self.intervals[at].per_s());
        let is_beyond = |interval: &&InsertedRows| {
            (interval.per_s() - level).abs() >= (extreme - level).abs() / 2.0
                && (interval.per_s() < level) == (extreme < level)
        };
        let after = self.intervals[at..].iter().take_while(is_beyond);
        let before = self.intervals[..at].iter().rev().take_while(is_beyond);
        after.chain(before).map(|interval| interval.length_s).sum()
    }
}

/// The boundaries at which the rate differs that way; `None` if there are no more of them than by chance.
fn pattern(stretches: &[BoundaryStretch], way: ShiftDirection) -> Option<BoundaryPattern> {
    let found: Vec<(&BoundaryStretch, usize)> = stretches
        .iter()
        .map(|stretch| (stretch, stretch.extreme(way)))
        .filter(|(stretch, at)| stretch.is_near(&stretch.intervals[*at]))
        .collect();
    let (at, of) = (found.len(), stretches.len());
    if of < BOUNDARIES_MIN || at == 0 {
        return None;
    }
    let share = mean(&stretches.iter().map(BoundaryStretch::near_share).collect::<Vec<_>>());
    let chance = Binomial::new(share.min(1.0), of as u64).ok()?.sf(at as u64 - 1);
    let depth = usual(&found, |stretch, at| stretch.depth(at));
    (chance <= CHANCE_MAX && depth >= DEPTH_MIN).then(|| BoundaryPattern {
        found: at,
        boundaries: of,
        chance,
        near_share: Share(share),
        rows_per_s: usual(&found, |stretch, at| stretch.intervals[at].per_s()),
        depth_share: Share(depth),
        length_ns: nanos(usual(&found, |stretch, at| stretch.seconds_around(at))),
    })
}

/// The median over the boundaries that were found.
fn usual(found: &[(&BoundaryStretch, usize)], value: impl Fn(&BoundaryStretch, usize) -> f64) -> f64 {
    median(&found.iter().map(|(stretch, at)| value(stretch, *at)).collect::<Vec<_>>()).unwrap_or(0.0)
}

impl FindingKind for PartitionRates {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::Dropped);

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.drops.is_some(), one.peaks.is_some());
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let drops: Vec<&BoundaryPattern> = alike.iter().filter_map(|one| one.drops.as_ref()).collect();
        let peaks: Vec<&BoundaryPattern> = alike.iter().filter_map(|one| one.peaks.as_ref()).collect();
        match (drops.is_empty(), peaks.is_empty()) {
            (false, false) => format!(
                "the insert rate falls to {} while a partition fills and jumps to {} when the next begins ({} and {} of {} \
                 boundaries)",
                range(&drops, |one| one.rows_per_s, rate),
                range(&peaks, |one| one.rows_per_s, rate),
                range(&drops, |one| one.found as f64, whole),
                range(&peaks, |one| one.found as f64, whole),
                range(&drops, |one| one.boundaries as f64, whole)
            ),
            (false, true) => boundary_title(&drops, "drops", "below", alike[0].interval_ns),
            _ => boundary_title(&peaks, "peaks", "above", alike[0].interval_ns),
        }
    }

    fn evidence(&self) -> String {
        let test = |(pattern, word): (&Option<BoundaryPattern>, &str)| {
            let p = pattern.as_ref()?;
            Some(format!("the {word} interval is there at {} of {} (p {})", p.found, p.boundaries, chance(p.chance)))
        };
        let tests: Vec<String> =
            [(&self.drops, "lowest"), (&self.peaks, "highest")].into_iter().filter_map(test).collect();
        let share = self.drops.or(self.peaks).map_or(0.0, |pattern| pattern.near_share.0);
        let passed = |at: &Nanos| seconds(*at, self.interval_ns).to_string();
        format!(
            "a boundary every {} rows; {} of the rows are near one; {}; passed at {}",
            whole(self.partition_rows as f64),
            percent(share),
            tests.join(", "),
            listed(&self.passed_at_ns, SPANS_LISTED_MAX, passed)
        )
    }
}

/// `the insert rate drops at 8 of 9 partition boundaries: to 6.10k/s for 3.0 s, 38 % below the level around them`
fn boundary_title(alike: &[&BoundaryPattern], verb: &str, side: &str, interval: Nanos) -> String {
    format!(
        "the insert rate {verb} at {} of {} partition boundaries: to {} for {}, {} {side} the level around them",
        range(alike, |one| one.found as f64, whole),
        range(alike, |one| one.boundaries as f64, whole),
        range(alike, |one| one.rows_per_s, rate),
        range(alike, |one| one.length_ns.0 as f64, |ns| seconds(Nanos(ns as u64), interval)),
        range(alike, |one| one.depth_share.0, percent)
    )
}

/// `< 0.000001`, `= 0.0004`
fn chance(chance: f64) -> String {
    if chance < 1e-6 { "< 0.000001".to_owned() } else { format!("= {chance:.6}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random, Simulation, params};
    use model::{Fact, Value};

    const PARTITION: u64 = 100_000;

    /// A run of so many seconds into partitions of [`PARTITION`] rows, at the rate that `rate` says of the rows before.
    fn filling(seconds: usize, mut rate: impl FnMut(u64) -> f64) -> Simulation {
        let mut rows = 0;
        let mut counts = Vec::new();
        for _ in 0..seconds {
            let count = rate(rows).max(0.0) as u64;
            counts.push(count);
            rows += count;
        }
        Simulation::counts(&counts).with(|point| {
            point.facts.push(Fact::new("rows_per_op.transaction", "1"));
            point.trial.workload.params = params(&[("partition_rows", Value::Int(PARTITION))]);
        })
    }

    fn near(rows: u64, share: f64) -> bool {
        let off = (rows + PARTITION / 2) % PARTITION;
        rows > PARTITION / 2 && (off as f64 / PARTITION as f64 - 0.5).abs() < share
    }

    #[test]
    fn drops_at_the_boundaries_are_found_with_their_depth_and_length() {
        let mut random = Random::new(1);
        let found: PartitionRates = filling(200, |rows| {
            let level = if near(rows, 0.03) { 2_500.0 } else { 5_000.0 };
            level + 200.0 * random.normal()
        })
        .figures();
        let (drops, rows) = (found.drops.expect("the rate drops"), found.partition_rows);
        assert_eq!((drops.found, drops.boundaries, rows, found.peaks), (9, 9, 100_000, None));
        assert!((2_000.0..3_000.0).contains(&drops.rows_per_s), "{drops:?}");
        assert!((0.5..0.6).contains(&drops.depth_share.0) && drops.chance < 1e-6, "{drops:?}");
        assert!([2, 3].map(Nanos::from_secs).contains(&drops.length_ns), "{drops:?}");
    }

    #[test]
    fn a_rate_that_falls_while_a_partition_fills_and_comes_back_is_told_as_that() {
        let mut random = Random::new(2);
        let finding = filling(250, |rows| {
            let filled = (rows % PARTITION) as f64 / PARTITION as f64;
            12_500.0 - 6_000.0 * filled + 200.0 * random.normal()
        });
        let PartitionRates { drops: Some(drops), peaks: Some(peaks), .. } = finding.figures() else {
            panic!("it falls and comes back")
        };
        assert!((6_000.0..7_000.0).contains(&drops.rows_per_s), "{drops:?}");
        assert!((12_000.0..13_000.0).contains(&peaks.rows_per_s), "{peaks:?}");
    }

    #[test]
    fn dips_that_come_as_often_elsewhere_and_small_ones_are_not_of_the_boundaries() {
        let mut random = Random::new(3);
        let shifted = filling(200, |rows| {
            let level = if near(rows + PARTITION / 3, 0.03) { 2_500.0 } else { 5_000.0 };
            level + 200.0 * random.normal()
        });
        assert!(shifted.findings("partition-drops").is_empty());
        let small = filling(200, |rows| if near(rows, 0.03) { 4_800.0 } else { 5_000.0 + (rows % 7) as f64 });
        assert!(small.findings("partition-drops").is_empty());
        let few = filling(50, |rows| if near(rows, 0.03) { 2_500.0 } else { 5_000.0 });
        assert!(few.findings("partition-drops").is_empty(), "two boundaries are too few");
    }

    #[test]
    fn a_table_without_partitions_has_no_boundaries() {
        let mut random = Random::new(1);
        let level = |rows| if near(rows, 0.03) { 2_500.0 } else { 5_000.0 };
        let plain = filling(200, |rows| level(rows) + 200.0 * random.normal());
        assert_eq!(plain.findings("partition-drops").len(), 1);
        let plain = plain.with(|point| point.trial.workload.params = params(&[("partition_rows", Value::Int(0))]));
        assert!(plain.findings("partition-drops").is_empty());
    }

    #[test]
    fn in_noise_it_speaks_in_one_percent_of_runs_at_most() {
        for (name, noise) in NOISES {
            let spoke = (0..200).filter(|seed| {
                let mut values = noise(&mut Random::new(*seed), 240).into_iter();
                let rate = |_| 5_000.0 * (1.0 + 0.15 * values.next().unwrap_or(0.0)).clamp(0.05, 3.0);
                let point = filling(240, rate).point();
                let window = crate::recorded::window::Window::cut(&point.phases[0], model::Tick(0), &point.trial);
                let inserted = crate::Amounts::from_point(&point, &[], &window).inserted;
                let stretches = stretches(&inserted, PARTITION);
                assert!(stretches.len() >= BOUNDARIES_MIN, "{name}: {}", stretches.len());
                [ShiftDirection::Down, ShiftDirection::Up].iter().any(|way| pattern(&stretches, *way).is_some())
            });
            let spoke = spoke.count();
            assert!(spoke <= 2, "{name}: {spoke} of 200");
        }
    }
}
