//! What is printed of a point when it ends, while the run goes on: its row, and what was found.
//!
//! In: an analysis of the points that ended, the label of each, a width in columns. Out: lines no wider than that, like those of the summary
//! afterwards. Limits: what only a comparison with later points shows is not known yet, so the summary may find more.

use super::{
    LONGEST, MEDIAN, OPS, P99, SPREAD, TerminalColumn, TerminalPage, VALIDITY, WIDTH_MIN, safe, unquoted, wrap,
};
use crate::findings::grouped;
use crate::render::labels::Labels;
use analysis::{Analysis, PointAnalysis, Severity};
use model::PointState;

const COLUMNS: [TerminalColumn; 5] = [OPS, SPREAD, MEDIAN, P99, LONGEST];

/// The head of the rows of [`ended_point`]; `None` if they are too narrow for a table.
pub fn ended_head(width: usize) -> Option<String> {
    let label = label_width(width)?;
    let heads: String = COLUMNS.iter().map(|(head, width, _)| format!(" {head:>width$}")).collect();
    Some(format!("{:<label$}{heads} {:>VALIDITY$}", "point", "validity"))
}

/// The row of `point`, whose label in the whole plan is `label`, and why it is not complete. Below 60 columns one field a line.
pub fn ended_point(point: &PointAnalysis, label: &str, width: usize, colour: bool) -> Vec<String> {
    let page = TerminalPage { width, colour };
    let mut lines = match label_width(width) {
        Some(label_width) => {
            let phrases = vec![safe(label)];
            let mut labels = Labels::fitted([phrases.clone()].into_iter(), label_width);
            page.row_of(&phrases, point, "", &COLUMNS, &mut labels)
        }
        None => page.point_fields(point, label, None),
    };
    let why = point.error.as_ref().filter(|_| point.state != PointState::Complete);
    lines.extend(why.iter().flat_map(|why| wrap(&safe(why), width - 2)).map(|line| format!("  {line}")));
    lines
}

/// What was found in the points of `analysis`, the gravest first, each in one line. A point alone is called `label`.
pub fn ended_findings(analysis: &Analysis, label: &str) -> Vec<(Severity, String)> {
    let points = analysis.points.len();
    let line = |group: &crate::findings::FindingGroup| match (group.is_mixed(), points) {
        (true, _) => unquoted(&group.heading()),
        (false, 1) => format!("{}: {}", safe(label), unquoted(&group.heading())),
        // `all 3 points` would be read as all of the run.
        (false, _) => format!("{}: {}", safe(&group.places(usize::MAX)), unquoted(&group.heading())),
    };
    grouped(analysis).iter().map(|group| (group.severity, line(group))).collect()
}

/// The columns that are left for the label; `None` if the table has none.
fn label_width(width: usize) -> Option<usize> {
    let used = COLUMNS.iter().map(|(_, width, _)| width + 1).sum::<usize>() + VALIDITY + 1;
    width.checked_sub(used).filter(|_| width >= WIDTH_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hostile, quick};

    #[test]
    fn a_point_that_ends_has_the_row_of_the_summary() {
        let point = &quick().points[0];
        assert_eq!(
            [ended_head(80).unwrap(), ended_point(point, "file rndrd depth 1", 80, false).join("/")],
            [
                "point                           ops/s 95 % CI     p50     p99     max   validity",
                "file rndrd depth 1              5,932  ±4.1 %  152 us  313 us 1.56 ms      valid"
            ]
        );
    }

    #[test]
    fn on_a_narrow_terminal_it_has_one_field_a_line() {
        let point = &quick().points[0];
        assert_eq!(ended_head(59), None);
        let lines = ended_point(point, "file rndrd depth 1", 40, false);
        assert_eq!(lines[..3], ["file rndrd depth 1", "  ops/s      5,932", "  95 % CI    ±4.1 %"]);
        assert_eq!(lines.last().unwrap(), "  validity   valid");
    }

    #[test]
    fn a_point_that_broke_off_has_its_reason_and_no_text_ends_a_line() {
        let mut point = quick().points[0].clone();
        (point.state, point.error) = (PointState::Partial, Some("skipped\u{1b}[2J at your request".into()));
        for width in [24, 40, 60, 80] {
            let lines = ended_point(&point, "a\u{1b}[31mb", width, false);
            assert!(lines.iter().all(|line| line.chars().count() <= width && !line.contains('\u{1b}')), "{lines:?}");
            assert!(lines.concat().contains("skipped"), "{lines:?}");
        }
    }

    #[test]
    fn what_was_found_is_in_lines_without_control_characters() {
        let found = ended_findings(&hostile(), "a");
        assert!(!found.is_empty() && found.iter().all(|(_, text)| !text.contains(char::is_control)), "{found:?}");
    }
}
