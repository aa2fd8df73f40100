//! Keeps the results of a bench: each run adds its rows to a table in docs/benchmarks.
//!
//! In: rows of a table. Out: the same rows on the terminal and in the file, with date, versions and kernel.
//! Limits: rows are only added; a person removes those that are wrong.

use super::plimsoll;
use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Installs the servers and their peers, builds plimsoll, runs `measure` in a new directory, and keeps the rows that it made, even if a
/// later case fails.
pub fn measure_on_servers(
    root: &Path,
    name: &str,
    head: &str,
    peers: &[&str],
    measure: impl FnOnce(&Path, &mut Vec<String>) -> Result<()>,
) -> Result<()> {
    if let [missing, ..] = needs::install_missing(needs::OLTP_NEEDS)?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let below = root.join("target/bench");
    fs::create_dir_all(&below)?;
    let dir = tempfile::Builder::new().prefix(name).tempdir_in(below)?;
    let mut rows = Vec::new();
    let measured = measure(dir.path(), &mut rows);
    println!();
    rows.iter().for_each(|row| println!("{row}"));
    keep_rows(root, name, head, peers, &rows).and(measured)
}

/// Adds `rows` to the table of the bench `name` in docs/benchmarks, below `head` if the file is new, with date, versions and kernel.
pub fn keep_rows(root: &Path, name: &str, head: &str, peers: &[&str], rows: &[String]) -> Result<()> {
    let mut versions = vec![plimsoll::version(root)?];
    for peer in peers {
        versions.push(workspace::output_of(Command::new(peer).arg("--version"))?.trim().to_owned());
    }
    let kernel = kernel_version(&rustix::system::uname().release().to_string_lossy());
    add_rows(root, name, head, &format!("{} | {kernel}", versions.join(", ")), rows)
}

/// Adds `rows` to the table of the bench `name` in docs/benchmarks, below `head` if the file is new, each behind the date and the cells of
/// its `origin`.
pub fn add_rows(root: &Path, name: &str, head: &str, origin: &str, rows: &[String]) -> Result<()> {
    let date = workspace::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let path = root.join("docs/benchmarks").join(format!("{name}.md"));
    let mut text = fs::read_to_string(&path).unwrap_or_else(|_| head.to_owned());
    for row in rows {
        text.push_str(&format!("| {} | {origin} | {row} |\n", date.trim()));
    }
    fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!("kept in docs/benchmarks/{name}.md");
    Ok(())
}

/// `6.1.0-18-amd64` is kernel 6.1.0: the rest names a distribution or a machine.
pub fn kernel_version(release: &str) -> String {
    release.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default().to_owned()
}
