//! How the rate moved over the run.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::{Share, nanos};
use crate::course::shape::drops::DropSpan;
use crate::course::shape::levels::LevelSpan;
use crate::course::shape::rhythm::Period;
use crate::course::shape::stalls::SlowOps;
use crate::numbers::quantiles::Quantiles;
use model::Nanos;
use serde::Serialize;

/// Five level rounds in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SteadyRounds {
    /// The rounds that count.
    pub window: RoundsWindow,
}

/// Rounds that are not level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnsteadyRounds {
    /// How many whole rounds there were.
    pub rounds: usize,
    /// How many in a row must be level.
    pub rounds_min: usize,
    /// The length of one.
    pub round_ns: Nanos,
    /// The rate of each.
    pub ops_per_s: Vec<f64>,
    /// The last of them that the rule looks at; `None` with too few.
    pub window: Option<RoundsWindow>,
}

/// Rounds in a row that the rule looks at, and how level they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundsWindow {
    /// The first, counted from 1.
    pub first_round: usize,
    /// The last.
    pub last_round: usize,
    /// The length of one.
    pub round_ns: Nanos,
    /// Their rates.
    pub ops_per_s: Vec<f64>,
    /// The mean of their rates.
    pub mean_per_s: f64,
    /// The greatest less the least rate, as a share of the mean.
    pub range_share: Share,
    /// The most that is allowed.
    pub range_max: Share,
    /// How much a straight line through them rises, as a share of the mean; below 0 if it falls.
    pub slope_share: Share,
    /// The most that is allowed in either direction.
    pub slope_max: Share,
}

/// A rate that is not the same over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Unsteadiness {
    /// The halves differ.
    Halves(HalfRates),
    /// It rises or falls over all of the run.
    Trend(RateTrend),
    /// It varies widely from interval to interval.
    Variation(RateVariation),
}

/// The rates of the halves of a run, with 99.9 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HalfRates {
    /// The first half.
    pub first_per_s: f64,
    /// Half the width of its interval.
    pub first_half_width_per_s: f64,
    /// The second half.
    pub second_per_s: f64,
    /// Half the width of its interval.
    pub second_half_width_per_s: f64,
}

/// A straight line through the rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateTrend {
    /// Where the line begins.
    pub start_per_s: f64,
    /// Where it ends.
    pub end_per_s: f64,
    /// How much it rises; below 0 if it falls.
    pub change_per_s: f64,
    /// Half the width of its 99.9 % interval.
    pub change_half_width_per_s: f64,
}

/// How widely the rates of the intervals vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateVariation {
    /// Their coefficient of variation beyond what counting alone gives.
    pub variation_share: Share,
    /// The lowest.
    pub least_per_s: f64,
    /// The highest.
    pub most_per_s: f64,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
}

impl Unsteadiness {
    /// Whether the mean depends on when the run was stopped.
    pub fn is_drift(&self) -> bool {
        !matches!(self, Unsteadiness::Variation(_))
    }

    /// Whether the rate fell over the run.
    pub fn is_falling(&self) -> bool {
        match self {
            Unsteadiness::Halves(halves) => halves.second_per_s < halves.first_per_s,
            Unsteadiness::Trend(line) => line.change_per_s < 0.0,
            Unsteadiness::Variation(_) => false,
        }
    }
}

// Twice the deviation is plainly seen.
const UNSTEADIER: f64 = 2.0;

// Below 2 % of the mean, twice the deviation is still a steady rate.
const VISIBLE_VARIATION: f64 = 0.02;

/// Levels that the rate kept to, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelShifts {
    /// At least two.
    pub levels: Vec<LevelSpan>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// How the variation about a level differs from that about the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariationChange {
    /// It is more than twice as wide.
    LessSteady,
    /// It is less than half as wide.
    Steadier,
    /// It is about the same.
    Alike,
}

impl LevelShifts {
    /// How the variation about the second level differs from that about the first.
    pub fn variation(&self) -> VariationChange {
        let [before, after] = [0, 1].map(|nth| self.levels[nth].deviation / self.levels[nth].ops_per_s);
        match () {
            () if after > UNSTEADIER * before && after > VISIBLE_VARIATION => VariationChange::LessSteady,
            () if before > UNSTEADIER * after && before > VISIBLE_VARIATION => VariationChange::Steadier,
            () => VariationChange::Alike,
        }
    }
}

/// Two rates that a run jumps between.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelPair {
    /// The median of the lower intervals.
    pub low_per_s: f64,
    /// The median of the higher intervals.
    pub high_per_s: f64,
    /// The share of the lower among all intervals.
    pub low_share: Share,
    /// How often the rate changed sides.
    pub jumps: usize,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
}

/// A sine that the rates follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateWave {
    /// At its bottom.
    pub low_per_s: f64,
    /// At its top.
    pub high_per_s: f64,
    /// From one top to the next.
    pub period_ns: Nanos,
    /// How many there are in the run.
    pub waves: f64,
    /// The share of the variance that it carries.
    pub variance_share: Share,
}

/// Stalls, by what shows them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "seen_in", rename_all = "kebab-case")]
pub enum Stalls {
    /// In the rates of the intervals: the spans of the finding are theirs.
    Rates(LongStalls),
    /// In single operations, because they are shorter than an interval.
    Operations(ShortStalls),
}

/// Stalls that the rates of the intervals show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LongStalls {
    /// How many.
    pub count: usize,
    /// The length of all together.
    pub total_ns: Nanos,
    /// The length of the longest.
    pub longest_ns: Nanos,
    /// When the longest began, since the run phase began.
    pub longest_at_ns: Nanos,
    /// The time from one to the next; `None` if they are irregular.
    pub period: Option<EventPeriod>,
    /// The median rate of the run.
    pub usual_per_s: f64,
    /// The lowest rate in them, as a share of it.
    pub deepest_share: Share,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// Stalls that single operations show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShortStalls {
    /// The slow operations.
    #[serde(flatten)]
    pub slow: SlowOps,
    /// How many intervals there are.
    pub intervals_of: usize,
    /// The mean time from one to the next; `None` if not each operation is a stall of its own, or they are few.
    pub period_ns: Option<Nanos>,
}

/// The time from one event to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventPeriod {
    /// The median.
    pub gap_ns: Nanos,
    /// Half the range.
    pub spread_ns: Nanos,
}

impl From<Period> for EventPeriod {
    fn from(period: Period) -> EventPeriod {
        EventPeriod { gap_ns: nanos(period.gap_s), spread_ns: nanos(period.spread_s) }
    }
}

/// Drops of the rate that are no stalls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateDrops {
    /// Each of them; at least one.
    pub drops: Vec<DropSpan>,
    /// The median of the levels that they left.
    pub from_per_s: f64,
    /// The median of their rates.
    pub to_per_s: f64,
    /// The median of their lengths.
    pub length_ns: Nanos,
    /// The time from one to the next; `None` if they are irregular.
    pub period: Option<EventPeriod>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

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

/// Bursts at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateBursts {
    /// From the beginning of one to that of the next.
    pub period_ns: Nanos,
    /// The share of the intervals in which next to nothing was done.
    pub off_share: Share,
    /// How many there were.
    pub count: usize,
    /// How many intervals there are.
    pub intervals: usize,
    /// The length of one.
    pub interval_ns: Nanos,
    /// The mean rate.
    pub mean_per_s: f64,
    /// The service times; `None` if no operation was done.
    pub service_ns: Option<Quantiles>,
}

/// Operations that took very long while others were served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StarvedOps {
    /// How many, how long, and the median of all.
    #[serde(flatten)]
    pub slow: SlowOps,
    /// The length of the run.
    pub length_ns: Nanos,
    /// Clients.
    pub clients: u32,
    /// Operations that each kept in flight.
    pub depth: u32,
}
