//! The complete analysis of a run, point by point.
//!
//! In: a recorded run. Out: an [`Analysis`]. Limits: it computes each number once and in this order: window, numbers, series,
//! shape, findings; nothing before the findings judges.

use crate::bottleneck::judge;
use crate::computed_phase::{ComputedPhase, Measured, compute_phase};
use crate::evidence::PointView;
use crate::evidence::cause::Bottlenecks;
use crate::evidence::line_use::LineUse;
use crate::evidence::measured_hosts::RecordedHosts;
use crate::evidence::run_ceilings::RunCeilings;
use crate::findings::{self, Code};
use crate::hosts::views::{as_whole, machine_of};
use crate::numbers::background::BackgroundLoads;
use crate::numbers::endpoints::summarise_endpoints;
use crate::numbers::projection::project;
use crate::numbers::rates::PerOp;
use crate::numbers::running_cost::{RunningCost, measure_watts};
use crate::numbers::statements::{StatementSummary, summarise_statements};
use crate::numbers::steps::without_steps;
use crate::points::limit::{describe_all, separate_searches};
use crate::recorded::counters::mean_level;
use crate::recorded::dimensions::{Described, ENGINE};
use crate::recorded::engine_names::EngineNames;
use crate::recorded::exact_text::exact_text;
use crate::recorded::run_time::RunTime;
use crate::recorded::sequence::sequences;
use crate::recorded::window::Window;
use crate::verdict::verdict_with_searches;
use crate::{
    CompressionCost, DataLoad, Finding, HostSummary, InsertCost, InstanceShares, PointAnalysis, Rounds, SearchAnalysis,
    StackProfile, Summary, ThreadStates, Validity, VariantCost, Verdict, WorkDone,
};
use model::sure::{LookKind, MeanRule, is_time_over, needed_trials};
use model::{CounterRole, HourlyCost, Phase, Plan, PointData, PointState, RunData, RunMeta, Trial};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A run and what it means.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What is known of the run as a whole.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured, without attempts that were made again. Of the probes of a search only the one
    /// in which the limit was held is among them.
    pub points: Vec<PointAnalysis>,
    /// Its searches for the largest rate, with all their probes, in the order of the plan.
    pub searches: Vec<SearchAnalysis>,
    /// What concerns the run as a whole.
    pub findings: Vec<Finding>,
    /// The answer: how much, how steadily, what limits it, and how far to trust it.
    pub verdict: Verdict,
    /// Where its time went; `None` if plimsoll measured nothing of it.
    pub time: Option<RunTime>,
}

/// Analyses `run` with every detector.
pub fn analyse(run: &RunData) -> Analysis {
    let run = &with_whole_points(run);
    let (kept, replaced) = without_replaced(run);
    let names = EngineNames::new(&kept.points, &run.meta.plan.trials);
    let ceilings = RunCeilings::from_points(&kept.points);
    let context = RunContext { run: &kept, broken_off: by_trial(&replaced), ceilings };
    let described = in_sequences(&kept.points).zip(describe_all(&kept, &names));
    let analysed = described.map(|((point, sequence), names)| analyse_point(point, sequence, names, &context));
    let mean_rule = mean_rule_of(&kept);
    let mut points: Vec<PointAnalysis> = analysed.collect();
    for point in &mut points {
        point.mean_rule.clone_from(&mean_rule);
        findings::fit_steps(&mut point.findings, &kept.meta.plan);
    }
    let (searches, points) = separate_searches(&kept, &names, points);
    let plan = &as_needed(&kept);
    let findings = findings::detect_in_run(&points, plan);
    let verdict = verdict_with_searches(&points, &searches, plan, &names);
    // An attempt that broke off took its time, too.
    let time = RunTime::of_points(&run.points);
    Analysis { meta: run.meta.clone(), points, searches, findings, verdict, time }
}

/// The plan of `run` without the repeats that were left out because nothing depended on them any more.
fn as_needed(run: &RunData) -> Cow<'_, Plan> {
    let plan = &run.meta.plan;
    if plan.sure.is_none() {
        return Cow::Borrowed(plan);
    }
    let is_measured = |trial: &Trial| run.points.iter().any(|point| point.trial == *trial);
    let needed =
        plan.trials.iter().zip(needed_trials(run)).filter(|(trial, is_needed)| *is_needed || is_measured(trial));
    Cow::Owned(Plan { trials: needed.map(|(trial, _)| trial.clone()).collect(), ..plan.clone() })
}

/// How the means of the repeats of `run` are judged, if they were looked at until they were known.
fn mean_rule_of(run: &RunData) -> Option<Arc<MeanRule>> {
    let sure = run.meta.plan.sure.filter(|sure| sure.comparisons == 0)?;
    let look = if is_time_over(run) { LookKind::Last } else { LookKind::Planned };
    Some(Arc::new(MeanRule::new(sure, look)))
}

/// The run in which a point of several hosts has the machine on which the database runs.
fn with_whole_points(run: &RunData) -> Cow<'_, RunData> {
    if run.points.iter().all(|point| point.hosts.is_empty()) {
        return Cow::Borrowed(run);
    }
    let points = run.points.iter().map(|point| as_whole(point).into_owned()).collect();
    Cow::Owned(RunData { meta: run.meta.clone(), points })
}

/// The run without the attempts that broke off and were measured again after a resume; and those attempts.
fn without_replaced(run: &RunData) -> (Cow<'_, RunData>, Vec<&PointData>) {
    if run.points.iter().all(|point| point.state == PointState::Complete) {
        return (Cow::Borrowed(run), Vec::new());
    }
    let last: HashMap<String, usize> = run.points.iter().map(|point| exact_text(&point.trial)).zip(0..).collect();
    let (replaced, kept): (Vec<_>, Vec<_>) =
        run.points.iter().enumerate().partition(|(place, point)| {
            point.state != PointState::Complete && last[&exact_text(&point.trial)] > *place
        });
    let replaced: Vec<&PointData> = replaced.into_iter().map(|(_, point)| point).collect();
    if replaced.is_empty() {
        return (Cow::Borrowed(run), replaced);
    }
    let points = kept.into_iter().map(|(_, point)| point.clone()).collect();
    (Cow::Owned(RunData { meta: run.meta.clone(), points }), replaced)
}

/// The attempts that broke off, by their trials.
fn by_trial<'a>(replaced: &[&'a PointData]) -> HashMap<String, Vec<&'a PointData>> {
    let mut all: HashMap<String, Vec<&PointData>> = HashMap::new();
    replaced.iter().for_each(|point| all.entry(exact_text(&point.trial)).or_default().push(point));
    all
}

/// What the points of a run have in common, found once.
struct RunContext<'a> {
    run: &'a RunData,
    broken_off: HashMap<String, Vec<&'a PointData>>,
    ceilings: RunCeilings,
}

impl<'a> RunContext<'a> {
    /// The attempts at `trial` that broke off.
    fn broken_off(&self, trial: &Trial) -> Vec<&'a PointData> {
        if self.broken_off.is_empty() {
            Vec::new()
        } else {
            self.broken_off.get(&exact_text(trial)).cloned().unwrap_or_default()
        }
    }
}

/// Each of `points` with its sequence.
fn in_sequences(points: &[PointData]) -> impl Iterator<Item = (&PointData, &[PointData])> {
    sequences(points).into_iter().flat_map(|sequence| sequence.iter().map(move |point| (point, sequence)))
}

fn analyse_point(point: &PointData, sequence: &[PointData], names: Described, context: &RunContext) -> PointAnalysis {
    let RunContext { run, ceilings, .. } = context;
    let (machine, loads) = (machine_of(point, &run.meta.machine), BackgroundLoads::from_point(point));
    let machine = machine.as_ref();
    let phases = without_steps(point, loads.own_phases(point));
    let run_phase = phases.iter().find(|phase| phase.phase == Phase::Run);
    let rounds = run_phase.and_then(|phase| Rounds::from_phase(phase, &point.trial));
    let counted = run_phase.map(|phase| rounds.as_ref().map_or(Cow::Borrowed(phase), |rounds| rounds.cut_phase(phase)));
    let observed = point.traits.observed.as_ref();
    let window = run_phase
        .zip(counted.as_deref())
        .map(|(run, counted)| Window::cut(counted, run.start, &point.trial).of_watch(observed));
    let recorded_hosts = RecordedHosts::of_point(point, &run.meta.machine, rounds.as_ref());
    let measured_hosts = recorded_hosts.measure();
    let hosts = measured_hosts.summarise(point);
    let parts = measured_hosts.views(&hosts, rounds.as_ref());
    let computed = window.as_ref().map(|window| {
        let background = loads.summarise(point, window);
        let computed = compute_phase(point, &phases, sequence, window, background, machine.stated_links());
        with_busiest_link(computed, &hosts)
    });
    let measured = window.as_ref().zip(computed.as_ref()).map(|(window, computed)| computed.as_measured(window));
    let of_all = if loads.is_empty() { None } else { with_background(point) };
    let inserts_few = window.as_ref().is_some_and(|window| PerOp::from_point(point).inserts_few(window));
    let inserting = of_all.as_ref().or(window.as_ref()).filter(|_| !inserts_few);
    let inserts = inserting.and_then(|window| InsertCost::from_point(point, sequence, machine, window));
    let measured_watts = window.as_ref().and_then(|window| measure_watts(point, window));
    let view = PointView {
        point,
        sequence,
        ceilings: ceilings.at_place_of(point),
        broken_off: context.broken_off(&point.trial),
        machine,
        measured,
        rounds: rounds.as_ref(),
        inserts: inserts.as_ref(),
        line: None,
        bottlenecks: None,
        hosts: &hosts,
        parts: &parts,
    };
    let (bottlenecks, findings) = judge_point(view);
    let shifted_at_s = measured.and_then(|measured| last_shift_s(&measured, &findings));
    let projection = inserting
        .zip(inserts.as_ref())
        .and_then(|(window, inserts)| project(point, sequence, run.meta.plan.scale, window, inserts, shifted_at_s));
    let (summary, series, shape, threads) = ComputedPhase::take_apart(computed);
    let analysed = PointAnalysis {
        validity: findings::validity_of(point, &findings),
        instances: summary.as_ref().and_then(|summary| shares_of(point, summary)),
        summary,
        statements: window.as_ref().map(|window| statements_of(point, &loads, window)).unwrap_or_default(),
        endpoints: window.as_ref().map(|window| summarise_endpoints(point, window)).unwrap_or_default(),
        hosts: with_validity(hosts, &findings),
        inserts,
        projection,
        series,
        shape,
        rounds,
        threads,
        mhz: run_phase.and_then(|phase| mean_level(point, CounterRole::CpuFrequency, phase.start, phase.end)),
        bottlenecks,
        findings,
        ..unjudged(point, sequence, names)
    };
    with_running_cost(analysed, machine.hourly, measured_watts)
}

/// What is known of `point` before its run phase is looked at.
fn unjudged(point: &PointData, sequence: &[PointData], names: Described) -> PointAnalysis {
    PointAnalysis {
        id: point.id,
        state: point.state,
        error: point.error.clone(),
        engine: names.settings.text(ENGINE).unwrap_or_default(),
        workload: point.trial.workload.name.clone(),
        clients: point.trial.load.clients,
        depth: point.trial.load.depth,
        repeat: point.trial.repeat,
        settings: names.settings,
        label: names.label,
        group: names.group,
        facts: point.facts.clone(),
        traits: point.traits.clone(),
        load: DataLoad::from_point(point),
        variant: VariantCost::from_point(point),
        summary: None,
        statements: Vec::new(),
        endpoints: Vec::new(),
        hosts: Vec::new(),
        instances: None,
        inserts: None,
        compression: CompressionCost::from_point(point),
        projection: None,
        series: None,
        shape: None,
        rounds: None,
        threads: ThreadStates::default(),
        stacks: StackProfile::from_point(point),
        mhz: None,
        bottlenecks: None,
        work_done: WorkDone::from_point(point, sequence),
        findings: Vec::new(),
        validity: Validity::Valid,
        held: None,
        mean_rule: None,
    }
}

/// Each kind of operation of the measured clients in `window`, and each of the clients in the background.
fn statements_of(point: &PointData, loads: &BackgroundLoads, window: &Window) -> Vec<StatementSummary> {
    let mut all = summarise_statements(point, window);
    all.extend(loads.statements(point, window));
    all
}

/// The run phase of `point` with the rows of background clients: the counters behind an insert's cost cannot be split between clients.
fn with_background(point: &PointData) -> Option<Window<'_>> {
    let run = point.phase(Phase::Run)?;
    Some(Window::cut(run, run.start, &point.trial))
}

/// What limited the point of `view`, and what the detectors found, who know that.
fn judge_point(view: PointView) -> (Option<Bottlenecks>, Vec<Finding>) {
    let line = LineUse::compute(&view);
    let view = PointView { line: line.as_ref(), ..view };
    // What limited a point shows in counters, which results of other programs do not have; a load that is only watched may have no limit.
    let is_own_load = view.point.traits.imported.is_none() && view.point.traits.observed.is_none();
    let bottlenecks = if is_own_load { judge(&view) } else { None };
    let findings = findings::detect_in_point(&PointView { bottlenecks: bottlenecks.as_ref(), ..view });
    (bottlenecks, findings)
}

/// What each of several instances did of `summary`.
fn shares_of(point: &PointData, summary: &Summary) -> Option<InstanceShares> {
    InstanceShares::from_ops(&point.traits.outcome.instance_ops, summary)
}

/// `point` with what it cost on a machine that costs `hourly`; its power was measured to be `watts`, if it was.
fn with_running_cost(mut point: PointAnalysis, hourly: HourlyCost, watts: Option<f64>) -> PointAnalysis {
    let hourly = hourly.or(HourlyCost { watts, ..HourlyCost::default() });
    // A step that is timed as a whole has no rate of operations.
    let rates = point.summary.as_ref().filter(|_| point.duration_s().is_none());
    let ops_per_s = rates.map(|summary| summary.ops_per_s);
    let bytes_per_s = rates.and_then(|summary| bytes_per_s(summary, point.inserts.as_ref()));
    let running = RunningCost::at_rates(hourly.price, hourly.watts, ops_per_s, bytes_per_s);
    point.summary.iter_mut().for_each(|summary| summary.cost.running = running);
    point
}

/// Payload per second; of inserts the growth of the data, which is what is stored.
fn bytes_per_s(summary: &Summary, inserts: Option<&InsertCost>) -> Option<f64> {
    Some(summary.bytes_per_s).filter(|rate| *rate > 0.0).or_else(|| {
        let inserts = inserts?;
        Some(inserts.inserts_per_s? * inserts.data_bytes_per_row?)
    })
}

/// `computed`; the link of clients on several of `hosts` is that which is used most.
fn with_busiest_link(mut computed: ComputedPhase, hosts: &[HostSummary]) -> ComputedPhase {
    if let Some(network) = computed.summary.network.as_mut().filter(|_| !hosts.is_empty()) {
        let busiest = busiest_client_link(hosts);
        network.link_share = busiest.map(|(share, _)| share);
        network.link_bits_per_s = busiest.map(|(_, bits_per_s)| bits_per_s);
    }
    computed
}

/// The part of the link that is used most by the clients of any host.
fn busiest_client_link(hosts: &[HostSummary]) -> Option<(f64, f64)> {
    let clients = hosts.iter().filter(|host| host.role.loads()).filter_map(HostSummary::busiest_link);
    let links = clients.filter_map(|link| Some((link.link_share?, link.link_bits_per_s?)));
    links.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// `hosts` with the validity that follows from the `findings` of each.
fn with_validity(mut hosts: Vec<HostSummary>, findings: &[Finding]) -> Vec<HostSummary> {
    for host in &mut hosts {
        let own = findings.iter().filter(|finding| finding.host.as_deref() == Some(host.host.as_str()));
        host.validity = Validity::from_severities(own.map(|finding| finding.severity));
    }
    hosts
}

fn has_code(findings: &[Finding], code: Code) -> bool {
    findings.iter().any(|finding| finding.code() == code)
}

/// When the rate came to its last level, in seconds of the part of the run that counts; `None` if `findings` have no shift of it.
fn last_shift_s(measured: &Measured, findings: &[Finding]) -> Option<f64> {
    if !has_code(findings, Code::LevelShift) {
        return None;
    }
    let last = measured.shape.levels.last()?;
    Some(last.span.from_s - measured.series.counted.from_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, run_of};

    #[test]
    fn the_same_run_gives_the_same_analysis() {
        let mut random = Random::new(1);
        let simulation = Simulation::closed(10, |_| random.exponential(500_000.0) as u64);
        let run = run_of(vec![simulation.point()], Vec::new());
        let (first, second) = (analyse(&run), analyse(&run));
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }

    #[test]
    fn an_attempt_that_broke_off_gives_way_to_the_one_that_was_made_again() {
        let at = |id, state| {
            let mut point = Simulation::counts(&[2000; 10]).point();
            (point.id, point.state) = (id, state);
            point
        };
        let other = |id| Simulation::counts(&[2000; 10]).with(|point| (point.id, point.trial.seed) = (id, 9)).point();
        let points = vec![at(1, PointState::Partial), at(2, PointState::Failed), at(3, PointState::Complete), other(4)];
        let analysed = analyse(&run_of(points, Vec::new())).points;
        assert_eq!(analysed.iter().map(|point| point.id).collect::<Vec<_>>(), [3, 4]);
        let alone = analyse(&run_of(vec![at(1, PointState::Partial), other(2)], Vec::new())).points;
        assert_eq!(alone.len(), 2, "nothing took its place");
        let twice = analyse(&run_of(vec![at(1, PointState::Complete), at(2, PointState::Complete)], Vec::new())).points;
        assert_eq!(twice.len(), 2, "what is complete stays");
    }

    #[test]
    fn every_point_is_analysed_in_order_with_its_validity() {
        let points = vec![Simulation::counts(&[2000; 10]).point(), Simulation::counts(&[2000; 3]).point()];
        let analysed = analyse(&run_of(points, Vec::new())).points;
        let seen: Vec<(u32, Validity)> = analysed.iter().map(|point| (point.id, point.validity)).collect();
        assert_eq!(seen, [(1, Validity::Valid), (2, Validity::Indicative)]);
    }
}
