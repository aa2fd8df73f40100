//! `plimsoll workload show FILE`: what a log holds that `replay-sql` could replay. Its sister `save` is in `recorded_save`.
//!
//! In: a log or a workload file. Out: its statements by kind, its rate over time, its sessions, its tables, and what is left out. Limits: nothing is sent
//! anywhere, so functions and views of a server are not judged: a replay of reads may send less.

use super::recorded_save;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use ::workload::replay_sql::{
    FileContent, LogDialect, RecordingSurvey, Skipped, SqlRecording, StatementKind, clock_text,
};
use clap::{Arg, ArgMatches, Command};
use model::{Bytes, Nanos, OpClass};
use report::wording::quantity::{count, percent, plural, whole};
use serde_json::{Value, json};
use std::path::Path;

/// The stretches of time whose rates are shown.
const STRETCHES: u32 = 24;
/// The kinds and the tables that are shown; JSON has all.
const ROWS_MAX: usize = 15;
const BAR_CHARS: f64 = 40.0;

pub fn clap() -> Command {
    let log = Arg::new("recorded-log").value_name("LOG").required(true);
    let prefix = Arg::new("recorded-prefix")
        .long("log-line-prefix")
        .value_name("TEXT")
        .default_value("")
        .hide_default_value(true);
    let show = Command::new("show")
        .about("Show what a log holds: statements by kind, rate over time, sessions, transactions, tables")
        .arg(log.help(
            "Log of MySQL, MariaDB or PostgreSQL, a packet capture, or a workload file, as `replay-sql` takes it",
        ))
        .arg(prefix.help("Setting log_line_prefix of the PostgreSQL that wrote a log as text"));
    Command::new("workload")
        .about("Look at the workload in a server's log, or save it, before it is replayed")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([show, recorded_save::clap()])
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let (command, matches) = matches.subcommand().expect("clap requires one");
    if command == "save" {
        return recorded_save::execute(matches, context);
    }
    let text = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let path = Path::new(text("recorded-log"));
    let (dialect, recording) = engine::read_whole_log(path, text("recorded-prefix")).map_err(Fault::usage)?;
    let survey = recording.survey(dialect.sql(), STRETCHES);
    let survey = survey.map_err(|error| Fault::usage(error.in_file(&output::shown(path))))?;
    let content = engine::content_of_log(path).map_err(Fault::usage)?;
    if context.json {
        output::json::print(&json(path, dialect, &recording, &survey, content.as_ref()));
    } else {
        let what = if content.is_some() { "a workload file" } else { "a log" };
        let what = format!("{}: {what} of {dialect}", output::shown(path));
        let text = text_of(&what, &recording, &survey);
        output::print(&(text + &content.map_or_else(String::new, |content| content_text(&content))));
    }
    Ok(Exit::Done)
}

fn class_word(kind: &StatementKind) -> &'static str {
    match kind.class {
        _ if kind.is_of_session => "session",
        OpClass::Write => "write",
        OpClass::ReadWrite => "both",
        _ => "read",
    }
}

/// What the recording holds, which `what` names.
fn text_of(what: &str, recording: &SqlRecording, survey: &RecordingSurvey) -> String {
    let length_s = recording.length().as_secs_f64();
    let version = output::escaped(&recording.server.version);
    let version = if version.is_empty() { String::new() } else { format!(" {version}") };
    let from = recording.time_of_day();
    let per_s = recording.len() as f64 / length_s.max(1e-9);
    let mut text = format!(
        "{what}{version}\n{} in {} ({} to {} by its clock), {} per second on average\n{}, at most {} at once, {:.1} on average; {}\n",
        plural(recording.len(), "statement"),
        recording.length(),
        clock_text(from),
        clock_text(Nanos(from.0 + recording.length().0)),
        count(per_s),
        plural(recording.sessions().into(), "session"),
        whole(f64::from(recording.most_at_once())),
        survey.mean_at_once,
        plural(survey.transactions, "transaction"),
    );
    text += &rates_text(recording, survey);
    text += "\nStatements by kind (session: it begins or ends a transaction, or sets something):\n";
    for kind in recording.kinds().iter().take(ROWS_MAX) {
        let share = kind.count as f64 / recording.len() as f64;
        let name = output::escaped(&kind.name);
        text += &format!(
            "{:>8} {:>7} {:<7}  {name}\n",
            whole(kind.count as f64).to_string(),
            percent(share).to_string(),
            class_word(kind)
        );
    }
    text += &rest_text(recording.kinds().len());
    text += "\nTables by the statements that name them (reads, writes):\n";
    for table in survey.tables.iter().take(ROWS_MAX) {
        let [reads, writes] = [table.reads, table.writes].map(|many| whole(many as f64).to_string());
        text += &format!("{reads:>8} {writes:>8}  {}\n", output::escaped(&table.name));
    }
    text += &rest_text(survey.tables.len());
    let left_out = recording.left_out;
    text += &format!(
        "\nLeft out: {} repeated by other lines or meant for the server itself, {} without their values{}{}",
        left_out.repeated,
        left_out.unbound,
        loads_text(left_out.loads),
        own_text(left_out.own)
    );
    text += &skipped_text(&recording.skipped);
    text
}

/// `, 3 that stored rows which the log does not have (COPY, LOAD DATA)`
fn loads_text(loads: u64) -> String {
    if loads == 0 {
        return String::new();
    }
    format!(", {} that stored rows which the log does not have (COPY, LOAD DATA)", whole(loads as f64))
}

/// `, 120 questions of plimsoll itself`
fn own_text(own: u64) -> String {
    if own == 0 { String::new() } else { format!(", {} of plimsoll itself", plural(own, "question")) }
}

/// `; skipped: clock that goes back (1, first in line 3).`: the names of kinds are those of facts, without blanks.
fn skipped_text(skipped: &Skipped) -> String {
    let kinds: Vec<String> =
        skipped.kinds().map(|(name, kind)| format!("{} ({kind})", name.replace('_', " "))).collect();
    if kinds.is_empty() { ".\n".to_owned() } else { format!("; skipped: {}.\n", kinds.join(", ")) }
}

fn rest_text(all: usize) -> String {
    if all > ROWS_MAX { format!("         and {} more; --json has them\n", all - ROWS_MAX) } else { String::new() }
}

/// The rate of each stretch, with a bar.
fn rates_text(recording: &SqlRecording, survey: &RecordingSurvey) -> String {
    let most = survey.stretches.iter().map(|stretch| stretch.statements).max().unwrap_or(1).max(1);
    let mut text = "\nStatements per second:\n".to_owned();
    // The last is the end of the recording alone, if its length is a multiple of theirs.
    for stretch in survey.stretches.iter().filter(|stretch| stretch.begin < recording.length()) {
        let per_s = stretch.statements as f64 / stretch.length.as_secs_f64();
        let bar = "#".repeat((stretch.statements as f64 / most as f64 * BAR_CHARS).round() as usize);
        let at = clock_text(Nanos(recording.time_of_day().0 + stretch.begin.0));
        text += format!("{at} {:>8}  {bar}", count(per_s).to_string()).trim_end();
        text.push('\n');
    }
    text
}

/// What a workload file has besides its statements.
fn content_text(content: &FileContent) -> String {
    let mut text = String::new();
    if content.is_hashed {
        text += "\nIts values are not those that were recorded: each was replaced by another one.\n";
    }
    if !content.settings.is_empty() {
        text += "\nSettings of its server:\n";
    }
    for (name, value) in &content.settings {
        text += &format!("  {} = {}\n", output::escaped(name), output::escaped(value));
    }
    if !content.tables.is_empty() {
        text += "\nSizes of its tables (rows, bytes):\n";
    }
    for table in content.tables.iter().take(ROWS_MAX) {
        let rows = table.rows.map_or_else(|| "-".to_owned(), |rows| whole(rows as f64).to_string());
        let bytes = table.bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes.max(0) as u64).to_string());
        text += &format!("{rows:>14} {bytes:>10}  {}\n", output::escaped(&table.name));
    }
    text + &rest_text(content.tables.len())
}

fn json(
    path: &Path,
    dialect: LogDialect,
    recording: &SqlRecording,
    survey: &RecordingSurvey,
    content: Option<&FileContent>,
) -> Value {
    let kind = |kind: &StatementKind| json!({"kind": kind.name, "class": class_word(kind), "statements": kind.count});
    let stretch = |stretch: &::workload::replay_sql::SurveyedStretch| json!({"begin_s": stretch.begin.as_secs_f64(), "seconds": stretch.length.as_secs_f64(), "statements": stretch.statements});
    let table = |table: &::workload::replay_sql::UsedTable| json!({"table": table.name, "reads": table.reads, "writes": table.writes});
    let settings =
        content.iter().flat_map(|content| &content.settings).map(|(name, value)| (name.clone(), json!(value)));
    let settings: serde_json::Map<String, Value> = settings.collect();
    let sizes = content.iter().flat_map(|content| &content.tables);
    let sizes = sizes.map(|table| json!({"table": table.name, "rows": table.rows, "bytes": table.bytes}));
    let sizes: Vec<Value> = sizes.collect();
    json!({
        "schema": "plimsoll.workload/1", "log": path, "server": dialect.to_string(), "version": recording.server.version,
        "statements": recording.len(), "seconds": recording.length().as_secs_f64(), "begins_at": clock_text(recording.time_of_day()),
        "sessions": recording.sessions(), "sessions_at_once_max": recording.most_at_once(), "sessions_at_once_mean": survey.mean_at_once,
        "transactions": survey.transactions, "kinds": recording.kinds().iter().map(kind).collect::<Vec<Value>>(),
        "rates": survey.stretches.iter().map(stretch).collect::<Vec<Value>>(),
        "tables": survey.tables.iter().map(table).collect::<Vec<Value>>(),
        "left_out": recording.left_out.total(), "skipped": recording.skipped.total(),
        "hashed": content.is_some_and(|content| content.is_hashed), "settings": settings, "sizes": sizes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_plimsoll_itself_are_named_if_there_are_some() {
        assert_eq!((own_text(0), own_text(120)), (String::new(), ", 120 questions of plimsoll itself".to_owned()));
    }

    #[test]
    fn rows_that_the_log_lacks_are_named_if_there_are_some() {
        let expected = ", 2 that stored rows which the log does not have (COPY, LOAD DATA)";
        assert_eq!((loads_text(0), loads_text(2)), (String::new(), expected.to_owned()));
    }

    #[test]
    fn what_was_skipped_is_said_in_words() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped_text(&skipped), ".\n");
        skipped.add("clock that goes back", 3);
        assert_eq!(skipped_text(&skipped), "; skipped: clock that goes back (1, first in line 3).\n");
    }
}
