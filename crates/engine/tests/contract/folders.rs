//! Servers whose programs come from a folder: all of them, or none is started.

use crate::lab::{directory, fact, names_in, prepared, run, servers, trial};
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
