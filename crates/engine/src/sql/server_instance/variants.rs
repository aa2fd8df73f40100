//! Executes the steps of variants on an SQL server.
//!
//! In: the address of the server. Out: the connections of a variant, which fetch rows, can be cancelled and explain a statement. Limits: a
//! cancelled statement is not awaited here; a server that cannot be reached then is asked again by the watchdog.

use super::{AdminConnection, SqlServer};
use crate::maintenance;
use crate::sql::OpFailure;
use crate::sql::variant::rows::{RowBuffer, RowLayout};
use crate::sql::variant::watchdog::CancelStatement;
use crate::sql::variant::{VariantEngine, VariantSession};
use model::Fact;
use std::time::Duration;

/// To cancel a statement takes a connection and one round trip.
const CANCEL_PATIENCE: Duration = Duration::from_secs(10);

/// Connections for the steps of variants.
pub(super) struct VariantServer<S: SqlServer> {
    address: S::Address,
}

impl<S: SqlServer> Clone for VariantServer<S> {
    fn clone(&self) -> Self {
        VariantServer::new(self.address.clone())
    }
}

impl<S: SqlServer> VariantServer<S> {
    /// Of the server at `address`.
    pub fn new(address: S::Address) -> Self {
        VariantServer { address }
    }
}

impl<S: SqlServer> VariantEngine for VariantServer<S> {
    type Session = VariantLink<S>;

    fn engine_name(&self) -> String {
        S::display_name(&self.address).to_owned()
    }

    fn open_session(&self) -> Result<VariantLink<S>, OpFailure> {
        let link = S::connect_admin(&self.address, maintenance::PATIENCE)?;
        Ok(VariantLink { link, address: self.address.clone() })
    }
}

/// One connection for the steps of a variant.
pub(super) struct VariantLink<S: SqlServer> {
    link: S::Admin,
    address: S::Address,
}

impl<S: SqlServer> VariantSession for VariantLink<S> {
    const LAYOUT: RowLayout = S::ROW_LAYOUT;

    fn run_step(&mut self, sql: &str, rows: &mut RowBuffer) -> Result<(), OpFailure> {
        self.link.fetch_rows(sql, rows)
    }

    fn canceller(&mut self) -> Result<CancelStatement, OpFailure> {
        let (id, address) = (self.link.number_patiently(S::SESSION_ID)?, self.address.clone());
        Ok(Box::new(move || {
            // A server that cannot be reached now is asked again in a second.
            let _ = S::connect_admin(&address, CANCEL_PATIENCE)
                .and_then(|mut link| link.run_statement(&S::cancel_query(id)));
        }))
    }

    fn explain(&mut self, sql: &str, executes: bool) -> Result<Vec<Fact>, OpFailure> {
        S::explain(&mut self.link, sql, executes)
    }
}
