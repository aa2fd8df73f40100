//! The engine `file` on a disk and on memory: several files, shared cursors, and every way to do I/O with each of its settings.

use crate::lab::{can_run, directory, found, names_in, prepared, run, run_loading, start, trial};
use host::TargetError;
use load::LoadEnd;
use model::{Fact, OnError, Phase, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Every way to do I/O, with a depth that it can have.
const WAYS: [(&str, &str); 6] =
    [("sync", "1"), ("uring", "1"), ("uring", "8"), ("aio", "1"), ("aio", "8"), ("mmap", "1")];

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
    assert_eq!(
        (outcome.ended, outcome.hung, failed),
        (LoadEnd::AsPlanned, vec![], 0),
        "{settings:?}: {:?}",
        seen.events
    );
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

/// Performs the test of that name in a process of its own; `None` if this is that process.
fn in_a_child(name: &str) -> Option<Output> {
    const CHILD: &str = "PLIMSOLL_TEST_IN_A_CHILD";
    let program = std::env::current_exe().unwrap();
    let alone = || Command::new(program).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    std::env::var_os(CHILD).is_none().then(alone)
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
        assert_eq!(instance.measure_space().total.0, 8 << 20);
        instance.stop().unwrap();
        assert_eq!(names_in(parent), Vec::<String>::new());
    }
}

#[test]
fn a_shared_cursor_is_walked_over_all_files_by_every_way_to_do_io() {
    for (parent, (io, depth)) in places().iter().flat_map(|place| WAYS.map(|way| (place.path(), way))) {
        for mode in ["seqrd", "seqwr"] {
            let way = [("io", io), ("depth", depth), ("direct", "false"), ("mode", mode), ("clients", "3")];
            let done = performed(parent, &[&way[..], &[("cursor", "shared"), ("files", "3")]].concat());
            assert!(done.is_empty() || done == [(u8::from(mode == "seqwr"), 300)], "{done:?}");
        }
    }
}

#[test]
fn syncs_are_performed_and_counted_as_operations_of_their_own() {
    for (parent, (io, depth)) in places().iter().flat_map(|place| WAYS.map(|way| (place.path(), way))) {
        for direct in ["true", "false"].into_iter().filter(|direct| io != "mmap" || *direct == "false") {
            for call in ["fsync", "fdatasync"] {
                let way = [("io", io), ("depth", depth), ("direct", direct), ("mode", "rndwr"), ("files", "2")];
                let every = [("fsync", call), ("fsync_every", "8"), ("time", "20s"), ("ops_max", "50")];
                let done = performed(parent, &[&way[..], &every].concat());
                // Five times 8 writes and 2 syncs.
                assert!(done.is_empty() || done == [(1, 40), (2, 10)], "{way:?} {call}: {done:?}");
            }
        }
    }
}

#[test]
fn a_mapped_file_that_is_cut_off_fails_what_meets_its_end_and_all_that_follows() {
    let parent = directory();
    let settings = [("io", "mmap"), ("direct", "false"), ("mode", "rndrw"), ("clients", "4"), ("time", "100ms")];
    for on_error in [OnError::Stop, OnError::Count] {
        let trial = Trial { on_error, ..trial("file", "file", &settings) };
        let mut instance = prepared(&trial, parent.path());
        let loading = instance.make_clients(&trial).unwrap();
        fs::File::options().write(true).open(found(parent.path(), "data")).unwrap().set_len(4096).unwrap();
        let (outcome, seen) = run_loading(loading, &trial);
        let (done, failed) = seen.total(Phase::Run);
        assert!(
            failed > 0 && (on_error == OnError::Stop || failed > 100 * done.max(1)),
            "{done} done, {failed} failed"
        );
        assert!(seen.events.iter().all(|text| text.contains("Input/output error")), "{:?}", seen.events);
        assert_eq!(matches!(outcome.ended, LoadEnd::Failed { .. }), on_error == OnError::Stop, "{outcome:?}");
        instance.stop().unwrap();
    }
}

#[test]
fn a_sync_at_the_end_is_timed_where_the_load_writes_and_asked_for_it() {
    let parent = directory();
    for (mode, fsync_end, timed) in [("rndwr", "true", true), ("rndwr", "false", false), ("rndrd", "true", false)] {
        let settings = [("io", "sync"), ("direct", "false"), ("mode", mode), ("fsync_end", fsync_end), ("files", "2")];
        let trial = trial("file", "file", &settings);
        let mut instance = prepared(&trial, parent.path());
        run(&mut *instance, &trial).unwrap();
        let seen = instance.finish_trial().into_iter().find(|fact| fact.name == "file.fsync_end");
        assert_eq!(seen.is_some(), timed, "{settings:?}: {seen:?}");
        assert!(seen.is_none_or(|fact| fact.value.ends_with('s') && !fact.value.contains("failed")));
        instance.stop().unwrap();
    }
}

/// In a process of its own: the workers of other tests would be counted.
#[test]
fn operations_that_the_kernel_hands_to_workers_are_told_from_those_that_it_performs_itself() {
    let name = "files::operations_that_the_kernel_hands_to_workers_are_told_from_those_that_it_performs_itself";
    if let Some(child) = in_a_child(name) {
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    let [disk, memory] = places().try_into().unwrap_or_else(|places: Vec<_>| panic!("{} places", places.len()));
    let syncing = [("mode", "rndwr"), ("fsync", "fsync"), ("fsync_every", "8")];
    for (place, settings, punted) in [(&disk, &[][..], "no"), (&disk, &syncing, "yes"), (&memory, &[], "yes")] {
        let trial = trial("file", "file", &[&[("io", "uring"), ("direct", "true")], settings].concat());
        if can_run(&trial, place.path()) {
            let mut instance = prepared(&trial, place.path());
            // On a disk whose queue others have filled the kernel hands over what it would perform itself.
            let seen = (0..5).map(|_| {
                run(&mut *instance, &trial).unwrap();
                instance.finish_trial().remove(0)
            });
            let seen: Vec<Fact> = seen.collect();
            let expected = Fact::new("uring.punted", punted);
            assert!(
                seen.contains(&expected) && (punted == "no" || seen.iter().all(|fact| *fact == expected)),
                "{seen:?}"
            );
            instance.stop().unwrap();
        }
    }
}

#[test]
fn settings_that_exclude_each_other_are_refused_with_what_to_use() {
    let mapped = |setting| [("io", "mmap"), ("direct", "false"), setting];
    for (settings, use_this) in
        [(mapped(("direct", "true")), "direct = `false`"), (mapped(("sync", "osync")), "fsync = `fsync`")]
    {
        let error = (engine::find("file").unwrap().check)(&trial("file", "file", &settings)).unwrap_err();
        assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains(use_this), "{error}");
    }
}

#[test]
fn more_asynchronous_operations_than_the_kernel_allows_are_refused_with_the_limit_to_raise() {
    let limit = fs::read_to_string("/proc/sys/fs/aio-max-nr").ok().and_then(|text| text.trim().parse().ok());
    if limit.is_none_or(|most: u64| most >= 4096 * 1000) {
        eprintln!("skipped: this kernel allows as many as a trial can ask for");
        return;
    }
    let parent = directory();
    let settings = [("io", "aio"), ("direct", "false"), ("depth", "4096"), ("clients", "1000"), ("block", "512")];
    let trial = trial("file", "file", &settings);
    let error = start(&trial, parent.path()).unwrap().check_trial(&trial).unwrap_err();
    assert!(matches!(error, TargetError::Unsupported(_)) && error.to_string().contains("aio-max-nr"), "{error}");
}

#[test]
fn one_of_several_files_that_is_too_short_is_named() {
    let parent = directory();
    let trial = trial("file", "file", &[("io", "sync"), ("direct", "false"), ("files", "4")]);
    let mut instance = prepared(&trial, parent.path());
    let short = found(parent.path(), "data.2");
    fs::File::options().write(true).open(&short).unwrap().set_len(4096).unwrap();
    let error = instance.make_clients(&trial).err().unwrap().to_string();
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
