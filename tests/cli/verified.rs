//! Runs on verified data, and what they find of damage behind plimsoll's back.

use crate::lab::{Finished, Lab};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Child;

/// A run on verified data that ends by count or by time.
pub fn verified(more: &[&'static str]) -> Vec<&'static str> {
    let always = ["file", "--verify", "true", "--no-report", "--interval", "50ms", "--grace", "60s", "--file-size"];
    [&always, more].concat()
}

/// The same over all 128 blocks of the file `f0`, once, with as many writes.
pub fn overwrite() -> Vec<&'static str> {
    verified(&["2MiB", "--path", "f0", "--mode", "seqwr", "--ops-max", "128", "--time", "60s"])
}

pub fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

/// Sort and place of the damaged units of the only data.
pub fn damaged(finished: &Finished) -> Vec<(String, u64)> {
    let all = finished.json();
    let units = all["data"][0]["damaged"].as_array().unwrap_or_else(|| panic!("{all}")).clone();
    units.iter().map(|unit| (unit["sort"].as_str().unwrap().to_owned(), unit["at_bytes"].as_u64().unwrap())).collect()
}

pub fn codes(run: &Value) -> Vec<&str> {
    let findings = run["points"][0]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Starts a run and waits until its load has begun: until its run file holds a few intervals.
pub fn started(lab: &Lab, arguments: &[&str]) -> Child {
    let mut child = lab.command(arguments).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    child
}

/// The file called `data` in the only data directory.
pub fn data_file(lab: &Lab) -> PathBuf {
    let names = lab.left_behind();
    let dir = names.iter().find(|name| name.starts_with("plimsoll-data-")).unwrap_or_else(|| panic!("{names:?}"));
    lab.path().join(dir).join("data")
}
