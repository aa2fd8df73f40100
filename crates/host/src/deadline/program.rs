//! Programs that are run for what they do or print: each ends in time, or is ended with all that it has started.
//!
//! In: a command, and how long it may run. Out: how it ended, and what it printed. Limits: one that prints more than a pipe holds (64 KiB)
//! stands still until it is ended; what has left the group of the program is not ended, and is not waited for either.

use super::poll_until;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

/// How long a program that is killed may take: it may wait for its disk in a call that nothing ends.
const KILLED_AT_MOST: Duration = Duration::from_secs(10);
/// The most that is read of each output.
const PRINTED_MAX: u64 = 64 << 10;

/// Runs `command` to its end. It gets no input, and a group of its own: Ctrl-C in a terminal is for plimsoll.
///
/// # Errors
/// If it cannot be started; of the kind [`ErrorKind::TimedOut`] if it does not end within `at_most`.
pub fn output_within(command: &mut Command, at_most: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let in_time = poll_until(at_most, || has_ended(&child).then_some(())).is_some();
    match end_group(&mut child).filter(|_| in_time) {
        Some(status) => {
            Ok(Output { status, stdout: held_in(child.stdout.take()), stderr: held_in(child.stderr.take()) })
        }
        None => Err(io::Error::new(ErrorKind::TimedOut, format!("it did not end within {} s", at_most.as_secs_f64()))),
    }
}

/// Whether `child` has ended. It stays to be waited for: until then its number, which is that of its group, stays its own.
pub fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None))
}

/// Ends `child`, which has a group of its own, with what it has started: that may hold its outputs open. As [`end_child`].
pub fn end_group(child: &mut Child) -> Option<ExitStatus> {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL); // it may have gone
    end_child(child)
}

/// Kills `child` if it has not ended. `None` if it waits in a call that nothing ends, as for a disk that does not answer: it goes with that.
pub fn end_child(child: &mut Child) -> Option<ExitStatus> {
    let _ = child.kill(); // it may have ended by itself
    poll_until(KILLED_AT_MOST, || child.try_wait().transpose())?.ok()
}

/// What is in the pipe of a program that has ended. What it has started may hold the other end open, so an end of the pipe is not awaited.
fn held_in(pipe: Option<impl Read + AsFd>) -> Vec<u8> {
    let mut held = Vec::new();
    if let Some(pipe) = pipe.filter(|pipe| rustix::io::ioctl_fionbio(pipe, true).is_ok()) {
        let _ = pipe.take(PRINTED_MAX).read_to_end(&mut held); // an error is that nothing more is there
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn run(script: &str, at_most: Duration) -> io::Result<Output> {
        output_within(Command::new("/bin/sh").args(["-c", script]), at_most)
    }

    #[test]
    fn a_program_is_read_with_its_ending() {
        let done = run("echo one; echo two >&2; exit 3", LONG).unwrap();
        assert_eq!((done.status.code(), &done.stdout[..], &done.stderr[..]), (Some(3), &b"one\n"[..], &b"two\n"[..]));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_what_it_has_started() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("child");
        let script = format!("sleep 600 & echo $! > {}; wait", note.display());
        // The shell has written its note within the first of these, unless the machine is busy.
        let started = [1, 10, 100].into_iter().find_map(|seconds| {
            let late = run(&script, Duration::from_secs(seconds)).unwrap_err();
            assert_eq!(
                (late.kind(), late.to_string()),
                (ErrorKind::TimedOut, format!("it did not end within {seconds} s"))
            );
            std::fs::read_to_string(&note).ok().filter(|text| text.ends_with('\n'))
        });
        let started = started.expect("it has started one");
        let stat = std::path::PathBuf::from(format!("/proc/{}/stat", started.trim()));
        // Whoever inherits a process that has ended looks after it a moment later.
        let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        assert!(poll_until(LONG, || is_gone().then_some(())).is_some());
    }

    #[test]
    fn nothing_is_waited_for_that_a_program_has_left_with_its_outputs() {
        let done = run("echo said; sleep 600 & exit 0", LONG).unwrap();
        assert_eq!(done.stdout, b"said\n");
        let left = run("echo said; setsid sleep 5 & exit 0", LONG).unwrap();
        assert_eq!(left.stdout, b"said\n");
    }

    #[test]
    fn more_than_a_pipe_holds_is_no_way_to_stay() {
        assert_eq!(run("exec yes", Duration::from_millis(300)).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
