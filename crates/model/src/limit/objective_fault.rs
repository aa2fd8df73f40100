//! What is wrong with a text that is no objective.
//!
//! In: such a text. Out: the fault of the first condition that is none, and the condition that was probably meant. Limits: it knows the usual slips:
//! another sign, a unit that is missing or another, a percentile that is not recorded, a limit that can be none.

use super::objective::Objective;
use crate::quantiles::Percentile;

/// What continues `` `p99<10` cannot be used ``: `` : `10` lacks a unit; use `p99<10ms` ``. `None` if it is no usual slip.
pub fn fault_of(text: &str) -> Option<String> {
    if let Some(fault) = fault_of_joining(text) {
        return Some(fault);
    }
    let condition = text.split(',').map(str::trim).find(|part| Objective::parse(part).is_none());
    let Some(condition) = condition else { return fault_of_repetition(text) };
    let (kind, limited) = condition.split_at(condition.rfind(':').map_or(0, |at| at + 1));
    let (name, limit) = limited.split_once(['<', '>'])?;
    let name = name.trim();
    if is_other_percentile(name) {
        let known: Vec<String> = Percentile::ALL.iter().map(|one| format!("`{}`", one.as_str())).collect();
        return Some(format!(": `{name}` is not recorded; use {}", known.join(", ")));
    }
    let limit = Limit::read(name, limit.trim_start_matches('=').trim())?;
    let Some(own) = limit.meant else { return limit.fault.map(|fault| format!(": {fault}")) };
    let meant = format!("{kind}{name}<{own}");
    Objective::parse(&meant)?;
    let fault = match limit.fault {
        _ if limited.contains('>') => ": an objective is a limit from above".to_owned(),
        Some(fault) => format!(": {fault}"),
        None => String::new(),
    };
    Some(format!("{fault}; use `{meant}`"))
}

/// What is wrong with the signs between conditions: another than a comma, one too many, or one within a number.
fn fault_of_joining(text: &str) -> Option<String> {
    let use_of = |meant: &str| Objective::parse(meant).map(|_| format!("; use `{meant}`"));
    if text.contains(';') {
        let meant = use_of(&text.replace(';', ","));
        return Some(format!(": conditions are joined by commas{}", meant.unwrap_or_default()));
    }
    let is_in_number = |three: &[u8]| three[0].is_ascii_digit() && three[1] == b',' && three[2].is_ascii_digit();
    if text.as_bytes().windows(3).any(is_in_number) {
        return Some(": a number has no comma in it".to_owned());
    }
    let all = || text.split(',').map(str::trim);
    let whole: Vec<&str> = all().filter(|part| !part.is_empty()).collect();
    let has_empty = whole.len() < all().count();
    let meant = use_of(&whole.join(",")).filter(|_| has_empty && !whole.is_empty())?;
    Some(format!(": a comma is between two conditions{meant}"))
}

/// That something is limited twice.
fn fault_of_repetition(text: &str) -> Option<String> {
    let names: Vec<&str> = text.split(',').filter_map(|part| Some(part.split_once('<')?.0.trim())).collect();
    let twice = (1..names.len()).find(|nth| names[..*nth].contains(&names[*nth]))?;
    Some(format!(": `{}` is limited twice", names[twice]))
}

fn is_other_percentile(name: &str) -> bool {
    let is_number = |digits: &str| digits.parse::<f64>().is_ok();
    name.strip_prefix('p').is_some_and(is_number) && Percentile::ALL.iter().all(|one| one.as_str() != name)
}

/// How the limit of a condition was written.
struct Limit {
    /// The limit that was probably meant; `None` if nobody can tell, or if it can be none.
    meant: Option<String>,
    fault: Option<String>,
}

/// Units with their lengths in seconds, and other words for each.
const TIMES: [(&str, f64, &[&str]); 3] = [
    ("us", 1e-6, &["µs", "usec", "usecs", "micros", "microseconds"]),
    ("ms", 1e-3, &["msec", "msecs", "millis", "milliseconds", "", "m"]),
    ("s", 1.0, &["sec", "secs", "second", "seconds"]),
];
/// The longest time that an objective can name, in seconds.
const TIME_MAX_S: f64 = 3_600.0;

impl Limit {
    fn read(name: &str, text: &str) -> Option<Limit> {
        let (written_number, written) = number_and_unit(text);
        let value: f64 = written_number.parse().ok()?;
        let has_exponent = written_number.contains(['e', 'E']);
        let without_meaning = |fault: String| Some(Limit { meant: None, fault: Some(fault) });
        if written.contains(|c: char| c.is_ascii_digit()) {
            return without_meaning(format!("`{text}` is no number with a unit"));
        }
        if value == 0.0 {
            return without_meaning("nothing is below 0".to_owned());
        }
        let small = written.to_lowercase();
        let time = TIMES.iter().find(|(unit, _, others)| *unit == small || others.contains(&small.as_str()));
        let unit = match (name, time) {
            ("errors", _) if value >= 100.0 => {
                return without_meaning("a share of errors is less than 100 %".to_owned());
            }
            ("errors", _) => "%",
            (_, Some((_, length_s, _))) if value * length_s > TIME_MAX_S => {
                return without_meaning("a time is at most an hour".to_owned());
            }
            (_, Some((unit, ..))) => *unit,
            (_, None) => return without_meaning(format!("`{written}` is no unit here; use `us`, `ms` or `s`")),
        };
        let fault = match written {
            _ if has_exponent => Some(format!("`{written_number}` has an exponent")),
            "" => Some(format!("`{written_number}` lacks a unit")),
            right if right == unit => None,
            other => Some(format!("`{other}` is no unit here")),
        };
        let number = if has_exponent { value.to_string() } else { written_number.to_owned() };
        Some(Limit { meant: Some(format!("{number}{unit}")), fault })
    }
}

/// `10` and `ms` of `10 ms`, `1e3` and `s` of `1e3s`.
fn number_and_unit(text: &str) -> (&str, &str) {
    let split = |signs: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && !signs.contains(c)).unwrap_or(text.len());
        (&text[..end], text[end..].trim())
    };
    let with_exponent = split(".eE+-");
    if with_exponent.0.parse::<f64>().is_ok() { with_exponent } else { split(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_slips_are_told_with_what_was_probably_meant() {
        for (text, expected) in [
            ("p99<10", ": `10` lacks a unit; use `p99<10ms`"),
            ("p99<10sec", ": `sec` is no unit here; use `p99<10s`"),
            ("p99<10MS", ": `MS` is no unit here; use `p99<10ms`"),
            ("p99<5m", ": `m` is no unit here; use `p99<5ms`"),
            ("p99>10ms", ": an objective is a limit from above; use `p99<10ms`"),
            ("p99<=10ms", "; use `p99<10ms`"),
            ("p99 < 10 ms", "; use `p99<10ms`"),
            ("errors<1", ": `1` lacks a unit; use `errors<1%`"),
            ("p99<10ms,checkout:max<3", ": `3` lacks a unit; use `checkout:max<3ms`"),
            ("p99<1e3ms", ": `1e3` has an exponent; use `p99<1000ms`"),
            ("p99<1_000ms", ": `1_000ms` is no number with a unit"),
            ("p99<1,000ms", ": a number has no comma in it"),
            ("p99<1min", ": `min` is no unit here; use `us`, `ms` or `s`"),
            ("p99<10ms;errors<1%", ": conditions are joined by commas; use `p99<10ms,errors<1%`"),
            ("p99<10ms;errors", ": conditions are joined by commas"),
            ("p99<10ms,", ": a comma is between two conditions; use `p99<10ms`"),
            ("p99<0ms", ": nothing is below 0"),
            ("p99<4000s", ": a time is at most an hour"),
            ("errors<200%", ": a share of errors is less than 100 %"),
            ("errors<100%", ": a share of errors is less than 100 %"),
            ("p99<10ms,p99<20ms", ": `p99` is limited twice"),
        ] {
            assert_eq!(fault_of(text).as_deref(), Some(expected), "{text}");
        }
        let other = fault_of("p98<10ms").unwrap();
        assert!(other.starts_with(": `p98` is not recorded; use `p50`, `p95`, "), "{other}");
    }

    #[test]
    fn of_what_is_no_usual_slip_nothing_is_told() {
        for text in ["", "p99", "p99<", "p99<ms", "latency<5ms", ":p99<10ms"] {
            assert_eq!(fault_of(text), None, "{text}");
        }
    }
}
