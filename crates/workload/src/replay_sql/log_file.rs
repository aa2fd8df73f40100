//! A log in a file of whichever kind: text or a capture, plain or packed, or a workload file, known by its content.
//!
//! In: a path, and the file that was opened there. Out: its recording, or a workload file of it. Limits: a workload file must be a file by itself:
//! neither packed nor a pipe.

use super::log_taker::{LogTaker, TakenLog};
use super::part::bounds_of;
use super::recording::{RecordingBuilder, SqlRecording};
use super::wanted::{LogDialect, LogWanted};
use super::workload_file::{FileContent, Place, WorkloadWriter, Writing, read_content, take_workload};
use super::{recording_of, source, take_log};
use crate::recording_error::RecordingError;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;
use store::untrusted::MAGIC;

const BUFFER_BYTES: usize = 1 << 20;

/// What a server says of itself and of the tables of these names, if it is of this kind.
pub type AskServer<'a> = dyn Fn(LogDialect, &BTreeSet<String>) -> Result<FileContent, String> + 'a;

/// What is saved of a log, and how.
pub struct ToSave<'a> {
    /// `log_line_prefix` of the PostgreSQL that wrote the log; empty if it is to be found.
    pub log_line_prefix: &'a str,
    /// Where the part begins that is saved, as `replay-sql` takes it.
    pub from: &'a str,
    /// How much of the log is saved, as `replay-sql` takes it.
    pub length: &'a str,
    /// Whether values are replaced by others.
    pub hash_values: bool,
    /// Whether to give up.
    pub is_stopped: &'a dyn Fn() -> bool,
    /// What is known of a server, if one is asked, once it is known whose statements they are and which tables they name.
    pub ask: &'a AskServer<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedWorkload {
    pub statements: u64,
    /// The sessions that sent them.
    pub sessions: u64,
    /// What of the log could not be kept.
    pub skipped: u64,
}

/// Reads what is `wanted` of the log in `file`, which is at `path`.
///
/// # Errors
/// As of [`super::read_log`], or if it is a workload file that cannot be read.
pub fn read_file(path: &Path, file: File, wanted: &LogWanted) -> Result<(LogDialect, SqlRecording), RecordingError> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    recording_of(take_file(path, &mut reader, wanted, |dialect| Ok(RecordingBuilder::new(dialect, wanted)))?)
}

/// What the file at `path` says of itself if it is a workload file.
///
/// # Errors
/// If it cannot be read.
pub fn content_of_file(path: &Path, file: File) -> Result<Option<FileContent>, RecordingError> {
    if is_workload(&mut BufReader::new(file))? { read_content(path).map(Some) } else { Ok(None) }
}

/// Saves the log in `file`, which is at `path`, as the new workload file `out`.
///
/// # Errors
/// If it cannot be read or has nothing to save, or the file cannot be written: then there is none.
pub fn save_file(path: &Path, file: File, out: &Path, to_save: &ToSave<'_>) -> Result<SavedWorkload, RecordingError> {
    let wanted =
        LogWanted { writes: true, log_line_prefix: to_save.log_line_prefix.to_owned(), ..LogWanted::default() };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let place = Place::new(out)?;
    // Where a part begins and ends is known once all has been read.
    let part = match (to_save.from, to_save.length) {
        ("0s", "end") => None,
        _ => {
            let taken = take_file(path, &mut reader, &wanted, |dialect| Ok(RecordingBuilder::new(dialect, &wanted)))?;
            let (_, recording) = recording_of(taken)?;
            reader.rewind().map_err(|error| source::unreadable(&error))?;
            let (begin, length) =
                bounds_of(&recording, to_save.from, to_save.length).map_err(RecordingError::of_file)?;
            let first_us = recording.first_us().saturating_add_unsigned(begin.0 / 1_000);
            let length = length.unwrap_or(recording.length());
            Some((first_us, first_us.saturating_add_unsigned(length.0 / 1_000)))
        }
    };
    let writing = Writing { hash_values: to_save.hash_values, part, is_stopped: to_save.is_stopped };
    let taken = take_file(path, &mut reader, &wanted, |dialect| WorkloadWriter::new(place, dialect, &writing))?;
    let content = (to_save.ask)(taken.dialect, taken.taker.tables()).map_err(RecordingError::of_file)?;
    taken.taker.add_content(&content)?;
    WorkloadWriter::finish(taken)
}

/// Passes the log in `reader`, which is that of the file at `path`, on to the taker that `make` makes.
fn take_file<T: LogTaker>(
    path: &Path,
    reader: &mut BufReader<File>,
    wanted: &LogWanted,
    make: impl FnOnce(LogDialect) -> Result<T, RecordingError>,
) -> Result<TakenLog<T>, RecordingError> {
    if is_workload(reader)? { take_workload(path, make) } else { take_log(reader, wanted, make) }
}

fn is_workload(reader: &mut BufReader<File>) -> Result<bool, RecordingError> {
    Ok(reader.fill_buf().map_err(|error| source::unreadable(&error))?.starts_with(MAGIC))
}
