//! The times in logs of MySQL and MariaDB.
//!
//! In: `261128  3:16:29`, `130601  8:01:06.058915`, `2023-11-28T02:30:17.123456Z`, `2019-08-14T09:26:59.487776265+08:00`. Out: microseconds
//! since 1970. Limits: a time without a zone is taken as one of UTC; whoever knows more shifts it.

use super::super::days::{days_since_1970, seconds_of_day};

/// A time that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub us: i64,
    pub has_fraction: bool,
    pub has_zone: bool,
}

/// Whether `text` is made as a time is, whether it is one or not.
pub(super) fn is_like_time(text: &str) -> bool {
    text.len() >= 6
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b" -:.+TZ".contains(&byte))
}

pub(super) fn parse_time(text: &str) -> Option<Moment> {
    let (date, clock) = text.trim().split_once(['T', ' '])?;
    let (year, month, day) = match date.len() {
        6 => (2000 + digits(date.get(..2)?)?, digits(date.get(2..4)?)?, digits(date.get(4..)?)?),
        _ => {
            let mut parts = date.splitn(3, '-').map(digits);
            (parts.next()??, parts.next()??, parts.next()??)
        }
    };
    let clock = clock.trim();
    let end = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = (&clock[..end], &clock[end..]);
    let zone_us = zone_us(zone)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.splitn(3, ':').map(|part| digits(part.trim()));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = days_since_1970(year, month, day)? * 86_400 + seconds_of_day(hour, minute, second)?;
    let us = seconds * 1_000_000 + fraction_us(fraction)? - zone_us;
    Some(Moment { us, has_fraction: !fraction.is_empty(), has_zone: !zone.is_empty() })
}

/// How much later than UTC `+01:00` is; nothing for `Z` and for no zone.
fn zone_us(zone: &str) -> Option<i64> {
    let Some(sign) = zone.chars().next().filter(|sign| *sign != 'Z') else {
        return (zone.len() <= 1).then_some(0);
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 15 && minutes < 60).then_some(())?;
    let us = (hours * 60 + minutes) * 60_000_000;
    Some(if sign == '-' { -us } else { us })
}

/// `1700000000.25` in microseconds.
pub(super) fn parse_seconds(text: &str) -> Option<Moment> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    // As many digits as a second of the year 5138 has.
    let seconds: i64 = (whole.len() <= 11 && is_number(whole)).then(|| whole.parse().ok()).flatten()?;
    let us = seconds * 1_000_000 + fraction_us(fraction)?;
    Some(Moment { us, has_fraction: !fraction.is_empty(), has_zone: true })
}

/// Microseconds of the digits behind a point.
fn fraction_us(digits: &str) -> Option<i64> {
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    (digits.is_empty() || is_number(digits)).then(|| six.parse().ok()).flatten()
}

fn digits(text: &str) -> Option<i64> {
    (text.len() <= 4 && is_number(text)).then(|| text.parse().ok()).flatten()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_servers_are_read_with_their_zones() {
        let us = |text: &str| parse_time(text).map(|time| time.us - 1_701_138_617_000_000);
        for (text, expected) in [
            ("231128  2:30:17", Some(0)),
            ("231128 02:30:17", Some(0)),
            ("231128  2:30:17.058915", Some(58_915)),
            ("2023-11-28T02:30:17.5Z", Some(500_000)),
            ("2023-11-28T03:30:17.500000+01:00", Some(500_000)),
            ("2023-11-27T21:00:17.487776265-05:30", Some(487_776)),
            ("2023-11-28 02:30:17", Some(0)),
            ("2023-13-28T02:30:17Z", None),
            ("2023-11-28T25:30:17Z", None),
            ("2023-11-28T02:30:17+1", None),
            ("2023-11-28T02:30:17.Z5", None),
            ("yesterday", None),
        ] {
            assert_eq!(us(text), expected, "{text}");
        }
        assert!(parse_time("231128  2:30:17").is_some_and(|time| !time.has_zone && !time.has_fraction));
        assert!(is_like_time("2023-13-28T02:30:17Z") && !is_like_time("yesterday") && !is_like_time("12"));
        assert_eq!(parse_seconds("1.25").map(|time| time.us), Some(1_250_000));
        assert_eq!(
            (parse_seconds("x"), parse_seconds(""), parse_seconds("1.-2"), parse_seconds("-1")),
            (None, None, None, None)
        );
    }
}
