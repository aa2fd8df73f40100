//! Executes the steps of a variant on one connection, keeps what its statement returns, and asks the engine how it did it.
//!
//! In: the steps, a way to connect. Out: one client whose operations are the steps; the rows of the statement, compared over
//! executions; facts about the plan and the engine's counters. Limits: one connection and one client, statements as plain text, no
//! retries. Rows are fetched within the response time of the statement; their checksum is computed after it, in the time between two
//! operations.
//!
//! A step that fails ends the execution: the steps up to the clean-up are not sent and count as failed, too. A step that is cancelled at
//! its time limit is such a failure, and the load goes on; any other failure ends the load.

pub mod rows;
pub mod watchdog;

use crate::engine::WorkloadClients;
use crate::sql::OpFailure;
use host::error::TargetError;
use load::{Client, Driver, OpSource, SyncClient};
use model::{Fact, FailureClass, Nanos, Outcome, SqlOp, SqlStep, StepPart, Trial};
use rows::{FetchedRows, ResultDifference, ResultSummary, RowBuffer, RowLayout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use watchdog::{CancelStatement, Watchdog};
use workload::{ClientIndex, OpKindDef, OpStream, VariantSteps};

/// One connection that executes steps.
pub trait VariantSession: Send + 'static {
    /// The layout of the rows that it gives.
    const LAYOUT: RowLayout;
    /// Executes `sql` and puts its rows into `rows`, which is empty.
    fn run_step(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), OpFailure>;
    /// A function that cancels what this connection executes.
    fn canceller(&mut self) -> Result<CancelStatement, OpFailure>;
    /// What the optimizer does with `sql`, and if `executes`, what one more execution costs.
    fn explain(&mut self, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure>;
}

/// Opens connections to one engine.
pub trait VariantEngine: Clone + Send + 'static {
    type Session: VariantSession;
    /// The engine, for messages.
    fn engine_name(&self) -> String;
    fn open_session(&self) -> Result<Self::Session, OpFailure>;
}

/// What the executions of one point have shown.
#[derive(Default)]
struct VariantTally {
    /// What the first execution has returned.
    first: Option<FetchedRows>,
    /// The first execution that has returned something else.
    difference: Option<ResultDifference>,
    timeouts: u64,
}

/// A variant whose clients were made.
pub struct VariantRun {
    steps: VariantSteps,
    tally: Arc<Mutex<VariantTally>>,
    /// Whether the engine is asked for its plan afterwards: once for each variant.
    explains: bool,
}

/// What the statement of a variant has returned, for a comparison with other variants.
pub struct VariantResult {
    /// The name of the variant.
    pub variant: String,
    /// The rows of the first execution.
    pub rows: FetchedRows,
    /// How a later execution of the same point differs.
    pub difference: Option<ResultDifference>,
}

fn locked(tally: &Mutex<VariantTally>) -> MutexGuard<'_, VariantTally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VariantRun {
    /// The run of `steps` in `trial`.
    pub fn new(trial: &Trial, steps: &VariantSteps) -> VariantRun {
        VariantRun { steps: steps.clone(), tally: Arc::default(), explains: trial.repeat == 1 }
    }

    pub fn clients<E: VariantEngine>(
        &self,
        engine: &E,
        stream: &OpStream<SqlOp>,
        kinds: &[OpKindDef],
    ) -> WorkloadClients {
        let steps: Vec<SqlStep> = self.steps.steps.clone();
        let names = kinds.iter().map(|kind| kind.name.to_owned()).collect();
        let subject = format!("variant `{}`", self.steps.name);
        let timeout = self.steps.timeout.map(|Nanos(limit)| Duration::from_nanos(limit));
        let driver = VariantDriver {
            warms_up: self.steps.warms_up,
            tally: self.tally.clone(),
            ..VariantDriver::new(engine, subject, steps, names, timeout)
        };
        one_client(stream, kinds, driver)
    }

    /// What the statement has returned; `None` if no execution came that far.
    pub fn take_result(&self) -> Option<VariantResult> {
        let mut tally = locked(&self.tally);
        let (rows, difference) = (tally.first.take()?, tally.difference.take());
        Some(VariantResult { variant: self.steps.name.clone(), rows, difference })
    }

    /// The result and the number of timeouts, and what `engine` knows of the plan.
    pub fn closing_facts<E: VariantEngine>(&self, engine: &E) -> Vec<Fact> {
        let (summary, timeouts) = {
            let tally = locked(&self.tally);
            (tally.first.as_ref().map(|first| first.summary), tally.timeouts)
        };
        let mut facts: Vec<Fact> = summary.iter().flat_map(result_facts).collect();
        facts.push(Fact::new("statement.timeouts", timeouts.to_string()));
        if self.explains {
            // A statement that was cancelled would be cancelled again.
            let explained = self.explain(engine, timeouts == 0 && summary.is_some());
            facts.extend(explained.unwrap_or_else(|failure| vec![Fact::new("explain.missing", failure.text)]));
        }
        facts
    }

    /// Sets up, asks, and cleans up.
    fn explain<E: VariantEngine>(&self, engine: &E, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        let mut session = engine.open_session()?;
        let mut rows = RowBuffer::new(E::Session::LAYOUT);
        let of_part = |part| self.steps.steps.iter().filter(move |step| step.part == part);
        let mut run_part = |session: &mut E::Session, part| {
            of_part(part).try_for_each(|step| {
                rows.clear();
                session.run_step(&step.sql, &mut rows)
            })
        };
        let ready = run_part(&mut session, StepPart::Setup);
        let statement = of_part(StepPart::Statement).next().expect("the plan was checked: a variant has a statement");
        let facts = ready.and_then(|()| session.explain(&statement.sql, executes));
        let cleaned = run_part(&mut session, StepPart::Cleanup);
        facts.and_then(|facts| cleaned.map(|()| facts))
    }
}

fn result_facts(summary: &ResultSummary) -> [Fact; 3] {
    [
        Fact::new("result.rows", summary.rows.to_string()),
        Fact::new("result.columns", summary.columns.to_string()),
        Fact::new("result.checksum", format!("{:016x}", summary.checksum)),
    ]
}

/// The client that makes the data of `steps`.
pub fn data_clients<E: VariantEngine>(
    engine: &E,
    steps: &VariantSteps,
    stream: &OpStream<SqlOp>,
    kinds: &[OpKindDef],
) -> WorkloadClients {
    let data = steps.data.iter().map(|sql| SqlStep { part: StepPart::Setup, sql: sql.clone() }).collect();
    let names = (1..=steps.data.len()).map(|nth| format!("statement {nth}")).collect();
    one_client(stream, kinds, VariantDriver::new(engine, "data".to_owned(), data, names, None))
}

/// Whether `trial` executes a variant of a statement.
pub fn is_variant(trial: &Trial) -> bool {
    trial.workload.name == workload::sql::SQL.entry.name
}

/// Refuses the `database` of `url` for variants: plimsoll would not know which tables in it the plan made.
pub fn refuse_database(trial: &Trial, url: &str, database: Option<&str>) -> Result<(), TargetError> {
    let Some(database) = database.filter(|_| is_variant(trial)) else { return Ok(()) };
    Err(TargetError::Unsupported(format!(
        "`{url}`: plimsoll does not know which tables a plan of workload `sql` makes, and could not remove them from a database of \
         yours; leave `{database}` out of the URL: plimsoll then makes a schema of its own"
    )))
}

/// Refuses more than one client, and a cold start if nothing can be restarted.
pub fn check_trial(trial: &Trial, can_restart: bool) -> Result<(), TargetError> {
    if trial.load.clients != 1 {
        let clients = trial.load.clients;
        let text =
            format!("workload `sql` has one client, not {clients}: its steps follow one another; leave out `clients`");
        return Err(TargetError::Unsupported(text));
    }
    if !can_restart && workload::sql::is_cold(&trial.workload.params) {
        let text = "start = `cold` needs an engine that plimsoll can restart; use a private server or start = `warm`";
        return Err(TargetError::Unsupported(text.into()));
    }
    Ok(())
}

fn one_client<E: VariantEngine>(
    stream: &OpStream<SqlOp>,
    kinds: &[OpKindDef],
    driver: VariantDriver<E>,
) -> WorkloadClients {
    let slot = ClientIndex { client: 0, clients: 1 };
    let client: Box<dyn Client> = Box::new(SyncClient::new(OpSource::new(stream, slot), driver));
    WorkloadClients {
        kinds: kinds.to_vec(),
        clients: vec![client],
        background: Vec::new(),
        parts: Vec::new(),
        due: None,
    }
}

struct VariantDriver<E: VariantEngine> {
    engine: E,
    /// ``variant `view` ``, for messages.
    subject: String,
    steps: Vec<SqlStep>,
    /// The names of the steps, for messages.
    names: Vec<String>,
    warms_up: bool,
    timeout: Option<Duration>,
    session: Option<E::Session>,
    watchdog: Option<Watchdog>,
    rows: RowBuffer,
    /// The step that failed in this execution.
    failed_at: Option<usize>,
    failure: String,
    is_over: bool,
    tally: Arc<Mutex<VariantTally>>,
}

impl<E: VariantEngine> VariantDriver<E> {
    fn new(engine: &E, subject: String, steps: Vec<SqlStep>, names: Vec<String>, timeout: Option<Duration>) -> Self {
        VariantDriver {
            engine: engine.clone(),
            subject,
            steps,
            names,
            warms_up: false,
            timeout,
            session: None,
            watchdog: None,
            rows: RowBuffer::new(E::Session::LAYOUT),
            failed_at: None,
            failure: String::new(),
            is_over: false,
            tally: Arc::default(),
        }
    }

    /// Executes step number `at`.
    fn execute_step(&mut self, at: usize) -> Result<(), OpFailure> {
        let session = self.session.as_mut().expect("opened before the first operation");
        session.run_step(&self.steps[at].sql, &mut self.rows)
    }

    /// The first execution, whose times do not count.
    fn warm_up(&mut self) -> Result<(), String> {
        let mut outcome = Ok(());
        for at in 0..self.steps.len() {
            if outcome.is_err() && self.steps[at].part != StepPart::Cleanup {
                continue;
            }
            self.prepare_step();
            let done = self.execute_step(at);
            let was_cancelled = self.watchdog.as_ref().is_some_and(Watchdog::disarm);
            // After a failure the clean-up may have nothing to remove.
            if let (Err(failure), Ok(())) = (done, &outcome) {
                outcome = Err((at, failure, was_cancelled));
            }
        }
        match outcome {
            // What is measured then shows it.
            Ok(()) | Err((_, _, true)) => Ok(()),
            Err((at, failure, false)) => Err(self.describe(at, &failure)),
        }
    }

    fn prepare_step(&mut self) {
        self.rows.clear();
        self.watchdog.iter().for_each(Watchdog::arm);
    }

    /// ``engine `sqlite`, variant `view`, setup-1: no such table: t in `CREATE ...` ``.
    fn describe(&self, at: usize, failure: &OpFailure) -> String {
        let sql = host::error::shown(self.steps[at].sql.as_ref());
        format!("{}, {}, {}: {} in `{sql}`", self.engine.engine_name(), self.subject, self.names[at], failure.text)
    }

    fn fail(&mut self, at: usize, failure: OpFailure, was_cancelled: bool) -> Outcome {
        // What a clean-up cannot remove after a failure was not made.
        let is_aftermath = self.failed_at.is_some() && self.steps[at].part == StepPart::Cleanup;
        if is_aftermath && !failure.class.is_of_connection() {
            return Outcome::Failed(FailureClass::Other);
        }
        self.failure = match (was_cancelled, self.timeout) {
            (true, Some(limit)) => {
                locked(&self.tally).timeouts += 1;
                let (engine, limit) = (self.engine.engine_name(), Nanos(limit.as_nanos() as u64));
                format!("{engine}, {}, {}: cancelled after {limit} (statement_timeout)", self.subject, self.names[at])
            }
            _ => self.describe(at, &failure),
        };
        self.is_over = !was_cancelled;
        self.failed_at.get_or_insert(at);
        Outcome::Failed(failure.class)
    }

    /// Compares what the statement has returned with what the first execution did.
    fn compare_rows(&mut self) {
        let buffer = std::mem::replace(&mut self.rows, RowBuffer::new(E::Session::LAYOUT));
        let mut tally = locked(&self.tally);
        match &tally.first {
            None => tally.first = Some(FetchedRows::new(buffer)),
            Some(first) if first.summary == buffer.summary() => self.rows = buffer,
            Some(first) => {
                let difference = first.difference(&FetchedRows::new(buffer));
                tally.difference = tally.difference.take().or(difference);
            }
        }
    }
}

/// The number of the step that `op` is.
fn step_of(op: &SqlOp) -> usize {
    op.calls.first().map_or(0, |call| usize::from(call.statement))
}

impl<E: VariantEngine> Driver for VariantDriver<E> {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        let opened = self.engine.open_session();
        let mut session = opened.map_err(|failure| failure.of_opening(&self.engine.engine_name()))?;
        if let Some(limit) = self.timeout {
            let cancel = session.canceller().map_err(|failure| failure.of_opening(&self.engine.engine_name()))?;
            self.watchdog = Some(Watchdog::start(limit, cancel).map_err(|error| error.to_string())?);
        }
        self.session = Some(session);
        if self.warms_up { self.warm_up() } else { Ok(()) }
    }

    fn prepare_op(&mut self, op: &SqlOp) {
        if step_of(op) == 0 {
            self.failed_at = None;
        }
        self.prepare_step();
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        let at = step_of(op);
        if self.failed_at.is_some() && self.steps[at].part != StepPart::Cleanup {
            return Outcome::Failed(FailureClass::Other);
        }
        match self.execute_step(at) {
            Ok(()) => Outcome::Ok { bytes: 0 },
            Err(failure) => {
                let was_cancelled = self.watchdog.as_ref().is_some_and(Watchdog::disarm);
                self.fail(at, failure, was_cancelled)
            }
        }
    }

    fn check_outcome(&mut self, op: &SqlOp, outcome: Outcome) -> Outcome {
        // A statement may end as if nothing was when it is cancelled: SLEEP() does.
        let was_cancelled = self.watchdog.as_ref().is_some_and(Watchdog::disarm);
        if was_cancelled && matches!(outcome, Outcome::Ok { .. }) {
            return self.fail(step_of(op), OpFailure::timed_out_statement(), true);
        }
        let is_statement = self.steps[step_of(op)].part == StepPart::Statement;
        if is_statement && matches!(outcome, Outcome::Ok { .. }) {
            self.compare_rows();
        }
        outcome
    }

    fn describe_failure(&self) -> String {
        self.failure.clone()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    //! The order of the steps on a scripted connection; the real engines are in the contract tests.

    use super::*;
    use model::SqlCall;

    #[derive(Clone, Default)]
    struct Scripted {
        /// What was executed.
        sent: Arc<Mutex<Vec<String>>>,
        /// The rows of the next statements.
        rows: Arc<Mutex<Vec<&'static str>>>,
    }

    impl VariantEngine for Scripted {
        type Session = Scripted;
        fn engine_name(&self) -> String {
            "a server".into()
        }
        fn open_session(&self) -> Result<Scripted, OpFailure> {
            Ok(self.clone())
        }
    }

    impl VariantSession for Scripted {
        const LAYOUT: RowLayout = RowLayout::Counted;
        fn run_step(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
            self.sent.lock().unwrap().push(sql.into());
            match sql {
                "bad" => Err(OpFailure { class: FailureClass::Other, text: "it is bad".into() }),
                "statement" => {
                    let row = self.rows.lock().unwrap().pop().unwrap_or("1");
                    rows.begin(1);
                    rows.push_counted(1, |bytes| rows::put_counted(bytes, Some(row.as_bytes())));
                    Ok(())
                }
                _ => Ok(()),
            }
        }
        fn canceller(&mut self) -> Result<CancelStatement, OpFailure> {
            Ok(Box::new(|| {}))
        }
        fn explain(&mut self, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
            Ok(vec![Fact::new("explain.plan", format!("{sql} {executes}"))])
        }
    }

    fn driver(engine: &Scripted, steps: &[(StepPart, &str)]) -> VariantDriver<Scripted> {
        let steps: Vec<SqlStep> = steps.iter().map(|(part, sql)| SqlStep { part: *part, sql: (*sql).into() }).collect();
        let names = steps.iter().map(|step| step.sql.clone()).collect();
        VariantDriver::new(engine, "variant `v`".into(), steps, names, None)
    }

    fn perform(driver: &mut VariantDriver<Scripted>, at: usize) -> Outcome {
        let calls = vec![SqlCall { statement: at as u16, args: 0 }];
        let op = SqlOp { calls, ..SqlOp::default() };
        driver.prepare_op(&op);
        let outcome = driver.execute_op(&op);
        driver.check_outcome(&op, outcome)
    }

    const STEPS: [(StepPart, &str); 3] =
        [(StepPart::Setup, "setup"), (StepPart::Statement, "statement"), (StepPart::Cleanup, "cleanup")];

    #[test]
    fn a_step_that_fails_is_followed_by_the_clean_up_alone_and_ends_the_load() {
        let engine = Scripted::default();
        let mut driver = driver(&engine, &[(StepPart::Setup, "bad"), STEPS[1], STEPS[2]]);
        driver.open().unwrap();
        let outcomes = [0, 1, 2].map(|at| matches!(perform(&mut driver, at), Outcome::Ok { .. }));
        assert_eq!(
            (outcomes, &engine.sent.lock().unwrap()[..]),
            ([false, false, true], &["bad".into(), "cleanup".into()][..])
        );
        assert!(driver.is_over());
        assert_eq!(driver.describe_failure(), "a server, variant `v`, bad: it is bad in `bad`");
    }

    #[test]
    fn the_first_execution_of_a_warm_point_is_sent_and_not_kept() {
        let engine = Scripted::default();
        let mut driver = VariantDriver { warms_up: true, ..driver(&engine, &STEPS) };
        driver.open().unwrap();
        assert_eq!(engine.sent.lock().unwrap().len(), 3);
        assert!(locked(&driver.tally).first.is_none());
        let mut wrong =
            VariantDriver { warms_up: true, ..super::tests::driver(&engine, &[(StepPart::Statement, "bad")]) };
        assert_eq!(wrong.open(), Err("a server, variant `v`, bad: it is bad in `bad`".into()));
    }

    #[test]
    fn an_execution_that_returns_something_else_is_kept_as_a_difference() {
        let engine = Scripted::default();
        engine.rows.lock().unwrap().extend(["2", "1", "1"]);
        let mut driver = driver(&engine, &STEPS);
        driver.open().unwrap();
        for nth in 0..3 {
            assert!(matches!(perform(&mut driver, 1), Outcome::Ok { .. }));
            assert_eq!(locked(&driver.tally).difference.is_some(), nth == 2);
        }
        let row = locked(&driver.tally).difference.take().unwrap().row;
        assert_eq!(row, Some([Some("(1)".into()), Some("(2)".into())]));
    }
}
