//! The rate of each kernel, with one client and with the most.
//!
//! In: the table of kernels. Out: one figure, a row for each kernel. Limits: each column has its own scale, and so has each kernel its own
//! round: bars of one column compare no kernels, but the pattern of one machine with that of another.

use super::chart::Chart;
use crate::format;
use crate::sheet::conditions;
use crate::wording::kernels::{frequency_sentence, score_sentence};
use analysis::compare::kernels::{KernelRow, KernelTable};
use analysis::{Analysis, PointAnalysis};
use plot::figure::{BarColumn, Colour, Figure, FigureBody};

pub const CHART: Chart = Chart {
    id: "kernels",
    title: "Kernels",
    help: "How many rounds of each kernel the CPU does per second with one client and with the most, and how many times the rate of one \
           client that is. Each column has its own scale from 0. Rounds of two kernels are different work.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: tests::with_kernels,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let Some(table) = KernelTable::from_analysis(analysis) else { return Vec::new() };
    let points: Vec<&PointAnalysis> =
        analysis.points.iter().filter(|point| point.traits.work.kernel.is_some()).collect();
    let most = table.most_clients();
    let single = column("1 client", &table, |row| Some(row.single?.ops_per_s), format::number);
    let all = most.map(|most| {
        let rate = column(&format!("{most} clients"), &table, |row| Some(row.all?.ops_per_s), format::number);
        [rate, column("scaling", &table, |row| row.scaling, |times| format!("{times:.2}"))]
    });
    let columns: Vec<BarColumn> = std::iter::once(single).chain(all.into_iter().flatten()).collect();
    let notes = [Some(score_sentence(&table)), frequency_sentence(&table)].into_iter().flatten();
    vec![Figure {
        id: CHART.id.to_owned(),
        title: "Rounds per second of each kernel".to_owned(),
        conditions: conditions(analysis, &points),
        caption: notes.collect::<Vec<_>>().join(" "),
        body: FigureBody::Bars {
            rows: table.rows.iter().map(|row| (row.kernel.clone(), Colour::Blue.into())).collect(),
            columns,
        },
    }]
}

fn column(
    label: &str,
    table: &KernelTable,
    value: fn(&KernelRow) -> Option<f64>,
    written: impl Fn(f64) -> String,
) -> BarColumn {
    let value = |row: &KernelRow| value(row).filter(|value| value.is_finite()).map(|value| (value, written(value)));
    BarColumn { label: label.to_owned(), values: table.rows.iter().map(value).collect() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::quick;

    /// The run `quick`, whose first four points are kernels.
    pub(crate) fn with_kernels() -> Analysis {
        let mut analysis = quick();
        analysis.points.truncate(4);
        for (point, (kernel, clients)) in
            analysis.points.iter_mut().zip([("sort", 1), ("sort", 4), ("chase", 1), ("chase", 4)])
        {
            point.traits.work.kernel = Some(kernel.into());
            (point.clients, point.group) = (clients, usize::from(kernel == "chase"));
        }
        analysis
    }

    #[test]
    fn each_kernel_is_a_row_with_both_rates_and_a_run_of_files_has_no_figure() {
        let FigureBody::Bars { rows, columns } = draw(&with_kernels()).remove(0).body else { panic!("bars") };
        assert_eq!(rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["sort", "chase"]);
        assert_eq!(columns.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), ["1 client", "4 clients", "scaling"]);
        assert!(draw(&quick()).is_empty());
    }
}
