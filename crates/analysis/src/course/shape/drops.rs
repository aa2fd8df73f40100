//! Short stretches far below the level that the rate keeps to.
//!
//! In: one number per interval, and the levels of these. Out: [`DropRange`]s.
//! Limits: irregular drops of a single interval must be a third deep. A drop at the beginning or the end of the run counts only if there
//! are others inside. Noise with a heavy tail has values as low as a drop now and then: the fewer intervals there are, the less its tail
//! can be distinguished from a drop that comes alone.

use super::levels::LevelRange;
use super::rhythm::find_period;
use crate::Span;
use crate::math::stats::{median, normal_quantile, normal_tail, robust_deviation, students_t, variance};
use std::ops::Range;

/// Less than a fifth is ordinary variation.
const DROP_SHARE_MIN: f64 = 0.20;
/// Irregular drops of one interval: a neighbour on a shared machine takes a quarter of a second now and then.
const DEEP_SHARE_MIN: f64 = 1.0 / 3.0;
/// Of normal noise one interval in 4,300: what lies further from its level is not of its body.
const BODY_DEVIATIONS: f64 = 3.5;
/// The body of a level is found again without the drops that the last one left out: it hardly changes after so many times.
const BODY_ROUNDS: usize = 4;
/// So many intervals of normal noise, of all of a run, may lie as low as a drop.
const STRAYS_MAX: f64 = 0.05;
/// How likely it may be that the lowest of all intervals of normal noise makes drops of all that are as low.
const DROP_CHANCE_MAX: f64 = 0.005;
/// How likely it may be that one of them counts as nearly as far from its level.
const NEARLY_CHANCE_MAX: f64 = 0.02;
// Lone intervals at equal distances: of four gaps at random, all are this equal in one case of a hundred.
const REGULAR_MIN: usize = 5;
/// Of regular drops so many may be others that come by chance: the least deep.
const STRAY_SHARE_MAX: f64 = 0.2;
// Several drops that last on average as long as this, or one of so many intervals: the ends of a tail come singly.
const LASTING_MIN: usize = 2;
const LONE_LENGTH_MIN: usize = 3;
/// Values at this share of the depth of the least drop, to either side, are nearly as far from the level;
const NEARLY_SHARE: f64 = 0.7;
/// one of them for every two drops makes these the end of a tail.
const NEARLY_PER_DROP_MAX: f64 = 0.5;
/// The shoulders of the noise: values further from the level than this, and than this share of the least drop. Normal noise has 2.4 % of
/// its values there, Student's t with three degrees of freedom has 8 %.
const SHOULDER_DEVIATIONS: f64 = 2.25;
const SHOULDER_SHARE: f64 = 0.4;
/// Normal noise may have so many times as many there, because its deviation is known only roughly.
const SHOULDER_TIMES: f64 = 1.5;
/// So many errors of that count may come on top of it.
const SHOULDER_ERRORS: f64 = 3.0;
/// What is beyond that may be so many values for each interval of the drops.
const SHOULDER_PER_DROPPED: f64 = 0.3;

/// A stretch of intervals far below its level.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRange {
    /// The indices of its intervals.
    pub range: Range<usize>,
    /// The median of its values.
    pub to: f64,
    /// The level that it left.
    pub from: f64,
}

/// The stretches of `values` that lie far below their level; none if they could be the tail of the noise.
pub fn find_drops(values: &[f64], levels: &[LevelRange]) -> Vec<DropRange> {
    find_drops_except(values, levels, &[])
}

/// The same without those that meet one of `others`: they are something else, and do not count as drops in any rule.
pub fn find_drops_except(values: &[f64], levels: &[LevelRange], others: &[Range<usize>]) -> Vec<DropRange> {
    let bodies = bodies_of(values, levels);
    let is_other = |low: &Low| others.iter().any(|other| meet(other, &low.drop.range));
    let (other, lows): (Vec<Low>, Vec<Low>) = low_stretches(values, &bodies).into_iter().partition(is_other);
    let noise = LevelNoise { values, bodies: &bodies, others: &other };
    let found = regular_ones(&lows).or_else(|| noise.lasting_ones(&lows)).or_else(|| noise.deep_ones(&lows));
    without_lone_ends(values.len(), found.unwrap_or_default())
}

/// The stretches of `values` far below their level, whatever they are.
pub fn find_lows(values: &[f64], levels: &[LevelRange]) -> Vec<Range<usize>> {
    low_stretches(values, &bodies_of(values, levels)).into_iter().map(|low| low.drop.range).collect()
}

fn meet(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// What a level is without its drops.
struct Body {
    range: Range<usize>,
    median: f64,
    /// The standard deviation of the values that are kept.
    deviation: f64,
    /// Their robust one, which a heavy tail does not raise.
    core_deviation: f64,
}

fn bodies_of(values: &[f64], levels: &[LevelRange]) -> Vec<Body> {
    levels.iter().map(|level| Body::of(values, level)).collect()
}

impl Body {
    fn of(values: &[f64], level: &LevelRange) -> Body {
        let own = &values[level.range.clone()];
        let mut kept = own.to_vec();
        for _ in 0..BODY_ROUNDS {
            let middle = median(&kept).unwrap_or(0.0);
            let reach = BODY_DEVIATIONS * robust_deviation(&kept);
            kept = own.iter().copied().filter(|value| (value - middle).abs() <= reach).collect();
        }
        Body {
            range: level.range.clone(),
            median: median(&kept).unwrap_or(level.median),
            deviation: variance(&kept).sqrt().max(f64::MIN_POSITIVE),
            core_deviation: robust_deviation(&kept).max(f64::MIN_POSITIVE),
        }
    }

    /// The least depth of a drop, among `n` values: above it lies ordinary variation.
    fn least_depth(&self, n: usize) -> f64 {
        (normal_reach(STRAYS_MAX, n).max(BODY_DEVIATIONS) * self.deviation).max(DROP_SHARE_MIN * self.median)
    }
}

/// So many deviations below the median lies the lowest of `n` normal values with this chance.
fn normal_reach(chance: f64, n: usize) -> f64 {
    normal_quantile(1.0 - chance / n as f64)
}

/// A stretch below its level.
#[derive(Clone)]
struct Low {
    drop: DropRange,
    /// How far the lowest of its values is below the level, in standard deviations.
    deviations: f64,
}

impl Low {
    fn depth(&self) -> f64 {
        self.drop.from - self.drop.to
    }

    fn is_deep(&self) -> bool {
        self.depth() >= DEEP_SHARE_MIN * self.drop.from
    }

    /// Whether the interval `at` is next to it, or follows it within its length: it may hold a part of it, or of what it left undone.
    fn is_near(&self, at: usize) -> bool {
        let range = &self.drop.range;
        at + 1 >= range.start && at <= range.end + range.len()
    }
}

fn low_stretches(values: &[f64], bodies: &[Body]) -> Vec<Low> {
    bodies.iter().flat_map(|body| lows_of(values, body)).collect()
}

fn lows_of(values: &[f64], body: &Body) -> Vec<Low> {
    let floor = body.median - body.least_depth(values.len());
    let all: Vec<usize> = body.range.clone().collect();
    let runs = all.chunk_by(|a, b| (values[*a] < floor) == (values[*b] < floor)).filter(|run| values[run[0]] < floor);
    let ranges = runs.map(|run| run[0]..run[run.len() - 1] + 1);
    ranges.filter(|range| !is_way(range, body, values.len())).map(|range| measure_low(values, body, range)).collect()
}

/// Whether `range` reaches to the next level, or from the one before: it is the way between them.
fn is_way(range: &Range<usize>, body: &Body, n: usize) -> bool {
    let to_next = range.end == body.range.end && range.end < n;
    let from_last = range.start == body.range.start && range.start > 0;
    to_next || from_last
}

fn measure_low(values: &[f64], body: &Body, range: Range<usize>) -> Low {
    let own = &values[range.clone()];
    let lowest = own.iter().copied().fold(f64::MAX, f64::min);
    let drop = DropRange { to: median(own).unwrap_or(0.0), from: body.median, range };
    Low { drop, deviations: (body.median - lowest) / body.deviation }
}

fn drops_of(lows: &[Low]) -> Vec<DropRange> {
    lows.iter().map(|low| low.drop.clone()).collect()
}

fn total_length(lows: &[Low]) -> usize {
    lows.iter().map(|low| low.drop.range.len()).sum()
}

/// Those that come at equal distances, without a few of the least deep, which may be others.
fn regular_ones(lows: &[Low]) -> Option<Vec<DropRange>> {
    let fewest = ((1.0 - STRAY_SHARE_MAX) * lows.len() as f64).ceil() as usize;
    let mut deepest = lows.to_vec();
    deepest.sort_by(|a, b| b.deviations.total_cmp(&a.deviations));
    (fewest.max(REGULAR_MIN)..=lows.len()).rev().find_map(|count| {
        let mut drops = drops_of(&deepest[..count]);
        drops.sort_by_key(|drop| drop.range.start);
        let starts: Vec<f64> = drops.iter().map(|drop| drop.range.start as f64).collect();
        find_period(&starts).map(|_| drops)
    })
}

/// The values about their levels, among which drops must stand out.
struct LevelNoise<'a> {
    values: &'a [f64],
    bodies: &'a [Body],
    others: &'a [Low],
}

impl LevelNoise<'_> {
    fn lasting_ones(&self, lows: &[Low]) -> Option<Vec<DropRange>> {
        let dropped = total_length(lows);
        let are_lasting = match lows.len() {
            0 => false,
            1 => dropped >= LONE_LENGTH_MIN,
            several => dropped >= LASTING_MIN * several,
        };
        (are_lasting && self.leaves_apart(lows)).then(|| drops_of(lows))
    }

    fn deep_ones(&self, lows: &[Low]) -> Option<Vec<DropRange>> {
        let deep: Vec<Low> = lows.iter().filter(|low| low.is_deep()).cloned().collect();
        let is_by_chance = self.least_beyond_chance(&deep).is_none();
        (!is_by_chance && self.leaves_apart(&deep)).then(|| drops_of(&deep))
    }

    /// Whether few values are nearly as far from their level as the drops, to either side, and the noise has no heavy shoulders.
    fn leaves_apart(&self, drops: &[Low]) -> bool {
        let least = self.least_beyond_chance(drops).unwrap_or(0.0);
        let nearly: usize = self.bodies.iter().map(|body| self.nearly_as_far(body, drops, least)).sum();
        let shoulders: f64 = self.bodies.iter().map(|body| self.excess_in_shoulders(body, drops, least)).sum();
        nearly as f64 <= NEARLY_PER_DROP_MAX * drops.len() as f64
            && shoulders <= SHOULDER_PER_DROPPED * total_length(drops) as f64
    }

    /// The depth of the least of `drops` that normal noise does not explain. Its deviation is known only roughly, the worse the fewer
    /// values there are, and they may depend on each other: Student's t of half as many degrees of freedom allows for both.
    fn least_beyond_chance(&self, drops: &[Low]) -> Option<f64> {
        let n = self.values.len() as f64;
        let reach = students_t(1.0 - DROP_CHANCE_MAX / n, n / 2.0);
        drops.iter().filter(|low| low.deviations >= reach).map(Low::depth).min_by(f64::total_cmp)
    }

    /// The values that are nearly `least` away from their level, and further than normal noise reaches.
    fn nearly_as_far(&self, body: &Body, drops: &[Low], least: f64) -> usize {
        let reach = normal_reach(NEARLY_CHANCE_MAX, self.values.len()) * body.deviation;
        self.count_beyond(body, drops, reach.max(NEARLY_SHARE * least))
    }

    /// By how many more values lie in the shoulders than normal noise may have.
    fn excess_in_shoulders(&self, body: &Body, drops: &[Low], least: f64) -> f64 {
        let far = (SHOULDER_DEVIATIONS * body.core_deviation).max(SHOULDER_SHARE * least);
        let expected = 2.0 * body.range.len() as f64 * normal_tail(far / body.core_deviation);
        self.count_beyond(body, drops, far) as f64 - SHOULDER_TIMES * expected - SHOULDER_ERRORS * expected.sqrt()
    }

    /// How many values of `body` are further than `far` from its level, those near dips left out.
    fn count_beyond(&self, body: &Body, drops: &[Low], far: f64) -> usize {
        let is_near_dip = |at: usize| drops.iter().chain(self.others).any(|low| low.is_near(at));
        body.range.clone().filter(|at| (self.values[*at] - body.median).abs() >= far && !is_near_dip(*at)).count()
    }
}

/// `drops`, unless they are at the ends of the run only: a run that begins slowly or ends early has none.
fn without_lone_ends(n: usize, drops: Vec<DropRange>) -> Vec<DropRange> {
    let is_inside = drops.iter().any(|drop| drop.range.start > 0 && drop.range.end < n);
    if is_inside { drops } else { Vec::new() }
}

/// A stretch of the run phase far below its level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DropSpan {
    pub span: Span,
    /// The level that it left.
    pub from_per_s: f64,
    /// The median rate in it.
    pub to_per_s: f64,
}
