//! Configuration files of private servers: fragments of my.cnf and of postgresql.conf.
//!
//! In: the syntax of an engine's files, the path of a file. Out: the variables that the file sets, named as `--set` names them, or the first line
//! that cannot be used with the number of every other. Limits: a regular file of UTF-8 text, at most [`BYTES_MAX`]. It may set what `--set`
//! may and no more, and it includes no other file. Whether the server takes a value, the server decides when it starts.

use super::variables::{VariableRefusal, VariableRules};
use host::error::{shown, system_words};
use model::ConfigVariables;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A file of a thousand variables, each with a paragraph of comment, has 100 KiB.
const BYTES_MAX: u64 = 256 << 10;
/// How much a value may have, as in a plan.
const VALUE_CHARS_MAX: usize = 1000;
/// The most lines that a refusal names.
const REFUSED_NAMED_MAX: usize = 8;

/// How one kind of server is configured.
pub struct ConfigSyntax {
    /// Which variables a file may set, and what they are called in plans.
    pub rules: VariableRules,
    /// Reads the text of a file.
    pub read_lines: fn(&str) -> Result<Vec<ConfigLine>, ConfigFault>,
}

/// A line that sets a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    /// Its number in the file, from 1.
    pub number: usize,
    /// The variable, in small letters and with underscores.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Its number in the file, from 1.
    pub number: usize,
    /// What is wrong, without the values of the line: one of them may be a password.
    pub text: String,
}

impl ConfigSyntax {
    /// The variables that the file `path` sets: keys and values of a plan. Of a variable that is set twice the last value counts, as in the
    /// server.
    ///
    /// # Errors
    /// If the file cannot be read, or if a line cannot be used: one line of text.
    pub fn read_file(&self, path: &Path) -> Result<ConfigVariables, String> {
        let text = read_text(path)?;
        let lines = (self.read_lines)(&text)
            .map_err(|ConfigFault { number, text }| format!("`{}`, line {number}: {text}", shown(path)))?;
        check_lines(&lines, &self.rules, path)?;
        let set: BTreeMap<String, String> = lines.into_iter().map(|line| (line.name, line.value)).collect();
        Ok(set.into_iter().map(|(name, value)| (format!("{}.{name}", self.rules.server), value)).collect())
    }
}

/// The text of the file. The user may have named anything, such as a pipe or a disk.
fn read_text(path: &Path) -> Result<String, String> {
    let cannot = |why: &str| format!("cannot read the configuration file `{}`: {why}", shown(path));
    let file = model::open_regular(path).map_err(|error| cannot(&system_words(&error)))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| cannot(&system_words(&error)))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(cannot(&format!("it is longer than {} KiB", BYTES_MAX >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8 text"))
}

/// Refuses the lines that no plan may set: the first with its reason, the others by their names.
fn check_lines(lines: &[ConfigLine], rules: &VariableRules, path: &Path) -> Result<(), String> {
    let mut refused = lines.iter().filter_map(|line| Some((line, why_refused(line, rules)?)));
    let Some((first, why)) = refused.next() else { return Ok(()) };
    let others: Vec<String> = refused.map(|(line, _)| format!("line {} (`{}`)", line.number, line.name)).collect();
    let more = others.len().saturating_sub(REFUSED_NAMED_MAX);
    let named = others[..others.len() - more].join(", ");
    let others = match (others.len(), more) {
        (0, _) => String::new(),
        (_, 0) => format!("; refused for such reasons, too: {named}"),
        (_, more) => format!("; refused for such reasons, too: {named} and {more} more"),
    };
    Err(format!("`{}`, line {}: `{}` {why}{others}", shown(path), first.number, first.name))
}

fn why_refused(line: &ConfigLine, rules: &VariableRules) -> Option<String> {
    match rules.refusal_of(&line.name, &line.value) {
        Some(VariableRefusal::FollowsFrom(parameter)) => {
            let flag = parameter.replace('_', "-");
            return Some(format!("follows from the parameter `{parameter}`: remove the line and use --{flag}"));
        }
        Some(refusal) => return Some(refusal.to_string()),
        None => {}
    }
    let fits = !line.value.is_empty()
        && line.value.chars().count() <= VALUE_CHARS_MAX
        && !line.value.chars().any(char::is_control);
    (!fits).then(|| format!("needs a value of 1 to {VALUE_CHARS_MAX} characters, none of them a control character"))
}

/// `name` as the name of a variable: in small letters, with underscores for dashes.
pub(crate) fn variable_name(name: &str) -> Option<String> {
    let plain = name.to_ascii_lowercase().replace('-', "_");
    (!plain.is_empty()
        && plain.len() <= 64
        && plain.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
    .then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_config;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    /// Writes `text` to a file of this name and reads it for `engine`.
    fn read(engine: &str, text: &[u8]) -> Result<Vec<(String, String)>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cnf");
        std::fs::write(&path, text).unwrap();
        read_config(engine, &path).map_err(|why| why.replace(&path.display().to_string(), "a.cnf"))
    }

    fn refusal(engine: &str, text: &str) -> String {
        read(engine, text.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_file_sets_what_set_would() {
        let set = |pairs: &[(&str, &str)]| {
            Ok(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect::<Vec<_>>())
        };
        let text = b"[client]\npassword=x\n[mysqld]\ninnodb-purge-threads = 2\ninnodb_purge_threads=4\nlog-bin\n";
        let expected = [("mariadb.innodb_purge_threads", "4"), ("mariadb.log_bin", "ON")];
        assert_eq!(read("mariadb:innodb", text), set(&expected));
        assert_eq!(read("postgres", b"work_mem = '16MB' # much\n"), set(&[("postgres.work_mem", "16MB")]));
        assert_eq!(read("postgres", b""), set(&[]));
    }

    #[test]
    fn a_refused_line_is_named_with_its_number_and_the_flag_that_does_it() {
        let text = "[mysqld]\ninnodb_buffer_pool_size=1G\ndatadir=/var/lib/mysql\nport = 3306\n";
        let expected = "`a.cnf`, line 2: `innodb_buffer_pool_size` follows from the parameter `cache`: remove the line and use --cache; \
                        refused for such reasons, too: line 3 (`datadir`), line 4 (`port`)";
        assert_eq!(refusal("mariadb:innodb", text), expected);
        assert!(refusal("postgres", "max_wal_size=1GB").ends_with("use --log-size"));
        assert!(refusal("postgres", "data_directory = '/x'").contains("line 1: `data_directory` cannot be set"));
        assert!(refusal("mysql:innodb", "\nslow_query_log_file=x").contains("line 2"));
        let many: String = (0..20).map(|n| format!("plugin_{n}=1\n")).collect();
        assert!(refusal("mariadb:innodb", &many).ends_with("line 9 (`plugin_8`) and 11 more"));
    }

    #[test]
    fn what_leads_out_of_the_directory_is_refused_on_every_server() {
        let keys_mysql = "datadir basedir socket port bind-address pid-file user tmpdir log-error general_log_file plugin-dir \
                          plugin-load-add init-file secure-file-priv slave-load-tmpdir ssl-ca symbolic-links skip-grant-tables \
                          innodb_data_home_dir";
        for engine in ["mariadb:innodb", "mariadb:rocksdb", "mysql:innodb", "mysql:rocksdb"] {
            for key in keys_mysql.split_whitespace() {
                assert!(refusal(engine, &format!("[mysqld]\n{key}=1")).contains("line 2"), "{engine} {key}");
            }
        }
        let keys_postgres = "data_directory hba_file listen_addresses port unix_socket_directories external_pid_file log_directory \
                             shared_preload_libraries archive_command ssl_cert_file dynamic_library_path jit_provider \
                             synchronous_standby_names";
        for key in keys_postgres.split_whitespace() {
            assert!(refusal("postgres", &format!("{key} = 'x'")).contains("line 1"), "{key}");
        }
        let path = refusal("mariadb:innodb", "log_bin=/var/log/mysql-bin");
        assert!(path.contains("line 1: `log_bin` cannot be `/var/log/mysql-bin`: a path"), "{path}");
    }

    #[test]
    fn the_value_of_a_password_is_never_printed() {
        for (engine, text) in [
            ("mariadb:innodb", "[mysqld]\nmaster_password=geheim/x\n"),
            ("mariadb:innodb", "[mysqld]\nno_such_password geheim\n"),
            ("mysql:innodb", "report_password = 'geheim\n"),
            ("postgres", "ssl_passphrase = 'geheim'"),
            ("postgres", "password 'geheim"),
        ] {
            let why = refusal(engine, text);
            assert!(!why.contains("geheim") && why.contains("line "), "{why}");
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| read_config("postgres", path).unwrap_err();
        assert!(refusal(dir.path()).ends_with("it is a directory"));
        assert!(refusal(Path::new("/dev/zero")).ends_with("it is not a regular file"));
        assert!(refusal(&dir.path().join("none")).contains("No such file"));
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(refusal(&pipe).ends_with("it is not a regular file"));
        assert!(read("postgres", b"work_mem = '\xff'").unwrap_err().ends_with("not UTF-8 text"));
        assert!(read("postgres", &vec![b'#'; 300 << 10]).unwrap_err().ends_with("longer than 256 KiB"));
        assert!(read("sqlite", b"").unwrap_err().contains("`sqlite` has no configuration files"));
    }

    #[test]
    fn a_value_must_be_one_that_a_plan_could_set() {
        let long = format!("work_mem = '{}'", "1".repeat(1_001));
        for text in ["work_mem = ''", "work_mem = '\u{1b}[31m'", &long] {
            assert!(refusal("postgres", text).contains("needs a value of 1 to 1000 characters"), "{text}");
        }
    }
}
