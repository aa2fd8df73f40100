//! The rounds of a run until steady: their rates, the five that are judged, and the part of the phase that counts.
//!
//! In: the recorded run phase of a trial until steady. Out: [`Rounds`], and the phase cut to its window, from which headline numbers
//! are computed. The rounds before the window are shown and not counted.
//! Limits: a phase with fewer than five complete rounds counts completely, and is not judged. What was recorded after the window (an
//! interval or two, and the grace time) is treated as grace time: it is in the percentiles, not in the rates.

use crate::recorded::window::whole_tallies;
use model::steady::SteadyWindow;
use model::{Nanos, PhaseData, Trial};
use std::borrow::Cow;

/// The rounds of a run phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// How long each is.
    pub length: Nanos,
    /// Operations done per second in each complete round.
    pub rates: Vec<f64>,
    /// The first five in a row that are steady, or the last five; `None` with fewer.
    pub window: Option<SteadyWindow>,
}

impl Rounds {
    /// The rounds of `phase`; `None` if `trial` does not run until steady.
    pub fn from_phase(phase: &PhaseData, trial: &Trial) -> Option<Rounds> {
        let length = trial.phases.round()?;
        let whole = whole_tallies(phase, trial.phases.interval);
        // The recorded intervals may be longer than planned: a round is as many of them as fit.
        let intervals = (length.0 / whole.first().map_or(trial.phases.interval, |tally| tally.length).0.max(1)).max(1);
        let rounds = whole.chunks_exact(intervals as usize);
        let ok = rounds.map(|round| round.iter().fold(0u64, |sum, tally| sum.saturating_add(tally.ok)));
        let rates: Vec<f64> = ok.map(|ok| ok as f64 / length.as_secs_f64()).collect();
        let window = SteadyWindow::first_steady(&rates).or_else(|| SteadyWindow::last(&rates));
        Some(Rounds { length, rates, window })
    }

    /// The window, if it is steady.
    pub fn steady_window(&self) -> Option<SteadyWindow> {
        self.window.filter(SteadyWindow::is_steady)
    }

    /// The rates of the window.
    pub fn window_rates(&self) -> &[f64] {
        self.window.map_or(&[], |window| &self.rates[window.first_round() - 1..window.round])
    }

    /// `phase` cut to what counts.
    pub fn cut_phase<'a>(&self, phase: &'a PhaseData) -> Cow<'a, PhaseData> {
        let Some(window) = self.window else { return Cow::Borrowed(phase) };
        let [start, end] = [window.first_round() - 1, window.round]
            .map(|rounds| phase.start + Nanos(self.length.0.saturating_mul(rounds as u64)));
        // Only the beginning is cut off: intervals after the end are kept as grace time.
        let intervals = phase.intervals.iter().filter(|interval| interval.start >= start).cloned().collect();
        Cow::Owned(PhaseData { start, end, intervals, ..*phase })
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::not_steady::UnsteadyRounds;
    use crate::findings::steady::SteadyRounds;
    use crate::simulated::{Random, SECOND, Simulation};
    use crate::{Severity, Span, Validity};
    use model::{PointState, Tick, Times};

    /// Rounds of two seconds whose seconds have these counts, recorded for a second more as the load does.
    fn simulated(counts: &[u64]) -> Simulation {
        Simulation::counts(counts).until_steady(2)
    }

    /// A disk at `before` until `shift`, at `after` from then on, with two percent of noise; measured as long as it takes.
    fn shifting(before: f64, shift: usize, after: f64, seconds: usize) -> Simulation {
        let mut random = Random::new(11);
        let level = |second| if second < shift { before } else { after };
        let counts: Vec<u64> =
            (0..seconds).map(|second| (level(second) * (1.0 + 0.02 * random.normal())) as u64).collect();
        simulated(&counts)
    }

    #[test]
    fn a_disk_that_is_level_counts_from_its_first_round() {
        let point = simulated(&[100; 11]).analysis().points.remove(0);
        let rounds = point.rounds.expect("it goes by rounds");
        assert_eq!((rounds.rates.len(), rounds.steady_window().map(|window| window.round)), (5, Some(5)));
        let summary = point.summary.expect("it ran");
        assert_eq!((summary.seconds, summary.ops, summary.ops_per_s), (10.0, 1000, 100.0));
        assert_eq!(point.series.expect("it ran").counted, Span { from_s: 0.0, to_s: 10.0 });
    }

    #[test]
    fn after_a_level_shift_only_the_window_behind_it_counts() {
        // 3800 to second 6, 3000 behind it: rounds 4 to 8 are the first five at one level.
        let simulation = shifting(3800.0, 6, 3000.0, 17);
        let point = simulation.analysis().points.remove(0);
        let window = point.rounds.as_ref().and_then(|rounds| rounds.steady_window()).expect("it settles");
        assert_eq!((window.first_round(), window.round), (4, 8));
        let summary = point.summary.expect("it ran");
        assert!((summary.ops_per_s / 3000.0 - 1.0).abs() < 0.02, "{}", summary.ops_per_s);
        let [low, high] = summary.ops_per_s_ci95.expect("ten intervals");
        assert!(high - low < 120.0, "the level before is not in the spread: {low} {high}");
        let series = point.series.expect("it ran");
        assert_eq!((series.intervals.len(), series.counted), (17, Span { from_s: 6.0, to_s: 16.0 }));
    }

    #[test]
    fn a_point_that_settled_is_valid_and_says_where() {
        let simulation = shifting(3800.0, 6, 3000.0, 17);
        let finding = simulation.finding("steady");
        assert_eq!(finding.severity, Severity::Note);
        let SteadyRounds { window } = simulation.figures();
        assert_eq!((window.first_round, window.last_round, window.range_max.0), (4, 8, 0.2));
        assert!(simulation.findings("not-steady").is_empty() && simulation.findings("unsteady").is_empty());
        assert_eq!(simulation.analysis().points[0].validity, Validity::Valid);
    }

    #[test]
    fn a_disk_that_falls_all_the_time_is_not_steady_and_its_last_rounds_count() {
        let counts: Vec<u64> = (0..20).map(|second| (5000.0 * 0.93f64.powi(second)) as u64).collect();
        let simulation = simulated(&counts);
        let finding = simulation.finding("not-steady");
        assert_eq!(finding.severity, Severity::Warning);
        let found: UnsteadyRounds = simulation.figures();
        assert!(found.rounds == 10 && found.window.is_some_and(|window| window.slope_share.0 < -0.1));
        assert!(simulation.findings("steady").is_empty());
        assert!(simulation.findings("unsteady").iter().all(|finding| finding.severity == Severity::Note));
        let point = simulation.analysis().points.remove(0);
        assert_eq!(point.series.expect("it ran").counted, Span { from_s: 10.0, to_s: 20.0 });
        assert_eq!(point.validity, Validity::Indicative);
    }

    #[test]
    fn a_run_that_was_ended_before_five_rounds_is_judged_by_nobody_and_all_of_it_counts() {
        let simulation = simulated(&[100; 9]).with(|point| point.state = PointState::Partial);
        let found: UnsteadyRounds = simulation.figures();
        assert_eq!((found.rounds, found.rounds_min, found.window), (4, 5, None));
        assert_eq!(simulation.analysis().points[0].summary.as_ref().map(|summary| summary.ops), Some(900));
    }

    #[test]
    fn operations_of_the_rounds_before_are_in_no_percentile_and_those_behind_the_window_are() {
        let mut simulation = simulated(&[vec![400; 4], vec![100; 10], vec![99]].concat());
        let slow_at = |simulation: &mut Simulation, index: usize, ns: u64| {
            let kind = &mut simulation.recorded.phases[0].intervals[index].kinds[0];
            let mut times = Times::default();
            times.record_n(ns, 1);
            kind.response.add(&times);
            kind.service.add(&times);
            kind.ok += 1;
        };
        slow_at(&mut simulation, 3, 9 * SECOND);
        slow_at(&mut simulation, 14, 2 * SECOND);
        let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
        let max = summary.response_ns.expect("it ran").max;
        assert!((2 * SECOND..3 * SECOND).contains(&max), "{max}");
        assert_eq!(summary.ops, 1000);
    }

    #[test]
    fn a_stall_before_the_window_is_not_in_the_numbers_and_one_in_it_is() {
        let with_stall = |at: usize| {
            let mut counts = [vec![900; 6], vec![300; 13]].concat();
            counts[at] = 0;
            let found = simulated(&counts).analysis().points.remove(0);
            let stalls = found.shape.expect("it ran").stalls;
            stalls.into_iter().map(|stall| stall.span).collect::<Vec<_>>()
        };
        assert_eq!(with_stall(2), []);
        // A second of ten without operations is a range far beyond 20 %: the last rounds are what counts.
        assert_eq!(with_stall(15), [Span { from_s: 15.0, to_s: 16.0 }]);
    }

    #[test]
    fn counters_are_those_of_the_window() {
        let values =
            |second: f64| vec![if second < 6.0 { 1e6 * second } else { 6e6 + 4096.0 * 100.0 * (second - 6.0) }];
        let counts = [vec![200; 6], vec![100; 11]].concat();
        let simulation = Simulation::counts(&counts).source("process", &["write_bytes"], values).until_steady(2);
        let summary = simulation.analysis().points.remove(0).summary.expect("it ran");
        assert_eq!(summary.cost.per_op.written_bytes, Some(4096.0));
    }

    #[test]
    fn noise_around_a_level_is_steady_at_once() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let counts: Vec<u64> = (0..11).map(|_| random.poisson(2000.0)).collect();
            let rounds = simulated(&counts).analysis().points.remove(0).rounds.expect("it goes by rounds");
            assert_eq!(rounds.steady_window().map(|window| window.round), Some(5), "seed {seed}: {:?}", rounds.window);
        }
    }

    #[test]
    fn rounds_that_nobody_recorded_at_the_end_are_rounds_without_operations() {
        let silent = simulated(&[100; 6]).with(|point| point.phases[0].end = Tick(12 * SECOND));
        let rounds = silent.analysis().points.remove(0).rounds.expect("it goes by rounds");
        assert_eq!(rounds.rates, [100.0, 100.0, 100.0, 0.0, 0.0, 0.0]);
        assert!(rounds.steady_window().is_none());
    }
}
