//! How the CPUs are arranged: sockets, cores, and the threads of a core.
//!
//! In: `/sys/devices/system/cpu`. Out: a [`CpuTopology`]. Limits: if the kernel reports no topology, each CPU is taken for a core.

use super::pinning::{allowed_cpus, started_with};
use crate::error::TargetError;
use crate::text_file::text_of;
use model::{CpuChoice, CpuList, Fact};
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs that are online, as the kernel lists them below `root`; `None` if it does not.
pub(crate) fn online_cpus(root: &Path) -> Option<CpuList> {
    CpuList::from_kernel(&text_of(root.join("online"))?)
}

/// The CPUs that are online and that plimsoll may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    cpus: Vec<LogicalCpu>,
}

/// One CPU as the kernel counts them: a thread of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogicalCpu {
    number: u32,
    socket: u32,
    /// All threads of its core, this one included.
    siblings: CpuList,
}

impl CpuTopology {
    /// That of this machine at this moment.
    pub fn read() -> CpuTopology {
        CpuTopology::read_in(Path::new(CPUS), started_with())
    }

    /// That below `root`; `allowed` are the CPUs that may be used, `None` for all.
    fn read_in(root: &Path, allowed: Option<CpuList>) -> CpuTopology {
        let online = online_cpus(root).or_else(allowed_cpus);
        let numbers = online.iter().flat_map(CpuList::numbers).copied();
        let usable = numbers.filter(|number| allowed.as_ref().is_none_or(|allowed| allowed.numbers().contains(number)));
        CpuTopology { cpus: usable.map(|number| LogicalCpu::read_in(root, number)).collect() }
    }

    /// All CPUs; `None` if none is known.
    pub fn all(&self) -> Option<CpuList> {
        CpuList::new(self.cpus.iter().map(|cpu| cpu.number))
    }

    /// The first CPU of each core that may be used.
    pub fn cores(&self) -> Option<CpuList> {
        let usable: BTreeSet<u32> = self.cpus.iter().map(|cpu| cpu.number).collect();
        let is_first = |cpu: &&LogicalCpu| {
            cpu.siblings.numbers().iter().find(|sibling| usable.contains(sibling)) == Some(&cpu.number)
        };
        CpuList::new(self.cpus.iter().filter(is_first).map(|cpu| cpu.number))
    }

    /// The same with one CPU of each core.
    pub fn without_siblings(&self) -> CpuTopology {
        let cores = self.cores();
        let is_core = |cpu: &&LogicalCpu| cores.as_ref().is_some_and(|cores| cores.numbers().contains(&cpu.number));
        CpuTopology { cpus: self.cpus.iter().filter(is_core).cloned().collect() }
    }

    /// The CPUs of `choice`.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn choose(&self, choice: &CpuChoice) -> Result<CpuList, TargetError> {
        let unknown = || TargetError::Unsupported("this system does not report its CPUs; leave out `cpus`".to_owned());
        let all = self.all().ok_or_else(unknown)?;
        match choice {
            CpuChoice::All => Ok(all),
            CpuChoice::Cores => self.cores().ok_or_else(unknown),
            CpuChoice::Listed(list) => match list.numbers().iter().find(|number| !all.numbers().contains(number)) {
                None => Ok(list.clone()),
                Some(missing) => Err(TargetError::Unsupported(format!(
                    "cpus = `{choice}`: CPU {missing} is offline, missing or not for plimsoll; usable are {all}"
                ))),
            },
        }
    }

    /// `1 socket, 4 cores, 2 threads per core`.
    pub fn describe(&self) -> String {
        let [sockets, cores] = [self.socket_count(), self.core_count()];
        let threads = match self.cpus.len().checked_div(cores) {
            Some(threads) if threads * cores == self.cpus.len() => counted(threads, "thread"),
            _ => "1 to 2 threads".to_owned(),
        };
        format!("{}, {}, {threads} per core", counted(sockets, "socket"), counted(cores, "core"))
    }

    /// Sockets, cores and threads as facts.
    pub fn facts(&self) -> Vec<Fact> {
        if self.cpus.is_empty() {
            return Vec::new();
        }
        let counts = [("cpu.sockets", self.socket_count()), ("cpu.cores", self.core_count())];
        let counts = counts.map(|(name, count)| Fact::new(name, count.to_string()));
        counts.into_iter().chain([Fact::new("cpu.topology", self.describe())]).collect()
    }

    fn socket_count(&self) -> usize {
        self.cpus.iter().map(|cpu| cpu.socket).collect::<BTreeSet<_>>().len()
    }

    fn core_count(&self) -> usize {
        self.cores().map_or(0, |cores| cores.numbers().len())
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl LogicalCpu {
    fn read_in(root: &Path, number: u32) -> LogicalCpu {
        let topology = root.join(format!("cpu{number}/topology"));
        let socket = text_of(topology.join("physical_package_id")).and_then(|id| id.parse().ok()).unwrap_or(0);
        let siblings = text_of(topology.join("thread_siblings_list")).and_then(|list| CpuList::from_kernel(&list));
        let siblings = siblings.or_else(|| CpuList::new([number])).expect("it has one number");
        LogicalCpu { number, socket, siblings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Two sockets of two cores; CPU n and n + 4 are threads of one core.
    fn machine(online: &str, siblings: impl Fn(u32) -> String) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("online"), format!("{online}\n")).unwrap();
        for number in 0..8 {
            let topology = root.path().join(format!("cpu{number}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("physical_package_id"), format!("{}\n", number % 4 / 2)).unwrap();
            fs::write(topology.join("thread_siblings_list"), siblings(number) + "\n").unwrap();
        }
        root
    }

    fn list(text: &str) -> Option<CpuList> {
        CpuList::from_kernel(text)
    }

    #[test]
    fn a_core_is_its_first_thread_that_may_be_used() {
        let root = machine("0-7", |number| format!("{},{}", number % 4, number % 4 + 4));
        let whole = CpuTopology::read_in(root.path(), None);
        assert_eq!(
            (whole.cores(), whole.all(), whole.without_siblings().all()),
            (list("0-3"), list("0-7"), list("0-3"))
        );
        assert_eq!(whole.describe(), "2 sockets, 4 cores, 2 threads per core");
        let part = CpuTopology::read_in(root.path(), list("1,4-5"));
        assert_eq!((part.cores(), part.all()), (list("1,4"), list("1,4-5")));
        assert_eq!(part.describe(), "1 socket, 2 cores, 1 to 2 threads per core");
    }

    #[test]
    fn without_siblings_cores_and_all_are_the_same() {
        let root = machine("0-3", |number| number.to_string());
        let topology = CpuTopology::read_in(root.path(), None);
        let [cores, all] = [CpuChoice::Cores, CpuChoice::All].map(|choice| topology.choose(&choice).unwrap());
        assert_eq!((cores, topology.without_siblings()), (all, topology));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_by_its_number() {
        let root = machine("0-3", |number| number.to_string());
        let listed = |text: &str| CpuChoice::Listed(list(text).unwrap());
        let topology = CpuTopology::read_in(root.path(), None);
        assert_eq!(topology.choose(&listed("1-2")).ok(), list("1-2"));
        let refused = topology.choose(&listed("2-5")).unwrap_err().to_string();
        assert_eq!(refused, "cpus = `2-5`: CPU 4 is offline, missing or not for plimsoll; usable are 0-3");
    }
}
