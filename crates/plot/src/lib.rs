//! From figures to pictures: one layout, written as SVG and as PNG.
//!
//! In: a [`Figure`], which holds data, labels and colours. Out: the text of an SVG document or the bytes of a PNG. [`labels`],
//! [`numbers`] and [`escape`] are also for the text around a picture.
//! Limits: no I/O, no font of the system, and no knowledge of benchmarks: the caller knows what a figure means.

mod bars;
pub mod escape;
pub mod figure;
mod flame;
mod frame;
mod grid;
mod heat;
pub mod labels;
mod layout;
mod marks;
pub mod numbers;
mod path;
mod png;
mod scale;
mod scene;
mod stacks;
mod strips;
mod svg;
mod text;

pub use figure::Figure;
pub use png::PngError;
pub use svg::page_rules;

use figure::{FigureBody, SeriesStyle};
use svg::{Medium, SvgName};

/// The figure as an SVG document, 760 wide or wide enough for its columns, that scales with its surroundings.
pub fn render_svg(figure: &Figure) -> String {
    let scene = layout::lay_out(figure, layout::width_of(figure));
    svg::write_svg(&scene, figure, SvgName { id: &figure.id, class: "chart" }, Medium::File)
}

/// As [`render_svg`], for a page that has the conditions of its pictures once, and the rules of [`page_rules`].
pub fn render_page_svg(figure: &Figure) -> String {
    let scene = layout::lay_out_for_page(figure, layout::width_of(figure));
    svg::write_svg(&scene, figure, SvgName { id: &figure.id, class: "chart" }, Medium::Page)
}

/// As [`render_page_svg`], for a figure that has the whole width of the page: with letters as large as those of figures side by side.
pub fn render_wide_page_svg(figure: &Figure) -> String {
    let scene = layout::lay_out_for_page(figure, layout::EXTRA_WIDE);
    svg::write_svg(&scene, figure, SvgName { id: &figure.id, class: "chart" }, Medium::Page)
}

/// As [`render_page_svg`], for a narrow page; `None` for a figure that cannot be narrower: strips in columns, and flames.
pub fn render_narrow_svg(figure: &Figure) -> Option<String> {
    let is_fixed = matches!(figure.body, FigureBody::Strips { .. } | FigureBody::Flames { .. });
    let id = format!("{}-narrow", figure.id);
    (!is_fixed).then(|| {
        let scene = layout::lay_out_for_page(figure, layout::NARROW);
        svg::write_svg(&scene, figure, SvgName { id: &id, class: "chart narrow" }, Medium::Page)
    })
}

/// A sample of the colour of `style`, as a small SVG for a line of text.
pub fn render_swatch(style: SeriesStyle) -> String {
    svg::write_swatch(style)
}

/// The figure as a PNG of two pixels to a unit.
///
/// # Errors
/// If the rasteriser refuses the picture.
pub fn render_png(figure: &Figure) -> Result<Vec<u8>, PngError> {
    png::write_png(&layout::lay_out(figure, layout::width_of(figure)), &figure.id)
}
