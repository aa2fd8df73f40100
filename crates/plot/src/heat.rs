//! Heat maps: cells over x and y whose colour is deeper the more they count, and the legend of the colours.
//!
//! In: a [`HeatMap`] and its plot area. Out: images in the scene, one pixel a cell: a path for each cell would be ten times as large.
//! Limits: a cell has one of seven levels, whose limits are round numbers. Neighbouring columns share an image only if they are equally
//! wide.

use crate::figure::{HeatColumn, HeatMap};
use crate::frame::{EDGE, LINE_HEIGHT, PlotArea, SMALL, draw_text};
use crate::numbers::short_number;
use crate::scene::{Anchor, HeatImage, Ink, Scene, SceneShape};
use crate::text::text_width;

/// The eye cannot distinguish more levels.
const LEVELS_MAX: usize = 7;
/// The side of a sample of colour.
const SAMPLE: f64 = 13.0;
/// Between two samples with their texts.
const GAP: f64 = 14.0;
/// Columns whose widths differ by less, as a share of them, are equally wide.
const WIDTH_TOLERANCE: f64 = 1e-3;

/// The least counts of the levels of `map`: 1, and then round numbers up to its greatest.
pub fn level_starts(map: &HeatMap) -> Vec<u64> {
    let greatest = map.columns.iter().flat_map(|column| &column.counts).map(|(_, count)| *count).max().unwrap_or(0);
    let decades = (0..20).flat_map(|power| [1, 2, 5].map(|step: u64| step.saturating_mul(10u64.pow(power.min(19)))));
    let round: Vec<u64> = decades.take_while(|start| *start <= greatest).collect();
    let every = round.len().div_ceil(LEVELS_MAX).max(1);
    round.into_iter().step_by(every).collect()
}

/// How opaque a level is of so many, from nearly nothing to wholly: equal steps, which are about equal steps of lightness.
pub fn opacity_of(level: usize, levels: usize) -> f64 {
    const FAINTEST: f64 = 0.16;
    if levels <= 1 { 1.0 } else { FAINTEST + (1.0 - FAINTEST) * (level as f64 - 1.0) / (levels as f64 - 1.0) }
}

/// Draws the cells of `map`.
pub fn draw_heat(scene: &mut Scene, map: &HeatMap, area: &PlotArea) {
    let starts = level_starts(map);
    let mut rest = &map.columns[..];
    while !rest.is_empty() {
        let (columns, after) = rest.split_at(count_alike(rest));
        draw_columns(scene, columns, (&map.row_ends, &starts), area);
        rest = after;
    }
}

/// How many of `columns` from the first on are equally wide and follow one another without a gap: at least 1.
fn count_alike(columns: &[HeatColumn]) -> usize {
    let (from, width) = (columns[0].from, columns[0].to - columns[0].from);
    let near = |a: f64, b: f64| (a - b).abs() <= WIDTH_TOLERANCE * width.abs();
    columns
        .iter()
        .enumerate()
        .take_while(|(nth, column)| {
            near(column.to - column.from, width) && near(column.from, from + *nth as f64 * width)
        })
        .count()
        .max(1)
}

/// Draws `columns`, which are equally wide, as one image.
fn draw_columns(scene: &mut Scene, columns: &[HeatColumn], (row_ends, starts): (&[f64], &[u64]), area: &PlotArea) {
    let ([low, .., high], [first, ..]) = (row_ends, columns) else { return };
    let (left, right) = (area.frame.x_at(first.from), area.frame.x_at(columns[columns.len() - 1].to));
    let (top, bottom) = (area.y_at(*high), area.y_at(*low));
    let is_placed = [left, right, top, bottom].iter().all(|place| place.is_finite());
    if is_placed && right > left && bottom > top {
        let image = image_of(columns, row_ends.len() - 1, starts);
        scene.shapes.push(SceneShape::Heat { x: left, y: top, width: right - left, height: bottom - top, image });
    }
}

fn image_of(columns: &[HeatColumn], rows: usize, starts: &[u64]) -> HeatImage {
    let mut levels = vec![0; columns.len() * rows];
    for (x, column) in columns.iter().enumerate() {
        for (row, count) in column.counts.iter().filter(|(row, _)| *row < rows) {
            // Pixels go from the top to the bottom, and rows upwards.
            levels[(rows - 1 - row) * columns.len() + x] = starts.partition_point(|start| start <= count) as u8;
        }
    }
    HeatImage { columns: columns.len(), rows, levels, level_count: starts.len() }
}

/// What is counted, and the colours of `map` with the least counts that they show, in as many lines as they need. Returns their lower
/// end.
pub fn draw_legend(scene: &mut Scene, map: &HeatMap, top: f64) -> f64 {
    let starts = level_starts(map);
    let (mut x, mut y) = (EDGE, top + 4.0);
    draw_text(scene, (x, y + 11.0), map.counted.clone(), SMALL, Anchor::Start, Ink::Faint);
    x += text_width(&map.counted, SMALL) + GAP;
    for (nth, start) in starts.iter().enumerate() {
        let text = short_number(*start as f64);
        let width = SAMPLE + 4.0 + text_width(&text, SMALL);
        if x > EDGE && x + width > scene.width - EDGE {
            (x, y) = (EDGE, y + LINE_HEIGHT);
        }
        let opacity = opacity_of(nth + 1, starts.len());
        scene.shapes.push(SceneShape::Rect { x, y, width: SAMPLE, height: SAMPLE, ink: Ink::Heat, opacity });
        draw_text(scene, (x + SAMPLE + 4.0, y + 11.0), text, SMALL, Anchor::Start, Ink::Faint);
        x += width + GAP;
    }
    y + LINE_HEIGHT + 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel};
    use crate::layout::{NARROW, WIDE, lay_out};

    /// Columns of these widths next to each other, each with a count in every row.
    fn map(widths: &[f64], rows: usize) -> HeatMap {
        let mut from = 0.0;
        let columns = widths.iter().enumerate().map(|(nth, width)| {
            let counts = (0..rows).map(|row| (row, (1 + nth * rows + row) as u64)).collect();
            let column = HeatColumn { from, to: from + width, counts };
            from = column.to;
            column
        });
        let columns = columns.collect();
        HeatMap {
            columns,
            row_ends: (0..=rows).map(|row| 1e3 * 2f64.powi(row as i32)).collect(),
            counted: "ops".into(),
        }
    }

    fn figure(map: HeatMap) -> Figure {
        let line = DataSeries::unnamed(Colour::Blue, vec![Mark::Dots(2.0, vec![(0.0, 1.0), (10.0, 2e5)])]);
        let panel = |y, series| Panel {
            title: String::new(),
            note: String::new(),
            y,
            height: 100.0,
            series: vec![series],
            shades: Vec::new(),
        };
        let heat = DataSeries::unnamed(Colour::Blue, vec![Mark::Heat(map)]);
        let panels = vec![
            panel(Axis::from_zero("operations/s", AxisUnit::Count), line),
            panel(Axis::nanos("response time"), heat),
        ];
        let body = FigureBody::Panels { x: Axis::seconds("it began", (0.0, 10.0)), panels };
        Figure { id: "f".into(), title: "T".into(), conditions: "n = 3".into(), caption: String::new(), body }
    }

    fn images(scene: &Scene) -> Vec<(f64, f64, HeatImage)> {
        let image = |shape: &SceneShape| match shape {
            SceneShape::Heat { x, width, image, .. } => Some((*x, *width, image.clone())),
            _ => None,
        };
        scene.shapes.iter().filter_map(image).collect()
    }

    #[test]
    fn every_cell_is_a_pixel_at_its_time_and_the_time_axis_is_that_of_the_panel_above() {
        for width in [WIDE, NARROW] {
            let scene = lay_out(&figure(map(&[1.0; 10], 6)), width);
            let time = scene.time.expect("a time axis");
            let [(x, width, image)] = &images(&scene)[..] else { panic!("one image") };
            assert_eq!((image.columns, image.rows, image.levels.len()), (10, 6, 60));
            assert!((x - time.left).abs() < 1e-9 && (x + width - time.right).abs() < 1e-9, "{x} {width} {time:?}");
            assert!(image.levels.iter().all(|level| (1..=7).contains(level)), "{image:?}");
        }
    }

    #[test]
    fn pixels_begin_at_the_top_left_and_empty_cells_have_no_level() {
        let mut map = map(&[5.0, 5.0], 3);
        map.columns[0].counts = vec![(0, 1)];
        map.columns[1].counts = vec![(2, 900)];
        let scene = lay_out(&figure(map), WIDE);
        let [(_, _, image)] = &images(&scene)[..] else { panic!("one image") };
        let most = image.level_count as u8;
        assert_eq!(image.levels, [0, most, 0, 0, 1, 0]);
    }

    #[test]
    fn columns_of_other_widths_are_images_of_their_own_without_a_gap() {
        let scene = lay_out(&figure(map(&[1.0, 1.0, 2.0, 2.0, 0.5], 2)), WIDE);
        let found = images(&scene);
        assert_eq!(found.iter().map(|image| image.2.columns).collect::<Vec<_>>(), [2, 2, 1]);
        assert!(found.windows(2).all(|pair| (pair[0].0 + pair[0].1 - pair[1].0).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn the_legend_stays_within_the_picture_and_above_the_plot() {
        for width in [WIDE, NARROW] {
            let mut map = map(&[1.0; 10], 2);
            (map.columns[0].counts[0].1, map.counted) = (4_000_000, "operations per cell, at least:".into());
            let scene = lay_out(&figure(map), width);
            let heat =
                scene.shapes.iter().find_map(|s| if let SceneShape::Heat { y, .. } = s { Some(*y) } else { None });
            let samples = scene.shapes.iter().filter_map(|shape| match shape {
                SceneShape::Rect { x, y, width, height, ink: Ink::Heat, .. } => Some((x + width, y + height)),
                _ => None,
            });
            let samples: Vec<(f64, f64)> = samples.collect();
            assert!(
                samples.len() > 4 && samples.iter().all(|(x, y)| *x < width - EDGE && Some(*y) < heat),
                "{samples:?}"
            );
        }
    }

    #[test]
    fn levels_begin_at_one_and_at_round_numbers() {
        let starts = |greatest: u64| {
            let mut map = map(&[1.0], 1);
            map.columns[0].counts = vec![(0, greatest)];
            level_starts(&map)
        };
        assert_eq!(starts(0), Vec::<u64>::new());
        assert_eq!(starts(1), [1]);
        assert_eq!(starts(99), [1, 2, 5, 10, 20, 50]);
        assert_eq!(starts(5_000), [1, 5, 20, 100, 500, 2_000]);
        assert!(starts(u64::MAX).len() <= LEVELS_MAX);
        assert!((opacity_of(7, 7), opacity_of(1, 1)) == (1.0, 1.0) && opacity_of(1, 7) < opacity_of(2, 7));
    }

    #[test]
    fn more_than_ten_thousand_cells_take_less_than_sixty_kilobytes() {
        // Noise, which packs worst.
        let mut map = map(&[10.0 / 600.0; 600], 60);
        let mut state = 1u64;
        for (_, count) in map.columns.iter_mut().flat_map(|column| &mut column.counts) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *count = (state >> 33) % 100;
        }
        let svg = crate::render_svg(&figure(map));
        assert!(svg.contains("data:image/png;base64,") && svg.len() < 60_000, "{}", svg.len());
    }

    #[test]
    fn a_heat_map_without_columns_or_with_places_that_are_no_numbers_draws_nothing() {
        let empty = HeatMap { columns: Vec::new(), row_ends: Vec::new(), counted: "ops".into() };
        assert!(images(&lay_out(&figure(empty), WIDE)).is_empty());
        let svg = crate::render_svg(&figure(map(&[f64::NAN, f64::INFINITY, 1.0], 2)));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
