//! How plimsoll ends: the exit codes, and the faults that lead to them.
//!
//! In: the errors of every crate. Out: an [`Exit`] and one line for people. Limits: the codes are a promise to scripts.

use crate::signals;
use analysis::{Analysis, Validity};
use bus::BusError;
use host::TargetError;
use import::ImportError;
use load::StopReason;
use plan::PlanError;
use report::ReportError;
use runner::RunnerError;
use std::io::ErrorKind;
use std::process::ExitCode;
use store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// What was asked was done.
    Done,
    /// A bug or a system that broke under plimsoll itself.
    Internal,
    /// The command line or the plan is wrong.
    Usage,
    /// To continue could have harmed data that is not plimsoll's, or filled the disk.
    Refused,
    /// The engine failed; what was measured is kept.
    TargetFailed,
    /// Measured, but a point is invalid, or a search found no rate (with `--strict`).
    Invalid,
    /// Compared, and the new one is slower than `--fail-below` allows, lost its repeats, or answers differently.
    Slower,
    /// Compared, and `--fail-below` cannot be decided.
    Undecided,
    /// Ended by Ctrl-C; what was measured is kept.
    Interrupted,
    /// Ended by SIGTERM; what was measured is kept.
    Terminated,
}

/// Every exit code with its meaning, for the reference.
pub const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "success"),
    (Exit::Internal, "internal error: a bug, or an operating-system error that is not part of the measurement"),
    (Exit::Usage, "the command line or the plan is wrong"),
    (
        Exit::Refused,
        "refused: a directory, file or device cannot be used, or cannot be used safely, or the disk would fill up; nothing was written",
    ),
    (
        Exit::TargetFailed,
        "the engine failed or could not be reached, or a limit such as the free disk space ended the run; points that were measured are kept",
    ),
    (Exit::Invalid, "measured, but a point is invalid, or a search found no rate (only with --strict)"),
    (
        Exit::Slower,
        "compared, and slower than --fail-below allows, or repeats were lost, or statements answer differently",
    ),
    (
        Exit::Undecided,
        "compared, and --fail-below is not decided: too few pairs, unlike durability, or nothing that both runs measured",
    ),
    (Exit::Interrupted, "interrupted by Ctrl-C; points that were measured are kept"),
    (Exit::Terminated, "terminated by SIGTERM; points that were measured are kept"),
];

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::TargetFailed => 4,
            Exit::Invalid => 5,
            Exit::Slower => 10,
            Exit::Undecided => 11,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// How a run that measured everything ends.
    pub fn of_analysis(analysis: &Analysis, strict: bool) -> Exit {
        let is_invalid = analysis.points.iter().any(|point| point.validity == Validity::Invalid);
        let has_no_rate = analysis.searches.iter().any(|search| search.result.per_s.is_none());
        if strict && (is_invalid || has_no_rate) { Exit::Invalid } else { Exit::Done }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Fault {
    pub exit: Exit,
    /// One line: what happened, the value, what to do.
    pub text: String,
    /// Whether stdout already has the result with this fault in it.
    pub reported: bool,
}

impl Fault {
    /// A fault that ends with `exit`.
    pub fn new(exit: Exit, text: impl Into<String>) -> Fault {
        // Libraries quote errors of the system with their numbers.
        Fault { exit, text: model::system_error::without_number(&text.into()), reported: false }
    }

    /// The engine failed while it was measured.
    pub fn of_target(text: impl Into<String>) -> Fault {
        Fault::new(Exit::TargetFailed, text)
    }

    /// The command line or an argument is wrong.
    pub fn usage(text: impl Into<String>) -> Fault {
        Fault::new(Exit::Usage, text)
    }
}

impl From<RunnerError> for Fault {
    fn from(error: RunnerError) -> Fault {
        match error {
            RunnerError::Unsupported(text) => Fault::usage(text),
            RunnerError::Unsafe(text) => Fault::new(Exit::Refused, text),
            RunnerError::Plan(error) => error.into(),
            RunnerError::Target(error) => error.into(),
            RunnerError::Store(error) => error.into(),
            RunnerError::Bus(error) => error.into(),
            RunnerError::HostLost(text) => Fault::of_target(text),
            RunnerError::Interrupted(text) => Fault::new(signals::exit(), text),
            RunnerError::Stopped(StopReason::Interrupted) => Fault::new(signals::exit(), error.to_string()),
            RunnerError::Stopped(_) | RunnerError::Failed { .. } | RunnerError::Unrecorded { .. } => {
                Fault::of_target(error.to_string())
            }
        }
    }
}

impl From<BusError> for Fault {
    fn from(error: BusError) -> Fault {
        match error {
            BusError::Usage(text) => Fault::usage(text),
            BusError::Taken(text) | BusError::Foreign(text) => Fault::new(Exit::Refused, text),
            BusError::Away(text) | BusError::Refused(text) => Fault::of_target(text),
        }
    }
}

impl From<PlanError> for Fault {
    fn from(error: PlanError) -> Fault {
        Fault::usage(error.to_string())
    }
}

impl From<TargetError> for Fault {
    fn from(error: TargetError) -> Fault {
        match error {
            TargetError::Unsupported(text) => Fault::usage(text),
            TargetError::Unsafe(text) => Fault::new(Exit::Refused, text),
            TargetError::Failed(text) => Fault::of_target(text),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        let exit = match &error {
            StoreError::Exists { .. } | StoreError::InUse { .. } => Exit::Refused,
            StoreError::NotARun { .. } | StoreError::UnknownFormat { .. } | StoreError::Damaged { .. } => Exit::Usage,
            StoreError::Full { .. } | StoreError::Gone { .. } => Exit::TargetFailed,
            StoreError::Unwritable { .. } | StoreError::NotCreated { .. } | StoreError::Unfit { .. } => Exit::Refused,
            StoreError::Io { cause, .. } if cause.kind() == ErrorKind::NotFound => Exit::Usage,
            StoreError::Io { cause, .. } if cause.kind() == ErrorKind::PermissionDenied => Exit::Refused,
            StoreError::Io { .. } | StoreError::Sqlite { .. } => Exit::Internal,
        };
        Fault::new(exit, error.to_string())
    }
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Fault {
        match error {
            ImportError::Store(error) => error.into(),
            ImportError::Directory { .. } => Fault::new(Exit::Refused, error.to_string()),
            _ => Fault::usage(error.to_string()),
        }
    }
}

impl From<ReportError> for Fault {
    fn from(error: ReportError) -> Fault {
        let exit = match &error {
            ReportError::Write { reason, .. } if names_no_directory(reason) => Exit::Refused,
            ReportError::Write { reason, .. } if reason.kind() == ErrorKind::PermissionDenied => Exit::Refused,
            ReportError::Foreign { .. } | ReportError::ForeignFile { .. } | ReportError::Link { .. } => Exit::Refused,
            _ => Exit::Internal,
        };
        Fault::new(exit, error.to_string())
    }
}

fn names_no_directory(reason: &std::io::Error) -> bool {
    matches!(reason.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_a_run_have_the_codes_that_scripts_rely_on() {
        let code = |error: RunnerError| Fault::from(error).exit.code();
        let codes = [
            code(RunnerError::Unsupported("step".into())),
            code(RunnerError::Unsafe("in use".into())),
            code(RunnerError::Target(TargetError::Unsafe("not ours".into()))),
            code(RunnerError::failed("disk I/O error")),
            code(RunnerError::Stopped(StopReason::Limit)),
            code(RunnerError::Stopped(StopReason::Unrecorded)),
        ];
        assert_eq!(codes, [2, 3, 3, 4, 4, 4]);
    }
}
