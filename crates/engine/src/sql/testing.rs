//! A server whose connections do what a test says.

use super::open_connections::OpenConnections;
use super::row_tally::{RowTally, StatementRows};
use super::session_options::{ClientThreads, ConnectionLifetime, ReconnectPolicy, SessionOptions, StatementMode};
use super::sockets::SocketWay;
use super::variant::rows::RowBuffer;
use super::{OpFailure, SessionFactory, SqlSession};
use crate::server::identity::IdentityWatch;
use model::{FailureClass, SqlOp};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Kept connections that prepare all statements, retry conflicts for an hour, wait for a second, and connect again.
pub fn options() -> SessionOptions {
    SessionOptions {
        statements: StatementMode::Prepared,
        isolation: None,
        connection: ConnectionLifetime::Kept,
        reconnect: ReconnectPolicy::Again,
        retries_for: Duration::from_secs(3600),
        patience: Duration::from_secs(1),
        threads: ClientThreads::Each,
        sockets: SocketWay::Epoll,
        depth: 1,
        written: Arc::default(),
        answer_limit: None,
        open: OpenConnections::default(),
        identity: IdentityWatch::default(),
        begins_with: Vec::new(),
        rows: StatementRows::default(),
    }
}

/// The server and each of its connections.
#[derive(Clone)]
pub struct ScriptedServer {
    /// How the next operations fail, the last of them first; all further ones succeed.
    pub failures: Arc<Mutex<Vec<Option<FailureClass>>>>,
    /// Set while connections are lost, and none can be made.
    pub is_gone: Arc<AtomicBool>,
    pub connected: Arc<AtomicU64>,
    pub rolled_back: Arc<AtomicU64>,
    pub options: SessionOptions,
}

impl ScriptedServer {
    pub fn new(failures: &[Option<FailureClass>], options: SessionOptions) -> ScriptedServer {
        ScriptedServer {
            failures: Arc::new(Mutex::new(failures.iter().rev().copied().collect())),
            is_gone: Arc::default(),
            connected: Arc::default(),
            rolled_back: Arc::default(),
            options,
        }
    }

    fn check_there(&self) -> Result<(), OpFailure> {
        if self.is_gone.load(Relaxed) {
            return Err(OpFailure { class: FailureClass::Lost, text: "it is gone".into() });
        }
        Ok(())
    }
}

impl SessionFactory for ScriptedServer {
    type Session = ScriptedServer;
    fn server_name(&self) -> String {
        "a server".into()
    }
    fn session_options(&self) -> &SessionOptions {
        &self.options
    }
    fn with_statements(&self, _: &[u16]) -> ScriptedServer {
        self.clone()
    }
    fn with_patience(&self, _: Duration) -> ScriptedServer {
        self.clone()
    }
    fn connect(&self) -> Result<ScriptedServer, OpFailure> {
        self.check_there()?;
        self.connected.fetch_add(1, Relaxed);
        Ok(self.clone())
    }
}

impl SqlSession for ScriptedServer {
    fn perform_op(&mut self, _: &SqlOp, _: &mut RowTally) -> Result<(), OpFailure> {
        self.check_there()?;
        match self.failures.lock().unwrap().pop().flatten() {
            None => Ok(()),
            Some(class) => Err(OpFailure { class, text: format!("it was {}", class.as_str()) }),
        }
    }
    fn run_text(&mut self, _: &str) -> Result<(), OpFailure> {
        unreachable!("operations have calls here")
    }
    fn fetch_text(&mut self, _: &str, _: &mut RowBuffer) -> Result<(), OpFailure> {
        unreachable!("operations have calls here")
    }
    fn roll_back(&mut self) -> Result<(), OpFailure> {
        self.rolled_back.fetch_add(1, Relaxed);
        Ok(())
    }
}
