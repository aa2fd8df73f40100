//! The whole analysis of a run, point by point.
//!
//! In: a recorded run. Out: an [`Analysis`]. Limits: findings that need two points (knees, comparisons) are of the run.

use crate::{Finding, Series, Summary, Validity};
use model::{Fact, PointState, RunData, RunMeta};
use std::collections::BTreeMap;

/// A run and what it means.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What is known of the run as a whole.
    pub meta: RunMeta,
    /// Its points in the order in which they were measured.
    pub points: Vec<PointAnalysis>,
    /// What concerns the run as a whole.
    pub findings: Vec<Finding>,
    /// The answer in at most five lines: how much, how steadily, what held it back.
    pub verdict: Vec<String>,
}

/// One point and what it means.
#[derive(Clone, Debug)]
pub struct PointAnalysis {
    /// Its number in the run, from 1.
    pub id: u32,
    /// How it ended.
    pub state: PointState,
    /// Why it did not complete.
    pub error: Option<String>,
    /// The engine by name, or the path.
    pub target: String,
    /// The workload by name.
    pub workload: String,
    /// Clients.
    pub clients: u32,
    /// Operations that one client kept under way.
    pub depth: u32,
    /// Which repetition.
    pub repeat: u32,
    /// The other dimensions under their flag names, as text.
    pub params: BTreeMap<String, String>,
    /// What distinguishes this point from the others of the run, for legends: `file rndrd depth 8`.
    pub label: String,
    /// What distinguishes its sweep from the others: the label without clients, depth and repeat. Points of one group make
    /// one line in charts over clients or depth.
    pub group: String,
    /// What the target said of itself.
    pub facts: Vec<Fact>,
    /// The numbers; `None` where the run phase was not reached.
    pub summary: Option<Summary>,
    /// What is drawn over time; `None` where the run phase was not reached.
    pub series: Option<Series>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How far the numbers can be trusted.
    pub validity: Validity,
}

/// Analyses `run` with every detector.
pub fn analyse(run: &RunData) -> Analysis {
    Analysis { meta: run.meta.clone(), points: Vec::new(), findings: Vec::new(), verdict: Vec::new() }
}
