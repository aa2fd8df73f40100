//! `plimsoll ceiling RUN`: how much of what the disk carries of its I/O a recorded point has used.
//!
//! In: a run of this machine. Out: a run that replays the mix of each point as fast as it goes, and the share of it that the point used. Limits:
//! points that did hardly any I/O have no mix.

use super::{list, measure};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::{self, Options};
use crate::output::progress::NotesOnly;
use crate::output::{self, ceiling_json, label};
use analysis::recorded::ceiling::ReplayUse;
use analysis::recorded::io_shape::IoShape;
use clap::{ArgMatches, Command};
use model::{Bytes, PointData, PointState, RunData, Trial};
use report::wording::ceiling::ceiling_sentence;
use runner::io_replay::{IoMix, check_replay, replay_plan};
use std::path::PathBuf;

pub fn clap() -> Command {
    list::run_arguments(Command::new("ceiling"))
        .arg(list::point_argument().help("Number of the point [default: all that did I/O]"))
        .arg(flags::directory())
        .arg(flags::wait())
        .about("Show how much of what the disk carries of its I/O a recorded point used")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let options = Options { report: false, ..flags::options(matches) };
    let run = store::read(&path)?;
    match matches.get_one("point").copied() {
        Some(number) => of_points(&run, &[list::chosen_point(&run, Some(number))?], &options, context),
        None => of_run(&run, &options, context),
    }
}

/// Measures and prints the ceilings of all complete points of `run`.
pub fn of_run(run: &RunData, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let complete: Vec<&PointData> = run.points.iter().filter(|point| point.state == PointState::Complete).collect();
    of_points(run, &complete, options, context)
}

/// Measures and prints the ceilings of the points `chosen` of `run`.
fn of_points(run: &RunData, chosen: &[&PointData], options: &Options, context: &Context) -> Result<Exit, Fault> {
    let here = runner::describe_environment(&options.site, &mut NotesOnly(context));
    runner::why::check_same_machine(&run.meta.environment, &here)?.iter().for_each(|note| context.note(note));
    let replayed = Replayed::measure(run, chosen, options, context)?;
    if context.json {
        output::json::print(&ceiling_json::ceilings(&run.meta.run_id, &replayed.file, &replayed.found))
    } else {
        let labels = label::of_points(run);
        let sentence = |(id, found): &(u32, ReplayUse)| {
            let at = run.points.iter().position(|point| point.id == *id);
            ceiling_sentence(at.map_or("", |at| labels[at].as_str()), found)
        };
        let lines = replayed.found.iter().flat_map(|one| report::wrapped(&sentence(one), context.width()));
        output::print(&format!("{}\n", lines.collect::<Vec<_>>().join("\n")));
        output::print(&format!("\nrun file: {}\n", output::shown(&replayed.file)));
    }
    Ok(Exit::Done)
}

/// The ceilings of points, by their numbers.
pub struct Replayed {
    /// The run file of the replays.
    pub file: PathBuf,
    /// The points and what they used.
    pub found: Vec<(u32, ReplayUse)>,
}

impl Replayed {
    /// Replays the I/O of the points `chosen` of `run`, which was recorded on this machine.
    pub fn measure(
        run: &RunData,
        chosen: &[&PointData],
        options: &Options,
        context: &Context,
    ) -> Result<Replayed, Fault> {
        let shapes = shapes_of(run, chosen, context)?;
        let mixes: Vec<(&Trial, IoMix)> =
            shapes.iter().map(|(point, shape)| (&point.trial, mix_of(point, shape))).collect();
        let plan = replay_plan(&mixes, &context.catalogue)?;
        let recorded = measure::record_plan(&plan, options, context)?;
        let replay = recorded.read_back()?;
        recorded.measured?;
        let replay_of = |trial: &Trial| {
            replay.points.iter().find(|point| point.state == PointState::Complete && point.trial == *trial)
        };
        let both = shapes.iter().zip(&plan.trials);
        let found = both.filter_map(|((point, used), trial)| {
            Some((point.id, ReplayUse::new(*used, IoShape::from_point(replay_of(trial)?)?)))
        });
        Ok(Replayed { file: recorded.file, found: found.collect() })
    }
}

/// The points with I/O that can be replayed. Others are noted; if there are none, the reason is a fault.
fn shapes_of<'a>(
    run: &RunData,
    chosen: &[&'a PointData],
    context: &Context,
) -> Result<Vec<(&'a PointData, IoShape)>, Fault> {
    let (mut shapes, mut refused) = (Vec::new(), Vec::new());
    for point in chosen.iter().copied() {
        match (check_replay(&point.trial), IoShape::from_point(point)) {
            (Ok(()), Some(shape)) => shapes.push((point, shape)),
            (Ok(()), None) => refused.push(format!("point {} did hardly any I/O on its device", point.id)),
            (Err(why), _) => refused.push(format!("point {} cannot be replayed: {why}", point.id)),
        }
    }
    match (shapes.is_empty(), refused.as_slice()) {
        (true, []) => Err(Fault::usage("no point of this run is complete")),
        (true, [only]) => Err(Fault::usage(only.as_str())),
        (true, [first, ..]) => {
            Err(Fault::usage(format!("{first}, and no other point can be replayed; {}", list::listed_points(run))))
        }
        (false, _) => {
            refused.iter().for_each(|why| context.note(why));
            Ok(shapes)
        }
    }
}

fn mix_of(point: &PointData, shape: &IoShape) -> IoMix {
    IoMix {
        read_share: shape.read_share(),
        block: Bytes(shape.block_bytes()),
        in_flight: shape.whole_in_flight(),
        writes_per_sync: shape.writes_per_flush(),
        data: Bytes(point.traits.outcome.data_bytes.unwrap_or(0)),
    }
}
