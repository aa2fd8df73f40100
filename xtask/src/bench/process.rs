//! Runs one program and counts the CPU and the memory that it took.
//!
//! In: a command. Out: its stdout, its CPU time and its peak memory as the kernel counts them. Limits: its children count if it waited for them; work
//! in threads of the kernel does not.

use crate::workspace::shown;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// A program that has ended well.
pub struct Finished {
    pub stdout: String,
    /// CPU time in user mode and in the kernel, from its first instruction to its last.
    pub cpu_ns: f64,
    /// The part of it in user mode.
    pub user_ns: f64,
    /// The most memory that it had at once.
    pub peak_bytes: f64,
}

/// Runs `command` to its end.
pub fn run(command: &mut Command) -> Result<Finished> {
    let name = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{name}`"))?;
    // Read to its end before the wait: a child that fills the pipe would otherwise never end.
    let mut stdout = String::new();
    let mut pipe = child.stdout.take().context("stdout is a pipe")?;
    pipe.read_to_string(&mut stdout).with_context(|| format!("`{name}` wrote no text"))?;
    let (status, usage) = wait_with_usage(&child)?;
    let (user_ns, peak_bytes) = (to_nanos(usage.ru_utime), usage.ru_maxrss as f64 * 1024.0);
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        Ok(Finished { stdout, cpu_ns: user_ns + to_nanos(usage.ru_stime), user_ns, peak_bytes })
    } else {
        bail!("`{name}` failed (wait status {status}): {}", stdout.trim())
    }
}

/// Waits for `child` by wait4, because the wait of the standard library returns neither the CPU time nor the peak memory.
fn wait_with_usage(child: &Child) -> Result<(i32, libc::rusage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call, the child is ours and was not waited for, and all-zero bytes are a valid
    // rusage if the call fails.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    match pid {
        -1 => Err(std::io::Error::last_os_error()).context("cannot wait for a child"),
        _ => Ok((status, usage)),
    }
}

fn to_nanos(time: libc::timeval) -> f64 {
    time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_wrote_and_used_comes_back() {
        let finished =
            run(Command::new("sh").args(["-c", "n=0; while [ $n -lt 20000 ]; do n=$((n+1)); done; echo $n"]));
        let finished = finished.unwrap();
        assert_eq!(finished.stdout, "20000\n");
        assert!(finished.cpu_ns > 0.0 && finished.peak_bytes > 1e5);
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let error = run(Command::new("sh").args(["-c", "echo no; exit 4"])).err().unwrap().to_string();
        assert!(error.starts_with("`sh -c echo no; exit 4` failed") && error.ends_with("no"), "{error}");
    }
}
