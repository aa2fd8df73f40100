//! The report of a run as a [`Page`]: the answer, the comparison, open tables and charts, findings, and all else folded. Markdown has the same
//! without charts.

use crate::charts::{PointCharts, figures};
use crate::findings::{FindingItem, grouped};
use crate::format;
use crate::render::chart_sections::{ChartLayout, ChartSection, Drawn, index_table, lay_out};
use crate::render::first_screen::{answer_blocks, comparison_section};
use crate::render::html::page_with;
use crate::render::interaction::Interaction;
use crate::render::markdown::page_markdown;
use crate::render::page::{Page, PageBlock, PageFact, PageSection};
use crate::repeat::{self, RepeatGuide};
use crate::sheet::{conditions, measured_on};
use crate::table::{Column, Row, Table, TableDef};
use crate::tables::TABLES;
use crate::wording::fact::{fact_meaning, fact_name, fact_value, known_facts};
use crate::wording::label::{list_settings, point_label};
use crate::wording::quantity::plural;
use crate::wording::verdict::not_in_answer;
use analysis::answer::answer_with;
use analysis::{Analysis, Answer, PointAnalysis, RepeatRows, Summary};
use model::Fact;
use std::collections::BTreeMap;

/// The report as one HTML file that needs nothing else.
pub fn html(analysis: &Analysis) -> String {
    html_with(analysis, &figures(analysis, PointCharts::Telling))
}

/// The same with the figures of `analysis`, which its charts made.
pub(crate) fn html_with(analysis: &Analysis, all: &[Drawn]) -> String {
    let rows = RepeatRows::from_analysis(analysis);
    let answer = answer_with(analysis, &rows.analysis);
    let layout = lay_out(all, answer.kind);
    let mut sections: Vec<PageSection> = comparison_section(analysis, &rows.analysis, &answer).into_iter().collect();
    sections.extend(details(analysis, &rows, &layout));
    sections.extend(
        index_table(analysis, all).map(|table| folded("index", "Index of charts", vec![PageBlock::Table(table)])),
    );
    sections.extend([conditions_section(analysis), repeat_section(analysis), reading()]);
    let subject = Some(measured_on(analysis)).filter(|subject| !subject.is_empty());
    let headline = answer.headline().to_owned();
    let page = Page {
        title: analysis.meta.plan.title.clone(),
        about: [format::utc(analysis.meta.started_unix_ms)].into_iter().chain(subject).collect(),
        // Without a claim the question is the headline.
        question: if headline == answer.question { String::new() } else { answer.question.clone() },
        headline,
        opening: opening(analysis, &answer, layout.main),
        sections,
        measured: layout.measured,
        recorded_by: Some(analysis.meta.plimsoll_version.clone()),
        ..Page::default()
    };
    page_with(&page, &Interaction::from_figures(all.iter().flat_map(|(_, figures)| figures)))
}

/// The report as Markdown, to be pasted into a ticket.
pub fn markdown(analysis: &Analysis) -> String {
    let rows = RepeatRows::from_analysis(analysis);
    let answer = answer_with(analysis, &rows.analysis);
    // The tables of all points have the numbers of the comparison.
    let mut sections: Vec<PageSection> = verdict_section(analysis, &answer).into_iter().collect();
    sections.extend(details(analysis, &rows, &lay_out(&[], answer.kind)));
    sections.extend([parameters_section(analysis), repeat_section(analysis)]);
    let claims = answer.claims.iter().map(|claim| claim.sentence.clone()).collect::<Vec<_>>().join(" ");
    let lead = Some(claims).filter(|claims| !claims.is_empty()).map(PageBlock::Lead);
    page_markdown(&Page {
        headline: format!("plimsoll: {}", analysis.meta.plan.title),
        opening: lead.into_iter().chain(answer_blocks(analysis, &answer, None)).collect(),
        question: answer.question,
        sections,
        ..Page::default()
    })
}

/// The claims behind the headline, what shows and supports them, and what the verdict has besides, folded.
fn opening(analysis: &Analysis, answer: &Answer, main: Option<ChartSection>) -> Vec<PageBlock> {
    let others: Vec<&str> = answer.claims.iter().skip(1).map(|claim| claim.sentence.as_str()).collect();
    let mut blocks: Vec<PageBlock> =
        (!others.is_empty()).then(|| PageBlock::Lead(others.join(" "))).into_iter().collect();
    blocks.extend(answer_blocks(analysis, answer, main));
    let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
    blocks.push(PageBlock::Contents);
    blocks.push(PageBlock::Small(format!("How it was measured: {}.", conditions(analysis, &points))));
    blocks.extend(verdict_section(analysis, answer).map(|section| PageBlock::Folded(section.title, section.blocks)));
    blocks
}

/// What the verdict has besides the answer; `None` for nothing.
fn verdict_section(analysis: &Analysis, answer: &Answer) -> Option<PageSection> {
    let more = not_in_answer(analysis, answer);
    let title = plural(more.len() as u64, "more conclusion");
    let section = PageSection { id: "more", title, folded: None, blocks: vec![PageBlock::List(more.clone())] };
    (!more.is_empty()).then_some(section)
}

/// All that was measured and found: what is open, the findings, and what is folded.
fn details(analysis: &Analysis, rows: &RepeatRows, layout: &ChartLayout) -> Vec<PageSection> {
    let has_chart = |id: &str| layout.folded.iter().any(|section| section.id == id);
    let tables = |is_open: bool| {
        let defs = TABLES.iter().filter(move |def| def.is_open == is_open && !def.chart.is_some_and(has_chart));
        defs.filter_map(|def| table_section(def, (def.make)(analysis, rows)))
    };
    let mut sections: Vec<PageSection> = tables(true).collect();
    sections.extend(layout.open.iter().map(|section| PageSection { folded: None, ..chart_section(section) }));
    sections.push(findings_section(analysis));
    sections.extend(tables(false));
    sections.extend(layout.folded.iter().map(chart_section));
    sections
}

/// Its tables with their legends; `None` if it has none.
fn table_section(def: &TableDef, tables: Vec<Table>) -> Option<PageSection> {
    let rows = plural(tables.first()?.rows.len() as u64, "row");
    let mut blocks = Vec::new();
    let mut tables = tables.into_iter().peekable();
    while let Some(table) = tables.next() {
        let legend = table.legend.clone();
        blocks.push(PageBlock::Table(table));
        if !legend.is_empty() && tables.peek().is_none_or(|next| next.legend != legend) {
            blocks.push(PageBlock::Small(legend));
        }
    }
    let section = folded(def.id, def.title, blocks);
    Some(PageSection { folded: (!def.is_open).then_some(rows), ..section })
}

fn chart_section(section: &ChartSection) -> PageSection {
    let about = plural(section.figures.len() as u64, "picture");
    let blocks = vec![PageBlock::Small(section.help.clone()), PageBlock::Pictures(section.figures.clone())];
    PageSection { id: section.id, title: section.title.clone(), folded: Some(about), blocks }
}

/// What is graver than a note is seen; notes are folded.
fn findings_section(analysis: &Analysis) -> PageSection {
    let all = grouped(analysis).into_iter().map(|group| FindingItem::new(&group, analysis.points.len()));
    let (notes, graver): (Vec<FindingItem>, Vec<FindingItem>) = all.partition(|item| item.severity == "note");
    let mut blocks = Vec::new();
    if notes.is_empty() && graver.is_empty() {
        blocks.push(PageBlock::Paragraph("Nothing was found that weakens the numbers.".to_owned()));
    }
    blocks.extend((!graver.is_empty()).then_some(PageBlock::Findings(graver)));
    if !notes.is_empty() {
        blocks.push(PageBlock::Folded(plural(notes.len() as u64, "note"), vec![PageBlock::Findings(notes)]));
    }
    PageSection { id: "findings", title: "Findings".to_owned(), folded: None, blocks }
}

fn folded(id: &'static str, title: &str, blocks: Vec<PageBlock>) -> PageSection {
    PageSection { id, title: title.to_owned(), folded: Some(String::new()), blocks }
}

/// What is known of the run and its machine, and of each point what distinguishes it.
fn conditions_section(analysis: &Analysis) -> PageSection {
    let meta = &analysis.meta;
    let mut run = vec![
        PageFact::new("run", &meta.run_id),
        PageFact::new("started", format::utc(meta.started_unix_ms)),
        PageFact::new("planned points", meta.plan.trials.len().to_string()),
    ];
    run.extend(known_facts(&meta.environment).filter(|fact| !repeat::is_of_guide(fact)).map(fact_row));
    let hint = "Point at the name of a fact to see what it means. Of a point only what distinguishes it is listed.";
    let mut blocks = vec![PageBlock::Facts(run), PageBlock::Small(hint.to_owned())];
    for PointConditions { label, settings, facts } in point_conditions(analysis) {
        let mut own = Vec::new();
        if !settings.is_empty() {
            let row = |row: SettingRow| Row::new(row.name, [row.asked, row.got.unwrap_or_default()]);
            own.push(PageBlock::Table(Table {
                label_head: "parameter".to_owned(),
                columns: ["asked for", "reported by the engine"].map(Column::text).to_vec(),
                rows: settings.into_iter().map(row).collect(),
                ..Table::default()
            }));
        }
        own.push(PageBlock::Facts(facts));
        blocks.push(PageBlock::Folded(label, own));
    }
    folded("conditions", "Conditions", blocks)
}

/// The conditions that all points have alike, or those that one point has of its own.
struct PointConditions {
    label: String,
    settings: Vec<SettingRow>,
    facts: Vec<PageFact>,
}

/// A parameter with the value that was asked for, and that the engine reported, if it did.
#[derive(Clone, PartialEq)]
struct SettingRow {
    name: String,
    asked: String,
    got: Option<String>,
}

/// First what all points have alike, then what each point has of its own, if it has something.
fn point_conditions(analysis: &Analysis) -> Vec<PointConditions> {
    let whole = |point: &PointAnalysis| PointConditions {
        label: point_label(point),
        settings: settings(point),
        facts: point.facts.iter().filter(|fact| point.settings.get(&fact.name).is_none()).map(fact_row).collect(),
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

/// A fact with its name in the run file, and what it is.
fn fact_row(fact: &Fact) -> PageFact {
    let name = &fact.name;
    let meaning = fact_meaning(name).map_or_else(|| name.clone(), |meaning| format!("{name}: {meaning}"));
    PageFact { meaning, ..PageFact::new(fact_name(fact), fact_value(fact)) }
}

/// The conditions in short: what is known of the run and its machine, then the parameters that all points have alike, and the others of each
/// point.
fn parameters_section(analysis: &Analysis) -> PageSection {
    let meta = &analysis.meta;
    let mut facts =
        vec![PageFact::new("run", &meta.run_id), PageFact::new("started", format::utc(meta.started_unix_ms))];
    facts.extend(known_facts(&meta.environment).filter(|fact| !repeat::is_of_guide(fact)).map(fact_row));
    let mut blocks = vec![PageBlock::Facts(facts)];
    let all: Vec<BTreeMap<String, String>> = analysis.points.iter().map(parameters_of).collect();
    if let Some(first) = all.first() {
        let is_common = |name: &String| all.iter().all(|own| own.get(name) == first.get(name));
        let common = first.iter().filter(|(name, _)| is_common(name));
        let mut parameters: Vec<PageFact> = common.map(|(name, value)| PageFact::new(name, value)).collect();
        for (point, own) in analysis.points.iter().zip(&all) {
            let own = own.iter().filter(|(name, _)| !is_common(name)).map(|(name, value)| format!("{name} {value}"));
            let own: Vec<String> = own.collect();
            parameters.extend((!own.is_empty()).then(|| PageFact::new(point_label(point), own.join(", "))));
        }
        blocks.extend([PageBlock::Heading("Parameters".to_owned()), PageBlock::Facts(parameters)]);
    }
    let recorded = format!("Recorded by plimsoll {}. Charts: `charts/`.", meta.plimsoll_version);
    blocks.push(PageBlock::Paragraph(recorded));
    folded("conditions", "Conditions", blocks)
}

fn parameters_of(point: &PointAnalysis) -> BTreeMap<String, String> {
    let used = list_settings(point).into_iter().filter(|(_, setting)| setting.used);
    let mut all: BTreeMap<String, String> = used.map(|(name, setting)| (name, setting.text)).collect();
    all.extend([("clients", point.clients), ("depth", point.depth)].map(|(name, n)| (name.to_owned(), n.to_string())));
    let taken = |summary: &Summary| format::nanos((summary.seconds * 1e9).round() as u64);
    all.extend(point.summary.as_ref().map(|summary| ("run".to_owned(), taken(summary))));
    all
}

fn repeat_section(analysis: &Analysis) -> PageSection {
    folded("repeat", repeat::TITLE, RepeatGuide::from_analysis(analysis).blocks())
}

fn reading() -> PageSection {
    let items = [
        "Response time counts from the moment at which an operation was due, service time from the moment at which it was started. In a \
         closed loop both are the same.",
        "valid: plimsoll knows of nothing that weakens the number. indicative: the number is a rough guide; the findings show what weakens \
         it. invalid: do not use it.",
        "Throughput axes begin at 0, or are logarithmic if lines are more than 20 times apart. Times are on logarithmic axes: equal distances \
         are equal ratios. 1 MB is 1,000,000 bytes, 1 MiB is 1,048,576.",
        "Point at a chart over time to see its values: all charts share the cursor. Drag sideways to zoom all of them, double-click to reset. \
         Click the name of a line to hide or show it, and the head of a column to sort a table. `?` lists the keys.",
    ];
    folded("reading", "How to read this", vec![PageBlock::List(items.map(str::to_owned).to_vec())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::all_figures;
    use crate::testing::{HOSTILE, damaged, hostile, inserts, open_loop, quick};

    #[test]
    fn the_quick_report_has_eight_charts_and_refers_to_nothing_outside() {
        let text = html(&quick());
        assert!(text.matches("<svg").count() >= 8);
        let rest = text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
        assert!(!rest.contains("http"), "something refers to the network");
        assert!(!text.contains(" src=") && !text.contains("@import") && !text.contains("url(h"));
    }

    #[test]
    fn what_an_insert_costs_has_a_table_with_all_columns_and_a_red_mark_where_durability_differs() {
        let mut analysis = inserts();
        analysis.points[1].traits.engine.durability = Some("disk".to_owned());
        let text = html(&analysis);
        let filled = crate::inserts::filled_columns(&crate::inserts::lines(&analysis));
        let table = text.split("id=\"insert-costs\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
        let tables = table.matches("<table").count();
        assert_eq!(table.matches("<th").count() - table.matches("<thead").count(), tables + filled.len());
        assert_eq!(
            (tables, table.matches("<tr><td class=\"name\">").count()),
            (3, 3 * 3),
            "no table is wider than a screen"
        );
        assert!(table.contains("<p class=\"small\">InnoDB l.i1: no estimate for 100M rows"), "{table}");
        assert!(table.contains("<td class=\"n\">&gt;10.1</td>"), "{table}");
        let mark = "<p class=\"error\">insert: MIXED DURABILITY (disk, os): not to be compared with each other</p>";
        assert_eq!(text.matches(mark).count(), 3, "on the first screen and at both tables");
        assert!(!html(&quick()).contains("id=\"inserts\""));
    }

    #[test]
    fn each_kind_of_operation_has_a_row_and_its_name_is_escaped() {
        let mut analysis = crate::testing::with_statements();
        analysis.points[0].statements[1].kind = HOSTILE[0].to_owned();
        let text = html(&analysis);
        let table =
            text.split("<section id=\"statements\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
        assert_eq!(table.matches("<tr><td class=\"name\">").count(), 2);
        assert!(
            table.contains("<td class=\"name\">lookup</td><td class=\"n\">750</td>") && !table.contains(HOSTILE[0]),
            "{table}"
        );
        assert!(!html(&quick()).contains("id=\"statements\""));
    }

    #[test]
    fn every_link_of_the_index_leads_to_a_picture_and_a_report_of_few_sheets_has_none() {
        let text = html(&quick());
        let links: Vec<&str> = text.split("href=\"#").skip(1).filter_map(|s| s.split('"').next()).collect();
        let pictures = links.iter().filter(|link| link.starts_with("figure-"));
        assert_eq!(pictures.clone().count(), 4 * 4); // four sheets, four charts of sheets
        assert!(links.iter().all(|link| text.contains(&format!("id=\"{link}\""))));
        let few = html(&open_loop());
        assert!(!few.contains("id=\"index\""));
    }

    #[test]
    fn the_answer_comes_first_then_what_limits_it_then_time_findings_and_all_else_folded() {
        let text = html(&crate::charts::ceilings_fixture());
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
        let order = [
            "<h1>",
            "id=\"main-throughput\"",
            "<table class=\"cmp\">",
            "class=\"trust\"",
            "<section id=\"ceilings\">",
            "<section id=\"timeline\">",
            "<section id=\"findings\">",
            "<section class=\"fold\">",
            "<div id=\"points\">",
            "<div id=\"conditions\">",
        ];
        assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{:?}", order.map(at));
        assert!(text.contains("11 valid") && text.contains("1 invalid"));
        let folded = &text[at("<section class=\"fold\">")..];
        assert_eq!(
            folded.matches("<section").count(),
            folded.matches("<section class=\"fold\"><details><summary>").count()
        );
    }

    #[test]
    fn a_survey_opens_with_the_answer_and_its_picture() {
        let text = html(&crate::testing::surveyed());
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
        let order =
            ["<h1>", "id=\"main-survey\"", "<table class=\"cmp\">", "class=\"trust\"", "At random the disk reads "];
        assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{:?}", order.map(at));
        let noisy = html(&crate::testing::spoilt(&[0.3]));
        assert!(noisy.contains("The hypervisor took 30\u{a0}% of the CPU: these numbers are a lower bound;"));
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
            let text = html(&analysis);
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
        let text = html(&quick());
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
        let analysis = quick();
        let rows = RepeatRows::from_analysis(&analysis).analysis;
        let tables = crate::overview::overviews(&rows, &crate::palette::Palette::new(&analysis));
        let swatch = |name: &str| {
            let mut rows = tables.iter().flat_map(|table| &table.rows);
            rows.find(|row| row.name == name).and_then(|row| row.style).expect("it has a colour").colour
        };
        assert_eq!(swatch("sqlite indexes 0"), swatch("sqlite indexes 3"));
        assert_ne!(swatch("sqlite indexes 0"), swatch("fjall indexes 0"));
    }

    #[test]
    fn the_same_run_gives_the_same_bytes() {
        assert_eq!(html(&quick()), html(&quick()));
    }

    #[test]
    fn every_link_of_the_contents_leads_somewhere() {
        for analysis in [quick(), inserts(), open_loop(), crate::testing::compressed(), crate::testing::limits()] {
            let text = html(&analysis);
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
        let all = html(&quick());
        let ids: Vec<&str> = all.split(" id=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
        let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len());
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        let text = html(&hostile());
        assert_eq!(text.matches("<script").count(), 2, "the data and the script");
        for payload in HOSTILE.iter().filter(|t| t.contains('<')) {
            assert!(!text.contains(payload), "{payload}");
        }
        assert!(!text.contains("<img") && !text.contains('\u{202e}'));
        assert!(text.contains("{{ 7 * 7 }}"), "a template in a text is shown, not run");
        assert!(!text.contains("href=\"javascript"));
    }

    #[test]
    fn a_report_is_made_whatever_is_missing() {
        for (what, analysis) in damaged() {
            let text = html(&analysis);
            assert!(text.ends_with("</html>"), "{what}");
            let body = text.split("<script").next().unwrap_or_default();
            assert!(!body.contains("NaN") && !body.contains(">inf"), "{what}");
        }
    }

    #[test]
    fn queries_have_a_column_where_they_are_not_the_operations_and_who_works_beside_a_line() {
        let mut analysis = quick();
        assert!(!html(&analysis).contains("queries/s</th>"));
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![crate::testing::background_500()]);
        let text = html(&analysis);
        assert!(text.contains("queries/s</th>") && text.contains("<td class=\"n\">118,640</td>"));
        assert!(text.replace('\u{a0}', " ").contains("background insert: 498 of 500/s (99.6 %)"));
    }

    #[test]
    fn late_and_unserved_arrivals_are_shown_for_an_open_loop_only() {
        assert!(html(&open_loop()).contains("812 / 3"));
        assert!(!html(&quick()).contains("unserved</th>"));
    }

    #[test]
    fn nothing_in_the_page_needs_more_than_the_policy_admits() {
        let text = html(&quick());
        assert!(
            text.contains("script-src 'sha256-") && text.contains("style-src 'sha256-") && !text.contains("unsafe")
        );
        let markup = text.split("<script").next().unwrap();
        for attribute in [" style=", " onclick=", " onload=", " onerror="] {
            assert!(!markup.contains(attribute), "the policy does not admit `{attribute}`");
        }
        assert_eq!(text.matches("<style").count(), 1);
    }

    #[test]
    fn the_verdict_stands_first_and_every_point_has_a_row() {
        let text = markdown(&quick());
        let verdict = text.find("- file (durability os): rndrd reaches 41.").unwrap();
        assert!(verdict < text.find("## Each point").unwrap());
        let relative = text.lines().filter(|l| l.starts_with("### Relative")).collect::<Vec<_>>();
        assert_eq!(relative, ["### Relative to sqlite: insert", "### Relative to indexes 0: insert"]);
        let (_, points) = text.split_once("## Each point\n").expect("a section of the points");
        let lines = points.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
        assert_eq!(lines.count(), 2 + quick().points.len(), "a head and a row for each");
        assert!(text.contains("### Operations per second, insert\n\n|  | indexes 0 | indexes 3 |\n"), "{text}");
        assert!(text.contains("| sqlite insert indexes 3 | 8 | 3,"), "{text}");
        assert!(
            text.contains(
                "**warning** sqlite insert indexes 3: drift: the rate falls by 42 % over the run phase (unsteady)"
            ),
            "{text}"
        );
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
    fn markdown_tells_queries_and_what_was_done_beside_where_there_are_any() {
        let mut analysis = quick();
        let none = markdown(&analysis);
        assert!(!none.contains("queries/s") && !none.contains("beside"), "{none}");
        let summary = analysis.points[0].summary.as_mut().unwrap();
        (summary.queries_per_s, summary.background) = (118_640.0, vec![crate::testing::background_500()]);
        let text = markdown(&analysis);
        assert!(
            text.contains("| point | \\# | rate | queries/s | 95 % CI |")
                && text.contains("| 5,932 reads/s | 118,640 | ±4.1 % |"),
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
