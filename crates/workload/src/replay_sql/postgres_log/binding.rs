//! The values of a statement of the extended protocol, and the statement with them in place of its parameters.
//!
//! In: a text with `$1`, and the detail of its record: `parameters: $1 = 'it''s', $2 = NULL` (`Parameters:` from 16 on, other words with
//! another `lc_messages`), or the context of its error. Out: the text with literals. Limits: a value that ends in `...` is taken for one that
//! `log_parameter_max_length` has cut, because the log does not tell them apart.

use sql::BoundText;

/// `text` with the values of `detail`; `None` if one is missing or incomplete.
pub(super) fn bound(text: &str, detail: &str) -> Option<BoundText> {
    sql::with_values(text, sql::Dialect::Postgres, &values_of(detail)?).ok()?
}

/// What the `context` of an error says as a detail does, if the server logs parameters on errors: it has `unnamed portal with parameters: $1 = '5'`,
/// or `extended query with parameters: ...` (13), in a line of its own.
pub(super) fn values_in_context(context: &str) -> Option<&str> {
    const BEFORE: &str = " with parameters: $1 = ";
    let is_of_query = |at: &usize| {
        let line = context[..*at].rsplit('\n').next().unwrap_or_default();
        line.starts_with("portal \"") || matches!(line, "unnamed portal" | "extended query")
    };
    let at = context.match_indices(BEFORE).map(|(at, _)| at).find(is_of_query)?;
    Some(&context[at..])
}

/// The values as literals; `None` if one of them is incomplete.
fn values_of(detail: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let Some((_, mut rest)) = detail.split_once(": ").filter(|(_, listed)| listed.starts_with("$1 = ")) else {
        return Some(values);
    };
    while let Some((_, after)) =
        rest.split_once(" = ").filter(|(name, _)| name.trim_start_matches([',', ' ']).starts_with('$'))
    {
        let length =
            if after.starts_with('\'') { quoted_length(after)? } else { after.find(',').unwrap_or(after.len()) };
        let (value, behind) = after.split_at(length);
        if value.ends_with("...'") || !value.starts_with('\'') && value != "NULL" {
            return None;
        }
        values.push(value.to_owned());
        rest = behind;
    }
    Some(values)
}

/// The length of the text in quotes at the beginning of `text`; `None` if it is not closed.
fn quoted_length(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\'' && chars.next_if(|(_, next)| *next == '\'').is_none() {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bound_text(text: &str, detail: &str) -> Option<String> {
        bound(text, detail).map(|bound| bound.text)
    }

    #[test]
    fn parameters_become_literals_except_in_quotes_and_comments() {
        let detail = "parameters: $1 = '4', $2 = 'it''s, $1 = x', $3 = NULL";
        for (text, expected) in [
            ("c = $1 AND d = $2::text", "c = '4' AND d = 'it''s, $1 = x'::text"),
            ("c, '$1' WHERE $3", "c, '$1' WHERE NULL"),
            ("c -- the customer's rows\nWHERE id = $1", "c -- the customer's rows\nWHERE id = '4'"),
        ] {
            assert_eq!(bound_text(text, detail).as_deref(), Some(expected));
        }
        assert_eq!(bound_text("SELECT $1", "Parameters: $1 = 'x'").as_deref(), Some("SELECT 'x'"));
        assert_eq!(bound_text("SELECT $1", "Parameter: $1 = 'x'").as_deref(), Some("SELECT 'x'"));
        assert_eq!(bound_text("SELECT 1", "").as_deref(), Some("SELECT 1"));
    }

    #[test]
    fn an_error_has_the_values_of_its_statement_in_its_context() {
        let by_error = |context: &str| bound_text("SELECT $1, $2", values_in_context(context)?);
        let values = "with parameters: $1 = '4', $2 = 'a\nb'";
        for before in
            ["unnamed portal", "portal \"C_1: x\"", "extended query", "PL/pgSQL function f() line 3\nunnamed portal"]
        {
            assert_eq!(by_error(&format!("{before} {values}")).as_deref(), Some("SELECT '4', 'a\nb'"), "{before}");
        }
        for context in [
            "",
            "unnamed portal parameter $1 = '4'",
            "SQL statement \"unnamed portal with parameters: $1 = '4', $2 = '5'\"",
        ] {
            assert_eq!(values_in_context(context), None, "{context}");
        }
        assert_eq!(by_error("unnamed portal with parameters: $1 = '4', $2 = 'abc...'"), None);
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
            let _ = values_in_context(&format!("{text}\n{detail} with parameters: $1 = {text}"));
        }

        #[test]
        fn no_signs_are_too_strange(text in "[aeE'\"$\\\\/*1 \né-]{0,40}", detail in "[$12= ',NUL.é]{0,30}") {
            let _ = bound(&text, &format!("parameters: $1 = {detail}"));
        }
    }
}
