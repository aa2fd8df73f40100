//! Processes and threads that are pinned to CPUs.
//!
//! In: a list of CPUs, numbers of processes. Out: threads that run nowhere else. Limits: a thread begins with the CPUs of the thread that
//! makes it, so a process is pinned when all its threads are. A process of another user needs root.

use super::topology::{CPUS, online_cpus};
use crate::error::TargetError;
use model::CpuList;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How often the threads of a process are listed: until the list has no new ones.
const PASSES_MAX: usize = 100;

/// The CPUs of a server's processes, shared with whoever starts them. Without a list they have those of plimsoll.
#[derive(Clone, Debug, Default)]
pub struct EngineCpus(Arc<Mutex<Option<CpuList>>>);

impl EngineCpus {
    /// Processes that start from now on have these.
    pub fn assign(&self, cpus: CpuList) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cpus);
    }

    /// Those that a process has to take before it runs.
    pub fn assigned(&self) -> Option<CpuList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The CPUs that plimsoll was started with, if those are fewer than are online; `None` if it may use all.
pub(super) fn started_with() -> Option<CpuList> {
    static STARTED_WITH: OnceLock<Option<CpuList>> = OnceLock::new();
    let restricted = || {
        let online = online_cpus(Path::new(CPUS))?;
        allowed_cpus().filter(|allowed| *allowed != online)
    };
    STARTED_WITH.get_or_init(restricted).clone()
}

/// The CPUs that the calling thread may use.
pub fn allowed_cpus() -> Option<CpuList> {
    allowed_to(None)
}

/// How many CPUs the calling thread may use. A quota of CPU time takes none of them away: threads run on all of them, for less time.
pub fn usable_cpus() -> u64 {
    let known = allowed_cpus().map(|cpus| cpus.numbers().len() as u64);
    known.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64))
}

/// The CPUs that the thread or process may use; `None` for the calling one.
fn allowed_to(pid: Option<Pid>) -> Option<CpuList> {
    let set = sched_getaffinity(pid).ok()?;
    CpuList::new((0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).map(|number| number as u32))
}

/// Pins the calling thread. Only a system call, so it may be made between fork and exec.
pub fn pin_thread(cpus: &CpuList) -> std::io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cpus))?)
}

/// Pins all threads of plimsoll.
pub fn pin_self(cpus: &CpuList) -> Result<(), TargetError> {
    pin_process(std::process::id(), cpus)
}

/// Pins the processes and all that they have started.
pub fn pin_processes(roots: &[u32], cpus: &CpuList) -> Result<(), TargetError> {
    // A process that is started while the others are pinned may have the CPUs of before.
    let mut pinned = BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let new: Vec<u32> = with_descendants(roots).into_iter().filter(|pid| pinned.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        new.into_iter().try_for_each(|pid| pin_process(pid, cpus))?;
    }
    Ok(())
}

fn pin_process(pid: u32, cpus: &CpuList) -> Result<(), TargetError> {
    let set = set_of(cpus);
    let mut pinned = BTreeSet::new();
    for _ in 0..PASSES_MAX {
        let new: Vec<i32> = threads_of(pid).into_iter().filter(|thread| pinned.insert(*thread)).collect();
        if new.is_empty() {
            break;
        }
        for thread in new {
            match sched_setaffinity(Pid::from_raw(thread), &set) {
                // It has ended meanwhile.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => {
                    let why = model::system_words(&error.into());
                    return Err(TargetError::Failed(format!("cannot pin process {pid} to the CPUs {cpus}: {why}")));
                }
            }
        }
    }
    Ok(())
}

fn set_of(cpus: &CpuList) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.numbers().iter().for_each(|number| set.set(*number as usize));
    set
}

fn threads_of(pid: u32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes `roots`, and those that descend from them.
fn with_descendants(roots: &[u32]) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        let Ok(stat) = process.stat() else { continue };
        children.entry(stat.ppid as u32).or_default().push(stat.pid as u32);
    }
    let (mut found, mut next) = (BTreeSet::new(), roots.to_vec());
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_pinned_with_its_children() {
        let all = allowed_cpus().expect("some CPU runs this");
        let one = CpuList::new([all.numbers()[0]]).expect("one");
        let mut child = Command::new("sh");
        child.args(["-c", "sleep 60 & echo $!; read line; kill $!"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let grandchild: i32 = said.trim().parse().unwrap();
        pin_processes(&[child.id()], &one).unwrap();
        for pid in [child.id() as i32, grandchild] {
            assert_eq!(allowed_to(Pid::from_raw(pid)).as_ref(), Some(&one));
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_cannot_be_pinned_to() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let refused = pin_processes(&[child.id()], &CpuList::new([1023]).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        let refused = refused.unwrap_err().to_string();
        assert!(refused.ends_with("to the CPUs 1023: Invalid argument"), "{refused}");
    }
}
