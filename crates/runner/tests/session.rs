//! Whole sessions without a process: the engine null, a temporary directory, events in memory.
//!
//! In: plans from flags, and a strategy that decides by what is done. Out: what the run file holds and the events of the observer.
//! Limits: figures of speed are not looked at.

use host::user_command::UserCommand;
use load::{Stop, StopReason};
use model::limit::{self, LimitOutcome, LowerBoundCause, ProbeKind, ProbePart};
use model::{Nanos, Phase, Plan, PointData, PointState, Trial};
use plan::Overrides;
use runner::{DonePoint, PointEnd, ResumedRun, RunEvent, RunObserver, RunSession, RunSite, RunnerError, Strategy};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{PointId, RunWriter};
use tempfile::TempDir;

/// A directory to measure and to record in.
struct Lab {
    _dir: TempDir,
    site: RunSite,
}

impl Lab {
    fn new() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let site = RunSite {
            dir: dir.path().into(),
            runs: dir.path().join("runs"),
            destroy: Vec::new(),
            system_changes: Default::default(),
            writes: Default::default(),
            if_held: Default::default(),
            restore: None,
        };
        Lab { _dir: dir, site }
    }

    fn create(&self, plan: &Plan) -> (PathBuf, RunWriter) {
        let _held = runner::check_before_run(plan, &self.site, &runner::catalogue(), &mut Recorded::default()).unwrap();
        runner::create_run(plan, &[], None, &self.site, &mut Recorded::default()).unwrap()
    }
}

/// Keeps the events as lines, and requests a stop at the first interval of a point.
#[derive(Default)]
struct Recorded {
    lines: Vec<String>,
    stop_in: Option<(usize, Arc<Stop>)>,
    skip_in: Option<(usize, Arc<Stop>)>,
    points: usize,
}

impl RunObserver for Recorded {
    fn on(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Note(text) => self.lines.push(text.into()),
            RunEvent::PointBegan { number, trial } => {
                self.points = number + 1;
                self.lines.push(format!("point {number}: {} clients", trial.load.clients));
            }
            RunEvent::PointOpened { .. } => {}
            RunEvent::PhaseBegan(phase) => self.lines.push(phase.as_str().into()),
            RunEvent::Interval { .. } => {
                let asked = |wish: &Option<(usize, Arc<Stop>)>| wish.clone().filter(|(point, _)| *point == self.points);
                asked(&self.stop_in).iter().for_each(|(_, stop)| stop.request(StopReason::Interrupted));
                asked(&self.skip_in).iter().for_each(|(_, stop)| stop.request(StopReason::Skipped));
            }
            RunEvent::ReadingBack { .. } => {}
            RunEvent::ProbeJudged(probe) => self.lines.push(format!("judged: {}", probe.kind.as_str())),
            RunEvent::PointEnded { end, .. } => {
                // The next point has the same number as one that was skipped.
                self.skip_in.take_if(|_| end == PointEnd::Skipped);
                self.lines.push(match end {
                    PointEnd::Recorded(state) => state.as_str().into(),
                    PointEnd::Skipped => "skipped".into(),
                });
            }
            RunEvent::SessionEnded => self.lines.push("ended".into()),
        }
    }
}

/// Short trials of the scripted engine, with these keys.
fn plan_of(workload: &str, keys: &[(&str, &str)]) -> Plan {
    let fixed = [("engine", "null"), ("interval", "50ms")];
    let timed = [("time", "150ms"), ("warmup", "0s")];
    // A recording ends with its statements.
    let timed = timed.iter().filter(|_| !keys.contains(&("until", "steady")) && workload != "replay-sql");
    let keys = fixed.iter().chain(timed).chain(keys).map(|(key, value)| (key.to_string(), value.to_string())).collect();
    plan::from_flags(workload, &Overrides::from_flags(keys), 1.0, &runner::catalogue()).unwrap()
}

fn measure(plan: &Plan, lab: &Lab, writer: &mut RunWriter, recorded: &mut Recorded) -> Result<(), RunnerError> {
    let asked = recorded.stop_in.as_ref().or(recorded.skip_in.as_ref());
    let stop = asked.map_or_else(Arc::default, |(_, stop)| stop.clone());
    let session = RunSession { plan, site: &lab.site, writer, stop, observer: recorded, interruption: None };
    session.measure_all(&runner::catalogue())
}

fn ops(point: &PointData) -> u64 {
    let intervals = &point.phase(Phase::Run).unwrap().intervals;
    intervals.iter().flat_map(|interval| &interval.kinds).map(|kind| kind.ok).sum()
}

#[test]
fn a_session_records_every_point_of_its_plan_and_tells_what_it_does() {
    let (lab, plan) = (Lab::new(), plan_of("file", &[("clients", "1,2")]));
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded::default();
    measure(&plan, &lab, &mut writer, &mut recorded).unwrap();
    writer.finish().unwrap();
    assert_eq!(
        recorded.lines,
        ["point 0: 1 clients", "run", "complete", "point 1: 2 clients", "run", "complete", "ended"]
    );
    let run = store::read(&run_file).unwrap();
    assert_eq!(run.points.iter().map(|point| &point.trial).collect::<Vec<_>>(), plan.trials.iter().collect::<Vec<_>>());
    assert!(run.points.iter().all(|point| point.state == PointState::Complete && ops(point) > 0));
    // The instance is kept for the second point, so only the last one ends with cleaning up.
    let cleaned: Vec<bool> = run.points.iter().map(|point| point.phase(Phase::Cleanup).is_some()).collect();
    assert_eq!(cleaned, [false, true]);
}

/// Resumes the run of which `done` is complete, and measures the rest.
fn resume(lab: &Lab, run_file: &Path, done: &[PointId]) -> Recorded {
    let environment = runner::describe_environment(&lab.site, &mut Recorded::default());
    let resumed = ResumedRun::open(run_file, &lab.site, &environment, &runner::catalogue()).unwrap();
    assert_eq!(ids(&resumed.done), done);
    let mut writer = RunWriter::reopen(run_file).unwrap();
    let (plan, interruption) = resumed.into_interruption(writer.last_tick().unwrap());
    let mut recorded = Recorded::default();
    let (stop, observer, interruption) = (Arc::default(), &mut recorded, Some(interruption));
    let session = RunSession { plan: &plan, site: &lab.site, writer: &mut writer, stop, observer, interruption };
    session.measure_all(&runner::catalogue()).unwrap();
    writer.finish().unwrap();
    recorded
}

fn ids(done: &[DonePoint]) -> Vec<PointId> {
    done.iter().map(|done| done.point).collect()
}

/// A run with all its points cannot be resumed.
fn assert_is_complete(lab: &Lab, run_file: &Path) {
    let environment = runner::describe_environment(&lab.site, &mut Recorded::default());
    let refused = ResumedRun::open(run_file, &lab.site, &environment, &runner::catalogue()).err().unwrap();
    assert!(refused.to_string().contains("all its points are complete"), "{refused}");
}

#[test]
fn a_session_that_is_interrupted_is_resumed_at_the_point_that_was_measured() {
    let (lab, plan) = (Lab::new(), plan_of("file", &[("clients", "1,2,3"), ("time", "400ms")]));
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded { stop_in: Some((2, Arc::default())), ..Recorded::default() };
    let ended = measure(&plan, &lab, &mut writer, &mut recorded).unwrap_err();
    assert!(matches!(ended, RunnerError::Stopped(StopReason::Interrupted)), "{ended}");
    writer.finish().unwrap();

    let recorded = resume(&lab, &run_file, &[PointId(1)]);
    assert_eq!((recorded.lines[0].as_str(), recorded.points), ("point 1: 2 clients", 3));
    let run = store::read(&run_file).unwrap();
    let states: Vec<PointState> = run.points.iter().map(|point| point.state).collect();
    assert_eq!(states, [PointState::Complete, PointState::Partial, PointState::Complete, PointState::Complete]);
    assert!(run.points[2].events.iter().any(|event| event.text.starts_with("the run was interrupted and resumed")));
    assert_is_complete(&lab, &run_file);
}

#[test]
fn a_point_that_is_skipped_keeps_what_was_measured_and_a_resumed_run_measures_it() {
    let (lab, plan) = (Lab::new(), plan_of("file", &[("clients", "1,2,3"), ("time", "400ms")]));
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded { skip_in: Some((2, Arc::default())), ..Recorded::default() };
    measure(&plan, &lab, &mut writer, &mut recorded).unwrap();
    writer.finish().unwrap();
    let expected = ["point 1: 2 clients", "run", "skipped", "point 1: 3 clients", "run", "complete", "ended"];
    assert_eq!(recorded.lines[3..], expected);
    let run = store::read(&run_file).unwrap();
    let states: Vec<PointState> = run.points.iter().map(|point| point.state).collect();
    assert_eq!(states, [PointState::Complete, PointState::Partial, PointState::Complete]);
    assert_eq!(run.points[1].error.as_deref(), Some("skipped at your request; what was measured is kept"));
    assert!(ops(&run.points[1]) > 0 && !model::sure::is_all_measured(&run));
    // Its data was whole, so the next point used it.
    assert!(run.points[1].phase(Phase::Cleanup).is_none());

    let recorded = resume(&lab, &run_file, &[PointId(1), PointId(3)]);
    assert_eq!(recorded.lines, ["point 2: 2 clients", "run", "complete", "ended"]);
    assert!(model::sure::is_all_measured(&store::read(&run_file).unwrap()));
    assert_is_complete(&lab, &run_file);
}

#[test]
fn a_hold_that_is_interrupted_keeps_the_probes_of_its_search_and_is_made_again() {
    // Whatever the machine does meanwhile, half of the operations end within an hour.
    let keys = [("rate", "limit,none"), ("rate_max", "200"), ("slo", "p50<3600s"), ("hold", "1s")];
    let (lab, plan) = (Lab::new(), plan_of("file", &keys));
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded { stop_in: Some((3, Arc::default())), ..Recorded::default() };
    measure(&plan, &lab, &mut writer, &mut recorded).unwrap_err();
    writer.finish().unwrap();
    let interrupted = limit::searches(&store::read(&run_file).unwrap());
    assert_eq!((interrupted[0].result.outcome, interrupted[0].result.probes.len()), (LimitOutcome::Interrupted, 2));

    let recorded = resume(&lab, &run_file, &[PointId(1), PointId(2)]);
    assert!(recorded.lines.contains(&"judged: hold".to_owned()), "{:?}", recorded.lines);

    let run = store::read(&run_file).unwrap();
    let probes: Vec<_> = run.points.iter().map(|point| point.trial.limit.as_ref()?.probe).collect();
    let probe = |nth, kind| Some(ProbePart { search: 0, nth, kind });
    let hold = probe(3, ProbeKind::Hold);
    assert_eq!(probes, [probe(1, ProbeKind::Closed), probe(2, ProbeKind::Probe), hold, hold, None]);
    let [search] = &limit::searches(&run)[..] else { panic!("the plan has one search") };
    assert_eq!(search.result.outcome, LimitOutcome::LowerBound(LowerBoundCause::RateMax));
    assert_eq!((search.result.per_s, search.result.held), (Some(200.0), Some(Nanos::from_secs(1))));
    assert_eq!(search.points, [1, 2, 4], "the interrupted hold is left out");
    assert!(model::sure::is_all_measured(&run));
    assert_is_complete(&lab, &run_file);
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// The run file says that the run began an hour ago: whatever happened since then is in the time of its phases.
#[test]
fn a_phase_begins_at_its_time_by_the_wall_clock() {
    let (lab, plan) = (Lab::new(), plan_of("file", &[]));
    let (run_file, writer) = lab.create(&plan);
    writer.finish().unwrap();
    let mut meta = store::read(&run_file).unwrap().meta;
    meta.started_unix_ms -= 3_600_000;
    let an_hour_old = lab.site.runs.join("old.plimsoll");
    let mut writer = RunWriter::create(&an_hour_old, &meta).unwrap();
    let before_ns = unix_ns();
    measure(&plan, &lab, &mut writer, &mut Recorded::default()).unwrap();
    let after_ns = unix_ns();
    writer.finish().unwrap();
    let run = store::read(&an_hour_old).unwrap();
    let phase = run.points[0].phase(Phase::Run).unwrap();
    let [start_ns, end_ns] = [phase.start, phase.end].map(|at| run.meta.started_unix_ms * 1_000_000 + at.0);
    assert!(before_ns <= start_ns && end_ns <= after_ns, "{before_ns} {start_ns} {end_ns} {after_ns}");
}

/// Of an idle engine every arrival is served, and the phase lasts as long as was asked.
#[test]
fn an_open_loop_of_few_arrivals_lasts_as_long_as_was_asked() {
    for arrivals in ["constant", "poisson"] {
        let (lab, plan) = (Lab::new(), plan_of("file", &[("rate", "20"), ("arrivals", arrivals), ("clients", "4")]));
        let (run_file, mut writer) = lab.create(&plan);
        measure(&plan, &lab, &mut writer, &mut Recorded::default()).unwrap();
        writer.finish().unwrap();
        let run = store::read(&run_file).unwrap();
        let phase = run.points[0].phase(Phase::Run).unwrap();
        assert_eq!(phase.end.since(phase.start), plan.trials[0].phases.run);
        assert_eq!((phase.offered, phase.unserved), (ops(&run.points[0]), 0));
    }
}

#[test]
fn equal_trials_need_a_complete_point_each() {
    let (lab, mut plan) = (Lab::new(), plan_of("file", &[("time", "400ms")]));
    plan.trials.push(plan.trials[0].clone());
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded { stop_in: Some((2, Arc::default())), ..Recorded::default() };
    measure(&plan, &lab, &mut writer, &mut recorded).unwrap_err();
    writer.finish().unwrap();
    let environment = runner::describe_environment(&lab.site, &mut Recorded::default());
    let resumed = ResumedRun::open(&run_file, &lab.site, &environment, &runner::catalogue()).unwrap();
    assert_eq!(ids(&resumed.done), [PointId(1)]);
}

#[test]
fn a_run_whose_server_was_restored_is_not_resumed_without_that() {
    let (mut lab, plan) = (Lab::new(), plan_of("file", &[]));
    lab.site.restore = UserCommand::parse("/bin/restore copy").ok();
    let (run_file, writer) = runner::create_run(&plan, &[], None, &lab.site, &mut Recorded::default()).unwrap();
    writer.finish().unwrap();
    let open = |site: &RunSite| ResumedRun::open(&run_file, site, &[], &runner::catalogue());
    assert!(open(&lab.site).is_ok());
    let refused = open(&RunSite { restore: None, ..lab.site.clone() }).err().unwrap().to_string();
    assert!(
        refused.contains("`/bin/restore` restored the server") && refused.ends_with("add the same --restore"),
        "{refused}"
    );
}

#[test]
fn what_cannot_be_given_a_log_is_refused_before_it_is_restored() {
    let mut lab = Lab::new();
    let (log, restored) = (lab.site.dir.join("a.log"), lab.site.dir.join("restored"));
    std::fs::write(&log, "2024-03-01T10:00:00.0Z\t    8 Query\tSELECT 1\n").unwrap();
    let plan = plan_of("replay-sql", &[("log", log.to_str().unwrap())]);
    lab.site.restore = UserCommand::parse(&format!("touch '{}'", restored.display())).ok();
    let (_, mut writer) = runner::create_run(&plan, &[], None, &lab.site, &mut Recorded::default()).unwrap();
    let refused = measure(&plan, &lab, &mut writer, &mut Recorded::default()).unwrap_err().to_string();
    writer.finish().unwrap();
    assert!(refused.contains("needs a server that holds a copy"), "{refused}");
    assert!(!restored.exists(), "the command has run");
}

/// Doubles the clients until there are four.
struct Doubling(Trial);

impl Strategy for Doubling {
    fn next(&mut self, done: &[PointId]) -> Result<Option<Trial>, RunnerError> {
        let mut trial = self.0.clone();
        trial.load.clients = 1 << done.len();
        Ok((trial.load.clients <= 4).then_some(trial))
    }
}

#[test]
fn a_strategy_decides_the_next_trial_by_the_points_that_are_done_and_each_point_keeps_its_own_trial() {
    let (lab, plan) = (Lab::new(), plan_of("file", &[]));
    let (run_file, mut writer) = lab.create(&plan);
    let mut recorded = Recorded::default();
    let (stop, observer) = (Arc::default(), &mut recorded);
    let session = RunSession { plan: &plan, site: &lab.site, writer: &mut writer, stop, observer, interruption: None };
    session.measure(&mut Doubling(plan.trials[0].clone())).unwrap();
    writer.finish().unwrap();
    let run = store::read(&run_file).unwrap();
    assert_eq!(run.points.iter().map(|point| point.trial.load.clients).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(run.meta.plan.trials.len(), 1, "the plan is what was asked for");
}

#[test]
fn a_run_until_steady_ends_when_it_is_steady() {
    let steady = [("until", "steady"), ("round", "100ms"), ("rounds_max", "200"), ("service", "1ms")];
    let (lab, plan) = (Lab::new(), plan_of("file", &steady));
    let (run_file, mut writer) = lab.create(&plan);
    measure(&plan, &lab, &mut writer, &mut Recorded::default()).unwrap();
    writer.finish().unwrap();
    let run = store::read(&run_file).unwrap();
    let phase = run.points[0].phase(Phase::Run).unwrap();
    let seconds = phase.end.since(phase.start).as_secs_f64();
    assert!((0.5..19.0).contains(&seconds), "{seconds}");
}
