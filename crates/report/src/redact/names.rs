//! Names of hosts, users and devices, found where a run states them, and replaced wherever they occur.
//!
//! In: the texts of runs. Out: numbered names: `host-1`, `user-1`, `serial-1`. Limits: a name that no URL, account, fact or setting states is
//! not found. Names that are also words of this program or of every server (`postgres`, `root`, `disk`) say nothing about a person; they are
//! replaced in URLs and settings only if they are not such an account, because elsewhere they mean something else.

use super::texts::TextPlace;
use model::OTHER_SERVER_FACTS;
use std::collections::BTreeMap;

/// Hosts that every machine has.
const LOCAL_HOSTS: [&str; 8] = ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "*", "%", "localhost.localdomain"];
/// Accounts that every such server has.
const COMMON_ACCOUNTS: [&str; 7] = ["root", "mysql", "mariadb", "postgres", "postgresql", "nobody", "default"];
/// Words that mean something else in most places where they occur.
const AMBIGUOUS: [&str; 30] = [
    "bench", "client", "codec", "compress", "connect", "cpu", "data", "database", "disk", "engine", "file", "fjall",
    "insert", "mariadb", "mysql", "none", "null", "oltp", "plan", "plimsoll", "postgres", "read", "rocksdb", "run",
    "server", "sql", "sqlite", "test", "user", "write",
];
/// Shorter names are parts of too many words.
const NAME_CHARS_MIN: usize = 3;

/// The facts and settings whose values are hosts, by the last part of their names.
const HOST_NAMES: [&str; 12] = [
    "endpoints",
    "host",
    "hostname",
    "host_name",
    "report_host",
    "proxy_host",
    "bind_address",
    "listen_addresses",
    "wsrep_node_name",
    "wsrep_node_address",
    "wsrep_node_incoming_address",
    "wsrep_sst_receive_address",
];
/// The same of users.
const USER_NAMES: [&str; 5] = ["user", "user_name", "username", "report_user", "wsrep_sst_auth"];
/// The same of what identifies a device or a server.
const SERIAL_NAMES: [&str; 7] =
    ["serial", "wwid", "server_uuid", "server_uid", "uuid", "system_identifier", "machine_id"];

/// The facts in which a server names what it is known by, each with its value in backticks.
const IDENTITIES: [&str; 3] = ["server.identity", OTHER_SERVER_FACTS[0], OTHER_SERVER_FACTS[1]];

/// The keys of a connection string with a host, and those with a user.
const HOST_KEYS: [&str; 2] = ["host=", "hostaddr="];
const USER_KEYS: [&str; 3] = ["user=", "username=", "passuser="];

/// What a server is known by: ``server uuid `x`, hostname `y` `` has two names with their values.
fn marks(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.split(", ").filter_map(|mark| {
        let (name, value) = mark.split_once(" `")?;
        Some((name.replace(' ', "_"), value.split('`').next()?))
    })
}

/// Names with their replacements.
#[derive(Debug, Default)]
pub struct Names {
    hosts: NumberedNames,
    users: NumberedNames,
    serials: NumberedNames,
}

/// Which names are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedNames {
    pub hosts: bool,
    pub users: bool,
    pub serials: bool,
}

/// Names of one sort, in lower case, with their numbers.
#[derive(Debug, Default)]
struct NumberedNames(BTreeMap<String, usize>);

impl NumberedNames {
    /// The number of `name`, the next one if it is new.
    fn add(&mut self, name: &str) -> usize {
        let next = self.0.values().max().map_or(1, |last| last + 1);
        *self.0.entry(name.to_lowercase()).or_insert(next)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.0.get(&name.to_lowercase()).copied()
    }
}

impl Names {
    /// Takes over the names that `text` states.
    pub fn learn(&mut self, place: TextPlace, text: &str) {
        for authority in authorities(text) {
            members(authority).for_each(|(user, host)| self.add_login(user, host));
        }
        accounts(text).for_each(|(user, host)| self.add_login(Some(user), host));
        HOST_KEYS
            .iter()
            .flat_map(|key| values_of(text, key))
            .flat_map(|list| list.split(','))
            .for_each(|host| self.add_host(host));
        USER_KEYS.iter().flat_map(|key| values_of(text, key)).for_each(|user| self.add_user(user));
        addresses(text).for_each(|host| self.add_host(host));
        homes(text).for_each(|user| self.add_user(user));
        if let TextPlace::Named(name) = place {
            self.learn_named(name.rsplit('.').next().unwrap_or(name), text);
            if IDENTITIES.contains(&name) {
                marks(text).for_each(|(name, value)| self.learn_named(&name, value));
            }
        }
    }

    fn learn_named(&mut self, name: &str, text: &str) {
        let parts = || text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty());
        if HOST_NAMES.contains(&name) {
            parts().for_each(|host| self.add_host(host));
        } else if USER_NAMES.contains(&name) {
            self.add_user(text.split(':').next().unwrap_or(text).trim());
        } else if SERIAL_NAMES.contains(&name) {
            parts().for_each(|serial| self.add_serial(serial));
        }
    }

    /// Takes over what identifies a device.
    pub fn add_serial(&mut self, serial: &str) {
        if serial.chars().count() >= NAME_CHARS_MIN && !is_ambiguous(serial) {
            self.serials.add(serial);
        }
    }

    fn add_login(&mut self, user: Option<&str>, host: &str) {
        user.into_iter().for_each(|user| self.add_user(user));
        self.add_host(host);
    }

    fn add_user(&mut self, user: &str) {
        let user = user.split(':').next().unwrap_or(user);
        if !user.is_empty() && !COMMON_ACCOUNTS.contains(&user.to_lowercase().as_str()) {
            self.users.add(user);
        }
    }

    /// A host with a domain is also known by its first label.
    fn add_host(&mut self, text: &str) {
        let host = without_port(text.trim());
        if host.is_empty()
            || host.starts_with('/')
            || LOCAL_HOSTS.contains(&host.to_lowercase().as_str())
            || host.starts_with("127.")
        {
            return;
        }
        let number = self.hosts.add(host);
        let label = host.split('.').next().unwrap_or(host);
        if label != host && label.chars().any(char::is_alphabetic) && label.len() >= NAME_CHARS_MIN {
            self.hosts.0.entry(label.to_lowercase()).or_insert(number);
        }
    }

    /// `text` with the names of `kinds` replaced.
    pub fn replace(&self, kinds: ReplacedNames, place: TextPlace, text: &str) -> String {
        let mut text = self.in_logins(kinds, text);
        if let TextPlace::Named(name) = place {
            text = self.in_named(kinds, name.rsplit('.').next().unwrap_or(name), text);
        }
        let all = [
            (kinds.hosts, &self.hosts, "host"),
            (kinds.users, &self.users, "user"),
            (kinds.serials, &self.serials, "serial"),
        ];
        for (_, names, kind) in all.into_iter().filter(|(is_replaced, ..)| *is_replaced) {
            let mut longest_first: Vec<(&String, &usize)> =
                names.0.iter().filter(|(name, _)| !is_ambiguous(name)).collect();
            longest_first.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            for (name, number) in longest_first {
                text = replace_word(&text, name, &format!("{kind}-{number}"));
            }
        }
        text
    }

    /// The user and the hosts of each URL, account and connection string, whatever they are called.
    fn in_logins(&self, kinds: ReplacedNames, text: &str) -> String {
        let text = rewrite_authorities(text, |authority| self.replace_authority(kinds, authority));
        let text = rewrite_accounts(&text, |user, host| (self.user(kinds, user), self.host(kinds, host)));
        let text = HOST_KEYS.iter().fold(text, |text, key| {
            let hosts = |list: &str| list.split(',').map(|host| self.host(kinds, host)).collect::<Vec<_>>().join(",");
            rewrite_values(&text, key, hosts)
        });
        USER_KEYS.iter().fold(text, |text, key| rewrite_values(&text, key, |user| self.user(kinds, user)))
    }

    fn in_named(&self, kinds: ReplacedNames, name: &str, text: String) -> String {
        match name {
            name if HOST_NAMES.contains(&name) => {
                text.split(',').map(|host| self.host(kinds, host.trim())).collect::<Vec<_>>().join(",")
            }
            name if USER_NAMES.contains(&name) => self.user(kinds, &text),
            _ => text,
        }
    }

    fn replace_authority(&self, kinds: ReplacedNames, authority: &str) -> String {
        let member = |member: &str| match member.rsplit_once('@') {
            Some((user, host)) => format!("{}@{}", self.user(kinds, user), self.host(kinds, host)),
            None => self.host(kinds, member),
        };
        authority.split(',').map(member).collect::<Vec<_>>().join(",")
    }

    fn user(&self, kinds: ReplacedNames, user: &str) -> String {
        let name = user.split(':').next().unwrap_or(user);
        let number = self.users.number(name).filter(|_| kinds.users);
        number.map_or_else(|| user.to_owned(), |number| format!("user-{number}"))
    }

    /// The port of a host stays.
    fn host(&self, kinds: ReplacedNames, text: &str) -> String {
        let host = without_port(text);
        let number = self.hosts.number(host).filter(|_| kinds.hosts);
        let port = text.rsplit_once(':').map(|(_, port)| port).filter(|port| is_port(port) && !host.ends_with(port));
        match (number, port) {
            (None, _) => text.to_owned(),
            (Some(number), Some(port)) => format!("host-{number}:{port}"),
            (Some(number), None) => format!("host-{number}"),
        }
    }
}

fn is_ambiguous(name: &str) -> bool {
    name.chars().count() < NAME_CHARS_MIN || AMBIGUOUS.contains(&name) || COMMON_ACCOUNTS.contains(&name)
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `db1` of `db1:3306`, `::1` of `[::1]:3306`.
fn without_port(text: &str) -> &str {
    let host = match text.rsplit_once(':') {
        // The colons of an IPv6 address without brackets separate no port.
        Some((host, port)) if is_port(port) && (!host.contains(':') || host.ends_with(']')) => host,
        _ => text,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Where the authority of a URL ends.
fn is_end_of_authority(c: char) -> bool {
    c.is_whitespace() || "/?#'\"`<>();|".contains(c)
}

/// What is between `://` and the next part of each URL in `text`.
fn authorities(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).map(|rest| rest.split(is_end_of_authority).next().unwrap_or_default())
}

/// The hosts of an authority, each with its user if it names one.
fn members(authority: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    authority.split(',').map(|member| match member.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, member),
    })
}

fn rewrite_authorities(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let end = rest.find(is_end_of_authority).unwrap_or(rest.len());
        out += "://";
        out += &replace(&rest[..end]);
        out += &rest[end..];
    }
    out
}

/// The user and the host of each `'user'@'host'`, as MySQL writes them in messages.
fn accounts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("'@'").filter_map(move |(at, between)| {
        let (before, after) = (&text[..at], &text[at + between.len()..]);
        Some((&before[before.rfind('\'')? + 1..], &after[..after.find('\'')?]))
    })
}

fn rewrite_accounts(text: &str, replace: impl Fn(&str, &str) -> (String, String)) -> String {
    let mut out = text.to_owned();
    for (user, host) in accounts(text) {
        let (new_user, new_host) = replace(user, host);
        out = out.replace(&format!("'{user}'@'{host}'"), &format!("'{new_user}'@'{new_host}'"));
    }
    out
}

/// Where a value of a connection string ends.
fn is_end_of_value(c: char) -> bool {
    c.is_whitespace() || "&;'\"`)".contains(c)
}

/// Where each value of `key` begins in `text`: behind the key, if that is a word of its own.
fn starts_of<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = move |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(key).filter(move |(at, _)| is_word(*at)).map(|(at, key)| at + key.len())
}

/// The values of `key` in `text`.
fn values_of<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    starts_of(text, key)
        .map(move |at| text[at..].trim_start_matches(['\'', '"']).split(is_end_of_value).next().unwrap_or_default())
}

fn rewrite_values(text: &str, key: &str, replace: impl Fn(&str) -> String) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for start in starts_of(text, key) {
        let start = start + text[start..].len() - text[start..].trim_start_matches(['\'', '"']).len();
        let end = text[start..].find(is_end_of_value).map_or(text.len(), |end| start + end);
        if start < done {
            continue;
        }
        out += &text[done..start];
        out += &replace(&text[start..end]);
        done = end;
    }
    out + &text[done..]
}

/// Addresses with a port, such as `10.0.0.5:3306`: a version has no port.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".:[]".contains(c)));
    words.filter_map(|word| {
        let (host, port) = word.trim_end_matches(['.', ':']).rsplit_once(':')?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        (is_port(port) && (is_bracketed || is_quad(host))).then_some(host)
    })
}

fn is_quad(host: &str) -> bool {
    host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok())
}

/// The users whose directories below /home are named.
fn homes(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| !(c.is_alphanumeric() || "._-@".contains(c));
    text.split("/home/").skip(1).map(move |rest| rest.split(is_end).next().unwrap_or_default())
}

/// `text` with the word `name`, which is in lower case, replaced however it is written. Letters and digits around it make another word.
fn replace_word(text: &str, name: &str, new: &str) -> String {
    // Of the same length, byte by byte; names with other capitals are found as they are.
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::new(), 0);
    for (at, found) in lower.match_indices(name) {
        let end = at + found.len();
        let is_inner = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if at < done || is_inner(text[..at].chars().next_back()) || is_inner(text[end..].chars().next()) {
            continue;
        }
        out += &text[done..at];
        out += new;
        done = end;
    }
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ReplacedNames = ReplacedNames { hosts: true, users: true, serials: true };

    fn replaced(stated: &[&str], text: &str) -> String {
        let mut names = Names::default();
        stated.iter().for_each(|text| names.learn(TextPlace::Other, text));
        names.replace(ALL, TextPlace::Other, text)
    }

    #[test]
    fn what_a_url_names_is_replaced_wherever_it_occurs() {
        let url = "mysql://alice@db7.example.com:3306/bench?socket=/run/s";
        assert_eq!(replaced(&[url], url), "mysql://user-1@host-1:3306/bench?socket=/run/s");
        assert_eq!(
            replaced(&[url], "DB7 refused Alice; alice_bench, palice"),
            "host-1 refused user-1; user-1_bench, palice"
        );
        let several = "postgres://a.b@n-one:1,n-two,[fe80::1]:5432/x";
        assert_eq!(replaced(&[several], several), "postgres://user-1@host-1:1,host-2,host-3:5432/x");
    }

    #[test]
    fn accounts_connection_strings_and_addresses_name_them_too() {
        let account = "Access denied for user 'bob'@'10.1.2.3' (using password: YES)";
        assert_eq!(replaced(&[account], account), "Access denied for user 'user-1'@'host-1' (using password: YES)");
        let string = "host=pg1,pg2 user=carol dbname=x";
        assert_eq!(replaced(&[string], string), "host=host-1,host-2 user=user-1 dbname=x");
        assert_eq!(replaced(&["lost 10.9.8.7:3306"], "10.9.8.7 and 10.9.8.77"), "host-1 and 10.9.8.77");
        assert_eq!(replaced(&["in /home/dora/x"], "dora"), "user-1");
    }

    #[test]
    fn this_machine_and_the_accounts_of_every_server_stay() {
        let url = "postgres://postgres@localhost/x and mysql://root@127.0.0.1:3306/";
        assert_eq!(replaced(&[url], url), url);
    }

    #[test]
    fn a_name_that_means_something_else_is_replaced_only_where_it_is_a_name() {
        let url = "mysql://test@disk/x";
        assert_eq!(
            replaced(&[url], "mysql://test@disk/x: a test of a disk"),
            "mysql://user-1@host-1/x: a test of a disk"
        );
    }

    #[test]
    fn what_a_server_is_known_by_states_names() {
        let mut names = Names::default();
        names.learn(TextPlace::Named("server.identity"), "hostname `quux1`, port `3306`, server uid `AbC+9`");
        let of_server = names.replace(ALL, TextPlace::Other, "AbC+9 on quux1 at 3306");
        assert_eq!(of_server, "serial-1 on host-1 at 3306");
    }

    #[test]
    fn facts_and_settings_state_names() {
        let mut names = Names::default();
        names.learn(TextPlace::Named("mariadb.hostname"), "mars");
        names.learn(TextPlace::Named("server.user"), "eve");
        names.learn(TextPlace::Named("disk.serial"), "S3Z8NB0K");
        let text = "eve on mars with s3z8nb0k";
        assert_eq!(names.replace(ALL, TextPlace::Other, text), "user-1 on host-1 with serial-1");
        let none = ReplacedNames { hosts: false, users: false, serials: false };
        assert_eq!(names.replace(none, TextPlace::Other, text), text);
    }
}
