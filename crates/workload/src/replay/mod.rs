//! The block requests of a recording, at their own times, on a file or a device.
//!
//! In: a recording that was read, how fast it is to go, where its requests go in the file. Out: [`IoOp`]s in the order of the recording,
//! each with the time at which it falls due; the load part fills the file as that of `file` does.
//! Limits: reads, writes, writes by FUA and flushes are replayed; discards and commands to the device are left out and counted. What is
//! written is other content than what was recorded, which nothing has kept. Clients take the requests from one row: with several
//! clients two requests may change places if a client wakes up late.

mod blkparse;
mod recording;
mod request;
mod tracefs;

pub use recording::{Placement, REQUESTS_MAX, RecordedIo, Recording, parse_device_number};

use crate::file::fill_stream;
use crate::program::{IoProgram, OpKindDef, OpStream, ProgramInput};
use crate::{DataReuse, Workload, WorkloadDef};
use model::{
    AccessPattern, Bytes, Entry, Family, IoKind, IoOp, IoWork, Nanos, OpClass, OpKind, ParamDef, ParamKind, ParamRole,
    Params, RecordedWork, RecordingSummary, Value, WorkTraits,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub static REPLAY: WorkloadDef = WorkloadDef {
    entry: Entry {
        name: "replay",
        spoken: "requests",
        help: "recorded block requests again, at their own times, on a file or device",
        families: &[Family::Io],
        params: &[TRACE, SPEED, PLACES, DEVICE, SAME_DEVICE, FILE_SIZE],
    },
    traits: work_traits,
    data_reuse: |_| DataReuse::Shared,
    data_bytes: |params| params.bytes("file_size"),
    // Writes go to blocks that the fill has written.
    growth_bytes_per_op: |_| Bytes(0),
    io: Some(io_program),
    sql: None,
    kv: None,
    task: None,
    connect: None,
    steps_without_kv: &[],
    // Enough for what a disk has in flight. An open loop keeps its times only if there is a free slot for each request.
    // Each is submitted alone: in a batch the kernel would merge neighbours, which it had merged before they were recorded.
    usual_keys: &[("depth", "128"), ("stamp", "each")],
};

const TRACE: ParamDef = ParamDef {
    help: "recording to replay: output of `blkparse`, or a trace of the kernel's tracefs as `plimsoll record-io` makes it",
    ..ParamDef::new("trace", ParamRole::Work, ParamKind::Recording, "")
};
const SPEED: ParamDef = ParamDef {
    help: "how many times as fast as recorded, or `max` for as fast as it goes: a closed loop in the order of the recording",
    phrase: model::params::SPEED_PHRASE,
    ..ParamDef::new("speed", ParamRole::Work, ParamKind::Speed, "1")
};
const PLACES: ParamDef = ParamDef {
    help: "where requests go: the 1 MiB pieces of the device that they touch, one after the other (`packed`), their offsets on the \
           device (`same`), or these modulo the file's size (`wrapped`)",
    shapes_data: true,
    ..ParamDef::new("places", ParamRole::Work, ParamKind::OneOf(Placement::WORDS), "packed")
};
const DEVICE: ParamDef = ParamDef {
    help: "recorded device to replay, as MAJOR:MINOR; needed if the recording has several",
    ..ParamDef::new("device", ParamRole::Work, ParamKind::Path, "")
};
const SAME_DEVICE: ParamDef = ParamDef {
    help: "allow a device at `path` that has the number of the recorded one",
    ..ParamDef::new("same_device", ParamRole::Tuning, ParamKind::Bool, "false")
};
const FILE_SIZE: ParamDef = ParamDef {
    help: "size of the file; the default is what the requests need, or the size of the file or device at `path` if that exists",
    shapes_data: true,
    ..ParamDef::new("file_size", ParamRole::DataSize, ParamKind::Bytes { min: 512, max: 1 << 54 }, "4096B")
};

const READ: OpKind = OpKind(0);
const WRITE: OpKind = OpKind(1);
const WRITE_FUA: OpKind = OpKind(2);
const FLUSH: OpKind = OpKind(3);
const FILL: OpKind = OpKind(4);
const KINDS: [OpKindDef; 5] = [
    OpKindDef::without_rows("read", OpClass::Read),
    OpKindDef::without_rows("write", OpClass::Write),
    OpKindDef::without_rows("write_fua", OpClass::Write),
    OpKindDef::without_rows("flush", OpClass::Sync),
    OpKindDef::without_rows("fill", OpClass::Write),
];
/// Files are measured in multiples of this.
const ALIGNMENT: u64 = 4096;

/// The figures of the recording that a trial with these parameters replays; `None` of another trial.
pub fn recorded_work(params: &Params) -> Option<&RecordedWork> {
    summary_of(params)?.io.as_ref()
}

fn summary_of(params: &Params) -> Option<&RecordingSummary> {
    match params.0.get(TRACE.name) {
        Some(Value::Recording(summary)) => Some(summary),
        _ => None,
    }
}

/// How many times as fast as recorded a trial with these parameters goes; `None` for as fast as it can.
pub fn speed_of(params: &Params) -> Option<f64> {
    match params.get(SPEED.name) {
        Value::Float(speed) => Some(*speed),
        _ => None,
    }
}

/// When a request falls due that was recorded at `due`.
pub fn due_at(due: Nanos, speed: f64) -> Nanos {
    // A number of nanoseconds below 2^53, 104 days, is exact.
    if speed == 1.0 { due } else { Nanos((due.0 as f64 / speed).round() as u64) }
}

fn file_bytes(params: &Params) -> Bytes {
    // A file is a multiple of the blocks that direct I/O needs; what is on a device may end anywhere.
    match params.bytes(FILE_SIZE.name).0 {
        size if size < ALIGNMENT => Bytes(ALIGNMENT),
        size => Bytes(size / ALIGNMENT * ALIGNMENT),
    }
}

fn work_traits(params: &Params) -> WorkTraits {
    let Some(work) = recorded_work(params) else { return WorkTraits::default() };
    let transfers = work.reads + work.writes;
    let bytes = work.read_bytes.0 + work.written_bytes.0;
    let io = IoWork {
        block: Bytes(bytes.checked_div(transfers).unwrap_or(0)),
        pattern: AccessPattern::Random,
        read_share: work.reads as f64 / transfers.max(1) as f64,
        syncs: work.flushes + work.fua_writes > 0,
    };
    WorkTraits { io: Some(io), ..WorkTraits::default() }
}

fn io_program(input: &ProgramInput) -> IoProgram {
    let (params, file_bytes) = (input.params, file_bytes(input.params));
    let work = recorded_work(params).cloned().unwrap_or_default();
    let fill = fill_stream(1, file_bytes, FILL);
    IoProgram {
        files: 1,
        file_bytes,
        block: work.largest.max(Bytes(ALIGNMENT)),
        granule: work.granule.max(Bytes(512)),
        fill_block: fill.block,
        reads: work.reads > 0,
        writes: work.writes + work.flushes > 0,
        kinds: KINDS.to_vec(),
        load: fill.stream,
        run: run_stream(input, file_bytes),
    }
}

/// The requests. Without the recording itself, which is read when they are performed, they are reads of nothing.
fn run_stream(input: &ProgramInput, file_bytes: Bytes) -> OpStream<IoOp> {
    let ops = summary_of(input.params).map_or(0, |summary| summary.ops);
    let recording = input.recording.cloned().unwrap_or_default();
    let placement = Placement::from_word(input.params.word(PLACES.name));
    let speed = speed_of(input.params).unwrap_or(1.0);
    let next = Arc::new(AtomicU64::new(0));
    let requests =
        move |_| RecordedRequests { recording: recording.clone(), placement, speed, file_bytes, next: next.clone() };
    // One at a time and whoever is free: a request that a client has made ahead would wait for that client.
    OpStream { ahead: 1, ..OpStream::new(Some(ops), 1, requests) }.with_shared_budget()
}

/// The requests that the clients of a stream take in turn.
struct RecordedRequests {
    recording: Arc<Recording>,
    placement: Placement,
    speed: f64,
    file_bytes: Bytes,
    next: Arc<AtomicU64>,
}

impl Workload<IoOp> for RecordedRequests {
    fn fill_ops(&mut self, ops: &mut [IoOp]) {
        for op in ops {
            let nth = self.next.fetch_add(1, Relaxed);
            *op = self.recording.request(nth).map_or(IoOp::default(), |io| self.op_of(&io));
        }
    }
}

impl RecordedRequests {
    fn op_of(&self, io: &RecordedIo) -> IoOp {
        let op_kind = match io.io {
            IoKind::Read => READ,
            IoKind::Write => WRITE,
            IoKind::WriteFua => WRITE_FUA,
            IoKind::Fsync | IoKind::Fdatasync => FLUSH,
        };
        let at = self.recording.offset_in(io, self.placement, self.file_bytes);
        IoOp { op_kind, io: io.io, file: 0, at, len: io.len, due: due_at(io.due, self.speed) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::params;
    use crate::{ClientIndex, SequenceState};
    use model::Offset;

    const RECORDED: &str = "\
8,0 1 1 10.000000000 9 D R 8192 + 8 [a]
8,0 1 2 10.000000300 9 D WS 2048 + 16 [a]
8,0 1 3 11.000000000 9 D WFS 0 + 1 [a]
8,0 1 4 11.000000001 9 D FN [a]
";

    fn recording() -> Arc<Recording> {
        Arc::new(Recording::from_text(RECORDED.as_bytes(), None).unwrap())
    }

    /// The figures of a recording that is not read: its requests are reads of nothing.
    pub(crate) fn summary() -> RecordingSummary {
        RecordingSummary {
            path: "t".into(),
            ops: 4,
            length: Nanos(9),
            io: Some(RecordedWork::default()),
            sessions: None,
        }
    }

    fn params_of(speed: Value, places: &str) -> Params {
        let mut params = params(&REPLAY.entry, &[("places", places)]);
        let recording = recording();
        let io = recording.figures(Placement::from_word(places));
        params.0.insert("file_size".into(), Value::Bytes(io.data));
        let summary =
            RecordingSummary { path: "t".into(), ops: 4, length: recording.length(), io: Some(io), sessions: None };
        params.0.insert("trace".into(), Value::Recording(Box::new(summary)));
        params.0.insert("speed".into(), speed);
        params
    }

    fn program(params: &Params) -> IoProgram {
        let (sequence, recording) = (SequenceState::default(), recording());
        io_program(&ProgramInput { recording: Some(&recording), ..ProgramInput::new(params, 1, &sequence) })
    }

    #[test]
    fn requests_are_dealt_in_their_order_with_the_times_of_the_speed() {
        let program = program(&params_of(Value::Float(2.0), "packed"));
        let mut sources = [0, 1].map(|client| (program.run.make)(ClientIndex { client, clients: 2 }));
        let mut take = |client: usize| {
            let mut op = [IoOp::default()];
            sources[client].fill_ops(&mut op);
            op[0]
        };
        let taken = [0, 1, 1, 0].map(&mut take);
        let due = taken.map(|op| op.due.0);
        assert_eq!(due, [0, 150, 500_000_000, 500_000_001]);
        assert_eq!(taken.map(|op| program.kinds[op.op_kind.0 as usize].name), ["read", "write", "write_fua", "flush"]);
        assert_eq!(
            taken.map(|op| (op.at, op.len.0 / 512)),
            [(2, 8), (1, 16), (0, 1), (0, 0)].map(|(mib, n)| (Offset(mib << 20), n))
        );
        assert_eq!((program.run.ops, program.run.ahead, program.file_bytes), (Some(4), 1, Bytes::from_mib(3)));
        assert_eq!(
            (program.granule, program.block, program.reads, program.writes),
            (Bytes(512), Bytes(8192), true, true)
        );
        assert_eq!(take(0), IoOp::default(), "beyond the end");
    }

    #[test]
    fn the_work_is_that_of_the_recording() {
        let io = work_traits(&params_of(Value::Word("max".into()), "same")).io.unwrap();
        assert_eq!((io.block, io.syncs), (Bytes(25 * 512 / 3), true));
        assert!((io.read_share - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(REPLAY.run_ops(&params_of(Value::Float(1.0), "same")), Some(4));
    }
}
