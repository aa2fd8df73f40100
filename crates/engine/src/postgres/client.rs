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
use crate::sql::multiplex::{Next, Polled};
use crate::sql::server_instance::Link;
use crate::sql::session_options::Manner;
use crate::sql::statement::{Prepares, Speaker};
use crate::sql::{Connect, Failure, Session, Speaks, only, transact};
use host::error::TargetError;
use model::{Fact, FailureClass, SqlArg, SqlOp};
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A server, and as whom to come there.
#[derive(Clone)]
pub struct Address {
    way: Way,
    user: String,
    password: Option<Password>,
    database: String,
    /// Where names without a schema are looked for, where that is not the server's own choice.
    schema: Option<String>,
    /// For messages.
    shown: String,
}

impl Address {
    /// The server behind a private socket, which trusts whoever gets there.
    pub fn private(socket: Socket, user: &str, shown: String) -> Address {
        let (way, user, database) = (Way::Private(socket), user.into(), "postgres".into());
        Address { way, user, password: None, database, schema: None, shown }
    }

    /// A server that somebody else runs.
    pub fn foreign(url: &Url, password: Option<Password>) -> Result<Address, TargetError> {
        let tls = url.tls.as_ref().map(|wanted| Tls::new(wanted, &url.host)).transpose()?;
        let way = match &url.socket {
            Some(path) => Way::Socket(path.clone()),
            None => Way::Host(url.host.clone(), url.port.unwrap_or(5432), tls),
        };
        let database = url.database.clone().unwrap_or_else(|| url.user.clone());
        let shown = format!("`{}`", url.text);
        Ok(Address { way, user: url.user.clone(), password, database, schema: None, shown })
    }

    /// The same with names in `schema`.
    pub fn in_schema(&self, schema: &str) -> Address {
        Address { schema: Some(schema.into()), ..self.clone() }
    }

    /// A connection that gives up after `patience` without an answer.
    pub fn connect(&self, patience: Duration) -> Result<Wire, Failure> {
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
    pub address: Address,
    /// what to say there, with `?` for each value,
    pub statements: Arc<[String]>,
    /// and how.
    pub manner: Manner,
}

impl ConnectPostgres {
    /// A connection at the isolation level of the clients.
    pub fn connection(&self) -> Result<Wire, Failure> {
        let mut wire = self.address.connect(self.manner.patience)?;
        if let Some(level) = &self.manner.isolation {
            let set = format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}");
            wire.run(&set).map_err(failure)?;
        }
        Ok(wire)
    }
}

impl Connect for ConnectPostgres {
    type Session = PostgresSession;

    fn server(&self) -> String {
        self.address.shown.clone()
    }

    fn manner(&self) -> &Manner {
        &self.manner
    }

    fn only(&self, used: &[u16]) -> Self {
        Self { statements: only(&self.statements, used), ..self.clone() }
    }

    fn with_patience(&self, patience: Duration) -> Self {
        Self { manner: Manner { patience, ..self.manner.clone() }, ..self.clone() }
    }

    fn connect(&self) -> Result<PostgresSession, Failure> {
        let named = Named { wire: self.connection()?, names: Vec::new() };
        let speaker = Speaker::new(named, &self.statements, &self.manner, Dialect::Postgres).map_err(failure)?;
        let deletes = self.statements.iter().map(|text| is_delete(text)).collect();
        Ok(PostgresSession { speaker, deletes })
    }
}

const UNIQUE_VIOLATION: &str = "23505";

/// A connection, and how statements are said over it.
pub struct PostgresSession {
    speaker: Speaker<Named>,
    /// Which statements delete rows, by their numbers.
    deletes: Vec<bool>,
}

impl Session for PostgresSession {
    fn perform(&mut self, op: &SqlOp) -> Result<(), Failure> {
        transact(&mut self.speaker, op).map_err(|error| self.judged(op, error))
    }

    fn roll_back(&mut self) -> Result<(), Failure> {
        self.speaker.say("ROLLBACK").map_err(failure)
    }
}

fn is_delete(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("DELETE"))
}

impl PostgresSession {
    /// What an error of `op` means.
    #[cold]
    fn judged(&self, op: &SqlOp, error: WireError) -> Failure {
        match error {
            // A transaction that deletes a row and inserts it again. Of two that do so at once with the same row, the later finds
            // nothing to delete, and then the row of the other: at READ COMMITTED that is how it loses.
            WireError::Said { code, text } if self.replaces(op) && code == UNIQUE_VIOLATION => {
                Failure { class: FailureClass::Conflict, text }
            }
            error => failure(error),
        }
    }

    /// Whether `op` may insert what it has deleted itself.
    fn replaces(&self, op: &SqlOp) -> bool {
        op.transaction && op.calls.iter().any(|call| self.deletes[usize::from(call.statement)])
    }
}

impl Link for Wire {
    fn run(&mut self, statement: &str) -> Result<(), Failure> {
        self.run(statement).map_err(failure)
    }

    fn rows(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        self.rows(question).map_err(failure)
    }
}

/// A connection with the names under which its statements are prepared, by their numbers.
struct Named {
    wire: Wire,
    names: Vec<String>,
}

impl Prepares for Named {
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

impl Polled for PostgresSession {
    fn stop_waiting(&mut self) -> Result<(), Failure> {
        self.speaker.wire.wire.stop_waiting().map_err(|error| failure(error.into()))
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.speaker.wire.wire.socket()
    }

    #[inline]
    fn put(&mut self, next: Next<'_>) -> Result<(), Failure> {
        self.speaker.put(next).map_err(failure)
    }

    #[inline]
    fn send_some(&mut self) -> Result<bool, Failure> {
        self.speaker.wire.wire.send_some().map_err(failure)
    }

    #[inline]
    fn take_some(&mut self, op: &SqlOp) -> Result<bool, Failure> {
        self.speaker.wire.wire.take_some().map_err(|error| self.judged(op, error))
    }
}

/// What an error means here.
#[cold]
pub fn failure(error: WireError) -> Failure {
    match error {
        WireError::Said { code, text } => Failure::told(class_of(&code), &text),
        WireError::Io(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            Failure::told(FailureClass::Lost, &cause.to_string())
        }
        WireError::Io(cause) => Failure::lost(&cause),
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
