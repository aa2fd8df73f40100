//! Rounds of the computations that database work is made of: the CPU under a database, without the database.
//!
//! In: the kernel, and how much memory those go through that are to miss the caches. Out: [`TaskOp`]s, one round each; the item chooses
//! the input of the round. Limits: what a round of each kernel does is fixed (the engine `cpu` has the table), so that rates of two
//! machines can be compared; the memory is the only size.

use crate::program::{ClientIndex, OpKindDef, OpStream, ProgramInput, TaskProgram};
use crate::random::{Rng, Words, client_rng};
use crate::{DataReuse, Workload, WorkloadDef};
use model::{
    Bytes, Entry, Family, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Phrase, TaskOp, TaskSet, UsedIf, WorkTraits,
};

/// The kernels, in the order of tables and charts.
pub const KERNELS: &[&str] = &["sort", "join", "btree", "decompress", "crc", "chase", "copy", "lock"];

pub static CPU: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "cpu",
        spoken: "computations",
        help: "computations that database work is made of, on one core and on all",
        families: &[Family::Task(TaskSet::Kernels)],
        params: &[KERNEL, MEMORY],
    },
    traits: |params| WorkTraits { kernel: Some(params.word("kernel").into()), ..WorkTraits::default() },
    data_reuse: |_| DataReuse::Shared,
    data_bytes: |_| Bytes(0),
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: None,
    kv: None,
    task: Some(task_program),
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[("kernel", "sort,join,btree,decompress,crc,chase,copy,lock"), ("clients", "1,cores"), ("time", "3s")],
};

const KERNEL: ParamDef = ParamDef {
    help: "computation: `sort` of rows, hash `join`, walk of a B-tree (`btree`), LZ4 `decompress`, CRC-32C of pages (`crc`), pointer `chase` \
           and `copy` through memory, hand-over of a `lock` between two threads",
    phrase: Phrase::Words(&[
        ("sort", "sorting"),
        ("join", "hash joins"),
        ("btree", "walks of a B-tree"),
        ("decompress", "LZ4 decompression"),
        ("crc", "checksums of pages"),
        ("chase", "chains of memory reads"),
        ("copy", "copies through memory"),
        ("lock", "hand-overs of a lock"),
    ]),
    ..ParamDef::new("kernel", ParamRole::Mode, ParamKind::OneOf(KERNELS), "sort")
};
const MEMORY: ParamDef = ParamDef {
    // Larger than the last cache of most servers, and small enough for most virtual machines.
    help: "memory that `chase` and `copy` go through, over all clients; must be larger than the last cache",
    used_if: Some(UsedIf::one_of("kernel", &["chase", "copy"])),
    phrase: Phrase::Pattern("{} of memory"),
    ..ParamDef::new("memory", ParamRole::Work, ParamKind::Bytes { min: 1 << 20, max: 1 << 40 }, "256MiB")
};

fn task_program(input: &ProgramInput) -> TaskProgram {
    let (params, seed) = (input.params, input.seed);
    let kernel = KERNELS.iter().find(|name| **name == params.word("kernel")).expect("the kernel is declared");
    TaskProgram {
        kinds: vec![OpKindDef::without_rows(kernel, OpClass::Compute)],
        writes: false,
        run: OpStream::new(None, 1, move |slot| RandomItems::new(slot, seed)),
    }
}

/// Items drawn at random: the engine takes of them what it needs to choose an input.
struct RandomItems(Rng);

impl RandomItems {
    fn new(slot: ClientIndex, seed: u64) -> RandomItems {
        RandomItems(client_rng(seed, slot.client))
    }
}

impl Workload<TaskOp> for RandomItems {
    fn fill_ops(&mut self, ops: &mut [TaskOp]) {
        for op in ops {
            *op = TaskOp { op_kind: OpKind(0), item: self.0.next_u64() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequenceState;
    use crate::tests::params;

    #[test]
    fn each_kernel_is_the_one_kind_of_its_program_and_the_command_measures_all() {
        for kernel in KERNELS {
            let program = task_program(&ProgramInput::new(
                &params(&CPU.entry, &[("kernel", kernel)]),
                1,
                &SequenceState::default(),
            ));
            assert_eq!(program.kinds.iter().map(|kind| kind.name).collect::<Vec<_>>(), [*kernel]);
        }
        assert_eq!(CPU.usual_keys[0].1, KERNELS.join(","));
    }

    #[test]
    fn two_clients_have_items_of_their_own() {
        let program = task_program(&ProgramInput::new(&params(&CPU.entry, &[]), 1, &SequenceState::default()));
        let [one, other] = [0, 1].map(|client| {
            let mut ops = [TaskOp::default(); 8];
            (program.run.make)(ClientIndex { client, clients: 2 }).fill_ops(&mut ops);
            ops.map(|op| op.item)
        });
        assert!(one.iter().all(|item| !other.contains(item)), "{one:?} {other:?}");
    }
}
