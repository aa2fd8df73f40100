//! Files as the engine: the storage itself is measured, by system calls of the clients.
//!
//! In: a trial of the family io. Out: files that plimsoll made (or one that the user named), and clients that read and write
//! them by pread/pwrite or by io_uring. Limits: a file of somebody else is read and never written.

mod buffers;
mod check;
mod files;
mod named;
mod sync;
mod uring;

use super::{EngineDef, Instance, Loading, MadeFor, Runs, Start, kind_names, slots, workload_of};
use crate::dataset::DataDir;
use crate::error::{IoContext, TargetError, shown};
use crate::filesystem::{Alignment, direct_alignment};
use buffers::Buffers;
use files::{Files, Opening, Paths};
use load::{BatchClient, Client, OpSource, SyncClient};
use model::{Bytes, Entry, Fact, Family, ParamDef, ParamKind, Trial};
use named::NamedFile;
use sync::SyncFile;
use uring::{RingAbilities, UringFile};
use workload::{IoProgram, Slot};

/// The engine `file`.
pub static FILE: EngineDef = EngineDef {
    entry: Entry {
        name: "file",
        help: "files: the storage under them is measured, by pread/pwrite or io_uring",
        families: &[Family::Io],
        params: PARAMS,
    },
    runs: Runs::InClients,
    disk_peak: |data| data,
    version: || Ok(kernel()),
    check: |trial| {
        check::load(trial, Io::of(trial))?;
        check::memory(trial, program_of(trial).block)
    },
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
        shapes_data: true,
    },
];

/// The files under measurement.
struct FileInstance {
    paths: Paths,
    made: Made,
    made_for: MadeFor,
    abilities: Option<RingAbilities>,
    alignment: Alignment,
}

/// Whose the files are.
enum Made {
    /// In a data directory; removed at the end.
    Here(DataDir),
    /// At the path that the user named; it stays, once it is filled.
    Named(NamedFile),
}

/// How operations reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Io {
    Sync,
    Uring,
}

impl Io {
    fn of(trial: &Trial) -> Io {
        match trial.target.params.word("io") {
            "sync" => Io::Sync,
            "uring" => Io::Uring,
            other => unreachable!("`io` is declared without `{other}`"),
        }
    }

    /// Whether one client keeps several operations under way.
    fn batches(self) -> bool {
        self == Io::Uring
    }
}

impl FileInstance {
    fn start(start: &Start) -> Result<FileInstance, TargetError> {
        let trial = start.trial;
        let program = program_of(trial);
        let (paths, made) = match &trial.target.path {
            None => {
                let mut dir = DataDir::create(start.parent, start.data, trial.seed)?;
                (files::make(&mut dir, program.files)?, Made::Here(dir))
            }
            Some(path) if program.files > 1 => return Err(several_at(path, program.files)),
            Some(path) => {
                let named = NamedFile::open_or_make(path, program.file_bytes, program.writes)?;
                (Paths::from([path.clone()]), Made::Named(named))
            }
        };
        let alignment = direct_alignment(&files::open_one(&paths[0], Opening { direct: false, writes: false })?);
        Ok(FileInstance { paths, made, made_for: MadeFor::new(start), abilities: None, alignment })
    }

    fn client(&self, trial: &Trial, program: &IoProgram, slot: Slot) -> Result<Box<dyn Client>, TargetError> {
        let opening = Opening { direct: trial.target.params.flag("direct"), writes: program.writes };
        let files = Files::open(&self.paths, opening)?;
        let source = OpSource::new(&program.run, slot);
        let buffers = Buffers::new(trial.load.depth, program.block, trial.seed ^ u64::from(slot.client));
        Ok(match self.abilities.filter(|_| Io::of(trial) == Io::Uring) {
            None => Box::new(SyncClient::new(source, SyncFile::new(files, buffers))),
            Some(abilities) => Box::new(BatchClient::new(source, UringFile::new(files, buffers, abilities))),
        })
    }
}

fn several_at(path: &std::path::Path, files: u16) -> TargetError {
    TargetError::Unsupported(format!(
        "files = `{files}` and the one file at `{}` exclude each other; leave the path out, or use files = `1`",
        shown(path)
    ))
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
        let (program, io) = (program_of(trial), Io::of(trial));
        if trial.target.params.flag("direct") {
            check::alignment(&self.paths[0], self.alignment, program.block)?;
        }
        self.abilities = None;
        if io == Io::Uring {
            self.abilities = Some(RingAbilities::probe(trial.load.clients * trial.load.depth, program.block)?);
        }
        Ok(())
    }

    fn loaders(&mut self, trial: &Trial) -> Result<Option<Loading>, TargetError> {
        if matches!(&self.made, Made::Named(named) if named.is_full()) {
            return Ok(None);
        }
        let program = program_of(trial);
        // A trial through the page cache finds its files there: they were filled through it, too.
        let direct = trial.target.params.flag("direct") && matches!(self.alignment, Alignment::Direct { .. });
        files::lift_limit(program.files.into());
        let files = Files::open(&self.paths, Opening { direct, writes: true })?;
        let slot = Slot { client: 0, clients: 1 };
        let driver = SyncFile::new(files, Buffers::new(1, program.fill_block, trial.seed));
        let client: Box<dyn Client> = Box::new(SyncClient::new(OpSource::new(&program.load, slot), driver));
        Ok(Some(Loading { kinds: kind_names(&program.kinds), clients: vec![client] }))
    }

    fn loaded(&mut self) -> Result<(), TargetError> {
        if matches!(&self.made, Made::Named(named) if named.is_full()) {
            return Ok(()); // nothing was made, and the file may be somebody else's
        }
        let mut size = 0;
        for path in self.paths.iter() {
            let file = files::open_one(path, Opening { direct: false, writes: true })?;
            file.sync_all().trying("sync", path)?;
            size += file.metadata().trying("look at", path)?.len();
            // Where the kernel does not say, only a file that is no longer empty can be tried.
            self.alignment = direct_alignment(&file);
        }
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
        files::check_sizes(&self.paths, program.file_bytes)?;
        files::lift_limit(u64::from(trial.load.clients) * u64::from(program.files));
        let clients = slots(trial.load.clients).map(|slot| self.client(trial, &program, slot));
        Ok(Loading { kinds: kind_names(&program.kinds), clients: clients.collect::<Result<_, _>>()? })
    }

    fn footprint(&self) -> Bytes {
        files::footprint(&self.paths)
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
