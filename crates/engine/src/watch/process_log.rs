//! The error log of a process that is watched, without a question to the server: a file that the process has open for appending.
//!
//! In: the number of a process and the name of its program. Out: its [`ErrorLog`], or what keeps it from being read. Limits: its standard error
//! and output, and files that are named as error logs are, also of the processes that it started; only regular files. What goes to a journal or
//! through a pipe is not seen, nor is the log of a program that is no server known here.

use super::log::{ErrorLog, LOG, MYSQL_MARKS, Marks, POSTGRES_MARKS};
use super::{ServerReading, Values};
use crate::counters::{described, values_of};
use model::{MissingPart, Observation, SourceDef};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The flag of a file that is open for appending, as the kernel writes it in octal.
const APPENDS: u32 = 0o2000;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

/// A process of which only its error log is followed.
#[derive(Default)]
pub struct ProcessLog {
    log: Option<ErrorLog>,
    missing: Option<MissingPart>,
    program: String,
}

impl ProcessLog {
    /// The log of process `pid`, which runs `program`; that of a program that is no server known here is not looked for.
    pub fn of_process(pid: u32, program: &str) -> ProcessLog {
        let program = program.to_owned();
        match open_log(pid, &program) {
            Some(Ok(log)) => ProcessLog { log: Some(log), missing: None, program },
            Some(Err(missing)) => ProcessLog { log: None, missing: Some(missing), program },
            None => ProcessLog { program, ..ProcessLog::default() },
        }
    }

    /// What its counters are.
    pub fn sources(&self) -> Vec<SourceDef> {
        self.log.iter().map(|_| described(&LOG, &self.program)).collect()
    }

    /// What was written since the reading before. A process tells of no operation.
    pub fn read(&mut self) -> ServerReading {
        let values = self.log.iter_mut().map(|log| {
            let mut values = Values::new();
            log.read();
            log.add_to(&mut values);
            values_of(&LOG, &values)
        });
        ServerReading { values: values.collect(), done: Some(Vec::new()), ..ServerReading::default() }
    }

    /// What follows goes into a new account.
    pub fn begin_account(&mut self) {
        self.log.iter_mut().for_each(ErrorLog::begin_anew);
    }

    /// What is known of it so far.
    pub fn observation(&self) -> Observation {
        let missing = self.missing.iter().cloned().collect();
        Observation { log: self.log.as_ref().map(ErrorLog::observed), missing, ..Observation::default() }
    }
}

/// The log of process `pid`; `None` if `program` is no server known here.
pub(super) fn open_log(pid: u32, program: &str) -> Option<Result<ErrorLog, MissingPart>> {
    let (marks, is_log_name) = marks_of(program)?;
    let missing =
        |why: String, mend: &str| MissingPart { what: format!("the error log: {why}"), mend: mend.to_owned() };
    let found = find_log(pid, is_log_name);
    Some(match found {
        Ok(Some(path)) => ErrorLog::open(path.clone(), marks).map_err(|error| {
            missing(format!("{}: {}", host::error::shown(&path), host::error::system_words(&error)), "")
        }),
        Ok(None) => Err(missing(format!("process {pid} has no file open that is one"), "")),
        Err(error) => Err(missing(
            format!("the open files of process {pid}: {}", host::error::system_words(&error)),
            "run as root or as the user of the server",
        )),
    })
}

/// Whether a file of this name may be a log.
type IsLogName = fn(&str) -> bool;

/// How `program` marks severities, and which names its log may have.
fn marks_of(program: &str) -> Option<(Marks, IsLogName)> {
    match program {
        "mariadbd" | "mysqld" => Some((MYSQL_MARKS, |name| name.ends_with(".err") || name.contains("error"))),
        "postgres" | "postmaster" => Some((POSTGRES_MARKS, |name| name.ends_with(".log"))),
        _ => None,
    }
}

/// The way to the log of process `pid`, or of one that it started.
fn find_log(pid: u32, is_log_name: IsLogName) -> io::Result<Option<PathBuf>> {
    let own = appended_files(pid)?;
    let standard = [STDERR, STDOUT].into_iter().find_map(|fd| own.iter().find(|file| file.fd == fd));
    let is_named = |file: &&AppendedFile| file.path.file_name().and_then(|name| name.to_str()).is_some_and(is_log_name);
    let found = standard.or_else(|| own.iter().find(is_named)).map(|file| file.path.clone());
    // PostgreSQL's collector is a process of its own, whose standard error is where the server began to write.
    let of_children = || children_of(pid).into_iter().filter_map(|child| appended_files(child).ok()).flatten();
    Ok(found.or_else(|| of_children().find(|file| file.fd > STDERR && is_named(&file)).map(|file| file.path)))
}

/// A regular file that a process has open for appending.
struct AppendedFile {
    fd: u32,
    /// As this process reaches it.
    path: PathBuf,
}

fn appended_files(pid: u32) -> io::Result<Vec<AppendedFile>> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let numbers = fs::read_dir(process.join("fd"))?.flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<AppendedFile> = numbers.filter_map(|fd| appended_file(&process, fd)).collect();
    found.sort_by_key(|file| file.fd);
    Ok(found)
}

fn appended_file(process: &Path, fd: u32) -> Option<AppendedFile> {
    let link = process.join("fd").join(fd.to_string());
    let open = fs::metadata(&link).ok().filter(fs::Metadata::is_file)?;
    let info = fs::read_to_string(process.join("fdinfo").join(fd.to_string())).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let appends = u32::from_str_radix(flags.trim(), 8).ok()? & APPENDS != 0;
    let named = fs::read_link(&link).ok().filter(|_| appends)?;
    // A process in a container has other names for its files.
    let inside = process.join("root").join(named.strip_prefix("/").ok()?);
    let is_open =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino()));
    let path = [named, inside].into_iter().find(is_open)?;
    Some(AppendedFile { fd, path })
}

/// The processes that `pid` started and that run.
fn children_of(pid: u32) -> Vec<u32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let started = all.filter_map(|process| process.stat().ok()).filter(|stat| stat.ppid as u32 == pid);
    started.map(|stat| stat.pid as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};

    /// A program that waits, with what its standard error is.
    struct Waiting(Child);

    impl Waiting {
        fn start(stderr: impl Into<Stdio>) -> Waiting {
            Waiting(
                Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(stderr).spawn().expect("cat"),
            )
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_a_process_appends_to_its_standard_error_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("messages");
        std::fs::write(&path, "0 [ERROR] of before\n").unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let process = Waiting::start(file.try_clone().unwrap());
        let mut log = ProcessLog::of_process(process.0.id(), "mariadbd");
        file.write_all(b"0 [ERROR] it broke\n0 [Warning] it may break\n").unwrap();
        let reading = log.read();
        assert_eq!((reading.values, reading.done), (vec![vec![Some(1.0), Some(1.0), Some(0.0)]], Some(Vec::new())));
        let seen = log.observation().log.expect("it is read");
        assert_eq!((seen.file.as_str(), seen.errors), (path.to_str().unwrap(), 1));
        assert_eq!(log.sources().len(), 1);
    }

    #[test]
    fn a_log_that_is_no_file_and_the_files_of_other_programs_are_not_followed() {
        let process = Waiting::start(Stdio::piped());
        let log = ProcessLog::of_process(process.0.id(), "postgres");
        let missing = log.observation().missing;
        assert!(missing[0].what.ends_with("has no file open that is one") && log.sources().is_empty(), "{missing:?}");
        let dir = tempfile::tempdir().unwrap();
        let written = File::create(dir.path().join("x.err")).unwrap();
        let process = Waiting::start(written);
        let log = ProcessLog::of_process(process.0.id(), "mariadbd");
        assert!(log.sources().is_empty(), "it is not open for appending");
        assert!(ProcessLog::of_process(process.0.id(), "cat").observation().missing.is_empty());
        assert!(!ProcessLog::of_process(u32::MAX, "mariadbd").observation().missing.is_empty(), "there is none");
    }
}
