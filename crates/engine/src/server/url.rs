//! Servers that plimsoll did not start, named by a URL; and the password, which is never part of it.
//!
//! In: `mysql://user@host:3306/db`, `postgres://user@localhost/db?socket=/run/s.sock`, `mysql://user@n1,n2,n3/db` for several endpoints of one
//! database, the environment. Out: each server and the user. Limits: a user name with a comma is written with `%2C`; of options only those that name the server, the user and the database, and those of TLS, in the words of the
//! server's own clients. A password comes from a file
//! that is closed to others, from PLIMSOLL_PASSWORD or from the terminal: what is in a URL is also in the list of processes, in
//! shell histories and in run files.

use super::prompt;
use super::tls::{ServerRoute, TlsOptions};
use super::url_kind::{UrlDefaults, UrlKind, read_service};
use host::error::{IoContext, TargetError, shown};
use model::{ENDPOINTS_MAX, ParamDef, ParamKind, ParamRole, Params, is_set_name};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The URL of the server. The plan fills it in if the engine itself is given as a URL.
pub const URL: ParamDef = ParamDef {
    help: "URL of the server, with the TLS options of its own clients; usually given as the engine",
    shapes_data: true,
    ..ParamDef::new("url", ParamRole::Ground, ParamKind::Path, "")
};

/// The file of its password.
pub const PASSWORD_FILE: ParamDef = ParamDef {
    help: "file that contains only the password, or `ask` to be asked on the terminal before anything is measured; \
           default: the environment variable PLIMSOLL_PASSWORD. If the endpoints of the URL have different passwords: a line for each, \
           in their order",
    ..ParamDef::new("password_file", ParamRole::Ground, ParamKind::Path, "")
};

/// A server, and as whom to come there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// As it was given.
    pub text: String,
    /// The account to log in to.
    pub user: String,
    /// The host's name or address.
    pub host: String,
    /// `None` if none was given.
    pub port: Option<u16>,
    /// The database to log in to, if one was given.
    pub database: Option<String>,
    /// The path of a socket, which is then used in place of the host. It may be the usual one of the server.
    pub socket: Option<String>,
    /// How the connection is to be encrypted, if it is.
    pub tls: Option<TlsOptions>,
    /// Whether it is one of several endpoints of a database.
    pub is_one_of_several: bool,
}

impl ServerUrl {
    /// The URL among `params`, which begins with one of `schemes`; the error for none names `example`.
    /// Of several endpoints it is the first.
    pub fn from_params(params: &Params, schemes: &[&str], example: &str) -> Result<ServerUrl, TargetError> {
        let endpoints = ServerUrl::endpoints_from_params(params, schemes, example)?;
        Ok(endpoints.into_iter().next().expect("a URL names at least one endpoint"))
    }

    /// The same for each endpoint that the URL names, in their order.
    pub fn endpoints_from_params(
        params: &Params,
        schemes: &[&str],
        example: &str,
    ) -> Result<Vec<ServerUrl>, TargetError> {
        let text = params.word(URL.name);
        let (scheme, rest) = match text.split_once("://") {
            None => return Err(no_url("this engine is an existing server and needs a URL", example)),
            Some((scheme, _)) if !schemes.contains(&scheme) => {
                return Err(no_url("the URL is for another kind of server; this engine needs one", example));
            }
            Some(parts) => parts,
        };
        let kind = if scheme == "mysql" { UrlKind::Mysql } else { UrlKind::Postgres };
        parse_endpoints(text, rest, kind, &UrlDefaults::of_this_machine()).map_err(TargetError::Unsupported)
    }

    /// The host with its port, for people; the socket if it is reached by one.
    pub fn endpoint_name(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (&self.socket, self.port) {
            (Some(socket), _) => socket.clone(),
            (None, Some(port)) => format!("{host}:{port}"),
            (None, None) => host,
        }
    }

    /// What only one plimsoll loads at a time, as the locks on the servers themselves are: a server of MySQL, or a database of PostgreSQL.
    fn lock_name(self, kind: UrlKind) -> String {
        let host = if self.host == "localhost" { "127.0.0.1".to_owned() } else { self.host.clone() };
        let port = self.port.or(Some(kind.usual_port()));
        let endpoint = ServerUrl { host, port, ..self.clone() }.endpoint_name();
        match kind {
            UrlKind::Mysql => endpoint,
            UrlKind::Postgres => format!("{endpoint}/{}", self.database.unwrap_or(self.user)),
        }
    }
}

/// What `params` name by a URL that only one plimsoll loads at a time: `127.0.0.1:5432/bench`, one for each endpoint. Nothing without a URL, and
/// of one that cannot be read: that is refused when it is used.
pub fn servers_to_load(params: &Params) -> Vec<String> {
    let text = params.0.get(URL.name).map(ToString::to_string).unwrap_or_default();
    let Some((scheme, rest)) = text.split_once("://") else { return Vec::new() };
    let kind = if scheme == "mysql" { UrlKind::Mysql } else { UrlKind::Postgres };
    let endpoints = parse_endpoints(&text, rest, kind, &UrlDefaults::of_this_machine()).unwrap_or_default();
    endpoints.into_iter().map(|url| url.lock_name(kind)).collect()
}

fn no_url(why: &str, example: &str) -> TargetError {
    let private = if example.starts_with("postgres") { "postgres" } else { "mysql:innodb" };
    TargetError::Unsupported(format!(
        "{why}, such as `--engine {example}`; `--engine {private}` starts a server of plimsoll's own"
    ))
}

/// Each endpoint of the URL `text`, as if it was the only one. One without a user has that of the first.
fn parse_endpoints(text: &str, rest: &str, kind: UrlKind, around: &UrlDefaults) -> Result<Vec<ServerUrl>, String> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (named, tail) = rest.split_at(end);
    let endpoints: Vec<&str> = named.split(',').collect();
    let [first, _, ..] = endpoints[..] else { return Ok(vec![parse_url(text, rest, kind, around)?]) };
    if endpoints.len() > ENDPOINTS_MAX {
        return Err(format!("the URL names {} endpoints; {ENDPOINTS_MAX} is the most", endpoints.len()));
    }
    let scheme = &text[..text.len() - rest.len()];
    let user = first.rsplit_once('@').map_or(String::new(), |(user, _)| format!("{user}@"));
    let mut all: Vec<ServerUrl> = Vec::new();
    for (nth, endpoint) in (1..).zip(&endpoints) {
        if endpoint.ends_with('@') || endpoint.is_empty() {
            return Err(format!(
                "endpoint {nth} of the URL has no host; write them as `SCHEME://user@n1:port,n2:port/`"
            ));
        }
        let user = if endpoint.contains('@') { "" } else { &user };
        let own = format!("{user}{endpoint}{tail}");
        let parsed = parse_url(&format!("{scheme}{own}"), &own, kind, around)?;
        if all.iter().any(|known| known.endpoint_name() == parsed.endpoint_name()) {
            return Err(format!("endpoint {nth} of the URL is the same server as another one"));
        }
        all.push(ServerUrl { is_one_of_several: true, ..parsed });
    }
    Ok(all)
}

/// Errors are described without the URL: a password may be in it.
fn parse_url(text: &str, rest: &str, kind: UrlKind, around: &UrlDefaults) -> Result<ServerUrl, String> {
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("a URL must not contain blanks or control characters".into());
    }
    let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
    let mut parts = UrlParts::parse(rest)?;
    let mut options = parts.take_own(split_options(options)?, kind)?;
    if let Some(service) = parts.take("service") {
        parts.add_service(&service, &mut options, kind, around)?;
    }
    let port = parts.take("port").map(|port| port_number(&port)).transpose()?;
    let host = parts.take("host").unwrap_or_default();
    let user = parts.take("user").ok_or("the URL names no user; write it as `SCHEME://user@host:port/`")?;
    let socket = match parts.take("socket") {
        Some(path) => Some(kind.socket_at(&path, port, around)?),
        // As the servers' own clients do: a host that is a path is the directory of the socket.
        None if host.starts_with('/') => Some(kind.socket_in(&host, port, around)?),
        None => kind.default_socket(&host, port, options.is_empty(), around),
    };
    if host.is_empty() && socket.is_none() {
        return Err("the URL names no host; write it as `SCHEME://user@host:port/`".into());
    }
    let server = match socket {
        Some(_) => ServerRoute::Socket,
        None if is_here(&host) => ServerRoute::Loopback,
        None => ServerRoute::Network,
    };
    let tls = TlsOptions::parse(kind.tls_options(), &options, server)?;
    Ok(ServerUrl {
        text: text.into(),
        user,
        host,
        port,
        database: parts.take("dbname"),
        socket,
        tls,
        is_one_of_several: false,
    })
}

/// The names and values of a URL, but for the options of TLS.
struct UrlParts(BTreeMap<&'static str, String>);

impl UrlParts {
    /// The parts before the options: `user@host:port/database`.
    fn parse(rest: &str) -> Result<UrlParts, String> {
        let (login, database) = rest.split_once('/').unwrap_or((rest, ""));
        // The last `@`: a user name may have one.
        let (user, place) = login.rsplit_once('@').unwrap_or(("", login));
        if user.contains(':') {
            return Err(PASSWORD_IN_URL.into());
        }
        let (host, port) = match place.rsplit_once(':') {
            // The colons of an IPv6 address in brackets separate no port.
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (place, ""),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let named = [("user", user), ("host", host), ("port", port), ("dbname", database)];
        let mut parts = BTreeMap::new();
        for (name, value) in named.into_iter().filter(|(_, value)| !value.is_empty()) {
            parts.insert(name, percent_decode(value)?);
        }
        Ok(UrlParts(parts))
    }

    /// Takes over those of `options` that are not of TLS, and returns the others.
    fn take_own(
        &mut self,
        options: Vec<(String, String)>,
        kind: UrlKind,
    ) -> Result<Vec<(String, String)>, &'static str> {
        let mut others = Vec::new();
        for (name, value) in options {
            match kind.own_options().iter().find(|own| **own == name) {
                _ if name == "password" => return Err(PASSWORD_IN_URL),
                None => others.push((name, value)),
                // As in libpq, an option counts and not the part before the options.
                Some(own) => drop(self.0.insert(own, value)),
            }
        }
        Ok(others)
    }

    /// Adds what the URL leaves open from the service `name` of libpq.
    fn add_service(
        &mut self,
        name: &str,
        options: &mut Vec<(String, String)>,
        kind: UrlKind,
        around: &UrlDefaults,
    ) -> Result<(), String> {
        let place_is_known = self.0.contains_key("host") || self.0.contains_key("socket");
        for (name, value) in read_service(name, &around.service_files)? {
            match kind.own_options().iter().find(|own| **own == name) {
                Some(&"host") if place_is_known => {}
                Some(own) => drop(self.0.entry(own).or_insert(value)),
                None if options.iter().any(|(given, _)| *given == name) => {}
                None => options.push((name, value)),
            }
        }
        Ok(())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }
}

const PASSWORD_IN_URL: &str = "plimsoll takes no password from the URL, where others can read it; set PLIMSOLL_PASSWORD, or use \
                               --password-file";
// Which of two values is meant cannot be known, so neither is taken.
const GIVEN_TWICE: &str = "an option of the URL is given twice";

fn port_number(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("port `{text}` is not a number from 1 to 65535"))
}

/// The options of a URL: their names as `ssl-mode`, and their values.
fn split_options(options: &str) -> Result<Vec<(String, String)>, &'static str> {
    let mut taken: Vec<(String, String)> = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').ok_or("an option of the URL has no value")?;
        let name = name.to_ascii_lowercase().replace('_', "-");
        if taken.iter().any(|(known, _)| *known == name) {
            return Err(GIVEN_TWICE);
        }
        taken.push((name, percent_decode(value)?));
    }
    Ok(taken)
}

/// Whether `host` is this machine, whose loopback network no other machine can listen on.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Undoes `%2F`.
fn percent_decode(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        // An encoded control character passed the check of the URL's text, and would get into messages on the terminal.
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|byte| !byte.is_ascii_control());
        bytes.push(byte.ok_or("the URL has a `%` that is not followed by two hexadecimal digits")?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| "the URL is not UTF-8")
}

/// The word in place of a file.
const ASK: &str = "ask";

/// What was answered, by URL.
static ANSWERS: Mutex<BTreeMap<String, Password>> = Mutex::new(BTreeMap::new());

/// Asks once for each password among `all` parameters that is to be asked for: now, and not when its point begins.
pub fn ask_for_passwords<'a>(all: impl Iterator<Item = &'a Params>) -> Result<(), TargetError> {
    let asked = all.filter(|params| params.0.get(PASSWORD_FILE.name).is_some_and(|file| file.to_string() == ASK));
    for url in asked.map(|params| params.word(URL.name)) {
        let mut answers = lock_answers();
        // A plan has many points on one server, and its user is asked once.
        if !answers.contains_key(url) {
            let answer = prompt::ask_silently(&format!("password for {url}")).map_err(|error| {
                let why = host::error::system_words(&error);
                let text = format!("cannot ask for the password of `{url}` on the terminal: {why}");
                TargetError::Unsupported(format!("{text}; put it into PLIMSOLL_PASSWORD or a file"))
            })?;
            answers.insert(url.to_owned(), Password::new(answer));
        }
    }
    Ok(())
}

/// Nothing that can panic changes them under the lock.
fn lock_answers() -> MutexGuard<'static, BTreeMap<String, Password>> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A password. It has no `Debug` and no `Display`.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    fn new(text: String) -> Password {
        model::close_own_memory();
        Password(text)
    }

    /// The password that `params` and the environment lead to, if there is one.
    pub fn from_params(params: &Params) -> Result<Option<Password>, TargetError> {
        let file = params.word(PASSWORD_FILE.name);
        if file.is_empty() {
            return Ok(std::env::var("PLIMSOLL_PASSWORD").ok().map(Password::new));
        }
        if file == ASK {
            return Ok(lock_answers().get(params.word(URL.name)).cloned());
        }
        Password::in_file(Path::new(file)).map(Some)
    }

    /// The passwords of `endpoints` endpoints: the lines of the file, if it has as many; otherwise one for all.
    ///
    /// # Errors
    /// If the file cannot be read, is open to others, or has another number of lines.
    pub fn for_endpoints(params: &Params, endpoints: usize) -> Result<Vec<Option<Password>>, TargetError> {
        let all = Password::from_params(params)?;
        let file = params.word(PASSWORD_FILE.name);
        let lines: Vec<&str> = match &all {
            Some(all) if !file.is_empty() && file != ASK && endpoints > 1 => all.0.lines().collect(),
            _ => return Ok(vec![all; endpoints]),
        };
        match lines.len() {
            0 | 1 => Ok(vec![all; endpoints]),
            there if there == endpoints => {
                Ok(lines.into_iter().map(|line| Some(Password::new(line.to_owned()))).collect())
            }
            there => Err(TargetError::Unsupported(format!(
                "`{}` has {there} passwords for {endpoints} endpoints; write one line for each endpoint, or one line for all",
                shown(Path::new(file))
            ))),
        }
    }

    fn in_file(path: &Path) -> Result<Password, TargetError> {
        check_closed(path, "a password")?;
        let text = model::read_regular_text(path).trying("read", path)?;
        Ok(Password::new(text.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// A new one of 192 random bits, as hexadecimal digits.
    ///
    /// # Errors
    /// If the kernel's random numbers cannot be read.
    pub fn random() -> std::io::Result<Password> {
        let mut bytes = [0; 24];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        // Of a private server, which goes with the run and which plimsoll's own user may stop anyway: to close the memory for it would cost a
        // user other than root the states of the client threads.
        Ok(Password(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The password itself, for the login.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Refuses a file that others may look into; it holds `what`.
pub fn check_closed(path: &Path, what: &str) -> Result<(), TargetError> {
    let meta = std::fs::metadata(path).trying("look at", path)?;
    if !model::is_open_to_others(meta.uid(), meta.mode()) {
        return Ok(());
    }
    let text = format!("`{}` holds {what} and can be read by others; use `chmod 600`", shown(path));
    Err(TargetError::Unsafe(text))
}

/// A new, random name: `plimsoll_` and 16 hexadecimal digits.
pub fn schema_name() -> String {
    use std::hash::{BuildHasher, Hasher};
    format!("plimsoll_{:016x}", std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// Whether `name` is such a name.
pub fn is_schema_name(name: &str) -> bool {
    let digits = name.strip_prefix("plimsoll_").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The schema of the data set `name` on a server.
pub fn set_schema(name: &str) -> String {
    format!("{SET_SCHEMA}{name}")
}

/// The data set whose schema has this name.
pub fn set_of_schema(name: &str) -> Option<&str> {
    name.strip_prefix(SET_SCHEMA).filter(|name| is_set_name(name))
}

const SET_SCHEMA: &str = "plimsoll_data_";

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;
    use std::os::unix::fs::PermissionsExt;

    fn url(text: &str) -> Result<ServerUrl, TargetError> {
        let params = Params([(URL.name.to_owned(), Value::Word(text.into()))].into());
        ServerUrl::from_params(&params, &["mysql", "postgres"], "mysql://user@host/")
    }

    #[test]
    fn servers_that_are_loaded_are_told_apart_by_what_their_locks_are_of() {
        let servers = |text: &str| {
            let params = Params([(URL.name.to_owned(), Value::Word(text.into()))].into());
            servers_to_load(&params)
        };
        assert_eq!(servers("postgres://me@127.0.0.1/bench?sslmode=disable"), ["127.0.0.1:5432/bench"]);
        assert_eq!(servers("postgresql://you@localhost:5432/bench"), ["127.0.0.1:5432/bench"]);
        assert_eq!(servers("postgres://me@db:5433"), ["db:5433/me"]);
        assert_eq!(servers("mysql://me@n1,n2:3307/bench"), ["n1:3306", "n2:3307"]);
        assert_eq!(servers("mysql://me@/?socket=/run/s.sock"), ["/run/s.sock"]);
        assert!(
            servers("").is_empty() && servers("tcp://db").is_empty() && servers_to_load(&Params::default()).is_empty()
        );
    }

    /// The socket in the URL `text` on a machine where the files `there` are sockets, and `/run/d` is a directory.
    fn socket(text: &str, there: &[&str]) -> Result<Option<String>, String> {
        let (scheme, rest) = text.split_once("://").unwrap();
        let kind = if scheme == "mysql" { UrlKind::Mysql } else { UrlKind::Postgres };
        parse_url(text, rest, kind, &UrlDefaults::with_sockets(there, "/run/d")).map(|url| url.socket)
    }

    #[test]
    fn a_url_may_name_several_endpoints_each_with_its_user_and_port() {
        let all = |text: &str| {
            let (_, rest) = text.split_once("://").unwrap();
            parse_endpoints(text, rest, UrlKind::Mysql, &UrlDefaults::with_sockets(&[], "/run/d"))
        };
        let seen = |text: &str| -> Vec<(String, String, String)> {
            let found = all(text).unwrap().into_iter();
            found.map(|url| (url.user.clone(), url.endpoint_name(), url.text)).collect()
        };
        let own = |user: &str, name: &str, text: &str| (user.to_owned(), name.to_owned(), text.to_owned());
        assert_eq!(
            seen("mysql://u@n1:3307,n2,v@[::1]:5/db?ssl-mode=REQUIRED"),
            [
                own("u", "n1:3307", "mysql://u@n1:3307/db?ssl-mode=REQUIRED"),
                own("u", "n2", "mysql://u@n2/db?ssl-mode=REQUIRED"),
                own("v", "[::1]:5", "mysql://v@[::1]:5/db?ssl-mode=REQUIRED"),
            ]
        );
        assert!(all("mysql://u@n1,n2/").unwrap().iter().all(|url| url.is_one_of_several));
        assert!(!all("mysql://u@n1/a,b").unwrap()[0].is_one_of_several);
        for (text, why) in [
            ("mysql://u@n1,,n2/", "endpoint 2 of the URL has no host"),
            ("mysql://u@n1,n1/", "endpoint 2 of the URL is the same server"),
            ("mysql://u@n1,u:secret@n2/", "plimsoll takes no password"),
            ("mysql://n1,n2/", "names no user"),
        ] {
            let refused = all(text).unwrap_err();
            assert!(refused.contains(why) && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_password_file_may_have_a_line_for_each_endpoint() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("passwords");
        let passwords = |text: &str, endpoints| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            let named = [(PASSWORD_FILE.name.to_owned(), Value::Word(file.display().to_string()))];
            let found = Password::for_endpoints(&Params(named.into()), endpoints);
            found.map(|all| all.into_iter().map(|one| one.unwrap().0).collect::<Vec<_>>())
        };
        assert_eq!(passwords("a b\n", 2).unwrap(), ["a b", "a b"]);
        assert_eq!(passwords("a\nb\n", 2).unwrap(), ["a", "b"]);
        let refused = passwords("a\nb\n", 3).unwrap_err().to_string();
        assert!(refused.contains("2 passwords for 3 endpoints") && !refused.contains(" b"), "{refused}");
    }

    #[test]
    fn localhost_is_the_usual_socket_of_mysql_unless_a_port_or_tls_is_asked_for() {
        let there = ["/run/mysqld/mysqld.sock"];
        assert_eq!(socket("mysql://u@localhost/", &there), Ok(Some(there[0].into())));
        assert_eq!(socket("mysql://u@localhost/", &[]), Ok(None));
        for over_tcp in ["mysql://u@localhost:3306/", "mysql://u@127.0.0.1/", "mysql://u@localhost/?ssl-mode=REQUIRED"]
        {
            assert_eq!(socket(over_tcp, &there), Ok(None), "{over_tcp}");
        }
        assert_eq!(socket("postgres://u@localhost/", &["/run/postgresql/.s.PGSQL.5432"]), Ok(None));
    }

    #[test]
    fn a_directory_stands_for_the_socket_in_it() {
        for (text, expected) in [
            ("postgres://u@/db?host=/var/p", "/var/p/.s.PGSQL.5432"),
            ("postgres:///db?host=/var/p&port=5433&user=u", "/var/p/.s.PGSQL.5433"),
            ("postgres://u@localhost:5432/db?host=/var/p&port=5433", "/var/p/.s.PGSQL.5433"),
            ("postgres://u@%2Fvar%2Fp:5433/db", "/var/p/.s.PGSQL.5433"),
            ("postgres://u@h/db?socket=/run/d", "/run/d/.s.PGSQL.5432"),
            ("postgres://u@/db", "/tmp/.s.PGSQL.5432"),
            ("mysql://u@h/?socket=/run/d", "/run/d/mysql.sock"),
            ("mysql://u@h/?socket=/var/any", "/var/any"),
        ] {
            let there = ["/tmp/.s.PGSQL.5432", "/run/d/mysql.sock"];
            assert_eq!(socket(text, &there), Ok(Some(expected.into())), "{text}");
        }
        let nothing = socket("mysql://u@h/?socket=/run/d", &[]).unwrap_err();
        assert!(nothing.contains("`/run/d` is a directory without"), "{nothing}");
        assert!(socket("mysql://u@h/?host=x", &[]).unwrap_err().contains("unknown option `host`"));
        assert!(socket("postgres:///db?password=canary", &[]).unwrap_err().contains("PLIMSOLL_PASSWORD"));
    }

    #[test]
    fn a_service_fills_what_the_url_leaves_open() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("services");
        std::fs::write(
            &file,
            "# ours\n[other]\nhost=no\n[bench]\nhost = db.example\nport=5433\nuser=jo\ndbname=b\nsslmode=require\npassword=c\n",
        )
        .unwrap();
        let around = UrlDefaults { service_files: vec!["/nonexistent".into(), file], ..UrlDefaults::nothing() };
        let parsed = |rest: &str| parse_url("postgres://", rest, UrlKind::Postgres, &around);
        let url = parsed("?service=bench").unwrap();
        let parts = (url.user.as_str(), url.host.as_str(), url.port, url.database.as_deref(), url.tls.is_some());
        assert_eq!(parts, ("jo", "db.example", Some(5433), Some("b"), true));
        let url = parsed("ann@localhost:1/?service=bench&sslmode=disable").unwrap();
        assert_eq!((url.user.as_str(), url.host.as_str(), url.port, url.tls), ("ann", "localhost", Some(1), None));
        let missing = parsed("?service=none").unwrap_err();
        assert!(missing.contains("no service `none` in"), "{missing}");
    }

    #[test]
    fn a_url_is_taken_apart() {
        let full = url("mysql://jo%40x@db.example:3307/test").unwrap();
        let parts = (full.user.as_str(), full.host.as_str(), full.port, full.database.as_deref());
        assert_eq!(parts, ("jo@x", "db.example", Some(3307), Some("test")));
        let local = url("mysql://root@localhost/?socket=/run/m%20y.sock").unwrap();
        assert_eq!((local.port, local.database, local.socket.as_deref()), (None, None, Some("/run/m y.sock")));
        let v6 = url("mysql://u@[::1]:3306/").unwrap();
        assert_eq!((v6.host.as_str(), v6.port), ("::1", Some(3306)));
        assert_eq!(url("mysql://u@[::1]/").unwrap().host, "::1");
    }

    #[test]
    fn only_this_machine_and_a_socket_are_not_encrypted_where_nothing_is_said() {
        let is_encrypted = |text| url(text).unwrap().tls.is_some();
        let plain = ["mysql://u@localhost/", "mysql://u@127.0.0.2:3307/", "mysql://u@[::1]/", "mysql://u@h/?socket=/s"];
        assert!(!plain.into_iter().any(is_encrypted));
        assert!(["mysql://u@db.example/", "mysql://u@10.0.0.1/"].into_iter().all(is_encrypted));
        assert!(!is_encrypted("mysql://u@db.example/?SSL_Mode=disabled"));
        for twice in ["mysql://u@h/?ssl-mode=required&ssl_mode=disabled", "mysql://u@h/?ssl-mode"] {
            assert!(url(twice).unwrap_err().to_string().contains("an option of the URL"));
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_it() {
        for text in ["", "host", "mysql://host/", "mysql://u@/", "pgsql://u:canary@h/"] {
            let error = url(text).unwrap_err().to_string();
            assert!(!error.contains("canary") && error.contains("://user@host"), "{error}");
        }
        assert!(
            url("").unwrap_err().to_string().ends_with("`--engine mysql:innodb` starts a server of plimsoll's own")
        );
        for (text, why) in [
            ("mysql://u@h:x/", "port `x` is not a number from 1 to 65535"),
            ("mysql://u@h:99999/", "port `99999` is not a number from 1 to 65535"),
            ("mysql://u@h/?tls=1", "unknown option `tls`"),
            ("mysql://u%zz@h/", "%"),
            ("mysql://u:canary@h/", "PLIMSOLL_PASSWORD"),
            ("mysql://u@h/a b", "blanks"),
        ] {
            let error = url(text).unwrap_err().to_string();
            assert!(!error.contains("canary") && error.contains(why), "{error}");
        }
        assert!(url("mysql://u@h/?sslmode=require").unwrap_err().to_string().contains("`ssl-mode`"));
        assert!(url("mysql://u:canary@h/").unwrap_err().to_string().contains("PLIMSOLL_PASSWORD"));
    }

    #[test]
    fn a_schema_has_a_name_that_is_known_again() {
        assert!(is_schema_name(&schema_name()) && schema_name() != schema_name());
        assert!(!["plimsoll", "plimsoll_results", "plimsoll_0123456789ABCDEF"].into_iter().any(is_schema_name));
    }

    #[test]
    fn a_password_comes_from_a_file_that_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        std::fs::write(&file, "canary \n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Password::in_file(&file).err().unwrap().to_string().contains("chmod 600"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Password::in_file(&file).ok().unwrap().reveal(), "canary ");
    }
}
