//! The server that a log is replayed on: it must be a copy, and not the recorded one.
//!
//! In: a log, a server and an account on it. Out: a refusal, or the names of the recorded schemas there. Limits: what must not happen is that
//! statements reach the server that was recorded. So a server is refused that writes the log itself, that the user named as the recorded one, or
//! whose version, port and socket are those that the log names.

use crate::recordings::ReplayedLog;
use crate::server::identity::is_same_server;
use crate::server::network::Route;
use crate::sql::OpFailure;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::server_kind::SqlServer;
use host::error::{TargetError, shown};
use model::Params;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workload::replay_sql::{self, LogDialect, RecordedServer, SqlRecording, WithoutSchema};

/// Refuses the server behind `admin` if it writes the log at `path` itself. Asked before the log is read again: it would have grown by what
/// was asked.
pub fn check_writes_elsewhere<S: SqlServer>(
    path: &Path,
    admin: &mut S::Admin,
    data_dir: Option<&str>,
) -> Result<(), TargetError> {
    let mut ask = |question: &str| admin.query_value(question).ok().flatten();
    let files = S::replay_words().log_files.iter().filter_map(|question| ask(question));
    match files.map(|file| in_directory(data_dir, &file)).find(|file| is_same_file(file, path)) {
        None => Ok(()),
        Some(file) => Err(TargetError::Unsupported(format!(
            "the server writes `{}` itself: it is the recorded server; replay on a copy",
            shown(&file)
        ))),
    }
}

/// Refuses to replay `log` on the server behind `admin` if that is the recorded one, or of another kind.
pub fn check_server<S: SqlServer>(
    server: &S,
    log: &ReplayedLog,
    params: &Params,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<(), TargetError> {
    let words = S::replay_words();
    let refused = |text: String| Err(TargetError::Unsupported(text));
    if words.dialect != log.dialect {
        let on = match words.dialect {
            LogDialect::Mysql => "mysql",
            LogDialect::Postgres => "postgres",
        };
        return refused(format!(
            "`{}` has the statements of {}; they cannot be replayed on `{on}`: name a copy of their own server",
            shown(&log.path),
            log.dialect
        ));
    }
    let recorded_on = replay_sql::recorded_on(params);
    if !recorded_on.is_empty() && is_recorded(server, recorded_on, address, admin)? {
        return refused(format!(
            "recorded_on = `{}` is the server of the URL; replay on a copy",
            shown(recorded_on.as_ref())
        ));
    }
    let mut ask = |question: &str| admin.query_value(question).ok().flatten();
    let found = RecordedServer {
        version: ask(words.version).unwrap_or_default(),
        port: ask(words.port).and_then(|port| port.parse().ok()),
        socket: ask(words.socket),
    };
    if is_like(&log.recording.server, &found) && !replay_sql::allows_same_server(params) {
        return refused(format!(
            "the log names version `{}`, port {} and socket `{}` of its server, and this server has the same: it may be the recorded one; \
             use same_server = `true` if it is a copy on another machine",
            found.version,
            found.port.map_or("none".to_owned(), |port| port.to_string()),
            found.socket.unwrap_or_default()
        ));
    }
    Ok(())
}

/// Refuses to replay `log` on the server behind `admin` if that has no copy of its schemas.
pub fn check_schemas<S: SqlServer>(
    log: &ReplayedLog,
    params: &Params,
    admin: &mut S::Admin,
) -> Result<(), TargetError> {
    let names = copied_schemas(&log.recording, params)?;
    for (recorded, name) in log.recording.schemas().iter().zip(&names).filter(|(_, name)| !name.is_empty()) {
        let question = S::replay_words().has_schema.replace("{}", &name.replace('\'', "''"));
        let there = admin.query_value(&question).map_err(|error| TargetError::Failed(OpFailure::from(error).text))?;
        if there.is_none() {
            return Err(TargetError::Unsupported(format!(
                "the server has no `{}`, in which statements of the log are; if the copy has another name, use schemas = `{}=NAME`",
                shown(name.as_ref()),
                shown(recorded.as_ref())
            )));
        }
    }
    check_schema_of_url::<S>(log, admin)
}

/// What a URL without a schema connects to, if it is one of MySQL.
pub const USUAL_SCHEMA: &str = "information_schema";

/// Refuses a log of MySQL most statements of which need a schema that neither it nor the URL names: all of them would fail.
fn check_schema_of_url<S: SqlServer>(log: &ReplayedLog, admin: &mut S::Admin) -> Result<(), TargetError> {
    if log.dialect != LogDialect::Mysql {
        return Ok(());
    }
    let current = admin.query_value("SELECT DATABASE()").ok().flatten();
    if current.is_none_or(|current| !current.eq_ignore_ascii_case(USUAL_SCHEMA)) {
        return Ok(());
    }
    let unusable = |error: std::io::Error| TargetError::Unsupported(format!("the statements of the log: {error}"));
    let found = log.recording.without_schema(log.dialect.sql()).map_err(unusable)?;
    let is_one_way = log.recording.skipped.kinds().any(|(name, _)| name == UNANSWERED);
    match without_schema(&found, log.recording.len(), if is_one_way { SchemaLost::OneWay } else { SchemaLost::Before })
    {
        Some(refusal) => Err(TargetError::Unsupported(refusal)),
        None => Ok(()),
    }
}

/// How connections of a capture are counted of which it has only what the client sent.
const UNANSWERED: &str = "connections_without_what_the_server_sent";

/// Why a log does not say the schema of sessions.
#[derive(Clone, Copy)]
enum SchemaLost {
    /// They began before it.
    Before,
    /// It is a capture without what the server sent: a login cannot be read without the server's greeting.
    OneWay,
}

/// Why a log with `all` statements cannot be replayed without a schema; `None` if it can, but for fewer than half of them.
fn without_schema(found: &WithoutSchema, all: u64, lost: SchemaLost) -> Option<String> {
    let WithoutSchema { statements, sessions } = found;
    let (why, helps) = match lost {
        SchemaLost::Before => ("they began before it", ""),
        SchemaLost::OneWay => ("the capture lacks what the server sent", "capture both directions, or "),
    };
    (2 * statements > all).then(|| {
        format!(
            "the log does not say in which schema {sessions} of its sessions are, because {why}, and {statements} of its {all} statements name \
             tables without one: {helps}name the schema in the URL, as `mysql://USER@HOST/SCHEMA`"
        )
    })
}

/// The names of the schemas on the copy, in the order of the recording's.
pub fn copied_schemas(recording: &SqlRecording, params: &Params) -> Result<Vec<String>, TargetError> {
    let names = replay_sql::schema_names(params).map_err(TargetError::Unsupported)?;
    if let Some((unknown, _)) = names.iter().find(|(old, _)| !recording.schemas().contains(old)) {
        let text = format!("schemas: no statement of the log is in `{}`", shown(unknown.as_ref()));
        return Err(TargetError::Unsupported(text));
    }
    let name =
        |recorded: &String| names.iter().find(|(old, _)| old == recorded).map_or(recorded, |(_, new)| new).clone();
    Ok(recording.schemas().iter().map(name).collect())
}

fn in_directory(dir: Option<&str>, file: &str) -> PathBuf {
    Path::new(dir.unwrap_or("/")).join(file)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    id(one).is_some_and(|found| Some(found) == id(other))
}

/// The server at the place that the user named answers soon, or cannot be asked.
const RECORDED_PATIENCE: Duration = Duration::from_secs(5);

/// Whether the server behind `admin` is the one at `place`: by its address, or because both say that they are the same. A place that does
/// not answer the account is known by its address only.
fn is_recorded<S: SqlServer>(
    server: &S,
    place: &str,
    address: &S::Address,
    admin: &mut S::Admin,
) -> Result<bool, TargetError> {
    let route = S::route_of(address);
    let named = route_to(place, route)?;
    if leads_to_same(route, &named) {
        return Ok(true);
    }
    let Ok(mut there) = S::connect_admin(&S::at_route(address, named), RECORDED_PATIENCE) else { return Ok(false) };
    let questions = server.spec().watched.identity;
    Ok(is_same_server(
        questions,
        |question| admin.query_rows(question).ok(),
        |question| there.query_rows(question).ok(),
    ))
}

/// The way to `place`, a HOST:PORT or the path of a socket, with the encryption of `like`.
fn route_to(place: &str, like: &Route) -> Result<Route, TargetError> {
    let refused = || {
        let text = "recorded_on: write HOST:PORT, or the path of a socket; no user and no password";
        TargetError::Unsupported(text.to_owned())
    };
    if place.contains('@') || place.contains("://") {
        return Err(refused());
    }
    if place.starts_with('/') {
        return Ok(Route::Socket(place.to_owned()));
    }
    let (host, port) = place.rsplit_once(':').ok_or_else(refused)?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(Route::Host(host, port.parse().map_err(|_| refused())?, like.tls().cloned()))
}

/// Whether both routes have one socket, or one address and port.
fn leads_to_same(one: &Route, other: &Route) -> bool {
    match (one, other) {
        (Route::Socket(one), Route::Socket(other)) => is_same_file(Path::new(one), Path::new(other)),
        (Route::Host(one, port, _), Route::Host(other, other_port, _)) => {
            let addresses = |host: &str| -> Vec<SocketAddr> {
                (host, *port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
            };
            let is_one_host =
                one.eq_ignore_ascii_case(other) || addresses(other).iter().any(|it| addresses(one).contains(it));
            is_one_host && port == other_port
        }
        _ => false,
    }
}

/// `address` with the schema `name` of the copy as the current one; an empty name is none.
pub fn address_in<S: SqlServer>(address: &S::Address, name: &str) -> S::Address {
    if name.is_empty() { address.clone() } else { S::in_recorded_schema(address, name) }
}

/// Whether all that a log says of its server is so of the server that was `found`.
fn is_like(recorded: &RecordedServer, found: &RecordedServer) -> bool {
    // MySQL adds `-log` while it writes one.
    let version = |text: &str| text.split(' ').next().unwrap_or_default().trim_end_matches("-log").to_owned();
    let is_named = recorded.port.is_some() || recorded.socket.is_some();
    is_named
        && version(&recorded.version) == version(&found.version)
        && recorded.port.is_none_or(|port| Some(port) == found.port)
        && recorded.socket.as_ref().is_none_or(|socket| Some(socket) == found.socket.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, port: Option<u16>, socket: Option<&str>) -> RecordedServer {
        RecordedServer { version: version.into(), port, socket: socket.map(str::to_owned) }
    }

    #[test]
    fn a_server_is_like_the_recorded_one_if_all_that_the_log_says_is_so() {
        let found = server("10.11.19-MariaDB", Some(3306), Some("/run/s"));
        let is_so = |version: &str, port, socket| is_like(&server(version, port, socket), &found);
        assert!(is_so("10.11.19-MariaDB-log", Some(3306), Some("/run/s")));
        assert!(is_so("10.11.19-MariaDB", None, Some("/run/s")));
        assert!(!is_so("10.11.19-MariaDB", Some(3307), Some("/run/s")));
        assert!(!is_so("10.6.1-MariaDB", Some(3306), Some("/run/s")));
        assert!(!is_so("10.11.19-MariaDB", None, None), "the log does not say where it was");
        assert!(is_like(&server("15.18", Some(5432), None), &server("15.18 (Debian 15.18-0)", Some(5432), None)));
    }

    #[test]
    fn a_log_is_refused_if_most_of_its_statements_need_a_schema_that_nobody_names() {
        let told = |statements, lost| without_schema(&WithoutSchema { statements, sessions: 8 }, 3_233, lost);
        let of = |statements| told(statements, SchemaLost::Before);
        assert_eq!([of(0), of(1_616)], [None, None]);
        let refusal = of(2_095).expect("most need one");
        assert!(refusal.contains("8 of its sessions") && refusal.contains("2095 of its 3233 statements"), "{refusal}");
        assert!(refusal.contains("because they began before it, and"), "{refusal}");
        let one_way = told(2_095, SchemaLost::OneWay).expect("most need one");
        assert!(
            one_way.contains("lacks what the server sent") && one_way.contains("capture both directions"),
            "{one_way}"
        );
    }

    #[test]
    fn the_recorded_server_is_known_by_its_host_and_port_or_its_socket() {
        let host = |name: &str| Route::Host(name.into(), 3306, None);
        let at = |route: &Route, place: &str| {
            route_to(place, route).map(|named| leads_to_same(route, &named)).map_err(|error| error.to_string())
        };
        assert_eq!(at(&host("127.0.0.1"), "localhost:3306"), Ok(true));
        assert_eq!(at(&host("127.0.0.1"), "127.0.0.1:3307"), Ok(false));
        assert_eq!(at(&host("db1"), "DB1:3306"), Ok(true));
        assert!(at(&host("db1"), "mysql://u:secret@db1:3306").is_err_and(|text| !text.contains("secret")));
        assert!(at(&host("db1"), "db1").is_err());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(at(&Route::Socket(path.into()), path), Ok(true));
        assert_eq!(at(&Route::Socket(path.into()), "localhost:3306"), Ok(false), "by its address");
        assert_eq!(at(&host("db1"), path), Ok(false));
    }
}
