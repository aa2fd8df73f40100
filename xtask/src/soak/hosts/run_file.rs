//! What run files of several hosts have, and whether those of agents and coordinator agree.
//!
//! In: run files, also one that is being recorded. Out: rows by phase, interval and kind; the first difference. Limits: it reads the tables by SQL and
//! shares no code with plimsoll's own reader, so that both cannot be wrong in the same way.

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A killed agent has recorded so many intervals at most that it had not sent yet.
const UNSENT_MAX: i64 = 3;

/// Sums of the rows of one host, by phase, interval and kind: rows, operations done and failed, bytes; the same of the histograms.
type HostRowSums = BTreeMap<(String, i64, i64), Vec<i64>>;

/// A point of a run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePoint {
    pub id: i64,
    pub state: String,
}

/// The run files in a directory, the oldest first.
pub fn run_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "plimsoll")).collect();
    // The number of the second file of a run is behind its name.
    files.sort_by_key(|path| (path.metadata().and_then(|meta| meta.created()).ok(), path.clone()));
    files
}

fn open(file: &Path) -> Result<Connection> {
    let opened = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    opened.with_context(|| format!("cannot open `{}`", file.display()))
}

/// Whether `point` has some intervals of its run phase by now. A file that is just being made has none.
pub fn is_being_measured(file: &Path, point: u32) -> bool {
    let sql = "SELECT count(DISTINCT interval) FROM interval WHERE point = ?1 AND phase = 'run'";
    open(file).is_ok_and(|db| db.query_row(sql, [point], |row| row.get::<_, i64>(0)).is_ok_and(|found| found > 3))
}

/// The points of a run file.
pub fn points(file: &Path) -> Result<Vec<FilePoint>> {
    let db = open(file)?;
    let mut found = db.prepare("SELECT id, state FROM point ORDER BY id")?;
    let rows = found.query_map([], |row| Ok(FilePoint { id: row.get(0)?, state: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many events of `kind` a point has.
pub fn events(file: &Path, point: i64, kind: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM event WHERE point = ?1 AND kind = ?2";
    Ok(open(file)?.query_row(sql, (point, kind), |row| row.get(0))?)
}

/// The longest response time of a point. Zero if no operation has ended.
pub fn response_max(file: &Path, point: i64) -> Result<Duration> {
    let sql = "SELECT coalesce(max(max_ns), 0) FROM histogram WHERE point = ?1 AND phase = 'run' AND what IN ('response', 'both')";
    let ns: i64 = open(file)?.query_row(sql, [point], |row| row.get(0))?;
    Ok(Duration::from_nanos(ns.unsigned_abs()))
}

/// How exactly the hosts of a run began.
#[derive(Clone, Copy, Debug)]
pub struct StartFigures {
    /// How far from the planned moment a host began at most, by its own clock.
    pub skew_ms: f64,
    /// How far the clock of a host is off at most.
    pub bound_ms: f64,
}

/// The worst of all hosts.
pub fn start_figures(file: &Path) -> Result<StartFigures> {
    let sql = "SELECT max(abs(start_skew_ns)) / 1e6, max(clock_bound_ns) / 1e6 FROM host";
    let found = open(file)?.query_row(sql, [], |row| Ok(StartFigures { skew_ms: row.get(0)?, bound_ms: row.get(1)? }));
    found.context("the hosts have no clocks")
}

/// The rows of the host `name` in a point of the coordinator's file.
fn rows_of_host(file: &Path, point: i64, name: &str) -> Result<HostRowSums> {
    let number = "SELECT host FROM host WHERE point = ?1 AND name = ?2";
    let db = open(file)?;
    let host: i64 =
        db.query_row(number, (point, name), |row| row.get(0)).with_context(|| format!("there is no host `{name}`"))?;
    rows(&db, point, host)
}

fn rows(db: &Connection, point: i64, host: i64) -> Result<HostRowSums> {
    let done = "SELECT phase, interval, coalesce(kind, -1), count(*), sum(ok), sum(failed), sum(bytes) FROM interval \
                WHERE point = ?1 AND host = ?2 GROUP BY 1, 2, 3";
    let times = "SELECT phase, interval, kind, count(*), sum(count), sum(sum_ns), max(max_ns) FROM histogram \
                 WHERE point = ?1 AND host = ?2 GROUP BY 1, 2, 3";
    let mut sums = HostRowSums::new();
    for sql in [done, times] {
        let mut found = db.prepare(sql)?;
        let mut found = found.query([point, host])?;
        while let Some(row) = found.next()? {
            let key = (row.get(0)?, row.get(1)?, row.get(2)?);
            let values: Vec<i64> = (3..7).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            sums.entry(key).or_default().extend(values);
        }
    }
    Ok(sums)
}

fn readings(db: &Connection, point: i64, host: i64) -> Result<i64> {
    let sql = "SELECT count(*) FROM counter JOIN source USING (point, source) WHERE point = ?1 AND host = ?2";
    Ok(db.query_row(sql, [point, host], |row| row.get(0))?)
}

/// Checks that the coordinator has all rows of an agent, once each. Returns how many intervals were compared.
///
/// # Errors
/// With the first difference.
pub fn compare_whole(coordinator: (&Path, i64), agent: (&Path, i64), name: &str) -> Result<usize> {
    let recorded = rows_of_host(coordinator.0, coordinator.1, name)?;
    let db = open(agent.0)?;
    let own = rows(&db, agent.1, 0)?;
    first_difference(&recorded, &own, name)?;
    ensure!(recorded.len() == own.len(), "{name}: {} intervals of {} are recorded", recorded.len(), own.len());
    let theirs = open(coordinator.0)?;
    let host: i64 =
        theirs.query_row("SELECT host FROM host WHERE point = ?1 AND name = ?2", (coordinator.1, name), |row| {
            row.get(0)
        })?;
    let (there, here) = (readings(&theirs, coordinator.1, host)?, readings(&db, agent.1, 0)?);
    ensure!(there == here, "{name}: {there} of {here} readings of counters are recorded");
    Ok(own.len())
}

/// Checks that a coordinator that was killed has nothing that the agent, which went on, has not. The last interval may be there in part.
pub fn compare_part(coordinator: (&Path, i64), agent: (&Path, i64), name: &str) -> Result<usize> {
    let mut recorded = rows_of_host(coordinator.0, coordinator.1, name)?;
    let own = rows(&open(agent.0)?, agent.1, 0)?;
    let last = recorded.keys().map(|(phase, interval, _)| (phase.clone(), *interval)).max();
    recorded.retain(|(phase, interval, _), _| last.as_ref() != Some(&(phase.clone(), *interval)));
    first_difference(&recorded, &own, name)?;
    Ok(recorded.len())
}

/// Checks that what the coordinator has of an agent that was killed is what that one had recorded, except for the last intervals.
pub fn compare_delivered(coordinator: (&Path, i64), agent: (&Path, i64), name: &str) -> Result<usize> {
    let recorded = rows_of_host(coordinator.0, coordinator.1, name)?;
    let own = rows(&open(agent.0)?, agent.1, 0)?;
    let last = own.keys().filter(|(phase, ..)| phase == "run").map(|(_, interval, _)| *interval).max().unwrap_or(-1);
    let is_sent = |key: &(String, i64, i64)| key.0 != "run" || key.1 <= last - UNSENT_MAX;
    let sent = |sums: HostRowSums| sums.into_iter().filter(|(key, _)| is_sent(key)).collect::<HostRowSums>();
    let newer = recorded.keys().find(|key| key.0 == "run" && key.1 > last);
    ensure!(newer.is_none(), "{name}: {newer:?} is in the run and not in the file of the agent");
    let (recorded, own) = (sent(recorded), sent(own));
    first_difference(&recorded, &own, name)?;
    ensure!(recorded.len() == own.len(), "{name}: {} intervals of {} are recorded", recorded.len(), own.len());
    Ok(recorded.len())
}

/// `Err` if `recorded` has an interval that differs from that of `own`, or one that `own` has not.
fn first_difference(recorded: &HostRowSums, own: &HostRowSums, name: &str) -> Result<()> {
    for (key, sums) in recorded {
        let theirs = own.get(key);
        ensure!(
            theirs == Some(sums),
            "{name}: {key:?} has {sums:?} in the run and {theirs:?} in the file of the agent"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rows: &[(i64, i64)]) -> HostRowSums {
        rows.iter().map(|(interval, ok)| (("run".to_owned(), *interval, 0), vec![1, *ok])).collect()
    }

    #[test]
    fn a_row_that_differs_or_that_the_agent_does_not_have_is_found() {
        let own = sums(&[(0, 10), (1, 11)]);
        assert!(first_difference(&sums(&[(0, 10)]), &own, "c1").is_ok());
        assert!(first_difference(&sums(&[(0, 20)]), &own, "c1").is_err());
        assert!(first_difference(&sums(&[(2, 10)]), &own, "c1").is_err());
    }
}
