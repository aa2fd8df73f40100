//! The times of a log of PostgreSQL, with their zones.
//!
//! In: `2026-11-28 03:16:35.480 CET`. Out: microseconds since 1970 in UTC. Limits: a zone is a name, as `log_timezone` gives it, or a
//! difference, such as `-03` or `+0530`. A name means what PostgreSQL's own list of abbreviations says (`timezonesets/Default` of
//! PostgreSQL 15), and those of the time zone database that the list lacks; an unknown one means UTC, so that only distances over its change are wrong.

use super::super::days::{days_since_1970, seconds_of_day};
use std::collections::HashMap;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogTime {
    /// In microseconds since 1970.
    pub us: i64,
    /// Whether it has more than whole seconds.
    pub has_fraction: bool,
    /// Whether its zone is known.
    pub has_known_zone: bool,
}

impl LogTime {
    /// `2026-11-28 03:16:35.480 UTC`, with a fraction or without; `None` if it is no time.
    pub(super) fn parse(text: &str) -> Option<LogTime> {
        let mut words = text.split(' ');
        let (date, clock, zone) = (words.next()?, words.next()?, words.next().unwrap_or("UTC"));
        let mut parts = date.splitn(3, '-').map(number);
        let days = days_since_1970(parts.next()??, parts.next()??, parts.next()??)?;
        let (us, has_fraction) = clock_us(clock)?;
        let offset_s = zone_offset_s(zone);
        let us = days * 86_400_000_000 + us - offset_s.unwrap_or(0) * 1_000_000;
        Some(LogTime { us, has_fraction, has_known_zone: offset_s.is_some() })
    }

    /// Seconds since 1970, as `1795965757.512`.
    pub(super) fn parse_epoch(text: &str) -> Option<LogTime> {
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let seconds = number(seconds).filter(|seconds| (0..253_402_300_800).contains(seconds))?;
        let us = seconds * 1_000_000 + fraction_us(fraction)?;
        Some(LogTime { us, has_fraction: !fraction.is_empty(), has_known_zone: true })
    }
}

/// `03:16:35.480` in microseconds, and whether it has a fraction.
pub(super) fn clock_us(text: &str) -> Option<(i64, bool)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.splitn(3, ':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let us = seconds_of_day(hour, minute, second)? * 1_000_000 + fraction_us(fraction)?;
    Some((us, !fraction.is_empty()))
}

fn fraction_us(digits: &str) -> Option<i64> {
    match digits.len() {
        0 => Some(0),
        length @ 1..=6 => Some(number(digits)? * 10i64.pow(6 - length as u32)),
        _ => None,
    }
}

fn number(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// What the clocks of `zone` show more than those of UTC, in seconds; `None` if it is not known.
pub(super) fn zone_offset_s(zone: &str) -> Option<i64> {
    let Some(digits) = zone.strip_prefix(['+', '-']) else { return named_zones().get(zone).copied() };
    let digits = digits.replace(':', "");
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number(&digits)?, 0),
        4 => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
        _ => return None,
    };
    let seconds = hours * 3_600 + minutes * 60;
    (seconds <= 15 * 3_600).then_some(if zone.starts_with('-') { -seconds } else { seconds })
}

fn named_zones() -> &'static HashMap<&'static str, i64> {
    static ZONES: OnceLock<HashMap<&str, i64>> = OnceLock::new();
    ZONES.get_or_init(|| {
        let words: Vec<&str> = ABBREVIATIONS.split_whitespace().collect();
        words.chunks(2).map(|pair| (pair[0], pair[1].parse().expect("seconds"))).collect()
    })
}

/// Names and seconds. India's IST is that of Israel here, and China's CST that of America: within one log only the change to summer time counts.
const ABBREVIATIONS: &str = "
ACDT 37800 ACSST 37800 ACST 34200 ACT -18000 ACWST 31500 ADT -10800 AEDT 39600 AESST 39600 AEST 36000 AFT 16200 AKDT -28800 AKST -32400
ALMST 25200 ALMT 21600 AMT -14400 ART -10800 AST -14400 AWSST 32400 AWST 28800 AZOST 0 AZOT -3600 BDST 7200 BDT 21600 BNT 28800 BORT 28800
BOT -14400 BRA -10800 BRST -7200 BRT -10800 BST 3600 BTT 21600 CADT 37800 CAST 34200 CAT 7200 CCT 28800 CDT -18000 CEST 7200 CET 3600
CETDST 7200 CHADT 49500 CHAST 45900 CHUT 36000 CLST -10800 CLT -14400 COT -18000 CST -21600 CXT 25200 ChST 36000 DDUT 36000 EAT 10800
EDT -14400 EEST 10800 EET 7200 EETDST 10800 EGST 0 EGT -3600 EST -18000 FET 10800 FJST 46800 FJT 43200 FNST -3600 FNT -7200 GALT -21600
GAMT -32400 GFT -10800 GILT 43200 GMT 0 HDT -32400 HKT 28800 HST -36000 ICT 25200 IDT 10800 IRT 12600 IST 7200 JAYT 32400 JST 32400
KDT 36000 KGST 21600 KST 32400 LHST 37800 LIGT 36000 MART -34200 MDT -21600 MEST 7200 MESZ 7200 MET 3600 METDST 7200 MEZ 3600 MHT 43200
MMT 23400 MPT 36000 MSD 14400 MSK 10800 MST -25200 MUST 18000 MUT 14400 MVT 18000 MYT 28800 NDT -9000 NFT -12600 NPT 20700 NST -12600
NZDT 46800 NZST 43200 NZT 43200 PDT -25200 PET -18000 PGT 36000 PHT 28800 PKST 21600 PKT 18000 PMDT -7200 PMST -10800 PONT 39600 PST -28800
PWT 32400 PYST -10800 RET 14400 SADT 37800 SAST 7200 SCT 14400 SGT 28800 SST -39600 TAHT -36000 TFT 18000 TJT 18000 TOT 46800 TRUT 36000
TVT 43200 UCT 0 ULAST 32400 UT 0 UTC 0 UYST -7200 UYT -10800 UZST 21600 UZT 18000 VET -14400 VUT 39600 WADT 28800 WAKT 43200 WAST 25200
WAT 3600 WDT 32400 WET 0 WETDST 3600 WFT 43200 WGST -7200 WGT -10800 WIB 25200 WIT 32400 WITA 28800 XJT 21600 YAPT 36000 YEKST 21600 Z 0
ZULU 0";

#[cfg(test)]
mod tests {
    use super::*;

    fn us(text: &str) -> i64 {
        LogTime::parse(text).unwrap().us
    }

    #[test]
    fn times_count_from_1970_in_utc() {
        assert_eq!(us("1970-01-01 00:00:01.500 UTC"), 1_500_000);
        assert_eq!(us("1970-01-01 01:00:00 CET"), 0);
        assert_eq!(us("1969-12-31 21:00:00.000 -03"), 0);
        assert_eq!(us("1970-01-01 05:45:00 +0545"), 0);
        assert_eq!(LogTime::parse_epoch("1795965757.512").unwrap().us, us("2026-11-29 15:22:37.512 GMT"));
        let seconds = LogTime::parse("2026-11-29 15:22:37 UTC").unwrap();
        assert_eq!((seconds.has_fraction, seconds.has_known_zone), (false, true));
        for zone in ["UTC", "GMT", "MSK", "WIB", "PDT", "+0530", "-08:00"] {
            assert!(zone_offset_s(zone).is_some(), "{zone}");
        }
    }

    #[test]
    fn the_end_of_summer_time_takes_no_time() {
        assert_eq!(us("2024-10-27 02:00:00.500 CET") - us("2024-10-27 02:59:59.000 CEST"), 1_500_000);
        assert_eq!(us("2024-11-03 01:00:00 EST") - us("2024-11-03 01:59:59 EDT"), 1_000_000);
    }

    #[test]
    fn what_is_no_time_is_none_and_an_unknown_zone_is_utc() {
        for text in [
            "",
            "yesterday",
            "2026-13-01 00:00:00 UTC",
            "2026-11-28 24:00:00 UTC",
            "2026-11-28 1:2",
            "2026-11-28 03:16:35.1234567 UTC",
        ] {
            assert_eq!(LogTime::parse(text), None, "{text}");
        }
        let odd = LogTime::parse("1970-01-01 00:00:00 XYZ").unwrap();
        assert_eq!((odd.us, odd.has_known_zone), (0, false));
        assert_eq!((zone_offset_s("+99"), zone_offset_s("-"), zone_offset_s("+é")), (None, None, None));
    }
}
