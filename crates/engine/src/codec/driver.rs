//! One client: compresses the file, brings it back, and with blocks reads and writes some at random.
//!
//! In: [`TaskOp`]s. Out: their outcomes; sizes, CPU time and reads as figures. Limits: CPU time and sizes are read before and after an op
//! on the whole file, outside of its time. An op on a block allocates nothing, except what its codec does.

use super::blocks::BlockFile;
use super::codecs::Codec;
use super::measured::{Reading, SharedFigures};
use super::source::SourceFile;
use host::error::{IoContext, TargetError, shown, system_words};
use host::page_cache::write_out;
use host::privileged::volume::VolumeDaemon;
use load::Driver;
use model::{Bytes, FailureClass, Outcome, TaskOp};
use rustix::fs::{Advice, fadvise, statvfs};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workload::compress::CodecTask;

const PIECE: usize = 256 << 10;
/// A disk that does not write out a file within this time has failed.
const WRITE_OUT_WAIT: Duration = Duration::from_secs(600);

pub(super) struct CodecDriver {
    codec: Box<dyn Codec>,
    source: SourceFile,
    /// Open for reads of single blocks.
    open_source: File,
    path: PathBuf,
    target: File,
    blocks: Option<BlockFile>,
    figures: SharedFigures,
    /// Whether the size is that of all that the file system holds.
    on_own_volume: bool,
    /// The process that is that file system, if it is none of the kernel's.
    daemon: Option<VolumeDaemon>,
    /// Bytes in use on that before the file was made.
    used_before: Option<u64>,
    before: Option<Reading>,
    elapsed: Duration,
    failure: String,
}

impl CodecDriver {
    /// The client that compresses `source` to the new file at `path`.
    pub fn new(
        codec: Box<dyn Codec>,
        source: &SourceFile,
        path: &Path,
        figures: SharedFigures,
    ) -> Result<CodecDriver, TargetError> {
        let open_source = source.reader().trying("open", path)?;
        let target = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        Ok(CodecDriver {
            codec,
            source: source.clone(),
            open_source,
            path: path.to_owned(),
            target: target.trying("create", path)?,
            blocks: None,
            figures,
            on_own_volume: false,
            daemon: None,
            used_before: None,
            before: None,
            elapsed: Duration::ZERO,
            failure: String::new(),
        })
    }

    /// Compresses blocks of this size one by one; 0 for the file as one stream.
    pub fn take_blocks(&mut self, block: Bytes) {
        self.blocks = (block > Bytes(0)).then(|| BlockFile::new(block.0 as usize));
    }

    /// Takes for the size what the file makes the file system use: it is plimsoll's own, and may compress what it is given.
    /// `daemon` is the process that does so, if the kernel does not.
    pub fn measure_volume(&mut self, daemon: Option<VolumeDaemon>) {
        self.on_own_volume = true;
        self.daemon = daemon;
    }

    fn compress(&mut self) -> io::Result<usize> {
        let began = Instant::now();
        let mut source = BufReader::with_capacity(PIECE, self.source.reader()?);
        let mut target = io::BufWriter::with_capacity(PIECE, &self.target);
        match &mut self.blocks {
            Some(blocks) => blocks.compress_all(&mut *self.codec, &mut source, &mut target)?,
            None => self.codec.compress_stream(&mut source, self.source.bytes(), &mut target)?,
        }
        target.flush()?;
        drop(target);
        self.target.sync_all()?;
        self.elapsed = began.elapsed();
        Ok(self.source.bytes() as usize)
    }

    fn decompress(&mut self) -> io::Result<usize> {
        let began = Instant::now();
        self.bring_back(&mut io::sink())?;
        self.elapsed = began.elapsed();
        Ok(self.source.bytes() as usize)
    }

    fn bring_back(&mut self, target: &mut dyn Write) -> io::Result<()> {
        match &mut self.blocks {
            Some(blocks) => blocks.decompress_all(&mut *self.codec, &self.target, target),
            None => {
                let mut packed = BufReader::with_capacity(PIECE, model::open_regular(&self.path)?);
                self.codec.decompress_stream(&mut packed, target)
            }
        }
    }

    /// Keeps what compressing the file took, and the size of the result.
    fn note_compressed(&mut self) -> io::Result<()> {
        self.source.check_unchanged().map_err(io::Error::other)?;
        let after = Reading::take(self.daemon.as_ref());
        let output = self.output_bytes()?;
        let (input, elapsed) = (self.source.bytes(), self.elapsed);
        let Some(before) = &self.before else { return Ok(()) };
        self.figures.change(|figures| {
            figures.input_bytes = Some(input);
            figures.output_bytes = Some(output);
            figures.durable = Some(after.spent_since(before, elapsed));
            figures.source_read_bytes = after.read_since(before);
        });
        Ok(())
    }

    /// The length of the file, or what it takes of its own volume.
    fn output_bytes(&self) -> io::Result<u64> {
        match self.used_before {
            None => Ok(self.target.metadata()?.len()),
            Some(before) => {
                self.write_out_volume()?;
                Ok(used_bytes(&self.path)?.saturating_sub(before))
            }
        }
    }

    /// The kernel cannot ask a process that is a file system for that.
    fn write_out_volume(&self) -> io::Result<()> {
        write_out(&self.path, WRITE_OUT_WAIT);
        self.daemon.as_ref().map_or(Ok(()), VolumeDaemon::settle).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Bytes in use on the volume before a file is made; `None` without a volume.
    fn used_by_others(&self) -> Option<u64> {
        let settled = self.on_own_volume.then(|| self.write_out_volume())?;
        settled.and_then(|()| used_bytes(&self.path)).ok()
    }

    /// Keeps what bringing the file back took, and compares what came back.
    fn note_brought_back(&mut self) -> io::Result<()> {
        let (after, elapsed) = (Reading::take(self.daemon.as_ref()), self.elapsed);
        if let Some(before) = &self.before {
            let spent = after.spent_since(before, elapsed);
            self.figures.change(|figures| figures.brought_back = Some(spent));
        }
        // Once more, outside of the time: comparing takes as long as a fast codec.
        let mut compared = SourceComparison::new(BufReader::with_capacity(PIECE, self.source.reader()?));
        self.bring_back(&mut compared)?;
        compared.finish(self.source.bytes())
    }

    /// `done` as an outcome; the words of a failure are kept.
    fn outcome(&mut self, done: io::Result<usize>) -> Outcome {
        match done {
            Ok(bytes) => Outcome::Ok { bytes: u32::try_from(bytes).unwrap_or(u32::MAX) },
            Err(error) => {
                self.failure = match error.get_ref() {
                    Some(own) => own.to_string(),
                    None => format!("`{}`: {}", shown(&self.path), system_words(&error)),
                };
                Outcome::Failed(failure_class(&error))
            }
        }
    }

    fn check(&mut self, op: &TaskOp) -> io::Result<()> {
        match (CodecTask::of_kind(op.op_kind), &mut self.blocks) {
            (CodecTask::Compress, _) => self.note_compressed(),
            (CodecTask::Decompress, _) => self.note_brought_back(),
            (CodecTask::DecompressBlock, Some(blocks)) => blocks.check_block(&self.open_source, op.item),
            (CodecTask::DecompressBlock | CodecTask::CompressBlock, _) => Ok(()),
        }
    }
}

impl Driver for CodecDriver {
    type Op = TaskOp;

    fn prepare_op(&mut self, op: &TaskOp) {
        match (CodecTask::of_kind(op.op_kind), &mut self.blocks) {
            (CodecTask::Compress, _) => {
                // An earlier one may be there. If it cannot be emptied, what comes back is not what went in.
                let _ = self.target.set_len(0).and_then(|()| self.target.rewind());
                self.used_before = self.used_by_others();
                self.before = Some(Reading::take(self.daemon.as_ref()));
            }
            (CodecTask::Decompress, _) => {
                // What was just written is read from the disk, as after a restart, and what a file system compressed is decompressed.
                let _ = fadvise(&self.target, 0, None, Advice::DontNeed);
                self.before = Some(Reading::take(self.daemon.as_ref()));
            }
            (CodecTask::CompressBlock, Some(blocks)) => {
                // If it cannot be taken, the block before it is compressed, which is refused as one of another size.
                let _ = blocks.take_block(&self.open_source, op.item);
            }
            (CodecTask::DecompressBlock | CodecTask::CompressBlock, _) => {}
        }
    }

    fn execute_op(&mut self, op: &TaskOp) -> Outcome {
        let done = match (CodecTask::of_kind(op.op_kind), &mut self.blocks) {
            (CodecTask::Compress, _) => self.compress(),
            (CodecTask::Decompress, _) => self.decompress(),
            (CodecTask::DecompressBlock, Some(blocks)) => blocks.read_block(&mut *self.codec, &self.target, op.item),
            (CodecTask::CompressBlock, Some(blocks)) => blocks.write_block(&mut *self.codec, &self.target, op.item),
            (CodecTask::DecompressBlock | CodecTask::CompressBlock, None) => {
                Err(io::Error::other("there are no blocks"))
            }
        };
        self.outcome(done)
    }

    fn check_outcome(&mut self, op: &TaskOp, outcome: Outcome) -> Outcome {
        let Outcome::Ok { bytes } = outcome else { return outcome };
        let checked = self.check(op).map(|()| bytes as usize);
        self.outcome(checked)
    }

    fn describe_failure(&self) -> String {
        self.failure.clone()
    }
}

fn failure_class(error: &io::Error) -> FailureClass {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => FailureClass::Corrupt,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FailureClass::NoSpace,
        _ if error.raw_os_error().is_some() => FailureClass::Io,
        _ => FailureClass::Other,
    }
}

/// Bytes in use on the file system of `path`.
fn used_bytes(path: &Path) -> io::Result<u64> {
    let state = statvfs(path)?;
    Ok((state.f_blocks - state.f_bfree) * state.f_frsize)
}

/// Compares what is written to it with the source.
struct SourceComparison<R> {
    source: R,
    expected: Vec<u8>,
    bytes: u64,
}

impl<R: Read> SourceComparison<R> {
    fn new(source: R) -> SourceComparison<R> {
        SourceComparison { source, expected: Vec::new(), bytes: 0 }
    }

    /// That all `bytes` have come back.
    fn finish(self, bytes: u64) -> io::Result<()> {
        if self.bytes == bytes { Ok(()) } else { Err(differs(self.bytes)) }
    }
}

impl<R: Read> Write for SourceComparison<R> {
    fn write(&mut self, came_back: &[u8]) -> io::Result<usize> {
        self.expected.resize(came_back.len(), 0);
        self.source.read_exact(&mut self.expected).map_err(|_| differs(self.bytes))?;
        if self.expected != came_back {
            return Err(differs(self.bytes));
        }
        self.bytes += came_back.len() as u64;
        Ok(came_back.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn differs(near: u64) -> io::Error {
    let text = format!("what came back is not what went in, from byte {near} or soon after");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::super::codecs;
    use super::*;
    use model::OpKind;

    const KINDS: [OpKind; 4] = [OpKind(0), OpKind(1), OpKind(2), OpKind(3)];

    struct Lab {
        dir: tempfile::TempDir,
        figures: SharedFigures,
    }

    impl Lab {
        fn new() -> Lab {
            let dir = tempfile::tempdir().unwrap();
            let rows: String = (0..20_000).map(|row| format!("row {row}, paid in full\n")).collect();
            std::fs::write(dir.path().join("source"), rows).unwrap();
            Lab { dir, figures: SharedFigures::default() }
        }

        fn driver(&self, words: &str, block: u64) -> CodecDriver {
            let source = SourceFile::open(&self.dir.path().join("source")).unwrap();
            let (def, level) = codecs::find(words).unwrap();
            let codec = (def.make)(level).unwrap();
            let path = self.dir.path().join("compressed");
            let mut driver = CodecDriver::new(codec, &source, &path, self.figures.clone()).unwrap();
            driver.take_blocks(Bytes(block));
            driver
        }
    }

    fn perform(driver: &mut CodecDriver, kind: OpKind, item: u64) -> Outcome {
        let op = TaskOp { op_kind: kind, item };
        driver.prepare_op(&op);
        let outcome = driver.execute_op(&op);
        driver.check_outcome(&op, outcome)
    }

    #[test]
    fn a_file_and_its_blocks_come_back_and_the_sizes_are_kept() {
        for (words, block) in [("none", 0), ("gzip:6", 0), ("lzjb", 0), ("zstd:3", 4096), ("lz4", 16_384)] {
            let lab = Lab::new();
            let mut driver = lab.driver(words, block);
            for kind in &KINDS[..if block == 0 { 2 } else { 4 }] {
                for item in [0, 1, 7_777_777, u64::MAX] {
                    let done = perform(&mut driver, *kind, item);
                    assert!(matches!(done, Outcome::Ok { .. }), "{words} {kind:?}: {}", driver.describe_failure());
                }
            }
            let found = lab.figures.take();
            let input = found.input_bytes.unwrap();
            assert_eq!(input, std::fs::metadata(lab.dir.path().join("source")).unwrap().len());
            assert!(found.output_bytes.unwrap() < input || words == "none", "{words}: {found:?}");
            assert!(found.durable.is_some() && found.brought_back.is_some());
        }
    }

    #[test]
    fn damage_in_the_compressed_file_is_an_op_that_failed_as_corrupt() {
        let lab = Lab::new();
        let mut driver = lab.driver("none", 4096);
        perform(&mut driver, KINDS[0], 0);
        std::os::unix::fs::FileExt::write_all_at(&driver.target, b"XXXX", 5_000).unwrap();
        assert_eq!(perform(&mut driver, KINDS[1], 0), Outcome::Failed(FailureClass::Corrupt));
        assert!(driver.describe_failure().contains("not what went in"), "{}", driver.describe_failure());
        assert_eq!(perform(&mut driver, KINDS[2], 1), Outcome::Failed(FailureClass::Corrupt));
        assert!(matches!(perform(&mut driver, KINDS[2], 2), Outcome::Ok { .. }));
    }

    #[test]
    fn a_file_that_changes_while_it_is_compressed_fails_the_op_with_the_reason() {
        let lab = Lab::new();
        let mut driver = lab.driver("lz4", 0);
        std::fs::write(lab.dir.path().join("source"), "shorter").unwrap();
        assert_eq!(perform(&mut driver, KINDS[0], 0), Outcome::Failed(FailureClass::Other));
        assert!(driver.describe_failure().contains("changed while it was read"), "{}", driver.describe_failure());
    }
}
