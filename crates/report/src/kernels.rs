//! What a CPU is worth: the table of kernels, and what is written of it.
//!
//! In: an analysis. Out: heads and cells for the terminal and the documents, and sentences. Limits: rates are of rounds, whose size is
//! the engine's: they compare machines, and no kernel with another.

use crate::format;
use crate::wording::kernels::{frequency_sentence, money_sentence, score_sentence};
use crate::wording::quantity::count;
use analysis::Analysis;
use analysis::compare::kernels::{KernelRate, KernelRow, KernelTable};
use serde::Serialize;

/// The title in the documents.
pub const TITLE: &str = "Kernels";

/// The table as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelView {
    /// The heads of the columns.
    pub heads: Vec<String>,
    /// A row for each kernel: its name first.
    pub rows: Vec<Vec<String>>,
    /// What the columns mean, and the score.
    pub notes: Vec<String>,
}

/// The kernels of `analysis`; `None` if it has none.
pub fn kernel_view(analysis: &Analysis) -> Option<KernelView> {
    let table = KernelTable::from_analysis(analysis)?;
    let most = table.most_clients();
    let priced = table.price_per_hour.is_some();
    let heads = ["rounds/s".to_owned(), "1 client".to_owned(), "per GHz".to_owned()].into_iter();
    let of_all =
        most.map(|most| [format!("{most} clients"), "per core".to_owned(), "per GHz".to_owned(), "scaling".to_owned()]);
    let heads = heads.chain(of_all.into_iter().flatten()).chain(priced.then(|| "per money".to_owned()));
    let rows = table.rows.iter().map(|row| cells(row, most.is_some(), priced));
    let notes =
        [Some(score_sentence(&table)), frequency_sentence(&table), money_sentence(&table)].into_iter().flatten();
    Some(KernelView { heads: heads.collect(), rows: rows.collect(), notes: notes.collect() })
}

fn cells(row: &KernelRow, has_all: bool, priced: bool) -> Vec<String> {
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
    std::iter::once(row.kernel.clone()).chain(single).chain(all).chain(money).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_kernels};

    #[test]
    fn a_run_without_kernels_has_no_table_and_one_client_no_right_half() {
        assert_eq!(kernel_view(&quick()), None);
        let view = kernel_view(&with_kernels(&[1])).unwrap();
        assert_eq!(view.heads, ["rounds/s", "1 client", "per GHz"]);
        let view = kernel_view(&with_kernels(&[1, 4])).unwrap();
        assert_eq!(view.heads[3..], ["4 clients", "per core", "per GHz", "scaling"]);
        assert_eq!(view.rows[0].len(), view.heads.len());
        assert!(view.notes[1].contains("nominal"), "{:?}", view.notes);
    }

    #[test]
    fn a_price_adds_a_column() {
        let mut analysis = with_kernels(&[1, 4]);
        analysis.meta.machine.hourly.price = Some(0.4);
        let view = kernel_view(&analysis).unwrap();
        assert_eq!(view.heads.last().unwrap(), "per money");
        assert!(view.rows[0].last().unwrap().ends_with(['k', 'M', 'G']), "{:?}", view.rows);
        assert!(view.notes[2].contains("with 4 clients for 1 of the currency"), "{:?}", view.notes);
        assert_eq!(view.rows[0].len(), view.heads.len());
    }
}
