//! `cargo xtask soak storm`: an hour of OLTP and an hour of inserts, at the same time, with faults at random moments.
//!
//! In: the release binary, the servers that are installed. Out: a table with a line for each load: how many runs there were, which faults they met,
//! and how much a kill lost. The first thing that is wrong ends the soak, and its files stay. Every run meets some faults that it must survive and is
//! then ended by force. What [`super::forced_run`] checks must be true afterwards; and the file must have the stops of plimsoll, and a response
//! time for each stop of the server. Limits: the seed fixes faults and moments, the machine's timing it does not.

use super::forced_run::{ForcedEnd, ForcedRun, freeze, servers_below};
use super::hosts::lab::send;
use super::hosts::run_file::{events, is_being_measured, response_max};
use super::leftovers::{children_of, process_name};
use crate::bench::server::find_program;
use anyhow::{Context, Result, ensure};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
/// A load begins within this, also if the server is installed before.
const BEGIN_MAX: Duration = Duration::from_secs(60);
/// Before a run ends all is calm for so long: what the last fault did is then in the file.
const CALM: Duration = Duration::from_secs(4);
/// An operation waits for so much of a stop at least: it falls due soon after its beginning, and a busy machine makes the stop itself late.
const WAITED_SHARE_MIN: f64 = 0.75;
/// A shorter stop of plimsoll may not be distinguished from a busy machine.
const OWN_STOP_MIN: Duration = Duration::from_millis(500);

/// The options of `cargo xtask soak storm`.
#[derive(clap::Args)]
pub struct StormArguments {
    /// How long each load is measured.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// Which faults, and when. Without it they follow from the time.
    #[arg(long)]
    seed: Option<u64>,
    /// Use this binary of plimsoll, and build none.
    #[arg(long)]
    pub binary: Option<PathBuf>,
}

/// A load, and the engines that have it in turns.
struct StormLoad {
    name: &'static str,
    arguments: &'static [&'static str],
    engines: &'static [(&'static str, Option<&'static str>)],
}

const MARIADB: Option<&str> = Some("mariadbd");
const LOADS: [StormLoad; 2] = [
    StormLoad {
        name: "oltp",
        arguments: &[
            "oltp",
            "--mix",
            "read_write",
            "--table-rows",
            "2000",
            "--clients",
            "4",
            "--rate",
            "100",
            "--on-error",
            "count",
        ],
        engines: &[
            ("mariadb:innodb", MARIADB),
            ("postgres", Some("postgres")),
            ("mariadb:rocksdb", MARIADB),
            ("sqlite", None),
        ],
    },
    StormLoad {
        name: "insert",
        arguments: &[
            "insert",
            "--step",
            "l.i1",
            "--rows",
            "0",
            "--rows-per-commit",
            "10",
            "--rate",
            "100",
            "--on-error",
            "count",
        ],
        engines: &[
            ("postgres", Some("postgres")),
            ("fjall", None),
            ("mariadb:innodb", MARIADB),
            ("sqlite", None),
            ("mariadb:rocksdb", MARIADB),
        ],
    },
];

/// What a run must survive.
#[derive(Clone, Copy, Debug)]
enum StormFault {
    /// The server stops for a time and goes on.
    ServerStop(Duration),
    /// Plimsoll stops for a time and goes on.
    OwnStop(Duration),
    /// The server ends the connection of a client.
    SessionEnd,
}

/// What the runs of a load have shown.
#[derive(Default)]
struct StormSums {
    runs: u32,
    kills: u32,
    server_stops: u32,
    own_stops: u32,
    session_ends: u32,
    lost_max: f64,
}

/// What one run met.
#[derive(Default)]
struct MetFaults {
    server_stops: Vec<Duration>,
    own_stops: Vec<Duration>,
    session_ends: u32,
}

/// Runs both loads for some minutes.
pub fn run(binary: &Path, work: &Path, arguments: &StormArguments) -> Result<()> {
    let seed = arguments.seed.unwrap_or_else(super::seed_of_now);
    println!("soak: seed {seed}");
    let time = Duration::from_secs(60 * u64::from(arguments.minutes));
    let is_over = AtomicBool::new(false);
    let outcomes: Vec<Result<StormSums>> = std::thread::scope(|scope| {
        let storms: Vec<_> = (seed..)
            .zip(&LOADS)
            .map(|(seed, load)| Storm {
                binary,
                work: work.join(load.name),
                load,
                random: Xoshiro256PlusPlus::seed_from_u64(seed),
                is_over: &is_over,
            })
            .collect();
        let threads: Vec<_> = storms.into_iter().map(|storm| scope.spawn(|| storm.make_runs(time))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a check fails with an error")).collect()
    });
    println!(
        "{:<8} {:>6} {:>6} {:>13} {:>10} {:>13} {:>15}",
        "load", "runs", "kills", "server stops", "own stops", "session ends", "intervals lost"
    );
    for (load, outcome) in LOADS.iter().zip(outcomes) {
        println!("{}", outcome.with_context(|| load.name)?.line(load.name));
    }
    println!("every run file opened, has every stop, and nothing was left");
    Ok(())
}

/// The runs of one load, one after the other.
struct Storm<'a> {
    binary: &'a Path,
    work: PathBuf,
    load: &'a StormLoad,
    random: Xoshiro256PlusPlus,
    /// Set if a check has failed: the other load need not go on.
    is_over: &'a AtomicBool,
}

impl Storm<'_> {
    fn make_runs(mut self, time: Duration) -> Result<StormSums> {
        fs::create_dir_all(&self.work)?;
        let begun = Instant::now();
        let mut sums = StormSums::default();
        let engines: Vec<&str> =
            self.load.engines.iter().filter(|(_, program)| is_there(*program)).map(|(name, _)| *name).collect();
        for engine in engines.into_iter().cycle() {
            if begun.elapsed() >= time || self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let nth = sums.runs;
            let outcome = self.make_run(engine, &mut sums);
            self.is_over.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcome.with_context(|| format!("run {nth}, {engine}"))?;
        }
        Ok(sums)
    }

    fn make_run(&mut self, engine: &str, sums: &mut StormSums) -> Result<()> {
        let (binary, work) = (self.binary, self.work.clone());
        let run = ForcedRun { binary, work: &work, name: format!("storm-{}", sums.runs), interval: INTERVAL };
        let arguments = self.load.arguments.iter().chain(&["--time", "10m", "--engine"]).chain([&engine]);
        let mut child = run.start(arguments)?;
        wait_for_load(&run, &mut child)?;
        let met = self.make_faults(&mut child)?;
        std::thread::sleep(CALM); // the run goes on
        let how = self.how_it_ends();
        let lost = run.end(child, how)?;
        met.check(&run.file().context("there is no run file")?)?;
        run.clear()?;
        sums.add(&met, how, lost);
        Ok(())
    }

    fn make_faults(&mut self, child: &mut Child) -> Result<MetFaults> {
        let mut met = MetFaults::default();
        for _ in 0..self.random.random_range(3..=8) {
            std::thread::sleep(self.time_between(200, 4_000)); // the load runs
            ensure!(child.try_wait()?.is_none(), "the run ended by itself");
            let fault = self.next_fault();
            met.make(fault, child.id())?;
        }
        Ok(met)
    }

    fn next_fault(&mut self) -> StormFault {
        let time = self.time_between(100, 2_500);
        match self.random.next_u32() % 3 {
            0 => StormFault::ServerStop(time),
            1 => StormFault::OwnStop(time),
            _ => StormFault::SessionEnd,
        }
    }

    fn how_it_ends(&mut self) -> ForcedEnd {
        match self.random.next_u32() % 6 {
            0 => ForcedEnd::ServerKill,
            1 => ForcedEnd::Interrupt,
            2 => ForcedEnd::Freeze,
            _ => ForcedEnd::Kill,
        }
    }

    fn time_between(&mut self, least_ms: u64, most_ms: u64) -> Duration {
        Duration::from_millis(self.random.random_range(least_ms..=most_ms))
    }
}

impl MetFaults {
    /// Makes `fault` if the engine can have it: an embedded one has no server and no sessions, and a session of MariaDB is a thread.
    fn make(&mut self, fault: StormFault, program: u32) -> Result<()> {
        let servers = servers_below(program);
        match (fault, servers.first()) {
            (StormFault::OwnStop(time), _) => {
                freeze(program, time)?;
                self.own_stops.push(time);
            }
            (StormFault::ServerStop(time), Some(server)) => {
                stop_whole_server(*server, time)?;
                self.server_stops.push(time);
            }
            (StormFault::SessionEnd, Some(server)) => {
                // The newest: the oldest is plimsoll's own, for its questions.
                if let Some(session) = sessions_of(*server).last() {
                    send(*session, Signal::TERM)?;
                    self.session_ends += 1;
                }
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// The file has each stop of plimsoll that is long enough, and an operation that waited as long as the server stopped.
    fn check(&self, file: &Path) -> Result<()> {
        let due = self.own_stops.iter().filter(|time| **time >= OWN_STOP_MIN).count() as i64;
        let found = events(file, 1, "own_stop")?;
        ensure!(found >= due, "{found} of {due} stops of plimsoll are in `{}`", file.display());
        let (longest, waited) = (self.server_stops.iter().max().copied().unwrap_or_default(), response_max(file, 1)?);
        ensure!(
            waited >= longest.mul_f64(WAITED_SHARE_MIN),
            "the server stopped for {longest:?}, and no response in `{}` took longer than {waited:?}",
            file.display()
        );
        Ok(())
    }
}

impl StormSums {
    fn add(&mut self, met: &MetFaults, how: ForcedEnd, lost: Option<f64>) {
        self.runs += 1;
        self.kills += u32::from(how == ForcedEnd::Kill);
        self.server_stops += met.server_stops.len() as u32;
        self.own_stops += met.own_stops.len() as u32;
        self.session_ends += met.session_ends;
        self.lost_max = self.lost_max.max(lost.unwrap_or(0.0));
    }

    fn line(&self, name: &str) -> String {
        let StormSums { runs, kills, server_stops, own_stops, session_ends, lost_max } = self;
        format!("{name:<8} {runs:>6} {kills:>6} {server_stops:>13} {own_stops:>10} {session_ends:>13} {lost_max:>15.2}")
    }
}

fn is_there(program: Option<&str>) -> bool {
    program.is_none_or(|program| find_program(program).is_ok())
}

fn wait_for_load(run: &ForcedRun, child: &mut Child) -> Result<()> {
    let begun = Instant::now();
    while !run.file().is_some_and(|file| is_being_measured(&file, 1)) {
        ensure!(child.try_wait()?.is_none(), "the run ended before its load began: {}", run.errors());
        ensure!(begun.elapsed() < BEGIN_MAX, "the load did not begin within {} s", BEGIN_MAX.as_secs());
        std::thread::sleep(Duration::from_millis(50)); // until another process has begun
    }
    Ok(())
}

/// A server of several processes stands still only if all of them do.
fn stop_whole_server(server: u32, time: Duration) -> Result<()> {
    let parts = children_of(server);
    // One that has ended meanwhile needs no signal.
    parts.iter().for_each(|part| drop(send(*part, Signal::STOP)));
    let stopped = freeze(server, time);
    parts.iter().for_each(|part| drop(send(*part, Signal::CONT)));
    stopped
}

/// The processes of PostgreSQL that serve a client each: their command lines name where the client is.
fn sessions_of(server: u32) -> Vec<u32> {
    let serves =
        |id: &u32| fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("[local]"));
    children_of(server).into_iter().filter(|id| process_name(*id) == "postgres").filter(serves).collect()
}
