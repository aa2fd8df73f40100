//! Records that contradict each other, and work that failed.
//!
//! In: nothing. Out: the figures of findings, with their units; serialised, the keys carry them. Limits: no sentences.

use super::units::Share;
use crate::numbers::quantiles::Quantiles;
use crate::numbers::written::ByteAccount;
use model::Bytes;
use serde::Serialize;

/// Operations that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedOps {
    /// How many failed.
    pub failed_ops: u64,
    /// How many of them failed in outages.
    pub in_outages_ops: u64,
    /// How many were done.
    pub done_ops: u64,
    /// The share of all that failed.
    pub failed_share: Share,
    /// The first failures as the driver described them.
    pub quoted: Vec<String>,
}

/// Operations that were tried again after a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetriedOps {
    /// Retries for each operation that ended.
    pub retries_per_op: f64,
    /// Retries per second.
    pub retries_per_s: f64,
}

/// Units of 4 KiB that did not come back as they were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorruptData {
    /// Units whose content does not match their checksum.
    pub corrupt_units: u64,
    /// Units that hold an earlier write.
    pub stale_units: u64,
    /// Units that belong to another place.
    pub misdirected_units: u64,
    /// The first failures of reads as the driver described them.
    pub quoted: Vec<String>,
}

impl CorruptData {
    /// How many units the check after the run counted.
    pub fn units(&self) -> u64 {
        self.corrupt_units + self.stale_units + self.misdirected_units
    }
}

/// Conditions that the rows of a workload do not fulfil.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenConditions {
    /// Each of them.
    pub broken: Vec<BrokenRow>,
}

/// A condition, and the first row that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRow {
    /// Its number.
    pub condition: u64,
    /// What must hold, and the row.
    pub first_row: String,
}

/// Two records of the same thing that differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Contradiction {
    /// Histograms hold another number of times than operations were counted.
    HistogramsDiffer { intervals: usize, first_ops: u64, first_response_times: u64, first_service_times: u64 },
    /// The bytes moved are not operations times block size.
    BytesDiffer { ops: u64, block_bytes: Bytes, moved_bytes: u64 },
    /// Response times are below service times.
    ResponseBelowService { response_mean_ns: f64, service_mean_ns: f64 },
    /// Percentiles do not rise.
    PercentilesFall { of: TimeKind, quantiles_ns: Quantiles },
    /// Arrivals performed and unserved are not those that the schedule offered.
    ArrivalsDiffer { offered: u64, performed: u64, unserved: u64 },
}

/// Which time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeKind {
    /// From the moment at which it was due.
    Response,
    /// From the moment at which it started.
    Service,
}

/// A mean number of operations in flight that does not fit the clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlightMismatch {
    /// Throughput times mean service time.
    pub in_flight_mean: f64,
    /// Clients times depth: as many as can be in flight.
    pub in_flight_max: u64,
}

impl InFlightMismatch {
    /// Whether more were in flight than can be.
    pub fn is_impossible(&self) -> bool {
        self.in_flight_mean > self.in_flight_max as f64
    }
}

/// Bytes written as two accounts have them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnlikeAccounts {
    /// The account that the tables show,
    pub shown: ByteAccount,
    /// and what it has.
    pub shown_bytes: f64,
    /// The account that does not agree with it,
    pub other: ByteAccount,
    /// and what that has.
    pub other_bytes: f64,
    /// Their difference as a share of the greater.
    pub difference_share: Share,
    /// The step in which they differ most; `None` if that is not known.
    pub furthest: Option<StepAccounts>,
}

/// Bytes written in one step as the same two accounts have them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAccounts {
    /// The step; `None` for the drain itself.
    pub step: Option<String>,
    /// By the account that the tables show.
    pub shown_bytes: f64,
    /// By the other.
    pub other_bytes: f64,
}
