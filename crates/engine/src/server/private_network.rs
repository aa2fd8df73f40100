//! Private servers over the network of this machine: a port on loopback, a password and a certificate, all made for one server.
//!
//! In: the parameter `via`. Out: a [`PrivateNetwork`] with a free port, a random password and a certificate that signs itself; the route
//! of clients. Limits: the address is 127.0.0.1 and no other. The port is free when it is chosen; if another program takes it before the
//! server does, the server does not start, and another port is tried. The key is of ECDSA (P-256), so a handshake takes less CPU time than
//! with the RSA keys of many servers. Control connections keep to the socket, which has no network and no password.

use super::network::Route;
use super::tls::TlsConnector;
use super::url::Password;
use host::error::TargetError;
use model::{ParamDef, ParamKind, ParamRole, Params, Phrase};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use std::net::{Ipv4Addr, TcpListener};

/// How the clients of a private server get there.
pub const VIA: ParamDef = ParamDef {
    // The server is started with a port or without one.
    help: "how clients reach the private server: its unix `socket`, `tcp` on a loopback port, or the same encrypted (`tls`); \
           a server by URL: as the URL names it",
    shapes_data: true,
    phrase: Phrase::Words(&[("socket", "a unix socket"), ("tcp", "TCP"), ("tls", "TLS over TCP")]),
    ..ParamDef::new("via", ParamRole::Ground, ParamKind::OneOf(&["socket", "tcp", "tls"]), "socket")
};

/// The only address on which a private server listens.
pub const LOOPBACK: &str = "127.0.0.1";

/// The file of the certificate in the server's directory.
pub const CERTIFICATE: &str = "plimsoll.pem";
/// The file of the certificate's key.
pub const KEY: &str = "plimsoll.key";

/// How clients get to a private server over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkWay {
    /// TCP in clear text.
    Tcp,
    Tls,
}

impl NetworkWay {
    /// The way that `params` ask for; `None` is the unix socket.
    pub fn from_params(params: &Params) -> Option<NetworkWay> {
        match params.0.get(VIA.name).map(ToString::to_string).as_deref() {
            Some("tcp") => Some(NetworkWay::Tcp),
            Some("tls") => Some(NetworkWay::Tls),
            _ => None,
        }
    }
}

/// The network of one private server.
pub struct PrivateNetwork {
    /// What clients connect through.
    pub way: NetworkWay,
    /// The port on loopback.
    pub port: u16,
    /// The password of the account of clients. It is in no argument, no fact and no run file.
    pub password: Password,
    /// The certificate and its key, in PEM.
    pems: [String; 2],
    tls: TlsConnector,
}

impl PrivateNetwork {
    /// A network with a port that is free now, a new password and a new certificate.
    ///
    /// # Errors
    /// If no port is free, or if this machine has no random numbers.
    pub fn choose(way: NetworkWay) -> Result<PrivateNetwork, TargetError> {
        let (certificate, pems) = self_signed().map_err(|why| failed("make a certificate", &why))?;
        Ok(PrivateNetwork {
            way,
            port: free_port().map_err(|error| failed("find a free port on loopback", &error))?,
            password: Password::random().map_err(|error| failed("make a password", &error))?,
            pems,
            tls: TlsConnector::for_private(certificate, LOOPBACK)?,
        })
    }

    /// How clients get there.
    pub fn route(&self) -> Route {
        let tls = (self.way == NetworkWay::Tls).then(|| self.tls.clone());
        Route::Host(LOOPBACK.into(), self.port, tls)
    }

    /// The same over TLS in any case.
    pub fn encrypted_route(&self) -> Route {
        Route::Host(LOOPBACK.into(), self.port, Some(self.tls.clone()))
    }

    /// The files of the certificate and of its key, with what is in them.
    pub fn tls_files(&self) -> [(&'static str, &str); 2] {
        let [certificate, key] = &self.pems;
        [(CERTIFICATE, certificate), (KEY, key)]
    }
}

fn failed(what: &str, why: &dyn std::fmt::Display) -> TargetError {
    TargetError::Failed(format!("cannot {what} for a private server: {why}; use via = `socket`"))
}

/// A port of 127.0.0.1 on which nothing listens.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// So many different ports of 127.0.0.1 on which nothing listens.
///
/// # Errors
/// If there are not as many.
pub fn free_ports(number: usize) -> Result<Vec<u16>, TargetError> {
    let failed = |error: std::io::Error| {
        TargetError::Failed(format!(
            "cannot find {number} free ports on loopback: {}",
            host::error::system_words(&error)
        ))
    };
    // Held until all are chosen, so that none is chosen twice.
    let held: std::io::Result<Vec<TcpListener>> =
        (0..number).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let ports: std::io::Result<Vec<u16>> =
        held.map_err(failed)?.iter().map(|listener| Ok(listener.local_addr()?.port())).collect();
    ports.map_err(failed)
}

/// A certificate for [`LOOPBACK`], which signs itself; with its key, both in PEM.
fn self_signed() -> Result<(CertificateDer<'static>, [String; 2]), rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([LOOPBACK.to_owned()])?.self_signed(&key)?;
    let pems = [certificate.pem(), key.serialize_pem()];
    Ok((certificate.der().clone(), pems))
}

/// Whether a server did not start because another program has its port, in the words of MariaDB, MySQL and PostgreSQL.
pub fn is_port_taken(error: &TargetError) -> bool {
    let text = error.to_string();
    ["Address already in use", "could not create any TCP/IP sockets"].iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_server_has_a_password_and_a_certificate_of_its_own() {
        let made: Vec<PrivateNetwork> = (0..3).map(|_| PrivateNetwork::choose(NetworkWay::Tls).unwrap()).collect();
        let passwords: HashSet<&str> = made.iter().map(|network| network.password.reveal()).collect();
        let keys: HashSet<&str> = made.iter().map(|network| network.tls_files()[1].1).collect();
        assert_eq!((passwords.len(), keys.len()), (3, 3));
        assert!(passwords.iter().all(|password| password.len() == 48), "192 bits as hexadecimal digits");
        assert!(made.iter().all(|network| network.port > 0 && network.route().via() == "tls"));
    }

    #[test]
    fn a_port_that_is_taken_is_told_from_other_failures() {
        let failed = |text: &str| is_port_taken(&TargetError::Failed(text.into()));
        assert!(failed("Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use"));
        assert!(failed("FATAL:  could not create any TCP/IP sockets"));
        assert!(!failed("FATAL:  could not create shared memory segment"));
    }
}
