//! A comparison in pictures: the arms over each other, each in one colour, and all ratios with their intervals.
//!
//! In: [`RunComparison`]s and [`ArmOverlay`]s of the same arms. Out: figures, a page, CSV. Limits: nothing is judged here; a place that only
//! some arms have is drawn with those.

mod csv;
pub(crate) mod forest;
mod page;
mod percentiles;
mod relative;
mod summary;
mod sweep;
mod timeline;
mod watched_csv;
mod work_csv;

pub use csv::{
    COMPARED_COST_COLUMNS, COMPARISON_COLUMNS, CONDITION_COLUMNS, ComparedCost, ComparedRatio, DifferingCondition,
    comparison_csv, conditions_csv, costs_csv,
};
pub use page::{comparison_html, comparison_page};
pub use summary::comparison_summary;
pub use watched_csv::{ComparedStatement, WATCHED_COLUMNS, watched_csv};
pub use work_csv::{ComparedWork, WORK_COLUMNS, work_csv};

use crate::wording::compare::arm_name;
use crate::wording::label::settings_label;
use analysis::compare::{ArmCurve, ArmOverlay, RunComparison};

/// The names of the arms, the base first.
fn arm_names(all: &[RunComparison]) -> Vec<String> {
    let base = all.first().map(|one| arm_name(&one.base));
    base.into_iter().chain(all.iter().map(|one| arm_name(&one.new))).collect()
}

/// The name of an arm in a picture.
fn curve_name(curve: &ArmCurve, names: &[String]) -> String {
    names.get(curve.arm).cloned().unwrap_or_default()
}

/// What a picture is of: the place, or all if there is but one.
fn place_name(overlay: &ArmOverlay) -> String {
    Some(settings_label(&overlay.label)).filter(|label| !label.is_empty()).unwrap_or_else(|| "all points".to_owned())
}

/// `4 repeats each.`, `4 and 6 repeats.`
fn repeats_note(overlay: &ArmOverlay) -> String {
    let mut counts: Vec<usize> = overlay.arms.iter().map(|arm| arm.repeats).collect();
    let all: Vec<String> = counts.iter().map(ToString::to_string).collect();
    counts.dedup();
    match counts.as_slice() {
        [1] => "One repeat each.".to_owned(),
        [n] => format!("{n} repeats each."),
        _ => format!("{} repeats.", crate::wording::list::join_and(&all)),
    }
}
