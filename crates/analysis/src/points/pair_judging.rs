//! How the pairs of a run are judged: as many as were planned, or as many as it took until they decided.
//!
//! In: the plan, the ratios of pairs. Out: a [`RatioEstimate`], and what rates decided. Limits: only rates decide when a comparison is over; the other
//! metrics of its pairs have intervals by the same rule, and their false discoveries are held to 5 % over the table.

use crate::PointAnalysis;
use crate::math::ratio::{RatioEstimate, RepeatPair};
use crate::points::metric::Metric;
use model::Plan;
use model::sure::{Decision, PairJudgement, PairRule, SurePlan};

/// How pairs are judged.
pub(super) enum PairJudging {
    /// There are as many as were planned.
    Fixed,
    /// They were looked at again and again, and went on until they decided.
    UntilSure(Box<SureJudging>),
}

/// How pairs are judged that went on until they decided.
pub(super) struct SureJudging {
    sure: SurePlan,
    rates: PairRule,
    others: PairRule,
    /// Whether the time of the run ended it: what is open then has its last look.
    is_time_over: bool,
}

impl PairJudging {
    /// How those of `points` are, all those of a run that was planned as `plan`.
    pub(super) fn new(points: &[PointAnalysis], plan: &Plan) -> PairJudging {
        let Some(sure) = plan.sure else { return PairJudging::Fixed };
        // Who interrupts a run may have seen how it stands.
        let is_time_over = points.iter().any(|point| point.traits.course.is_time_over);
        let (rates, others) = (sure.rule(), sure.rule_of_other_metrics());
        PairJudging::UntilSure(Box::new(SureJudging { sure, rates, others, is_time_over }))
    }

    /// The ratio of `pairs`; and of rates that were to decide what they decided.
    pub(super) fn judge(&self, pairs: &[RepeatPair], metric: Metric) -> Option<(RatioEstimate, Option<PairJudgement>)> {
        let PairJudging::UntilSure(own) = self else {
            return Some((RatioEstimate::from_pairs(pairs, metric.better())?, None));
        };
        let logs: Vec<f64> = pairs.iter().filter_map(RepeatPair::log_ratio).collect();
        let judged = if metric.is_speed() { own.judge_rates(&logs) } else { own.others.judge(&logs) }?;
        let decides = metric.is_speed().then_some(judged);
        Some((RatioEstimate::from_judgement(&judged, metric.better()), decides))
    }

    /// Whether the ratios of `metric` are judged one by one: rates that decide share the error among all of them.
    pub(super) fn is_held_to_error(&self, metric: Metric) -> bool {
        matches!(self, PairJudging::UntilSure(_)) && metric.is_speed()
    }
}

impl SureJudging {
    fn judge_rates(&self, logs: &[f64]) -> Option<PairJudgement> {
        let judged = self.rates.judge(logs)?;
        let is_last =
            self.is_time_over && judged.decision == Decision::Open && logs.len() < self.sure.pairs_max as usize;
        if is_last { self.sure.rule_at_the_end(logs.len()).judge(logs) } else { Some(judged) }
    }
}
