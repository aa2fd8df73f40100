//! Messages of servers without the values of statements that are in them.
//!
//! In: a message. Out: the same with `?` for numbers and for what is in quotes. Limits: the word before a quote tells whether a name or a value
//! is in it. These words are English. A value with quotes in it may look like two values with words between: these words stay. Of a long
//! message the beginning is kept.

/// The most characters of a message.
const CHARS_MAX: usize = 2_000;

/// Quotes whose ends are other signs: servers use them in other languages.
const TYPOGRAPHIC: [(char, char); 5] = [('«', '»'), ('»', '«'), ('„', '“'), ('“', '”'), ('‘', '’')];

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
    let mut rest = message.char_indices().nth(CHARS_MAX).map_or(message, |(end, _)| &message[..end]);
    while let Some(next) = rest.chars().next() {
        // An apostrophe within a word is no quote.
        let closing = closing_of(next).filter(|_| !kept.ends_with(char::is_alphanumeric));
        let is_number = next.is_ascii_digit() && !kept.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let end = match closing {
            Some(closing) => quoted_end(rest, next, closing),
            None if is_number => rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()),
            None => next.len_utf8(),
        };
        let word = || kept.split_whitespace().last().unwrap_or_default();
        let is_value = is_number || closing.is_some() && !(looks_like_name(&rest[..end]) && is_name(next, word()));
        match is_value {
            true => kept.push('?'),
            false => kept.extend(rest[..end].chars().map(|c| if c.is_control() { ' ' } else { c })),
        }
        rest = &rest[end..];
    }
    kept
}

/// The sign that ends what the sign `quote` begins; `None` if it begins nothing.
fn closing_of(quote: char) -> Option<char> {
    let typographic = TYPOGRAPHIC.iter().find(|(opening, _)| *opening == quote).map(|(_, closing)| *closing);
    typographic.or_else(|| matches!(quote, '\'' | '"').then_some(quote))
}

/// Whether the quoted text may be a name: an expression, as in `out of range in '(7 - 9)'`, has values in it.
fn looks_like_name(quoted: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-' | ' ' | '\'' | '"');
    quoted.chars().all(is_of_name) && quoted.contains(char::is_alphabetic)
}

/// The end of what `text` quotes from its first byte on: behind the first `closing` with no letter or digit after it, and with as many ends as
/// beginnings of quotes behind it. What goes on in the next line of a log has none here.
fn quoted_end(text: &str, quote: char, closing: char) -> usize {
    if closing != quote {
        return text.rfind(closing).map_or(text.len(), |at| at + closing.len_utf8());
    }
    let mut end = text.len();
    let mut open = 0_i32;
    for (at, _) in text.rmatch_indices(quote).filter(|(at, _)| *at > 0) {
        let is_within_word = text[at + 1..].starts_with(char::is_alphanumeric);
        if open == 0 && !is_within_word {
            end = at + 1;
        }
        let begins = text[..at].ends_with(|c: char| c.is_whitespace() || "(=,:@[".contains(c));
        open += i32::from(begins) - i32::from(!begins && !is_within_word);
    }
    end
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
            ("Truncated incorrect value: 'he said 'no', then left'", "Truncated incorrect value: ?"),
            ("Duplicate entry 'dogs' canary' for key 'PRIMARY'", "Duplicate entry ? for key ?"),
            ("near ''-canary one' AND b = 'two'' at line 1", "near ? at line ?"),
            ("Aborted connection 7 to db: 'shop' user: 'ann'@'host'", "Aborted connection ? to db: ? user: ?@?"),
            (
                "ung\u{fc}ltige Syntax f\u{fc}r Typ integer: \u{bb}canary\u{ab}",
                "ung\u{fc}ltige Syntax f\u{fc}r Typ integer: ?",
            ),
            ("value is out of range for column \"(7 - 9)\"", "value is out of range for column ?"),
            ("\u{e9}'\u{e9} \u{1b}[m", "\u{e9}'\u{e9}  [m"),
            ("'", "?"),
            ("", ""),
        ] {
            assert_eq!(of(message), expected, "{message}");
        }
    }
}
