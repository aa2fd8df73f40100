//! Each kind of operation by itself: which statement is slow. Points of one kind are left out, because the table of points has their numbers;
//! so are those of variants and of compressed files, which have tables of their own.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, Row, Table};
use crate::wording::label::point_label;
use crate::wording::quantity::percent;
use analysis::{Analysis, StatementSummary};
use model::{Percentile, QuotedTime};

pub const TABLE: TableDef = TableDef {
    id: "statements",
    title: "Each kind of operation",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |_, rows| tables(&rows.analysis),
};

const SHORT_LEGEND: &str = "share: of the operations done, without those in the background; response times of whole operations, with \
    the commit of a transaction";
const LEGEND: &str = "A kind is a statement or transaction that the plan names, or what is done with files. Share: of the operations done \
    in the run phase; what clients do in the background is not counted. Times are response times of whole operations: of a transaction, from its first statement to the end of its commit. \
    The statements in a transaction have no times of their own.";

type KindColumn = ColumnOf<'static, StatementSummary>;

fn columns() -> Vec<KindColumn> {
    let time = |quoted: QuotedTime| {
        KindColumn::new(Column::number(quoted.as_str()), move |kind| format::quoted(kind.response_ns, quoted))
    };
    let [p50, p95, p99] = [Percentile::P50, Percentile::P95, Percentile::P99].map(|one| time(QuotedTime::At(one)));
    vec![
        KindColumn::new(Column::number("ops/s"), |kind| format::number(kind.ops_per_s)),
        KindColumn::new(Column::number("share"), |kind| kind.share.map(|share| percent(share).to_string())),
        p50,
        p95,
        p99,
        time(QuotedTime::Longest),
        KindColumn::new(Column::number("failed"), |kind| format::count(kind.failed)),
    ]
}

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows = analysis.points.iter().flat_map(|point| {
        let group = if analysis.points.len() > 1 { point_label(point) } else { String::new() };
        let kinds = point.several_statements().iter();
        kinds.map(move |kind| (Row::labelled(vec![label(kind)]).in_group(group.clone()), kind))
    });
    let label_head = "kind".to_owned();
    let table = Table::of(columns(), rows);
    Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, ..table }.if_any()
}

/// `lookup`; in the background `report (background)`. The rate that was asked for is in the line of the load, below its point.
fn label(kind: &StatementSummary) -> String {
    if kind.background { format!("{} (background)", kind.kind) } else { kind.kind.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_statements};

    #[test]
    fn a_point_of_several_kinds_has_a_row_for_each_and_others_are_left_out() {
        let found = tables(&with_statements());
        let [table] = found.as_slice() else { panic!("one point has several kinds") };
        let in_line = |row: &Row| {
            let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
            format!("{} {}", row.label_text(), cells.join(" "))
        };
        let rows: Vec<String> = table.rows.iter().map(in_line).collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].starts_with("lookup 750 75") && rows[1].starts_with("pay 250 25"), "{rows:?}");
        assert!(rows[0].ends_with(" 0") && rows[1].ends_with(" 3"), "{rows:?}");
        assert!(tables(&quick()).is_empty());
    }
}
