//! The slow log: each statement when it has ended, behind a head of lines that begin with `# `.
//!
//! In: lines. Out: statements with their sessions, schemas, beginnings and durations. Limits: what the log does not say is guessed as little
//! as possible: without the number of a session (MySQL 5.5), statements of one account that overlap are of several. A text that has the
//! head of an entry in quotes is read as one text, if the quote ends within [`AHEAD_LINES`].

use super::super::answer::RecordedAnswer;
use super::super::lines::Lines;
use super::super::log_taker::FoundStatement;
use super::super::recording::shown;
use super::general::schema_of_use;
use super::times::{Moment, parse_seconds, parse_time};
use super::{CUT_OFF, NO_TIME, Reader, TOO_LONG, add_line, is_server_head, is_too_long, sendable};
use crate::recording_error::RecordingError;
use sql::Letters;
use std::collections::HashMap;
use std::io::BufRead;

const TIME: &str = "# Time: ";
const USER: &str = "# User@Host: ";
const COMMAND: &str = "# administrator command: ";
/// How far the end of a quote is looked for.
const AHEAD_LINES: usize = 500;
const AHEAD_BYTES: usize = 64 << 10;
/// A longer duration is none: a clock that was set back under a statement made it.
const TOOK_US_MAX: f64 = 365.0 * 86_400e6;
const QUARTER_US: i64 = 15 * 60_000_000;
/// No zone is further from UTC.
const ZONE_US_MAX: i64 = 15 * 3_600_000_000;
/// The statements of one account at once, where the log has no sessions.
const AT_ONCE_MAX: usize = 10_000;

/// Whether `line` may be the first of an entry.
pub(super) fn is_head_line(line: &str) -> bool {
    line.starts_with(TIME) || line.starts_with(USER)
}

/// MariaDB has lines with the sign alone around those of EXPLAIN.
fn is_in_head(line: &str) -> bool {
    line == "#" || line.starts_with("# ") && !line.starts_with(COMMAND)
}

/// What the entries before have said.
#[derive(Default)]
pub(super) struct SlowState {
    /// The last `# Time`, which the next entries of the same second leave out.
    clock: Option<Moment>,
    /// How much earlier than UTC a time without a zone is.
    zone_us: i64,
    /// The schema of the last `use`: the server writes one if the next statement was in another, whosever it is.
    schema: String,
    /// When the last statement of each session of an account ended, if the log does not number them.
    ends: HashMap<String, Vec<i64>>,
    /// The character sets that sessions have set.
    letters: HashMap<String, Letters>,
}

impl SlowState {
    /// The file was opened again: the server writes `use` again.
    pub(super) fn forget_schema(&mut self) {
        self.schema.clear();
    }

    /// The character set of `session` behind its `statement`.
    fn letters_of(&mut self, session: &str, statement: &str) -> Letters {
        if let Some(letters) = Letters::set_by(statement) {
            self.letters.insert(session.to_owned(), letters);
        }
        self.letters.get(session).copied().unwrap_or_default()
    }

    /// When a statement began; `None` if neither its own time nor that of the entries before can be read.
    fn began(&mut self, entry: &SlowEntry) -> Option<Moment> {
        let took_us = entry.took_us.unwrap_or(0) as i64;
        if let Some(end) = entry.time {
            self.learn_zone(end, entry.set, took_us);
            self.clock = Some(end);
        }
        let Some(clock) = self.clock else { return entry.set };
        let zone_us = if clock.has_zone { 0 } else { self.zone_us };
        let ended_us = clock.us.saturating_add(zone_us);
        // MySQL's `# Time` has microseconds and is when the statement ended; MariaDB's has seconds. SET timestamp is when it began, unless
        // the session has set it to another time of its own.
        let is_own = |set: &Moment| (set.us + took_us - ended_us).abs() > ZONE_US_MAX;
        match entry.set.filter(|set| !clock.has_fraction && !is_own(set)) {
            Some(set) => Some(set),
            None if clock.has_fraction => Some(Moment { us: ended_us - took_us, ..clock }),
            None => Some(Moment { us: (ended_us - took_us).div_euclid(1_000_000) * 1_000_000, ..clock }),
        }
    }

    fn learn_zone(&mut self, end: Moment, set: Option<Moment>, took_us: i64) {
        let Some(set) = set.filter(|_| !end.has_zone) else { return };
        let zone_us = (set.us + took_us - end.us + QUARTER_US / 2).div_euclid(QUARTER_US) * QUARTER_US;
        if zone_us.abs() <= ZONE_US_MAX {
            self.zone_us = zone_us;
        }
    }

    /// A session of `account` that had ended its last statement when this one began.
    fn session_of_account(&mut self, account: &str, began_us: i64, took_us: u64) -> String {
        let ends = self.ends.entry(account.to_owned()).or_default();
        let nth = ends.iter().position(|end| *end <= began_us).unwrap_or(ends.len()).min(AT_ONCE_MAX);
        if nth == ends.len() {
            ends.push(began_us);
        }
        ends[nth] = began_us.saturating_add_unsigned(took_us);
        format!("{account}/{nth}")
    }
}

/// What the lines before a statement hold.
#[derive(Default)]
struct SlowEntry {
    line: u64,
    account: Option<String>,
    session: Option<String>,
    schema: Option<String>,
    took_us: Option<u64>,
    /// Its own `# Time`.
    time: Option<Moment>,
    /// `SET timestamp`.
    set: Option<Moment>,
    has_bad_time: bool,
    is_internal: bool,
    answer: RecordedAnswer,
    /// A `use` that is either the log's, before a statement, or the statement.
    used: Option<String>,
    statement: String,
}

impl Reader<'_> {
    /// An entry: its head, then the statement.
    pub(super) fn read_slow_entry<R: BufRead>(
        &mut self,
        first: String,
        lines: &mut Lines<R>,
    ) -> Result<(), RecordingError> {
        let mut entry = SlowEntry { line: lines.number(), ..SlowEntry::default() };
        let mut line = Some(first);
        while let Some(text) = line.take_if(|line| is_in_head(line)) {
            let begins_another = text.starts_with(USER) && entry.account.is_some()
                || text.starts_with(TIME) && (entry.account.is_some() || entry.took_us.is_some());
            if begins_another {
                self.taker.skip(CUT_OFF, entry.line);
                entry = SlowEntry { line: lines.number(), ..SlowEntry::default() };
            }
            self.read_head_line(&text, lines.number(), &mut entry);
            line = lines.next_line()?;
        }
        while let Some(text) = line {
            if is_next_entry(&text, &entry.statement, lines)? {
                lines.put_back();
                break;
            }
            entry.add_line(&text);
            line = lines.next_line()?;
        }
        self.take_entry(entry)
    }

    fn read_head_line(&mut self, line: &str, number: u64, entry: &mut SlowEntry) {
        if let Some(time) = line.strip_prefix(TIME) {
            entry.time = parse_time(time);
            entry.has_bad_time = entry.time.is_none();
        } else if let Some(account) = line.strip_prefix(USER) {
            let (account, id) = account.rsplit_once("Id:").unwrap_or((account, ""));
            entry.account = Some(account.trim().to_owned());
            entry.session = entry.session.take().or_else(|| number_in(id));
        }
        for key in ["Thread_id:", "Conn_ID:", "Conn_id:"] {
            if let Some(id) = value_of(line, key).and_then(number_in) {
                entry.session = Some(id);
            }
        }
        if let Some(schema) = value_of(line, "Schema:").or_else(|| line.strip_prefix("# DB: ")) {
            entry.schema = Some(schema.split("  ").next().unwrap_or_default().trim().to_owned());
        }
        if let Some(took) = value_of(line, "Query_time:") {
            let seconds: Option<f64> = took.split_whitespace().next().and_then(|word| word.parse().ok());
            let us = seconds.map(|seconds| (seconds * 1e6).round());
            match us.filter(|us| (0.0..TOOK_US_MAX).contains(us)) {
                Some(us) => entry.took_us = Some(us as u64),
                None => self.taker.skip("duration that cannot be", number),
            }
        }
        let number = |key: &str| value_of(line, key).and_then(number_in)?.parse().ok();
        let answer = &mut entry.answer;
        answer.sent = answer.sent.or_else(|| number("Rows_sent:"));
        answer.affected = answer.affected.or_else(|| number("Rows_affected:"));
        let code: Option<u64> = number("Errno:").or_else(|| number("Last_errno:"));
        answer.failed = answer.failed.or(code.map(|code| code != 0));
        entry.is_internal |= line.starts_with("# Is_internal: true");
    }

    fn take_entry(&mut self, mut entry: SlowEntry) -> Result<(), RecordingError> {
        if let Some(used) = entry.used.take() {
            if entry.statement.is_empty() {
                entry.statement = used;
            } else {
                self.slow.schema = schema_of_use(&used).unwrap_or_default();
            }
        }
        let text = entry.statement.trim();
        if text.is_empty() && entry.account.is_none() && entry.took_us.is_none() && !entry.has_bad_time {
            // A time alone, as MySQL writes it before a rotation.
            return Ok(());
        }
        let skipped = match text.strip_prefix(COMMAND) {
            Some(command) => Some(format!("command {}", shown(command.trim_end_matches(';')))),
            None if is_too_long(text) => Some(TOO_LONG.to_owned()),
            None if !text.ends_with(';') => Some(CUT_OFF.to_owned()),
            None if entry.has_bad_time => Some(NO_TIME.to_owned()),
            None if entry.is_internal => Some("statement of the server itself".to_owned()),
            None if is_shortened(text) => Some("statement that the log has shortened".to_owned()),
            None => None,
        };
        match (skipped, self.slow.began(&entry)) {
            (Some(kind), _) => {
                self.taker.skip(&kind, entry.line);
                match entry.session.filter(|_| kind == "command Quit") {
                    Some(session) => {
                        self.slow.letters.remove(&session);
                        self.taker.end_session(&session)
                    }
                    None => Ok(()),
                }
            }
            (None, None) => {
                self.taker.skip(NO_TIME, entry.line);
                Ok(())
            }
            (None, Some(began)) => self.take_slow_statement(&entry, began),
        }
    }

    fn take_slow_statement(&mut self, entry: &SlowEntry, began: Moment) -> Result<(), RecordingError> {
        self.has_fractions |= began.has_fraction;
        if entry.statement.ends_with("];") && entry.statement.contains(" [arguments: ") {
            // TiDB has the values of a prepared statement behind it, not as literals.
            self.taker.count_unbound(1);
            return Ok(());
        }
        if schema_of_use(&entry.statement).is_some() {
            // Each entry behind it says its schema itself.
            self.taker.count_repeated(1);
            return Ok(());
        }
        let took_us = entry.took_us;
        let guessed;
        let session = match &entry.session {
            Some(session) => session,
            None => {
                let account = entry.account.as_deref().unwrap_or_default();
                guessed = self.slow.session_of_account(account, began.us, took_us.unwrap_or(0));
                &guessed
            }
        };
        let letters = self.slow.letters_of(session, &entry.statement);
        let sendable = sendable(&entry.statement, letters, entry.line, self.taker);
        let schema = entry.schema.as_ref().unwrap_or(&self.slow.schema);
        let (line, began_us, text, answer) = (entry.line, began.us, &*sendable, entry.answer);
        self.taker.add(&FoundStatement {
            line,
            began_us,
            took_us,
            session,
            schema,
            text,
            answer,
            ..FoundStatement::default()
        })
    }
}

impl SlowEntry {
    /// A line behind the head: first those that the log adds, then the statement. What comes before `SET timestamp` is no statement: a
    /// warning in the head may have several lines.
    fn add_line(&mut self, line: &str) {
        if self.set.is_none() {
            if let Some(set) = SetLine::parse(line) {
                self.set = Some(set.timestamp);
                (self.answer.made_id, self.answer.last_id) = (set.insert_id, set.last_insert_id);
                self.statement.clear();
                return;
            }
            if self.statement.is_empty() && self.used.is_none() && line.ends_with(';') && schema_of_use(line).is_some()
            {
                self.used = Some(line.to_owned());
                return;
            }
        }
        add_line(&mut self.statement, line);
    }
}

/// Whether the line that was read last, `line`, begins the next entry, and is not of `statement`, which goes before it.
fn is_next_entry<R: BufRead>(line: &str, statement: &str, lines: &mut Lines<R>) -> Result<bool, RecordingError> {
    if is_head_line(line) {
        let goes_on = lines.peek(1)?.is_none_or(|next| next.starts_with(b"#"));
        if !goes_on {
            return Ok(false);
        }
    } else if !is_server_head(line) {
        return Ok(false);
    }
    Ok(is_too_long(statement) || is_closed(statement) || !closes_later(line, statement, lines)?)
}

/// Whether all quotes and comments in `statement` are closed.
fn is_closed(statement: &str) -> bool {
    is_plainly_closed(statement) || sql::tokens(statement, sql::Dialect::Mysql).is_ok()
}

/// What most statements are, and is seen at once: only one sort of quotes, all in pairs, and no comment.
fn is_plainly_closed(statement: &str) -> bool {
    let mut quotes = [0; 3];
    for byte in statement.bytes() {
        match byte {
            b'\'' => quotes[0] += 1,
            b'"' => quotes[1] += 1,
            b'`' => quotes[2] += 1,
            b'\\' | b'*' | b'#' | b'-' => return false,
            _ => {}
        }
    }
    quotes.iter().filter(|count| **count > 0).count() <= 1 && quotes.iter().all(|count| count % 2 == 0)
}

/// Whether the quote or comment that is open in `statement` is closed at the end of one of the next lines. If not, the statement was cut.
fn closes_later<R: BufRead>(line: &str, statement: &str, lines: &mut Lines<R>) -> Result<bool, RecordingError> {
    let limit = statement.len() + AHEAD_BYTES;
    let mut text = [statement, "\n", line].concat();
    for nth in 1..=AHEAD_LINES {
        let Some(next) = lines.peek(nth)? else { return Ok(false) };
        text.push('\n');
        text.push_str(&sql::text_of_bytes(next));
        if text.len() > limit {
            return Ok(false);
        }
        if text.ends_with(';') && is_closed(&text) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The line that the log adds before a statement.
struct SetLine {
    timestamp: Moment,
    last_insert_id: Option<u64>,
    insert_id: Option<u64>,
}

impl SetLine {
    /// `SET timestamp=1700000000;`, or `SET last_insert_id=9,insert_id=1,timestamp=1700000000;`, in any order.
    fn parse(line: &str) -> Option<SetLine> {
        let (mut timestamp, mut last_insert_id, mut insert_id) = (None, None, None);
        for pair in line.strip_prefix("SET ")?.strip_suffix(';')?.split(',') {
            let (name, value) = pair.split_once('=')?;
            let value = value.trim();
            match name.trim() {
                "timestamp" => timestamp = Some(parse_seconds(value)?),
                "last_insert_id" => last_insert_id = Some(value.parse().ok()?),
                "insert_id" => insert_id = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        Some(SetLine { timestamp: timestamp?, last_insert_id, insert_id })
    }
}

/// Whether TiDB has cut a statement: `... (len:12345)` at its end.
fn is_shortened(statement: &str) -> bool {
    let inner = statement.strip_suffix(");").and_then(|rest| rest.rsplit_once("(len:"));
    inner.is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What is behind `key` in `line`, if it is there as a word of its own.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let at = line.find(key)?;
    line[..at].ends_with(' ').then(|| &line[at + key.len()..]).map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// The number that `text` begins with.
fn number_in(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.to_owned())
}
