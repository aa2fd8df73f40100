//! Connections to servers on the network.
//!
//! In: a host and a port. Out: a socket whose reads and writes give up in time. Limits: a host's addresses are tried one after
//! the other.

use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A host that does not answer is not there.
pub const CONNECT_AT_MOST: Duration = Duration::from_secs(5);

/// To the first of the host's addresses that answers, with `patience` for each answer from then on.
pub fn connect(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience.min(CONNECT_AT_MOST)) {
            Err(error) => last = error,
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                return Ok(stream);
            }
        }
    }
    Err(last)
}
