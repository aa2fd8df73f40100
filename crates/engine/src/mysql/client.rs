//! Connections to MariaDB: the protocol of MySQL with prepared statements.
//!
//! In: an address, statements with `?`. Out: sessions that perform operations. Limits: those of [`super::wire`].

use super::tunnel::{Tunnel, Way};
use super::wire::{Socket as WireSocket, Wire, WireError};
use crate::server::dir::Socket;
use crate::server::network::CONNECT_AT_MOST;
use crate::server::tls::{self, Tls};
use crate::server::url::{Password, Url};
use crate::sql::literals::Dialect;
use crate::sql::multiplex::{Command, PollableSession};
use crate::sql::server_instance::AdminConnection;
use crate::sql::session_options::SessionOptions;
use crate::sql::statement::{PreparingConnection, StatementExecutor};
use crate::sql::{OpFailure, SessionFactory, SqlConnection, SqlSession, keep_used, run_transaction};
use ::mysql::prelude::Queryable;
use ::mysql::{Conn, Error, Opts, OptsBuilder, Row, Value, from_value_opt};
use host::error::TargetError;
use model::{Fact, FailureClass, SqlArg, SqlOp};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// A server, and as whom to come there.
#[derive(Clone)]
pub struct MysqlAddress {
    opts: Opts,
    /// Where connections are encrypted.
    way: Option<Way>,
    /// For messages.
    shown: String,
    /// Keeps the way to a private socket open.
    _socket: Option<Socket>,
}

impl MysqlAddress {
    /// The server behind a private socket, which knows one user.
    pub fn private(socket: Socket, shown: String) -> MysqlAddress {
        let opts = OptsBuilder::new().socket(Some(socket.path.as_str())).user(Some("root"));
        MysqlAddress { opts: of_all(opts), way: None, shown, _socket: Some(socket) }
    }

    /// A server that somebody else runs.
    pub fn external(url: &Url, password: Option<&Password>) -> Result<MysqlAddress, TargetError> {
        let port = url.port.unwrap_or(3306);
        let opts = OptsBuilder::new().user(Some(&url.user)).pass(password.map(Password::reveal));
        let opts = opts.socket(url.socket.as_deref()).ip_or_hostname(Some(&url.host)).tcp_port(port);
        let tls = url.tls.as_ref().map(|wanted| Tls::new(wanted, &url.host)).transpose()?;
        let way = tls.map(|tls| Way { host: url.host.clone(), port, tls });
        Ok(MysqlAddress { opts: of_all(opts), way, shown: format!("`{}`", url.text), _socket: None })
    }

    /// The same with the database `name` as the current one.
    pub fn in_database(&self, name: &str) -> MysqlAddress {
        let opts = OptsBuilder::from_opts(self.opts.clone()).db_name(Some(name)).into();
        MysqlAddress { opts, ..self.clone() }
    }

    /// A connection that gives up after `patience` without an answer.
    pub fn connect(&self, patience: Duration) -> Result<Conn, OpFailure> {
        self.open(patience).map(|(connection, _)| connection)
    }

    /// The same, and what it goes through where it is encrypted.
    fn open(&self, patience: Duration) -> Result<(Conn, Option<Tunnel>), OpFailure> {
        let opts = OptsBuilder::from_opts(self.opts.clone());
        let timed = opts.read_timeout(Some(patience)).write_timeout(Some(patience));
        let timed = timed.tcp_connect_timeout(Some(patience.min(CONNECT_AT_MOST)));
        match &self.way {
            None => Ok((Conn::new(timed).map_err(failure)?, None)),
            Some(way) => way.open(timed, patience).map(|(connection, tunnel)| (connection, Some(tunnel))),
        }
    }

    /// How its connections are encrypted.
    pub fn facts(&self) -> Vec<Fact> {
        tls::facts(self.way.as_ref().map(|way| &way.tls))
    }

    /// The server, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// No cache of statements, which would close those of many tables; and the text that workloads write is ASCII, which the
/// server need not convert.
fn of_all(opts: OptsBuilder) -> Opts {
    // The crate would ask the server for the longest packet at each connection.
    let opts = opts.max_allowed_packet(Some(16 << 20));
    opts.prefer_socket(false).stmt_cache_size(0).init(vec!["SET NAMES latin1"]).into()
}

/// How the clients of a trial connect.
#[derive(Clone)]
pub struct ConnectMysql {
    /// Where to,
    pub address: MysqlAddress,
    /// what to say there,
    pub statements: Arc<[String]>,
    /// and how.
    pub options: SessionOptions,
}

impl ConnectMysql {
    /// A connection at the isolation level of the clients.
    pub fn connection(&self) -> Result<Conn, OpFailure> {
        self.open().map(|(connection, _)| connection)
    }

    fn open(&self) -> Result<(Conn, Option<Tunnel>), OpFailure> {
        let (mut connection, tunnel) = self.address.open(self.options.patience)?;
        if let Some(level) = &self.options.isolation {
            connection.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).map_err(failure)?;
        }
        Ok((connection, tunnel))
    }

    /// The same for statements, over which the crate has no part any more.
    fn wire(&self) -> Result<Wire, OpFailure> {
        Ok(Wire::new(match self.open()? {
            (connection, None) => WireSocket::Plain(connection),
            (connection, Some(tunnel)) => WireSocket::Encrypted(tunnel.taken_over(connection)?),
        }))
    }
}

impl SessionFactory for ConnectMysql {
    type Session = MysqlSession;

    fn server(&self) -> String {
        self.address.shown.clone()
    }

    fn with_statements(&self, used: &[u16]) -> Self {
        Self { statements: keep_used(&self.statements, used), ..self.clone() }
    }

    fn options(&self) -> &SessionOptions {
        &self.options
    }

    fn with_patience(&self, patience: Duration) -> Self {
        Self { options: SessionOptions { patience, ..self.options.clone() }, ..self.clone() }
    }

    fn connect(&self) -> Result<MysqlSession, OpFailure> {
        let executor = StatementExecutor::new(self.wire()?, &self.statements, &self.options, Dialect::Mysql);
        Ok(MysqlSession { executor: executor.map_err(wire_failure)? })
    }
}

/// A connection, and how statements are said over it.
pub struct MysqlSession {
    executor: StatementExecutor<Wire>,
}

impl SqlSession for MysqlSession {
    fn perform(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        run_transaction(&mut self.executor, op).map_err(wire_failure)
    }

    fn roll_back(&mut self) -> Result<(), OpFailure> {
        self.executor.run_text("ROLLBACK").map_err(wire_failure)
    }
}

impl AdminConnection for Conn {
    fn run(&mut self, statement: &str) -> Result<(), OpFailure> {
        self.query_drop(statement).map_err(failure)
    }

    fn rows(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, OpFailure> {
        let text = |value: Value| from_value_opt::<Option<String>>(value).ok().flatten();
        let rows = self.query_map(question, |row: Row| row.unwrap().into_iter().map(text).collect());
        rows.map_err(failure)
    }
}

impl PreparingConnection for Wire {
    type Error = WireError;

    fn prepare(&mut self, text: &str) -> Result<(), WireError> {
        self.prepare(text)
    }

    #[inline]
    fn put_execution(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), WireError> {
        self.put_execution(number, args, text)
    }

    #[inline]
    fn put_text(&mut self, text: &str) -> Result<(), WireError> {
        self.put_text(text)
    }

    #[inline]
    fn call(&mut self) -> Result<(), WireError> {
        self.call()
    }
}

impl PollableSession for MysqlSession {
    fn stop_waiting(&mut self) -> Result<(), OpFailure> {
        self.executor.wire.stop_waiting().map_err(|cause| io_failure(&cause))
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.executor.wire.socket()
    }

    #[inline]
    fn put(&mut self, next: Command<'_>) -> Result<(), OpFailure> {
        self.executor.put(next).map_err(wire_failure)
    }

    #[inline]
    fn send_some(&mut self) -> Result<bool, OpFailure> {
        self.executor.wire.send_some().map_err(wire_failure)
    }

    #[inline]
    fn take_some(&mut self, _: &SqlOp) -> Result<bool, OpFailure> {
        self.executor.wire.take_some().map_err(wire_failure)
    }
}

/// What an error of the crate means here.
#[cold]
pub fn failure(error: Error) -> OpFailure {
    match error {
        Error::MySqlError(said) => OpFailure::from_server(class_of(said.code, &said.message), &said.to_string()),
        Error::IoError(cause) => io_failure(&cause),
        Error::CodecError(_) => {
            OpFailure::from_server(FailureClass::Lost, &format!("the connection was lost: {error}"))
        }
        Error::DriverError(_) => OpFailure::from_server(FailureClass::Lost, &error.to_string()),
        _ => OpFailure::from_server(FailureClass::Other, &error.to_string()),
    }
}

/// What an error under load means here.
#[cold]
pub fn wire_failure(error: WireError) -> OpFailure {
    match error {
        WireError::Said { code, text } => OpFailure::from_server(class_of(code, &text), &text),
        WireError::Io(cause) => io_failure(&cause),
    }
}

fn io_failure(cause: &io::Error) -> OpFailure {
    match cause.kind() {
        // Nothing was sent.
        ErrorKind::InvalidInput => OpFailure::from_server(FailureClass::Other, &cause.to_string()),
        _ => OpFailure::connection_lost(cause),
    }
}

/// The error codes of MariaDB (<https://mariadb.com/kb/en/mariadb-error-code-reference/>).
fn class_of(code: u16, message: &str) -> FailureClass {
    match code {
        // Record has changed since last read; lock wait timeout; deadlock.
        1020 | 1205 | 1213 => FailureClass::Conflict,
        // Disk full; table full; and whatever errno 28 (ENOSPC) stands in.
        1021 | 1114 => FailureClass::NoSpace,
        _ if message.contains("errno: 28") || message.contains("error 28") => FailureClass::NoSpace,
        // Errors on reading, writing and closing of files.
        1023 | 1024 | 1026 => FailureClass::Io,
        // Shutdown in progress; connection killed.
        1053 | 1927 => FailureClass::Lost,
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
        assert_eq!(class_of(1064, "You have an error in your SQL syntax"), FailureClass::Other);
    }
}
