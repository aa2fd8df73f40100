//! A client: a source of operations and a driver, joined for the life of a point. The one dynamic call per phase. Or several
//! clients that share a thread: as many sources, and a driver with a slot for each.
//!
//! In: made by an engine. Out: performs phases on a thread of its own. Limits: a client is used by one thread.

use crate::clock::MonotonicClock;
use crate::drive::{BatchDriver, Driver, StampMode, run_batched, run_sync};
use crate::recorder::Recorder;
use crate::schedule::{Schedule, Stop};
use crate::source::{OpSource, OpSupply};
use crate::tsc::ClientClock;

/// Performs operations on one thread, one phase after the other.
pub trait Client: Send {
    /// How many clients of the trial this is: more than one if they share a thread.
    fn client_count(&self) -> u32 {
        1
    }
    /// Called once on the client's own thread before its first phase. An error ends the point.
    fn open(&mut self) -> Result<(), String>;
    /// Performs one phase, on the thread of the client.
    fn run_phase(&mut self, schedule: &Schedule, clock: &MonotonicClock, recorder: &mut Recorder, stop: &Stop);
}

/// A client with one operation at a time.
pub struct SyncClient<D: Driver> {
    source: OpSource<D::Op>,
    driver: D,
}

/// A client with several operations in flight, or several clients with one each.
pub struct BatchClient<D: BatchDriver, S = OpSource<<D as BatchDriver>::Op>> {
    source: S,
    driver: D,
    stamp: StampMode,
}

impl<D: Driver> SyncClient<D> {
    /// The client that performs the operations of `source` with `driver`.
    pub fn new(source: OpSource<D::Op>, driver: D) -> Self {
        SyncClient { source, driver }
    }
}

impl<D: BatchDriver, S: OpSupply<D::Op>> BatchClient<D, S> {
    /// The client, or the clients, that perform the operations of `source` with `driver`.
    pub fn new(source: S, driver: D, stamp: StampMode) -> Self {
        BatchClient { source, driver, stamp }
    }
}

impl<D: Driver> Client for SyncClient<D> {
    fn open(&mut self) -> Result<(), String> {
        self.driver.open()
    }
    fn run_phase(&mut self, schedule: &Schedule, clock: &MonotonicClock, recorder: &mut Recorder, stop: &Stop) {
        let clock = ClientClock::new(*clock);
        run_sync(schedule, &clock, &mut self.source, &mut self.driver, recorder, stop);
    }
}

impl<D: BatchDriver, S: OpSupply<D::Op> + Send> Client for BatchClient<D, S> {
    fn client_count(&self) -> u32 {
        if S::SLOTS_ARE_CLIENTS { self.driver.depth() } else { 1 }
    }
    fn open(&mut self) -> Result<(), String> {
        self.driver.open()
    }
    fn run_phase(&mut self, schedule: &Schedule, clock: &MonotonicClock, recorder: &mut Recorder, stop: &Stop) {
        let clock = ClientClock::new(*clock);
        run_batched(schedule, &clock, &mut self.source, &mut self.driver, self.stamp, recorder, stop);
    }
}
