//! Logs of one PostgreSQL in several formats, whole and cut off.
//!
//! In: the logs of `tests/logs` that one server wrote of the same moments, with `log_destination = 'stderr,csvlog,jsonlog'`. Out: they
//! give the same recording. Limits: what each of them gives is compared in `logs.rs`.

use std::collections::HashSet;
use std::path::Path;
use workload::replay_sql::{LogWanted, SqlRecording, read_log};

fn log(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name)).unwrap()
}

fn recording(text: &str) -> Result<SqlRecording, String> {
    let wanted = LogWanted { writes: true, ..LogWanted::default() };
    read_log(text.as_bytes(), &wanted).map(|(_, recording)| recording).map_err(|error| error.to_string())
}

fn texts(recording: &SqlRecording) -> Vec<String> {
    recording.statements().map(|it| recording.text(&it.unwrap()).unwrap()).collect()
}

/// All that is replayed, statement by statement.
fn told(recording: &SqlRecording) -> Vec<String> {
    let places = recording
        .statements()
        .map(Result::unwrap)
        .map(|it| format!("{:?}: session {} in {}, kind {}", it.due, it.session, recording.schema(it.schema), it.kind));
    places.zip(texts(recording)).map(|(place, text)| format!("{place}: {text}")).collect()
}

#[test]
fn the_three_formats_of_the_same_minutes_give_the_same_recording() {
    for name in ["default", "both"] {
        let [csv, json, plain] =
            ["csv", "json", "log"].map(|end| recording(&log(&format!("postgres-{name}.{end}"))).unwrap());
        assert!(csv.len() > 20 && csv.sessions() >= 5, "{name}: {}", csv.len());
        for other in [json, plain] {
            assert_eq!(told(&other), told(&csv), "{name}");
            assert_eq!((other.left_out, other.most_at_once()), (csv.left_out, csv.most_at_once()), "{name}");
        }
    }
}

/// A log in CSV as another program writes it, which puts those fields into quotes that it `quotes`.
fn written_again(csv: &str, quotes: fn(&str) -> bool) -> String {
    let (mut all, mut field, mut is_quoted) = (String::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' | '\n' if !is_quoted => {
                let value = std::mem::take(&mut field);
                all += &if quotes(&value) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value };
                all += if c == ',' { "," } else { "\r\n" };
            }
            c => field.push(c),
        }
    }
    all
}

#[test]
fn a_csv_log_that_another_program_has_written_again_is_the_same_log() {
    let where_needed: fn(&str) -> bool = |value| value.contains([',', '"', '\n']);
    let everywhere: fn(&str) -> bool = |_| true;
    for name in ["postgres-default.csv", "postgres-both.csv"] {
        let csv = log(name);
        let of_server = recording(&csv).unwrap();
        for quotes in [where_needed, everywhere] {
            let again = written_again(&csv, quotes);
            assert_ne!(again, csv);
            assert_eq!(told(&recording(&again).unwrap()), told(&of_server), "{name}");
        }
    }
}

/// What is written down before the cut is read; only the entry that is cut is missing, or the end of its lines.
#[test]
fn a_log_that_is_cut_at_any_byte_keeps_what_is_before_the_cut() {
    for name in ["postgres-both.csv", "postgres-both.json", "postgres-both.log", "postgres-syslog.log"] {
        let whole = log(name);
        let all: HashSet<String> = texts(&recording(&whole).unwrap()).into_iter().collect();
        let mut most = 0;
        for end in (0..whole.len().min(CUT_BYTES_MAX)).filter(|end| whole.is_char_boundary(*end)) {
            let Ok(cut) = recording(&whole[..end]) else {
                assert_eq!(most, 0, "{name} is refused when it is cut at byte {end}");
                continue;
            };
            let texts = texts(&cut);
            assert!(texts.len() + 1 >= most, "{name}: a statement is lost at byte {end}");
            most = most.max(texts.len());
            let strange = texts.iter().find(|text| !all.contains(*text) && !all.iter().any(|it| it.starts_with(*text)));
            assert_eq!(strange, None, "{name} at byte {end}");
        }
        assert!(most > 1, "{name}: {most}");
    }
}

/// Enough for messages of several lines; each byte takes a reading of all before it.
const CUT_BYTES_MAX: usize = 4_000;

#[test]
fn any_prefix_can_be_named_and_one_that_is_not_known_must_be() {
    let lines = |prefix: &str| {
        ["select 1", "select 2\n\tfrom t"].map(|text| format!("{prefix}LOG:  statement: {text}\n")).concat()
    };
    let wanted = |prefix: &str| LogWanted { log_line_prefix: prefix.to_owned(), ..LogWanted::default() };
    let odd = lines("1795965757.512|bench   |my shop|   77|%|");
    let (_, recording) = read_log(odd.as_bytes(), &wanted("%n|%-8u|%d|%5p|%%|")).unwrap();
    assert_eq!(
        (texts(&recording), recording.schema(0)),
        (vec!["select 1".into(), "select 2\nfrom t".into()], "my shop")
    );
    let refused = |text: &str, prefix: &str| read_log(text.as_bytes(), &wanted(prefix)).unwrap_err().to_string();
    let unknown = refused(&odd, "");
    assert!(unknown.starts_with("line 1: `1795965757.512|") && unknown.contains("`SHOW log_line_prefix`"), "{unknown}");
    let other = refused(&odd, "%m [%p] ");
    assert!(other.ends_with("does not begin with log_line_prefix = `%m [%p] `"), "{other}");
    assert!(
        refused(&lines("bench@shop "), "").contains("is of PostgreSQL's log, but its log_line_prefix is not known")
    );
}
