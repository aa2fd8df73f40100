//! What comes with the program: man pages and completions, which the program itself writes.
//!
//! In: a program that runs on this machine. Out: `target/dist/texts` with `man/*.1` and `completions/*`. Limits: three shells.

use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each shell and the name that the file with its completions has.
const SHELLS: [(&str, &str); 3] = [("bash", "plimsoll.bash"), ("zsh", "_plimsoll"), ("fish", "plimsoll.fish")];

/// Writes all of it again and returns the folder.
pub fn write(root: &Path, program: &Path) -> Result<PathBuf> {
    let folder = super::folder(root).join("texts");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove `{}`", folder.display()))?;
    }
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    workspace::run(Command::new(program).args(["man", "--into"]).arg(&man))?;
    for (shell, file) in SHELLS {
        let text = workspace::output_of(Command::new(program).args(["completions", shell]))?;
        fs::write(completions.join(file), text)?;
    }
    // plimsoll closes what it writes to others; these are for everyone.
    for page in fs::read_dir(&man)? {
        fs::set_permissions(page?.path(), fs::Permissions::from_mode(0o644))?;
    }
    Ok(folder)
}
