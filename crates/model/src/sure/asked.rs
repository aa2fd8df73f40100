//! What a plan asks that goes on until it is sure, and where its trials belong.
//!
//! In: the crate `plan` makes these. Out: trials and plans hold them. Limits: what is decided by them is in [`super::arms`].

use super::boundary::Boundary;
use super::pairs::PairRule;
use super::point::Precision;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The share of comparisons of equal arms, all together, in which a difference may be called, for the integral of normal values. With Student's t of
/// few pairs a seventh more are called: 4.6 to 5.8 % of 6,000 with 0.05, and 3.2 to 3.9 % with this
/// (docs/journal/2026-11-29-until-sure.md); `analysis::known_answers::sureness` holds it below 5 %.
pub const ERROR: f64 = 0.035;

/// The first round takes this part of a budget.
pub const FIRST_ROUND_PART: u32 = 10;
/// The warmup is this part of a point that is cut to its share of a budget, at most.
pub const WARMUP_PART: u32 = 5;

/// Which of several things that are compared a trial measures, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArmPlace {
    /// The place: the same for trials that agree in all but what is compared.
    pub place: u32,
    /// The arm; 0 is the base.
    pub arm: u32,
}

/// How a plan goes on until it is sure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurePlan {
    /// Arms that differ by less count as alike, and a mean counts as known if its interval is no wider to either side.
    pub difference: Precision,
    /// The most pairs of a comparison: the repeats of the plan.
    pub pairs_max: u32,
    /// How many comparisons there are; 0 if nothing is compared.
    pub comparisons: u32,
    /// The time of the whole run, at most; `None` if its repeats end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
}

impl SurePlan {
    /// The boundary of one comparison of rates: all of them together call equal arms different in 5 % of runs at most (Bonferroni).
    pub(super) fn boundary(&self) -> Boundary {
        Boundary::planned(self.pairs_max, self.error())
    }

    fn error(&self) -> f64 {
        ERROR / f64::from(self.comparisons.max(1))
    }

    /// The rule by which rates are judged while the run goes on.
    pub fn rule(&self) -> PairRule {
        PairRule::new(self.boundary(), self.difference.share())
    }

    /// The rule for other metrics of the same pairs, of which no plan says how many there are.
    pub fn rule_of_other_metrics(&self) -> PairRule {
        PairRule::new(Boundary::planned(self.pairs_max, ERROR), self.difference.share())
    }

    /// The rule for rates of which the time allowed `pairs` pairs and no more.
    pub fn rule_at_the_end(&self, pairs: usize) -> PairRule {
        PairRule::new(Boundary::ended(pairs as u32, self.pairs_max, self.error()), self.difference.share())
    }
}

/// `--budget 90s`, `--budget 12m`: not less than so many seconds.
pub fn budget_flag(seconds: f64) -> String {
    if seconds > 120.0 {
        format!("--budget {}m", (seconds / 60.0).ceil())
    } else {
        format!("--budget {}s", seconds.ceil())
    }
}
