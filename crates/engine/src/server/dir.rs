//! The directory of a private server: with a sub-directory that belongs to the server's user, its log and its socket.
//!
//! In: the directory under measurement, the user that the server runs as. Out: a [`ServerDir`] whose server is gone before its files are.
//! Limits: a socket is found through the directory's handle (`/proc/self/fd/N/NAME`), because the address of a socket holds
//! 107 bytes at most and paths are longer.

use super::process::{ServerLaunch, ServerProcess, describe_exit};
use host::allocator::{self, Allocator};
use host::cpu::EngineCpus;
use host::data_dir::DataDir;
use host::error::{IoContext, TargetError, shown};
use host::leftover;
use host::privileged::cgroup::CgroupLimits;
use host::privileged::private_mounts::PrivateMounts;
use host::privileged::server_account::ServerAccount;
use model::Fact;
use rustix::fs::{AtFlags, Mode, OFlags, open, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A server's directory, and the server while it runs.
pub struct ServerDir {
    /// Before the directory: fields are dropped in order.
    server: Option<ServerProcess>,
    account: Option<ServerAccount>,
    /// The server's own sub-directory, absolute.
    data: PathBuf,
    place: Arc<OwnedFd>,
    log: PathBuf,
    end_by: Signal,
    /// Of the groups that hold its processes.
    cgroup_fds: Vec<Arc<OwnedFd>>,
    cpus: EngineCpus,
    /// The library of its allocator.
    preload: Option<PathBuf>,
    /// The directory, with its manifest.
    pub dir: DataDir,
}

impl ServerDir {
    /// Makes the directory `name` in `dir` for a server that runs as `user` if plimsoll is root.
    pub fn make(mut dir: DataDir, name: &str, user: &str, end_by: Signal) -> Result<ServerDir, TargetError> {
        let account = ServerAccount::for_server(user)?;
        let log = dir.own_file("server.log")?;
        File::create_new(&log).trying("create", &log)?;
        let data = dir.own_directory(name)?.canonicalize().trying("look at", dir.path())?;
        // The socket is reached through this handle however long the path is, and files are made in it whatever its name leads to later.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = open(dir.path_inside(name), flags, Mode::empty()).trying("open", &data)?;
        if let Some(account) = &account {
            // The directory first belongs to root with mode 0700; the server's user gets its own part of it and passes through the
            // rest.
            account.give_open(&place, &data)?;
            dir.let_in(account.gid)?;
            // Refused now, and not by the program that makes the files.
            PrivateMounts::for_server(account, &[&data])?;
        }
        Ok(ServerDir {
            server: None,
            account,
            data,
            place: Arc::new(place),
            log,
            end_by,
            cgroup_fds: Vec::new(),
            cpus: EngineCpus::default(),
            preload: None,
            dir,
        })
    }

    /// What is started from now on is in `cgroups` from its first instruction on.
    pub fn limited_by(mut self, cgroups: Option<&CgroupLimits>) -> ServerDir {
        self.cgroup_fds = cgroups.map_or(Vec::new(), CgroupLimits::cgroup_fds);
        self
    }

    /// What is started from now on runs on `cpus` from its first instruction on.
    pub fn pinned_to(mut self, cpus: &EngineCpus) -> ServerDir {
        self.cpus = cpus.clone();
        self
    }

    /// Its server has `allocator` from now on.
    ///
    /// # Errors
    /// If the library is missing, with the package that has it.
    pub fn with_allocator(mut self, allocator: Allocator) -> Result<ServerDir, TargetError> {
        self.preload = allocator.find_library().map_err(TargetError::Unsupported)?;
        Ok(self)
    }

    /// The server's own directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The file that takes what the server logs.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The socket `name` in the server's directory, by a short path.
    pub fn socket_at(&self, name: &str) -> ServerSocket {
        let path = format!("/proc/self/fd/{}/{name}", self.place.as_raw_fd());
        ServerSocket { path, _place: self.place.clone() }
    }

    /// Writes `text` into the file `name` in the server's directory, which belongs to the server's user and is closed to all others.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_file(&self, name: &str, text: &str) -> Result<(), TargetError> {
        let path = self.data.join(name);
        let mut file = self.create_anew(name).trying("create", &path)?;
        file.write_all(text.as_bytes()).trying("write", &path)?;
        self.account.as_ref().map_or(Ok(()), |account| account.give_open(&file, &path))
    }

    /// Creates the file `name` in place of what has this name. The directory belongs to the server's user, who may have put a link there:
    /// it is removed and not followed.
    fn create_anew(&self, name: &str) -> rustix::io::Result<File> {
        match unlinkat(&self.place, name, AtFlags::empty()) {
            Err(Errno::NOENT) => {}
            removed => removed?,
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.place, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Runs a program that makes the server's files.
    pub fn set_up(&self, program: PathBuf, args: Vec<OsString>) -> Result<(), TargetError> {
        self.prepare_launch(program, args).run_to_end()
    }

    /// Starts the server and waits until `ready`.
    pub fn start_server(
        &mut self,
        program: PathBuf,
        args: Vec<OsString>,
        ready: impl FnMut() -> Result<(), String>,
    ) -> Result<(), TargetError> {
        let preload = self.preload.as_deref();
        let server = ServerLaunch { preload, ..self.prepare_launch(program, args) }.start()?;
        self.server.insert(server).wait_until_ready(ready)?;
        self.check_allocator()
    }

    /// The library must be in the running server: a program that is statically linked ignores it.
    fn check_allocator(&self) -> Result<(), TargetError> {
        let Some((server, library)) = self.server.as_ref().zip(self.preload.as_deref()) else { return Ok(()) };
        match Allocator::loaded_in(server.pid()) {
            Some((Allocator::System, _)) => {
                let library = shown(library);
                Err(TargetError::Unsupported(format!("the server runs without `{library}`; use allocator = `system`")))
            }
            _ => Ok(()),
        }
    }

    /// Ends the server: in order by `signal`, with its data at rest, or without one at once.
    pub fn end_server(&mut self, signal: Option<Signal>) -> Result<(), TargetError> {
        match (self.server.take(), signal) {
            (Some(server), Some(signal)) => server.shut_down(signal)?,
            (Some(server), None) => server.stop()?,
            (None, _) => {}
        }
        leftover::end_servers_of(&self.data)
    }

    /// The processes of the server while it runs.
    pub fn processes(&self) -> Vec<u32> {
        self.server.iter().map(ServerProcess::pid).collect()
    }

    /// A message if the server has ended by itself. A server that is `suspected` is given the time that a killed
    /// process takes to give back its memory: its connections break first.
    pub fn describe_trouble(&self, suspected: bool) -> Option<String> {
        let server = self.server.as_ref()?;
        let ended = if suspected { server.exits_soon() } else { server.exit_status().is_some() };
        ended.then(|| server.exit_error().to_string())
    }

    /// As whom the server runs, and how it ended if it has.
    pub fn facts(&self) -> Vec<Fact> {
        let user = self.account.as_ref().map(|account| Fact::new("server.user", account.name.as_str()));
        let ended = self.server.as_ref().and_then(ServerProcess::exit_status);
        let loaded = self.server.as_ref().and_then(|server| Allocator::loaded_in(server.pid()));
        let allocator = loaded.map(|loaded| Fact::new("server.allocator", allocator::describe(&loaded)));
        let ended = ended.map(|status| Fact::new("server.ended", describe_exit(status)));
        user.into_iter().chain(allocator).chain(ended).collect()
    }

    /// Stops the server and removes the directory.
    pub fn remove(self) -> Result<(), TargetError> {
        let ServerDir { server, data, dir, .. } = self;
        server.map_or(Ok(()), ServerProcess::stop)?;
        // If its first process was killed, others of it may be on their way out.
        leftover::end_servers_of(&data)?;
        dir.remove()
    }

    fn prepare_launch(&self, program: PathBuf, args: Vec<OsString>) -> ServerLaunch<'_> {
        let (directory, account, log) = (&*self.data, self.account.as_ref(), &*self.log);
        let (end_by, cgroup_fds) = (self.end_by, &*self.cgroup_fds);
        let cpus = self.cpus.assigned();
        ServerLaunch { program, args, directory, account, log, end_by, cgroup_fds, cpus, preload: None }
    }
}

/// A socket of a private server. The path is good while this lives.
#[derive(Clone)]
pub struct ServerSocket {
    /// The path of the socket.
    pub path: String,
    _place: Arc<OwnedFd>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced_and_what_it_leads_to_stays() {
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), Permissions::from_mode(0o711)).unwrap();
        let victim = parent.path().join("victim");
        fs::write(&victim, "years of work").unwrap();
        let dir = DataDir::create(parent.path(), "links", 1).unwrap();
        let server_dir = ServerDir::make(dir, "db", "nobody", Signal::TERM).unwrap();
        let (soft, hard) = (server_dir.data().join("plimsoll.pem"), server_dir.data().join("plimsoll.key"));
        symlink(&victim, &soft).unwrap();
        fs::hard_link(&victim, &hard).unwrap();
        for path in [&soft, &hard] {
            server_dir.write_file(path.file_name().unwrap().to_str().unwrap(), "secret").unwrap();
            let made = fs::symlink_metadata(path).unwrap();
            assert!(made.is_file() && made.mode() & 0o777 == 0o600, "{made:?}");
            assert_eq!(made.uid(), fs::metadata(server_dir.data()).unwrap().uid());
            assert_eq!(fs::read_to_string(path).unwrap(), "secret");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "years of work");
        assert_eq!(fs::metadata(&victim).unwrap().uid(), rustix::process::geteuid().as_raw());
        server_dir.remove().unwrap();
    }
}
