//! A scene as a PNG: shapes by the rasteriser tiny-skia, text as outlines of the face DejaVu Sans, so that every machine draws the same.
//!
//! In: a scene. Out: the bytes of a PNG of twice the scene's size. Limits: no kerning; a letter that the face does not have is a box.
//!
//! A report has hundreds of pictures of some million pixels. To pack them well took two thirds of the time of the whole report, so they are
//! packed by the fast method made for PNGs, which takes a fourteenth of that time and makes files of not quite twice the size.

use crate::heat::opacity_of;
use crate::scene::{Anchor, HeatImage, Ink, Scene, SceneShape};
use png::{BitDepth, ColorType, DeflateCompression, Filter};
use std::sync::OnceLock;
use tiny_skia::{
    Color, FillRule, IntRect, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Shader, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// A picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw `{figure}` as PNG: {reason}; the SVG of the same name shows the same")]
pub struct PngError {
    /// The name of the figure, as its file has it.
    pub figure: String,
    /// What the rasteriser says.
    pub reason: String,
}

const PIXELS_PER_UNIT: f32 = 2.0;

/// The picture's bytes. `id` names it in errors.
pub fn write_png(scene: &Scene, id: &str) -> Result<Vec<u8>, PngError> {
    let failed = |reason: String| PngError { figure: id.to_owned(), reason };
    let size = [scene.width, scene.height].map(|units| (units as f32 * PIXELS_PER_UNIT).ceil() as u32);
    let mut canvas = PngCanvas::new(size).ok_or_else(|| failed(format!("{} x {} pixels", size[0], size[1])))?;
    scene.shapes.iter().for_each(|shape| canvas.draw(shape));
    pack(&canvas.whole).map_err(|reason| failed(reason.to_string()))
}

/// The bytes of a PNG.
fn pack(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    // The fourth channel is the same everywhere: it costs a twelfth of the file, and to leave it out would cost more time.
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_deflate_compression(DeflateCompression::FdeflateUltraFast);
    encoder.set_filter(Filter::Paeth);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.data())?;
    writer.finish()?;
    Ok(bytes)
}

/// A picture as far as it is drawn.
struct PngCanvas {
    whole: Pixmap,
    /// The plot that is being drawn, if one is: a copy of its part of the picture, so that nothing is drawn outside of it.
    plot: Option<PngPlot>,
}

/// A part of a picture.
struct PngPlot {
    pixels: Pixmap,
    /// Where it is in the whole.
    place: IntRect,
}

impl PngCanvas {
    /// A sheet of paper; `None` for a size that no picture can have.
    fn new([width, height]: [u32; 2]) -> Option<PngCanvas> {
        let mut whole = Pixmap::new(width, height)?;
        whole.fill(colour_of(Ink::Paper, 1.0));
        Some(PngCanvas { whole, plot: None })
    }

    fn draw(&mut self, shape: &SceneShape) {
        match shape {
            SceneShape::Rect { x, y, width, height, ink, opacity }
            | SceneShape::Titled { x, y, width, height, ink, opacity, .. } => {
                self.fill(path_of_rect([*x, *y, *width, *height]), colour_of(*ink, *opacity));
            }
            SceneShape::Line { points, ink, width, dash } => self.stroke(path_through(points), *ink, *width, dash),
            SceneShape::Rules { lines, ink } => self.stroke(path_of_rules(lines), *ink, 1.0, &[]),
            SceneShape::Dots { points, radius, ink } => self.fill(path_of_dots(points, *radius), colour_of(*ink, 1.0)),
            SceneShape::Polygon { points, ink, opacity } => self.fill(path_around(points), colour_of(*ink, *opacity)),
            SceneShape::Text { x, y, text, size, anchor, ink, bold } => {
                let outline = outline_of(text, (*x, *y), *size, (*anchor, *bold));
                self.fill(outline, colour_of(*ink, 1.0));
            }
            SceneShape::PlotBegin { x, y, width, height } => self.begin_plot([*x, *y, *width, *height]),
            SceneShape::PlotEnd => self.end_plot(),
            SceneShape::Heat { x, y, width, height, image } => self.draw_heat([*x, *y, *width, *height], image),
            SceneShape::TicksBegin | SceneShape::TicksEnd | SceneShape::GroupBegin(_) | SceneShape::GroupEnd => {}
        }
    }

    /// What is drawn on now, and how the units of the scene become its pixels.
    fn ground(&mut self) -> (&mut Pixmap, Transform) {
        let scale = Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
        match &mut self.plot {
            Some(PngPlot { pixels, place }) => (pixels, scale.post_translate(-place.x() as f32, -place.y() as f32)),
            None => (&mut self.whole, scale),
        }
    }

    fn fill(&mut self, path: Option<Path>, colour: Color) {
        let (pixels, transform) = self.ground();
        if let Some(path) = path {
            pixels.fill_path(&path, &paint(colour, true), FillRule::Winding, transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, ink: Ink, width: f64, dash: &[f64]) {
        let (pixels, transform) = self.ground();
        let dash = StrokeDash::new(dash.iter().map(|length| *length as f32).collect(), 0.0);
        let stroke = Stroke { width: width as f32, line_join: LineJoin::Round, dash, ..Stroke::default() };
        if let Some(path) = path {
            pixels.stroke_path(&path, &paint(colour_of(ink, 1.0), true), &stroke, transform, None);
        }
    }

    /// A plot that begins or ends within a pixel has the whole of it.
    fn begin_plot(&mut self, [x, y, width, height]: [f64; 4]) {
        let scale = f64::from(PIXELS_PER_UNIT);
        let first = |at: f64| (scale * at).floor().max(0.0) as i32;
        let end = |at: f64, most: u32| ((scale * at).ceil() as i32).min(most as i32);
        let (right, bottom) = (end(x + width, self.whole.width()), end(y + height, self.whole.height()));
        let place = IntRect::from_ltrb(first(x), first(y), right, bottom);
        self.plot = place.and_then(|place| Some(PngPlot { pixels: self.whole.clone_rect(place)?, place }));
    }

    fn end_plot(&mut self) {
        let Some(PngPlot { pixels, place }) = self.plot.take() else { return };
        let (left, width) = (place.x() as usize, place.width() as usize);
        let whole_width = self.whole.width() as usize;
        let rows = self.whole.pixels_mut().chunks_exact_mut(whole_width).skip(place.y() as usize);
        for (row, drawn) in rows.zip(pixels.pixels().chunks_exact(width)) {
            row[left..left + width].copy_from_slice(drawn);
        }
    }

    /// A rectangle for each run of cells of one level in a row. Their edges are at whole pixels, so that no seams show between them.
    fn draw_heat(&mut self, [x, y, width, height]: [f64; 4], image: &HeatImage) {
        let (pixels, transform) = self.ground();
        let (across, down) = (width / image.columns as f64, height / image.rows as f64);
        for (row, levels) in image.levels.chunks(image.columns).enumerate() {
            let mut column = 0;
            for run in levels.chunk_by(|one, next| one == next) {
                let (left, top) = (x + column as f64 * across, y + row as f64 * down);
                column += run.len();
                let path = path_of_rect([left, top, run.len() as f64 * across, down]);
                if let Some(path) = path.filter(|_| run[0] > 0) {
                    let colour = colour_of(Ink::Heat, opacity_of(usize::from(run[0]), image.level_count));
                    pixels.fill_path(&path, &paint(colour, false), FillRule::Winding, transform, None);
                }
            }
        }
    }
}

fn colour_of(ink: Ink, opacity: f64) -> Color {
    let (r, g, b) = ink.rgb();
    Color::from_rgba8(r, g, b, (255.0 * opacity.clamp(0.0, 1.0)).round() as u8)
}

fn paint(colour: Color, anti_alias: bool) -> Paint<'static> {
    Paint { shader: Shader::SolidColor(colour), anti_alias, ..Paint::default() }
}

fn path_of_rect([x, y, width, height]: [f64; 4]) -> Option<Path> {
    Rect::from_xywh(x as f32, y as f32, width as f32, height as f32).map(PathBuilder::from_rect)
}

fn path_through(points: &[(f64, f64)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (nth, (x, y)) in points.iter().enumerate() {
        if nth == 0 { path.move_to(*x as f32, *y as f32) } else { path.line_to(*x as f32, *y as f32) }
    }
    path.finish()
}

fn path_around(points: &[(f64, f64)]) -> Option<Path> {
    let mut path = PathBuilder::new();
    path.push_path(&path_through(points)?);
    path.close();
    path.finish()
}

fn path_of_rules(lines: &[[(f64, f64); 2]]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for [from, to] in lines {
        path.move_to(from.0 as f32, from.1 as f32);
        path.line_to(to.0 as f32, to.1 as f32);
    }
    path.finish()
}

fn path_of_dots(points: &[(f64, f64)], radius: f64) -> Option<Path> {
    let mut path = PathBuilder::new();
    points.iter().for_each(|(x, y)| path.push_circle(*x as f32, *y as f32, radius as f32));
    path.finish()
}

/// The two weights of the face.
struct Faces {
    regular: Face<'static>,
    bold: Face<'static>,
}

fn faces() -> &'static Faces {
    static FACES: OnceLock<Faces> = OnceLock::new();
    let read = |font| Face::parse(font, 0).expect("the font is built in and whole");
    FACES.get_or_init(|| Faces { regular: read(dejavu::sans::regular()), bold: read(dejavu::sans::bold()) })
}

/// The outlines of the letters of `text`, anchored at `place`.
fn outline_of(text: &str, place: (f64, f64), size: u32, (anchor, bold): (Anchor, bool)) -> Option<Path> {
    let face = if bold { &faces().bold } else { &faces().regular };
    let scale = size as f32 / f32::from(face.units_per_em());
    let glyphs: Vec<GlyphId> = text.chars().map(|letter| face.glyph_index(letter).unwrap_or_default()).collect();
    let advance = |glyph: &GlyphId| f32::from(face.glyph_hor_advance(*glyph).unwrap_or(0)) * scale;
    let width: f32 = glyphs.iter().map(advance).sum();
    let start = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let mut outline = TextOutline { path: PathBuilder::new(), x: place.0 as f32 - start, y: place.1 as f32, scale };
    for glyph in glyphs {
        face.outline_glyph(glyph, &mut outline);
        outline.x += advance(&glyph);
    }
    outline.path.finish()
}

/// The outline of a text as far as it is made: in the units of the scene, whose y axis points downwards.
struct TextOutline {
    path: PathBuilder,
    x: f32,
    y: f32,
    /// Units of the scene for one of the face.
    scale: f32,
}

impl TextOutline {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for TextOutline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::SOLID;

    const PAPER: [u8; 3] = [255; 3];

    /// The colours of the pixels of a scene of 40 by 20 units, row by row.
    fn drawn(shapes: Vec<SceneShape>) -> Vec<[u8; 3]> {
        let scene = Scene { width: 40.0, height: 20.0, shapes, ..Scene::default() };
        let bytes = write_png(&scene, "f").unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels.len(), 80 * 40 * 4);
        pixels.chunks_exact(4).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }

    /// How many pixels of `row` are not paper, and where the first and the last of them are.
    fn inked(pixels: &[[u8; 3]], row: usize) -> (usize, Option<usize>, Option<usize>) {
        let is_inked = |at: &usize| pixels[row * 80 + at] != PAPER;
        let all: Vec<usize> = (0..80).filter(is_inked).collect();
        (all.len(), all.first().copied(), all.last().copied())
    }

    fn text(text: &str, anchor: Anchor, bold: bool) -> SceneShape {
        SceneShape::Text { x: 20.0, y: 15.0, text: text.into(), size: 14, anchor, ink: Ink::Text, bold }
    }

    fn wide_rect() -> SceneShape {
        SceneShape::Rect { x: 0.0, y: 0.0, width: 40.0, height: 20.0, ink: Ink::Axis, opacity: 1.0 }
    }

    #[test]
    fn a_picture_is_a_png_twice_the_size_of_its_scene() {
        let scene = Scene { width: 30.0, height: 20.0, ..Scene::default() };
        let bytes = write_png(&scene, "f").unwrap();
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        assert!(bytes.starts_with(b"\x89PNG"));
        assert_eq!((number(16), number(20)), (60, 40));
        let nothing = Scene { width: 0.0, ..scene };
        assert!(write_png(&nothing, "f").unwrap_err().to_string().contains("`f` as PNG: 0 x 40 pixels"));
    }

    #[test]
    fn text_is_drawn_from_its_anchor_and_bold_text_is_wider() {
        let span = |anchor, bold| {
            let pixels = drawn(vec![text("mm", anchor, bold)]);
            let rows: Vec<_> = (0..40).map(|row| inked(&pixels, row)).collect();
            let first = rows.iter().filter_map(|row| row.1).min().unwrap();
            (first, rows.iter().filter_map(|row| row.2).max().unwrap())
        };
        let [start, middle, end] = [Anchor::Start, Anchor::Middle, Anchor::End].map(|anchor| span(anchor, false));
        assert!(start.0 >= 40 && end.1 <= 40 && middle.0 < 40 && middle.1 > 40, "{start:?} {middle:?} {end:?}");
        let bold = span(Anchor::Middle, true);
        assert!(bold.1 - bold.0 > middle.1 - middle.0, "{bold:?} {middle:?}");
    }

    #[test]
    fn letters_that_the_face_does_not_have_are_boxes_and_dollars_are_no_formulas() {
        let one = |letters: &str| drawn(vec![text(letters, Anchor::Start, false)]);
        assert_ne!(one("\u{10FFFF}"), one(""));
        assert_ne!(one("$x$"), one("x"));
    }

    #[test]
    fn nothing_is_drawn_outside_of_the_plot_that_it_belongs_to() {
        let plot = SceneShape::PlotBegin { x: 10.0, y: 5.0, width: 20.0, height: 10.0 };
        let pixels = drawn(vec![plot, wide_rect(), SceneShape::PlotEnd]);
        assert_eq!(inked(&pixels, 9).0, 0);
        assert_eq!(inked(&pixels, 10), (40, Some(20), Some(59)));
        assert_eq!(inked(&pixels, 30).0, 0);
        assert_eq!(inked(&drawn(vec![wide_rect()]), 9).0, 80);
    }

    #[test]
    fn dashes_run_on_over_the_points_of_a_curve() {
        let line = |points: Vec<(f64, f64)>, dash| {
            let line = SceneShape::Line { points, ink: Ink::Text, width: 2.0, dash };
            inked(&drawn(vec![line]), 20)
        };
        let straight = |dash| line(vec![(0.0, 10.0), (40.0, 10.0)], dash);
        let pieces = (0..=40).map(|x| (f64::from(x), 10.0)).collect();
        let dashed = straight(&[6.0, 4.0]);
        assert_eq!(dashed.0, 2 * 6 * 4);
        assert_eq!(line(pieces, &[6.0, 4.0]), dashed);
        assert_eq!(straight(SOLID).0, 80);
    }

    #[test]
    fn cells_of_a_heat_map_touch_without_a_seam() {
        let image = HeatImage { columns: 3, rows: 1, levels: vec![1, 2, 2], level_count: 2 };
        let pixels = drawn(vec![SceneShape::Heat { x: 0.0, y: 0.0, width: 40.0, height: 20.0, image }]);
        let colours: Vec<[u8; 3]> = pixels[..80].chunk_by(|one, next| one == next).map(|run| run[0]).collect();
        assert_eq!(colours.len(), 2, "{colours:?}");
        assert!(!colours.contains(&PAPER));
    }
}
