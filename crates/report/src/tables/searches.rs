//! The probes of searches for the largest rate: a table for each search that has a probe, a row for each probe.

use crate::format;
use crate::table::TableDef;
use crate::table::{Cell, Column, ColumnOf, Look, Row, Table};
use crate::wording::label::settings_label;
use crate::wording::limit::{probe_words, rate_words, shown_time};
use analysis::{Analysis, SearchAnalysis};
use model::limit::{ProbeKind, ProbePart};

pub const TABLE: TableDef = TableDef {
    id: "searches",
    title: "Search for the largest rate",
    is_open: true,
    in_narrow: true,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const LEGEND: &str = "Each probe offers a fixed rate, whatever the target does. A probe that is undecided is measured again, and its \
    operations count together. The best rate is held in the end; only that point is in the other tables and in the charts.";

fn tables(analysis: &Analysis) -> Vec<Table> {
    analysis.searches.iter().filter(|search| !search.probes.is_empty()).map(table).collect()
}

fn table(search: &SearchAnalysis) -> Table {
    let shown = shown_time(search);
    let columns: Vec<ColumnOf<usize>> = vec![
        ColumnOf::new(Column::number("rate/s").least_width(10), |nth: &usize| {
            search.probes[*nth].offered_per_s().map_or_else(|| "closed".to_owned(), rate_words)
        }),
        ColumnOf::new(Column::number(shown.as_str()).least_width(8), move |nth: &usize| {
            let summary = search.probes[*nth].point.summary.as_ref();
            format::quoted(summary.and_then(|summary| summary.response_ns), shown)
        }),
        ColumnOf::new(Column::text("outcome"), |nth: &usize| {
            let look = match search.keeps(*nth) {
                Some(true) => Look::Better,
                Some(false) => Look::Caution,
                None => Look::Plain,
            };
            Cell::from(probe_words(search, *nth)).look(look)
        }),
    ];
    let number = |part: &ProbePart| match part.kind {
        ProbeKind::Hold => "hold".to_owned(),
        ProbeKind::Closed | ProbeKind::Probe => part.nth.to_string(),
    };
    let rows = search.probes.iter().enumerate().map(|(nth, probe)| (Row::labelled(vec![number(&probe.part)]), nth));
    Table {
        title: format!("{}: {}", settings_label(search.settings()), search.spec.objective),
        legend: LEGEND.to_owned(),
        label_head: "probe".to_owned(),
        most_rows: usize::MAX,
        ..Table::of(columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{limits, quick};

    #[test]
    fn every_probe_is_a_row_with_its_rate_and_the_time_that_the_objective_limits() {
        let analysis = limits();
        let tables = tables(&analysis);
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[0].title, "sqlite oltp: p99<20ms,errors<0.1%");
        assert_eq!(
            (tables[0].columns[1].head.as_str(), tables[0].rows.len()),
            ("p99", analysis.searches[0].probes.len())
        );
        let [first, .., last] = tables[0].rows.as_slice() else { panic!("several probes") };
        assert_eq!(
            (first.label_text().as_str(), first.cells[0].text.as_str(), first.cells[2].look),
            ("1", "closed", Look::Plain)
        );
        assert_eq!((last.label_text().as_str(), last.cells[2].look), ("hold", Look::Better));
        assert!(super::tables(&quick()).is_empty());
    }
}
