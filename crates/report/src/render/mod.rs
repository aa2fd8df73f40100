//! From figures and findings to files: one scene for SVG and PNG, and the documents around the pictures.
//!
//! In: an analysis and the figures drawn from it. Out: text and image bytes. Limits: no I/O; `files` writes what is made here.

pub mod csv;
mod grid;
pub mod html;
mod labels;
mod layout;
pub mod markdown;
mod png;
mod scale;
mod scene;
mod svg;
pub mod terminal;

use crate::figure::{Body, Figure};

pub use png::PngError;

/// The figure as an SVG document, 760 wide or wide enough for its columns, that scales with its surroundings.
pub fn svg(figure: &Figure) -> String {
    svg::write(&layout::lay_out(figure, layout::width(figure)), figure, "chart")
}

/// The figure for a narrow screen; `None` for one that cannot be narrower: bars in columns.
pub fn svg_narrow(figure: &Figure) -> Option<String> {
    let narrow = Figure { id: format!("{}-narrow", figure.id), ..figure.clone() };
    let is_flexible = matches!(figure.body, Body::Panels { .. } | Body::Grid { .. });
    is_flexible.then(|| svg::write(&layout::lay_out(&narrow, layout::NARROW), &narrow, "chart narrow"))
}

/// The figure as a PNG of two pixels to a unit.
pub fn png(figure: &Figure) -> Result<Vec<u8>, PngError> {
    png::write(&layout::lay_out(figure, layout::width(figure)), &figure.id)
}
