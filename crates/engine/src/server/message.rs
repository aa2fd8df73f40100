//! Messages of servers without the values of statements that are in them.
//!
//! In: a message. Out: the same with `?` for numbers and for what is in quotes. Limits: the word before
//! a quote tells whether a name or a value is in it. These words are English.

/// A quoted text behind one of these words is a name.
pub const NAMED: [&str; 12] = [
    "relation",
    "column",
    "table",
    "constraint",
    "schema",
    "database",
    "role",
    "function",
    "index",
    "user",
    "parameter",
    "extension",
];

/// `message` with `?` for numbers and for what is in quotes, unless `is_name` says of the quote and the word before it that it is a name.
pub fn without_values(message: &str, is_name: impl Fn(char, &str) -> bool) -> String {
    let mut kept = String::new();
    let mut rest = message;
    while let Some(next) = rest.chars().next() {
        // An apostrophe within a word is no quote.
        let is_quote = matches!(next, '\'' | '"') && !kept.ends_with(char::is_alphanumeric);
        let is_number = next.is_ascii_digit() && !kept.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let end = if is_quote {
            quoted_end(rest, next)
        } else if is_number {
            rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())
        } else {
            next.len_utf8()
        };
        let is_value = is_number || is_quote && !is_name(next, kept.split_whitespace().last().unwrap_or_default());
        match is_value {
            true => kept.push('?'),
            false => kept.extend(rest[..end].chars().map(|c| if c.is_control() { ' ' } else { c })),
        }
        rest = &rest[end..];
    }
    kept
}

/// The end of what `text` quotes from its first byte on: behind the next such sign with no letter or digit after it. What goes on in the next line
/// of a log has none here.
fn quoted_end(text: &str, quote: char) -> usize {
    let mut signs = text.match_indices(quote).map(|(at, _)| at).skip(1);
    signs.find(|at| !text[at + 1..].starts_with(char::is_alphanumeric)).map_or(text.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out_also_where_a_quote_is_in_them_or_their_end_is_missing() {
        let of = |message: &str| without_values(message, |quote, word| quote == '"' && NAMED.contains(&word));
        for (message, expected) in [
            ("invalid input syntax for type integer: \"canary one", "invalid input syntax for type integer: ?"),
            ("unterminated quoted string at or near \"'canary two", "unterminated quoted string at or near ?"),
            ("invalid input syntax for type integer: \"x\"canary\"", "invalid input syntax for type integer: ?"),
            ("Duplicate entry 'O'Canary' for key 'PRIMARY'", "Duplicate entry ? for key ?"),
            ("relation \"orders\" can't be read, page 17", "relation \"orders\" can't be read, page ?"),
            ("\u{e9}'\u{e9} \u{1b}[m", "\u{e9}'\u{e9}  [m"),
            ("'", "?"),
            ("", ""),
        ] {
            assert_eq!(of(message), expected, "{message}");
        }
    }
}
