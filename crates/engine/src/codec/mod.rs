//! The engine `codec`: a file goes through a codec, in this process, to a new file in the data directory.
//!
//! In: a trial with the path of a file and a codec. Out: one client, which compresses the file until it is on disk, brings it back and
//! compares it. With a file system that plimsoll makes (`fs`), the codec `none` copies the file there, and the file system compresses.
//! Limits: one thread. The file is read into the page cache before; a file that does not fit in memory is read from its disk, which
//! is counted and makes the point indicative.

mod blocks;
pub mod codecs;
mod driver;
mod measured;
mod source;

use crate::data_description::DataDescription;
use crate::engine::{
    DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, StartContext, WorkloadClients, depth_one_only,
    workload_of,
};
use codecs::{CODEC_WORDS, CodecDef};
use driver::CodecDriver;
use host::data_dir::DataDir;
use host::error::TargetError;
use host::privileged::volume::VolumeDaemon;
use load::SyncClient;
use measured::SharedFigures;
use model::{Bytes, Entry, Fact, Family, ParamDef, ParamKind, ParamRole, Phrase, TaskSet, Trial, WritePath};
use source::SourceFile;
use std::path::PathBuf;
use workload::{ProgramInput, SequenceState};

/// The entry of the engine `codec` in the registry.
pub static CODEC: EngineDef = EngineDef {
    entry: Entry {
        name: "codec",
        spoken: "the codec",
        help: "compression in plimsoll's own process, to a file on the disk that is measured",
        families: &[Family::Task(TaskSet::Codecs)],
        params: PARAMS,
    },
    runs: EngineLocation::Embedded,
    // More than the file, whatever a codec makes of it: none adds more than a sixteenth.
    disk_peak: |_, params| {
        let file = std::fs::metadata(params.word(FILE.name)).map_or(0, |file| file.len());
        Bytes(file + file / 8 + (16 << 20))
    },
    check: check_trial,
    start: |start| Ok(Box::new(CodecInstance::start(start)?)),
    ..EngineDef::BARE
};

const PARAMS: &[ParamDef] = &[FILE, CODEC_PARAM];
const FILE: ParamDef = ParamDef {
    help: "the file that is compressed; it is only read",
    ..ParamDef::new("file", ParamRole::Mode, ParamKind::Path, "")
};
const CODEC_PARAM: ParamDef = ParamDef {
    help: "what compresses it, with a level if it has levels; `gzip:1..9` is each of them",
    phrase: Phrase::Words(&[
        ("none", "no compression"),
        ("lz4", "LZ4"),
        ("lzjb", "LZJB"),
        ("lzo", "LZO"),
        ("snappy", "Snappy"),
        ("gzip:{}", "gzip at level {}"),
        ("zstd:{}", "zstd at level {}"),
        ("brotli:{}", "brotli at level {}"),
    ]),
    ..ParamDef::new("codec", ParamRole::Tuning, ParamKind::Leveled(&CODEC_WORDS), "none")
};

fn check_trial(trial: &Trial) -> Result<(), TargetError> {
    depth_one_only(trial)?;
    if trial.load.clients != 1 {
        return Err(TargetError::Unsupported(format!(
            "engine `codec` times one thread, so clients = `{}` is not possible; leave it out",
            trial.load.clients
        )));
    }
    SourceFile::open(&path_of(trial)).map(drop)
}

fn path_of(trial: &Trial) -> PathBuf {
    PathBuf::from(trial.target.params.word(FILE.name))
}

/// The codec of `trial`, with its level.
fn codec_of(trial: &Trial) -> (&'static CodecDef, i32) {
    codecs::find(trial.target.params.word(CODEC_PARAM.name)).expect("the plan was checked against the declaration")
}

struct CodecInstance {
    source: SourceFile,
    made_for: DataDescription,
    figures: SharedFigures,
    /// The file that is made.
    target: PathBuf,
    /// Whether it is on a file system of plimsoll's own, on which nothing else is.
    on_own_volume: bool,
    /// The process that is that file system, if it is none of the kernel's.
    daemon: Option<VolumeDaemon>,
    library: &'static str,
    dir: DataDir,
}

impl CodecInstance {
    fn start(start: &StartContext) -> Result<CodecInstance, TargetError> {
        let source = SourceFile::open(&path_of(start.trial))?;
        let mut dir = DataDir::create(start.parent, start.data, start.trial.seed)?;
        let target = dir.own_file("compressed")?;
        let (made_for, figures) = (DataDescription::new(start), SharedFigures::default());
        let on_own_volume = start.trial.target.fs.is_some();
        let library = codec_of(start.trial).0.library;
        let daemon = start.volume_daemon.cloned();
        Ok(CodecInstance { source, made_for, figures, target, on_own_volume, daemon, library, dir })
    }
}

impl Instance for CodecInstance {
    fn report(&self) -> InstanceReport {
        let facts =
            vec![Fact::new("engine.version", env!("CARGO_PKG_VERSION")), Fact::new("compress.library", self.library)];
        InstanceReport { facts, ..InstanceReport::default() }
    }

    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Append
    }

    fn make_loaders(&mut self, _: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        Ok(None)
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        self.dir.seal(1)?;
        Ok(Vec::new())
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        self.made_for.check_dir(&self.dir, trial)?;
        self.source.read_into_cache()?;
        let make = workload_of(trial).task.expect("the plan was checked: workload and engine share a family");
        let program = make(&ProgramInput::from_trial(trial, &SequenceState::default()));
        let (def, level) = codec_of(trial);
        let mut drivers = Vec::new();
        for _ in 0..trial.load.clients {
            let codec = (def.make)(level)
                .map_err(|error| TargetError::Failed(format!("codec `{}:{level}`: {error}", def.word.name)))?;
            let mut driver = CodecDriver::new(codec, &self.source, &self.target, self.figures.clone())?;
            driver.take_blocks(trial.workload.params.bytes("blocks"));
            if self.on_own_volume {
                driver.measure_volume(self.daemon.clone());
            }
            drivers.push(driver);
        }
        let drivers = std::cell::RefCell::new(drivers);
        Ok(WorkloadClients::new(&program.kinds, &program.run, &[], trial.data_part(), |ops, _| {
            let driver = drivers.borrow_mut().pop().expect("one for each client");
            Box::new(SyncClient::new(ops, driver))
        }))
    }

    fn finish_trial(&mut self) -> Vec<Fact> {
        self.figures.take().facts()
    }

    fn measure_space(&self) -> DataSpace {
        DataSpace { total: self.dir.footprint(), ..DataSpace::default() }
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        self.dir.remove()
    }
}
