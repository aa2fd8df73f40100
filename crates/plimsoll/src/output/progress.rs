//! Progress on stderr: a bar with the time left on a terminal, one line a second elsewhere, nothing when quiet.
//!
//! In: the plan, the rows of each interval. Out: what is running, how fast, how long it still takes.
//! Limits: the time left is that of warmup and run phases. How long it takes to make data is not known before, nor how long a point takes
//! that ends when its rows are inserted: the time left is then `at least` so much, and the operations done are shown.

use super::label;
use crate::context::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::limit::{Judgement, LimitProbe, ProbeFault, ProbeKind, ProbePart};
use model::{Bytes, IntervalRow, KindRow, OpClass, Pacing, Phase, Plan, Trial, units::three_digits};
use runner::{RunEvent, RunObserver};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Where a run is.
pub struct ProgressDisplay {
    show: Show,
    planned: Vec<Planned>,
    labels: Vec<String>,
    /// The trials of the plan.
    trials: Vec<Trial>,
    point: usize,
    label: String,
    /// What its operations do, in the order of their kinds.
    classes: Vec<OpClass>,
    phase: Phase,
    /// When the first phase of the point began that has a planned length; `None` while its data is made.
    load_began: Option<Instant>,
    /// In this phase.
    done: u64,
    /// Since the last line.
    ops: u64,
    since: Instant,
}

/// The expected length of a point.
#[derive(Clone, Copy)]
struct Planned {
    /// How long it takes at most, or usually if it is a search; `None` if that is unknown.
    seconds: Option<f64>,
    /// How many operations its run has; `None` if its time ends it.
    ops: Option<u64>,
}

enum Show {
    Nothing,
    Lines,
    Bar(ProgressBar),
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

/// How often the progress is updated.
const LINE_EVERY: Duration = Duration::from_secs(1);
const BAR_EVERY: Duration = Duration::from_millis(200);

/// A point that may last so long ends by its work.
const DAY_S: f64 = 86_400.0;

impl ProgressDisplay {
    /// The progress of `plan`.
    pub fn start(plan: &Plan, context: &Context) -> ProgressDisplay {
        let known = |trial: &Trial| Planned {
            seconds: plan::expected_seconds(trial, &context.catalogue).filter(|seconds| *seconds < DAY_S),
            ops: (context.catalogue.run_ops)(&trial.workload.name, &trial.workload.params),
        };
        let planned = plan.trials.iter().map(known).collect();
        let show = match (context.quiet, std::io::stderr().is_terminal()) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => Show::Bar(bar(plan.trials.len() as u64)),
        };
        let now = Instant::now();
        ProgressDisplay {
            show,
            planned,
            labels: label::all(plan),
            trials: plan.trials.clone(),
            point: 0,
            label: String::new(),
            classes: Vec::new(),
            phase: Phase::Prepare,
            load_began: None,
            done: 0,
            ops: 0,
            since: now,
        }
    }

    /// The point of `trial` begins; `nth` points are complete before it.
    fn point(&mut self, nth: usize, trial: &Trial) {
        let probe = trial.limit.as_ref().and_then(|limit| limit.probe);
        // The probes of a search are many points, and one trial of the plan.
        let in_plan = self.trials.iter().position(|planned| planned == trial).unwrap_or(nth);
        let nth = probe.map_or(in_plan, |probe| probe.search as usize);
        self.label = self.labels.get(nth).cloned().unwrap_or_default();
        if let Some(probe) = probe {
            self.label = format!("{}, {}", self.label, probe_words(trial, probe));
        }
        (self.point, self.load_began) = (nth, None);
        self.classes.clear();
        self.phase(Phase::Prepare);
    }

    /// A search has judged its last probe: a line of its table.
    fn probe(&self, probe: &LimitProbe) {
        let line = probe_line(probe);
        match &self.show {
            Show::Nothing => {}
            Show::Lines => crate::output::say(line),
            Show::Bar(bar) => bar.suspend(|| crate::output::say(line)),
        }
    }

    /// Its next phase begins.
    fn phase(&mut self, phase: Phase) {
        (self.phase, self.done, self.ops, self.since) = (phase, 0, 0, Instant::now());
        if phase != Phase::Prepare && self.load_began.is_none() {
            self.load_began = Some(Instant::now());
        }
    }

    /// An interval is over.
    fn interval(&mut self, rows: &[IntervalRow]) {
        let ops = count_ops(rows, &self.classes);
        (self.ops, self.done) = (self.ops + ops, self.done + ops);
        let every = if matches!(self.show, Show::Bar(_)) { BAR_EVERY } else { LINE_EVERY };
        let passed = self.since.elapsed();
        if passed < every {
            return;
        }
        let rate = format!("{} {}/s", per_s(self.ops as f64 / passed.as_secs_f64()), noun_of(&self.classes));
        let (points, left) = (self.planned.len(), self.left());
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                let (nth, phase) = (self.point + 1, self.phase.as_str());
                crate::output::say(format_args!("[{nth}/{points}] {}: {phase}, {rate}, {left}", self.label));
            }
            Show::Bar(bar) => {
                bar.set_position(self.point as u64);
                bar.set_message(format!("{left}  {rate}  {}: {}", self.label, self.phase.as_str()));
            }
        }
        (self.ops, self.since) = (0, Instant::now());
    }

    /// After its last phase, what the point has written is read back.
    fn reading_back(&mut self, done: Bytes, total: Bytes) {
        if self.since.elapsed() < LINE_EVERY {
            return;
        }
        let part = format!("verify {} % of {total}", done.0 * 100 / total.0.max(1));
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                let (nth, points) = (self.point + 1, self.planned.len());
                crate::output::say(format_args!("[{nth}/{points}] {}: {part}", self.label));
            }
            Show::Bar(bar) => bar.set_message(format!("{part}  {}", self.label)),
        }
        self.since = Instant::now();
    }

    /// The last point is over.
    fn finish(&self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }

    /// The work left, as far as it is known.
    fn left(&self) -> String {
        // A search may measure more points than its plan names.
        let planned = self.planned.get(self.point..).unwrap_or_default();
        let ops = planned.first().and_then(|point| point.ops).filter(|_| self.phase == Phase::Run);
        left(planned, self.load_began.map(|began| began.elapsed().as_secs_f64()), ops.map(|ops| (self.done, ops)))
    }
}

impl RunObserver for ProgressDisplay {
    fn on(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Note(_) if matches!(self.show, Show::Nothing) => {}
            RunEvent::Note(text) => crate::output::say(format_args!("plimsoll: {text}")),
            RunEvent::PointBegan { number, trial } => self.point(number, trial),
            RunEvent::PointOpened(kinds) => self.classes = kinds.iter().map(|kind| kind.class).collect(),
            RunEvent::PhaseBegan(phase) => self.phase(phase),
            RunEvent::Interval(rows) => self.interval(rows),
            RunEvent::ReadingBack { done, total } => self.reading_back(done, total),
            RunEvent::ProbeJudged(probe) => self.probe(probe),
            RunEvent::PointEnded(_) => {}
            RunEvent::SessionEnded => self.finish(),
        }
    }
}

/// The operations in `rows` that were done, each turn once: its further steps are no operations of their own.
fn count_ops(rows: &[IntervalRow], classes: &[OpClass]) -> u64 {
    let is_step = |kind: &KindRow| classes.get(usize::from(kind.kind)) == Some(&OpClass::Step);
    rows.iter().flat_map(|row| &row.kinds).filter(|kind| !is_step(kind)).map(|kind| kind.ok).sum()
}

/// The word for operations that do this.
fn noun_of(classes: &[OpClass]) -> &'static str {
    if classes.contains(&OpClass::Connect) { "connections" } else { "ops" }
}

/// The time left of the first point in `planned`, of whose load `passed_s` are over, and of those after it; and how many of its operations
/// are done. While its data is made (`passed_s` is `None`) all of its load is left, and more. A phase may end before its time, none lasts
/// longer.
fn left(planned: &[Planned], passed_s: Option<f64>, done: Option<(u64, u64)>) -> String {
    let own = planned.first().and_then(|own| own.seconds).map_or(0.0, |own| own - passed_s.unwrap_or(0.0).min(own));
    let others: f64 = planned.iter().skip(1).filter_map(|point| point.seconds).sum();
    let is_more = passed_s.is_none() || planned.iter().any(|point| point.seconds.is_none());
    let done = done.map(|(done, ops)| format!("{} of {} ops", count(done), count(ops)));
    let time = match (is_more, clock(own + others)) {
        (true, time) if time == clock(0.0) => None,
        (true, time) => Some(format!("at least {time} left")),
        (false, time) => Some(format!("{time} left")),
    };
    let parts: Vec<String> = [done, time].into_iter().flatten().collect();
    if parts.is_empty() { "time left unknown".to_owned() } else { parts.join(", ") }
}

/// `probe 3 at 1.44k/s`: which probe of a search is measured.
fn probe_words(trial: &Trial, probe: ProbePart) -> String {
    let rate = match trial.load.pacing {
        Pacing::Closed { .. } => "as fast as it can".to_owned(),
        Pacing::Open { arrivals } => format!("at {}/s", per_s(arrivals.per_s())),
    };
    match probe.kind {
        ProbeKind::Hold => format!("hold {rate}"),
        ProbeKind::Closed | ProbeKind::Probe => format!("probe {} {rate}", probe.nth),
    }
}

/// `probe   1.44k/s   kept`: what a search makes of a probe.
fn probe_line(probe: &LimitProbe) -> String {
    let rate = probe.offered_per_s.map_or_else(
        || format!("closed loop: {}/s at most", per_s(probe.done_per_s)),
        |offered| format!("{:<6} {:>7}/s", probe.kind.as_str(), per_s(offered)),
    );
    let verdict = match (&probe.fault, &probe.judgement) {
        (Some(ProbeFault::OwnGaps { length }), _) => format!("  void: plimsoll itself did not run for {length}"),
        (Some(ProbeFault::Stolen { length }), _) => format!("  void: the hypervisor took {length} of CPU time"),
        (Some(ProbeFault::Lag { mean }), _) => format!("  void: the clients woke up {mean} late on average"),
        (None, None) => String::new(),
        (None, Some(Judgement::Kept)) => "  kept".to_owned(),
        (None, Some(Judgement::Missed(criterion))) => format!("  missed: {criterion}"),
        // Another measurement decides a probe, but not a hold.
        (None, Some(Judgement::Undecided { on, value_keeps })) => match (probe.kind, value_keeps) {
            (ProbeKind::Hold, true) => "  kept, though its interval leaves it open".to_owned(),
            (ProbeKind::Hold, false) => format!("  missed, though its interval leaves it open: {on}"),
            _ => format!("  undecided: {on}"),
        },
    };
    let debt = probe
        .debt_growth_per_s
        .map_or_else(String::new, |growth| format!("; the writes put off grew by {} a second", Bytes(growth as u64)));
    let cut = if probe.ended_early { " (ended early: the backlog grew)" } else { "" };
    format!("{rate}{verdict}{cut}{debt}")
}

fn bar(points: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:16} {pos}/{len}  {wide_msg}").expect("the template is right");
    ProgressBar::with_draw_target(Some(points), ProgressDrawTarget::stderr()).with_style(style)
}

/// `38.2k`: a rate for people.
fn per_s(rate: f64) -> String {
    match rate {
        rate if rate >= 999_500.0 => format!("{}M", three_digits(rate / 1e6)),
        rate if rate >= 999.5 => format!("{}k", three_digits(rate / 1e3)),
        rate => three_digits(rate),
    }
}

/// `12.0k`: a whole number for people.
fn count(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { per_s(number as f64) }
}

fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Generator, Nanos, OpKind, Tick};

    #[test]
    fn the_steps_of_a_connection_count_once() {
        let kinds = (0..3).zip([20, 19, 18]).map(|(nth, ok)| KindRow { ok, ..KindRow::empty(OpKind(nth)) });
        let rows = [IntervalRow {
            phase: Phase::Run,
            index: 0,
            start: Tick(0),
            length: Nanos::from_millis(1_000),
            kinds: kinds.collect(),
            generator: Generator::default(),
        }];
        let turn = [OpClass::Connect, OpClass::Step, OpClass::Step];
        assert_eq!((count_ops(&rows, &turn), noun_of(&turn)), (20, "connections"));
        let others = [OpClass::Read; 3];
        assert_eq!((count_ops(&rows, &others), noun_of(&others)), (57, "ops"));
    }

    #[test]
    fn the_time_left_is_shown_if_it_is_known_and_the_operations_if_they_are() {
        let timed = |seconds| Planned { seconds: Some(seconds), ops: None };
        let counted = Planned { seconds: None, ops: Some(20_000) };
        let (both, at) = ([timed(30.0), timed(60.0)], Some);
        assert_eq!(left(&both, at(10.0), None), "1:20 left");
        assert_eq!(left(&both, at(99.0), None), "1:00 left", "it waits for the current point");
        assert_eq!(left(&both, None, None), "at least 1:30 left", "making the data takes a time of its own");
        let done = Some((12_000, 20_000));
        assert_eq!(left(&[counted, timed(60.0)], at(7.0), done), "12.0k of 20.0k ops, at least 1:00 left");
        assert_eq!(left(&[counted], at(7.0), Some((56, 400))), "56 of 400 ops");
        assert_eq!(left(&[timed(30.0), counted], at(0.0), None), "at least 0:30 left");
        assert_eq!(left(&[counted], None, None), "time left unknown");
    }

    #[test]
    fn rates_and_times_are_short() {
        assert_eq!([0.5, 999.0, 38_240.0, 1_500_000.0].map(per_s), ["0.50", "999", "38.2k", "1.50M"]);
        assert_eq!([0.2, 61.0, 3_599.6].map(clock), ["0:00", "1:01", "60:00"]);
    }
}
