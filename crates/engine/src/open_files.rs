//! The files that a process has open, by `/proc`.
//!
//! In: the directory of a process in `/proc`. Out: the files and sockets behind its descriptors. Limits: those of other users' processes
//! are seen by root only; a descriptor that is closed meanwhile is left out.

use std::io;
use std::path::{Path, PathBuf};

/// What the descriptors of the process in the directory `process` lead to: a path, or a name such as `socket:[1234]`.
///
/// # Errors
/// If they may not be listed, or the process has ended.
pub fn open_files(process: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let descriptors = std::fs::read_dir(process.join("fd"))?.flatten();
    Ok(descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_listed_while_it_is_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        let is_open = || open_files(Path::new("/proc/self")).unwrap().any(|open| open == path);
        assert!(is_open());
        let closed = file.into_temp_path();
        assert!(!is_open());
        closed.close().unwrap();
        assert!(open_files(Path::new("/proc/none")).is_err());
    }
}
