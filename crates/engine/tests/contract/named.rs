//! A file at a path that the user named: made if absent, read if it is not made by plimsoll, written only if plimsoll made it.

use crate::lab::{can_run, directory, fact, foreign_file, names_in, prepare, prepared, run, start, trial};
use host::TargetError;
use load::LoadEnd;
use model::{Bytes, Phase, Trial, Until};
use std::fs;
use std::path::Path;

fn trial_on(path: &Path, settings: &[(&str, &str)]) -> Trial {
    let always = [("path", path.to_str().unwrap()), ("io", "sync"), ("direct", "false"), ("file_size", "2MiB")];
    trial("file", "file", &[&always, settings].concat())
}

#[test]
fn somebody_elses_file_is_read_and_never_written() {
    let (parent, elsewhere) = (directory(), directory());
    let path = elsewhere.path().join("thesis");
    let content = foreign_file(&path, Bytes::from_mib(3));
    let reading = trial_on(&path, &[("mode", "rndrd")]);
    let writing = trial_on(&path, &[("mode", "rndwr")]);
    let refused = |error: Option<TargetError>| {
        let error = error.unwrap();
        assert!(matches!(error, TargetError::Unsafe(_)) && error.to_string().contains("thesis"), "{error}");
    };
    refused(start(&writing, parent.path()).err());

    let mut instance = start(&reading, parent.path()).unwrap();
    assert!(instance.make_loaders(&reading).unwrap().is_none());
    instance.finish_load().unwrap();
    assert_eq!(run(&mut *instance, &reading).unwrap().1.total(Phase::Run), (300, 0));
    refused(instance.make_clients(&writing).err());
    refused(instance.make_clients(&trial_on(&path, &[("file_size", "4MiB")])).err());
    instance.stop().unwrap();
    refused(start(&writing, parent.path()).err());

    assert_eq!(fs::read(&path).unwrap(), content);
    assert_eq!((names_in(elsewhere.path()), names_in(parent.path())), (vec!["thesis".to_string()], vec![]));
}

#[test]
fn the_null_device_is_written_and_says_that_it_stores_nothing() {
    let parent = directory();
    let null = Path::new("/dev/null");
    for io in ["sync", "uring"] {
        let writing = trial_on(null, &[("mode", "rndwr"), ("io", io)]);
        if !can_run(&writing, parent.path()) {
            continue;
        }
        let mut instance = start(&writing, parent.path()).unwrap();
        assert!(instance.make_loaders(&writing).unwrap().is_none(), "there is nothing to fill");
        instance.finish_load().unwrap();
        assert_eq!(fact(&*instance, "file.device").unwrap(), "null: what is written is dropped");
        assert_eq!(run(&mut *instance, &writing).unwrap().1.total(Phase::Run), (300, 0));
        let reading = instance.make_clients(&trial_on(null, &[("mode", "rndrw")])).err().unwrap();
        assert!(reading.to_string().contains("is the null device and has nothing to read"), "{reading}");
        instance.stop().unwrap();
    }
    assert!(start(&trial_on(null, &[("mode", "rndrd")]), parent.path()).is_err());
    assert!(start(&trial_on(Path::new("/dev/zero"), &[("mode", "rndwr")]), parent.path()).is_err());
    assert!(null.exists() && names_in(parent.path()).is_empty());
}

#[test]
fn a_file_that_is_absent_is_made_and_filled_and_used_again() {
    let (parent, elsewhere) = (directory(), directory());
    let path = elsewhere.path().join("f0");
    let writing = trial_on(&path, &[("mode", "rndwr")]);
    let mut first = prepared(&writing, parent.path());
    assert_eq!(run(&mut *first, &writing).unwrap().1.total(Phase::Run), (300, 0));
    first.stop().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 << 20);

    let mut second = start(&writing, parent.path()).unwrap();
    assert!(second.make_loaders(&writing).unwrap().is_none(), "it is full");
    second.finish_load().unwrap();
    assert_eq!(run(&mut *second, &writing).unwrap().1.total(Phase::Run), (300, 0));
    second.stop().unwrap();
    assert_eq!(names_in(parent.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_was_not_filled_goes_when_the_instance_is_stopped() {
    let (parent, elsewhere) = (directory(), directory());
    let path = elsewhere.path().join("f0");
    let trial = trial_on(&path, &[]);
    let mut instance = start(&trial, parent.path()).unwrap();
    drop(instance.make_loaders(&trial).unwrap());
    assert!(instance.make_clients(&trial).is_err(), "nothing is in it yet");
    instance.stop().unwrap();
    assert_eq!(names_in(elsewhere.path()), Vec::<String>::new());
}

#[test]
fn a_fill_that_was_killed_is_begun_again() {
    let (parent, elsewhere) = (directory(), directory());
    let path = elsewhere.path().join("f0");
    let trial = trial_on(&path, &[]);
    std::mem::forget(start(&trial, parent.path()).unwrap()); // as if the process had been killed here
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    let mut again = start(&trial, parent.path()).unwrap();
    let (outcome, seen) = prepare(&mut *again, &trial).unwrap();
    assert_eq!((outcome.ended, seen.total(Phase::Prepare)), (LoadEnd::AsPlanned, (2, 0)));
    assert_eq!(run(&mut *again, &trial).unwrap().1.total(Phase::Run), (300, 0));
    again.stop().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 << 20);
}

#[test]
fn files_are_written_whole_as_often_as_the_trial_asks_and_those_of_others_never() {
    let (parent, elsewhere) = (directory(), directory());
    let (own, foreign) = (elsewhere.path().join("f0"), elsewhere.path().join("thesis"));
    let until_steady = |path: &Path, precondition| {
        let mut trial = trial_on(path, &[("mode", "rndrd")]);
        trial.phases.until = Until::Steady { round: trial.phases.run, precondition };
        trial
    };
    let written = |trial: &Trial| {
        let mut instance = start(trial, parent.path()).unwrap();
        let (outcome, seen) = prepare(&mut *instance, trial).unwrap();
        assert_eq!(outcome.ended, LoadEnd::AsPlanned);
        let fact =
            instance.report().facts.into_iter().find(|fact| fact.name == "file.written_whole").map(|fact| fact.value);
        assert_eq!(run(&mut *instance, trial).unwrap().1.total(Phase::Run), (300, 0));
        instance.stop().unwrap();
        (seen.total(Phase::Prepare), fact)
    };
    // Writes of 1 MiB: the file has two.
    assert_eq!(written(&until_steady(&own, 3)), ((6, 0), Some("3".into())), "made, and overwritten twice");
    assert_eq!(written(&until_steady(&own, 3)), ((4, 0), Some("2".into())), "it was there");
    assert_eq!(fs::metadata(&own).unwrap().len(), 2 << 20);

    let content = foreign_file(&foreign, Bytes::from_mib(3));
    let trial = until_steady(&foreign, 2);
    let error = start(&trial, parent.path()).unwrap().make_loaders(&trial).err().unwrap().to_string();
    assert!(error.contains("precondition = `2` would overwrite it; use precondition = `1`"), "{error}");
    assert!(start(&trial, parent.path()).unwrap().make_loaders(&until_steady(&foreign, 1)).unwrap().is_none());
    assert_eq!(fs::read(&foreign).unwrap(), content);
}
