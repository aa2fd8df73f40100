//! `plimsoll list`: the recorded runs of a directory.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use clap::{Arg, ArgMatches, Command};
use model::PointState;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use store::RunHead;

/// The command.
pub fn clap() -> Command {
    Command::new("list").arg(flags::runs("Directory of run files")).about("List recorded runs")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let dir = flags::runs_dir(matches);
    let heads: Vec<(PathBuf, Result<RunHead, String>)> = run_files(dir)?
        .into_iter()
        .map(|path| (path.clone(), store::read_meta(&path).map_err(|error| error.to_string())))
        .collect();
    match context.json {
        true => output::json::print(&json(&heads)),
        false => output::print(&text(dir, &heads)),
    }
    Ok(Exit::Done)
}

/// The argument that names a recorded run, and the flag that names the directory to look in.
pub fn run_arguments(command: Command) -> Command {
    let run = Arg::new("run").value_name("RUN").required(true);
    command.arg(run.help("Run file, name of a run in --runs, or `last`")).arg(flags::runs("Directory of run files"))
}

/// The run file that the arguments of [`run_arguments`] name.
pub fn run_file(matches: &ArgMatches) -> Result<PathBuf, Fault> {
    find(matches.get_one::<String>("run").expect("required"), flags::runs_dir(matches))
}

/// The run file that `text` names: the file itself, a run in `dir` by its name, or `last` for the newest there.
pub fn find(text: &str, dir: &Path) -> Result<PathBuf, Fault> {
    let named = dir.join(format!("{text}.{}", store::EXTENSION));
    match text {
        // Whether it is a run file and can be read is found when it is opened.
        file if Path::new(file).exists() => Ok(file.into()),
        "last" => {
            run_files(dir)?.pop().ok_or_else(|| Fault::usage(format!("there are no runs in `{}`", output::shown(dir))))
        }
        _ if named.is_file() => Ok(named),
        _ => Err(Fault::usage(format!(
            "there is no run `{text}`: neither a file nor a run in `{}`; `plimsoll list` shows the runs",
            output::shown(dir)
        ))),
    }
}

/// The run files of `dir`, the oldest first.
fn run_files(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let cannot = |error: std::io::Error| {
        let dir = output::shown(dir);
        Fault::usage(match error.kind() {
            std::io::ErrorKind::NotFound => format!("no runs yet in `{dir}`; `plimsoll quick` records one"),
            _ => format!(
                "cannot list `{dir}`: {}; choose another directory with --runs",
                host::error::system_words(&error)
            ),
        })
    };
    let entries = std::fs::read_dir(dir).map_err(cannot)?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == store::EXTENSION)).collect();
    files.sort();
    Ok(files)
}

fn text(dir: &Path, heads: &[(PathBuf, Result<RunHead, String>)]) -> String {
    let mut text = String::new();
    for (path, head) in heads {
        let about = head.as_ref().map_or_else(|error| output::escaped(error).into_owned(), in_a_line);
        let _ = writeln!(text, "{}\n    {about}", output::shown(path));
    }
    if text.is_empty() {
        let _ = writeln!(text, "no runs in `{}` yet; `plimsoll quick` records one", output::shown(dir));
    }
    text
}

fn in_a_line(head: &RunHead) -> String {
    let complete = complete(head);
    let started = chrono::DateTime::from_timestamp_millis(head.meta.started_unix_ms as i64).unwrap_or_default();
    let title = report::terminal_text(&head.meta.plan.title);
    let planned = head.meta.plan.trials.len();
    let state = match complete == planned {
        true => "complete".to_owned(),
        false => format!("{complete} of {planned} points complete"),
    };
    format!("{} UTC, {state}: {title}", started.format("%Y-%m-%d %H:%M"))
}

fn complete(head: &RunHead) -> usize {
    head.points.iter().filter(|point| point.state == PointState::Complete).count()
}

fn json(heads: &[(PathBuf, Result<RunHead, String>)]) -> serde_json::Value {
    let run = |(path, head): &(PathBuf, Result<RunHead, String>)| match head {
        Ok(head) => serde_json::json!({
            "run": path, "plan": head.meta.plan.name, "title": head.meta.plan.title,
            "started_unix_ms": head.meta.started_unix_ms, "points_planned": head.meta.plan.trials.len(),
            "points_complete": complete(head),
            "points": head.points.iter().map(|point| serde_json::json!({
                "point": point.id, "state": point.state, "engine": point.engine, "workload": point.workload,
                "clients": point.clients, "depth": point.depth, "repeat": point.repeat})).collect::<Vec<_>>(),
        }),
        Err(error) => serde_json::json!({"run": path, "error": error}),
    };
    serde_json::json!({"schema": "plimsoll.list/1", "runs": heads.iter().map(run).collect::<Vec<_>>()})
}
