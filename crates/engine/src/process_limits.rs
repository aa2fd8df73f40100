//! The limits of this process (`ulimit`), and what a trial needs of them.
//!
//! A refusal names the limit, before anything is made. It is about what is needed at least. Engines may open more, and a limit that is met
//! later is reported by what met it. Locked memory is not checked: without it io_uring works, too.

use crate::engine::EngineLocation;
use crate::estimate::{data_bytes, image_bytes};
use crate::registry::{engine_of, family_of};
use host::error::TargetError;
use model::{Bytes, Family, Trial, Value};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::unix::fs::MetadataExt;
use std::slice::from_ref;

/// Files that plimsoll opens for itself: run file, counters, terminal.
const OWN_FILES: u64 = 40;
/// Files that a client of an embedded database opens: the database, its log, the index of the log, one for a moment.
const FILES_OF_EMBEDDED: u64 = 4;
const OWN_THREADS: u64 = 10;
/// A private server has some dozens.
const THREADS_OF_SERVER: u64 = 40;
/// The stack of a thread, as Rust makes it.
const STACK: Bytes = Bytes::from_mib(2);

/// Refuses `trial` if a limit of this process is below what it needs. Lifts the limit of open files as far as that is allowed.
pub fn check(trial: &Trial) -> Result<(), TargetError> {
    lift_open_files();
    let needs = [
        ("-n", "open files", Resource::Nofile, Some(files_needed(trial))),
        ("-u", "processes and threads", Resource::Nproc, threads_needed(trial)),
        ("-v", "address space", Resource::As, Some(address_space_needed(trial).0)),
        ("-f", "size of a file", Resource::Fsize, file_size_needed(trial).map(|bytes| bytes.0)),
    ];
    let short = needs.into_iter().find_map(|(flag, of_what, resource, need)| {
        let (need, limit) = (need?, getrlimit(resource).current?);
        (need > limit).then(|| refusal(flag, of_what, limit, need))
    });
    short.map_or(Ok(()), Err)
}

fn refusal(flag: &str, of_what: &str, limit: u64, need: u64) -> TargetError {
    let [limit, need] = match flag {
        "-v" | "-f" => [limit, need].map(|bytes| Bytes(bytes).to_string()),
        _ => [limit, need].map(|count| count.to_string()),
    };
    TargetError::Unsupported(format!(
        "`ulimit {flag}` ({of_what}) is {limit}, and this plan needs at least {need}; raise it in the shell that starts plimsoll"
    ))
}

/// The soft limit protects programs that use `select`. This one does not.
fn lift_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }); // what is left is checked
}

fn files_needed(trial: &Trial) -> u64 {
    let of_client = match (family_of(trial), engine_of(trial).runs) {
        (Family::Io, EngineLocation::InClients | EngineLocation::Embedded) if !engine_of(trial).scripted => {
            trial.workload.params.0.get("files").map_or(1, |files| files.to_string().parse().unwrap_or(1))
        }
        (Family::Sql, EngineLocation::Embedded) => FILES_OF_EMBEDDED,
        (Family::Sql | Family::Connection, EngineLocation::Server | EngineLocation::Elsewhere) => 1,
        _ => 0,
    };
    OWN_FILES + of_client * u64::from(trial.all_clients())
}

/// Threads of the clients, the engine and plimsoll with all that the user runs already; `None` for root, to whom the limit does not apply.
fn threads_needed(trial: &Trial) -> Option<u64> {
    let user = rustix::process::getuid();
    if user.is_root() {
        return None;
    }
    let of_server = if engine_of(trial).runs == EngineLocation::Server { THREADS_OF_SERVER } else { 0 };
    let running = threads_of_user(user.as_raw());
    Some(running + OWN_THREADS + of_server * u64::from(trial.target.instances) + client_threads(trial))
}

fn client_threads(trial: &Trial) -> u64 {
    match trial.target.params.0.get("threads") {
        Some(Value::Int(threads)) if *threads > 0 => *threads,
        _ => u64::from(trial.all_clients()),
    }
}

fn threads_of_user(user: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user));
    own.map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64)).sum()
}

/// What this process has already, stacks, and the caches of an engine that works in it.
fn address_space_needed(trial: &Trial) -> Bytes {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = pages.split(' ').next().and_then(|pages| pages.parse().ok()).unwrap_or(0);
    let is_inside = matches!(engine_of(trial).runs, EngineLocation::InClients | EngineLocation::Embedded);
    let cache = match trial.target.params.0.get("cache") {
        Some(Value::Bytes(cache)) if is_inside => cache.0.saturating_mul(trial.target.instances.into()),
        _ => 0,
    };
    let stacks = STACK.0.saturating_mul(client_threads(trial) + OWN_THREADS);
    Bytes((pages * rustix::param::page_size() as u64).saturating_add(stacks).saturating_add(cache))
}

/// The size of the largest file that is made for `trial`, if that is known: one of several files, an image, or all rows of an embedded
/// database.
fn file_size_needed(trial: &Trial) -> Option<Bytes> {
    if let Some(image) = image_bytes(from_ref(trial)) {
        return Some(image);
    }
    let engine = engine_of(trial);
    let data = Bytes(data_bytes(trial).0 / u64::from(trial.target.instances.max(1)));
    match family_of(trial) {
        Family::Io if !engine.scripted && trial.target.path.as_ref().is_none_or(|path| !path.exists()) => {
            let files = trial.workload.params.0.get("files").and_then(|files| files.to_string().parse().ok());
            Some(Bytes(data.0 / files.unwrap_or(1).max(1)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_refused_by_the_name_that_the_shell_has_for_it() {
        let refused = refusal("-n", "open files", 64, 200).to_string();
        assert!(refused.starts_with("`ulimit -n` (open files) is 64, and this plan needs at least 200;"), "{refused}");
        let refused = refusal("-f", "size of a file", 2 << 20, 64 << 20).to_string();
        assert!(refused.contains("is 2 MiB, and this plan needs at least 64 MiB"), "{refused}");
    }

    #[test]
    fn the_threads_of_this_user_are_counted() {
        assert!(threads_of_user(rustix::process::getuid().as_raw()) > 0);
        assert_eq!(threads_of_user(4_000_000_000), 0);
    }
}
