//! What points begin with: data as the point before left it, an engine restarted, data as it was loaded; on file systems that
//! share blocks and on those that copy.

use crate::lab::{
    custom_trial, directory, fact, names_in, prepare, prepared, prepared_with_facts, run, sql_engines, start, trial,
};
use engine::{Instance, ResetFor};
use host::Volume;
use model::{Bytes, FileSystem, OnError, Phase, Trial};
use std::path::Path;

const NOTHING: [String; 0] = [];

/// Operations done and failed by `trial`, whose failures are counted.
fn counted(instance: &mut dyn Instance, trial: &Trial) -> (u64, u64) {
    let trial = Trial { on_error: OnError::Count, ..trial.clone() };
    run(instance, &trial).unwrap().1.total(Phase::Run)
}

/// Adds rows with the ids behind those that were loaded: each can be added once.
fn adding(engine: &str, between: &str) -> Trial {
    trial(engine, "oltp", &[("mix", "insert"), ("between", between), ("durability", "none"), ("time", "60s")])
}

#[test]
fn data_that_is_restored_has_the_rows_of_the_load_and_no_others() {
    let parent = directory();
    for engine in sql_engines() {
        let adding = adding(engine, "restore");
        let mut instance = prepared(&adding, parent.path());
        assert!(instance.can_restore() && fact(&*instance, "data.state").unwrap() == "loaded");
        assert_eq!((counted(&mut *instance, &adding), counted(&mut *instance, &adding).0), ((300, 0), 0), "{engine}");
        instance.reset(ResetFor::NextPoint).unwrap();
        let state = fact(&*instance, "data.state").unwrap();
        assert!(["restored (copy)", "restored (reflink)"].contains(&state.as_str()), "{state}");
        assert_eq!(counted(&mut *instance, &adding), (300, 0), "{engine}: what was added is gone");

        let gone = "[[statement]]\nname = 'gone'\nsql = 'DELETE FROM sbtest1 WHERE id = :id'";
        let back =
            "[[statement]]\nname = 'back'\nsql = 'INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id, 1, :c, :pad)'";
        let settings = [("between", "restore"), ("durability", "none"), ("time", "60s")];
        let [gone, back] = [gone, back].map(|text| custom_trial(engine, text, &settings));
        assert_eq!(counted(&mut *instance, &gone), (300, 0));
        instance.reset(ResetFor::NextPoint).unwrap();
        assert_eq!(counted(&mut *instance, &back), (0, 300), "{engine}: what was deleted is there");
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

#[test]
fn an_engine_that_is_restarted_goes_on_with_its_data() {
    let parent = directory();
    for engine in sql_engines() {
        let adding = adding(engine, "restart");
        let mut instance = prepared(&adding, parent.path());
        let first = instance.report().processes;
        assert!(!instance.can_restore());
        assert_eq!(counted(&mut *instance, &adding), (300, 0));
        instance.reset(ResetFor::NextStep).unwrap();
        assert_eq!(fact(&*instance, "data.state").unwrap(), "restarted");
        assert!(first.is_empty() || first != instance.report().processes, "{first:?}");
        assert_eq!(counted(&mut *instance, &adding), (0, 300), "{engine}: the rows are there already");
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

#[test]
fn an_engine_that_is_kept_has_what_the_point_before_left_and_is_not_started_anew() {
    let parent = directory();
    // Whether a server is left as it is does not depend on which one it is.
    for engine in sql_engines().filter(|engine| ["sqlite", "mariadb:innodb"].contains(engine)) {
        let adding = adding(engine, "keep");
        let mut instance = prepared(&adding, parent.path());
        let first = instance.report().processes;
        assert_eq!(counted(&mut *instance, &adding), (300, 0));
        instance.reset(ResetFor::NextPoint).unwrap();
        assert!(
            !instance.can_restore() && fact(&*instance, "data.state").is_none() && first == instance.report().processes
        );
        assert_eq!(counted(&mut *instance, &adding), (0, 300), "{engine}: the rows are there already");
        instance.stop().unwrap();
        assert_eq!(names_in(parent.path()), NOTHING);
    }
}

/// Inserts a row into the table and into each of its indexes, 3 a commit.
fn inserting(between: &str) -> Trial {
    let settings = [("between", between), ("rows_per_commit", "3"), ("durability", "none"), ("time", "60s")];
    trial("fjall", "insert", &settings)
}

/// The keys of each of fjall's key spaces below `parent`, as they are on disk: in a copy, because fjall holds its own.
fn keys_on_disk(parent: &Path) -> Vec<u64> {
    let (own, copy) = (parent.join(&names_in(parent)[0]).join("fjall"), directory());
    let copied = std::process::Command::new("cp").arg("-r").arg(own).arg(copy.path()).status().unwrap();
    assert!(copied.success());
    let database = fjall::Database::builder(copy.path().join("fjall")).open().unwrap();
    let names = database.list_keyspace_names();
    let keys = names.iter().map(|name| database.keyspace(name, fjall::KeyspaceCreateOptions::default).unwrap());
    keys.map(|keyspace| keyspace.iter().count() as u64).collect()
}

#[test]
fn fjall_that_is_restarted_has_every_key_that_was_in_its_buffers() {
    let parent = directory();
    let inserting = inserting("restart");
    let mut instance = prepared(&inserting, parent.path());
    assert!(!instance.can_restore());
    // A sampler goes on while the database is closed.
    let mut source = instance.counter_sources().remove(0);
    assert_eq!(counted(&mut *instance, &inserting), (300, 0));
    instance.reset(ResetFor::NextStep).unwrap();
    assert_eq!(fact(&*instance, "data.state").unwrap(), "restarted");
    assert!(source.read().iter().all(Option::is_some), "it reads what is open now");
    assert_eq!(keys_on_disk(parent.path()), [900; 4]);
    assert_eq!(counted(&mut *instance, &inserting), (300, 0));
    instance.reset(ResetFor::NextStep).unwrap();
    assert_eq!(keys_on_disk(parent.path()), [1800; 4], "the second point went on with the first one's rows");
    instance.stop().unwrap();
    assert_eq!(names_in(parent.path()), NOTHING);
}

#[test]
fn fjall_that_is_restored_has_the_keys_of_the_load_and_no_others() {
    let parent = directory();
    let inserting = inserting("restore");
    let (mut instance, load_facts) = prepared_with_facts(&inserting, parent.path());
    assert!(instance.can_restore() && load_facts.iter().any(|fact| fact.name == "load.copy_s"));
    assert_eq!(counted(&mut *instance, &inserting), (300, 0));
    instance.reset(ResetFor::NextStep).unwrap();
    assert_eq!(fact(&*instance, "data.state").unwrap(), "loaded", "a step that goes on keeps its data");
    instance.reset(ResetFor::NextPoint).unwrap();
    assert!(fact(&*instance, "data.state").unwrap().starts_with("restored ("));
    assert_eq!(keys_on_disk(parent.path()), [0; 4]);
    assert_eq!(counted(&mut *instance, &inserting), (300, 0));
    instance.stop().unwrap();

    let reading = trial("fjall", "oltp", &[("between", "restore"), ("durability", "os"), ("time", "60s")]);
    let mut instance = start(&reading, parent.path()).unwrap();
    let source = instance.counter_sources();
    prepare(&mut *instance, &reading).unwrap();
    for _ in 0..2 {
        assert_eq!(counted(&mut *instance, &reading), (300, 0));
        instance.reset(ResetFor::NextPoint).unwrap();
    }
    assert_eq!(keys_on_disk(parent.path()), [500]);
    instance.stop().unwrap();
    drop(source);
    assert_eq!(names_in(parent.path()), NOTHING);
}

#[test]
fn data_is_restored_by_reflink_where_the_file_system_can_and_is_whole() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: needs root: a file system cannot be mounted");
    }
    let parent = directory();
    let kinds = [(FileSystem::Xfs, "reflink"), (FileSystem::Btrfs { compression: None }, "reflink")];
    for (kind, how) in kinds.into_iter().chain([(FileSystem::Ext4 { barrier: true }, "copy")]) {
        let volume = match Volume::make(parent.path(), kind, Bytes::from_mib(1024), 1) {
            Ok(volume) => volume,
            Err(error) => {
                eprintln!("skipped: {kind}: {error}");
                continue;
            }
        };
        // The files of every engine are copied without sharing in the test above: here the file system decides.
        for engine in sql_engines()
            .filter(|engine| *engine == "sqlite" || (kind == FileSystem::Xfs && *engine == "mariadb:innodb"))
        {
            restored_by(engine, volume.mount_point(), how);
        }
        volume.remove().unwrap();
    }
    assert_eq!(names_in(parent.path()), NOTHING);
}

/// The data of `engine` in `parent` is copied and restored in this way, and is what it was.
fn restored_by(engine: &str, parent: &Path, how: &str) {
    let adding = adding(engine, "restore");
    let (mut instance, load_facts) = prepared_with_facts(&adding, parent);
    let copied = load_facts.into_iter().find(|fact| fact.name == "load.copy").unwrap();
    for _ in 0..2 {
        assert_eq!(counted(&mut *instance, &adding), (300, 0), "{engine}");
        instance.reset(ResetFor::NextPoint).unwrap();
        assert_eq!(fact(&*instance, "data.state").unwrap(), format!("restored ({how})"), "{engine}");
        assert!(fact(&*instance, "data.restore_s").unwrap().parse::<f64>().is_ok());
    }
    assert_eq!(copied.value, how, "{engine}");
    instance.stop().unwrap();
}
