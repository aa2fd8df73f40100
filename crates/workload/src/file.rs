//! Reads and writes of blocks of one file: the storage under a database, without the database.
//!
//! In: mode, block and file size, access distribution, share of reads. Out: block-aligned [`IoOp`]s; the load part fills the
//! file from its beginning with writes of 1 MiB. An operation takes 3 ns to make with uniform access and 30 ns with Zipf.
//! Limits: one file, one block size. Offsets are multiples of the block, so the end of the file that is no whole block is
//! never accessed; the file is a multiple of 4 KiB, so that direct I/O can fill it. A sequential client has a region of
//! its own, because one cursor shared by all clients would measure neither sequential I/O nor the clients.

use crate::dist::{self, Distribution};
use crate::program::{IoProgram, Part, Slot};
use crate::random::{Rng, Words, rng};
use crate::{Reuse, Workload, WorkloadDef};
use model::{Bytes, Entry, Family, IoKind, IoOp, Offset, OpKind, ParamDef, ParamKind, Params};
use std::ops::Range;

/// `file`.
pub static FILE: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "file",
        help: "random or sequential reads and writes of one file",
        families: &[Family::Io],
        params: &[MODE, BLOCK, FILE_SIZE, ACCESS, READ_SHARE],
    },
    data_reuse: Reuse::Shared,
    data_bytes: file_bytes,
    // Writes go to blocks that the fill has written.
    growth_bytes_per_op: |_| Bytes(0),
    io: Some(program),
    sql: None,
    kv: None,
};

const MODE: ParamDef = ParamDef {
    name: "mode",
    kind: ParamKind::OneOf(&["rndrd", "rndwr", "rndrw", "seqrd", "seqwr"]),
    default: "rndrd",
    help: "random reads, writes or both; sequential reads or writes, each client in its own region",
    scales: false,
    shapes_data: false,
};
const BLOCK: ParamDef = ParamDef {
    name: "block",
    kind: ParamKind::Bytes { min: 512, max: 16 << 20 },
    default: "16KiB",
    help: "size of each read and write",
    scales: false,
    shapes_data: false,
};
const FILE_SIZE: ParamDef = ParamDef {
    name: "file_size",
    kind: ParamKind::Bytes { min: 512, max: 1 << 50 },
    default: "1GiB",
    help: "size of the file, rounded down to 4 KiB; at least one block",
    scales: true,
    shapes_data: true,
};
const ACCESS: ParamDef = ParamDef {
    name: "access",
    kind: ParamKind::Access,
    default: "uniform",
    help: "which blocks random operations go to",
    scales: false,
    shapes_data: false,
};
const READ_SHARE: ParamDef = ParamDef {
    name: "read_share",
    kind: ParamKind::Float { min: 0.0, max: 1.0 },
    // 1.5 reads per write, as in sysbench fileio.
    default: "0.6",
    help: "share of reads in mode rndrw, 0 to 1",
    scales: false,
    shapes_data: false,
};

const KINDS: [&str; 3] = ["read", "write", "fill"];
const FILL: OpKind = OpKind(2);
const FILL_WRITE: u64 = 1 << 20;
/// The largest logical block that a device is likely to have.
const ALIGNMENT: u64 = 4096;

/// A whole number of 4 KiB, and at least one block.
fn file_bytes(params: &Params) -> Bytes {
    let size = params.bytes("file_size").0 / ALIGNMENT * ALIGNMENT;
    Bytes(size.max(params.bytes("block").0.next_multiple_of(ALIGNMENT)))
}

fn program(params: &Params, seed: u64) -> IoProgram {
    let (block, file_bytes) = (params.bytes("block"), file_bytes(params));
    let blocks = Blocks { block, count: file_bytes.0 / block.0 };
    IoProgram {
        file_bytes,
        block,
        fill_block: Bytes(FILL_WRITE),
        writes: matches!(params.word("mode"), "rndwr" | "rndrw" | "seqwr"),
        kinds: KINDS.to_vec(),
        load: Part::new(Some(file_bytes.0.div_ceil(FILL_WRITE)), 1, move |slot| Fill::new(slot, file_bytes)),
        run: run(params, seed, blocks),
    }
}

fn run(params: &Params, seed: u64, blocks: Blocks) -> Part<IoOp> {
    let access = dist::of(params.access("access"), blocks.count);
    let random = |read_share: f64| Part::new(None, 1, move |slot| Random::new(slot, seed, blocks, access, read_share));
    let sequential = |io| Part::new(None, 1, move |slot| Sequential::new(slot, blocks, io));
    match params.word("mode") {
        "rndrd" => random(1.0),
        "rndwr" => random(0.0),
        "rndrw" => random(params.float("read_share")),
        "seqrd" => sequential(IoKind::Read),
        "seqwr" => sequential(IoKind::Write),
        other => unreachable!("`mode` is declared without `{other}`"),
    }
}

/// The whole blocks of the file.
#[derive(Clone, Copy)]
struct Blocks {
    block: Bytes,
    count: u64,
}

impl Blocks {
    #[inline]
    fn op(self, io: IoKind, block: u64) -> IoOp {
        let op_kind = match io {
            IoKind::Read => OpKind(0),
            IoKind::Write => OpKind(1),
        };
        IoOp { op_kind, io, at: Offset(block * self.block.0), len: self.block }
    }
}

/// Blocks drawn from the access distribution, reads and writes by chance.
struct Random {
    rng: Rng,
    access: Distribution,
    blocks: Blocks,
    /// Reads among 2^53 operations.
    reads: u64,
}

impl Random {
    fn new(slot: Slot, seed: u64, blocks: Blocks, access: Distribution, read_share: f64) -> Self {
        let reads = (read_share * (1u64 << 53) as f64) as u64;
        Random { rng: rng(seed, slot.client), access, blocks, reads }
    }
}

impl Workload<IoOp> for Random {
    fn fill(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            let io = if self.rng.next_u64() >> 11 < self.reads { IoKind::Read } else { IoKind::Write };
            *op = self.blocks.op(io, self.access.draw(&mut self.rng));
        }
    }
}

/// One block after the other within the client's region, again and again.
struct Sequential {
    blocks: Blocks,
    io: IoKind,
    region: Range<u64>,
    next: u64,
}

impl Sequential {
    fn new(slot: Slot, blocks: Blocks, io: IoKind) -> Self {
        let share = slot.share(blocks.count);
        // With more clients than blocks some have no region and share their neighbour's block.
        let region = if share.is_empty() { share.start..share.start + 1 } else { share };
        Sequential { blocks, io, next: region.start, region }
    }
}

impl Workload<IoOp> for Sequential {
    fn fill(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            *op = self.blocks.op(self.io, self.next);
            self.next += 1;
            if self.next == self.region.end {
                self.next = self.region.start;
            }
        }
    }
}

/// The client's share of the file, written once from beginning to end. Afterwards slots are writes of no bytes.
struct Fill {
    writes: Range<u64>,
    file_bytes: Bytes,
}

impl Fill {
    fn new(slot: Slot, file_bytes: Bytes) -> Self {
        Fill { writes: slot.share(file_bytes.0.div_ceil(FILL_WRITE)), file_bytes }
    }
}

impl Workload<IoOp> for Fill {
    fn fill(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            let at = self.writes.next().map_or(self.file_bytes.0, |write| write * FILL_WRITE);
            let len = Bytes(FILL_WRITE.min(self.file_bytes.0 - at));
            *op = IoOp { op_kind: FILL, io: IoKind::Write, at: Offset(at), len };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use proptest::prelude::*;

    fn program_with(changes: &[(&str, &str)]) -> IoProgram {
        program(&params(&FILE.entry, changes), 1)
    }

    fn ops(part: &Part<IoOp>, slot: Slot, count: usize) -> Vec<IoOp> {
        let mut ops = vec![IoOp::default(); count];
        (part.make)(slot).fill(&mut ops);
        ops
    }

    const ALONE: Slot = Slot { client: 0, clients: 1 };

    #[test]
    fn random_operations_are_whole_aligned_blocks_within_the_file() {
        for block in ["512B", "16KiB", "3000B", "1MiB"] {
            let program = program_with(&[("block", block), ("file_size", "10000000B")]);
            for op in ops(&program.run, ALONE, 1_000) {
                assert_eq!((op.len, op.at.0 % program.block.0), (program.block, 0));
                assert!(op.at.0 + op.len.0 <= program.file_bytes.0);
            }
        }
    }

    #[test]
    fn each_mode_reads_and_writes_as_its_name_says() {
        let cases = [("rndrd", 1.0), ("rndwr", 0.0), ("rndrw", 0.6), ("seqrd", 1.0), ("seqwr", 0.0)];
        for (mode, share) in cases {
            let program = program_with(&[("mode", mode)]);
            let ops = ops(&program.run, ALONE, 10_000);
            let reads = ops.iter().filter(|op| op.io == IoKind::Read).count() as f64 / 10_000.0;
            // Standard deviation 0.005 where it is drawn.
            let tolerance = if mode == "rndrw" { 0.025 } else { 0.0 };
            assert!((reads - share).abs() <= tolerance, "{mode}: {reads}");
            assert_eq!(program.writes, share < 1.0);
            let name = |io| if io == IoKind::Read { "read" } else { "write" };
            assert!(ops.iter().all(|op| program.kinds[op.op_kind.0 as usize] == name(op.io)));
        }
    }

    #[test]
    fn zipf_access_comes_back_to_few_blocks_and_uniform_to_none_in_particular() {
        let most_often = |access| {
            let mut offsets: Vec<u64> =
                ops(&program_with(&[("access", access)]).run, ALONE, 10_000).iter().map(|op| op.at.0).collect();
            offsets.sort_unstable();
            offsets.chunk_by(|a, b| a == b).map(<[u64]>::len).max().expect("some operations")
        };
        assert!(most_often("uniform") < 10);
        assert!(most_often("zipf:1.1") > 1_000);
    }

    #[test]
    fn sequential_clients_walk_their_own_regions_and_wrap() {
        let program = program_with(&[("mode", "seqrd"), ("file_size", "160KiB")]);
        let blocks = |client, clients, count| {
            let ops = ops(&program.run, Slot { client, clients }, count);
            ops.iter().map(|op| op.at.0 >> 14).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(blocks(2, 3, 7), [6, 7, 8, 9, 6, 7, 8]);
    }

    #[test]
    fn more_clients_than_blocks_stay_within_the_file() {
        let program = program_with(&[("mode", "seqwr"), ("file_size", "48KiB")]);
        for client in 0..64 {
            let ops = ops(&program.run, Slot { client, clients: 64 }, 10);
            assert!(ops.iter().all(|op| op.at.0 + op.len.0 <= program.file_bytes.0));
        }
    }

    #[test]
    fn a_file_smaller_than_a_block_is_made_long_enough_for_one() {
        let bytes = |block| program_with(&[("block", block), ("file_size", "512B")]).file_bytes;
        assert_eq!([bytes("1MiB"), bytes("777B")], [Bytes(1 << 20), Bytes(4096)]);
        let program = program_with(&[("block", "1MiB"), ("file_size", "512B")]);
        assert_eq!(ops(&program.run, ALONE, 1)[0].at, Offset(0));
    }

    proptest! {
        #[test]
        fn the_fill_of_all_clients_writes_every_byte_once(size in 512u64..20_000_000, clients in 1u32..6) {
            let program = program_with(&[("file_size", &format!("{size}B"))]);
            let mut end = 0;
            for client in 0..clients {
                let slot = Slot { client, clients };
                let count = program.load.ops_of(slot).expect("the load ends") as usize;
                for op in ops(&program.load, slot, count) {
                    prop_assert_eq!((op.at.0, op.io, program.kinds[op.op_kind.0 as usize]), (end, IoKind::Write, "fill"));
                    prop_assert!(op.len.0 > 0 && op.len.0 % 4096 == 0);
                    end += op.len.0;
                }
                prop_assert_eq!(ops(&program.load, slot, count + 1)[count].len, Bytes(0));
            }
            prop_assert_eq!(end, program.file_bytes.0);
        }
    }
}
