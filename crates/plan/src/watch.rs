//! The flags of a watch: how long, how often a new file begins, at which conditions details are kept.
//!
//! In: the text of a flag. Out: its value, or one line with what it takes. Limits: whether a server shows what a condition is about is not known
//! here.

use crate::common::{INTERVAL_MIN, PHASE_MAX};
use crate::document::Written;
use crate::error::{Place, PlanError, hint, listed};
use crate::text;
use crate::value;
use model::{Nanos, WatchCondition, WatchedFigure};

/// The word for a watch that only the user ends.
pub const UNLIMITED: &str = "unlimited";

fn written<'a>(key: &'a str, text: &str) -> Written<'a> {
    Written { key: key.into(), text: text.trim().into(), place: Place::Flag(key) }
}

/// How long a watch goes on, given by the flag `time`; `None` until the user ends it.
///
/// # Errors
/// What it takes, in one line.
pub fn watch_time(text: &str) -> Result<Option<Nanos>, PlanError> {
    if text.trim() == UNLIMITED {
        return Ok(None);
    }
    value::parse_duration(&written("time", text), INTERVAL_MIN, PHASE_MAX).map(Some)
}

/// The length of an interval of a watch, given by the flag `interval`.
///
/// # Errors
/// What it takes, in one line.
pub fn watch_interval(text: &str) -> Result<Nanos, PlanError> {
    value::parse_duration(&written("interval", text), Nanos::from_millis(100), Nanos::from_secs(3_600))
}

/// The time at whose multiples a new file begins, given by the flag `roll`.
///
/// # Errors
/// What it takes, in one line.
pub fn watch_roll(text: &str) -> Result<Nanos, PlanError> {
    value::parse_duration(&written("roll", text), Nanos::from_secs(1), PHASE_MAX)
}

/// A condition at which details are kept, given by the flag `when`: `running>20`, `mean>50ms`, `cpu>90%`.
///
/// # Errors
/// What it takes, in one line.
pub fn watch_condition(text: &str) -> Result<WatchCondition, PlanError> {
    let written = written("when", text);
    let names = || WatchedFigure::ALL.into_iter().map(WatchedFigure::name);
    let takes = || format!("NAME>LIMIT or NAME<LIMIT; the names are {}", listed(names()));
    let (name, above, limit) = match (written.text.split_once('>'), written.text.split_once('<')) {
        (Some((name, limit)), None) => (name.trim(), true, limit.trim()),
        (None, Some((name, limit))) => (name.trim(), false, limit.trim()),
        _ => return Err(written.refused(takes())),
    };
    let Some(figure) = WatchedFigure::ALL.into_iter().find(|figure| figure.name() == name) else {
        return Err(written.refused(format_args!("{}{}", takes(), hint(name, names()))));
    };
    let (value, kind) = match figure {
        WatchedFigure::Mean => (time(limit), "a time with its unit (us, ms, s, m, h), such as 50ms"),
        WatchedFigure::Cpu | WatchedFigure::Disk => (share(limit), "a share from 0% to 100%"),
        _ => (text::parse_finite(limit).filter(|value| *value >= 0.0), "a number of at least 0"),
    };
    let sign = if above { '>' } else { '<' };
    let limit_value = value.ok_or_else(|| written.refused(format_args!("`{name}{sign}` with {kind}")))?;
    Ok(WatchCondition { figure, above, limit: limit_value, written: limit.to_owned() })
}

/// Nanoseconds. A number alone would be seconds elsewhere, and few mean that here.
fn time(text: &str) -> Option<f64> {
    let time = Nanos::parse(text).filter(|_| text.ends_with(char::is_alphabetic))?;
    Some(time.0 as f64)
}

fn share(text: &str) -> Option<f64> {
    let percent = text::parse_finite(text.strip_suffix('%')?.trim_end())?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_a_name_a_sign_and_a_limit_in_the_unit_of_the_name() {
        for (text, figure, above, limit, shown) in [
            ("running>20", WatchedFigure::Running, true, 20.0, "running>20"),
            (" qps < 10.5 ", WatchedFigure::Qps, false, 10.5, "qps<10.5"),
            ("mean>50ms", WatchedFigure::Mean, true, 50e6, "mean>50ms"),
            ("cpu>90%", WatchedFigure::Cpu, true, 0.9, "cpu>90%"),
        ] {
            let read = watch_condition(text).expect(text);
            assert_eq!((read.figure, read.above, read.limit), (figure, above, limit));
            assert_eq!(read.to_string(), shown);
        }
        let waiting = watch_condition("waiting>0").expect("a condition");
        assert!(waiting.holds(1.0) && !waiting.holds(0.0));
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_there_is() {
        let refused = |text| watch_condition(text).expect_err(text).to_string();
        let unknown = refused("p99>50ms");
        assert!(unknown.contains("cannot be `p99>50ms`; use NAME>LIMIT or NAME<LIMIT; the names are `qps`, `mean`"));
        assert!(refused("runing>5").contains("did you mean `running`?"));
        for text in ["mean>fast", "mean>50"] {
            let expected = "use `mean>` with a time with its unit (us, ms, s, m, h), such as 50ms";
            assert!(refused(text).ends_with(expected), "{}", refused(text));
        }
        assert!(refused("cpu>90").contains("a share from 0% to 100%"), "{}", refused("cpu>90"));
        for text in ["", "running", "running>", "running>-1", "running>1<2", "cpu>101%", "qps>inf", "mean>"] {
            refused(text);
        }
    }

    #[test]
    fn a_watch_may_go_on_without_end() {
        assert_eq!(watch_time("unlimited").expect("a word"), None);
        assert_eq!(watch_time("10m").expect("a time"), Some(Nanos::from_secs(600)));
        assert!(watch_time("31d").is_err() && watch_roll("500ms").is_err());
        assert_eq!(watch_roll("1d").expect("a time"), Nanos::from_secs(86_400));
    }
}
