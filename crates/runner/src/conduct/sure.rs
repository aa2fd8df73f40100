//! The judge of a run until sure: the operations of its intervals while they are measured, and the rule of [`model::sure`] applied to them.
//!
//! In: the intervals of the run phase. Out: whether the mean of their rates is known as well as was asked, so that the run can end.
//! Limits: a client that is blocked delivers too late for this judge; the interval that is stated is of everything that was recorded.

use model::sure::IntervalsRule;
use model::{KindRow, Nanos, Phases, Until};

/// The intervals of one run phase, and whether they are enough.
#[derive(Debug)]
pub(crate) struct SureJudge {
    rule: IntervalsRule,
    interval: Nanos,
    /// Operations done in each interval so far.
    ok: Vec<u64>,
    is_sure: bool,
}

impl SureJudge {
    /// The judge of a run phase that lasts until its mean is known; `None` if something else ends it.
    pub fn from_phases(phases: &Phases) -> Option<SureJudge> {
        let Until::Sure(within) = phases.until else { return None };
        let (rule, interval) = (IntervalsRule::new(within, phases.interval), phases.interval);
        Some(SureJudge { rule, interval, ok: Vec::new(), is_sure: false })
    }

    /// Adds the operations that ended in interval `index`.
    pub fn add_interval<'a>(&mut self, index: u32, kinds: impl Iterator<Item = &'a KindRow>) {
        self.ok.resize(self.ok.len().max(index as usize + 1), 0);
        self.ok[index as usize] += kinds.map(|kind| kind.ok).sum::<u64>();
    }

    /// Judges the intervals that were over `elapsed` after the start of the run phase.
    pub fn judge(&mut self, elapsed: Nanos) {
        let complete = (elapsed.0 / self.interval.0) as usize;
        // An interval in which nothing ended has no rows: it counts with a rate of 0.
        self.ok.resize(self.ok.len().max(complete), 0);
        let seconds = self.interval.as_secs_f64();
        let rates: Vec<f64> = self.ok[..complete].iter().map(|ok| *ok as f64 / seconds).collect();
        self.is_sure |= self.rule.is_enough(&rates);
    }

    /// Whether the mean is known.
    pub fn is_sure(&self) -> bool {
        self.is_sure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{OpKind, sure::Precision};

    const SECOND: u64 = 1_000_000_000;

    /// The second at whose end a run of seconds with these counts ends.
    fn sure_at(counts: &[u64]) -> Option<usize> {
        let (second, zero) = (Nanos(SECOND), Nanos(0));
        let until = Until::Sure(Precision::USUAL);
        let (run, ops_max, silence) = (Nanos(100 * SECOND), None, None);
        let phases = Phases { warmup: zero, run, ops_max, interval: second, grace: second, silence, until };
        let mut judge = SureJudge::from_phases(&phases).expect("it lasts until it is sure");
        (1..=counts.len()).find(|n| {
            let row = KindRow { ok: counts[n - 1], ..KindRow::empty(OpKind(0)) };
            judge.add_interval(*n as u32 - 1, [&row].into_iter());
            judge.judge(Nanos(*n as u64 * SECOND));
            judge.is_sure()
        })
    }

    #[test]
    fn a_level_rate_is_known_after_twenty_intervals_and_a_wild_one_is_not() {
        assert_eq!(sure_at(&[1_000; 40]), Some(20));
        let wild: Vec<u64> = (0..60).map(|second| if second % 7 < 3 { 200 } else { 2_000 }).collect();
        assert_eq!(sure_at(&wild), None);
    }

    #[test]
    fn intervals_in_which_nothing_ended_count() {
        let mut counts = vec![1_000; 40];
        counts[15..20].fill(0);
        assert!(sure_at(&counts).is_none_or(|at| at > 30), "{:?}", sure_at(&counts));
    }
}
