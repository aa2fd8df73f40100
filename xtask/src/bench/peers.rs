//! The peers of the bench `file`, in the settings in which they are cheapest.
//!
//! In: a case. Out: settings to try, and what a run in one of them took. Limits: which is cheapest differs from machine to machine
//! and is tried each time; every one of them keeps a histogram of latencies, as plimsoll does.

use super::cases::{Case, Io, Place};
use super::effort::Cost;
use super::{fio, sysbench};
use anyhow::Result;
use std::path::Path;

/// A program in one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Fio(fio::Setting),
    Sysbench(sysbench::Setting),
}

impl Peer {
    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Peer::Fio(setting) => setting.name,
            Peer::Sysbench(setting) => setting.name(),
        }
    }

    /// Whether it has as many threads as I/Os under way. On a busy machine they get more of the CPUs than one thread does, so
    /// plimsoll is to have as many.
    pub fn has_threads(&self) -> bool {
        *self == Peer::Sysbench(sysbench::Setting::Threads)
    }

    /// What a run of `seconds` on `file` took.
    pub fn run(&self, case: &Case, file: &Path, seconds: u32) -> Result<Cost> {
        match self {
            Peer::Fio(setting) => fio::run(case, file, seconds, setting),
            Peer::Sysbench(setting) => sysbench::run(case, file, seconds, *setting),
        }
    }
}

/// The programs that `case` is compared with, each in the settings to choose from.
pub fn of(case: &Case) -> Vec<Vec<Peer>> {
    let fio = |settings: &[fio::Setting]| settings.iter().copied().map(Peer::Fio).collect::<Vec<_>>();
    match (case.place, case.io) {
        (Place::Disk, _) => {
            vec![
                fio(fio::ON_DISK),
                vec![Peer::Sysbench(sysbench::Setting::Async)],
                vec![Peer::Sysbench(sysbench::Setting::Threads)],
            ]
        }
        (_, Io::Sync) => vec![fio(fio::SYNC)],
        (_, Io::Uring { .. }) => vec![fio(fio::URING)],
    }
}
