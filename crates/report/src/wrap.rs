//! Text in lines of a width, for terminals.

use std::borrow::Cow;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// `text` in lines of at most `width` columns, broken at spaces, but not between a number and its `%`; a longer word is broken inside.
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
    let begins_word = move |at: &usize| is_space(at - 1) && !is_space(*at) && line.as_bytes()[*at] != b'%';
    let ends: Vec<usize> = (1..line.len()).filter(begins_word).chain([line.len()]).collect();
    let starts = std::iter::once(0).chain(ends.clone());
    Box::new(starts.zip(ends).map(|(start, end)| Word::from(&line[start..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_separated_from_its_percent_sign() {
        assert_eq!(wrap("known only to ±39 to 50 %", 24), ["known only to ±39 to", "50 %"]);
        assert_eq!([wrap("", 9), wrap("a  b", 9), wrap("ab cd", 2)], [vec![""], vec!["a  b"], vec!["ab", "cd"]]);
    }
}
