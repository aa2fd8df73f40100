//! The package for Debian, which `packaging/debian/control` describes.
//!
//! In: the program that uses the system's C library. Out: `plimsoll_VERSION_amd64.deb`. Limits: its dependencies are those of the system on
//! which it is made, as dpkg-shlibdeps finds them; it has no scripts, because nothing is to be done when it is installed.

use super::{folder, program, texts};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the working tree and the folders that they go to.
const DOCUMENTS: [(&str, &str); 4] = [
    ("README.md", "usr/share/doc/plimsoll/README.md"),
    ("CHANGELOG.md", "usr/share/doc/plimsoll/CHANGELOG.md"),
    ("LICENSE", "usr/share/doc/plimsoll/copyright"),
    ("packaging/systemd/plimsoll-agent@.service", "usr/lib/systemd/system/plimsoll-agent@.service"),
];

/// The same for what the program writes.
const COMPLETIONS: [(&str, &str); 3] = [
    ("plimsoll.bash", "usr/share/bash-completion/completions/plimsoll"),
    ("_plimsoll", "usr/share/zsh/vendor-completions/_plimsoll"),
    ("plimsoll.fish", "usr/share/fish/vendor_completions.d/plimsoll.fish"),
];

pub fn make(root: &Path, version: &str) -> Result<()> {
    let program = program::build_dynamic(root)?;
    let texts = texts::write(root, &program)?;
    let tree = folder(root).join("debian");
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot remove `{}`", tree.display()))?;
    }
    lay_out(root, &program, &texts, &tree)?;
    write_control(root, version, &tree)?;
    let package = folder(root).join(format!("plimsoll_{version}_amd64.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&tree).arg(package);
    workspace::run(build.stdout(std::process::Stdio::null()))?;
    fs::remove_dir_all(&tree).with_context(|| format!("cannot remove `{}`", tree.display()))
}

/// Puts every file where it will be in the system.
fn lay_out(root: &Path, program: &Path, texts: &Path, tree: &Path) -> Result<()> {
    install(program, &tree.join("usr/bin/plimsoll"), "755")?;
    DOCUMENTS.iter().try_for_each(|(from, to)| install(&root.join(from), &tree.join(to), "644"))?;
    let completions = texts.join("completions");
    COMPLETIONS.iter().try_for_each(|(from, to)| install(&completions.join(from), &tree.join(to), "644"))?;
    let pages = tree.join("usr/share/man/man1");
    for page in fs::read_dir(texts.join("man"))? {
        let page = page?.path();
        install(&page, &pages.join(page.file_name().expect("it was listed")), "644")?;
    }
    workspace::run(Command::new("gzip").args(["-9n", "--recursive"]).arg(pages))
}

/// Copies a file, and makes its folders, for everyone to read.
fn install(from: &Path, to: &Path, mode: &str) -> Result<()> {
    workspace::run(Command::new("install").args(["-D", "--mode", mode]).arg(from).arg(to))
}

fn write_control(root: &Path, version: &str, tree: &Path) -> Result<()> {
    let template = fs::read_to_string(root.join("packaging/debian/control"))?;
    let kib = workspace::output_of(Command::new("du").args(["--summarize", "--block-size=KiB"]).arg(tree))?;
    let kib = kib.split("KiB").next().unwrap_or_default().trim().to_owned();
    let control = filled_in(&template, version, &kib, &libraries(root, tree)?);
    fs::create_dir(tree.join("DEBIAN"))?;
    fs::write(tree.join("DEBIAN/control"), control)?;
    Ok(())
}

fn filled_in(template: &str, version: &str, kib: &str, libraries: &str) -> String {
    template.replace("@VERSION@", version).replace("@KIB@", kib).replace("@LIBRARIES@", libraries)
}

/// The packages with the libraries that the program needs, as dpkg-shlibdeps lists them. It looks for a file that source packages have.
fn libraries(root: &Path, tree: &Path) -> Result<String> {
    let place: PathBuf = folder(root).join("shlibdeps");
    fs::create_dir_all(place.join("debian"))?;
    fs::write(place.join("debian/control"), "Source: plimsoll\n\nPackage: plimsoll\nArchitecture: any\n")?;
    let mut shlibdeps = Command::new("dpkg-shlibdeps");
    shlibdeps.arg("-O").arg(tree.join("usr/bin/plimsoll")).current_dir(&place);
    let printed = workspace::output_of(&mut shlibdeps)?;
    fs::remove_dir_all(&place)?;
    let depends = printed.lines().find_map(|line| line.strip_prefix("shlibs:Depends="));
    Ok(depends.context("dpkg-shlibdeps found no library")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_no_gap_that_is_left_open() {
        let root = workspace::root().unwrap();
        let template = fs::read_to_string(root.join("packaging/debian/control")).unwrap();
        let control = filled_in(&template, "1.2.3", "4567", "libc6 (>= 2.36)");
        for line in ["Version: 1.2.3", "Installed-Size: 4567", "Depends: libc6 (>= 2.36)"] {
            assert!(control.lines().any(|own| own == line), "{line}: {control}");
        }
        assert!(!control.contains('@'), "{control}");
    }

    #[test]
    fn every_document_of_the_package_is_in_the_working_tree() {
        let root = workspace::root().unwrap();
        DOCUMENTS.iter().for_each(|(file, _)| assert!(root.join(file).is_file(), "{file}"));
    }
}
