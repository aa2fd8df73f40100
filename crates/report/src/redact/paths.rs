//! Paths, found where a run states them, and replaced wherever they occur.
//!
//! In: the texts of runs. Out: `/path-1`, and `/path-1/f0` for what is below a directory that the run states. Limits: paths that every
//! machine has (`/usr/...`, `/proc`, `/dev/sda`) stay. Below the top directories (`/data`) and mount points, each path has a number of its own, so
//! that no name of a directory is left. A relative path is known only if a fact, parameter or flag states it as one.

use super::texts::TextPlace;
use std::collections::BTreeMap;

/// Directories of the system, the same on every machine.
const SYSTEM_DIRS: [&str; 12] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/sbin",
    "/usr/share",
];
/// Devices that have the names of the kernel.
const DEVICE_KINDS: [&str; 13] =
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "md", "dm-", "ram", "zram", "nbd", "sr"];
const KERNEL_DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/shm", "/dev/urandom", "/dev/random"];

/// The facts, parameters and settings whose values are paths, by the last part of their names; absolute paths need no such name.
const PATH_NAMES: [&str; 20] = [
    "path",
    "paths",
    "dir",
    "directory",
    "config",
    "config_file",
    "password_file",
    "engine_bin",
    "programs",
    "file",
    "files",
    "source",
    "datadir",
    "data_directory",
    "basedir",
    "tmpdir",
    "socket",
    "log_error",
    "pid_file",
    "general_log_file",
];
/// Values of such names that are words and no paths.
const WORDS: [&str; 5] = ["", "ask", "default", "none", "stderr"];

/// The flags whose values are paths.
const PATH_FLAGS: [&str; 11] = [
    "--dir",
    "--runs",
    "--path",
    "--out",
    "-o",
    "--password-file",
    "--engine-bin",
    "--config",
    "--file",
    "--resume",
    "--data",
];

/// Paths with their numbers.
#[derive(Debug, Default)]
pub struct Paths {
    /// In the order in which they were found.
    found: Vec<FoundPath>,
    numbers: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct FoundPath {
    path: String,
    /// Whether a fact, parameter or flag has it as its value: what is below it belongs to it.
    is_stated: bool,
}

impl Paths {
    /// Takes over the paths that `text` states.
    pub fn learn(&mut self, place: TextPlace, text: &str) {
        match stated_path(place, text) {
            Some(path) => self.add(path, true),
            None => {
                let tokens =
                    tokens(text).map(|(_, token)| trimmed(token)).filter(|token| token.matches('/').count() > 1);
                self.found.extend(tokens.map(|token| FoundPath { path: token.to_owned(), is_stated: false }));
            }
        }
    }

    /// Takes over the paths among the words of a command.
    pub fn learn_command(&mut self, command: &str) {
        let words = command_words(command);
        for (nth, word) in words.iter().enumerate() {
            if let Some(path) = path_of_word(&words, nth, word) {
                self.add(path, true);
            }
        }
    }

    fn add(&mut self, path: &str, is_stated: bool) {
        let path = trimmed(path);
        if !WORDS.contains(&path) && !is_of_system(path) {
            self.found.push(FoundPath { path: path.to_owned(), is_stated });
        }
    }

    /// Gives each path its number, when all are found.
    pub fn number(&mut self) {
        let found = std::mem::take(&mut self.found);
        let mut stated: Vec<&str> = found.iter().filter(|one| one.is_stated).map(|one| one.path.as_str()).collect();
        stated.sort_unstable();
        stated.dedup();
        for one in &found {
            let is_below = !one.is_stated && stated.iter().any(|dir| is_whole(dir) && below(&one.path, dir).is_some());
            if !is_below && !is_of_system(&one.path) && !self.numbers.contains_key(&one.path) {
                let next = self.numbers.len() + 1;
                self.numbers.insert(one.path.clone(), next);
            }
        }
    }

    /// `text` with its paths replaced.
    pub fn replace(&self, place: TextPlace, text: &str) -> String {
        if let Some(path) = stated_path(place, text) {
            return self.replacement(trimmed(path)).unwrap_or_else(|| text.to_owned());
        }
        let (mut out, mut done) = (String::new(), 0);
        for (at, token) in tokens(text) {
            let Some(new) = self.replacement(trimmed(token)) else { continue };
            out += &text[done..at];
            out += &new;
            done = at + trimmed(token).len();
        }
        self.without_relative(&(out + &text[done..]))
    }

    /// A command with its paths replaced, also those that only their flags show to be paths.
    pub fn replace_in_command(&self, command: &str) -> String {
        let words = command_words(command);
        let replaced = words.iter().enumerate().map(|(nth, word)| match path_of_word(&words, nth, word) {
            Some(path) => match self.replacement(trimmed(path)) {
                Some(new) => word.replace(path, &new),
                None => word.clone(),
            },
            None => self.replace(TextPlace::Other, word),
        });
        replaced.collect::<Vec<_>>().join(" ")
    }

    /// What stands for `path`; `None` if it stays.
    fn replacement(&self, path: &str) -> Option<String> {
        if let Some(number) = self.numbers.get(path) {
            return Some(format!("/path-{number}"));
        }
        let dirs = self.numbers.iter().filter(|(dir, _)| is_whole(dir));
        let nearest = dirs.filter_map(|(dir, number)| Some((dir.len(), number, below(path, dir)?))).max()?;
        Some(format!("/path-{}/{}", nearest.1, nearest.2))
    }

    /// Relative paths that are no usual words.
    fn without_relative(&self, text: &str) -> String {
        let relative = self
            .numbers
            .iter()
            .filter(|(path, _)| !path.starts_with('/') && path.contains(['/', '.']) && path.len() > 2);
        let mut longest_first: Vec<(&String, &usize)> = relative.collect();
        longest_first.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        longest_first
            .into_iter()
            .fold(text.to_owned(), |text, (path, number)| replace_component(&text, path, &format!("/path-{number}")))
    }
}

/// The path that `text` as a whole is, by its place.
fn stated_path<'a>(place: TextPlace, text: &'a str) -> Option<&'a str> {
    let is_absolute = text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains(char::is_whitespace)
        && !text.contains([',', ';', ':']);
    let is_path = match place {
        TextPlace::Path => true,
        TextPlace::Named(name) => {
            is_absolute && text.chars().skip(1).all(is_path_char)
                || PATH_NAMES.contains(&name.rsplit('.').next().unwrap_or(name))
                    && !text.contains("://")
                    && !text.contains([',', ':', '\n'])
        }
        TextPlace::Other => false,
    };
    (is_path && !WORDS.contains(&text)).then_some(text)
}

/// The words of a command as it was typed, quotes included.
fn command_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in command.chars() {
        match c {
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            c => {
                is_quoted ^= c == '\'';
                word.push(c);
            }
        }
    }
    words.push(word);
    words
}

/// The path in word `nth` of a command, if it has one: a value of a flag for paths, or a word with a slash that is no URL.
fn path_of_word<'a>(words: &[String], nth: usize, word: &'a str) -> Option<&'a str> {
    let bare = word.trim_matches('\'');
    let follows_flag = nth > 0 && PATH_FLAGS.contains(&words[nth - 1].as_str());
    let value = match bare.split_once('=') {
        Some((flag, value)) if PATH_FLAGS.contains(&flag) => return Some(value),
        Some((name, value)) if name.starts_with("PLIMSOLL_") => value,
        _ => bare,
    };
    let is_path = value.contains('/')
        && !value.contains("://")
        && !value.contains(['=', ',', ' ', '('])
        && !value.starts_with('-');
    (follows_flag || is_path).then_some(value)
}

/// Without the slash at its end.
fn trimmed(path: &str) -> &str {
    let cut = path.trim_end_matches(['.', '/']);
    if cut.is_empty() { path } else { cut }
}

/// Whether what is below `dir` belongs to it: it is no top directory.
fn is_whole(dir: &str) -> bool {
    !dir.starts_with('/') || dir.matches('/').count() > 1
}

/// The rest of `path` below `dir`.
fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    path.strip_prefix(dir)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

fn is_of_system(path: &str) -> bool {
    let is_in = |dir: &str| path == dir || below(path, dir).is_some();
    let device = path.strip_prefix("/dev/").filter(|name| !name.contains('/'));
    let is_kernels = |name: &str| DEVICE_KINDS.iter().any(|kind| name.starts_with(kind)) && name.len() <= 12;
    path == "/"
        || path == "."
        || SYSTEM_DIRS.iter().any(|dir| is_in(dir))
        || KERNEL_DEVICES.contains(&path)
        || device.is_some_and(is_kernels)
}

fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@%~".contains(c)
}

/// The absolute paths in `text`, each with its place. A slash within a word or behind another one begins none.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + text[from..].find('/')?;
            let end = text[at..].find(|c| !is_path_char(c)).map_or(text.len(), |end| at + end);
            from = end.max(at + 1);
            let before = text[..at].chars().next_back();
            let is_url = text[..at].ends_with(':') && text[at..].starts_with("//") && !text[at..].starts_with("///");
            let is_inside = before.is_some_and(|c| is_path_char(c) && c != '@') && !text[..at].ends_with("://");
            let is_name = text[at + 1..end].starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_');
            if is_url {
                // The path of a URL is not one of this machine; its options may have one.
                from = text[at..].find(|c: char| c == '?' || c.is_whitespace()).map_or(text.len(), |end| at + end);
            } else if !is_inside && is_name {
                return Some((at, text[at..end].trim_end_matches(['.', '-', '@'])));
            }
        }
    })
}

/// `text` with `path` replaced where it is not a part of another name.
fn replace_component(text: &str, path: &str, new: &str) -> String {
    let (mut out, mut done) = (String::new(), 0);
    for (at, found) in text.match_indices(path) {
        let end = at + found.len();
        let is_before = text[..at].chars().next_back().is_some_and(is_path_char);
        let is_after = text[end..].chars().next().is_some_and(|c| is_path_char(c) && c != '/' && c != '.');
        if !is_before && !is_after {
            out += &text[done..at];
            out += new;
            done = end;
        }
    }
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(stated: &[(TextPlace, &str)]) -> Paths {
        let mut paths = Paths::default();
        stated.iter().for_each(|(place, text)| paths.learn(*place, text));
        paths.number();
        paths
    }

    #[test]
    fn a_stated_directory_has_a_number_and_what_is_below_it_keeps_its_name() {
        let paths =
            paths(&[(TextPlace::Named("mariadb.datadir"), "/srv/bench/data/"), (TextPlace::Path, "/srv/bench")]);
        let replace = |text| paths.replace(TextPlace::Other, text);
        assert_eq!(replace("cannot open `/srv/bench/data/ibdata1`: full"), "cannot open `/path-1/ibdata1`: full");
        assert_eq!(replace("socket=/srv/bench/s.sock, /srv/bench."), "socket=/path-2/s.sock, /path-2.");
        assert_eq!(paths.replace(TextPlace::Named("mariadb.datadir"), "/srv/bench/data/"), "/path-1");
    }

    #[test]
    fn below_a_top_directory_each_path_has_a_number_of_its_own() {
        let paths =
            paths(&[(TextPlace::Named("mount"), "/data"), (TextPlace::Other, "in /data/acme/x and /opt/acme/y")]);
        assert_eq!(paths.replace(TextPlace::Other, "/data/acme/x, /data, /opt/acme/y"), "/path-2, /path-1, /path-3");
    }

    #[test]
    fn paths_of_every_machine_rates_and_urls_stay() {
        let paths =
            paths(&[(TextPlace::Named("server.program"), "/usr/sbin/mariadbd"), (TextPlace::Path, "/dev/nvme0n1")]);
        for text in
            ["/usr/sbin/mariadbd", "500/s", "rows/s", "a /* b */ c", "mysql://u@h/db/x", "/dev/nvme0n1", "1 / 2", "/"]
        {
            assert_eq!(paths.replace(TextPlace::Other, text), text);
        }
    }

    #[test]
    fn relative_paths_are_known_by_their_names_and_flags() {
        let mut paths = Paths::default();
        paths.learn(TextPlace::Named("path"), "acme/f0");
        let command = "plimsoll run plans/acme.toml --dir work --set path=acme/f0";
        paths.learn_command(command);
        paths.number();
        assert_eq!(paths.replace(TextPlace::Other, "cannot read acme/f0"), "cannot read /path-1");
        assert_eq!(paths.replace_in_command(command), "plimsoll run /path-2 --dir /path-3 --set path=/path-1");
    }
}
