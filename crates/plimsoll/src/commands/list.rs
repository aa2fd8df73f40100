//! `plimsoll list`: the recorded runs of a directory.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output::{self, label};
use clap::{Arg, ArgMatches, Command};
use model::{PointData, PointState, RunData, Trial};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use store::RunHead;

pub fn clap() -> Command {
    Command::new("list").arg(flags::runs("Directory of run files")).about("List recorded runs")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let dir = flags::runs_dir(matches);
    let files = run_files_of(dir)?;
    let heads: Vec<(PathBuf, Result<RunHead, String>)> = files
        .into_iter()
        .map(|path| (path.clone(), store::read_meta(&path).map_err(|error| error.to_string())))
        .collect();
    if context.json {
        output::json::print(&json(&heads))
    } else {
        output::print(&text(dir, &heads, context.width()))
    }
    Ok(Exit::Done)
}

/// The argument that names a recorded run, and the flag that names the directory to look in.
pub fn run_arguments(command: Command) -> Command {
    let run = Arg::new("run").value_name("RUN").required(true);
    command.arg(run.help("Run file, name of a run in --runs, or `last`")).arg(flags::runs("Directory of run files"))
}

/// The flag that chooses a point of a recorded run; its help is for the command to write.
pub fn point_argument() -> Arg {
    Arg::new("point").long("point").value_name("N").value_parser(clap::value_parser!(u32).range(1..))
}

/// The run file that the arguments of [`run_arguments`] name.
pub fn run_file(matches: &ArgMatches) -> Result<PathBuf, Fault> {
    find(matches.get_one::<String>("run").expect("clap requires it"), flags::runs_dir(matches))
}

/// The run file that `text` names: the file itself, a run in `dir` by its name, or `last` for the newest there.
pub fn find(text: &str, dir: &Path) -> Result<PathBuf, Fault> {
    let extension = format!(".{}", store::EXTENSION);
    let named = dir.join(text.strip_suffix(&extension).unwrap_or(text).to_owned() + &extension);
    match text {
        // Whether it is a run file and can be read is found when it is opened.
        file if Path::new(file).exists() => Ok(file.into()),
        "last" => newest(dir),
        _ if named.is_file() => Ok(named),
        _ => Err(Fault::usage(format!(
            "there is no run `{text}`: neither a file nor a run in `{}`; `plimsoll list` shows the runs",
            output::shown(dir)
        ))),
    }
}

/// What names the run in `run_file` in a command, ready to paste: `last` if it is the newest in `dir`, which another run may have become meanwhile.
pub fn name_to_type(run_file: &Path, dir: &Path) -> String {
    let last = find("last", dir).ok().and_then(|last| last.canonicalize().ok());
    if last.is_some() && last == run_file.canonicalize().ok() {
        return "last".to_owned();
    }
    output::shell_word(&run_file.display().to_string()).into_owned()
}

/// The files of the runs that `names` name in `dir`. A run that is named twice is refused with `advice`.
pub fn find_distinct(names: &[&String], dir: &Path, advice: &str) -> Result<Vec<PathBuf>, Fault> {
    let files: Vec<PathBuf> = names.iter().map(|name| find(name, dir)).collect::<Result<_, _>>()?;
    let resolved: Vec<PathBuf> =
        files.iter().map(|file| file.canonicalize().unwrap_or_else(|_| file.clone())).collect();
    match (1..resolved.len()).find(|nth| resolved[..*nth].contains(&resolved[*nth])) {
        Some(nth) => Err(Fault::usage(format!("`{}` is named twice; {advice}", output::shown(&files[nth])))),
        None => Ok(files),
    }
}

/// The point that is asked for: it is complete.
pub fn chosen_point(run: &RunData, number: Option<u32>) -> Result<&PointData, Fault> {
    let point = match (number, run.points.as_slice()) {
        (Some(number), points) => points
            .iter()
            .find(|point| point.id == number)
            .ok_or_else(|| Fault::usage(format!("--point: the run has no point {number}; {}", listed_points(run))))?,
        (None, [only]) => only,
        (None, _) => return Err(Fault::usage(format!("which point? {}", listed_points(run)))),
    };
    match point.state {
        PointState::Complete => Ok(point),
        _ => {
            let why = point.error.as_deref().unwrap_or("it was interrupted");
            Err(Fault::usage(format!("point {} is not complete: {why}; choose another one", point.id)))
        }
    }
}

/// The points with their numbers, as far as a line holds them.
pub fn listed_points(run: &RunData) -> String {
    const MOST: usize = 12;
    let listed: Vec<String> = run
        .points
        .iter()
        .zip(&label::of_points(run))
        .take(MOST)
        .map(|(point, label)| format!("--point {} is {label}", point.id))
        .collect();
    let more = run.points.len().saturating_sub(MOST);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    listed.join(", ") + &more
}

fn newest(dir: &Path) -> Result<PathBuf, Fault> {
    let newest = run_files_of(dir)?.pop();
    newest.ok_or_else(|| {
        Fault::usage(format!("there are no runs in `{}`; name another directory with --runs", output::shown(dir)))
    })
}

/// The run files of `dir`, the oldest first, and before them those whose names tell no time; none if there is no such directory.
pub fn run_files_of(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(dir).map_err(|error| {
        let (dir, why) = (output::shown(dir), host::error::system_words(&error));
        Fault::new(Exit::Refused, format!("cannot list `{dir}`: {why}; choose another directory with --runs"))
    })?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == store::EXTENSION)).collect();
    files.sort_by_cached_key(|file| (begins_with_time(file), file.clone()));
    Ok(files)
}

/// Whether the name of a run begins with its time, such as `20261123-161017-quick`. Imported runs may have any name: they are never the newest.
fn begins_with_time(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() > 15
        && name
            .iter()
            .take(15)
            .enumerate()
            .all(|(place, byte)| if place == 8 { *byte == b'-' } else { byte.is_ascii_digit() })
}

/// To analyse a run takes some hundredths of a second for each MB, so the older ones are listed without their answers, and so are large ones.
const ANSWERED_MAX: usize = 20;
const ANSWERED_BYTES_MAX: u64 = 8 << 20;

fn text(dir: &Path, heads: &[(PathBuf, Result<RunHead, String>)], width: usize) -> String {
    let mut text = String::new();
    let names = heads.iter().filter_map(|(path, _)| path.file_stem());
    let name_width = names.map(|name| name.len()).max().unwrap_or_default();
    for (nth, (path, head)) in heads.iter().enumerate() {
        let name = path.file_stem().unwrap_or_default();
        let about = head.as_ref().map_or_else(|error| output::escaped(error).into_owned(), in_a_line);
        let _ = writeln!(text, "{:name_width$}  {about}", output::shown(Path::new(name)));
        let is_small = || path.metadata().is_ok_and(|file| file.len() <= ANSWERED_BYTES_MAX);
        let is_answered = nth + ANSWERED_MAX >= heads.len() && head.is_ok() && is_small();
        let answer = is_answered.then(|| store::read(path).ok()).flatten();
        let answer = answer.map(|run| report::terminal_sentence(analysis::answer(&analysis::analyse(&run)).headline()));
        for line in answer.iter().flat_map(|answer| report::wrapped(answer, width.saturating_sub(INDENT))) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    }
    if text.is_empty() {
        let _ = writeln!(text, "no runs in `{}` yet; `plimsoll quick` records one", output::shown(dir));
    }
    text
}

/// An answer is below the name of its run.
const INDENT: usize = 4;

/// `2 points: oltp on sqlite, mysql`, `1 of 2 points: file`. The name of the run has its time.
fn in_a_line(head: &RunHead) -> String {
    let (complete, planned) = (complete(head), head.meta.plan.trials.len());
    // A search is one trial of the plan and makes as many points as it needs.
    let (all, is_all) = (planned.max(complete), complete >= planned);
    let noun = if all == 1 { "point" } else { "points" };
    let state = if is_all { format!("{all} {noun}") } else { format!("{complete} of {all} {noun}") };
    format!("{state}: {}", measured(&head.meta.plan.trials))
}

/// Each workload with its engines: `oltp on sqlite, mysql; file`.
fn measured(trials: &[Trial]) -> String {
    let mut engines_of: Vec<(&str, Vec<&str>)> = Vec::new();
    for trial in trials {
        let (workload, engine) = (trial.workload.name.as_str(), trial.target.engine.as_str());
        match engines_of.iter_mut().find(|(known, _)| *known == workload) {
            Some((_, engines)) if engines.contains(&engine) => {}
            Some((_, engines)) => engines.push(engine),
            None => engines_of.push((workload, vec![engine])),
        }
    }
    let on = |(workload, engines): &(&str, Vec<&str>)| match engines.as_slice() {
        // The engine `file` of the workload `file` needs no name.
        [engine] if engine == workload => (*workload).to_owned(),
        engines => format!("{workload} on {}", engines.join(", ")),
    };
    let parts: Vec<String> = engines_of.iter().map(on).collect();
    report::terminal_text(&parts.join("; "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_last_one_until_another_one_began_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(format!("{name}.{}", store::EXTENSION));
        let (first, second) = (file("20261201-143849-quick"), file("20261201-143901-file"));
        std::fs::write(&first, "").unwrap();
        assert_eq!(name_to_type(&first, dir.path()), "last");
        std::fs::write(&second, "").unwrap();
        let path = first.display().to_string();
        assert_eq!([&first, &second].map(|file| name_to_type(file, dir.path())), [path.as_str(), "last"]);
        assert_eq!(name_to_type(Path::new("gone/a b"), Path::new("gone")), "'gone/a b'");
    }
}
