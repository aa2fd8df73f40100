//! The messages between the two halves of a session: the conductor decides which trial is next and records it, a performer performs
//! it on a host.
//!
//! In: an [`Assignment`] from the conductor, and the time to start. Out: an [`OpenedTrial`], rows while it runs, and the result.
//! Limits: both halves are in one process and share the request to stop. If several hosts perform, the performer is one that passes messages
//! on over a bus (`hosts`).

use crate::error::RunnerError;
use model::{
    Background, Bytes, CommonData, CounterSample, EndpointInterval, Event, Fact, HostId, HostRows, IntervalRow,
    KindDef, Observation, Phase, PointHost, PointParam, PointTraits, SourceDef, StackSnapshot, Tick, Trial,
};
use serde::{Deserialize, Serialize};

/// One trial to perform, and the sequence of steps that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub trial: Trial,
    /// Its place in a sequence of steps that share one data set.
    pub sequence: StepSequence,
    /// The data that another host has made for it; `None` if this host makes the data.
    pub joins: Option<CommonData>,
}

/// A sequence of steps that share one data set, and the current step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSequence {
    /// All its steps in order. A trial that is no step of a sequence is alone.
    pub steps: Vec<Trial>,
    /// The index of the current step, from 0.
    pub place: usize,
    /// The number of its first step in the plan, from 0.
    pub first: usize,
}

impl StepSequence {
    /// A trial that is no step of a sequence.
    pub fn alone(trial: &Trial, first: usize) -> StepSequence {
        StepSequence { steps: vec![trial.clone()], place: 0, first }
    }

    /// The steps before the current one.
    pub fn steps_before(&self) -> &[Trial] {
        &self.steps[..self.place]
    }
}

/// An instance that is ready for the load of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenedTrial {
    /// Facts about the host and the engine.
    pub facts: Vec<Fact>,
    /// What workload and engine declare of the trial.
    pub traits: PointTraits,
    /// Its parameters with their roles.
    pub params: Vec<PointParam>,
    /// The kinds of operation.
    pub kinds: Vec<KindDef>,
    /// The counters that are read while the load runs.
    pub sources: Vec<SourceDef>,
}

/// A message from a performer to the conductor.
#[derive(Clone, Debug)]
pub enum PerformerMessage {
    /// A note for the user, in one line.
    Note(String),
    /// The instance is ready: the point can be entered into the run file. Everything below comes after it.
    Opened(Box<OpenedTrial>),
    /// Clients in the background work at the same time as those of the run.
    Background {
        /// Their groups, each with its kinds of operation, its clients and its rate.
        groups: Vec<Background>,
        /// The same for people.
        facts: Vec<Fact>,
    },
    PhaseBegan(Phase, Tick),
    /// The first client began its load.
    LoadBegan(Tick),
    /// What happened in an interval.
    Rows {
        /// What the clients did: increments.
        intervals: Vec<IntervalRow>,
        /// What the counter sources read.
        counters: Vec<CounterSample>,
        events: Vec<Event>,
        at: Tick,
    },
    /// What was done on each of several endpoints in an interval: increments.
    Endpoints(Vec<EndpointInterval>),
    /// A phase is over.
    PhaseEnded {
        phase: Phase,
        end: Tick,
        /// Arrivals that fell due in its open loops.
        offered: u64,
        /// Those of them that were never performed.
        unserved: u64,
    },
    /// The last readings of the counters, after the load.
    LastReadings(Vec<CounterSample>, Vec<Event>),
    /// Stacks of the engine that were taken.
    Stacks(Vec<StackSnapshot>),
    /// What was seen so far of a server that others load.
    Observed(Box<Observation>),
    /// Facts that became known after the instance was opened.
    Facts(Vec<Fact>),
    /// Rows of steps that are performed again and are not recorded.
    Unrecorded(Vec<IntervalRow>),
    /// Bytes that were read back, and how many there are in all.
    ReadingBack(Bytes, Bytes),
    /// One of several hosts that perform the trial, or what has become known of it since. The rows of a host come after it.
    Host(Box<PointHost>),
    /// What one of several hosts did in an interval.
    HostRows {
        host: HostId,
        /// The number of these rows: higher than that of the rows before from the same host.
        row: u64,
        /// What it did: increments.
        rows: Box<HostRows>,
        /// When they were made; 0 if they are of no interval.
        at: Tick,
    },
    /// What was noticed of one of several hosts.
    HostEvent(HostId, Event),
}

/// The conductor as a performer sees it.
pub trait ConductorHandle {
    /// An engine was started for `trial`, and `facts` are its facts. The conductor may refuse it before data is made.
    fn accept_engine(&mut self, trial: &Trial, facts: &[Fact]) -> Result<(), RunnerError>;

    /// The tables of a data set that all hosts use are there, and if this host makes the data alone, it is complete: other hosts may join it by
    /// `data`.
    fn announce_data(&mut self, data: &CommonData) -> Result<(), RunnerError> {
        let _ = data;
        Ok(())
    }

    /// This host has made its part of a data set that all hosts use. Returns when it may go on: the host that made the tables when all others
    /// have made their parts, the others when it has sealed the data.
    fn await_parts(&mut self) -> Result<(), RunnerError> {
        Ok(())
    }

    fn deliver(&mut self, message: PerformerMessage);

    /// Whether what was delivered is enough, so that the run phase can end.
    fn is_enough(&self) -> bool;
}

/// A host that performs trials, one after the other.
pub trait Performer {
    /// Starts or resets what the trial needs and makes its data. The trial is ready when this returns.
    fn prepare(&mut self, assignment: &Assignment, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError>;

    /// Warms up and runs the trial that is ready, from the time `at` on.
    fn go(&mut self, at: Tick, conductor: &mut dyn ConductorHandle) -> Result<(), RunnerError>;

    /// Ends a trial that was opened and whose load ended as `measured`: the last readings, what the engine reports afterwards, and the
    /// check of the data that was written. Returns the final result.
    fn settle(
        &mut self,
        measured: Result<(), RunnerError>,
        conductor: &mut dyn ConductorHandle,
    ) -> Result<(), RunnerError>;

    /// Whether `next` can be performed on the instance that runs.
    fn can_keep(&self, next: &Assignment) -> bool;

    /// Whether the instance that runs can bring back the data as it was loaded.
    fn can_restore(&self) -> bool {
        false
    }

    /// Stops the instance and removes its data.
    fn clear(&mut self) -> Result<(), RunnerError>;
}
