//! What sysbench prints of its test `fileio`.
//!
//! In: the lines of the output that only this test has. Out: parameters, kinds and rates. Limits: sysbench 1.x prints rates of reads, writes
//! and syncs, so their counts are known to the digits of these; 0.4 and 0.5 print counts.

use crate::amount::{BYTES_MAX, COUNT_MAX, SECONDS_MAX, parse_amount, parse_count, parse_size};
use crate::error::ImportError;
use crate::input::Input;
use crate::point::ImportedKind;
use model::{AccessPattern, Bytes, IoWork, KindDef, OpClass, Params, Value};
use std::collections::BTreeMap;

/// The kinds in the order of their places.
const KINDS: [(&str, OpClass); 3] = [("read", OpClass::Read), ("write", OpClass::Write), ("fsync", OpClass::Sync)];

/// How often each kind was done.
#[derive(Clone, Copy, Debug)]
enum Done {
    Counts([u64; 3]),
    PerSecond([f64; 3]),
}

/// What is read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileTest {
    block: Option<u64>,
    file_size: Option<u64>,
    mode: Option<&'static str>,
    reads_per_write: Option<f64>,
    is_direct: bool,
    fsync_every: Option<u64>,
    done: Option<Done>,
}

impl FileTest {
    /// Takes `text`; `false` if it is no line of this test.
    pub fn take(&mut self, text: &str, input: &Input) -> Result<bool, ImportError> {
        if let Some(counts) = text.strip_prefix("Operations performed:") {
            let read = read_counts(counts).ok_or_else(|| input.expected("counts of reads, writes and others", text))?;
            self.done = Some(Done::Counts(read));
        } else if text == "File operations:" {
            self.done = Some(Done::PerSecond([0.0; 3]));
        } else if let Some((name, value)) = text.split_once(':').filter(|(_, value)| value.trim().starts_with("IOPS="))
        {
            // sysbench 1.1: `read:  IOPS=6226.43 97.29 MiB/s (102.01 MB/s)`.
            let Some(place) = KINDS.iter().position(|(known, _)| *known == name) else { return Ok(false) };
            let per_s = value.trim().trim_start_matches("IOPS=").split(' ').next().unwrap_or_default();
            let per_s = parse_amount(per_s, COUNT_MAX as f64).ok_or_else(|| input.expected("a number", text))?;
            let Done::PerSecond(rates) = self.done.get_or_insert(Done::PerSecond([0.0; 3])) else { return Ok(false) };
            rates[place] = per_s;
        } else if let (Some(Done::PerSecond(rates)), Some((name, value))) = (&mut self.done, text.split_once("/s:")) {
            let place = ["reads", "writes", "fsyncs"].iter().position(|known| *known == name);
            let Some(place) = place else { return Ok(false) };
            rates[place] =
                parse_amount(value.trim(), COUNT_MAX as f64).ok_or_else(|| input.expected("a number", text))?;
        } else if let Some(mode) = mode_of(text) {
            self.mode = Some(mode);
        } else if let Some(size) = text.strip_prefix("Block size ") {
            self.block = size_of(size).filter(|block| *block > 0);
        } else if let Some(size) = text.strip_suffix(" total file size") {
            self.file_size = size_of(size);
        } else if let Some(flags) = text.strip_prefix("Extra file open flags:") {
            self.is_direct = flags.contains("direct");
        } else if let Some(ratio) = text.strip_prefix("Read/Write ratio for combined random IO test:") {
            self.reads_per_write = parse_amount(ratio.trim(), COUNT_MAX as f64);
        } else if let Some(every) = text.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
            self.fsync_every = every.split(' ').next().and_then(|every| parse_count(every, COUNT_MAX));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether its results are printed.
    pub fn is_over(&self) -> bool {
        self.done.is_some()
    }

    /// `[ 1s ] reads: 25.49 MiB/s writes: 16.99 MiB/s fsyncs: 3478.83/s latency (ms,95%): 0.090`: the second, and the rate of each kind.
    pub fn read_interval(&self, text: &str) -> Option<(f64, [f64; 3])> {
        let (at, rest) = text.strip_prefix('[')?.split_once(']')?;
        let at_s = parse_amount(at.trim().trim_end_matches('s'), SECONDS_MAX)?;
        let (reads, writes) = rest.trim().strip_prefix("reads:")?.split_once("writes:")?;
        let (writes, fsyncs) = writes.split_once("fsyncs:")?;
        let bytes = |text: &str| parse_amount(text.trim().strip_suffix("MiB/s")?.trim(), BYTES_MAX as f64);
        let blocks = |text: &str| Some(bytes(text)? * 1_048_576.0 / self.block? as f64);
        let fsyncs = parse_amount(fsyncs.split("/s").next()?.trim(), COUNT_MAX as f64)?;
        Some((at_s, [blocks(reads)?, blocks(writes)?, fsyncs]))
    }

    /// The kinds that were done in so many seconds, of `events` operations in all.
    pub fn kinds(&self, seconds: f64, events: Option<u64>) -> Vec<ImportedKind> {
        let counts = match self.done {
            Some(Done::Counts(counts)) => counts,
            Some(Done::PerSecond(rates)) => {
                let is_alone = rates.iter().filter(|rate| **rate > 0.0).count() == 1;
                let count = |per_s: f64| events.filter(|_| is_alone).unwrap_or((per_s * seconds).round() as u64);
                rates.map(|per_s| if per_s > 0.0 { count(per_s) } else { 0 })
            }
            None => [0; 3],
        };
        let done = KINDS.iter().zip(counts).filter(|(_, ok)| *ok > 0);
        let block = |class: OpClass| if class == OpClass::Sync { 0 } else { self.block.unwrap_or(0) };
        done.map(|((name, class), ok)| ImportedKind {
            ok,
            bytes: ok.saturating_mul(block(*class)).min(BYTES_MAX),
            ..ImportedKind::new(KindDef::new(*name, *class))
        })
        .collect()
    }

    /// The place of a kind among the rates of an interval.
    pub fn place_of(&self, kind: &ImportedKind) -> usize {
        KINDS.iter().position(|(name, _)| *name == kind.def.name).unwrap_or(0)
    }

    pub fn engine_params(&self) -> Params {
        Params(BTreeMap::from([("direct".to_owned(), Value::Bool(self.is_direct))]))
    }

    pub fn workload_params(&self) -> Params {
        let word = |word: &str| Value::Word(word.to_owned());
        let size = |bytes: u64| Value::Bytes(Bytes(bytes));
        let mixed = self.mode.filter(|mode| *mode == "rndrw").and(self.read_share());
        let all = [
            ("mode", self.mode.map(word)),
            ("block", self.block.map(size)),
            ("file_size", self.file_size.map(size)),
            ("read_share", mixed.map(Value::Float)),
            ("fsync", self.fsync_every.map(|_| word("fsync"))),
            ("fsync_every", self.fsync_every.map(Value::Int)),
        ];
        Params(all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }

    pub fn io(&self) -> Option<IoWork> {
        let mode = self.mode?;
        let pattern = if mode.starts_with("seq") { AccessPattern::Sequential } else { AccessPattern::Random };
        let syncs = self.fsync_every.is_some();
        Some(IoWork { block: Bytes(self.block?), pattern, read_share: self.read_share()?, syncs })
    }

    fn read_share(&self) -> Option<f64> {
        match self.mode? {
            "rndrd" | "seqrd" => Some(1.0),
            "rndrw" => self.reads_per_write.map(|ratio| ratio / (1.0 + ratio)),
            _ => Some(0.0),
        }
    }
}

fn mode_of(text: &str) -> Option<&'static str> {
    Some(match text {
        "Doing random read test" => "rndrd",
        "Doing random write test" => "rndwr",
        "Doing random r/w test" => "rndrw",
        "Doing sequential read test" => "seqrd",
        "Doing sequential write (creation) test" | "Doing sequential rewrite test" => "seqwr",
        _ => return None,
    })
}

/// `16KiB`, and as sysbench 0.4 writes it `16Kb`; a part such as `1.5GiB` is unknown.
fn size_of(text: &str) -> Option<u64> {
    parse_size(text).or_else(|| parse_size(text.strip_suffix('b')?))
}

/// `35280 Read, 23520 Write, 75216 Other = 134016 Total`
fn read_counts(text: &str) -> Option<[u64; 3]> {
    let mut words = text.split([',', '=']).filter_map(|part| part.split_whitespace().next());
    let mut next = || parse_count(words.next()?, COUNT_MAX);
    Some([next()?, next()?, next()?])
}
