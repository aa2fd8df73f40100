//! The projection of an insert run to full size, in words.
//!
//! In: a [`Projection`], or the [`Obstacle`] to one. Out: one sentence without its full stop. Limits: numbers have three digits.

use super::quantity::{Quantity, bytes, count, number, percent};
use analysis::Projection;
use analysis::numbers::projection::{Obstacle, ProjectedEnd, RowTimeTrend};

/// Where the run would end at full size, or why that cannot be projected.
pub fn projection_sentence(projection: &Projection) -> String {
    let rows = count(projection.rows);
    match &projection.end {
        Ok(end) => {
            let factor = number(projection.factor);
            format!("at full size ({rows} rows, {factor} times as many): {}", end_clauses(end))
        }
        Err(obstacle) => {
            format!("no estimate for {rows} rows: {}", obstacle_clause(obstacle))
        }
    }
}

fn end_clauses(end: &ProjectedEnd) -> String {
    let shape = match end.shape {
        RowTimeTrend::Constant => "a row keeps taking the same time",
        RowTimeTrend::Logarithmic => "the time per row keeps changing with the logarithm of the rows in the table",
    };
    format!(
        "{} hours ({}), ending at {} inserts/s ({}), if {shape} ({}); {} hours if the rate depends on data : cache alone",
        number(end.hours),
        ci95(end.hours_ci95, number),
        count(end.inserts_per_s),
        ci95(end.inserts_per_s_ci95, count),
        quality_of_fit(end),
        number(end.hours_like_for_like),
    )
}

fn ci95([low, high]: [f64; 2], written: fn(f64) -> Quantity) -> String {
    format!("95 % CI {} to {}", written(low), written(high))
}

fn quality_of_fit(end: &ProjectedEnd) -> String {
    let (error, of_other) = (percent(end.held_out_error), percent(end.held_out_error_of_other));
    let left_out = end.rows_left_out.map_or(String::new(), |rows| {
        format!("; without the first {} rows, before the rate reached its level", count(rows))
    });
    format!(
        "fitted to earlier parts of the run, this was {error} off in later ones; the other shape {of_other}{left_out}"
    )
}

/// Why the end cannot be projected, and what to do if something can be done.
pub fn obstacle_clause(obstacle: &Obstacle) -> String {
    match *obstacle {
        Obstacle::EndsByTime => "the run ends after a time, not after a number of rows (`rows`)".to_owned(),
        Obstacle::TooFar { factor, factor_max, scale_min } => format!(
            "that is {} times the rows inserted, the limit is {factor_max} times; use `--scale {}` or more",
            count(factor),
            number(scale_min)
        ),
        Obstacle::RateShifted => "the rate changed its level during the run phase, and may do so again".to_owned(),
        Obstacle::TooFewIntervals { intervals, intervals_min } => format!(
            "{intervals} whole intervals are too few, {intervals_min} are needed; use a shorter `--interval` or more rows"
        ),
        Obstacle::DataFitsCache { data_bytes, cache_bytes } => format!(
            "the data ({}) did not outgrow the cache ({}), and the rate after that was not measured",
            bytes(data_bytes),
            bytes(cache_bytes)
        ),
        Obstacle::DataOutgrowsMemory { full_size_bytes, memory_bytes } => format!(
            "inserts read next to nothing here, and {} of data would not fit in {} of memory",
            bytes(full_size_bytes),
            bytes(memory_bytes)
        ),
        Obstacle::RateRisesTooFast => "the rate rises so fast that the trend cannot last".to_owned(),
        Obstacle::TooVaried { hours_ci95: [low, high] } => {
            format!("the run varies too much; it could take from {} to {} hours", number(low), number(high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_its_intervals_and_its_assumption() {
        let end = ProjectedEnd {
            shape: RowTimeTrend::Constant,
            held_out_error: 0.02,
            held_out_error_of_other: 0.031,
            hours: 12.0,
            hours_ci95: [11.0, 13.0],
            inserts_per_s: 23_100.0,
            inserts_per_s_ci95: [22_000.0, 24_000.0],
            hours_like_for_like: 11.5,
            rows_left_out: Some(9_000.0),
        };
        let text = projection_sentence(&Projection { rows: 1e9, factor: 5.0, end: Ok(end) });
        let expected = "at full size (1000M rows, 5.00 times as many): 12.0 hours (95 % CI 11.0 to 13.0), ending at 23.1k \
                        inserts/s (95 % CI 22.0k to 24.0k), if a row keeps taking the same time (fitted to earlier parts of \
                        the run, this was 2.0 % off in later ones; the other shape 3.1 %; without the first 9.00k rows, before \
                        the rate reached its level); 11.5 hours if the rate depends on data : cache alone";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_obstacle_has_its_figures_and_a_next_step() {
        let too_far = Obstacle::TooFar { factor: 1e3, factor_max: 10.0, scale_min: 0.1 };
        let text = projection_sentence(&Projection { rows: 1e8, factor: 1e3, end: Err(too_far) });
        let expected = "no estimate for 100M rows: that is 1.00k times the rows inserted, the limit is 10 times; use `--scale \
        0.10` or more";
        assert_eq!(text, expected);
        let fits = Obstacle::DataFitsCache { data_bytes: 5e5, cache_bytes: 1e6 };
        let expected =
            "the data (500 KB) did not outgrow the cache (1.00 MB), and the rate after that was not measured";
        assert_eq!(obstacle_clause(&fits), expected);
    }
}
