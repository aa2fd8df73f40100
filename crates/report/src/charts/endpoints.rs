//! Each of several endpoints over time, under the throughput of all: what it did, and what a node of a cluster reports of replication.
//!
//! In: the rates of the endpoints, and the counters of their nodes by role. Out: one figure per point with several endpoints. Limits: the
//! seven first endpoints are drawn, one colour each. A panel whose values are 0 from beginning to end is left out.

use super::axes::time_range;
use super::below::{Below, FIGURES_MAX, panel};
use super::chart::Chart;
use super::counters::{counters, mean_values, middles};
use super::marks::line_in_full;
use analysis::{CounterSeries, EndpointSummary, PointAnalysis};
use model::CounterRole;
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Panel};

pub const CHART: Chart = Chart {
    id: "endpoints",
    title: "Each endpoint, below the throughput",
    help: "What was done on each endpoint. If one is down, its clients use the next one. Of the nodes of a Galera cluster, what replication \
           costs: transactions that conflict with those of another node, time in which replication was held back, write sets that wait. \
           Of the replicas of PostgreSQL, how far they are behind.",
    draw: |_| Vec::new(),
    of_points: Some(&FIGURES),
    #[cfg(test)]
    fixture: crate::testing::with_endpoints,
};

const FIGURES: Below =
    Below { subject: |_| "Each endpoint", panels, note: |_| String::new(), figures_max: FIGURES_MAX };

/// A panel of one counter of each node: its role, its title, its axis, and the factor from the unit of the counter to that of the axis.
type NodePanel = (CounterRole, &'static str, &'static str, f64);

const NODE_PANELS: [NodePanel; 9] = [
    (CounterRole::CertificationFailures, "Transactions that failed certification", "transactions/s", 1.0),
    (CounterRole::ReplicationAborts, "Transactions aborted for another node", "transactions/s", 1.0),
    (CounterRole::FlowControlPaused, "Held back by flow control", "percent of the time", 1e-7),
    (CounterRole::ReceiveQueue, "Write sets that wait to be applied", "number", 1.0),
    (CounterRole::SendQueue, "Write sets that wait to be sent", "number", 1.0),
    (CounterRole::ReplicatedBytes, "Write sets sent", "MB/s", 1e-6),
    (CounterRole::ReplicationLatency, "Time of a message to all nodes and back", "ms", 1e-6),
    (CounterRole::ReplicaLag, "Log that a replica has not replayed", "MB", 1e-6),
    (CounterRole::ReplicaDelay, "Delay of the slowest replica", "ms", 1e-6),
];

fn panels(point: &PointAnalysis, _: (f64, f64)) -> Vec<Panel> {
    if point.endpoints.is_empty() {
        return Vec::new();
    }
    let own = point.endpoints.iter().zip(Colour::ALL).map(rate_line);
    let rates =
        panel(point, "Operations of each endpoint", Axis::from_zero("operations/s", AxisUnit::Count), own.collect());
    [rates].into_iter().chain(NODE_PANELS.iter().filter_map(|spec| node_panel(point, spec))).collect()
}

fn rate_line((one, colour): (&EndpointSummary, Colour)) -> DataSeries {
    DataSeries::named(one.endpoint.clone(), colour, line_in_full(one.rates.clone(), one.rates.clone()))
}

/// The panel of `spec`; `None` if no node has such a counter, or if none of them is ever above 0.
fn node_panel(point: &PointAnalysis, &(role, title, axis, factor): &NodePanel) -> Option<Panel> {
    let of = |one: &EndpointSummary| {
        counters(point).find(|counter| counter.role == Some(role) && counter.subject == one.endpoint)
    };
    let all: Vec<(&EndpointSummary, &CounterSeries, Colour)> =
        point.endpoints.iter().zip(Colour::ALL).filter_map(|(one, colour)| Some((one, of(one)?, colour))).collect();
    let moves = |counter: &CounterSeries| counter.values.iter().any(|(_, value)| *value > 0.0);
    if !all.iter().any(|(_, counter, _)| moves(counter)) {
        return None;
    }
    let (from, to) = time_range([point])?;
    let line = |(one, counter, colour): &(&EndpointSummary, &CounterSeries, Colour)| {
        let dots = |values: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            let drawn = values.into_iter().filter(|(at_s, _)| (from..=to).contains(at_s));
            drawn.map(|(at_s, value)| (at_s, value * factor)).collect()
        };
        let marks = line_in_full(dots(middles(&mean_values(&counter.values))), dots(middles(&counter.values)));
        DataSeries::named(one.endpoint.clone(), *colour, marks)
    };
    Some(panel(point, title, Axis::from_zero(axis, AxisUnit::Count), all.iter().map(line).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::PointCharts;
    use crate::testing::{panels, quick, with_counter, with_endpoints};
    use analysis::Analysis;
    use model::CounterKind;
    use plot::Figure;

    fn draw(analysis: &Analysis) -> Vec<Figure> {
        CHART.figures(analysis, PointCharts::All)
    }

    #[test]
    fn each_endpoint_is_a_line_and_counters_that_stay_at_zero_have_no_panel() {
        let figures = draw(&with_endpoints());
        let drawn = panels(&figures[0]);
        let titles: Vec<&str> = drawn.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles[1..], ["Operations of each endpoint"]);
        assert_eq!(drawn[1].series.len(), 3);
        assert!(draw(&quick()).is_empty());
        assert!(
            draw(&with_counter(quick(), ("wsrep", CounterRole::ReceiveQueue, CounterKind::Gauge, "count"), |_| 4.0))
                .is_empty()
        );
    }
}
