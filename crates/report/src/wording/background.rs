//! Background loads in words.
//!
//! In: what clients did in the background of a run. Out: one line. Limits: none.

use super::quantity::{count, plural, rate, time};
use analysis::BackgroundSummary;

/// `background insert: 498 of 500/s (99.6 %), 2.49k rows/s, p99 12.3 ms`; of a closed loop `background report: 0.31/s by 1 client, p99 3.2 s`
pub fn background_line(load: &BackgroundSummary) -> String {
    let done = count(load.ops_per_s);
    let names = load.kinds.join(" and ");
    let rows = load.rows_per_s.map(count).filter(|rows| *rows != done);
    let rows = rows.map_or(String::new(), |rows| format!(", {rows} rows/s"));
    let p99 = load.response_ns.map_or(String::new(), |q| format!(", p99 {}", time(q.p99 as f64)));
    let reached = match (load.asked_per_s, load.kept) {
        (Some(asked), Some(kept)) => format!("{done} of {} ({} %)", rate(asked), kept_percent(kept)),
        _ => format!("{} by {}", rate(load.ops_per_s), plural(u64::from(load.clients), "client")),
    };
    format!("background {names}: {reached}{rows}{p99}")
}

/// The share of the rate that was reached, in percent. Rounded downwards: a rate that was missed is less than 100.
pub fn kept_percent(kept: f64) -> String {
    if kept >= 1.0 { "100".to_owned() } else { format!("{:.1}", (kept * 1e3).floor() / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::background_500;

    #[test]
    fn a_background_load_is_one_line_and_less_than_all_is_less_than_100_percent() {
        let expected = "background insert: 498 of 500/s (99.6 %), 2.49k rows/s, p99 12.0 ms";
        assert_eq!(background_line(&background_500()), expected);
        assert!(background_line(&BackgroundSummary { kept: Some(0.999_99), ..background_500() }).contains("(99.9 %)"));
        let closed = BackgroundSummary { asked_per_s: None, kept: None, rows_per_s: None, ..background_500() };
        assert_eq!(background_line(&closed), "background insert: 498/s by 4 clients, p99 12.0 ms");
    }
}
