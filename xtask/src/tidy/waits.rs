//! Every wait has an end.
//!
//! In: all source files. Out: a problem for each line with a call that may wait for ever and that no entry of [`ALLOWED`] has, for each entry
//! that matches nothing, and for each line that panics if no thread can be started. Limits: calls are known by their names, and one reason
//! stands for all calls of its kind in a file.
//!
//! `host::deadline` owns deadlines: it waits for programs, and looks again and again for what comes or goes. Files that a user names are
//! opened by `model::open_regular`. Sockets of servers wait in `engine::server::network`, those of the bus in `bus::socket`.

use super::privileged::code_lines;
use super::problem::Problem;
use crate::workspace::TextFile;

/// The module that the others wait by.
const OWNER: &str = "crates/host/src/deadline/";

/// To open a pipe takes until another program opens its other end, and to read it until that writes.
const FILES: &[&str] = &["fs::read(", "fs::read_to_string(", "File::open(", "File::create(", "fs::write(", "fs::copy("];
/// The flags of such an opening, unless one of [`OPENS_AT_ONCE`] is in the same line.
const OPENINGS: &[&str] = &["OFlags::RDONLY", "OFlags::WRONLY", "OFlags::RDWR"];
/// What is new, a directory, or without a name has nobody at its other end, and the last does not wait for anybody.
const OPENS_AT_ONCE: [&str; 4] = ["OFlags::EXCL", "OFlags::DIRECTORY", "OFlags::TMPFILE", "OFlags::NONBLOCK"];
/// A thread ends when it likes.
const THREADS: &[&str] = &[".join()", "thread::scope(", ".recv()", ".wait(", ".wait_while(", "thread::park()"];
/// So does a program; and a thread that is told by none looks again and again.
const OTHERS: &[&str] = &[
    ".output()",
    ".status()",
    ".wait_with_output()",
    "thread::sleep(",
    "TcpStream::connect(",
    "UnixStream::connect(",
    "FlockOperation::LockExclusive",
    "FlockOperation::LockShared",
];

/// Calls that panic if the kernel gives no thread; those of `thread::Builder` return an error.
const SPAWNS: &[&str] = &["thread::spawn(", "scope.spawn("];

/// What the kernel answers at once.
const AT_ONCE: [&str; 5] = ["\"/proc", "\"/sys", "\"/etc/", "\"/dev/null", "\"/dev/urandom"];

/// Waits that end for a reason which their calls do not show.
struct Ending {
    why: &'static str,
    calls: &'static [&'static str],
    files: &'static [&'static str],
}

const ALLOWED: &[Ending] = &[
    Ending {
        why: "files of the kernel, which it answers at once",
        calls: FILES,
        files: &[
            "crates/engine/src/connect/backlog.rs",
            "crates/engine/src/file/workers.rs",
            "crates/engine/src/server/sighting.rs",
            "crates/engine/src/watch/process_log.rs",
            "crates/host/src/flush_probe.rs",
            "crates/host/src/privileged/block_trace.rs",
            "crates/host/src/privileged/cgroup/cpu.rs",
            "crates/host/src/privileged/cgroup/group.rs",
            "crates/host/src/privileged/cgroup/hierarchy.rs",
            "crates/host/src/privileged/cgroup/memory.rs",
            "crates/host/src/privileged/cgroup/storage.rs",
            "crates/host/src/privileged/volume/zfs.rs",
            "crates/host/src/text_file.rs",
            "crates/observe/src/interface.rs",
            "crates/observe/src/proc_file.rs",
            "crates/observe/src/sources/power.rs",
            "crates/observe/src/threads/members.rs",
        ],
    },
    Ending {
        why: "files of the kernel, or what was opened before",
        calls: OPENINGS,
        files: &[
            "crates/host/src/filesystem.rs",
            "crates/host/src/privileged/cgroup/group.rs",
            "crates/host/src/privileged/system_change/setting.rs",
        ],
    },
    Ending {
        why: "block devices, or files that were looked at before; with O_NONBLOCK io_uring would give up what it cannot do at once",
        calls: OPENINGS,
        files: &[
            "crates/engine/src/file/files.rs",
            "crates/host/src/device/mod.rs",
            "crates/host/src/disk_timing.rs",
            "crates/host/src/privileged/volume/loop_device.rs",
        ],
    },
    Ending {
        why: "the flag that does not wait is added where it is not a directory",
        calls: OPENINGS,
        files: &["crates/host/src/lock.rs"],
    },
    Ending {
        why: "a program of a bench, which gives it its own files and sockets",
        calls: &["fs::read(", "OFlags::RDONLY", "TcpStream::connect(", "UnixStream::connect("],
        files: &["crates/load/examples/floor.rs"],
    },
    Ending {
        why: "directories",
        calls: &["File::open("],
        files: &[
            "crates/import/src/write.rs",
            "crates/store/src/log_sync.rs",
            "crates/store/src/writer.rs",
            "crates/workload/src/replay_sql/workload_file/writer.rs",
        ],
    },
    Ending {
        why: "files in a directory of plimsoll's own that only its user may enter",
        calls: FILES,
        files: &["crates/store/src/open.rs"],
    },
    Ending {
        why: "what was opened before has somebody at its other end",
        calls: FILES,
        files: &["crates/model/src/regular_file.rs"],
    },
    Ending {
        why: "a plan may come through a pipe; after a second the user reads what is waited for",
        calls: FILES,
        files: &["crates/plimsoll/src/commands/plans.rs"],
    },
    Ending {
        why: "pages for the repository, by a hidden command",
        calls: FILES,
        files: &["crates/plimsoll/src/commands/reference.rs"],
    },
    Ending {
        why: "the thread is told to end, and looks for that between two acts which end",
        calls: THREADS,
        files: &[
            "crates/engine/src/cpu/lock.rs",
            "crates/engine/src/periodic.rs",
            "crates/host/src/privileged/slowdown.rs",
            "crates/plimsoll/src/output/live/mod.rs",
        ],
    },
    Ending {
        why: "the thread makes system calls that end",
        calls: THREADS,
        files: &["crates/host/src/privileged/private_mounts.rs", "crates/host/src/privileged/volume/zfs.rs"],
    },
    Ending {
        why: "the threads do what was asked, and end when nothing of it is left",
        calls: THREADS,
        files: &[
            // Statements that make indexes take as long as the load does; the user ends them if nobody else does.
            "crates/engine/src/sql/server_instance/loading.rs",
            "crates/engine/src/verify/read_back.rs",
            "crates/report/src/files.rs",
        ],
    },
    Ending {
        why: "a thread that nobody waits for, and that ends when whoever gives it work is gone",
        calls: THREADS,
        files: &[
            "crates/engine/src/sql/variant/watchdog.rs",
            "crates/load/src/phases.rs",
            "crates/plimsoll/src/serve/library.rs",
            "crates/store/src/log_sync.rs",
            "crates/web/src/server.rs",
        ],
    },
    Ending {
        why: "it returns a length of time",
        calls: &[".wait("],
        files: &["crates/runner/src/perform/settings_watch.rs"],
    },
    Ending {
        why: "a daemon of plimsoll's own, whose socket nobody else reaches",
        calls: &["UnixStream::connect("],
        files: &["crates/host/src/privileged/volume/zfs.rs"],
    },
    Ending {
        why: "the loop around it looks for a request to end, or has a limit",
        calls: &["thread::sleep("],
        files: &[
            "crates/bus/src/sender.rs",
            "crates/engine/src/maintenance.rs",
            "crates/engine/src/postgres/external.rs",
            "crates/engine/src/server/network.rs",
            "crates/engine/src/sql/endpoints/health.rs",
            "crates/engine/src/sqlite_busy.rs",
            "crates/observe/src/stacks/capture.rs",
            "crates/plimsoll/src/commands/record_io.rs",
            "crates/plimsoll/src/output/live/mod.rs",
            "crates/plimsoll/src/serve/library.rs",
            "crates/runner/src/hosts/agent.rs",
            "crates/runner/src/hosts/control.rs",
            "crates/runner/src/hosts/coordinator.rs",
            "crates/runner/src/hosts/reach_bus.rs",
            "crates/runner/src/hosts/session.rs",
            "crates/runner/src/watch/mod.rs",
            "crates/store/src/log_sync.rs",
            "crates/web/src/server.rs",
        ],
    },
    Ending {
        why: "one rest, of a length that is known",
        calls: &["thread::sleep("],
        files: &[
            "crates/bus/src/link.rs",
            "crates/engine/src/connect/hold.rs",
            "crates/engine/src/connect/mod.rs",
            "crates/engine/src/sql/mod.rs",
            "crates/load/src/tsc.rs",
            "crates/runner/src/hosts/hosts_link.rs",
        ],
    },
    Ending {
        why: "the user has asked to wait (`--wait`), and is told for whom",
        calls: &["thread::sleep("],
        files: &["crates/host/src/lock.rs"],
    },
    Ending {
        why: "in tests only",
        calls: &["thread::scope(", ".join()", ".wait(", "fs::read(", "fs::write(", "thread::spawn(", "scope.spawn("],
        files: &[
            "crates/model/src/limit/simulate.rs",
            "crates/report/src/browser/devtools.rs",
            "crates/report/src/browser/mod.rs",
        ],
    },
];

pub(super) fn check_waits(files: &[TextFile]) -> Vec<Problem> {
    let sources: Vec<&TextFile> =
        files.iter().filter(|file| file.has_extension("rs") && file.path.starts_with("crates/")).collect();
    let others = sources.iter().copied().filter(|file| !file.path.starts_with(OWNER));
    others.flat_map(check_file).chain(ALLOWED.iter().flat_map(|ending| check_ending(ending, &sources))).collect()
}

/// The calls of a file that no entry has.
fn check_file(file: &TextFile) -> Vec<Problem> {
    let is_allowed = |call: &str| ALLOWED.iter().any(|ending| ending.has(&file.path, call));
    let calls = calls_in(file).into_iter().filter(|(call, _)| !is_allowed(call));
    calls.map(|(call, number)| Problem::in_line(file, number, advice_on(call))).collect()
}

/// The files of an entry that have none of its calls.
fn check_ending(ending: &Ending, sources: &[&TextFile]) -> Vec<Problem> {
    let is_used = |path: &str| {
        let calls = sources.iter().find(|file| file.path == path).map(|file| calls_in(file)).unwrap_or_default();
        calls.iter().any(|(call, _)| ending.calls.contains(call))
    };
    let unused = ending.files.iter().filter(|path| !is_used(path));
    let problem = |path: &&str| {
        let text = format!("`{path}` has no wait any more that is allowed because of \"{}\": take it out", ending.why);
        Problem::new("xtask/src/tidy/waits.rs", text)
    };
    unused.map(problem).collect()
}

impl Ending {
    fn has(&self, path: &str, call: &str) -> bool {
        self.files.contains(&path) && self.calls.contains(&call)
    }
}

fn advice_on(call: &'static str) -> String {
    if SPAWNS.contains(&call) {
        format!("`{call}` panics if no thread can be started: use `std::thread::Builder`, and return the error")
    } else {
        format!(
            "`{call}` may wait for ever: wait by `host::deadline`, open it by `model::open_regular`, or say in xtask/src/tidy/waits.rs why it ends"
        )
    }
}

/// The calls that may wait for ever or panic, with the numbers of their lines.
fn calls_in(file: &TextFile) -> Vec<(&'static str, usize)> {
    let all = || [FILES, OPENINGS, THREADS, OTHERS, SPAWNS].into_iter().flatten().copied();
    let opens_at_once = |line: &str| OPENS_AT_ONCE.iter().any(|flag| line.contains(flag));
    let mut found = Vec::new();
    for (line, number) in code_lines(file) {
        if !AT_ONCE.iter().any(|path| line.contains(path)) {
            let waiting = all().filter(|call| !OPENINGS.contains(call) || !opens_at_once(line));
            found.extend(waiting.filter(|call| has_call(line, call)).map(|call| (call, number)));
        }
    }
    found
}

/// Whether the line has the call, and not one whose name only ends so (`ProcFile::open`).
fn has_call(line: &str, call: &str) -> bool {
    let is_whole =
        |at: usize| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') || call.starts_with('.');
    line.match_indices(call).any(|(at, _)| is_whole(at))
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    /// The places of what is found in `text`, stale entries apart.
    fn found(path: &str, text: &str) -> Vec<String> {
        let all = check_waits(&[file(path, text)]).into_iter().map(|problem| problem.place);
        all.filter(|place| !place.starts_with("xtask/")).collect()
    }

    #[test]
    fn a_wait_without_an_end_is_a_problem_unless_its_file_says_why_it_ends() {
        let text = "//! File::open(path)\nfn a() {\n    File::open(path);\n    read(\"/proc/self/stat\");\n    queue.recv();\n}\n";
        let new = "crates/engine/src/new.rs";
        assert_eq!(found(new, text), ["crates/engine/src/new.rs:3", "crates/engine/src/new.rs:5"]);
        assert_eq!(found("crates/engine/tests/new.rs", text), Vec::<String>::new());
        assert_eq!(found(new, "let text = fs::read_to_string(\"/proc/self/io\");\n"), Vec::<String>::new());
        assert_eq!(found(&format!("{OWNER}new.rs"), text), Vec::<String>::new());
    }

    #[test]
    fn a_wait_of_another_kind_is_a_problem_in_a_file_that_says_why_its_own_ends() {
        let text = "fn a() {\n    fs::read_to_string(path);\n    queue.recv();\n}\n";
        assert_eq!(found("crates/host/src/text_file.rs", text), ["crates/host/src/text_file.rs:3"]);
    }

    #[test]
    fn each_kind_of_wait_is_found_where_it_is_new() {
        for line in [
            "let done = command.output()?;",
            "let done = child.wait_with_output();",
            "let status = Command::new(\"sync\").status();",
            "state = changed.wait(state).unwrap();",
            "let (mut turn) = passed.wait_while(turn, |turn| *turn == other);",
            "barrier.wait();",
            "let socket = TcpStream::connect(address)?;",
            "flock(&file, FlockOperation::LockShared)?;",
            "while !path.exists() { thread::sleep(LOOK_EVERY); }",
            "let mut file = File::create(out)?;",
            "let file = open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, mode)?;",
        ] {
            assert_eq!(found("crates/engine/src/new.rs", line), ["crates/engine/src/new.rs:1"], "{line}");
        }
    }

    #[test]
    fn what_is_opened_without_waiting_is_no_problem() {
        for flag in OPENS_AT_ONCE {
            let line = format!("let file = open(path, OFlags::WRONLY | {flag}, mode)?;");
            assert_eq!(found("crates/engine/src/new.rs", &line), Vec::<String>::new());
        }
    }

    #[test]
    fn a_thread_is_started_by_what_returns_an_error() {
        let started = |text| check_waits(&[file("crates/engine/src/new.rs", text)]).remove(0).text;
        assert!(started("let thread = std::thread::spawn(work);\n").starts_with("`thread::spawn(` panics"));
        assert!(started("let thread = scope.spawn(work);\n").contains("`std::thread::Builder`"));
        let text = "let thread = std::thread::Builder::new().spawn(work)?;\n";
        assert_eq!(found("crates/engine/src/new.rs", text), Vec::<String>::new());
    }

    #[test]
    fn an_entry_that_is_not_needed_any_more_is_a_problem() {
        let entries: usize = ALLOWED.iter().map(|ending| ending.files.len()).sum();
        assert_eq!(check_waits(&[]).len(), entries);
    }
}
