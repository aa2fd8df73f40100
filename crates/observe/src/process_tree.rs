//! What a group of processes has used: some root processes and all their descendants, summed.
//!
//! In: the pids of the roots. Out: [`GroupUsage`] since the processes began, which holds what those that ended have used.
//!
//! Limits: a process or thread that begins and ends between two readings leaves only what its parent inherits (I/O and CPU
//! time, if it waits for the child; no context switches). A process that is cut off from the group before it was seen once
//! (a daemon whose parent ended at once) is not found.
//!
//! When a child ends, two things may happen to its numbers. If its parent waits for it, the kernel adds them to those of
//! the parent: `/proc/PID/io` contains them, and `cutime`, `cstime` in `/proc/PID/stat`. Adding the last reading of the child
//! would count them twice: for PostgreSQL, which has a process for each connection, all of its I/O. If the parent ignores
//! SIGCHLD, or has ended before, they are lost, and the last reading is the best there is. The kernel adds the child's page
//! faults together with the rest, and every process has some: so faults tell which of the two it was.

use crate::proc_file::{number_after, read_once};
use procfs::FromRead;
use procfs::process::Stat;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

/// What processes have used since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Of the bytes written, those that were deleted before they reached the device.
    pub cancelled_bytes: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub switches: u64,
}

/// A reading of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupReading {
    pub usage: GroupUsage,
    /// Whether the kernel let us see the I/O of every process.
    pub io_seen: bool,
    pub resident_pages: u64,
}

#[derive(Debug)]
pub(crate) struct ProcessTree {
    proc_dir: PathBuf,
    members: BTreeMap<u32, GroupMember>,
    /// Processes listed at the last reading that are none of ours: they need not be looked at again while they are there.
    strangers: BTreeSet<u32>,
    /// Members that ended since the last reading but one, of which it is not known yet whether the parent inherits.
    pending: Vec<EndedMember>,
    /// What members that ended have used, unless another member inherited it.
    retired: GroupUsage,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct GroupMember {
    /// In ticks since boot: a pid that is used again has another.
    started: u64,
    parent: u32,
    /// Page faults of children that were waited for.
    inherited_faults: u64,
    usage: GroupUsage,
    io_seen: bool,
    resident_pages: u64,
    /// The context switches of each thread.
    threads: HashMap<u32, u64>,
    /// And of the threads that ended.
    threads_ended_switches: u64,
}

#[derive(Debug)]
struct EndedMember {
    usage: GroupUsage,
    /// The member that may inherit.
    heir: u32,
    /// Its inherited faults when the ended one was last seen alive.
    heir_faults: u64,
}

impl ProcessTree {
    /// The group of `roots` and their descendants; `None` if none of the roots is running.
    pub fn open(roots: &[u32]) -> Option<ProcessTree> {
        ProcessTree::open_in(Path::new("/proc"), roots)
    }

    fn open_in(proc_dir: &Path, roots: &[u32]) -> Option<ProcessTree> {
        let mut tree = ProcessTree {
            proc_dir: proc_dir.to_owned(),
            members: BTreeMap::new(),
            strangers: BTreeSet::new(),
            pending: Vec::new(),
            retired: GroupUsage::default(),
            buffer: Vec::new(),
        };
        for &pid in roots {
            if let Ok(stat) = tree.read_stat(pid) {
                tree.admit_member(pid, &stat);
            }
        }
        (!tree.members.is_empty()).then_some(tree)
    }

    /// The name of the root with the smallest pid.
    pub fn root_name(&mut self) -> String {
        let root = self.members.keys().next().copied();
        root.and_then(|pid| self.read_stat(pid).ok()).map(|stat| stat.comm).unwrap_or_default()
    }

    /// What the group has used up to now; `None` if none of it is left, or `/proc` cannot be listed.
    ///
    /// Parents are read before their children (pids are read in ascending order): a child that ends in between is missing in
    /// its parent's numbers until the next reading, never twice in them for good.
    pub fn read_group(&mut self) -> Option<GroupReading> {
        let listed = numbers_in(&self.proc_dir).ok()?;
        // Taken before anything is read again: a rise since then shows which parents have inherited.
        let faults_before = self.members.iter().map(|(&pid, member)| (pid, member.inherited_faults)).collect();
        let mut alive = BTreeSet::new();
        let mut unknown = Vec::new();
        let ours_or_new: Vec<u32> = listed.iter().copied().filter(|pid| !self.strangers.contains(pid)).collect();
        for pid in ours_or_new {
            let Ok(stat) = self.read_stat(pid) else { continue };
            if self.members.get(&pid).is_some_and(|member| member.started == stat.starttime) {
                self.refresh_member(pid, &stat);
                alive.insert(pid);
            } else {
                unknown.push((pid, stat));
            }
        }
        // After the members were read again, since only now their faults show whether they inherited; and before new ones are
        // judged.
        self.settle_pending();
        self.end_all_but(&alive, &faults_before);
        self.admit_children(unknown);
        self.strangers = listed.into_iter().filter(|pid| !self.members.contains_key(pid)).collect();
        self.sum_usage()
    }

    fn sum_usage(&self) -> Option<GroupReading> {
        let mut reading = GroupReading { usage: self.retired, io_seen: true, resident_pages: 0 };
        for member in self.members.values() {
            reading.usage += member.usage;
            reading.io_seen &= member.io_seen;
            reading.resident_pages += member.resident_pages;
        }
        self.pending.iter().for_each(|ended| reading.usage += ended.usage);
        (!self.members.is_empty()).then_some(reading)
    }

    /// Decides about members that were missing for the first time at the last reading.
    fn settle_pending(&mut self) {
        for ended in std::mem::take(&mut self.pending) {
            let inherited = self.members.get(&ended.heir).is_some_and(|heir| heir.inherited_faults > ended.heir_faults);
            if !inherited {
                self.retired += ended.usage;
            }
        }
    }

    /// Parts with the members that are not alive any more.
    fn end_all_but(&mut self, alive: &BTreeSet<u32>, faults_before: &BTreeMap<u32, u64>) {
        let members = std::mem::take(&mut self.members);
        let (kept, ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
            members.into_iter().partition(|(pid, _)| alive.contains(pid));
        self.members = kept;
        for member in ended.values() {
            self.retired.switches += member.usage.switches;
            // Context switches are never inherited, so they are kept in any case.
            let usage = GroupUsage { switches: 0, ..member.usage };
            let heir = nearest_living(&self.members, &ended, member.parent);
            match heir.map(|pid| (pid, faults_before[&pid], self.members[&pid].inherited_faults)) {
                Some((_, before, now)) if now > before => {}
                Some((heir, heir_faults, _)) => self.pending.push(EndedMember { usage, heir, heir_faults }),
                None => self.retired += usage,
            }
        }
    }

    /// Takes in what descends from members, in as many rounds as there are generations: a child may have the smaller pid.
    fn admit_children(&mut self, mut unknown: Vec<(u32, Stat)>) {
        loop {
            let (children, others): (Vec<_>, Vec<_>) =
                unknown.into_iter().partition(|(_, stat)| self.members.contains_key(&(stat.ppid as u32)));
            if children.is_empty() {
                return;
            }
            children.iter().for_each(|(pid, stat)| self.admit_member(*pid, stat));
            unknown = others;
        }
    }

    fn admit_member(&mut self, pid: u32, stat: &Stat) {
        let member = GroupMember {
            started: stat.starttime,
            parent: 0,
            inherited_faults: 0,
            usage: GroupUsage::default(),
            io_seen: true,
            resident_pages: 0,
            threads: HashMap::new(),
            threads_ended_switches: 0,
        };
        self.members.insert(pid, member);
        self.refresh_member(pid, stat);
    }

    /// Reads everything about a member that is alive. What it does not let us read any more stays as it was.
    fn refresh_member(&mut self, pid: u32, stat: &Stat) {
        let directory = self.proc_dir.join(pid.to_string());
        let Some(member) = self.members.get_mut(&pid) else { return };
        member.parent = stat.ppid as u32;
        member.inherited_faults = stat.cminflt + stat.cmajflt;
        // Children that were waited for are in cutime and cstime: adding those makes the sum independent of when they end.
        member.resident_pages = stat.rss;
        member.usage.user_ticks = stat.utime + stat.cutime as u64;
        member.usage.system_ticks = stat.stime + stat.cstime as u64;
        match read_once(&directory.join("io"), &mut self.buffer) {
            Ok(io) => (member.usage.read_bytes, member.usage.write_bytes, member.usage.cancelled_bytes) = parse_io(io),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => member.io_seen = false,
            Err(_) => {}
        }
        member.count_switches(&directory.join("task"), &mut self.buffer);
    }

    fn read_stat(&mut self, pid: u32) -> io::Result<Stat> {
        let text = read_once(&self.proc_dir.join(pid.to_string()).join("stat"), &mut self.buffer)?;
        Stat::from_read(text.as_bytes()).map_err(io::Error::other)
    }
}

impl GroupMember {
    /// Sums the context switches of all threads. Those of a thread that ended are kept.
    fn count_switches(&mut self, tasks: &Path, buffer: &mut Vec<u8>) {
        let Ok(listed) = numbers_in(tasks) else { return };
        let mut threads = HashMap::with_capacity(listed.len());
        for thread in listed {
            let status = read_once(&tasks.join(thread.to_string()).join("status"), buffer);
            if let Some(switches) = status.ok().and_then(parse_switches) {
                threads.insert(thread, switches);
            }
        }
        for (thread, &before) in &self.threads {
            // A thread that has fewer than before is another one with the number of an ended one.
            if threads.get(thread).is_none_or(|&now| now < before) {
                self.threads_ended_switches += before;
            }
        }
        self.threads = threads;
        self.usage.switches = self.threads_ended_switches + self.threads.values().sum::<u64>();
    }
}

impl AddAssign for GroupUsage {
    fn add_assign(&mut self, other: GroupUsage) {
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.cancelled_bytes += other.cancelled_bytes;
        self.user_ticks += other.user_ticks;
        self.system_ticks += other.system_ticks;
        self.switches += other.switches;
    }
}

/// The member that inherits from a child of `parent`: the parent, or if that ended too, its parent, and so on.
fn nearest_living(
    members: &BTreeMap<u32, GroupMember>,
    ended: &BTreeMap<u32, GroupMember>,
    parent: u32,
) -> Option<u32> {
    let mut pid = parent;
    for _ in 0..ended.len() {
        match ended.get(&pid) {
            Some(member) => pid = member.parent,
            None => break,
        }
    }
    members.contains_key(&pid).then_some(pid)
}

/// The names in `directory` that are numbers, in ascending order.
pub(crate) fn numbers_in(directory: &Path) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(directory)?;
    let mut numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Bytes read, written and cancelled from `/proc/PID/io`: what went to and came from the block layer, not what the calls asked for.
pub(crate) fn parse_io(io: &str) -> (u64, u64, u64) {
    let [read, written, cancelled] =
        ["read_bytes", "write_bytes", "cancelled_write_bytes"].map(|key| number_after(io, key).unwrap_or(0));
    (read, written, cancelled)
}

/// Context switches of one thread from its `status`.
fn parse_switches(status: &str) -> Option<u64> {
    Some(number_after(status, "voluntary_ctxt_switches")? + number_after(status, "nonvoluntary_ctxt_switches")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT_6_18: &str = "11894 (cat) R 11887 11887 7577 0 -1 4194304 104 0 0 0 7 3 0 0 20 0 1 0 142567 3133440 397 \
18446744073709551615 94883882860544 94883882880425 140734179568384 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 94883882896432 \
94883882898048 94884852002816 140734179572344 140734179572438 140734179572438 140734179573739 0\n";
    const STAT_3_2: &str = "26231 (vim (a) b) R 5392 7446 5392 34835 7446 4218880 32533 309516 26 82 1677 44 158 99 20 0 1 0 \
82375 56274944 1981 18446744073709551615 4194304 6294284 140736914091744 140736914087944 139965136429984 0 0 12288 \
1870679807 0 0 0 17 0 0 0 31 0 0\n";
    const IO_6_18: &str = "rchar: 6976\nwchar: 9\nsyscr: 10\nsyscw: 1\n\
read_bytes: 192512\nwrite_bytes: 5255168\ncancelled_write_bytes: 4096\n";

    #[test]
    fn the_stat_of_a_recent_and_an_old_kernel_is_read_whatever_the_name() {
        let recent = Stat::from_read(STAT_6_18.as_bytes()).unwrap();
        assert_eq!((recent.ppid, recent.utime, recent.stime, recent.starttime, recent.rss), (11887, 7, 3, 142567, 397));
        let old = Stat::from_read(STAT_3_2.as_bytes()).unwrap();
        assert_eq!((old.comm.as_str(), old.ppid, old.utime, old.stime), ("vim (a) b", 5392, 1677, 44));
        assert_eq!((old.cminflt, old.cmajflt, old.cutime, old.cstime), (309516, 82, 158, 99));
    }

    #[test]
    fn the_io_of_the_block_layer_is_taken_and_not_that_of_the_calls() {
        assert_eq!(parse_io(IO_6_18), (192512, 5255168, 4096));
    }

    #[test]
    fn both_sorts_of_context_switches_count() {
        let status = "Name:\tcat\nThreads:\t1\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(parse_switches(status), Some(12));
        assert_eq!(parse_switches("Name:\tcat\n"), None);
    }

    /// A `/proc` of our own making.
    struct FakeProc(PathBuf);

    /// What a process of a [`FakeProc`] shows.
    #[derive(Clone, Copy, Default)]
    struct Shown {
        pid: u32,
        parent: u32,
        written: u64,
        user_ticks: u64,
        inherited_faults: u64,
        inherited_ticks: u64,
        switches: u64,
        started: u64,
    }

    impl FakeProc {
        fn new(name: &str) -> FakeProc {
            let directory = std::env::temp_dir().join(format!("plimsoll-proc-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&directory).unwrap();
            FakeProc(directory)
        }

        fn show(&self, shown: Shown) {
            let Shown { pid, parent, written, user_ticks, inherited_faults, inherited_ticks, switches, started } =
                shown;
            let task = self.0.join(format!("{pid}/task/{pid}"));
            std::fs::create_dir_all(&task).unwrap();
            let stat = format!(
                "{pid} (engine) S {parent} 1 1 0 -1 0 5 {inherited_faults} 0 0 {user_ticks} 0 {inherited_ticks} 0 20 0 1 0 \
                 {started} 0 10 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0"
            );
            std::fs::write(self.0.join(format!("{pid}/stat")), stat).unwrap();
            std::fs::write(self.0.join(format!("{pid}/io")), format!("read_bytes: 0\nwrite_bytes: {written}\n"))
                .unwrap();
            let status = format!("voluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t0\n");
            std::fs::write(task.join("status"), status).unwrap();
        }

        fn show_all(&self, processes: &[Shown]) {
            processes.iter().for_each(|&shown| self.show(shown));
        }

        fn end(&self, pid: u32) {
            std::fs::remove_dir_all(self.0.join(pid.to_string())).unwrap();
        }

        fn open(&self, roots: &[u32]) -> ProcessTree {
            ProcessTree::open_in(&self.0, roots).unwrap()
        }
    }

    impl Drop for FakeProc {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn process(pid: u32, parent: u32, written: u64) -> Shown {
        Shown { pid, parent, written, started: u64::from(pid), ..Shown::default() }
    }

    fn written(tree: &mut ProcessTree) -> u64 {
        tree.read_group().unwrap().usage.write_bytes
    }

    #[test]
    fn descendants_count_also_with_smaller_pids_and_strangers_do_not() {
        let proc = FakeProc::new("descendants");
        proc.show_all(&[process(50, 1, 1), process(60, 50, 10), process(7, 60, 100), process(8, 1, 1000)]);
        let mut tree = proc.open(&[50]);
        assert_eq!(written(&mut tree), 111);
        proc.show(process(70, 60, 10_000));
        assert_eq!(written(&mut tree), 10_111);
        assert_eq!(tree.read_group().unwrap().resident_pages, 40);
    }

    #[test]
    fn a_child_that_nobody_waited_for_keeps_its_last_contribution() {
        let proc = FakeProc::new("ignored");
        proc.show(process(50, 1, 1));
        proc.show(Shown { switches: 9, ..process(60, 50, 10) });
        let mut tree = proc.open(&[50]);
        assert_eq!(written(&mut tree), 11);
        proc.end(60);
        for _ in 0..3 {
            let usage = tree.read_group().unwrap().usage;
            assert_eq!((usage.write_bytes, usage.switches), (11, 9));
        }
    }

    #[test]
    fn a_child_that_its_parent_waited_for_is_not_counted_twice_and_keeps_its_context_switches() {
        let proc = FakeProc::new("waited");
        proc.show(process(50, 1, 1));
        proc.show(Shown { switches: 9, user_ticks: 4, ..process(60, 50, 10) });
        let mut tree = proc.open(&[50]);
        assert_eq!(written(&mut tree), 11);
        proc.end(60);
        proc.show(Shown { inherited_faults: 33, inherited_ticks: 6, ..process(50, 1, 1 + 15) });
        for _ in 0..3 {
            let usage = tree.read_group().unwrap().usage;
            assert_eq!((usage.write_bytes, usage.user_ticks, usage.switches), (16, 6, 9));
        }
    }

    #[test]
    fn a_parent_that_is_seen_to_inherit_one_reading_late_is_not_counted_twice_either() {
        let proc = FakeProc::new("late");
        proc.show_all(&[process(50, 1, 1), process(60, 50, 10)]);
        let mut tree = proc.open(&[50]);
        written(&mut tree);
        proc.end(60);
        assert_eq!(written(&mut tree), 11);
        proc.show(Shown { inherited_faults: 33, ..process(50, 1, 11) });
        assert_eq!((written(&mut tree), written(&mut tree)), (11, 11));
    }

    #[test]
    fn a_grandchild_that_ended_with_its_parent_is_inherited_by_the_grandparent() {
        let proc = FakeProc::new("grandchild");
        proc.show_all(&[process(50, 1, 1), process(60, 50, 10), process(70, 60, 100)]);
        let mut tree = proc.open(&[50]);
        assert_eq!(written(&mut tree), 111);
        proc.end(60);
        proc.end(70);
        proc.show(Shown { inherited_faults: 33, ..process(50, 1, 111) });
        assert_eq!((written(&mut tree), written(&mut tree)), (111, 111));
    }

    #[test]
    fn a_child_stays_a_member_when_its_parent_ends_and_it_gets_another() {
        let proc = FakeProc::new("orphan");
        proc.show_all(&[process(50, 1, 1), process(60, 50, 10), process(70, 60, 100)]);
        let mut tree = proc.open(&[50]);
        written(&mut tree);
        proc.end(60);
        proc.show(process(70, 1, 200));
        assert_eq!(written(&mut tree), 211);
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_process() {
        let proc = FakeProc::new("reused");
        proc.show_all(&[process(50, 1, 1), process(60, 50, 10)]);
        let mut tree = proc.open(&[50]);
        written(&mut tree);
        proc.show(Shown { started: 999, ..process(60, 1, 5000) });
        assert_eq!(written(&mut tree), 11);
        proc.show(Shown { started: 1999, ..process(60, 50, 3) });
        tree.strangers.clear();
        assert_eq!(written(&mut tree), 14);
    }

    #[test]
    fn a_group_of_which_nothing_is_left_gives_no_reading() {
        let proc = FakeProc::new("gone");
        proc.show(process(50, 1, 1));
        let mut tree = proc.open(&[50]);
        proc.end(50);
        assert_eq!(tree.read_group(), None);
        assert!(ProcessTree::open_in(&proc.0, &[50]).is_none());
    }

    #[test]
    fn the_context_switches_of_a_thread_that_ended_are_kept() {
        let proc = FakeProc::new("threads");
        proc.show(Shown { switches: 5, ..process(50, 1, 0) });
        let thread = proc.0.join("50/task/51");
        std::fs::create_dir_all(&thread).unwrap();
        std::fs::write(thread.join("status"), "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t1\n").unwrap();
        let mut tree = proc.open(&[50]);
        assert_eq!(tree.read_group().unwrap().usage.switches, 13);
        std::fs::remove_dir_all(&thread).unwrap();
        assert_eq!(tree.read_group().unwrap().usage.switches, 13);
    }

    /// The kernel's part of the bargain: that a waited-for child is in its parent's numbers, together with its faults.
    #[test]
    fn what_a_real_child_wrote_is_counted_once_after_its_parent_waited_for_it() {
        let file = std::env::temp_dir().join(format!("plimsoll-child-{}", std::process::id()));
        // The child waits for a line before it ends, the parent for another after it has waited for the child.
        let script = format!(
            "(dd if=/dev/zero of={0} bs=64k count=16 2>/dev/null; echo written; read go); echo waited; read go",
            file.display()
        );
        let mut shell = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = shell.stdin.take().unwrap();
        let mut output = io::BufReader::new(shell.stdout.take().unwrap());
        let mut line = String::new();
        io::BufRead::read_line(&mut output, &mut line).unwrap();
        let mut tree = ProcessTree::open(&[shell.id()]).unwrap();
        let alive = tree.read_group().unwrap();
        io::Write::write_all(&mut input, b"go\n").unwrap();
        io::BufRead::read_line(&mut output, &mut line).unwrap();
        let waited = [tree.read_group(), tree.read_group()].map(|reading| reading.unwrap().usage.write_bytes);
        io::Write::write_all(&mut input, b"go\n").unwrap();
        shell.wait().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(line, "written\nwaited\n");
        // tmpfs and kernels without I/O accounting write nothing; what was written must not be there twice in any case.
        assert!(
            alive.usage.write_bytes <= waited[0] && waited[0] < alive.usage.write_bytes + (1 << 20),
            "{alive:?} {waited:?}"
        );
        assert_eq!(waited[0], waited[1]);
    }
}
