//! The parameters of the engine `file`, declared and parsed.
//!
//! In: the parameters of a trial. Out: [`FileSettings`]. Limits: what excludes what is the matter of `checks`.

use super::buffers::WriteContent;
use super::files::{FileOpening, Readahead, WriteSync};
use load::StampMode;
use model::{Meaning, ParamDef, ParamKind, ParamRole, Phrase, Trial, UsedIf};

/// As `engines` list them.
pub const PARAMS: &[ParamDef] = &[
    ParamDef {
        help: "one pread/pwrite at a time (`sync`), io_uring (`uring`) or libaio (`aio`) with `depth` operations in \
               flight, or copies to and from a mapping (`mmap`)",
        meaning: Some(Meaning::IoInterface { kernel_aio: "aio" }),
        phrase: Phrase::Words(&[
            ("sync", "synchronous calls"),
            ("uring", "asynchronous calls (uring)"),
            ("aio", "asynchronous calls (libaio)"),
            ("mmap", "mapped files"),
        ]),
        ..ParamDef::new("io", ParamRole::Tuning, ParamKind::OneOf(&["sync", "uring", "aio", "mmap"]), "uring")
    },
    ParamDef {
        help: "O_DIRECT: bypass the page cache, to measure the device, not memory",
        shapes_data: true,
        meaning: Some(Meaning::DirectIo),
        phrase: Phrase::Words(&[("true", "direct I/O"), ("false", "I/O through the page cache")]),
        ..ParamDef::new("direct", ParamRole::Ground, ParamKind::Bool, "true")
    },
    ParamDef {
        help: "access pattern announced to the kernel for reads through the page cache (posix_fadvise)",
        phrase: Phrase::Words(&[
            ("default", "the usual read-ahead"),
            ("sequential", "read-ahead for sequential reads"),
            ("random", "no read-ahead"),
        ]),
        ..ParamDef::new(
            "readahead",
            ParamRole::Tuning,
            ParamKind::OneOf(&["default", "sequential", "random"]),
            "default",
        )
    },
    ParamDef {
        help: "open files with O_SYNC (`osync`) or O_DSYNC (`odsync`), so that each write returns after it is on the \
               device, with or without all of its metadata; `none` = neither",
        used_if: Some(UsedIf::one_of("mode", &["rndwr", "rndrw", "seqwr"])),
        phrase: Phrase::Words(&[
            ("none", "no sync per write"),
            ("osync", "a sync of data and metadata per write"),
            ("odsync", "a sync of the data per write"),
        ]),
        ..ParamDef::new("sync", ParamRole::Ground, ParamKind::OneOf(&["none", "osync", "odsync"]), "none")
    },
    ParamDef {
        help: "sync all files after the load; the time is recorded, but not as part of any operation",
        used_if: Some(UsedIf::one_of("mode", &["rndwr", "rndrw", "seqwr"])),
        phrase: Phrase::Words(&[("true", "a sync at the end"), ("false", "no sync at the end")]),
        ..ParamDef::new("fsync_end", ParamRole::Tuning, ParamKind::Bool, "false")
    },
    ParamDef {
        help: "percent of each 4 KiB written that compression removes",
        shapes_data: true,
        phrase: Phrase::Pattern("data of which {} % compress away"),
        ..ParamDef::new("compressible", ParamRole::Ground, ParamKind::Int { min: 0, max: 100 }, "0")
    },
    ParamDef {
        help: "percent of the blocks written that repeat the content of an earlier one",
        shapes_data: true,
        phrase: Phrase::Pattern("data with {} % of duplicates"),
        ..ParamDef::new("dedupe", ParamRole::Ground, ParamKind::Int { min: 0, max: 100 }, "0")
    },
    ParamDef {
        help: "mark each block of 4 KiB written with its checksum, place and generation; check each read, and all data after the run; \
               costs about 0.3 us of CPU per block",
        shapes_data: true,
        phrase: Phrase::Words(&[("true", "checked blocks"), ("false", "unchecked blocks")]),
        ..ParamDef::new("verify", ParamRole::Ground, ParamKind::Bool, "false")
    },
    ParamDef {
        help: "time of completion with io_uring and libaio: one per `batch`, or one for `each` operation, which costs a system call each",
        used_if: Some(UsedIf::one_of("io", &["uring", "aio"])),
        phrase: Phrase::Words(&[("batch", "a time per batch"), ("each", "a time per operation")]),
        ..ParamDef::new("stamp", ParamRole::Tuning, ParamKind::OneOf(&["batch", "each"]), "batch")
    },
];

/// What a trial asks of this engine.
#[derive(Clone, Copy, Debug)]
pub struct FileSettings {
    pub io: IoInterface,
    pub direct: bool,
    pub readahead: Readahead,
    pub sync: WriteSync,
    pub fsync_end: bool,
    pub stamp: StampMode,
    pub content: WriteContent,
    pub verify: bool,
}

/// How operations reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoInterface {
    Sync,
    Uring,
    Aio,
    Mmap,
}

impl FileSettings {
    pub fn from_trial(trial: &Trial) -> FileSettings {
        let params = &trial.target.params;
        FileSettings {
            io: match params.word("io") {
                "sync" => IoInterface::Sync,
                "uring" => IoInterface::Uring,
                "aio" => IoInterface::Aio,
                "mmap" => IoInterface::Mmap,
                other => unreachable!("`io` is declared without `{other}`"),
            },
            direct: params.flag("direct"),
            readahead: match params.word("readahead") {
                "default" => Readahead::Default,
                "sequential" => Readahead::Sequential,
                "random" => Readahead::Random,
                other => unreachable!("`readahead` is declared without `{other}`"),
            },
            sync: match params.word("sync") {
                "none" => WriteSync::None,
                "osync" => WriteSync::All,
                "odsync" => WriteSync::Data,
                other => unreachable!("`sync` is declared without `{other}`"),
            },
            fsync_end: params.flag("fsync_end"),
            stamp: match params.word("stamp") {
                "batch" => StampMode::Batch,
                "each" => StampMode::Each,
                other => unreachable!("`stamp` is declared without `{other}`"),
            },
            content: WriteContent {
                compressible: params.int("compressible") as u8,
                dedupe: params.int("dedupe") as u8,
            },
            verify: params.flag("verify"),
        }
    }

    /// How the clients open their files.
    pub fn file_opening(&self, writes: bool) -> FileOpening {
        FileOpening { direct: self.direct, writes, sync: self.sync, readahead: self.readahead }
    }
}

impl IoInterface {
    /// Whether one client keeps several operations in flight.
    pub fn is_batched(self) -> bool {
        matches!(self, IoInterface::Uring | IoInterface::Aio)
    }
}
