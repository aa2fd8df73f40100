//! Every source file opens with its purpose.
//!
//! In: all source files. Out: those that do not begin with `//!`. Limits: it cannot check whether the text is true.

use super::problem::Problem;
use crate::workspace::TextFile;

pub(super) fn check_openings(files: &[TextFile]) -> Vec<Problem> {
    let silent = files.iter().filter(|file| file.has_extension("rs") && !file.text.starts_with("//!"));
    let text = "does not begin with `//!`: write what the file is for, what goes in and out, and its limits";
    silent.map(|file| Problem::new(&file.path, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    #[test]
    fn a_source_file_without_an_opening_is_a_problem() {
        let files = [file("a.rs", "use b;\n//! late\n"), file("b.rs", "//! What it is for.\n"), file("c.md", "# text")];
        let places: Vec<String> = check_openings(&files).into_iter().map(|problem| problem.place).collect();
        assert_eq!(places, ["a.rs"]);
    }
}
