//! Files that a user names, opened without waiting for anybody.
//!
//! In: a path. Out: the regular file there. Limits: named pipes, terminals and devices are refused: to open or read one may take until another
//! program comes, which may be never. A pipe that a shell has opened already, `<(...)`, is read: its writer is there.

use rustix::fs::OFlags;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where what this process was given open has names.
const OPENED_BEFORE: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// If it cannot be opened, or is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if OPENED_BEFORE.iter().any(|dir| path.starts_with(dir)) {
        return File::open(path);
    }
    // Looked at first: to open a device may do something by itself, such as to rewind a tape. Then the file that was opened, because another
    // may have been put there meanwhile, without waiting for it.
    check_kind(&std::fs::metadata(path)?)?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("it is one bit");
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// All bytes of the regular file at `path`.
///
/// # Errors
/// As of [`open_regular`], and if it cannot be read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of the regular file at `path`.
///
/// # Errors
/// As of [`read_regular`], and if it is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn check_kind(meta: &std::fs::Metadata) -> io::Result<()> {
    match meta.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory")),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_pipe_that_was_given_open_is_read() {
        let (out, mut into) = io::pipe().unwrap();
        io::Write::write_all(&mut into, b"secret").unwrap();
        drop(into);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&out));
        assert_eq!(read_regular_text(Path::new(&path)).unwrap(), "secret");
    }

    #[test]
    fn a_file_is_read_and_what_may_never_answer_is_refused_at_once() {
        let dir = std::env::temp_dir().join(format!("plimsoll-regular-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let [file, fifo] = ["file", "fifo"].map(|name| dir.join(name));
        std::fs::write(&file, "text").unwrap();
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read_regular_text(&file).unwrap(), "text");
        let refusal = |path: &Path| read_regular(path).unwrap_err().to_string();
        assert_eq!([refusal(&fifo), refusal(Path::new("/dev/zero"))], ["it is not a regular file"; 2]);
        assert_eq!(refusal(&dir), "it is a directory");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
