//! Clients that open, ask and close connections, to any engine that accepts some.
//!
//! In: how to open a connection, ask over it and close it ([`ConnectTarget`]). Out: clients for the turns of a [`ConnectProgram`].
//! Limits: one connection for each client at a time. To open one allocates, as it does in any program.
//!
//! [`hold`] keeps connections open until the engine refuses one more; [`backlog`] reads how a listener queues them.

pub mod backlog;
pub mod footprint;
pub mod hold;

use crate::engine::{WorkloadClients, workload_of};
use crate::sql::OpFailure;
use host::error::TargetError;
use load::{Driver, SyncClient};
use model::{ConnectOp, ConnectStep, Nanos, Outcome, Trial};
use std::time::{Duration, Instant};
use workload::program::ConnectProgram;

/// An engine that accepts connections.
pub trait ConnectTarget: Clone + Send + 'static {
    type Open: Send;
    /// The engine, for messages.
    fn server_name(&self) -> String;
    /// Opens a connection and logs in, within `allowed`.
    fn open(&self, allowed: Duration) -> Result<Self::Open, OpFailure>;
    /// Sends the first query and takes its answer.
    fn ask(&self, open: &mut Self::Open) -> Result<(), OpFailure>;
}

/// The program of `trial` on an engine that answers queries, or does not.
pub fn connect_program_of(trial: &Trial, asks: bool) -> ConnectProgram {
    let make = workload_of(trial).connect.expect("the plan was checked: workload and engine share a family");
    make(&trial.workload.params, asks)
}

/// Whether `trial` opens connections and does nothing else.
pub fn is_connecting(trial: &Trial) -> bool {
    workload_of(trial).connect.is_some()
}

/// Refuses a trial that opens connections in a way that cannot be; others are not looked at.
pub fn check_trial(trial: &Trial) -> Result<(), TargetError> {
    if !is_connecting(trial) {
        return Ok(());
    }
    let program = connect_program_of(trial, true);
    let (timeout, grace) = (program.timeout, trial.phases.grace);
    if timeout > grace {
        return Err(TargetError::Unsupported(format!(
            "timeout = `{timeout}` exceeds grace = `{grace}`: at the end of the run a client would still wait; raise --grace"
        )));
    }
    if program.hold.is_some() && trial.load.clients > 1 {
        return Err(TargetError::Unsupported(format!(
            "one client opens all that is held, and {} were asked for; leave out --clients",
            trial.load.clients
        )));
    }
    Ok(())
}

/// The clients of `trial`, which performs `program` on `target`.
pub fn connect_clients<T: ConnectTarget>(trial: &Trial, program: &ConnectProgram, target: &T) -> WorkloadClients {
    WorkloadClients::new(&program.kinds, &program.run, &[], trial.data_part(), |source, _| {
        let driver = ConnectDriver {
            target: target.clone(),
            pause: Duration::from_nanos(program.pause.0),
            timeout: allowed_time(program.timeout),
            open: None,
            failure: String::new(),
        };
        Box::new(SyncClient::new(source, driver))
    })
}

/// At least a millisecond: no time at all would refuse every connection.
fn allowed_time(timeout: Nanos) -> Duration {
    Duration::from_nanos(timeout.0).max(Duration::from_millis(1))
}

struct ConnectDriver<T: ConnectTarget> {
    target: T,
    pause: Duration,
    timeout: Duration,
    /// The connection of this turn.
    open: Option<T::Open>,
    failure: String,
}

impl<T: ConnectTarget> ConnectDriver<T> {
    fn perform(&mut self, step: ConnectStep) -> Result<(), OpFailure> {
        match step {
            ConnectStep::Connect => self.open = Some(self.target.open(self.timeout)?),
            ConnectStep::FirstQuery => self.target.ask(self.open.as_mut().expect("it was opened in this turn"))?,
            ConnectStep::Close => drop(self.open.take()),
            ConnectStep::Hold => unreachable!("holding has a driver of its own"),
        }
        Ok(())
    }
}

impl<T: ConnectTarget> Driver for ConnectDriver<T> {
    type Op = ConnectOp;

    /// An engine that refuses connections ends the point at once, and not after many failures. One that waited all of its time did so in a
    /// full queue behind those of the other clients, which all begin together: that is what is measured.
    fn open(&mut self) -> Result<(), String> {
        let began = Instant::now();
        match self.target.open(self.timeout) {
            Err(failure) if began.elapsed() < self.timeout => Err(failure.of_opening(&self.target.server_name())),
            _ => Ok(()),
        }
    }

    fn prepare_op(&mut self, op: &ConnectOp) {
        match op.step {
            // What a turn that failed has left.
            ConnectStep::Connect => self.open = None,
            ConnectStep::FirstQuery if !self.pause.is_zero() => std::thread::sleep(self.pause),
            _ => {}
        }
    }

    fn execute_op(&mut self, op: &ConnectOp) -> Outcome {
        match self.perform(op.step) {
            Ok(()) => Outcome::Ok { bytes: 0 },
            Err(OpFailure { class, text }) => {
                self.failure = text;
                Outcome::Failed(class)
            }
        }
    }

    fn describe_failure(&self) -> String {
        format!("{}: {}", self.target.server_name(), self.failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FailureClass;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Counts open connections; the query of every second one fails.
    #[derive(Clone, Default)]
    struct Counted {
        open: Arc<AtomicU64>,
        asked: Arc<AtomicU64>,
    }
    struct Guard(Arc<AtomicU64>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    impl ConnectTarget for Counted {
        type Open = Guard;
        fn server_name(&self) -> String {
            "a server".into()
        }
        fn open(&self, _: Duration) -> Result<Guard, OpFailure> {
            self.open.fetch_add(1, Relaxed);
            Ok(Guard(self.open.clone()))
        }
        fn ask(&self, _: &mut Guard) -> Result<(), OpFailure> {
            match self.asked.fetch_add(1, Relaxed) % 2 {
                0 => Ok(()),
                _ => Err(OpFailure { class: FailureClass::Other, text: "no".into() }),
            }
        }
    }

    /// Refuses each connection.
    #[derive(Clone)]
    struct Closed;
    impl ConnectTarget for Closed {
        type Open = ();
        fn server_name(&self) -> String {
            "a server".into()
        }
        fn open(&self, _: Duration) -> Result<(), OpFailure> {
            Err(OpFailure { class: FailureClass::Lost, text: "no".into() })
        }
        fn ask(&self, (): &mut ()) -> Result<(), OpFailure> {
            unreachable!("nothing is open")
        }
    }

    #[test]
    fn a_refusal_ends_the_point_and_a_wait_in_a_full_queue_is_measured() {
        let begins = |timeout| {
            let (pause, failure) = (Duration::ZERO, String::new());
            ConnectDriver { target: Closed, pause, timeout, open: None, failure }.open()
        };
        assert_eq!(begins(Duration::from_secs(60)), Err("cannot connect to a server: no".to_owned()));
        assert_eq!(begins(Duration::ZERO), Ok(()), "its time was over");
    }

    #[test]
    fn no_turn_leaves_its_connection_open_for_the_next() {
        let target = Counted::default();
        let mut driver = ConnectDriver {
            target: target.clone(),
            pause: Duration::ZERO,
            timeout: Duration::from_secs(1),
            open: None,
            failure: String::new(),
        };
        driver.open().unwrap();
        assert_eq!(target.open.load(Relaxed), 0);
        let mut perform = |step| {
            let op = ConnectOp { step, ..ConnectOp::default() };
            driver.prepare_op(&op);
            (driver.execute_op(&op), target.open.load(Relaxed), driver.describe_failure())
        };
        let done = Outcome::Ok { bytes: 0 };
        for (step, open) in [(ConnectStep::Connect, 1), (ConnectStep::FirstQuery, 1), (ConnectStep::Close, 0)] {
            let (outcome, left, _) = perform(step);
            assert_eq!((outcome, left), (done, open));
        }
        perform(ConnectStep::Connect);
        let failed = perform(ConnectStep::FirstQuery);
        assert_eq!(failed, (Outcome::Failed(FailureClass::Other), 1, "a server: no".to_owned()));
        // The rest of the turn was left out.
        assert_eq!(perform(ConnectStep::Connect).1, 1);
    }
}
