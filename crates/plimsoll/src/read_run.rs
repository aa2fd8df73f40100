//! A run file that was read whole, for the commands and pages that analyse it.
//!
//! In: the path of a run file. Out: a [`ReadRun`]. Limits: all of the run is in memory.

use analysis::Analysis;
use analysis::compare::ComparedRun;
use model::RunData;
use std::path::Path;
use store::StoreError;

/// A run with its analysis.
pub struct ReadRun {
    /// What it is called: the name of its file, without the extension.
    pub name: String,
    pub data: RunData,
    pub analysis: Analysis,
}

impl ReadRun {
    /// Reads and analyses `file`.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub fn read(file: &Path) -> Result<ReadRun, StoreError> {
        Ok(ReadRun::analyse(run_name(file), read_data(file)?))
    }

    pub fn analyse(name: String, data: RunData) -> ReadRun {
        let analysis = analysis::analyse(&data);
        ReadRun { name, data, analysis }
    }

    /// The run as one of several that are compared.
    pub fn as_compared(&self) -> ComparedRun<'_> {
        ComparedRun { name: &self.name, data: &self.data, analysis: &self.analysis }
    }
}

/// The name of a run file without its extension.
pub fn run_name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What was recorded in `file`, with the facts by which the file is known.
///
/// # Errors
/// Why the file cannot be read.
pub fn read_data(file: &Path) -> Result<RunData, StoreError> {
    let mut data = store::read(file)?;
    report::state_source(&mut data.meta, file).map_err(|cause| StoreError::Io {
        path: file.to_owned(),
        doing: "read",
        cause,
    })?;
    Ok(data)
}
