//! What a fault is, and how a promise about it is checked.

use crate::lab::{Finished, Lab};
use std::process::{Child, Command};

/// If this variable is set, a fault that cannot be made is a failure.
const ALL_FAULTS: &str = "PLIMSOLL_ALL_FAULTS";

/// Faults of one kind.
pub struct Family {
    /// The name of the file, and of the section of the page.
    pub name: &'static str,
    /// What its faults have in common, in a sentence.
    pub about: &'static str,
    pub faults: &'static [Fault],
}

/// A fault that another test makes: one inside a crate, if nothing outside of plimsoll can make it, or one that needs what the other
/// test has.
pub struct FaultElsewhere {
    /// What happens, as a row of the page begins.
    pub what: &'static str,
    /// What plimsoll does then, as a row of the page ends.
    pub then: &'static str,
    /// The file of the test, from the root of the repository.
    pub file: &'static str,
    /// The name of the test's function. It must be there.
    pub test: &'static str,
}

/// One fault, and what plimsoll promises if it happens.
pub struct Fault {
    /// The name of the test.
    pub name: &'static str,
    /// What happens, as a row of the page begins: "The disk fills during a run".
    pub what: &'static str,
    pub exit: i32,
    /// A part of what plimsoll prints: the cause in its words.
    pub message: &'static str,
    pub kept: Kept,
    pub length: Length,
    /// Makes the fault, and returns how plimsoll ended. `None` if this machine cannot make it (no root, no such program).
    pub make: fn(&Lab) -> Option<Finished>,
}

/// What is there afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// plimsoll refused before it wrote anything: there is no run file.
    NothingBegun,
    /// A run file that opens, with what was measured until then. No point of it is valid that did not end as planned.
    MeasuredUntilThen,
    /// The run is whole: plimsoll survived the fault.
    All,
    /// The command makes no run.
    NoRun,
}

/// How long it takes to make the fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Seconds: a test.
    Short,
    /// Longer: only in the soak.
    Long,
}

impl Fault {
    /// Makes the fault and checks what is promised.
    pub fn check(&self) {
        let lab = Lab::new();
        let Some(finished) = (self.make)(&lab) else {
            assert!(std::env::var_os(ALL_FAULTS).is_none(), "{} cannot be made on this machine", self.name);
            return eprintln!("skipped: {} cannot be made on this machine", self.name);
        };
        let said = format!("{}\n{}", finished.stderr, finished.stdout);
        assert_eq!(finished.exit, self.exit, "{said}");
        assert!(said.contains(self.message), "`{}` is not in: {said}", self.message);
        assert!(!said.contains("panicked"), "{said}");
        self.check_kept(&lab);
    }

    fn check_kept(&self, lab: &Lab) {
        let files = lab.run_files();
        match self.kept {
            Kept::NothingBegun => assert!(files.is_empty(), "{files:?}"),
            Kept::NoRun => {}
            Kept::MeasuredUntilThen | Kept::All => {
                let newest = files.last().expect("there is a run file");
                let shown = lab.run(&["show", newest.to_str().unwrap(), "--json"]);
                assert_eq!(shown.exit, 0, "{}", shown.stderr);
                let run = shown.json();
                assert_eq!(run["state"] == "complete", self.kept == Kept::All, "the run is {}", run["state"]);
                for point in run["points"].as_array().expect("a run has points") {
                    assert!(point["state"] == "complete" || point["validity"] != "valid", "{point}");
                }
            }
        }
    }
}

impl Kept {
    /// The cell of the page.
    pub fn phrase(self) -> &'static str {
        match self {
            Kept::NothingBegun => "nothing was begun",
            Kept::MeasuredUntilThen => "what was measured until then",
            Kept::All => "the whole run",
            Kept::NoRun => "-",
        }
    }
}

/// Sends the child the signal of that name: `INT`.
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}
