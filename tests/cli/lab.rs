//! A fresh directory with the binary in it, so to speak.

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Longer than anything takes that a test waits for, also where neighbours have most of the machine.
pub const WAITS_AT_MOST: Duration = Duration::from_secs(300);

/// A directory of its own, removed at the end.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// What a finished plimsoll left.
pub struct Finished {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    pub fn new() -> Lab {
        Lab { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// plimsoll with these arguments in this directory, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).output().unwrap().into()
    }

    /// A run that must succeed, and its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let finished = self.run(&[arguments, &["--json", "--quiet"]].concat());
        assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""), "{arguments:?}");
        finished.json()
    }

    /// A run as short as can be in which every point has operations and knows what they cost.
    pub fn short(&self, arguments: &[&str]) -> Value {
        self.short_with(arguments, |point| {
            point["ops"].as_u64() > Some(0) && point["cost"].as_object().unwrap().values().any(|cost| !cost.is_null())
        })
    }

    /// A run as short as can be in which every point `has_measured`. Where neighbours on the machine leave no time for that it is as
    /// plimsoll says: measure for longer.
    pub fn short_with(&self, arguments: &[&str], has_measured: impl Fn(&Value) -> bool) -> Value {
        for time in ["300ms", "3s", "30s"] {
            let run = self.json(&[arguments, &["--time", time, "--no-report"]].concat());
            if run["points"].as_array().unwrap().iter().all(&has_measured) {
                return run;
            }
        }
        panic!("in 30 s there was nothing to see of {arguments:?}");
    }

    /// What stands in the directory, run files and reports apart.
    pub fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "plimsoll-runs")
            .collect()
    }

    /// The run files, the oldest first.
    pub fn run_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path().join("plimsoll-runs")) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "plimsoll")).collect();
        files.sort();
        files
    }

    /// What the engine reported about itself at the last point of the oldest run, as JSON.
    pub fn facts(&self) -> String {
        let db = rusqlite::Connection::open(&self.run_files()[0]).unwrap();
        db.query_row("SELECT facts FROM point ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).unwrap()
    }

    /// How many intervals of a point's phase the newest run file holds, in its own words (`run`, `warmup`).
    pub fn intervals(&self, point: u32, phase: &str) -> u32 {
        let counted = |file: &PathBuf| -> rusqlite::Result<u32> {
            let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let sql = "SELECT count(DISTINCT interval) FROM interval WHERE point = ?1 AND phase = ?2";
            db.query_row(sql, (point, phase), |row| row.get(0))
        };
        // In the moment in which the file is made it holds nothing yet.
        self.run_files().last().and_then(|file| counted(file).ok()).unwrap_or(0)
    }

    /// Waits until the child has recorded more than so many intervals of its first point's run.
    pub fn wait_for_load(&self, child: &mut Child, more_than: u32) {
        wait_until("the load", || {
            assert_runs(child);
            self.intervals(1, "run") > more_than
        });
    }
}

/// Waits for what another process does.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + WAITS_AT_MOST;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come in {WAITS_AT_MOST:?}");
        // The real time of another process: there is nothing to fake. To look may take a process, too: more often it would be half of all work.
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether the process has ended. Not every parent takes up one that has: then its entry stays.
pub fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// The child must not have ended.
pub fn assert_runs(child: &mut Child) {
    if let Some(status) = child.try_wait().unwrap() {
        let mut said = String::new();
        child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
        panic!("it ended too early, by {status}: {said}");
    }
}

/// What `attempt` gives in the first of `most` attempts in which it sees what it should. For what neighbours on the machine can
/// hide and nobody can make up: each attempt is judged whole, and where all of them fail, so does the test, with every reason.
pub fn one_of<T>(most: usize, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut reasons = Vec::new();
    for _ in 0..most {
        match attempt() {
            Ok(seen) => return seen,
            Err(reason) => {
                eprintln!("not seen: {reason}");
                reasons.push(reason);
            }
        }
    }
    panic!("none of {most} attempts saw it:\n{}", reasons.join("\n"));
}

/// `Err` with the reason unless `is_so`.
pub fn is_so(is_so: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(reason()) }
}

/// Whether the numbers of `point` may be used. Others on the machine and the hypervisor can spoil a point of any test, and a spoilt
/// point is in no ratio and no verdict.
pub fn is_usable(point: &serde_json::Value) -> bool {
    point["validity"] != "invalid"
}

/// How many pairs of neighbours of `points` are usable: the pairs of two arms that were measured in turn.
pub fn usable_pairs(points: &[serde_json::Value]) -> usize {
    points.chunks(2).filter(|pair| pair.iter().all(is_usable)).count()
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("plimsoll prints UTF-8");
        let exit = output.status.code().expect("plimsoll ended by itself");
        Finished { exit, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Finished {
    /// The one JSON object on stdout.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one line of JSON and nothing else: {}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A short run on the scripted engine.
pub const NULL: &[&str] = &["file", "--engine", "null", "--service", "100us", "--interval", "50ms", "--no-report"];

/// The same with operations so slow that their clients mostly sleep: for runs of seconds, which others must not feel.
pub const CALM: &[&str] = &["file", "--engine", "null", "--service", "10ms", "--interval", "50ms", "--no-report"];

/// Run files for tests that only read them: they are recorded once, and each test has copies.
pub struct RecordedRuns(Vec<(PathBuf, Vec<u8>, SystemTime)>);

impl RecordedRuns {
    /// Those of `lab`.
    pub fn of(lab: &Lab) -> RecordedRuns {
        let read = |file: PathBuf| {
            let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
            (file.strip_prefix(lab.path()).unwrap().to_owned(), std::fs::read(&file).unwrap(), modified)
        };
        RecordedRuns(lab.run_files().into_iter().map(read).collect())
    }

    /// Puts them where plimsoll would have recorded them, as old as they are: lists go by that.
    pub fn copy_into(&self, lab: &Lab) {
        std::fs::create_dir(lab.path().join("plimsoll-runs")).unwrap();
        for (file, bytes, modified) in &self.0 {
            let mut copy = File::create(lab.path().join(file)).unwrap();
            copy.write_all(bytes).unwrap();
            copy.set_modified(*modified).unwrap();
        }
    }
}
