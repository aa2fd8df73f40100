//! The options of a job of fio, and what they are called in plimsoll.
//!
//! In: `global options` and `job options`. Out: parameters of the engine and the workload `file`. Limits: an option that was not given has
//! fio's default if that is the same on every machine (`rw`, `bs`, `iodepth`, `numjobs`, `direct`); others stay unknown. Results without
//! any option (fio before 2.3) have no parameters at all.

use crate::amount::{parse_amount, parse_count, parse_size};
use model::{AccessPattern, Bytes, Fact, IoWork, Params, Value};
use std::collections::BTreeMap;

/// The most operations in flight.
const DEPTH_MAX: u64 = 1 << 20;

/// Options by name, those of the job before those of all.
pub(super) struct JobOptions(BTreeMap<String, String>);

impl JobOptions {
    pub fn new(global: &[(String, String)], own: &[(String, String)]) -> JobOptions {
        JobOptions(global.iter().chain(own).cloned().collect())
    }

    fn get(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)).map(String::as_str)
    }

    /// The whole number of option `name`.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(&[name]).and_then(|text| parse_count(text, u64::from(u32::MAX)))
    }

    /// All options, as they were given.
    pub fn facts(&self) -> Vec<Fact> {
        self.0.iter().map(|(name, value)| Fact::new(format!("fio.{name}"), value)).collect()
    }

    /// How many milliseconds an entry of its logs covers; `None` if each operation has an entry.
    pub fn log_window_ms(&self) -> Option<u64> {
        self.count("log_avg_msec").filter(|ms| *ms > 0)
    }

    /// Operations that one client kept in flight: a system call that waits leaves one.
    pub fn depth(&self) -> u32 {
        let asked = self.get(&["iodepth"]).and_then(|text| parse_count(text, DEPTH_MAX)).unwrap_or(1).max(1);
        let waits = matches!(self.interface(), Some("sync" | "mmap") | None);
        if waits { 1 } else { u32::try_from(asked).expect("it was checked") }
    }

    /// plimsoll's word for the `ioengine`; fio's own if plimsoll has none. The default differs between systems, and waits on all of them.
    fn interface(&self) -> Option<&str> {
        Some(match self.get(&["ioengine"])? {
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => "sync",
            "io_uring" | "io_uring_cmd" => "uring",
            "libaio" => "aio",
            other => other,
        })
    }

    /// plimsoll's word for `rw`; fio's own if plimsoll has none.
    fn mode(&self) -> String {
        // `randread:8`: so many operations between two random places.
        let word = self.get(&["rw", "readwrite"]).unwrap_or("read").split(':').next().unwrap_or_default();
        let own = match word {
            "read" => "seqrd",
            "write" => "seqwr",
            "randread" => "rndrd",
            "randwrite" => "rndwr",
            "randrw" => "rndrw",
            "rw" | "readwrite" => "seqrw",
            other => other,
        };
        own.to_owned()
    }

    /// The share of reads.
    fn read_share(&self, mode: &str) -> Option<f64> {
        let percent = |name: &str| self.get(&[name]).and_then(|text| parse_amount(text, 100.0));
        match mode {
            "seqrd" | "rndrd" => Some(1.0),
            "seqwr" | "rndwr" => Some(0.0),
            "rndrw" | "seqrw" => {
                let reads = percent("rwmixread").or_else(|| percent("rwmixwrite").map(|writes| 100.0 - writes));
                Some(reads.unwrap_or(50.0) / 100.0)
            }
            _ => None,
        }
    }

    /// The size of each operation; `None` if there are several.
    fn block(&self) -> Option<u64> {
        if self.get(&["bssplit", "bsrange", "blocksize_range"]).is_some() {
            return None;
        }
        parse_size(self.get(&["bs", "blocksize"]).unwrap_or("4096")).filter(|bytes| *bytes > 0)
    }

    /// The parameters of the engine, those of the workload, and what the reading half wants to know of the work.
    pub fn settings(&self) -> (Params, Params, Option<IoWork>) {
        if self.0.is_empty() {
            return Default::default();
        }
        let mode = self.mode();
        let (block, read_share, sync) = (self.block(), self.read_share(&mode), self.sync());
        let mut engine = BTreeMap::from([("direct".to_owned(), Value::Bool(self.is_set("direct")))]);
        engine.extend(self.interface().map(|word| ("io".to_owned(), Value::Word(word.to_owned()))));
        let mut work = BTreeMap::from([("mode".to_owned(), Value::Word(mode.clone()))]);
        work.extend(block.map(|bytes| ("block".to_owned(), Value::Bytes(Bytes(bytes)))));
        work.extend(
            self.get(&["size"]).and_then(parse_size).map(|size| ("file_size".to_owned(), Value::Bytes(Bytes(size)))),
        );
        if mode.ends_with("rw") {
            work.extend(read_share.map(|share| ("read_share".to_owned(), Value::Float(share))));
        }
        let (word, every) = sync.unwrap_or(("none", 0));
        work.insert("fsync".to_owned(), Value::Word(word.to_owned()));
        if every > 0 {
            work.insert("fsync_every".to_owned(), Value::Int(every));
        }
        let pattern = if mode.starts_with("seq") { AccessPattern::Sequential } else { AccessPattern::Random };
        let io = block.zip(read_share).map(|(block, read_share)| IoWork {
            block: Bytes(block),
            pattern,
            read_share,
            syncs: every > 0,
        });
        (Params(engine), Params(work), io)
    }

    fn is_set(&self, name: &str) -> bool {
        self.get(&[name]).is_some_and(|value| value != "0" && value != "false")
    }

    /// The call by which files are synced, and after how many writes.
    fn sync(&self) -> Option<(&'static str, u64)> {
        let every = |name: &'static str| Some((name, self.count(name).filter(|every| *every > 0)?));
        every("fsync").or_else(|| every("fdatasync"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> JobOptions {
        let own: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        JobOptions::new(&[("bs".to_owned(), "8k".to_owned())], &own)
    }

    #[test]
    fn options_of_fio_are_parameters_of_plimsoll() {
        let job = options(&[
            ("rw", "randrw:2"),
            ("rwmixread", "70"),
            ("ioengine", "libaio"),
            ("iodepth", "8"),
            ("direct", "1"),
            ("size", "1g"),
        ]);
        let (engine, work, io) = job.settings();
        assert_eq!((engine.flag("direct"), engine.word("io"), job.depth()), (true, "aio", 8));
        assert_eq!((work.word("mode"), work.bytes("block"), work.float("read_share")), ("rndrw", Bytes(8 << 10), 0.7));
        assert_eq!((work.bytes("file_size"), work.word("fsync")), (Bytes(1 << 30), "none"));
        assert_eq!(io.map(|io| (io.pattern, io.read_share)), Some((AccessPattern::Random, 0.7)));
    }

    #[test]
    fn a_call_that_waits_has_a_depth_of_one() {
        assert_eq!(options(&[("ioengine", "psync"), ("iodepth", "32")]).depth(), 1);
        assert_eq!(options(&[("iodepth", "32")]).depth(), 1);
    }

    #[test]
    fn what_is_not_one_value_is_unknown() {
        let job = options(&[("bssplit", "4k/50:8k/50"), ("size", "50%"), ("rw", "trim")]);
        let (_, work, io) = job.settings();
        assert_eq!(work.0.keys().map(String::as_str).collect::<Vec<_>>(), ["fsync", "mode"]);
        assert_eq!((work.word("mode"), io), ("trim", None));
    }

    #[test]
    fn results_without_options_have_no_parameters() {
        assert_eq!(JobOptions::new(&[], &[]).settings(), (Params::default(), Params::default(), None));
    }
}
