//! What a chart is.
//!
//! In: each chart declares a [`Chart`]. Out: the slice of all charts is made of these. Limits: nothing here knows a chart.

use analysis::Analysis;
use plot::figure::Figure;

/// A sort of chart.
pub struct Chart {
    /// The beginning of its figures' ids.
    pub id: &'static str,
    /// The heading above its figures.
    pub title: &'static str,
    /// How to read it, in one or two sentences.
    pub help: &'static str,
    /// Makes its figures: one per sheet of points, sweep or point, as suits the chart.
    pub draw: fn(&Analysis) -> Vec<Figure>,
    /// A run that it draws, for the tests that every chart has to pass; `testing` makes such runs.
    #[cfg(test)]
    pub fixture: fn() -> Analysis,
}
