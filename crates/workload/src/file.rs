//! Reads and writes of blocks of files: the storage under a database, without the database.
//!
//! In: mode, block, size and number of files, access distribution, share of reads. Out: block-aligned [`IoOp`]s; the load part
//! fills the files from their beginnings with writes of 1 MiB. An operation takes 3 ns to make with uniform access and 30 ns
//! with Zipf.
//! Limits: one block size. Offsets are multiples of the block, so the rest of a file behind its last full block is never accessed;
//! each file is a multiple of 4 KiB, so that direct I/O can fill it. Several files are one row of blocks: access is drawn over
//! all of them, and a sequential client that comes to the end of a file goes on with the next.
//!
//! A sequential client has a region of its own by default. With `cursor = shared` all clients take their blocks from one
//! cursor, as those of sysbench do: the device then sees neighbouring blocks from several threads at once, in whatever order
//! they arrive. Two sources made of such a stream deal the blocks to each other and do not repeat each other.
//!
//! With `fsync`, a client syncs every file after each `fsync_every` of its writes, one operation a file, as sysbench does; the
//! kind of operation is named after the call, so that its times are shown next to those of the writes. A client that keeps several
//! operations in flight syncs what was written when the sync begins, and not the writes that are in flight with it.
//!
//! `seqwr` overwrites blocks that the fill has written: what sysbench calls `seqrewr`. Its `seqwr` makes new files and so
//! times the allocation of space as well; a second word for the same writes would promise a difference that there is not.

use crate::distribution::{self, Distribution};
use crate::program::{ClientIndex, IoProgram, OpKindDef, OpStream, ProgramInput};
use crate::random::{Rng, Words, client_rng};
use crate::{DataReuse, Workload, WorkloadDef};
use model::{
    AccessPattern, Bytes, Entry, Family, IoKind, IoOp, IoWork, Nanos, Offset, OpClass, OpKind, ParamDef, ParamKind,
    ParamRole, Params, Phrase, UsedIf, WorkTraits,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub static FILE: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "file",
        spoken: "reads and writes",
        help: "random or sequential reads and writes of files",
        families: &[Family::Io],
        params: &[MODE, BLOCK, FILE_SIZE, FILES, ACCESS, READ_SHARE, CURSOR, FSYNC, FSYNC_EVERY],
    },
    traits: work_traits,
    data_reuse: |_| DataReuse::Shared,
    data_bytes: |params| Bytes(params.int("files") * file_bytes(params).0),
    // Writes go to blocks that the fill has written.
    growth_bytes_per_op: |_| Bytes(0),
    io: Some(io_program),
    sql: None,
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    usual_keys: &[],
};

const MODE: ParamDef = ParamDef {
    help: "access pattern: random reads (`rndrd`), writes (`rndwr`) or both (`rndrw`), sequential reads (`seqrd`) or overwrites (`seqwr`)",
    phrase: Phrase::Words(&[
        ("rndrd", "random reads"),
        ("rndwr", "random writes"),
        ("rndrw", "random reads and writes"),
        ("seqrd", "sequential reads"),
        ("seqwr", "sequential writes"),
    ]),
    ..ParamDef::new("mode", ParamRole::Mode, ParamKind::OneOf(&["rndrd", "rndwr", "rndrw", "seqrd", "seqwr"]), "rndrd")
};
const BLOCK: ParamDef = ParamDef {
    help: "size of each read and write",
    phrase: Phrase::Pattern("blocks of {}"),
    ..ParamDef::new("block", ParamRole::Work, ParamKind::Bytes { min: 512, max: 16 << 20 }, "16KiB")
};
const FILE_SIZE: ParamDef = ParamDef {
    help: "total size of all files; each is rounded down to a multiple of 4 KiB and has at least one block; the default \
           is the size of the file or device at `path` if that exists",
    scales: true,
    shapes_data: true,
    phrase: Phrase::Pattern("{} of files"),
    ..ParamDef::new("file_size", ParamRole::DataSize, ParamKind::Bytes { min: 512, max: 1 << 50 }, "1GiB")
};
const FILES: ParamDef = ParamDef {
    help: "number of files of equal size",
    shapes_data: true,
    phrase: Phrase::Counted { zero: "no file", one: "one file", many: "{} files" },
    ..ParamDef::new("files", ParamRole::Size, ParamKind::Int { min: 1, max: 4096 }, "1")
};
const ACCESS: ParamDef = ParamDef {
    help: "distribution of the blocks that random operations use",
    used_if: Some(UsedIf::one_of("mode", &["rndrd", "rndwr", "rndrw"])),
    phrase: crate::distribution::PHRASE,
    ..ParamDef::new("access", ParamRole::Work, ParamKind::Access, "uniform")
};
const READ_SHARE: ParamDef = ParamDef {
    // 1.5 reads per write, as in sysbench fileio.
    help: "share of reads in mode rndrw, 0 to 1",
    used_if: Some(UsedIf::one_of("mode", &["rndrw"])),
    phrase: Phrase::Pattern("a read share of {}"),
    ..ParamDef::new("read_share", ParamRole::Work, ParamKind::Float { min: 0.0, max: 1.0 }, "0.6")
};
const CURSOR: ParamDef = ParamDef {
    help: "sequential modes: each client has a `region` of its own, or all clients have one `shared` position, as in sysbench",
    used_if: Some(UsedIf::one_of("mode", &["seqrd", "seqwr"])),
    phrase: Phrase::Words(&[("region", "own regions"), ("shared", "a shared cursor")]),
    ..ParamDef::new("cursor", ParamRole::Work, ParamKind::OneOf(&["region", "shared"]), "region")
};

const FSYNC: ParamDef = ParamDef {
    help: "system call that flushes writes to the device (`fsync` or `fdatasync`); counted as its own kind of operation; `none` = no flush",
    used_if: Some(UsedIf::one_of("mode", &["rndwr", "rndrw", "seqwr"])),
    phrase: Phrase::Words(&[
        ("none", "no sync"),
        ("fsync", "syncs of data and metadata"),
        ("fdatasync", "syncs of the data"),
    ]),
    ..ParamDef::new("fsync", ParamRole::Work, ParamKind::OneOf(&["none", "fsync", "fdatasync"]), "none")
};
const FSYNC_EVERY: ParamDef = ParamDef {
    // As sysbench fileio does.
    help: "writes of a client between two syncs of all files; needs `fsync`",
    used_if: Some(UsedIf::one_of("fsync", &["fsync", "fdatasync"])),
    phrase: Phrase::Counted { zero: "no sync", one: "a sync after each write", many: "a sync after {} writes" },
    ..ParamDef::new("fsync_every", ParamRole::Work, ParamKind::Int { min: 1, max: 1 << 32 }, "100")
};

const READ: OpKind = OpKind(0);
const WRITE: OpKind = OpKind(1);
const SYNC: OpKind = OpKind(2);
const FILL: OpKind = OpKind(3);
const FILL_WRITE: u64 = 1 << 20;
/// The largest logical block that a device is likely to have.
const ALIGNMENT: u64 = 4096;

/// The length of each file: a multiple of 4 KiB, and at least one block.
fn file_bytes(params: &Params) -> Bytes {
    let size = params.bytes("file_size").0 / params.int("files") / ALIGNMENT * ALIGNMENT;
    Bytes(size.max(params.bytes("block").0.next_multiple_of(ALIGNMENT)))
}

fn io_program(input: &ProgramInput) -> IoProgram {
    let (params, seed) = (input.params, input.seed);
    let (block, file_bytes) = (params.bytes("block"), file_bytes(params));
    let files = u16::try_from(params.int("files")).expect("`files` is declared within bounds that fit");
    let fill = fill_stream(files, file_bytes, FILL);
    IoProgram {
        files,
        file_bytes,
        block,
        granule: block,
        fill_block: fill.block,
        reads: matches!(params.word("mode"), "rndrd" | "rndrw" | "seqrd"),
        writes: matches!(params.word("mode"), "rndwr" | "rndrw" | "seqwr"),
        kinds: op_kinds(params),
        load: fill.stream,
        run: run_stream(params, seed, BlockSpace { block, files: files.into(), per_file: file_bytes.0 / block.0 }),
    }
}

fn op_kinds(params: &Params) -> Vec<OpKindDef> {
    let sync = sync_of(params).unwrap_or(IoKind::Fsync).as_str();
    let all = [("read", OpClass::Read), ("write", OpClass::Write), (sync, OpClass::Sync), ("fill", OpClass::Write)];
    all.map(|(name, class)| OpKindDef::without_rows(name, class)).to_vec()
}

fn work_traits(params: &Params) -> WorkTraits {
    let (pattern, read_share) = match params.word("mode") {
        "rndrd" => (AccessPattern::Random, 1.0),
        "rndwr" => (AccessPattern::Random, 0.0),
        "rndrw" => (AccessPattern::Random, params.float("read_share")),
        "seqrd" => (AccessPattern::Sequential, 1.0),
        "seqwr" => (AccessPattern::Sequential, 0.0),
        other => unreachable!("`mode` is declared without `{other}`"),
    };
    let io = IoWork { block: params.bytes("block"), pattern, read_share, syncs: sync_of(params).is_some() };
    WorkTraits { io: Some(io), ..WorkTraits::default() }
}

/// The call that syncs; `None` for no syncs.
fn sync_of(params: &Params) -> Option<IoKind> {
    match params.word("fsync") {
        "none" => None,
        "fsync" => Some(IoKind::Fsync),
        "fdatasync" => Some(IoKind::Fdatasync),
        other => unreachable!("`fsync` is declared without `{other}`"),
    }
}

fn run_stream(params: &Params, seed: u64, blocks: BlockSpace) -> OpStream<IoOp> {
    let transfers = transfer_stream(params, seed, blocks);
    match sync_of(params) {
        None => transfers,
        Some(sync) => with_syncs(transfers, sync, params.int("fsync_every"), blocks.files as u16),
    }
}

fn transfer_stream(params: &Params, seed: u64, blocks: BlockSpace) -> OpStream<IoOp> {
    let access = distribution::from_access(params.access("access"), blocks.block_count());
    let read_share = match params.word("mode") {
        "rndrd" => 1.0,
        "rndwr" => 0.0,
        "rndrw" => params.float("read_share"),
        "seqrd" => return sequential_stream(params, blocks, IoKind::Read),
        "seqwr" => return sequential_stream(params, blocks, IoKind::Write),
        other => unreachable!("`mode` is declared without `{other}`"),
    };
    OpStream::new(None, 1, move |slot| RandomBlocks::new(slot, seed, blocks, access, read_share))
}

fn sequential_stream(params: &Params, blocks: BlockSpace, io: IoKind) -> OpStream<IoOp> {
    match params.word("cursor") {
        "region" => OpStream::new(None, 1, move |slot| RegionBlocks::new(slot, blocks, io)),
        "shared" => shared_cursor(blocks, io),
        other => unreachable!("`cursor` is declared without `{other}`"),
    }
}

/// The full blocks of all files, one file after the other.
#[derive(Clone, Copy)]
struct BlockSpace {
    block: Bytes,
    files: u64,
    per_file: u64,
}

impl BlockSpace {
    fn block_count(self) -> u64 {
        self.files * self.per_file
    }

    #[inline]
    fn op_on(self, io: IoKind, block: u64) -> IoOp {
        let op_kind = if io == IoKind::Read { READ } else { WRITE };
        // A division takes longer than all the rest of an operation with uniform access.
        let (file, block) = if self.files == 1 { (0, block) } else { (block / self.per_file, block % self.per_file) };
        IoOp { op_kind, io, file: file as u16, at: Offset(block * self.block.0), len: self.block, due: Nanos(0) }
    }
}

/// Blocks drawn from the access distribution, reads and writes by chance.
struct RandomBlocks {
    rng: Rng,
    access: Distribution,
    blocks: BlockSpace,
    /// Reads among 2^53 operations.
    reads: u64,
}

impl RandomBlocks {
    fn new(slot: ClientIndex, seed: u64, blocks: BlockSpace, access: Distribution, read_share: f64) -> Self {
        // As an integer, so that a draw is one comparison; 53 bits, since a float has no more.
        let reads = (read_share * (1u64 << 53) as f64) as u64;
        RandomBlocks { rng: client_rng(seed, slot.client), access, blocks, reads }
    }
}

impl Workload<IoOp> for RandomBlocks {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            let io = if self.rng.next_u64() >> 11 < self.reads { IoKind::Read } else { IoKind::Write };
            *op = self.blocks.op_on(io, self.access.draw(&mut self.rng));
        }
    }
}

/// One block after the other within the client's region, again and again.
struct RegionBlocks {
    blocks: BlockSpace,
    io: IoKind,
    region: Range<u64>,
    next: u64,
}

impl RegionBlocks {
    fn new(slot: ClientIndex, blocks: BlockSpace, io: IoKind) -> Self {
        let share = slot.share_of(blocks.block_count());
        // With more clients than blocks some have no region and share their neighbour's block.
        let region = if share.is_empty() { share.start..share.start + 1 } else { share };
        RegionBlocks { blocks, io, next: region.start, region }
    }
}

impl Workload<IoOp> for RegionBlocks {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            *op = self.blocks.op_on(self.io, self.next);
            self.next += 1;
            if self.next == self.region.end {
                self.next = self.region.start;
            }
        }
    }
}

/// One block after the other over all clients, again and again.
struct SharedCursor {
    blocks: BlockSpace,
    io: IoKind,
    next: Arc<AtomicU64>,
}

/// The sources of this stream are made one operation ahead: a block is taken from the cursor when it is about to be accessed.
fn shared_cursor(blocks: BlockSpace, io: IoKind) -> OpStream<IoOp> {
    let next = Arc::new(AtomicU64::new(0));
    OpStream { ahead: 1, ..OpStream::new(None, 1, move |_| SharedCursor { blocks, io, next: next.clone() }) }
}

impl Workload<IoOp> for SharedCursor {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            *op = self.blocks.op_on(self.io, self.next.fetch_add(1, Relaxed) % self.blocks.block_count());
        }
    }
}

/// The transfers of a client, with a sync of every file after so many writes.
struct SyncingTransfers {
    transfers: Box<dyn Workload<IoOp>>,
    sync: IoKind,
    every: u64,
    files: u16,
    /// Writes since the last sync.
    writes: u64,
    /// The file to sync next, while files are synced.
    syncing: Option<u16>,
}

fn with_syncs(transfers: OpStream<IoOp>, sync: IoKind, every: u64, files: u16) -> OpStream<IoOp> {
    let OpStream { make, .. } = transfers;
    let make = Box::new(move |slot| -> Box<dyn Workload<IoOp>> {
        Box::new(SyncingTransfers { transfers: make(slot), sync, every, files, writes: 0, syncing: None })
    });
    OpStream { make, ..transfers }
}

impl Workload<IoOp> for SyncingTransfers {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            if let Some(file) = self.syncing {
                *op = IoOp { op_kind: SYNC, io: self.sync, file, ..IoOp::default() };
                self.syncing = Some(file + 1).filter(|next| *next < self.files);
                continue;
            }
            self.transfers.fill_ops(std::slice::from_mut(op));
            self.writes += u64::from(op.io == IoKind::Write);
            if self.writes == self.every {
                (self.writes, self.syncing) = (0, Some(0));
            }
        }
    }
}

/// The filling of files.
pub(crate) struct FillStream {
    pub(crate) stream: OpStream<IoOp>,
    /// The size of its largest write.
    pub(crate) block: Bytes,
}

/// Fills `files` files of `file_bytes` with operations of `kind`.
pub(crate) fn fill_stream(files: u16, file_bytes: Bytes, kind: OpKind) -> FillStream {
    // Writes of 1 MiB whatever the block of the run is: filling by blocks of 4 KiB would take much longer.
    let writes = u64::from(files) * fill_writes_each(file_bytes);
    let make = move |slot: ClientIndex| FileFill { kind, writes: slot.share_of(writes), file_bytes };
    FillStream { stream: OpStream::new(Some(writes), 1, make), block: Bytes(FILL_WRITE) }
}

/// The client's share of the files, written once from beginning to end. Afterwards slots are writes of no bytes.
struct FileFill {
    kind: OpKind,
    writes: Range<u64>,
    file_bytes: Bytes,
}

fn fill_writes_each(file_bytes: Bytes) -> u64 {
    file_bytes.0.div_ceil(FILL_WRITE)
}

impl Workload<IoOp> for FileFill {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        let each = fill_writes_each(self.file_bytes);
        for op in ops {
            let (file, at) = match self.writes.next() {
                Some(write) => ((write / each) as u16, write % each * FILL_WRITE),
                None => (0, self.file_bytes.0),
            };
            let len = Bytes(FILL_WRITE.min(self.file_bytes.0 - at));
            *op = IoOp { op_kind: self.kind, io: IoKind::Write, file, at: Offset(at), len, due: Nanos(0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequenceState;
    use crate::tests::params;
    use proptest::prelude::*;

    fn program_with(changes: &[(&str, &str)]) -> IoProgram {
        io_program(&ProgramInput::new(&params(&FILE.entry, changes), 1, &SequenceState::default()))
    }

    fn ops(stream: &OpStream<IoOp>, slot: ClientIndex, count: usize) -> Vec<IoOp> {
        let mut ops = vec![IoOp::default(); count];
        (stream.make)(slot).fill_ops(&mut ops);
        ops
    }

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

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
            // Standard deviation 0.005.
            let tolerance = if mode == "rndrw" { 0.025 } else { 0.0 };
            assert!((reads - share).abs() <= tolerance, "{mode}: {reads}");
            assert_eq!(program.writes, share < 1.0);
            let name = |io| if io == IoKind::Read { "read" } else { "write" };
            assert!(ops.iter().all(|op| program.kinds[op.op_kind.0 as usize].name == name(op.io)));
        }
    }

    #[test]
    fn a_fill_that_is_repeated_writes_the_same_places_again_and_no_client_writes_those_of_another() {
        for clients in [1, 3] {
            let once = program_with(&[("file_size", "10MiB"), ("files", "2")]).load;
            let twice = program_with(&[("file_size", "10MiB"), ("files", "2")]).load.repeated(2);
            assert_eq!(twice.ops, Some(20));
            for client in 0..clients {
                let slot = ClientIndex { client, clients };
                let each = once.ops_of(slot).expect("a fill ends") as usize;
                assert_eq!(twice.ops_of(slot), Some(2 * each as u64));
                let (one, two) = (ops(&once, slot, each), ops(&twice, slot, 2 * each));
                assert_eq!([&one[..], &one[..]].concat(), two);
                // Made a few at a time, as a client takes them.
                let mut source = (twice.make)(slot);
                let mut slots = vec![IoOp::default(); 4];
                let batches = (0..each.div_ceil(2)).flat_map(|_| {
                    source.fill_ops(&mut slots);
                    slots.clone()
                });
                assert!(batches.take(2 * each).eq(two));
            }
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
            let ops = ops(&program.run, ClientIndex { client, clients }, count);
            ops.iter().map(|op| op.at.0 >> 14).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(blocks(2, 3, 7), [6, 7, 8, 9, 6, 7, 8]);
    }

    #[test]
    fn clients_of_a_shared_cursor_take_the_blocks_in_turn() {
        let program = program_with(&[("mode", "seqwr"), ("file_size", "80KiB"), ("cursor", "shared")]);
        let mut sources = [0, 1].map(|client| (program.run.make)(ClientIndex { client, clients: 2 }));
        assert_eq!(program.run.ahead, 1, "a block that is taken and not accessed would be a gap");
        let mut op = [IoOp::default()];
        let mut turn = |client: usize| {
            sources[client].fill_ops(&mut op);
            op[0].at.0 >> 14
        };
        assert_eq!([0, 1, 1, 0, 0, 1, 1].map(&mut turn), [0, 1, 2, 3, 4, 0, 1]);
    }

    #[test]
    fn sequential_clients_go_from_the_end_of_a_file_to_the_next() {
        // 8 blocks, of which the second of three clients has 2 to 4.
        for (cursor, seen) in [("region", [1, 1, 2, 1, 1]), ("shared", [0, 0, 1, 1, 2])] {
            let settings = [("mode", "seqrd"), ("file_size", "128KiB"), ("files", "4"), ("cursor", cursor)];
            let ops = ops(&program_with(&settings).run, ClientIndex { client: 1, clients: 3 }, 5);
            assert_eq!(ops.iter().map(|op| op.file).collect::<Vec<_>>(), seen, "{cursor}");
        }
    }

    #[test]
    fn random_operations_reach_every_block_of_every_file_and_no_other() {
        let program = program_with(&[("mode", "rndrw"), ("file_size", "320KiB"), ("files", "5")]);
        assert_eq!((program.files, program.file_bytes), (5, Bytes::from_kib(64)));
        let mut seen: Vec<_> = ops(&program.run, ALONE, 2_000).iter().map(|op| (op.file, op.at.0 >> 14)).collect();
        seen.sort_unstable();
        seen.dedup();
        let all: Vec<_> = (0..5).flat_map(|file| (0..4).map(move |block| (file, block))).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn every_file_is_synced_after_so_many_writes_and_reads_do_not_count() {
        for call in ["fsync", "fdatasync"] {
            let settings = [("mode", "rndrw"), ("fsync", call), ("fsync_every", "10"), ("files", "3")];
            let program = program_with(&settings);
            let (mut writes, mut synced) = (0, Vec::new());
            for op in ops(&program.run, ALONE, 5_000) {
                match program.kinds[op.op_kind.0 as usize].name {
                    "read" => assert_eq!((op.io, synced.len() % 3), (IoKind::Read, 0)),
                    "write" => writes += 1,
                    kind => {
                        assert_eq!(
                            (kind, op.io.as_str(), op.len, writes),
                            (call, call, Bytes(0), 10 * (synced.len() / 3 + 1))
                        );
                        synced.push(op.file);
                    }
                }
            }
            assert!(synced.len() > 300 && synced.chunks_exact(3).all(|files| files == [0, 1, 2]), "{synced:?}");
        }
        assert!(
            ops(&program_with(&[("fsync", "fsync"), ("fsync_every", "1")]).run, ALONE, 100)
                .iter()
                .all(|op| op.op_kind == READ)
        );
    }

    #[test]
    fn more_clients_than_blocks_stay_within_the_file() {
        let program = program_with(&[("mode", "seqwr"), ("file_size", "48KiB")]);
        for client in 0..64 {
            let ops = ops(&program.run, ClientIndex { client, clients: 64 }, 10);
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
        fn the_fill_of_all_clients_writes_every_byte_of_every_file_once(
            size in 512u64..20_000_000, files in 1u16..9, clients in 1u32..6
        ) {
            let program = program_with(&[("file_size", &format!("{size}B")), ("files", &files.to_string())]);
            let (mut file, mut end) = (0, 0);
            for client in 0..clients {
                let slot = ClientIndex { client, clients };
                let count = program.load.ops_of(slot).expect("the load ends") as usize;
                for op in ops(&program.load, slot, count) {
                    if end == program.file_bytes.0 {
                        (file, end) = (file + 1, 0);
                    }
                    let kind = program.kinds[op.op_kind.0 as usize].name;
                    prop_assert_eq!((op.file, op.at.0, op.io, kind), (file, end, IoKind::Write, "fill"));
                    prop_assert!(op.len.0 > 0 && op.len.0 % 4096 == 0);
                    end += op.len.0;
                }
                prop_assert_eq!(ops(&program.load, slot, count + 1)[count].len, Bytes(0));
            }
            prop_assert_eq!((file + 1, end), (files, program.file_bytes.0));
        }
    }
}
