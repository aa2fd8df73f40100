//! Connections to PostgreSQL for the clients of a trial.
//!
//! In: an address, statements with `?`, how to say them. Out: sessions that perform operations. Limits: those of [`super::wire`].

use super::tables::numbered;
use super::wire::{Login, Stream, Wire, WireError};
use crate::server::dir::Socket;
use crate::server::network;
use crate::server::tls::{self, Tls};
use crate::server::url::{Password, Url};
use crate::sql::literals::Dialect;
use crate::sql::multiplex::{Command, PollableSession};
use crate::sql::server_instance::AdminConnection;
use crate::sql::session_options::SessionOptions;
use crate::sql::statement::{PreparingConnection, StatementExecutor};
use crate::sql::{OpFailure, SessionFactory, SqlConnection, SqlSession, keep_used, run_transaction};
use host::error::TargetError;
use model::{Fact, FailureClass, SqlArg, SqlOp};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A server, and as whom to come there.
#[derive(Clone)]
pub struct PostgresAddress {
    way: Way,
    user: String,
    password: Option<Password>,
    database: String,
    /// Where names without a schema are looked for, where that is not the server's own choice.
    schema: Option<String>,
    /// For messages.
    shown: String,
}

impl PostgresAddress {
    /// The server behind a private socket, which trusts anything that gets there.
    pub fn private(socket: Socket, user: &str, shown: String) -> PostgresAddress {
        let (way, user, database) = (Way::Private(socket), user.into(), "postgres".into());
        PostgresAddress { way, user, password: None, database, schema: None, shown }
    }

    /// A server that plimsoll did not start.
    pub fn external(url: &Url, password: Option<Password>) -> Result<PostgresAddress, TargetError> {
        let tls = url.tls.as_ref().map(|wanted| Tls::new(wanted, &url.host)).transpose()?;
        let way = match &url.socket {
            Some(path) => Way::Socket(path.clone()),
            None => Way::Host(url.host.clone(), url.port.unwrap_or(5432), tls),
        };
        let database = url.database.clone().unwrap_or_else(|| url.user.clone());
        let shown = format!("`{}`", url.text);
        Ok(PostgresAddress { way, user: url.user.clone(), password, database, schema: None, shown })
    }

    /// The same with names in `schema`.
    pub fn in_schema(&self, schema: &str) -> PostgresAddress {
        PostgresAddress { schema: Some(schema.into()), ..self.clone() }
    }

    /// A connection that gives up after `patience` without an answer.
    pub fn connect(&self, patience: Duration) -> Result<Wire, OpFailure> {
        let open = || -> Result<Wire, WireError> {
            let login = Login {
                user: &self.user,
                password: self.password.as_ref().map(Password::reveal),
                database: &self.database,
                schema: self.schema.as_deref(),
            };
            Wire::open(self.way.go(patience)?, &login)
        };
        open().map_err(failure)
    }

    /// The server, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// How its connections are encrypted.
    pub fn facts(&self) -> Vec<Fact> {
        match &self.way {
            Way::Host(_, _, tls) => tls::facts(tls.as_ref()),
            Way::Private(_) | Way::Socket(_) => tls::facts(None),
        }
    }
}

/// How to get to a server.
#[derive(Clone)]
enum Way {
    Private(Socket),
    Socket(String),
    Host(String, u16, Option<Tls>),
}

impl Way {
    fn go(&self, patience: Duration) -> io::Result<Stream> {
        let path = match self {
            Way::Private(socket) => &socket.path,
            Way::Socket(path) => path,
            Way::Host(host, port, None) => return network::connect(host, *port, patience).map(Stream::Tcp),
            Way::Host(host, port, Some(tls)) => {
                return Stream::encrypted(network::connect(host, *port, patience)?, tls);
            }
        };
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Stream::Unix(stream))
    }
}

/// How the clients of a trial connect.
#[derive(Clone)]
pub struct ConnectPostgres {
    /// Where to,
    pub address: PostgresAddress,
    /// what to say there, with `?` for each value,
    pub statements: Arc<[String]>,
    /// and how.
    pub options: SessionOptions,
}

impl ConnectPostgres {
    /// A connection at the isolation level of the clients.
    pub fn connection(&self) -> Result<Wire, OpFailure> {
        let mut wire = self.address.connect(self.options.patience)?;
        if let Some(level) = &self.options.isolation {
            let set = format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}");
            wire.run(&set).map_err(failure)?;
        }
        Ok(wire)
    }
}

impl SessionFactory for ConnectPostgres {
    type Session = PostgresSession;

    fn server(&self) -> String {
        self.address.shown.clone()
    }

    fn options(&self) -> &SessionOptions {
        &self.options
    }

    fn with_statements(&self, used: &[u16]) -> Self {
        Self { statements: keep_used(&self.statements, used), ..self.clone() }
    }

    fn with_patience(&self, patience: Duration) -> Self {
        Self { options: SessionOptions { patience, ..self.options.clone() }, ..self.clone() }
    }

    fn connect(&self) -> Result<PostgresSession, OpFailure> {
        let named = Named { wire: self.connection()?, names: Vec::new() };
        let executor =
            StatementExecutor::new(named, &self.statements, &self.options, Dialect::Postgres).map_err(failure)?;
        let deletes = self.statements.iter().map(|text| is_delete(text)).collect();
        Ok(PostgresSession { executor, deletes })
    }
}

const UNIQUE_VIOLATION: &str = "23505";

/// A connection, and how statements are said over it.
pub struct PostgresSession {
    executor: StatementExecutor<Named>,
    /// Which statements delete rows, by their numbers.
    deletes: Vec<bool>,
}

impl SqlSession for PostgresSession {
    fn perform(&mut self, op: &SqlOp) -> Result<(), OpFailure> {
        run_transaction(&mut self.executor, op).map_err(|error| self.judged(op, error))
    }

    fn roll_back(&mut self) -> Result<(), OpFailure> {
        self.executor.run_text("ROLLBACK").map_err(failure)
    }
}

fn is_delete(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("DELETE"))
}

impl PostgresSession {
    /// What an error of `op` means.
    #[cold]
    fn judged(&self, op: &SqlOp, error: WireError) -> OpFailure {
        match error {
            // A transaction that deletes a row and inserts it again. Of two that do so at once with the same row, the later finds
            // nothing to delete, and then the row of the other: at READ COMMITTED that is how it loses.
            WireError::Said { code, text } if self.replaces(op) && code == UNIQUE_VIOLATION => {
                OpFailure { class: FailureClass::Conflict, text }
            }
            error => failure(error),
        }
    }

    /// Whether `op` may insert what it has deleted itself.
    fn replaces(&self, op: &SqlOp) -> bool {
        op.transaction && op.calls.iter().any(|call| self.deletes[usize::from(call.statement)])
    }
}

impl AdminConnection for Wire {
    fn run(&mut self, statement: &str) -> Result<(), OpFailure> {
        self.run(statement).map_err(failure)
    }

    fn rows(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, OpFailure> {
        self.rows(question).map_err(failure)
    }
}

/// A connection with the names under which its statements are prepared, by their numbers.
struct Named {
    wire: Wire,
    names: Vec<String>,
}

impl PreparingConnection for Named {
    type Error = WireError;

    fn prepare(&mut self, text: &str) -> Result<(), WireError> {
        let name = format!("s{}", self.names.len());
        self.wire.prepare(&name, &numbered(text))?;
        self.names.push(name);
        Ok(())
    }

    #[inline]
    fn put_execution(&mut self, number: usize, args: &[SqlArg], text: &[u8]) -> Result<(), WireError> {
        self.wire.put_execution(&self.names[number], args, text)
    }

    #[inline]
    fn put_text(&mut self, text: &str) -> Result<(), WireError> {
        self.wire.put_text(text)
    }

    #[inline]
    fn call(&mut self) -> Result<(), WireError> {
        self.wire.call()
    }
}

impl PollableSession for PostgresSession {
    fn stop_waiting(&mut self) -> Result<(), OpFailure> {
        self.executor.wire.wire.stop_waiting().map_err(|error| failure(error.into()))
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.executor.wire.wire.socket()
    }

    #[inline]
    fn put(&mut self, next: Command<'_>) -> Result<(), OpFailure> {
        self.executor.put(next).map_err(failure)
    }

    #[inline]
    fn send_some(&mut self) -> Result<bool, OpFailure> {
        self.executor.wire.wire.send_some().map_err(failure)
    }

    #[inline]
    fn take_some(&mut self, op: &SqlOp) -> Result<bool, OpFailure> {
        self.executor.wire.wire.take_some().map_err(|error| self.judged(op, error))
    }
}

/// What an error means here.
#[cold]
pub fn failure(error: WireError) -> OpFailure {
    match error {
        WireError::Said { code, text } => OpFailure::from_server(class_of(&code), &text),
        WireError::Io(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            OpFailure::from_server(FailureClass::Lost, &cause.to_string())
        }
        WireError::Io(cause) => OpFailure::connection_lost(&cause),
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
        "57P01" | "57P02" | "57P03" => FailureClass::Lost,
        code if code.starts_with("08") => FailureClass::Lost,
        _ => FailureClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_full_disks_and_lost_servers_are_told_apart() {
        let classes = ["40001", "40P01", "53100", "57P01", "08006", "42601"].map(class_of);
        use FailureClass::{Conflict, Lost, NoSpace, Other};
        assert_eq!(classes, [Conflict, Conflict, NoSpace, Lost, Lost, Other]);
    }
}
