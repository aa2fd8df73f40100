//! Which trials can send operations to a server before it has answered those before them.
//!
//! In: a trial with its depth, and what the server does after a statement that failed. Out: nothing, or why not and what to use instead.
//! Limits: a URL, and whether it is of several endpoints, is looked at elsewhere.

use crate::sql::program_of;
use crate::sql::session_options::{
    ClientThreads, ConnectionLifetime, StatementMode, check_threads, client_threads, connection_lifetime,
    statement_mode,
};
use host::error::TargetError;
use model::{SqlOp, Trial};
use workload::{ClientIndex, SequenceState, SqlWork};

/// What a server does with what was sent behind a statement that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// PostgreSQL leaves out everything up to the next Sync, which is behind a transaction.
    LeavesOut,
    /// MariaDB performs it, so that half of a transaction would be committed.
    GoesOn,
}

/// Why a server that goes on gets no transactions.
pub const NO_TRANSACTION_AHEAD: &str =
    "a transaction is not sent ahead: the server would go on after a statement that failed, and commit half of it";

/// Refuses a trial whose clients cannot send operations before others are answered, if they are to.
pub fn check_trial(trial: &Trial, after_failure: AfterFailure) -> Result<(), TargetError> {
    check_threads(trial)?;
    let (depth, params) = (trial.load.depth, &trial.target.params);
    let why = match depth {
        1 => return Ok(()),
        _ if client_threads(trial) != ClientThreads::Each => {
            "each client needs a thread of its own; leave out `threads`"
        }
        _ if statement_mode(params) == StatementMode::Plain => {
            "only prepared statements can be; use statements = `prepared`"
        }
        _ if connection_lifetime(params) == ConnectionLifetime::PerTransaction => {
            "their connection must stay; use connection = `kept`"
        }
        _ if crate::connect::is_connecting(trial) || !is_known_before(trial) => {
            "the clients of this workload wait for answers; use depth = `1`"
        }
        _ if after_failure == AfterFailure::GoesOn && has_transactions(trial) => {
            "the server goes on after a statement that failed, and would commit half of a transaction; use transaction = `false` or depth = `1`"
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(format!(
        "depth = `{depth}` is of operations that are sent before others are answered: {why}"
    )))
}

/// Whether there is a transaction among the first operations of a client.
fn has_transactions(trial: &Trial) -> bool {
    let program = program_of(trial, &SequenceState::default());
    let mut ops = vec![SqlOp::default(); 64];
    (program.run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
    ops.iter().any(|op| op.transaction)
}

/// Whether a client can send its operations without an answer to those before.
fn is_known_before(trial: &Trial) -> bool {
    let program = program_of(trial, &SequenceState::default());
    program.work == SqlWork::Calls && !program.needs_answers
}
