//! Adds blocks of rows to tables of MariaDB and MySQL.
//!
//! In: rows. Out: all of a block is in its table as it was sent, or nothing of it. Limits: MyRocks is filled like InnoDB, without
//! `rocksdb_bulk_load`, whose errors come when a session ends.
//!
//! Rows go as the file of a `LOAD DATA LOCAL INFILE`, which is made in memory, or in INSERTs of many rows if the server, the account or a proxy
//! refuses that. (<https://mariadb.com/kb/en/load-data-infile/>, <https://mariadb.com/kb/en/local_infile-packet/>)
//! - The server asks for the file by its name. Only that name is answered, only by that statement, and only with the rows: no file is ever
//!   opened, so a hostile server gets nothing else.
//! - LOCAL makes warnings of errors: rows with a key that is there are left out, and values are cut to fit. So a warning, and a row that is
//!   missing in the answer, is the failure of the block.

use super::client::{MysqlAddress, class_of};
use super::tables::quote_name;
use super::wire::{HEADER, LOCAL_FILE, MysqlWire, MysqlWireError, OK};
use super::wire::{has_more, length_encoded, malformed_packet, next_packet, protocol_error, status_at};
use crate::server::identity::IdentityWatch;
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::bulk::{BlockRows, BulkConnect, BulkConnection};
use crate::sql::literals::{Dialect, push_literal};
use crate::sql::open_connections::Registration;
use crate::sql::preparing::PreparingConnection;
use crate::sql::session_options::SessionOptions;
use model::FailureClass;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use workload::RowTarget;

#[derive(Clone)]
pub struct BulkConnectMysql {
    address: MysqlAddress,
    targets: Arc<[RowTarget]>,
    options: SessionOptions,
    /// Whether LOAD DATA was refused, so that all loaders insert.
    is_refused: Arc<AtomicBool>,
}

impl BulkConnectMysql {
    /// Connections to the server at `address` that add rows to `targets`.
    pub fn new(address: MysqlAddress, targets: Arc<[RowTarget]>, options: SessionOptions) -> BulkConnectMysql {
        BulkConnectMysql { address, targets, options, is_refused: Arc::default() }
    }
}

impl BulkConnect for BulkConnectMysql {
    type Connection = MysqlBulk;

    fn server_name(&self) -> String {
        self.address.shown().to_owned()
    }

    fn way(&self) -> Option<&'static str> {
        Some(if self.is_refused.load(Relaxed) { "INSERT of many rows" } else { "LOAD DATA" })
    }

    fn connect(&self) -> Result<MysqlBulk, OpFailure> {
        let mut wire = self.address.connect_loader(self.options.patience)?;
        // A block is a transaction. That a number was rounded to the digits of its column is a note, and no warning.
        wire.set_up("SET autocommit = 0, sql_notes = 0")?;
        let rows = wire.query_rows("SELECT @@local_infile, @@max_allowed_packet")?;
        let setting = |nth: usize| rows.first()?.get(nth)?.as_ref()?.parse().ok();
        if setting(0) != Some(1) {
            self.is_refused.store(true, Relaxed);
        }
        let packet_max = setting(1).unwrap_or(PACKET_MAX_UNKNOWN);
        wire.end_preparing(self.options.answer_limit);
        let server = Arc::new(self.address.clone());
        let registered = self.options.open.register(wire.key(), server, wire.socket_fd());
        Ok(MysqlBulk {
            opened: Instant::now(),
            connect: self.clone(),
            packet_max,
            is_in_transaction: false,
            lines: Vec::new(),
            _registered: registered,
            wire,
        })
    }
}

/// The name of the file in the statement, by which the server asks for it.
const FILE: &str = "plimsoll";
/// The longest packet of rows: longer ones are not faster.
const PIECE_MAX: usize = 256 << 10;
/// The longest INSERT. Each is a round trip, and longer ones gain nothing.
const INSERT_MAX: usize = 1 << 20;
/// The least of all defaults since MySQL 5.6 and MariaDB 10.2.
const PACKET_MAX_UNKNOWN: usize = 4 << 20;

/// A connection that takes rows.
pub struct MysqlBulk {
    opened: Instant,
    connect: BulkConnectMysql,
    /// The longest packet that the server takes.
    packet_max: usize,
    is_in_transaction: bool,
    /// Reused: a block is so large that its memory would come from the system each time.
    lines: Vec<u8>,
    /// Dropped first: it names the socket.
    _registered: Registration,
    wire: MysqlWire,
}

impl BulkConnection for MysqlBulk {
    fn add_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure> {
        match self.send_rows(target, rows) {
            Ok(()) if self.is_in_transaction => Ok(()),
            Ok(()) => self.run_statement("COMMIT"),
            Err(failure) => {
                self.is_in_transaction = false;
                if !failure.class.asks_for_reconnect() {
                    let _ = self.run_statement("ROLLBACK"); // the failure says more
                }
                Err(failure)
            }
        }
    }

    fn run_text(&mut self, text: &str) -> Result<(), OpFailure> {
        self.is_in_transaction = text == "BEGIN";
        self.run_statement(text)
    }
}

impl MysqlBulk {
    fn send_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure> {
        if !self.connect.is_refused.load(Relaxed) {
            match self.load_data(target, rows) {
                Ok(Some(taken)) => return self.check_taken(taken, rows.count()),
                Ok(None) => self.connect.is_refused.store(true, Relaxed),
                Err(error) => return Err(self.failure_of(error)),
            }
        }
        self.insert_rows(target, rows)
    }

    /// Sends `rows` as the file of a LOAD DATA; `None` if the statement was refused before it asked for them.
    fn load_data(&mut self, target: usize, rows: BlockRows<'_>) -> Result<Option<TakenRows>, MysqlWireError> {
        match self.wire.ask_for_file(&load_statement(&self.connect.targets[target])) {
            Ok(()) => {}
            // It is forbidden, or not known. If it is something else, the INSERT fails for the same reason.
            Err(MysqlWireError::Server { code, text }) if class_of(code, &text) == FailureClass::Other => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        self.lines.clear();
        rows.write_lines(&mut self.lines);
        self.wire.send_file(&self.lines, (self.packet_max / 2).clamp(1, PIECE_MAX))?;
        self.wire.take_taken().map(Some)
    }

    /// Sends `rows` in INSERTs, each as long as it may be.
    fn insert_rows(&mut self, target: usize, rows: BlockRows<'_>) -> Result<(), OpFailure> {
        let longest = INSERT_MAX.min(self.packet_max.saturating_sub(PACKET_REST));
        let mut statement = insert_beginning(&self.connect.targets[target]);
        let (beginning, mut count, mut row) = (statement.len(), 0, String::new());
        for values in rows.rows() {
            row.clear();
            for (nth, value) in values.iter().enumerate() {
                row.push(if nth == 0 { '(' } else { ',' });
                push_literal(&mut row, Dialect::Mysql, value, rows.text);
            }
            row.push(')');
            if count > 0 && statement.len() + row.len() >= longest {
                self.run_insert(&statement, count)?;
                statement.truncate(beginning);
                count = 0;
            }
            if count > 0 {
                statement.push(',');
            }
            statement.push_str(&row);
            count += 1;
        }
        self.run_insert(&statement, count)
    }

    fn run_insert(&mut self, statement: &str, rows: usize) -> Result<(), OpFailure> {
        // The server would close the connection without a word.
        if statement.len() >= self.packet_max {
            let text =
                format!("a row of {} bytes is longer than max_allowed_packet ({})", statement.len(), self.packet_max);
            return Err(OpFailure::from_server(FailureClass::Other, &text));
        }
        let taken = self.wire.put_text(statement).and_then(|()| self.wire.send_and_take_taken());
        let taken = taken.map_err(|error| self.failure_of(error))?;
        self.check_taken(taken, rows)
    }

    /// An error unless all rows were taken as they were sent.
    fn check_taken(&mut self, taken: TakenRows, sent: usize) -> Result<(), OpFailure> {
        if taken == (TakenRows { rows: sent as u64, warnings: 0 }) {
            return Ok(());
        }
        let warning = self.wire.query_rows("SHOW WARNINGS LIMIT 1")?.into_iter().next().unwrap_or_default();
        let (code, text) = match &warning[..] {
            [_, Some(code), Some(text)] => (code.parse().unwrap_or_default(), text.as_str()),
            _ => (0, "it does not say why"),
        };
        let what = if taken.rows == sent as u64 {
            "the server changed a value".to_owned()
        } else {
            format!("the server took {} of {sent} rows", taken.rows)
        };
        Err(OpFailure::from_server(class_of(code, text), &format!("{what}: WARNING {code}: {text}")))
    }

    fn run_statement(&mut self, text: &str) -> Result<(), OpFailure> {
        let done = self.wire.put_text(text).and_then(|()| self.wire.send_and_receive());
        done.map_err(|error| self.failure_of(error))
    }

    #[cold]
    fn failure_of(&self, error: MysqlWireError) -> OpFailure {
        self.connect.address.failure_of(error, self.opened, &IdentityWatch::default())
    }
}

/// What is left of a packet for what the server counts besides the statement.
const PACKET_REST: usize = 1 << 10;

/// The characters are the bytes of the table's latin1. Each special character has its default, which `sql_mode` could change.
fn load_statement(target: &RowTarget) -> String {
    format!(
        "LOAD DATA LOCAL INFILE '{FILE}' INTO TABLE {} CHARACTER SET latin1 FIELDS TERMINATED BY X'09' ESCAPED BY X'5C' \
         LINES TERMINATED BY X'0A' ({})",
        quote_name(&target.table),
        column_list(target)
    )
}

fn insert_beginning(target: &RowTarget) -> String {
    format!("INSERT INTO {} ({}) VALUES ", quote_name(&target.table), column_list(target))
}

fn column_list(target: &RowTarget) -> String {
    target.columns.iter().map(|column| quote_name(column)).collect::<Vec<_>>().join(", ")
}

/// What a server says that it did with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TakenRows {
    rows: u64,
    warnings: u16,
}

impl TakenRows {
    /// Those of an OK packet: the rows that were changed, the last id, the status, the warnings.
    fn from_ok(body: &[u8]) -> Option<TakenRows> {
        let (rows, rest) = length_encoded(body.strip_prefix(&[OK])?)?;
        let (_, rest) = length_encoded(rest)?;
        let (status, warnings) = (status_at(rest, 0)?, status_at(rest, 2)?);
        (!has_more(status)).then_some(TakenRows { rows, warnings })
    }
}

impl MysqlWire {
    /// Sends `statement`, to which the server answers that it wants the file [`FILE`].
    fn ask_for_file(&mut self, statement: &str) -> Result<(), MysqlWireError> {
        self.put_text(statement)?;
        self.stream.write_all(&self.out)?;
        match next_packet(&mut self.inbox, &mut self.stream)? {
            [LOCAL_FILE, name @ ..] if *name == *FILE.as_bytes() => Ok(()),
            [LOCAL_FILE, ..] => Err(protocol_error("a request for a local file".into())),
            _ => Err(malformed_packet().into()),
        }
    }

    /// Sends `lines` as the file that was asked for: in packets, and an empty one, which ends it.
    fn send_file(&mut self, lines: &[u8], piece_max: usize) -> Result<(), MysqlWireError> {
        self.out.clear();
        self.out.reserve(lines.len() + (lines.len() / piece_max + 2) * HEADER);
        // Behind the statement, which was packet 0, and the request.
        let mut sequence = 2u8;
        for piece in lines.chunks(piece_max).chain([&[][..]]) {
            let [low, middle, high, _] = (piece.len() as u32).to_le_bytes();
            self.out.extend_from_slice(&[low, middle, high, sequence]);
            self.out.extend_from_slice(piece);
            sequence = sequence.wrapping_add(1);
        }
        self.stream.write_all(&self.out)?;
        self.inbox.begin_answer();
        Ok(())
    }

    /// Sends the command in the send buffer, and takes what became of its rows.
    fn send_and_take_taken(&mut self) -> Result<TakenRows, MysqlWireError> {
        self.stream.write_all(&self.out)?;
        self.take_taken()
    }

    fn take_taken(&mut self) -> Result<TakenRows, MysqlWireError> {
        let body = next_packet(&mut self.inbox, &mut self.stream)?;
        TakenRows::from_ok(body).ok_or_else(|| malformed_packet().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::login::OpenedConnection;
    use crate::server::network::{AnswerLimits, explanation};
    use crate::sql::testing::options;
    use model::SqlArg;
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    /// A connection on which the server has sent `bodies`, and its end.
    fn connection(bodies: &[&[u8]]) -> (MysqlWire, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        for body in bodies {
            theirs.write_all(&[&(body.len() as u32).to_le_bytes()[..3], &[1], body].concat()).unwrap();
        }
        let opened = OpenedConnection::at_end_of(ours);
        (MysqlWire::new(opened, Duration::from_secs(5), AnswerLimits::default()), theirs)
    }

    fn received(wire: MysqlWire, mut theirs: UnixStream) -> Vec<u8> {
        drop(wire);
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Its last packet is that of taking leave.
    const QUIT: &[u8] = &[1, 0, 0, 0, 1];

    #[test]
    fn a_server_that_asks_for_another_file_is_left_and_gets_nothing() {
        for asked in [&b"\xfb/etc/passwd"[..], b"\xfb", b"\xfbplimsoll2", b"\xfb./plimsoll"] {
            let (mut wire, theirs) = connection(&[asked]);
            let Err(MysqlWireError::Io(error)) = wire.ask_for_file("LOAD") else { panic!("{asked:?} was answered") };
            assert!(explanation(&error).unwrap().contains("a local file"));
            assert_eq!(received(wire, theirs), [&[5, 0, 0, 0, 3], &b"LOAD"[..], QUIT].concat());
        }
    }

    #[test]
    fn a_server_that_asks_for_the_rows_twice_is_left() {
        let (mut wire, theirs) = connection(&[b"\xfbplimsoll", b"\xfbplimsoll"]);
        wire.ask_for_file("LOAD").unwrap();
        wire.send_file(b"row\n", 100).unwrap();
        assert!(matches!(wire.take_taken(), Err(MysqlWireError::Io(_))));
        assert!(received(wire, theirs).ends_with(&[b"\x04\0\0\x02row\n\0\0\0\x03", QUIT].concat()));
    }

    #[test]
    fn the_rows_are_cut_into_packets_that_are_counted_and_an_empty_one_ends_them() {
        let (mut wire, theirs) = connection(&[]);
        wire.send_file(b"abcde", 2).unwrap();
        let expected = b"\x02\0\0\x02ab\x02\0\0\x03cd\x01\0\0\x04e\0\0\0\x05";
        assert_eq!(received(wire, theirs), [expected, QUIT].concat());
        let (mut wire, theirs) = connection(&[]);
        wire.send_file(&[b'x'; 600], 2).unwrap();
        assert!(received(wire, theirs).ends_with(&[&[0, 0, 0, 46], QUIT].concat()), "the number begins again at 0");
    }

    #[test]
    fn a_server_that_refuses_the_file_gets_inserts_from_then_on() {
        let (refusal, ok, two) =
            (b"\xff\x6c\x0f#42000Loading local data is disabled", &[OK, 0, 0, 2, 0, 0, 0], &[OK, 2, 0, 2, 0, 0, 0]);
        let (wire, theirs) = connection(&[&refusal[..], two, ok, two, ok]);
        let targets = [RowTarget { table: "t".into(), columns: vec!["id", "c"] }].into();
        let connect = BulkConnectMysql::new(MysqlAddress::nowhere(), targets, options());
        assert_eq!(connect.way(), Some("LOAD DATA"));
        let registered = connect.options.open.register(wire.key(), Arc::new(MysqlAddress::nowhere()), wire.socket_fd());
        let (opened, packet_max, is_in_transaction, lines) = (Instant::now(), 1 << 20, false, Vec::new());
        let mut bulk =
            MysqlBulk { opened, connect, packet_max, is_in_transaction, lines, _registered: registered, wire };
        let values = [SqlArg::Int(-1), SqlArg::Text { start: 0, len: 1 }, SqlArg::Int(2), SqlArg::Null];
        for _ in 0..2 {
            bulk.add_rows(0, BlockRows::new(&values, 2, b"'")).unwrap();
        }
        assert_eq!(bulk.connect.way(), Some("INSERT of many rows"));
        let MysqlBulk { wire, .. } = bulk;
        let sent = String::from_utf8_lossy(&received(wire, theirs)).into_owned();
        let statements: Vec<&str> =
            sent.split("\0\0\0\u{3}").map(|part| part.trim_end_matches(|c: char| c != ')' && c != 'T')).collect();
        let insert = "INSERT INTO `t` (`id`, `c`) VALUES ((-1),\'\'\'\'),(2,NULL)";
        assert_eq!(statements[2..], [insert, "COMMIT", insert, "COMMIT"]);
        assert!(statements[1].starts_with("LOAD DATA"), "{sent:?}");
    }

    #[test]
    fn rows_and_warnings_are_those_of_the_answer() {
        let taken = |body: &[u8]| TakenRows::from_ok(body).map(|taken| (taken.rows, taken.warnings));
        assert_eq!(taken(&[OK, 0xfc, 0x88, 0x13, 0, 2, 0, 3, 1]), Some((5000, 259)));
        for malformed in [&[OK][..], &[OK, 1, 0, 2, 0], &[OK, 1, 0, 8, 0, 0, 0], &[LOCAL_FILE, 1, 0, 2, 0, 0, 0]] {
            assert_eq!(taken(malformed), None, "{malformed:?}");
        }
    }

    #[test]
    fn a_statement_names_the_columns_and_every_special_character() {
        let target = RowTarget { table: "a`b".into(), columns: vec!["id", "order"] };
        assert_eq!(
            load_statement(&target),
            "LOAD DATA LOCAL INFILE 'plimsoll' INTO TABLE `a``b` CHARACTER SET latin1 FIELDS TERMINATED BY X'09' ESCAPED BY X'5C' \
             LINES TERMINATED BY X'0A' (`id`, `order`)"
        );
        assert_eq!(insert_beginning(&target), "INSERT INTO `a``b` (`id`, `order`) VALUES ");
    }
}
