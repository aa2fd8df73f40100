//! fio's JSON, of which only what is used is kept.
//!
//! In: a file with one object or several: with `--status-interval` fio writes its results so far again and again, and lines of text may
//! precede them. Out: the last object. Limits: 64 MiB; 4,096 jobs; 20,000 bins of a histogram. Unknown keys are skipped.

use crate::error::ImportError;
use model::Nanos;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::fs;
use std::marker::PhantomData;
use std::path::Path;

/// The largest JSON that is read: a job with all its bins has 100 KB.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// The most jobs, or clones of jobs.
const JOBS_MAX: usize = 4_096;
/// fio has 1,856 bins.
const ENTRIES_MAX: usize = 20_000;

/// The results of a run.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FioOutput {
    #[serde(rename = "fio version")]
    pub version: String,
    pub timestamp: Option<u64>,
    pub timestamp_ms: Option<u64>,
    #[serde(rename = "global options", default)]
    pub global_options: Entries<String>,
    #[serde(default)]
    pub jobs: BoundedList<FioJob>,
    /// The jobs of a run over several machines.
    #[serde(default)]
    pub client_stats: BoundedList<FioJob>,
}

/// A job, or a clone of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioJob {
    pub jobname: String,
    pub groupid: i64,
    pub error: i64,
    pub elapsed: u64,
    pub job_start: Option<u64>,
    pub hostname: Option<String>,
    #[serde(rename = "job options")]
    pub job_options: Entries<String>,
    pub read: FioDirection,
    pub write: FioDirection,
    pub trim: FioDirection,
    pub sync: FioSync,
}

/// Reads, writes or trims.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioDirection {
    /// Bytes; before fio 3 KiB.
    pub io_bytes: u64,
    /// Only from fio 3 on.
    pub io_kbytes: Option<u64>,
    pub iops: Option<f64>,
    /// In milliseconds.
    pub runtime: u64,
    pub total_ios: u64,
    pub clat_ns: Option<FioLatency>,
    pub lat_ns: Option<FioLatency>,
    /// In microseconds, before fio 3.
    pub clat: Option<FioLatency>,
    pub lat: Option<FioLatency>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioLatency {
    pub max: f64,
    pub mean: f64,
    pub percentile: Entries<f64>,
    pub bins: Entries<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FioSync {
    pub total_ios: u64,
}

impl FioDirection {
    /// Operations done. The oldest versions print their rate only.
    pub fn ios(&self, length: Nanos) -> u64 {
        if self.total_ios > 0 {
            self.total_ios
        } else {
            (self.iops.unwrap_or(0.0).max(0.0) * length.as_secs_f64()).round() as u64
        }
    }

    pub fn bytes(&self) -> u64 {
        if self.io_kbytes.is_some() { self.io_bytes } else { self.io_bytes.saturating_mul(1_024) }
    }
}

/// Reads the last object of the file at `path`.
pub(super) fn read(path: &Path) -> Result<FioOutput, ImportError> {
    let cannot = |cause| ImportError::unreadable(path, cause);
    let bytes = fs::metadata(path).map_err(cannot)?.len();
    if bytes > JSON_BYTES_MAX {
        return Err(ImportError::whole(
            path,
            format!(
                "the JSON has {bytes} bytes, and at most {JSON_BYTES_MAX} (64 MiB) are read; import fewer jobs at once"
            ),
        ));
    }
    let text = String::from_utf8_lossy(&fs::read(path).map_err(cannot)?).into_owned();
    let (mut rest, mut line, mut found) = (text.as_str(), 0, None);
    while let Some((start, lines)) = next_object(rest) {
        line += lines;
        rest = &rest[start..];
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<FioOutput>();
        match objects.next() {
            Some(Ok(output)) => found = Some(output),
            Some(Err(error)) => return Err(ImportError::line(path, line + error.line() as u64, words_of(&error))),
            None => break,
        }
        let read = objects.byte_offset();
        line += rest[..read].matches('\n').count() as u64;
        rest = &rest[read..];
    }
    found.ok_or_else(|| ImportError::whole(path, "there is no line that begins with `{`; expected fio's JSON"))
}

/// Where the next line begins that starts an object, and how many lines are before it.
fn next_object(text: &str) -> Option<(usize, u64)> {
    let mut start = 0;
    for (line, part) in text.split_inclusive('\n').enumerate() {
        if part.starts_with('{') {
            return Some((start, line as u64));
        }
        start += part.len();
    }
    None
}

/// What is wrong with the JSON, without the place, which the error names.
fn words_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        "the JSON ends here in the middle; the file is cut".to_owned()
    } else {
        format!("column {}: {what}; expected the JSON that fio writes", error.column())
    }
}

/// A list of at most [`JOBS_MAX`] entries.
#[derive(Debug)]
pub(super) struct BoundedList<T>(pub Vec<T>);

/// The entries of an object, at most [`ENTRIES_MAX`].
#[derive(Debug)]
pub(super) struct Entries<T>(pub Vec<(String, T)>);

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        BoundedList(Vec::new())
    }
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = BoundedList<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a list of at most {JOBS_MAX} jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<BoundedList<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(one) = all.next_element()? {
            if list.len() == JOBS_MAX {
                return Err(de::Error::custom(format_args!("there are more than {JOBS_MAX} jobs")));
            }
            list.push(one);
        }
        Ok(BoundedList(list))
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object of at most {ENTRIES_MAX} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Entries<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(one) = all.next_entry()? {
            if entries.len() == ENTRIES_MAX {
                return Err(de::Error::custom(format_args!("an object has more than {ENTRIES_MAX} entries")));
            }
            entries.push(one);
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<FioOutput, ImportError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fio.json");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn the_last_of_several_objects_counts_and_text_between_them_does_not() {
        let text = "note: both iodepth >= 1\n{\"fio version\": \"fio-3.1\"}\nJobs: 1 (f=1)\n{\n\"fio version\": \"fio-3.2\"\n}\n";
        assert_eq!(read_text(text).unwrap().version, "fio-3.2");
    }

    #[test]
    fn broken_json_is_refused_with_its_line() {
        for (text, parts) in [
            ("\n{\"fio version\": \"fio-3\",\n \"jobs\": [{\"error\": nan}]}", ["line 3", "column 2"]),
            ("x\n{\"fio version\": \"fio-3\",\n", ["line 3", "the file is cut"]),
            ("[1]", ["no line that begins with `{`", "fio's JSON"]),
        ] {
            let refused = read_text(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| refused.contains(part)) && !refused.contains('\n'), "{refused}");
        }
    }

    #[test]
    fn deep_and_wide_json_is_refused() {
        let deep = format!("{{\"fio version\": \"fio-3\", \"x\": {}", "[".repeat(100_000));
        let wide = format!("{{\"fio version\": \"fio-3\", \"jobs\": [{}{{}}]}}", "{},".repeat(JOBS_MAX));
        assert!(read_text(&deep).is_err());
        assert!(read_text(&wide).unwrap_err().to_string().contains("more than 4096 jobs"));
    }
}
