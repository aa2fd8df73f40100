//! Programs of the trade that are built from crates or come from PyPI: mdBook, maturin.
//!
//! In: the name and the version of a tool. Out: the path of its program, below `target/tools` if it had to be installed. Limits: a
//! program of that version on PATH is taken as it is; an installation downloads sources.

use crate::workspace;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool, in the version that the project is made with.
pub struct Tool {
    program: &'static str,
    /// The words after the program that print its version.
    version_words: &'static [&'static str],
    version: &'static str,
    origin: ToolOrigin,
}

/// Where a tool is from.
enum ToolOrigin {
    /// crates.io: `cargo install` with these options.
    Crate(&'static [&'static str]),
    /// PyPI: `pip install` in an environment of its own.
    Wheel,
}

/// Makes the documentation site; without its web server and its watcher of files, which are most of its dependencies.
pub const MDBOOK: Tool = Tool {
    program: "mdbook",
    version_words: &["--version"],
    version: "0.5.4",
    origin: ToolOrigin::Crate(&["--no-default-features", "--features", "search"]),
};

pub const MATURIN: Tool =
    Tool { program: "maturin", version_words: &["--version"], version: "1.16.0", origin: ToolOrigin::Wheel };

impl Tool {
    /// The path of the program, which is installed if it is missing.
    pub fn find(&self, root: &Path) -> Result<PathBuf> {
        let installed = root.join("target/tools/bin").join(self.program);
        match [PathBuf::from(self.program), installed.clone()].into_iter().find(|program| self.is_right(program)) {
            Some(program) => Ok(program),
            None => self.install(root).map(|()| installed),
        }
    }

    /// Whether the program is there in the right version.
    fn is_right(&self, program: &Path) -> bool {
        let output = Command::new(program).args(self.version_words).output();
        output.is_ok_and(|output| has_version(&String::from_utf8_lossy(&output.stdout), self.version))
    }

    fn install(&self, root: &Path) -> Result<()> {
        println!("xtask: installing {} {} in `target/tools`", self.program, self.version);
        let place = root.join("target/tools");
        match self.origin {
            ToolOrigin::Crate(options) => {
                let mut install = workspace::cargo(root);
                install.args(["install", "--quiet", "--locked", "--root"]).arg(place);
                workspace::run(install.args([self.program, "--version", self.version]).args(options))
            }
            ToolOrigin::Wheel => {
                workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&place))
                    .context("`python3` with its module venv is needed; `apt-get install python3-venv`")?;
                let package = format!("{}=={}", self.program, self.version);
                workspace::run(Command::new(place.join("bin/pip")).args(["install", "--quiet", &package]))
            }
        }
    }
}

/// Whether `text`, such as `mdbook v0.5.4`, names this version.
fn has_version(text: &str, version: &str) -> bool {
    text.split_whitespace().any(|word| word.trim_start_matches('v') == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_programs_print() {
        assert!(has_version("mdbook v0.5.4\n", "0.5.4") && has_version("maturin 1.16.0\n", "1.16.0"));
        assert!(!has_version("maturin 1.16.01", "1.16.0") && !has_version("", "1.16.0"));
    }
}
