//! Rows of a load for PostgreSQL: each block is one `COPY ... FROM STDIN` in the text format.
//!
//! Statement, rows and the end of the rows are sent without waiting for the server's word that it takes them, so a block costs one round
//! trip. A server that refuses the statement, or a row, drops what still comes of the block and answers all the same
//! (<https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>). All that it writes meanwhile is a few small messages, which
//! the socket's buffer holds: it never waits for us to read while we wait for it to read.
//!
//! Commits do not wait for the log. When the load is over, a checkpoint writes everything; on an external server the commit of `ANALYZE`
//! flushes the log up to there (see [`super::quiesce`]).

use super::client::PostgresAddress;
use super::tables::quote_name;
use super::wire::{PostgresWire, PostgresWireError};
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::{BlockRows, BulkConnect, BulkConnection};
use crate::sql::open_connections::Registration;
use crate::sql::preparing::PreparingConnection;
use crate::sql::session_options::SessionOptions;
use host::deadline::Deadline;
use model::FailureClass;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use workload::RowTarget;

/// A server takes a message in whole before it looks at it. Messages of some 50 KB let it work while the next one is made.
const ROWS_PER_MESSAGE: usize = 256;
/// A letter, and the place for the length.
const COPY_DATA: &[u8] = b"d\0\0\0\0";
/// A letter, and the length of nothing.
const COPY_DONE: &[u8] = b"c\0\0\0\x04";

#[derive(Clone)]
pub struct CopyInto {
    address: Arc<PostgresAddress>,
    targets: Arc<[RowTarget]>,
    options: SessionOptions,
}

impl CopyInto {
    /// Connections to the server at `address` that add rows to `targets`.
    pub fn new(address: PostgresAddress, targets: Arc<[RowTarget]>, options: SessionOptions) -> CopyInto {
        CopyInto { address: Arc::new(address), targets, options }
    }
}

impl BulkConnect for CopyInto {
    type Connection = CopyConnection;

    fn server_name(&self) -> String {
        self.address.shown().to_owned()
    }

    fn connect(&self) -> Result<CopyConnection, OpFailure> {
        let mut wire = self.address.connect_within(self.options.patience)?;
        wire.run_statement("SET synchronous_commit = off")?;
        let registered = self.options.open.register(wire.key(), self.address.clone(), wire.socket_fd());
        let (targets, limit) = (self.targets.clone(), self.options.answer_limit);
        Ok(CopyConnection { _registered: registered, wire, targets, limit, message: Vec::new() })
    }
}

/// A connection that copies rows into tables.
pub struct CopyConnection {
    /// Dropped first: it names the socket.
    _registered: Registration,
    wire: PostgresWire,
    targets: Arc<[RowTarget]>,
    /// How long a block may take.
    limit: Option<Duration>,
    /// The message that is sent next.
    message: Vec<u8>,
}

impl BulkConnection for CopyConnection {
    fn add_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure> {
        self.begin_command();
        let sent = self.send_rows(target, rows);
        let taken = match (sent, self.wire.copied_rows()) {
            // A server that ends a connection says why before it closes it. What is sent after that fails.
            (Err(lost), Ok(_) | Err(PostgresWireError::Io(_))) => return Err(lost.into()),
            (_, answer) => answer?,
        };
        if taken == rows.count() as u64 {
            return Ok(());
        }
        let text = format!(
            "the server took {taken} of the {} rows that were sent for `{}`",
            rows.count(),
            self.targets[target].table
        );
        Err(OpFailure::from_server(FailureClass::Other, &text))
    }

    fn run_text(&mut self, text: &str) -> Result<(), OpFailure> {
        self.begin_command();
        self.wire.put_text(text)?;
        Ok(self.wire.send_and_receive()?)
    }
}

impl CopyConnection {
    /// All that is sent and received for the next command ends in time.
    fn begin_command(&mut self) {
        self.wire.stream().set_deadline(self.limit.map(Deadline::unless_interrupted));
    }

    fn send_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), PostgresWireError> {
        self.wire.put_text(&copy_statement(&self.targets[target]))?;
        self.wire.send_command()?;
        for some in rows.parts(ROWS_PER_MESSAGE) {
            self.message.clear();
            self.message.extend_from_slice(COPY_DATA);
            some.write_lines(&mut self.message);
            // The length counts its own four bytes but not the letter.
            let length = self.message.len() as u32 - 1;
            self.message[1..5].copy_from_slice(&length.to_be_bytes());
            self.wire.stream().write_all(&self.message)?;
        }
        Ok(self.wire.stream().write_all(COPY_DONE)?)
    }
}

fn copy_statement(target: &RowTarget) -> String {
    let columns: Vec<String> = target.columns.iter().map(|column| quote_name(column)).collect();
    format!("COPY {} ({}) FROM STDIN", quote_name(&target.table), columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::network::AnswerLimits;
    use crate::sql::open_connections::{CancelAtServer, ConnectionKey, OpenConnections};
    use model::SqlArg;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    struct NoServer;

    impl CancelAtServer for NoServer {
        fn cancel(&self, _: ConnectionKey, _: Duration) -> Result<(), OpFailure> {
            Ok(())
        }
    }

    /// A connection for a table with a column `id`, and the server's end of it.
    fn connected(limit: Duration) -> (CopyConnection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let registered =
            OpenConnections::default().register(ConnectionKey::default(), Arc::new(NoServer), ours.as_fd());
        let wire = PostgresWire::over(ours.into(), limit, AnswerLimits::default());
        let targets = [RowTarget { table: "a\"b".into(), columns: vec!["id"] }].into();
        (CopyConnection { _registered: registered, wire, targets, limit: Some(limit), message: Vec::new() }, theirs)
    }

    fn add(connection: &mut CopyConnection, values: &[SqlArg]) -> Result<(), OpFailure> {
        connection.add_rows(0, BlockRows::new(values, 1, b""))
    }

    fn message(letter: u8, body: &[u8]) -> Vec<u8> {
        [&[letter], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_block_is_a_statement_rows_and_their_end_whatever_the_server_says_meanwhile() {
        let (mut connection, mut theirs) = connected(LONG);
        theirs.write_all(&[message(b'C', b"COPY 300\0"), message(b'Z', b"I")].concat()).unwrap();
        let values: Vec<SqlArg> = (0..300).map(|id| if id == 0 { SqlArg::Null } else { SqlArg::Int(id) }).collect();
        add(&mut connection, &values).unwrap();
        drop(connection);
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).unwrap();
        let lines = |ids: std::ops::Range<u32>| ids.map(|id| format!("{id}\n")).collect::<String>();
        let expected = [
            message(b'Q', b"COPY \"a\"\"b\" (\"id\") FROM STDIN\0"),
            message(b'd', format!("\\N\n{}", lines(1..256)).as_bytes()),
            message(b'd', lines(256..300).as_bytes()),
            message(b'c', b""),
            // It takes its leave.
            message(b'X', b""),
        ];
        assert_eq!(String::from_utf8_lossy(&sent), String::from_utf8_lossy(&expected.concat()));
    }

    #[test]
    fn a_server_that_took_fewer_rows_or_does_not_say_how_many_is_a_failure() {
        for (answer, taken) in [(&b"COPY 3\0"[..], 3), (b"COPY\0", 0), (b"", 0)] {
            let (mut connection, mut theirs) = connected(LONG);
            theirs.write_all(&[message(b'C', answer), message(b'Z', b"I")].concat()).unwrap();
            let failure = add(&mut connection, &[SqlArg::Int(7); 5]).unwrap_err();
            assert_eq!(failure.text, format!("the server took {taken} of the 5 rows that were sent for `a\"b`"));
        }
    }

    #[test]
    fn a_server_that_ends_the_connection_is_quoted_and_not_the_broken_pipe() {
        let why = message(b'E', b"SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");
        for (answer, expected) in
            [(why, "FATAL 57P01: terminating connection"), (Vec::new(), "the connection was lost")]
        {
            let (mut connection, mut theirs) = connected(LONG);
            let server = std::thread::spawn(move || {
                theirs.read_exact(&mut [0; 100]).unwrap();
                theirs.write_all(&answer).unwrap();
            });
            // More than the socket takes.
            let failure = add(&mut connection, &vec![SqlArg::Int(1_000_000); 1_000_000]).unwrap_err();
            assert!(failure.text.starts_with(expected), "{}", failure.text);
            assert_eq!(failure.class, FailureClass::Lost);
            server.join().unwrap();
        }
    }

    #[test]
    fn a_server_that_takes_nothing_is_left_at_the_limit_of_a_block() {
        let (mut connection, _theirs) = connected(Duration::from_millis(50));
        let failure = add(&mut connection, &vec![SqlArg::Int(1_000_000); 1_000_000]).unwrap_err();
        assert_eq!(failure.text, "the server gave no complete answer within 0.05 s");
    }
}
