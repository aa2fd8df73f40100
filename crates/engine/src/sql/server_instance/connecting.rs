//! Connects clients to an SQL server and does nothing else: for the workload `connect`.
//!
//! In: a trial that opens or holds connections. Out: its clients, what they hold, and facts about the way to the server. Limits: a server
//! that is not private keeps connections in reserve for some accounts, which are then counted, too.

use super::{ADMIN_PATIENCE, SqlServer, SqlServerInstance};
use crate::connect::backlog::backlog_facts;
use crate::connect::hold::hold_clients;
use crate::connect::{connect_clients, connect_program_of};
use crate::engine::WorkloadClients;
use crate::server::network::Route;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::client_needs::ClientNeeds;
use crate::sql::connections::ServerConnections;
use host::error::TargetError;
use model::{Fact, Trial};
use std::sync::{Arc, Mutex};

impl<S: SqlServer> SqlServerInstance<S> {
    /// How connections reach the server, and how its listener queues them.
    pub(super) fn connection_facts(&self) -> Vec<Fact> {
        let route = S::route_of(&self.client_address);
        let mut facts = vec![Fact::new("connect.via", route.via())];
        if let Route::Host(host, port, _) = route {
            facts.extend(backlog_facts(host, *port));
        }
        facts
    }

    /// The table of held transactions, and what they lock.
    pub(super) fn make_held_rows(&mut self, trial: &Trial) -> Result<(), TargetError> {
        let Some(hold) = connect_program_of(trial, true).hold else { return Ok(()) };
        let Some(table) = &hold.table else { return Ok(()) };
        self.location.note_table(&table.name);
        self.server.create_statements(table).iter().try_for_each(|statement| self.set_up(statement))?;
        self.tables.push(table.name.clone());
        let mut admin = self.admin.borrow_mut();
        let made = S::lock_targets(&hold).iter().try_for_each(|statement| admin.run_statement(statement));
        made.map_err(|failure| self.admin_error(failure))
    }

    /// The clients that open connections, or hold them.
    pub(super) fn make_connecting_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let program = connect_program_of(trial, true);
        let mut target = ServerConnections::<S> {
            address: self.client_address.clone(),
            processes: self.location.processes(),
            witness: None,
            words: self.server.hold_words(),
        };
        let Some(hold) = &program.hold else {
            let needs = ClientNeeds::of_trial(trial, self.location.is_private());
            S::check_needs(&needs, &|name| self.read_variable(name))?;
            return Ok(connect_clients(trial, &program, &target));
        };
        if self.location.is_private() && self.network.is_none() {
            let ordinary = S::ordinary_address(&mut self.admin.borrow_mut(), &self.address);
            target.address = ordinary.map_err(|failure| self.admin_error(failure))?;
        }
        let witness = S::connect_admin(&self.address, ADMIN_PATIENCE).map_err(|failure| self.admin_error(failure))?;
        target.witness = Some(Arc::new(Mutex::new(witness)));
        Ok(hold_clients(&program, hold, &target, &self.held))
    }
}
