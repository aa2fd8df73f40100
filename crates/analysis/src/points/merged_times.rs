//! The times of several repeats together: percentiles are never averaged, only taken of merged times.

use crate::{PointAnalysis, Series};
use model::Times;

/// The times of all `repeats` together, for percentiles.
pub fn merge_times(repeats: &[&PointAnalysis], which: impl Fn(&Series) -> &Times) -> Times {
    Times::merged(repeats.iter().filter_map(|point| point.series.as_ref()).map(which))
}
