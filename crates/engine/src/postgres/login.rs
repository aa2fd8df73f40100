//! Logs in to PostgreSQL.
//!
//! In: a connected socket, TLS if the URL asks for it, a role and its password. Out: a connection that is ready for commands. Limits: passwords
//! in clear text, MD5 and SCRAM-SHA-256; a password leaves in clear text only over TLS or a unix socket; over TLS SCRAM binds no channel.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html>

use super::wire::{HEADER, PostgresWire, PostgresWireError, malformed_message, server_error};
use crate::server::network::{AnswerBudget, AnswerLimits, PlainStream, ServerStream, explained_error};
use crate::server::tls::TlsConnector;
use crate::server::wrong_port::{TELLING_OF_MYSQL, explain_silence, may_be_mysql, refuse_mysql, refuse_others};
use crate::sql::preparing::PreparingConnection;
use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// The role to log in as, and the database.
pub struct PostgresLogin<'a> {
    pub user: &'a str,
    /// The password, if one was given.
    pub password: Option<&'a str>,
    pub database: &'a str,
    /// The schema of names without one, if it is not the server's choice.
    pub schema: Option<&'a str>,
}

impl PostgresLogin<'_> {
    /// The password, for a server that asks for it.
    fn require_password(&self) -> io::Result<&str> {
        self.password.ok_or_else(no_password)
    }
}

/// Logs in over `socket`, which is encrypted first if there is `tls`, before its deadline. A statement on data may take as long as `patience`.
pub fn open_wire(
    socket: PlainStream,
    tls: Option<&TlsConnector>,
    login: &PostgresLogin,
    patience: Duration,
    limits: AnswerLimits,
) -> Result<PostgresWire, PostgresWireError> {
    let mut wire = PostgresWire::over(socket.into(), patience, limits);
    LoginProgress::default().go_on(&mut wire, tls, login)?;
    wire.stream.set_deadline(None);
    Ok(wire)
}

/// A login, as far as it has come.
#[derive(Default)]
pub struct LoginProgress {
    step: LoginStep,
    scram: Option<ScramSha256>,
}

/// What is done next.
#[derive(Clone, Copy, Default)]
enum LoginStep {
    /// Nothing is sent yet.
    #[default]
    Begin,
    /// The server says whether it has TLS.
    TakeTlsAnswer,
    ShakeHands,
    /// The first bytes of an answer show whether it is of PostgreSQL.
    MeetServer,
    /// The server asks for proofs of the role's identity.
    Authenticate,
    /// Parameters of the server and its cancel key follow, up to the message that it is ready.
    AwaitReady,
}

impl LoginProgress {
    /// Goes on until the login over `wire` is done. If its stream does not wait and has no more for now, the next call goes on from there.
    pub fn go_on(
        &mut self,
        wire: &mut PostgresWire,
        tls: Option<&TlsConnector>,
        login: &PostgresLogin,
    ) -> Result<(), PostgresWireError> {
        loop {
            self.step = match (self.step, tls) {
                (LoginStep::Begin, Some(_)) => {
                    ask_for_tls(&mut wire.stream)?;
                    LoginStep::TakeTlsAnswer
                }
                (LoginStep::TakeTlsAnswer, Some(tls)) => {
                    take_tls_answer(&mut wire.stream, tls)?;
                    LoginStep::ShakeHands
                }
                (LoginStep::ShakeHands, Some(tls)) => {
                    wire.stream.shake_hands(tls)?;
                    name_role(wire, login)?
                }
                (LoginStep::Begin | LoginStep::TakeTlsAnswer | LoginStep::ShakeHands, None) => name_role(wire, login)?,
                (LoginStep::MeetServer, _) => meet_server(wire)?,
                (LoginStep::Authenticate, _) => self.authenticate(wire, login)?,
                (LoginStep::AwaitReady, _) => return wire.collect_rows(AnswerBudget::full()).map(drop),
            }
        }
    }

    /// Answers requests to prove the role's identity until there is none left.
    fn authenticate(&mut self, wire: &mut PostgresWire, login: &PostgresLogin) -> Result<LoginStep, PostgresWireError> {
        let mut budget = AnswerBudget::full();
        loop {
            let (tag, body) = wire.message_within(&mut budget)?;
            let request = match tag {
                b'R' => body.to_vec(),
                b'E' => return Err(server_error(body)),
                _ => continue,
            };
            let (kind, data) = request.split_first_chunk::<4>().ok_or_else(malformed_message)?;
            // A server may ask several times: SCRAM takes three requests before the last one grants access.
            match i32::from_be_bytes(*kind) {
                AUTHENTICATED => return Ok(LoginStep::AwaitReady),
                kind => self.prove_identity(wire, login, kind, data)?,
            }
            wire.send_command()?;
        }
    }

    /// Puts the answer to a request of this `kind` into the send buffer.
    fn prove_identity(
        &mut self,
        wire: &mut PostgresWire,
        login: &PostgresLogin,
        kind: i32,
        data: &[u8],
    ) -> Result<(), PostgresWireError> {
        let LoginProgress { scram, .. } = self;
        match kind {
            CLEAR_TEXT if wire.stream.is_open_to_others() => {
                let why = "the server wants the password in clear text over the network; set its pg_hba.conf to scram-sha-256, or use \
                           `sslmode=require` or stronger";
                return Err(explained_error(ErrorKind::PermissionDenied, why).into());
            }
            CLEAR_TEXT => frontend::password_message(login.require_password()?.as_bytes(), &mut wire.out)?,
            MD5 => {
                // The salt is of this connection, so a hash that was overheard is of no use for another.
                let salt = *data.first_chunk::<4>().ok_or_else(malformed_message)?;
                let hash = md5_hash(login.user.as_bytes(), login.require_password()?.as_bytes(), salt);
                frontend::password_message(hash.as_bytes(), &mut wire.out)?;
            }
            SASL => {
                let begun =
                    scram.insert(ScramSha256::new(login.require_password()?.as_bytes(), ChannelBinding::unsupported()));
                frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut wire.out)?;
            }
            SASL_CONTINUE => {
                let begun = scram.as_mut().ok_or_else(malformed_message)?;
                begun.update(data).map_err(wrong_scram)?;
                frontend::sasl_response(begun.message(), &mut wire.out)?;
            }
            SASL_FINAL => scram.as_mut().ok_or_else(malformed_message)?.finish(data).map_err(wrong_scram)?,
            kind => {
                let name = match kind {
                    2 => "Kerberos",
                    7 | 8 => "GSSAPI",
                    9 => "SSPI",
                    _ => "an unknown one",
                };
                let text = format!(
                    "the server asks for an authentication method that plimsoll does not have ({name}, number {kind}); use a role with \
                     scram-sha-256"
                );
                return Err(explained_error(ErrorKind::Unsupported, text).into());
            }
        }
        Ok(())
    }
}

/// Names the role and the database.
fn name_role(wire: &mut PostgresWire, login: &PostgresLogin) -> Result<LoginStep, PostgresWireError> {
    // The path is set with the login: a statement for it would be one more round trip with each connection.
    let path = login.schema.map(|schema| format!("-c search_path={schema}"));
    let named = [("user", login.user), ("database", login.database), ("client_encoding", "UTF8")];
    let named = named.into_iter().chain(path.as_deref().map(|path| ("options", path)));
    frontend::startup_message(named, &mut wire.out)?;
    wire.send_command()?;
    Ok(LoginStep::MeetServer)
}

/// Looks at how the server answers: another than PostgreSQL may be at its port.
fn meet_server(wire: &mut PostgresWire) -> Result<LoginStep, PostgresWireError> {
    let first = wire.next_bytes(HEADER).map_err(|error| explain_silence(error, "is it a PostgreSQL server?"))?;
    refuse_others(first)?;
    // A message of PostgreSQL with such a head has these bytes, too.
    if may_be_mysql(first) {
        refuse_mysql(wire.next_bytes(TELLING_OF_MYSQL)?)?;
    }
    Ok(LoginStep::Authenticate)
}

/// The kinds of authentication requests: <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
const AUTHENTICATED: i32 = 0;
const CLEAR_TEXT: i32 = 3;
const MD5: i32 = 5;
const SASL: i32 = 10;
const SASL_CONTINUE: i32 = 11;
const SASL_FINAL: i32 = 12;

/// Asks for TLS on `stream`, and encrypts it.
pub fn start_tls(stream: &mut ServerStream, tls: &TlsConnector) -> io::Result<()> {
    ask_for_tls(stream)?;
    take_tls_answer(stream, tls)?;
    stream.shake_hands(tls)
}

fn ask_for_tls(stream: &mut ServerStream) -> io::Result<()> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request)
}

fn take_tls_answer(stream: &mut ServerStream, tls: &TlsConnector) -> io::Result<()> {
    // One byte, and nothing that an attacker on the way may have put behind it.
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer {
        [b'S'] => stream.begin_tls(tls),
        [b'N'] => Err(tls.is_missing()),
        [first] => Err(unexpected_answer(stream, first)),
    }
}

/// The error of an answer that begins with `first`: what follows shows who gave it.
#[cold]
fn unexpected_answer(stream: &mut ServerStream, first: u8) -> io::Error {
    let mut answer = [first, 0, 0, 0, 0, 0, 0];
    let more = stream.read(&mut answer[1..]).unwrap_or(0);
    let answer = &answer[..=more];
    refuse_others(answer).and_then(|()| refuse_mysql(answer)).err().unwrap_or_else(malformed_message)
}

fn no_password() -> io::Error {
    let text = "the server asks for a password, and none was given; set PLIMSOLL_PASSWORD or use --password-file FILE";
    explained_error(ErrorKind::PermissionDenied, text)
}

/// The error of a server whose part of SCRAM is wrong: it does not know the password, or is not the server that it claims to be.
fn wrong_scram(error: io::Error) -> io::Error {
    explained_error(ErrorKind::PermissionDenied, format!("the server failed to authenticate itself (SCRAM): {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::network::{CONTROL_ANSWER, explanation};
    use host::deadline::Deadline;
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    const LOGIN: PostgresLogin = PostgresLogin { user: "u", password: Some("canary"), database: "d", schema: None };

    /// Why there is no login over `socket`.
    fn why(socket: PlainStream, login: &PostgresLogin) -> String {
        match open_wire(socket, None, login, CONTROL_ANSWER, AnswerLimits::default()) {
            Err(PostgresWireError::Io(error)) => explanation(&error).expect("an explanation").to_owned(),
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("a login"),
        }
    }

    #[test]
    fn a_password_does_not_go_over_the_network_in_clear_text() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        theirs.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
        let text = why(ours.into(), &LOGIN);
        assert!(text.contains("scram-sha-256") && text.contains("sslmode=require"), "{text}");
        let mut sent = Vec::new();
        theirs.read_to_end(&mut sent).unwrap();
        assert!(!sent.windows(6).any(|bytes| bytes == b"canary"), "{sent:?}");
    }

    #[test]
    fn a_login_that_cannot_be_made_has_its_reason() {
        let refused = |login: &PostgresLogin, bytes: &[u8]| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(bytes).unwrap();
            why(ours.into(), login)
        };
        let without = PostgresLogin { password: None, ..LOGIN };
        for kind in [3, 10] {
            let text = refused(&without, &[b"R\0\0\0\x08\0\0\0", &[kind][..]].concat());
            assert!(text.contains("PLIMSOLL_PASSWORD") && text.contains("--password-file"), "{text}");
        }
        assert!(refused(&LOGIN, b"R\0\0\0\x08\0\0\0\x07").contains("GSSAPI"));
        assert!(refused(&LOGIN, b"R\0\0\0\x08\0\0\0\x0b").contains("PostgreSQL protocol"));
        assert!(refused(&LOGIN, b"R\0\0\0\x04").contains("PostgreSQL protocol"));
        assert!(refused(&LOGIN, b"\x6e\0\0\0\x0a5.5.5-10.11.6-MariaDB\0").contains("use mysql://"));
        assert!(refused(&LOGIN, b"HTTP/1.1 400 Bad Request\r\n").starts_with("a web server answers there"));
        assert!(refused(&LOGIN, b"SSH-2.0-OpenSSH_9.6\r\n").starts_with("an SSH server answers there"));
    }

    #[test]
    fn an_answer_to_the_question_for_tls_shows_who_gave_it() {
        let why = |answer: &[u8]| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(&answer[1..]).unwrap();
            explanation(&unexpected_answer(&mut ours.into(), answer[0])).unwrap().to_owned()
        };
        assert!(why(b"\x6e\0\0\0\x0a5.5.5").contains("use mysql://"));
        assert!(why(b"HTTP/1.1").starts_with("a web server"));
        assert!(why(b"xyz").contains("malformed"));
    }

    #[test]
    fn a_server_that_says_nothing_may_be_none_of_postgres() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut wire = PostgresWire::over(ours.into(), CONTROL_ANSWER, AnswerLimits::default());
        wire.stream.set_deadline(Some(Deadline::unless_interrupted(Duration::from_millis(50))));
        let Err(PostgresWireError::Io(error)) = LoginProgress::default().go_on(&mut wire, None, &LOGIN) else {
            panic!("a login")
        };
        let text = "the server gave no complete answer within 0.05 s; is it a PostgreSQL server?";
        assert_eq!(explanation(&error), Some(text));
    }
}
