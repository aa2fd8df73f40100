//! The value by which a table is sorted, for cells whose text begins with another number or with none.
//!
//! In: the text of a cell. Out: an attribute for the script of a page, which reads a number with its unit at the beginning of any other
//! text. Limits: it is the value as the text has it, with three digits; equal texts keep their order. Changes are in percent, those that the
//! text gives as a factor too.

/// Cells that are a word, and what it is among the numbers of its column.
const WORDS: [(&str, f64); 4] = [("base", 1.0), ("the same", 0.0), ("less", -100.0), ("more", 1e12)];
/// What a change downwards is called, behind its percentage.
const DOWNWARDS: [&str; 5] = ["lower", "less", "fewer", "slower", "smaller"];

/// ` data-value="12"`, if the script could not read the value from `text`; else empty.
pub fn order_attribute(text: &str) -> String {
    own_value(text).map_or(String::new(), |value| format!(" data-value=\"{value}\""))
}

/// The value of a text that is a word or a factor, that has a plus before its number, or a word behind it that turns it around.
fn own_value(text: &str) -> Option<f64> {
    if let Some((_, value)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Some(*value);
    }
    if let Some(factor) = factor_of(text) {
        return Some(100.0 * (factor - 1.0));
    }
    let number = leading_number(text.trim_start_matches('+'))?;
    // A ratio that is `0.50 slower` is in order as it is.
    let behind = text.split_once(" % ").map_or("", |(_, behind)| behind);
    let is_lowered = behind.split([' ', ',']).next().is_some_and(|word| DOWNWARDS.contains(&word));
    match (text.starts_with('+'), is_lowered) {
        (_, true) => Some(-number),
        (true, false) => Some(number),
        (false, false) => None,
    }
}

/// Of `x 2.9 (2.7 to 3.1)` and of `2.9x as high`.
fn factor_of(text: &str) -> Option<f64> {
    if let Some(factor) = text.strip_prefix("x ") {
        return leading_number(factor);
    }
    let first = text.split(' ').next()?;
    leading_number(first.strip_suffix('x')?)
}

/// The number at the beginning of `text`, with its separators.
fn leading_number(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_their_sign_whatever_word_or_mark_shows_it() {
        assert_eq!(own_value("+12 %"), Some(12.0));
        assert_eq!(own_value("+1,234"), Some(1_234.0));
        assert_eq!(own_value("7.0 % lower"), Some(-7.0));
        assert_eq!(own_value("base"), Some(1.0));
    }

    #[test]
    fn a_factor_is_in_order_with_the_percentages_of_its_column() {
        let texts = [
            "less",
            "x 0.40 (0.3 to 0.5)",
            "7.0 % lower (6.4 to 7.6)",
            "the same",
            "+12 % (3 to 21)",
            "2.9x as high (2.7 to 3.1)",
            "x 11",
            "more",
        ];
        let values = texts.map(|text| own_value(text).unwrap_or_else(|| panic!("{text}")));
        assert!(values.windows(2).all(|two| two[0] < two[1]), "{values:?}");
    }

    #[test]
    fn what_the_script_reads_by_itself_needs_no_attribute() {
        for text in [
            "12.3 ms",
            "-4.2 %",
            "81,234",
            ">10.1",
            "7.0 % higher",
            "-",
            "",
            "mariadb 11",
            "2.91 (2.5 to 3.3)",
            "0.50 slower",
        ] {
            assert_eq!(order_attribute(text), "", "{text}");
        }
    }
}
