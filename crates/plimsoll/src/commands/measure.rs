//! What every command does that measures: checks, measures, reads the run back, reports it.
//!
//! In: a resolved plan or a run file to resume, and the options. Out: a run file, a report, the verdict, an exit code.
//! Limits: wiring; the crate `runner` measures, `analysis` and `report` judge and write.

use super::{answer, list};
use crate::bus_flags::BusFlags;
use crate::command_line::command_line;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags::Options;
use crate::foreseen_pairs::too_few_pairs;
use crate::foreseen_time::EarlierRuns;
use crate::metrics::RunMetrics;
use crate::output::progress::chores::ProgressLine;
use crate::output::progress::{NotesOnly, ProgressDisplay};
use crate::output::shell_word;
use crate::read_run::read_data;
use crate::relaunch::{self, CLIENT_ALLOCATOR};
use crate::{flags, output, signals};
use analysis::Analysis;
use host::allocator::Allocator;
use load::Stop;
use model::{Plan, RunData};
use report::{PointCharts, WrittenReport};
use runner::{
    FittedPlan, HeldPlaces, HostedSession, ObserverList, ResumedRun, RunObserver, RunSession, SystemChangeConsent,
    WriteConsent,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::RunWriter;

/// Measures every point of `plan`, writes the report and prints the verdict.
pub fn run_plan(plan: &Plan, options: &Options, context: &Context) -> Result<Exit, Fault> {
    conclude(record_plan(plan, options, context)?, options, context)
}

/// A run that was recorded, or as much of it as could be.
pub struct RecordedRun {
    pub file: PathBuf,
    made: Made,
    /// Whether everything was measured.
    pub measured: Result<(), Fault>,
}

/// Measures every point of `plan` into a new run file.
pub fn record_plan(plan: &Plan, options: &Options, context: &Context) -> Result<RecordedRun, Fault> {
    runner::put_back_settings(&mut NotesOnly(context));
    let FittedPlan { plan, left_out, notes } = &fit(plan, options)?;
    let few = plan.sure.and_then(|_| too_few_pairs(plan, &EarlierRuns::recall(&options.site.runs), &context.catalogue));
    left_out.iter().chain(notes).chain(&few).for_each(|note| context.note(note));
    let Ready { stop, hosts, places: _places } = ready(plan, options, context)?;
    if let Some(question) = plan.asked.question.as_ref().filter(|_| !context.quiet) {
        crate::context::tell(format_args!("Question: {question}"));
    }
    let mut metrics = RunMetrics::start(options.metrics, plan, context)?;
    let mut progress = ProgressDisplay::start(plan, &[], &stop, context);
    let observer = &mut observers(&mut progress, metrics.as_mut());
    let (run_file, mut writer) = runner::create_run(plan, left_out, Some(command_line()), &options.site, observer)?;
    progress.follow(&run_file);
    let (site, observer) = (&options.site, &mut observers(&mut progress, metrics.as_mut()));
    let session = RunSession { plan, site, writer: &mut writer, stop, observer, interruption: None };
    let measured = measure(session, hosts, context);
    let finished = writer.finish().map_err(Fault::from);
    Ok(RecordedRun { file: run_file, made: Made::Now, measured: measured.and(finished) })
}

/// Measures the points of the run in `run_file` that are not complete, into the same file.
pub fn record_rest(run_file: &Path, options: &Options, context: &Context) -> Result<RecordedRun, Fault> {
    // Before the machine is compared with that of the run: a killed run may have left other settings.
    runner::put_back_settings(&mut NotesOnly(context));
    host::safety::check_links(run_file)?;
    let lock = runner::lock_run(run_file, &options.site, &mut NotesOnly(context))?;
    let environment = runner::describe_environment(&options.site, &mut NotesOnly(context));
    let resumed = ResumedRun::open(run_file, &options.site, &environment, &context.catalogue)?;
    let Ready { stop, hosts, places: _places } = ready(&resumed.plan, options, context)?;
    let mut writer = RunWriter::reopen(run_file)?;
    writer.hold(lock);
    if options.bus.is_none() && !writer.bus_positions()?.is_empty() {
        return Err(Fault::usage(
            "the points of this run were measured from several hosts, and the others would be measured from this one alone; add the same --bus",
        ));
    }
    resumed.differences().iter().for_each(|difference| context.note(difference));
    let (plan, interruption) = resumed.into_interruption(writer.last_tick()?);
    let mut metrics = RunMetrics::start(options.metrics, &plan, context)?;
    let mut progress = ProgressDisplay::start(&plan, &interruption.done, &stop, context);
    progress.deduct(interruption.spent());
    progress.follow(run_file);
    let (site, observer) = (&options.site, &mut observers(&mut progress, metrics.as_mut()));
    let session =
        RunSession { plan: &plan, site, writer: &mut writer, stop, observer, interruption: Some(interruption) };
    let measured = measure(session, hosts, context);
    let finished = writer.finish().map_err(Fault::from);
    Ok(RecordedRun { file: run_file.to_owned(), made: Made::Before, measured: measured.and(finished) })
}

/// Who gets the events of the run while it is measured: the display, and the metrics if they are asked for.
fn observers<'a>(progress: &'a mut ProgressDisplay, metrics: Option<&'a mut RunMetrics>) -> ObserverList<'a> {
    let metrics = metrics.map(|metrics| metrics as &mut dyn RunObserver);
    ObserverList([progress as &mut dyn RunObserver].into_iter().chain(metrics).collect())
}

/// The plan as this machine can measure it. Agents measure it as it is: their machines may differ.
fn fit(plan: &Plan, options: &Options) -> Result<FittedPlan, Fault> {
    match &options.bus {
        None => Ok(runner::fit_plan(plan, &options.site)?),
        Some(_) => {
            let notes = runner::notes_on_pauses(&plan.trials);
            Ok(FittedPlan { plan: plan.clone(), left_out: Vec::new(), notes })
        }
    }
}

/// Measures the points of `session`: on this machine, or on `hosts`.
fn measure(session: RunSession, hosts: Option<HostedSession>, context: &Context) -> Result<(), Fault> {
    let measured = match hosts {
        None => session.measure_all(&context.catalogue),
        Some(hosts) => hosts.measure_all(session, &context.catalogue),
    };
    measured.map_err(Fault::from)
}

/// What a run needs that can begin.
struct Ready {
    stop: Arc<Stop>,
    hosts: Option<HostedSession>,
    /// Where it measures, held until it is over.
    places: Option<HeldPlaces>,
}

/// Checks that the plan can be run here, or that the agents are there that will; and lets signals end it.
fn ready(plan: &Plan, options: &Options, context: &Context) -> Result<Ready, Fault> {
    if options.bus.is_some() && plan.trials.iter().any(|trial| trial.data_set.is_some()) {
        return Err(Fault::usage("--data-set: one host uses a data set; leave out the other hosts"));
    }
    let check = || runner::check_before_run(plan, &options.site, &context.catalogue, &mut NotesOnly(context));
    let places = options.bus.is_none().then(check).transpose()?;
    plan::missing_indexes(plan, &context.catalogue).iter().for_each(|warning| context.note(warning));
    super::limit::note_short_hold(plan, context);
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let setup = options.bus.as_ref().map(BusFlags::coordinator).transpose()?;
    let hosts = setup.map(|setup| HostedSession::gather(setup, plan, &stop, &mut NotesOnly(context))).transpose()?;
    Ok(Ready { stop, hosts, places })
}

/// The command by which an interrupted run is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    OfRun,
    OfWhy,
}

/// Whether this session made the run file: one that existed before is never removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Now,
    Before,
}

impl RecordedRun {
    /// A run that this session has recorded in `file`.
    pub fn made_now(file: PathBuf, measured: Result<(), Fault>) -> RecordedRun {
        RecordedRun { file, made: Made::Now, measured }
    }

    /// The run as it was recorded. A run file of this session without any point is removed.
    ///
    /// # Errors
    /// Why nothing was measured, or why the file cannot be read.
    pub fn read_back(&self) -> Result<RunData, Fault> {
        let run = match (read_data(&self.file), &self.measured) {
            // A run file that has gone: why it was not recorded is the reason.
            (Err(_), Err(fault)) => return Err(Fault::new(fault.exit, &fault.text)),
            (read, _) => read?,
        };
        match &self.measured {
            Err(fault) if run.points.is_empty() => {
                if self.made == Made::Now {
                    remove_empty_run(&self.file);
                }
                let text = if is_interruption(fault) { without_points(&fault.text) } else { fault.text.clone() };
                Err(Fault::new(fault.exit, text))
            }
            _ => Ok(run),
        }
    }

    /// Names the command that measures the points of `run` that the user has skipped, if there are any.
    pub fn note_skipped(&self, run: &RunData, resumption: Resumption, options: &Options, context: &Context) {
        if self.measured.is_ok() && can_go_on(run) {
            let command = self.resume_command(resumption, options);
            context.note(format_args!("some points were skipped; measure them with `{command}`"));
        }
    }

    /// Whether everything was measured of `run`, which was read back and reported. The fault of an interruption names the command that
    /// measures the rest.
    pub fn outcome(self, run: &RunData, resumption: Resumption, options: &Options) -> Result<(), Fault> {
        let Err(fault) = &self.measured else { return Ok(()) };
        let text = if is_interruption(fault) && can_go_on(run) {
            let command = self.resume_command(resumption, options);
            format!("{}; resume with `{command}`", fault.text)
        } else {
            fault.text.clone()
        };
        Err(Fault { reported: true, text, exit: fault.exit })
    }

    fn resume_command(&self, resumption: Resumption, options: &Options) -> String {
        // Another run may have begun after this one.
        let run = list::name_to_type(&self.file, &options.site.runs);
        resume_command(resumption, &run, options, relaunch::loaded_here())
    }
}

/// Reads the run back, reports it, and returns how it ended. What was measured is reported whatever happened.
pub fn conclude(recorded: RecordedRun, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let run = recorded.read_back()?;
    conclude_run(&run, recorded, options, context)
}

/// As [`conclude`], of a run that was read back.
pub fn conclude_run(run: &RunData, recorded: RecordedRun, options: &Options, context: &Context) -> Result<Exit, Fault> {
    let run_file = recorded.file.as_path();
    let analysis = analysis::analyse(run);
    let chore = ProgressLine::start(1, context);
    chore.step("writing the report");
    let report = options.report.then(|| write_report(&analysis, run_file, PointCharts::Telling)).transpose();
    drop(chore);
    let page = report.as_ref().ok().and_then(Option::as_ref).map(|report| report.html.as_path());
    if context.json {
        output::json::print(&output::json::run(&analysis, run, run_file, page));
    } else {
        answer::print(&analysis, run_file, page, options.details, context);
    }
    recorded.note_skipped(run, Resumption::OfRun, options, context);
    // A disk that became full under the run file has no room for the report, either: the first error is the one that counts.
    if let (Err(_), Err(error)) = (&recorded.measured, &report) {
        context.note(&error.text);
    }
    let outcome = recorded.outcome(run, Resumption::OfRun, options);
    outcome.map_err(|fault| without_repetition(fault, &analysis, context))?;
    report?;
    Ok(Exit::of_analysis(&analysis, options.strict))
}

/// `fault`, whose text is not printed once more if the answer has it on the same screen.
fn without_repetition(fault: Fault, analysis: &Analysis, context: &Context) -> Fault {
    if context.json || !answer::is_on_screen(analysis, &fault.text) {
        return fault;
    }
    Fault { text: "the run did not end as planned; the answer above has the reason".to_owned(), ..fault }
}

/// Writes the report of `run_file` next to it, unless another user has made a link on the way there.
pub fn write_report(analysis: &Analysis, run_file: &Path, points: PointCharts) -> Result<WrittenReport, Fault> {
    let dir = report_dir(run_file);
    host::safety::check_links(&dir)?;
    Ok(report::write(analysis, &dir, points)?)
}

/// Removes a run file without points, whose fault has the reason, and the usual directory of run files if there is nothing else in it.
fn remove_empty_run(run_file: &Path) {
    // What cannot be removed is no harm.
    let _ = std::fs::remove_file(run_file);
    if run_file.parent() == Some(Path::new(flags::RUNS)) {
        let _ = std::fs::remove_dir(flags::RUNS);
    }
}

/// Whether something is left to measure of `run`, and time for it.
fn can_go_on(run: &RunData) -> bool {
    !model::sure::is_all_measured(run) && !model::sure::is_time_over(run)
}

fn is_interruption(fault: &Fault) -> bool {
    matches!(fault.exit, Exit::Interrupted | Exit::Terminated)
}

/// What is said of an interruption before the first point: what it ended, if it ended more than a load.
fn without_points(text: &str) -> String {
    let nothing = "interrupted before anything was measured";
    if text.starts_with("interrupted") { nothing.to_owned() } else { format!("{nothing}: {text}") }
}

/// The command that resumes the run that `run` names, ready to paste, with all that decides what is measured and what may be changed for it.
fn resume_command(resumption: Resumption, run: &str, options: &Options, allocator: Allocator) -> String {
    let site = &options.site;
    let mut command = match resumption {
        Resumption::OfRun => format!("plimsoll run --resume {run}"),
        Resumption::OfWhy => format!("plimsoll why {run} --resume"),
    };
    for (flag, dir, default) in [("--dir", &site.dir, flags::DIR), ("--runs", &site.runs, flags::RUNS)] {
        if dir != Path::new(default) {
            command += &format!(" {flag} {}", shell_word(&dir.display().to_string()));
        }
    }
    if site.writes == WriteConsent::Given {
        command += " --allow-writes";
    }
    if site.system_changes == SystemChangeConsent::Given {
        command += " --allow-system-change";
    }
    for consent in &site.destroy {
        let text = format!("{}={}", consent.device.display(), consent.identity);
        command += &format!(" --destroy {}", shell_word(&text));
    }
    if let Some(restore) = &site.restore {
        command += &format!(" --restore {}", shell_word(restore.as_written()));
    }
    if let Some(bus) = &options.bus {
        command += &bus.as_typed();
    }
    // `why` has no such flag: it measures with the allocator that it was started with.
    if allocator != Allocator::System && resumption == Resumption::OfRun {
        command += &format!(" --{CLIENT_ALLOCATOR} {}", allocator.as_str());
    }
    command
}

/// Where the report of a run file goes.
pub fn report_dir(run_file: &Path) -> PathBuf {
    let mut name = run_file.file_stem().unwrap_or_default().to_owned();
    name.push("-report");
    run_file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::device::DestroyConsent;
    use host::user_command::UserCommand;
    use runner::RunSite;

    #[test]
    fn what_an_interruption_before_the_first_point_has_ended_is_told() {
        assert_eq!(
            without_points("interrupted; what was measured is kept"),
            "interrupted before anything was measured"
        );
        assert_eq!(
            without_points("--restore: `x` was ended before its end: restore the copy before it is used"),
            "interrupted before anything was measured: --restore: `x` was ended before its end: restore the copy before it is used"
        );
    }

    fn site(dir: &str, runs: &str) -> RunSite {
        RunSite {
            dir: dir.into(),
            runs: runs.into(),
            destroy: Vec::new(),
            system_changes: Default::default(),
            writes: Default::default(),
            if_held: Default::default(),
            restore: None,
        }
    }

    fn resume(resumption: Resumption, run: &str, site: RunSite, allocator: Allocator) -> String {
        let options = Options { site, report: true, details: false, strict: false, metrics: None, bus: None };
        resume_command(resumption, run, &options, allocator)
    }

    #[test]
    fn the_command_that_resumes_names_what_is_not_the_default() {
        let (of_run, of_why) = (Resumption::OfRun, Resumption::OfWhy);
        let last = |site| resume(of_run, "last", site, Allocator::System);
        assert_eq!(last(site(".", "plimsoll-runs")), "plimsoll run --resume last");
        assert_eq!(last(site("/mnt/a b", "r")), "plimsoll run --resume last --dir '/mnt/a b' --runs r");
        let named = resume(of_run, "r/x.plimsoll", site(".", "plimsoll-runs"), Allocator::System);
        assert_eq!(named, "plimsoll run --resume r/x.plimsoll");
        let command = resume(of_run, "last", site(".", "plimsoll-runs"), Allocator::Jemalloc);
        assert_eq!(command, "plimsoll run --resume last --client-allocator jemalloc");
        let command = resume(of_why, "last", site("/mnt", "r"), Allocator::Jemalloc);
        assert_eq!(command, "plimsoll why last --resume --dir /mnt --runs r");
    }

    #[test]
    fn the_command_that_resumes_restores_and_changes_what_the_first_one_did() {
        let changing = RunSite {
            destroy: DestroyConsent::parse("/dev/sdb=S3 Z8").into_iter().collect(),
            system_changes: SystemChangeConsent::Given,
            writes: WriteConsent::Given,
            restore: UserCommand::parse("restore.sh 'copy 1'").ok(),
            ..site(".", "plimsoll-runs")
        };
        assert_eq!(
            resume(Resumption::OfRun, "last", changing, Allocator::System),
            r"plimsoll run --resume last --allow-writes --allow-system-change --destroy '/dev/sdb=S3 Z8' --restore 'restore.sh '\''copy 1'\'''"
        );
    }
}
