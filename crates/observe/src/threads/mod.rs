//! Where the time of threads goes: the sources `engine-threads` and `client-threads` are made of this.
//!
//! In: processes, or the clients of this one. Out: nanoseconds in each state, summed over threads, which only grow.
//!
//! Time on a CPU and in its queue is exact: the kernel counts it for each thread (`schedstat`). The rest is sleep, and what a thread
//! sleeps in is looked at up to 20 times a second, of many threads less often: its system call (`syscall`) and the function of the kernel (`wchan`). The sleep since
//! the last look goes to what was seen. The moments are spread at random, so that they are not in step with a timer of the engine.
//!
//! A thread that waits for work is in no state. Of the engine's threads those are:
//! - threads that never waited for a client, while they wait for another thread, a timer or work. What they compute, read and
//!   sync counts;
//! - threads that wait for a client and are woken less than a tenth as often as the busiest one: connections that nothing comes over;
//! - threads that have waited for another thread for more than a second without waking up, as far as there are more of them than the
//!   process has connections left: they are kept for later connections, as MariaDB does.
//!
//! Looking may cost [`watch::COST_MAX`] of a core: with many threads they are looked at less often, and those of more than
//! [`watch::LOOK_MAX`] in turns. The cost is a counter, too.
//!
//! Limits: Linux with scheduler statistics. `syscall` needs the right to trace: root, the same user or a child of plimsoll. A thread that
//! lives shorter than the time between two looks is not seen.
//! If a process of several threads has more connections than threads were seen to wait for clients, its youngest threads serve them: a
//! session that is always blocked never seems to wait for its client.

mod connections;
mod ledger;
mod members;
mod sleep;
mod source;
mod watch;

pub(crate) use members::{ThreadGroup, processes_of};
pub(crate) use source::open_watch;
