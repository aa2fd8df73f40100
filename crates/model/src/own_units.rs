//! Values of columns of the user's own tables as numbers of units, and as text.
//!
//! In: a type, a text or units. Out: the other. Limits: exact; a text with a part that the type does not hold is none. Dates are from year
//! 1000 to 9999, which all engines have.

use crate::own_table::ColumnKind;
use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Timelike};
use std::io::Write as _;

const DAY_S: i64 = 86_400;
/// Days from 1970-01-01 to 1000-01-01, 2000-01-01 and 9999-12-31.
const DAYS_TO_1000: i64 = -354_285;
const DAYS_TO_2000: i64 = 10_957;
const DAYS_TO_9999: i64 = 2_932_896;

impl ColumnKind {
    /// The units of a number or a date that is written as `text`; `None` if it is none of this type.
    pub fn units_in(self, text: &str) -> Option<i64> {
        match self {
            ColumnKind::Date => date_units(text).map(|(days, _)| days),
            ColumnKind::DateTime => date_units(text).map(|(days, seconds)| days * DAY_S + seconds),
            _ => decimal_units(text, self.units_per_one()?),
        }
    }

    /// The least and the most units of a type that has units.
    pub fn unit_limits(self) -> Option<(i64, i64)> {
        Some(match self {
            ColumnKind::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            ColumnKind::Int => (i32::MIN.into(), i32::MAX.into()),
            ColumnKind::BigInt | ColumnKind::Real | ColumnKind::Double => (i64::MIN + 1, i64::MAX),
            ColumnKind::Decimal { digits, .. } => {
                let most = 10i64.checked_pow(digits.into())? - 1;
                (-most, most)
            }
            ColumnKind::Date => (DAYS_TO_1000, DAYS_TO_9999),
            ColumnKind::DateTime => (DAYS_TO_1000 * DAY_S, (DAYS_TO_9999 + 1) * DAY_S - 1),
            ColumnKind::Boolean | ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Text => return None,
        })
    }

    /// Where values begin if no least one is asked for: at 1, or with the year 2000.
    pub fn usual_min(self) -> i64 {
        match self {
            ColumnKind::Date => DAYS_TO_2000,
            ColumnKind::DateTime => DAYS_TO_2000 * DAY_S,
            other => other.units_per_one().unwrap_or(1),
        }
    }

    /// Appends `units` as text.
    pub fn push_units(self, text: &mut Vec<u8>, units: i64) {
        match self {
            ColumnKind::Date => push_day(text, moment(units.saturating_mul(DAY_S)).date_naive()),
            ColumnKind::DateTime => push_date_time(text, units),
            other => push_decimal(text, units, other.units_per_one().unwrap_or(1)),
        }
    }

    pub fn text_of(self, units: i64) -> String {
        let mut text = Vec::new();
        self.push_units(&mut text, units);
        String::from_utf8(text).expect("digits are ASCII")
    }
}

/// Days since 1970-01-01, and seconds of the day.
fn date_units(text: &str) -> Option<(i64, i64)> {
    let (day, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let time = NaiveTime::parse_from_str(time, "%H:%M:%S").ok()?;
    let seconds = day.and_time(time).and_utc().timestamp();
    Some((seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S)))
}

/// `-12.5` in units of which one has `unit`; `None` if there is a rest, or no room.
fn decimal_units(text: &str, unit: i64) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let places = unit.ilog10() as usize;
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let part = part.trim_end_matches('0');
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > places {
        return None;
    }
    let padded = format!("{}{part}{}", whole.replace('_', ""), "0".repeat(places - part.len()));
    padded.parse::<i64>().ok().map(|units| sign * units)
}

fn push_decimal(text: &mut Vec<u8>, units: i64, one: i64) {
    let (one, places) = (one.unsigned_abs(), one.ilog10() as usize);
    let (sign, whole, part) =
        (if units < 0 { "-" } else { "" }, units.unsigned_abs() / one, units.unsigned_abs() % one);
    let written = match places {
        0 => write!(text, "{sign}{whole}"),
        places => write!(text, "{sign}{whole}.{part:0places$}"),
    };
    written.expect("writing to memory does not fail");
}

fn moment(seconds: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default()
}

fn push_day(text: &mut Vec<u8>, date: NaiveDate) {
    write!(text, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day()).expect("writing to memory does not fail");
}

fn push_date_time(text: &mut Vec<u8>, seconds: i64) {
    let moment = moment(seconds);
    push_day(text, moment.date_naive());
    let (hour, minute, second) = (moment.hour(), moment.minute(), moment.second());
    write!(text, " {hour:02}:{minute:02}:{second:02}").expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: ColumnKind = ColumnKind::Decimal { digits: 8, scale: 2 };

    #[test]
    fn units_become_decimals_dates_and_times_and_come_back() {
        for (kind, units, text) in [
            (PRICE, 1_205, "12.05"),
            (PRICE, -7, "-0.07"),
            (ColumnKind::Decimal { digits: 4, scale: 0 }, -42, "-42"),
            (ColumnKind::Date, DAYS_TO_1000, "1000-01-01"),
            (ColumnKind::Date, DAYS_TO_2000, "2000-01-01"),
            (ColumnKind::Date, DAYS_TO_9999, "9999-12-31"),
            (ColumnKind::DateTime, DAYS_TO_2000 * DAY_S - 1, "1999-12-31 23:59:59"),
            (ColumnKind::BigInt, i64::MIN + 1, "-9223372036854775807"),
        ] {
            assert_eq!((kind.text_of(units), kind.units_in(text)), (text.to_owned(), Some(units)));
        }
    }

    #[test]
    fn numbers_are_taken_exactly_or_not_at_all() {
        let units = |text: &str| PRICE.units_in(text);
        assert_eq!(["12", "-0.5", "1_000.25", "9.999"].map(units), [Some(1_200), Some(-50), Some(100_025), None]);
        assert_eq!(["", ".", "1e3", "9223372036854775807"].map(units), [None; 4]);
        assert_eq!(
            ["2024-02-30", "2024-02-29 25:00:00", "then"].map(|text| ColumnKind::DateTime.units_in(text)),
            [None; 3]
        );
    }
}
