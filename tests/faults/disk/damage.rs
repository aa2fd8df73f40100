//! Data that is not what was written: found with its place and its sort.

use crate::lab::{Finished, Lab};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Child;

const BLOCK: usize = 16 << 10;
const UNIT: u64 = 4096;

/// A run on verified data that ends by count or by time.
fn verified(more: &[&'static str]) -> Vec<&'static str> {
    let always = ["file", "--verify", "true", "--no-report", "--interval", "50ms", "--grace", "60s", "--file-size"];
    [&always, more].concat()
}

/// The same over all 128 blocks of the file `f0`, once, with as many writes.
fn overwrite() -> Vec<&'static str> {
    verified(&["2MiB", "--path", "f0", "--mode", "seqwr", "--ops-max", "128", "--time", "60s"])
}

fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

/// Sort and place of the damaged units of the only data.
fn damaged(finished: &Finished) -> Vec<(String, u64)> {
    let all = finished.json();
    let units = all["data"][0]["damaged"].as_array().unwrap_or_else(|| panic!("{all}")).clone();
    units.iter().map(|unit| (unit["sort"].as_str().unwrap().to_owned(), unit["at_bytes"].as_u64().unwrap())).collect()
}

fn codes(run: &Value) -> Vec<&str> {
    let findings = run["points"][0]["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Starts a run and waits until its load has begun: until its run file holds a few intervals.
fn started(lab: &Lab, arguments: &[&str]) -> Child {
    let mut child = lab.command(arguments).spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    child
}

/// The file called `data` in the only data directory.
fn data_file(lab: &Lab) -> PathBuf {
    let names = lab.left_behind();
    let dir = names.iter().find(|name| name.starts_with("plimsoll-data-")).unwrap_or_else(|| panic!("{names:?}"));
    lab.path().join(dir).join("data")
}

pub fn is_read(lab: &Lab) -> Option<Finished> {
    let reads = verified(&["1MiB", "--mode", "rndrd", "--time", "600s", "--json", "--io", "sync"]);
    let child = started(lab, &reads);
    flip(&data_file(lab), 5 * BLOCK as u64 + 100);
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert!(codes(&finished.json()).contains(&"corrupt"), "{}", finished.stdout);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

pub fn is_read_back(lab: &Lab) -> Option<Finished> {
    // 20 of 1024 blocks are written in the ten seconds that there are for the flips, so that hardly all three are written over.
    let writes = ["16MiB", "--mode", "rndwr", "--rate", "2", "--time", "10s", "--json"];
    let child = started(lab, &verified(&writes));
    let data = data_file(lab);
    [7, 507, 907].iter().for_each(|block| flip(&data, block * BLOCK as u64 + 9));
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert!(finished.stderr.contains("read back: "), "{}", finished.stderr);
    let run = finished.json();
    assert_eq!((&run["points"][0]["state"], &run["points"][0]["validity"]), (&"failed".into(), &"invalid".into()));
    assert!(codes(&run).contains(&"corrupt"), "{run}");
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// A flipped byte, an old block and two swapped ones are told apart, with their places.
pub fn is_stale_or_misdirected(lab: &Lab) -> Option<Finished> {
    lab.json(&overwrite());
    let path = lab.path().join("f0");
    let old = fs::read(&path).unwrap();
    lab.json(&overwrite());
    let run_file = lab.run_files().pop().unwrap();
    let verify = || lab.run(&["verify", run_file.to_str().unwrap(), "--json"]);
    let whole = verify();
    assert_eq!((whole.exit, damaged(&whole)), (0, vec![]), "{}", whole.stderr);
    assert_eq!(whole.json()["data"][0]["units"], 512);
    damage_blocks(&path, &old);
    let found = verify();
    assert_eq!(found.exit, 4, "{}", found.stderr);
    let units = |sort: &str, nth: usize| {
        (0..4).map(|unit| (sort.to_owned(), (nth * BLOCK) as u64 + unit * UNIT)).collect::<Vec<_>>()
    };
    let corrupt = vec![("corrupt".to_owned(), 3 * BLOCK as u64 + UNIT)];
    let expected = [corrupt, units("stale", 20), units("misdirected", 40), units("misdirected", 41)].concat();
    assert_eq!(damaged(&found), expected);
    let stale = &found.json()["data"][0]["damaged"][1];
    assert_eq!((&stale["expected_generation"]["least"], &stale["found"]["generation"]), (&3.into(), &2.into()));
    let text = lab.run(&["verify", run_file.to_str().unwrap()]);
    let line = format!("stale block at byte {} in", 20 * BLOCK);
    assert!(text.stdout.contains(&line) && text.stdout.contains("expected generation 3, found generation 2"));
    read_damage(lab);
    Some(text)
}

/// A read comes upon it, too, and says where.
fn read_damage(lab: &Lab) {
    let reads = verified(&["2MiB", "--path", "f0", "--mode", "seqrd", "--ops-max", "128", "--time", "60s", "--json"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let reads = [&reads[..], &["--runs", elsewhere.path().to_str().unwrap()]].concat();
    let stopped = lab.run(&reads);
    assert_eq!(stopped.exit, 4);
    assert!(stopped.stderr.contains(&format!("corrupt block at byte {} in", 3 * BLOCK + 4096)), "{}", stopped.stderr);
    let counted = lab.run(&[&reads[..], &["--on-error", "count"]].concat()).json();
    assert_eq!((&counted["points"][0]["failed"], &counted["points"][0]["validity"]), (&4.into(), &"invalid".into()));
    assert!(codes(&counted).contains(&"corrupt"), "{counted}");
}

fn damage_blocks(path: &Path, old: &[u8]) {
    let now = fs::read(path).unwrap();
    let block = |content: &[u8], nth: usize| content[nth * BLOCK..][..BLOCK].to_vec();
    let file = File::options().write(true).open(path).unwrap();
    let put = |nth: usize, content: Vec<u8>| file.write_all_at(&content, (nth * BLOCK) as u64).unwrap();
    flip(path, 3 * BLOCK as u64 + UNIT + 4095);
    put(20, block(old, 20));
    put(40, block(&now, 41));
    put(41, block(&now, 40));
}
