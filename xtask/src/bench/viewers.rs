//! `cargo xtask bench viewers`: whether a run is slower while others look at it.
//!
//! In: the working tree. Out: the ratio of the rate and of the p99 of a run that is looked at to one that is not, in docs/benchmarks/viewers.md.
//! It is looked at in its live view on a terminal, or by ten viewers: four read the metrics, four read the page of the run that is being
//! recorded, and two ask half a question and never read. Limits: terminal and viewers are on the same machine and take CPU themselves; an
//! interval around 1 shows no more than that nothing larger was seen.

use super::effort::Effort;
use super::pairs::judge_goal;
use super::statistics::{Ratio, ratio};
use super::{keep, plimsoll, terminal};
use crate::workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// The name of the bench.
pub const NAME: &str = "viewers";

/// What is measured while others look.
struct ViewedLoad {
    name: &'static str,
    arguments: &'static [&'static str],
    onlookers: Onlookers,
}

/// Who looks at a run.
#[derive(Clone, Copy)]
enum Onlookers {
    /// A person at the terminal that it runs in.
    Person,
    /// Ten viewers over the network of the machine.
    Viewers,
}

const CPU: &[&str] =
    &["oltp", "--engine", "sqlite", "--mix", "point_select", "--clients", "2", "--table-rows", "20000"];
const DISK: &[&str] = &["file", "--mode", "rndwr", "--direct", "true", "--clients", "4", "--file-size", "256MiB"];

const LOADS: [ViewedLoad; 4] = [
    ViewedLoad { name: "live-cpu", arguments: CPU, onlookers: Onlookers::Person },
    ViewedLoad { name: "live-disk", arguments: DISK, onlookers: Onlookers::Person },
    ViewedLoad { name: "viewed-cpu", arguments: CPU, onlookers: Onlookers::Viewers },
    ViewedLoad { name: "viewed-disk", arguments: DISK, onlookers: Onlookers::Viewers },
];

/// The names of its cases.
pub const CASES: [&str; 4] = ["live-cpu", "live-disk", "viewed-cpu", "viewed-disk"];
/// Four read the metrics and four the page; two never read.
const READERS: usize = 4;
const SILENT: usize = 2;
/// A monitor asks every few seconds, and a page every two.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A run that is looked at has at least this share of the rate.
const RATE_GOAL: f64 = 0.99;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let below = root.join("target/bench");
    fs::create_dir_all(&below)?;
    let dir = tempfile::Builder::new().prefix(NAME).tempdir_in(below)?;
    fs::create_dir(dir.path().join("runs"))?;
    let mut rows = Vec::new();
    let measured = measure_all(root, dir.path(), effort, &mut rows);
    rows.iter().for_each(|row| println!("{row}"));
    keep::keep_rows(root, NAME, HEAD, &[], &rows).and(measured)
}

fn measure_all(root: &Path, dir: &Path, effort: &Effort, rows: &mut Vec<String>) -> Result<()> {
    for load in LOADS.iter().filter(|load| effort.wants(load.name)) {
        let (mut viewed, mut alone) = (Vec::new(), Vec::new());
        let mut looks = 0;
        for round in 1..=effort.rounds() {
            // A B B A.
            viewed.push(run_looked_at(root, dir, load, effort, &mut looks)?);
            alone.push(run_alone(root, dir, load, effort)?);
            alone.push(run_alone(root, dir, load, effort)?);
            viewed.push(run_looked_at(root, dir, load, effort, &mut looks)?);
            println!("  {} round {round}: {:?} : {:?}", load.name, viewed.last(), alone.last());
        }
        rows.push(cells(load.name, &viewed, &alone, looks)?);
    }
    Ok(())
}

/// What a run reached.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReachedLoad {
    per_s: f64,
    p99_ns: f64,
}

fn command(root: &Path, dir: &Path, load: &ViewedLoad, effort: &Effort) -> Command {
    let mut command = Command::new(plimsoll::binary(root));
    command.args(load.arguments).arg("--time").arg(format!("{}s", effort.seconds(20, 5)));
    command.arg("--no-report").arg("--dir").arg(dir).arg("--runs").arg(dir.join("runs"));
    command
}

/// The same without a line to read before its end.
fn silent_command(root: &Path, dir: &Path, load: &ViewedLoad, effort: &Effort) -> Command {
    let mut command = command(root, dir, load, effort);
    command.args(["--json", "--quiet"]).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn run_alone(root: &Path, dir: &Path, load: &ViewedLoad, effort: &Effort) -> Result<ReachedLoad> {
    reached(silent_command(root, dir, load, effort).spawn()?)
}

/// Runs `load` while its onlookers look at it, and adds how often they did.
fn run_looked_at(root: &Path, dir: &Path, load: &ViewedLoad, effort: &Effort, looks: &mut u64) -> Result<ReachedLoad> {
    match load.onlookers {
        Onlookers::Person => run_on_terminal(root, dir, load, effort, looks),
        Onlookers::Viewers => run_viewed(root, dir, load, effort, looks),
    }
}

/// Runs `load` in its live view, and adds how often that was drawn.
fn run_on_terminal(
    root: &Path,
    dir: &Path,
    load: &ViewedLoad,
    effort: &Effort,
    looks: &mut u64,
) -> Result<ReachedLoad> {
    let screens = terminal::run(&mut command(root, dir, load, effort))?;
    // The first takes the cursor away, and each drawing of the view is one more.
    if screens < 2 {
        bail!("plimsoll did not show its live view");
    }
    *looks += screens;
    let mut show = Command::new(plimsoll::binary(root));
    show.args(["show", "last", "--json", "--quiet", "--runs"]).arg(dir.join("runs")).stdout(Stdio::piped());
    reached(show.spawn()?)
}

/// Runs `load` while ten look at it, and adds how often they did.
fn run_viewed(root: &Path, dir: &Path, load: &ViewedLoad, effort: &Effort, looks: &mut u64) -> Result<ReachedLoad> {
    let metrics = free_address()?;
    let mut server = Command::new(plimsoll::binary(root))
        .args(["serve", "--quiet", "--runs"])
        .arg(dir.join("runs"))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut link = String::new();
    BufReader::new(server.stdout.take().context("stdout is a pipe")?).read_line(&mut link)?;
    let page = ViewedPage::from_link(link.trim())?;
    let child = silent_command(root, dir, load, effort).args(["--metrics", &metrics]).spawn()?;
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let measured = thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| look_until(&is_over, &answered, || ask(&metrics, "/metrics", "")));
            scope.spawn(|| look_until(&is_over, &answered, || page.look()));
        }
        (0..SILENT).for_each(|_| drop(scope.spawn(|| be_silent_until(&is_over, &metrics))));
        let measured = reached(child);
        is_over.store(true, Ordering::SeqCst);
        measured
    });
    server.kill()?;
    server.wait()?;
    *looks += answered.into_inner();
    measured
}

/// An address that is free now. Another program could take it first; then the run refuses to begin.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// The pages of `plimsoll serve`.
struct ViewedPage {
    address: String,
    token: String,
}

impl ViewedPage {
    fn from_link(link: &str) -> Result<ViewedPage> {
        let parts = link.strip_prefix("http://").and_then(|link| link.split_once("/?token="));
        let (address, token) = parts.with_context(|| format!("`plimsoll serve` printed `{link}`"))?;
        Ok(ViewedPage { address: address.to_owned(), token: token.to_owned() })
    }

    /// Looks at the list, and at the run that is being recorded if there is one.
    fn look(&self) -> Result<String> {
        let port = self.address.rsplit_once(':').map_or("", |(_, port)| port);
        let cookie = format!("Cookie: plimsoll-{port}={}\r\n", self.token);
        let list = ask(&self.address, "/", &cookie)?;
        let recorded = list.lines().find(|line| line.contains("being recorded</span>"));
        let run = recorded.and_then(|row| row.split_once("href=\"/run/")?.1.split_once('"'));
        match run {
            Some((run, _)) => ask(&self.address, &format!("/run/{run}/live.json"), &cookie),
            None => Ok(list),
        }
    }
}

fn ask(address: &str, path: &str, headers: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200 ") { Ok(answer) } else { bail!("`{path}` is answered `{answer}`") }
}

/// Before the run begins and after it ends there is no answer, which is no fault.
fn look_until(is_over: &AtomicBool, answered: &AtomicU64, look: impl Fn() -> Result<String>) {
    while !is_over.load(Ordering::SeqCst) {
        if look().is_ok() {
            answered.fetch_add(1, Ordering::SeqCst);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Asks half a question, again and again, and reads nothing.
fn be_silent_until(is_over: &AtomicBool, address: &str) {
    let mut held = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        if let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n");
            held.push(stream);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn reached(child: Child) -> Result<ReachedLoad> {
    let ended = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    parse_reached(&text).with_context(|| format!("plimsoll ended by {} and printed `{text}`", ended.status))
}

fn parse_reached(json: &str) -> Result<ReachedLoad> {
    let run: Value = serde_json::from_str(json)?;
    let point = &run["points"][0];
    let number = |value: &Value, name: &str| value.as_f64().with_context(|| format!("the point has no {name}"));
    Ok(ReachedLoad {
        per_s: number(&point["ops_per_s"], "rate")?,
        p99_ns: number(&point["response_ns"]["p99"], "p99")?,
    })
}

fn cells(name: &str, viewed: &[ReachedLoad], alone: &[ReachedLoad], looks: u64) -> Result<String> {
    let of = |value: fn(&ReachedLoad) -> f64| -> Result<Ratio> {
        let pairs: Vec<(f64, f64)> = viewed.iter().zip(alone).map(|(one, other)| (value(one), value(other))).collect();
        ratio(&pairs).context("one pair has no interval")
    };
    let (rate, p99) = (of(|one| one.per_s)?, of(|one| one.p99_ns)?);
    Ok(format!("{name} | {looks} | {rate} | {} | {p99}", judge_goal(RATE_GOAL, true, &rate)))
}

const HEAD: &str = "\
# viewers

Whether a run is slower while others look at it. `live`: it runs on a terminal of 80 columns and shows its live view, which is drawn up to
four times a second. `viewed`: ten look at it; four read its metrics (`--metrics`) and four its page (`plimsoll serve`) five times a second
each, two ask half a question again and again and never read. Runs that are looked at and runs with `--quiet` take turns (A B B A). The ratio
is looked at : not looked at, the geometric mean over the pairs with its 95 % confidence interval. The goal is at least 0.99 of the rate. The
terminal and the viewers are on the same machine and take CPU themselves, so this is more than the view and the servers cost. Looks are
screens that were drawn, or answers. `cargo xtask bench viewers` adds its lines here.

| date | versions | kernel | load | looks | ratio of the rate | goal | ratio of p99 |
|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_p99_come_from_the_json_of_a_run() {
        let json = r#"{"points":[{"ops_per_s":1000.5,"response_ns":{"p99":2000}}]}"#;
        assert_eq!(parse_reached(json).unwrap(), ReachedLoad { per_s: 1000.5, p99_ns: 2000.0 });
        assert!(parse_reached(r#"{"points":[]}"#).is_err());
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let all = |per_s| vec![ReachedLoad { per_s, p99_ns: 1e6 }; 4];
        let row = cells("viewed-cpu", &all(99.5), &all(100.0), 400).unwrap();
        assert!(row.starts_with("viewed-cpu | 400 | 0.995 (") && row.contains(" | met | 1.000 ("), "{row}");
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert_eq!(row.matches(" | ").count() + 4, columns);
        assert_eq!(LOADS.map(|load| load.name), CASES);
    }
}
