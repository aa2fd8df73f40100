//! The statements of a server that others load, and how much of each of its limits it used.

use crate::format;
use crate::table::{Column, Row, Table, TableDef};
use crate::wording::label::point_label;
use crate::wording::quantity::{count, percent, time};
use analysis::{Analysis, LimitUse, LimitedThing, PointAnalysis, limit_uses};
use model::{Observation, ObservedStatement};

pub const STATEMENTS: TableDef = TableDef {
    id: "observed-statements",
    title: "Statements of the server",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| statements(analysis),
};

pub const LIMITS: TableDef = TableDef {
    id: "observed-limits",
    title: "What is nearest to its limit",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| limits(analysis),
};

const SHORT_LEGEND: &str = "by the server's own account; time: of all statements together, waits included";
const LEGEND: &str = "By the server's own account, without values. Time: the share of the time of all statements together, waits included. Rows read \
    per row sent: far above 1, an index may be missing; an aggregate sends one row for all that it reads. Pages: of tables and indexes, \
    looked at per execution.";
const HEADS: [&str; 6] = ["time", "calls/s", "mean", "rows read/sent", "pages/call", "errors"];
/// The most characters of a statement in a table.
const TEXT_CHARS: usize = 120;

fn observed(analysis: &Analysis) -> impl Iterator<Item = (String, &Observation)> {
    let is_one = analysis.points.len() == 1;
    let label = move |point: &PointAnalysis| if is_one { String::new() } else { point_label(point) };
    analysis.points.iter().filter_map(move |point| Some((label(point), point.traits.observed.as_ref()?)))
}

fn statements(analysis: &Analysis) -> Vec<Table> {
    let rows = observed(analysis).flat_map(|(group, seen)| {
        let others = seen.others.as_ref().map(|others| row("all others", others, seen));
        let named = seen.statements.iter().map(|one| row(&cut(&one.text), one, seen));
        named.chain(others).map(|row| row.in_group(group.clone())).collect::<Vec<_>>()
    });
    let rows: Vec<Row> = rows.collect();
    let (columns, label_head) = (HEADS.map(Column::number).to_vec(), "statement".to_owned());
    let table =
        Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, columns, rows, ..Table::default() };
    Some(table).filter(|table| !table.rows.is_empty()).into_iter().collect()
}

fn row(label: &str, one: &ObservedStatement, seen: &Observation) -> Row {
    let (all, cost, seconds) = (seen.all_statements(), &one.cost, seen.statements_ns as f64 / 1e9);
    let (calls, time_ns) = (cost.calls.max(1) as f64, cost.time_ns as f64);
    let ratio = cost.rows_read.filter(|_| cost.rows_sent > 0).map(|read| read as f64 / cost.rows_sent as f64);
    let cells = [
        percent(time_ns / all.time_ns.max(1) as f64).to_string(),
        format::number(if seconds > 0.0 { cost.calls as f64 / seconds } else { 0.0 }),
        time(time_ns / calls).to_string(),
        ratio.map_or_else(format::dash, |ratio| count(ratio).to_string()),
        cost.pages.map_or_else(format::dash, |pages| count(pages as f64 / calls).to_string()),
        format::count(cost.errors),
    ];
    Row::new(label.to_owned(), cells)
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TEXT_CHARS {
        return text.to_owned();
    }
    text.chars().take(TEXT_CHARS - 2).collect::<String>() + ".."
}

fn limits(analysis: &Analysis) -> Vec<Table> {
    let is_one = analysis.points.len() == 1;
    let watched = analysis.points.iter().filter(|point| point.traits.observed.is_some());
    let rows = watched.flat_map(|point| {
        let group = if is_one { String::new() } else { point_label(point) };
        let uses = limit_uses(point, &analysis.meta.machine);
        uses.iter().map(|used| limit_row(used).in_group(group.clone())).collect::<Vec<_>>()
    });
    let rows: Vec<Row> = rows.collect();
    let columns = ["mean", "most", "by the server"].map(Column::number).to_vec();
    let legend = "Shares of the limit, on average and in the interval in which it was most. Of a disk the time in which it was busy.";
    let table = Table { legend: legend.to_owned(), label_head: "limit".to_owned(), columns, rows, ..Table::default() };
    Some(table).filter(|table| !table.rows.is_empty()).into_iter().collect()
}

fn limit_row(used: &LimitUse) -> Row {
    let of = used.of.as_deref().unwrap_or_default();
    let label = match used.thing {
        LimitedThing::Cpu => "CPU".to_owned(),
        LimitedThing::Disk => format!("disk {of}"),
        LimitedThing::Connections => format!("connections ({of})"),
        LimitedThing::Log => "age of the log".to_owned(),
        LimitedThing::Memory => "memory".to_owned(),
    };
    let by_engine = used.by_engine.map_or_else(format::dash, |share| percent(share).to_string());
    Row::new(label, [percent(used.mean).to_string(), percent(used.most).to_string(), by_engine])
}
