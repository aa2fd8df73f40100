//! Every wait has an end.
//!
//! In: all source files. Out: a problem for each line with a call that may wait for ever, in a file that is not in [`ALLOWED`], and for each
//! entry of that list which matches nothing. Limits: calls are known by their names, and one reason stands for all of a file. Files that a user
//! names are opened by `model::open_regular`; what a server answers has a deadline of `engine::server`.

use super::privileged::code_lines;
use super::problem::Problem;
use crate::workspace::TextFile;

/// Calls that wait for another program, thread or device, for as long as that likes.
const CALLS: [&str; 13] = [
    "fs::read(",
    "fs::read_to_string(",
    "File::open(",
    ".recv()",
    ".join()",
    ".wait()",
    ".wait(state)",
    ".wait(shelf)",
    ".output()",
    "TcpStream::connect(",
    "UnixStream::connect(",
    "thread::park()",
    "FlockOperation::LockExclusive",
];

/// What the kernel answers at once.
const AT_ONCE: [&str; 5] = ["\"/proc", "\"/sys", "\"/etc/", "\"/dev/null", "\"/dev/urandom"];

/// Files that may wait, and why each of their waits ends.
const ALLOWED: [(&str, &str); 48] = [
    ("crates/bus/src/socket.rs", "the socket of a bus on this machine; the kernel queues who connects"),
    ("crates/engine/src/codec/driver.rs", "a file of plimsoll's own"),
    ("crates/engine/src/codec/source.rs", "it is looked at first: only a regular file is opened"),
    ("crates/engine/src/connect/backlog.rs", "files of the kernel, and a program that reads them"),
    ("crates/engine/src/cpu/lock.rs", "the companion ends when it is told to, between two spins"),
    ("crates/engine/src/file/workers.rs", "files of the kernel"),
    ("crates/engine/src/periodic.rs", "the task is told to end, and each of its acts is one sync"),
    ("crates/engine/src/rocksdb/options.rs", "a file of plimsoll's own"),
    ("crates/engine/src/server/process.rs", "a log of plimsoll's own"),
    ("crates/engine/src/server/program.rs", "the program was killed before"),
    ("crates/engine/src/server/sighting.rs", "a file of the kernel"),
    (
        "crates/engine/src/sql/server_instance/loading.rs",
        "statements that make indexes end as the load does, by the user if by nobody else",
    ),
    ("crates/engine/src/sql/variant/watchdog.rs", "it waits for the next statement, or for the end"),
    ("crates/engine/src/sqlite.rs", "files of plimsoll's own"),
    ("crates/host/src/flush_probe.rs", "files of the kernel"),
    ("crates/host/src/privileged/block_trace.rs", "files of the kernel"),
    ("crates/host/src/privileged/cgroup/hierarchy.rs", "files of the kernel"),
    ("crates/host/src/privileged/cgroup/memory.rs", "files of the kernel"),
    ("crates/host/src/privileged/cgroup/storage.rs", "files of the kernel"),
    ("crates/host/src/privileged/private_mounts.rs", "the thread makes system calls that end"),
    ("crates/host/src/privileged/slowdown.rs", "the threads are told to end, and one makes a single system call"),
    (
        "crates/host/src/privileged/volume/mod.rs",
        "programs that make and mount file systems, which nothing may cut short",
    ),
    ("crates/host/src/privileged/volume/zfs.rs", "a daemon of plimsoll's own, looked for until a deadline"),
    ("crates/host/src/text_file.rs", "files of the kernel"),
    ("crates/import/src/fio/json.rs", "it was opened as a regular file before"),
    ("crates/import/src/input.rs", "it is looked at first: only a regular file is opened"),
    ("crates/import/src/write.rs", "a directory"),
    ("crates/load/src/phases.rs", "the sender goes with the collector"),
    ("crates/model/src/limit/simulate.rs", "a simulation, which ends by itself"),
    ("crates/model/src/regular_file.rs", "what was opened before has somebody at its other end"),
    ("crates/observe/src/interface.rs", "a file of the kernel"),
    ("crates/observe/src/proc_file.rs", "files of the kernel"),
    ("crates/observe/src/sources/power.rs", "files of the kernel"),
    ("crates/observe/src/stacks/capture.rs", "the tool is killed when its time is over, and its output ends then"),
    ("crates/observe/src/threads/members.rs", "files of the kernel"),
    (
        "crates/plimsoll/src/commands/plans.rs",
        "a plan may come through a pipe; after a second the user reads what is waited for",
    ),
    ("crates/plimsoll/src/commands/record_io.rs", "the file was made by plimsoll a moment ago"),
    ("crates/plimsoll/src/output/live/mod.rs", "the view looks for the end of the run ten times a second"),
    ("crates/plimsoll/src/serve/library.rs", "it waits for requests, for as long as it serves"),
    ("crates/report/src/browser/devtools.rs", "in tests only: the browser was killed before"),
    ("crates/report/src/browser/mod.rs", "in tests only"),
    ("crates/report/src/files.rs", "threads that draw a chart each"),
    ("crates/report/src/repeat.rs", "a run file that was read before"),
    ("crates/runner/src/perform/settings_watch.rs", "its own wait has a limit"),
    ("crates/store/src/log_sync.rs", "files of plimsoll's own; nobody waits for the thread"),
    ("crates/store/src/open.rs", "it is looked at first: only a regular file is opened"),
    ("crates/store/src/writer.rs", "the run file"),
    ("crates/web/src/server.rs", "it waits for requests, for as long as it serves"),
];

pub(super) fn check_waits(files: &[TextFile]) -> Vec<Problem> {
    let sources = || files.iter().filter(|file| file.has_extension("rs") && file.path.starts_with("crates/"));
    let is_allowed = |file: &&TextFile| ALLOWED.iter().any(|(path, _)| file.path == *path);
    let found = sources().filter(|file| !is_allowed(file)).flat_map(|file| {
        let text = "this may wait for ever: give it a deadline, open it by `model::open_regular`, or say in xtask/src/tidy/waits.rs why it ends";
        waits_in(file).into_iter().map(move |number| Problem::in_line(file, number, text))
    });
    let stale =
        ALLOWED.iter().filter(|(path, _)| !sources().any(|file| file.path == *path && !waits_in(file).is_empty()));
    let stale = stale.map(|(path, _)| {
        Problem::new("xtask/src/tidy/waits.rs", format!("`{path}` has no wait any more: take it out of ALLOWED"))
    });
    found.chain(stale).collect()
}

/// The numbers of the lines that may wait for ever.
fn waits_in(file: &TextFile) -> Vec<usize> {
    let waits =
        |line: &str| CALLS.iter().any(|call| has_call(line, call)) && !AT_ONCE.iter().any(|path| line.contains(path));
    code_lines(file).into_iter().filter(|(line, _)| waits(line)).map(|(_, number)| number).collect()
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
        assert_eq!(
            found("crates/engine/src/new.rs", text),
            ["crates/engine/src/new.rs:3", "crates/engine/src/new.rs:5"]
        );
        assert_eq!(found(ALLOWED[0].0, text), Vec::<String>::new());
        assert_eq!(found("crates/engine/tests/new.rs", text), Vec::<String>::new());
        assert_eq!(
            found("crates/engine/src/new.rs", "let text = fs::read_to_string(\"/proc/self/io\");\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_entry_that_is_not_needed_any_more_is_a_problem() {
        assert_eq!(check_waits(&[]).len(), ALLOWED.len());
    }
}
