//! What every command does that measures: checks, measures, reads the run back, reports it.
//!
//! In: a resolved plan or a run file to resume, and the options. Out: a run file, a report, the verdict, an exit code.
//! Limits: wiring; the crate `runner` measures, `analysis` and `report` judge and write.

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::flags::Options;
use crate::output::progress::{NotesOnly, Progress};
use crate::{output, signals};
use analysis::Analysis;
use load::Stop;
use model::{Plan, RunData};
use runner::{Resumed, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::RunWriter;

/// Measures every point of `plan`, writes the report and prints the verdict.
pub fn run_plan(plan: &Plan, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let mut progress = Progress::start(plan, context);
    let stop = ready(plan, options, context)?;
    let (run_file, mut writer) = runner::create_run(plan, &options.site, &mut progress)?;
    let (site, observer) = (&options.site, &mut progress);
    let session = Session { plan, site, writer: &mut writer, stop, observer, interruption: None };
    let measured = session.measure_all(&context.catalogue).map_err(Fault::from);
    let finished = writer.finish().map_err(Fault::from);
    conclude(&run_file, Made::Now, measured.and(finished), options, context)
}

/// Measures the points of the run in `run_file` that are not complete, into the same file.
pub fn resume_run(run_file: &Path, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let environment = runner::environment(&options.site, &mut NotesOnly(context));
    let resumed = Resumed::open(run_file, &environment, &context.catalogue)?;
    let stop = ready(&resumed.plan, options, context)?;
    let mut writer = RunWriter::reopen(run_file)?;
    resumed.differences().iter().for_each(|difference| context.note(difference));
    let (plan, interruption) = resumed.into_interruption(writer.last_tick()?);
    let mut progress = Progress::start(&plan, context);
    let (site, observer) = (&options.site, &mut progress);
    let session =
        Session { plan: &plan, site, writer: &mut writer, stop, observer, interruption: Some(interruption) };
    let measured = session.measure_all(&context.catalogue).map_err(Fault::from);
    let finished = writer.finish().map_err(Fault::from);
    conclude(run_file, Made::Before, measured.and(finished), options, context)
}

/// What comes before any measurement: can the plan be run here, and what ends it early?
fn ready(plan: &Plan, options: &Options, context: &Context) -> Result<Arc<Stop>, Fault> {
    runner::check_before_run(plan, &options.site, &context.catalogue, &mut NotesOnly(context))?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    Ok(stop)
}

/// Whose a run file is: one that was there before is never removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Now,
    Before,
}

/// Reads the run back, reports it, and says how it ended. What was measured is reported whatever happened.
fn conclude(
    run_file: &Path,
    made: Made,
    measured: Result<(), Fault>,
    options: &Options,
    context: &Context,
) -> Result<Exit, Fault> {
    let run = store::read(run_file)?;
    if let (Err(fault), true) = (&measured, run.points.is_empty()) {
        if made == Made::Now {
            let _ = std::fs::remove_file(run_file); // there is nothing in it, and the fault says why
        }
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

fn tell(analysis: &Analysis, run: &RunData, run_file: &Path, report: Option<&Path>, context: &Context) {
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
