//! A scene as a PNG, by the rasteriser of the crate kuva. It has its own font, so that every machine draws text.
//!
//! In: a scene. Out: the bytes of a PNG of twice the scene's size. Limits: no bold face.

use crate::heat::opacity_of;
use crate::scene::{Anchor, HeatImage, Ink, SOLID, Scene, SceneShape};
use kuva::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{self as raster, PathData, Primitive, TextAnchor};

/// The rasteriser refused a picture.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw `{figure}` as PNG: {reason}; the SVG of the same name shows the same")]
pub struct PngError {
    /// The figure.
    pub figure: String,
    /// The rasteriser's reason.
    pub reason: String,
}

const PIXELS_PER_UNIT: f32 = 2.0;

/// The picture's bytes. `id` names it in errors.
pub fn write_png(scene: &Scene, id: &str) -> Result<Vec<u8>, PngError> {
    let mut canvas = raster::Scene::new(scene.width, scene.height);
    for (n, shape) in scene.shapes.iter().enumerate() {
        add_shape(&mut canvas, shape, n);
    }
    let backend = RasterBackend::new().with_scale(PIXELS_PER_UNIT);
    backend.render_scene(&canvas).map_err(|reason| PngError { figure: id.to_owned(), reason })
}

fn add_shape(canvas: &mut raster::Scene, shape: &SceneShape, n: usize) {
    match shape {
        SceneShape::Rect { x, y, width, height, ink, opacity }
        | SceneShape::Titled { x, y, width, height, ink, opacity, .. } => canvas.add(Primitive::Rect {
            x: *x,
            y: *y,
            width: width.max(0.0),
            height: height.max(0.0),
            fill: to_colour(*ink),
            stroke: None,
            stroke_width: None,
            opacity: Some(*opacity),
        }),
        SceneShape::Line { points, ink, width, dash } => add_line(canvas, points, *ink, (*width, dash)),
        SceneShape::Rules { lines, ink } => lines.iter().for_each(|ends| add_line(canvas, ends, *ink, (1.0, SOLID))),
        SceneShape::Dots { points, radius, ink } => canvas.add(Primitive::CircleBatch {
            cx: points.iter().map(|p| p.0).collect(),
            cy: points.iter().map(|p| p.1).collect(),
            r: *radius,
            fill: to_colour(*ink),
            fill_opacity: None,
            stroke: None,
            stroke_width: None,
        }),
        SceneShape::Polygon { points, ink, opacity } => canvas.add(Primitive::Path(Box::new(PathData {
            d: raster::build_path(points) + "Z",
            fill: Some(to_colour(*ink)),
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(*opacity),
            stroke_dasharray: None,
        }))),
        SceneShape::Text { x, y, text, size, anchor, ink, bold } => canvas.add(Primitive::Text {
            x: *x,
            y: *y,
            // The rasteriser takes `$` for the beginning of a formula.
            content: text.replace('$', "\\$"),
            size: *size,
            anchor: to_text_anchor(*anchor),
            rotate: None,
            bold: *bold,
            color: Some(to_colour(*ink)),
        }),
        SceneShape::PlotBegin { x, y, width, height } => {
            let id = format!("plot-{n}");
            canvas.add(Primitive::ClipStart { x: *x, y: *y, width: *width, height: *height, id });
        }
        SceneShape::Heat { x, y, width, height, image } => add_heat(canvas, [*x, *y, *width, *height], image),
        SceneShape::PlotEnd => canvas.add(Primitive::ClipEnd),
        SceneShape::TicksBegin | SceneShape::TicksEnd | SceneShape::GroupBegin(_) | SceneShape::GroupEnd => {}
    }
}

/// A rectangle for each run of cells of one level in a row. They are a little larger than that, so that no seams show between them.
fn add_heat(canvas: &mut raster::Scene, [x, y, width, height]: [f64; 4], image: &HeatImage) {
    const OVERLAP: f64 = 0.3;
    let (across, down) = (width / image.columns as f64, height / image.rows as f64);
    for (row, levels) in image.levels.chunks(image.columns).enumerate() {
        let mut column = 0;
        for run in levels.chunk_by(|one, next| one == next) {
            let (left, top) = (x + column as f64 * across, y + row as f64 * down);
            column += run.len();
            if run[0] == 0 {
                continue;
            }
            canvas.add(Primitive::Rect {
                x: left,
                y: top,
                width: run.len() as f64 * across + OVERLAP,
                height: down + OVERLAP,
                fill: heat_colour(opacity_of(usize::from(run[0]), image.level_count)),
                stroke: None,
                stroke_width: None,
                opacity: None,
            });
        }
    }
}

/// The colour of a level on paper. Opaque, for cells overlap.
fn heat_colour(opacity: f64) -> Color {
    let ((r, g, b), (paper_r, paper_g, paper_b)) = (Ink::Heat.rgb(), Ink::Paper.rgb());
    let mixed = |ink: u8, paper: u8| (f64::from(ink) * opacity + f64::from(paper) * (1.0 - opacity)).round() as u8;
    Color::Rgb(mixed(r, paper_r), mixed(g, paper_g), mixed(b, paper_b))
}

/// Dashes are cut here, because the rasteriser begins its pattern at each point again: a curve of short pieces would look solid.
fn add_line(canvas: &mut raster::Scene, points: &[(f64, f64)], ink: Ink, (width, dash): (f64, &[f64])) {
    let pieces = if dash.is_empty() { vec![points.to_vec()] } else { cut_dashes(points, dash) };
    for piece in pieces {
        let stroke = to_colour(ink);
        canvas.add(match piece.as_slice() {
            [(x1, y1), (x2, y2)] => {
                let (x1, y1, x2, y2) = (*x1, *y1, *x2, *y2);
                Primitive::Line { x1, y1, x2, y2, stroke, stroke_width: width, stroke_dasharray: None }
            }
            _ => Primitive::PolyLine { points: piece, stroke, stroke_width: width, stroke_dasharray: None },
        });
    }
}

/// The drawn pieces of a line whose `lengths` are on and off in turn, measured along it.
fn cut_dashes(points: &[(f64, f64)], lengths: &[f64]) -> Vec<Vec<(f64, f64)>> {
    // Even phases are drawn and odd ones are gaps; `left` is the rest of the current phase.
    let mut pieces = vec![points.iter().take(1).copied().collect::<Vec<_>>()];
    let (mut phase, mut left) = (0, lengths[0]);
    for ends in points.windows(2) {
        let (mut from, to) = (ends[0], ends[1]);
        let mut length = (to.0 - from.0).hypot(to.1 - from.1);
        while length > left {
            let part = left / length;
            from = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            length -= left;
            extend_or_begin(&mut pieces, phase % 2 == 0, from);
            phase = (phase + 1) % lengths.len();
            left = lengths[phase];
        }
        left -= length;
        if phase % 2 == 0 {
            extend_or_begin(&mut pieces, true, to);
        }
    }
    pieces
}

/// The end of a dash belongs to its piece; the end of a gap begins a new one.
fn extend_or_begin(pieces: &mut Vec<Vec<(f64, f64)>>, is_drawn: bool, point: (f64, f64)) {
    match pieces.last_mut() {
        Some(piece) if is_drawn => piece.push(point),
        _ => pieces.push(vec![point]),
    }
}

fn to_colour(ink: Ink) -> Color {
    let (r, g, b) = ink.rgb();
    Color::Rgb(r, g, b)
}

fn to_text_anchor(anchor: Anchor) -> TextAnchor {
    match anchor {
        Anchor::Start => TextAnchor::Start,
        Anchor::Middle => TextAnchor::Middle,
        Anchor::End => TextAnchor::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_run_on_over_the_points_of_a_curve() {
        let straight = cut_dashes(&[(0.0, 0.0), (25.0, 0.0)], &[6.0, 4.0]);
        let points: Vec<_> = (0..=25).map(|x| (f64::from(x), 0.0)).collect();
        let of_pieces = cut_dashes(&points, &[6.0, 4.0]);
        let ends = |dashes: &[Vec<(f64, f64)>]| -> Vec<(f64, f64)> {
            dashes.iter().map(|d| (d[0].0.round(), d[d.len() - 1].0.round())).collect()
        };
        assert_eq!(ends(&straight), [(0.0, 6.0), (10.0, 16.0), (20.0, 25.0)]);
        assert_eq!(ends(&of_pieces), ends(&straight));
    }

    #[test]
    fn a_picture_is_a_png_twice_the_size_of_its_scene() {
        let scene = Scene { width: 30.0, height: 20.0, ..Scene::default() };
        let bytes = write_png(&scene, "f").unwrap();
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert!(bytes.starts_with(b"\x89PNG"));
        assert_eq!((number(16), number(20)), (60, 40));
    }

    #[test]
    fn text_is_drawn_with_the_rasterisers_own_font_and_dollars_are_no_formulas() {
        let png_of = |text: &str| {
            let shape = SceneShape::Text {
                x: 2.0,
                y: 15.0,
                text: text.into(),
                size: 14,
                anchor: Anchor::Start,
                ink: Ink::Text,
                bold: false,
            };
            let scene = Scene { width: 80.0, height: 20.0, shapes: vec![shape], ..Scene::default() };
            write_png(&scene, "f").unwrap()
        };
        assert_ne!(png_of("abc"), png_of(""));
        assert_ne!(png_of("$x$"), png_of("x"));
    }
}
