//! Runs every mix of `oltp` and of `kv`, every step of `insert`, and `orders` in its forms on every engine, and writes the table of what works.
//!
//! In: a debug build, which has the engine `rocksdb` if you ask for that feature; the engines of this machine, and those of
//! `cargo xtask engines`. Out: `docs/reference/compatibility.md`; each cell is a run that was made. Limits: runs of a second on small
//! tables: they show that something works, not how well. One server is reached by URL: one that is too old to be plimsoll's own.

use super::old_server::OldServer;
use super::quiet_command;
use crate::engines::MYSQL_5_5;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The engines of the table: their words, with `@` if their folder is below `target/engines`.
const ENGINES: &[&str] = &[
    "mariadb",
    "mariadb:rocksdb",
    "mariadb@mariadb-11.4",
    "mysql@mysql-unstable",
    "postgres",
    "postgres@postgres-17",
    "postgres@postgres-18",
    "sqlite",
    "fjall",
    "rocksdb",
];

/// The steps of `insert` after the load. Of these an engine runs by default what it can.
const STEPS: &[&str] = &["l.x", "l.i1", "l.i2", "drain", "qr", "qp"];

/// What is tried besides mixes and steps: its row in the table, and its command.
const OTHERS: &[(&str, &str)] = &[
    ("orders", "orders"),
    ("orders, foreign keys", "orders --foreign-keys true"),
    ("orders, stored procedures", "orders --calls procedures"),
    ("kv a", "kv --mix a"),
    ("kv b", "kv --mix b"),
    ("kv c", "kv --mix c"),
    ("kv d", "kv --mix d"),
    ("kv e", "kv --mix e"),
    ("kv f", "kv --mix f"),
];

/// The smallest data of each of them.
const SMALL_ORDERS: &[&str] = &["--items", "1000", "--customers", "30"];
const SMALL_RECORDS: &[&str] = &["--records", "2000"];

/// What is tried by URL.
const BY_URL: &str = "mysql 5.5 by URL";

/// What one run showed of one test.
enum Cell {
    Works,
    /// It has the reason.
    Fails(String),
}

impl Cell {
    /// The reason in words that fit every mix with the same reason.
    fn without_mix(self, mix: &str) -> Cell {
        match self {
            Cell::Works => Cell::Works,
            Cell::Fails(why) => Cell::Fails(why.replace(&format!("`--mix {mix}`"), "this mix")),
        }
    }
}

/// One engine with what was tried on it.
struct TriedEngine {
    word: String,
    version: String,
    cells: BTreeMap<String, Cell>,
}

/// Tries all engines that are here and writes the table.
pub fn write_table(root: &Path, work: &Path, features: &[String]) -> Result<()> {
    let features = features.iter().map(|feature| format!("--features=plimsoll/{feature}"));
    let build = ["build", "--quiet", "-p", "plimsoll"].map(str::to_owned).into_iter().chain(features);
    let built = Command::new("cargo").current_dir(root).args(build).status()?;
    ensure!(built.success(), "the build failed");
    let mixes = mixes(root)?;
    let (mut tried, mut missing) = (Vec::new(), Vec::new());
    let mut try_one = |name: &str, word: &str| -> Result<()> {
        match try_engine(root, work, word, &mixes)? {
            Some(one) => tried.push(TriedEngine { word: name.to_owned(), ..one }),
            None => missing.push(name.to_owned()),
        }
        Ok(())
    };
    for engine in ENGINES {
        try_one(engine, &engine_word(root, engine))?;
    }
    let old = root.join("target/engines").join(MYSQL_5_5);
    if old.is_dir() {
        OldServer::start(&old).and_then(|server| try_one(BY_URL, &server.url()))?
    } else {
        missing.push(BY_URL.to_owned())
    }
    ensure!(!tried.is_empty(), "no engine is here");
    let page = root.join("docs/reference/compatibility.md");
    let text = table(&tried, &mixes, &missing)?;
    std::fs::write(&page, text).with_context(|| format!("cannot write `{}`", page.display()))
}

fn plimsoll(root: &Path) -> Command {
    quiet_command(root.join("target/debug/plimsoll"))
}

/// `mariadb@FOLDER` with the full path of the folder.
fn engine_word(root: &Path, engine: &str) -> String {
    match engine.split_once('@') {
        Some((name, folder)) => format!("{name}@{}", root.join("target/engines").join(folder).display()),
        None => engine.to_owned(),
    }
}

/// The mixes that the help of `oltp` lists, but for the one that needs a plan.
fn mixes(root: &Path) -> Result<Vec<String>> {
    let help = String::from_utf8(plimsoll(root).args(["oltp", "--help"]).output()?.stdout)?;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let values = words.split_once("--mix ").and_then(|(_, after)| after.split_once("[values: "));
    let list = values.and_then(|(_, after)| after.split_once(']')).context("`oltp --help` lists no mixes")?.0;
    Ok(list.split(", ").filter(|mix| *mix != "custom").map(str::to_owned).collect())
}

/// `None` if the engine is not here.
fn try_engine(root: &Path, work: &Path, word: &str, mixes: &[String]) -> Result<Option<TriedEngine>> {
    let mut tried = TriedEngine { word: word.to_owned(), version: String::new(), cells: BTreeMap::new() };
    for mix in mixes {
        let arguments = ["oltp", "--mix", mix, "--table-rows", "10000", "--clients", "2", "--time", "1s"];
        let run = run_once(root, work, word, &arguments)?;
        if run["error"].as_str().is_some_and(is_missing) {
            return Ok(None);
        }
        if let Some(version) = run["points"][0]["engine_version"].as_str() {
            tried.version = version.to_owned();
        }
        let cell = cell(&run, &run["points"][0]).without_mix(mix);
        tried.cells.insert(mix.clone(), cell);
        println!("soak: {word} {mix}");
    }
    let run = run_once(root, work, word, &["insert", "--rows", "20000", "--time", "1s"])?;
    for point in run["points"].as_array().into_iter().flatten() {
        let step = point["params"]["step"].as_str().unwrap_or("insert").to_owned();
        println!("soak: {word} {step}");
        tried.cells.insert(step, cell(&run, point));
    }
    for step in STEPS {
        if !tried.cells.contains_key(*step) {
            let steps = format!("l.i0,{step}");
            let mut arguments = vec!["insert", "--rows", "2000", "--step", &steps];
            // Only queries have a time.
            arguments.extend(step.starts_with('q').then_some(["--time", "1s"]).into_iter().flatten());
            let run = run_once(root, work, word, &arguments)?;
            tried.cells.insert((*step).to_owned(), cell(&run, &run["points"][1]));
        }
    }
    for (test, command) in OTHERS {
        let small = if command.starts_with("orders") { SMALL_ORDERS } else { SMALL_RECORDS };
        let arguments: Vec<&str> = command.split(' ').chain(small.iter().copied()).collect();
        let run = run_once(root, work, word, &[&arguments[..], &["--clients", "2", "--time", "1s"]].concat())?;
        println!("soak: {word} {test}");
        tried.cells.insert((*test).to_owned(), cell(&run, &run["points"][0]));
    }
    Ok(Some(tried))
}

/// A run's JSON, or that of its error.
fn run_once(root: &Path, work: &Path, word: &str, arguments: &[&str]) -> Result<Value> {
    let mut command = plimsoll(root);
    command.args(arguments).args(["--engine", word, "--json", "--quiet", "--no-report", "--dir"]).arg(work);
    let output = command.arg("--runs").arg(work.join("runs-engines")).output()?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?} on {word} printed no JSON"))
}

fn is_missing(error: &str) -> bool {
    error.contains("not installed") || error.contains("no such directory") || error.contains("not in this build")
}

fn cell(run: &Value, point: &Value) -> Cell {
    let is_counted = |key: &str| point[key].as_u64().is_some_and(|ops| ops > 0);
    // A drain of more than a second ends in the grace time.
    let done = point["state"] == "complete" && point["failed"] == 0 && (is_counted("ops") || is_counted("grace_ops"));
    let why = [&point["error"], &run["error"]].into_iter().find_map(Value::as_str);
    if done {
        Cell::Works
    } else {
        Cell::Fails(why.map_or_else(|| format!("{} failed", point["failed"]), str::to_owned))
    }
}

fn table(tried: &[TriedEngine], mixes: &[String], missing: &[String]) -> Result<String> {
    let date = String::from_utf8(Command::new("date").arg("+%Y-%m-%d").output()?.stdout)?;
    let mut text = format!(
        "# Compatibility\n\nEach cell is a run that `cargo xtask soak --engines` made on {}: a second on small tables. `yes` means that \
         no operation failed.\n\n",
        date.trim()
    );
    let heads = tried.iter().map(|one| format!("{}<br>{}", one.word, one.version)).collect::<Vec<_>>();
    let _ = writeln!(text, "| | {} |\n|---|{}", heads.join(" | "), "---|".repeat(tried.len()));
    let mut reasons: Vec<&str> = Vec::new();
    for test in rows(tried, mixes) {
        let cells: Vec<String> = tried.iter().map(|one| cell_text(one.cells.get(&test), &mut reasons)).collect();
        let _ = writeln!(text, "| `{test}` | {} |", cells.join(" | "));
    }
    for (reason, number) in reasons.iter().zip(1..) {
        let _ = writeln!(text, "\n({number}) {reason}");
    }
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "\nNot tried, because the build or the machine did not have it: {}.", names.join(", "));
    }
    Ok(text)
}

/// The mixes, and then the steps.
fn rows(tried: &[TriedEngine], mixes: &[String]) -> Vec<String> {
    let mut rows = mixes.to_vec();
    for step in tried.iter().flat_map(|one| one.cells.keys()) {
        if !rows.contains(step) {
            rows.push(step.clone());
        }
    }
    rows
}

/// A reason gets a number, and the same reason the same number.
fn cell_text<'a>(cell: Option<&'a Cell>, reasons: &mut Vec<&'a str>) -> String {
    match cell {
        None => "-".to_owned(),
        Some(Cell::Works) => "yes".to_owned(),
        Some(Cell::Fails(why)) => {
            let known = reasons.iter().position(|reason| reason == why);
            let number = known.unwrap_or_else(|| {
                reasons.push(why);
                reasons.len() - 1
            });
            format!("no ({})", number + 1)
        }
    }
}
