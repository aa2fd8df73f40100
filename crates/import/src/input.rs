//! Files as streams of lines, within bounds, and what they are.
//!
//! In: a path. Out: the [`Format`] of the file, and its lines with their numbers. Limits: a file of at most 1 GiB and lines of at most
//! 64 KiB; bytes that are not UTF-8 are replaced, but a file that is compressed, in UTF-16 or has NUL bytes is refused. What a file is
//! follows from its first 256 KiB.

use crate::error::{ImportError, quoted};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 30;
/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The beginning of a file by which it is recognised.
const BEGINNING_BYTES: u64 = 256 << 10;
/// What an editor of Windows writes in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// fio's results as JSON.
    FioJson,
    /// fio's log of rates, bandwidths or latencies.
    FioLog,
    Sysbench,
    Pgbench,
    /// pgbench's log of transactions, or of intervals.
    PgbenchLog,
    /// The log of HammerDB's virtual users.
    HammerDb,
    Ycsb,
    /// What go-tpc and go-ycsb print.
    GoTpc,
    MemtierText,
    /// The JSON of memtier_benchmark.
    MemtierJson,
}

/// A file that is read line by line.
pub(crate) struct Input {
    path: PathBuf,
    reader: BufReader<File>,
    line: u64,
    bytes: Vec<u8>,
}

impl Input {
    /// Opens the file at `path`: a regular file of a size that is read.
    pub(crate) fn open(path: &Path) -> Result<Input, ImportError> {
        let cannot = |cause| ImportError::unreadable(path, cause);
        // A named pipe would be waited for when it is opened.
        let about = std::fs::metadata(path).map_err(cannot)?;
        if !about.is_file() {
            return Err(ImportError::whole(
                path,
                "this is not a regular file; name the file that the program has written",
            ));
        }
        match about.len() {
            0 => Err(ImportError::whole(path, format!("the file is empty; {EXPECTED}"))),
            1..=BYTES_MAX => {
                let mut reader = BufReader::with_capacity(256 << 10, model::open_regular(path).map_err(cannot)?);
                if let Some(what) = unreadable_encoding(reader.fill_buf().map_err(cannot)?) {
                    return Err(ImportError::whole(path, what));
                }
                Ok(Input { path: path.to_owned(), reader, line: 0, bytes: Vec::new() })
            }
            bytes => Err(ImportError::whole(
                path,
                format!(
                    "the file has {bytes} bytes, and at most {BYTES_MAX} (1 GiB) are read; shorten the log, or let fio average it (`log_avg_msec`) or pgbench aggregate it (`--aggregate-interval`)"
                ),
            )),
        }
    }

    /// What the file at `path` is.
    pub(crate) fn recognise(path: &Path) -> Result<Format, ImportError> {
        if is_empty_fio_log(path) {
            return Ok(Format::FioLog);
        }
        let mut beginning = Vec::new();
        let cannot = |cause| ImportError::unreadable(path, cause);
        Input::open(path)?.reader.take(BEGINNING_BYTES).read_to_end(&mut beginning).map_err(cannot)?;
        let beginning = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&beginning);
        format_of_text(&String::from_utf8_lossy(beginning)).ok_or_else(|| {
            ImportError::whole(path, format!("this is not the output of a program that is known; {EXPECTED}"))
        })
    }

    /// The next line without its end; `None` at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<String>, ImportError> {
        self.bytes.clear();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX + 1);
        let read =
            limited.read_until(b'\n', &mut self.bytes).map_err(|cause| ImportError::unreadable(&self.path, cause))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        if read as u64 > LINE_BYTES_MAX {
            return Err(self.wrong(format!("the line is longer than {LINE_BYTES_MAX} bytes; {EXPECTED}")));
        }
        if self.bytes.contains(&0) {
            return Err(self.wrong("the line has a NUL byte, so the file is damaged or no text; copy it again"));
        }
        while matches!(self.bytes.last(), Some(b'\n' | b'\r')) {
            self.bytes.pop();
        }
        let mark = if self.line == 1 { BYTE_ORDER_MARK } else { b"" };
        let text = self.bytes.strip_prefix(mark).unwrap_or(&self.bytes);
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }

    /// The error that the last line is not what it should be.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> ImportError {
        ImportError::line(&self.path, self.line, what)
    }

    /// The error that the last line has `found` in place of `expected`.
    pub(crate) fn expected(&self, expected: &str, found: &str) -> ImportError {
        self.wrong(format!("expected {expected}, found {}", quoted(found)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the last line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }
}

/// Whether it is a log that fio has opened and not written to, such as that of submissions with `ioengine=psync`.
fn is_empty_fio_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_log = ["_slat.", "_clat.", "_lat.", "_bw.", "_iops."].iter().any(|kind| name.contains(kind))
        && name.ends_with(".log");
    is_log && std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == 0)
}

/// Why a file that begins with `bytes` cannot be text that is read.
fn unreadable_encoding(bytes: &[u8]) -> Option<String> {
    const PACKED: [(&[u8], &str, &str); 5] = [
        (b"\x1f\x8b", "gzip", "gunzip"),
        (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
        (b"\xfd7zXZ", "xz", "unxz"),
        (b"BZh", "bzip2", "bunzip2"),
        (b"PK\x03\x04", "zip", "unzip"),
    ];
    let packed = PACKED.iter().find(|(beginning, ..)| bytes.starts_with(beginning));
    if let Some((_, format, tool)) = packed {
        return Some(format!("the file is compressed with {format}; unpack it with `{tool}` and import what is in it"));
    }
    let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    is_utf16.then(|| {
        "the file is in UTF-16, as PowerShell writes it; convert it with `iconv -f UTF-16 -t UTF-8`".to_owned()
    })
}

/// What can be imported.
const EXPECTED: &str = "expected what fio prints with `--output-format=json` or `json+`, a log of fio, what sysbench, pgbench, HammerDB, YCSB, go-tpc or memtier_benchmark prints, or a log of pgbench";

/// What a file is that begins with `text`; `None` if that does not show.
fn format_of_text(text: &str) -> Option<Format> {
    let mut is_json = false;
    for line in text.lines() {
        is_json |= line.trim_start().starts_with('{');
        // A line of a log may look like JSON: only the keys of the results decide.
        let known = if is_json { format_of_json(line).or_else(|| format_of(line)) } else { format_of(line) };
        if known.is_some() {
            return known;
        }
    }
    None
}

fn format_of_json(line: &str) -> Option<Format> {
    if line.contains("\"fio version\"") {
        return Some(Format::FioJson);
    }
    let is_memtier = ["\"ALL STATS\"", "\"run information\"", "\"AGGREGATED AVERAGE RESULTS"];
    is_memtier.iter().any(|key| line.contains(key)).then_some(Format::MemtierJson)
}

/// What a file is that has `line`; `None` if that does not show.
fn format_of(line: &str) -> Option<Format> {
    let text = line.trim_start();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    if begins(&["sysbench 0.", "sysbench 1.", "SQL statistics:", "OLTP test statistics:"]) {
        Some(Format::Sysbench)
    } else if begins(&["pgbench (", "transaction type: ", "starting vacuum", "progress: "]) {
        Some(Format::Pgbench)
    } else if begins(&["YCSB Client ", "[OVERALL], "]) {
        Some(Format::Ycsb)
    } else if begins(&["HammerDB ", "Hammerdb Log", "Vuser ", "TEST RESULT : "]) {
        Some(Format::HammerDb)
    } else if begins(&["[Current] ", "[Summary] "]) || text.contains(" - Takes(s): ") {
        Some(Format::GoTpc)
    } else if begins(&["[RUN #", "ALL STATS", "AGGREGATED AVERAGE RESULTS"]) || is_memtier_table(text) {
        Some(Format::MemtierText)
    } else if is_fio_log(line) {
        Some(Format::FioLog)
    } else {
        is_pgbench_log(line).then_some(Format::PgbenchLog)
    }
}

/// `Type         Ops/sec     Hits/sec   Misses/sec ...`.
fn is_memtier_table(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("Type") && words.next() == Some("Ops/sec")
}

/// `1000, 2530, 0, 4096, 0`.
fn is_fio_log(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_number =
        |field: &&str| field.strip_prefix("0x").unwrap_or(field).bytes().all(|byte| byte.is_ascii_hexdigit());
    fields.len() >= 4 && fields.iter().all(|field| !field.is_empty()) && fields.iter().all(is_number)
}

/// `0 199 2241 0 1175850568 995598`, `0 81 skipped 0 1412881037 912698 304`, `1345828501 5601 1542744 483552416 61 2573`.
fn is_pgbench_log(line: &str) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    fields.len() >= 6
        && fields.iter().filter(|field| field.bytes().all(|byte| byte.is_ascii_digit())).count() >= fields.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_a_line() {
        let known = |line: &str| format_of_text(line);
        assert_eq!(known("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)"), Some(Format::Sysbench));
        assert_eq!(known("pgbench (15.5 (Debian 15.5-0+deb12u1))"), Some(Format::Pgbench));
        assert_eq!(known("1000, 2530, 0, 4096, 0"), Some(Format::FioLog));
        assert_eq!(known("17, 1, 1, 4096, 0x0"), Some(Format::FioLog));
        assert_eq!(known("0 81 skipped 0 1412881037 912698 304"), Some(Format::PgbenchLog));
        assert_eq!([known("1, 2"), known("# a comment"), known("")], [None; 3]);
        assert_eq!(known("warning: x\n{\n  \"fio version\" : \"fio-3.33\","), Some(Format::FioJson));
        assert_eq!(known("{\"configuration\": {}, \"ALL STATS\": {}}"), Some(Format::MemtierJson));
        assert_eq!(known("Type    Ops/sec   Hits/sec"), Some(Format::MemtierText));
        assert_eq!(known("Vuser 1:RUNNING"), Some(Format::HammerDb));
        assert_eq!(known("[OVERALL], RunTime(ms), 80.0"), Some(Format::Ycsb));
        assert_eq!(known("NEW_ORDER - Takes(s): 1.0, Count: 3"), Some(Format::GoTpc));
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, format!("short\n{}", "x".repeat(1 << 17))).unwrap();
        let mut input = Input::open(&path).unwrap();
        assert_eq!(input.next_line().unwrap().as_deref(), Some("short"));
        let refused = input.next_line().unwrap_err().to_string();
        assert!(refused.contains("line 2") && refused.contains("longer than 65536"), "{refused}");
    }

    #[test]
    fn what_is_packed_or_no_utf_8_is_named_with_the_tool_that_makes_it_readable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other");
        let mut utf16 = b"\xff\xfe".to_vec();
        utf16.extend("sysbench 1.0".encode_utf16().flat_map(u16::to_le_bytes));
        for (contents, part) in [(&b"\x1f\x8b\x08\0"[..], "gunzip"), (&utf16, "iconv")] {
            std::fs::write(&path, contents).unwrap();
            assert!(Input::recognise(&path).unwrap_err().to_string().contains(part));
        }
        std::fs::write(&path, b"\xef\xbb\xbfsysbench 1.0.20\r\nx\0y\n").unwrap();
        assert_eq!(Input::recognise(&path).unwrap(), Format::Sysbench);
        let mut input = Input::open(&path).unwrap();
        assert_eq!(input.next_line().unwrap().as_deref(), Some("sysbench 1.0.20"));
        assert!(input.next_line().unwrap_err().to_string().contains("line 2: the line has a NUL byte"));
    }

    #[test]
    fn an_empty_file_and_a_directory_are_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        std::fs::write(&path, "").unwrap();
        for (path, part) in [(path.as_path(), "is empty"), (folder.path(), "not a regular file")] {
            let refused = Input::open(path).err().expect("it is refused").to_string();
            assert!(refused.contains(part) && !refused.contains('\n'), "{refused}");
        }
    }
}
