//! plimsoll under limits of the shell.

use crate::lab::{Finished, Lab, NULL};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// plimsoll after `limit`, a command of bash.
fn after(lab: &Lab, limit: &str, arguments: &[&str]) -> Finished {
    let script = format!("{limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_plimsoll")]).args(arguments).current_dir(lab.path());
    command.output().unwrap().into()
}

const SQLITE: [&str; 8] = ["oltp", "--engine", "sqlite", "--table-rows", "100", "--time", "300ms", "--no-report"];

/// Each client of SQLite has its own descriptors of the database, its log and its index.
pub fn in_open_files(lab: &Lab) -> Option<Finished> {
    let finished = after(lab, "ulimit -n 64", &[&SQLITE[..], &["--clients", "40"]].concat());
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// As a user who has no other process: the limit counts them all.
pub fn in_threads(lab: &Lab) -> Option<Finished> {
    as_user_after(lab, "ulimit -u 20", &[&SQLITE[..], &["--clients", "40"]].concat())
}

/// A control group with a limit of processes and threads, which goes at the end.
struct FewThreads(PathBuf);

impl FewThreads {
    /// `None` if groups cannot be made here.
    fn new(most: u32) -> Option<FewThreads> {
        let name = format!("plimsoll-test-{}-{most}", std::process::id());
        let hierarchies = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(PathBuf::from).into_iter();
        let made = hierarchies.map(|root| root.join(&name)).find(|group| {
            let limit = group.join("pids.max");
            let is_limited = std::fs::create_dir(group).is_ok() && std::fs::write(limit, most.to_string()).is_ok();
            if !is_limited {
                let _ = std::fs::remove_dir(group);
            }
            is_limited
        });
        made.map(FewThreads)
    }
}

impl Drop for FewThreads {
    fn drop(&mut self) {
        // It is empty a moment after its last process has ended.
        crate::lab::wait_until("the end of a control group", || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// Root is bound by it, too. With fewer threads plimsoll itself has not enough; all the same it ends with a line.
pub fn in_threads_of_a_group(lab: &Lab) -> Option<Finished> {
    crate::disk::places::is_root()?;
    let run = |most: u32| -> Option<Finished> {
        let group = FewThreads::new(most)?;
        let enter = format!("echo $$ > {}", group.0.join("cgroup.procs").display());
        let load = [&SQLITE[..], &["--clients", "32"]].concat();
        Some(after(lab, &enter, &load))
    };
    for most in [4, 8] {
        let finished = run(most)?;
        assert!(finished.exit != 0 && !finished.stderr.is_empty(), "{most}: {}", finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{most}: {}", finished.stderr);
        lab.run_files().iter().for_each(|file| std::fs::remove_file(file).unwrap());
    }
    let finished = run(14)?;
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

/// plimsoll after `limit` as a user of its own, whom limits bind that do not bind root.
fn as_user_after(lab: &Lab, limit: &str, arguments: &[&str]) -> Option<Finished> {
    crate::disk::places::is_root()?;
    crate::disks::done("chmod", &["0777", lab.path().to_str().unwrap()]);
    let copy = tempfile::tempdir().unwrap();
    crate::disks::done("chmod", &["0755", copy.path().to_str().unwrap()]);
    let binary = copy.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).unwrap();
    let script = format!("{limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=54321", "--regid=54321", "--clear-groups", "bash", "-c", &script]);
    command.arg(binary).args(arguments).current_dir(lab.path());
    Some(command.output().unwrap().into())
}

pub fn in_address_space(lab: &Lab) -> Option<Finished> {
    Some(after(lab, "ulimit -v 500000", &[&SQLITE[..], &["--clients", "250"]].concat()))
}

pub fn in_size_of_files(lab: &Lab) -> Option<Finished> {
    let finished = after(lab, "ulimit -f 2000", &["file", "--file-size", "64MiB", "--time", "300ms", "--no-report"]);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

const RING: [&str; 10] =
    ["file", "--file-size", "16MiB", "--io", "uring", "--depth", "16", "--time", "300ms", "--no-report"];

/// Root may lock as much as it likes.
pub fn in_locked_memory(lab: &Lab) -> Option<Finished> {
    let finished = as_user_after(lab, "ulimit -l 64", &RING)?;
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    let facts = lab.facts();
    assert!(facts.contains(r#"{"name":"uring.registered_buffers","value":"false"}"#), "{facts}");
    Some(finished)
}

pub fn without_locked_memory(lab: &Lab) -> Option<Finished> {
    as_user_after(lab, "ulimit -l 4", &RING)
}

/// A filter as containers have it: `io_uring_setup` fails with EPERM, as it does with `kernel.io_uring_disabled`, which would concern
/// all processes of the machine.
pub fn by_a_filter_of_system_calls(lab: &Lab) -> Option<Finished> {
    let load = ["file", "--file-size", "4MiB", "--io", "uring", "--time", "300ms", "--no-report", "--quiet"];
    let mut command = lab.command(&load);
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(refuse_io_uring) };
    let finished: Finished = command.output().unwrap().into();
    assert!(finished.stderr.contains("use `--io sync`"), "{}", finished.stderr);
    assert_eq!(lab.left_behind(), Vec::<String>::new());
    Some(finished)
}

fn refuse_io_uring() -> io::Result<()> {
    // Load the number of the call; if it is that of io_uring_setup, EPERM; else it is allowed (linux/bpf_common.h, linux/seccomp.h).
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const FAIL_WITH: u32 = 0x0005_0000;
    let step = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
    let mut filter = [
        step(LOAD, 0, 0),
        step(JUMP_IF_EQUAL, 1, libc::SYS_io_uring_setup as u32),
        step(RETURN, 0, ALLOW),
        step(RETURN, 0, FAIL_WITH | libc::EPERM as u32),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which is valid for as long as the call takes.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A run with its data, while it is measured and afterwards; as root also one on a file system of its own.
pub fn by_no_umask(lab: &Lab) -> Option<Finished> {
    let finished = without_umask(lab, &[]);
    if crate::disk::places::is_root().is_some() {
        let on_volume = without_umask(&Lab::new(), &["--fs", "ext4"]);
        assert_eq!(on_volume.exit, 0, "{}", on_volume.stderr);
    }
    assert_eq!(lab.run(&[NULL, &["--time", "100ms"]].concat()).exit, 0);
    assert!(assert_closed(lab) > 10, "the run files, the report and its charts");
    Some(finished)
}

fn without_umask(lab: &Lab, more: &[&str]) -> Finished {
    let load = ["oltp", "--engine", "sqlite", "--table-rows", "1000", "--durability", "none", "--time", "1s"];
    let mut command = Command::new("bash");
    command.args(["-c", "umask 0 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_plimsoll")]);
    command.args([&load[..], &["--interval", "50ms"], more].concat()).current_dir(lab.path());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    lab.wait_for_load(&mut child, 3);
    assert!(assert_closed(lab) > 3, "the run file, its log, and data");
    child.wait_with_output().unwrap().into()
}

/// Checks that nothing in the directory is for others, or writable for the group. The directories around a file system of a run's own may be
/// entered, by the user of a server. Returns how much there is.
fn assert_closed(lab: &Lab) -> usize {
    let entries =
        |dir: &PathBuf| std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let mut left = entries(&lab.path().to_owned());
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue }; // files of a running engine come and go
        let is_around_volume = path.ends_with("mnt") || path.join("mnt").is_dir();
        let widest = match (meta.is_dir(), is_around_volume) {
            (true, true) => 0o711,
            (true, false) => 0o750,
            (false, _) => 0o640,
        };
        let mode = meta.permissions().mode() & 0o777;
        assert_eq!(mode & !widest, 0, "{}: {mode:o}", path.display());
        if meta.is_dir() {
            left.extend(entries(&path));
        }
        seen += 1;
    }
    seen
}
