//! The engine `file` on a disk and on memory: several files, shared cursors, and every way to do I/O with each of its settings.

use crate::lab::{can_run, directory, found, names_in, prepared, run, start, trial};
use load::Ended;
use model::Phase;
use std::fs;
use std::path::{Path, PathBuf};
use target::TargetError;
use tempfile::TempDir;

/// Every way to do I/O, with a depth that it can have.
const WAYS: [(&str, &str); 3] = [("sync", "1"), ("uring", "1"), ("uring", "8")];

/// Places of both sorts: the disk that the build is on, and memory.
fn places() -> Vec<TempDir> {
    let memory = tempfile::tempdir_in("/dev/shm");
    if memory.is_err() {
        eprintln!("skipped: no file system in memory at /dev/shm");
    }
    [directory()].into_iter().chain(memory).collect()
}

/// Performs a trial with `settings` on new data in `parent` and returns what was done of each kind, by the number of the kind.
fn performed(parent: &Path, settings: &[(&str, &str)]) -> Vec<(u8, u64)> {
    let trial = trial("file", "file", settings);
    if !can_run(&trial, parent) {
        return Vec::new();
    }
    let mut instance = prepared(&trial, parent);
    let (outcome, seen) = run(&mut *instance, &trial).unwrap();
    let (ok, failed) = seen.total(Phase::Run);
    assert_eq!((outcome.ended, outcome.hung, failed), (Ended::AsPlanned, vec![], 0), "{settings:?}: {:?}", seen.events);
    assert!(ok > 0, "{settings:?}");
    instance.stop().unwrap();
    assert_eq!(names_in(parent), Vec::<String>::new());
    seen.counts
        .into_iter()
        .filter(|((phase, _), _)| *phase == Phase::Run)
        .map(|((_, kind), (ok, _))| (kind, ok))
        .collect()
}

fn several(parent: &Path, count: usize) -> Vec<PathBuf> {
    (0..count).map(|file| found(parent, &format!("data.{file}"))).collect()
}

#[test]
fn several_files_share_the_size_and_are_all_read_and_written() {
    for (parent, (io, depth)) in places().iter().flat_map(|place| WAYS.map(|way| (place.path(), way))) {
        let settings = [("io", io), ("depth", depth), ("direct", "false"), ("files", "4"), ("mode", "rndwr")];
        let trial = trial("file", "file", &settings);
        if !can_run(&trial, parent) {
            continue;
        }
        let mut instance = prepared(&trial, parent);
        let paths = several(parent, 4);
        let contents = || paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
        let before = contents();
        assert!(before.iter().all(|content| content.len() == 2 << 20));
        assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run), (300, 0));
        for (file, (before, after)) in before.iter().zip(contents()).enumerate() {
            let written =
                before.chunks(16 << 10).zip(after.chunks(16 << 10)).filter(|(one, other)| one != other).count();
            // 75 expected, some of them in the same of 128 blocks.
            assert!((20..=75 * 2).contains(&written), "{io}: {written} blocks of file {file}");
        }
        assert_eq!(instance.footprint().0, 8 << 20);
        instance.stop().unwrap();
        assert_eq!(names_in(parent), Vec::<String>::new());
    }
}

#[test]
fn a_shared_cursor_is_walked_over_all_files_by_every_way_to_do_io() {
    for (parent, (io, depth)) in places().iter().flat_map(|place| WAYS.map(|way| (place.path(), way))) {
        for mode in ["seqrd", "seqwr"] {
            let way = [("io", io), ("depth", depth), ("mode", mode), ("cursor", "shared"), ("files", "3")];
            let done = performed(parent, &[&way[..], &[("clients", "3"), ("file_size", "1MiB")]].concat());
            assert!(done.is_empty() || done == [(u8::from(mode == "seqwr"), 300)], "{done:?}");
        }
    }
}

#[test]
fn one_of_several_files_that_is_too_short_is_named() {
    let parent = directory();
    let trial = trial("file", "file", &[("io", "sync"), ("direct", "false"), ("files", "4")]);
    let mut instance = prepared(&trial, parent.path());
    let short = found(parent.path(), "data.2");
    fs::File::options().write(true).open(&short).unwrap().set_len(4096).unwrap();
    let error = instance.clients(&trial).err().unwrap().to_string();
    assert!(error.contains(short.to_str().unwrap()) && error.contains("4 KiB"), "{error}");
    instance.stop().unwrap();
}

#[test]
fn several_files_at_the_path_of_one_are_refused() {
    let parent = directory();
    let path = parent.path().join("f0");
    let trial = trial("file", "file", &[("files", "2"), ("path", path.to_str().unwrap())]);
    let error = start(&trial, parent.path()).err().unwrap();
    assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("files = `2`"), "{error}");
    assert_eq!(names_in(parent.path()), Vec::<String>::new());
}
