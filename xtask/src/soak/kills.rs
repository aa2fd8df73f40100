//! `cargo xtask soak`: real runs that end by force at random moments, far more often than the tests have time for.
//!
//! In: the release binary, the servers that are installed; as root volumes of three file systems. Out: a table with a line for each kind of run: how
//! often it was ended in which way, and how much of its last intervals was lost. It is checked that each run file opens, that a point is marked
//! rightly, and that no process, file or mount is left. The first failure ends the soak, and its files stay. Limits: the moments and the ways come
//! from the number of the round, the machine's timing does not.

use super::hosts::lab::send;
use super::hosts::run_file::run_files;
use super::leftovers::{self, process_name};
use crate::bench::server::find_program;
use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const INTERVAL_MS: f64 = 100.0;
/// The interval that runs is lost, and the one that has just ended if its rows were not written yet.
const LOST_MAX: f64 = 2.0;
/// A busy machine runs the thread that writes rows late by so much at most.
const WRITER_DELAY_MAX: f64 = 1.0;
/// A run that was not killed ends within this.
const END_MAX: Duration = Duration::from_secs(60);
/// Rounds of which all but one kill plimsoll.
const ROUNDS_A_HARM: u32 = 5;

/// Rounds between two lines of progress.
const PROGRESS_EVERY: u32 = 120;

/// A kind of run.
struct KillCase {
    name: &'static str,
    /// The program that must be installed.
    program: Option<&'static str>,
    /// It makes a volume, which only root may.
    has_volume: bool,
    /// The moments are spread over this time from the start: until well after the load has begun.
    within: Duration,
    load: &'static [&'static str],
    target: &'static [&'static str],
}

const INSERT: &[&str] = &["insert", "--step", "l.i1", "--rows", "0", "--rows-per-commit", "1"];
const OLTP: &[&str] = &["oltp", "--mix", "read_write", "--table-rows", "2000", "--clients", "2"];
const FILE: &[&str] = &["file", "--mode", "rndwr", "--file-size", "16MiB", "--io", "sync"];
const EMBEDDED: KillCase = KillCase {
    name: "",
    program: None,
    has_volume: false,
    within: Duration::from_millis(1_600),
    load: INSERT,
    target: &["--durability", "os"],
};
const SERVER: KillCase = KillCase { within: Duration::from_secs(8), load: OLTP, ..EMBEDDED };
const VOLUME: KillCase = KillCase { has_volume: true, within: Duration::from_secs(3), load: FILE, ..EMBEDDED };

const CASES: &[KillCase] = &[
    KillCase { name: "insert sqlite", target: &["--engine", "sqlite", "--durability", "os"], ..EMBEDDED },
    KillCase { name: "insert fjall", target: &["--engine", "fjall", "--durability", "os"], ..EMBEDDED },
    KillCase { name: "oltp sqlite", load: OLTP, target: &["--engine", "sqlite"], ..EMBEDDED },
    KillCase {
        name: "oltp mariadb:innodb",
        program: Some("mariadbd"),
        target: &["--engine", "mariadb:innodb"],
        ..SERVER
    },
    KillCase {
        name: "insert mariadb:innodb",
        program: Some("mariadbd"),
        load: INSERT,
        target: &["--engine", "mariadb:innodb"],
        ..SERVER
    },
    KillCase {
        name: "oltp mariadb:rocksdb",
        program: Some("mariadbd"),
        target: &["--engine", "mariadb:rocksdb"],
        ..SERVER
    },
    KillCase { name: "oltp postgres", program: Some("postgres"), target: &["--engine", "postgres"], ..SERVER },
    KillCase {
        name: "insert postgres",
        program: Some("postgres"),
        load: INSERT,
        target: &["--engine", "postgres"],
        ..SERVER
    },
    KillCase { name: "file on ext4", target: &["--fs", "ext4"], ..VOLUME },
    KillCase { name: "file on xfs", target: &["--fs", "xfs"], ..VOLUME },
    KillCase { name: "file on btrfs", target: &["--fs", "btrfs"], ..VOLUME },
    KillCase {
        name: "oltp innodb on xfs",
        program: Some("mariadbd"),
        has_volume: true,
        target: &["--engine", "mariadb:innodb", "--fs", "xfs"],
        ..SERVER
    },
];

/// How a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForcedEnd {
    /// Plimsoll is killed.
    Kill,
    /// The server is killed; a run without one is interrupted.
    ServerKill,
    /// SIGINT.
    Interrupt,
    /// The server stops for a second and goes on, and the run is then interrupted.
    Freeze,
}

/// What the rounds of a case have shown.
#[derive(Default)]
struct KillSums {
    kills: u32,
    /// Kills while a load ran.
    in_load: u32,
    /// Rounds that ended otherwise.
    harms: u32,
    /// The most intervals that a kill lost.
    lost_max: f64,
    seconds: f64,
}

/// Kills `kills` runs, in turn of each kind that this machine can make, and ends some more in other ways.
pub fn run(binary: &Path, work: &Path, kills: u32, only: &[String]) -> Result<()> {
    let cases: Vec<&KillCase> = CASES.iter().filter(|case| case.is_wanted(only)).collect();
    let (possible, impossible): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_possible());
    impossible.iter().for_each(|case| println!("{:<24} left out: it needs root or a server", case.name));
    ensure!(!possible.is_empty(), "none of these runs can be made here");
    let mut sums: Vec<KillSums> = possible.iter().map(|_| KillSums::default()).collect();
    let mut nth = 0;
    while sums.iter().map(|sum| sum.kills).sum::<u32>() < kills {
        let which = nth as usize % possible.len();
        let round = KillRound { binary, work, case: possible[which], nth, turn: nth / possible.len() as u32 };
        round.make(&mut sums[which]).with_context(|| format!("round {nth}, {}", possible[which].name))?;
        nth += 1;
        if nth.is_multiple_of(PROGRESS_EVERY) {
            println!("{nth} rounds; {} kills", sums.iter().map(|sum| sum.kills).sum::<u32>());
        }
    }
    println!(
        "{:<24} {:>6} {:>8} {:>11} {:>15} {:>8}",
        "run", "kills", "in load", "other ends", "intervals lost", "seconds"
    );
    possible.iter().zip(&sums).for_each(|(case, sum)| println!("{}", sum.line(case.name)));
    println!("every run file opened, and nothing was left");
    Ok(())
}

/// The names of the kinds of runs.
pub fn case_names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

impl KillCase {
    fn is_wanted(&self, only: &[String]) -> bool {
        only.is_empty() || only.iter().any(|name| name == self.name)
    }

    fn is_possible(&self) -> bool {
        let may_mount = !self.has_volume || rustix::process::geteuid().is_root();
        may_mount && self.program.is_none_or(|program| find_program(program).is_ok())
    }
}

impl KillSums {
    fn line(&self, name: &str) -> String {
        let KillSums { kills, in_load, harms, lost_max, seconds } = self;
        format!("{name:<24} {kills:>6} {in_load:>8} {harms:>11} {lost_max:>15.2} {seconds:>8.0}")
    }
}

/// One run that is ended by force.
struct KillRound<'a> {
    binary: &'a Path,
    work: &'a Path,
    case: &'a KillCase,
    nth: u32,
    /// How often the case has had its turn.
    turn: u32,
}

impl KillRound<'_> {
    fn make(&self, sums: &mut KillSums) -> Result<()> {
        let started = Instant::now();
        let mut run = self.start()?;
        std::thread::sleep(self.moment()); // the real time of another process
        let how = self.how_it_ends();
        let killed_at = unix_ms();
        self.force_end(run.id(), how)?;
        let ended = wait_for(&mut run)?;
        let said = fs::read_to_string(self.path("err")).unwrap_or_default();
        match how {
            ForcedEnd::Kill => self.check_killed(killed_at, sums)?,
            _ => self.check_ended(how, ended, &said, sums)?,
        }
        self.sweep()?;
        self.check_nothing_left()?;
        // A run that was killed at its very start has made none.
        drop(fs::remove_dir_all(self.runs()));
        sums.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// The ways follow each other for each case, and so do the moments.
    fn how_it_ends(&self) -> ForcedEnd {
        match (self.turn % ROUNDS_A_HARM, self.turn / ROUNDS_A_HARM % 3) {
            (1.., _) => ForcedEnd::Kill,
            (0, 0) => ForcedEnd::ServerKill,
            (0, 1) => ForcedEnd::Interrupt,
            _ => ForcedEnd::Freeze,
        }
    }

    /// From 50 ms on: before, in and well after the beginning of the load.
    fn moment(&self) -> Duration {
        // Fibonacci hashing (D. Knuth, "The Art of Computer Programming", volume 3, section 6.4): the moments of neighbouring numbers are
        // far apart, and the same in each soak.
        let random = u64::from(self.nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        Duration::from_millis(50 + random % self.case.within.as_millis() as u64)
    }

    fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    fn path(&self, what: &str) -> PathBuf {
        self.work.join(format!("kill-{}-{what}", self.nth))
    }

    fn start(&self) -> Result<std::process::Child> {
        let mut command = Command::new(self.binary);
        command.args(self.case.load).args(self.case.target);
        command.args(["--time", "60s", "--interval", "100ms", "--quiet", "--no-report"]);
        command.arg("--dir").arg(self.work).arg("--runs").arg(self.runs());
        let errors = fs::File::create(self.path("err"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command.spawn().with_context(|| format!("cannot start `{}`", self.binary.display()))
    }

    fn force_end(&self, program: u32, how: ForcedEnd) -> Result<()> {
        let servers = servers_below(program);
        match (how, servers.first()) {
            (ForcedEnd::Kill, _) => send(program, Signal::KILL),
            (ForcedEnd::ServerKill, Some(server)) => send(*server, Signal::KILL),
            (ForcedEnd::Freeze, Some(server)) => {
                send(*server, Signal::STOP)?;
                std::thread::sleep(Duration::from_secs(1)); // so long is the server frozen
                send(*server, Signal::CONT)?;
                send(program, Signal::INT)
            }
            _ => send(program, Signal::INT),
        }
    }

    /// The file opens and has all intervals up to the kill but the last.
    fn check_killed(&self, killed_at_ms: f64, sums: &mut KillSums) -> Result<()> {
        sums.kills += 1;
        let Some(file) = run_files(&self.runs()).pop() else { return Ok(()) };
        let Some(recorded) = self.read(&file)? else { return Ok(()) };
        let Some(until_ms) = recorded.load_until_ms else { return Ok(()) };
        ensure!(recorded.state == "partial", "a killed point is {}", recorded.state);
        let lost = (killed_at_ms - until_ms) / INTERVAL_MS;
        ensure!(lost < LOST_MAX + WRITER_DELAY_MAX, "{lost:.2} intervals are lost in `{}`", file.display());
        sums.in_load += 1;
        sums.lost_max = sums.lost_max.max(lost);
        Ok(())
    }

    /// The exit code is that of the table in docs/reference/exit-codes.md, and the file opens.
    fn check_ended(&self, how: ForcedEnd, ended: ExitStatus, said: &str, sums: &mut KillSums) -> Result<()> {
        sums.harms += 1;
        let is_expected = match ended.code() {
            Some(130) => true,
            Some(4) => how != ForcedEnd::Interrupt,
            // Before the program listens to signals, the system ends it.
            None => ended.signal() == Some(Signal::INT.as_raw()),
            Some(_) => false,
        };
        ensure!(is_expected, "{how:?}: it ended with {ended}: {said}");
        match run_files(&self.runs()).pop() {
            Some(file) => self.read(&file).map(drop),
            None => Ok(()),
        }
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

    fn check_nothing_left(&self) -> Result<()> {
        fs::remove_file(self.path("err"))?;
        let names = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let left: Vec<String> = fs::read_dir(self.work)?.flatten().map(names).collect();
        ensure!(left.iter().all(|name| name.ends_with("-runs")), "left behind: {left:?}");
        let processes = leftovers::processes_in(self.work);
        ensure!(processes.is_empty(), "processes are left: {processes:?}");
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let work = self.work.to_string_lossy();
        let mounted: Vec<&str> = mounts.lines().filter(|line| line.contains(work.as_ref())).collect();
        ensure!(mounted.is_empty(), "mounts are left: {mounted:?}");
        Ok(())
    }
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

/// The servers among the processes that the threads of `program` started.
fn servers_below(program: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{program}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all = children.collect::<Vec<_>>().join(" ");
    let ids = all.split_whitespace().filter_map(|id| id.parse().ok());
    ids.filter(|id| matches!(process_name(*id).as_str(), "mariadbd" | "postgres")).collect()
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
