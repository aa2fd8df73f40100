//! The tar: the static program with its man pages and completions; and the sums of all packages.
//!
//! In: the static program. Out: `plimsoll-VERSION-x86_64-linux.tar.gz`, and `SHA256SUMS` in the form of sha256sum. Limits: the same files
//! give the same tar, byte by byte, on the same machine.

use super::{PackageKind, program, texts};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Files of the root that go with the program.
const DOCUMENTS: [&str; 3] = ["README.md", "LICENSE", "CHANGELOG.md"];

pub fn make(root: &Path, version: &str) -> Result<()> {
    let program = program::build_static(root)?;
    let texts = texts::write(root, &program)?;
    let name = format!("plimsoll-{version}-x86_64-linux");
    let (dist, content) = (super::folder(root), super::folder(root).join(&name));
    if content.exists() {
        fs::remove_dir_all(&content).with_context(|| format!("cannot remove `{}`", content.display()))?;
    }
    fs::create_dir_all(&content)?;
    fs::copy(program, content.join("plimsoll"))?;
    for file in DOCUMENTS {
        fs::copy(root.join(file), content.join(file))?;
    }
    workspace::run(Command::new("cp").arg("-r").arg(texts.join("man")).arg(texts.join("completions")).arg(&content))?;
    let tar = dist.join(format!("{name}.tar.gz"));
    workspace::run(pack(&dist, &name, &tar).current_dir(root))?;
    fs::remove_dir_all(&content).with_context(|| format!("cannot remove `{}`", content.display()))
}

/// Packs the folder `name` in `dist`: sorted, of no user, of one time, so that only content makes a difference.
fn pack(dist: &Path, name: &str, tar: &Path) -> Command {
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--mode=u=rwX,go=rX"]);
    command.args(["--use-compress-program=gzip -9n", "--create", "--file"]).arg(tar).arg("-C").arg(dist).arg(name);
    command
}

/// Writes the sums of all packages in `dist`.
pub fn write_sums(dist: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dist)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_package = PackageKind::ALL.iter().any(|kind| name.ends_with(kind.ending()));
        names.extend(is_package.then_some(name));
    }
    names.sort();
    let sums = workspace::output_of(Command::new("sha256sum").arg("--").args(&names).current_dir(dist))?;
    fs::write(dist.join("SHA256SUMS"), sums)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_packages_and_sha256sum_accepts_them() {
        let dist = tempfile::tempdir().unwrap();
        fs::write(dist.path().join("a.deb"), "abc").unwrap();
        fs::write(dist.path().join("notes.txt"), "not a package").unwrap();
        write_sums(dist.path()).unwrap();
        let sums = fs::read_to_string(dist.path().join("SHA256SUMS")).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.deb\n");
        let check = |folder: &Path| Command::new("sha256sum").args(["-c", "SHA256SUMS"]).current_dir(folder).output();
        assert!(check(dist.path()).unwrap().status.success());
        fs::write(dist.path().join("a.deb"), "abd").unwrap();
        assert!(!check(dist.path()).unwrap().status.success());
    }

    #[test]
    fn the_same_files_give_the_same_tar_whoever_has_them_and_whenever() {
        let dist = tempfile::tempdir().unwrap();
        let content = dist.path().join("p");
        fs::create_dir(&content).unwrap();
        let tar_of = |name: &str| {
            fs::write(content.join("one"), "1").unwrap();
            fs::write(content.join("two"), "2").unwrap();
            let tar = dist.path().join(name);
            workspace::run(&mut pack(dist.path(), "p", &tar)).unwrap();
            fs::read(tar).unwrap()
        };
        let first = tar_of("a.tar.gz");
        std::os::unix::fs::chown(content.join("one"), None, None).unwrap();
        let old = fs::File::options().write(true).open(content.join("two")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(first == tar_of("b.tar.gz"));
    }
}
