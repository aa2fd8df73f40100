//! What only root can do is in one module.
//!
//! In: all source files. Out: a problem for each line outside of [`AUDITED`] with a call that needs root and stays when the process ends,
//! and for each of [`CALLS`] that matches nothing there. Limits: it knows calls by their names, and files of the kernel by parts of theirs; to read
//! such a file is an act, too. The opening of the module has where each act is written down before it is made, and what undoes it.

use super::problem::Problem;
use crate::workspace::TextFile;

/// What the paths of the files that may make such calls begin with.
const AUDITED: &str = "crates/host/src/privileged/";

/// Calls that change mounts, devices, owners, control groups, settings of the kernel and the user of a process.
const CALLS: [&str; 26] = [
    "rustix::mount::",
    "unshare_unsafe(",
    "move_into_link_name_space(",
    "chown(",
    "set_thread_groups(",
    "set_thread_res_uid(",
    "set_thread_res_gid(",
    ".uid(",
    ".gid(",
    "LOOP_CLR_FD",
    "LOOP_CONFIGURE",
    "\"/dev/loop",
    "SYS_sched_setscheduler",
    "\"cgroup.procs\"",
    "blkio.throttle",
    "\"io.max\"",
    "limit_in_bytes",
    "memory.max",
    "cpu.max",
    "cpu.cfs_quota_us",
    "smt/control",
    "intel_pstate/no_turbo",
    "cpufreq/boost",
    "queue/scheduler",
    "set_event_pid",
    "tracing_on",
];

pub(super) fn check_privileged(files: &[TextFile]) -> Vec<Problem> {
    let (audited, others): (Vec<_>, Vec<_>) = files
        .iter()
        .filter(|file| file.has_extension("rs") && file.path.starts_with("crates/"))
        .partition(|file| file.path.starts_with(AUDITED));
    others.into_iter().flat_map(check_file).chain(check_calls(&audited)).collect()
}

/// Calls outside of the audited files.
fn check_file(file: &TextFile) -> Vec<Problem> {
    let calls = |line: &str| CALLS.iter().any(|call| has_call(line, call));
    let found = code_lines(file).into_iter().filter(|(line, _)| calls(line));
    let text =
        "a call that only root can make: it belongs into crates/host/src/privileged (xtask/src/tidy/privileged.rs)";
    found.map(|(_, number)| Problem::in_line(file, number, text)).collect()
}

/// Names of calls that the audited files do not make: they would not be found elsewhere either.
fn check_calls(audited: &[&TextFile]) -> Vec<Problem> {
    let is_made =
        |call: &str| audited.iter().any(|file| code_lines(file).into_iter().any(|(line, _)| has_call(line, call)));
    let unknown = CALLS.into_iter().filter(|call| !is_made(call));
    unknown
        .map(|call| {
            let text = format!("no audited file has `{call}`: write it as the code has it, or take it out of CALLS");
            Problem::new("xtask/src/tidy/privileged.rs", text)
        })
        .collect()
}

/// The lines of code with their numbers: without comments, and without tests, which may make what they harm.
pub(super) fn code_lines(file: &TextFile) -> Vec<(&str, usize)> {
    let mut code = Vec::new();
    if file.path.contains("/tests/") || file.path.ends_with("tests.rs") {
        return code;
    }
    let mut lines = file.text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|(next, _)| next.contains("mod ") && next.ends_with('{'))
        {
            // The end of a module is at the beginning of its line.
            lines.by_ref().find(|(line, _)| *line == "}");
        } else if !line.trim_start().starts_with("//") {
            code.push((line, number));
        }
    }
    code
}

/// Whether the line has the call. One without an argument (`meta.uid()`) changes nothing.
fn has_call(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(at, _)| !call.ends_with('(') || !line[at + call.len()..].starts_with(')'))
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    /// The places of what is found if `text` is in each of the files.
    fn found(text: &str, paths: &[&str]) -> Vec<String> {
        let all = file(&format!("{}all.rs", AUDITED), &CALLS.map(|call| format!("{call}x\n")).concat());
        let files: Vec<TextFile> = paths.iter().map(|path| file(path, text)).chain([all]).collect();
        check_privileged(&files).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_call_of_roots_outside_of_the_audited_files_is_a_problem() {
        let text =
            "//! chown(\nfn a() {\n    chown(path);\n}\n#[cfg(test)]\nmod tests {\n    fn b() { chown(path) }\n}\n";
        let audited = format!("{}a.rs", AUDITED);
        let paths = ["crates/engine/src/a.rs", &audited, "crates/engine/tests/a.rs", "tests/cli/a.rs"];
        assert_eq!(found(text, &paths), ["crates/engine/src/a.rs:3"]);
    }

    #[test]
    fn code_after_a_module_or_function_of_tests_is_checked() {
        let path = ["crates/engine/src/a.rs"];
        assert_eq!(found("#[cfg(test)]\nmod tests;\nfn a() { chown(path) }\n", &path), ["crates/engine/src/a.rs:3"]);
        let inline = "#[cfg(test)]\nmod fixture {\n    fn b() { chown(path) }\n}\nfn a() { chown(path) }\n";
        assert_eq!(found(inline, &path), ["crates/engine/src/a.rs:5"]);
    }

    #[test]
    fn the_user_of_a_command_is_set_in_an_audited_file_and_that_of_a_file_is_read_anywhere() {
        let text = "fn a() {\n    command.uid(uid);\n    meta.uid();\n    command.gid(\n        gid,\n    );\n}\n";
        assert_eq!(found(text, &["crates/engine/src/a.rs"]), ["crates/engine/src/a.rs:2", "crates/engine/src/a.rs:4"]);
    }

    #[test]
    fn a_name_that_no_audited_file_has_is_a_problem() {
        let found = check_privileged(&[file(&format!("{}a.rs", AUDITED), "unshare_unsafe(flags)\n")]);
        assert_eq!(found.len(), CALLS.len() - 1);
        assert!(found[0].text.contains("`rustix::mount::`"), "{}", found[0]);
    }
}
