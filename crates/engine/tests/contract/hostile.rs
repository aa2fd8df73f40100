//! Servers by URL that answer wrongly, too much, too slowly or not at all: each is an error of one line, in time.

use crate::lab::{directory, start, trial};
use host::TargetError;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Several times the deadline of a control answer: on a busy machine the client is late as well.
const IN_TIME: Duration = Duration::from_secs(60);

/// What a server does on a connection, until it fails because the client has left.
type Script = fn(&mut TcpStream) -> io::Result<()>;

/// A server that follows `script` on each connection: its port.
fn serve(script: Script) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = script(&mut stream); // the client leaves
        }
    });
    port
}

/// The error of the engine on a server that follows `script`.
fn error_of(engine: &str, script: Script) -> String {
    let port = serve(script);
    let url = if engine == "mysql" { "mysql://u@127.0.0.1" } else { "postgres://u@127.0.0.1" };
    let (url, parent, began) = (format!("{url}:{port}/"), directory(), Instant::now());
    let Err(error) = start(&trial(engine, "oltp", &[("url", &url)]), parent.path()) else { panic!("it was taken") };
    let took = began.elapsed();
    assert!(took < IN_TIME, "{error} after {took:?}");
    assert!(matches!(error, TargetError::Failed(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("`{url}`: ")) && !text.contains(char::is_control), "{text}");
    text
}

/// Each script, at the same time as the others: most of them wait for a deadline.
fn errors_of(engine: &'static str, cases: Vec<(Script, &'static str)>) {
    let cases: Vec<_> = cases
        .into_iter()
        .map(|(script, expected)| (std::thread::spawn(move || error_of(engine, script)), expected))
        .collect();
    for (text, expected) in cases {
        let text = text.join().unwrap();
        assert!(text.contains(expected), "{expected:?} in {text:?}");
    }
}

/// Sends a byte every now and then, for ever.
fn trickle(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes.iter().cycle() {
        stream.write_all(&[*byte])?;
        std::thread::sleep(Duration::from_millis(300)); // the real time of a slow server: there is nothing to fake
    }
    Ok(())
}

/// Says nothing more, until the client leaves.
fn be_silent(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

const LATE: &str = "the server gave no complete answer within 5 s";

mod mysql {
    use super::*;

    const GREETING: &[u8] = b"\x0a8.4.0\0\x01\0\0\0abcdefgh\0\x00\x82\x2d\x02\0\x08\0\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const END: &[u8] = &[0xfe, 0, 0, 2, 0];

    fn send(stream: &mut TcpStream, sequence: u8, body: &[u8]) -> io::Result<()> {
        stream.write_all(&[&(body.len() as u32).to_le_bytes()[..3], &[sequence], body].concat())
    }

    fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        stream.read_exact(&mut header)?;
        let mut body = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        stream.read_exact(&mut body).map(|()| body)
    }

    /// Lets the client in, and receives its first query.
    fn log_in(stream: &mut TcpStream) -> io::Result<()> {
        send(stream, 0, GREETING)?;
        receive(stream)?;
        send(stream, 2, OK)?;
        receive(stream).map(drop)
    }

    /// Answers each query by a row of one column, whose value has the bytes `value`.
    fn always(stream: &mut TcpStream, value: &[u8]) -> io::Result<()> {
        log_in(stream)?;
        loop {
            for (nth, body) in [&[1][..], b"a column", END, value, END].into_iter().enumerate() {
                send(stream, nth as u8 + 1, body)?;
            }
            receive(stream)?;
        }
    }

    #[test]
    fn a_mysql_server_that_answers_wrongly_is_an_error_of_one_line_in_time() {
        errors_of(
            "mysql",
            vec![
                (|s| log_in(s).and_then(|()| send(s, 1, &[[0xfe].as_slice(), &[0xff; 8]].concat())), "columns"),
                (|s| log_in(s).and_then(|()| send(s, 1, &[0])), "malformed packet"),
                (|s| log_in(s).and_then(|()| send(s, 1, &[])), "an empty packet"),
                (|s| log_in(s).and_then(|()| send(s, 7, OK)), "packet number 7 where 1 was due"),
                (|s| log_in(s).and_then(|()| send(s, 1, b"\xfb/etc/passwd")), "a local file"),
                (|s| always(s, b"\x03abc"), "answered `abc` where `SELECT @@global.read_only` asks for a number"),
                (|s| always(s, b"\xfb"), "answered NULL where `SELECT @@global.read_only` asks for a number"),
                (|s| always(s, b"\x05\x1b[2J\x07"), "answered ` [2J ` where"),
                (|s| log_in(s).and_then(|()| s.write_all(&[0xff; 4])), "16 MiB"),
                (log_in, "the connection was lost"),
            ],
        );
    }

    #[test]
    fn a_mysql_server_that_keeps_its_client_waiting_is_left_in_time() {
        errors_of(
            "mysql",
            vec![
                (be_silent, LATE),
                (|s| trickle(s, &[80, 0, 0, 0]), LATE),
                (|s| send(s, 0, GREETING).and_then(|()| be_silent(s)), LATE),
                (|s| log_in(s).and_then(|()| be_silent(s)), LATE),
                (|s| log_in(s).and_then(|()| trickle(s, &[0, 0, 9, 1])), LATE),
                (
                    |s| {
                        log_in(s)?;
                        [&[1][..], b"a", END].into_iter().zip(1..).try_for_each(|(body, nth)| send(s, nth, body))?;
                        (4..=u8::MAX).chain((0..=u8::MAX).cycle()).try_for_each(|nth| send(s, nth, &[1, b'x']))
                    },
                    // Whichever comes first on this machine.
                    "the server",
                ),
            ],
        );
    }

    #[test]
    fn a_mysql_login_that_plimsoll_does_not_have_is_named() {
        fn ask_for(stream: &mut TcpStream, packet: &[u8]) -> io::Result<()> {
            send(stream, 0, GREETING)?;
            receive(stream)?;
            send(stream, 2, packet)?;
            be_silent(stream)
        }
        errors_of(
            "mysql",
            vec![
                (|s| ask_for(s, b"\xfeclient_ed25519\0abcdefghijklmnopqrstuvwxyzabcdef\0"), "plugin `client_ed25519`"),
                (
                    |s| ask_for(s, b"\xff\x15\x04#28000Access denied for user 'u'@'h'"),
                    "PLIMSOLL_PASSWORD or use --password-file",
                ),
                (
                    |s| ask_for(s, b"\xff\x57\x0c#HY000Connections using insecure transport are prohibited"),
                    "`ssl-mode=REQUIRED`",
                ),
            ],
        );
    }
}

mod postgres {
    use super::*;

    const READY: &[u8] = b"Z\0\0\0\x05I";
    const AUTHENTICATED: &[u8] = b"R\0\0\0\x08\0\0\0\0";
    const NOTICE: &[u8] = b"N\0\0\0\x11SNOTICE\0Mx\0\0";
    const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01x";
    const PARAMETER: &[u8] = b"S\0\0\0\x08a\0b\0";

    fn receive(stream: &mut TcpStream) -> io::Result<usize> {
        stream.read(&mut [0; 4096])
    }

    /// Lets the client in, and receives its first query.
    fn log_in(stream: &mut TcpStream) -> io::Result<()> {
        receive(stream)?;
        stream.write_all(&[AUTHENTICATED, READY].concat())?;
        receive(stream).map(drop)
    }

    /// Sends `message`, and sends it again, for ever.
    fn flood(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
        let many = message.repeat(1000);
        loop {
            stream.write_all(&many)?;
        }
    }

    #[test]
    fn a_postgresql_server_that_answers_wrongly_is_an_error_of_one_line_in_time() {
        errors_of(
            "postgresql",
            vec![
                (|s| log_in(s).and_then(|()| s.write_all(b"D\0\0\0\x06\x7f\xff")), "malformed message"),
                (|s| log_in(s).and_then(|()| s.write_all(b"D\xff\xff\xff\xff")), "malformed message"),
                (|s| log_in(s).and_then(|()| s.write_all(b"Z\0\0\0\0")), "malformed message"),
                (|s| log_in(s).and_then(|()| s.write_all(b"N\x02\0\0\0")), "16 MiB"),
                (
                    |s| receive(s).and_then(|_| s.write_all(b"R\0\0\0\x08\0\0\0\x07")).and_then(|()| be_silent(s)),
                    "GSSAPI",
                ),
                (
                    |s| receive(s).and_then(|_| s.write_all(b"R\0\0\0\x08\0\0\0\x03")).and_then(|()| be_silent(s)),
                    "clear text",
                ),
                (log_in, "the connection was lost"),
            ],
        );
    }

    #[test]
    fn a_postgresql_server_that_floods_its_client_is_left_in_time() {
        // Whichever comes first on this machine: the deadline or the budget.
        errors_of(
            "postgresql",
            vec![
                (|s| log_in(s).and_then(|()| flood(s, ROW)), "the server"),
                (|s| log_in(s).and_then(|()| flood(s, NOTICE)), "the server"),
                (|s| receive(s).and_then(|_| flood(s, NOTICE)), "the server"),
                (|s| receive(s).and_then(|_| flood(s, PARAMETER)), "the server"),
            ],
        );
    }

    #[test]
    fn a_postgresql_server_that_keeps_its_client_waiting_is_left_in_time() {
        errors_of(
            "postgresql",
            vec![
                (be_silent, LATE),
                (|s| receive(s).and_then(|_| trickle(s, AUTHENTICATED)), LATE),
                (|s| log_in(s).and_then(|()| be_silent(s)), LATE),
                (|s| log_in(s).and_then(|()| trickle(s, NOTICE)), LATE),
            ],
        );
    }
}
