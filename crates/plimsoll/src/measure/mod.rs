//! Measures a plan: from the first look at the directory to the verdict.
//!
//! In: a resolved plan, where to measure, where results go. Out: a run file, a report, the verdict, and an exit code.
//! Limits: points are measured one after the other; one engine instance lives at a time.
//!
//! The way of a point: [`run_plan`] -> [`session::Session::measure`] -> `load::run_phases` -> the clients.

pub mod ceilings;
pub mod flags;
pub mod label;
mod progress;
mod read_back;
mod replay;
mod resume;
mod rounds;
mod session;
pub mod signals;
mod sink;
pub mod unrecorded;

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use analysis::Analysis;
use flags::Options;
use host::TargetError;
use host::device::Device;
use load::Stop;
use model::{Bytes, Catalogue, Fact, Nanos, Plan, RunMeta, Trial};
use resume::Resumed;
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::{RunWriter, StoreError};

/// Making data has no deadline: it ends when the data is made.
const PREPARE_AT_MOST: Nanos = Nanos::from_secs(7 * 24 * 3600);

/// Measures every point of `plan`, writes the report and says the verdict.
pub fn run_plan(plan: &Plan, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let stop = ready(plan, options, context)?;
    let (run_file, mut writer) = create_run(describe_run(plan, options, context), options)?;
    let measured = Session::new(plan, options, context, &mut writer, stop).measure_all();
    let finished = writer.finish().map_err(Fault::from);
    conclude(&run_file, Made::Now, measured.and(finished), options, context)
}

/// Measures the points of the run in `run_file` that are not complete, into the same file.
pub fn resume_run(run_file: &Path, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let resumed = Resumed::of(run_file, &environment(options, context), &context.catalogue)?;
    let stop = ready(&resumed.plan, options, context)?;
    let mut writer = RunWriter::reopen(run_file)?;
    resumed
        .unlike()
        .iter()
        .for_each(|unlike| context.note(format_args!("{unlike}: the points before stood on the other")));
    let (plan, first, interruption) = resumed.interruption(writer.last_tick()?);
    let session = Session::new(&plan, options, context, &mut writer, stop).go_on(first, interruption);
    let measured = session.measure_all();
    let finished = writer.finish().map_err(Fault::from);
    conclude(run_file, Made::Before, measured.and(finished), options, context)
}

/// What comes before any measurement: can the plan be run here, and what ends it early?
fn ready(plan: &Plan, options: &Options, context: &Context) -> Result<Arc<Stop>, Fault> {
    check_abilities(plan, &context.catalogue)?;
    check_place(plan, options, context)?;
    engine::server::url::ask_for_passwords(plan.trials.iter().map(|trial| &trial.target.params))?;
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    Ok(stop)
}

/// Refuses a plan with a point that its engine cannot perform, before the points before it are measured.
pub fn check_abilities(plan: &Plan, catalogue: &Catalogue) -> Result<(), Fault> {
    let engine =
        |trial: &Trial| engine::find(&trial.target.engine).expect("the plan was checked against the catalogue");
    plan.trials.iter().try_for_each(|trial| (engine(trial).check)(trial))?;
    plan::chains(plan, catalogue).into_iter().try_for_each(|chain| check_beginning(&plan.trials[chain.start]))
}

/// Refuses a sequence of steps whose first would ask for rows that nobody has inserted.
fn check_beginning(trial: &Trial) -> Result<(), Fault> {
    let def = workload::find(&trial.workload.name).expect("the plan was checked against the catalogue");
    match (def.data_reuse)(&trial.workload.params) {
        workload::Reuse::Continues { begins: false, .. } => Err(Fault::usage(format!(
            "step = `{}` asks for rows, and no step before it inserts any: name one, such as `l.i1`, and let no list tear them apart",
            trial.workload.params.word("step")
        ))),
        _ => Ok(()),
    }
}

/// Looks before anything is written: is this a place to measure, is it free, is there room, did an earlier run leave something?
pub fn check_place(plan: &Plan, options: &Options, context: &Context) -> Result<(), Fault> {
    host::safety::check_directory(&options.dir)?;
    let swept = host::data_dir::sweep_abandoned(&options.dir, host::volume::release);
    let groups = host::cgroup::sweep_abandoned();
    swept.notes.iter().chain(&groups).for_each(|note| context.note(note));
    if let Some(used) = swept.in_use.first() {
        let text = format!(
            "another plimsoll measures here (`{}`): both would measure each other; wait for it",
            used.display()
        );
        return Err(Fault::new(Exit::Refused, text));
    }
    check_targets(plan, options)?;
    let chains = plan::chains(plan, &context.catalogue);
    Ok(chains.into_iter().try_for_each(|chain| check_room(&plan.trials[chain], &options.dir))?)
}

/// Can the file systems be made that points are to be measured on, and may the block devices be written to that they name?
pub fn check_targets(plan: &Plan, options: &Options) -> Result<(), TargetError> {
    plan.trials.iter().try_for_each(|trial| {
        engine::requirements::check_file_system(trial)?;
        engine::requirements::check_limits(trial)?;
        check_device(trial, options)
    })
}

/// The directories of data and run files may not lie on it.
fn check_device(trial: &Trial, options: &Options) -> Result<(), TargetError> {
    let device = trial.target.path.as_deref().and_then(Device::at);
    match device.filter(|_| engine::estimate::writes(trial)) {
        Some(device) => device.check_destroy(&options.destroy, &[&options.dir, existing(&options.runs)]),
        None => Ok(()),
    }
}

/// The innermost directory around `dir` that is there.
fn existing(dir: &Path) -> &Path {
    let around = dir.ancestors().find(|around| around.is_dir());
    around.unwrap_or(Path::new("."))
}

/// The data of one point, or of the steps of one sequence, is on the disk at a time; where nothing is kept no room is needed.
fn check_room(steps: &[Trial], dir: &Path) -> Result<(), TargetError> {
    match engine::estimate::chain_bytes(steps) {
        Bytes(0) => Ok(()),
        need => host::safety::check_space(session::place_of_data(&steps[0], dir), need),
    }
}

/// What is known of the run before its first point.
fn describe_run(plan: &Plan, options: &Options, context: &Context) -> RunMeta {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = chrono::DateTime::from_timestamp(now.as_secs() as i64, 0).unwrap_or_default();
    RunMeta {
        run_id: format!("{}-{}", started.format("%Y%m%d-%H%M%S"), plan.name),
        started_unix_ms: now.as_millis() as u64,
        plimsoll_version: env!("CARGO_PKG_VERSION").into(),
        plan: plan.clone(),
        environment: environment(options, context),
    }
}

/// The machine and the place, which must be alike for two runs to be compared, and what its disk has shown before.
fn environment(options: &Options, context: &Context) -> Vec<Fact> {
    let place = host::filesystem::find_mount(&options.dir).map(|place| place.facts()).unwrap_or_default();
    let ceilings = ceilings::facts(&options.runs, &place, context);
    let machine = host::machine::facts().into_iter().chain(load::clock_facts());
    machine.chain(place).chain(ceilings).collect()
}

/// The run file, with a number behind its name where a run of this second has the name already.
fn create_run(meta: RunMeta, options: &Options) -> Result<(PathBuf, RunWriter), Fault> {
    const TRIES: u32 = 100;
    let runs = &options.runs;
    let cannot = |error| {
        let text = format!("cannot make the directory `{}` for run files: {error}; use --runs", runs.display());
        Fault::new(Exit::Refused, text)
    };
    std::fs::create_dir_all(runs).map_err(cannot)?;
    let name = meta.run_id.clone();
    let numbered = (2..TRIES).map(|n| format!("{name}-{n}"));
    for run_id in std::iter::once(name.clone()).chain(numbered) {
        let run_file = runs.join(format!("{run_id}.{}", store::EXTENSION));
        match RunWriter::create(&run_file, &RunMeta { run_id, ..meta.clone() }) {
            Err(StoreError::Exists { .. }) => {}
            created => return Ok((run_file, created?)),
        }
    }
    Err(Fault::new(Exit::Refused, format!("`{}` holds {TRIES} runs of this second already", runs.display())))
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
