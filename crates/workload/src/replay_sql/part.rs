//! Which part of a recording is replayed, and how many copies of it.
//!
//! In: the parameters `from`, `for`, `times`, `shift` and `keys`. Out: the stretch, the [`Copies`] of it, and their [`AskedKey`]s. Limits: a time
//! of the day is that of the log's own clock (UTC, if the log names zones), and the first one from its first statement on.

use super::keys::{AskedKey, parse_keys};
use super::recording::{Copies, SqlRecording, shown};
use model::params::{TIMES, TIMES_MAX, TIMES_PHRASE};
use model::{Nanos, ParamDef, ParamKind, ParamRole, Params, Value};

pub(super) const TIMES_DEF: ParamDef = ParamDef {
    help: "how many copies of all sessions are replayed at once, such as 3, or 3.4 with four tenths of the sessions of a fourth",
    phrase: TIMES_PHRASE,
    ..ParamDef::new(TIMES, ParamRole::Work, ParamKind::Float { min: 0.001, max: TIMES_MAX }, "1")
};
pub(super) const SHIFT: ParamDef = ParamDef {
    help: "how far into the log a further copy begins at most, at a random place; `auto` is a tenth of it, at most 60 s",
    ..ParamDef::new("shift", ParamRole::Work, ParamKind::Path, "auto")
};
pub(super) const KEYS: ParamDef = ParamDef {
    help: "keys of which each copy has values of its own, as `orders.id+order_lines.id`: those above the highest in the table move; `:TABLE.COLUMN` behind a key moves alike, and `=RANGE` moves all its values",
    ..ParamDef::new("keys", ParamRole::Work, ParamKind::Path, "")
};
pub(super) const FROM: ParamDef = ParamDef {
    help: "where the replay begins: a time of the day by the clock of the log, such as `20:00`, or a time after its first statement, such as `90s`",
    ..ParamDef::new("from", ParamRole::Work, ParamKind::Path, "0s")
};
pub(super) const FOR: ParamDef = ParamDef {
    help: "how much of the log is replayed, such as `30m`; `end` is up to its end",
    ..ParamDef::new("for", ParamRole::Work, ParamKind::Path, "end")
};

/// A further copy begins so far into the recording at most, unless the user says how far.
const SHIFT_MAX: Nanos = Nanos::from_secs(60);

/// How many copies a trial with these parameters replays.
pub fn times_of(params: &Params) -> f64 {
    if let Some(Value::Float(times)) = params.0.get(TIMES) { *times } else { 1.0 }
}

/// The keys that move from copy to copy.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn asked_keys(params: &Params) -> Result<Vec<AskedKey>, String> {
    if let Some(Value::Word(text)) = params.0.get(KEYS.name) { parse_keys(text) } else { Ok(Vec::new()) }
}

/// The stretch of `recording` that a trial with these parameters replays; `None` if that is all of it.
///
/// # Errors
/// What is wrong with the parameters, or that there is nothing, in one line.
pub fn stretch_of(recording: &SqlRecording, params: &Params) -> Result<Option<SqlRecording>, String> {
    let (from, length) = bounds_of(recording, params.word(FROM.name), params.word(FOR.name))?;
    if from == Nanos(0) && length.is_none_or(|length| length >= recording.length()) {
        return Ok(None);
    }
    recording.stretch(from, length).map(Some).map_err(|error| error.to_string())
}

/// How long after the first statement of `recording` the part begins that is named by `from` and `length`, and how long it is, unless to the end.
pub(super) fn bounds_of(recording: &SqlRecording, from: &str, length: &str) -> Result<(Nanos, Option<Nanos>), String> {
    let from = begin_of(recording, from)?;
    let length = match length {
        "end" => None,
        text => Some(
            parse_time(text)
                .filter(|length| length.0 > 0)
                .ok_or_else(|| format!("for = `{}`: write a time such as `30m` or `90s`, or `end`", shown(text)))?,
        ),
    };
    Ok((from, length))
}

/// How far into a recording of this `length` a further copy begins at most.
///
/// # Errors
/// What is wrong with the parameter, in one line.
pub fn shift_of(params: &Params, length: Nanos) -> Result<Nanos, String> {
    match params.word(SHIFT.name) {
        "auto" => Ok(Nanos(length.0 / 10).min(SHIFT_MAX)),
        text => {
            let shift = parse_time(text);
            let shift =
                shift.ok_or_else(|| format!("shift = `{}`: write a time such as `30s`, or `auto`", shown(text)))?;
            let is_within = shift == Nanos(0) || shift < length;
            is_within.then_some(shift).ok_or_else(|| {
                format!("shift = `{}` leaves nothing to replay: there are {length} of the log", shown(text))
            })
        }
    }
}

/// The copies that a trial with these parameters and this seed replays of `recording`, of so much of its time at most.
///
/// # Errors
/// What is wrong with the parameters, in one line.
pub fn copies_of(recording: &SqlRecording, params: &Params, seed: u64, length: Nanos) -> Result<Copies, String> {
    Ok(Copies { times: times_of(params), shift: shift_of(params, recording.length())?, length, seed })
}

/// How long after the first statement the time `text` is.
fn begin_of(recording: &SqlRecording, text: &str) -> Result<Nanos, String> {
    const DAY: Nanos = Nanos::from_secs(86_400);
    let wrong = || {
        format!(
            "from = `{}`: write a time of the day such as `20:00`, or one after the first statement, such as `90s`",
            shown(text)
        )
    };
    if !text.contains(':') {
        return parse_time(text).ok_or_else(wrong);
    }
    let at = time_of_day(text).ok_or_else(wrong)?;
    let first = recording.time_of_day();
    let from = Nanos((at.0 + DAY.0 - first.0) % DAY.0);
    if from <= recording.length() {
        return Ok(from);
    }
    let last = Nanos(first.0 + recording.length().0);
    Err(format!(
        "from = `{}`: the log goes from {} to {} by its own clock",
        shown(text),
        clock_text(first),
        clock_text(last)
    ))
}

/// The time of the day `20:00` or `20:00:30`.
fn time_of_day(text: &str) -> Option<Nanos> {
    let parts = text.split(':').map(|part| part.parse().ok().filter(|_| part.len() == 2));
    let parts: Option<Vec<i64>> = parts.collect();
    let seconds = match parts?.as_slice() {
        [hour, minute] => super::days::seconds_of_day(*hour, *minute, 0),
        [hour, minute, second] => super::days::seconds_of_day(*hour, *minute, *second),
        _ => None,
    };
    seconds
        .filter(|_| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':'))
        .map(|s| Nanos::from_secs(s as u64))
}

/// The time of the day `20:00:05`; a later one is of the next day.
pub fn clock_text(time: Nanos) -> String {
    let seconds = time.0 / 1_000_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A length of time. A hundred years are beyond every log, and such times can be added.
fn parse_time(text: &str) -> Option<Nanos> {
    Nanos::parse(text).filter(|time| time.0 < 3_200_000_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay_sql::{LogWanted, read_log};

    /// Two statements, at 19:59:50 and at 20:10:00.
    const LOG: &str = "261128 19:59:50\t     4 Query\tselect 1\n261128 20:10:00\t     4 Query\tselect 2\n";

    fn params(words: &[(&str, &str)]) -> Params {
        let usual = [("from", "0s"), ("for", "end"), ("shift", "auto")];
        let all = usual.iter().chain(words).map(|(name, word)| ((*name).to_owned(), Value::Word((*word).to_owned())));
        Params(all.collect())
    }

    fn length(words: &[(&str, &str)]) -> Result<Option<(u64, u64)>, String> {
        let recording = read_log(LOG.as_bytes(), &LogWanted::default()).unwrap().1;
        let part = stretch_of(&recording, &params(words))?;
        Ok(part.map(|part| (part.len(), part.length().0 / 1_000_000_000)))
    }

    #[test]
    fn a_part_begins_at_a_time_of_the_log_or_after_its_beginning() {
        assert_eq!(length(&[]), Ok(None));
        assert_eq!(length(&[("from", "20:00")]), Ok(Some((1, 600))));
        assert_eq!(length(&[("from", "19:59:50"), ("for", "30s")]), Ok(Some((1, 0))));
        assert_eq!(length(&[("from", "5m"), ("for", "10m")]), Ok(Some((1, 310))));
        assert_eq!(length(&[("for", "11m")]), Ok(None));
        let refused = |words: &[(&str, &str)]| length(words).unwrap_err();
        assert_eq!(
            refused(&[("from", "21:00")]),
            "from = `21:00`: the log goes from 19:59:50 to 20:10:00 by its own clock"
        );
        for text in ["x", "25:00", "1:00", "20:00:00:00", "-5s", "20:+1", "1e999s", ":"] {
            assert!(
                refused(&[("from", text)]).starts_with(&format!("from = `{text}`: write a time of the day")),
                "{text}"
            );
        }
        assert!(refused(&[("for", "0s")]).starts_with("for = `0s`: write a time"));
        assert!(refused(&[("from", "1s"), ("for", "1s")]).contains("has no statement to replay"));
    }

    #[test]
    fn copies_are_shifted_by_a_tenth_or_by_what_was_asked() {
        let shift = |text: &str, length_s| shift_of(&params(&[("shift", text)]), Nanos::from_secs(length_s));
        assert_eq!(shift("auto", 100), Ok(Nanos::from_secs(10)));
        assert_eq!(shift("auto", 10_000), Ok(Nanos::from_secs(60)));
        assert_eq!((shift("0", 0), shift("5m", 600)), (Ok(Nanos(0)), Ok(Nanos::from_secs(300))));
        assert!(shift("10s", 10).unwrap_err().contains("leaves nothing to replay"));
        assert!(shift("often", 10).unwrap_err().starts_with("shift = `often`: write a time"));
    }
}
