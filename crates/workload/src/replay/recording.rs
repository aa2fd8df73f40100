//! A recording of block requests, in memory.
//!
//! In: lines of text in one of the formats. Out: the requests in their order, each with its time, its place and its size; figures of all.
//! Limits: 16 bytes a request and [`REQUESTS_MAX`] of them; places below 8 PiB and sizes below 64 MiB. Times may go back by
//! [`DISORDER_MAX_NS`], because a tool that merges the events of several CPUs may write them late; the requests are sorted then.

use super::request::{BlockEvent, BlockRequest, DeviceNumber, RecordedLine, Stage, Transfer, parse_digits, quoted};
use super::{blkparse, tracefs};
use crate::recording_error::RecordingError;
use model::{Bytes, IoKind, Nanos, Offset, RecordedWork};
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, Read};

/// The most requests of one recording: 800 MB in memory.
pub const REQUESTS_MAX: usize = 50_000_000;

/// A recording may be sorted, but two of them, one behind the other, are no recording.
const DISORDER_MAX_NS: u64 = 10_000_000_000;

/// No line of any of the formats is longer.
const LINE_BYTES_MAX: u64 = 4096;

/// A file whose first so many lines are of no known format has none further down.
const UNKNOWN_LINES_MAX: u64 = 10_000;

/// The devices that are counted; a machine has fewer.
const DEVICES_MAX: usize = 256;

/// What begins the files of blktrace itself (`BLK_IO_TRACE_MAGIC`, in both byte orders).
const BLKTRACE_MAGIC: [[u8; 3]; 2] = [[0x65, 0x61, 0x74], [0x74, 0x61, 0x65]];

const SECTOR: u64 = 512;
/// The data that a file needs is counted in pieces of this size.
const PIECE: u64 = 1 << 20;

const SECTOR_BITS: u32 = 44;
const COUNT_BITS: u32 = 17;

/// One request in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedIo {
    due_ns: u64,
    /// From the top: the first sector, the number of sectors, what it does.
    bits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedIo {
    /// When it began, after the first request.
    pub due: Nanos,
    pub io: IoKind,
    /// Where, on the device.
    pub at: Offset,
    /// How much; 0 of a flush.
    pub len: Bytes,
}

impl PackedIo {
    fn new(due_ns: u64, io: IoKind, sector: u64, sectors: u64) -> PackedIo {
        let code = match io {
            IoKind::Read => 0,
            IoKind::Write => 1,
            IoKind::WriteFua => 2,
            IoKind::Fsync | IoKind::Fdatasync => 3,
        };
        PackedIo { due_ns, bits: sector << (COUNT_BITS + 3) | sectors << 3 | code }
    }

    fn unpacked(self) -> RecordedIo {
        let io = [IoKind::Read, IoKind::Write, IoKind::WriteFua, IoKind::Fdatasync][(self.bits & 3) as usize];
        RecordedIo {
            due: Nanos(self.due_ns),
            io,
            at: Offset(self.sector() * SECTOR),
            len: Bytes(self.sectors() * SECTOR),
        }
    }

    fn sector(self) -> u64 {
        self.bits >> (COUNT_BITS + 3)
    }

    fn sectors(self) -> u64 {
        self.bits >> 3 & ((1 << COUNT_BITS) - 1)
    }
}

/// Where the requests of a recording go in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The pieces of 1 MiB that the recording touches follow each other in the order of the device; what it leaves out takes no space.
    Packed,
    /// At the offsets that they had on the device.
    Same,
    /// At the remainder of these offsets by the size of the file.
    Wrapped,
}

impl Placement {
    /// The words for them.
    pub const WORDS: &[&str] = &["packed", "same", "wrapped"];

    /// The placement of that word.
    ///
    /// # Panics
    /// If it is none of [`Placement::WORDS`].
    pub fn from_word(word: &str) -> Placement {
        match word {
            "packed" => Placement::Packed,
            "same" => Placement::Same,
            "wrapped" => Placement::Wrapped,
            other => unreachable!("`places` is declared without `{other}`"),
        }
    }
}

#[derive(Debug, Default)]
pub struct Recording {
    ios: Vec<PackedIo>,
    /// The numbers of the pieces of the device that are touched, in rising order.
    pieces: Vec<u64>,
    device: DeviceNumber,
    discards: u64,
    others: u64,
    lost: u64,
    is_cut: bool,
}

impl Recording {
    /// Reads the requests to `device`, or to the one device that there is, from the lines of `text`.
    ///
    /// # Errors
    /// The first line that cannot be understood, or why nothing can be replayed. An error of the reader is one of the line.
    pub fn from_text(text: impl BufRead, device: Option<DeviceNumber>) -> Result<Recording, RecordingError> {
        let mut builder = RecordingBuilder::new(device);
        builder.read_all(text)?;
        builder.finish()
    }

    /// How many requests there are.
    pub fn len(&self) -> u64 {
        self.ios.len() as u64
    }

    /// Whether there is none, which is no recording that was read.
    pub fn is_empty(&self) -> bool {
        self.ios.is_empty()
    }

    /// From the first request to the last.
    pub fn length(&self) -> Nanos {
        Nanos(self.ios.last().map_or(0, |io| io.due_ns))
    }

    /// The last line was cut off and is left out.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The requests in the order of their times.
    pub fn requests(&self) -> impl Iterator<Item = RecordedIo> {
        self.ios.iter().map(|io| io.unpacked())
    }

    /// The request with that number.
    #[inline]
    pub fn request(&self, nth: u64) -> Option<RecordedIo> {
        self.ios.get(nth as usize).map(|io| io.unpacked())
    }

    /// How many requests begin within the first `length`.
    pub fn count_within(&self, is_before: impl Fn(Nanos) -> bool) -> u64 {
        self.ios.partition_point(|io| is_before(Nanos(io.due_ns))) as u64
    }

    /// How much data a file must have for the requests.
    pub fn data_needed(&self, placement: Placement) -> Bytes {
        let largest = self.requests().map(|io| io.len.0).max().unwrap_or(0);
        Bytes(match placement {
            Placement::Packed => (self.pieces.len() as u64 * PIECE).max(PIECE),
            Placement::Same => self.requests().map(|io| io.at.0 + io.len.0).max().unwrap_or(0).max(SECTOR),
            Placement::Wrapped => largest.max(SECTOR),
        })
    }

    /// The offset of `io` in a file of `file` bytes, which is as large as [`Recording::data_needed`] says.
    #[inline]
    pub fn offset_in(&self, io: &RecordedIo, placement: Placement, file: Bytes) -> Offset {
        match placement {
            Placement::Same => io.at,
            Placement::Packed => {
                let rank = self.pieces.binary_search(&(io.at.0 / PIECE)).unwrap_or(0) as u64;
                Offset(rank * PIECE + io.at.0 % PIECE)
            }
            // A request that would go beyond the end is moved back to end there.
            Placement::Wrapped => Offset((io.at.0 % file.0.max(SECTOR)).min(file.0.saturating_sub(io.len.0))),
        }
    }

    /// The figures of the requests.
    pub fn figures(&self, placement: Placement) -> RecordedWork {
        let (major, minor) = self.device;
        let mut all = RecordedWork {
            device: format!("{major}:{minor}"),
            data: self.data_needed(placement),
            granule: Bytes(self.granule()),
            discards: self.discards,
            others: self.others,
            lost: self.lost,
            ..RecordedWork::default()
        };
        for io in self.requests() {
            all.largest = all.largest.max(io.len);
            match io.io {
                IoKind::Read => (all.reads, all.read_bytes.0) = (all.reads + 1, all.read_bytes.0 + io.len.0),
                IoKind::Write | IoKind::WriteFua => {
                    (all.writes, all.written_bytes.0) = (all.writes + 1, all.written_bytes.0 + io.len.0);
                    all.fua_writes += u64::from(io.io == IoKind::WriteFua);
                }
                IoKind::Fsync | IoKind::Fdatasync => all.flushes += 1,
            }
        }
        all
    }

    /// The largest power of two of which all offsets and sizes are multiples, at most 4 KiB: no disk has larger blocks.
    fn granule(&self) -> u64 {
        const GRANULE_MAX: u64 = 4096;
        let bits = self.ios.iter().fold(GRANULE_MAX / SECTOR, |bits, io| bits | io.sector() | io.sectors());
        SECTOR << bits.trailing_zeros()
    }
}

/// What was left out or is missing, so far.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    discards: u64,
    others: u64,
}

/// The format of the lines, as soon as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextFormat {
    Blkparse,
    Tracefs,
}

/// A recording that is being read.
struct RecordingBuilder {
    wanted: Option<DeviceNumber>,
    format: Option<TextFormat>,
    line: u64,
    /// Of which stage the requests are. When the first event of a later stage comes, those of earlier stages are dropped.
    stage: Stage,
    ios: Vec<PackedIo>,
    /// The requests of each device, and the last device that was seen.
    devices: BTreeMap<DeviceNumber, u64>,
    latest_ns: u64,
    is_disordered: bool,
    left_out: LeftOut,
    lost: u64,
    is_cut: bool,
    has_ended: bool,
}

impl RecordingBuilder {
    fn new(wanted: Option<DeviceNumber>) -> RecordingBuilder {
        RecordingBuilder {
            wanted,
            format: None,
            line: 0,
            stage: Stage::Queued,
            ios: Vec::new(),
            devices: BTreeMap::new(),
            latest_ns: 0,
            is_disordered: false,
            left_out: LeftOut::default(),
            lost: 0,
            is_cut: false,
            has_ended: false,
        }
    }

    fn read_all(&mut self, mut text: impl BufRead) -> Result<(), RecordingError> {
        let mut bytes = Vec::new();
        while !self.has_ended {
            bytes.clear();
            self.line += 1;
            let read = read_line(&mut text, &mut bytes).map_err(|error| self.error(model::system_words(&error)))?;
            if read == 0 {
                break;
            }
            self.take_bytes(&bytes)?;
        }
        Ok(())
    }

    fn take_bytes(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        let has_end = bytes.last() == Some(&b'\n');
        if self.line == 1 && BLKTRACE_MAGIC.iter().any(|magic| bytes.windows(3).take(2).any(|start| start == magic)) {
            return Err(self.error("this is a file of blktrace itself; make text of it with `blkparse -i FILE`"));
        }
        if !has_end && bytes.len() as u64 >= LINE_BYTES_MAX {
            return Err(self.error(format!("it is longer than {LINE_BYTES_MAX} bytes, so this is no recording")));
        }
        if bytes.contains(&0) {
            return Err(self.error("it holds a zero byte, so this is no text"));
        }
        // A command may have a name in any encoding; it is not looked at.
        let line = String::from_utf8_lossy(bytes);
        match self.take_line(line.trim_end_matches(['\n', '\r'])) {
            // A recorder that was killed has left a part of its last line.
            Err(_) if !has_end && self.format.is_some() => {
                self.is_cut = true;
                Ok(())
            }
            taken => taken,
        }
    }

    fn take_line(&mut self, line: &str) -> Result<(), RecordingError> {
        let parsed = self.parse_line(line).map_err(|what| self.error(what))?;
        match parsed {
            RecordedLine::Event(event) => self.take_event(event),
            RecordedLine::Lost(events) => {
                self.lost = self.lost.saturating_add(events);
                Ok(())
            }
            RecordedLine::Figures => {
                self.has_ended = true;
                Ok(())
            }
            RecordedLine::Ignored => Ok(()),
            RecordedLine::Foreign if line.starts_with('#') => Ok(()),
            RecordedLine::Foreign if self.format.is_some() => {
                Err(self.error(format!("{} is no line of this recording; it may be cut off", quoted(line))))
            }
            RecordedLine::Foreign if self.line > UNKNOWN_LINES_MAX => Err(unknown_format()),
            RecordedLine::Foreign => Ok(()),
        }
    }

    /// Reads `line` in the format of the others; the first line that fits one decides which it is.
    fn parse_line(&mut self, line: &str) -> Result<RecordedLine, String> {
        match self.format {
            Some(TextFormat::Blkparse) => return blkparse::parse_line(line),
            Some(TextFormat::Tracefs) => return tracefs::parse_line(line),
            None if line.trim().is_empty() => return Ok(RecordedLine::Ignored),
            None => {}
        }
        for (format, parsed) in
            [(TextFormat::Tracefs, tracefs::parse_line(line)), (TextFormat::Blkparse, blkparse::parse_line(line))]
        {
            if !matches!(parsed, Ok(RecordedLine::Foreign | RecordedLine::Figures)) {
                self.format = Some(format);
                return parsed;
            }
        }
        Ok(RecordedLine::Foreign)
    }

    fn take_event(&mut self, event: BlockEvent) -> Result<(), RecordingError> {
        if event.stage > self.stage {
            self.stage = event.stage;
            self.ios.clear();
            self.devices.clear();
            (self.left_out, self.latest_ns, self.is_disordered) = (LeftOut::default(), 0, false);
        }
        if event.stage < self.stage || self.wanted.is_some_and(|wanted| wanted != event.device) {
            if self.devices.len() < DEVICES_MAX {
                self.devices.entry(event.device).or_insert(0);
            }
            return Ok(());
        }
        self.check_time(event.at_ns)?;
        match event.request {
            BlockRequest::Discard => self.left_out.discards += 1,
            BlockRequest::Other => self.left_out.others += 1,
            BlockRequest::Flush => self.push_io(&event, IoKind::Fdatasync, 0, 0)?,
            BlockRequest::Transfer { what, flush_before, sector, sectors } => {
                if flush_before {
                    self.push_io(&event, IoKind::Fdatasync, 0, 0)?;
                }
                let io = match what {
                    Transfer::Read => IoKind::Read,
                    Transfer::Write => IoKind::Write,
                    Transfer::WriteFua => IoKind::WriteFua,
                };
                self.push_io(&event, io, sector, sectors)?;
            }
        }
        Ok(())
    }

    fn check_time(&mut self, at_ns: u64) -> Result<(), RecordingError> {
        if at_ns.saturating_add(DISORDER_MAX_NS) < self.latest_ns {
            let back = Nanos(self.latest_ns - at_ns);
            return Err(self.error(format!(
                "its time is {back} before that of an earlier line; are these two recordings in one file?"
            )));
        }
        self.is_disordered |= at_ns < self.latest_ns;
        self.latest_ns = self.latest_ns.max(at_ns);
        Ok(())
    }

    fn push_io(&mut self, event: &BlockEvent, io: IoKind, sector: u64, sectors: u64) -> Result<(), RecordingError> {
        if sector.saturating_add(sectors) >= 1 << SECTOR_BITS {
            return Err(self.error(format!("sector {sector} is beyond 8 PiB, so this is no request to a disk")));
        }
        if sectors >= 1 << COUNT_BITS {
            return Err(self.error(format!("a request of {sectors} sectors is larger than any; 64 MiB are the most")));
        }
        if self.ios.len() >= REQUESTS_MAX {
            let text = format!("there are more than {REQUESTS_MAX} requests; replay a part of the recording");
            return Err(self.error(text));
        }
        if self.devices.len() >= DEVICES_MAX && !self.devices.contains_key(&event.device) {
            return Err(self.error("it has requests of more devices than a machine has"));
        }
        *self.devices.entry(event.device).or_insert(0) += 1;
        self.ios.push(PackedIo::new(event.at_ns, io, sector, sectors));
        Ok(())
    }

    fn finish(mut self) -> Result<Recording, RecordingError> {
        if self.format.is_none() {
            return Err(unknown_format());
        }
        if self.ios.is_empty() {
            return Err(self.nothing_to_replay());
        }
        let device = self.one_device()?;
        if self.is_disordered {
            // Stable: requests of one time keep the order of their lines.
            self.ios.sort_by_key(|io| io.due_ns);
        }
        let start_ns = self.ios[0].due_ns;
        let mut pieces = HashSet::new();
        for io in &mut self.ios {
            io.due_ns -= start_ns;
            if io.sectors() > 0 {
                let last = (io.sector() + io.sectors() - 1) * SECTOR / PIECE;
                pieces.extend(io.sector() * SECTOR / PIECE..=last);
            }
        }
        let mut pieces: Vec<u64> = pieces.into_iter().collect();
        pieces.sort_unstable();
        self.ios.shrink_to_fit();
        let LeftOut { discards, others } = self.left_out;
        Ok(Recording { ios: self.ios, pieces, device, discards, others, lost: self.lost, is_cut: self.is_cut })
    }

    fn nothing_to_replay(&self) -> RecordingError {
        let others: Vec<String> = self.devices.keys().map(device_text).collect();
        let what = match self.wanted {
            Some(wanted) if !others.is_empty() => {
                format!("it has no request to device `{}`, but to {}", device_text(&wanted), others.join(", "))
            }
            _ => "it has no read, write or flush of a block device, so there is nothing to replay".to_owned(),
        };
        RecordingError::of_file(what)
    }

    fn one_device(&self) -> Result<DeviceNumber, RecordingError> {
        let used: Vec<(&DeviceNumber, &u64)> = self.devices.iter().filter(|(_, requests)| **requests > 0).collect();
        match used.as_slice() {
            [(device, _)] => Ok(**device),
            several => {
                let all = several.iter().map(|(device, requests)| format!("`{}` ({requests})", device_text(device)));
                let what = format!(
                    "it has requests to several devices: {}; choose one of them with `device`",
                    all.collect::<Vec<_>>().join(", ")
                );
                Err(RecordingError::of_file(what))
            }
        }
    }

    fn error(&self, what: impl Into<String>) -> RecordingError {
        RecordingError::at(self.line, what)
    }
}

/// Reads one line, its end included, or as much of it as a line may have.
fn read_line(text: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<usize> {
    text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', bytes)
}

fn unknown_format() -> RecordingError {
    let what = "it is in no format that plimsoll knows: neither the output of `blkparse` nor a trace of the kernel's tracefs with the \
                events `block_rq_issue`, `block_rq_insert` or `block_bio_queue`";
    RecordingError::of_file(what)
}

fn device_text((major, minor): &DeviceNumber) -> String {
    format!("{major}:{minor}")
}

/// Reads `MAJOR:MINOR`; `None` if it is something else.
pub fn parse_device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some((parse_digits(major)?, parse_digits(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Recording, String> {
        read_of(text, None)
    }

    fn read_of(text: &str, device: Option<DeviceNumber>) -> Result<Recording, String> {
        Recording::from_text(text.as_bytes(), device).map_err(|error| error.to_string())
    }

    /// A line of blkparse.
    fn line(at_ns: u64, action: &str, letters: &str, sector: u64, sectors: u64) -> String {
        let (seconds, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        format!("  8,0    1       11 {seconds:5}.{ns:09}   697  {action}   {letters} {sector} + {sectors} [a b]\n")
    }

    fn seen(recording: &Recording) -> Vec<(u64, IoKind, u64, u64)> {
        recording.requests().map(|io| (io.due.0, io.io, io.at.0 / 512, io.len.0 / 512)).collect()
    }

    #[test]
    fn requests_begin_with_the_first_and_are_those_that_the_device_saw() {
        let text = [
            line(5_000, "Q", "WS", 100, 8),
            line(6_000, "I", "WS", 100, 8),
            line(7_000, "D", "WS", 100, 16),
            line(8_000, "Q", "R", 3, 1),
            line(9_500, "D", "WFS", 3, 1),
            line(9_600, "C", "WS", 100, 16),
            line(9_700, "D", "FWS", 9, 2),
            line(9_800, "D", "D", 0, 4096),
            line(9_900, "D", "N", 0, 0),
        ]
        .concat();
        let recording = read(&text).unwrap();
        let expected = [
            (0, IoKind::Write, 100, 16),
            (2_500, IoKind::WriteFua, 3, 1),
            (2_700, IoKind::Fdatasync, 0, 0),
            (2_700, IoKind::Write, 9, 2),
        ];
        assert_eq!(seen(&recording), expected);
        let figures = recording.figures(Placement::Same);
        assert_eq!((figures.reads, figures.writes, figures.fua_writes, figures.flushes), (0, 3, 1, 1));
        assert_eq!((figures.discards, figures.others, figures.written_bytes), (1, 1, Bytes(19 * 512)));
        assert_eq!((figures.device.as_str(), figures.granule, figures.largest), ("8:0", Bytes(512), Bytes(8192)));
        assert_eq!((recording.length(), recording.len(), recording.is_cut()), (Nanos(2_700), 4, false));
    }

    #[test]
    fn without_events_of_the_driver_those_of_the_scheduler_or_the_caller_are_replayed() {
        let queued = line(5, "Q", "W", 8, 8) + &line(6, "Q", "R", 0, 8);
        assert_eq!(seen(&read(&queued).unwrap()), [(0, IoKind::Write, 8, 8), (1, IoKind::Read, 0, 8)]);
        let inserted = queued + &line(9, "I", "W", 8, 8);
        assert_eq!(seen(&read(&inserted).unwrap()), [(0, IoKind::Write, 8, 8)]);
    }

    #[test]
    fn requests_that_were_written_a_little_late_are_sorted_and_two_recordings_refused() {
        let text = [line(2_000, "D", "W", 1, 1), line(1_000, "D", "W", 2, 1), line(2_000, "D", "W", 3, 1)].concat();
        let sectors: Vec<u64> = seen(&read(&text).unwrap()).iter().map(|io| io.2).collect();
        assert_eq!(sectors, [2, 1, 3]);
        let two = line(60_000_000_000, "D", "W", 1, 1) + &line(0, "D", "W", 2, 1);
        let error = read(&two).unwrap_err();
        assert!(error.starts_with("line 2: its time is 60") && error.contains("two recordings"), "{error}");
    }

    #[test]
    fn one_device_is_replayed_and_the_user_chooses_among_several() {
        let other = line(9, "D", "R", 0, 8).replace("8,0 ", "259,1 ");
        let text = line(5, "D", "W", 8, 8) + &line(6, "D", "W", 8, 8) + &other;
        let error = read(&text).unwrap_err();
        assert_eq!(
            error,
            "it has requests to several devices: `8:0` (2), `259:1` (1); choose one of them with `device`"
        );
        assert_eq!(seen(&read_of(&text, Some((259, 1))).unwrap()), [(0, IoKind::Read, 0, 8)]);
        let none = read_of(&text, Some((9, 9))).unwrap_err();
        assert_eq!(none, "it has no request to device `9:9`, but to 8:0, 259:1");
    }

    #[test]
    fn bad_recordings_are_refused_in_one_line_with_its_number() {
        let good = line(5, "D", "W", 8, 8);
        let first = |text: String| read(&(good.clone() + &text + &good)).unwrap_err();
        assert!(first("8,0 1 2 0.00\n".into()).starts_with("line 2: `8,0 1 2 0.00` is no line of this recording"));
        assert!(first(line(5, "D", "W", 1 << 44, 8)).starts_with("line 2: sector 17592186044416 is beyond 8 PiB"));
        assert!(first(line(5, "D", "W", 8, 1 << 17)).starts_with("line 2: a request of 131072 sectors"));
        assert!(first("8,0\0\n".into()).starts_with("line 2: it holds a zero byte"));
        assert!(first("x".repeat(5_000)).starts_with("line 2: it is longer than 4096 bytes"));
        assert!(first("\u{1b}[31m\n".into()).starts_with("line 2: `\\u{1b}[31m` is no line"), "no control characters");
        for text in ["", "\n\n", "hello\nworld\n", "1,2\n"] {
            assert!(read(text).unwrap_err().starts_with("it is in no format that plimsoll knows"), "{text:?}");
        }
        let nothing = "it has no read, write or flush of a block device, so there is nothing to replay";
        assert_eq!(read(&line(5, "C", "W", 8, 8)).unwrap_err(), nothing);
        assert_eq!(read(&line(5, "D", "D", 8, 8)).unwrap_err(), nothing);
        assert_eq!(read("# tracer: nop\n#\n").unwrap_err(), nothing);
        let binary = Recording::from_text(&[0x07, 0x74, 0x61, 0x65, 0, 0][..], None).unwrap_err();
        assert!(binary.to_string().contains("blkparse -i FILE"), "{binary}");
    }

    #[test]
    fn a_part_of_a_last_line_is_left_out_and_figures_for_people_end_the_recording() {
        let good = line(5, "D", "W", 8, 8);
        let cut = read(&(good.clone() + &good[..52])).unwrap();
        assert_eq!((cut.len(), cut.is_cut()), (1, true));
        let figures = "CPU0 (8,0):\n Reads Queued:           0,        0KiB\n";
        assert_eq!(read(&(good.clone() + "\n" + figures)).unwrap().len(), 1);
        let lost = "  x-1 [0] . 1.000000: block_rq_issue: 8,0 W 512 () 0 + 1 [x]\nCPU:1 [LOST 7 EVENTS]\n";
        assert_eq!(read(lost).unwrap().figures(Placement::Same).lost, 7);
    }

    #[test]
    fn packed_places_keep_neighbours_and_order_and_leave_out_what_nothing_touches() {
        let mib = 2048;
        let text = [
            line(1, "D", "W", 900 * mib + 7, 9),
            line(2, "D", "R", 900 * mib + 2040, 16),
            line(3, "D", "W", 5 * mib, 8),
            line(4, "D", "FF", 0, 0),
        ]
        .concat();
        let recording = read(&text).unwrap();
        assert_eq!(recording.data_needed(Placement::Packed), Bytes::from_mib(3));
        assert_eq!(recording.data_needed(Placement::Same), Bytes((900 * mib + 2056) * 512));
        let placed = |placement, file: Bytes| {
            let all: Vec<u64> =
                recording.requests().map(|io| recording.offset_in(&io, placement, file).0 / 512).collect();
            all[..3].to_vec()
        };
        assert_eq!(placed(Placement::Packed, Bytes::from_mib(3)), [mib + 7, mib + 2040, 0]);
        assert_eq!(placed(Placement::Same, Bytes(u64::MAX)), [900 * mib + 7, 900 * mib + 2040, 5 * mib]);
        // 900 MiB is a multiple of the file; what would go beyond its end is moved to end there.
        assert_eq!(placed(Placement::Wrapped, Bytes::from_mib(1)), [7, 2032, 0]);
    }

    #[test]
    fn a_granule_is_what_direct_io_may_need() {
        let granule =
            |sector, sectors| read(&line(1, "D", "W", sector, sectors)).unwrap().figures(Placement::Same).granule;
        assert_eq!(
            [granule(8, 8), granule(4096, 256), granule(9, 8), granule(4, 6)],
            [4096, 4096, 512, 1024].map(Bytes)
        );
    }

    #[test]
    fn a_request_takes_16_bytes() {
        assert_eq!(size_of::<PackedIo>(), 16);
        let most = PackedIo::new(u64::MAX, IoKind::Fdatasync, (1 << SECTOR_BITS) - 1, (1 << COUNT_BITS) - 1).unpacked();
        assert_eq!((most.at.0 / 512, most.len.0 / 512, most.io), ((1 << 44) - 1, (1 << 17) - 1, IoKind::Fdatasync));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_recording_or_one_clear_line(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Err(error) = Recording::from_text(&bytes[..], None) {
                let text = error.to_string();
                prop_assert!(!text.is_empty() && !text.chars().any(char::is_control), "{:?}", text);
            }
        }

        #[test]
        fn a_recording_that_is_damaged_is_read_or_refused_with_its_line(
            at in 0usize..400, byte in any::<u8>(), cut in 0usize..400, is_trace in any::<bool>()
        ) {
            let trace = "  dd-1 [000] ..... 13610.314687: block_rq_issue: 254,0 WS 65536 () 175156848 + 128 be,0,4 [dd]\n";
            let text = if is_trace { trace.repeat(3) } else { line(5, "D", "WFS", 8, 8).repeat(4) };
            let mut bytes = text.into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(1));
            match Recording::from_text(&bytes[..], None) {
                Ok(recording) => {
                    for placement in [Placement::Packed, Placement::Same, Placement::Wrapped] {
                        let file = recording.data_needed(placement);
                        for io in recording.requests() {
                            prop_assert!(recording.offset_in(&io, placement, file).0 + io.len.0 <= file.0);
                        }
                    }
                }
                Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control)),
            }
        }
    }
}
