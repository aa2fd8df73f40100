//! PostgreSQL's plain log (`log_destination = stderr` or `syslog`): lines with a `log_line_prefix`.
//!
//! In: lines. Out: records. The lines behind the first of a message begin with a tab, and what belongs to a message (`DETAIL`,
//! `STATEMENT`, ...) has the prefix again. Limits: without a setting from the user, prefixes are tried that many servers have. A line that is
//! of no record is dropped: other programs write to the same file. If the end of the file cuts a line off, its record is left out.

use super::super::lines::{LINE_BYTES_MAX, Lines};
use super::super::recording::shown;
use super::prefix::{Prefix, Prefixed};
use super::record::Record;
use super::sessions::Sessions;
use super::syslog::SyslogHead;
use crate::recording_error::RecordingError;
use std::collections::VecDeque;
use std::io::BufRead;

/// How many records may stand between a message in syslog and what belongs to it.
const PENDING_MAX: usize = 64;
const PENDING_BYTES_MAX: usize = LINE_BYTES_MAX;

/// Whether `line` is of such a log.
pub(super) fn is_line(line: &str) -> bool {
    has_severity(SyslogHead::of(line).map_or(line, |head| head.text))
}

/// Reads all records into `sessions`, in their order.
pub(super) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    log_line_prefix: &str,
    sessions: &mut Sessions<'_>,
) -> Result<(), RecordingError> {
    let mut reader = Reader::new(log_line_prefix)?;
    while let Some(line) = lines.next_line()? {
        if !lines.is_whole() {
            reader.cut_off(&line);
            break;
        }
        if !reader.read_line(&line, lines.number())? {
            sessions.skip("line of another program", lines.number());
        }
        while reader.pending.len() > PENDING_MAX || reader.bytes() > PENDING_BYTES_MAX {
            sessions.take(&reader.pending.pop_front().expect("there are some").record)?;
        }
    }
    reader.pending.iter().try_for_each(|pending| sessions.take(&pending.record))
}

/// A record to which more lines may belong.
struct Pending {
    record: Record,
    /// Where its next line belongs.
    part: MessagePart,
    process: String,
}

#[derive(Clone, Copy, PartialEq)]
enum MessagePart {
    Message,
    Detail,
    Context,
    Statement,
    Other,
}

struct Reader {
    /// The prefix that the user has named.
    of_user: Option<Prefix>,
    /// Whose prefix the line before had.
    last: usize,
    pending: VecDeque<Pending>,
}

impl Reader {
    fn new(log_line_prefix: &str) -> Result<Reader, RecordingError> {
        let of_user = if log_line_prefix.is_empty() { None } else { Some(Prefix::of_user(log_line_prefix)?) };
        Ok(Reader { of_user, last: 0, pending: VecDeque::new() })
    }

    fn bytes(&self) -> usize {
        let texts = |Record { message, detail, context, statement, .. }: &Record| {
            [message, detail, context, statement].map(String::len).into_iter().sum::<usize>()
        };
        self.pending.iter().map(|pending| texts(&pending.record)).sum()
    }

    /// Takes a line up; whether it is of a record.
    fn read_line(&mut self, line: &str, number: u64) -> Result<bool, RecordingError> {
        match SyslogHead::of(line) {
            // rsyslog writes a tab and a CR as their numbers.
            Some(head) => {
                let text = head.text.replace("#011", "\t").replace("#015", "\r");
                self.read_text(&text, Some(&head), number)
            }
            None => self.read_text(line, None, number),
        }
    }

    fn read_text(&mut self, text: &str, head: Option<&SyslogHead<'_>>, number: u64) -> Result<bool, RecordingError> {
        if let Some(more) = text.strip_prefix('\t') {
            self.continue_record(&["\n", more], head, number)?;
        } else if let Some((nth, found)) = self.without_prefix(text, head) {
            self.last = nth;
            self.take_line(found, head, number);
        } else if head.is_some_and(|head| head.part > 1) {
            // A long line goes on.
            self.continue_record(&[text], head, number)?;
        } else if has_severity(text) {
            self.of_user.as_ref().filter(|_| head.is_none()).map_or(Ok(()), Prefix::check_complete)?;
            return Err(unknown_prefix(number, text, self.of_user.as_ref()));
        } else {
            // What goes on behind it is not of the record before.
            if let Some(last) = self.pending.back_mut() {
                last.part = MessagePart::Other;
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// `text` without its prefix: the one of the line before, or another one if the setting was changed.
    fn without_prefix<'a>(&self, text: &'a str, head: Option<&SyslogHead<'_>>) -> Option<(usize, Prefixed<'a>)> {
        if !text.contains(":  ") {
            return None;
        }
        let prefixes = match &self.of_user {
            Some(prefix) => std::slice::from_ref(prefix),
            None => Prefix::well_known(head.is_some()),
        };
        let order = std::iter::once(self.last).chain((0..prefixes.len()).filter(|nth| *nth != self.last));
        order.filter(|nth| *nth < prefixes.len()).find_map(|nth| Some((nth, prefixes[nth].of(text, head)?)))
    }

    fn take_line(&mut self, found: Prefixed<'_>, head: Option<&SyslogHead<'_>>, number: u64) {
        let part = match found.severity {
            "DETAIL" => MessagePart::Detail,
            "CONTEXT" => MessagePart::Context,
            "STATEMENT" => MessagePart::Statement,
            "HINT" | "QUERY" | "LOCATION" | "BACKTRACE" => MessagePart::Other,
            severity => {
                let process = head.map_or(String::new(), |head| head.process.to_owned());
                let record = Record {
                    line: number,
                    at: found.at,
                    session: found.session,
                    is_process: found.is_process,
                    database: found.database.to_owned(),
                    ends_statement: super::record::is_error(severity),
                    ends_session: super::record::is_fatal(severity),
                    message: without_sqlstate(found.text).to_owned(),
                    detail: String::new(),
                    context: String::new(),
                    statement: String::new(),
                };
                self.pending.push_back(Pending { record, part: MessagePart::Message, process });
                return;
            }
        };
        if let Some(pending) = self.pending.iter_mut().rfind(|pending| pending.record.session == found.session) {
            pending.part = part;
            match part {
                MessagePart::Detail => found.text.clone_into(&mut pending.record.detail),
                MessagePart::Context => found.text.clone_into(&mut pending.record.context),
                MessagePart::Statement => found.text.clone_into(&mut pending.record.statement),
                MessagePart::Message | MessagePart::Other => {}
            }
        }
    }

    /// Adds to the record that the line before belongs to.
    fn continue_record(
        &mut self,
        more: &[&str],
        head: Option<&SyslogHead<'_>>,
        number: u64,
    ) -> Result<(), RecordingError> {
        let is_same = |pending: &&mut Pending| head.is_none_or(|head| head.process == pending.process);
        let Some(pending) = self.pending.iter_mut().rfind(is_same) else { return Ok(()) };
        let text = match pending.part {
            MessagePart::Message => &mut pending.record.message,
            MessagePart::Detail => &mut pending.record.detail,
            MessagePart::Context => &mut pending.record.context,
            MessagePart::Statement => &mut pending.record.statement,
            MessagePart::Other => return Ok(()),
        };
        more.iter().for_each(|more| text.push_str(more));
        if text.len() > LINE_BYTES_MAX {
            return Err(RecordingError::at(number, "the record has more than 64 MiB"));
        }
        Ok(())
    }

    /// Drops the record that a line without its end goes on with.
    fn cut_off(&mut self, line: &str) {
        let head = SyslogHead::of(line);
        let text = head.as_ref().map_or(line, |head| head.text);
        let goes_on = match self.without_prefix(text, head.as_ref()) {
            Some((_, found)) => !is_severity(found.severity),
            None => text.starts_with('\t') || head.as_ref().is_some_and(|head| head.part > 1),
        };
        let of_line = |pending: &Pending| head.as_ref().is_none_or(|head| head.process == pending.process);
        if let Some(nth) = self.pending.iter().rposition(of_line).filter(|_| goes_on) {
            self.pending.remove(nth);
        }
    }
}

/// A message without the `00000: ` that `log_error_verbosity = verbose` puts before it.
fn without_sqlstate(message: &str) -> &str {
    let state = message.split_once(": ").filter(|(state, _)| {
        state.len() == 5 && state.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    });
    state.map_or(message, |(_, rest)| rest)
}

/// What `error_severity` of `elog.c` writes.
fn is_severity(word: &str) -> bool {
    matches!(word.trim_end_matches(|c: char| c.is_ascii_digit()), "DEBUG")
        || matches!(word, "LOG" | "INFO" | "NOTICE" | "WARNING" | "ERROR" | "FATAL" | "PANIC")
}

/// Whether `text` has a severity somewhere, as a line of a record has behind its prefix.
fn has_severity(text: &str) -> bool {
    let text = &text[..text.floor_char_boundary(2_000)];
    text.match_indices(":  ").any(|(at, _)| {
        let word = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        is_severity(word) || matches!(word, "DETAIL" | "STATEMENT" | "HINT" | "CONTEXT")
    })
}

fn unknown_prefix(number: u64, line: &str, of_user: Option<&Prefix>) -> RecordingError {
    let text = shown(line);
    let text = match of_user {
        Some(prefix) => format!("`{text}` does not begin with log_line_prefix = `{}`", shown(prefix.written())),
        None => format!(
            "`{text}` is of PostgreSQL's log, but its log_line_prefix is not known: set log_line_prefix to what the recorded server answers \
             to `SHOW log_line_prefix`; it must have a time (`%m`) and a session (`%p` or `%c`)"
        ),
    };
    RecordingError::at(number, text)
}
