//! How much more work a machine does than another, as CSV.
//!
//! In: comparisons of runs that repeat kernels. Out: text with a header line and a row for each ratio over all kernels. Limits: a value that
//! is not known is an empty field; the ratio of a single kernel is in ratios.csv.

use crate::csv_column::{CsvColumn, column, csv_table, float};
use crate::escape;
use crate::wording::compare::arm_name;
use crate::wording::metric::speed_verdict_word;
use analysis::RatioEstimate;
use analysis::compare::RunComparison;
use analysis::compare::kernels::WorkRatio;

/// A row of work.csv.
pub struct ComparedWork<'a> {
    comparison: &'a RunComparison,
    work: &'a WorkRatio,
    per: &'static str,
    estimate: RatioEstimate,
}

/// A column of work.csv.
type WorkColumn = CsvColumn<fn(&ComparedWork) -> String>;

/// The columns of work.csv.
pub static WORK_COLUMNS: &[WorkColumn] = &[
    column("base_arm", "name of the base", |of| escape::csv(&arm_name(&of.comparison.base))),
    column("new_arm", "name of the arm that is compared with it", |of| escape::csv(&arm_name(&of.comparison.new))),
    column("base_clients", "clients of the base: 1, or the most that it was measured with", |of| {
        of.work.clients[0].to_string()
    }),
    column("new_clients", "clients of the other", |of| of.work.clients[1].to_string()),
    column("kernels", "kernels that both have", |of| of.work.kernels.to_string()),
    column("per", "`second`, `ghz` or `money`: for what the rounds are counted", |of| of.per.to_owned()),
    column("ratio", "new : base, the geometric mean over the kernels", |of| float(Some(of.estimate.ratio))),
    column("low95", "lower end of its 95 % confidence interval", |of| float(of.estimate.ci95.map(|ci| ci[0]))),
    column("high95", "upper end of it", |of| float(of.estimate.ci95.map(|ci| ci[1]))),
    column("pairs", "pairs of repeats that the ratio is of", |of| of.estimate.n.to_string()),
    column("verdict", "`faster`, `slower`, `no difference shown` or `indicative`; faster is more rounds", |of| {
        speed_verdict_word(of.estimate.verdict).to_owned()
    }),
];

/// work.csv; `None` if no comparison is of runs with kernels.
pub fn work_csv(all: &[RunComparison]) -> Option<String> {
    let rows: Vec<ComparedWork> = all.iter().flat_map(works_of).collect();
    (!rows.is_empty()).then(|| csv_table(WORK_COLUMNS, rows.into_iter()))
}

fn works_of(comparison: &RunComparison) -> impl Iterator<Item = ComparedWork<'_>> {
    let kernels = comparison.kernels.iter();
    let halves = kernels.flat_map(|kernels| [kernels.single.as_ref(), kernels.all.as_ref()]).flatten();
    halves.flat_map(move |work| {
        let all = [("second", Some(work.work)), ("ghz", work.per_ghz), ("money", work.per_money)];
        all.into_iter()
            .filter_map(move |(per, estimate)| Some(ComparedWork { comparison, work, per, estimate: estimate? }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, estimate_of};
    use analysis::compare::kernels::KernelComparison;

    #[test]
    fn each_ratio_over_the_kernels_is_a_row_and_other_comparisons_have_no_such_file() {
        let mut one = compared();
        assert_eq!(work_csv(std::slice::from_ref(&one)), None);
        let work = estimate_of(&[(100.0, 190.0), (101.0, 191.0), (99.0, 190.0), (100.0, 189.0)]);
        let single = WorkRatio { kernels: 8, clients: [1, 1], work, per_ghz: None, per_money: Some(work) };
        one.kernels = Some(KernelComparison {
            single: Some(single),
            all: Some(WorkRatio { clients: [2, 4], ..single }),
            mhz: None,
            frequency_is_measured: false,
            cpu_quotas: [None, None],
        });
        let text = work_csv(&[one]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 4, "{text}");
        assert!(
            lines[1].starts_with("old,new,1,1,8,second,1.9") && lines[4].starts_with("old,new,2,4,8,money,"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.split(',').count() == WORK_COLUMNS.len()), "{text}");
    }
}
