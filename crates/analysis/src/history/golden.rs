//! Series with a known answer, as dashboards of performance have them: how many of their changes are found, and how many findings are
//! changes.
//!
//! In: seeds. Out: tests. The kinds of series are those that engineers labelled in the data set of Mozilla (arXiv 2606.18377): steps of
//! 2 to 10 %, ramps, outliers, noise of two levels, noise that resembles itself. The series here are simulated, so the answer is exact.

use super::change_points::{P_MAX, change_points};
use super::outliers::outliers;
use crate::simulated::Random;

/// The noise of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quiver {
    White,
    Autoregressive,
    TwoLevels,
    WithOutliers,
}

const QUIVERS: [Quiver; 4] = [Quiver::White, Quiver::Autoregressive, Quiver::TwoLevels, Quiver::WithOutliers];

/// A change that was put into a series: the level moves from `from` to `to`, at once if both are equal.
#[derive(Clone, Copy, Debug)]
struct TrueChange {
    from: usize,
    to: usize,
}

/// A series and its changes.
struct Golden {
    logs: Vec<f64>,
    changes: Vec<TrueChange>,
}

/// A finding so many runs away from a change is still that change.
const NEAR: usize = 2;

impl Golden {
    /// 60 to 100 runs with noise of 0.5 to 1.5 % and up to three changes that are 15 runs or more apart.
    fn new(seed: u64, quiver: Quiver, changes: usize) -> Golden {
        let mut random = Random::new(seed);
        let n = 60 + (random.uniform() * 41.0) as usize;
        let deviation = 0.005 + 0.01 * random.uniform();
        let mut logs = noise(&mut random, n, quiver, deviation);
        let distance = n / (changes + 1);
        let mut put = Vec::new();
        for nth in 1..=changes {
            let at = nth * distance + (random.uniform() * (distance - 14) as f64) as usize - (distance - 14) / 2;
            let size = (0.02 + 0.08 * random.uniform()) * if random.uniform() < 0.5 { 1.0 } else { -1.0 };
            let length = if random.uniform() < 0.2 { 4.0 } else { 0.0 };
            for (index, value) in logs.iter_mut().enumerate().skip(at) {
                *value += f64::ln_1p(size) * ((index - at + 1) as f64 / (length + 1.0)).min(1.0);
            }
            put.push(TrueChange { from: at, to: at + length as usize });
        }
        Golden { logs, changes: put }
    }

    /// What is found: indices of the series as it was made.
    fn found(&self) -> Vec<usize> {
        let cut = outliers(&self.logs);
        let kept: Vec<usize> = (0..self.logs.len()).filter(|index| !cut.contains(index)).collect();
        let logs: Vec<f64> = kept.iter().map(|index| self.logs[*index]).collect();
        change_points(&logs).into_iter().map(|at| kept[at]).collect()
    }

    fn is_at(change: &TrueChange, found: usize) -> bool {
        (change.from.saturating_sub(NEAR)..=change.to + NEAR).contains(&found)
    }

    /// Changes that were found, findings that are a change, findings.
    fn score(&self) -> [usize; 3] {
        let found = self.found();
        let hit = self.changes.iter().filter(|change| found.iter().any(|at| Golden::is_at(change, *at))).count();
        let right = found.iter().filter(|at| self.changes.iter().any(|change| Golden::is_at(change, **at))).count();
        [hit, right, found.len()]
    }
}

fn noise(random: &mut Random, n: usize, quiver: Quiver, deviation: f64) -> Vec<f64> {
    let coefficient = if quiver == Quiver::Autoregressive { 0.4 } else { 0.0 };
    let scale = deviation * f64::sqrt(1.0 - coefficient * coefficient);
    let mut logs: Vec<f64> = random.autoregressive(n, coefficient).iter().map(|value| value * scale).collect();
    for value in &mut logs {
        match quiver {
            Quiver::TwoLevels if random.uniform() < 0.3 => *value += 3.0 * deviation,
            Quiver::WithOutliers if random.uniform() < 0.04 => *value -= 0.1 + 0.3 * random.uniform(),
            _ => {}
        }
    }
    logs
}

/// The least share of true changes that are found and of findings that are true: of each kind 100 series with 199 changes.
const BOUNDS: [(Quiver, f64, f64); 4] = [
    (Quiver::White, 0.96, 0.97),
    (Quiver::Autoregressive, 0.84, 0.91),
    (Quiver::TwoLevels, 0.93, 0.94),
    (Quiver::WithOutliers, 0.89, 0.97),
];

#[test]
fn most_changes_are_found_and_most_findings_are_changes() {
    for (quiver, least_recall, least_precision) in BOUNDS {
        let all: Vec<Golden> = (0..100).map(|seed| Golden::new(seed, quiver, 1 + seed as usize % 3)).collect();
        let true_changes: usize = all.iter().map(|golden| golden.changes.len()).sum();
        let scores: Vec<[usize; 3]> = all.iter().map(Golden::score).collect();
        let [hits, right, found] = [0, 1, 2].map(|part| scores.iter().map(|score| score[part]).sum::<usize>() as f64);
        let (recall, precision) = (hits / true_changes as f64, right / found);
        let is_good = recall >= least_recall && precision >= least_precision;
        assert!(is_good, "{quiver:?}: recall {recall:.3}, precision {precision:.3}");
    }
}

/// The level of the test is that of one place, and a series of n runs has n places.
#[test]
fn quiet_series_have_no_more_false_alarms_than_the_level_of_the_test_allows() {
    for quiver in QUIVERS {
        let quiet: Vec<Golden> = (0..1000).map(|seed| Golden::new(seed + 10_000, quiver, 0)).collect();
        let nominal: f64 = quiet.iter().map(|golden| P_MAX * golden.logs.len() as f64).sum();
        let alarmed = quiet.iter().filter(|golden| !golden.found().is_empty()).count();
        assert!(alarmed as f64 <= nominal, "{quiver:?}: {alarmed} of 1000 series, {nominal} allowed");
    }
}

/// A level that lasts as long as a window, in a series of several windows.
#[test]
fn changes_are_found_across_windows() {
    let level = |index: usize| if (80..150).contains(&index) { 0.05 } else { 0.0 };
    let noise = Random::new(4).autoregressive(200, 0.0);
    let logs: Vec<f64> = noise.iter().enumerate().map(|(index, noise)| level(index) + 0.01 * noise).collect();
    assert_eq!(change_points(&logs), [80, 150]);
}
