//! A file as the engine: the storage itself is measured, by system calls of the clients.
//!
//! In: a trial of the family io. Out: a file that plimsoll made (or the user named), and clients that read and write it by
//! pread/pwrite or by io_uring. Limits: a file of somebody else is read and never written.

mod buffers;
mod named;
mod sync;
mod uring;

use super::{EngineDef, Instance, Loading, Runs, Start, kind_names, slots, workload_of};
use crate::dataset::DataDir;
use crate::error::{IoContext, TargetError, shown};
use crate::filesystem::{Alignment, direct_alignment};
use buffers::Buffers;
use load::{BatchClient, Client, OpSource, SyncClient};
use model::{Bytes, Entry, Fact, Family, Pacing, ParamDef, ParamKind, Trial};
use named::NamedFile;
use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::SyncFile;
use uring::{RingAbilities, UringFile};
use workload::{IoProgram, Slot};

/// The engine `file`.
pub const FILE: EngineDef = EngineDef {
    entry: Entry {
        name: "file",
        help: "a file: the storage under it is measured, by pread/pwrite or io_uring",
        families: &[Family::Io],
        params: PARAMS,
    },
    runs: Runs::InClients,
    version: || Ok(rustix::system::uname().release().to_string_lossy().into_owned()),
    start: |start| Ok(Box::new(FileInstance::start(start)?)),
};

const PARAMS: &[ParamDef] = &[
    ParamDef {
        name: "io",
        kind: ParamKind::OneOf(&["sync", "uring"]),
        default: "uring",
        help: "how operations reach the kernel: one pread/pwrite at a time, or io_uring with `depth` under way",
        scales: false,
        shapes_data: false,
    },
    ParamDef {
        name: "direct",
        kind: ParamKind::Bool,
        default: "true",
        help: "O_DIRECT: past the page cache, so that the device is measured and not the memory",
        scales: false,
        shapes_data: false,
    },
];

/// The size of one write when the file is made.
const FILL_BYTES: Bytes = Bytes::from_mib(1);

/// The file under measurement.
struct FileInstance {
    path: PathBuf,
    made: Made,
    data: String,
    abilities: Option<RingAbilities>,
    alignment: Alignment,
}

/// Whose the file is.
enum Made {
    /// In a data directory; removed at the end.
    Here(DataDir),
    /// At the path that the user named; it stays.
    Named(NamedFile),
}

/// How the clients of one trial open the file.
#[derive(Clone, Copy)]
struct Opening {
    direct: bool,
    writes: bool,
}

impl FileInstance {
    fn start(start: &Start) -> Result<FileInstance, TargetError> {
        let trial = start.trial;
        let program = program_of(trial);
        let made = match &trial.target.path {
            None => Made::Here(DataDir::create(start.parent, start.data, trial.seed)?),
            Some(path) => Made::Named(NamedFile::open_or_make(path, program.file_bytes, program.writes)?),
        };
        let (path, made) = match made {
            Made::Here(mut dir) => (dir.own_file("data")?, Made::Here(dir)),
            Made::Named(named) => (named.path().to_owned(), Made::Named(named)),
        };
        if matches!(made, Made::Here(_)) {
            make_empty(&path)?;
        }
        let file = open_file(&path, Opening { direct: false, writes: false })?;
        let alignment = direct_alignment(&file);
        Ok(FileInstance { path, made, data: start.data.into(), abilities: None, alignment })
    }

    /// Refuses what the file system or the kernel cannot do.
    fn check(&mut self, trial: &Trial, program: &IoProgram) -> Result<(), TargetError> {
        if trial.target.params.flag("direct") {
            check_alignment(&self.path, self.alignment, program.block)?;
        }
        let uring = trial.target.params.word("io") == "uring";
        match (uring, trial.load.depth) {
            (false, depth) if depth > 1 => {
                return Err(TargetError::Unsupported(format!(
                    "io = `sync` performs one operation at a time: depth = `{depth}` needs io = `uring`, or more clients"
                )));
            }
            (true, _) if matches!(trial.load.pacing, Pacing::Closed { think } if think.0 > 0) => {
                return Err(TargetError::Unsupported(
                    "think needs io = `sync`: a ring has no client that could think".into(),
                ));
            }
            _ => {}
        }
        if uring && self.abilities.is_none() {
            self.abilities = Some(RingAbilities::probe()?);
        }
        self.check_size(program)
    }

    fn check_size(&self, program: &IoProgram) -> Result<(), TargetError> {
        let size = std::fs::metadata(&self.path).trying("look at", &self.path)?.size();
        if size >= program.file_bytes.0 {
            return Ok(());
        }
        Err(TargetError::Unsafe(format!(
            "`{}` has {} and the trial expects file_size = `{}`; use the size that it has",
            shown(&self.path),
            Bytes(size),
            program.file_bytes
        )))
    }

    fn client(&self, trial: &Trial, program: &IoProgram, slot: Slot) -> Result<Box<dyn Client>, TargetError> {
        let opening = Opening { direct: trial.target.params.flag("direct"), writes: program.writes };
        let file = Arc::new(open_file(&self.path, opening)?);
        let source = OpSource::new(&program.run, slot);
        let seed = trial.seed ^ u64::from(slot.client);
        Ok(match self.abilities.filter(|_| trial.target.params.word("io") == "uring") {
            None => {
                Box::new(SyncClient::new(source, SyncFile::new(file, &self.path, Buffers::new(1, program.block, seed))))
            }
            Some(abilities) => {
                let buffers = Buffers::new(trial.load.depth, program.block, seed);
                Box::new(BatchClient::new(source, UringFile::new(file, &self.path, buffers, abilities)))
            }
        })
    }
}

impl Instance for FileInstance {
    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("file.direct_alignment", format!("{:?}", self.alignment))];
        facts.extend(self.abilities.iter().flat_map(RingAbilities::facts));
        facts
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        if matches!(&self.made, Made::Named(named) if named.is_full()) {
            return Ok(None);
        }
        let program = program_of(trial);
        let direct = matches!(self.alignment, Alignment::Direct { .. });
        let file = Arc::new(open_file(&self.path, Opening { direct, writes: true })?);
        let slot = Slot { client: 0, clients: 1 };
        let driver = SyncFile::new(file, &self.path, Buffers::new(1, FILL_BYTES, trial.seed));
        let client: Box<dyn Client> = Box::new(SyncClient::new(OpSource::new(&program.load, slot), driver));
        Ok(Some(Loading { kinds: kind_names(&program.kinds), clients: vec![client] }))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        let file = open_file(&self.path, Opening { direct: false, writes: true })?;
        file.sync_all().trying("sync", &self.path)?;
        let size = file.metadata().trying("look at", &self.path)?.size();
        match &mut self.made {
            Made::Here(dir) => dir.seal(size),
            Made::Named(named) => named.seal(size),
        }
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        if let Made::Here(dir) = &self.made {
            dir.check(&self.data, trial.seed)?;
        }
        let program = program_of(trial);
        self.check(trial, &program)?;
        let clients = slots(trial.load.clients).map(|slot| self.client(trial, &program, slot));
        Ok(Loading { kinds: kind_names(&program.kinds), clients: clients.collect::<Result<_, _>>()? })
    }

    fn footprint(&self) -> Bytes {
        Bytes(std::fs::metadata(&self.path).map_or(0, |meta| meta.blocks() * 512))
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        match self.made {
            Made::Here(dir) => dir.remove(),
            Made::Named(_) => Ok(()),
        }
    }
}

fn program_of(trial: &Trial) -> IoProgram {
    let make = workload_of(trial).io.expect("the plan was checked: workload and engine share a family");
    make(&trial.workload.params, trial.seed)
}

fn make_empty(path: &Path) -> Result<File, TargetError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::from_raw_mode(0o600)).map(File::from).trying("create", path)
}

fn open_file(path: &Path, opening: Opening) -> Result<File, TargetError> {
    let mut flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    flags |= if opening.writes { OFlags::RDWR } else { OFlags::RDONLY };
    if opening.direct {
        flags |= OFlags::DIRECT;
    }
    open(path, flags, Mode::empty()).map(File::from).map_err(|errno| match errno {
        rustix::io::Errno::INVAL if opening.direct => TargetError::Unsupported(format!(
            "cannot open `{}` with O_DIRECT: its file system does not support it; use direct = `false`",
            shown(path)
        )),
        errno => TargetError::io("open", path, &errno.into()),
    })
}

fn check_alignment(path: &Path, alignment: Alignment, block: Bytes) -> Result<(), TargetError> {
    match alignment {
        Alignment::Direct { offset_align, .. } if block.0 % u64::from(offset_align) != 0 => {
            Err(TargetError::Unsupported(format!(
                "block = `{block}` is not a multiple of {offset_align} bytes, which O_DIRECT needs on `{}`; use such a \
                 block or direct = `false`",
                shown(path)
            )))
        }
        Alignment::BufferedOnly => Err(TargetError::Unsupported(format!(
            "`{}` is on a file system without O_DIRECT; use direct = `false`",
            shown(path)
        ))),
        Alignment::Direct { .. } | Alignment::Unknown => Ok(()),
    }
}
