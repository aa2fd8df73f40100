//! Servers that outlived the plimsoll that had started them: ended before their directory is removed.
//!
//! In: directories of an abandoned data directory. Out: no server works in them any more.
//! Limits: a server is recognised by its command line, which names its data directory (`--datadir=DIR`, `-D DIR`), or by its
//! program if it works in the directory (PostgreSQL's processes give themselves other command lines). A process that only
//! has a file there open is not a server and is left alone. Servers of another machine or PID namespace are not seen.

use crate::error::{TargetError, shown};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

const PROGRAMS: [&str; 3] = ["mariadbd", "mysqld", "postgres"];

/// A server that is asked gets this long before it is forced.
const ASKED_S: i64 = 3;
const FORCED_S: i64 = 10;

/// Ends every server that works in `dir`.
///
/// # Errors
/// If one cannot be ended. It still writes there then.
pub fn end_servers_of(dir: &Path) -> Result<(), TargetError> {
    let Ok(dir) = dir.canonicalize() else { return Ok(()) };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Ok(()) };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(Pid::from_raw).try_for_each(|pid| end_if_server_of(pid, &dir))
}

fn end_if_server_of(pid: Pid, dir: &Path) -> Result<(), TargetError> {
    // The handle first: the number may pass on to another process between the look and the signal.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
    if !(names_dir(&command_line(pid), dir) || works_in(pid, dir)) || asked_to_end(&process) {
        return Ok(());
    }
    let text = format!(
        "process {} is a server working in `{}` and cannot be ended; end it and try again",
        pid.as_raw_nonzero(),
        shown(dir)
    );
    Err(TargetError::Unsafe(text))
}

fn command_line(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default()
}

/// Whether it is a process of a server of ours, and `dir` its working directory.
fn works_in(pid: Pid, dir: &Path) -> bool {
    let [cwd, program] =
        ["cwd", "exe"].map(|name| std::fs::read_link(format!("/proc/{}/{name}", pid.as_raw_nonzero())));
    cwd.is_ok_and(|cwd| cwd == dir)
        && program.is_ok_and(|program| PROGRAMS.iter().any(|name| program.file_name() == Some(OsStr::new(name))))
}

/// Whether the command line is that of a server whose data directory is `dir`.
fn names_dir(command_line: &[u8], dir: &Path) -> bool {
    let args: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
    let by_option = args.iter().any(|arg| arg.strip_prefix(b"--datadir=").is_some_and(|arg| as_path(arg) == dir));
    by_option || args.windows(2).any(|pair| pair[0] == b"-D" && as_path(pair[1]) == dir)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Ends the processes of that program that have `device` open: of a file system that is a process, when its volume goes.
///
/// # Errors
/// If one cannot be ended.
pub fn end_program_with(program: &str, device: &Path) -> Result<(), TargetError> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Ok(()) };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in numbers.filter_map(Pid::from_raw) {
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        if runs_with(pid, program, device) && !ended_by(&process, Signal::KILL, FORCED_S) {
            let text = format!(
                "process {} ({program}) has `{}` open and cannot be ended; end it and try again",
                pid.as_raw_nonzero(),
                shown(device)
            );
            return Err(TargetError::Unsafe(text));
        }
    }
    Ok(())
}

/// Whether it runs `program` and has `device` open.
fn runs_with(pid: Pid, program: &str, device: &Path) -> bool {
    let own = std::path::PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let runs = std::fs::read_link(own.join("exe")).is_ok_and(|exe| exe.file_name() == Some(OsStr::new(program)));
    // By its number: among other mounts or below another root the same device has another path.
    let number = |path: &Path| {
        std::fs::metadata(path).ok().filter(|found| found.file_type().is_block_device()).map(|found| found.rdev())
    };
    let open = std::fs::read_dir(own.join("fd")).into_iter().flatten().flatten();
    runs && number(device)
        .is_some_and(|device| open.filter_map(|entry| number(&entry.path())).any(|opened| opened == device))
}

/// Whether it has ended. A server that ends when asked takes its shared memory with it.
fn asked_to_end(process: &OwnedFd) -> bool {
    [(Signal::QUIT, ASKED_S), (Signal::KILL, FORCED_S)]
        .into_iter()
        .any(|(signal, seconds)| ended_by(process, signal, seconds))
}

/// Whether it has ended within so many seconds of `signal`.
fn ended_by(process: &OwnedFd, signal: Signal, seconds: i64) -> bool {
    let _ = pidfd_send_signal(process, signal); // it may have gone
    // A pidfd becomes readable when its process has ended.
    let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&Timespec { tv_sec: seconds, tv_nsec: 0 }));
    ended.is_ok_and(|ready| ready == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process with that argument, which waits for a line.
    fn waiting(args: &[&str]) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read line"]).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It has its command line when it speaks.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        child
    }

    #[test]
    fn only_a_server_of_that_directory_is_ended() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&dir).unwrap();
        let shown = dir.to_str().unwrap();
        let mut servers = [waiting(&[&format!("--datadir={shown}")]), waiting(&["postgres", "-D", shown])];
        let mut others = [
            waiting(&[shown]),
            waiting(&[&format!("--datadir={shown}2")]),
            waiting(&["-D", &format!("{shown}/..")]),
            waiting(&[&format!("--log={shown}")]),
        ];
        // A stopped server does not hear a request, and is ended all the same.
        rustix::process::kill_process(Pid::from_child(&servers[0]), Signal::STOP).unwrap();
        end_servers_of(&dir).unwrap();
        servers.iter_mut().for_each(|server| assert!(!server.wait().unwrap().success()));
        for other in &mut others {
            assert_eq!(other.try_wait().unwrap(), None, "still there");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
