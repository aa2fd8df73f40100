//! What a detector, or a test of a limit, may look at: a recorded point with all that was computed of it.

use super::line_use::LineUse;
use super::run_ceilings::ShownCeiling;
use crate::computed_phase::Measured;
use crate::evidence::cause::Bottlenecks;
use crate::hosts::{HostPart, HostSummary};
use crate::judgement::NextStep;
use crate::math::units::nanos;
use crate::{InsertCost, Rounds};
use model::{Event, EventKind, Machine, Nanos, PointData, PointState};
use serde::Serialize;

/// What a detector may look at.
pub struct PointView<'a> {
    pub point: &'a PointData,
    /// The points of its sequence in their order, itself among them; itself alone if it is in none.
    pub sequence: &'a [PointData],
    /// What the file points of the run have shown of its device.
    pub ceilings: &'a [ShownCeiling],
    /// Attempts at the same point that broke off before it.
    pub broken_off: Vec<&'a PointData>,
    pub machine: &'a Machine,
    /// The run phase of the point; `None` if it was not reached.
    pub measured: Option<Measured<'a>>,
    /// Its rounds; `None` if it does not go by rounds.
    pub rounds: Option<&'a Rounds>,
    /// What an insert cost; `None` if it inserts nothing.
    pub inserts: Option<&'a InsertCost>,
    /// How much of the best known rate of its device it used; `None` if that is not known.
    pub line: Option<&'a LineUse>,
    /// What limited it; `None` if that is not judged.
    pub bottlenecks: Option<&'a Bottlenecks>,
    /// Its hosts next to each other; none if only the recording machine measured it.
    pub hosts: &'a [HostSummary],
    /// The parts of these hosts, each as a point of its own.
    pub parts: &'a [HostPartView<'a>],
}

/// A part of a host, as a detector may look at it.
pub struct HostPartView<'a> {
    /// The name of the host.
    pub host: &'a str,
    /// What is looked at.
    pub part: HostPart,
    /// Whether it is the first part of its host: the one by which the machine is judged.
    pub is_first: bool,
    /// It as a point of its own.
    pub view: PointView<'a>,
}

/// A limit on the length of a run phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RunLimit {
    Ops { ops_max: u64 },
    Time { time_ns: Nanos },
}

impl<'a> PointView<'a> {
    /// Whether the point ends when its work is done and not after a time.
    pub fn ends_by_work(&self) -> bool {
        self.point.traits.course.run_ops.is_some()
    }

    /// Whether the point is a file that is compressed or a step that only creates indexes or drains, or holds connections: how long it
    /// takes, or what it reaches, is its result, not a rate or a percentile.
    pub fn is_timed_as_whole(&self) -> bool {
        if self.compresses_file() || self.point.traits.work.hold.is_some() {
            return true;
        }
        let inserts = self.measured.is_none_or(|measured| measured.summary.rows_per_s.is_some());
        let work = &self.point.traits.work;
        self.ends_by_work() && (work.variant.is_some() || work.step.is_some() && !inserts)
    }

    /// Whether the point compresses a file: what came back is compared between its operations.
    pub fn compresses_file(&self) -> bool {
        self.point.traits.outcome.compression.is_some()
    }

    /// Whether its operations are the steps of a variant: a statement that takes longer than its set-up is no stall.
    pub fn has_variant(&self) -> bool {
        self.point.traits.work.variant.is_some()
    }

    /// Whether the point inserts rows.
    pub fn inserts_rows(&self) -> bool {
        self.measured.is_some_and(|measured| measured.summary.rows_per_s.is_some_and(|rows| rows > 0.0))
    }

    /// Whether the run phase has more than one interval. Imported results often have one only.
    pub fn has_intervals(&self) -> bool {
        self.measured.is_some_and(|measured| measured.window.whole.len() > 1)
    }

    /// How to get more operations: by raising the limit that ended the point, or by rows for a step that ends with them. Nothing
    /// lengthens a step without rows.
    pub fn lengthen(&self) -> NextStep {
        match (self.limit_reached(), self.ends_by_work(), self.inserts_rows()) {
            (Some(RunLimit::Ops { ops_max }), ..) => NextStep::RaiseOpsMax { ops_max },
            (Some(RunLimit::Time { .. }), true, _) => NextStep::DropTimeLimit,
            (_, false, _) => NextStep::RunLonger,
            (None, true, true) => NextStep::InsertMoreRows,
            (None, true, false) => NextStep::None,
        }
    }

    /// The limit that ended a complete point before its work was done; `None` if it did all of its work, or did not complete.
    pub fn limit_reached(&self) -> Option<RunLimit> {
        let done = self.measured.filter(|_| self.point.state == PointState::Complete)?.window.recorded.ended();
        let phases = &self.point.trial.phases;
        match (self.point.traits.course.run_ops, phases.ops_max) {
            (Some(planned), _) if done >= planned => None,
            (_, Some(ops_max)) if done >= ops_max => Some(RunLimit::Ops { ops_max }),
            _ => Some(RunLimit::Time { time_ns: phases.run }),
        }
    }

    /// The events of `kind`.
    pub fn events(&self, kind: EventKind) -> impl Iterator<Item = &'a Event> {
        self.point.events.iter().filter(move |event| event.kind == kind)
    }

    /// The texts of the first events of `kind`, as the driver or the kernel wrote them.
    pub fn quoted(&self, kind: EventKind, most: usize) -> Vec<String> {
        self.events(kind).take(most).map(|event| event.text.clone()).collect()
    }

    /// When an event happened, since the run phase began; `None` before it.
    pub fn time_of(&self, event: &Event) -> Option<Nanos> {
        self.measured.map(|measured| measured.window.seconds_at(event.at)).filter(|at| *at >= 0.0).map(nanos)
    }
}
