//! Who may ask: the host that a request is for, and the token of the server.
//!
//! In: a request. Out: whether it is answered, and the cookie that a browser keeps.
//!
//! A page of a stranger in the same browser can send requests to 127.0.0.1. If it has a name of its own for that address (DNS rebinding), it
//! could read the answers. So the header `Host` must be an address of this machine or `localhost`, and each request must have a token
//! that only who started the server knows: in the address of the first page, and from then on in a cookie that no script can read and that
//! requests of other sites do not carry.
//!
//! Limits: who reads the traffic has the token; on loopback that takes root.

use crate::request::Request;
use crate::response::Status;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

/// The parameter of the address that has the token.
const PARAMETER: &str = "token";
/// 128 bits cannot be guessed.
const TOKEN_BYTES: usize = 16;

/// A secret of this server, in hexadecimal.
pub struct AccessToken(String);

impl AccessToken {
    /// A new one.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn random() -> io::Result<AccessToken> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut text = String::with_capacity(2 * TOKEN_BYTES);
        bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes all text"));
        Ok(AccessToken(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `given` is the token. It takes the same time wherever they differ, so that the time does not show how much is right.
    fn is_same(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing = own.iter().zip(given).fold(0, |all, (own, given)| std::hint::black_box(all | (own ^ given)));
        differing == 0 && own.len() == given.len()
    }
}

/// Decides who may ask.
pub struct Guard {
    address: SocketAddr,
    token: Option<AccessToken>,
}

impl Guard {
    /// For a server at `address` that anyone on this machine may ask.
    pub fn open(address: SocketAddr) -> Guard {
        Guard { address, token: None }
    }

    /// For a server at `address` that only those may ask who have `token`.
    pub fn with_token(address: SocketAddr, token: AccessToken) -> Guard {
        Guard { address, token: Some(token) }
    }

    /// The address of its first page.
    pub fn link(&self) -> String {
        let token = self.token.as_ref().map_or_else(String::new, |token| format!("?{PARAMETER}={}", token.as_str()));
        format!("http://{}/{token}", self.address)
    }

    /// Whether `request` may be answered.
    ///
    /// # Errors
    /// What to answer instead.
    pub fn check(&self, request: &Request) -> Result<(), Status> {
        if !request.host().is_some_and(|host| is_own_host(host, self.address)) {
            return Err(Status::OtherHost);
        }
        let Some(token) = &self.token else { return Ok(()) };
        let name = self.cookie_name();
        let has_token =
            self.is_in_address(request) || request.cookies(&name).any(|value| token.is_same(value.as_bytes()));
        if has_token { Ok(()) } else { Err(Status::Forbidden) }
    }

    /// The value of `Set-Cookie` for a request that has the token in its address: its links need no token then.
    pub fn cookie(&self, request: &Request) -> Option<String> {
        let token = self.token.as_ref().filter(|_| self.is_in_address(request))?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), token.as_str()))
    }

    fn is_in_address(&self, request: &Request) -> bool {
        let Some(token) = &self.token else { return false };
        request.query_values(PARAMETER).any(|value| token.is_same(value))
    }

    /// Cookies are for all ports of a host, so the name has the port.
    fn cookie_name(&self) -> String {
        format!("plimsoll-{}", self.address.port())
    }
}

/// Whether `host` names a server at `address`: an address or `localhost`, with its port. A name that a stranger can make is refused.
fn is_own_host(host: &str, address: SocketAddr) -> bool {
    const USUAL_PORT: u16 = 80;
    let localhost = |port| SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port);
    let named = match host.to_ascii_lowercase().strip_prefix("localhost") {
        Some("") => Some(localhost(USUAL_PORT)),
        Some(port) => port.strip_prefix(':').and_then(|port| port.parse().ok()).map(localhost),
        None => host
            .parse()
            .ok()
            .or_else(|| host.trim_matches(['[', ']']).parse().ok().map(|ip| SocketAddr::new(ip, USUAL_PORT))),
    };
    let is_reached = |named: SocketAddr| !address.ip().is_loopback() || named.ip().is_loopback();
    named.is_some_and(|named| named.port() == address.port() && is_reached(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, headers: &str) -> Request {
        Request::parse(format!("GET {target} HTTP/1.1\r\n{headers}\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn only_addresses_of_this_machine_are_its_host() {
        let own: SocketAddr = "127.0.0.1:4000".parse().unwrap();
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            assert!(is_own_host(host, own), "{host}");
        }
        for host in
            ["evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "localhost.evil.example:4000", "10.0.0.1:4000", ""]
        {
            assert!(!is_own_host(host, own), "{host}");
        }
        assert!(is_own_host("localhost", "127.0.0.1:80".parse().unwrap()));
        let everywhere: SocketAddr = "0.0.0.0:4000".parse().unwrap();
        assert!(is_own_host("10.0.0.1:4000", everywhere) && !is_own_host("evil.example:4000", everywhere));
    }

    #[test]
    fn the_token_is_asked_for_in_the_address_or_the_cookie() {
        let address = "127.0.0.1:4000".parse().unwrap();
        let token = AccessToken("00ff".to_owned());
        let guard = Guard::with_token(address, token);
        let host = "Host: 127.0.0.1:4000\r\n";
        let check = |target: &str, more: &str| guard.check(&request(target, &format!("{host}{more}")));
        assert_eq!(check("/", ""), Err(Status::Forbidden));
        assert_eq!(check("/?token=00fe", ""), Err(Status::Forbidden));
        assert_eq!(check("/?token=00f", ""), Err(Status::Forbidden));
        assert_eq!(check("/?token=00ff0", ""), Err(Status::Forbidden));
        assert_eq!(check("/run/a?token=00ff", ""), Ok(()));
        assert_eq!(check("/", "Cookie: plimsoll-4001=00ff\r\n"), Err(Status::Forbidden));
        assert_eq!(check("/", "Cookie: plimsoll-4000=x; plimsoll-4000=00ff\r\n"), Ok(()));
        assert_eq!(guard.check(&request("/?token=00ff", "Host: evil.example\r\n")), Err(Status::OtherHost));
        assert_eq!(guard.check(&request("/?token=00ff", "")), Err(Status::OtherHost));
        assert_eq!(guard.cookie(&request("/", host)), None);
        let cookie = guard.cookie(&request("/?token=00ff", host)).unwrap();
        assert_eq!(cookie, "plimsoll-4000=00ff; Path=/; HttpOnly; SameSite=Strict");
        assert_eq!(guard.link(), "http://127.0.0.1:4000/?token=00ff");
    }

    #[test]
    fn each_token_is_another() {
        let [one, two] = [AccessToken::random().unwrap(), AccessToken::random().unwrap()];
        assert!(one.as_str() != two.as_str() && one.as_str().len() == 32);
        assert!(one.is_same(one.as_str().as_bytes()) && !one.is_same(two.as_str().as_bytes()));
    }
}
