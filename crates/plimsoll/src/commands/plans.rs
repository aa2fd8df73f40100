//! `plimsoll plans`: the built-in plans. Every command finds a plan by name or file here.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{ArgMatches, Command};
use model::Plan;
use model::units::three_digits;
use plan::Overrides;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

/// The built-in plans: their file names and texts.
pub const PLANS: &[(&str, &str)] = &[
    ("orders", include_str!("../../../../plans/orders.toml")),
    ("orders-report", include_str!("../../../../plans/orders-report.toml")),
    ("tpcb-like", include_str!("../../../../plans/tpcb-like.toml")),
    ("pgbench-tables", include_str!("../../../../plans/pgbench-tables.toml")),
    ("quick", include_str!("../../../../plans/quick.toml")),
    ("file-depth", include_str!("../../../../plans/file-depth.toml")),
    ("insert-engines", include_str!("../../../../plans/insert-engines.toml")),
    ("null-stall", include_str!("../../../../plans/null-stall.toml")),
    ("ssd-timeline", include_str!("../../../../plans/ssd-timeline.toml")),
    ("ssd-threads", include_str!("../../../../plans/ssd-threads.toml")),
    ("ssd-write-steadiness", include_str!("../../../../plans/ssd-write-steadiness.toml")),
    ("array-threads", include_str!("../../../../plans/array-threads.toml")),
    ("array-schedulers", include_str!("../../../../plans/array-schedulers.toml")),
    ("filesystems-oltp", include_str!("../../../../plans/filesystems-oltp.toml")),
    ("oltp-cpu", include_str!("../../../../plans/oltp-cpu.toml")),
    ("kv", include_str!("../../../../plans/kv.toml")),
    ("micro", include_str!("../../../../plans/micro.toml")),
    ("smt-oltp", include_str!("../../../../plans/smt-oltp.toml")),
    ("smt-schedulers", include_str!("../../../../plans/smt-schedulers.toml")),
    ("cpu-price", include_str!("../../../../plans/cpu-price.toml")),
    ("instances", include_str!("../../../../plans/instances.toml")),
    ("limits", include_str!("../../../../plans/limits.toml")),
    ("file-compression", include_str!("../../../../plans/file-compression.toml")),
    ("filesystem-compression", include_str!("../../../../plans/filesystem-compression.toml")),
    ("zfs-compression", include_str!("../../../../plans/zfs-compression.toml")),
    ("dataset-compression", include_str!("../../../../plans/dataset-compression.toml")),
    ("insert-2012", include_str!("../../../../plans/insert-2012.toml")),
    ("connect-latency", include_str!("../../../../plans/connect-latency.toml")),
    ("insert-larger-than-memory", include_str!("../../../../plans/insert-larger-than-memory.toml")),
    ("cluster-challenge", include_str!("../../../../plans/cluster-challenge.toml")),
    ("derived-table", include_str!("../../../../plans/derived-table.toml")),
    ("temp-table-keys", include_str!("../../../../plans/temp-table-keys.toml")),
];

/// Columns of the list: the longest name, and where the title begins.
const NAME_WIDTH: usize = 25;
const INDENT: usize = NAME_WIDTH + 21;

/// A plan file larger than this is no plan.
const PLAN_BYTES_MAX: u64 = 1 << 20;

pub fn clap() -> Command {
    Command::new("plans").about("List the built-in plans")
}

pub fn execute(_: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let mut text = format!("{:NAME_WIDTH$}  points       time  title\n", "plan");
    let mut all = Vec::new();
    for (name, toml) in PLANS {
        let plan = plan::parse(toml, name, &Overrides::default(), 1.0, &context.catalogue)?;
        let estimate = plan::estimate(&plan, &context.catalogue);
        let (points, time) = (estimate.points, time_in_list(&estimate));
        let about = report::terminal::wrap(&plan.title, context.width().saturating_sub(INDENT))
            .join(&format!("\n{:INDENT$}", ""));
        let _ = writeln!(text, "{name:NAME_WIDTH$}  {points:>6}  {time:>9}  {about}");
        all.push(serde_json::json!({
            "plan": name, "title": plan.title, "points": estimate.points, "seconds": estimate.seconds,
            "points_until_rows": estimate.until_rows,
        }));
    }
    if context.json {
        output::json::print(&serde_json::json!({"schema": "plimsoll.plans/1", "plans": all}))
    } else {
        output::print(&text)
    }
    Ok(Exit::Done)
}

/// `48 s`, `3.5 h`; `by data` for a plan of which a point ends when its rows or files are done, however long that takes.
fn time_in_list(estimate: &plan::Estimate) -> String {
    if estimate.until_rows > 0 { "by data".to_owned() } else { long_time(estimate.seconds) }
}

/// `47.5 s`, `5.6 min`, `3.5 h`.
pub fn long_time(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3_600.0;
    match seconds {
        short if short < 2.0 * MINUTE => format!("{} s", three_digits(short)),
        some if some < HOUR => format!("{:.0} min", some / MINUTE),
        long => format!("{:.1} h", long / HOUR),
    }
}

/// The plan called `name`: built in, or a file.
pub fn load(name: &str, overrides: &Overrides, scale: f64, context: &Context) -> Result<Plan, Fault> {
    let (text, is_built_in) = (text(name)?, PLANS.iter().any(|(known, _)| *known == name));
    let origin = if is_built_in { format!("{name}.toml") } else { name.to_owned() };
    Ok(plan::parse(&text, &origin, overrides, scale, &context.catalogue)?)
}

/// The text of the plan called `name`: built in, or a file.
pub fn text(name: &str) -> Result<String, Fault> {
    match PLANS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((*text).to_owned()),
        None => read(Path::new(name)).and_then(|text| if is_fio_job(&text) { Err(fio_job(name)) } else { Ok(text) }),
    }
}

/// Whether `text` is a job file of fio: sections, and a key that only fio has.
fn is_fio_job(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let has_section = lines().any(|line| line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']'));
    let keys = ["ioengine", "rw", "readwrite", "bs", "iodepth", "numjobs", "time_based", "group_reporting", "filename"];
    has_section && lines().any(|line| keys.contains(&line.split('=').next().unwrap_or_default().trim()))
}

fn fio_job(name: &str) -> Fault {
    let name = output::shell_word(name);
    Fault::usage(format!(
        "`{name}` is a job file of fio, not a plan. Give its settings as flags: `plimsoll file --rw randread --bs 4k` is answered with our \
         words. Or run it with fio and read the result: `fio --output-format=json {name} > result.json`, then `plimsoll import result.json`"
    ))
}

fn read(path: &Path) -> Result<String, Fault> {
    let cannot = |error: std::io::Error| {
        let name = path.display();
        Fault::usage(match error.kind() {
            ErrorKind::NotFound => {
                format!("there is no plan file and no built-in plan `{name}`{}", meant_or_list(path))
            }
            ErrorKind::IsADirectory => format!("`{name}` is a directory; name a plan file"),
            ErrorKind::InvalidData => format!("the plan `{name}` is not UTF-8 text"),
            _ => format!("cannot read the plan `{name}`: {}", host::error::system_words(&error)),
        })
    };
    let (name, mut text) = (path.display(), String::new());
    if std::fs::metadata(path).map_err(cannot)?.is_file() {
        let file = File::open(path).map_err(cannot)?;
        file.take(PLAN_BYTES_MAX + 1).read_to_string(&mut text).map_err(cannot)?;
        return Ok(text);
    }
    let unopened = format!("waiting for the plan `{name}`, which is a named pipe that no program writes to yet");
    let file = tell_if_slow(unopened, || File::open(path)).map_err(cannot)?;
    let unended = format!("waiting for the end of the plan `{name}`, which whoever writes it has not closed yet");
    tell_if_slow(unended, || file.take(PLAN_BYTES_MAX + 1).read_to_string(&mut text)).map_err(cannot)?;
    Ok(text)
}

/// What `work` returns. A plan may come through a pipe, from a program that takes its time: after a second the user reads `why` it is waited for.
fn tell_if_slow<T>(why: String, work: impl FnOnce() -> T) -> T {
    const PATIENCE: Duration = Duration::from_secs(1);
    let (done, is_done) = mpsc::channel::<()>();
    // Without a thread it is not reported.
    let _ = Builder::new().spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            crate::output::say(format_args!("plimsoll: {why}"));
        }
    });
    let result = work();
    drop(done);
    result
}

/// The built-in plan that is spelt alike, or the command that lists them.
fn meant_or_list(path: &Path) -> String {
    let meant = plan::hint(&path.display().to_string(), PLANS.iter().map(|(name, _)| *name));
    if meant.is_empty() { "; `plimsoll plans` lists the built-in plans".to_owned() } else { meant }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_minutes_and_hours() {
        assert_eq!([47.5, 336.0, 5_400.0, 12_600.0].map(long_time), ["47.5 s", "6 min", "1.5 h", "3.5 h"]);
    }

    #[test]
    fn a_job_file_of_fio_is_known_and_a_plan_is_none() {
        assert!(is_fio_job("[global]\nioengine=libaio\ntime_based\n[job]\nrw=randread\n"));
        assert!(PLANS.iter().all(|(_, text)| !is_fio_job(text)));
    }

    #[test]
    fn a_plan_that_ends_by_its_data_has_no_time() {
        let catalogue = runner::catalogue();
        for name in [
            "insert-2012",
            "micro",
            "file-compression",
            "filesystem-compression",
            "zfs-compression",
            "dataset-compression",
        ] {
            let toml = text(name).unwrap();
            let plan = plan::parse(&toml, name, &Overrides::default(), 1.0, &catalogue).unwrap();
            assert_eq!(time_in_list(&plan::estimate(&plan, &catalogue)), "by data", "{name}");
        }
    }

    #[test]
    fn a_copy_of_a_built_in_plan_is_the_same_plan_under_any_file_name() {
        let context = Context { catalogue: runner::catalogue(), json: false, quiet: false, plain: false };
        let dir = tempfile::tempdir().unwrap();
        for (name, _) in PLANS {
            let copy = dir.path().join("mine.toml");
            std::fs::write(&copy, text(name).unwrap()).unwrap();
            let load = |name: &str| load(name, &Overrides::default(), 1.0, &context).unwrap();
            assert_eq!(load(copy.to_str().unwrap()), load(name), "{name}");
        }
    }

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
