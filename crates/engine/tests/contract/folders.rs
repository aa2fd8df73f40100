//! Servers whose programs come from a folder: all of them, or none is started.

use crate::lab::{directory, fact, found, names_in, prepared, run, servers, trial};
use engine::EngineDef;
use host::TargetError;
use load::LoadEnd;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with links to the installed programs of `engine`, as if its server had been unpacked there.
fn unpacked(engine: &EngineDef) -> TempDir {
    let folder = directory();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let found = engine.programs.unwrap().find(None).unwrap();
    for (name, path) in found.files() {
        let place = place_of(name, path);
        fs::create_dir_all(folder.path().join(&place).parent().unwrap()).unwrap();
        symlink(if place.ends_with("share") { shared(path) } else { path }, folder.path().join(place)).unwrap();
    }
    folder
}

/// Where the program of that name is in an unpacked server. Of the shared files all are needed, and not only the one that is looked for.
fn place_of(name: &str, path: &Path) -> PathBuf {
    match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        Some("sql") => "share".into(),
        Some("so") => Path::new("lib/mysql/plugin").join(name),
        _ => Path::new(path.parent().unwrap().file_name().unwrap()).join(name),
    }
}

/// `/usr/share` of `/usr/share/mysql/fill_help_tables.sql`.
fn shared(path: &Path) -> &Path {
    path.ancestors().find(|dir| dir.ends_with("share")).unwrap()
}

#[test]
fn a_server_from_a_folder_runs_and_reports_its_program_and_its_version() {
    let parent = directory();
    for engine in servers() {
        let folder = unpacked(engine);
        let mut trial = trial(engine.entry.name, "oltp", &[]);
        trial.target.programs = Some(folder.path().to_owned());
        let mut instance = prepared(&trial, parent.path());
        let program = PathBuf::from(fact(&*instance, "server.program").unwrap());
        assert!(program.starts_with(folder.path().canonicalize().unwrap()), "{}", program.display());
        let installed = engine.programs.unwrap().find(None).unwrap().version;
        let numbers = installed.split('-').next().unwrap().to_owned();
        assert!(fact(&*instance, "engine.version").unwrap().starts_with(&numbers), "{installed}");
        assert_eq!(run(&mut *instance, &trial).unwrap().0.ended, LoadEnd::AsPlanned);
        instance.stop().unwrap();
    }
}

#[test]
fn a_folder_that_lacks_a_program_is_refused_with_its_name_although_the_system_has_it() {
    let parent = directory();
    for engine in servers() {
        let names: Vec<&str> = engine.programs.unwrap().find(None).unwrap().files().map(|(name, _)| name).collect();
        for name in names {
            let folder = unpacked(engine);
            let path = engine.programs.unwrap().find(None).unwrap().path_of(name).to_owned();
            fs::remove_file(folder.path().join(place_of(name, &path))).unwrap();
            let mut trial = trial(engine.entry.name, "oltp", &[]);
            trial.target.programs = Some(folder.path().to_owned());
            let refused = (engine.check)(&trial).unwrap_err();
            let text = refused.to_string();
            let expected = format!("engine `{}`: `{name}` is not in `", engine.entry.name);
            assert!(matches!(refused, TargetError::Unsupported(_)) && text.starts_with(&expected), "{text}");
            let refused = crate::lab::start(&trial, parent.path()).err().expect("a refusal");
            assert!(refused.to_string().starts_with(&expected), "{refused}");
            assert_eq!(names_in(parent.path()), [""; 0]);
        }
    }
}

/// The program that makes the server's files runs as the server's user, and what it leaves in the directory is that user's.
#[test]
fn a_link_that_the_servers_user_puts_in_the_place_of_its_certificate_is_not_followed() {
    let Some(engine) = servers().find(|engine| engine.entry.name == "mariadb:innodb") else { return };
    let (folder, parent) = (unpacked(engine), directory());
    let victim = folder.path().join("victim");
    fs::write(&victim, "years of work").unwrap();
    let install = engine.programs.unwrap().find(None).unwrap().path_of("mariadb-install-db").to_owned();
    let own = folder.path().join(place_of("mariadb-install-db", &install));
    let plant = "for word; do case $word in --datadir=*) data=${word#--datadir=};; esac; done";
    let script = |program: &Path, victim: &Path| {
        let [program, victim] = [program, victim].map(|path| path.display().to_string());
        format!("#!/bin/sh\n{plant}\n{program} \"$@\" && ln -s {victim} \"$data/plimsoll.pem\"\n")
    };
    fs::remove_file(&own).unwrap();
    fs::write(&own, script(&install, &victim)).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let mut trial = trial(engine.entry.name, "oltp", &[("via", "tls")]);
    trial.target.programs = Some(folder.path().to_owned());
    let mut instance = prepared(&trial, parent.path());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "years of work");
    assert!(fs::symlink_metadata(found(parent.path(), "plimsoll.pem")).unwrap().is_file());
    assert_eq!(run(&mut *instance, &trial).unwrap().0.ended, LoadEnd::AsPlanned);
    instance.stop().unwrap();
}
