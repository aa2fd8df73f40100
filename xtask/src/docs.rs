//! The reference: the binary generates it from the slices that it uses itself, so that it cannot be out of date.
//!
//! In: the pages that `plimsoll reference DIR` writes. Out: docs/reference, written or compared. Limits: pages in [`HAND_WRITTEN`]
//! are not touched; any other page that the binary does not write is removed.

use crate::workspace;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages of the reference that people, the tests of faults or `cargo xtask soak --engines` write.
const HAND_WRITTEN: &[&str] = &["plan-file.md", "compatibility.md", "faults.md"];

/// Pages by file name.
type Pages = BTreeMap<String, Vec<u8>>;

/// Brings docs/reference up to date with the binary `plimsoll`.
pub fn write_reference(root: &Path, plimsoll: &Path) -> Result<()> {
    let (generated, folder) = (generate_pages(root, plimsoll)?, reference_folder(root));
    fs::create_dir_all(&folder)?;
    for page in stale_pages(&generated, &read_pages(&folder)?) {
        match generated.get(&page) {
            Some(text) => fs::write(folder.join(&page), text)?,
            None => fs::remove_file(folder.join(&page))?,
        }
        println!("docs/reference/{page}: brought up to date");
    }
    Ok(())
}

/// Fails if docs/reference differs from the pages that the binary `plimsoll` writes now.
pub fn check_reference(root: &Path, plimsoll: &Path) -> Result<()> {
    let stale = stale_pages(&generate_pages(root, plimsoll)?, &read_pages(&reference_folder(root))?);
    if stale.is_empty() {
        Ok(())
    } else {
        bail!("stale in docs/reference: {}; run `cargo xtask docs` and commit", stale.join(", "))
    }
}

fn reference_folder(root: &Path) -> PathBuf {
    root.join("docs/reference")
}

fn generate_pages(root: &Path, plimsoll: &Path) -> Result<Pages> {
    let dir = tempfile::tempdir()?;
    workspace::run(Command::new(plimsoll).arg("reference").arg(dir.path()).current_dir(root))?;
    let generated = read_pages(dir.path())?;
    if generated.is_empty() { bail!("`plimsoll reference` wrote no page") } else { Ok(generated) }
}

fn read_pages(folder: &Path) -> Result<Pages> {
    if !folder.is_dir() {
        return Ok(Pages::new());
    }
    let mut pages = Pages::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The explanations of findings have a folder, and are written by hand.
        if entry.file_type()?.is_dir() {
            continue;
        }
        pages.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    Ok(pages)
}

/// The pages that are missing, that differ, or that are no longer generated.
fn stale_pages(generated: &Pages, present: &Pages) -> Vec<String> {
    let different = generated.iter().filter(|(name, text)| present.get(*name) != Some(*text));
    let left_over = present.iter().filter(|(name, _)| !generated.contains_key(*name));
    let names = different.chain(left_over).map(|(name, _)| name);
    names.filter(|name| !HAND_WRITTEN.contains(&name.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages_of(pages: &[(&str, &str)]) -> Pages {
        pages.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn missing_different_and_left_over_pages_are_stale() {
        let generated = pages_of(&[("cli.md", "new"), ("engines.md", "same"), ("sources.md", "first")]);
        let present = pages_of(&[("cli.md", "old"), ("engines.md", "same"), ("gone.md", "")]);
        assert_eq!(stale_pages(&generated, &present), ["cli.md", "sources.md", "gone.md"]);
        assert!(stale_pages(&generated, &generated).is_empty());
    }

    #[test]
    fn hand_written_pages_are_never_stale() {
        let present = pages_of(&[("plan-file.md", "by hand")]);
        assert!(stale_pages(&Pages::new(), &present).is_empty());
    }
}
