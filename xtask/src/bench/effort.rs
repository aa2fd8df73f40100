//! How much a bench measures, and what one run costs.
//!
//! In: the options of the command line. Out: rounds, seconds and cases. Limits: knows no bench.

use std::path::PathBuf;

/// What is measured, and how much.
pub struct Effort {
    /// The cases by name; none for all.
    pub cases: Vec<String>,
    pub rounds: Option<u32>,
    pub seconds: Option<u32>,
    /// Rows of each load.
    pub rows: Option<u64>,
    /// Another binary of plimsoll to compare with.
    pub older: Option<PathBuf>,
    /// The binary of plimsoll, in place of the release build.
    pub binary: Option<PathBuf>,
    pub quick: bool,
}

impl Effort {
    /// How many rounds of A B B A.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 4 })
    }

    /// How long each run is, unless the command line has a length.
    pub fn seconds(&self, usually: u32, quick: u32) -> u32 {
        self.seconds.unwrap_or(if self.quick { quick } else { usually })
    }

    /// Whether the case `name` is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|case| case == name)
    }

    /// Whether any of several cases is to be measured.
    pub fn wants_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.wants(name))
    }
}

/// What one run of a program did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoCost {
    /// I/Os done in a second.
    pub per_s: f64,
    /// CPU of the generator's thread per I/O.
    pub thread_ns: f64,
    /// The part of it outside of the kernel.
    pub user_ns: f64,
    /// CPU of the whole process per I/O, with its start and its end.
    pub process_ns: f64,
}
