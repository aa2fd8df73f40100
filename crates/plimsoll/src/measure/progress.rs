//! Progress on stderr: a bar with the time left on a terminal, one line a second elsewhere, nothing when quiet.
//!
//! In: the plan, the rows of each interval. Out: what is running, how fast, how long it still takes.
//! Limits: the time left is that of warmup and run phases; making data is not foreseen.

use crate::cli::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Bytes, IntervalRow, Phase, Plan, units::three_digits};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Where a run is.
pub struct Progress {
    show: Show,
    /// Planned seconds of each point, and of all before it.
    planned_s: Vec<(f64, f64)>,
    point: usize,
    label: String,
    phase: Phase,
    point_began: Instant,
    /// Since the last line.
    ops: u64,
    since: Instant,
}

enum Show {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

/// How often people look.
const LINE_EVERY: Duration = Duration::from_secs(1);
const BAR_EVERY: Duration = Duration::from_millis(200);

impl Progress {
    /// The progress of `plan`.
    pub fn start(plan: &Plan, context: &Context) -> Progress {
        let seconds =
            plan.trials.iter().map(|trial| trial.phases.warmup.as_secs_f64() + trial.phases.run.as_secs_f64());
        let with_before = seconds.scan(0.0, |before, own| {
            *before += own;
            Some((own, *before - own))
        });
        let planned_s = with_before.collect();
        let show = match (context.quiet, std::io::stderr().is_terminal()) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => Show::Bar(bar(plan.trials.len() as u64)),
        };
        let now = Instant::now();
        Progress {
            show,
            planned_s,
            point: 0,
            label: String::new(),
            phase: Phase::Prepare,
            point_began: now,
            ops: 0,
            since: now,
        }
    }

    /// Point number `nth`, from 0, called `label`, begins.
    pub fn point(&mut self, nth: usize, label: &str) {
        (self.point, self.label, self.point_began) = (nth, label.to_owned(), Instant::now());
        self.phase(Phase::Prepare);
    }

    /// Its next phase begins.
    pub fn phase(&mut self, phase: Phase) {
        (self.phase, self.ops, self.since) = (phase, 0, Instant::now());
    }

    /// An interval is over.
    pub fn interval(&mut self, rows: &[IntervalRow]) {
        self.ops += rows.iter().flat_map(|row| &row.kinds).map(|kind| kind.ok).sum::<u64>();
        let every = if matches!(self.show, Show::Bar(_)) { BAR_EVERY } else { LINE_EVERY };
        let passed = self.since.elapsed();
        if passed < every {
            return;
        }
        let rate = format!("{} ops/s", per_s(self.ops as f64 / passed.as_secs_f64()));
        let points = self.planned_s.len();
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                let (nth, phase) = (self.point + 1, self.phase.as_str());
                crate::output::say(format_args!(
                    "[{nth}/{points}] {} {phase} {rate}, {} left",
                    self.label,
                    clock(self.left_s())
                ));
            }
            Show::Bar(bar) => {
                bar.set_position(self.point as u64);
                bar.set_message(format!(
                    "{} left  {rate}  {} ({})",
                    clock(self.left_s()),
                    self.label,
                    self.phase.as_str()
                ));
            }
        }
        (self.ops, self.since) = (0, Instant::now());
    }

    /// After its last phase, what the point has written is read back.
    pub fn reading_back(&mut self, done: Bytes, total: Bytes) {
        if self.since.elapsed() < LINE_EVERY {
            return;
        }
        let part = format!("verify {} % of {total}", done.0 * 100 / total.0.max(1));
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                let (nth, points) = (self.point + 1, self.planned_s.len());
                crate::output::say(format_args!("[{nth}/{points}] {} {part}", self.label));
            }
            Show::Bar(bar) => bar.set_message(format!("{part}  {}", self.label)),
        }
        self.since = Instant::now();
    }

    /// The last point is over.
    pub fn finish(&self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }

    /// Planned seconds that are not over: a phase may end before its time, none lasts longer.
    fn left_s(&self) -> f64 {
        let total = self.planned_s.last().map_or(0.0, |(own, before)| own + before);
        let (own, before) = self.planned_s[self.point];
        total - before - self.point_began.elapsed().as_secs_f64().min(own)
    }
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

fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_are_short() {
        assert_eq!([0.5, 999.0, 38_240.0, 1_500_000.0].map(per_s), ["0.50", "999", "38.2k", "1.50M"]);
        assert_eq!([0.2, 61.0, 3_599.6].map(clock), ["0:00", "1:01", "60:00"]);
    }
}
