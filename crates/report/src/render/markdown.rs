//! The report as Markdown, to be pasted into a ticket: verdict, points, findings, costs, conditions.
//!
//! In: an analysis. Out: text. Limits: no pictures; the names of their files are at the end.

use crate::bottlenecks::{self, BottleneckRow, bottleneck_rows};
use crate::charts::cost_columns;
use crate::compression::{self, CompressionView, compression_views};
use crate::cross_table::{CrossTable, cross_tables};
use crate::endpoints::{self, PointEndpoints, endpoint_tables};
use crate::escape;
use crate::escape::markdown as safe;
use crate::findings::{FindingGroup, Member, grouped};
use crate::format;
use crate::hosts::{self, PointHosts, host_tables};
use crate::inserts;
use crate::kernels::{self, kernel_view};
use crate::loads::{self, LoadRow};
use crate::point_cells;
use crate::relative::{self, RatioText, RelativeView, relative_views};
use crate::repeat::{self, RepeatGuide};
use crate::running_costs::{self, running_cost_table};
use crate::searches::{self, SearchTable, search_tables};
use crate::stack_table::{StackTableRow, stack_table};
use crate::statements::{self, PointStatements, statement_tables};
use crate::thread_table::{self, ThreadRow, thread_table};
use crate::variants::variant_tables;
use crate::wording::background::background_line;
use crate::wording::connections::steps_line;
use crate::wording::fact::{fact_name, fact_value, known_facts};
use crate::wording::instances::instances_line;
use crate::wording::label::{list_settings, point_label};
use crate::wording::verdict::sentences;
use crate::wording::work_done::work_done_line;
use analysis::{Analysis, PointAnalysis, Quantiles, RepeatRows, Summary};
use std::collections::BTreeMap;

/// The whole document.
pub fn markdown(analysis: &Analysis) -> String {
    let rows = RepeatRows::from_analysis(analysis);
    let mut out = format!("# plimsoll: {}\n\n", safe(&analysis.meta.plan.title));
    let line = |l: &String| format!("- {}\n", safe(l));
    out.extend(sentences(analysis).iter().map(line));
    out.push_str(&searches(analysis));
    out.push_str(&compressed_files(analysis));
    out.push_str("\n## Points\n\n");
    out.push_str(&warnings(analysis));
    out.push_str(&points(&rows));
    out.push_str(&kinds_of_operation(&rows.analysis));
    out.push_str(&endpoints_of_points(&rows.analysis));
    out.push_str(&hosts_of_points(&rows.analysis));
    out.push_str(&variants(analysis));
    out.push_str(&relative_tables(analysis));
    out.extend(cross_tables(analysis).iter().map(cross_table));
    out.push_str(&kernels(analysis));
    out.push_str(&loads(analysis));
    out.push_str(&bottlenecks(&rows.analysis));
    out.push_str("\n## Findings\n\n");
    out.push_str(&findings(analysis));
    out.push_str("\n## Cost per operation\n\n");
    out.push_str(&costs(&rows.analysis));
    out.push_str(&thread_times(&rows.analysis));
    out.push_str(&stalled_functions(analysis));
    out.push_str(&running_costs(&rows.analysis));
    out.push_str(&insert_costs(&rows.analysis));
    out.push_str("\n## Conditions\n\n");
    out.push_str(&conditions(analysis));
    out.push_str(&RepeatGuide::from_analysis(analysis).markdown());
    out
}

/// The probes of each search; nothing if the run has none.
fn searches(analysis: &Analysis) -> String {
    let tables = search_tables(analysis);
    if tables.is_empty() {
        return String::new();
    }
    let table = |table: &SearchTable| {
        let rows: String = table.rows.iter().map(|probe| row(&probe.cells.each_ref().map(|cell| safe(cell)))).collect();
        format!("\n### {}\n\n{}{rows}", safe(&table.title), table_head(&table.heads))
    };
    format!("\n## {}\n{}", searches::TITLE, tables.iter().map(table).collect::<String>())
}

/// What became of each file that was compressed; nothing if the run compressed none.
fn compressed_files(analysis: &Analysis) -> String {
    let views = compression_views(analysis);
    if views.is_empty() {
        return String::new();
    }
    let table = |view: &CompressionView| {
        let rows: String =
            view.rows.iter().map(|cells| row(&cells.iter().map(|cell| safe(cell)).collect::<Vec<_>>())).collect();
        format!("\n### {}\n\n{}{rows}", safe(&view.title), table_head(&view.heads))
    };
    let tables: String = views.iter().map(table).collect();
    format!("\n## {}\n{tables}\n{}\n", compression::TITLE, safe(compression::LEGEND))
}

const TIMES: [fn(Quantiles) -> u64; 4] = [|q| q.p50, |q| q.p95, |q| q.p99, |q| q.max];

/// The points, their repeats in one row.
fn points(all: &RepeatRows) -> String {
    let analysis = &all.analysis;
    let second = point_cells::second_rate(analysis);
    let times_on = ["95 % CI", "p50", "p95", "p99", "max", "worst second", "validity"];
    let queries = second.map(|second| second.head).into_iter().collect();
    let n = if all.has_repeats() { vec!["n"] } else { Vec::new() };
    let mut out =
        table_head(&[vec!["point"], n, vec![point_cells::rate_head(analysis)], queries, times_on.to_vec()].concat());
    for p in &analysis.points {
        let mut cells = vec![safe(&point_label(p))];
        cells.extend(point_cells::repeats_cell(all, p));
        cells.push(point_cells::rate_or_duration(p));
        cells.extend(second.map(|second| (second.cell)(p)));
        cells.push(point_cells::half_width(p));
        cells.extend(TIMES.map(|time| point_cells::response_time(p, time)));
        cells.extend([point_cells::worst(p), point_cells::validity(p)]);
        out.push_str(&row(&cells));
    }
    out + &lines_below(analysis)
}

/// What the background clients and each of several instances did, how long the steps of a turn took, and what keeps points from being
/// compared.
fn lines_below(analysis: &Analysis) -> String {
    let lines_of = |p: &PointAnalysis| {
        let summary = p.summary.as_ref();
        let background = summary.into_iter().flat_map(|summary| &summary.background).map(background_line);
        let steps = summary.and_then(|summary| steps_line(&summary.kinds));
        let instances = p.instances.as_ref().map(instances_line);
        let texts = background.chain(steps).chain(instances).chain(work_done_line(p));
        texts.map(|text| format!("- {}: {}\n", safe(&point_label(p)), safe(&text))).collect::<String>()
    };
    let lines: String = analysis.points.iter().map(lines_of).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// Each kind of operation; nothing if no point performed several.
fn kinds_of_operation(analysis: &Analysis) -> String {
    let tables = statement_tables(analysis);
    if tables.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = ["point", "kind"].into_iter().chain(statements::HEADS).collect();
    let of_point = |table: &PointStatements| {
        let cells = table.rows.iter().map(|line| [&[safe(&table.label), safe(&line.kind)], &line.cells[..]].concat());
        cells.map(|cells| row(&cells)).collect::<String>()
    };
    let rows: String = tables.iter().map(of_point).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", statements::TITLE, table_head(&heads), statements::LEGEND)
}

/// Each endpoint; nothing if no point had several.
fn endpoints_of_points(analysis: &Analysis) -> String {
    let tables = endpoint_tables(analysis);
    if tables.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = ["point", "endpoint"].into_iter().chain(endpoints::HEADS).collect();
    let of_point = |table: &PointEndpoints| {
        let cells =
            table.rows.iter().map(|line| [&[safe(&table.label), safe(&line.endpoint)], &line.cells[..]].concat());
        cells.map(|cells| row(&cells)).collect::<String>()
    };
    let rows: String = tables.iter().map(of_point).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", endpoints::TITLE, table_head(&heads), endpoints::LEGEND)
}

/// The hosts next to each other; nothing if no point had several.
fn hosts_of_points(analysis: &Analysis) -> String {
    let tables = host_tables(analysis);
    if tables.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = ["point", "host"].into_iter().chain(hosts::HEADS).collect();
    let of_point = |table: &PointHosts| {
        let cells = table.rows.iter().map(|line| {
            [&[safe(&table.label), safe(&line.host)], &line.cells.each_ref().map(|cell| safe(cell))[..]].concat()
        });
        cells.map(|cells| row(&cells)).collect::<String>()
    };
    let rows: String = tables.iter().map(of_point).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", hosts::TITLE, table_head(&heads), hosts::LEGEND)
}

/// What the CPU is worth; nothing if no kernels were measured.
fn kernels(analysis: &Analysis) -> String {
    let Some(view) = kernel_view(analysis) else { return String::new() };
    let heads: Vec<&str> = view.heads.iter().map(String::as_str).collect();
    let rows: String =
        view.rows.iter().map(|cells| row(&cells.iter().map(|cell| safe(cell)).collect::<Vec<_>>())).collect();
    let notes: String = view.notes.iter().map(|text| format!("\n{text}\n")).collect();
    format!("\n## {}\n\n{}{rows}{notes}", kernels::TITLE, table_head(&heads))
}

/// What making the data sets cost; nothing if no rows were loaded.
fn loads(analysis: &Analysis) -> String {
    let all = loads::loads(analysis);
    if all.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = ["point that loaded the data"].into_iter().chain(loads::HEADS).collect();
    let cells = |row: &LoadRow| [&[safe(&point_label(row.point))], &row.cells[..]].concat();
    let rows: String = all.iter().map(|load| row(&cells(load))).collect();
    format!("\n## Loads\n\n{}{rows}", table_head(&heads))
}

/// The variants of each place with their amounts and plans; nothing if the run has none.
fn variants(analysis: &Analysis) -> String {
    let tables = variant_tables(analysis);
    let mut out = String::new();
    for table in &tables {
        let cells = |all: &[String]| row(&all.iter().map(|cell| safe(cell)).collect::<Vec<_>>());
        out += &format!("\n### {}\n\n{}", safe(&table.title), table_head(&table.heads));
        out.extend(table.rows.iter().map(|line| cells(line)));
        if !table.efforts.is_empty() {
            let heads: Vec<&str> = table.effort_heads.iter().map(String::as_str).collect();
            out += &format!("\n{}", table_head(&heads));
            out.extend(table.efforts.iter().map(|line| cells(line)));
        }
        for plan in &table.plans {
            // Four blanks make a block of code, in which nothing has a meaning.
            let lines: String = plan.plan.lines().map(|line| format!("    {line}\n")).collect();
            out += &format!("\nPlan of {}:\n\n{lines}", safe(&plan.name));
        }
    }
    if tables.is_empty() { out } else { format!("{out}\n{}\n", coded(crate::variants::LEGEND)) }
}

/// All relative tables, and what their cells mean.
fn relative_tables(analysis: &Analysis) -> String {
    let tables: String = relative_views(analysis).iter().map(relative_table).collect();
    if tables.is_empty() { tables } else { format!("{tables}\n{}\n", coded(relative::LEGEND)) }
}

/// Each metric of each arm relative to the first.
fn relative_table(view: &RelativeView) -> String {
    let arms: Vec<String> = [&view.base].into_iter().chain(&view.arms).map(|arm| safe(arm)).collect();
    let heads: Vec<&str> = ["place", "metric"].into_iter().chain(arms.iter().map(String::as_str)).collect();
    let mut out = format!("\n### {}\n\n{}", safe(&view.title), table_head(&heads));
    let cell = |cell: &RatioText| match cell.verdict {
        "" => cell.ratio.clone(),
        verdict => format!("{}, n {}, {verdict}", cell.ratio, cell.n),
    };
    for line in &view.rows {
        if let Some(group) = &line.group {
            let name = format!("**{}**", safe(group));
            out.push_str(&row(&std::iter::once(name)
                .chain(heads[1..].iter().map(|_| String::new()))
                .collect::<Vec<_>>()));
        }
        let fixed = [safe(&line.place), line.metric.to_owned(), line.base.clone()];
        out.push_str(&row(&fixed.into_iter().chain(line.cells.iter().map(cell)).collect::<Vec<_>>()));
    }
    out
}

fn cross_table(pivot: &CrossTable) -> String {
    let columns: Vec<String> = pivot.columns.iter().map(|column| safe(column)).collect();
    let heads: Vec<&str> = std::iter::once("").chain(columns.iter().map(String::as_str)).collect();
    let mut out = format!("\n### {}\n\n{}", safe(&pivot.title), table_head(&heads));
    for (name, numbers) in &pivot.lines {
        let cells: Vec<String> = std::iter::once(safe(name)).chain(numbers.iter().cloned()).collect();
        out.push_str(&row(&cells));
    }
    out
}

fn findings(analysis: &Analysis) -> String {
    let errors = analysis
        .points
        .iter()
        .filter_map(|p| p.error.as_ref().map(|e| format!("- {}: {}\n", safe(&point_label(p)), safe(e))));
    let points = analysis.points.len();
    let all: String = errors.chain(grouped(analysis).iter().map(|group| finding(group, points))).collect();
    if all.is_empty() { "None.\n".to_owned() } else { all }
}

/// What was found in one line, and under it each place with its evidence; what to do is written once if it is the same for all.
fn finding(group: &FindingGroup, points: usize) -> String {
    let (severity, code) = (super::terminal::severity_word(group.severity), safe(group.code().as_str()));
    let (heading, common) = (group.heading(), group.next_step());
    let next = common.as_ref().map_or(String::new(), |step| format!(". Next: {step}"));
    let places = if group.is_mixed() { String::new() } else { format!("{}: ", safe(&group.places(points))) };
    let head = format!("- **{severity}** {places}{} ({code})", coded(&heading));
    if let [only] = group.members.as_slice() {
        return format!("{head}: {}{next}\n", coded(&only.evidence()));
    }
    let head = format!("{head}{next}\n");
    let members = group.members.iter().map(|member| item(member, &heading, common.is_some()));
    head + &members.collect::<String>()
}

fn item(member: &Member, heading: &str, has_common_step: bool) -> String {
    let (title, evidence) = (member.title(), coded(&member.evidence()));
    let title = if title == heading { String::new() } else { format!("{}: ", coded(&title)) };
    let next = match member.next_step() {
        step if step.is_empty() || has_common_step => String::new(),
        // These are plimsoll's own words: their backticks mark code.
        step => format!(". Next: {step}"),
    };
    format!("  - {}: {title}{evidence}{next}\n", safe(&member.place))
}

/// `text` as a block of code, in which nothing has a meaning. What a careless reader could take for markup is escaped like other text.
pub(crate) fn code_block(text: &str) -> String {
    let text = escape::terminal(text);
    if text.contains(['<', '[', ']', '`']) { format!("{}\n", safe(&text)) } else { format!("    {text}\n") }
}

/// `text` made harmless. What is between backticks stays code if it has nothing but plain characters.
pub(crate) fn coded(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-+=.,:/%".contains(c);
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    let code = parts.iter().skip(1).step_by(2);
    if !is_paired || code.clone().any(|part| part.is_empty() || !part.chars().all(is_plain)) {
        return safe(text);
    }
    let part = |(nth, part): (usize, &&str)| if nth % 2 == 0 { safe(part) } else { format!("`{part}`") };
    parts.iter().enumerate().map(part).collect()
}

fn costs(analysis: &Analysis) -> String {
    let columns = cost_columns(analysis);
    let heads: Vec<&str> = ["point"].into_iter().chain(columns.iter().map(|c| c.0)).collect();
    let mut out = table_head(&heads);
    for p in &analysis.points {
        let cost = p.summary.as_ref().map(|s| s.cost).unwrap_or_default();
        let cells = columns.iter().map(|(_, written, value)| value(&cost).map_or_else(format::dash, written));
        out.push_str(&row(&[safe(&point_label(p))].into_iter().chain(cells).collect::<Vec<_>>()));
    }
    out
}

/// What limits each point; nothing if none was judged.
fn bottlenecks(analysis: &Analysis) -> String {
    let all = bottleneck_rows(analysis);
    if all.is_empty() {
        return String::new();
    }
    let cells = |one: &BottleneckRow| {
        row(&[safe(&one.label), safe(&one.names), safe(one.confidence), coded(&one.evidence), safe(&one.ruled_out)])
    };
    let rows: String = all.iter().map(cells).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", bottlenecks::TITLE, table_head(&bottlenecks::HEADS), bottlenecks::LEGEND)
}

/// In bold, for Markdown has no red.
fn warnings(analysis: &Analysis) -> String {
    inserts::warnings(analysis).iter().map(|warning| format!("**{}**\n\n", safe(warning))).collect()
}

/// What threads did; nothing if no thread was looked at.
fn thread_times(analysis: &Analysis) -> String {
    let Some(table) = thread_table(analysis) else { return String::new() };
    let heads: Vec<&str> = ["point", "whose"].into_iter().chain(thread_table::HEADS).collect();
    let cells = |line: &ThreadRow| [&[safe(&line.label), line.whose.to_owned()], &line.cells[..]].concat();
    let rows: String = table.rows.iter().map(|line| row(&cells(line))).collect();
    let notes: String = table.notes.iter().map(|note| format!(" {}", safe(note))).collect();
    format!("\n## {}\n\n{}{rows}\n{}{notes}\n", thread_table::TITLE, table_head(&heads), thread_table::LEGEND)
}

/// The functions in which stalls differ from random moments; nothing if no stacks were taken.
fn stalled_functions(analysis: &Analysis) -> String {
    let Some(table) = stack_table(analysis) else { return String::new() };
    let heads: Vec<&str> = ["point", "function"].into_iter().chain(table.heads).collect();
    let cells = |line: &StackTableRow| [&[safe(&line.label), safe(&line.frame)], &line.cells[..]].concat();
    let rows: String = table.rows.iter().map(|line| row(&cells(line))).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", table.title, table_head(&heads), table.legend)
}

fn running_costs(analysis: &Analysis) -> String {
    let Some(table) = running_cost_table(analysis) else { return String::new() };
    let heads: Vec<&str> = ["point"].into_iter().chain(table.heads.iter().copied()).collect();
    let cells = |(label, cells): &(String, Vec<String>)| [&[safe(label)], &cells[..]].concat();
    let rows: String = table.rows.iter().map(|line| row(&cells(line))).collect();
    format!("\n## {}\n\n{}{rows}\n{}\n", running_costs::TITLE, table_head(&heads), running_costs::LEGEND)
}

fn insert_costs(analysis: &Analysis) -> String {
    let lines = inserts::lines(analysis);
    if lines.is_empty() {
        return String::new();
    }
    let columns = inserts::filled_columns(&lines);
    let heads: Vec<&str> = ["point"].into_iter().chain(columns.iter().map(|column| column.head)).collect();
    let mut out = format!("\n## {}\n\n{}{}", inserts::TITLE, warnings(analysis), table_head(&heads));
    for line in &lines {
        let cells = columns.iter().map(|column| safe(&(column.cell)(line)));
        out.push_str(&row(&[safe(&point_label(line.point))].into_iter().chain(cells).collect::<Vec<_>>()));
    }
    let projections = inserts::projections(analysis);
    let told = projections.iter().map(|(labels, text)| format!("\n- {}: {}", safe(labels), safe(text)));
    let accounts = inserts::accounts(&lines).iter().map(|text| format!(" {}", safe(text))).collect::<String>();
    out + &format!("\n{}{accounts}\n{}\n", coded(inserts::LEGEND), told.collect::<String>())
}

fn conditions(analysis: &Analysis) -> String {
    let meta = &analysis.meta;
    let mut out = format!("- run: {}\n- started: {}\n", safe(&meta.run_id), format::utc(meta.started_unix_ms));
    let fact = |f: &model::Fact| format!("- {}: {}\n", safe(fact_name(f)), safe(&fact_value(f)));
    out.extend(known_facts(&meta.environment).filter(|fact| !repeat::is_of_guide(fact)).map(fact));
    out.push_str(&parameters(analysis));
    out.push_str(&format!("\nRecorded by plimsoll {}. Charts: `charts/`.\n", safe(&meta.plimsoll_version)));
    out
}

/// The parameters: first those that all points have alike, then the others of each point.
fn parameters(analysis: &Analysis) -> String {
    let all: Vec<BTreeMap<String, String>> = analysis.points.iter().map(parameters_of).collect();
    let Some(first) = all.first() else { return String::new() };
    let is_common = |name: &String| all.iter().all(|own| own.get(name) == first.get(name));
    let common = first.iter().filter(|(name, _)| is_common(name));
    let mut out: String = common.map(|(name, value)| format!("- {}: {}\n", safe(name), safe(value))).collect();
    for (point, own) in analysis.points.iter().zip(&all) {
        let own = own.iter().filter(|(name, _)| !is_common(name)).map(|(name, value)| format!("{name} {value}"));
        let own = own.collect::<Vec<_>>().join(", ");
        if !own.is_empty() {
            out.push_str(&format!("- {}: {}\n", safe(&point_label(point)), safe(&own)));
        }
    }
    if out.is_empty() { out } else { format!("\n### Parameters\n\n{out}") }
}

fn parameters_of(point: &PointAnalysis) -> BTreeMap<String, String> {
    let used = list_settings(point).into_iter().filter(|(_, setting)| setting.used);
    let mut all: BTreeMap<String, String> = used.map(|(name, setting)| (name, setting.text)).collect();
    all.extend([("clients", point.clients), ("depth", point.depth)].map(|(name, n)| (name.to_owned(), n.to_string())));
    let taken = |summary: &Summary| format::nanos((summary.seconds * 1e9).round() as u64);
    all.extend(point.summary.as_ref().map(|summary| ("run".to_owned(), taken(summary))));
    all
}

fn table_head(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let rule: Vec<&str> = names.iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" }).collect();
    format!("{}|{}|\n", row(&names), rule.join("|"))
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{damaged, quick};

    #[test]
    fn the_verdict_stands_first_and_every_point_has_a_row() {
        let text = markdown(&quick());
        let verdict = text.find("- file (durability os): rndrd reaches 41.").unwrap();
        assert!(verdict < text.find("## Points").unwrap());
        let relative = text.lines().filter(|l| l.starts_with("### Relative")).collect::<Vec<_>>();
        assert_eq!(relative, ["### Relative to sqlite: insert", "### Relative to indexes 0: insert"]);
        // The points, the costs and what limits them, each with its head; engines by indexes have a table of two ways, and two relative ones.
        assert_eq!(text.lines().filter(|l| l.starts_with("| ")).count(), 3 * 14 + 3 + 2 * 5);
        assert!(text.contains("### Operations per second, insert\n\n|  | indexes 0 | indexes 3 |\n"), "{text}");
        assert!(text.contains("| sqlite insert indexes 3 | 3,"), "{text}");
        assert!(text.contains("**warning** sqlite insert indexes 3: drift: "), "{text}");
    }

    #[test]
    fn parameters_that_all_points_have_alike_are_listed_once() {
        let mut analysis = quick();
        analysis.points.truncate(2);
        let text = markdown(&analysis);
        let (_, parameters) = text.split_once("### Parameters\n\n").expect("there are some");
        let lines: Vec<&str> = parameters.lines().take(6).collect();
        let expected = [
            "- block: 16 KiB",
            "- clients: 1",
            "- mode: rndrd",
            "- run: 4.00 s",
            "- file rndrd depth 1: depth 1",
            "- file rndrd depth 8: depth 8",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn queries_and_what_was_done_beside_are_told_where_there_are_any() {
        let mut analysis = quick();
        let none = markdown(&analysis);
        assert!(!none.contains("queries/s") && !none.contains("beside"), "{none}");
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![crate::testing::background_500()]);
        let text = markdown(&analysis);
        assert!(
            text.contains("| point | ops/s | queries/s | 95 % CI |") && text.contains("| 5,932 | 118,640 | ±4.1 % |"),
            "{text}"
        );
        assert!(text.contains("- file rndrd depth 1: background insert: 498 of 500/s (99.6 %), "), "{text}");
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_whatever_the_texts() {
        for (what, analysis) in damaged() {
            let text = markdown(&analysis);
            let cells = |l: &str| l.replace("\\\\", "").replace("\\|", "").matches('|').count();
            let lines: Vec<&str> = text.lines().collect();
            let tables = lines.split(|line| !line.starts_with('|')).filter(|table| !table.is_empty());
            for table in tables {
                assert!(table.iter().all(|line| cells(line) == cells(table[0])), "{what}: {table:?}");
            }
            let bare = text.replace("\\\\", "").replace("\\]", "");
            assert!(!text.contains("<script") && !bare.contains("]("), "{what}");
        }
    }
}
