//! What else happened while the load ran: counters of the machine, the device and the engine's processes.
//!
//! In: a [`SamplingSubject`]: the processes and the device of a point. Out: [`CounterSource`]s from the slice [`SOURCES`], read together by
//! the [`Sampler`] into counter samples and events. The times in which plimsoll itself does not run are events, too. A [`StackTool`]
//! takes the stacks of an engine's threads, if it is asked to.
//!
//! Limits: Linux. What this machine does not offer is a note, what breaks while running is a gap; neither stops a run. A source
//! that is new is one file in `sources/` and one line in [`SOURCES`].

mod gap_watch;
mod growth_sum;
mod interface;
mod proc_file;
mod process_tree;
mod sampler;
mod sched_stat;
pub mod sources;
mod stacks;
mod threads;

pub use gap_watch::GapGrain;
pub use interface::NetworkInterface;
pub use model::CounterSource;
pub use sampler::{READING_WAIT, Sampler};
pub use sources::SOURCES;
pub use sources::network::open_interfaces;
pub use stacks::{StackTool, StacksMissing, TakenStacks};

use model::ServerWay;
use std::io;
use std::path::{Path, PathBuf};

/// What a point gives to observe.
#[derive(Clone, Debug)]
pub struct SamplingSubject {
    /// Where the engine runs.
    pub engine_pids: EnginePids,
    /// The block device under the data, as `/proc/diskstats` names it: `vda`. `None` if there is none (tmpfs) or it is
    /// unknown.
    pub device: Option<String>,
    /// How clients reach the server.
    pub server: ServerWay,
}

/// Where the engine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnginePids {
    /// The work is done in this process.
    Own,
    /// In these processes and their descendants.
    Processes(Vec<u32>),
    /// Unknown: on a server that plimsoll did not start and does not see.
    Elsewhere,
}

/// One source by name, as help and reference list it.
pub struct SourceEntry {
    /// Its name in run files and charts.
    pub name: &'static str,
    /// What it reads, in one line.
    pub help: &'static str,
    /// Opens it for a subject.
    pub open: fn(&SamplingSubject) -> Result<Box<dyn CounterSource>, SourceMissing>,
}

/// Why a source cannot be opened here.
#[derive(Debug, thiserror::Error)]
pub enum SourceMissing {
    /// A file of the kernel cannot be read.
    #[error("cannot read `{}`: {}", path.display(), model::system_words(error))]
    Unreadable {
        /// The file that was to be read.
        path: PathBuf,
        /// The error of the kernel.
        error: io::Error,
    },
    /// A file of the kernel reads otherwise than any kernel known to plimsoll.
    #[error("`{}` has no `{what}` in a form that plimsoll knows", path.display())]
    Unknown {
        /// The file that was to be read.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// The data is on no block device.
    #[error("the data is on no block device that is known; put it on a local disk to see device counters")]
    NoDevice,
    /// There is nothing of the kind to count for this subject, and a note would be of no use.
    #[error("there is nothing to count")]
    NothingToCount,
    /// The server is reached without a network.
    #[error("clients reach the server over a unix socket, which is on no network")]
    NoNetwork,
    /// The interface is not known.
    #[error("no network interface of this machine leads to the server's address")]
    NoInterface,
    /// The engine's processes are not known.
    #[error("the server's processes are not seen")]
    Elsewhere,
    /// The engine has no processes of its own: another source has its time.
    #[error("the engine works in plimsoll's own process")]
    InClients,
    /// The kernel was not asked to account delays when the threads began.
    #[error("`kernel.task_delayacct` is 0; set it to 1 (`sysctl kernel.task_delayacct=1`) before the engine starts")]
    DelaysNotKept,
    /// None of the engine's processes is there.
    #[error("none of the engine's processes {pids:?} is running")]
    NoProcess {
        /// The processes asked for.
        pids: Vec<u32>,
    },
}

impl SourceMissing {
    fn unreadable(path: &Path, error: io::Error) -> Self {
        SourceMissing::Unreadable { path: path.to_owned(), error }
    }

    fn unknown(path: &Path, what: impl Into<String>) -> Self {
        SourceMissing::Unknown { path: path.to_owned(), what: what.into() }
    }
}

/// Opens all sources for `subject`. Each one that is missing comes back as a note with the reason, unless there is nothing to count.
pub fn open_all(subject: &SamplingSubject) -> (Vec<Box<dyn CounterSource>>, Vec<String>) {
    open_each(SOURCES.iter().copied(), subject)
}

/// The same for a watch, which has no clients.
pub fn open_without_clients(subject: &SamplingSubject) -> (Vec<Box<dyn CounterSource>>, Vec<String>) {
    open_each(SOURCES.iter().copied().filter(|entry| entry.name != sources::client_threads::ENTRY.name), subject)
}

fn open_each(
    entries: impl Iterator<Item = &'static SourceEntry>,
    subject: &SamplingSubject,
) -> (Vec<Box<dyn CounterSource>>, Vec<String>) {
    let mut sources = Vec::new();
    let mut notes = Vec::new();
    // Each is opened on its own: a container that hides one file of /proc must not cost the other sources.
    for entry in entries {
        match (entry.open)(subject) {
            Ok(source) => sources.push(source),
            // Nothing is missing: it is in another source, or there is nothing of the kind.
            Err(SourceMissing::InClients | SourceMissing::NothingToCount) => {}
            Err(missing) => notes.push(format!("no `{}` counters: {missing}", entry.name)),
        }
    }
    (sources, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CounterKind;
    use std::net::{IpAddr, Ipv4Addr};

    fn subject(device: Option<&str>) -> SamplingSubject {
        // Over loopback, which every machine has.
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let server = ServerWay::Network { client: here, server: here };
        SamplingSubject { engine_pids: EnginePids::Own, device: device.map(str::to_owned), server }
    }

    #[test]
    fn a_missing_source_is_a_note_that_names_it_and_the_others_open() {
        let (sources, notes) = open_all(&subject(None));
        let names: Vec<String> = sources.iter().map(|s| s.describe().name).collect();
        assert!(names.iter().any(|n| n == "cpu") && names.iter().any(|n| n == "process"), "{names:?}");
        assert!(notes.iter().any(|n| n.starts_with("no `disk` counters: the data is on no block device")), "{notes:?}");
        // An embedded engine has no threads of its own, and a container does not see those of the kernel.
        assert!((1..=2).contains(&(SOURCES.len() - sources.len() - notes.len())), "{names:?} {notes:?}");
    }

    #[test]
    fn every_source_describes_itself_by_its_entry_and_delivers_one_value_per_counter() {
        let (mut sources, _) = open_all(&subject(None));
        for source in &mut sources {
            let def = source.describe();
            assert!(SOURCES.iter().any(|entry| entry.name == def.name && !entry.help.is_empty()), "{}", def.name);
            assert_eq!(source.read().len(), def.counters.len(), "{}", def.name);
            assert!(def.counters.iter().all(|c| !c.help.is_empty()), "{}", def.name);
        }
    }

    #[test]
    fn no_counter_ever_goes_down_and_no_value_is_negative() {
        let (mut sources, _) = open_all(&subject(None));
        for source in &mut sources {
            let def = source.describe();
            let (first, second) = (source.read(), source.read());
            for ((counter, a), b) in def.counters.iter().zip(first).zip(second) {
                let (Some(a), Some(b)) = (a, b) else { continue };
                assert!(a >= 0.0 && b >= 0.0, "{}.{}", def.name, counter.name);
                assert!(counter.kind == CounterKind::Gauge || b >= a, "{}.{}: {a} then {b}", def.name, counter.name);
            }
        }
    }
}
