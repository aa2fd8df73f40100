//! A small chart of columns: a figure over the last minutes.
//!
//! In: values, one for each second, and the room for them. Out: a title with the newest value, and columns, the newest on the right. Limits:
//! the scale begins at 0 and ends at the largest value shown. If there are more seconds than columns, a column shows the highest of
//! several seconds; the title shows how many if there is room.

use super::words::{Looks, ScreenRow, TextTone, fit, spread};
use ratatui::text::Line;

/// The most seconds that a chart looks back on.
const SECONDS_MAX: usize = 300;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const THIRDS: [char; 4] = [' ', '.', '|', '#'];

/// What a chart shows.
pub struct TextChart<'a> {
    /// The name of the figure.
    pub name: &'a str,
    /// Its values, the newest last; `None` if there is none.
    pub values: &'a [Option<f64>],
    /// How a value is written.
    pub format: fn(f64) -> String,
    /// The end of the scale, if it is fixed.
    pub most: Option<f64>,
}

impl TextChart<'_> {
    /// The chart in `height` lines of `width` columns.
    pub fn rows(&self, looks: Looks, width: usize, height: usize) -> Vec<ScreenRow> {
        let shown = &self.values[self.values.len().saturating_sub(SECONDS_MAX)..];
        let each = shown.len().div_ceil(width.max(1)).max(1);
        let columns: Vec<Option<f64>> = shown.rchunks(each).rev().map(highest).collect();
        let largest = columns.iter().flatten().copied().fold(0.0, f64::max);
        let most = self.most.unwrap_or(largest);
        let lines = height.saturating_sub(1);
        let title = self.title(looks, shown, each, largest, width);
        let drawn = (0..lines).map(|line| self.line(looks, &columns, most, lines - 1 - line, lines, width));
        [title].into_iter().chain(drawn).take(height).collect()
    }

    /// `ops/s 14.1k` and `max 16.2k, 74 s`.
    fn title(&self, looks: Looks, shown: &[Option<f64>], each: usize, largest: f64, width: usize) -> ScreenRow {
        let newest = shown.last().copied().flatten().map_or_else(|| "-".to_owned(), self.format);
        let left = vec![looks.span(format!("{} ", self.name), TextTone::Plain), looks.span(newest, TextTone::Strong)];
        if shown.is_empty() {
            return fit(Line::from(left), width);
        }
        let (left, largest) = (Line::from(left), (self.format)(largest));
        let short = format!("max {largest}, {} s", shown.len());
        let long = format!("{short}, {each} s a column");
        let room = width.saturating_sub(left.width() + 1);
        let right = if each > 1 && long.chars().count() <= room { long } else { short };
        spread(left, looks.row(right, TextTone::Faint), width)
    }

    /// The line that is number `level` from below.
    fn line(
        &self,
        looks: Looks,
        columns: &[Option<f64>],
        most: f64,
        level: usize,
        lines: usize,
        width: usize,
    ) -> ScreenRow {
        let signs: &[char] = if looks.is_unicode { &EIGHTHS } else { &THIRDS };
        let steps = signs.len() - 1;
        let sign = |value: &Option<f64>| {
            let Some(value) = value.filter(|_| most > 0.0) else { return ' ' };
            // Whatever is not 0 is seen.
            let least = if value > 0.0 { 1 } else { 0 };
            let height = ((value / most * (lines * steps) as f64).round() as usize).max(least);
            signs[height.saturating_sub(level * steps).min(steps)]
        };
        let drawn: String = columns.iter().map(sign).collect();
        looks.row(format!("{drawn:>width$}"), TextTone::Drawn)
    }
}

/// The highest of some seconds.
fn highest(seconds: &[Option<f64>]) -> Option<f64> {
    seconds.iter().flatten().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Looks = Looks { colour: false, is_unicode: true };

    fn drawn(values: &[Option<f64>], width: usize, height: usize) -> Vec<String> {
        let chart = TextChart { name: "ops/s", values, format: |value| format!("{value:.0}"), most: None };
        let rows = chart.rows(PLAIN, width, height);
        rows.iter().map(|row| row.spans.iter().map(|span| span.content.as_ref()).collect()).collect()
    }

    #[test]
    fn columns_grow_from_zero_to_the_largest_and_the_newest_is_on_the_right() {
        let values = [Some(0.0), Some(8.0), None, Some(16.0), Some(0.01)];
        let expected = ["ops/s 0      max 16, 5 s".to_owned(), format!("{:>24}", "█ "), format!("{:>24}", "█ █▁")];
        assert_eq!(drawn(&values, 24, 3), expected);
    }

    #[test]
    fn more_seconds_than_columns_show_the_highest_of_several() {
        let values: Vec<Option<f64>> = (0..40).map(|second| Some(if second == 13 { 9.0 } else { 1.0 })).collect();
        let rows = drawn(&values, 40, 2);
        assert!(rows[0].ends_with("max 9, 40 s"), "{rows:?}");
        let rows = drawn(&values, 20, 2);
        assert_eq!(rows[1].chars().filter(|c| *c == '█').count(), 1, "{rows:?}");
        assert_eq!(rows[1].chars().count(), 20);
    }

    #[test]
    fn nothing_measured_is_no_column() {
        assert_eq!(drawn(&[], 10, 2), ["ops/s -   ", "          "]);
    }
}
