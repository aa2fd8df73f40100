//! The judge of a run until steady: sums intervals into rounds while they are measured, and applies the rule of
//! [`model::steady`] to them.
//!
//! In: the interval rows of the run phase. Out: whether the last five rounds are steady, so that the run can end.
//! Limits: a round is judged an interval after its end, because clients deliver an interval with their first operation after it. A
//! client that is blocked for longer delivers too late for this judge; the analysis judges everything that was recorded.

use model::steady::SteadyWindow;
use model::{IntervalRow, Nanos, OpKind, Phase, Phases, Tick};

/// The rounds of one run phase, and whether they are steady.
#[derive(Debug)]
pub(crate) struct SteadyJudge {
    round: Nanos,
    interval: Nanos,
    start: Tick,
    /// Kinds of operation that clients in the background perform.
    left_out: Vec<OpKind>,
    /// Operations done in each round so far, the current round last.
    ok: Vec<u64>,
    /// Rounds that were judged.
    judged: usize,
    steady: bool,
}

impl SteadyJudge {
    /// The judge of a run phase that lasts until it is steady; `None` if its time ends it.
    pub fn from_phases(phases: &Phases) -> Option<SteadyJudge> {
        let (round, interval) = (phases.round()?, phases.interval);
        let (start, left_out, ok) = (Tick(u64::MAX), Vec::new(), Vec::new());
        Some(SteadyJudge { round, interval, start, left_out, ok, judged: 0, steady: false })
    }

    /// Operations of `kinds` do not count.
    pub fn leave_out(&mut self, kinds: &[OpKind]) {
        self.left_out = kinds.to_vec();
    }

    /// The run phase has begun.
    pub fn begin_run(&mut self, start: Tick) {
        self.start = start;
    }

    /// Adds rows that were delivered by `now` and judges the rounds that are complete.
    pub fn add_rows(&mut self, rows: &[IntervalRow], now: Tick) {
        for row in rows.iter().filter(|row| row.phase == Phase::Run) {
            let round = (u64::from(row.index) * self.interval.0 / self.round.0) as usize;
            self.ok.resize(self.ok.len().max(round + 1), 0);
            let own = row.kinds.iter().filter(|kind| !self.left_out.contains(&kind.kind));
            self.ok[round] += own.map(|kind| kind.ok).sum::<u64>();
        }
        let complete = (now - self.interval).since(self.start).0 / self.round.0;
        self.judge_rounds(complete as usize);
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, KindRow, Until};

    const SECOND: u64 = 1_000_000_000;
    /// The run phase does not begin with the clock.
    const START: u64 = 7 * SECOND;

    fn rounds() -> SteadyJudge {
        let phases = Phases {
            warmup: Nanos(0),
            run: Nanos::from_secs(100),
            ops_max: None,
            interval: Nanos(SECOND),
            grace: Nanos(SECOND),
            until: Until::Steady { round: Nanos(2 * SECOND), precondition: 1 },
        };
        let mut rounds = SteadyJudge::from_phases(&phases).expect("there are rounds until steady");
        rounds.begin_run(Tick(START));
        rounds
    }

    fn row(phase: Phase, index: u32, ok: u64) -> IntervalRow {
        let kind = KindRow { ok, ..KindRow::empty(OpKind(0)) };
        let (start, length) = (Tick(START + u64::from(index) * SECOND), Nanos(SECOND));
        IntervalRow { phase, index, start, length, kinds: vec![kind], generator: Generator::default() }
    }

    fn at(second: u64) -> Tick {
        Tick(START + second * SECOND + 5_000_000)
    }

    /// The interval at whose end rounds of one interval each with these counts were found steady.
    fn steady_at(counts: &[u64]) -> Option<u64> {
        let mut rounds = rounds();
        (1..).zip(counts).find_map(|(second, count)| {
            rounds.add_rows(&[row(Phase::Run, second as u32 - 1, *count)], at(second));
            rounds.are_steady().then_some(second)
        })
    }

    #[test]
    fn level_rates_are_steady_an_interval_after_the_fifth_round() {
        assert_eq!(steady_at(&[100; 30]), Some(11));
        assert_eq!(steady_at(&[100; 10]), None);
    }

    #[test]
    fn a_level_shift_takes_five_more_rounds() {
        let counts: Vec<u64> = (0..40).map(|second| if second < 8 { 300 } else { 100 }).collect();
        assert_eq!(steady_at(&counts), Some(8 + 10 + 1));
    }

    #[test]
    fn a_part_that_is_delivered_an_interval_late_is_in_its_round() {
        let mut rounds = rounds();
        for second in 1..=11 {
            let late = row(Phase::Run, (second as u32).saturating_sub(2), if second > 1 { 40 } else { 0 });
            rounds.add_rows(&[row(Phase::Run, second as u32 - 1, 60), late], at(second));
        }
        assert!(rounds.are_steady());
        assert_eq!(rounds.ok[..5], [200; 5]);
    }

    #[test]
    fn a_round_in_which_nothing_ended_counts_as_such() {
        let mut rounds = rounds();
        (1..=8).for_each(|second| rounds.add_rows(&[row(Phase::Run, second as u32 - 1, 100)], at(second)));
        (9..=14).for_each(|second| rounds.add_rows(&[], at(second)));
        assert!(!rounds.are_steady());
        assert_eq!((rounds.judged, rounds.ok[4]), (6, 0));
    }

    #[test]
    fn operations_of_clients_in_the_background_are_in_no_round() {
        let mut rounds = rounds();
        rounds.leave_out(&[OpKind(1)]);
        for second in 1..=11 {
            let mut background = row(Phase::Run, second as u32 - 1, second * 1_000);
            background.kinds[0].kind = OpKind(1);
            rounds.add_rows(&[row(Phase::Run, second as u32 - 1, 100), background], at(second));
        }
        assert!(rounds.are_steady());
    }

    #[test]
    fn rows_of_other_phases_are_in_no_round_and_before_the_run_none_is_judged() {
        let mut rounds = SteadyJudge { start: Tick(u64::MAX), ..rounds() };
        (1..=30).for_each(|second| rounds.add_rows(&[row(Phase::Prepare, second as u32 - 1, 100)], at(second)));
        assert!(!rounds.are_steady() && rounds.ok.is_empty());
    }
}
