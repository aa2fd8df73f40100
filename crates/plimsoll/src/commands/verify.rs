//! `plimsoll verify RUN`: checks the data of a recorded run that still exists.
//!
//! In: a run file whose points were measured with `verify = true`. Out: the blocks that are not what was written, by sort.
//! Limits: reads only, and only what is left: the file of `--path`, or the data directory of a plimsoll that was killed, which
//! the next plimsoll that measures there removes (with `fs` the next of root, wherever it measures). If the machine crashed while data was
//! written, it is unknown which generation should be there, so stale blocks are not reported.

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{ArgMatches, Command};
use engine::verify::{DAMAGE_KEPT, LeftData, ReadBack, check_left};
use model::{Bytes, RunData};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

pub fn clap() -> Command {
    list::run_arguments(Command::new("verify"))
        .about("Check the data that a run with `verify = true` wrote and left behind; read-only")
}

/// Data that was checked.
struct CheckedData {
    found: ReadBack,
    generations_known: bool,
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let path = list::run_file(matches)?;
    let checked = check_all(&store::read(&path)?, context)?;
    if context.json {
        output::json::print(&json!({
            "schema": "plimsoll.verify/1", "run": path, "data": checked.iter().map(json_of).collect::<Vec<_>>(),
        }))
    } else {
        output::print(&checked.iter().map(text).collect::<String>())
    }
    let damaged: u64 = checked.iter().map(|data| data.found.checked.damaged()).sum();
    match damaged {
        0 => Ok(Exit::Done),
        units => {
            let blocks = if units == 1 { "block of 4 KiB is" } else { "blocks of 4 KiB are" };
            let text = format!("{units} {blocks} damaged");
            Err(Fault { reported: true, ..Fault::new(Exit::TargetFailed, text) })
        }
    }
}

/// Checks all data that the run names and that is still there; there is some.
fn check_all(run: &RunData, context: &Context) -> Result<Vec<CheckedData>, Fault> {
    let mut tables: Vec<&str> = Vec::new();
    let facts = run.points.iter().flat_map(|point| &point.facts).filter(|fact| fact.name == "verify.table");
    facts.for_each(|fact| {
        if !tables.contains(&fact.value.as_str()) {
            tables.push(&fact.value)
        }
    });
    if tables.is_empty() {
        return Err(Fault::usage("nothing to verify: no point of this run was measured with verify = `true`"));
    }
    let (mut all, mut in_use) = (Vec::new(), None);
    for table in tables {
        match check_left(Path::new(table), &mut progress(context))? {
            LeftData::Gone => {}
            LeftData::InUse => in_use = Some(table),
            LeftData::Checked { found, generations_known } => all.push(CheckedData { found, generations_known }),
        }
    }
    match (all.is_empty(), in_use) {
        (false, _) => Ok(all),
        (true, Some(table)) => {
            let text =
                format!("another plimsoll run is using the data of `{}`; wait until it finishes", table.escape_debug());
            Err(Fault::new(Exit::Refused, text))
        }
        (true, None) => Err(Fault::usage(
            "nothing to verify: the data of this run was removed; it is kept only in a file named by --path, or if plimsoll was killed",
        )),
    }
}

/// Notes once a second how far the check is.
fn progress(context: &Context) -> impl FnMut(Bytes, Bytes) -> bool {
    let mut said = Instant::now();
    move |done, total| {
        if said.elapsed() >= Duration::from_secs(1) {
            context.note(format_args!("{} % of {total} checked", done.0 * 100 / total.0.max(1)));
            said = Instant::now();
        }
        true
    }
}

fn text(data: &CheckedData) -> String {
    let CheckedData { found: ReadBack { checked, paths }, generations_known } = data;
    let files = paths.iter().map(|path| host::error::shown(path)).collect::<Vec<_>>();
    let mut text = match files.as_slice() {
        [one] => format!("`{one}`: {}\n", checked.summary()),
        [first, rest @ ..] => format!("`{first}` and {} more: {}\n", rest.len(), checked.summary()),
        [] => String::new(),
    };
    if !generations_known {
        text += "  the machine crashed while this was written: stale blocks cannot be recognised\n";
    }
    data.found.lines().for_each(|line| text += &format!("  {line}\n"));
    if checked.damaged() > 0 {
        text += "  (generation N: the Nth time that a block was written)\n";
    }
    if checked.damaged() > DAMAGE_KEPT as u64 {
        text += &format!("  and {} more\n", checked.damaged() - DAMAGE_KEPT as u64);
    }
    text
}

fn json_of(data: &CheckedData) -> Value {
    let CheckedData { found: ReadBack { checked, paths }, generations_known } = data;
    let damaged = checked.first.iter().map(|damage| {
        let found = damage.found.map(|found| {
            json!({
                "generation": found.generation, "same_data": found.same_set, "file": found.file, "at_bytes": found.at.0,
            })
        });
        json!({
            "sort": damage.sort, "file": paths.get(usize::from(damage.file)), "at_bytes": damage.at.0,
            "expected_generation": {"least": damage.least, "most": damage.newest}, "found": found,
        })
    });
    json!({
        "files": paths, "units": checked.units, "unit_bytes": 4096, "corrupt": checked.corrupt, "stale": checked.stale,
        "misdirected": checked.misdirected, "unsure": checked.unsure, "generations_known": generations_known,
        "damaged": damaged.collect::<Vec<_>>(), "damaged_not_listed": checked.damaged().saturating_sub(DAMAGE_KEPT as u64),
    })
}
