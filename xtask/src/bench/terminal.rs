//! Runs a program on a terminal of its own, and reads what it shows there.
//!
//! In: a command. Out: how often it drew the screen, when it has ended well. Limits: nothing is typed; the reader takes some CPU itself, as
//! any terminal does.

use crate::workspace::shown;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const SIZE: libc::winsize = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
/// A screen that is drawn hides the cursor at its end.
const DRAWN: &str = "\x1b[?25l";

/// Runs `command` to its end. Returns how often it drew the screen.
pub fn run(command: &mut Command) -> Result<u64> {
    let name = shown(command);
    let (mut person, program) = open()?;
    command.stdin(program.try_clone()?).stdout(program.try_clone()?).stderr(program).env("TERM", "xterm-256color");
    // SAFETY: the function makes system calls only, which a child may do between fork and exec.
    unsafe { command.pre_exec(take_terminal) };
    let started = command.spawn();
    // The command has the program's side of the terminal: while it does, reading would not end.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started.with_context(|| format!("cannot start `{name}`"))?;
    let (mut text, mut bytes) = (Vec::new(), [0; 16 << 10]);
    while let Ok(count @ 1..) = person.read(&mut bytes) {
        text.extend_from_slice(&bytes[..count]);
    }
    let (status, text) = (child.wait()?, String::from_utf8_lossy(&text).into_owned());
    if !status.success() {
        bail!("`{name}` failed ({status}): {text}");
    }
    Ok(text.matches(DRAWN).count() as u64)
}

/// A terminal: the side of the person, and the side of the program.
fn open() -> Result<(File, File)> {
    let (mut person, mut program) = (-1, -1);
    // SAFETY: both numbers are valid for the call; the name and the settings may be null, and the size is only read.
    let failed = unsafe { libc::openpty(&mut person, &mut program, std::ptr::null_mut(), std::ptr::null(), &SIZE) };
    if failed != 0 {
        return Err(std::io::Error::last_os_error()).context("cannot open a terminal");
    }
    // SAFETY: the call has opened both and given them to us.
    let (person, program) = unsafe { (File::from_raw_fd(person), File::from_raw_fd(program)) };
    // The child would keep the side of the person open.
    rustix::io::fcntl_setfd(&person, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::CLOEXEC)?;
    Ok((person, program))
}

/// Makes the terminal on stdin that of the process: a live view is only shown in the foreground of a terminal.
fn take_terminal() -> std::io::Result<()> {
    // SAFETY: system calls on numbers; stdin is the terminal.
    let done = unsafe { libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_terminal_in_its_foreground_and_its_screens_are_counted() {
        let script = r#"test -t 0 && test -t 1 && test -t 2 && stty size | grep -qx "24 80" && : > /dev/tty || exit 3
            printf '\033[?25l1\033[?25l2'"#;
        assert_eq!(run(Command::new("sh").args(["-c", script])).unwrap(), 2);
    }

    #[test]
    fn a_program_that_fails_is_named_with_what_it_showed() {
        let error = run(Command::new("sh").args(["-c", "echo no; exit 4"])).unwrap_err().to_string();
        assert!(error.contains("failed") && error.contains("no"), "{error}");
    }
}
