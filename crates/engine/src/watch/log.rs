//! The error log of a watched server whose process and file are on this machine: how many lines of each severity, and which messages.
//!
//! In: the path of the file. Out: counts for each reading, and the distinct errors and warnings without values. Limits: what was there before the
//! watch is not read, and of a burst 1 MiB a reading. PostgreSQL's log is read as text in English, without the lines that belong to a message:
//! they have statements and rows in them.

use super::Values;
use crate::counters::{ServerSource, grows};
use crate::server::message;
use model::{LOG_MESSAGES_MAX, LogSeverity, ObservedLog, ObservedMessage};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What the server writes to its error log.
pub(super) static LOG: ServerSource = ServerSource {
    name: "log",
    help: "lines of the error log of a server that is watched on its machine (plimsoll observe)",
    counters: &[
        grows("errors", ERRORS, "count", "errors, in PostgreSQL FATAL and PANIC, too"),
        grows("warnings", WARNINGS, "count", "warnings"),
        grows("notes", NOTES, "count", "all other messages"),
    ],
};

const ERRORS: &str = "plimsoll_log_errors";
const WARNINGS: &str = "plimsoll_log_warnings";
const NOTES: &str = "plimsoll_log_notes";

/// How much of a log is read at one reading.
const READ_MAX: u64 = 1 << 20;
/// A longer message is cut.
const CHARS_MAX: usize = 200;

/// How a server writes a severity. The first mark of a line counts; what none stands for belongs to a message, or is none.
pub(super) type Marks = &'static [(&'static str, Option<LogSeverity>)];

pub(super) const MYSQL_MARKS: Marks = &[
    ("[ERROR] ", Some(LogSeverity::Error)),
    ("[Warning] ", Some(LogSeverity::Warning)),
    ("[Note] ", Some(LogSeverity::Note)),
    ("[System] ", Some(LogSeverity::Note)),
];
pub(super) const POSTGRES_MARKS: Marks = &[
    ("ERROR:  ", Some(LogSeverity::Error)),
    ("FATAL:  ", Some(LogSeverity::Error)),
    ("PANIC:  ", Some(LogSeverity::Error)),
    ("WARNING:  ", Some(LogSeverity::Warning)),
    ("LOG:  ", Some(LogSeverity::Note)),
    ("DETAIL:  ", None),
    ("HINT:  ", None),
    ("CONTEXT:  ", None),
    ("STATEMENT:  ", None),
    ("QUERY:  ", None),
];

pub(super) struct ErrorLog {
    path: PathBuf,
    marks: Marks,
    file: File,
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
    /// Lines since the watch began, by severity.
    counts: [u64; 3],
    /// Since the account began.
    messages: HashMap<(LogSeverity, String), u64>,
    in_account: [u64; 3],
}

impl ErrorLog {
    /// The log at `path`, from its present end on.
    pub fn open(path: PathBuf, marks: Marks) -> io::Result<ErrorLog> {
        let mut file = model::open_regular(&path)?;
        file.seek(SeekFrom::End(0))?;
        let (partial, messages) = (Vec::new(), HashMap::new());
        Ok(ErrorLog { path, marks, file, partial, counts: [0; 3], messages, in_account: [0; 3] })
    }

    /// Takes what was written since the last reading. A log that cannot be read has nothing new.
    pub fn read(&mut self) {
        let is_cut = |length: u64| (&self.file).stream_position().is_ok_and(|at| at > length);
        if self.file.metadata().is_ok_and(|now| is_cut(now.len())) {
            // A rotation has copied the file and emptied it.
            let _ = self.file.rewind();
        }
        let _ = (&self.file).take(READ_MAX).read_to_end(&mut self.partial);
        self.take_lines();
        let number = |file: &File| file.metadata().ok().map(|meta| meta.ino());
        let there = model::open_regular(&self.path).ok().filter(|there| number(there) != number(&self.file));
        if let Some(there) = there {
            // A rotation has put another file in its place.
            self.file = there;
            let _ = (&self.file).take(READ_MAX).read_to_end(&mut self.partial);
            self.take_lines();
        }
    }

    fn take_lines(&mut self) {
        let complete = self.partial.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = self.partial.drain(..complete).collect();
        if self.partial.len() as u64 > READ_MAX {
            self.partial.clear();
        }
        for line in String::from_utf8_lossy(&lines).lines() {
            let Some((severity, message)) = severity_of(line, self.marks) else { continue };
            self.counts[severity as usize] += 1;
            self.in_account[severity as usize] += 1;
            if severity != LogSeverity::Note {
                let key = (severity, without_values(message));
                if self.messages.len() < LOG_MESSAGES_MAX || self.messages.contains_key(&key) {
                    *self.messages.entry(key).or_default() += 1;
                }
            }
        }
    }

    /// Puts the counts among `values`.
    pub fn add_to(&self, values: &mut Values) {
        let counts = [ERRORS, WARNINGS, NOTES].into_iter().zip(self.counts);
        values.extend(counts.map(|(name, count)| (name.to_owned(), count.to_string())));
    }

    /// What follows goes into a new account.
    pub fn begin_anew(&mut self) {
        self.messages.clear();
        self.in_account = [0; 3];
    }

    pub fn observed(&self) -> ObservedLog {
        let message = |((severity, text), count): (&(LogSeverity, String), &u64)| ObservedMessage {
            severity: *severity,
            text: text.clone(),
            count: *count,
        };
        let mut messages: Vec<ObservedMessage> = self.messages.iter().map(message).collect();
        messages.sort_by(|one, other| {
            let key = |message: &ObservedMessage| (message.severity, std::cmp::Reverse(message.count));
            key(one).cmp(&key(other)).then_with(|| one.text.cmp(&other.text))
        });
        let [errors, warnings, notes] = self.in_account;
        ObservedLog { file: self.path.display().to_string(), errors, warnings, notes, messages }
    }
}

/// The severity of a line and its message; `None` of a line that begins none.
fn severity_of(line: &str, marks: Marks) -> Option<(LogSeverity, &str)> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let found = marks.iter().filter_map(|(mark, severity)| Some((line.find(mark)?, mark, severity)));
    let (at, mark, severity) = found.min_by_key(|(at, ..)| *at)?;
    Some(((*severity)?, line[at + mark.len()..].trim()))
}

/// `message` without values, as far as it is kept.
fn without_values(message: &str) -> String {
    let is_name = |quote, word: &str| quote == '"' && message::NAMED.contains(&word);
    message::without_values(message, is_name).chars().take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_counted_by_severity_and_messages_are_kept_without_values() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        std::fs::write(&path, "2026-11-30  3:44:48 0 [ERROR] of before\n").unwrap();
        let mut log = ErrorLog::open(path.clone(), MYSQL_MARKS).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let lines = "2026-11-30  3:44:48 7 [Warning] Aborted connection 7 to db: 'shop' user: 'ann'\n\
                     2026-11-30  3:44:49 8 [Warning] Aborted connection 8 to db: 'shop' user: 'bob'\n\
                     2026-11-30  3:44:50 0 [ERROR] InnoDB: Page 17 of `t` can't be read\n\
                     2026-11-30  3:44:50 0 [Note] it goes on\n\
                     2026-11-30  3:44:51 0 [ERR";
        file.write_all(lines.as_bytes()).unwrap();
        log.read();
        let seen = log.observed();
        assert_eq!((seen.errors, seen.warnings, seen.notes), (1, 2, 1));
        let messages: Vec<(u64, &str)> = seen.messages.iter().map(|one| (one.count, one.text.as_str())).collect();
        let expected = [(1, "InnoDB: Page ? of `t` can't be read"), (2, "Aborted connection ? to db: ? user: ?")];
        assert_eq!(messages, expected, "errors first");
        file.write_all(b"OR] at last\n").unwrap();
        log.begin_anew();
        log.read();
        let mut values = Values::new();
        log.add_to(&mut values);
        assert_eq!((log.observed().errors, values[ERRORS].as_str()), (1, "2"));
    }

    #[test]
    fn a_log_of_postgresql_has_names_and_no_statements_or_rows() {
        let severity =
            |line: &str| severity_of(line, POSTGRES_MARKS).map(|(severity, text)| (severity, without_values(text)));
        let prefix = "2026-11-30 03:44:48.123 UTC [77] ann@shop ";
        let of = |text: &str| severity(&format!("{prefix}{text}"));
        let error = |text: &str| Some((LogSeverity::Error, text.to_owned()));
        assert_eq!(
            of("ERROR:  relation \"orders\" does not exist at character 15"),
            error("relation \"orders\" does not exist at character ?")
        );
        assert_eq!(
            of("ERROR:  invalid input syntax for type integer: \"secret\""),
            error("invalid input syntax for type integer: ?")
        );
        assert_eq!(of("FATAL:  sorry, too many clients already"), error("sorry, too many clients already"));
        for line in ["STATEMENT:  SELECT 'ERROR:  x'", "DETAIL:  Key (id)=(7) already exists."] {
            assert_eq!(of(line), None, "{line}");
        }
        assert_eq!(severity("\tFROM t WHERE a = 'ERROR:  x'"), None);
        assert_eq!(of("LOG:  statement: SELECT 'ERROR:  x'").map(|found| found.0), Some(LogSeverity::Note));
    }

    #[test]
    fn a_log_that_is_rotated_is_read_on_and_its_messages_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        std::fs::write(&path, "").unwrap();
        let mut log = ErrorLog::open(path.clone(), MYSQL_MARKS).unwrap();
        std::fs::write(&path, "0 [ERROR] last of the old one\n").unwrap();
        std::fs::rename(&path, dir.path().join("error.log.1")).unwrap();
        let many: String = (0..2 * LOG_MESSAGES_MAX).map(|nth| format!("0 [ERROR] message c{nth}\n")).collect();
        std::fs::write(&path, &many).unwrap();
        log.read();
        assert_eq!(log.observed().errors, 1 + 2 * LOG_MESSAGES_MAX as u64);
        assert_eq!(log.observed().messages.len(), LOG_MESSAGES_MAX);
        std::fs::write(&path, "0 [ERROR] cut\n").unwrap();
        log.read();
        assert_eq!(log.observed().errors, 2 + 2 * LOG_MESSAGES_MAX as u64, "a copy was made, and the file cut");
    }
}
