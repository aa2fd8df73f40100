//! Horizontal bars that are made of parts, below each other with one scale.
//!
//! In: names and parts. Out: shapes in the scene. Limits: a part that is too short to see has its number only, in the text below its bar;
//! names take at most a third of the width, and up to five lines.

use crate::figure::{Colour, StackRow};
use crate::frame::{EDGE, LINE_HEIGHT, SMALL, draw_rule, draw_text};
use crate::scene::{Anchor, Ink, Scene, SceneShape};
use crate::text::{text_width, wrap_to};

/// Height of a row without its text below the bar.
const ROW: f64 = 26.0;
/// Between names and bars.
const GAP: f64 = 16.0;
/// Height of a bar.
const BAR: f64 = 14.0;
/// Between two parts of a bar.
const SEAM: f64 = 1.0;
/// Longer names and texts are cut.
const LINES_MAX: usize = 5;

/// Draws the legend and all rows from `top` on. Returns the height of the picture.
pub fn draw_stacks(scene: &mut Scene, legend: &[(String, Colour)], rows: &[StackRow], top: f64) -> f64 {
    let names = rows.iter().map(|row| text_width(&row.name, SMALL)).fold(0.0, f64::max).min(scene.width * 0.34);
    let left = EDGE + names + GAP;
    let whole = rows.iter().map(|row| text_width(&row.whole, SMALL)).fold(0.0, f64::max) + 6.0;
    let greatest = rows.iter().map(length_of).fold(0.0, f64::max);
    // The longest text limits the bars, so that a text follows its bar and is never on it.
    let room = (scene.width - EDGE - left - whole).max(0.0);
    let scale = if greatest > 0.0 { room / greatest } else { 0.0 };
    let mut y = draw_legend(scene, legend, top);
    for row in rows {
        y = draw_row(scene, row, (left, y), (names, scale));
        draw_rule(scene, (EDGE, y - 0.5), (scene.width - EDGE, y - 0.5), Ink::Grid);
    }
    y + 12.0
}

fn length_of(row: &StackRow) -> f64 {
    row.parts.iter().map(|part| part.0.max(0.0)).sum()
}

/// The colours with their meanings, side by side as far as the width allows it. Returns their lower end.
pub fn draw_legend(scene: &mut Scene, legend: &[(String, Colour)], top: f64) -> f64 {
    let (mut x, mut y) = (EDGE, top);
    for (label, colour) in legend {
        let width = BAR + 5.0 + text_width(label, SMALL) + GAP;
        if x > EDGE && x + width > scene.width - EDGE {
            (x, y) = (EDGE, y + LINE_HEIGHT);
        }
        draw_part(scene, (x, y + 5.0), BAR, *colour);
        draw_text(scene, (x + BAR + 5.0, y + 16.0), label.clone(), SMALL, Anchor::Start, Ink::Faint);
        x += width;
    }
    y + LINE_HEIGHT + 8.0
}

/// Draws one row at (left edge of its bar, top), with so much room for its name. Returns its lower end.
fn draw_row(scene: &mut Scene, row: &StackRow, (left, top): (f64, f64), (names, scale): (f64, f64)) -> f64 {
    let name = wrap_to(&row.name, SMALL, names, LINES_MAX);
    let detail = wrap_to(&row.detail, SMALL, scene.width - EDGE - left, LINES_MAX);
    let lines = name.len().max(1 + detail.len());
    draw_lines(scene, name, (EDGE, top + 16.0), Ink::Text);
    draw_lines(scene, detail, (left, top + 16.0 + LINE_HEIGHT), Ink::Faint);
    let mut x = left;
    for (value, colour) in &row.parts {
        let length = value.max(0.0) * scale;
        // A seam of a part that is hardly longer would hide it.
        draw_part(scene, (x, top + 5.0), if length > 3.0 * SEAM { length - SEAM } else { length }, *colour);
        x += length;
    }
    let at = if row.parts.is_empty() { left } else { x + 5.0 };
    draw_text(scene, (at, top + 16.0), row.whole.clone(), SMALL, Anchor::Start, Ink::Text);
    top + ROW + (lines - 1) as f64 * LINE_HEIGHT
}

fn draw_lines(scene: &mut Scene, lines: Vec<String>, (x, top): (f64, f64), ink: Ink) {
    for (nth, line) in lines.into_iter().enumerate() {
        draw_text(scene, (x, top + nth as f64 * LINE_HEIGHT), line, SMALL, Anchor::Start, ink);
    }
}

fn draw_part(scene: &mut Scene, (x, y): (f64, f64), width: f64, colour: Colour) {
    let part = SceneShape::Rect { x, y, width, height: BAR, ink: Ink::Data(colour), opacity: 1.0 };
    scene.shapes.push(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_one_another_on_one_scale_and_texts_stay_within_the_picture() {
        let row = |name: &str, parts: &[(f64, Colour)], whole: &str| StackRow {
            name: name.into(),
            parts: parts.to_vec(),
            whole: whole.into(),
            detail: String::new(),
        };
        let rows = [
            row("short", &[(1.0, Colour::Orange), (3.0, Colour::Green)], "4 s"),
            row("long", &[(8.0, Colour::Green)], "8 s (2.00)"),
            row("none", &[], "not measured"),
        ];
        let mut scene = Scene { width: 760.0, ..Scene::default() };
        draw_stacks(&mut scene, &[], &rows, 0.0);
        let rect = |shape: &SceneShape| match shape {
            SceneShape::Rect { x, width, .. } => Some((*x, *width)),
            _ => None,
        };
        let parts: Vec<(f64, f64)> = scene.shapes.iter().filter_map(rect).collect();
        let [setup, statement, long] = parts[..] else { panic!("{parts:?}") };
        assert!((statement.0 - (setup.0 + setup.1 + SEAM)).abs() < 1e-9, "the second begins where the first ends");
        assert!(((long.1 + SEAM) / (setup.1 + statement.1 + 2.0 * SEAM) - 2.0).abs() < 1e-9, "one scale for all rows");
        assert!(long.0 + long.1 + 5.0 + text_width("8 s (2.00)", SMALL) <= scene.width - EDGE + 6.0);
    }
}
