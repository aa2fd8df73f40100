//! Bytes that are written once and then read at any place: in memory while they are few, else in a file without a name.
//!
//! In: bytes at the end, or at a place. Out: bytes of a place. Limits: the file is in the directory of `TMPDIR`, or else in the working
//! directory, or else in `/var/tmp`: `/tmp` may be in memory. It goes when the program ends, however it ends.

use crate::recording_error::RecordingError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// What is kept in memory: a log of this size needs no file.
const MEMORY_BYTES_MAX: usize = 8 << 20;
/// So many bytes are written to the file at once.
const WRITE_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Spill {
    /// The bytes that are in no file yet; all of them if there is none.
    memory: Vec<u8>,
    file: Option<(File, PathBuf)>,
    /// How many are in the file.
    in_file: u64,
}

impl Spill {
    /// So many zeros, to be written at their places.
    pub(super) fn of_zeros(bytes: u64) -> Result<Spill, RecordingError> {
        if bytes <= MEMORY_BYTES_MAX as u64 {
            return Ok(Spill { memory: vec![0; bytes as usize], ..Spill::default() });
        }
        let (file, dir) = make_file()?;
        file.set_len(bytes).map_err(|error| refused(&dir, &error))?;
        Ok(Spill { memory: Vec::new(), file: Some((file, dir)), in_file: bytes })
    }

    /// How many bytes there are.
    pub(super) fn bytes(&self) -> u64 {
        self.in_file + self.memory.len() as u64
    }

    /// Adds `bytes` at the end, and returns their place.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64, RecordingError> {
        let at = self.bytes();
        let limit = if self.file.is_some() { WRITE_BYTES } else { MEMORY_BYTES_MAX };
        if self.memory.len() + bytes.len() > limit {
            self.write_out()?;
        }
        self.memory.extend_from_slice(bytes);
        Ok(at)
    }

    /// What was added can be read: it is in memory, or in the file.
    pub(super) fn seal(&mut self) -> Result<(), RecordingError> {
        if self.file.is_some() { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), RecordingError> {
        if self.file.is_none() {
            self.file = Some(make_file()?);
        }
        let (file, dir) = self.file.as_ref().expect("it was made");
        file.write_all_at(&self.memory, self.in_file).map_err(|error| refused(dir, &error))?;
        self.in_file += self.memory.len() as u64;
        self.memory.clear();
        self.memory.shrink_to(WRITE_BYTES);
        Ok(())
    }

    /// Writes `bytes` over those at the place `at`, which are there.
    pub(super) fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), RecordingError> {
        match &self.file {
            Some((file, dir)) => file.write_all_at(bytes, at).map_err(|error| refused(dir, &error)),
            None => {
                self.memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Reads what is at the place `at`, after [`Spill::seal`].
    pub(super) fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        match &self.file {
            Some((file, _)) => file.read_exact_at(bytes, at),
            None => {
                let end = (at as usize).saturating_add(bytes.len());
                let found = self.memory.get(at as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
                bytes.copy_from_slice(found);
                Ok(())
            }
        }
    }
}

fn make_file() -> Result<(File, PathBuf), RecordingError> {
    let named = std::env::var_os("TMPDIR").map(PathBuf::from);
    let mut dirs = named.into_iter().chain([".", "/var/tmp"].map(PathBuf::from));
    let first = dirs.next().expect("there are two at least");
    match tempfile::tempfile_in(&first) {
        Ok(file) => Ok((file, first)),
        Err(error) => {
            let other = dirs.find_map(|dir| Some((tempfile::tempfile_in(&dir).ok()?, dir)));
            other.ok_or_else(|| refused(&first, &error))
        }
    }
}

fn refused(dir: &std::path::Path, error: &io::Error) -> RecordingError {
    RecordingError::of_file(format!(
        "its statements cannot be kept in `{}` while they are replayed: {}; they need up to twice the room of the unpacked log: free \
         some, or name another directory in TMPDIR",
        dir.display(),
        model::system_words(error)
    ))
}

/// A recording whose file cannot be read back.
pub(super) fn lost(error: &io::Error) -> RecordingError {
    RecordingError::of_file(format!("its statements cannot be read back: {}", model::system_words(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_and_many_are_read_where_they_were_written() {
        for many in [10u64, 3_000_000] {
            let mut spill = Spill::default();
            for nth in 0..many {
                assert_eq!(spill.append(&nth.to_le_bytes()).unwrap(), nth * 8);
            }
            spill.seal().unwrap();
            assert_eq!((spill.bytes(), spill.file.is_some()), (many * 8, many > 10));
            spill.write_at(16, &7u64.to_le_bytes()).unwrap();
            let read = |nth: u64| {
                let mut bytes = [0; 8];
                spill.read_at(nth * 8, &mut bytes).map(|()| u64::from_le_bytes(bytes)).ok()
            };
            assert_eq!((read(2), read(3), read(many - 1), read(many)), (Some(7), Some(3), Some(many - 1), None));
        }
    }

    #[test]
    fn zeros_are_there_before_they_are_written() {
        for bytes in [100, MEMORY_BYTES_MAX as u64 + 1] {
            let mut spill = Spill::of_zeros(bytes).unwrap();
            spill.write_at(bytes - 1, &[1]).unwrap();
            let mut end = [9; 2];
            spill.read_at(bytes - 2, &mut end).unwrap();
            assert_eq!(end, [0, 1]);
        }
    }
}
