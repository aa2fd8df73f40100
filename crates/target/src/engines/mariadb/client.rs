//! Connections to MariaDB: the protocol of MySQL with prepared statements.
//!
//! In: an address, statements with `?`. Out: sessions that perform operations. Limits: those of [`super::wire`].

use super::wire::{Wire, WireError};
use crate::engines::sql::{Connect, Failure, Session, only};
use crate::server::home::Socket;
use crate::server::url::{Password, Url};
use ::mysql::{Conn, Error, Opts, OptsBuilder};
use model::{FailureClass, SqlOp};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// A server, and as whom to come there.
#[derive(Clone)]
pub struct Address {
    opts: Opts,
    /// For messages.
    shown: String,
    /// Keeps the way to a private socket open.
    _socket: Option<Socket>,
}

impl Address {
    /// The server behind a private socket, which knows one user.
    pub fn private(socket: Socket, shown: String) -> Address {
        let opts = OptsBuilder::new().socket(Some(socket.path.as_str())).user(Some("root"));
        Address { opts: of_all(opts), shown, _socket: Some(socket) }
    }

    /// A server that somebody else runs.
    pub fn foreign(url: &Url, password: Option<&Password>) -> Address {
        let opts = OptsBuilder::new().user(Some(&url.user)).pass(password.map(Password::reveal));
        let opts =
            opts.socket(url.socket.as_deref()).ip_or_hostname(Some(&url.host)).tcp_port(url.port.unwrap_or(3306));
        Address { opts: of_all(opts), shown: format!("`{}`", url.text), _socket: None }
    }

    /// The same with the database `name` as the current one.
    pub fn in_database(&self, name: &str) -> Address {
        let opts = OptsBuilder::from_opts(self.opts.clone()).db_name(Some(name)).into();
        Address { opts, ..self.clone() }
    }

    /// A connection that gives up after `patience` without an answer.
    pub fn connect(&self, patience: Duration) -> Result<Conn, Failure> {
        let opts = OptsBuilder::from_opts(self.opts.clone());
        let timed = opts.read_timeout(Some(patience)).write_timeout(Some(patience));
        Conn::new(timed.tcp_connect_timeout(Some(patience.min(CONNECT_AT_MOST)))).map_err(failure)
    }

    /// The server, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// A host that does not answer is not there.
const CONNECT_AT_MOST: Duration = Duration::from_secs(5);

/// No cache of statements, which would close those of many tables; and the text that workloads write is ASCII, which the
/// server need not convert.
fn of_all(opts: OptsBuilder) -> Opts {
    opts.prefer_socket(false).stmt_cache_size(0).init(vec!["SET NAMES latin1"]).into()
}

/// How the clients of a trial connect.
#[derive(Clone)]
pub struct ConnectMysql {
    /// Where to,
    pub address: Address,
    /// what to prepare,
    pub statements: Arc<[String]>,
    /// and how long to wait for an answer.
    pub patience: Duration,
}

impl Connect for ConnectMysql {
    type Session = MysqlSession;

    fn server(&self) -> String {
        self.address.shown.clone()
    }

    fn only(&self, used: &[u16]) -> Self {
        Self { statements: only(&self.statements, used), ..self.clone() }
    }

    fn connect(&self) -> Result<MysqlSession, Failure> {
        let connection = self.address.connect(self.patience)?;
        Ok(MysqlSession(Wire::new(connection, &self.statements, self.patience).map_err(failure)?))
    }
}

/// A connection with its prepared statements.
pub struct MysqlSession(Wire);

impl Session for MysqlSession {
    fn perform(&mut self, op: &SqlOp) -> Result<(), Failure> {
        self.transact(op).map_err(wire_failure)
    }

    fn roll_back(&mut self) -> Result<(), Failure> {
        self.0.run("ROLLBACK").map_err(wire_failure)
    }
}

impl MysqlSession {
    fn transact(&mut self, op: &SqlOp) -> Result<(), WireError> {
        if !op.transaction {
            return self.call_all(op);
        }
        self.0.run("BEGIN")?;
        self.call_all(op)?;
        self.0.run("COMMIT")
    }

    fn call_all(&mut self, op: &SqlOp) -> Result<(), WireError> {
        let mut args = &op.args[..];
        for call in &op.calls {
            let (mine, rest) = args.split_at(call.args as usize);
            args = rest;
            self.0.execute(call.statement as usize, mine, &op.text)?;
        }
        Ok(())
    }
}

/// What an error of the crate means here.
#[cold]
pub fn failure(error: Error) -> Failure {
    match error {
        Error::MySqlError(said) => told(class_of(said.code, &said.message), &said.to_string()),
        Error::IoError(cause) => io_failure(&cause),
        Error::CodecError(_) => told(FailureClass::Lost, &format!("the connection was lost: {error}")),
        Error::DriverError(_) => told(FailureClass::Lost, &error.to_string()),
        _ => told(FailureClass::Other, &error.to_string()),
    }
}

/// What an error under load means here.
#[cold]
fn wire_failure(error: WireError) -> Failure {
    match error {
        WireError::Said { code, text } => told(class_of(code, &text), &text),
        WireError::Io(cause) => io_failure(&cause),
    }
}

fn io_failure(cause: &io::Error) -> Failure {
    match cause.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => told(FailureClass::Lost, "it did not answer in time"),
        // Nothing was sent.
        ErrorKind::InvalidInput => told(FailureClass::Other, &cause.to_string()),
        _ => told(FailureClass::Lost, &format!("the connection was lost: {cause}")),
    }
}

fn told(class: FailureClass, text: &str) -> Failure {
    Failure { class, text: text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() }
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
