//! What moved with the stalls and drops of a point.
//!
//! Serialised, the keys carry the units. The values of a counter are in its own unit, per second if it is a rate.

use crate::math::units::Share;
use model::CounterRole;
use serde::Serialize;

/// What moved with the stalls and drops, and what the server logged at the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallCauses {
    pub dips: DipKind,
    /// How many there are; those that nearly touch are one.
    pub count: usize,
    /// How many counters were tested, each direction of a gauge for itself; 0 with fewer than three stalls or drops.
    pub tested: usize,
    /// How many counters moved with most of them.
    pub moved: usize,
    /// The first of these: those that reach a limit, then those that moved most.
    pub causes: Vec<DipCause>,
    /// At how many of them the server logged something.
    pub logged: usize,
    /// The first lines that it logged at them.
    pub log: Vec<LoggedLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DipKind {
    Stalls,
    Drops,
    StallsAndDrops,
}

/// A line of the server's log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedLine {
    /// When it was read, in seconds since the run phase began: up to an interval after it was written.
    pub at_s: f64,
    /// The line, as the server wrote it.
    pub text: String,
}

/// A counter that moved with most of the stalls and drops.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DipCause {
    /// The source: `innodb`, `disk`.
    pub source: String,
    pub subject: String,
    pub counter: String,
    /// The unit of its values.
    pub unit: String,
    /// What it measures, if code reads it.
    pub role: Option<CounterRole>,
    pub form: CauseForm,
    /// In how many of the dips it reached the threshold.
    pub dips: usize,
    /// Of how many dips that is.
    pub of: usize,
    /// The value that three of four of them reach.
    pub threshold: f64,
    /// The threshold as a share of the most that the counter can be, if that is known.
    pub limit: Option<LimitShare>,
    /// The share of the other intervals in which it reached the threshold, too.
    pub elsewhere: Share,
    /// The median of its values in the stalls and drops.
    pub during: f64,
    /// The median of its values in the intervals around them.
    pub usual: f64,
    /// How many times as far it moved as it moves at most in nine of ten other intervals; 100 at most.
    pub score: f64,
    /// How often chance alone would show as much, corrected for the number of counters.
    pub chance: f64,
}

/// How a counter moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseForm {
    RateRises,
    /// Its level rises above that around it.
    LevelRises,
    /// Its level falls below that around it.
    LevelFalls,
    /// Its level is at or above the threshold when they begin, and seldom at other times;
    LevelAtLeast,
    /// or at or below it.
    LevelAtMost,
}

/// A level as a share of its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitShare {
    /// The counter that has the limit.
    pub counter: String,
    pub share: Share,
}

/// What is fuller than this explains more than any rate.
const FULL_SHARE: f64 = 0.75;

impl StallCauses {
    /// Whether the server logged something at three of four of them.
    pub fn is_mostly_logged(&self) -> bool {
        4 * self.logged >= 3 * self.count
    }
}

impl DipCause {
    /// Whether it is something that is nearly full when stalls or drops begin.
    pub fn is_full(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.share.0 >= FULL_SHARE)
    }
}
