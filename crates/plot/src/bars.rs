//! A table of horizontal bars: a row for each thing, a column for each measure.
//!
//! In: names and values. Out: shapes in the scene. Limits: each column has its own scale from 0; names take at most a third of the
//! width, and up to five lines.

use crate::figure::{BarColumn, SeriesStyle};
use crate::frame::{EDGE, LINE_HEIGHT, SMALL, draw_rule, draw_text};
use crate::layout::NARROW;
use crate::scene::{Anchor, Ink, Scene, SceneShape};
use crate::text::{text_width, wrap_to, wrap_words};

/// Height of a row with a name of one line.
const ROW: f64 = 24.0;
const GAP: f64 = 16.0;
/// Longer names are cut.
const NAME_LINES_MAX: usize = 5;

/// Draws the whole table from `top` on; on a narrow picture its columns are below each other. Returns the height of the picture.
pub fn draw_bars(scene: &mut Scene, rows: &[(String, SeriesStyle)], columns: &[BarColumn], top: f64) -> f64 {
    let side_by_side = if scene.width > NARROW { columns.len().max(1) } else { 1 };
    columns.chunks(side_by_side).fold(top, |y, columns| draw_table(scene, rows, columns, y))
}

fn draw_table(scene: &mut Scene, rows: &[(String, SeriesStyle)], columns: &[BarColumn], top: f64) -> f64 {
    let names = rows.iter().map(|(name, _)| text_width(name, SMALL)).fold(0.0, f64::max).min(scene.width * 0.34);
    let width = (scene.width - 2.0 * EDGE - names - 6.0) / columns.len().max(1) as f64;
    let left = EDGE + names + GAP;
    let mut y = top + draw_heads(scene, columns, left, width, top) + 6.0;
    for (i, (name, style)) in rows.iter().enumerate() {
        let lines = wrap_to(name, SMALL, names, NAME_LINES_MAX);
        let height = ROW + lines.len().saturating_sub(1) as f64 * LINE_HEIGHT;
        for (nth, line) in lines.into_iter().enumerate() {
            let at = (EDGE, y + 16.0 + nth as f64 * LINE_HEIGHT);
            draw_text(scene, at, line, SMALL, Anchor::Start, Ink::Text);
        }
        for (c, column) in columns.iter().enumerate() {
            draw_bar(scene, (column, *style), i, (left + c as f64 * width, y), width - GAP);
        }
        y += height;
        draw_rule(scene, (EDGE, y - 0.5), (scene.width - EDGE, y - 0.5), Ink::Grid);
    }
    y + 12.0
}

fn draw_heads(scene: &mut Scene, columns: &[BarColumn], left: f64, width: f64, top: f64) -> f64 {
    let heads: Vec<Vec<String>> = columns.iter().map(|c| wrap_words(&c.label, SMALL, width - 12.0)).collect();
    let lines = heads.iter().map(Vec::len).max().unwrap_or(0);
    for (c, head) in heads.into_iter().enumerate() {
        for (i, line) in head.into_iter().enumerate() {
            let at = (left + c as f64 * width, top + (i + 1) as f64 * LINE_HEIGHT);
            draw_text(scene, at, line, SMALL, Anchor::Start, Ink::Faint);
        }
    }
    lines as f64 * LINE_HEIGHT
}

/// The longest number of the column limits the bars, so that a number follows its bar and is never on it.
fn draw_bar(scene: &mut Scene, (column, style): (&BarColumn, SeriesStyle), row: usize, (x, y): (f64, f64), width: f64) {
    let known: Vec<&(f64, String)> = column.values.iter().flatten().collect();
    let greatest = known.iter().map(|v| v.0).fold(0.0, f64::max);
    let number = known.iter().map(|v| text_width(&v.1, SMALL)).fold(0.0, f64::max) + 6.0;
    let at = (x, y + 16.0);
    let Some(Some((value, label))) = column.values.get(row) else {
        return draw_text(scene, at, "not measured".to_owned(), SMALL, Anchor::Start, Ink::Faint);
    };
    let length = if greatest > 0.0 { (width - number).max(0.0) * (value / greatest).max(0.0) } else { 0.0 };
    let ink = Ink::of_style(style);
    scene.shapes.push(SceneShape::Rect { x, y: y + 5.0, width: length, height: 14.0, ink, opacity: 1.0 });
    draw_text(scene, (x + length + 5.0, at.1), label.clone(), SMALL, Anchor::Start, Ink::Text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_picture_has_its_columns_below_each_other() {
        let column = |label: &str| BarColumn { label: label.into(), values: vec![Some((1.0, "75.6k".to_owned()))] };
        let (rows, columns) = ([("random reads".to_owned(), SeriesStyle::nth(0))], [column("rate"), column("p99")]);
        let drawn = |width: f64| {
            let mut scene = Scene { width, ..Scene::default() };
            let height = draw_bars(&mut scene, &rows, &columns, 0.0);
            let figures = scene.shapes.iter().filter_map(|shape| match shape {
                SceneShape::Text { text, x, .. } if text == "75.6k" => Some(*x),
                _ => None,
            });
            (height, figures.collect::<Vec<f64>>())
        };
        let ((high, below), (low, beside)) = (drawn(NARROW), drawn(760.0));
        assert!(high > 1.9 * low && below[0] == below[1] && beside[0] < beside[1], "{below:?} {beside:?}");
        assert!(below[0] + text_width("75.6k", SMALL) < NARROW);
    }

    #[test]
    fn a_long_name_takes_several_lines_and_loses_nothing() {
        let names = ["none", "iops=2000", "iops=4000"]
            .map(|limit| format!("mariadb:innodb with a storage limit {limit} step l.i1"));
        let values = names.iter().map(|_| Some((1.0, "1".to_owned()))).collect();
        let column = BarColumn { label: "written per op".into(), values };
        let mut scene = Scene { width: 760.0, ..Scene::default() };
        let rows = names.clone().map(|name| (name, SeriesStyle::nth(0)));
        draw_bars(&mut scene, &rows, &[column], 0.0);
        let text = |s: &SceneShape| match s {
            SceneShape::Text { text, ink: Ink::Text, x, .. } if *x == EDGE => Some(text.clone()),
            _ => None,
        };
        let lines: Vec<String> = scene.shapes.iter().filter_map(text).collect();
        assert_eq!(lines.join(" "), names.join(" "));
        assert!(lines.len() > 3, "{lines:?}");
    }
}
