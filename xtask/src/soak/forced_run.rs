//! A real run that ends by force, and what must be true afterwards.
//!
//! In: a binary of plimsoll, a directory that is empty. Out: the intervals that a kill lost; an error if the run file does not open, if the
//! point is not marked rightly, if too much is lost, or if a process, a file or a mount is left. Limits: a server is found among the
//! children of plimsoll by its name; files that a failed check leaves stay for you to look at.

use super::hosts::lab::send;
use super::hosts::run_file::run_files;
use super::leftovers::{self, children_of, process_name};
use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval that runs is lost, and the one that has just ended if its rows were not written yet.
const LOST_MAX: f64 = 2.0;
/// A busy machine and a busy disk make the thread that writes rows late by so much at most: with intervals of a second one is lost.
const WRITER_DELAY_MAX: Duration = Duration::from_millis(500);
/// A run that was not killed ends within this.
const END_MAX: Duration = Duration::from_secs(60);

/// How a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForcedEnd {
    Kill,
    /// The server is killed; a run without one is interrupted.
    ServerKill,
    /// SIGINT.
    Interrupt,
    /// The server stops for a second and goes on, and the run is then interrupted.
    Freeze,
}

/// A run that will be ended by force.
pub struct ForcedRun<'a> {
    /// The binary of plimsoll.
    pub binary: &'a Path,
    /// Where it works; nothing else does.
    pub work: &'a Path,
    /// How the names of its files begin.
    pub name: String,
    /// The length of its intervals.
    pub interval: Duration,
}

impl ForcedRun<'_> {
    /// Starts plimsoll with `arguments`, and with what all these runs have.
    pub fn start<'s>(&self, arguments: impl IntoIterator<Item = &'s &'s str>) -> Result<Child> {
        let mut command = Command::new(self.binary);
        command.args(arguments).args(["--quiet", "--no-report", "--interval"]);
        command.arg(format!("{}ms", self.interval.as_millis()));
        command.arg("--dir").arg(self.work).arg("--runs").arg(self.runs());
        let errors = fs::File::create(self.path("err"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command.spawn().with_context(|| format!("cannot start `{}`", self.binary.display()))
    }

    /// Ends the run, checks its file and that nothing is left. Returns how many intervals were lost if it was killed while its load ran.
    pub fn end(&self, mut run: Child, how: ForcedEnd) -> Result<Option<f64>> {
        let (program, ended_at) = (run.id(), unix_ms());
        force_end(program, how)?;
        let ended = wait_for(&mut run)?;
        let lost = match how {
            ForcedEnd::Kill => self.check_killed(ended_at)?,
            _ => self.check_ended(how, ended)?,
        };
        self.sweep()?;
        self.check_nothing_left(program)?;
        Ok(lost)
    }

    /// Removes the run's files. A run that was killed at its very start has made none.
    pub fn clear(&self) -> Result<()> {
        match fs::remove_dir_all(self.runs()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Its run file, if it has one.
    pub fn file(&self) -> Option<PathBuf> {
        run_files(&self.runs()).pop()
    }

    /// What it wrote to stderr.
    pub fn errors(&self) -> String {
        fs::read_to_string(self.path("err")).unwrap_or_default()
    }

    fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    fn path(&self, what: &str) -> PathBuf {
        self.work.join(format!("{}-{what}", self.name))
    }

    /// The file opens and has all intervals up to the kill but the last.
    fn check_killed(&self, killed_at_ms: f64) -> Result<Option<f64>> {
        let Some(file) = self.file() else { return Ok(None) };
        let Some(recorded) = self.read(&file)? else { return Ok(None) };
        let Some(until_ms) = recorded.load_until_ms else { return Ok(None) };
        ensure!(recorded.state == "partial", "a killed point is {}", recorded.state);
        let lost_ms = killed_at_ms - until_ms;
        let interval_ms = self.interval.as_secs_f64() * 1e3;
        let lost_max_ms = LOST_MAX * interval_ms + WRITER_DELAY_MAX.as_secs_f64() * 1e3;
        ensure!(lost_ms < lost_max_ms, "{:.2} intervals are lost in `{}`", lost_ms / interval_ms, file.display());
        Ok(Some(lost_ms / interval_ms))
    }

    /// The exit code is that of the table in docs/reference/exit-codes.md, and the file opens.
    fn check_ended(&self, how: ForcedEnd, ended: ExitStatus) -> Result<Option<f64>> {
        let is_expected = match ended.code() {
            Some(130) => true,
            Some(4) => how != ForcedEnd::Interrupt,
            // Before the program listens to signals, the system ends it.
            None => ended.signal() == Some(Signal::INT.as_raw()),
            Some(_) => false,
        };
        ensure!(is_expected, "{how:?}: it ended with {ended}: {}", self.errors());
        if let Some(file) = self.file() {
            self.read(&file)?;
        }
        Ok(None)
    }

    /// Plimsoll reads the file first, as the kill left it. `None` if the run had no point yet.
    fn read(&self, file: &Path) -> Result<Option<RecordedEnd>> {
        let Output { status, stderr, .. } = Command::new(self.binary).arg("show").arg(file).output()?;
        let recorded = recorded_end(file)?;
        let opens = status.success() || recorded.is_none();
        ensure!(opens, "`{}` does not open: {}", file.display(), String::from_utf8_lossy(&stderr));
        Ok(recorded)
    }

    /// The next run removes what the killed one left.
    fn sweep(&self) -> Result<()> {
        let next = self.path("next");
        leftovers::sweep(self.binary, self.work, self.work, &next)?;
        fs::remove_dir_all(next)?;
        Ok(())
    }

    fn check_nothing_left(&self, program: u32) -> Result<()> {
        fs::remove_file(self.path("err"))?;
        let left: Vec<String> =
            fs::read_dir(self.work)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        ensure!(left.iter().all(|name| name.ends_with("-runs")), "left behind: {left:?}");
        let processes = leftovers::processes_in(self.work).into_iter().map(|(id, name)| format!("{id} {name}"));
        let kinds = [
            ("processes", processes.collect()),
            ("mounts", leftovers::mounts_in(self.work)?),
            ("loop devices", leftovers::loop_devices_on(self.work)),
            ("control groups", leftovers::control_groups_of(program)),
            ("changed settings", leftovers::settings_of(program)),
        ];
        for (kind, left) in kinds {
            ensure!(left.is_empty(), "{kind} are left: {left:?}");
        }
        Ok(())
    }
}

fn force_end(program: u32, how: ForcedEnd) -> Result<()> {
    let servers = servers_below(program);
    match (how, servers.first()) {
        (ForcedEnd::Kill, _) => send(program, Signal::KILL),
        (ForcedEnd::ServerKill, Some(server)) => send(*server, Signal::KILL),
        (ForcedEnd::Freeze, Some(server)) => {
            freeze(*server, Duration::from_secs(1))?;
            send(program, Signal::INT)
        }
        _ => send(program, Signal::INT),
    }
}

/// Stops a process for `time`, which then goes on.
pub fn freeze(process: u32, time: Duration) -> Result<()> {
    send(process, Signal::STOP)?;
    std::thread::sleep(time); // the process is frozen for so long
    send(process, Signal::CONT)
}

fn unix_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3
}

fn wait_for(run: &mut std::process::Child) -> Result<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < END_MAX {
        if let Some(ended) = run.try_wait()? {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(10)); // until another process has ended
    }
    bail!("the run did not end within {} s; it is process {}", END_MAX.as_secs(), run.id())
}

/// The servers among the processes that `program` started.
pub fn servers_below(program: u32) -> Vec<u32> {
    children_of(program)
        .into_iter()
        .filter(|id| matches!(process_name(*id).as_str(), "mariadbd" | "postgres"))
        .collect()
}

/// Up to where a run is in its file.
struct RecordedEnd {
    state: String,
    /// The end of the last recorded interval of the load, as a moment of the clock; `None` if the load had not begun.
    load_until_ms: Option<f64>,
}

/// `None` if the file has no point yet: a run that is killed before its first commit leaves an empty file.
fn recorded_end(file: &Path) -> Result<Option<RecordedEnd>> {
    let sql = "SELECT state, (SELECT CAST(value AS REAL) FROM meta WHERE key = 'started_unix_ms') + \
               (SELECT max(start_ns + length_ns) / 1e6 FROM interval WHERE interval.point = point.id AND phase = 'run') \
               FROM point ORDER BY id DESC LIMIT 1";
    // Not read-only: what a killed writer left in the log is taken into the file.
    let db = Connection::open(file)?;
    let is_made: bool =
        db.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'point'", [], |row| row.get(0))?;
    if !is_made {
        return Ok(None);
    }
    let found = db.query_row(sql, [], |row| Ok(RecordedEnd { state: row.get(0)?, load_until_ms: row.get(1)? }));
    match found {
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        found => Ok(Some(found?)),
    }
}
