//! The head that syslog writes before each line (`log_destination = syslog`), or journald before what is written to stderr.
//!
//! In: `Nov 29 15:11:46 db1 postgres[77]: [5-2] text`, or a time as `2026-11-29T15:11:46.723+01:00`. Out: its time, its process, the number
//! of the part (journald has none), and the text. Limits: a time without a year is in 2024, and one without a zone in UTC, so a log over New Year's Eve goes back.

use super::times::{LogTime, clock_us, zone_offset_s};
use regex::Regex;
use std::sync::OnceLock;

/// What syslog says of a line.
pub(super) struct SyslogHead<'a> {
    pub at: LogTime,
    pub process: &'a str,
    /// The number of the line in its message, from 1.
    pub part: u64,
    pub text: &'a str,
}

impl<'a> SyslogHead<'a> {
    /// `None` if `line` has no such head.
    pub(super) fn of(line: &'a str) -> Option<SyslogHead<'a>> {
        static HEAD: OnceLock<Regex> = OnceLock::new();
        let head = HEAD.get_or_init(|| {
            Regex::new(r"^(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\S+) \S+ [^\s\[]+\[(?P<process>\d+)\]: (?:\[\d+-(?P<part>\d+)\] ?)?")
                .expect("a constant")
        });
        let found = head.captures(&line[..line.floor_char_boundary(400)])?;
        let group = |name: &str| &line[found.name(name).expect("not optional").range()];
        Some(SyslogHead {
            at: time_of(group("time"))?,
            process: group("process"),
            part: found.name("part").map_or(Ok(1), |part| part.as_str().parse()).ok()?,
            text: &line[found.get(0)?.end()..],
        })
    }
}

fn time_of(text: &str) -> Option<LogTime> {
    match text.split_once('T') {
        Some((date, clock)) => time_with_zone(date, clock),
        None => time_without_year(text),
    }
}

fn time_with_zone(date: &str, clock: &str) -> Option<LogTime> {
    let at = clock.find(['+', '-', 'Z']).unwrap_or(clock.len());
    let zone = if clock.len() == at { "UTC" } else { &clock[at..] };
    LogTime::parse(&format!("{date} {} {zone}", &clock[..at])).filter(|_| zone_offset_s(zone).is_some())
}

fn time_without_year(text: &str) -> Option<LogTime> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = MONTHS.find(&text[..3]).filter(|at| at % 3 == 0)? as i64 / 3 + 1;
    let days = super::super::days::days_since_1970(2024, month, text[4..6].trim().parse().ok()?)?;
    let (us, has_fraction) = clock_us(&text[7..])?;
    Some(LogTime { us: days * 86_400_000_000 + us, has_fraction, has_known_zone: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_times_are_read() {
        let of = |line| SyslogHead::of(line).map(|head| (head.at.us, head.process, head.part, head.text));
        let us = LogTime::parse("2024-11-09 15:11:46 UTC").unwrap().us;
        assert_eq!(of("Nov  9 15:11:46 db1 postgres[77]: [5-2] #011a"), Some((us, "77", 2, "#011a")));
        assert_eq!(of("<134>2024-11-09T16:11:46+01:00 db1 pg-main[77]: [5-1] a"), Some((us, "77", 1, "a")));
        assert_eq!(of("2024-11-09T15:11:46.5Z db1 postgres[77]: [5-1] a").unwrap().0, us + 500_000);
        assert_eq!(of("Nov  9 15:11:46 db1 postgres[77]: \ta"), Some((us, "77", 1, "\ta")));
        for line in ["Nov 99 15:11:46 db1 postgres[77]: [5-1] a", "ovN  9 15:11:46 d p[7]: [5-1] a", ""] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
