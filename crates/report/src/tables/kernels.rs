//! What a CPU is worth: a row for each kernel. Rates are of rounds, whose size is the engine's: they compare machines, and no kernel with
//! another.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, ColumnOf, Row, Table};
use crate::wording::kernels::{frequency_sentence, money_sentence, score_sentence};
use crate::wording::quantity::count;
use analysis::Analysis;
use analysis::compare::kernels::{KernelRow, KernelTable};

pub const TABLE: TableDef = TableDef {
    id: "kernel-table",
    title: "Kernels",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| tables(analysis),
};

fn tables(analysis: &Analysis) -> Vec<Table> {
    let Some(table) = KernelTable::from_analysis(analysis) else { return Vec::new() };
    let notes = [Some(score_sentence(&table)), frequency_sentence(&table), money_sentence(&table)];
    let rows = table.rows.iter().map(|row| (Row::labelled(vec![row.kernel.clone()]), row));
    vec![Table {
        label_head: "rounds/s".to_owned(),
        notes: notes.into_iter().flatten().collect(),
        most_rows: usize::MAX,
        ..Table::of(columns(&table), rows)
    }]
}

type KernelColumn = ColumnOf<'static, KernelRow>;

/// The rates of one client, those of the most if several were measured, and the rounds for money if there is a price.
fn columns(table: &KernelTable) -> Vec<KernelColumn> {
    let number = |head: String, value: fn(&KernelRow) -> Option<f64>| {
        KernelColumn::new(Column::number(head).least_width(9), move |row| value(row).map(format::number))
    };
    let mut columns = vec![
        number("1 client".to_owned(), |row| row.single.map(|rate| rate.ops_per_s)),
        number("per GHz".to_owned(), |row| row.single?.per_ghz),
    ];
    if let Some(most) = table.most_clients() {
        columns.extend([
            number(format!("{most} clients"), |row| row.all.map(|rate| rate.ops_per_s)),
            number("per core".to_owned(), |row| row.all.map(|rate| rate.per_core)),
            number("per GHz".to_owned(), |row| row.all?.per_ghz),
            KernelColumn::new(Column::number("scaling").least_width(9), |row| {
                row.scaling.map(|scaling| format!("{scaling:.2}"))
            }),
        ]);
    }
    if table.price_per_hour.is_some() {
        // A machine does billions of small rounds for the money: with all digits they are wider than a narrow terminal.
        columns.push(KernelColumn::new(Column::number("per money").least_width(9), |row| {
            row.all.or(row.single)?.per_money.map(|rounds| count(rounds).to_string())
        }));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_kernels};

    fn heads(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|column| column.head.as_str()).collect()
    }

    #[test]
    fn a_run_without_kernels_has_no_table_and_one_client_no_right_half() {
        assert!(tables(&quick()).is_empty());
        let view = tables(&with_kernels(&[1])).remove(0);
        assert_eq!((view.label_head.as_str(), heads(&view)), ("rounds/s", vec!["1 client", "per GHz"]));
        let view = tables(&with_kernels(&[1, 4])).remove(0);
        assert_eq!(heads(&view)[2..], ["4 clients", "per core", "per GHz", "scaling"]);
        assert_eq!(view.rows[0].cells.len(), view.columns.len());
        assert!(view.notes[1].contains("nominal"), "{:?}", view.notes);
    }

    #[test]
    fn a_price_adds_a_column() {
        let mut analysis = with_kernels(&[1, 4]);
        analysis.meta.machine.hourly.price = Some(0.4);
        let view = tables(&analysis).remove(0);
        assert_eq!(*heads(&view).last().unwrap(), "per money");
        assert!(view.rows[0].cells.last().unwrap().text.ends_with(['k', 'M', 'G']), "{:?}", view.rows);
        assert!(view.notes[2].contains("with 4 clients for 1 of the currency"), "{:?}", view.notes);
        assert_eq!(view.rows[0].cells.len(), view.columns.len());
    }
}
