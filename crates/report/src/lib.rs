//! From an analysis to what people read: charts, one HTML file, Markdown, CSV, and a summary for the terminal.
//!
//! In: an [`analysis::Analysis`]. Out: a directory of files ([`write`]) or their text. Charts make figures ([`plot::Figure`]),
//! which hold data only; the crate `plot` draws them.
//! Limits: nothing is judged here; numbers, findings and validity are the analysis's. All text of a run is hostile until it
//! is escaped for its place.

#[cfg(test)]
mod browser;
pub mod charts;
mod csv_column;
mod csv_files;
mod escape;
mod facets;
mod files;
mod findings;
mod format;
pub mod history;
pub mod hits;
mod inserts;
pub mod library;
pub mod overlay;
mod overview;
mod palette;
mod point_cells;
mod publish;
pub mod redact;
pub mod render;
mod repeat;
mod report_page;
mod sheet;
mod table;
mod tables;
#[cfg(test)]
mod testing;
mod why;
pub mod wording;
mod wrap;

pub use charts::{CHARTS, Chart, PointCharts};
pub use csv_column::CsvFile;
pub use csv_files::CSV_FILES;
pub use escape::{terminal as terminal_text, terminal_sentence};
pub use files::{WrittenReport, write, write_comparison, write_figures, write_history};
pub use format::count as with_separators;
pub use history::{history_csv, history_text};
pub use overlay::{comparison_html, comparison_summary};
pub use publish::{PublishedRun, publish};
pub use render::comparison::comparison as terminal_comparison;
pub use render::compression_csv::compression_csv;
pub use render::csv::{intervals_csv, points_csv};
pub use render::endpoints_csv::endpoints_csv;
pub use render::hosts_csv::hosts_csv;
pub use render::probes_csv::probes_csv;
pub use render::relative_csv::relative_csv;
pub use render::statements_csv::statements_csv;
pub use render::terminal;
pub use repeat::state_source;
pub use report_page::{html, markdown};
pub use tables::variants::variants_csv;
pub use why::why_text;
pub use wording::fact::{FACTS, FactMeaning, fact_meaning};
pub use wording::finding::{Accuracy, accuracy, accuracy_table};
pub use wrap::wrap as wrapped;

use std::path::PathBuf;

/// The report could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file or directory could not be written.
    #[error(
        "cannot write `{path}`: {}; free some space or choose another directory, then run `plimsoll report` again",
        model::system_words(reason)
    )]
    Write {
        path: PathBuf,
        /// The error of the system.
        reason: std::io::Error,
    },
    /// The directory holds files that plimsoll did not make.
    #[error("`{path}` is not empty and no report of plimsoll; name a new directory by --out")]
    Foreign { path: PathBuf },
    /// The directory holds a report, and a file that is not of it.
    #[error("`{path}` is not of the report in that directory; move it, or name a new directory by --out")]
    ForeignFile { path: PathBuf },
    /// A symbolic link is in the place of one of the report's own files or directories.
    #[error("`{path}` is a symbolic link, which plimsoll does not follow; remove it, or name a new directory by --out")]
    Link { path: PathBuf },
    /// A picture could not be drawn.
    #[error(transparent)]
    Png(#[from] plot::PngError),
}
