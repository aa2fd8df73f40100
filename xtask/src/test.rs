//! `cargo xtask test`: everything that CI runs, in order, each step in a line with its time.
//!
//! In: the working tree. Out: success, or the names of the steps that failed. Limits: if a step fails, the others still run. Tests
//! that need a missing program are skipped and named; with `CI=true` that is a failure. A test that fails with the others and passes
//! alone is named, and does not count as failed.

use crate::needs::{self, Need};
use crate::test_programs::{self, ALL, BINARY};
use crate::workspace::{self, cargo};
use crate::{docs, licences, retry, tidy};
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The options of `cargo xtask test`.
#[derive(clap::Args)]
pub struct TestArguments {
    /// Only these steps (may be given several times).
    #[arg(long, value_name = "STEP", value_parser = clap::builder::PossibleValuesParser::new(STEPS.iter().map(|s| s.name)))]
    only: Vec<String>,
    /// Compile and test with these cargo features, too: `rocksdb`.
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_parser = ["rocksdb"])]
    features: Vec<String>,
}

impl TestArguments {
    fn program_needs(&self) -> &'static [Need] {
        if self.features.is_empty() { needs::TEST_NEEDS } else { needs::FEATURE_NEEDS }
    }

    /// Whether the step `name` needs the programs. A feature needs some of them whenever it is compiled.
    fn needs_programs_for(&self, name: &str) -> bool {
        name == "test" || (name == "clippy" && !self.features.is_empty())
    }

    fn feature_options(&self) -> Vec<String> {
        self.features.iter().map(|feature| format!("--features=plimsoll/{feature}")).collect()
    }
}

/// One step of the test.
struct TestStep {
    name: &'static str,
    what: &'static str,
    /// Runs the step. A step that passes may add notes for the summary.
    run: fn(&Path, &TestArguments, &mut Vec<String>) -> Result<()>,
}

/// The steps in their order: the quick ones first.
const STEPS: &[TestStep] = &[
    TestStep { name: "fmt", what: "the code is formatted", run: |root, _, _| check_format(root) },
    TestStep {
        name: "tidy",
        what: "arrows, circles, floors, registration, prose, names, words, links, openings",
        run: |root, _, _| tidy::run(root),
    },
    TestStep {
        name: "licences",
        what: "licences and origins of all crates",
        run: |root, arguments, _| licences::check_licences(root, &arguments.feature_options()),
    },
    TestStep {
        name: "clippy",
        what: "no warnings of clippy and the compiler",
        run: |root, arguments, _| run_clippy(root, &arguments.feature_options()),
    },
    TestStep {
        name: "test",
        what: "unit, golden and CLI tests",
        run: |root, arguments, notes| retry::run_tests(root, &arguments.feature_options(), notes),
    },
    TestStep { name: "docs", what: "the reference is up to date", run: |root, _, _| check_reference(root) },
];

/// The result of one step.
struct StepResult {
    name: &'static str,
    time: Duration,
    failed: bool,
    notes: Vec<String>,
}

pub fn run(root: &Path, arguments: &TestArguments) -> Result<()> {
    let only = &arguments.only;
    let steps: Vec<&TestStep> =
        STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)).collect();
    let (done, skipped) = perform_steps(&steps, root, arguments)?;
    println!();
    done.iter().for_each(|step| println!("xtask: {}", step.summary_line()));
    done.iter().flat_map(|step| &step.notes).for_each(|note| println!("xtask: {note}"));
    skipped.iter().for_each(|need| println!("xtask: {}", skip_line(need)));
    judge_steps(&done, &skipped, is_ci())
}

/// The results of the steps, and the programs that the tests lack. They are installed while the steps before the tests run: packages
/// wait for the network and the disk, those steps for the processor.
fn perform_steps(
    steps: &[&TestStep],
    root: &Path,
    arguments: &TestArguments,
) -> Result<(Vec<StepResult>, Vec<&'static Need>)> {
    let (needs, has_tests) = (arguments.program_needs(), steps.iter().any(|step| step.name == "test"));
    let mut installing = has_tests.then(|| std::thread::spawn(|| needs::install_missing(needs)));
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for step in steps {
        if let Some(thread) = installing.take_if(|_| arguments.needs_programs_for(step.name)) {
            skipped = thread.join().expect("it does not panic")?;
        }
        done.push(perform_step(step, root, arguments));
    }
    Ok((done, skipped))
}

fn perform_step(step: &TestStep, root: &Path, arguments: &TestArguments) -> StepResult {
    println!("xtask: {}: {} ...", step.name, step.what);
    let begun = Instant::now();
    let mut notes = Vec::new();
    let outcome = (step.run)(root, arguments, &mut notes);
    if let Err(error) = &outcome {
        println!("xtask: {}: {error:#}", step.name);
    }
    let done = StepResult { name: step.name, time: begun.elapsed(), failed: outcome.is_err(), notes };
    println!("xtask: {}", done.summary_line());
    done
}

impl StepResult {
    fn summary_line(&self) -> String {
        let verdict = if self.failed { "FAILED" } else { "ok" };
        format!("{:<8} {verdict:<6} {:.1} s", self.name, self.time.as_secs_f64())
    }
}

fn skip_line(need: &Need) -> String {
    format!("skipped: {}, because `{}` is not there; `apt-get install {}`", need.what_for, need.binary, need.package)
}

fn judge_steps(done: &[StepResult], skipped: &[&Need], is_ci: bool) -> Result<()> {
    let failed: Vec<&str> = done.iter().filter(|step| step.failed).map(|step| step.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    if is_ci && !skipped.is_empty() {
        let missing: Vec<&str> = skipped.iter().map(|need| need.binary).collect();
        bail!("with CI=true nothing may be skipped, and `{}` is missing", missing.join("`, `"));
    }
    Ok(())
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn check_format(root: &Path) -> Result<()> {
    workspace::run(cargo(root).args(["fmt", "--all", "--check"]))?;
    // rustfmt does not see the modules that the list of findings makes.
    let folder = root.join("crates/analysis/src/findings");
    let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    workspace::run(Command::new("rustfmt").args(["--edition", "2024", "--check"]).args(files).current_dir(root))
}

/// Clippy compiles what the tests and the reference need.
fn run_clippy(root: &Path, feature_options: &[String]) -> Result<()> {
    match test_programs::build(root, ALL, feature_options)?.warnings {
        0 => Ok(()),
        warnings => bail!("{warnings} warnings"),
    }
}

fn check_reference(root: &Path) -> Result<()> {
    docs::check_reference(root, &test_programs::build(root, BINARY, &[])?.plimsoll)
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEED: Need = Need { binary: "tool", package: "tools", what_for: "a thing is checked" };

    fn done(failed: bool) -> StepResult {
        StepResult { name: "tidy", time: Duration::from_millis(1_240), failed, notes: Vec::new() }
    }

    #[test]
    fn a_step_is_told_in_one_line_with_its_time() {
        assert_eq!(done(false).summary_line(), "tidy     ok     1.2 s");
        assert_eq!(done(true).summary_line(), "tidy     FAILED 1.2 s");
    }

    #[test]
    fn failed_steps_are_named() {
        assert!(judge_steps(&[done(false)], &[], true).is_ok());
        assert_eq!(judge_steps(&[done(false), done(true)], &[], false).unwrap_err().to_string(), "failed: tidy");
    }

    #[test]
    fn a_skip_is_named_and_is_a_failure_in_ci_only() {
        assert!(skip_line(&NEED).starts_with("skipped: a thing is checked, because `tool` is not there"));
        assert!(judge_steps(&[done(false)], &[&NEED], false).is_ok());
        assert!(judge_steps(&[done(false)], &[&NEED], true).unwrap_err().to_string().contains("`tool` is missing"));
    }

    #[test]
    fn a_feature_is_one_of_the_binary_s_and_needs_a_compiler_beside_all_else() {
        let with = |features: &[&str]| TestArguments {
            only: Vec::new(),
            features: features.iter().map(|name| name.to_string()).collect(),
        };
        assert_eq!(with(&["rocksdb"]).feature_options(), ["--features=plimsoll/rocksdb"]);
        assert_eq!((with(&[]).feature_options().len(), with(&[]).program_needs()), (0, needs::TEST_NEEDS));
        let needs_programs =
            |features: &[&str]| ["fmt", "clippy", "test"].map(|step| with(features).needs_programs_for(step));
        assert_eq!([needs_programs(&[]), needs_programs(&["rocksdb"])], [[false, false, true], [false, true, true]]);
        let needed: Vec<&str> = with(&["rocksdb"]).program_needs().iter().map(|need| need.binary).collect();
        assert!(["g++", "libclang.so", "sqlite3"].iter().all(|binary| needed.contains(binary)), "{needed:?}");
    }

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
    }
}
