//! Makes the clients that replay a log on an existing SQL server.
//!
//! In: the trial, the log that it names. Out: its clients, and what is told of them. Limits: a server that may be the recorded one is refused
//! before anything is sent, and before it is restored.

use super::{SqlServer, SqlServerInstance};
use crate::engine::WorkloadClients;
use crate::recordings::{self, ReplayedLog};
use crate::sql::admin_connection::AdminConnection;
use crate::sql::replay_clients::replay_clients;
use crate::sql::session_options::{ClientThreads, SessionOptions, client_threads};
use crate::sql::{replay, replay_copy};
use host::error::TargetError;
use model::Trial;
use std::sync::Arc;

impl<S: SqlServer> SqlServerInstance<S> {
    /// The clients that replay a log, if this is a server to replay it on.
    pub(super) fn make_replaying_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        if self.location.is_private() {
            return Err(TargetError::Unsupported(replay::NEEDS_COPY.to_owned()));
        }
        let endpoints = self.endpoints.as_ref().map_or(1, |endpoints| endpoints.addresses().count());
        check_way(trial, endpoints, self.options.threads)?;
        let mut admin = self.admin.borrow_mut();
        let params = &trial.workload.params;
        let log = log_for::<S>(&self.server, trial, &self.address, &mut admin)?;
        replay_copy::check_schemas::<S>(&log, params, &mut admin)?;
        let whole = replay::judged_recording::<S>(&log, params, &self.address, &mut admin)?;
        let made_columns = replay::made_columns::<S>(&whole, params, &self.address, &mut admin)?;
        let recording = replay::copied_recording(&whole, trial)?;
        let keys = replay::moving_keys::<S>(&recording, params, &self.address, &mut admin)?;
        let worked = if replay::makes_ids(&recording, &keys) {
            replay::worked_ids::<S>(&log, params, &self.address, &mut admin)?
        } else {
            None
        };
        drop(admin);
        self.replay_facts = replay::facts(&recording);
        self.replayed_ops = Some(recording.len());
        let (open, identity) = (self.open.clone(), self.identity.clone());
        let options = SessionOptions { open, identity, ..self.options.clone() };
        let (clients, tally) =
            replay_clients::<S>(&recording, trial, &self.client_address, &options, made_columns, worked, keys)?;
        self.replay_tally = Some(tally);
        self.replay_plans = replay::plans_of(&recording, trial)?;
        Ok(clients)
    }
}

/// Refuses to restore the server that `trial` names, if its log is not to be replayed there: it would be overwritten before it is refused. Whether
/// the schemas of the log are there is not asked, because the restore may bring them.
pub fn check_before_restore<S: SqlServer>(server: &S, trial: &Trial) -> Result<(), TargetError> {
    check_way(trial, S::external_endpoints(trial)?.len(), client_threads(trial))?;
    let (address, mut admin) = S::reach_external(trial).map_err(of_unknown_server)?;
    log_for::<S>(server, trial, &address, &mut admin).map(drop)
}

/// The error of a server that does not answer: it may be the recorded one all the same.
fn of_unknown_server(error: TargetError) -> TargetError {
    match error {
        TargetError::Failed(text) => TargetError::Failed(format!(
            "{text}; --restore runs once the server has shown that it is not the recorded one: start it first"
        )),
        refused => refused,
    }
}

fn check_way(trial: &Trial, endpoints: usize, threads: ClientThreads) -> Result<(), TargetError> {
    if trial.share.is_some() || endpoints > 1 || threads != ClientThreads::Each {
        let text = "workload `replay-sql` has one host, one endpoint, and a thread for each client";
        return Err(TargetError::Unsupported(text.to_owned()));
    }
    Ok(())
}

/// The log of `trial`, if it can be replayed on the server behind `admin`, which is not the recorded one.
fn log_for<S: SqlServer>(
    server: &S,
    trial: &Trial,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<Arc<ReplayedLog>, TargetError> {
    let data_dir = admin.query_value(server.spec().data_dir).ok().flatten();
    replay_copy::check_writes_elsewhere::<S>(recordings::path_of(trial), admin, data_dir.as_deref())?;
    let log = recordings::log_of(trial)?;
    let params = &trial.workload.params;
    replay::check_comparable(params)?;
    replay_copy::check_server::<S>(server, &log, params, address, admin)?;
    Ok(log)
}
