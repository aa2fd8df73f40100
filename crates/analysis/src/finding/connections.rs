//! Connections that waited for the kernel.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use model::{FailureCounts, ListenBacklog, Nanos};
use serde::Serialize;

/// Connections that took as long as the kernel waits before a retry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetrySpikes {
    /// Connections that were opened.
    pub connections: u64,
    /// The share of them that is in a spike.
    pub delayed_share: Share,
    /// The median time of all.
    pub usual_ns: Nanos,
    /// The spikes, in the order of their times; at least one.
    pub spikes: Vec<RetrySpike>,
    /// SYN and SYN-ACK segments that the machine sent again; `None` if that is not counted, here and below.
    pub syn_retransmits: Option<u64>,
    /// Connections that found the queue of a listener full.
    pub listen_overflows: Option<u64>,
    /// Connection attempts that a listener dropped, for this or another reason.
    pub listen_drops: Option<u64>,
    /// Connection attempts that found the queue of half-open connections full.
    pub syn_queue_drops: Option<u64>,
    /// The settings of the queues.
    #[serde(flatten)]
    pub backlog: ListenBacklog,
}

/// Times that are close together behind a retry of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetrySpike {
    /// When the kernel repeats a SYN.
    pub retry_ns: Nanos,
    /// Connections that took as long, or up to 0.15 s longer.
    pub count: u64,
}

/// Times in which the server was gone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outages {
    /// How many.
    pub count: usize,
    /// The length of all together.
    pub total_ns: Nanos,
    /// The share of the run phase that they are.
    pub run_share: Share,
    /// The length of the longest.
    pub longest_ns: Nanos,
    /// When the longest began, since the run phase began.
    pub longest_at_ns: Nanos,
    /// How the last of them ended.
    pub end: OutageEnd,
    /// Operations that failed in them.
    pub failed_ops: u64,
    /// How often the server was restarted in them.
    pub restarts: usize,
    /// The first failures as the driver described them.
    pub quoted: Vec<String>,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
}

/// How an outage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutageEnd {
    /// Operations were done again.
    ServerBack,
    /// It did not: the run phase ended first.
    EndOfRun,
}

/// Times in which some of several endpoints were down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointOutages {
    /// How many endpoints the engine has.
    pub endpoints: usize,
    /// Each outage, in the order of time; at least one.
    pub outages: Vec<EndpointOutage>,
    /// The length of an interval, which is how exactly rates are known.
    pub interval_ns: Nanos,
}

/// A time in which one endpoint was down.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EndpointOutage {
    /// Its name.
    pub endpoint: String,
    /// When it was lost, since the run phase began.
    pub at_ns: Nanos,
    /// For how long.
    pub down_ns: Nanos,
    /// How that ended.
    pub end: OutageEnd,
    /// How long after its loss it had its full rate again; `None` if it had not, or if that is not known.
    pub full_rate_after_ns: Option<Nanos>,
    /// Operations on it that failed then, by class.
    pub failed: FailureCounts,
}
