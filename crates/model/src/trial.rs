//! What is to be measured: a plan is a list of trials, and a trial is all there is to know of one point in advance.
//!
//! In: the crate `plan` makes these from TOML and flags. Out: engines, workloads and the load loop read them; the run file
//! keeps them as JSON. Limits: fully resolved; nothing here is defaulted later, optional by accident, or text to be parsed.

use crate::filesystem::FileSystemSpec;
use crate::hourly_cost::HourlyCost;
use crate::limit::LimitPart;
use crate::limits::Limits;
use crate::machine_setup::MachineSetup;
use crate::network::LinkSpeed;
use crate::params::Params;
use crate::sure::{ArmPlace, Precision, SurePlan};
use crate::units::Nanos;
use crate::why::WhySpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// A short name for file names: letters, digits and dashes.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What its author asks with it.
    #[serde(default, skip_serializing_if = "Asked::is_nothing")]
    pub asked: Asked,
    /// What rows, sizes and caches were multiplied by; 1 at full size.
    pub scale: f64,
    /// The setting of which two values are compared in pairs, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ab: Option<String>,
    /// What the machine costs, as far as that was stated.
    #[serde(default, skip_serializing_if = "HourlyCost::is_none")]
    pub hourly: HourlyCost,
    /// The speed of the link to the server, if it was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSpeed>,
    /// What the run is about if it varies the resources of a recorded point; `None` of any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<WhySpec>,
    /// How it goes on until it is sure; `None` if all of it is measured whatever is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sure: Option<SurePlan>,
    /// The points in the order in which they are measured.
    pub trials: Vec<Trial>,
}

/// What a plan asks. What is `None` follows from its shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The question in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The key whose values are compared; the first of them is the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
    /// The key along which the comparison is looked at, such as `clients`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
}

impl Asked {
    fn is_nothing(&self) -> bool {
        *self == Asked::default()
    }
}

impl Plan {
    /// A plan at full size that asks nothing and has no trials yet.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Plan {
        Plan {
            name: name.into(),
            title: title.into(),
            asked: Asked::default(),
            scale: 1.0,
            ab: None,
            hourly: HourlyCost::default(),
            link: None,
            why: None,
            sure: None,
            trials: Vec::new(),
        }
    }
}

/// One point of the matrix, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub target: TargetSpec,
    /// What it is asked to do.
    pub workload: WorkloadSpec,
    /// How the work arrives.
    pub load: Load,
    /// How long it goes on.
    pub phases: Phases,
    /// What happens when an operation fails.
    pub on_error: OnError,
    /// Which repetition of this point, from 1.
    pub repeat: u32,
    /// Where all randomness of this trial comes from. Same seed, same operations.
    pub seed: u64,
    /// The search for the largest rate that it asks for or is a probe of; `None` for a point like any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitPart>,
    /// Whether the stacks of the engine's threads are taken at stalls and at random moments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stacks: bool,
    /// The share of one of several hosts that perform it together; `None` if this host performs all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<HostShare>,
    /// The data set that it uses; `None` if its data is made for it and removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_set: Option<UsedSet>,
    /// What it is compared with, if its plan goes on until that is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<ArmPlace>,
}

/// The data set that a trial uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSet {
    pub name: String,
    /// The seed of its data. Repeats have seeds of their own, and one set serves them all.
    pub seed: u64,
}

impl Trial {
    /// Whether it is one probe of a search for the largest rate: whatever it performs, its time ends it.
    pub fn is_probe(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.probe.is_some())
    }

    /// A closed loop of one client, for a second and recorded once, with no settings at all. It stops at a failure. Other trials are made of
    /// it by what differs.
    pub fn simple(engine: &str, workload: &str) -> Trial {
        let second = Nanos::from_secs(1);
        Trial {
            target: TargetSpec {
                engine: engine.to_owned(),
                programs: None,
                path: None,
                fs: None,
                instances: 1,
                limits: Limits::default(),
                machine: MachineSetup::default(),
                params: Params::default(),
            },
            workload: WorkloadSpec { name: workload.to_owned(), params: Params::default() },
            load: Load { clients: 1, depth: 1, pacing: Pacing::Closed { think: Nanos(0) } },
            phases: Phases {
                warmup: Nanos(0),
                run: second,
                ops_max: None,
                interval: second,
                grace: second,
                silence: None,
                until: Until::Time,
            },
            on_error: OnError::Stop,
            repeat: 1,
            seed: 0,
            limit: None,
            stacks: false,
            share: None,
            data_set: None,
            arm: None,
        }
    }

    /// The seed of its data.
    pub fn data_seed(&self) -> u64 {
        self.data_set.as_ref().map_or(self.seed, |set| set.seed)
    }

    /// The clients of all its instances together.
    pub fn all_clients(&self) -> u32 {
        self.load.clients.saturating_mul(self.target.instances)
    }

    /// The seed of its arrivals. Probes of one search have the same data and arrivals of their own: with equal ones, a rate that is
    /// measured again would meet the same crowd again. Likewise the hosts that share a load: their arrivals are independent.
    pub fn arrival_seed(&self) -> u64 {
        let nth = self.limit.as_ref().and_then(|limit| limit.probe).map_or(0, |probe| u64::from(probe.nth));
        let of_host = self.share.map_or(0, |share| share.arrival_seed_step());
        self.seed.wrapping_add(nth << 32).wrapping_add(of_host)
    }
}

/// The seeds of two hosts are so far apart: further than those of the probes of a search, and less than those of instances.
pub(crate) const SEED_STEP: u64 = 1 << 44;

/// Whose data the hosts of a divided trial use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataOrigin {
    /// Each host makes its own, on an engine or in files of its own.
    Own,
    /// All hosts use one data set. The first host makes it.
    MadeByFirst,
    /// All hosts use one data set. Each adds its part of the rows.
    MadeByAll,
}

/// The share of one host in a divided trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostShare {
    /// The number of the host, from 0.
    pub host: u32,
    /// How many hosts there are: 2 or more.
    pub hosts: u32,
    /// The clients of the hosts before it.
    pub clients_before: u32,
    /// The load of all hosts together.
    pub all: Load,
    /// Whose data the hosts use.
    pub data: DataOrigin,
}

impl HostShare {
    /// What the seed of arrivals has more than that of the trial. With data of its own a host has another seed anyway.
    fn arrival_seed_step(&self) -> u64 {
        match self.data {
            DataOrigin::Own => 0,
            DataOrigin::MadeByFirst | DataOrigin::MadeByAll => SEED_STEP.wrapping_mul(self.host.into()),
        }
    }
}

/// What is measured: an engine with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// The engine's name among the engines.
    pub engine: String,
    /// The folder that all programs of its server are from; `None` for those that are installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<PathBuf>,
    /// An existing file to measure on, if the user named one; otherwise plimsoll makes its own data.
    pub path: Option<PathBuf>,
    /// The file system that is made for it; `None` if the directory is measured as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs: Option<FileSystemSpec>,
    /// What it may have at most.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// What it asks of the machine.
    #[serde(default, skip_serializing_if = "MachineSetup::is_none")]
    pub machine: MachineSetup,
    /// How many instances run at once, each with its own data and as many clients as the load has; 1 or more.
    #[serde(default = "one_instance", skip_serializing_if = "is_one_instance")]
    pub instances: u32,
    pub params: Params,
}

fn one_instance() -> u32 {
    1
}

fn is_one_instance(instances: &u32) -> bool {
    *instances == 1
}

/// What the engine is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSpec {
    /// The workload's name among the workloads.
    pub name: String,
    pub params: Params,
}

/// How the work arrives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Clients, each with at most `depth` operations in flight. In an open loop they are the most that serve at once.
    pub clients: u32,
    /// Operations that one client keeps in flight. Above 1 only if the engine batches.
    pub depth: u32,
    /// What decides when an operation starts.
    pub pacing: Pacing,
}

/// What decides when an operation starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// The end of the one before: each client starts its next operation `think` after its last.
    Closed {
        /// Pause of a client between two operations; zero for none.
        think: Nanos,
    },
    /// A schedule that does not wait for the engine.
    Open {
        /// When operations fall due.
        arrivals: Arrivals,
    },
}

/// When the operations of an open loop fall due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// They come at equal distances.
    Constant {
        /// Arrivals per second, above 0.
        per_s: f64,
    },
    /// At exponentially distributed distances: independent users.
    Poisson {
        /// Mean arrivals per second, above 0.
        per_s: f64,
    },
    /// When a recording says: each operation has its own time.
    Recorded {
        /// Mean arrivals per second over the length of the recording, above 0.
        per_s: f64,
    },
}

impl Arrivals {
    /// Whether the rate that is offered is the same at all times but for chance.
    pub fn is_even(&self) -> bool {
        !matches!(self, Arrivals::Recorded { .. })
    }

    /// The mean rate offered, per second.
    pub fn per_s(&self) -> f64 {
        match *self {
            Arrivals::Constant { per_s } | Arrivals::Poisson { per_s } | Arrivals::Recorded { per_s } => per_s,
        }
    }
}

/// How long a trial goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Load before the measurement; may be zero.
    pub warmup: Nanos,
    /// The measurement, at most.
    pub run: Nanos,
    /// The measurement ends after this many operations, if that is sooner.
    pub ops_max: Option<u64>,
    /// The length of one recorded interval.
    pub interval: Nanos,
    /// How long operations in flight at the end may take before their clients are given up.
    pub grace: Nanos,
    /// For how long nothing may end in a replay that ends with its recording, before it is given up; `None` for as long as `grace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Nanos>,
    /// What ends the measurement before `run` is over.
    pub until: Until,
}

impl Phases {
    /// For how long nothing may end in a replay before it is given up.
    pub fn longest_silence(&self) -> Nanos {
        self.silence.unwrap_or(self.grace)
    }
}

/// What ends the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// Its time, or its number of operations.
    #[default]
    Time,
    /// The rate of rounds without a break between them is steady, by the rule of [`crate::steady`]; `Phases::run` is the time
    /// of the most rounds.
    Steady {
        /// The length of a round: a whole number of intervals.
        round: Nanos,
        /// How often files are written whole before the measurement, the making of them included: 1 or more.
        precondition: u32,
    },
    /// The mean of its rate is known to this share, by the rule of [`crate::sure`]; `Phases::run` is the most time.
    Sure(Precision),
}

impl Phases {
    /// The length of a round; `None` if the measurement has none.
    pub fn round(&self) -> Option<Nanos> {
        match self.until {
            Until::Time | Until::Sure(_) => None,
            Until::Steady { round, .. } => Some(round),
        }
    }

    /// How often files are written whole before the measurement.
    pub fn precondition(&self) -> u32 {
        match self.until {
            Until::Time | Until::Sure(_) => 1,
            Until::Steady { precondition, .. } => precondition,
        }
    }
}

/// What happens when an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The point ends, marked failed; what was measured is kept.
    Stop,
    /// The failure is counted and the load goes on.
    Count,
}

/// The phases of a trial, in the field's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The data set is made.
    Prepare,
    /// The load runs and does not count yet.
    Warmup,
    /// The load runs and counts.
    Run,
    /// What was made is removed.
    Cleanup,
}

impl Phase {
    /// The word used in files and charts.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Prepare => "prepare",
            Phase::Warmup => "warmup",
            Phase::Run => "run",
            Phase::Cleanup => "cleanup",
        }
    }

    /// The phase of that word.
    pub fn from_word(word: &str) -> Option<Phase> {
        [Phase::Prepare, Phase::Warmup, Phase::Run, Phase::Cleanup].into_iter().find(|p| p.as_str() == word)
    }
}
