//! A document as Markdown, to be pasted into a ticket. All text is escaped here; what is between backticks is set as code.

use super::matrix::matrix_markdown;
use super::page::{Page, PageBlock, PageSection};
use crate::escape;
use crate::escape::markdown as safe;
use crate::findings::FindingItem;
use crate::table::{Cell, Row, Table};
use words::code::{SentencePart, code_span, sentence_parts};

/// The document. Its figures are linked as `charts/ID.png`.
pub fn page_markdown(page: &Page) -> String {
    let mut out = format!("# {}\n\n", coded(&page.headline));
    if !page.question.is_empty() {
        out += &format!("{}\n\n", coded(&page.question));
    }
    out.extend(page.lead.iter().map(|sentence| format!("- {}\n", coded(sentence))));
    out.extend(page.opening.iter().map(block));
    out.extend(page.sections.iter().map(section));
    out
}

fn section(section: &PageSection) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    format!("\n## {}\n{blocks}", coded(&section.title))
}

fn block(one: &PageBlock) -> String {
    match one {
        PageBlock::Heading(text) => format!("\n### {}\n", coded(text)),
        PageBlock::Paragraph(text) | PageBlock::Small(text) | PageBlock::Lead(text) => format!("\n{}\n", coded(text)),
        PageBlock::List(items) => {
            format!("\n{}", items.iter().map(|item| format!("- {}\n", coded(item))).collect::<String>())
        }
        PageBlock::Table(one) => table(one),
        PageBlock::Matrix(all) => all.iter().map(matrix_markdown).collect(),
        PageBlock::Caution(text) | PageBlock::Error(text) => format!("\n**{}**\n", coded(text)),
        PageBlock::Trust(badges, text) => {
            let badges: String = badges.iter().map(|(count, word)| format!("{count} {word}. ")).collect();
            format!("\nTrust: {badges}{}\n", coded(text))
        }
        PageBlock::Next(text) => format!("\nNext: {}\n", coded(text)),
        PageBlock::Findings(all) => format!("\n{}", all.iter().map(finding).collect::<String>()),
        PageBlock::Code(text) => format!("\n{}", code_block(text)),
        PageBlock::Facts(facts) => {
            let facts = facts.iter().map(|fact| format!("- {}: {}\n", safe(&fact.name), coded(&fact.value)));
            format!("\n{}", facts.collect::<String>())
        }
        PageBlock::Links(links) => {
            let links = links.iter().map(|link| format!("- [{}]({})\n", safe(&link.text), link.file));
            format!("\n{}", links.collect::<String>())
        }
        PageBlock::Figures(figures) => {
            figures.iter().map(|figure| format!("\n![{}](charts/{}.png)\n", safe(&figure.title), figure.id)).collect()
        }
        PageBlock::Folded(_, blocks) => blocks.iter().map(block).collect(),
        PageBlock::Pictures(_) | PageBlock::Main(_) | PageBlock::Contents => String::new(),
    }
}

/// A table for each part of the columns, what is below its rows as a list, and its notes.
fn table(table: &Table) -> String {
    let title = if table.title.is_empty() { String::new() } else { format!("\n### {}\n", coded(&table.title)) };
    let warnings: String = table.warnings.iter().map(|warning| format!("\n**{}**\n", coded(warning))).collect();
    let has_groups = table.has_groups();
    let names = |row: &Row| has_groups.then(|| safe(&row.group)).into_iter().chain([safe(&row.label_text())]);
    let mut out = title + &warnings;
    for (part, places) in table.parts() {
        if !part.is_empty() {
            out += &format!("\n#### {part}\n");
        }
        let heads = has_groups.then_some(table.group_head).into_iter().chain([table.label_head.as_str()]);
        let columns = || places.iter().map(|nth| &table.columns[*nth]);
        let heads = heads.chain(columns().map(|column| column.long_head.as_str())).map(coded);
        let rules = std::iter::repeat_n("---", if has_groups { 2 } else { 1 });
        let rules = rules.chain(columns().map(|column| if column.is_text { "---" } else { "---:" }));
        out += &format!("\n{}|{}|\n", line(heads), rules.collect::<Vec<_>>().join("|"));
        out.extend(
            table.rows.iter().map(|row| line(names(row).chain(places.iter().map(|nth| coded(&row.cells[*nth].text))))),
        );
    }
    let below = |row: &Row, cell: &Cell| format!("- {}: {}\n", safe(&row.label_text()), coded(&cell.text));
    let below: String = table.rows.iter().flat_map(|row| row.below.iter().map(move |cell| below(row, cell))).collect();
    if !below.is_empty() {
        out += &format!("\n{below}");
    }
    out.extend(table.notes.iter().map(|note| format!("\n{}\n", coded(note))));
    for (title, text) in &table.texts {
        // Four blanks make a block of code, in which nothing has a meaning.
        let lines: String = text.lines().map(|line| format!("    {}\n", escape::terminal(line))).collect();
        out += &format!("\n{}:\n\n{lines}", coded(title));
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// What was found in one line, and under it each place with its evidence; what to do is written once if it is the same for all.
fn finding(group: &FindingItem) -> String {
    let places = group.places.as_ref().map_or(String::new(), |places| format!("{}: ", safe(places)));
    let head = format!("- **{}** {places}{} ({})", group.severity, coded(&group.heading), safe(group.code));
    let next = |step: &str| if step.is_empty() { String::new() } else { format!(". Next: {}", coded(step)) };
    let common = next(&group.next_step);
    if let [only] = group.members.as_slice() {
        return format!("{head}: {}{common}\n", coded(&only.evidence));
    }
    let mut out = format!("{head}{common}\n");
    for member in &group.members {
        let title = if member.title == group.heading { String::new() } else { format!("{}: ", coded(&member.title)) };
        let (place, evidence) = (safe(&member.place), coded(&member.evidence));
        out += &format!("  - {place}: {title}{evidence}{}\n", next(&member.next_step));
    }
    out
}

/// `text` as a block of code, in which nothing has a meaning. What a careless reader could take for markup is escaped like other text.
pub(crate) fn code_block(text: &str) -> String {
    let text = escape::terminal(text);
    if text.contains(['<', '[', ']', '`']) { format!("{}\n", safe(&text)) } else { format!("    {text}\n") }
}

/// `text` made harmless. What is between backticks stays code if it has nothing but plain characters.
pub(crate) fn coded(text: &str) -> String {
    let written = |part: SentencePart| match part {
        SentencePart::Code(code) if is_plain(code) => code_span(code),
        SentencePart::Code(text) | SentencePart::Text(text) => safe(text),
    };
    sentence_parts(text).into_iter().map(written).collect()
}

/// Whether `code` is harmless even to a reader that does not see the backticks around it: no tag, link or cell begins in it.
fn is_plain(code: &str) -> bool {
    const SIGNS: &str = " _-+=.,:;/%()?*'\"$@{}<>`";
    let begins_tag = code.split('<').skip(1).any(|behind| !behind.starts_with([' ', '=', '>']));
    !begins_tag && code.chars().all(|c| c.is_ascii_alphanumeric() || SIGNS.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_code_and_what_could_be_markup_is_escaped() {
        let kind = "`select * from t where a < ?` (2)";
        assert_eq!(coded(kind), kind);
        let quoted = code_span("select `a` from `t`");
        assert_eq!((coded(&quoted), quoted.as_str()), (quoted.clone(), "`` select `a` from `t` ``"));
        assert_eq!(coded("`<b>` and `-t`, a lone `"), "&lt;b&gt; and `-t`, a lone \\`");
        assert_eq!(coded("`a|b` `a<`"), "a\\|b a&lt;");
    }
}
