//! How far each kind of statement of a replay did what the recorded ones did.

use crate::format;
use crate::table::TableDef;
use crate::table::{Column, Row, Table};
use crate::wording::label::point_label;
use crate::wording::quantity::percent;
use analysis::Analysis;
use model::KindDivergence;

pub const TABLE: TableDef = TableDef {
    id: "divergence",
    title: "How far the replay did what was recorded",
    is_open: false,
    in_narrow: false,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const SHORT_LEGEND: &str = "compared: statements with an answer in the log; failed: now and not then; passed: then failed and not now; sent, \
    rows: returned or changed more or fewer rows; id: made another id";
const LEGEND: &str = "Compared: statements whose answer the log has. Each that diverged counts once, in the first column that fits: it failed and had \
    not failed when it was recorded; it passed and had failed; it returned, or changed, more or fewer rows; it made another id.";

const HEADS: [(&str, &str); 7] = [
    ("compared", "compared"),
    ("diverged", "diverged"),
    ("failed", "failed"),
    ("passed", "passed"),
    ("sent", "other rows returned"),
    ("rows", "other rows changed"),
    ("id", "other id"),
];

fn tables(analysis: &Analysis) -> Vec<Table> {
    let rows = analysis.points.iter().flat_map(|point| {
        let group = if analysis.points.len() > 1 { point_label(point) } else { String::new() };
        let kinds = point.traits.outcome.replay_divergence.iter().flat_map(|divergence| &divergence.kinds);
        kinds.map(move |kind| row(kind).in_group(group.clone()))
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = HEADS.map(|(head, long)| Column::number(head).long_head(long)).to_vec();
    let label_head = "kind".to_owned();
    vec![Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, columns, rows, ..Table::default() }]
}

fn row(kind: &KindDivergence) -> Row {
    let diverged = percent(kind.diverged() as f64 / kind.compared.max(1) as f64).to_string();
    let counts = [kind.failed, kind.succeeded, kind.returned, kind.changed, kind.other_id].map(format::count);
    Row::new(kind.kind.clone(), [format::count(kind.compared), diverged].into_iter().chain(counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{quick, with_statements};
    use model::Fact;

    #[test]
    fn each_kind_that_was_compared_has_a_row_and_other_points_have_none() {
        let mut analysis = with_statements();
        let facts = [("replay_compared", "rows"), ("replay_divergence.1", "1200 3 0 0 9 0 update t set c = ?")];
        facts.iter().for_each(|(name, text)| analysis.points[0].traits.learn(&Fact::new(*name, *text)));
        let found = tables(&analysis);
        let [table] = found.as_slice() else { panic!("one point was compared") };
        let cells: Vec<&str> = table.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(table.rows[0].label_text(), "update t set c = ?");
        assert_eq!(cells, ["1,200", "1.0 %", "3", "0", "0", "9", "0"]);
        assert!(tables(&quick()).is_empty());
    }
}
