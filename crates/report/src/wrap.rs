//! Text in lines of a width, for terminals.

use std::borrow::Cow;
use std::ops::Range;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// A longer command in backticks is broken at its spaces.
const CODE_WHOLE_MAX: usize = 40;

/// `text` in lines of at most `width` columns, broken at spaces, but not between a number and its `%`, nor within a short command in backticks, which is
/// copied; a longer word is broken inside.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

/// The words of `line`, each with the spaces behind it.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_space = |at: usize| line.as_bytes().get(at) == Some(&b' ');
    let codes = short_codes(line);
    let is_in_code = move |at: usize| codes.iter().any(|code| code.contains(&at));
    let begins_word =
        move |at: &usize| is_space(at - 1) && !is_space(*at) && line.as_bytes()[*at] != b'%' && !is_in_code(*at);
    let ends: Vec<usize> = (1..line.len()).filter(begins_word).chain([line.len()]).collect();
    let starts = std::iter::once(0).chain(ends.clone());
    Box::new(starts.zip(ends).map(|(start, end)| Word::from(&line[start..end])))
}

/// Where in `line` short texts in backticks are.
fn short_codes(line: &str) -> Vec<Range<usize>> {
    let ticks: Vec<usize> = line.match_indices('`').map(|(at, _)| at).collect();
    let codes = ticks.chunks_exact(2).map(|pair| pair[0] + 1..pair[1]);
    codes.filter(|code| code.len() <= CODE_WHOLE_MAX).collect()
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
        let long = format!("`plimsoll {}`", "--flag ".repeat(9));
        assert!(wrap(&long, 40).len() == 2 && wrap("an odd ` and the rest", 10).len() == 3);
    }
}
