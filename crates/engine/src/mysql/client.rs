//! Connections to MariaDB: the protocol of MySQL with prepared statements.
//!
//! In: an address, statements with `?`. Out: sessions that perform operations, and control connections. Limits: those of
//! [`super::login`] and [`super::wire`].

use super::login::{Credentials, LoginEnd, LoginProgress, OpenedConnection, log_in};
use super::settings::UPTIME;
use super::wire::{MysqlWire, MysqlWireError};
use crate::server::dir::ServerSocket;
use crate::server::identity::IdentityWatch;
use crate::server::memory::HandedSocket;
use crate::server::network::{AnswerLimits, Route, ServerStream, explanation};
use crate::server::url::{Password, ServerUrl};
use crate::sql::admin_connection::{self, AdminConnection, WireError, if_complete};
use crate::sql::ahead::NO_TRANSACTION_AHEAD;
use crate::sql::inquiries::Inquiry;
use crate::sql::kept::KeptRows;
use crate::sql::literals::Dialect;
use crate::sql::multiplex::{PollableSession, SqlCommand};
use crate::sql::open_connections::{CancelAtServer, ConnectionKey, Registration};
use crate::sql::opening::{BegunSession, Opening};
use crate::sql::preparing::PreparingConnection;
use crate::sql::replay_calls::PreparesLater;
use crate::sql::row_tally::{Answered, RowTally};
use crate::sql::session_options::{SessionOptions, StatementMode};
use crate::sql::statement::StatementExecutor;
use crate::sql::variant::rows::RowBuffer;
use crate::sql::{OpFailure, SessionFactory, SqlConnection, SqlSession, keep_used, run_transaction};
use host::deadline::Deadline;
use host::error::TargetError;
use model::{Fact, FailureClass, SqlArg, SqlOp};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::replay_sql::PreparedTemplate;

/// How long a server has to show that it runs on after it has closed a connection.
const PROBE_PATIENCE: Duration = Duration::from_millis(500);

/// The port of a URL that names none.
const PORT: u16 = 3306;

/// A server, and the account to log in to.
#[derive(Clone)]
pub struct MysqlAddress {
    route: Route,
    user: String,
    password: Option<Password>,
    /// The current database, if there is one.
    database: Option<String>,
    limits: AnswerLimits,
    /// The address as messages show it.
    shown: String,
}

impl MysqlAddress {
    /// The server behind a private socket, which has one user.
    pub fn for_private(socket: ServerSocket, shown: String) -> MysqlAddress {
        let (route, limits) = (Route::Private(socket), AnswerLimits::default());
        MysqlAddress { route, user: "root".into(), password: None, database: None, limits, shown }
    }

    /// The server that `url` names.
    pub fn from_url(
        url: &ServerUrl,
        password: Option<Password>,
        limits: AnswerLimits,
    ) -> Result<MysqlAddress, TargetError> {
        let (route, shown) = (Route::from_url(url, PORT)?, format!("`{}`", url.text));
        Ok(MysqlAddress { route, user: url.user.clone(), password, database: None, limits, shown })
    }

    /// A server that is not there.
    #[cfg(test)]
    pub fn nowhere() -> MysqlAddress {
        let (route, limits) = (Route::Socket("/nowhere/m.sock".into()), AnswerLimits::default());
        MysqlAddress { route, user: "jo".into(), password: None, database: None, limits, shown: "a server".into() }
    }

    /// The same with the database `name` as the current one.
    pub fn in_database(&self, name: &str) -> MysqlAddress {
        MysqlAddress { database: Some(name.into()), ..self.clone() }
    }

    /// The same with the current database of `like`.
    pub fn in_schema_of(&self, like: &MysqlAddress) -> MysqlAddress {
        MysqlAddress { database: like.database.clone(), ..self.clone() }
    }

    /// A control connection. Its statements on data may take as long as `patience`.
    pub fn connect_admin(&self, patience: Duration) -> Result<MysqlWire, OpFailure> {
        let wire = self.open_wire(self.limits.control.min(patience), patience, false)?;
        Ok(wire.cancelled_at(Arc::new(self.clone())))
    }

    /// A connection for operations. Connecting, and then each read, gives up after `patience`.
    fn connect_client(&self, patience: Duration) -> Result<MysqlWire, OpFailure> {
        self.connect_in_latin1(patience, false)
    }

    /// The same for blocks of rows.
    pub(super) fn connect_loader(&self, patience: Duration) -> Result<MysqlWire, OpFailure> {
        self.connect_in_latin1(patience, true)
    }

    fn connect_in_latin1(&self, patience: Duration, sends_rows: bool) -> Result<MysqlWire, OpFailure> {
        let mut wire = self.open_wire(patience, patience, sends_rows)?;
        wire.run_statement(SET_NAMES)?;
        Ok(wire)
    }

    /// A connection that logs in, within `allowed`, and sets nothing.
    pub fn connect_within(&self, allowed: Duration) -> Result<MysqlWire, OpFailure> {
        self.open_wire(allowed, allowed, false)
    }

    /// The same server for the account `user`, which has no password.
    pub fn for_user(&self, user: &str) -> MysqlAddress {
        MysqlAddress { user: user.into(), password: None, ..self.clone() }
    }

    /// The same server over the network, for the account `user` with `password`.
    pub fn over_network(&self, route: Route, user: &str, password: Password) -> MysqlAddress {
        MysqlAddress { route, user: user.into(), password: Some(password), ..self.clone() }
    }

    /// The same account of the server at the end of `route`.
    pub fn at(&self, route: Route) -> MysqlAddress {
        MysqlAddress { route, ..self.clone() }
    }

    /// How connections get there.
    pub fn route(&self) -> &Route {
        &self.route
    }

    fn open_wire(&self, allowed: Duration, patience: Duration, sends_rows: bool) -> Result<MysqlWire, OpFailure> {
        let socket =
            self.route.connect(Deadline::unless_interrupted(allowed), patience).map_err(|cause| io_failure(&cause))?;
        let opened = log_in(socket, self.route.tls(), &self.credentials(sends_rows));
        let mut opened = opened.map_err(|error| self.login_failure(error))?;
        // The deadline is for the login. Later answers have one only in control queries: it costs a system call for each read.
        opened.stream.set_deadline(None);
        Ok(MysqlWire::new(opened, patience, self.limits))
    }

    /// Goes on with a `login` over a stream that does not wait. `None` if it is not done.
    fn go_on_with_login(
        &self,
        login: &mut LoginProgress,
        stream: &mut ServerStream,
        allowed: Duration,
    ) -> Result<Option<LoginEnd>, OpFailure> {
        let done = if_complete(login.go_on(stream, self.route.tls(), &self.credentials(false)));
        done.map_err(|error| match error {
            MysqlWireError::Io(cause) => io_failure(&self.route.explain_begun(cause, allowed)),
            refused => self.login_failure(refused),
        })
    }

    fn credentials(&self, sends_rows: bool) -> Credentials<'_> {
        let password = self.password.as_ref().map(Password::reveal);
        Credentials { user: &self.user, password, database: self.database.as_deref(), sends_rows }
    }

    /// The failure of a login, with what to do about it.
    #[cold]
    fn login_failure(&self, error: MysqlWireError) -> OpFailure {
        let code = if let MysqlWireError::Server { code, .. } = error { Some(code) } else { None };
        let mut failure = OpFailure::from(error);
        failure.text.push_str(match code {
            Some(ACCESS_DENIED | ACCESS_DENIED_NO_PASSWORD) if self.password.is_none() => {
                "; no password was given: set PLIMSOLL_PASSWORD or use --password-file FILE"
            }
            Some(ACCESS_DENIED) if matches!(self.route, Route::Host(_, _, None)) => {
                "; check the user, the password (PLIMSOLL_PASSWORD or --password-file), and whether the account requires TLS \
                 (`ssl-mode=REQUIRED`)"
            }
            Some(ACCESS_DENIED | ACCESS_DENIED_NO_PASSWORD) => {
                "; check the user in the URL and the password (PLIMSOLL_PASSWORD or --password-file)"
            }
            Some(TLS_REQUIRED) => "; add `ssl-mode=REQUIRED` or stronger to the URL",
            _ => "",
        });
        failure
    }

    /// The failure that `error` is on a connection that was `opened` then.
    #[cold]
    pub(super) fn failure_of(&self, error: MysqlWireError, opened: Instant, identity: &IdentityWatch) -> OpFailure {
        let killed = is_closed(&error).then(|| self.killed_after(opened.elapsed(), identity)).flatten();
        killed.unwrap_or_else(|| error.into())
    }

    /// The failure of a connection that was closed `time` after it was opened, if the server has killed it; it may have to wait for the server. A
    /// server closes an idle connection that it was asked to kill without a word: it runs on, and is still the one of `identity`.
    #[cold]
    fn killed_after(&self, time: Duration, identity: &IdentityWatch) -> Option<OpFailure> {
        // Ages that are equal tell of a limit of time, here or on the way.
        let text = format!(
            "the connection was killed {} s after it was opened: the server runs on, and it or a proxy closed it (KILL, or a limit of \
             time)",
            time.as_secs()
        );
        self.has_run_for(time, identity).then(|| OpFailure::from_server(FailureClass::Killed, &text))
    }

    /// Whether the server answers, is that of `identity`, and has run for at least about `time`.
    #[cold]
    fn has_run_for(&self, time: Duration, identity: &IdentityWatch) -> bool {
        let uptime = self.connect_within(PROBE_PATIENCE).ok().and_then(|mut wire| {
            if wire.is_other(identity, true) {
                return None;
            }
            let rows = wire.query_rows(UPTIME).ok()?;
            rows.into_iter().next()?.pop()??.parse().ok()
        });
        // In whole seconds.
        uptime.is_some_and(|seconds| Duration::from_secs(seconds) + Duration::from_secs(1) >= time)
    }

    /// How its connections are encrypted.
    pub fn facts(&self) -> Vec<Fact> {
        self.route.facts()
    }

    /// The server, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl CancelAtServer for MysqlAddress {
    fn cancel(&self, key: ConnectionKey, allowed: Duration) -> Result<(), OpFailure> {
        let mut wire = self.connect_within(allowed)?;
        // A statement that has ended meanwhile is none to cancel, which is as good.
        admin_connection::allowed(wire.set_up(&format!("KILL QUERY {}", key.id)))?;
        Ok(())
    }
}

/// ER_ACCESS_DENIED_ERROR: wrong user or password.
const ACCESS_DENIED: u16 = 1045;
/// ER_ACCESS_DENIED_NO_PASSWORD_ERROR: an account that is checked by other means than a password.
const ACCESS_DENIED_NO_PASSWORD: u16 = 1698;
/// ER_SECURE_TRANSPORT_REQUIRED: the server takes no connection in clear text.
const TLS_REQUIRED: u16 = 3159;

/// The text that workloads write is ASCII, which the server need not convert then.
const SET_NAMES: &str = "SET NAMES latin1";

/// How the clients of a trial connect.
#[derive(Clone)]
pub struct ConnectMysql {
    address: MysqlAddress,
    /// The same, for connections that cancel what others execute.
    server: Arc<MysqlAddress>,
    /// The statements that clients execute.
    statements: Arc<[String]>,
    /// How clients execute them.
    options: SessionOptions,
}

impl ConnectMysql {
    /// Connections to the server at `address` that execute `statements` with `options`.
    pub fn new(address: MysqlAddress, statements: Arc<[String]>, options: SessionOptions) -> ConnectMysql {
        ConnectMysql { server: Arc::new(address.clone()), address, statements, options }
    }

    /// A connection at the isolation level of the clients.
    pub fn connect_as_client(&self) -> Result<MysqlWire, OpFailure> {
        let mut wire = self.address.connect_client(self.options.patience)?;
        self.first_texts().try_for_each(|text| wire.run_statement(&text))?;
        Ok(wire)
    }

    /// What a new connection executes first.
    fn first_texts(&self) -> impl Iterator<Item = String> {
        let isolation = self.options.isolation.iter();
        let isolation = isolation.map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        isolation.chain(self.options.begins_with.iter().map(|text| (*text).to_owned()))
    }

    /// The session over `stream`, whose login is still to be done.
    fn begin_session(&self, stream: ServerStream, is_after_loss: bool) -> MysqlSession {
        let ConnectMysql { statements, options, .. } = self;
        let unopened = OpenedConnection { stream, id: 0, takes_arrays: false };
        let wire = MysqlWire::new(unopened, options.patience, self.address.limits);
        let texts = std::iter::once(SET_NAMES.to_owned()).chain(self.first_texts());
        let rest = Opening::new(texts, statements, options, is_after_loss);
        MysqlSession {
            opened: Instant::now(),
            server: self.server.clone(),
            identity: options.identity.clone(),
            registered: None,
            executor: StatementExecutor::unprepared(wire, statements, options, Dialect::Mysql),
            ahead: AnswerAhead::default(),
            begun: Some(Box::new(BegunSession { login: Some(LoginProgress::default()), rest })),
            loss: Loss::Told,
        }
    }
}

impl SessionFactory for ConnectMysql {
    type Session = MysqlSession;

    fn server_name(&self) -> String {
        self.address.shown.clone()
    }

    fn with_statements(&self, used: &[u16]) -> Self {
        Self { statements: keep_used(&self.statements, used), ..self.clone() }
    }

    fn session_options(&self) -> &SessionOptions {
        &self.options
    }

    fn with_patience(&self, patience: Duration) -> Self {
        Self { options: SessionOptions { patience, ..self.options.clone() }, ..self.clone() }
    }

    fn connect(&self) -> Result<MysqlSession, OpFailure> {
        let mut wire = self.connect_as_client()?;
        let (key, server) = (wire.key(), self.server.clone());
        wire.begin_preparing(self.options.patience);
        if self.options.statements == StatementMode::Arrays {
            wire.send_arrays()?;
        }
        let executor = StatementExecutor::new(wire, &self.statements, &self.options, Dialect::Mysql);
        let mut executor = executor.map_err(|(text, error)| self.options.failed_preparation(text, error.into()))?;
        executor.wire.end_preparing(self.options.answer_limit);
        let registered = self.options.open.register(key, server.clone(), executor.wire.socket_fd());
        let identity = self.options.identity.clone();
        let (ahead, registered, loss) = (AnswerAhead::default(), Some(registered), Loss::Told);
        Ok(MysqlSession { opened: Instant::now(), server, identity, registered, executor, ahead, begun: None, loss })
    }

    fn connect_after_loss(&self) -> Result<MysqlSession, OpFailure> {
        let mut session = self.connect()?;
        session.executor.wire.is_other(&self.options.identity, true);
        Ok(session)
    }

    fn begin_connecting(&self, is_after_loss: bool) -> Result<Option<MysqlSession>, OpFailure> {
        let begun = self.address.route.begin_to_connect(self.options.patience).map_err(|cause| io_failure(&cause))?;
        Ok(begun.map(|stream| self.begin_session(stream, is_after_loss)))
    }

    fn go_on_connecting(&self, session: &mut MysqlSession) -> Result<bool, OpFailure> {
        let MysqlSession { executor: StatementExecutor { wire, .. }, begun, registered, .. } = session;
        let Some(BegunSession { login, rest }) = begun.as_deref_mut() else { return Ok(true) };
        if let Some(progress) = login {
            let done = self.address.go_on_with_login(progress, &mut wire.stream, self.options.patience)?;
            let Some(end) = done else { return Ok(false) };
            *login = None;
            wire.set_opened(&end);
            *registered = Some(self.options.open.register(wire.key(), self.server.clone(), wire.socket_fd()));
            if self.options.statements == StatementMode::Arrays {
                wire.send_arrays()?;
            }
        }
        let is_ready = rest.go_on(wire, &self.statements, &self.options)?;
        if is_ready {
            wire.end_preparing(self.options.answer_limit);
            *begun = None;
        }
        Ok(is_ready)
    }
}

/// A connection of a client, and how it executes statements.
pub struct MysqlSession {
    opened: Instant,
    server: Arc<MysqlAddress>,
    identity: IdentityWatch,
    /// Dropped first: it names the socket.
    registered: Option<Registration>,
    executor: StatementExecutor<MysqlWire>,
    ahead: AnswerAhead,
    /// `None` if it is ready for operations.
    begun: Option<Box<BegunSession<LoginProgress>>>,
    loss: Loss,
}

/// How it is found out why a connection was closed without a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Its failure tells: the client waits for that.
    Told,
    /// By an inquiry: other clients share the thread.
    Inquired,
    /// The same, and it was closed.
    InquiredNow,
}

/// How much has arrived of the answer to an operation that was sent ahead.
#[derive(Default)]
struct AnswerAhead {
    /// The number of the call that is answered next.
    call: usize,
    /// The first error among its calls.
    failed: Option<OpFailure>,
}

impl SqlSession for MysqlSession {
    fn perform_op(&mut self, op: &SqlOp, rows: &mut RowTally) -> Result<(), OpFailure> {
        run_transaction(&mut self.executor, op, rows).map_err(|error| self.failure_of(error))
    }

    fn run_text(&mut self, text: &str) -> Result<(), OpFailure> {
        self.executor.run_text(text).map_err(|error| self.failure_of(error))
    }

    fn fetch_text(&mut self, text: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
        self.executor.wire.fetch_rows(text, rows).map_err(|error| self.failure_of(error))
    }

    fn roll_back(&mut self) -> Result<(), OpFailure> {
        self.executor.run_text("ROLLBACK").map_err(OpFailure::from)
    }
}

impl PreparesLater for MysqlSession {
    fn prepare_later(&mut self, template: &PreparedTemplate) -> Result<usize, OpFailure> {
        let wire = &mut self.executor.wire;
        wire.prepare_statement(&template.text)?;
        Ok(wire.prepared() - 1)
    }

    fn run_prepared(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), OpFailure> {
        let wire = &mut self.executor.wire;
        let executed = wire.put_execution(number, args, text).and_then(|()| wire.send_and_receive());
        executed.map_err(|error| self.failure_of(error))
    }
}

impl MysqlSession {
    #[cold]
    fn failure_of(&mut self, error: MysqlWireError) -> OpFailure {
        if self.loss == Loss::Told {
            return self.server.failure_of(error, self.opened, &self.identity);
        }
        if is_closed(&error) {
            self.loss = Loss::InquiredNow;
        }
        error.into()
    }
}

fn is_closed(error: &MysqlWireError) -> bool {
    matches!(error, MysqlWireError::Io(cause) if CLOSED.contains(&cause.kind()))
}

/// What a client sees of a connection that the other side has closed.
const CLOSED: [ErrorKind; 3] = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];

impl PollableSession for MysqlSession {
    fn stop_waiting(&mut self) -> Result<(), OpFailure> {
        self.executor.wire.stop_waiting().map_err(|cause| io_failure(&cause))
    }

    fn socket_fd(&self) -> BorrowedFd<'_> {
        self.executor.wire.socket_fd()
    }

    fn hand_over_socket(&mut self) {
        self.executor.wire.stream.hand_over_socket();
        self.loss = Loss::Inquired;
    }

    fn inquiry(&self) -> Option<Inquiry> {
        let (server, identity, time) = (self.server.clone(), self.identity.clone(), self.opened.elapsed());
        let inquiry = move || server.killed_after(time, &identity);
        (self.loss == Loss::InquiredNow).then(|| Box::new(inquiry) as Inquiry)
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
        self.executor.wire.send_command().map_err(|error| self.failure_of(error))
    }

    #[inline]
    fn send_some(&mut self) -> Result<bool, OpFailure> {
        self.executor.wire.send_some().map_err(|error| self.failure_of(error))
    }

    #[inline]
    fn take_some(&mut self, _: &SqlOp) -> Result<bool, OpFailure> {
        let taken = self.executor.take_some(MysqlWire::take_some);
        taken.map_err(|error| self.failure_of(error))
    }

    #[inline]
    fn put_ahead(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        if op.transaction {
            return Err(OpFailure { class: FailureClass::Other, text: NO_TRANSACTION_AHEAD.into() });
        }
        self.executor.wire.put_ahead(op).map_err(OpFailure::from)
    }

    #[inline]
    fn take_ahead(&mut self, op: &SqlOp, rows: &mut RowTally) -> Result<bool, OpFailure> {
        while let Some(call) = op.calls.get(self.ahead.call) {
            match self.executor.wire.take_ahead(call.statement.into()) {
                Ok(None) => return Ok(false),
                Ok(Some(answered)) => rows.add(call.statement, &answered),
                Err(error @ MysqlWireError::Io(_)) => return Err(self.failure_of(error)),
                Err(error) => {
                    let failure = self.failure_of(error);
                    self.ahead.failed.get_or_insert(failure);
                }
            }
            self.ahead.call += 1;
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

impl WireError for MysqlWireError {
    fn lost(&self) -> Option<&io::Error> {
        match self {
            MysqlWireError::Io(cause) => Some(cause),
            MysqlWireError::Server { .. } => None,
        }
    }

    fn into_failure(self) -> OpFailure {
        match self {
            MysqlWireError::Server { code, text } => OpFailure::from_server(class_of(code, &text), &text),
            MysqlWireError::Io(cause) => io_failure(&cause),
        }
    }
}

fn io_failure(cause: &io::Error) -> OpFailure {
    match (cause.kind(), explanation(cause)) {
        (_, Some(text)) => OpFailure::from_server(FailureClass::Lost, text),
        // Nothing was sent.
        (ErrorKind::InvalidInput, None) => OpFailure::from_server(FailureClass::Other, &cause.to_string()),
        _ => OpFailure::connection_lost(cause),
    }
}

/// The error codes of MariaDB (<https://mariadb.com/kb/en/mariadb-error-code-reference/>).
pub(super) fn class_of(code: u16, message: &str) -> FailureClass {
    match code {
        // Record has changed since last read; lock wait timeout; deadlock.
        1020 | 1205 | 1213 => FailureClass::Conflict,
        // Disk full; table full; and any text with errno 28 (ENOSPC).
        1021 | 1114 => FailureClass::NoSpace,
        _ if message.contains("errno: 28") || message.contains("error 28") => FailureClass::NoSpace,
        // Errors on reading, writing and closing of files.
        1023 | 1024 | 1026 => FailureClass::Io,
        // Shutdown in progress.
        1053 => FailureClass::Lost,
        1927 => FailureClass::Killed,
        // The server runs with --read-only, or has a setting of that kind; the transaction is read-only by the server's setting.
        1290 if message.contains("read-only") || message.contains("read_only") => FailureClass::ReadOnly,
        1792 | 1836 | 1874 => FailureClass::ReadOnly,
        // A node that has left its cluster answers, and performs no statement.
        1047 if message.contains("WSREP") => FailureClass::Lost,
        // Corrupt: table, index, InnoDB page.
        1034 | 1035 | 1194 | 1712 | 1877 => FailureClass::Corrupt,
        _ => FailureClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_full_disks_and_lost_servers_are_told_apart() {
        assert_eq!(class_of(1213, "Deadlock found"), FailureClass::Conflict);
        assert_eq!(class_of(1114, "The table 't' is full"), FailureClass::NoSpace);
        assert_eq!(
            class_of(1030, "Got error 28 \"No space left on device\" from storage engine"),
            FailureClass::NoSpace
        );
        assert_eq!(class_of(1053, "Server shutdown in progress"), FailureClass::Lost);
        assert_eq!(class_of(1927, "Connection was killed"), FailureClass::Killed);
        let read_only = "The MariaDB server is running with the --read-only option so it cannot execute this statement";
        assert_eq!(class_of(1290, read_only), FailureClass::ReadOnly);
        assert_eq!(
            class_of(1290, "The MySQL server is running with the --secure-file-priv option"),
            FailureClass::Other
        );
        assert_eq!(class_of(1047, "WSREP has not yet prepared node for application use"), FailureClass::Lost);
        assert_eq!(class_of(1064, "You have an error in your SQL syntax"), FailureClass::Other);
    }
}
