//! `cargo xtask fresh`: the README's two commands on a bare Debian.
//!
//! In: the last commit of the working tree, as root. Out: the time that each command took in a clone below root's home and in one
//! below `/srv`, or the commands that failed. The system is a bare Debian 12 in `target/fresh`, made by debootstrap with
//! ca-certificates, git and build-essential, with namespaces of its own for mounts and processes, which end with it.
//! Limits: kernel, devices, name resolution, trusted certificates and the Rust toolchain are those of this machine. An hour on two
//! cores.

use crate::bare;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The options of `cargo xtask fresh`.
#[derive(Default, clap::Args)]
pub struct FreshArguments {
    /// Only in this folder of the new system, such as `srv/plimsoll`.
    #[arg(long, value_name = "FOLDER")]
    only: Option<String>,
    /// Used by the command itself, in its own namespaces.
    #[arg(long, hide = true, value_name = "SYSTEM")]
    inside: Option<PathBuf>,
}

/// The clones in the new system: one in a home that other users may not enter, one in a folder that they may.
const CLONES: [&str; 2] = ["root/plimsoll", "srv/plimsoll"];

/// The README's two commands.
const COMMANDS: [&[&str]; 2] = [&["cargo", "run", "--release", "--", "quick"], &["cargo", "xtask", "test"]];

const PACKAGES: &str = "ca-certificates,git,build-essential";

/// Where the repository and the toolchain of this machine are mounted in the new system.
const ORIGIN: &str = "mnt/origin";
const TOOLCHAIN: &str = "opt/rust";

/// Makes the system and runs the commands in it.
pub fn run(root: &Path, arguments: &FreshArguments) -> Result<()> {
    if let Some(system) = &arguments.inside {
        return run_inside(root, system, arguments);
    }
    bare::check_rights("cargo xtask fresh")?;
    let system = root.join("target/fresh");
    bare::make_system(&system, PACKAGES)?;
    let mut words = vec![OsStr::new("fresh"), OsStr::new("--inside"), system.as_os_str()];
    if let Some(only) = &arguments.only {
        words.extend([OsStr::new("--only"), OsStr::new(only)]);
    }
    bare::run_in_namespaces(&words)?;
    bare::remove_system(&system)
}

/// The time that one command took, and whether it passed.
struct CommandOutcome {
    clone: &'static str,
    command: String,
    time: Duration,
    passed: bool,
}

fn run_inside(root: &Path, system: &Path, arguments: &FreshArguments) -> Result<()> {
    mount_all(root, system)?;
    let mut outcomes = Vec::new();
    for clone in CLONES.iter().filter(|clone| arguments.only.as_ref().is_none_or(|only| only == **clone)) {
        outcomes.extend(run_in_clone(system, clone)?);
    }
    ensure!(!outcomes.is_empty(), "--only takes one of {}", CLONES.join(", "));
    println!();
    outcomes.iter().for_each(|outcome| println!("fresh: {}", outcome.summary_line()));
    match outcomes.iter().filter(|outcome| !outcome.passed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} commands failed", outcomes.len()),
    }
}

fn mount_all(root: &Path, system: &Path) -> Result<()> {
    bare::mount_kernel(system)?;
    bare::mount_read_only(root, &system.join(ORIGIN))?;
    let toolchain = workspace::output_of(Command::new("rustc").args(["--print", "sysroot"]))?;
    bare::mount_read_only(Path::new(toolchain.trim()), &system.join(TOOLCHAIN))
}

fn run_in_clone(system: &Path, clone: &'static str) -> Result<Vec<CommandOutcome>> {
    let place = format!("/{clone}");
    let origin = format!("/{ORIGIN}");
    workspace::run(&mut in_system(
        system,
        "/",
        &["git", "-c", "safe.directory=*", "clone", "--quiet", &origin, &place],
    ))?;
    let outcomes = COMMANDS.iter().map(|words| run_one(system, clone, &place, words)).collect::<Result<Vec<_>>>()?;
    fs::remove_dir_all(system.join(clone)).with_context(|| format!("cannot remove the clone `{clone}`"))?;
    Ok(outcomes)
}

fn run_one(system: &Path, clone: &'static str, place: &str, words: &[&str]) -> Result<CommandOutcome> {
    println!("fresh: `{}` in {place}", words.join(" "));
    let begun = Instant::now();
    let status = in_system(system, place, words).status().context("cannot start `chroot`")?;
    let outcome = CommandOutcome { clone, command: words.join(" "), time: begun.elapsed(), passed: status.success() };
    println!("fresh: {}", outcome.summary_line());
    Ok(outcome)
}

/// `words` in the folder `place` of the system, with the toolchain of this machine, as in CI.
fn in_system(system: &Path, place: &str, words: &[&str]) -> Command {
    let mut command = bare::chroot(system);
    command.args(["env", "-C", place]).args(words).env("CI", "true");
    let path = format!("/{TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("PATH", path);
    command
}

impl CommandOutcome {
    fn summary_line(&self) -> String {
        let verdict = if self.passed { "ok" } else { "FAILED" };
        format!("{:<14} {verdict:<6} {:5.1} min  {}", self.clone, self.time.as_secs_f64() / 60.0, self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_those_of_the_readme() {
        let readme = fs::read_to_string(workspace::root().unwrap().join("README.md")).unwrap();
        COMMANDS.iter().for_each(|words| assert!(readme.contains(&format!("\n{} ", words.join(" "))), "{words:?}"));
    }

    #[test]
    fn a_command_has_the_environment_of_a_new_login() {
        let command = in_system(Path::new("target/fresh"), "/srv/plimsoll", COMMANDS[1]);
        let names: Vec<_> = command.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["CI", "HOME", "LANG", "PATH"]);
        assert_eq!(workspace::shown(&command), "chroot target/fresh env -C /srv/plimsoll cargo xtask test");
    }
}
