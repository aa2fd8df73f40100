//! Connections as CSV: the times of each kind of operation, and the memory of an engine while it held some.
//!
//! In: an analysis. Out: text with a header line. Limits: what could not be measured is an empty field, never 0.

use crate::escape;
use crate::wording::label::point_label;
use analysis::{Analysis, KindSummary, PointAnalysis, Quantiles};

/// One row for each kind of operation of each point that has steps; `None` if no point has.
pub fn kinds_csv(analysis: &Analysis) -> Option<String> {
    let head =
        "point,label,kind,ops,failed,response_p50_ns,response_p95_ns,response_p99_ns,response_p999_ns,response_max_ns";
    let kinds = |point: &PointAnalysis| point.summary.as_ref().map_or(Vec::new(), |summary| summary.kinds.clone());
    let rows = analysis.points.iter().flat_map(|point| {
        kinds(point)
            .into_iter()
            .map(move |kind| format!("{},{},{}", point.id, escape::csv(&point_label(point)), cells(&kind)))
    });
    table(head, rows.collect())
}

fn cells(kind: &KindSummary) -> String {
    let time = |which: fn(Quantiles) -> u64| kind.response_ns.map(|q| which(q).to_string()).unwrap_or_default();
    let times = [time(|q| q.p50), time(|q| q.p95), time(|q| q.p99), time(|q| q.p999), time(|q| q.max)];
    format!("{},{},{},{}", escape::csv(&kind.kind), kind.ops, kind.failed, times.join(","))
}

/// One row for each reading of the memory of an engine that held connections; `None` if none did.
pub fn held_csv(analysis: &Analysis) -> Option<String> {
    let rows = analysis.points.iter().filter_map(|point| Some((point, point.traits.outcome.hold.as_ref()?)));
    let rows = rows.flat_map(|(point, found)| {
        let label = escape::csv(&point_label(point));
        found.memory.iter().map(move |one| format!("{},{label},{},{}", point.id, one.held, one.bytes))
    });
    table("point,label,held,memory_bytes", rows.collect())
}

fn table(head: &str, rows: Vec<String>) -> Option<String> {
    (!rows.is_empty()).then(|| format!("{head}\n{}\n", rows.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_as_many_fields_as_their_heads_and_other_runs_have_no_such_file() {
        let analysis = (crate::charts::CHARTS.iter().find(|chart| chart.id == "connections").unwrap().fixture)();
        for text in [kinds_csv(&analysis).unwrap(), held_csv(&analysis).unwrap()] {
            let widths: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
            assert!(widths.len() > 2 && widths.iter().all(|width| *width == widths[0]), "{text}");
        }
        assert_eq!((kinds_csv(&crate::testing::quick()), held_csv(&crate::testing::quick())), (None, None));
    }
}
