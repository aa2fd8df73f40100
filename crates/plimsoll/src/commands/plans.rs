//! `plimsoll plans`: the built-in plans. Every command finds a plan by name or file here.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{ArgMatches, Command};
use model::Plan;
use plan::Overrides;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

/// The built-in plans: their file names and texts.
pub const PLANS: &[(&str, &str)] = &[
    ("quick", include_str!("../../../../plans/quick.toml")),
    ("file-depth", include_str!("../../../../plans/file-depth.toml")),
    ("insert-engines", include_str!("../../../../plans/insert-engines.toml")),
    ("null-stall", include_str!("../../../../plans/null-stall.toml")),
    ("ssd-timeline", include_str!("../../../../plans/ssd-timeline.toml")),
    ("ssd-threads", include_str!("../../../../plans/ssd-threads.toml")),
    ("ssd-write-steadiness", include_str!("../../../../plans/ssd-write-steadiness.toml")),
    ("array-threads", include_str!("../../../../plans/array-threads.toml")),
    ("filesystems-oltp", include_str!("../../../../plans/filesystems-oltp.toml")),
    ("oltp-cpu", include_str!("../../../../plans/oltp-cpu.toml")),
    ("insert-2012", include_str!("../../../../plans/insert-2012.toml")),
    ("insert-larger-than-memory", include_str!("../../../../plans/insert-larger-than-memory.toml")),
];

/// A plan file larger than this is no plan.
const PLAN_BYTES_MAX: u64 = 1 << 20;

/// The command.
pub fn clap() -> Command {
    Command::new("plans").about("List the built-in plans")
}

/// Does it.
pub fn execute(_: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let mut text = String::new();
    let mut all = Vec::new();
    for (name, toml) in PLANS {
        let plan = plan::parse(toml, name, &Overrides::default(), 1.0, &context.catalogue)?;
        let estimate = plan::estimate(&plan, &context.catalogue);
        let more = if estimate.until_rows > 0 { "+" } else { " " };
        let _ =
            writeln!(text, "{name:25} {:3} points, {:5.0} s{more} {}", estimate.points, estimate.seconds, plan.title);
        all.push(serde_json::json!({
            "plan": name, "title": plan.title, "points": estimate.points, "seconds": estimate.seconds,
            "points_until_rows": estimate.until_rows,
        }));
    }
    match context.json {
        true => output::json::print(&serde_json::json!({"schema": "plimsoll.plans/1", "plans": all})),
        false => output::print(&text),
    }
    Ok(Exit::Done)
}

/// The plan called `name`: built in, or a file.
pub fn load(name: &str, overrides: &Overrides, scale: f64, context: &Context) -> Result<Plan, Fault> {
    let built_in = PLANS.iter().find(|(known, _)| *known == name);
    let text = match built_in {
        Some((_, text)) => text.to_string(),
        None => read(Path::new(name))?,
    };
    let origin = if built_in.is_some() { format!("{name}.toml") } else { name.to_owned() };
    Ok(plan::parse(&text, &origin, overrides, scale, &context.catalogue)?)
}

fn read(path: &Path) -> Result<String, Fault> {
    let known: Vec<&str> = PLANS.iter().map(|(name, _)| *name).collect();
    let cannot = |error: std::io::Error| {
        let meant = plan::text::hint(&path.display().to_string(), known.iter().copied());
        let known = format!("; the built-in plans are {}", known.join(", "));
        let more = if meant.is_empty() { known } else { meant };
        let path = path.display();
        Fault::usage(match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no plan file and no built-in plan `{path}`{more}"),
            _ => format!("cannot read the plan `{path}`: {}{more}", host::error::system_words(&error)),
        })
    };
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut text = String::new();
    file.take(PLAN_BYTES_MAX + 1).read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_plan_can_go_on_when_it_comes_back_from_a_run_file() {
        let catalogue = runner::catalogue();
        for (name, toml) in PLANS {
            let plan = plan::parse(toml, name, &Overrides::default(), 1.0, &catalogue).expect(name);
            let kept: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
            assert_eq!(kept, plan, "{name}");
            plan::check(&kept, name, &catalogue).expect(name);
        }
    }
}
