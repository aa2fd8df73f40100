//! Each of several endpoints as CSV: the numbers of every node of a cluster.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0. A repeat is a row of its own.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields, place_columns, place_fields};
use analysis::Analysis;
use analysis::figures::ENDPOINT_FIGURES;

/// The columns of endpoints.csv.
pub fn endpoint_columns() -> Vec<Explained> {
    [place_columns(), figure_columns(&ENDPOINT_FIGURES)].concat()
}

/// One row for each endpoint of each point that had several.
pub fn endpoints_csv(analysis: &Analysis) -> String {
    let rows = analysis.points.iter().flat_map(|point| {
        let all = point.endpoints.iter();
        all.map(move |one| [place_fields(point), figure_fields(&ENDPOINT_FIGURES, Some(one))].concat())
    });
    csv_lines(endpoint_columns(), rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape;
    use crate::testing::{HOSTILE, quick, with_endpoints};

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_points_of_one_endpoint_have_none() {
        let text = endpoints_csv(&with_endpoints());
        let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.len() == 4 && widths.iter().all(|width| *width == endpoint_columns().len()), "{text}");
        assert!(text.lines().nth(2).is_some_and(|line| line.contains(",node 2,2500,250,0.25,2,lost 2,")), "{text}");
        assert_eq!(endpoints_csv(&quick()).lines().count(), 1);
    }

    #[test]
    fn names_of_endpoints_are_no_formulas() {
        let mut analysis = with_endpoints();
        for text in HOSTILE {
            analysis.points[0].endpoints[0].endpoint = text.to_owned();
            let csv = endpoints_csv(&analysis);
            assert!(csv.contains(&format!(",{},", escape::csv(text))), "{csv}");
        }
    }
}
