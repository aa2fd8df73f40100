//! Files as the engine: the storage itself is measured, by system calls of the clients.
//!
//! In: a trial of the family io. Out: files that plimsoll made (or one that the user named), and clients that read and write
//! them by pread/pwrite, by a mapping, by io_uring or by the older asynchronous I/O.
//! Limits: a file that plimsoll did not make is read and never written; a block device is written if the user named it as to be
//! destroyed, and is left as the load left it. The null device is written, which measures plimsoll alone.

mod aio;
mod buffers;
mod checks;
mod errno;
mod files;
mod generations;
mod in_flight;
mod mmap;
mod named;
mod replay;
mod settings;
mod sync;
mod uring;
mod verifier;
mod workers;

pub(crate) use files::lift_limit;
pub use named::size_at;

use self::replay::RecordedTimes;
use crate::data_description::DataDescription;
use crate::engine::{
    DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, StartContext, WorkloadClients, workload_of,
};
use crate::recordings;
use crate::verify::ReadBack;
use aio::AioFile;
use buffers::{BufferSizes, IoBuffers};
use files::{FileOpening, FilePaths, OpenFiles};
use generations::DataGenerations;
use host::data_dir::DataDir;
use host::device::{BlockDevice, RawDevice};
use host::error::{IoContext, TargetError, shown};
use host::filesystem::{DirectAlignment, direct_alignment};
use host::machine::kernel;
use load::{BatchClient, Client, DueTimes, OpSource, SyncClient};
use mmap::{FileMappings, MmapFile};
use model::{Bytes, Entry, Fact, Family, IoOp, RecordingSummary, Trial, WritePath};
use named::NamedFile;
use settings::{FileSettings, IoInterface, PARAMS};
use std::path::Path;
use std::sync::Arc;
use sync::SyncFile;
use uring::{RingAbilities, UringFile};
use verifier::Verifier;
use workers::WorkerTally;
use workload::replay::Recording;
use workload::{ClientIndex, IoProgram, OpStream, ProgramInput, SequenceState};

pub static FILE: EngineDef = EngineDef {
    entry: Entry {
        name: "file",
        spoken: "the disk",
        help: "files or a block device, read and written by pread/pwrite, io_uring, libaio or mmap",
        families: &[Family::Io],
        params: PARAMS,
    },
    runs: EngineLocation::InClients,
    disk_peak: |data, _| data,
    version: || Ok(kernel()),
    check: |trial| {
        checks::check_settings(trial)?;
        checks::check_load(trial)?;
        let program = program_of(trial);
        checks::check_verify(trial, &program)?;
        checks::check_replay(trial)?;
        checks::check_memory(trial, &program)
    },
    start: |start| Ok(Box::new(FileInstance::start(start)?)),
    ..EngineDef::BARE
};

/// The files under measurement.
struct FileInstance {
    paths: FilePaths,
    made: FileOrigin,
    made_for: DataDescription,
    /// If the data is verified.
    generations: Option<DataGenerations>,
    /// Loads begun so far: each writes other content.
    loads: u64,
    abilities: Option<RingAbilities>,
    alignment: DirectAlignment,
    /// Those that the current trial has been found to have.
    workers: Arc<WorkerTally>,
    /// Whether the current trial writes and wants a sync at its end.
    fsync_end: bool,
    /// How often this instance writes all of the files before anything is measured.
    passes: u32,
    /// Whether that is more than it takes to make them.
    preconditioned: bool,
    /// The recording that the current trial replays.
    replayed: Option<RecordingSummary>,
    /// The times at which it falls due, if it does not go as fast as it can.
    due: Option<Arc<RecordedTimes>>,
}

/// Whose the files are.
enum FileOrigin {
    /// In a data directory; removed at the end.
    Here(DataDir),
    /// At the path that the user named; it stays, once it is filled.
    Named(NamedFile),
    /// A block device that the user named. It is measured with what is on it: nothing is made.
    Device(RawDevice),
}

/// How the clients of one trial do their I/O, with what they share.
enum IoMethod {
    Sync,
    Uring(RingAbilities, Arc<WorkerTally>),
    Aio,
    Mmap(FileMappings),
}

impl FileInstance {
    fn start(start: &StartContext) -> Result<FileInstance, TargetError> {
        let trial = start.trial;
        let (program, verify) = (program_of(trial), FileSettings::from_trial(trial).verify);
        let (paths, made, generations) = match &trial.target.path {
            None => {
                let mut dir = DataDir::create(start.parent, start.data, trial.seed)?;
                let paths = files::make_files(&mut dir, program.files)?;
                let table =
                    verify.then(|| DataGenerations::in_directory(&mut dir, &program, trial.seed)).transpose()?;
                (paths, FileOrigin::Here(dir), table)
            }
            Some(path) if program.files > 1 => return Err(refuse_several_at(path, program.files)),
            Some(path) if verify && BlockDevice::at(path).is_some() => return Err(refuse_device_verify(path)),
            Some(path) if let Some(device) = BlockDevice::at(path) => {
                let mut device = RawDevice::new(device, start.destroy);
                device.check_writes(program.writes || trial.phases.precondition() > 1)?;
                (FilePaths::from([path.clone()]), FileOrigin::Device(device), None)
            }
            Some(path) => {
                let named = NamedFile::open_or_make(path, program.file_bytes, program.writes)?;
                named.check_reads(program.reads)?;
                let table =
                    verify.then(|| DataGenerations::for_named(path, &named, &program, trial.seed)).transpose()?;
                if table.is_none() && !named.is_full() {
                    generations::discard_table(path)?;
                }
                (FilePaths::from([path.clone()]), FileOrigin::Named(named), table)
            }
        };
        // A new file is empty and cannot be tried: it is looked at again when it is full.
        let alignment = direct_alignment(&files::open_one(&paths[0], FileOpening::READING)?);
        Ok(FileInstance {
            paths,
            made,
            made_for: DataDescription::new(start),
            generations,
            loads: 0,
            abilities: None,
            alignment,
            workers: Arc::default(),
            fsync_end: false,
            passes: 0,
            preconditioned: false,
            replayed: trial.workload.params.recording().cloned(),
            due: None,
        })
    }

    /// How often all of the files are to be written: all that `trial` asks for if they are made, one less if they are full.
    fn passes_for(&self, trial: &Trial, program: &IoProgram) -> Result<u32, TargetError> {
        let asked = trial.phases.precondition();
        match &self.made {
            FileOrigin::Named(named) if named.is_null() => Ok(0),
            FileOrigin::Named(named) if named.is_full() => {
                named.check_precondition(asked)?;
                if asked > 1 && self.generations.is_none() {
                    generations::check_unverified_writes(&self.paths[0])?;
                }
                files::check_sizes(&self.paths, program.file_bytes)?;
                Ok(asked - 1)
            }
            // There is nothing to make on a device; what is written before the run is what was asked for, and nothing else.
            FileOrigin::Device(_) if asked > 1 => {
                files::check_sizes(&self.paths, program.file_bytes)?;
                Ok(asked)
            }
            FileOrigin::Device(_) => Ok(0),
            _ => Ok(asked),
        }
    }

    /// The path that the user named: the file or device, or the directory in which plimsoll made its own.
    fn named_location(&self) -> &Path {
        match &self.made {
            FileOrigin::Here(dir) => dir.path().parent().unwrap_or(dir.path()),
            FileOrigin::Named(_) | FileOrigin::Device(_) => &self.paths[0],
        }
    }

    /// Whether everything that is written is dropped.
    fn is_null_device(&self) -> bool {
        matches!(&self.made, FileOrigin::Named(named) if named.is_null())
    }

    /// Clients are about to be made, which write or do not.
    fn begin_load(&mut self, writes: bool) -> Result<(), TargetError> {
        self.loads += 1;
        if let FileOrigin::Named(named) = &self.made
            && writes
        {
            named.mark_in_use()?;
        }
        match &mut self.generations {
            Some(generations) if writes => generations.mark_in_use(),
            _ => Ok(()),
        }
    }

    fn io_method(&self, settings: FileSettings, program: &IoProgram) -> Result<IoMethod, TargetError> {
        Ok(match settings.io {
            IoInterface::Sync => IoMethod::Sync,
            IoInterface::Uring => IoMethod::Uring(self.abilities.expect("found out by `check`"), self.workers.clone()),
            IoInterface::Aio => IoMethod::Aio,
            IoInterface::Mmap => {
                IoMethod::Mmap(mmap::map_all(&self.paths, program.file_bytes, settings.file_opening(program.writes))?)
            }
        })
    }

    fn make_client(
        &self,
        trial: &Trial,
        program: &IoProgram,
        run: &OpStream<IoOp>,
        method: &IoMethod,
        slot: ClientIndex,
    ) -> Result<Box<dyn Client>, TargetError> {
        let settings = FileSettings::from_trial(trial);
        let files = OpenFiles::open(&self.paths, settings.file_opening(program.writes))?;
        let source = OpSource::new(run, slot);
        let seed = self.content_seed(trial, slot);
        let buffers = IoBuffers::new(buffer_sizes(trial, program), settings.content, program.block, seed);
        let verifier = self.make_verifier(trial.load.depth, program.block);
        Ok(match method {
            IoMethod::Sync => Box::new(SyncClient::new(source, SyncFile::new(files, buffers, verifier))),
            IoMethod::Mmap(mapped) => {
                Box::new(SyncClient::new(source, MmapFile::new(mapped.clone(), files, buffers, verifier)))
            }
            IoMethod::Uring(abilities, workers) => {
                let driver = UringFile::new(files, buffers, verifier, *abilities, workers.clone());
                Box::new(BatchClient::new(source, driver, settings.stamp))
            }
            IoMethod::Aio => Box::new(BatchClient::new(source, AioFile::new(files, buffers, verifier), settings.stamp)),
        })
    }

    fn make_verifier(&self, depth: u32, block: Bytes) -> Option<Verifier> {
        self.generations.as_ref().map(|generations| Verifier::new(generations.table(), depth, block))
    }

    /// The seed of the content that the client in `slot` writes in this load: no other client or load writes the same.
    fn content_seed(&self, trial: &Trial, slot: ClientIndex) -> u64 {
        trial.seed
            ^ self.loads.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(slot.client).wrapping_mul(0xd1b5_4a32_d192_ed03)
    }
}

fn refuse_several_at(path: &Path, files: u16) -> TargetError {
    TargetError::Unsupported(format!(
        "files = `{files}` cannot be used with the one file at `{}`; leave out the path, or use files = `1`",
        shown(path)
    ))
}

fn refuse_device_verify(device: &Path) -> TargetError {
    TargetError::Unsupported(format!(
        "verify = `true` needs a table next to the data, which is not possible for the block device `{}`; name a file",
        shown(device)
    ))
}

impl Instance for FileInstance {
    fn report(&self) -> InstanceReport {
        let alignment = match self.alignment {
            DirectAlignment::Direct { offset_align, .. } => format!("{offset_align} B"),
            DirectAlignment::BufferedOnly => "none".into(),
            DirectAlignment::Unknown => "unknown".into(),
        };
        let mut facts = vec![Fact::new("engine.version", kernel()), Fact::new("file.direct_alignment", alignment)];
        facts.extend(self.abilities.iter().flat_map(RingAbilities::facts));
        // Of files that are just made there is nothing to tell.
        facts.extend((self.preconditioned).then(|| Fact::new("file.written_whole", self.passes.to_string())));
        facts.extend(self.is_null_device().then(|| Fact::new("file.device", "null: what is written is dropped")));
        facts.extend(self.generations.iter().map(DataGenerations::table_fact));
        facts.extend(self.replayed.iter().flat_map(replay::facts));
        InstanceReport { facts, ..InstanceReport::default() }
    }

    fn write_path(&self, trial: &Trial) -> WritePath {
        // The files are made in full before they are measured, so that every write is to what was there.
        let settings = FileSettings::from_trial(trial);
        let is_direct = settings.direct && settings.io != IoInterface::Mmap;
        if is_direct { WritePath::Direct } else { WritePath::Buffered }
    }

    fn finish_trial(&mut self) -> Vec<Fact> {
        let mut facts = self.abilities.map_or(Vec::new(), |_| self.workers.facts());
        if self.fsync_end {
            facts.push(Fact::new("file.fsync_end", files::timed_fsync(&self.paths)));
        }
        facts.extend(self.due.take().iter().flat_map(|due| due.facts()));
        facts
    }

    fn read_back(&mut self, go_on: &mut dyn FnMut(Bytes, Bytes) -> bool) -> Result<Option<ReadBack>, TargetError> {
        let full = match &self.made {
            FileOrigin::Here(dir) => dir.manifest().complete,
            FileOrigin::Named(named) => named.is_full(),
            FileOrigin::Device(_) => false,
        };
        let direct = matches!(self.alignment, DirectAlignment::Direct { .. });
        match &mut self.generations {
            Some(generations) if full => generations.read_back(&self.paths, direct, go_on),
            _ => Ok(None),
        }
    }

    fn check_trial(&mut self, trial: &Trial) -> Result<(), TargetError> {
        let (program, settings) = (program_of(trial), FileSettings::from_trial(trial));
        if settings.direct {
            checks::check_alignment(self.named_location(), self.alignment, trial, &program)?;
        }
        // They hold for one number of clients and one depth, because memory is pinned for all of them.
        self.abilities = None;
        match settings.io {
            IoInterface::Sync | IoInterface::Mmap => {}
            IoInterface::Aio => aio::check_aio(trial.load.clients * trial.load.depth)?,
            IoInterface::Uring => {
                self.abilities = Some(RingAbilities::probe(trial.load.clients, buffer_sizes(trial, &program))?)
            }
        }
        Ok(())
    }

    fn make_loaders(&mut self, trial: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        let program = program_of(trial);
        self.passes = self.passes_for(trial, &program)?;
        self.preconditioned = trial.phases.precondition() > 1;
        if self.passes == 0 {
            return Ok(None);
        }
        let content = FileSettings::from_trial(trial).content;
        // A trial through the page cache finds its files there: they were filled through it, too.
        let direct = FileSettings::from_trial(trial).direct && matches!(self.alignment, DirectAlignment::Direct { .. });
        files::lift_limit(program.files.into());
        let files = OpenFiles::open(&self.paths, FileOpening::for_filling(direct))?;
        // One writer from beginning to end: a file that several clients fill at once is laid out in pieces.
        let slot = ClientIndex { client: 0, clients: 1 };
        self.begin_load(true)?;
        let room = BufferSizes::new(1, 1, program.fill_block, true, content);
        let buffers = IoBuffers::new(room, content, program.block, self.content_seed(trial, slot));
        let driver = SyncFile::new(files, buffers, self.make_verifier(1, program.fill_block));
        let load = program.load.repeated(self.passes);
        let client: Box<dyn Client> = Box::new(SyncClient::new(OpSource::new(&load, slot), driver));
        let (kinds, clients) = (program.kinds.to_vec(), vec![client]);
        Ok(Some(WorkloadClients { kinds, clients, background: Vec::new(), parts: Vec::new(), due: None }))
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        if self.passes == 0 {
            return Ok(Vec::new()); // nothing was made, and the file may be not made by plimsoll
        }
        let mut size = 0;
        for path in self.paths.iter() {
            let file = files::open_one(path, FileOpening::for_filling(false))?;
            file.sync_all().trying("sync", path)?;
            size += file.metadata().trying("look at", path)?.len();
            // If the kernel does not report it, only a file that is no longer empty can be tried.
            self.alignment = direct_alignment(&file);
        }
        match &mut self.made {
            FileOrigin::Here(dir) => dir.seal(size)?,
            FileOrigin::Named(named) => named.seal(size)?,
            FileOrigin::Device(_) => {} // nothing is made on it
        }
        Ok(Vec::new())
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let (program, settings) = (program_of(trial), FileSettings::from_trial(trial));
        match &mut self.made {
            FileOrigin::Here(dir) => self.made_for.check_dir(dir, trial)?,
            FileOrigin::Named(named) => {
                named.check_reads(program.reads)?;
                named.check_writes(program.writes)?;
                if program.writes && self.generations.is_none() {
                    generations::check_unverified_writes(&self.paths[0])?;
                }
            }
            FileOrigin::Device(device) => device.check_writes(program.writes)?,
        }
        self.check_trial(trial)?;
        if !self.is_null_device() {
            files::check_sizes(&self.paths, program.file_bytes)?;
        }
        files::lift_limit(u64::from(trial.load.clients) * u64::from(program.files));
        self.workers = Arc::default();
        self.fsync_end = program.writes && settings.fsync_end;
        self.begin_load(program.writes)?;
        let method = self.io_method(settings, &program)?;
        let recording = recordings::recording_of(trial)?;
        let run = make_program(trial, recording.as_ref()).run;
        let clients =
            ClientIndex::all_in(trial.data_part()).map(|slot| self.make_client(trial, &program, &run, &method, slot));
        let clients = clients.collect::<Result<_, _>>()?;
        self.due = recording.and_then(|recording| RecordedTimes::of(trial, recording));
        Ok(WorkloadClients {
            kinds: program.kinds.to_vec(),
            clients,
            background: Vec::new(),
            parts: Vec::new(),
            due: self.due.clone().map(|due| -> Arc<dyn DueTimes> { due }),
        })
    }

    fn measure_space(&self) -> DataSpace {
        DataSpace { total: files::footprint_of(&self.paths), ..DataSpace::default() }
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        let FileInstance { made, generations, paths, .. } = *self;
        match made {
            FileOrigin::Here(dir) => dir.remove(),
            FileOrigin::Named(named) => {
                // The table is marked only if the data is full: half a file is of no use, and goes with its table.
                let rested = match generations {
                    Some(generations) if named.is_full() => generations.mark_at_rest(&paths),
                    Some(generations) => {
                        drop(generations); // its lock is to be had again
                        generations::discard_table(&paths[0])
                    }
                    None => Ok(()),
                };
                rested.and(named.mark_at_rest()).and(named.discard_unfilled())
            }
            FileOrigin::Device(_) => Ok(()),
        }
    }
}

/// The memory of each client of `trial`.
fn buffer_sizes(trial: &Trial, program: &IoProgram) -> BufferSizes {
    let content = FileSettings::from_trial(trial).content;
    BufferSizes::new(trial.load.clients, trial.load.depth, program.block, program.writes, content)
}

fn program_of(trial: &Trial) -> IoProgram {
    make_program(trial, None)
}

fn make_program(trial: &Trial, recording: Option<&Arc<Recording>>) -> IoProgram {
    let make = workload_of(trial).io.expect("the plan was checked: workload and engine share a family");
    let sequence = SequenceState::default();
    make(&ProgramInput { recording, ..ProgramInput::from_trial(trial, &sequence) })
}
