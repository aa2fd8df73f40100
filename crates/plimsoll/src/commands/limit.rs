//! `plimsoll limit WORKLOAD ...`: the largest rate at which an objective holds.
//!
//! In: the flags of the workload. Out: what `plimsoll WORKLOAD --rate limit` does; of the statements of a log their largest multiple. Limits: a
//! workload that ends by itself, or that computes in plimsoll's
//! own process, has no rate that can be held.

use super::workload;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use ::workload::WORKLOADS;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use model::Nanos;

/// A shorter hold misses checkpoints and compactions that come every few minutes.
const HOLD_USUAL: Nanos = Nanos::from_secs(300);

/// Flags that a search sets or has no use for.
const NOT_USEFUL: [&str; 8] = ["rate", "think", "until", "round", "rounds_max", "precondition", "ops_max", "times"];

pub fn clap() -> Command {
    let workloads = WORKLOADS.iter().map(|def| {
        // What has no rate is answered with the reason.
        let command = workload::clap(def).hide(def.entry.why_no_rate().is_some());
        let useful = NOT_USEFUL.iter().filter(|flag| has_flag(&command, flag)).copied().collect::<Vec<_>>();
        useful.into_iter().fold(command, |command, flag| command.mut_arg(flag, |flag| flag.hide(true)))
    });
    Command::new("limit")
        .about("Search for the largest rate at which an objective holds (--slo), and hold it")
        .after_help(
            "Operations fall due at a rate, whatever the engine does. A closed loop finds the order of magnitude; then rates are tried, each \
             for up to --time, until the bracket is narrow. The best rate is held for --hold: it must keep the objective, and the writes that \
             the engine has put off must not grow. Of the statements of a log (replay-sql) multiples are tried, from the recorded load on.\n\nExample: plimsoll limit oltp --engine mariadb --mix read_write --clients 32 --slo 'p99<10ms'",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .subcommands(workloads)
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let (name, matches) = matches.subcommand().expect("clap requires a workload");
    let def = WORKLOADS.iter().find(|def| def.entry.name == name).expect("clap matches only workloads that it knows");
    if matches.value_source("rate").is_some_and(|source| source != ValueSource::DefaultValue) {
        return Err(Fault::usage(
            "--rate: the rate is what is searched for; use --rate-max for the highest that is tried",
        ));
    }
    let search = workload::PresetKeys(&[("rate", "limit")]);
    workload::execute_with(def, matches, &search, context)
}

/// Notes what a search leaves open that is held for less than five minutes.
pub fn note_short_hold(plan: &model::Plan, context: &Context) {
    let holds = plan.trials.iter().filter_map(|trial| Some(trial.limit.as_ref()?.spec.hold));
    if let Some(hold) = holds.min().filter(|hold| *hold < HOLD_USUAL) {
        context.note(format_args!(
            "a hold of {hold} does not show what comes less often, such as checkpoints every few minutes; the usual one is `--hold 5m`"
        ));
    }
}

fn has_flag(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == name)
}
