//! How plimsoll ends: the exit codes, and the faults that lead to them.
//!
//! In: the errors of every crate. Out: an [`Exit`] and one line for people. Limits: the codes are a promise to scripts.

use analysis::Validity;
use host::TargetError;
use load::StopReason;
use model::PointState;
use plan::PlanError;
use report::ReportError;
use std::io::ErrorKind;
use std::process::ExitCode;
use store::StoreError;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// What was asked was done.
    Done,
    /// A bug or a system that broke under plimsoll itself.
    Internal,
    /// The command line or the plan is wrong.
    Usage,
    /// Going on could have harmed data that is not plimsoll's, or filled the disk.
    Refused,
    /// The target failed; what was measured is kept.
    TargetFailed,
    /// Measured, but a point is invalid (with `--strict`).
    Invalid,
    /// Ended by Ctrl-C; what was measured is kept.
    Interrupted,
    /// Ended by SIGTERM; what was measured is kept.
    Terminated,
}

/// Every exit code with its meaning, for the reference.
pub const EXITS: &[(Exit, &str)] = &[
    (Exit::Done, "what was asked was done"),
    (Exit::Internal, "internal error: a bug, or the system broke under plimsoll itself"),
    (Exit::Usage, "the command line or the plan is wrong"),
    (Exit::Refused, "refused for safety: other people's data, or a disk that would fill up; nothing was written"),
    (Exit::TargetFailed, "the target failed; what was measured is kept and marked"),
    (Exit::Invalid, "measured, but a point is invalid (only with --strict)"),
    (Exit::Interrupted, "interrupted by Ctrl-C; what was measured is kept"),
    (Exit::Terminated, "terminated; what was measured is kept"),
];

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::TargetFailed => 4,
            Exit::Invalid => 5,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// How a run that measured everything ends.
    pub fn of_validity(worst: Option<Validity>, strict: bool) -> Exit {
        if strict && worst == Some(Validity::Invalid) { Exit::Invalid } else { Exit::Done }
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
    /// The exit code.
    pub exit: Exit,
    /// One line: what happened, the value, what to do.
    pub text: String,
    /// Whether stdout has the JSON that tells of it already.
    pub told: bool,
    /// What it makes of the point that was being measured.
    pub state: PointState,
    /// Whether clients were still blocked: nothing that may block in the same way is to be tried after it.
    pub blocked: bool,
}

impl Fault {
    /// A fault that ends with `exit`.
    pub fn new(exit: Exit, text: impl Into<String>) -> Fault {
        Fault { exit, text: text.into(), told: false, state: PointState::Partial, blocked: false }
    }

    /// The target failed while it was measured.
    pub fn of_target(text: impl Into<String>) -> Fault {
        Fault { state: PointState::Failed, ..Fault::new(Exit::TargetFailed, text) }
    }

    /// The command line or an argument is wrong.
    pub fn usage(text: impl Into<String>) -> Fault {
        Fault::new(Exit::Usage, text)
    }

    /// The load was told to stop.
    pub fn stopped(reason: StopReason) -> Fault {
        match reason {
            StopReason::Interrupted => Fault::new(measure_exit(), "interrupted; what was measured is kept"),
            StopReason::Failure => Fault::of_target("the target failed; what was measured is kept"),
            StopReason::Limit => {
                let text =
                    "stopped before the disk was full: others fill it, too, or it is small; what was measured is kept";
                Fault::new(Exit::TargetFailed, text)
            }
            StopReason::Unrecorded => Fault::new(Exit::TargetFailed, "the run file cannot be written to any more"),
        }
    }
}

fn measure_exit() -> Exit {
    crate::measure::signals::exit()
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
            StoreError::NotARun { .. } | StoreError::Newer { .. } | StoreError::Damaged { .. } => Exit::Usage,
            StoreError::Full { .. } => Exit::TargetFailed,
            StoreError::Unwritable { .. } => Exit::Refused,
            StoreError::Io { cause, .. } if cause.kind() == ErrorKind::NotFound => Exit::Usage,
            StoreError::Io { cause, .. } if cause.kind() == ErrorKind::PermissionDenied => Exit::Refused,
            StoreError::Io { .. } | StoreError::Sqlite { .. } => Exit::Internal,
        };
        Fault::new(exit, error.to_string())
    }
}

impl From<ReportError> for Fault {
    fn from(error: ReportError) -> Fault {
        let exit = match &error {
            ReportError::Write { reason, .. } if names_no_directory(reason) => Exit::Usage,
            ReportError::Write { reason, .. } if reason.kind() == ErrorKind::PermissionDenied => Exit::Refused,
            ReportError::Foreign { .. } => Exit::Refused,
            _ => Exit::Internal,
        };
        Fault::new(exit, error.to_string())
    }
}

fn names_no_directory(reason: &std::io::Error) -> bool {
    matches!(reason.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::NotFound)
}
