//! Logs of servers, and what of them is replayed.
//!
//! In: the files of `tests/logs`, of any format that `replay-sql` reads. Out: each has an expectation next to it, `NAME.expect`, which is
//! compared as a whole; `UPDATE_GOLDEN=1` writes it, and then it is reviewed as code is. To add a log, put the file there and do that.
//! Limits: the first [`STATEMENTS_SHOWN`] statements of each are compared one by one, of the others the figures.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use workload::replay_sql::{
    LeftOut, LogWanted, ReadStatement, RecordedAnswer, RecordedStatement, Skipped, SqlRecording, read_log,
};

const STATEMENTS_SHOWN: usize = 40;
const TEXT_CHARS_SHOWN: usize = 300;

#[test]
fn each_log_gives_what_is_expected_of_it() {
    let logs = logs();
    assert!(!logs.is_empty());
    let wrong: Vec<String> = logs.iter().filter_map(|log| difference(log)).collect();
    assert!(wrong.is_empty(), "{}\nUPDATE_GOLDEN=1 writes what came as expected", wrong.join("\n"));
}

/// Logs of 20 kB and more, one of each format.
const LARGE: [&str; 5] =
    ["cut-general.log", "cut-slow.log", "postgres-both.csv", "postgres-default.json", "postgres-heroku.log"];

/// A log may end anywhere: what is before its last entry is read as if it ended there.
#[test]
fn a_log_that_is_cut_at_any_byte_keeps_what_is_before_the_cut() {
    // Every byte of the last entries, and some of each entry before.
    check_cuts(|length| (0..length - 200).step_by(997).chain(length - 200..=length).collect());
}

#[test]
#[ignore = "takes minutes: `cargo xtask soak statements` runs it"]
fn a_log_that_is_cut_at_every_byte_keeps_what_is_before_the_cut() {
    check_cuts(|length| (0..=length).collect());
}

/// Cuts each large log behind the bytes that `ends` makes of its length.
fn check_cuts(ends: fn(usize) -> Vec<usize>) {
    let wanted = LogWanted { writes: true, ..LogWanted::default() };
    for name in LARGE {
        let whole = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name)).unwrap();
        let mut most = 0;
        for end in ends(whole.len()) {
            let count = read_log(&whole[..end], &wanted).map_or(0, |(_, recording)| recording.len());
            // The beginning of the next entry may be the next line of the last one, which goes then, too.
            assert!(count + 1 >= most, "{name}, byte {end}: {count} after {most}");
            most = most.max(count);
        }
        assert!(most > 20, "{name}: {most}");
    }
}

/// The logs of this crate, and the captures of the one that reads captures.
fn logs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("tests/logs"), root.join("../capture/tests/fixtures")];
    let paths = folders.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap()).map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| path.extension().is_none_or(|end| end != "expect" && end != "logged");
    let mut logs: Vec<PathBuf> = paths.filter(is_log).collect();
    logs.sort();
    logs
}

/// What came and what was expected, if they differ.
fn difference(log: &Path) -> Option<String> {
    let name = log.file_name().unwrap().to_str().unwrap();
    let expectation = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/logs/{name}.expect"));
    let came = told(&std::fs::read(log).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&expectation, &came).unwrap();
    }
    let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
    (came != expected).then(|| format!("== {}\n-- came\n{came}-- expected\n{expected}", log.display()))
}

/// All statements of a log with what it says of itself, and what is left out of it if only reads are replayed.
fn told(log: &[u8]) -> String {
    let read = |writes| read_log(log, &LogWanted { writes, ..LogWanted::default() });
    let mut text = match read(true) {
        Ok((dialect, recording)) => format!("log: {dialect:?}\n{}", told_recording(&recording)),
        Err(error) => return format!("refused: {error}\n"),
    };
    match read(false) {
        Ok((_, reads)) => {
            let (count, left_out) = (reads.len(), told_left_out(reads.left_out));
            writeln!(text, "reads: {count}; left out: {left_out}").unwrap();
        }
        Err(error) => writeln!(text, "reads: refused: {error}").unwrap(),
    }
    text
}

fn told_recording(recording: &SqlRecording) -> String {
    let mut text = String::new();
    let (sessions, at_once) = (recording.sessions(), recording.most_at_once());
    writeln!(text, "sessions: {sessions}, {at_once} at once").unwrap();
    writeln!(text, "schemas: {:?}", recording.schemas()).unwrap();
    let times = if recording.has_whole_seconds { "whole seconds" } else { "fractions" };
    writeln!(text, "span: {}, times in {times}", seconds(recording.length().0)).unwrap();
    let server = &recording.server;
    writeln!(text, "server: {:?}, port {:?}, socket {:?}", server.version, server.port, server.socket).unwrap();
    writeln!(text, "skipped: {}", told_skipped(&recording.skipped)).unwrap();
    writeln!(text, "statements: {}; left out: {}", recording.len(), told_left_out(recording.left_out)).unwrap();
    for it in recording.statements().map(Result::unwrap).take(STATEMENTS_SHOWN) {
        let shown: String = format!("{:?}", recording.text(&it).unwrap()).chars().take(TEXT_CHARS_SHOWN).collect();
        let schema = recording.schema(it.schema);
        let answer = told_answer(recording, &it);
        writeln!(text, "  {} session {} in `{schema}`: {shown}{answer}", seconds(it.due.0), it.session).unwrap();
    }
    text
}

/// What the log has of the answer to a statement, and the ids that it made.
fn told_answer(recording: &SqlRecording, statement: &RecordedStatement) -> String {
    let mut text = Vec::new();
    let ReadStatement { answer, made_bytes, call } = recording.read_text(statement, &mut text).unwrap();
    let made = String::from_utf8(text.split_off(text.len() - made_bytes)).unwrap();
    let RecordedAnswer { failed, sent, affected, made_id, last_id, .. } = answer;
    let failed = failed.map(|failed| if failed { "failed" } else { "passed" }.to_owned());
    // Of most statements that may make an id it is not known.
    let made_id = made_id.filter(|id| *id > 0);
    let numbers = [("sent", sent), ("affected", affected), ("made id", made_id), ("last id", last_id)];
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some(format!("{name} {}", number?)));
    let made = (!made.is_empty()).then(|| format!("made {made:?}"));
    let call = call.map(|_| "call".to_owned());
    let known: Vec<String> = failed.into_iter().chain(numbers).chain(made).chain(call).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

fn told_skipped(skipped: &Skipped) -> String {
    let kinds: Vec<String> = skipped.kinds().map(|(name, kind)| format!("{name}: {kind}")).collect();
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join("; ") }
}

fn told_left_out(left_out: LeftOut) -> String {
    let LeftOut { writes, of_session, repeated, unbound, effects, .. } = left_out;
    format!("{writes} writes, {of_session} of sessions, {repeated} repeated, {unbound} unbound, {effects} with effects")
}
