//! What is printed of a point when it ends, while the run goes on: its row, and what was found.
//!
//! The lines are no wider than asked for, and like those of the summary afterwards. What only a comparison with later points shows is not known
//! yet, so the summary may find more.

use super::table::{FittedColumns, fields};
use super::{Paint, safe, unquoted, wrap};
use crate::findings::grouped;
use crate::tables::points::ended_table;
use analysis::{Analysis, PointAnalysis, Severity};
use model::PointState;

/// The head of the rows of [`ended_point`]; `None` if they are too narrow for a table.
pub fn ended_head(width: usize) -> Option<String> {
    FittedColumns::fitted(&ended_table(None), &[], width).map(|layout| layout.head())
}

/// The row of `point`, whose label in the whole plan is `label`, and why it is not complete. Below 60 columns one field a line.
pub fn ended_point(point: &PointAnalysis, label: &str, width: usize, colour: bool) -> Vec<String> {
    let paint = Paint { width, colour };
    let mut table = ended_table(Some((point, label)));
    let why = point.error.as_ref().filter(|_| point.state != PointState::Complete);
    // The reason is below all else, and is there only if the point is not complete.
    table.rows[0].below.retain(|cell| Some(&cell.text) != point.error.as_ref());
    let row = &table.rows[0];
    let mut lines = match FittedColumns::fitted(&table, &[row], width) {
        Some(layout) => layout.row(row, &mut layout.labels(&[row]), paint),
        None => fields(&table, &[row], paint),
    };
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
                "point                            rate 95 % CI     p50     p99     max   validity",
                "file rndrd depth 1      5,932 reads/s  ±4.1 %  152 us  313 us 1.56 ms      valid"
            ]
        );
    }

    #[test]
    fn on_a_narrow_terminal_it_has_one_field_a_line() {
        let point = &quick().points[0];
        assert_eq!(ended_head(59), None);
        let lines = ended_point(point, "file rndrd depth 1", 40, false);
        assert_eq!(lines[..3], ["file rndrd depth 1", "  rate       5,932 reads/s", "  95 % CI    ±4.1 %"]);
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
