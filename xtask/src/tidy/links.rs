//! Links between the documents lead somewhere.
//!
//! In: every Markdown file. Out: relative links whose file is not there. Limits: links to the web and anchors within a page are
//! not followed; code is not searched.

use super::problem::Problem;
use crate::workspace::TextFile;
use std::path::Path;

pub(super) fn check(files: &[TextFile], root: &Path) -> Vec<Problem> {
    files.iter().filter(|file| file.is("md")).flat_map(|file| problems(file, root)).collect()
}

fn problems(file: &TextFile, root: &Path) -> Vec<Problem> {
    let folder = root.join(&file.path).parent().map(Path::to_owned).unwrap_or_default();
    let broken = |target: &str| relative(target).is_some_and(|path| !folder.join(path).exists());
    let links = links(&file.text).into_iter().filter(|(_, target)| broken(target));
    let problem = |(line, target)| Problem::in_line(file, line, format!("the link to `{target}` leads nowhere"));
    links.map(problem).collect()
}

/// The targets of all links outside code, with their line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut in_fence = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            found.extend(links_of_line(line).into_iter().map(|target| (number, target)));
        }
    }
    found
}

/// `](target)` wherever it stands outside of backticks; a title behind the target is left out.
fn links_of_line(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.filter_map(|(target, _)| target.split_whitespace().next().map(str::to_owned)).collect()
}

/// The file that a link leads to; `None` where it leads to the web or stays on its page.
fn relative(target: &str) -> Option<&str> {
    let path = target.split('#').next().unwrap_or_default();
    let is_elsewhere = path.contains("://") || path.starts_with("mailto:");
    (!path.is_empty() && !is_elsewhere).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("docs/guide")).unwrap();
        std::fs::write(dir.path().join("README.md"), "").unwrap();
        let files = [file("docs/guide/a.md", text)];
        check(&files, dir.path()).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_is_a_problem() {
        let text = "see\n[this](missing.md#part) and [that](../../README.md)";
        assert_eq!(found(text), ["docs/guide/a.md:2: the link to `missing.md#part` leads nowhere"]);
    }

    #[test]
    fn the_web_anchors_titles_and_folders_are_fine() {
        let text =
            "[a](https://example.org/x) [b](#here) [c](../../README.md \"title\") [d](../guide) ![e](mailto:a@b)";
        assert!(found(text).is_empty());
    }

    #[test]
    fn code_is_not_searched() {
        assert!(found("```\n[a](missing.md)\n```\nwrite `[a](missing.md)` for a link").is_empty());
    }

    #[test]
    fn a_link_whose_text_is_code_is_followed() {
        assert_eq!(found("[`missing`](missing.md)").len(), 1);
    }
}
