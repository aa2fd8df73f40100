//! The slow log and the general log of MySQL and MariaDB.
//!
//! In: lines. Out: statements for a [`RecordingBuilder`]. Limits: logs in files, not in tables. MariaDB writes whole seconds; MySQL from 5.7 on
//! writes microseconds. In the general log only Query and Execute are statements; a line of Prepare has no values.

use super::lines::Lines;
use super::recording::{FoundStatement, RecordedServer, RecordingBuilder, shown};
use super::{LogDialect, LogWanted, SqlRecording};
use crate::recording_error::RecordingError;
use std::collections::HashMap;
use std::io::BufRead;

/// Whether `line` is the first of a log of either kind: the head that a server writes when it opens the file, or an entry.
pub(super) fn is_first_line(line: &str) -> bool {
    line.ends_with("started with:")
        || line.starts_with("# Time: ")
        || line.starts_with("# User@Host: ")
        || GeneralLine::parse(line, None).is_some()
}

/// Reads a log.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, wanted: &LogWanted) -> Result<SqlRecording, RecordingError> {
    let mut reader = Reader {
        builder: RecordingBuilder::new(LogDialect::Mysql, wanted),
        server: RecordedServer::default(),
        clock_us: None,
        schemas: HashMap::new(),
        has_fractions: false,
        is_cut: None,
    };
    while let Some(line) = lines.next_line()? {
        reader.read_entry(&line, lines)?;
    }
    if let Some(line) = reader.is_cut {
        return Err(RecordingError::at(line, "the log is cut off here: the statement of this entry is not complete"));
    }
    let mut builder = reader.builder;
    builder.set_server(reader.server);
    builder.finish(!reader.has_fractions)
}

struct Reader {
    builder: RecordingBuilder,
    server: RecordedServer,
    /// The last time that the log named.
    clock_us: Option<i64>,
    /// The schema of each session.
    schemas: HashMap<String, String>,
    has_fractions: bool,
    /// The line of an entry without its end.
    is_cut: Option<u64>,
}

impl Reader {
    fn read_entry<R: BufRead>(&mut self, line: &str, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        if line.ends_with("started with:") {
            return self.read_head(line, lines);
        }
        if line.starts_with("# ") && !line.starts_with("# administrator command") {
            return self.read_slow_entry(line, lines);
        }
        if line.is_empty() {
            return Ok(());
        }
        self.read_general_entry(line, lines)
    }

    /// `mariadbd, Version: 10.11.6-MariaDB ... started with:`, and two lines more.
    fn read_head<R: BufRead>(&mut self, line: &str, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        let version = line.split("Version: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        self.server = RecordedServer { version: version.unwrap_or_default().to_owned(), ..RecordedServer::default() };
        if let Some(ports) = lines.next_line()? {
            let of = |key: &str| ports.split(key).nth(1).map(|rest| rest.split("  ").next().unwrap_or_default().trim());
            self.server.port = of("Tcp port:").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
            self.server.socket = of("Unix socket:").filter(|path| !path.is_empty()).map(str::to_owned);
        }
        lines.next_line().map(drop)
    }

    /// An entry of the slow log: lines that begin with `#`, then the statement.
    fn read_slow_entry<R: BufRead>(&mut self, first: &str, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        let start = lines.number();
        let mut entry = SlowEntry::default();
        let mut line = Some(first.to_owned());
        while let Some(text) = line.as_deref().filter(|line| line.starts_with('#')) {
            if text.starts_with("# administrator command") {
                return Ok(());
            }
            self.read_slow_head(text, lines.number(), &mut entry)?;
            line = lines.next_line()?;
        }
        let mut statement = String::new();
        let mut began = None;
        while let Some(text) = line {
            let is_next = is_next_slow_entry(&text) && ends_statement(&statement)
                || text.ends_with("started with:") && statement.trim_end().ends_with(';');
            if is_next {
                lines.put_back();
                break;
            }
            if statement.is_empty() && text.starts_with("use ") && text.ends_with(';') {
                entry.schema = Some(text[4..text.len() - 1].trim().trim_matches('`').to_owned());
            } else if let Some(at) = timestamp_of(&text).filter(|_| statement.is_empty()) {
                began = Some(at);
            } else {
                if !statement.is_empty() {
                    statement.push('\n');
                }
                statement.push_str(&text);
            }
            line = lines.next_line()?;
        }
        if statement.trim().is_empty() && began.is_none() && entry.took_us.is_none() {
            // A time alone, as MySQL writes it before a rotation.
            return Ok(());
        }
        if !statement.trim_end().ends_with(';') {
            self.is_cut = Some(start);
            return Ok(());
        }
        if statement.starts_with("# administrator command") {
            return Ok(());
        }
        self.add_slow(start, entry, began, &statement)
    }

    fn add_slow(
        &mut self,
        line: u64,
        entry: SlowEntry,
        began: Option<(i64, bool)>,
        text: &str,
    ) -> Result<(), RecordingError> {
        // MySQL's `# Time` has microseconds and is when the statement ended; MariaDB's has seconds. SET timestamp is when it began.
        let exact = self
            .clock_us
            .filter(|_| entry.has_exact_time)
            .zip(entry.took_us)
            .map(|(end, took)| end.saturating_sub(took as i64));
        let began_us = match (exact, began) {
            (Some(us), _) => us,
            (None, Some((us, has_fraction))) => {
                self.has_fractions |= has_fraction;
                us
            }
            (None, None) => self.clock_us.ok_or_else(|| RecordingError::at(line, "the entry has no time"))?,
        };
        self.has_fractions |= exact.is_some();
        let session = entry.session.unwrap_or_default();
        let known = self.schemas.entry(session.clone()).or_default();
        if let Some(schema) = entry.schema {
            *known = schema;
        }
        let schema = known.clone();
        let found = FoundStatement { line, began_us, took_us: entry.took_us, session: &session, schema: &schema, text };
        self.builder.add(&found)
    }

    fn read_slow_head(&mut self, line: &str, number: u64, entry: &mut SlowEntry) -> Result<(), RecordingError> {
        let wrong = |what: &str| {
            RecordingError::at(
                number,
                format!("`{}` has no {what}; it may be cut off, or of another version", shown(line)),
            )
        };
        if let Some(time) = line.strip_prefix("# Time: ") {
            let (us, has_fraction) = parse_time(time.trim()).ok_or_else(|| wrong("time"))?;
            (self.clock_us, entry.has_exact_time) = (Some(us), has_fraction);
        } else if line.starts_with("# User@Host: ") {
            entry.session = field(line, "Id:").map(str::to_owned);
        } else if line.starts_with("# Thread_id: ") {
            entry.session = Some(field(line, "Thread_id:").ok_or_else(|| wrong("number of its session"))?.to_owned());
            entry.schema = field(line, "Schema:").filter(|schema| *schema != "QC_hit:").map(str::to_owned);
        } else if line.starts_with("# Query_time: ") {
            let seconds: f64 =
                field(line, "Query_time:").and_then(|text| text.parse().ok()).ok_or_else(|| wrong("duration"))?;
            entry.took_us = Some((seconds.clamp(0.0, 1e9) * 1e6).round() as u64);
        }
        Ok(())
    }

    /// An entry of the general log.
    fn read_general_entry<R: BufRead>(&mut self, line: &str, lines: &mut Lines<R>) -> Result<(), RecordingError> {
        let number = lines.number();
        let no_line = || {
            RecordingError::at(
                number,
                format!("`{}` is no line of a slow or general log; it may be cut off", shown(line)),
            )
        };
        let entry = GeneralLine::parse(line, self.clock_us).ok_or_else(no_line)?;
        self.has_fractions |= entry.has_fraction;
        self.clock_us = Some(entry.us);
        let mut argument = entry.argument.to_owned();
        while let Some(more) = lines.next_line()? {
            if GeneralLine::parse(&more, self.clock_us).is_some() || more.ends_with("started with:") {
                lines.put_back();
                break;
            }
            argument.push('\n');
            argument.push_str(&more);
        }
        if !lines.is_whole() && matches!(entry.command, "Query" | "Execute") {
            self.is_cut = Some(number);
            return Ok(());
        }
        let session = entry.session.to_owned();
        let known = self.schemas.entry(session.clone()).or_default();
        match entry.command {
            "Init DB" => argument.trim().clone_into(known),
            "Connect" => *known = schema_of_connect(&argument).to_owned(),
            "Query" | "Execute" => {
                if let Some(schema) = schema_of_use(&argument) {
                    *known = schema.to_owned();
                    return Ok(());
                }
                let schema = known.clone();
                let found = FoundStatement {
                    line: number,
                    began_us: entry.us,
                    took_us: None,
                    session: &session,
                    schema: &schema,
                    text: &argument,
                };
                self.builder.add(&found)?;
            }
            "Quit" => drop(self.schemas.remove(&session)),
            _ => {}
        }
        Ok(())
    }
}

/// What the lines before a statement of the slow log hold.
#[derive(Default)]
struct SlowEntry {
    session: Option<String>,
    schema: Option<String>,
    took_us: Option<u64>,
    /// Whether its own `# Time` has fractions.
    has_exact_time: bool,
}

/// Whether `line` begins the next entry of a slow log. A line of a statement may look like one: what comes before must be complete.
fn is_next_slow_entry(line: &str) -> bool {
    line.starts_with("# Time: ") || line.starts_with("# User@Host: ")
}

/// Whether `statement` may be complete: it ends with the `;` that the log adds, or nothing was read yet.
fn ends_statement(statement: &str) -> bool {
    statement.is_empty() || statement.trim_end().ends_with(';')
}

/// `1700000000` of `SET timestamp=1700000000;`, in microseconds, and whether it has a fraction. The server may set more there:
/// `SET last_insert_id=9,insert_id=10,timestamp=1700000000;`.
fn timestamp_of(line: &str) -> Option<(i64, bool)> {
    let set = line.strip_prefix("SET ")?.strip_suffix(';')?;
    let text = set.split(',').find_map(|one| one.trim().strip_prefix("timestamp="))?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let us = fraction_us(fraction)?;
    Some((seconds.checked_mul(1_000_000)?.checked_add(us)?, !fraction.is_empty()))
}

/// Microseconds of the digits behind a point.
fn fraction_us(digits: &str) -> Option<i64> {
    if digits.is_empty() {
        return Some(0);
    }
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    six.parse().ok().filter(|_| digits.chars().all(|c| c.is_ascii_digit()))
}

/// The word behind `key` in `line`.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(key).nth(1)?.split_whitespace().next()
}

/// A time: `261128  3:16:29`, or `2023-11-28T02:30:17.123456Z`. In microseconds, and whether it has a fraction. One without a zone is taken
/// as it is, because only distances count.
fn parse_time(text: &str) -> Option<(i64, bool)> {
    let (date, clock) = text.split_once(['T', ' '])?;
    let (year, month, day) = match date.len() {
        6 => (2000 + digits(date.get(..2)?)?, digits(date.get(2..4)?)?, digits(date.get(4..)?)?),
        _ => {
            let mut parts = date.splitn(3, '-').map(digits);
            (parts.next()??, parts.next()??, parts.next()??)
        }
    };
    let clock = clock.trim();
    let end = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, fraction) = clock[..end].split_once('.').unwrap_or((&clock[..end], ""));
    let mut parts = clock.splitn(3, ':').map(|part| digits(part.trim()));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let days = super::days_since_1970(year, month, day)?;
    let in_day = hour * 3_600 + minute * 60 + second;
    (hour < 24 && minute < 60 && second < 61).then_some(())?;
    Some(((days * 86_400 + in_day) * 1_000_000 + fraction_us(fraction)?, !fraction.is_empty()))
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// A line of the general log that begins an entry.
struct GeneralLine<'a> {
    us: i64,
    has_fraction: bool,
    session: &'a str,
    command: &'a str,
    argument: &'a str,
}

/// The commands of an entry: a line of a statement seldom has one at this place.
const COMMANDS: [&str; 24] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Change user",
    "Binlog Dump",
    "Table Dump",
    "Connect Out",
    "Prepare",
    "Execute",
    "Close stmt",
    "Reset stmt",
    "Reset connection",
];

impl<'a> GeneralLine<'a> {
    /// `261128  3:16:29\t     3 Connect\troot@localhost on  using Socket`; `\t\t     3 Query\tselect 1` at the time of the line before.
    fn parse(line: &'a str, clock_us: Option<i64>) -> Option<GeneralLine<'a>> {
        let (time, rest) = line.split_once('\t')?;
        let rest = rest.strip_prefix('\t').filter(|_| time.is_empty()).unwrap_or(rest);
        let (us, has_fraction) = if time.is_empty() { (clock_us?, false) } else { parse_time(time)? };
        let rest = rest.trim_start_matches(' ');
        let (session, rest) = rest.split_once(' ')?;
        (!session.is_empty() && session.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
        let (command, argument) = rest.split_once('\t').unwrap_or((rest, ""));
        COMMANDS.contains(&command.trim()).then_some(GeneralLine {
            us,
            has_fraction,
            session,
            command: command.trim(),
            argument,
        })
    }
}

/// `shop` of `root@localhost on shop using Socket`.
fn schema_of_connect(argument: &str) -> &str {
    let after = argument.split(" on ").nth(1).unwrap_or_default();
    after.split(" using ").next().unwrap_or_default().trim()
}

/// `shop` of `use shop`.
fn schema_of_use(text: &str) -> Option<&str> {
    let (word, rest) = text.trim().split_once(char::is_whitespace)?;
    let name = rest.trim().trim_end_matches(';').trim().trim_matches('`');
    (word.eq_ignore_ascii_case("use") && !name.contains(char::is_whitespace)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(text: &str) -> Result<SqlRecording, String> {
        read(&mut Lines::new(text.as_bytes()), &LogWanted::default()).map_err(|error| error.to_string())
    }

    /// Each statement with its time in milliseconds, its session and its schema.
    fn told(recording: &SqlRecording) -> Vec<String> {
        let all = recording.statements().iter();
        all.map(|it| {
            format!("{} {} {}: {}", it.due.0 / 1_000_000, it.session, recording.schema(it.schema), recording.text(it))
        })
        .collect()
    }

    const SLOW: &str = include_str!("../../tests/fixtures/mariadb-slow.log");

    #[test]
    fn a_slow_log_of_mariadb_has_sessions_schemas_and_whole_seconds() {
        let recording = recording(SLOW).unwrap();
        assert_eq!(
            told(&recording),
            ["0 0 : select 1", "500 1 shop: select \"multi\n# Query_time: 1\nline\"", "1000 1 shop: select * from t"]
        );
        assert!(recording.has_whole_seconds && recording.left_out.writes == 1);
        let server = &recording.server;
        assert_eq!(
            (server.version.as_str(), server.port, server.socket.as_deref()),
            ("10.11.19-MariaDB-0+deb12u1-log", Some(33_991), Some("/tmp/s"))
        );
    }

    #[test]
    fn a_slow_log_of_mysql_has_microseconds_of_the_end() {
        let entry = |second: &str, id: u32, took: &str, text: &str| {
            format!(
                "# Time: 2023-11-28T02:30:{second}Z\n# User@Host: a[a] @ localhost []  Id: {id:>5}\n# Query_time: {took}  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1701138617;\n{text};\n"
            )
        };
        let text =
            [entry("17.500000", 8, "0.400000", "select 1"), entry("17.600000", 9, "0.100000", "select 2")].concat();
        let recording = recording(&text).unwrap();
        assert_eq!(told(&recording), ["0 0 : select 1", "400 1 : select 2"]);
        assert!(!recording.has_whole_seconds);
    }

    const GENERAL: &str = include_str!("../../tests/fixtures/mariadb-general.log");

    #[test]
    fn a_general_log_has_statements_of_several_lines_and_follows_the_schema() {
        let recording = recording(GENERAL).unwrap();
        assert_eq!(
            told(&recording),
            [
                "0 0 : select 1",
                "333 0 shop: select * from t\n where c = 'a;b'",
                "666 0 shop: select * from t where id=2",
                "1000 1 other: select 2"
            ]
        );
        assert_eq!((recording.left_out.repeated, recording.server.port), (1, None));
    }

    #[test]
    fn a_log_that_is_cut_or_of_another_kind_is_refused_with_its_line() {
        let cut = recording(&SLOW[..SLOW.len() - 10]).unwrap_err();
        assert_eq!(cut, "line 25: the log is cut off here: the statement of this entry is not complete");
        let cut = recording(&GENERAL[..GENERAL.len() - 18]).unwrap_err();
        assert!(cut.starts_with("line 14: the log is cut off"), "{cut}");
        let other = recording("261128  3:16:29\t     4 Connect\troot@localhost on  using Socket\nwhat is this\n");
        assert!(other.unwrap_err().contains("no statement to replay"), "a line of the entry before");
        assert!(
            recording("what is this\n")
                .unwrap_err()
                .starts_with("line 1: `what is this` is no line of a slow or general log")
        );
        let time = recording("# Time: yesterday\n").unwrap_err();
        assert_eq!(time, "line 1: `# Time: yesterday` has no time; it may be cut off, or of another version");
    }
}
