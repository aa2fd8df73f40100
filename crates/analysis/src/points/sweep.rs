//! The points of one group as a line over clients or depth: repeats together, best step, knee.
//!
//! In: analysed points. Out: a [`Sweep`] per group, in the order of the run, without its invalid points, and without those that were cut short
//! unless all were.
//! Limits: a knee is a measured step and not interpolated, so few steps give a coarse knee.

use crate::math::repeats::{MeanOfRepeats, combine_looked_at, half_width_share};
use crate::point::errors_of_mean;
use crate::points::merge_times;
use crate::recorded::dimensions::Setting;
use crate::{PointAnalysis, Summary, Validity};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// From which share of the best rate on more clients or depth hardly gain anything.
const KNEE_SHARE: f64 = 0.9;

/// The usable points of one group.
pub struct Sweep<'a> {
    /// The number of the group.
    pub group: usize,
    /// What distinguishes the group.
    pub label: &'a [Setting],
    pub workload: &'a str,
    /// Its steps by clients * depth; at least one.
    pub steps: Vec<SweepStep<'a>>,
    /// What varies between the steps.
    pub axis: ScalingAxis,
}

/// What varies within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingAxis {
    /// Nothing: a single step.
    None,
    /// The number of clients.
    Clients,
    Depth,
    Both,
}

/// A step's place in its sweep, by what varies there; empty if nothing does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepPlace {
    /// The number of clients, if it varies.
    pub clients: Option<u32>,
    /// The depth, if it varies.
    pub depth: Option<u32>,
}

/// The repeats of one point, together.
pub struct SweepStep<'a> {
    pub clients: u32,
    /// Operations that one client kept in flight.
    pub depth: u32,
    /// The repeats; at least one.
    pub points: Vec<&'a PointAnalysis>,
}

/// The groups of `points` that have a usable result, in the order in which they were measured.
pub fn sweeps(points: &[PointAnalysis]) -> Vec<Sweep<'_>> {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<Vec<&PointAnalysis>> = Vec::new();
    for point in points.iter().filter(|point| is_usable(point)) {
        let place = *places.entry(point.group).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(point);
    }
    groups.into_iter().map(|own| Sweep::from_points(comparable_or_all(own))).collect()
}

/// Whether the numbers of `point` may be used.
pub fn is_usable(point: &PointAnalysis) -> bool {
    point.validity != Validity::Invalid && point.summary.is_some()
}

/// Whether the numbers of `point` are those of all of its work on all of its data, and may be used.
pub fn is_whole(point: &PointAnalysis) -> bool {
    is_usable(point) && point.work_done.is_whole()
}

/// Whether the numbers of `point` may be compared with those of others: they are whole, and there was work to do.
pub fn is_comparable(point: &PointAnalysis) -> bool {
    is_whole(point) && !point.had_nothing_to_do()
}

/// Those of `points` that may be compared; all of them if none may.
fn comparable_or_all(points: Vec<&PointAnalysis>) -> Vec<&PointAnalysis> {
    let comparable: Vec<&PointAnalysis> = points.iter().copied().filter(|point| is_comparable(point)).collect();
    if comparable.is_empty() { points } else { comparable }
}

impl<'a> Sweep<'a> {
    /// The sweep of `points`, all of one group; at least one.
    pub(crate) fn from_points(points: Vec<&'a PointAnalysis>) -> Sweep<'a> {
        let first = points[0];
        let mut steps: BTreeMap<(u64, u32, u32), Vec<&PointAnalysis>> = BTreeMap::new();
        for point in points {
            // Sorted by the operations in flight, so that clients and depth can vary together.
            let in_flight = u64::from(point.clients) * u64::from(point.depth);
            steps.entry((in_flight, point.clients, point.depth)).or_default().push(point);
        }
        let steps = steps.into_iter().map(|((_, clients, depth), points)| SweepStep { clients, depth, points });
        let steps: Vec<SweepStep> = steps.collect();
        let axis = find_axis(&steps);
        Sweep { group: first.group, label: &first.label.group, workload: &first.workload, steps, axis }
    }

    /// The step with the highest rate.
    pub fn best(&self) -> &SweepStep<'a> {
        let best = self.steps.iter().max_by(|a, b| a.ops_per_s().total_cmp(&b.ops_per_s()));
        best.expect("a sweep has at least one step")
    }

    /// The first step that reaches 90 % of the best rate.
    pub fn knee(&self) -> &SweepStep<'a> {
        let enough = KNEE_SHARE * self.best().ops_per_s();
        self.steps.iter().find(|step| step.ops_per_s() >= enough).expect("the best step reaches its own rate")
    }

    pub fn last(&self) -> &SweepStep<'a> {
        self.steps.last().expect("a sweep has at least one step")
    }

    /// Whether the last step is faster than each before it by more than the 95 % intervals of both allow; not without intervals.
    pub fn is_rise_shown(&self) -> bool {
        let Some((last, before)) = self.steps.split_last() else { return false };
        let fastest = before.iter().max_by(|a, b| a.ops_per_s().total_cmp(&b.ops_per_s()));
        fastest.is_some_and(|fastest| {
            let noise = fastest.half_width_per_s().zip(last.half_width_per_s()).map(|(a, b)| a.hypot(b));
            noise.is_some_and(|noise| last.ops_per_s() - fastest.ops_per_s() > noise)
        })
    }

    /// The place of `step` in the sweep.
    pub fn place(&self, step: &SweepStep) -> StepPlace {
        let clients = matches!(self.axis, ScalingAxis::Clients | ScalingAxis::Both).then_some(step.clients);
        let depth = matches!(self.axis, ScalingAxis::Depth | ScalingAxis::Both).then_some(step.depth);
        StepPlace { clients, depth }
    }
}

fn find_axis(steps: &[SweepStep]) -> ScalingAxis {
    let first = &steps[0];
    let clients_vary = steps.iter().any(|step| step.clients != first.clients);
    let depth_varies = steps.iter().any(|step| step.depth != first.depth);
    match (clients_vary, depth_varies) {
        (false, false) => ScalingAxis::None,
        (true, false) => ScalingAxis::Clients,
        (false, true) => ScalingAxis::Depth,
        (true, true) => ScalingAxis::Both,
    }
}

impl SweepStep<'_> {
    /// The mean rate of the repeats.
    pub fn ops_per_s(&self) -> f64 {
        self.estimate(|summary| Some((summary.ops_per_s, summary.ops_per_s_ci95))).map_or(0.0, |rate| rate.mean)
    }

    /// Half the width of the 95 % interval of that; `None` without an interval.
    pub(crate) fn half_width_per_s(&self) -> Option<f64> {
        let rate = self.estimate(|summary| Some((summary.ops_per_s, summary.ops_per_s_ci95)))?;
        Some(half_width_share((rate.mean, rate.ci95))? * rate.mean)
    }

    /// The repeats' mean of what `value` takes from a summary, with its interval; `None` if no repeat has it.
    pub fn estimate(&self, value: impl Fn(&Summary) -> Option<(f64, Option<[f64; 2]>)>) -> Option<MeanOfRepeats> {
        let values = self.points.iter().filter_map(|point| value(point.summary.as_ref()?));
        combine_looked_at(values, errors_of_mean(&self.points))
    }

    /// The 99th percentile of the response times of all repeats together.
    pub fn p99_ns(&self) -> Option<u64> {
        self.response_ns(0.99)
    }

    /// The response time that the share `quantile` of the operations of all repeats kept to.
    pub fn response_ns(&self, quantile: f64) -> Option<u64> {
        let all = merge_times(&self.points, |series| &series.response);
        (!all.is_empty()).then(|| all.value_at_quantile(quantile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, run_of};

    /// A sweep over clients with these rates.
    fn points(rates: &[(u32, u64)]) -> Vec<PointAnalysis> {
        let point = |(clients, rate): &(u32, u64)| {
            Simulation::counts(&[*rate; 10]).with(|point| {
                point.trial.load.clients = *clients;
                point.trial.load.pacing = model::Pacing::Closed { think: model::Nanos(1) };
            })
        };
        analyse(&run_of(rates.iter().map(|rate| point(rate).point()).collect(), Vec::new())).points
    }

    #[test]
    fn the_knee_is_the_first_step_with_90_percent_of_the_best() {
        let points = points(&[(1, 2000), (4, 5000), (16, 5200), (64, 4900)]);
        let sweeps = sweeps(&points);
        let [sweep] = sweeps.as_slice() else { panic!("one group") };
        assert_eq!((sweep.knee().clients, sweep.best().clients, sweep.last().clients), (4, 16, 64));
        let place = StepPlace { clients: Some(4), depth: None };
        assert_eq!((sweep.axis, sweep.place(sweep.knee())), (ScalingAxis::Clients, place));
    }

    #[test]
    fn repeats_make_one_step_with_their_mean_rate() {
        let points = points(&[(4, 5000), (4, 6000)]);
        let sweeps = sweeps(&points);
        assert_eq!(
            (sweeps[0].steps.len(), sweeps[0].axis, sweeps[0].best().ops_per_s()),
            (1, ScalingAxis::None, 5500.0)
        );
    }

    #[test]
    fn invalid_points_are_left_out() {
        let mut points = points(&[(1, 2000), (4, 5000)]);
        points[1].validity = Validity::Invalid;
        assert_eq!(sweeps(&points)[0].best().clients, 1);
    }
}
