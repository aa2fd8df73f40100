//! TLS to a server: the options in its URL, or the certificate of a private one; and the handshake.
//!
//! In: TLS options of a URL, files in PEM, a connected socket. Out: the encryption of its stream, to a server that was verified as the
//! options ask; facts about both. Limits: TLS 1.2 and 1.3 by rustls and ring; names are looked for
//! in subjectAltName only, as browsers do; no lists of revoked certificates, no channel binding.
//!
//! By default a server on another machine is verified by name, as MariaDB's own client does since 11.4, and one on this
//! machine is not encrypted. PostgreSQL's `prefer` and MySQL's `PREFERRED` would leave to the server what is measured.

use super::url::check_closed;
use host::error::{IoContext, TargetError};
use model::Fact;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What a server's clients call the options.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionNames {
    /// The option that says how far encryption goes.
    mode: &'static str,
    /// Its words for: nothing is encrypted; encrypted; the issuer is verified; the issuer and the name are.
    modes: [&'static str; 4],
    /// The option for the file of issuers.
    issuers: &'static str,
    /// The option for the client's own certificate.
    certificate: &'static str,
    /// The option for the key of that certificate.
    key: &'static str,
}

/// The words of libpq, as in the URLs of PostgreSQL.
pub static POSTGRES: OptionNames = OptionNames {
    mode: "sslmode",
    modes: ["disable", "require", "verify-ca", "verify-full"],
    issuers: "sslrootcert",
    certificate: "sslcert",
    key: "sslkey",
};

/// MySQL's, which it writes in capitals.
pub static MYSQL: OptionNames = OptionNames {
    mode: "ssl-mode",
    modes: ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"],
    issuers: "ssl-ca",
    certificate: "ssl-cert",
    key: "ssl-key",
};

/// The words for a private server, whose certificate plimsoll has made.
static PRIVATE: OptionNames = OptionNames {
    mode: "via",
    modes: ["tcp", "tls", "tls", "tls"],
    issuers: "ssl-ca",
    certificate: "ssl-cert",
    key: "ssl-key",
};

/// How far the certificate of a server is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyMode {
    /// The certificate is not verified.
    None,
    /// It must be signed by a trusted CA.
    Ca,
    /// It must also be for the host in the URL.
    Full,
}

/// The TLS options of a URL, if the connection is to be encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    names: &'static OptionNames,
    verify: VerifyMode,
    /// A file; those that this system knows if there is none.
    issuers: Option<String>,
    /// The files of the client's own certificate and of its key.
    identity: Option<(String, String)>,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRoute {
    /// Behind a unix socket.
    Socket,
    /// The server is on this machine.
    Loopback,
    /// The server is on another machine.
    Network,
}

impl TlsOptions {
    /// What the options `given` mean: names in small letters, and values. `None` is no encryption.
    pub fn parse(
        names: &'static OptionNames,
        given: &[(String, String)],
        server: ServerRoute,
    ) -> Result<Option<TlsOptions>, String> {
        let OptionNames { mode, modes, issuers, certificate, key } = names;
        let known = [mode, issuers, certificate, key];
        if let Some((unknown, _)) = given.iter().find(|(name, _)| !known.contains(&&name.as_str())) {
            let unknown = host::error::shown(Path::new(unknown));
            return Err(format!(
                "unknown option `{unknown}` in the URL; use `socket`, `{mode}`, `{issuers}`, `{certificate}` or `{key}`"
            ));
        }
        if server == ServerRoute::Socket && !given.is_empty() {
            return Err("over a unix socket nothing is encrypted: leave out the options of TLS, or `socket`".into());
        }
        let [mode_word, issuers_file, own, own_key] =
            [mode, issuers, certificate, key].map(|option| value_of(given, option));
        let verify = match mode_word {
            // On loopback no one can listen without being root, so encryption would only cost CPU time.
            None if given.is_empty() && server != ServerRoute::Network => None,
            None => Some(VerifyMode::Full),
            Some(word) => names.verify_mode(&word)?,
        };
        let [plain, anyone, issuer, name] = modes;
        match (verify, issuers_file) {
            (None, _) if given.len() > 1 => {
                Err(format!("with `{mode}={plain}` nothing is verified: leave out the other options"))
            }
            (Some(VerifyMode::None), Some(_)) => Err(format!(
                "`{mode}={anyone}` verifies nothing: leave out `{issuers}`, or write `{issuer}` or `{name}`"
            )),
            (Some(VerifyMode::Ca), None) => {
                Err(format!("`{mode}={issuer}` needs `{issuers}=FILE`: system CAs sign certificates for anyone"))
            }
            (None, _) => Ok(None),
            (Some(verify), file) => match (own, own_key) {
                (None, None) => Ok(Some(TlsOptions { names, verify, issuers: file, identity: None })),
                (Some(own), Some(key)) => {
                    Ok(Some(TlsOptions { names, verify, issuers: file, identity: Some((own, key)) }))
                }
                _ => Err(format!("`{certificate}` and `{key}` are needed together")),
            },
        }
    }
}

fn value_of(given: &[(String, String)], option: &str) -> Option<String> {
    given.iter().find(|(name, _)| name == option).map(|(_, value)| value.clone())
}

impl OptionNames {
    /// What the value of the mode means; `None` is no encryption.
    fn verify_mode(&self, word: &str) -> Result<Option<VerifyMode>, String> {
        let all = [None, Some(VerifyMode::None), Some(VerifyMode::Ca), Some(VerifyMode::Full)];
        let nth = self.modes.iter().position(|mode| mode.eq_ignore_ascii_case(word));
        nth.map(|nth| all[nth]).ok_or_else(|| {
            let [a, b, c, d] = self.modes;
            let OptionNames { mode, .. } = self;
            format!(
                "`{mode}` cannot be `{word}`; use `{a}`, `{b}`, `{c}` or `{d}`: with other modes the server would decide whether \
                 to encrypt"
            )
        })
    }
}

/// How connections to one server are encrypted.
#[derive(Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    /// The host in the URL.
    name: ServerName<'static>,
    options: TlsOptions,
    /// What the first connection agreed on, and so every other.
    agreed: Arc<OnceLock<String>>,
}

impl TlsConnector {
    /// Reads the files that are `options` for a server on `host`.
    pub fn new(options: &TlsOptions, host: &str) -> Result<TlsConnector, TargetError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TargetError::Unsupported(format!("TLS needs the name of a host, and `{host}` is not one")))?;
        let provider = Arc::new(ring::default_provider());
        let config = client_config(options, certificate_verifier(options, provider.clone())?, provider)?;
        Ok(TlsConnector { config: Arc::new(config), name, options: options.clone(), agreed: Arc::default() })
    }

    /// Trusts `certificate` and no other. It is for `host`, which is the address of a private server.
    pub fn for_private(certificate: CertificateDer<'static>, host: &str) -> Result<TlsConnector, TargetError> {
        let options = TlsOptions { names: &PRIVATE, verify: VerifyMode::Full, issuers: None, identity: None };
        let name = ServerName::try_from(host.to_owned()).expect("it is an address");
        let mut roots = RootCertStore::empty();
        let added = roots.add(certificate);
        added.map_err(|error| TargetError::Failed(format!("the certificate of a private server is wrong: {error}")))?;
        let provider = Arc::new(ring::default_provider());
        let config = client_config(&options, verifier_for(roots, true, provider.clone())?, provider)?;
        Ok(TlsConnector { config: Arc::new(config), name, options, agreed: Arc::default() })
    }

    /// The encryption of a stream whose server waits for that. Nothing is sent yet.
    pub fn begin(&self) -> io::Result<Box<ClientConnection>> {
        let made = ClientConnection::new(self.config.clone(), self.name.clone());
        made.map(Box::new).map_err(|error| refused_error(error.to_string()))
    }

    /// Does the handshake over `stream`, and verifies the server. If `stream` does not wait and has no more for now, the next call goes on
    /// from there.
    pub fn shake_hands(&self, connection: &mut ClientConnection, stream: &mut (impl Read + Write)) -> io::Result<()> {
        // The handshake is done here and not with the first statement, so that its error is one of the connection.
        while connection.is_handshaking() {
            connection.complete_io(stream).map_err(|error| self.explain_error(error))?;
        }
        if let (Some(version), Some(suite)) = (connection.protocol_version(), connection.negotiated_cipher_suite()) {
            let version = version.as_str().unwrap_or("unknown").replace('_', ".");
            self.agreed.get_or_init(|| format!("{version}, {}", suite.suite().as_str().unwrap_or("unknown")));
        }
        Ok(())
    }

    /// The error of a server that offers no TLS.
    pub fn is_missing(&self) -> io::Error {
        let OptionNames { mode, modes: [plain, ..], .. } = self.options.names;
        if *self.options.names == PRIVATE {
            return refused_error(format!("this server was built without TLS; use {mode} = `{plain}`"));
        }
        refused_error(format!(
            "the server offers no TLS; give it a certificate, or use `{mode}={plain}` for a connection in clear text"
        ))
    }

    fn explain_error(&self, error: io::Error) -> io::Error {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            Some(cause) => refused_error(self.describe_failure(cause)),
            None if error.kind() == ErrorKind::UnexpectedEof => refused_error(
                "the server closed the connection during the TLS handshake; its log has the reason".into(),
            ),
            None => error,
        }
    }

    /// Why there is no connection, and what to do.
    fn describe_failure(&self, error: &rustls::Error) -> String {
        match error {
            rustls::Error::InvalidCertificate(wrong) => self.why_not_trusted(wrong),
            rustls::Error::AlertReceived(alert) => {
                let alert = alert.as_str().unwrap_or("unknown").replace(['_', '-'], " ").to_lowercase();
                format!("the server refused the TLS handshake ({alert}); its log has the reason")
            }
            rustls::Error::InvalidMessage(_) => "the server does not answer in TLS".into(),
            _ => format!("TLS failed: {error}"),
        }
    }

    fn why_not_trusted(&self, wrong: &CertificateError) -> String {
        let OptionNames { mode, modes: [_, anyone, issuer, _], issuers, .. } = self.options.names;
        let unverified = format!("or use `{mode}={anyone}` to skip verification");
        let host = self.name.to_str();
        match wrong {
            CertificateError::UnknownIssuer => match &self.options.issuers {
                None => format!("certificate signed by an unknown CA; pass it with `{issuers}=FILE`, {unverified}"),
                Some(file) => format!(
                    "certificate signed by a CA that is not in `{file}`; pass the right one with `{issuers}=FILE`, {unverified}"
                ),
            },
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the server's certificate has expired; renew it, {unverified}")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the server's certificate is not valid yet; check the clocks of both machines, {unverified}")
            }
            CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => format!(
                "the server's certificate is for no host: it has no name in subjectAltName; replace it, or use `{mode}={issuer}`"
            ),
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names = presented.iter().map(|name| bare_name(name)).collect::<Vec<_>>().join(", ");
                format!(
                    "the server's certificate is not for `{host}` but for {names}; correct the host, or use `{mode}={issuer}`"
                )
            }
            CertificateError::NotValidForName => {
                format!("the server's certificate is not for `{host}`; correct the host, or use `{mode}={issuer}`")
            }
            CertificateError::BadSignature => {
                format!("the signature of the server's certificate is wrong; replace it, {unverified}")
            }
            CertificateError::Revoked => format!("the server's certificate was revoked; replace it, {unverified}"),
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                format!("the server's certificate is not for servers; replace it, {unverified}")
            }
            _ => format!(
                "the server's certificate is malformed, of X.509 version 1 or a CA's own; use one of version 3 with CA:FALSE, {unverified}"
            ),
        }
    }
}

/// `db.example` of rustls's `DnsName("db.example")`.
fn bare_name(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(presented);
    inner.trim_matches('"')
}

/// The facts of a run about the encryption of its connections.
pub fn tls_facts(tls: Option<&TlsConnector>) -> Vec<Fact> {
    let Some(tls) = tls else { return vec![Fact::new("server.tls", "none")] };
    let verified = match tls.options.verify {
        VerifyMode::None => "nothing",
        VerifyMode::Ca => "issuer",
        VerifyMode::Full => "issuer and name",
    };
    let agreed = tls.agreed.get().map_or("unknown", String::as_str);
    vec![Fact::new("server.tls", agreed), Fact::new("server.tls_verified", verified)]
}

/// An error whose message is complete.
fn refused_error(why: String) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

fn client_config(
    options: &TlsOptions,
    verifier: Arc<dyn ServerCertVerifier>,
    provider: Arc<CryptoProvider>,
) -> Result<ClientConfig, TargetError> {
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| TargetError::Unsupported(format!("TLS cannot be used: {error}")))?;
    let verified = versions.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &options.identity {
        None => verified.with_no_client_auth(),
        Some((own, key)) => {
            let identified =
                verified.with_client_auth_cert(read_certificates(Path::new(own))?, private_key(Path::new(key))?);
            identified
                .map_err(|error| TargetError::Unsupported(format!("`{own}` and `{key}` cannot be used: {error}")))?
        }
    };
    // The servers' own clients open a new connection each time: with a connection for each transaction that is what it costs.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn certificate_verifier(
    options: &TlsOptions,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TargetError> {
    // Without a verified issuer a name proves nothing, so the name is the last step and not one of its own.
    let by_name = match options.verify {
        VerifyMode::None => return Ok(Arc::new(AcceptAny(provider))),
        VerifyMode::Ca => false,
        VerifyMode::Full => true,
    };
    let mut roots = RootCertStore::empty();
    match &options.issuers {
        Some(file) => {
            let added = read_certificates(Path::new(file))?.into_iter().try_for_each(|issuer| roots.add(issuer));
            added
                .map_err(|error| TargetError::Unsupported(format!("`{file}` has no usable CA certificate: {error}")))?;
        }
        // One of hundreds that cannot be parsed is left out, and the others are used.
        None => drop(roots.add_parsable_certificates(known_to_the_system(options.names)?)),
    }
    verifier_for(roots, by_name, provider)
}

/// Verifies that a certificate is signed by one of `roots` and, if it does `by_name`, that it is for the host.
fn verifier_for(
    roots: RootCertStore,
    by_name: bool,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TargetError> {
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let built = built.map_err(|error| TargetError::Unsupported(format!("servers cannot be verified: {error}")))?;
    Ok(if by_name { built } else { Arc::new(IssuerOnly(built)) })
}

/// The files in which Debian, Red Hat, SUSE and Alpine keep the issuers that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

fn known_to_the_system(names: &OptionNames) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let file = SYSTEM.iter().map(Path::new).find(|path| path.exists());
    read_certificates(file.ok_or_else(|| no_known_issuers(names))?)
}

fn no_known_issuers(names: &OptionNames) -> TargetError {
    let OptionNames { issuers, mode, modes: [_, anyone, ..], .. } = names;
    let text = "this system knows no issuers of certificates (package `ca-certificates`)";
    TargetError::Unsupported(format!("{text}; name one by `{issuers}=FILE`, or write `{mode}={anyone}`"))
}

/// The certificates in a file, at least one.
fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let text = model::read_regular(path).trying("read", path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    read.ok().filter(|found| !found.is_empty()).ok_or_else(|| no_pem(path, "CERTIFICATE"))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TargetError> {
    check_closed(path, "a key")?;
    model::close_own_memory();
    let text = model::read_regular(path).trying("read", path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| no_pem(path, "PRIVATE KEY"))
}

fn no_pem(path: &Path, what: &str) -> TargetError {
    let shown = host::error::shown(path);
    let protected = if what == "PRIVATE KEY" { ", without a passphrase" } else { "" };
    TargetError::Unsupported(format!("`{shown}` holds no `-----BEGIN {what}-----`; give a PEM file{protected}"))
}

/// Takes whatever certificate there is, also one that could not be looked at.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    /// A signature with an unverified key proves nothing; and a certificate of X.509 version 1, as older guides make
    /// them, has no key that rustls would read.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Verifies all but the name, which comes last.
#[derive(Debug)]
struct IssuerOnly(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for IssuerOnly {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match self.0.verify_server_cert(own, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, own, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, own, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    fn options(
        names: &'static OptionNames,
        given: &[(&str, &str)],
        server: ServerRoute,
    ) -> Result<Option<TlsOptions>, String> {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        TlsOptions::parse(names, &given, server)
    }

    #[test]
    fn a_server_on_another_machine_is_verified_where_nothing_is_said_and_one_on_this_machine_is_not_encrypted() {
        let verify = |server| options(&POSTGRES, &[], server).unwrap().map(|options| options.verify);
        assert_eq!(
            [ServerRoute::Socket, ServerRoute::Loopback, ServerRoute::Network].map(verify),
            [None, None, Some(VerifyMode::Full)]
        );
    }

    #[test]
    fn each_server_is_told_in_its_own_words() {
        let of = |names, given: &[(&str, &str)]| {
            options(names, given, ServerRoute::Loopback).unwrap().map(|options| options.verify)
        };
        assert_eq!(of(&POSTGRES, &[("sslmode", "require")]), Some(VerifyMode::None));
        assert_eq!(of(&POSTGRES, &[("sslmode", "verify-ca"), ("sslrootcert", "ca.pem")]), Some(VerifyMode::Ca));
        assert_eq!(of(&POSTGRES, &[("sslrootcert", "ca.pem")]), Some(VerifyMode::Full));
        assert_eq!(of(&MYSQL, &[("ssl-mode", "verify_identity")]), Some(VerifyMode::Full));
        assert_eq!(of(&MYSQL, &[("ssl-mode", "DISABLED")]), None);
        let own =
            options(&MYSQL, &[("ssl-cert", "c.pem"), ("ssl-key", "k.pem")], ServerRoute::Loopback).unwrap().unwrap();
        assert_eq!(own.identity, Some(("c.pem".into(), "k.pem".into())));
    }

    #[test]
    fn what_would_not_be_what_was_meant_is_refused() {
        for (given, why) in [
            (&[("sslmode", "prefer")][..], "the server would decide"),
            (&[("ssl-mode", "REQUIRED")], "unknown option `ssl-mode` in the URL; use `socket`, `sslmode`"),
            (&[("sslmode", "disable"), ("sslrootcert", "ca.pem")], "nothing is verified"),
            (&[("sslmode", "require"), ("sslrootcert", "ca.pem")], "verifies nothing"),
            (&[("sslmode", "verify-ca")], "needs `sslrootcert=FILE`"),
            (&[("sslcert", "c.pem")], "needed together"),
        ] {
            let told = options(&POSTGRES, given, ServerRoute::Network).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        assert!(options(&MYSQL, &[("ssl-mode", "DISABLED")], ServerRoute::Socket).unwrap_err().contains("unix socket"));
    }

    #[test]
    fn a_file_that_is_no_pem_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"0\x82 DER").unwrap();
        let path = file.path().to_str().unwrap();
        let options = options(&MYSQL, &[("ssl-ca", path)], ServerRoute::Loopback).unwrap().unwrap();
        let told = TlsConnector::new(&options, "localhost").err().unwrap().to_string();
        assert!(told.contains(path) && told.contains("BEGIN CERTIFICATE"), "{told}");
        let gone = TlsOptions { issuers: Some("/nonexistent".into()), ..options };
        assert!(TlsConnector::new(&gone, "localhost").err().unwrap().to_string().contains("`/nonexistent`"));
    }

    /// A certificate for `name` with `change`, and the one of its issuer, in PEM; and a server that shows it to the next who comes.
    fn served(
        name: &str,
        change: impl Fn(&mut rcgen::CertificateParams),
    ) -> (std::net::SocketAddr, tempfile::NamedTempFile) {
        use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
        let (mut params, key) = (CertificateParams::new([]).unwrap(), KeyPair::generate().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), params.self_signed(&key).unwrap().pem()).unwrap();
        let (issuer, key) = (Issuer::new(params, key), KeyPair::generate().unwrap());
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let own = params.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![own.der().clone()], key).unwrap());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut connection = rustls::ServerConnection::new(config).unwrap();
            let _ = connection.complete_io(&mut stream); // who comes may refuse it
        });
        (address, file)
    }

    /// What it is to shake hands with a server whose certificate is for `name` with `change`.
    fn met(name: &str, mode: &str, change: impl Fn(&mut rcgen::CertificateParams)) -> Result<Vec<Fact>, String> {
        let (address, issuer) = served(name, change);
        let given = [("ssl-mode", mode), ("ssl-ca", issuer.path().to_str().unwrap())];
        let given = if mode == "required" { &given[..1] } else { &given };
        let tls =
            TlsConnector::new(&options(&MYSQL, given, ServerRoute::Loopback).unwrap().unwrap(), "localhost").unwrap();
        let done = tls.shake_hands(&mut tls.begin().unwrap(), &mut TcpStream::connect(address).unwrap());
        done.map_err(|error| error.to_string())?;
        Ok(tls_facts(Some(&tls)))
    }

    #[test]
    fn a_server_that_is_what_it_should_be_is_taken_and_what_was_agreed_on_is_told() {
        let told = met("localhost", "verify_identity", |_| ()).unwrap();
        assert!(told[0].value.starts_with("TLSv1.3, TLS13_"), "{told:?}");
        assert_eq!(told[1].value, "issuer and name");
        assert_eq!(met("db.example", "verify_ca", |_| ()).unwrap()[1].value, "issuer");
        assert_eq!(tls_facts(None)[0].value, "none");
    }

    #[test]
    fn a_certificate_that_is_wrong_is_refused_with_what_to_do() {
        let long_ago = |params: &mut rcgen::CertificateParams| params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        let some_day = |params: &mut rcgen::CertificateParams| params.not_before = rcgen::date_time_ymd(3001, 1, 1);
        let issues = |params: &mut rcgen::CertificateParams| {
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        };
        let wrong = |name, mode, change: &dyn Fn(&mut rcgen::CertificateParams)| met(name, mode, change).unwrap_err();
        let told = wrong("db.example", "verify_identity", &|_| ());
        assert!(told.contains("not for `localhost` but for db.example;"), "{told}");
        let told = wrong("localhost", "verify_identity", &|params| params.subject_alt_names.clear());
        assert!(told.contains("it has no name in subjectAltName") && !told.contains("[]"), "{told}");
        for (change, why) in [
            (&long_ago as &dyn Fn(&mut rcgen::CertificateParams), "has expired"),
            (&some_day, "is not valid yet"),
            (&issues, "CA:FALSE"),
        ] {
            let told = wrong("localhost", "verify_ca", change);
            assert!(told.contains(why) && told.contains("`ssl-mode=REQUIRED`"), "{told}");
            assert_eq!(met("localhost", "required", change).unwrap()[1].value, "nothing");
        }
    }
}
