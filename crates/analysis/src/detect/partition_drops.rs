//! Finds drops and peaks of the insert rate where the tables begin a new partition.
//!
//! In: the rows inserted in each interval, and how many rows the partitions hold. Out: a note with how deep, how long and how often.
//! Limits: needs three boundaries with half a partition on both sides and ten intervals to each; tables that do not fill evenly pass
//! their boundaries at different times, and nothing is found. Another cause that comes as often in rows, and at the same moment,
//! cannot be told from it.

use super::detector::{Detector, Measured, PointView};
use crate::amounts::Inserted;
use crate::stats::{mean, median};
use crate::text::{count, decimals, listed, percent, plural, rate};
use crate::{Finding, Severity};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    code: "partition-drops",
    help: "the insert rate drops or peaks where the tables begin a new partition",
    explain: "Each boundary between partitions is looked at with half a partition on both sides of it. Where the lowest interval \
              of such a stretch lies within 5 % of a partition from the boundary, that boundary has a drop; where the highest does, \
              a peak. Were boundaries nothing special, the lowest interval would lie anywhere, and there as often as those rows are \
              a share of all. The binomial test says how likely so many would be by chance (for unequal shares their mean is the \
              wider test: W. Hoeffding, Annals of Mathematical Statistics 27, 1956); from 1 in 1,000 on nothing is said, nor \
              where the drops are less than 10 % of the level around them. On simulated noise (white, AR(1), heavy tails) it \
              speaks in at most 1 % of runs. A drop that comes and goes is the work of the change itself (a table is opened, \
              pages are flushed); a rate that falls while a partition fills and jumps where the next begins is what its \
              indexes cost when they outgrow the cache. It describes the target.",
    detect,
};

const BOUNDARIES_MIN: usize = 3;
const INTERVALS_MIN: usize = 10;
/// So near to a boundary, as a share of a partition, is at it.
const NEAR_SHARE: f64 = 0.05;
const CHANCE_MAX: f64 = 0.001;
const DEPTH_MIN: f64 = 0.1;

/// The way in which an interval stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Down,
    Up,
}

/// Boundaries at which the rate stands out, among all that were looked at.
#[derive(Clone, Debug, PartialEq)]
struct Pattern {
    at: usize,
    of: usize,
    /// How likely so many would be, were boundaries nothing special.
    chance: f64,
    /// The share of all rows that are near a boundary.
    share: f64,
    /// The median of the rates there, rows per second.
    per_s: f64,
    /// By which share of the level around it, as a median.
    depth: f64,
    /// How long, as a median.
    seconds: f64,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let amounts = &measured.series.amounts;
    let Some(rows) = amounts.partition_rows else { return Vec::new() };
    let stretches = stretches(&amounts.inserted, rows);
    let found = [Way::Down, Way::Up].map(|way| pattern(&stretches, way));
    let title = match &found {
        [None, None] => return Vec::new(),
        [Some(low), Some(high)] => both(low, high),
        [Some(one), None] => alone(one, "drops", "below", &measured),
        [None, Some(one)] => alone(one, "peaks", "above", &measured),
    };
    let evidence = evidence(&found, &stretches, rows, &measured);
    let next_step = "see what the engine does when a partition is full; `partition_rows = 0` shows the table without";
    vec![DETECTOR.finding(Severity::Note, title, evidence, next_step)]
}

/// A boundary with half a partition on both sides.
struct Stretch<'a> {
    intervals: &'a [Inserted],
    /// Rows inserted at the boundary.
    boundary: f64,
    /// So many rows to either side are near it.
    near: f64,
}

/// Those that lie whole within `inserted` and have intervals enough.
fn stretches(inserted: &[Inserted], partition_rows: u64) -> Vec<Stretch<'_>> {
    let (Some(first), Some(last)) = (inserted.first(), inserted.last()) else { return Vec::new() };
    let (rows, half) = (partition_rows as f64, partition_rows as f64 / 2.0);
    let until = |rows: f64| inserted.partition_point(|interval| middle(interval) < rows);
    let boundaries = first.before / partition_rows + 1..=last.after() / partition_rows;
    let stretch = |nth: u64| {
        let boundary = nth as f64 * rows;
        let is_whole = boundary - half >= first.before as f64 && boundary + half <= last.after() as f64;
        let intervals = &inserted[until(boundary - half)..until(boundary + half)];
        let is_enough = is_whole && intervals.len() >= INTERVALS_MIN;
        // The two intervals at the boundary are near it, however long they are.
        let longest = intervals.iter().map(|interval| interval.rows).max().unwrap_or(0) as f64;
        is_enough.then_some(Stretch { intervals, boundary, near: (NEAR_SHARE * rows).max(longest) })
    };
    boundaries.filter_map(stretch).collect()
}

/// Rows inserted in the middle of an interval.
fn middle(interval: &Inserted) -> f64 {
    interval.before as f64 + interval.rows as f64 / 2.0
}

impl Stretch<'_> {
    fn is_near(&self, interval: &Inserted) -> bool {
        (middle(interval) - self.boundary).abs() <= self.near
    }

    /// The share of its rows that are near. Not that of its intervals: a drop is many intervals of few rows.
    fn near_share(&self) -> f64 {
        let rows: u64 = self.intervals.iter().map(|interval| interval.rows).sum();
        2.0 * self.near / (rows.max(1) as f64)
    }

    /// The interval that stands out most. Of several alike the one farthest from the boundary: in doubt nothing is there.
    fn extreme(&self, way: Way) -> usize {
        let key = |at: &usize| match way {
            Way::Down => self.intervals[*at].per_s(),
            Way::Up => -self.intervals[*at].per_s(),
        };
        let off = |at: &usize| (middle(&self.intervals[*at]) - self.boundary).abs();
        let order = |a: &usize, b: &usize| key(a).total_cmp(&key(b)).then(off(b).total_cmp(&off(a)));
        (0..self.intervals.len()).min_by(order).expect("a stretch has intervals")
    }

    fn level(&self) -> f64 {
        median(&self.intervals.iter().map(Inserted::per_s).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// How long the rate stays beyond the middle between the level and the interval `at`, which is in it.
    fn seconds_around(&self, at: usize) -> f64 {
        let (level, extreme) = (self.level(), self.intervals[at].per_s());
        let is_beyond = |interval: &&Inserted| {
            (interval.per_s() - level).abs() >= (extreme - level).abs() / 2.0
                && (interval.per_s() < level) == (extreme < level)
        };
        let after = self.intervals[at..].iter().take_while(is_beyond);
        let before = self.intervals[..at].iter().rev().take_while(is_beyond);
        after.chain(before).map(|interval| interval.length_s).sum()
    }
}

/// The boundaries at which the rate stands out that way; `None` where they are no more than chance brings.
fn pattern(stretches: &[Stretch], way: Way) -> Option<Pattern> {
    let found: Vec<(&Stretch, usize)> = stretches
        .iter()
        .map(|stretch| (stretch, stretch.extreme(way)))
        .filter(|(stretch, at)| stretch.is_near(&stretch.intervals[*at]))
        .collect();
    let (at, of) = (found.len(), stretches.len());
    if of < BOUNDARIES_MIN || at == 0 {
        return None;
    }
    let share = mean(&stretches.iter().map(Stretch::near_share).collect::<Vec<_>>());
    let chance = Binomial::new(share.min(1.0), of as u64).ok()?.sf(at as u64 - 1);
    let usual = |of: &dyn Fn(&Stretch, usize) -> f64| {
        median(&found.iter().map(|(stretch, at)| of(stretch, *at)).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let per_s = usual(&|stretch, at| stretch.intervals[at].per_s());
    let off = |stretch: &Stretch, at: usize| {
        (stretch.intervals[at].per_s() / stretch.level().max(f64::MIN_POSITIVE) - 1.0).abs()
    };
    let (depth, seconds) = (usual(&off), usual(&|stretch, at| stretch.seconds_around(at)));
    (chance <= CHANCE_MAX && depth >= DEPTH_MIN).then_some(Pattern { at, of, chance, share, per_s, depth, seconds })
}

/// `the rate drops at 8 of 9 partition boundaries: to 6.10k/s for 3.0 s, 38 % below the level around them`
fn alone(pattern: &Pattern, does: &str, side: &str, measured: &Measured) -> String {
    let digits = measured.window.whole.first().map_or(1, |first| decimals(first.length));
    format!(
        "the insert rate {does} at {} of {}: to {} for {:.digits$} s, {} {side} the level around them",
        pattern.at,
        plural(pattern.of, "partition boundary").replace("boundarys", "boundaries"),
        rate(pattern.per_s),
        pattern.seconds,
        percent(pattern.depth)
    )
}

fn both(low: &Pattern, high: &Pattern) -> String {
    format!(
        "the insert rate falls to {} while a partition fills and jumps to {} where the next begins ({} and {} of {} boundaries)",
        rate(low.per_s),
        rate(high.per_s),
        low.at,
        high.at,
        low.of
    )
}

fn evidence(found: &[Option<Pattern>; 2], stretches: &[Stretch], rows: u64, measured: &Measured) -> String {
    const LISTED_MAX: usize = 6;
    let digits = measured.window.whole.first().map_or(1, |first| decimals(first.length));
    let test = |(pattern, word): (&Option<Pattern>, &str)| {
        pattern.as_ref().map(|p| {
            format!("the {word} interval is there in {} of {} (by chance: p {})", p.at, p.of, chance(p.chance))
        })
    };
    let tests: Vec<String> = found.iter().zip(["lowest", "highest"]).filter_map(test).collect();
    let share = found.iter().flatten().map(|pattern| pattern.share).next().unwrap_or(0.0);
    let passed = |stretch: &Stretch| {
        let nearest = stretch.intervals.iter().find(|interval| interval.after() as f64 >= stretch.boundary);
        format!("{:.digits$} s", nearest.map_or(0.0, |interval| interval.at_s))
    };
    format!(
        "a boundary every {} rows; {} of the rows are near one; {}; passed at {}",
        count(rows as f64),
        percent(share),
        tests.join(", "),
        listed(stretches, LISTED_MAX, passed)
    )
}

/// `below 0.000001`, `0.0004`
fn chance(chance: f64) -> String {
    if chance < 1e-6 { "below 0.000001".to_owned() } else { format!("{chance:.6}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{NOISES, Random, Simulation, params};
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
        let finding = filling(200, |rows| {
            let level = if near(rows, 0.03) { 2_500.0 } else { 5_000.0 };
            level + 200.0 * random.normal()
        })
        .finding("partition-drops");
        assert!(
            finding.title.starts_with("the insert rate drops at 9 of 9 partition boundaries: to 2."),
            "{}",
            finding.title
        );
        let length = |text: &str| finding.title.contains(text);
        assert!(length(" for 2.0 s, 5") || length(" for 3.0 s, 5"), "{}", finding.title);
        assert!(finding.title.ends_with(" % below the level around them"), "{}", finding.title);
        assert!(finding.evidence.starts_with("a boundary every 100k rows; "), "{}", finding.evidence);
        assert!(finding.evidence.contains("p below 0.000001"), "{}", finding.evidence);
    }

    #[test]
    fn a_rate_that_falls_while_a_partition_fills_and_comes_back_is_told_as_that() {
        let mut random = Random::new(2);
        let finding = filling(250, |rows| {
            let filled = (rows % PARTITION) as f64 / PARTITION as f64;
            12_500.0 - 6_000.0 * filled + 200.0 * random.normal()
        });
        let title = finding.finding("partition-drops").title;
        assert!(title.starts_with("the insert rate falls to 6.") && title.contains(" and jumps to 12."), "{title}");
        assert!(title.contains("where the next begins ("), "{title}");
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
                let window = crate::window::Window::of(&point.phases[0], model::Tick(0), &point.trial);
                let inserted = crate::Amounts::of(&point, &[], &window).inserted;
                let stretches = stretches(&inserted, PARTITION);
                assert!(stretches.len() >= BOUNDARIES_MIN, "{name}: {}", stretches.len());
                [Way::Down, Way::Up].iter().any(|way| pattern(&stretches, *way).is_some())
            });
            let spoke = spoke.count();
            assert!(spoke <= 2, "{name}: {spoke} of 200");
        }
    }
}
