//! Where the time of a run went.
//!
//! In: the points as they were recorded, those among them that broke off. Out: a [`RunTime`]. Limits: what is in no phase is one sum: engines start,
//! counters are opened, the rows of points are analysed and printed. The report after the last point is not recorded; neither is the time between two
//! sessions of a run, which is no part of it. Sums saturate, since a damaged file must not end the analysis.

use model::{EventKind, Nanos, Phase, PointData};

/// The time of a run by what was done in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// From the beginning of its first session to the end of its last point, without what was between sessions.
    pub all: Nanos,
    /// For how long data was made.
    pub data: Nanos,
    /// Load that does not count.
    pub warmup: Nanos,
    pub measured: Nanos,
    /// Engines were stopped and their data was removed.
    pub cleanup: Nanos,
}

impl RunTime {
    /// That of `points`, all those of a run in their order; `None` if it had no phases of its own, as an imported one and a watch.
    pub fn of_points(points: &[PointData]) -> Option<RunTime> {
        let is_own = |point: &PointData| point.traits.imported.is_none() && point.traits.observed.is_none();
        let (mut time, mut before) = (RunTime::default(), 0);
        for point in points.iter().filter(|point| is_own(point)) {
            let starts = point.phases.iter().map(|phase| phase.start.0);
            let ends = point.phases.iter().map(|phase| phase.end.0.max(phase.start.0));
            let Some((began, ended)) = starts.min().zip(ends.max()) else { continue };
            // A session that goes on says so before the first phase of its first point.
            let gaps = point.events.iter().filter(|event| event.kind == EventKind::ClockGap && event.at.0 <= began);
            let resumed = gaps.map(|event| event.at.0).min();
            time.all.0 = time.all.0.saturating_add(ended.saturating_sub(resumed.unwrap_or(before)));
            before = ended.max(before);
            for phase in &point.phases {
                let part = time.part_of(phase.phase);
                part.0 = part.0.saturating_add(phase.end.since(phase.start).0);
            }
        }
        (time.measured.0 > 0).then_some(time)
    }

    fn part_of(&mut self, phase: Phase) -> &mut Nanos {
        match phase {
            Phase::Prepare => &mut self.data,
            Phase::Warmup => &mut self.warmup,
            Phase::Run => &mut self.measured,
            Phase::Cleanup => &mut self.cleanup,
        }
    }

    /// What is in no phase.
    pub fn between(&self) -> Nanos {
        let phases = [self.data, self.warmup, self.measured, self.cleanup];
        Nanos(phases.iter().fold(self.all.0, |left, part| left.saturating_sub(part.0)))
    }

    /// The share that `part` is of all.
    pub fn share(&self, part: Nanos) -> f64 {
        part.0 as f64 / self.all.0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SECOND, Simulation};
    use model::{Event, PhaseData, Tick};

    /// A point with these phases, in tenths of a second of the run.
    fn point(phases: &[(Phase, u64, u64)]) -> PointData {
        let at = |tenths: u64| Tick(tenths * SECOND / 10);
        let phase = |(phase, start, end): &(Phase, u64, u64)| PhaseData {
            phase: *phase,
            start: at(*start),
            end: at(*end),
            unserved: 0,
            offered: 0,
            intervals: Vec::new(),
        };
        Simulation::counts(&[1]).with(|point| point.phases = phases.iter().map(phase).collect()).point()
    }

    #[test]
    fn the_time_of_two_sessions_is_without_what_was_between_them_and_what_is_in_no_phase_is_the_rest() {
        use Phase::{Cleanup, Prepare, Run, Warmup};
        let first = point(&[(Prepare, 10, 20), (Warmup, 20, 30), (Run, 30, 80), (Cleanup, 80, 85)]);
        let mut second = point(&[(Run, 1_010, 1_060)]);
        second.events.push(Event::new(Tick(100 * SECOND), EventKind::ClockGap, "resumed"));
        let time = RunTime::of_points(&[first, second]).expect("it was measured");
        let tenths = |part: Nanos| part.0 / (SECOND / 10);
        assert_eq!([time.all, time.data, time.warmup, time.measured, time.cleanup].map(tenths), [145, 10, 10, 100, 5]);
        assert_eq!(tenths(time.between()), 20, "a second before each of the two points");
        assert!((time.share(time.measured) - 100.0 / 145.0).abs() < 1e-9);
    }

    #[test]
    fn the_times_of_a_damaged_file_are_as_long_as_can_be() {
        let mut damaged = point(&[(Phase::Prepare, 0, 1), (Phase::Run, 0, 1), (Phase::Run, 0, 1)]);
        damaged.phases.iter_mut().for_each(|phase| phase.end = Tick(u64::MAX));
        damaged.events.push(Event::new(Tick(0), EventKind::ClockGap, "resumed"));
        let time = RunTime::of_points(&[damaged.clone(), damaged]).expect("it was measured");
        let all = [time.all, time.data, time.measured, time.between()].map(|part| part.0);
        assert_eq!(all, [u64::MAX, u64::MAX, u64::MAX, 0]);
    }

    #[test]
    fn a_run_that_measured_nothing_has_no_time() {
        assert_eq!(RunTime::of_points(&[point(&[(Phase::Prepare, 0, 5)])]), None);
        assert_eq!(RunTime::of_points(&[]), None);
    }
}
