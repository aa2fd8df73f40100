//! The file that is compressed: only read, in the page cache, and the same from the beginning to the end.
//!
//! In: a path. Out: the file, opened again for each reading; whether it has changed. Limits: a change that keeps size, time and number
//! of the file is seen only when what comes back is compared with it.

use crate::file_state::FileState;
use host::error::{IoContext, TargetError, shown};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file and what it was when it was first seen.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    path: PathBuf,
    seen: FileState,
}

impl SourceFile {
    /// Looks at the file at `path`.
    ///
    /// # Errors
    /// If there is no such file, or nothing that can be compressed, with what to name instead.
    pub fn open(path: &Path) -> Result<SourceFile, TargetError> {
        if path.as_os_str().is_empty() {
            return refused("no file is named; name the files to compress, as in `plimsoll compress FILE...`".into());
        }
        let named = shown(path);
        let found = match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return refused(format!("file = `{named}`: there is no such file; name one that exists"));
            }
            found => found.trying("look at", path)?,
        };
        if found.is_dir() {
            return refused(format!("file = `{named}` is a directory; name the files in it"));
        }
        if !found.is_file() {
            return refused(format!("file = `{named}` is no regular file; copy what it holds to a file"));
        }
        if found.len() == 0 {
            return refused(format!("file = `{named}` is empty; name one with data in it"));
        }
        model::open_regular(path).trying("open", path)?;
        Ok(SourceFile { path: path.to_owned(), seen: FileState::of(&found) })
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.seen.bytes
    }

    /// Opens it from the beginning.
    pub fn reader(&self) -> io::Result<File> {
        model::open_regular(&self.path)
    }

    /// Reads all of it, so that later readings find it in memory, if it fits there.
    pub fn read_into_cache(&self) -> Result<(), TargetError> {
        let mut file = self.reader().trying("open", &self.path)?;
        let mut piece = vec![0; 1 << 20];
        while file.read(&mut piece).trying("read", &self.path)? > 0 {}
        self.check_unchanged().map_err(TargetError::Failed)
    }

    /// # Errors
    /// What has changed, if it is not the file any more that was first seen.
    pub fn check_unchanged(&self) -> Result<(), String> {
        let named = shown(&self.path);
        let now = self.path.metadata().map(|file| FileState::of(&file));
        match now {
            Ok(now) if now == self.seen => Ok(()),
            Ok(now) if now.bytes != self.seen.bytes => Err(format!(
                "`{named}` changed while it was read: {} bytes before, {} after; compress a copy that nothing writes to",
                self.seen.bytes, now.bytes
            )),
            Ok(_) => Err(format!("`{named}` changed while it was read; compress a copy that nothing writes to")),
            Err(error) => Err(format!("`{named}` cannot be looked at any more: {}", host::error::system_words(&error))),
        }
    }
}

fn refused<T>(text: String) -> Result<T, TargetError> {
    Err(TargetError::Unsupported(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_with_data_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| SourceFile::open(path).unwrap_err().to_string();
        let empty = dir.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        assert!(refusal(dir.path()).contains("is a directory; name the files in it"));
        assert!(refusal(&dir.path().join("none")).contains("there is no such file"));
        assert!(refusal(&empty).contains("is empty"));
        assert!(refusal(Path::new("/dev/null")).contains("is no regular file"));
        assert!(refusal(Path::new("")).contains("no file is named"));
    }

    #[test]
    fn a_file_that_grows_or_is_written_again_has_changed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let source = SourceFile::open(file.path()).unwrap();
        assert_eq!(source.check_unchanged(), Ok(()));
        std::fs::write(file.path(), "abcd").unwrap();
        assert!(source.check_unchanged().unwrap_err().contains("3 bytes before, 4 after"));
        std::fs::write(file.path(), "xyz").unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        file.as_file().set_modified(later).unwrap();
        assert!(source.check_unchanged().unwrap_err().contains("changed while it was read; compress a copy"));
    }
}
