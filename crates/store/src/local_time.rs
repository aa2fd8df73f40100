//! The local time of this machine. SQLite knows it, and asks the system's own functions; nothing else in the program does.

use rusqlite::Connection;

/// By how many seconds local time was, or will be, ahead of UTC at `unix_s`, by the zone of this process (`TZ`, or that of the machine); 0 if that
/// is not known.
pub fn local_offset_s(unix_s: i64) -> i64 {
    const LOCAL: &str = "SELECT CAST(strftime('%s', ?1, 'unixepoch', 'localtime') AS INTEGER)";
    let asked = Connection::open_in_memory().and_then(|db| db.query_row(LOCAL, [unix_s], |row| row.get::<_, i64>(0)));
    asked.map_or(0, |local_s| local_s - unix_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_is_within_a_day_of_utc_and_off_by_whole_minutes() {
        for at in [951_782_400, 1_795_230_245] {
            let offset = local_offset_s(at);
            assert!(offset.abs() <= 15 * 3_600 && offset % 60 == 0, "{offset}");
        }
    }
}
