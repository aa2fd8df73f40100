//! Records a watch of as many intervals as a day of seconds has, in much less time: `watched_day DIR FILES INTERVALS MILLISECONDS URL|PID`.
//!
//! In: a directory, how many files, how many intervals each has and how long they are, and what is watched. Out: the files, and on stdout lines
//! `memory INTERVALS BYTES` and `file PATH BYTES`. Limits: what comes once a minute of the clock comes less often than in a day.

#[path = "../tests/watched_files/mod.rs"]
mod watched_files;

use model::Nanos;
use runner::{RunEvent, RunObserver, Watch};
use std::error::Error;
use std::path::Path;
use watched_files::{FileLength, record_files};

/// How often the memory is printed for each file.
const STRETCHES: u32 = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, files, intervals, milliseconds, watched] = arguments.as_slice() else {
        return Err("usage: watched_day DIR FILES INTERVALS MILLISECONDS URL|PID".into());
    };
    let watch = match watched.parse() {
        Ok(pid) => Watch::of_process(pid)?,
        Err(_) => Watch::of_server(watched, "", None)?,
    };
    let length =
        FileLength { intervals: intervals.parse()?, interval: Nanos(1_000_000 * milliseconds.parse::<u64>()?) };
    let mut memory = MemoryWatch::each(u64::from((length.intervals / STRETCHES).max(1)));
    let recorded = record_files(watch, Path::new(dir), (files.parse()?, length), &mut memory)?;
    memory.seen.iter().for_each(|seen| println!("memory {} {}", seen.intervals, seen.bytes));
    for file in recorded {
        println!("file {} {}", file.display(), file.metadata()?.len());
    }
    Ok(())
}

/// How much was recorded, and the memory that this process had of its own then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenMemory {
    intervals: u64,
    bytes: u64,
}

/// Looks at the memory each `every` intervals.
struct MemoryWatch {
    every: u64,
    intervals: u64,
    seen: Vec<SeenMemory>,
}

impl MemoryWatch {
    fn each(every: u64) -> MemoryWatch {
        MemoryWatch { every, intervals: 0, seen: Vec::new() }
    }
}

impl RunObserver for MemoryWatch {
    fn on(&mut self, event: RunEvent<'_>) {
        let RunEvent::Interval { rows, .. } = event else { return };
        let before = self.intervals / self.every;
        self.intervals += rows.len() as u64;
        if self.intervals / self.every > before {
            self.seen.push(SeenMemory { intervals: self.intervals, bytes: own_memory() });
        }
    }
}

/// Bytes of this process that are backed by no file.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has that line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number")
}
