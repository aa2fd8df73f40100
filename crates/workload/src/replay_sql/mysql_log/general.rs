//! The general log: each command when it arrives.
//!
//! In: lines. Out: the statements of Query and Execute. Limits: Prepare has no values, and Execute repeats it with them; what the server
//! answered is not in this log. Of a file that was begun within a second the first lines have no time: theirs is the first that follows.

use super::super::answer::RecordedAnswer;
use super::super::lines::{LINE_BYTES_MAX, Lines};
use super::super::log_taker::FoundStatement;
use super::times::{Moment, is_like_time, parse_time};
use super::{CUT_OFF, NO_TIME, Reader, TOO_LONG, add_line, is_server_head, is_too_long, sendable};
use crate::recording_error::RecordingError;
use sql::Letters;
use std::collections::HashMap;
use std::io::BufRead;

/// A line that begins an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GeneralLine<'a> {
    /// Empty for that of the line before.
    time: &'a str,
    session: &'a str,
    command: &'a str,
    argument: &'a str,
}

impl<'a> GeneralLine<'a> {
    /// `261128  3:16:29\t     3 Connect\troot@localhost on  using Socket`; `\t\t     3 Query\tselect 1` at the time of the line before. The
    /// number of the session has five places at least, and the command may be any that is written as one.
    pub(super) fn parse(line: &'a str) -> Option<GeneralLine<'a>> {
        let (time, rest) = match line.strip_prefix('\t') {
            Some(rest) => ("", rest.strip_prefix('\t').unwrap_or(rest)),
            None => line.split_once('\t').filter(|(time, _)| is_like_time(time))?,
        };
        let (padded, rest) = rest.split_at_checked(rest.find(|c: char| c.is_ascii_digit())?)?;
        let (session, rest) = rest.split_once(' ')?;
        let is_number = session.bytes().all(|byte| byte.is_ascii_digit()) && session.len() <= 20;
        let is_padded = padded.bytes().all(|byte| byte == b' ') && padded.len() + session.len() >= 5;
        (is_number && is_padded).then_some(())?;
        let (command, argument) = rest.split_once('\t').unwrap_or((rest, ""));
        let command = command.trim();
        is_command(command).then_some(GeneralLine { time, session, command, argument })
    }
}

/// Whether `text` is written as the names of commands are: `Binlog Dump GTID`, `Close stmt`.
fn is_command(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ' || byte == b'_')
}

/// The sessions that are open, by their numbers.
#[derive(Default)]
pub(super) struct GeneralSessions {
    open: HashMap<String, Session>,
    /// How many were begun: a number is used again after a restart.
    begun: u64,
    /// The last time that the log named.
    clock: Option<Moment>,
    /// Whether a first time was looked for, because lines without one come before it.
    has_looked: bool,
}

struct Session {
    name: String,
    schema: String,
    letters: Letters,
}

impl GeneralSessions {
    /// Session `id`, whose beginning the log may not have.
    fn get(&mut self, id: &str) -> &mut Session {
        if !self.open.contains_key(id) {
            self.begin(id, String::new());
        }
        self.open.get_mut(id).expect("it was begun")
    }

    fn begin(&mut self, id: &str, schema: String) {
        self.begun += 1;
        let name = format!("{id}/{}", self.begun);
        self.open.insert(id.to_owned(), Session { name, schema, letters: Letters::Unknown });
    }
}

impl Reader<'_> {
    pub(super) fn read_general_entry<R: BufRead>(
        &mut self,
        line: &str,
        lines: &mut Lines<R>,
    ) -> Result<(), RecordingError> {
        let number = lines.number();
        let entry = GeneralLine::parse(line).expect("it was parsed before");
        let mut argument = entry.argument.to_owned();
        let mut is_whole = lines.is_whole();
        while let Some(next) = lines.peek(1)? {
            let is_another = {
                let next = String::from_utf8_lossy(next);
                GeneralLine::parse(&next).is_some() || is_server_head(&next)
            };
            if is_another {
                break;
            }
            let next = lines.next_line()?.expect("it was seen");
            is_whole = lines.is_whole();
            add_line(&mut argument, &next);
        }
        let time = if entry.time.is_empty() { self.last_time(lines)? } else { parse_time(entry.time) };
        match time {
            Some(time) if is_whole => {
                self.has_fractions |= time.has_fraction;
                self.general.clock = Some(time);
                self.take_command(&entry, number, time.us, &argument)
            }
            _ => {
                self.taker.skip(if time.is_none() { NO_TIME } else { CUT_OFF }, number);
                Ok(())
            }
        }
    }

    /// The time of the entries before, or of the first that has one.
    fn last_time<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<Option<Moment>, RecordingError> {
        if self.general.clock.is_none() && !std::mem::replace(&mut self.general.has_looked, true) {
            self.general.clock = first_time(lines)?;
        }
        Ok(self.general.clock)
    }

    fn take_command(
        &mut self,
        entry: &GeneralLine<'_>,
        line: u64,
        began_us: i64,
        argument: &str,
    ) -> Result<(), RecordingError> {
        match entry.command {
            "Connect" | "Change user" if argument.starts_with("Access denied") => {
                self.taker.skip("connection that was refused", line);
            }
            "Connect" | "Change user" => self.general.begin(entry.session, schema_of_connect(argument).to_owned()),
            "Init DB" => argument.trim().clone_into(&mut self.general.get(entry.session).schema),
            "Query" | "Execute" => return self.take_statement(entry.session, line, began_us, argument),
            "Quit" => {
                if let Some(session) = self.general.open.remove(entry.session) {
                    self.taker.end_session(&session.name)?;
                }
            }
            // Its Execute follows.
            "Prepare" => self.taker.count_repeated(1),
            "Close stmt" => {}
            command => self.taker.skip(&format!("command {command}"), line),
        }
        Ok(())
    }

    fn take_statement(&mut self, id: &str, line: u64, began_us: i64, text: &str) -> Result<(), RecordingError> {
        let session = self.general.get(id);
        if is_too_long(text) {
            self.taker.skip(TOO_LONG, line);
            return Ok(());
        }
        if let Some(schema) = schema_of_use(text) {
            session.schema = schema;
            self.taker.count_repeated(1);
            return Ok(());
        }
        session.letters = Letters::set_by(text).unwrap_or(session.letters);
        let sendable = sendable(text, session.letters, line, self.taker);
        let (session, schema) = (&session.name, &session.schema);
        let text = &*sendable;
        // What came back is not in this log.
        let answer = RecordedAnswer::default();
        self.taker.add(&FoundStatement {
            line,
            began_us,
            took_us: None,
            session,
            schema,
            text,
            answer,
            ..FoundStatement::default()
        })
    }
}

/// The first time in the lines that follow, or 1970 if they have none; nothing if it is too far.
fn first_time<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Moment>, RecordingError> {
    let mut bytes = 0;
    for behind in 1.. {
        let Some(line) = lines.peek(behind)? else { break };
        let line = String::from_utf8_lossy(line);
        if let Some(time) = GeneralLine::parse(&line).and_then(|entry| parse_time(entry.time)) {
            return Ok(Some(time));
        }
        bytes += line.len();
        if bytes > LINE_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(Some(Moment { us: 0, has_fraction: false, has_zone: false }))
}

/// `shop` of `root@localhost on shop using Socket`.
fn schema_of_connect(argument: &str) -> &str {
    let after = argument.split_once(" on ").map_or("", |(_, after)| after);
    after.rsplit_once(" using ").map_or(after, |(schema, _)| schema).trim()
}

/// `shop` of `use shop`.
pub(super) fn schema_of_use(text: &str) -> Option<String> {
    let (word, rest) = text.trim().split_once(char::is_whitespace)?;
    word.eq_ignore_ascii_case("use").then_some(())?;
    let name = rest.trim().trim_end_matches(';').trim();
    match name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
        Some(quoted) => Some(quoted.replace("``", "`")),
        None => (!name.contains(|c: char| c.is_whitespace() || c == '`')).then(|| name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_an_entry_by_its_form_whatever_the_command() {
        let told = |line| GeneralLine::parse(line).map(|it| (it.time, it.session, it.command, it.argument));
        assert_eq!(
            told("2024-03-01T10:00:00.140000Z\t    9 Binlog Dump GTID\tLog: ''"),
            Some(("2024-03-01T10:00:00.140000Z", "9", "Binlog Dump GTID", "Log: ''"))
        );
        assert_eq!(told("\t\t     4 Quit\t"), Some(("", "4", "Quit", "")));
        assert_eq!(
            told("130601  8:01:06\t1234567 New command\tx"),
            Some(("130601  8:01:06", "1234567", "New command", "x"))
        );
        assert_eq!(told("2024-13-01T10:00:00.140000Z\t    9 Query\tx").map(|it| it.2), Some("Query"));
        for text in
            ["\t\t4 Query\tx", "\t\t     4 apples\tx", "  and\t    9 Query\tx", "where\tid", "\t\t  x  4 Query\t"]
        {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn schemas_are_found_where_sessions_begin_and_change_them() {
        assert_eq!(schema_of_connect("root@localhost on  using Socket"), "");
        assert_eq!(schema_of_connect("app@web1 on my shop using TCP/IP"), "my shop");
        assert_eq!(schema_of_connect("app@web1 on shop"), "shop");
        assert_eq!(schema_of_use("USE `my``shop`;").as_deref(), Some("my`shop"));
        assert_eq!((schema_of_use("use shop").as_deref(), schema_of_use("use index (a)")), (Some("shop"), None));
        assert_eq!(schema_of_use("select 1"), None);
    }
}
