//! The values of a statement of the extended protocol, and the statement with them in place of its parameters.
//!
//! In: a text with `$1`, and the detail of its record: `parameters: $1 = 'it''s', $2 = NULL` (`Parameters:` from 16 on, other words with
//! another `lc_messages`). Out: the text with literals. Limits: a value that ends in `...` is taken for one that `log_parameter_max_length`
//! has cut, because the log does not tell them apart.

/// `text` with the values of `detail`; `None` if one is missing, or is not whole.
pub(super) fn bound(text: &str, detail: &str) -> Option<String> {
    bind(text, &values_of(detail)?)
}

/// The values as literals; `None` if one of them is not whole.
fn values_of(detail: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let Some((_, mut rest)) = detail.split_once(": ").filter(|(_, listed)| listed.starts_with("$1 = ")) else {
        return Some(values);
    };
    while let Some((_, after)) =
        rest.split_once(" = ").filter(|(name, _)| name.trim_start_matches([',', ' ']).starts_with('$'))
    {
        let length = if after.starts_with('\'') {
            quoted_length(after, '\'', false)?
        } else {
            after.find(',').unwrap_or(after.len())
        };
        let (value, behind) = after.split_at(length);
        if value.ends_with("...'") || !value.starts_with('\'') && value != "NULL" {
            return None;
        }
        values.push(value.to_owned());
        rest = behind;
    }
    Some(values)
}

/// `text` with a literal in place of each `$1` that is none within quotes or comments; `None` if one has no value.
fn bind(text: &str, values: &[String]) -> Option<String> {
    let (mut bound, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let before = text[..at].chars().next_back();
        if let Some(number) = parameter(rest).filter(|_| !before.is_some_and(in_name)) {
            bound.push_str(values.get(number.parse::<usize>().ok()?.checked_sub(1)?)?);
            at += 1 + number.len();
            continue;
        }
        let length = opaque_length(rest, before).unwrap_or(c.len_utf8());
        bound.push_str(&rest[..length]);
        at += length;
    }
    Some(bound)
}

/// The digits of the `$1` at the beginning of `text`.
fn parameter(text: &str) -> Option<&str> {
    let after = text.strip_prefix('$')?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| &after[..digits])
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The length of the comment or of the quoted text at the beginning of `text`; up to its end if it is not closed. `before` is the sign before it.
fn opaque_length(text: &str, before: Option<char>) -> Option<usize> {
    let whole = Some(text.len());
    match text.chars().next()? {
        '\'' => quoted_length(text, '\'', matches!(before, Some('e' | 'E'))).or(whole),
        '"' => quoted_length(text, '"', false).or(whole),
        '-' if text.starts_with("--") => text.find('\n').or(whole),
        '/' if text.starts_with("/*") => Some(comment_length(text)),
        '$' if !before.is_some_and(in_name) => dollar_quoted_length(text),
        _ => None,
    }
}

/// The length of what is in quotes at the beginning of `text`; `None` if it is not closed.
fn quoted_length(text: &str, quote: char, has_escapes: bool) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && has_escapes {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// Comments hold comments.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of `$tag$ ... $tag$`; `None` if it is none.
fn dollar_quoted_length(text: &str) -> Option<usize> {
    let end = text[1..].find(|c: char| !c.is_alphanumeric() && c != '_')? + 1;
    let tag = text[end..].starts_with('$').then(|| &text[..=end])?;
    Some(text[tag.len()..].find(tag).map_or(text.len(), |close| tag.len() * 2 + close))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_become_literals_except_in_quotes_and_comments() {
        let detail = "parameters: $1 = '4', $2 = 'it''s, $1 = x', $3 = NULL";
        for (text, expected) in [
            ("c = $1 AND d = $2::text", "c = '4' AND d = 'it''s, $1 = x'::text"),
            ("c, '$1' WHERE $3", "c, '$1' WHERE NULL"),
            ("c -- the customer's rows\nWHERE id = $1", "c -- the customer's rows\nWHERE id = '4'"),
            ("c /* don't /* $1 */ $1 */ = $1", "c /* don't /* $1 */ $1 */ = '4'"),
            ("$$a'b$$ = $1, $t$ $1 $t$", "$$a'b$$ = '4', $t$ $1 $t$"),
            ("E'it\\'s' = $1", "E'it\\'s' = '4'"),
            ("\"a$1\" = $1, a$1", "\"a$1\" = '4', a$1"),
            ("'\\' = $1", "'\\' = '4'"),
        ] {
            assert_eq!(bound(text, detail).as_deref(), Some(expected));
        }
        assert_eq!(bound("SELECT $1", "Parameters: $1 = 'x'").as_deref(), Some("SELECT 'x'"));
        assert_eq!(bound("SELECT $1", "Parameter: $1 = 'x'").as_deref(), Some("SELECT 'x'"));
        assert_eq!(bound("SELECT 1", "").as_deref(), Some("SELECT 1"));
    }

    #[test]
    fn what_is_cut_or_missing_is_not_bound() {
        for detail in
            ["", "parameters: $1 = 'abc...'", "parameters: $1 = 'ab", "parameters: $1 = ", "parameters: $1 = NU"]
        {
            assert_eq!(bound("SELECT $1", detail), None, "{detail}");
        }
        assert_eq!(bound("SELECT $1, $2", "parameters: $1 = '...a'"), None);
        assert_eq!(bound("SELECT $0", "parameters: $1 = '1'"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text: String, detail: String) {
            let _ = bound(&text, &detail);
            let _ = bound(&text, &format!("parameters: $1 = {detail}"));
        }

        #[test]
        fn no_signs_are_too_strange(text in "[aeE'\"$\\\\/*1 \né-]{0,40}", detail in "[$12= ',NUL.é]{0,30}") {
            let _ = bound(&text, &format!("parameters: $1 = {detail}"));
        }
    }
}
