//! Logs in to MySQL and MariaDB.
//!
//! In: a connected socket, TLS if the URL asks for it, user and password. Out: a stream that is ready for commands. Limits: the accounts'
//! plugins mysql_native_password and caching_sha2_password; a password leaves in clear text only over TLS or a unix socket, and is
//! never encrypted with the server's RSA key, which anybody on the way could replace by one of their own; no compression; no packet
//! above 64 KiB.
//!
//! The packets and scrambles are those of the crate `mysql_common`.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>,
//! <https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection>

use super::wire::{ERR, HEADER, MysqlWireError, OK, protocol_error, server_error};
use crate::server::network::{PlainStream, ServerStream, explained_error};
use crate::server::tls::TlsConnector;
use crate::server::wrong_port::{TELLING, explain_silence, refuse_others};
use crate::sql::recv_buffer::RecvBuffer;
use mysql_common::collations::CollationId;
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;
use mysql_common::scramble::{scramble_native, scramble_sha256};
use std::collections::HashMap;
use std::io::{ErrorKind, Write};

/// The account to log in to, and the database that is current afterwards.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    pub user: &'a str,
    /// The password; none and an empty one are the same to a server.
    pub password: Option<&'a str>,
    /// The database, if one is to be current.
    pub database: Option<&'a str>,
    /// Whether it sends rows as a file that the server asks for.
    pub sends_rows: bool,
}

impl Credentials<'_> {
    fn password(&self) -> &str {
        self.password.unwrap_or_default()
    }
}

/// A connection that is logged in.
pub struct OpenedConnection {
    pub stream: ServerStream,
    /// The number that the server gave it.
    pub id: u32,
    /// Whether the server takes the arguments of many executions in one message.
    pub takes_arrays: bool,
}

#[cfg(test)]
impl OpenedConnection {
    /// The connection of a server that the test is.
    pub fn at_end_of(socket: std::os::unix::net::UnixStream) -> OpenedConnection {
        OpenedConnection { stream: socket.into(), id: 1, takes_arrays: true }
    }
}

/// Logs in over `socket`, which is encrypted first if there is `tls`. The stream keeps the socket's deadline.
pub fn log_in(
    socket: PlainStream,
    tls: Option<&TlsConnector>,
    login: &Credentials,
) -> Result<OpenedConnection, MysqlWireError> {
    let mut stream = ServerStream::from(socket);
    let LoginEnd { id, takes_arrays } = LoginProgress::default().go_on(&mut stream, tls, login)?;
    Ok(OpenedConnection { stream, id, takes_arrays })
}

/// A login, as far as it has come.
#[derive(Default)]
pub struct LoginProgress {
    step: LoginStep,
    inbox: RecvBuffer,
    /// The number of the next packet: they are counted in both directions.
    sequence: u8,
}

/// What a login waits for.
#[derive(Default)]
enum LoginStep {
    /// The server's first packet.
    #[default]
    Greeting,
    /// The handshake of TLS.
    Handshake(LoginBegun),
    /// The server's answer to the account or to a proof of it.
    Answer(LoginBegun),
}

/// What a login needs of the greeting.
struct LoginBegun {
    challenge: LoginChallenge,
    abilities: LoginAbilities,
    /// The number of the connection.
    id: u32,
}

/// What a login tells of its connection.
pub struct LoginEnd {
    /// The number that the server gave it.
    pub id: u32,
    /// Whether the server takes the arguments of many executions in one message.
    pub takes_arrays: bool,
}

impl LoginProgress {
    /// Goes on until the login is done. If `stream` does not wait and has no more for now, the next call goes on from there.
    pub fn go_on(
        &mut self,
        stream: &mut ServerStream,
        tls: Option<&TlsConnector>,
        login: &Credentials,
    ) -> Result<LoginEnd, MysqlWireError> {
        let LoginProgress { step, inbox, sequence } = self;
        let mut packets = LoginPackets { stream, inbox, sequence };
        loop {
            match step {
                LoginStep::Greeting => *step = packets.answer_greeting(tls, login)?,
                LoginStep::Handshake(begun) => {
                    packets.stream.shake_hands(tls.expect("TLS was begun"))?;
                    packets.write_packet(&handshake_response(&begun.challenge, login, &begun.abilities))?;
                    let LoginStep::Handshake(begun) = std::mem::take(step) else { unreachable!("it is matched") };
                    *step = LoginStep::Answer(begun);
                }
                LoginStep::Answer(begun) => {
                    if packets.take_answer(begun, login)? {
                        packets.check_unasked()?;
                        return Ok(begun.end());
                    }
                }
            }
        }
    }
}

impl LoginBegun {
    fn end(&self) -> LoginEnd {
        let takes_arrays = self.abilities.mariadb.contains(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS);
        LoginEnd { id: self.id, takes_arrays }
    }
}

const AUTH_SWITCH: u8 = 0xfe;
const AUTH_MORE_DATA: u8 = 0x01;
/// The answer of caching_sha2_password if the scramble was right.
const FAST_AUTH_SUCCESS: u8 = 3;
/// Its answer if the server needs the password itself, because it has no hash of it in its cache.
const PERFORM_FULL_AUTH: u8 = 4;

const SHA256_PASSWORD: &str = "sha256_password";

/// How a server checks a password, as far as it can be done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PasswordPlugin {
    Native,
    CachingSha2,
    /// The password itself, inside TLS.
    Sha256,
}

impl PasswordPlugin {
    fn from_common(plugin: &AuthPlugin) -> Option<PasswordPlugin> {
        match plugin {
            AuthPlugin::MysqlNativePassword => Some(PasswordPlugin::Native),
            AuthPlugin::CachingSha2Password => Some(PasswordPlugin::CachingSha2),
            AuthPlugin::Other(name) if name.as_ref() == SHA256_PASSWORD.as_bytes() => Some(PasswordPlugin::Sha256),
            _ => None,
        }
    }

    fn to_common(self) -> AuthPlugin<'static> {
        match self {
            PasswordPlugin::Native => AuthPlugin::MysqlNativePassword,
            PasswordPlugin::CachingSha2 => AuthPlugin::CachingSha2Password,
            PasswordPlugin::Sha256 => AuthPlugin::Other(SHA256_PASSWORD.as_bytes().into()),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            PasswordPlugin::Native => "mysql_native_password",
            PasswordPlugin::CachingSha2 => "caching_sha2_password",
            PasswordPlugin::Sha256 => SHA256_PASSWORD,
        }
    }
}

/// What the password is to be scrambled with, and how.
struct LoginChallenge {
    plugin: PasswordPlugin,
    nonce: Vec<u8>,
}

impl LoginChallenge {
    /// The server proposes its default plugin. The account may need another, which the server then asks for by a switch.
    fn from_greeting(greeting: &HandshakePacket) -> LoginChallenge {
        let plugin = greeting.auth_plugin().as_ref().and_then(PasswordPlugin::from_common);
        // Whether the account has the default plugin is not known yet, so no password itself is sent.
        let plugin = plugin.filter(|plugin| *plugin != PasswordPlugin::Sha256).unwrap_or(PasswordPlugin::Native);
        LoginChallenge { plugin, nonce: greeting.nonce() }
    }

    fn from_switch(packet: &[u8]) -> Result<LoginChallenge, MysqlWireError> {
        // A server from before 4.1 sends the tag alone.
        let request: AuthSwitchRequest = match packet {
            [_] => AuthSwitchRequest::new(&b"mysql_old_password"[..], &b""[..]),
            _ => ParseBuf(packet)
                .parse(())
                .map_err(|_| protocol_error("a request for another plugin that has no end".into()))?,
        };
        let plugin = request.auth_plugin();
        match PasswordPlugin::from_common(&plugin) {
            Some(plugin) => Ok(LoginChallenge { plugin, nonce: request.plugin_data().to_vec() }),
            None => Err(unknown_plugin(&String::from_utf8_lossy(plugin.as_bytes()))),
        }
    }

    /// The answer to a switch of plugins.
    fn answer(&self, password: &str, is_encrypted: bool) -> Result<Vec<u8>, MysqlWireError> {
        match self.plugin {
            PasswordPlugin::Native | PasswordPlugin::CachingSha2 => Ok(self.scramble_password(password)),
            PasswordPlugin::Sha256 if is_encrypted => Ok([password.as_bytes(), &[0]].concat()),
            PasswordPlugin::Sha256 => {
                let why = "the account uses sha256_password, whose server wants the password itself, inside TLS; add `ssl-mode=REQUIRED` or \
                           stronger to the URL";
                Err(explained_error(ErrorKind::PermissionDenied, why).into())
            }
        }
    }

    /// The answer to the challenge. An empty password is not scrambled.
    fn scramble_password(&self, password: &str) -> Vec<u8> {
        let scrambled = match self.plugin {
            PasswordPlugin::Native => scramble_native(&self.nonce, password.as_bytes()).map(Vec::from),
            PasswordPlugin::CachingSha2 => scramble_sha256(&self.nonce, password.as_bytes()).map(Vec::from),
            PasswordPlugin::Sha256 => None,
        };
        match (scrambled, self.plugin) {
            (Some(scrambled), _) => scrambled,
            (None, PasswordPlugin::Native) => Vec::new(),
            // As libmysql does: a packet without a byte would leave the server to what its buffer held before.
            (None, PasswordPlugin::CachingSha2 | PasswordPlugin::Sha256) => vec![0],
        }
    }
}

fn unknown_plugin(name: &str) -> MysqlWireError {
    let name: String = name.chars().take(64).collect();
    let text = format!(
        "the account uses the authentication plugin `{name}`, which plimsoll does not have; use an account with \
         mysql_native_password, caching_sha2_password or (over TLS) sha256_password"
    );
    explained_error(ErrorKind::Unsupported, text).into()
}

/// Parses the first packet of a server. The crate subtracts 8 from the length of the nonce as a signed byte, so a length of 128 to 135
/// would overflow: no server has one.
fn parse_greeting(packet: &[u8]) -> Result<HandshakePacket<'_>, MysqlWireError> {
    const PROTOCOL: u8 = 10;
    /// Behind the version: connection, nonce, filler, abilities, collation, status, more abilities.
    const NONCE_LENGTH_AT: usize = 4 + 8 + 1 + 2 + 1 + 2 + 2;
    if packet[0] != PROTOCOL {
        return Err(protocol_error(format!("a greeting of version {}; only version 10 is supported", packet[0])));
    }
    let version_end = packet.iter().position(|byte| *byte == 0).ok_or_else(malformed_greeting)?;
    let nonce_length = packet.get(version_end + 1 + NONCE_LENGTH_AT).ok_or_else(malformed_greeting)?;
    if *nonce_length > 127 {
        return Err(malformed_greeting());
    }
    let greeting: HandshakePacket = ParseBuf(packet).parse(()).map_err(|_| malformed_greeting())?;
    let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION;
    if !greeting.capabilities().contains(needed) {
        return Err(explained_error(
            ErrorKind::Unsupported,
            "the server is older than MySQL 4.1, which plimsoll needs",
        )
        .into());
    }
    Ok(greeting)
}

fn malformed_greeting() -> MysqlWireError {
    protocol_error("a greeting that is malformed".into())
}

/// What client and server both can.
struct LoginAbilities {
    flags: CapabilityFlags,
    mariadb: MariadbCapabilities,
}

impl LoginAbilities {
    /// The request for TLS has the same flags as the response: a server may go by either.
    fn common_with(greeting: &HandshakePacket, tls: bool, login: &Credentials) -> LoginAbilities {
        let mut wanted = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_MULTI_STATEMENTS
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_CONNECT_ATTRS;
        wanted.set(CapabilityFlags::CLIENT_SSL, tls);
        wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, login.database.is_some());
        wanted.set(CapabilityFlags::CLIENT_LOCAL_FILES, login.sends_rows);
        let flags = greeting.capabilities() & wanted;
        // Only MariaDB leaves this flag out, and puts its own flags into bytes that are zero in others.
        let is_mariadb = !greeting.capabilities().contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let own = MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
            | MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
        let mariadb = if is_mariadb { greeting.mariadb_ext_capabilities() & own } else { MariadbCapabilities::empty() };
        LoginAbilities { flags, mariadb }
    }

    fn has_flag(&self, flag: CapabilityFlags) -> bool {
        self.flags.contains(flag)
    }
}

/// The longest packet that is sent or taken.
const PACKET_MAX: u32 = 16 << 20;

/// The packet that names the account, with the answer to the server's first challenge.
fn handshake_response(challenge: &LoginChallenge, login: &Credentials, abilities: &LoginAbilities) -> Vec<u8> {
    // The collation in the packet is utf8mb4 from this version on.
    const VERSION: (u16, u16, u16) = (5, 5, 3);
    let plugin = abilities.has_flag(CapabilityFlags::CLIENT_PLUGIN_AUTH).then(|| challenge.plugin.to_common());
    let attributes = abilities
        .has_flag(CapabilityFlags::CLIENT_CONNECT_ATTRS)
        .then(|| HashMap::from([("program_name".to_owned(), "plimsoll".to_owned())]));
    let response = HandshakeResponse::new(
        Some(challenge.scramble_password(login.password())),
        VERSION,
        Some(login.user.as_bytes()),
        login.database.map(str::as_bytes),
        plugin,
        abilities.flags,
        attributes,
        PACKET_MAX,
    );
    serialize_packet(&response.with_mariadb_ext_capabilities(abilities.mariadb))
}

fn serialize_packet(packet: &impl MySerialize) -> Vec<u8> {
    let mut body = Vec::new();
    packet.serialize(&mut body);
    body
}

/// Reads and writes the packets of a login.
struct LoginPackets<'a> {
    stream: &'a mut ServerStream,
    inbox: &'a mut RecvBuffer,
    sequence: &'a mut u8,
}

impl LoginPackets<'_> {
    /// Asks for TLS, if there is `tls`, or names the account.
    fn answer_greeting(
        &mut self,
        tls: Option<&TlsConnector>,
        login: &Credentials,
    ) -> Result<LoginStep, MysqlWireError> {
        self.meet_server()?;
        let greeting = self.read_packet()?;
        let greeting = parse_greeting(&greeting)?;
        let abilities = LoginAbilities::common_with(&greeting, tls.is_some(), login);
        let (challenge, id) = (LoginChallenge::from_greeting(&greeting), greeting.connection_id());
        let Some(tls) = tls else {
            self.write_packet(&handshake_response(&challenge, login, &abilities))?;
            return Ok(LoginStep::Answer(LoginBegun { challenge, abilities, id }));
        };
        if !greeting.capabilities().contains(CapabilityFlags::CLIENT_SSL) {
            return Err(tls.is_missing().into());
        }
        let request = SslRequest::new(abilities.flags, PACKET_MAX, CollationId::UTF8MB4_GENERAL_CI as u8);
        self.write_packet(&serialize_packet(&request.with_mariadb_capabilities(abilities.mariadb)))?;
        self.check_unasked()?;
        self.stream.begin_tls(tls)?;
        Ok(LoginStep::Handshake(LoginBegun { challenge, abilities, id }))
    }

    /// Looks at how the server begins: another than MySQL may be at its port, and PostgreSQL waits for a client to begin.
    fn meet_server(&mut self) -> Result<(), MysqlWireError> {
        const QUESTION: &str = "is it a MySQL server? A PostgreSQL waits until it is spoken to: try postgres://";
        let first = self.inbox.peek(TELLING, self.stream).map_err(|error| explain_silence(error, QUESTION))?;
        Ok(refuse_others(first)?)
    }

    /// Takes the next answer of the server, and answers it if there is more to prove. True if that was the last.
    fn take_answer(&mut self, begun: &mut LoginBegun, login: &Credentials) -> Result<bool, MysqlWireError> {
        let answer = self.read_packet()?;
        match answer[0] {
            OK => return Ok(true),
            AUTH_SWITCH => {
                begun.challenge = LoginChallenge::from_switch(&answer)?;
                let proof = begun.challenge.answer(login.password(), self.stream.is_encrypted())?;
                self.write_packet(&proof)?;
            }
            AUTH_MORE_DATA => self.answer_more_data(begun.challenge.plugin, &answer[1..], login.password())?,
            tag => return Err(protocol_error(format!("a packet of type {tag} during the login"))),
        }
        Ok(false)
    }

    /// Answers more data of the `plugin`.
    fn answer_more_data(&mut self, plugin: PasswordPlugin, data: &[u8], password: &str) -> Result<(), MysqlWireError> {
        match (plugin, data) {
            (PasswordPlugin::CachingSha2, [FAST_AUTH_SUCCESS]) => Ok(()),
            (PasswordPlugin::CachingSha2, [PERFORM_FULL_AUTH]) if self.stream.is_open_to_others() => {
                let why = "the server wants the password itself (caching_sha2_password, not in its cache), and this connection is in clear text; \
                           add `ssl-mode=REQUIRED` or stronger to the URL, or connect over a unix socket";
                Err(explained_error(ErrorKind::PermissionDenied, why).into())
            }
            // The password itself with a closing zero, which is safe on a socket or over TLS.
            (PasswordPlugin::CachingSha2, [PERFORM_FULL_AUTH]) => {
                self.write_packet(&[password.as_bytes(), &[0]].concat())
            }
            (plugin, _) => Err(protocol_error(format!("data that {} does not have", plugin.as_str()))),
        }
    }

    /// The body of the server's next packet, which has at least a byte and is no error.
    fn read_packet(&mut self) -> Result<Vec<u8>, MysqlWireError> {
        let header = *self.inbox.peek(HEADER, self.stream)?.first_chunk::<HEADER>().expect("so many were asked for");
        let [low, high, highest, sequence] = header;
        if highest > 0 {
            return Err(protocol_error("a packet above 64 KiB during the login".into()));
        }
        let length = HEADER + usize::from(u16::from_le_bytes([low, high]));
        self.inbox.peek(length, self.stream)?;
        let body = self.inbox.take(length)[HEADER..].to_vec();
        match body.first() {
            None => Err(protocol_error("an empty packet during the login".into())),
            // A server that has no connection left may send its error with any number.
            Some(&ERR) => Err(server_error(&body)),
            Some(_) if sequence != *self.sequence => {
                Err(protocol_error(format!("packet number {sequence} where {} was due", self.sequence)))
            }
            Some(_) => {
                *self.sequence = self.sequence.wrapping_add(1);
                Ok(body)
            }
        }
    }

    fn write_packet(&mut self, body: &[u8]) -> Result<(), MysqlWireError> {
        let [low, high, highest, _] = (body.len() as u32).to_le_bytes();
        let packet = [&[low, high, highest, *self.sequence], body].concat();
        *self.sequence = self.sequence.wrapping_add(1);
        Ok(self.stream.write_all(&packet)?)
    }

    /// Bytes that came before they were asked for may have been put there by an attacker on the way.
    fn check_unasked(&self) -> Result<(), MysqlWireError> {
        match self.inbox.is_empty() {
            true => Ok(()),
            false => Err(protocol_error("bytes that were not asked for".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    //! The login against scripted servers; real ones are in the contract tests.

    use super::*;
    use crate::server::network::explanation;
    use host::deadline::Deadline;
    use std::io::{self, Read};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;
    use std::time::Duration;

    const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
    const LOGIN: Credentials =
        Credentials { user: "jo", password: Some("canary"), database: Some("d"), sends_rows: false };
    const ACCEPTED: &[u8] = &[OK, 0, 0, 2, 0, 0, 0];

    fn greeting(plugin: &str) -> Vec<u8> {
        let flags = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_CONNECT_WITH_DB
            | CapabilityFlags::CLIENT_LOCAL_FILES
            | CapabilityFlags::CLIENT_LONG_PASSWORD;
        let [a, b, c, d] = flags.bits().to_le_bytes();
        let fixed = [a, b, 45, 2, 0, c, d, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let nonce = [&NONCE[8..], &[0]].concat();
        [b"\x0a8.4.0\0\x07\0\0\0", &NONCE[..8], b"\0", &fixed, &nonce, plugin.as_bytes(), b"\0"].concat()
    }

    fn switch_to(plugin: &str) -> Vec<u8> {
        [&[AUTH_SWITCH][..], plugin.as_bytes(), b"\0", NONCE, b"\0"].concat()
    }

    fn framed(sequence: u8, body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_le_bytes()[..3], &[sequence], body].concat()
    }

    fn read_packet(stream: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let mut body = vec![0; u16::from_le_bytes([header[0], header[1]]).into()];
        stream.read_exact(&mut body).map(|()| body)
    }

    /// A server that sends the first packet, and each further one when it has read a packet, or at once if that is `()`: what it read.
    fn serve<S: Read + Write + Send + 'static>(
        mut stream: S,
        packets: Vec<(bool, Vec<u8>)>,
    ) -> JoinHandle<Vec<Vec<u8>>> {
        std::thread::spawn(move || {
            let (mut received, mut sequence) = (Vec::new(), 0);
            for (reads_first, body) in packets {
                if reads_first {
                    let Ok(packet) = read_packet(&mut stream) else { return received };
                    received.push(packet);
                    sequence += 1;
                }
                stream.write_all(&framed(sequence, &body)).unwrap();
                sequence += 1;
            }
            received.extend(read_packet(&mut stream)); // it may have hung up
            received
        })
    }

    /// Logs in over a unix socket.
    fn over_socket(login: &Credentials, packets: Vec<(bool, Vec<u8>)>) -> (Result<(), MysqlWireError>, Vec<Vec<u8>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = serve(theirs, packets);
        let done = log_in(ours.into(), None, login).map(drop);
        (done, server.join().unwrap())
    }

    fn message(done: Result<(), MysqlWireError>) -> String {
        match done {
            Ok(()) => "no error".into(),
            Err(MysqlWireError::Io(error)) => explanation(&error).map_or_else(|| format!("{error:?}"), str::to_owned),
            Err(MysqlWireError::Server { text, .. }) => text,
        }
    }

    fn contains(packet: &[u8], part: &[u8]) -> bool {
        packet.windows(part.len()).any(|bytes| bytes == part)
    }

    #[test]
    fn a_native_password_is_scrambled_with_the_nonce() {
        let (done, received) =
            over_socket(&LOGIN, vec![(false, greeting("mysql_native_password")), (true, ACCEPTED.to_vec())]);
        done.unwrap();
        let expected = scramble_native(NONCE, b"canary").unwrap();
        assert!(contains(&received[0], &[b"jo\0\x14", &expected[..], b"d\0mysql_native_password\0"].concat()));
        assert!(!received.iter().any(|packet| contains(packet, b"canary")));
    }

    #[test]
    fn an_account_with_another_plugin_is_logged_in_after_a_switch() {
        for (first, second) in [
            ("caching_sha2_password", "mysql_native_password"),
            ("mysql_native_password", "caching_sha2_password"),
            ("client_ed25519", "mysql_native_password"),
        ] {
            let packets = vec![(false, greeting(first)), (true, switch_to(second)), (true, ACCEPTED.to_vec())];
            let (done, received) = over_socket(&LOGIN, packets);
            done.unwrap();
            assert_eq!(received[1].len(), if second.starts_with("mysql") { 20 } else { 32 }, "{second}");
        }
    }

    #[test]
    fn caching_sha2_needs_the_password_itself_only_when_the_server_has_no_hash_of_it() {
        let plugin = "caching_sha2_password";
        let fast = vec![(false, greeting(plugin)), (true, vec![1, 3]), (false, ACCEPTED.to_vec())];
        let (done, received) = over_socket(&LOGIN, fast);
        done.unwrap();
        assert!(contains(&received[0], &scramble_sha256(NONCE, b"canary").unwrap()) && received.len() == 1);
        let full = vec![(false, greeting(plugin)), (true, vec![1, 4]), (true, ACCEPTED.to_vec())];
        let (done, received) = over_socket(&LOGIN, full);
        done.unwrap();
        assert_eq!(received[1], b"canary\0");
    }

    #[test]
    fn a_password_does_not_go_over_the_network_in_clear_text() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let packets = vec![(false, greeting("caching_sha2_password")), (true, vec![1, 4]), (true, ACCEPTED.to_vec())];
        let server = serve(listener.accept().unwrap().0, packets);
        let text = message(log_in(ours.into(), None, &LOGIN).map(drop));
        assert!(text.contains("ssl-mode=REQUIRED") && text.contains("unix socket"), "{text}");
        let received = server.join().unwrap();
        assert!(received.len() == 1 && !contains(&received[0], b"canary"), "{received:?}");
    }

    #[test]
    fn an_account_with_sha256_password_needs_tls() {
        let packets =
            vec![(false, greeting("sha256_password")), (true, switch_to("sha256_password")), (true, ACCEPTED.to_vec())];
        let (done, received) = over_socket(&LOGIN, packets);
        assert!(message(done).contains("add `ssl-mode=REQUIRED`"));
        assert!(!received.iter().any(|packet| contains(packet, b"canary")), "{received:?}");
    }

    #[test]
    fn only_loaders_offer_to_send_what_a_server_asks_for() {
        for sends_rows in [false, true] {
            let login = Credentials { sends_rows, ..LOGIN };
            let packets = vec![(false, greeting("mysql_native_password")), (true, ACCEPTED.to_vec())];
            let (done, received) = over_socket(&login, packets);
            done.unwrap();
            let flags = u32::from_le_bytes(*received[0].first_chunk().unwrap());
            let offered = CapabilityFlags::from_bits_truncate(flags).contains(CapabilityFlags::CLIENT_LOCAL_FILES);
            assert_eq!(offered, sends_rows);
        }
    }

    #[test]
    fn an_empty_password_is_not_scrambled() {
        for (plugin, expected) in [("mysql_native_password", &b"jo\0\0"[..]), ("caching_sha2_password", b"jo\0\x01\0")]
        {
            for password in [None, Some("")] {
                let login = Credentials { password, ..LOGIN };
                let (done, received) = over_socket(&login, vec![(false, greeting(plugin)), (true, ACCEPTED.to_vec())]);
                done.unwrap();
                assert!(contains(&received[0], &[expected, b"d\0"].concat()), "{received:?}");
            }
        }
    }

    #[test]
    fn a_plugin_that_is_not_known_is_named() {
        for plugin in ["client_ed25519", "parsec", "dialog"] {
            let packets = vec![(false, greeting("mysql_native_password")), (true, switch_to(plugin))];
            let text = message(over_socket(&LOGIN, packets).0);
            assert!(text.contains(&format!("`{plugin}`")) && text.contains("caching_sha2_password"), "{text}");
        }
        let packets = vec![(false, greeting("mysql_native_password")), (true, vec![AUTH_SWITCH])];
        assert!(message(over_socket(&LOGIN, packets).0).contains("`mysql_old_password`"));
    }

    #[test]
    fn the_servers_own_error_is_kept() {
        let refusal = b"\xff\x15\x04#28000Access denied for user 'jo'@'localhost' (using password: YES)";
        let (done, _) = over_socket(&LOGIN, vec![(false, greeting("mysql_native_password")), (true, refusal.to_vec())]);
        assert!(matches!(done, Err(MysqlWireError::Server { code: 1045, .. })));
        let (done, _) = over_socket(&LOGIN, vec![(false, b"\xff\x10\x04Too many connections".to_vec())]);
        assert!(message(done).contains("Too many connections"));
    }

    #[test]
    fn whatever_a_server_greets_with_is_an_error_and_no_panic() {
        let good = greeting("mysql_native_password");
        for length in 0..good.len() {
            let (done, _) = over_socket(&LOGIN, vec![(false, good[..length].to_vec())]);
            assert!(done.is_err(), "{length}");
        }
        // Every value of every byte: those that still are a greeting lead to a server that has hung up.
        for at in 0..good.len() {
            for value in [0, 1, 127, 128, 129, 135, 136, 255] {
                let mut wrong = good.clone();
                wrong[at] = value;
                let Err(MysqlWireError::Io(_) | MysqlWireError::Server { .. }) =
                    over_socket(&LOGIN, vec![(false, wrong)]).0
                else {
                    panic!("byte {at} = {value} was a login")
                };
            }
        }
    }

    #[test]
    fn a_server_that_does_not_keep_to_the_protocol_is_left_with_what_was_wrong() {
        let native = greeting("mysql_native_password");
        for (packets, why) in [
            (vec![(false, native.clone()), (true, vec![])], "an empty packet"),
            (vec![(false, native.clone()), (true, vec![7])], "type 7"),
            (vec![(false, native.clone()), (true, vec![1, 4])], "mysql_native_password does not have"),
            (vec![(false, native.clone()), (true, vec![1])], "mysql_native_password does not have"),
            (vec![(false, native.clone()), (true, b"\xfename".to_vec())], "has no end"),
            (vec![(false, b"SSH-2.0".to_vec())], "version 83"),
        ] {
            let text = message(over_socket(&LOGIN, packets).0);
            assert!(text.contains(why) && text.contains("MySQL protocol"), "{text}");
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").unwrap();
        let text = message(log_in(ours.into(), None, &LOGIN).map(drop));
        assert!(text.starts_with("an SSH server answers there"), "{text}");
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&framed(3, &native)).unwrap();
        let text = message(log_in(ours.into(), None, &LOGIN).map(drop));
        assert!(text.contains("packet number 3 where 0 was due"), "{text}");
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[framed(0, &native), framed(2, ACCEPTED), framed(0, ACCEPTED)].concat()).unwrap();
        let text = message(log_in(ours.into(), None, &LOGIN).map(drop));
        assert!(text.contains("bytes that were not asked for"), "{text}");
    }

    #[test]
    fn a_server_that_says_nothing_may_be_a_postgres() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut stream = ServerStream::from(ours);
        stream.set_deadline(Some(Deadline::unless_interrupted(Duration::from_millis(50))));
        let text = message(LoginProgress::default().go_on(&mut stream, None, &LOGIN).map(drop));
        assert!(text.starts_with("the server gave no complete answer within 0.05 s; is it a MySQL server?"), "{text}");
        assert!(text.ends_with("try postgres://"), "{text}");
    }
}
