//! Where the bus is, and as whom to come there.
//!
//! In: a URL without a password, and a password from a file or the environment. Out: what the client of the protocol needs. Limits:
//! `redis://`, `rediss://` (TLS), their `valkey` twins, and `redis+unix:///path`; of options `ssl-ca=FILE`, the issuers that are trusted in place of
//! those of this system.

use crate::BusError;
use crate::secret::read_closed;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// The variable with the password, if no file is named.
const VARIABLE: &str = "PLIMSOLL_BUS_PASSWORD";

/// Where the bus is.
#[derive(Clone)]
pub struct BusAddress {
    pub(crate) info: ConnectionInfo,
    pub(crate) password: Option<String>,
    /// How the connection is encrypted, if it is.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// The address without user and options, for people.
    pub(crate) shown: String,
}

impl std::fmt::Debug for BusAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BusAddress({})", self.shown)
    }
}

impl BusAddress {
    /// The bus at `url`. The password is in `password_file`, or in PLIMSOLL_BUS_PASSWORD if there is no file, or there is none.
    ///
    /// # Errors
    /// If the URL is none of a bus or has a password, or if a file cannot be read.
    pub fn parse(url: &str, password_file: Option<&Path>) -> Result<BusAddress, BusError> {
        if has_password(url) {
            let text = "a password in the URL of the bus can be seen in the list of processes; use --bus-password-file or \
                        PLIMSOLL_BUS_PASSWORD";
            return Err(BusError::Usage(text.into()));
        }
        let (plain, issuers) = take_issuers(url)?;
        let info = plain.as_str().into_connection_info().map_err(|error| not_a_bus(url, &error))?;
        let (shown, password) = (info.addr().to_string(), read_password(password_file)?);
        let is_encrypted = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let tls = is_encrypted.then(|| tls_config(issuers.as_deref())).transpose()?;
        Ok(BusAddress { info, password, tls, shown })
    }
}

/// Servers whose certificates are from one of `issuers`, or from one that this system trusts.
fn tls_config(issuers: Option<&[u8]>) -> Result<Arc<ClientConfig>, BusError> {
    let mut roots = RootCertStore::empty();
    let certificates: Vec<CertificateDer> = match issuers {
        Some(pem) => CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().unwrap_or_default(),
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        let what =
            if issuers.is_some() { "the file of `ssl-ca` has no certificate" } else { "this system trusts no issuer" };
        return Err(BusError::Usage(format!("{what}; name a file with that of the bus by `?ssl-ca=FILE` in its URL")));
    }
    Ok(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()))
}

/// Whether `url` has a password: between the user and the host, or as an option of a socket.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let login = rest[..end].rsplit_once('@').map_or("", |(login, _)| login);
    let options = url.split_once('?').map_or("", |(_, options)| options);
    login.contains(':') || options.split('&').any(|option| option.starts_with("pass="))
}

/// The URL without the option `ssl-ca`, and what is in the file that it names.
fn take_issuers(url: &str) -> Result<(String, Option<Vec<u8>>), BusError> {
    let Some((base, options)) = url.split_once('?') else { return Ok((url.to_owned(), None)) };
    let (own, others): (Vec<&str>, Vec<&str>) = options.split('&').partition(|option| option.starts_with("ssl-ca="));
    let rest = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    let Some(path) = own.first().and_then(|option| option.split_once('=')).map(|(_, path)| path) else {
        return Ok((rest, None));
    };
    let bytes = model::read_regular(Path::new(path)).map_err(|error| {
        let why = model::system_words(&error);
        BusError::Usage(format!("cannot read the certificates of `ssl-ca` from `{path}`: {why}"))
    })?;
    Ok((rest, Some(bytes)))
}

fn read_password(file: Option<&Path>) -> Result<Option<String>, BusError> {
    let Some(path) = file else { return Ok(std::env::var(VARIABLE).ok().filter(|password| !password.is_empty())) };
    let bytes = read_closed(path, "the password of the bus")?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| BusError::Usage(format!("the password in `{}` is not UTF-8", path.display())))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn not_a_bus(url: &str, error: &redis::RedisError) -> BusError {
    let shown: String = url.chars().filter(|c| !c.is_control()).take(200).collect();
    let why = error.detail().map_or_else(|| error.to_string(), str::to_owned);
    BusError::Usage(format!(
        "`{shown}` is no address of a bus ({why}); use one such as `redis://host:6379/`, `rediss://user@host/` or `redis+unix:///path/to/socket`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        BusAddress::parse(url, None).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn an_address_is_shown_without_its_user() {
        let shown = |url| BusAddress::parse(url, None).unwrap().shown;
        assert_eq!(shown("redis://plimsoll@db1:7000/"), "db1:7000");
        assert_eq!(shown("valkeys://db1/"), "db1:6379");
        assert_eq!(shown("redis+unix:///run/redis.sock"), "/run/redis.sock");
    }

    #[test]
    fn a_password_in_the_address_is_refused_and_not_repeated() {
        for url in ["redis://:hunter2@db1/", "redis://u:hunter2@db1", "redis+unix:///s?pass=hunter2"] {
            let text = refusal(url);
            assert!(text.contains("PLIMSOLL_BUS_PASSWORD") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        for url in ["db1:6379", "http://db1/", "redis://0.0.0.0/", "redis://db1/x", ""] {
            assert!(refusal(url).contains("redis://host:6379/"), "{url}");
        }
        assert!(refusal("rediss://db1/?ssl-ca=/no/such").contains("cannot read the certificates"));
    }
}
