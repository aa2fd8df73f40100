//! Why a run was not measured, or not to its end.
//!
//! In: the errors of every crate that measures, and the reasons why a load ended early. Out: one line for people, and the state of
//! the point that was being measured. Limits: it knows no exit codes; these are the caller's part.

use bus::BusError;
use host::TargetError;
use load::StopReason;
use model::{Nanos, PointState};
use plan::PlanError;
use store::StoreError;
use thiserror::Error;

/// Why a run was not measured, or not to its end.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// The plan or the run asks for something that cannot be done.
    #[error("{0}")]
    Unsupported(String),
    /// Going on could harm other measurements or data that is not plimsoll's.
    #[error("{0}")]
    Unsafe(String),
    /// The plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The engine or the host cannot do what was asked, or failed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The run file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run file could not be written any more while a point was measured.
    #[error("{error}; the phase `{phase}` was not recorded from second {} on", second_text(*.end))]
    Unrecorded {
        /// The reason why it could not be written.
        error: Box<StoreError>,
        /// The phase that was not recorded whole.
        phase: &'static str,
        /// When nothing more was recorded, since the phase began.
        end: Nanos,
    },
    /// The bus between hosts cannot be used.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// One of several hosts is not there any more.
    #[error("{0}")]
    HostLost(String),
    /// The load ended early because it was asked to.
    #[error("{}", stop_text(*.0))]
    Stopped(StopReason),
    /// The user ended the run while it waited for a server. One line: the server, and what was left there.
    #[error("{0}")]
    Interrupted(String),
    /// An operation, a client or the engine failed while it was measured.
    #[error("{text}")]
    Failed {
        /// One line: what failed.
        text: String,
        /// Whether clients were still blocked: then nothing else is tried that may block in the same way.
        blocked: bool,
    },
}

impl RunnerError {
    /// The engine failed while it was measured, and no client is blocked.
    pub fn failed(text: impl Into<String>) -> RunnerError {
        RunnerError::Failed { text: text.into(), blocked: false }
    }

    /// The same error, with the one by which the data could not be removed after it.
    pub fn with_second(self, left: &RunnerError) -> RunnerError {
        let with = |first: &dyn std::fmt::Display| format!("{first}; the data could not be removed: {left}");
        match self {
            RunnerError::Unsupported(text) => RunnerError::Unsupported(with(&text)),
            RunnerError::Unsafe(text) => RunnerError::Unsafe(with(&text)),
            RunnerError::Target(TargetError::Unsupported(text)) => RunnerError::Unsupported(with(&text)),
            RunnerError::Target(TargetError::Unsafe(text)) => RunnerError::Unsafe(with(&text)),
            RunnerError::Stopped(StopReason::Interrupted) | RunnerError::Interrupted(_) => {
                RunnerError::Interrupted(with(&self))
            }
            // What broke plimsoll's own files matters more than what was left.
            RunnerError::Plan(_) | RunnerError::Store(_) | RunnerError::Unrecorded { .. } | RunnerError::Bus(_) => self,
            RunnerError::HostLost(text) => RunnerError::HostLost(with(&text)),
            RunnerError::Failed { text, blocked } => RunnerError::Failed { text: with(&text), blocked },
            RunnerError::Target(TargetError::Failed(_)) | RunnerError::Stopped(_) => RunnerError::failed(with(&self)),
        }
    }

    /// The state of the point that was measured when this happened.
    pub fn point_state(&self) -> PointState {
        match self {
            RunnerError::Failed { .. }
            | RunnerError::Target(TargetError::Failed(_))
            | RunnerError::Stopped(StopReason::Failure) => PointState::Failed,
            _ => PointState::Partial,
        }
    }

    /// Whether the user skipped the point, so that the run goes on.
    pub fn is_skip(&self) -> bool {
        matches!(self, RunnerError::Stopped(StopReason::Skipped))
    }

    /// Whether a point failed, or was refused, in a way that leaves other points possible, on one host or on several. A host that is lost is
    /// missing at the other points, too.
    pub fn is_of_one_point(&self) -> bool {
        let is_refusal = matches!(self, RunnerError::Target(TargetError::Unsupported(_)));
        !self.is_blocked() && (is_refusal || self.point_state() == PointState::Failed)
    }

    /// Whether clients were still blocked when it happened.
    pub fn is_blocked(&self) -> bool {
        matches!(self, RunnerError::Failed { blocked: true, .. })
    }
}

/// `12`; below a second `0.38`, since a phase that was recorded at all was not lost from its beginning on.
fn second_text(end: Nanos) -> String {
    let seconds = end.0 as f64 / 1e9;
    if end.0 == 0 || seconds >= 1.0 { (seconds as u64).to_string() } else { format!("{:.2}", seconds.max(0.01)) }
}

fn stop_text(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Interrupted => "interrupted; what was measured is kept",
        StopReason::Failure => "the engine failed; what was measured is kept",
        StopReason::Limit => {
            "stopped because the disk was nearly full; what was measured is kept; free some space or use a larger disk"
        }
        StopReason::Skipped => "skipped at your request; what was measured is kept",
        StopReason::Unrecorded => "stopped because the run file cannot be written any more; what was recorded is kept",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_of_less_than_a_second_is_told_in_fractions() {
        let told = |milliseconds: u64| second_text(Nanos::from_millis(milliseconds));
        assert_eq!([0, 3, 380, 1_900, 12_000].map(told), ["0", "0.01", "0.38", "1", "12"]);
    }

    #[test]
    fn an_engine_that_failed_fails_its_point_and_an_interruption_leaves_it_partial() {
        let failed = [
            RunnerError::failed("disk I/O error"),
            RunnerError::Target(TargetError::Failed("disk I/O error".into())),
            RunnerError::Stopped(StopReason::Failure),
        ];
        assert!(failed.iter().all(|error| error.point_state() == PointState::Failed && !error.is_blocked()));
        assert!(failed.iter().all(RunnerError::is_of_one_point));
        let partial = [
            RunnerError::Stopped(StopReason::Interrupted),
            RunnerError::Stopped(StopReason::Limit),
            RunnerError::Stopped(StopReason::Skipped),
            RunnerError::Target(TargetError::Unsafe("not ours".into())),
        ];
        assert!(partial.iter().all(|error| error.point_state() == PointState::Partial && !error.is_of_one_point()));
        let blocked = RunnerError::Failed { text: "blocked".into(), blocked: true };
        assert!(blocked.is_blocked() && !blocked.is_of_one_point());
    }
}
