//! What is seen of an existing server: looked at again before each point, because it may have been started again since.
//!
//! In: the instance before a point. Out: a control connection that works, the lock of plimsoll on it, and the processes that the server has
//! now. Limits: a server that does not answer is left as it was known; its clients find out.

use super::{ADMIN_PATIENCE, SqlServer, SqlServerInstance, nodes};
use crate::server::location::{DataLocation, schema_left};
use crate::server::network::Route;
use crate::server::sighting::ServerSighting;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::external::refuse_in_use;
use host::error::TargetError;
use model::Fact;
use std::time::Duration;

/// A server that is asked who it is answers at once.
const LOOKING_PATIENCE: Duration = Duration::from_secs(5);

impl<S: SqlServer> SqlServerInstance<S> {
    /// Connects to an existing server again that has closed the control connection, and looks for its processes.
    pub(super) fn look_again(&mut self) -> Result<(), TargetError> {
        let DataLocation::External(external) = &mut self.location else { return Ok(()) };
        let own = self.server.spec();
        if self.admin.get_mut().query_rows(own.watched.uptime).is_ok() {
            return Ok(());
        }
        let Ok(mut admin) = S::connect_admin(&self.address, ADMIN_PATIENCE) else { return Ok(()) };
        // The lock went with the connection. A host that joined has none.
        if !self.common.is_joined() && !S::claim(&mut admin).unwrap_or(true) {
            return refuse_in_use(S::display_name(&self.address), Some("is being measured by another plimsoll"));
        }
        let data_dir = admin.query_value(own.data_dir).ok().flatten();
        external.sighting = ServerSighting::look(admin.socket_fd(), data_dir.as_deref(), own.process_names);
        let further = self.endpoints.as_ref().map(|endpoints| endpoints.addresses().skip(1));
        external.further_nodes = further.map_or_else(Vec::new, |nodes| nodes::see_nodes(&self.server, nodes));
        admin.is_other(&self.identity, true);
        self.admin.replace(admin);
        Ok(())
    }

    /// The error that the schema which was made is left, if another server answers now: what is removed there is no more than a copy.
    pub(super) fn schema_on_first(&self) -> Option<TargetError> {
        let DataLocation::External(external) = &self.location else { return None };
        if external.is_silent || !external.is_to_remove() {
            return None;
        }
        let mut admin = S::connect_admin(&self.address, LOOKING_PATIENCE).ok()?;
        let first = self.identity.first()?;
        let is_other = admin.is_other(&self.identity, true);
        let why = format!("another server answers in its place ({first})");
        is_other.then(|| schema_left(S::display_name(&self.address), &external.name, &why))
    }

    /// What an existing server is known by, and whether something is between it and plimsoll that has another port.
    pub(super) fn identity_facts(&self) -> Vec<Fact> {
        if self.location.is_private() {
            return Vec::new();
        }
        let port = match S::route_of(&self.address) {
            Route::Host(_, port, _) => self.identity.mark("port").filter(|own| *own != port.to_string()),
            Route::Private(_) | Route::Socket(_) => None,
        };
        let identity = self.identity.first().map(|identity| Fact::new("server.identity", identity));
        identity.into_iter().chain(port.map(|port| Fact::new("server.port", port))).collect()
    }
}
