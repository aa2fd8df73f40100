//! What the message of a record says.
//!
//! In: a message of PostgreSQL in English. Out: an [`Event`]. Limits: with `log_duration`, or if a statement was logged before, its duration is
//! in a record of its own. PARSE and BIND are no executions, and plans of auto_explain no statements.
//! The words are those of `postgres.c`, `postinit.c` and `postmaster.c` of PostgreSQL 9.6 to 18.

#[derive(Debug, PartialEq)]
pub(super) enum Event<'a> {
    /// A statement of the simple protocol.
    Statement {
        took_us: Option<u64>,
        text: &'a str,
    },
    /// An execution of a statement of the extended protocol, whose values are in the detail of the record.
    Execution {
        took_us: Option<u64>,
        /// Whether the statement has a name, under which it stays prepared.
        is_named: bool,
        text: &'a str,
    },
    /// More rows of an execution.
    Fetch,
    /// A call of a function by its number, without its values.
    FunctionCall,
    /// The end of what the session did.
    Ended,
    Connected,
    /// The session of the client is in this database.
    Authorized {
        database: &'a str,
    },
    Disconnected,
    /// A statement in the words of another language.
    OtherLanguage,
    Other,
}

impl<'a> Event<'a> {
    pub(super) fn of(message: &'a str) -> Event<'a> {
        let (took_us, rest) = duration_of(message);
        if let Some(text) = rest.strip_prefix("statement: ") {
            return Event::Statement { took_us, text };
        }
        if rest.starts_with("execute fetch from ") {
            return Event::Fetch;
        }
        if let Some((name, text)) = rest.strip_prefix("execute ").and_then(|rest| rest.split_once(": ")) {
            return Event::Execution { took_us, is_named: !name.starts_with("<unnamed>"), text };
        }
        match took_us {
            Some(_) if rest.is_empty() => Event::Ended,
            _ => Event::of_connection(rest),
        }
    }

    fn of_connection(message: &'a str) -> Event<'a> {
        if message.starts_with("fastpath function call: ") {
            Event::FunctionCall
        } else if message.starts_with("connection received: ") {
            Event::Connected
        } else if let Some(rest) = message.strip_prefix("connection authorized: ") {
            Event::Authorized { database: authorized_database(rest).unwrap_or_default() }
        } else if message.starts_with("disconnection: ") {
            Event::Disconnected
        } else if is_other_language(message) {
            Event::OtherLanguage
        } else {
            Event::Other
        }
    }
}

/// `duration: 0.476 ms  statement: ...` without its duration, which is in microseconds.
fn duration_of(message: &str) -> (Option<u64>, &str) {
    let Some((ms, rest)) = message.strip_prefix("duration: ").and_then(|rest| rest.split_once(" ms")) else {
        return (None, message);
    };
    match ms.parse::<f64>() {
        Ok(ms) if (0.0..1e12).contains(&ms) => (Some((ms * 1e3).round() as u64), rest.trim_start()),
        _ => (None, message),
    }
}

/// The database in `user=bench database=shop application_name=psql SSL enabled (...)`.
fn authorized_database(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(" database=")?;
    let ends = [" application_name=", " SSL enabled", " GSS ("].iter().filter_map(|end| rest.find(end));
    Some(&rest[..ends.min().unwrap_or(rest.len())])
}

/// Whether `message` is a statement or a duration in another language: the words of PostgreSQL's own translations.
fn is_other_language(message: &str) -> bool {
    const WORDS: [&str; 27] = [
        "Anweisung",
        "Dauer",
        "instruction",
        "durée",
        "sentencia",
        "duración",
        "istruzione",
        "durata",
        "comando",
        "duração",
        "оператор",
        "продолжительность",
        "тривалість",
        "文",
        "期間",
        "명령 구문",
        "실행시간",
        "수행시간",
        "sats",
        "varaktighet",
        "语句",
        "执行时间",
        "ოპერატორი",
        "ხანგრძლივობა",
        "wyrażenie",
        "czas trwania",
        "süre",
    ];
    message.split_once(':').is_some_and(|(word, _)| WORDS.contains(&word.trim_end()))
}

/// What a message says of the server that writes the log.
pub(super) enum ServerWord<'a> {
    Version(&'a str),
    Port(u16),
    Socket(&'a str),
}

impl<'a> ServerWord<'a> {
    pub(super) fn of(message: &'a str) -> Option<ServerWord<'a>> {
        if let Some(version) = message.strip_prefix("starting PostgreSQL ") {
            return version.split(' ').next().map(ServerWord::Version);
        }
        let listening = message.strip_prefix("listening on ")?;
        if let Some(path) = listening.strip_prefix("Unix socket ") {
            return Some(ServerWord::Socket(path.trim_matches('"')));
        }
        listening.split(", port ").nth(1)?.trim().parse().ok().map(ServerWord::Port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let took_us = Some(787);
        for (message, event) in [
            ("statement: select 1", Event::Statement { took_us: None, text: "select 1" }),
            ("duration: 0.787 ms  statement: a\n b", Event::Statement { took_us, text: "a\n b" }),
            ("execute S_1/C_1: select $1", Event::Execution { took_us: None, is_named: true, text: "select $1" }),
            (
                "duration: 0.787 ms  execute <unnamed>: a: b",
                Event::Execution { took_us, is_named: false, text: "a: b" },
            ),
            ("duration: 0.787 ms  execute fetch from S_1/C_1: select 1", Event::Fetch),
            ("duration: 0.787 ms  parse P_0: select 1", Event::Other),
            ("duration: 0.787 ms  bind P_0: select 1", Event::Other),
            ("duration: 0.787 ms  plan:\nQuery Text: select 1", Event::Other),
            ("duration: 0.787 ms", Event::Ended),
            ("duration: a ms", Event::Other),
            ("fastpath function call: \"lowrite\" (OID 955)", Event::FunctionCall),
            ("connection received: host=127.0.0.1 port=5", Event::Connected),
            (
                "connection authorized: user=a database=my shop application_name=psql",
                Event::Authorized { database: "my shop" },
            ),
            (
                "connection authorized: user=a database=b SSL enabled (protocol=TLSv1.3)",
                Event::Authorized { database: "b" },
            ),
            ("replication connection authorized: user=a", Event::Other),
            ("disconnection: session time: 0:00:00.05 user=a database=b", Event::Disconnected),
            ("Anweisung: select 1", Event::OtherLanguage),
            ("durée\u{a0}: 1.5 ms, instruction : select 1", Event::OtherLanguage),
            ("checkpoint starting: time", Event::Other),
        ] {
            assert_eq!(Event::of(message), event, "{message}");
        }
    }
}
