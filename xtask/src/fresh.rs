//! `cargo xtask fresh`: the README's two commands on a bare Debian.
//!
//! In: the last commit of the working tree, as root. Out: the time that each command took in a clone below root's home and in one
//! below `/srv`, or the commands that failed. The system is a bare Debian 12 in `target/fresh`, made by debootstrap with
//! ca-certificates, git and build-essential, with namespaces of its own for mounts and processes, which end with it.
//! Limits: kernel, devices, name resolution, trusted certificates and the Rust toolchain are those of this machine. An hour on two
//! cores.

use crate::needs::{self, FRESH_NEEDS};
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::CommandExt;
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

const SUITE: &str = "bookworm";
const PACKAGES: &str = "ca-certificates,git,build-essential";
const MIRROR: &str = "http://deb.debian.org/debian";

/// Where the repository and the toolchain of this machine are mounted in the new system.
const ORIGIN: &str = "mnt/origin";
const TOOLCHAIN: &str = "opt/rust";

/// Makes the system and runs the commands in it.
pub fn run(root: &Path, arguments: &FreshArguments) -> Result<()> {
    if let Some(system) = &arguments.inside {
        return run_inside(root, system, arguments);
    }
    ensure!(
        rustix::process::geteuid().is_root(),
        "`cargo xtask fresh` makes a system of its own, which only root may do"
    );
    let missing = needs::install_missing(FRESH_NEEDS)?;
    ensure!(missing.is_empty(), "`debootstrap` is missing; `apt-get install debootstrap`");
    let system = root.join("target/fresh");
    make_system(&system)?;
    let mut own = Command::new("unshare");
    own.args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "--"]);
    own.arg(std::env::current_exe()?).arg("fresh").arg("--inside").arg(&system);
    if let Some(only) = &arguments.only {
        own.args(["--only", only]);
    }
    // SAFETY: between fork and exec only one system call is made. If xtask is killed, the namespaces end with all that is in them.
    unsafe { own.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)) };
    workspace::run(&mut own)?;
    fs::remove_dir_all(&system).with_context(|| format!("cannot remove `{}`", system.display()))
}

fn make_system(system: &Path) -> Result<()> {
    if system.exists() {
        fs::remove_dir_all(system).with_context(|| format!("cannot remove `{}`", system.display()))?;
    }
    fs::create_dir_all(system)?;
    println!("fresh: a bare Debian ({SUITE}) in `{}`", system.display());
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--include={PACKAGES}"), SUITE]).arg(system).arg(debian_mirror());
    workspace::run(debootstrap.stdout(std::process::Stdio::null()))?;
    copy_from_host(system, "/etc/resolv.conf")?;
    copy_from_host(system, "/etc/ssl/certs/ca-certificates.crt")
}

/// The mirror that this machine uses for Debian's packages.
pub fn debian_mirror() -> String {
    let files = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    texts.into_iter().find_map(|text| mirror_in(&text)).unwrap_or_else(|| MIRROR.to_owned())
}

/// The first mirror in a list of sources of either form: `URIs: http://...` or `deb http://... bookworm main`.
fn mirror_in(text: &str) -> Option<String> {
    text.lines().find_map(mirror_in_line).map(str::to_owned)
}

fn mirror_in_line(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_source = words.next().is_some_and(|first| ["URIs:", "deb"].contains(&first));
    words.find(|word| is_source && word.starts_with("http"))
}

fn copy_from_host(system: &Path, file: &str) -> Result<()> {
    let to = system.join(file.trim_start_matches('/'));
    if Path::new(file).exists() {
        fs::copy(file, &to).with_context(|| format!("cannot copy `{file}` to `{}`", to.display()))?;
    }
    Ok(())
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

/// The system on a mount point of its own, so that its mount table has a `/`, with what a running Debian has.
fn mount_all(root: &Path, system: &Path) -> Result<()> {
    mount_bind(system, system).context("cannot bind the system on itself")?;
    mount("proc", system.join("proc"), "proc", MountFlags::empty(), None).context("cannot mount /proc")?;
    mount_bind_recursive("/dev", system.join("dev")).context("cannot bind /dev")?;
    mount_bind_recursive("/sys", system.join("sys")).context("cannot bind /sys")?;
    mount_read_only(root, &system.join(ORIGIN))?;
    let toolchain = workspace::output_of(Command::new("rustc").args(["--print", "sysroot"]))?;
    mount_read_only(Path::new(toolchain.trim()), &system.join(TOOLCHAIN))
}

fn mount_read_only(from: &Path, to: &Path) -> Result<()> {
    let cannot = format!("cannot bind `{}` on `{}`", from.display(), to.display());
    fs::create_dir_all(to).with_context(|| cannot.clone())?;
    mount_bind(from, to).with_context(|| cannot.clone())?;
    // A bind mount ignores the flag for reading only: the kernel applies it when the mount is changed.
    mount_remount(to, MountFlags::BIND | MountFlags::RDONLY, c"").context(cannot)
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

/// `words` in the folder `place` of the system, with the environment of a new root login in CI.
fn in_system(system: &Path, place: &str, words: &[&str]) -> Command {
    let mut command = Command::new("chroot");
    command.arg(system).args(["env", "-C", place]).args(words).env_clear();
    // No variable of this machine may help: a new machine does not have it.
    let path = format!("/{TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("PATH", path).env("HOME", "/root").env("LANG", "C.UTF-8").env("CI", "true");
    command.stdin(std::process::Stdio::null());
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
    fn the_mirror_is_found_in_both_forms_of_a_list() {
        let new = "Types: deb\n# a comment\nURIs: http://deb.example/debian\nSuites: bookworm\n";
        let old = "# deb http://commented.example/debian bookworm main\ndeb [arch=amd64] http://old.example/debian bookworm main\n";
        assert_eq!(mirror_in(new).as_deref(), Some("http://deb.example/debian"));
        assert_eq!(mirror_in(old).as_deref(), Some("http://old.example/debian"));
        assert_eq!(mirror_in("deb cdrom:[Debian]/ bookworm main\n"), None);
    }

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
