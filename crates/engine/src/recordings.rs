//! Recordings that are replayed: files of a user, read once.
//!
//! In: the path of a recording, and what of it is to be replayed. Out: its figures for the plan, and its operations for the clients.
//! Limits: the recording that was read last stays in memory, because a plan asks for its figures several times; one that was changed since
//! is read again.

use crate::file_state::FileState;
use host::error::{TargetError, shown};
use model::{Params, RecordedSessions, RecordingSummary, Trial};
use std::fs::{File, Metadata};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use workload::replay::{Placement, Recording, parse_device_number};
use workload::replay_sql::{
    self, CountedColumn, FileContent, LogDialect, LogWanted, REPLAY_SQL, SavedWorkload, SqlRecording, ToSave, WorkedIds,
};

/// A recording with the path of its log.
pub struct ReplayedLog {
    pub path: PathBuf,
    pub dialect: LogDialect,
    /// What is in it.
    pub recording: Arc<SqlRecording>,
    /// The ids that it does not have, as they were worked out last: points that begin with the same counters have the same.
    pub known_ids: Mutex<Option<KnownIds>>,
}

/// Ids that were worked out, and from what.
pub struct KnownIds {
    /// The names of the schemas on the copy.
    pub schemas: Vec<String>,
    pub columns: Vec<CountedColumn>,
    /// `None` if the log has ids, or makes none that can be known.
    pub ids: Option<Arc<WorkedIds>>,
}

/// The file that was read last, and what is in it.
struct LastRead<T> {
    path: PathBuf,
    /// What of it was asked for.
    wanted: String,
    state: FileState,
    content: Arc<T>,
}

static LAST_REQUESTS: Mutex<Option<LastRead<Recording>>> = Mutex::new(None);
static LAST_LOG: Mutex<Option<LastRead<ReplayedLog>>> = Mutex::new(None);
/// The part of a log that was replayed last.
static LAST_PART: Mutex<Option<LastRead<ReplayedLog>>> = Mutex::new(None);

/// The figures of the recording at `path` that a point of `workload` with these parameters replays.
///
/// # Errors
/// Why it cannot be replayed, in one line.
pub fn read_recording(workload: &str, path: &Path, params: &Params) -> Result<RecordingSummary, String> {
    if workload == REPLAY_SQL.entry.name {
        return read_log_summary(path, params);
    }
    let recording = recording_at(path, params.word("device"))?;
    let io = recording.figures(Placement::from_word(params.word("places")));
    let path = path.to_str().ok_or_else(|| format!("`{}`: its name is no UTF-8", shown(path)))?.to_owned();
    Ok(RecordingSummary { path, ops: recording.len(), length: recording.length(), io: Some(io), sessions: None })
}

/// Whether `trial` replays the statements of a log.
pub fn replays_statements(trial: &Trial) -> bool {
    trial.workload.name == REPLAY_SQL.entry.name
}

/// The recording that `trial` replays; `None` if it replays none.
pub(crate) fn recording_of(trial: &Trial) -> Result<Option<Arc<Recording>>, TargetError> {
    let params = &trial.workload.params;
    let Some(summary) = params.recording().filter(|summary| summary.io.is_some()) else { return Ok(None) };
    let now =
        read_recording(&trial.workload.name, Path::new(&summary.path), params).map_err(TargetError::Unsupported)?;
    if now != *summary {
        return Err(TargetError::Unsupported(format!(
            "the recording `{}` is not the one that was planned: it has {} requests and had {}; plan the run again",
            shown(Path::new(&summary.path)),
            now.ops,
            summary.ops
        )));
    }
    let recording = recording_at(Path::new(&summary.path), params.word("device")).map_err(TargetError::Unsupported)?;
    Ok(Some(recording))
}

fn recording_at(path: &Path, device: &str) -> Result<Arc<Recording>, String> {
    let (file, meta) = open(path)?;
    if meta.is_dir() {
        return Err(format!("`{}` is a directory; name the file of a recording", shown(path)));
    }
    let number_of = |text| {
        let no_number = || format!("device = `{}` is no number of a device, such as `8:0`", shown(Path::new(text)));
        parse_device_number(text).ok_or_else(no_number)
    };
    let state = FileState::of(&meta);
    read_once(&LAST_REQUESTS, path, device, state, || {
        let wanted = if device.is_empty() { None } else { Some(number_of(device)?) };
        Recording::from_text(buffered(file), wanted).map_err(|error| error.in_file(&shown(path)))
    })
}

fn open(path: &Path) -> Result<(File, Metadata), String> {
    let opened = model::open_regular(path).and_then(|file| Ok((file.metadata()?, file)));
    let (meta, file) =
        opened.map_err(|error| format!("cannot read `{}`: {}", shown(path), model::system_words(&error)))?;
    Ok((file, meta))
}

fn buffered(file: File) -> BufReader<File> {
    BufReader::with_capacity(1 << 20, file)
}

/// What was read last if that is what is `wanted` of the file in this `state`; else what `read` returns, which is kept.
fn read_once<T>(
    last: &Mutex<Option<LastRead<T>>>,
    path: &Path,
    wanted: &str,
    state: FileState,
    read: impl FnOnce() -> Result<T, String>,
) -> Result<Arc<T>, String> {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = last.as_ref().filter(|last| last.path == path && last.wanted == wanted && last.state == state) {
        return Ok(same.content.clone());
    }
    // Before the next one is read: two of the largest would take more memory than was said.
    *last = None;
    let content = Arc::new(read()?);
    *last = Some(LastRead { path: path.into(), wanted: wanted.into(), state, content: content.clone() });
    Ok(content)
}

fn read_log_summary(path: &Path, params: &Params) -> Result<RecordingSummary, String> {
    let log = log_at(path, params)?;
    let recording = &log.recording;
    let (count, most_at_once) = (recording.sessions(), recording.most_at_once());
    let shift = replay_sql::shift_of(params, recording.length())?;
    let (pauses, digest) = (recording.pauses, recording.digest);
    let sessions = RecordedSessions { count, most_at_once, pauses, shift, digest };
    let path = path.to_str().ok_or_else(|| format!("`{}`: its name is no UTF-8", shown(path)))?.to_owned();
    let (ops, length) = (recording.len(), recording.length());
    Ok(RecordingSummary { path, ops, length, io: None, sessions: Some(sessions) })
}

/// All statements of the log at `path`, those that write included.
///
/// # Errors
/// Why it cannot be read, in one line.
pub fn read_whole_log(path: &Path, log_line_prefix: &str) -> Result<(LogDialect, SqlRecording), String> {
    let (file, _) = open_log(path)?;
    let wanted = LogWanted { writes: true, log_line_prefix: log_line_prefix.to_owned(), ..LogWanted::default() };
    replay_sql::read_file(path, file, &wanted).map_err(|error| error.in_file(&shown(path)))
}

/// What the file at `path` says of itself if it is a workload file.
///
/// # Errors
/// Why it cannot be read, in one line.
pub fn content_of_log(path: &Path) -> Result<Option<FileContent>, String> {
    let (file, _) = open_log(path)?;
    replay_sql::content_of_file(path, file).map_err(|error| error.in_file(&shown(path)))
}

/// Saves the log at `path` as the new workload file `out`.
///
/// # Errors
/// Why it cannot be saved, in one line: then there is no such file.
pub fn save_log(path: &Path, out: &Path, to_save: &ToSave<'_>) -> Result<SavedWorkload, String> {
    let (file, _) = open_log(path)?;
    replay_sql::save_file(path, file, out, to_save).map_err(|error| error.in_file(&shown(path)))
}

fn open_log(path: &Path) -> Result<(File, Metadata), String> {
    let (file, meta) = open(path)?;
    if meta.is_file() { Ok((file, meta)) } else { Err(format!("`{}` is no file; name the file of a log", shown(path))) }
}

/// Where the log is that `trial` replays.
pub(crate) fn path_of(trial: &Trial) -> &Path {
    let summary = trial.workload.params.recording();
    Path::new(&summary.expect("the plan was checked: it has a log").path)
}

/// The log that `trial` replays, or the part of it.
pub(crate) fn log_of(trial: &Trial) -> Result<Arc<ReplayedLog>, TargetError> {
    let params = &trial.workload.params;
    let summary = params.recording().expect("the plan was checked: it has a log");
    let path = path_of(trial);
    let now = read_log_summary(path, params).map_err(TargetError::Unsupported)?;
    if now != *summary {
        let (path, how) = (shown(path), change_since(summary, &now));
        return Err(TargetError::Unsupported(format!(
            "the log `{path}` is not the one that was planned: {how}; plan the run again"
        )));
    }
    log_at(path, params).map_err(TargetError::Unsupported)
}

/// How a log that is `now` differs from what it was when it was planned.
fn change_since(planned: &RecordingSummary, now: &RecordingSummary) -> String {
    if now.ops == planned.ops {
        "its statements or their times are others".to_owned()
    } else {
        format!("it has {} statements to replay and had {}", now.ops, planned.ops)
    }
}

fn log_at(path: &Path, params: &Params) -> Result<Arc<ReplayedLog>, String> {
    let (file, meta) = open_log(path)?;
    let wanted = LogWanted::from_params(params)?;
    let state = FileState::of(&meta);
    let log = read_once(&LAST_LOG, path, &format!("{wanted:?}"), state, || {
        let read = replay_sql::read_file(path, file, &wanted);
        let (dialect, recording) = read.map_err(|error| error.in_file(&shown(path)))?;
        Ok(ReplayedLog { path: path.to_owned(), dialect, recording: Arc::new(recording), known_ids: Mutex::default() })
    })?;
    let part = format!("{wanted:?} {} {}", params.word("from"), params.word("for"));
    read_once(&LAST_PART, path, &part, state, || {
        let part = replay_sql::stretch_of(&log.recording, params);
        let part = part.map_err(|why| format!("`{}`: {why}", shown(path)))?;
        let recording = part.map_or_else(|| log.recording.clone(), Arc::new);
        Ok(ReplayedLog { path: path.to_owned(), dialect: log.dialect, recording, known_ids: Mutex::default() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn a_log_with_as_many_statements_is_told_to_have_others() {
        let of = |ops, digest| RecordingSummary {
            path: "a.log".into(),
            ops,
            length: model::Nanos(9),
            io: None,
            sessions: Some(RecordedSessions { digest, ..RecordedSessions::default() }),
        };
        assert_eq!(change_since(&of(5, 1), &of(5, 2)), "its statements or their times are others");
        assert_eq!(change_since(&of(5, 1), &of(4, 2)), "it has 4 statements to replay and had 5");
    }

    const LINE: &str = "8,0 1 1 10.000000000 9 D R 8192 + 8 [a]\n";

    fn params(device: &str) -> Params {
        let words = [("device", device), ("places", "same")];
        Params(words.map(|(name, word)| (name.to_owned(), Value::Word(word.to_owned()))).into())
    }

    #[test]
    fn a_recording_is_read_again_if_it_was_changed_and_refused_with_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a recording");
        let read = |device: &str| read_recording("replay", &path, &params(device));
        assert!(read("").unwrap_err().starts_with("cannot read `"), "{:?}", read(""));
        std::fs::write(&path, LINE).unwrap();
        assert_eq!(read("").unwrap().ops, 1);
        std::fs::write(&path, LINE.repeat(3)).unwrap();
        assert_eq!(read("").unwrap().ops, 3);
        std::fs::write(&path, LINE.repeat(2) + "8,0 x\n").unwrap();
        let name = shown(&path);
        assert_eq!(
            read("").unwrap_err(),
            format!("`{name}`, line 3: `8,0 x` is no line of this recording; it may be cut off")
        );
        std::fs::write(&path, LINE).unwrap();
        assert_eq!(read("9:0").unwrap_err(), format!("`{name}`: it has no request to device `9:0`, but to 8:0"));
        assert_eq!(read("sda").unwrap_err(), "device = `sda` is no number of a device, such as `8:0`");
        let directory = read_recording("replay", dir.path(), &params("")).unwrap_err();
        assert!(directory.contains("is a directory"), "{directory}");
    }
}
