//! The clients of a replay: they send the statements of a recording to a server that holds a copy of the recorded data.
//!
//! In: a recording, the server and an account on it, how fast it is to go. Out: clients whose operations are the statements, as text or, where
//! they were prepared, as calls again, and what these have come to. Limits: rows are read and dropped, or summed up if that is asked for. Nothing
//! is tried again: what fails is counted. A connection serves one session after the other; with writes each session has a connection of its own,
//! because what one has set must not be seen by the next, and a statement waits for those of other sessions on the same row that were before it
//! ([`replay_order`](crate::sql::replay_order)).

use crate::engine::WorkloadClients;
use crate::sql::multiplex::PollableSession;
use crate::sql::replay::makes_ids;
use crate::sql::replay_calls::{KnownTemplates, PreparedHere, PreparesLater, RecordedCall};
use crate::sql::replay_copy::{address_in, copied_schemas};
use crate::sql::replay_divergence::ReplayDivergence;
use crate::sql::replay_failures::{self, ReplayFailures};
use crate::sql::replay_ids::{MadeColumns, ReplayIds, SetIds};
use crate::sql::replay_keys::ReplayKeys;
use crate::sql::replay_order::{ReplayOrder, Waiter};
use crate::sql::replay_results::ReplayResults;
use crate::sql::row_tally::Answered;
use crate::sql::server_kind::SqlServer;
use crate::sql::session_options::SessionOptions;
use crate::sql::variant::rows::RowBuffer;
use crate::sql::{OpFailure, OpNames, SessionFactory, SqlSession};
use host::error::TargetError;
use load::{Client, Driver, DueTimes, OpSource, SyncClient};
use model::{Fact, FailureClass, LoadPart, Nanos, OpKind, Outcome, RowCounts, SqlArg, SqlOp, Trial};
use std::collections::BTreeSet;
use std::sync::Arc;
use workload::ClientIndex;
use workload::replay_sql::{self, RecordedAnswer, SqlRecording, StatementPlace, WorkedIds};

/// What so many statements of a client call first is prepared before the replay begins.
const FIRST_STATEMENTS: usize = 64;

/// What the statements of all clients have come to.
pub struct ReplayTally {
    /// What they returned; `None` if that is not asked for.
    results: Option<Arc<ReplayResults>>,
    failures: Arc<ReplayFailures>,
    divergence: Arc<ReplayDivergence>,
    ids: Arc<ReplayIds>,
    known: Arc<KnownTemplates>,
    keys: ReplayKeys,
    /// Who waited for whom; `None` if only reads are replayed.
    order: Option<Arc<ReplayOrder>>,
}

impl ReplayTally {
    pub fn facts(&self) -> Vec<Fact> {
        let results = self.results.as_ref().map_or_else(Vec::new, |results| results.facts());
        let order = self.order.as_ref().and_then(|order| order.fact());
        let ids = [self.ids.fact(), self.ids.counters_fact()];
        let of_all = ids.into_iter().chain([self.known.fact(), self.keys.fact(), order]).flatten();
        results.into_iter().chain(self.failures.facts()).chain(self.divergence.facts()).chain(of_all).collect()
    }
}

/// The clients of `trial` that replay `recording` on the server at `address`, with the ids that were `worked` out and moving `keys`, and what their
/// statements will have come to.
pub fn replay_clients<S: SqlServer>(
    recording: &Arc<SqlRecording>,
    trial: &Trial,
    address: &S::Address,
    options: &SessionOptions,
    made_columns: MadeColumns,
    worked: Option<Arc<WorkedIds>>,
    keys: ReplayKeys,
) -> Result<(WorkloadClients, ReplayTally), TargetError> {
    let params = &trial.workload.params;
    let clients = trial.load.clients;
    let speed = replay_sql::speed_of(params);
    let unusable =
        |error: &dyn std::fmt::Display| TargetError::Unsupported(format!("the statements of the log: {error}"));
    let lanes = Arc::new(recording.lanes(clients).map_err(|error| unusable(&error))?);
    let stream = replay_sql::statement_stream(recording.clone(), lanes.clone(), speed, worked.clone(), keys.mover());
    let kinds = replay_sql::kinds_of(recording);
    let results = replay_sql::checks_results(params);
    let results = results.then(|| Arc::new(ReplayResults::new(kinds.iter().map(|kind| kind.name))));
    let names = kinds.iter().map(|kind| kind.name);
    let may_fire = recording.kinds().iter().map(|kind| kind.may_fire).collect();
    let divergence = Arc::new(ReplayDivergence::new(names, recording.is_hashed).with_triggers(may_fire));
    let mut server = ReplayServer::<S> {
        address: address.clone(),
        options: SessionOptions { open: options.open.clone(), ..options.clone() },
        schemas: copied_schemas(recording, params)?.into(),
        allows_writes: replay_sql::allows_writes(params),
        names: OpNames::new(&kinds),
        makes_ids: makes_ids(recording, &keys),
        made_columns: Arc::new(made_columns),
        known: Arc::default(),
    };
    // Rows that are summed up are those of texts: prepared statements answer in another form.
    if results.is_none() {
        server.known = Arc::new(KnownTemplates::ask(recording, |schema| server.connect(schema)));
    }
    let ids = Arc::new(ReplayIds::of(worked.as_deref()));
    let (failures, known) = (Arc::default(), server.known.clone());
    let order = server.allows_writes.then(|| ReplayOrder::new(lanes.clone(), clients, recording.sessions()));
    let tally = ReplayTally { results, failures, divergence, ids, known, keys, order: order.map(Arc::new) };
    let beginning = |lane: u32| -> std::io::Result<((u32, u32), Vec<u32>)> {
        let looked_at = if recording.templates().is_empty() { 1 } else { FIRST_STATEMENTS };
        let first = lanes.numbers_of(lane, 0, looked_at)?.into_iter();
        let first = first.map(|number| recording.statement(number)).collect::<Result<Vec<_>, _>>()?;
        let place = first.first().map_or((0, 0), |first| (first.schema, first.session));
        let mut text = Vec::new();
        let in_place = first.iter().filter(|it| (it.schema, it.session) == place);
        let templates = in_place.map(|it| Ok(recording.read_text(it, &mut text)?.template()));
        let templates: BTreeSet<u32> = templates.collect::<std::io::Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok((place, templates.into_iter().collect()))
    };
    let client = |slot: ClientIndex| -> Result<Box<dyn Client>, TargetError> {
        let (place, prepares_first) = beginning(slot.client).map_err(|error| unusable(&error))?;
        // Copies have fewer sessions at once than clients if these are shorter than the recording.
        let is_idle = lanes.count_of(slot.client) == 0;
        let results = tally.results.clone().map(|sums| FetchedResults { sums, rows: RowBuffer::new(S::ROW_LAYOUT) });
        let (server, failures) = (server.clone(), tally.failures.clone());
        let (divergence, ids, order) = (tally.divergence.clone(), tally.ids.clone(), tally.order.clone());
        let driver = ReplayDriver {
            server,
            session: None,
            place,
            is_idle,
            results,
            failures,
            failure: None,
            divergence,
            ids,
            set_ids: SetIds::default(),
            with_ids: None,
            prepared: PreparedHere::default(),
            prepares_first,
            order,
            client: slot.client,
        };
        Ok(Box::new(SyncClient::new(OpSource::new(&stream, slot), driver)))
    };
    let clients = ClientIndex::all_in(LoadPart::all_of(clients)).map(client).collect::<Result<_, _>>()?;
    let due = speed.map(|speed| -> Arc<dyn DueTimes> { Arc::new(ReplayTimes { recording: recording.clone(), speed }) });
    Ok((WorkloadClients { kinds, clients, background: Vec::new(), parts: Vec::new(), due }, tally))
}

/// When the statements fall due.
#[derive(Debug)]
struct ReplayTimes {
    recording: Arc<SqlRecording>,
    speed: f64,
}

impl DueTimes for ReplayTimes {
    fn count_within(&self, length: Nanos) -> u64 {
        // If they cannot be read back, all count as due, so that those that were not sent are missing.
        replay_sql::count_due(&self.recording, self.speed, length).unwrap_or(self.recording.len())
    }

    fn last_due(&self) -> Option<Nanos> {
        Some(Nanos((self.recording.length().0 as f64 / self.speed) as u64))
    }
}

/// The server, as all clients use it.
struct ReplayServer<S: SqlServer> {
    address: S::Address,
    options: SessionOptions,
    /// The names of the copy's schemas, by the numbers of the recording.
    schemas: Arc<[String]>,
    allows_writes: bool,
    names: OpNames,
    /// Whether the server makes the recorded ids again.
    makes_ids: bool,
    made_columns: Arc<MadeColumns>,
    /// What was prepared and can be again.
    known: Arc<KnownTemplates>,
}

impl<S: SqlServer> Clone for ReplayServer<S> {
    fn clone(&self) -> Self {
        ReplayServer {
            address: self.address.clone(),
            options: self.options.clone(),
            schemas: self.schemas.clone(),
            allows_writes: self.allows_writes,
            names: self.names.clone(),
            makes_ids: self.makes_ids,
            made_columns: self.made_columns.clone(),
            known: self.known.clone(),
        }
    }
}

impl<S: SqlServer> ReplayServer<S> {
    /// A connection with schema number `schema` as the current one.
    fn connect(&self, schema: u32) -> Result<SessionOf<S>, OpFailure> {
        let words = S::replay_words();
        let address = address_in::<S>(&self.address, self.schemas.get(schema as usize).map_or("", String::as_str));
        let mut session = S::session_factory(address, Arc::new([]), self.options.clone()).connect()?;
        words.first_texts(!self.allows_writes).try_for_each(|text| session.run_text(text))?;
        Ok(session)
    }
}

type SessionOf<S> = <<S as SqlServer>::Sessions as SessionFactory>::Session;

struct ReplayDriver<S: SqlServer> {
    server: ReplayServer<S>,
    session: Option<SessionOf<S>>,
    /// The numbers of the schema and of the recorded session that the connection is in.
    place: (u32, u32),
    /// It has nothing to send, and needs no connection.
    is_idle: bool,
    /// Where what was returned is added; `None` if rows are dropped.
    results: Option<FetchedResults>,
    failures: Arc<ReplayFailures>,
    /// The last failure of the client.
    failure: Option<(OpKind, OpFailure)>,
    divergence: Arc<ReplayDivergence>,
    ids: Arc<ReplayIds>,
    set_ids: SetIds,
    /// The statement that is next with the ids that it made, if it says them itself.
    with_ids: Option<String>,
    /// What is prepared on the connection.
    prepared: PreparedHere,
    /// What the first statements are calls of: the application had it prepared when the recording began.
    prepares_first: Vec<u32>,
    /// What statements wait for; `None` if only reads are replayed.
    order: Option<Arc<ReplayOrder>>,
    /// Its number among all clients.
    client: u32,
}

/// The argument with the number of the recorded session.
const SESSION_ARG: usize = 1;
/// The arguments with how many bytes the text of a statement has and how many the ids that it made, behind those of what it was answered.
const TEXT_BYTES_ARG: usize = 8;
const MADE_BYTES_ARG: usize = 9;
/// The argument with the place of the statement that it waits for.
const AFTER_ARG: usize = 10;
/// The argument that is 1 if its session was in a transaction.
const IN_TRANSACTION_ARG: usize = 11;
/// Where the arguments of a call begin.
const CALL_ARG: usize = 12;

/// Argument number `nth` of a statement: its schema, its session, its time, a number of bytes, or whether it is in a transaction.
fn number_in(op: &SqlOp, nth: usize) -> i64 {
    if let Some(SqlArg::Int(number)) = op.args.get(nth) { *number } else { 0 }
}

/// What the statement was answered when it was recorded.
fn recorded_answer(op: &SqlOp) -> RecordedAnswer {
    RecordedAnswer::from_args(op.args.get(3..).unwrap_or_default())
}

/// The text of the statement, and the ids that it made.
fn statement_and_made(op: &SqlOp) -> (&str, &str) {
    let text = std::str::from_utf8(&op.text).expect("texts of a recording are UTF-8");
    let [text_bytes, made_bytes] = [TEXT_BYTES_ARG, MADE_BYTES_ARG].map(|nth| number_in(op, nth) as usize);
    let (text, behind) = text.split_at_checked(text_bytes).unwrap_or((text, ""));
    (text, behind.get(..made_bytes).unwrap_or_default())
}

struct FetchedResults {
    sums: Arc<ReplayResults>,
    /// The rows of one statement.
    rows: RowBuffer,
}

impl<S: SqlServer> ReplayDriver<S> {
    fn perform(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        if op.text.is_empty() {
            let text = "the statement cannot be read back from the file in which the recording is kept";
            return Err(OpFailure { class: FailureClass::Io, text: text.to_owned() });
        }
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        if self.with_ids.is_none()
            && let Some(call) = RecordedCall::in_op(op, CALL_ARG)
            && let Some(number) = self.prepared.number_of(&call)
        {
            return session.run_prepared(number, call.args, &op.text);
        }
        let text = self.with_ids.as_deref().unwrap_or_else(|| statement_and_made(op).0);
        let text = match self.prepared.note_text(text) {
            // What failed when it was recorded fails again.
            "" if recorded_answer(op).failed == Some(true) => text,
            to_send => to_send,
        };
        match &mut self.results {
            None => session.run_text(text),
            Some(results) => {
                results.rows.clear();
                session.fetch_text(text, &mut results.rows)
            }
        }
    }

    /// Others that wait see whether the server has a statement of this client.
    fn note_turn(&self) {
        self.order.iter().for_each(|order| order.note_turn(self.client));
    }

    /// Goes to the schema and the recorded session of `op`, over another connection if need be.
    fn enter(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let [schema, recorded] = [0, 1].map(|nth| number_in(op, nth) as u32);
        let (old_schema, old_recorded) = std::mem::replace(&mut self.place, (schema, recorded));
        if self.server.allows_writes && old_recorded != recorded {
            self.session = None;
        }
        let name = &self.server.schemas[schema as usize];
        if old_schema != schema {
            match (S::replay_words().enter_schema, &mut self.session) {
                // No statement leaves a schema.
                (Some(_), _) if name.is_empty() => {}
                (Some(words), Some(session)) => {
                    let entered = session.run_text(&words.replace("{}", &S::quote_name(name)));
                    if entered.is_err() {
                        // It is still in the schema before: the next statement gets a connection in its own.
                        self.session = None;
                    }
                    entered?;
                }
                _ => self.session = None,
            }
        }
        if self.session.is_none() {
            self.set_ids.forget();
            self.prepared.forget();
            self.session = Some(self.server.connect(schema)?);
        }
        Ok(())
    }

    /// Prepares what `op` is a call of. An error of the connection meets the statement itself.
    fn prepare_call(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let Some(call) = RecordedCall::in_op(op, CALL_ARG) else { return Ok(()) };
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        let prepared = self.prepared.prepare(call.template, &self.server.known, session);
        if prepared.is_err() {
            self.session = None;
        }
        prepared
    }

    /// Tells the server which ids `op` is to make. An error of the connection meets the statement itself.
    fn tell_ids(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        let recorded = recorded_answer(op);
        if recorded.made_id.is_none() && recorded.last_id.is_none() {
            return Ok(());
        }
        self.enter(op)?;
        let session = self.session.as_mut().expect("entered above");
        let Some(text) = self.set_ids.statement_before(&recorded) else { return Ok(()) };
        match session.run_text(text) {
            Ok(()) => self.ids.count_told(&recorded),
            Err(failure) if failure.class.is_of_connection() => self.session = None,
            Err(failure) => self.ids.count_refused(&failure.text),
        }
        Ok(())
    }
}

impl<S: SqlServer> Driver for ReplayDriver<S> {
    type Op = SqlOp;

    fn open(&mut self) -> Result<(), String> {
        if self.is_idle {
            return Ok(());
        }
        let opened = self.server.connect(self.place.0).and_then(|mut session| {
            let mut first = self.prepares_first.iter();
            first.try_for_each(|template| self.prepared.prepare(*template, &self.server.known, &mut session))?;
            Ok(session)
        });
        let name = S::display_name(&self.server.address);
        self.session = Some(opened.map_err(|failure| failure.of_opening(name))?);
        Ok(())
    }

    fn hold_op(&mut self, op: &SqlOp, is_over: impl Fn() -> bool) -> bool {
        let Some(order) = &self.order else { return false };
        let waiter = Waiter { client: self.client, is_in_transaction: number_in(op, IN_TRANSACTION_ARG) == 1 };
        let after = op.args.get(AFTER_ARG).and_then(StatementPlace::from_arg);
        after.is_some_and(|after| order.wait_for(after, waiter, is_over))
    }

    fn prepare_op(&mut self, op: &SqlOp) {
        self.with_ids = None;
        let _ = self.prepare_call(op); // the statement itself meets what is wrong
        if !self.server.makes_ids {
            return;
        }
        let _ = self.tell_ids(op); // the statement itself meets what is wrong
        let (text, made) = statement_and_made(op);
        if !made.is_empty() {
            self.with_ids = self.server.made_columns.with_ids(text, made);
            self.with_ids.iter().for_each(|_| self.ids.count_set());
        }
    }

    fn execute_op(&mut self, op: &SqlOp) -> Outcome {
        self.note_turn();
        let performed = self.perform(op);
        self.note_turn();
        let Err(failure) = performed else { return Outcome::Ok { bytes: 0 } };
        let class = failure.class;
        if class.is_of_connection() {
            self.session = None;
        }
        self.failure = Some((op.op_kind, failure));
        Outcome::Failed(class)
    }

    fn check_outcome(&mut self, op: &SqlOp, outcome: Outcome) -> Outcome {
        // A statement that cannot be read back has no arguments.
        if let (Some(order), Some(SqlArg::Int(session))) = (&self.order, op.args.get(SESSION_ARG)) {
            order.note_end(*session as u32);
        }
        let now = matches!(outcome, Outcome::Ok { .. }).then(|| match &self.results {
            None => self.session.as_ref().map_or_else(Answered::default, PollableSession::answered),
            Some(results) => {
                let (statement, summary) = ([1, 2].map(|nth| number_in(op, nth)), results.rows.summary());
                results.sums.add(op.op_kind, statement, &summary);
                Answered { rows: RowCounts { returned: summary.rows, ..RowCounts::default() }, ..Answered::default() }
            }
        });
        let recorded = recorded_answer(op);
        self.divergence.compare(op.op_kind, &recorded, now.as_ref());
        match (&self.failure, &outcome) {
            // What the application was refused then, it is refused again: that is its load, and no fault of the copy.
            (_, Outcome::Failed(class)) if recorded.failed == Some(true) && !class.is_of_connection() => {
                self.failures.count_as_recorded();
                return Outcome::Ok { bytes: 0 };
            }
            // Held against the copy, each error of the application in such a log would be a new one.
            (Some((_, failure)), Outcome::Failed(_))
                if recorded.may_have_failed() && replay_failures::may_be_of_application(failure) =>
            {
                self.failures.count_untold();
                return Outcome::Ok { bytes: 0 };
            }
            (Some((_, failure)), Outcome::Failed(_)) => self.failures.add(failure),
            _ => {}
        }
        outcome
    }

    fn describe_failure(&self) -> String {
        let name = S::display_name(&self.server.address);
        let Some((op, failure)) = &self.failure else { return String::new() };
        self.server.names.describe(name, *op, &replay_failures::told(failure))
    }
}
