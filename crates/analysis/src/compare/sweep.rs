//! Two arms over a sweep: the ratios of places that differ in clients or depth only, as one statement.
//!
//! In: a [`RunComparison`]. Out: [`ComparedSweep`]s, each with stretches of neighbouring places at which the same was found. Steps that are
//! timed as a whole have no rate and are in none.

use super::{MetricRatio, PlaceComparison, RunComparison};
use crate::math::ratio::RatioVerdict;
use crate::recorded::dimensions::{Role, Setting, SettingValue};

/// Places that differ in clients or depth only.
#[derive(Debug)]
pub struct ComparedSweep<'a> {
    /// What they have in common.
    pub common: Vec<Setting>,
    /// In what they differ: [`Role::Clients`] or [`Role::Depth`].
    pub over: Role,
    /// Its values, ascending, each with its place and the ratio of the rates there.
    pub places: Vec<(u32, &'a PlaceComparison, &'a MetricRatio)>,
}

/// Neighbouring places of a sweep with the same verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepStretch {
    /// What was found at each of them.
    pub verdict: RatioVerdict,
    /// The values of the first and the last place.
    pub from_to: [u32; 2],
    /// How many places it has.
    pub places: usize,
    /// The least and the greatest ratio.
    pub ratios: [f64; 2],
    /// What holds the intervals of all ratios; `None` if one has none.
    pub ci95: Option<[f64; 2]>,
    /// Whether one ratio would do for all places: each is within the intervals of all others.
    pub is_alike: bool,
    /// The least pairs of repeats of a place.
    pub pairs: usize,
}

impl RunComparison {
    /// The sweeps among its places, in the order of their first places. A place alone is none.
    pub fn sweeps(&self) -> Vec<ComparedSweep<'_>> {
        let mut all: Vec<ComparedSweep> = Vec::new();
        for place in &self.places {
            let rate = place.metrics.iter().find(|metric| metric.metric.is_rate());
            let own = place.label.as_slice();
            let load = own.iter().find(|setting| matches!(setting.role, Role::Clients | Role::Depth));
            let (Some(rate), Some(Setting { role, value: SettingValue::Count(at), .. })) = (rate, load) else {
                continue;
            };
            let common: Vec<Setting> = place.label.iter().filter(|setting| setting.role != *role).cloned().collect();
            match all.iter_mut().find(|sweep| sweep.over == *role && sweep.common == common) {
                Some(sweep) => sweep.places.push((*at, place, rate)),
                None => all.push(ComparedSweep { common, over: *role, places: vec![(*at, place, rate)] }),
            }
        }
        all.retain(|sweep| sweep.places.len() > 1);
        all.iter_mut().for_each(|sweep| sweep.places.sort_by_key(|(at, ..)| *at));
        all
    }
}

impl ComparedSweep<'_> {
    /// Its stretches, from the least value to the greatest.
    pub fn stretches(&self) -> Vec<SweepStretch> {
        let same = |one: &(u32, &PlaceComparison, &MetricRatio), next: &(u32, &PlaceComparison, &MetricRatio)| {
            one.2.estimate.verdict == next.2.estimate.verdict
        };
        self.places.chunk_by(same).map(stretch).collect()
    }
}

fn stretch(places: &[(u32, &PlaceComparison, &MetricRatio)]) -> SweepStretch {
    let estimates = || places.iter().map(|(.., rate)| rate.estimate);
    let ratios = estimates().fold([f64::MAX, 0.0f64], |[low, high], one| [low.min(one.ratio), high.max(one.ratio)]);
    let intervals: Option<Vec<[f64; 2]>> = estimates().map(|one| one.telling_ci95()).collect();
    let ends = |all: &Vec<[f64; 2]>| {
        all.iter().fold([f64::MAX, 0.0f64], |[low, high], one| [low.min(one[0]), high.max(one[1])])
    };
    let holds_all = |[low, high]: &[f64; 2]| *low <= ratios[0] && ratios[1] <= *high;
    SweepStretch {
        verdict: places[0].2.estimate.verdict,
        from_to: [places[0].0, places[places.len() - 1].0],
        places: places.len(),
        ratios,
        ci95: intervals.as_ref().map(ends),
        is_alike: intervals.is_some_and(|all| all.iter().all(holds_all)),
        pairs: estimates().map(|one| one.n).min().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ComparedRun, compare_runs};
    use crate::simulated::{Simulation, run_of};
    use crate::{Analysis, analyse};
    use model::RunData;

    /// A run whose points have these numbers of clients and these rates, with four repeats each.
    fn run(rates: &[(u32, f64)]) -> RunData {
        let point = |repeat: u32, (clients, rate): (u32, f64)| {
            let noise = 1.0 + [0.0, 0.01, -0.01, 0.005][repeat as usize - 1] * f64::from(clients % 3);
            let simulation = Simulation::counts(&[(rate * noise) as u64; 10]).with(|point| {
                (point.trial.load.clients, point.trial.repeat) = (clients, repeat);
            });
            simulation.point()
        };
        run_of((1..=4).flat_map(|repeat| rates.iter().map(move |one| point(repeat, *one))).collect(), Vec::new())
    }

    fn stretches(base: &[(u32, f64)], new: &[(u32, f64)]) -> Vec<SweepStretch> {
        let runs = [run(base), run(new)];
        let analyses: Vec<Analysis> = runs.iter().map(analyse).collect();
        let compared: Vec<ComparedRun> =
            runs.iter().zip(&analyses).map(|(data, analysis)| ComparedRun { name: "run", data, analysis }).collect();
        let one = compare_runs(&compared).remove(0);
        let sweeps = one.sweeps();
        assert_eq!((sweeps.len(), sweeps[0].over), (1, Role::Clients));
        sweeps[0].stretches()
    }

    #[test]
    fn a_sweep_that_is_faster_everywhere_is_one_stretch_with_its_least_and_greatest_ratio() {
        let found =
            stretches(&[(1, 1_000.0), (4, 1_000.0), (16, 1_000.0)], &[(1, 2_600.0), (4, 5_000.0), (16, 7_400.0)]);
        let [one] = found[..] else { panic!("one stretch: {found:?}") };
        assert_eq!((one.verdict, one.from_to, one.places), (RatioVerdict::Faster, [1, 16], 3));
        assert!((one.ratios[0] - 2.6).abs() < 0.05 && (one.ratios[1] - 7.4).abs() < 0.05 && !one.is_alike, "{one:?}");
    }

    #[test]
    fn a_sweep_whose_arms_part_from_some_clients_on_has_a_stretch_for_each_part() {
        let found =
            stretches(&[(1, 1_000.0), (4, 4_000.0), (16, 8_000.0)], &[(1, 1_000.0), (4, 4_000.0), (16, 4_000.0)]);
        let told: Vec<(RatioVerdict, [u32; 2])> = found.iter().map(|one| (one.verdict, one.from_to)).collect();
        assert_eq!(told, [(RatioVerdict::NoDifferenceShown, [1, 4]), (RatioVerdict::Slower, [16, 16])]);
    }
}
