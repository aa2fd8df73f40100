//! The project speaks of itself alone: no numbers of a tracker, no paths of a machine, no private registries.
//!
//! In: every text file of the project. Out: lines with such words. Limits: only what is listed here is found.

use super::problem::Problem;
use crate::workspace::TextFile;

/// Words that a reader elsewhere cannot follow, and the reason. Each is in two parts, so that this file does not contain it.
const WORDS: &[([&str; 2], &str)] = &[
    (["issue", " #"], "names an issue by number; write what it is about instead"),
    (["issues", " show"], "names a command of a tracker; write what it is about instead"),
    (["/wo", "rk/"], "names a path of one machine; use a path relative to the root"),
    (["/ro", "ot/"], "names a path of one machine; use a path relative to the root"),
    (["artifa", "ctory"], "names a private registry; the crates come from the public one"),
];

pub(super) fn check_words(files: &[TextFile]) -> Vec<Problem> {
    files.iter().flat_map(find_problems).collect()
}

fn find_problems(file: &TextFile) -> Vec<Problem> {
    let lines = (1..).zip(file.text.lines());
    lines.flat_map(|(line, text)| listed_words(text).map(move |fault| Problem::in_line(file, line, fault))).collect()
}

fn listed_words(line: &str) -> impl Iterator<Item = &'static str> {
    let line = line.to_lowercase();
    let listed = WORDS.iter().filter(move |(word, _)| line.contains(&word.concat()));
    listed.map(|(_, fault)| *fault)
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check_words(&[file("docs/a.md", text)]).iter().map(|problem| problem.place.clone()).collect()
    }

    #[test]
    fn each_word_is_found_in_its_line() {
        for (word, _) in WORDS {
            let text = format!("fine\nnot fine: {}\n", word.concat().to_uppercase());
            assert_eq!(found(&text), ["docs/a.md:2"], "{word:?}");
        }
    }

    #[test]
    fn ordinary_text_has_none() {
        let text =
            "an issue with the disk; network/workload; `/srv/data/`; https://github.com/rust-lang/crates.io-index";
        assert_eq!(found(text), Vec::<String>::new());
    }
}
