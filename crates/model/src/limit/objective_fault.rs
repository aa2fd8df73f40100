//! What is wrong with a text that is no objective.
//!
//! In: such a text. Out: the fault of the first condition that is none, and the condition that was probably meant. Limits: it knows the usual slips:
//! another sign, a unit that is missing or another, a percentile that is not recorded.

use super::objective::Objective;
use crate::quantiles::Percentile;

/// What continues `` `p99<10` cannot be used ``: `` : `10` lacks a unit; use `p99<10ms` ``. `None` if it is no usual slip.
pub fn fault_of(text: &str) -> Option<String> {
    let condition = text.split(',').map(str::trim).find(|part| Objective::parse(part).is_none())?;
    let (kind, limited) = condition.split_at(condition.rfind(':').map_or(0, |at| at + 1));
    let (name, limit) = limited.split_once(['<', '>'])?;
    let name = name.trim();
    if is_other_percentile(name) {
        let known: Vec<String> = Percentile::ALL.iter().map(|one| format!("`{}`", one.as_str())).collect();
        return Some(format!(": `{name}` is not recorded; use {}", known.join(", ")));
    }
    let limit = Limit::read(name, limit.trim_start_matches('=').trim())?;
    let meant = format!("{kind}{name}<{}{}", limit.number, limit.unit);
    Objective::parse(&meant)?;
    let fault = match limit.fault {
        _ if limited.contains('>') => ": an objective is a limit from above".to_owned(),
        Some(fault) => format!(": {fault}"),
        None => String::new(),
    };
    Some(format!("{fault}; use `{meant}`"))
}

fn is_other_percentile(name: &str) -> bool {
    let is_number = |digits: &str| digits.parse::<f64>().is_ok();
    name.strip_prefix('p').is_some_and(is_number) && Percentile::ALL.iter().all(|one| one.as_str() != name)
}

/// The limit of a condition, with the unit that was probably meant.
struct Limit<'t> {
    number: &'t str,
    unit: &'static str,
    fault: Option<String>,
}

/// Units, each with other words for it.
const TIMES: [(&str, &[&str]); 3] = [
    ("us", &["µs", "usec", "usecs", "micros", "microseconds"]),
    ("ms", &["msec", "msecs", "millis", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
];

impl<'t> Limit<'t> {
    fn read(name: &str, text: &'t str) -> Option<Limit<'t>> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, written) = (&text[..end], text[end..].trim());
        if number.is_empty() {
            return None;
        }
        let small = written.to_lowercase();
        let (unit, is_right) = match name {
            "errors" => ("%", written == "%"),
            _ => {
                let same = TIMES.iter().find(|(unit, others)| *unit == small || others.contains(&small.as_str()));
                let unit = same.map_or("ms", |(unit, _)| *unit);
                (unit, unit == written)
            }
        };
        let fault = match written {
            _ if is_right => None,
            "" => Some(format!("`{number}` lacks a unit")),
            other => Some(format!("`{other}` is no unit here")),
        };
        Some(Limit { number, unit, fault })
    }
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
        ] {
            assert_eq!(fault_of(text).as_deref(), Some(expected), "{text}");
        }
        let other = fault_of("p98<10ms").unwrap();
        assert!(other.starts_with(": `p98` is not recorded; use `p50`, `p95`, "), "{other}");
    }

    #[test]
    fn of_what_is_no_usual_slip_nothing_is_told() {
        for text in
            ["", "p99", "p99<", "p99<ms", "p99<0ms", "latency<5ms", "errors<100%", "p99<10ms,p99<20ms", ":p99<10ms"]
        {
            assert_eq!(fault_of(text), None, "{text}");
        }
    }
}
