//! The settings of a coordinator.
//!
//! In: flags. Out: nothing. Limits: it checks nothing.

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
}
