//! Days of the calendar, and the seconds of a day.
//!
//! In: a date, a time. Out: days since 1970, seconds of the day. Limits: a day that its month does not have is one of the next month.

/// The days from 1970 to a date of the Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013); `None` of no date.
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    ((1..=12).contains(&month) && (1..=31).contains(&day) && (1..=9_999).contains(&year)).then_some(())?;
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// The date that is so many days after 1970 began, as year, month and day: [`days_since_1970`] the other way round.
pub(super) fn date_of_day(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The seconds of a day that are over at a time of it, which may be a leap second; `None` of no time.
pub(super) fn seconds_of_day(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 61).then(|| hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(days_since_1970(2026, 11, 28), Some(20_785));
        assert_eq!(
            (days_since_1970(1970, 1, 1), days_since_1970(2000, 3, 1), days_since_1970(1, 13, 1)),
            (Some(0), Some(11_017), None)
        );
        for days in (-719_162..2_932_897).step_by(17) {
            let (year, month, day) = date_of_day(days);
            assert_eq!(days_since_1970(year, month, day), Some(days));
        }
        assert_eq!((date_of_day(0), date_of_day(11_016)), ((1970, 1, 1), (2000, 2, 29)));
    }
}
