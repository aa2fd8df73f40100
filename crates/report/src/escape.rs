//! Text from run files made harmless for each place where it is printed. A run file may come from a stranger.
//!
//! In: any text. Out: the same text for people, without power over the reader's browser, spreadsheet or terminal.
//! Limits: HTML is escaped by `render/html.rs`; this module has Markdown, CSV and the terminal; the crate `plot`
//! escapes what it writes into an SVG document.

use plot::escape::visible_char;
use words::code::without_marks;

/// For one cell or line of Markdown: no table, link, emphasis, code or HTML can begin in it.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().map(visible_char) {
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

/// For one CSV field, quotes included if they are needed. A field that a spreadsheet would take for a formula is
/// prefixed with `'` (OWASP, "CSV Injection").
pub fn csv(text: &str) -> String {
    let text: String = text.chars().map(visible_char).collect();
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    let guarded = if is_formula { format!("'{text}") } else { text };
    if guarded.contains([',', '"', ';']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// For a terminal: one line, no control characters, so no escape sequence can begin.
pub fn terminal(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// For a sentence in a terminal, which does not set code in another letter: without the marks of code.
pub fn terminal_sentence(text: &str) -> String {
    without_marks(&terminal(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

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
