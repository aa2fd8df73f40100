//! A value in place of another: of the same type, the same length and the same make.
//!
//! In: what is in the quotes of a text, or a number. Out: another one. The same becomes the same, and what differs differs, whatever the quotes
//! around it. Limits: 0, 1 and words for true, false and NULL stay, so do signs, blanks and units of time. Of a text of more letters than 2^120 can
//! tell, two could become one by chance, which nobody will see happen.

use super::secret::{RANGE_MAX, Secret};
use crate::replay_sql::days::{date_of_day, days_since_1970, seconds_of_day};
use sha2::Digest;

/// What means the same to everybody.
const KEPT: [&str; 11] =
    ["true", "false", "t", "f", "null", "0", "1", "0000-00-00", "0000-00-00 00:00:00", "infinity", "-infinity"];
/// Units of time, without the `s` behind them.
const UNITS: &str = "microsecond millisecond second minute hour day week month quarter year decade century millennium epoch dow doy isodow \
    isoyear min sec mon";
/// Numbers that types end with: what fits still fits.
const ENDS_OF_TYPES: [u128; 3] = [i16::MAX as u128, i32::MAX as u128, i64::MAX as u128];
/// Numbers of more digits are texts.
const DIGITS_MAX: usize = 30;

/// How a text is written.
#[derive(Clone, Copy)]
pub(super) struct Quoting {
    /// The sign around it, which is doubled in it; NUL for none.
    pub quote: char,
    /// Whether a backslash escapes.
    pub escapes: bool,
    /// Whether its letters are digits, and up to which: of X'1f', B'01'.
    pub digits: Digits,
}

/// What the letters and digits of a text are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    /// Letters, and decimal digits.
    Decimal,
    Hexadecimal,
    Octal,
    Binary,
}

/// The other value of `text`, which is a number or is in quotes.
pub(super) fn other_value(secret: &Secret, text: &str, quoting: Quoting) -> String {
    if KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(text)) {
        return text.to_owned();
    }
    let of_kind = if quoting.digits == Digits::Decimal {
        other_number(secret, text).or_else(|| other_moment(secret, text)).or_else(|| other_interval(secret, text))
    } else {
        None
    };
    of_kind.unwrap_or_else(|| other_text(secret, text, quoting))
}

/// Digits behind a point without the zeros at their end: their number among all that are as long, and how many those are.
fn fraction_place(digits: &str) -> (u128, u128) {
    let Some(many) = (digits.len() as u32).checked_sub(1) else { return (0, 1) };
    let value: u128 = digits.parse().expect("they are digits, and not too many");
    (value / 10 * 9 + value % 10 - 1, 9 * 10u128.pow(many))
}

fn fraction_at(place: u128, many: usize) -> String {
    if many == 0 { String::new() } else { format!("{:0many$}", place / 9 * 10 + place % 9 + 1) }
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of `-12.50e3`: the sign, the zeros and the exponent stay.
fn other_number(secret: &Secret, text: &str) -> Option<String> {
    let unsigned = text.trim_start_matches(['-', '+']);
    let (sign, zeros_and_more) = text.split_at(text.len() - unsigned.len());
    let (mantissa, exponent) = zeros_and_more.split_at(zeros_and_more.find(['e', 'E']).unwrap_or(zeros_and_more.len()));
    let power = exponent.get(1..).unwrap_or("0");
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = sign.len() <= 1
        && mantissa.len() > usize::from(mantissa.contains('.'))
        && [whole, fraction, power].into_iter().all(are_digits)
        && !power.is_empty();
    let digits = whole.trim_start_matches('0');
    let behind = fraction.trim_end_matches('0');
    if !is_number || digits.len() + behind.len() > DIGITS_MAX {
        return None;
    }
    let value: u128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let is_whole = behind.is_empty() && exponent.is_empty();
    if behind.is_empty() && value == 0 || is_whole && value == 1 {
        return Some(text.to_owned());
    }
    let (low, high) = range_of(value, digits.len(), is_whole);
    let (place, many) = fraction_place(behind);
    let format = [digits.len() as u8, behind.len() as u8, exponent.len() as u8];
    let other = secret.permuted((high - low + 1) * many, (value - low) * many + place, &format);
    let zeros = &whole[..whole.len() - digits.len()];
    let other_whole = if digits.is_empty() { String::new() } else { (low + other / many).to_string() };
    let point = &mantissa[whole.len()..(whole.len() + 1).min(mantissa.len())];
    let other_behind = fraction_at(other % many, behind.len());
    let zeros_behind = &fraction[behind.len()..];
    Some([sign, zeros, &other_whole, point, &other_behind, zeros_behind, exponent].concat())
}

/// The least and the greatest number that `value` may become, which has so many digits.
fn range_of(value: u128, digits: usize, is_whole: bool) -> (u128, u128) {
    if digits == 0 {
        return (0, 0);
    }
    let (mut low, mut high) = (10u128.pow(digits as u32 - 1), 10u128.pow(digits as u32) - 1);
    if is_whole && digits == 1 {
        // 0 and 1 stay.
        low = 2;
    }
    for end in ENDS_OF_TYPES.into_iter().filter(|_| is_whole) {
        if value <= end {
            high = high.min(end);
        } else {
            low = low.max(end + 1);
        }
    }
    (low, high)
}

/// Of `2024-03-01`, `2024-03-01 10:00:00.25+01`, `10:00`.
fn other_moment(secret: &Secret, text: &str) -> Option<String> {
    if let Some(other) = other_time(secret, text, "") {
        return Some(other);
    }
    let (date, rest) = text.split_at_checked(10)?;
    let other_date = other_date(secret, date)?;
    let Some(between) = rest.chars().next() else { return Some(other_date) };
    let body = rest.get(1..)?;
    let (time, zone) = body.split_at(body.find(['+', '-', 'Z', ' ']).unwrap_or(body.len()));
    let distance = zone.trim_start().strip_prefix(['+', '-']);
    let is_distance =
        distance.is_some_and(|digits| digits.len() <= 5 && digits.chars().all(|c| matches!(c, '0'..='9' | ':')));
    let is_zone = is_distance || matches!(zone, "" | "Z" | " UTC");
    let other_time = other_time(secret, time, date)?;
    (matches!(between, ' ' | 'T') && is_zone).then(|| format!("{other_date}{between}{other_time}{zone}"))
}

/// Days stay on their side of 1970 and of 2038, between which MySQL's TIMESTAMP is.
fn other_date(secret: &Secret, date: &str) -> Option<String> {
    let number = |part: &str| part.parse::<i64>().ok().filter(|_| are_digits(part));
    let separator = date.get(4..5).filter(|sign| matches!(*sign, "-" | "/"))?;
    (date.get(7..8)? == separator).then_some(())?;
    let (year, month, day) = (number(date.get(..4)?)?, number(date.get(5..7)?)?, number(date.get(8..)?)?);
    let days = days_since_1970(year, month, day)?;
    if date_of_day(days) != (year, month, day) || year < 1_000 {
        return None;
    }
    let ends = [(1_000, 1_969), (1_970, 2_037), (2_038, 9_999)];
    let (first, last) = ends.into_iter().find(|(_, last)| year <= *last)?;
    let (low, high) = (days_since_1970(first, 1, 1)?, days_since_1970(last, 12, 31)?);
    let other = low + secret.permuted((high - low + 1) as u128, (days - low) as u128, b"date") as i64;
    let (year, month, day) = date_of_day(other);
    Some(format!("{year:04}{separator}{month:02}{separator}{day:02}"))
}

/// Midnight stays, so that a day is still the beginning of itself. A time of another `date` becomes another one.
fn other_time(secret: &Secret, time: &str, date: &str) -> Option<String> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let is_clock = matches!(clock.len(), 5 | 8)
        && clock.bytes().enumerate().all(|(at, byte)| if at % 3 == 2 { byte == b':' } else { byte.is_ascii_digit() });
    let is_fraction = are_digits(fraction) && fraction.len() <= 9 && (clock.len() == 8 || time.len() == 5);
    (is_clock && is_fraction).then_some(())?;
    let part = |at: usize| clock.get(at..at + 2).map_or(Some(0), |part| part.parse::<i64>().ok());
    let seconds = seconds_of_day(part(0)?, part(3)?, part(6)?).filter(|seconds| *seconds < 86_400)?;
    let behind = fraction.trim_end_matches('0');
    if seconds == 0 && behind.is_empty() {
        return Some(time.to_owned());
    }
    let unit = if clock.len() == 5 { 60 } else { 1 };
    let (place, many) = fraction_place(behind);
    // Midnight is none of them, unless there is more behind it.
    let least = u128::from(behind.is_empty());
    let at = (seconds / unit) as u128 - least;
    let format = format!("{date} {unit} {}", behind.len());
    let units = (86_400 / unit) as u128 - least;
    let other = secret.permuted(units * many, at * many + place, format.as_bytes());
    let seconds = (other / many + least) as i64 * unit;
    let clock_text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let point = if time.len() > clock.len() { "." } else { "" };
    let zeros = &fraction[behind.len()..];
    Some(format!("{}{point}{}{zeros}", &clock_text[..clock.len()], fraction_at(other % many, behind.len())))
}

/// Of `3 days 2 hours`, or `day` alone: units stay.
fn other_interval(secret: &Secret, text: &str) -> Option<String> {
    let is_unit = |word: &str| {
        let word = word.to_ascii_lowercase();
        UNITS.split(' ').any(|unit| unit == word || Some(unit) == word.strip_suffix('s'))
    };
    if text.len() > 100 || !text.split(' ').any(is_unit) {
        return None;
    }
    let word = |word: &str| if is_unit(word) { Some(word.to_owned()) } else { other_number(secret, word) };
    let words: Option<Vec<String>> = text.split(' ').map(word).collect();
    words.map(|words| words.join(" "))
}

/// Signs stay in their places; each letter and each digit becomes another one of its kind.
fn other_text(secret: &Secret, text: &str, quoting: Quoting) -> String {
    let reader = || TextReader::new(text, quoting);
    let (mut format, mut content) = (secret.digest().chain_update([1u8]), secret.digest().chain_update([2u8]));
    let (mut range, mut place) = (1u128, 0u128);
    for part in reader() {
        match part {
            TextPart::Kept { meant, .. } => {
                format.update(u32::from(meant).to_le_bytes());
                content.update(u32::from(meant).to_le_bytes());
            }
            TextPart::Drawn { class, letter } => {
                format.update([&[0xffu8][..], &class.first.to_le_bytes()[..], &class.count.to_le_bytes()].concat());
                content.update(u32::from(letter).to_le_bytes());
                place = place.wrapping_mul(class.count.into()).wrapping_add(class.place_of(letter).into());
                range = range.saturating_mul(class.count.into());
            }
        }
    }
    let mut drawn: Box<dyn FnMut(Class) -> char> = if range <= RANGE_MAX {
        let mut left = secret.permuted(range, place, &format.finalize());
        Box::new(move |class: Class| {
            range /= u128::from(class.count);
            let nth = left / range;
            left %= range;
            class.letter(nth as u32)
        })
    } else {
        let mut numbers = secret.numbers(&content.finalize());
        Box::new(move |class: Class| class.letter(numbers.next().expect("they have no end") % class.count))
    };
    let mut other = String::with_capacity(text.len());
    for part in reader() {
        match part {
            TextPart::Kept { written, .. } => other.push_str(written),
            TextPart::Drawn { class, .. } => other.push(drawn(class)),
        }
    }
    other
}

/// Letters or digits that become one another.
#[derive(Clone, Copy)]
struct Class {
    first: u32,
    count: u32,
}

impl Class {
    fn from_to(first: char, last: char) -> Class {
        Class { first: first.into(), count: u32::from(last) - u32::from(first) + 1 }
    }

    fn place_of(self, letter: char) -> u32 {
        u32::from(letter) - self.first
    }

    fn letter(self, place: u32) -> char {
        char::from_u32(self.first + place).expect("a class has no surrogates")
    }
}

/// Letters beyond ASCII by their blocks, which have the same number of bytes.
const BLOCKS: [(char, char); 6] = [
    ('\u{80}', '\u{bf}'),
    ('\u{c0}', '\u{ff}'),
    ('\u{100}', '\u{7ff}'),
    ('\u{800}', '\u{d7ff}'),
    ('\u{e000}', '\u{ffff}'),
    ('\u{10000}', '\u{10ffff}'),
];

/// A part of a text.
enum TextPart<'a> {
    /// What stays, and the letter that it means.
    Kept { written: &'a str, meant: char },
    /// What becomes another one.
    Drawn { class: Class, letter: char },
}

/// Reads a text part by part, as it stands in its quotes.
struct TextReader<'a> {
    text: &'a str,
    at: usize,
    quoting: Quoting,
    /// Whether it looks like JSON, whose words stay.
    is_json: bool,
    /// Whether all its letters are digits of base 16, as in a UUID.
    is_hexadecimal: bool,
    before: char,
    /// How many bytes of a word that stays are still to come.
    kept: usize,
}

impl<'a> TextReader<'a> {
    fn new(text: &'a str, quoting: Quoting) -> TextReader<'a> {
        let letters = || text.bytes().filter(u8::is_ascii_alphanumeric);
        let looks_hexadecimal = quoting.digits == Digits::Decimal
            && text.len() <= 128
            && letters().count() >= 8
            && letters().all(|byte| byte.is_ascii_hexdigit())
            && letters().any(|byte| byte.is_ascii_digit());
        let is_hexadecimal = quoting.digits == Digits::Hexadecimal || looks_hexadecimal;
        let is_json = text.trim_start().starts_with(['{', '[']);
        TextReader { text, at: 0, quoting, is_json, is_hexadecimal, before: ' ', kept: 0 }
    }

    /// The part at the place that was reached, and its length: an escape or a doubled quote means one letter.
    fn part(&self, letter: char) -> (TextPart<'a>, usize) {
        let rest = &self.text[self.at..];
        let Quoting { quote, escapes, .. } = self.quoting;
        let next = rest[letter.len_utf8()..].chars().next();
        if let Some(next) = next.filter(|next| letter == quote && *next == quote) {
            return (TextPart::Kept { written: &rest[..2], meant: next }, 2);
        }
        if let Some(next) = next.filter(|_| letter == '\\' && escapes) {
            let length = 1 + next.len_utf8();
            return match self.class_of(next) {
                // A backslash before any other letter means nothing.
                Some(class) if !"0bnrtZfv".contains(next) => (TextPart::Drawn { class, letter: next }, length),
                _ => (TextPart::Kept { written: &rest[..length], meant: escaped(next) }, length),
            };
        }
        let length = letter.len_utf8();
        let kept = TextPart::Kept { written: &rest[..length], meant: letter };
        let is_kept = self.kept > 0 || self.is_json && self.before == '\\' && "bfnrtu".contains(letter);
        match self.class_of(letter).filter(|_| !is_kept) {
            Some(class) => (TextPart::Drawn { class, letter }, length),
            None => (kept, length),
        }
    }

    fn class_of(&self, c: char) -> Option<Class> {
        let last_digit = match self.quoting.digits {
            Digits::Binary if c <= '1' => '1',
            Digits::Octal if c <= '7' => '7',
            _ => '9',
        };
        // `10.0.0.7` and JSON's numbers: what begins with a zero does so still, and nothing else does.
        let is_number = self.quoting.digits == Digits::Decimal && !self.is_hexadecimal;
        let begins = is_number && !self.before.is_ascii_digit();
        match c {
            '0' if begins => None,
            '0'..='9' => Some(Class::from_to(if begins { '1' } else { '0' }, last_digit)),
            'a'..='f' if self.is_hexadecimal => Some(Class::from_to('a', 'f')),
            'A'..='F' if self.is_hexadecimal => Some(Class::from_to('A', 'F')),
            'a'..='z' => Some(Class::from_to('a', 'z')),
            'A'..='Z' => Some(Class::from_to('A', 'Z')),
            _ => BLOCKS.iter().find(|(first, last)| (*first..=*last).contains(&c)).map(|(a, b)| Class::from_to(*a, *b)),
        }
    }

    /// The length of the word of JSON that begins here.
    fn json_word(&self) -> usize {
        let rest = &self.text[self.at..];
        let is_word = |word: &&str| {
            rest.strip_prefix(*word).is_some_and(|behind| !behind.starts_with(|c: char| c.is_alphanumeric()))
        };
        let begins = self.is_json && !self.before.is_alphanumeric();
        ["true", "false", "null"].iter().find(|word| begins && is_word(word)).map_or(0, |word| word.len())
    }
}

impl<'a> Iterator for TextReader<'a> {
    type Item = TextPart<'a>;

    fn next(&mut self) -> Option<TextPart<'a>> {
        let letter = self.text[self.at..].chars().next()?;
        if self.kept == 0 {
            self.kept = self.json_word();
        }
        let (part, length) = self.part(letter);
        self.kept = self.kept.saturating_sub(length);
        self.before = match part {
            // Of two backslashes in JSON the second begins no escape.
            TextPart::Kept { meant: '\\', .. } if self.before == '\\' => ' ',
            TextPart::Kept { meant, .. } => meant,
            TextPart::Drawn { letter, .. } => letter,
        };
        self.at += length;
        Some(part)
    }
}

/// What a letter behind a backslash means.
fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const PLAIN: Quoting = Quoting { quote: '\'', escapes: true, digits: Digits::Decimal };

    fn other(text: &str) -> String {
        other_value(&Secret::fixed(), text, PLAIN)
    }

    /// The text with `9` for each digit and `a` for each letter.
    fn make_of(text: &str) -> String {
        let sign = |c: char| match c {
            '0'..='9' => '9',
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            c if c.is_ascii() => c,
            _ => '\u{fffd}',
        };
        text.chars().map(sign).collect()
    }

    #[test]
    fn a_value_keeps_its_make_and_becomes_another() {
        for text in [
            "42",
            "-17.250",
            "+3e5",
            "0042",
            "2147483647",
            "9223372036854775807",
            "0.05",
            "12345678901234567890123456789012345",
            "hello World",
            "o''brien@example.org",
            "%smith_",
            "10.20.30.40",
            "{\"a\": [12, \"b\"]}",
            "2024-03-01",
            "2024-03-01 10:20:30.250000+01",
            "2024-02-29T23:59:59Z",
            "10:20",
            "10:20:30.5",
            "550e8400-e29b-41d4-a716-446655440000",
            "a text that is so long that no number of its places fits, 1234567890",
        ] {
            let found = other(text);
            assert_ne!(found, text);
            assert_eq!((make_of(&found), &found), (make_of(text), &other(text)));
        }
        assert_eq!(other("Zürich\u{4e00}😀").chars().map(char::len_utf8).collect::<Vec<_>>(), [1, 2, 1, 1, 1, 1, 3, 4]);
    }

    #[test]
    fn what_means_the_same_to_everybody_stays() {
        for text in
            ["0", "1", "true", "F", "NULL", "", "%", "0000-00-00", "00:00:00", "day", "hours", "-0.00", "--", "..'' ''"]
        {
            assert_eq!(other(text), text);
        }
        let json = other(r#"{"a": true, "b": null, "c": "x\\n", "truer": 10}"#);
        assert!(
            json.contains(": true, ")
                && json.contains(": null, ")
                && json.contains("\\\\n\"")
                && !json.contains("truer"),
            "{json}"
        );
        let interval = other("30 days 12 hours");
        assert!(
            interval.contains(" days ") && interval.ends_with(" hours") && !interval.starts_with("30"),
            "{interval}"
        );
    }

    #[test]
    fn no_two_values_of_a_make_become_one() {
        for values in [
            (0..1_000).map(|nth| nth.to_string()).collect::<Vec<String>>(),
            (0..1_000).map(|nth| format!("{}.{:02}", nth / 100, nth % 100)).collect(),
            ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}"))).collect(),
            (1..29).flat_map(|day| (1..13).map(move |month| format!("2023-{month:02}-{day:02}"))).collect(),
            (0..1_440).map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60)).collect(),
            (0..1_000).map(|nth| format!("2023-05-05 {:02}:00:00.{nth:03}", nth % 24)).collect(),
        ] {
            let others: BTreeSet<String> = values.iter().map(|value| other(value)).collect();
            assert_eq!(others.len(), values.len(), "{:?}", &values[..3]);
        }
    }

    #[test]
    fn the_same_is_the_same_however_it_is_quoted() {
        let quoted = |text: &str, quote, escapes| {
            other_value(&Secret::fixed(), text, Quoting { quote, escapes, digits: Digits::Decimal })
        };
        let plain = quoted("it's mine", '"', true);
        assert_eq!(quoted("it''s mine", '\'', false), plain.replace('\'', "''"));
        assert_eq!(quoted("it\\'s mine", '\'', true), plain.replace('\'', "\\'"));
        assert_eq!(quoted("it\\'s \\min\\e", '\'', true), plain.replace('\'', "\\'"));
    }

    #[test]
    fn digits_of_other_bases_stay_such_digits() {
        let of = |text: &str, digits| other_value(&Secret::fixed(), text, Quoting { digits, ..PLAIN });
        let (hexadecimal, binary, octal) = (
            of("DEADbeef42", Digits::Hexadecimal),
            of("1100101011110000", Digits::Binary),
            of("7654321", Digits::Octal),
        );
        assert!(u64::from_str_radix(&hexadecimal, 16).is_ok() && hexadecimal != "DEADbeef42", "{hexadecimal}");
        assert!(u64::from_str_radix(&binary, 2).is_ok() && binary != "1100101011110000", "{binary}");
        assert!(u64::from_str_radix(&octal, 8).is_ok() && octal != "7654321", "{octal}");
        for digits in [Digits::Hexadecimal, Digits::Binary, Digits::Octal] {
            assert_eq!(of("no such digits: 9z", digits).len(), 18);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_another_of_its_make(text in ".{0,40}") {
            let found = other_value(&Secret::fixed(), &text, Quoting { escapes: false, ..PLAIN });
            prop_assert_eq!(found.len(), text.len());
            prop_assert_eq!(make_of(&found), make_of(&text));
        }

        #[test]
        fn a_number_or_a_moment_stays_one(whole in 2u64.., days in 0i64..30_000, seconds in 0i64..86_400) {
            prop_assert_eq!(other(&whole.to_string()).parse::<u128>().unwrap().to_string().len(), whole.to_string().len());
            let (year, month, day) = date_of_day(days);
            let found = other(&format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60));
            prop_assert!(other_date(&Secret::fixed(), &found[..10]).is_some() && found.len() == 19, "{}", found);
        }
    }
}
