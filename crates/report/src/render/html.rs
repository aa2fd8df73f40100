//! The report as one HTML file: the answer, what limits it, how it went over time, findings, and all else folded.
//!
//! In: an analysis. Out: text that needs nothing else: no network, no script to be read, no font.
//! Limits: the template engine escapes all text of the run; the pictures come escaped from the SVG writer and the script is
//! admitted by its hash, so that a browser runs no other.

use super::interaction::{Interaction, bar_class};
use super::order::order_filter;
use crate::ReportError;
use crate::bottlenecks::{self, BottleneckRow, bottleneck_rows};
use crate::charts::cost::CostColumn;
use crate::charts::{self, all_figures, cost_columns};
use crate::compression::{self, CompressionView, compression_views};
use crate::cross_table::{CrossTable, cross_tables};
use crate::endpoints::EndpointSection;
use crate::escape;
use crate::findings::{FindingGroup, Member, grouped};
use crate::format;
use crate::hosts::HostSection;
use crate::inserts::{self, CostPart};
use crate::kernels::{self, KernelView, kernel_view};
use crate::loads::{self, LoadRow};
use crate::point_cells::{self, SecondRate};
use crate::relative::{self, RelativeView, relative_views};
use crate::render::chart_sections::{ChartLayout, ChartSection, Drawn, IndexRow, index, lay_out};
use crate::render::first_screen::FirstScreen;
use crate::repeat::{self, RepeatGuide};
use crate::running_costs::{self, RunningCostTable, running_cost_table};
use crate::searches::{self, SearchTable, search_tables};
use crate::sheet::conditions;
use crate::stack_table::{StackTable, stack_table};
use crate::statements::StatementSection;
use crate::thread_table::{self, ThreadTable, thread_table};
use crate::variants::{self, VariantTable, variant_tables};
use crate::wording::background::background_line;
use crate::wording::connections::steps_line;
use crate::wording::fact::{fact_meaning, fact_name, fact_value, known_facts};
use crate::wording::instances::instances_line;
use crate::wording::label::{list_settings, point_label};
use crate::wording::work_done::work_done_line;
use crate::wording::written::written_sentences;
use analysis::{Analysis, PointAnalysis, Quantiles, RepeatRows, Severity, Summary};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Output, State, escape_formatter};
use serde::Serialize;
use std::borrow::Cow;

const TEMPLATE: &str = include_str!("report.html");
/// The whole document.
pub fn html(analysis: &Analysis) -> Result<String, ReportError> {
    html_with(analysis, &all_figures(analysis))
}

/// The whole document with the figures of `analysis`, which its charts made.
pub(crate) fn html_with(analysis: &Analysis, all: &[Drawn]) -> Result<String, ReportError> {
    let mut templates = new_environment();
    templates.add_template("report.html", TEMPLATE)?;
    let repeats = RepeatRows::from_analysis(analysis);
    let page = ReportPage::from_analysis(analysis, &repeats, all);
    Ok(templates.get_template("report.html")?.render(Serde(page))?)
}

/// Templates whose values are escaped. That they are escaped for HTML follows from the name of the template.
pub(crate) fn new_environment() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_formatter(print_value);
    templates.add_filter("coded", coded);
    templates.add_filter("order", |text: Value| order_filter(&text));
    templates
}

/// Escaped for HTML, and without characters that hide or reorder text.
fn print_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => escape_formatter(out, state, &Value::from(escape::terminal(text))),
        None => escape_formatter(out, state, value),
    }
}

/// Escaped, with text between backticks set as code; a backtick without its partner stays one.
pub(super) fn coded(text: String) -> Value {
    let parts: Vec<String> = text.split('`').map(plot::escape::escape_xml).collect();
    let (pairs, rest) = parts.split_at(parts.len() - (parts.len() + 1) % 2);
    let mut out = String::new();
    for (nth, part) in pairs.iter().enumerate() {
        out += &if nth % 2 == 0 { part.clone() } else { format!("<code>{part}</code>") };
    }
    rest.iter().for_each(|part| out += &format!("`{part}"));
    Value::from_safe_string(out)
}

#[derive(Serialize)]
struct ReportPage<'a> {
    has_repeats: bool,
    /// The rows of the tables: the repeats of a point in one.
    rows: Vec<PointRow<'a>>,
    interaction: Interaction,
    title: &'a str,
    first: FirstScreen,
    /// All findings that are no notes are seen; notes are folded.
    graver: Vec<Block>,
    notes: Vec<Block>,
    run_id: &'a str,
    started: String,
    version: &'a str,
    reader_version: &'static str,
    search_title: &'static str,
    searches: Vec<SearchTable>,
    compression_title: &'static str,
    compression_legend: &'static str,
    compression: Vec<CompressionView>,
    point_conditions: Vec<PointConditions>,
    statements: StatementSection,
    endpoints: EndpointSection,
    hosts: HostSection,
    variants: Vec<VariantTable>,
    variant_legend: &'static str,
    relative: Vec<RelativeView>,
    relative_legend: &'static str,
    pivots: Vec<CrossTable>,
    index_heads: Vec<&'static str>,
    index: Vec<IndexRow>,
    bottleneck_title: &'static str,
    bottleneck_heads: [&'static str; bottlenecks::HEADS.len()],
    bottleneck_legend: &'static str,
    bottlenecks: Vec<BottleneckRow>,
    /// The first picture, next to its partner if it has one.
    main: Option<ChartSection>,
    /// What limits each point, and how it went over time.
    open: Vec<ChartSection>,
    /// All other pictures, each section folded.
    folded: Vec<ChartSection>,
    conditions: String,
    /// Whether the chart of costs, whose values are behind it, is there: then no table repeats them.
    has_cost_chart: bool,
    /// Those of the pictures, for a picture that is saved: each once.
    measured: Vec<String>,
    cost_heads: Vec<&'static str>,
    kernel_title: &'static str,
    kernels: Option<KernelView>,
    load_heads: [&'static str; loads::HEADS.len()],
    loads: Vec<Vec<String>>,
    thread_title: &'static str,
    thread_legend: &'static str,
    thread_heads: [&'static str; thread_table::HEADS.len()],
    threads: Option<ThreadTable>,
    stacks: Option<StackTable>,
    running_title: &'static str,
    running_legend: &'static str,
    running: Option<RunningCostTable>,
    insert_title: &'static str,
    insert_legend: &'static str,
    insert_accounts: Vec<String>,
    accounts: Vec<String>,
    inserts: Vec<InsertTable>,
    projections: Vec<(String, String)>,
    warnings: Vec<String>,
    environment: Vec<FactRow>,
    repeat_title: &'static str,
    repeat: RepeatGuide,
    trials: usize,
    has_open_loop: bool,
    rate_head: &'static str,
    /// The head of the column of a second rate.
    second_head: Option<&'static str>,
}

/// One point, in the tables.
#[derive(Serialize)]
struct PointRow<'a> {
    id: u32,
    label: String,
    /// How many repeats it is of, if any row is of several.
    repeats: Option<String>,
    remark: Option<&'static str>,
    validity: &'static str,
    error: Option<&'a str>,
    numbers: Vec<String>,
    second_rate: String,
    /// What the background clients did, and how long the steps of a turn took.
    background: Vec<String>,
    /// What each of several instances did.
    instances: Option<String>,
    work_done: Option<String>,
    late: String,
    finding_count: usize,
    costs: Vec<CostCell>,
}

/// The conditions that all points have alike, or those that one point has of its own.
#[derive(Serialize)]
struct PointConditions {
    label: String,
    settings: Vec<SettingRow>,
    facts: Vec<FactRow>,
}

/// A parameter with the value that was asked for, and that the engine reported, if it did.
#[derive(Clone, PartialEq, Serialize)]
struct SettingRow {
    name: String,
    asked: String,
    got: Option<String>,
}

/// A fact with what it means.
#[derive(Clone, PartialEq, Serialize)]
struct FactRow {
    name: String,
    value: String,
    /// Its name in the run file, and what it is.
    meaning: String,
}

/// Some of what the inserts of each point cost.
#[derive(Serialize)]
struct InsertTable {
    title: &'static str,
    heads: Vec<&'static str>,
    rows: Vec<InsertRow>,
}

/// What an insert cost at one point.
#[derive(Serialize)]
struct InsertRow {
    label: String,
    cells: Vec<String>,
}

/// A cost with a bar as long as its share of the greatest in its column.
#[derive(Serialize)]
struct CostCell {
    text: String,
    bar: String,
}

/// All findings of one code and severity.
#[derive(Serialize)]
struct Block {
    is_note: bool,
    severity: &'static str,
    code: &'static str,
    heading: String,
    next_step: Cow<'static, str>,
    members: Vec<MemberItem>,
}

#[derive(Serialize)]
struct MemberItem {
    place: String,
    title: String,
    evidence: String,
    /// Empty if all members have the same.
    next_step: Cow<'static, str>,
}

impl<'a> ReportPage<'a> {
    fn from_analysis(analysis: &'a Analysis, repeats: &'a RepeatRows, all: &[Drawn]) -> Self {
        let (meta, (index_heads, index)) = (&analysis.meta, index(analysis, all));
        let ChartLayout { main, open, folded, measured } = lay_out(all);
        let (notes, graver) = grouped(analysis).iter().map(block).partition(|block| block.is_note);
        let (all_points, inserts) = (analysis.points.iter().collect::<Vec<_>>(), inserts::lines(&repeats.analysis));
        ReportPage {
            interaction: Interaction::from_figures(all.iter().flat_map(|(_, figures)| figures)),
            title: &meta.plan.title,
            first: FirstScreen::new(analysis, &repeats.analysis),
            graver,
            notes,
            run_id: &meta.run_id,
            started: format::utc(meta.started_unix_ms),
            version: &meta.plimsoll_version,
            reader_version: env!("CARGO_PKG_VERSION"),
            search_title: searches::TITLE,
            searches: search_tables(analysis),
            compression_title: compression::TITLE,
            compression_legend: compression::LEGEND,
            compression: compression_views(analysis),
            has_repeats: repeats.has_repeats(),
            rows: rows(&repeats.analysis, repeats),
            point_conditions: point_conditions(analysis),
            statements: StatementSection::from_analysis(&repeats.analysis),
            endpoints: EndpointSection::from_analysis(&repeats.analysis),
            hosts: HostSection::from_analysis(&repeats.analysis),
            variants: variant_tables(analysis),
            variant_legend: variants::LEGEND,
            relative: relative_views(analysis),
            relative_legend: relative::LEGEND,
            pivots: cross_tables(analysis),
            index_heads,
            index,
            bottleneck_title: bottlenecks::TITLE,
            bottleneck_heads: bottlenecks::HEADS,
            bottleneck_legend: bottlenecks::LEGEND,
            bottlenecks: bottleneck_rows(&repeats.analysis),
            has_cost_chart: folded.iter().any(|section| section.id == charts::cost::CHART.id),
            main,
            open,
            folded,
            conditions: conditions(analysis, &all_points),
            measured,
            cost_heads: cost_columns(&repeats.analysis).iter().map(|c| c.0).collect(),
            kernel_title: kernels::TITLE,
            kernels: kernel_view(analysis),
            load_heads: loads::HEADS,
            loads: loads::loads(analysis).iter().map(load_cells).collect(),
            // The chart of the same name is in the contents, too.
            thread_title: "Times of threads",
            thread_legend: thread_table::LEGEND,
            thread_heads: thread_table::HEADS,
            threads: thread_table(&repeats.analysis),
            stacks: stack_table(analysis),
            running_title: running_costs::TITLE,
            running_legend: running_costs::LEGEND,
            running: running_cost_table(&repeats.analysis),
            insert_title: inserts::TITLE,
            insert_legend: inserts::PAGE_LEGEND,
            insert_accounts: inserts::accounts(&inserts),
            accounts: written_sentences(&all_points),
            inserts: insert_tables(&inserts),
            projections: inserts::projections(analysis),
            warnings: inserts::warnings(analysis),
            environment: facts(known_facts(&meta.environment).filter(|fact| !repeat::is_of_guide(fact))),
            repeat_title: repeat::TITLE,
            repeat: RepeatGuide::from_analysis(analysis),
            trials: meta.plan.trials.len(),
            has_open_loop: analysis.points.iter().filter_map(|p| p.summary.as_ref()).any(|s| s.offered_per_s.is_some()),
            rate_head: point_cells::rate_head(analysis),
            second_head: point_cells::second_rate(analysis).map(|second| second.head),
        }
    }
}

fn load_cells(row: &LoadRow) -> Vec<String> {
    std::iter::once(point_label(row.point)).chain(row.cells.iter().cloned()).collect()
}

/// A column of costs, and the greatest of them.
type GreatestCost = (CostColumn, f64);

fn rows<'a>(analysis: &'a Analysis, repeats: &RepeatRows) -> Vec<PointRow<'a>> {
    let greatest = |value: fn(&analysis::OpCost) -> Option<f64>| {
        let all = analysis.points.iter().filter_map(|p| value(&p.summary.as_ref()?.cost));
        all.filter(|v| v.is_finite()).fold(0.0, f64::max)
    };
    let columns: Vec<GreatestCost> =
        cost_columns(analysis).into_iter().map(|column| (column, greatest(column.2))).collect();
    let second = point_cells::second_rate(analysis);
    analysis.points.iter().map(|point| row(point, repeats, &columns, second)).collect()
}

fn row<'a>(
    point: &'a PointAnalysis,
    repeats: &RepeatRows,
    columns: &[GreatestCost],
    second: Option<SecondRate>,
) -> PointRow<'a> {
    let summary = point.summary.as_ref();
    PointRow {
        id: point.id,
        label: point_label(point),
        repeats: point_cells::repeats_cell(repeats, point),
        remark: point_cells::remark(point),
        validity: point.validity.as_str(),
        error: point.error.as_deref(),
        numbers: numbers(point),
        second_rate: second.map_or_else(String::new, |second| (second.cell)(point)),
        background: summary.map_or(Vec::new(), lines_of_others),
        instances: point.instances.as_ref().map(instances_line),
        work_done: work_done_line(point),
        late: summary
            .map_or_else(format::dash, |s| format!("{} / {}", format::count(s.late), format::count(s.unserved))),
        finding_count: point.findings.len(),
        costs: costs(summary, columns),
    }
}

/// First what all points have alike, then what each point has of its own, if it has something.
fn point_conditions(analysis: &Analysis) -> Vec<PointConditions> {
    let whole = |point: &PointAnalysis| PointConditions {
        label: point_label(point),
        settings: settings(point),
        facts: facts(point.facts.iter().filter(|fact| point.settings.get(&fact.name).is_none())),
    };
    let mut all: Vec<PointConditions> = analysis.points.iter().map(whole).collect();
    let Some((first, others)) = all.split_first().filter(|(_, others)| !others.is_empty()) else { return all };
    let mut common = PointConditions {
        label: format!("All {} points", others.len() + 1),
        settings: first.settings.clone(),
        facts: first.facts.clone(),
    };
    common.settings.retain(|row| others.iter().all(|other| other.settings.contains(row)));
    common.facts.retain(|row| others.iter().all(|other| other.facts.contains(row)));
    for point in &mut all {
        point.settings.retain(|row| !common.settings.contains(row));
        point.facts.retain(|row| !common.facts.contains(row));
    }
    let has_something = |one: &PointConditions| !one.settings.is_empty() || !one.facts.is_empty();
    std::iter::once(common).chain(all).filter(has_something).collect()
}

/// What was asked for, and what the engine reported under the same name.
fn settings(point: &PointAnalysis) -> Vec<SettingRow> {
    let got = |name: &str| point.facts.iter().find(|fact| fact.name == name).map(fact_value);
    let listed = list_settings(point).into_iter();
    listed.map(|(name, one)| SettingRow { got: got(&name), asked: one.text, name }).collect()
}

fn facts<'a>(all: impl IntoIterator<Item = &'a model::Fact>) -> Vec<FactRow> {
    let meaning = |name: &str| match fact_meaning(name) {
        Some(meaning) => format!("{name}: {meaning}"),
        None => name.to_owned(),
    };
    let row = |fact: &model::Fact| FactRow {
        name: fact_name(fact).to_owned(),
        value: fact_value(fact),
        meaning: meaning(&fact.name),
    };
    all.into_iter().map(row).collect()
}

fn numbers(point: &PointAnalysis) -> Vec<String> {
    let times: [fn(Quantiles) -> u64; 4] = [|q| q.p50, |q| q.p95, |q| q.p99, |q| q.max];
    let worst_at = point.summary.as_ref().filter(|_| point.duration_s().is_none()).and_then(|summary| summary.worst);
    let at = worst_at.map_or(String::new(), |worst| format!(" at {}", format::seconds(worst.at_s)));
    let failed = point.summary.as_ref().map_or_else(format::dash, |summary| format::count(summary.failed));
    let mut numbers = vec![point_cells::rate_or_duration(point), point_cells::half_width(point)];
    numbers.extend(times.map(|time| point_cells::response_time(point, time)));
    numbers.extend([point_cells::worst(point) + &at, failed]);
    numbers
}

fn costs(summary: Option<&Summary>, columns: &[GreatestCost]) -> Vec<CostCell> {
    let cell = |((_, written, value), greatest): &GreatestCost| {
        let cost = summary.and_then(|s| value(&s.cost)).filter(|c| c.is_finite());
        let percent = cost.filter(|_| *greatest > 0.0).map_or(0.0, |c| (100.0 * c / greatest).clamp(0.0, 100.0));
        CostCell { text: cost.map_or_else(format::dash, written), bar: bar_class(percent) }
    };
    columns.iter().map(cell).collect()
}

/// A table for each part of the columns, as far as they have values.
fn insert_tables(lines: &[inserts::Line]) -> Vec<InsertTable> {
    let columns = inserts::filled_columns(lines);
    let table = |(part, title): (CostPart, &'static str)| {
        let own: Vec<&inserts::Column> = columns.iter().copied().filter(|column| column.part == part).collect();
        InsertTable {
            title,
            heads: own.iter().map(|column| column.long_head).collect(),
            rows: lines.iter().map(|line| insert_row(line, &own)).collect(),
        }
    };
    let tables = CostPart::ALL.into_iter().map(table);
    tables.filter(|table| !table.heads.is_empty() && !table.rows.is_empty()).collect()
}

fn insert_row(line: &inserts::Line, columns: &[&inserts::Column]) -> InsertRow {
    InsertRow { label: point_label(line.point), cells: columns.iter().map(|column| (column.cell)(line)).collect() }
}

fn block(group: &FindingGroup) -> Block {
    let common = group.next_step();
    let item = |member: &Member| MemberItem {
        place: member.place.clone(),
        title: member.title(),
        evidence: member.evidence(),
        next_step: if common.is_none() { member.next_step() } else { "".into() },
    };
    Block {
        is_note: group.severity == Severity::Note,
        severity: super::terminal::severity_word(group.severity),
        code: group.code().as_str(),
        heading: group.heading(),
        members: group.members.iter().map(item).collect(),
        next_step: common.unwrap_or_default(),
    }
}

/// What each group of background clients did, and how long the steps of a turn took.
fn lines_of_others(summary: &Summary) -> Vec<String> {
    summary.background.iter().map(background_line).chain(steps_line(&summary.kinds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, damaged, hostile, inserts, open_loop, quick};

    #[test]
    fn the_quick_report_has_eight_charts_and_refers_to_nothing_outside() {
        let text = html(&quick()).unwrap();
        assert!(text.matches("<svg").count() >= 8);
        let rest = text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
        assert!(!rest.contains("http"), "something refers to the network");
        assert!(!text.contains(" src=") && !text.contains("@import") && !text.contains("url(h"));
    }

    #[test]
    fn what_an_insert_costs_has_a_table_with_all_columns_and_a_red_mark_where_durability_differs() {
        let mut analysis = inserts();
        analysis.points[1].traits.engine.durability = Some("disk".to_owned());
        let text = html(&analysis).unwrap();
        let filled = super::inserts::filled_columns(&super::inserts::lines(&analysis));
        let table = text.split("id=\"insert-costs\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
        let tables = table.matches("<table").count();
        assert_eq!(table.matches("<th").count() - table.matches("<thead").count(), tables + filled.len());
        assert_eq!((tables, table.matches("<tr><td>").count()), (3, 3 * 3), "no table is wider than a screen");
        assert!(table.contains("<li><b>InnoDB l.i1</b>: no estimate for 100M rows"), "{table}");
        assert!(table.contains("<td class=\"n\">&gt;10.1</td>"), "{table}");
        let mark = "<p class=\"error\">insert: MIXED DURABILITY (disk, os): not to be compared with each other</p>";
        assert_eq!(text.matches(mark).count(), 2);
        assert!(!html(&quick()).unwrap().contains("id=\"inserts\""));
    }

    #[test]
    fn each_kind_of_operation_has_a_row_and_its_name_is_escaped() {
        let mut analysis = crate::testing::with_statements();
        analysis.points[0].statements[1].kind = HOSTILE[0].to_owned();
        let text = html(&analysis).unwrap();
        let table =
            text.split("<section id=\"statements\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
        assert_eq!(table.matches("<tr><td>").count(), 2);
        assert!(table.contains("<td>lookup</td><td class=\"n\">750</td>") && !table.contains(HOSTILE[0]), "{table}");
        assert!(!html(&quick()).unwrap().contains("id=\"statements\""));
    }

    #[test]
    fn every_link_of_the_index_leads_to_a_picture_and_a_report_of_few_sheets_has_none() {
        let text = html(&quick()).unwrap();
        let links: Vec<&str> = text.split("href=\"#").skip(1).filter_map(|s| s.split('"').next()).collect();
        let pictures = links.iter().filter(|link| link.starts_with("figure-"));
        assert_eq!(pictures.clone().count(), 4 * 4); // four sheets, four charts of sheets
        assert!(links.iter().all(|link| text.contains(&format!("id=\"{link}\""))));
        let few = html(&open_loop()).unwrap();
        assert!(!few.contains("id=\"index\""));
    }

    #[test]
    fn the_answer_comes_first_then_what_limits_it_then_time_findings_and_all_else_folded() {
        let text = html(&crate::charts::ceilings_fixture()).unwrap();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
        let order = [
            "<h1>",
            "class=\"trust\"",
            "<table class=\"cmp\">",
            "id=\"main-throughput\"",
            "<section id=\"ceilings\">",
            "<section id=\"timeline\">",
            "<section id=\"findings\">",
            "<section class=\"fold\">",
            "<div id=\"points\">",
            "<div id=\"conditions\">",
        ];
        assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{:?}", order.map(at));
        assert!(text.contains("10 valid") && text.contains("1 invalid"));
        let folded = &text[at("<section class=\"fold\">")..];
        assert_eq!(
            folded.matches("<section").count(),
            folded.matches("<section class=\"fold\"><details><summary>").count()
        );
    }

    #[test]
    fn a_survey_opens_with_the_answer_and_its_picture() {
        let text = html(&crate::testing::surveyed()).unwrap();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
        let order = ["<h1>At random the disk reads ", "sqlite inserts ", "id=\"main-survey\"", "<table class=\"cmp\">"];
        assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{:?}", order.map(at));
        let noisy = html(&crate::testing::spoilt(&[0.3])).unwrap();
        assert!(noisy.contains("<h1>The hypervisor took 30 % of the CPU: these numbers are a lower bound;"));
    }

    /// What is seen without opening anything: the text without the contents of details.
    fn seen(text: &str) -> String {
        let (mut out, mut depth, mut rest) = (String::new(), 0, text);
        while let Some(at) = rest.find("<details").into_iter().chain(rest.find("</details>")).min() {
            if depth == 0 {
                out += &rest[..at];
            }
            let is_end = rest[at..].starts_with("</");
            depth = if is_end { depth - 1 } else { depth + 1 };
            rest = &rest[at + "<details".len()..];
        }
        out + rest
    }

    #[test]
    fn whatever_the_run_few_screens_are_seen_before_the_details() {
        let many = crate::testing::with_points(60);
        for (what, analysis) in [("quick", quick()), ("inserts", inserts()), ("open loop", open_loop()), ("many", many)]
        {
            let text = html(&analysis).unwrap();
            let seen = seen(&text);
            // A pair of pictures is half a screen high, a strip or a row a fortieth.
            let figures = seen.matches("<figure").count();
            let rows = seen.matches("<tr>").count();
            assert!(figures <= 6 && rows <= 45, "{what}: {figures} pictures, {rows} rows");
            assert!(seen.len() < text.len());
        }
    }

    #[test]
    fn an_engine_has_one_colour_in_all_pictures_and_tables() {
        let text = html(&quick()).unwrap();
        let names = |engine: &str| -> std::collections::BTreeSet<String> {
            let labels = text.split("<text ").skip(1).filter(|label| label.contains(&format!(">{engine} indexes")));
            let classes = labels.filter_map(|label| label.split("class=\"f-").nth(1)?.split(['"', ' ']).next());
            classes.filter(|class| !matches!(*class, "text" | "faint")).map(str::to_owned).collect()
        };
        for engine in ["sqlite", "fjall"] {
            let odd: Vec<&str> = text
                .split("<text ")
                .skip(1)
                .filter(|l| l.contains(&format!(">{engine} indexes")) && l.contains("f-blue"))
                .collect();
            assert!(names(engine).len() <= 1, "{engine}: {:?} {odd:?}", names(engine));
        }
        let swatch = |name: &str| {
            let row =
                text.split("<tr><th>").find(|row| row.split("</th>").next().is_some_and(|head| head.ends_with(name)));
            row.and_then(|row| row.split("class=\"f-").nth(1)?.split(['"', ' ']).next()).map(str::to_owned)
        };
        assert_eq!(swatch("sqlite indexes 0"), swatch("sqlite indexes 3"));
        assert_ne!(swatch("sqlite indexes 0"), swatch("fjall indexes 0"));
    }

    #[test]
    fn the_same_run_gives_the_same_bytes() {
        assert_eq!(html(&quick()).unwrap(), html(&quick()).unwrap());
    }

    #[test]
    fn every_link_of_the_contents_leads_somewhere() {
        for analysis in [quick(), inserts(), open_loop(), crate::testing::compressed(), crate::testing::limits()] {
            let text = html(&analysis).unwrap();
            let links: Vec<&str> = text.split("href=\"#").skip(1).filter_map(|s| s.split('"').next()).collect();
            assert!(links.len() > 10);
            let lost: Vec<&&str> = links.iter().filter(|link| !text.contains(&format!(" id=\"{link}\""))).collect();
            assert!(lost.is_empty(), "{lost:?}");
        }
    }

    #[test]
    fn every_picture_is_well_formed_alone_and_its_ids_are_unique_in_the_report() {
        for (_, figures) in all_figures(&quick()).into_iter().chain(all_figures(&hostile())) {
            for figure in figures {
                for svg in [Some(plot::render_svg(&figure)), plot::render_narrow_svg(&figure)].into_iter().flatten() {
                    roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{}: {e}", figure.id));
                }
            }
        }
        let all = html(&quick()).unwrap();
        let ids: Vec<&str> = all.split(" id=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
        let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len());
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        let text = html(&hostile()).unwrap();
        assert_eq!(text.matches("<script").count(), 2, "the data and the script");
        for payload in HOSTILE.iter().filter(|t| t.contains('<')) {
            assert!(!text.contains(payload), "{payload}");
        }
        assert!(!text.contains("<img") && !text.contains('\u{202e}'));
        assert!(text.contains("{{ 7 * 7 }}"), "a template in a text is shown, not run");
        assert!(!text.contains("href=\"javascript"));
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_still_escaped() {
        let html = |text: &str| coded(text.to_owned()).to_string();
        assert_eq!(html("use `--time` or `-t`"), "use <code>--time</code> or <code>-t</code>");
        assert_eq!(html("a lone ` and `<b>`"), "a lone <code> and </code>&lt;b&gt;`");
        assert_eq!((html(""), html("plain"), html("`x`")), ("".into(), "plain".into(), "<code>x</code>".into()));
    }

    #[test]
    fn a_report_is_made_whatever_is_missing() {
        for (what, analysis) in damaged() {
            let text = html(&analysis).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(text.ends_with("</html>"), "{what}");
            let body = text.split("<script").next().unwrap_or_default();
            assert!(!body.contains("NaN") && !body.contains(">inf"), "{what}");
        }
    }

    #[test]
    fn queries_have_a_column_where_they_are_not_the_operations_and_who_works_beside_a_line() {
        let mut analysis = quick();
        assert!(!html(&analysis).unwrap().contains("queries&#x2f;s</th>"));
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![crate::testing::background_500()]);
        let text = html(&analysis).unwrap();
        assert!(text.contains("queries&#x2f;s</th>") && text.contains("<td class=\"n\">118,640</td>"));
        assert!(text.contains("background insert: 498 of 500&#x2f;s (99.6 %)"));
    }

    #[test]
    fn late_and_unserved_arrivals_are_shown_for_an_open_loop_only() {
        assert!(html(&open_loop()).unwrap().contains("812 &#x2f; 3"));
        assert!(!html(&quick()).unwrap().contains("unserved</th>"));
    }

    #[test]
    fn nothing_in_the_page_needs_more_than_the_policy_admits() {
        let text = html(&quick()).unwrap();
        assert!(
            text.contains("script-src 'sha256-") && text.contains("style-src 'sha256-") && !text.contains("unsafe")
        );
        let markup = text.split("<script").next().unwrap();
        for attribute in [" style=", " onclick=", " onload=", " onerror="] {
            assert!(!markup.contains(attribute), "the policy does not admit `{attribute}`");
        }
        assert_eq!(text.matches("<style").count(), 1);
    }
}
