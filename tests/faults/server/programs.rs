//! The programs of a server do not end.

use super::hangs::signal;
use crate::lab::{Finished, Lab, assert_runs, wait_until};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

const PRINTS_VERSION: &str = "echo 'mariadbd  Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64'";
/// With a child, which has its outputs, too.
const GOES_ON: &str = "sleep 600 & wait";
const INSTALL: &str = "mariadb-install-db";

/// A MariaDB whose server is the script `server`, and whose files the script `install` should make. Every user may run them.
fn programs(server: &str, install: &str) -> TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let others = ["my_print_defaults", "resolveip", "fill_help_tables.sql"].map(|name| (name, ""));
    for (name, text) in [("mariadbd", server), (INSTALL, install)].into_iter().chain(others) {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn arguments(folder: &Path) -> [&str; 10] {
    let folder = folder.to_str().unwrap();
    ["--engine-bin", folder, "oltp", "--engine", "mariadb", "--table-rows", "100", "--time", "300ms", "--no-report"]
}

/// Whether a process of the program `name` of `folder` is there.
fn is_running(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines.flatten().any(|line| line.split(|byte| *byte == 0).any(|word| word == path.as_os_str().as_encoded_bytes()))
}

pub fn version_is_never_printed(lab: &Lab) -> Option<Finished> {
    let folder = programs(GOES_ON, "");
    let finished = lab.run(&arguments(folder.path()));
    assert!(!is_running(folder.path(), "mariadbd"));
    Some(finished)
}

pub fn files_are_never_made(lab: &Lab) -> Option<Finished> {
    fs::set_permissions(lab.path(), Permissions::from_mode(0o711)).unwrap();
    let folder = programs(PRINTS_VERSION, GOES_ON);
    let finished = lab.run(&arguments(folder.path()));
    assert!(!is_running(folder.path(), INSTALL));
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// Long before the time of the program is over.
pub fn interrupted_while_files_are_made(lab: &Lab) -> Option<Finished> {
    fs::set_permissions(lab.path(), Permissions::from_mode(0o711)).unwrap();
    let folder = programs(PRINTS_VERSION, GOES_ON);
    let mut child = lab.command(&arguments(folder.path())).spawn().unwrap();
    wait_until("the program", || {
        assert_runs(&mut child);
        is_running(folder.path(), INSTALL)
    });
    signal(child.id(), "INT");
    let finished = child.wait_with_output().unwrap().into();
    assert!(!is_running(folder.path(), INSTALL));
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}
