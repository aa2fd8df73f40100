//! Where a run at full size would end, from one at `--scale` below 1: hours, and the rate at the end.
//!
//! In: the rows inserted over the time of the run phase, the rows that were in the tables before, the scale. Out: a [`Projection`]
//! with its assumption and an interval, or the reason why the run cannot be projected.
//! How: the run is cut into blocks of equal rows. The fit is of the time that a row takes, so that hours are a sum and a stall counts
//! for as long as it lasted. Two trends are tried: constant, and rising with the logarithm of the rows in the table (levels of a
//! tree, misses of a cache). The projection takes the one that, fitted to an earlier part of the run, is less far off in the later
//! part (rolling origin: L. Tashman, "Out-of-sample tests of forecasting accuracy", International Journal of Forecasting 16, 2000).
//! A run that begins with empty tables begins with tables that fit its cache. If the rate reaches its last level within the first
//! tenth of the rows, what comes before is left out of the fit, and its rows are assumed to cost what the later ones do.
//! The interval is that of a moving-block bootstrap of the residuals (H. Kuensch, "The jackknife and the bootstrap for general
//! stationary observations", Annals of Statistics 17, 1989); each resample chooses its own trend.
//! Limits: the interval is somewhat narrow: of 60 simulated runs it covered the truth in 53. It assumes that residuals are stationary
//! and that nothing new happens after the run: a cache that fills for the first time, a device that runs out of erased blocks.
//! `--scale` shrinks caches with the rows, but not always logs, so the result also has the hours of the other extreme: a rate that
//! depends on data : cache alone.

use crate::InsertCost;
use crate::math::repeats::{Repeated, combined};
use crate::math::stats::{mean, students_t};
use crate::numbers::amounts::rows_before;
use crate::numbers::cost::DataFound;
use crate::numbers::rates::PerOp;
use crate::recorded::window::Window;
use model::PointData;
use serde::Serialize;

/// Where the run would end at full size.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The rows that it would insert.
    pub rows: f64,
    /// How many times as many rows would be in the tables as were.
    pub factor: f64,
    /// Where it would end, or why that cannot be projected.
    pub end: Result<ProjectedEnd, Obstacle>,
}

impl Projection {
    /// That of repeats: the mean of their ends if all have one by the same trend, or the obstacle of the first that has none. `None` if none
    /// was projected, or the trends differ.
    pub(crate) fn combine(all: &Repeated<Projection>) -> Option<Projection> {
        let obstacle = all.iter().find_map(|one| one.end.as_ref().err()).copied();
        let end = match obstacle {
            Some(obstacle) => Err(obstacle),
            None => Ok(ProjectedEnd::combine(&all.parts(|one| one.end.as_ref().ok()))?),
        };
        Some(combined!(all, Projection { rows: mean, factor: mean, end: (end) }))
    }
}

impl ProjectedEnd {
    fn combine(all: &Repeated<ProjectedEnd>) -> Option<ProjectedEnd> {
        let (hours, hours_ci95) = all.rate(|one| Some((one.hours, Some(one.hours_ci95))));
        let (per_s, per_s_ci95) = all.rate(|one| Some((one.inserts_per_s, Some(one.inserts_per_s_ci95))));
        Some(combined!(
            all,
            ProjectedEnd {
                shape: (all.same(|one| Some(one.shape))?),
                held_out_error: mean,
                held_out_error_of_other: mean,
                hours: (hours?),
                hours_ci95: (hours_ci95?),
                inserts_per_s: (per_s?),
                inserts_per_s_ci95: (per_s_ci95?),
                hours_like_for_like: mean,
                rows_left_out: mean,
            }
        ))
    }
}

/// Why the end of a run at full size cannot be projected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Obstacle {
    /// Time ends the run, and not its rows.
    EndsByTime,
    /// Full size is too many times the rows inserted.
    TooFar {
        factor: f64,
        /// How many times a trend is followed at most.
        factor_max: f64,
        /// The least scale at which it could be followed.
        scale_min: f64,
    },
    /// The rate changed its level during the run, and may do so again.
    RateShifted,
    /// The run has too few intervals to fit anything to.
    TooFewIntervals {
        /// Whole intervals of the run.
        intervals: usize,
        /// As many are needed.
        intervals_min: usize,
    },
    /// The data did not outgrow the cache.
    DataFitsCache {
        /// Data and its indexes.
        data_bytes: f64,
        cache_bytes: f64,
    },
    /// The data was read from memory, and would not fit it at full size.
    DataOutgrowsMemory {
        /// Data and its indexes at full size.
        full_size_bytes: f64,
        /// The memory at full size.
        memory_bytes: f64,
    },
    /// The rate rises so fast that a row would take no time.
    RateRisesTooFast,
    /// The interval is too wide to plan by.
    TooVaried {
        /// The 95 % interval of the hours.
        hours_ci95: [f64; 2],
    },
}

/// The end of a run at full size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProjectedEnd {
    /// The trend that was taken.
    pub shape: RowTimeTrend,
    /// How far it was off in later parts of the run, when it was fitted to earlier ones: a share.
    pub held_out_error: f64,
    /// The same of the other trend.
    pub held_out_error_of_other: f64,
    /// Hours of the whole run.
    pub hours: f64,
    /// Their 95 % interval.
    pub hours_ci95: [f64; 2],
    /// Rows inserted per second at the end.
    pub inserts_per_s: f64,
    /// Its 95 % interval.
    pub inserts_per_s_ci95: [f64; 2],
    /// Hours if the rate depends on data : cache alone, so that full size has the same curve over a longer time.
    pub hours_like_for_like: f64,
    /// Rows inserted before the rate reached its last level, which the fit leaves out; `None` if it leaves out none.
    pub rows_left_out: Option<f64>,
}

/// How the time that a row takes depends on the rows in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowTimeTrend {
    /// It does not depend on them.
    Constant,
    /// It rises, or falls, with their logarithm.
    Logarithmic,
}

/// More than ten times the rows need another level of a tree with a fan-out of ten, and the run does not show what that costs.
const FACTOR_MAX: f64 = 10.0;
const INTERVALS_MIN: usize = 20;
/// The rate may reach its last level while this share of the rows is inserted.
const BEGINNING_SHARE_MAX: f64 = 0.1;
const BLOCKS_MAX: usize = 40;
/// The longest time of an interval over its shortest: with a wider one you cannot plan.
const WIDTH_MAX: f64 = 3.0;
// 25 of them lie beyond each end of a 95 % interval.
const RESAMPLES: usize = 1_000;
/// Shares of the blocks that are fitted to, when the rest is held out.
const ORIGINS: [f64; 4] = [0.5, 0.6, 0.7, 0.8];

/// The projection of `point`; `None` at full size and if no rows were inserted. `shifted_at_s` is when its rate changed its level for
/// the last time, in seconds of `window`.
pub fn project(
    point: &PointData,
    all: &[PointData],
    scale: f64,
    window: &Window,
    cost: &InsertCost,
    shifted_at_s: Option<f64>,
) -> Option<Projection> {
    // Inserts at a rate that was asked for have no end of their own.
    let is_paced = point.kinds.iter().any(|kind| kind.background && kind.rows_per_op > 0.0);
    if is_paced || !(scale > 0.0 && scale < 1.0) || cost.rows <= 0.0 {
        return None;
    }
    let run = ObservedRun::from_point(point, all, window, cost).since_shift(shifted_at_s);
    let rows = run.planned / scale;
    let factor = (run.before + run.planned) / scale / (run.before + cost.rows);
    let end = run.find_obstacle(scale, factor, cost).map_or_else(|| run.project_end(scale), Err);
    Some(Projection { rows, factor, end })
}

/// What a run shows of its inserts.
struct ObservedRun {
    /// Rows that were in the tables before.
    before: f64,
    /// Rows that were to be inserted.
    planned: f64,
    /// Whether rows end it, and not time.
    ends_by_rows: bool,
    /// Whether a limit sets its memory: `--scale` makes limits smaller, too.
    is_memory_limited: bool,
    /// Rows and seconds of each whole interval at the last level of the rate.
    intervals: Vec<(f64, f64)>,
    /// The rows inserted before that.
    rows_before_level: f64,
    /// Seconds for each row inserted.
    seconds_per_row: f64,
}

impl ObservedRun {
    fn from_point(point: &PointData, all: &[PointData], window: &Window, cost: &InsertCost) -> ObservedRun {
        let per_op = PerOp::from_point(point);
        // Whole intervals at the end in which nothing ended were not recorded: they inserted no rows.
        let rows = window.phase.intervals.iter().map(|interval| per_op.rows_in(interval)).chain(std::iter::repeat(0.0));
        let seconds = window.whole.iter().map(|tally| tally.length.as_secs_f64());
        let asked = point.traits.work.rows.and_then(|rows| rows.asked).unwrap_or(0) as f64;
        ObservedRun {
            before: rows_before(point, all),
            planned: asked.max(cost.rows),
            ends_by_rows: asked > 0.0,
            is_memory_limited: point.trial.target.limits.memory.is_some(),
            rows_before_level: 0.0,
            intervals: rows.zip(seconds).collect(),
            seconds_per_row: window.seconds() / cost.rows,
        }
    }

    /// The same without the intervals before the rate changed to its last level, if it did.
    fn since_shift(mut self, shifted_at_s: Option<f64>) -> ObservedRun {
        let Some(shifted_at_s) = shifted_at_s else { return self };
        let mut end_s = 0.0;
        let before = self.intervals.iter().take_while(|(_, seconds)| {
            end_s += seconds;
            // Half an interval of tolerance: sums of seconds miss the moment of the shift by their rounding.
            end_s <= shifted_at_s + seconds / 2.0
        });
        let before = before.count();
        self.rows_before_level = self.intervals.drain(..before).map(|(rows, _)| rows).sum();
        self
    }

    /// Rows that the fit leaves out, if any.
    fn rows_left_out(&self) -> Option<f64> {
        Some(self.rows_before_level).filter(|rows| *rows > 0.0)
    }

    /// The obstacle that shows before anything is fitted, if there is one.
    fn find_obstacle(&self, scale: f64, factor: f64, cost: &InsertCost) -> Option<Obstacle> {
        let intervals = self.intervals.len();
        if !self.ends_by_rows {
            return Some(Obstacle::EndsByTime);
        }
        if factor > FACTOR_MAX {
            let scale_min = (scale * factor / FACTOR_MAX).min(1.0);
            return Some(Obstacle::TooFar { factor, factor_max: FACTOR_MAX, scale_min });
        }
        if self.rows_before_level > BEGINNING_SHARE_MAX * cost.rows {
            return Some(Obstacle::RateShifted);
        }
        if intervals < INTERVALS_MIN {
            return Some(Obstacle::TooFewIntervals { intervals, intervals_min: INTERVALS_MIN });
        }
        regime_ahead(scale, self.is_memory_limited, cost)
    }

    fn project_end(&self, scale: f64) -> Result<ProjectedEnd, Obstacle> {
        let blocks = self.split_into_blocks();
        let span = [self.before / scale, (self.before + self.planned) / scale];
        let best = TrendFit::choose_trend(&blocks);
        let (Some(hours), Some(rate)) = (best.hours_between(span), best.rows_per_s(span[1])) else {
            return Err(Obstacle::RateRisesTooFast);
        };
        let resampled: Vec<[f64; 2]> = resample_blocks(&blocks, &best)
            .iter()
            .filter_map(|again| {
                let fit = TrendFit::choose_trend(again);
                Some([fit.hours_between(span)?, fit.rows_per_s(span[1])?])
            })
            .collect();
        let [hours_ci95, rates] = [0, 1].map(|nth| middle_95(resampled.iter().map(|pair| pair[nth]).collect()));
        // Resamples whose rate rises too fast have no hours: an interval of the others alone would look too sure.
        if resampled.len() * 2 < RESAMPLES || hours_ci95[1] > WIDTH_MAX * hours_ci95[0] {
            return Err(Obstacle::TooVaried { hours_ci95 });
        }
        let errors = BOTH_TRENDS.map(|trend| held_out_error(trend, &blocks));
        let [own, other] = if best.trend == RowTimeTrend::Constant { errors } else { [errors[1], errors[0]] };
        Ok(ProjectedEnd {
            shape: best.trend,
            held_out_error: own,
            held_out_error_of_other: other,
            hours,
            // A skewed bootstrap may leave the estimate outside of its own interval.
            hours_ci95: [hours_ci95[0].min(hours), hours_ci95[1].max(hours)],
            inserts_per_s: rate,
            inserts_per_s_ci95: [rates[0].min(rate), rates[1].max(rate)],
            hours_like_for_like: self.seconds_per_row * self.planned / scale / 3_600.0,
            rows_left_out: self.rows_left_out(),
        })
    }

    /// Blocks of equal rows.
    fn split_into_blocks(&self) -> Vec<RowBlock> {
        let rows: f64 = self.intervals.iter().map(|(rows, _)| rows).sum();
        // With more blocks than intervals, neighbouring blocks would share the time of one interval.
        let number = BLOCKS_MAX.min(self.intervals.len());
        let (each, begun) = (rows / number as f64, self.before + self.rows_before_level);
        let mut seconds = vec![0.0; number];
        let mut done = 0.0;
        for (rows, length) in &self.intervals {
            spread_seconds(&mut seconds, each, done, *rows, *length);
            done += rows;
        }
        let blocks = seconds.into_iter().enumerate().map(|(nth, seconds)| RowBlock {
            log: mean_log(begun + nth as f64 * each, begun + (nth + 1) as f64 * each),
            seconds_per_row: seconds / each,
        });
        blocks.collect()
    }
}

/// Gives each block of `each` rows its share of an interval that began when `done` rows were inserted. The time of an interval
/// without rows goes to the block that was being filled.
fn spread_seconds(seconds: &mut [f64], each: f64, done: f64, rows: f64, length: f64) {
    let last = seconds.len() - 1;
    // The sum of the rows may be rounded to a little more than all blocks hold.
    let [first, end] = [done, done + rows].map(|rows| ((rows / each) as usize).min(last));
    if first == end {
        seconds[first] += length;
        return;
    }
    for (nth, own) in seconds.iter_mut().enumerate().take(end + 1).skip(first) {
        let to = if nth == last { done + rows } else { (nth + 1) as f64 * each };
        let overlap = to.min(done + rows) - done.max(nth as f64 * each);
        *own += length * overlap.max(0.0) / rows;
    }
}

/// What a run at full size would run into, and this one did not.
fn regime_ahead(scale: f64, is_memory_limited: bool, cost: &InsertCost) -> Option<Obstacle> {
    let data_bytes = cost.table_bytes()?;
    if let Some(cache_bytes) = cost.cache_bytes.filter(|cache| data_bytes < *cache) {
        return Some(Obstacle::DataFitsCache { data_bytes, cache_bytes });
    }
    let full_size_bytes = data_bytes / scale;
    // A limit was scaled with the rest; the machine's memory was not.
    let memory_bytes = cost.memory_bytes.map(|memory| if is_memory_limited { memory / scale } else { memory })?;
    let is_outgrown = cost.found == Some(DataFound::InMemory) && full_size_bytes > memory_bytes;
    is_outgrown.then_some(Obstacle::DataOutgrowsMemory { full_size_bytes, memory_bytes })
}

/// The mean logarithm of the rows in the table while they grew from one number to another: the integral over the difference.
fn mean_log(from: f64, to: f64) -> f64 {
    (log_integral(to) - log_integral(from)) / (to - from)
}

fn log_integral(rows: f64) -> f64 {
    // The antiderivative of ln x is x ln x - x; below one row the logarithm is taken as 0.
    rows * rows.max(1.0).ln() - rows
}

/// A part of the run in which a fixed number of rows was inserted.
#[derive(Clone, Copy, Debug)]
struct RowBlock {
    /// The mean logarithm of the rows in the table.
    log: f64,
    /// The seconds that one of its rows took.
    seconds_per_row: f64,
}

/// seconds per row = level + slope * ln(rows)
#[derive(Clone, Copy, Debug)]
struct TrendFit {
    trend: RowTimeTrend,
    level: f64,
    slope: f64,
}

const BOTH_TRENDS: [RowTimeTrend; 2] = [RowTimeTrend::Constant, RowTimeTrend::Logarithmic];

impl TrendFit {
    /// The fit of `trend` to `blocks` by least squares.
    fn least_squares(trend: RowTimeTrend, blocks: &[RowBlock]) -> TrendFit {
        let times: Vec<f64> = blocks.iter().map(|block| block.seconds_per_row).collect();
        let logs: Vec<f64> = blocks.iter().map(|block| block.log).collect();
        let (time, log) = (mean(&times), mean(&logs));
        let spread: f64 = logs.iter().map(|one| (one - log).powi(2)).sum();
        let together: f64 = logs.iter().zip(&times).map(|(one, other)| (one - log) * (other - time)).sum();
        let slope = if trend == RowTimeTrend::Logarithmic && spread > 0.0 { together / spread } else { 0.0 };
        TrendFit { trend, level: time - slope * log, slope }
    }

    /// The fit of the trend that is less far off in blocks that it was not fitted to.
    fn choose_trend(blocks: &[RowBlock]) -> TrendFit {
        let [constant, logarithmic] = BOTH_TRENDS.map(|trend| held_out_error(trend, blocks));
        let trend = if logarithmic < constant { RowTimeTrend::Logarithmic } else { RowTimeTrend::Constant };
        TrendFit::least_squares(trend, blocks)
    }

    fn seconds_per_row(&self, log: f64) -> f64 {
        self.level + self.slope * log
    }

    fn rows_per_s(&self, rows: f64) -> Option<f64> {
        Some(1.0 / self.seconds_per_row(rows.max(1.0).ln())).filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    /// The hours from one number of rows to another: the integral of the time that a row takes.
    fn hours_between(&self, span: [f64; 2]) -> Option<f64> {
        let [from, to] = span.map(|rows| self.level * rows + self.slope * log_integral(rows));
        Some((to - from) / 3_600.0).filter(|hours| hours.is_finite() && *hours > 0.0)
    }
}

/// The root of the mean squared error in the later blocks, as a share of their mean, over all origins.
fn held_out_error(trend: RowTimeTrend, blocks: &[RowBlock]) -> f64 {
    let squares = ORIGINS.iter().flat_map(|share| {
        let (before, after) = blocks.split_at(((blocks.len() as f64 * share) as usize).clamp(1, blocks.len()));
        let fit = TrendFit::least_squares(trend, before);
        let usual = mean(&after.iter().map(|block| block.seconds_per_row).collect::<Vec<f64>>());
        after.iter().map(move |block| ((fit.seconds_per_row(block.log) - block.seconds_per_row) / usual).powi(2))
    });
    mean(&squares.collect::<Vec<f64>>()).sqrt()
}

/// Runs as they might have been: the fit with its residuals (as shares of it) resampled, in stretches of the cube root of their
/// number.
fn resample_blocks(blocks: &[RowBlock], fit: &TrendFit) -> Vec<Vec<RowBlock>> {
    let length = (blocks.len() as f64).cbrt().ceil() as usize;
    let shares = blocks.iter().map(|block| block.seconds_per_row / fit.seconds_per_row(block.log));
    let residuals: Vec<f64> = shares.map(|share| share - 1.0).collect();
    // Residuals as shares need not have the mean 0: without this correction each resample would be off by it.
    let centre = mean(&residuals);
    // Ten stretches give a rough variance, and two parameters were fitted to them: so Student's t, not the normal distribution.
    let freedom = (blocks.len() as f64 / length as f64 - 2.0).max(2.0);
    let wider = students_t(0.975, freedom) / students_t(0.975, 1e6);
    let mut starts = StretchStarts { state: 0, count: (blocks.len() - length + 1) as u64 };
    let resamples = (0..RESAMPLES).map(|_| {
        let drawn = (0..blocks.len().div_ceil(length)).flat_map(|_| {
            let start = starts.draw();
            start..start + length
        });
        let blocks = blocks.iter().zip(drawn.collect::<Vec<usize>>()).map(|(block, nth)| RowBlock {
            seconds_per_row: fit.seconds_per_row(block.log) * (1.0 + wider * (residuals[nth] - centre)),
            ..*block
        });
        blocks.collect()
    });
    resamples.collect()
}

/// Random starts of stretches by SplitMix64 (G. Steele, D. Lea and C. Flood, OOPSLA 2014), always from the same seed: the same run
/// gives the same interval.
struct StretchStarts {
    state: u64,
    count: u64,
}

impl StretchStarts {
    fn draw(&mut self) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let random = mixed ^ (mixed >> 31);
        // The high half of the product is uniform below `count`, up to a bias of count / 2^64 (D. Lemire, ACM TOMACS 29(1), 2019).
        ((u128::from(random) * u128::from(self.count)) >> 64) as usize
    }
}

/// The middle 95 % of `values`.
fn middle_95(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    [0.025, 0.975].map(|share| values.get((share * last).round() as usize).copied().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, params};
    use model::Value;
    use model::{Bytes, Fact, Nanos, Phase, Tick};

    /// A run that inserts `counts` rows in its seconds and ends with the last row; its data outgrew its cache.
    fn run(counts: &[u64]) -> PointData {
        let rows: u64 = counts.iter().sum();
        let simulation = Simulation::counts(counts).with(|point| {
            point.trial.workload.params = params(&[("rows", Value::Int(rows))]);
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(1_000_000)))]);
            point.trial.phases.interval = Nanos::from_secs(1);
            point.kinds = vec![crate::simulated::kind("insert")];
            point.facts.extend([Fact::new("rows_per_op.insert", "1"), Fact::new("data.bytes", "8000000")]);
        });
        simulation.point()
    }

    fn projected(point: &PointData, scale: f64, shifted_at_s: Option<f64>) -> Projection {
        let window = Window::cut(point.phase(Phase::Run).expect("it ran"), Tick(0), &point.trial);
        let all = std::slice::from_ref(point);
        let cost = InsertCost::from_point(point, all, &model::Machine::default(), &window).expect("it inserts");
        project(point, all, scale, &window, &cost, shifted_at_s).expect("its scale is below 1")
    }

    /// Counts of `seconds` in which a row takes `LEVEL + SLOPE * ln(rows)`, with so much noise.
    fn slowing(seed: u64, seconds: usize, noise: f64) -> Vec<u64> {
        let mut random = Random::new(seed);
        let mut rows = 1.0f64;
        let mut second = || {
            let (before, factor) = (rows, (1.0 + noise * random.normal()).max(0.0));
            // Finely, since the first rows take much less time than those a second later.
            (0..1_000).for_each(|_| rows += factor * 1e-3 / (LEVEL + SLOPE * rows.ln()));
            (rows - before) as u64
        };
        (0..seconds).map(|_| second()).collect()
    }

    const LEVEL: f64 = 50e-6;
    const SLOPE: f64 = 20e-6;

    fn true_hours(rows: f64) -> f64 {
        let integral = |rows: f64| LEVEL * rows + SLOPE * (rows * rows.ln() - rows);
        (integral(rows) - integral(1.0)) / 3_600.0
    }

    #[test]
    fn a_rate_that_stays_is_projected_to_stay() {
        let mut random = Random::new(1);
        let counts: Vec<u64> = (0..120).map(|_| (1_000.0 + 50.0 * random.normal()) as u64).collect();
        let found = projected(&run(&counts), 0.2, None);
        let end = found.end.expect("it can be told");
        let hours = end.hours_like_for_like;
        assert!((hours * 3_600.0 - 600.0).abs() < 1.0 && (end.hours / hours - 1.0).abs() < 0.01, "{end:?}");
        assert_eq!((end.shape, found.factor.round(), end.rows_left_out), (RowTimeTrend::Constant, 5.0, None));
        assert!(end.hours_ci95[0] <= hours && hours <= end.hours_ci95[1], "{end:?}");
        assert!((end.inserts_per_s / 1_000.0 - 1.0).abs() < 0.02, "{end:?}");
    }

    #[test]
    fn a_rate_that_falls_with_the_logarithm_is_followed_and_the_interval_covers_the_truth_in_most_seeds() {
        let (mut covered, mut followed) = (0, 0);
        for seed in 0..40 {
            let found = projected(&run(&slowing(seed, 200, 0.03)), 0.2, None);
            let end = found.end.unwrap_or_else(|why| panic!("seed {seed}: {why:?}"));
            let truth = true_hours(found.rows);
            assert!((end.hours / truth - 1.0).abs() < 0.12, "seed {seed}: {} of {truth}", end.hours);
            followed += usize::from(end.shape == RowTimeTrend::Logarithmic);
            covered += usize::from(end.hours_ci95[0] <= truth && truth <= end.hours_ci95[1]);
        }
        assert!(followed >= 38 && covered >= 34, "{followed} followed, {covered} covered of 40");
    }

    #[test]
    fn what_was_inserted_before_the_tables_outgrew_the_cache_is_left_out_where_it_was_little() {
        let counts: Vec<u64> = [3_000; 3].into_iter().chain([1_000; 120]).collect();
        let found = projected(&run(&counts), 0.5, Some(3.0));
        let end = found.end.expect("it can be told");
        assert!((end.hours * 3_600.0 - 258.0).abs() < 1.0, "{end:?}");
        assert_eq!(end.rows_left_out, Some(9_000.0));
    }

    #[test]
    fn a_standstill_counts_for_as_long_as_it_was() {
        let mut counts = vec![1_000; 60];
        counts[30..33].fill(0);
        let found = projected(&run(&counts), 0.5, None);
        let hours = found.end.expect("it can be told").hours;
        assert!((hours * 3_600.0 - 120.0).abs() < 1.0, "{hours}");
    }

    fn why(point: &PointData, scale: f64) -> Obstacle {
        projected(point, scale, None).end.expect_err("a reason")
    }

    #[test]
    fn what_is_too_far_away_is_not_told() {
        let reason = why(&run(&[1_000; 60]), 0.001);
        assert_eq!(reason, Obstacle::TooFar { factor: 1_000.0, factor_max: 10.0, scale_min: 0.1 });
    }

    #[test]
    fn a_short_run_one_that_time_ends_and_one_of_two_levels_are_not_told() {
        let short = Obstacle::TooFewIntervals { intervals: 19, intervals_min: 20 };
        assert_eq!(why(&run(&[1_000; 19]), 0.5), short);
        let mut timed = run(&[1_000; 60]);
        timed.traits.work.rows = None;
        assert_eq!(why(&timed, 0.5), Obstacle::EndsByTime);
        let shifted = projected(&run(&[1_000; 60]), 0.5, Some(7.0)).end;
        assert_eq!(shifted, Err(Obstacle::RateShifted));
    }

    #[test]
    fn data_that_did_not_outgrow_its_cache_or_would_outgrow_memory_unread_is_not_told() {
        let sized = |data_bytes: u64| {
            let mut point = run(&[1_000; 60]);
            point.facts.retain(|fact| fact.name != "data.bytes");
            point.traits.outcome.data_bytes = Some(data_bytes);
            point
        };
        let fits = Obstacle::DataFitsCache { data_bytes: 500_000.0, cache_bytes: 1_000_000.0 };
        assert_eq!(why(&sized(500_000), 0.5), fits);
        let mut limited = Simulation { recorded: sized(8_000_000), environment: Vec::new() };
        limited = limited.source("process", &["read_bytes", "write_bytes"], |second| vec![0.0, second]);
        let mut limited = limited.point();
        limited.traits.engine.memory_limit_bytes = Some(12_000_000);
        let outgrown = Obstacle::DataOutgrowsMemory { full_size_bytes: 16_000_000.0, memory_bytes: 12_000_000.0 };
        assert_eq!(why(&limited, 0.5), outgrown);
        assert!(projected(&limited, 0.9, None).end.is_ok());
    }

    #[test]
    fn a_rate_that_varies_by_itself_beyond_measure_is_not_told() {
        let mut random = Random::new(3);
        let wild: Vec<u64> = (0..20).map(|_| (8.0 * random.normal()).exp().min(1e9) as u64).collect();
        let found = projected(&run(&wild), 0.1, None);
        assert!(found.end.is_err(), "{found:?}");
    }

    #[test]
    fn the_same_run_has_the_same_interval_and_full_size_none() {
        let point = run(&slowing(1, 60, 0.05));
        assert_eq!(projected(&point, 0.2, None), projected(&point, 0.2, None));
        assert!(crate::analyse(&crate::simulated::run_of(vec![point], Vec::new())).points[0].projection.is_none());
    }
}
