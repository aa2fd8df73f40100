//! Measures a plan: from the first look at the directory to the verdict.
//!
//! In: a resolved plan, where to measure, where results go. Out: a run file, a report, the verdict, and an exit code.
//! Limits: points are measured one after the other; one engine instance lives at a time.
//!
//! The way of a point: [`run_plan`] -> [`session::Session::measure`] -> `load::run_phases` -> the clients.

pub mod flags;
pub mod label;
mod progress;
mod session;
pub mod signals;
mod sink;

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use analysis::Analysis;
use flags::Options;
use load::Stop;
use model::{Fact, Plan, RunMeta};
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::RunWriter;

/// Measures every point of `plan`, writes the report and says the verdict.
pub fn run_plan(plan: &Plan, options: &Options, context: &Context) -> Result<Exit, Fault> {
    check_place(plan, options, context)?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let meta = describe_run(plan, options)?;
    let run_file = options.runs.join(format!("{}.plimsoll", meta.run_id));
    let mut writer = create_run(&run_file, &meta)?;
    let measured = Session::new(plan, options, context, &mut writer, stop).and_then(Session::measure_all);
    writer.finish()?;
    conclude(&run_file, measured, options, context)
}

/// Looks before anything is written: is this a place to measure, is there room, did an earlier run leave something?
fn check_place(plan: &Plan, options: &Options, context: &Context) -> Result<(), Fault> {
    target::safety::check_directory(&options.dir)?;
    for note in target::dataset::sweep_abandoned(&options.dir) {
        context.note(note);
    }
    let peak = plan.trials.iter().map(target::estimate::disk_bytes).max().unwrap_or_default();
    Ok(target::safety::check_space(&options.dir, peak)?)
}

/// What is known of the run before its first point.
fn describe_run(plan: &Plan, options: &Options) -> Result<RunMeta, Fault> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = chrono::DateTime::from_timestamp(now.as_secs() as i64, 0).unwrap_or_default();
    Ok(RunMeta {
        run_id: free_name(&options.runs, &format!("{}-{}", started.format("%Y%m%d-%H%M%S"), plan.name)),
        started_unix_ms: now.as_millis() as u64,
        plimsoll_version: env!("CARGO_PKG_VERSION").into(),
        plan: plan.clone(),
        environment: environment(&options.dir),
    })
}

/// `name`, or with a number behind it where a run of this second has it already.
fn free_name(runs: &Path, name: &str) -> String {
    let taken = |name: &str| runs.join(format!("{name}.plimsoll")).exists();
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).expect("numbers do not end")
}

/// The machine and the place: what must be alike for two runs to be compared.
fn environment(dir: &Path) -> Vec<Fact> {
    let mut facts = target::machine::facts();
    facts.extend(target::filesystem::place_of(dir).map(|place| place.facts()).unwrap_or_default());
    facts
}

fn create_run(run_file: &Path, meta: &RunMeta) -> Result<RunWriter, Fault> {
    let runs = run_file.parent().unwrap_or(Path::new("."));
    let cannot = |error| {
        Fault::new(
            Exit::Refused,
            format!("cannot make the directory `{}` for run files: {error}; use --runs", runs.display()),
        )
    };
    std::fs::create_dir_all(runs).map_err(cannot)?;
    Ok(RunWriter::create(run_file, meta)?)
}

/// Reads the run back, reports it, and says how it ended. What was measured is reported whatever happened.
fn conclude(run_file: &Path, measured: Result<(), Fault>, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let run = store::read(run_file)?;
    if let (Err(fault), true) = (&measured, run.points.is_empty()) {
        let _ = std::fs::remove_file(run_file); // there is nothing in it, and the fault says why
        return Err(Fault::new(fault.exit, fault.text.clone()));
    }
    let analysis = analysis::analyse(&run);
    let report = if options.report { Some(report::write(&analysis, &report_dir(run_file))?.html) } else { None };
    tell(&analysis, &run, run_file, report.as_deref(), context);
    match measured {
        Ok(()) => Ok(Exit::of_validity(analysis.points.iter().map(|point| point.validity).max(), options.strict)),
        Err(fault) => Err(Fault { told: true, ..fault }),
    }
}

fn tell(analysis: &Analysis, run: &model::RunData, run_file: &Path, report: Option<&Path>, context: &Context) {
    if context.json {
        return output::json::print(&output::json::run(analysis, run, run_file, report));
    }
    output::print(&report::terminal::summary(analysis, context.width(), context.colour()));
    let shown = report.unwrap_or(run_file);
    output::print(&format!("\n{} {}\n", if report.is_some() { "report:" } else { "run file:" }, shown.display()));
}

/// Where the report of a run file goes.
pub fn report_dir(run_file: &Path) -> PathBuf {
    let mut name = run_file.file_stem().unwrap_or_default().to_owned();
    name.push("-report");
    run_file.with_file_name(name)
}
