//! PostgreSQL's log in CSV (`log_destination = csvlog`), with `log_statement = all` or `log_min_duration_statement = 0`.
//!
//! In: lines. Out: statements for a [`RecordingBuilder`]. Limits: the columns of PostgreSQL 12 to 17. A statement of the extended protocol is
//! replayed with its values as literals, if the log has them (`log_parameter_max_length`); its PARSE and BIND are no statements.

use super::lines::{LINE_BYTES_MAX, Lines};
use super::recording::SqlRecording;
use super::recording::{FoundStatement, RecordedServer, RecordingBuilder, shown};
use super::wanted::{LogDialect, LogWanted};
use crate::recording_error::RecordingError;
use std::io::BufRead;

/// The columns of the oldest version and of the newest.
const COLUMNS: std::ops::RangeInclusive<usize> = 23..=26;
const TIME: usize = 0;
const DATABASE: usize = 2;
const SESSION: usize = 5;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;

/// Whether `line` is the first of such a log.
pub(super) fn is_first_line(line: &str) -> bool {
    line.split_once(',').is_some_and(|(time, _)| parse_time(time).is_some())
}

/// Reads a log.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>, wanted: &LogWanted) -> Result<SqlRecording, RecordingError> {
    let mut builder = RecordingBuilder::new(LogDialect::Postgres, wanted);
    let mut server = RecordedServer::default();
    while let Some((number, columns)) = next_record(lines)? {
        read_record(number, &columns, &mut builder, &mut server)?;
    }
    builder.set_server(server);
    builder.finish(false)
}

/// The next record, which may have several lines, with the number of its first.
fn next_record<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(u64, Vec<String>)>, RecordingError> {
    let Some(mut text) = lines.next_line()? else { return Ok(None) };
    let number = lines.number();
    let cut = || RecordingError::at(number, "the log is cut off here: the record is not complete");
    while text.matches('"').count() % 2 == 1 {
        let more = lines.next_line()?.ok_or_else(cut)?;
        text.push('\n');
        text.push_str(&more);
        if text.len() > LINE_BYTES_MAX {
            return Err(RecordingError::at(number, "the record has more than 64 MiB: a quote is not closed"));
        }
    }
    if !lines.is_whole() {
        return Err(cut());
    }
    let columns = split_columns(&text);
    if COLUMNS.contains(&columns.len()) {
        return Ok(Some((number, columns)));
    }
    let text = format!(
        "`{}` has {} columns; PostgreSQL's CSV log has {} to {}: it is another log, or of another version",
        shown(&text),
        columns.len(),
        COLUMNS.start(),
        COLUMNS.end()
    );
    Err(RecordingError::at(number, text))
}

fn split_columns(text: &str) -> Vec<String> {
    let (mut columns, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => column.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(std::mem::take(&mut column)),
            c => column.push(c),
        }
    }
    columns.push(column);
    columns
}

fn read_record(
    number: u64,
    columns: &[String],
    builder: &mut RecordingBuilder,
    server: &mut RecordedServer,
) -> Result<(), RecordingError> {
    let wrong = || {
        RecordingError::at(
            number,
            format!("`{}` is no time; the log is of another kind or version", shown(&columns[TIME])),
        )
    };
    let at_us = parse_time(&columns[TIME]).ok_or_else(wrong)?;
    let message = columns[MESSAGE].as_str();
    learn_server(message, server);
    let (took_us, rest) = duration_of(message);
    let session = columns[SESSION].as_str();
    if rest.is_empty() {
        if let Some(took_us) = took_us {
            builder.end_last_of(session, at_us, took_us);
        }
        return Ok(());
    }
    let text = match rest.strip_prefix("statement: ") {
        Some(text) => text.to_owned(),
        None => match executed(rest, &columns[DETAIL]) {
            Executed::Statement(text) => text,
            Executed::Unbound => {
                builder.count_unbound();
                return Ok(());
            }
            Executed::Nothing => return Ok(()),
        },
    };
    let began_us = at_us.saturating_sub(took_us.unwrap_or(0) as i64);
    builder.add(&FoundStatement { line: number, began_us, took_us, session, schema: &columns[DATABASE], text: &text })
}

/// What a message of the extended protocol is.
enum Executed {
    /// A statement with its values.
    Statement(String),
    /// One whose values the log does not have.
    Unbound,
    /// No statement.
    Nothing,
}

/// `execute NAME: SELECT ... $1`, with `parameters: $1 = '4', $2 = NULL` in the detail.
fn executed(rest: &str, detail: &str) -> Executed {
    let Some((_, text)) = rest.strip_prefix("execute ").and_then(|rest| rest.split_once(": ")) else {
        return Executed::Nothing;
    };
    let values = parameters(detail);
    match bind(text, &values) {
        Some(text) => Executed::Statement(text),
        None => Executed::Unbound,
    }
}

/// The values in `parameters: $1 = 'it''s', $2 = NULL`, as literals.
fn parameters(detail: &str) -> Vec<String> {
    let listed = detail.strip_prefix("parameters: ").or_else(|| detail.strip_prefix("Parameters: "));
    let (mut values, mut rest) = (Vec::new(), listed.unwrap_or_default());
    while let Some((_, after)) =
        rest.split_once(" = ").filter(|(name, _)| name.trim_start_matches([',', ' ']).starts_with('$'))
    {
        let length = match after.strip_prefix('\'') {
            None => after.find(',').unwrap_or(after.len()),
            Some(inner) => 1 + quote_end(inner),
        };
        values.push(after[..length].to_owned());
        rest = &after[length..];
    }
    values
}

/// The number of bytes up to the end of the quote that closes `text`, that quote included.
fn quote_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\'' && chars.next_if(|(_, next)| *next == '\'').is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// `text` with a literal in place of each `$1`; `None` if one has no value.
fn bind(text: &str, values: &[String]) -> Option<String> {
    let (mut bound, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['$', '\'', '"']) {
        bound.push_str(&rest[..at]);
        let after = &rest[at..];
        let length = match after.as_bytes()[0] {
            b'$' => {
                let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
                if digits > 0 {
                    let number: usize = after[1..=digits].parse().ok()?;
                    bound.push_str(values.get(number.checked_sub(1)?)?);
                } else {
                    bound.push('$');
                }
                1 + digits
            }
            quote => {
                let end = after[1..].find(char::from(quote)).map_or(after.len(), |end| end + 2);
                bound.push_str(&after[..end]);
                end
            }
        };
        rest = &after[length..];
    }
    bound.push_str(rest);
    Some(bound)
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

fn learn_server(message: &str, server: &mut RecordedServer) {
    if let Some(version) = message.strip_prefix("starting PostgreSQL ") {
        *server = RecordedServer {
            version: version.split(' ').next().unwrap_or_default().to_owned(),
            ..RecordedServer::default()
        };
    } else if let Some(rest) = message.strip_prefix("listening on IPv").and_then(|rest| rest.split(", port ").nth(1)) {
        server.port = rest.trim().parse().ok();
    } else if let Some(path) = message.strip_prefix("listening on Unix socket ") {
        server.socket = Some(path.trim_matches('"').to_owned());
    }
}

/// `2026-11-28 03:16:35.480 UTC` in microseconds, without its zone: only distances count.
fn parse_time(text: &str) -> Option<i64> {
    let mut words = text.split(' ');
    let (date, clock) = (words.next()?, words.next()?);
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    let mut parts = date.splitn(3, '-').map(number);
    let days = super::days::days_since_1970(parts.next()??, parts.next()??, parts.next()??)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour < 24 && minute < 60 && second < 61 && fraction.len() <= 6).then_some(())?;
    let us = number(fraction)? * 10i64.pow(6 - fraction.len() as u32);
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000 + us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(text: &str) -> Result<SqlRecording, String> {
        read(&mut Lines::new(text.as_bytes()), &LogWanted::default()).map_err(|error| error.to_string())
    }

    fn record(clock: &str, session: &str, message: &str, detail: &str) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        format!(
            "2026-11-28 03:16:{clock} UTC,\"postgres\",\"shop\",32434,\"[local]\",{session},1,\"idle\",2026-11-28 03:16:35 UTC,4/2,0,LOG,00000,{},{},,,,,,,,\"psql\",\"client backend\",,0\n",
            quoted(message),
            if detail.is_empty() { String::new() } else { quoted(detail) }
        )
    }

    fn told(recording: &SqlRecording) -> Vec<String> {
        let all = recording.statements().map(Result::unwrap);
        all.map(|it| {
            let text = recording.text(&it).unwrap();
            format!("{} {} {}: {text}", it.due.0 / 1_000_000, it.session, recording.schema(it.schema))
        })
        .collect()
    }

    #[test]
    fn statements_begin_when_they_were_logged_or_their_duration_before() {
        let text = [
            record("35.480", "s.0", "starting PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64", ""),
            record("35.480", "s.0", "listening on IPv4 address \"127.0.0.1\", port 33992", ""),
            record("35.480", "s.0", "listening on Unix socket \"/tmp/p/.s.PGSQL.33992\"", ""),
            record("35.500", "s.1", "statement: select * from t\n where c = 'x,\"y\"';", ""),
            record("35.700", "s.1", "duration: 200.640 ms", ""),
            record("36.500", "s.2", "duration: 250.000 ms  statement: select 2", ""),
            record("36.600", "s.2", "statement: insert into t values (1)", ""),
        ];
        let recording = recording(&text.concat()).unwrap();
        assert_eq!(told(&recording), ["0 0 shop: select * from t\n where c = 'x,\"y\"'", "750 1 shop: select 2"]);
        assert_eq!((recording.left_out.writes, recording.most_at_once()), (1, 1));
        let server = &recording.server;
        assert_eq!(
            (server.version.as_str(), server.port, server.socket.as_deref()),
            ("15.18", Some(33_992), Some("/tmp/p/.s.PGSQL.33992"))
        );
    }

    #[test]
    fn values_of_prepared_statements_become_literals() {
        let text = [
            record("37.482", "s.1", "duration: 0.787 ms  parse P_0: select c from t where id = $1;", ""),
            record(
                "37.486",
                "s.1",
                "duration: 0.961 ms  bind P_0: select c from t where id = $1;",
                "parameters: $1 = '4'",
            ),
            record(
                "37.487",
                "s.1",
                "execute P_0: select c, '$1' from t where id = $1 and d = $2 and e = $3;",
                "parameters: $1 = '4', $2 = 'it''s, $1', $3 = NULL",
            ),
            record("37.487", "s.1", "duration: 0.038 ms", ""),
            record("37.490", "s.1", "duration: 1.000 ms  execute <unnamed>: select $1", "Parameters: $1 = 'x'"),
            record("37.491", "s.1", "execute P_0: select c from t where id = $1;", ""),
        ];
        let recording = recording(&text.concat()).unwrap();
        assert_eq!(
            told(&recording),
            ["0 0 shop: select c, '$1' from t where id = '4' and d = 'it''s, $1' and e = NULL", "2 0 shop: select 'x'"]
        );
        assert_eq!(recording.left_out.unbound, 1);
    }

    #[test]
    fn a_log_that_is_cut_or_of_another_kind_is_refused_with_its_line() {
        let text =
            [record("35.500", "s.1", "statement: select 1", ""), record("35.600", "s.1", "statement: select\n2", "")]
                .concat();
        assert!(recording(&text).is_ok());
        let refused = |text: &str| recording(text).unwrap_err();
        assert_eq!(refused(&text[..text.len() - 70]), "line 2: the log is cut off here: the record is not complete");
        assert_eq!(refused(&text[..text.len() - 5]), "line 2: the log is cut off here: the record is not complete");
        assert!(
            refused("2026-11-28 03:16:35.480 UTC,a,b\n")
                .starts_with("line 1: `2026-11-28 03:16:35.480 UTC,a,b` has 3 columns; ")
        );
        assert!(
            refused(&text.replacen("2026-11-28 03", "yesterday", 1))
                .starts_with("line 1: `yesterday:16:35.500 UTC` is no time")
        );
        let quote = record("35.700", "s.1", "statement: select 'a", "");
        assert_eq!(recording(&[text.as_str(), &quote].concat()).unwrap().skipped.total(), 1);
    }
}
