//! The kernels of a CPU as CSV: what one client did, what the most did, and what that is per core, per GHz and for the money.
//!
//! In: an analysis. Out: text with a header line and a row for each kernel. Limits: what could not be measured is an empty field, never 0;
//! the frequency of a virtual machine is nominal, and a rate per GHz with it.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use analysis::Analysis;
use analysis::compare::kernels::{KernelRate, KernelRow, KernelTable};

/// A row of kernels.csv.
pub struct CsvKernel<'a> {
    table: &'a KernelTable,
    row: &'a KernelRow,
}

/// A column of kernels.csv.
type KernelColumn = CsvColumn<fn(&CsvKernel) -> String>;

/// The columns of kernels.csv.
pub static KERNEL_COLUMNS: &[KernelColumn] = &[
    column("kernel", "name of the kernel", |of| escape::csv(&of.row.kernel)),
    column("single_per_s", "rounds per second of one client, the mean of its repeats", |of| {
        single(of, |rate| Some(rate.ops_per_s))
    }),
    column("single_per_s_low95", "lower end of its 95 % confidence interval", |of| {
        single(of, |rate| Some(rate.ops_per_s_ci95?[0]))
    }),
    column("single_per_s_high95", "upper end of it", |of| single(of, |rate| Some(rate.ops_per_s_ci95?[1]))),
    column("single_per_s_per_ghz", "rounds per second of one client and GHz", |of| single(of, |rate| rate.per_ghz)),
    column("single_per_money", "rounds of one client for one unit of money; empty without a price", |of| {
        single(of, |rate| rate.per_money)
    }),
    column("single_validity", "`valid`, `indicative` or `invalid`", |of| validity(of.row.single)),
    column(
        "all_clients",
        "the most clients that were measured; empty if only one was, as all of these columns",
        |of| of.row.all.map(|rate| rate.clients.to_string()).unwrap_or_default(),
    ),
    column("all_per_s", "rounds per second of all these clients", |of| all(of, |rate| Some(rate.ops_per_s))),
    column("all_per_s_low95", "lower end of its 95 % confidence interval", |of| {
        all(of, |rate| Some(rate.ops_per_s_ci95?[0]))
    }),
    column("all_per_s_high95", "upper end of it", |of| all(of, |rate| Some(rate.ops_per_s_ci95?[1]))),
    column("all_per_s_per_core", "of these, the rounds per second of each CPU that they used", |of| {
        all(of, |rate| Some(rate.per_core))
    }),
    column("all_per_s_per_ghz", "of these, the rounds per second of each GHz of a CPU", |of| {
        all(of, |rate| rate.per_ghz)
    }),
    column("all_per_money", "rounds of all these clients for one unit of money; empty without a price", |of| {
        all(of, |rate| rate.per_money)
    }),
    column("all_validity", "`valid`, `indicative` or `invalid`", |of| validity(of.row.all)),
    column("scaling", "how many times the rate of one client they did", |of| float(of.row.scaling)),
    column("mhz", "mean frequency of the CPUs over all points of the run", |of| float(of.table.mhz)),
    column("mhz_is_measured", "`true` if it was measured, `false` if it is nominal", |of| {
        of.table.frequency_is_measured.map(|measured| measured.to_string()).unwrap_or_default()
    }),
    column("cpu_quota", "CPU quota that held plimsoll, in CPUs; empty if it had none", |of| float(of.table.cpu_quota)),
    column("price_per_hour", "price of the machine per hour; empty if it was not given", |of| {
        float(of.table.price_per_hour)
    }),
];

/// One row per kernel; `None` if the run has none.
pub fn kernels_csv(analysis: &Analysis) -> Option<String> {
    let table = KernelTable::from_analysis(analysis)?;
    Some(csv_table(KERNEL_COLUMNS, table.rows.iter().map(|row| CsvKernel { table: &table, row })))
}

fn single(of: &CsvKernel, value: fn(&KernelRate) -> Option<f64>) -> String {
    float(of.row.single.as_ref().and_then(value))
}

fn all(of: &CsvKernel, value: fn(&KernelRate) -> Option<f64>) -> String {
    float(of.row.all.as_ref().and_then(value))
}

fn validity(rate: Option<KernelRate>) -> String {
    rate.map_or(String::new(), |rate| rate.validity.as_str().to_owned())
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
