//! What a live view knows of its run.
//!
//! In: events, and what keys ask for. Out: the state that a page shows, and the lines that stay when the view closes. Limits: figures are
//! kept for ten minutes, notes for the last thousand; all are in the run file.

use super::event::{CellMark, EndedPoint, LiveEvent, LivePlan, Note};
use super::grid::PointGrid;
use crate::output::progress::left::clock_since;
use crate::output::progress::machine::DiskCeilings;
use crate::output::progress::sums::Second;
use crate::output::so_far;
use analysis::{Severity, Validity};
use model::{Nanos, Phase};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SECONDS_MAX: usize = 600;
const NOTES_MAX: usize = 1000;
/// How long the question whether to skip a point waits for its answer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A part of what is known, which fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenPanel {
    Overview,
    /// The answer of the points that are over.
    Answer,
    /// The rows of the points that are over.
    Points,
    Machine,
    Notes,
}

impl ScreenPanel {
    /// All in the order of their keys.
    pub const ALL: [ScreenPanel; 5] =
        [ScreenPanel::Overview, ScreenPanel::Answer, ScreenPanel::Points, ScreenPanel::Machine, ScreenPanel::Notes];

    pub fn name(self) -> &'static str {
        match self {
            ScreenPanel::Overview => "overview",
            ScreenPanel::Answer => "answer",
            ScreenPanel::Points => "points",
            ScreenPanel::Machine => "machine",
            ScreenPanel::Notes => "notes",
        }
    }

    /// The one after it.
    pub fn next(self) -> ScreenPanel {
        let nth = ScreenPanel::ALL.iter().position(|panel| *panel == self).unwrap_or(0);
        ScreenPanel::ALL[(nth + 1) % ScreenPanel::ALL.len()]
    }
}

/// What the user has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    None,
    /// Perhaps to skip the point: a second press of the key confirms it.
    PerhapsSkip(Instant),
    /// To skip the point.
    Skip,
    /// To end the run.
    Stop,
}

/// The answer of the points that are over, for a screen of this width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    pub points: usize,
    pub width: usize,
    pub lines: Vec<String>,
}

pub struct LiveState {
    /// The name of the plan.
    pub name: String,
    /// Whether to use colours.
    pub colour: bool,
    pub grid: PointGrid,
    /// When the view began.
    pub began: Instant,
    /// When the current phase began.
    pub phase_began: Instant,
    /// The current phase; `None` before the first point.
    pub phase: Option<Phase>,
    /// How long it is to last.
    pub planned: Option<Nanos>,
    pub label: String,
    /// What is done in a phase without a length.
    pub stage: Option<String>,
    pub left: String,
    /// The latest figures of the current point and of those before it; `None` where a point begins.
    pub seconds: VecDeque<Option<Second>>,
    /// What the disk can do.
    pub ceilings: DiskCeilings,
    /// The points that are over and judged.
    pub ended: Vec<EndedPoint>,
    /// Where the run is recorded, once that is known.
    pub run_file: Option<PathBuf>,
    /// The answer so far, when it was last looked at.
    pub answer: SoFar,
    /// Findings and notes, the oldest first.
    pub notes: VecDeque<Note>,
    /// What is on the screen.
    pub panel: ScreenPanel,
    /// Whether the keys are explained.
    pub is_helping: bool,
    /// How many lines the panel is scrolled up from its end.
    pub scroll: usize,
    /// What the user wants.
    pub wish: Wish,
    /// Whether another program has written over the screen.
    pub is_torn: bool,
    /// CPU time that the view itself has used, as a share of one core.
    pub own_share: f64,
}

impl LiveState {
    /// Before the first event, at the time `now`.
    pub fn new(plan: LivePlan, now: Instant) -> LiveState {
        LiveState {
            grid: PointGrid::new(plan.cells, &plan.done),
            name: plan.name,
            colour: plan.colour,
            began: now,
            phase_began: now,
            phase: None,
            planned: None,
            label: String::new(),
            stage: None,
            left: String::new(),
            seconds: VecDeque::new(),
            ceilings: DiskCeilings::default(),
            ended: Vec::new(),
            run_file: None,
            answer: SoFar::default(),
            notes: VecDeque::new(),
            panel: ScreenPanel::Overview,
            is_helping: false,
            scroll: 0,
            wish: Wish::None,
            is_torn: false,
            own_share: 0.0,
        }
    }

    /// Takes an event that came at `now`.
    pub fn take(&mut self, event: LiveEvent, now: Instant) {
        match event {
            LiveEvent::PointBegan { trial, label } => self.begin_point(trial, label),
            LiveEvent::PhaseBegan { phase, planned, left } => {
                (self.phase, self.phase_began, self.planned) = (Some(phase), now, planned);
                (self.left, self.stage) = (left, None);
            }
            LiveEvent::Second { second, left } => {
                self.left = left;
                self.add_second(Some(*second));
            }
            LiveEvent::Recorded(file) => self.run_file = Some(file),
            LiveEvent::Stage(part) => self.stage = Some(part),
            LiveEvent::Disk(ceilings) => self.ceilings = ceilings,
            LiveEvent::Note(note) => self.add_note(note),
            LiveEvent::FirstLook(lines) => self.add_first_look(lines),
            LiveEvent::Marked { trial, mark } => self.mark(trial, mark),
            LiveEvent::Judged(point) => {
                self.judge(&point);
                self.ended.push(*point);
            }
        }
    }

    fn begin_point(&mut self, trial: usize, label: String) {
        self.grid.begin(trial);
        self.label = label;
        if self.wish != Wish::Stop {
            self.wish = Wish::None;
        }
        if !self.seconds.is_empty() {
            self.add_second(None);
        }
    }

    fn mark(&mut self, trial: usize, mark: CellMark) {
        self.grid.mark(trial, mark);
        if self.wish != Wish::Stop {
            self.wish = Wish::None;
        }
    }

    /// A point that failed or was skipped keeps that mark, whatever its numbers are worth.
    fn judge(&mut self, point: &EndedPoint) {
        if self.grid.mark_of(point.trial) == Some(CellMark::Done) {
            self.grid.mark(
                point.trial,
                match point.analysis.validity {
                    Validity::Valid => CellMark::Valid,
                    Validity::Indicative => CellMark::Indicative,
                    Validity::Invalid => CellMark::Invalid,
                },
            );
        }
    }

    fn add_second(&mut self, second: Option<Second>) {
        self.seconds.push_back(second);
        while self.seconds.len() > SECONDS_MAX {
            self.seconds.pop_front();
        }
    }

    fn add_note(&mut self, note: Note) {
        // A finding may come again with each interval, and what is noted of a server with each of its starts.
        let is_known = match note.severity {
            Some(_) => self.notes.back() == Some(&note),
            None => self.notes.contains(&note),
        };
        if !is_known {
            self.notes.push_back(note);
        }
        self.forget_old_notes();
    }

    /// A table stays among the notes, and is shown at once to whoever looks at nothing else. Rows that are equal are no repetition.
    fn add_first_look(&mut self, lines: Vec<String>) {
        self.notes.extend(lines.into_iter().map(|text| Note { severity: None, text }));
        self.forget_old_notes();
        if self.panel == ScreenPanel::Overview {
            (self.panel, self.scroll) = (ScreenPanel::Notes, 0);
        }
    }

    fn forget_old_notes(&mut self) {
        while self.notes.len() > NOTES_MAX {
            self.notes.pop_front();
        }
    }

    /// The latest figures of the current point.
    pub fn latest(&self) -> Option<&Second> {
        self.seconds.back().and_then(Option::as_ref)
    }

    /// Whether a point is measured that can be skipped.
    pub fn is_measuring(&self) -> bool {
        self.grid.running().is_some()
    }

    /// Compares the CPU time of this thread with the time since the view began.
    pub fn measure_own_cost(&mut self) {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        let used_s = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        self.own_share = used_s / self.began.elapsed().as_secs_f64().max(1.0);
    }

    /// Makes the answer again if somebody looks at it and a point has ended since. The thread that reads the run file for it gives way to the load.
    pub fn look_for_answer(&mut self, width: usize) {
        let points = self.ended.len();
        let is_known = self.answer.points == points && self.answer.width == width;
        if self.panel != ScreenPanel::Answer || is_known {
            return;
        }
        let lines = self.run_file.as_deref().and_then(so_far::answer).map(|answer| {
            let text = report::terminal::answer(&answer, width, false);
            text.lines().map(str::to_owned).collect()
        });
        self.answer = SoFar { points, width, lines: lines.unwrap_or_default() };
    }

    /// `1:20`: since the view began.
    pub fn passed(&self, now: Instant) -> String {
        clock_since(self.began, now)
    }

    /// What stays on the terminal when the view closes: what was noted, and the row of each point.
    pub fn scrollback(&self, width: usize) -> Vec<String> {
        let notes = self.notes.iter().filter(|note| note.severity.is_none()).map(|note| note.text.clone());
        let head = report::terminal::ended_head(width).filter(|_| !self.ended.is_empty());
        let rows = self.ended.iter().flat_map(|point| point.lines(width, false));
        notes.chain(head).chain(rows).collect()
    }

    /// All notes, or if there is no room the last ones that do something to a number, or else the last.
    pub fn foremost_notes(&self, most: usize) -> Vec<&Note> {
        if self.notes.len() <= most {
            return self.notes.iter().collect();
        }
        let grave: Vec<&Note> =
            self.notes.iter().filter(|note| note.severity.is_some_and(|severity| severity > Severity::Note)).collect();
        let from = if grave.is_empty() { self.notes.iter().collect() } else { grave };
        from[from.len().saturating_sub(most)..].to_vec()
    }
}
