//! The documents: one HTML file, Markdown, CSV, and a summary for the terminal.
//!
//! In: an analysis and the figures drawn from it. Out: text. Limits: no I/O; `files` writes what is made here, and the crate `plot`
//! draws the pictures.

pub(crate) mod chart_data;
pub(crate) mod chart_sections;
pub(crate) mod chart_table;
pub mod comparison;
pub mod compression_csv;
pub mod connections_csv;
pub mod csv;
pub mod endpoints_csv;
pub(crate) mod first_screen;
pub mod hosts_csv;
pub(crate) mod html;
pub(crate) mod interaction;
pub mod kernels_csv;
pub(crate) mod labels;
pub(crate) mod markdown;
pub(crate) mod matrix;
mod order;
pub(crate) mod packed;
pub(crate) mod page;
mod policy;
pub mod probes_csv;
pub mod relative_csv;
#[cfg(test)]
mod sizes;
pub mod statements_csv;
pub mod terminal;
