//! The working tree: where it is, what is in it, and commands run in it.
//!
//! In: nothing. Out: paths relative to the root, texts, finished commands. Limits: only the project's own folders are read; run files
//! and reports in the root belong to users.

use anyhow::{Context, Result, bail};
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders of the project.
const FOLDERS: &[&str] = &[".cargo", ".ci", "crates", "docs", "plans", "tests", "xtask"];

/// The project's files in the root, by extension; `LICENSE` and the like have none and hold nothing to check.
const ROOT_EXTENSIONS: &[&str] = &["md", "toml", "lock"];

/// One text file of the project.
pub struct TextFile {
    /// Its path relative to the root, with `/`.
    pub path: String,
    pub text: String,
    parsed: OnceCell<Option<syn::File>>,
}

impl TextFile {
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> TextFile {
        TextFile { path: path.into(), text: text.into(), parsed: OnceCell::new() }
    }

    /// Its code, parsed once for all who ask; `None` if it cannot be parsed, which the compiler reports.
    pub fn parsed(&self) -> Option<&syn::File> {
        self.parsed.get_or_init(|| syn::parse_file(&self.text).ok()).as_ref()
    }

    /// Whether its name ends in `.extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        has_extension(Path::new(&self.path), extension)
    }
}

/// The root of the workspace.
pub fn root() -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").context("not started by cargo; use `cargo xtask`")?;
    let root = Path::new(&own).parent().context("the folder of xtask has no parent")?;
    Ok(root.to_owned())
}

/// Every text file of the project, sorted by path; binary files are left out.
pub fn text_files(root: &Path) -> Result<Vec<TextFile>> {
    let mut paths = Vec::new();
    for entry in read_dir(root)? {
        if entry.is_file() && ROOT_EXTENSIONS.iter().any(|wanted| has_extension(&entry, wanted)) {
            paths.push(entry);
        }
    }
    for folder in FOLDERS {
        collect_files(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let relative = path.strip_prefix(root).expect("found below the root").to_string_lossy().into_owned();
        files.extend(String::from_utf8(bytes).ok().map(|text| TextFile::new(relative, text)));
    }
    Ok(files)
}

fn collect_files(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in read_dir(folder)? {
        if entry.is_dir() { collect_files(&entry, paths)? } else { paths.push(entry) }
    }
    Ok(())
}

fn read_dir(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    paths.with_context(|| format!("cannot list `{}`", folder.display()))
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|own| own == wanted)
}

/// `cargo` of the toolchain that runs this, in the root.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // `cargo run` sets these variables for the package xtask. A test that inherited them would look for its files there.
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR"))
        .for_each(|name| {
            command.env_remove(name);
        });
    command
}

/// Runs `command` with its output on the terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if status.success() { Ok(()) } else { bail!("`{shown}` ended with {status}") }
}

/// Runs `command` and returns what it wrote to stdout.
pub fn output_of(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{shown}`"))?;
    if output.status.success() {
        String::from_utf8(output.stdout).with_context(|| format!("`{shown}` wrote no text"))
    } else {
        bail!("`{shown}` ended with {}", output.status)
    }
}

/// The command as you would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_projects_own_text_files_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["docs/guide", "target", "plimsoll-runs"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let files: [(&str, &[u8]); 6] = [
            ("README.md", b"# plimsoll"),
            ("report.html", b"somebody's"),
            ("docs/guide/a.md", b"text"),
            ("docs/guide/b.png", &[0x89, 0xff, 0xfe]),
            ("target/c.md", b"built"),
            ("plimsoll-runs/d.md", b"somebody's"),
        ];
        files.iter().for_each(|(path, bytes)| fs::write(dir.path().join(path), bytes).unwrap());
        let found: Vec<String> = text_files(dir.path()).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(found, ["README.md", "docs/guide/a.md"]);
    }

    #[test]
    fn a_failed_command_is_named_with_its_arguments() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert_eq!(error, "`sh -c exit 3` ended with exit status: 3");
        assert!(run(&mut Command::new("plimsoll-no-such-program")).is_err());
    }
}
