//! The kinds of statement of a replay that are performed otherwise at some points than at others, such as on two servers.

use crate::table::TableDef;
use crate::table::{Column, Row, Table};
use crate::wording::label::point_label;
use analysis::{Analysis, PointAnalysis};

pub const TABLE: TableDef = TableDef {
    id: "plans",
    title: "Statements whose plans differ",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| tables(analysis),
};

const SHORT_LEGEND: &str = "plan of one recorded statement of the kind, without estimates and values";
const LEGEND: &str = "Each plan is that of one recorded statement of the kind. The server was asked for it when the load was over. Costs, estimates \
    and values of the statement are left out. Kinds with the same plan at all points are left out.";

/// A plan, and the points at which a kind has it.
type PlanAt<'a> = (&'a [String], Vec<&'a PointAnalysis>);

fn tables(analysis: &Analysis) -> Vec<Table> {
    let mut kinds: Vec<(&str, Vec<PlanAt>)> = Vec::new();
    for (point, plan) in
        analysis.points.iter().flat_map(|point| point.traits.outcome.replay_plans.iter().map(move |plan| (point, plan)))
    {
        let at = kinds.iter().position(|(kind, _)| *kind == plan.kind).unwrap_or_else(|| {
            kinds.push((plan.kind.as_str(), Vec::new()));
            kinds.len() - 1
        });
        let plans = &mut kinds[at].1;
        match plans.iter_mut().find(|(steps, _)| *steps == plan.steps) {
            Some((_, points)) => points.push(point),
            None => plans.push((plan.steps.as_slice(), vec![point])),
        }
    }
    let several = kinds.iter().filter(|(_, plans)| plans.len() > 1);
    let rows: Vec<Row> = several
        .flat_map(|(kind, plans)| plans.iter().map(move |plan| row(plan).in_group((*kind).to_owned())))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![Column::text("plan")];
    vec![Table {
        legend: LEGEND.to_owned(),
        short_legend: SHORT_LEGEND,
        label_head: "at".to_owned(),
        columns,
        rows,
        ..Table::default()
    }]
}

/// The first of its points, and how many more there are: those of several repeats differ in their number only.
fn row((steps, points): &PlanAt) -> Row {
    let more = match points.len() {
        1 => String::new(),
        2 => " and 1 more point".to_owned(),
        many => format!(" and {} more points", many - 1),
    };
    Row::new(format!("{}{more}", point_label(points[0])), [steps.join("; ")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;
    use model::KindPlan;

    #[test]
    fn kinds_with_one_plan_at_all_points_are_left_out() {
        let mut analysis = quick();
        let plan = |kind: &str, step: &str| KindPlan { kind: kind.into(), steps: vec![step.into(), "sorts".into()] };
        for (nth, point) in analysis.points.iter_mut().take(3).enumerate() {
            let step = if nth == 0 { "reads `a` by index `i`" } else { "reads all of `a`" };
            point.traits.outcome.replay_plans = vec![plan("select a", step), plan("select b", "reads all of `b`")];
        }
        let found = tables(&analysis);
        let [table] = found.as_slice() else { panic!("one kind has two plans") };
        let cells: Vec<&str> = table.rows.iter().map(|row| row.cells[0].text.as_str()).collect();
        assert_eq!(cells, ["reads `a` by index `i`; sorts", "reads all of `a`; sorts"]);
        assert!(table.rows[1].label_text().ends_with(" and 1 more point"), "{}", table.rows[1].label_text());
        assert!(tables(&quick()).is_empty());
    }
}
