//! Whether several instances carry more than one: the best rate of each number of instances against that of the fewest.
//!
//! In: the points of a run that differ in the number of instances. Out: an [`InstanceGain`] for each number but the fewest, of each group.
//! Limits: `clients` are per instance, so more instances have more clients, too. You can tell the gain of the
//! instances from that of the clients only if the fewest instances were measured with as many clients in all. Rates of open loops are those of their schedule and are
//! in none. Points whose numbers must not be used are left out.

use crate::math::ratio::{Pairing, Preference, RatioEstimate, RepeatValue, hold_false_discoveries};
use crate::math::repeats::combine_plain;
use crate::points::sweep::is_comparable;
use crate::recorded::dimensions::{Role, Setting};
use crate::{PointAnalysis, SettingValue};
use serde::Serialize;
use std::collections::BTreeMap;

/// What so many instances carry, against fewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstanceGain {
    /// What distinguishes the group from others, apart from the number of instances.
    pub label: Vec<Setting>,
    /// The fewest instances that were measured.
    pub base: InstanceStep,
    pub more: InstanceStep,
    /// The rate of `more` over that of `base`.
    pub ratio: RatioEstimate,
    /// Whether the fewest were measured with as many clients in all as `more` have, or with more.
    pub has_equal_clients: bool,
}

/// The number of clients at which so many instances together did the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InstanceStep {
    pub instances: u32,
    /// The clients of each.
    pub clients: u32,
    /// Operations per second of all together: the mean of the repeats.
    pub ops_per_s: f64,
}

/// The points of one group by their number of instances and of clients.
type Steps<'a> = BTreeMap<(u32, u32), Vec<&'a PointAnalysis>>;

/// The gains of all groups of `points`, in the order of the run.
pub fn instance_gains(points: &[PointAnalysis]) -> Vec<InstanceGain> {
    let mut groups: Vec<(Vec<Setting>, Steps)> = Vec::new();
    for point in points.iter().filter(|point| has_own_rate(point)) {
        let Some(instances) = instances_of(point) else { continue };
        let label: Vec<Setting> =
            point.label.group.iter().filter(|setting| setting.role != Role::Instances).cloned().collect();
        let place = groups.iter().position(|(known, _)| *known == label).unwrap_or_else(|| {
            groups.push((label, Steps::new()));
            groups.len() - 1
        });
        groups[place].1.entry((instances, point.clients)).or_default().push(point);
    }
    let mut gains: Vec<InstanceGain> = groups.iter().flat_map(|(label, steps)| gains_of(label, steps)).collect();
    hold_false_discoveries(&mut gains.iter_mut().map(|gain| &mut gain.ratio).collect::<Vec<_>>());
    gains
}

/// Whether its rate may be used and is the engine's own.
fn has_own_rate(point: &PointAnalysis) -> bool {
    let is_closed = point.summary.as_ref().is_some_and(|summary| summary.offered_per_s.is_none());
    is_closed && is_comparable(point) && point.duration_s().is_none()
}

fn instances_of(point: &PointAnalysis) -> Option<u32> {
    let setting = point.settings.used().find(|setting| setting.role == Role::Instances)?;
    match setting.value {
        SettingValue::Count(count) => Some(count),
        _ => None,
    }
}

fn gains_of(label: &[Setting], steps: &Steps) -> Vec<InstanceGain> {
    let mut best: BTreeMap<u32, InstanceStep> = BTreeMap::new();
    for ((instances, clients), points) in steps {
        let Some(ops_per_s) = combine_plain(points.iter().filter_map(|point| rate(point))) else { continue };
        let step = InstanceStep { instances: *instances, clients: *clients, ops_per_s };
        let known = best.entry(*instances).or_insert(step);
        if ops_per_s > known.ops_per_s {
            *known = step;
        }
    }
    let mut best = best.into_values();
    let Some(base) = best.next() else { return Vec::new() };
    let of_base = steps.range((base.instances, 0)..=(base.instances, u32::MAX));
    let most_clients = of_base.map(|((_, clients), _)| clients * base.instances).max().unwrap_or(0);
    let gain = |more: InstanceStep| {
        let values = |step: InstanceStep| values_of(&steps[&(step.instances, step.clients)]);
        let pairs = Pairing::adjacent(&values(base), &values(more)).pairs;
        Some(InstanceGain {
            label: label.to_vec(),
            base,
            more,
            ratio: RatioEstimate::from_pairs(&pairs, Preference::More)?,
            has_equal_clients: most_clients >= more.clients * more.instances,
        })
    };
    best.filter_map(gain).collect()
}

fn rate(point: &PointAnalysis) -> Option<f64> {
    Some(point.summary.as_ref()?.ops_per_s)
}

fn values_of(points: &[&PointAnalysis]) -> Vec<RepeatValue> {
    points.iter().filter_map(|point| Some(RepeatValue { place: point.id, value: rate(point)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, run_of};
    use crate::{RatioVerdict, analyse};

    /// Runs of ten seconds: for each of `places` (instances, clients of each, rate of all together) so many `repeats`, with 1 % noise.
    fn gains(places: &[(u32, u32, f64)], repeats: u32) -> Vec<InstanceGain> {
        let mut random = Random::new(3);
        let mut points = Vec::new();
        for repeat in 1..=repeats {
            for (instances, clients, rate) in places {
                let count = (rate * (1.0 + 0.01 * random.normal())).round() as u64;
                points.push(
                    Simulation::counts(&[count; 10])
                        .with(|point| {
                            (point.trial.target.instances, point.trial.load.clients) = (*instances, *clients);
                            point.trial.repeat = repeat;
                        })
                        .point(),
                );
            }
        }
        (1..).zip(&mut points).for_each(|(id, point)| point.id = id);
        instance_gains(&analyse(&run_of(points, Vec::new())).points)
    }

    #[test]
    fn four_instances_that_carry_three_times_as_much_are_found_with_an_interval() {
        let found = gains(&[(1, 4, 1000.0), (4, 4, 3000.0), (1, 16, 990.0)], 6);
        let [gain] = &found[..] else { panic!("{found:?}") };
        assert_eq!((gain.base.instances, gain.more.instances, gain.has_equal_clients), (1, 4, true));
        assert_eq!(gain.ratio.verdict, RatioVerdict::Faster);
        let [low, high] = gain.ratio.ci95.expect("six pairs");
        assert!(low < 3.02 && high > 2.98 && high - low < 0.2, "{low} {high}");
    }

    #[test]
    fn instances_that_gain_nothing_show_no_difference() {
        let found = gains(&[(1, 4, 1000.0), (2, 4, 1000.0), (1, 8, 1000.0)], 6);
        assert_eq!(found[0].ratio.verdict, RatioVerdict::NoDifferenceShown);
    }

    #[test]
    fn the_best_of_one_instance_is_at_the_number_of_clients_where_it_does_most() {
        let found = gains(&[(1, 1, 500.0), (1, 4, 2000.0), (4, 1, 2000.0)], 6);
        assert_eq!((found[0].base.clients, found[0].more.clients), (4, 1));
        assert_eq!(found[0].ratio.verdict, RatioVerdict::NoDifferenceShown, "the clients gained, not the instances");
    }

    #[test]
    fn without_as_many_clients_on_one_instance_it_is_said() {
        assert!(!gains(&[(1, 4, 1000.0), (4, 4, 3000.0)], 6)[0].has_equal_clients);
    }

    #[test]
    fn a_run_with_one_number_of_instances_has_no_gain() {
        assert!(gains(&[(4, 1, 500.0), (4, 4, 900.0)], 4).is_empty());
    }
}
