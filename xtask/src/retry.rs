//! The step "test" of `cargo xtask test`: all tests in parallel, and then each that failed again, alone, twice at most.
//!
//! In: the working tree. Out: success with the names of the tests that passed only alone, or the tests that failed each time. Tests of
//! real devices, servers and signals share the machine with each other and with other guests, which can make one of them fail.
//! Limits: a compile error, a test program that ended without its list of failures (a crash), a doc test and more than
//! [`AGAIN_MAX`] failures fail at once.

use crate::server_files::ServerFiles;
use crate::test_programs::{ALL, ProgramOutput, TestProgram, build, checking_cargo, run_all, show_output};
use crate::{test_folder, workspace};
use anyhow::{Result, bail};
use std::fmt;
use std::path::Path;

/// How many failures are tried again: other guests make one or two tests fail, a mistake makes many.
const AGAIN_MAX: usize = 10;

/// How often such a test is tried alone: the copy of data from node to node of a cluster fails now and then, whatever else runs.
const ALONE_MAX: usize = 2;

/// How many test programs run at a time.
const PROGRAMS: usize = 2;

/// What tells a test program how many of its tests run at a time. If you have set it, it stays.
const THREADS: &str = "RUST_TEST_THREADS";

/// What tells the tests of engines where to have their data.
const DATA_FOLDER: &str = "TESTS_OF_PLIMSOLL_DIR";

/// The exit code of a test program of which a test failed.
const FAILED: i32 = 101;

/// Runs all tests, with the features of `feature_options`, and those that failed again, alone. The ones that pass then are added to
/// `notes`, even if others fail again.
pub fn run_tests(root: &Path, feature_options: &[String], notes: &mut Vec<String>) -> Result<()> {
    let programs = build(root, ALL, feature_options)?.programs;
    let threads = thread_count(std::thread::available_parallelism()?.get()).to_string();
    let folder = test_folder::make()?;
    let server_files = ServerFiles::make(folder.path())?;
    let path = server_files.before(&std::env::var_os("PATH").unwrap_or_default())?;
    let outputs = run_all(&programs, PROGRAMS, |_, command| {
        command.env("PATH", &path).env("TMPDIR", folder.path()).env(DATA_FOLDER, folder.path());
        if std::env::var_os(THREADS).is_none() {
            command.env(THREADS, &threads);
        }
    })?;
    // Cargo reads every crate again to find that there are none.
    if workspace::text_files(root)?.iter().any(|file| file.has_extension("rs") && has_doc_tests(&file.text)) {
        let mut documented = checking_cargo(root);
        workspace::run(documented.args(["test", "--workspace", "--locked", "--doc", "--quiet"]).args(feature_options))?;
    }
    let failed = failed_tests(&programs, &outputs)?;
    if failed.len() > AGAIN_MAX {
        bail!("{} tests failed, which is no accident: none of them is tried again", failed.len());
    }
    let mut failed_alone = Vec::new();
    for test in &failed {
        println!("xtask: test: once more, alone: {test}");
        if passes_alone(test)? {
            notes.push(format!("failed once, passed alone: {test}"))
        } else {
            failed_alone.push(test.to_string())
        }
    }
    if failed_alone.is_empty() {
        Ok(())
    } else {
        bail!("failed with the others and alone: {}", failed_alone.join(", "))
    }
}

/// Whether a comment of documentation has a block of code. Those that are marked as text are no tests.
fn has_doc_tests(code: &str) -> bool {
    let comments = code.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let fences = comments.filter_map(|comment| comment.trim().strip_prefix("```"));
    // Every other fence is the end of a block.
    fences.step_by(2).any(|language| language != "text")
}

/// How many tests of each program run at a time on so many processors. Tests that need none for a third of their time (they wait for servers,
/// disks and the ends of measurements) leave room for others.
fn thread_count(processors: usize) -> usize {
    (processors + 4) / PROGRAMS
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq)]
struct FailedTest {
    program: TestProgram,
    name: String,
}

impl fmt::Display for FailedTest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} (-p {})", self.name, self.program.target)
    }
}

/// The tests that failed, if each program that failed printed a list of them.
fn failed_tests(programs: &[TestProgram], outputs: &[ProgramOutput]) -> Result<Vec<FailedTest>> {
    let mut all = Vec::new();
    for (program, output) in programs.iter().zip(outputs).filter(|(_, output)| !output.status.success()) {
        let Some(names) = failed_in(output) else {
            bail!("{} did not end with a list of its failures: it crashed ({})", program.target, output.status);
        };
        all.extend(names.into_iter().map(|name| FailedTest { program: program.clone(), name: name.into() }));
    }
    Ok(all)
}

/// The failures of one program; `None` if it did not end with a list of them. A test may have printed the list of another program: the
/// last list counts, if it has as many names as the result line, which is the last.
fn failed_in(output: &ProgramOutput) -> Option<Vec<&str>> {
    if output.status.code() != Some(FAILED) {
        return None;
    }
    let lines: Vec<&str> = output.text.lines().collect();
    let result = last_line(&output.text)?.strip_prefix("test result: FAILED. ")?;
    let number: usize = result.split("; ").find_map(|part| part.strip_suffix(" failed"))?.parse().ok()?;
    let list = lines.iter().rposition(|line| *line == "failures:")?;
    let names: Vec<&str> = lines[list + 1..].iter().map_while(|line| line.strip_prefix("    ")).collect();
    (names.len() == number).then_some(names)
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().find(|line| !line.is_empty())
}

/// Whether the test passes in a process of its own, in one of [`ALONE_MAX`] tries.
fn passes_alone(test: &FailedTest) -> Result<bool> {
    for _ in 0..ALONE_MAX {
        if passes_once(test)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn passes_once(test: &FailedTest) -> Result<bool> {
    let mut command = test.program.command();
    command.args(["--exact", &test.name, "--test-threads=1"]);
    Ok(one_passed(&show_output(&mut command, &test.program.target)?))
}

/// Whether exactly one test ran, and passed: a name that matches no test counts as success for the test program.
fn one_passed(output: &ProgramOutput) -> bool {
    let last = last_line(&output.text);
    output.status.success() && last.is_some_and(|line| line.starts_with("test result: ok. 1 passed; 0 failed; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    /// Libtest's own words: a test that prints a list of another program, and one that should panic.
    const TWO_FAILED: &str = "
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

";
    const ONE_MORE: &str = "
running 1 test
test second ... FAILED

failures:

---- second stdout ----

thread 'second' (27130) panicked at a/tests/more.rs:1:22:
no


failures:
    second

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.99s

";
    const ALL_PASSED: &str = "
running 1 test
test fine ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.04s

";

    fn program(target: &str) -> TestProgram {
        TestProgram { path: "/x/a".into(), target: target.into(), folder: "/x".into() }
    }

    fn output(text: &str, code: i32) -> ProgramOutput {
        ProgramOutput { text: text.into(), status: ExitStatus::from_raw(code << 8) }
    }

    fn refused(output: ProgramOutput) -> String {
        failed_tests(&[program("a --lib")], &[output]).unwrap_err().to_string()
    }

    #[test]
    fn each_failure_is_known_with_its_program() {
        let programs = ["a --lib", "b --lib", "a --test more"].map(program);
        let outputs = [output(TWO_FAILED, FAILED), output(ALL_PASSED, 0), output(ONE_MORE, FAILED)];
        let found: Vec<String> = failed_tests(&programs, &outputs).unwrap().iter().map(ToString::to_string).collect();
        let expected = ["tests::fails (-p a --lib)", "tests::must_panic (-p a --lib)", "second (-p a --test more)"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_crash_is_not_tried_again() {
        let cut = "\nrunning 2 tests\n";
        let killed = ProgramOutput { text: cut.into(), status: ExitStatus::from_raw(6) };
        assert!(refused(killed).starts_with("a --lib did not end with a list of its failures: it crashed (signal: 6"));
        let after = ProgramOutput { text: ONE_MORE.into(), status: ExitStatus::from_raw(11) };
        assert!(refused(after).contains("crashed"), "it was killed after its list");
        assert!(refused(output(cut, 1)).contains("crashed (exit status: 1)"));
    }

    #[test]
    fn a_list_that_is_not_whole_is_none() {
        for (from, to) in [
            ("1 failed;", "2 failed;"),
            ("failures:\n    second\n", ""),
            ("finished in 0.99s\n", "finished in 0.99s\nfree(): invalid pointer\n"),
        ] {
            let text = ONE_MORE.replacen(from, to, 1);
            assert_ne!(text, ONE_MORE, "{from}");
            assert!(refused(output(&text, FAILED)).contains("did not end with a list"), "{from}");
        }
    }

    #[test]
    fn a_block_of_code_in_a_comment_of_documentation_is_a_test_unless_it_is_text() {
        for code in ["/// ```\n/// f();\n/// ```", "    //! ```should_panic", "/// ```text\n/// ```\n/// ```rust"] {
            assert!(has_doc_tests(code), "{code}");
        }
        for code in ["/// ```text\n/// a -> b\n/// ```", "// ```", "let text = \"```\";"] {
            assert!(!has_doc_tests(code), "{code}");
        }
    }

    #[test]
    fn this_test_passes_wherever_it_is_run() {}

    #[test]
    fn one_test_must_have_run_and_passed() {
        let own = TestProgram { path: std::env::current_exe().unwrap(), ..program("xtask --bin xtask") };
        let alone = |name: &str| {
            let program = TestProgram { folder: workspace::root().unwrap().join("xtask"), ..own.clone() };
            passes_alone(&FailedTest { program, name: name.into() }).unwrap()
        };
        assert!(alone("retry::tests::this_test_passes_wherever_it_is_run"));
        assert!(!alone("retry::tests::this_test"), "nothing has that name");
        assert!(!one_passed(&output("test result: ok. 1 passed; 0 failed; 0 ignored\n", FAILED)));
    }
}
