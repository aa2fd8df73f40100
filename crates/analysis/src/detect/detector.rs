//! What a detector is, and what it may look at.
//!
//! In: a recorded point, and what was computed of it. Out: the types that all detectors share.
//! Limits: nothing here decides anything; the lists of detectors are in [`crate::detect`].

use crate::shape::Shape;
use crate::window::Window;
use crate::{Finding, InsertCost, PointAnalysis, Rounds, Series, Severity, Summary};
use model::{Event, EventKind, Fact, PointData};

/// What looks for one sort of finding in a point.
pub struct Detector {
    /// The stable code of its findings.
    pub code: &'static str,
    /// One line: what it finds.
    pub help: &'static str,
    /// A paragraph: how it decides, what it means, what to do.
    pub explain: &'static str,
    /// Looks.
    pub detect: fn(&PointView) -> Vec<Finding>,
}

/// What looks for one sort of finding among the points of a run.
pub struct RunDetector {
    /// The stable code of its findings.
    pub code: &'static str,
    /// One line: what it finds.
    pub help: &'static str,
    /// A paragraph: how it decides, what it means, what to do.
    pub explain: &'static str,
    /// Looks.
    pub detect: fn(&[PointAnalysis]) -> Vec<Finding>,
}

/// What a detector may look at.
pub struct PointView<'a> {
    /// The recorded point.
    pub point: &'a PointData,
    /// All points of its run, itself among them.
    pub others: &'a [PointData],
    /// Attempts at the same point that broke off before it.
    pub broken_off: Vec<&'a PointData>,
    /// The facts of the machine.
    pub environment: &'a [Fact],
    /// Its run phase; `None` where it was not reached.
    pub measured: Option<Measured<'a>>,
    /// Its rounds; `None` where it does not go by rounds.
    pub rounds: Option<&'a Rounds>,
    /// What an insert cost; `None` where it inserts nothing.
    pub inserts: Option<&'a InsertCost>,
}

/// The run phase of a point, recorded and computed.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The phase, cut into what counts.
    pub window: &'a Window<'a>,
    /// Its numbers.
    pub summary: &'a Summary,
    /// What is drawn of it.
    pub series: &'a Series,
    /// How its rate moved.
    pub shape: &'a Shape,
}

/// What `plimsoll explain CODE` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: &'static str,
    /// One line: what is found.
    pub help: &'static str,
    /// A paragraph: how it is decided, what it means, what to do.
    pub explain: &'static str,
}

impl<'a> PointView<'a> {
    /// The events of `kind`.
    pub fn events(&self, kind: EventKind) -> impl Iterator<Item = &'a Event> {
        self.point.events.iter().filter(move |event| event.kind == kind)
    }

    /// When an event happened, for people: in seconds since the run phase began, or before it.
    pub fn time_of(&self, event: &Event) -> String {
        match self.measured.map(|measured| measured.window.seconds_at(event.at)) {
            Some(at) if at >= 0.0 => format!("at {at:.1} s"),
            _ => "before the run phase".into(),
        }
    }
}

impl Detector {
    /// A finding of this detector.
    pub fn finding(&self, severity: Severity, title: String, evidence: String, next_step: &str) -> Finding {
        let next_step = next_step.to_string();
        Finding { code: self.code.to_string(), severity, title, evidence, next_step }
    }
}

impl RunDetector {
    /// A finding of this detector.
    pub fn finding(&self, severity: Severity, title: String, evidence: String, next_step: &str) -> Finding {
        let next_step = next_step.to_string();
        Finding { code: self.code.to_string(), severity, title, evidence, next_step }
    }
}
