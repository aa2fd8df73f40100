//! Connections to an SQL server, themselves measured: opened, asked, closed, or held until the server refuses one more.
//!
//! In: the address of a server, and the words of its kind for what a held transaction does. Out: the clients of a point.
//! Limits: a connection that is measured logs in and sets nothing; a held one takes an account without the connections that servers keep
//! for their owners, if the server is plimsoll's own.

use super::OpFailure;
use super::admin_connection::AdminConnection;
use super::server_instance::SqlServer;
use crate::connect::ConnectTarget;
use crate::connect::hold::HoldTarget;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use workload::connect::FIRST_QUERY;
use workload::program::HoldProgram;

/// What one kind of server has of its own for connections that are held.
pub struct HoldWords {
    /// The query for the number of connections that it has.
    pub count: &'static str,
    /// The variable that limits them.
    pub limit: &'static str,
    /// Its value on a new server.
    pub usual_limit: &'static str,
}

/// A server to connect to.
pub struct ServerConnections<S: SqlServer> {
    /// The server, with the account that clients log in to.
    pub address: S::Address,
    /// Its processes, if they are seen.
    pub processes: Vec<u32>,
    /// A connection that was open before the server was full; `None` if nothing is held.
    pub witness: Option<Arc<Mutex<S::Admin>>>,
    /// What its kind has of its own.
    pub words: &'static HoldWords,
}

impl<S: SqlServer> Clone for ServerConnections<S> {
    fn clone(&self) -> Self {
        let (address, processes) = (self.address.clone(), self.processes.clone());
        ServerConnections { address, processes, witness: self.witness.clone(), words: self.words }
    }
}

impl<S: SqlServer> ConnectTarget for ServerConnections<S> {
    type Open = S::Admin;

    fn server_name(&self) -> String {
        S::display_name(&self.address).to_owned()
    }

    fn open(&self, allowed: Duration) -> Result<S::Admin, OpFailure> {
        S::connect_within(&self.address, allowed)
    }

    fn ask(&self, open: &mut S::Admin) -> Result<(), OpFailure> {
        Ok(open.run_statement(FIRST_QUERY)?)
    }
}

impl<S: SqlServer> HoldTarget for ServerConnections<S> {
    fn begin(&self, open: &mut S::Admin, hold: &HoldProgram, nth: u64) -> Result<(), OpFailure> {
        if hold.table.is_none() {
            return Ok(());
        }
        // Behind the rows that are locked, with a gap: a lock on the last of them must not reach it.
        let id = hold.locks + 1_000 + nth;
        open.run_statement("BEGIN")?;
        open.run_statement(&format!("INSERT INTO {} (id, pad) VALUES ({id}, 'held')", workload::connect::HELD_TABLE))?;
        if hold.locks > 0 {
            open.run_statement(&S::lock_statement(hold.locks, nth))?;
        }
        Ok(())
    }

    fn count_connections(&self) -> Option<u64> {
        let mut witness = self.witness.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        witness.query_value(self.words.count).ok()??.trim().parse().ok()
    }

    fn processes(&self) -> Vec<u32> {
        self.processes.clone()
    }
}
