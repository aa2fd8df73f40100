//! The stacks of an engine's threads, taken while it is measured.
//!
//! In: the observer takes snapshots of an engine. Out: the run file keeps them as folded text, the analysis compares those of stalls with
//! those of random moments. Limits: names of threads and functions come from strangers: control characters and the separator are
//! replaced, and what is longer or deeper than the bounds here is cut.

use crate::units::{Nanos, Tick};
use serde::{Deserialize, Serialize};

/// The most characters of a name of a thread or a function: names made of templates have thousands.
pub const FRAME_CHARS_MAX: usize = 160;
/// The most frames of one stack, its thread among them.
pub const FRAMES_MAX: usize = 100;
/// The text in place of a function without a name.
pub const UNKNOWN_FRAME: &str = "[unknown]";

/// Why stacks were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackReason {
    /// Almost nothing was done.
    Stall,
    /// A moment that does not depend on the load: what the others are compared with.
    Random,
}

impl StackReason {
    /// The word used in files and charts.
    pub fn as_str(self) -> &'static str {
        match self {
            StackReason::Stall => "stall",
            StackReason::Random => "random",
        }
    }
}

/// The stacks of all threads of an engine at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackSnapshot {
    /// When the tool that took them was started.
    pub at: Tick,
    pub reason: StackReason,
    /// The tool: `gdb`, `eu-stack`, `perf`.
    pub tool: String,
    /// How long the tool ran, and so used a CPU.
    pub took: Nanos,
    /// For how much of it the engine, or a part of it, was stopped.
    pub stopped: Nanos,
    /// The stacks, each once.
    pub stacks: Vec<FoldedStack>,
}

/// A stack, and how often it was seen in one snapshot: in how many threads, or samples of `perf`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FoldedStack {
    /// The name of the thread, then its functions from the outermost to the one that runs or waits.
    pub frames: Vec<String>,
    /// How often it was seen.
    pub count: u64,
}

impl FoldedStack {
    /// A stack of the thread called `thread` with these `functions`, the outermost first, seen once. Of what is too deep the innermost
    /// frames are kept: they show what the thread does.
    pub fn new(thread: &str, functions: impl IntoIterator<Item = impl AsRef<str>>) -> FoldedStack {
        let mut functions: Vec<String> = functions.into_iter().map(|name| frame_name(name.as_ref())).collect();
        // A chain of functions without names shows no more than one.
        functions.dedup_by(|next, kept| next == kept && kept == UNKNOWN_FRAME);
        let first = functions.len().saturating_sub(FRAMES_MAX - 1);
        let frames = std::iter::once(frame_name(thread)).chain(functions.into_iter().skip(first));
        FoldedStack { frames: frames.collect(), count: 1 }
    }
}

/// `name` without what folded text cannot hold.
fn frame_name(name: &str) -> String {
    let printable = name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    });
    let printable: String = printable.collect();
    let name: String = printable.trim().chars().take(FRAME_CHARS_MAX).collect();
    if name.is_empty() { UNKNOWN_FRAME.to_owned() } else { name }
}

/// `stacks` with those that are equal added up, in the order of their frames.
pub fn merge_stacks(mut stacks: Vec<FoldedStack>) -> Vec<FoldedStack> {
    stacks.sort();
    stacks.dedup_by(|next, kept| {
        let is_same = next.frames == kept.frames;
        if is_same {
            kept.count = kept.count.saturating_add(next.count);
        }
        is_same
    });
    stacks
}

/// One line for each stack: its frames with `;` between them, a space and the count, as the tools for flame graphs take it.
pub fn fold_stacks(stacks: &[FoldedStack]) -> String {
    stacks.iter().map(|stack| format!("{} {}\n", stack.frames.join(";"), stack.count)).collect()
}

/// The stacks in folded text; `None` if a line is none.
pub fn parse_folded(text: &str) -> Option<Vec<FoldedStack>> {
    text.lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<FoldedStack> {
    let (frames, count) = line.rsplit_once(' ')?;
    let frames: Vec<String> = frames.split(';').take(FRAMES_MAX).map(frame_name).collect();
    Some(FoldedStack { frames, count: count.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_come_back_from_their_folded_text_with_equal_ones_added_up() {
        let waits = FoldedStack::new("mariadbd", ["start", "std::vector<a, b>::wait (int)", "poll"]);
        let works = FoldedStack::new("mariadbd", ["start", "work"]);
        let merged = merge_stacks(vec![works.clone(), waits.clone(), works.clone()]);
        assert_eq!(merged.iter().map(|stack| stack.count).collect::<Vec<_>>(), [1, 2]);
        let text = fold_stacks(&merged);
        assert_eq!(text, "mariadbd;start;std::vector<a, b>::wait (int);poll 1\nmariadbd;start;work 2\n");
        assert_eq!(parse_folded(&text), Some(merged));
    }

    #[test]
    fn names_of_strangers_cannot_break_a_line_or_a_frame_and_deep_stacks_keep_their_inner_end() {
        let stack = FoldedStack::new("a;b\nc", ["\u{7}", &"x".repeat(1_000)]);
        assert_eq!((stack.frames[0].as_str(), stack.frames[1].as_str()), ("a:b c", UNKNOWN_FRAME));
        assert_eq!(stack.frames[2].len(), FRAME_CHARS_MAX);
        let deep = FoldedStack::new("t", (0..500).map(|nth| nth.to_string()));
        assert_eq!(
            (deep.frames.len(), deep.frames[0].as_str(), deep.frames.last().unwrap().as_str()),
            (100, "t", "499")
        );
        assert_eq!(parse_folded("no count"), None);
        assert_eq!(parse_folded(""), Some(vec![]));
    }
}
