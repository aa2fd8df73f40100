//! Performs maintenance on an SQL server: index builds and drains.
//!
//! In: the server, its address, its tables. Out: connections that perform maintenance operations. Limits: one connection for each client;
//! an operation takes as long as the server needs, up to the patience of maintenance.

use super::SqlServer;
use crate::maintenance::{self, Maintenance, RemainingDebt};
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use model::SqlOp;
use std::sync::Arc;
use workload::SqlWork;

/// Maintenance on an SQL server.
#[derive(Clone)]
pub(super) struct ServerMaintenance<S: SqlServer> {
    pub server: S,
    pub address: S::Address,
    pub tables: Arc<[String]>,
    pub private: bool,
    pub debt: RemainingDebt,
    pub work: Arc<SqlWork>,
}

impl<S: SqlServer> Maintenance for ServerMaintenance<S> {
    type Op = SqlOp;
    type Open = S::Admin;

    fn engine_name(&self) -> String {
        S::display_name(&self.address).to_owned()
    }

    fn open_connection(&self) -> Result<S::Admin, OpFailure> {
        S::connect_admin(&self.address, maintenance::PATIENCE)
    }

    fn perform_op(&self, link: &mut S::Admin, op: &SqlOp) -> Result<(), OpFailure> {
        match &*self.work {
            SqlWork::Calls | SqlWork::Variant(_) | SqlWork::Replay => {
                unreachable!("statements have clients of their own")
            }
            SqlWork::Drain => {
                self.debt.store(self.server.quiesce_tables(link, &self.tables, self.private)?);
                Ok(())
            }
            SqlWork::Indexes(tables) => {
                let mut asked = op.calls.iter().flat_map(|call| S::index_statements(&tables[call.statement as usize]));
                Ok(asked.try_for_each(|statement| link.run_statement(&statement))?)
            }
        }
    }
}
