//! The run phase cut into what counts: the operations that ended inside it, and its whole intervals.
//!
//! In: a recorded run phase. Out: a [`Window`]. An interval that the recorder left out at the end (no client ended anything
//! in it) is an interval with no operation, not a missing one.
//!
//! This is the one definition of which operations are counted in which number. An operation that ended by the end of the phase is in
//! all numbers. An operation that was in flight at that end and ended in the grace time is in percentiles, means and maxima of times:
//! without the slowest they would look too good. Its failure counts. It is in no rate and in no count of operations done
//! ([`crate::Summary::ops`]), because the rate's seconds are those of the phase. Charts of intervals show it after the end
//! ([`crate::Series::tail`]). Findings, the verdict and the share of operations that succeeded count as the summary does;
//! `few-samples` counts the times that percentiles have. A cost per operation is divided by all operations that caused it.
//!
//! Limits: sums saturate, since a damaged file must not end the analysis. If the phase ends inside an interval, that
//! interval's operations count as inside. At an end by number they all are; at a planned end or an interruption up to
//! clients * depth of them belong to the grace time.

use model::{Interval, Nanos, Observation, PhaseData, Tick, Trial};

/// The run phase of a point, cut.
#[derive(Clone, Debug)]
pub struct Window<'a> {
    /// The phase as recorded, or the part of it that counts.
    pub phase: &'a PhaseData,
    /// When the run phase began.
    pub origin: Tick,
    /// The intervals that lie inside the phase from end to end, in order and without holes.
    pub whole: Vec<OpTally>,
    /// All that ended inside the phase, from its start to its end.
    pub inside: OpTally,
    /// The recorded intervals that `inside` is the sum of.
    pub inside_intervals: &'a [Interval],
    /// All that was recorded, the grace time included.
    pub recorded: OpTally,
    /// The index in `phase.intervals` of the first that is not whole.
    recorded_whole: usize,
    /// What of its end is in no rate: a server that was watched did not answer any more.
    unknown: Nanos,
}

/// Sums over all kinds of operation in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTally {
    /// When the stretch began.
    pub start: Tick,
    /// How long it is.
    pub length: Nanos,
    pub ok: u64,
    pub failed: u64,
    /// The payload that was moved.
    pub bytes: u64,
    /// Arrivals that fell due while every client was busy.
    pub late: u64,
}

impl<'a> Window<'a> {
    /// Cuts `phase` of `trial`: a run phase, or the part that counts of one that began at `origin`.
    pub fn cut(phase: &'a PhaseData, origin: Tick, trial: &Trial) -> Window<'a> {
        let recorded = OpTally::from_phase(phase);
        let inside_intervals = match is_ended_by_count(&recorded, trial) {
            true => &phase.intervals[..],
            // An interval that begins after the end holds operations of the grace time only.
            false => {
                let before_end = phase.intervals.iter().take_while(|interval| interval.start < phase.end);
                &phase.intervals[..before_end.count()]
            }
        };
        let all_inside = inside_intervals.iter().map(OpTally::from_interval);
        let inside = all_inside.fold(OpTally::empty(phase), |sum, tally| sum.plus(&tally));
        let whole = whole_tallies(phase, trial.phases.interval);
        let recorded_whole = whole.len().min(phase.intervals.len());
        Window { phase, origin, whole, inside, inside_intervals, recorded, recorded_whole, unknown: Nanos(0) }
    }

    /// The same of a point that was `observed`, whose rates are those of the time in which its server is known to have done them.
    pub fn of_watch(self, observed: Option<&Observation>) -> Window<'a> {
        let all = self.inside.length;
        let known = observed.and_then(|seen| seen.known_of(all)).unwrap_or(all);
        Window { unknown: Nanos(all.0 - known.0), ..self }
    }

    /// Length of the phase in seconds.
    pub fn seconds(&self) -> f64 {
        self.inside.length.as_secs_f64()
    }

    /// The seconds over which its rates are.
    pub fn known_seconds(&self) -> f64 {
        self.known().as_secs_f64()
    }

    /// `count` of what ended inside the phase, per second.
    pub fn per_second(&self, count: u64) -> f64 {
        per_second(count, self.known())
    }

    /// The whole intervals that its rates are of.
    pub fn known_whole(&self) -> &[OpTally] {
        let end = self.phase.start + self.known();
        &self.whole[..self.whole.partition_point(|tally| tally.start < end)]
    }

    fn known(&self) -> Nanos {
        Nanos(self.inside.length.0 - self.unknown.0)
    }

    /// The recorded ones among the whole intervals: those at the end in which nothing ended may be missing.
    pub fn whole_recorded(&self) -> &'a [Interval] {
        &self.phase.intervals[..self.recorded_whole]
    }

    /// The recorded intervals after the whole ones: a part of an interval at the end, and the grace time.
    pub fn rest_recorded(&self) -> &'a [Interval] {
        &self.phase.intervals[self.recorded_whole..]
    }

    /// The recorded intervals that begin inside the phase. A run until steady always has another after its window, which is in no
    /// rate.
    pub fn inside_recorded(&self) -> &'a [Interval] {
        &self.phase.intervals[..self.phase.intervals.partition_point(|interval| interval.start < self.phase.end)]
    }

    /// The operations done per second of each whole interval.
    pub fn rates(&self) -> Vec<f64> {
        self.whole.iter().map(OpTally::ops_per_s).collect()
    }

    /// `at` in seconds since the run phase began.
    pub fn seconds_at(&self, at: Tick) -> f64 {
        (at.0 as f64 - self.origin.0 as f64) / 1e9
    }
}

impl OpTally {
    /// All that was recorded of `phase`, the grace time included, in the stretch of the phase.
    pub fn from_phase(phase: &PhaseData) -> OpTally {
        phase.intervals.iter().fold(OpTally::empty(phase), |sum, interval| sum.plus(&OpTally::from_interval(interval)))
    }

    /// No operation, in the stretch of `phase`.
    fn empty(phase: &PhaseData) -> OpTally {
        OpTally { start: phase.start, length: phase.end.since(phase.start), ..OpTally::default() }
    }

    /// What was recorded in `interval`.
    pub fn from_interval(interval: &Interval) -> OpTally {
        let empty = OpTally { start: interval.start, length: interval.length, ..OpTally::default() };
        interval.kinds.iter().fold(empty, |sum, kind| OpTally {
            ok: sum.ok.saturating_add(kind.ok),
            failed: sum.failed.saturating_add(kind.failed),
            bytes: sum.bytes.saturating_add(kind.bytes),
            late: sum.late.saturating_add(kind.late),
            ..sum
        })
    }

    /// Neighbouring stretches as one.
    pub fn joined(stretches: &[OpTally]) -> OpTally {
        let start = stretches.first().map_or(Tick(0), |first| first.start);
        let length = Nanos(stretches.iter().fold(0, |sum, tally| tally.length.0.saturating_add(sum)));
        stretches.iter().fold(OpTally { start, length, ..OpTally::default() }, OpTally::plus)
    }

    /// The counts of both in the stretch of the first.
    fn plus(self, other: &OpTally) -> OpTally {
        OpTally {
            ok: self.ok.saturating_add(other.ok),
            failed: self.failed.saturating_add(other.failed),
            bytes: self.bytes.saturating_add(other.bytes),
            late: self.late.saturating_add(other.late),
            ..self
        }
    }

    /// Operations that ended, either way.
    pub fn ended(&self) -> u64 {
        self.ok.saturating_add(self.failed)
    }

    /// Operations done per second.
    pub fn ops_per_s(&self) -> f64 {
        per_second(self.ok, self.length)
    }

    /// The payload per second.
    pub fn bytes_per_s(&self) -> f64 {
        per_second(self.bytes, self.length)
    }
}

fn per_second(count: u64, length: Nanos) -> f64 {
    if length.0 == 0 { 0.0 } else { count as f64 / length.as_secs_f64() }
}

/// Whether the phase ended because enough operations were done. Its end is then that of the last of them, which may fall on
/// the first moment of an interval.
fn is_ended_by_count(recorded: &OpTally, trial: &Trial) -> bool {
    let enough = trial.phases.ops_max.is_some_and(|most| recorded.ended() >= most);
    enough && recorded.length < trial.phases.run
}

/// The whole intervals of any phase, including those at its end that were not recorded because nothing ended in them.
pub fn whole_tallies(phase: &PhaseData, planned: Nanos) -> Vec<OpTally> {
    let length = phase.intervals.first().map_or(planned, |interval| interval.length);
    if length.0 == 0 {
        return Vec::new();
    }
    let count = phase.end.since(phase.start).0 / length.0;
    let tallies = (0..count).map(|index| match phase.intervals.get(index as usize) {
        Some(interval) => OpTally::from_interval(interval),
        None => OpTally { start: phase.start + Nanos(index * length.0), length, ..OpTally::default() },
    });
    tallies.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Phase;

    #[test]
    fn a_part_of_an_interval_counts_as_inside_and_the_grace_time_does_not() {
        let mut point = Simulation::counts(&[10, 10, 10, 4, 1]).point();
        point.phases[0].end = Tick(3_500_000_000);
        let window = Window::cut(&point.phases[0], Tick(0), &point.trial);
        assert_eq!((window.whole.len(), window.inside.ok, window.recorded.ok), (3, 34, 35));
        assert_eq!(window.rest_recorded().len(), 2);
    }

    #[test]
    fn an_operation_that_ends_a_run_by_number_on_the_first_moment_of_an_interval_is_inside() {
        let mut point = Simulation::counts(&[10, 10, 1]).point();
        point.phases[0].end = Tick(2_000_000_000);
        point.trial.phases.ops_max = Some(21);
        point.trial.phases.run = Nanos::from_secs(60);
        assert_eq!(Window::cut(&point.phases[0], Tick(0), &point.trial).inside.ok, 21);
        point.trial.phases.ops_max = None;
        assert_eq!(Window::cut(&point.phases[0], Tick(0), &point.trial).inside.ok, 20);
    }

    #[test]
    fn intervals_that_nobody_recorded_at_the_end_have_no_operations() {
        let mut point = Simulation::counts(&[10, 10]).point();
        point.phases[0].end = Tick(5_000_000_000);
        let window = Window::cut(&point.phases[0], Tick(0), &point.trial);
        assert_eq!(window.rates(), [10.0, 10.0, 0.0, 0.0, 0.0]);
        assert_eq!(window.whole[4].start, Tick(4_000_000_000));
        assert_eq!(window.whole_recorded().len(), 2);
    }

    #[test]
    fn the_end_of_a_watch_that_is_not_known_is_in_no_rate() {
        let mut point = Simulation::counts(&[10, 10]).point();
        point.phases[0].end = Tick(5_000_000_000);
        let watched = |unknown_s: u64| {
            let seen = Observation { unknown_ns: unknown_s * 1_000_000_000, ..Observation::default() };
            let window = Window::cut(&point.phases[0], Tick(0), &point.trial).of_watch(Some(&seen));
            (window.per_second(window.inside.ok), window.known_seconds(), window.known_whole().len(), window.seconds())
        };
        assert_eq!(watched(0), (4.0, 5.0, 5, 5.0));
        assert_eq!(watched(3), (10.0, 2.0, 2, 5.0));
        assert_eq!(watched(5), watched(0), "if hardly anything is known, there is no better rate");
    }

    #[test]
    fn a_phase_without_length_has_no_interval_and_no_rate() {
        let mut point = Simulation::counts(&[]).point();
        point.phases[0].end = point.phases[0].start;
        let window = Window::cut(point.phase(Phase::Run).expect("it is there"), Tick(0), &point.trial);
        assert_eq!((window.whole.len(), window.inside.ops_per_s()), (0, 0.0));
    }
}
