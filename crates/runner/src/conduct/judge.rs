//! What may end the run phase of a point before its time.
//!
//! In: the interval rows of the run phase. Out: whether they are enough: a run until steady is steady, the mean of one until sure is known, or the
//! probe of a search cannot meet its objective any more. Limits: an interval counts as complete one interval after its end, because clients deliver an interval with their first
//! operation after it. What is delivered later is added, and may be too late for the judgement.

use super::backlog::BacklogWatch;
use super::steady::SteadyJudge;
use super::sure::SureJudge;
use model::limit::ProbeKind;
use model::{HostId, IntervalRow, Nanos, OpKind, Pacing, Phase, Tick, Trial};
use std::collections::BTreeMap;

/// The judge of one run phase.
#[derive(Debug)]
pub(crate) struct RunJudge {
    rule: EndingRule,
    interval: Nanos,
    start: Tick,
    /// Kinds of operation that clients in the background perform.
    left_out: Vec<OpKind>,
    /// Of each of several hosts with clients, until when its rows are here.
    delivered: BTreeMap<HostId, Tick>,
}

/// What ends a run phase.
#[derive(Debug)]
enum EndingRule {
    /// It lasts until it is steady.
    Steady(SteadyJudge),
    /// It lasts until its mean is known.
    Sure(SureJudge),
    /// It is a probe: it lasts until its backlog is hopeless.
    Backlog(BacklogWatch),
}

impl RunJudge {
    /// The judge of the run phase of `trial`; `None` if its time ends it.
    pub fn from_trial(trial: &Trial) -> Option<RunJudge> {
        let steady = SteadyJudge::from_phases(&trial.phases).map(EndingRule::Steady);
        let sure = || SureJudge::from_phases(&trial.phases).map(EndingRule::Sure);
        let rule = steady.or_else(sure).or_else(|| backlog_watch(trial).map(EndingRule::Backlog))?;
        let (interval, start, left_out) = (trial.phases.interval, Tick(u64::MAX), Vec::new());
        Some(RunJudge { rule, interval, start, left_out, delivered: BTreeMap::new() })
    }

    /// `host` has clients, too: nothing is judged before its rows are here.
    pub fn expect_host(&mut self, host: HostId) {
        self.delivered.entry(host).or_insert(Tick(0));
    }

    /// `host` delivers nothing more.
    pub fn forget_host(&mut self, host: HostId) {
        self.delivered.remove(&host);
    }

    /// Adds rows of `host` that were delivered by `now`, and judges what is complete of all hosts.
    pub fn add_rows_of_host(&mut self, host: HostId, rows: &[IntervalRow], now: Tick) {
        if let Some(known) = self.delivered.get_mut(&host) {
            *known = now.max(*known);
        }
        let complete = self.delivered.values().min().copied().unwrap_or(now);
        self.add_rows(rows, complete);
    }

    /// Operations of `kinds` do not count.
    pub fn leave_out(&mut self, kinds: &[OpKind]) {
        self.left_out = kinds.to_vec();
    }

    /// The run phase has begun.
    pub fn begin_run(&mut self, start: Tick) {
        self.start = start;
    }

    /// Adds rows that were delivered by `now`, and judges what is complete.
    pub fn add_rows(&mut self, rows: &[IntervalRow], now: Tick) {
        for row in rows.iter().filter(|row| row.phase == Phase::Run) {
            let own = row.kinds.iter().filter(|kind| !self.left_out.contains(&kind.kind));
            match &mut self.rule {
                EndingRule::Steady(judge) => judge.add_interval(row.index, own),
                EndingRule::Sure(judge) => judge.add_interval(row.index, own),
                EndingRule::Backlog(watch) => watch.add_interval(row.index, own),
            }
        }
        let elapsed = (now - self.interval).since(self.start);
        match &mut self.rule {
            EndingRule::Steady(judge) => judge.judge(elapsed),
            EndingRule::Sure(judge) => judge.judge(elapsed),
            EndingRule::Backlog(watch) => watch.judge(elapsed),
        }
    }

    /// Whether what was delivered is enough.
    pub fn is_enough(&self) -> bool {
        match &self.rule {
            EndingRule::Steady(judge) => judge.are_steady(),
            EndingRule::Sure(judge) => judge.is_sure(),
            EndingRule::Backlog(watch) => watch.is_hopeless(),
        }
    }
}

/// The watch of the probe that `trial` is; `None` if it is none, or a closed loop, which has no backlog.
fn backlog_watch(trial: &Trial) -> Option<BacklogWatch> {
    let limit =
        trial.limit.as_ref().filter(|limit| limit.probe.is_some_and(|probe| probe.kind != ProbeKind::Closed))?;
    let Pacing::Open { arrivals } = trial.load.pacing else { return None };
    let (length, interval) = (trial.phases.run, trial.phases.interval);
    Some(BacklogWatch::new(&limit.spec.objective, arrivals.per_s(), length, interval))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, KindRow, Phases, Until};

    const SECOND: u64 = 1_000_000_000;
    /// The run phase does not begin with the clock.
    const START: u64 = 7 * SECOND;

    fn judge_of_rounds() -> RunJudge {
        let phases = Phases {
            warmup: Nanos(0),
            run: Nanos::from_secs(100),
            ops_max: None,
            interval: Nanos(SECOND),
            grace: Nanos(SECOND),
            silence: None,
            until: Until::Steady { round: Nanos(2 * SECOND), precondition: 1 },
        };
        let steady = SteadyJudge::from_phases(&phases).expect("there are rounds until steady");
        let rule = EndingRule::Steady(steady);
        let (start, left_out, delivered) = (Tick(START), Vec::new(), BTreeMap::new());
        RunJudge { rule, interval: phases.interval, start, left_out, delivered }
    }

    fn rounds_of(judge: &RunJudge) -> &SteadyJudge {
        match &judge.rule {
            EndingRule::Steady(judge) => judge,
            EndingRule::Sure(_) | EndingRule::Backlog(_) => panic!("it judges rounds"),
        }
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
        let mut judge = judge_of_rounds();
        (1..).zip(counts).find_map(|(second, count)| {
            judge.add_rows(&[row(Phase::Run, second as u32 - 1, *count)], at(second));
            judge.is_enough().then_some(second)
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
        let mut judge = judge_of_rounds();
        for second in 1..=11 {
            let late = row(Phase::Run, (second as u32).saturating_sub(2), if second > 1 { 40 } else { 0 });
            judge.add_rows(&[row(Phase::Run, second as u32 - 1, 60), late], at(second));
        }
        assert!(judge.is_enough());
        assert_eq!(rounds_of(&judge).ok[..5], [200; 5]);
    }

    #[test]
    fn of_several_hosts_only_that_is_judged_which_all_have_delivered() {
        let mut judge = judge_of_rounds();
        [1, 2].into_iter().for_each(|host| judge.expect_host(HostId(host)));
        let mut deliver = |host, seconds: std::ops::RangeInclusive<u64>| {
            for second in seconds {
                let rows = [row(Phase::Run, second as u32 - 1, 50)];
                judge.add_rows_of_host(HostId(host), &rows, at(second));
            }
            (rounds_of(&judge).judged, judge.is_enough())
        };
        assert_eq!(deliver(1, 1..=11), (0, false), "the other host is cut off");
        assert_eq!(deliver(2, 1..=8), (3, false));
        assert_eq!(deliver(2, 9..=11), (5, true));
        assert_eq!(rounds_of(&judge).ok[..5], [200; 5]);
        let mut without = judge_of_rounds();
        [1, 2].into_iter().for_each(|host| without.expect_host(HostId(host)));
        without.forget_host(HostId(2));
        (1..=11).for_each(|second| {
            without.add_rows_of_host(HostId(1), &[row(Phase::Run, second as u32 - 1, 50)], at(second));
        });
        assert!(without.is_enough());
    }

    #[test]
    fn a_round_in_which_nothing_ended_counts_as_such() {
        let mut judge = judge_of_rounds();
        (1..=8).for_each(|second| judge.add_rows(&[row(Phase::Run, second as u32 - 1, 100)], at(second)));
        (9..=14).for_each(|second| judge.add_rows(&[], at(second)));
        assert!(!judge.is_enough());
        assert_eq!((rounds_of(&judge).judged, rounds_of(&judge).ok[4]), (6, 0));
    }

    #[test]
    fn operations_of_clients_in_the_background_are_in_no_round() {
        let mut judge = judge_of_rounds();
        judge.leave_out(&[OpKind(1)]);
        for second in 1..=11 {
            let mut background = row(Phase::Run, second as u32 - 1, second * 1_000);
            background.kinds[0].kind = OpKind(1);
            judge.add_rows(&[row(Phase::Run, second as u32 - 1, 100), background], at(second));
        }
        assert!(judge.is_enough());
    }

    #[test]
    fn rows_of_other_phases_are_in_no_round_and_before_the_run_none_is_judged() {
        let mut judge = RunJudge { start: Tick(u64::MAX), ..judge_of_rounds() };
        (1..=30).for_each(|second| judge.add_rows(&[row(Phase::Prepare, second as u32 - 1, 100)], at(second)));
        assert!(!judge.is_enough() && rounds_of(&judge).ok.is_empty());
    }
}
