//! What the SQL servers have in common: a client that performs transactions over a connection, tries again what the server
//! gave up for another's sake, and comes back when the connection was lost.
//!
//! In: how to connect, and what a connection does. Out: a [`Driver`]. Limits: one connection per client.
//!
//! A transaction that lost against another (deadlock, serialization) is rolled back and performed again, at most
//! [`AGAIN_FOR`] long; its response time holds all attempts, and the instance counts them. What fails then is a conflict.
//! A lost connection fails its operation. Where the load goes on after failures, the next operation connects again, after a
//! pause that doubles from 50 ms to a second: so an outage is a gap in the timeline and not a million failures.

use super::{Loading, workload_of};
use crate::error::TargetError;
use load::{Driver, SyncClient};
use model::{Fact, FailureClass, Nanos, Outcome, SqlOp, Trial};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use workload::{Beside, Carried, Kind, Part, SqlProgram};

/// An operation that lost against others is tried again for this long: less than the grace time by default, so that the end of
/// a phase does not find it still trying.
const AGAIN_FOR: Duration = Duration::from_secs(5);

/// The pause before the first attempt to connect again, and the longest.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A server that says nothing for so long is lost, or for the trial's grace time where that is longer. A stall below it is a
/// measurement and no failure.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How long a client of `trial` waits for an answer.
pub fn patience(trial: &Trial) -> Duration {
    let Nanos(grace) = trial.phases.grace;
    SILENCE_MAX.max(Duration::from_nanos(grace))
}

/// Why an operation failed.
#[derive(Debug)]
pub struct Failure {
    /// Its class.
    pub class: FailureClass,
    /// What the server or the system said.
    pub text: String,
}

/// The error of a server, called `server`, that failed beside the operations.
pub fn failed(server: &str, failure: Failure) -> TargetError {
    let advice = if failure.class == FailureClass::NoSpace { "; free some space or measure elsewhere" } else { "" };
    TargetError::Failed(format!("{server}: {}{advice}", failure.text))
}

/// Makes connections to one server for one list of statements.
pub trait Connect: Clone + Send + 'static {
    /// A connection.
    type Session: Session;
    /// The server, for messages: `mariadb in /data`.
    fn server(&self) -> String;
    /// The same for a client that executes but those of the statements that are `used`, by their numbers.
    fn only(&self, used: &[u16]) -> Self;
    /// Connects and prepares all statements.
    fn connect(&self) -> Result<Self::Session, Failure>;
}

/// A connection with its prepared statements.
pub trait Session: Send + 'static {
    /// Performs one operation whole.
    fn perform(&mut self, op: &SqlOp) -> Result<(), Failure>;
    /// Gives up the transaction under way, where there is one.
    fn roll_back(&mut self) -> Result<(), Failure>;
}

/// What the clients of an instance did beside their operations.
#[derive(Default)]
pub struct Tally {
    again: AtomicU64,
    reconnected: AtomicU64,
    lost: AtomicU64,
}

impl Tally {
    /// Whether any connection was lost.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Relaxed) > 0
    }

    /// The counts so far.
    pub fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, count: &AtomicU64| Fact::new(name, count.load(Relaxed).to_string());
        vec![fact("client.retries", &self.again), fact("client.reconnects", &self.reconnected)]
    }
}

/// The program of `trial`.
pub fn program_of(trial: &Trial, carried: &Carried) -> SqlProgram {
    let make = workload_of(trial).sql.expect("the plan was checked: workload and engine share a family");
    make(&trial.workload.params, trial.seed, carried)
}

/// How many connections the clients of `trial` need for its `program`.
pub fn connections(trial: &Trial, program: &SqlProgram) -> u32 {
    trial.load.clients * if program.beside.is_some() { 2 } else { 1 }
}

/// `clients` clients for `part`, and as many for what is done `beside`.
pub fn loading(
    part: &Part<SqlOp>,
    beside: Option<&Beside<SqlOp>>,
    kinds: &[Kind],
    clients: u32,
    connect: &impl Connect,
    tally: &Arc<Tally>,
) -> Loading {
    Loading::new(kinds, part, beside, clients, |source, _| {
        let connect = source.statements().map_or_else(|| connect.clone(), |used| connect.only(used));
        Box::new(SyncClient::new(source, SqlDriver::new(connect, tally.clone())))
    })
}

/// `statements` for a client that executes but those that are `used`: in place of the others, so that all keep their numbers,
/// stands one of no size. A server keeps 3 MB for a statement with 7,000 arguments, for each connection.
pub fn only(statements: &[String], used: &[u16]) -> Arc<[String]> {
    let mut kept = vec![String::from("SELECT 1"); statements.len()];
    used.iter().for_each(|number| kept[*number as usize].clone_from(&statements[*number as usize]));
    kept.into()
}

/// One client.
struct SqlDriver<C: Connect> {
    connect: C,
    /// Opened on the client's own thread; `None` again while it is lost.
    session: Option<C::Session>,
    /// Before the next attempt to connect.
    pause: Duration,
    failure: String,
    tally: Arc<Tally>,
}

impl<C: Connect> SqlDriver<C> {
    fn new(connect: C, tally: Arc<Tally>) -> Self {
        SqlDriver { connect, session: None, pause: PAUSE, failure: String::new(), tally }
    }

    /// The connection, made anew where it was lost.
    #[inline]
    fn session(&mut self) -> Result<&mut C::Session, Failure> {
        if self.session.is_none() {
            self.connect_again()?;
        }
        Ok(self.session.as_mut().expect("connected above"))
    }

    #[cold]
    fn connect_again(&mut self) -> Result<(), Failure> {
        std::thread::sleep(self.pause);
        self.pause = (2 * self.pause).min(PAUSE_MAX);
        let session = self.connect.connect().map_err(|failure| Failure { class: FailureClass::Lost, ..failure })?;
        self.session = Some(session);
        self.pause = PAUSE;
        self.tally.reconnected.fetch_add(1, Relaxed);
        Ok(())
    }

    /// What to do about a failed attempt: `None` where the operation is to be performed again.
    #[cold]
    fn give_up(&mut self, failure: Failure, began: &mut Option<Instant>) -> Option<FailureClass> {
        let Failure { class, text } = failure;
        let usable = class != FailureClass::Lost && self.session.as_mut().is_some_and(|it| it.roll_back().is_ok());
        if !usable {
            self.session = None;
        }
        if class == FailureClass::Conflict && usable && began.get_or_insert_with(Instant::now).elapsed() < AGAIN_FOR {
            self.tally.again.fetch_add(1, Relaxed);
            return None;
        }
        self.tally.lost.fetch_add(u64::from(class == FailureClass::Lost), Relaxed);
        self.failure = text;
        Some(class)
    }
}

impl<C: Connect> Driver for SqlDriver<C> {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        let cannot = |failure: Failure| format!("cannot connect to {}: {}", self.connect.server(), failure.text);
        self.session = Some(self.connect.connect().map_err(cannot)?);
        Ok(())
    }

    fn execute(&mut self, op: &SqlOp) -> Outcome {
        let mut began = None;
        loop {
            let Err(failure) = self.session().and_then(|session| session.perform(op)) else {
                return Outcome::Ok { bytes: 0 };
            };
            if let Some(class) = self.give_up(failure, &mut began) {
                return Outcome::Failed(class);
            }
        }
    }

    fn describe_failure(&self) -> String {
        format!("{}: {}", self.connect.server(), self.failure)
    }
}

#[cfg(test)]
mod tests {
    //! The policy on a scripted connection; the real servers are in the contract tests.

    use super::*;
    use std::sync::Mutex;

    /// What the next attempts do, the last first.
    #[derive(Clone, Default)]
    struct Script(Arc<Mutex<Vec<Option<FailureClass>>>>, Arc<AtomicU64>);

    impl Connect for Script {
        type Session = Script;
        fn server(&self) -> String {
            "a server".into()
        }
        fn only(&self, _: &[u16]) -> Script {
            self.clone()
        }
        fn connect(&self) -> Result<Script, Failure> {
            Ok(self.clone())
        }
    }

    impl Session for Script {
        fn perform(&mut self, _: &SqlOp) -> Result<(), Failure> {
            match self.0.lock().unwrap().pop().flatten() {
                None => Ok(()),
                Some(class) => Err(Failure { class, text: format!("it was {}", class.as_str()) }),
            }
        }
        fn roll_back(&mut self) -> Result<(), Failure> {
            self.1.fetch_add(1, Relaxed);
            Ok(())
        }
    }

    fn driver(script: &[Option<FailureClass>]) -> (SqlDriver<Script>, Script) {
        let script = Script(Arc::new(Mutex::new(script.iter().rev().copied().collect())), Arc::default());
        let mut driver = SqlDriver::new(script.clone(), Arc::default());
        driver.open().unwrap();
        (driver, script)
    }

    fn counts(driver: &SqlDriver<Script>) -> [String; 2] {
        [0, 1].map(|nth| driver.tally.facts()[nth].value.clone())
    }

    #[test]
    fn statements_of_others_have_no_size_and_all_keep_their_numbers() {
        let all = ["INSERT", "DELETE", "UPDATE"].map(String::from);
        assert_eq!(*only(&all, &[2, 0]), ["INSERT", "SELECT 1", "UPDATE"]);
    }

    #[test]
    fn a_conflict_is_rolled_back_and_performed_again_within_the_same_operation() {
        let conflict = Some(FailureClass::Conflict);
        let (mut driver, script) = driver(&[conflict, conflict, None]);
        assert_eq!(driver.execute(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((script.1.load(Relaxed), counts(&driver)), (2, ["2".into(), "0".into()]));
    }

    #[test]
    fn another_failure_is_rolled_back_and_told() {
        let (mut driver, script) = driver(&[Some(FailureClass::NoSpace), None]);
        assert_eq!(driver.execute(&SqlOp::default()), Outcome::Failed(FailureClass::NoSpace));
        assert_eq!(driver.describe_failure(), "a server: it was no space");
        assert_eq!(driver.execute(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((script.1.load(Relaxed), counts(&driver)), (1, ["0".into(), "0".into()]));
    }

    #[test]
    fn a_lost_connection_fails_its_operation_and_the_next_one_connects_again() {
        let (mut driver, script) = driver(&[Some(FailureClass::Lost), None]);
        assert_eq!(driver.execute(&SqlOp::default()), Outcome::Failed(FailureClass::Lost));
        assert!(driver.session.is_none());
        assert_eq!(driver.execute(&SqlOp::default()), Outcome::Ok { bytes: 0 });
        assert_eq!((script.1.load(Relaxed), counts(&driver)), (0, ["0".into(), "1".into()]));
    }
}
