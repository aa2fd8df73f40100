//! Why the bus could not do what was asked.
//!
//! In: errors of the client of the protocol. Out: one line for people, and whether it is worth to try again. Limits: passwords are in none.

use crate::socket::TOO_LONG;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Why the bus could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The address, a file or a name is wrong.
    #[error("{0}")]
    Usage(String),
    /// The server cannot be reached now; it may be back later.
    #[error("{0}")]
    Away(String),
    /// The server answered, and will not do it: wrong password, no right, too old, out of memory.
    #[error("{0}")]
    Refused(String),
    /// What only one may hold is held by another.
    #[error("{0}")]
    Taken(String),
    /// What came from the bus is not from a host with the key of the run, or not what plimsoll writes.
    #[error("{0}")]
    Foreign(String),
}

impl BusError {
    /// Whether the server cannot be reached now.
    pub fn is_away(&self) -> bool {
        matches!(self, BusError::Away(_))
    }

    /// The error of the server at `place`.
    pub(crate) fn of_server(place: &str, error: &RedisError) -> BusError {
        let (code, detail) = (error.code().unwrap_or_default(), error.detail().unwrap_or_default());
        match error.kind() {
            _ if error.to_string().contains(TOO_LONG) => BusError::Foreign(format!(
                "the bus `{place}` sent an answer that is longer than any that plimsoll reads; look who else writes to it"
            )),
            ErrorKind::AuthenticationFailed => BusError::Refused(wrong_password(place)),
            _ if ["NOAUTH", "WRONGPASS"].contains(&code) || detail.contains("invalid username-password") => {
                BusError::Refused(wrong_password(place))
            }
            ErrorKind::Server(ServerErrorKind::NoPerm) => BusError::Refused(format!(
                "the bus `{place}` does not permit a command to this user: {detail}; let it read and write the keys `plimsoll:*`"
            )),
            ErrorKind::Server(ServerErrorKind::ReadOnly) => BusError::Refused(format!(
                "the bus `{place}` is a replica that takes no writes; name its primary server"
            )),
            ErrorKind::Server(
                ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown | ServerErrorKind::TryAgain,
            ) => BusError::Away(format!("the bus `{place}` is not ready: {detail}")),
            ErrorKind::Io if let Some(fault) = tls_fault(error) => BusError::Refused(fault_of_tls(place, fault)),
            ErrorKind::Io => BusError::Away(format!("the bus `{place}` cannot be reached: {}", system_words(error))),
            ErrorKind::InvalidClientConfig => {
                BusError::Usage(format!("the bus `{place}` cannot be used: {}", plain(error)))
            }
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType | ErrorKind::RESP3NotSupported => {
                BusError::Refused(format!("`{place}` does not answer as a Redis or Valkey server does"))
            }
            _ if code == "OOM" => {
                BusError::Refused(format!("the bus `{place}` has no memory left (`maxmemory`); give it more"))
            }
            _ => BusError::Refused(format!("the bus `{place}` refused a command: {}", plain(error))),
        }
    }
}

fn wrong_password(place: &str) -> String {
    format!(
        "the bus `{place}` did not accept the user or the password; name the file of the password with --bus-password-file, or set \
         PLIMSOLL_BUS_PASSWORD"
    )
}

/// What TLS has against the server. It would be the same a moment later.
fn tls_fault(error: &RedisError) -> Option<&rustls::Error> {
    io_error(error)?.get_ref()?.downcast_ref()
}

fn fault_of_tls(place: &str, fault: &rustls::Error) -> String {
    match fault {
        rustls::Error::InvalidCertificate(_) => format!(
            "the bus `{place}` is not trusted: {fault}; name the certificate of its issuer with `?ssl-ca=FILE`, and the host as its own \
             certificate does"
        ),
        _ => format!("the bus `{place}` does not agree on TLS: {fault}; `redis://` is without it"),
    }
}

fn io_error(error: &RedisError) -> Option<&std::io::Error> {
    error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?.downcast_ref()
}

/// The words of the operating system for an error of input or output.
fn system_words(error: &RedisError) -> String {
    match io_error(error) {
        // A socket that has waited for its time says that it could wait longer.
        Some(late) if matches!(late.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            "it does not answer in time".to_owned()
        }
        Some(error) => model::system_words(error),
        None => plain(error),
    }
}

/// The error in one line.
fn plain(error: &RedisError) -> String {
    let text: String = error.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.chars().take(200).collect()
}
