//! Runs a tool that looks at other processes, and watches how long it stops them.
//!
//! In: commands whose output is the input of the next, and the processes that they look at. Out: what the last one printed, how long it
//! took, and for how much of that a process was stopped. Limits: a stop is known to [`LOOK_EVERY`]; text beyond [`TEXT_MAX`] is dropped. A
//! tool that takes longer than its time is killed, and a process that it leaves stopped is resumed (SIGCONT).

use crate::proc_file::{number_after, read_once};
use host::deadline::{end_group, has_ended};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// How long a tool may run. A process is stopped meanwhile.
pub(super) const TIME_MAX: Duration = Duration::from_secs(10);
/// From one look at the processes to the next.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long it takes to read the rest of what a tool printed that has ended. What has left its group may hold its outputs open for good.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// The most text that is kept: some thousand threads.
const TEXT_MAX: u64 = 16 << 20;
/// The most that is kept of what a tool complains about.
const COMPLAINT_MAX: u64 = 16 << 10;

/// What a tool printed, and what it cost.
#[derive(Debug, Default)]
pub(super) struct Capture {
    pub text: String,
    pub complaint: String,
    /// How long it ran.
    pub took: Duration,
    /// For how much of that one of the processes was stopped by a tracer.
    pub stopped: Duration,
}

/// Runs `commands`, the output of each being the input of the next, while `watched` processes are looked at.
///
/// # Errors
/// If one cannot be started, or does not end in time, in words.
pub(super) fn run_tools(commands: &mut [Command], watched: &[u32]) -> Result<Capture, String> {
    let began = Instant::now();
    let stopped_before: Vec<u32> = watched.iter().copied().filter(|pid| is_stopped(*pid)).collect();
    let mut pipeline = Pipeline::start(commands)?;
    let (mut stopped, mut looked) = (Duration::ZERO, Instant::now());
    let mut in_time = true;
    while !pipeline.has_ended() {
        std::thread::sleep(LOOK_EVERY);
        // A process that is traced at a look counts as stopped since the look before. On average that is half a look too much at the
        // beginning of a stop and half a look too little at its end.
        let now = Instant::now();
        if watched.iter().any(|pid| is_traced(*pid)) {
            stopped += now - looked;
        }
        looked = now;
        if began.elapsed() > TIME_MAX {
            in_time = false;
            break;
        }
    }
    pipeline.end();
    if !in_time {
        let left = watched.iter().copied().filter(|pid| is_stopped(*pid) && !stopped_before.contains(pid));
        left.for_each(let_go_on);
        return Err(format!("it did not end within {TIME_MAX:?}"));
    }
    let (text, complaint) = pipeline.into_texts();
    Ok(Capture { text, complaint, took: began.elapsed(), stopped })
}

/// Tools that run, each reading what the one before prints.
struct Pipeline {
    children: Vec<Child>,
    text: Option<Receiver<String>>,
    complaints: Vec<Receiver<String>>,
}

impl Pipeline {
    fn start(commands: &mut [Command]) -> Result<Pipeline, String> {
        let mut pipeline = Pipeline { children: Vec::new(), text: None, complaints: Vec::new() };
        match pipeline.start_all(commands) {
            Ok(()) => Ok(pipeline),
            Err(error) => {
                pipeline.end();
                Err(format!("it cannot be started: {}", model::system_words(&error)))
            }
        }
    }

    fn start_all(&mut self, commands: &mut [Command]) -> io::Result<()> {
        let (mut input, last) = (Stdio::null(), commands.len().saturating_sub(1));
        for (nth, command) in commands.iter_mut().enumerate() {
            // In a group of its own: a Ctrl-C in the terminal would end it while it holds the engine.
            command.process_group(0).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
            // Symbols of a server would need a network, and names in another language could not be read.
            command.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C");
            let mut child = command.spawn()?;
            let pipes = child.stdout.take().zip(child.stderr.take());
            self.children.push(child);
            let (output, complaint) = pipes.expect("both are piped");
            self.complaints.push(read_text(complaint, COMPLAINT_MAX)?);
            input = if nth == last {
                self.text = Some(read_text(output, TEXT_MAX)?);
                Stdio::null()
            } else {
                output.into()
            };
        }
        Ok(())
    }

    /// Whether all of its tools have ended.
    fn has_ended(&self) -> bool {
        self.children.iter().all(has_ended)
    }

    /// Ends the tools that still run.
    fn end(&mut self) {
        for child in &mut self.children {
            end_group(child);
        }
    }

    /// What the last tool printed, and what all complained about.
    fn into_texts(self) -> (String, String) {
        let text_of = |reader: Receiver<String>| reader.recv_timeout(READ_WITHIN).unwrap_or_default();
        (self.text.map(text_of).unwrap_or_default(), self.complaints.into_iter().map(text_of).collect())
    }
}

/// Reads `source` to its end on a thread of its own, so that its writer is never held up, and keeps `most` bytes of it.
fn read_text(mut source: impl Read + Send + 'static, most: u64) -> io::Result<Receiver<String>> {
    let (read, text) = mpsc::channel();
    let thread = std::thread::Builder::new().name("tool".into());
    thread.spawn(move || {
        let mut kept = Vec::new();
        // What could not be read is missing in the text; the caller sees that it has no stacks.
        let _ = source.by_ref().take(most).read_to_end(&mut kept);
        let _ = io::copy(&mut source, &mut io::sink());
        let _ = read.send(String::from_utf8_lossy(&kept).into_owned()); // whoever waited may have given up
    })?;
    Ok(text)
}

/// Whether a tracer is attached to the process or thread `pid`. The process is stopped while the tracer works.
fn is_traced(pid: u32) -> bool {
    let mut buffer = Vec::new();
    let status = read_once(Path::new(&format!("/proc/{pid}/status")), &mut buffer);
    status.ok().and_then(|status| number_after(status, "TracerPid")).is_some_and(|tracer| tracer != 0)
}

/// Whether process `pid` was stopped by a signal.
fn is_stopped(pid: u32) -> bool {
    let mut buffer = Vec::new();
    let stat = read_once(Path::new(&format!("/proc/{pid}/stat")), &mut buffer);
    // The state follows the name, which may hold anything but ends with the last bracket.
    stat.ok().and_then(|stat| stat.rsplit_once(") ")).is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn let_go_on(pid: u32) {
    // A process that is gone needs nothing.
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::CONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn each_tool_reads_what_the_one_before_prints_and_complaints_are_kept_apart() {
        let mut commands = [shell("echo one; echo first >&2"), shell("read line; echo $line more; echo second >&2")];
        let capture = run_tools(&mut commands, &[]).unwrap();
        assert_eq!((capture.text.as_str(), capture.complaint.as_str()), ("one more\n", "first\nsecond\n"));
        assert_eq!(capture.stopped, Duration::ZERO);
    }

    #[test]
    fn what_a_tool_leaves_behind_with_its_outputs_is_ended_and_not_waited_for() {
        let capture = run_tools(&mut [shell("echo said; sleep 600 & exit 0")], &[]).unwrap();
        assert_eq!(capture.text, "said\n");
    }

    #[test]
    fn a_tool_that_is_not_there_is_refused_and_the_one_before_it_is_ended() {
        let mut commands = [shell("sleep 60"), Command::new("/nonexistent/tool")];
        let refused = run_tools(&mut commands, &[]).unwrap_err();
        assert!(refused.starts_with("it cannot be started: "), "{refused}");
    }

    #[test]
    fn more_text_than_is_kept_holds_up_nothing() {
        let reader = read_text(io::repeat(b'x').take(1 << 20), 10).unwrap();
        assert_eq!(reader.recv().unwrap(), "xxxxxxxxxx");
    }
}
