//! A document of headings, sentences, tables and pictures, as HTML and as Markdown.
//!
//! In: a [`Page`]. Out: text. Limits: all text is escaped here, for its place; what is between backticks is set as code. The report of
//! a run has a template of its own.

use super::chart_table::{TABLE_ROWS, figure_table};
use super::html::{coded, new_environment};
use super::interaction::Interaction;
use super::matrix::{Matrix, matrix_html, matrix_markdown};
use super::order::order_attribute;
use crate::ReportError;
use crate::escape;
use minijinja::value::Serde;
use plot::figure::Figure;
use serde::Serialize;

const TEMPLATE: &str = include_str!("page.html");

/// A document.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is, in a word or two.
    pub title: String,
    /// The first line.
    pub headline: String,
    /// What it comes to, in sentences.
    pub lead: Vec<String>,
    /// What follows them on the first screen.
    pub opening: Vec<PageBlock>,
    /// The rest.
    pub sections: Vec<PageSection>,
}

impl Page {
    /// All its pictures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        self.opening.iter().chain(blocks).flat_map(|block| match block {
            PageBlock::Figures(figures) => figures.as_slice(),
            _ => &[],
        })
    }
}

/// A part of a document.
#[derive(Clone, Debug)]
pub struct PageSection {
    /// Its heading.
    pub title: String,
    /// What is in it.
    pub blocks: Vec<PageBlock>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum PageBlock {
    /// A heading below that of the section.
    Heading(String),
    /// Sentences.
    Paragraph(String),
    /// A list of sentences.
    List(Vec<String>),
    /// A table.
    Table(PageTable),
    /// A table of numbers in colour.
    Coloured(ColouredTable),
    /// A row for each thing that is compared.
    Matrix(Matrix),
    /// A sentence that warns.
    Caution(String),
    /// Text to be pasted, as it is.
    Code(String),
    /// Names with their values.
    Facts(Vec<(String, String)>),
    /// Files of the same report.
    Links(Vec<PageLink>),
    /// Pictures.
    Figures(Vec<Figure>),
}

/// A link to a file of the same report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// What it leads to.
    pub text: String,
    /// The file, relative to the page: small letters, digits, dashes, dots and slashes.
    pub file: String,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct PageTable {
    /// The heads of its columns.
    pub heads: Vec<&'static str>,
    /// How many of the first columns hold text; the others hold numbers.
    pub texts: usize,
    /// A text for each column.
    pub rows: Vec<Vec<String>>,
}

/// A table whose first column holds text and the others numbers, some of them in colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredTable {
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<ColouredCell>>,
}

/// A number that may have a colour. Its text has a word for what the colour means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColouredCell {
    /// The number.
    pub text: String,
    /// Its colour.
    pub colour: CellColour,
}

/// What the colour of a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellColour {
    /// That of other text.
    None,
    /// Green.
    Better,
    /// Red.
    Worse,
}

impl ColouredCell {
    /// Text in its usual colour.
    pub fn plain(text: String) -> ColouredCell {
        ColouredCell { text, colour: CellColour::None }
    }
}

/// The document as one HTML file that needs nothing else.
///
/// # Errors
/// If the template is wrong: a bug.
pub fn page_html(page: &Page) -> Result<String, ReportError> {
    let mut templates = new_environment();
    templates.add_template("page.html", TEMPLATE)?;
    let content = page
        .sections
        .iter()
        .map(|section| HtmlSection { title: &section.title, body: section.blocks.iter().map(block_html).collect() });
    let document = HtmlPage {
        interaction: Interaction::from_figures(page.figures()),
        title: &page.title,
        headline: &page.headline,
        lead: &page.lead,
        opening: page.opening.iter().map(block_html).collect(),
        sections: content.collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(templates.get_template("page.html")?.render(Serde(document))?)
}

/// What the template fills in. The bodies of its sections are HTML already.
#[derive(Serialize)]
struct HtmlPage<'a> {
    interaction: Interaction,
    title: &'a str,
    headline: &'a str,
    lead: &'a [String],
    opening: String,
    sections: Vec<HtmlSection<'a>>,
    version: &'static str,
}

#[derive(Serialize)]
struct HtmlSection<'a> {
    title: &'a str,
    body: String,
}

fn block_html(block: &PageBlock) -> String {
    match block {
        PageBlock::Heading(text) => format!("<h3>{}</h3>\n", safe_html(text)),
        PageBlock::Paragraph(text) => format!("<p>{}</p>\n", safe_html(text)),
        PageBlock::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", safe_html(item))).collect();
            format!("<ul>{items}</ul>\n")
        }
        PageBlock::Table(table) => table_html(table),
        PageBlock::Coloured(table) => coloured_html(table),
        PageBlock::Matrix(matrix) => matrix_html(matrix),
        PageBlock::Caution(text) => format!("<p class=\"caution\">{}</p>\n", safe_html(text)),
        PageBlock::Code(text) => format!("<pre>{}</pre>\n", plain_html(text)),
        PageBlock::Facts(facts) => facts_html(facts),
        PageBlock::Links(links) => links_html(links),
        PageBlock::Figures(figures) => {
            format!("<div class=\"charts\">{}</div>\n", figures.iter().map(figure_html).collect::<String>())
        }
    }
}

fn table_html(table: &PageTable) -> String {
    let class = |at: usize| if at < table.texts { "" } else { " class=\"n\"" };
    let head = |(at, head): (usize, &&str)| format!("<th{}>{}</th>", class(at), safe_html(head));
    let cell = |(at, text): (usize, &String)| {
        let order = if at < table.texts { String::new() } else { order_attribute(text) };
        format!("<td{}{order}>{}</td>", class(at), safe_html(text))
    };
    let heads: String = table.heads.iter().enumerate().map(head).collect();
    let rows = table.rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<String>());
    let rows: String = rows.map(|row| format!("<tr>{row}</tr>\n")).collect();
    format!("<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\n")
}

fn coloured_html(table: &ColouredTable) -> String {
    let class = |at: usize, colour: CellColour| match (at, colour) {
        (0, _) => "",
        (_, CellColour::None) => " class=\"n\"",
        (_, CellColour::Better) => " class=\"n better\"",
        (_, CellColour::Worse) => " class=\"n worse\"",
    };
    let head = |(at, head): (usize, &String)| format!("<th{}>{}</th>", class(at, CellColour::None), safe_html(head));
    let cell = |(at, cell): (usize, &ColouredCell)| {
        format!("<td{}{}>{}</td>", class(at, cell.colour), order_attribute(&cell.text), safe_html(&cell.text))
    };
    let heads: String = table.heads.iter().enumerate().map(head).collect();
    let rows = table.rows.iter().map(|row| row.iter().enumerate().map(cell).collect::<String>());
    let rows: String = rows.map(|row| format!("<tr>{row}</tr>\n")).collect();
    format!("<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\n")
}

fn figure_html(figure: &Figure) -> String {
    let (svg, narrow) = (plot::render_svg(figure), plot::render_narrow_svg(figure));
    let class = if narrow.is_some() { "both" } else { "" };
    let narrow = narrow.unwrap_or_default();
    format!(
        "<figure class=\"{class}\" id=\"figure-{}\"><div class=\"scroll\">{svg}</div>{narrow}{}</figure>\n",
        figure.id,
        figure_table(figure, TABLE_ROWS)
    )
}

fn facts_html(facts: &[(String, String)]) -> String {
    let fact = |(name, value): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", plain_html(name), plain_html(value))
    };
    format!("<dl class=\"wide\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

fn links_html(links: &[PageLink]) -> String {
    let link =
        |link: &PageLink| format!("<li><a href=\"{}\">{}</a></li>\n", plain_html(&link.file), plain_html(&link.text));
    format!("<ul>{}</ul>\n", links.iter().map(link).collect::<String>())
}

/// Escaped and without hidden characters.
pub(super) fn plain_html(text: &str) -> String {
    plot::escape::escape_xml(&escape::terminal(text))
}

/// Escaped, without hidden characters, and with what is between backticks as code.
fn safe_html(text: &str) -> String {
    coded(escape::terminal(text)).to_string()
}

/// The document as Markdown; pictures are linked as `charts/ID.png`.
pub fn page_markdown(page: &Page) -> String {
    let mut out = format!("# {}\n\n", escape::markdown(&page.headline));
    out.extend(page.lead.iter().map(|sentence| format!("- {}\n", safe_markdown(sentence))));
    out.extend(page.opening.iter().map(block_markdown));
    for section in &page.sections {
        out += &format!("\n## {}\n", escape::markdown(&section.title));
        out.extend(section.blocks.iter().map(block_markdown));
    }
    out
}

fn block_markdown(block: &PageBlock) -> String {
    match block {
        PageBlock::Heading(text) => format!("\n### {}\n", safe_markdown(text)),
        PageBlock::Paragraph(text) => format!("\n{}\n", safe_markdown(text)),
        PageBlock::List(items) => {
            let items: String = items.iter().map(|item| format!("- {}\n", safe_markdown(item))).collect();
            format!("\n{items}")
        }
        PageBlock::Table(table) => table_markdown(table),
        PageBlock::Coloured(table) => coloured_markdown(table),
        PageBlock::Matrix(matrix) => matrix_markdown(matrix),
        PageBlock::Caution(text) => format!("\n**{}**\n", safe_markdown(text)),
        PageBlock::Code(text) => format!("\n{}", super::markdown::code_block(text)),
        PageBlock::Facts(facts) => {
            let fact = |(name, value): &(String, String)| {
                format!("- {}: {}\n", escape::markdown(name), escape::markdown(value))
            };
            format!("\n{}", facts.iter().map(fact).collect::<String>())
        }
        PageBlock::Links(links) => {
            let link = |link: &PageLink| format!("- [{}]({})\n", escape::markdown(&link.text), link.file);
            format!("\n{}", links.iter().map(link).collect::<String>())
        }
        PageBlock::Figures(figures) => {
            let link =
                |figure: &Figure| format!("\n![{}](charts/{}.png)\n", escape::markdown(&figure.title), figure.id);
            figures.iter().map(link).collect()
        }
    }
}

fn table_markdown(table: &PageTable) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = (0..table.heads.len()).map(|at| if at < table.texts { "---" } else { "---:" }.to_owned()).collect();
    let rows = table.rows.iter().map(|row| line(row.iter().map(|cell| escape::markdown(cell)).collect()));
    let heads = table.heads.iter().map(|head| (*head).to_owned()).collect();
    format!("\n{}{}{}", line(heads), line(rule), rows.collect::<String>())
}

fn coloured_markdown(table: &ColouredTable) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = line(table.heads.iter().map(|head| escape::markdown(head)).collect());
    let rule = line((0..table.heads.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(|cell| escape::markdown(&cell.text)).collect()));
    format!("\n{heads}{rule}{}", rows.collect::<String>())
}

/// Escaped, with what is between backticks as code.
fn safe_markdown(text: &str) -> String {
    super::markdown::coded(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

    fn hostile_page() -> Page {
        let texts = || HOSTILE.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let table = PageTable {
            heads: vec!["a", "b"],
            texts: 1,
            rows: texts().into_iter().map(|t| vec![t.clone(), t]).collect(),
        };
        let blocks = vec![
            PageBlock::Heading(HOSTILE[0].to_owned()),
            PageBlock::Paragraph(HOSTILE[1].to_owned()),
            PageBlock::List(texts()),
            PageBlock::Table(table),
        ];
        let section = PageSection { title: HOSTILE[0].to_owned(), blocks };
        let opening = vec![
            PageBlock::Caution(HOSTILE[0].to_owned()),
            PageBlock::Code(HOSTILE[2].to_owned()),
            PageBlock::Facts(texts().into_iter().map(|text| (text.clone(), text)).collect()),
        ];
        let (title, headline) = (HOSTILE[0].to_owned(), HOSTILE[3].to_owned());
        Page { title, headline, lead: texts(), opening, sections: vec![section] }
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        let html = page_html(&hostile_page()).unwrap();
        for bad in ["<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
            assert!(!html.contains(bad), "{bad}");
        }
        assert_eq!(html.matches("<script").count(), 1, "that of the page");
        let markdown = page_markdown(&hostile_page());
        assert!(
            !markdown.contains("<script") && !markdown.replace("\\]", "").contains("](") && !markdown.contains("<img"),
            "{markdown}"
        );
        assert!(markdown.lines().filter(|line| line.starts_with("| ")).count() == HOSTILE.len() + 2, "{markdown}");
    }
}
