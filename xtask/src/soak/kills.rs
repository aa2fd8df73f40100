//! `cargo xtask soak`: real runs that end by force at random moments, far more often than the tests have time for.
//!
//! In: the release binary, the servers that are installed; as root volumes of three file systems. Out: a table with a line for each kind of run: how
//! often it was ended in which way, and how much of its last intervals was lost. It is checked that each run file opens, that a point is marked
//! rightly, and that no process, file or mount is left. The first failure ends the soak, and its files stay. Limits: the moments and the ways come
//! from the number of the round, the machine's timing does not.

use super::forced_run::{ForcedEnd, ForcedRun};
use crate::bench::server::find_program;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(100);
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
        name: "oltp innodb with limits",
        program: Some("mariadbd"),
        has_volume: true,
        target: &[
            "--engine",
            "mariadb:innodb",
            "--fs",
            "ext4",
            "--memory-limit",
            "1GiB",
            "--storage-limit",
            "iops=5000",
            "--cpu-limit",
            "0.9",
        ],
        ..SERVER
    },
    KillCase {
        name: "oltp innodb on xfs",
        program: Some("mariadbd"),
        has_volume: true,
        target: &["--engine", "mariadb:innodb", "--fs", "xfs"],
        ..SERVER
    },
];

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
    let cases: Vec<&KillCase> =
        CASES.iter().filter(|case| only.is_empty() || only.iter().any(|name| name == case.name)).collect();
    let (possible, impossible): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_possible());
    impossible.iter().for_each(|case| println!("{:<24} left out: it needs root or a server", case.name));
    ensure!(!possible.is_empty(), "none of these runs can be made here");
    let mut sums: Vec<KillSums> = possible.iter().map(|_| KillSums::default()).collect();
    let mut nth = 0;
    while sums.iter().map(|sum| sum.kills).sum::<u32>() < kills {
        let which = nth as usize % possible.len();
        let run = ForcedRun { binary, work, name: format!("kill-{nth}"), interval: INTERVAL };
        let round = KillRound { run, case: possible[which], nth, turn: nth / possible.len() as u32 };
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
    fn is_possible(&self) -> bool {
        let may_mount = !self.has_volume || rustix::process::geteuid().is_root();
        may_mount && self.program.is_none_or(|program| find_program(program).is_ok())
    }
}

impl KillSums {
    fn add(&mut self, how: ForcedEnd, lost: Option<f64>, took: Duration) {
        match how {
            ForcedEnd::Kill => self.kills += 1,
            _ => self.harms += 1,
        }
        self.in_load += u32::from(lost.is_some());
        self.lost_max = self.lost_max.max(lost.unwrap_or(0.0));
        self.seconds += took.as_secs_f64();
    }

    fn line(&self, name: &str) -> String {
        let KillSums { kills, in_load, harms, lost_max, seconds } = self;
        format!("{name:<24} {kills:>6} {in_load:>8} {harms:>11} {lost_max:>15.2} {seconds:>8.0}")
    }
}

/// One run that is ended by force.
struct KillRound<'a> {
    run: ForcedRun<'a>,
    case: &'a KillCase,
    nth: u32,
    /// How often the case has had its turn.
    turn: u32,
}

impl KillRound<'_> {
    fn make(&self, sums: &mut KillSums) -> Result<()> {
        let started = Instant::now();
        let arguments = self.case.load.iter().chain(self.case.target).chain(&["--time", "60s"]);
        let child = self.run.start(arguments)?;
        std::thread::sleep(self.moment()); // the real time of another process
        let how = self.how_it_ends();
        let lost = self.run.end(child, how)?;
        self.run.clear()?;
        sums.add(how, lost, started.elapsed());
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
}
