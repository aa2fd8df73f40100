//! Code in a sentence: what is between backticks, as Markdown has it.
//!
//! In: a sentence, or what is to be code in one. Out: its parts, code between backticks, or the sentence without the marks of code. Limits:
//! backticks without their partner are text.

/// A part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentencePart<'a> {
    /// What is no code.
    Text(&'a str),
    /// What is between backticks.
    Code(&'a str),
}

/// `text` as code: between more backticks than it has in a row itself, so that none of them ends it.
pub fn code_span(text: &str) -> String {
    let most = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    if most == 0 {
        return format!("`{text}`");
    }
    let ticks = "`".repeat(most + 1);
    format!("{ticks} {text} {ticks}")
}

/// What of `sentence` is code: it is between two runs of equally many backticks.
pub fn sentence_parts(sentence: &str) -> Vec<SentencePart<'_>> {
    let (mut parts, mut rest, mut from) = (Vec::new(), sentence, 0);
    while let Some((at, ticks)) = run_of_ticks(rest, from) {
        let begin = at + ticks;
        let Some(end) = end_of_code(rest, begin, ticks) else {
            from = begin;
            continue;
        };
        if at > 0 {
            parts.push(SentencePart::Text(&rest[..at]));
        }
        let code = &rest[begin..end];
        // The blanks that `code_span` puts there.
        let own = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' ')).filter(|_| ticks > 1);
        parts.push(SentencePart::Code(own.unwrap_or(code)));
        (rest, from) = (&rest[end + ticks..], 0);
    }
    if !rest.is_empty() {
        parts.push(SentencePart::Text(rest));
    }
    parts
}

/// `sentence` for a place that sets nothing apart, such as a terminal: without the marks of code.
pub fn without_marks(sentence: &str) -> String {
    let written = |part: SentencePart| match part {
        SentencePart::Text(text) => text.replace('`', ""),
        SentencePart::Code(code) => without_needless_quotes(code, '`'),
    };
    sentence_parts(sentence).into_iter().map(written).collect()
}

/// `text`, a statement of SQL, without the quotes of names that need none. A name with a blank is no name without them, and PostgreSQL takes
/// capitals for small letters.
pub fn without_needless_quotes(text: &str, quote: char) -> String {
    let pieces: Vec<&str> = text.split(quote).collect();
    // Quotes without their partner, and those within a name: which are which is not known.
    if pieces.len().is_multiple_of(2) || text.contains(&format!("{quote}{quote}")) {
        return text.to_owned();
    }
    let is_small =
        |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit() || (quote == '`' && c.is_ascii_uppercase());
    let needs_none = |name: &str| name.chars().all(is_small) && !name.starts_with(|c: char| c.is_ascii_digit());
    let written = |(nth, piece): (usize, &&str)| {
        if nth % 2 == 0 || needs_none(piece) { (*piece).to_owned() } else { format!("{quote}{piece}{quote}") }
    };
    pieces.iter().enumerate().map(written).collect()
}

/// `statement` with fewer signs, for a place without much room: without the quotes of names that need none, and the blanks that a server puts around
/// the dot between two names.
pub fn brief_statement(statement: &str) -> String {
    without_needless_quotes(&without_needless_quotes(statement, '`'), '"').replace(" . ", ".")
}

/// `text`, which another program wrote, as a part of a sentence: its backticks are quotes of names, and no marks of code.
pub fn quoted_text(text: &str) -> String {
    let text = without_needless_quotes(text, '`');
    if text.contains('`') { code_span(&text) } else { text }
}

/// Where the first backtick of `text` is from `from` on, and how many there are in a row.
fn run_of_ticks(text: &str, from: usize) -> Option<(usize, usize)> {
    let at = from + text[from..].find('`')?;
    let behind = &text[at..];
    Some((at, behind.len() - behind.trim_start_matches('`').len()))
}

/// Where code ends that is from `from` on: at the first run of so many backticks.
fn end_of_code(text: &str, mut from: usize, ticks: usize) -> Option<usize> {
    loop {
        let (at, run) = run_of_ticks(text, from)?;
        if run == ticks {
            return Some(at);
        }
        from = at + run;
    }
}

#[cfg(test)]
mod tests {
    use super::SentencePart::{Code, Text};
    use super::*;

    #[test]
    fn code_with_backticks_is_code_as_a_whole() {
        assert_eq!((code_span("a b"), code_span("`a`.``b")), ("`a b`".into(), "``` `a`.``b ```".into()));
        let sentence = format!("takes {} longer, as `b` does", code_span("select `a` from `t`"));
        assert_eq!(
            sentence_parts(&sentence),
            [Text("takes "), Code("select `a` from `t`"), Text(" longer, as "), Code("b"), Text(" does")]
        );
    }

    #[test]
    fn a_terminal_has_no_marks_of_code_and_keeps_the_quotes_that_a_name_needs() {
        assert_eq!(without_marks("use `--time`, a lone ` is nothing"), "use --time, a lone  is nothing");
        let sentence = format!("{} is slow", code_span("select `a` from `order lines`"));
        assert_eq!(without_marks(&sentence), "select a from `order lines` is slow");
    }

    #[test]
    fn only_quotes_that_are_not_needed_are_left_out() {
        let spared = |text| without_needless_quotes(text, '"');
        assert_eq!(
            spared(r#"SELECT sum("amount EUR"), "a_1" FROM "Orders""#),
            r#"SELECT sum("amount EUR"), a_1 FROM "Orders""#
        );
        assert_eq!((spared(r#""1a" "é""#), spared("a")), (r#""1a" "é""#.to_owned(), "a".to_owned()));
        for unclear in [r#""a" "cut o"#, r#""a""b" "c""#] {
            assert_eq!(spared(unclear), unclear);
        }
        assert_eq!(brief_statement(r#"select "a b" from `Orders` . `my id`"#), r#"select "a b" from Orders.`my id`"#);
        assert_eq!(
            (quoted_text("page of `t`").as_str(), quoted_text("`a b` cut `o").as_str()),
            ("page of t", "`` `a b` cut `o ``")
        );
    }

    #[test]
    fn a_backtick_without_its_partner_is_text() {
        assert_eq!(sentence_parts("a ` b"), [Text("a ` b")]);
        assert_eq!(sentence_parts("`a`` `b"), [Code("a`` "), Text("b")]);
        assert_eq!((sentence_parts("`` a"), sentence_parts("")), (vec![Text("`` a")], Vec::new()));
    }
}
