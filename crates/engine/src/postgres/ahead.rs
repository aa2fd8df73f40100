//! Which trials can send operations to PostgreSQL before it has answered those before them.
//!
//! In: a trial with its depth. Out: nothing, or why not and what to use instead. Limits: a URL, and whether it is of several endpoints, is
//! looked at elsewhere.

use crate::sql::program_of;
use crate::sql::session_options::{
    ClientThreads, ConnectionLifetime, StatementMode, check_threads, client_threads, connection_lifetime,
    statement_mode,
};
use host::error::TargetError;
use model::Trial;
use workload::{SequenceState, SqlWork};

/// Refuses a trial whose clients cannot send operations before others are answered, if they are to.
pub fn check_trial(trial: &Trial) -> Result<(), TargetError> {
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
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(format!(
        "depth = `{depth}` is of operations that are sent before others are answered: {why}"
    )))
}

/// Whether a client can send its operations without an answer to those before.
fn is_known_before(trial: &Trial) -> bool {
    let program = program_of(trial, &SequenceState::default());
    program.work == SqlWork::Calls && !program.needs_answers
}
