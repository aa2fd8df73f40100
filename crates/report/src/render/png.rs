//! A scene as a PNG, by the rasteriser of the crate kuva, which brings its own font: text is there on every machine.
//!
//! In: a scene. Out: the bytes of a PNG of twice the scene's size. Limits: no bold face; the rasteriser reads `$` as the
//! beginning of a formula, so a dollar is handed over as `\$`.

use super::scene::{Anchor, Ink, Scene, Shape};
use kuva::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{self as raster, PathData, Primitive, TextAnchor};

/// The rasteriser refused a picture.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw `{figure}` as PNG: {reason}; the SVG beside it shows the same")]
pub struct PngError {
    /// The figure.
    pub figure: String,
    /// What the rasteriser said.
    pub reason: String,
}

const PIXELS_PER_UNIT: f32 = 2.0;

/// The picture's bytes. `id` names it in errors.
pub fn write(scene: &Scene, id: &str) -> Result<Vec<u8>, PngError> {
    let mut canvas = raster::Scene::new(scene.width, scene.height);
    for (n, shape) in scene.shapes.iter().enumerate() {
        add(&mut canvas, shape, n);
    }
    let backend = RasterBackend::new().with_scale(PIXELS_PER_UNIT);
    backend.render_scene(&canvas).map_err(|reason| PngError { figure: id.to_owned(), reason })
}

fn add(canvas: &mut raster::Scene, shape: &Shape, n: usize) {
    match shape {
        Shape::Rect { x, y, width, height, ink, opacity } => canvas.add(Primitive::Rect {
            x: *x,
            y: *y,
            width: width.max(0.0),
            height: height.max(0.0),
            fill: colour(*ink),
            stroke: None,
            stroke_width: None,
            opacity: Some(*opacity),
        }),
        Shape::Line { points, ink, width, dashed } => line(canvas, points, *ink, *width, *dashed),
        Shape::Dots { points, radius, ink } => canvas.add(Primitive::CircleBatch {
            cx: points.iter().map(|p| p.0).collect(),
            cy: points.iter().map(|p| p.1).collect(),
            r: *radius,
            fill: colour(*ink),
            fill_opacity: None,
            stroke: None,
            stroke_width: None,
        }),
        Shape::Polygon { points, ink, opacity } => canvas.add(Primitive::Path(Box::new(PathData {
            d: raster::build_path(points) + "Z",
            fill: Some(colour(*ink)),
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(*opacity),
            stroke_dasharray: None,
        }))),
        Shape::Text { x, y, text, size, anchor, ink, bold } => canvas.add(Primitive::Text {
            x: *x,
            y: *y,
            content: text.replace('$', "\\$"),
            size: *size,
            anchor: anchored(*anchor),
            rotate: None,
            bold: *bold,
            color: Some(colour(*ink)),
        }),
        Shape::PlotBegin { x, y, width, height } => {
            let id = format!("plot-{n}");
            canvas.add(Primitive::ClipStart { x: *x, y: *y, width: *width, height: *height, id });
        }
        Shape::PlotEnd => canvas.add(Primitive::ClipEnd),
        Shape::TicksBegin | Shape::TicksEnd => {}
    }
}

/// Two points are a line with its own width; more are joined round.
fn line(canvas: &mut raster::Scene, points: &[(f64, f64)], ink: Ink, width: f64, dashed: bool) {
    let stroke_dasharray = dashed.then(|| "6 4".to_owned());
    let stroke = colour(ink);
    canvas.add(match points {
        [(x1, y1), (x2, y2)] => {
            Primitive::Line { x1: *x1, y1: *y1, x2: *x2, y2: *y2, stroke, stroke_width: width, stroke_dasharray }
        }
        _ => Primitive::PolyLine { points: points.to_vec(), stroke, stroke_width: width, stroke_dasharray },
    });
}

fn colour(ink: Ink) -> Color {
    let (r, g, b) = ink.rgb();
    Color::Rgb(r, g, b)
}

fn anchored(anchor: Anchor) -> TextAnchor {
    match anchor {
        Anchor::Start => TextAnchor::Start,
        Anchor::Middle => TextAnchor::Middle,
        Anchor::End => TextAnchor::End,
    }
}
