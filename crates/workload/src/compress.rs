//! Files that go through a codec or onto a file system that compresses: as a whole, and block by block.
//!
//! In: the size of the blocks, and how many of them are taken at random. Out: one op that compresses the file, one that brings it back;
//! with blocks, then as many again that bring back or write a block at random, in turns.
//! Limits: which file, by which codec, and on what disk is the engine's. One client: the time of the file is that of one thread.

use crate::program::{ClientIndex, OpKindDef, OpStream, ProgramInput, TaskProgram};
use crate::random::{Rng, Words, client_rng};
use crate::{DataReuse, Workload, WorkloadDef};
use model::{
    Bytes, Entry, Family, OpClass, OpKind, ParamDef, ParamKind, ParamRole, Phrase, TaskOp, TaskSet, UsedIf, WorkTraits,
};

pub static COMPRESS: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "compress",
        spoken: "files",
        help: "files through codecs and file systems that compress: how small, how fast, at what cost of CPU",
        families: &[Family::Task(TaskSet::Codecs)],
        params: &[BLOCKS, BLOCK_OPS],
    },
    traits: |_| WorkTraits::default(),
    data_reuse: |_| DataReuse::Fresh,
    // The engine knows the file, and so the space that it needs.
    data_bytes: |_| Bytes(0),
    growth_bytes_per_op: |_| Bytes(0),
    io: None,
    sql: None,
    kv: None,
    task: Some(task_program),
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

const BLOCKS: ParamDef = ParamDef {
    help: "size of the blocks that are compressed one by one, as a database compresses its pages; 0 = the file as one stream",
    phrase: Phrase::Words(&[("0 B", "whole files"), ("{}", "blocks of {}")]),
    ..ParamDef::new("blocks", ParamRole::Work, ParamKind::Bytes { min: 0, max: 4 << 20 }, "0")
};
const BLOCK_OPS: ParamDef = ParamDef {
    help: "with blocks: how many are read at random from the compressed file, and how many written",
    used_if: Some(UsedIf::not_zero("blocks")),
    ..ParamDef::new("block_ops", ParamRole::Work, ParamKind::Int { min: 0, max: 1_000_000_000 }, "1000")
};

/// What one op does, in the order of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecTask {
    /// The file is compressed to a new file, which is then on disk.
    Compress,
    /// That file is brought back.
    Decompress,
    /// A block of it is brought back.
    DecompressBlock,
    /// A block is compressed and written to its place.
    CompressBlock,
}

impl CodecTask {
    /// The task of a kind.
    pub fn of_kind(kind: OpKind) -> CodecTask {
        let all = [CodecTask::Compress, CodecTask::Decompress, CodecTask::DecompressBlock, CodecTask::CompressBlock];
        all[usize::from(kind)]
    }
}

const KINDS: [OpKindDef; 4] = [
    OpKindDef::without_rows("compress", OpClass::Write),
    OpKindDef::without_rows("decompress", OpClass::Read),
    OpKindDef::without_rows("decompress_block", OpClass::Read),
    OpKindDef::without_rows("compress_block", OpClass::Write),
];

/// The ops on the whole file, which come first.
const WHOLE_OPS: u64 = 2;

fn task_program(input: &ProgramInput) -> TaskProgram {
    let (params, seed) = (input.params, input.seed);
    let has_blocks = params.bytes("blocks") > Bytes(0);
    let block_ops = if has_blocks { 2 * params.int("block_ops") } else { 0 };
    let kinds = if has_blocks { KINDS.to_vec() } else { KINDS[..WHOLE_OPS as usize].to_vec() };
    let source = move |slot: ClientIndex| CompressOps {
        // Beyond the end there is nothing left but the kinds that are declared.
        random_kinds: if has_blocks { 2 } else { 0 },
        nth: 0,
        rng: client_rng(seed, slot.client),
    };
    TaskProgram { kinds, writes: true, run: OpStream::new(Some(WHOLE_OPS + block_ops), 1, source) }
}

struct CompressOps {
    random_kinds: u64,
    nth: u64,
    rng: Rng,
}

impl Workload<TaskOp> for CompressOps {
    fn fill_ops(&mut self, ops: &mut [TaskOp]) {
        for op in ops {
            let kind = match self.nth {
                nth if nth < WHOLE_OPS || self.random_kinds == 0 => nth % WHOLE_OPS,
                nth => WHOLE_OPS + nth % self.random_kinds,
            };
            *op = TaskOp { op_kind: OpKind(kind as u8), item: self.rng.next_u64() };
            self.nth += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequenceState;
    use model::Params;

    fn tasks(blocks: u64, block_ops: u64) -> Vec<CodecTask> {
        let params = [("blocks", model::Value::Bytes(Bytes(blocks))), ("block_ops", model::Value::Int(block_ops))];
        let params = Params(params.map(|(name, value)| (name.to_owned(), value)).into());
        let program = task_program(&ProgramInput::new(&params, 1, &SequenceState::default()));
        let mut ops = vec![TaskOp::default(); program.run.ops.expect("it ends") as usize];
        (program.run.make)(ClientIndex { client: 0, clients: 1 }).fill_ops(&mut ops);
        assert!(ops.iter().all(|op| usize::from(op.op_kind) < program.kinds.len()));
        ops.iter().map(|op| CodecTask::of_kind(op.op_kind)).collect()
    }

    #[test]
    fn a_file_is_compressed_and_brought_back_and_with_blocks_some_are_taken_at_random() {
        use CodecTask::{Compress, CompressBlock, Decompress, DecompressBlock};
        assert_eq!(tasks(0, 1000), [Compress, Decompress]);
        let expected = [Compress, Decompress, DecompressBlock, CompressBlock, DecompressBlock, CompressBlock];
        assert_eq!(tasks(4096, 2), expected);
    }
}
