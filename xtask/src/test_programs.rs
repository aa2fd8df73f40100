//! The test programs of the workspace: cargo builds them all, and several run at the same time.
//!
//! In: the working tree. Out: what each program printed, and how it ended. The output of a program is shown in full and as it is when the
//! program has ended, so that people and tools can read it as they read that of `cargo test`; until then a line a minute shows how far it is.
//! Limits: which of them take long is a list here; if it is out of date, the tests only take longer.
//!
//! `cargo test` runs one program after the other. The last tests of a program then have the machine to themselves: with two processors one of
//! them was idle for a quarter of the time.

use crate::workspace::{cargo, shown};
use anyhow::{Context, Result, bail};
use cargo_metadata::diagnostic::DiagnosticLevel;
use cargo_metadata::{Artifact, Message, MetadataCommand};
use std::collections::HashMap;
use std::io::{BufReader, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The programs that take longest, the longest first: what is begun last should be short.
const LONGEST: [&str; 6] = [
    "engine --test contract",
    "plimsoll --test cli",
    "plimsoll --test faults",
    "report --lib",
    "analysis --lib",
    "workload --lib",
];

/// What a program's children write is read for so long after its end.
const LEFT_MAX: Duration = Duration::from_secs(5);

/// How often a line is shown of a program that goes on.
const SHOWN_EVERY: Duration = Duration::from_secs(60);

/// A program with tests.
#[derive(Clone, Debug, PartialEq)]
pub struct TestProgram {
    pub path: PathBuf,
    /// What it is to cargo, behind `-p`: `plimsoll --test cli`.
    pub target: String,
    /// The folder of its package.
    pub folder: PathBuf,
}

impl TestProgram {
    fn of_artifact(artifact: Artifact, names: &HashMap<PathBuf, String>) -> Option<TestProgram> {
        let path = artifact.executable?.into();
        let manifest = artifact.manifest_path.into_std_path_buf();
        let (package, target) = (names.get(&manifest)?, artifact.target);
        let target = if target.is_test() {
            format!("{package} --test {}", target.name)
        } else if target.is_bin() {
            format!("{package} --bin {}", target.name)
        } else {
            format!("{package} --lib")
        };
        Some(TestProgram { path, target, folder: manifest.parent()?.to_owned() })
    }

    /// The program as `cargo test` starts it: from the folder of its package, which a variable names.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// Its place in the order in which programs are started.
    fn place(&self) -> usize {
        LONGEST.iter().position(|target| *target == self.target).unwrap_or(LONGEST.len())
    }
}

/// What a build left.
#[derive(Default)]
pub struct Built {
    /// The programs with tests: those that take longest come first.
    pub programs: Vec<TestProgram>,
    /// The binary of users.
    pub plimsoll: PathBuf,
    /// How many warnings of clippy and the compiler there are.
    pub warnings: usize,
}

/// The options of a build of all that there is.
pub const ALL: &[&str] = &["--all-targets"];
/// Those of a build of the binary, with the features that it has among [`ALL`]: tests bring some.
pub const BINARY: &[&str] = &["--bin=plimsoll", "--test=cli"];

/// Builds `targets` with the features of `feature_options`. Of what is built already the warnings come again.
///
/// # Errors
/// If something does not compile.
pub fn build(root: &Path, targets: &[&str], feature_options: &[String]) -> Result<Built> {
    let names = package_names(root)?;
    let mut build = checking_cargo(root);
    build.args(["build", "--workspace", "--locked", "--message-format=json"]).args(targets).args(feature_options);
    let mut child = build.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let messages = BufReader::new(child.stdout.take().context("cargo has a stdout")?);
    let mut built = Built::default();
    for message in Message::parse_stream(messages) {
        match message.context("cannot read cargo's messages")? {
            Message::CompilerMessage(said) => {
                eprint!("{}", said.message);
                built.warnings += usize::from(said.message.level == DiagnosticLevel::Warning);
            }
            Message::CompilerArtifact(artifact) if artifact.profile.test => {
                built.programs.extend(TestProgram::of_artifact(artifact, &names));
            }
            Message::CompilerArtifact(artifact) if artifact.target.name == "plimsoll" => {
                built.plimsoll = artifact.executable.context("plimsoll is a program")?.into();
            }
            _ => {}
        }
    }
    if !child.wait()?.success() {
        bail!("the workspace does not compile")
    }
    built.programs.sort_by_key(TestProgram::place);
    Ok(built)
}

/// Cargo with clippy, which is next to it, as the compiler of our crates. To check them and to compile them are then one reading of them, and
/// the crates of others are compiled only.
pub fn checking_cargo(root: &Path) -> Command {
    let mut command = cargo(root);
    let clippy = Path::new(command.get_program()).with_file_name("clippy-driver");
    command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
    command
}

/// The names of our packages, by their manifests.
fn package_names(root: &Path) -> Result<HashMap<PathBuf, String>> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec().context("`cargo metadata` failed")?;
    let packages = metadata.packages.into_iter();
    Ok(packages.map(|package| (package.manifest_path.into_std_path_buf(), package.name.to_string())).collect())
}

/// The text that a program wrote to stdout and stderr, and how it ended.
pub struct ProgramOutput {
    /// Its lines in the order in which they came.
    pub text: String,
    /// Its exit code, or the signal that ended it.
    pub status: ExitStatus,
}

/// Runs all of `programs` in their order, so many at a time, each prepared by `prepare`.
///
/// # Errors
/// If one cannot be started.
pub fn run_all(
    programs: &[TestProgram],
    at_a_time: usize,
    prepare: impl Fn(&TestProgram, &mut Command) + Sync,
) -> Result<Vec<ProgramOutput>> {
    let (next, outputs) = (Mutex::new(programs.iter().enumerate()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                while let Some((nth, program)) = take_next(&next) {
                    let mut command = program.command();
                    prepare(program, &mut command);
                    let output = show_output(&mut command, &program.target);
                    outputs.lock().expect("no thread panics while it holds the lock").push((nth, output));
                }
            });
        }
    });
    let mut outputs = outputs.into_inner().expect("no thread panics while it holds the lock");
    outputs.sort_by_key(|(nth, _)| *nth);
    outputs.into_iter().map(|(_, output)| output).collect()
}

/// The lock is free again before the program runs.
fn take_next<'a>(next: &Mutex<impl Iterator<Item = (usize, &'a TestProgram)>>) -> Option<(usize, &'a TestProgram)> {
    next.lock().expect("no thread panics while it holds the lock").next()
}

/// Runs `command`, shows its output when it has ended, below a line with its `name`, and keeps it.
///
/// # Errors
/// If it cannot be started.
pub fn show_output(command: &mut Command, name: &str) -> Result<ProgramOutput> {
    println!("xtask: test: {name} begins");
    let output = collect_output(command, name)?;
    print!("\nxtask: test: {name} printed:\n{}", output.text);
    Ok(output)
}

/// A hang is seen while it lasts, and names its program: each minute a line shows how many tests have ended.
fn collect_output(command: &mut Command, name: &str) -> Result<ProgramOutput> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command.stdout(writer.try_clone().context("cannot make a pipe")?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    // The command still has the pipe's other end, which would never be closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (parts, mut bytes) = (parts_of(reader), Vec::new());
    let (mut ended, mut shown_at) = (None, Instant::now());
    // A process that a failed test left running holds the pipe open after the program ended, and may write to it for ever.
    while ended.is_none_or(|at: Instant| at.elapsed() < LEFT_MAX) {
        match parts.recv_timeout(Duration::from_secs(1)) {
            Ok(part) => bytes.extend(part),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if ended.is_none() && child.try_wait()?.is_some() {
            ended = Some(Instant::now());
        }
        if shown_at.elapsed() >= SHOWN_EVERY {
            println!("xtask: test: {name}: {} tests have ended", ended_tests(&String::from_utf8_lossy(&bytes)));
            shown_at = Instant::now();
        }
    }
    Ok(ProgramOutput { text: String::from_utf8_lossy(&bytes).into_owned(), status: child.wait()? })
}

fn ended_tests(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("test ") && !line.starts_with("test result")).count()
}

fn parts_of(mut pipe: PipeReader) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut part = vec![0; 65_536];
        while let Ok(length @ 1..) = pipe.read(&mut part) {
            if sender.send(part[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_kept_in_their_order_and_what_is_left_running_is_not_waited_for() {
        // What is left is silent, or writes for ever; the last line has no end.
        for left in ["sleep 600", "while sleep 0.1; do echo on; done"] {
            let script = format!("echo one; echo two >&2; {left} & printf \"three $!\"; exit 3");
            let printed = show_output(Command::new("sh").args(["-c", &script]), "sh").unwrap();
            let rest = printed.text.strip_prefix("one\ntwo\nthree ").unwrap_or_else(|| panic!("{}", printed.text));
            let process: String = rest.chars().take_while(char::is_ascii_digit).collect();
            assert_eq!(printed.status.code(), Some(3));
            assert!(Command::new("kill").arg(process).status().unwrap().success(), "it is still there");
        }
    }

    #[test]
    fn tests_that_have_ended_are_counted_without_their_result() {
        let text = "running 2 tests\ntest a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed\n";
        assert_eq!(ended_tests(text), 2);
    }

    #[test]
    fn two_programs_run_at_a_time_and_their_outputs_come_in_the_order_of_the_programs() {
        let dir = tempfile::tempdir().unwrap();
        let script = |target: &str| TestProgram {
            path: "/bin/sh".into(),
            target: target.to_owned(),
            folder: dir.path().to_owned(),
        };
        // Each of the first two waits until the other has begun: one after the other they would wait for ever.
        let meet =
            |own: &str, other: &str| format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo {own}");
        let programs = [script(&meet("a", "b")), script(&meet("b", "a")), script("echo c; exit 2")];
        let prepare = |program: &TestProgram, command: &mut Command| {
            command.args(["-c", &program.target]);
        };
        let outputs = run_all(&programs, 2, prepare).unwrap();
        let printed: Vec<(&str, Option<i32>)> =
            outputs.iter().map(|output| (output.text.trim(), output.status.code())).collect();
        assert_eq!(printed, [("a", Some(0)), ("b", Some(0)), ("c", Some(2))]);
    }

    #[test]
    fn the_programs_that_take_longest_are_programs_of_the_workspace() {
        let root = crate::workspace::root().unwrap();
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec().unwrap();
        for longest in LONGEST {
            let (package, kind) = longest.split_once(" --").unwrap();
            let of_package = metadata.packages.iter().find(|found| found.name.as_str() == package);
            let mut targets = of_package.unwrap_or_else(|| panic!("{longest}")).targets.iter();
            let is_there = match kind.strip_prefix("test ") {
                Some(name) => targets.any(|target| target.is_test() && target.name == name),
                None => targets.any(|target| target.is_lib()),
            };
            assert!(is_there, "{longest}");
        }
    }
}
