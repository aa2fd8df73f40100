//! The width of text, and text in lines of a given width.
//!
//! In: text, a size and a width in the units of a scene. Out: widths and lines. Limits: widths are estimates, because the reader's
//! font is not known.

use crate::labels::Ruler;

/// The width of `text`, estimated from DejaVu Sans, the widest face a reader is likely to see.
pub fn text_width(text: &str, size: u32) -> f64 {
    text.chars().map(em_of).sum::<f64>() * f64::from(size)
}

/// The same in bold, which browsers draw and PNGs do not: DejaVu Sans Bold, the widest of the faces asked for, is a seventh wider.
pub fn bold_width(text: &str, size: u32) -> f64 {
    text_width(text, size) * BOLD
}

/// How many times as wide text is in bold.
pub const BOLD: f64 = 1.15;

fn em_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | FIRM_SPACE | 'I' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '/' | '-' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.70,
        c if c.is_ascii() => 0.63,
        '\u{2E80}'..='\u{FFFF}' | '\u{1F000}'.. => 1.0,
        _ => 0.70,
    }
}

/// Measures labels of a picture.
pub fn ruler(size: u32) -> Ruler<impl Fn(&str) -> f64> {
    Ruler { measure: move |text: &str| text_width(text, size), ellipsis: "..." }
}

/// A space at which no line ends.
pub const FIRM_SPACE: char = '\u{a0}';

/// `text` in lines of at most `width`, broken at spaces; a word that is too long is broken, and nothing is lost.
pub fn wrap_words(text: &str, size: u32, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() && c != FIRM_SPACE).filter(|word| !word.is_empty());
    for piece in words.flat_map(|word| break_word(word, size, width).into_iter().enumerate()) {
        match (lines.last_mut(), piece) {
            // Only the beginning of a word may join the line before it; the rest of a broken one begins a line.
            (Some(line), (0, word)) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            (_, (_, word)) => lines.push(word),
        }
    }
    lines
}

/// As [`wrap_words`], in at most `most` lines; what is left over is replaced by `...` at the end of the last.
pub fn wrap_to(text: &str, size: u32, width: f64, most: usize) -> Vec<String> {
    // A character is a third of an em wide at least.
    let chars_a_line = (4.0 * width / f64::from(size)) as usize;
    let chars_max = chars_a_line.saturating_mul(most.saturating_add(1)).max(1_000);
    let text: String = text.chars().take(chars_max).collect();
    let mut lines = wrap_words(&text, size, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && text_width(last, size) + text_width("...", size) > width {
                last.pop();
            }
            last.push_str("...");
        }
    }
    lines
}

/// Pieces of at most `width`, broken after punctuation if there is some in the second half of a piece.
fn break_word(word: &str, size: u32, width: f64) -> Vec<String> {
    if text_width(word, size) <= width {
        return vec![word.to_owned()];
    }
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for c in word.chars() {
        piece.push(c);
        // At least one character each, even if it is wider than the line: else this would not end.
        if text_width(&piece, size) > width && piece.chars().count() > 1 {
            let rest = piece.split_off(break_place(&piece));
            pieces.push(std::mem::replace(&mut piece, rest));
        }
    }
    pieces.push(piece);
    pieces
}

/// Where to break a piece that is one character too long, in bytes.
fn break_place(piece: &str) -> usize {
    let last = piece.char_indices().next_back().map_or(0, |(at, _)| at);
    let after_break = piece[..last].rfind([':', '/', '_', '-', '.', '=', '?', '&', '@']).map(|at| at + 1);
    after_break.filter(|at| *at > last / 2).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_to_its_width() {
        let lines = wrap_words("n = 12 intervals of 0.25 s, closed loop, one client after the other", 13, 160.0);
        assert!(lines.len() > 2 && lines.iter().all(|l| text_width(l, 13) <= 160.0), "{lines:?}");
    }

    #[test]
    fn a_long_word_is_broken_behind_punctuation_and_nothing_is_lost() {
        let url = "mysql://root@localhost/?socket=/var/run/a/server.sock";
        let lines = wrap_words(&format!("{url} clients 4"), 14, 150.0);
        assert!(lines.iter().all(|line| text_width(line, 14) <= 150.0), "{lines:?}");
        assert!(lines.concat().starts_with(url), "{lines:?}");
        assert!(lines[0].ends_with(['/', '@', '=', ':']), "{lines:?}");
        assert!(lines.last().is_some_and(|line| line.ends_with("clients 4")), "{lines:?}");
    }

    #[test]
    fn a_text_of_megabytes_is_laid_out_as_fast_as_one_of_pages() {
        // Letter by letter in all of its lines it would take minutes.
        let lines = wrap_to(&"x".repeat(30_000_000), 13, 100.0, 3);
        assert!(lines.len() == 3 && lines[2].ends_with("..."), "{lines:?}");
    }

    #[test]
    fn more_lines_than_allowed_end_in_dots() {
        let lines = wrap_to(&"word ".repeat(50), 13, 100.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with("...") && text_width(&lines[1], 13) <= 100.0, "{lines:?}");
    }
}
