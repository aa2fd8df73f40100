//! Executes the steps of variants on an SQL server.
//!
//! In: the address of the server. Out: the connections of a variant, which fetch rows, can be cancelled and explain a statement; at the end
//! those that still execute something are ended, because a server drops no schema that a statement reads. Limits: a cancelled statement is
//! not awaited here; what the server executes for a plimsoll that was killed goes on there.

use super::SqlServer;
use crate::maintenance;
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::variant::rows::{RowBuffer, RowLayout};
use crate::sql::variant::watchdog::CancelStatement;
use crate::sql::variant::{VariantEngine, VariantSession};
use model::Fact;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// To cancel a statement takes a connection and one round trip.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

/// The connections of variants that are open, by the numbers that the server gave them.
#[derive(Clone, Default)]
pub(super) struct OpenSessions(Arc<Mutex<BTreeSet<u64>>>);

impl OpenSessions {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connections for the steps of variants.
pub(super) struct VariantServer<S: SqlServer> {
    address: S::Address,
    open: OpenSessions,
}

impl<S: SqlServer> Clone for VariantServer<S> {
    fn clone(&self) -> Self {
        VariantServer::new(self.address.clone(), self.open.clone())
    }
}

impl<S: SqlServer> VariantServer<S> {
    /// Of the server at `address`; those that are open are kept in `open`.
    pub fn new(address: S::Address, open: OpenSessions) -> Self {
        VariantServer { address, open }
    }

    /// Ends the connections that are still open, with what they execute. A client that was given up may have left one.
    pub fn end_sessions(&self) {
        let left = self.open.lock().clone();
        if left.is_empty() {
            return;
        }
        // A server that cannot be reached is reported by what comes next: its schema cannot be dropped.
        let Ok(mut link) = S::connect_admin(&self.address, CANCEL_PATIENCE) else { return };
        for id in left {
            // One that has ended by now is an error to some servers.
            let _ = link.set_up(&S::end_session_query(id));
        }
    }
}

impl<S: SqlServer> VariantEngine for VariantServer<S> {
    type Session = VariantLink<S>;

    fn engine_name(&self) -> String {
        S::display_name(&self.address).to_owned()
    }

    fn open_session(&self) -> Result<VariantLink<S>, OpFailure> {
        let mut link = S::connect_admin(&self.address, maintenance::PATIENCE)?;
        let id = link.query_number(S::SESSION_ID)?;
        self.open.lock().insert(id);
        Ok(VariantLink { link, id, address: self.address.clone(), open: self.open.clone() })
    }
}

/// One connection for the steps of a variant.
pub(super) struct VariantLink<S: SqlServer> {
    link: S::Admin,
    /// The number that the server gave it.
    id: u64,
    address: S::Address,
    open: OpenSessions,
}

impl<S: SqlServer> Drop for VariantLink<S> {
    fn drop(&mut self) {
        self.open.lock().remove(&self.id);
    }
}

impl<S: SqlServer> VariantSession for VariantLink<S> {
    const LAYOUT: RowLayout = S::ROW_LAYOUT;

    fn run_step(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
        Ok(self.link.fetch_rows(sql, rows)?)
    }

    fn canceller(&mut self) -> Result<CancelStatement, OpFailure> {
        let (id, address) = (self.id, self.address.clone());
        Ok(Box::new(move || {
            // A server that cannot be reached now is asked again in a second.
            let _ = S::connect_admin(&address, CANCEL_PATIENCE).map(|mut link| link.set_up(&S::cancel_query(id)));
        }))
    }

    fn explain(&mut self, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        S::explain(&mut self.link, sql, executes)
    }
}
