//! What a run reports to its live view.
//!
//! In: a plan, and the points that are judged. Out: events, each complete in itself. Limits: texts are fit for a terminal when they come here.

use crate::output::progress::machine::DiskCeilings;
use crate::output::progress::sums::Second;
use analysis::{PointAnalysis, Severity};
use model::{Nanos, Phase, Plan, PointState};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a run is about.
pub struct LivePlan {
    pub name: String,
    /// Of each trial the group and the place in it: `file rndrd`, `depth 8`.
    pub cells: Vec<(String, String)>,
    /// The trials that were complete before.
    pub done: BTreeSet<usize>,
    /// Whether the terminal is to show colours.
    pub colour: bool,
}

impl LivePlan {
    /// That of `plan`, of which the trials `done` are complete.
    pub fn new(plan: &Plan, done: &BTreeSet<usize>, colour: bool) -> LivePlan {
        LivePlan { name: plan.name.clone(), cells: crate::output::label::cells(plan), done: done.clone(), colour }
    }
}

/// What happened in a run.
pub enum LiveEvent {
    PointBegan {
        /// The number of its trial in the plan, from 0.
        trial: usize,
        /// What it is called.
        label: String,
    },
    /// A phase of it begins.
    PhaseBegan {
        phase: Phase,
        /// How long it is to last; `None` if its work ends it.
        planned: Option<Nanos>,
        /// The work left in the run.
        left: String,
    },
    /// What was done in about a second.
    Second {
        second: Box<Second>,
        /// The work left in the run.
        left: String,
    },
    /// Where the run is recorded.
    Recorded(PathBuf),
    /// What is done in a phase without a length: rows are loaded, data is read back.
    Stage(String),
    /// What the disk can do is known.
    Disk(DiskCeilings),
    Note(Note),
    /// Every point was measured once: a heading, and the lines of a table.
    FirstLook(Vec<String>),
    /// The cell of a trial changes.
    Marked {
        /// The number of the trial in the plan, from 0.
        trial: usize,
        /// What it shows from now on.
        mark: CellMark,
    },
    /// A point is judged.
    Judged(Box<EndedPoint>),
}

impl LiveEvent {
    /// A note without severity.
    pub fn note(text: String) -> LiveEvent {
        LiveEvent::Note(Note { severity: None, text })
    }

    /// A line of a server's log: it is shown while the view is open, and does not stay on the terminal.
    pub fn log_line(text: String) -> LiveEvent {
        LiveEvent::Note(Note { severity: Some(Severity::Note), text })
    }
}

/// A finding, or what the run reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// That of a finding.
    pub severity: Option<Severity>,
    /// One line, fit for a terminal.
    pub text: String,
}

/// The state of a cell in the grid of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellMark {
    ToDo,
    Running,
    /// Measured, and not judged yet.
    Done,
    Valid,
    Indicative,
    Invalid,
    /// It failed or was interrupted.
    Failed,
    /// Left out by the user.
    Skipped,
}

/// A point that is over and judged.
pub struct EndedPoint {
    /// The number of its trial in the plan, from 0.
    pub trial: usize,
    /// What it is called.
    pub label: String,
    pub analysis: PointAnalysis,
}

impl EndedPoint {
    /// Leaves out why it failed.
    pub fn leave_out_failure(&mut self) {
        if self.analysis.state == PointState::Failed {
            self.analysis.error = None;
        }
    }

    pub fn lines(&self, width: usize, colour: bool) -> Vec<String> {
        report::terminal::ended_point(&self.analysis, &self.label, width, colour)
    }
}
