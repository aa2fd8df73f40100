//! Strips: a row for each thing, with bars towards limits and bars that are made of parts, side by side.
//!
//! In: names, columns and cells. Out: shapes in the scene. Limits: a bar longer than its limit ends there; names take at most a quarter of
//! the width and two lines; a figure is on its bar, at the limit.

use crate::figure::{Colour, SeriesStyle, StripCell, StripColumn, StripRow};
use crate::frame::{EDGE, LINE_HEIGHT, SMALL, draw_rule, draw_text};
use crate::scene::{Anchor, Ink, SOLID, Scene, SceneShape};
use crate::stacks::draw_legend;
use crate::text::{text_width, wrap_to};

/// Height of a row with a name of one line.
const ROW: f64 = 22.0;
/// Height of a bar.
const BAR: f64 = 16.0;
const GAP: f64 = 12.0;
const HEAD_GAP: f64 = 4.0;
/// Words make their column at most this wide.
const WORDS_MAX: f64 = 150.0;
/// Between a figure and the limit, before which it ends.
const BEFORE_LIMIT: f64 = 5.0;
/// Names take at most this share of the width.
const NAMES_MAX: f64 = 0.27;
/// Longer names and heads are cut.
const LINES_MAX: usize = 2;
/// How strong a bar is that does not reach its limit.
const UNREACHED: f64 = 0.42;

/// Draws legend, heads and all rows from `top` on. Returns the height of the picture.
pub fn draw_strips(
    scene: &mut Scene,
    legend: &[(String, Colour)],
    (columns, rows): (&[StripColumn], &[StripRow]),
    top: f64,
) -> f64 {
    let top = if legend.is_empty() { top } else { draw_legend(scene, legend, top) };
    let places = Places::new(scene.width, columns, rows);
    let mut y = draw_heads(scene, columns, &places, top);
    for row in rows {
        y = draw_row(scene, row, &places, y);
        draw_rule(scene, (EDGE, y - 0.5), (scene.width - EDGE, y - 0.5), Ink::Grid);
    }
    y + 12.0
}

/// Where names and columns are.
struct Places {
    names: f64,
    /// Left edge and width of each column.
    columns: Vec<(f64, f64)>,
}

impl Places {
    fn new(width: f64, columns: &[StripColumn], rows: &[StripRow]) -> Places {
        let names = rows.iter().map(|row| text_width(&row.name, SMALL)).fold(0.0, f64::max).min(width * NAMES_MAX);
        let from = EDGE + names + GAP;
        let needs: Vec<f64> = columns.iter().enumerate().map(|(nth, column)| least_width(column, nth, rows)).collect();
        let mut x = from;
        Places {
            names,
            columns: share_out(width - EDGE - from, columns, &needs)
                .into_iter()
                .map(|width| {
                    let own = (x, width - GAP);
                    x += width;
                    own
                })
                .collect(),
        }
    }
}

/// The width of a column, with the gap behind it, in which no word of its head is broken and no part of its words is cut.
fn least_width(column: &StripColumn, nth: usize, rows: &[StripRow]) -> f64 {
    let cells = rows.iter().filter_map(|row| row.cells.get(nth));
    let words = cells.filter_map(|cell| if let StripCell::Words(words) = cell { Some(words) } else { None });
    let parts = widest(words.flat_map(|words| words.split_inclusive(", ")).map(str::trim_end)).min(WORDS_MAX);
    (widest(column.label.split(' ')) + HEAD_GAP).max(parts + GAP)
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    texts.map(|text| text_width(text, SMALL)).fold(0.0, f64::max)
}

/// The width of each column of which all together take `room`: by their shares, but each as wide as it needs. What does not fit is
/// narrowed alike.
fn share_out(room: f64, columns: &[StripColumn], needs: &[f64]) -> Vec<f64> {
    let needed: f64 = needs.iter().sum();
    if needed >= room {
        return needs.iter().map(|need| need * room / needed).collect();
    }
    let mut widths = vec![None; columns.len()];
    loop {
        let taken: f64 = widths.iter().flatten().sum();
        let free = || (0..columns.len()).filter(|nth| widths[*nth].is_none());
        let each = (room - taken) / free().map(|nth| columns[nth].width).sum::<f64>().max(f64::MIN_POSITIVE);
        let narrow = free().find(|nth| columns[*nth].width * each < needs[*nth]);
        match narrow {
            Some(narrow) => widths[narrow] = Some(needs[narrow]),
            None => return (0..columns.len()).map(|nth| widths[nth].unwrap_or(columns[nth].width * each)).collect(),
        }
    }
}

/// The heads, the last line of each next to the rows. Returns their lower end.
fn draw_heads(scene: &mut Scene, columns: &[StripColumn], places: &Places, top: f64) -> f64 {
    let wrapped = columns.iter().zip(&places.columns).map(|(column, (_, width))| {
        // A head may use the gap behind its column.
        wrap_to(&column.label, SMALL, width + GAP - HEAD_GAP, LINES_MAX)
    });
    let heads: Vec<Vec<String>> = wrapped.collect();
    let most = heads.iter().map(Vec::len).max().unwrap_or(0);
    for (lines, (x, _)) in heads.into_iter().zip(&places.columns) {
        let first = most - lines.len();
        for (nth, line) in lines.into_iter().enumerate() {
            let y = top + (first + nth + 1) as f64 * LINE_HEIGHT;
            draw_text(scene, (*x, y), line, SMALL, Anchor::Start, Ink::Faint);
        }
    }
    top + most as f64 * LINE_HEIGHT + 6.0
}

/// Draws one strip. Returns its lower end.
fn draw_row(scene: &mut Scene, row: &StripRow, places: &Places, top: f64) -> f64 {
    let name = wrap_to(&row.name, SMALL, places.names, LINES_MAX);
    let mut lines = name.len().max(1);
    for (nth, line) in name.into_iter().enumerate() {
        draw_text(scene, (EDGE, top + 16.0 + nth as f64 * LINE_HEIGHT), line, SMALL, Anchor::Start, Ink::Text);
    }
    for (cell, (x, width)) in row.cells.iter().zip(&places.columns) {
        lines = lines.max(draw_cell(scene, cell, row.style, (*x, top, *width)));
    }
    top + ROW + (lines - 1) as f64 * LINE_HEIGHT
}

/// Draws one cell. Returns how many lines it has.
fn draw_cell(scene: &mut Scene, cell: &StripCell, style: SeriesStyle, (x, top, width): (f64, f64, f64)) -> usize {
    match cell {
        StripCell::Missing => draw_text(scene, (x, top + 16.0), "-".to_owned(), SMALL, Anchor::Start, Ink::Faint),
        StripCell::Share { share, text, is_reached } => {
            draw_share(scene, (x, top, width), (*share, *is_reached), style);
            let ink = if *is_reached { Ink::Paper } else { Ink::Text };
            draw_figure(scene, (x + width - BEFORE_LIMIT, top + 16.0), text.clone(), (ink, *is_reached));
        }
        StripCell::Parts(parts) => draw_parts(scene, parts, (x, top, width)),
        StripCell::Words(words) => return draw_words(scene, words, (x, top, width)),
    }
    1
}

fn draw_words(scene: &mut Scene, words: &str, (x, top, width): (f64, f64, f64)) -> usize {
    let lines = wrap_to(words, SMALL, width, LINES_MAX);
    let count = lines.len();
    for (nth, line) in lines.into_iter().enumerate() {
        draw_text(scene, (x, top + 16.0 + nth as f64 * LINE_HEIGHT), line, SMALL, Anchor::Start, Ink::Text);
    }
    count
}

/// A bar in its well, which ends at the limit.
fn draw_share(
    scene: &mut Scene,
    (x, top, width): (f64, f64, f64),
    (share, is_reached): (f64, bool),
    style: SeriesStyle,
) {
    let y = top + 3.0;
    push_bar(scene, (x, y, width), Ink::Grid, 1.0);
    let length = width * if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    push_bar(scene, (x, y, length), Ink::of_style(style), if is_reached { 1.0 } else { UNREACHED });
    let limit = vec![(x + width, y - 1.0), (x + width, y + BAR + 1.0)];
    scene.shapes.push(SceneShape::Line { points: limit, ink: Ink::Text, width: 1.5, dash: SOLID });
}

fn draw_parts(scene: &mut Scene, parts: &[(f64, Colour)], (x, top, width): (f64, f64, f64)) {
    let whole: f64 = parts.iter().map(|part| part.0.max(0.0)).sum();
    let scale = if whole > 0.0 { width / whole } else { 0.0 };
    let mut from = x;
    for (value, colour) in parts {
        let length = value.max(0.0) * scale;
        push_bar(scene, (from, top + 3.0, length), Ink::Data(*colour), 1.0);
        from += length;
    }
}

fn draw_figure(scene: &mut Scene, (x, y): (f64, f64), text: String, (ink, bold): (Ink, bool)) {
    scene.shapes.push(SceneShape::Text { x, y, text, size: SMALL, anchor: Anchor::End, ink, bold });
}

fn push_bar(scene: &mut Scene, (x, y, width): (f64, f64, f64), ink: Ink, opacity: f64) {
    scene.shapes.push(SceneShape::Rect { x, y, width, height: BAR, ink, opacity });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(label: &str, width: f64) -> StripColumn {
        StripColumn { label: label.into(), width }
    }

    fn drawn(cells: Vec<StripCell>) -> Scene {
        let mut scene = Scene { width: 1060.0, ..Scene::default() };
        let columns = [column("disk", 1.0), column("CPU", 1.0), column("time", 3.0)];
        let row = StripRow { name: "sqlite clients 4".into(), style: SeriesStyle::nth(1), cells };
        draw_strips(&mut scene, &[], (&columns, &[row]), 0.0);
        scene
    }

    fn bars(scene: &Scene, wanted: impl Fn(Ink) -> bool) -> Vec<(f64, f64, f64)> {
        let bar = |shape: &SceneShape| match shape {
            SceneShape::Rect { x, width, ink, opacity, .. } if wanted(*ink) => Some((*x, *width, *opacity)),
            _ => None,
        };
        scene.shapes.iter().filter_map(bar).collect()
    }

    #[test]
    fn a_bar_has_the_length_of_its_share_of_the_well_and_ends_at_the_limit() {
        let share = |share, is_reached| StripCell::Share { share, text: "82 %".into(), is_reached };
        let scene = drawn(vec![share(0.5, false), share(1.7, true), StripCell::Missing]);
        let wells = bars(&scene, |ink| ink == Ink::Grid);
        let own = bars(&scene, |ink| ink == Ink::of_style(SeriesStyle::nth(1)));
        assert!((own[0].1 - wells[0].1 / 2.0).abs() < 1e-9 && own[0].2 < 1.0, "{own:?}");
        assert_eq!((own[1].1, own[1].2), (wells[1].1, 1.0));
        let text = |shape: &&SceneShape| matches!(shape, SceneShape::Text { text, .. } if text == "-");
        assert_eq!(scene.shapes.iter().filter(text).count(), 1, "nothing measured is a dash");
    }

    #[test]
    fn parts_fill_their_column_without_a_gap() {
        let parts = vec![(1.0, Colour::Green), (2.0, Colour::Sky), (0.0, Colour::Black)];
        let scene = drawn(vec![StripCell::Missing, StripCell::Missing, StripCell::Parts(parts)]);
        let own = bars(&scene, |ink| matches!(ink, Ink::Data(_)));
        assert!((own[1].0 - (own[0].0 + own[0].1)).abs() < 1e-9, "{own:?}");
        assert!((own[1].1 / own[0].1 - 2.0).abs() < 1e-9 && own[2].1 == 0.0);
        assert!(own[1].0 + own[1].1 <= scene.width - EDGE + 1e-9);
    }

    #[test]
    fn no_word_of_a_head_is_broken_and_all_causes_of_a_row_are_read() {
        let heads = ["checkpoints", "CPU", "one core", "locks", "other processes", "clients"];
        let mut columns = vec![column("bottleneck", 2.1)];
        columns.extend(heads.iter().map(|head| column(head, 1.0)));
        columns.push(column("where the time of threads goes", 2.4));
        let cells = std::iter::once(StripCell::Words("locks, other processes".into()))
            .chain((0..7).map(|_| StripCell::Missing))
            .collect();
        let name = "mariadb:innodb update_non_index clients 1".into();
        let mut scene = Scene { width: 1000.0, ..Scene::default() };
        let row = StripRow { name, style: SeriesStyle::nth(1), cells };
        draw_strips(&mut scene, &[], (&columns, &[row]), 0.0);
        let texts: Vec<&str> = scene
            .shapes
            .iter()
            .filter_map(|shape| if let SceneShape::Text { text, .. } = shape { Some(text.as_str()) } else { None })
            .collect();
        for word in ["checkpoints", "processes", "locks,", "threads goes"] {
            assert!(texts.iter().any(|text| text.contains(word)), "{word}: {texts:?}");
        }
        assert!(texts.iter().all(|text| !text.contains("...")), "{texts:?}");
    }

    #[test]
    fn columns_share_the_room_and_none_is_narrower_than_it_needs() {
        let columns = [column("a", 1.0), column("b", 1.0), column("c", 2.0)];
        assert_eq!(share_out(400.0, &columns, &[10.0, 10.0, 10.0]), [100.0, 100.0, 200.0]);
        assert_eq!(share_out(400.0, &columns, &[220.0, 10.0, 10.0]), [220.0, 60.0, 120.0]);
        assert_eq!(share_out(100.0, &columns, &[100.0, 50.0, 50.0]), [50.0, 25.0, 25.0]);
    }
}
