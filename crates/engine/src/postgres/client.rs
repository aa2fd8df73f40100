//! Connections to PostgreSQL for the clients of a trial.
//!
//! In: an address, statements with `?`, how clients execute them. Out: sessions that perform operations, and control connections.
//! Limits: those of [`super::wire`].

use super::login::{LoginProgress, PostgresLogin, open_wire, start_tls};
use super::wire::{PostgresWire, PostgresWireError, request_cancel};
use crate::server::dir::ServerSocket;
use crate::server::identity::IdentityWatch;
use crate::server::memory::HandedSocket;
use crate::server::network::{AnswerLimits, Route, ServerStream, explanation};
use crate::server::url::{Password, ServerUrl};
use crate::sql::admin_connection::{AdminConnection, WireError, if_complete};
use crate::sql::kept::KeptRows;
use crate::sql::literals::Dialect;
use crate::sql::multiplex::{PollableSession, SqlCommand};
use crate::sql::open_connections::{CancelAtServer, ConnectionKey, Registration};
use crate::sql::opening::{BegunSession, Opening};
use crate::sql::preparing::PreparingConnection;
use crate::sql::replay_calls::PreparesLater;
use crate::sql::row_tally::{Answered, RowTally};
use crate::sql::session_options::SessionOptions;
use crate::sql::statement::StatementExecutor;
use crate::sql::variant::rows::RowBuffer;
use crate::sql::{OpFailure, SessionFactory, SqlConnection, SqlSession, keep_used, run_transaction};
use host::deadline::Deadline;
use host::error::TargetError;
use model::{Fact, FailureClass, RowCounts, SqlArg, SqlOp};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;
use workload::replay_sql::PreparedTemplate;

/// The port of a URL that names none.
const PORT: u16 = 5432;

/// A server, the role to log in as, and the database.
#[derive(Clone)]
pub struct PostgresAddress {
    route: Route,
    user: String,
    password: Option<Password>,
    database: String,
    /// The schema of names without one, if it is not the server's choice.
    schema: Option<String>,
    limits: AnswerLimits,
    /// The address as messages show it.
    shown: String,
}

impl PostgresAddress {
    /// The server behind a private socket, which trusts every process that can reach it.
    pub fn for_private(socket: ServerSocket, user: &str, shown: String) -> PostgresAddress {
        let (route, user, database) = (Route::Private(socket), user.into(), "postgres".into());
        PostgresAddress { route, user, password: None, database, schema: None, limits: AnswerLimits::default(), shown }
    }

    /// The server that `url` names.
    pub fn from_url(
        url: &ServerUrl,
        password: Option<Password>,
        limits: AnswerLimits,
    ) -> Result<PostgresAddress, TargetError> {
        let (route, user, shown) = (Route::from_url(url, PORT)?, url.user.clone(), format!("`{}`", url.text));
        let database = url.database.clone().unwrap_or_else(|| user.clone());
        Ok(PostgresAddress { route, user, password, database, schema: None, limits, shown })
    }

    /// The same server over the network, where the role has `password`.
    pub fn over_network(&self, route: Route, password: Password) -> PostgresAddress {
        PostgresAddress { route, password: Some(password), ..self.clone() }
    }

    /// The same with names in `schema`.
    pub fn in_schema(&self, schema: &str) -> PostgresAddress {
        PostgresAddress { schema: Some(schema.into()), ..self.clone() }
    }

    /// The same in the database `name`, with the server's choice of schemas.
    pub fn in_database(&self, name: &str) -> PostgresAddress {
        PostgresAddress { database: name.into(), schema: None, ..self.clone() }
    }

    /// The same with the database and the schema of `like`.
    pub fn in_schema_of(&self, like: &PostgresAddress) -> PostgresAddress {
        let (database, schema) = (like.database.clone(), like.schema.clone());
        PostgresAddress { database, schema, ..self.clone() }
    }

    /// A control connection. Its statements on data may take as long as `patience`.
    pub fn connect_admin(&self, patience: Duration) -> Result<PostgresWire, OpFailure> {
        let wire = self.open_wire(self.limits.control.min(patience), patience)?;
        Ok(wire.cancelled_at(Arc::new(self.clone())))
    }

    /// A connection that logs in, within `allowed`.
    pub fn connect_within(&self, allowed: Duration) -> Result<PostgresWire, OpFailure> {
        self.open_wire(allowed, allowed)
    }

    /// The same account of the server at the end of `route`.
    pub fn at(&self, route: Route) -> PostgresAddress {
        PostgresAddress { route, ..self.clone() }
    }

    /// How connections get there.
    pub fn route(&self) -> &Route {
        &self.route
    }

    fn open_wire(&self, allowed: Duration, patience: Duration) -> Result<PostgresWire, OpFailure> {
        self.log_in(allowed, patience).map_err(login_failure)
    }

    /// A connection on which nothing was sent yet, encrypted if the URL asks for it.
    fn connect(&self, allowed: Duration, patience: Duration) -> io::Result<ServerStream> {
        let mut stream = ServerStream::from(self.route.connect(Deadline::unless_interrupted(allowed), patience)?);
        self.route.tls().map_or(Ok(()), |tls| start_tls(&mut stream, tls))?;
        Ok(stream)
    }

    fn log_in(&self, allowed: Duration, patience: Duration) -> Result<PostgresWire, PostgresWireError> {
        let socket = self.route.connect(Deadline::unless_interrupted(allowed), patience)?;
        open_wire(socket, self.route.tls(), &self.login(), patience, self.limits)
    }

    /// Goes on with a `login` over a connection that does not wait. True if it is done.
    fn go_on_with_login(
        &self,
        login: &mut LoginProgress,
        wire: &mut PostgresWire,
        allowed: Duration,
    ) -> Result<bool, OpFailure> {
        let done = if_complete(login.go_on(wire, self.route.tls(), &self.login()));
        let done = done.map_err(|error| match error {
            PostgresWireError::Io(cause) => self.route.explain_begun(cause, allowed).into(),
            refused => refused,
        });
        Ok(done.map_err(login_failure)?.is_some())
    }

    fn login(&self) -> PostgresLogin<'_> {
        PostgresLogin {
            user: &self.user,
            password: self.password.as_ref().map(Password::reveal),
            database: &self.database,
            schema: self.schema.as_deref(),
        }
    }

    /// The database that it logs in to, and the role.
    pub fn database_and_user(&self) -> [&str; 2] {
        [&self.database, &self.user]
    }

    /// The server, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// How its connections are encrypted.
    pub fn facts(&self) -> Vec<Fact> {
        self.route.facts()
    }
}

impl CancelAtServer for PostgresAddress {
    fn cancel(&self, key: ConnectionKey, allowed: Duration) -> Result<(), OpFailure> {
        let requested = self.connect(allowed, allowed).and_then(|stream| request_cancel(stream, key));
        requested.map_err(|error| PostgresWireError::from(error).into())
    }
}

/// The failure of a login, with what to do about it.
#[cold]
fn login_failure(error: PostgresWireError) -> OpFailure {
    const WRONG_PASSWORD: &str = "28P01";
    const NO_SUCH_DATABASE: &str = "3D000";
    let advice = match &error {
        PostgresWireError::Server { code, .. } if code == WRONG_PASSWORD => {
            "; check the user in the URL and the password (PLIMSOLL_PASSWORD or --password-file)"
        }
        PostgresWireError::Server { code, .. } if code == NO_SUCH_DATABASE => {
            "; name a database that exists: postgres://user@host/DATABASE"
        }
        _ => "",
    };
    let mut failure = OpFailure::from(error);
    failure.text.push_str(advice);
    failure
}

/// How the clients of a trial connect.
#[derive(Clone)]
pub struct ConnectPostgres {
    address: PostgresAddress,
    /// The same, for connections that cancel what others execute.
    server: Arc<PostgresAddress>,
    /// The statements that clients execute, with `?` for each value.
    statements: Arc<[String]>,
    /// How clients execute them.
    options: SessionOptions,
}

impl ConnectPostgres {
    /// Connections to the server at `address` that execute `statements` with `options`.
    pub fn new(address: PostgresAddress, statements: Arc<[String]>, options: SessionOptions) -> ConnectPostgres {
        ConnectPostgres { server: Arc::new(address.clone()), address, statements, options }
    }

    /// A connection at the isolation level of the clients.
    pub fn connect_as_client(&self) -> Result<PostgresWire, OpFailure> {
        let mut wire = self.address.open_wire(self.options.patience, self.options.patience)?;
        self.first_texts().try_for_each(|text| wire.run_statement(&text))?;
        Ok(wire)
    }

    /// What a new connection executes first.
    fn first_texts(&self) -> impl Iterator<Item = String> {
        let isolation = self.options.isolation.iter();
        let isolation =
            isolation.map(|level| format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"));
        isolation.chain(self.options.begins_with.iter().map(|text| (*text).to_owned()))
    }

    /// The session over `wire`, and what is left to do before it is ready.
    fn session_over(
        &self,
        executor: StatementExecutor<PostgresWire>,
        registered: Option<Registration>,
        begun: Option<Box<BegunSession<LoginProgress>>>,
    ) -> PostgresSession {
        PostgresSession {
            server: self.server.clone(),
            identity: self.options.identity.clone(),
            registered,
            executor,
            // Known before the run: whether a failed operation had deleted a row decides its class.
            deletes: self.statements.iter().map(|text| is_delete(text)).collect(),
            ahead: AnswerAhead::default(),
            begun,
        }
    }

    fn register(&self, wire: &PostgresWire) -> Registration {
        self.options.open.register(wire.key(), self.server.clone(), wire.socket_fd())
    }
}

impl SessionFactory for ConnectPostgres {
    type Session = PostgresSession;

    fn server_name(&self) -> String {
        self.address.shown.clone()
    }

    fn session_options(&self) -> &SessionOptions {
        &self.options
    }

    fn with_statements(&self, used: &[u16]) -> Self {
        Self { statements: keep_used(&self.statements, used), ..self.clone() }
    }

    fn with_patience(&self, patience: Duration) -> Self {
        Self { options: SessionOptions { patience, ..self.options.clone() }, ..self.clone() }
    }

    fn connect(&self) -> Result<PostgresSession, OpFailure> {
        let mut wire = self.connect_as_client()?;
        wire.begin_preparing(self.options.patience);
        let executor = StatementExecutor::new(wire, &self.statements, &self.options, Dialect::Postgres);
        let mut executor = executor.map_err(|(text, error)| self.options.failed_preparation(text, error.into()))?;
        executor.wire.end_preparing(self.options.answer_limit);
        let registered = self.register(&executor.wire);
        Ok(self.session_over(executor, Some(registered), None))
    }

    fn connect_after_loss(&self) -> Result<PostgresSession, OpFailure> {
        let mut session = self.connect()?;
        session.executor.wire.is_other(&self.options.identity, true);
        Ok(session)
    }

    fn begin_connecting(&self, is_after_loss: bool) -> Result<Option<PostgresSession>, OpFailure> {
        let ConnectPostgres { address, statements, options, .. } = self;
        let begun = address.route.begin_to_connect(options.patience).map_err(PostgresWireError::from)?;
        Ok(begun.map(|stream| {
            let wire = PostgresWire::over(stream, options.patience, address.limits);
            let executor = StatementExecutor::unprepared(wire, statements, options, Dialect::Postgres);
            let rest = Opening::new(self.first_texts(), statements, options, is_after_loss);
            self.session_over(
                executor,
                None,
                Some(Box::new(BegunSession { login: Some(LoginProgress::default()), rest })),
            )
        }))
    }

    fn go_on_connecting(&self, session: &mut PostgresSession) -> Result<bool, OpFailure> {
        let PostgresSession { executor: StatementExecutor { wire, .. }, begun, registered, .. } = session;
        let Some(BegunSession { login, rest }) = begun.as_deref_mut() else { return Ok(true) };
        if let Some(progress) = login {
            if !self.address.go_on_with_login(progress, wire, self.options.patience)? {
                return Ok(false);
            }
            *login = None;
            *registered = Some(self.register(wire));
        }
        let is_ready = rest.go_on(wire, &self.statements, &self.options)?;
        if is_ready {
            wire.end_preparing(self.options.answer_limit);
            *begun = None;
        }
        Ok(is_ready)
    }
}

const UNIQUE_VIOLATION: &str = "23505";
/// The server ends, or only the connection does: the message is the same.
const ENDED_BY_ADMINISTRATOR: &str = "57P01";

/// How long a server has to show that it runs on after it has ended a connection.
const PROBE_PATIENCE: Duration = Duration::from_millis(500);

/// A connection of a client, and how it executes statements.
pub struct PostgresSession {
    server: Arc<PostgresAddress>,
    identity: IdentityWatch,
    /// Dropped first: it names the socket.
    registered: Option<Registration>,
    executor: StatementExecutor<PostgresWire>,
    /// Which statements delete rows, by their numbers.
    deletes: Vec<bool>,
    ahead: AnswerAhead,
    /// `None` if it is ready for operations.
    begun: Option<Box<BegunSession<LoginProgress>>>,
}

/// How much has arrived of the answer to an operation that was sent ahead.
#[derive(Default)]
struct AnswerAhead {
    /// The number of the call that is answered next.
    call: usize,
    /// How many of its Syncs were answered.
    syncs: usize,
    /// The rows of the call so far.
    rows: RowCounts,
    /// The first error among its calls.
    failed: Option<OpFailure>,
}

impl SqlSession for PostgresSession {
    fn perform_op(&mut self, op: &SqlOp, rows: &mut RowTally) -> Result<(), OpFailure> {
        run_transaction(&mut self.executor, op, rows).map_err(|error| self.failure_of(op, error))
    }

    fn run_text(&mut self, text: &str) -> Result<(), OpFailure> {
        self.executor.run_text(text).map_err(OpFailure::from)
    }

    fn fetch_text(&mut self, text: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
        self.executor.wire.fetch_rows(text, rows).map_err(OpFailure::from)
    }

    fn roll_back(&mut self) -> Result<(), OpFailure> {
        self.executor.run_text("ROLLBACK").map_err(OpFailure::from)
    }
}

impl PreparesLater for PostgresSession {
    fn prepare_later(&mut self, template: &PreparedTemplate) -> Result<usize, OpFailure> {
        self.executor.wire.prepare_typed(&template.text, &template.types).map_err(OpFailure::from)
    }

    fn run_prepared(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), OpFailure> {
        self.executor.wire.put_execution(number, args, text)?;
        self.executor.wire.send_and_receive().map_err(OpFailure::from)
    }
}

fn is_delete(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("DELETE"))
}

impl PostgresSession {
    /// The failure that an error of `op` is.
    #[cold]
    fn failure_of(&self, op: &SqlOp, error: PostgresWireError) -> OpFailure {
        match error {
            // A transaction deletes a row and inserts it again. If two do so at once with the same row, the later one finds nothing to
            // delete, and then the row of the other: at READ COMMITTED this is how it loses the conflict.
            PostgresWireError::Server { code, text } if self.may_replace(op) && code == UNIQUE_VIOLATION => {
                OpFailure { class: FailureClass::Conflict, text }
            }
            PostgresWireError::Server { code, text } if code == ENDED_BY_ADMINISTRATOR && self.runs_on() => {
                OpFailure::from_server(FailureClass::Killed, &text)
            }
            error => error.into(),
        }
    }

    /// A call of `op` failed, and the server has answered its Sync. What it has left out has no rows.
    #[cold]
    fn note_failure_ahead(&mut self, op: &SqlOp, error: PostgresWireError) {
        let failure = self.failure_of(op, error);
        self.ahead.failed.get_or_insert(failure);
        (self.ahead.call, self.ahead.rows) = (self.ahead.syncs + 1, RowCounts::default());
    }

    /// Whether the server answers, and is the same.
    #[cold]
    fn runs_on(&self) -> bool {
        let wire = self.server.connect_within(PROBE_PATIENCE);
        wire.is_ok_and(|mut wire| !wire.is_other(&self.identity, true))
    }

    /// Whether `op` may insert what it has deleted itself.
    fn may_replace(&self, op: &SqlOp) -> bool {
        op.transaction && op.calls.iter().any(|call| self.deletes[usize::from(call.statement)])
    }
}

impl PollableSession for PostgresSession {
    fn stop_waiting(&mut self) -> Result<(), OpFailure> {
        self.executor.wire.stop_waiting().map_err(|error| PostgresWireError::from(error).into())
    }

    fn socket_fd(&self) -> BorrowedFd<'_> {
        self.executor.wire.socket_fd()
    }

    fn hand_over_socket(&mut self) {
        self.executor.wire.stream.hand_over_socket();
    }

    #[inline]
    fn handed_socket(&mut self) -> HandedSocket<'_> {
        self.executor.wire.stream.handed_socket()
    }

    #[inline]
    fn put_command(&mut self, next: SqlCommand<'_>) -> Result<bool, OpFailure> {
        self.executor.put_command(next).map_err(OpFailure::from)
    }

    #[inline]
    fn write_command(&mut self) -> Result<(), OpFailure> {
        self.executor.wire.send_command().map_err(OpFailure::from)
    }

    #[inline]
    fn send_some(&mut self) -> Result<bool, OpFailure> {
        self.executor.wire.send_some().map_err(OpFailure::from)
    }

    #[inline]
    fn take_some(&mut self, op: &SqlOp) -> Result<bool, OpFailure> {
        let taken = self.executor.take_some(PostgresWire::take_some);
        taken.map_err(|error| self.failure_of(op, error))
    }

    #[inline]
    fn put_ahead(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        self.executor.wire.put_ahead(op).map_err(OpFailure::from)
    }

    #[inline]
    fn take_ahead(&mut self, op: &SqlOp, rows: &mut RowTally) -> Result<bool, OpFailure> {
        let syncs = if op.transaction { 1 } else { op.calls.len() };
        while self.ahead.syncs < syncs {
            let AnswerAhead { call, rows: of_call, .. } = &mut self.ahead;
            let taken = self.executor.wire.take_statements(of_call, |returned| {
                let answered = Answered { rows: returned, in_transaction: op.transaction, ..Answered::default() };
                op.calls.get(*call).into_iter().for_each(|call| rows.add(call.statement, &answered));
                *call += 1;
            });
            match taken {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error @ PostgresWireError::Io(_)) => return Err(error.into()),
                Err(error) => self.note_failure_ahead(op, error),
            }
            self.ahead.syncs += 1;
        }
        std::mem::take(&mut self.ahead).failed.map_or(Ok(true), Err)
    }

    #[inline]
    fn has_received(&self) -> bool {
        self.executor.wire.has_received()
    }

    fn keep_rows(&mut self, columns: u8) {
        self.executor.wire.keep_rows(columns);
    }

    fn kept_rows(&self) -> &KeptRows {
        self.executor.wire.kept_rows()
    }

    #[inline]
    fn answered(&self) -> Answered {
        self.executor.wire.answered()
    }
}

impl WireError for PostgresWireError {
    fn lost(&self) -> Option<&io::Error> {
        match self {
            PostgresWireError::Io(cause) => Some(cause),
            PostgresWireError::Server { .. } => None,
        }
    }

    fn into_failure(self) -> OpFailure {
        match self {
            PostgresWireError::Server { code, text } => OpFailure::from_server(class_of(&code), &text),
            PostgresWireError::Io(cause) => match explanation(&cause) {
                Some(text) => OpFailure::from_server(FailureClass::Lost, text),
                None => OpFailure::connection_lost(&cause),
            },
        }
    }
}

/// The SQLSTATEs of PostgreSQL (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn class_of(code: &str) -> FailureClass {
    match code {
        // Serialization failure, deadlock, lock not available.
        "40001" | "40P01" | "55P03" => FailureClass::Conflict,
        "53100" => FailureClass::NoSpace,
        "58030" => FailureClass::Io,
        "XX001" | "XX002" => FailureClass::Corrupt,
        // Connection exceptions; the server ends, has crashed or is starting.
        ENDED_BY_ADMINISTRATOR | "57P02" | "57P03" => FailureClass::Lost,
        "25006" => FailureClass::ReadOnly,
        code if code.starts_with("08") => FailureClass::Lost,
        _ => FailureClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_full_disks_and_lost_servers_are_told_apart() {
        let classes = ["40001", "40P01", "53100", "57P01", "57P02", "08006", "25006", "42601"].map(class_of);
        use FailureClass::{Conflict, Lost, NoSpace, Other, ReadOnly};
        assert_eq!(classes, [Conflict, Conflict, NoSpace, Lost, Lost, Lost, ReadOnly, Other]);
    }
}
