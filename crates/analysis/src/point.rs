//! The whole analysis of a run, point by point.
//!
//! In: a recorded run. Out: an [`Analysis`]. Limits: findings that need two points (knees, comparisons) are of the run.

use crate::beside::Group;
use crate::detect::level_shift::told_levels;
use crate::detect::{Measured, PointView, RUN_DETECTORS, detect_all};
use crate::dimensions::{Described, describe, target_name};
use crate::projection::project;
use crate::series::series;
use crate::summary::{PhaseTimes, summarise};
use crate::verdict::verdict;
use crate::window::Window;
use crate::{DataLoad, Finding, InsertCost, Label, Projection, Rounds, Series, Settings, Summary, Validity, Verdict};
use model::{Fact, Phase, PointData, PointState, RunData, RunMeta};
use std::borrow::Cow;

/// A run and what it means.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What is known of the run as a whole.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured, without attempts that were made again.
    pub points: Vec<PointAnalysis>,
    /// What concerns the run as a whole.
    pub findings: Vec<Finding>,
    /// The answer: how much, how steadily, what limits it, and how far to trust it.
    pub verdict: Verdict,
}

/// One point and what it means.
#[derive(Clone, Debug)]
pub struct PointAnalysis {
    /// Its number in the run, from 1.
    pub id: u32,
    /// How it ended.
    pub state: PointState,
    /// Why it did not complete.
    pub error: Option<String>,
    /// The engine by name, or the path.
    pub target: String,
    /// The workload by name.
    pub workload: String,
    /// Clients.
    pub clients: u32,
    /// Operations that one client kept under way.
    pub depth: u32,
    /// Which repetition.
    pub repeat: u32,
    /// All settings, these among them.
    pub settings: Settings,
    /// What distinguishes this point from the others of the run.
    pub label: Label,
    /// The number of its group, from 0: points of one group differ at most in clients, depth and repetition, and make one line in
    /// charts over clients or depth.
    pub group: usize,
    /// What the target said of itself.
    pub facts: Vec<Fact>,
    /// What making its data cost; `None` where it was there.
    pub load: Option<DataLoad>,
    /// The numbers; `None` where the run phase was not reached.
    pub summary: Option<Summary>,
    /// What an insert cost; `None` where the point inserts nothing and is no step of a sequence.
    pub inserts: Option<InsertCost>,
    /// Where it would end at full size; `None` at full size and where it inserts nothing.
    pub projection: Option<Projection>,
    /// What is drawn over time; `None` where the run phase was not reached.
    pub series: Option<Series>,
    /// The rounds of a run until steady; `None` where time ends the run, or the run phase was not reached.
    pub rounds: Option<Rounds>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How far the numbers can be trusted.
    pub validity: Validity,
}

/// Analyses `run` with every detector.
pub fn analyse(run: &RunData) -> Analysis {
    let (standing, dropped) = standing(run);
    let described = standing.points.iter().zip(describe(&standing.points));
    let points: Vec<PointAnalysis> =
        described.map(|(point, names)| analyse_point(point, names, &standing, &dropped)).collect();
    let findings = RUN_DETECTORS.iter().flat_map(|detector| (detector.detect)(&points)).collect();
    let verdict = verdict(&points, &run.meta.plan);
    Analysis { meta: run.meta.clone(), points, findings, verdict }
}

/// The run without attempts at a point that broke off and were made again when the run went on; and those attempts.
fn standing(run: &RunData) -> (Cow<'_, RunData>, Vec<&PointData>) {
    let made_again = |nth: usize, point: &PointData| {
        point.state != PointState::Complete && run.points[nth + 1..].iter().any(|later| later.trial == point.trial)
    };
    let dropped: Vec<&PointData> =
        run.points.iter().enumerate().filter(|(nth, point)| made_again(*nth, point)).map(|(_, point)| point).collect();
    if dropped.is_empty() {
        return (Cow::Borrowed(run), dropped);
    }
    let stands = |point: &&PointData| !dropped.iter().any(|dropped| dropped.id == point.id);
    let points = run.points.iter().filter(stands).cloned().collect();
    (Cow::Owned(RunData { meta: run.meta.clone(), points }), dropped)
}

fn analyse_point(point: &PointData, names: Described, run: &RunData, dropped: &[&PointData]) -> PointAnalysis {
    let group = Group::of(point);
    let phases = Group::own_phases(group.as_ref(), point);
    let run_phase = phases.iter().find(|phase| phase.phase == Phase::Run);
    let rounds = run_phase.and_then(|phase| Rounds::of(phase, &point.trial));
    let counted = run_phase.map(|phase| rounds.as_ref().map_or(Cow::Borrowed(phase), |rounds| rounds.counted(phase)));
    let window = run_phase.zip(counted.as_deref()).map(|(run, counted)| Window::of(counted, run.start, &point.trial));
    let computed = window.as_ref().map(|window| {
        let times = PhaseTimes::of(window);
        let beside = group.as_ref().and_then(|group| group.numbers(point, window));
        (summarise(point, window, &times, beside), series(point, &phases, &run.points, window, times))
    });
    let measured = window.as_ref().zip(computed.as_ref());
    let measured = measured.map(|(window, (summary, series))| Measured { window, summary, series });
    let environment = &run.meta.environment;
    // Rows that were inserted beside the run cost, too.
    let recorded = point.phase(Phase::Run).filter(|_| group.is_some());
    let of_all = recorded.map(|run| Window::of(run, run.start, &point.trial));
    let inserting = of_all.as_ref().or(window.as_ref());
    let inserts = inserting.and_then(|window| InsertCost::of(point, &run.points, environment, window));
    let view = PointView {
        point,
        others: &run.points,
        broken_off: dropped.iter().filter(|attempt| attempt.trial == point.trial).copied().collect(),
        environment,
        measured,
        rounds: rounds.as_ref(),
        inserts: inserts.as_ref(),
    };
    let findings = detect_all(&view);
    let has_shifted = findings.iter().any(|finding| finding.code == "level-shift");
    let shifted_at_s = measured.filter(|_| has_shifted).and_then(|measured| last_shift_s(measured.series));
    let projection = inserting
        .zip(inserts.as_ref())
        .and_then(|(window, inserts)| project(point, &run.points, run.meta.plan.scale, window, inserts, shifted_at_s));
    let (summary, series) = computed.unzip();
    PointAnalysis {
        id: point.id,
        state: point.state,
        error: point.error.clone(),
        target: target_name(&point.trial),
        workload: point.trial.workload.name.clone(),
        clients: point.trial.load.clients,
        depth: point.trial.load.depth,
        repeat: point.trial.repeat,
        settings: names.settings,
        label: names.label,
        group: names.group,
        facts: point.facts.clone(),
        load: DataLoad::of(point),
        validity: Validity::from_findings(&findings),
        summary,
        inserts,
        projection,
        series,
        rounds,
        findings,
    }
}

/// When the rate came to its last level, in seconds of the part of the run that counts.
fn last_shift_s(series: &Series) -> Option<f64> {
    told_levels(series).last().map(|last| last.span.from_s - series.counted.from_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Random, Simulation, run_of};

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
