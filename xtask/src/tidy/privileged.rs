//! What only root can do is in one crate, in files that are known.
//!
//! In: all source files. Out: a problem for each line outside of [`AUDITED`] with a call that needs root and stays when the process ends.
//! Limits: it knows calls by their names ([`CALLS`]). ARCHITECTURE.md has where each of them is written down before it is made, and what
//! undoes it.

use super::problem::Problem;
use crate::workspace::TextFile;

/// The files that may make such calls.
const AUDITED: [&str; 12] = [
    "crates/host/src/block_trace.rs",
    "crates/host/src/cgroup/group.rs",
    "crates/host/src/cgroup/mod.rs",
    "crates/host/src/copy.rs",
    "crates/host/src/cpu/slowdown.rs",
    "crates/host/src/data_dir.rs",
    "crates/host/src/private_mounts.rs",
    "crates/host/src/server_account.rs",
    "crates/host/src/volume/abandoned.rs",
    "crates/host/src/volume/loop_device.rs",
    "crates/host/src/volume/mod.rs",
    "crates/host/src/volume/zfs.rs",
];

/// Calls that change mounts, devices, owners, control groups and the user of a process.
const CALLS: [&str; 13] = [
    "rustix::mount::",
    "unshare_unsafe(",
    "chown(",
    "chown_thread",
    "set_thread_groups(",
    "set_thread_res_uid(",
    "set_thread_res_gid(",
    "\"cgroup.procs\"",
    "LOOP_CLR_FD",
    "LOOP_CONFIGURE",
    "sched_setscheduler(",
    "\"/dev/loop",
    "\"set_event_pid\"",
];

pub(super) fn check_privileged(files: &[TextFile]) -> Vec<Problem> {
    let is_checked = |file: &&TextFile| {
        file.has_extension("rs") && file.path.starts_with("crates/") && !AUDITED.contains(&file.path.as_str())
    };
    files.iter().filter(is_checked).flat_map(check_file).collect()
}

/// The code of a file, without its tests: they may make what they harm.
fn check_file(file: &TextFile) -> Vec<Problem> {
    let is_test_file = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
    let code = file.text.lines().zip(1..).take_while(|(line, _)| !is_test_file && *line != "#[cfg(test)]");
    let is_call = |line: &str| !line.trim_start().starts_with("//") && CALLS.iter().any(|call| line.contains(call));
    code.filter(|(line, _)| is_call(line))
        .map(|(_, number)| {
            let text = "a call that only root can make: it belongs into an audited file of the crate host (xtask/src/tidy/privileged.rs)";
            Problem::in_line(file, number, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::problem::file;
    use super::*;

    #[test]
    fn a_call_of_roots_outside_of_the_audited_files_is_a_problem() {
        let text = "//! chown(\nfn a() {\n    chown(path);\n}\n#[cfg(test)]\nmod tests { fn b() { chown(path) } }\n";
        let found = check_privileged(&[
            file("crates/engine/src/a.rs", text),
            file("crates/host/src/data_dir.rs", text),
            file("crates/engine/tests/a.rs", text),
            file("tests/cli/a.rs", text),
        ]);
        let places: Vec<&str> = found.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["crates/engine/src/a.rs:3"]);
    }
}
