//! What the processes of a server take: memory, threads, processes.
//!
//! In: the processes that were started, by `/proc`. Out: sums over them and all that descend from them. Limits: the memory is the
//! kernel's PSS, in which a page that several processes share counts once over all of them, without the pages of files and of shared memory;
//! kernels before 5.9 do not tell them apart. Reading it needs the rights of the owner or of root, and takes milliseconds for a process with
//! much memory.

use std::collections::BTreeMap;
use std::fs;

/// What the processes of a server take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerFootprint {
    /// Resident memory of its own in bytes, shared pages counted once.
    pub bytes: u64,
    pub threads: u64,
    pub processes: u64,
}

/// What `roots` and their descendants take; `None` if there are none, or if their memory may not be seen.
pub fn measure_footprint(roots: &[u32]) -> Option<ServerFootprint> {
    let family = descendants(roots);
    let mut sum = ServerFootprint::default();
    for pid in &family {
        // One that has ended meanwhile is left out.
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        // Programs and libraries are files: their pages come and go with the page cache.
        sum.bytes += kib_after(&memory, "Pss_Anon:").or_else(|| kib_after(&memory, "Pss:"))? << 10;
        sum.threads += kib_after(&status, "Threads:").unwrap_or(1);
        sum.processes += 1;
    }
    (sum.processes > 0).then_some(sum)
}

/// The number behind `key` in lines of `key: number`.
fn kib_after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// `roots` and all processes that descend from them.
fn descendants(roots: &[u32]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all_pids() {
        if let Some(parent) = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent_in(&stat)) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = roots.to_vec();
    let mut nth = 0;
    while let Some(pid) = family.get(nth) {
        family.extend(children.remove(pid).unwrap_or_default());
        nth += 1;
    }
    family
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process by its `stat`: the second field behind its name, which may hold blanks and brackets.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_a_name_with_brackets() {
        assert_eq!(parent_in("42 (a (b) c) S 7 42 42 0 -1"), Some(7));
    }

    #[test]
    fn a_child_is_of_the_family_and_memory_is_more_than_nothing() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let family = descendants(&[std::process::id()]);
        // Written, so that its pages are there.
        let written = vec![1u8; 64 << 20];
        let own = measure_footprint(&[std::process::id()]).expect("it may see itself");
        assert_eq!(written.iter().rev().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>(), (64 << 20) / 4096);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains(&child.id()), "{family:?}");
        assert!(own.bytes >= 64 << 20 && own.threads >= 2 && own.processes >= 2, "{own:?}");
        assert_eq!(measure_footprint(&[]), None);
    }
}
