//! A connection that is made again if it is lost.
//!
//! In: the address, the key of the run. Out: answers of the bus, or [`BusError::Away`] while it cannot be reached. Limits: it does not
//! repeat a command by itself; whoever asks again decides whether that is right.

use crate::socket::{BoundedSocket, BusLogin};
use crate::{BusAddress, BusConnection, BusError, RunSecret};
use std::time::{Duration, Instant};

/// How long it may take to connect.
const CONNECT_WAIT: Duration = Duration::from_secs(4);
/// The least time between two attempts to connect.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Makes connections to one bus.
#[derive(Clone, Debug)]
pub struct BusConnector {
    address: BusAddress,
    secret: RunSecret,
}

impl BusConnector {
    /// The maker of connections to `address`, whose payloads are of hosts with `secret`.
    pub fn new(address: BusAddress, secret: RunSecret) -> BusConnector {
        BusConnector { address, secret }
    }

    /// A new connection to the same bus, logged in.
    pub fn connect(&self) -> Result<BusConnection, BusError> {
        let BusAddress { info, password, tls, shown } = &self.address;
        let settings = info.redis_settings();
        let login = BusLogin { user: settings.username(), password: password.as_deref(), database: settings.db() };
        let server = BoundedSocket::connect(info.addr(), tls.as_ref(), login, CONNECT_WAIT);
        let server = server.map_err(|error| BusError::of_server(shown, &error))?;
        BusConnection::new(server, self.secret.clone(), shown.clone())
    }

    /// A link that is made at the first use.
    pub fn link(&self) -> BusLink {
        BusLink { connector: self.clone(), connection: None, last_try: None, away_since: None }
    }
}

/// A connection that is made again if it is lost.
pub struct BusLink {
    connector: BusConnector,
    connection: Option<BusConnection>,
    last_try: Option<Instant>,
    away_since: Option<Instant>,
}

impl BusLink {
    /// Does `work` on the connection, which is made first if there is none.
    pub fn ask<T>(&mut self, work: impl FnOnce(&mut BusConnection) -> Result<T, BusError>) -> Result<T, BusError> {
        let done = self.connected().and_then(work);
        match &done {
            Err(error) if error.is_away() => {
                self.connection = None;
                self.away_since.get_or_insert_with(Instant::now);
            }
            _ => self.away_since = None,
        }
        // After an answer that was too long what follows cannot be read.
        self.connection.take_if(|connection| !connection.is_open());
        done
    }

    /// For how long the bus has not been reached; 0 if the last attempt reached it.
    pub fn away_for(&self) -> Duration {
        self.away_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn connected(&mut self) -> Result<&mut BusConnection, BusError> {
        if self.connection.is_none() {
            let rest = self.last_try.map_or(Duration::ZERO, |last| RETRY_AFTER.saturating_sub(last.elapsed()));
            std::thread::sleep(rest);
            self.last_try = Some(Instant::now());
            self.connection = Some(self.connector.connect()?);
        }
        Ok(self.connection.as_mut().expect("made above"))
    }
}
