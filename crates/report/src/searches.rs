//! The probes of searches for the largest rate, as tables of the documents and of the terminal.
//!
//! In: an analysis. Out: a [`SearchTable`] for each search. Limits: none of them is left out.

use crate::format;
use crate::wording::label::settings_label;
use crate::wording::limit::{probe_words, rate_words, shown_time};
use analysis::{Analysis, SearchAnalysis};
use model::limit::ProbeKind;
use serde::Serialize;

/// The heading of the tables.
pub const TITLE: &str = "Search for the largest rate";

/// One search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchTable {
    /// Its name and its objective: `sqlite oltp: p99<10ms`.
    pub title: String,
    /// The heads of the columns.
    pub heads: [&'static str; 4],
    /// One for each probe.
    pub rows: Vec<ProbeRow>,
}

/// One probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeRow {
    /// Its number or `hold`, the rate, the response time, and what it showed.
    pub cells: [String; 4],
    /// Whether it kept the objective; `None` if it shows neither.
    pub kept: Option<bool>,
}

/// The searches of `analysis` that have a probe.
pub fn search_tables(analysis: &Analysis) -> Vec<SearchTable> {
    analysis.searches.iter().filter(|search| !search.probes.is_empty()).map(search_table).collect()
}

fn search_table(search: &SearchAnalysis) -> SearchTable {
    SearchTable {
        title: format!("{}: {}", settings_label(search.settings()), search.spec.objective),
        heads: ["probe", "rate/s", shown_time(search).0, "outcome"],
        rows: (0..search.probes.len()).map(|nth| probe_row(search, nth)).collect(),
    }
}

fn probe_row(search: &SearchAnalysis, nth: usize) -> ProbeRow {
    let probe = &search.probes[nth];
    let number = match probe.part.kind {
        ProbeKind::Hold => "hold".to_owned(),
        ProbeKind::Closed | ProbeKind::Probe => probe.part.nth.to_string(),
    };
    let rate = probe.offered_per_s().map_or_else(|| "closed".to_owned(), rate_words);
    let times = probe.point.summary.as_ref().and_then(|summary| summary.response_ns);
    let time = format::nanos_or_dash(times.map(shown_time(search).1));
    ProbeRow { cells: [number, rate, time, probe_words(search, nth)], kept: search.keeps(nth) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{limits, quick};

    #[test]
    fn every_probe_is_a_row_with_its_rate_and_the_time_that_the_objective_limits() {
        let analysis = limits();
        let tables = search_tables(&analysis);
        assert_eq!(tables.len(), 2);
        assert_eq!(tables[0].title, "sqlite oltp: p99<20ms,errors<0.1%");
        assert_eq!((tables[0].heads[2], tables[0].rows.len()), ("p99", analysis.searches[0].probes.len()));
        let [first, .., last] = tables[0].rows.as_slice() else { panic!("several probes") };
        assert_eq!((first.cells[0].as_str(), first.cells[1].as_str(), first.kept), ("1", "closed", None));
        assert_eq!((last.cells[0].as_str(), last.kept), ("hold", Some(true)));
        assert!(search_tables(&quick()).is_empty());
    }
}
