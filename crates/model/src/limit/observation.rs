//! What one probe of a search for the largest rate showed.
//!
//! In: a recorded point, or windows of a simulation. Out: an [`Observation`]: response times in windows, what was never started, what the
//! client itself spoilt, the write debt. The runner and the analysis compute it by the same function, so that anyone can repeat a search from
//! its run file.
//! Limits: a stall is seen in whole windows; one that is shorter than two of them may be missed.

use super::debt::{DebtCourse, pending_bytes};
use super::objective::{Objective, SampledShare};
use super::stops::{TakenTimes, unspoilt_windows};
use crate::histogram::Times;
use crate::op::OpKind;
use crate::own_gap::{OwnGap, OwnGapCause};
use crate::run::{Interval, PhaseData, PointData};
use crate::trial::{Arrivals, Pacing, Phase};
use crate::units::{Nanos, Tick};
use std::collections::BTreeMap;

/// What a probe showed, or several probes of one rate together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The rate that was offered; `None` of a closed loop.
    pub offered_per_s: Option<f64>,
    /// How long it lasted.
    pub length: Nanos,
    /// Whether it was ended because its backlog grew and its objective could not be met any more.
    pub ended_early: bool,
    /// What ended in each stretch of it, in order.
    pub windows: Vec<ResponseWindow>,
    /// Arrivals that were never started: they are the last ones, and in no window.
    pub unserved: u64,
    /// The times in which plimsoll itself did not run, together.
    pub own_gaps: Nanos,
    /// Arrivals for which a client was waiting and woke up late.
    pub lag_count: u64,
    /// By how much these clients woke up late, together.
    pub lag_sum: Nanos,
    /// Bytes that the engine had yet to write; empty if it does not tell.
    pub debt: DebtCourse,
}

/// What ended in one stretch of a probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponseWindow {
    /// How long it is.
    pub length: Nanos,
    /// Response times of the operations done.
    pub response: Times,
    pub failed: u64,
    /// The most CPU time that the hypervisor may have taken in it, of all CPUs together.
    pub stolen: Nanos,
    /// The same of other programs.
    pub foreign: Nanos,
    /// Those of its operations that are of a kind which the objective names, by that name.
    pub kinds: BTreeMap<&'static str, KindWindow>,
}

/// What ended of one kind of operation in one stretch of a probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KindWindow {
    /// Response times of the operations done.
    pub response: Times,
    pub failed: u64,
}

impl ResponseWindow {
    /// The response times and the failures of all operations, or of those of one kind; `None` if nothing of that kind ended.
    pub(super) fn part_of(&self, kind: Option<&str>) -> Option<(&Times, u64)> {
        match kind {
            None => Some((&self.response, self.failed)),
            Some(kind) => self.kinds.get(kind).map(|own| (&own.response, own.failed)),
        }
    }
}

/// Why a probe shows nothing about its target: its client or its machine was at fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProbeFault {
    /// Plimsoll did not run for too large a part of the probe.
    OwnGaps { length: Nanos },
    /// The hypervisor stopped the machine, and without the windows that this has spoilt the objective is kept.
    Stolen {
        /// The CPU time that it took in those windows.
        length: Nanos,
    },
    /// Other programs used the CPUs for a while, and without the windows that this has spoilt the objective is kept.
    Foreign {
        /// The CPU time that they used in those windows.
        length: Nanos,
    },
    /// Clients that waited for arrivals woke up too late, too often.
    Lag {
        /// By how much on average.
        mean: Nanos,
    },
}

/// So much of the shortest time of the objective may be the clients' own: the same share as for any other point.
const LAG_SHARE_MAX: f64 = 0.05;
/// A share of the operations of which it does not matter what their client did; for objectives without a percentile.
const TAIL_OTHERWISE: f64 = 0.001;
/// So much of a probe must be left without the windows that stops have spoilt: one that is stopped for longer shows a machine that is slow
/// all along.
const UNSPOILT_SHARE_MIN: f64 = 0.5;
/// Fewer blocks tell too little of a variance.
const BLOCKS_MIN: usize = 8;

impl Observation {
    /// What `point` showed; `None` if it has no run phase.
    pub fn from_point(point: &PointData) -> Option<Observation> {
        let run = point.phase(Phase::Run)?;
        let background: Vec<OpKind> =
            (0u8..).zip(&point.kinds).filter(|(_, kind)| kind.background).map(|(number, _)| OpKind(number)).collect();
        let offered_per_s = match point.trial.load.pacing {
            Pacing::Closed { .. } => None,
            Pacing::Open { arrivals } => Some(arrivals.per_s()),
        };
        let is_recorded = matches!(point.trial.load.pacing, Pacing::Open { arrivals: Arrivals::Recorded { .. } });
        let length = run.end.since(run.start);
        let planned = point.trial.phases.run;
        Some(Observation {
            offered_per_s,
            length,
            // The end of a phase that lasted as long as was asked is exact. A replay is over with its last operation, and has none left then.
            ended_early: offered_per_s.is_some() && length < planned && !(is_recorded && run.unserved == 0),
            windows: windows_of(run, &background, &named_kinds(point), &TakenTimes::of(point)),
            unserved: run.unserved,
            own_gaps: own_gaps_within(point, run),
            lag_count: run.intervals.iter().map(|interval| interval.generator.lag_count).sum(),
            lag_sum: Nanos(run.intervals.iter().map(|interval| interval.generator.lag_sum_ns).sum()),
            debt: pending_bytes(point, run.start, run.end),
        })
    }

    /// What it and `other`, a probe of the same rate, show together.
    pub fn together_with(&self, other: &Observation) -> Observation {
        Observation {
            offered_per_s: self.offered_per_s,
            length: Nanos(self.length.0 + other.length.0),
            ended_early: self.ended_early && other.ended_early,
            windows: [self.windows.as_slice(), &other.windows].concat(),
            // Those that waited at the end of each: the longer queue, and not one after the other.
            unserved: self.unserved.max(other.unserved),
            own_gaps: Nanos(self.own_gaps.0 + other.own_gaps.0),
            lag_count: self.lag_count + other.lag_count,
            lag_sum: Nanos(self.lag_sum.0 + other.lag_sum.0),
            debt: DebtCourse::default(),
        }
    }

    pub fn done(&self) -> u64 {
        self.windows.iter().map(|window| window.response.len()).sum()
    }

    pub fn failed(&self) -> u64 {
        self.windows.iter().map(|window| window.failed).sum()
    }

    /// Operations done per second.
    pub fn done_per_s(&self) -> f64 {
        if self.length.0 == 0 { 0.0 } else { self.done() as f64 / self.length.as_secs_f64() }
    }

    /// All response times together.
    pub fn response(&self) -> Times {
        Times::merged(self.windows.iter().map(|window| &window.response))
    }

    /// What ended in each window of all operations, or of those of one kind: their response times, and how many failed.
    fn parts_of(&self, kind: Option<&str>) -> impl Iterator<Item = (&Times, u64)> {
        self.windows.iter().filter_map(move |window| window.part_of(kind))
    }

    /// How many operations of `kind` were done or failed.
    pub fn ended_of(&self, kind: Option<&str>) -> u64 {
        self.parts_of(kind).map(|(response, failed)| response.len() + failed).sum()
    }

    /// The share of its operations that are of `kind`; 1 if there are none, of which nothing is known.
    pub fn share_of(&self, kind: Option<&str>) -> f64 {
        let own = self.ended_of(kind);
        if own == 0 { 1.0 } else { own as f64 / self.ended_of(None) as f64 }
    }

    /// The share of the arrivals, or of those of one kind, with a response time of `limit` or more. Arrivals that were never started count as
    /// such if they had waited for so long; of each kind there are as many among them as among the others.
    pub fn share_above(&self, kind: Option<&str>, limit: Nanos) -> SampledShare {
        let waited = self.unserved_after(limit) * self.share_of(kind);
        let counts =
            self.parts_of(kind).map(|(response, _)| (response.count_from(limit.0) as f64, response.len() as f64));
        sampled(counts.chain((waited > 0.0).then_some((waited, waited))).collect())
    }

    /// The share of the operations, or of those of one kind, that failed.
    pub fn share_failed(&self, kind: Option<&str>) -> SampledShare {
        let counts = self.parts_of(kind).map(|(response, failed)| (failed as f64, (response.len() + failed) as f64));
        sampled(counts.collect())
    }

    /// The longest response time of all operations, or of those of one kind; or the longest wait of an arrival that was never started.
    pub fn longest_response(&self, kind: Option<&str>) -> Nanos {
        let longest = self.parts_of(kind).map(|(response, _)| Nanos(response.max_ns())).max().unwrap_or_default();
        longest.max(self.longest_unserved_wait())
    }

    /// The longest stretch of windows in which nothing ended, if operations were due.
    pub fn longest_stall(&self) -> Nanos {
        let (mut longest, mut current) = (Nanos(0), Nanos(0));
        for window in &self.windows {
            current = if window.response.is_empty() { Nanos(current.0 + window.length.0) } else { Nanos(0) };
            longest = longest.max(current);
        }
        longest
    }

    /// Arrivals are started in the order in which they fell due, so those that were never started are the last ones, and the first of
    /// them fell due as long ago as it takes for so many to arrive.
    fn longest_unserved_wait(&self) -> Nanos {
        let per_s = self.offered_per_s.unwrap_or(f64::INFINITY);
        Nanos((self.unserved as f64 / per_s * 1e9) as u64)
    }

    /// How many of the arrivals that were never started had waited for `limit`.
    fn unserved_after(&self, limit: Nanos) -> f64 {
        let per_s = self.offered_per_s.unwrap_or(0.0);
        (self.unserved as f64 - per_s * limit.as_secs_f64()).max(0.0)
    }

    /// Why it shows nothing about the target under `objective`, if its client or its machine was at fault. A fault makes response times longer
    /// and never shorter, so an objective that was kept all the same is kept.
    pub fn fault(&self, objective: &Objective) -> Option<ProbeFault> {
        let tail = objective.smallest_tail(|kind| self.share_of(Some(kind))).unwrap_or(TAIL_OTHERWISE);
        if self.own_gaps.as_secs_f64() > 0.5 * tail * self.length.as_secs_f64() {
            return Some(ProbeFault::OwnGaps { length: self.own_gaps });
        }
        if let Some(fault) = self.stop_that_explains_a_miss(objective) {
            return Some(fault);
        }
        let limit = objective.shortest_time()?;
        let mean = Nanos(self.lag_sum.0 / self.lag_count.max(1));
        let many = self.lag_count as f64 >= tail * self.done() as f64;
        (many && mean.0 as f64 > LAG_SHARE_MAX * limit.0 as f64).then_some(ProbeFault::Lag { mean })
    }

    /// Who took the CPUs for a while, if it misses `objective` with the windows that this has spoilt and keeps it without.
    fn stop_that_explains_a_miss(&self, objective: &Objective) -> Option<ProbeFault> {
        let unspoilt = unspoilt_windows(&self.windows, objective);
        // Arrivals that were never started are the last ones: those of the last window.
        let unserved = if unspoilt.last() == Some(&true) { self.unserved } else { 0 };
        let (kept, spoilt): (Vec<_>, Vec<_>) = self.windows.iter().zip(unspoilt).partition(|(_, unspoilt)| *unspoilt);
        let is_enough = kept.len() as f64 >= UNSPOILT_SHARE_MIN * self.windows.len() as f64;
        if spoilt.is_empty() || !is_enough || objective.judge(self).missed().is_none() {
            return None;
        }
        let windows = kept.into_iter().map(|(window, _)| window.clone()).collect();
        let rest = Observation { windows, unserved, ..self.clone() };
        let sum = |of: fn(&ResponseWindow) -> Nanos| Nanos(spoilt.iter().map(|(window, _)| of(window).0).sum());
        let (stolen, foreign) = (sum(|window| window.stolen), sum(|window| window.foreign));
        let fault = if stolen >= foreign {
            ProbeFault::Stolen { length: stolen }
        } else {
            ProbeFault::Foreign { length: foreign }
        };
        objective.judge(&rest).keeps().then_some(fault)
    }

    /// The time from one stretch of slow windows to the next, if they come regularly: checkpoints, compactions, garbage collection.
    pub fn rhythm(&self) -> Option<Nanos> {
        super::rhythm::find_rhythm(&self.windows)
    }
}

/// The kinds of operation of `point` that the objective of its search names.
fn named_kinds(point: &PointData) -> Vec<(&'static str, OpKind)> {
    let named = point.trial.limit.iter().flat_map(|limit| limit.spec.objective.kinds());
    let numbers = |name: &'static str| {
        let own = (0u8..).zip(&point.kinds).filter(move |(_, def)| def.name == name && !def.background);
        own.map(move |(number, _)| (name, OpKind(number)))
    };
    named.flat_map(numbers).collect()
}

/// The windows of a phase, without the kinds of operation `background`. What ended after the end of the phase is in its last window.
fn windows_of(
    run: &PhaseData,
    background: &[OpKind],
    named: &[(&'static str, OpKind)],
    taken: &TakenTimes,
) -> Vec<ResponseWindow> {
    let (inside, beyond): (Vec<&Interval>, Vec<_>) =
        run.intervals.iter().partition(|interval| interval.start < run.end);
    let window = |interval: &Interval| {
        let [stolen, foreign] = taken.within(interval.start, interval.start + interval.length);
        ResponseWindow { stolen, foreign, ..window_of(interval, background, named) }
    };
    let mut windows: Vec<ResponseWindow> = inside.into_iter().map(window).collect();
    if let Some(last) = windows.last_mut() {
        for late in beyond {
            let late = window_of(late, background, named);
            last.response.add(&late.response);
            last.failed += late.failed;
            for (name, late) in late.kinds {
                let own = last.kinds.entry(name).or_default();
                own.response.add(&late.response);
                own.failed += late.failed;
            }
        }
    }
    windows
}

fn window_of(interval: &Interval, background: &[OpKind], named: &[(&'static str, OpKind)]) -> ResponseWindow {
    let mut kinds: BTreeMap<&'static str, KindWindow> = BTreeMap::new();
    for (name, number) in named.iter().copied() {
        for row in interval.kinds.iter().filter(|row| row.kind == number) {
            let own = kinds.entry(name).or_default();
            own.response.add(&row.response);
            own.failed += row.failed;
        }
    }
    let own = || interval.kinds.iter().filter(|row| !background.contains(&row.kind));
    ResponseWindow {
        length: interval.length,
        response: Times::merged(own().map(|row| &row.response)),
        failed: own().map(|row| row.failed).sum(),
        kinds,
        ..ResponseWindow::default()
    }
}

/// The times within `run` in which plimsoll did not run, or got no CPU.
fn own_gaps_within(point: &PointData, run: &PhaseData) -> Nanos {
    let gaps = OwnGap::from_events(&point.events);
    let within = |gap: &OwnGap| gap.to.min(run.end).since(Tick(gap.from.0.max(run.start.0))).0;
    let counts = |gap: &&OwnGap| matches!(gap.cause, OwnGapCause::Stopped | OwnGapCause::NoCpu);
    Nanos(gaps.iter().filter(counts).map(within).sum())
}

/// The share of (hits, all) over windows, with the variance that they show between them. Neighbouring windows are alike if a queue
/// lasts longer than one of them, so blocks of 1, 2, 4 ... windows are tried and the largest variance counts (the blocking method of
/// Flyvbjerg and Petersen, J. Chem. Phys. 91, 1989).
fn sampled(counts: Vec<(f64, f64)>) -> SampledShare {
    let (hits, of) = counts.iter().fold((0.0, 0.0), |(hits, of), one| (hits + one.0, of + one.1));
    let share = hits / f64::max(of, 1.0);
    let independent = share * (1.0 - share) / f64::max(of, 1.0);
    let (mut clustering, mut freedom) = (1.0, f64::INFINITY);
    let mut blocks = counts;
    while blocks.len() >= BLOCKS_MIN && independent > 0.0 {
        let variance = block_variance(&blocks, share) / (of * of) / independent;
        if variance > clustering {
            (clustering, freedom) = (variance, blocks.len() as f64 - 1.0);
        }
        blocks = blocks
            .chunks(2)
            .map(|pair| pair.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
            .collect();
    }
    SampledShare { hits, of, clustering: clustering.min(of.max(1.0)), freedom }
}

/// The variance of the sum of hits, from what blocks differ by from the share of all (Cochran, Sampling Techniques, 6.3).
fn block_variance(blocks: &[(f64, f64)], share: f64) -> f64 {
    let n = blocks.len() as f64;
    blocks.iter().map(|(hits, of)| (hits - share * of).powi(2)).sum::<f64>() * n / (n - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(times: &[(u64, u64)]) -> ResponseWindow {
        let mut response = Times::default();
        times.iter().for_each(|(ms, count)| response.record_n(ms * 1_000_000, *count));
        ResponseWindow { length: Nanos::from_secs(1), response, ..ResponseWindow::default() }
    }

    fn observed(windows: Vec<ResponseWindow>) -> Observation {
        let length = Nanos::from_secs(windows.len() as u64);
        Observation { offered_per_s: Some(100.0), length, windows, ..Observation::default() }
    }

    #[test]
    fn slow_operations_that_come_together_tell_less_than_as_many_spread_out() {
        let spread = observed(vec![window(&[(1, 98), (50, 2)]); 20]);
        let mut windows = vec![window(&[(1, 100)]); 20];
        windows[7] = window(&[(1, 60), (50, 40)]);
        let together = observed(windows);
        let [spread, together] = [spread, together].map(|seen| seen.share_above(None, Nanos::from_millis(10)));
        assert_eq!((spread.value(), together.value()), (0.02, 0.02));
        assert_eq!(spread.clustering, 1.0);
        assert!(together.clustering > 30.0, "{together:?}");
    }

    #[test]
    fn arrivals_that_were_never_started_count_if_they_waited_long_enough() {
        let seen = Observation { unserved: 3, ..observed(vec![window(&[(1, 100)]); 10]) };
        let share = |limit_ms| seen.share_above(None, Nanos::from_millis(limit_ms)).hits;
        // At 100 a second the first of three has waited for 30 ms.
        assert_eq!([share(20), share(40)], [1.0, 0.0]);
        assert_eq!(seen.longest_response(None), Nanos::from_millis(30));
    }

    #[test]
    fn a_stall_is_as_long_as_the_windows_in_which_nothing_ended() {
        let mut windows = vec![window(&[(1, 100)]); 10];
        (windows[3], windows[4], windows[8]) = (window(&[]), window(&[]), window(&[]));
        assert_eq!(observed(windows).longest_stall(), Nanos::from_secs(2));
    }

    #[test]
    fn a_client_is_at_fault_if_its_own_part_could_decide() {
        let objective = Objective::default();
        let seen = || observed(vec![window(&[(1, 100)]); 10]);
        let gap = |ms| Observation { own_gaps: Nanos::from_millis(ms), ..seen() }.fault(&objective);
        assert_eq!([gap(50), gap(51)], [None, Some(ProbeFault::OwnGaps { length: Nanos::from_millis(51) })]);
        let lag = |count, us| {
            let lag_sum = Nanos::from_micros(count * us);
            Observation { lag_count: count, lag_sum, ..seen() }.fault(&objective)
        };
        assert_eq!(lag(10, 501), Some(ProbeFault::Lag { mean: Nanos::from_micros(501) }));
        assert_eq!([lag(9, 501), lag(10, 500)], [None, None], "too few, too short");
    }

    #[test]
    fn a_miss_is_that_of_other_programs_if_only_windows_in_which_they_ran_missed() {
        let foreign = Nanos::from_millis(900);
        let mut windows = vec![window(&[(1, 100)]); 20];
        windows[4] = ResponseWindow { foreign, ..window(&[(1, 50), (70, 50)]) };
        let fault = |windows: &[ResponseWindow]| observed(windows.to_vec()).fault(&Objective::default());
        assert_eq!(fault(&windows), Some(ProbeFault::Foreign { length: foreign }));
        windows[4].foreign = Nanos::from_millis(200);
        assert_eq!(fault(&windows), None, "a fifth of a CPU is what any machine does");
        windows.iter_mut().for_each(|window| window.foreign = foreign);
        assert_eq!(fault(&windows), None, "they ran all along: the target is slower for it");
    }

    #[test]
    fn a_miss_is_the_machines_if_only_windows_with_a_stop_missed() {
        let objective = Objective::default();
        let stolen = Nanos::from_millis(74);
        let fault = |windows| observed(windows).fault(&objective);
        let stop = || ResponseWindow { stolen, ..window(&[(1, 50), (70, 50)]) };
        let mut windows = vec![window(&[(1, 100)]); 10];
        windows[4] = stop();
        assert_eq!(fault(windows.clone()), Some(ProbeFault::Stolen { length: stolen }));
        windows[4].stolen = Nanos(0);
        assert_eq!(fault(windows), None, "nothing was stolen");
        let mut slow_anyway = vec![window(&[(1, 95), (70, 5)]); 10];
        slow_anyway[4] = stop();
        assert_eq!(fault(slow_anyway), None, "it misses without the stop, too");
        let kept = vec![ResponseWindow { stolen, ..window(&[(1, 100)]) }; 1];
        assert_eq!(fault([kept, vec![window(&[(1, 100)]); 9]].concat()), None, "it was kept all the same");
        let more_than_half = [vec![stop(); 6], vec![window(&[(1, 100)]); 5]].concat();
        assert_eq!(fault(more_than_half), None, "it is slow all along");
    }
}
