//! Data that is not what was written: found with its place and its sort.

use crate::lab::{Finished, Lab};
use crate::verified::{codes, damaged, data_file, flip, overwrite, started, verified};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

const BLOCK: usize = 16 << 10;
const UNIT: u64 = 4096;

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
