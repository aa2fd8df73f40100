//! Progress on stderr: a live view on a terminal, one line for each point that is over elsewhere, one each second with `--plain`, nothing
//! when quiet.
//!
//! In: the plan and the events of its run. Out: what is running, how fast, how long it still takes, and the row of each point when it ends.
//! Limits: it is called by the thread that records, once an interval. What it hands to the live view is drawn by a thread of its own. A
//! terminal that shows no live view (TERM=dumb, stdin or stdout elsewhere, a job in the background) has a bar.

pub mod chores;
mod ended;
mod first_round;
pub mod left;
mod loading;
pub mod machine;
mod probes;
pub mod sums;

use super::label;
use super::live::{CellMark, LiveEvent, LivePlan, LiveView, screen};
use crate::context::Context;
use ended::{EndedPoints, mark_of};
use first_round::{FirstRound, is_after_first_round};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use left::{Planned, left, per_s};
use load::Stop;
use loading::{LoadSecond, LoadedRows};
use model::{
    Bytes, CounterSample, Event, EventKind, IntervalRow, Nanos, OpClass, Params, Phase, Plan, PointState, Tick, Trial,
};
use runner::{DonePoint, PointEnd, RunEvent, RunObserver};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::PointId;
use sums::IntervalSums;

/// Where a run is.
pub struct ProgressDisplay {
    show: Show,
    planned: Vec<Planned>,
    /// How many rows the load of a trial makes.
    rows_to_load: fn(workload: &str, params: &Params) -> Option<u64>,
    /// Those of the current point.
    loaded: LoadedRows,
    labels: Vec<String>,
    /// The trials of the plan.
    trials: Vec<Trial>,
    /// Set if the run may end before all of them are measured.
    early_end: Option<EarlyEnd>,
    /// Its first round, if it has a budget, until that is shown.
    first_round: Option<FirstRound>,
    /// The trials that are over: measured, skipped, or complete before the run was resumed.
    over: BTreeSet<usize>,
    ended: EndedPoints,
    /// The notes that were shown.
    noted: BTreeSet<String>,
    /// The number of the current trial in the plan, from 0.
    point: usize,
    label: String,
    /// What its operations do, in the order of their kinds.
    classes: Vec<OpClass>,
    phase: Phase,
    /// When the first phase of the point began that has a planned length; `None` while its data is made.
    load_began: Option<Instant>,
    /// Operations done in this phase.
    done: u64,
    /// Since the last line.
    sums: IntervalSums,
    since: Instant,
    /// The last moment of the point that an interval reached.
    last_at: Option<Tick>,
}

/// When a run ends that goes on until it is sure.
#[derive(Clone, Copy)]
enum EarlyEnd {
    /// At the latest when its budget is spent.
    By(Instant),
    /// At the latest after all trials.
    AfterAll,
}

enum Show {
    Nothing,
    /// A line for each point that is over, and one each minute of a load.
    Points,
    /// The same, and a line each second.
    Lines,
    Bar(ProgressBar),
    Live(LiveView),
}

/// Prints the notes of what has no progress to show.
pub struct NotesOnly<'a>(pub &'a Context);

impl RunObserver for NotesOnly<'_> {
    fn on(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Note(text) = event {
            self.0.note(text);
        }
    }
}

/// How often the progress is updated. Less than a second, because intervals of a second come a little early or late.
const LINE_EVERY: Duration = Duration::from_millis(900);
const BAR_EVERY: Duration = Duration::from_millis(200);
/// How often a long load has a line where points have one each.
const LOAD_LINE_EVERY: Duration = Duration::from_secs(60);

/// A point that may last so long ends by its work.
const DAY_S: f64 = 86_400.0;

impl ProgressDisplay {
    /// The progress of `plan`, of which the points `done` are complete. The live view can skip a point through `stop`.
    pub fn start(plan: &Plan, done: &[DonePoint], stop: &Arc<Stop>, context: &Context) -> ProgressDisplay {
        let known = |trial: &Trial| Planned {
            seconds: plan::expected_seconds(trial, &context.catalogue).filter(|seconds| *seconds < DAY_S),
            // The probes of a search end with their time, whatever they replay.
            ops: (context.catalogue.run_ops)(&trial.workload.name, &trial.workload.params)
                .filter(|_| trial.limit.is_none()),
        };
        let over: BTreeSet<usize> = done.iter().map(|done| done.trial).collect();
        ProgressDisplay {
            show: choose(plan, &over, stop, context),
            planned: plan.trials.iter().map(known).collect(),
            rows_to_load: context.catalogue.load_rows,
            loaded: LoadedRows::default(),
            labels: label::all(plan),
            trials: plan.trials.clone(),
            early_end: plan.sure.as_ref().map(|sure| match sure.budget {
                Some(Nanos(budget)) => EarlyEnd::By(Instant::now() + Duration::from_nanos(budget)),
                None => EarlyEnd::AfterAll,
            }),
            first_round: FirstRound::of_plan(plan, &over),
            over,
            ended: EndedPoints::new(context.width_of_stderr()),
            noted: BTreeSet::new(),
            point: 0,
            label: String::new(),
            classes: Vec::new(),
            phase: Phase::Prepare,
            load_began: None,
            done: 0,
            sums: IntervalSums::default(),
            since: Instant::now(),
            last_at: None,
        }
    }

    /// Earlier sessions of the run have taken `spent` of its time.
    pub fn deduct(&mut self, spent: Nanos) {
        if let Some(EarlyEnd::By(end)) = &mut self.early_end {
            *end = end.checked_sub(Duration::from_nanos(spent.0)).unwrap_or(*end);
        }
    }

    /// The run is recorded in `run_file`, from which the points that ended are read.
    pub fn follow(&mut self, run_file: &Path) {
        if matches!(self.show, Show::Nothing) {
            return;
        }
        self.ended.follow(run_file);
        if let Show::Live(view) = &self.show {
            view.send(LiveEvent::Disk(self.ended.ceilings(&self.trials)));
            view.send(LiveEvent::Recorded(run_file.to_owned()));
        }
    }

    /// The point of `trial` begins; `nth` points are complete before it.
    fn point(&mut self, nth: usize, trial: &Trial) {
        self.tell_first_round(trial);
        let probe = trial.limit.as_ref().and_then(|limit| limit.probe);
        let mut equal = self.trials.iter().enumerate().filter(|(_, planned)| *planned == trial).map(|(nth, _)| nth);
        // Repeats may be equal; the probes of a search are many points, and one trial of the plan.
        let in_plan = equal.clone().find(|nth| !self.over.contains(nth)).or(equal.next()).unwrap_or(nth);
        let nth = probe.map_or(in_plan, |probe| probe.search as usize);
        self.end_search_before(nth);
        self.label = self.labels.get(nth).cloned().unwrap_or_default();
        if let Some(probe) = probe {
            self.label = format!("{}, {}", self.label, probes::probe_words(trial, probe));
        }
        (self.point, self.load_began) = (nth, None);
        self.classes.clear();
        if let Show::Live(view) = &self.show {
            view.send(LiveEvent::PointBegan { trial: nth, label: self.label.clone() });
        }
        self.phase(Phase::Prepare);
    }

    /// The table of the first round, if that is over when `next` begins.
    fn tell_first_round(&mut self, next: &Trial) {
        let (Some(EarlyEnd::By(end)), true) = (self.early_end, !matches!(self.show, Show::Nothing)) else { return };
        let Some(round) = self.first_round.take_if(|_| is_after_first_round(next)) else { return };
        let table = self.ended.table_so_far();
        if table.is_empty() {
            return;
        }
        let left = end.saturating_duration_since(Instant::now());
        let heading = report::wrapped(&round.heading(Nanos(left.as_nanos() as u64)), self.ended.width());
        let lines: Vec<String> = heading.into_iter().chain(table).collect();
        match &self.show {
            Show::Nothing => {}
            Show::Points | Show::Lines => lines.iter().for_each(crate::output::say),
            Show::Bar(bar) => bar.suspend(|| lines.iter().for_each(crate::output::say)),
            Show::Live(view) => view.send(LiveEvent::FirstLook(lines)),
        }
    }

    /// A search is over when another trial begins, and its cell in the grid with it.
    fn end_search_before(&mut self, next: usize) {
        let is_search = self.trials.get(self.point).is_some_and(|trial| trial.limit.is_some());
        if is_search && next != self.point && self.over.insert(self.point) {
            self.mark(self.point, CellMark::Done);
        }
    }

    fn mark(&self, trial: usize, mark: CellMark) {
        if let Show::Live(view) = &self.show {
            view.send(LiveEvent::Marked { trial, mark });
        }
    }

    /// Its next phase begins.
    fn phase(&mut self, phase: Phase) {
        (self.phase, self.done, self.since, self.last_at) = (phase, 0, Instant::now(), None);
        self.sums.clear();
        if phase != Phase::Prepare && self.load_began.is_none() {
            self.load_began = Some(Instant::now());
        }
        if let Show::Live(view) = &self.show {
            view.send(LiveEvent::PhaseBegan { phase, planned: self.length_of(phase), left: self.left() });
        }
    }

    /// How many rows the load of the current point makes; `None` if that is not known.
    fn rows_of_load(&self) -> Option<u64> {
        let trial = self.trials.get(self.point)?;
        let each = (self.rows_to_load)(&trial.workload.name, &trial.workload.params)?;
        Some(each * u64::from(trial.target.instances))
    }

    /// The planned length of a phase of the current point; `None` if its work ends it.
    fn length_of(&self, phase: Phase) -> Option<Nanos> {
        let phases = &self.trials.get(self.point)?.phases;
        let length = match phase {
            Phase::Warmup => phases.warmup,
            // A load lasts until its rows are in: the length of its phase is only a bound.
            Phase::Run if self.planned.get(self.point)?.seconds.is_none() => return None,
            Phase::Run => phases.run,
            Phase::Prepare | Phase::Cleanup => return None,
        };
        (length.as_secs_f64() < DAY_S).then_some(length)
    }

    /// An interval is over.
    fn interval(&mut self, rows: &[IntervalRow], counters: &[CounterSample], events: &[Event], at: Option<Tick>) {
        if matches!(self.show, Show::Nothing) {
            return;
        }
        self.done += self.sums.add(rows, &self.classes, counters);
        if self.phase == Phase::Prepare {
            self.loaded.add(rows);
        }
        self.events(events);
        let every = match self.show {
            Show::Bar(_) => BAR_EVERY,
            Show::Points => LOAD_LINE_EVERY,
            _ => LINE_EVERY,
        };
        let passed = self.since.elapsed();
        // Nothing comes while indexes are made, so that this is seen until then.
        let is_last_of_load = self.loaded.is_complete_now() && !matches!(self.show, Show::Points);
        if passed >= every || is_last_of_load {
            self.update(passed, at);
            self.since = Instant::now();
        }
    }

    /// What the engine and the machine reported, for the live view: tables and reports have it later.
    fn events(&self, events: &[Event]) {
        let Show::Live(view) = &self.show else { return };
        for event in events.iter().filter(|event| !matches!(event.kind, EventKind::Phase | EventKind::OwnGapEnd)) {
            let text = format!("{}: {}", self.label, event.text);
            view.send(match event.kind {
                EventKind::Engine => LiveEvent::log_line(text),
                _ => LiveEvent::note(text),
            });
        }
    }

    fn update(&mut self, passed: Duration, at: Option<Tick>) {
        let took = at.zip(self.last_at).map_or(passed, |(at, last)| Duration::from_nanos(at.since(last).0));
        self.last_at = at;
        let mut second = self.sums.take(took, &self.classes);
        let (left, mut stage) = (self.left(), None);
        if self.phase == Phase::Prepare {
            // An operation of a load writes many rows or blocks at once: its rate is not that of the run.
            second.noun = "writes";
            if let Some(LoadSecond { rows_per_s, text }) = self.loaded.take(took.as_secs_f64().max(1e-6)) {
                (second.noun, second.ops_per_s, stage) = ("rows", rows_per_s, Some(text));
            }
        }
        let rate = format!("{} {}/s", per_s(second.ops_per_s), second.noun);
        let phase = self.phase.as_str();
        match &self.show {
            Show::Nothing => {}
            Show::Points => {
                stage.into_iter().for_each(|text| crate::output::say(format_args!("{}: {text}", self.label)));
            }
            Show::Lines => {
                let now = stage.unwrap_or_else(|| format!("{phase}, {rate}, {left}"));
                crate::output::say(format_args!("[{}] {}: {now}", self.number(), self.label));
            }
            Show::Bar(bar) => {
                bar.set_position(self.over.len() as u64);
                let now = stage.unwrap_or_else(|| format!("{left}  {rate}"));
                bar.set_message(format!("{now}  {}: {phase}", self.label));
            }
            Show::Live(view) if view.is_open() => {
                view.send(LiveEvent::Second { second: Box::new(second), left });
                stage.into_iter().for_each(|text| view.send(LiveEvent::Stage(text)));
            }
            // A panic has left the screen to its message.
            Show::Live(_) => self.show = Show::Lines,
        }
    }

    /// After its last phase, what the point has written is read back.
    fn reading_back(&mut self, done: Bytes, total: Bytes) {
        if self.since.elapsed() < LINE_EVERY {
            return;
        }
        let part = format!("verify {} % of {total}", done.0 * 100 / total.0.max(1));
        match &self.show {
            Show::Nothing | Show::Points => {}
            Show::Lines => {
                crate::output::say(format_args!("[{}] {}: {part}", self.number(), self.label));
            }
            Show::Bar(bar) => bar.set_message(format!("{part}  {}", self.label)),
            Show::Live(view) => view.send(LiveEvent::Stage(part)),
        }
        self.since = Instant::now();
    }

    /// The point is over. If the engine works on for the next one, its row waits: to judge a point takes CPU time.
    fn point_ended(&mut self, point: Option<PointId>, end: PointEnd, is_continued: bool) {
        let is_search = self.trials.get(self.point).is_some_and(|trial| trial.limit.is_some());
        if !is_search || end != PointEnd::Recorded(PointState::Complete) {
            self.over.insert(self.point);
        }
        if let (Some(round), PointEnd::Recorded(PointState::Complete)) = (&mut self.first_round, end) {
            round.note_measured();
        }
        if matches!(self.show, Show::Nothing) {
            return;
        }
        if !is_search {
            self.mark(self.point, mark_of(end));
        }
        self.ended.extend(point.filter(|_| !is_search), self.point, &self.label);
        if !is_continued {
            self.judge_ended();
        }
    }

    fn judge_ended(&mut self) {
        let (points, findings) = self.ended.judge();
        match &self.show {
            Show::Nothing => {}
            Show::Points | Show::Lines => self.ended.lines(&points).iter().for_each(crate::output::say),
            Show::Bar(bar) => {
                let lines = self.ended.lines(&points);
                bar.suspend(|| lines.iter().for_each(crate::output::say));
            }
            Show::Live(view) => {
                points.into_iter().for_each(|point| view.send(LiveEvent::Judged(Box::new(point))));
                findings.into_iter().for_each(|note| view.send(LiveEvent::Note(note)));
            }
        }
    }

    /// Something that is worth a line.
    fn line(&self, line: String) {
        match &self.show {
            Show::Nothing => {}
            Show::Points | Show::Lines => crate::context::tell(line),
            Show::Bar(bar) => bar.suspend(|| crate::context::tell(line)),
            Show::Live(view) => view.send(LiveEvent::note(line)),
        }
    }

    /// The last point is over.
    fn finish(&mut self) {
        self.judge_ended();
        // What happens when the machine is put back is worth a line, too.
        match std::mem::replace(&mut self.show, Show::Points) {
            Show::Nothing => self.show = Show::Nothing,
            Show::Points | Show::Lines => {}
            Show::Bar(bar) => bar.finish_and_clear(),
            Show::Live(view) => drop(view),
        }
    }

    /// `3/24`, or `3` if the run may end before all points are measured.
    fn number(&self) -> String {
        let nth = self.point + 1;
        if self.early_end.is_some() { nth.to_string() } else { format!("{nth}/{}", self.planned.len()) }
    }

    /// The work left, as far as it is known.
    fn left(&self) -> String {
        if let Some(EarlyEnd::By(end)) = self.early_end {
            let left = end.saturating_duration_since(Instant::now());
            return format!("at most {} left", left::clock(left.as_secs_f64()));
        }
        // A search may measure more points than its plan names.
        let is_left = |nth: &usize| *nth != self.point && !self.over.contains(nth);
        let own = self.planned.get(self.point);
        let others = (0..self.planned.len()).filter(is_left).map(|nth| &self.planned[nth]);
        let planned: Vec<Planned> = own.into_iter().chain(others).copied().collect();
        let ops = own.and_then(|point| point.ops).filter(|_| self.phase == Phase::Run);
        let passed_s = self.load_began.map(|began| began.elapsed().as_secs_f64());
        left(&planned, passed_s, ops.map(|ops| (self.done, ops)), self.early_end.is_some())
    }
}

impl RunObserver for ProgressDisplay {
    fn on(&mut self, event: RunEvent<'_>) {
        match event {
            // What is noted of a server comes again with each of its points.
            RunEvent::Note(text) if !self.noted.insert(text.to_owned()) => {}
            RunEvent::Note(text) => self.line(format!("plimsoll: {text}")),
            RunEvent::PointBegan { number, trial } => self.point(number, trial),
            RunEvent::PointOpened { kinds, sources, process } => {
                self.classes = kinds.iter().map(|kind| kind.class).collect();
                self.loaded = LoadedRows::new(kinds, self.rows_of_load());
                self.sums.open(sources, process);
            }
            RunEvent::PhaseBegan(phase) => self.phase(phase),
            RunEvent::Interval { rows, counters, events, at } => self.interval(rows, counters, events, at),
            RunEvent::ReadingBack { done, total } => self.reading_back(done, total),
            RunEvent::ProbeJudged(probe) => self.line(probes::probe_line(probe)),
            RunEvent::PointEnded { point, end, is_continued } => self.point_ended(point, end, is_continued),
            RunEvent::SessionEnded => self.finish(),
        }
    }
}

/// How the progress of `plan` is shown here.
fn choose(plan: &Plan, over: &BTreeSet<usize>, stop: &Arc<Stop>, context: &Context) -> Show {
    if context.quiet {
        return Show::Nothing;
    }
    if context.plain {
        return Show::Lines;
    }
    if !std::io::stderr().is_terminal() {
        return Show::Points;
    }
    let (plan_points, plan) = (plan.trials.len() as u64, LivePlan::new(plan, over, context.colour()));
    let view = screen::is_possible()
        .then(|| LiveView::open(plan, stop.clone(), context.width_of_stderr()))
        .and_then(Result::ok);
    view.map_or_else(|| Show::Bar(bar(plan_points)), Show::Live)
}

fn bar(points: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:16} {pos}/{len}  {wide_msg}").expect("the template is right");
    ProgressBar::with_draw_target(Some(points), ProgressDrawTarget::stderr()).with_style(style)
}
