//! Watches what private servers log while a trial runs.
//!
//! In: their log files. Out: an event for each new line, dated halfway between two readings. Limits: a line is known to half an interval; at
//! most [`LINES_MAX`] lines of a phase are kept, each up to [`CHARS_MAX`] characters. A log that cannot be read is one event.

use model::{Event, EventKind, Nanos, Tick};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How many lines of a phase are kept.
const LINES_MAX: usize = 500;
/// How much of a line is kept.
const CHARS_MAX: usize = 300;
/// How much of a log is read at once. What is more waits for the next reading.
const READ_MAX: u64 = 64 << 10;

/// The logs of the servers of a trial.
#[derive(Debug)]
pub(super) struct LogWatch {
    logs: Vec<LogTail>,
    /// What was found when they were opened.
    news: Vec<Event>,
    /// How many lines of this phase may still be kept.
    left: usize,
    /// Whether it was noted that there are more.
    is_cut_noted: bool,
    last_read: Tick,
}

/// The end of one log.
#[derive(Debug)]
struct LogTail {
    /// `None` after it could not be read.
    file: Option<File>,
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
}

impl LogWatch {
    /// Watches `files` from their present ends.
    pub fn open(files: &[PathBuf], now: Tick) -> LogWatch {
        let (mut logs, mut news) = (Vec::new(), Vec::new());
        for path in files {
            match open_at_end(path) {
                Ok(file) => logs.push(LogTail { file: Some(file), partial: Vec::new() }),
                Err(error) => news.push(unread(now, &error)),
            }
        }
        LogWatch { logs, news, left: LINES_MAX, is_cut_noted: false, last_read: now }
    }

    /// A phase begins, with as many lines as any other.
    pub fn begin_phase(&mut self) {
        (self.left, self.is_cut_noted) = (LINES_MAX, false);
    }

    /// The lines that were logged since the last call.
    pub fn drain(&mut self, now: Tick) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.news);
        let between = self.last_read + Nanos(now.since(self.last_read).0 / 2);
        self.last_read = now;
        let mut lines = Vec::new();
        for log in &mut self.logs {
            match log.read_lines() {
                Ok(read) => lines.extend(read),
                Err(error) => events.push(unread(now, &error)),
            }
        }
        let kept = lines.len().min(self.left);
        events.extend(lines.iter().take(kept).map(|line| Event::new(between, EventKind::Engine, line)));
        self.left -= kept;
        if kept < lines.len() && !std::mem::replace(&mut self.is_cut_noted, true) {
            let text = format!("the server logged more than {LINES_MAX} lines; the others are left out");
            events.push(Event::new(between, EventKind::Engine, text));
        }
        events
    }
}

fn open_at_end(path: &Path) -> std::io::Result<File> {
    let mut file = model::open_regular(path)?;
    // What the server logged at its start, or in an earlier trial, is no event of this one.
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

fn unread(at: Tick, error: &std::io::Error) -> Event {
    Event::new(at, EventKind::SourceGap, format!("the log of the server cannot be read: {error}"))
}

impl LogTail {
    /// The lines that are complete by now. After an error it is not read again.
    fn read_lines(&mut self) -> std::io::Result<Vec<String>> {
        let Some(file) = &mut self.file else { return Ok(Vec::new()) };
        if let Err(error) = file.take(READ_MAX).read_to_end(&mut self.partial) {
            self.file = None;
            return Err(error);
        }
        let complete = self.partial.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let text: Vec<u8> = self.partial.drain(..complete).collect();
        // A line without an end is not kept for ever.
        if self.partial.len() > READ_MAX as usize {
            self.partial.clear();
        }
        let lines = String::from_utf8_lossy(&text).lines().map(printable).filter(|line| !line.is_empty()).collect();
        Ok(lines)
    }
}

fn printable(line: &str) -> String {
    let text = line.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    text.take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn texts(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.text.as_str()).collect()
    }

    #[test]
    fn lines_that_are_added_are_events_halfway_between_two_readings_once_they_are_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        std::fs::write(&path, "of before\n").unwrap();
        let mut watch = LogWatch::open(std::slice::from_ref(&path), Tick(1_000));
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"first\tone\n\nsecond").unwrap();
        let events = watch.drain(Tick(2_000));
        assert_eq!(events, [Event::new(Tick(1_500), EventKind::Engine, "first one")]);
        file.write_all(b" one\n").unwrap();
        let events = watch.drain(Tick(4_000));
        assert_eq!(events, [Event::new(Tick(3_000), EventKind::Engine, "second one")]);
        assert!(watch.drain(Tick(5_000)).is_empty());
    }

    #[test]
    fn a_phase_has_so_many_lines_at_most_and_one_note_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        std::fs::write(&path, "").unwrap();
        let mut watch = LogWatch::open(std::slice::from_ref(&path), Tick(0));
        std::fs::write(&path, "again\n".repeat(LINES_MAX + 7)).unwrap();
        let events = watch.drain(Tick(1));
        assert_eq!(events.len(), LINES_MAX + 1);
        assert_eq!(texts(&events)[LINES_MAX], "the server logged more than 500 lines; the others are left out");
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"later\n").unwrap();
        assert!(watch.drain(Tick(2)).is_empty());
        watch.begin_phase();
        file.write_all(b"in the next phase\n").unwrap();
        assert_eq!(texts(&watch.drain(Tick(3))), ["in the next phase"]);
    }

    #[test]
    fn a_log_that_is_missing_is_one_event_of_a_gap() {
        let mut watch = LogWatch::open(&[PathBuf::from("/nonexistent/server.log")], Tick(0));
        let events = watch.drain(Tick(1));
        assert_eq!((events.len(), events[0].kind), (1, EventKind::SourceGap));
        assert!(watch.drain(Tick(2)).is_empty());
    }
}
