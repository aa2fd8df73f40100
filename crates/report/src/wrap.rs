//! Text in lines of a width, for terminals.

use std::ops::Range;
use textwrap::core::{Word, break_words, display_width};
use textwrap::wrap_algorithms::wrap_first_fit;

/// A longer command in backticks is broken at its spaces.
const CODE_WHOLE_MAX: usize = 40;

/// `text` in lines of at most `width` columns, broken at spaces, but not between a number and its `%`, nor within a short command in backticks, which is
/// copied; a longer word is broken inside.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, width)).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let words = break_words(words(line, width), width);
    wrap_first_fit(&words, &[width as f64]).into_iter().map(joined).collect()
}

/// `words` as they stood, without the spaces behind the last.
fn joined(words: &[Word]) -> String {
    let all: String = words.iter().flat_map(|word| [word.word, word.whitespace]).collect();
    all.trim_end_matches(' ').to_owned()
}

/// The words of `line`, each with the spaces behind it.
fn words(line: &str, width: usize) -> Vec<Word<'_>> {
    let is_space = |at: usize| line.as_bytes().get(at) == Some(&b' ');
    let codes = short_codes(line, width);
    let is_in_code = |at: usize| codes.iter().any(|code| code.contains(&at));
    let begins_word =
        |at: &usize| is_space(at - 1) && !is_space(*at) && line.as_bytes()[*at] != b'%' && !is_in_code(*at);
    let ends: Vec<usize> = (1..line.len()).filter(begins_word).chain([line.len()]).collect();
    let starts = std::iter::once(0).chain(ends.clone());
    starts.zip(ends).map(|(start, end)| Word::from(&line[start..end])).collect()
}

/// Where in `line` short texts in backticks are that fit into a line with what is written up against them: others would be broken inside a word.
fn short_codes(line: &str, width: usize) -> Vec<Range<usize>> {
    let ticks: Vec<usize> = line.match_indices('`').map(|(at, _)| at).collect();
    let codes = ticks.chunks_exact(2).map(|pair| pair[0] + 1..pair[1]);
    let fits = |code: &Range<usize>| {
        let start = line[..code.start].rfind(' ').map_or(0, |space| space + 1);
        let end = line[code.end..].find(' ').map_or(line.len(), |space| code.end + space);
        display_width(&line[start..end]) <= width
    };
    codes.filter(|code| code.len() <= CODE_WHOLE_MAX && fits(code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_separated_from_its_percent_sign() {
        assert_eq!(wrap("known only to ±39 to 50 %", 24), ["known only to ±39 to", "50 %"]);
        assert_eq!([wrap("", 9), wrap("a  b", 9), wrap("ab cd", 2)], [vec![""], vec!["a  b"], vec!["ab", "cd"]]);
    }

    #[test]
    fn a_short_command_is_not_broken() {
        let resumed = "what was measured is kept; resume with `plimsoll run --resume last`";
        let whole = ["what was measured is kept; resume with", "`plimsoll run --resume last`"];
        assert_eq!(wrap(resumed, 60), whole);
        assert_eq!(
            wrap("resume with `plimsoll run --resume last`", 28),
            ["resume with", "`plimsoll run --resume last`"]
        );
        let long = format!("`plimsoll {}`", "--flag ".repeat(9));
        assert!(wrap(&long, 40).len() == 2 && wrap("an odd ` and the rest", 10).len() == 3);
    }

    #[test]
    fn a_short_command_that_is_wider_than_the_terminal_is_broken_at_its_spaces() {
        let narrow = ["resume with `plimsoll", "run --resume last`"];
        assert_eq!(wrap("resume with `plimsoll run --resume last`", 24), narrow);
        let with_stop = ["resume with `plimsoll run", "--resume last`."];
        assert_eq!(wrap("resume with `plimsoll run --resume last`.", 28), with_stop);
    }
}
