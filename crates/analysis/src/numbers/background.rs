//! Background clients: their operations are separated from those of the foreground clients and summed up.
//!
//! In: a point that marks the kinds of background operations and has the rates that they were to reach. Out: the phases with the
//! foreground operations only, from which all headline numbers are computed, and a [`BackgroundSummary`] for each group of clients.
//! Limits: a phase records its arrivals as one number; the background parts are computed from their constant rates. CPU, I/O and context
//! switches of the engine and the generator cannot be separated: they are divided by the operations of both.

use crate::Quantiles;
use crate::math::repeats::{Repeated, combined};
use crate::numbers::phase_times::PhaseTimes;
use crate::numbers::rates::{PerOp, RateEstimate};
use crate::numbers::statements::{StatementSummary, summarise_statements};
use crate::recorded::window::{OpTally, Window};
use model::{Background, Interval, KindRow, OpKind, Phase, PhaseData, PointData, Times};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;

/// The numbers of the background clients, over the part of the run that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackgroundSummary {
    /// The kinds of their operations.
    pub kinds: Vec<String>,
    /// How many clients they are.
    pub clients: u32,
    /// How many operations were to be done per second, over all of them; `None` in a closed loop.
    pub asked_per_s: Option<f64>,
    pub ops: u64,
    /// Operations done per second.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval; `None` with too few intervals.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// The share of the rate asked for that was reached; `None` in a closed loop.
    pub kept: Option<f64>,
    /// Rows inserted per second; `None` if they insert none.
    pub rows_per_s: Option<f64>,
    pub failed: u64,
    /// Arrivals that fell due while every client was busy.
    pub late: u64,
    /// Arrivals that were never started.
    pub unserved: u64,
    /// Response times, of an open loop from the moment at which each operation was due; `None` if none was done.
    pub response_ns: Option<Quantiles>,
    /// Service times; `None` if none was done.
    pub service_ns: Option<Quantiles>,
    #[serde(skip)]
    pub response: Times,
    #[serde(skip)]
    pub service: Times,
}

impl BackgroundSummary {
    /// The groups of repeats, each of which has them in the same order. Counts are sums, rates are means, percentiles are of the times of all.
    pub(crate) fn combine(repeats: &[&[BackgroundSummary]]) -> Vec<BackgroundSummary> {
        let longest = repeats.iter().min_by_key(|groups| Reverse(groups.len())).copied().unwrap_or_default();
        let same = |group: &BackgroundSummary| {
            let of_kinds = |groups: &&'_ [BackgroundSummary]| groups.iter().position(|one| one.kinds == group.kinds);
            Repeated::new(repeats.iter().filter_map(|groups| Some(&groups[of_kinds(groups)?])))
        };
        longest.iter().map(|group| group.combine_group(&same(group))).collect()
    }

    fn combine_group(&self, all: &Repeated<BackgroundSummary>) -> BackgroundSummary {
        let (per_s, per_s_ci95) = all.rate(|one| Some((one.ops_per_s, one.ops_per_s_ci95)));
        let (response, service) = (all.times(|one| &one.response), all.times(|one| &one.service));
        combined!(
            all,
            BackgroundSummary {
                kinds: (self.kinds.clone()),
                clients: (self.clients),
                asked_per_s: mean,
                ops: sum,
                ops_per_s: (per_s.unwrap_or_default()),
                ops_per_s_ci95: (per_s_ci95),
                kept: mean,
                rows_per_s: mean,
                failed: sum,
                late: sum,
                unserved: sum,
                response_ns: (Quantiles::from_times(&response)),
                service_ns: (Quantiles::from_times(&service)),
                response: (response),
                service: (service),
            }
        )
    }
}

/// The clients in the background of a point's run, as the point declares them.
pub struct BackgroundLoads(Vec<BackgroundGroup>);

/// Clients of one pace.
struct BackgroundGroup {
    kinds: Vec<OpKind>,
    names: Vec<String>,
    clients: u32,
    per_s: Option<f64>,
}

impl BackgroundLoads {
    /// The groups of `point`; none if it has no background.
    pub fn from_point(point: &PointData) -> BackgroundLoads {
        BackgroundLoads(point.traits.course.background.iter().map(|own| BackgroundGroup::new(point, own)).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The phases of `point` with the operations of foreground clients only; as recorded if there is no background.
    pub fn own_phases<'a>(&self, point: &'a PointData) -> Cow<'a, [PhaseData]> {
        if self.is_empty() {
            Cow::Borrowed(&point.phases)
        } else {
            Cow::Owned(point.phases.iter().map(|phase| self.without_background(phase)).collect())
        }
    }

    fn without_background(&self, phase: &PhaseData) -> PhaseData {
        let arrivals = self.0.iter().map(|group| group.split_arrivals(phase));
        let (offered, unserved) = arrivals.fold((0u64, 0u64), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        PhaseData {
            offered: phase.offered.saturating_sub(offered),
            unserved: phase.unserved.saturating_sub(unserved),
            intervals: with_kinds(phase, |kind| !self.0.iter().any(|group| group.kinds.contains(&kind.kind))),
            ..*phase
        }
    }

    /// The numbers of each group in `counted`, the part of the run phase of `point` that counts.
    pub fn summarise(&self, point: &PointData, counted: &Window) -> Vec<BackgroundSummary> {
        self.0.iter().filter_map(|group| group.summarise(point, counted)).collect()
    }

    /// Each kind of operation of the groups by itself, in the same part.
    pub fn statements(&self, point: &PointData, counted: &Window) -> Vec<StatementSummary> {
        let of_group = |group: &BackgroundGroup| -> Option<Vec<StatementSummary>> {
            let phase = group.phase_in(point, counted)?;
            let all = summarise_statements(point, &Window::cut(&phase, counted.origin, &point.trial));
            Some(all.into_iter().map(|kind| kind.in_background(group.per_s)).collect())
        };
        self.0.iter().filter_map(of_group).flatten().collect()
    }
}

impl BackgroundGroup {
    fn new(point: &PointData, declared: &Background) -> BackgroundGroup {
        let is_own = |number: u8, in_background: bool| match declared.kinds.as_slice() {
            [] => in_background,
            kinds => kinds.contains(&OpKind(number)),
        };
        let own = (0u8..).zip(&point.kinds).filter(|(number, kind)| is_own(*number, kind.background));
        let (kinds, names) = own.map(|(number, kind)| (OpKind(number), kind.name.clone())).unzip();
        let per_s = declared.per_s.filter(|per_s| *per_s > 0.0);
        BackgroundGroup { kinds, names, clients: declared.clients, per_s }
    }

    /// The run phase of `point` with the operations of the group only, as long as the part that counts.
    fn phase_in(&self, point: &PointData, counted: &Window) -> Option<PhaseData> {
        let run = point.phase(Phase::Run)?;
        let (start, end) = (counted.phase.start, counted.phase.end);
        let mut intervals = with_kinds(run, |kind| self.kinds.contains(&kind.kind));
        // Only the beginning is cut: later intervals are the grace time of the window.
        intervals.retain(|interval| interval.start >= start);
        let (offered, unserved) = self.split_arrivals(run);
        Some(PhaseData { start, end, offered, unserved, intervals, ..*run })
    }

    fn summarise(&self, point: &PointData, counted: &Window) -> Option<BackgroundSummary> {
        let phase = self.phase_in(point, counted)?;
        let window = Window::cut(&phase, counted.origin, &point.trial);
        let (times, done) =
            (PhaseTimes::from_window(&window), RateEstimate::from_window(&window, |kind| kind.ok as f64));
        Some(BackgroundSummary {
            kinds: self.names.clone(),
            clients: self.clients,
            asked_per_s: self.per_s,
            ops: window.inside.ok,
            ops_per_s: done.per_s,
            ops_per_s_ci95: done.ci95,
            kept: self.per_s.map(|per_s| done.per_s / per_s),
            rows_per_s: PerOp::from_point(point).rate_of_rows(&window).map(|rows| rows.per_s),
            failed: window.recorded.failed,
            late: window.recorded.late,
            unserved: phase.unserved,
            response_ns: Quantiles::from_times(&times.response),
            service_ns: Quantiles::from_times(&times.service),
            response: times.response,
            service: times.service,
        })
    }

    /// How many of the arrivals that `phase` offered were this group's, and how many of these were never performed.
    fn split_arrivals(&self, phase: &PhaseData) -> (u64, u64) {
        let Some(per_s) = self.per_s else { return (0, 0) };
        // The schedule's own count: the first arrival is due at the start, so a part of a gap at the end has an arrival, too. A
        // phase without an open loop offered none.
        let due = (phase.end.since(phase.start).0 as f64 / (1e9 / per_s)).ceil() as u64;
        let offered = due.min(phase.offered);
        let kinds = phase.intervals.iter().flat_map(|interval| &interval.kinds);
        let kinds = kinds.filter(|kind| self.kinds.contains(&kind.kind));
        let ended = kinds.fold(0u64, |sum, kind| sum.saturating_add(kind.ok).saturating_add(kind.failed));
        (offered, offered.saturating_sub(ended))
    }
}

/// The intervals of `phase` with those kinds that `which` takes.
fn with_kinds(phase: &PhaseData, which: impl Fn(&KindRow) -> bool) -> Vec<Interval> {
    let filtered = phase.intervals.iter().map(|interval| Interval {
        kinds: interval.kinds.iter().filter(|kind| which(kind)).cloned().collect(),
        ..*interval
    });
    filtered.collect()
}

/// How many operations ended in the whole run phase, of all clients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndedOps {
    /// Done by its end.
    pub done: u64,
    pub failed: u64,
}

impl EndedOps {
    pub(crate) fn of_point(point: &PointData) -> EndedOps {
        counted_of_all(point).map_or_else(EndedOps::default, |all| EndedOps { done: all.ok, failed: all.failed })
    }

    /// Those of all repeats.
    pub(crate) fn combine(all: &Repeated<EndedOps>) -> EndedOps {
        combined!(all, EndedOps { done: sum, failed: sum })
    }

    pub fn all(self) -> u64 {
        self.done.saturating_add(self.failed)
    }

    /// The share that was done; `None` if none ended.
    pub fn success_rate(self) -> Option<f64> {
        (self.all() > 0).then(|| self.done as f64 / self.all() as f64)
    }
}

/// What counts of the whole run phase, of all clients: the operations done by its end, and all that failed.
pub fn counted_of_all(point: &PointData) -> Option<OpTally> {
    let run = point.phase(Phase::Run)?;
    let window = Window::cut(run, run.start, &point.trial);
    Some(OpTally { failed: window.recorded.failed, ..window.inside })
}

#[cfg(test)]
mod tests {
    use crate::PointAnalysis;
    use crate::simulated::Simulation;
    use model::{Background, KindDef, KindRow, OpKind, Tick, Times};

    fn analysed(simulation: Simulation) -> PointAnalysis {
        simulation.analysis().points.remove(0)
    }

    #[test]
    fn the_headline_of_a_run_is_that_of_its_own_clients_whatever_is_done_beside() {
        let alone = analysed(Simulation::counts(&[1000; 10]));
        let both = analysed(Simulation::counts(&[1000; 10]).background(4, 500, 490));
        let (mut alone_numbers, both_numbers) = (alone.summary.expect("it ran"), both.summary.expect("it ran"));
        let background = both_numbers.background[0].clone();
        assert_eq!((background.ops, background.ops_per_s, background.kept), (4_900, 490.0, Some(0.98)));
        // The success rate is of all clients.
        (alone_numbers.background, alone_numbers.ended) = (vec![background], both_numbers.ended);
        assert_eq!(both_numbers, alone_numbers);
        let (alone, both) = (alone.series.expect("it ran"), both.series.expect("it ran"));
        assert_eq!((both.intervals, both.response.len()), (alone.intervals, alone.response.len()));
    }

    #[test]
    fn what_was_done_beside_has_its_rows_and_its_own_times() {
        let simulation = Simulation::counts(&[1000; 10]).background(4, 500, 490);
        let rows = model::Fact::new("rows_per_op.insert", "5");
        let found = analysed(simulation.with(|point| point.facts.push(rows))).summary.expect("it ran");
        let background = &found.background[0];
        assert_eq!((background.rows_per_s, found.rows_per_s), (Some(2_450.0), None));
        assert!(background.service_ns.expect("they worked").p99 < 1_010_000);
    }

    #[test]
    fn arrivals_of_two_open_loops_are_told_apart() {
        let open = |served: u64| Simulation::open(10, 2_000, move |_| 1_000_000_000 / served).background(4, 500, 300);
        let found = analysed(open(5_000));
        let summary = found.summary.expect("it ran");
        assert_eq!((summary.unserved, summary.background[0].unserved), (0, 2_000));
        let codes: Vec<&str> = found.findings.iter().map(|finding| finding.code().as_str()).collect();
        assert!(
            codes.contains(&"background-rate-missed")
                && !codes.contains(&"overload")
                && !codes.contains(&"plausibility")
        );
        let overloaded = analysed(open(1_000)).summary.expect("it ran");
        assert!((9_999..=10_000).contains(&overloaded.unserved), "{}", overloaded.unserved);
    }

    #[test]
    fn a_failure_beside_lowers_the_success_rate_and_a_percent_of_them_spoils_the_point() {
        let failing = |failed| {
            let simulation = Simulation::counts(&[1000; 10]).background(4, 500, 500);
            analysed(simulation.with(|point| point.phases[0].intervals[3].kinds[1].failed = failed))
        };
        let rate = |failed| failing(failed).summary.expect("it ran").success_rate;
        assert_eq!((rate(0), rate(150)), (Some(1.0), Some(15_000.0 / 15_150.0)));
        assert_eq!(
            (failing(150).validity, failing(152).validity),
            (crate::Validity::Indicative, crate::Validity::Invalid)
        );
    }

    #[test]
    fn operations_beside_cost_the_engine_as_well_as_those_of_the_run() {
        let simulation = Simulation::counts(&[1000; 10]).background(4, 500, 500);
        let simulation = simulation.source("process", &["write_bytes"], |second| vec![1.5e6 * second]);
        let cost = analysed(simulation).summary.expect("it ran").cost;
        assert_eq!(cost.per_op.written_bytes, Some(1_000.0));
    }

    #[test]
    fn a_run_that_was_cut_off_before_anything_was_offered_has_no_arrivals() {
        let simulation = Simulation::counts(&[1000; 2]).background(4, 500, 0);
        let cut = simulation.with(|point| (point.phases[0].offered, point.phases[0].unserved) = (0, 0));
        let summary = analysed(cut.with(|point| point.phases[0].end = Tick(0))).summary.expect("it began");
        let background = &summary.background[0];
        assert_eq!((background.unserved, background.response_ns), (0, None));
    }

    #[test]
    fn groups_of_several_paces_have_numbers_of_their_own_and_each_kind_a_row() {
        // Besides 500 inserts a second, a report is asked for once a second, and two clients read as fast as they can.
        let both = Simulation::counts(&[1000; 10]).background(4, 500, 490).with(|point| {
            let group = |kind, clients, per_s| Background { kinds: vec![OpKind(kind)], clients, per_s };
            point.traits.course.background = vec![group(1, 4, Some(500.0)), group(2, 1, Some(1.0)), group(3, 2, None)];
            for name in ["report", "reader"] {
                point.kinds.push(KindDef { background: true, ..crate::simulated::kind(name) });
            }
            point.phases[0].offered += 10;
            point.phases[0].unserved += 3;
            for (nth, interval) in point.phases[0].intervals.iter_mut().enumerate() {
                let row = |kind, ok, ns: u64| {
                    let mut times = Times::default();
                    times.record_n(ns, ok);
                    KindRow { ok, response: times.clone(), service: times, ..KindRow::empty(OpKind(kind)) }
                };
                interval.kinds.extend([row(2, u64::from(nth < 7), 900_000_000), row(3, 50, 40_000_000)]);
            }
        });
        let alone = analysed(Simulation::counts(&[1000; 10]));
        let found = analysed(both);
        let (summary, alone) = (found.summary.expect("it ran"), alone.summary.expect("it ran"));
        assert_eq!((summary.ops, summary.unserved, summary.ops_per_s_ci95), (alone.ops, 0, alone.ops_per_s_ci95));
        let told: Vec<_> = summary.background.iter().map(|one| (one.ops, one.unserved, one.kept)).collect();
        assert_eq!(told, [(4_900, 100, Some(0.98)), (7, 3, Some(0.7)), (500, 0, None)]);
        let rows: Vec<_> =
            found.statements.iter().map(|kind| (kind.kind.as_str(), kind.background, kind.share)).collect();
        assert!(!rows[0].1);
        assert_eq!(rows[1..], [("insert", true, None), ("report", true, None), ("reader", true, None)]);
        let report = &found.statements[2];
        assert_eq!((report.asked_per_s, report.ops_per_s), (Some(1.0), 0.7));
        assert!(report.response_ns.expect("it ran").p99 > 800_000_000);
    }
}
