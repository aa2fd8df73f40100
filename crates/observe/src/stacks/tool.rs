//! The tools that take stacks: which of them is there, how it is called, and what it delivers.
//!
//! In: the processes of an engine. Out: the first tool that could take its stacks, and the stacks. Limits: whether a tool may look at a
//! process is found out by trying it once; what is looked at then is thrown away.

use super::capture::{Capture, TIME_MAX, run_tools};
use super::{elfutils, gdb, perf};
use crate::proc_file::read_once;
use crate::process_tree::numbers_in;
use crate::threads::processes_of;
use model::FoldedStack;
use model::stacks::merge_stacks;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The most processes of an engine that are looked at: a server with more has one for each connection.
pub(super) const PROCESSES_MAX: usize = 64;
/// The most threads of which each is looked at for a stop of its own: a look at one costs 5 us.
const THREADS_LOOKED_MAX: usize = 200;
/// The most frames of a stack that are asked for.
const FRAMES: u32 = 99;
/// How long `perf` samples.
const SAMPLED: &str = "0.2";
/// How often, per second; not a round number, so that it is not in step with a timer.
const SAMPLES_PER_S: &str = "499";

/// Why no stacks can be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StacksMissing {
    /// None of the tools is installed.
    #[error("none of `eu-stack`, `gdb` and `perf` is installed; install one of them (packages `elfutils`, `gdb`)")]
    NoTool,
    /// Those that are there could not look at the engine.
    #[error("{reasons}{hint}")]
    Refused {
        /// What each of them answered.
        reasons: String,
        /// What to do, if that is known.
        hint: String,
    },
}

/// A tool that takes stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackTool {
    kind: ToolKind,
    program: PathBuf,
}

/// The tools that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolKind {
    EuStack,
    Gdb,
    Perf,
}

/// In the order in which they are tried: what disturbs the engine least and still sees threads that wait comes first.
const TOOLS: [ToolKind; 3] = [ToolKind::EuStack, ToolKind::Gdb, ToolKind::Perf];

/// The stacks of an engine at one moment, and what taking them cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenStacks {
    /// The stacks, each once.
    pub stacks: Vec<FoldedStack>,
    /// How long the tool ran.
    pub took: Duration,
    /// For how much of that the engine, or a part of it, was stopped.
    pub stopped: Duration,
}

impl ToolKind {
    fn name(self) -> &'static str {
        match self {
            ToolKind::EuStack => "eu-stack",
            ToolKind::Gdb => "gdb",
            ToolKind::Perf => "perf",
        }
    }
}

impl StackTool {
    /// The first tool in the directories `path` (of the form of `PATH`) that can take the stacks of the processes `roots`.
    ///
    /// # Errors
    /// If there is none, or none may look at them.
    pub fn find(path: &std::ffi::OsStr, roots: &[u32]) -> Result<StackTool, StacksMissing> {
        let mut reasons = Vec::new();
        for kind in TOOLS {
            let Some(program) = find_program(kind.name(), path) else { continue };
            let tool = StackTool { kind, program };
            match tool.take(roots) {
                Ok(_) => return Ok(tool),
                Err(reason) => reasons.push(format!("`{}`: {reason}", kind.name())),
            }
        }
        if reasons.is_empty() {
            return Err(StacksMissing::NoTool);
        }
        Err(StacksMissing::Refused { reasons: reasons.join("; "), hint: tracing_hint() })
    }

    /// The name of the program.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Takes the stacks of the processes `roots` and of their descendants.
    ///
    /// # Errors
    /// The tool's own words if it could not.
    pub fn take(&self, roots: &[u32]) -> Result<TakenStacks, String> {
        let pids: Vec<u32> = processes_of(roots, &mut Vec::new()).into_iter().take(PROCESSES_MAX).collect();
        match self.kind {
            ToolKind::EuStack => self.take_by_eu_stack(&pids),
            ToolKind::Gdb => self.take_by_gdb(&pids),
            ToolKind::Perf => self.take_by_perf(&pids),
        }
    }

    /// One process after the other, all within the time of one tool.
    fn take_by_eu_stack(&self, pids: &[u32]) -> Result<TakenStacks, String> {
        let (mut stacks, mut all) = (Vec::new(), Capture::default());
        for pid in pids {
            let mut command = Command::new(&self.program);
            command.args(["-p", &pid.to_string(), "-n", &FRAMES.to_string()]);
            // It stops threads one by one. With too many of them to look at, all of its time counts.
            let threads = numbers_in(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default();
            let few = threads.len() <= THREADS_LOOKED_MAX;
            let capture = run_tools(&mut [command], if few { &threads } else { &[] })?;
            stacks.extend(elfutils::parse(&capture.text, |thread| thread_name(*pid, thread)));
            all.took += capture.took;
            all.stopped += if few { capture.stopped } else { capture.took };
            all.complaint += &capture.complaint;
            if all.took > TIME_MAX {
                break;
            }
        }
        taken(stacks, &all)
    }

    /// All processes by one gdb, which has read the symbols of the program before it stops the first.
    fn take_by_gdb(&self, pids: &[u32]) -> Result<TakenStacks, String> {
        let mut command = Command::new(&self.program);
        command.args(["-nx", "-q", "-batch"]);
        gdb::SETTINGS.iter().for_each(|setting| {
            command.args(["-iex", setting]);
        });
        command.args(pids.first().map(|pid| format!("/proc/{pid}/exe")));
        for pid in pids {
            command.args(["-ex", &format!("attach {pid}"), "-ex", &format!("thread apply all backtrace {FRAMES}")]);
            command.args(["-ex", "detach"]);
        }
        let capture = run_tools(&mut [command], pids)?;
        let name_of = |thread| pids.iter().find_map(|pid| thread_name(*pid, thread));
        taken(gdb::parse(&capture.text, name_of), &capture)
    }

    /// Samples of what is on a CPU. That there are none is a result, too: all threads wait.
    fn take_by_perf(&self, pids: &[u32]) -> Result<TakenStacks, String> {
        let list = pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let (mut record, mut script) = (Command::new(&self.program), Command::new(&self.program));
        record.args(["record", "-q", "-g", "-F", SAMPLES_PER_S, "-o", "-", "-p", &list, "--", "sleep", SAMPLED]);
        script.args(["script", "-i", "-", "-F", perf::FIELDS]);
        let capture = run_tools(&mut [record, script], pids)?;
        let stacks = perf::parse(&capture.text);
        if stacks.is_empty() && !capture.complaint.trim().is_empty() {
            taken(stacks, &capture)
        } else {
            Ok(TakenStacks { stacks: merge_stacks(stacks), took: capture.took, stopped: capture.stopped })
        }
    }
}

/// `stacks` with their cost; the reason why there are none.
fn taken(stacks: Vec<FoldedStack>, capture: &Capture) -> Result<TakenStacks, String> {
    if stacks.is_empty() {
        return Err(reason_in(&capture.complaint));
    }
    Ok(TakenStacks { stacks: merge_stacks(stacks), took: capture.took, stopped: capture.stopped })
}

/// The line of a complaint with the reason why a process cannot be looked at; else the last.
fn reason_in(complaint: &str) -> String {
    const REASONS: [&str; 4] = ["not permitted", "permission", "denied", "attach"];
    let lines = || complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines()
        .find(|line| REASONS.iter().any(|reason| line.to_lowercase().contains(reason)))
        .or(lines().next_back())
        .unwrap_or("it delivered no stacks");
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

/// What keeps a user who is not root from tracing, if it does.
fn tracing_hint() -> String {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "" | "0" => "; run plimsoll as root".to_owned(),
        scope => format!("; run plimsoll as root, or set `kernel.yama.ptrace_scope` to 0 (it is {scope})"),
    }
}

fn thread_name(pid: u32, thread: u32) -> Option<String> {
    let mut buffer = Vec::new();
    let name = read_once(Path::new(&format!("/proc/{pid}/task/{thread}/comm")), &mut buffer).ok()?;
    Some(name.trim_end().to_owned())
}

fn find_program(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A directory with a program of that name that is a shell script.
    fn with_program(name: &str, script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn without_a_tool_there_are_no_stacks() {
        let nowhere = tempfile::tempdir().unwrap();
        let missing = StackTool::find(nowhere.path().as_os_str(), &[std::process::id()]).unwrap_err();
        assert_eq!(missing, StacksMissing::NoTool);
    }

    #[test]
    fn a_tool_that_may_not_look_is_named_with_its_reason() {
        let folder = with_program("gdb", "echo 'warning: x' >&2; echo 'ptrace: Operation not permitted.' >&2");
        let missing = StackTool::find(folder.path().as_os_str(), &[std::process::id()]).unwrap_err().to_string();
        assert!(missing.starts_with("`gdb`: ptrace: Operation not permitted.; run plimsoll as root"), "{missing}");
    }

    /// The real gdb looks at a process that waits.
    #[test]
    fn gdb_shows_what_a_process_waits_for_and_how_long_it_was_stopped() {
        let Some(program) = find_program("gdb", &std::env::var_os("PATH").unwrap_or_default()) else {
            eprintln!("skipped: there is no gdb");
            return;
        };
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let tool = StackTool { kind: ToolKind::Gdb, program };
        let taken = tool.take(&[child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        let taken = match taken {
            Err(reason) if reason.contains("not permitted") => return eprintln!("skipped: {reason}"),
            taken => taken.unwrap(),
        };
        assert_eq!((taken.stacks.len(), taken.stacks[0].count), (1, 1));
        let frames = &taken.stacks[0].frames;
        assert!(frames[0] == "sleep" && frames.iter().any(|frame| frame.contains("nanosleep")), "{frames:?}");
        assert!(taken.stopped > Duration::ZERO && taken.stopped <= taken.took, "{taken:?}");
    }
}
