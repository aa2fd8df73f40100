//! A document as one HTML file that needs nothing else: no network, no script to be read, no font. All text is escaped here, for its place;
//! what is between backticks is set as code. Pictures come escaped from the crate `plot`; the script is admitted by its hash.

use super::chart_sections::Picture;
use super::chart_table::{TABLE_ROWS, figure_table};
use super::interaction::{Interaction, bar_class};
use super::matrix::matrix_html;
use super::order::order_attribute;
use super::page::{Page, PageBlock, PageFact, PageSection};
use crate::escape;
use crate::findings::FindingItem;
use crate::table::{Cell, Column, Look, Row, Table};
use plot::figure::Figure;
use words::code::{SentencePart, sentence_parts, without_marks};

/// A longer table is folded.
const UNFOLDED_MAX: usize = 30;
/// A longer text in a table is broken.
const UNBROKEN_MAX: usize = 40;

pub fn page_html(page: &Page) -> String {
    page_with(page, &Interaction::from_figures(page.figures()))
}

/// The document with the style, the script and the data of all its pictures.
pub fn page_with(page: &Page, interaction: &Interaction) -> String {
    let Interaction { policy, style, script, data } = interaction;
    let title = plain(&without_marks(&page.title));
    let about: String =
        [&page.title].into_iter().chain(&page.about).map(|part| format!(" &middot; {}", coded(part))).collect();
    let question = match page.question.as_str() {
        "" => String::new(),
        question => format!("<p class=\"question\">{}</p>\n", prose(question)),
    };
    let lead: String = page.lead.iter().map(|line| format!("<li>{}</li>", prose(line))).collect();
    let lead = if lead.is_empty() { lead } else { format!("<ul class=\"verdict\">{lead}</ul>\n") };
    let opening: String = page.opening.iter().map(|one| block(one, page)).collect();
    let sections: String = page.sections.iter().map(|one| section(one, page)).collect();
    let contents = contents(page);
    let nav = if contents.is_empty() {
        contents
    } else {
        format!("<nav class=\"contents small\" aria-label=\"Contents\">{contents}</nav>\n")
    };
    let measured: String = page.measured.iter().map(|text| format!("<li>{}</li>", plain(text))).collect();
    let measured = if measured.is_empty() { measured } else { format!("<ol id=\"measured\" hidden>{measured}</ol>\n") };
    let version = env!("CARGO_PKG_VERSION");
    let written = match &page.recorded_by {
        Some(recorded) => format!("Recorded by plimsoll {}; report written by plimsoll {version}.", plain(recorded)),
        None => format!("Written by plimsoll {version}."),
    };
    let data = if data.is_empty() {
        String::new()
    } else {
        format!("<script type=\"application/json\" id=\"chart-data\">{data}</script>\n")
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>plimsoll: {title}</title>\n<style>{style}</style>\n</head>\n<body>\n<div class=\"page\">\n{nav}<main>\n\
         <header id=\"overview\">\n<p class=\"small\">plimsoll{about}</p>\n{question}<h1>{}</h1>\n{lead}{opening}</header>\n{sections}{measured}\
         <footer class=\"small\">{written} This file is self-contained.</footer>\n</main>\n</div>\n{data}<script>{script}</script>\n\
         </body>\n</html>",
        prose(&page.headline)
    )
}

/// Links to the sections; empty if they have no names.
fn contents(page: &Page) -> String {
    let named = page.sections.iter().filter(|section| !section.id.is_empty());
    let link = |id: &str, title: &str| format!("<li><a href=\"#{id}\">{}</a></li>\n", coded(title));
    let links: String = named.map(|section| link(section.id, &section.title)).collect();
    if links.is_empty() { links } else { format!("<ol>\n{}{links}</ol>", link("overview", "Answer")) }
}

fn section(section: &PageSection, page: &Page) -> String {
    let (title, mut tables) = (coded(&section.title), 0);
    let mut body = String::new();
    for one in &section.blocks {
        body += &match one {
            // Who opened a section wants to see what is in it.
            PageBlock::Table(first) if section.folded.is_some() && tables == 0 => table_html(first, true),
            one => block(one, page),
        };
        tables += usize::from(matches!(one, PageBlock::Table(_)));
    }
    let id = if section.id.is_empty() { String::new() } else { format!(" id=\"{}\"", section.id) };
    match &section.folded {
        None => format!("<section{id}>\n<h2>{title}</h2>\n{body}</section>\n"),
        Some(about) => format!(
            "<section class=\"fold\"><details><summary><h2>{title}</h2> <span class=\"small\">{}</span></summary><div{id}>\n\
             {body}</div></details></section>\n",
            coded(about)
        ),
    }
}

fn block(one: &PageBlock, page: &Page) -> String {
    match one {
        PageBlock::Heading(text) => format!("<h3>{}</h3>\n", coded(text)),
        PageBlock::Paragraph(text) => format!("<p>{}</p>\n", prose(text)),
        PageBlock::Small(text) => format!("<p class=\"small\">{}</p>\n", prose(text)),
        PageBlock::Lead(text) => format!("<p class=\"lead\">{}</p>\n", prose(text)),
        PageBlock::List(items) => {
            format!("<ul>{}</ul>\n", items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect::<String>())
        }
        PageBlock::Table(table) => table_html(table, table.rows.len() <= UNFOLDED_MAX),
        PageBlock::Matrix(all) => {
            format!("<div class=\"comparisons\">\n{}</div>\n", all.iter().map(matrix_html).collect::<String>())
        }
        PageBlock::Caution(text) => format!("<p class=\"caution\">{}</p>\n", prose(text)),
        PageBlock::Error(text) => format!("<p class=\"error\">{}</p>\n", prose(text)),
        PageBlock::Trust(badges, text) => {
            let badge = |(count, word): &(usize, &str)| format!("<span class=\"badge {word}\">{count} {word}</span> ");
            let badges: String = badges.iter().map(badge).collect();
            format!("<p class=\"trust\"><b>Trust</b> {badges}{}</p>\n", prose(text))
        }
        PageBlock::Next(text) => format!("<p class=\"trust\"><b>Next</b> {}</p>\n", prose(text)),
        PageBlock::Findings(all) => all.iter().map(finding).collect(),
        PageBlock::Code(text) => format!("<pre>{}</pre>\n", plain(text)),
        PageBlock::Facts(all) => facts(all),
        PageBlock::Links(links) => {
            let links = links
                .iter()
                .map(|link| format!("<li><a href=\"{}\">{}</a></li>\n", plain(&link.file), plain(&link.text)));
            format!("<ul>{}</ul>\n", links.collect::<String>())
        }
        PageBlock::Figures(figures) => {
            format!("<div class=\"charts\">{}</div>\n", figures.iter().map(figure_html).collect::<String>())
        }
        PageBlock::Pictures(all) => pictures(all),
        PageBlock::Main(section) => format!(
            "<div id=\"main-{}\" class=\"main\">\n{}</div>\n<p class=\"small\">{}</p>\n",
            section.id,
            pictures(&section.figures),
            coded(&section.help)
        ),
        PageBlock::Folded(summary, blocks) => {
            let blocks: String = blocks.iter().map(|one| block(one, page)).collect();
            format!("<details><summary>{}</summary>\n{blocks}</details>\n", coded(summary))
        }
        PageBlock::Contents => format!(
            "<details class=\"contents\"><summary>Contents</summary><nav aria-label=\"Contents, folded\">{}</nav></details>\n",
            contents(page)
        ),
    }
}

/// A table for each part of the columns, and its notes.
fn table_html(table: &Table, is_open: bool) -> String {
    let title = if table.title.is_empty() { String::new() } else { format!("<h3>{}</h3>\n", coded(&table.title)) };
    let warnings: String =
        table.warnings.iter().map(|text| format!("<p class=\"error\">{}</p>\n", coded(text))).collect();
    let mut tables = String::new();
    for (part, places) in table.parts() {
        if !part.is_empty() {
            tables += &format!("<h4>{part}</h4>\n");
        }
        tables += &part_html(table, &places);
    }
    if !is_open {
        tables = format!("<details><summary>{} rows</summary>\n{tables}</details>\n", table.rows.len());
    }
    let texts = table.texts.iter().map(|(title, text)| {
        let lines: Vec<String> = text.lines().map(plain).collect();
        format!("<details><summary>{}</summary><pre>{}</pre></details>\n", coded(title), lines.join("\n"))
    });
    let texts: String = texts.collect();
    let notes: String = table.notes.iter().map(|note| format!("<p class=\"small\">{}</p>\n", prose(note))).collect();
    format!("{title}{warnings}{tables}{texts}{notes}")
}

fn part_html(table: &Table, places: &[usize]) -> String {
    let has_groups = table.has_groups();
    let group_head = if has_groups { format!("<th>{}</th>", plain(table.group_head)) } else { String::new() };
    let column_head = |nth: &usize| {
        let column = &table.columns[*nth];
        format!("<th{}>{}</th>", class_attribute(&classes(column, None)), coded(&column.long_head))
    };
    let heads: String = places.iter().map(column_head).collect();
    let row = |row: &Row| {
        let group = if has_groups { format!("<td>{}</td>", plain(&row.group)) } else { String::new() };
        let cells: String = places.iter().map(|nth| cell_html(&table.columns[*nth], &row.cells[*nth])).collect();
        format!("<tr>{group}{}{cells}</tr>\n", label(row))
    };
    let rows: String = table.rows.iter().map(row).collect();
    let label_head = coded(&table.label_head);
    format!(
        "<div class=\"scroll\"><table class=\"heads\">\n<thead><tr>{group_head}<th>{label_head}</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// The label of a row with what is below it.
fn label(row: &Row) -> String {
    let name = plain(&row.label_text());
    let name = if row.is_marked { format!("<strong>{name}</strong>") } else { name };
    let below = row.below.iter().map(|cell| {
        let class = if cell.look == Look::Worse { "small error" } else { "small beside" };
        format!("<br><span class=\"{class}\">{}</span>", coded(&cell.text))
    });
    format!("<td class=\"name\">{name}{}</td>", below.collect::<String>())
}

fn cell_html(column: &Column, cell: &Cell) -> String {
    let text = match (cell.look, &cell.link) {
        (Look::Badge(validity), _) => {
            let (word, text) = (validity.as_str(), plain(&cell.text));
            let rest = text.strip_prefix(word).unwrap_or_default();
            format!("<span class=\"badge {word}\">{word}</span><span class=\"small\">{rest}</span>")
        }
        (_, Some(link)) => format!("<a href=\"#{}\">{}</a>", plain(link), coded(&cell.text)),
        _ => coded(&cell.text),
    };
    let order = if column.is_text { String::new() } else { order_attribute(&cell.text) };
    format!("<td{}{order}>{text}</td>", class_attribute(&classes(column, Some(cell))))
}

fn classes(column: &Column, cell: Option<&Cell>) -> Vec<String> {
    let mut classes = Vec::new();
    classes.extend((!column.is_text).then(|| "n".to_owned()));
    let Some(cell) = cell else { return classes };
    classes.extend((cell.text.chars().count() > UNBROKEN_MAX).then(|| "words".to_owned()));
    match cell.look {
        Look::Plain | Look::Badge(_) => {}
        Look::Better => classes.push("better".to_owned()),
        Look::Worse => classes.push("worse".to_owned()),
        Look::Caution => classes.push("hint".to_owned()),
        Look::Bar(percent) => classes.extend(["bar".to_owned(), bar_class(percent)]),
    }
    classes
}

fn class_attribute(classes: &[String]) -> String {
    if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
}

fn finding(group: &FindingItem) -> String {
    let severity = group.severity;
    let members: String = group
        .members
        .iter()
        .map(|member| {
            let title =
                if member.title == group.heading { String::new() } else { format!(": {}", prose(&member.title)) };
            let next = match member.next_step.as_str() {
                "" => String::new(),
                step => format!(" <b>Next: {}</b>", coded(step)),
            };
            let (place, evidence) = (plain(&member.place), prose(&member.evidence));
            format!("<li><b>{place}</b>{title}<br><span class=\"small\">{evidence}{next}</span></li>")
        })
        .collect();
    let count = match group.members.len() {
        1 => String::new(),
        count => format!(" <span class=\"small\">({count} points)</span>"),
    };
    let next = match group.next_step.as_str() {
        "" => String::new(),
        step => format!("<span class=\"next\">Next: {}</span> ", coded(step)),
    };
    format!(
        "<details class=\"finding {severity}\"><summary><span class=\"tag\">{severity}</span> {}{count}</summary>\n<ul>{members}</ul>\n\
         <p>{next}<code>{}</code></p></details>\n",
        prose(&group.heading),
        group.code
    )
}

fn facts(all: &[PageFact]) -> String {
    // Long values need the whole width; of facts with a meaning there are many short ones.
    let class = if all.iter().any(|fact| !fact.meaning.is_empty()) { "" } else { " class=\"wide\"" };
    let fact = |fact: &PageFact| {
        let title = if fact.meaning.is_empty() {
            String::new()
        } else {
            format!(" title=\"{}\"", plain(&without_marks(&fact.meaning)))
        };
        format!("<div><dt{title}>{}</dt><dd>{}</dd></div>\n", plain(&fact.name), coded(&fact.value))
    };
    format!("<dl{class}>{}</dl>\n", all.iter().map(fact).collect::<String>())
}

fn figure_html(figure: &Figure) -> String {
    picture(&Picture {
        id: figure.id.clone(),
        title: figure.title.clone(),
        svg: plot::render_svg(figure),
        wide: false,
        folded: false,
        narrow: plot::render_narrow_svg(figure),
        table: figure_table(figure, TABLE_ROWS),
        measured: None,
    })
}

fn pictures(all: &[Picture]) -> String {
    format!("<div class=\"charts\">\n{}</div>\n", all.iter().map(picture).collect::<String>())
}

fn picture(picture: &Picture) -> String {
    let Picture { id, svg, table, .. } = picture;
    let wide = if picture.wide { " wide" } else { "" };
    let both = if picture.narrow.is_some() { "both" } else { "" };
    let narrow = picture.narrow.as_deref().unwrap_or_default();
    let measured = picture.measured.map_or(String::new(), |nth| format!(" data-measured=\"{nth}\""));
    let figure = format!(
        "<figure class=\"{both}{wide}\" id=\"figure-{id}\"{measured}><div class=\"scroll\">{svg}</div>{narrow}{table}</figure>"
    );
    if picture.folded {
        format!("<details class=\"{}\"><summary>{}</summary>{figure}</details>\n", wide.trim(), coded(&picture.title))
    } else {
        format!("{figure}\n")
    }
}

/// Escaped, and without characters that hide or reorder text.
pub(crate) fn plain(text: &str) -> String {
    plot::escape::escape_xml(&escape::terminal(text))
}

/// The same, with text between backticks set as code; a backtick without its partner stays one.
pub(crate) fn coded(text: &str) -> String {
    with_code(text, plain)
}

/// `text` with what is between backticks set as code, and the rest as `of_text` has it.
fn with_code(text: &str, of_text: fn(&str) -> String) -> String {
    let written = |part: SentencePart| match part {
        SentencePart::Text(text) => of_text(text),
        SentencePart::Code(code) => format!("<code>{}</code>", plain(code)),
    };
    sentence_parts(text).into_iter().map(written).collect()
}

/// The units behind which a sentence goes on: no line ends between a number and one of them.
const UNITS: [&str; 19] = [
    "%", "ns", "us", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "MB/s", "GB/s",
    "million",
];

/// As [`coded`], of sentences, whose lines end where the window does. A command is copied, and keeps its spaces.
fn prose(text: &str) -> String {
    with_code(text, with_firm_units)
}

fn with_firm_units(text: &str) -> String {
    let mut written = String::new();
    for word in plain(text).split(' ') {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')', '?']);
        let is_unit = UNITS.contains(&unit) && written.ends_with(|c: char| c.is_ascii_digit());
        let space = if is_unit { "\u{a0}" } else { " " };
        written.extend([space, word]);
    }
    written.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::markdown::page_markdown;
    use crate::testing::HOSTILE;

    fn hostile_page() -> Page {
        let texts = || HOSTILE.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let table = Table {
            columns: vec![Column::number("b")],
            rows: texts().into_iter().map(|text| Row::new(text.clone(), [text])).collect(),
            ..Table::default()
        };
        let blocks = vec![
            PageBlock::Heading(HOSTILE[0].to_owned()),
            PageBlock::Paragraph(HOSTILE[1].to_owned()),
            PageBlock::List(texts()),
            PageBlock::Table(table),
        ];
        let section = PageSection { title: HOSTILE[0].to_owned(), blocks, ..PageSection::default() };
        let opening = vec![
            PageBlock::Caution(HOSTILE[0].to_owned()),
            PageBlock::Code(HOSTILE[2].to_owned()),
            PageBlock::Facts(texts().into_iter().map(|text| PageFact::new(text.clone(), text)).collect()),
        ];
        let (title, headline) = (HOSTILE[0].to_owned(), HOSTILE[3].to_owned());
        Page { title, headline, lead: texts(), opening, sections: vec![section], ..Page::default() }
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        let html = page_html(&hostile_page());
        for bad in ["<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
            assert!(!html.contains(bad), "{bad}");
        }
        assert_eq!(html.matches("<script").count(), 1, "that of the page");
        let markdown = page_markdown(&hostile_page());
        assert!(
            !markdown.contains("<script") && !markdown.replace("\\]", "").contains("](") && !markdown.contains("<img"),
            "{markdown}"
        );
        assert!(markdown.lines().filter(|line| line.starts_with('|')).count() == HOSTILE.len() + 2, "{markdown}");
    }

    #[test]
    fn no_mark_of_code_is_left_in_a_sentence() {
        let said = || "`plimsoll limit` shows it".to_owned();
        let row = Row { below: vec![Cell::from(said())], ..Row::new("a", [said()]) };
        let table = Table {
            title: said(),
            warnings: vec![said()],
            notes: vec![said()],
            texts: vec![(said(), "text".to_owned())],
            columns: vec![Column::text(said())],
            rows: vec![row],
            ..Table::default()
        };
        let fact = PageFact { meaning: said(), ..PageFact::new("name", said()) };
        let blocks = vec![
            PageBlock::Heading(said()),
            PageBlock::Lead(said()),
            PageBlock::Caution(said()),
            PageBlock::Error(said()),
            PageBlock::Next(said()),
            PageBlock::Table(table),
            PageBlock::Facts(vec![fact]),
            PageBlock::Folded(said(), vec![PageBlock::Small(said())]),
        ];
        let section = PageSection { id: "one", title: said(), folded: Some(said()), blocks };
        let page = Page {
            title: said(),
            about: vec![said()],
            question: said(),
            headline: said(),
            lead: vec![said()],
            sections: vec![section],
            ..Page::default()
        };
        let html = page_html(&page);
        assert!(html.contains("<title>plimsoll: plimsoll limit shows it</title>"), "{html}");
        let body = html.split_once("<body>").and_then(|(_, body)| body.split_once("<script")).expect("it has both").0;
        assert!(body.contains("<h1><code>plimsoll limit</code> shows it</h1>") && !body.contains('`'), "{body}");
        let markdown = page_markdown(&page);
        assert!(markdown.starts_with("# `plimsoll limit` shows it\n") && !markdown.contains("\\`"), "{markdown}");
    }

    #[test]
    fn no_line_of_a_sentence_ends_between_a_number_and_its_unit() {
        let told = prose("61 % busy (p99 189 us), 1.62 million in 4 s.");
        assert_eq!(told, "61\u{a0}% busy (p99 189\u{a0}us), 1.62\u{a0}million in 4\u{a0}s.");
        assert_eq!([prose(""), prose("with 4 clients"), prose("a s")], ["", "with 4 clients", "a s"]);
        assert_eq!(prose("run `x 4 s`, or 4 s"), "run <code>x 4 s</code>, or 4\u{a0}s");
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_still_escaped() {
        assert_eq!(coded("use `--time` or `-t`"), "use <code>--time</code> or <code>-t</code>");
        assert_eq!(coded("a lone ` and `<b>`"), "a lone <code> and </code>&lt;b&gt;`");
        assert_eq!((coded(""), coded("plain"), coded("`x`")), ("".into(), "plain".into(), "<code>x</code>".into()));
    }
}
