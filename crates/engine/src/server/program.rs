//! Finds the programs of an engine that is not built in, and asks them for their version.
//!
//! In: a name, usual places, the package that brings it; a directory that the user wants looked into first. Out: its path and
//! version, or what to install. Limits: names come from the engines, and directories from the command line or the environment,
//! never from a plan: what runs here is no part of an experiment that others wrote. Relative entries of PATH are not looked at.

use host::error::{TargetError, shown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A program that an engine needs.
pub struct ServerProgram {
    /// Its file name.
    pub name: &'static str,
    /// Its directories if it is not on PATH. One `*` in a place means any version, of which the highest is taken.
    pub places: &'static [&'static str],
    /// The Debian package that brings it.
    pub package: &'static str,
}

/// The directory in which programs are looked for first.
static FIRST: OnceLock<PathBuf> = OnceLock::new();
/// The sub-directories in which an unpacked server has its programs.
const INSIDE: [&str; 6] = ["", "bin", "sbin", "libexec", "scripts", "lib/plugin"];

/// From now on programs are looked for in `dir` and its usual sub-directories first. Call it once, before any program is looked for.
///
/// # Errors
/// If it is no directory.
pub fn look_first_in(dir: &Path) -> Result<(), TargetError> {
    let absolute = dir.canonicalize().ok().filter(|dir| dir.is_dir());
    absolute
        .map(|dir| drop(FIRST.set(dir)))
        .ok_or_else(|| TargetError::Unsafe(format!("--engine-bin: `{}` is not a directory", shown(dir))))
}

/// The directory that is looked into first.
pub fn first_directory() -> Option<&'static Path> {
    FIRST.get().map(PathBuf::as_path)
}

impl ServerProgram {
    /// Its path, or what to install.
    pub fn find_path(&self) -> Result<PathBuf, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> =
            first_directory().iter().flat_map(|dir| INSIDE.map(|inside| dir.join(inside))).collect();
        // An entry such as `.` would run a program from wherever plimsoll was started.
        folders.extend(std::env::split_paths(&path).filter(|folder| folder.is_absolute()));
        folders.extend(self.places.iter().flat_map(|place| folders_of(place)));
        let found = folders.into_iter().map(|folder| folder.join(self.name)).find(|file| file.is_file());
        found.ok_or_else(|| self.describe_missing())
    }

    /// The same for code that cannot go on without it.
    pub fn require_path(&self) -> Result<PathBuf, TargetError> {
        self.find_path().map_err(TargetError::Unsupported)
    }

    /// Its version: the first word of its output that begins with a digit.
    pub fn ask_version(&self) -> Result<String, String> {
        let path = self.find_path()?;
        let asked = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let said = asked
            .map_err(|error| format!("cannot start `{}`: {}", path.display(), host::error::system_words(&error)))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        version_in(&said).ok_or_else(|| format!("`{}` does not print its version", path.display()))
    }

    fn describe_missing(&self) -> String {
        format!("not installed: `{}` was not found; on Debian: apt-get install {}", self.name, self.package)
    }
}

/// The folders that match `place`, the highest version first.
fn folders_of(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![place.into()] };
    let entries = std::fs::read_dir(before).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.parse::<u32>().unwrap_or(0)));
    names.into_iter().map(|name| Path::new(before).join(name + after)).collect()
}

fn version_in(said: &str) -> Option<String> {
    let word = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(word.chars().filter(|c| c.is_ascii_graphic()).take(60).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_first_number_that_a_program_says() {
        let said = "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(version_in(said).unwrap(), "10.11.19-MariaDB-0+deb12u1");
        assert_eq!(version_in("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)").unwrap(), "15.14");
        assert_eq!(version_in("what?"), None);
    }

    #[test]
    fn the_highest_version_of_a_place_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["9", "15", "17", "notes"] {
            std::fs::create_dir_all(dir.path().join(version).join("bin")).unwrap();
        }
        let place = format!("{}/*/bin", dir.path().display());
        let found: Vec<_> =
            folders_of(&place).iter().map(|folder| folder.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        assert_eq!(found[..3], ["17/bin", "15/bin", "9/bin"].map(PathBuf::from));
    }

    #[test]
    fn a_program_that_is_nowhere_is_named_with_its_package() {
        let none = ServerProgram {
            name: "plimsoll-no-such-program",
            places: &["/nonexistent/*/bin"],
            package: "no-such-package",
        };
        let text = none.find_path().unwrap_err();
        assert!(
            text.contains("`plimsoll-no-such-program`") && text.contains("apt-get install no-such-package"),
            "{text}"
        );
    }
}
