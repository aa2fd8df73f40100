//! The beginning of a line of PostgreSQL's plain log: its `log_line_prefix`, and the severity behind it.
//!
//! In: the server's setting, or one of those that many servers have. Out: the time, the session and the database of a line. Limits: blanks at
//! the ends of the setting do not count. In a setting that is guessed, names have no blanks and no signs, so that one guess is not taken for another.

use super::super::recording::shown;
use super::syslog::SyslogHead;
use super::times::LogTime;
use crate::recording_error::RecordingError;
use regex::{Captures, Regex};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// What many servers have: Debian's (the default with more), and those of services and tools. All of them have a time and a session.
const WELL_KNOWN: [&str; 20] = [
    "%m [%p] %q%u@%d ",
    // Amazon RDS and Aurora.
    "%t:%r:%u@%d:[%p]:",
    // Azure.
    "%t-%c-",
    // Google Cloud SQL.
    "%m [%p]: [%l-1] db=%d,user=%u ",
    // pgBadger's documentation, in its variants.
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p]: [%l-1] user=%u,db=%d,remote=%r ",
    "%t [%p]: [%l-1] %q%u@%d ",
    // Debian's of 9.6 and before.
    "%t [%p-%l] %q%u@%d ",
    // Heroku.
    " sql_error_code = %e time=\"%m\" pid=\"%p\" proc_start_time=\"%s\" session_id=\"%c\" vtid=\"%v\" tid=\"%x\" log_line=\"%l\" \
     %qdatabase=\"%d\" connection_source=\"%r\" user=\"%u\" application_name=\"%a\" ",
    // Aiven.
    "%m [%p] %q[user=%u,db=%d,app=%a] ",
    "%m [%p] %q%u@%d/%a ",
    "%m [%p] %q%u@%d,app=%a [%e] ",
    "%m [%p] %q[%a] %u@%d ",
    "%m [%p] %q%h %u@%d ",
    "%h %m [%p] %q%u@%d ",
    "%m [%c] %q%u@%d ",
    "%t [%p]: [%l-1] %c %x %d %u %a %h ",
    "%m - %p - %q%u@%d ",
];

/// Behind syslog's own time and process.
const WELL_KNOWN_IN_SYSLOG: [&str; 5] =
    ["%q%u@%d ", "user=%u,db=%d,app=%a,client=%h ", "user=%u,db=%d ", "db=%d,user=%u ", "[%p] %q%u@%d "];

/// A `log_line_prefix` that lines are compared with.
pub(super) struct Prefix {
    pattern: Regex,
    written: String,
}

/// A line without its prefix.
pub(super) struct Prefixed<'a> {
    pub at: LogTime,
    /// The id of the session, or the number of its process.
    pub session: String,
    pub is_process: bool,
    pub database: &'a str,
    /// `LOG`, `ERROR`, `DETAIL` and so on.
    pub severity: &'a str,
    pub text: &'a str,
}

/// The longest prefix that is looked for.
const BYTES_MAX: usize = 2_000;

impl Prefix {
    /// What a user has written.
    pub(super) fn of_user(written: &str) -> Result<Prefix, RecordingError> {
        if let Some(unknown) = letters_of(written).find(|letter| !"adhiuprLbPtmnecslvxqQ%".contains(*letter)) {
            return Err(refused(written, &format!("has `%{unknown}`, which PostgreSQL does not have")));
        }
        Prefix::new(written, ".*?").ok_or_else(|| refused(written, "is too long"))
    }

    /// Refuses a prefix that has not all that a replay needs. Syslog has it itself.
    pub(super) fn check_complete(&self) -> Result<(), RecordingError> {
        let has = |escapes: &[char]| letters_of(&self.written).any(|letter| escapes.contains(&letter));
        if !has(&['t', 'm', 'n']) {
            return Err(refused(&self.written, "has no time (`%m`, `%t` or `%n`)"));
        }
        if !has(&['p', 'c']) {
            return Err(refused(&self.written, "has no session (`%p` or `%c`)"));
        }
        Ok(())
    }

    /// Those that many servers have.
    pub(super) fn well_known(in_syslog: bool) -> &'static [Prefix] {
        static PLAIN: OnceLock<Vec<Prefix>> = OnceLock::new();
        static IN_SYSLOG: OnceLock<Vec<Prefix>> = OnceLock::new();
        let all = |written: &[&str]| written.iter().map(|it| Prefix::guessed(it)).collect();
        if in_syslog {
            IN_SYSLOG.get_or_init(|| all(&[&WELL_KNOWN_IN_SYSLOG[..], &WELL_KNOWN].concat()))
        } else {
            PLAIN.get_or_init(|| all(&WELL_KNOWN))
        }
    }

    fn guessed(written: &str) -> Prefix {
        Prefix::new(written, r#"(?:[^\s,="@\[\]:/]*?|\[unknown\])"#).expect("the known ones are short")
    }

    /// `None` if the pattern of all its escapes is too large.
    fn new(written: &str, name: &str) -> Option<Prefix> {
        let pattern = format!(r"^ *{} *(?P<severity>\p{{L}}[\p{{L}}\d]*)\s?:  ", pattern_of(written.trim(), name));
        Some(Prefix { pattern: Regex::new(&pattern).ok()?, written: written.to_owned() })
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// `line` without this prefix; `None` if it does not begin with it. What it lacks is that of `head`.
    pub(super) fn of<'a>(&self, line: &'a str, head: Option<&SyslogHead<'_>>) -> Option<Prefixed<'a>> {
        let found = self.pattern.captures(&line[..line.floor_char_boundary(BYTES_MAX)])?;
        let end = found.get(0).expect("the whole").end();
        let group = |name: &str| found.name(name).map(|group| &line[group.range()]);
        let (session, is_process) = session_of(&group, head)?;
        Some(Prefixed {
            at: time_of(&found).or(head.map(|head| head.at))?,
            session,
            is_process,
            database: group("database").filter(|name| *name != "[unknown]").unwrap_or_default(),
            severity: group("severity")?,
            text: &line[end..],
        })
    }
}

fn refused(written: &str, what: &str) -> RecordingError {
    RecordingError::of_file(format!(
        "log_line_prefix = `{}` {what}; a server that is to be recorded has one such as `%m [%p] %q%u@%d `",
        shown(written)
    ))
}

/// The session's id, or the number of its process with the time of its start.
fn session_of<'a>(group: &impl Fn(&str) -> Option<&'a str>, head: Option<&SyslogHead<'_>>) -> Option<(String, bool)> {
    if let Some(id) = group("session") {
        return Some((id.to_owned(), false));
    }
    let process = group("process").or(head.map(|head| head.process))?;
    match group("start") {
        Some(start) => Some((format!("{process} {start}"), false)),
        None => Some((process.to_owned(), true)),
    }
}

fn time_of(found: &Captures<'_>) -> Option<LogTime> {
    match found.name("time") {
        Some(time) => LogTime::parse(time.as_str()),
        None => LogTime::parse_epoch(found.name("epoch")?.as_str()),
    }
}

/// The letters of all escapes of `written`: `%m`, `%-10u`, `%5p`.
fn letters_of(written: &str) -> impl Iterator<Item = char> {
    escapes_of(written).filter_map(|part| if let Part::Escape { letter, .. } = part { Some(letter) } else { None })
}

enum Part<'a> {
    Text(&'a str),
    Escape { letter: char, is_padded: bool },
}

/// The parts of a `log_line_prefix`, as `log_line_prefix` in `elog.c` reads them.
fn escapes_of(written: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = written;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(escape) = rest.strip_prefix('%') else {
            let (text, after) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            rest = after;
            return Some(Part::Text(text));
        };
        let named = escape.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        let letter = named.chars().next()?;
        rest = &named[letter.len_utf8()..];
        Some(Part::Escape { letter, is_padded: named.len() < escape.len() })
    })
}

/// The pattern of a prefix, in which names of users, databases and programs are as the pattern `name`.
fn pattern_of(written: &str, name: &str) -> String {
    const TIME: &str = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]+)? [A-Za-z+\-]\S*?";
    let (mut pattern, mut closes, mut seen) = (String::new(), 0, HashSet::new());
    for part in escapes_of(written) {
        let (letter, is_padded) = match part {
            Part::Text(text) => {
                pattern.push_str(&regex::escape(text));
                continue;
            }
            Part::Escape { letter: '%', .. } => {
                pattern.push('%');
                continue;
            }
            // Processes without a session stop here.
            Part::Escape { letter: 'q', .. } => {
                pattern.push_str("(?:");
                closes += 1;
                continue;
            }
            Part::Escape { letter, is_padded } => (letter, is_padded),
        };
        let (group, inner) = match letter {
            't' | 'm' => ("time", TIME),
            'n' => ("epoch", r"[0-9]+(?:\.[0-9]+)?"),
            'p' => ("process", r"[0-9]+"),
            'c' => ("session", r"[0-9a-fA-F]+\.[0-9a-fA-F]+"),
            's' => ("start", TIME),
            'd' => ("database", name),
            'u' => ("", name),
            'l' => ("", r"[0-9]+"),
            'P' | 'x' => ("", r"[0-9]*"),
            'Q' => ("", r"-?[0-9]*"),
            'e' => ("", r"[0-9A-Z]{5}"),
            'v' => ("", r"(?:-?[0-9]+/[0-9]+)?"),
            'h' | 'r' | 'L' => ("", r"\S*?"),
            _ => ("", ".*?"),
        };
        let pad = if is_padded { " *" } else { "" };
        // One group of each name; it is the same value again.
        if !group.is_empty() && seen.insert(group) {
            write!(pattern, "{pad}(?P<{group}>{inner}){pad}").expect("a String");
        } else {
            write!(pattern, "{pad}{inner}{pad}").expect("a String");
        }
    }
    pattern + &")?".repeat(closes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Session, database, severity and text.
    fn told(prefix: &Prefix, line: &str) -> Option<String> {
        let it = prefix.of(line, None)?;
        Some(format!("{} in `{}`: {}: {}", it.session, it.database, it.severity, it.text))
    }

    fn of_user(written: &str, line: &str) -> Option<String> {
        told(&Prefix::of_user(written).unwrap(), line)
    }

    #[test]
    fn a_prefix_of_the_user_is_read_with_all_its_escapes() {
        for (written, line, expected) in [
            ("%m [%p] ", "2026-11-29 15:11:46.723 UTC [16620] LOG:  a", "16620 in ``: LOG: a"),
            (
                "%t:%r:%u@%d:[%p]:",
                "2026-11-29 15:11:46 UTC:::1(57018):bench@my shop:[7]:ERROR:  a: b:  c",
                "7 in `my shop`: ERROR: a: b:  c",
            ),
            ("%t:%r:%u@%d:[%p]:", "2026-11-29 15:11:46 UTC::@:[7]:LOG:  a", "7 in ``: LOG: a"),
            ("%t-%c-", "2026-11-29 12:11:46 -03-6b0c.3722-LOG:  a", "6b0c.3722 in ``: LOG: a"),
            ("%n|%-8d|%5p|%%|", "1795965757.512|shop    |   12|%|LOG:  a", "12 in `shop`: LOG: a"),
            (
                "%m %p %s %q%d.%d ",
                "2026-11-29 15:11:46.723 UTC 5 2026-11-29 15:11:00 UTC LOG:  a",
                "5 2026-11-29 15:11:00 UTC in ``: LOG: a",
            ),
            ("%m (%p) [%d]", "2026-11-29 15:11:46.723 UTC (5) [[unknown]]LOG:  a", "5 in ``: LOG: a"),
            ("%m [%p]", "2026-11-29 15:11:46.723 UTC [5]DÉTAIL :  a", "5 in ``: DÉTAIL: a"),
        ] {
            assert_eq!(of_user(written, line).as_deref(), Some(expected), "{written}");
        }
        assert_eq!(of_user("%m [%p] ", "2026-99-29 15:11:46.723 UTC [16620] LOG:  a"), None);
        assert_eq!(of_user("%m [%p] ", &format!("2026-11-29 15:11:46.723 UTC [{}]", "é".repeat(BYTES_MAX))), None);
    }

    #[test]
    fn a_prefix_without_time_or_session_is_refused() {
        let checked = |written: &str| Prefix::of_user(written).and_then(|prefix| prefix.check_complete());
        let refused = |written: &str| checked(written).unwrap_err().to_string();
        assert!(refused("%u@%d ").starts_with("log_line_prefix = `%u@%d ` has no time (`%m`, `%t` or `%n`); "));
        assert!(refused("%t ").contains("has no session"));
        assert!(refused("%t %p %y").contains("has `%y`, which PostgreSQL does not have"));
        assert!(checked("%t %p %").is_ok());
        assert!(refused(&"%m%p".repeat(5_000)).contains("is too long"));
    }

    proptest! {
        #[test]
        fn no_prefix_is_too_strange(written in "[%adhpmtcqnlsQ0-9 |é\\[\\\\*(?-]{0,20}", line in "[a-zA-Z0-9 :@é\\[\\]\t-]{0,40}") {
            if let Ok(prefix) = Prefix::of_user(&written) {
                let _ = (prefix.check_complete(), told(&prefix, &line), told(&prefix, &format!("{line}LOG:  a")));
            }
        }
    }

    #[test]
    fn no_well_known_prefix_is_taken_for_another_one() {
        let line = |written: &str| {
            let values = [
                ("%m", "2026-11-29 15:11:46.723 UTC"),
                ("%t", "2026-11-29 15:11:46 UTC"),
                ("%p", "77"),
                ("%u", "bench"),
                ("%d", "shop"),
                ("%a", "psql - x"),
                ("%h", "10.0.0.1"),
                ("%r", "10.0.0.1(5)"),
                ("%c", "6b0c.3722"),
                ("%l", "3"),
                ("%e", "00000"),
                ("%s", "2026-11-29 15:11:00 UTC"),
                ("%v", "3/4"),
                ("%x", "0"),
                ("%q", ""),
            ];
            let filled = values.iter().fold(written.to_owned(), |text, (escape, value)| text.replace(escape, value));
            filled + "LOG:  statement: select 1"
        };
        for written in WELL_KNOWN {
            let line = line(written);
            let taken: Vec<&str> =
                WELL_KNOWN.into_iter().filter(|other| told(&Prefix::guessed(other), &line).is_some()).collect();
            assert_eq!(taken, [written], "{line}");
            let database = if written.contains("%d") { "shop" } else { "" };
            let session = if written.contains("%c") { "6b0c.3722" } else { "77" };
            let expected = format!("{session} in `{database}`: LOG: statement: select 1");
            assert_eq!(told(&Prefix::guessed(written), &line), Some(expected));
        }
    }
}
