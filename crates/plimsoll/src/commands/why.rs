//! `plimsoll why RUN --point N`: what binds a point, by experiment.
//!
//! In: a recorded point. Out: a run that measures it again, unchanged and with one resource varied at a time, and its answer. Limits: on the
//! machine of the run, and in a closed loop. A run of `why` itself is answered again without measuring, and `--resume` measures the rest of one
//! that was interrupted.

use super::ceiling::Replayed;
use super::measure::{RecordedRun, Resumption};
use super::{list, measure};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, Options};
use crate::output;
use crate::output::progress::NotesOnly;
use analysis::recorded::io_shape::IoShape;
use analysis::run::why::WhyAnswer;
use clap::{Arg, ArgAction, ArgMatches, Command};
use model::{Nanos, NotVaried, PointData, RunData, StorageLimit};
use plan::{RecordedPoint, Variation};
use runner::io_replay::as_limit;
use std::path::Path;

/// As many as a verdict needs.
const ROUNDS: &str = "4";
const ROUNDS_MAX: i64 = 100;

pub fn clap() -> Command {
    let rounds = Arg::new("rounds").long("rounds").value_name("N").default_value(ROUNDS);
    let rounds = rounds.value_parser(clap::value_parser!(u32).range(1..=ROUNDS_MAX));
    let time = Arg::new("time").long("time").value_name("TIME");
    let resume = Arg::new("resume").long("resume").action(ArgAction::SetTrue);
    let command = list::run_arguments(Command::new("why"))
        .arg(list::point_argument().help("Number of the point; not needed if the run has one point"))
        .arg(rounds.help("How often each variation is measured; a verdict needs 4"))
        .arg(time.help("Duration of each measurement [default: that of the point, 10s at most]"))
        .arg(resume.help("Continue a run of `why` that was interrupted"))
        .arg(flags::directory())
        .arg(flags::wait());
    flags::with_writes(command).about("Prove what binds a point: measure it again with less of one resource at a time")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let options = Options { report: false, ..flags::options(matches) };
    let run = store::read(&path)?;
    if run.meta.plan.why.is_some() {
        return answer_again(&path, &run, matches.get_flag("resume"), &options, context);
    }
    if matches.get_flag("resume") {
        return Err(Fault::usage("--resume continues a run of `plimsoll why`, and this is another one; leave it out"));
    }
    let point = list::chosen_point(&run, matches.get_one("point").copied())?;
    let plan = plan_of(&run, point, matches, &options, context)?;
    let recorded = measure::record_plan(&plan, &options, context)?;
    conclude(recorded, &options, context)
}

/// Answers a run of `why`; what is missing is measured with `--resume` only.
fn answer_again(
    path: &Path,
    run: &RunData,
    resumes: bool,
    options: &Options,
    context: &Context,
) -> Result<Exit, Fault> {
    match (resumes, model::sure::is_all_measured(run)) {
        (true, false) => conclude(measure::record_rest(path, options, context)?, options, context),
        (true, true) => Err(Fault::usage("all its points are complete; leave --resume out")),
        (false, is_complete) => {
            if !is_complete {
                context.note("this run was interrupted; measure the rest with --resume");
            }
            print_answer(path, run, context)
        }
    }
}

/// The plan that varies `point` on this machine.
fn plan_of(
    run: &RunData,
    point: &PointData,
    matches: &ArgMatches,
    options: &Options,
    context: &Context,
) -> Result<model::Plan, Fault> {
    plan::check(&run.meta.plan, &run.meta.run_id, &context.catalogue)?;
    let here = runner::describe_environment(&options.site, &mut NotesOnly(context));
    runner::why::check_same_machine(&run.meta.environment, &here)?.iter().for_each(|note| context.note(note));
    let recorded = RecordedPoint {
        run_id: &run.meta.run_id,
        plan: &run.meta.plan,
        number: point.id,
        trial: &point.trial,
        engine_version: point.traits.engine.version.clone(),
    };
    plan::check_closed(&recorded).map_err(Fault::usage)?;
    let variation = Variation {
        rounds: *matches.get_one("rounds").expect("it has a default"),
        time: matches.get_one::<String>("time").map(|text| time_of(text)).transpose()?,
        cpu: runner::why::cpu_variation(&point.trial),
        storage: device_variation(run, point, options, context)?,
    };
    plan::why_plan(&recorded, &variation, &context.catalogue).map_err(Fault::usage)
}

/// What the device may do in its arm. If the point has no storage limit, what the device carries of its I/O is measured first.
fn device_variation(
    run: &RunData,
    point: &PointData,
    options: &Options,
    context: &Context,
) -> Result<Result<StorageLimit, NotVaried>, Fault> {
    let known = runner::why::storage_variation(&point.trial, None);
    if known != Err(NotVaried::UnknownRate) || runner::io_replay::check_replay(&point.trial).is_err() {
        return Ok(known);
    }
    if IoShape::from_point(point).is_none() {
        return Ok(Err(NotVaried::NoIo));
    }
    context.note("what the disk carries of the point's I/O is measured first");
    let replayed = Replayed::measure(run, &[point], options, context)?;
    let capacity = replayed.found.first().map(|(_, found)| {
        let carried = found.carried();
        let ios = [carried.reads_per_s, carried.writes_per_s];
        as_limit(ios, [carried.read_bytes_per_s, carried.write_bytes_per_s])
    });
    Ok(runner::why::storage_variation(&point.trial, capacity))
}

fn time_of(text: &str) -> Result<Nanos, Fault> {
    Ok(plan::run_time(text)?)
}

/// Reads the run back and prints its answer, whatever happened.
fn conclude(recorded: RecordedRun, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let run = recorded.read_back()?;
    let answered = print_answer(&recorded.file, &run, context);
    recorded.note_skipped(&run, Resumption::OfWhy, options, context);
    recorded.outcome(&run, Resumption::OfWhy, options)?;
    answered
}

fn print_answer(path: &Path, run: &RunData, context: &Context) -> Result<Exit, Fault> {
    let answer = WhyAnswer::from_run(run, &analysis::analyse(run)).expect("it is a run of `why`");
    if context.json {
        output::json::print(&output::why_json::why(&answer, path))
    } else {
        output::print(&report::why_text(&answer, context.width()));
        output::print(&format!("\nrun file: {}\n", output::shown(path)));
    }
    Ok(Exit::Done)
}
