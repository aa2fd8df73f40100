//! What an engine does at stalls, compared with what it does at random moments.
//!
//! In: the stacks of a point. Out: the stacks of each sort added up, the functions in which they differ, and what taking them cost.
//! Limits: a mean over few snapshots is known roughly, and no test is made of a difference. A stack shows where a thread is, and not for
//! what it waits there.

use model::{FoldedStack, Nanos, Phase, PointData, StackReason, StackSnapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// So many functions are compared.
pub const SHIFTS_MAX: usize = 5;
/// So many of the busiest are named.
const BUSIEST_MAX: usize = 3;
/// A thread whose innermost function is called so waits until there is something to do, or until another thread lets it.
const WAITS: [&str; 10] =
    ["poll", "select", "nanosleep", "futex", "cond_", "sigwait", "sigtimedwait", "accept", "getevents", "get_cqe"];
/// A difference below this many threads is none.
const SHIFT_MIN: f64 = 0.05;

/// The stacks of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackProfile {
    /// The tool that took them.
    pub tool: String,
    /// Whether it sees all threads; else only those on a CPU, several times each.
    pub sees_all_threads: bool,
    pub stalls: StackSample,
    /// The snapshots of random moments.
    pub random: StackSample,
    /// What taking them cost.
    pub cost: StackCost,
    /// The functions in which most of the threads that did something were at random moments, the most frequent first.
    pub busiest: Vec<BusyFunction>,
    /// The functions in which stalls differ most from random moments, the greatest difference first. None without snapshots of both sorts.
    pub shifts: Vec<FrameShift>,
}

/// The stacks of several snapshots, added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StackSample {
    pub snapshots: usize,
    /// Their stacks, each once, with its count over all snapshots.
    #[serde(skip)]
    pub stacks: Vec<FoldedStack>,
}

/// What taking stacks cost the engine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StackCost {
    /// For how long the engine, or a part of it, was stopped in all, in nanoseconds.
    #[serde(rename = "stopped_ns")]
    pub stopped: Nanos,
    #[serde(rename = "longest_ns")]
    pub longest: Nanos,
    /// For how long the tool ran in all.
    #[serde(rename = "took_ns")]
    pub took: Nanos,
    /// All stops as a share of the run phase: 1 is all of it.
    pub share: f64,
}

/// A function, and how much of the engine's work it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyFunction {
    pub frame: String,
    /// In how many threads it was the innermost, on average; of a tool that sees some threads only, in how many samples.
    pub threads: f64,
}

/// A function that is in another number of threads at stalls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameShift {
    pub frame: String,
    /// In how many threads it is at a stall, on average; of a tool that sees some threads only, in how many samples.
    pub at_stalls: f64,
    /// The same at a random moment.
    pub at_random: f64,
}

impl FrameShift {
    /// How many more it is at stalls.
    pub fn difference(&self) -> f64 {
        self.at_stalls - self.at_random
    }
}

impl StackSample {
    fn from_snapshots<'a>(snapshots: impl Iterator<Item = &'a StackSnapshot>) -> StackSample {
        let (mut count, mut stacks) = (0, Vec::new());
        for snapshot in snapshots {
            count += 1;
            stacks.extend(snapshot.stacks.iter().cloned());
        }
        StackSample { snapshots: count, stacks: model::stacks::merge_stacks(stacks) }
    }

    /// The count of a stack as a mean over the snapshots.
    pub fn mean(&self, count: u64) -> f64 {
        count as f64 / self.snapshots.max(1) as f64
    }
}

impl StackCost {
    /// What the snapshots of `point` cost, if it has any.
    pub(crate) fn from_point(point: &PointData) -> Option<StackCost> {
        let phase = point.phase(Phase::Run).filter(|_| !point.stacks.is_empty())?;
        let sum = |time: fn(&StackSnapshot) -> Nanos| {
            Nanos(point.stacks.iter().fold(0, |sum, snapshot| time(snapshot).0.saturating_add(sum)))
        };
        let stopped = sum(|snapshot| snapshot.stopped);
        let longest = point.stacks.iter().map(|snapshot| snapshot.stopped).max().unwrap_or_default();
        let length = phase.end.since(phase.start).as_secs_f64();
        let share = if length > 0.0 { stopped.as_secs_f64() / length } else { 0.0 };
        Some(StackCost { stopped, longest, took: sum(|snapshot| snapshot.took), share })
    }
}

impl StackProfile {
    /// The stacks of `point`; `None` if none were taken.
    pub(crate) fn from_point(point: &PointData) -> Option<StackProfile> {
        let cost = StackCost::from_point(point)?;
        let of =
            |reason| StackSample::from_snapshots(point.stacks.iter().filter(move |snapshot| snapshot.reason == reason));
        let (stalls, random) = (of(StackReason::Stall), of(StackReason::Random));
        let tool = point.stacks[0].tool.clone();
        let (busiest, shifts) = (busiest(&random), compare(&stalls, &random));
        Some(StackProfile { sees_all_threads: tool != "perf", tool, stalls, random, cost, busiest, shifts })
    }
}

fn busiest(random: &StackSample) -> Vec<BusyFunction> {
    let mut threads: BTreeMap<&str, f64> = BTreeMap::new();
    for stack in &random.stacks {
        let named = stack.frames.iter().skip(1).rfind(|frame| *frame != model::stacks::UNKNOWN_FRAME);
        if let Some(frame) = named.filter(|frame| !WAITS.iter().any(|wait| frame.contains(wait))) {
            *threads.entry(frame).or_default() += random.mean(stack.count);
        }
    }
    let mut all: Vec<BusyFunction> =
        threads.into_iter().map(|(frame, threads)| BusyFunction { frame: frame.to_owned(), threads }).collect();
    all.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    all.truncate(BUSIEST_MAX);
    all
}

/// In which stacks of both samples a function is, and how often it is in each.
#[derive(Default)]
struct FramePlaces<'a> {
    stacks: BTreeSet<&'a [String]>,
    at_stalls: f64,
    at_random: f64,
    /// How deep it is on average times the number of stacks.
    depth: usize,
}

/// The functions that differ most. If several are in exactly the same stacks, only the innermost is named: it is the most specific.
fn compare(stalls: &StackSample, random: &StackSample) -> Vec<FrameShift> {
    if stalls.snapshots == 0 || random.snapshots == 0 {
        return Vec::new();
    }
    let mut frames: BTreeMap<&str, FramePlaces> = BTreeMap::new();
    add_frames(&mut frames, stalls, |places| &mut places.at_stalls);
    add_frames(&mut frames, random, |places| &mut places.at_random);
    let mut innermost: BTreeMap<BTreeSet<&[String]>, (usize, FrameShift)> = BTreeMap::new();
    for (frame, places) in frames {
        let FramePlaces { stacks, at_stalls, at_random, depth } = places;
        let shift = FrameShift { frame: frame.to_owned(), at_stalls, at_random };
        match innermost.get(&stacks) {
            Some((deepest, _)) if *deepest >= depth => {}
            _ => drop(innermost.insert(stacks, (depth, shift))),
        }
    }
    let mut shifts: Vec<FrameShift> = innermost.into_values().map(|(_, shift)| shift).collect();
    shifts.retain(|shift| shift.difference().abs() >= SHIFT_MIN);
    shifts.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()).then_with(|| a.frame.cmp(&b.frame)));
    shifts.truncate(SHIFTS_MAX);
    shifts
}

/// Adds the functions of `sample`; a function that calls itself counts once in a stack.
fn add_frames<'a>(
    frames: &mut BTreeMap<&'a str, FramePlaces<'a>>,
    sample: &'a StackSample,
    count_of: for<'b> fn(&'b mut FramePlaces<'a>) -> &'b mut f64,
) {
    for stack in &sample.stacks {
        let mut seen = BTreeSet::new();
        let functions = stack.frames.iter().enumerate().skip(1);
        for (depth, frame) in functions.filter(|(_, frame)| *frame != model::stacks::UNKNOWN_FRAME) {
            if seen.insert(frame) {
                let places = frames.entry(frame).or_default();
                *count_of(places) += sample.mean(stack.count);
                if places.stacks.insert(&stack.frames) {
                    places.depth += depth;
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::Tick;

    /// A snapshot at `at_s` with these stacks, each of one thread.
    pub(crate) fn snapshot(at_s: u64, reason: StackReason, stopped_ms: u64, stacks: &[&str]) -> StackSnapshot {
        let stacks = stacks.iter().map(|frames| FoldedStack::new("server", frames.split(';')));
        StackSnapshot {
            at: Tick(at_s * 1_000_000_000),
            reason,
            tool: "gdb".to_owned(),
            took: Nanos::from_millis(2 * stopped_ms),
            stopped: Nanos::from_millis(stopped_ms),
            stacks: model::stacks::merge_stacks(stacks.collect()),
        }
    }

    fn profile(snapshots: Vec<StackSnapshot>) -> Option<StackProfile> {
        StackProfile::from_point(&Simulation::counts(&[2_000; 10]).with(|point| point.stacks = snapshots).point())
    }

    const WAITS: &str = "main;commit;lock_wait;futex";
    const WORKS: &str = "main;commit;write";
    const IDLE: &str = "main;purge;futex";

    #[test]
    fn the_innermost_function_of_what_differs_is_named_with_its_threads_at_stalls_and_at_random() {
        let found = profile(vec![
            snapshot(1, StackReason::Random, 10, &[WORKS, WORKS, IDLE]),
            snapshot(2, StackReason::Random, 10, &[WAITS, WORKS, IDLE]),
            snapshot(3, StackReason::Stall, 10, &[WAITS, WAITS, IDLE]),
        ])
        .unwrap();
        let shift = |frame: &str, at_stalls, at_random| FrameShift { frame: frame.into(), at_stalls, at_random };
        // `commit` is in as many threads always, and `futex` is also in one that is idle.
        assert_eq!(found.shifts, [shift("futex", 3.0, 1.5), shift("lock_wait", 2.0, 0.5), shift("write", 0.0, 1.5)]);
        assert_eq!((found.stalls.snapshots, found.random.snapshots), (1, 2));
        assert_eq!(
            found.busiest,
            [BusyFunction { frame: "write".to_owned(), threads: 1.5 }],
            "a thread that waits is not busy"
        );
        assert_eq!(found.random.stacks.iter().map(|stack| stack.count).sum::<u64>(), 6);
        assert_eq!(found.cost.stopped, Nanos::from_millis(30));
        assert!((found.cost.share - 0.003).abs() < 1e-9, "of 10 s: {}", found.cost.share);
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let found = profile(vec![
            snapshot(1, StackReason::Random, 1, &["main;f"]),
            snapshot(2, StackReason::Stall, 1, &["main;g;g;g"]),
        ])
        .unwrap();
        assert_eq!(found.shifts.iter().map(|shift| shift.at_stalls).collect::<Vec<_>>(), [0.0, 1.0]);
    }

    #[test]
    fn nothing_is_compared_without_both_sorts_and_a_point_without_stacks_has_no_profile() {
        let alone = profile(vec![snapshot(1, StackReason::Random, 1, &[WORKS])]).unwrap();
        assert!(alone.shifts.is_empty());
        assert_eq!(profile(Vec::new()), None);
    }
}
