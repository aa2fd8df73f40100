//! Files of strangers: run files, plans, results of other programs, recorded I/O, logs of servers and workload files, mutated at random and read.
//!
//! In: the golden runs, the built-in plans, the fixtures of imports and recordings; a seed and a time. Out: how many inputs were read, and each place that
//! panicked with its first input. Limits: the readers run in a process of their own, within [`MEMORY_MAX`] and [`CPU_MAX`] for each input,
//! so that a crash, a hang or a bomb is a failure like any other. It takes [`SECONDS_USUAL`]; `cargo xtask soak fuzz` takes longer.

mod dice;
mod readers;
mod runs;
mod texts;

use crate::lab::{Finished, Lab};
use dice::Dice;
use readers::Reader;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it takes, if the variable [`SECONDS`] does not say otherwise.
const SECONDS_USUAL: u64 = 6;
const SECONDS: &str = "PLIMSOLL_FUZZ_SECONDS";
/// What it begins with; the same seed makes the same inputs.
const SEED: &str = "PLIMSOLL_FUZZ_SEED";
/// Set for the process that reads: the directory for its inputs.
const DIRECTORY: &str = "PLIMSOLL_FUZZ_DIRECTORY";
/// The address space of the process that reads.
const MEMORY_MAX: u64 = 3 << 30;
/// The CPU time for one input, in a build that is not optimised: ten times that of the release, which takes 2.4 s for 60,000 intervals.
const CPU_MAX: Duration = Duration::from_secs(60);
/// The time after which an input hangs, on a machine on which others are busy.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// Starts the process that reads, and waits for its end.
pub fn run(lab: &Lab) -> Option<Finished> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env(DIRECTORY, lab.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let hung = wait(&mut child, &lab.path().join("progress"));
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    println!("{}", stdout.trim_end());
    if hung || output.status.code() != Some(0) {
        let kept = keep(lab.path());
        panic!("{}: hung: {hung}; the inputs are in {}\n{stdout}{stderr}", output.status, kept.display());
    }
    Some(Finished { exit: 0, stdout, stderr })
}

/// Waits for the end of `child`, or for an input that hangs: then it is killed.
fn wait(child: &mut Child, progress: &Path) -> bool {
    let (mut seen, mut since) = (String::new(), Instant::now());
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(50)); // the real time of another process: there is nothing to fake
        let now = fs::read_to_string(progress).unwrap_or_default();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > HANGS_AFTER {
            child.kill().unwrap();
            return true;
        }
    }
    false
}

/// Keeps the inputs that failed, or the last one, where cargo keeps the files of tests.
fn keep(dir: &Path) -> PathBuf {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", std::process::id()));
    fs::create_dir_all(&kept).unwrap();
    for entry in fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), kept.join(entry.file_name())).unwrap();
    }
    kept
}

/// If this is the process that reads, it reads until its time is over, and returns how it ends.
pub fn work_if_asked() -> Option<ExitCode> {
    let dir = PathBuf::from(std::env::var_os(DIRECTORY)?);
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number(SECONDS).unwrap_or(SECONDS_USUAL);
    let limit = Rlimit { current: Some(MEMORY_MAX), maximum: Some(MEMORY_MAX) };
    setrlimit(Resource::As, limit).unwrap();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, panic.to_string()));
    }));
    let mut soak = Soak::new(&dir, number(SEED).unwrap_or(1));
    soak.read_for(Duration::from_secs(seconds));
    soak.report();
    Some(if soak.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the last panic was, and its text.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// What was read so far.
struct Soak<'a> {
    dir: &'a Path,
    dice: Dice,
    readers: Vec<Reader>,
    count: u64,
    /// How many of each reader's inputs were read, and how many were refused.
    taken: BTreeMap<&'static str, (u64, u64)>,
    slowest: Duration,
    /// Each place that failed, with the reason and the first input.
    failed: BTreeMap<String, String>,
}

impl<'a> Soak<'a> {
    fn new(dir: &'a Path, seed: u64) -> Soak<'a> {
        let (readers, taken) = (readers::all(), BTreeMap::new());
        Soak { dir, dice: Dice(seed | 1), readers, count: 0, taken, slowest: Duration::ZERO, failed: BTreeMap::new() }
    }

    fn read_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.read_one();
            self.count += 1;
            fs::write(self.dir.join("progress"), self.count.to_string()).unwrap();
        }
    }

    fn read_one(&mut self) {
        let nth = self.dice.below(self.readers.len());
        let folder = self.dir.join("input");
        drop(fs::remove_dir_all(&folder));
        fs::create_dir(&folder).unwrap();
        let (reader, dice) = (&self.readers[nth], &mut self.dice);
        let files = (reader.make)(&folder, dice);
        let before = cpu_time();
        let read = std::panic::catch_unwind(|| (reader.read)(&folder, &files));
        let took = cpu_time() - before;
        self.slowest = self.slowest.max(took);
        let name = reader.name;
        let (read_count, refused) = self.taken.entry(name).or_default();
        match read {
            Ok(true) => *read_count += 1,
            Ok(false) => *refused += 1,
            Err(_) => {
                let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (place, text) = panic.unwrap_or_default();
                self.note_failure(name, place, text, &files);
            }
        }
        if took > CPU_MAX {
            self.note_failure(name, "too slow".into(), format!("one input took {took:?}"), &files);
        }
    }

    fn note_failure(&mut self, reader: &str, place: String, text: String, files: &[PathBuf]) {
        if self.failed.contains_key(&place) {
            return;
        }
        let number = self.failed.len();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            drop(fs::copy(file, self.dir.join(format!("failed-{number}-{name}"))));
        }
        self.failed.insert(place, format!("failed-{number} ({reader}): {text}"));
    }

    fn report(&self) {
        let of = |(name, (read, refused)): (&&str, &(u64, u64))| format!("{name} {read} read, {refused} refused");
        let taken: Vec<String> = self.taken.iter().map(of).collect();
        println!("{} inputs: {}; {:?} at most for one", self.count, taken.join("; "), self.slowest);
        self.failed.values().for_each(|text| println!("{text}"));
    }
}

/// What this process has used.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
