//! What a chart is.
//!
//! In: each chart declares a [`Chart`]. Out: the slice of all charts is made of these. Limits: nothing here knows a chart.

use super::below::{Below, PointCharts};
use analysis::Analysis;
use plot::figure::Figure;
use words::code::without_marks;

/// A sort of chart.
pub struct Chart {
    /// The beginning of its figures' ids.
    pub id: &'static str,
    /// The heading above its figures.
    pub title: &'static str,
    /// How to read it, in one or two sentences.
    pub help: &'static str,
    /// Makes its figures of the run: one per sheet of points or sweep, as suits the chart.
    pub draw: fn(&Analysis) -> Vec<Figure>,
    /// Its figures of single points, behind those of the run.
    pub of_points: Option<&'static Below>,
    /// A run that it draws, for the tests that every chart has to pass; `testing` makes such runs.
    #[cfg(test)]
    pub fixture: fn() -> Analysis,
}

impl Chart {
    /// All its figures, those of single points for as many as `points` says.
    pub fn figures(&self, analysis: &Analysis, points: PointCharts) -> Vec<Figure> {
        let of_points = self.of_points.map_or(Vec::new(), |below| below.draw(self.id, analysis, points));
        // A picture sets nothing apart as code.
        let bare = |figure: Figure| Figure { caption: without_marks(&figure.caption), ..figure };
        (self.draw)(analysis).into_iter().chain(of_points).map(bare).collect()
    }
}
