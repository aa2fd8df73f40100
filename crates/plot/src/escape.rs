//! Escapes text of unknown origin for an SVG document.
//!
//! In: any text. Out: the same text for people, which a browser cannot take for markup or hide.
//! Limits: it is for the text and attributes of XML; other formats need more, and can build on [`visible_char`].

/// For the text and attributes of XML. Characters that XML 1.0 does not allow are replaced, too.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(visible_char(c)),
        }
    }
    out
}

/// White space becomes a space; control characters, marks that reorder or hide text, and what XML forbids become `\u{FFFD}`.
pub fn visible_char(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        // Invisible and reordering marks can make one text look like another (Unicode Technical Report 36, section 2).
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}' => '\u{FFFD}',
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        _ if c.is_control() => '\u{FFFD}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that try to become markup, code, an escape sequence or a second line.
    const HOSTILE: [&str; 8] = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'; onload='alert(1)",
        "</title></svg><script>alert(1)</script>",
        "]]><!-- --> <![CDATA[",
        "&lt;&#60;&amp;",
        "\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}",
        "\u{202e}txt.exe\u{200b}\u{0}\u{8}\u{fffe}",
    ];

    #[test]
    fn no_hostile_text_keeps_its_markup_in_xml() {
        for text in HOSTILE {
            let document = format!("<a b=\"{0}\">{0}</a>", escape_xml(text));
            let parsed = roxmltree::Document::parse(&document).expect("well-formed");
            assert_eq!(parsed.descendants().filter(|n| n.is_element()).count(), 1, "{text:?}");
        }
    }
}
