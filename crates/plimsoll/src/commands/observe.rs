//! `plimsoll observe URL|--pid PID`: a server that others load, watched without a load of its own.
//!
//! In: the URL of a server, or the number of a process. Out: a run file with one point, its report and its answer; with `--roll` one run file after
//! the other, and the answer of the last. Limits: it only reads. Ctrl-C ends it as its time does: what was seen is a complete run.

use super::answer;
use super::measure::{RecordedRun, write_report};
use crate::command_line::command_line;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::output::progress::chores::ProgressLine;
use crate::signals;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use load::Stop;
use model::Nanos;
use report::PointCharts;
use report::wording::quantity::{count, time};
use runner::{FileEnd, RunEvent, RunObserver, RunSite, Watch, WatchSession};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use store::{RunWriter, StoreError};

pub fn clap() -> Command {
    let url = Arg::new("observed-url").value_name("URL").required_unless_present("observed-pid");
    let pid = Arg::new("observed-pid").long("pid").value_name("PID").value_parser(value_parser!(u32).range(1..));
    let password = Arg::new("observe-password")
        .long("password-file")
        .value_name("FILE")
        .default_value("")
        .hide_default_value(true);
    let length = Arg::new("observe-time").long("time").value_name("TIME").default_value("10m");
    let roll = Arg::new("observe-roll").long("roll").value_name("TIME");
    let when = Arg::new("observe-when").long("when").value_name("CONDITION").action(ArgAction::Append);
    let interval = Arg::new("observe-interval").long("interval").value_name("TIME").default_value("1s");
    let out = Arg::new("observe-out").long("out").short('o').value_name("RUN").value_parser(value_parser!(PathBuf));
    let no_report = Arg::new("observe-no-report").long("no-report").action(ArgAction::SetTrue);
    Command::new("observe")
        .arg(url.help("The server: mysql://user@host or postgres://user@host/database"))
        .arg(pid.help("The process of the server: without a URL its machine, disk and threads are watched; with one it names the process"))
        .arg(password.help(
            "File that contains only the password, or `ask`; default: the environment variable PLIMSOLL_PASSWORD",
        ))
        .arg(length.help("How long to watch, or `unlimited` with --roll; Ctrl-C ends it before, and what was seen is kept"))
        .arg(interval.help("How often to read everything, from 100ms to 1h"))
        .arg(roll.help(
            "Begin a new run file at each multiple of this time by the local clock: 1d is from midnight to midnight, 1h from hour to hour",
        ))
        .arg(when.help(
            "Keep details (who runs what, who blocks whom) when this holds in two intervals in a row: `waiting>0`, `running>20`, \
             `connections>200`, `mean>50ms`, `qps<10`, `cpu>90%`, `disk>90%`; may be given several times",
        ))
        .arg(out.help("The run file [default: a name with the time, in the directory of run files]"))
        .arg(flags::runs("Directory of run files and reports"))
        .arg(flags::details())
        .arg(no_report.help("Write the run file, but no report"))
        .about("Watch a server that others load: what it does, what is nearest to its limit, which statements cost most. It only reads")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let text_of = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let times = WatchTimes::from_flags(matches)?;
    let conditions = matches.get_many::<String>("observe-when").into_iter().flatten();
    let conditions = conditions.map(|text| plan::watch_condition(text)).collect::<Result<Vec<_>, _>>()?;
    let (site, name) = place_of(matches)?;
    let pid = matches.get_one::<u32>("observed-pid").copied();
    let mut watch = match text_of("observed-url") {
        Some(url) => Watch::of_server(url, text_of("observe-password").unwrap_or_default(), pid)?,
        None => Watch::of_process(pid.expect("clap requires one of both"))?,
    };
    watch.check_conditions(&conditions)?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let mut session = WatchSession::new(watch, conditions, stop.clone());
    let recorded = record(&mut session, &times, (&site, name.as_deref()), &stop, context)?;
    conclude(recorded, matches, context)
}

/// How long is watched, how often is read, and how often a new file begins.
struct WatchTimes {
    /// `None` until the user ends it.
    length: Option<Nanos>,
    interval: Nanos,
    roll: Option<Nanos>,
}

/// The most intervals of a file. Each has a reading of some hundred counters: to analyse more would take more than a gigabyte of memory.
const INTERVALS_MAX: u64 = 300_000;

impl WatchTimes {
    fn from_flags(matches: &ArgMatches) -> Result<WatchTimes, Fault> {
        let text_of = |name: &str| matches.get_one::<String>(name).map(String::as_str);
        let length = plan::watch_time(text_of("observe-time").expect("it has a default"))?;
        let interval = plan::watch_interval(text_of("observe-interval").expect("it has a default"))?;
        let roll = text_of("observe-roll").map(plan::watch_roll).transpose()?;
        if length.is_some_and(|length| interval > length) {
            return Err(Fault::usage("--interval is longer than --time: nothing would be seen; make --time longer"));
        }
        if roll.is_some_and(|roll| interval > roll) {
            return Err(Fault::usage("--interval is longer than --roll: files would be empty; make --roll longer"));
        }
        let Some(file) = length.into_iter().chain(roll).min() else {
            return Err(Fault::usage(format!(
                "--time {} needs --roll: one file would grow without end; add --roll 1d",
                plan::UNLIMITED
            )));
        };
        if file.0 / interval.0 > INTERVALS_MAX {
            return Err(Fault::usage(format!(
                "one file would have {} intervals, and may have {INTERVALS_MAX}; make --interval longer, or give --roll a shorter time",
                file.0 / interval.0
            )));
        }
        Ok(WatchTimes { length, interval, roll })
    }

    /// How long the file is that begins at `began`, when so much is left of the whole time, and whether the watch goes on after it.
    fn of_file(&self, began: Duration, left: Option<Nanos>) -> (Nanos, bool) {
        let until_next =
            self.roll.map(|roll| runner::until_next_file(began, roll, self.interval, store::local_offset_s));
        match (until_next, left) {
            // What would be left for another file is less than an interval.
            (Some(next), Some(left)) if left.0 < next.0.saturating_add(self.interval.0) => (left, false),
            (Some(next), _) => (next, true),
            (None, left) => (left.expect("without --roll there is a time"), false),
        }
    }
}

/// The directory of the run file, and its name if the user gives one.
fn place_of(matches: &ArgMatches) -> Result<(RunSite, Option<String>), Fault> {
    let out = matches.get_one::<PathBuf>("observe-out");
    let name = out.map(|path| run_name(path)).transpose()?;
    let beside = out.and_then(|path| path.parent()).filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = beside.filter(|dir| !dir.is_dir()) {
        let dir = output::shown(dir);
        return Err(Fault::usage(format!("--out: the directory `{dir}` does not exist; create it, or name another")));
    }
    let runs = match (out, beside) {
        (_, Some(dir)) => dir.to_owned(),
        (Some(_), None) => PathBuf::from("."),
        (None, None) => flags::runs_dir(matches).to_owned(),
    };
    let site = RunSite {
        dir: flags::DIR.into(),
        runs,
        destroy: Vec::new(),
        system_changes: Default::default(),
        writes: Default::default(),
        if_held: Default::default(),
        restore: None,
    };
    Ok((site, name))
}

/// The name of the run in the file `path`.
fn run_name(path: &Path) -> Result<String, Fault> {
    let ends_well = path.extension().is_none_or(|end| end == store::EXTENSION);
    let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| !name.is_empty() && ends_well);
    name.map(str::to_owned).ok_or_else(|| {
        let shown = output::shown(path);
        Fault::usage(format!("--out: `{shown}` is no name of a run file; use one that ends with .{}", store::EXTENSION))
    })
}

/// Records one file after the other, and returns the last.
fn record(
    session: &mut WatchSession,
    times: &WatchTimes,
    (site, name): (&RunSite, Option<&str>),
    stop: &Stop,
    context: &Context,
) -> Result<RecordedRun, Fault> {
    let length = times.length.map_or(String::new(), |length| format!(" for {}", time(length.0 as f64)));
    context.note(format_args!("watching {}{length}; Ctrl-C ends it", session.watch().spoken()));
    let mut left = times.length;
    let mut finishing: Option<Finishing> = None;
    loop {
        let (file_length, goes_on) = times.of_file(session.next_file_begins(), left);
        let plan = session.watch().plan(file_length, times.interval);
        let mut display = WatchDisplay::start(file_length, context);
        let naming = (name, times.roll.is_some());
        let (run_file, mut writer) = session.create_file(&plan, naming, command_line(), site, &mut display)?;
        let measured = session.record(&plan, &mut writer, goes_on, &mut display);
        drop(display);
        let finished = finishing.take().map_or(Ok(()), Finishing::wait);
        if matches!(measured, Ok(FileEnd::GoesOn)) && stop.reason().is_none() && finished.is_ok() {
            context.note(format_args!("{} is complete; the watch goes on", output::shown(&run_file)));
            finishing = Some(Finishing::start(writer)?);
            left = left.map(|left| Nanos(left.0.saturating_sub(file_length.0)));
            continue;
        }
        let last = writer.finish().map_err(Fault::from);
        let measured = measured.map(drop).map_err(Fault::from);
        return Ok(RecordedRun::made_now(run_file, measured.and(last).and(finished)));
    }
}

/// A run file that is made one file and synced while the next is recorded: that may take seconds, in which nothing would be read.
struct Finishing(Option<JoinHandle<Result<(), StoreError>>>);

impl Finishing {
    fn start(writer: RunWriter) -> Result<Finishing, Fault> {
        let thread = std::thread::Builder::new().name("finish".into()).spawn(move || writer.finish());
        Ok(Finishing(Some(thread.map_err(|error| {
            Fault::new(Exit::TargetFailed, format!("cannot start a thread to finish the run file: {error}"))
        })?)))
    }

    fn wait(mut self) -> Result<(), Fault> {
        match self.0.take().map(JoinHandle::join) {
            Some(Ok(finished)) => finished.map_err(Fault::from),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for Finishing {
    /// The process may end now, and would leave the file unfinished.
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join); // another error is on its way to the user
    }
}

/// Reads the run back and prints its answer, also if the watch has ended before its time.
fn conclude(recorded: RecordedRun, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let run = recorded.read_back()?;
    let analysis = analysis::analyse(&run);
    let wants_report = !matches.get_flag("observe-no-report");
    let report = wants_report.then(|| write_report(&analysis, &recorded.file, PointCharts::Telling)).transpose();
    let page = report.as_ref().ok().and_then(Option::as_ref).map(|report| report.html.as_path());
    if context.json {
        output::json::print(&output::json::run(&analysis, &run, &recorded.file, page));
    } else {
        answer::print(&analysis, &recorded.file, page, matches.get_flag("details"), context);
    }
    // As of a load: the first error is the one that counts.
    if let (Err(_), Err(error)) = (&recorded.measured, &report) {
        context.note(&error.text);
    }
    recorded.measured.map_err(|fault| Fault { reported: true, ..fault })?;
    report?;
    Ok(Exit::Done)
}

/// What is seen while it is watched: notes, and on a terminal a line that is written over.
struct WatchDisplay<'a> {
    context: &'a Context,
    line: ProgressLine,
    /// How many seconds are over.
    seconds: f64,
}

impl WatchDisplay<'_> {
    fn start(length: Nanos, context: &Context) -> WatchDisplay<'_> {
        let seconds = length.0.div_ceil(1_000_000_000);
        WatchDisplay { context, line: ProgressLine::start(seconds, context), seconds: 0.0 }
    }
}

impl RunObserver for WatchDisplay<'_> {
    fn on(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Note(text) => self.line.note(text, self.context),
            RunEvent::Interval { rows, .. } if !rows.is_empty() => {
                let done: u64 = rows.iter().flat_map(|row| &row.kinds).map(|kind| kind.ok).sum();
                let seconds: f64 = rows.iter().map(|row| row.length.as_secs_f64()).sum();
                self.seconds += seconds;
                let rate = format!("{} statements/s", count(done as f64 / seconds.max(1e-3)));
                self.line.go_to(self.seconds as u64, &rate);
            }
            _ => {}
        }
    }
}
