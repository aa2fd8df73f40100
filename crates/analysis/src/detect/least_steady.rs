//! Finds the steps of a sweep that ran clearly less steadily than the others.
//!
//! In: the points of each sweep over clients or depth. Out: a note with how much the rate of each step varies.
//! Limits: those of [`crate::step_steadiness`]: needs three steps, and 16 intervals in each.

use super::detector::RunDetector;
use crate::finding::{Code, NextStep, Subject};
use crate::points::step_steadiness::least_steady;
use crate::points::sweep::sweeps;
use crate::{Finding, PointAnalysis, Severity};
use model::Plan;

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::LeastSteady, detect };

fn detect(points: &[PointAnalysis], _: &Plan) -> Vec<Finding> {
    let sweeps = sweeps(points);
    let found = sweeps.iter().filter_map(|sweep| Some((sweep.group, least_steady(sweep)?)));
    let finding = |(group, detail)| Finding::new(Severity::Note, detail).about(Subject::Sweep(group));
    found.map(finding).map(|finding| finding.next(NextStep::CompareTimelines)).collect()
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::finding::steadiness::LeastSteady;
    use crate::simulated::{Random, Simulation, figures_of, run_of};

    /// A minute each of these numbers of clients, with this standard deviation as a share of the rate.
    fn found(steps: &[(u32, f64)], mean: f64, random: &mut Random) -> Option<LeastSteady> {
        let mut point = |(clients, share): &(u32, f64)| {
            // The values of such a process have 1.155 times the deviation of its innovations.
            let noise = random.autoregressive(60, 0.5);
            let counts: Vec<u64> =
                noise.iter().map(|value| (mean * (1.0 + share / 1.155 * value)).max(1.0) as u64).collect();
            Simulation::counts(&counts).with(|point| point.trial.load.clients = *clients).point()
        };
        figures_of(&analyse(&run_of(steps.iter().map(&mut point).collect(), Vec::new())).findings).pop()
    }

    fn clients_of(found: &LeastSteady) -> Vec<Option<u32>> {
        found.least_steady.iter().map(|step| step.place.clients).collect()
    }

    #[test]
    fn the_least_steady_step_is_named_with_how_much_it_varies() {
        let one = found(&[(1, 0.03), (4, 0.20), (8, 0.04), (32, 0.03)], 5_000.0, &mut Random::new(1));
        let one = one.expect("4 clients vary more");
        assert_eq!((clients_of(&one), one.others.len()), (vec![Some(4)], 3));
        assert!((0.12..0.28).contains(&one.least_steady[0].variation.mean), "{one:?}");
        assert!((4.0..8.0).contains(&one.least_steady[0].consistency()), "{one:?}");
    }

    #[test]
    fn several_steps_that_are_less_steady_than_most_are_named_together() {
        let steps = [(1, 0.02), (2, 0.02), (4, 0.20), (8, 0.18), (16, 0.02), (32, 0.02)];
        let one = found(&steps, 5_000.0, &mut Random::new(3)).expect("4 and 8 clients vary more");
        let mut named = clients_of(&one);
        named.sort();
        assert_eq!(named, [Some(4), Some(8)]);
    }

    #[test]
    fn in_steps_that_are_alike_one_of_100_sweeps_shows_one_at_most() {
        let alike = [(1, 0.05), (4, 0.05), (8, 0.05), (16, 0.05), (32, 0.05)];
        for share in [0.05, 0.10] {
            let steps = alike.map(|(clients, _)| (clients, share));
            let wrong = (0..200).filter(|seed| found(&steps, 5_000.0, &mut Random::new(*seed)).is_some()).count();
            assert!(wrong <= 2, "{share}: {wrong} of 200");
        }
    }

    #[test]
    fn few_operations_and_two_steps_show_nothing() {
        let mut random = Random::new(1);
        let counts = |mean: f64, random: &mut Random| -> Vec<u64> { (0..60).map(|_| random.poisson(mean)).collect() };
        let mut point = |clients: u32, mean: f64| {
            Simulation::counts(&counts(mean, &mut random)).with(|point| point.trial.load.clients = clients).point()
        };
        let poisson = vec![point(1, 20.0), point(4, 400.0), point(8, 800.0), point(16, 1_600.0)];
        let analysis = analyse(&run_of(poisson, Vec::new()));
        assert!(figures_of::<LeastSteady>(&analysis.findings).is_empty());
        assert_eq!(found(&[(1, 0.03), (4, 0.30)], 5_000.0, &mut Random::new(1)), None);
    }
}
