//! Which threads are watched, and the files of the kernel about each.
//!
//! In: the processes of an engine, or the clients of this process. Out: the threads that are there now. Limits: of processes that are
//! made later those are found whose parent is the first thread of a process in the group. At most [`OPEN_MAX`] files stay open; those of
//! further threads are opened at each look.

use crate::SourceMissing;
use crate::proc_file::read_once;
use crate::process_tree::numbers_in;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The beginning of the names of plimsoll's client threads, which `load` gives them.
const CLIENT: &str = "client-";
/// Half of the files that a process may usually have open are left to others.
const OPEN_MAX: usize = 512;

/// The threads to be watched.
#[derive(Clone, Debug)]
pub(crate) enum ThreadGroup {
    /// All threads of these processes and their descendants.
    Processes(Vec<u32>),
    /// The client threads of this process.
    Clients,
}

/// A thread, by the number of its process and its own.
pub(super) type ThreadId = (u32, u32);

impl ThreadGroup {
    /// The threads that are there now.
    pub fn list(&self, buffer: &mut Vec<u8>) -> BTreeSet<ThreadId> {
        match self {
            ThreadGroup::Processes(roots) => threads_of(roots, buffer),
            ThreadGroup::Clients => clients(buffer),
        }
    }

    /// A thread of its processes that is there now. Clients may come later, so the first thread of plimsoll is read in their place.
    pub fn some_thread(&self, buffer: &mut Vec<u8>) -> Option<ThreadId> {
        match self {
            ThreadGroup::Clients => Some((std::process::id(), std::process::id())),
            ThreadGroup::Processes(_) => self.list(buffer).into_iter().next(),
        }
    }

    /// The processes that it begins with.
    pub fn roots(&self) -> Vec<u32> {
        match self {
            ThreadGroup::Clients => vec![std::process::id()],
            ThreadGroup::Processes(pids) => pids.clone(),
        }
    }

    /// A number that changes if threads or processes of the group begin or end, mostly: what a list costs a hundredth of.
    pub fn size_hint(&self, buffer: &mut Vec<u8>) -> u64 {
        match self {
            ThreadGroup::Clients => links(std::process::id()),
            ThreadGroup::Processes(roots) => {
                roots.iter().map(|pid| links(*pid) + ((children_of(*pid, buffer).len() as u64) << 32)).sum()
            }
        }
    }
}

/// The links to the directory of the threads of a process: one for each, and two more.
fn links(pid: u32) -> u64 {
    std::fs::metadata(format!("/proc/{pid}/task")).map_or(0, |task| std::os::unix::fs::MetadataExt::nlink(&task))
}

fn threads_of(roots: &[u32], buffer: &mut Vec<u8>) -> BTreeSet<ThreadId> {
    let processes = processes_of(roots, buffer);
    processes.into_iter().flat_map(|pid| tasks(pid).into_iter().map(move |thread| (pid, thread))).collect()
}

/// The processes `roots` and their descendants.
pub(crate) fn processes_of(roots: &[u32], buffer: &mut Vec<u8>) -> BTreeSet<u32> {
    let mut waiting = roots.to_vec();
    let mut processes = BTreeSet::new();
    while let Some(pid) = waiting.pop() {
        if processes.insert(pid) {
            waiting.extend(children_of(pid, buffer).split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    processes
}

/// The numbers of the processes whose parent is the first thread of `pid`, as the kernel lists them; empty if it is gone.
fn children_of(pid: u32, buffer: &mut Vec<u8>) -> &str {
    read_once(Path::new(&format!("/proc/{pid}/task/{pid}/children")), buffer).unwrap_or_default()
}

fn clients(buffer: &mut Vec<u8>) -> BTreeSet<ThreadId> {
    let own = std::process::id();
    let mut is_client = |thread: &u32| {
        let name = read_once(Path::new(&format!("/proc/{own}/task/{thread}/comm")), buffer);
        name.is_ok_and(|name| name.starts_with(CLIENT))
    };
    tasks(own).into_iter().filter(|thread| is_client(thread)).map(|thread| (own, thread)).collect()
}

fn tasks(pid: u32) -> Vec<u32> {
    numbers_in(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default()
}

/// The files about one thread.
pub(super) struct ThreadFiles {
    pub schedstat: KeptFile,
    pub syscall: KeptFile,
    pub wchan: KeptFile,
    pub io: KeptFile,
}

impl ThreadFiles {
    /// The files about `thread`, of which some stay open if fewer than [`OPEN_MAX`] are.
    pub fn new((pid, thread): ThreadId, threads: usize) -> ThreadFiles {
        let keep = threads < OPEN_MAX / 3;
        let file = |name: &str, keep| KeptFile::new(format!("/proc/{pid}/task/{thread}/{name}").into(), keep);
        ThreadFiles {
            schedstat: file("schedstat", keep),
            syscall: file("syscall", keep),
            wchan: file("wchan", keep),
            io: file("io", false),
        }
    }
}

/// A file that may stay open between readings.
pub(super) struct KeptFile {
    path: PathBuf,
    file: Option<File>,
}

/// What the files about a thread have at most.
const TEXT_MAX: usize = 512;

impl KeptFile {
    fn new(path: PathBuf, keep: bool) -> KeptFile {
        let file = keep.then(|| File::open(&path).ok()).flatten();
        KeptFile { path, file }
    }

    /// Gives its text of now to `read`.
    pub fn read_with<T>(&self, read: impl FnOnce(&str) -> T) -> io::Result<T> {
        let mut buffer = [0; TEXT_MAX];
        let filled = match &self.file {
            Some(file) => file.read_at(&mut buffer, 0)?,
            None => File::open(&self.path)?.read_at(&mut buffer, 0)?,
        };
        std::str::from_utf8(&buffer[..filled]).map(read).map_err(io::Error::other)
    }

    /// What `parse` finds in its text of now, which a message calls `sought`.
    pub fn require<T>(&self, parse: impl FnOnce(&str) -> Option<T>, sought: &str) -> Result<T, SourceMissing> {
        let found = self.read_with(parse).map_err(|error| SourceMissing::unreadable(&self.path, error))?;
        found.ok_or_else(|| SourceMissing::unknown(&self.path, sought))
    }
}

/// Whether the set of descriptors behind `set` of a process has a socket among them. What cannot be seen counts as one: most have.
pub(super) fn has_socket(pid: u32, set: u64, buffer: &mut Vec<u8>) -> bool {
    let Ok(members) = read_once(Path::new(&format!("/proc/{pid}/fdinfo/{set}")), buffer) else { return true };
    let members = members.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_ascii_whitespace().next());
    let is_socket = |member: &str| {
        let target = std::fs::read_link(format!("/proc/{pid}/fd/{member}"));
        target.map_or(true, |target| target.to_string_lossy().starts_with("socket:"))
    };
    let mut members = members.peekable();
    members.peek().is_none() || members.any(is_socket)
}

/// The time at `address` in the memory of a process, as programs of 64 bits keep it: seconds and nanoseconds.
pub(super) fn time_at(pid: u32, address: u64) -> Option<Duration> {
    let mut bytes = [0; 16];
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, address).ok()?;
    let [seconds, nanos] = [&bytes[..8], &bytes[8..]].map(|part| part.try_into().map(i64::from_ne_bytes));
    Some(Duration::new(u64::try_from(seconds.ok()?).ok()?, u32::try_from(nanos.ok()?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn only_threads_with_the_name_of_a_client_are_clients() {
        let (end, ended) = channel::<()>();
        let (began, begun) = channel();
        let client = std::thread::Builder::new().name("client-7".into()).spawn(move || {
            began.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            ended.recv().unwrap_err();
        });
        let thread = begun.recv().unwrap();
        let own = std::process::id();
        let clients = ThreadGroup::Clients.list(&mut Vec::new());
        drop(end);
        client.unwrap().join().unwrap();
        assert!(clients.contains(&(own, thread)) && !clients.contains(&(own, own)), "{clients:?}");
    }

    #[test]
    fn a_child_of_a_process_belongs_to_its_group() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        // The thread of a test is not the first of its process, so the child is asked for itself.
        let listed = ThreadGroup::Processes(vec![child.id()]).list(&mut Vec::new());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(listed.into_iter().collect::<Vec<_>>(), [(child.id(), child.id())]);
        assert!(ThreadGroup::Processes(vec![child.id()]).list(&mut Vec::new()).is_empty());
    }

    #[test]
    fn a_thread_that_begins_changes_the_size_of_its_group() {
        // Other tests begin and end threads, too: a process of our own has only those that it is given.
        let mut command = std::process::Command::new("sh");
        let mut shell =
            command.args(["-c", "read go; sleep 60 & wait"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let group = ThreadGroup::Processes(vec![shell.id()]);
        let alone = group.size_hint(&mut Vec::new());
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), b"go\n").unwrap();
        while group.size_hint(&mut Vec::new()) == alone {
            std::thread::yield_now();
        }
        for (pid, _) in group.list(&mut Vec::new()).into_iter().rev() {
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }

    #[test]
    fn a_set_with_a_socket_differs_from_one_without() {
        use rustix::event::epoll;
        let own = std::process::id();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        let set_of = |fd: std::os::fd::BorrowedFd| {
            let set = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
            epoll::add(&set, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
            set
        };
        use std::os::fd::{AsFd, AsRawFd};
        let (with, without) = (set_of(socket.as_fd()), set_of(pipe.as_fd()));
        let has = |set: &std::os::fd::OwnedFd| has_socket(own, set.as_raw_fd() as u64, &mut Vec::new());
        assert_eq!((has(&with), has(&without)), (true, false));
    }
}
