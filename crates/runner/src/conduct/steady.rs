//! The judge of a run until steady: sums intervals into rounds while they are measured, and applies the rule of
//! [`model::steady`] to them.
//!
//! In: the intervals of the run phase. Out: whether the last five rounds are steady, so that the run can end.
//! Limits: a client that is blocked delivers too late for this judge; the analysis judges everything that was recorded.

use model::steady::SteadyWindow;
use model::{KindRow, Nanos, Phases};

/// The rounds of one run phase, and whether they are steady.
#[derive(Debug)]
pub(crate) struct SteadyJudge {
    round: Nanos,
    interval: Nanos,
    /// Operations done in each round so far, the current round last.
    pub(super) ok: Vec<u64>,
    /// Rounds that were judged.
    pub(super) judged: usize,
    steady: bool,
}

impl SteadyJudge {
    /// The judge of a run phase that lasts until it is steady; `None` if its time ends it.
    pub fn from_phases(phases: &Phases) -> Option<SteadyJudge> {
        let (round, interval) = (phases.round()?, phases.interval);
        Some(SteadyJudge { round, interval, ok: Vec::new(), judged: 0, steady: false })
    }

    /// Adds the operations that ended in interval `index` to its round.
    pub fn add_interval<'a>(&mut self, index: u32, kinds: impl Iterator<Item = &'a KindRow>) {
        let round = (u64::from(index) * self.interval.0 / self.round.0) as usize;
        self.ok.resize(self.ok.len().max(round + 1), 0);
        self.ok[round] += kinds.map(|kind| kind.ok).sum::<u64>();
    }

    /// Judges the rounds that were over `elapsed` after the start of the run phase.
    pub fn judge(&mut self, elapsed: Nanos) {
        self.judge_rounds((elapsed.0 / self.round.0) as usize);
    }

    /// Whether five rounds in a row were steady.
    pub fn are_steady(&self) -> bool {
        self.steady
    }

    fn judge_rounds(&mut self, complete: usize) {
        while self.judged < complete && !self.steady {
            self.judged += 1;
            // A round in which nothing ended has no rows: it counts with a rate of 0.
            self.ok.resize(self.ok.len().max(self.judged), 0);
            let rates: Vec<f64> =
                self.ok[..self.judged].iter().map(|ok| *ok as f64 / self.round.as_secs_f64()).collect();
            self.steady = SteadyWindow::last(&rates).is_some_and(|window| window.is_steady());
        }
    }
}
