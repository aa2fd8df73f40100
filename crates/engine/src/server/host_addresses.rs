//! The addresses of the hosts of servers, so that a connection that must not wait need not ask the system's resolver.
//!
//! In: hosts and ports, the address that has answered last. Out: the address to connect to next. Limits: the addresses of a host are looked
//! up again when all of them have failed, and by each connection that may wait.

use super::answers::explained_error;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Known = BTreeMap<(String, u16), Vec<SocketAddr>>;

/// The addresses of each host that have not failed since they were looked up, the first of them first.
static KNOWN: Mutex<Known> = Mutex::new(Known::new());

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn resolve_host(host: &str, port: u16) -> io::Result<impl Iterator<Item = SocketAddr>> {
    (host, port)
        .to_socket_addrs()
        .map_err(|error| explained_error(error.kind(), format!("unknown host `{host}`; correct the host in the URL")))
}

/// The server on `host` has answered at `address`.
pub fn note_answer(host: &str, port: u16, address: SocketAddr) {
    known().insert((host.to_owned(), port), vec![address]);
}

/// An attempt to connect without a wait. If it is dropped before it has succeeded, the other addresses of the host are tried first.
pub struct Attempt {
    host: (String, u16),
    pub address: SocketAddr,
    has_succeeded: bool,
}

impl Attempt {
    /// An attempt at the first address that is known. The resolver is asked only if none is.
    pub fn begin(host: &str, port: u16) -> io::Result<Attempt> {
        let key = (host.to_owned(), port);
        let first = known().get(&key).and_then(|addresses| addresses.first().copied());
        let address = first.map_or_else(|| look_up(&key), Ok)?;
        Ok(Attempt { host: key, address, has_succeeded: false })
    }

    pub fn succeed(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.has_succeeded
            && let Some(addresses) = known().get_mut(&self.host)
        {
            addresses.retain(|known| *known != self.address);
        }
    }
}

/// The first address of the host, all of which are known from now on.
fn look_up(host: &(String, u16)) -> io::Result<SocketAddr> {
    // Without the lock: others need not wait for the resolver.
    let addresses: Vec<_> = resolve_host(&host.0, host.1)?.collect();
    let first = addresses.first().copied().ok_or_else(|| without_address(&host.0))?;
    known().insert(host.clone(), addresses);
    Ok(first)
}

/// The error of a host that has no address.
pub fn without_address(host: &str) -> io::Error {
    explained_error(ErrorKind::NotFound, format!("the host `{host}` has no address; correct the host in the URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_has_answered_is_tried_until_it_fails_and_then_the_others_in_turn() {
        let (host, port) = ("127.0.0.1", 9);
        let [of_host, first, second] =
            ["127.0.0.1:9", "192.0.2.1:9", "192.0.2.2:9"].map(|text| text.parse::<SocketAddr>().unwrap());
        note_answer(host, port, first);
        known().get_mut(&(host.to_owned(), port)).unwrap().push(second);
        for expected in [first, second, of_host, of_host] {
            for _ in 0..2 {
                let attempt = Attempt::begin(host, port).unwrap();
                assert_eq!(attempt.address, expected);
                attempt.succeed();
            }
            drop(Attempt::begin(host, port).unwrap());
        }
    }
}
