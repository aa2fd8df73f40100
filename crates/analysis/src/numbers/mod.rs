//! The numbers of a point: rates, percentiles, costs.
//!
//! In: a recorded point and the part of its run phase that counts. Out: a [`summary::Summary`].
//! Limits: nothing here judges; what a number is worth is for the detectors to decide.

pub mod achieved;
pub mod network;
pub mod op_cost;
pub mod quantiles;
pub mod rates;
pub mod retries;
pub mod running_cost;
pub mod summary;
