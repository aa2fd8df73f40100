//! Data on a server that the hosts of a run share: marked and sealed by the host that makes it, checked by those that join it.
//!
//! In: the marker of the schema, the tables as they are now. Out: what identifies the data, and how far the rows of all hosts have come.
//! Limits: rows are looked up when the clients of a step are made. No host may begin a step before all have made theirs: the hosts would
//! count from different rows.

use super::{SqlServer, SqlServerInstance};
use crate::engine::{StartContext, workload_of};
use crate::server::location::DataLocation;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::common_data::{
    DataSeal, check_marker, marker_query, new_token, seal_in, seal_statements, token_statement,
};
use crate::sql::program_of;
use host::error::TargetError;
use model::{CommonData, Trial};
use workload::DataReuse;

/// Whose a schema is, and who uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommonSchema {
    /// This host made it, and no other uses it.
    NotShared,
    /// This host made it, and others use it.
    Shared(CommonData),
    /// Another host made it.
    Joined(CommonData),
}

impl CommonSchema {
    /// As an instance begins with it.
    pub(super) fn from_start(start: &StartContext) -> CommonSchema {
        start.joins.map_or(CommonSchema::NotShared, |common| CommonSchema::Joined(common.clone()))
    }

    /// Whether another host made it.
    pub(super) fn is_joined(&self) -> bool {
        matches!(self, CommonSchema::Joined(_))
    }
}

impl<S: SqlServer> SqlServerInstance<S> {
    /// Marks the schema as that of all hosts of this run; `None` of a private server, which no other host can reach.
    pub(super) fn mark_shared(&mut self) -> Result<Option<CommonData>, TargetError> {
        let DataLocation::External(external) = &self.location else { return Ok(None) };
        match &self.common {
            CommonSchema::Shared(common) | CommonSchema::Joined(common) => Ok(Some(common.clone())),
            CommonSchema::NotShared if !self.found_facts.is_empty() => Err(TargetError::Unsupported(
                "tables that are there already are measured from one host; use one host, or let plimsoll make the tables".to_owned(),
            )),
            CommonSchema::NotShared => {
                let common = CommonData { schema: external.name.clone(), token: new_token() };
                self.set_up(&token_statement(&common.token))?;
                self.common = CommonSchema::Shared(common.clone());
                Ok(Some(common))
            }
        }
    }

    /// Writes into the marker what the data is, for the hosts that use it.
    pub(super) fn write_seal(&self, rows: u64) -> Result<(), TargetError> {
        match self.common {
            CommonSchema::Shared(_) => {
                let statements = seal_statements(&self.seal_of(rows));
                statements.iter().try_for_each(|statement| self.set_up(statement))
            }
            CommonSchema::NotShared | CommonSchema::Joined(_) => Ok(()),
        }
    }

    /// The rows of the data of another host, if it is complete and what this host expects.
    pub(super) fn read_seal(&self, common: &CommonData) -> Result<u64, TargetError> {
        let question = marker_query(&S::quote_name(&common.schema));
        let marker = self.admin.borrow_mut().query_rows(&question).map_err(|failure| self.admin_error(failure))?;
        let server = S::display_name(&self.address);
        check_marker(server, common, Some(&marker))?;
        let refused = |why| TargetError::Unsafe(format!("{server}: the data in schema `{}` {why}", common.schema));
        let seal = seal_in(&marker).ok_or_else(|| refused("is not complete"))?;
        if seal == self.seal_of(seal.rows) {
            Ok(seal.rows)
        } else {
            Err(refused("was made for another trial, or by another version of plimsoll"))
        }
    }

    fn seal_of(&self, rows: u64) -> DataSeal {
        DataSeal { rows, seed: self.seed, made_for: self.made_for.fingerprint() }
    }

    /// Of a step that goes on with the rows of all hosts: looks up which there are. What a host has inserted itself is not enough, and
    /// a step that was ended early has left fewer than it was to insert.
    pub(super) fn note_rows_of_all(&self, trial: &Trial) -> Result<(), TargetError> {
        let reuse = workload_of(trial).reuse_of(&trial.workload.params);
        if !trial.has_common_data() || !matches!(reuse, DataReuse::Continues { .. }) {
            return Ok(());
        }
        for (nth, table) in program_of(trial, &self.made_for.sequence).schema.iter().enumerate() {
            let [key, ..] = table.primary_key else { continue };
            let [key, name] = [*key, &*table.name].map(S::quote_name);
            // The ends of an index: each is a look at one page.
            let first = self.query_number(&format!("SELECT COALESCE(min({key}), 1) FROM {name}"))?;
            let last = self.query_number(&format!("SELECT COALESCE(max({key}), 0) FROM {name}"))?;
            self.made_for.sequence.set_present(nth, first..last + 1);
        }
        Ok(())
    }
}
