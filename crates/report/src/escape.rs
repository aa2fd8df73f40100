//! Text from run files made harmless for each place where it is printed. A run file may come from a stranger.
//!
//! In: any text. Out: the same text for people, without power over the reader's browser, spreadsheet or terminal.
//! Limits: HTML is escaped by the template engine; this module has the other four.

/// For the text and attributes of SVG. Characters that XML 1.0 does not allow are replaced too.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(visible(c)),
        }
    }
    out
}

/// For one cell or line of Markdown: no table, link, emphasis, code or HTML can begin in it.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().map(visible) {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    // A bare address would become a link.
    out.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// For one CSV field, quotes included where they are needed. A field that a spreadsheet would take for a formula is
/// prefixed with `'` (OWASP, "CSV Injection").
pub fn csv(text: &str) -> String {
    let text: String = text.chars().map(visible).collect();
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    let guarded = if is_formula { format!("'{text}") } else { text };
    if guarded.contains([',', '"', ';']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// For a terminal: one line, no control characters, so no escape sequence can begin.
pub fn terminal(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// White space becomes a space; control characters, marks that reorder or hide text, and what XML forbids become `\u{FFFD}`.
fn visible(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}' => '\u{FFFD}',
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        _ if c.is_control() => '\u{FFFD}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

    #[test]
    fn no_hostile_text_keeps_its_markup_in_xml() {
        for text in HOSTILE {
            let document = format!("<a b=\"{0}\">{0}</a>", xml(text));
            let parsed = roxmltree::Document::parse(&document).expect("well-formed");
            assert_eq!(parsed.descendants().filter(|n| n.is_element()).count(), 1, "{text:?}");
        }
    }

    #[test]
    fn no_hostile_text_breaks_a_markdown_row() {
        for text in HOSTILE {
            let safe = markdown(text);
            let bare =
                safe.replace("\\\\", "").replace("\\|", "").replace("\\`", "").replace("\\[", "").replace("\\]", "");
            assert!(!bare.contains(['|', '`', '[', ']', '\n', '<', '>']), "{safe}");
            assert!(!safe.contains("://"), "{safe}");
        }
    }

    #[test]
    fn no_hostile_text_is_a_formula_or_a_second_field() {
        assert_eq!(csv("=1+1"), "'=1+1");
        assert_eq!(csv(" @SUM(A1)"), "' @SUM(A1)");
        assert_eq!(csv("a,\"b\"\nc"), "\"a,\"\"b\"\" c\"");
        for text in HOSTILE {
            let field = csv(text);
            let first = field.trim_start_matches('"').trim_start().chars().next();
            assert!(!matches!(first, Some('=' | '+' | '-' | '@')), "{field}");
            assert!(!field.contains(['\n', '\r']), "{field}");
        }
    }

    #[test]
    fn no_hostile_text_reaches_the_terminal_with_a_control_character() {
        for text in HOSTILE {
            assert!(!terminal(text).chars().any(char::is_control), "{text:?}");
        }
    }
}
