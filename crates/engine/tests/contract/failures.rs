//! Failures under load, made with real means: they are counted and explained, nothing panics, and nothing stays behind.

use crate::lab::{can_run, directory, embedded, found, names_in, prepare, prepared, run, run_loading, start, trial};
use load::LoadEnd;
use model::{Bytes, FailureClass, OnError, Phase};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, set_capabilities, unshare_unsafe};
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The size of a small disk on which an embedded engine runs.
const SMALL: &str = "8m";

/// A small file system that only the calling thread and those that it starts can see.
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// `None` if it takes rights that this process does not have.
    pub fn mount(size: &str) -> Option<SmallDisk> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root: a small file system cannot be mounted");
            return None;
        }
        // SAFETY: the mounts are unshared, and no file descriptor.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.ok()?;
        let dir = directory();
        let done =
            |arguments: &[&str]| Command::new("mount").args(arguments).status().is_ok_and(|status| status.success());
        let path = dir.path().to_str().unwrap();
        if !done(&["--make-rprivate", "/"])
            || !done(&["-t", "tmpfs", "-o", &format!("size={size}"), "plimsoll-test", path])
        {
            eprintln!("skipped: this root may not mount");
            return None;
        }
        Some(SmallDisk { dir })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").args(["--lazy", self.dir.path().to_str().unwrap()]).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

/// Asserts that `ended` is a failure for want of space that names something in `dir`.
fn assert_no_space(ended: &LoadEnd, dir: &Path) {
    let LoadEnd::Failed { class, text } = ended else { panic!("it ended {ended:?}") };
    assert_eq!(*class, Some(FailureClass::NoSpace), "{text}");
    assert!(text.contains(dir.to_str().unwrap()), "{text}");
    println!("{text}");
}

#[test]
fn a_file_that_does_not_fit_ends_the_fill_and_goes() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    for direct in ["true", "false"] {
        let trial = trial("file", "file", &[("io", "sync"), ("direct", direct), ("file_size", "32MiB")]);
        let mut instance = start(&trial, disk.path()).unwrap();
        let (outcome, seen) = prepare(&mut *instance, &trial).unwrap();
        assert_no_space(&outcome.ended, disk.path());
        assert!((5..8).contains(&seen.total(Phase::Prepare).0), "{:?}", seen.counts);
        assert!(instance.make_clients(&trial).is_err(), "half a file is not measured");
        instance.stop().unwrap();
        assert_eq!(names_in(disk.path()), Vec::<String>::new());
    }
}

#[test]
fn a_write_for_which_there_is_no_room_left_says_so() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    for (io, block) in ["sync", "uring", "aio"].into_iter().flat_map(|io| ["16KiB", "1MiB"].map(|block| (io, block))) {
        let settings = [("io", io), ("block", block), ("direct", "false"), ("mode", "rndwr"), ("file_size", "4MiB")];
        let trial = trial("file", "file", &settings);
        if !can_run(&trial, disk.path()) {
            continue;
        }
        let mut instance = prepared(&trial, disk.path());
        // All holes now, and no room to fill more than some of them.
        let file = OpenOptions::new().write(true).open(found(disk.path(), "data")).unwrap();
        file.set_len(0).unwrap();
        file.set_len(4 << 20).unwrap();
        let ballast = disk.path().join("ballast");
        std::fs::write(&ballast, vec![0; (7 << 20) - 40960]).unwrap();
        let (outcome, _) = run(&mut *instance, &trial).unwrap();
        assert_no_space(&outcome.ended, disk.path());
        instance.stop().unwrap();
        std::fs::remove_file(&ballast).unwrap();
    }
}

#[test]
fn a_file_at_a_named_path_that_does_not_fit_is_refused_and_not_left_behind() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    let path = disk.path().join("f0");
    let trial = trial("file", "file", &[("io", "sync"), ("file_size", "32MiB"), ("path", path.to_str().unwrap())]);
    let error = start(&trial, disk.path()).err().unwrap();
    assert!(error.to_string().contains("not enough space"), "{error}");
    assert_eq!(names_in(disk.path()), Vec::<String>::new());
}

#[test]
fn databases_that_fill_the_disk_say_so_and_go() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    for engine in embedded() {
        for durability in ["disk", "os", "none"] {
            for clients in ["1", "3"] {
                let settings = [("rows_per_commit", "100"), ("ops_max", "1000000"), ("time", "600s")];
                let more = [("durability", durability), ("clients", clients)];
                let trial = trial(engine, "insert", &[&settings[..], &more].concat());
                let mut instance = prepared(&trial, disk.path());
                let (outcome, seen) = run(&mut *instance, &trial).unwrap();
                assert_no_space(&outcome.ended, disk.path());
                let (ok, failed) = seen.total(Phase::Run);
                assert!(ok > 0 && failed > 0, "{ok} done, {failed} failed");
                // How many commits fill it differs: SQLite's log is begun again only in a moment in which no client reads it, and
                // with several clients it can take nearly all of the disk.
                let bytes = instance.measure_space().total;
                assert!(bytes > Bytes::from_mib(7), "{engine} {durability} {clients}: {ok} done in {bytes}");
                assert!(clients != "1" || ok > 200, "{engine} {durability}: {ok} done in {bytes}");
                drop(instance.stop()); // a sync that failed may be reported
                assert_eq!(names_in(disk.path()), Vec::<String>::new(), "{engine}");
            }
        }
    }
}

#[test]
fn a_load_that_fills_the_disk_says_so_and_goes() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    for engine in embedded() {
        let trial = trial(engine, "oltp", &[("table_rows", "200000"), ("durability", "none")]);
        let mut instance = start(&trial, disk.path()).unwrap();
        let (outcome, _) = prepare(&mut *instance, &trial).unwrap();
        assert_no_space(&outcome.ended, disk.path());
        drop(instance.stop());
        assert_eq!(names_in(disk.path()), Vec::<String>::new(), "{engine}");
    }
}

#[test]
fn an_engine_that_cannot_start_on_a_full_disk_leaves_nothing() {
    let Some(disk) = SmallDisk::mount(SMALL) else { return };
    let ballast = vec![0; 16 << 20];
    assert!(std::fs::write(disk.path().join("ballast"), ballast).is_err(), "the disk is full now");
    for engine in embedded().chain(["file"]) {
        let workload = if engine == "file" { "file" } else { "insert" };
        let error = start(&trial(engine, workload, &[]), disk.path()).err().unwrap().to_string();
        assert!(error.contains("free some space") && error.contains(disk.path().to_str().unwrap()), "{error}");
        assert_eq!(names_in(disk.path()), ["ballast"], "{engine}");
    }
}

#[test]
fn a_file_that_was_cut_off_gives_short_reads_that_are_counted() {
    let parent = directory();
    for io in ["sync", "uring", "aio"] {
        let mut trial = trial("file", "file", &[("io", io), ("direct", "false"), ("clients", "2")]);
        trial.on_error = OnError::Count;
        if !can_run(&trial, parent.path()) {
            continue;
        }
        let mut instance = prepared(&trial, parent.path());
        let loading = instance.make_clients(&trial).unwrap();
        let file = OpenOptions::new().write(true).open(found(parent.path(), "data")).unwrap();
        file.set_len(4 << 20).unwrap();
        let error = instance.make_clients(&trial).err().unwrap().to_string();
        assert!(error.contains("4 MiB"), "a trial that begins now is refused: {error}");

        let (outcome, seen) = run_loading(loading, &trial);
        let (ok, failed) = seen.total(Phase::Run);
        assert_eq!(outcome.ended, LoadEnd::AsPlanned);
        assert!(ok > 0 && failed > 0, "{io}: {ok} done, {failed} failed");
        let text = seen.events.join("\n");
        assert!(text.contains("short: ") && text.contains("only 0 bytes were moved"), "{text}");
        instance.stop().unwrap();
    }
}

#[test]
fn a_low_limit_of_locked_memory_costs_the_registered_buffers_and_no_operation() {
    let parent = directory();
    let trial = trial("file", "file", &[("io", "uring"), ("depth", "16"), ("clients", "2"), ("direct", "false")]);
    if !can_run(&trial, parent.path()) {
        return;
    }
    // Who may lock memory is not limited. The right is given up by this thread and those that it starts.
    let mut held = capabilities(None).unwrap();
    held.effective.remove(CapabilitySet::IPC_LOCK);
    set_capabilities(None, held).unwrap();
    let maximum = getrlimit(Resource::Memlock).maximum;
    setrlimit(Resource::Memlock, Rlimit { current: Some(64 << 10), maximum }).unwrap();

    let mut instance = prepared(&trial, parent.path());
    assert_eq!(run(&mut *instance, &trial).unwrap().1.total(Phase::Run), (300, 0));
    assert_eq!(crate::lab::fact(&*instance, "uring.registered_buffers").unwrap(), "false");
    instance.stop().unwrap();
}
