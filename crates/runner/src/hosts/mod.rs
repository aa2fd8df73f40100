//! One run from several hosts: a coordinator conducts, agents perform, and a bus carries orders and rows between them.
//!
//! In: the address of a bus, a plan (coordinator) or a place to measure (agent). Out: one run file with the rows of all hosts, and on each host
//! a run file of its own, which is the truth of that host. Limits: the bus is a server of others; nothing here starts one. The load of a
//! point is divided by `model::divide_trial`.
//!
//! The coordinator is a [`Performer`](crate::messages::Performer) like the one of this host, so the conductor is the same. Each agent
//! has one stream for all that it reports, in its order and numbered without gaps: an answer cannot overtake the rows before it, and a row that
//! was lost is missed at once and asked for.

mod agent;
mod control;
mod coordinator;
mod guard;
mod hosts_link;
mod members;
mod observer;
mod own_run;
mod point;
mod reach_bus;
mod reports;
mod run_clock;
mod session;
mod setup;
mod sink;
mod wire;

pub use agent::{AgentSetup, serve_agent};
pub use session::HostedSession;
pub use setup::{CoordinatorSetup, OnHostLoss};
