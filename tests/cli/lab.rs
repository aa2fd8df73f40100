//! A fresh directory with the binary in it, so to speak.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of its own, removed at the end.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// What a finished plimsoll left.
pub struct Finished {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    pub fn new() -> Lab {
        Lab { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// plimsoll with these arguments in this directory, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).output().unwrap().into()
    }

    /// A run that must succeed, and its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let finished = self.run(&[arguments, &["--json", "--quiet"]].concat());
        assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""), "{arguments:?}");
        finished.json()
    }

    /// What stands in the directory, run files and reports apart.
    pub fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "plimsoll-runs")
            .collect()
    }

    /// The run files, the oldest first.
    pub fn run_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join("plimsoll-runs")) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "plimsoll")).collect();
        files.sort();
        files
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("plimsoll prints UTF-8");
        let exit = output.status.code().expect("plimsoll ended by itself");
        Finished { exit, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Finished {
    /// The one JSON object on stdout.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one line of JSON and nothing else: {}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A short run on the scripted engine.
pub const NULL: &[&str] = &["file", "--engine", "null", "--service", "100us", "--interval", "50ms", "--no-report"];
