//! Mutations of bytes, and of texts with lines, words and numbers.

use super::dice::Dice;

/// Words that parsers, sums and terminals may stumble over.
const WORDS: [&str; 40] = [
    "",
    "0",
    "-1",
    "1",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1..4",
    "1..1000000000",
    "[",
    "]",
    "{}",
    "[[sweep]]",
    "[[sweep]]\n[[sweep]]",
    "\"",
    "'",
    "\"\"\"",
    "900TiB",
    "1ns",
    "1000000h",
    "0.0000001s",
    "null",
    "true",
    "\u{1b}[2J",
    "\u{0}",
    "é\u{301}\u{202e}",
    "=cmd()",
    "<script>alert(1)</script>",
    "`|`",
    "a.b.c",
    "#",
    "\r\n",
];

/// One to four mutations of a text.
pub fn mutate_text(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(4) {
        bytes = match dice.below(8) {
            0 => mutate_bytes(bytes, dice),
            1 | 2 => with_lines(&bytes, dice),
            3..=5 => with_another_word(&bytes, dice),
            _ => with_another_number(&bytes, dice),
        };
    }
    bytes
}

/// Bytes changed, cut, repeated or inserted.
pub fn mutate_bytes(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    if bytes.is_empty() {
        return vec![dice.below(256) as u8];
    }
    let at = dice.below(bytes.len());
    match dice.below(7) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = *dice.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        2 => bytes.truncate(at),
        3 => {
            let part = bytes[at..(at + 1 + dice.below(4096)).min(bytes.len())].to_vec();
            let to = dice.below(bytes.len());
            let end = (to + part.len()).min(bytes.len());
            bytes[to..end].copy_from_slice(&part[..end - to]);
        }
        4 => {
            // A big-endian number of a header: lengths and counts.
            let numbers: [u32; 7] = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff, 0x1_0000];
            let value = dice.pick(&numbers).to_be_bytes();
            let end = (at + 4).min(bytes.len());
            bytes[at..end].copy_from_slice(&value[..end - at]);
        }
        5 => {
            let end = (at + 1 + dice.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let more: Vec<u8> = (0..=dice.below(16)).map(|_| dice.below(256) as u8).collect();
            bytes.splice(at..at, more);
        }
    }
    bytes
}

/// Lines removed, repeated often, or exchanged.
fn with_lines(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let at = dice.below(lines.len());
    match dice.below(3) {
        0 => drop(lines.remove(at)),
        1 => {
            let (line, often) = (lines[at], *dice.pick(&[1, 2, 50, 2000]));
            lines.splice(at..at, std::iter::repeat_n(line, often));
        }
        _ => {
            let other = dice.below(lines.len());
            lines.swap(at, other);
        }
    }
    lines.concat()
}

/// A word replaced by another one of the text, or of [`WORDS`].
fn with_another_word(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    replace_one(bytes, is_of_word, dice, |words, dice| {
        if dice.one_in(3) { dice.pick(words).clone() } else { dice.pick(&WORDS).as_bytes().to_vec() }
    })
}

/// A number replaced by another.
fn with_another_number(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    replace_one(bytes, u8::is_ascii_digit, dice, |_, dice| {
        let most = *dice.pick(&[1, 2, 4, 20, 400]);
        let digits = 1 + dice.below(most);
        (0..digits).map(|_| b'0' + dice.below(10) as u8).collect()
    })
}

/// `bytes` with one of the stretches of bytes that are `is_of_word` replaced by what `other` makes of all of them.
fn replace_one(
    bytes: &[u8],
    is_of_word: impl Fn(&u8) -> bool,
    dice: &mut Dice,
    other: impl Fn(&[Vec<u8>], &mut Dice) -> Vec<u8>,
) -> Vec<u8> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| is_of_word(byte)) {
        match spans.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => spans.push((at, at + 1)),
        }
    }
    if spans.is_empty() {
        return bytes.to_vec();
    }
    let words: Vec<Vec<u8>> = spans.iter().map(|(from, to)| bytes[*from..*to].to_vec()).collect();
    let (from, to) = *dice.pick(&spans);
    [&bytes[..from], &other(&words, dice), &bytes[to..]].concat()
}
