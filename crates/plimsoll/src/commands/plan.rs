//! `plimsoll plan PLAN`: what a plan would do, without doing it.

use super::plans;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output::{self, label};
use clap::{Arg, ArgMatches, Command};
use engine::estimate::{chain_bytes, written_bytes_at_most};
use model::units::three_digits;
use model::{Bytes, Plan};
use std::fmt::Write as _;

/// The command.
pub fn clap() -> Command {
    let plan = Arg::new("plan")
        .value_name("PLAN")
        .required(true)
        .help("Plan file, or name of a built-in plan (`plimsoll plans`)");
    let command = Command::new("plan").arg(plan).arg(flags::directory().help("Directory that the run would measure"));
    flags::with_scale(flags::with_common(command, &flags::engine_entries()))
        .about("Show what a plan would do, without running it: points, time, disk space, warnings")
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let name = matches.get_one::<String>("plan").expect("required");
    let plan = plans::load(name, &flags::overrides(matches)?, flags::scale(matches)?, context)?;
    runner::check_abilities(&plan, &context.catalogue)?;
    let needs = Needs::of(&plan, context);
    if context.json {
        output::json::print(&needs.json(&plan));
    } else {
        output::print(&needs.text(&plan));
    }
    let site = flags::options(matches).site;
    host::safety::check_directory(&site.dir)?;
    runner::check_targets(&plan, &site)?;
    host::safety::check_space(&site.dir, needs.disk)?;
    Ok(Exit::Done)
}

/// What a plan needs.
struct Needs {
    estimate: plan::Estimate,
    disk: Bytes,
    written: Option<Bytes>,
}

impl Needs {
    fn of(plan: &Plan, context: &Context) -> Needs {
        let chains = plan::chains(plan, &context.catalogue).into_iter();
        let written: Option<Vec<Bytes>> = plan.trials.iter().map(written_bytes_at_most).collect();
        Needs {
            estimate: plan::estimate(plan, &context.catalogue),
            disk: chains.map(|chain| chain_bytes(&plan.trials[chain])).max().unwrap_or_default(),
            written: written.map(|all| Bytes(all.iter().map(|bytes| bytes.0).sum())),
        }
    }

    fn text(&self, plan: &Plan) -> String {
        let mut text = format!("{}: {}\n\n", plan.name, plan.title);
        for (nth, label) in (1..).zip(label::all(plan)) {
            let _ = writeln!(text, "{nth:4}  {label}");
        }
        let _ = write!(
            text,
            "\npoints         {}\ndata sets      {}\ntime           {}\npeak disk      {}\nwritten        {}\n",
            self.estimate.points,
            self.estimate.data_sets,
            time(&self.estimate),
            about(self.disk),
            written_text(self.written, self.disk),
        );
        for warning in &self.estimate.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    fn json(&self, plan: &Plan) -> serde_json::Value {
        serde_json::json!({
            "schema": "plimsoll.plan/1",
            "plan": plan.name,
            "points": self.estimate.points,
            "data_sets": self.estimate.data_sets,
            "seconds": self.estimate.seconds,
            "points_until_rows": self.estimate.until_rows,
            "peak_disk_bytes": self.disk.0,
            "written_bytes_at_most": self.written.map(|bytes| bytes.0),
            "warnings": self.estimate.warnings,
            "trials": plan.trials,
        })
    }
}

fn about(disk: Bytes) -> String {
    if disk.0 == 0 { "none".to_owned() } else { format!("about {disk}") }
}

/// What the measured operations write. Loading writes as well, and how much depends on the engine.
fn written_text(written: Option<Bytes>, disk: Bytes) -> String {
    match written {
        None => "unknown in advance".to_owned(),
        Some(Bytes(0)) if disk.0 == 0 => "nothing".to_owned(),
        Some(Bytes(0)) => "nothing, except by loading the data".to_owned(),
        Some(most) => format!("at most {most}, plus loading the data"),
    }
}

/// How long it takes, as far as that is known before.
fn time(estimate: &plan::Estimate) -> String {
    let bounded = format!("at most {} s, plus loading the data", three_digits(estimate.seconds));
    match estimate.until_rows {
        0 => bounded,
        all if all == estimate.points => "until all points are done".to_owned(),
        some => format!("{bounded}; {some} points run until they are done"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_named_where_only_the_run_is_counted() {
        let gib = Bytes::from_gib(1);
        assert_eq!(written_text(Some(Bytes(0)), gib), "nothing, except by loading the data");
        assert_eq!(written_text(Some(Bytes::from_mib(8)), gib), "at most 8 MiB, plus loading the data");
        assert_eq!((written_text(None, gib).as_str(), about(Bytes(0)).as_str()), ("unknown in advance", "none"));
        assert_eq!(written_text(Some(Bytes(0)), Bytes(0)), "nothing", "on data that is there, or on none");
        assert_eq!(about(Bytes::from_gib(1)), "about 1 GiB");
    }

    #[test]
    fn the_time_of_points_that_end_by_their_rows_is_not_estimated() {
        let shown = |seconds, until_rows| {
            time(&plan::Estimate { points: 7, data_sets: 1, seconds, until_rows, warnings: Vec::new() })
        };
        assert_eq!(shown(210.0, 0), "at most 210 s, plus loading the data");
        assert_eq!(shown(60.0, 5), "at most 60.0 s, plus loading the data; 5 points run until they are done");
        assert_eq!(shown(0.0, 7), "until all points are done");
    }
}
