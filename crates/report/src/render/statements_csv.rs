//! Each kind of operation as CSV: the numbers of every statement of a plan, of the reads and of the writes of files.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. A repeat is a row of its own.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields, place_columns, place_fields};
use analysis::Analysis;
use analysis::figures::STATEMENT_FIGURES;

/// The columns of statements.csv.
pub fn statement_columns() -> Vec<Explained> {
    [place_columns(), figure_columns(&STATEMENT_FIGURES)].concat()
}

/// One row for each kind of operation of each point that performed several.
pub fn statements_csv(analysis: &Analysis) -> String {
    let rows = analysis.points.iter().flat_map(|point| {
        let all = point.several_statements().iter();
        all.map(move |kind| [place_fields(point), figure_fields(&STATEMENT_FIGURES, Some(kind))].concat())
    });
    csv_lines(statement_columns(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape;
    use crate::testing::{HOSTILE, quick, with_statements};

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_points_of_single_kinds_have_none() {
        let text = statements_csv(&with_statements());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 3 && widths.iter().all(|width| *width == statement_columns().len()), "{text}");
        assert!(
            text.lines().nth(2).is_some_and(|line| line.contains(",pay,read-write,3,2500,3,0.25,250,false,,")),
            "{text}"
        );
        assert_eq!(statements_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_statements_are_no_formulas() {
        let mut analysis = with_statements();
        for text in HOSTILE {
            analysis.points[0].statements[0].kind = text.to_owned();
            let csv = statements_csv(&analysis);
            assert!(csv.contains(&format!(",{},", escape::csv(text))), "{csv}");
        }
    }
}
