//! The kernels of a CPU as CSV: what one client did, what the most did, and what that is per core, per GHz and for the money.
//!
//! In: an analysis. Out: text with a header line and a row for each kernel. Limits: what could not be measured is an empty field, never 0;
//! the frequency of a virtual machine is nominal, and a rate per GHz with it.

use crate::csv_column::{Explained, csv_lines, figure_columns, figure_fields};
use analysis::Analysis;
use analysis::compare::kernel_figures::{KERNEL_FIGURES, KERNEL_TABLE_FIGURES};
use analysis::compare::kernels::KernelTable;

/// The columns of kernels.csv.
pub fn kernel_columns() -> Vec<Explained> {
    [figure_columns(KERNEL_FIGURES), figure_columns(KERNEL_TABLE_FIGURES)].concat()
}

/// One row per kernel; `None` if the run has none.
pub fn kernels_csv(analysis: &Analysis) -> Option<String> {
    let table = KernelTable::from_analysis(analysis)?;
    let common = figure_fields(KERNEL_TABLE_FIGURES, Some(&table));
    let rows = table.rows.iter().map(|row| [figure_fields(KERNEL_FIGURES, Some(row)), common.clone()].concat());
    Some(csv_lines(kernel_columns(), rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_kernels};

    fn field(text: &str, name: &str) -> String {
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (heads, row) = (lines.next().unwrap(), lines.next().unwrap());
        assert_eq!(heads.len(), row.len(), "{text}");
        row[heads.iter().position(|head| *head == name).unwrap()].to_owned()
    }

    #[test]
    fn a_kernel_is_a_row_with_its_rates_and_what_was_not_measured_is_empty() {
        let mut analysis = with_kernels(&[1, 4]);
        analysis.meta.machine.hourly.price = Some(0.5);
        let text = kernels_csv(&analysis).unwrap();
        assert_eq!(text.lines().count(), 2);
        let number = |name: &str| field(&text, name).parse::<f64>().unwrap();
        assert_eq!((field(&text, "kernel"), field(&text, "all_clients")), ("sort".to_owned(), "4".to_owned()));
        let is_near = |name: &str, wanted: f64| assert!((number(name) / wanted - 1.0).abs() < 1e-9, "{name}: {text}");
        is_near("all_per_money", number("all_per_s") * 7200.0);
        is_near("single_per_s_per_ghz", number("single_per_s") / 2.0);
        assert_eq!(field(&text, "cpu_quota"), "");
    }

    #[test]
    fn a_run_without_kernels_has_no_such_file_and_one_client_no_other_half() {
        assert_eq!(kernels_csv(&quick()), None);
        let text = kernels_csv(&with_kernels(&[1])).unwrap();
        assert_eq!((field(&text, "all_per_s"), field(&text, "all_validity")), (String::new(), String::new()));
        assert_ne!(field(&text, "single_per_s"), "");
    }
}
