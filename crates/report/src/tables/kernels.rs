//! What a CPU is worth: a row for each kernel. Rates are of rounds, whose size is the engine's: they compare machines, and no kernel with
//! another.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, Row, Table};
use crate::wording::kernels::{frequency_sentence, money_sentence, score_sentence};
use crate::wording::quantity::count;
use analysis::Analysis;
use analysis::compare::kernels::{KernelRate, KernelRow, KernelTable};

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
    let (most, priced) = (table.most_clients(), table.price_per_hour.is_some());
    let mut heads = vec!["1 client".to_owned(), "per GHz".to_owned()];
    if let Some(most) = most {
        heads.extend([format!("{most} clients"), "per core".to_owned(), "per GHz".to_owned(), "scaling".to_owned()]);
    }
    heads.extend(priced.then(|| "per money".to_owned()));
    let notes = [Some(score_sentence(&table)), frequency_sentence(&table), money_sentence(&table)];
    vec![Table {
        label_head: "rounds/s".to_owned(),
        columns: heads.into_iter().map(|head| Column::number(head).least_width(9)).collect(),
        rows: table.rows.iter().map(|row| row_of(row, most.is_some(), priced)).collect(),
        notes: notes.into_iter().flatten().collect(),
        most_rows: usize::MAX,
        ..Table::default()
    }]
}

fn row_of(row: &KernelRow, has_all: bool, priced: bool) -> Row {
    let text = |rate: Option<KernelRate>, value: fn(&KernelRate) -> Option<f64>| {
        rate.as_ref().and_then(value).map_or_else(format::dash, format::number)
    };
    let single = [text(row.single, |rate| Some(rate.ops_per_s)), text(row.single, |rate| rate.per_ghz)];
    let of_all = || {
        let scaling = row.scaling.map_or_else(format::dash, |scaling| format!("{scaling:.2}"));
        [
            text(row.all, |rate| Some(rate.ops_per_s)),
            text(row.all, |rate| Some(rate.per_core)),
            text(row.all, |rate| rate.per_ghz),
            scaling,
        ]
    };
    let most = row.all.or(row.single);
    // A machine does billions of small rounds for the money: with all digits they are wider than a narrow terminal.
    let per_money =
        || most.and_then(|rate| rate.per_money).map_or_else(format::dash, |rounds| count(rounds).to_string());
    let money = priced.then(per_money);
    let all = has_all.then(of_all).into_iter().flatten();
    Row::new(row.kernel.clone(), single.into_iter().chain(all).chain(money))
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
