//! What plimsoll sees of a server that it did not start: its process, if that runs on this machine, and the device of its data.
//!
//! In: a connection that is logged in, and the data directory that the server reports. Out: a [`ServerSighting`]. Limits: the process
//! at the other end of the connection counts as the server if it works in the server's data directory or has the name of a server's
//! program; otherwise it is a proxy or a tunnel, and nothing is recorded of it. I/O and data of other users' processes are seen by root
//! only. Only the device under the data directory is watched: a log or a table elsewhere is not. A server that is restarted while it is
//! measured is not followed.

use super::listener::ServerHere;
use super::peer::find_peer;
use host::deadline::{MOMENT, poll_until};
use host::error::TargetError;
use host::filesystem::device_below;
use model::{Fact, UnseenServer};
use procfs::ProcError;
use procfs::process::{Process, Stat};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is seen of an existing server.
#[derive(Clone, Debug, Default)]
pub struct ServerSighting {
    process: Option<Box<SeenProcess>>,
    /// Why it, or a part of what it does, is not seen.
    unseen: Option<UnseenServer>,
    /// The program that answers in its place.
    other_program: Option<String>,
}

/// The process that all processes of a server descend from.
#[derive(Clone, Debug)]
struct SeenProcess {
    pid: u32,
    /// In ticks since boot: a number that is used again has another time.
    started: u64,
    program: String,
    /// The way to its data directory.
    data_dir: PathBuf,
    /// The block device under that.
    device: Option<String>,
}

impl ServerSighting {
    /// Looks for the server at the other end of `socket`, which reports `data_dir` as its data directory if the account may know it.
    /// Its program has one of the names `programs`.
    pub fn look(socket: BorrowedFd<'_>, data_dir: Option<&str>, programs: &[&str]) -> ServerSighting {
        let unseen = |why| ServerSighting { unseen: Some(why), ..ServerSighting::default() };
        match find_peer(socket) {
            // It may have ended since.
            Ok(pid) => see_process(pid, data_dir, programs).unwrap_or_else(|| unseen(UnseenServer::NotFound)),
            Err(why) => unseen(why),
        }
    }

    /// The process `pid` with those that it descends from, if its program has one of the names `programs`; `None` if it is not there. Any
    /// program will do if there are no names.
    pub fn of_process(pid: u32, programs: Option<&[&str]>) -> Option<ServerSighting> {
        let own = read_stat(pid)?.comm;
        see_process(pid, None, programs.unwrap_or(&[&own]))
    }

    /// What a host records that makes no load.
    pub fn server_here(&self) -> Option<ServerHere> {
        let SeenProcess { pid, program, device, .. } = &**self.process.as_ref()?;
        Some(ServerHere { pid: *pid, program: program.clone(), device: device.clone() })
    }

    /// The process that its others descend from, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().filter(|process| process.is_running()).map(|process| process.pid)
    }

    /// The block device under its data directory, if it is known.
    pub fn device(&self) -> Option<&str> {
        self.process.as_ref()?.device.as_deref()
    }

    /// The way to its data directory, while the process runs and if the device under it is known.
    pub fn data_dir(&self) -> Option<&Path> {
        self.process.as_ref().filter(|process| process.device.is_some()).map(|process| process.data_dir.as_path())
    }

    /// What was seen, for people.
    pub fn facts(&self) -> Vec<Fact> {
        let process = self.process.as_ref();
        let named = |process: &SeenProcess| format!("{} (process {})", process.program, process.pid);
        let seen = process.map(|process| Fact::new("server.process", named(process)));
        let device = self.device().map(|device| Fact::new("server.device", device));
        let other = self.other_program.as_ref().map(|program| Fact::new("server.answered_by", program.as_str()));
        let unseen = self.unseen.map(|why| Fact::new("server.unseen", why.as_str()));
        [seen, device, other, unseen].into_iter().flatten().collect()
    }

    /// What changed since: after its end its counters were those of a process that is gone.
    pub fn closing_facts(&self) -> Vec<Fact> {
        match &self.process {
            Some(process) if !process.is_running() => {
                vec![
                    Fact::new("engine.process", model::EngineProcess::Elsewhere.as_str()),
                    Fact::new("server.unseen", UnseenServer::Restarted.as_str()),
                    // Only a parent learns how its child ended.
                    Fact::new("server.ended", "gone"),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// A message if the process has ended. One that is `suspected` is given a moment: its connections break before it is gone.
    pub fn describe_end(&self, suspected: bool) -> Option<String> {
        let process = self.process.as_ref()?;
        let has_ended = || (!process.is_running()).then_some(());
        let ended = if suspected { poll_until(MOMENT, has_ended) } else { has_ended() };
        ended.map(|()| format!("the server ({}, process {}) ended", process.program, process.pid))
    }
}

/// Checks that a number that the user gives, and that is there, is that of a process.
///
/// # Errors
/// If it is that of a thread, or of a process that has ended, or if `/proc` cannot be read.
pub fn check_number(pid: u32) -> Result<(), TargetError> {
    let Ok(number) = i32::try_from(pid) else { return Ok(()) };
    let status = match Process::new(number).and_then(|process| Process::status(&process)) {
        Ok(status) => status,
        Err(error) => return check_readable(pid, &error, Path::new("/proc/self").exists()),
    };
    if status.state.starts_with('Z') {
        return Err(TargetError::Unsupported(format!("process {pid} has ended, and only its parent keeps its number")));
    }
    if status.tgid != status.pid {
        let process = status.tgid;
        return Err(TargetError::Unsupported(format!("{pid} is a thread of process {process}; give --pid {process}")));
    }
    Ok(())
}

/// Refuses process `pid`, whose status could not be read because of `error`, if no process can be seen. `has_proc`: whether `/proc` is mounted.
fn check_readable(pid: u32, error: &ProcError, has_proc: bool) -> Result<(), TargetError> {
    let why = match error {
        ProcError::PermissionDenied(_) => "this user may not",
        _ if !has_proc => "it is not mounted",
        // It is not there, which is said by whoever looks for it next.
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(format!(
        "process {pid} cannot be checked, because /proc cannot be read: {why}; mount it so that this user sees the process"
    )))
}

/// Checks that process `pid`, or one that descends from it, runs one of the `programs` of the server that people call `spoken`.
///
/// # Errors
/// If none does.
pub fn check_program(pid: u32, programs: &[&str], spoken: &str) -> Result<(), TargetError> {
    let Some(own) = read_stat(pid) else { return Ok(()) };
    if programs.contains(&own.comm.as_str()) || has_descendant(pid, programs) {
        return Ok(());
    }
    let program = own.comm;
    Err(TargetError::Unsupported(format!(
        "process {pid} runs `{program}`, not {spoken}; give --pid the number of the server's process, or leave it out"
    )))
}

/// Whether a process that runs one of `programs` descends from process `pid`.
fn has_descendant(pid: u32, programs: &[&str]) -> bool {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let all: Vec<Stat> = all.filter_map(|process| process.stat().ok()).collect();
    let parents: HashMap<i32, i32> = all.iter().map(|stat| (stat.pid, stat.ppid)).collect();
    all.iter().any(|stat| programs.contains(&stat.comm.as_str()) && descends(stat.ppid, pid, &parents))
}

/// Whether `ancestor` is process `pid`, or descends from it.
fn descends(mut ancestor: i32, pid: u32, parents: &HashMap<i32, i32>) -> bool {
    // Numbers may be used again while the list is read: what looks like a circle has an end.
    for _ in 0..parents.len() {
        if u32::try_from(ancestor) == Ok(pid) {
            return true;
        }
        let Some(parent) = parents.get(&ancestor) else { return false };
        ancestor = *parent;
    }
    false
}

impl SeenProcess {
    fn is_running(&self) -> bool {
        // A process that has ended keeps its number until its parent asks how.
        let has_ended = |stat: &Stat| matches!(stat.state, 'Z' | 'X');
        read_stat(self.pid).is_some_and(|stat| stat.starttime == self.started && !has_ended(&stat))
    }
}

/// What is seen of the process `peer`; `None` if it has ended.
fn see_process(peer: u32, data_dir: Option<&str>, programs: &[&str]) -> Option<ServerSighting> {
    let (pid, stat) = root_of(peer)?;
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let data = data_dir.and_then(|data| data_seen_by(&directory, data));
    let is_server = data.is_some() || programs.contains(&stat.comm.as_str());
    if !is_server {
        let (unseen, other_program) = (Some(UnseenServer::OtherProgram), Some(stat.comm));
        return Some(ServerSighting { process: None, unseen, other_program });
    }
    let may_see_io = std::fs::read(directory.join("io")).is_ok();
    // A server that does not tell its data directory works in it all the same.
    let data_dir = data.unwrap_or(directory.join("cwd"));
    let device = device_below(&data_dir);
    let process = Box::new(SeenProcess { pid, started: stat.starttime, program: stat.comm, data_dir, device });
    let unseen = (!may_see_io).then_some(UnseenServer::IoNotPermitted);
    Some(ServerSighting { process: Some(process), unseen, other_program: None })
}

/// The process that `pid` descends from and that runs the same program: of a PostgreSQL session, the server that started it.
fn root_of(pid: u32) -> Option<(u32, Stat)> {
    let (mut pid, mut stat) = (pid, read_stat(pid)?);
    while let Some(parent) = read_stat(stat.ppid as u32).filter(|parent| parent.comm == stat.comm) {
        (pid, stat) = (parent.pid as u32, parent);
    }
    Some((pid, stat))
}

fn read_stat(pid: u32) -> Option<Stat> {
    Process::new(pid.try_into().ok()?).and_then(|process| process.stat()).ok()
}

/// The working directory of the process in `directory`, if that is the server's `data` directory, as the process itself sees it.
fn data_seen_by(directory: &Path, data: &str) -> Option<PathBuf> {
    let works_in = directory.join("cwd");
    let reported = directory.join("root").join(data.trim_start_matches('/'));
    let number = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    (number(&works_in)? == number(&reported)?).then_some(works_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    /// What is seen of this process, which listens at a socket, if it says that its data is in `data_dir`.
    fn seen_as(data_dir: Option<&str>, programs: &[&str]) -> ServerSighting {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = UnixListener::bind(&path).unwrap();
        ServerSighting::look(UnixStream::connect(&path).unwrap().as_fd(), data_dir, programs)
    }

    #[test]
    fn a_process_that_works_in_the_data_directory_is_the_server_whatever_its_name() {
        let here = std::env::current_dir().unwrap();
        let found = seen_as(here.to_str(), &[]);
        let top = root_of(std::process::id()).unwrap().0;
        assert_eq!((found.pid(), found.unseen), (Some(top), None));
        assert_eq!(found.device().map(str::to_owned), device_below(&here));
        let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
        assert!(found.data_dir().is_none_or(|dir| inode(dir) == inode(&here)));
        assert!(found.closing_facts().is_empty());
    }

    #[test]
    fn a_process_of_the_servers_name_is_the_server_and_any_other_is_not() {
        let name = read_stat(std::process::id()).unwrap().comm;
        assert!(seen_as(None, &[&name]).pid().is_some());
        let proxy = seen_as(Some("/"), &["mariadbd"]);
        assert_eq!((proxy.pid(), proxy.device()), (None, None));
        let facts = [Fact::new("server.answered_by", name), Fact::new("server.unseen", "other-program")];
        assert_eq!(proxy.facts(), facts);
    }

    #[test]
    fn a_thread_and_a_process_that_has_ended_are_refused() {
        let refused = |pid| check_number(pid).err().map(|error| error.to_string()).unwrap_or_default();
        let own = std::process::id();
        assert_eq!(refused(own), "");
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
            let _ = ended.recv();
        });
        let number: u32 = told.recv().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert!(refused(number).contains(&format!("{number} is a thread of process {own}; give --pid {own}")));
        drop(end);
        thread.join().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        let state = || read_stat(child.id()).filter(|stat| stat.state == 'Z');
        assert!(poll_until(MOMENT, state).is_some());
        assert!(refused(child.id()).contains("has ended"));
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_nobody_can_see_is_refused_with_the_reason_and_one_that_is_not_there_is_left_to_others() {
        let refused = |error: ProcError, has_proc| {
            check_readable(7, &error, has_proc).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(ProcError::NotFound(None), true), "");
        let unmounted = refused(ProcError::NotFound(None), false);
        assert!(unmounted.contains("process 7 cannot be checked, because /proc cannot be read: it is not mounted"));
        assert!(refused(ProcError::PermissionDenied(None), true).contains("/proc cannot be read: this user may not"));
    }

    #[test]
    fn a_process_that_neither_runs_nor_has_started_the_servers_program_is_refused() {
        let mut wrapper = Command::new("sh").args(["-c", "cat; :"]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = wrapper.id();
        let is_started = || check_program(pid, &["cat"], "Cat").is_ok().then_some(());
        assert!(poll_until(MOMENT, is_started).is_some(), "a wrapper starts it");
        assert!(check_program(pid, &["sh"], "Sh").is_ok(), "it is the server itself");
        let refused = check_program(pid, &["mariadbd", "mysqld"], "MariaDB").unwrap_err().to_string();
        assert!(refused.contains(&format!("process {pid} runs `sh`, not MariaDB")), "{refused}");
        drop(wrapper.stdin.take());
        wrapper.wait().unwrap();
    }

    #[test]
    fn a_process_that_began_later_under_the_same_number_is_another_server() {
        let mut found = seen_as(std::env::current_dir().unwrap().to_str(), &[]);
        found.process.as_mut().unwrap().started -= 1;
        assert_eq!(found.pid(), None);
        let facts = [("engine.process", "elsewhere"), ("server.unseen", "restarted"), ("server.ended", "gone")];
        assert_eq!(found.closing_facts(), facts.map(|(name, value)| Fact::new(name, value)));
        let text = found.describe_end(true).expect("it has ended");
        assert!(text.starts_with("the server (") && text.ends_with(") ended"), "{text}");
    }
}
