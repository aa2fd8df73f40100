//! A bare Debian in a folder: a system of its own in which commands run as on a new machine.
//!
//! In: a folder, Debian packages, commands. Out: the system, made by debootstrap, and the commands in it, with namespaces of their own
//! for mounts and processes, which end with xtask. Limits: root only; kernel, devices, name resolution and trusted certificates are those
//! of this machine.

use crate::needs::{self, FRESH_NEEDS};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const SUITE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";

/// Fails if this user may not make such a system, or if debootstrap cannot be had. `chore` is what needs the system.
pub fn check_rights(chore: &str) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    ensure!(is_root, "`{chore}` makes a system of its own, which only root may do");
    let missing = needs::install_missing(FRESH_NEEDS)?;
    ensure!(missing.is_empty(), "`debootstrap` is missing; `apt-get install debootstrap`");
    Ok(())
}

/// Makes the system in `system` again, with `packages`.
pub fn make_system(system: &Path, packages: &str) -> Result<()> {
    remove_system(system)?;
    fs::create_dir_all(system)?;
    println!("xtask: a bare Debian ({SUITE}) in `{}`", system.display());
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--include={packages}"), SUITE]).arg(system).arg(debian_mirror());
    workspace::run(debootstrap.stdout(Stdio::null()))?;
    copy_from_host(system, "/etc/resolv.conf")?;
    copy_from_host(system, "/etc/ssl/certs/ca-certificates.crt")
}

/// Removes the system, if it is there. Nothing is mounted in it outside of the namespaces, which have ended.
pub fn remove_system(system: &Path) -> Result<()> {
    if system.exists() {
        fs::remove_dir_all(system).with_context(|| format!("cannot remove `{}`", system.display()))
    } else {
        Ok(())
    }
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

/// Runs xtask once more with `arguments`, in namespaces of its own for mounts and processes.
pub fn run_in_namespaces<A: AsRef<OsStr>>(arguments: &[A]) -> Result<()> {
    let mut own = Command::new("unshare");
    own.args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "--"]);
    own.arg(std::env::current_exe()?).args(arguments);
    // SAFETY: between fork and exec only one system call is made. If xtask is killed, the namespaces end with all that is in them.
    unsafe { own.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)) };
    workspace::run(&mut own)
}

/// Puts the system on a mount point of its own, so that its mount table has a `/`, with what a running Linux has.
pub fn mount_kernel(system: &Path) -> Result<()> {
    ["proc", "dev", "sys"].iter().try_for_each(|folder| fs::create_dir_all(system.join(folder)))?;
    mount_bind(system, system).context("cannot bind the system on itself")?;
    mount("proc", system.join("proc"), "proc", MountFlags::empty(), None).context("cannot mount /proc")?;
    mount_bind_recursive("/dev", system.join("dev")).context("cannot bind /dev")?;
    mount_bind_recursive("/sys", system.join("sys")).context("cannot bind /sys")
}

/// Shows the folder `from` of this machine as `to`; it cannot be written to there.
pub fn mount_read_only(from: &Path, to: &Path) -> Result<()> {
    let cannot = format!("cannot bind `{}` on `{}`", from.display(), to.display());
    fs::create_dir_all(to).with_context(|| cannot.clone())?;
    mount_bind(from, to).with_context(|| cannot.clone())?;
    // A bind mount ignores the flag for reading only: the kernel applies it when the mount is changed.
    mount_remount(to, MountFlags::BIND | MountFlags::RDONLY, c"").context(cannot)
}

/// A command in the system, with the environment of a new login of root. No variable of this machine may help: a new machine does not
/// have it.
pub fn chroot(system: &Path) -> Command {
    let mut command = Command::new("chroot");
    command.arg(system).env_clear().env("HOME", "/root").env("LANG", "C.UTF-8");
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    command
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
    fn a_command_has_the_environment_of_a_new_login() {
        let command = chroot(Path::new("target/fresh"));
        let names: Vec<_> = command.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["HOME", "LANG", "PATH"]);
    }
}
