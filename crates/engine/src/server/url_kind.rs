//! What the URLs of MySQL and of PostgreSQL have of their own: options, sockets, and the services of libpq.
//!
//! In: parts of a URL, the files of this machine. Out: paths of sockets, the settings of a service. Limits: only the places where
//! distributions put sockets; of a service no password is taken, and what only libpq uses is passed over.
//! <https://www.postgresql.org/docs/current/libpq-connect.html>, <https://www.postgresql.org/docs/current/libpq-pgservice.html>

use super::tls;
use host::error::{shown, system_words};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The kinds of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlKind {
    Mysql,
    /// `postgres://` and `postgresql://`
    Postgres,
}

/// What a URL can refer to on this machine.
pub struct UrlDefaults {
    /// Whether a path is a socket.
    pub is_socket: Box<dyn Fn(&str) -> bool>,
    /// Whether a path is a directory.
    pub is_directory: Box<dyn Fn(&str) -> bool>,
    /// The files of libpq's services, the first of which that has a service counts.
    pub service_files: Vec<PathBuf>,
}

impl UrlDefaults {
    /// Those of this process.
    pub fn of_this_machine() -> UrlDefaults {
        let is_socket = |path: &str| std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let own = variable("PGSERVICEFILE").or_else(|| variable("HOME").map(|home| home.join(".pg_service.conf")));
        // Debian's packages are built with this directory.
        let shared = variable("PGSYSCONFDIR").unwrap_or("/etc/postgresql-common".into());
        UrlDefaults {
            is_socket: Box::new(is_socket),
            is_directory: Box::new(|path| Path::new(path).is_dir()),
            service_files: own.into_iter().chain([shared.join("pg_service.conf")]).collect(),
        }
    }
}

const MYSQL_SOCKETS: [&str; 3] = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];
const MYSQL_NAMES: [&str; 2] = ["mysqld.sock", "mysql.sock"];
const POSTGRES_DIRECTORIES: [&str; 2] = ["/run/postgresql", "/tmp"];
const POSTGRES_PORT: u16 = 5432;
const MYSQL_PORT: u16 = 3306;

impl UrlKind {
    pub fn usual_port(self) -> u16 {
        match self {
            UrlKind::Mysql => MYSQL_PORT,
            UrlKind::Postgres => POSTGRES_PORT,
        }
    }

    /// The words for TLS.
    pub fn tls_options(self) -> &'static tls::OptionNames {
        match self {
            UrlKind::Mysql => &tls::MYSQL,
            UrlKind::Postgres => &tls::POSTGRES,
        }
    }

    /// The options that name the server, the user and the database.
    pub fn own_options(self) -> &'static [&'static str] {
        match self {
            UrlKind::Mysql => &["socket"],
            UrlKind::Postgres => &["socket", "host", "port", "user", "dbname", "service"],
        }
    }

    /// The socket that `path` names, or the one in that directory.
    pub fn socket_at(self, path: &str, port: Option<u16>, around: &UrlDefaults) -> Result<String, String> {
        if (around.is_directory)(path) { self.socket_in(path, port, around) } else { Ok(path.to_owned()) }
    }

    /// The socket in the directory `path`.
    pub fn socket_in(self, path: &str, port: Option<u16>, around: &UrlDefaults) -> Result<String, String> {
        let path = path.trim_end_matches('/');
        match self {
            UrlKind::Postgres => Ok(postgres_socket(path, port)),
            UrlKind::Mysql if !(around.is_directory)(path) => Ok(path.to_owned()),
            UrlKind::Mysql => {
                let named = MYSQL_NAMES.iter().map(|name| format!("{path}/{name}"));
                named.into_iter().find(|socket| (around.is_socket)(socket)).ok_or_else(|| {
                    let path = shown(Path::new(path));
                    format!("`{path}` is a directory without `mysqld.sock` or `mysql.sock`; name the socket itself")
                })
            }
        }
    }

    /// The usual socket of this machine's server, if the URL leaves the place to that: for MySQL by the host `localhost` without a
    /// port, for PostgreSQL without a host. `plain` if the connection need not be encrypted.
    pub fn default_socket(self, host: &str, port: Option<u16>, plain: bool, around: &UrlDefaults) -> Option<String> {
        let is_socket = |path: &String| (around.is_socket)(path);
        match self {
            UrlKind::Mysql if host == "localhost" && port.is_none() && plain => {
                MYSQL_SOCKETS.iter().map(|path| (*path).to_owned()).find(is_socket)
            }
            UrlKind::Postgres if host.is_empty() && plain => {
                POSTGRES_DIRECTORIES.iter().map(|directory| postgres_socket(directory, port)).find(is_socket)
            }
            UrlKind::Mysql | UrlKind::Postgres => None,
        }
    }
}

/// The name of the socket is made of the port, whether the server listens on it or not.
fn postgres_socket(directory: &str, port: Option<u16>) -> String {
    format!("{directory}/.s.PGSQL.{}", port.unwrap_or(POSTGRES_PORT))
}

/// What only libpq uses, and the password, which is not taken from there.
const PASSED_OVER: [&str; 11] = [
    "password",
    "passfile",
    "connect-timeout",
    "application-name",
    "fallback-application-name",
    "client-encoding",
    "keepalives",
    "keepalives-idle",
    "keepalives-interval",
    "keepalives-count",
    "gssencmode",
];

/// The settings of libpq's service `name` in the first of `files` that has it: names as `dbname`, and values.
pub fn read_service(name: &str, files: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
    let mut read = Vec::new();
    for file in files {
        match model::read_regular_text(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read `{}`: {}", shown(file), system_words(&error))),
            Ok(text) => match settings_of(name, &text) {
                Some(settings) => return Ok(settings),
                None => read.push(format!("`{}`", shown(file))),
            },
        }
    }
    let places = if read.is_empty() { "any file: set PGSERVICEFILE".to_owned() } else { read.join(" and ") };
    Err(format!("the URL names a service that is not defined: there is no service `{name}` in {places}"))
}

/// The settings in the section `[name]` of a file of services.
fn settings_of(name: &str, text: &str) -> Option<Vec<(String, String)>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let header = format!("[{name}]");
    let mut section = lines.skip_while(|line| *line != header);
    section.next()?;
    let settings = section.take_while(|line| !line.starts_with('[')).filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_ascii_lowercase().replace('_', "-"), value.trim().to_owned()))
    });
    Some(settings.filter(|(name, _)| !PASSED_OVER.contains(&name.as_str())).collect())
}

#[cfg(test)]
impl UrlDefaults {
    /// A machine without sockets, directories and services.
    pub fn nothing() -> UrlDefaults {
        UrlDefaults { is_socket: Box::new(|_| false), is_directory: Box::new(|_| false), service_files: Vec::new() }
    }

    /// A machine with these sockets and a directory.
    pub fn with_sockets(there: &[&str], directory: &'static str) -> UrlDefaults {
        let there: Vec<String> = there.iter().map(|path| (*path).to_owned()).collect();
        UrlDefaults {
            is_socket: Box::new(move |path| there.iter().any(|known| known == path)),
            is_directory: Box::new(move |path| path == directory),
            ..UrlDefaults::nothing()
        }
    }
}
