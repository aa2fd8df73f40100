//! The engine `cpu`: rounds of computations on plimsoll's own threads, whose results are checked.
//!
//! In: a trial that names a kernel. Out: clients that perform its rounds, and facts about the instructions that they are made of. A
//! round is the same everywhere:
//!
//! | kernel | a round |
//! |---|---|
//! | `sort` | 32,768 rows of 16 bytes in random order, sorted by a key of 8 bytes |
//! | `join` | a hash table of 16,384 rows is made and probed with 65,536, of which half match |
//! | `btree` | 512 places found in a B-tree of 524,288 entries, and 8 entries read from each |
//! | `decompress` | 1 MiB of rows as text, compressed with LZ4 to about a third |
//! | `crc` | the CRC-32C of 32 pages of 16 KiB, by tables |
//! | `chase` | 4,096 loads, each of which has the address of the next, spread over the memory |
//! | `copy` | 1 MiB copied, in words of 8 bytes |
//! | `lock` | a lock and its condition handed to another thread and back, 32 times |
//!
//! Every result is compared with that of a second, simpler algorithm, or with what the input was made to give; one that differs counts as
//! `corrupt`. Input comes from the seed.
//!
//! Limits: the program is compiled for the oldest CPU of its kind and asks no CPU what else it can do, so all machines of one kind
//! execute the same instructions. Two exceptions: the C library chooses how it copies by the CPU (`decompress` and the setting up
//! of `sort` use it), and another version of the compiler makes other instructions. So machines are compared with one
//! build of plimsoll.

mod compute;
mod kernel;
mod lock;
mod memory;
mod sets;

use crate::engine::{DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, WorkloadClients, workload_of};
use host::error::TargetError;
use host::machine;
use kernel::{KernelSetup, MakeKernels, clients_of};
use model::{Entry, Fact, Family, TaskSet, Trial, WritePath};
use workload::{ProgramInput, SequenceState};

pub static CPU: EngineDef = EngineDef {
    entry: Entry {
        name: "cpu",
        spoken: "the CPU",
        help: "the CPU alone: computations on plimsoll's own threads, the same instructions on every machine, results checked",
        families: &[Family::Task(TaskSet::Kernels)],
        params: &[],
    },
    runs: EngineLocation::Embedded,
    start: |_| Ok(Box::new(CpuEngine)),
    ..EngineDef::BARE
};

/// How the clients of each kernel are made.
const KERNELS: &[(&str, MakeKernels)] = &[
    ("sort", |setup| clients_of("sort", sets::sorts(setup.seed))),
    ("join", |setup| clients_of("join", sets::joins(setup.seed))),
    ("btree", |setup| clients_of("btree", sets::walks(setup.seed))),
    ("decompress", |setup| clients_of("decompress", compute::decompressions(setup.seed))),
    ("crc", |setup| clients_of("crc", compute::crcs(setup.seed))),
    ("chase", |setup| clients_of("chase", memory::chases(setup))),
    ("copy", |setup| clients_of("copy", memory::copies(setup))),
    ("lock", |_| clients_of("lock", |_| lock::LockKernel::default())),
];

/// There is nothing to start: the input of a trial is made with its clients.
struct CpuEngine;

impl Instance for CpuEngine {
    fn report(&self) -> InstanceReport {
        let facts =
            vec![Fact::new("engine.version", env!("CARGO_PKG_VERSION")), Fact::new("cpu.instructions", instructions())];
        InstanceReport { facts, ..InstanceReport::default() }
    }

    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Direct
    }

    fn check_trial(&mut self, trial: &Trial) -> Result<(), TargetError> {
        let params = &trial.workload.params;
        let goes_through = ["chase", "copy"].contains(&params.word("kernel"));
        let needed = params.bytes("memory");
        match machine::memory_available().filter(|_| goes_through) {
            Some(free) if needed.0 > free.0 / 2 => Err(TargetError::Unsupported(format!(
                "memory = `{needed}` is more than half of the {free} that are free on this machine; use less, but more than the last cache"
            ))),
            _ => Ok(()),
        }
    }

    fn make_loaders(&mut self, _: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        Ok(None)
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        Ok(Vec::new())
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let make = workload_of(trial).task.expect("an engine of tasks is given a workload of tasks");
        let params = &trial.workload.params;
        let program = make(&ProgramInput::from_trial(trial, &SequenceState::default()));
        let setup =
            KernelSetup { seed: trial.seed, memory: params.bytes("memory"), clients: trial.load.clients.max(1) };
        let word = params.word("kernel");
        let kernel =
            KERNELS.iter().find(|(name, _)| *name == word).expect("every kernel that is declared is made here");
        let client = (kernel.1)(&setup);
        Ok(WorkloadClients::new(&program.kinds, &program.run, &[], trial.data_part(), client))
    }

    fn measure_space(&self) -> DataSpace {
        DataSpace::default()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        Ok(())
    }
}

/// The architecture, and the extensions that the compiler was allowed to use beyond its oldest CPU.
fn instructions() -> String {
    let beyond = [
        ("sse4.2", cfg!(target_feature = "sse4.2")),
        ("avx", cfg!(target_feature = "avx")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("bmi2", cfg!(target_feature = "bmi2")),
        ("avx512f", cfg!(target_feature = "avx512f")),
        ("lse", cfg!(target_feature = "lse")),
        ("sve", cfg!(target_feature = "sve")),
    ];
    let used: Vec<&str> = beyond.iter().filter(|(_, used)| *used).map(|(name, _)| *name).collect();
    match used.as_slice() {
        [] => format!("{}, oldest CPU", std::env::consts::ARCH),
        used => format!("{}, {}", std::env::consts::ARCH, used.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_that_is_declared_is_made_here() {
        let made: Vec<&str> = KERNELS.iter().map(|(name, _)| *name).collect();
        assert_eq!(made, workload::cpu::KERNELS);
    }
}
