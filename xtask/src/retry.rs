//! The step "test" of `cargo xtask test`: all tests in parallel, and then each that failed once more, alone.
//!
//! In: the working tree. Out: success with the names of the tests that passed only alone, or the tests that failed twice. Tests of
//! real devices, servers and signals share the machine with each other and with other guests, which can make one of them fail.
//! Limits: a compile error, a test program that ended without its list of failures (a crash), a doc test and more than
//! [`AGAIN_MAX`] failures fail at once.

use crate::workspace::{cargo, shown};
use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use std::fmt;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How many failures are tried again: other guests make one or two tests fail, a mistake makes many.
const AGAIN_MAX: usize = 10;

/// What tells a test program how many of its tests run at a time. If you have set it, it stays.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs all tests, with the features of `feature_options`, and those that failed once more, alone. The ones that pass then are added to
/// `notes`, even if others fail twice.
pub fn run_tests(root: &Path, feature_options: &[String], notes: &mut Vec<String>) -> Result<()> {
    let options = ["test", "--workspace", "--locked", "--no-fail-fast", "--color", "never"];
    let mut all = cargo(root);
    if std::env::var_os(THREADS).is_none() {
        all.env(THREADS, thread_count(std::thread::available_parallelism()?.get()).to_string());
    }
    let output = stream_output(all.args(options).args(feature_options))?;
    if output.success {
        return Ok(());
    }
    let failed = failed_tests(&output.text)?;
    if failed.len() > AGAIN_MAX {
        bail!("{} tests failed, which is no accident: none of them is tried again", failed.len());
    }
    let mut twice = Vec::new();
    for test in &failed {
        println!("xtask: test: once more, alone: {test}");
        match passes_alone(test, root)? {
            true => notes.push(format!("failed once, passed alone: {test}")),
            false => twice.push(test.to_string()),
        }
    }
    match twice.is_empty() {
        true => Ok(()),
        false => bail!("failed with the others and alone: {}", twice.join(", ")),
    }
}

/// How many tests run at a time on so many processors. Tests that need none for a third of their time (they wait for servers, disks and
/// the ends of measurements) leave room for others.
fn thread_count(processors: usize) -> usize {
    processors + 2
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq)]
struct FailedTest {
    /// The program that it is in, relative to the root.
    program: PathBuf,
    /// Cargo's options for that program: `-p plimsoll --test cli`.
    target: String,
    name: String,
}

impl fmt::Display for FailedTest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.target)
    }
}

/// The tests that failed in a run of `cargo test`, if each program that failed printed a list of them.
fn failed_tests(text: &str) -> Result<Vec<FailedTest>> {
    let targets = text.lines().rev().find_map(targets_failed);
    let targets = targets.context("cargo ended before the tests did")?;
    let lists: Vec<Vec<FailedTest>> = split_by_program(text).iter().filter_map(|section| failed_in(section)).collect();
    match lists.len() == targets {
        true => Ok(lists.concat()),
        false => bail!("of {targets} test programs that failed {} named the tests: others crashed", lists.len()),
    }
}

/// The number in `error: 2 targets failed:`, cargo's last message.
fn targets_failed(line: &str) -> Option<usize> {
    let (number, what) = line.strip_prefix("error: ")?.split_once(' ')?;
    ["target failed:", "targets failed:"].contains(&what).then(|| number.parse().ok())?
}

/// The output of each test program, from the line with its path on.
fn split_by_program(text: &str) -> Vec<Vec<&str>> {
    let mut sections = Vec::new();
    for line in text.lines() {
        if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
            sections.push(Vec::new());
        }
        sections.last_mut().into_iter().for_each(|section| section.push(line));
    }
    sections
}

/// The failures of one program; `None` if it had none, or if it did not end with a list of them. A test may have printed the list of
/// another program: the last list counts, if it has as many names as the result line and comes right before cargo's message.
fn failed_in(section: &[&str]) -> Option<Vec<FailedTest>> {
    const WORD: &str = "error: test failed, to rerun pass `";
    let program = section[0].rsplit_once('(')?.1.strip_suffix(')')?;
    let end = section.iter().position(|line| line.starts_with(WORD))?;
    let target = section[end].strip_prefix(WORD)?.strip_suffix('`')?;
    let (own, after) = (&section[..end], &section[end..]);
    let result = own.iter().rev().find(|line| !line.is_empty())?.strip_prefix("test result: FAILED. ")?;
    let number: usize = result.split("; ").find_map(|part| part.strip_suffix(" failed"))?.parse().ok()?;
    let list = own.iter().rposition(|line| *line == "failures:")?;
    let names: Vec<&str> = own[list + 1..].iter().map_while(|line| line.strip_prefix("    ")).collect();
    // A program that was killed has printed its list as well, but cargo then adds the signal as the cause.
    if names.len() != number || after.contains(&"Caused by:") {
        return None;
    }
    let failed =
        names.into_iter().map(|name| FailedTest { program: program.into(), target: target.into(), name: name.into() });
    Some(failed.collect())
}

/// Runs one test in a process of its own, as cargo would: from the folder of its package.
fn passes_alone(test: &FailedTest, root: &Path) -> Result<bool> {
    let package = test.target.split(' ').nth(1).with_context(|| format!("`{}` names no package", test.target))?;
    let folder = folder_of(package, root)?;
    let mut command = Command::new(root.join(&test.program));
    command.args(["--exact", &test.name, "--test-threads=1"]).current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
    Ok(one_passed(&stream_output(&mut command)?))
}

/// Whether exactly one test ran, and passed: a name that matches no test counts as success for the test program.
fn one_passed(output: &ProgramOutput) -> bool {
    let last = output.text.lines().rev().find(|line| !line.is_empty());
    output.success && last.is_some_and(|line| line.starts_with("test result: ok. 1 passed; 0 failed; "))
}

fn folder_of(package: &str, root: &Path) -> Result<PathBuf> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec().context("`cargo metadata` failed")?;
    let found = metadata.packages.iter().find(|found| *found.name == package);
    let manifest = &found.with_context(|| format!("the workspace has no package `{package}`"))?.manifest_path;
    Ok(manifest.parent().context("a manifest is in a folder")?.into())
}

/// The text that a program wrote to stdout and stderr, and whether it succeeded.
struct ProgramOutput {
    text: String,
    success: bool,
}

/// Runs `command` with its output on the terminal line by line, and keeps the lines in the order in which they came.
fn stream_output(command: &mut Command) -> Result<ProgramOutput> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command.stdout(writer.try_clone().context("cannot make a pipe")?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    // The command still has the pipe's other end, which would never be closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let lines = lines_of(reader);
    let mut text = String::new();
    loop {
        match lines.recv_timeout(Duration::from_secs(5)) {
            Ok(line) => {
                print!("{line}");
                std::io::stdout().flush().context("cannot write the output")?;
                text.push_str(&line);
            }
            // A process that a failed test left running holds the pipe open after the program ended.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(ProgramOutput { text, success: child.wait()?.success() })
}

fn lines_of(pipe: PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo's and libtest's own words: a test that prints a list of another program, one that should panic, and a program that
    /// is well.
    const TWO_FAILED: &str = "   Compiling a v0.1.0 (/x/a)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 8.30s
     Running unittests src/lib.rs (target/debug/deps/a-3110576fc3c3c96d)

running 3 tests
test tests::must_panic - should panic ... FAILED
test tests::passes ... ok
test tests::fails ... FAILED

failures:

---- tests::must_panic stdout ----
note: test did not panic as expected at a/src/lib.rs:9:29
---- tests::fails stdout ----
---- x
failures:
    tests::not_this

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s


thread 'tests::fails' (27089) panicked at a/src/lib.rs:8:177:
it did not


failures:
    tests::fails
    tests::must_panic

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.62s

error: test failed, to rerun pass `-p a --lib`
     Running unittests src/lib.rs (target/debug/deps/b-d297d743c1d6421f)

running 1 test
test fine ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.04s

";
    const ONE_MORE: &str = "     Running tests/more.rs (target/debug/deps/more-8cae0c85077d92d8)

running 1 test
test second ... FAILED

failures:

---- second stdout ----

thread 'second' (27130) panicked at a/tests/more.rs:1:22:
no


failures:
    second

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.99s

error: test failed, to rerun pass `-p a --test more`
";
    const A_CRASH: &str = "     Running unittests src/lib.rs (target/debug/deps/b-d297d743c1d6421f)

running 2 tests
error: test failed, to rerun pass `-p b --lib`

Caused by:
  process didn't exit successfully: `/x/target/debug/deps/b-d297d743c1d6421f` (signal: 6, SIGABRT: process abort signal)
";
    const A_DOC_TEST: &str = "   Doc-tests a

running 1 test
test a/src/lib.rs - f (line 2) ... FAILED

failures:
    a/src/lib.rs - f (line 2)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.33s

all doctests ran in 5.34s; merged doctests compilation took 4.00s
error: doctest failed, to rerun pass `-p a --doc`
";
    const NOT_COMPILED: &str = "error: could not compile `c` (lib) due to 1 previous error
warning: build failed, waiting for other jobs to finish...
";

    fn failed(program: &str, target: &str, name: &str) -> FailedTest {
        FailedTest { program: program.into(), target: target.into(), name: name.into() }
    }

    fn refused(text: &str) -> String {
        failed_tests(text).unwrap_err().to_string()
    }

    #[test]
    fn each_failure_is_known_with_its_program() {
        let text =
            format!("{TWO_FAILED}{ONE_MORE}error: 2 targets failed:\n    `-p a --lib`\n    `-p a --test more`\n");
        let (lib, more) = ("target/debug/deps/a-3110576fc3c3c96d", "target/debug/deps/more-8cae0c85077d92d8");
        let expected = [
            failed(lib, "-p a --lib", "tests::fails"),
            failed(lib, "-p a --lib", "tests::must_panic"),
            failed(more, "-p a --test more", "second"),
        ];
        assert_eq!(failed_tests(&text).unwrap(), expected);
        let one = format!("{ONE_MORE}error: 1 target failed:\n    `-p a --test more`\n");
        assert_eq!(failed_tests(&one).unwrap(), expected[2..]);
        assert_eq!(expected[2].to_string(), "second (-p a --test more)");
    }

    #[test]
    fn a_crash_a_doc_test_and_what_does_not_compile_are_not_tried_again() {
        for last in [A_CRASH, A_DOC_TEST] {
            let why = refused(&format!("{ONE_MORE}{last}error: 2 targets failed:\n    `-p a --test more`\n"));
            assert_eq!(why, "of 2 test programs that failed 1 named the tests: others crashed");
        }
        assert_eq!(refused(NOT_COMPILED), "cargo ended before the tests did");
        assert_eq!(refused(&format!("{TWO_FAILED}{ONE_MORE}")), "cargo ended before the tests did", "it was killed");
    }

    #[test]
    fn a_list_that_is_not_whole_is_none() {
        let told = |text: &str| refused(&format!("{text}error: 1 target failed:\n    `-p a --test more`\n"));
        for (from, to) in [
            ("1 failed;", "2 failed;"),
            ("failures:\n    second\n", ""),
            ("--test more`\n", "--test more`\n\nCaused by:\n  process didn't exit successfully: (signal: 11)\n"),
            ("\nerror: test failed", "\nfree(): invalid pointer\nerror: test failed"),
        ] {
            let text = ONE_MORE.replacen(from, to, 1);
            assert_ne!(text, ONE_MORE, "{from}");
            assert!(told(&text).starts_with("of 1 test programs that failed 0 named"), "{from}");
        }
    }

    #[test]
    fn this_test_passes_wherever_it_is_run() {}

    #[test]
    fn one_test_must_have_run_and_passed() {
        let root = crate::workspace::root().unwrap();
        let alone = |name: &str| {
            let own = failed(std::env::current_exe().unwrap().to_str().unwrap(), "-p xtask --bin xtask", name);
            passes_alone(&own, &root).unwrap()
        };
        assert!(alone("retry::tests::this_test_passes_wherever_it_is_run"));
        assert!(!alone("retry::tests::this_test"), "nothing has that name");
        assert!(!one_passed(&ProgramOutput {
            text: "test result: ok. 1 passed; 0 failed; 0 ignored\n".into(),
            success: false
        }));
        assert!(folder_of("nobody", &root).is_err());
    }

    #[test]
    fn both_streams_are_kept_in_their_order_and_what_is_left_running_is_not_waited_for() {
        let script = "echo one; echo two >&2; printf three; sleep 600 & echo \" $!\"; exit 3";
        let said = stream_output(Command::new("sh").args(["-c", script])).unwrap();
        let left = said.text.strip_prefix("one\ntwo\nthree ").unwrap_or_else(|| panic!("{}", said.text)).trim();
        assert!(!said.success);
        assert!(Command::new("kill").arg(left).status().unwrap().success(), "it is still there");
    }
}
