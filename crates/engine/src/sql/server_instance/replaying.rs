//! Makes the clients that replay a log on an existing SQL server.
//!
//! In: the trial, the log that it names. Out: its clients, and what is told of them. Limits: a server that may be the recorded one is refused
//! before anything is sent.

use super::{SqlServer, SqlServerInstance};
use crate::engine::WorkloadClients;
use crate::recordings;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::replay_clients::replay_clients;
use crate::sql::session_options::{ClientThreads, SessionOptions};
use crate::sql::{replay, replay_copy};
use host::error::TargetError;
use model::Trial;

impl<S: SqlServer> SqlServerInstance<S> {
    /// The clients that replay a log, if this is a server to replay it on.
    pub(super) fn make_replaying_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        if self.location.is_private() {
            return Err(TargetError::Unsupported(replay::NEEDS_COPY.to_owned()));
        }
        if trial.share.is_some() || self.endpoints.is_some() || self.options.threads != ClientThreads::Each {
            let text = "workload `replay-sql` has one host, one endpoint, and a thread for each client";
            return Err(TargetError::Unsupported(text.to_owned()));
        }
        let mut admin = self.admin.borrow_mut();
        let data_dir = admin.query_value(self.server.spec().data_dir).ok().flatten();
        let path = recordings::path_of(trial);
        replay_copy::check_writes_elsewhere::<S>(path, &mut admin, data_dir.as_deref())?;
        let log = recordings::log_of(trial)?;
        let params = &trial.workload.params;
        replay::check_comparable(params)?;
        replay_copy::check_server(&self.server, &log, params, &self.address, &mut admin)?;
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
