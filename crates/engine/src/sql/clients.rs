//! The clients of a phase: which of the drivers each of them has.
//!
//! In: operations, how to connect, and the options of the sessions. Out: clients for the phases. Limits: clients of several endpoints are in
//! [`endpoints`](super::endpoints), and those that load rows in [`bulk`](super::bulk).

use crate::engine::WorkloadClients;
use crate::sql::client_tally::ClientTally;
use crate::sql::multiplex::{PollableSession, SharedThreads, multiplexed_clients};
use crate::sql::pipeline::PipelinedDriver;
use crate::sql::session_options::ClientThreads;
use crate::sql::{OpNames, SessionFactory, SqlDriver, for_source};
use load::{BatchClient, StampMode, SyncClient};
use model::{LoadPart, SqlOp};
use std::sync::Arc;
use workload::{BackgroundOps, OpKindDef, OpStream};

/// The `clients` of this host, a part of all, for `stream`, and those of the loads `background`: one thread each, which
/// sends ahead if it is deep, or fewer threads that multiplex.
pub fn sql_clients(
    stream: &OpStream<SqlOp>,
    background: &[BackgroundOps<SqlOp>],
    kinds: &[OpKindDef],
    clients: LoadPart,
    connect: &impl SessionFactory<Session: PollableSession>,
    tally: &Arc<ClientTally>,
) -> WorkloadClients {
    if let ClientThreads::Shared(threads) = connect.session_options().threads {
        return multiplexed_clients(stream, background, kinds, SharedThreads { clients, threads }, connect, tally);
    }
    let names = OpNames::new(kinds);
    let depth = connect.session_options().depth;
    if depth > 1 {
        return WorkloadClients::new(kinds, stream, background, clients, |source, _| {
            let connect = for_source(connect, &source);
            let driver = PipelinedDriver::new(connect, depth, names.clone(), tally.clone());
            Box::new(BatchClient::new(source, driver, StampMode::Batch))
        });
    }
    WorkloadClients::new(kinds, stream, background, clients, |source, _| {
        let connect = for_source(connect, &source);
        Box::new(SyncClient::new(source, SqlDriver::new(connect, names.clone(), tally.clone())))
    })
}
