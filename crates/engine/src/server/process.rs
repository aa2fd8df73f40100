//! Servers: mostly private ones, processes that plimsoll starts in a directory of its own, and that do not outlive it.
//!
//! In: a program with its arguments, its directory and its user. Out: a running [`ServerProcess`], and the end of its log if it ends.
//! Limits: a server dies with the *thread* that started it (PR_SET_PDEATHSIG), so instances are started on a thread that
//! stays. What a killed plimsoll could not take with it is found by [`host::leftover`] at the next start.

use super::start_progress::{START_AT_MOST, StartProgress, WorkDone};
use host::deadline::{MOMENT, has_cut_a_wait, poll_until, poll_until_interrupted};
use host::error::{IoContext, TargetError, shown, system_words};
use host::out_of_memory::OutOfMemoryWatch;
use host::privileged::private_mounts::{PrivateMounts, installation_of};
use host::privileged::server_account::ServerAccount;
use model::CpuList;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a program that prepares a directory may take: 0.6 s here, and a busy disk may take tens of times as long.
const SETUP_AT_MOST: Duration = Duration::from_secs(120);

/// How long a server that is asked to end may take, which it does in milliseconds unless it was stopped.
const ASKED_AT_MOST: Duration = Duration::from_secs(3);
/// How long one that is killed may take: the memory of a large one is given back in seconds.
const KILLED_AT_MOST: Duration = Duration::from_secs(30);

/// How long one may take that is asked to bring its data to rest first: a large buffer pool is written to a slow disk.
const SHUT_DOWN_AT_MOST: Duration = Duration::from_secs(600);

/// What to start, and how.
pub struct ServerLaunch<'a> {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments, without the program itself.
    pub args: Vec<OsString>,
    /// Its working directory, which belongs to `account`.
    pub directory: &'a Path,
    /// As whom; `None` as plimsoll itself.
    pub account: Option<&'a ServerAccount>,
    /// The file that takes its output.
    pub log: &'a Path,
    /// What ends it when plimsoll dies.
    pub end_by: Signal,
    /// Of the groups that hold it.
    pub cgroup_fds: &'a [Arc<OwnedFd>],
    /// The CPUs that it may use; `None` for those of plimsoll.
    pub cpus: Option<CpuList>,
    /// A library that is loaded into it before all others.
    pub preload: Option<&'a Path>,
}

impl ServerLaunch<'_> {
    /// Runs a program that ends by itself.
    pub fn run_to_end(self) -> Result<(), TargetError> {
        let server = self.start()?;
        match poll_until_interrupted(SETUP_AT_MOST, || server.exit_status()) {
            Some(status) if status.success() => Ok(()),
            // A set-up script reports the end of the server that it has started by a code of its own.
            Some(_) => {
                Err(server.memory.explain_any().map_or_else(|| server.exit_error(), |how| server.killed_error(&how)))
            }
            None if has_cut_a_wait() => {
                Err(TargetError::Failed(format!("`{}` still worked when you ended the run", server.name)))
            }
            None => {
                let (seconds, said) = (SETUP_AT_MOST.as_secs(), log_phrase(&last_words(&server.log)));
                Err(TargetError::Failed(format!("`{}` did not end within {seconds} s; {said}", server.name)))
            }
        }
    }

    /// Starts the program. It does not wait until a server answers.
    pub fn start(self) -> Result<ServerProcess, TargetError> {
        let log = File::options().append(true).open(self.log).trying("open", self.log)?;
        let said = log.try_clone().trying("open", self.log)?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().env("PATH", PATH).env("LC_ALL", "C");
        if let Some(library) = self.preload {
            command.env("LD_PRELOAD", library);
        }
        command.stdin(Stdio::null()).stdout(said).stderr(log).process_group(0);
        let entry = ProcessEntry::of_launch(&self)?;
        let memory = OutOfMemoryWatch::start();
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(move || entry.enter()) };
        let child = command.spawn().trying("start", &self.program)?;
        let name = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(ServerProcess { child, name, log: self.log.to_owned(), end_by: self.end_by, memory, gone: false })
    }
}

/// The programs that a set-up script calls.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What the server's process does between fork and exec.
struct ProcessEntry {
    /// The id of plimsoll's process.
    parent: u32,
    end_by: Signal,
    cgroup_fds: Vec<Arc<OwnedFd>>,
    cpus: Option<CpuList>,
    mounts: Option<PrivateMounts>,
    account: Option<ServerAccount>,
    directory: CString,
}

impl ProcessEntry {
    fn of_launch(launch: &ServerLaunch) -> Result<ProcessEntry, TargetError> {
        let mounts = match launch.account {
            Some(account) => PrivateMounts::for_server(account, &[launch.directory, installation_of(&launch.program)])?,
            None => None,
        };
        Ok(ProcessEntry {
            parent: std::process::id(),
            end_by: launch.end_by,
            cgroup_fds: launch.cgroup_fds.to_vec(),
            cpus: launch.cpus.clone(),
            mounts,
            account: launch.account.cloned(),
            directory: CString::new(launch.directory.as_os_str().as_bytes()).expect("the kernel has named it"),
        })
    }

    /// Only makes system calls. The order matters: groups and mounts are root's to take, and a change of user forgets the signal.
    fn enter(&self) -> std::io::Result<()> {
        for fd in &self.cgroup_fds {
            // 0 is the writing process itself. It enters before the program runs, so all of its memory is counted. Whether it may
            // depends on the user that opened the file, which is plimsoll's.
            rustix::io::write(&**fd, b"0")?;
        }
        // It begins with the CPUs of plimsoll's clients.
        self.cpus.as_ref().map_or(Ok(()), host::cpu::pin_thread)?;
        if let Some(mounts) = &self.mounts {
            mounts.make()?;
        }
        if let Some(account) = &self.account {
            account.become_user()?;
        }
        rustix::process::chdir(&*self.directory)?;
        // Before the parent is looked at: if that died in between, no signal comes.
        rustix::process::set_parent_process_death_signal(Some(self.end_by))?;
        // The server's files are for itself only, and it may open as many as the system lets it.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let all = rustix::process::Rlimit { current: files.maximum, ..files };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, all); // the server makes do with fewer
        let lives = rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == self.parent);
        if lives { Ok(()) } else { Err(std::io::ErrorKind::Interrupted.into()) }
    }
}

/// A running server. Dropped, it is killed.
pub struct ServerProcess {
    child: Child,
    name: String,
    log: PathBuf,
    end_by: Signal,
    /// From the server's start on.
    memory: OutOfMemoryWatch,
    /// Waited for; its number may belong to another process by now.
    gone: bool,
}

impl ServerProcess {
    /// The number of its first process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Calls `ready` until it succeeds, or the user ends the run. Its last error is reported if it never does.
    pub fn wait_until_ready(&self, mut ready: impl FnMut() -> Result<(), String>) -> Result<(), TargetError> {
        let (began, mut progress) = (Instant::now(), StartProgress::default());
        let answered = poll_until_interrupted(START_AT_MOST, || match ready() {
            Ok(()) => Some(Ok(())),
            Err(_) if self.exit_status().is_some() => Some(Err(self.exit_error())),
            Err(why) if !progress.is_hopeful(began.elapsed(), WorkDone::of(self.pid(), &self.log)) => {
                Some(Err(self.unready_error(began.elapsed(), &why)))
            }
            Err(_) => None,
        });
        answered.unwrap_or_else(|| Err(self.unready_error(began.elapsed(), "it still works")))
    }

    fn unready_error(&self, after: Duration, why: &str) -> TargetError {
        TargetError::Failed(format!("{} was not ready within {} s: {why}", self.name, after.as_secs()))
    }

    /// How it ended, if it has.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        let pid = Pid::from_child(&self.child);
        // NOWAIT: it stays to be waited for, and its number its own.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid), look).ok().flatten()?;
        let raw = status.exit_status().map(|code| code << 8).or(status.terminating_signal())?;
        Some(ExitStatus::from_raw(raw))
    }

    /// Whether it has ended, or does within a moment.
    pub fn exits_soon(&self) -> bool {
        poll_until(MOMENT, || self.exit_status()).is_some()
    }

    /// The error if it has ended and should not have.
    pub fn exit_error(&self) -> TargetError {
        let how = self.exit_status().map_or("ended".to_owned(), exit_phrase);
        let said = last_words(&self.log);
        let advice = advice_on(&said);
        let was_forced = self.exit_status().and_then(|status| status.signal()) == Some(Signal::KILL.as_raw());
        if let Some(how) = was_forced.then(|| self.memory.explain(self.pid())).flatten() {
            return self.killed_error(&how);
        }
        let said = if was_forced && !said.is_empty() && !is_error_line(&said) {
            // It had no time to write about it: what its log ends with is of before.
            "its log has no error".to_owned()
        } else {
            log_phrase(&said)
        };
        TargetError::Failed(format!("{} {how}; {said}{advice}", self.name))
    }

    /// The error if the kernel killed it, or what it had started.
    fn killed_error(&self, how: &str) -> TargetError {
        TargetError::Failed(format!("{} {how}; use a smaller `cache`, or allow it more memory", self.name))
    }

    /// Asks it by `signal` to end in order, its data at rest, and waits for that.
    pub fn shut_down(mut self, signal: Signal) -> Result<(), TargetError> {
        let _ = kill_process(Pid::from_child(&self.child), signal); // if it has gone already, that is reported below
        if !self.wait_for_end(SHUT_DOWN_AT_MOST) {
            let text = format!("{} did not shut down within {SHUT_DOWN_AT_MOST:?}", self.name);
            return Err(TargetError::Failed(text));
        }
        self.gone = true;
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(TargetError::Failed(format!(
                "{} was asked to shut down and {}; its log ends: {}",
                self.name,
                exit_phrase(status),
                last_words(&self.log)
            ))),
            _ => Ok(()),
        }
    }

    /// Ends it and all that it has started.
    pub fn stop(mut self) -> Result<(), TargetError> {
        self.end_all()
    }

    fn end_all(&mut self) -> Result<(), TargetError> {
        if std::mem::replace(&mut self.gone, true) {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        for (signal, at_most) in [(self.end_by, ASKED_AT_MOST), (Signal::KILL, KILLED_AT_MOST)] {
            // The group: a set-up script has started others. It may have gone already.
            let _ = kill_process_group(pid, signal);
            let _ = kill_process(pid, signal);
            if self.wait_for_end(at_most) {
                return Ok(());
            }
        }
        Err(TargetError::Failed(format!(
            "{} (process {}) cannot be ended: it is waiting for its disk",
            self.name,
            self.pid()
        )))
    }

    fn wait_for_end(&mut self, at_most: Duration) -> bool {
        poll_until(at_most, || (!matches!(self.child.try_wait(), Ok(None))).then_some(())).is_some()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.end_all(); // the next start finds what is left
    }
}

/// `signal 9`, `exit code 1`.
pub fn describe_exit(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("exit code {}", code.unwrap_or_default()),
    }
}

/// `was killed by signal 9`, `exited with code 1`.
fn exit_phrase(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was killed by signal {signal}"),
        None => format!("exited with code {}", status.code().unwrap_or_default()),
    }
}

/// What to do about a server whose log ends with `said`. Servers that get too little memory at their start say so in these words.
fn advice_on(said: &str) -> &'static str {
    const NO_SPACE: [&str; 2] = ["No space left on device", "Disk is full"];
    const NO_MEMORY: [&str; 4] =
        ["Cannot allocate memory", "errno 12", "Out of memory", "could not map anonymous shared memory"];
    let has = |texts: &[&str]| texts.iter().any(|text| said.contains(text));
    if has(&NO_SPACE) {
        "; free some space or use another directory"
    } else if has(&NO_MEMORY) {
        "; use a smaller `cache`, or raise memory_limit"
    } else {
        ""
    }
}

fn log_phrase(last_words: &str) -> String {
    if last_words.is_empty() { "its log is empty".to_owned() } else { format!("its log ends: {last_words}") }
}

/// How much of the end of a log is read.
const LOG_TAIL: u64 = 16 << 10;
/// How many lines of it a message has.
const LINES_KEPT: usize = 3;
/// How much of each line a message has.
const CHARS_KEPT: usize = 200;

/// The last messages of a server: its errors, or its last lines if it reported none. One line, and no control characters.
fn last_words(log: &Path) -> String {
    let mut tail = Vec::new();
    let read = model::open_regular(log).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))?;
        file.take(LOG_TAIL).read_to_end(&mut tail)
    });
    if let Err(error) = read {
        return format!("(`{}` cannot be read: {})", shown(log), system_words(&error));
    }
    last_words_of(&String::from_utf8_lossy(&tail))
}

fn last_words_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| is_error_line(line)).collect();
    let causes: Vec<&str> = errors.iter().copied().filter(|line| !is_consequence(line)).collect();
    let kept = [causes, errors, lines].into_iter().find(|kept| !kept.is_empty()).unwrap_or_default();
    let last = &kept[kept.len().saturating_sub(LINES_KEPT)..];
    let printable = |line: &&str| line.chars().filter(|c| !c.is_control()).take(CHARS_KEPT).collect();
    last.iter().map(printable).collect::<Vec<String>>().join(" | ")
}

/// Whether MariaDB or PostgreSQL marks the line as an error.
fn is_error_line(line: &str) -> bool {
    ["[ERROR]", "ERROR:", "FATAL:", "PANIC:"].iter().any(|word| line.contains(word))
}

/// Whether MariaDB or MySQL only reports what followed from an error before it.
fn is_consequence(line: &str) -> bool {
    const CONSEQUENCES: [&str; 6] = [
        "] Aborting",
        "Parsing options for plugin",
        "registration as a STORAGE ENGINE failed",
        "Unknown/unsupported storage engine",
        "Failed to initialize DD Storage Engine",
        "Data Dictionary initialization failed",
    ];
    CONSEQUENCES.iter().any(|text| line.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch<'a>(script: &str, dir: &'a Path, log: &'a Path) -> ServerLaunch<'a> {
        std::fs::write(log, "").unwrap();
        let args = vec!["-c".into(), script.into()];
        ServerLaunch {
            program: "/bin/sh".into(),
            args,
            directory: dir,
            account: None,
            log,
            end_by: Signal::KILL,
            cgroup_fds: &[],
            cpus: None,
            preload: None,
        }
    }

    #[test]
    fn a_program_that_fails_is_quoted_with_its_ending() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        launch("echo fine", dir.path(), &log).run_to_end().unwrap();
        let failed = launch("echo 'x [ERROR] no \u{1b}[31mluck'; echo bye; exit 3", dir.path(), &log).run_to_end();
        let text = failed.unwrap_err().to_string();
        assert_eq!(text, "sh exited with code 3; its log ends: x [ERROR] no [31mluck");
    }

    #[test]
    fn a_server_that_is_stopped_or_dropped_is_gone_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let start = || {
            let server = launch("sleep 600 & echo $!; wait", dir.path(), &log).start().unwrap();
            let said = || std::fs::read_to_string(&log).unwrap().trim().parse::<i32>().map_err(|e| e.to_string());
            server.wait_until_ready(|| said().map(drop)).unwrap();
            (server, said().unwrap())
        };
        // The grandchild is a zombie of init's, or gone, as soon as init has looked.
        let runs = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        let (server, grandchild) = start();
        assert!(runs(grandchild) && server.exit_status().is_none());
        server.stop().unwrap();
        assert!(poll_until(KILLED_AT_MOST, || (!runs(grandchild)).then_some(())).is_some());
        let (server, _) = start();
        let pid = server.pid() as i32;
        drop(server);
        assert!(!runs(pid));
    }

    #[test]
    fn a_server_that_ended_by_itself_is_never_ready() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let server = launch("echo 'FATAL:  no port'; kill -9 $$", dir.path(), &log).start().unwrap();
        let text = server.wait_until_ready(|| Err("no socket".into())).unwrap_err().to_string();
        assert_eq!(text, "sh was killed by signal 9; its log ends: FATAL:  no port");
        let server = launch("echo 'ready for connections'; kill -9 $$", dir.path(), &log).start().unwrap();
        let text = server.wait_until_ready(|| Err("no socket".into())).unwrap_err().to_string();
        assert_eq!(text, "sh was killed by signal 9; its log has no error");
    }

    #[test]
    fn a_log_that_ends_without_memory_or_space_leads_to_advice() {
        let log = "[ERROR] InnoDB: Cannot allocate memory for the buffer pool";
        assert_eq!(advice_on(log), "; use a smaller `cache`, or raise memory_limit");
        assert_eq!(advice_on("FATAL: No space left on device"), "; free some space or use another directory");
        assert_eq!(advice_on("[ERROR] Aborting"), "");
    }

    #[test]
    fn the_first_error_is_kept_and_what_followed_from_it_is_not() {
        let log = "2026-11-22 19:10:19 0 [Note] Starting MariaDB 10.11.19\n\
                   2026-11-22 19:10:19 0 [ERROR] mariadbd: Error while setting value 'x' to 'innodb-change-buffering'\n\
                   2026-11-22 19:10:19 0 [ERROR] Parsing options for plugin 'InnoDB' failed. Disabling plugin\n\
                   2026-11-22 19:10:19 0 [ERROR] Unknown/unsupported storage engine: InnoDB\n\
                   2026-11-22 19:10:19 0 [ERROR] Aborting\n";
        let cause =
            "2026-11-22 19:10:19 0 [ERROR] mariadbd: Error while setting value 'x' to 'innodb-change-buffering'";
        assert_eq!(last_words_of(log), cause);
        assert_eq!(last_words_of("bye\n0 [ERROR] Aborting\n"), "0 [ERROR] Aborting", "if there is nothing else");
    }

    #[test]
    fn last_words_are_few_and_short() {
        let many: String = (0..9).map(|n| format!("line {n} {}\n", "x".repeat(500))).collect();
        let told = last_words_of(&many);
        assert!(told.starts_with("line 6") && told.len() < 3 * (CHARS_KEPT + 4), "{told}");
    }
}
