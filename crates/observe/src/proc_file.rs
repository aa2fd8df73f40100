//! Files of `/proc` and `/sys` that are read again and again: opened once, read from the start into one buffer.
//!
//! In: a path. Out: its text of now, and the numbers in it. Limits: the file is kept in memory (the largest here,
//! `/proc/stat`, has some 10 KB on a big machine).

use crate::SourceMissing;
use model::{CounterDef, CounterKind};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One such file, kept open.
#[derive(Debug)]
pub(crate) struct ProcFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    /// Opens `path` and reads it once, since some files open and cannot be read (`/proc/pressure` with PSI switched off).
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SourceMissing> {
        let path = path.into();
        let file = File::open(&path).map_err(|error| SourceMissing::unreadable(&path, error))?;
        // Larger than most of these files, so that one read takes the text of one moment.
        let mut opened = ProcFile { path, file, buffer: vec![0; 8192] };
        match read_into(&opened.file, &mut opened.buffer) {
            Ok(_) => Ok(opened),
            Err(error) => Err(SourceMissing::unreadable(&opened.path, error)),
        }
    }

    /// As [`open`](Self::open), if its text now has what a source reads, which is called `sought`. Asked at once and not at the first
    /// reading: a source that is missing is a fact of the run, and a gap is not.
    pub fn open_with(
        path: impl Into<PathBuf>,
        sought: &str,
        has_it: impl FnOnce(&str) -> bool,
    ) -> Result<Self, SourceMissing> {
        let mut opened = Self::open(path)?;
        if opened.read_text().is_ok_and(has_it) {
            Ok(opened)
        } else {
            Err(SourceMissing::unknown(opened.path(), sought))
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text of now.
    pub fn read_text(&mut self) -> io::Result<&str> {
        read_into(&self.file, &mut self.buffer)
    }
}

/// The text of `path` of now, for files that come and go. The buffer is used again.
pub(crate) fn read_once<'a>(path: &Path, buffer: &'a mut Vec<u8>) -> io::Result<&'a str> {
    read_into(&File::open(path)?, buffer)
}

/// Reads from offset 0 to the end. The kernel makes a new text when offset 0 is read, and a short read is not yet
/// the end.
fn read_into<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<&'a str> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize((2 * filled).max(4096), 0);
        }
        match file.read_at(&mut buffer[filled..], filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // A process may give itself a name in any bytes: the fields before and behind it are still wanted.
    match std::str::from_utf8(&buffer[..filled]) {
        Ok(_) => {}
        Err(_) => buffer[..filled].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?'),
    }
    std::str::from_utf8(&buffer[..filled]).map_err(io::Error::other)
}

/// The number that follows `key` at the beginning of a line: `Dirty:   14324 kB`, `pswpin 0`, `read_bytes: 17`.
pub(crate) fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest =
        text.lines().find_map(|line| line.strip_prefix(key).filter(|rest| rest.starts_with([' ', ':', '\t'])))?;
    rest.trim_start_matches([':', ' ', '\t']).split_ascii_whitespace().next()?.parse().ok()
}

/// The definition of a counter.
pub(crate) fn counter(name: &str, unit: &str, help: &str) -> CounterDef {
    let (name, unit, help) = (name.into(), unit.into(), help.into());
    CounterDef { name, unit, kind: CounterKind::Counter, help, role: None, in_pages: false }
}

/// The definition of a gauge.
pub(crate) fn gauge(name: &str, unit: &str, help: &str) -> CounterDef {
    CounterDef { kind: CounterKind::Gauge, ..counter(name, unit, help) }
}

/// A counter that the kernel may let slip back a little, held at the highest value seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NeverDown(u64);

impl NeverDown {
    /// The highest value up to now.
    pub fn hold_highest(&mut self, value: u64) -> u64 {
        self.0 = self.0.max(value);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_as_a_whole_word_only() {
        let text = "MemTotal: 9 kB\nDirtyX: 1 kB\nDirty:     14324 kB\npswpin 7\nread_bytes: 17\n";
        assert_eq!(number_after(text, "Dirty"), Some(14324));
        assert_eq!(number_after(text, "pswpin"), Some(7));
        assert_eq!(number_after(text, "read_bytes"), Some(17));
        assert_eq!(number_after(text, "pswp"), None);
        assert_eq!(number_after("Dirty: much", "Dirty"), None);
    }

    #[test]
    fn a_file_is_read_as_it_is_now_and_to_its_end() {
        let path = std::env::temp_dir().join(format!("plimsoll-proc-file-{}", std::process::id()));
        std::fs::write(&path, "one").unwrap();
        let mut file = ProcFile::open(&path).unwrap();
        let long = "x".repeat(20_000);
        std::fs::write(&path, &long).unwrap();
        let now = file.read_text().unwrap().to_owned();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(now, long);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_hide_the_rest() {
        let path = std::env::temp_dir().join(format!("plimsoll-proc-name-{}", std::process::id()));
        std::fs::write(&path, b"1 (\xff\xfe) R 7").unwrap();
        let text = read_once(&path, &mut Vec::new()).map(str::to_owned);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text.unwrap(), "1 (??) R 7");
    }
}
