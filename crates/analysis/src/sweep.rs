//! The points of one group as a line over clients or depth: repeats together, best step, knee.
//!
//! In: analysed points. Out: a [`Sweep`] per group, in the order of the run. Invalid points are left out.
//! Limits: a knee is a measured step, not a fit between steps; with few steps it is coarse.

use crate::{PointAnalysis, Validity};
use model::histogram::new_hdr;

/// From which share of the best rate on more clients or depth hardly pay.
const KNEE_SHARE: f64 = 0.9;

/// The valid points of one group.
pub struct Sweep<'a> {
    /// The group's label.
    pub group: &'a str,
    /// Its workload.
    pub workload: &'a str,
    /// Its steps by clients * depth.
    pub steps: Vec<Step<'a>>,
    /// What varies between the steps.
    pub axis: Axis,
}

/// What varies within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Nothing: a single step.
    None,
    /// The number of clients.
    Clients,
    /// The depth.
    Depth,
    /// Both.
    Both,
}

/// The repeats of one point, together.
pub struct Step<'a> {
    /// Clients.
    pub clients: u32,
    /// Operations that one client kept under way.
    pub depth: u32,
    /// The repeats.
    pub points: Vec<&'a PointAnalysis>,
}

/// The groups of `points` that have a valid result, in the order in which they were measured.
pub fn sweeps(points: &[PointAnalysis]) -> Vec<Sweep<'_>> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for point in points.iter().filter(|point| point.validity != Validity::Invalid && point.summary.is_some()) {
        match sweeps.iter_mut().find(|sweep| sweep.group == point.group) {
            Some(sweep) => sweep.add(point),
            None => {
                let (group, workload) = (point.group.as_str(), point.workload.as_str());
                let mut sweep = Sweep { group, workload, steps: Vec::new(), axis: Axis::None };
                sweep.add(point);
                sweeps.push(sweep);
            }
        }
    }
    sweeps
}

impl<'a> Sweep<'a> {
    fn add(&mut self, point: &'a PointAnalysis) {
        match self.steps.iter_mut().find(|step| (step.clients, step.depth) == (point.clients, point.depth)) {
            Some(step) => step.points.push(point),
            None => self.steps.push(Step { clients: point.clients, depth: point.depth, points: vec![point] }),
        }
        self.steps.sort_by_key(|step| (u64::from(step.clients) * u64::from(step.depth), step.clients));
        let first = &self.steps[0];
        let clients_vary = self.steps.iter().any(|step| step.clients != first.clients);
        let depth_varies = self.steps.iter().any(|step| step.depth != first.depth);
        self.axis = match (clients_vary, depth_varies) {
            (false, false) => Axis::None,
            (true, false) => Axis::Clients,
            (false, true) => Axis::Depth,
            (true, true) => Axis::Both,
        };
    }

    /// The step with the highest rate.
    pub fn best(&self) -> &Step<'a> {
        let higher = |a: &&Step, b: &&Step| a.ops_per_s().total_cmp(&b.ops_per_s());
        self.steps.iter().max_by(higher).expect("a sweep has at least one step")
    }

    /// The first step that reaches 90 % of the best rate.
    pub fn knee(&self) -> &Step<'a> {
        let enough = KNEE_SHARE * self.best().ops_per_s();
        self.steps.iter().find(|step| step.ops_per_s() >= enough).expect("the best step reaches its own rate")
    }

    /// The last step.
    pub fn last(&self) -> &Step<'a> {
        self.steps.last().expect("a sweep has at least one step")
    }

    /// The place of `step` on the axis: `depth 8`, `4 clients`; empty where nothing varies.
    pub fn place(&self, step: &Step) -> String {
        let clients = || match step.clients {
            1 => "1 client".to_string(),
            n => format!("{n} clients"),
        };
        match self.axis {
            Axis::None => String::new(),
            Axis::Clients => clients(),
            Axis::Depth => format!("depth {}", step.depth),
            Axis::Both => format!("{} depth {}", clients(), step.depth),
        }
    }
}

impl Step<'_> {
    /// The mean rate of the repeats.
    pub fn ops_per_s(&self) -> f64 {
        self.mean(|summary| summary.ops_per_s)
    }

    /// The mean payload per second of the repeats.
    pub fn bytes_per_s(&self) -> f64 {
        self.mean(|summary| summary.bytes_per_s)
    }

    /// The mean rate of queries of the repeats.
    pub fn queries_per_s(&self) -> f64 {
        self.mean(|summary| summary.queries_per_s)
    }

    /// The mean rate of inserted rows of the repeats; 0 where none is inserted.
    pub fn rows_per_s(&self) -> f64 {
        self.mean(|summary| summary.rows_per_s.unwrap_or(0.0))
    }

    /// The 99th percentile of the response times of all repeats together.
    pub fn p99_ns(&self) -> Option<u64> {
        let mut all = new_hdr();
        for series in self.points.iter().filter_map(|point| point.series.as_ref()) {
            all.add(&series.response).expect("an auto-resizing histogram takes every value");
        }
        (!all.is_empty()).then(|| all.value_at_quantile(0.99))
    }

    fn mean(&self, of: impl Fn(&crate::Summary) -> f64) -> f64 {
        let values: Vec<f64> = self.points.iter().filter_map(|point| point.summary.as_ref()).map(of).collect();
        crate::stats::mean(&values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Simulation, run_of};

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
        assert_eq!((sweep.axis, sweep.place(sweep.knee())), (Axis::Clients, "4 clients".to_string()));
    }

    #[test]
    fn repeats_make_one_step_with_their_mean_rate() {
        let points = points(&[(4, 5000), (4, 6000)]);
        let sweeps = sweeps(&points);
        assert_eq!((sweeps[0].steps.len(), sweeps[0].axis, sweeps[0].best().ops_per_s()), (1, Axis::None, 5500.0));
    }

    #[test]
    fn invalid_points_are_left_out() {
        let mut points = points(&[(1, 2000), (4, 5000)]);
        points[1].validity = Validity::Invalid;
        assert_eq!(sweeps(&points)[0].best().clients, 1);
    }
}
