//! The peers of the bench `file`, in the settings in which they are cheapest.
//!
//! In: a case. Out: settings to try, and the cost of a run in one of them. Limits: the cheapest setting differs from machine to
//! machine, so all are tried each time; each keeps a histogram of latencies, as plimsoll does.

use super::cases::{CaseIo, IoCase, IoPlace};
use super::effort::IoCost;
use super::fio::{self, FioSetting};
use super::plimsoll;
use super::sysbench::{self, SysbenchMode};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// A program in one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    Fio(FioSetting),
    Sysbench(SysbenchMode),
    /// Another binary of plimsoll.
    Older(PathBuf),
}

impl Peer {
    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Peer::Fio(setting) => setting.name,
            Peer::Sysbench(setting) => setting.name(),
            Peer::Older(_) => "older plimsoll",
        }
    }

    /// Whether it has as many threads as I/Os in flight. On a busy machine several threads get more of the CPUs than one, so plimsoll
    /// gets as many.
    pub fn has_threads(&self) -> bool {
        *self == Peer::Sysbench(SysbenchMode::Threads)
    }

    /// The cost of a run of `seconds` on `file`; run files go below `work`.
    pub fn run(&self, case: &IoCase, file: &Path, work: &Path, seconds: u32) -> Result<IoCost> {
        match self {
            Peer::Fio(setting) => fio::run(case, file, seconds, setting),
            Peer::Sysbench(setting) => sysbench::run(case, file, seconds, *setting),
            Peer::Older(binary) => plimsoll::run(binary, case, file, work, seconds, false),
        }
    }
}

/// The programs that `case` is compared with, each in the settings to choose from.
pub fn peers_of(case: &IoCase) -> Vec<Vec<Peer>> {
    match (case.place, case.io) {
        (IoPlace::Disk, _) => {
            vec![
                fio_peers(fio::ON_DISK),
                vec![Peer::Sysbench(SysbenchMode::Async)],
                vec![Peer::Sysbench(SysbenchMode::Threads)],
            ]
        }
        (_, CaseIo::Sync) => vec![fio_peers(fio::SYNC)],
        (_, CaseIo::Uring { .. }) => vec![fio_peers(fio::URING)],
    }
}

fn fio_peers(settings: &[FioSetting]) -> Vec<Peer> {
    settings.iter().copied().map(Peer::Fio).collect()
}
