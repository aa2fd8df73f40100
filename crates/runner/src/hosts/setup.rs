//! The settings of a coordinator.
//!
//! They come from flags, and are not checked here.

use bus::{BusConnector, BusKeys};
use std::time::Duration;

/// The settings of a coordinator.
#[derive(Clone, Debug)]
pub struct CoordinatorSetup {
    /// The way to the bus.
    pub connector: BusConnector,
    /// The keys of the hosts that belong together.
    pub keys: BusKeys,
    /// How many agents make the load. Those that only observe come in addition.
    pub agents: u32,
    /// How long it waits for agents at the beginning, and for one that is silent.
    pub wait: Duration,
    /// What becomes of a point whose load runs when a host is lost.
    pub on_host_loss: OnHostLoss,
}

/// What becomes of a point whose load runs when a host is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnHostLoss {
    /// The point ends.
    #[default]
    Stop,
    /// It goes on with the hosts that are left.
    GoOn,
}
