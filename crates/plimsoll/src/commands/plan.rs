//! `plimsoll plan PLAN`: what a plan would do, without doing it.

use super::plans;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::foreseen_pairs::{fit_lengths, pairs_in_time, too_few_pairs};
use crate::foreseen_time::EarlierRuns;
use crate::output::{self, label};
use analysis::math::ratio::PAIRS_MIN;
use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::estimate::{made_files_bytes, written_bytes_at_most};
use engine::outside::{OutsideStatement, statements_outside};
use engine::requirements::uses_found_data;
use model::{Bytes, Catalogue, Pacing, Plan, Trial};
use runner::{RunSite, WriteConsent, room_needed};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

pub fn clap() -> Command {
    let plan = Arg::new("plan")
        .value_name("PLAN")
        .required(true)
        .help("Plan file, or name of a built-in plan (`plimsoll plans`)");
    let print = Arg::new("print-plan").long("print-plan").action(ArgAction::SetTrue);
    let command = Command::new("plan")
        .arg(plan)
        .arg(flags::directory().help("Directory that the run would measure"))
        .arg(flags::runs("Directory of run files: earlier ones tell how long this takes"))
        .arg(print.help("Print the plan file, so that you can change a copy of it"));
    flags::with_quick_look(flags::with_scale(flags::with_common(command, &flags::engine_entries())))
        .about("Show what a plan would do, without running it: points, time, disk space, warnings")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let name = matches.get_one::<String>("plan").expect("clap requires it");
    let overrides = flags::overrides(matches)?;
    if matches.get_flag("print-plan") {
        return print_file(name, &overrides);
    }
    let plan = plans::load(name, &overrides, flags::scale(matches)?, context)?;
    let site = flags::options(matches).site;
    let plan = fit_lengths(plan, matches, &site.runs, &context.catalogue)?;
    runner::check_abilities(&plan, &context.catalogue)?;
    let needs = Needs::of(&plan, context, &EarlierRuns::recall(&site.runs), &site.dir);
    if context.json {
        output::json::print(&needs.json(&plan));
    } else {
        output::print(&needs.text(&plan));
    }
    runner::notes_on_pauses(&plan.trials).iter().for_each(|note| context.note(note));
    host::safety::check_directory(&site.dir)?;
    // What a plan would change is listed here, and asked for when it is run.
    runner::check_targets(&plan, &RunSite { writes: WriteConsent::Given, ..site.clone() })?;
    runner::check_space(&plan, &site.dir, &context.catalogue)?;
    Ok(Exit::Done)
}

/// Prints the text of the plan called `name`, which is the same whatever other flags mean.
fn print_file(name: &str, overrides: &plan::Overrides) -> Result<Exit, Fault> {
    if !overrides.is_empty() {
        return Err(Fault::usage(
            "--print-plan prints the plan file as it is; change the copy instead of using other flags",
        ));
    }
    output::print(&plans::text(name)?);
    Ok(Exit::Done)
}

/// A plan of more points is shown by its first ones.
const LISTED_MAX: usize = 40;
const LISTED_OF_MANY: usize = 12;

/// `engine (2), clients (7), 4 repeats`: the keys in which the points differ, with how many values each has.
fn differing(plan: &Plan) -> Option<String> {
    let keys = plan::differing_keys(&plan.trials).into_iter().map(|(key, values)| format!("{key} ({values})"));
    let repeats = plan.trials.iter().map(|trial| trial.repeat).max().filter(|repeats| *repeats > 1);
    let all: Vec<String> = keys.chain(repeats.map(|repeats| format!("{repeats} repeats"))).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// How many pairs each comparison of `plan` has; `None` if it compares nothing.
fn pairs(plan: &Plan) -> Option<u32> {
    plan.asked.compare.as_ref()?;
    plan.trials.iter().map(|trial| trial.repeat).max()
}

/// What is compared, and what difference that could show. There is time for so many pairs, if it goes on until it is sure.
fn asked(plan: &Plan, in_time: Option<u32>) -> Option<String> {
    let (compare, pairs) = (plan::plan_key(plan.asked.compare.as_ref()?), pairs(plan)?);
    if let Some(sure) = plan.sure.filter(|sure| sure.comparisons > 0) {
        let (difference, in_time) = (sure.difference, in_time.unwrap_or(pairs));
        let what = match is_given(plan) {
            true => BY_TIMES.to_owned(),
            false => format!("until it is clear which is faster, or that they differ by less than {difference}"),
        };
        let time = if in_time < pairs { format!("; there is time for about {in_time}") } else { String::new() };
        let shown = smallest_difference(plan, Some(in_time)).map(|share| format!(": {}", differences(share)));
        return Some(format!("{compare}, {what}, in at most {pairs} pairs{time}{}", shown.unwrap_or_default()));
    }
    Some(match smallest_difference(plan, None) {
        _ if pairs == 1 => format!("{compare}: cannot conclude with 1 pair; use --repeat {PAIRS_MIN}"),
        _ if (pairs as usize) < PAIRS_MIN => {
            format!("{compare}: cannot conclude with {pairs} pairs; use --repeat {PAIRS_MIN}")
        }
        Some(share) => format!("{compare}, with {pairs} pairs: {}", differences(share)),
        None => format!("{compare}, {BY_TIMES}, with {pairs} pairs"),
    })
}

/// What is compared if an open loop gives the rate.
const BY_TIMES: &str = "by response times (the rates are given)";

/// Whether an open loop gives the rates of all comparisons of `plan`, so that they are no result.
fn is_given(plan: &Plan) -> bool {
    // A search looks for the rate.
    let is_open = |trial: &Trial| trial.limit.is_none() && matches!(trial.load.pacing, Pacing::Open { .. });
    let mut are_open = plan.trials.iter().map(is_open);
    match plan.asked.compare.as_deref().map(plan::plan_key) {
        Some("rate") => are_open.any(|is_open| is_open),
        _ => are_open.all(|is_open| is_open),
    }
}

fn differences(smallest: f64) -> String {
    let (share, spread) = (smallest * 100.0, plan::USUAL_SPREAD * 100.0);
    format!("differences of about {share:.0} % and more, if points vary by {spread:.0} %, as they usually do")
}

/// The smallest difference of rates that the comparisons of `plan` could show; there is time for so many pairs, if it goes on until it is sure.
fn smallest_difference(plan: &Plan, in_time: Option<u32>) -> Option<f64> {
    let pairs = pairs(plan).filter(|_| !is_given(plan))?;
    match plan.sure {
        Some(sure) => plan::smallest_until_sure(&sure, in_time.unwrap_or(pairs), plan::USUAL_SPREAD),
        None => plan::smallest_difference(pairs, plan::USUAL_SPREAD),
    }
}

/// What is done with the time of the whole run, if it has one.
fn budget(plan: &Plan, catalogue: &Catalogue) -> Option<String> {
    let budget = plan.sure?.budget?;
    let first: Vec<&Trial> = plan.trials.iter().filter(|trial| trial.repeat == 1).collect();
    // What ends with its work takes the time that it takes.
    let known: Vec<f64> = first.iter().filter_map(|trial| plan::expected_seconds(trial, catalogue)).collect();
    let bound = if known.len() < first.len() { "at least " } else { "" };
    let points = if first.len() == 1 { "the point".to_owned() } else { format!("all {} points", first.len()) };
    Some(format!(
        "{}: first {points} once ({bound}{}), then repeats of what is not decided",
        plans::long_time(budget.as_secs_f64()),
        plans::long_time(known.iter().sum())
    ))
}

/// What a plan needs.
struct Needs {
    estimate: plan::Estimate,
    /// Whether the points take no longer than the estimate says.
    is_at_most: bool,
    /// Seconds to make all data.
    loading: f64,
    /// How long points take apart from that, and their reports.
    beside: BesideLoad,
    disk: Bytes,
    written: PlannedWrites,
    /// What it would do outside of plimsoll's own schema, each statement once.
    outside: Vec<OutsideStatement>,
    /// What is done with the time of the whole run, if it has one.
    budget: Option<String>,
    /// How many pairs there is time for, if it goes on until it is sure.
    pairs_in_time: Option<u32>,
}

/// What a plan writes, as far as that is known before.
struct PlannedWrites {
    /// To files, their making included; `None` if a point writes as much as it can.
    files: Option<Bytes>,
    /// Points that write to databases, which write more than they are given.
    database_points: usize,
    /// By the measured operations of all points, at most; `None` if that cannot be known.
    by_operations: Option<Bytes>,
}

impl Needs {
    fn of(plan: &Plan, context: &Context, earlier: &EarlierRuns, dir: &Path) -> Needs {
        let chains = plan::chains(plan, &context.catalogue).into_iter();
        let starts = plan::chains_with_new_data(plan, &context.catalogue).into_iter().map(|chain| chain.start);
        let made: Vec<usize> = starts.filter(|start| !uses_found_data(&plan.trials[*start])).collect();
        let mut estimate = plan::Estimate { data_sets: made.len(), ..plan::estimate(plan, &context.catalogue) };
        let ending_themselves =
            plan.trials.iter().filter(|trial| plan::expected_seconds(trial, &context.catalogue).is_none());
        let known: Vec<f64> = ending_themselves.filter_map(|trial| earlier.self_ended_seconds(trial)).collect();
        estimate.until_rows -= known.len();
        estimate.seconds += known.iter().sum::<f64>();
        estimate.warnings.extend(too_few_pairs(plan, earlier, &context.catalogue));
        Needs {
            estimate,
            is_at_most: known.is_empty(),
            beside: BesideLoad::of(plan, &made, earlier),
            loading: made.iter().map(|start| earlier.load_seconds(&plan.trials[*start])).sum(),
            disk: chains.map(|chain| room_needed(&plan.trials[chain], dir)).max().unwrap_or_default(),
            written: PlannedWrites::of(plan, context),
            outside: outside(plan),
            budget: budget(plan, &context.catalogue),
            pairs_in_time: pairs_in_time(plan, earlier, &context.catalogue),
        }
    }

    fn text(&self, plan: &Plan) -> String {
        let mut text = format!("{}: {}\n", plan.name, plan.title);
        if let Some(question) = &plan.asked.question {
            let _ = writeln!(text, "{question}");
        }
        text.push('\n');
        let labels = label::all(plan);
        let shown = if labels.len() > LISTED_MAX { LISTED_OF_MANY } else { labels.len() };
        for (nth, label) in (1..).zip(&labels[..shown]) {
            let _ = writeln!(text, "{nth:4}  {label}");
        }
        if shown < labels.len() {
            let _ = writeln!(text, "      and {} more (--json has all)", labels.len() - shown);
        }
        let _ = writeln!(text);
        if let Some(differing) = differing(plan) {
            let _ = writeln!(text, "they differ in {differing}");
        }
        if let Some(asked) = asked(plan, self.pairs_in_time) {
            let _ = writeln!(text, "compared       {asked}");
        }
        if let Some(budget) = &self.budget {
            let _ = writeln!(text, "budget         {budget}");
        }
        let _ = write!(
            text,
            "points         {}\ndata made      {}\ntime           {}\npeak disk      {}\nwritten        {}\n",
            self.estimate.points,
            made(plan, self.estimate.data_sets),
            time_of(plan, self),
            at_most(self.disk),
            self.written.text(self.disk),
        );
        text += &self.outside_text();
        for warning in &self.estimate.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    /// The statements that run outside of plimsoll's own schema: one line each.
    fn outside_text(&self) -> String {
        let mut text = String::new();
        for (changes, title) in [
            (true, "statements that may change what plimsoll did not make (they need --allow-writes):"),
            (false, "statements that read what plimsoll did not make:"),
        ] {
            let mut statements = self.outside.iter().filter(|statement| statement.changes == changes).peekable();
            if statements.peek().is_some() {
                let _ = writeln!(text, "{title}");
            }
            for statement in statements {
                let one_line = statement.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let _ = writeln!(text, "  {}", host::error::shown(one_line.as_ref()));
            }
        }
        text
    }

    fn json(&self, plan: &Plan) -> serde_json::Value {
        serde_json::json!({
            "schema": "plimsoll.plan/1",
            "plan": plan.name,
            "asked": plan.asked,
            "smallest_difference": smallest_difference(plan, self.pairs_in_time),
            "points": self.estimate.points,
            "data_sets": self.estimate.data_sets,
            "seconds": self.estimate.seconds,
            "budget_seconds": plan.sure.and_then(|sure| sure.budget).map(|budget| budget.as_secs_f64()),
            "loading_seconds": self.loading,
            "beside_load_seconds": self.beside.seconds,
            "all_seconds": all_seconds(&self.estimate, self.loading, self.beside),
            "points_until_rows": self.estimate.until_rows,
            "peak_disk_bytes": self.disk.0,
            "written_bytes_at_most": self.written.by_operations.map(|bytes| bytes.0),
            "written_files_bytes_at_most": self.written.files.map(|bytes| bytes.0),
            "statements_outside": self.outside.iter().map(|statement| serde_json::json!({
                "sql": statement.text, "changes": statement.changes,
            })).collect::<Vec<_>>(),
            "warnings": self.estimate.warnings,
            "trials": plan.trials,
        })
    }
}

/// The statements of `plan` that run outside of plimsoll's own schema.
fn outside(plan: &Plan) -> Vec<OutsideStatement> {
    plan.trials.iter().flat_map(statements_outside).collect::<BTreeSet<_>>().into_iter().collect()
}

impl PlannedWrites {
    fn of(plan: &Plan, context: &Context) -> PlannedWrites {
        let of_trials: Vec<Option<Bytes>> = plan.trials.iter().map(written_bytes_at_most).collect();
        let with_trials = plan.trials.iter().zip(&of_trials);
        let (files, databases): (Vec<_>, Vec<_>) =
            with_trials.partition(|(trial, _)| made_files_bytes(trial).is_some());
        let starts = plan::chains_with_new_data(plan, &context.catalogue).into_iter().map(|chain| chain.start);
        let made = starts.filter_map(|start| made_files_bytes(&plan.trials[start]));
        let by_files: Option<Vec<Bytes>> = files.into_iter().map(|(_, written)| *written).collect();
        PlannedWrites {
            files: by_files.map(|all| sum(all.into_iter().chain(made))),
            database_points: databases.into_iter().filter(|(_, written)| **written != Some(Bytes(0))).count(),
            by_operations: of_trials.into_iter().collect::<Option<Vec<Bytes>>>().map(|all| sum(all.into_iter())),
        }
    }

    /// `disk`: the most space that the plan needs.
    fn text(&self, disk: Bytes) -> String {
        let points = match self.database_points {
            1 => "1 point writes to a database".to_owned(),
            points => format!("{points} points write to databases"),
        };
        match (self.files, self.database_points) {
            (None, _) => "unknown in advance".to_owned(),
            (Some(Bytes(0)), 0) if disk.0 == 0 => "nothing".to_owned(),
            (Some(Bytes(0)), 0) => "nothing, except by loading the data".to_owned(),
            (Some(most), 0) => format!("at most {most}"),
            (Some(Bytes(0)), _) => format!("unknown in advance: {points}"),
            (Some(most), _) => {
                format!("at most {most} to files; to databases unknown (points: {})", self.database_points)
            }
        }
    }
}

fn sum(all: impl Iterator<Item = Bytes>) -> Bytes {
    Bytes(all.map(|bytes| bytes.0).sum())
}

fn times(count: usize) -> String {
    match count {
        0 => "never: tables that are there are used as they are".to_owned(),
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// How often data is made for `plan`, and which data sets are there.
fn made(plan: &Plan, data_sets: usize) -> String {
    let named = |trial: &'_ model::Trial| trial.data_set.as_ref().map(|set| format!("`{}`", set.name));
    let there: std::collections::BTreeSet<String> = plan.trials.iter().filter_map(named).collect();
    let there = there.into_iter().collect::<Vec<String>>().join(", ");
    match (data_sets, there.as_str()) {
        (made, "") => times(made),
        (0, there) => format!("no: points use the data set {there}"),
        (made, there) => format!("{}; other points use the data set {there}", times(made)),
    }
}

fn at_most(disk: Bytes) -> String {
    if disk.0 == 0 { "none".to_owned() } else { format!("at most {disk}") }
}

/// What points take apart from their loads, all together.
#[derive(Clone, Copy)]
struct BesideLoad {
    seconds: f64,
    /// Whether earlier runs tell that of every engine, and of its data.
    is_known: bool,
}

impl BesideLoad {
    /// `made`: the trials for which data is made.
    fn of(plan: &Plan, made: &[usize], earlier: &EarlierRuns) -> BesideLoad {
        let report = earlier.report_seconds();
        let of_trial = |(nth, trial): (usize, &Trial)| {
            // A search makes its data once.
            let points = plan::measured_points(trial) as f64;
            let first = earlier.point_seconds(trial, made.contains(&nth));
            first + (points - 1.0).max(0.0) * earlier.point_seconds(trial, false) + points * report
        };
        let seconds = plan.trials.iter().enumerate().map(of_trial).sum();
        let is_known = plan.trials.iter().all(|trial| earlier.knows_points_of(trial))
            && made.iter().all(|start| earlier.knows_load_of(&plan.trials[*start]));
        BesideLoad { seconds, is_known }
    }
}

/// How long `plan` takes: its budget, or what its points need.
fn time_of(plan: &Plan, needs: &Needs) -> String {
    match plan.sure.and_then(|sure| sure.budget) {
        Some(budget) => {
            format!(
                "at most {}, and a little more if the last point ends later",
                plans::long_time(budget.as_secs_f64())
            )
        }
        None => time(&needs.estimate, needs.is_at_most, needs.loading, needs.beside),
    }
}

/// How long all of it takes; `None` if it has no limit.
fn all_seconds(estimate: &plan::Estimate, loading: f64, beside: BesideLoad) -> Option<f64> {
    (estimate.until_rows == 0).then_some(estimate.seconds + loading + beside.seconds)
}

fn time(estimate: &plan::Estimate, is_at_most: bool, loading: f64, beside: BesideLoad) -> String {
    let bound = if estimate.searches > 0 || !is_at_most { "about" } else { "at most" };
    let bounded = format!("{bound} {}", plans::long_time(estimate.seconds));
    let other = estimate.points - estimate.until_rows;
    let bounded = match (estimate.until_rows, other) {
        (0, _) => bounded,
        (1, 0) => return "not limited: the point ends when its data is done".to_owned(),
        (_, 0) => return "not limited: each point ends when its data is done".to_owned(),
        (1, timed) => format!("{bounded} for {timed} of the points; the other ends when its data is done"),
        (some, timed) => {
            format!("{bounded} for {timed} of the points; the other {some} end when their data is done")
        }
    };
    let by = if beside.is_known { ", by earlier runs" } else { "" };
    let points = format!("{} to begin and end points", plans::long_time(beside.seconds));
    let data = match estimate.data_sets {
        0 => String::new(),
        _ => format!(" and {} for the data", plans::long_time(loading)),
    };
    match all_seconds(estimate, loading, beside) {
        Some(all) => format!("{} in all: {bounded} of measuring, about {points}{data}{by}", plans::long_time(all)),
        None => bounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_named_where_only_the_run_is_counted() {
        let gib = Bytes::from_gib(1);
        let text =
            |files, database_points, disk| PlannedWrites { files, database_points, by_operations: None }.text(disk);
        assert_eq!(text(Some(Bytes(0)), 0, gib), "nothing, except by loading the data");
        assert_eq!(text(Some(Bytes::from_mib(8)), 0, gib), "at most 8 MiB");
        assert_eq!(text(Some(Bytes(0)), 0, Bytes(0)), "nothing", "on data that is there, or on none");
        assert_eq!(text(None, 1, gib), "unknown in advance");
        assert_eq!(text(Some(Bytes(0)), 1, gib), "unknown in advance: 1 point writes to a database");
        assert_eq!(at_most(gib), "at most 1 GiB");
    }

    #[test]
    fn a_plan_says_beforehand_what_it_could_show_and_lists_few_of_many_points() {
        let context = Context { catalogue: runner::catalogue(), json: false, quiet: false, plain: false };
        let told = |name: &str, flags: &[(&str, &str)]| {
            let flags = flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan = plans::load(name, &plan::Overrides::from_flags(flags), 1.0, &context).unwrap();
            Needs::of(&plan, &context, &EarlierRuns::default(), Path::new(".")).text(&plan)
        };
        let many = told("kv", &[]);
        let (compared, more) =
            ("compared       engine, with 4 pairs: differences of about 7 %", "and 180 more (--json has all)");
        assert!(many.contains(compared) && many.contains(more) && many.lines().count() < 30, "{many}");
        assert!(many.contains("they differ in engine (4), clients (2), mix (6), 4 repeats"), "{many}");
        let one = told("kv", &[("repeat", "1")]);
        assert!(one.contains("engine: cannot conclude with 1 pair; use --repeat 4"), "{one}");
        let short = told("kv", &[("budget", "30m"), ("engine", "sqlite"), ("repeat", "3")]);
        assert!(
            short.contains("warning: 3 repeats of each point are too few to decide anything: use --repeat 4 or more"),
            "{short}"
        );
        // The drain takes as long as it takes.
        let drain = told("quick", &[("budget", "5m")]);
        assert!(drain.contains("5 min: first all 10 points once (at least ") && !drain.contains(" h)"), "{drain}");
    }

    #[test]
    fn a_budget_shows_what_the_pairs_show_that_it_has_time_for() {
        let compared = |budget: &str| {
            let ab =
                [("ab", "service=1ms,4ms"), ("engine", "null"), ("time", "2s"), ("warmup", "0s"), ("budget", budget)];
            let flags = ab.map(|(key, text)| (key.to_string(), text.to_string())).into();
            let catalogue = runner::catalogue();
            let plan = plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &catalogue).unwrap();
            let in_time = pairs_in_time(&plan, &EarlierRuns::default(), &catalogue);
            (asked(&plan, in_time).expect("it compares"), smallest_difference(&plan, in_time).is_some())
        };
        let most =
            "service, until it is clear which is faster, or that they differ by less than 2%, in at most 20 pairs";
        let usual = "and more, if points vary by 3 %, as they usually do";
        assert_eq!(compared("1h"), (format!("{most}: differences of about 2 % {usual}"), true));
        let some = format!("{most}; there is time for about 6: differences of about 5 % {usual}");
        assert_eq!(compared("26s"), (some, true));
        assert_eq!(compared("10s"), (format!("{most}; there is time for about 2"), false));
    }

    #[test]
    fn rates_that_are_given_are_compared_by_response_times() {
        let compared = |more: &[(&str, &str)]| {
            let usual = [("ab", "rate=800,1600"), ("engine", "null")];
            let flags = usual.iter().chain(more).map(|(key, text)| (key.to_string(), text.to_string())).collect();
            let plan =
                plan::from_flags("file", &plan::Overrides::from_flags(flags), 1.0, &runner::catalogue()).unwrap();
            (asked(&plan, None).expect("it compares"), smallest_difference(&plan, None))
        };
        let by_times = "rate, by response times (the rates are given)";
        assert_eq!(compared(&[]), (format!("{by_times}, with 6 pairs"), None));
        assert_eq!(compared(&[("budget", "1h")]), (format!("{by_times}, in at most 20 pairs"), None));
        assert_eq!(compared(&[("repeat", "1")]).0, "rate: cannot conclude with 1 pair; use --repeat 4");
    }

    #[test]
    fn the_files_of_the_plan_quick_are_made_once_and_written_once() {
        let context = Context { catalogue: runner::catalogue(), json: false, quiet: false, plain: false };
        let plan = plans::load("quick", &plan::Overrides::default(), 1.0, &context).unwrap();
        let written = PlannedWrites::of(&plan, &context);
        assert_eq!((written.files, written.database_points), (Some(Bytes(Bytes::from_mib(256).0 + 80_000 * 4096)), 3));
    }

    const BESIDE: BesideLoad = BesideLoad { seconds: 7.0, is_known: false };

    #[test]
    fn the_time_of_points_that_end_by_their_rows_is_not_estimated() {
        let estimate = |seconds, until_rows, searches| {
            let warnings = Vec::new();
            time(
                &plan::Estimate { points: 7, data_sets: 1, seconds, searches, until_rows, warnings },
                true,
                2.0,
                BESIDE,
            )
        };
        let shown = |seconds, until_rows| estimate(seconds, until_rows, 0);
        let beside = "of measuring, about 7.00 s to begin and end points and 2.00 s for the data";
        assert_eq!(estimate(210.0, 0, 1), format!("4 min in all: about 4 min {beside}"));
        assert_eq!(shown(210.0, 0), format!("4 min in all: at most 4 min {beside}"));
        let some = "at most 60.0 s for 2 of the points; the other 5 end when their data is done";
        assert_eq!(shown(60.0, 5), some);
        assert_eq!(shown(0.0, 7), "not limited: each point ends when its data is done");
        let once =
            plan::Estimate { points: 1, data_sets: 1, seconds: 30.0, searches: 0, until_rows: 0, warnings: Vec::new() };
        let known = BesideLoad { is_known: true, ..BESIDE };
        assert_eq!(
            time(&once, true, 300.0, known),
            "6 min in all: at most 30.0 s of measuring, about 7.00 s to begin and end points and 5 min for the data, by earlier runs"
        );
    }
}
