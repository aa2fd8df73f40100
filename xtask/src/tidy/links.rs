//! Links between the documents lead somewhere.
//!
//! In: every Markdown file. Out: relative links whose file does not exist. Limits: links to the web and anchors within a page are
//! not followed; code is not searched.

use super::problem::Problem;
use crate::workspace::TextFile;
use std::path::Path;

pub(super) fn check_links(files: &[TextFile], root: &Path) -> Vec<Problem> {
    files.iter().filter(|file| file.has_extension("md")).flat_map(|file| broken_links(file, root)).collect()
}

fn broken_links(file: &TextFile, root: &Path) -> Vec<Problem> {
    let folder = root.join(&file.path).parent().map(Path::to_owned).unwrap_or_default();
    let links = find_links(&file.text).into_iter();
    let broken = links.filter(|(_, target)| relative_path(target).is_some_and(|path| !folder.join(path).exists()));
    broken.map(|(line, target)| Problem::in_line(file, line, format!("the link to `{target}` leads nowhere"))).collect()
}

/// The targets of all links outside code, with their line.
fn find_links(text: &str) -> Vec<(usize, String)> {
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

/// The target of each `](target)` outside backticks, without a title after it.
fn links_of_line(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.filter_map(|(target, _)| target.split_whitespace().next().map(str::to_owned)).collect()
}

/// The file that a link leads to; `None` if it leads to the web or stays on its page.
fn relative_path(target: &str) -> Option<&str> {
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
        check_links(&files, dir.path()).iter().map(Problem::to_string).collect()
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
