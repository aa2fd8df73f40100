//! Syncs that do nothing: commits are acknowledged and on no disk.

use crate::database::{MariaDb, PASSWORD, has_mariadb};
use crate::lab::{Finished, Lab, one_of};
use std::process::Command;

/// What the library has in the place of the C library's functions.
const NO_SYNC: &str = "int fsync(int file) { return 0; }\nint fdatasync(int file) { return 0; }\n";

/// Writes of one client, each of which is a commit.
const WRITES: &[&str] = &["--mix", "write_only", "--table-rows", "1000", "--clients", "1"];
const OUTPUT: &[&str] =
    &["--ops-max", "4000", "--time", "60s", "--interval", "200ms", "--no-report", "--quiet", "--json"];
/// Others on the machine may flush the device as often meanwhile, which hides it.
const ATTEMPTS: usize = 5;

fn writing(lab: &Lab, engine: &str, library: Option<&str>) -> Finished {
    let mut command = lab.command(&[&["oltp", "--engine", engine, "--durability", "disk"], WRITES, OUTPUT].concat());
    command.envs(library.map(|path| ("LD_PRELOAD", path))).output().unwrap().into()
}

fn of_durability(finished: &Finished) -> Option<String> {
    assert_eq!(finished.exit, 0, "{}", finished.stderr);
    let findings = finished.json()["points"][0]["findings"].clone();
    let found = findings.as_array().unwrap().iter().find(|finding| finding["code"] == "not-durable")?;
    Some(found["title"].as_str().unwrap().to_owned())
}

/// Whether flushes of the lab's device can be seen at all.
fn sees_flushes(lab: &Lab) -> bool {
    let device = host::filesystem::find_mount(lab.path()).ok().and_then(|mount| mount.device);
    device.is_some_and(|device| {
        host::flush_probe::probe_flushes(lab.path(), &device).is_some_and(|probe| probe.is_counted)
    })
}

/// A library that makes syncs do nothing, if there is a C compiler.
fn library(lab: &Lab) -> Option<String> {
    let [source, library] = ["nosync.c", "nosync.so"].map(|name| lab.path().join(name).display().to_string());
    std::fs::write(&source, NO_SYNC).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).status();
    made.is_ok_and(|status| status.success()).then_some(library)
}

/// SQLite in plimsoll's own process, with the library and without it.
pub fn under_sqlite(lab: &Lab) -> Option<Finished> {
    let library = library(lab).filter(|_| sees_flushes(lab))?;
    assert_eq!(of_durability(&writing(&Lab::new(), "sqlite", None)), None);
    Some(found_in(|| writing(lab, "sqlite", Some(&library))))
}

/// A run whose point is invalid because of its durability.
fn found_in(measure: impl Fn() -> Finished) -> Finished {
    one_of(ATTEMPTS, || {
        let finished = measure();
        let Some(title) = of_durability(&finished) else { return Err(finished.stdout) };
        assert!(title.starts_with("a power cut may lose commits"), "{title}");
        assert_eq!(finished.json()["points"][0]["validity"], "invalid");
        assert_eq!(finished.json()["verdict_detail"]["groups"][0]["durability"], "disk", "that is what it says");
        Ok(finished)
    })
}

/// A MariaDB by URL with the library, and a private one without it.
pub fn under_mariadb(lab: &Lab) -> Option<Finished> {
    let library = library(lab).filter(|_| has_mariadb() && sees_flushes(lab))?;
    assert_eq!(of_durability(&writing(&Lab::new(), "mariadb", None)), None);
    let server = MariaDb::start_with(&["--innodb-flush-log-at-trx-commit=1"], Some(library.as_ref()));
    let url = server.url();
    Some(found_in(|| {
        let mut command = lab.command(&[&["oltp", "--engine", &url], WRITES, OUTPUT].concat());
        command.env("PLIMSOLL_PASSWORD", PASSWORD).output().unwrap().into()
    }))
}
