//! `plimsoll workload save LOG --out FILE`: a log as one file that can be taken along.
//!
//! In: whatever `replay-sql` takes, and a server if its settings are to be in the file, too. Out: a workload file, which `replay-sql`
//! takes in place of the log. Limits: nothing is sent to the server but questions about its catalogue.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::{output, signals};
use ::workload::replay_sql::{FileContent, LogDialect, SavedWorkload, ToSave};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use engine::found_schema::{SchemaSource, find_settings, find_sizes};
use load::Stop;
use model::Bytes;
use report::wording::quantity::{plural, whole};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The log, and the flag that names it, too.
const LOG: &str = "saved-log";
const LOG_FLAG: &str = "saved-log-flag";

pub fn clap() -> Command {
    let text = |name: &'static str, flag: &'static str, usual: &'static str| {
        Arg::new(name).long(flag).default_value(usual).hide_default_value(usual.is_empty())
    };
    let log = |id: &'static str| Arg::new(id).value_name("LOG").value_parser(value_parser!(PathBuf));
    let flag = log(LOG_FLAG).long("log").conflicts_with(LOG).help("The same as LOG");
    let log = log(LOG).required_unless_present(LOG_FLAG);
    let out = Arg::new("saved-out").long("out").short('o').value_name("FILE").required(true);
    let hash = Arg::new("hash-values").long("hash-values").action(ArgAction::SetTrue);
    let server = Arg::new("asked-server").long("engine").value_name("URL");
    Command::new("save")
        .about("Save a log as one file that can be taken along and replayed elsewhere")
        .arg(log.help("Log of MySQL, MariaDB or PostgreSQL, a packet capture, or a workload file, as `replay-sql` takes it"))
        .arg(flag)
        .arg(out.value_parser(value_parser!(PathBuf)).help("Workload file, which must not exist yet, such as `load.workload`"))
        .arg(
            text("saved-prefix", "log-line-prefix", "")
                .value_name("TEXT")
                .help("Setting log_line_prefix of the PostgreSQL that wrote a log as text"),
        )
        .arg(
            text("saved-from", "from", "0s")
                .value_name("TIME")
                .help("Where the part begins that is saved: a time of the day by the clock of the log, or a time after its first statement"),
        )
        .arg(text("saved-for", "for", "end").value_name("TIME").help("How much of the log is saved, such as `30m`; `end` is up to its end"))
        .arg(hash.help(
            "Replace each value by another one of the same type, length and make, by a key that is kept nowhere, and leave out comments. Names of tables and columns, lengths, \
             which values are equal and how often each is there can still be seen; a replay finds other rows",
        ))
        .arg(server.help("Server whose version, settings and sizes of tables are to be in the file, too: mysql://user@host/ or postgres://user@host/database"))
        .arg(text("asked-password", "password-file", "").value_name("FILE").help(
            "File that contains only the password of that server, or `ask`; default: the environment variable PLIMSOLL_PASSWORD",
        ))
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let text = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let log = path(LOG).or_else(|| path(LOG_FLAG)).expect("clap requires one of them");
    let out = path("saved-out").expect("clap requires it");
    host::safety::check_links(out)?;
    let asked = matches
        .get_one::<String>("asked-server")
        .map(|url| AskedServer::at(url, text("asked-password")))
        .transpose()?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let ask = |dialect: LogDialect, tables: &BTreeSet<String>| match &asked {
        Some(server) => server.content(dialect, tables),
        None => Ok(FileContent::default()),
    };
    let to_save = ToSave {
        log_line_prefix: text("saved-prefix"),
        from: text("saved-from"),
        length: text("saved-for"),
        hash_values: matches.get_flag("hash-values"),
        is_stopped: &|| stop.reason().is_some(),
        ask: &ask,
    };
    let saved = engine::save_log(log, out, &to_save).map_err(|text| {
        let exit = if stop.reason().is_some() { signals::exit() } else { Exit::Usage };
        Fault::new(exit, text)
    })?;
    show(out, &saved, context);
    Ok(Exit::Done)
}

/// A server that is asked for what is saved of it.
struct AskedServer {
    source: SchemaSource,
    dialect: LogDialect,
    settings: Vec<(String, String)>,
}

impl AskedServer {
    /// Asks for the settings: a server that cannot be reached is reported before the log is read.
    fn at(url: &str, password_file: &str) -> Result<AskedServer, Fault> {
        let source = SchemaSource {
            place: url.to_owned(),
            password_file: password_file.to_owned(),
            schema: String::new(),
            sample_rows: 0,
            hides_names: false,
        };
        let (dialect, settings) = find_settings(&source)?;
        Ok(AskedServer { source, dialect, settings })
    }

    fn content(&self, dialect: LogDialect, tables: &BTreeSet<String>) -> Result<FileContent, String> {
        if dialect != self.dialect {
            return Err(format!("it has the statements of {dialect}, and --engine names a server of {}", self.dialect));
        }
        let tables = find_sizes(&self.source, tables).map_err(|error| error.to_string())?;
        Ok(FileContent { settings: self.settings.clone(), tables, ..FileContent::default() })
    }
}

fn show(out: &Path, saved: &SavedWorkload, context: &Context) {
    let bytes = out.metadata().map_or(0, |meta| meta.len());
    if context.json {
        let SavedWorkload { statements, sessions, skipped } = *saved;
        output::json::print(&json!({
            "schema": "plimsoll.saved-workload/1", "file": out, "bytes": bytes, "statements": statements, "sessions": sessions, "skipped": skipped,
        }));
        return;
    }
    output::print(&text(out, saved, Bytes(bytes)));
}

fn text(out: &Path, saved: &SavedWorkload, bytes: Bytes) -> String {
    let SavedWorkload { statements, sessions, skipped } = *saved;
    let left =
        if skipped == 0 { String::new() } else { format!("; {} entries could not be kept", whole(skipped as f64)) };
    let file = output::shown(out);
    format!(
        "{file}: {} of {}, {bytes}{left}\nNext: plimsoll replay-sql {} --engine URL\n",
        plural(statements, "statement"),
        plural(sessions, "session"),
        output::shell_word(&file),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_replays_can_be_pasted_and_no_terminal_obeys_it() {
        let saved = SavedWorkload { statements: 2, sessions: 1, skipped: 0 };
        let next =
            |name: &str| text(Path::new(name), &saved, Bytes(1)).lines().next_back().unwrap_or_default().to_owned();
        assert_eq!(next("my shop.workload"), "Next: plimsoll replay-sql 'my shop.workload' --engine URL");
        let hostile = text(Path::new("a\u{1b}[31m\rb.workload"), &saved, Bytes(1));
        assert!(hostile.chars().all(|c| c == '\n' || !c.is_control()) && hostile.contains("b.workload"), "{hostile:?}");
    }
}
