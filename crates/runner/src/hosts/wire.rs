//! What goes over the bus: orders of the coordinator, reports of the agents, and how both describe themselves.
//!
//! In: bytes that were written with the key of the run. Out: an [`Order`] or a [`Report`], or a refusal. Limits: both are closed lists. No
//! password and no command line is in any of them, and the fields of a trial that name programs or places are refused by the agent (see
//! `guard`).

use crate::error::RunnerError;
use crate::messages::{Assignment, OpenedTrial, StepSequence};
use host::TargetError;
use load::StopReason;
use model::{
    Background, Bytes, CommonData, Fact, HostClock, HostRole, HostRows, IntervalRow, Phase, Plan, Tick, Trial,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How the coordinator describes itself: the value of its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeadInfo {
    /// The id of the run on the bus. A run that is resumed has a new one.
    pub run: String,
    /// The version of plimsoll that conducts it.
    pub version: String,
}

/// How an agent describes itself: the value of its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentInfo {
    pub name: String,
    /// Another for each process of that name.
    pub incarnation: String,
    /// Its version of plimsoll.
    pub version: String,
    /// What it is there for.
    pub role: HostRole,
    pub facts: Vec<Fact>,
}

/// One of the agents that measure a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointMember {
    pub name: String,
    /// Which process of that name.
    pub incarnation: String,
    /// Its place among those that make the load, from 0; `None` if it only observes.
    pub place: Option<u32>,
}

/// A trial as the coordinator assigns it: of all hosts together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WholeAssignment {
    trial: Trial,
    steps: Vec<Trial>,
    place: usize,
    first: usize,
    /// The data of the first host that makes the load, if the others work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joins: Option<CommonData>,
}

impl From<&Assignment> for WholeAssignment {
    fn from(assignment: &Assignment) -> WholeAssignment {
        let StepSequence { steps, place, first } = assignment.sequence.clone();
        WholeAssignment { trial: assignment.trial.clone(), steps, place, first, joins: assignment.joins.clone() }
    }
}

impl WholeAssignment {
    /// The assignment; `None` if its parts do not fit each other.
    pub fn into_assignment(self) -> Option<Assignment> {
        let WholeAssignment { trial, steps, place, first, joins } = self;
        let fits = place < steps.len() && first < usize::MAX / 2;
        fits.then_some(Assignment { trial, sequence: StepSequence { steps, place, first }, joins })
    }
}

/// An order with its number among the orders of a run, from 1: one that comes twice is obeyed once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NumberedOrder {
    pub nth: u64,
    /// What is to be done.
    pub order: Order,
}

/// An order of the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The run begins. It is the first order of each run.
    Begin {
        /// The name of the run.
        run_id: String,
        /// The wall clock at Tick 0 of the run, in milliseconds since 1970.
        started_unix_ms: u64,
        /// The time of the bus at that moment, in nanoseconds since 1970.
        origin_ns: u64,
        /// All that is to be measured.
        plan: Box<Plan>,
    },
    /// Get ready for a point.
    Prepare {
        /// Its number among the points of this session, from 1.
        point: u32,
        assignment: Box<WholeAssignment>,
        /// All who measure it.
        members: Vec<PointMember>,
        /// Those of them that this order is for.
        who: PreparedHosts,
    },
    Go {
        point: u32,
        /// The time of the run at which it begins.
        at: Tick,
    },
    /// What is measured of the point is enough: end it as planned.
    Stop { point: u32 },
    /// All hosts have made their parts of the data: the first one completes it.
    CompleteData { point: u32 },
    /// The data is complete: the other hosts use it.
    UseData { point: u32 },
    /// Give the point up.
    Skip { point: u32 },
    /// Stop the engine and remove its data.
    Clear {
        /// The number of the last point.
        point: u32,
    },
    /// Send reports again that were lost on the way.
    Resend {
        name: String,
        /// Which process of that name.
        incarnation: String,
        /// The number of this request.
        request: u64,
        from: u64,
        to: u64,
    },
    /// The run is over.
    End,
}

/// Which agents prepare: data that all use is made by the first of them, before the others come to it. Those that only observe come last,
/// when the point is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PreparedHosts {
    /// All that make the load.
    Loaders,
    /// The first of those.
    First,
    /// All of those but the first.
    Others,
    /// Those that only observe.
    Observers,
}

impl PreparedHosts {
    /// Whether the order is for the agent at this place of the load; `None` if it only observes.
    pub fn includes(self, place: Option<u32>) -> bool {
        match self {
            PreparedHosts::Loaders => place.is_some(),
            PreparedHosts::First => place == Some(0),
            PreparedHosts::Others => place.is_some_and(|place| place > 0),
            PreparedHosts::Observers => place.is_none(),
        }
    }
}

/// What an agent reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// It takes part in the run, or why not.
    Began(Option<WireFault>),
    /// Something about a point.
    Of {
        /// Its number in the session.
        point: u32,
        report: PointReport,
    },
    /// The engine is stopped and its data removed, or why not.
    Cleared {
        /// The number of the last point.
        point: u32,
        fault: Option<WireFault>,
    },
    /// It works on the order of this number from now on.
    Taken(u64),
    Left(String),
}

/// What an agent reports of a point. Moments are those of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PointReport {
    /// A note for the user.
    Note(String),
    /// The instance is there.
    Opened(Box<OpenedTrial>),
    /// An agent that only observes has opened its sources, which are in the rows that follow.
    Observing {
        /// The endpoint of the database that runs on its host, if that is one of several.
        endpoint: Option<String>,
    },
    /// Clients in the background work, too.
    Background {
        /// Their groups, each with its kinds of operation, its clients and its rate.
        groups: Vec<Background>,
        /// The same for people.
        facts: Vec<Fact>,
    },
    PhaseBegan(Phase, Tick),
    /// Rows, and when they were made.
    Rows(Box<HostRows>, Tick),
    PhaseEnded {
        phase: Phase,
        end: Tick,
        /// Arrivals that fell due.
        offered: u64,
        /// Those of them that were never started.
        unserved: u64,
    },
    /// Facts that became known.
    Facts(Vec<Fact>),
    /// Rows of steps that are performed again and not recorded.
    Unrecorded(Vec<IntervalRow>),
    /// Bytes that were read back, of so many.
    ReadingBack(Bytes, Bytes),
    /// It has made data that the other hosts may use, or the tables that they fill with it.
    Shared(CommonData),
    /// It has made its part of the data.
    PartMade,
    /// It is ready for the load.
    Ready {
        /// Whether its engine can bring back the data as it was loaded.
        can_restore: bool,
        clock: HostClock,
    },
    /// The point is over.
    Settled {
        /// Why it did not end as planned.
        fault: Option<WireFault>,
        clock: HostClock,
        /// How much later than planned the load began; `None` if it did not.
        start_skew_ns: Option<i64>,
    },
}

/// An error on its way over the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireFault {
    sort: FaultSort,
    text: String,
}

/// What sort of error it is: it decides the state of the point and the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultSort {
    Unsupported,
    /// The engine does not take the trial: others it may take.
    Refused,
    Unsafe,
    Failed,
    Blocked,
    Skipped,
    Interrupted,
    Limit,
}

impl From<&RunnerError> for WireFault {
    fn from(error: &RunnerError) -> WireFault {
        let sort = match error {
            RunnerError::Unsupported(_) | RunnerError::Plan(_) => FaultSort::Unsupported,
            RunnerError::Target(TargetError::Unsupported(_)) => FaultSort::Refused,
            RunnerError::Unsafe(_) | RunnerError::Store(_) | RunnerError::Target(TargetError::Unsafe(_)) => {
                FaultSort::Unsafe
            }
            RunnerError::Failed { blocked: true, .. } => FaultSort::Blocked,
            RunnerError::Stopped(StopReason::Skipped) => FaultSort::Skipped,
            RunnerError::Stopped(StopReason::Interrupted) | RunnerError::Interrupted(_) => FaultSort::Interrupted,
            RunnerError::Stopped(StopReason::Limit | StopReason::Unrecorded)
            | RunnerError::Unrecorded { .. }
            | RunnerError::HostLost(_) => FaultSort::Limit,
            RunnerError::Failed { .. }
            | RunnerError::Stopped(StopReason::Failure)
            | RunnerError::Bus(_)
            | RunnerError::Target(TargetError::Failed(_)) => FaultSort::Failed,
        };
        WireFault { sort, text: error.to_string() }
    }
}

impl WireFault {
    /// The error of the host `name`.
    pub fn into_error(self, name: &str) -> RunnerError {
        let text = format!("host `{name}`: {}", one_line(&self.text));
        match self.sort {
            FaultSort::Unsupported => RunnerError::Unsupported(text),
            FaultSort::Refused => RunnerError::Target(TargetError::Unsupported(text)),
            FaultSort::Unsafe => RunnerError::Unsafe(text),
            FaultSort::Failed => RunnerError::failed(text),
            FaultSort::Blocked => RunnerError::Failed { text, blocked: true },
            FaultSort::Skipped => RunnerError::Stopped(StopReason::Skipped),
            FaultSort::Interrupted | FaultSort::Limit => RunnerError::HostLost(text),
        }
    }

    /// Whether the agent gave the point up by order.
    pub fn is_skip(&self) -> bool {
        self.sort == FaultSort::Skipped
    }
}

/// `text` without control characters, and not longer than a screen.
pub(crate) fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 1_000;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHARS_MAX).collect()
}

/// The bytes of an order, a report, or the description of a host.
pub(crate) fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("words, numbers and lists are JSON")
}

/// What `bytes` hold; `what` and `whose` name it if it is something else.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str, whose: &str) -> Result<T, RunnerError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let text = format!("{what} of `{whose}` on the bus cannot be understood ({error}); use the same version of plimsoll on all hosts");
        RunnerError::Bus(bus::BusError::Foreign(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_and_a_report_come_as_they_were_sent_and_others_are_refused() {
        let order = Order::Go { point: 3, at: Tick(17) };
        assert_eq!(from_bytes::<Order>(&to_bytes(&order), "an order", "lead").unwrap(), order);
        let report = Report::Of { point: 1, report: PointReport::PhaseBegan(Phase::Run, Tick(5)) };
        assert_eq!(from_bytes::<Report>(&to_bytes(&report), "a report", "c1").unwrap(), report);
        for foreign in ["{\"run_program\": \"/bin/sh\"}", "{\"go\": {\"point\": -1, \"at\": 0}}", "", "[[[[[[[["] {
            assert!(from_bytes::<Order>(foreign.as_bytes(), "an order", "lead").is_err(), "{foreign}");
        }
        let deep = "[".repeat(100_000);
        assert!(from_bytes::<Report>(deep.as_bytes(), "a report", "c1").is_err());
    }

    #[test]
    fn an_error_keeps_its_exit_code_and_names_its_host() {
        let there_and_back = |error: RunnerError| WireFault::from(&error).into_error("c2");
        let unsafe_one = there_and_back(RunnerError::Unsafe("the disk is full".into()));
        assert!(matches!(&unsafe_one, RunnerError::Unsafe(text) if text == "host `c2`: the disk is full"));
        let failed = there_and_back(RunnerError::failed("one\ntwo"));
        assert_eq!(failed.to_string(), "host `c2`: one two");
        assert!(there_and_back(RunnerError::Stopped(StopReason::Skipped)).is_skip());
    }

    #[test]
    fn what_fails_at_one_point_on_a_host_is_of_one_point_and_what_every_point_needs_is_not() {
        let is_of_one_point = |error: RunnerError| WireFault::from(&error).into_error("c2").is_of_one_point();
        assert!(is_of_one_point(RunnerError::failed("no server")));
        assert!(is_of_one_point(TargetError::Unsupported("`work_mem` was refused".into()).into()));
        let of_all = [
            RunnerError::Unsupported("the order does not fit together".into()),
            RunnerError::Failed { text: "a client is blocked".into(), blocked: true },
            RunnerError::Stopped(StopReason::Limit),
            RunnerError::HostLost("it is silent".into()),
        ];
        assert!(of_all.into_iter().all(|error| !is_of_one_point(error)));
    }
}
