//! The numbers of one point: rates, times, and what an op, a query or a row cost.

pub(crate) mod accounts;
pub mod achieved;
pub mod amounts;
pub(crate) mod background;
pub mod compression;
pub mod cost;
pub mod endpoints;
pub(crate) mod instance_shares;
pub mod network;
pub mod op_cost;
pub mod order_rates;
pub mod phase_times;
pub mod projection;
pub mod rates;
pub mod retries;
pub mod running_cost;
pub mod stacks;
pub mod statements;
pub(crate) mod steps;
pub mod summary;
pub mod thread_states;
pub mod variants;
pub mod work_done;
pub mod written;
