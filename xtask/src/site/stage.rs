//! The sources of the book: the documents in the same folders as in the working tree, so that their links stay right.
//!
//! In: the working tree. Out: a folder that mdBook builds. Limits: a file that a document links to is copied with it; a link to a folder
//! becomes its text, because a folder has no page, and so does one to the summary, which is next to every page.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Documents in the root; the others are below `docs`.
const ROOT_DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "STYLE.md"];

/// Files of the book that are no documents, in `docs`.
const BOOK_FILES: [&str; 2] = ["book.toml", "site.css"];

/// Lays out the book in `place`.
pub fn stage(root: &Path, place: &Path) -> Result<()> {
    let source = place.join("src");
    fs::create_dir_all(&source)?;
    for file in BOOK_FILES {
        fs::copy(root.join("docs").join(file), place.join(file))?;
    }
    for document in ROOT_DOCUMENTS {
        stage_document(root, &source, Path::new(document))?;
    }
    stage_folder(root, &source, Path::new("docs"))?;
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    Ok(fs::write(source.join("SUMMARY.md"), summary_from_root(&complete_summary(root, &summary)?))?)
}

/// The summary with the pages that it does not list, in the place of the line `<!-- the rest of FOLDER -->`, by the names of their files.
fn complete_summary(root: &Path, summary: &str) -> Result<String> {
    let mut complete = String::new();
    for line in summary.lines() {
        match line.strip_prefix("<!-- the rest of ").and_then(|rest| rest.strip_suffix(" -->")) {
            Some(folder) => complete.push_str(&rest_of(root, folder, summary)?),
            None => complete.push_str(&format!("{line}\n")),
        }
    }
    Ok(complete)
}

fn rest_of(root: &Path, folder: &str, summary: &str) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(root.join("docs").join(folder))? {
        let path = entry?.path();
        let target = format!("{folder}/{}", path.file_name().expect("it was listed").display());
        if path.extension().is_some_and(|own| own == "md") && !summary.contains(&format!("]({target})")) {
            let text = fs::read_to_string(&path)?;
            let title = text.lines().find_map(|line| line.strip_prefix("# "));
            let title = title.with_context(|| format!("`docs/{target}` has no title"))?;
            lines.push((target.clone(), format!("- [{title}]({target})\n")));
        }
    }
    lines.sort();
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

fn stage_folder(root: &Path, source: &Path, folder: &Path) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            stage_folder(root, source, &path)?
        } else if path.extension().is_some_and(|own| own == "md") {
            stage_document(root, source, &path)?
        } else {
            copy(root, source, &path)?
        }
    }
    Ok(())
}

fn stage_document(root: &Path, source: &Path, path: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read `{}`", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for target in link_targets(&text) {
        let target = normal(&folder.join(target));
        if root.join(&target).is_file() && target.extension().is_none_or(|own| own != "md") {
            copy(root, source, &target)?;
        }
    }
    let has_no_page = |target: &str| {
        let target = normal(&folder.join(target));
        root.join(&target).is_dir() || target == Path::new("docs/SUMMARY.md")
    };
    write(&source.join(path), without_links_to(&text, has_no_page).as_bytes())
}

fn copy(root: &Path, source: &Path, path: &Path) -> Result<()> {
    write(&source.join(path), &fs::read(root.join(path))?)
}

fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(to.parent().expect("it is below the book"))?;
    fs::write(to, bytes).with_context(|| format!("cannot write `{}`", to.display()))
}

/// The summary with links relative to the root instead of to `docs`.
fn summary_from_root(summary: &str) -> String {
    let from_docs = summary.replace("](", "](docs/").replace("](docs/)", "]()");
    from_docs.replace("](docs/../", "](")
}

/// The relative targets of all links, without anchors.
fn link_targets(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let paths = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains("://") && !path.contains(char::is_whitespace)).collect()
}

/// The text with `[words](target)` as `words` where `drops` says so of the target.
fn without_links_to(text: &str, drops: impl Fn(&str) -> bool) -> String {
    let dropped = link_targets(text).into_iter().filter(|target| drops(target));
    dropped.fold(text.to_owned(), |text, target| {
        let end = format!("]({target})");
        let Some(at) = text.find(&end) else { return text };
        let Some(begin) = text[..at].rfind('[') else { return text };
        format!("{}{}{}", &text[..begin], &text[begin + 1..at], &text[at + end.len()..])
    })
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        match part {
            Component::ParentDir => drop(all.pop()),
            Component::CurDir => {}
            other => all.push(other),
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;
    use std::collections::BTreeSet;

    #[test]
    fn the_summary_is_seen_from_the_root() {
        let summary = "- [Start](../README.md)\n- [Guide]()\n  - [One](guide/one.md)\n";
        assert_eq!(summary_from_root(summary), "- [Start](README.md)\n- [Guide]()\n  - [One](docs/guide/one.md)\n");
    }

    #[test]
    fn a_link_to_a_folder_becomes_its_text_and_others_stay() {
        let text = "see [`plans/`](../../plans), [this](a.md#b) and [that](https://example.org)";
        assert_eq!(link_targets(text), ["../../plans", "a.md"]);
        let without = without_links_to(text, |target| target.ends_with("plans"));
        assert_eq!(without, "see `plans/`, [this](a.md#b) and [that](https://example.org)");
        assert_eq!(normal(Path::new("docs/guide/../../plans/./x")), Path::new("plans/x"));
    }

    #[test]
    fn pages_that_the_summary_does_not_list_are_put_where_it_asks_for_them() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("docs/guide");
        fs::create_dir_all(&folder).unwrap();
        for (name, title) in [("b.md", "B"), ("a.md", "A"), ("first.md", "First")] {
            fs::write(folder.join(name), format!("<!-- made -->\n\n# {title}\n")).unwrap();
        }
        let summary = "# S\n\n- [The first](guide/first.md)\n<!-- the rest of guide -->\n\n# T\n";
        let complete = complete_summary(root.path(), summary).unwrap();
        assert_eq!(complete, "# S\n\n- [The first](guide/first.md)\n- [A](guide/a.md)\n- [B](guide/b.md)\n\n# T\n");
    }

    #[test]
    fn the_summary_leads_to_every_document() {
        let root = workspace::root().unwrap();
        let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap();
        let complete = complete_summary(&root, &summary).unwrap();
        let listed: BTreeSet<PathBuf> =
            link_targets(&complete).into_iter().map(|target| normal(&Path::new("docs").join(target))).collect();
        let files = workspace::text_files(&root).unwrap();
        let is_page = |path: &&str| path.starts_with("docs/") && path.ends_with(".md") && *path != "docs/SUMMARY.md";
        let pages = files.iter().map(|file| file.path.as_str()).filter(is_page).chain(ROOT_DOCUMENTS);
        assert_eq!(listed, pages.map(PathBuf::from).collect());
    }
}
