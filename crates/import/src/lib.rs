//! Results of other programs become run files: fio, sysbench, pgbench, HammerDB, YCSB, go-tpc, go-ycsb and memtier_benchmark.
//!
//! In: files that these programs have written, recognised by their content. Out: an [`ImportedRun`], which is written as a run file whose
//! points are marked with the program they come from.
//!
//! Limits: only what the files hold is taken over. What they do not hold stays unknown: the machine, its settings, and often the response
//! times. A file is read as a stream and within bounds: 1 GiB, of which 64 MiB of JSON; a line of 64 KiB; a million intervals.

mod amount;
mod error;
mod fio;
mod go_tpc;
mod grid;
mod hammerdb;
mod input;
mod memtier;
mod percentiles;
mod pgbench;
mod point;
mod runs;
mod sysbench;
mod write;
mod ycsb;

pub use error::ImportError;
pub use point::{ImportedKind, ImportedPoint, STATED_WORKLOAD, StatedSettings, Timeline};
pub use write::ImportedRun;

use input::{Format, Input};
use model::Catalogue;
use std::path::{Path, PathBuf};

/// Reads all `files` as one run, and takes from `stated` what they do not hold. `catalogue` declares what parameters mean.
///
/// # Errors
/// The first file that cannot be read or is not what it should be, with the line and what was expected.
pub fn read_files(
    files: &[PathBuf],
    stated: &StatedSettings,
    catalogue: &Catalogue,
) -> Result<ImportedRun, ImportError> {
    let recognised = recognise_all(files)?;
    let logs = |wanted: Format| -> Vec<&Path> {
        recognised.iter().filter(|(_, format)| *format == wanted).map(|(path, _)| *path).collect()
    };
    let mut points = Vec::new();
    for (path, format) in &recognised {
        let read = match format {
            Format::FioJson => fio::read(path, &logs(Format::FioLog))?,
            Format::Sysbench => sysbench::read(path)?,
            Format::Pgbench => pgbench::read(path, &logs(Format::PgbenchLog))?,
            Format::HammerDb => hammerdb::read(path)?,
            Format::Ycsb => ycsb::read(path)?,
            Format::GoTpc => go_tpc::read(path)?,
            Format::MemtierText => memtier::text::read(path)?,
            Format::MemtierJson => memtier::json::read(path)?,
            Format::FioLog | Format::PgbenchLog => Vec::new(),
        };
        read.iter().try_for_each(|point| check_rate(path, point))?;
        points.extend(read);
    }
    points.iter_mut().for_each(|point| stated.fill_in(point));
    Ok(ImportedRun::new(points, files, catalogue))
}

/// More than any machine does in a second.
const OPS_PER_S_MAX: f64 = 1e11;

/// Refuses what no machine does: a count or a time of it is wrong, and nobody can tell which.
fn check_rate(path: &Path, point: &ImportedPoint) -> Result<(), ImportError> {
    let ops: u64 = point.kinds.iter().map(|kind| kind.ok + kind.failed).sum();
    if ops as f64 <= OPS_PER_S_MAX * point.length.as_secs_f64() {
        return Ok(());
    }
    let seconds = point.length.as_secs_f64();
    Err(ImportError::whole(path, format!("{ops} operations in {seconds} s are more than any machine does")))
}

/// Each file with its format. Logs need exactly one file with the results that they belong to.
fn recognise_all(files: &[PathBuf]) -> Result<Vec<(&Path, Format)>, ImportError> {
    let known: Vec<(&Path, Format)> =
        files.iter().map(|path| Ok((path.as_path(), Input::recognise(path)?))).collect::<Result<_, ImportError>>()?;
    for (log, result, what) in [
        (Format::FioLog, Format::FioJson, "JSON output (`--output-format=json+`) of the same run of fio"),
        (Format::PgbenchLog, Format::Pgbench, "output of the same run of pgbench"),
    ] {
        let Some((path, _)) = known.iter().find(|(_, format)| *format == log) else { continue };
        match known.iter().filter(|(_, format)| *format == result).count() {
            1 => {}
            0 => {
                return Err(ImportError::whole(
                    path,
                    format!("this is a log, which needs the {what}; give both files"),
                ));
            }
            _ => {
                return Err(ImportError::whole(
                    path,
                    format!(
                        "this log may belong to more than one of the files; import each {what} with its logs by itself"
                    ),
                ));
            }
        }
    }
    Ok(known)
}
