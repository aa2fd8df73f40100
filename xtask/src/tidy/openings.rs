//! Every source file opens with what it is for.
//!
//! In: all source files. Out: those that do not begin with `//!`. Limits: whether the text is true is for a reader.

use super::problem::Problem;
use crate::workspace::TextFile;

pub(super) fn check(files: &[TextFile]) -> Vec<Problem> {
    let silent = files.iter().filter(|file| file.is("rs") && !file.text.starts_with("//!"));
    let text = "does not begin with `//!`: say what the file is for, what goes in and out, and its limits";
    silent.map(|file| Problem::new(&file.path, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    #[test]
    fn a_source_file_without_an_opening_is_a_problem() {
        let files = [file("a.rs", "use b;\n//! late\n"), file("b.rs", "//! What it is for.\n"), file("c.md", "# text")];
        let places: Vec<String> = check(&files).into_iter().map(|problem| problem.place).collect();
        assert_eq!(places, ["a.rs"]);
    }
}
