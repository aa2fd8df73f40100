//! The stacks of an engine's threads at one moment, taken by a tool of this machine.
//!
//! In: the processes of an engine. Out: [`TakenStacks`]: what each thread was doing, how long the tool ran, and for how long it stopped
//! the engine. The tools, in the order in which they are tried:
//! - `eu-stack` (elfutils) stops one thread after the other, each for its own stack. The stacks are not of exactly one moment;
//! - `gdb` stops a process, walks through all of its threads, and lets it go on;
//! - `perf` stops nothing and sees only threads that are on a CPU within a fifth of a second: of a stall in which all wait it sees nothing.
//!
//! `eu-stack` and `gdb` need the right to trace: root, or the same user if the kernel allows that (`kernel.yama.ptrace_scope`).
//!
//! Limits: that `eu-stack` stops any thread counts as a stop; of a process with more than 200 threads the whole time that it ran does. Of an
//! engine with many processes at most [`tool::PROCESSES_MAX`] are looked at. No tool reads a file of the user, asks a server for symbols, or is given more
//! than [`capture::TIME_MAX`].

mod capture;
mod elfutils;
mod frame;
mod gdb;
mod perf;
mod tool;

pub use tool::{StackTool, StacksMissing, TakenStacks};
