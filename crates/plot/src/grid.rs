//! The layout of small multiples: the legend on top, columns side by side with their headings, rows below each other with one scale
//! and its numbers at the left edge.
//!
//! In: the parts of a grid. Out: shapes in the scene. Limits: a picture has as many columns side by side as fit into its width, a
//! narrow one a single column; the others follow below.

use crate::figure::{Axis, DataSeries, GridRow, Mark, Pattern, SeriesStyle};
use crate::frame::{
    EDGE, Frame, LINE_HEIGHT, PlotArea, SECOND_GAP, SMALL, TEXT, draw_bold, draw_rules, draw_second_labels, draw_text,
    draw_x_labels, draw_y_labels, mark_points, tick_count, x_extent, y_extent,
};
use crate::layout::WIDE;
use crate::marks::{SeriesKey, dash_of, draw_all_series, push_dots};
use crate::scale::ScaledAxis;
use crate::scene::{Anchor, GroupMark, Ink, Scene, SceneShape};
use crate::text::{BOLD, text_width, wrap_to};

/// A narrower plot has no room for its ticks.
const COLUMN_MIN: f64 = 220.0;
const BETWEEN_COLUMNS: f64 = 16.0;
/// Above a row, for the label of its axis in one line.
const ROW_HEAD: f64 = 38.0;
/// Longer labels are cut.
const LABEL_LINES_MAX: usize = 2;

/// Draws the whole grid from `top` on. Returns the height of the picture.
pub fn draw_multiples(
    scene: &mut Scene,
    x: &Axis,
    legend: &[(String, SeriesStyle)],
    (columns, rows): (&[String], &[GridRow]),
    top: f64,
) -> f64 {
    let scales: Vec<ScaledAxis> =
        rows.iter().map(|row| ScaledAxis::for_y(&row.y, y_extent(&row.y, marks_of_row(row)))).collect();
    let left = left_of_plots(rows, &scales);
    let right = scene.width - EDGE - width_of_second(rows, &scales);
    let room = right - left;
    let fit = if scene.width < WIDE { 1 } else { (room / COLUMN_MIN).max(1.0) as usize };
    let mut y = draw_legend(scene, legend, top);
    for first in (0..columns.len()).step_by(fit) {
        let columns = &columns[first..columns.len().min(first + fit)];
        let block = ColumnBlock { x, left, right, first, columns, wide: fit };
        y = draw_block(scene, &block, rows, &scales, y) + 8.0;
    }
    y
}

/// What the numbers of the second scale need on the right of the last column.
fn width_of_second(rows: &[GridRow], scales: &[ScaledAxis]) -> f64 {
    let ticks = rows.iter().zip(scales).flat_map(|(row, scale)| scale.second_ticks(tick_count(row.height)));
    ticks.map(|tick| text_width(&tick.label, SMALL) + SECOND_GAP).fold(0.0, f64::max)
}

/// The columns that are side by side.
struct ColumnBlock<'a> {
    x: &'a Axis,
    left: f64,
    /// Where the last of them ends; the numbers of the second scale follow.
    right: f64,
    /// The first of them among all.
    first: usize,
    columns: &'a [String],
    /// How many have room side by side.
    wide: usize,
}

impl<'a> ColumnBlock<'a> {
    fn make_frame(&self, nth: usize, rows: &[GridRow]) -> Frame<'a> {
        // The last block may have fewer columns: they are then as wide as there is room for them.
        let across = self.columns.len().clamp(1, self.wide) as f64;
        let room = self.right - self.left - (across - 1.0) * BETWEEN_COLUMNS;
        let left = self.left + nth as f64 * (room / across + BETWEEN_COLUMNS);
        let right = left + room / across;
        // All columns have the range of all marks, so that they can be compared.
        Frame { x: ScaledAxis::for_x(self.x, x_extent(rows.iter().flat_map(marks_of_row))), left, right, names: right }
    }
}

fn draw_block(scene: &mut Scene, block: &ColumnBlock, rows: &[GridRow], scales: &[ScaledAxis], top: f64) -> f64 {
    let frames: Vec<Frame> = (0..block.columns.len()).map(|nth| block.make_frame(nth, rows)).collect();
    let mut y = top + draw_headings(scene, block, &frames, top);
    for (row, scale) in rows.iter().zip(scales) {
        let label = wrap_to(&row.y.label, SMALL, scene.width - 2.0 * EDGE, LABEL_LINES_MAX);
        y += ROW_HEAD + label.len().saturating_sub(1) as f64 * LINE_HEIGHT;
        for (above, line) in label.into_iter().rev().enumerate() {
            draw_text(scene, (EDGE, y - 14.0 - above as f64 * LINE_HEIGHT), line, SMALL, Anchor::Start, Ink::Faint);
        }
        for (nth, frame) in frames.iter().enumerate() {
            let area = PlotArea { frame, y: scale, top: y, height: row.height };
            draw_cell(scene, row, block.first + nth, &area, nth == 0);
            if nth + 1 == frames.len() {
                draw_second_labels(scene, &area);
            }
        }
        y += row.height;
    }
    frames.iter().map(|frame| draw_x_labels(scene, block.x, frame, y)).fold(y, f64::max)
}

/// The names of the columns, each in as many lines as it needs. Returns their height.
fn draw_headings(scene: &mut Scene, block: &ColumnBlock, frames: &[Frame], top: f64) -> f64 {
    const LINES_MAX: usize = 4;
    let named = block.columns.iter().zip(frames);
    let headings: Vec<Vec<String>> =
        named.map(|(name, frame)| wrap_to(name, TEXT, frame.width() / BOLD, LINES_MAX)).collect();
    for (frame, lines) in frames.iter().zip(&headings) {
        for (nth, line) in lines.iter().enumerate() {
            draw_bold(scene, (frame.left, top + (nth + 1) as f64 * LINE_HEIGHT), line.clone(), TEXT);
        }
    }
    headings.iter().map(Vec::len).max().unwrap_or(0) as f64 * LINE_HEIGHT
}

fn draw_cell(scene: &mut Scene, row: &GridRow, nth: usize, area: &PlotArea, is_first: bool) {
    draw_rules(scene, area);
    if is_first {
        draw_y_labels(scene, area);
    }
    match row.cells.get(nth).filter(|cell| has_points(cell)) {
        Some(cell) => draw_all_series(scene, cell, area, SeriesKey::Style),
        None => {
            let middle = ((area.frame.left + area.frame.right) / 2.0, area.top + area.height / 2.0 + 5.0);
            draw_text(scene, middle, "not measured".to_owned(), SMALL, Anchor::Middle, Ink::Faint);
        }
    }
}

fn has_points(cell: &[DataSeries]) -> bool {
    cell.iter().flat_map(|series| &series.marks).any(|mark| !mark_points(mark).is_empty())
}

/// A sample of each style followed by its name, in as many lines as they need. Returns the lower end.
fn draw_legend(scene: &mut Scene, legend: &[(String, SeriesStyle)], top: f64) -> f64 {
    const SAMPLE: f64 = 30.0;
    const LINES_MAX: usize = 3;
    if legend.is_empty() {
        return top;
    }
    let (mut x, mut y) = (EDGE, top + 12.0);
    for (name, style) in legend {
        let room = scene.width - 2.0 * EDGE - SAMPLE - 8.0;
        let lines = wrap_to(name, SMALL, room, LINES_MAX);
        let width = SAMPLE + 8.0 + lines.iter().map(|line| text_width(line, SMALL)).fold(0.0, f64::max);
        if x > EDGE && x + width > scene.width - EDGE {
            (x, y) = (EDGE, y + LINE_HEIGHT);
        }
        scene.shapes.push(SceneShape::GroupBegin(GroupMark::Name(SeriesKey::Style.of(name, *style))));
        draw_sample(scene, *style, (x, y - 4.5), SAMPLE);
        let further = lines.len().saturating_sub(1) as f64 * LINE_HEIGHT;
        for (nth, line) in lines.into_iter().enumerate() {
            let at = (x + SAMPLE + 8.0, y + nth as f64 * LINE_HEIGHT);
            draw_text(scene, at, line, SMALL, Anchor::Start, Ink::Text);
        }
        scene.shapes.push(SceneShape::GroupEnd);
        x += width + 20.0;
        y += further;
    }
    y + 8.0
}

fn draw_sample(scene: &mut Scene, style: SeriesStyle, (x, y): (f64, f64), length: f64) {
    let (points, ink) = (vec![(x, y), (x + length, y)], Ink::of_style(style));
    scene.shapes.push(SceneShape::Line { points, ink, width: 3.0, dash: dash_of(style.pattern) });
    if style.pattern != Pattern::Plain {
        push_dots(scene, vec![(x + length / 2.0, y)], 4.0, ink, style.pattern);
    }
}

fn left_of_plots(rows: &[GridRow], scales: &[ScaledAxis]) -> f64 {
    let ticks = rows.iter().zip(scales).flat_map(|(row, scale)| scale.ticks(tick_count(row.height)));
    EDGE + ticks.map(|tick| text_width(&tick.label, SMALL)).fold(20.0, f64::max) + 8.0
}

fn marks_of_row(row: &GridRow) -> impl Iterator<Item = &Mark> {
    row.cells.iter().flatten().flat_map(|series| &series.marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Stroke};
    use crate::layout::{NARROW, lay_out, width_of};

    /// A row for each of `heights`, in so many columns; the line of each cell rises to its column's number.
    fn figure(columns: usize, heights: &[f64]) -> Figure {
        let line = |nth: usize| vec![Mark::Line(Stroke::Solid, vec![(1.0, 1.0), (8.0, 1.0 + nth as f64)])];
        let cell = |nth| vec![DataSeries::unnamed(Colour::Blue, line(nth))];
        let row = |height: &f64| GridRow {
            y: Axis::from_zero("operations/s", AxisUnit::Count),
            height: *height,
            cells: (0..columns).map(cell).collect(),
        };
        let scale = AxisScale::LogAt(vec![1.0, 8.0]);
        let x = Axis { label: "clients".into(), scale, unit: AxisUnit::Count, range: None };
        let legend = vec![("ext4:nobarrier".to_owned(), Colour::Blue.into()); 9];
        let columns = (0..columns).map(|nth| format!("column {nth}")).collect();
        let body = FigureBody::Grid { x, legend, columns, rows: heights.iter().map(row).collect() };
        Figure { id: "f".into(), title: "T".into(), conditions: String::new(), caption: "n = 3".into(), body }
    }

    /// The lines of data, without those of the legend.
    fn lines(scene: &Scene) -> Vec<Vec<(f64, f64)>> {
        let data = |shape: &SceneShape| match shape {
            SceneShape::Line { points, ink: Ink::Data(_), width, .. } if *width < 3.0 => Some(points.clone()),
            _ => None,
        };
        scene.shapes.iter().filter_map(data).collect()
    }

    #[test]
    fn columns_stand_beside_each_other_and_share_the_scale_of_their_row() {
        let figure = figure(3, &[100.0, 80.0]);
        let lines = lines(&lay_out(&figure, width_of(&figure)));
        assert_eq!(lines.len(), 6);
        let (one, two) = (&lines[0], &lines[2]);
        assert!(one[1].0 < two[0].0 && (one[0].1 - two[0].1).abs() < 1e-9, "{one:?} {two:?}");
        assert!(two[1].1 < one[1].1, "three is above one in the same scale");
        assert_eq!(lines[0][0].0, lines[3][0].0, "a column has one left edge");
    }

    #[test]
    fn a_narrow_picture_has_its_columns_below_each_other() {
        let lines = lines(&lay_out(&figure(3, &[100.0]), NARROW));
        assert!(lines[0][0].0 == lines[1][0].0 && lines[0][0].1 < lines[1][0].1, "{lines:?}");
    }

    #[test]
    fn nothing_lies_outside_the_picture_and_no_two_texts_at_one_place() {
        for (columns, wide) in [(1, 760.0), (3, 1060.0), (7, 1060.0), (3, NARROW)] {
            let scene = lay_out(&figure(columns, &[100.0, 60.0]), wide);
            let mut taken: Vec<(f64, f64, f64)> = Vec::new();
            for shape in &scene.shapes {
                let SceneShape::Text { x, y, text, size, anchor, .. } = shape else { continue };
                let long = text_width(text, *size);
                let from = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - long / 2.0,
                    Anchor::End => x - long,
                };
                assert!(from >= 0.0 && from + long <= wide && *y <= scene.height, "{columns} {wide}: {shape:?}");
                let is_free = |t: &(f64, f64, f64)| (t.1 - y).abs() > 9.0 || t.0 + t.2 <= from || from + long <= t.0;
                assert!(taken.iter().all(is_free), "{columns} {wide}: {shape:?} lies on another");
                taken.push((from, *y, long));
            }
        }
    }

    #[test]
    fn a_second_scale_has_its_numbers_on_the_right_of_the_last_column_only() {
        let mut figure = figure(3, &[100.0]);
        let without = lay_out(&figure, 1060.0).shapes.len();
        let FigureBody::Grid { rows, .. } = &mut figure.body else { panic!("a grid") };
        rows[0].y.unit = AxisUnit::CountOf(16_384);
        let scene = lay_out(&figure, 1060.0);
        let plots_end = lines(&scene).iter().flatten().map(|point| point.0).fold(0.0, f64::max);
        let beyond =
            |shape: &&SceneShape| matches!(shape, SceneShape::Text { x, anchor: Anchor::Start, .. } if *x > plots_end);
        let numbers = scene.shapes.iter().filter(beyond).count();
        assert!(numbers >= 2 && scene.shapes.len() == without + numbers + 1, "{numbers} numbers, and their marks");
    }

    #[test]
    fn a_place_that_was_not_measured_says_so() {
        let mut figure = figure(2, &[100.0]);
        let FigureBody::Grid { rows, .. } = &mut figure.body else { panic!("a grid") };
        rows[0].cells[1].clear();
        let scene = lay_out(&figure, 760.0);
        let said = |shape: &&SceneShape| matches!(shape, SceneShape::Text { text, .. } if text == "not measured");
        assert_eq!(scene.shapes.iter().filter(said).count(), 1);
    }
}
