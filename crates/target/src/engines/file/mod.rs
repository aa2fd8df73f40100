//! A file as the engine: the storage itself is measured, by system calls of the clients.
//!
//! In: a trial of the family io. Out: a file that plimsoll made (or the user named), and clients that read and write it by
//! pread/pwrite or by io_uring. Limits: a file of somebody else is read and never written.

mod buffers;
mod named;
mod sync;
mod uring;

use super::{EngineDef, Instance, Loading, MadeFor, Runs, Start, kind_names, slots, workload_of};
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
pub static FILE: EngineDef = EngineDef {
    entry: Entry {
        name: "file",
        help: "a file: the storage under it is measured, by pread/pwrite or io_uring",
        families: &[Family::Io],
        params: PARAMS,
    },
    runs: Runs::InClients,
    disk_peak: |data| data,
    version: || Ok(kernel()),
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

/// The file under measurement.
struct FileInstance {
    path: PathBuf,
    made: Made,
    made_for: MadeFor,
    abilities: Option<RingAbilities>,
    alignment: Alignment,
}

/// Whose the file is.
enum Made {
    /// In a data directory; removed at the end.
    Here(DataDir),
    /// At the path that the user named; it stays, once it is filled.
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
        let (path, made) = match &trial.target.path {
            None => {
                let mut dir = DataDir::create(start.parent, start.data, trial.seed)?;
                let path = dir.own_file("data")?;
                make_empty(&path)?;
                (path, Made::Here(dir))
            }
            Some(path) => {
                let named = NamedFile::open_or_make(path, program.file_bytes, program.writes)?;
                (path.clone(), Made::Named(named))
            }
        };
        let alignment = direct_alignment(&open_file(&path, Opening { direct: false, writes: false })?);
        Ok(FileInstance { path, made, made_for: MadeFor::new(start), abilities: None, alignment })
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

/// Refuses loads that this way of doing I/O cannot carry.
fn check_load(trial: &Trial, uring: bool) -> Result<(), TargetError> {
    let refused = match trial.load.pacing {
        _ if !uring && trial.load.depth > 1 => {
            let depth = trial.load.depth;
            format!(
                "io = `sync` performs one operation at a time: depth = `{depth}` needs io = `uring`, or more clients"
            )
        }
        Pacing::Closed { think } if uring && think.0 > 0 => {
            "think needs io = `sync`: a ring has no client that could think".to_owned()
        }
        _ => return Ok(()),
    };
    Err(TargetError::Unsupported(refused))
}

impl Instance for FileInstance {
    fn facts(&self) -> Vec<Fact> {
        let alignment = match self.alignment {
            Alignment::Direct { offset_align, .. } => format!("{offset_align} B"),
            Alignment::BufferedOnly => "none".into(),
            Alignment::Unknown => "unknown".into(),
        };
        let mut facts = vec![Fact::new("engine.version", kernel()), Fact::new("file.direct_alignment", alignment)];
        facts.extend(self.abilities.iter().flat_map(RingAbilities::facts));
        facts
    }

    fn check(&mut self, trial: &Trial) -> Result<(), TargetError> {
        let program = program_of(trial);
        if trial.target.params.flag("direct") {
            check_alignment(&self.path, self.alignment, program.block)?;
        }
        let uring = trial.target.params.word("io") == "uring";
        check_load(trial, uring)?;
        check_memory(trial, program.block)?;
        if uring {
            self.abilities = Some(RingAbilities::probe(trial.load.clients * trial.load.depth, program.block)?);
        }
        Ok(())
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        if matches!(&self.made, Made::Named(named) if named.is_full()) {
            return Ok(None);
        }
        let program = program_of(trial);
        // A trial through the page cache finds its file there: it was filled through it, too.
        let direct = trial.target.params.flag("direct") && matches!(self.alignment, Alignment::Direct { .. });
        let file = Arc::new(open_file(&self.path, Opening { direct, writes: true })?);
        let slot = Slot { client: 0, clients: 1 };
        let driver = SyncFile::new(file, &self.path, Buffers::new(1, program.fill_block, trial.seed));
        let client: Box<dyn Client> = Box::new(SyncClient::new(OpSource::new(&program.load, slot), driver));
        Ok(Some(Loading { kinds: kind_names(&program.kinds), clients: vec![client] }))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        if matches!(&self.made, Made::Named(named) if named.is_full()) {
            return Ok(()); // nothing was made, and the file may be somebody else's
        }
        let file = open_file(&self.path, Opening { direct: false, writes: true })?;
        file.sync_all().trying("sync", &self.path)?;
        // Where the kernel does not say, only a file that is no longer empty can be tried.
        self.alignment = direct_alignment(&file);
        let size = file.metadata().trying("look at", &self.path)?.size();
        match &mut self.made {
            Made::Here(dir) => dir.seal(size),
            Made::Named(named) => named.seal(size),
        }
    }

    fn clients(&mut self, trial: &Trial) -> Result<Loading, TargetError> {
        let program = program_of(trial);
        match &self.made {
            Made::Here(dir) => self.made_for.check(dir, trial)?,
            Made::Named(named) => named.check_writes(program.writes)?,
        }
        self.check(trial)?;
        self.check_size(&program)?;
        let clients = slots(trial.load.clients).map(|slot| self.client(trial, &program, slot));
        Ok(Loading { kinds: kind_names(&program.kinds), clients: clients.collect::<Result<_, _>>()? })
    }

    fn footprint(&self) -> Bytes {
        Bytes(std::fs::metadata(&self.path).map_or(0, |meta| meta.blocks() * 512))
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        match self.made {
            Made::Here(dir) => dir.remove(),
            Made::Named(named) => named.discard_unfilled(),
        }
    }
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
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

/// Refuses buffers that would fill the memory: the machine would swap, or kill somebody.
fn check_memory(trial: &Trial, block: Bytes) -> Result<(), TargetError> {
    let system = rustix::system::sysinfo();
    let memory = Bytes(system.totalram as u64 * u64::from(system.mem_unit));
    // A client's buffers are page-aligned.
    let each = Bytes(block.0.next_multiple_of(4096));
    let needed = Bytes(u64::from(trial.load.clients) * u64::from(trial.load.depth) * each.0);
    if needed.0 <= memory.0 / 2 {
        return Ok(());
    }
    Err(TargetError::Unsupported(format!(
        "clients = `{}` with depth = `{}` and block = `{block}` need {needed} of buffers, more than half of the memory \
         ({memory}); use less of one of them",
        trial.load.clients, trial.load.depth
    )))
}

fn check_alignment(path: &Path, alignment: Alignment, block: Bytes) -> Result<(), TargetError> {
    match alignment {
        Alignment::Direct { offset_align, .. } if !block.0.is_multiple_of(u64::from(offset_align)) => {
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
