//! `plimsoll observe URL|--pid PID`: a server that others load, watched without a load of its own.
//!
//! In: the URL of a server, or the number of a process. Out: a run file with one point, its report and its answer. Limits: it only reads. Ctrl-C
//! ends it as its time does: what was seen is a complete run.

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
use runner::{RunEvent, RunObserver, RunSite, Watch, WatchSession};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn clap() -> Command {
    let url = Arg::new("observed-url").value_name("URL").required_unless_present("observed-pid");
    let pid = Arg::new("observed-pid").long("pid").value_name("PID").value_parser(value_parser!(u32).range(1..));
    let password = Arg::new("observe-password")
        .long("password-file")
        .value_name("FILE")
        .default_value("")
        .hide_default_value(true);
    let length = Arg::new("observe-time").long("time").value_name("TIME").default_value("10m");
    let interval = Arg::new("observe-interval").long("interval").value_name("TIME").default_value("1s");
    let out = Arg::new("observe-out").long("out").short('o').value_name("RUN").value_parser(value_parser!(PathBuf));
    let no_report = Arg::new("observe-no-report").long("no-report").action(ArgAction::SetTrue);
    Command::new("observe")
        .arg(url.help("The server: mysql://user@host or postgres://user@host/database"))
        .arg(pid.help("The process of the server: without a URL its machine, disk and threads are watched; with one it names the process"))
        .arg(password.help(
            "File that contains only the password, or `ask`; default: the environment variable PLIMSOLL_PASSWORD",
        ))
        .arg(length.help("How long to watch; Ctrl-C ends it before, and what was seen is kept"))
        .arg(interval.help("How often to read everything, from 100ms to 1h"))
        .arg(out.help("The run file [default: a name with the time, in the directory of run files]"))
        .arg(flags::runs("Directory of run files and reports"))
        .arg(flags::details())
        .arg(no_report.help("Write the run file, but no report"))
        .about("Watch a server that others load: what it does, what is nearest to its limit, which statements cost most. It only reads")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let text_of = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let length = plan::run_time(text_of("observe-time").expect("it has a default"))?;
    let interval = plan::watch_interval(text_of("observe-interval").expect("it has a default"))?;
    if interval > length {
        return Err(Fault::usage("--interval is longer than --time: nothing would be seen; make --time longer"));
    }
    let (site, name) = place_of(matches)?;
    let pid = matches.get_one::<u32>("observed-pid").copied();
    let watch = match text_of("observed-url") {
        Some(url) => Watch::of_server(url, text_of("observe-password").unwrap_or_default(), pid)?,
        None => Watch::of_process(pid.expect("clap requires one of both"))?,
    };
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let recorded = record(watch, (length, interval), (&site, name.as_deref()), stop, context)?;
    conclude(recorded, matches, context)
}

/// The directory of the run file, and its name if the user gives one.
fn place_of(matches: &ArgMatches) -> Result<(RunSite, Option<String>), Fault> {
    let out = matches.get_one::<PathBuf>("observe-out");
    let name = out.map(|path| run_name(path)).transpose()?;
    let beside = out.and_then(|path| path.parent()).filter(|dir| !dir.as_os_str().is_empty());
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

fn record(
    watch: Watch,
    (length, interval): (Nanos, Nanos),
    (site, name): (&RunSite, Option<&str>),
    stop: Arc<Stop>,
    context: &Context,
) -> Result<RecordedRun, Fault> {
    let plan = watch.plan(length, interval);
    let mut display = WatchDisplay::start(length, context);
    let (run_file, mut writer) = watch.create_run(&plan, name, command_line(), site, &mut display)?;
    context.note(format_args!("watching {} for {}; Ctrl-C ends it", watch.spoken(), time(length.0 as f64)));
    let session = WatchSession { plan: &plan, writer: &mut writer, stop, observer: &mut display, watch };
    let measured = session.record().map_err(Fault::from);
    drop(display);
    let finished = writer.finish().map_err(Fault::from);
    Ok(RecordedRun::made_now(run_file, measured.and(finished)))
}

/// Reads the run back and prints its answer, also if the watch has ended before its time.
fn conclude(recorded: RecordedRun, matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let run = recorded.read_back()?;
    let analysis = analysis::analyse(&run);
    let wants_report = !matches.get_flag("observe-no-report");
    let report = wants_report.then(|| write_report(&analysis, &recorded.file, PointCharts::Telling)).transpose()?;
    let page = report.as_ref().map(|report| report.html.as_path());
    if context.json {
        output::json::print(&output::json::run(&analysis, &run, &recorded.file, page));
    } else {
        answer::print(&analysis, &recorded.file, matches.get_flag("details"), context);
    }
    recorded.measured.map_err(|fault| Fault { reported: true, ..fault })?;
    Ok(Exit::Done)
}

/// What is seen while it is watched: notes, and on a terminal a line that is written over.
struct WatchDisplay<'a> {
    context: &'a Context,
    line: ProgressLine,
}

impl WatchDisplay<'_> {
    fn start(length: Nanos, context: &Context) -> WatchDisplay<'_> {
        let seconds = length.0.div_ceil(1_000_000_000);
        WatchDisplay { context, line: ProgressLine::start(seconds, context) }
    }
}

impl RunObserver for WatchDisplay<'_> {
    fn on(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Note(text) => self.line.note(text, self.context),
            RunEvent::Interval { rows, .. } if !rows.is_empty() => {
                let done: u64 = rows.iter().flat_map(|row| &row.kinds).map(|kind| kind.ok).sum();
                let seconds: f64 = rows.iter().map(|row| row.length.as_secs_f64()).sum();
                self.line.go_on(seconds, &format!("{} statements/s", count(done as f64 / seconds.max(1e-3))));
            }
            _ => {}
        }
    }
}
