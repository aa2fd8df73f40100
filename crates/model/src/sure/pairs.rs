//! Whether pairs of measurements decide which arm is faster, or that both are the same but for a small difference.
//!
//! In: the logarithms of the ratios new : base of pairs, in the order in which they were measured. Out: a [`PairJudgement`]: the mean, the
//! confidence interval that holds at all looks together, the decision, and how many pairs more would decide. The interval is the repeated one of C.
//! Jennison and B. W. Turnbull, "Interim analyses: the repeated confidence interval approach", JRSS B 51(3), 1989, of Student's t with n - 1
//! degrees of freedom. A difference is decided if it leaves out 0, and sameness if it lies within the difference that matters.
//! Limits: pairs are taken as independent, which a random order of the arms in each pair makes them under any noise (B. Efron, "Student's t-test
//! under symmetry conditions", JASA 64, 1969): so the plan shuffles.

use super::boundary::{Boundary, PAIRS_MIN};
use crate::mean_interval::{mean, students_t, students_t_tail, variance};
use serde::Serialize;

/// Levels below this are beyond what the quantile of Student's t can be computed for.
const LEVEL_MIN: f64 = 1e-12;
/// Half an interval is about so many standard errors if more pairs are planned than these; for forecasts only.
pub(super) const ERRORS_USUAL: f64 = 2.3;
/// Nobody measures more pairs: forecasts end here.
pub(super) const PAIRS_FORESEEN_MAX: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The new arm has the greater values.
    Higher,
    /// The new arm has the smaller values.
    Lower,
    /// They differ by less than what matters.
    Alike,
    Open,
}

/// What some pairs show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairJudgement {
    /// How many pairs it is of.
    pub pairs: usize,
    /// The mean of the logarithms.
    pub mean: f64,
    /// Half the width of its confidence interval; infinite if so few pairs have none.
    pub half_width: f64,
    /// How often equal arms would differ so much at any look, by the level of this one: the chance of Student's t, scaled so that a difference is
    /// called at the error that the boundary allows.
    pub p_value: f64,
    pub decision: Decision,
    /// How many pairs more would decide it, if they are like these; 0 if it is decided.
    pub pairs_more: u32,
}

/// How pairs are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRule {
    boundary: Boundary,
    /// Of each look its number of pairs, and how many standard errors half the interval is: they are the same for all that is judged by it.
    half_widths: Vec<(usize, f64)>,
    /// The greatest difference that does not matter, as a logarithm.
    matters: f64,
}

impl PairRule {
    /// By `boundary`; arms that differ by less than `difference`, a share, are alike.
    pub fn new(boundary: Boundary, difference: f64) -> PairRule {
        let of_look = |look: u32| (look as usize, errors_in_half(boundary.level_at(look), look as usize));
        let half_widths = boundary.looks().map(of_look).collect();
        PairRule { boundary, half_widths, matters: difference.ln_1p() }
    }

    /// What `logs` show at their number, or what they showed at an earlier look if it was decided there and is not any more: a decision stands, as
    /// nothing more would have been measured for it. `None` without any.
    pub fn judge(&self, logs: &[f64]) -> Option<PairJudgement> {
        let now = self.judge_at(logs)?;
        if now.decision != Decision::Open {
            return Some(now);
        }
        let looks = self.half_widths.iter().map(|(look, _)| *look).filter(|look| *look < logs.len());
        let decided = looks.rev().find(|look| self.decision_of(&logs[..*look]) != Decision::Open);
        decided.map_or(Some(now), |look| self.judge_at(&logs[..look]))
    }

    /// What `logs` show at their number. Cheap: it asks for no quantile.
    pub fn decision_of(&self, logs: &[f64]) -> Decision {
        let (mean, half_width) = (mean(logs), self.half_width(logs));
        match mean > 0.0 {
            _ if logs.len() < PAIRS_MIN as usize => Decision::Open,
            _ if mean.abs() + half_width < self.matters => Decision::Alike,
            _ if mean.abs() <= half_width => Decision::Open,
            true => Decision::Higher,
            false => Decision::Lower,
        }
    }

    fn half_width(&self, logs: &[f64]) -> f64 {
        let (n, error) = (logs.len(), standard_error(logs));
        // No spread at all is no doubt, however sure one must be.
        if n > 1 && error == 0.0 { 0.0 } else { self.errors_at(n) * error }
    }

    /// How many standard errors half the interval of `pairs` pairs is; infinite if so few have none.
    pub fn errors_at(&self, pairs: usize) -> f64 {
        let known = self.half_widths.iter().find(|(look, _)| *look == pairs).map(|(_, errors)| *errors);
        known.unwrap_or_else(|| errors_in_half(self.boundary.level_at(pairs as u32), pairs))
    }

    fn judge_at(&self, logs: &[f64]) -> Option<PairJudgement> {
        let (pairs, mean) = (logs.len(), mean(logs));
        let decision = self.decision_of(logs);
        let pairs_more = if decision == Decision::Open { self.pairs_more(mean, logs) } else { 0 };
        let open = PairJudgement { pairs, mean, half_width: f64::INFINITY, p_value: 1.0, decision, pairs_more };
        if pairs < 2 {
            return (pairs > 0).then_some(open);
        }
        let chance = chance_of(mean, standard_error(logs), (pairs - 1) as f64);
        let p_value = (chance * self.boundary.error() / self.boundary.level_at(pairs as u32)).min(1.0);
        Some(PairJudgement { half_width: self.half_width(logs), p_value, ..open })
    }

    /// Until the interval leaves out 0 or lies within what matters, whichever is nearer: at the first look at which it does, or beyond the last one.
    fn pairs_more(&self, mean: f64, logs: &[f64]) -> u32 {
        let (n, spread) = (logs.len(), variance(logs).sqrt());
        let needed_width = mean.abs().max(self.matters - mean.abs());
        let mut later = self.half_widths.iter().filter(|(look, _)| *look > n);
        let is_enough = |look: usize, errors: f64| errors * spread / (look as f64).sqrt() <= needed_width;
        if let Some((look, _)) = later.find(|(look, errors)| is_enough(*look, *errors)) {
            return (*look - n) as u32;
        }
        let last = self.half_widths.last().map_or(n, |(look, _)| n.max(*look));
        let needed = (ERRORS_USUAL * spread / needed_width).powi(2);
        let needed = needed.clamp(f64::from(PAIRS_MIN), PAIRS_FORESEEN_MAX);
        (needed.ceil() as u32).max(last as u32 + 1) - n as u32
    }
}

/// How many standard errors half the interval of `pairs` pairs at `level` is; infinite if there is none.
fn errors_in_half(level: f64, pairs: usize) -> f64 {
    if level < LEVEL_MIN || pairs < 2 { f64::INFINITY } else { students_t(1.0 - level / 2.0, (pairs - 1) as f64) }
}

fn standard_error(logs: &[f64]) -> f64 {
    (variance(logs) / logs.len() as f64).sqrt()
}

/// How often a mean of 0 would be off by at least `mean`.
pub fn chance_of(mean: f64, error: f64, freedom: f64) -> f64 {
    match (mean == 0.0, error == 0.0) {
        (true, _) => 1.0,
        // All pairs differ by the same amount, as counts of a deterministic engine do.
        (false, true) => 0.0,
        (false, false) => 2.0 * students_t_tail((mean / error).abs(), freedom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs_max: u32, logs: &[f64]) -> PairJudgement {
        PairRule::new(Boundary::planned(pairs_max, 0.05), 0.02).judge(logs).expect("there is a pair")
    }

    /// Pairs whose mean is `mean` and whose deviation is about `deviation`.
    fn about(mean: f64, deviation: f64, pairs: usize) -> Vec<f64> {
        (0..pairs).map(|nth| mean + deviation * [1.0, -1.0, 0.6, -0.6][nth % 4]).collect()
    }

    #[test]
    fn with_one_look_the_interval_is_that_of_students_t() {
        // Mean 0.25, s 0.1291, t(3, 97.5 %) 3.1824.
        let found = judged(4, &[0.1, 0.2, 0.3, 0.4]);
        assert!((found.half_width - 3.18245 * 0.0645497).abs() < 1e-4, "{found:?}");
        assert!((found.p_value - 0.03047).abs() < 1e-4 && found.decision == Decision::Higher, "{found:?}");
    }

    #[test]
    fn what_is_decided_depends_on_which_way_and_on_what_matters() {
        let decision = |mean: f64| judged(20, &about(mean, 0.01, 12)).decision;
        assert_eq!([0.2, -0.2, 0.0].map(decision), [Decision::Higher, Decision::Lower, Decision::Alike]);
        assert_eq!(judged(20, &about(0.02, 0.05, 12)).decision, Decision::Open);
        // Surely there, and surely too little to matter.
        assert_eq!(judged(20, &about(0.01, 0.002, 12)).decision, Decision::Alike);
    }

    #[test]
    fn few_pairs_decide_nothing_and_say_how_many_are_missing() {
        let three = judged(20, &about(0.5, 0.01, 3));
        assert_eq!((three.decision, three.pairs_more), (Decision::Open, 1));
        let one = judged(20, &[0.5]);
        assert_eq!((one.half_width, one.decision, one.pairs_more), (f64::INFINITY, Decision::Open, 3));
        let open = judged(20, &about(0.02, 0.05, 12));
        assert!((10..20).contains(&open.pairs_more), "{open:?}");
    }

    #[test]
    fn the_pairs_that_are_missing_are_those_to_the_look_that_decides() {
        let rule = PairRule::new(Boundary::planned(20, 0.05), 0.02);
        let logs = about(0.05, 0.05, 8);
        let open = rule.judge(&logs).expect("there are pairs");
        assert_eq!(open.decision, Decision::Open);
        let half_width = |look: usize| {
            let errors = rule.half_widths.iter().find(|(own, _)| *own == look).expect("it is a look").1;
            errors * variance(&logs).sqrt() / (look as f64).sqrt()
        };
        let look = logs.len() + open.pairs_more as usize;
        assert!(open.pairs_more > 1 && half_width(look) <= 0.05 && half_width(look - 1) > 0.05, "{open:?}");
    }

    #[test]
    fn pairs_that_are_all_equal_are_decided_at_once() {
        assert_eq!(judged(20, &[0.0; 4]).decision, Decision::Alike);
        assert_eq!(judged(20, &[0.1; 4]).decision, Decision::Higher);
    }

    #[test]
    fn a_decision_stands_when_later_pairs_blur_it() {
        let mut logs = about(0.2, 0.005, 6);
        let then = judged(20, &logs);
        assert_eq!(then.decision, Decision::Higher);
        logs.extend([-1.0, 1.0]);
        assert_eq!(judged(20, &logs), then);
    }
}
